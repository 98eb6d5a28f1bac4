"""SODAPOP's success rates from multiple-choice results of another program; no model is loaded.

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
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from assay.asking.plan import digest_of
from assay.errors import DataError
from assay.files.rows import BadRows, Row, Selection, read_rows, require_any
from assay.probes.base import Request
from assay.probes.sodapop import spelled
from assay.probes.sodapop.choose_examples import NAMES, WrongAnswer, WrongAnswers, options_of
from assay.probes.sodapop.contexts import NAME, with_place_for
from assay.probes.sodapop.diagnose import LETTERS, PositionCounter
from assay.probes.sodapop.method import SodapopAnswers
from assay.probes.sodapop.metrics import Array
from assay.probes.sodapop.names import NameGroups
from assay.probes.sodapop.pools import DistractorPools
from assay.probes.sodapop.rates import SuccessCounter, SuccessRates, vocabulary
from assay.probes.sodapop.settings import SodapopSettings
from assay.probes.sodapop.split_words import said, split
from assay.results.examples import AskedQuestion

_FORMAT = (
    'Write {"name": "Ann", "context": "Ann was late.", "choices": ["sorry", "rude", "late"], "label": 0, '
    '"probs": [0.5, 0.3, 0.2]} on each line, or logits in place of probs.'
)
BLOCKS = 100
"""More contexts than this are grouped into this many blocks: their counts would not fit into memory."""

_SHOWN = 5
"""So many names are listed in a message."""


class ScoredQuestion(NamedTuple):
    """A question about a name, and the model's number for each choice."""

    name: str
    context: str  # its text, or its number
    unnamed: str  # the same with NAME in the name's place
    question: str
    choices: tuple[str, ...]
    label: int
    numbers: tuple[float, ...]
    kind: str  # of the numbers: probs or logits


def read_results(
    files: Sequence[Path], settings: SodapopSettings, groups: NameGroups, request: Request
) -> tuple[SodapopAnswers, list[str]]:
    """The success rates of files of results, and what a reader must know about them."""
    examples, bad, names = KeptQuestions(groups, settings.case), BadRows(request.skip_bad), groups.all_names()
    bad.selection = Selection(request.only)
    rows = {name: row for row, name in enumerate(names)}
    seen: dict[str, _ContextDistractors] = {}  # by context
    others: Tally[str] = Tally()  # names in no group, with their questions
    positions = PositionCounter()
    for file in files:
        questions = _questions(file, bad, request.labels_from)
        for question in require_any(questions, file, "question that can be used", _FORMAT):
            row = rows.get(question.name)
            if row is None:
                others[question.name] += 1
            else:
                seen.setdefault(question.unnamed, _ContextDistractors()).add(row, question)
                examples.add(row, question)
                positions.add(row, question.unnamed, question.label, question.numbers)
    _require_names({row for context in seen.values() for row in context.names}, groups, files)
    seen = dict(sorted(seen.items()))  # the order of the rows decides nothing
    examples.settle()
    rates = _rates(list(seen.values()), names, settings)
    texts = list(seen)
    if len(texts) > BLOCKS:  # blocks of contexts stand for them, and are the same where all contexts are
        everything = digest_of(texts)
        texts = [f"block {block} of {everything}" for block in range(BLOCKS)]
    contexts = tuple((text,) for text in texts)
    answers = SodapopAnswers(rates, groups, contexts, examples, request.seed, placed=positions)
    return answers, [*bad.notes("questions"), *_notes(seen.values(), len(names), others)]


def _notes(seen: Collection[_ContextDistractors], names: int, others: Tally[str]) -> list[str]:
    pairs, n_seen = names * len(seen), sum(len(context.names) for context in seen)
    often = sorted(others, key=lambda name: (-others[name], name))
    conditions = {
        f"{others.total():,} questions about names in no group are left out: {_listed(often)}": others,
        f"{pairs - n_seen:,} of {pairs:,} pairs of name and context have no question: names' success rates come "
        "from different contexts": n_seen < pairs,
        f"intervals resample {BLOCKS} blocks of the {len(seen):,} contexts": len(seen) > BLOCKS,
    }
    return [note for note, holds in conditions.items() if holds]


def _require_names(rows: Set[int], groups: NameGroups, files: Sequence[Path]) -> None:
    """Raise DataError if a name of a group has no question."""
    missing = [name for row, name in enumerate(groups.all_names()) if row not in rows]
    if missing:
        names = spelled([group.name for group in groups.groups])
        problem = f"no question is about {_listed([f'{name} ({names[groups.of(name).name]})' for name in missing])}."
        only_file = files[0] if len(files) == 1 else None
        problem = problem if only_file else f"{', '.join(map(str, files))}: {problem}"
        remedy = (
            "Every name of a group needs results: remove it from the groups, or pass your own with --set groups=FILE."
        )
        raise DataError(problem, remedy, code="bad-list", file=only_file, key="groups")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


# --- reading


