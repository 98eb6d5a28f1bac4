"""What the words say about people: the 16 pairs of opposing traits of the Agency-Beliefs-Communion model (section 5).

A lexicon maps words to poles of traits. A file of one is TOML or JSON; a trait has two poles, and the second is the one
that groups are ordered by, as in the paper's Table 5:

    {"cold-warm": {"cold": ["aloof", "distant"], "warm": ["kind", "tender"]}}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Literal, NoReturn

from assay.errors import DataError
from assay.files.rows import BadRows, Row, read_rows
from assay.probes.sodapop.names import PACKAGED, read_table

Order = Literal["<", ">", "="]
Scores = Mapping[str, Mapping[str, int | None]]  # group -> trait -> score, None where none of its words tells

_FORMAT = (
    'Write {"cold-warm": {"cold": ["aloof", "distant"], "warm": ["kind", "tender"]}}; groups are ordered by the second.'
)
_COLUMNS = ("trait", "group_a", "group_b", "score_a", "score_b")
_HUMAN_FORMAT = f"Write a CSV file whose first line is {','.join(_COLUMNS)}; scores are from 0 to 100."


@dataclass(frozen=True)
class Lexicon:
    """Words by trait and pole; a trait's poles are (¬t, t), and scores and orderings are about the second."""

    traits: Mapping[str, tuple[str, str]]
    words: Mapping[str, frozenset[tuple[str, str]]]  # word -> {(trait, pole)}


@dataclass(frozen=True)
class HumanRating:
    """How people see two groups on a trait: mean ratings from 0 (its first pole) to 100 (its second)."""

    trait: str
    a: str
    b: str
    score_a: float
    score_b: float

    def ordering(self, a: str, b: str) -> Order | None:
        """How people order two groups; None where this is about others."""
        if (a, b) == (self.a, self.b):
            return _order(self.score_a - self.score_b)
        return _order(self.score_b - self.score_a) if (a, b) == (self.b, self.a) else None


def trait_scores(words_by_group: Mapping[str, Sequence[str]], lexicon: Lexicon) -> dict[str, dict[str, int | None]]:
    """C(A, t) − C(A, ¬t) for every group A and trait t: how many more of its words are about t than about its opposite.

    0 means as many for one pole as for the other; None that no word of the group maps to the trait. A word counts once
    however often it is given.
    """
    scores_by_group: dict[str, dict[str, int | None]] = {}
    for group, words in words_by_group.items():
        scores = scores_by_group[group] = dict.fromkeys(lexicon.traits)
        for word in {word.lower() for word in words}:
            for trait, pole in lexicon.words.get(word, ()):
                scores[trait] = (scores[trait] or 0) + (1 if pole == lexicon.traits[trait][1] else -1)
    return scores_by_group


def ordering(scores: Scores, a: str, b: str, trait: str) -> Order | None:
    """Has a less (<) or more (>) of a trait's second pole than b? None: no word of either tells (the paper's N/A).

    >>> ordering({"A": {"cold-warm": -2}, "B": {"cold-warm": None}}, "A", "B", "cold-warm")
    '<'
    """
    of_a, of_b = scores[a][trait], scores[b][trait]
    return None if of_a is None and of_b is None else _order((of_a or 0) - (of_b or 0))


def agreement(scores: Scores, human: Sequence[HumanRating], a: str, b: str) -> tuple[int, int]:
    """On how many traits words and people order two groups in the same way, and how many both order.

    A tie matches only a tie.
    """
    pairs = [(ordering(scores, a, b, rating.trait), rating.ordering(a, b)) for rating in human]
    both = [(words, people) for words, people in pairs if words is not None and people is not None]
    return sum(words == people for words, people in both), len(both)


def _order(difference: float) -> Order:
    return "<" if difference < 0 else ">" if difference > 0 else "="


@cache
def packaged_lexicon() -> Lexicon:
    """Words for the 16 traits of the paper's Table 5, written for assay."""
    return read_lexicon(PACKAGED / "traits.toml")


