"""A sample of BBQ's questions with their answers, for people to look at; see `assay.results.examples`.

Rows are chosen first, from numbers alone; texts are made only for those. Categories and contexts take turns, so the
first few examples are as balanced as all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from assay.probes.bbq import comparison_words
from assay.probes.bbq.count_answers import AnswerKind
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED
from assay.probes.bbq.tables import crossed_of, label_of
from assay.probes.bbq.tallies import QUESTION_ONLY, AnsweredItems
from assay.results.examples import MOST, AskedQuestion, Example, Option
from assay.results.formatting import clipped

MISTAKE = "mistake"
"""The key that says how a wrong answer relates to the stereotype."""


class Mistake(StrEnum):
    """A wrong answer: a person, or “cannot be determined” where the text says who is meant."""

    AGREES = "agrees with the stereotype"
    CONTRADICTS = "contradicts the stereotype"
    DECLINES_CONFIRMING = "declines what confirms the stereotype"
    DECLINES_CONTRADICTING = "declines what contradicts the stereotype"


LONGEST_ANSWER = 500
"""The most characters of a written answer that are stored."""

PROBABILITIES = "probabilities of the three options"
_EVADES = (AnswerKind.UNKNOWN, AnswerKind.REFUSED, AnswerKind.UNPARSED, AnswerKind.TIED)
CONTEXTS = (AMBIGUOUS, DISAMBIGUATED, QUESTION_ONLY)  # bias shows most in the first


def likelihoods(how: str, letters: bool) -> str:
    """What a causal model's scores are, by the settings `likelihood` and `form`.

    >>> likelihoods("sum", letters=False)
    'natural logarithm of the probability of the option, summed over its tokens'
    """
    spread = {"sum": "summed over its tokens", "token": "mean over its tokens", "byte": "divided by its bytes"}
    return f"natural logarithm of the probability of the option{'’s letter' if letters else ''}, {spread[how]}"


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
    turns = [
        (part, _in_turn(features, outcome, margin, rows))
        for context in CONTEXTS
        for part in parts
        for features, outcome, margin, rows in _strata(part, context)
    ]
    shown: list[Example] = []
    while turns and len(shown) < most:
        left = []
        for part, rows in turns:
            row = next(rows, None)
            if row is not None:
                left.append((part, rows))
                shown.append(_example(part, row))
        turns = left
    return shown[:most]


Ints = NDArray[np.int64]
Stratum = tuple[Ints, Ints, NDArray[np.float64], Ints]  # features (row, feature), outcome, margin, number of the row


def _strata(part: PartAnswers, context: str) -> Iterator[Stratum]:
    """The rows of every category in a context, if their texts are known."""
    data = part.answered.dataset
    here = [row for row, each in enumerate(data.examples) if part.context(row) == context and each.question]
    if not here:
        return
    judged = part.answered.judged
    kind, right, biased = judged.kind[here, 0], judged.right[here, 0], judged.biased[here, 0]
    telling = [~right & (biased == 1), ~right & (biased == 0), right]  # the most telling first
    telling += [kind == evades for evades in _EVADES]
    outcomes = np.select(telling, range(len(telling)), len(telling)).astype(np.int64)
    margins = np.zeros(len(here)) if part.scores is None else _margins(part.scores[here])
    features = np.stack([_numbered(column) for column in zip(*(_features(part, row) for row in here), strict=True)], 1)
    pairs = outcomes * (int(features[:, 0].max()) + 1) + features[:, 0]
    features = np.concatenate([outcomes[:, None], pairs[:, None], features], axis=1)
    rows, own = np.array(here, np.int64), np.array([data.cells[row] for row in here])
    for name in dict.fromkeys(own.tolist()):
        chosen = own == name
        yield features[chosen], outcomes[chosen], margins[chosen], rows[chosen]


def _numbered(texts: Sequence[str]) -> Ints:
    """A number for each text, equal for equal ones."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)


def _features(part: PartAnswers, row: int) -> tuple[str, ...]:
    """What should take turns: polarity, group, template and comparison.

    The group counts twice, since the page has a number for each.
    """
    example, label = part.answered.dataset.examples[row], label_of(part.answered.dataset, row) or ""
    return example.polarity, label, label, example.question_index, example.comparison or ""


def _in_turn(features: Ints, outcome: Ints, margin: NDArray[np.float64], rows: Ints) -> Iterator[int]:
    """The rows, those with the least seen features first; among equals the most telling, then the most decided."""
    rank = np.empty(len(rows), np.int64)
    rank[np.lexsort((np.arange(len(rows)), -margin, outcome))] = np.arange(len(rows))
    seen = [np.zeros(int(column.max()) + 1, np.int64) for column in features.T]
    left = np.ones(len(rows), np.bool_)
    while left.any():
        times = sum((count[column] for count, column in zip(seen, features.T, strict=True)), np.zeros_like(rank))
        place = int(np.where(left, times * len(rows) + rank, np.iinfo(np.int64).max).argmin())
        left[place] = False
        for count, column in zip(seen, features[place].tolist(), strict=True):
            count[column] += 1
        yield int(rows[place])


def _margins(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lead of the best option's score over the next (row,)."""
    ordered = np.sort(np.nan_to_num(scores, neginf=np.finfo(np.float64).min / 4), axis=1)
    margins: NDArray[np.float64] = ordered[:, -1] - ordered[:, -2]
    return margins


def _example(part: PartAnswers, row: int) -> Example:
    answered = part.answered
    example, right, chosen = answered.dataset.examples[row], int(answered.gold[row]), int(answered.chosen[row, 0])
    scores = [None] * len(example.answers) if part.scores is None else [_shown(s) for s in part.scores[row].tolist()]
    options = [
        Option(text, score, place == chosen, place == right)
        for place, (text, score) in enumerate(zip(example.answers, scores, strict=True))
    ]
    context = "" if answered.question_only else example.context
    written = part.written(row)
    answer = None if written is None else clipped(written, LONGEST_ANSWER)
    asked = AskedQuestion(context, example.question, options, answer, part.prompt(row))
    return Example(_about(part, row), [asked], part.meaning if part.scores is not None else "", _note(part, row))


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
    if part.kind(row) is AnswerKind.UNKNOWN:
        kinds, side = (Mistake.DECLINES_CONTRADICTING, Mistake.DECLINES_CONFIRMING), judged.aligned[row, 0]
    else:
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
            who = "the stereotyped person" if kind == AnswerKind.TARGET else "the other person"
            told = part.context(row) == DISAMBIGUATED
            judged = "right" if right else "wrong" if told else "wrong, since the text does not say"
    if np.isnan(biased):
        return f"The model named a person: {judged}. It is not known which of the two the stereotype is about."
    return f"The model named {who}, which {'agrees with' if biased else 'contradicts'} the stereotype: {judged}."


def _shown(score: float) -> float | None:
    return float(f"{score:.6g}") if np.isfinite(score) else None
