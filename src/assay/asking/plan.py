"""Plans: small, picklable recipes for deterministic, index-addressable sequences of queries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import Answers, QueryColumns, StringColumn, TokenColumns, WordColumns

Arrays = Mapping[str, NDArray[Any]]


class BasePlan(Protocol):
    """What every plan has. It is sent to workers, so it must be small and picklable, and its fields must be numbers,
    texts, tuples, and dataclasses and named tuples of these (`engine/plan_json.py`).
    """

    @property
    def ability(self) -> str:
        """The ability that its questions need."""

    @property
    def digest(self) -> str:
        """Identifies the recipe, its data and the generator's version."""

    def __len__(self) -> int: ...


class Plan(BasePlan, Protocol):
    """A plan that makes its queries from its own fields and from files that it names."""

    def columns(self, lo: int, hi: int) -> QueryColumns:
        """Queries lo to hi; the same for ever."""


@runtime_checkable
class ArrayPlan(BasePlan, Protocol):
    """A plan that makes its queries from arrays that are too large for its fields; the engine supplies them."""

    @property
    def arrays(self) -> str:
        """The digest that `Ask.keep` returned; it is part of the plan's digest."""

    def columns_from(self, arrays: Arrays, lo: int, hi: int) -> QueryColumns:
        """Queries lo to hi; the same for ever."""


AnyPlan = Plan | ArrayPlan


class Ask(Protocol):
    """How a probe asks its questions; the engine decides about speed, disk and machines."""

    @property
    def abilities(self) -> frozenset[str]:
        """The model's abilities."""

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways to get probabilities of listed options from an endpoint, the best first; empty for other models."""

    def __call__(self, plan: AnyPlan, label: str) -> Answers: ...

    def keep(self, arrays: Arrays) -> str:
        """Store arrays for plans; returns the digest that a plan refers to."""

    def of(self, model: str) -> Ask:
        """An `Ask` for another model, by its name."""


def digest_of(content: Any) -> str:
    """The digest of a JSON value; it does not depend on the order of keys.

    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class WordPlan:
    """Asks how the model's tokenizer splits some words."""

    words: tuple[str, ...]
    ability: str = "word"

    @property
    def digest(self) -> str:
        return digest_of(["words", *self.words])

    def __len__(self) -> int:
        return len(self.words)

    def columns(self, lo: int, hi: int) -> WordColumns:
        return WordColumns(StringColumn.in_order(self.words[lo:hi]))


@dataclass(frozen=True)
class TokenPlan:
    """Asks what some of the model's tokens stand for."""

    tokens: tuple[int, ...]
    ability: str = "token"

    @property
    def digest(self) -> str:
        return digest_of(["tokens", *self.tokens])

    def __len__(self) -> int:
        return len(self.tokens)

    def columns(self, lo: int, hi: int) -> TokenColumns:
        return TokenColumns(np.array(self.tokens[lo:hi], np.int32))
