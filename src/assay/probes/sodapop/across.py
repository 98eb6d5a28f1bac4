"""Several models side by side: how well success rates separate groups (Table 9), and which words differ (12 to 20)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

from assay.findings import Cell, Estimate, Findings, Table
from assay.probes.sodapop.paired import WORD_DIFFERENCES
from assay.verdict import CLEAR

TITLES = {
    WORD_DIFFERENCES: "Changes of RD of the words that both have (model's minus baseline's)",
    "separation": "How well success rates alone tell two groups of names apart (KMeans)",
    "words": "RD of words that are clear of chance in at least one model",
}

Models = Sequence[tuple[str, Findings]]  # by name
Pair = tuple[str, str]


class Rd(NamedTuple):
    """A word's RD for a pair in a model, its q, and the RD that the pools alone give."""

    rd: float
    q: float | None
    pools: float | None

    @property
    def clear(self) -> bool:
        return self.q is not None and self.q <= CLEAR

    @property
    def turned(self) -> Rd:
        """For the groups in the other order."""
        return Rd(-self.rd, self.q, None if self.pools is None else -self.pools)


Words = Mapping[str, Mapping[str, Rd]]  # word -> model


@dataclass
class Pairs:
    """Pairs of groups in the order in which models bring them; two models may name a pair's groups in either order."""

    known: dict[Pair, None] = field(default_factory=dict)

    def named(self, a: str, b: str) -> Pair:
        """The pair as it was named first."""
        if (b, a) in self.known:
            return b, a
        self.known.setdefault((a, b))
        return a, b


def side_by_side(models: Models) -> dict[str, Table]:
    """Tables over models, given by name and findings: separation, and the words that are clear in any of them."""
    pairs, names = Pairs(), [name for name, _ in models]
    columns = ("group_a", "group_b", "model", "accuracy", "floor", "p", "n")
    separation: list[list[Cell]] = [
        [*pair, name, e.value, e.floor, e.p, e.n]
        for pair, own in separations(models, pairs).items()
        for name, e in own.items()
    ]
    words = [row for pair, own in clear_words(models, pairs).items() for row in word_table(pair, own, names).rows]
    tables = {"separation": Table(columns, separation), "words": Table(_word_columns(names), words)}
    return {name: table for name, table in tables.items() if table.rows}


def separations(models: Models, pairs: Pairs) -> dict[Pair, dict[str, Estimate]]:
    """KMeans accuracy for every pair of groups and model (Table 9)."""
    found: dict[Pair, dict[str, Estimate]] = {}
    for name, findings in models:
        for e in findings.estimates:
            if e.metric == "kmeans_accuracy" and e.value is not None and {"a", "b"} <= e.group.keys():
                found.setdefault(pairs.named(e.group["a"], e.group["b"]), {})[name] = e
    return found


def clear_words(models: Models, pairs: Pairs) -> dict[Pair, Words]:
    """RD in every model of each word that is clear in any (Tables 12 to 20).

    Within a pair they go from words about the first group to words about the second, by their mean over models.
    """
    found: dict[Pair, dict[str, dict[str, Rd]]] = {}
    for name, findings in models:
        for (a, b), word, own in _records(findings):
            pair = pairs.named(a, b)
            found.setdefault(pair, {}).setdefault(word, {})[name] = own if pair == (a, b) else own.turned
    kept = {
        pair: {word: own for word, own in words.items() if any(each.clear for each in own.values())}
        for pair, words in found.items()
    }
    return {pair: {word: words[word] for word in _ordered(words)} for pair, words in kept.items() if words}


def word_table(pair: Pair, words: Words, names: Sequence[str]) -> Table:
    """RD of a pair's words in the models of these names, and in how many of them each is clear."""
    rows: list[list[Cell]] = []
    for word, own in words.items():
        numbers = [own[name].rd if name in own else None for name in names]
        rows.append([*pair, word, sum(each.clear for each in own.values()), *numbers])
    return Table(_word_columns(names), rows)


def _word_columns(names: Sequence[str]) -> tuple[str, ...]:
    return "group_a", "group_b", "word", "clear_in", *names


def _ordered(words: Words) -> list[str]:
    return sorted(words, key=lambda word: (-fmean(each.rd for each in words[word].values()), word))


def _records(findings: Findings) -> Iterator[tuple[Pair, str, Rd]]:
    """The words of a model's findings whose RD is defined."""
    for record in findings.tables.get("words", Table((), ())).records():
        rd, q, pools = (_number(record.get(column)) for column in ("rd", "q", "rd_pools"))
        if rd is not None:
            yield (str(record["group_a"]), str(record["group_b"])), str(record["word"]), Rd(rd, q, pools)


def _number(value: Cell) -> float | None:
    return float(value) if isinstance(value, int | float) else None
