"""Runs of one model in several languages: named by the language, compared template by template, and told in words."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import language_runs
from assay.compare import compare
from assay.compare.comparison import Comparison
from assay.compare.leaderboards import leaderboards
from assay.compare.present import present_comparison, terminal_comparison, title_of
from assay.gate import Limit, Policy, gate
from assay.presentation.elements import DisplayTable, HeatMap, Panel
from assay.presentation.rich_text import plain
from assay.report import markdown_sections, print_sections, write_html
from assay.report.formats import report_text
from assay.report.html import render_page
from assay.runs.folder import open_runs, read_run
from html_pages import Page
from raising import raises

pytestmark = pytest.mark.slow

AGREES = "The model agrees with stereotypes more often in Spanish than in English (difference 0."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """English and Dutch are even-handed, Spanish agrees with stereotypes."""
    for seed, (language, share) in enumerate({"en": 0.5, "es": 0.9, "nl": 0.5}.items()):
        language_runs.write(tmp_path / "runs" / language, language, share, right=0.2, seed=seed)
    return tmp_path / "runs"


def compared(folder: Path, *names: str) -> Comparison:
    return compare([folder / name for name in names])


def in_terminal(comparison: Comparison) -> str:
    console = Console(file=io.StringIO(), width=120)
    print_sections(terminal_comparison(comparison), console)
    return console.file.getvalue()  # type: ignore[attr-defined]  # it is a StringIO


def test_runs_are_named_by_their_language_and_the_clear_differences_are_told(folder: Path) -> None:
    found = compared(folder, "en", "es", "nl")
    assert (found.model, list(found.models)) == ("hf:org/model", ["English", "Spanish", "Dutch"])
    assert plain(title_of(found)) == "hf:org/model in English, Spanish and Dutch"
    clear = {(each.model, each.change.metric, *each.change.group.values()) for each in found.differences if each.clear}
    assert ("Spanish", "bias_score", "all", "ambig") in clear
    assert not {each for each in clear if each[0] == "Dutch"}
    assert not [note for note in found.notes if "different settings" in note]
    assert {own.common for each in found.counts.values() for own in each} == {480}


def test_every_view_says_the_same(folder: Path) -> None:
    found = compared(folder, "en", "es", "nl")
    sections = present_comparison(found)
    page = Page(render_page(title_of(found), sections, "comparison")).words
    for shown in (in_terminal(found), markdown_sections(sections), page):
        assert AGREES in " ".join(shown.split())
        assert "Bias scores by category and language" in shown
        assert "models are equal" not in shown
    told = json.loads(found.to_json())
    assert (told["model"], told["models"]) == ("hf:org/model", ["English", "Spanish", "Dutch"])
    assert {each["baseline"] for each in told["differences"]} == {"English"}


def test_the_map_has_a_column_for_each_language_and_is_pale_where_nothing_is_clear(folder: Path) -> None:
    (section,) = compared(folder, "en", "es", "nl").sections
    maps = [block for block in section.blocks if isinstance(block, HeatMap)]
    assert [heat.name for heat in maps] == ["ambiguous", "disambiguated"]
    for heat in maps:
        assert (heat.row, heat.column, heat.columns) == ("category", "language", ["English", "Spanish", "Dutch"])
        assert {category for category, _ in heat.cells} == {"Age", "Religion", "Socioeconomic status (SES)"}
        assert {language for _, language in heat.unclear} == {"English", "Dutch"}
    (part,) = (block for block in section.blocks if isinstance(block, Panel))
    (table,) = part.blocks
    assert isinstance(table, DisplayTable)
    assert len(table.rows) == 8  # three categories and all together, in two contexts


def test_sets_that_ask_different_questions_are_compared_and_it_is_said(folder: Path) -> None:
    language_runs.write(folder / "bbq", "en", 0.9, edition="bbq", right=0.2, seed=7)
    found = compared(folder, "nl", "bbq")
    assert list(found.models) == ["Dutch (MBBQ)", "English (BBQ)"]
    assert "these sets ask different questions" in " ".join(found.notes)
    (whole,) = (
        each.change
        for each in found.differences
        if each.change.metric == "bias_score" and each.change.group == {"category": "all", "context": "ambig"}
    )
    assert whole.low is not None
    assert whole.low > 0
    assert "these sets ask different questions" in " ".join(in_terminal(found).split())


def test_the_control_set_tells_ability_from_bias(folder: Path) -> None:
    language_runs.write(folder / "control", "es", 0.5, edition="mbbq_control", right=0.6, seed=8)
    found = compared(folder, "en", "es", "control")
    assert found.models[-1] == "Spanish (MBBQ's control set)"
    rows = json.loads(found.to_json())["tables"]["bbq-control-accuracy"]
    whole = next(row for row in rows if (row["category"], row["context"]) == ("all", "disambig"))
    assert whole["language"] == "Spanish"
    assert whole["difference"] == pytest.approx(whole["control_accuracy"] - whole["accuracy"])
    accuracies = [
        next(e.value for e in read_run(folder / name).findings.estimates if e.metric == "accuracy" and e.group == group)
        for name in ("es", "control")
        for group in [{"category": "all", "context": "disambig"}]
    ]
    assert [whole["accuracy"], whole["control_accuracy"]] == pytest.approx(accuracies)
    assert whole["low"] > 0
    said = " ".join(in_terminal(found).split())
    assert "In Spanish, where the text gives the answer, the model is right in" in said
    assert not [each for each in found.differences if each.model == found.models[-1]]  # English is no match for it
    alone = compared(folder, "es", "control")
    assert {each.change.metric for each in alone.differences} & {"accuracy", "bias_score"} == {"accuracy"}


def test_different_models_keep_their_names(folder: Path) -> None:
    language_runs.write(folder / "other", "es", 0.5, model="hf:org/other", seed=9)
    found = compared(folder, "en", "other")
    assert (found.model, list(found.models)) == ("", ["hf:org/model", "hf:org/other"])
    assert "hf:org/model was asked in English, hf:org/other in Spanish: nothing is paired" in found.notes
    assert not found.differences


def test_a_baseline_in_another_language_judges_nothing(folder: Path) -> None:
    policy = Policy([Limit("bbq.bias_score", baseline=folder / "en", worse_by=0.1)])
    with raises("not-comparable", key="baseline"):
        gate(folder / "es", policy)


def test_two_runs_in_one_language_are_told_apart_by_their_folders(folder: Path) -> None:
    language_runs.write(folder / "again", "en", 0.5, seed=10)
    found = compared(folder, "en", "again")
    assert (found.model, [Path(name).name for name in found.models]) == ("", ["en", "again"])


# --- a folder of runs


def report(folder: Path, form: str) -> Any:
    runs = open_runs(folder)
    return report_text(runs, form, leaderboards(runs))


def test_a_report_on_a_folder_compares_the_languages_in_place_of_ranks(folder: Path) -> None:
    runs = open_runs(folder)
    (board,) = leaderboards(runs)
    assert (list(board.rankings), list(board.unranked)) == ([], [])
    page = Page(write_html(folder, runs, boards=[board]).read_text()).words
    for shown in (page, report(folder, "md")):
        words = " ".join(shown.split())
        assert AGREES in words
        assert "One model in several languages: hf:org/model in English, Spanish and Dutch" in words.replace("\\", "")
        assert "Models by bias" not in words
    assert "Bias scores by category and language" in page
    (told,) = json.loads(report(folder, "json"))["leaderboards"]
    assert told["languages"][0]["models"] == ["English", "Spanish", "Dutch"]


def test_models_are_ranked_within_a_language(folder: Path) -> None:
    language_runs.write(folder / "a-control", "es", 0.5, edition="mbbq_control", seed=8)
    language_runs.write(folder / "other", "es", 0.2, model="hf:org/other", right=0.2, seed=9)
    (board,) = leaderboards(open_runs(folder))
    assert board.rankings
    for ranking in board.rankings:
        assert {each.run.info.settings["language"] for each in ranking.models} == {"es"}
    (section,) = board.sections
    assert section.title.endswith("hf:org/model in English, Spanish, Dutch and Spanish (MBBQ's control set)")
    names = {each["baseline"] for found in board.languages for each in found["differences"]}
    assert names == {"English"}  # a control set is no baseline, whatever its folder is called
