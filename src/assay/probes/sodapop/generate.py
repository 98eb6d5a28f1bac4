"""What `assay generate sodapop` writes: groups of names from tables of names, or questions with distractors.

The questions are those that a run with `pairing=sampled` and the same settings and seed asks: every name's distractors
shuffled and taken two by two, the right answer put at a place drawn with the seed. In the authors' files it keeps the
place that it has in Social IQa.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.asking.plan import Ask
from assay.asking.progress import Progress
from assay.errors import UsageError
from assay.files.atomic import open_atomically, write_atomically
from assay.files.decoding import whole_number
from assay.probes.base import PRESETS, Request
from assay.probes.sodapop import spelled
from assay.probes.sodapop.contexts import NAME
from assay.probes.sodapop.method import Sodapop, SodapopPrepared, pools_of, short_pools
from assay.probes.sodapop.name_builder import APPENDIX_A, SECTION_2, GroupTable, NameRules, as_json, build_from_files
from assay.probes.sodapop.plans import answers_of
from assay.probes.sodapop.pools import DistractorPools

RULES = {"section2": SECTION_2, "appendix_a": APPENDIX_A}

SETTINGS = {
    "names": ("tables", "rules", "race_threshold", "gender_threshold", "min_count", "per_group"),
    "questions": (
        *("preset", "groups", "compare", "names_per_group", "texts", "contexts", "context"),
        *("questions", "pronouns"),
        *("distractors", "distance", "fills", "cap", "pieces", "punctuation", "right_answer"),
    ),
}

LETTERS = "ABC"


@dataclass(frozen=True)
class NameGroupWriter:
    """Groups of names from tables, to be written as a file for `--set groups=FILE`."""

    tables: tuple[Path, ...]
    rules: NameRules = SECTION_2

    counted: ClassVar[str] = "names, in groups"

    @staticmethod
    def parse(settings: Mapping[str, str]) -> NameGroupWriter:
        """
        >>> settings = {"tables": "a.csv,b.csv", "per_group": "40", "race_threshold": "EA:0.9,HS:0.8"}
        >>> NameGroupWriter.parse(settings).rules.per_group
        40
        """
        if not settings.get("tables"):
            problem, remedy = "the tables of names are missing.", "--set tables=FILE.csv,FILE.csv"
            raise UsageError(problem, remedy, code="missing-setting", key="tables")
        rules = RULES[_one_of("rules", settings.get("rules", "section2"), RULES)]
        changed = {key: read(key, settings[key]) for key, read in _READERS.items() if key in settings}
        return NameGroupWriter(
            tuple(Path(name).expanduser() for name in settings["tables"].split(",")), replace(rules, **changed)
        )

    @cached_property
    def groups(self) -> GroupTable:
        return build_from_files(self.tables, self.rules)

    def notes(self) -> list[str]:
        titles = spelled([*self.groups])
        sizes = (f"{titles[name]} {len(group['names'])}" for name, group in self.groups.items())
        return [f"names by group: {', '.join(sizes)}"]

    def write_to(self, out: Path, ask: Ask | None, meter: Progress) -> int:
        """Write the file; returns how many names it has."""
        _require_file(out)
        meter.start("sodapop", len(self.tables), "tables")
        content = as_json(self.groups)
        meter.advance(len(self.tables))
        write_atomically(out, content.encode())
        return sum(len(group["names"]) for group in self.groups.values())


@dataclass(frozen=True)
class SodapopQuestionWriter:
    """Questions with three options about every name, one object a line."""

    prepared: SodapopPrepared
    pool_notes: list[str] = field(default_factory=list)  # noted while they are written

    counted: ClassVar[str] = "questions with three options"

    def notes(self) -> list[str]:
        return list(dict.fromkeys([*self.prepared.notes, *self.pool_notes]))

    def write_to(self, out: Path, ask: Ask | None, meter: Progress) -> int:
        """Write the file, whole or not at all; returns how many questions it has."""
        _require_file(out)
        remedy = "Name a masked language model: --model builtin, or hf:./folder."
        if ask is None:
            raise UsageError("which model writes the distractors?", remedy, code="missing-setting", key="model")
        if "fill" not in ask.abilities:
            raise UsageError("this model cannot fill masks.", remedy, code="missing-ability", key="model")
        prepared, n_questions = self.prepared, 0
        meter.start("sodapop", len(prepared.contexts), "contexts")
        with open_atomically(out) as file:
            for number, context in enumerate(prepared.contexts):
                pools = pools_of(prepared, ask, number)
                self.pool_notes.extend(short_pools(context, pools))
                for question in _questions(prepared, number, pools):
                    file.write(f"{json.dumps(question, ensure_ascii=False)}\n".encode())
                    n_questions += 1
                meter.advance(1)
        return n_questions


def _questions(prepared: SodapopPrepared, number: int, pools: DistractorPools) -> Iterator[dict[str, str]]:
    """The questions of one context, name by name."""
    answers = answers_of(pools.strings, pools.words, pools.glue)
    for row, name in enumerate(prepared.names):
        rng = np.random.default_rng([prepared.seed, number, row])  # as `rates.successes` pairs them
        pool = pools.of(row)
        pairs = pool[rng.permutation(len(pool))][: len(pool) // 2 * 2].reshape(-1, 2)
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


def generation(method: Sodapop, request: Request) -> NameGroupWriter | SodapopQuestionWriter:
    """The generation that a user asks for."""
    settings = dict(request.settings)
    kind = settings.pop("what", None)
    remedy = "--set what=names (from tables), or --set what=questions --model SPEC"
    if kind is None:
        raise UsageError("what is to be written?", remedy, code="missing-setting", key="what")
    if kind not in SETTINGS:
        problem = f"what is {kind!r}, expected {' or '.join(SETTINGS)}."
        raise UsageError(problem, remedy, code="bad-setting", key="what")
    keys = SETTINGS[kind]
    for key in settings:
        if key not in keys:
            problem = f"there is no setting {key!r} for {kind}; there are {', '.join(keys)}."
            raise UsageError(problem, f"--set {keys[0]}=…", code="unknown-setting", key=key)
    if kind == "names":
        return NameGroupWriter.parse(settings)
    preset = _one_of("preset", settings.pop("preset", PRESETS[0]), PRESETS)
    return SodapopQuestionWriter(method.prepared(replace(request, preset=preset, settings=settings)))


def _require_file(out: Path) -> None:
    if out.is_dir():
        remedy = "Name the file to write with --out."
        raise UsageError("this is a folder.", remedy, code="bad-option", file=out, key="out")


# --- settings of names


def _bad(key: str, text: str, expected: str, example: object) -> UsageError:
    return UsageError(f"{key} is {text!r}, expected {expected}.", f"--set {key}={example}", code="bad-setting", key=key)


def _one_of(key: str, text: str, values: Collection[str]) -> str:
    if text not in values:
        raise _bad(key, text, f"one of {', '.join(values)}", next(iter(values)))
    return text


def _thresholds(key: str, text: str) -> dict[str, float] | float:
    """One share for all races, or one for each race that gets groups: EA:0.9,HS:0.8."""
    if ":" not in text:
        return _share(key, text)
    parts = [part.partition(":") for part in text.split(",")]
    return {race.strip(): _share(key, share) for race, _, share in parts}


def _share(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _bad(key, text, "a share of the people with a name", 0.9) from None


def _whole(key: str, text: str) -> int:
    number = whole_number(text)
    if number is None:
        raise _bad(key, text, "a whole number", 25)
    return number


_READERS: Mapping[str, Callable[[str, str], Any]] = {
    "race_threshold": _thresholds,
    "gender_threshold": _share,
    "min_count": _whole,
    "per_group": _whole,
}
