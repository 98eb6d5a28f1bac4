"""The number of questions in a block: about a second's work on a CPU, so a killed run loses little."""

from __future__ import annotations

import math

import numpy as np

from assay.asking.plan import AnyPlan
from assay.asking.queries import TOKENIZER_ABILITIES, ChoiceColumns, QueryColumns, StringColumn, TextColumns
from assay.engine.store import ArraySource, columns_of
from assay.models.base import LETTERS_A_TOKEN, ModelSpec

LEAST, MOST = 16, 16_384
USUAL = 4096
"""The former size of every block. Endpoints keep it, as their journal loses nothing; GPUs get at least this, as smaller
blocks leave them idle; and tokenizer queries take almost no time.
"""
UNKNOWN = 256
"""For models of unknown size, such as a function: 16 rounds of the 16 questions that are asked at once."""
FIRST = 256
"""How many questions of a plan are measured."""

WORK = {"cpu": 5e11, "cuda": 5e14}
"""Parameters times characters (see `READ`) of a block, by kind of device: what two free cores or one GPU read in about
a second, as docs/measurements.md has it; other devices count as a CPU.
"""
READ = {"choice": 3.0, "text": 10.0}
"""How often the characters of a question count: a multiple-choice model reads most of them with every option, and every
token that is written takes a pass of its own through the model. Those of other abilities count once.
"""


def choose_block_size(model: ModelSpec, plan: AnyPlan, arrays: ArraySource) -> int:
    """The block size of a plan for a model; the same on every machine."""
    if model.endpoint is not None or plan.ability in TOKENIZER_ABILITIES:
        return USUAL
    length = mean_length(columns_of(plan, arrays, 0, min(FIRST, len(plan))))
    return block_size(plan.ability, model.device.split(":")[0], model.parameters, length)


def block_size(ability: str, device: str, parameters: int | None, length: float) -> int:
    """Questions in a block, a power of two; the fewer the larger the model and the longer the questions.

    `length` is the mean number of characters of a question.

    >>> block_size("span", "cpu", 22_000_000, 150), block_size("choice", "cpu", 135_000_000, 600)
    (128, 16)
    >>> block_size("span", "cuda", 110_000_000, 150), block_size("text", "cuda", 7_000_000_000, 600)
    (16384, 4096)
    """
    least = USUAL if device == "cuda" else LEAST
    if parameters is None:
        return max(least, UNKNOWN)
    questions = WORK.get(device, WORK["cpu"]) / (max(parameters, 1) * READ.get(ability, 1.0) * max(length, 1.0))
    return min(MOST, max(least, 1 << max(0, round(math.log2(questions)))))


def mean_length(columns: QueryColumns) -> float:
    """The mean number of characters of a question, plus those of the longest text that may be written."""
    texts = [column for column in vars(columns).values() if isinstance(column, StringColumn)]
    total = sum(int(np.array([len(text) for text in column.values], np.int64)[column.index].sum()) for column in texts)
    if isinstance(columns, ChoiceColumns):
        total += int(np.array([len(option) for option in columns.choices], np.int64)[columns.options].sum())
    n_written = LETTERS_A_TOKEN * columns.tokens if isinstance(columns, TextColumns) else 0
    return total / len(columns) + n_written
