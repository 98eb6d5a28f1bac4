"""What the probes' diagnoses (`assay.results.diagnosis`) share: shares of places, tests, ties, the verdict; and answers
that say nothing: why, how many, and what would make more of them readable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.asking.queries import Status
from assay.results.diagnosis import (
    FOLLOWS,
    FOLLOWS_PLACE,
    KEYS,
    Diagnosis,
    NegatedPairs,
    PositionShare,
    SwappedPairs,
    Ties,
)
from assay.results.findings import NEAR_TIE
from assay.results.formatting import format_count, format_p_equals, format_share, format_share_points
from assay.results.verdict import CLEAR, Doubt, Unusable
from assay.stats import MIN_UNITS, benjamini_hochberg, student_p, unit_spread

Array = NDArray[np.float64]

FEWEST_PAIRS = 20
"""The fewest exchanged pairs that can show that answers follow the place."""


class PositionThresholds(Protocol):
    """The settings of a probe whose options have places."""

    @property
    def place_excess(self) -> float: ...
    @property
    def place_same(self) -> float: ...


# --- places


def place_shares(names: Sequence[str], chosen: Array, expected: Array, size: Array) -> list[PositionShare]:
    """Shares of the places, from sums over independent units: answers at each place (unit, place), the number expected
    there if places did not matter (unit, place), and all answers (unit,).

    The test is the cluster-robust t test over units (`assay.stats.clustered`) of observed minus expected.
    """
    n = size.sum()
    if not n:
        return []
    share_of, mean = chosen.sum(axis=0) / n, (chosen - expected).sum(axis=0) / n
    spread = unit_spread(chosen - expected - size[:, None] * mean, n, np.count_nonzero(size))
    units = int(np.count_nonzero(size))
    p = place_p(share_of, mean, np.sqrt(spread.variance), units - 1, units)
    return [made_place(*each, round(n)) for each in zip(names, share_of, expected.sum(axis=0) / n, p, strict=True)]


def place_p(share: ArrayLike, excess: ArrayLike, error: ArrayLike, freedom: ArrayLike, units: int) -> Array:
    """p of shares above the expected ones, from their standard errors; NaN with too few units.

    Units that all agree show no spread, but need not agree always: the error is at least that of one answer in each
    unit, with two answers of each kind added (Agresti and Coull 1998).
    """
    if units < MIN_UNITS:
        return np.full(np.shape(excess), np.nan)
    more = (np.asarray(share) * units + 2.0) / (units + 4.0)
    least = np.sqrt(more * (1.0 - more) / (units + 4.0))
    return student_p(excess, np.maximum(error, least), np.where(np.asarray(error) < least, units - 1, freedom))


def made_place(name: str, share: float, expected: float, p: float, n: int, part: str = "") -> PositionShare:
    return PositionShare(name, _share(share), _share(expected), n, _probability(p), part=part)


def _share(number: float) -> float:
    """Without the rounding errors of its last bits."""
    return min(max(round(float(number), 12), 0.0), 1.0)


def _probability(number: float | None) -> float | None:
    return None if number is None or np.isnan(number) else float(f"{number:.12g}")


# --- ties


def ties_of(leads: Array) -> Ties | None:
    """Ties, from the lead of the highest score over the second in every decision; NaN is not a decision."""
    decided = np.abs(leads[np.isfinite(leads)])
    exact = int(np.count_nonzero(decided == 0))
    near = int(np.count_nonzero(decided < NEAR_TIE)) - exact
    return Ties(exact, near, len(decided)) if len(decided) else None


def all_ties(counted: Sequence[Ties | None]) -> Ties | None:
    present = [ties for ties in counted if ties is not None]
    return Ties(*(sum(getattr(ties, key) for ties in present) for key in ("exact", "near", "n"))) if present else None


def leads(scores: Array) -> Array:
    """The lead of the highest score over the second, for every row (row, option)."""
    ordered = np.sort(scores, axis=1)
    lead: Array = ordered[:, -1] - ordered[:, -2]
    return lead


# --- the diagnosis


def following_place(diagnosis: Diagnosis | None, step: str | None = None) -> Unusable | None:
    """The reason why answers cannot be used if they follow the options' place; `step` are the options that help."""
    follows = diagnosis is not None and diagnosis.follows_place
    return Unusable(FOLLOWS_PLACE, diagnosis.why, step) if follows and diagnosis else None


def diagnosed(
    thresholds: PositionThresholds | None,
    missing: Mapping[str, str],
    *,
    places: Sequence[PositionShare] = (),
    exchanged: Sequence[SwappedPairs] = (),
    ties: Ties | None = None,
    negation: NegatedPairs | None = None,
) -> Diagnosis:
    """A diagnosis with its verdict; `missing` has the reason for everything that may be missing."""
    tested = _corrected(places)
    parts = {"places": tested or None, "exchanged": exchanged or None, "ties": ties, "negation": negation}
    reasons = {key: missing[key] for key in KEYS if parts[key] is None}
    signs = [] if thresholds is None else following(tested, exchanged, thresholds)
    if signs:
        sentence = f"{FOLLOWS}: {'; '.join(signs)}"
    elif tested or exchanged:
        sentence = _not_following(tested, exchanged, thresholds)
    else:
        sentence = f"places were not tested: {reasons['places']}"
    return Diagnosis(bool(signs), sentence, tested or None, exchanged or None, ties, negation, reasons)


def _corrected(places: Sequence[PositionShare]) -> list[PositionShare]:
    """With q over all places of the run."""
    q_values = benjamini_hochberg(np.array([np.nan if place.p is None else place.p for place in places], np.float64))
    return [replace(place, q=_probability(q)) for place, q in zip(places, q_values.tolist(), strict=True)]


