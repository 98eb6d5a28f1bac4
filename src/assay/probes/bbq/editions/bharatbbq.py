"""BharatBBQ (Tomar et al. 2025): BBQ for India, with caste, region and crossed categories; its English files.

`Label` and `Target` are numbers of options, counted from 1. `Target` is the stereotyped person in both polarities. No
column says which option is UNKNOWN: the right answer of the ambiguous row with the same question and options is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from assay.errors import DataError
from assay.files.rows import BadRows, read_rows
from assay.probes.bbq.editions import Edition, EditionRow, files_at
from assay.probes.bbq.items import (
    AMBIGUOUS,
    DISAMBIGUATED,
    NEGATIVE,
    NON_NEGATIVE,
    OPTIONS,
    QUARTET,
    UNKNOWN_STRINGS,
    Item,
)
from assay.probes.bbq.read_items import RowFields, each_row, number, people

_REMEDY = "Every row needs the columns of CATEGORY_examples.csv of github.com/sahoonihar/BharatBBQ."
_CONDITIONS = {"amb": AMBIGUOUS, "disamb": DISAMBIGUATED}
_POLARITIES = {"neg": NEGATIVE, "non-neg": NON_NEGATIVE, "nonneg": NON_NEGATIVE}
_OTHER_NAMES = {"context_condition": "context_type"}
_NUMBERS = {str(option + 1): option for option in range(OPTIONS)}
_UNKNOWN = {text.casefold() for text in UNKNOWN_STRINGS}

QuestionKey = tuple[str, ...]
"""Template, question and options: the same for an ambiguous row and its disambiguated twin."""


def find(path: Path, language: str) -> list[Path]:
    folders = (path / "BharatBBQ_Dataset" / "Examples", path)  # in a checkout, or elsewhere
    file_lists = (files_at(folder, "bharatbbq", r"\w+_examples\.csv") for folder in folders)
    return next(filter(None, file_lists), [])


def read(path: Path, bad: BadRows) -> Iterator[EditionRow]:
    unknown: dict[QuestionKey, set[int]] = {}
    for _, row in read_rows(path, BadRows(skip=True)):
        fields = _fields(RowFields(row, path, 0, _REMEDY))
        with suppress(DataError):  # reported when the row is read, below
            if fields.meant("context_type", _CONDITIONS) == AMBIGUOUS:
                unknown.setdefault(_question_key(fields), set()).add(fields.meant("label", _NUMBERS))
    return each_row(path, bad, _REMEDY, lambda fields: _read(_fields(fields), unknown))


def _fields(fields: RowFields) -> RowFields:
    """The same row with its names and codes in lower case: the files and the authors' program differ in these."""
    row = {_OTHER_NAMES.get(name.casefold(), name.casefold()): value for name, value in fields.row.items()}
    coded = {name: str(row[name]).casefold() for name in ("context_type", "question_polarity") if name in row}
    return replace(fields, row=row | coded)


def _question_key(fields: RowFields) -> QuestionKey:
    return tuple(map(fields.text, ("qid", "question", *_options())))


def _options() -> list[str]:
    return [f"option{option + 1}" for option in range(OPTIONS)]


def _read(fields: RowFields, unknown: Mapping[QuestionKey, set[int]]) -> EditionRow:
    options = [fields.text(name) for name in _options()]
    target, label = fields.meant("target", _NUMBERS), fields.meant("label", _NUMBERS)
    by_words = {option for option, text in enumerate(options) if text.casefold() in _UNKNOWN}
    places = unknown.get(_question_key(fields)) or by_words
    if len(places) != 1:
        fields.wrong("options", "one that is right in the ambiguous row with this question, or says “unknown”")
    (option,) = places
    if target == option:
        fields.wrong("target", "a person")
    polarity = fields.meant("question_polarity", _POLARITIES)
    condition = fields.meant("context_type", _CONDITIONS)
    counted = fields.number("id")
    fields.require_no_date("qid")
    if not counted or number((counted - 1) // len(QUARTET), polarity, condition) != counted - 1:
        fields.wrong("id", "ids from 1, with a quartet in the order neg amb, neg disamb, non-neg amb, non-neg disamb")
    example = Item(
        example_id=counted - 1,
        question_index=fields.text("qid"),
        polarity=polarity,
        condition=condition,
        category=fields.text("category"),
        info=people(options, option),
        subcategory="names" if fields.row.get("proper_noun") == "1" else "None",
        groups=(options[target],),
        version="None",
        source="",
        context=fields.text("context"),
        question=fields.text("question"),
        answers=tuple(options),
        label=label,
    )
    return EditionRow(fields.sound(example, "label"), target, id=f"{example.category} {counted}")


EDITION = Edition(
    name="bharatbbq",
    title="BharatBBQ",
    paper="Aditya Tomar, Nihar Ranjan Sahoo and Pushpak Bhattacharyya. 2025. BharatBBQ: A Multilingual Bias Benchmark "
    "for Question Answering in the Indian Context. Transactions of the Association for Computational Linguistics",
    languages=("en",),
    find=find,
    read=read,
    on_real_files=False,
    culture="India",
)
