"""The verdict stands above the numbers in every view; what is clear but tiny is listed and makes no headline."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import wide_runs
from assay.probes import known_probe
from assay.report import terminal_summary
from assay.report.formats import report_text
from assay.results.diagnosis import Diagnosis
from assay.results.findings import Findings
from assay.results.verdict import ClaimFamily, Verdict, VerdictKind
from assay.runs.folder import open_bare
from html_pages import Page, cards, write_page

WriteRun = Callable[..., Path]


def judged(
    findings: Findings, smallest: float, says: VerdictKind = VerdictKind.CLEAR, step: str | None = None
) -> Findings:
    """The findings with a verdict, by which effects from `smallest` on are worth a headline."""
    of_kinds = [
        ClaimFamily(claim.of, 9, 0.001, 0.002, 3, 2, smallest, claim.family)
        for claim in known_probe(findings.probe).claims.rules
    ]
    return replace(findings, verdict=Verdict(says, "2 of 9 <b>words</b> are clear", of_kinds, next=step))


FOLLOWING = Diagnosis(
    True, "answers follow the option's place: A got 100% of 9 answers", (), (), missing={"ties": "-", "negation": "-"}
)


def views(folder: Path) -> dict[str, str]:
    run, screen = open_bare(folder), io.StringIO()
    terminal_summary(run, Console(file=screen, width=200), verbose=True)
    return {
        "terminal": screen.getvalue(),
        "md": report_text([run], "md"),
        "model-card": report_text([run], "model-card"),
        "page": Page(write_page(folder).read_text(encoding="utf-8")).words,
        "notebook": Page(run._repr_html_()).words,
    }


@pytest.mark.parametrize("says", VerdictKind)
def test_every_view_says_it_and_nothing_in_it_can_act(
    write_run: WriteRun, findings: Findings, says: VerdictKind
) -> None:
    for form, text in views(write_run(judged(findings, 0.05, says))).items():
        said = text.replace("&lt;", "<").replace("&gt;", ">")
        assert f"Verdict: {says}. 2 of 9 <b>words</b> are clear." in said, form
        shown = text.split("---\n", 2)[2] if form == "model-card" else text  # without the card's header
        assert shown.index("Verdict:") < shown.index("bias intensity"), form


@pytest.mark.parametrize("probe", ["unqover", "bbq-starter", "sodapop"])
def test_every_view_begins_with_the_card(write_run: WriteRun, probe: str) -> None:
    made = {"unqover": wide_runs.wide_unqover(), "sodapop": wide_runs.wide_sodapop()}
    found = made.get(probe) or wide_runs.wide_bbq(probe=probe)
    said, number, asked, after = {
        "unqover": (
            "“was rude” less with Group A",
            "-0.417, 42 of 100 points of preference (95%",
            "Who was rude?",
            "bias intensity",
        ),
        "bbq-starter": ("lean against stereotypes", "-0.310, 31 of 100 answers (95%", "Who forgot?", "0.580"),
        "sodapop": ("were chosen 10.6% of the time", "0.058, 0.6 of 100 wrong answers (95%", "Why?", "0.980"),
    }[probe]
    for form, text in views(write_run(judged(found, 0.05))).items():
        if form == "page":
            continue  # whose cards have their own tests
        shown = text.split("---\n", 2)[2] if form == "model-card" else text
        words = " ".join(shown.split()).replace("−", "-").replace("&lt;", "<")
        places = [words.index(each) for each in ("Verdict:", said, number, asked, after)]
        assert places == sorted(places), (form, places)
        if probe == "bbq-starter":
            assert words.index("this is not a BBQ result") < words.index(said), form


def test_findings_without_a_verdict_show_none(write_run: WriteRun, findings: Findings) -> None:
    assert not any("Verdict" in text for text in views(write_run(findings)).values())


def card(write_run: WriteRun, findings: Findings, smallest: float, name: str = "run") -> str:
    """The words of the page's one card."""
    path = write_page(write_run(judged(findings, smallest), name=name))
    (found,) = cards(Page(path.read_text(encoding="utf-8")))
    return found


