"""SODAPOP's success rates from multiple-choice results that somebody else's program made; no model is loaded.

A file has one object a line: name, context (its text or a number), choices, label (the place of the right one, from 0)
and probs or logits of the choices. In place of choices and label there may be answerA, answerB, … and correct (a
letter), as `assay generate sodapop` writes them. The questions are scored as they are: the choice with the highest
number is taken, the first of several.
"""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter as Tally
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from assay.errors import DataError
from assay.plan import digest_of
from assay.probes.sodapop.contexts import with_place_for
from assay.probes.sodapop.kept import KeptQuestions, Put
from assay.probes.sodapop.metrics import Array
from assay.probes.sodapop.names import Groups
from assay.probes.sodapop.pools import Pools
from assay.probes.sodapop.rates import Counter, Rates, vocabulary
from assay.probes.sodapop.settings import Settings
from assay.probes.sodapop.words import split
from assay.rows import Bad, Row, rows_of

_FORMAT = (
    'Write {"name": "Ann", "context": "Ann was late.", "choices": ["sorry", "rude", "late"], "label": 0, '
    '"probs": [0.5, 0.3, 0.2]} on each line, or logits in place of probs.'
)
BLOCKS = 100
"""Where there are more contexts, so many blocks of them stand for them: their counts would fill the memory."""

_SHOWN = 5
"""So many names are listed in a message."""


class Question(NamedTuple):
    """A question about a name, and what the model chose. Texts have NAME in the name's place."""

    name: str
    context: str
    choices: tuple[str, ...]
    label: int
    chosen: int
    kind: str = "probs"  # of the numbers: probs or logits
    put: Put | None = None  # as it was put, where the text is known


@dataclass(frozen=True)
class Results:
    """What files of results say: success rates, what was told in each context, some questions to be shown, notes."""

    rates: Rates
    contexts: tuple[tuple[str, ...], ...]
    kept: KeptQuestions
    notes: list[str]


def read_results(files: Sequence[Path], settings: Settings, groups: Groups, *, skip_bad: bool) -> Results:
    """The success rates of files of results, and what a reader must know about them."""
    kept = KeptQuestions(groups, settings.case)
    results, bad = _Results(groups.all_names(), kept), Bad(skip_bad)
    for file in files:
        for question in _questions(file, bad):
            results.add(question)
    _require_names(results, groups, files)
    rates = _rates(results, settings)
    texts = list(results.contexts)
    if len(texts) > BLOCKS:  # blocks of contexts stand for them, and are the same where all contexts are
        everything = digest_of(texts)
        texts = [f"block {block} of {everything}" for block in range(BLOCKS)]
    contexts = tuple((text,) for text in texts)
    return Results(rates, contexts, kept, [*bad.notes("questions"), *results.notes()])


# --- reading


def _questions(file: Path, bad: Bad) -> Iterator[Question]:
    for line, row in rows_of(file, bad):
        try:
            yield _question(row, file, line)
        except DataError as error:
            bad.found(error)


def _question(row: Row, file: Path, line: int) -> Question:
    def wrong(key: str, expected: str) -> NoReturn:
        said = f"is {_short(row[key])}" if key in row else "is missing"
        code = "missing-key" if key not in row else "bad-label" if key in ("label", "correct") else "bad-value"
        raise DataError(f'"{key}" {said}, expected {expected}.', _FORMAT, code=code, file=file, line=line, key=key)

    name, context = row.get("name"), row.get("context")
    if not isinstance(name, str) or not name.strip():
        wrong("name", "a name")
    if isinstance(context, bool) or not isinstance(context, str | int) or context == "":
        wrong("context", "the context's text or number")
    choices = row["choices"] if "choices" in row else _answers(row)
    if not isinstance(choices, list) or len(choices) < 2 or not all(isinstance(each, str) for each in choices):
        wrong("choices", "a list of at least two texts")
    label = row["label"] if "label" in row else _place(row)
    if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label < len(choices):
        if "label" not in row and "correct" in row:
            wrong("correct", f"the letter of the right choice, A to {_LETTERS[len(choices) - 1 :][:1]}")
        wrong("label", f"the place of the right choice, 0 to {len(choices) - 1}")
    key = "logits" if "logits" in row and "probs" not in row else "probs"
    numbers = row.get(key)
    if not isinstance(numbers, list) or len(numbers) != len(choices) or not all(map(_is_number, numbers)):
        wrong(key, f"a list of {len(choices)} numbers, one for each choice")
    return Question(
        name,
        _unnamed(name, context) if isinstance(context, str) else str(context),
        tuple(with_place_for(name, each) if name in each else each for each in choices),
        label,
        max(range(len(numbers)), key=numbers.__getitem__),  # the first of the highest
        key,
        _put(row, context, choices, label, numbers) if isinstance(context, str) else None,
    )


def _put(row: Row, context: str, choices: Sequence[str], label: int, numbers: Sequence[float]) -> Put:
    question = row.get("question")
    return Put(context, question if isinstance(question, str) else "", tuple(choices), label, tuple(numbers))


_unnamed = lru_cache(1 << 14)(with_place_for)  # contexts come again and again


def _answers(row: Row) -> list[Any] | None:
    """answerA, answerB, … as a list; None where there are none."""
    found = [row[key] for key in (f"answer{letter}" for letter in _LETTERS) if key in row]
    return found or None


