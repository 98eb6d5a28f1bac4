"""The chart on a comparison's first screen: the baseline, the model and the interval of the change, on fixed scales."""

from __future__ import annotations

import re

from assay.compare.chart import MOST_DRAWN, changes_chart
from assay.compare.comparison import Comparison
from assay.compare.differences import Difference
from assay.compare.present import in_notebooks, present_comparison, title_of
from assay.presentation.rich_text import Verbatim
from assay.report.html import render_page
from assay.results.findings import Estimate
from assay.results.notebook_display import html_of
from html_pages import HOSTILE, Page, assert_harmless


def difference(
    metric: str, before: float | None, change: float | None, q: float = 0.5, category: str = "all", model: str = "new"
) -> Difference:
    group = {"category": category, "context": "ambig"}
    if before is None or change is None:
        gone = Estimate(metric, group, None, note="undefined")
        return Difference(model, "old", gone, gone, before, None, "bbq")
    found = Estimate(metric, group, change, change - 0.04, change + 0.04, n=40, p=q, q=q)
    return Difference(model, "old", found, found, before, before + change, "bbq")


def first_section(*found: Difference) -> str:
    models = ["old", *dict.fromkeys(each.model for each in found)]
    made = Comparison(models, models, {}, {}, found, {}, (), "bbq")
    source = render_page(title_of(made), present_comparison(made), "comparison")
    return source.partition('<section id="short"')[2].partition("</section>")[0]


def marks(source: str) -> list[tuple[float, str, float]]:
    """Of every row, where its square, its line and its dot are."""
    drawn = re.findall(r'd="M6 9H194".*?</svg>', source, re.S)
    found = []
    for each in drawn:
        (square,) = re.findall(r'<rect class="before" x="([\d.]+)"', each)
        (line,) = re.findall(r'class="range" d="(.*?)"', each)
        (dot,) = re.findall(r'class="dot[ a-z]*" cx="([\d.]+)"', each)
        found.append((float(square), line, float(dot)))
    return found


def x(value: float, low: float, high: float) -> float:
    return round(6 + 188 * (value - low) / (high - low), 1)


def test_every_row_has_the_baseline_the_model_and_the_interval_of_the_change() -> None:
    clear = difference("accuracy", 0.5, 0.3, q=0.001)
    source = first_section(difference("bias_score", 0.1, 0.2), clear)
    bias, right = marks(source)
    assert bias == (x(0.1, -0.5, 0.5) - 3.5, f"M{x(0.26, -0.5, 0.5)} 9H{x(0.34, -0.5, 0.5)}", x(0.3, -0.5, 0.5))
    assert right == (x(0.5, 0, 1) - 3.5, f"M{x(0.76, 0, 1)} 9H{x(0.84, 0, 1)}", x(0.8, 0, 1))
    assert source.count('class="dot hollow" cx') == 2  # the one that is not clear, and the key
    assert "Before: 0.500." in source
    words = Page(source).words.replace("−", "-")
    assert "95% interval of the change, added to the baseline" in words
    assert "all categories, ambiguous 0.100 0.300 0.200" in words


def test_it_shows_the_bias_of_all_questions_and_the_largest_clear_changes() -> None:
    found = [difference("bias_score", 0.0, 0.05 + 0.001 * k, 0.001 if k % 2 else 0.9, f"C{k:02}") for k in range(1, 30)]
    table = changes_chart([*found, difference("bias_score", 0.1, 0.01)], several=False)
    assert table is not None
    said = [str(row.cells[0]) for row in table.rows]
    assert len(said) == MOST_DRAWN
    assert said[0] == "all categories, ambiguous"
    assert said[1:3] == ["C29, ambiguous", "C27, ambiguous"]


def test_several_models_are_named_and_languages_too() -> None:
    several = [difference("bias_score", 0.1, 0.2, model=name) for name in ("one", "two")]
    table = changes_chart(several, several=True)
    assert table is not None
    assert [row.cells[1] for row in table.rows] == ["one", "two"]
    spoken = changes_chart(several[:1], several=False, language="English")
    assert spoken is not None
    assert spoken.columns[2].head == Verbatim("in English")


def test_what_has_no_two_values_is_not_drawn() -> None:
    undefined = [difference("bias_score", None, None), difference("bias_score", 0.1, None)]
    assert changes_chart(undefined, several=False) is None
    assert "Baseline and model" not in first_section(difference("bias_score", None, None))


def test_a_notebook_draws_the_square_as_well() -> None:
    made = Comparison(["a", "b"], ["old", "new"], {}, {}, [difference("bias_score", 0.1, 0.2)], {}, (), "bbq")
    (view,) = in_notebooks(made)
    assert view.sections
    assert html_of(made) is not None


def test_hostile_names_stay_text() -> None:
    found = [difference("bias_score", 0.1, 0.2, category=text, model=text) for text in HOSTILE]
    made = Comparison(["old", *HOSTILE], ["old", *HOSTILE], {}, {}, found, {}, (), "bbq")
    assert_harmless(Page(render_page(title_of(made), present_comparison(made), "comparison")), r"(?!)")
