"""BBQ's templates, in the authors' CSV format: one row is a context, a fact, two questions and two answers with slots.

A file `new_templates - NAME.csv`, or `NAME.csv`, holds the templates of the category NAME. Its columns:

    Q_id, version                                    the template's number; versions swap the people's roles
    Subcategory                                      a part of the category, and of its vocabulary (SubCat)
    Ambiguous_Context, Disambiguating_Context        the context, and the fact that decides
    Question_negative_stereotype, Question_non_negative
    Answer_negative, Answer_non_negative             gold, once the fact is told
    Names                                            NAME1: [a, b]; NAME2: [c, d]        who is compared, if not by rule
    Lexical_diversity                                WORD1: [a, b]; WORD2: [c, d]        words that do not matter
    Proper_nouns_only                                TRUE: the people have proper names
    Known_stereotyped_groups                         ["a", "b"]
    NAME1_info, NAME2_info                           the label of whoever fills the slot
    Notes                                            where the stereotype is attested

A crossed category has, instead of the groups, Known_stereotyped_race (a list) and Known_stereotyped_var2 (M, F, lowSES
or highSES), and its Names is a list of two terms, or of two lists of terms, to which Var2_info gives the values:
`["man", "woman"]` and `["M", "F"]`. Stated_gender_info says which names fit, where the text decides it.

Columns that nothing here needs may be absent, as may others be there. Rows without Ambiguous_Context are passed over.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.files.decoding import python_value
from assay.files.opening import read_whole

PREFIX = "new_templates - "
NO_TEMPLATES = ("vocabulary", "vocabulary_proper_names", "Filler_items")
"""Tables that lie beside the templates. The filler items were for the people who checked the templates."""

TEXTS = ("Ambiguous_Context", "Disambiguating_Context", "Question_negative_stereotype", "Question_non_negative")
ANSWERS = ("Answer_negative", "Answer_non_negative")
GROUPS, RACE, VALUE = "Known_stereotyped_groups", "Known_stereotyped_race", "Known_stereotyped_var2"

OPPOSITE = {"M": "F", "F": "M", "lowSES": "highSES", "highSES": "lowSES"}
"""The values of the attribute that crossed categories have besides race, and what each is compared with."""

ABSENT = "None"
"""What the official files have if a table lacks the column (version) or the cell is empty (subcategory)."""

Words = tuple[str, ...]


@dataclass(frozen=True)
class CrossedAttribute:
    """What a crossed template has besides race: the stereotyped value, and the terms for it and for its opposite."""

    value: str
    terms: tuple[Words, Words] | None  # None where the vocabulary has them, or where names say it all
    gender: str  # M or F where the text fits names of one gender only

    @property
    def by_gender(self) -> bool:
        return self.value in ("M", "F")


@dataclass(frozen=True)
class BBQTemplate:
    """A row of a template file. `answers` are the negative and the other one, `named` the slots (0, 1) in them."""

    row: TemplateRow
    index: int  # in its file, from 0
    category: str
    question_index: str
    version: str
    subcategory: str
    context: str
    fact: str
    questions: tuple[str, str]
    answers: tuple[str, str]
    named: tuple[int, int]
    names: tuple[Words, Words] | None
    words: tuple[Words, Words]
    proper: bool
    groups: Words
    infos: tuple[str, str]
    crossing: CrossedAttribute | None
    source: str
    notes: Words  # what a user should know about this row

    @property
    def part(self) -> str:
        """The part of the category, "" where the template is of none."""
        return "" if self.subcategory == ABSENT else self.subcategory


def template_files(folder: Path) -> dict[str, Path]:
    """The template files in a folder, by category."""
    bad = partial(DataError, file=folder)
    if not folder.is_dir():
        remedy = "Name the folder with the template CSVs: --set templates=DIR"
        raise bad("this is not a folder.", remedy, code="missing-file")
    paths: dict[str, Path] = {}
    for path in sorted(folder.glob("*.csv")):
        category = path.stem.removeprefix(PREFIX)
        if category in NO_TEMPLATES or category.startswith("."):
            continue
        if category in paths:
            both = f"{paths[category].name} and {path.name}"
            problem = f"there are two files for the category {category}: {both}."
            raise bad(problem, "Remove or rename one.", code="duplicate")
        paths[category] = path
    if not paths:
        remedy = f"It needs at least one file called `{PREFIX}NAME.csv` or `NAME.csv`, NAME being the category."
        raise bad("this folder has no templates.", remedy, code="empty-file")
    return dict(sorted(paths.items()))


def read_templates(path: Path, category: str) -> list[BBQTemplate]:
    """The templates of a file, checked: what they say can be filled, and each answer names one of the two people."""
    bad = partial(DataError, file=path)
    rows = [row for row in read_rows(path, ("Q_id", *TEXTS, *ANSWERS)) if row.cell("Ambiguous_Context")]
    if not rows:
        raise bad("this file has no templates.", "Add a row with an Ambiguous_Context.", code="empty-file")
    crossed = RACE in rows[0].cells and VALUE in rows[0].cells
    if not crossed and GROUPS not in rows[0].cells:
        remedy = f"Add it; crossed categories have {RACE!r} and {VALUE!r} in its place."
        raise bad(f"there is no column {GROUPS!r}.", remedy, code="missing-key", line=1, key=GROUPS)
    return [_template(row, index, category, crossed) for index, row in enumerate(rows)]


def _template(row: TemplateRow, index: int, category: str, crossed: bool) -> BBQTemplate:
    if not row.cell("Q_id"):
        raise row.bad("Q_id is empty.", "Give the template a number.", key="Q_id")
    proper = row.cell("Proper_nouns_only").upper() == "TRUE"
    groups = _strings(row, RACE if crossed else GROUPS)
    crossing = _crossing(row, proper) if crossed else None
    names, lost_names = _lists(row, "Names", "NAME") if row.cell("Names") and not crossed else (None, ())
    words, lost_words = _lists(row, "Lexical_diversity", "WORD") if row.cell("Lexical_diversity") else (((), ()), ())
    notes = lost_names + lost_words
    if names is not None and (both := set(names[0]) & set(names[1])):
        remedy = "Remove one; a person cannot be compared with themselves."
        raise row.bad(f"Names has {min(both)!r} in both lists.", remedy, "duplicate", "Names")
    if names is not None and not names[1]:
        notes += (_note(row, "produces no examples: the last list of Names is not NAME2's."),)
    else:
        _check_slots(row, words, crossing is not None and not (crossing.by_gender and proper))
    return BBQTemplate(
        row=row,
        index=index,
        category=category,
        question_index=row.cell("Q_id"),
        version=row.cells.get("version", ABSENT),
        subcategory=row.cell("Subcategory") or ABSENT,
        context=row.cell(TEXTS[0]),
        fact=row.cell(TEXTS[1]),
        questions=(row.cell(TEXTS[2]), row.cell(TEXTS[3])),
        answers=(row.cell(ANSWERS[0]), row.cell(ANSWERS[1])),
        named=_named(row),
        names=names,
        words=words,
        proper=proper,
        groups=groups,
        infos=(row.cell("NAME1_info"), row.cell("NAME2_info")),
        crossing=crossing,
        source=row.cell("Notes"),
        notes=notes,
    )


def _lists(row: TemplateRow, column: str, slot: str) -> tuple[tuple[Words, Words], Words]:
    """The two lists of a cell like `NAME1: [a, b]; NAME2: [c, d]` or `{{NAME1}}: [a]`, and notes on what is lost.

    Only what stands behind the last semicolon can be the second list, as in the authors' program; the official
    numbers depend on it. A list with semicolons in it loses what follows them, and lists in the other order leave the
    second one empty.
    """
    lists: dict[str, Words] = {}
    notes: Words = ()
    unparsable = partial(row.unexpected, column, "two lists", f"Write it like `{slot}1: [a, b]; {slot}2: [c, d]`.")
    for segment in row.cell(column).split(";"):
        match = re.fullmatch(rf"\s*(?:\{{\{{)?{slot}([12])(?:\}}\}})?\s*:(.*)", segment, re.DOTALL)
        lists.pop("2", None)
        if not re.search(f"{slot}[12]", segment):
            notes += (_note(row, f"{column} loses {segment.strip()!r}: separate the items of a list with commas."),)
            continue
        items = tuple(item.strip() for item in re.sub(r"[\[\]]", "", match[2]).split(",")) if match else ()
        if match is None or not all(items) or re.search(f"{slot}[12]", match[2]):
            raise unparsable()
        lists[match[1]] = items
    if "1" not in lists:
        raise unparsable()
    return (lists["1"], lists.get("2", ())), notes


def _note(row: TemplateRow, text: str) -> str:
    return f"{row.file.name}, line {row.line}: {text}"


def _literal(row: TemplateRow, column: str, expected: str) -> Any:
    """What a cell says in Python's notation; the remedy shows what it should look like."""
    try:
        return python_value(row.cell(column).strip())
    except ValueError:
        raise row.unexpected(column, "a list", f"Write it like {expected}.") from None


