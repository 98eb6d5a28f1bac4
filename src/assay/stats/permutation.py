"""The permutation test of two groups: is their difference larger than groups made by chance would show?

Under the null hypothesis a name's group is unrelated to its values, so every division of the names into groups of the
same sizes is equally likely. p is the share of these divisions with a difference at least as large.

The difference is studentised, which means divided by its standard error (Janssen 1997; Chung and Romano 2013). p stays
exact where a name's group is unrelated to its values, and with many names it is also right where only the means of the
groups are equal: a small group that spreads more than a large one makes large plain differences, but no large t.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from assay.stats.p_values import TIE

_CHUNK = 1 << 19  # numbers held at once: the labelings of a chunk and the differences that they give

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PermutationResult:
    """The p-value of every word, and the number of divisions that it is based on."""

    p: Array  # (word,) NaN where a value of the word is undefined
    draws: NDArray[np.int64]  # (word,) divisions that were tried: all of them where `exact`, else random ones
    exact: bool


def permutation_test(
    values: Array,
    first: NDArray[np.bool_],
    rng: np.random.Generator,
    *,
    strata: NDArray[np.int64] | None = None,
    few: int = 10_000,
    many: int = 1_000_000,
    below: float = 0.02,
    enumerate_up_to: int = 200_000,
    strict: bool = False,
) -> PermutationResult:
    """The two-sided p of t = d / its error, d = mean over the names in `first` − mean over the others, for every word
    of (name, word); d and its error are those of `studentised_difference`.

    **Exact** where there are at most `enumerate_up_to` divisions: p = #{|t†| >= |t|} / divisions, the observed one
    among them. Otherwise **random**: p = (1 + #{|t†| >= |t|}) / (1 + draws). In (0, 1]; 1 means that chance always
    gives as much, as it does for a word with d = 0. Equal values of t up to float noise are ties: the noise would count
    about half of them as larger. With groups of one size and no strata, |t| grows with |d|, and p is that of d itself.

    **Adaptive**: every word gets `few` draws, and the words whose p is then < `below` get `many` *fresh* ones (if those
    are more), from which alone their p is made. The first draws chose these words and were perhaps lucky; that luck is
    not counted again, and p stays valid, P(p <= α) <= α under the null, for every α. If α < below, p <= α needs the
    second p to be <= α, which is valid; if α >= below, it needs the first p to be <= α, which is also valid.

    **Strata** (for example the races of names) number each name's stratum: names change groups only within their
    stratum, whose group sizes stay the same. d is then the difference within strata. A stratum with only one group
    never changes; if all are like that, p = 1.

    **Strict** is the test of An et al. (2023, Eq. 5): p = #{|d†| > |d|} / divisions or draws, where d is the difference
    of the two overall means. It is 0 whenever nothing exceeds the observed division: also for a word that only one name
    has, or one that is the same for all names.

    Words share their draws, which come from generators that `rng` spawns: the same seed gives the same p with any
    number of threads.

    >>> kind, happy = [0.5, 0.5, 0.25, 0.25], [0.0, 1.0, 0.0, 0.0]
    >>> first = np.array([True, True, False, False])
    >>> test = permutation_test(np.array([kind, happy]).T, first, np.random.default_rng(0))
    >>> test.p.round(4).tolist(), test.draws.tolist(), test.exact
    ([0.3333, 1.0], [6, 6], True)
    """
    values, first = np.asarray(values, dtype=np.float64), np.asarray(first, dtype=np.bool_)
    _check(values, first, strata, few)
    names, words = values.shape
    strata = np.zeros(names, dtype=np.int64) if strata is None else np.asarray(strata)
    members = [np.flatnonzero(strata == number) for number in np.unique(strata)]
    divisions = math.prod(math.comb(len(stratum), int(first[stratum].sum())) for stratum in members)
    exact = divisions <= enumerate_up_to
    p, draws = np.full(words, np.nan), np.zeros(words, dtype=np.int64)

    def fill(chosen: NDArray[np.int64], count: int) -> None:
        """Compute p of the chosen words from all divisions, or from `count` random ones."""
        if not len(chosen):
            return
        rows = max(1, _CHUNK // (names + len(chosen)))
        labelings = _all_divisions(first, members, rows) if exact else _random(first, members, rows, count, rng)
        extra = 0 if strict or exact else 1
        plain = strict or (len(members) == 1 and 2 * first.sum() == names)
        exceed = partial(_exceed, strict=strict) if plain else partial(_exceed_studentised, members=members)
        p[chosen] = (extra + exceed(values[:, chosen], first, labelings)) / (extra + count)
        draws[chosen] = count

    defined = np.flatnonzero(np.isfinite(values).all(axis=0))
    # Products of a chunk are too small for several threads: alone they save little, and beside another program that
    # needs a core, waiting for each other takes two to five times as long as one thread does.
    with threadpool_limits(1, user_api="blas"):
        fill(defined, divisions if exact else few)
        if not exact and many > few:
            fill(np.flatnonzero(p < below), many)  # NaN is not
    return PermutationResult(p, draws, exact)


def _check(values: Array, first: NDArray[np.bool_], strata: NDArray[np.int64] | None, few: int) -> None:
    if values.ndim != 2 or first.shape != values.shape[:1]:
        raise ValueError(f"first must have one entry per row of values (name, word), not {first.shape}, {values.shape}")
    if first.all() or not first.any():
        raise ValueError(f"each group needs a name; of {len(first)}, {int(first.sum())} are in the first group")
    if strata is not None and np.shape(strata) != first.shape:
        raise ValueError(f"strata must have one entry per name: {len(first)}, not {np.shape(strata)}")
    if few < 1:
        raise ValueError(f"few must be at least 1, not {few}")


@dataclass(frozen=True)
class _Design:
    """Who can be exchanged with whom, and how the variance of S = Σ over the first group of what is left of the values
    without their stratum's mean follows from the sums of squares of both groups.

    S = Σ_s w_s (mean of the first group in stratum s − that of the other) with w_s = a_s b_s / N_s, so that its
    variance is Σ_s w_s² (σ_a² / a_s + σ_b² / b_s); both σ² are pooled over strata. If a group has only one name in
    every stratum, one σ² is pooled over both groups.
    """

    members: Sequence[NDArray[np.int64]]  # of the strata with both groups
    inside: Array  # (stratum,) how many are in the first group
    outside: Array
    per_square: tuple[float, float]  # of the first group, and the other: what its sum of squares adds to the variance

    @staticmethod
    def of(first: NDArray[np.bool_], members: Sequence[NDArray[np.int64]]) -> _Design:
        both = [stratum for stratum in members if 0 < first[stratum].sum() < len(stratum)]
        inside = np.array([first[stratum].sum() for stratum in both], np.float64)
        outside = np.array([len(stratum) for stratum in both], np.float64) - inside
        weight = inside * outside / (inside + outside)
        shares = float((weight**2 / inside).sum()), float((weight**2 / outside).sum())
        freedom = inside.sum() - len(both), outside.sum() - len(both)
        if min(freedom) > 0:
            return _Design(both, inside, outside, (shares[0] / freedom[0], shares[1] / freedom[1]))
        pooled = sum(shares) / max(sum(freedom), 1.0)
        return _Design(both, inside, outside, (pooled, pooled))

    def centred(self, values: Array) -> Array:
        """Values without their stratum's mean; 0 in strata with one group only."""
        rest = np.zeros_like(values)
        for stratum in self.members:
            rest[stratum] = values[stratum] - values[stratum].mean(axis=0)
        return rest

    def sums(self, labels: Array, rest: Array, squares: Array) -> tuple[Array, Array]:
        """S and its variance for every labeling and word (draw, word), from what is left of the values, and its square.

        V = f_a SS_a + f_b SS_b, where SS_a = Σ_a squares − Σ_s P_s²/a_s with P_s the sum of the first group in stratum
        s, and the other group has the rest of all squares and the sum −P_s.
        """
        first_factor, other_factor = self.per_square
        total = np.zeros((len(labels), rest.shape[1]))
        variance = np.broadcast_to(other_factor * squares.sum(axis=0), total.shape).copy()
        if first_factor != other_factor:
            variance += labels @ ((first_factor - other_factor) * squares)
        for stratum, inside, outside in zip(self.members, self.inside, self.outside, strict=True):
            part = labels[:, stratum] @ rest[stratum]
            total += part
            np.multiply(part, part, out=part)
            variance -= (first_factor / inside + other_factor / outside) * part
        return total, variance


def studentised_difference(
    values: Array, first: NDArray[np.bool_], strata: NDArray[np.int64] | None = None
) -> tuple[Array, Array]:
    """The difference d (word,) of the mean over the names in `first` from that over the others, and its standard error.

    Without strata these are Welch's: error² = s_a²/a + s_b²/b. With strata d is the difference within strata, each
    weighted as in the difference of the overall means, and the variances are pooled over strata. If a group has one
    name only, both groups have one variance.

    >>> values = np.array([[0.5], [0.7], [0.2], [0.3], [0.4]])
    >>> d, error = studentised_difference(values, np.array([True, True, False, False, False]))
    >>> d.round(3).tolist(), error.round(3).tolist()
    ([0.3], [0.115])
    """
    strata = np.zeros(len(first), np.int64) if strata is None else strata
    design = _Design.of(first, [np.flatnonzero(strata == number) for number in np.unique(strata)])
    rest, inside = design.centred(values), first.sum()
    total, variance = design.sums(first[None].astype(np.float64), rest, rest**2)
    scale = 1.0 / inside + 1.0 / (len(first) - inside)
    return total[0] * scale, np.sqrt(np.maximum(variance[0], 0.0)) * scale


_LEAST_VARIANCE, _SAME_T = 1e-6, 1e-8
"""Of the variance that one group has by chance, so much is the least in t; squares of t are equal up to that share."""


def _exceed_studentised(
    values: Array, first: NDArray[np.bool_], labelings: Iterator[Array], *, members: Sequence[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """How many labelings give each word a |t| that reaches the observed one.

    t² = S²/V, compared as S†² V and S² V†, without a division. Float noise in V matters where V is nearly 0: there is a
    least variance, far below what values of different names show.
    """
    design = _Design.of(first, members)
    rest = design.centred(values)
    rest[np.abs(rest) <= TIE * np.abs(values).max(axis=0)] = 0.0
    squares = rest**2
    least = _LEAST_VARIANCE * sum(design.per_square) * squares.sum(axis=0)
    total, variance = design.sums(first[None].astype(np.float64), rest, squares)
    total[np.abs(total) <= TIE * np.abs(values).max(axis=0) * len(first)] = 0.0
    observed = total[0] ** 2 * (1.0 - _SAME_T)
    known = np.maximum(variance[0], least)
    count = np.zeros(values.shape[1], dtype=np.int64)
    for labels in labelings:
        total, variance = design.sums(labels, rest, squares)
        np.maximum(variance, least, out=variance)
        np.multiply(total, total, out=total)
        count += (total * known >= observed * variance).sum(axis=0)
    return count


def _exceed(values: Array, first: NDArray[np.bool_], labelings: Iterator[Array], *, strict: bool) -> NDArray[np.int64]:
    """How many labelings (1 for the first group, else 0) give each word a difference that reaches the observed one.

    With values that add up to 0, Σ_A = −Σ_B, so that d = Σ_A/|A| − Σ_B/|B| = Σ_A · n/(|A||B|): a product of matrices.
    """
    inside = int(first.sum())
    share = (values - values.mean(axis=0)) * (len(first) / (inside * (len(first) - inside)))  # (name, word)
    observed = np.abs(first.astype(np.float64) @ share)
    margin = TIE * np.abs(values).max(axis=0)
    border = observed + margin if strict else observed - margin
    reach = np.greater if strict else np.greater_equal
    count = np.zeros(values.shape[1], dtype=np.int64)
    d, reached = np.empty((0, len(count))), np.empty((0, len(count)), dtype=np.bool_)
    for labels in labelings:
        if len(labels) != len(d):  # at the first and the last chunk; fresh memory for each would double the time
            d, reached = np.empty((len(labels), len(count))), np.empty((len(labels), len(count)), dtype=np.bool_)
        np.matmul(labels, share, out=d)  # (draw, word)
        reach(np.abs(d, out=d), border, out=reached)
        count += reached.sum(axis=0)
    return count


def _random(
    first: NDArray[np.bool_], members: list[NDArray[np.int64]], rows: int, count: int, rng: np.random.Generator
) -> Iterator[Array]:
    """`count` labelings (draw, name), at most `rows` at a time: of each stratum as many random names as are in `first`.

    The names with the smallest random numbers are chosen; two equal 53-bit numbers are practically impossible. Each
    stratum has its own generator: its draws do not depend on how many rows are made at once.
    """
    streams = rng.spawn(len(members))
    for lo in range(0, count, rows):
        labels = np.empty((min(rows, count - lo), len(first)))
        for stratum, stream in zip(members, streams, strict=True):
            inside = int(first[stratum].sum())
            keys = stream.random((len(labels), len(stratum)))
            most = np.partition(keys, inside - 1, axis=1)[:, inside - 1 : inside] if inside else 0.0
            labels[:, stratum] = keys <= most if inside else 0.0
        yield labels


def _all_divisions(first: NDArray[np.bool_], members: list[NDArray[np.int64]], rows: int) -> Iterator[Array]:
    """Every labeling (division, name) once, at most `rows` at a time.

    A division's number, in a mixed base, selects a subset of each stratum. Subsets have the size of the stratum's
    smaller group, which keeps them short.
    """
    strata = []  # (names, does the first group have more of them, its or the others' places in every subset)
    for stratum in members:
        inside = int(first[stratum].sum())
        size = min(inside, len(stratum) - inside)
        subsets = math.comb(len(stratum), size)
        flat = chain.from_iterable(combinations(stratum.tolist(), size))
        picks = np.fromiter(flat, dtype=np.int64, count=subsets * size).reshape(subsets, size)
        strata.append((stratum, inside > size, picks))
    total = math.prod(len(picks) for _, _, picks in strata)
    for lo in range(0, total, rows):
        number = np.arange(lo, min(lo + rows, total))
        labels = np.zeros((len(number), len(first)))
        for stratum, most, picks in strata:
            number, digit = np.divmod(number, len(picks))
            labels[:, stratum] = float(most)
            np.put_along_axis(labels, picks[digit], float(not most), axis=1)
        yield labels
