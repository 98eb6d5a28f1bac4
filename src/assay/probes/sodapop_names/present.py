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
from assay.probes.sodapop.present_groups import count_names, picture
from assay.probes.sodapop_names import PROBE
from assay.results.findings import Estimate
from assay.results.formatting import format_p_equals, format_share, format_share_interval
from assay.results.run import Run
from assay.results.verdict import Chance

ASKS = "do the model’s vectors of first names reveal gender and race?"
PICTURE = (
    "each mark is a name. Names with similar vectors in the model are close together (t-SNE, as in SODAPOP’s Figure "
    "2). Point at a mark to see its name; pick a group in the legend to see it alone."
)


def present(run: Run) -> Presentation:
    """What is shown of a run."""
    estimates = [estimate for estimate in run.findings.estimates if estimate.metric == "name_accuracy"]
    estimates = [estimate for estimate in estimates if "attribute" in estimate.group]
    tested = [estimate for estimate in estimates if estimate.value is not None]
    untested: list[Text] = [
        ["Nothing can be said about ", Verbatim(estimate.group["attribute"]), ": ", Verbatim(estimate.note or ""), "."]
        for estimate in estimates
        if estimate.value is None
    ]
    accuracies = join_texts([*map(_accuracy, tested)], "; ")
    revealed: list[Text] = [[Strong("What the vectors reveal:"), " the classifier predicts ", accuracies, "."]]
    sentence: Text = ["From the model’s vectors of names alone, a linear classifier predicts ", accuracies, "."]
    return Presentation(
        name="SODAPOP names",
        asks=ASKS,
        lead=[Paragraphs([_what_was_asked(run), *(revealed if tested else []), *untested])],
        card=_card(tested, sentence),
        scorecard=Scorecard(
            [
                HeadlineEstimate(
                    estimate,
                    PROBE.words.say_group(estimate.group),
                    dict(estimate.group),
                    task=PROBE.words.task(estimate.group),
                )
                for estimate in run.findings.estimates
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


def _card(tested: Sequence[Estimate], sentence: Text) -> SummaryCard:
    if not tested:
        return SummaryCard("No attribute could be tested with these names.")
    most = max(tested, key=lambda estimate: (estimate.value or 0.0) - (estimate.floor or 0.0))
    neutral, hollow = most.floor or 0.0, most.chance is not Chance.ABOVE
    dot = DotCell(most.value, most.low, most.high, most.floor, hollow=hollow, neutral=neutral)
    label: Text = ["Names whose ", Verbatim(most.group["attribute"]), " is predicted correctly"]
    right = f"{100 * (most.value or 0.0):.0f} of 100 names"
    return SummaryCard(sentence, label, dot, ends=(0.0, 1.0), severity=right, of="name_accuracy")


def _what_was_asked(run: Run) -> Text:
    count = count_names(run)
    return [
        *("The model ", Strong(Verbatim(run.model)), f" read the same texts with different first names{count}. "),
        "Inside, a model turns each word into a list of numbers, a vector. A simple (linear) classifier learns gender "
        "and race from the vectors of two thirds of the names and predicts them for the others. If it does better "
        "than chance, the model tells these groups of names apart, whether or not its answers show it.",
    ]


def _accuracy(estimate: Estimate) -> Text:
    between = "" if estimate.low is None else f" (95% interval {format_share_interval(estimate.low, estimate.high)})"
    chance = "" if estimate.floor is None else f", chance level {format_share(estimate.floor)}"
    no_more = "" if estimate.chance is Chance.ABOVE else ", not distinguishable from chance"
    tested, by = (estimate.p, "p") if estimate.q is None else (estimate.q, "q")
    p = "" if tested is None else f" ({by} {format_p_equals(tested)}{no_more})"
    share = f" of {format_share(estimate.value)} of unseen names{between}{chance}{p}"
    return ["the ", Verbatim(estimate.group["attribute"]), share]
