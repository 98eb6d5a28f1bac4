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
        for family in (f"{metric}, {ALL}", f"{metric}, category"):
            wanted = family.endswith(ALL)
            own = [
                e
                for (name, category, _), e in grid.cells.items()
                if name == metric and (category == ALL) == wanted and e.claimed and abs(e.value or 0.0) >= run.smallest(family)
            ]
            yield from sorted(own, key=lambda e: -abs(e.value or 0.0))


def _whole(grid: Grid) -> Estimate | None:
    """The bias score of all questions, where nobody can know the answer if these were asked."""
    scores = (grid.of_whole("bias_score", context) for context in grid.contexts)
    return next((e for e in scores if e is not None), None)


def _about(e: Estimate) -> str:
    return category_words(e.group.get("category", ALL))


def _leaning(e: Estimate, grid: Grid) -> Text:
    context = e.group.get("context", "")
    where, category = _WHERE.get(context, _ALONE), e.group.get("category", ALL)
    about: Text = "" if category == ALL else [", in questions about ", Name(category_words(category))]
    right = grid.get("accuracy", category, context)
    known = "" if right is None or right.value is None else f" It is right in {share(right.value)} of these questions."
    if e.chance is not Chance.ABOVE:
        return [where, about, ", answers lean neither with stereotypes nor against them, as far as chance allows to tell.", known]
    towards = "with stereotypes" if (e.value or 0.0) > 0 else "against stereotypes"
    more = "agree with them" if (e.value or 0.0) > 0 else "contradict them"
    points = Strong(f"{100 * abs(e.value or 0.0):.0f} of 100 more answers {more} than the reverse")
    return [where, about, f", answers lean {towards}: ", points, ".", known]


def _cost(e: Estimate) -> Text:
    less = "less" if (e.value or 0.0) < 0 else "more"
    points = Strong(f"{100 * abs(e.value or 0.0):.0f} percentage points {less} often")
    return ["When the text says who is meant, the model is right ", points, " if the right answer contradicts a stereotype."]