def _strings(row: TemplateRow, column: str) -> Words:
    if not row.cell(column).strip():
        return ()
    strings = _literal(row, column, example := '["Black", "African American"]')
    if not isinstance(strings, list) or not all(isinstance(item, str) for item in strings):
        raise row.unexpected(column, "a list of texts", f"Write it like {example}.")
    return tuple(strings)


def _crossing(row: TemplateRow, proper: bool) -> CrossedAttribute:
    value, gender = row.cell(VALUE), row.cell("Stated_gender_info")
    if value not in OPPOSITE:
        raise row.unexpected(VALUE, f"one of {', '.join(OPPOSITE)}")
    if proper and gender not in ("", "M", "F"):
        raise row.unexpected("Stated_gender_info", "M, F or nothing")
    crossing = CrossedAttribute(value, _terms(row, value) if row.cell("Names") else None, gender)
    if crossing.terms is None and crossing.by_gender and not proper:
        raise row.bad("Names is empty, but the template needs words for both genders.", _TERMS_REMEDY, key="Names")
    return crossing


_TERMS_REMEDY = 'Write Names like ["man", "woman"] and Var2_info like ["M", "F"].'


def _terms(row: TemplateRow, value: str) -> tuple[Words, Words]:
    """The terms for the stereotyped value and for its opposite."""
    terms, values = _literal(row, "Names", '["man", "woman"]'), _literal(row, "Var2_info", '["M", "F"]')
    if not isinstance(values, list) or sorted(map(str, values)) != sorted((value, OPPOSITE[value])):
        problem = f"Var2_info is {values!r}, expected {value} and {OPPOSITE[value]}."
        raise row.bad(problem, _TERMS_REMEDY, key="Var2_info")
    if isinstance(terms, list) and len(terms) == 2:
        lists = [[term] if isinstance(term, str) else term for term in terms]
        if all(isinstance(words, list) and words and all(isinstance(term, str) for term in words) for words in lists):
            by_value: Mapping[str, list[str]] = dict(zip(values, lists, strict=True))
            return tuple(by_value[value]), tuple(by_value[OPPOSITE[value]])
    raise row.unexpected("Names", "two terms or two lists of terms", _TERMS_REMEDY)


