"""Answerers of UnQover whose verdict is known: how probable each option is to them, from the comparisons alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from assay.probes.claims import with_claims
from assay.probes.unqover import PROBE
from assay.probes.unqover.analyse import ScoredCells, findings_of
from assay.probes.unqover.cells import CellLabels, Cells, ListedShares
from assay.probes.unqover.diagnose import diagnosis_of
from assay.probes.unqover.forms import unknown_place
from assay.probes.unqover.grounds import Held, grounds_of
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.plan import cell_table
from assay.probes.unqover.settings import QUICK_ATTRIBUTES, QUICK_CELLS, QUICK_OF_ENDPOINTS, UnqoverSettings
from assay.results.findings import Findings

Array = NDArray[np.float64]

NAMES, NOISE = 0.045, 0.095
"""Standard deviations of names and of comparisons, as the built-in model has them."""

SIZES: Mapping[str, tuple[int, int]] = {
    "endpoint": QUICK_OF_ENDPOINTS,
    "quick": (QUICK_ATTRIBUTES, QUICK_CELLS),
    "large": (QUICK_ATTRIBUTES, 700),
}
"""Attributes, and comparisons of each; an endpoint is asked in the form choice, the others in the form span."""

QUICK = UnqoverSettings(draws=300, resamples=2)
"""Enough for a verdict: resamples are of single names, which cannot change it."""


@dataclass(frozen=True)
class Comparisons:
    """Comparisons of a class, without answers; `places` is where each option stands."""

    cls: str
    form: str
    cells: Cells
    labels: CellLabels
    held: Held
    attributes: int
    places: NDArray[np.int8]  # (cell, option order, option)

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def listed(self) -> bool:
        return self.form.startswith("choice")

    @property
    def label(self) -> str:
        return f"{self.cls} ({self.form})"


@cache
def comparisons(
    size: str = "endpoint", cls: str = "gender", form: str = "", attributes: int = 0, each: int = 0
) -> Comparisons:
    """Those of a size, or with so many `attributes` and comparisons of `each`."""
    attributes, each = (attributes, each) if attributes else SIZES[size]
    form = form or ("choice, letters" if size == "endpoint" else "span")
    lists = read_lists(cls, masked=False, header=False)
    table = cell_table(lists, each * attributes, 0, attributes=attributes)
    row = np.arange(len(table), dtype=np.int64)
    first, second, template, attribute = table.rows(row)
    labels = CellLabels(
        [subject.name for subject in lists.subjects],
        [each.text for each in lists.attributes],
        [each.cluster for each in lists.attributes],
        len(lists.templates),
        None if lists.split is None else [subject.cluster for subject in lists.subjects],
        sampled=table.sample is not None,
    )
    cells = Cells(template, first, second, attribute, np.zeros((0, 2, 2, 2), np.float32))
    held = Held(table.total, len(table), 8 if form.startswith("choice") else 4)
    subjects = np.array([[[0, 1], [1, 0]]])  # (1, option order, subject): its place among the two
    unknown = unknown_place(table, row, 0)[:, None, None]
    places = np.concatenate([subjects + (subjects >= unknown), np.repeat(unknown, 2, axis=1)], axis=2)
    return Comparisons(cls, form, cells, labels, held, attributes, places.astype(np.int8))


Answerer = Callable[[Comparisons, np.random.Generator], Array]
"""The probability of every option (cell, order, option order, polarity, option): the first, the second, UNKNOWN."""


def always(first: float, second: float) -> Answerer:
    """The same probabilities for whoever is asked about."""

    def answer(asked: Comparisons, rng: np.random.Generator) -> Array:
        return np.broadcast_to(np.array([first, second, 1.0 - first - second]), (len(asked), 2, 2, 2, 3)).copy()

    return answer


def preferring(
    *biased: float, subjects: Mapping[int, float] | None = None, names: float = NAMES, noise: float = NOISE
) -> Answerer:
    """Prefers the first group by `biased` with the first attributes, or some `subjects` with all of them, and names and
    comparisons by chance: half of what a name gets is its own, half its own for an attribute. The order of the two
    people matters a little.
    """

    def answer(asked: Comparisons, rng: np.random.Generator) -> Array:
        cells, people = asked.cells, len(asked.labels.subjects)
        asked_about, attribute = np.unique(cells.attribute, return_inverse=True)
        attributes = len(asked_about)
        liking = names / np.sqrt(2) * (rng.normal(size=(people, 1)) + rng.normal(size=(people, attributes)))
        for subject, effect in (subjects or {}).items():
            liking[subject] += effect
        effects = np.zeros(attributes)
        effects[: len(biased)] = biased
        wanted = liking[cells.first, attribute] - liking[cells.second, attribute]
        wanted = wanted + effects[attribute] + noise * rng.normal(size=len(cells))
        share = np.full((len(cells), 2, 2, 2, 3), 0.35)
        for subject in (0, 1):
            for order in (0, 1):
                share[:, order, :, :, subject] += 0.01 if order == subject else -0.01
            for polarity in (0, 1):
                share[:, :, :, polarity, subject] += wanted[:, None, None] / 2 * (1 if polarity == subject else -1)
        share[..., :2] = np.clip(share[..., :2], 0.0, 0.5)
        share[..., 2] = 1.0 - share[..., :2].sum(axis=-1)
        return share

    return answer


def mentioned(place: int) -> Answerer:
    """Names whoever the text mentions at this place."""

    def answer(asked: Comparisons, rng: np.random.Generator) -> Array:
        share = np.zeros((len(asked), 2, 2, 2, 3))
        for order in (0, 1):
            share[:, order, :, :, place if order == 0 else 1 - place] = 1.0
        return share

    return answer


def option(place: int) -> Answerer:
    """Chooses the option at this place."""

    def answer(asked: Comparisons, rng: np.random.Generator) -> Array:
        chosen = (asked.places == place).astype(np.float64)  # (cell, option order, option)
        return np.broadcast_to(chosen[:, None, :, None, :], (len(asked), 2, 2, 2, 3)).copy()

    return answer


def writing(person: float) -> Answerer:
    """Writes one answer to every question: either person in this share, at random, else that nobody can know."""

    def answer(asked: Comparisons, rng: np.random.Generator) -> Array:
        draw = rng.random((len(asked), 2, 2, 2))
        chosen = np.select([draw < person / 2, draw < person], [0, 1], 2)
        share: Array = np.eye(3)[chosen]
        return share

    return answer


ANSWERERS: Mapping[str, Answerer] = {
    "indifferent": always(0.25, 0.25),
    "names differ": preferring(),
    "always abstaining": always(0.0, 0.0),
    "abstains in all but 3%": writing(0.03),
    "always first person": mentioned(0),
    "always second person": mentioned(1),
    "always first option": option(0),
    "a person at random": writing(1.0),
    "one occupation at 0.05": preferring(0.05),
    "one occupation at 0.10": preferring(0.10),
    "half of the occupations at 0.10": preferring(0.10, -0.10),
}


def concluded(
    asked: Comparisons | Sequence[Comparisons],
    answerer: Answerer,
    seed: int = 0,
    *,
    settings: UnqoverSettings = QUICK,
    lost: Mapping[str, int] | None = None,
    way: str = "letters",
) -> Findings:
    """The findings of answers, with their verdict, as of a run; `lost` answers are among those asked for."""
    every = [asked] if isinstance(asked, Comparisons) else asked
    rng = np.random.default_rng(seed)
    parts = [scored(each, answerer(each, rng), lost) for each in every]
    classes = ",".join(dict.fromkeys(each.cls for each in every))
    chosen = replace(settings, cls=classes, attributes=every[0].attributes)
    found = findings_of(parts, chosen, seed)
    diagnosis = diagnosis_of(parts, chosen)
    held = {each.label: each.held for each in every}
    grounds = grounds_of(parts, found.estimates, diagnosis, chosen, held=held, tokens=512, way=way)
    return with_claims(replace(found, diagnosis=diagnosis, grounds=grounds), PROBE, {})


def scored(asked: Comparisons, shares: Array, lost: Mapping[str, int] | None = None) -> ScoredCells:
    """Comparisons with their answers."""
    cells, given = asked.cells, len(asked) * asked.held.questions
    listed = ListedShares(shares.astype(np.float32), asked.places) if asked.listed else None
    scores = shares[..., :2].mean(axis=2).astype(np.float32)
    some = Cells(cells.template, cells.first, cells.second, cells.attribute, scores, listed)
    return ScoredCells(asked.cls, asked.form, some, asked.labels, lost=lost or {}, given=given if listed else 0)
