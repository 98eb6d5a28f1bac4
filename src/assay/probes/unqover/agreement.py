"""Whether an entry of a predictions file says what its key says: whom its answers name, and what it asks.

An entry repeats its key: the answers' texts and the passage name the subjects, the questions the attribute. Answers
that are exchanged together with their texts, and questions that are exchanged together with their answers, are put
right; everything else that disagrees raises a `DisagreementError`.

Some of it only the whole file can tell: how a name is written in a passage ("Spain": "Spanish"), and what a template
says. So a file is read once and, if something was unclear then, once more with what was learned.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from assay.errors import DataError
from assay.probes.unqover.lists import FILES, WordLists, read_lists
from assay.probes.unqover.slots import content, with_slots

_MOST_VARIANTS = 8
"""Different passages or questions of one template and attribute that are counted; a sound file has one."""

Pair = tuple[str, str]
Combination = tuple[str, str]
"""A template's number and an attribute."""


class DisagreementError(ValueError):
    """An entry contradicts its key; `code` is that of the DataError to be raised."""

    def __init__(self, problem: str, code: str = "bad-row") -> None:
        super().__init__(problem)
        self.code = code


class Key(NamedTuple):
    """An entry's key, taken apart."""

    clusters: Pair
    names: Pair
    template: str
    attribute_class: str
    attribute: str

    @staticmethod
    def from_text(text: str) -> Key:
        cluster0, cluster1, name0, name1, template, attribute_class, attribute, _ = text.split("|")
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
class ListedWords:
    """What word lists say: how names are written, and the forms of attributes, as asked and negated.

    `subjects` and `attributes` are their indices in the lists.
    """

    texts: Mapping[str, Set[str]]
    asked_forms: Mapping[str, Set[str]]
    negated_forms: Mapping[str, Set[str]]
    subjects: Mapping[str, int]
    attributes: Mapping[str, int]

    @staticmethod
    def from_folder(folder: str | None) -> ListedWords:
        """From the packaged lists and those in a folder."""
        texts, asked_forms, negated_forms = (defaultdict[str, set[str]](set) for _ in range(3))
        subjects: dict[str, int] = {}
        attributes: dict[str, int] = {}
        for lists in every_list(folder):
            for subject in lists.subjects:
                subjects.setdefault(subject.name, len(subjects))
                texts[_plain(subject.name)].update(map(_plain, subject.forms.values()))
            for attribute in lists.attributes:
                attributes.setdefault(attribute.text, len(attributes))
                for head, text in attribute.forms.items():
                    forms = negated_forms if head.endswith(":neg") else asked_forms
                    forms[_plain(attribute.text)].add(_plain(text))
        return ListedWords(texts, asked_forms, negated_forms, subjects, attributes)


def every_list(folder: str | None) -> list[WordLists]:
    """The lists of every class: those in a folder, with templates of either form, then the packaged ones."""
    folder_lists = []
    for cls, masked in product(FILES, (False, True)) if folder else ():
        try:
            folder_lists.append(read_lists(cls, masked=masked, header=False, folder=folder))
        except DataError as error:
            if error.code != "missing-file":
                raise
    if folder and not folder_lists:
        read_lists(next(iter(FILES)), masked=False, header=False, folder=folder)  # says what is missing
    return folder_lists + [read_lists(cls, masked=False, header=False) for cls in FILES]


@dataclass(frozen=True)
class Learned:
    """What a whole file says: how names are written in a template, what templates say, and what it leaves open."""

    texts: Mapping[tuple[str, str], str]  # by template and name
    open_texts: Set[tuple[str, str]]  # of these either text of every entry may be the name's
    passages: Mapping[Combination, str]
    questions: Mapping[Combination, Pair]
    open_questions: Set[Combination]  # both orders of these occur, and nothing tells which one is the negation
    misplaced: Mapping[Combination, str]  # the questions of these are about another attribute


