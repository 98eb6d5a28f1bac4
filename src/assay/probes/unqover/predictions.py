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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, UsageError
from assay.files.decoding import TwiceError, json_at
from assay.files.opening import open_text
from assay.probes.unqover.agreement import Agreement, DisagreementError, Key, Known, UnclearError
from assay.probes.unqover.analyse import ScoredCells
from assay.probes.unqover.cell_content import Content, Contents, content, with_slots
from assay.probes.unqover.lists import FILES, read_lists, regions
from assay.probes.unqover.metrics import CellLabels, Cells
from assay.probes.unqover.settings import LLM_FORMS, MASKED, SPAN, UnqoverSettings
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
    known = Known.of(word_lists)
    agreement = Agreement(known)
    reader = _read(path, agreement, skip_bad)
    if learned := agreement.learn():
        reader = _read(path, Agreement(known, learned), skip_bad)
    return reader.finish(cls, form)


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
        self.clusters: list[str] = []
        self.attributes: dict[str, int] = {}
        self.classes: list[str] = []
        self.templates: dict[str, int] = {}
        self.cells: dict[tuple[int, int, int, int], int] = {}
        self.scores = array("f")
        self.contents: dict[tuple[int, int], Content] = {}
        self.masked = False
        self.skipped: list[str] = []
        self.left_out = 0
        self.exchanged: dict[str, tuple[int, str]] = {}  # how many entries were put right, and the first of their keys

    def add(self, key: str, value: Any, line: int) -> None:
        try:
            about = Key.of(key)
            entry = self.agreement.entry(about, value)
            scores = [[_score(answer) for answer in answers] for answers in entry.answers]
        except UnclearError:
            return
        except DisagreementError as error:
            problem = str(error) if error.code == "bad-text" else f"the entry {key!r} contradicts its key: {error}"
            self._bad(problem, line, error.code, key)
            return
        except (ValueError, KeyError, TypeError) as error:
            problem = f"the entry {key!r} is not in the authors' format with scores ({_said(error)})"
            self._bad(problem, line, "bad-row", key)
            return
        self.masked |= not entry.questions[0].rstrip().endswith("?")
        ends = [self._subject(name, cluster) for name, cluster in zip(about.names, about.clusters, strict=True)]
        if about.attribute not in self.attributes:
            self.attributes[about.attribute] = len(self.attributes)
            self.classes.append(about.attribute_class)
        attribute = self.attributes[about.attribute]
        template = self.templates.setdefault(about.template, len(self.templates))
        swapped = int(ends[0] > ends[1])
        cell = self.cells.setdefault((min(ends), max(ends), template, attribute), len(self.cells))
        if len(self.scores) < 8 * (cell + 1):
            self.scores.extend([math.nan] * 8)
        if not math.isnan(self.scores[8 * cell + 4 * swapped]):
            self._bad(f"the entry {key!r} is in the file twice", line, "duplicate", key)
            return
        for kind, exchanged in ((_ANSWERS, entry.answers_exchanged), (_QUESTIONS, entry.questions_exchanged)):
            if exchanged:
                count, first = self.exchanged.get(kind, (0, key))
                self.exchanged[kind] = count + 1, min(first, key)
        if (place := (template, attribute)) not in self.contents:
            self.contents[place] = content(with_slots(entry.context, entry.texts), *entry.questions)
        for polarity, row in enumerate(scores):
            for position, score in enumerate(row):
                self.scores[8 * cell + 4 * swapped + 2 * polarity + (position ^ swapped)] = score

    def finish(self, cls: str | None, form: str | None) -> Predictions:
        if not self.cells:
            raise DataError(
                "there is no usable prediction in this file.",
                "Give a predictions file.",
                code="empty-file",
                file=self.path,
            )
        cls = cls or self._guess()
        subjects, attributes, templates = self._order(cls)
        columns, scores = self._sorted([np.argsort(order) for order in (subjects, subjects, templates, attributes)])
        names, clusters = [[*self.subjects][k] for k in subjects], [self.clusters[k] for k in subjects]
        whole = np.isfinite(scores.reshape(-1, 8).sum(1))  # (cell,)
        if not whole.all():
            first = columns[int(np.argmin(whole))]
            problem = (
                f"{int((~whole).sum())} of {len(whole)} comparisons have only one order of their subjects, so C is "
                f"undefined; the first is {names[first[0]]} and {names[first[1]]}"
            )
            self._bad(problem, None, "bad-row")
            columns, scores = columns[whole], scores[whole]
        labels = CellLabels(
            subjects=names,
            attributes=[[*self.attributes][k] for k in attributes],
            attribute_classes=[self.classes[k] for k in attributes],
            templates=len(self.templates),
            groups=clusters if cls == "gender" else None,
            sampled=len(columns) < self._full(cls),
            regions=regions(),
        )
        cells = Cells(columns[:, 2], columns[:, 0], columns[:, 1], columns[:, 3], scores)
        form = form or (MASKED if self.masked else SPAN)
        contents = {(templates.index(t), attributes.index(a)): said for (t, a), said in self.contents.items()}
        return Predictions(cls, form, cells, labels, contents, self._skipped(), self._righted())

    def _order(self, cls: str) -> tuple[list[int], list[int], list[int]]:
        """Subjects, attributes and templates in an order that the entries' order does not decide: that of the word
        lists, then by name; of gender, one group behind the other.
        """
        known = self.agreement.known
        rank = {name: (known.subjects.get(name, len(known.subjects)), name) for name in self.subjects}
        acts = {act: (known.attributes.get(act, len(known.attributes)), act) for act in self.attributes}
        groups: dict[str, tuple[int, str]] = {}  # by cluster, the first of its subjects
        for name, cluster in self._people():
            groups[cluster] = min(groups.get(cluster, rank[name]), rank[name])
        subjects = [(*(groups[cluster] if cls == "gender" else ()), *rank[name]) for name, cluster in self._people()]
        return (
            _sorting(subjects),
            _sorting([*acts.values()]),
            _sorting([(len(number), number) for number in self.templates]),  # numbers, written
        )

    def _people(self) -> Iterator[tuple[str, str]]:
        """Every subject's name and cluster."""
        return zip(self.subjects, self.clusters, strict=True)

    def _sorted(self, places: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The cells (cell, 4) and their scores in the order of these new numbers of each column's values, the subject
        with the smaller number first.
        """
        columns = np.array(list(self.cells), np.int32)
        for column, place in enumerate(places):
            columns[:, column] = place[columns[:, column]]
        scores = np.frombuffer(self.scores, np.float32).reshape(-1, 2, 2, 2).copy()
        turned = columns[:, 0] > columns[:, 1]
        columns[turned, :2] = columns[turned, 1::-1]
        scores[turned] = scores[turned][:, ::-1, :, ::-1]  # the other order is the first, and the other subject
        order = np.lexsort(columns.T[::-1])
        return columns[order], scores[order]

    def _subject(self, name: str, cluster: str) -> int:
        if name not in self.subjects:
            self.subjects[name] = len(self.subjects)
            self.clusters.append(cluster)
        return self.subjects[name]

    def _full(self, cls: str) -> int:
        """How many cells there would be if every pair met every template and attribute that occur together."""
        n = len(self.subjects)
        females = sum(cluster == self.clusters[0] for cluster in self.clusters)
        pairs = females * (n - females) if cls == "gender" else n * (n - 1) // 2
        return pairs * len({cell[2:] for cell in self.cells})

    def _guess(self) -> str:
        if set(self.clusters) == {"female", "male"}:
            return "gender"
        for cls in FILES:
            known = {subject.name for subject in read_lists(cls, masked=False, header=False).subjects}
            if len(known & set(self.subjects)) > len(self.subjects) / 2:
                return cls
        raise UsageError(
            f"the file does not tell its class; its subjects are {', '.join(list(self.subjects)[:4])}, ….",
            f"Name it with --set class={'|'.join(FILES)}.",
            code="missing-setting",
            file=self.path,
            key="class",
        )

    def _skipped(self) -> list[str]:
        more = self.left_out - len(self.skipped)
        return [*self.skipped, f"and {more:,} more"] if more else self.skipped

    def _righted(self) -> list[str]:
        """What was put right: how many entries, and one of them."""
        return [
            f"{plural(count, 'entry has', 'entries have')} {what}, which is put right; for example {first!r}"
            for what, (count, first) in sorted(self.exchanged.items())
        ]

    def _bad(self, problem: str, line: int | None, code: str, key: str | None = None) -> None:
        if not self.skip_bad:
            raise DataError(
                f"{problem}.",
                "Correct the file, or leave such entries out with --skip-bad.",
                code=code,
                file=self.path,
                line=line,
                key=key,
            )
        self.left_out += 1
        if self.left_out <= _MOST_NAMED:
            self.skipped.append(problem)


def _sorting(keys: Sequence[tuple[int | str, ...]]) -> list[int]:
    """The places of keys, in the keys' order."""
    return sorted(range(len(keys)), key=keys.__getitem__)


def _score(answer: Any) -> float:
    """S = sqrt(start · end) of an answer."""
    start, end = answer["start"], answer["end"]
    if start == "" or end == "":
        raise ValueError("it has no scores yet: this is a file of questions, not of predictions")
    start, end = float(start), float(end)
    if not (0 <= start <= 1 and 0 <= end <= 1):
        raise ValueError(f"start {start} and end {end} must be probabilities")
    return math.sqrt(start * end)


def _said(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def _stream(path: Path) -> Iterator[tuple[str, Any, int]]:
    """Key, value and line of every entry of a JSON object, in memory that does not grow with the file."""
    line, at = 1, 0
    try:
        with open_text(path, None) as file:
            buffer = file.read(_CHUNK)
            opening = _blank_end(buffer, 0)
            if buffer[opening] != "{":
                raise ValueError("expected a JSON object")
            line, at = 1 + buffer.count("\n", 0, opening), opening + 1
            while True:
                try:
                    begin = _blank_end(buffer, at, ",")
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
                    raise _twice(error.key, path, line + buffer.count("\n", at, begin), key) from None
                except (ValueError, IndexError):
                    chunk = file.read(_CHUNK) if len(buffer) - at < _LONGEST else ""  # perhaps the entry goes on there
                    if not chunk:
                        raise
                    buffer, at = buffer[at:] + chunk, 0
                    continue
                yield key, value, line + buffer.count("\n", at, begin)
                line += buffer.count("\n", at, end)
                at = end
            line += buffer.count("\n", at, begin)
            if (buffer[begin + 1 :] + file.read(_CHUNK)).strip():
                raise ValueError("expected nothing after the object")
    except (ValueError, IndexError):
        raise DataError(
            "from here on this is not the JSON object of a predictions file.",
            "It must be one object of entries like those that `assay generate unqover` writes.",
            code="bad-json",
            file=path,
            line=line,
        ) from None


def _twice(key: str, path: Path, line: int, entry: str) -> DataError:
    problem = f'"{key}" appears twice in the entry {entry!r}.'
    return DataError(problem, "Keep one of them.", code="duplicate", file=path, line=line, key=key)


def _blank_end(buffer: str, at: int, also: str = "") -> int:
    """Where the next character stands that is not blank; IndexError where there is none."""
    while buffer[at] in " \t\r\n" or buffer[at] in also:
        at += 1
    return at


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
        raise UsageError(
            "a predictions file has one class of subjects and one form.",
            "Name them, or leave them out.",
            code="bad-setting",
            key="form" if settings.form == "both" else "class",
        )
    cls, form = settings.cls if named else None, None if settings.form == "auto" else settings.form
    parts, notes = [], []
    seen: dict[tuple[str, str], Path] = {}
    for file in files:
        found = read_predictions(file, cls, form, skip_bad=skip_bad, word_lists=settings.word_lists)
        part = found.cls, found.form
        if part in seen:
            raise UsageError(
                f"{seen[part]} and {file} both hold {found.cls} in {found.form} form.",
                "Score them one by one.",
                code="duplicate",
            )
        seen[part] = file
        notes += [f"{file.name}: {each}" for each in found.righted]
        notes += [f"{file.name}: left out: {problem}" for problem in found.skipped]
        contents = partial(_known, found.contents)
        parts.append(ScoredCells(found.cls, found.form, found.cells, found.labels, None, contents, settings.released))
    return parts, notes


def _known(contents: Contents) -> Contents:
    return contents
