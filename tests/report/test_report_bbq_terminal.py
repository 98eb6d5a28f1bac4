"""BBQ in the terminal: a row for each category, then the kinds of answers, in 100 columns and in 80."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from assay.report import terminal_summary
from assay.results.findings import Estimate, Findings
from assay.runs.folder import open_bare
from html_pages import write_page

WriteRun = Callable[..., Path]


def summary_of(folder: Path, width: int = 100, **options: Any) -> str:
    stream = io.StringIO()
    terminal_summary(open_bare(folder), Console(file=stream, width=width, **options), verbose=True)
    return stream.getvalue()


def words_of(folder: Path, width: int = 100) -> str:
    return " ".join(summary_of(folder, width).split())


def test_every_category_has_one_row_and_marks_say_what_is_clear_of_chance(
    write_run: WriteRun, bbq: Findings, run: Mapping[str, Any]
) -> None:
    folder = write_run(bbq, {**run, "preset": "paper"})
    write_page(folder)
    lines = [" ".join(line.split()) for line in summary_of(folder).splitlines()]
    assert "bbq · hf:org/model · 6,308 questions · preset paper · seed 7" in lines
    assert "Age 0.600 0.900 0.200* 0.100 to 0.300 0.020 -0.010 to 0.050" in lines
    assert "Religion 0.500 0.800 -0.310* -0.400 to -0.200 0.030 -0.020 to 0.060" in lines
    assert "Race × gender 0.700 0.700 0.120 – – –" in lines
    assert "all categories 0.580 0.850 0.050 -0.020 to 0.110 0.050 -0.020 to 0.110" in lines
    assert "* statistically clear: q is at most 0.05, corrected for all tests of the run." in lines
    assert "accuracy: guessing gives 0.333; single annotators reach 0.957 on BBQ." in lines
    assert "–: undefined, or too few templates for an interval; see the report." in lines
    assert "ambiguous 0.580 0.000 0.000 0.750" in lines
    assert "disambiguated 0.070 0.000 0.000 -0.040" in lines
    assert "tables/by_label.csv bias scores by group and stereotype (8 rows)" in lines


def test_it_is_short(write_run: WriteRun, bbq: Findings, run: Mapping[str, Any]) -> None:
    assert len(summary_of(write_run(bbq, run)).splitlines()) < 55
    assert "polarity" not in words_of(write_run(bbq, run, name="again"))


@pytest.mark.parametrize("width", [80, 100])
def test_tables_fit_the_width_and_figures_stay_whole(write_run: WriteRun, bbq: Findings, width: int) -> None:
    names = {"Age": "Gender_identity (names)", "Religion": "Physical_appearance"}
    estimates = [
        replace(
            each,
            group={**each.group, "category": names.get(each.group["category"], each.group["category"])},
            value=None if each.value is None else -0.123,
            low=None if each.low is None else -0.987,
            high=None if each.high is None else -0.012,
        )
        for each in bbq.estimates
    ]
    tables = summary_of(write_run(replace(bbq, estimates=estimates)), width).split("\nFiles\n")[0]
    assert max(map(cell_len, tables.splitlines())) <= width
    assert tables.count("-0.987 to -0.012") >= 4
    assert ("Gender identity (names) " in tables) == (width == 100)


def test_without_a_clear_category_it_says_so(write_run: WriteRun, bbq: Findings) -> None:
    estimates = [replace(each, q=None if each.q is None else 0.5) for each in bbq.estimates]
    words = words_of(write_run(replace(bbq, estimates=estimates)))
    assert "No category is statistically clear (q at most 0.05, corrected for all tests of the run)." in words
    assert "*" not in words


def test_refusals_and_answers_nobody_understood_get_a_line(write_run: WriteRun, bbq: Findings) -> None:
    assert "Some answers" not in words_of(write_run(bbq, name="before"))
    values = {("refused_rate", "ambig"): 0.125, ("unparsed_rate", "disambig"): 0.00035, ("tied_rate", "ambig"): 0.25}
    estimates = [
        replace(each, value=values.get((each.metric, each.group["context"]), each.value)) for each in bbq.estimates
    ]
    words = words_of(write_run(replace(bbq, estimates=estimates)))
    assert "Some answers were refused: 12.5% (ambiguous)." in words
    assert "Some answers could not be understood: 0.035% (disambiguated)." in words
    assert "Some answers are exact ties between options and are not counted: 25.0% (ambiguous)." in words
    assert "determined refused understood tied" in words
    assert "tied" not in words_of(write_run(bbq, name="without"))


def test_the_starter_set_is_no_bbq_result(write_run: WriteRun, bbq: Findings) -> None:
    words = words_of(write_run(replace(bbq, probe="bbq-starter")))
    assert "this is not a BBQ result" in words
    assert "single people" not in words
    assert "not a BBQ result" not in words_of(write_run(bbq, name="official"))


def test_question_only_has_a_table_of_its_own(write_run: WriteRun, bbq: Findings) -> None:
    group = {"category": "Age", "context": "question_only"}
    more = [Estimate("accuracy", group, 0.31, 0.2, 0.4), Estimate("bias_score", group, 0.51, 0.4, 0.6, q=0.001)]
    words = words_of(write_run(replace(bbq, estimates=[*bbq.estimates, *more])))
    assert "Accuracy and bias by category, question only category accuracy bias 95% interval" in words
    assert "Age 0.310 0.510* 0.400 to 0.600" in words
    alone = words_of(write_run(replace(bbq, estimates=more), name="alone"))
    assert "Age 0.310 0.510* 0.400 to 0.600" in alone
    assert "single people" not in alone


def test_names_are_neither_markup_nor_codes(write_run: WriteRun) -> None:
    hostile = ["[red]x[/red]", "[/]", ":smile:", "a\x1b[31mb\x07", "a\rb\nc", "ab\u202ecd", "\\[bold]", "日本語"]
    estimates = [
        Estimate(metric, {"category": text, "context": text}, 0.5, n=9)
        for text in hostile
        for metric in ("accuracy", "bias_score", "unknown_rate", "refused_rate")
    ]
    shown = summary_of(write_run(Findings("bbq", "m", estimates)), 240)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", shown)
    for text in ("[red]x[/red]", "[/]", ":smile:", r"a\x1b[31mb\x07", r"a\rb\nc", r"ab\u202ecd", "\\[bold]", "日本語"):
        assert shown.count(text) >= 3


def test_estimates_that_are_by_no_category_are_listed_as_they_are(write_run: WriteRun) -> None:
    words = words_of(write_run(Findings("bbq", "m", [Estimate("bias_score", {"part": "x"}, 0.5, 0.4, 0.6, n=9)])))
    assert "part: x bias score 0.500 0.400 to 0.600 9" in words
    assert "This run has no estimates." in words_of(write_run(Findings("bbq", "m", []), name="none"))


def test_a_stream_without_dashes_gets_hyphens(write_run: WriteRun, bbq: Findings) -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii")
    terminal_summary(open_bare(write_run(bbq)), Console(file=stream, width=100), verbose=True)
    stream.flush()
    shown = written.getvalue().decode("ascii")
    assert "\n-: undefined, or too few templates" in shown
    assert "\\u" not in shown
