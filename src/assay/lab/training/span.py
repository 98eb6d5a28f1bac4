"""Training models that mark the answer to a question in a passage; SQuAD's EM and F1."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.lab.training.data_files import summary_of
from assay.lab.training.evaluation import Array, Asker
from assay.lab.training.kind import Kind, Task, Test
from assay.lab.training.mask_texts import Texts
from assay.lab.training.scores import Scores, exact_match, mean_estimate, token_f1
from assay.lab.training.settings import Settings, epochs, rate
from assay.lab.training.span_data import SpanData, read_span_data
from assay.lab.training.span_windows import Windows, encode_span
from assay.models.base import padded
from assay.queries import Tokens
from assay.settings import setting

LONGEST_ANSWER = 30
"""Tokens of an answer, as in the field's programs for SQuAD."""


@dataclass(frozen=True)
class SpanSettings(Settings):
    """How span models are trained."""

    epochs: float | None = epochs(2.0)
    rate: float = rate(3e-5)
    window: int = setting(384, "tokens of a window", least=16)
    stride: int = setting(128, "by how many tokens the next window begins later", least=1)
    windows: str = setting(
        "all",
        "all, where those without the answer are to point at the first token, or only those that hold the answer",
        choices=("all", "answer"),
    )


class SpanTraining(Kind[SpanSettings]):
    name = "span"
    does = "marks the answer to a question in a passage"
    reads = ("SQuAD v1 or v2 (JSON), MRQA (JSON lines): a file or a folder, plain or .gz",)
    head = "QuestionAnswering"
    pipeline = "question-answering"
    longest = "window"
    settings = SpanSettings

    def task(self, data: Path | Texts | None, tokenizer: Any, name: str, settings: SpanSettings) -> Task:
        read = read_span_data(self.path(data))
        only = settings.windows == "answer"
        windows = encode_span(tokenizer, name, read, window=settings.window, stride=settings.stride, only_answers=only)
        counts = {
            "questions": len(read.examples) - windows.left_out,
            "passages": len(read.passages),
            "windows": len(windows.features),
            "questions_left_out": read.left_out + windows.left_out,
        }
        return Task(windows.features, summary_of(read.digests), counts)

    def test(self, path: Path, tokenizer: Any, name: str, settings: SpanSettings, seed: int, known: int) -> SpanTest:
        data = read_span_data(path)
        windows = encode_span(tokenizer, name, data, window=settings.window, stride=settings.stride)
        return SpanTest(data, windows, settings.windows == "answer")

    def _lowered(self, settings: SpanSettings, given: frozenset[str], most: int) -> dict[str, Any]:
        stride = {} if "stride" in given else {"stride": max(1, min(settings.stride, most // 3))}
        return {"window": most, **stride}


@dataclass(frozen=True)
class SpanTest(Test):
    """Questions and their windows, all of them. `answer_windows`: score windows that hold the answer apart as well."""

    data: SpanData
    windows: Windows
    answer_windows: bool

    def scores(self, ask: Asker, seed: int) -> Scores:
        ask.load()
        windows, examples = self.windows, self.data.examples
        found = ask.ask(windows.features.tokens, lambda tokens: best_spans(ask, tokens))
        asked = np.unique(windows.example)
        units = np.array([examples[at].passage for at in asked.tolist()], np.int64)
        answerable = np.array([examples[at].start is not None for at in asked.tolist()])
        holds = (
            windows.features.tokens.marks["holds"].astype(bool) | ~answerable[np.searchsorted(asked, windows.example)]
        )
        kinds = {"": np.ones(len(holds), bool)} | ({"answer": holds} if self.answer_windows else {})
        estimates = []
        for kind, counted in kinds.items():
            given = self._predictions(found, counted)
            right = [examples[at].answers for at in asked.tolist()]
            texts = [given.get(at, "") for at in asked.tolist()]
            for metric, rule in {"em": exact_match, "f1": token_f1}.items():
                values = np.array([rule(text, each) for text, each in zip(texts, right, strict=True)])
                group = {"windows": kind} if kind else {}
                estimates.append(mean_estimate(metric, group, values, units, seed=seed))
                if self.data.has_unanswerable and not kind:
                    for name, part in {"answerable": answerable, "unanswerable": ~answerable}.items():
                        estimates.append(
                            mean_estimate(metric, {"questions": name}, values[part], units[part], seed=seed)
                        )
        notes = []
        if self.answer_windows:
            notes.append("windows=answer: scored on windows that hold the answer only, as UnQover A.1; an upper bound")
        if left := self.data.left_out + windows.left_out:
            notes.append(f"{left:,} questions were left out: their answer is not where the file says")
        return Scores(summary_of(self.data.digests), "passage", len(np.unique(units)), tuple(estimates), tuple(notes))

    def _predictions(self, found: dict[str, Array], counted: NDArray[np.bool_]) -> dict[int, str]:
        """The answer to every question: its best window's span; none where pointing nowhere scores higher (v2 only)."""
        windows, data = self.windows, self.data
        given: dict[int, str] = {}
        best: dict[int, float] = {}
        null: dict[int, float] = {}
        second = windows.features.tokens.marks["second"]
        for row in np.flatnonzero(counted).tolist():
            at, value = int(windows.example[row]), float(found["score"][row])
            null[at] = min(null.get(at, np.inf), float(found["null"][row]))
            if value > best.get(at, -np.inf):
                best[at] = value
                passage = windows.passages[data.examples[at].passage]
                shift = int(windows.first[row]) - int(second[row])
                start, end = (int(found[name][row]) + shift for name in ("first", "last"))
                given[at] = data.passages[data.examples[at].passage][passage.start[start] : passage.end[end]].strip()
        if data.has_unanswerable:
            given |= {at: "" for at in given if null[at] > best[at]}
        return given


def best_spans(ask: Asker, tokens: Tokens) -> dict[str, Array]:
    """The best span of every window: the greatest sum of start and end logits, at most LONGEST_ANSWER tokens long.

    `null` is the sum at the first token, which stands for "no answer".
    """
    torch = ask.torch
    rows = padded(tokens, ask.pad)
    outputs = ask.outputs(rows)
    start, end = outputs.start_logits.float(), outputs.end_logits.float()  # (window, position)
    place = torch.arange(start.shape[1], device=start.device)
    second, behind = (ask.tensor(tokens.marks[name])[:, None] for name in ("second", "behind"))
    inside = (place >= second) & (place < behind)
    null = start[:, 0] + end[:, 0]
    start, end = (each.masked_fill(~inside, -torch.inf) for each in (start, end))
    best = torch.full_like(null, -torch.inf)
    first, last = torch.zeros_like(null, dtype=torch.long), torch.zeros_like(null, dtype=torch.long)
    for more in range(min(LONGEST_ANSWER, start.shape[1])):
        sums, at = (start[:, : start.shape[1] - more] + end[:, more:]).max(1)
        better = sums > best
        best = torch.where(better, sums, best)
        first, last = torch.where(better, at, first), torch.where(better, at + more, last)
    found = {"score": best, "null": null, "first": first, "last": last}
    return {name: values.cpu().numpy() for name, values in found.items()}