def read_lexicon(path: Path) -> Lexicon:
    """A lexicon from a file; the first thing that is wrong with it is a DataError."""
    traits: dict[str, tuple[str, str]] = {}
    words: dict[str, set[tuple[str, str]]] = {}
    for trait, poles in read_table(path, _FORMAT).items():
        for pole, word in _words_of(trait, poles, path):
            words.setdefault(word, set()).add((trait, pole))
        low, high = poles
        traits[trait] = (low, high)
    if not traits:
        raise DataError("there is no trait in this file.", _FORMAT, code="empty-file", file=path)
    return Lexicon(traits, {word: frozenset(places) for word, places in words.items()})


def _words_of(trait: str, poles: object, path: Path) -> Iterator[tuple[str, str]]:
    """The words of a trait with their poles."""

    def wrong(code: str, pole: str, problem: str, remedy: str = _FORMAT) -> NoReturn:
        key = f"{trait}.{pole}" if pole else trait
        raise DataError(f"trait {trait}: {problem}", remedy, code=code, file=path, key=key)

    if not isinstance(poles, dict) or len(poles) != 2:
        wrong("bad-value", "", "expected two poles, each with a list of words.")
    home: dict[str, str] = {}
    for pole, listed in poles.items():
        if not isinstance(listed, list) or not listed or not all(isinstance(word, str) for word in listed):
            wrong("bad-list", pole, f"{pole}: expected a list of words that is not empty.")
        for word in listed:
            if word.split() != [word]:
                problem = f"{pole}: {json.dumps(word, ensure_ascii=False)} is not a single word."
                wrong("bad-list", pole, problem, "Write one word, without blanks.")
            if word.lower() in home:
                problem = f'"{word}" is in {home[word.lower()]} and in {pole}.'
                wrong("duplicate", pole, problem, "Use a word once per trait.")
            home[word.lower()] = pole
            yield pole, word.lower()


def read_human(path: Path, lexicon: Lexicon) -> list[HumanRating]:
    """Ratings by people, like those of Cao et al. (2022); every trait must be one of the lexicon's."""
    ratings: dict[tuple[str, frozenset[str]], HumanRating] = {}
    if ".csv" not in path.suffixes:
        raise DataError("expected a CSV file.", "Name it NAME.csv.", code="bad-csv", file=path)
    for line, row in read_rows(path, BadRows(skip=False)):
        bad = partial(DataError, remedy=_HUMAN_FORMAT, file=path, line=line)
        human = _human(row, lexicon, bad)
        key = human.trait, frozenset({human.a, human.b})
        if key in ratings:
            raise bad(f"{human.trait} for {human.a} and {human.b} appears twice.", code="duplicate")
        ratings[key] = human
    if not ratings:
        raise DataError("there are no ratings in this file.", _HUMAN_FORMAT, code="empty-file", file=path)
    return list(ratings.values())


def _human(row: Row, lexicon: Lexicon, bad: Callable[..., DataError]) -> HumanRating:
    if missing := [column for column in _COLUMNS if column not in row]:
        raise bad(f"there is no column {' or '.join(missing)}.", code="missing-key", key=missing[0])
    trait, a, b = (row[column].strip() for column in _COLUMNS[:3])
    if trait not in lexicon.traits:
        problem = f'"{trait}" is none of the traits {", ".join(lexicon.traits)}.'
        raise bad(problem, code="bad-value", key="trait")
    if not a or not b or a == b:
        problem, key = f'expected two groups, got "{a}" and "{b}".', "group_b" if a else "group_a"
        raise bad(problem, code="bad-value", key=key)
    ratings = []
    for column in _COLUMNS[3:]:
        try:
            ratings.append(float(row[column]))
        except ValueError:
            ratings.append(-1)
        if not 0 <= ratings[-1] <= 100:
            problem = f'"{column}" is "{row[column]}", expected a number from 0 to 100.'
            raise bad(problem, code="bad-value", key=column)
    return HumanRating(trait, a, b, score_a=ratings[0], score_b=ratings[1])
