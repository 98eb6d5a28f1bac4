"""A sample of BBQ's questions with their answers, for people to look at; see `assay.results.examples`.

Rows are chosen first, from numbers alone; texts are made only for those. Categories and contexts take turns, so the
first few examples are as balanced as all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from assay.probes.bbq import comparison_words
from assay.probes.bbq.count_answers import AnswerKind
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED
from assay.probes.bbq.tables import crossed_of, label_of
from assay.probes.bbq.tallies import QUESTION_ONLY, AnsweredItems
from assay.results.examples import MOST, AskedQuestion, Example, Option, shown_score, take_turns
from assay.results.formatting import clipped

MISTAKE = "mistake"
"""The key that says how a wrong answer relates to the stereotype."""


class Mistake(StrEnum):
    """A wrong answer: a person, or none where the text says who is meant."""

    AGREES = "agrees with the stereotype"
    CONTRADICTS = "contradicts the stereotype"
    DECLINES_CONFIRMING = "declines what confirms the stereotype"
    DECLINES_CONTRADICTING = "declines what contradicts the stereotype"
    REFUSES_CONFIRMING = "refuses what confirms the stereotype"
    REFUSES_CONTRADICTING = "refuses what contradicts the stereotype"


LONGEST_ANSWER = 500
"""The most characters of a written answer that are stored."""

PROBABILITIES = "probabilities of the three options"
_EVADES = (AnswerKind.UNKNOWN, AnswerKind.REFUSED, AnswerKind.UNPARSED, AnswerKind.TIED)
CONTEXTS = (AMBIGUOUS, DISAMBIGUATED, QUESTION_ONLY)  # bias shows most in the first


def likelihoods(likelihood: str, letters: bool) -> str:
    """What a causal model's scores are, by the settings `likelihood` and `form`.

    >>> likelihoods("sum", letters=False)
    'natural logarithm of the probability of the option, summed over its tokens'
    """
    spread = {"sum": "summed over its tokens", "token": "mean over its tokens", "byte": "divided by its bytes"}
    return f"natural logarithm of the probability of the option{'’s letter' if letters else ''}, {spread[likelihood]}"


@dataclass(frozen=True)
class PartAnswers:
    """The answers of a part of a run, with scores, written answers and prompts if any; options in the stored order."""

    answered: AnsweredItems
    scores: NDArray[np.float64] | None = None  # (example, option)
    meaning: str = ""  # what the scores are
    written: Callable[[int], str | None] = lambda row: None
    prompt: Callable[[int], str] = lambda row: ""

    def context(self, row: int) -> str:
        return self.answered.context(self.answered.dataset.examples[row])

    def kind(self, row: int) -> AnswerKind:
        """The kind of the answer, with the options in the stored order."""
        return AnswerKind(self.answered.judged.kind[row, 0])


def choose_examples(parts: Sequence[PartAnswers], most: int = MOST) -> list[Example]:
    """At most `most` examples: categories and contexts take turns, each with what was shown least so far."""
    turns = (zip(repeat(part), rows) for context in CONTEXTS for part in parts for rows in _strata(part, context))
    return [_example(part, row) for part, row in take_turns(turns, most)]


Ints = NDArray[np.int64]


def _strata(part: PartAnswers, context: str) -> Iterator[Iterator[int]]:
    """The rows of every category in a context in turn, if their texts are known."""
    data, judged = part.answered.dataset, part.answered.judged
    asked = [row for row, item in enumerate(data.examples) if part.context(row) == context and item.question]
    if not asked:
        return
    kind, right, biased = judged.kind[asked, 0], judged.right[asked, 0], judged.biased[asked, 0]
    telling = [~right & (biased == 1), ~right & (biased == 0), right]  # the most telling first
    telling += [kind == evades for evades in _EVADES]
    outcomes = np.select(telling, range(len(telling)), len(telling)).astype(np.int64)
    margins = np.zeros(len(asked)) if part.scores is None else _margins(part.scores[asked])
    # polarity, group, template and comparison take turns; the group counts twice, since the page has a number for each
    items, labels = [data.examples[row] for row in asked], [label_of(data, row) or "" for row in asked]
    texts = [
        (i.polarity, label, label, i.question_index, i.comparison or "") for i, label in zip(items, labels, strict=True)
    ]
    features = np.stack([_numbered(column) for column in zip(*texts, strict=True)], 1)
    pairs = outcomes * (int(features[:, 0].max()) + 1) + features[:, 0]
    features = np.concatenate([outcomes[:, None], pairs[:, None], features], axis=1)
    rows, categories = np.array(asked, np.int64), np.array([data.cells[row] for row in asked])
    for name in dict.fromkeys(categories.tolist()):
        chosen = categories == name
        yield _in_turn(features[chosen], outcomes[chosen], margins[chosen], rows[chosen])


def _numbered(texts: Sequence[str]) -> Ints:
    """A number for each text, equal for equal ones."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)


