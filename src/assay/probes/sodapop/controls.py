"""What else differs between names: how many pieces a tokenizer makes of them and how frequent they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.probes.sodapop.metrics import Array
from assay.stats.resampling import TIE

UNCOUNTED = 100
"""The count taken for a name that the table of counts leaves out, having fewer than 200."""


def control_columns(names: Sequence[str], pieces: NDArray[np.int32], counts: Mapping[str, int]) -> Array:
    """Pieces and the logarithm of the frequency of every name (name, 2)."""
    frequency = [np.log10(counts.get(name, UNCOUNTED)) for name in names]
    return np.column_stack([pieces.astype(np.float64), np.array(frequency)])


def adjusted_difference(values: Array, first: NDArray[np.bool_], controls: Array) -> Array | None:
    """d(w, A, B) with the controls regressed out (word,): the group's coefficient beside them (ordinary least squares).

    `values` (name, word) are success rates, `first` says who is in A. None where the controls and the group cannot be
    told apart, or there are too few names.
    """
    varying = controls[:, controls.std(axis=0) > 0]
    design = np.column_stack([np.ones(len(values)), first.astype(np.float64), varying - varying.mean(axis=0)])
    if len(values) <= design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    solution, *_ = np.linalg.lstsq(design, values, rcond=None)
    noise = TIE * np.abs(values).max(axis=0)
    return np.where(np.abs(solution[1]) <= noise, 0.0, solution[1])