@dataclass
class Agreement:
    """Compares entries with their keys; without `learned`, it gathers what `learn` then says about the file."""

    words: ListedWords
    learned: Learned | None = None
    _is_clear: bool = True  # the entry at hand
    _any_unclear: bool = False
    _names: set[str] = field(default_factory=set)
    _recognized: set[tuple[str, str]] = field(default_factory=set)  # (template, name) that needed no learning
    _candidates: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _passages: dict[Combination, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _questions: dict[Combination, Counter[Pair]] = field(default_factory=lambda: defaultdict(Counter))

    def entry(self, key: Key, value: Any) -> PredictionEntry | None:
        """An entry put right; None where only the whole file can tell whether it agrees, before anything is learned.

        KeyError, TypeError or ValueError (DisagreementError, if it contradicts its key) where it cannot be used.
        """
        q0, q1, context = value["q0"], value["q1"], value["context"]
        first, second = ((question["ans0"], question["ans1"]) for question in (q0, q1))
        texts = first[0]["text"], first[1]["text"]
        if not all(isinstance(record, dict) for record in (q0, q1, *first, *second)):
            raise TypeError("questions and answers must be objects")
        questions = q0["question"], q1.get("question", "")
        if not all(isinstance(text, str) for text in (context, *questions, *texts)):
            raise ValueError("context, question and answers must be texts")
        missing = [text for text in texts if text.lower() not in context.lower()]
        if missing:
            problem = f"the subject {missing[0]!r} is missing from its passage {context!r}"
            raise DisagreementError(problem, "bad-text")
        self._is_clear = True
        exchanged = self._exchanged(key, texts, context)
        other_texts = second[0].get("text"), second[1].get("text")
        if all(isinstance(text, str) for text in other_texts):
            exchanged_in_q1 = exchanged if other_texts == texts else self._exchanged(key, other_texts, context)
        elif exchanged:
            raise DisagreementError("its answers are exchanged in q0, and those in q1 have no texts")
        else:
            exchanged_in_q1 = False
        texts = _swapped(texts, exchanged)
        self._compare_passage(key, context, texts)
        negated_first = bool(questions[1]) and self._negated_first(key, questions)
        if not self._is_clear:
            self._any_unclear = True
            return None
        questions = _swapped(questions, negated_first)
        answers = _swapped((_swapped(first, exchanged), _swapped(second, exchanged_in_q1)), negated_first)
        return PredictionEntry(context, texts, questions, answers, exchanged or exchanged_in_q1, negated_first)

    # --- whom the answers name

    def _exchanged(self, key: Key, texts: Pair, context: str) -> bool:
        """Whether the first text is the second subject's."""
        template, names, plain = key.template, _plain_pair(key.names), _plain_pair(texts)
        self._names.update(names)
        for exchanged in (False, True):
            first, second = _swapped(names, exchanged)
            if self._is_written(plain[0], first, template) and self._is_written(plain[1], second, template):
                self._recognized |= {(template, names[0]), (template, names[1])}
                return exchanged
        if self.learned is None:
            for name in names:
                self._candidates.setdefault((template, name), {*plain}).intersection_update(plain)
            self._is_clear = False
            return False
        is_open = all((template, name) in self.learned.open_texts for name in names)
        if is_open and _is_forward(_slotted(context, texts)):
            return False
        expected, answers = (" and ".join(map(repr, pair)) for pair in (key.names, texts))
        raise DisagreementError(f"its key names {expected}, but its answers are {answers}")

    def _is_written(self, text: str, name: str, template: str) -> bool:
        """Whether a name is written so in a template."""
        if text == name or text in self.words.texts.get(name, ()):
            return True
        return self.learned is not None and self.learned.texts.get((template, name)) == text

    # --- what it asks

    def _compare_passage(self, key: Key, context: str, texts: Pair) -> None:
        combination = key.template, key.attribute
        if self.learned is None:
            counts = self._passages[combination]
            usual = next(iter(counts), "")
            fits = bool(usual) and _fits(context, usual, texts)
            _count(counts, usual if fits else _slotted(context, texts))
            self._is_clear &= fits or not usual
        elif not _fits(context, passage := self.learned.passages[combination], texts):
            expected = _filled(passage, texts)
            problem = (
                f"its passage is {context!r}, expected {expected!r} as in other entries of template {key.template}"
            )
            raise DisagreementError(problem)

    def _negated_first(self, key: Key, questions: Pair) -> bool:
        """Whether q0 is the negation."""
        combination, plain = (key.template, key.attribute), _plain_pair(questions)
        order = _order(_plain(key.attribute), plain, self.words)
        ordered = _swapped(plain, bool(order))
        if self.learned is None:
            counts = self._questions[combination]
            self._is_clear &= ordered == next(iter(counts), ordered)
            _count(counts, ordered)
            return bool(order)
        asks = f"it asks {' and '.join(map(repr, questions))}"
        if order is None and combination in self.learned.open_questions:
            raise DisagreementError(
                f"{asks}, in other entries it is the other way round, and no word tells the negation (word lists "
                "would: --set word_lists=DIR)"
            )
        if attribute := self.learned.misplaced.get(combination):
            raise DisagreementError(f"its key has {key.attribute!r}, but its questions are about {attribute!r}")
        if ordered != self.learned.questions[combination]:
            expected = " and ".join(map(repr, self.learned.questions[combination]))
            raise DisagreementError(f"{asks}, expected {expected} as in other entries of template {key.template}")
        return bool(order)

    # --- learning

    def learn(self) -> Learned | None:
        """What the entries say together; None if each of them was clear by itself."""
        questions = {combination: _usual(counts) for combination, counts in self._questions.items()}
        misplaced = _misplaced(questions)
        if not self._any_unclear and not misplaced:
            return None
        texts: dict[tuple[str, str], str] = {}
        open_texts: set[tuple[str, str]] = set()
        for (template, name), candidates in self._candidates.items():
            if (template, name) in self._recognized:
                continue
            rivals = self._names - {name}
            free = [text for text in candidates if not any(self._is_written(text, rival, template) for rival in rivals)]
            if len(free) == 1:
                texts[template, name] = free[0]
            elif free:
                open_texts.add((template, name))
        open_questions = {key for key, counts in self._questions.items() if questions[key][::-1] in counts}
        passages = {combination: _usual_passage(counts) for combination, counts in self._passages.items()}
        return Learned(texts, open_texts, passages, questions, open_questions, misplaced)


def _misplaced(questions: Mapping[Combination, Pair]) -> dict[Combination, str]:
    """Attributes whose question has the words of another attribute, which are missing from that one's question."""
    unnamed = defaultdict[str, list[str]](list)  # by template, attributes whose words are not in their question
    for template, attribute in sorted(questions):
        if not _has(questions[template, attribute][0], _plain(attribute)):
            unnamed[template].append(attribute)
    misplaced = {}
    for template, attributes in unnamed.items():
        for attribute in attributes:
            asked, _ = questions[template, attribute]
            if named := next((name for name in attributes if _has(asked, _plain(name))), ""):
                misplaced[template, attribute] = named
    return misplaced


def _count(counts: Counter[Any], variant: Any) -> None:
    if variant in counts or len(counts) < _MOST_VARIANTS:
        counts[variant] += 1


def _usual(counts: Counter[Any]) -> Any:
    """The most frequent; the same one in whatever order they came."""
    return min(counts, key=lambda variant: (-counts[variant], variant))


def _usual_passage(counts: Counter[str]) -> str:
    """The usual passage; of two that name the subjects in opposite orders, the one with the first subject first."""
    usual = str(_usual(counts))
    mirrored = re.sub(r"\[subj([12])\]", lambda slot: f"[subj{3 - int(slot[1])}]", usual)
    return mirrored if not _is_forward(usual) and mirrored in counts else usual


def _is_forward(slotted: str) -> bool:
    """Whether a passage names the first subject first."""
    return slotted.find("[subj1]") < slotted.find("[subj2]")


@lru_cache(1 << 14)
def _order(attribute: str, questions: Pair, words: ListedWords) -> int | None:
    """1 if the first question is the negation, 0 if the second is, None if their words do not tell.

    By the forms of the attribute in the word lists; else by the attribute's text; else by how many of its words they
    have. Raises DisagreementError if they ask about another attribute of the lists.
    """
    longest_forms = [_longest_form(question, words, attribute) for question in questions]
    if any(longest_forms):
        asked_forms = words.asked_forms.get(attribute, frozenset())
        first, second = ((None if not form else int(form not in asked_forms)) for form in longest_forms)
        if first != second:
            return first if first is not None else 1 - (second or 0)
    elif attribute in words.asked_forms:
        for name in sorted(words.asked_forms):
            if all(_longest_form(question, words, name) for question in questions):
                raise DisagreementError(f"its key has {attribute!r}, but its questions are about {name!r}")
    holds = [_has(question, attribute) for question in questions]
    if all(holds) and len(questions[0]) != len(questions[1]):
        return int(len(questions[0]) > len(questions[1]))
    if any(holds) and not all(holds):
        return int(holds[1])
    attribute_words = set(attribute.split())
    shared = [len(attribute_words.intersection(re.findall(r"[\w'’-]+", question))) for question in questions]
    return None if shared[0] == shared[1] else int(shared[1] > shared[0])


def _longest_form(question: str, words: ListedWords, attribute: str) -> str:
    """The longest form of an attribute in a question."""
    forms = words.asked_forms.get(attribute, frozenset()) | words.negated_forms.get(attribute, frozenset())
    return max((form for form in forms if _has(question, form)), key=len, default="")


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


def _plain_pair(pair: Pair) -> Pair:
    return _plain(pair[0]), _plain(pair[1])


def _swapped(pair: tuple[Any, Any], swap: bool) -> tuple[Any, Any]:
    return pair[::-1] if swap else pair
