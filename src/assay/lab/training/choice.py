"""Training models that choose among options; their questions as tokens, and their accuracy.

Questions are encoded by the encoder of audits: training and audit agree because they share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import ChoiceColumns
from assay.asking.tokens import Tokens, option_rows, starts_of
from assay.config.settings import setting
from assay.errors import DataError
from assay.lab.training.batches import Features, joined
from assay.lab.training.choice_data import ChoiceData, read_choice_data
from assay.lab.training.data_files import Texts, summary_of
from assay.lab.training.scores import TaskScores, TrainedModelAsk, mean_estimate
from assay.lab.training.training_kind import EvaluationData, TrainingData, TrainingKind, TrainingSettings
from assay.models.encode_columns import Encoder
from assay.models.hf import load

_CHUNK = 4096
_NO_LIMIT = 10**9


@dataclass(frozen=True)
class ChoiceSettings(TrainingSettings):
    """How choice models are trained."""

    length: int = setting(512, "the most tokens per sequence", least=8)


class ChoiceTraining(TrainingKind[ChoiceSettings]):
    name = "choice"
    does = "answers multiple-choice questions about a context"
    reads = (
        "RACE's folder of articles (train/, and dev/ for --eval);",
        'Social IQa\'s .jsonl beside its -labels.lst, or with "correct" in every row',
    )
    head = "MultipleChoice"
    pipeline = "multiple-choice"
    settings = ChoiceSettings

    def task(self, data: Path | Texts, tokenizer: Any, name: str, settings: ChoiceSettings) -> TrainingData:
        questions = read_choice_data(self.path(data))
        choices = encode_choice(tokenizer, name, questions, length=settings.length)
        counts = {
            "questions": len(choices.rows),
            "contexts": len(set(questions.contexts)),
            "options": questions.options,
            "contexts_cut": choices.cut,
            "questions_left_out": choices.left_out,
        }
        return TrainingData(choices.features, summary_of(questions.digests), counts, questions.notes)

    def test(
        self, path: Path, tokenizer: Any, name: str, settings: ChoiceSettings, seed: int, n_tokens: int
    ) -> ChoiceTest:
        questions = read_choice_data(path, "dev")
        return ChoiceTest(questions, encode_choice(tokenizer, name, questions, length=settings.length))


@dataclass(frozen=True)
class EncodedChoices:
    """Rows of options and the right one's number; which questions they are, and how many contexts were cut."""

    features: Features
    rows: NDArray[np.int64]  # (row,): the question's number in its file
    cut: int
    left_out: int


@dataclass(frozen=True)
class ChoiceTest(EvaluationData):
    data: ChoiceData
    choices: EncodedChoices

    def scores(self, ask: TrainedModelAsk, seed: int) -> TaskScores:
        choices = self.choices
        logits = ask.ask_model(choices.features.tokens, load(ask.spec))["score"]  # (row, option)
        right = logits.argmax(1) == choices.features.labels["labels"]
        units = np.array(self.data.contexts, np.int64)[choices.rows]
        accuracy = mean_estimate("accuracy", {}, right, units, seed=seed, floor=1 / self.data.options)
        notes = list(self.data.notes)
        notes += [f"{choices.left_out:,} questions were left out because they are too long"] if choices.left_out else []
        notes += [f"{choices.cut:,} contexts were truncated"] if choices.cut else []
        return TaskScores(summary_of(self.data.digests), "context", len(np.unique(units)), (accuracy,), tuple(notes))


def encode_choice(tokenizer: Any, name: str, data: ChoiceData, *, length: int) -> EncodedChoices:
    """Each option's sequence: the context, then question + blank + option (`queries.ChoiceColumns`).

    If one is longer than `length`, the context's end is cut off, equally for all options of the question; a question
    whose other parts alone are longer is left out and counted. Audits never cut: they refuse a text that is too long.
    """
    encoder = Encoder(tokenizer, _NO_LIMIT, name)
    layout = encoder.tokeniser.pair
    parts, fits, cut = [], [], 0
    for lo in range(0, len(data.queries), _CHUNK):
        tokens = encoder.encode(ChoiceColumns.of(data.queries[lo : lo + _CHUNK]))
        excess = np.maximum(np.diff(tokens.marks["parts"], axis=1).max(1) - length, 0)  # (row,)
        context = tokens.second - len(layout.before) - len(layout.between)  # tokens of it that may go
        fitting = np.flatnonzero(excess < context)
        cut += int((excess[fitting] > 0).sum())
        fits.append(lo + fitting)
        if len(fitting):
            parts.append(_shortened(tokens.take(fitting), excess[fitting], len(layout.between)))
    rows = np.concatenate(fits)
    if not len(rows):
        remedy = "Increase the length with --set length=…, or choose another base."
        raise DataError(f"no question fits into {length} tokens.", remedy, code="too-long", key="length")
    labels = {"labels": np.array(data.labels, np.int64)[rows]}
    return EncodedChoices(Features(joined(parts), labels), rows, cut, len(data.queries) - len(rows))


def _shortened(tokens: Tokens, excess: NDArray[np.int64], between: int) -> Tokens:
    """Without so many tokens at the end of each row's context, in all its options."""
    if not excess.any():
        return tokens
    flat, options = option_rows(tokens), tokens.marks["parts"].shape[1] - 1
    gone = excess.repeat(options)  # (sequence,)
    behind = flat.offsets[:-1] + flat.second - between  # where the context of each sequence has ended
    edges = np.zeros(len(flat.ids) + 1, np.int64)
    np.add.at(edges, behind - gone, 1)
    np.add.at(edges, behind, -1)
    lengths = (flat.lengths - gone).reshape(-1, options)  # (row, option)
    starts = np.concatenate([np.zeros((len(lengths), 1), np.int64), lengths.cumsum(1)], 1)
    return Tokens(
        tokens.ability,
        flat.ids[np.cumsum(edges[:-1]) == 0],
        starts_of(lengths.sum(1)),
        (tokens.second - excess).astype(np.int32),
        {"parts": starts.astype(np.int32)},
        tokens.scoring,
    )
