"""The page of a study: harmless, in the file's order and words, with what fine-tuning and debiasing changed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import made_runs
from assay.lab.studies.page import StudyComparison, changes_of, task_score
from assay.lab.studies.steps import scores_of
from assay.presentation.rich_text import plain
from assay.results.findings import Estimate, Table
from html_pages import HOSTILE, Page, assert_harmless

pytestmark = pytest.mark.slow

LINKS = (
    r"(runs/[\w%.~=-]+/report\.html|runs/report\.html|compare/[\w%.~=-]+/comparison\.html"
    r"|models/[\w%.~-]+/README\.md|study\.json)"
)
NAMES = {"a": "EA_female", "b": "AA_female"}


def page_of(bench: Any, **more: Any) -> Page:
    done = bench.run(**more)
    assert done.page is not None
    return Page(done.page.read_text(encoding="utf-8"))


def test_the_page_is_harmless_and_its_links_lead_somewhere(bench: Any) -> None:
    page = page_of(bench)
    assert_harmless(page, LINKS)
    assert len(page.ids) == len(set(page.ids))
    for link in page.files:
        if "README" not in link and "/report.html" not in link.removeprefix("runs"):  # the fakes write none of these
            assert (bench.out / link).is_file(), link


def test_models_have_their_titles_in_the_order_of_the_file(bench: Any) -> None:
    words = page_of(bench).words
    table = words[words.index("The models and their task scores") :]
    places = [table.index(title) for title in ("the base", "siqa", "inlp-gender", "cda-gender", "CDA")]
    assert places == sorted(places)
    assert "hf:" not in words[: words.index("How it was made")], "titles, not folders"


def test_titles_that_try_to_act_are_only_shown(bench: Any) -> None:
    hostile = [text for text in HOSTILE if len(text) < 100]
    bench.text = bench.text.replace(
        "seed = 7", f"seed = 7\ntitle = {json.dumps(hostile[0])}\nabout = {json.dumps(hostile[1])}"
    )
    bench.text = bench.text.replace('title = "the base"', f"title = {json.dumps(hostile[2])}")
    bench.text = bench.text.replace('title = "CDA"', f"title = {json.dumps(hostile[3])}")
    page = page_of(bench)
    assert_harmless(page, LINKS)
    for text in hostile[:4]:
        assert text in page.text


def test_what_changed_stands_with_whom_it_is_compared_with(bench: Any) -> None:
    page = page_of(bench)
    section = page.words[page.words.index("What changed relative to the baseline") :]
    assert re.search(r"cda-gender the base 1 1 1 0 .*?religion.*?: 0\.118 to 0\.138 page", section), section[:2000]
    assert "1 difference in the headline numbers, one by one" in section
    for run in ("sodapop--inlp-gender", "sodapop--cda-gender-siqa", "unqover--cda-gender"):
        assert f"compare/{run}/comparison.html" in page.files
    assert "assay compare compares any other two" in page.words


def test_the_page_begins_with_what_was_found(bench: Any) -> None:
    words = page_of(bench).words
    short = words[words.index("In short") :]
    said = short.index("UnQover. 1 difference tested, 1 clear: 0 better, 1 worse. The largest: ")
    assert said < short.index("finished runs of")
    assert said < short.index("Content warning")


def test_a_comparison_of_runs_that_are_no_longer_is_not_shown(bench: Any) -> None:
    page_of(bench)
    record = json.loads((bench.out / "study.json").read_text())
    record["runs"]["unqover--base"]["findings"] = "0" * 64
    (bench.out / "study.json").write_text(json.dumps(record))
    page = page_of(bench, only=["sodapop--siqa"])
    assert "compare/unqover--cda-gender/comparison.html" not in page.files
    assert "compare/sodapop--inlp-gender/comparison.html" in page.files


def comparison(differences: Sequence[Any], words: Sequence[Any] = (), notes: Sequence[str] = ()) -> Any:
    tables = {"word_differences": words} if words else {}
    return {"probe": "sodapop", "notes": notes, "differences": differences, "tables": tables}


def test_words_that_changed_are_counted_and_what_could_not_be_paired_is_said() -> None:
    words = [{"q": 0.01, "claimed": 1}, {"q": 0.2, "claimed": 0}, {"q": None, "claimed": None}]
    change = {"metric": "kmeans_accuracy", "group": NAMES, "value": -0.2, "n": 50, "p": 0.01, "q": 0.04}
    told = {"probe": "sodapop", "model": "hf:m", "baseline": "hf:b", "baseline_value": 0.8, "model_value": 0.6}
    better: Any = {**told, "change": change, "worse": change}
    hardly: Any = {**told, "change": {**change, "q": 0.5}, "worse": None}
    compared = [
        StudyComparison("r", "INLP", "none", comparison([better, hardly], words)),
        StudyComparison("s", "CDA", "none", comparison([], notes=["no answers"])),
    ]
    found = changes_of(compared, [Estimate("kmeans_accuracy", NAMES, 0.8, n=50)])
    assert found is not None
    assert found.summary.data is not None
    assert [[*row] for row in found.summary.data.rows] == [
        ["r", "INLP", "none", 2, 1, 0, 1, 1, 2],
        ["s", "CDA", "none", 0, 0, 0, 0, None, None],
    ]
    assert plain(found.text) == (
        "2 differences tested, 1 clear: 1 better, 0 worse. The largest: INLP, KMeans accuracy, European American "
        "and African American female names: 0.800 to 0.600. 1 of 2 words changed clearly."
    )
    unclear = changes_of([StudyComparison("r", "INLP", "none", comparison([hardly]))], [])
    assert unclear is not None
    assert plain(unclear.text) == "1 difference tested, none clear."
    assert found.differences.data is not None
    assert [row["model"] for row in found.differences.data.records()] == ["INLP", "INLP"]
    none_chosen = changes_of(compared, [])
    assert none_chosen is not None
    assert none_chosen.differences.rows == []
    assert changes_of([], []) is None


def test_what_debiasing_cost_stands_beside_the_model(bench: Any) -> None:
    words = page_of(bench).words
    row = re.search(r"inlp-gender siqa, debiased: INLP, gender accuracy 0\.5\S* \S+ to \S+ siqa (\S+)", words)
    assert row, words[:3000]
    assert float(row[1].replace("−", "-")) == pytest.approx(-0.1)


def test_all_runs_with_all_charts_are_on_a_page_of_their_own(bench: Any) -> None:
    page_of(bench)
    page = Page((bench.out / "runs" / "report.html").read_text(encoding="utf-8"))
    assert "CDA" in page.words


def test_failures_are_told_and_the_rest_is_shown(bench: Any) -> None:
    bench.fakes.broken["inlp-gender"] = RuntimeError("a kernel broke")
    words = page_of(bench).words
    assert "These steps failed" in words
    assert "RuntimeError: a kernel broke" in words
    assert "Top words by model" in words


def test_there_is_no_page_without_a_run(bench: Any) -> None:
    assert bench.run(only=["siqa"]).page is None


# --- fine-tuning


def shifted(bench: Any, before: float, after: float) -> Page:
    """The base is asked masked sentences, and a model that was trained from it, questions."""
    bench.text = """
