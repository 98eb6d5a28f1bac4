"""Name groups from name statistics, by the paper's proportions (Eq. 6 and 7): names that few others share.

A name goes to a race or ethnicity if at least a given share of the people with this name belong to it; the same holds
for gender. Tables are recognized by their columns:

    Child's First Name, Gender, Ethnicity, Year of Birth, Count, Rank        New York City's Popular Baby Names
    firstname, obs, pctwhite, pctblack, pctapi, pcthispanic, …               Tzioumis (2018)
    name, sex, count                        the Social Security Administration's national files, added up
    name, race, gender, count               any other source

The counts of all tables are added up. The second has no gender and the third no race, so use them together.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NoReturn

from assay.errors import DataError, UsageError
from assay.files.rows import BadRows, Row, read_rows

_RACES = {"HISPANIC": "HS", "WHITE": "EA", "BLACK": "AA", "ASIAN": "AS"}  # by first word: some spellings are cut off
_PERCENTAGES = {
    "pctwhite": "EA",
    "pctblack": "AA",
    "pctapi": "AS",
    "pcthispanic": "HS",
    "pctaian": "AIAN",  # American Indian or Alaska Native; this and the next only count in the denominator
    "pct2prace": "several",
}
GENDERS = ("female", "male")
_GENDERS = {"f": "female", "female": "female", "m": "male", "male": "male"}
_ALL_OTHERS = "ALL OTHER FIRST NAMES"  # Tzioumis' last row, which is no name
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")

_FEWEST = 2  # names in a group, and groups

GroupTable = dict[str, dict[str, str | list[str]]]


@dataclass(frozen=True)
class NameCount:
    """How many people have a name; their race or gender is None if the source does not give it."""

    name: str
    race: str | None
    gender: str | None
    count: int


@dataclass(frozen=True)
class NameRules:
    """Which names are taken.

    race_threshold: the share of people for each race that gets groups (the others only count in the denominator), or
      one share for all races. gender_threshold: the same for a gender.
    min_count: how many people of known race a name needs. per_group: at most this many names, the most frequent ones.
    """

    race_threshold: Mapping[str, float] | float
    gender_threshold: float = 0.9
    min_count: int = 200
    per_group: int | None = None

    def __post_init__(self) -> None:
        def wrong(key: str, problem: str, remedy: str) -> NoReturn:
            raise UsageError(problem, remedy, code="bad-setting", key=key)

        races = self.race_threshold.values() if isinstance(self.race_threshold, Mapping) else [self.race_threshold]
        shares = [*(("race_threshold", share) for share in races), ("gender_threshold", self.gender_threshold)]
        for key, threshold in shares:
            if not 0.5 < threshold <= 1:
                remedy = "It is a share of the people with a name; above one half, no name belongs to two groups."
                wrong(key, f"a threshold is {threshold}, expected more than 0.5 and at most 1.", remedy)
        if self.min_count < 0:
            wrong("min_count", f"the least count is {self.min_count}.", "Take 200 as the paper does, or 0 for any.")
        if self.per_group is not None and self.per_group < _FEWEST:
            problem = f"{self.per_group} names a group are too few."
            wrong("per_group", problem, f"Take at least {_FEWEST}, or all.")


SECTION_2 = NameRules({"EA": 0.9, "AA": 0.9, "HS": 0.8, "AS": 0.7})
"""How the paper's section 2 chooses names; what share of a gender it asks for, it does not say."""

APPENDIX_A = NameRules({"AS": 1.0, "HS": 1.0}, gender_threshold=1.0, min_count=0)
"""What the paper's Asian and Hispanic seed names have in New York City's table (appendix A.1), all but Tenzin."""


def proportion(counts: Mapping[str, int], value: str) -> float:
    """count(n, value) / Σ count(n, ·), not all 0: Eq. 6 for races, Eq. 7 for genders. In [0, 1].

    >>> proportion({"AS": 3, "HS": 1}, "AS")
    0.75
    """
    return counts.get(value, 0) / sum(counts.values())


def build_groups(rows: Iterable[NameCount], rules: NameRules = SECTION_2) -> GroupTable:
    """Groups of names as `names.read_groups` reads them: {"AA_female": {"race": "AA", "gender": "female", "names": …}}.

    Names are sorted by how many people have them, the most frequent first; groups of fewer than two names are left out.
    """
    races: dict[str, Counter[str]] = {}  # how many people of each race have a name
    genders: dict[str, Counter[str]] = {}
    for row in rows:
        if row.race is not None:
            races.setdefault(row.name, Counter())[row.race] += row.count
        if row.gender is not None:
            genders.setdefault(row.name, Counter())[row.gender] += row.count
    least, thresholds = rules.min_count or 1, rules.race_threshold
    frequent = [name for name in races.keys() & genders if races[name].total() >= least and genders[name].total()]
    frequent.sort(key=lambda name: (-races[name].total(), name))
    if not isinstance(thresholds, Mapping):
        thresholds = dict.fromkeys(sorted({race for counts in races.values() for race in counts}), thresholds)
    groups: GroupTable = {}
    for race, threshold in thresholds.items():
        of_race = [name for name in frequent if proportion(races[name], race) >= threshold]
        for gender in GENDERS:
            names = [name for name in of_race if proportion(genders[name], gender) >= rules.gender_threshold]
            if len(names) >= _FEWEST:
                groups[f"{race}_{gender}"] = {"race": race, "gender": gender, "names": names[: rules.per_group]}
    return groups


