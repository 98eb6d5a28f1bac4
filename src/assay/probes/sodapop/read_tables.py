"""Reads a run's words and groups of names for display: RD word by word, and which groups are told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from assay.probes.sodapop import say_pair, spelled_pair
from assay.results.findings import Cell, Estimate, Findings, is_claimed
from assay.results.formatting import cell
from assay.results.run import Run
from assay.results.verdict import CLEAR, Chance

_NUMBERS = ("low", "high", "sr_a", "sr_b", "p", "q", "rd_pools", "rd_controlled")

Named = tuple[str, str]  # two groups


class WordDifference(NamedTuple):
    """RD of a word for two groups of names, in [-2, 2]: above 0 it fools the model more often for names of `group_a`.

    `sr_a` and `sr_b` are the shares of wrong answers with the word that were chosen; `rd_pools` is the RD that the
    wrong answers alone give, `rd_controlled` the RD with the names' tokens and frequency regressed out. `note` says why
    the interval does not exclude 0 although p is small.
    """

    group_a: str
    group_b: str
    word: str
    rd: float
    low: float | None
    high: float | None
    sr_a: float | None
    sr_b: float | None
    p: float | None
    q: float | None
    claimed: int | None
    rd_pools: float | None
    rd_controlled: float | None
    n: int
    note: str | None = None

    @property
    def clear(self) -> bool:
        return self.claimed == 1

    @property
    def rank(self) -> int:
        """0: statistically clear; 1: it would be if this were the only word; 2: neither."""
        return 0 if self.clear else 1 if self.p is not None and self.p <= CLEAR else 2

    @property
    def sides(self) -> tuple[str, str]:
        """Both groups in words."""
        return spelled_pair((self.group_a, self.group_b))

    @property
    def turned(self) -> WordDifference:
        """The same with its groups in the other order: RD(w, B, A) = −RD(w, A, B)."""
        low, high, pools, controlled = (
            None if value is None else -value for value in (self.high, self.low, self.rd_pools, self.rd_controlled)
        )
        return self._replace(
            group_a=self.group_b,
            group_b=self.group_a,
            rd=-self.rd,
            low=low,
            high=high,
            sr_a=self.sr_b,
            sr_b=self.sr_a,
            rd_pools=pools,
            rd_controlled=controlled,
        )

    @property
    def towards_first(self) -> WordDifference:
        """The same with the groups in the order that makes RD positive."""
        return self if self.rd >= 0 else self.turned

    @property
    def explained(self) -> bool:
        """Whether RD shrinks to less than half, or turns round, with the names' tokens and frequency regressed out."""
        controlled = self.rd_controlled
        return controlled is not None and controlled * (1 if self.rd > 0 else -1) < abs(self.rd) / 2


@dataclass(frozen=True)
class GroupDifference:
    """The words of two groups in their order; `never` counts words that never won for either and so have no RD."""

    a: str
    b: str
    words: Sequence[WordDifference]
    never: int
    pooled: bool  # over several groups of names

    @property
    def clear(self) -> list[WordDifference]:
        return [word for word in self.words if word.clear]

    @property
    def title(self) -> str:
        return say_pair((self.a, self.b))

    @property
    def sides(self) -> tuple[str, str]:
        """Both groups in words."""
        return spelled_pair((self.a, self.b))


def words_in(findings: Findings) -> Iterator[WordDifference]:
    """The words whose RD is defined, of all pairs; a cell of the table that is not a number counts as missing."""

    def number(row: Mapping[str, Cell], column: str) -> float | None:
        value = row.get(column)
        return float(value) if isinstance(value, int | float) else None

    rows = findings.tables["words"].records() if "words" in findings.tables else ()
    return filter(None, (_word(row, partial(number, row)) for row in rows))


def _word(row: Mapping[str, Cell], number: Callable[[str], float | None]) -> WordDifference | None:
    """A row of the table of words, whose numbers `number` reads; None where it has no RD."""
    rd, claimed = number("rd"), is_claimed(row)
    if rd is None:
        return None
    return WordDifference(
        group_a=cell(row, "group_a"),
        group_b=cell(row, "group_b"),
        word=cell(row, "word"),
        rd=rd,
        claimed=None if claimed is None else int(claimed),
        n=int(number("n") or 0),
        note=cell(row, "note") or None,
        **{name: number(name) for name in _NUMBERS},
    )


def read_pairs(run: Run) -> list[GroupDifference]:
    """The pairs of groups in the table's order.

    Within a pair, clear words come first, then the largest: words that hardly ever win have a large RD by chance.
    """
    groups = {cell(row, "group") for row in run.rows("names")}
    words_by_pair: dict[Named, list[WordDifference | None]] = {}
    for row in run.rows("words"):
        pair = cell(row, "group_a"), cell(row, "group_b")
        words_by_pair.setdefault(pair, []).append(_word(row, partial(run.number, "words", row)))
    pairs = []
    for (a, b), words in words_by_pair.items():
        defined = sorted(filter(None, words), key=lambda word: (word.rank, -abs(word.rd), word.word))
        pairs.append(GroupDifference(a, b, defined, len(words) - len(defined), bool(groups) and a not in groups))
    return pairs


def knows_pieces(run: Run) -> bool:
    """Whether the names' tokens are known; without the model's tokenizer, `rd_controlled` leaves them out."""
    return any(run.number("names", row, "pieces") is not None for row in run.rows("names"))


def clearest(pairs: Iterable[GroupDifference]) -> list[WordDifference]:
    """The words of all pairs: clear ones first (smallest q first), then by size."""

    def order(word: WordDifference) -> tuple[int, float, float, str, str, str]:
        clearness = (word.q or 0.0) if word.clear else 0.0
        return word.rank, clearness, -abs(word.rd), word.word, word.group_a, word.group_b

    return sorted((word for pair in pairs for word in pair.words), key=order)


def most_telling(pairs: Sequence[GroupDifference]) -> list[GroupDifference]:
    """The pairs, those with the most clear words first, then by smallest q."""

    def order(pair: GroupDifference) -> tuple[int, float]:
        return -len(pair.clear), min((word.q for word in pair.words if word.q is not None), default=1.0)

    return sorted(pairs, key=order)


def separations(findings: Findings) -> list[Estimate]:
    """KMeans' accuracy for the pairs of groups."""
    accuracies = [estimate for estimate in findings.estimates if estimate.metric == "kmeans_accuracy"]
    return [estimate for estimate in accuracies if {"a", "b"} <= estimate.group.keys()]


def told_apart(estimate: Estimate) -> bool:
    """Whether the groups are told apart better than chance."""
    return estimate.chance is Chance.ABOVE