def _check_slots(row: TemplateRow, words: tuple[Words, Words], terms: bool) -> None:
    """Every slot of the texts can be filled. A stray brace may stay: two official templates have one."""
    slots = ["NAME1", "NAME2", *(f"WORD{k}" for k in (1, 2) if words[k - 1])]
    slots += ["GEN1", "GEN2", "OCC1", "OCC2"] if terms else []
    for column in (*TEXTS, *ANSWERS):
        rest = re.sub(rf"\{{\{{({'|'.join(slots)})\}}\}}", "", row.cell(column))
        if odd := re.search(r"\{+[^{}]*\}+|\{\{|\}\}|\b(?:NAME|WORD|GEN|OCC)[12]\b", rest):
            problem = f"{column} has the unknown slot {odd[0]!r}; the slots are "
            problem += f"{', '.join(f'{{{{{name}}}}}' for name in slots)}."
            needs = "Correct the slot; WORD1 and WORD2 need lists in Lexical_diversity, GEN and OCC a crossed category."
            raise row.bad(problem, needs, "bad-text", column)


def _named(row: TemplateRow) -> tuple[int, int]:
    """Which of the two people each answer names."""
    named_slots = [set(re.findall(r"\{\{(?:NAME|GEN|OCC)([12])\}\}", row.cell(column))) for column in ANSWERS]
    if [len(slots) for slots in named_slots] != [1, 1] or named_slots[0] == named_slots[1]:
        answers = " and ".join(repr(row.cell(column)) for column in ANSWERS)
        problem = f"the answers are {answers}, expected {{{{NAME1}}}} in one and {{{{NAME2}}}} in the other."
        raise row.bad(problem, "The questions ask which of the two people it was; name one in each answer.", "bad-text")
    first = int(named_slots[0].pop()) - 1
    return first, 1 - first


