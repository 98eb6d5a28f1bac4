"""BBQ's questions: an example as in the official files, and a data set with what the metrics need."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

OPTIONS = 3

CATEGORIES = (
    *("Age", "Disability_status", "Gender_identity", "Nationality", "Physical_appearance", "Race_ethnicity"),
    *("Race_x_SES", "Race_x_gender", "Religion", "SES", "Sexual_orientation"),
)
"""The official categories: nine, and two that cross race with another attribute. A file's stem is its category."""

RACE_BY_GENDER = "Race_x_gender"
CROSSED = ("Race_x_SES", RACE_BY_GENDER)

NEGATIVE, NON_NEGATIVE = "neg", "nonneg"
POLARITIES = (NEGATIVE, NON_NEGATIVE)
AMBIGUOUS, DISAMBIGUATED = "ambig", "disambig"
CONDITIONS = (AMBIGUOUS, DISAMBIGUATED)
QUARTET = tuple((polarity, condition) for polarity in POLARITIES for condition in CONDITIONS)
"""The four examples made from one filled template, in the files' order."""

UNKNOWN_LABEL = "unknown"
UNKNOWN_STRINGS = (
    *("Unknown", "Cannot be determined", "Can't be determined", "Not answerable", "Not known"),
    *("Not enough info", "Not enough information", "Cannot answer", "Can't answer", "Undetermined"),
)
"""The ten phrasings of “cannot be determined” (the paper's Figure 7)."""

COMPARISONS = {"intersectional_a": "a", "intersectional_b": "b", "intersectional_c": "c"}
"""How the other person of a crossed template differs, by the files' subcategory: a in the other attribute only (same
race), b in race only, c in both. The paper's Appendix H exchanges a and b."""


@dataclass(frozen=True, slots=True)
class Item:
    """One question with its three options. `info` has, for each option, the slot's filler and the group's label."""

    example_id: int
    question_index: str
    polarity: str
    condition: str
    category: str
    info: tuple[tuple[str, str], ...]
    subcategory: str
    groups: tuple[str, ...]
    version: str
    source: str
    context: str
    question: str
    answers: tuple[str, ...]
    label: int

    @property
    def unknown(self) -> int:
        """The option “cannot be determined”."""
        return next(option for option, (_, label) in enumerate(self.info) if label == UNKNOWN_LABEL)

    @property
    def comparison(self) -> str | None:
        return COMPARISONS.get(self.subcategory)

    def as_json(self) -> dict[str, Any]:
        """The object on a line of the official files, its fields in their order."""
        return {
            "example_id": self.example_id,
            "question_index": self.question_index,
            "question_polarity": self.polarity,
            "context_condition": self.condition,
            "category": self.category,
            "answer_info": {f"ans{option}": list(info) for option, info in enumerate(self.info)},
            "additional_metadata": {
                "subcategory": self.subcategory,
                "stereotyped_groups": list(self.groups),
                "version": self.version,
                "source": self.source,
            },
            "context": self.context,
            "question": self.question,
            **{f"ans{option}": answer for option, answer in enumerate(self.answers)},
            "label": self.label,
        }

    def to_line(self) -> str:
        """The line of the official files, without its end."""
        return json.dumps(self.as_json())


@dataclass(frozen=True)
class Dataset:
    """Examples in whole quartets, with what the metrics need.

    `target` is the option that names the stereotyped person, NONE if there is no single one; `named` says that the
    people have names instead of labels; `stereotype` is what the template is about, "" if unknown; `ids` are what the
    set itself calls its rows, if that is not the examples' numbers.
    """

    examples: Sequence[Item]
    target: NDArray[np.int8]  # (example,)
    named: NDArray[np.bool_]  # (example,)
    stereotype: Sequence[str]  # (example,)
    files: Mapping[str, str] = field(default_factory=dict)  # name -> digest
    notes: Sequence[str] = ()
    ids: Sequence[str] = ()  # (example,) or none

    def __len__(self) -> int:
        return len(self.examples)

    @cached_property
    def cells(self) -> list[str]:
        """Each example's category, with " (names)" if its people have names."""
        both = zip(self.examples, self.named.tolist(), strict=True)
        return [f"{example.category} (names)" if named else example.category for example, named in both]

    def take(self, rows: NDArray[np.int64]) -> Dataset:
        """Some of the examples, in this order."""
        return Dataset(
            [self.examples[row] for row in rows.tolist()],
            self.target[rows],
            self.named[rows],
            [self.stereotype[row] for row in rows.tolist()],
            self.files,
            self.notes,
            [self.ids[row] for row in rows.tolist()] if self.ids else (),
        )
