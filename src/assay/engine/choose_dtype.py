"""The number type of a model on a GPU (`--dtype auto`): the fastest whose scores agree with those in float32.

A sample of the run's own questions is answered in float32 and in each candidate. A type agrees if 99% of the sample's
scores differ from float32's by no more than TOLERANCE, and if decisions change only where float32's own lead is smaller
than that. Scores are compared as metrics use them: as probabilities, for scores of options as shares among the options.
The largest difference would grow with the sample; at 99%, results do not depend on its size.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import AnyPlan
from assay.asking.queries import Answers
from assay.engine.choose_block_size import READ, mean_length
from assay.engine.store import ArraySource, columns_of
from assay.errors import AssayError
from assay.models.base import AUTO, FLOAT16, FLOAT32, TF32, ModelSpec, with_dtype
from assay.results.formatting import plural

BFLOAT16 = "bfloat16"
TOLERANCE = {TF32: 2e-3, FLOAT16: 2e-3, BFLOAT16: 1e-2}
SHARE = 0.99
"""Of the scores that must differ by less than the tolerance."""

WORK = 1e14
"""Parameters times characters (as in `block_size`) that an H200 reads in a second in float32."""
WORTH = 10.0
"""Seconds in float32 below which nothing is tried: loading other types and their first batches take almost as long."""
LEAST, MOST, RANGES = 256, 4096, 8
"""Questions in a sample, and the number of places in the plan that they are taken from."""
SECONDS = 2.0
"""What answering a sample in float32 may take, unless it would be too small."""

Compute = Callable[[ModelSpec, Sequence[range]], Answers]
"""Answers to some questions of the plan."""


def choose_dtype(model: ModelSpec, plan: AnyPlan, n_questions: int, arrays: ArraySource, compute: Compute) -> ModelSpec:
    """The model with the type in which the questions of a run will be asked, and why (`ModelSpec.chosen`).

    `plan` is the first of them, and `n_questions` is how many there are in all.
    """
    length = mean_length(columns_of(plan, arrays, 0, min(LEAST, len(plan)))) * READ.get(plan.ability, 1.0)
    seconds_each = max(model.parameters or 0, 1) * length / WORK
    if seconds_each * max(n_questions, len(plan)) < WORTH:
        return with_dtype(model, FLOAT32, "float32: a faster type would not pay off for this few questions")
    sample = evenly_spaced_ranges(len(plan), int(SECONDS / seconds_each))
    exact = _tried(with_dtype(model, FLOAT32), sample, compute)
    if isinstance(exact, str):
        stored = model.checkpoint_dtype or FLOAT32
        return with_dtype(model, stored, f"{stored}, as the weights are stored: not checked, because float32 {exact}")
    return _fastest(model, plan.ability, exact, sample, compute)


def _fastest(
    model: ModelSpec, ability: str, exact: tuple[Answers, float], sample: Sequence[range], compute: Compute
) -> ModelSpec:
    questions = plural(sum(map(len, sample)), "question")
    best, agrees, reasons = FLOAT32, "", []
    (exact_answers, fastest), waiting = exact, [FLOAT16, TF32]
    while waiting:
        kind = waiting.pop(0)
        trial = _tried(with_dtype(model, kind), sample, compute)
        if isinstance(trial, str):
            reasons.append(f"{kind} {trial}")
            waiting += [BFLOAT16] if kind == FLOAT16 and trial == _UNFIT["bad-scores"] else []
            continue
        answers, seconds = trial
        difference, lead = distance(ability, exact_answers, answers)
        if difference > TOLERANCE[kind]:
            reasons.append(f"{kind} moves more than 1% of the scores by over {TOLERANCE[kind]} ({difference:.2g})")
        elif lead > TOLERANCE[kind]:
            reasons.append(f"{kind} changes a decision where the lead is {lead:.2g}")
        elif seconds >= fastest:
            reasons.append(f"{kind} is not faster than {best}")
        else:
            best, fastest = kind, seconds
            agrees = f"99% of the scores are within {difference:.1g} of float32's"
    rest = f" ({'; '.join(reasons)})" if reasons and best == FLOAT32 else ""
    reason = f"{best}: {agrees or 'no faster type agrees with it'}, checked with {questions}{rest}"
    return with_dtype(model, best, reason)


def _tried(model: ModelSpec, sample: Sequence[range], compute: Compute) -> tuple[Answers, float] | str:
    """The sample's answers and the seconds they took, after the first part, which loads the model; or why there are
    none.
    """
    try:
        compute(model, sample[:1])
        began = time.perf_counter()
        answers = compute(model, sample)
    except AssayError as error:
        if error.code not in _UNFIT:
            raise
        return _UNFIT[error.code]
    return answers, time.perf_counter() - began


_UNFIT = {
    "bad-scores": "gives scores that are not numbers",
    "out-of-memory": "does not fit on the device",
    "no-device": "does not fit on the device",
}


def evenly_spaced_ranges(total: int, n_questions: int) -> list[range]:
    """Ranges of about `n_questions` questions in all, evenly spread; at least LEAST, at most MOST.

    >>> evenly_spaced_ranges(100_000, 800)[:2], sum(map(len, evenly_spaced_ranges(1000, 10**6)))
    ([range(0, 100), range(14271, 14371)], 1000)
    """
    size = min(total, max(LEAST, min(MOST, n_questions))) // RANGES
    starts = np.linspace(0, total - size, RANGES).astype(int).tolist()
    return [range(start, start + size) for start in starts]


def distance(ability: str, exact: Answers, approximate: Answers) -> tuple[float, float]:
    """How far scores are from float32's, as metrics use them: the difference that 99% of the sample stay below, and the
    largest lead that was lost.
    """
    if ability == "text":  # texts are the same or not; there is no lead to look at
        return float((exact["text"] != approximate["text"]).mean() > 1 - SHARE), 0.0
    if ability == "embed":
        length = np.linalg.norm(exact["vector"], axis=1)
        return _most(np.linalg.norm(exact["vector"] - approximate["vector"], axis=1) / length), 0.0
    if ability == "fill":
        return _filled(exact, approximate)
    exact_values, approximate_values = (_probabilities(ability, answers["score"]) for answers in (exact, approximate))
    ordered = np.sort(exact_values, axis=1)
    changed = exact_values.argmax(axis=1) != approximate_values.argmax(axis=1)
    leads = (ordered[:, -1] - ordered[:, -2])[changed]
    return _most(np.abs(exact_values - approximate_values)), float(leads.max(initial=0.0))


def _filled(exact: Answers, approximate: Answers) -> tuple[float, float]:
    """Of words that fill a mask: their probabilities, and which are among the best."""
    same = exact["token"][:, :, None] == approximate["token"][:, None, :]  # (row, word, word of the other)
    is_shared = same.any(axis=2)
    values = np.where(
        is_shared, (same * approximate["probability"][:, None, :]).sum(axis=2), approximate["probability"][:, -1:]
    )
    leads = (exact["probability"] - exact["probability"][:, -1:])[~is_shared]
    return _most(np.abs(exact["probability"] - values)), float(leads.max(initial=0.0))


def _probabilities(ability: str, scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """What a metric compares: of options, their shares; of answers that are scored one by one, those of two in turn."""
    if ability != "choice":
        return scores.astype(np.float64)
    if scores.shape[1] == 1:
        scores = np.hstack([scores, np.roll(scores, 1, axis=0)])
    shares: NDArray[np.float64] = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def _most(values: NDArray[np.floating]) -> float:
    return float(np.quantile(values, SHARE))


def settled_before(model: ModelSpec, before: ModelSpec) -> ModelSpec | None:
    """A model as an earlier attempt at the same run asked it; None if there was none, or nothing was decided."""
    same = model.digest == before.digest and model.device.split(":")[0] == before.device.split(":")[0]
    if model.dtype != AUTO or not same or before.dtype in ("", AUTO):
        return None
    return replace(model, dtype=before.dtype, head_dtype=before.head_dtype, chosen=before.chosen)
