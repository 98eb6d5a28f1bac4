"""The groups of names to compare: the paper's eight lists (appendix A.2), or groups from a file.

A file of groups is JSON (or TOML, like the packaged one), with or without attributes:

    {"A": ["Ann", "Amy"], "B": ["Bob", "Ben"]}
    {"A": {"names": ["Ann", "Amy"], "gender": "female"}, "B": {"names": ["Bob", "Ben"], "gender": "male"}}

With attributes, two groups are compared where they differ in exactly one; without, every two groups are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import digest_of
from assay.errors import DataError, UsageError
from assay.files.decoding import TwiceError, json_value, once, toml_value
from assay.files.opening import open_text
from assay.files.rows import appears_twice

PACKAGED = Path(__file__).parents[2] / "data" / "sodapop"

UNCOUNTED = 100
"""The count used for a name that is not in the table of counts, which leaves out counts below 200."""

_FEWEST = 2  # names in a group, and groups
_FORMAT = (
    'Write {"A": ["Ann", "Amy"], "B": ["Bob", "Ben"]}, or {"A": {"names": ["Ann", "Amy"], "gender": "female"}, …}.'
)


@dataclass(frozen=True)
class NameGroup:
    """Names that stand for a group of people, and its attributes: {"race": "AA", "gender": "female"}, or {}."""

    name: str
    names: tuple[str, ...]
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)

    def differs(self, group: NameGroup) -> list[str]:
        """The attributes in which two groups differ."""
        return [key for key in self.attributes if self.attributes[key] != group.attributes[key]]


@dataclass(frozen=True)
class PooledGroups:
    """All names with one value of an attribute against all names with another.

    `strata` are pairs of groups that differ only in this attribute: female and male names of one race, then of the
    next. Names are permuted within them, so a difference between races cannot look like one between genders.
    """

    attribute: str
    a: str
    b: str
    strata: tuple[tuple[NameGroup, NameGroup], ...]


@dataclass(frozen=True)
class NameGroups:
    """All groups of a run, in the order of their file. No name is in two of them."""

    groups: tuple[NameGroup, ...]

    @property
    def digest(self) -> str:
        return digest_of([[group.name, group.names, dict(group.attributes)] for group in self.groups])

    def all_names(self) -> tuple[str, ...]:
        """The names of all groups, group after group."""
        return tuple(name for group in self.groups for name in group.names)

    def of(self, name: str) -> NameGroup:
        """The group that a name belongs to."""
        for group in self.groups:
            if name in group.names:
                return group
        names = ", ".join(group.name for group in self.groups)
        raise UsageError(f"{name} is in no group.", f"The groups are {names}.", code="bad-option", key="name")

    def rows(self, *groups: NameGroup) -> NDArray[np.int64]:
        """The indices of these groups' names in `all_names`, in the order given."""
        ends = np.cumsum([len(group.names) for group in self.groups])
        rows = {
            group.name: np.arange(end - len(group.names), end) for group, end in zip(self.groups, ends, strict=True)
        }
        return np.concatenate([np.zeros(0, np.int64), *(rows[group.name] for group in groups)])

    def only(self, names: Sequence[str]) -> NameGroups:
        """The named groups, in the order of their file; UsageError unless at least two can be compared."""
        all_groups = ", ".join(group.name for group in self.groups)
        chosen = NameGroups(tuple(group for group in self.groups if group.name in names))
        if unknown := {*names} - {group.name for group in chosen.groups}:
            problem = f"there is no group {min(unknown)}."
            raise UsageError(problem, f"The groups are {all_groups}.", code="bad-setting", key="compare")
        if not chosen.pairs():
            problem = "no two of these groups differ in exactly one attribute."
            raise UsageError(problem, f"Name more of {all_groups}.", code="bad-setting", key="compare")
        return chosen

    def take(self, per_group: int | None) -> NameGroups:
        """The first `per_group` names of every group (None: all); the paper takes the first 25 of its longer lists."""
        if per_group is not None and per_group < _FEWEST:
            problem, remedy = f"{per_group} names per group are too few.", f"Take at least {_FEWEST}, or all."
            raise UsageError(problem, remedy, code="bad-option", key="per_group")
        return NameGroups(
            tuple(NameGroup(group.name, group.names[:per_group], group.attributes) for group in self.groups)
        )

    def pairs(self) -> list[tuple[NameGroup, NameGroup]]:
        """The groups to compare: those that differ in exactly one attribute; all where there are no attributes."""
        pairs = combinations(self.groups, 2)
        return [(a, b) for a, b in pairs if not a.attributes or len(a.differs(b)) == 1]

    def pooled(self) -> list[PooledGroups]:
        """Every two values of every attribute, over at least two strata: with one, that is a pair of groups already."""
        strata: dict[tuple[str, str, str], list[tuple[NameGroup, NameGroup]]] = {}
        for a, b in self.pairs():
            for key in a.differs(b):
                values = a.attributes[key], b.attributes[key]
                if (key, *reversed(values)) in strata:
                    strata[key, values[1], values[0]].append((b, a))
                else:
                    strata.setdefault((key, *values), []).append((a, b))
        return [PooledGroups(key, a, b, tuple(pairs)) for (key, a, b), pairs in strata.items() if len(pairs) > 1]


@cache
def packaged_groups() -> NameGroups:
    """The paper's lists: 220 European American, African American, Asian American and Hispanic female and male names."""
    return read_groups(PACKAGED / "names.toml")