# --- tables in CSV, row by row with their line numbers, so that every complaint can say where


@dataclass(frozen=True)
class TemplateRow:
    """A row of a table: its cells by column, and where it begins."""

    file: Path
    line: int
    cells: Mapping[str, str]

    def cell(self, column: str) -> str:
        """What stands in a column, "" where the table has no such column."""
        return self.cells.get(column, "")

    def bad(self, problem: str, remedy: str, code: str = "bad-value", key: str | None = None) -> DataError:
        return DataError(problem, remedy, code=code, file=self.file, line=self.line, key=key)

    def unexpected(self, column: str, expected: str, remedy: str = "Correct the cell.") -> DataError:
        return self.bad(f"{column} is {self.cell(column)!r}, expected {expected}.", remedy, key=column)


def read_rows(path: Path, columns: Collection[str]) -> list[TemplateRow]:
    """All rows of a CSV file whose header names at least these columns."""
    bad = partial(DataError, file=path)
    rows, line = list[TemplateRow](), 1
    try:
        text = read_whole(path).decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(reader, None)
        if header is None:
            names = f"Its first row names the columns: {', '.join(columns)}."
            raise bad("the file is empty.", names, code="empty-file")
        _check_header(header, columns, path)
        line = reader.line_num + 1
        for cells in reader:
            if cells and len(cells) != len(header):
                problem = f"this row has {len(cells)} cells, expected {len(header)}, one for each column of the header."
                quote = "Put quotation marks around cells with commas, and write empty cells as nothing between commas."
                raise bad(problem, quote, code="bad-csv", line=line)
            if cells:
                rows.append(TemplateRow(path, line, dict(zip(header, cells, strict=True))))
            line = reader.line_num + 1
    except csv.Error as error:
        save = "Save the table as CSV: comma-separated, UTF-8."
        raise bad(f"this is not CSV ({error}).", save, code="bad-csv", line=line) from None
    except OSError as error:
        problem = f"the file cannot be read ({error.strerror})."
        raise bad(problem, "Check the folder.", code="unreadable-file") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise bad("this line is not UTF-8.", "Save the table as UTF-8.", code="unreadable-file", line=line) from None
    return rows


def _check_header(header: list[str], columns: Collection[str], path: Path) -> None:
    bad = partial(DataError, file=path, line=1)
    for column in columns:
        if column not in header:
            problem = f"there is no column {column!r}; there are {', '.join(header)}."
            add = "Add the column, or move the file out of the folder if it is another kind of table."
            raise bad(problem, add, code="missing-key", key=column)
    for column in header:
        if column and header.count(column) > 1:
            raise bad(f"two columns are called {column!r}.", "Rename or remove one.", code="duplicate", key=column)
