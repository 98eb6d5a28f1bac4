"""Training models that choose among options; accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.lab.training.choice_data import ChoiceData, read_choice_data
from assay.lab.training.choice_tokens import Choices, encode_choice
from assay.lab.training.data_files import summary_of
from assay.lab.training.evaluation import Asker
from assay.lab.training.kind import Kind, Task, Test
from assay.lab.training.mask_texts import Texts
from assay.lab.training.scores import Scores, mean_estimate
from assay.lab.training.settings import Settings
from assay.models.hf import load
from assay.settings import setting


@dataclass(frozen=True)
class ChoiceSettings(Settings):
    """How choice models are trained."""

    length: int = setting(512, "the most tokens of a sequence", least=8)


class ChoiceTraining(Kind[ChoiceSettings]):
    name = "choice"
    does = "chooses among the options of a question about a context"
    reads = (
        "RACE's folder of articles (of RACE itself train/, and dev/ for --eval);",
        'Social IQa\'s .jsonl beside its -labels.lst, or with "correct" in every row',
    )
    head = "MultipleChoice"
    pipeline = "multiple-choice"
    settings = ChoiceSettings

    def task(self, data: Path | Texts | None, tokenizer: Any, name: str, settings: ChoiceSettings) -> Task:
        questions = read_choice_data(self.path(data))
        choices = encode_choice(tokenizer, name, questions, length=settings.length)
        counts = {
            "questions": len(choices.rows),
            "contexts": len(set(questions.contexts)),
            "options": questions.options,
            "contexts_cut": choices.cut,
            "questions_left_out": choices.left_out,
        }
        return Task(choices.features, summary_of(questions.digests), counts, questions.notes)

    def test(
        self, path: Path, tokenizer: Any, name: str, settings: ChoiceSettings, seed: int, known: int
    ) -> ChoiceTest:
        questions = read_choice_data(path, "dev")
        return ChoiceTest(questions, encode_choice(tokenizer, name, questions, length=settings.length))


@dataclass(frozen=True)
class ChoiceTest(Test):
    data: ChoiceData
    choices: Choices

    def scores(self, ask: Asker, seed: int) -> Scores:
        choices = self.choices
        logits = ask.ask_model(choices.features.tokens, load(ask.spec))["score"]  # (row, option)
        right = logits.argmax(1) == choices.features.labels["labels"]
        units = np.array(self.data.contexts, np.int64)[choices.rows]
        accuracy = mean_estimate("accuracy", {}, right, units, seed=seed, floor=1 / self.data.options)
        notes = list(self.data.notes)
        notes += [f"{choices.left_out:,} questions were left out: they are too long"] if choices.left_out else []
        notes += [f"{choices.cut:,} contexts were cut at their end"] if choices.cut else []
        return Scores(summary_of(self.data.digests), "context", len(np.unique(units)), (accuracy,), tuple(notes))
