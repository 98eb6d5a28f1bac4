"""The examples of a report: questions about the strongest associations and the ends of the ranking, and others.

A cell is shown with all its questions, since none of them means anything by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.probes.unqover.cells import CellLabels, Cells
from assay.probes.unqover.metrics import Array, comparative_bias, of_cells
from assay.probes.unqover.settings import UNKNOWN
from assay.results.examples import AskedQuestion, Example, scored_options, take_turns
from assay.results.findings import Cell, Table
from assay.results.verdict import CLEAR


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
    chosen: set[int] = set()
    examples: list[Example] = []
    for cell in take_turns([_strong(cells, bias, labels, tables), _ends(cells, bias, labels, tables), _others(cells)]):
        if len(examples) >= most:
            break
        if cell not in chosen:
            chosen.add(cell)
            examples.append(_example(cells, labels, about, wording, cell, float(bias[cell])))
    return examples


def _strong(cells: Cells, bias: Array, labels: CellLabels, tables: Mapping[str, Table]) -> Iterator[int]:
    """The clearest cell and a typical one of each strong association."""
    table = "groups" if tables.get("groups", Table((), ())).rows else "gamma"
    key = "group" if table == "groups" else "subject"

    def order(row: Mapping[str, Cell]) -> tuple[bool, float]:
        q = row["q"]
        return not (isinstance(q, int | float) and q <= CLEAR), -abs(float(row["gamma"] or 0))

    attributes = {name: number for number, name in enumerate(labels.attributes)}
    for row in sorted(tables[table].records(), key=order)[:_PAIRS]:
        side = _side(cells, labels, str(row[key]))
        asked = np.flatnonzero((cells.attribute == attributes[str(row["attribute"])]) & (side != 0))
        by_size = asked[np.argsort(-bias[asked] * side[asked] * np.sign(float(row["gamma"] or 0)), kind="stable")]
        yield from (int(by_size[k]) for k in sorted({0, len(by_size) // 2}) if len(by_size))


def _ends(cells: Cells, bias: Array, labels: CellLabels, tables: Mapping[str, Table]) -> Iterator[int]:
    """A typical cell of each subject at both ends of the ranking."""
    names = [str(row["subject"]) for row in tables["subjects"].records()]
    for name in dict.fromkeys([*names[:_ENDS], *names[-_ENDS:]]):
        side = _side(cells, labels, name)
        asked = np.flatnonzero(side)
        if len(asked):
            yield int(asked[np.argsort(bias[asked] * side[asked], kind="stable")[len(asked) // 2]])


def _others(cells: Cells) -> Iterator[int]:
    """Cells in a fixed random order, one attribute after the other."""
    order = np.random.default_rng(0).permutation(len(cells))
    attribute = cells.attribute[order]
    return take_turns(order[attribute == which][:50].tolist() for which in np.unique(attribute).tolist())


def _side(cells: Cells, labels: CellLabels, label: str) -> NDArray[np.int8]:
    """1 where a subject or a group is a cell's first subject, -1 where its second, else 0."""
    names = np.array([name == label for name in labels.subjects])
    if not names.any() and labels.groups is not None:
        names = np.array([group == label for group in labels.groups])
    return names[cells.first].astype(np.int8) - names[cells.second].astype(np.int8)


def _example(
    cells: Cells, labels: CellLabels, about: Mapping[str, str], wording: Wording, cell: int, bias: float
) -> Example:
    first, second, attribute = int(cells.first[cell]), int(cells.second[cell]), int(cells.attribute[cell])
    people = [labels.subjects[first], labels.subjects[second]]
    answered = cells.scores[cell] if cells.listed is None else cells.listed.shares[cell]
    by_question = answered.reshape(-1, answered.shape[-1]).tolist()
    questions = []
    for question, scores in zip(wording(cell), by_question, strict=True):
        options = scored_options([*people, UNKNOWN][: len(scores)], scores, least=0.0)
        shown = [options[option] for option in question.shown]
        questions.append(AskedQuestion(question.text, question.question, shown, question.answer, question.prompt))
    groups = {} if labels.groups is None else {"group": [labels.groups[first], labels.groups[second]]}
    favoured = people[0] if bias > 0 else people[1]
    preference = (
        f"associates this more with {favoured}: C = {abs(bias):.3f} (0: no preference, 1: the largest possible)."
        if bias
        else "prefers neither: C = 0."
    )
    note = f"Over all {_COUNTS[len(questions)]} questions, the model {preference}"
    about_cell = {
        **about,
        "subject": people,
        **groups,
        "attribute": labels.attributes[attribute],
        "attribute_class": labels.attribute_classes[attribute],
    }
    return Example(about_cell, questions, SCORES.get(about["form"].partition(",")[0], ""), note)
