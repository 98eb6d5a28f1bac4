"""A page about many runs stays small: their charts are left to each run's own page, and it says so."""

from __future__ import annotations

import base64
import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from assay.presentation.elements import CellKind, DisplayTable, RowGroup, Section, TableColumn, TableRow
from assay.probes.bbq.items import CATEGORIES
from assay.report import html, html_tables, write_html
from assay.results.findings import Table as Data
from assay.runs.folder import open_runs
from html_pages import Page, assert_harmless
from made_runs import RUN, bbq, write_run
from wide_runs import write_all

LIMIT = 3_000_000


@pytest.mark.slow
def test_a_page_about_many_runs_stays_small_and_says_where_the_rest_is(tmp_path: Path) -> None:
    runs = open_runs(write_all(tmp_path, [f"org/model-{number}" for number in range(14)]))
    one = [html.RunView(run, f"r{place}") for place, run in enumerate(runs) if run.model == "org/model-0"]
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


@pytest.mark.slow
def test_a_page_about_a_hundred_runs_of_full_size_stays_small(tmp_path: Path) -> None:
    """BBQ has eleven categories, in each of which a hundred models are shown side by side."""
    one = [each for each in bbq().estimates if each.group["category"] in ("Age", "all")]
    estimates = [
        replace(each, group={**each.group, "category": category})
        for category in (*CATEGORIES, "all")
        for each in one
        if (each.group["category"] == "all") == (category == "all")
    ]
    settings = {f"setting {number}": "a value that is long enough" for number in range(60)}
    for number in range(100):
        model = f"org/model-{number}"
        run = {**RUN, "probe": "bbq", "model": {"name": model, "digest": f"d{number}"}, "settings": settings}
        found = [replace(each, value=each.value and each.value - number / 1e3 / 7) for each in estimates]
        write_run(tmp_path / f"run-{number}", replace(bbq(), model=model, estimates=found), run)
    file = write_html(tmp_path, open_runs(tmp_path))
    assert file.stat().st_size < LIMIT
    page = Page(file.read_text(encoding="utf-8"))
    assert "more rows in the data of this chart" in page.words
    assert "setting 7" not in page.words, "what was recorded about so many runs is in their run.json"
    assert "run-7/run.json" in page.files


def test_a_long_table_shows_the_beginning_of_every_group_and_its_data_have_all_rows() -> None:
    names = [f"model {number}" for number in range(html_tables.MOST_ROWS)]
    data = Data(("group", "model", "value"), [[group, name, 1 / 7] for group in "ab" for name in names * 3])
    rows = [TableRow([name, 1 / 7]) for name in names]
    columns = [TableColumn("model", CellKind.TEXT), TableColumn("value", CellKind.NUMBER)]
    groups = [RowGroup(rows, "a"), RowGroup(rows, "b")]
    table = DisplayTable(title="Values", data=data, file="values", anchor="values", columns=columns, groups=groups)
    page = Page(html.render_page("Models", [Section([table], "Section", "section")]))
    left = html_tables.MOST_ROWS // 2
    assert page.words.count(f"{left} more rows in the data of this chart") == len(groups)
    assert page.words.count("model 0 ") == len(groups)
    assert f"model {left - 1} " in page.words
    assert f"model {left} " not in page.words
    (link,) = [link for link in page.links if link.startswith("data:")]
    saved = gzip.decompress(base64.b64decode(link.partition(",")[2])).decode()
    assert saved.splitlines()[:2] == ["group,model,value", "a,model 0,0.142857"]
    assert len(saved.splitlines()) == 1 + len(data.rows)
    assert_harmless(page)
