"""What is said about a SODAPOP run beyond its estimates: the facts of its first paragraphs, and its figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from assay.report.bars import Bar, Scale, bar, signed_scale
from assay.report.content import Content
from assay.report.headline import Line, Verdict, line_of, numbered_notes
from assay.report.sodapop_scatter import scatter
from assay.report.sodapop_tables import read_names, read_traits
from assay.report.sodapop_words import Pair, Word, clearest, most_telling, read_pairs
from assay.report.words import CLEAR, group_words, interval, number, people_words, share

MOST_TOLD = 4  # words in the first paragraphs
MOST_SEPARATED = 3  # pairs of groups in a sentence
MOST_PAIRS = 10
MOST_WORDS = 12  # of each pair
MOST_NAMES = 300
OPEN_PAIRS, OPEN_TRAITS = 3, 2  # pairs that are unfolded
MOST_NAMED = 6  # words of a folded pair

CODES: Mapping[str, str] = {
    "EA": "European American",
    "AA": "African American",
    "AS": "Asian",
    "HS": "Hispanic",
}
"""What the paper's names of groups stand for."""

ACCURACY = Scale(0.5, 1.0)


@dataclass(frozen=True)
class Drawn:
    """A word with its bar."""

    row: Word
    bar: Bar | None


@dataclass(frozen=True)
class Shown:
    """The first words of a pair of groups, and how many more there are."""

    pair: Pair
    rows: Sequence[Drawn]
    left_out: int
    unfolded: bool


@dataclass(frozen=True)
class Shares:
    """Of so many differences (all that are clear of chance, or all where none is) what else could explain them.

    `rd` and `pools` are means of sizes; in `same` the pools alone point the same way; `explained` of `controlled`
    shrink to less than half, or turn round, once the names' pieces and frequency are allowed for.
    """

    words: int
    rd: float
    pools: float | None
    same: int
    controlled: int
    explained: int


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


def sodapop_page(content: Content) -> dict[str, Any]:
    """What templates/sodapop.html needs."""
    pairs = read_pairs(content)
    words = clearest(pairs)
    clear = [word for word in words if word.clear]
    separations = read_separations(content, pairs)
    tested = [each for each in separations if each.tested]
    groups = read_names(content)
    names = [name for group in groups for name in group.names]
    return {
        "groups": groups,
        "codes": _codes(content, [group.group for group in groups]),
        "elsewhere": _elsewhere(content),
        "filler": content.setting("fill_model"),
        "fills_itself": _unset(content, "fill_model"),
        "distractors": content.setting("distractors"),
        "min_count": _whole(content, "min_count"),
        "contexts": 1 if _whole(content, "context") else _whole(content, "contexts"),
        "pairs": pairs,
        "vocabulary": len({word.word for word in words}),
        "tested": sum(word.q is not None for word in words),
        "clear_rows": clear,
        "clear_words": len({word.word for word in clear}),
        "clear_pairs": sum(bool(pair.clear) for pair in pairs),
        "told": _told(clear or words[:1]),
        "shares": _shares(clear or words),
        "separations": separations,
        "tested_pairs": tested,
        "separated": [each for each in tested if each.above],
        "most_separated": MOST_SEPARATED,
        "by_chance": CLEAR * len(tested),
        "how_much": how_much,
        "people_words": people_words,
        "scatter": scatter(content),
        "traits": read_traits(content),
        "most_pairs": MOST_PAIRS,
        "most_named": MOST_NAMED,
        "open_traits": OPEN_TRAITS,
        "names": names[:MOST_NAMES],
        "names_left_out": len(names[MOST_NAMES:]),
        "accuracy_scale": ACCURACY,
        **_figures(pairs),
    }


def how_much(more: float | None, less: float | None) -> tuple[str, str]:
    """How much more often something happens, and the word to go on with.

    >>> how_much(0.106, 0.1), how_much(0.25, 0.1), how_much(0.1, 0.0), how_much(None, 0.1)
    (('6.0% more often', 'than'), ('2.5 times as often', 'as'), ('more often', 'than'), ('more often', 'than'))
    """
    if more is None or not less or more <= less:
        return "more often", "than"
    ratio = more / less
    return (f"{ratio:.1f} times as often", "as") if ratio >= 2 else (f"{share(ratio - 1)} more often", "than")


def _told(words: Sequence[Word]) -> list[Word]:
    """The clearest, each word once, with the groups in the order that makes RD positive."""
    once: dict[str, Word] = {}
    for word in words:
        once.setdefault(word.word, word.towards_first)
    return list(once.values())[:MOST_TOLD]


def _shares(words: Sequence[Word]) -> Shares | None:
    if not words:
        return None
    pools = [word for word in words if word.pools is not None]
    controlled = [word for word in words if word.controlled is not None]
    return Shares(
        len(words),
        fmean(abs(word.rd) for word in words),
        fmean(abs(word.pools or 0.0) for word in pools) if pools else None,
        sum((word.pools or 0.0) * word.rd > 0 for word in pools),
        len(controlled),
        sum(word.explained for word in controlled),
    )


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


def _figures(pairs: Sequence[Pair]) -> dict[str, Any]:
    """The pairs to show with their words on one scale."""
    chosen = [(pair, pair.words[:MOST_WORDS]) for pair in most_telling(pairs)[:MOST_PAIRS]]
    scale = _scale([word for _, words in chosen for word in words])
    shown = [
        Shown(
            pair,
            [_draw(scale, word) for word in words],
            len(pair.words) - len(words),
            place < OPEN_PAIRS,
        )
        for place, (pair, words) in enumerate(chosen)
    ]
    every = [drawn.row for each in shown for drawn in each.rows]
    return {
        "shown": shown,
        "scale": scale,
        "has_pools": any(word.pools for word in every),
        "has_controlled": any(word.controlled is not None for word in every),
        "has_beyond": any(drawn.bar is not None and drawn.bar.beyond for each in shown for drawn in each.rows),
    }


def _scale(words: Iterable[Word]) -> Scale:
    """A scale for nine of ten words and all that are clear: one that hardly ever wins must not squeeze the others."""
    rows = list(words)
    sizes = sorted(abs(word.rd) for word in rows)
    most = sizes[(len(sizes) - 1) * 9 // 10] if sizes else None
    return signed_scale([most, *(word.rd for word in rows if word.clear)])


def _draw(scale: Scale, word: Word) -> Drawn:
    described = "" if word.low is None else f"Interval {interval(word.low, word.high)}."
    pair = f"{people_words(word.a)} and {people_words(word.b)}"
    title = f"{word.word}, {pair}: RD {number(word.rd)}"
    return Drawn(word, bar(scale, word.rd, word.low, word.high, None, title, described))


def _codes(content: Content, groups: Sequence[str]) -> list[tuple[str, str]]:
    """The paper's abbreviations, where its groups were asked about."""
    if not _unset(content, "groups"):
        return []
    return [(code, said) for code, said in CODES.items() if any(group.split(" ")[0] == code for group in groups)]


def _elsewhere(content: Content) -> bool:
    """Whether only results were scored, of questions that another program put."""
    identity = content.run.get("identity")
    scored = isinstance(identity, Mapping) and "scored" in identity
    return scored and not content.setting("distractors")


def _settings(content: Content) -> Mapping[str, Any]:
    settings = content.run.get("settings")
    return settings if isinstance(settings, Mapping) else {}


def _unset(content: Content, name: str) -> bool:
    """Whether a setting is there and has no value, so that the probe's own choice holds."""
    return _settings(content).get(name, "") is None


def _whole(content: Content, name: str) -> int | None:
    value = _settings(content).get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
