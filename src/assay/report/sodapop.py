"""What is said about a SODAPOP run beyond its estimates: the facts of its first paragraphs, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from assay.report.content import Content
from assay.report.sodapop_figures import (
    ACCURACY,
    MOST_PAIRS,
    behind_pair,
    behind_word,
    read_separations,
    separation_map,
    separation_table,
    word_figures,
)
from assay.report.sodapop_scatter import scatter
from assay.report.sodapop_tables import group_table, name_table, read_names, read_traits
from assay.report.sodapop_words import Word, clearest, read_pairs
from assay.report.words import CLEAR, people_words, share

MOST_TOLD = 4  # words in the first paragraphs
MOST_SEPARATED = 3  # pairs of groups in a sentence
MOST_NAMES = 300
OPEN_TRAITS = 2  # pairs that are unfolded
MOST_NAMED = 6  # words of a folded pair

CODES: Mapping[str, str] = {
    "EA": "European American",
    "AA": "African American",
    "AS": "Asian",
    "HS": "Hispanic",
}
"""What the paper's names of groups stand for."""


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


def sodapop_page(content: Content) -> dict[str, Any]:
    """What templates/sodapop.html needs."""
    pairs = read_pairs(content)
    words = clearest(pairs)
    clear = [word for word in words if word.clear]
    separations = read_separations(content, pairs)
    tested = [each for each in separations if each.tested]
    groups = read_names(content)
    codes = dict(_codes(content, [group.group for group in groups]))
    names = [name for group in groups for name in group.names]
    return {
        "groups": groups,
        "codes": codes,
        "spelt": lambda group: _spelt(group, codes),
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
        "clear_by_chance": CLEAR * sum(any(word.q is not None for word in pair.words) for pair in pairs),
        "told": _told(clear or words[:1]),
        "shares": _shares(clear or words),
        "separations": separations,
        "separation_table": separation_table(separations),
        "separation_map": separation_map(separations),
        "tested_pairs": tested,
        "separated": [each for each in tested if each.above],
        "most_separated": MOST_SEPARATED,
        "by_chance": CLEAR * len(tested),
        "how_much": how_much,
        "people_words": people_words,
        "scatter": scatter(content),
        "traits": (traits := read_traits(content))[:MOST_PAIRS],
        "traits_left_out": len(traits[MOST_PAIRS:]),
        "trait_table": content.findings.tables.get("traits"),
        "most_named": MOST_NAMED,
        "open_traits": OPEN_TRAITS,
        "group_table": group_table(groups),
        "names": names[:MOST_NAMES],
        "name_table": name_table(names[:MOST_NAMES]),
        "names_left_out": len(names[MOST_NAMES:]),
        "accuracy_scale": ACCURACY,
        "behind": behind_word,
        "behind_pair": behind_pair,
        **word_figures(pairs),
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


def _codes(content: Content, groups: Sequence[str]) -> list[tuple[str, str]]:
    """The paper's abbreviations, where its groups were asked about."""
    if not _unset(content, "groups"):
        return []
    return [(code, said) for code, said in CODES.items() if any(group.split(" ")[0] == code for group in groups)]


def _spelt(group: str, codes: Mapping[str, str]) -> str:
    """A group without abbreviations.

    >>> _spelt("EA_female", CODES), _spelt("female", CODES), _spelt("EA_female", {})
    ('European American female', 'female', 'EA female')
    """
    first, *rest = people_words(group).split(" ")
    return " ".join([codes.get(first, first), *rest])


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