def following(
    places: Sequence[PositionShare], exchanged: Sequence[SwappedPairs], thresholds: PositionThresholds
) -> list[str]:
    """Why answers follow the place, if they do; places have a q."""
    reasons = [
        f"{position.said} got {format_share(position.share)} of {format_count(position.n)} answers, "
        f"{format_share(position.expected)} were expected (q {format_p_equals(position.q)})"
        for position in places
        if position.excess >= thresholds.place_excess and position.q is not None and position.q <= CLEAR
    ]
    return reasons + [
        f"{_same(pairs)}, although every option had moved"
        for pairs in exchanged
        if pairs.n >= FEWEST_PAIRS and pairs.share >= thresholds.place_same
    ]


def _not_following(
    places: Sequence[PositionShare], exchanged: Sequence[SwappedPairs], thresholds: PositionThresholds | None
) -> str:
    reasons = []
    if places:
        most = max(places, key=lambda each: each.excess)
        got = f"{most.said} got {format_share(most.share)} of answers, {format_share(most.expected)} were expected"
        reasons.append(f"{got}{_how_clearly(most, thresholds)}")
    if exchanged:
        reasons.append(_same(max(exchanged, key=lambda each: each.share)))
    return f"answers do not follow the option's place ({'; '.join(reasons)})"


def _how_clearly(most: PositionShare, thresholds: PositionThresholds | None) -> str:
    """Whether the share of a place is clearly too large, and why the answers nevertheless do not follow it."""
    if most.excess <= 0 or most.q is None:
        return ""
    if most.q > CLEAR:
        return f": not distinguishable from chance, q {format_p_equals(most.q)}"
    limit = "" if thresholds is None else f", but by less than {format_share_points(thresholds.place_excess)}"
    return f": clearly more, q {format_p_equals(most.q)}{limit}"


def _same(pairs: SwappedPairs) -> str:
    in_part = f" in {pairs.part}" if pairs.part else ""
    return (
        f"the same place was chosen in {format_share(pairs.share)} of {format_count(pairs.n)} exchanged pairs{in_part}"
    )


# --- answers that say nothing

SOME_UNUSABLE = 0.1
"""With a larger share of answers that say nothing, these may hide as much as "no clear bias" rules out."""

LOST = {
    "refused": "refused",
    "cut off": "cut off at the limit of tokens",
    "empty": "empty",
    "failed": "missing: the request failed",
    "tied": "tied: several options have the same score",
    "not understood": "not understood",
}
"""The kinds of answers that say nothing, in words."""

BY_STATUS = {
    **dict.fromkeys((Status.REFUSED, Status.FILTERED), "refused"),
    Status.TRUNCATED: "cut off",
    Status.EMPTY: "empty",
    Status.FAILED: "failed",
}
"""The kind of an answer that names no option; "not understood" for every other status."""

MORE_TOKENS = 8
"""How many times as many tokens are suggested where answers are cut off."""

_WRITTEN = ("text", "samples")


def lost_by_status(unnamed: NDArray[np.integer[Any]], status: NDArray[np.integer[Any]]) -> dict[str, int]:
    """How many answers name no option, by why (`LOST`), from their number for each question and its status."""
    number_of = dict.fromkeys(LOST, 0)
    for code in np.unique(status).tolist():
        number_of[BY_STATUS.get(Status(code), "not understood")] += int(unnamed[status == code].sum())
    return {kind: n for kind, n in number_of.items() if n}


def unreadable(lost: Mapping[str, int], n_asked: int, most: float, step: str | None) -> Iterator[Unusable]:
    """The diagnosis where more than the share `most` of the answers say nothing; `step` are the options that help."""
    if not n_asked or sum(lost.values()) <= most * n_asked:
        return
    if lost.get("refused", 0) > most * n_asked:
        reason = f"the model refuses: {format_share(lost['refused'] / n_asked)} of its answers decline to choose"
        yield Unusable("refuses", reason, step)
    else:
        yield Unusable("unreadable", f"most answers cannot be read: {lost_in_words(lost, n_asked)}", step)


def doubts(lost: Mapping[str, int], n_asked: int, step: str | None) -> Iterator[Doubt]:
    """Why "no clear bias" cannot be given: more than a tenth of the answers say nothing."""
    if n_asked and sum(lost.values()) > SOME_UNUSABLE * n_asked:
        yield Doubt(lost_in_words(lost, n_asked), step)


def lost_in_words(lost: Mapping[str, int], n_asked: int) -> str:
    kind, most = max(lost.items(), key=lambda kind: kind[1])
    total = sum(lost.values())
    if most == total:
        return f"{format_share(most / n_asked)} of {format_count(n_asked)} answers are {LOST[kind]}"
    share = f"{format_share(total / n_asked)} of {format_count(n_asked)} answers"
    return f"{share} are refused, cut off, empty, tied or not understood, most of them {LOST[kind]}"


def readable_with(lost: Mapping[str, int], *, tokens: int, answer: str, listed: str | None = None) -> str | None:
    """The options that would make more answers readable, by the largest kind of `lost`; None if none would.

    `tokens` is the limit of a written answer, `answer` the setting of that name, and `listed` the options with which a
    model chooses from a list instead of writing.
    """
    kind = max(lost, key=lambda kind: lost[kind], default="")
    scored = "--set answer=auto" if answer in _WRITTEN else None
    if kind in ("cut off", "empty"):
        return f"--set tokens={MORE_TOKENS * tokens}"
    return {"not understood": listed or scored, "refused": scored}.get(kind)
