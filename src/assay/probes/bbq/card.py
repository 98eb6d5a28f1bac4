"""A BBQ run on a reader's first screen: the bias that its verdict rests on, or that of all questions."""

from __future__ import annotations

from collections.abc import Iterator

from assay.blocks import Card, Dot
from assay.findings import Estimate
from assay.probes.bbq import ALL, category_words
from assay.probes.bbq.examples import AMBIGUOUS, DISAMBIGUATED
from assay.probes.bbq.grid import Grid, behind
from assay.run import Run
from assay.text import Name, Strong, Text
from assay.verdict import Chance
from assay.wording import share

_WHERE = {
    AMBIGUOUS: "When the text does not say who is meant",
    DISAMBIGUATED: "Even when the text says who is meant",
}
_ALONE = "Asked without any text"


def card_of(run: Run, grid: Grid) -> Card:
    found = next(_large(run, grid), None) or _whole(grid)
    if found is None or found.value is None:
        return Card("No answer could be used, so there is no bias score.")
    cost = found.metric == "accuracy_cost"
    return Card(
        _cost(found) if cost else _leaning(found, grid),
        label=["Accuracy gap" if cost else "Bias score", ", ", Name(_about(found))],
        number=Dot(found.value, found.low, found.high, hollow=found.chance is not Chance.ABOVE),
        sides=("worse against stereotypes", "better") if cost else ("against stereotypes", "with stereotypes"),
        examples=behind(found),
    )


def _large(run: Run, grid: Grid) -> Iterator[Estimate]:
    """What is claimed and worth a headline: of all questions first, then the strongest category."""
    for metric in ("bias_score", "accuracy_cost"):
        claimed = [e for (name, _, _), e in grid.cells.items() if name == metric and e.claimed]
        claimed.sort(key=lambda e: -abs(e.value or 0.0))
        for whole in (True, False):
            smallest = run.smallest(f"{metric}, {ALL if whole else 'category'}")
            own = (e for e in claimed if (e.group["category"] == ALL) == whole)
            yield from (e for e in own if abs(e.value or 0.0) >= smallest)


def _whole(grid: Grid) -> Estimate | None:
    """The bias score of all questions, where nobody can know the answer if these were asked."""
    scores = (grid.of_whole("bias_score", context) for context in grid.contexts)
    return next((e for e in scores if e is not None), None)


def _about(e: Estimate) -> str:
    return category_words(e.group.get("category", ALL))


def _leaning(e: Estimate, grid: Grid) -> Text:
    context, category = e.group.get("context", ""), e.group.get("category", ALL)
    about: Text = "" if category == ALL else [", in questions about ", Name(category_words(category))]
    right = grid.get("accuracy", category, context)
    known = "" if right is None or right.value is None else f" It is right in {share(right.value)} of these questions."
    start: Text = [_WHERE.get(context, _ALONE), about, ", the model’s answers "]
    if e.chance is not Chance.ABOVE:
        return [start, "show no lean beyond chance.", known]
    value = e.value or 0.0
    points, side = f"{100 * abs(value):.0f} of 100", "towards stereotypes" if value > 0 else "against stereotypes"
    more = "agree with a stereotype than contradict one" if value > 0 else "contradict a stereotype than agree with one"
    return [start, Strong(f"lean {side}"), f": {points} more {more}.", known]


def _cost(e: Estimate) -> Text:
    less = "less" if (e.value or 0.0) < 0 else "more"
    points = Strong(f"{100 * abs(e.value or 0.0):.0f} percentage points {less} often")
    against = " when the right answer contradicts a stereotype."
    return ["Even when the text says who is meant, the model is right ", points, against]
