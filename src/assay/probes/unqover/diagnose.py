"""Does the model prefer whoever is named first (or second), and does a negated question change whom it names?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.diagnosis import Diagnosis, Exchanged, Negation, Place, Ties
from assay.probes.diagnose import all_ties, diagnosed, made_place, place_p, ties_of
from assay.probes.unqover.analyse import Scored, fewest, numbered, only_asked
from assay.probes.unqover.metrics import ASKED, NEGATED, Cells, Labels
from assay.probes.unqover.settings import Settings
from assay.probes.unqover.uncertainty import mean_errors

NAMED = 0.5
"""A subject with a score above this is the model's answer: no other word at the mask, nor any other span that does not
overlap with it, can have a higher one (P(start) + P(end) > 1 where their product exceeds ¼)."""

_MISSING = {
    "places": "nothing was asked",
    "exchanged": "no two orders of the subjects have a preference each",
    "ties": "nothing was asked",
    "negation": f"no question and its negation both have a subject with a score above {NAMED}: the model names nobody",
}


class _Found(NamedTuple):
    places: list[Place]
    exchanged: list[Exchanged]
    ties: Ties | None
    unchanged: NDArray[np.bool_]  # of every question and negation that both name a subject


def diagnosis_of(parts: Sequence[Scored], settings: Settings) -> Diagnosis:
    """The diagnosis of every class and form."""
    found = [
        _of_part(f"{part.cls} ({part.form})", *only_asked(part.cells, part.labels)) for part in parts if part.cells
    ]
    unchanged = np.concatenate([part.unchanged for part in found]) if found else np.zeros(0, np.bool_)
    return diagnosed(
        settings,
        _MISSING,
        places=[place for part in found for place in part.places],
        exchanged=[pairs for part in found for pairs in part.exchanged],
        ties=all_ties([part.ties for part in found]),
        negation=Negation(int(unchanged.sum()), len(unchanged)) if len(unchanged) else None,
    )


def _of_part(label: str, cells: Cells, labels: Labels) -> _Found:
    """An answer is the subject with the larger score; a tie is half of each place.

    Every pair is asked in both orders, so that each place has half of the answers of a model to which places mean
    nothing. Names stand in many cells and templates are reused: the test clusters by both, as the errors of δ do.
    """
    lead = np.subtract(cells.scores[..., 0], cells.scores[..., 1], dtype=np.float64)  # (cell, order, polarity)
    first = np.sign(lead) * np.array([1.0, -1.0])[:, None]  # 1: whoever is named first, -1: second, 0: a tie
    share = (1.0 + first.mean(axis=(1, 2))) / 2.0  # (cell,)
    groups = None if labels.groups is None else numbered(labels.groups)[1]
    error, freedom = mean_errors(cells, share[:, None], groups, len(labels.subjects))
    excess = float(share.mean()) - 0.5
    (p,) = place_p(excess + 0.5, [excess], error, freedom, fewest(labels)).tolist()
    places = [
        made_place(name, 0.5 + sign * excess, 0.5, p, first.size, label)
        for name, sign in (("first mentioned", 1), ("second mentioned", -1))
    ]
    decided = (first != 0).all(axis=1)  # (cell, polarity)
    same = int((decided & (first[:, 0] == first[:, 1])).sum())
    pairs = [Exchanged(same, int(decided.sum()), label)] if decided.any() else []
    named = (cells.scores.max(axis=-1) > NAMED).all(axis=-1) & (lead != 0).all(axis=-1)  # (cell, order)
    unchanged = np.sign(lead[..., ASKED]) == np.sign(lead[..., NEGATED])
    return _Found(places, pairs, ties_of(lead), unchanged[named])
