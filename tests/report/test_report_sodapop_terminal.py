"""SODAPOP in the terminal: the clearest words, then which groups they tell apart, in 100 columns and in 80."""

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
from assay.results.findings import Estimate, Findings, Table
from assay.runs.folder import open_bare
from html_pages import write_page

WriteRun = Callable[..., Path]


def summary_of(folder: Path, width: int = 100, **options: Any) -> str:
    stream = io.StringIO()
    terminal_summary(open_bare(folder), Console(file=stream, width=width, **options), verbose=True)
    return stream.getvalue()


def words_of(folder: Path, width: int = 100) -> str:
    return " ".join(summary_of(folder, width).split())


def test_words_come_clearest_first_and_groups_surest_first(
    write_run: WriteRun, sodapop: Findings, run: Mapping[str, Any]
) -> None:
    stages = {"words to fill, at most": 308, "answers, at most": 6000}
    told_apart = replace(sodapop, estimates=[replace(each, q=each.p) for each in sodapop.estimates])
    folder = write_run(told_apart, {**run, "stages": stages, "settings": {"distractors": "shared"}})
    write_page(folder)
    lines = [" ".join(line.split()) for line in summary_of(folder).splitlines()]
    assert "sodapop · hf:org/model · at most 6,308 questions · preset quick · seed 7" in lines
    rows = [
        "harsh European American female European American male 0.058* 0.020 to 0.090 <0.001 <0.001",
        "kind European American male European American female 0.857* 0.400 to 1.200 0.001 0.004",
        "kind male female 0.286* 0.100 to 0.500 0.002 0.030",
        "loud European American female European American male 0.025 – 0.040 0.200",
        "let European American female European American male 2.000 0.100 to 2.000 1.000 1.000",
        "kind African American female European American female 0.049 -0.100 to 0.100 0.500 0.900",
        "European American and African American female names 0.980* 0.580 <0.001 <0.001 12",
        "European American female and male names 0.750 0.580 0.190 0.190 12",
        "European American and African American male names – 0.580 – – 12",
    ]
    places = [lines.index(row) for row in rows]
    assert places == sorted(places)
    words = " ".join(lines)
    assert "3 differences are clear (2 words, in 2 of 3 comparisons of two groups)." in words
    assert "1 of the 3 shrinks to less than half, or changes sign" in words
    assert "All names had the same wrong answers (shared pools)." in words
    assert "1 of 2 pairs better than chance (* q at most 0.05" in words
    assert "tables/words.csv each word with each pair of groups (7 rows)" in lines


def test_it_is_short(write_run: WriteRun, sodapop: Findings, run: Mapping[str, Any]) -> None:
    table = sodapop.tables["words"]
    findings = replace(
        sodapop, estimates=list(sodapop.estimates) * 9, tables={"words": Table(table.columns, list(table.rows) * 9)}
    )
    assert len(summary_of(write_run(findings, run)).splitlines()) < 65


def test_without_a_clear_word_or_pair_it_says_so(write_run: WriteRun, sodapop: Findings) -> None:
    table = sodapop.tables["words"]
    rows = [[0.5 if c == "q" else v for c, v in zip(table.columns, row, strict=True)] for row in table.rows]
    estimates = [replace(each, p=0.5) for each in sodapop.estimates[:2]]
    findings = replace(sodapop, estimates=estimates, tables={"words": Table(table.columns, rows)})
    words = words_of(write_run(findings, {"settings": {"distractors": "per_name"}}))
    assert (
        "No word is statistically clear in any comparison of two groups (q at most 0.05, corrected for all tests"
        in words
    )
    assert "None of 2 pairs better than chance" in words
    assert "shrink" not in words
    assert "Each name has its own wrong answers (per-name pools)" in words


@pytest.mark.parametrize("width", [80, 100])
def test_tables_fit_the_width_and_figures_stay_whole(write_run: WriteRun, sodapop: Findings, width: int) -> None:
    columns = sodapop.tables["words"].columns
    numbers = (0.3, 0.2, 0.1, 0.25, -1.987, -1.999, -1.876, 0.0001, 0.0001, 90_000, 0.1, 0.2)
    rows = [("African_American_female", "European_American_male", f"uncomfortable{i}", *numbers) for i in range(400)]
    estimates = [
        Estimate("kmeans_accuracy", {"a": f"African_American_{i}", "b": "European_American"}, 0.9, n=999, p=0.01)
        for i in range(40)
    ]
    shown = summary_of(write_run(Findings("sodapop", "m", estimates, {"words": Table(columns, rows)})), width)
    tables = shown.split("\nFiles\n")[0]
    assert max(map(cell_len, tables.splitlines())) <= width
    assert " ".join(tables.split()).count("1.876 to 1.999") == 1 + 12  # the card, the table
    assert tables.count("0.900*") == 16
    assert "24 pairs not shown" in " ".join(tables.split())


def test_names_are_neither_markup_nor_codes(write_run: WriteRun, sodapop: Findings) -> None:
    hostile = ["[red]x[/red]", "[/]", ":smile:", "a\x1b[31mb\x07", "a\rb\nc", "ab\u202ecd", "\\[bold]", "日本語"]
    columns = sodapop.tables["words"].columns
    numbers = (0.3, 0.2, 0.1, 0.25, 0.4, 0.2, 0.6, 0.001, 0.001, 90, 0.1, 0.2)
    tables = {"words": Table(columns, [(text, text, text, *numbers) for text in hostile])}
    estimates = [Estimate("kmeans_accuracy", {"a": text, "b": text}, 0.9, n=9, p=0.01) for text in hostile]
    shown = summary_of(
        write_run(Findings("sodapop", "m", estimates, tables), {"stages": dict.fromkeys(hostile, 1)}), 240
    )
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", shown)
    for text in ("[red]x[/red]", "[/]", ":smile:", r"a\x1b[31mb\x07", r"a\rb\nc", r"ab\u202ecd", "\\[bold]", "日本語"):
        assert shown.count(text) >= 5


def test_empty_and_missing_tables_leave_what_is_there(write_run: WriteRun, sodapop: Findings) -> None:
    empty = replace(sodapop, tables={name: Table(table.columns, []) for name, table in sodapop.tables.items()})
    words = words_of(write_run(empty, name="empty"))
    assert "Words: none could be compared." in words
    assert "European American and African American female names 0.980*" in words
    alone = words_of(write_run(replace(sodapop, estimates=[]), name="alone"))
    assert "harsh European American female European American male 0.058*" in alone
    assert "told apart" not in alone
    assert "This run has no estimates." in words_of(write_run(Findings("sodapop", "m", []), name="none"))


def test_a_stream_without_dashes_gets_hyphens(write_run: WriteRun, sodapop: Findings) -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii")
    terminal_summary(open_bare(write_run(sodapop)), Console(file=stream, width=100), verbose=True)
    stream.flush()
    shown = written.getvalue().decode("ascii")
    assert "harsh" in shown
    assert "\\u" not in shown
