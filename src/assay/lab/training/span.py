"""Models that mark the answer to a question in a passage: their data, training in windows of tokens, SQuAD's EM and F1.

The data are SQuAD's JSON (v1 and v2) and MRQA's JSON lines (SQuAD, NewsQA, …).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import Ints
from assay.asking.tokens import Tokens, starts_of
from assay.config.settings import setting
from assay.errors import DataError, ModelError
from assay.files.decoding import json_value
from assay.files.opening import open_text
from assay.lab.training.batches import Features, encoded
from assay.lab.training.data_files import FileLocation, Texts, digests_of, files_of, json_of, summary_of
from assay.lab.training.scores import Array, TaskScores, TrainedModelAsk, exact_match, mean_estimate, token_f1
from assay.lab.training.training_kind import EvaluationData, TrainingData, TrainingKind, TrainingSettings, epochs, rate
from assay.models.base import padded
from assay.models.tokenise import Tokeniser

LONGEST_ANSWER = 30
"""Tokens of an answer, as in the field's programs for SQuAD."""

_LONGEST_QUESTION = 64
"""Tokens of a question that are read, as in BERT's program for SQuAD."""


@dataclass(frozen=True)
class SpanSettings(TrainingSettings):
    epochs: float | None = epochs(2.0)
    rate: float = rate(3e-5)
    window: int = setting(384, "tokens per window", least=16)
    stride: int = setting(128, "tokens between the starts of two windows", least=1)
    windows: str = setting(
        "all",
        "all, where those without the answer are to point at the first token, or only those that hold the answer",
        choices=("all", "answer"),
    )


