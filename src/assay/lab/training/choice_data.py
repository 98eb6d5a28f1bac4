"""Multiple-choice questions: RACE's folders of articles, and Social IQa's JSON lines with their labels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from assay.errors import DataError
from assay.files.opening import open_text
from assay.lab.training.data_files import digests_of, existing, plain_suffix, text_of
from assay.queries import ChoiceQuery
from assay.rows import Bad, Row, rows_of

Part = Literal["train", "dev"]

_PARTS = ("train", "dev", "test")  # RACE's, each a folder with middle/ and high/
_LETTERS = "ABCDEFGH"
_EXPECTED = (
    "A folder of RACE (middle/*.txt, high/*.txt) or a file of Social IQa (train.jsonl beside train-labels.lst, or rows "
    'with "correct") is expected.'
)
_NO_LABELS = 'Put the labels beside it as {name}, one number a line, or give every row "correct": "A".'


@dataclass
class ChoiceData:
    """Questions with as many options each, the number of the right one, and which of them share a context."""

    queries: list[ChoiceQuery] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    contexts: list[int] = field(default_factory=list)  # the number of the question's context among all
    digests: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def options(self) -> int:
        return len(self.queries[0].options)


def read_choice_data(path: Path, part: Part = "train") -> ChoiceData:
    """Read RACE's folder or Social IQa's file; of a folder with several parts the `part` that is wanted."""
    existing(path)
    if path.is_dir():
        articles = sorted(file for file in path.rglob("*.txt") if not file.name.startswith("."))
        rows = sorted(file for file in path.glob(f"*{part}.jsonl*") if plain_suffix(file) == ".jsonl")
        if articles:
            return _race_folder(path, articles, part)
        if len(rows) != 1:
            found, code = ("several", "duplicate") if rows else ("neither RACE's articles nor", "empty-file")
            raise DataError(f"there are {found} {part}.jsonl in this folder.", _EXPECTED, file=path, code=code)
        path = rows[0]
    if plain_suffix(path) == ".txt":
        return _collected(path, [path], _race([path]))
    labels = labels_file(path)
    return _collected(path.parent, [path, *([labels] if labels else [])], _social_iqa(path, labels))


Read = tuple[ChoiceQuery, int, Path, int | None]


def _collected(root: Path, files: list[Path], read: Iterator[Read]) -> ChoiceData:
    data, contexts = ChoiceData(), dict[str, int]()
    for query, label, path, line in read:
        if data.queries and len(query.options) != data.options:
            raise DataError(
                f"this question has {len(query.options)} options, those before it {data.options}.",
                "All questions must have as many: train on them apart.",
                file=path,
                line=line,
                code="bad-row",
            )
        data.queries.append(query)
        data.labels.append(label)
        data.contexts.append(contexts.setdefault(query.context, len(contexts)))
    if not data.queries:
        raise DataError(
            "there is no question in it.", _EXPECTED, file=files[0] if len(files) < 3 else root, code="empty-file"
        )
    data.digests = digests_of(root, files)
    return data


def _race_folder(path: Path, articles: list[Path], part: Part) -> ChoiceData:
    """All articles of a folder; where they lie in several of RACE's parts, those of one."""
    parts = sorted({article.relative_to(path).parts[0] for article in articles}.intersection(_PARTS))
    if len(parts) < 2:
        return _collected(path, articles, _race(articles))
    others = ", ".join(f"{other}/" for other in parts if other != part)
    if part not in parts:
        raise DataError(
            f"there is no {part}/ with articles in this folder, only {others}.",
            f"Name the part that you mean, for example {path / parts[0]}.",
            file=path,
            code="missing-file",
        )
    root = path / part
    wanted = [article for article in articles if article.is_relative_to(root)]
    data = _collected(root, wanted, _race(wanted))
    data.notes = (f"of the folder's parts {part}/ was read, not {others}",)
    return data


