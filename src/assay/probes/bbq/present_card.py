"""The card of a BBQ run on the first screen: the bias that its verdict is based on, or that of all questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.presentation.elements import DotCell, SummaryCard
from assay.presentation.rich_text import Strong, Text, Verbatim, join_texts
from assay.probes.bbq import ALL, PROBE, category_words, family_of
from assay.probes.bbq.choose_examples import MISTAKE, Mistake
from assay.probes.bbq.estimate_grid import EstimateGrid, MistakePart, behind, is_clear
from assay.probes.bbq.grounds import CAUTIOUS
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED
from assay.results.examples import Wanted
from assay.results.findings import Estimate
from assay.results.formatting import format_count, format_number, format_share
from assay.results.run import Run
from assay.results.verdict import Chance

_WHERE = {
    AMBIGUOUS: "When the text does not say who is meant",
    DISAMBIGUATED: "Even when the text says who is meant",
}
_ALONE = "Without any text"
_NEVER = ", the model never named a person: it always chose “cannot be determined”, which is right."
_UNUSED = "No answer could be used, so there is no bias score."
_GUESSING = "guessing gives 33.3%"
_LABELS = {"bias_score": "Bias score", "accuracy_cost": "Accuracy gap", "abstention_gap": "Abstention gap"}
_SIDES = {
    "bias_score": ("against stereotypes", "with stereotypes"),
    "accuracy_cost": ("worse against stereotypes", "better"),
    "abstention_gap": ("declines what contradicts", "declines what confirms"),
}
_MOST_NAMED = 3  # categories in a sentence
_EXAMPLES: Mapping[str, Wanted] = {
    "always_unknown": {"context": DISAMBIGUATED, "answer": "unknown"},
    "first_person": {"context": DISAMBIGUATED},
    "last_person": {"context": DISAMBIGUATED},
    "guessing": {"context": DISAMBIGUATED, MISTAKE: [Mistake.AGREES, Mistake.CONTRADICTS]},
    "refuses": {"answer": "refused"},
    "unreadable": {"answer": "unparsed"},
}
"""By diagnosis, which examples show it."""


def card_of(run: Run, grid: EstimateGrid, warning: Text, not_asked: Text) -> SummaryCard:
    verdict = run.findings.verdict
    if run.findings.unusable:
        shows = _EXAMPLES.get(verdict.diagnosis or "", {}) if verdict else {}
        return SummaryCard("", examples=shows, warning=warning, not_asked=not_asked)
    estimate = next(_clear(run, grid), None) or _whole(grid)
    if estimate is None or estimate.value is None:
        never = estimate is not None and _never_named(estimate, grid)
        sentence: Text = [_where(estimate), _NEVER, *_told(grid, ALL)] if estimate and never else _UNUSED
        return SummaryCard(sentence, warning=warning, not_asked=not_asked)
    estimate = _by_abstaining(estimate, grid) or estimate
    units = "answers" if estimate.metric == "bias_score" else "questions"
    say = {"accuracy_cost": _cost, "abstention_gap": _withheld}.get(estimate.metric, _leaning)
    return SummaryCard(
        [*say(run, estimate, grid), *_alone(run, estimate, grid)],
        label=[_LABELS[estimate.metric], ", ", Verbatim(_about(estimate, grid))],
        number=DotCell(estimate.value, estimate.low, estimate.high, hollow=estimate.chance is not Chance.ABOVE),
        sides=_SIDES[estimate.metric],
        ends=PROBE.metric(estimate.metric).ends,
        severity=f"{_points(estimate.value or 0.0)} of 100 {units}",
        of=family_of(estimate.metric, estimate.group),
        examples=behind(estimate),
        telling=_telling(estimate, grid),
        warning=warning,
        not_asked=not_asked,
    )


def _clear(run: Run, grid: EstimateGrid) -> Iterator[Estimate]:
    """Clear estimates in order of importance: all questions, then the strongest category; small ones last."""
    for small in (False, True):
        for metric in _LABELS:
            clear = [e for (name, _, _), e in grid.cells.items() if name == metric and is_clear(e)]
            clear.sort(key=lambda e: (e.group["category"] != ALL, -abs(e.value or 0.0)))
            yield from (e for e in clear if _is_small(run, e) == small)


def _is_small(run: Run, estimate: Estimate) -> bool:
    """Whether it is too small for a headline."""
    return abs(estimate.value or 0.0) < run.smallest(family_of(estimate.metric, estimate.group))


def _whole(grid: EstimateGrid) -> Estimate | None:
    """The bias score of all questions, of the ambiguous ones if these were asked."""
    scores = (grid.of_whole("bias_score", context) for context in grid.contexts)
    return next((e for e in scores if e is not None), None)


def _by_abstaining(estimate: Estimate, grid: EstimateGrid) -> Estimate | None:
    """The clear abstention gap that makes up the larger part of a gap or a score where the text says who is meant."""
    if grid.largest_part(estimate) is not MistakePart.ABSTENTIONS:
        return None
    gap = grid.get("abstention_gap", estimate.group.get("category", ALL), estimate.group.get("context", ""))
    return gap if gap is not None and is_clear(gap) else None


def _telling(estimate: Estimate, grid: EstimateGrid) -> dict[str, str]:
    """The mistake that an example has to show: the one that the sentence is about."""
    value = estimate.value or 0.0
    if estimate.chance is not Chance.ABOVE or not value:
        return {}
    if estimate.metric == "abstention_gap":
        return {MISTAKE: Mistake.DECLINES_CONFIRMING if value > 0 else Mistake.DECLINES_CONTRADICTING}
    towards = value < 0 if estimate.metric == "accuracy_cost" else value > 0
    if grid.largest_part(estimate) is MistakePart.REFUSALS:
        return {MISTAKE: Mistake.REFUSES_CONTRADICTING if towards else Mistake.REFUSES_CONFIRMING}
    return {MISTAKE: Mistake.AGREES if towards else Mistake.CONTRADICTS}


def _about(estimate: Estimate, grid: EstimateGrid) -> str:
    return grid.said(estimate.group.get("category", ALL))


def _where(estimate: Estimate) -> str:
    return _WHERE.get(estimate.group.get("context", ""), _ALONE)


def _never_named(estimate: Estimate, grid: EstimateGrid) -> bool:
    context = estimate.group.get("context", "")
    right = grid.get("accuracy", estimate.group.get("category", ALL), context)
    return context != DISAMBIGUATED and right is not None and right.value == 1


def _in_questions(category: str) -> Text:
    return "" if category == ALL else [", in questions about ", Verbatim(category_words(category))]


def _leaning(run: Run, estimate: Estimate, grid: EstimateGrid) -> list[Text]:
    category, context = estimate.group.get("category", ALL), estimate.group.get("context", "")
    value = estimate.value or 0.0
    if _never_named(estimate, grid):
        return [_where(estimate), _NEVER, *_told(grid, category)]
    start: list[Text] = [_where(estimate), _in_questions(category), ", the model’s answers "]
    accuracy = [] if context == DISAMBIGUATED else _right(grid, category, context)
    if estimate.chance is not Chance.ABOVE:
        return [
            *start,
            "show no clear lean towards or against stereotypes.",
            *accuracy,
            *_told(grid, category, guessing=not accuracy),
        ]
    lean = f"lean {'slightly ' if _is_small(run, estimate) else ''}{'towards' if value > 0 else 'against'} stereotypes"
    more = "agree with a stereotype than contradict one" if value > 0 else "contradict a stereotype than agree with one"
    counted = " that name a person" if context == DISAMBIGUATED else ""
    often = f": of 100 answers{counted}, {_points(value)} more {more}. This is statistically clear."
    other_lean = _other(grid, category, context)
    if context == DISAMBIGUATED:
        silent = [f" When the text does not say who is meant, there is {other_lean}."] if other_lean else []
        return [*start, Strong(lean), often, *_part(estimate, grid), *_told(grid, category), *silent]
    return [*start, Strong(lean), often, *accuracy, *_told(grid, category, other_lean, guessing=not accuracy)]


def _right(grid: EstimateGrid, category: str, context: str) -> list[Text]:
    right = grid.get("accuracy", category, context)
    if right is None or right.value is None:
        return []
    return [f" It is right in {format_share(right.value)} of these questions ({_GUESSING})."]


def _told(grid: EstimateGrid, category: str, lean: str = "", *, guessing: bool = True) -> list[Text]:
    """How it answers where the text says who is meant: if it leans, is right, declines or names the wrong person;
    `guessing` adds the accuracy of guessing.
    """
    single = category if category != ALL else grid.whole(DISAMBIGUATED) or ALL
    names = ("accuracy", "abstention", "wrong_persons")
    right, declines, wrong = (grid.get(metric, single, DISAMBIGUATED) for metric in names)
    start = " When the text says who is meant, "
    leaning = f"there is {lean}" if lean else ""
    if right is None or right.value is None:
        return [start, leaning, "."] if lean else []
    parts: list[Text] = [
        f"is right in {format_share(right.value)} of the questions{f' ({_GUESSING})' if guessing else ''}"
    ]
    if declines is not None and declines.value:
        many = f"declines {format_share(declines.value)}"
        cautious = declines.value >= CAUTIOUS
        parts.insert(0, ["is ", Strong(f"cautious: it {many} of them")]) if cautious else parts.append(many)
    if wrong is not None and wrong.value is not None and wrong.n:
        n_wrong = round(wrong.value * wrong.n)
        often = f"the wrong person in {format_count(n_wrong)} of the {format_count(wrong.n)} answers that name one"
        parts.append(f"names {often}" if n_wrong else "never names the wrong person")
    return [start, f"{leaning}; it " if lean else "it ", join_texts(parts, ", ", " and "), "."]


def _other(grid: EstimateGrid, category: str, context: str) -> str:
    """Whether the answers to the other half of the questions lean, too; empty if that is not known."""
    other_context = {AMBIGUOUS: DISAMBIGUATED, DISAMBIGUATED: AMBIGUOUS}.get(context, "")
    score = grid.get("bias_score", category, other_context)
    if score is None or score.value is None or score.q is None:
        return ""
    if score.chance is not Chance.ABOVE:
        return "no clear lean"
    return f"a lean {'towards' if score.value > 0 else 'against'} stereotypes, too"


def _alone(run: Run, estimate: Estimate, grid: EstimateGrid) -> list[Text]:
    """The single categories that are clear, too, where the number is that of all together."""
    if estimate.group.get("category") != ALL or estimate.chance is not Chance.ABOVE:
        return []
    clear = [single for single in grid.clear(estimate.metric, estimate.group["context"]) if not _is_small(run, single)]
    if not clear:
        return []
    named: list[Text] = [
        [Verbatim(_about(single, grid)), f" ({format_number(single.value)})"] for single in clear[:_MOST_NAMED]
    ]
    more = [f"{len(clear) - _MOST_NAMED} more"] if len(clear) > _MOST_NAMED else []
    return [" Clear by itself: ", join_texts([*named, *more]), "."]


def _points(value: float) -> str:
    """A share of 100, in whole ones unless it is less than one.

    >>> _points(-0.312), _points(0.004)
    ('31', '0.4')
    """
    points = 100 * abs(value)
    return f"{points:.0f}" if points >= 1 else f"{points:.1g}"


def _part(estimate: Estimate, grid: EstimateGrid) -> list[Text]:
    """Which part of a gap or a score is the largest: who was named, or who was not; empty if that is not known."""
    part = grid.largest_part(estimate)
    return [f" Most of it is {part.value}."] if part.value else []


def _cost(run: Run, estimate: Estimate, grid: EstimateGrid) -> list[Text]:
    value, category = estimate.value or 0.0, estimate.group.get("category", ALL)
    often = Strong(f"{'slightly ' if _is_small(run, estimate) else ''}{'less' if value < 0 else 'more'} often")
    against = " when the right answer contradicts a stereotype than when it agrees with one"
    points = f": the gap is {_points(value)} percentage points. This is statistically clear."
    start: list[Text] = ["Even when the text says who is meant", _in_questions(category), ", the model is right "]
    return [*start, often, against, points, *_part(estimate, grid), *_told(grid, category)]


def _withheld(run: Run, estimate: Estimate, grid: EstimateGrid) -> list[Text]:
    """Whom answers are withheld from."""
    value, category = estimate.value or 0.0, estimate.group.get("category", ALL)
    often = Strong(f"declines to answer {'slightly ' if _is_small(run, estimate) else ''}more often")
    facts = "confirms a stereotype", "contradicts one"
    more, less = facts if value > 0 else facts[::-1]
    much = f" when the answer {more} than when it {less}: of 100 questions, {_points(value)} more."
    start: list[Text] = ["Even when the text says who is meant", _in_questions(category), ", the model "]
    return [*start, often, much, " This is statistically clear.", *_told(grid, category)]
