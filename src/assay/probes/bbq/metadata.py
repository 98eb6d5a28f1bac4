"""What the authors publish beside BBQ's files: additional_metadata.csv, and the templates' stereotypes.

Its `target_loc` changed its meaning in July 2022: before, it was the option that names the stereotyped person; since
then, the option that counts as biased, which for a non-negative question is the other person. The file's description
still has the old meaning, so the rows themselves decide: in a quartet the old one is the same in all four examples.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.files.opening import open_text
from assay.probes.bbq.examples import NON_NEGATIVE, OPTIONS, Example, no_target
from assay.queries import NONE

PERSON, BIASED = "person", "biased"

_NEEDED = ("category", "question_index", "example_id", "target_loc", "label_type", "Relevant_social_values")
_LOCATIONS = {"": NONE, "NA": NONE, **{str(place): place for place in range(OPTIONS)}}


@dataclass(frozen=True)
class Metadata:
    """The rows of additional_metadata.csv that somebody needs, by (category, example_id) or (category, question)."""

    target_loc: Mapping[tuple[str, int], int] = field(default_factory=dict)
    named: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    stereotypes: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def meaning(self) -> str:
        """What target_loc means in this file, from examples 4k and 4k + 2: the same question, asked the other way."""
        pairs = [
            (loc, self.target_loc[category, row + 2])
            for (category, row), loc in self.target_loc.items()
            if row % 4 == 0 and (category, row + 2) in self.target_loc
        ]
        return PERSON if sum(one == other for one, other in pairs) * 2 > len(pairs) else BIASED

    def targets(self, examples: list[Example], meaning: str) -> NDArray[np.int8]:
        """The target option of every example, NONE where the file gives none."""
        meant = self.meaning() if meaning == "auto" else meaning
        targets = no_target(len(examples))
        for row, example in enumerate(examples):
            loc = self.target_loc.get((example.category, example.example_id), NONE)
            if loc == NONE or loc == example.unknown:
                continue
            swapped = meant == BIASED and example.polarity == NON_NEGATIVE
            targets[row] = sum(range(OPTIONS)) - loc - example.unknown if swapped else loc
        return targets


def read_metadata(path: Path) -> Metadata:
    """The authors' additional_metadata.csv; a row that is there twice may not contradict itself."""
    target_loc: dict[tuple[str, int], int] = {}
    named: dict[tuple[str, int], bool] = {}
    stereotypes: dict[tuple[str, str], str] = {}
    with open_text(path) as file:
        reader = csv.DictReader(file)
        missing = [name for name in _NEEDED if name not in (reader.fieldnames or ())]
        if missing:
            raise DataError(
                f"the column {missing[0]} is missing.",
                "Expected the authors' additional_metadata.csv; `assay data fetch bbq` gets it.",
                code="missing-key",
                file=path,
                line=1,
                key=missing[0],
            )
        for row in reader:
            told = row["target_loc"] or ""
            loc = _LOCATIONS.get(told)
            key = row["category"], int(row["example_id"]) if (row["example_id"] or "").isdecimal() else NONE
            if loc is None or key[1] == NONE or target_loc.get(key, loc) != loc:
                raise DataError(
                    f"target_loc is {told!r}, expected 0, 1, 2 or NA, the same in every row of an example_id.",
                    "Get the file again with `assay data fetch bbq`.",
                    code="bad-value",
                    file=path,
                    line=reader.line_num,
                    key="target_loc",
                )
            target_loc[key] = loc
            named[key] = row["label_type"] == "name"
            stereotypes[row["category"], row["question_index"]] = row["Relevant_social_values"]
    return Metadata(target_loc, named, stereotypes)


def template_stereotypes(folder: Path, categories: Iterable[str]) -> dict[tuple[str, str], str]:
    """What each template is about, from the authors' template files where they lie beside the data."""
    found = {}
    for category in categories:
        path = folder / f"new_templates - {category}.csv"
        if path.is_file():
            with open_text(path) as file:
                for row in csv.DictReader(file):
                    found[category, str(row.get("Q_id", "")).strip()] = str(row.get("Relevant_social_values") or "")
    return {template: about.strip() for template, about in found.items()}
