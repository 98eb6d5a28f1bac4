"""`stand-in:SEED`: a model whose answers depend on the question's text and the seed alone, so that numbers can be kept.

It can do everything that a model can. Who the people are matters a little to it, so that there is something to find.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.asking.queries import (
    ChoiceQuery,
    EmbedQuery,
    FillQuery,
    MaskQuery,
    QueryColumns,
    SpanQuery,
    TextQuery,
    TokenQuery,
    WordQuery,
)
from assay.asking.tokens import Tokens
from assay.models import kinds
from assay.models.base import ModelSpec, Options

KIND = "stand-in"
HELP = "stand-in:SEED: for tests"
ABILITIES = frozenset({"span", "mask", "fill", "choice", "text", "embed", "word", "token"})
WORDS = (
    *("kind", "calm", "proud", "angry", "happy", "rude", "shy", "brave", "tired", "lazy", "clever", "honest", "mean"),
    *("gentle", "loud", "strict", "warm", "cold", "friendly", "bored", "nice", "smart", "poor", "rich", "strong"),
)
SAID = ("(a)", "(b)", "(c)", "(a)", "(b)", "(c)", "I'm sorry, but I can't answer that.", "bananas")
WIDTH = 12


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the kind known for one test."""
    monkeypatch.setitem(kinds(), KIND, __name__)


def find(name: str, rest: str, options: Options) -> ModelSpec:
    digest = hashlib.sha256(name.encode()).hexdigest()
    return ModelSpec(name, KIND, rest, digest, ABILITIES, "cpu", "float32")


def load(spec: ModelSpec) -> StandIn:
    return StandIn(spec)


class StandIn:
    """Answers when it encodes; `forward` only hands the answers over."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec

    def encode(self, columns: QueryColumns) -> Tokens:
        rows = len(columns)
        answers = [self._answer(columns.row(row), getattr(columns, "top", 0)) for row in range(rows)]
        arrays = {name: np.array([answer[name] for answer in answers]) for name in answers[0]}
        nothing = np.zeros(rows, np.int32)
        return Tokens(columns.ability, nothing, np.arange(rows + 1), nothing, arrays, columns.scoring)

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        return dict(tokens.marks)

    def _chance(self, *texts: str) -> float:
        """A number from 0 to 1 that the texts and the seed decide."""
        return chance(self.spec.place, *texts)

    def _scores(self, about: str, options: tuple[str, ...], scale: float) -> NDArray[np.float32]:
        """Mostly by the text, somewhat by whom it is about."""
        return np.array([scale * (0.7 * self._chance(about, x) + 0.3 * self._chance(x)) for x in options], np.float32)

    def _answer(self, query: Any, top: int) -> dict[str, Any]:
        match query:
            case SpanQuery(question, context, subjects):
                return {"score": self._scores(f"{question}\n{context}", _parts(context, subjects), 1.0)}
            case MaskQuery(text, subjects):
                return {"score": self._scores(text, subjects, 1.0)}
            case ChoiceQuery(context, question, options):
                return {"score": self._scores(f"{context}\n{question}", options, 8.0)}
            case FillQuery(text):
                fit = sorted(((self._chance(text, word), place) for place, word in enumerate(WORDS)), reverse=True)
                probability = np.array([share / len(WORDS) for share, _ in fit[:top]], np.float32)
                return {"token": np.array([place for _, place in fit[:top]], np.int32), "probability": probability}
            case TextQuery(prompt):
                return {"text": SAID[int(self._chance(prompt) * len(SAID))].encode()}
            case EmbedQuery(text, subject):
                (word,) = _parts(text, (subject,))
                places = [str(place) for place in range(WIDTH)]
                own = [self._chance(word, place) + 0.3 * self._chance(text, place) for place in places]
                return {"vector": np.array(own, np.float32)}
            case WordQuery(word):  # all have one tokenizer, so that they are asked the same questions
                return {"pieces": np.int32(1 + (chance(word) > 0.8)), "key": np.uint64(chance(word) * 2**48)}
            case TokenQuery(token):
                return {"text": WORDS[token].encode(), "whole": np.uint8(1)}
        raise NotImplementedError(f"a query of another kind: {query}")


def chance(*texts: str) -> float:
    return int.from_bytes(hashlib.sha256("\n".join(texts).encode()).digest()[:6], "big") / 2**48


def _parts(text: str, places: tuple[tuple[int, int], ...]) -> tuple[str, ...]:
    return tuple(text[lo:hi] for lo, hi in places)
