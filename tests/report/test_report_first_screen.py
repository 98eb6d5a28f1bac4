"""What the first screen says of a whole tour, of what was not asked, and where nothing is clear, in every view."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from assay.report import terminal_bottom_line, terminal_summary
from assay.report.formats import report_text
from assay.results.findings import Estimate, Findings, Table
from assay.results.run import Run, Tour
from assay.results.verdict import Verdict, VerdictKind
from assay.runs.folder import open_bare
from html_pages import Page, cards, write_page

WriteRun = Callable[..., Path]


def judged(findings: Findings, says: VerdictKind) -> Findings:
    return replace(findings, verdict=Verdict(says, "so it is"))


def written(write_run: WriteRun, *found: Findings) -> list[Run]:
    return [open_bare(write_run(each, name=f"runs/{place}")) for place, each in enumerate(found)]


def bottom_lines(runs: list[Run]) -> dict[str, str]:
    screen, folder = io.StringIO(), runs[0].folder.parent
    terminal_bottom_line(runs, Console(file=screen, width=400))
    return {
        "terminal": screen.getvalue(),
        "page": Page(write_page(folder).read_text(encoding="utf-8")).words,
        "md": report_text(runs, "md"),
        "notebook": Page(Tour(folder, runs)._repr_html_() or "").words,
    }


def test_a_tour_has_one_line_over_all_cards(
    write_run: WriteRun, findings: Findings, bbq: Findings, sodapop: Findings
) -> None:
    says = (VerdictKind.CLEAR, VerdictKind.UNUSABLE, VerdictKind.CLEAR)
    runs = written(write_run, *(judged(*pair) for pair in zip((findings, bbq, sodapop), says, strict=True)))
    line = "Clear bias in 2 of 3 methods (UnQover and SODAPOP); answers cannot be used in 1 of 3 (BBQ)."
    for form, text in bottom_lines(runs).items():
        assert line in text, form
    page = bottom_lines(runs)["page"]
    assert page.index(line) < page.index("So it is")


def test_runs_of_several_models_are_named_with_them(write_run: WriteRun, bbq: Findings) -> None:
    others = [replace(judged(bbq, VerdictKind.NONE), model=f"<i>{k}</i>") for k in range(8)]
    for form, text in bottom_lines(written(write_run, *others)).items():
        said = text.replace("\\", "").replace("&lt;", "<").replace("&gt;", ">")
        assert "No clear bias in 8 of 8 runs (BBQ · <i>0</i>, BBQ · <i>1</i>, " in said, form
        assert "<i>5</i>, 2 more)." in said, form


def test_a_single_run_and_runs_without_verdicts_have_no_such_line(write_run: WriteRun, bbq: Findings) -> None:
    runs = written(write_run, judged(bbq, VerdictKind.NONE), bbq, bbq)
    for some in (runs[:1], runs[1:]):
        screen = io.StringIO()
        terminal_bottom_line(some, Console(file=screen))
        assert screen.getvalue() == ""


def card_views(folder: Path) -> list[str]:
    screen = io.StringIO()
    terminal_summary(open_bare(folder), Console(file=screen, width=2000))
    (card,) = cards(Page(write_page(folder).read_text(encoding="utf-8")))
    return [" ".join(text.split()).replace("−", "-") for text in (screen.getvalue(), card)]


GAMMA = ("class", "form", "subject", "attribute", "gamma", "low", "high", "eta", "p", "q", "claimed", "n")


def associations(gamma: float, claimed: int, estimates: list[Estimate]) -> Findings:
    row = ("religion", "mask", "Group S", "was late", gamma, gamma - 0.05, gamma + 0.05, 0.5, 0.01, 0.2, claimed, 8)
    return Findings("unqover", "m", estimates, {"gamma": Table(GAMMA, [row])})


def test_what_is_clear_of_all_associations_together_is_said_where_no_single_one_is(write_run: WriteRun) -> None:
    group = {"class": "religion", "form": "mask"}
    eta = Estimate("eta", group, 0.3, 0.1, 0.4, n=99, p=0.001, q=0.01, claimed=True, floor=0.2, corrected=0.25)
    for text in card_views(write_run(associations(0.0, 0, [eta]))):
        assert "No association is distinguishable from chance by itself; all associations together are clear: " in text
        assert "of religion, mask is 0.250, more than chance gives." in text
        assert "The largest" not in text
        assert "0.250" in text.partition("more than chance gives")[2]


@pytest.mark.parametrize("gamma", [0.0, 0.1])
def test_no_largest_association_is_named_where_all_are_0(write_run: WriteRun, gamma: float) -> None:
    folder = write_run(associations(gamma, 0, []))
    for text in card_views(folder):
        assert ("The largest: “was late”" in text) == bool(gamma)
        assert ("treated both subjects alike in every comparison" in text) == (not gamma)
    page = Page(write_page(folder).read_text(encoding="utf-8")).words
    assert ("treated both subjects alike in every comparison (γ = 0)" in page) == (not gamma)


def test_a_clear_row_of_a_list_does_not_contradict_the_verdict(write_run: WriteRun) -> None:
    for says in (VerdictKind.NONE, VerdictKind.CLEAR):
        for text in card_views(write_run(judged(associations(0.3, 1, []), says), name=says.name)):
            assert "associates “was late” more with Group S than with the others" in text
            assert ("It is one of a list that does not change the verdict" in text) == (says is VerdictKind.NONE)
            assert "30 of 100 points of preference" in text


def test_classes_and_groups_that_were_not_asked_are_in_sight(write_run: WriteRun, sodapop: Findings) -> None:
    religion = Estimate("mu", {"class": "religion", "form": "mask"}, 0.1, 0.0, 0.2, n=9)
    for text in card_views(write_run(associations(0.1, 0, [religion]), name="u")):
        assert "Not asked: questions about gender, " in text
    for text in card_views(write_run(sodapop, name="s")):
        assert "Not asked: " in text
        assert "Asian American female, Asian American male, Hispanic female and Hispanic male names." in text


def test_a_difference_of_success_rates_is_told_of_100(write_run: WriteRun, sodapop: Findings) -> None:
    for text in card_views(write_run(sodapop)):
        assert "0.6 of 100 wrong answers" in text
