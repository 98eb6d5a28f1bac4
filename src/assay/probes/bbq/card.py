"""The card of a BBQ run on the first screen: the bias that its verdict is based on, or that of all questions."""

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
_ALONE = "Without any text"
_NEVER = ", the model never named a person: it always chose “cannot be determined”, which is right."
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
    """Clear estimates in order of importance: all questions, then the strongest category; small ones last."""
    for small in (False, True):
        for metric in ("bias_score", "accuracy_cost"):
            clear = [e for (name, _, _), e in grid.cells.items() if name == metric and is_clear(e)]
            clear.sort(key=lambda e: (e.group["category"] != ALL, -abs(e.value or 0.0)))
            yield from (e for e in clear if _is_small(run, e) == small)


def _is_small(run: Run, e: Estimate) -> bool:
    """Whether it is too small for a headline."""
    return abs(e.value or 0.0) < run.smallest(f"{e.metric}, {ALL if e.group['category'] == ALL else 'category'}")


def _whole(grid: Grid) -> Estimate | None:
    """The bias score of all questions, of the ambiguous ones if these were asked."""
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
    category, context, value = e.group.get("category", ALL), e.group.get("context", ""), e.value or 0.0
    if _never_named(e, grid):
        return [_where(e), _NEVER]
    about: Text = "" if category == ALL else [", in questions about ", Name(category_words(category))]
    right = grid.get("accuracy", category, context)
    known = "" if right is None or right.value is None else f" It is right in {share(right.value)} of these questions."
    start: Text = [_where(e), about, ", the model’s answers "]
    if e.chance is not Chance.ABOVE:
        return [start, "show no clear lean towards or against stereotypes.", known]
    lean = f"lean {'slightly ' if _is_small(run, e) else ''}{'towards' if value > 0 else 'against'} stereotypes"
    more = "agree with a stereotype than contradict one" if value > 0 else "contradict a stereotype than agree with one"
    counted = " that name a person" if context == DISAMBIGUATED else ""
    often = f": of 100 answers{counted}, {_points(value)} more {more}. This is statistically clear."
    return [start, Strong(lean), often, known, _other(grid, category, context)]


def _other(grid: Grid, category: str, context: str) -> str:
    """Whether the answers to the other half of the questions lean, too."""
    other = {AMBIGUOUS: DISAMBIGUATED, DISAMBIGUATED: AMBIGUOUS}.get(context, "")
    e = grid.get("bias_score", category, other)
    if e is None or e.value is None or e.q is None:
        return ""
    lean = "no clear lean"
    if e.chance is Chance.ABOVE:
        lean = f"a lean {'towards' if e.value > 0 else 'against'} stereotypes, too"
    said = "says" if other == DISAMBIGUATED else "does not say"
    return f" When the text {said} who is meant, there is {lean}."


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
    against = " when the right answer contradicts a stereotype than when it agrees with one"
    category = e.group.get("category", ALL)
    about: Text = "" if category == ALL else [", in questions about ", Name(category_words(category))]
    points = f": the gap is {_points(value)} percentage points. This is statistically clear."
    return ["Even when the text says who is meant", about, ", the model is right ", often, against, points]
