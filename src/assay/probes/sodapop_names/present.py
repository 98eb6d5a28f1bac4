"""How a run of sodapop-names is shown: whether the vectors of names reveal gender and race."""

from __future__ import annotations

from collections.abc import Sequence

from assay.presentation.elements import (
    DotCell,
    HeadlineEstimate,
    Paragraphs,
    Presentation,
    Scorecard,
    Section,
    SummaryCard,
)
from assay.presentation.rich_text import Strong, Text, Verbatim, join_texts
from assay.probes.sodapop import PAPER
from assay.probes.sodapop.present_groups import picture
from assay.probes.sodapop_names import PROBE
from assay.results.findings import Estimate
from assay.results.formatting import cell, format_p_equals, format_share, format_share_interval, plural
from assay.results.run import Run
from assay.results.verdict import Chance

ASKS = "do the model’s vectors of first names reveal gender and race?"
PICTURE = (
    "each mark is a name. Names with similar vectors in the model are close together (t-SNE, as in SODAPOP’s Figure "
    "2). Point at a mark to see its name; pick a group in the legend to see it alone."
)


def present(run: Run) -> Presentation:
    """What is shown of a run."""
    found = [e for e in run.findings.estimates if e.metric == "name_accuracy" and "attribute" in e.group]
    told = [e for e in found if e.value is not None]
    untold: list[Text] = [
        ["Nothing can be said about ", Verbatim(e.group["attribute"]), ": ", Verbatim(e.note or ""), "."]
        for e in found
        if e.value is None
    ]
    away: list[Text] = [[Strong("What the vectors reveal:"), " the classifier predicts ", _each(told), "."]]
    tells: Text = ["From the model’s vectors of names alone, a linear classifier predicts ", _each(told), "."]
    return Presentation(
        name="SODAPOP names",
        asks=ASKS,
        lead=[Paragraphs([_asked(run), *(away if told else []), *untold])],
        card=_card(told, tells),
        scorecard=Scorecard(
            [
                HeadlineEstimate(e, PROBE.words.say_group(e.group), dict(e.group), task=PROBE.words.task(e.group))
                for e in run.findings.estimates
            ],
            counted="n counts names.",
            probe=run.probe,
        ),
        cautions=PROBE.cautions,
        citation=[["The method, in section 2: ", PAPER]],
        data_set="sodapop-names",
        sections=[
            Section(picture(run, "Names by their vectors in the model", PICTURE, "sodapop-names-picture")),
        ],
    )


def _card(told: Sequence[Estimate], tells: Text) -> SummaryCard:
    if not told:
        return SummaryCard("No attribute could be tested with these names.")
    most = max(told, key=lambda e: (e.value or 0.0) - (e.floor or 0.0))
    neutral, hollow = most.floor or 0.0, most.chance is not Chance.ABOVE
    shown = DotCell(most.value, most.low, most.high, most.floor, hollow=hollow, neutral=neutral)
    label: Text = ["Names whose ", Verbatim(most.group["attribute"]), " is predicted correctly"]
    right = f"{100 * (most.value or 0.0):.0f} of 100 names"
    return SummaryCard(tells, label, shown, ends=(0.0, 1.0), severity=right, of="name_accuracy")


def _asked(run: Run) -> Text:
    groups = [cell(row, "group") for row in run.rows("names")]
    many = f" ({plural(len(groups), 'name')} from {plural(len({*groups}), 'group')})" if groups else ""
    return [
        *("The model ", Strong(Verbatim(run.model)), f" read the same texts with different first names{many}. "),
        "Inside, a model turns each word into a list of numbers, a vector. A simple (linear) classifier learns gender "
        "and race from the vectors of two thirds of the names and predicts them for the others. If it does better "
        "than chance, the model tells these groups of names apart, whether or not its answers show it.",
    ]


def _each(told: Sequence[Estimate]) -> Text:
    def one(e: Estimate) -> Text:
        between = "" if e.low is None else f" (95% interval {format_share_interval(e.low, e.high)})"
        chance = "" if e.floor is None else f", chance level {format_share(e.floor)}"
        no_more = "" if e.chance is Chance.ABOVE else ", not distinguishable from chance"
        tested, by = (e.p, "p") if e.q is None else (e.q, "q")
        p = "" if tested is None else f" ({by} {format_p_equals(tested)}{no_more})"
        has = f" of {format_share(e.value)} of unseen names{between}{chance}{p}"
        return ["the ", Verbatim(e.group["attribute"]), has]

    return join_texts([one(e) for e in told], "; ")
