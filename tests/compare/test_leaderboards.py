"""Leaderboards: models that cannot be told apart share a rank, and nothing else is claimed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import assay
import small_bbq
from assay.compare.leaderboards import bias_difference_p, leaderboards
from assay.presentation.leaderboard import Leaderboard, Separation
from assay.probes.bbq.items import AMBIGUOUS, NEGATIVE, Item
from assay.probes.bbq.targets import find_targets
from assay.probes.contrast import PairedChange
from assay.report import print_sections, terminal_ranking, write_html
from assay.report.formats import report_text
from assay.results.findings import Estimate
from assay.results.run import Run
from assay.runs.folder import open_run, open_runs
from html_pages import Page

ASKED = small_bbq.examples(templates=12, quartets=6)
FEW = {"resamples": "200"}
UNUSABLE = (
    "answers cannot be used: answers follow the option's place: A got 100% of 288 answers, 33.3% were expected "
    "(q < 0.001)"
)


def leaning(share: float, seed: int) -> Callable[[Sequence[Item]], list[int]]:
    """A model that names the stereotyped person this often where it should say that nobody can know."""

    def answer(rows: Sequence[Item]) -> list[int]:
        drawn = np.random.default_rng(seed).random(len(rows))
        said = []
        for example, target, chance in zip(rows, find_targets(rows).tolist(), drawn, strict=True):
            people = [place for place, (_, label) in enumerate(example.info) if label != "unknown"]
            other = next(place for place in people if place != target)
            stereotyped = target if example.polarity == NEGATIVE else other
            ambiguous = example.condition == AMBIGUOUS
            said.append(stereotyped if ambiguous and chance < share else example.label)
        return said

    return answer


MODELS = {
    "equal-1": leaning(0.1, 1),
    "biased": leaning(0.8, 2),
    "equal-2": leaning(0.1, 3),
    "first-option": lambda rows: [0] * len(rows),
}


def scored(folder: Path, name: str, rows: Sequence[Item] = ASKED, settings: Mapping[str, str] | None = None) -> Path:
    """A run of a model's answers."""
    answers = MODELS[name](rows)
    given = [{**row.as_json(), "said": row.answers[place]} for row, place in zip(rows, answers, strict=True)]
    file = small_bbq.write(folder / "files" / f"{name}.jsonl", given)
    return assay.score(
        "bbq", [file], answers="said", settings=FEW | {"model": name} | dict(settings or {}), out=folder / "runs" / name
    ).folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("ranks")
    for name in MODELS:
        scored(made, name)
    return made / "runs"


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[Run]:
    return open_runs(folder)


@pytest.fixture(scope="module")
def board(runs: list[Run]) -> Leaderboard:
    (found,) = leaderboards(runs)
    return found


@pytest.mark.slow
def test_equal_models_share_a_rank_and_a_clearly_more_biased_one_is_behind_both(board: Leaderboard) -> None:
    main = board.rankings[0]
    assert (main.metric, dict(main.group), main.apart) == ("bias_score", {"category": "Age", "context": "ambig"}, "")
    assert [(each.rank, each.name) for each in main.models] == [(1, "equal-1"), (1, "equal-2"), (3, "biased")]
    clear = {(pair.one, pair.other): pair.clear for pair in main.pairs}
    assert clear == {("biased", "equal-1"): True, ("biased", "equal-2"): True, ("equal-1", "equal-2"): False}
    p, corrected = zip(*[(pair.p, pair.corrected) for pair in main.pairs], strict=True)
    assert corrected == (pytest.approx(3 * p[0]), pytest.approx(3 * p[1]), p[2])


def test_answers_that_follow_the_place_are_not_ranked(board: Leaderboard) -> None:
    assert [(each.name, each.why) for each in board.unranked] == [("first-option", UNUSABLE)]