def _questions(file: Path, bad: BadRows, first: int) -> Iterator[ScoredQuestion]:
    """The questions of a file whose labels count from `first`."""
    lowest, beyond = math.inf, None
    for line, row in read_rows(file, bad):
        label = _label(row)
        lowest = lowest if label is None else min(lowest, label)
        try:
            question = _question(row, file, line, first)
        except DataError as error:
            beyond = beyond or (error if first == 0 and label == len(_choices(row) or ()) else None)
            bad.found(error)
        else:
            yield question
    if beyond and lowest == 1:
        problem = f'"{beyond.key}" counts from 1 throughout: it is never the first choice (0, or A).'
        raise DataError(problem, _FROM_1, code="bad-label", file=file, line=beyond.line, key=beyond.key)


_FROM_1 = "If labels count from 1 (or B): --labels-from 1"


def _label(row: Row) -> int | None:
    """The label as it is written, a letter as its place; None if it is neither."""
    label = row["label"] if "label" in row else _POSITIONS.get(str(row.get("correct")))
    return label if isinstance(label, int) and not isinstance(label, bool) else None


def _choices(row: Row) -> list[str] | None:
    lettered = [row[key] for key in (f"answer{letter}" for letter in LETTERS) if key in row]
    choices = row.get("choices", lettered)
    sound = isinstance(choices, list) and len(choices) > 1 and all(isinstance(choice, str) for choice in choices)
    return choices if sound else None


def _question(row: Row, file: Path, line: int, first: int) -> ScoredQuestion:
    def wrong(key: str, expected: str, remedy: str = _FORMAT) -> NoReturn:
        state = f"is {_short(row[key])}" if key in row else "is missing"
        code = "missing-key" if key not in row else "bad-label" if key in ("label", "correct") else "bad-value"
        raise DataError(f'"{key}" {state}, expected {expected}.', remedy, code=code, file=file, line=line, key=key)

    name, context, question = row.get("name"), row.get("context"), row.get("question")
    if not isinstance(name, str) or not name.strip():
        wrong("name", "a name")
    if isinstance(context, bool) or not isinstance(context, str | int) or context == "":
        wrong("context", "the context's text or number")
    choices = _choices(row) or wrong("choices", "a list of at least two texts")
    written_label = _label(row)
    if written_label is None or not 0 <= written_label - first < len(choices):
        last = first + len(choices) - 1
        remedy = f"{_FROM_1}. Otherwise: {_FORMAT}" if first == 0 and written_label == len(choices) else _FORMAT
        if "label" not in row and "correct" in row:
            wrong("correct", f"the letter of the right choice, {LETTERS[first]} to {LETTERS[last:][:1]}", remedy)
        wrong("label", f"the place of the right choice, {first} to {last}", remedy)
    label = written_label - first
    kind = "logits" if "logits" in row and "probs" not in row else "probs"
    numbers = row.get(kind)
    if not isinstance(numbers, list) or len(numbers) != len(choices) or not all(map(_is_number, numbers)):
        wrong(kind, f"a list of {len(choices)} numbers, one for each choice")
    return ScoredQuestion(
        name=name,
        context=str(context),
        unnamed=_unnamed(name, str(context)),
        question=question if isinstance(question, str) else "",
        choices=tuple(choices),
        label=label,
        numbers=tuple(numbers),
        kind=kind,
    )


_unnamed = lru_cache(1 << 14)(with_place_for)  # contexts come again and again

