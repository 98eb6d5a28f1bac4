"""Predictions in the authors' JSON become cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.probes.unqover import predictions
from assay.probes.unqover.predictions import read_predictions
from raising import raises


def entry(first: str, second: str, scores: list[list[float]], *, act: str = "was late", tid: int = 0, group: str = "x"):
    """An example with S of (asked, negated) x (first, second) as both probabilities."""
    value: dict[str, Any] = {"context": f"{first} sat by {second}."}
    for k, row in enumerate(scores):
        answers = {f"ans{p}": {"text": (first, second)[p], "start": s, "end": s} for p, s in enumerate(row)}
        value[f"q{k}"] = {"question": "Who?" if k == 0 else "Who not?", "pred": "", **answers}
    return f"{group}|{group}|{first}|{second}|{tid}|c|{act}|{act}", value


def file(path: Path, *entries: tuple[str, Any], indent: int | None = 4) -> Path:
    path.write_text(json.dumps(dict(entries), indent=indent), encoding="utf-8")
    return path


def test_scores_stand_by_order_polarity_and_subject(tmp_path):
    found = read_predictions(
        file(
            tmp_path / "x.json",
            entry("A", "B", [[0.1, 0.2], [0.3, 0.4]]),
            entry("B", "A", [[0.5, 0.6], [0.7, 0.8]]),
        ),
        "religion",
        None,
    )
    assert found.labels.subjects == ["A", "B"]
    assert (found.cells.first.tolist(), found.cells.second.tolist()) == ([0], [1])
    expected = [[[0.1, 0.2], [0.3, 0.4]], [[0.6, 0.5], [0.8, 0.7]]]  # who, not where
    np.testing.assert_allclose(found.cells.scores[0], expected, rtol=1e-6)


def test_the_score_is_the_root_of_start_times_end(tmp_path):
    one, two = entry("A", "B", [[0, 0], [0, 0]]), entry("B", "A", [[0, 0], [0, 0]])
    one[1]["q0"]["ans1"] |= {"start": 0.04, "end": "0.01"}  # a number in quotes is a number
    found = read_predictions(file(tmp_path / "x.json", one, two), "religion", None)
    assert found.cells.scores[0, 0, 0, 1] == pytest.approx(0.02)


def test_the_reversed_entry_may_come_first(tmp_path):
    rows = [entry("A", "B", [[0.1, 0.2], [0.3, 0.4]]), entry("B", "A", [[0.5, 0.6], [0.7, 0.8]])]
    there, back = (
        read_predictions(file(tmp_path / f"{k}.json", *order), "religion", None)
        for k, order in enumerate((rows, rows[::-1]))
    )
    assert back.labels.subjects == there.labels.subjects == ["A", "B"]
    np.testing.assert_array_equal(back.cells.scores, there.cells.scores)


def test_groups_of_gender_stand_one_behind_the_other(tmp_path):
    rows = []
    for pair in (("Mary", "James"), ("Linda", "James"), ("Mary", "John"), ("Linda", "John")):
        for first, second in (pair, pair[::-1]):
            key, value = entry(first, second, [[0.1, 0.2], [0.3, 0.4]])
            groups = ["female" if name in ("Mary", "Linda") else "male" for name in (first, second)]
            rows.append((key.replace("x|x|", f"{'|'.join(groups)}|"), value))
    found = read_predictions(file(tmp_path / "x.json", *rows), None, None)
    assert found.cls == "gender"
    assert found.labels.subjects == ["Mary", "Linda", "James", "John"]
    assert found.labels.groups == ["female", "female", "male", "male"]
    pairs = {frozenset(pair) for pair in zip(found.cells.first.tolist(), found.cells.second.tolist(), strict=True)}
    assert pairs == {frozenset(pair) for pair in ((0, 2), (0, 3), (1, 2), (1, 3))}
    assert not found.labels.sampled


def test_a_part_of_all_cells_is_a_sample(tmp_path):
    rows = [entry(*pair, [[0.1, 0.2], [0.3, 0.4]]) for pair in (("A", "B"), ("B", "A"), ("A", "C"), ("C", "A"))]
    found = read_predictions(file(tmp_path / "x.json", *rows), "religion", None)
    assert found.labels.sampled  # B and C never met
    rows += [entry(*pair, [[0.1, 0.2], [0.3, 0.4]]) for pair in (("B", "C"), ("C", "B"))]
    assert not read_predictions(file(tmp_path / "x.json", *rows), "religion", None).labels.sampled


def test_templates_and_attributes_are_told_apart(tmp_path):
    rows = [
        entry(*pair, [[0.1, 0.2], [0.3, 0.4]], act=act, tid=tid)
        for pair in (("A", "B"), ("B", "A"))
        for act in ("was late", "was early")
        for tid in (7, 3)
    ]
    found = read_predictions(file(tmp_path / "x.json", *rows), "religion", None)
    assert found.labels.templates == 2
    assert found.labels.attributes == ["was early", "was late"]
    assert found.labels.attribute_classes == ["c", "c"]
    cells = list(zip(found.cells.template.tolist(), found.cells.attribute.tolist(), strict=True))
    assert sorted(cells) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_what_is_left_out_is_named(tmp_path):
    path = file(
        tmp_path / "x.json",
        entry("A", "B", [[0.1, 0.2], [0.3, 0.4]]),
        entry("B", "A", [[0.1, 0.2], [0.3, 0.4]]),
        entry("A", "C", [[0.1, 0.2], [0.3, 1.4]]),
        entry("C", "A", [[0.1, 0.2], [0.3, 0.4]]),
    )
    with raises("bad-row", file=path, line=64):
        read_predictions(path, "religion", None)
    found = read_predictions(path, "religion", None, skip_bad=True)
    assert len(found.cells) == 1
    assert len(found.skipped) == 2
    assert "start 1.4" in found.skipped[0]
    assert "1 of 2 comparisons have only one order" in found.skipped[1]


@settings(max_examples=30, deadline=None)
@given(
    chunk=st.integers(1, 200),
    indent=st.sampled_from([None, 0, 4]),
    names=st.lists(st.text(st.characters(exclude_characters="|", codec="utf-8"), min_size=1), min_size=2, unique=True),
    ascii_=st.booleans(),
)
def test_where_a_file_is_cut_into_pieces_does_not_matter(tmp_path_factory, chunk, indent, names, ascii_):
    rows = [(f"key {name}", {"a": name, "b": [1.5e-3, {"c": None}]}) for name in names]
    path = tmp_path_factory.mktemp("pieces") / "x.json"
    path.write_text(json.dumps(dict(rows), indent=indent, ensure_ascii=ascii_), encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(predictions, "_CHUNK", chunk)
        found = list(predictions._stream(path))
    assert [(key, value) for key, value, _ in found] == rows
    if indent is not None and ascii_:
        lines = path.read_text().split("\n")
        assert all(lines[line - 1].strip().startswith(json.dumps(key)) for key, _, line in found)


def test_a_byte_order_mark_does_not_matter(tmp_path):
    path = file(tmp_path / "x.json", entry("A", "B", [[0, 0], [0, 0]]), entry("B", "A", [[0, 0], [0, 0]]))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(read_predictions(path, "religion", None).cells) == 1


def test_a_key_that_is_in_an_entry_twice_is_an_error(tmp_path):
    path = file(tmp_path / "x.json", entry("A", "B", [[0, 0], [0, 0]]), entry("B", "A", [[0, 0], [0, 0]]))
    written = path.read_text(encoding="utf-8")
    path.write_text(written.replace('"start": 0', '"start": 1, "start": 0', 1), encoding="utf-8")
    with raises("duplicate", file=path, line=2, key="start"):
        read_predictions(path, "religion", None)
