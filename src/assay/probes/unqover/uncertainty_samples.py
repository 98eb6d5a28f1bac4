"""The chance level of δ, ε and δₒ from drawn answers: what they would be if no probability changed at all.

Shares of k drawn answers differ by chance, and absolute differences of them do not average out. γ, μ and η need no such
correction: what drawing adds to a cell is independent of other cells, so it is already in the spread of cells, from
which errors, covariances and random signs are made.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from assay.probes.unqover import metrics
from assay.probes.unqover.metrics import ASKED, NEGATED, Array

REPEATS = 20
"""The mean over all cells hardly differs between them."""

Counts = NDArray[np.int64]


def drawn_floors(shares: metrics.Scores, samples: int, rng: np.random.Generator) -> Mapping[str, float]:
    """What δ, ε and δₒ are on average if each two shares that they compare come from one probability.

    `shares` are (cell, order, option order, polarity, option). If the probability is one, any of the 2k answers may be
    among either k: so those that name a subject are dealt out again, at every cell's own rate.
    """
    named = np.rint(shares[..., :2].astype(np.float64) * samples).astype(np.int64)
    asked, negated = named[..., ASKED, :], named[..., NEGATED, ::-1]
    found: dict[str, list[float]] = {}
    for _ in range(REPEATS):
        text = np.stack(_dealt(named[:, 0], named[:, 1], samples, rng), axis=1)
        found.setdefault("delta", []).append(metrics.positional_error(text.mean(axis=2)).mean())
        one, other = _dealt(asked, negated, samples, rng)
        swapped = np.stack((one, other[..., ::-1]), axis=-2)
        found.setdefault("epsilon", []).append(metrics.attribute_error(swapped.mean(axis=2)).mean())
        if shares.shape[2] > 1:
            options = np.stack(_dealt(named[:, :, 0], named[:, :, 1], samples, rng), axis=2)
            found.setdefault("delta_options", []).append(metrics.option_error(options).mean())
    return {name: float(np.mean(values)) for name, values in found.items()}


def _dealt(one: Counts, other: Counts, samples: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two shares of `samples` answers each, of which together as many name a subject as these counts say."""
    total = one + other
    first = rng.hypergeometric(total, 2 * samples - total, samples)
    return first / samples, (total - first) / samples
