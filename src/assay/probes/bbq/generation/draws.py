"""Random draws for generated data: the same for ever."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Draws:
    """Random draws that depend on the key alone: on no version of numpy, and on no other key's draws.

    >>> [Draws(seed, "Age").sample("abcdefgh", 3) for seed in (0, 0, 1)]
    [['h', 'f', 'c'], ['h', 'f', 'c'], ['d', 'a', 'c']]
    """

    def __init__(self, *key: int | str) -> None:
        digest = hashlib.sha256(repr(key).encode()).digest()
        self._bits = np.random.PCG64(int.from_bytes(digest, "big"))  # numpy promises that its raw stream never changes

    def below(self, number: int) -> int:
        """A whole number from 0 to number - 1."""
        return int(self._bits.random_raw()) * number >> 64

    def choice(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], number: int) -> list[T]:
        """So many of them without repetition in random order, or all of them where there are no more."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(min(number, len(rest)))]

    def some(self, items: Sequence[T], number: int) -> Sequence[T]:
        """All of them, in their order, where there are fewer than `number`; else so many in random order."""
        return items if len(items) < number else self.sample(items, number)
