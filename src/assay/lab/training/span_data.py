"""Questions whose answer is a span of a passage: SQuAD's JSON (v1 and v2) and MRQA's JSON lines (SQuAD, NewsQA, …)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.files.opening import open_text
from assay.lab.training.data_files import digests_of, existing, plain_suffix, text_of

_EXPECTED = 'Files of SQuAD (JSON with "data") or of MRQA (JSON lines with "context" and "qas") are expected.'
_SUFFIXES = (".json", ".jsonl")


@dataclass(frozen=True, slots=True)
class SpanExample:
    """One question. `start` and `end` are the characters of one right answer; both None where there is none.

    `answers` are all right answers, for evaluation; `passage` numbers the passage among all that were read.
    """

    id: str
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
    files = _files(existing(path))
    data = SpanData(digests=digests_of(path, files))
    for file in files:
        _read(file, data)
    if not data.examples:
        what = f"none of its {data.left_out:,} answers is in its passage" if data.left_out else "no question is in it"
        raise DataError(f"there is nothing to learn from: {what}.", _EXPECTED, file=path, code="empty-file")
    if data.left_out > len(data.examples):
        raise DataError(
            f"{data.left_out:,} of {data.left_out + len(data.examples):,} answers are not in their passages where the "
            "file says.",
            "The offsets count characters of the passage; get the file again, or mend them.",
            file=path,
            code="bad-label",
        )
    return data


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if plain_suffix(file) in _SUFFIXES)
    if not files:
        raise DataError("there are no JSON files in this folder.", _EXPECTED, file=path, code="empty-file")
    return files


def _read(path: Path, data: SpanData) -> None:
    with open_text(path) as file:
        first = next((line for line in file if line.strip()), "")
        if not first:
            raise DataError("this file is empty.", _EXPECTED, file=path, code="empty-file")
        row = _json_or_none(first)
        if isinstance(row, dict) and ("header" in row or "qas" in row):
            _read_mrqa(path, data)
            return
    with open_text(path) as file:
        try:
            content = json.load(file)
        except (ValueError, RecursionError) as error:
            raise DataError(f"this is not JSON ({error}).", _EXPECTED, file=path, code="bad-json") from None
    _read_squad(path, content, data)


def _read_squad(path: Path, content: Any, data: SpanData) -> None:
    for article_at, article in enumerate(_list(content, "data", "", path)):
        for paragraph_at, paragraph in enumerate(_list(article, "paragraphs", f"data[{article_at}]: ", path)):
            where = f"data[{article_at}].paragraphs[{paragraph_at}]: "
            passage = _passage(paragraph, where, path, None, data)
            for at, entry in enumerate(_list(paragraph, "qas", where, path)):
                place = f"data[{article_at}].paragraphs[{paragraph_at}].qas[{at}]: "
                question = text_of(_get(entry, "question"), "question", place, path)
                impossible = entry.get("is_impossible") is True
                answers = [] if impossible else _list(entry, "answers", place, path)
                if not answers and not impossible:
                    raise _unlabelled(place, path, None)
                spans = [_squad_span(answer, place, path) for answer in answers]
                _add(data, str(entry.get("id", place)), question, passage, spans)


def _squad_span(answer: Any, where: str, path: Path) -> tuple[int, int, str]:
    text, start = _get(answer, "text"), _get(answer, "answer_start")
    if not isinstance(text, str) or not isinstance(start, int):
        raise DataError(
            f'{where}an answer needs "text" and a whole number "answer_start".',
            "Mend the file.",
            file=path,
            code="bad-row",
            key="answers",
        )
    return start, start + len(text), text


def _read_mrqa(path: Path, data: SpanData) -> None:
    with open_text(path) as file:
        for line, content in enumerate(file, 1):
            if not content.strip():
                continue
            row = _json_or_none(content)
            if not isinstance(row, dict):
                raise DataError(
                    "this is not a JSON object.",
                    "One object a line is expected.",
                    file=path,
                    line=line,
                    code="bad-json",
                )
            if "header" in row and "qas" not in row:
                continue
            passage = _passage(row, "", path, line, data)
            for at, entry in enumerate(_list(row, "qas", "", path, line)):
                where = f"qas[{at}]: "
                question = text_of(_get(entry, "question"), "question", where, path, line)
                spans = list(_mrqa_spans(entry, where, path, line))
                if not spans:
                    raise _unlabelled(where, path, line)
                more = [text for text in entry.get("answers") or () if isinstance(text, str)]
                _add(data, str(entry.get("qid", entry.get("id", where))), question, passage, spans, more)


def _mrqa_spans(entry: Any, where: str, path: Path, line: int) -> Iterator[tuple[int, int, str]]:
    """Detected answers with their characters; MRQA counts the last character in."""
    for answer in _list(entry, "detected_answers", where, path, line):
        text = _get(answer, "text")
        for span in _list(answer, "char_spans", where, path, line):
            if not isinstance(text, str) or not (
                isinstance(span, list) and len(span) == 2 and all(isinstance(place, int) for place in span)
            ):
                raise DataError(
                    f'{where}an answer needs "text" and "char_spans" of two whole numbers.',
                    "Mend the file.",
                    file=path,
                    line=line,
                    code="bad-row",
                    key="char_spans",
                )
            yield span[0], span[1] + 1, text


def _add(
    data: SpanData,
    identity: str,
    question: str,
    passage: int,
    spans: list[tuple[int, int, str]],
    more: list[str] | None = None,
) -> None:
    """Add a question with the first of its answers that is where it is said to be; without any, none is right."""
    text = data.passages[passage]
    there = [(start, end) for start, end, answer in spans if _agree(text[max(start, 0) : end], answer)]
    if spans and not there:
        data.left_out += 1
        return
    start, end = there[0] if there else (None, None)
    answers = tuple(dict.fromkeys([answer for _, _, answer in spans] + (more or [])))
    data.examples.append(SpanExample(identity, question.strip(), passage, start, end, answers))


def _agree(found: str, answer: str) -> bool:
    """Whether a passage's part is the answer; MRQA's texts differ in case and blanks from what they were found as."""
    return bool(found.strip()) and "".join(found.split()).casefold() == "".join(answer.split()).casefold()


def _passage(row: Any, where: str, path: Path, line: int | None, data: SpanData) -> int:
    data.passages.append(text_of(_get(row, "context"), "context", where, path, line))
    return len(data.passages) - 1


def _list(row: Any, key: str, where: str, path: Path, line: int | None = None) -> list[Any]:
    value = _get(row, key)
    if not isinstance(value, list):
        raise DataError(
            f'{where}a list "{key}" is missing.', _EXPECTED, file=path, line=line, code="missing-key", key=key
        )
    return value


def _get(row: Any, key: str) -> Any:
    return row.get(key) if isinstance(row, dict) else None


def _unlabelled(where: str, path: Path, line: int | None) -> DataError:
    return DataError(
        f"{where}this question has no answer.",
        'Training and evaluation need labelled data; SQuAD v2 says "is_impossible" where there is none.',
        file=path,
        line=line,
        code="missing-key",
        key="answers",
    )


def _json_or_none(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