def chosen_groups(file: str | None) -> tuple[NameGroups, str]:
    """The groups of a file, or the paper's; and their name in a run's data."""
    return (packaged_groups(), "sodapop/names") if not file else (read_groups(Path(file)), Path(file).name)


@cache
def frequencies() -> Mapping[str, int]:
    """How many people in the United States have each packaged name; four names are too rare to be listed."""
    counts: dict[str, int] = {}
    lines = (PACKAGED / "frequencies.tsv").read_text(encoding="utf-8").splitlines()
    for name, _, count in (line.split("\t") for line in lines if not line.startswith(("#", "name\t"))):
        counts[name] = counts.get(name, 0) + int(count)
    return MappingProxyType(counts)


def control_columns(
    names: Sequence[str], pieces: NDArray[np.int32] | None, counts: Mapping[str, int]
) -> NDArray[np.float64]:
    """What else differs between names (name, 2): number of tokens, and log10 of the frequency.

    NaN if the tokens are unknown.
    """
    frequency = [np.log10(counts.get(name, UNCOUNTED)) for name in names]
    tokens = np.full(len(names), np.nan) if pieces is None else pieces.astype(np.float64)
    return np.column_stack([tokens, np.array(frequency)])


def read_groups(path: Path) -> NameGroups:
    """The groups in a file; DataError for the first problem in it."""
    groups = [_group(name, entry, path) for name, entry in read_table(path, _FORMAT).items()]
    for code, key, problem, remedy in _faults(groups):
        raise DataError(problem, remedy, code=code, file=path, key=key)
    return NameGroups(tuple(groups))


def read_table(path: Path, remedy: str) -> dict[str, Any]:
    """The object in a JSON file, or the table in a TOML file; a key that is there twice is an error in both."""
    kind = "TOML" if path.suffix == ".toml" else "JSON"
    with open_text(path) as file:
        try:
            text = file.read().replace("\r\n", "\n")
            table = toml_value(text) if kind == "TOML" else json_value(text, once)
        except TwiceError as error:
            raise appears_twice(error.key, path) from None
        except (ValueError, RecursionError) as error:
            code = "bad-toml" if kind == "TOML" else "bad-json"
            raise DataError(f"this is not {kind} ({error}).", remedy, code=code, file=path) from None
    if not isinstance(table, dict):
        problem = f"expected an object in braces, got a {type(table).__name__}."
        raise DataError(problem, remedy, code="bad-json", file=path)
    return table


def _group(name: str, entry: object, path: Path) -> NameGroup:
    def wrong(code: str, problem: str, remedy: str, key: str = name) -> NoReturn:
        sentence = f"group {json.dumps(name, ensure_ascii=False)}: {problem}"
        raise DataError(sentence, remedy, code=code, file=path, key=key)

    attributes: dict[str, Any] = dict(entry) if isinstance(entry, dict) else {"names": entry}
    names = attributes.pop("names", None)
    if not name.strip():
        wrong("unknown-key", "it has no name.", "Name every group.")
    if not isinstance(names, list) or not all(isinstance(text, str) for text in names):
        wrong("bad-value", "expected a list of names.", _FORMAT)
    for key, value in attributes.items():
        if not isinstance(value, str) or not value.strip():
            problem = f"its {key} is {json.dumps(value, default=str)}, expected a text."
            wrong("bad-value", problem, _FORMAT, f"{name}.{key}")
    for text in names:
        if not text.strip():
            wrong("bad-list", "a name is empty.", "Remove it.")
        if text != text.strip():
            wrong("bad-list", f"the name {json.dumps(text, ensure_ascii=False)} has blanks around it.", "Remove them.")
    if len(names) < _FEWEST:
        size = f"its only name is {names[0]}" if names else "it is empty"
        remedy = f"A group needs at least {_FEWEST} names, since differences are tested over names."
        wrong("bad-list", f"{size}.", remedy)
    return NameGroup(name, tuple(names), attributes)


def _faults(groups: Sequence[NameGroup]) -> Iterator[tuple[str, str | None, str, str]]:
    """Problems between groups that are each valid alone: code, group, problem and remedy."""
    if len(groups) < _FEWEST:
        problem = f"expected at least {_FEWEST} groups, got {len(groups)}."
        yield "bad-list", None, problem, "Groups are compared with each other."
    home: dict[str, str] = {}
    for group in groups:
        for name in group.names:
            if name in home:
                both = f"in {home[name]} and in {group.name}"
                problem = f'the name "{name}" is {both if home[name] != group.name else f"twice in {group.name}"}.'
                yield "duplicate", group.name, problem, "A name can be in one group only, once."
            home[name] = group.name
    first = groups[0]
    for group in groups:
        if group.attributes.keys() != first.attributes.keys():
            attributes = [", ".join(sorted(side.attributes)) or "no attributes" for side in (first, group)]
            problem = f"group {first.name} has {attributes[0]}, group {group.name} has {attributes[1]}."
            yield "bad-value", group.name, problem, "Give all groups the same attributes, or none."
    for a, b in combinations(groups, 2):
        if a.attributes and not a.differs(b):
            problem = f"groups {a.name} and {b.name} have the same attributes."
            yield "duplicate", b.name, problem, "Merge them, or give them different attributes."
    if not NameGroups(tuple(groups)).pairs():
        problem = "no two groups differ in exactly one attribute."
        yield "bad-value", None, problem, "Leave the attributes out to compare every two groups."