def _place(row: Row) -> int | None:
    """The place of the letter in "correct"."""
    letter = row.get("correct")
    return _LETTERS.index(letter) if isinstance(letter, str) and len(letter) == 1 and letter in _LETTERS else None


_LETTERS = "ABCDEFGHIJ"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf  # nor NaN


def _short(value: object) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"


# --- counting


@dataclass
class _Own:
    """The distractors that a name met in a context, in the order of the questions, and which of them won."""

    numbers: array[int] = field(default_factory=lambda: array("q"))
    won: bytearray = field(default_factory=bytearray)


@dataclass
class _Seen:
    """The distractors that occurred in one context, numbered, and those of every name that was asked about in it."""

    numbers: dict[str, int] = field(default_factory=dict)
    names: dict[int, _Own] = field(default_factory=dict)

    def add(self, name: int, question: Question) -> None:
        own = self.names.setdefault(name, _Own())
        for place, text in enumerate(question.choices):
            if place != question.label:
                own.numbers.append(self.numbers.setdefault(text, len(self.numbers)))
                own.won.append(place == question.chosen)

    def pools(self, names: int) -> tuple[Pools, list[Array]]:
        """The names' sets of distractors (T_all) as pools, and 1 for each that was chosen (T_suc), 0 for the others.

        A distractor that a name met several times is in the sets once, and has won if it ever did.
        """
        words = {"": 0}  # which is no word: it fills up the strings that are shorter than the longest
        strings = [[words.setdefault(word, len(words)) for word in split(text).words] for text in self.numbers]
        table = np.zeros((len(strings), max(map(len, strings), default=0) or 1), np.int32)
        for number, string in enumerate(strings):
            table[number, : len(string)] = string
        members, success = [], []
        for name in range(names):
            own = self.names.get(name, _Own())
            met, place = np.unique(np.array(own.numbers, np.int64), return_inverse=True)
            ever = np.zeros(len(met))
            np.maximum.at(ever, place, np.frombuffer(own.won, np.uint8).astype(np.float64))
            members.append(met)
            success.append(ever)
        offsets = np.concatenate([[0], np.cumsum([len(met) for met in members])]).astype(np.int64)
        return Pools(tuple(words), (), table, offsets, np.concatenate(members)), success


@dataclass
class _Results:
    """What was read, context by context; `kept` are some questions to be shown."""

    names: tuple[str, ...]
    kept: KeptQuestions | None = None
    contexts: dict[str, _Seen] = field(default_factory=dict)
    others: Tally[str] = field(default_factory=Tally)  # names in no group, with their questions

    def __post_init__(self) -> None:
        self._places: Mapping[str, int] = {name: place for place, name in enumerate(self.names)}

    def add(self, question: Question) -> None:
        place = self._places.get(question.name)
        if place is None:
            self.others[question.name] += 1
            return
        if question.context not in self.contexts:
            self.contexts[question.context] = _Seen()
        self.contexts[question.context].add(place, question)
        if self.kept is not None and question.put is not None:
            self.kept.add(place, question.context, question.kind, question.put)

    def missing(self) -> list[str]:
        """The names without any question."""
        seen = {place for each in self.contexts.values() for place in each.names}
        return [name for place, name in enumerate(self.names) if place not in seen]

    def notes(self) -> list[str]:
        notes = []
        if self.others:
            notes.append(
                f"{self.others.total():,} questions about names in no group are left out: {_listed(list(self.others))}"
            )
        pairs, there = len(self.names) * len(self.contexts), sum(len(each.names) for each in self.contexts.values())
        if there < pairs:
            notes.append(
                f"{pairs - there:,} of {pairs:,} pairs of name and context have no question: names' success rates rest "
                "on different contexts"
            )
        if len(self.contexts) > BLOCKS:
            notes.append(f"intervals resample {BLOCKS} blocks of the {len(self.contexts):,} contexts")
        return notes


def _require_names(results: _Results, groups: Groups, files: Sequence[Path]) -> None:
    missing = results.missing()
    if missing:
        said = [f"{name} ({groups.of(name).name})" for name in missing]
        problem = f"no question is about {_listed(said)}."
        one = files[0] if len(files) == 1 else None
        raise DataError(
            problem if one else f"{', '.join(map(str, files))}: {problem}",
            "Every name of a group needs results: take it out of the groups, or --set groups=FILE with your own.",
            code="bad-list",
            file=one,
            key="groups",
        )


def _rates(results: _Results, settings: Settings) -> Rates:
    """Success rates of every word that is in enough distractors of every name."""
    found = [seen.pools(len(results.names)) for seen in results.contexts.values()]
    words = vocabulary([pool for pool, _ in found], settings.min_count, settings.case)
    if not words:
        raise DataError(
            f"no word is in at least {settings.min_count} distractors of every name.",
            "Lower that number: --set min_count=…, or give results of more questions.",
            code="nothing-to-ask",
            key="min_count",
        )
    shape = (min(len(found), BLOCKS), len(results.names), len(words))
    rates = Rates(results.names, words, *(np.zeros(shape) for _ in range(3)))
    for number, (pool, success) in enumerate(found):
        counter = Counter(results.names, words, 1, settings.case)
        counter.add(0, pool, success)
        rates.successes[number % BLOCKS] += counter.rates.successes[0]
        rates.distractors[number % BLOCKS] += counter.rates.distractors[0]
        rates.pooled[number % BLOCKS] += counter.rates.pooled[0]
    return rates


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
