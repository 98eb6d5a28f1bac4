"""Diagnosis: do answers follow the place of the options, and do they change when the right answer does?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import NONE
from assay.probes.bbq.items import DISAMBIGUATED, OPTIONS, POLARITIES, QUARTET, Item
from assay.probes.bbq.plan import ORDERS
from assay.probes.bbq.prompts import PLACES
from assay.probes.bbq.settings import BBQSettings
from assay.probes.bbq.tallies import AnsweredItems, by_unit
from assay.probes.diagnose import Array, diagnosed, place_shares
from assay.results.diagnosis import Diagnosis, NegatedPairs, PositionShare, SwappedPairs, Ties

_MISSING = {
    "places": "no answer names an option",
    "exchanged": "the options were asked in one order only; use --set form=letters --set orders=all for all six",
    "ties": "the answers have no scores",
    "negation": "no disambiguated question has an answer in both its negative and its non-negative form",
}


_UNLISTED = {
    "places": "the options were not listed, so they have no places",
    "exchanged": "the options were not listed, so they have no order",
}


def diagnosis_of(
    parts: Sequence[AnsweredItems], ties: Ties | None, settings: BBQSettings, *, listed: bool = True
) -> Diagnosis:
    """The diagnosis of a run's answers; `listed` says that the options were shown or scored."""
    exchanged = [pair for part in parts for pair in _exchanged(part)]
    negation = np.array([pair for part in parts for pair in _twins(part)], np.bool_)
    return diagnosed(
        settings,
        _MISSING if listed else _MISSING | _UNLISTED,
        places=_places(parts) if listed else [],
        exchanged=[SwappedPairs(sum(exchanged), len(exchanged))] if exchanged else [],
        ties=ties,
        negation=NegatedPairs(int(negation.sum()), len(negation)) if len(negation) else None,
    )


# --- places


def _places(parts: Sequence[AnsweredItems]) -> list[PositionShare]:
    """Shares of A, B and C as shown, tested over templates, whose questions are similar.

    A model that ignores places decides between UNKNOWN, the person who fits the stereotype and the other person; its
    answers are where these are. How often it decides for each is taken from its own answers: in ambiguous contexts,
    where the right answer agrees with the stereotype, and where it contradicts it. So a model that is always right,
    always stereotyped or always says UNKNOWN has exactly the expected shares.
    """
    together: dict[tuple[str, str], Array] = {}
    for part in parts:
        answered = part.chosen >= 0  # (example, order)
        expected = _expected(part)  # (example, option)
        drawn_order = part.drawn_order
        which = np.arange(part.orders)[None] if drawn_order is None else drawn_order[:, None]  # (1 or example, order)
        orders = np.array(ORDERS)[np.broadcast_to(which, answered.shape)]  # (example, order, place): the option there
        at_place = answered[..., None] & (part.chosen[..., None] == orders)  # (example, order, place)
        implied = np.take_along_axis(expected[:, None], orders, axis=2) * answered[..., None]
        numbers = {template: number for number, template in enumerate(dict.fromkeys(part.templates))}
        unit = np.array([numbers[template] for template in part.templates], np.int64)
        stacked = np.concatenate([at_place.sum(axis=1), implied.sum(axis=1), answered.sum(axis=1)[:, None]], axis=1)
        for template, sums in zip(numbers, by_unit(stacked, unit, len(numbers)), strict=True):
            together[template] = together.get(template, 0.0) + sums
    table = np.array(list(together.values()))  # (template, column)
    return place_shares(PLACES, table[:, :OPTIONS], table[:, OPTIONS:-1], table[:, -1])


def _expected(part: AnsweredItems) -> Array:
    """The probability of each option (example, option) if the model decides as it does and ignores places."""
    kinds, situations = _kinds(part), _situations(part)
    chosen = (part.chosen[..., None] == np.arange(OPTIONS)).sum(axis=1)  # (example, option)
    as_kind = np.einsum("eo,eko->ek", chosen, kinds > 0)
    expected = np.zeros((len(kinds), OPTIONS))
    for situation in np.unique(situations):
        rows = situations == situation
        times = as_kind[rows].sum(axis=0)
        expected[rows] = np.einsum("k,eko->eo", times / max(times.sum(), 1.0), kinds[rows])
    return expected


def _kinds(part: AnsweredItems) -> Array:
    """Which options (example, kind, option) are UNKNOWN, the person who fits the stereotype, and the other person.

    If it is not known who fits it: the right person and the other one; if neither is right, each counts as half.
    """
    rows, unknown = np.arange(len(part.dataset)), part.unknown
    kinds = np.zeros((len(rows), 3, OPTIONS))
    target, right = part.dataset.target.astype(np.int64), part.gold
    fits = np.where(part.negative, target, 3 - unknown - target)  # the options are 0, 1 and 2
    first = np.where(target != NONE, fits, np.where(right != unknown, right, NONE))
    kinds[rows, 0, unknown] = 1.0
    is_known = first != NONE
    kinds[rows[is_known], 1, first[is_known]] = 1.0
    kinds[rows[is_known], 2, (3 - unknown - first)[is_known]] = 1.0
    kinds[~is_known, 1] = 0.5 * (1.0 - kinds[~is_known, 0])
    return kinds


def _situations(part: AnsweredItems) -> NDArray[np.int64]:
    """The situation of each example (example,): ambiguous, or whether the right answer fits the stereotype."""
    aligned = part.judged.aligned[:, 0]
    targeted = part.dataset.target != NONE
    situations = np.where(part.gold == part.unknown, 0, 1 + np.nan_to_num(aligned, nan=2.0)).astype(np.int64)
    return np.where(targeted, situations, 4 + situations)


# --- the same options in another order

_MOVED = [
    (one, other)
    for one, other in combinations(range(len(ORDERS)), 2)
    if not any(a == b for a, b in zip(ORDERS[one], ORDERS[other], strict=True))
]
"""Pairs of orders in which no option keeps its place."""


def _exchanged(part: AnsweredItems) -> Iterator[bool]:
    """For every pair of answers to one question in two such orders: whether the place is the same."""
    if part.orders < len(ORDERS):
        return
    place_of = np.argsort(ORDERS, axis=1)  # (order, option)
    places = np.where(part.chosen >= 0, place_of[np.arange(part.orders), part.chosen], NONE)  # (example, order)
    for a, b in _MOVED:
        both = (places[:, a] != NONE) & (places[:, b] != NONE)
        yield from (places[both, a] == places[both, b]).tolist()


# --- negation


def _twins(part: AnsweredItems) -> Iterator[bool]:
    """For every disambiguated negative question and its non-negative twin, whose right answer is the other person:
    whether the answer was the same. UNKNOWN twice counts as the same.
    """
    if part.question_only:
        return
    twins: dict[tuple[str, int], dict[str, int]] = {}
    for row, example in enumerate(part.dataset.examples):
        if example.condition == DISAMBIGUATED:
            twins.setdefault((example.category, example.example_id // len(QUARTET)), {})[example.polarity] = row
    for rows in twins.values():
        if len(rows) == len(POLARITIES):
            first, second = (part.dataset.examples[row] for row in rows.values())
            if _content(first, first.label) != _content(second, second.label):
                for answers in zip(*(part.chosen[row].tolist() for row in rows.values()), strict=True):
                    if min(answers) >= 0:
                        yield _content(first, answers[0]) == _content(second, answers[1])


def _content(example: Item, option: int) -> tuple[str, ...]:
    """Whom an option names, whatever the wording; UNKNOWN has many phrasings."""
    return () if option == example.unknown else example.info[option]
