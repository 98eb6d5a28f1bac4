"""The page of a comparison in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from assay.compare.comparison import Comparison
from assay.compare.differences import Difference
from assay.compare.present import present_comparison, title_of
from assay.probes.contrast import Common
from assay.report import write_page
from assay.results.findings import Estimate, Table
from html_pages import HOSTILE

Visit = Callable[..., Page]
CATEGORIES = [f"Category {k}" for k in range(12)]


def compared(folder: Path, names: list[str], model: str = "new") -> Path:
    found = []
    for k, name in enumerate(names):
        value = (k - 5) / 20
        change = Estimate("bias_score", {"category": name}, value, value - 0.1, value + 0.1, n=40, p=0.2, q=0.5)
        found.append(Difference(model, "old", change, change, 0.1, 0.1 + value, "bbq"))
    table = Table(("category", "value"), [[name, k / 7] for k, name in enumerate(names)])
    tables = {"differences": table, "scores": table}
    counts = {model: [Common("items", 50, 48, 40)]}
    made = Comparison(["a", "b"], ["old", model], tables, {"scores": names[0]}, found, counts, names[:1], "bbq")
    return write_page(folder / "comparison.html", title_of(made), present_comparison(made), "comparison")


def test_differences_are_sorted_and_filtered(visit: Visit, tmp_path: Path) -> None:
    page = visit(compared(tmp_path, CATEGORIES))
    rows = page.locator("#p1-differences tbody tr:not(.head)")
    page.get_by_role("button", name="change").click()
    assert "Category 11" in rows.first.inner_text()
    page.locator("#p1-differences").get_by_label("Filter").fill("category 3")
    assert page.locator("#p1-differences tbody tr:not(.head):visible").count() == 1


@pytest.mark.parametrize("width", [400, 1100])
def test_it_fits_the_screen_in_dark_colours_too(visit: Visit, tmp_path: Path, width: int) -> None:
    page = visit(compared(tmp_path, CATEGORIES), width, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg.bar").count() > len(CATEGORIES)


def test_hostile_names_do_nothing(visit: Visit, tmp_path: Path) -> None:
    page = visit(compared(tmp_path, HOSTILE, HOSTILE[0]))
    page.locator("#p1-differences").get_by_label("Filter").fill("script")
    bar = page.locator("#p1-differences svg.bar:not(.axis):visible").last
    bar.hover()
    page.wait_for_timeout(200)  # scrolling there is over
    bar.hover(position={"x": 5, "y": 5})
    assert page.locator("#tip").is_visible()
    assert page.evaluate("window.pwned") is None


def test_the_chart_of_baseline_and_model_is_on_the_first_screen(visit: Visit, tmp_path: Path) -> None:
    page = visit(compared(tmp_path, ["all"]), 1100, 900)
    square, dot = page.locator("#short-changes rect.before").last, page.locator("#short-changes tbody circle.dot").last
    for mark in (square, dot):
        box = mark.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 900
    assert page.locator("#short").inner_text().count("95% interval of the change") == 1
