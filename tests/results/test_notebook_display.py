"""What a notebook shows: small, harmless HTML that fits into a page together with other outputs, and short reprs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.compare.comparison import Comparison
from assay.compare.differences import Difference
from assay.report.notebook import LINES, ROWS, table_html
from assay.results.findings import Estimate, Findings, Table
from assay.results.run import Run, RunInfo, Tour, write_missing
from html_pages import Page

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">\'"&amp;</bdi></table>\u202e\x1b[31m'
GROUP = {"class": "gender", "form": "span"}
FOUND = Findings(
    "unqover",
    "hf:./model",
    [
        Estimate("mu", GROUP, 0.25, 0.1, 0.4, n=1840, p=0.0004, floor=0.02),
        Estimate("mu", {**GROUP, "subjects": "pooled"}, 0.3, 0.1, 0.4, n=1840, p=0.5, floor=0.02),
        Estimate("eta", GROUP, None, n=3, note="every answer was the same"),
    ],
    {"gamma": Table(["subject", "gamma", "n"], [["Ann", -0.125, 1200], ["Bo", None, 4]])},
)
RUN = Run(Path("runs/one"), RunInfo(questions=6328), FOUND)


def shown(thing: Any) -> Page:
    """What a notebook shows of it, which must be safe to put into any page as often as one likes."""
    html = thing._repr_html_()
    assert isinstance(html, str)
    page = Page(html)
    for tag, attributes in page.elements:
        assert tag not in ("script", "style", "link", "iframe", "object", "embed", "form", "base", "img", "meta"), tag
        for name, value in attributes.items():
            assert name not in ("id", "class", "href", "src", "xlink:href", "name"), (tag, name)
            assert not name.startswith("on"), (tag, name)
            assert "url(" not in (value or "")
            assert not re.search(r"#[0-9a-f]{3}|rgb|background|(?<!-)\bcolor:", value or ""), f"{tag} has a colour"
    return page


def comparison(table: Table, title: str = "side by side", model: str = "one", **more: Any) -> Comparison:
    return Comparison(["runs/1", "runs/2"], [model, "two"], {"t": table}, {"t": title}, **more)


def test_a_run_shows_every_estimate_with_its_interval_and_its_verdict() -> None:
    page = shown(RUN)
    for text in ("assay unqover", "hf:./model", "6,328 questions", "runs/one", "3 estimates", "gamma: 2 rows"):
        assert text in page.words
    for text in ("μ bias intensity", "gender, span, grouped by gender", "0.250", "0.100 to 0.400", "<0.001", "1,840"):
        assert text in page.words
    assert "– [1]" in page.words
    assert "every answer was the same" in page.words
    assert len(page.all("svg")) == 2, "nothing is drawn for what is undefined"
    dots = page.all("circle")
    assert [dot.get("fill") for dot in dots] == [None, "none"], "hollow is what is not distinguishable from chance"


def test_a_tour_shows_the_card_of_every_run_and_what_is_missing(tmp_path: Path) -> None:
    write_missing(tmp_path, {"sodapop": "left out: too hard"})
    other = Run(Path("runs/two"), RunInfo(), replace(FOUND, probe="bbq", model=HOSTILE))
    page = shown(Tour(tmp_path, [RUN, other]))
    assert page.words.index("assay tour") < page.words.index("UnQover") < page.words.index("BBQ")
    assert "2 runs" in page.words
    assert "SODAPOP: left out: too hard" in page.words
    assert not page.all("svg"), "the cards alone; each run has its numbers"
    assert repr(Tour(tmp_path, [RUN, other])) == f"Tour({str(tmp_path)!r}: unqover, bbq)"


def test_marks_have_the_colour_of_the_page_and_say_in_words_what_they_show() -> None:
    page = shown(FOUND)
    assert {svg["stroke"] for svg in page.all("svg")} == {"currentColor"}
    assert "Interval 0.100 to 0.400. Chance level 0.020." in page.words


def test_a_table_shows_its_first_rows_and_says_how_many_there_are() -> None:
    rows = [[f"name {number}", -number / 8, number * 1000] for number in range(ROWS + 5)]
    page = shown(Table(["subject", "gamma", "n"], rows))
    assert len(page.all("tr")) == 1 + ROWS + 1  # the heads, the rows, and how many more there are
    assert f"{ROWS + 5} rows, 3 columns" in page.words
    assert "and 5 more rows" in page.words
    assert "−0.125" in page.words
    assert "1,000" in page.words


CHANGES = [
    Difference("two", "one", Estimate("mu", GROUP, 0.05, 0.01, 0.09, n=9, p=0.01, q=0.02), None),
    Difference(
        "two", "one", Estimate("mu", {**GROUP, "class": "religion"}, -0.01, -0.05, 0.03, n=9, p=0.6, q=0.6), None
    ),
]


def test_a_comparison_shows_differences_as_bars_and_its_tables_with_their_titles() -> None:
    page = shown(comparison(FOUND.tables["gamma"], "shifts of μ", differences=CHANGES, notes=["set differently"]))
    for text in ("assay comparison", "two minus one", "2 paired differences", "shifts of μ", "Ann", "set differently"):
        assert text in page.words
    assert [dot.get("fill") for dot in page.all("circle")] == [None, "none"]
    assert "−0.010" in page.words


def test_a_comparison_of_tours_shows_every_probe() -> None:
    parts = [comparison(FOUND.tables["gamma"], probe=probe, differences=CHANGES) for probe in ("unqover", "bbq")]
    page = shown(comparison(FOUND.tables["gamma"], parts=parts))
    assert "assay comparison unqover" in page.words
    assert "assay comparison bbq" in page.words


@pytest.mark.parametrize("amount", [0, 1, 5_000])
def test_findings_of_any_size_stay_small(amount: int) -> None:
    estimates = [Estimate("mu", {"class": f"c{number}"}, number / 5_000, n=1) for number in range(amount)]
    many = Findings("p", "m", estimates, {"t": Table(["n"], [[number] for number in range(amount)])})
    page = shown(many)
    assert len(page.all("svg")) == min(amount, LINES)
    assert ("more rows: findings.to_polars() has all" in page.words) == (amount > LINES)
    assert len(many._repr_html_()) < 100_000
    assert len(repr(many)) < 200
    assert f"{amount:,} estimates" in repr(many)


def test_what_is_less_divided_is_not_cut_off() -> None:
    divided = [Estimate("mu", {"class": str(number), "form": "span"}, 0.5) for number in range(LINES)]
    page = shown(Findings("p", "m", [*divided, Estimate("mu", {"class": "everything"}, 0.25)]))
    assert "everything" in page.words


def test_hostile_texts_are_shown_as_texts() -> None:
    estimates = [
        Estimate(HOSTILE, {HOSTILE: HOSTILE}, 0.5, 0.4, 0.6, n=1),
        Estimate(HOSTILE, {"a": HOSTILE}, None, note=HOSTILE),
    ]
    table = Table([HOSTILE, "n"], [[HOSTILE, 1]])
    found = Findings(HOSTILE, HOSTILE, estimates, {HOSTILE: table})
    for thing in (
        found,
        Run(Path("x") / HOSTILE.replace("/", ""), RunInfo(), found),
        table,
        comparison(table, HOSTILE, HOSTILE),
    ):
        assert "alert(1)" in shown(thing).text


def test_half_characters_do_not_stop_a_notebook() -> None:
    Findings("p", "\ud800", [Estimate("mu", {}, 0.5)])._repr_html_().encode("utf-8")
    table_html(Table(["\udfff"], [["\ud800"]])).encode("utf-8")


def test_reprs_are_short_and_name_what_there_is() -> None:
    assert repr(FOUND) == "Findings('unqover' of 'hf:./model': 3 estimates, gamma: 2 rows)"
    assert repr(FOUND.tables["gamma"]) == "Table(2 rows: subject, gamma, n)"
    assert repr(RUN) == f"Run('runs/one': {FOUND!r})"
