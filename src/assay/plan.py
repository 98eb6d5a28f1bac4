"""Plans: small, picklable recipes for deterministic, index-addressable sequences of queries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.queries import Answers, QueryColumns, Texts, TokenColumns, WordColumns

Arrays = Mapping[str, NDArray[Any]]


class Recipe(Protocol):
    """What any plan has. It must survive pickling and be small: it travels to workers."""

    @property
    def ability(self) -> str:
        """What it asks for: the ability of its columns."""

    @property
    def digest(self) -> str:
        """Names the recipe, the data behind it and the generator's version."""

    def __len__(self) -> int: ...


class Plan(Recipe, Protocol):
    """A plan that makes its queries from what it carries and from files that it names."""

    def columns(self, lo: int, hi: int) -> QueryColumns:
        """Queries lo to hi; the same for ever."""


@runtime_checkable
class ArrayPlan(Recipe, Protocol):
    """A plan that makes its queries from arrays, too large to carry: whoever computes is brought them."""

    @property
    def arrays(self) -> str:
        """The digest that `Ask.keep` gave them; part of the plan's own."""

    def columns_from(self, arrays: Arrays, lo: int, hi: int) -> QueryColumns:
        """Queries lo to hi; the same for ever."""


AnyPlan = Plan | ArrayPlan


class Ask(Protocol):
    """How a probe puts its questions; everything about speed, disk and machines is behind this call."""

    @property
    def abilities(self) -> frozenset[str]:
        """What the model can do."""

    @property
    def ways(self) -> tuple[str, ...]:
        """How an endpoint can be asked for the probabilities of listed options, the best first; none of others."""

    def __call__(self, plan: AnyPlan, label: str) -> Answers: ...

    def keep(self, arrays: Arrays) -> str:
        """Keep arrays for plans that are asked here; returns the digest by which a plan names them."""

    def of(self, model: str) -> Ask:
        """The same for another model, by its name."""


def digest_of(content: Any) -> str:
    """The digest of something that JSON can write, the same whatever the order of its keys.

    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class WordPlan:
    """Asks how the model's tokenizer sees some words."""

    words: tuple[str, ...]
    ability: str = "word"

    @property
    def digest(self) -> str:
        return digest_of(["words", *self.words])

    def __len__(self) -> int:
        return len(self.words)

    def columns(self, lo: int, hi: int) -> WordColumns:
        return WordColumns(Texts.in_order(self.words[lo:hi]))


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
