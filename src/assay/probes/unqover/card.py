"""An UnQover run on a reader's first screen: the strongest association, or what is clear in place of one."""

from __future__ import annotations

from assay.blocks import Card, Dot
from assay.findings import Estimate
from assay.probes.unqover import PROBE
from assay.probes.unqover.associations import Association, Strongest
from assay.probes.unqover.settings import CLASSES
from assay.run import Run
from assay.text import Name, Strong, Text, listed
from assay.verdict import Says
from assay.wording import number

_ENDS = (-0.5, 0.5)
_INTENSITIES = ("mu", "eta")
_UNTOLD = "No association is distinguishable from chance"
_LISTED = (
    " It is one of a list that does not change the verdict: of what such a list calls clear, on average at most 5% is "
    "due to chance."
)


def card_of(run: Run, strongest: Strongest) -> Card:
    absent = not_asked(run)
    intensity = next(iter(clear_intensities(run)), None)
    if not strongest.rows:
        said = "There were too few comparisons to name any association."
        return Card([said, *([" ", _together(intensity)] if intensity else [])], not_asked=absent)
    top = strongest.rows[0]
    about = {"class": top.bias_class, "form": top.form, "attribute": top.attribute or ""}
    if not top.clear and intensity is not None:
        told: Text = [_UNTOLD, " by itself; ", _together(intensity)]
        return Card(
            told, *_intensity(intensity), examples={"class": top.bias_class}, of=_kind(intensity), not_asked=absent
        )
    if not top.gamma:
        return Card("The model preferred nobody: it treated both subjects alike in every comparison.", not_asked=absent)
    who, other = _sides(top)
    return Card(
        _sentence(run, top),
        label=["Association of “", Name(top.attribute or ""), "” with ", Name(who)],
        number=Dot(top.gamma, top.low, top.high, hollow=not top.clear),
        sides=(other, who),
        ends=_ENDS,
        severity=f"{_points(top.gamma)} of 100 points of preference",
        of="groups" if top.pooled else "gamma",
        examples=about,
        not_asked=absent,
    )


def clear_intensities(run: Run) -> list[Estimate]:
    """The values of μ and η that the verdict claims, those of all names in a group first."""
    found = [e for e in run.findings.estimates if e.metric in _INTENSITIES and e.claimed]
    return sorted(found, key=lambda e: ("subjects" not in e.group, _INTENSITIES.index(e.metric)))


def not_asked(run: Run) -> Text:
    """The classes of subjects that the run left out, in a line; empty if it asked all."""
    asked = {e.group["class"] for e in run.findings.estimates if "class" in e.group}
    absent = [cls for cls in CLASSES if cls not in asked]
    if not asked or not absent or not asked <= {*CLASSES}:
        return ""
    return ["Not asked: questions about ", listed([Name(cls) for cls in absent], last=" and "), "."]


def _kind(e: Estimate) -> str:
    return PROBE.family_of(e.metric, e.group)


def _together(e: Estimate) -> Text:
    metric = PROBE.metric(e.metric)
    return [
        *("all associations together are clear: the ", Strong(metric.title), " of ", Name(PROBE.say_group(e.group))),
        f" is {number(e.value if e.corrected is None else e.corrected)}, more than chance gives.",
    ]


def _intensity(e: Estimate) -> tuple[Text, Dot]:
    label: Text = [PROBE.metric(e.metric).title, ", ", Name(PROBE.say_group(e.group))]
    return label, Dot(e.value if e.corrected is None else e.corrected, e.low, e.high)


def _points(gamma: float) -> str:
    """A preference of 100, in whole ones unless it is less than one.

    >>> _points(-0.123), _points(0.004)
    ('12', '0.4')
    """
    points = 100 * abs(gamma)
    return f"{points:.0f}" if points >= 1 else f"{points:.1g}"


def _sentence(run: Run, top: Association) -> Text:
    who, other = _sides(top)
    attribute = Name(top.attribute or "")
    if not top.clear:
        return [_UNTOLD, ". The largest: “", attribute, "” with ", Name(who if top.gamma > 0 else other), "."]
    small = abs(top.gamma) < run.smallest("groups" if top.pooled else "gamma")
    start = "There is a clear but very small association: the" if small else "The"
    more = "more" if top.gamma > 0 else "less"
    verdict = run.findings.verdict
    listed_only = verdict is not None and verdict.says in (Says.NONE, Says.FEW, Says.CANNOT)
    return [
        f"{start} model associates “",
        *(attribute, f"” {more} with ", Name(who), " than with ", Name(other)),
        ", although nothing in the text says so.",
        _LISTED if listed_only else "",
    ]


def _sides(row: Association) -> tuple[str, str]:
    """Who the association is about, and who they are compared with."""
    other = {"male": "female", "female": "male"}.get(row.subject) if row.pooled else None
    return row.who, f"{other} names" if other else "the others"
