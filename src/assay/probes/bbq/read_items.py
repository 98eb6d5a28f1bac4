"""Reads BBQ's official files, and other files with their fields: JSON lines or CSV, plain or compressed."""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from assay.errors import DataError, UsageError
from assay.files.decoding import whole_number, written_value
from assay.files.rows import BadRows, Row, read_rows, require_no_date
from assay.probes.bbq.items import AMBIGUOUS, CATEGORIES, CONDITIONS, OPTIONS, POLARITIES, UNKNOWN_LABEL, Item

_ENDINGS = (".jsonl", ".jsonl.gz")
_REMEDY = "Every example needs the fields of the official files; see `assay data check bbq`."
_GOLD_REMEDY = (
    "Correct the label, get the file again with `assay data fetch bbq`, or leave such rows out with --skip-bad."
)


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
    """A row with the official files' fields as an example; raises DataError if one is missing or wrong.

    The right answer is UNKNOWN if and only if the context is ambiguous.
    """

    def wrong(name: str, expected: str, remedy: str = _REMEDY) -> NoReturn:
        said = "is missing" if name not in row else f"is {short(row[name])}"
        code = "missing-key" if name not in row else "bad-label" if name == "label" else "bad-value"
        raise DataError(f'"{name}" {said}, expected {expected}.', remedy, code=code, file=path, line=line, key=name)

    def text(name: str) -> str:
        value = row.get(name)
        return sys.intern(value) if isinstance(value, str) else wrong(name, "text")  # a quartet repeats its texts

    def whole(name: str) -> int:
        value = row.get(name)
        require_no_date(value, name, path, line)
        if isinstance(value, str) and whole_number(value.removeprefix("-")) is not None:
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else wrong(name, "a whole number")

    def one_of(name: str, known: tuple[str, ...]) -> str:
        value = row.get(name)
        return sys.intern(value) if isinstance(value, str) and value in known else wrong(name, " or ".join(known))

    label = whole("label")
    if not 0 <= label < OPTIONS:
        wrong("label", "0, 1 or 2", _GOLD_REMEDY)
    info = tuple(_info(row, place) or wrong("answer_info", _INFO_EXPECTED) for place in range(OPTIONS))
    if [group for _, group in info].count(UNKNOWN_LABEL) != 1:
        wrong("answer_info", f'exactly one option with the label "{UNKNOWN_LABEL}"')
    condition = one_of("context_condition", CONDITIONS)
    fits = [(group == UNKNOWN_LABEL) == (condition == AMBIGUOUS) for _, group in info]
    if not fits[label]:
        places = " or ".join(str(place) for place in range(OPTIONS) if fits[place])
        who = "cannot be determined" if condition == AMBIGUOUS else "a person"
        wrong("label", f'{places} ({who}), since context_condition is "{condition}"', _GOLD_REMEDY)
    about = _object(row.get("additional_metadata"))
    groups = about.get("stereotyped_groups") if about is not None else None
    if about is None or not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        wrong("additional_metadata", "an object with a list of texts, stereotyped_groups")
    index = row.get("question_index")
    require_no_date(index, "question_index", path, line)
    return Item(
        example_id=whole("example_id"),
        question_index=sys.intern(index if isinstance(index, str) and index else str(whole("question_index"))),
        polarity=one_of("question_polarity", POLARITIES),
        condition=condition,
        category=text("category"),
        info=_shared(*info),
        subcategory=sys.intern(str(about.get("subcategory", "None"))),
        groups=_shared(*groups),
        version=sys.intern(str(about.get("version", "None"))),
        source=sys.intern(str(about.get("source", ""))),
        context=text("context"),
        question=text("question"),
        answers=_shared(*(text(f"ans{place}") for place in range(OPTIONS))),
        label=label,
    )


_INFO_EXPECTED = 'for each of ans0, ans1 and ans2 a list of two texts: [filler, label], as in ["grandson", "nonOld"]'


def _info(row: Row, option: int) -> tuple[str, str] | None:
    info = (_object(row.get("answer_info")) or {}).get(f"ans{option}")
    if not isinstance(info, list | tuple) or len(info) != 2 or not all(isinstance(part, str) for part in info):
        return None
    filler, label = info
    return sys.intern(filler), sys.intern(label)


def _object(value: object) -> dict[str, Any] | None:
    """An object, or one written into a CSV cell, as JSON or as Python writes it."""
    value = written_value(value) if isinstance(value, str) else value
    return value if isinstance(value, dict) else None


def short(value: object) -> str:
    """A value as an error message shows it."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}…"
