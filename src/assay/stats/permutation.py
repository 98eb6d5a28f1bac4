"""The permutation test of two groups: is their difference larger than groups made by chance would show?

Under the null hypothesis a name's group is unrelated to its values, so every division of the names into groups of the
same sizes is equally likely. p is the share of these divisions with a difference at least as large.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
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
    """The two-sided p of d = mean over the names in `first` − mean over the others, for every word of (name, word).

    **Exact** where there are at most `enumerate_up_to` divisions: p = #{|d†| >= |d|} / divisions, the observed one
    among them. Otherwise **random**: p = (1 + #{|d†| >= |d|}) / (1 + draws). In (0, 1]; 1 means that chance always
    gives as much, as it does for a word with d = 0. Differences closer than 1e-12 of the word's largest value are
    ties: float noise would count about half of them as larger.

    **Adaptive**: every word gets `few` draws, and the words whose p is then < `below` get `many` *fresh* ones (if those
    are more), from which alone their p is made. The first draws chose these words and were perhaps lucky; that luck is
    not counted again, and p stays valid, P(p <= α) <= α under the null, for every α. If α < below, p <= α needs the
    second p to be <= α, which is valid; if α >= below, it needs the first p to be <= α, which is also valid.

    **Strata** (for example the races of names) number each name's stratum: names change groups only within their
    stratum, whose group sizes stay the same. d is still the difference of the two overall means, with equal weight for
    each name. If the groups have different shares of the strata, d includes differences between strata; so do all
    divisions, and p is valid, but |d| then has little power against effects that move d towards 0. A stratum with
    only one group never changes; if all are like that, p = 1.

    **Strict** is the count of An et al. (2023, Eq. 5): p = #{|d†| > |d|} / divisions or draws. It is 0 whenever nothing
    exceeds the observed division: also for a word that only one name has, or one that is the same for all names.

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
        p[chosen] = (extra + _exceed(values[:, chosen], first, labelings, strict)) / (extra + count)
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


def _exceed(values: Array, first: NDArray[np.bool_], labelings: Iterator[Array], strict: bool) -> NDArray[np.int64]:
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
