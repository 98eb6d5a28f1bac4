"""A page about many runs stays small: their charts are left to each run's own page, and it says so."""

from __future__ import annotations

from pathlib import Path

from assay.report import html, write_html
from assay.runs.folder import open_runs
from html_pages import Page
from wide_runs import write_all

LIMIT = 3_000_000


def test_a_page_about_many_runs_stays_small_and_says_where_the_rest_is(tmp_path: Path) -> None:
    runs = open_runs(write_all(tmp_path, [f"org/model-{number}" for number in range(14)]))
    one = [html.Told(run, f"r{place}") for place, run in enumerate(runs) if run.model == "org/model-0"]
    assert 14 * sum(len(told.details()) for told in one) > LIMIT, "else this test shows nothing"
    (runs[0].folder / "report.html").touch()
    file = write_html(tmp_path, runs)
    assert file.stat().st_size < LIMIT
    page = Page(file.read_text(encoding="utf-8"))
    said = "This page has too many runs to show the charts of each."
    assert page.words.count(said) == len(runs)
    assert page.words.count(f"{said} They are on the page of this run") == 1
    assert "for each run</b>" in page.source
    links = page.files
    assert f"{runs[0].folder.relative_to(tmp_path).as_posix()}/report.html" in links
    for run in runs:
        for table in run.findings.tables:
            assert f"{run.folder.relative_to(tmp_path).as_posix()}/tables/{table}.csv" in links


def test_the_charts_of_few_runs_are_on_their_page(tmp_path: Path) -> None:
    runs = open_runs(write_all(tmp_path, ["org/a", "org/b"]))
    page = write_html(tmp_path, runs).read_text(encoding="utf-8")
    assert "too many runs" not in page
    assert "for each run</b>" not in page, "nor are the cards of few runs folded"
    assert page.count("Headline numbers</h4>") == len(runs)
