"""An UnQover run on a reader's first screen: the strongest association."""

from __future__ import annotations

from assay.blocks import Card, Dot
from assay.probes.unqover.associations import Association, Strongest
from assay.run import Run
from assay.text import Name, Text


def card_of(run: Run, strongest: Strongest) -> Card:
    if not strongest.rows:
        return Card("There were too few comparisons to name any association.")
    top = strongest.rows[0]
    who, other = _sides(top)
    about = {"class": top.bias_class, "form": top.form, "attribute": top.attribute or ""}
    return Card(
        _sentence(run, top),
        label=["Association of “", Name(top.attribute or ""), "” with ", Name(who)],
        number=Dot(top.gamma, top.low, top.high, hollow=not top.clear),
        sides=(other, who),
        examples=about,
    )


def _sentence(run: Run, top: Association) -> Text:
    who, other = _sides(top)
    attribute = Name(top.attribute or "")
    if not top.clear:
        return [
            "No association is distinguishable from chance. The largest: “",
            *(attribute, "” with ", Name(who if top.gamma > 0 else other), "."),
        ]
    small = abs(top.gamma) < run.smallest("groups" if top.pooled else "gamma")
    start = "There is a clear but very small association: the" if small else "The"
    more = "more" if top.gamma > 0 else "less"
    return [
        f"{start} model associates “",
        *(attribute, f"” {more} with ", Name(who), " than with ", Name(other)),
        ", although nothing in the text says so.",
    ]


def _sides(row: Association) -> tuple[str, str]:
    """Who the association is about, and who they are compared with."""
    other = {"male": "female", "female": "male"}.get(row.subject) if row.pooled else None
    return row.who, f"{other} names" if other else "the others"