def _race(files: list[Path]) -> Iterator[Read]:
    for path in files:
        with open_text(path) as file:
            try:
                row = json.load(file)
            except (ValueError, RecursionError) as error:
                raise DataError(f"this is not JSON ({error}).", _EXPECTED, file=path, code="bad-json") from None
        if not isinstance(row, dict):
            raise DataError("expected a JSON object.", _EXPECTED, file=path, code="bad-json")
        article = text_of(row.get("article"), "article", "", path)
        questions, options, answers = (row.get(key) for key in ("questions", "options", "answers"))
        lists = [each for each in (questions, options, answers) if isinstance(each, list)]
        if len(lists) != 3 or len({len(each) for each in lists}) != 1:
            raise DataError(
                '"questions", "options" and "answers" must be lists of one length.',
                "Get the file again.",
                file=path,
                code="bad-row",
            )
        for at, (question, choices, answer) in enumerate(zip(*lists, strict=True)):
            where = f"question {at}: "
            query = _checked(article, question, choices, where, path, None)
            yield query, _letter(answer, len(query.options), where, path, None), path, None


def _social_iqa(path: Path, labels_file: Path | None) -> Iterator[Read]:
    labels = None if labels_file is None else _labels(labels_file)
    count = 0
    for line, row in rows_of(path, Bad(skip=False)):
        count += 1
        keys = [f"answer{letter}" for letter in _LETTERS if f"answer{letter}" in row]
        options = [row[key] for key in keys]
        query = _checked(row.get("context"), row.get("question"), options, "", path, line)
        if labels is not None and labels_file is not None:
            if count > len(labels):
                raise _lengths(path, labels_file, len(labels))
            label = _number(labels[count - 1], len(options), labels_file, count)
        else:
            label = _letter(_correct(row, path, line), len(options), "", path, line)
        yield query, label, path, line
    if labels is not None and labels_file is not None and count < len(labels):
        raise _lengths(path, labels_file, len(labels))


def _correct(row: Row, path: Path, line: int) -> Any:
    if "correct" not in row:
        stem = path.name.removesuffix(".gz").removesuffix(".xz").removesuffix(".jsonl")
        raise DataError(
            "this row has no label.",
            _NO_LABELS.format(name=f"{stem}-labels.lst"),
            file=path,
            line=line,
            code="missing-key",
            key="correct",
        )
    return row["correct"]


def labels_file(path: Path) -> Path | None:
    """The labels of Social IQa lie beside its questions: train-labels.lst beside train.jsonl."""
    stem = path.name.removesuffix(".gz").removesuffix(".xz").removesuffix(".jsonl")
    beside = [path.with_name(f"{stem}-labels.lst{packed}") for packed in ("", ".gz", ".xz")]
    return next((file for file in beside if file.is_file()), None)


def _labels(path: Path) -> list[str]:
    with open_text(path) as file:
        return [line.strip() for line in file if line.strip()]


def _checked(context: Any, question: Any, options: Any, where: str, path: Path, line: int | None) -> ChoiceQuery:
    if not isinstance(options, list) or len(options) < 2:
        raise DataError(f"{where}at least two options are expected.", _EXPECTED, file=path, line=line, code="bad-row")
    texts = [text_of(option, "an option", where, path, line) for option in options]
    return ChoiceQuery(
        text_of(context, "context", where, path, line), text_of(question, "question", where, path, line), tuple(texts)
    )


def _letter(answer: Any, options: int, where: str, path: Path, line: int | None) -> int:
    letters = _LETTERS[:options]
    if not isinstance(answer, str) or len(answer) != 1 or answer not in letters:
        raise DataError(
            f"{where}the right answer is {answer!r}, expected one of {', '.join(letters)}.",
            "Mend the label.",
            file=path,
            line=line,
            code="bad-label",
        )
    return letters.index(answer)


def _number(text: str, options: int, path: Path, line: int) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= options:
        raise DataError(
            f"the label is {text!r}, expected a number from 1 to {options}.",
            "Mend the label.",
            file=path,
            line=line,
            code="bad-label",
        )
    return int(text) - 1


def _lengths(path: Path, labels_file: Path, labels: int) -> DataError:
    return DataError(
        f"there are {labels:,} labels, and {path.name} has another number of questions.",
        "Get both files again: line n of one belongs to line n of the other.",
        file=labels_file,
        code="bad-label",
    )
