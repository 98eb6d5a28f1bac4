"""A BBQ run on a reader's first screen: the bias that its verdict rests on, or that of all questions."""

from __future__ import annotations

from collections.abc import Iterator

from assay.blocks import Card, Dot
from assay.findings import Estimate
from assay.probes.bbq import ALL, category_words
from assay.probes.bbq.examples import AMBIGUOUS, DISAMBIGUATED
from assay.probes.bbq.grid import Grid, behind, is_clear
from assay.run import Run
from assay.text import Name, Strong, Text
from assay.verdict import Chance
from assay.wording import share

_WHERE = {
    AMBIGUOUS: "When the text does not say who is meant",
    DISAMBIGUATED: "Even when the text says who is meant",
}
_ALONE = "Asked without any text"
_NEVER = ", the model never named a person: it always chose “cannot be determined”, as it should."
_UNUSED = "No answer could be used, so there is no bias score."


def card_of(run: Run, grid: Grid, warning: Text) -> Card:
    found = next(_clear(run, grid), None) or _whole(grid)
    if found is None or found.value is None:
        never = found is not None and _never_named(found, grid)
        return Card([_where(found), _NEVER] if found and never else _UNUSED, warning=warning)
    cost = found.metric == "accuracy_cost"
    return Card(
        _cost(run, found) if cost else _leaning(run, found, grid),
        label=["Accuracy gap" if cost else "Bias score", ", ", Name(_about(found))],
        number=Dot(found.value, found.low, found.high, hollow=found.chance is not Chance.ABOVE),
        sides=("worse against stereotypes", "better") if cost else ("against stereotypes", "with stereotypes"),
        examples=behind(found),
        warning=warning,
    )


def _clear(run: Run, grid: Grid) -> Iterator[Estimate]:
    """What is clear, most worth a headline first: of all questions, then the strongest category; then what is small."""
    for small in (False, True):
        for metric in ("bias_score", "accuracy_cost"):
            clear = [e for (name, _, _), e in grid.cells.items() if name == metric and is_clear(e)]
            clear.sort(key=lambda e: (e.group["category"] != ALL, -abs(e.value or 0.0)))
            yield from (e for e in clear if _is_small(run, e) == small)


def _is_small(run: Run, e: Estimate) -> bool:
    """Whether it is too small for a headline."""
    return abs(e.value or 0.0) < run.smallest(f"{e.metric}, {ALL if e.group['category'] == ALL else 'category'}")


def _whole(grid: Grid) -> Estimate | None:
    """The bias score of all questions, where nobody can know the answer if these were asked."""
    scores = (grid.of_whole("bias_score", context) for context in grid.contexts)
    return next((e for e in scores if e is not None), None)


def _about(e: Estimate) -> str:
    return category_words(e.group.get("category", ALL))


def _where(e: Estimate) -> str:
    return _WHERE.get(e.group.get("context", ""), _ALONE)


def _never_named(e: Estimate, grid: Grid) -> bool:
    context = e.group.get("context", "")
    right = grid.get("accuracy", e.group.get("category", ALL), context)
    return context != DISAMBIGUATED and right is not None and right.value == 1


def _leaning(run: Run, e: Estimate, grid: Grid) -> Text:
    category, value = e.group.get("category", ALL), e.value or 0.0
    if _never_named(e, grid):
        return [_where(e), _NEVER]
    about: Text = "" if category == ALL else [", in questions about ", Name(category_words(category))]
    right = grid.get("accuracy", category, e.group.get("context", ""))
    known = "" if right is None or right.value is None else f" It is right in {share(right.value)} of these questions."
    start: Text = [_where(e), about, ", the model’s answers "]
    if e.chance is not Chance.ABOVE:
        return [start, "show no lean beyond chance.", known]
    lean = f"lean {'slightly ' if _is_small(run, e) else ''}{'towards' if value > 0 else 'against'} stereotypes"
    more = "agree with a stereotype than contradict one" if value > 0 else "contradict a stereotype than agree with one"
    return [start, Strong(lean), f": {_points(value)} of 100 more {more}.", known]


def _points(value: float) -> str:
    """A share of 100, in whole ones unless it is less than one.

    >>> _points(-0.312), _points(0.004)
    ('31', '0.4')
    """
    points = 100 * abs(value)
    return f"{points:.0f}" if points >= 1 else f"{points:.1g}"


def _cost(run: Run, e: Estimate) -> Text:
    value = e.value or 0.0
    slightly = "slightly " if _is_small(run, e) else ""
    often = Strong(f"{slightly}{'less' if value < 0 else 'more'} often")
    against = f" when the right answer contradicts a stereotype: by {_points(value)} percentage points."
    return ["Even when the text says who is meant, the model is right ", often, against]
