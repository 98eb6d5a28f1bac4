"""Whether an entry of a predictions file says what its key says: whom its answers name, and what it asks.

An entry repeats its key: the answers' texts and the passage name the subjects, the questions the attribute. Answers
that are exchanged together with their texts, and questions that are exchanged together with their answers, are put
right; everything else that disagrees raises a `DisagreementError`.

Some of it only the whole file can tell: how a name is written in a passage ("Spain": "Spanish"), and what a template
says. So a file is read once and, if something was unclear then, once more with what was learned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from assay.errors import DataError
from assay.probes.unqover.cell_content import content, with_slots
from assay.probes.unqover.lists import FILES, WordLists, read_lists

_MOST_VARIANTS = 8
"""Different passages or questions of one template and attribute that are counted; a sound file has one."""

Pair = tuple[str, str]
Where = tuple[str, str]
"""A template's number and an attribute."""


class DisagreementError(ValueError):
    """An entry contradicts its key; `code` is that of the DataError to be raised."""

    def __init__(self, problem: str, code: str = "bad-row") -> None:
        super().__init__(problem)
        self.code = code


class UnclearError(Exception):
    """Only the whole file can tell whether an entry agrees with its key."""


class Key(NamedTuple):
    """An entry's key, taken apart."""

    clusters: Pair
    names: Pair
    template: str
    attribute_class: str
    attribute: str

    @staticmethod
    def of(written: str) -> Key:
        cluster0, cluster1, name0, name1, template, attribute_class, attribute, _ = written.split("|")
        return Key((cluster0, cluster1), (name0, name1), template, attribute_class, attribute)


class PredictionEntry(NamedTuple):
    """What an entry says, in its key's order: its subjects as they are written, and its two questions, as asked and
    negated, each with its two answers.
    """

    context: str
    texts: Pair
    questions: Pair
    answers: tuple[tuple[Any, Any], tuple[Any, Any]]  # (asked or negated, subject)
    answers_exchanged: bool
    questions_exchanged: bool


@dataclass(frozen=True, eq=False)
class Known:
    """What word lists say: the texts of names, and the forms of attributes, as asked and negated.

    `subjects` and `attributes` are their places in the lists.
    """

    texts: Mapping[str, frozenset[str]]
    asked: Mapping[str, frozenset[str]]
    negated: Mapping[str, frozenset[str]]
    subjects: Mapping[str, int]
    attributes: Mapping[str, int]

    @staticmethod
    def of(folder: str | None) -> Known:
        """From the packaged lists and those in a folder."""
        texts: dict[str, set[str]] = {}
        forms: tuple[dict[str, set[str]], dict[str, set[str]]] = {}, {}
        subjects: dict[str, int] = {}
        attributes: dict[str, int] = {}
        for lists in every_list(folder):
            for subject in lists.subjects:
                subjects.setdefault(subject.name, len(subjects))
                texts.setdefault(_plain(subject.name), set()).update(map(_plain, subject.forms.values()))
            for attribute in lists.attributes:
                attributes.setdefault(attribute.text, len(attributes))
                for head, text in attribute.forms.items():
                    forms[head.endswith(":neg")].setdefault(_plain(attribute.text), set()).add(_plain(text))
        known, asked, negated = ({name: frozenset(own) for name, own in each.items()} for each in (texts, *forms))
        return Known(known, asked, negated, subjects, attributes)


def every_list(folder: str | None) -> Iterator[WordLists]:
    """The lists of every class: those in a folder, with templates of either form, then the packaged ones."""
    found = [lists for cls in FILES if folder for lists in _lists_in(folder, cls)]
    if folder and not found:
        read_lists(next(iter(FILES)), masked=False, header=False, folder=folder)  # says what is missing
    yield from found
    for cls in FILES:
        yield read_lists(cls, masked=False, header=False)


def _lists_in(folder: str, cls: str) -> Iterator[WordLists]:
    for masked in (False, True):
        try:
            yield read_lists(cls, masked=masked, header=False, folder=folder)
        except DataError as error:
            if error.code != "missing-file":
                raise


@dataclass(frozen=True)
class Learned:
    """What a whole file says: how names are written in a template, what templates say, and what it leaves open."""

    texts: Mapping[tuple[str, str], str]  # by template and name
    open_texts: frozenset[tuple[str, str]]  # of these either text of every entry may be the name's
    passages: Mapping[Where, str]
    questions: Mapping[Where, Pair]
    open_questions: frozenset[Where]  # both orders of these occur, and nothing tells which one is the negation
    misplaced: Mapping[Where, str]  # the questions of these are about another attribute


