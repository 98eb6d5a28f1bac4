"""SODAPOP over several models: how well each tells groups apart (Table 9), and which words differ (Tables 12 to 20)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from assay.findings import Cell, Table
from assay.report.across import run_names
from assay.report.content import Content
from assay.report.heat import Heat, heat_map
from assay.report.sodapop_figures import above_chance
from assay.report.sodapop_words import Word, read_pairs, turned
from assay.report.words import people_words

MOST_PAIRS = 30

Pair = tuple[str, str]
Beside = dict[str, dict[tuple[str, str], float | None]]


@dataclass(frozen=True)
class Words:
    """The words of a pair of groups that are clear of chance in at least one model."""

    pair: str
    heat: Heat
    table: Table


@dataclass
class _Pairs:
    """Pairs of groups as they were named first: two models may name a pair's groups in either order."""

    known: dict[Pair, None] = field(default_factory=dict)

    def named(self, a: str, b: str) -> Pair:
        if (b, a) in self.known:
            return b, a
        self.known.setdefault((a, b))
        return a, b


def sodapop_models(contents: Sequence[Content]) -> dict[str, Any]:
    """What several models show together."""
    names = run_names(contents)
    pairs = _Pairs()
    return {
        "separation": _separation(names, contents, pairs),
        "words": _words(names, contents, pairs),
        "most_pairs": MOST_PAIRS,
    }


def _separation(names: Sequence[str], contents: Sequence[Content], pairs: _Pairs) -> Heat | None:
    """By how much KMeans' accuracy exceeds what chance gives, for each pair of groups and model."""
    cells: dict[tuple[str, str], float] = {}
    beside: Beside = {"accuracy": {}, "chance": {}, "p": {}, "n": {}}
    for name, content in zip(names, contents, strict=True):
        for e in content.findings.estimates:
            above = above_chance(e)
            if e.metric != "kmeans_accuracy" or not {"a", "b"} <= e.group.keys() or above is None:
                continue
            key = _said(pairs.named(e.group["a"], e.group["b"])), name
            cells[key] = above
            for column, value in zip(beside, (e.value, e.floor, e.p, e.n), strict=True):
                beside[column][key] = value
    return heat_map("", cells, beside)


def _words(names: Sequence[str], contents: Sequence[Content], pairs: _Pairs) -> list[Words]:
    """The pairs with most such words first."""
    found: dict[Pair, dict[str, dict[str, Word]]] = {}  # pair -> word -> model
    for name, content in zip(names, contents, strict=True):
        for pair in read_pairs(content):
            key = pairs.named(pair.a, pair.b)
            for word in pair.words:
                own = word if (word.a, word.b) == key else turned(word)
                found.setdefault(key, {}).setdefault(word.word, {})[name] = own
    clear = [
        (key, {word: own for word, own in words.items() if any(each.clear for each in own.values())})
        for key, words in found.items()
    ]
    shown = sorted((each for each in clear if each[1]), key=lambda each: -len(each[1]))[:MOST_PAIRS]
    return [_of_pair(key, words, names) for key, words in shown]


def _of_pair(pair: Pair, words: dict[str, dict[str, Word]], names: Sequence[str]) -> Words:
    cells = {(word, name): each.rd for word, own in words.items() for name, each in own.items()}
    beside: Beside = {
        "q": {(word, name): each.q for word, own in words.items() for name, each in own.items()},
        "pools alone": {(word, name): each.pools for word, own in words.items() for name, each in own.items()},
    }
    known = {column: numbers for column, numbers in beside.items() if any(value for value in numbers.values())}
    heat = heat_map(_said(pair), cells, known)
    assert heat is not None  # there is a word
    order = sorted(words, key=lambda word: (-fmean(each.rd for each in words[word].values()), word))
    rows: list[list[Cell]] = []
    for word in order:
        own = words[word]
        numbers = [own[name].rd if name in own else None for name in names]
        rows.append([*pair, word, sum(each.clear for each in own.values()), *numbers])
    return Words(_said(pair), heat, Table(("group_a", "group_b", "word", "clear_in", *names), rows))


def _said(pair: Pair) -> str:
    return f"{people_words(pair[0])} and {people_words(pair[1])}"
