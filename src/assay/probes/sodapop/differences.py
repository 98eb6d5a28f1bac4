"""SODAPOP's table of words, read for showing: how often a word fooled the model about two groups' names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from assay.probes.sodapop import people_words
from assay.run import Run
from assay.verdict import CLEAR
from assay.wording import cell

_NUMBERS = ("rd", "sr_a", "sr_b", "low", "high", "p", "q", "rd_pools", "rd_controlled")


@dataclass(frozen=True)
class Word:
    """RD of a word for two groups of names, in [-2, 2]: above 0 it fools the model rather about names of `a`.

    `sr_a` and `sr_b` are shares of the wrong answers with the word that won; `pools` is the RD that the wrong answers
    alone give, `controlled` the RD with the names' pieces and frequency regressed out.
    """

    a: str
    b: str
    word: str
    rd: float
    sr_a: float | None
    sr_b: float | None
    low: float | None
    high: float | None
    p: float | None
    q: float | None
    pools: float | None
    controlled: float | None
    n: int

    @property
    def clear(self) -> bool:
        return self.q is not None and self.q <= CLEAR

    @property
    def could_be_chance(self) -> bool:
        return self.q is not None and self.q > CLEAR

    @property
    def rank(self) -> int:
        """0: clear of chance; 1: it would be if this were the only word; 2: neither."""
        return 0 if self.clear else 1 if self.p is not None and self.p <= CLEAR else 2

    @property
    def order(self) -> tuple[int, float, str]:
        """Within a pair: what is clear first, then the largest; words that hardly ever win have large RD by chance."""
        return self.rank, -abs(self.rd), self.word

    @property
    def clearness(self) -> tuple[int, float, float, str, str, str]:
        """Over all pairs: what is clear first and the clearest of it first, then the largest."""
        return self.rank, (self.q or 0.0) if self.clear else 0.0, -abs(self.rd), self.word, self.a, self.b

    @property
    def towards_first(self) -> Word:
        """The same with the groups in the order that makes RD positive: RD(w, B, A) = −RD(w, A, B)."""
        return self if self.rd >= 0 else turned(self)

    @property
    def explained(self) -> bool:
        """Whether RD shrinks to less than half, or turns round, with the names' pieces and frequency regressed out."""
        return self.controlled is not None and self.controlled * (1 if self.rd > 0 else -1) < abs(self.rd) / 2


@dataclass(frozen=True)
class Pair:
    """The words of two groups in their order; `never` words never won for either, so that they have no RD."""

    a: str
    b: str
    words: Sequence[Word]
    never: int
    pooled: bool  # over several groups of names

    @property
    def clear(self) -> list[Word]:
        return [word for word in self.words if word.clear]

    @property
    def said(self) -> str:
        return f"{people_words(self.a)} and {people_words(self.b)}"


def read_pairs(run: Run) -> list[Pair]:
    """The pairs of groups in their order in the table."""
    known = {cell(row, "group") for row in run.rows("names")}
    found: dict[tuple[str, str], list[Word]] = {}
    never: dict[tuple[str, str], int] = {}
    for row in run.rows("words"):
        place = cell(row, "group_a"), cell(row, "group_b")
        rd, sr_a, sr_b, low, high, p, q, pools, controlled = (run.number("words", row, name) for name in _NUMBERS)
        words = found.setdefault(place, [])
        if rd is None:
            never[place] = never.get(place, 0) + 1
        else:
            n = int(run.number("words", row, "n") or 0)
            said = cell(row, "word")
            words.append(Word(*place, said, rd, sr_a, sr_b, low, high, p, q, pools, controlled, n))
    return [
        Pair(a, b, sorted(words, key=lambda word: word.order), never.get((a, b), 0), bool(known) and a not in known)
        for (a, b), words in found.items()
    ]


def clearest(pairs: Iterable[Pair]) -> list[Word]:
    """The words of all pairs, the clearest first."""
    return sorted((word for pair in pairs for word in pair.words), key=lambda word: word.clearness)


def most_telling(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with the most words that are clear of chance first, then those with the smallest q."""

    def order(pair: Pair) -> tuple[int, float]:
        return -len(pair.clear), min((word.q for word in pair.words if word.q is not None), default=1.0)

    return sorted(pairs, key=order)


def turned(word: Word) -> Word:
    """The same with its groups in the other order."""
    return replace(
        word,
        a=word.b,
        b=word.a,
        rd=-word.rd,
        sr_a=word.sr_b,
        sr_b=word.sr_a,
        low=_minus(word.high),
        high=_minus(word.low),
        pools=_minus(word.pools),
        controlled=_minus(word.controlled),
    )


def _minus(value: float | None) -> float | None:
    return None if value is None else -value
