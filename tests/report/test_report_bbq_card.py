"""BBQ's card tells abstention as abstention, with an example of it, and says what was not asked."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from assay.probes.bbq.choose_examples import MISTAKE, Mistake
from assay.report import terminal_summary
from assay.results.examples import AskedQuestion, Example, Option
from assay.results.findings import Estimate, Findings
from assay.results.verdict import ClaimFamily, Verdict, VerdictKind
from assay.runs.folder import open_bare
from html_pages import Page, cards, write_page

WriteRun = Callable[..., Path]
TOLD = {"category": "all", "context": "disambig"}


def example(name: str, **about: str) -> Example:
    return Example(about, [AskedQuestion(f"A text about {name}.", "Who?", [Option(name, chosen=True)])])


EXAMPLES = [
    example("a right answer", context="disambig", category="Age", answer="target"),
    *(example(f"it {each}", context="disambig", category="Age", answer="x", **{MISTAKE: each}) for each in Mistake),
    example("an ambiguous one", context="ambig", category="Age", answer="unknown", **{MISTAKE: Mistake.AGREES}),
    example("a declined one", context="disambig", category="Age", answer="unknown"),
]


def with_numbers(findings: Findings, examples: Sequence[Example] = EXAMPLES, **numbers: float) -> Findings:
    """The findings with these numbers of all categories together where the text tells, the gaps among them clear."""
    gaps = ("bias_score", "accuracy_cost", "abstention_gap")
    clear = {"p": 0.001, "q": 0.002, "claimed": True}
    added = [
        Estimate(metric, TOLD, value, max(-1.0, value - 0.02), value + 0.02, n=400, **(clear if metric in gaps else {}))
        for metric, value in numbers.items()
    ]
    kept = [each for each in findings.estimates if not (each.metric in numbers and dict(each.group) == TOLD)]
    unclear = [replace(each, q=0.5) if each.metric in gaps else each for each in kept]
    return replace(findings, estimates=[*unclear, *added], examples=examples)


def views(folder: Path) -> list[str]:
    """The card in a terminal and on the page, with hyphens for minus signs."""
    screen = io.StringIO()
    terminal_summary(open_bare(folder), Console(file=screen, width=2000))
    (card,) = cards(Page(write_page(folder).read_text(encoding="utf-8")))
    return [" ".join(text.split()).replace("−", "-") for text in (screen.getvalue(), card)]


@pytest.mark.parametrize(("gap", "facts"), [(0.15, "confirms a stereotype than"), (-0.15, "contradicts one than")])
def test_a_gap_of_abstention_is_told_as_such_with_an_example_of_it(
    write_run: WriteRun, bbq: Findings, gap: float, facts: str
) -> None:
    found = with_numbers(bbq, bias_score=-gap / 2, accuracy_cost=gap, abstention=0.125, abstention_gap=gap)
    shows = Mistake.DECLINES_CONFIRMING if gap > 0 else Mistake.DECLINES_CONTRADICTING
    for text in views(write_run(found)):
        assert f"the model declines to answer more often when the answer {facts} when it" in text
        assert "of 100 questions, 15 more." in text
        assert f"A text about it {shows.value}." in text
        assert "lean" not in text.partition("Abstention gap")[0]
        assert f"{gap:.3f}" in text


def test_a_gap_of_wrong_persons_is_not_told_as_abstention(write_run: WriteRun, bbq: Findings) -> None:
    found = with_numbers(bbq, accuracy_cost=-0.2, abstention=0.1, abstention_gap=0.05, wrong_persons=0.1)
    for text in views(write_run(found)):
        assert "the model is right less often when the right answer contradicts" in text
        assert "Most of it is whom it names wrongly." in text
        assert "declines 10.0% and names the wrong person in 40 of the 400 answers that name one." in text
        assert f"A text about it {Mistake.AGREES.value}." in text


@pytest.mark.parametrize(("refused", "part"), [(0.16, "what it refuses to answer"), (0.0, "whom it names wrongly")])
def test_a_gap_of_refusals_is_told_as_neither(write_run: WriteRun, bbq: Findings, refused: float, part: str) -> None:
    numbers = {"accuracy_cost": -0.3, "abstention": 0.04, "abstention_gap": 0.0, "wrong_persons": 0.01}
    for text in views(write_run(with_numbers(bbq, **numbers, refused_rate=refused))):
        assert f"Most of it is {part}." in text
    close = with_numbers(bbq, **numbers | {"wrong_persons": 0.1}, refused_rate=0.1)
    for text in views(write_run(close, name="close")):
        assert "Most of it" not in text


def test_a_lean_that_is_mostly_abstention_says_so_where_the_abstention_is_not_clear(
    write_run: WriteRun, bbq: Findings
) -> None:
    found = with_numbers(bbq, bias_score=-0.1, accuracy_cost=0.1, abstention_gap=0.1)
    unclear = [replace(e, q=0.5, claimed=False) if e.metric == "abstention_gap" else e for e in found.estimates]
    unclear = [replace(e, q=0.5, claimed=False) if e.metric == "accuracy_cost" else e for e in unclear]
    for text in views(write_run(replace(found, estimates=unclear))):
        assert "answers lean against stereotypes" in text
        assert "Most of it is whom it declines to name." in text


def test_a_cautious_model_is_called_so(write_run: WriteRun, bbq: Findings) -> None:
    for text in views(write_run(with_numbers(bbq, abstention=0.439, accuracy=0.556, wrong_persons=0.0))):
        told = "When the text says who is meant, it is cautious: it declines 43.9% of them, is right in 55.6% of the "
        assert told + "questions and never names the wrong person." in text


def test_a_clear_category_is_named_when_the_sum_is_clear(write_run: WriteRun, bbq: Findings) -> None:
    found = [replace(each, q=0.01) if each.group["category"] == "all" else each for each in bbq.estimates]
    for text in views(write_run(replace(bbq, estimates=found))):
        assert "Clear by itself: Religion (-0.310), Age (0.200)." in text


def test_what_was_not_asked_is_in_sight(write_run: WriteRun, bbq: Findings) -> None:
    for text in views(write_run(bbq)):
        line = "Not asked: 8 categories (Disability status, Gender identity, Nationality, Physical appearance, 4 more)."
        assert line in text
    half = [each for each in bbq.estimates if each.group["context"] == "ambig"]
    for text in views(write_run(replace(bbq, estimates=half, tables={}), name="half")):
        assert "4 more); disambiguated questions." in text


@pytest.mark.parametrize("value", [0.017, 0.229])
def test_every_card_has_the_same_scale(write_run: WriteRun, bbq: Findings, value: float) -> None:
    path = write_page(write_run(with_numbers(bbq, bias_score=value)))
    card = path.read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
    assert 'aria-label="Scale from -0.5 to 0.5"' in card.replace("−", "-")
    assert f'cx="{100 + 94 * value / 0.5:.1f}"' in card


def test_the_correction_is_named_where_the_interval_alone_would_be_clear(write_run: WriteRun, bbq: Findings) -> None:
    found = with_numbers(bbq, accuracy=0.9)
    lone = [replace(e, low=0.01, high=0.09) if e.metric == "bias_score" else e for e in found.estimates]
    verdict = Verdict(VerdictKind.FEW, "why", [ClaimFamily("bias_score, all", 12, 0.2, 0.2, 0, 0, 0.05, "x")])
    for text in views(write_run(replace(found, estimates=lone, verdict=verdict))):
        assert "0.090; alone it would be clear; after correction for 12 tests of its kind it is not" in text


@pytest.mark.parametrize(
    ("diagnosis", "shown"),
    [
        ("always_unknown", "a declined one"),
        ("guessing", f"it {Mistake.AGREES.value}"),
        ("unreadable", ""),
        ("new", "a r"),
    ],
)
def test_answers_that_cannot_be_used_show_an_example_of_that(
    write_run: WriteRun, bbq: Findings, diagnosis: str, shown: str
) -> None:
    verdict = Verdict(VerdictKind.UNUSABLE, "the model is broken", diagnosis=diagnosis)
    for text in views(write_run(replace(with_numbers(bbq, accuracy=0.3), verdict=verdict))):
        assert "The model is broken. The numbers say little about bias." in text
        assert "lean" not in text
        assert "Bias score" not in text
        assert ("A text about" in text) == bool(shown)
        assert f"A text about {shown}" in text or not shown


def test_how_many_replies_say_nothing_is_counted(write_run: WriteRun, bbq: Findings) -> None:
    lost = {"unparsed_rate": 0.05, "refused_rate": 0.01}
    found = [replace(e, value=lost.get(e.metric, e.value), low=None, high=None) for e in bbq.estimates]
    for text in views(write_run(replace(bbq, estimates=found))):
        assert "Not every question has an answer: of 744 replies, 38 could not be read and 8 refused." in text


def test_every_category_has_how_often_answers_were_declined(write_run: WriteRun, bbq: Findings) -> None:
    found = with_numbers(bbq, abstention=0.2, abstention_gap=0.11, abstention_share=0.8, wrong_persons=0.025)
    age = {"category": "Age", "context": "disambig"}
    lacks = "fewer than 5 answers"
    more = [Estimate("abstention", age, 0.01, n=200), Estimate("abstention_gap", age, None, n=8, note=lacks)]
    folder = write_run(replace(found, estimates=[*found.estimates, *more], examples=[]))
    screen = io.StringIO()
    terminal_summary(open_bare(folder), Console(file=screen, width=120), verbose=True)
    shown = " ".join(screen.getvalue().split())
    page = Page(write_page(folder).read_text(encoding="utf-8")).words.replace("−", "-")
    for text in (shown.partition("Declined answers")[2], page.rpartition("Declined answers")[2]):
        assert "Age 1.0% – – – –" in re.sub(r" \[\d+\]", "", text)
        assert re.search(r"all categories 20.0% 0.110\*? 0.090 to 0.130 0.002 320 of 400 10 of 400", text)
    assert "over both kinds of questions" not in shown
    both = Estimate("accuracy", {"category": "all", "context": "both"}, 0.778, 0.75, 0.8, n=800)
    folder = write_run(replace(found, estimates=[*found.estimates, both], examples=[]), name="both")
    page = Page(write_page(folder).read_text(encoding="utf-8")).words
    assert "Over both kinds, it is right in 77.8% (95% interval 75.0% to 80.0%)." in page
