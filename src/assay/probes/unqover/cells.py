"""Which cells are asked. A cell is an unordered pair of subjects x a template x an attribute of the template's kind.

A sample of n cells is the first n in a fixed order of all cells, so samples of different sizes are nested. In that
order pairs come in rounds in which every subject takes part equally often, and pairs of template and attribute in
rounds in which every attribute occurs once and templates take turns. Any beginning of it is balanced.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations as combinations_of
from math import lcm

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import Ints
from assay.probes.unqover.lists import WordLists


@dataclass(frozen=True)
class CellTable:
    """The cells of a plan as columns: subject i, subject j, template, attribute."""

    pairs: Ints  # (pair, 2)
    combinations: Ints  # (combination, 2): template, attribute
    sample: NDArray[np.int64] | None  # (cell,) numbers of the cells asked; None: all of them

    @property
    def total(self) -> int:
        """How many cells there are when all are asked."""
        return len(self.pairs) * len(self.combinations)

    def __len__(self) -> int:
        return self.total if self.sample is None else len(self.sample)

    def rows(self, cells: NDArray[np.int64]) -> tuple[Ints, Ints, Ints, Ints]:
        """first, second, template, attribute of cells."""
        number = cells if self.sample is None else self.sample[cells]
        pair, combination = np.divmod(number, len(self.combinations))
        pairs, combinations = self.pairs[pair], self.combinations[combination]
        return pairs[:, 0], pairs[:, 1], combinations[:, 0], combinations[:, 1]


def cell_table(
    lists: WordLists,
    cells: int | None,
    seed: int,
    without: frozenset[str] = frozenset(),
    attributes: int | None = None,
) -> CellTable:
    """All cells of the lists, or a balanced sample of them.

    `without` names subjects that are left out; with a number of `attributes` only so many are asked about, which the
    seed draws: no answer of a model has a say in it.
    """
    asked_attributes = np.random.default_rng([seed, 20201117]).permutation(len(lists.attributes))[:attributes].tolist()
    subjects = [k for k, subject in enumerate(lists.subjects) if subject.name not in without]
    if lists.split is None:
        pairs = [*combinations_of(subjects, 2)]
    else:
        pairs = [(i, j) for i in subjects if i < lists.split for j in subjects if j >= lists.split]
    combinations = [
        (t, a)
        for t, template in enumerate(lists.templates)
        for a, attribute in enumerate(lists.attributes)
        if attribute.kind == template.kind and a in asked_attributes
    ]
    table = CellTable(
        np.array(pairs, np.int32).reshape(-1, 2), np.array(combinations, np.int32).reshape(-1, 2), sample=None
    )
    if cells is None or cells >= table.total:
        return table
    rng = np.random.default_rng([seed, 20201116])
    order = _balanced_pairs(table.pairs, lists.split, rng)
    turns = _balanced_combinations(table.combinations, rng)
    index = np.arange(cells, dtype=np.int64)
    shift = index // lcm(len(order), len(turns))  # both begin anew together there: without it, cells would come again
    numbers = order[index % len(order)] * len(turns) + turns[(index + shift) % len(turns)]
    return CellTable(table.pairs, table.combinations, np.sort(numbers))


def _balanced_pairs(pairs: Ints, split: int | None, rng: np.random.Generator) -> NDArray[np.int64]:
    """Numbers of the pairs in rounds: in a round every subject occurs equally often (twice; between groups: once)."""
    number = {(int(i), int(j)): k for k, (i, j) in enumerate(pairs)}
    order: list[int] = []
    if split is None:
        subjects = rng.permutation(np.unique(pairs)).tolist()
        n = len(subjects)
        for distance in range(1, n // 2 + 1):
            ends = {tuple(sorted((subjects[k], subjects[(k + distance) % n]))) for k in range(n)}
            order += rng.permutation(sorted(number[i, j] for i, j in ends)).tolist()
    else:
        first, second = (rng.permutation(np.unique(pairs[:, side])).tolist() for side in (0, 1))
        longer, shorter = max(len(first), len(second)), min(len(first), len(second))
        for distance in range(longer):
            ends_of = [(k, (k + distance) % longer) for k in range(shorter)]
            ends = {(first[a], second[b]) if len(first) <= len(second) else (first[b], second[a]) for a, b in ends_of}
            order += rng.permutation(sorted(number[i, j] for i, j in ends)).tolist()
    return np.array(order, np.int64)


def _balanced_combinations(combinations: Ints, rng: np.random.Generator) -> NDArray[np.int64]:
    """Numbers of the combinations in rounds: in a round every attribute occurs once, and templates take turns."""
    number = {(int(t), int(a)): k for k, (t, a) in enumerate(combinations)}
    kinds: dict[tuple[int, ...], list[int]] = {}  # attributes by the templates that they go with
    for attribute in rng.permutation(np.unique(combinations[:, 1])).tolist():
        usable = combinations[combinations[:, 1] == attribute, 0]
        kinds.setdefault(tuple(usable.tolist()), []).append(attribute)
    order: list[int] = []
    for turn in range(max(map(len, kinds))):
        shuffled: list[tuple[float, int]] = []
        for templates, attributes in kinds.items():
            if turn < len(templates):
                dealt = _deal_combinations(turn, len(templates), len(attributes), rng)
                numbers = [number[templates[t], attributes[a]] for t, a in dealt]
                shuffled += [((index + rng.random()) / len(numbers), k) for index, k in enumerate(numbers)]
        order += [k for _, k in sorted(shuffled)]  # kinds interleaved, each in its own order
    return np.array(order, np.int64)


def _deal_combinations(turn: int, templates: int, attributes: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """(template, attribute) of one round: every attribute once, templates going on where the last round ended.

    Shuffled within hands of one combination per template, and hand by hand, so that templates stay even throughout;
    what is left over makes no hand, and stays in its order.
    """
    first = turn * attributes
    begun = first // lcm(templates, attributes)  # otherwise templates would meet the same attributes again
    combinations = [((first + k + begun) % templates, k) for k in range(attributes)]
    hands = [combinations[k : k + templates] for k in range(0, attributes - attributes % templates, templates)]
    shuffled = [hands[hand][k] for hand in rng.permutation(len(hands)) for k in rng.permutation(templates)]
    return shuffled + combinations[len(shuffled) :]