class SpanTraining(TrainingKind[SpanSettings]):
    name = "span"
    does = "marks the answer to a question in a passage"
    reads = ("SQuAD v1 or v2 (JSON), MRQA (JSON lines): a file or a folder, plain or .gz",)
    head = "QuestionAnswering"
    pipeline = "question-answering"
    longest = "window"
    settings = SpanSettings

    def task(self, data: Path | Texts, tokenizer: Any, name: str, settings: SpanSettings) -> TrainingData:
        read = read_span_data(self.path(data))
        only = settings.windows == "answer"
        windows = encode_span(tokenizer, name, read, window=settings.window, stride=settings.stride, only_answers=only)
        counts = {
            "questions": len(read.examples) - windows.left_out,
            "passages": len(read.passages),
            "windows": len(windows.features),
            "questions_left_out": read.left_out + windows.left_out,
        }
        return TrainingData(windows.features, summary_of(read.digests), counts)

    def test(self, path: Path, tokenizer: Any, name: str, settings: SpanSettings, seed: int, n_tokens: int) -> Windows:
        windows = encode_span(tokenizer, name, read_span_data(path), window=settings.window, stride=settings.stride)
        return replace(windows, answer_windows=settings.windows == "answer")

    def _lowered(self, settings: SpanSettings, given_names: frozenset[str], most: int) -> dict[str, Any]:
        stride = {} if "stride" in given_names else {"stride": max(1, min(settings.stride, most // 3))}
        return {"window": most, **stride}


@dataclass(frozen=True)
class Passage:
    """A passage's tokens and, for each, the range of its characters."""

    ids: Ints
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    @staticmethod
    def of(encoding: Any) -> Passage:
        ranges = np.array(encoding.offsets, np.int64).reshape(-1, 2)
        return Passage(np.array(encoding.ids, np.int32), ranges[:, 0], ranges[:, 1])

    def tokens_of(self, start: int, end: int) -> tuple[int, int]:
        """The first and the last token that hold a range of characters; the last is before the first if none does."""
        first, behind = np.searchsorted(self.end, start, side="right"), np.searchsorted(self.start, end, side="left")
        return int(first), int(behind) - 1


@dataclass(frozen=True)
class Windows(EvaluationData):
    """Windows of tokens with, for each, its question and the passage's token that its context begins with.

    The marks of the tokens: `second`, where the context begins; `behind`, where it has ended; `holds`, whether the
    answer is in the window. `answer_windows`: score windows that hold the answer apart as well.
    """

    data: SpanData
    features: Features
    example: NDArray[np.int64]  # (window,)
    first: NDArray[np.int64]  # (window,)
    passages: Sequence[Passage]
    left_out: int
    answer_windows: bool = False

    def scores(self, ask: TrainedModelAsk, seed: int) -> TaskScores:
        examples = self.data.examples
        spans = ask.ask(self.features.tokens, lambda tokens: best_spans(ask, tokens))
        questions = np.unique(self.example)
        units = np.array([examples[at].passage for at in questions.tolist()], np.int64)
        answerable = np.array([examples[at].start is not None for at in questions.tolist()])
        holds = self.features.tokens.marks["holds"].astype(bool)
        holds |= ~answerable[np.searchsorted(questions, self.example)]
        kinds = {"": np.ones(len(holds), bool)} | ({"answer": holds} if self.answer_windows else {})
        estimates = []
        for kind, counted in kinds.items():
            predictions = self._predictions(spans, counted)
            right = [examples[at].answers for at in questions.tolist()]
            texts = [predictions.get(at, "") for at in questions.tolist()]
            parts = [({"windows": kind} if kind else {}, np.ones(len(questions), bool))]
            if self.data.has_unanswerable and not kind:
                parts += [({"questions": "answerable"}, answerable), ({"questions": "unanswerable"}, ~answerable)]
            for metric, rule in {"em": exact_match, "f1": token_f1}.items():
                values = np.array([rule(text, answers) for text, answers in zip(texts, right, strict=True)])
                estimates += [mean_estimate(metric, of, values[part], units[part], seed=seed) for of, part in parts]
        notes = []
        if self.answer_windows:
            notes.append("windows=answer: only windows with the answer are scored, as in UnQover A.1; an upper bound")
        if left_out := self.data.left_out + self.left_out:
            notes.append(f"{left_out:,} questions were left out: their answer is not at the place that the file gives")
        return TaskScores(
            summary_of(self.data.digests), "passage", len(np.unique(units)), tuple(estimates), tuple(notes)
        )

    def _predictions(self, spans: dict[str, Array], counted: NDArray[np.bool_]) -> dict[int, str]:
        """The answer to every question: its best window's span; none where pointing nowhere scores higher (v2 only)."""
        data = self.data
        predictions: dict[int, str] = {}
        best: dict[int, float] = {}
        null: dict[int, float] = {}
        second = self.features.tokens.marks["second"]
        for row in np.flatnonzero(counted).tolist():
            at, value = int(self.example[row]), float(spans["score"][row])
            null[at] = min(null.get(at, np.inf), float(spans["null"][row]))
            if value > best.get(at, -np.inf):
                best[at] = value
                passage = self.passages[data.examples[at].passage]
                shift = int(self.first[row]) - int(second[row])
                start, end = (int(spans[name][row]) + shift for name in ("first", "last"))
                predictions[at] = data.passages[data.examples[at].passage][
                    passage.start[start] : passage.end[end]
                ].strip()
        if data.has_unanswerable:
            predictions |= {at: "" for at in predictions if null[at] > best[at]}
        return predictions


def best_spans(ask: TrainedModelAsk, tokens: Tokens) -> dict[str, Array]:
    """The best span of every window: the greatest sum of start and end logits, at most LONGEST_ANSWER tokens long.

    `null` is the sum at the first token, which stands for "no answer".
    """
    torch = ask.torch
    rows = padded(tokens, ask.pad)
    outputs = ask.outputs(rows)
    start, end = outputs.start_logits.float(), outputs.end_logits.float()  # (window, position)
    positions = torch.arange(start.shape[1], device=start.device)
    second, behind = (ask.tensor(tokens.marks[name])[:, None] for name in ("second", "behind"))
    inside = (positions >= second) & (positions < behind)
    null = start[:, 0] + end[:, 0]
    start, end = (logits.masked_fill(~inside, -torch.inf) for logits in (start, end))
    best = torch.full_like(null, -torch.inf)
    first, last = torch.zeros_like(null, dtype=torch.long), torch.zeros_like(null, dtype=torch.long)
    for more in range(min(LONGEST_ANSWER, start.shape[1])):
        sums, at = (start[:, : start.shape[1] - more] + end[:, more:]).max(1)
        better = sums > best
        best = torch.where(better, sums, best)
        first, last = torch.where(better, at, first), torch.where(better, at + more, last)
    spans = {"score": best, "null": null, "first": first, "last": last}
    return {name: values.cpu().numpy() for name, values in spans.items()}


def encode_span(
    tokenizer: Any, name: str, data: SpanData, *, window: int, stride: int, only_answers: bool = False
) -> Windows:
    """All windows of all questions, or only those that hold the answer, if there is one.

    A window without the answer, and every window of a question without one, is to point at the first token ([CLS]).
    Windows begin `stride` tokens apart, or less where a long question leaves less room. A question whose answer has no
    tokens, or is in no window where only such count, is left out and counted.
    """
    layout = Tokeniser(tokenizer).pair
    if not layout.before:
        problem = f"the tokenizer of {name} begins a text with no token of its own to point at."
        raise ModelError(problem, "Choose another base.", code="bad-tokenizer")
    passages = [Passage.of(encoding) for _, encoding in encoded(tokenizer, data.passages)]
    questions = dict.fromkeys(example.question for example in data.examples)
    ids = {
        text: np.array(encoding.ids[:_LONGEST_QUESTION], np.int32) for text, encoding in encoded(tokenizer, questions)
    }
    rows: list[Ints] = []
    table: list[tuple[int, int, int, int, int, int, bool]] = []
    left_out = 0
    before, between, after = (np.array(part, np.int32) for part in (layout.before, layout.between, layout.after))
    for at, example in enumerate(data.examples):
        passage, question = passages[example.passage], ids[example.question]
        second = len(before) + len(question) + len(between)
        room = window - second - len(after)
        if room < 1:
            behind = f"a question of {len(question)}: {example.question!r}"
            raise _too_short(f"a window of {window} tokens has no room after {behind}.")
        answer = None if example.start is None or example.end is None else passage.tokens_of(example.start, example.end)
        if answer is not None and answer[0] > answer[1]:
            left_out += 1
            continue
        is_kept, many, step = False, len(passage.ids), min(stride, room)
        for lo in range(0, max(many - room, 0) + step, step):  # until a window reaches the passage's end
            hi = min(lo + room, many)
            holds = answer is not None and lo <= answer[0] and answer[1] < hi
            if only_answers and answer is not None and not holds:
                continue
            is_kept = True
            rows.append(np.concatenate([before, question, between, passage.ids[lo:hi], after]))
            start, end = (second + token - lo for token in answer) if answer is not None and holds else (0, 0)
            table.append((at, lo, second, second + hi - lo, start, end, holds))
        left_out += not is_kept
    if not rows:
        raise _too_short("no answer is in a window of tokens.")
    columns = np.array(table, np.int64).T
    offsets = starts_of(np.array([len(row) for row in rows], np.int64))
    marks: dict[str, NDArray[Any]] = {"second": columns[2], "behind": columns[3], "holds": columns[6]}
    tokens = Tokens("span", np.concatenate(rows), offsets, columns[2].astype(np.int32), marks)
    features = Features(tokens, {"start_positions": columns[4], "end_positions": columns[5]})
    return Windows(data, features, columns[0], columns[1], passages, left_out)


def _too_short(problem: str) -> DataError:
    return DataError(problem, "Choose a longer window with --set window=…", code="too-long", key="window")


# --- the data


_EXPECTED = 'Files of SQuAD (JSON with "data") or of MRQA (JSON lines with "context" and "qas") are expected.'

Span = tuple[int, int, str]  # an answer's first character, the one behind it, and its text


@dataclass(frozen=True, slots=True)
class SpanExample:
    """One question. `start` and `end` are the characters of one right answer; both None where there is none.

    `answers` are all right answers, for evaluation; `passage` numbers the passage among all that were read.
    """

    question: str
    passage: int
    start: int | None
    end: int | None
    answers: tuple[str, ...]


@dataclass
class SpanData:
    """Questions and their passages, what their files contain, and how many questions could not be used."""

    passages: list[str] = field(default_factory=list)
    examples: list[SpanExample] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    left_out: int = 0

    @property
    def has_unanswerable(self) -> bool:
        """Whether "no answer" is an answer, as in SQuAD v2."""
        return any(example.start is None for example in self.examples)


def read_span_data(path: Path) -> SpanData:
    """Read a file, or all files of a folder. An answer that is not where its file says is left out and counted."""
    files = files_of(path, (".json", ".jsonl"), "JSON", _EXPECTED)
    data = SpanData(digests=digests_of(path, files))
    for file in files:
        for paragraph, location in _paragraphs(file):
            data.passages.append(location.text(_get(paragraph, "context"), "context"))
            for at, entry in enumerate(_list(paragraph, "qas", location)):
                _add(data, entry, location.inside(f"qas[{at}]"))
    if not data.examples:
        reason = f"none of its {data.left_out:,} answers is in its passage" if data.left_out else "it has no questions"
        raise DataError(f"there is nothing to learn from: {reason}.", _EXPECTED, file=path, code="empty-file")
    if data.left_out > len(data.examples):
        total = data.left_out + len(data.examples)
        problem = f"{data.left_out:,} of {total:,} answers are not at the place in their passage that the file gives."
        remedy = "The offsets count characters of the passage; download the file again, or fix them."
        raise DataError(problem, remedy, file=path, code="bad-label")
    return data


def _paragraphs(path: Path) -> Iterator[tuple[Any, FileLocation]]:
    """Passages with their questions, as the file has them, and where they are in it."""
    with open_text(path) as file:
        first = next((line for line in file if line.strip()), "")
        if not first:
            raise DataError("this file is empty.", _EXPECTED, file=path, code="empty-file")
        row = _json_or_none(first)
    if isinstance(row, dict) and ("header" in row or "qas" in row):
        yield from _mrqa(path)
        return
    location = FileLocation(path)
    for article_at, article in enumerate(_list(json_of(path, _EXPECTED), "data", location)):
        inside = location.inside(f"data[{article_at}]")
        for at, paragraph in enumerate(_list(article, "paragraphs", inside)):
            yield paragraph, inside.inside(f"paragraphs[{at}]")


def _mrqa(path: Path) -> Iterator[tuple[Any, FileLocation]]:
    with open_text(path) as file:
        for line, content in enumerate(file, 1):
            if not content.strip():
                continue
            row, location = _json_or_none(content), FileLocation(path, line)
            if not isinstance(row, dict):
                raise location.error("this is not a JSON object.", "One object a line is expected.", code="bad-json")
            if "header" not in row or "qas" in row:
                yield row, location


def _add(data: SpanData, entry: Any, location: FileLocation) -> None:
    """Add a question with the first of its answers that is where it is said to be; without any, none is right."""
    question = location.text(_get(entry, "question"), "question")
    squad = location.line is None  # MRQA has one object a line
    impossible = squad and entry.get("is_impossible") is True
    spans = [] if impossible else list(_squad_spans(entry, location) if squad else _mrqa_spans(entry, location))
    if not spans and not impossible:
        remedy = 'Training and evaluation need labelled data; SQuAD v2 says "is_impossible" where there is none.'
        raise location.error("this question has no answer.", remedy, code="missing-key", key="answers")
    passage = data.passages[-1]
    matching = [(start, end) for start, end, answer in spans if _agree(passage[max(start, 0) : end], answer)]
    if spans and not matching:
        data.left_out += 1
        return
    start, end = matching[0] if matching else (None, None)
    listed = [] if squad or not entry.get("answers") else _list(entry, "answers", location)
    more = [text for text in listed if isinstance(text, str)]
    answers = tuple(dict.fromkeys([answer for _, _, answer in spans] + more))
    data.examples.append(SpanExample(question.strip(), len(data.passages) - 1, start, end, answers))


def _squad_spans(entry: Any, location: FileLocation) -> Iterator[Span]:
    for answer in _list(entry, "answers", location):
        text, start = _get(answer, "text"), _get(answer, "answer_start")
        if not isinstance(text, str) or not isinstance(start, int):
            problem = 'an answer needs "text" and a whole number "answer_start".'
            raise location.error(problem, code="bad-row", key="answers")
        yield start, start + len(text), text


def _mrqa_spans(entry: Any, location: FileLocation) -> Iterator[Span]:
    """Detected answers with their characters; MRQA counts the last character in."""
    for answer in _list(entry, "detected_answers", location):
        text = _get(answer, "text")
        for span in _list(answer, "char_spans", location):
            two = isinstance(span, list) and len(span) == 2 and all(isinstance(bound, int) for bound in span)
            if not isinstance(text, str) or not two:
                problem = 'an answer needs "text" and "char_spans" of two whole numbers.'
                raise location.error(problem, code="bad-row", key="char_spans")
            yield span[0], span[1] + 1, text


def _agree(part: str, answer: str) -> bool:
    """Whether a passage's part is the answer; MRQA's texts differ in case and blanks from what they were found as."""
    return bool(part.strip()) and "".join(part.split()).casefold() == "".join(answer.split()).casefold()


def _list(row: Any, key: str, location: FileLocation) -> list[Any]:
    value = _get(row, key)
    if not isinstance(value, list):
        raise location.error(f'a list "{key}" is missing.', _EXPECTED, code="missing-key", key=key)
    return value


def _get(row: Any, key: str) -> Any:
    return row.get(key) if isinstance(row, dict) else None


def _json_or_none(text: str) -> Any:
    try:
        return json_value(text)
    except (ValueError, RecursionError):
        return None
