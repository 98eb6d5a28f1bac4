"""The sign-flip test of a sum: is Σ m_y further from 0 than sums of ±m_y with random signs?

Under the null hypothesis each unit's value is as likely to be m as −m, so p = P(|Σ ±m_y| >= |Σ m_y|) over the 2^n
equally likely choices of signs: two-sided, in [2^(1−n), 1].
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from assay.stats.p_values import TIE

EXACT_UP_TO = 14  # 2^14 sums are enumerated in less time than an approximation needs
_DOMINANT = 0.2  # a unit with more than this share of Σm² makes the sum lumpy: both its signs are tried
_DEPTH = 6  # at most this many such units
_CHUNK = 1 << 22  # numbers held at once while enumerating
_NEWTON = 100

Array = NDArray[np.float64]


def sign_flip_p(values: Array) -> Array:
    """p of every row of `values` (row, unit); units of value 0 (padding) have no effect, and a row of zeros has p = 1.

    Let D = (Σ|m| − |Σm|) / 2. A choice of signs reaches the observed sum exactly if the magnitudes that it turns
    against the majority add up to at most D, so only units with |m| <= D matter. If those are at most 14 (whenever a
    row has at most 14 units, and in most one-sided rows) their subsets are counted, and p is exact. The others get
    Lugannani and Rice's saddlepoint approximation, which is within about 0.01 of p, and for small p within a few
    percent of it (tests/stats/test_signflip.py).

    >>> sign_flip_p(np.array([[1.0, 1.0, 1.0], [2.0, 1.0, -1.0], [0.0, 0.0, 0.0]])).tolist()
    [0.25, 0.75, 1.0]
    """
    sizes = np.sort(np.abs(values), axis=1)  # (row, unit), rising
    total = sizes.sum(axis=1)
    observed = np.abs(values.sum(axis=1))
    p = np.ones(len(values))
    apart = np.flatnonzero(observed > TIE * total)  # the others are 0 up to rounding: every sum is at least as far
    if not len(apart):
        return p
    sizes, total = sizes[apart] / total[apart, None], total[apart]
    goal = observed[apart] / total  # (row,) in (0, 1]: the sizes now add up to 1
    units = (sizes > 0).sum(axis=1)
    slack = (1.0 - goal) / 2.0 + TIE  # D
    flippable = ((sizes > 0) & (sizes <= slack[:, None])).sum(axis=1)
    countable = flippable <= EXACT_UP_TO
    rest = ~countable
    tail = np.empty(len(apart))  # P(Σ ±m >= |Σm|)
    tail[countable] = _count(sizes[countable], units[countable], flippable[countable], slack[countable])
    # The approximation is of a continuous sum. Sums on a grid lie 2 steps apart, so that the border is drawn one step
    # below the observed one.
    step = _step(sizes[rest])
    tail[rest] = np.maximum(_tail(sizes[rest, ::-1], goal[rest] - step, step, _DEPTH), np.ldexp(1.0, -units[rest]))
    p[apart] = np.minimum(2.0 * tail, 1.0)
    return p


def _count(sizes: Array, units: NDArray[np.int64], flippable: NDArray[np.int64], slack: Array) -> Array:
    """The share of the 2^units choices whose turned magnitudes add up to at most `slack`, by enumeration."""
    counts = np.zeros(len(sizes))
    padding = sizes.shape[1] - units
    for k in np.unique(flippable):
        rows = np.flatnonzero(flippable == k)
        for at in range(0, len(rows), max(1, _CHUNK >> int(k))):
            chunk = rows[at : at + max(1, _CHUNK >> int(k))]
            small = np.take_along_axis(sizes[chunk], padding[chunk, None] + np.arange(k), axis=1)  # (row, k)
            sums = np.zeros((len(chunk), 1))
            for unit in range(int(k)):
                sums = np.concatenate((sums, sums + small[:, unit, None]), axis=1)  # (row, 2^(unit + 1))
            counts[chunk] = (sums <= slack[chunk, None]).sum(axis=1)
    share: Array = np.ldexp(counts, -units)
    return share


def _step(sizes: Array) -> Array:
    """The step of the grid of a row's magnitudes (scores of 0 and 1 give one), or 0 if there is none.

    Euclid's algorithm with a tolerance; a grid finer than 1/4096 of the row's total counts as none.
    """
    step = sizes[:, -1].copy()
    finest = sizes.sum(axis=1) / 4096
    for column in sizes.T:
        rest = np.where(step > 0, column, 0.0)
        while (open_ := rest > 1e-9 * step).any():
            larger, smaller = step[open_], rest[open_]
            step[open_], rest[open_] = smaller, np.abs(larger - smaller * np.rint(larger / smaller))
            step[step < finest] = 0.0
            rest[step == 0] = 0.0
    return step


def _tail(sizes: Array, goal: Array, step: Array, depth: int) -> Array:
    """P(Σ ±m >= goal) with m in falling order (row, unit): both signs of dominant units, the rest approximated."""
    split = np.zeros(len(sizes), dtype=np.bool_)
    if depth and sizes.shape[1] > 1:
        split = sizes[:, 0] ** 2 > _DOMINANT * (sizes**2).sum(axis=1)
    tail = np.empty(len(sizes))
    if split.any():
        first, others = sizes[split, 0], sizes[split, 1:]
        ends = (_tail(others, goal[split] + sign * first, step[split], depth - 1) for sign in (-1.0, 1.0))
        tail[split] = sum(ends) / 2.0
    if not split.all():
        tail[~split] = _saddlepoint(sizes[~split], goal[~split], step[~split])
    return tail


def _saddlepoint(sizes: Array, goal: Array, step: Array) -> Array:
    """Lugannani and Rice's P(Σ ±m >= goal), from the cumulant function K(s) = Σ log cosh(s·m).

    Where K'(s) = goal: w = √(2(s·goal − K)), u = s·√K″, P = 1 − Φ(w) + φ(w)(1/u − 1/w); for sums on a grid
    u = sinh(s·step)/step·√K″ (Daniels 1987, the second continuity correction).
    """
    total, spread = sizes.sum(axis=1), np.sqrt((sizes**2).sum(axis=1))
    distance = np.abs(goal)
    tail = np.full(len(sizes), 0.5)  # at 0, by symmetry; the formula is 0/0 there
    edge = distance >= total * (1.0 - TIE)
    last = np.ldexp(0.5, -(sizes[edge] > 0).sum(axis=1))  # on the edge: half of one choice; beyond it: nothing
    tail[edge] = np.where(distance[edge] > total[edge] * (1.0 + TIE), 0.0, last)
    inside = np.flatnonzero(~edge & (distance > 1e-4 * spread))
    if len(inside):
        tail[inside] = _lugannani_rice(sizes[inside], distance[inside], step[inside])
    return np.where(goal < 0, 1.0 - tail, tail)


def _lugannani_rice(sizes: Array, goal: Array, step: Array) -> Array:
    s = np.zeros(len(sizes))
    active = np.arange(len(sizes))
    for _ in range(_NEWTON):  # K' is concave for s > 0: Newton's steps from 0 rise to the root and never pass it
        m = sizes[active]
        tanh = np.tanh(s[active, None] * m)
        short = goal[active] - (m * tanh).sum(axis=1)
        move = short / np.maximum((m**2 * (1.0 - tanh**2)).sum(axis=1), 1e-300)
        s[active] += move
        active = active[np.abs(move) > 1e-12 * s[active]]
        if not len(active):
            break
    scaled = s[:, None] * sizes
    # log cosh x, to full precision where x is small: w is the root of a small difference.
    near = np.log1p(2.0 * np.sinh(np.minimum(scaled, 20.0) / 2.0) ** 2)
    cumulant = np.where(scaled < 20.0, near, scaled - math.log(2.0)).sum(axis=1)
    curvature = (sizes**2 * (1.0 - np.tanh(scaled) ** 2)).sum(axis=1)
    w = np.sqrt(np.maximum(2.0 * (s * goal - cumulant), 1e-300))
    grid = np.where(step > 0, step, 1.0)
    slope = np.where(step > 0, np.sinh(np.minimum(s * grid, 700.0)) / grid, s)
    u = slope * np.sqrt(np.maximum(curvature, 1e-300))
    beyond = np.array([math.erfc(x / math.sqrt(2.0)) / 2.0 for x in w])
    density = np.exp(-(w**2) / 2.0) / math.sqrt(2.0 * math.pi)
    tail: Array = np.clip(beyond + density * (1.0 / u - 1.0 / w), 0.0, 0.5)
    return tail


# --- contributions: whether a change comes from few units


_ZERO = 1e-12


def contribution_p(value: Array, left_out: Array, strata: NDArray[np.int64]) -> Array:
    """p of changes (…,), from what they become when each unit is left out (unit, …): is it one-sided over the units?

    Exchanging the two models' answers about a unit flips the sign of the unit's contribution to the change. Under the
    null hypothesis both signs are equally likely, which gives the sign-flip test of the contributions. A unit x of n_g
    in its stratum, n in total, contributes

        c_x = change/n + (n_g − 1)/n_g · (d_x − mean of d in the stratum)    with    d_x = change − change without x,

    the jackknife's pseudo-value divided by n: Σ c_x = change, and for a mean of paired differences c_x is the
    difference divided by n. It is also valid if items share units (a pair has two subjects). Exchanging item by item is
    not, as it treats the items of one subject as independent. NaN if the change is undefined without some unit.
    """
    units = len(strata)
    missing = value - left_out  # (unit, …)
    contributed = np.broadcast_to(value / units, missing.shape).copy()
    for stratum in np.unique(strata):
        inside = strata == stratum
        size = int(inside.sum())
        contributed[inside] += (size - 1) / size * (missing[inside] - missing[inside].mean(axis=0))
    flat = contributed.reshape(units, -1).T  # (change, unit)
    flat = np.where(np.abs(flat) < _ZERO, 0.0, flat)
    p = np.full(len(flat), np.nan)
    defined = np.isfinite(flat).all(axis=1)
    if defined.any():
        p[defined] = sign_flip_p(flat[defined])
    return p.reshape(np.shape(value))
