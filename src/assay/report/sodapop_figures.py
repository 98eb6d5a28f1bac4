"""SODAPOP's figures: the words of every pair of groups on one scale, and which groups clusters tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.examples import Wanted
from assay.findings import Cell, Estimate, Table
from assay.report.bars import Bar, Scale, bar, signed_scale
from assay.report.content import Content
from assay.report.headline import Line, Verdict, line_of, numbered_notes
from assay.report.heat import Heat, heat_map
from assay.report.sodapop_words import Pair, Word, most_telling
from assay.report.words import group_words, interval, number

MOST_PAIRS = 40
MOST_ROWS = 240  # words over all pairs, about
MOST_WORDS, FEWEST_WORDS = 12, 5  # of each pair
OPEN_PAIRS = 3  # that are unfolded
MANY_PAIRS, MANY_GROUPS = 6, 4  # from which on a map is clearer than a list

ACCURACY = Scale(0.5, 1.0)


@dataclass(frozen=True)
class Drawn:
    """A word with its bar."""

    row: Word
    bar: Bar | None


@dataclass(frozen=True)
class Shown:
    """The first words of a pair of groups, the same as a table, and how many more there are."""

    pair: Pair
    rows: Sequence[Drawn]
    left_out: int
    unfolded: bool

    @property
    def table(self) -> Table:
        columns = ("group_a", "group_b", "word", "rd", "low", "high", "sr_a", "sr_b", "p", "q")
        lines = [
            [r.a, r.b, r.word, r.rd, r.low, r.high, r.sr_a, r.sr_b, r.p, r.q, r.pools, r.controlled, r.n]
            for r in (drawn.row for drawn in self.rows)
        ]
        return Table((*columns, "rd_pools", "rd_controlled", "n"), lines)


@dataclass(frozen=True)
class Separation:
    """KMeans' accuracy for a pair of groups, and how many of its words are clear of chance."""

    line: Line
    clear: int

    @property
    def tested(self) -> bool:
        return self.line.verdict in (Verdict.ABOVE, Verdict.WITHIN)

    @property
    def above(self) -> bool:
        return self.line.verdict is Verdict.ABOVE


def word_figures(pairs: Sequence[Pair]) -> dict[str, Any]:
    """The pairs to show with their words on one scale."""
    telling = most_telling(pairs)[:MOST_PAIRS]
    each = min(MOST_WORDS, max(FEWEST_WORDS, MOST_ROWS // max(1, len(telling))))
    chosen = [(pair, pair.words[:each]) for pair in telling]
    scale = _scale(word for _, words in chosen for word in words)
    every = [word for _, words in chosen for word in words]
    has_pools = any(word.pools for word in every)
    shown = [
        Shown(pair, [_draw(scale, word, has_pools) for word in words], len(pair.words) - len(words), place < OPEN_PAIRS)
        for place, (pair, words) in enumerate(chosen)
    ]
    return {
        "shown": shown,
        "scale": scale,
        "has_pools": has_pools,
        "has_controlled": any(word.controlled is not None for word in every),
        "has_beyond": any(drawn.bar is not None and drawn.bar.beyond for each in shown for drawn in each.rows),
    }


def _scale(words: Iterable[Word]) -> Scale:
    """A scale for nine of ten words and all that are clear: one that hardly ever wins must not squeeze the others."""
    rows = list(words)
    sizes = sorted(abs(word.rd) for word in rows)
    most = sizes[(len(sizes) - 1) * 9 // 10] if sizes else None
    return signed_scale([most, *(word.rd for word in rows if word.clear)])


def _draw(scale: Scale, word: Word, has_pools: bool) -> Drawn:
    pools = word.pools if has_pools else None
    described = [] if word.low is None else [f"Interval {interval(word.low, word.high)}."]
    described += [] if pools is None else [f"The pools alone give {number(pools)}."]
    title = f"{word.word}: RD {number(word.rd)}"
    return Drawn(word, bar(scale, word.rd, word.low, word.high, None, title, " ".join(described), pools))


def read_separations(content: Content, pairs: Sequence[Pair]) -> list[Separation]:
    """The pairs of groups, those told apart most surely first."""
    estimates = content.findings.estimates
    notes = numbered_notes(estimates)
    clear = {(pair.a, pair.b): len(pair.clear) for pair in pairs}
    found = [
        Separation(
            line_of(each, group_words(each.group), notes, ACCURACY), clear.get((each.group["a"], each.group["b"]), 0)
        )
        for each in estimates
        if each.metric == "kmeans_accuracy" and {"a", "b"} <= each.group.keys()
    ]

    def order(each: Separation) -> tuple[bool, float, float]:
        estimate = each.line.estimate
        return estimate.value is None, 1.0 if estimate.p is None else estimate.p, -(estimate.value or 0.0)

    return sorted(found, key=order)


def separation_table(separations: Sequence[Separation]) -> Table:
    """The same as a table."""
    rows: list[list[Cell]] = []
    for each in separations:
        e = each.line.estimate
        rows.append([e.group["a"], e.group["b"], e.value, e.floor, e.p, e.n, each.clear])
    return Table(("group_a", "group_b", "accuracy", "chance", "p", "n", "clear_words"), rows)


def separation_map(separations: Sequence[Separation]) -> Heat | None:
    """By how much accuracy exceeds what chance gives, group by group; none where a list shows it as well."""
    cells: dict[tuple[str, str], float] = {}
    beside: dict[str, dict[tuple[str, str], float | None]] = {"accuracy": {}, "chance": {}, "p": {}, "n": {}}
    for each in separations:
        e = each.line.estimate
        above = above_chance(e)
        for key in ((e.group["a"], e.group["b"]), (e.group["b"], e.group["a"])):
            if above is not None:
                cells[key] = above
                for name, value in zip(beside, (e.value, e.floor, e.p, e.n), strict=True):
                    beside[name][key] = value
    groups = {group for key in cells for group in key}
    if len(cells) < 2 * MANY_PAIRS or len(groups) < MANY_GROUPS:
        return None
    return heat_map("", cells, beside)


def above_chance(estimate: Estimate) -> float | None:
    """A value less what chance gives."""
    if estimate.value is None or estimate.floor is None:
        return None
    return estimate.value - estimate.floor


def behind_word(word: Word) -> Wanted:
    """Which examples stand behind a word's RD."""
    return {"group": [word.a, word.b], "word": word.word}


def behind_pair(estimate: Estimate) -> Wanted:
    """Which examples stand behind an estimate of two groups.

    >>> behind_pair(Estimate("kmeans_accuracy", {"a": "EA", "b": "AA"}, 0.8))
    {'group': ['EA', 'AA']}
    """
    group = dict(estimate.group)
    pair = [group.pop(side) for side in ("a", "b") if side in group]
    return {**group, "group": pair} if pair else group