@dataclass
class Agreement:
    """Compares entries with their keys; without `learned`, it gathers what `learn` then says about the file."""

    known: Known
    learned: Learned | None = None
    unclear: bool = False
    _clear: bool = True  # the entry at hand
    _names: set[str] = field(default_factory=set)
    _written: set[tuple[str, str]] = field(default_factory=set)  # (template, name) that needed no learning
    _candidates: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _passages: dict[Where, Counter[str]] = field(default_factory=dict)
    _questions: dict[Where, Counter[Pair]] = field(default_factory=dict)

    def entry(self, key: Key, value: Any) -> PredictionEntry:
        """An entry put right. KeyError, TypeError or ValueError (DisagreementError, if it contradicts its key) where it
        cannot be used; UnclearError before anything is learned.
        """
        q0, q1, context = value["q0"], value["q1"], value["context"]
        first, second = ((question["ans0"], question["ans1"]) for question in (q0, q1))
        texts = first[0]["text"], first[1]["text"]
        if not all(isinstance(each, dict) for each in (q0, q1, *first, *second)):
            raise TypeError("questions and answers must be objects")
        asked, other = q0["question"], q1.get("question", "")
        if not all(isinstance(text, str) for text in (context, asked, other, *texts)):
            raise ValueError("context, question and answers must be texts")
        missing = [text for text in texts if text.lower() not in context.lower()]
        if missing:
            problem = f"the subject {missing[0]!r} is missing from its passage {context!r}"
            raise DisagreementError(problem, "bad-text")
        self._clear = True
        there = self._exchanged(key, texts, context)
        back = self._exchanged_in_negation(key, (second[0].get("text"), second[1].get("text")), texts, context, there)
        texts = _turned(texts, there)
        self._compare_passage(key, context, texts)
        negated_first = bool(other) and self._negated_first(key, (asked, other))
        if not self._clear:
            self.unclear = True
            raise UnclearError
        answers = _turned(first, there), _turned(second, back)
        questions = _turned((asked, other), negated_first)
        return PredictionEntry(context, texts, questions, _turned(answers, negated_first), there or back, negated_first)

    # --- whom the answers name

    def _exchanged(self, key: Key, texts: Pair, context: str) -> bool:
        """Whether the first text is the second subject's."""
        self._names.update(map(_plain, key.names))
        one, other = _plain(texts[0]), _plain(texts[1])
        (a, b), template = map(_plain, key.names), key.template
        for exchanged, (first, second) in enumerate(((a, b), (b, a))):
            if self._is(one, first, template) and self._is(other, second, template):
                self._written |= {(template, a), (template, b)}
                return bool(exchanged)
        if self.learned is None:
            for name in (a, b):
                self._candidates.setdefault((template, name), {one, other}).intersection_update({one, other})
            self._clear = False
            return False
        slotted = _slotted(context, texts)
        if all((template, name) in self.learned.open_texts for name in (a, b)) and _is_forward(slotted):
            return False
        expected, found = (" and ".join(map(repr, pair)) for pair in (key.names, texts))
        raise DisagreementError(f"its key names {expected}, but its answers are {found}")

    def _exchanged_in_negation(self, key: Key, others: tuple[Any, Any], texts: Pair, context: str, there: bool) -> bool:
        """Whether the first answer in q1 is the second subject's; as in q0, where q1 has no texts."""
        if not (isinstance(others[0], str) and isinstance(others[1], str)):
            if there:
                raise DisagreementError("its answers are exchanged in q0, and those in q1 have no texts")
            return False
        return there if others == texts else self._exchanged(key, others, context)

    def _is(self, text: str, name: str, template: str) -> bool:
        if text == name or text in self.known.texts.get(name, ()):
            return True
        return self.learned is not None and self.learned.texts.get((template, name)) == text

    # --- what it asks

    def _compare_passage(self, key: Key, context: str, texts: Pair) -> None:
        where = key.template, key.attribute
        if self.learned is None:
            counted = self._passages.setdefault(where, Counter())
            usual = next(iter(counted), "")
            fits = bool(usual) and _fits(context, usual, texts)
            _count(counted, usual if fits else _slotted(context, texts))
            self._clear &= fits or not usual
        elif not _fits(context, expected := self.learned.passages[where], texts):
            wanted = _filled(expected, texts)
            problem = f"its passage is {context!r}, expected {wanted!r} as in other entries of template {key.template}"
            raise DisagreementError(problem)

    def _negated_first(self, key: Key, questions: Pair) -> bool:
        """Whether q0 is the negation."""
        where, plain = (key.template, key.attribute), (_plain(questions[0]), _plain(questions[1]))
        decided = _order(_plain(key.attribute), plain, self.known)
        asked = _turned(plain, bool(decided))
        if self.learned is None:
            counted = self._questions.setdefault(where, Counter())
            self._clear &= asked == next(iter(counted), asked)
            _count(counted, asked)
            return bool(decided)
        shown = " and ".join(map(repr, questions))
        if decided is None and where in self.learned.open_questions:
            problem = (
                f"it asks {shown}, in other entries it is the other way round, and no word tells the negation (word "
                "lists would: --set word_lists=DIR)"
            )
            raise DisagreementError(problem)
        if where in self.learned.misplaced:
            problem = f"its key has {key.attribute!r}, but its questions are about {self.learned.misplaced[where]!r}"
            raise DisagreementError(problem)
        if asked != self.learned.questions[where]:
            expected = " and ".join(map(repr, self.learned.questions[where]))
            problem = f"it asks {shown}, expected {expected} as in other entries of template {key.template}"
            raise DisagreementError(problem)
        return bool(decided)

    # --- learning

    def learn(self) -> Learned | None:
        """What the entries say together; None if each of them was clear by itself."""
        questions = {where: _usual(counted) for where, counted in self._questions.items()}
        misplaced = dict(_misplaced(questions))
        if not self.unclear and not misplaced:
            return None
        texts: dict[tuple[str, str], str] = {}
        several: set[tuple[str, str]] = set()
        for (template, name), candidates in self._candidates.items():
            others = self._names - {name}
            free = {text for text in candidates if not any(self._is(text, each, template) for each in others)}
            if (template, name) in self._written or not free:
                continue
            if len(free) == 1:
                texts[template, name] = free.pop()
            else:
                several.add((template, name))
        unsure = frozenset(where for where, counted in self._questions.items() if questions[where][::-1] in counted)
        passages = {where: _passage(counted) for where, counted in self._passages.items()}
        return Learned(texts, frozenset(several), passages, questions, unsure, misplaced)


