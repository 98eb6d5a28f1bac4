"""Several models side by side: how well success rates separate groups (Table 9), and which words differ (12 to 20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from assay.findings import Cell, Estimate, Findings, Table
from assay.probes.sodapop.differences import Named, Word, separations, words_in
from assay.probes.sodapop.paired import WORD_DIFFERENCES

TITLES = {
    WORD_DIFFERENCES: "Changes of RD of the words that both have (model's minus baseline's)",
    "separation": "How well success rates alone tell two groups of names apart (KMeans)",
    "words": "RD of words that are clear of chance in at least one model",
}

Models = Sequence[tuple[str, Findings]]  # by name
Words = Mapping[str, Mapping[str, Word]]  # word -> model


@dataclass
class Pairs:
    """Pairs of groups in the order in which models bring them; two models may name a pair's groups in either order."""

    known: dict[Named, None] = field(default_factory=dict)

    def named(self, a: str, b: str) -> Named:
        """The pair as it was named first."""
        if (b, a) in self.known:
            return b, a
        self.known.setdefault((a, b))
        return a, b

    def turned(self, word: Word) -> Word:
        """A word with its groups in the order in which they were named first."""
        return word if self.named(word.group_a, word.group_b)[0] == word.group_a else word.turned


def side_by_side(models: Models) -> dict[str, Table]:
    """Tables over models, given by name and findings: separation, and the words that are clear in any of them."""
    pairs, names = Pairs(), [name for name, _ in models]
    tables = {
        "separation": separation_table(models_apart(models, pairs), dict(zip(names, names, strict=True))),
        "words": word_table(clear_words(models, pairs), names),
    }
    return {name: table for name, table in tables.items() if table.rows}


def models_apart(models: Models, pairs: Pairs) -> dict[Named, dict[str, Estimate]]:
    """KMeans accuracy for every pair of groups and model (Table 9)."""
    found: dict[Named, dict[str, Estimate]] = {}
    for name, findings in models:
        for e in separations(findings):
            if e.value is not None:
                found.setdefault(pairs.named(e.group["a"], e.group["b"]), {})[name] = e
    return found


def separation_table(found: Mapping[Named, Mapping[str, Estimate]], titles: Mapping[str, str]) -> Table:
    """A row for every pair of groups and model; `titles` say what models are called."""
    rows: list[list[Cell]] = [
        [*pair, titles[name], e.value, e.floor, e.p, e.n] for pair, own in found.items() for name, e in own.items()
    ]
    return Table(("group_a", "group_b", "model", "accuracy", "floor", "p", "n"), rows)


def clear_words(models: Models, pairs: Pairs) -> dict[Named, Words]:
    """RD in every model of each word that is clear in any (Tables 12 to 20).

    Within a pair they go from words about the first group to words about the second, by their mean over models.
    """
    found: dict[Named, dict[str, dict[str, Word]]] = {}
    for name, findings in models:
        for word in map(pairs.turned, words_in(findings)):
            found.setdefault((word.group_a, word.group_b), {}).setdefault(word.word, {})[name] = word
    kept = {}
    for pair, words in found.items():
        clear = {word: own for word, own in words.items() if any(each.clear for each in own.values())}
        order = sorted(clear, key=lambda word: (-fmean(each.rd for each in clear[word].values()), word))
        kept[pair] = {word: clear[word] for word in order}
    return {pair: words for pair, words in kept.items() if words}


def word_table(found: Mapping[Named, Words], names: Sequence[str]) -> Table:
    """RD of the pairs' words in the models of these names, and in how many of them each is clear."""
    rows: list[list[Cell]] = []
    for pair, words in found.items():
        for word, own in words.items():
            numbers = [own[name].rd if name in own else None for name in names]
            rows.append([*pair, word, sum(each.clear for each in own.values()), *numbers])
    return Table(("group_a", "group_b", "word", "clear_in", *names), rows)
