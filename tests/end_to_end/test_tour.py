"""`assay run` alone: the tour of all probes with the built-in model, in a folder with one page over the runs.

The built-in model is the real one here, asked few questions; what it answers is for tests/models.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from golden_numbers import Golden, on_any_machine
from html_pages import OF_A_RUN, OF_A_TOUR, Page, assert_harmless
from small_tour import LIMIT, NAME, SMALL, Toured, program

pytestmark = pytest.mark.whole

PROBES = ("unqover", "bbq-starter", "sodapop")
PARTS = [f"{cls} ({form})" for form in ("span", "mask") for cls in ("gender", "nationality", "ethnicity", "religion")]
USAGE = 2


@pytest.fixture
def again(toured: Toured, assay: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`assay` in a copy of the finished tour's working folder, with a copy of its answers."""
    shutil.copytree(toured.work, tmp_path / "work", dirs_exist_ok=True)
    monkeypatch.setenv("ASSAY_CACHE", str(shutil.copytree(toured.cache, tmp_path / "cache")))
    return assay


def found(folder: Path) -> dict[str, bytes]:
    """Everything that was found, by file."""
    paths = [*folder.rglob("findings.json"), *folder.rglob("*.csv"), *folder.rglob("examples.jsonl")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def page_of(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


# --- a first run


@pytest.mark.slow
@pytest.mark.long
def test_without_any_argument_it_asks_the_built_in_model_about_everything(tmp_path: Path, golden: Golden) -> None:
    """As a newcomer types it. The number of questions is that of the help and the documentation.

    What it finds are the numbers that are kept, which README.md repeats.
    """
    done = program(tmp_path, tmp_path / "cache")
    folder = tmp_path / "runs" / "tour-builtin-quick"
    info = json.loads((folder / "unqover" / "run.json").read_text(encoding="utf-8"))
    assert info["model"]["name"] == "builtin"
    assert info["preset"] == "quick"
    assert info["questions"] == 8_960
    assert list(info["stages"]) == ["gender (span)", "gender (mask)"]
    assert info["settings"]["attributes"] == 8
    assert f"runs/tour-builtin-quick{os.sep}report.html" in done.out
    estimates = json.loads((folder / "unqover" / "findings.json").read_text(encoding="utf-8"))["estimates"]
    value = {(each["metric"], *each["group"].values()): each for each in estimates}
    for form in ("span", "mask"):  # single names are asked about too rarely, all names of a gender often enough
        for metric in ("delta", "epsilon", "avg_score"):
            assert 0 <= value[metric, "gender", form]["low"] < value[metric, "gender", form]["value"] < 1
        assert value["mu", "gender", form]["value"] is None
        assert value["mu", "gender", form, "pooled"]["value"] > 0
        assert value["mu", "gender", form, "pooled"]["floor"] > 0
    assert "Bias intensity μ" in page_of(folder / "report.html").words
    assert (folder / "report.html").stat().st_size < 2_000_000
    for probe in PROBES:
        golden.run(f"builtin/{probe}", folder / probe, on_any_machine(folder / probe))
    starter = json.loads((folder / "bbq-starter" / "run.json").read_text(encoding="utf-8"))
    assert starter["questions"] == 11 * 8 * 4 * 4
    scores = json.loads((folder / "bbq-starter" / "findings.json").read_text(encoding="utf-8"))["estimates"]
    bias = [each for each in scores if each["metric"] == "bias_score" and set(each["group"]) == {"category", "context"}]
    assert len(bias) == 2 * 12  # eleven categories and all of them, with the fact and without
    assert all(each["low"] <= each["value"] <= each["high"] for each in bias)
    sodapop = json.loads((folder / "sodapop" / "findings.json").read_text(encoding="utf-8"))
    assert (
        len(sodapop["estimates"]) == 4 + 1
    )  # pairs of the four groups that differ in one attribute, and the largest RD
    words = (folder / "sodapop" / "tables" / "words.csv").read_text(encoding="utf-8").splitlines()
    assert len(words) > 6 * 5  # of 4 pairs and 2 pooled contrasts


def test_every_probe_has_a_run_folder_below_the_tours_page(toured: Toured) -> None:
    files = {str(path.relative_to(toured.work)) for path in toured.work.rglob("*") if path.is_file()}
    names = {
        "unqover": ("gamma", "subjects", "groups", "classes"),
        "bbq-starter": ("by_template", "by_label", "unknown_strings", "answers", "intersectional"),
        "sodapop": ("words", "names", "projection"),
    }
    tables = {f"{NAME}/{probe}/tables/{name}.csv" for probe in PROBES for name in names[probe]}
    own = ("run.json", "findings.json", "examples.jsonl", "blocks.json", "report.html")
    assert files == {f"{NAME}/report.html", *tables, *(f"{NAME}/{probe}/{name}" for probe in PROBES for name in own)}


def test_it_says_what_it_does_and_where_the_report_is(toured: Toured) -> None:
    assert toured.err.startswith(f"unqover on builtin, {NAME}/unqover\n")
    for part in PARTS:
        assert re.search(rf"^  {re.escape(part)} +4 questions$", toured.err, re.M)
    assert [line.split(" ")[0] for line in toured.out.split("\n") if " · builtin · " in line] == [*PROBES]
    assert toured.out.count("Verdict: ") == len(PROBES)
    report, *steps, larger = toured.out.rstrip("\n").partition("\nReport: ")[2].split("\n")
    assert report == f"{NAME}/report.html"
    for probe, step in zip(("unqover", "bbq-starter"), steps, strict=True):
        assert re.fullmatch(rf"Next \({probe}\): assay run {probe} --limit \d+ --threads 1", step)
    assert larger == f"Larger sample: assay run --limit {10 * LIMIT} --threads 1"
    assert toured.folder.joinpath("report.html").is_file()


def test_the_run_in_a_tour_is_one_that_can_be_opened_and_scored_again(again: Any) -> None:
    done = again("score", "unqover", NAME / "unqover", "--out", "scored")
    assert done.code == 0, done.err
    assert found(Path("scored")) == found(NAME / "unqover")
    info = {name: json.loads((Path(name) / "run.json").read_text()) for name in ("scored", NAME / "unqover")}
    ties = [each["near_ties"] for each in info.values()]
    assert ties[0] == ties[1]
    assert list(ties[0]["items"]) == PARTS


def test_a_limit_below_one_cell_for_each_part_says_how_many_are_asked(toured: Toured) -> None:
    assert "religion (span): 1 comparison is too few for all 50 attributes; raise --limit." in toured.err
    assert " 0 cells" not in toured.err


# --- its page


def test_the_pages_are_harmless_and_their_links_lead_somewhere(toured: Toured) -> None:
    page = page_of(toured.folder / "report.html")
    assert_harmless(page, OF_A_TOUR)
    for probe in PROBES:
        assert f"{probe}/findings.json" in page.files
        below = page_of(toured.folder / probe / "report.html")
        assert_harmless(below, OF_A_RUN)
        assert len(below.files) >= 4
        for link in below.files:
            assert (toured.folder / probe / link).is_file()
    for link in page.files:
        assert (toured.folder / link).is_file()


def test_the_page_has_examples_of_every_probe_and_none_if_so_wished(again: Any) -> None:
    names = {"UnQover", "bbq-starter", "SODAPOP"}
    page = page_of(NAME / "report.html")
    articles = [each for each in page.all("article") if each["class"] == "example"]
    assert {str(each["data-run"])[:2] for each in articles} == {"p1", "p2", "p3"}
    assert page.all("blockquote")  # on the cards
    assert names <= {str(each.get("data-from")) for each in page_of(NAME / "report.html").all("p")}
    done = again("report", NAME, "--no-examples")
    assert done.code == 0, done.err
    without = page_of(NAME / "report.html")
    assert not [each for each in without.all("article") if each["class"] == "example"]
    assert not without.all("blockquote")
    assert "example-abouts" not in without.ids


def test_the_page_is_below_two_megabytes_and_says_where_the_time_went(toured: Toured) -> None:
    assert (toured.folder / "report.html").stat().st_size < 2_000_000
    assert re.search(r"^Time \(\d+ s in total\):$", toured.err, re.M)
    for probe in PROBES:
        assert re.search(rf"^  {probe} +\d+ s: asking \d+, analysing \d+$", toured.err, re.M)


def test_the_page_tells_who_was_asked_and_not_to_rely_on_it(toured: Toured) -> None:
    words = page_of(toured.folder / "report.html").words
    assert "The model builtin was asked 32 questions about gender, nationality, ethnicity and religion" in words
    assert "demonstration: a small teaching model; do not base decisions on its answers" in words
    assert "A low score does not show that the model is free of bias" in words


def test_near_ties_are_on_the_page_of_the_run(toured: Toured) -> None:
    items = json.loads((toured.folder / "unqover" / "run.json").read_text())["near_ties"]["items"]
    words = page_of(toured.folder / "unqover" / "report.html").words
    for part, count in items.items():
        assert f"items.{part} {count}" in words


def test_a_report_is_written_again(again: Any) -> None:
    before = (NAME / "report.html").read_bytes()
    (NAME / "report.html").unlink()
    done = again("report", NAME)
    assert done.code == 0, done.err
    assert done.out.strip() == f"{NAME}/report.html"
    assert (NAME / "report.html").read_bytes() == before


def test_a_hostile_model_name_cannot_break_the_page(assay: Any, span_model_folder: Path) -> None:
    name = "\"><img src=x onerror=alert(1)><b title='{{ 7 * 7 }}"
    shutil.copytree(span_model_folder, name)
    done = assay("run", "--model", f"hf:./{name}", "--limit", 16)
    assert done.code == 0, done.err
    (folder,) = Path("runs").iterdir()
    assert re.fullmatch(r"tour-hf-[\w.-]+-limit16", folder.name)
    page = page_of(folder / "report.html")
    assert_harmless(page, OF_A_TOUR)
    assert page.text.count(f"hf:./{name}") >= 3
    assert_harmless(page_of(folder / "unqover" / "report.html"), OF_A_RUN)
    assert f"hf:./{name}" in done.out
    assert "bbq-starter is left out: it needs a model with the ability choice or text" in done.err


# --- the same command again


def test_the_same_command_again_resumes_and_finds_the_same_bytes(again: Any, toured: Toured) -> None:
    done = again("run", *SMALL)
    assert done.code == 0, done.err
    assert "stored already" not in toured.err
    assert done.err.count("stored already") == len(PARTS) + 1 + 4  # BBQ's one, and SODAPOP's four
    assert found(NAME) == found(toured.folder)
    assert done.out == toured.out


def test_asked_once_more_it_finds_the_same_bytes(again: Any, toured: Toured) -> None:
    done = again("run", *SMALL, "--resume", "never")
    assert done.code == 0, done.err
    assert "stored already" not in done.err
    assert found(NAME) == found(toured.folder)


def test_only_missing_leaves_a_finished_tour_alone(again: Any, toured: Toured) -> None:
    done = again("run", *SMALL, "--resume", "only-missing")
    assert done.code == 0, done.err
    assert (NAME / "unqover" / "run.json").read_bytes() == (toured.folder / "unqover" / "run.json").read_bytes()
    assert done.out == toured.out


def test_python_gives_the_folder_and_the_runs(again: Any, toured: Toured) -> None:
    import assay as package
    from assay.models.base import Options

    folder, runs = package.tour(limit=LIMIT, options=Options(threads=1))
    assert folder == NAME
    assert [run.folder for run in runs] == [NAME / probe for probe in PROBES]
    for probe, run in zip(PROBES, runs, strict=True):
        assert run.findings.to_json().encode() == (toured.folder / probe / "findings.json").read_bytes()
    opened = package.open_run(folder)
    assert {run.probe: run.findings_digest for run in opened.runs} == {run.probe: run.findings_digest for run in runs}
    assert "assay tour" in opened._repr_html_()


# --- what is printed, and what is refused


def test_json_is_a_list_of_findings_and_nothing_else(again: Any) -> None:
    done = again("run", *SMALL, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out) == [
        json.loads((NAME / probe / "findings.json").read_text(encoding="utf-8")) for probe in PROBES
    ]


def test_a_dry_run_says_how_much_and_leaves_nothing(assay: Any, snapshot: Any) -> None:
    before = snapshot()
    done = assay("run", *SMALL, "--dry-run")
    assert done.code == 0, done.err
    assert re.search(rf"^  total +{LIMIT} questions$", done.out, re.M)
    assert re.search(r"^expected: \d+ s, \d+ MB of memory", done.out, re.M)
    assert snapshot() == before
    assert not [path for path in Path(os.environ["ASSAY_CACHE"]).rglob("*") if path.is_file()]


def test_a_setting_without_a_probe_is_refused(assay: Any, snapshot: Any) -> None:
    before = snapshot()
    done = assay("run", *SMALL, "--set", "class=gender")
    assert done.code == USAGE
    assert "--set needs a probe" in done.message
    assert "assay run unqover" in done.message
    assert snapshot() == before


def test_a_folder_that_holds_one_run_is_no_place_for_a_tour(again: Any, snapshot: Any) -> None:
    before = snapshot()
    done = again("run", *SMALL, "--out", NAME / "unqover")
    assert done.code == USAGE
    assert f"{NAME}/unqover: this folder holds one run, not a tour." in done.message
    assert "--out" in done.message
    assert snapshot() == before


def test_another_tour_in_the_same_folder_is_refused(again: Any, snapshot: Any) -> None:
    before = snapshot()
    done = again("run", "--limit", 64, "--threads", 1, "--out", NAME)
    assert done.code == USAGE
    assert f"size: {LIMIT} → 64" in done.message
    assert snapshot() == before


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--model", "nonsense"], "unknown model name 'nonsense'; expected builtin, hf:…"),
        (["--model", "builtin:small"], "unknown model name 'builtin:small'"),
        (["--device", "cuda"], "builtin supports only --device cpu, not 'cuda'"),
        (["--dtype", "float16"], "builtin supports only --dtype float32, not 'float16'"),
        (["--threads", "0"], "the number of threads is 0, expected at least 1"),
        (["--limit", "0"], "--limit is 0"),
        (["--block-size", "0"], "--block-size is 0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_makes_no_sense_is_refused_and_leaves_nothing(
    assay: Any, snapshot: Any, options: list[str], part: str
) -> None:
    before = snapshot()
    done = assay("run", *options)
    assert done.code == USAGE
    assert part in done.message
    assert snapshot() == before
