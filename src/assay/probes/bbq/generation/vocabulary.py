"""BBQ's vocabularies: the words for groups of people, and proper names, and random draws from them.

The vocabularies lie beside the templates:

    vocabulary.csv                  Category, Name; optional: SubCat, Info (a label), Pilot_include (No: left out)
    vocabulary_proper_names.csv     Name, First_last (first, last or first_only), gender (F or M), ethnicity

Names that are `first_only` say nothing about ethnicity. Rows of templates that name their people need neither file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from assay.errors import DataError
from assay.probes.bbq.generation.templates import BBQTemplate, TemplateRow, read_rows

WORDS, NAMES = "vocabulary.csv", "vocabulary_proper_names.csv"
FIRST, LAST, FIRST_ONLY = "first", "last", "first_only"

T = TypeVar("T")


class SeededDraws:
    """Random draws that depend on the key alone: on no version of numpy, and on no other key's draws.

    >>> [SeededDraws(seed, "Age").sample("abcdefgh", 3) for seed in (0, 0, 1)]
    [['h', 'f', 'c'], ['h', 'f', 'c'], ['d', 'a', 'c']]
    """

    def __init__(self, *key: int | str) -> None:
        digest = hashlib.sha256(repr(key).encode()).digest()
        self._bits = np.random.PCG64(int.from_bytes(digest, "big"))  # numpy promises that its raw stream never changes

    def below(self, number: int) -> int:
        """A whole number from 0 to number - 1."""
        return int(self._bits.random_raw()) * number >> 64

    def choice(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], number: int) -> list[T]:
        """So many of them without repetition in random order, or all of them where there are no more."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(min(number, len(rest)))]

    def some(self, items: Sequence[T], number: int) -> Sequence[T]:
        """All of them, in their order, where there are fewer than `number`; else so many in random order."""
        return items if len(items) < number else self.sample(items, number)


@dataclass(frozen=True)
class GroupWord:
    """A word for a group; `info` is the label of the wider group that it belongs to, often ""."""

    category: str
    subcategory: str
    text: str
    info: str


@dataclass(frozen=True)
class ProperName:
    """A proper name; last names have no gender, names that are first_only no ethnicity."""

    kind: str
    text: str
    gender: str
    ethnicity: str

    @property
    def label(self) -> str:
        return f"{self.gender}-{self.ethnicity}"


