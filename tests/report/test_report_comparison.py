"""The page of a comparison: what differs, how clearly, and in which direction."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from assay.compare.comparison import Comparison
from assay.compare.differences import Difference, changed
from assay.compare.present import MOST_DRAWN, MOST_ROWS, present_comparison, terminal_comparison, title_of
from assay.probes import known_probe
from assay.probes.contrast import Common
from assay.report import print_sections, write_page
from assay.report.html import render_page
from assay.results.findings import Estimate, Table
from html_pages import HOSTILE, Page, assert_harmless


def difference(
    metric: str, value: float | None, q: float = 0.5, name: str = "new", category: str = "Age"
) -> Difference:
    group = {"category": category, "context": "ambig"}
    if value is None:
        gone = Estimate(metric, group, None, note="every answer was UNKNOWN")
        return Difference(name, "old", gone, gone, None, None, "bbq")
    change = Estimate(metric, group, value, value - 0.05, value + 0.05, n=40, p=q, q=q)
    worse = Estimate(metric, group, value, value - 0.05, value + 0.05, n=40)
    return Difference(name, "old", change, worse, 0.1, 0.1 + value, "bbq")


def comparison(*differences: Difference, rows: int = 2, notes: tuple[str, ...] = ()) -> Comparison:
    tables = {
        "differences": Table(("metric", "change"), [[each.change.metric, each.change.value] for each in differences]),
        "scores": Table(("category", "value"), [[f"Category {k}", k / 7] for k in range(rows)]),
    }
    models = ["old", *dict.fromkeys(each.model for each in differences)]
    counts = {models[-1]: [Common("items", 50, 48, 40)]} if differences else {}
    titles = {"scores": "Scores by model"}
    return Comparison(models, models, tables, titles, differences, counts, notes, "bbq")


def page(compared: Comparison) -> Page:
    return Page(render_page(title_of(compared), present_comparison(compared), "comparison"))


def test_the_page_says_what_is_clear_of_chance_and_whether_it_is_worse() -> None:
    shown = page(comparison(difference("bias_score", 0.2, 0.001), difference("bias_score", 0.01, 0.6, category="SES")))
    counted = "In short BBQ. Of 2 differences: 0 better, 1 worse, 1 unclear. Baseline and model How to read this:"
    assert counted in shown.words  # the chart is on the first screen
    assert "The largest first: bias score" in shown.words
    assert "bias score (Age, ambiguous) rose from 0.100 to 0.300 (change 0.200, " in shown.words
    assert "): worse than the baseline" in shown.words
    assert "(Socioeconomic status (SES), ambiguous)" not in shown.words  # not told, but in the table
    assert "Socioeconomic status (SES), ambiguous" in shown.words


def test_better_worse_and_unclear_are_counted_in_page_and_terminal() -> None:
    found = [difference("bias_score", value, 0.001, category=f"C{k}") for k, value in enumerate((0.2, -0.3, -0.4))]
    neither = replace(difference("bias_score", 0.35, 0.001, category="N"), worse=None)
    made = comparison(*found, neither, *(difference("bias_score", 0.01, category=f"U{k}") for k in range(3)))
    said = "Of 7 differences: 2 better, 1 worse, 1 neither better nor worse, 3 unclear."
    assert said in page(made).words
    stream = io.StringIO()
    print_sections(terminal_comparison(made), Console(file=stream, width=80))
    words = " ".join(stream.getvalue().split())
    largest = "The largest change in bias: bias score (C2, ambiguous) fell from 0.100 to -0.300 (change -0.400, "
    assert f"{said} {largest}" in words
    assert "): better than the baseline." in words
    assert words.index(said) < words.index("Differences on the items that both answered")


def test_bias_comes_first_and_repeats_and_zeros_are_left_out() -> None:
    made = comparison(
        difference("accuracy", -0.3),
        difference("diff_bias", 0.2),
        difference("bias_score", 0.2),
        difference("bias_score", 0.1, category="all"),
        difference("refused_rate", 0.0),
        difference("accuracy_cost", 0.4, category="SES"),
    )
    shown = changed(made.differences)
    assert [(each.change.metric, each.change.group["category"]) for each in shown] == [
        ("bias_score", "all"),
        ("bias_score", "Age"),
        ("accuracy_cost", "SES"),
        ("accuracy", "Age"),
    ]
    left = "2 rows left out (no change, undefined, or the values of another row)"
    assert left in page(made).words
    (data,) = [link for link in page(made).links if "refused_rate" in link]
    assert "diff_bias" in data


def test_a_difference_that_is_not_clear_is_drawn_hollow() -> None:
    shown = page(comparison(difference("bias_score", 0.2, 0.001), difference("bias_score", 0.01, 0.6)))
    dots = [attributes["class"] for attributes in shown.all("circle") if "cx" in attributes and attributes["r"] == "4"]
    assert dots.count("dot") == 4  # one in the chart and one in the table, each with one in its key
    assert dots.count("dot hollow") == 4


def test_without_any_clear_difference_the_page_says_so() -> None:
    assert "The one difference is not statistically clear." in page(comparison(difference("accuracy", 0.1, 1.0))).words
    two = comparison(difference("accuracy", 0.1, 1.0), difference("bias_score", 0.2, 1.0))
    assert "None of the 2 differences is statistically clear." in page(two).words
    assert "No number differs." in page(comparison(difference("accuracy", 0.0, 1.0))).words


def test_an_undefined_difference_is_a_dash_with_its_reason() -> None:
    shown = page(comparison(difference("bias_score", None)))
    assert "No difference could be tested" in shown.words
    assert "–[1]" in shown.words.replace(" ", "")
    assert "#p1-note-1" in shown.links
    assert "every answer was UNKNOWN" in shown.words


def test_how_many_items_are_common_and_every_note_is_told() -> None:
    shown = page(comparison(difference("accuracy", 0.1), notes=("they were set differently",)))
    assert "items: 50 in the baseline, 48 in the model, 40 in common" in shown.words
    assert "they were set differently" in shown.words


def test_long_tables_are_cut_and_their_data_are_whole() -> None:
    shown = page(comparison(difference("accuracy", 0.1), rows=MOST_ROWS + 5))
    assert "5 more rows in the data" in shown.words
    data = [link for link in shown.links if "Category%20" in link or f"Category {MOST_ROWS + 4}" in link]
    assert len(data) == 1


def test_several_models_are_told_apart() -> None:
    shown = page(comparison(difference("accuracy", 0.1, name="b"), difference("accuracy", 0.3, 0.001, name="c")))
    assert "b and c compared with old" in shown.words


def test_a_tour_has_a_part_for_each_probe() -> None:
    parts = [comparison(difference("accuracy", 0.1)), comparison(difference("mu", 0.2, 0.001))]
    tour = Comparison(["a", "b"], ["old", "new"], {}, {}, (), {}, ["sodapop is not in b"], "tour", parts)
    shown = page(tour)
    assert [attributes.get("id") for attributes in shown.all("section")] == ["short", "p1", "p2", "measured"]
    assert "sodapop is not in b" in shown.words


def test_nothing_from_data_acts_on_the_page(tmp_path: Path) -> None:
    for hostile in HOSTILE:
        group = {"category": hostile, hostile: hostile}
        found = Difference(hostile, "old", Estimate(hostile, group, 0.1, p=0.01, q=0.01, note=hostile), None, 0.1, 0.2)
        table = Table((hostile,), [[hostile]])
        made = Comparison(
            [hostile, "x"], ["old", hostile], {hostile: table}, {hostile: hostile}, [found], {}, [hostile], hostile
        )
        path = write_page(tmp_path / "comparison.html", title_of(made), present_comparison(made))
        assert_harmless(Page(path.read_text(encoding="utf-8")))


@pytest.mark.slow
def test_a_page_about_a_hundred_models_stays_small_and_shows_every_clear_difference() -> None:
    metrics = [each.name for each in known_probe("bbq").metrics]
    found = [
        difference(metric, (number + place) / 997, 0.001 if number == 98 and place == 1 else 0.5, name, category)
        for number, name in enumerate(f"org/model-{number}" for number in range(99))
        for place, metric in enumerate(metrics, 1)
        for category in (f"Category {k}" for k in range(11))
    ]
    assert len(found) > 10 * MOST_DRAWN, "else this test shows nothing"
    made = comparison(*found)
    source = render_page(title_of(made), present_comparison(made), "comparison")
    assert len(source.encode()) < 3_000_000
    shown = Page(source)
    assert f"{len(changed(found)) - MOST_DRAWN:,} more differences in the data of this table, none of them clear." in (
        shown.words
    )
    clear = {each.change.group["category"] for each in found if each.clear}
    assert len(clear) == 11
    assert all(f"{category}, ambiguous org/model-98 " in shown.words for category in clear)
    assert_harmless(shown)
