"""One model in several languages, from the files of a set to the page: run, compare, report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import small_bbq
import stand_in
from assay.asking.queries import ChoiceQuery
from assay.models import kinds
from assay.models.base import ModelSpec, Options
from html_pages import Page

pytestmark = pytest.mark.whole

KIND = "leaning"
HELP = "leaning:SEED: for tests"
PEOPLE = {"Age": ("old", "nonOld"), "SES": ("lowSES", "highSES")}
FEW = ("--preset", "paper", "--set", "resamples=200")


def find(name: str, rest: str, options: Options) -> ModelSpec:
    return replace(stand_in.find(name, rest, options), kind=KIND)


def load(spec: ModelSpec) -> Leaning:
    return Leaning(spec)


class Leaning(stand_in.StandIn):
    """Follows stereotypes in Spanish only."""

    def _answer(self, query: Any, top: int) -> dict[str, Any]:
        if not (isinstance(query, ChoiceQuery) and "[es]" in query.prompt):
            return super()._answer(query, top)
        stereotyped = [any(f"The {own} " in option for own, _ in PEOPLE.values()) for option in query.options]
        other = [any(f"The {own} " in option for _, own in PEOPLE.values()) for option in query.options]
        wanted = stereotyped if "Who dropped" in query.prompt else other
        return {"score": np.array(wanted, np.float32) + super()._answer(query, top)["score"] / 100}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files like MBBQ's, in three languages that differ in a word."""
    monkeypatch.setitem(kinds(), KIND, __name__)
    stand_in.install(monkeypatch)
    for language in ("en", "es", "nl"):
        for category, labels in PEOPLE.items():
            rows = small_bbq.examples(8, 4, category, labels)
            told = [replace(each, context=f"[{language}] {each.context}") for each in rows]
            small_bbq.write(tmp_path / "mbbq" / f"{category}_{language}.jsonl", told)
    return tmp_path


def run(assay: Any, model: str, language: str, data: Path, *options: str, edition: str = "mbbq") -> str:
    out = f"runs/{edition}-{language}"
    which = ("--set", f"edition={edition}", "--set", f"language={language}", "--data", data)
    done = assay("run", "bbq", "--model", model, *which, *options, "--out", out)
    assert done.code == 0, done.err
    return out


def test_a_model_that_leans_in_one_language(assay: Any, data: Path) -> None:
    runs = [run(assay, "leaning:1", language, data, *FEW) for language in ("en", "es", "nl")]
    done = assay("compare", *runs, "--out", "page.html")
    assert done.code == 0, done.err
    said = "The model agrees with stereotypes more often in Spanish than in English (difference "
    for shown in (done.out, Page(Path("page.html").read_text(encoding="utf-8")).words):
        words = " ".join(shown.split())
        assert said in words
        assert "leaning:1 in English, Spanish and Dutch" in words
        assert "Bias scores by category and language" in words
    found = json.loads(assay("compare", *runs, "--json").out)
    assert {(each["model"], each["common"]) for each in found["items"]} == {("Spanish", 256), ("Dutch", 256)}
    clear = {(each["model"], each["change"]["metric"]) for each in found["differences"] if each["clear"]}
    assert ("Spanish", "bias_score") in clear
    assert "Dutch" not in {model for model, _ in clear}
    done = assay("report", "runs")
    assert done.code == 0, done.err
    assert said in Page(Path("runs/report.html").read_text(encoding="utf-8")).words


def test_common_items_cannot_be_asked_for_across_languages(assay: Any, data: Path) -> None:
    runs = [run(assay, "stand-in:1", language, data, *FEW) for language in ("en", "es")]
    done = assay("compare", *runs, "--common")
    assert done.code == 0
    assert "Compare them without --common" in " ".join(done.out.split())


def test_the_published_files_are_parallel(assay: Any, official_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example is paired with its translation, but for some of the Spanish ones about gender."""
    if not (official_data / "bbq_family" / "mbbq").is_dir():
        pytest.skip("needs MBBQ's files in bbq_family/mbbq")
    stand_in.install(monkeypatch)
    runs = [run(assay, "stand-in:1", language, official_data) for language in ("en", "es", "nl")]
    runs += [run(assay, "stand-in:1", "es", official_data, edition="mbbq_control")]
    found = json.loads(assay("compare", *runs, "--json").out)
    common = {each["model"]: (each["common"], each["of_model"]) for each in found["items"]}
    assert common["Dutch"] == (784, 784)
    assert common["Spanish"][0] >= 0.95 * common["Spanish"][1]
    categories = {row["category"] for row in found["tables"]["bbq-control-accuracy"]}
    assert len(categories) == 7  # six and all together
    assert {row["language"] for row in found["tables"]["bbq-control-accuracy"]} == {"Spanish"}
