"""Several models side by side: separation of groups, and words that are clear of chance in any of them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from assay.compare import compare
from assay.compare.present import terminal_comparison
from assay.probes.sodapop.across import TITLES, side_by_side
from assay.probes.sodapop.analyse import WORDS
from assay.report import print_sections
from assay.results.findings import Estimate, Findings, Table
from assay.runs.score import score


def findings(words: list[tuple[str, str, str, float | None, float]], **accuracies: float | None) -> Findings:
    """Words as (group_a, group_b, word, rd, q), accuracies as A_B=…"""
    cells = [dict(zip(("group_a", "group_b", "word", "rd", "q"), row, strict=True)) for row in words]
    estimates = [
        Estimate(
            "kmeans_accuracy", dict(zip("ab", pair.split("_"), strict=True)), value, n=50, p=0.5, floor=0.55, note=""
        )
        if value is not None
        else Estimate("kmeans_accuracy", dict(zip("ab", pair.split("_"), strict=True)), None, note="no words")
        for pair, value in accuracies.items()
    ]
    return Findings(
        "sodapop",
        "m",
        estimates,
        {"words": Table([*WORDS, "claimed"], [[*map(row.get, WORDS), int(row["q"] <= 0.05)] for row in cells])},
    )


ONE = findings(
    [
        ("A", "B", "kind", 0.06, 0.01),
        ("A", "B", "rude", -0.04, 0.2),
        ("A", "B", "wild", 0.9, 0.6),
        ("A", "C", "kind", 0.1, 0.4),
    ],
    A_B=0.98,
    A_C=0.6,
)
OTHER = findings(
    [("A", "B", "kind", 0.03, 0.3), ("A", "B", "rude", -0.05, 0.05), ("A", "B", "calm", 0.5, 0.001)],
    A_B=0.7,
    A_C=None,
)


def tables(*models: tuple[str, Findings]) -> dict[str, list[list[Any]]]:
    found = side_by_side(models)
    assert set(found) <= set(TITLES)
    return {name: [list(row) for row in table.rows] for name, table in found.items()}


def test_separation_is_listed_pair_by_pair_for_every_model() -> None:
    assert tables(("one", ONE), ("other", OTHER))["separation"] == [
        ["A", "B", "one", 0.98, 0.55, 0.5, None, 50],
        ["A", "B", "other", 0.7, 0.55, 0.5, None, 50],
        ["A", "C", "one", 0.6, 0.55, 0.5, None, 50],  # the other's is undefined
    ]


def test_words_that_are_clear_in_any_model_have_their_rd_in_every_model() -> None:
    found = side_by_side([("one", ONE), ("other", OTHER)])["words"]
    assert found.columns == ("group_a", "group_b", "word", "clear_in", "one", "other")
    assert [list(row) for row in found.rows] == [
        ["A", "B", "calm", 1, None, 0.5],  # one has no such word
        ["A", "B", "kind", 1, 0.06, 0.03],
        ["A", "B", "rude", 1, -0.04, -0.05],  # q of 0.05 is clear
    ]


def test_a_word_can_be_clear_in_several_models() -> None:
    (kind, _) = tables(("one", ONE), ("again", ONE), ("other", OTHER))["words"][1:]
    assert kind[2:] == ["kind", 2, 0.06, 0.06, 0.03]


def test_a_pair_that_a_model_names_the_other_way_round_is_the_same_pair() -> None:
    turned = findings([("B", "A", "kind", -0.03, 0.3), ("B", "A", "rude", 0.05, 0.05)], B_A=0.7)
    found = tables(("one", ONE), ("turned", turned))
    assert found["separation"][1] == ["A", "B", "turned", 0.7, 0.55, 0.5, None, 50]
    assert found["words"] == [["A", "B", "kind", 1, 0.06, 0.03], ["A", "B", "rude", 1, -0.04, -0.05]]


def test_where_nothing_is_clear_there_is_no_table_of_words() -> None:
    dull = findings([("A", "B", "kind", 0.06, 0.5), ("A", "B", "rude", None, 0.01)], A_B=0.6)
    assert set(tables(("one", dull), ("other", dull))) == {"separation"}
    assert side_by_side([("one", Findings("sodapop", "m", [])), ("other", Findings("sodapop", "n", []))]) == {}


def scored(folder: Path, name: str, favoured: str) -> Path:
    """Scores of results in which "bold" wins for one group's names."""
    groups = {"A": [f"Ann{letter}" for letter in "abcdefgh"], "B": [f"Bob{letter}" for letter in "abcdefgh"]}
    (folder / "groups.json").write_text(json.dumps(groups), encoding="utf-8")
    rng = np.random.default_rng(0)
    rows = [
        {
            "name": person,
            "context": context,
            "choices": ["right", f"{word} {context}"],
            "label": 0,
            "probs": [0.1, 0.9] if (group == favoured if word == "bold" else rng.random() < 0.5) else [0.9, 0.1],
        }
        for group, names in groups.items()
        for person in names
        for context in range(6)
        for word in ("bold", "mild", "neat")
    ]
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    settings = {"groups": str(folder / "groups.json"), "min_count": "6", "resamples": "20", "permutations": "500"}
    return score("sodapop", [file], settings={**settings, "model": name}, out=folder / name).folder


def test_two_runs_are_compared_and_shown(tmp_path: Path) -> None:
    found = compare([scored(tmp_path, "first", "A"), scored(tmp_path, "second", "B")])
    assert found.models == ["first", "second"]
    (bold,) = found.tables["words"].rows
    assert list(bold[:4]) == ["A", "B", "bold", 2]
    assert bold[4] == pytest.approx(2.0)
    assert bold[5] == pytest.approx(-2.0)
    shown = io.StringIO()
    print_sections(terminal_comparison(found), Console(file=shown, width=120))
    for part in ("[1] first", "[2] second", *TITLES.values(), "bold"):
        assert part in " ".join(shown.getvalue().split())
    assert json.loads(found.to_json())["tables"]["separation"][0]["accuracy"] > 0.9
