"""The three stages of the training: read, teach, learn."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from data import OPTIONS, Data
from evaluate import choice_logits, choice_scores, figures, span_logs, span_scores
from fit import Watch, fit
from model import BuiltIn, from_base
from recipe import Recipe
from tasks import Choosing, Reading, Spanning, Task

Log = Callable[..., None]
"""Writes down what it is called with."""


@dataclass(frozen=True)
class Trainer:
    """The stages."""

    data: Data
    recipe: Recipe
    device: torch.device
    log: Log

    def read(self, base: Path) -> BuiltIn:
        """The base encoder, after reading."""
        recipe = self.recipe
        torch.manual_seed(recipe.seed)
        model: BuiltIn = from_base(base, dropout=recipe.read_dropout).to(self.device)
        reading = Reading(model, self.data, self.device, recipe.read_prose_rows, recipe.short_rows)
        self._fit(model, {"mask": reading}, recipe.read_steps, recipe.read_rate, self._watch(model, "read"))
        return model

    def teach(self, encoder: BuiltIn) -> dict[str, Tensor]:
        """What several copies of the encoder, each taught one task, make of the training questions together.

        span: probabilities (2, row, position); choice: logits (question, option).
        """
        return {"span": self._judge_spans(encoder), "choice": self._judge_choices(encoder)}

    def learn(self, encoder: BuiltIn, judged: Mapping[str, Tensor]) -> BuiltIn:
        """Everything at once."""
        recipe, world = self.recipe, (self.data, self.device)
        model = _fresh(encoder, recipe.seed + 1)
        tasks: dict[str, Task] = {
            "mask": Reading(model, *world, recipe.learn_prose_rows, recipe.short_rows),
            "span": Spanning(model, *world, recipe.learn_span_rows, judged["span"], recipe.trust),
            "choice": Choosing(
                model, *world, recipe.learn_choice_rows, judged["choice"], recipe.trust, recipe.learn_choice_others
            ),
        }
        self._fit(model, tasks, recipe.learn_steps, recipe.learn_rate, self._watch(model, "learn"))
        return model

    def _judge_spans(self, encoder: BuiltIn) -> Tensor:
        recipe, spans = self.recipe, self.data.spans
        judged: list[Tensor] = []
        validated: list[Tensor] = []
        for teacher in range(recipe.teachers):
            model = _fresh(encoder, recipe.seed + 100 + teacher)
            spanning = Spanning(model, self.data, self.device, recipe.teach_span_rows)
            self._fit(model, {"span": spanning}, recipe.teach_span_steps, recipe.teach_span_rate)
            judged.append(span_logs(model, spans["train"]).exp())
            alone = span_logs(model, spans["validation"])
            validated.append(alone.exp())
            f1, together = (span_scores(logs, spans["validation"])[0] for logs in (alone, _mean(validated).log()))
            self.log(stage="teach", task="span", teacher=teacher, f1=f1.figure, f1_together=together.figure)
        return _mean(judged)

    def _judge_choices(self, encoder: BuiltIn) -> Tensor:
        recipe, choices = self.recipe, self.data.choices
        judged: list[Tensor] = []
        validated: list[Tensor] = []
        for teacher in range(recipe.teachers):
            model = _fresh(encoder, recipe.seed + 200 + teacher)
            choosing = Choosing(model, self.data, self.device, recipe.teach_choice_rows)
            self._fit(model, {"choice": choosing}, recipe.teach_choice_steps, recipe.teach_choice_rate)
            judged.append(_centred(choice_logits(model, choices["train"])))
            alone = _centred(choice_logits(model, choices["validation"]))
            validated.append(alone)
            one, together = (choice_scores(each, choices["validation"]) for each in (alone, _mean(validated)))
            accuracy = {"accuracy": one.figure, "accuracy_together": together.figure}
            self.log(stage="teach", task="choice", teacher=teacher, **accuracy)
        return _mean(judged)

    def _fit(
        self, model: BuiltIn, tasks: Mapping[str, Task], steps: int, rate: float, watch: Watch | None = None
    ) -> None:
        fit(model, tasks, steps, rate, {"choice": self.recipe.learn_choice_weight}, watch)

    def _watch(self, model: BuiltIn, stage: str) -> Watch:
        """Logs the progress of a stage on the validation part of the data."""
        began = time.perf_counter()

        def watch(step: int, losses: dict[str, float]) -> None:
            done: dict[str, Any] = {"step": step, "seconds": round(time.perf_counter() - began, 1), "losses": losses}
            self.log(stage=stage, **done, validation=figures(model, self.data, "validation"))

        return watch


def _mean(tensors: Sequence[Tensor]) -> Tensor:
    return sum(tensors[1:], start=tensors[0]) / len(tensors)


def _fresh(encoder: BuiltIn, seed: int) -> BuiltIn:
    """A copy, with heads for spans and choices that have learnt nothing."""
    torch.manual_seed(seed)
    model = copy.deepcopy(encoder)
    for head in (model.qa_outputs, model.classifier):
        torch.nn.init.normal_(head.weight, std=0.02)
        torch.nn.init.zeros_(head.bias)
    return model


def _centred(logits: Tensor) -> Tensor:
    """Logits of different models on one scale: only differences between a question's options mean something."""
    return logits - logits[:, :OPTIONS].mean(1, keepdim=True)