_POSITIONS = {letter: position for position, letter in enumerate(LETTERS)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf  # nor NaN


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


# --- counting


@dataclass
class _ContextDistractors:
    """The distractors that occurred in one context, numbered; and those that every name met, and which of them won."""

    numbers: dict[str, int] = field(default_factory=dict)
    names: dict[int, tuple[array[int], bytearray]] = field(default_factory=dict)

    def add(self, name: int, question: ScoredQuestion) -> None:
        met, won = self.names.setdefault(name, (array("q"), bytearray()))
        chosen = question.numbers.index(max(question.numbers))  # the first of the highest
        for position, choice in enumerate(question.choices):
            if position != question.label:
                text = with_place_for(question.name, choice) if question.name in choice else choice
                met.append(self.numbers.setdefault(text, len(self.numbers)))
                won.append(position == chosen)

    def pools(self, names: int) -> tuple[DistractorPools, list[Array]]:
        """The names' sets of distractors (T_all) as pools, and 1 for each that was chosen (T_suc), 0 for the others.

        A distractor that a name met several times is in the sets once, and has won if it ever did.
        """
        words = {"": 0}  # which is no word: it fills up the strings that are shorter than the longest
        ordered = sorted(self.numbers)
        rank = np.empty(len(ordered), np.int64)  # (number,)
        rank[[self.numbers[text] for text in ordered]] = np.arange(len(ordered))
        strings = [[words.setdefault(word, len(words)) for word in split(text).words] for text in ordered]
        table = np.zeros((len(strings), max(map(len, strings), default=0) or 1), np.int32)
        for number, string in enumerate(strings):
            table[number, : len(string)] = string
        members, success = [], []
        for name in range(names):
            numbers, won = self.names.get(name, (array("q"), bytearray()))
            met, index = np.unique(rank[np.array(numbers, np.int64)], return_inverse=True)
            ever = np.zeros(len(met))
            np.maximum.at(ever, index, np.frombuffer(won, np.uint8).astype(np.float64))
            members.append(met)
            success.append(ever)
        offsets = np.concatenate([[0], np.cumsum([len(met) for met in members])]).astype(np.int64)
        return DistractorPools(tuple(words), (), table, offsets, np.concatenate(members)), success


def _rates(seen: Sequence[_ContextDistractors], names: tuple[str, ...], settings: SodapopSettings) -> SuccessRates:
    """Success rates of every word that is in enough distractors of every name."""
    pools = [context.pools(len(names)) for context in seen]
    words = vocabulary([pool for pool, _ in pools], settings.min_count, settings.case)
    if not words:
        problem = f"no word is in at least {settings.min_count} distractors of every name."
        remedy = "Lower that number: --set min_count=…, or give results of more questions."
        raise DataError(problem, remedy, code="nothing-to-ask", key="min_count")
    successes, distractors, pooled = np.zeros(
        (3, min(len(pools), BLOCKS), len(names), len(words))
    )  # (block, name, word)
    for number, (pool, success) in enumerate(pools):
        counter = SuccessCounter(names, words, 1, settings.case)
        counter.add(0, pool, success)
        successes[number % BLOCKS] += counter.rates.successes[0]
        distractors[number % BLOCKS] += counter.rates.distractors[0]
        pooled[number % BLOCKS] += counter.rates.pooled[0]
    return SuccessRates(names, words, successes, distractors, pooled)


# --- questions to be shown

TEXTS, EACH = 500, 40
"""Kept at most: names in a text, and questions about each of them. Digests choose them, not the order of the rows."""

_KINDS = {
    "probs": "the probability that the model gave each answer",
    "logits": "the score (logit) that the model gave each answer",
}


_Text = tuple[str, str, int]
"""A text's digest, the text, and a name in it: the names of one text are kept together, as examples compare them."""


@dataclass
class KeptQuestions:
    """Some questions about the first names of every group, where the text is known: `add` them all, then `settle`."""

    groups: NameGroups
    case: str
    scores: str = ""
    chosen: bool = False
    _drawn: dict[_Text, list[tuple[str, ScoredQuestion]]] = field(default_factory=dict)  # with the questions' digests
    _last: _Text | None = None  # what comes after it is not kept
    _contexts: dict[str, int] = field(default_factory=dict)
    _strings: dict[str, int] = field(default_factory=dict)
    _questions: dict[WrongAnswer, ScoredQuestion] = field(default_factory=dict)
    _met: dict[str, dict[WrongAnswer, float]] = field(default_factory=dict)  # by word, with their leads

    def __post_init__(self) -> None:
        self._names = {name for group in self.groups.groups for name in self.groups.rows(group)[:NAMES].tolist()}

    def add(self, name: int, question: ScoredQuestion) -> None:
        """A question about a name."""
        if name not in self._names or NAME not in question.unnamed:
            return
        key = _digest(question.unnamed), question.unnamed, name
        if self._last and key > self._last:
            return
        questions = self._drawn.setdefault(key, [])
        questions.append((_digest(question), question))
        if len(questions) > EACH:
            questions.remove(max(questions))
        if len(self._drawn) > TEXTS:
            del self._drawn[max(self._drawn)]
            self._last = max(self._drawn)

    def settle(self) -> None:
        """Number the questions that were kept, in an order of their own."""
        texts = self._drawn.items()
        for text, name, question in sorted((key[1], key[2], pair[1]) for key, pairs in texts for pair in pairs):
            self._number(text, name, question)
        self._drawn.clear()

    def _number(self, unnamed: str, name: int, question: ScoredQuestion) -> None:
        self.scores = self.scores or _KINDS[question.kind]
        context = self._contexts.setdefault(unnamed, len(self._contexts))
        for position, choice in enumerate(question.choices):
            string = self._strings.setdefault(with_place_for(question.name, choice), len(self._strings))
            spot = WrongAnswer(context, string, name)
            if position != question.label and spot not in self._questions:
                self._questions[spot] = question
                for word in {said(text, self.case) for text in split(choice).words}:
                    self._met.setdefault(word, {})[spot] = question.numbers[position] - question.numbers[question.label]

    def met(self, word: str) -> WrongAnswers:
        """The wrong answers with a word."""
        leads = self._met.get(word, {})
        context, string, name = np.array(list(leads), np.int64).reshape(-1, 3).T
        return WrongAnswers(context, string, name, np.array(list(leads.values()), np.float64))

    def asked(self, first: WrongAnswer, second: WrongAnswer) -> tuple[AskedQuestion, AskedQuestion]:
        """The two questions as they were put."""
        first_question, second_question = (
            AskedQuestion(
                question.context, question.question, options_of(question.choices, question.numbers, question.label)
            )
            for question in (self._questions[first], self._questions[second])
        )
        return first_question, second_question


def _digest(value: object) -> str:
    return blake2b(repr(value).encode(), digest_size=8).hexdigest()