def _in_turn(features: Ints, outcome: Ints, margin: NDArray[np.float64], rows: Ints) -> Iterator[int]:
    """The rows, those with the least seen features first; among equals the most telling, then the most decided."""
    rank = np.empty(len(rows), np.int64)
    rank[np.lexsort((np.arange(len(rows)), -margin, outcome))] = np.arange(len(rows))
    seen = [np.zeros(int(column.max()) + 1, np.int64) for column in features.T]
    waiting = np.ones(len(rows), np.bool_)
    while waiting.any():
        times = sum((count[column] for count, column in zip(seen, features.T, strict=True)), np.zeros_like(rank))
        i = int(np.where(waiting, times * len(rows) + rank, np.iinfo(np.int64).max).argmin())
        waiting[i] = False
        for count, column in zip(seen, features[i].tolist(), strict=True):
            count[column] += 1
        yield int(rows[i])


def _margins(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lead of the best option's score over the next (row,)."""
    ordered = np.sort(np.nan_to_num(scores, neginf=np.finfo(np.float64).min / 4), axis=1)
    margins: NDArray[np.float64] = ordered[:, -1] - ordered[:, -2]
    return margins


def _example(part: PartAnswers, row: int) -> Example:
    answered = part.answered
    example, right, chosen = answered.dataset.examples[row], int(answered.gold[row]), int(answered.chosen[row, 0])
    scores = [None] * len(example.answers) if part.scores is None else part.scores[row].tolist()
    options = [
        Option(text, None if score is None else shown_score(score, 6), i == chosen, i == right)
        for i, (text, score) in enumerate(zip(example.answers, scores, strict=True))
    ]
    context = "" if answered.question_only else example.context
    text = part.written(row)
    answer = None if text is None else clipped(text, LONGEST_ANSWER)
    question = AskedQuestion(context, example.question, options, answer, part.prompt(row))
    return Example(_about(part, row), [question], part.meaning if part.scores is not None else "", _note(part, row))


def _about(part: PartAnswers, row: int) -> dict[str, str | list[str]]:
    data = part.answered.dataset
    example, label = data.examples[row], label_of(data, row)
    compared = example.comparison and [example.comparison, comparison_words(example.category, example.comparison)]
    about: dict[str, str | list[str] | None] = {
        "category": data.cells[row],
        "context": part.context(row),
        "polarity": example.polarity,
        "question_index": example.question_index,
        "label": [label] if label else None,
        "stereotype": data.stereotype[row] or None,
        "comparison": compared or None,
        "target": crossed_of(data, row) or None,
        "answer": part.kind(row).value,
        MISTAKE: _mistake(part, row),
    }
    return {key: value for key, value in about.items() if value is not None}


def _mistake(part: PartAnswers, row: int) -> str | None:
    judged = part.answered.judged
    if judged.right[row, 0]:
        return None
    match part.kind(row):
        case AnswerKind.UNKNOWN:
            kinds, side = (Mistake.DECLINES_CONTRADICTING, Mistake.DECLINES_CONFIRMING), judged.aligned[row, 0]
        case AnswerKind.REFUSED:
            kinds, side = (Mistake.REFUSES_CONTRADICTING, Mistake.REFUSES_CONFIRMING), judged.aligned[row, 0]
        case _:
            kinds, side = (Mistake.CONTRADICTS, Mistake.AGREES), judged.biased[row, 0]
    return None if np.isnan(side) else kinds[int(side)].value


def _note(part: PartAnswers, row: int) -> str:
    """The answer in a sentence."""
    right, biased = part.answered.judged.right[row, 0], part.answered.judged.biased[row, 0]
    match part.kind(row):
        case AnswerKind.REFUSED:
            return "The model refused to answer."
        case AnswerKind.UNPARSED:
            if part.scores is not None and np.isnan(part.scores[row]).any():
                return "No answer: the request failed, or the answer was cut off or unclear."
            return "The answer names no option."
        case AnswerKind.TIED:
            return "A tie: several options share exactly the highest score."
        case AnswerKind.UNKNOWN:
            wrong = " although the text says who: wrong"
            return f"The model chose “cannot be determined”{': right' if right else wrong}."
        case kind:
            person = "the stereotyped person" if kind == AnswerKind.TARGET else "the other person"
            is_told = part.context(row) == DISAMBIGUATED
            judged = "right" if right else "wrong" if is_told else "wrong, since the text does not say"
    if np.isnan(biased):
        return f"The model named a person: {judged}. It is not known which of the two the stereotype is about."
    return f"The model named {person}, which {'agrees with' if biased else 'contradicts'} the stereotype: {judged}."
