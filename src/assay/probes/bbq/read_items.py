"""Reads BBQ's official files, and what readers of other sets share: the fields of a row, with errors that name them.

Files are JSON lines or CSV, plain or compressed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from assay.errors import DataError, UsageError
from assay.files.decoding import whole_number, written_value
from assay.files.rows import BadRows, Row, read_rows, require_any, require_no_date
from assay.probes.bbq.editions import EditionRow
from assay.probes.bbq.items import AMBIGUOUS, CATEGORIES, CONDITIONS, OPTIONS, POLARITIES, QUARTET, UNKNOWN_LABEL, Item

Some = TypeVar("Some")

_ENDINGS = (".jsonl", ".jsonl.gz")
_REMEDY = "Every example needs the fields of the official files; see `assay data check bbq`."
_GOLD_REMEDY = (
    "Correct the label, get the file again with `assay data fetch bbq`, or leave such rows out with --skip-bad."
)
_INFO_EXPECTED = 'for each of ans0, ans1 and ans2 a list of two texts: [filler, label], as in ["grandson", "nonOld"]'
_MOST_DIGITS = 15


def data_files(path: Path) -> list[Path]:
    """The official files at a place: a file, or a folder with the files in it, in `data/` or in `bbq/data/`."""
    if path.is_file():
        return [path]
    for folder in (path / "bbq" / "data", path / "data", path):
        packed_first = sorted(folder.glob("*.jsonl*"), reverse=True)  # where both are there the file itself wins
        by_category = {stem(file): file for file in packed_first if file.name.endswith(_ENDINGS)}
        if by_category:
            return [by_category[name] for name in sorted(by_category, key=lambda name: (name not in CATEGORIES, name))]
    problem = "there are no BBQ files (CATEGORY.jsonl or CATEGORY.jsonl.gz) in it, in data/ or in bbq/data/."
    remedy = "Get them with `assay data fetch bbq`, or name their folder or one of them with --data."
    raise UsageError(problem, remedy, code="missing-data", file=path)


def stem(path: Path) -> str:
    """A file's category: its name without endings.

    >>> stem(Path("data/Age.jsonl.gz"))
    'Age'
    """
    return path.name.split(".")[0]


def beside(path: Path, file: Path, name: str) -> Path | None:
    """A file or folder that the authors publish with the data, if it is in one of the usual places."""
    folders = (path, path / "bbq", file.parent, file.parent.parent)
    return next((folder / name for folder in folders if folder.is_dir() and (folder / name).exists()), None)


@lru_cache(1 << 16)
def _shared(*parts: Any) -> tuple[Any, ...]:
    """A tuple; equal ones are one object, since a set repeats its people and options in thousands of rows."""
    return parts


def read_examples(path: Path, bad: BadRows) -> list[Item]:
    """All examples of a file, in order."""
    examples = []
    for line, row in read_rows(path, bad):
        try:
            examples.append(example_of(row, path, line))
        except DataError as error:
            bad.found(error)
    if not examples:
        raise DataError("this file has no examples.", _REMEDY, code="empty-file", file=path)
    return examples


def example_of(row: Row, path: Path | str, line: int) -> Item:
    """A row with the official files' fields as an item; raises DataError if one is missing or wrong.

    The right answer is UNKNOWN if and only if the context is ambiguous.
    """
    fields = RowFields(row, path, line, _REMEDY)

    def text(name: str) -> str:
        value = row.get(name)
        return sys.intern(value) if isinstance(value, str) else fields.wrong(name, "text")  # a quartet repeats texts

    def whole(name: str) -> int:
        value = row.get(name)
        fields.require_no_date(name)
        if isinstance(value, str) and whole_number(value.removeprefix("-")) is not None:
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        fields.wrong(name, "a whole number", label=name == "label")

    label = whole("label")
    if not 0 <= label < OPTIONS:
        fields.wrong("label", "0, 1 or 2", label=True, remedy=_GOLD_REMEDY)
    answer_info = fields.value("answer_info")
    info = tuple(_info(answer_info, option) or fields.wrong("answer_info", _INFO_EXPECTED) for option in range(OPTIONS))
    if [group for _, group in info].count(UNKNOWN_LABEL) != 1:
        fields.wrong("answer_info", f'exactly one option with the label "{UNKNOWN_LABEL}"')
    condition = fields.meant("context_condition", _CONDITIONS)
    fits = [(group == UNKNOWN_LABEL) == (condition == AMBIGUOUS) for _, group in info]
    if not fits[label]:
        options = " or ".join(str(option) for option in range(OPTIONS) if fits[option])
        right_answer = "cannot be determined" if condition == AMBIGUOUS else "a person"
        expected = f'{options} ({right_answer}), since context_condition is "{condition}"'
        fields.wrong("label", expected, label=True, remedy=_GOLD_REMEDY)
    metadata = fields.value("additional_metadata")
    groups = metadata.get("stereotyped_groups") if isinstance(metadata, dict) else None
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        fields.wrong("additional_metadata", "an object with a list of texts, stereotyped_groups")
    index = row.get("question_index")
    fields.require_no_date("question_index")
    return Item(
        example_id=whole("example_id"),
        question_index=sys.intern(index if isinstance(index, str) and index else str(whole("question_index"))),
        polarity=fields.meant("question_polarity", _POLARITIES),
        condition=condition,
        category=text("category"),
        info=_shared(*info),
        subcategory=sys.intern(str(metadata.get("subcategory", "None"))),
        groups=_shared(*groups),
        version=sys.intern(str(metadata.get("version", "None"))),
        source=sys.intern(str(metadata.get("source", ""))),
        context=text("context"),
        question=text("question"),
        answers=_shared(*(text(f"ans{option}") for option in range(OPTIONS))),
        label=label,
    )


_CONDITIONS, _POLARITIES = ({code: code for code in codes} for codes in (CONDITIONS, POLARITIES))


def _info(answer_info: object, option: int) -> tuple[str, str] | None:
    pair = answer_info.get(f"ans{option}") if isinstance(answer_info, dict) else None
    if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
        return None
    filler, label = pair
    return sys.intern(filler), sys.intern(label)


# --- the fields of a row in any format


@dataclass(frozen=True)
class RowFields:
    """The fields of a row. Each of these gives a value, or raises a DataError that names the file, line and field."""

    row: Row
    path: Path | str
    line: int
    remedy: str

    def wrong(self, name: str, expected: str, *, label: bool = False, remedy: str = "") -> NoReturn:
        value = self.row.get(name)
        fault = "is missing" if name not in self.row else f"is {short(value)}"
        code = "missing-key" if name not in self.row else "bad-label" if label else "bad-value"
        problem = f'"{name}" {fault}, expected {expected}.'
        raise DataError(problem, remedy or self.remedy, code=code, file=self.path, line=self.line, key=name)

    def text(self, name: str) -> str:
        value = self.row.get(name)
        return value if isinstance(value, str) and value else self.wrong(name, "text")

    def number(self, name: str) -> int:
        value = self.row.get(name)
        if (number := whole_number(value, _MOST_DIGITS)) is not None:
            return number
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**_MOST_DIGITS:
            return value
        self.require_no_date(name)
        self.wrong(name, "a whole number")

    def require_no_date(self, name: str) -> None:
        require_no_date(self.row.get(name), name, self.path, self.line)

    def meant(self, name: str, meanings: Mapping[str, Some]) -> Some:
        """What a code means."""
        value = self.row.get(name)
        is_code = isinstance(value, str) and value in meanings
        return meanings[str(value)] if is_code else self.wrong(name, " or ".join(meanings))

    def written(self, name: str) -> Any:
        """A value written into a text, as JSON or as Python writes lists and dictionaries; None if it is neither."""
        value = self.row.get(name)
        return _evaluated(value) if isinstance(value, str) else None

    def value(self, name: str) -> Any:
        """A value as it is, or as it is written into a text."""
        value = self.row.get(name)
        return self.written(name) if isinstance(value, str) else value

    def sound(self, example: Item, label: str) -> Item:
        """The item, if its right answer (the field `label`) is UNKNOWN exactly where the context is ambiguous."""
        if (example.label == example.unknown) != (example.condition == AMBIGUOUS):
            right_answer = "“cannot be determined”" if example.condition == AMBIGUOUS else "a person"
            self.wrong(label, f"{right_answer}, since the context is {example.condition}", label=True)
        return example


_evaluated = lru_cache(maxsize=1024)(written_value)  # a column has few different ones


def each_row(path: Path, bad: BadRows, remedy: str, read: Callable[[RowFields], EditionRow]) -> Iterator[EditionRow]:
    """Every row of a file, read; those that cannot be are reported to `bad`."""

    def rows() -> Iterator[EditionRow]:
        for line, row in read_rows(path, bad):
            try:
                yield read(RowFields(row, path, line, remedy))._replace(line=line, row=row)
            except DataError as error:
                bad.found(error)

    return require_any(rows(), path, "examples", remedy)


def number(quartet: int, polarity: str, condition: str) -> int:
    """The item's number from that of its quartet."""
    return len(QUARTET) * quartet + QUARTET.index((polarity, condition))


def texts(value: object, count: int | None = None) -> list[str] | None:
    """A list of texts, of `count` if given; None if it is something else."""
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        return None
    return list(value) if count in (None, len(value)) else None


def people(options: Sequence[str], unknown: int) -> tuple[tuple[str, str], ...]:
    """An item's `info` in sets without labels of groups: each person's text is its label."""
    return tuple((text, UNKNOWN_LABEL if option == unknown else text) for option, text in enumerate(options))


def short(value: object) -> str:
    """A value as an error message shows it."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}…"
