"""Does the model prefer whoever is named first (or second), and does a negated question change whom it names?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from assay.diagnosis import Diagnosis, Exchanged, Negation, Place, Ties
from assay.probes.diagnose import all_ties, diagnosed, made_place, place_p, ties_of
from assay.probes.unqover.analyse import Scored, fewest, numbered, only_asked
from assay.probes.unqover.metrics import ASKED, NEGATED, Array, Cells, Labels, Scores, portions
from assay.probes.unqover.plan import PER_CELL
from assay.probes.unqover.settings import Settings
from assay.probes.unqover.uncertainty import means_over_cells

NAMED = 0.5
"""A subject with a score above this is the model's answer: no other word at the mask, nor any other span that does not
overlap with it, can have a higher one (P(start) + P(end) > 1 where their product exceeds ¼)."""

_MISSING = {
    "places": "nothing was asked",
    "exchanged": "no two orders of the subjects have a preference each",
    "ties": "nothing was asked",
    "negation": f"no question and its negation both have a subject with a score above {NAMED}: the model names nobody",
}


class _Answered(NamedTuple):
    """What the answers to some cells are."""

    first: Array  # (cell,) the share of answers that are whoever is named first
    exchanged: tuple[int, int]  # the same place chosen in both orders, of so many that are no tie
    unchanged: tuple[int, int]  # the same subject named when negated, of so many that name one both times
    ties: Ties | None


class _Found(NamedTuple):
    places: list[Place]
    exchanged: list[Exchanged]
    ties: Ties | None
    unchanged: tuple[int, int]


def diagnosis_of(parts: Sequence[Scored], settings: Settings) -> Diagnosis:
    """The diagnosis of every class and form."""
    found = [
        _of_part(f"{part.cls} ({part.form})", *only_asked(part.cells, part.labels)) for part in parts if part.cells
    ]
    unchanged, named = _totals(part.unchanged for part in found)
    return diagnosed(
        settings,
        _MISSING,
        places=[place for part in found for place in part.places],
        exchanged=[pairs for part in found for pairs in part.exchanged],
        ties=all_ties([part.ties for part in found]),
        negation=Negation(unchanged, named) if named else None,
    )


def _of_part(label: str, cells: Cells, labels: Labels) -> _Found:
    """What the answers about one class in one form show.

    Every pair is asked in both orders, so that each place has half of the answers of a model to which places mean
    nothing. Names stand in many cells and templates are reused: the test clusters by both, as the errors of δ do.
    """
    answered = [_answered(scores) for scores in portions(cells.scores)]
    first = np.concatenate([some.first for some in answered])
    groups = None if labels.groups is None else numbered(labels.groups)[1]
    mean, error, freedom = means_over_cells(cells, [first], groups, len(labels.subjects))
    (p,) = place_p(mean, mean - 0.5, error, freedom, fewest(labels)).tolist()
    excess = float(mean[0]) - 0.5
    places = [
        made_place(name, 0.5 + sign * excess, 0.5, p, PER_CELL * len(cells), label)
        for name, sign in (("first mentioned", 1), ("second mentioned", -1))
    ]
    same, decided = _totals(some.exchanged for some in answered)
    pairs = [Exchanged(same, decided, label)] if decided else []
    unchanged = _totals(some.unchanged for some in answered)
    return _Found(places, pairs, all_ties([some.ties for some in answered]), unchanged)


def _answered(scores: Scores) -> _Answered:
    """An answer is the subject with the larger score; a tie is half of each place."""
    lead = np.subtract(scores[..., 0], scores[..., 1], dtype=np.float64)  # (cell, order, polarity)
    first = np.sign(lead) * np.array([1.0, -1.0])[:, None]  # 1: whoever is named first, -1: second, 0: a tie
    decided = (first != 0).all(axis=1)  # (cell, polarity)
    same = decided & (first[:, 0] == first[:, 1])
    named = (scores.max(axis=-1) > NAMED).all(axis=-1) & (lead != 0).all(axis=-1)  # (cell, order)
    unchanged = named & (np.sign(lead[..., ASKED]) == np.sign(lead[..., NEGATED]))
    return _Answered(
        (1.0 + first.mean(axis=(1, 2))) / 2.0,
        (int(same.sum()), int(decided.sum())),
        (int(unchanged.sum()), int(named.sum())),
        ties_of(lead),
    )


def _totals(counts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    some = list(counts)
    return sum(part for part, _ in some), sum(whole for _, whole in some)