def test_a_model_that_was_asked_other_questions_is_not_ranked_with_the_others(runs: list[Run], tmp_path: Path) -> None:
    half = scored(tmp_path, "equal-2", ASKED[: len(ASKED) // 2])
    (found,) = leaderboards([*(run for run in runs if run.model in ("equal-1", "biased")), open_run(half)])
    assert [each.name for each in found.rankings[0].models] == ["equal-1", "biased"]
    (left,) = found.unranked
    assert (left.name, left.why) == ("equal-2", "asked other questions: 50.0% are the same")


def test_models_that_lean_in_opposite_directions_may_be_equally_biased() -> None:
    """The change is clear, and yet neither is more biased."""

    def change(low: float, high: float, value: float) -> PairedChange:
        moved = Estimate("bias_score", {}, 0.5, 0.4, 0.6, n=9, p=0.0001)
        return PairedChange(moved, Estimate("bias_score", {}, value, low, high, n=9))

    assert bias_difference_p(change(-0.05, 0.15, 0.05)) == pytest.approx(0.327, abs=0.001)
    assert bias_difference_p(change(0.4, 0.6, 0.5)) == 0.0001


def test_models_whose_difference_is_surely_small_are_tied(runs: list[Run], board: Leaderboard) -> None:
    """The same answers do not differ at all; two models that lean alike may still differ by more than 0.05."""
    few = {(pair.one, pair.other): pair.separation for pair in board.rankings[0].pairs}
    assert few["equal-1", "equal-2"] is Separation.FEW
    assert few["biased", "equal-1"] is Separation.CLEAR
    (one,) = [run for run in runs if run.model == "equal-1"]
    (same,) = leaderboards([one, open_run(one.folder)])
    (pair,) = same.rankings[0].pairs
    assert (pair.separation, pair.smallest, pair.as_json()["separation"]) == (Separation.TIED, 0.05, "tied")
    screen = io.StringIO()
    print_sections(terminal_ranking([same]), Console(file=screen, width=80))
    assert screen.getvalue().splitlines()[1] == "The two models are tied."


def test_the_smallest_effect_that_a_run_was_given_decides_who_is_tied(tmp_path: Path) -> None:
    """Two models whose difference is at most 0.5, in runs to which only 0.5 is worth a headline."""
    runs = [open_run(scored(tmp_path, name, settings={"smallest_bias": "0.5"})) for name in ("equal-1", "equal-2")]
    (found,) = leaderboards(runs)
    (pair,) = found.rankings[0].pairs
    assert (pair.separation, pair.smallest) == (Separation.TIED, 0.5)


@pytest.mark.slow
def test_every_format_begins_with_the_models_by_rank(folder: Path, runs: list[Run], board: Leaderboard) -> None:
    page = Page(write_html(folder, runs, boards=[board]).read_text(encoding="utf-8"))
    told = page.words[page.words.index("Models by bias: BBQ") :]
    assert "Each run in short" in told
    assert told.index("1 equal-1") < told.index("1 equal-2") < told.index("3 biased") < told.index("Not ranked:")
    assert f"first-option: {UNUSABLE}" in told
    markdown = report_text(runs, "md", [board])
    assert markdown.index("## Models by bias: BBQ") < markdown.index("| 1 |") < markdown.index("| 3 |")
    assert "A model’s rank is 1 plus the number of models that are clearly less biased" in markdown
    (content,) = json.loads(report_text(runs, "json", [board]))["leaderboards"]
    assert [each["rank"] for each in content["rankings"][0]["models"]] == [1, 1, 3]
    assert [each["why"] for each in content["unranked"]] == [UNUSABLE]
    head, *rows = [line.split(",") for line in report_text(runs, "csv", [board]).splitlines()]
    model, rank, context = map(head.index, ("model", "rank", "context"))
    assert {row[model]: row[rank] for row in rows if row[rank] and row[context] == "ambig"} == {
        "biased": "3",
        "equal-1": "1",
        "equal-2": "1",
    }


def test_in_a_terminal_of_80_columns_no_word_is_broken(board: Leaderboard) -> None:
    screen = io.StringIO()
    print_sections(terminal_ranking([board]), Console(file=screen, width=80))
    lines = [line.rstrip() for line in screen.getvalue().splitlines()]
    assert max(map(len, lines)) <= 80
    assert lines[:4] == [
        "Models by bias: BBQ",
        "2 of the 3 pairs of models can be told apart; for 1 there are not enough",
        "questions to separate the models.",
        "",
    ]
    assert "Not enough questions to separate: equal-1 and equal-2." in lines
    assert "1 more ranking on the page." in lines
    assert [line.split()[:2] for line in lines[7:10]] == [
        ["1", "equal-1"],
        ["1", "equal-2"],
        ["3", "biased"],
    ]