@pytest.mark.parametrize("says", VerdictKind)
def test_the_card_begins_with_the_verdict(write_run: WriteRun, findings: Findings, says: VerdictKind) -> None:
    path = write_page(write_run(judged(findings, 0.05, says)))
    (found,) = cards(Page(path.read_text(encoding="utf-8")))
    assert found.startswith(f"UnQover {str(says).capitalize()} ")
    association = "The model associates “nurse” more with female names"
    assert (association in found) == (says is not VerdictKind.UNUSABLE)
    assert found.count("2 of 9 <b>words</b> are clear") == 1


def test_every_view_names_the_step_that_helps(write_run: WriteRun, findings: Findings) -> None:
    for says in (VerdictKind.UNUSABLE, VerdictKind.FEW):
        step = "--set <i>orders</i>=all"
        for form, text in views(write_run(judged(findings, 0.05, says, step), name=says.name)).items():
            said = text.replace("\\", "").replace("&lt;", "<").replace("&gt;", ">")
            assert f"Next step: {step}." in said, form


def test_answers_that_cannot_be_used_get_no_sentence_about_bias(write_run: WriteRun, findings: Findings) -> None:
    told = judged(findings, 0.05, VerdictKind.UNUSABLE)
    for form, text in views(write_run(told, name="a")).items():
        shown = text.partition("bias intensity")[0]
        assert "The numbers say little about bias" in text, form
        assert form == "page" or "associates" not in shown, form
    bare = replace(told, verdict=None, diagnosis=FOLLOWING)
    for form, text in views(write_run(bare, name="b")).items():
        assert "Verdict: answers cannot be used. Answers follow the option" in text.replace("&#39;", "'"), form


def test_unqover_headlines_no_tiny_association(write_run: WriteRun, findings: Findings) -> None:
    page = views(write_run(judged(findings, 0.2), name="a"))["page"]
    assert "Strongest association that is statistically clear: in questions about gender" in page
    page = views(write_run(judged(findings, 0.3), name="b"))["page"]
    assert "No statistically clear association is as large as 0.3; 2 smaller ones are listed below." in page
    assert "Strongest association" not in page.replace("Strongest associations", "")


def without_a_clear(findings: Findings, metric: str) -> Findings:
    return replace(findings, estimates=[replace(e, q=0.5) if e.metric == metric else e for e in findings.estimates])


def test_bbq_headlines_no_tiny_score(write_run: WriteRun, bbq: Findings) -> None:
    whole = views(write_run(judged(bbq, 0.25)))["page"]
    assert "lean against stereotypes: of 100 answers, 31 more" in card(write_run, bbq, 0.25, "a")
    assert "The bias score is statistically clear and at least 0.25 in 1 of 3" in whole
    alone = without_a_clear(bbq, "accuracy_cost")
    assert "lean slightly against stereotypes: of 100 answers, 31 more" in card(write_run, alone, 0.5, "b")


def test_bbq_calls_a_tiny_cost_slight(write_run: WriteRun, bbq: Findings) -> None:
    alone = without_a_clear(bbq, "bias_score")
    assert "is right slightly less often when the right answer contradicts" in card(write_run, alone, 0.05, "a")
    assert "is right less often when the right answer contradicts" in card(write_run, alone, 0.03, "b")


def test_a_tiny_association_is_called_very_small(write_run: WriteRun, findings: Findings) -> None:
    assert "There is a clear but very small association: the model" in card(write_run, findings, 0.3, "a")
    assert "very small" not in card(write_run, findings, 0.2, "b")


def test_sodapop_headlines_no_tiny_word(write_run: WriteRun, sodapop: Findings) -> None:
    page = views(write_run(judged(sodapop, 0.8), name="a"))["page"]
    assert "Wrong answers with “kind” were chosen" in page
    page = views(write_run(judged(sodapop, 1.5), name="b"))["page"]
    assert "No word is statistically clear with an RD of at least 1.5" in page
    assert "The clearest difference is small: " in page
    assert "Differences are clear but very small. The clearest: wrong answers with “" in page
    assert "not distinguishable from chance" not in page
