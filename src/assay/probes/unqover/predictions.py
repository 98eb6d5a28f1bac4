"""Predictions in the authors' JSON, made by their programs or by others: read as cells, one entry at a time.

    {"female|male|Mary|James|0|cluster|was a nurse|was a nurse":
      {"context": …,
       "q0": {"question": …, "pred": …, "ans0": {"text": "Mary", "start": p, "end": p}, "ans1": …},
       "q1": …}}

q0 is the question, q1 its negation; the subjects' other order is an entry of its own. What an entry says twice is
compared: `agreement.py`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, UsageError
from assay.files.decoding import TwiceError, json_at
from assay.files.opening import open_text
from assay.probes.unqover.agreement import Agreement, DisagreementError, Key, ListedWords
from assay.probes.unqover.analyse import ScoredCells
from assay.probes.unqover.cells import CellLabels, Cells
from assay.probes.unqover.lists import FILES, read_lists, regions
from assay.probes.unqover.settings import LLM_FORMS, MASKED, SPAN, UnqoverSettings
from assay.probes.unqover.slots import Content, Contents, content, with_slots
from assay.results.formatting import plural

_CHUNK = 1 << 20
_MOST_NAMED = 5  # problems named one by one when bad entries are left out; of the others only the number
_ANSWERS = "ans0 and ans1 exchanged together with their texts"
_QUESTIONS = "q0 and q1 exchanged together with their answers"
_LONGEST = 8 * _CHUNK
"""Longer than any entry: text that does not end within it is not JSON, and reading stops there."""


@dataclass
class Predictions:
    """A predictions file as cells; `skipped` says what was left out, where that was allowed, `righted` what was put
    right.
    """

    cls: str
    form: str
    cells: Cells
    labels: CellLabels
    contents: Contents
    skipped: list[str] = field(default_factory=list)
    righted: list[str] = field(default_factory=list)


def read_predictions(
    path: Path, cls: str | None, form: str | None, *, skip_bad: bool = False, word_lists: str | None = None
) -> Predictions:
    """Read a predictions file. The class and form are seen from its content where they are not given.

    `word_lists` is a folder of the lists that its questions were made from, if they are not the packaged ones.
    """
    words = ListedWords.from_folder(word_lists)
    agreement = Agreement(words)
    reader = _read(path, agreement, skip_bad)
    if learned := agreement.learn():
        reader = _read(path, Agreement(words, learned), skip_bad)
    return reader.predictions(cls, form)


def _read(path: Path, agreement: Agreement, skip_bad: bool) -> _Reader:
    reader = _Reader(path, agreement, skip_bad)
    for key, value, line in _stream(path):
        reader.add(key, value, line)
    return reader


class _Reader:
    """Collects entries into cells: (subject i < subject j, template, attribute) -> 8 scores."""

    def __init__(self, path: Path, agreement: Agreement, skip_bad: bool) -> None:
        self.path, self.agreement, self.skip_bad = path, agreement, skip_bad
        self.subjects: dict[str, int] = {}
        self.clusters: dict[str, str] = {}
        self.attributes: dict[str, int] = {}
        self.classes: dict[str, str] = {}
        self.templates: dict[str, int] = {}
        self.cells: dict[tuple[int, int, int, int], int] = {}
        self.scores = array("f")
        self.contents: dict[tuple[str, str], Content] = {}
        self.masked = False
        self.skipped: list[str] = []
        self.n_skipped = 0
        self.exchanged: dict[str, tuple[int, str]] = {}  # how many entries were put right, and the first of their keys

    def add(self, text: str, value: Any, line: int) -> None:
        """Add an entry; `text` is its key."""
        try:
            key = Key.from_text(text)
            if (entry := self.agreement.entry(key, value)) is None:
                return
            scores = [[_score(answer) for answer in answers] for answers in entry.answers]
        except DisagreementError as error:
            problem = str(error) if error.code == "bad-text" else f"the entry {text!r} contradicts its key: {error}"
            self._reject(problem, line, error.code, text)
            return
        except (ValueError, KeyError, TypeError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            problem = f"the entry {text!r} is not in the authors' format with scores ({reason})"
            self._reject(problem, line, "bad-row", text)
            return
        self.masked |= not entry.questions[0].rstrip().endswith("?")
        for name, cluster in zip(key.names, key.clusters, strict=True):
            self.clusters.setdefault(name, cluster)
        pair = [self.subjects.setdefault(name, len(self.subjects)) for name in key.names]
        self.classes.setdefault(key.attribute, key.attribute_class)
        attribute = self.attributes.setdefault(key.attribute, len(self.attributes))
        template = self.templates.setdefault(key.template, len(self.templates))
        swapped = int(pair[0] > pair[1])
        cell = self.cells.setdefault((min(pair), max(pair), template, attribute), len(self.cells))
        if len(self.scores) < 8 * (cell + 1):
            self.scores.extend([math.nan] * 8)
        if not math.isnan(self.scores[8 * cell + 4 * swapped]):
            self._reject(f"the entry {text!r} is in the file twice", line, "duplicate", text)
            return
        for kind, exchanged in ((_ANSWERS, entry.answers_exchanged), (_QUESTIONS, entry.questions_exchanged)):
            if exchanged:
                count, first = self.exchanged.get(kind, (0, text))
                self.exchanged[kind] = count + 1, min(first, text)
        if (key.template, key.attribute) not in self.contents:
            context = with_slots(entry.context, entry.texts)
            self.contents[key.template, key.attribute] = content(context, *entry.questions)
        for polarity, row in enumerate(scores):
            for position, score in enumerate(row):
                self.scores[8 * cell + 4 * swapped + 2 * polarity + (position ^ swapped)] = score

    def predictions(self, cls: str | None, form: str | None) -> Predictions:
        """What was read, in an order that the entries' order does not decide."""
        if not self.cells:
            problem = "there is no usable prediction in this file."
            raise DataError(problem, "Give a predictions file.", code="empty-file", file=self.path)
        cls = cls or self._guess_class()
        words = self.agreement.words
        subjects = _listed_first(self.subjects, words.subjects)
        attributes = _listed_first(self.attributes, words.attributes)
        if cls == "gender":  # one group behind the other
            groups = [*dict.fromkeys(self.clusters[name] for name in subjects)]
            subjects.sort(key=lambda name: groups.index(self.clusters[name]))
        templates = sorted(self.templates, key=lambda number: (len(number), number))
        columns, scores = self._sorted_cells(subjects, templates, attributes)
        is_whole = np.isfinite(scores.reshape(-1, 8).sum(1))  # (cell,)
        if not is_whole.all():
            first, second, *_ = columns[int(np.argmin(is_whole))]
            problem = (
                f"{int((~is_whole).sum())} of {len(is_whole)} comparisons have only one order of their subjects, so C "
                f"is undefined; the first is {subjects[first]} and {subjects[second]}"
            )
            self._reject(problem, None, "bad-row")
            columns, scores = columns[is_whole], scores[is_whole]
        labels = CellLabels(
            subjects=subjects,
            attributes=attributes,
            attribute_classes=[self.classes[attribute] for attribute in attributes],
            templates=len(templates),
            groups=[self.clusters[name] for name in subjects] if cls == "gender" else None,
            sampled=len(columns) < self._n_possible_cells(cls),
            regions=regions(),
        )
        cells = Cells(columns[:, 2], columns[:, 0], columns[:, 1], columns[:, 3], scores)
        contents = {(templates.index(t), attributes.index(a)): texts for (t, a), texts in self.contents.items()}
        form = form or (MASKED if self.masked else SPAN)
        righted = [
            f"{plural(count, 'entry has', 'entries have')} {kind}, which is put right; for example {first!r}"
            for kind, (count, first) in sorted(self.exchanged.items())
        ]
        if more := self.n_skipped - len(self.skipped):
            self.skipped.append(f"and {more:,} more")
        return Predictions(cls, form, cells, labels, contents, self.skipped, righted)

    def _sorted_cells(
        self, subjects: list[str], templates: list[str], attributes: list[str]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The cells (cell, 4) in the order of these, each with its earlier subject first, and their scores."""
        columns = np.array(list(self.cells), np.int32)
        by_column = (self.subjects, subjects), (self.subjects, subjects), (self.templates, templates)
        for k, (names, ordered) in enumerate((*by_column, (self.attributes, attributes))):
            columns[:, k] = np.array([ordered.index(name) for name in names])[columns[:, k]]
        scores = np.frombuffer(self.scores, np.float32).reshape(-1, 2, 2, 2).copy()
        turned = columns[:, 0] > columns[:, 1]
        columns[turned, :2] = columns[turned, 1::-1]
        scores[turned] = scores[turned][:, ::-1, :, ::-1]  # the other order is the first, and the other subject
        order = np.lexsort(columns.T[::-1])
        return columns[order], scores[order]

    def _n_possible_cells(self, cls: str) -> int:
        """How many cells there would be if every pair met every template and attribute that occur together."""
        n, clusters = len(self.subjects), [*self.clusters.values()]
        in_first = clusters.count(clusters[0])
        pairs = in_first * (n - in_first) if cls == "gender" else n * (n - 1) // 2
        return pairs * len({cell[2:] for cell in self.cells})

    def _guess_class(self) -> str:
        if set(self.clusters.values()) == {"female", "male"}:
            return "gender"
        for cls in FILES:
            listed = {subject.name for subject in read_lists(cls, masked=False, header=False).subjects}
            if len(listed & set(self.subjects)) > len(self.subjects) / 2:
                return cls
        problem = f"the file does not tell its class; its subjects are {', '.join(list(self.subjects)[:4])}, …."
        remedy = f"Name it with --set class={'|'.join(FILES)}."
        raise UsageError(problem, remedy, code="missing-setting", file=self.path, key="class")

    def _reject(self, problem: str, line: int | None, code: str, key: str | None = None) -> None:
        if not self.skip_bad:
            remedy = "Correct the file, or leave such entries out with --skip-bad."
            raise DataError(f"{problem}.", remedy, code=code, file=self.path, line=line, key=key)
        self.n_skipped += 1
        if self.n_skipped <= _MOST_NAMED:
            self.skipped.append(problem)


def _listed_first(names: Iterable[str], indices: Mapping[str, int]) -> list[str]:
    """Names in the order of the word lists, then the others by name."""
    return sorted(names, key=lambda name: (indices.get(name, len(indices)), name))


def _score(answer: Any) -> float:
    """S = sqrt(start · end) of an answer."""
    start, end = answer["start"], answer["end"]
    if start == "" or end == "":
        raise ValueError("it has no scores yet: this is a file of questions, not of predictions")
    start, end = float(start), float(end)
    if not (0 <= start <= 1 and 0 <= end <= 1):
        raise ValueError(f"start {start} and end {end} must be probabilities")
    return math.sqrt(start * end)


def _stream(path: Path) -> Iterator[tuple[str, Any, int]]:
    """Key, value and line of every entry of a JSON object, in memory that does not grow with the file."""
    line, offset = 1, 0
    try:
        with open_text(path, None) as file:
            buffer = file.read(_CHUNK)
            opening = _blank_end(buffer, 0)
            if buffer[opening] != "{":
                raise ValueError("expected a JSON object")
            line, offset = 1 + buffer.count("\n", 0, opening), opening + 1
            while True:
                try:
                    begin = _blank_end(buffer, offset, ",")
                    if buffer[begin] == "}":
                        break
                    if buffer[begin] != '"':
                        raise ValueError("expected a key")
                    key, end = json_at(buffer, begin)
                    colon = _blank_end(buffer, end)
                    if buffer[colon] != ":":
                        raise ValueError("expected a colon")
                    value, end = json_at(buffer, _blank_end(buffer, colon + 1), distinct=True)
                except TwiceError as error:
                    line += buffer.count("\n", offset, begin)
                    problem = f'"{error.key}" appears twice in the entry {key!r}.'
                    raise DataError(
                        problem, "Keep one of them.", code="duplicate", file=path, line=line, key=error.key
                    ) from None
                except (ValueError, IndexError):  # perhaps the entry goes on in the next chunk
                    chunk = file.read(_CHUNK) if len(buffer) - offset < _LONGEST else ""
                    if not chunk:
                        raise
                    buffer, offset = buffer[offset:] + chunk, 0
                    continue
                yield key, value, line + buffer.count("\n", offset, begin)
                line += buffer.count("\n", offset, end)
                offset = end
            line += buffer.count("\n", offset, begin)
            if (buffer[begin + 1 :] + file.read(_CHUNK)).strip():
                raise ValueError("expected nothing after the object")
    except (ValueError, IndexError):
        problem = "from here on this is not the JSON object of a predictions file."
        remedy = "It must be one object of entries like those that `assay generate unqover` writes."
        raise DataError(problem, remedy, code="bad-json", file=path, line=line) from None


def _blank_end(buffer: str, offset: int, also: str = "") -> int:
    """The offset of the next character that is not blank; IndexError where there is none."""
    while buffer[offset] in " \t\r\n" or buffer[offset] in also:
        offset += 1
    return offset


# --- the cells of several files; no model is loaded


def scored_files(
    files: Sequence[Path], settings: UnqoverSettings, named: bool, *, skip_bad: bool
) -> tuple[list[ScoredCells], list[str]]:
    """The cells of predictions in the authors' format, a file for each class and form, and what was left out.

    `named` says whether the class was set; otherwise the files tell it.
    """
    if settings.form in LLM_FORMS:
        problem = f"form={settings.form} is for runs: the authors' format has span questions and masked sentences."
        raise UsageError(problem, "Ask a language model with `assay run unqover`.", code="unsupported", key="form")
    if settings.form == "both" or (named and len(settings.classes) > 1):
        problem = "a predictions file has one class of subjects and one form."
        remedy = "Name them, or leave them out."
        raise UsageError(problem, remedy, code="bad-setting", key="form" if settings.form == "both" else "class")
    cls, form = settings.cls if named else None, None if settings.form == "auto" else settings.form
    parts, notes = [], []
    files_by_part: dict[tuple[str, str], Path] = {}
    for file in files:
        predictions = read_predictions(file, cls, form, skip_bad=skip_bad, word_lists=settings.word_lists)
        part = predictions.cls, predictions.form
        if part in files_by_part:
            problem = f"{files_by_part[part]} and {file} both hold {part[0]} in {part[1]} form."
            raise UsageError(problem, "Score them one by one.", code="duplicate")
        files_by_part[part] = file
        notes += [f"{file.name}: {righted}" for righted in predictions.righted]
        notes += [f"{file.name}: left out: {problem}" for problem in predictions.skipped]
        cells, labels, contents = predictions.cells, predictions.labels, predictions.contents
        get_contents = partial(dict[tuple[int, int], Content], contents)
        parts.append(ScoredCells(*part, cells, labels, contents=get_contents, released=settings.released))
    return parts, notes
