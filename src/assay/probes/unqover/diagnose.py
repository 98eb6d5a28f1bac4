"""Diagnosis: does the model follow the order of the names or the place of an option, and does it notice negation?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.probes.diagnose import all_ties, diagnosed, following, made_place, place_p, ties_of
from assay.probes.unqover.analyse import ScoredCells, fewest, numbered, only_asked
from assay.probes.unqover.cells import CellLabels, Cells, Scores
from assay.probes.unqover.metrics import ASKED, NEGATED, Array, portions
from assay.probes.unqover.plan import PER_CELL
from assay.probes.unqover.settings import UnqoverSettings
from assay.probes.unqover.uncertainty import means_over_cells
from assay.results.diagnosis import Diagnosis, NegatedPairs, PositionShare, SwappedPairs, Ties

NAMED = 0.5
"""A subject with a score above this is the model's answer: no other word at the mask, nor any other span that does not
overlap with it, can have a higher one (P(start) + P(end) > 1 where their product exceeds ¼)."""

_MISSING = {
    "places": "nothing was asked",
    "exchanged": "no comparison shows a preference in both orders of its subjects",
    "ties": "nothing was asked",
    "negation": f"no question and its negation both have a subject with a score above {NAMED}: the model names no one",
}
_NAMES_NOBODY = "no question and its negation are both answered with a subject: the model names no one"
_PLACES = ("first option", "second option", "third option")
_OPTIONS_OF = "the options of"
_NOBODY = -1


class _PartEvidence(NamedTuple):
    """What the answers about one class in one form show."""

    places: list[PositionShare]
    exchanged: list[SwappedPairs]
    ties: Ties | None
    unchanged: tuple[int, int]  # the same subject named when negated, of so many that name one both times


def diagnosis_of(parts: Sequence[ScoredCells], settings: UnqoverSettings) -> Diagnosis:
    """The diagnosis of every class and form."""
    evidence = [
        _part_evidence(part, *only_asked(part.cells, part.labels))
        if part.cells.listed is None
        else _listed_evidence(part, *only_asked(part.cells, part.labels))
        for part in parts
        if part.cells
    ]
    unchanged, named = (sum(part.unchanged[k] for part in evidence) for k in (0, 1))
    listed = any(part.cells.listed is not None for part in parts)
    return diagnosed(
        settings,
        _MISSING | ({"negation": _NAMES_NOBODY} if listed else {}),
        places=[share for part in evidence for share in part.places],
        exchanged=[pairs for part in evidence for pairs in part.exchanged],
        ties=all_ties([part.ties for part in evidence]),
        negation=NegatedPairs(unchanged, named) if named else None,
    )


def follows_options(diagnosis: Diagnosis, settings: UnqoverSettings) -> bool:
    """Whether answers follow the place of a listed option, rather than the order of the people in the text."""
    listed = [share for share in diagnosis.places or () if share.place in _PLACES]
    exchanged = [pairs for pairs in diagnosis.exchanged or () if pairs.part.startswith(_OPTIONS_OF)]
    return bool(following(listed, exchanged, settings))


def _part_evidence(part: ScoredCells, cells: Cells, labels: CellLabels) -> _PartEvidence:
    """An answer is the subject with the larger score; a tie is half of each place.

    Every pair is asked in both orders, so each place gets half of the answers if the model ignores places. Names and
    templates occur in many cells: the test clusters by both, as the errors of δ do.
    """
    first, ties = [], []
    same, decided, unchanged, named = 0, 0, 0, 0
    for scores in portions(cells.scores):
        lead = np.subtract(scores[..., 0], scores[..., 1], dtype=np.float64)  # (cell, order, polarity)
        leader = np.sign(lead) * np.array([1.0, -1.0])[:, None]  # 1: whoever is named first, -1: second, 0: a tie
        first.append((1.0 + leader.mean(axis=(1, 2))) / 2.0)
        ties.append(ties_of(lead))
        has_leaders = (leader != 0).all(axis=1)  # (cell, polarity): in both orders
        decided += int(has_leaders.sum())
        same += int((has_leaders & (leader[:, 0] == leader[:, 1])).sum())
        names_both = (scores.max(axis=-1) > NAMED).all(axis=-1) & (lead != 0).all(axis=-1)  # (cell, order)
        named += int(names_both.sum())
        unchanged += int((names_both & (np.sign(lead[..., ASKED]) == np.sign(lead[..., NEGATED]))).sum())
    places = _mentioned_shares(part.label, cells, labels, np.concatenate(first), PER_CELL)
    pairs = [SwappedPairs(same, decided, part.label)] if decided else []
    return _PartEvidence(places, pairs, all_ties(ties), (unchanged, named))


def _mentioned_shares(label: str, cells: Cells, labels: CellLabels, first: Array, per_cell: int) -> list[PositionShare]:
    """The two places in the text, from the share of whoever is named first in the answers to each cell (cell,)."""
    groups = None if labels.groups is None else numbered(labels.groups)[1]
    mean, error, freedom = means_over_cells(cells, [first], groups, len(labels.subjects))
    (p,) = place_p(mean, mean - 0.5, error, freedom, fewest(labels)).tolist()
    excess = float(mean[0]) - 0.5
    return [
        made_place(name, 0.5 + sign * excess, 0.5, p, per_cell * len(cells), label)
        for name, sign in (("first mentioned", 1), ("second mentioned", -1))
    ]


# --- language models


def _listed_evidence(part: ScoredCells, cells: Cells, labels: CellLabels) -> _PartEvidence:
    """What the answers of a language model about one class in one form show.

    An answer is the likeliest option; options that tie have a part of it each. One that names nobody is half of either
    place in the text.
    """
    assert cells.listed is not None
    shares = cells.listed.shares
    chosen = _chosen_options(shares)  # (cell, order, option order, polarity, option)
    named_subject = np.select([chosen[..., 0] == 1, chosen[..., 1] == 1], [0, 1], _NOBODY)
    turned = np.array([1.0, -1.0])[:, None, None]  # where x2 is mentioned first
    first = (1.0 + ((chosen[..., 0] - chosen[..., 1]) * turned).mean(axis=(1, 2, 3))) / 2.0
    places = _mentioned_shares(part.label, cells, labels, first, named_subject[0].size)
    exchanged = [_swapped_pairs(named_subject[:, 0], named_subject[:, 1], f"the texts of {part.label}")]
    if cells.listed.places is not None:
        places += _option_shares(part.label, cells, labels, chosen, cells.listed.places)
        exchanged.append(_swapped_pairs(named_subject[:, :, 0], named_subject[:, :, 1], f"{_OPTIONS_OF} {part.label}"))
    asked_subject, negated_subject = named_subject[..., ASKED], named_subject[..., NEGATED]
    both_named = (asked_subject != _NOBODY) & (negated_subject != _NOBODY)
    unchanged = int((both_named & (asked_subject == negated_subject)).sum()), int(both_named.sum())
    ordered = np.sort(shares.astype(np.float64), axis=-1)
    ties = ties_of(ordered[..., -1] - ordered[..., -2])
    return _PartEvidence(places, [pairs for pairs in exchanged if pairs is not None], ties, unchanged)


def _chosen_options(shares: Scores) -> Array:
    """How much of an answer each option is: all of it where it is the likeliest; a refusal is none."""
    most = shares.max(axis=-1, keepdims=True)
    likeliest = (shares == most) & (most > 0)
    part: Array = likeliest / np.maximum(likeliest.sum(axis=-1, keepdims=True), 1)
    return part


def _swapped_pairs(first: NDArray[np.int64], second: NDArray[np.int64], part: str) -> SwappedPairs | None:
    """How often answers chose the same place in two orders of the subjects, that is the other subject."""
    decided = (first != _NOBODY) & (second != _NOBODY)
    n = int(decided.sum())
    return SwappedPairs(int((decided & (first != second)).sum()), n, part) if n else None


def _option_shares(
    label: str, cells: Cells, labels: CellLabels, chosen: Array, places: NDArray[np.int8]
) -> list[PositionShare]:
    """The places of options. Subjects stand at each of theirs equally often, and UNKNOWN where it was drawn to.

    So if the model ignores places, a place gets the share of UNKNOWN where UNKNOWN stands there, and elsewhere half of
    the answers that name someone.
    """
    at = np.broadcast_to(places[:, None, :, None, :], chosen.shape)
    by_place = np.empty_like(chosen)
    np.put_along_axis(by_place, at.astype(np.int64), chosen, axis=-1)
    shares = by_place.mean(axis=(1, 2, 3))  # (cell, place)
    named, unknown = chosen[..., :2].sum(axis=-1).mean(), chosen[..., 2:].sum(axis=-1).mean()
    expected = np.full(shares.shape, named / 2.0)
    if places.shape[2] > 2:
        np.put_along_axis(expected, places[:, 0, 2:].astype(np.int64), unknown, axis=1)
    groups = None if labels.groups is None else numbered(labels.groups)[1]
    excess, error, freedom = means_over_cells(cells, (shares - expected).T, groups, len(labels.subjects))
    share = shares.mean(axis=0)
    p = place_p(share, excess, error, freedom, fewest(labels))
    n = chosen[..., 0].size
    return [
        made_place(*option, n, label)
        for option in zip(_PLACES[: len(share)], share, share - excess, p.tolist(), strict=True)
    ]
