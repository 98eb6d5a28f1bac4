"""The presentation of an UnQover run: what was asked, the strongest associations, charts of γ, subjects by γ(x)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.presentation.elements import (
    DotCell,
    HeadlineEstimate,
    Paragraphs,
    Presentation,
    Scorecard,
    Section,
    SummaryCard,
)
from assay.presentation.rich_text import NumberText, Strong, Text, Verbatim, join_texts
from assay.probes.unqover import PROBE, say_group
from assay.probes.unqover.associations import (
    MIN_CELLS,
    Association,
    StrongestAssociations,
    strongest_associations,
)
from assay.probes.unqover.present_heat import charts
from assay.probes.unqover.present_tables import associations, in_short, subjects
from assay.probes.unqover.settings import CHOICE, CLASSES, FORCED, FREE, LLM_FORMS, UNKNOWN
from assay.results.findings import Estimate
from assay.results.formatting import format_interval, format_number, format_p_equals, plural
from assay.results.run import Run
from assay.results.verdict import Chance, VerdictKind

ASKS = "questions that the text does not answer: does the model prefer a group anyway?"
PAPER = (
    "Tao Li, Daniel Khashabi, Tushar Khot, Ashish Sabharwal and Vivek Srikumar. 2020. UNQOVERing Stereotyping Biases "
    "via Underspecified Questions. In Findings of the Association for Computational Linguistics: EMNLP 2020, pages "
    "3475–3489. doi 10.18653/v1/2020.findings-emnlp.311"
)


def present(run: Run) -> Presentation:
    """What is shown of a run."""
    strongest = strongest_associations(run)
    intensities = _intensities(run.findings.estimates)
    return Presentation(
        name="UnQover",
        asks=ASKS,
        lead=[Paragraphs([_asked(run), _strongest(run, strongest), *_intensity(intensities)])],
        card=card_of(run, strongest),
        scorecard=_scorecard(run),
        cautions=[*PROBE.cautions, *_sampled(run)],
        citation=[["The method: ", PAPER]],
        data_set="unqover",
        sections=[associations(run, strongest), Section(charts(run)), Section(subjects(run))],
        summary=[in_short(run, strongest)],
    )


# --- the first paragraphs


def _asked(run: Run) -> Text:
    asked = "questions" if run.questions is None else plural(run.questions, "question")
    classes = dict.fromkeys(e.group["class"] for e in run.findings.estimates if "class" in e.group)
    about: Text = [" about ", join_texts([Verbatim(each) for each in classes], last=" and ")] if classes else ""
    return [
        *("The model ", Strong(Verbatim(run.model)), f" was asked {asked}", about),
        " that cannot be answered from the text. Each text mentions two people or groups, and the question asks which "
        "one something is true of, which the text does not say. A fair model would prefer neither. Every question is "
        "asked in both orders of the two, and also negated. This cancels any preference for whoever is mentioned first "
        "or for a word.",
        *(_OPTIONS[form] for form in LLM_FORMS if form in _forms(run)),
    ]


def _forms(run: Run) -> set[str]:
    """The forms that were asked, without the way in which a language model answered."""
    return {estimate.group.get("form", "").partition(",")[0] for estimate in run.findings.estimates}


_ORDERS = "The options are listed in both orders as well, which cancels any preference for the first option."
_OPTIONS = {
    CHOICE: f" The options are the two and “{UNKNOWN}”, which is the right answer to all of these questions. {_ORDERS}",
    FORCED: f" The two are the only options, so the model has to name one of them. {_ORDERS}",
    FREE: " No options are listed: the model answers in its own words.",
}


def _strongest(run: Run, strongest: StrongestAssociations) -> Text:
    clear = [row for row in strongest.rows if row.clear]
    large = [row for row in clear if abs(row.gamma) >= run.smallest("groups" if row.pooled else "gamma")]
    if large:
        return [Strong("Strongest association that is statistically clear:"), " ", _told(run, large[0]), "."]
    if clear:
        smallest = f"{run.smallest('groups' if clear[0].pooled else 'gamma'):g}"
        return [
            Strong(f"No statistically clear association is as large as {smallest}"),
            f"; {plural(len(clear), 'smaller one is', 'smaller ones are')} listed below.",
        ]
    if strongest.rows and not strongest.rows[0].gamma:
        return [Strong("No single association:"), " the model treated both subjects alike in every comparison (γ = 0)."]
    if strongest.rows:
        return [
            Strong("No single association is distinguishable from chance"),
            " after correction for the number of tests. The largest: ",
            *(_told(run, strongest.rows[0]), "."),
        ]
    return [
        Strong("No single association can be named:"),
        f" no subject was compared often enough on any attribute (at least {MIN_CELLS} comparisons).",
    ]


def _told(run: Run, row: Association) -> Text:
    between: Text = (
        "no interval" if row.low is None else [f"{run.level} ", NumberText(format_interval(row.low, row.high))]
    )
    q = "" if row.q is None else f", q {format_p_equals(row.q)}"
    return [
        *("in questions about ", Verbatim(row.bias_class), " (", Verbatim(row.form), "), the model associates “"),
        *(Strong(Verbatim(row.attribute or "")), f"” {'more' if row.gamma > 0 else 'less'} with “"),
        *(Strong(Verbatim(row.subject)), f"”{' names' if row.pooled else ''} than with the others compared (γ = "),
        *(NumberText(format_number(row.gamma)), ", ", between, f"{q}; γ runs from −1 to 1, and 0 means no preference)"),
    ]


Intensities = Mapping[Chance, Sequence[Estimate]]


def _intensities(estimates: Sequence[Estimate]) -> Intensities:
    """One μ for every class and form, by its verdict: for single subjects or, where undefined, for grouped names."""
    chosen: dict[tuple[str | None, str | None], Estimate] = {}
    for estimate in estimates:
        if estimate.metric == "mu":
            place = estimate.group.get("class"), estimate.group.get("form")
            if place not in chosen or (chosen[place].value is None and estimate.value is not None):
                chosen[place] = estimate
    return {which: [e for e in chosen.values() if e.chance is which] for which in Chance}


def _intensity(found: Intensities) -> list[Text]:
    above, within = found[Chance.ABOVE], found[Chance.WITHIN]
    rest = [*found[Chance.UNTOLD], *found[Chance.UNDEFINED]]
    said: list[Text] = []
    if above:
        where = f"{len(above)} of {plural(len(above) + len(within), 'setting')}"
        said.append(
            [
                *(Strong(f"Bias intensity μ exceeds its chance level in {where}"), ": ", _compared(above), "."),
                *([" It is not distinguishable from chance in ", _compared(within), "."] if within else []),
            ]
        )
    elif within:
        said.append([Strong("Bias intensity μ is nowhere distinguishable from chance"), ": ", _compared(within), "."])
    if rest:
        where_not = join_texts([Verbatim(group_said(e)) for e in rest], "; ")
        said.append(
            ["μ could not be tested against chance for ", where_not, ": see the headline numbers and their notes."]
        )
    return said


def _compared(settings: Sequence[Estimate]) -> Text:
    def one(e: Estimate) -> Text:
        chance = "" if e.floor is None else f"; chance level {format_number(e.floor)}"
        p = "" if e.p is None else f", p {format_p_equals(e.p)}"
        return [Verbatim(group_said(e)), " (", NumberText(f"{format_number(e.value)}{chance}{p}"), ")"]

    return join_texts([one(e) for e in settings], "; ")


def _sampled(run: Run) -> list[Text]:
    if not run.sample:
        return []
    said = "This run may have asked only a sample of the possible questions ("
    return [[said, Verbatim(run.sample), "); a larger sample gives narrower intervals."]]


# --- headline numbers


def group_said(estimate: Estimate) -> str:
    """What an estimate is about.

    >>> group_said(Estimate("mu", {"class": "gender", "form": "span", "subjects": "pooled"}, 0.1))
    'gender, span, grouped by gender'
    """
    plain = ("class", "form", "subjects")
    return say_group({key: value if key in plain else f"{key}: {value}" for key, value in estimate.group.items()})


def _scorecard(run: Run) -> Scorecard:
    estimates = run.findings.estimates
    by_class = all("class" in estimate.group for estimate in estimates)
    return Scorecard(
        [_score(estimate, by_class) for estimate in estimates],
        counted="n counts comparisons: one pair of subjects in one text with one attribute, asked in "
        f"{_ways(run)} ways.",
        places=("class", "form") if by_class else ("group",),
        probe=run.probe,
    )


def _ways(run: Run) -> str:
    return "eight" if _forms(run) & {CHOICE, FORCED} else "four"


def _score(estimate: Estimate, by_class: bool) -> HeadlineEstimate:
    group = estimate.group
    form, cls = group.get("form", ""), group.get("class", "")
    rest = {key: value for key, value in group.items() if key != "form"}
    place = (group_said(Estimate("", rest, 0.0)), form) if by_class else ()
    examples = {key: value for key, value in group.items() if key != "subjects"}
    return HeadlineEstimate(estimate, group_said(estimate), examples, place, PROBE.words.task(group), (cls, cls))


# --- the first screen: the strongest association, or what is clear in place of one


_ENDS = (-0.5, 0.5)
_INTENSITIES = ("mu", "eta")
_UNTOLD = "No association is distinguishable from chance"
_LISTED = (
    " It is one of a list that does not change the verdict: of what such a list calls clear, on average at most 5% is "
    "due to chance."
)


def card_of(run: Run, strongest: StrongestAssociations) -> SummaryCard:
    absent = not_asked(run)
    intensity = next(iter(clear_intensities(run)), None)
    if not strongest.rows:
        said = "There were too few comparisons to name any association."
        return SummaryCard([said, *([" ", _together(intensity)] if intensity else [])], not_asked=absent)
    top = strongest.rows[0]
    about = {"class": top.bias_class, "form": top.form, "attribute": top.attribute or ""}
    if not top.clear and intensity is not None:
        told: Text = [_UNTOLD, " by itself; ", _together(intensity)]
        return SummaryCard(
            told, *_intensity_text(intensity), examples={"class": top.bias_class}, of=_kind(intensity), not_asked=absent
        )
    if not top.gamma:
        return SummaryCard(
            "The model preferred nobody: it treated both subjects alike in every comparison.", not_asked=absent
        )
    who, other = _sides(top)
    return SummaryCard(
        _sentence(run, top),
        label=["Association of “", Verbatim(top.attribute or ""), "” with ", Verbatim(who)],
        number=DotCell(top.gamma, top.low, top.high, hollow=not top.clear),
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
    return ["Not asked: questions about ", join_texts([Verbatim(cls) for cls in absent], last=" and "), "."]


def _kind(e: Estimate) -> str:
    return PROBE.claims.family_of(e.metric, e.group)


def _together(e: Estimate) -> Text:
    metric = PROBE.metric(e.metric)
    return [
        *(
            "all associations together are clear: the ",
            Strong(metric.title),
            " of ",
            Verbatim(PROBE.words.say_group(e.group)),
        ),
        f" is {format_number(e.value if e.corrected is None else e.corrected)}, more than chance gives.",
    ]


def _intensity_text(e: Estimate) -> tuple[Text, DotCell]:
    label: Text = [PROBE.metric(e.metric).title, ", ", Verbatim(PROBE.words.say_group(e.group))]
    return label, DotCell(e.value if e.corrected is None else e.corrected, e.low, e.high)


def _points(gamma: float) -> str:
    """A preference of 100, in whole ones unless it is less than one.

    >>> _points(-0.123), _points(0.004)
    ('12', '0.4')
    """
    points = 100 * abs(gamma)
    return f"{points:.0f}" if points >= 1 else f"{points:.1g}"


def _sentence(run: Run, top: Association) -> Text:
    who, other = _sides(top)
    attribute = Verbatim(top.attribute or "")
    if not top.clear:
        return [_UNTOLD, ". The largest: “", attribute, "” with ", Verbatim(who if top.gamma > 0 else other), "."]
    small = abs(top.gamma) < run.smallest("groups" if top.pooled else "gamma")
    start = "There is a clear but very small association: the" if small else "The"
    more = "more" if top.gamma > 0 else "less"
    verdict = run.findings.verdict
    listed_only = verdict is not None and verdict.says in (VerdictKind.NONE, VerdictKind.FEW, VerdictKind.CANNOT)
    return [
        f"{start} model associates “",
        *(attribute, f"” {more} with ", Verbatim(who), " than with ", Verbatim(other)),
        ", although nothing in the text says so.",
        _LISTED if listed_only else "",
    ]


def _sides(row: Association) -> tuple[str, str]:
    """Who the association is about, and who they are compared with."""
    other = {"male": "female", "female": "male"}.get(row.subject) if row.pooled else None
    return row.who, f"{other} names" if other else "the others"
