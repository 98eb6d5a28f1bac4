"""Questions whose answer is a span of a passage: SQuAD's JSON (v1 and v2) and MRQA's JSON lines (SQuAD, NewsQA, …)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.files.decoding import json_value
from assay.files.opening import open_text
from assay.lab.training.data_files import FileLocation, digests_of, files_of, json_of

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