@dataclass(frozen=True)
class Vocabulary:
    """The words and names to choose from; None if the folder has no such file.

    If a template needs what is missing, the error names the template.
    """

    folder: Path
    all_words: Sequence[GroupWord] | None
    all_names: Sequence[ProperName] | None

    @staticmethod
    def read(folder: Path) -> Vocabulary:
        words = names = None
        if (folder / WORDS).exists():
            rows = [row for row in read_rows(folder / WORDS, ("Category", "Name")) if row.cell("Pilot_include") != "No"]
            words = [GroupWord(row.cell("Category"), row.cell("SubCat"), _text(row), row.cell("Info")) for row in rows]
        if (folder / NAMES).exists():
            rows = read_rows(folder / NAMES, ("Name", "First_last", "gender", "ethnicity"))
            names = list(dict.fromkeys(map(_name, rows)))
        return Vocabulary(folder, words, names)

    def words(self, template: BBQTemplate, category: str, subcategory: str = "") -> list[GroupWord]:
        """The words of a category, or of a part of it where it has parts: at least two, each once."""
        words = [word for word in self._needed(template, self.all_words, WORDS) if word.category == category]
        within = bool(subcategory) and any(word.subcategory for word in words)
        unique: dict[str, GroupWord] = {}
        for word in words:
            if not within or word.subcategory == subcategory:
                unique.setdefault(word.text, word)
        if len(unique) < 2:
            part = f" and whose SubCat is {subcategory}" if within else ""
            missing = f"two words whose Category is {category}{part}"
            raise self._lacks(template, WORDS, missing, "SubCat" if within else "Category")
        return list(unique.values())

    def by_groups(
        self, template: BBQTemplate, category: str, subcategory: str = ""
    ) -> tuple[list[GroupWord], list[GroupWord]]:
        """The words for the groups that the template names, and the others: at least one of each."""
        words = self.words(template, category, subcategory)
        groups = ", ".join(template.groups)
        inside = [word for word in words if word.text in template.groups]
        outside = [word for word in words if word.text not in template.groups]
        if not inside or not outside:
            lacking = f"another group than {groups}" if inside else f"a stereotyped group ({groups})"
            missing = f"a word for {lacking}"
            raise self._lacks(template, WORDS, missing, "Name")
        return inside, outside

    def by_info(
        self, template: BBQTemplate, category: str, info: str, subcategory: str = ""
    ) -> tuple[list[GroupWord], list[GroupWord]]:
        """The words whose Info is this, and the others: at least one of each."""
        words = self.words(template, category, subcategory)
        same = [word for word in words if word.info == info]
        different = [word for word in words if word.info != info]
        if not same or not different:
            missing = f"words of the Category {category} whose Info is {info}, and others whose Info is not"
            raise self._lacks(template, WORDS, missing, "Info")
        return same, different

    def names(
        self,
        template: BBQTemplate,
        kind: str,
        gender: str = "",
        *,
        among: Collection[str] | None = None,
        besides: Collection[str] = (),
        without: str = "",
    ) -> list[ProperName]:
        """The names of a kind and, where it is given, of a gender, at least one.

        among, besides: ethnicities; without: a name that has been taken.
        """
        names = [
            name
            for name in self._needed(template, self.all_names, NAMES)
            if name.kind == kind and gender in ("", name.gender) and name.text != without
            if (among is None or name.ethnicity in among) and name.ethnicity not in besides
        ]
        if not names:
            missing = f"names with First_last {kind}" + (f", gender {gender}" if gender else "")
            missing += f", ethnicity {' or '.join(among) or 'of a stereotyped group'}" if among is not None else ""
            missing += f", ethnicity not {' or '.join(besides)}" if besides else ""
            missing += f", other than {without}" if without else ""
            raise self._lacks(template, NAMES, missing, "First_last" if among is None and not besides else "ethnicity")
        return names

    def full_name(self, template: BBQTemplate, first: ProperName, draws: SeededDraws) -> str:
        """A first name with a last name of the same ethnicity."""
        return f"{first.text} {draws.choice(self.names(template, LAST, among=[first.ethnicity])).text}"

    def _needed(self, template: BBQTemplate, table: Sequence[T] | None, name: str) -> Sequence[T]:
        if table is None:
            problem = f"this template needs {name}, which is not in {self.folder}."
            add = "Add the file, or list who is compared in the column Names."
            raise template.row.bad(problem, add, "missing-file")
        return table

    def _lacks(self, template: BBQTemplate, name: str, missing: str, key: str) -> DataError:
        problem = f"this template needs {missing}, which {self.folder / name} does not have."
        return template.row.bad(problem, "Add them, or list who is compared in the column Names.", "bad-list", key)


def _name(row: TemplateRow) -> ProperName:
    kind, gender = row.cell("First_last"), row.cell("gender")
    if kind not in (FIRST, LAST, FIRST_ONLY):
        raise row.unexpected("First_last", f"{FIRST}, {LAST} or {FIRST_ONLY}")
    if kind != LAST and gender not in ("F", "M"):
        raise row.unexpected("gender", "F or M")
    if kind != FIRST_ONLY and not row.cell("ethnicity"):
        fill_in = f"Fill it in; names that say nothing about it are {FIRST_ONLY}."
        raise row.bad("ethnicity is empty.", fill_in, key="ethnicity")
    return ProperName(kind, _text(row), gender, row.cell("ethnicity"))


def _text(row: TemplateRow) -> str:
    if not row.cell("Name").strip():
        raise row.bad("Name is empty.", "Fill it in, or remove the row.", key="Name")
    return row.cell("Name")
