"""Shared by both kinds of logs: their rows as examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.files.decoding import whole_number
from assay.files.rows import Row
from assay.probes.bbq import items as bbq
from assay.probes.bbq.editions import EditionRow
from assay.probes.bbq.items import OPTIONS, UNKNOWN_LABEL, Item
from assay.probes.bbq.read_items import example_of

Official = Mapping[tuple[str, int], Item]
"""(category, example_id) -> the example."""

COMPLETE = "Name the official files with --data DIR; they complete a log by category and example_id."


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    """An example and its answer: an option's index, TIED, text to be parsed, or None."""

    example: Item
    answer: object
    line: int  # in the file, or the sample's number, from 1
    letters: bool = True  # whether the options were shown with letters, so that a letter in a text may name one
    read: EditionRow | None = None  # the row of an edition

    @property
    def called(self) -> str:
        """What the set calls the row."""
        return (self.read and self.read.id) or str(self.example.example_id)


@dataclass(frozen=True)
class LogLocation:
    """A place in a log: a line, or a part without a line."""

    file: Path
    line: int | None = None
    part: str = ""

    def bad(self, problem: str, remedy: str, *, code: str, key: str | None = None) -> DataError:
        if not self.part:
            return DataError(problem, remedy, code=code, file=self.file, line=self.line, key=key)
        error = DataError(f"{self.file}, {self.part}: {problem}", remedy, code=code, key=key)
        error.file = self.file
        return error


def plain(text: str) -> str:
    return " ".join(text.split()).casefold()


_CATEGORY = {name.replace("_", "").casefold(): name for name in bbq.CATEGORIES}
_UNKNOWN = {plain(text) for text in bbq.UNKNOWN_STRINGS}


def option_of(text: str, example: Item) -> int | None:
    """The option of a choice: the one with its text; every phrasing of UNKNOWN is the UNKNOWN option."""
    wanted_text = plain(text)
    same = (option for option, answer in enumerate(example.answers) if plain(answer) == wanted_text)
    return next(same, example.unknown if wanted_text in _UNKNOWN else None)


def complete_example(row: Row, official: Official, location: LogLocation) -> Item:
    """A log's row as an example: from its own fields or, if they are incomplete, the official example."""
    row = _renamed(row)
    try:
        return example_of(_with_condition(_in_place(row)), location.file, 0)
    except DataError as error:
        incomplete = error
    known_item = official.get((str(row.get("category", "")), whole(row.get("example_id"))))
    if known_item is None:
        problem = incomplete.problem.removeprefix(f"{location.file}, line 0: ")  # a sample has no line
        missing = " The official files do not have this example." if official else ""
        raise location.bad(problem + missing, COMPLETE, code=incomplete.code, key=incomplete.key)
    for name, official_text in (("context", known_item.context), ("question", known_item.question)):
        if isinstance(row.get(name), str) and plain(row[name]) != plain(official_text):
            number = f"example {known_item.example_id} of {known_item.category}"
            problem = f'its "{name}" differs from {number} in the official files.'
            raise location.bad(problem, "Use the files that the log was made with.", code="bad-value", key=name)
    return known_item


def whole(value: object) -> int:
    """A whole number, as such or as text; -1 for anything else."""
    number = whole_number(value) if isinstance(value, str) else value
    return number if isinstance(number, int) and not isinstance(number, bool) else -1


def _renamed(row: Row) -> dict[str, Any]:
    """A row with the official names of fields and categories, which some copies of the data changed."""
    named = dict(row)
    category = row.get("category")
    if isinstance(category, str):
        named["category"] = _CATEGORY.get(category.replace("_", "").casefold(), category)
    if "label" not in row and "answer_label" in row:
        named["label"] = row["answer_label"]
    flat = {f"ans{option}": [row.get(f"ans{option}_text"), row.get(f"ans{option}_info")] for option in range(OPTIONS)}
    if "answer_info" not in row and not any(None in pair for pair in flat.values()):
        named["answer_info"] = flat
    if "additional_metadata" not in row and "stereotyped_groups" in row:
        fields = ("subcategory", "stereotyped_groups", "version", "source")
        named["additional_metadata"] = {name: row[name] for name in fields if name in row}
    return named


def _with_condition(row: Row) -> Row:
    """A row with its context condition: the context is ambiguous if and only if the right answer is UNKNOWN."""
    label, infos = whole(row.get("label")), _infos(row)
    if "context_condition" in row or infos is None or not 0 <= label < OPTIONS:
        return row
    return {**row, "context_condition": bbq.AMBIGUOUS if infos[label][1] == UNKNOWN_LABEL else bbq.DISAMBIGUATED}


def _infos(row: Row) -> list[tuple[str, str]] | None:
    """The filler and the label of every option, or None."""
    info = row.get("answer_info")
    pairs: list[Any] = [info.get(f"ans{option}") for option in range(OPTIONS)] if isinstance(info, dict) else [None]
    if not all(isinstance(pair, list) and [*map(type, pair)] == [str, str] for pair in pairs):
        return None
    return [(filler, label) for filler, label in pairs]


def _in_place(row: Row) -> Row:
    """A row with its choices as ans0, ans1 and ans2 in the order of answer_info, and the right one as its label.

    Only rows of Inspect's samples have `gold`, the right one among `choices`.
    """
    if "gold" not in row:
        return row
    choices, infos = row["choices"], _infos(row)
    order = list(range(OPTIONS)) if infos is None else _order(choices, infos)
    if order is None:
        problem = f"which of the choices {', '.join(choices)} belongs to which part of answer_info?"
        raise DataError(problem, code="bad-row", key="choices")
    placed: dict[str, Any] = {f"ans{option}": choices[choice] for option, choice in enumerate(order)}
    if row["gold"] in order:
        placed["label"] = order.index(row["gold"])
    return {**row, **placed}


def _order(choices: Sequence[str], infos: Sequence[tuple[str, str]]) -> list[int] | None:
    """The choice of each option: UNKNOWN's is its filler, a person's contains the filler."""
    unknown = [option for option, (_, label) in enumerate(infos) if label == UNKNOWN_LABEL]
    if len(choices) != OPTIONS or len(unknown) != 1:
        return None
    unknown_text = plain(infos[unknown[0]][0])
    same = [choice for choice, text in enumerate(choices) if plain(text) == unknown_text] or [
        choice for choice, text in enumerate(choices) if plain(text) in _UNKNOWN
    ]
    if len(same) != 1:
        return None
    (unknown_place,), (unknown_choice,) = unknown, same
    fits = [
        list(order)
        for order in permutations(range(OPTIONS))
        if order[unknown_place] == unknown_choice
        and all(p == unknown_place or plain(infos[p][0]) in plain(choices[c]) for p, c in enumerate(order))
    ]
    return fits[0] if len(fits) == 1 else None
