"""The examples of a report: questions about the strongest associations and the ends of the ranking, and others.

A cell is shown with all its questions, since none of them means anything by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.probes.unqover.metrics import Array, CellLabels, Cells, comparative_bias, of_cells
from assay.probes.unqover.settings import UNKNOWN
from assay.results.examples import AskedQuestion, Example, Option
from assay.results.findings import Table


class QuestionAsAsked(NamedTuple):
    """A question as it was put: which option stands at each place (0 and 1: the subjects, 2: UNKNOWN), what a language
    model read and, where it writes, what it wrote.
    """

    text: str
    question: str
    shown: Sequence[int] = (0, 1)
    prompt: str = ""
    answer: str | None = None


Wording = Callable[[int], Sequence[QuestionAsAsked]]
"""A cell's questions: two orders of the subjects, (two orders of the options,) each as asked and negated."""

_PAIRS, _ENDS = 12, 10
SCORES = {
    "span": "the probability that the model gives to each subject as the answer",
    "mask": "the probability that the model gives to each subject in place of the mask",
    "choice": "the probability that the model gives to each option",
    "forced": "the probability that the model gives to each option",
    "free": "the share of answers that name each",
}
_COUNTS = {4: "four", 8: "eight"}


def showcase(
    cells: Cells, labels: CellLabels, tables: Mapping[str, Table], about: Mapping[str, str], wording: Wording, most: int
) -> list[Example]:
    """At most `most` cells of one class and form, the clearest first; `tables` holds what was found in them."""
    bias = of_cells(comparative_bias, cells.scores)
    chosen: dict[int, None] = {}
    ways = (_strong(cells, bias, labels, tables), _ends(cells, bias, labels, tables), _others(cells))
    for round_ in zip_longest(*ways):
        for cell in round_:
            if cell is not None and len(chosen) < most:
                chosen.setdefault(cell)
        if len(chosen) >= most:
            break
    return [_example(cells, labels, about, wording, cell, float(bias[cell])) for cell in chosen]


def _strong(cells: Cells, bias: Array, labels: CellLabels, tables: Mapping[str, Table]) -> Iterator[int]:
    """The clearest cell and a typical one of each strong association."""
    table = "groups" if tables.get("groups", Table((), ())).rows else "gamma"
    who = "group" if table == "groups" else "subject"
    rows = sorted(tables[table].records(), key=lambda row: (_clear(row["q"]), -abs(float(row["gamma"] or 0))))
    attributes = {name: number for number, name in enumerate(labels.attributes)}
    for row in rows[:_PAIRS]:
        side = _side(cells, labels, str(row[who]))
        here = np.flatnonzero((cells.attribute == attributes[str(row["attribute"])]) & (side != 0))
        by_size = here[np.argsort(-bias[here] * side[here] * np.sign(float(row["gamma"] or 0)), kind="stable")]
        yield from (int(by_size[k]) for k in sorted({0, len(by_size) // 2}) if len(by_size))


def _ends(cells: Cells, bias: Array, labels: CellLabels, tables: Mapping[str, Table]) -> Iterator[int]:
    """A typical cell of each subject at both ends of the ranking."""
    names = [str(row["subject"]) for row in tables["subjects"].records()]
    for name in dict.fromkeys([*names[:_ENDS], *names[-_ENDS:]]):
        side = _side(cells, labels, name)
        here = np.flatnonzero(side)
        if len(here):
            yield int(here[np.argsort(bias[here] * side[here], kind="stable")[len(here) // 2]])


def _others(cells: Cells) -> Iterator[int]:
    """Cells in a fixed random order, one attribute after the other."""
    order = np.random.default_rng(0).permutation(len(cells))
    attribute = cells.attribute[order]
    by_attribute = [order[attribute == which] for which in np.unique(attribute).tolist()]
    for round_ in zip_longest(*(own[:50].tolist() for own in by_attribute)):
        yield from (int(cell) for cell in round_ if cell is not None)


def _clear(q: object) -> bool:
    return not (isinstance(q, int | float) and q <= 0.05)


def _side(cells: Cells, labels: CellLabels, who: str) -> NDArray[np.int8]:
    """1 where a subject or a group is a cell's first subject, -1 where its second, else 0."""
    names = np.array([name == who for name in labels.subjects])
    if not names.any() and labels.groups is not None:
        names = np.array([group == who for group in labels.groups])
    return names[cells.first].astype(np.int8) - names[cells.second].astype(np.int8)


def _example(
    cells: Cells, labels: CellLabels, about: Mapping[str, str], wording: Wording, cell: int, bias: float
) -> Example:
    first, second, attribute = int(cells.first[cell]), int(cells.second[cell]), int(cells.attribute[cell])
    people = [labels.subjects[first], labels.subjects[second]]
    answered = cells.scores[cell] if cells.listed is None else cells.listed.shares[cell]
    scores = answered.reshape(-1, answered.shape[-1]).tolist()
    asked = [_asked(put, [*people, UNKNOWN], own) for put, own in zip(wording(cell), scores, strict=True)]
    every = f"Over all {_COUNTS[len(asked)]} questions"
    groups = {} if labels.groups is None else {"group": [labels.groups[first], labels.groups[second]]}
    favoured = people[0] if bias > 0 else people[1]
    note = (
        f"{every}, the model associates this more with {favoured}: C = {abs(bias):.3f} (0: no preference, "
        "1: the largest possible)."
        if bias
        else f"{every}, the model prefers neither: C = 0."
    )
    told = {
        **about,
        "subject": people,
        **groups,
        "attribute": labels.attributes[attribute],
        "attribute_class": labels.attribute_classes[attribute],
    }
    return Example(told, asked, SCORES.get(about["form"].partition(",")[0], ""), note)


def _asked(put: QuestionAsAsked, names: Sequence[str], scores: Sequence[float]) -> AskedQuestion:
    options = [Option(names[k], _tidy(scores[k]), 0 < scores[k] == max(scores)) for k in put.shown]
    return AskedQuestion(put.text, put.question, options, put.answer, put.prompt)


def _tidy(score: float) -> float:
    return float(f"{score:.4g}")
