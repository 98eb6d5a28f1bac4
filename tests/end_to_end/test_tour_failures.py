"""One probe's failure costs the tour's other probes neither their results nor the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ModelError, UsageError
from assay.probes import method_of
from html_pages import Page

pytestmark = pytest.mark.whole

SMALL = ("run", "--limit", 32, "--threads", 1, "--out", "tour")
BROKEN = "bbq-starter"
OTHERS = ("unqover", "sodapop")
MODEL = 4


def words() -> str:
    return Page(Path("tour/report.html").read_text(encoding="utf-8")).words


def failing(monkeypatch: pytest.MonkeyPatch, part: str, error: Exception) -> Callable[[], None]:
    """A probe that fails; call what is returned, and it does no more."""

    def fail(self: Any, *arguments: Any) -> Any:
        raise error

    broken = type(method_of(BROKEN))
    before = getattr(broken, part)
    monkeypatch.setattr(broken, part, fail)
    return lambda: monkeypatch.setattr(broken, part, before)


def test_the_others_have_results_and_a_page_that_says_what_is_missing(
    assay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    repair = failing(monkeypatch, "gather", ModelError("its scores are no numbers.", "Repair it.", code="bad-scores"))
    done = assay(*SMALL)
    assert done.code == MODEL
    assert f"{BROKEN} failed: its scores are no numbers.\n  Repair it." in done.err
    assert f"assay: {BROKEN} failed" in done.message
    for probe in OTHERS:
        assert Path(f"tour/{probe}/findings.json").exists()
        assert Path(f"tour/{probe}/report.html").exists()
        assert f"{probe} · builtin · " in done.out
    assert "Report: tour/report.html" in done.out
    assert not Path(f"tour/{BROKEN}/run.json").exists()
    title = method_of(BROKEN).probe.title
    said = f"{title} is missing from this report. It failed: its scores are no numbers."
    assert said in words()
    page = Path("tour/report.html").read_bytes()
    assert assay("report", "tour").code == 0
    assert Path("tour/report.html").read_bytes() == page, "the reason is in the folder"

    repair()
    done = assay(*SMALL)
    assert done.code == 0, done.err
    assert done.err.count("stored already") >= len(OTHERS)
    assert "missing from this report" not in words()
    assert not Path("tour/missing.json").exists()


def test_a_fault_in_a_probe_is_shown_whole_and_costs_the_others_nothing(
    assay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what is not raised on purpose, whoever repairs it needs the traceback."""
    failing(monkeypatch, "findings", KeyError("gone"))
    done = assay(*SMALL, "--json")
    assert done.code == 1
    assert "Traceback" in done.err
    assert [each["probe"] for each in json.loads(done.out)] == [*OTHERS]
    assert "It failed: KeyError('gone')" in words()


def test_a_probe_that_the_model_turns_out_not_to_answer_is_left_out(
    assay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "prepare", UsageError("this model cannot do that.", code="missing-ability"))
    done = assay(*SMALL)
    assert done.code == 0, done.err
    assert f"{BROKEN} is left out: this model cannot do that." in done.err
    assert "is missing from this report. It was left out: this model cannot do that." in words()


def test_a_causal_model_gets_a_page(assay: Any, model_folder: Any) -> None:
    done = assay("run", "--model", f"hf:{model_folder('causal', max_length=512)}", "--limit", 44, "--out", "tour")
    assert done.code == 0, done.err
    assert Path(f"tour/{BROKEN}/findings.json").exists()
    assert Path("tour/report.html").exists()
    for probe in json.loads(Path("tour/missing.json").read_text()) if Path("tour/missing.json").exists() else ():
        assert f"{probe} is left out: " in done.err