def build_from_files(tables: Sequence[Path], rules: NameRules = SECTION_2) -> GroupTable:
    """The same from files; DataError where they do not give two groups."""
    if not tables:
        problem, remedy = "no table of names was given.", "Name at least one CSV file."
        raise UsageError(problem, remedy, code="missing-setting", key="tables")
    rows = [row for path in tables for row in read_counts(path)]
    files = ", ".join(path.name for path in tables)
    for attribute in ("race", "gender"):
        if {getattr(row, attribute) for row in rows} == {None}:
            remedy = f"Add a table with the {attribute} of names."
            raise DataError(f"{files}: no row has a {attribute}.", remedy, code="missing-key", key=attribute)
    groups = build_groups(rows, rules)
    if len(groups) < _FEWEST:
        problem = f"{files}: fewer than two groups have two names; found: {', '.join(groups) or 'none'}."
        remedy = "Lower a threshold or the least count, or add a table."
        raise DataError(problem, remedy, code="bad-list", key="tables")
    return groups


def as_json(groups: GroupTable) -> str:
    """The groups as a file that `names.read_groups` reads."""
    return json.dumps(groups, indent=1, ensure_ascii=False) + "\n"


def read_counts(path: Path) -> list[NameCount]:
    """The counts of a table of one of the four kinds, with names in title case."""
    if ".csv" not in path.suffixes:
        remedy = "Name it NAME.csv, or NAME.csv.gz if it is compressed."
        raise DataError("expected a CSV table.", remedy, code="bad-csv", file=path)
    rows = read_rows(path, BadRows(skip=False))
    first = next(rows, None)
    if first is None:
        raise DataError("there are no rows in this table.", _KINDS_REMEDY, code="empty-file", file=path)
    for columns, read in _READERS:
        if first[1].keys() >= columns:
            return list(read(_NameRow(path, number, row) for number, row in chain([first], rows)))
    problem = f"the columns {', '.join(first[1])} match no known kind of table."
    raise DataError(problem, _KINDS_REMEDY, code="missing-key", file=path)


def title_case(name: str) -> str:
    """A name as it is written in a text; apostrophes belong to a word, hyphens and blanks do not.

    >>> title_case("SUE-ELLEN"), title_case("AMAR'E")
    ('Sue-Ellen', "Amar'e")
    """
    return _WORD.sub(lambda match: match[0].capitalize(), " ".join(name.split()))


@dataclass(frozen=True)
class _NameRow:
    """A row of a table, and where it is."""

    path: Path
    line: int
    row: Row

    def text(self, column: str) -> str:
        return " ".join(self.row[column].split()) or self.wrong(column, "a text")

    def number(self, column: str, most: float = float("inf")) -> float:
        try:
            value = float(self.row[column])
        except ValueError:
            self.wrong(column, "a number")
        return value if 0 <= value <= most and value < float("inf") else self.wrong(column, "a count or a percentage")

    def count(self, column: str) -> int:
        value = self.number(column)
        return int(value) if value == int(value) else self.wrong(column, "a whole number")

    def gender(self, column: str) -> str:
        return _GENDERS.get(self.row[column].strip().lower()) or self.wrong(column, "female, male, F or M")

    def wrong(self, column: str, expected: str) -> NoReturn:
        problem = f'"{column}" is "{self.row[column]}", expected {expected}.'
        raise DataError(problem, "Correct the table.", code="bad-value", file=self.path, line=self.line, key=column)


def _new_york(rows: Iterable[_NameRow]) -> Iterator[NameCount]:
    """The published file repeats rows, some of them with the ethnicity's name cut off: each counts once."""
    seen = set()
    for cells in rows:
        words = cells.text("Ethnicity").upper().split()
        race = _RACES.get(words[0]) or cells.wrong("Ethnicity", " or ".join(_RACES))
        name = title_case(cells.text("Child's First Name"))
        counted = NameCount(name, race, cells.gender("Gender"), cells.count("Count"))
        key = (counted, cells.text("Year of Birth"), cells.text("Rank"))
        if key not in seen:
            seen.add(key)
            yield counted


def _tzioumis(rows: Iterable[_NameRow]) -> Iterator[NameCount]:
    """Percentages with three decimals: rounding gives the counts back that they were made of."""
    for cells in rows:
        name, bearers = cells.text("firstname"), cells.count("obs")
        for column, race in _PERCENTAGES.items() if name != _ALL_OTHERS else ():
            yield NameCount(title_case(name), race, None, round(bearers * cells.number(column, most=100) / 100))


def _plain(rows: Iterable[_NameRow], *, race: bool = True, gender: str = "gender") -> Iterator[NameCount]:
    for cells in rows:
        name = title_case(cells.text("name"))
        yield NameCount(name, cells.text("race") if race else None, cells.gender(gender), cells.count("count"))


_READERS: Sequence[tuple[Set[str], Callable[[Iterable[_NameRow]], Iterator[NameCount]]]] = (
    ({"Child's First Name", "Gender", "Ethnicity", "Year of Birth", "Count", "Rank"}, _new_york),
    ({"firstname", "obs", *_PERCENTAGES}, _tzioumis),
    ({"name", "sex", "count"}, partial(_plain, race=False, gender="sex")),
    ({"name", "race", "gender", "count"}, _plain),
)
_KINDS_REMEDY = f"Known tables have the columns {'; '.join(', '.join(sorted(columns)) for columns, _ in _READERS)}."
