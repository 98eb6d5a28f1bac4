"""Which cells are asked. A cell is an unordered pair of subjects x a template x an attribute of the template's kind.

A sample of n cells is the first n of a fixed order of all cells, so that samples of different sizes are nested. In that
order pairs come in rounds in which every subject takes part equally often, and template-attribute combinations in
rounds in which every attribute occurs once and templates take turns: any beginning of it is balanced.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from assay.probes.unqover.lists import Lists
from assay.queries import Ints


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
        chosen, asked = self.pairs[pair], self.combinations[combination]
        return chosen[:, 0], chosen[:, 1], asked[:, 0], asked[:, 1]


def cell_table(lists: Lists, cells: int | None, seed: int, without: frozenset[str] = frozenset()) -> CellTable:
    """All cells of the lists, or a balanced sample of them; `without` names subjects that are left out."""
    kept = [k for k, subject in enumerate(lists.subjects) if subject.name not in without]
    if lists.split is None:
        pairs = [(i, j) for place, i in enumerate(kept) for j in kept[place + 1 :]]
    else:
        pairs = [(i, j) for i in kept if i < lists.split for j in kept if j >= lists.split]
    combinations = [
        (t, a)
        for t, template in enumerate(lists.templates)
        for a, attribute in enumerate(lists.attributes)
        if attribute.kind == template.kind
    ]
    table = CellTable(
        np.array(pairs, np.int32).reshape(-1, 2), np.array(combinations, np.int32).reshape(-1, 2), sample=None
    )
    if cells is None or cells >= table.total:
        return table
    rng = np.random.default_rng([seed, 20201116])
    order = _balanced_pairs(table.pairs, lists.split, rng)
    turns = _balanced_combinations(table.combinations, rng)
    n_pairs, n_turns = len(order), len(turns)
    step = n_pairs
    while gcd(step, n_turns) != 1:  # each round continues where the last one ended, and no cell comes twice
        step += 1
    turn, place = np.divmod(np.arange(cells, dtype=np.int64), n_pairs)
    numbers = order[place] * n_turns + turns[(place + turn * step) % n_turns]
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
    attributes = np.unique(combinations[:, 1])
    waiting = {}
    for place, attribute in enumerate(rng.permutation(attributes).tolist()):
        own = np.flatnonzero(combinations[:, 1] == attribute)
        waiting[attribute] = np.roll(own, -place).tolist()
    order: list[int] = []
    while waiting:
        for attribute in rng.permutation(sorted(waiting)).tolist():
            order.append(waiting[attribute].pop(0))
            if not waiting[attribute]:
                del waiting[attribute]
    return np.array(order, np.int64)