def _misplaced(questions: Mapping[Where, Pair]) -> Iterator[tuple[Where, str]]:
    """Attributes whose question has the words of another attribute, which are missing from that one's question."""
    lost: dict[str, set[str]] = {}
    for (template, attribute), (asked, _) in questions.items():
        if not _has(asked, _plain(attribute)):
            lost.setdefault(template, set()).add(attribute)
    for (template, attribute), (asked, _) in questions.items():
        others = sorted(lost.get(template, ()))
        if attribute in others and (other := next((each for each in others if _has(asked, _plain(each))), "")):
            yield (template, attribute), other


def _count(counted: Counter[Any], said: Any) -> None:
    if said in counted or len(counted) < _MOST_VARIANTS:
        counted[said] += 1


def _usual(counted: Counter[Any]) -> Any:
    """The most frequent; the same one in whatever order they came."""
    return min(counted, key=lambda said: (-counted[said], said))


def _passage(counted: Counter[str]) -> str:
    """The usual passage; of two that name the subjects in opposite orders, the one with the first subject first."""
    usual = str(_usual(counted))
    mirrored = re.sub(r"\[subj([12])\]", lambda slot: f"[subj{3 - int(slot[1])}]", usual)
    return mirrored if not _is_forward(usual) and mirrored in counted else usual


def _is_forward(slotted: str) -> bool:
    """Whether a passage names the first subject first."""
    return slotted.find("[subj1]") < slotted.find("[subj2]")


@lru_cache(1 << 14)
def _order(attribute: str, questions: Pair, known: Known) -> int | None:
    """1 if the first question is the negation, 0 if the second is, None if their words do not tell.

    By the forms of the attribute in the word lists; else by the attribute's text; else by how many of its words they
    have. Raises DisagreementError if they ask about another attribute of the lists.
    """
    sides = [_longest(question, known, attribute) for question in questions]
    if any(sides):
        forms = known.asked.get(attribute, frozenset())
        first, second = ((None if not form else int(form not in forms)) for form in sides)
        if first != second:
            return first if first is not None else 1 - (second or 0)
    elif attribute in known.asked and (other := _another(questions, known)):
        raise DisagreementError(f"its key has {attribute!r}, but its questions are about {other!r}")
    holds = [_has(question, attribute) for question in questions]
    if all(holds) and len(questions[0]) != len(questions[1]):
        return int(len(questions[0]) > len(questions[1]))
    if any(holds) and not all(holds):
        return int(holds[1])
    words = set(attribute.split())
    shared = [len(words.intersection(re.findall(r"[\w'’-]+", question))) for question in questions]
    return None if shared[0] == shared[1] else int(shared[1] > shared[0])


def _longest(question: str, known: Known, attribute: str) -> str:
    """The longest form of an attribute in a question."""
    forms = known.asked.get(attribute, frozenset()) | known.negated.get(attribute, frozenset())
    return max((form for form in forms if _has(question, form)), key=len, default="")


def _another(questions: Pair, known: Known) -> str:
    """An attribute of the lists that the questions are about."""
    found = (name for name in sorted(known.asked) if all(_longest(question, known, name) for question in questions))
    return next(found, "")


def _has(question: str, words: str) -> bool:
    return words in question and re.search(rf"(?<!\w){re.escape(words)}(?!\w)", question) is not None


@lru_cache(1 << 12)
def _fits(context: str, expected: str, texts: Pair) -> bool:
    """Whether a passage is the expected one with these texts in its slots."""
    return content(context, "", "")[0] == content(_filled(expected, texts), "", "")[0]


def _filled(slotted: str, texts: Pair) -> str:
    return slotted.replace("[subj1]", texts[0]).replace("[subj2]", texts[1])


@lru_cache(1 << 12)
def _slotted(context: str, texts: Pair) -> str:
    return content(with_slots(context, texts), "", "")[0]


@lru_cache(1 << 16)
def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _turned(pair: tuple[Any, Any], exchanged: bool) -> tuple[Any, Any]:
    return pair[::-1] if exchanged else pair
