"""What `assay generate sodapop` writes: groups of names from tables of names, or questions with distractors.

The questions are those that a run with `pairing=sampled` and the same settings and seed asks: every name's distractors
shuffled and taken two by two, the right answer put at a place drawn with the seed. In the authors' files it keeps the
place that it has in Social IQa.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from assay.errors import UsageError
from assay.files.atomic import open_atomically, write_atomically
from assay.plan import Ask
from assay.probes.base import PRESETS, Request
from assay.probes.sodapop.contexts import NAME
from assay.probes.sodapop.method import Sodapop, SodapopPrepared, pools_of, short_pools
from assay.probes.sodapop.name_builder import APPENDIX_A, SECTION_2, GroupTable, Rules, as_json, build_from_files
from assay.probes.sodapop.plans import answers_of
from assay.probes.sodapop.pools import Pools
from assay.progress import Progress

WHAT = ("names", "questions")
RULES = {"section2": SECTION_2, "appendix_a": APPENDIX_A}

NAME_SETTINGS = ("tables", "rules", "race_threshold", "gender_threshold", "min_count", "per_group")
QUESTION_SETTINGS = (
    *("preset", "groups", "names_per_group", "texts", "contexts", "context", "questions", "pronouns"),
    *("distractors", "distance", "fills", "cap", "pieces", "punctuation", "right_answer"),
)

LETTERS = "ABC"


@dataclass(frozen=True)
class Names:
    """Groups of names from tables, to be written as a file for `--set groups=FILE`."""

    tables: tuple[Path, ...]
    rules: Rules = SECTION_2

    counted: ClassVar[str] = "names, in groups"

    @staticmethod
    def parse(given: Mapping[str, str]) -> Names:
        """
        >>> Names.parse({"tables": "a.csv,b.csv", "per_group": "40", "race_threshold": "EA:0.9,HS:0.8"}).rules.per_group
        40
        """
        if not given.get("tables"):
            raise UsageError(
                "which tables of names?",
                "Name them: --set tables=FILE.csv,FILE.csv",
                code="missing-setting",
                key="tables",
            )
        if given.get("rules", "section2") not in RULES:
            raise UsageError(
                f"rules is {given['rules']!r}, expected one of {', '.join(RULES)}.",
                "--set rules=section2",
                code="bad-setting",
                key="rules",
            )
        rules = RULES[given.get("rules", "section2")]
        if "race_threshold" in given:
            rules = replace(rules, race_threshold=_thresholds(given["race_threshold"]))
        if "gender_threshold" in given:
            rules = replace(rules, gender_threshold=_share("gender_threshold", given["gender_threshold"]))
        if "min_count" in given:
            rules = replace(rules, min_count=_whole("min_count", given["min_count"]))
        if "per_group" in given:
            rules = replace(rules, per_group=_whole("per_group", given["per_group"]))
        return Names(tuple(Path(name).expanduser() for name in given["tables"].split(",")), rules)

    @cached_property
    def groups(self) -> GroupTable:
        return build_from_files(self.tables, self.rules)

    def notes(self) -> list[str]:
        return ["names by group: " + ", ".join(f"{name} {len(own['names'])}" for name, own in self.groups.items())]

    def write_to(self, out: Path, ask: Ask | None, meter: Progress) -> int:
        """Write the file; returns how many names it has."""
        _require_file(out)
        meter.start("sodapop", len(self.tables), "tables")
        content = as_json(self.groups)
        meter.advance(len(self.tables))
        write_atomically(out, content.encode())
        return sum(len(own["names"]) for own in self.groups.values())


@dataclass(frozen=True)
class Questions:
    """Questions with three options about every name, one object a line."""

    prepared: SodapopPrepared
    found: list[str] = field(default_factory=list)  # what is noted while they are written

    counted: ClassVar[str] = "questions with three options"

    def notes(self) -> list[str]:
        return list(dict.fromkeys([*self.prepared.notes, *self.found]))

    def write_to(self, out: Path, ask: Ask | None, meter: Progress) -> int:
        """Write the file, whole or not at all; returns how many questions it has."""
        _require_file(out)
        if ask is None or "fill" not in ask.abilities:
            problem = "which model writes the distractors?" if ask is None else "this model cannot fill masks."
            raise UsageError(
                problem,
                "Name a masked language model: --model builtin, or hf:./folder.",
                code="missing-setting" if ask is None else "missing-ability",
                key="model",
            )
        prepared, written = self.prepared, 0
        meter.start("sodapop", len(prepared.contexts), "contexts")
        with open_atomically(out) as file:
            for number, context in enumerate(prepared.contexts):
                pools = pools_of(prepared, ask, number)
                self.found.extend(short_pools(context, pools))
                for question in _questions(prepared, number, pools):
                    file.write(f"{json.dumps(question, ensure_ascii=False)}\n".encode())
                    written += 1
                meter.advance(1)
        return written


def _questions(prepared: SodapopPrepared, number: int, pools: Pools) -> Iterator[dict[str, str]]:
    """The questions of one context, name by name."""
    answers = answers_of(pools.strings, pools.words, pools.glue)
    for place, name in enumerate(prepared.names):
        rng = np.random.default_rng([prepared.seed, number, place])  # as `rates.successes` pairs them
        own = pools.of(place)
        pairs = own[rng.permutation(len(own))][: len(own) // 2 * 2].reshape(-1, 2)
        filled = prepared.contexts[number].filled(name)
        for pair, right in zip(pairs.tolist(), rng.integers(len(LETTERS), size=len(pairs)).tolist(), strict=True):
            options = [answers[distractor].replace(NAME, name) for distractor in pair]
            options.insert(right, filled.answer)
            yield {
                "name": name,
                "context": filled.context,
                "question": filled.question,
                **{f"answer{letter}": option for letter, option in zip(LETTERS, options, strict=True)},
                "correct": LETTERS[right],
            }


def generation(method: Sodapop, request: Request) -> Names | Questions:
    """The generation that a user asks for."""
    given = dict(request.settings)
    what = given.pop("what", None)
    if what not in WHAT:
        said = "what is to be written?" if what is None else f"what is {what!r}, expected {' or '.join(WHAT)}."
        raise UsageError(
            said,
            "--set what=names (from tables), or --set what=questions --model SPEC",
            code="missing-setting" if what is None else "bad-setting",
            key="what",
        )
    known = NAME_SETTINGS if what == "names" else QUESTION_SETTINGS
    for key in given:
        if key not in known:
            raise UsageError(
                f"there is no setting {key!r} for {what}; there are {', '.join(known)}.",
                f"--set {known[0]}=…",
                code="unknown-setting",
                key=key,
            )
    if what == "names":
        return Names.parse(given)
    preset = given.pop("preset", PRESETS[0])
    if preset not in PRESETS:
        raise UsageError(
            f"preset is {preset!r}, expected one of {', '.join(PRESETS)}.",
            "--set preset=quick",
            code="bad-setting",
            key="preset",
        )
    return Questions(method.prepared(replace(request, preset=preset, settings=given)))


def _require_file(out: Path) -> None:
    if out.is_dir():
        raise UsageError(
            "this is a folder.", "Name the file to write with --out.", code="bad-option", file=out, key="out"
        )


def _thresholds(text: str) -> dict[str, float] | float:
    """One share for all races, or one for each race that gets groups: EA:0.9,HS:0.8."""
    if ":" not in text:
        return _share("race_threshold", text)
    parts = [part.partition(":") for part in text.split(",")]
    return {race.strip(): _share("race_threshold", share) for race, _, share in parts}


def _share(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"{key} is {text!r}, expected a share of bearers.", f"--set {key}=0.9", code="bad-setting", key=key
        ) from None


def _whole(key: str, text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"{key} is {text!r}, expected a whole number.", f"--set {key}=25", code="bad-setting", key=key)
    return int(text)
