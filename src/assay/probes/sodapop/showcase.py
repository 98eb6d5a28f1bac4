"""Which questions people are shown: for words that tell two groups apart, a text about a name of each.

For words that pass for a difference (p at most 0.05) there is one of the clearest cases and then a usual one; for
others, whose differences may well be chance, a usual one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.examples import MOST, Asked, Example
from assay.findings import Cell, Findings
from assay.probes.sodapop.analyse import CLEAR, GroupPair, contrasts_of
from assay.probes.sodapop.kept import Spot, Spots
from assay.probes.sodapop.names import Groups
from assay.probes.sodapop.words import said, split

WORDS = 12
"""So many words of a pair of groups are shown, as in the report."""


class Source(Protocol):
    """What was kept of the questions, what its scores are, and whether words differ by case (as in Settings)."""

    scores: str
    case: str

    def met(self, word: str) -> Spots:
        """The wrong answers with a word."""
        ...

    def asked(self, first: Spot, second: Spot) -> tuple[Asked, Asked]:
        """What was asked about two names in the same text."""
        ...


@dataclass(frozen=True)
class _Wish:
    """An example that should be there: of a word for a pair of groups, a clear case or a usual one."""

    contrast: GroupPair
    word: str
    rd: float
    rates: tuple[float, float]  # SR of either side
    rank: int  # 0: clear of chance; 1: it would be if this were the only word; 2: neither
    usual: bool

    @property
    def order(self) -> tuple[bool, int, float]:
        return self.usual and self.rank < 2, self.rank, -abs(self.rd)


class _Case(NamedTuple):
    """A wrong answer with the word about a name, and by how much it beat the right one."""

    spot: Spot
    lead: float


def showcase(findings: Findings, groups: Groups, kept: Source, most: int = MOST) -> list[Example]:
    """At most so many examples, the most telling first: pairs of groups take turns, and so do words that tell alike."""
    contrasts = contrasts_of(groups)
    waiting = _wishes(findings, contrasts)
    told = {(wish.contrast.first, wish.contrast.second, wish.word) for own in waiting for wish in own if wish.rank < 2}
    labels = _labels(groups, contrasts)
    examples: list[Example] = []
    times: dict[str, int] = {}
    used: set[tuple[Spot, Spot]] = set()
    while any(waiting):
        for own in filter(None, waiting):
            wish = min(own, key=lambda each: (*each.order[:2], times.get(each.word, 0), each.order[2], each.word))
            own.remove(wish)
            pair = _pair(kept.met(wish.word), wish, len(labels), used)
            if pair is None:
                continue
            used.add((pair[0].spot, pair[1].spot))
            times[wish.word] = times.get(wish.word, 0) + 1
            examples.append(_example(wish, pair, groups, labels, told, kept))
            if len(examples) == most:
                return examples
    return examples


def _wishes(findings: Findings, contrasts: Sequence[GroupPair]) -> list[list[_Wish]]:
    """The wishes of every contrast; those with most clear words first, as in the report."""
    rows: dict[tuple[Cell, Cell], list[Mapping[str, Cell]]] = {}
    for row in findings.tables["words"].records():
        rows.setdefault((row["group_a"], row["group_b"]), []).append(row)
    found = []
    for contrast in contrasts:
        words = [
            _wish(contrast, row) for row in rows.get((contrast.first, contrast.second), []) if row["rd"] is not None
        ]
        words = sorted(words, key=lambda wish: (wish.rank, -abs(wish.rd), wish.word))[:WORDS]
        found.append([*words, *(replace(wish, usual=True) for wish in words if wish.rank < 2)])
    return sorted(found, key=lambda words: -sum(wish.rank == 0 for wish in words))


def _wish(contrast: GroupPair, row: Mapping[str, Cell]) -> _Wish:
    rd, a, b = (_number(row[key], 0.0) for key in ("rd", "sr_a", "sr_b"))
    p, q = (_number(row[key], 1.0) for key in ("p", "q"))
    rank = 0 if q <= CLEAR else 1 if p <= CLEAR else 2
    return _Wish(contrast, str(row["word"]), rd, (a, b), rank, usual=rank == 2)


def _number(cell: Cell, missing: float) -> float:
    return float(cell) if isinstance(cell, int | float) else missing


# --- choosing


def _pair(spots: Spots, wish: _Wish, names: int, used: set[tuple[Spot, Spot]]) -> tuple[_Case, _Case] | None:
    """A name of either side in one text, with the same wrong answer where both met it; None where there is none."""
    for same in (True, False):
        for a, b in _ordered(spots, wish, names, same=same):
            one, other = _case(spots, a), _case(spots, b)
            if (one.spot, other.spot) not in used:
                return one, other
    return None


def _case(spots: Spots, row: int) -> _Case:
    spot = Spot(int(spots.context[row]), int(spots.string[row]), int(spots.name[row]))
    return _Case(spot, float(spots.lead[row]))


def _ordered(spots: Spots, wish: _Wish, names: int, *, same: bool) -> Iterator[tuple[int, int]]:
    """Rows of one name of either side that can be shown together, the best first.

    A clear case is one where the wrong answer beats the right one about a name of the side that RD says and not about
    the other, by the largest difference; a usual one has a difference in the middle of all.
    """
    sign = 1.0 if wish.rd >= 0 else -1.0
    key = spots.context * (int(spots.string.max(initial=0)) + 1) + (spots.string if same else 0)
    mixed = ((spots.name * 7919 + spots.string * 10007) % 1009).astype(np.float64)  # so that all names come to be shown
    (keys_a, rows_a), (keys_b, rows_b) = (
        _of_side(spots, key, stratum, mixed if wish.usual else way * spots.lead)
        for stratum, way in zip(_strata(wish.contrast, names), (-sign, sign), strict=True)
    )
    _, at_a, at_b = np.intersect1d(keys_a, keys_b, assume_unique=True, return_indices=True)
    a, b = rows_a[at_a], rows_b[at_b]
    difference = sign * (spots.lead[a] - spots.lead[b])
    if wish.usual:
        sorted_ = np.argsort(difference, kind="stable")
        order = sorted_[np.argsort(np.abs(np.arange(len(sorted_)) - len(sorted_) // 2), kind="stable")]
    else:
        more, less = (a, b) if sign > 0 else (b, a)
        order = np.lexsort((-difference, ~((spots.lead[more] > 0) & (spots.lead[less] <= 0))))
    yield from zip(a[order].tolist(), b[order].tolist(), strict=True)


def _strata(contrast: GroupPair, names: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For either side the stratum of every name, -1 for those that are not on it: only alike names are compared."""
    strata = np.zeros(len(contrast.a) + len(contrast.b), np.int64) if contrast.strata is None else contrast.strata
    a, b = np.full(names, -1), np.full(names, -1)
    a[contrast.a], b[contrast.b] = strata[: len(contrast.a)], strata[len(contrast.a) :]
    return a, b


