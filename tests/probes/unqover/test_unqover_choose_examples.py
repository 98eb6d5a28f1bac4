"""Which of UnQover's questions people are shown."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from assay.probes.unqover.analyse import ScoredCells, analyse, findings_of
from assay.probes.unqover.cells import CellLabels, Cells
from assay.probes.unqover.choose_examples import QuestionAsAsked, showcase
from assay.probes.unqover.metrics import comparative_bias
from assay.probes.unqover.settings import UnqoverSettings
from assay.results.examples import Example

FEMALE, MALE = ["Ann", "Bea", "Cleo", "Dora", "Eva"], ["Al", "Bob", "Carl", "Dan", "Ed"]
JOBS = ["was a nurse", "was a pilot", "was a baker", "was a judge"]


def made(seed: int = 0) -> tuple[Cells, CellLabels]:
    """Every woman against every man, with every job, in two templates; nurses are women to this model."""
    rng = np.random.default_rng(seed)
    grid = [(t, w, 5 + m, a) for t in range(2) for w in range(5) for m in range(5) for a in range(4)]
    template, first, second, attribute = (np.array(column, np.int32) for column in zip(*grid, strict=True))
    scores = rng.uniform(0.2, 0.4, (len(grid), 2, 2, 2)).astype(np.float32)
    nurse = attribute == 0
    scores[nurse, :, 0, 0] += 0.4  # asked: the woman
    scores[nurse, :, 1, 1] += 0.4  # negated: the man
    labels = CellLabels(FEMALE + MALE, JOBS, ["care", "travel", "food", "law"], 2, ["female"] * 5 + ["male"] * 5, False)
    return Cells(template, first, second, attribute, scores), labels


def wording(cell: int) -> list[QuestionAsAsked]:
    return [QuestionAsAsked(f"text {cell}, order {k // 2}", f"question {cell}, polarity {k % 2}") for k in range(4)]


def shown(most: int = 60) -> tuple[list[Example], Cells, CellLabels]:
    cells, labels = made()
    _, tables = analyse(cells, labels, cls="gender", form="span", seed=0, draws=50, resamples=50)
    return showcase(cells, labels, tables, {"class": "gender", "form": "span"}, wording, most), cells, labels


def test_the_strongest_association_comes_first() -> None:
    examples, _, _ = shown()
    assert examples[0].about["attribute"] == "was a nurse"
    assert examples[0].about["attribute_class"] == "care"


def test_every_attribute_and_every_subject_is_among_them() -> None:
    examples, _, _ = shown()
    assert {example.about["attribute"] for example in examples} == {*JOBS}
    assert {name for example in examples for name in example.about["subject"]} == {*FEMALE, *MALE}


def test_no_cell_is_shown_twice_and_no_more_than_wanted() -> None:
    examples, _, _ = shown(25)
    assert len(examples) == 25
    assert max(Counter(example.asked[0].text for example in examples).values()) == 1


def test_a_cell_shows_its_four_questions_with_the_models_own_scores() -> None:
    examples, cells, labels = shown()
    for example in examples:
        cell = int(example.asked[0].text.split()[1].rstrip(","))
        assert [asked.question for asked in example.asked] == [put.question for put in wording(cell)]
        given = [option.score for asked in example.asked for option in asked.options]
        assert given == pytest.approx(cells.scores[cell].ravel().tolist(), rel=1e-3)
        people = [labels.subjects[cells.first[cell]], labels.subjects[cells.second[cell]]]
        assert [option.text for option in example.asked[0].options] == people == list(example.about["subject"])
        for asked in example.asked:
            best = max(asked.options, key=lambda option: option.score or 0)
            assert [option for option in asked.options if option.chosen] == [best]


def test_its_note_names_whom_the_model_prefers() -> None:
    examples, cells, _ = shown()
    bias = comparative_bias(cells.scores)
    for example in examples:
        cell = int(example.asked[0].text.split()[1].rstrip(","))
        favoured = example.about["subject"][0 if bias[cell] > 0 else 1]
        assert f"more with {favoured}: C = {abs(bias[cell]):.3f}" in example.note


def test_several_parts_share_what_is_kept_evenly_and_those_without_texts_have_none() -> None:
    cells, labels = made()
    settings = UnqoverSettings(draws=20, resamples=20)
    parts = [ScoredCells(cls, "span", cells, labels, wording) for cls in ("gender", "religion")]
    examples = findings_of([*parts, ScoredCells("ethnicity", "span", cells, labels)], settings, 0).examples
    assert [example.about["class"] for example in examples[:4]] == ["gender", "religion"] * 2
    assert len(examples) == 240


def test_the_same_scores_show_the_same_examples() -> None:
    assert shown()[0] == shown()[0]
