"""Several models side by side: how well success rates separate groups (Table 9), and which words differ (12 to 20).

And two of them on the same names, contexts and words (`opened`, `paired`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from assay.findings import Cell, Findings, Table
from assay.probes.sodapop.paired import WORD_DIFFERENCES, opened, paired

__all__ = ["TITLES", "comparison", "opened", "paired"]

TITLES = {
    WORD_DIFFERENCES: "Changes of RD of the words that both have (model's minus baseline's)",
    "separation": "How well success rates alone tell two groups of names apart (KMeans)",
    "words": "RD of words that are clear of chance in at least one model",
}

CLEAR = 0.05
"""A word is clear of chance in a model where its q is at most this."""

Pair = tuple[str, str]


@dataclass
class _Pairs:
    """Pairs of groups in the order in which models bring them; two models may name a pair's groups in either order."""

    known: dict[Pair, None] = field(default_factory=dict)

    def add(self, a: str, b: str) -> tuple[Pair, int]:
        """The pair as it was named first, and −1 where it is the other way round here, else 1."""
        if (b, a) in self.known:
            return (b, a), -1
        self.known.setdefault((a, b))
        return (a, b), 1


def comparison(models: Sequence[tuple[str, Findings]]) -> dict[str, Table]:
    """Tables over models, given by name and findings: separation, and the words that are clear in any of them."""
    pairs = _Pairs()
    tables = {"separation": _separation(models, pairs), "words": _words(models, pairs)}
    return {name: table for name, table in tables.items() if table.rows}


def _separation(models: Sequence[tuple[str, Findings]], pairs: _Pairs) -> Table:
    """KMeans accuracy for every pair of groups and model (Table 9)."""
    rows: dict[Pair, list[list[Cell]]] = {}
    for name, findings in models:
        for estimate in findings.estimates:
            if estimate.metric == "kmeans_accuracy" and estimate.value is not None:
                pair, _ = pairs.add(estimate.group["a"], estimate.group["b"])
                numbers: list[Cell] = [estimate.value, estimate.floor, estimate.p, estimate.n]
                rows.setdefault(pair, []).append([*pair, name, *numbers])
    columns = ("group_a", "group_b", "model", "accuracy", "floor", "p", "n")
    return Table(columns, [row for own in rows.values() for row in own])


def _words(models: Sequence[tuple[str, Findings]], pairs: _Pairs) -> Table:
    """RD in every model of each word that is clear in any (Tables 12 to 20).

    Within a pair they go from words about the first group to words about the second, by their mean over models.
    """
    found: dict[Pair, dict[str, dict[str, float]]] = {}  # pair -> word -> model -> RD
    clear: dict[tuple[Pair, str], int] = {}  # in how many models
    for name, findings in models:
        for a, b, word, rd, q in _records(findings):
            pair, sign = pairs.add(a, b)
            found.setdefault(pair, {}).setdefault(word, {})[name] = sign * rd
            if q is not None and q <= CLEAR:
                clear[pair, word] = clear.get((pair, word), 0) + 1
    rows: list[list[Cell]] = []
    for pair, words in found.items():
        kept = [word for word in words if (pair, word) in clear]
        for word in sorted(kept, key=lambda word: (-fmean(words[word].values()), word)):
            rows.append([*pair, word, clear[pair, word], *(words[word].get(name) for name, _ in models)])
    return Table(("group_a", "group_b", "word", "clear_in", *(name for name, _ in models)), rows)


def _records(findings: Findings) -> Iterator[tuple[str, str, str, float, float | None]]:
    """The words of a model's findings whose RD is defined."""
    table = findings.tables.get("words", Table((), ()))
    for record in table.records():
        rd, q = record["rd"], record["q"]
        if isinstance(rd, int | float):
            told = float(q) if isinstance(q, int | float) else None
            yield str(record["group_a"]), str(record["group_b"]), str(record["word"]), float(rd), told