[models.lm]
spec = "builtin"
[models.qa]
train = "span"
base = "lm"
data = "train.jsonl"
[models.other]
spec = "builtin"
[[runs]]
probe = "unqover"
models = ["lm", "other"]
settings = { form = "mask" }
[[runs]]
probe = "unqover"
models = "qa"
"""
    audit = bench.fakes.audit

    def found(model: str, probe: str, **more: Any) -> None:
        audit(model, probe, **more)
        form, value = ("mask", before) if "mask" in more["settings"].values() else ("span", after)
        mu = Estimate("mu", {"class": "gender", "form": form}, value, value - 0.01, value + 0.01, n=9)
        text = replace(made_runs.unqover(), model=model, estimates=[mu], tables={}).to_json()
        (more["out"] / "findings.json").write_text(text)

    bench.fakes.audit = found
    return page_of(bench)


def test_the_shift_is_from_a_language_model_to_what_was_made_from_it(bench: Any) -> None:
    page = shifted(bench, 0.125, 0.0625)
    assert_harmless(page, LINKS)
    data = next(link for link in page.links if "language_model" in link)
    rows = data.partition(",")[2].split("%0A")
    assert rows[1:-1] == ["gender,lm,qa,0.125,0.0625,-0.0625"], "and from nobody else"


# --- debiasing


def test_groups_are_told_apart_by_model_and_clear_ones_counted(bench: Any) -> None:
    audit = bench.fakes.audit

    def found(model: str, probe: str, **more: Any) -> None:
        audit(model, probe, **more)
        if probe != "sodapop":
            return
        debiased = "inlp" in model
        accuracy, p = (0.55, 0.4) if debiased else (0.95, 0.001)
        group = {"a": NAMES["b"], "b": NAMES["a"]} if debiased else NAMES  # either order is the same pair
        kmeans = Estimate("kmeans_accuracy", group, accuracy, n=50, p=p, floor=0.6)
        rd = -0.5 if debiased else 0.5
        word = [*group.values(), "kind", 0.4, 0.2, 0.2, 0.3, rd, None, None, 0.001, 0.01, 50, None, None]
        findings = replace(made_runs.sodapop(), model=model, estimates=[kmeans], tables={})
        findings = made_runs.with_claims(replace(findings, tables={"words": Table(made_runs.WORDS, [word])}))
        (more["out"] / "findings.json").write_text(findings.to_json())
        (more["out"] / "tables" / "words.csv").write_text(findings.tables["words"].to_csv())

    bench.fakes.audit = found
    page = page_of(bench)
    kmeans = next(link for link in page.links if "group_a,group_b,model,accuracy" in link)
    rows = kmeans.partition(",")[2].split("%0A")[1:-1]
    assert [row.split(",")[:4] for row in rows] == [
        ["EA_female", "AA_female", "siqa", "0.95"],
        ["EA_female", "AA_female", "inlp-gender", "0.55"],
        ["EA_female", "AA_female", "CDA", "0.95"],
    ]
    assert re.search(r"siqa 1 of 1 0\.950 0\.600 1", page.words), "pairs told apart, accuracy, chance, clear words"
    assert re.search(r"inlp-gender INLP \(gender\) siqa 0 of 1 0\.550 0\.600", page.words)
    words = next(link for link in page.links if "model,place,word,rd" in link).split("%0A")[1:-1]
    assert {row.split(",")[5] for row in words} == {"0.5"}, "turned to the pair's first order"


def test_scores_of_trained_and_debiased_models_are_read() -> None:
    trained = {
        "estimates": [{"metric": "em", "group": {}, "value": 0.7, "n": 5}, {"metric": "f1", "group": {}, "value": 0.8}]
    }
    found = scores_of(trained)
    cost = task_score(found, scores_of({"before": {"f1": 0.9}, "after": {"f1": 0.9}}))
    assert cost is not None
    assert cost.metric == "f1"
    assert cost.change == pytest.approx(-0.1)
    assert task_score({}, found) is None
    assert scores_of(None) == {}


def test_less_perplexity_is_better() -> None:
    def scored(value: float) -> dict[str, Estimate]:
        given = {"metric": "perplexity", "group": {}, "value": value, "low": value - 1, "high": value + 1}
        return scores_of({"estimates": [given]})

    cost = task_score(scored(10.0), scored(8.0))
    assert cost is not None
    assert cost.change is not None
    assert cost.change < 0
    low, high = cost.score.low, cost.score.high
    assert low is not None
    assert high is not None
    assert low < (cost.score.value or 0) < high