def _of_side(
    spots: Spots, key: NDArray[np.int64], stratum: NDArray[np.int64], value: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different keys of a side, each with the row that has the lowest value."""
    rows = np.flatnonzero(stratum[spots.name] >= 0)
    keys = key[rows] * (int(stratum.max()) + 1) + stratum[spots.name[rows]]
    order = np.lexsort((value[rows], keys))
    different, first = np.unique(keys[order], return_index=True)
    return different, rows[order][first]


# --- saying


def _labels(groups: Groups, contrasts: Sequence[GroupPair]) -> list[list[str]]:
    """What every name's group is called in the findings, its own name first and then those of pooled ones."""
    labels = [[group.name] for group in groups.groups for _ in group.names]
    for contrast in contrasts:
        for label, places in ((contrast.first, contrast.a), (contrast.second, contrast.b)):
            for place in places.tolist():
                if label not in labels[place]:
                    labels[place].append(label)
    return labels


def _example(
    wish: _Wish,
    pair: tuple[_Case, _Case],
    groups: Groups,
    labels: Sequence[Sequence[str]],
    told: set[tuple[str, str, str]],
    kept: Source,
) -> Example:
    places = [case.spot.name for case in pair]
    names = [groups.all_names()[place] for place in places]
    asked = kept.asked(pair[0].spot, pair[1].spot)
    pooled = [label for place in places for label in labels[place][1:]]
    wrong = [option.text for each in asked for option in each.options if not option.right]
    words = [said(word, kept.case) for text in wrong for word in split(text).words]
    telling = [word for word in words if (wish.contrast.first, wish.contrast.second, word) in told]
    about = {
        "group": list(dict.fromkeys([*(labels[place][0] for place in places), *pooled])),
        "name": names,
        "word": list(dict.fromkeys([wish.word, *telling])),
        "context": str(pair[0].spot.context + 1),
    }
    people = [f"{name} ({labels[place][0].replace('_', ' ')})" for name, place in zip(names, places, strict=True)]
    return Example(about, asked, kept.scores, _note(wish, people, [case.lead > 0 for case in pair]))


def _note(wish: _Wish, people: Sequence[str], beaten: Sequence[bool]) -> str:
    told = f"A wrong answer with “{wish.word}” "
    match beaten:
        case [True, True]:
            told += f"beat the right one about both names, {people[0]} and {people[1]}."
        case [False, False]:
            told += f"did not beat the right one about {people[0]}, nor about {people[1]}."
        case _:
            more, less = people if beaten[0] else (people[1], people[0])
            told += f"beat the right one about {more}, but not about {less}."
    kind = "A usual case" if wish.usual else "One of the clearest cases"
    a, b = (each.replace("_", " ") for each in (wish.contrast.first, wish.contrast.second))
    return (
        f"{told} {kind}: over all names and texts, wrong answers with this word won {wish.rates[0]:.1%} of the times "
        f"about {a} names and {wish.rates[1]:.1%} about {b} names."
    )
