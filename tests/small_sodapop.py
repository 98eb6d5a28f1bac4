"""SODAPOP without a model: fills from a function, scores from a function, and small files of names and contexts."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from assay.asking.plan import AnyPlan, Arrays
from assay.asking.queries import MASK, Answers, ChoiceColumns, ChoiceQuery, FillColumns, TokenColumns, WordColumns
from assay.engine.store import columns_of
from assay.errors import UsageError
from assay.probes.sodapop.contexts import NAME, Context
from fake_models import MemoryArrays

BLANK = "?"
"""Stands for the masked word in the tests' own tables."""

GROUPS = {"A": ["Ann", "Amy"], "B": ["Bob", "Ben"]}


@dataclass(frozen=True)
class Token:
    """What a model puts in place of a mask: a text, and whether it is a word of its own."""

    text: str
    whole: bool = True


SPECIAL, PIECE = Token("", whole=False), Token("ly", whole=False)

Fill = Callable[[str], Sequence[str | Token]]
Score = Callable[[ChoiceQuery], float]
Choose = Callable[[ChoiceQuery], Sequence[float]]


def no_fill(text: str) -> Sequence[str | Token]:
    raise AssertionError(f"nobody should fill {text!r}")


def no_score(query: ChoiceQuery) -> float:
    raise AssertionError(f"nobody should score {query}")


def no_choice(query: ChoiceQuery) -> Sequence[float]:
    raise AssertionError(f"nobody should choose in {query}")


@dataclass
class FakeAsk:
    """Asks functions: `fill` gets a text with BLANK in it and gives its tokens, `score` gives the score of one option,
    `choose` the probabilities of listed ones.

    `filled` are the texts that were filled and `scored` the questions that were scored, in the order of asking.
    """

    fill: Fill = no_fill
    score: Score = no_score
    choose: Choose = no_choice
    ways: tuple[str, ...] = ()
    others: Mapping[str, FakeAsk] = field(default_factory=dict)
    abilities: frozenset[str] = frozenset({"fill", "choice", "word", "token"})
    filled: list[str] = field(default_factory=list)
    scored: list[ChoiceQuery] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    arrays: MemoryArrays = field(default_factory=MemoryArrays)
    _tokens: dict[Token, int] = field(default_factory=dict)

    def of(self, model: str) -> FakeAsk:
        if model not in self.others:
            raise UsageError(f"there is no {model}.", "There is one model here.")
        return self.others[model]

    def keep(self, arrays: Arrays) -> str:
        self.arrays = MemoryArrays()  # plans are asked before the next one's arrays are kept
        return self.arrays.keep(arrays)

    def __call__(self, plan: AnyPlan, label: str) -> Answers:
        assert plan.ability in self.abilities
        self.labels.append(label)
        columns: Any = columns_of(plan, self.arrays, 0, len(plan))
        assert len(columns) == len(plan)
        return Answers(np.zeros(len(plan), np.uint8), self._answers(columns))

    def _answers(self, columns: Any) -> dict[str, Any]:
        match columns:
            case FillColumns():
                texts = [columns.row(row).text.replace(MASK, BLANK) for row in range(len(columns))]
                self.filled += texts
                return {"token": np.array([self._fills(text, columns.top) for text in texts], np.int32)}
            case ChoiceColumns():
                queries = [columns.row(row) for row in range(len(columns))]
                self.scored += queries
                if columns.ability == "listed" or columns.choices == ["A", "B", "C"]:
                    with np.errstate(divide="ignore"):
                        return {"score": np.log(np.array([self.choose(query) for query in queries], np.float64))}
                return {"score": np.array([[self.score(query)] for query in queries], np.float32)}
            case TokenColumns():
                tokens = {number: token for token, number in self._tokens.items()}
                asked = [tokens[number] for number in columns.tokens.tolist()]
                return {
                    "text": np.array([token.text.encode() for token in asked], np.bytes_),
                    "whole": np.array([token.whole for token in asked], np.uint8),
                }
            case WordColumns():
                words = [columns.words[row] for row in range(len(columns))]
                return {"pieces": np.array([(len(word) + 3) // 4 for word in words], np.int32)}
        raise AssertionError(f"nobody can answer {columns}")

    def _fills(self, text: str, top: int) -> list[int]:
        tokens = [Token(each) if isinstance(each, str) else each for each in self.fill(text)]
        assert len(tokens) == top, f"{len(tokens)} fills of {text!r}, expected {top}"
        return [self._tokens.setdefault(token, 100_000 - len(self._tokens)) for token in tokens]


def hashed(*texts: object) -> float:
    """A number in [0, 1) that only these texts decide."""
    return zlib.crc32(repr(texts).encode()) / 2**32


def name_blind(query: ChoiceQuery) -> float:
    """A score of the option alone, with many ties."""
    (option,) = query.options
    return round(hashed(option) * 20)


def name_dependent(query: ChoiceQuery) -> float:
    (option,) = query.options
    return round(hashed(query.context, option) * 20)


def context(answer: str = "very kind", text: str = f"{NAME} came home.") -> Context:
    return Context(text, f"How would you describe {NAME}?", f"{NAME} is", answer, "a test")


def group_file(folder: Path, groups: Mapping[str, Any] | None = None) -> Path:
    path = folder / "groups.json"
    path.write_text(json.dumps(GROUPS if groups is None else groups), encoding="utf-8")
    return path


def text_file(folder: Path, *answers: str, question: str = "How would you describe Ann?") -> Path:
    """Contexts in Social IQa's format, one for each right answer."""
    rows = [
        {
            "context": f"Ann came to place number {number} and stayed.",
            "question": question,
            "answerA": answer,
            "answerB": "tall",
            "answerC": "wet",
            "correct": "A",
        }
        for number, answer in enumerate(answers)
    ]
    path = folder / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
