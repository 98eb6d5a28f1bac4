"""`assay run` from the outside: what it writes, what it prints, and that the same command gives the same bytes."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

import small_lists
from assay.probes.unqover import PROBE as UNQOVER

pytestmark = pytest.mark.whole

FEW = ("--set", "draws=50", "--set", "resamples=50")
METRICS = {"mu", "eta", "delta", "epsilon", "avg_score"}


@pytest.fixture
def run(assay: Any, lists: Path, span_model_folder: Path) -> Callable[..., Any]:
    """`assay run` of all questions of the small lists; later options win over these."""

    def call(*arguments: object) -> Any:
        model = ("--model", f"hf:{span_model_folder}", "--set", f"word_lists={lists}")
        return assay("run", "unqover", *model, "--preset", "paper", *FEW, *arguments)

    return call


def files(folder: str) -> dict[str, tuple[bytes, int]]:
    """Every file of a folder, with the time of its last change."""
    found = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def table(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines()))


# --- findings.json and the tables: a contract


def test_json_prints_the_findings_and_nothing_else(run: Any) -> None:
    done = run("--json", "--out", "r")
    assert done.code == 0
    assert done.out == Path("r/findings.json").read_text()
    assert json.loads(done.out)["probe"] == "unqover"


@pytest.mark.parametrize("form", ["span", "mask"])
@pytest.mark.parametrize("size", [("--preset", "paper"), ("--limit", "200"), ("--limit", "1")], ids=" ".join)
def test_findings_keep_the_contract(
    run: Any, form: str, size: tuple[str, str], span_model_folder: Path, mask_model_folder: Path
) -> None:
    model = {"span": span_model_folder, "mask": mask_model_folder}[form]
    done = run("--model", f"hf:{model}", *size, "--json", "--out", "r")
    assert done.code == 0, done.err

    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    found = json.loads(done.out, parse_constant=no_constant)
    assert list(found) == ["schema", "probe", "model", "verdict", "diagnosis", "estimates", "tables"]
    assert (found["schema"], found["probe"], found["model"]) == (3, "unqover", f"hf:./{model.name}")
    seen = set()
    for estimate in found["estimates"]:
        numbers = {"value", "corrected", "low", "high", "level", "n", "p", "q", "floor"}
        assert set(estimate) == {"metric", "group", "interval_of", "claimed", "note", *numbers}
        assert (estimate["interval_of"] == "corrected") == (estimate["corrected"] is not None)
        assert estimate["metric"] in METRICS
        assert estimate["group"]["class"] in ("gender", "nationality", "ethnicity", "religion")
        assert estimate["group"]["form"] == form
        assert set(estimate["group"]) <= {"class", "form", "subjects"}
        assert estimate["level"] == 0.95
        assert isinstance(estimate["n"], int)
        seen.add((estimate["metric"], *estimate["group"].values()))
        if estimate["value"] is None:
            assert estimate["note"]
            assert estimate["low"] is estimate["high"] is None
        else:
            assert 0 <= estimate["value"] <= 1
            assert (estimate["low"] is None) == (estimate["high"] is None)
            if estimate["low"] is None:
                assert estimate["note"]
            else:
                assert 0 <= estimate["low"] <= estimate["high"] <= 1
            if estimate["metric"] in ("mu", "eta") and estimate["low"] is not None:
                assert estimate["low"] <= estimate["corrected"] <= estimate["high"]
                assert 0 <= estimate["floor"] <= 1
                assert 0 < estimate["p"] <= 1
    assert len(seen) == len(found["estimates"])
    assert {(metric, cls, form) for metric in METRICS for cls in small_lists.CELLS} <= seen
    assert {("mu", "gender", form, "pooled"), ("eta", "gender", form, "pooled")} <= seen

    columns = {
        "gamma": "class,form,subject,attribute,gamma,low,high,eta,p,q,claimed,n",
        "subjects": "class,form,subject,gamma,low,high,eta,p,q,claimed,n",
        "groups": "class,form,group,attribute,gamma,low,high,eta,p,q,claimed,n,attribute_class",
        "classes": "class,form,subject,region,attribute_class,gamma,low,high,eta,p,q,claimed,n",
    }
    assert found["tables"] == {name: f"tables/{name}.csv" for name in columns}
    for name, where in found["tables"].items():
        assert Path("r", where).read_text(encoding="utf-8").split("\n")[0] == columns[name]
        for row in table(f"r/{where}"):
            assert row["form"] == form
            assert "nan" not in row.values()
            if int(row["n"]):
                assert -1 <= float(row["gamma"]) <= 1
                assert -1 <= float(row["eta"]) <= 1
            else:
                assert row["gamma"] == row["eta"] == ""


def test_the_numbers_of_cells_are_those_of_the_lists(run: Any) -> None:
    found = json.loads(run("--json").out)
    n = {e["group"]["class"]: e["n"] for e in found["estimates"] if e["metric"] == "delta"}
    assert n == small_lists.CELLS


def test_gamma_sums_to_zero_over_subjects(run: Any) -> None:
    assert run("--out", "r").code == 0
    for cls in small_lists.CELLS:
        rows = [row for row in table("r/tables/subjects.csv") if row["class"] == cls]
        assert sum(float(row["gamma"]) * int(row["n"]) for row in rows) == pytest.approx(0, abs=1e-6)
    by = {(row["group"], row["attribute"]): float(row["gamma"]) for row in table("r/tables/groups.csv")}
    for (group, attribute), gamma in by.items():
        assert by["male" if group == "female" else "female", attribute] == -gamma


# --- run.json


def test_run_json_says_what_was_asked_of_whom(run: Any, lists: Path, span_model_folder: Path) -> None:
    assert run("--out", "r", "--seed", 5).code == 0
    info = json.loads(Path("r/run.json").read_text())
    assert info["probe"] == "unqover"
    assert info["model"]["name"] == f"hf:{span_model_folder}"
    assert re.fullmatch("[0-9a-f]{64}", info["model"]["digest"])
    assert info["model"]["abilities"] == ["embed", "span", "word"]
    assert info["model"]["dtype"] == "float32"
    assert info["versions"].keys() >= {"assay", "python", "numpy", "torch", "transformers", "tokenizers"}
    assert info["settings"]["word_lists"] == str(lists)
    assert info["settings"]["compat"] == "paper"
    assert info["settings"]["draws"] == 50
    assert (info["preset"], info["limit"], info["seed"]) == ("paper", None, 5)
    assert info["questions"] == 4 * sum(small_lists.CELLS.values())
    assert info["stages"] == {f"{cls} (span)": 4 * n for cls, n in small_lists.CELLS.items()}
    assert {"nouns/subjects/religion", "activities/occupation_rev1", "slots/country_noact"} <= info["data"].keys()
    assert not any(name.endswith("_lm") for name in info["data"])  # a span model reads no masked sentences
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in info["data"].values())
    assert info["timings"]["run"] > 0
    assert info["started"] <= info["finished"]
    assert info["machine"].keys() == {"system", "processor"}
    assert info["engine"] == {"token_budget": 4096}
    blocks = json.loads(Path("r/blocks.json").read_text())
    assert info["block_sizes"].keys() == {entry["plan"] for entry in blocks}
    tensors = load_file(span_model_folder / "model.safetensors").values()
    assert info["model"]["parameters"] == sum(tensor.size for tensor in tensors)
    assert {entry["label"] for entry in blocks} >= info["stages"].keys()


def test_weights_that_differ_have_another_digest(run: Any, model_folder: Any) -> None:
    digests = set()
    for seed in (0, 1):
        assert run("--model", f"hf:{model_folder('span', seed=seed)}", "--out", f"r{seed}").code == 0
        digests.add(json.loads(Path(f"r{seed}/run.json").read_text())["model"]["digest"])
    assert len(digests) == 2


# --- the same command again


def test_two_runs_of_one_command_give_the_same_bytes(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert run("--out", "one").code == 0
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "another-cache"))
    assert run("--out", "two").code == 0
    one, two = ({k: v[0] for k, v in files(name).items() if k.startswith(("f", "tab"))} for name in ("one", "two"))
    assert len(one) == 5
    assert one == two


def test_another_seed_changes_intervals_but_no_value_of_a_full_run(run: Any) -> None:
    one, two = (json.loads(run("--json", "--seed", seed, "--out", f"r{seed}").out) for seed in (0, 1))
    assert [e["value"] for e in one["estimates"]] == [e["value"] for e in two["estimates"]]
    assert [e["low"] for e in one["estimates"]] != [e["low"] for e in two["estimates"]]


def test_the_same_command_finds_its_folder_and_its_answers(run: Any) -> None:
    first, second = run(), run()
    assert first.code == second.code == 0
    assert "stored already" not in first.err
    assert second.err.count("stored already") == len(small_lists.CELLS)
    assert len(list(Path("runs").iterdir())) == 1
    assert first.out == second.out


def test_only_missing_leaves_a_finished_run_alone(run: Any) -> None:
    assert run("--out", "r").code == 0
    before = files("r")
    time.sleep(0.01)
    done = run("--out", "r", "--resume", "only-missing")
    assert done.code == 0
    assert "Report: r/report.html" in done.out
    assert files("r") == before


def test_only_missing_finishes_an_unfinished_run(run: Any) -> None:
    assert run("--out", "r").code == 0
    whole = Path("r/findings.json").read_bytes()
    Path("r/findings.json").unlink()
    done = run("--out", "r", "--resume", "only-missing")
    assert done.code == 0
    assert "stored already" in done.err
    assert Path("r/findings.json").read_bytes() == whole


def test_only_missing_makes_a_page_that_is_missing(run: Any) -> None:
    assert run("--out", "r").code == 0
    page = Path("r/report.html").read_bytes()
    Path("r/report.html").unlink()
    assert run("--out", "r", "--resume", "only-missing").code == 0
    assert Path("r/report.html").read_bytes() == page


def test_a_run_is_finished_only_when_its_page_is_there(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(folder: Path, runs: Any) -> None:
        assert "finished" not in {key for key, value in json.loads(Path("r/run.json").read_text()).items() if value}
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("assay.runs.audit.write_page", killed)
        assert run("--out", "r").code == 130
    assert not Path("r/report.html").exists()
    assert run("--out", "r", "--resume", "only-missing").code == 0
    assert Path("r/report.html").exists()


def test_never_asks_everything_again(run: Any) -> None:
    assert run("--out", "r").code == 0
    whole = Path("r/findings.json").read_bytes()
    done = run("--out", "r", "--resume", "never")
    assert done.code == 0
    assert "stored already" not in done.err
    assert Path("r/findings.json").read_bytes() == whole


def test_block_size_changes_where_answers_are_stored_and_nothing_else(run: Any) -> None:
    one = json.loads(run("--json", "--out", "a").out)["estimates"]
    done = run("--json", "--out", "b", "--block-size", "50")
    assert "stored already" not in done.err
    for mine, other in zip(one, json.loads(done.out)["estimates"], strict=True):
        assert other["value"] == pytest.approx(mine["value"], rel=1e-4, abs=1e-7)
    blocks = json.loads(Path("b/blocks.json").read_text())
    assert max(hi - lo for entry in blocks for lo, hi, _ in entry["blocks"]) == 50


# --- dry run


def test_a_dry_run_says_how_much_and_leaves_nothing(run: Any, snapshot: Any) -> None:
    before = snapshot()
    done = run("--dry-run")
    assert done.code == 0
    assert re.search(r"religion \(span\) +240 questions", done.out)
    assert re.search(r"total +980 questions", done.out)
    assert re.search(r"expected: \d+ s, \d+ MB of memory", done.out)
    assert snapshot() == before
    assert not [path for path in Path(os.environ["ASSAY_CACHE"]).rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("changed", "said"), [((), True), (("--limit", 500), False), (("--set", "class=religion"), False)]
)
def test_a_dry_run_says_what_a_run_of_a_measured_size_can_see(
    assay: Any, span_model_folder: Path, changed: tuple[Any, ...], said: bool
) -> None:
    """With a limit or a setting the size is another one, of which nothing is known."""
    done = assay("run", "unqover", "--model", f"hf:{span_model_folder}", "--dry-run", *changed)
    assert done.code == 0, done.err
    assert (f"a run of this size finds, in four of five runs: {UNQOVER.presets['quick'].finds}" in done.out) is said
    assert ("a run of this size finds" in done.out) is said


def test_the_time_that_a_dry_run_expects_is_about_right(lists: Path, span_model_folder: Path) -> None:
    from assay.runs.audit import audit, expect

    model = f"hf:{span_model_folder}"
    size = expect(model, limit=2000, settings={"draws": "50", "resamples": "50"})
    began = time.perf_counter()
    audit(model, limit=2000, settings={"draws": "50", "resamples": "50"}, out=lists / "run")
    took = time.perf_counter() - began
    assert sum(stage.questions for stage in size.stages) == 2000
    assert took / 6 < size.seconds < took * 6  # machines are busy now and then
    assert 1e8 < size.memory < 1e9


def test_a_dry_run_of_everything_knows_the_paper_size(assay: Any, span_model_folder: Path) -> None:
    done = assay("run", "unqover", "--model", f"hf:{span_model_folder}", "--preset", "paper", "--dry-run", *FEW)
    assert done.code == 0
    for number in ("5,488,000", "4,616,928", "294,000", "154,000", "10,552,928"):
        assert number in done.out


# --- what is printed


def test_the_terminal_shows_the_card_where_to_look_and_on_request_tables(run: Any) -> None:
    done = run("--out", "r")
    *card, report = done.out.splitlines()
    assert len(card) < 25
    assert card[0].startswith("unqover · hf:")
    assert "Verdict: " in done.out
    assert report == "Report: r/report.html"  # everything was asked: no sample is larger
    assert "Headline estimates" not in done.out
    whole = run("--out", "r", "--verbose").out
    assert whole.startswith("\n".join(card))
    for part in ("Headline estimates", "Strongest associations", "tables/gamma.csv"):
        assert part in whole
    assert "religion (span)" in done.err
    assert "240 questions" in done.err
    assert Path("r/report.html").read_text().startswith("<!doctype html>")


def test_subjects_that_are_not_one_token_are_left_out_and_listed(
    run: Any, lists: Path, mask_model_folder: Path
) -> None:
    name = "nouns/subjects/religion"
    small_lists.write(lists, {name: small_lists.FILES[name] + "[subj] Qqxxzz\n"})
    done = run("--model", f"hf:{mask_model_folder}", "--set", "class=religion", "--out", "r")
    note = "religion (mask): 1 of 6 subjects are left out because they are not single tokens of this model: Qqxxzz"
    assert f"note: {note}" in done.err
    assert json.loads(Path("r/run.json").read_text())["notes"] == [note]
    assert "Qqxxzz" not in Path("r/tables/gamma.csv").read_text()


def test_a_limit_that_is_too_small_for_all_attributes_says_so(run: Any) -> None:
    done = run("--limit", "4", "--set", "class=religion", "--out", "r")
    assert done.code == 0
    assert "note: religion (span): 1 comparison is too few for all 3 attributes; raise --limit." in done.err


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([], ["examples:", "run", "score", "generate", "report", "compare", "gate", "export", "list", "doctor"]),
        (["run"], ["examples:", "assay run unqover --model hf:./", "--preset", "--limit", "--set", "--threads"]),
        (["run"], ["  assay run\n", "the tour", "builtin (the default", "--dry-run", "--block-size"]),
        (["score"], ["examples:", "assay score unqover predictions.json", "--skip-bad"]),
        (["generate"], ["examples:", "assay generate unqover --set class=gender"]),
        (["compare"], ["examples:", "assay compare", "--common", "--out"]),
        (["report"], ["examples:", "assay report", "--no-examples", "model-card"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0].islower() else "",
)
def test_help_has_examples(assay: Any, arguments: list[str], parts: list[str]) -> None:
    done = assay(*arguments, "--help")
    assert done.code == 0
    for part in parts:
        assert part in done.out


def test_the_examples_of_the_help_parse(assay: Any) -> None:
    """Every option in an example exists; what fails is the model, the file or the class, which are not there.

    The built-in model is there, so that it gets a limit that it must refuse.
    """
    for command in ("run", "score", "generate"):
        examples = re.findall(rf"^  (assay {command}.*)$", assay(command, "--help").out, re.M)
        assert len(examples) >= 3
        for example in examples:
            refused = ["--limit", "0"] if command == "run" and "--model" not in example else []
            done = assay(*example.replace("class=", "class=no-").split()[1:], *refused)
            assert "usage:" not in done.err
            assert done.code in ((0,) if example.startswith("assay generate bbq-starter") else (2, 3)), example


def test_without_a_command_the_help_is_shown(assay: Any) -> None:
    done = assay()
    assert done.code == 0
    assert done.out.startswith("usage: assay")


def test_version_list_and_doctor(assay: Any) -> None:
    import assay as package

    assert assay("--version").out == f"assay {package.__version__}\n"
    assert "unqover" in assay("list").out
    assert "hf:./folder" in assay("list", "models").out
    assert re.search(r"^builtin +builtin: .*no torch and no network$", assay("list", "models").out, re.M)
    assert "hf" not in assay("list", "probes").out
    assert "builtin" not in assay("list", "probes").out
    done = assay("doctor")
    assert done.code == 0
    names = ("assay", "python", "numpy", "onnxruntime", "tokenizers", "torch", "transformers")
    for name in (*names, "device", "answers", "official data"):
        assert re.search(rf"^{name} +\S", done.out, re.M)
    assert re.search(r"^onnxruntime +\d", done.out, re.M)  # the built-in model always works
    assert os.environ["ASSAY_CACHE"] in done.out


def test_a_report_is_written_again(run: Any, assay: Any) -> None:
    assert run("--out", "r").code == 0
    before = Path("r/report.html").read_bytes()
    Path("r/report.html").unlink()
    done = assay("report", "r")
    assert done.code == 0
    assert done.out.strip() == "r/report.html"
    assert Path("r/report.html").read_bytes() == before


# --- both forms in one run, with the model that can do both


def test_one_run_asks_in_both_forms(assay: Any, lists: Path) -> None:
    options = ("--set", f"word_lists={lists}", "--set", "class=religion", "--limit", 120, "--threads", 1, *FEW)
    done = assay("run", "unqover", *options, "--json", "--out", "r")  # the built-in model is the default
    assert done.code == 0, done.err
    info = json.loads(Path("r/run.json").read_text())
    assert info["model"]["name"] == "builtin"
    assert info["model"]["threads"] == 1
    assert info["versions"].keys() >= {"onnxruntime", "tokenizers"}
    assert info["stages"] == {"religion (span)": 60, "religion (mask)": 60}
    assert {"slots/religion_noact", "slots/religion_noact_lm"} <= info["data"].keys()
    average = {e["group"]["form"]: e["value"] for e in json.loads(done.out)["estimates"] if e["metric"] == "avg_score"}
    assert average.keys() == {"span", "mask"}
    assert average["span"] != average["mask"]
    for name in ("gamma", "subjects", "classes"):
        assert {row["form"] for row in table(f"r/tables/{name}.csv")} == {"span", "mask"}
    for form in ("span", "mask"):  # asked alone, it answers the same
        alone = assay("run", "unqover", *options, "--limit", 60, "--set", f"form={form}", "--json", "--out", form)
        assert alone.err.count("stored already") == 1
        values = [e["value"] for e in json.loads(alone.out)["estimates"] if e["metric"] == "avg_score"]
        assert values == [average[form]]


# --- settings


def test_the_header_of_newsqa_changes_the_scores(run: Any) -> None:
    plain, headed = (
        json.loads(run("--json", "--set", "class=religion", "--set", f"header={header}", "--out", header).out)
        for header in ("none", "newsqa")
    )
    assert plain["estimates"][2]["value"] != headed["estimates"][2]["value"]
    assert "fillers/newsqa" in json.loads(Path("newsqa/run.json").read_text())["data"]


def test_pronouns_count_for_the_names_in_masked_sentences(run: Any, mask_model_folder: Path) -> None:
    scores = {}
    for pronouns in ("on", "off"):
        options = ("--model", f"hf:{mask_model_folder}", "--set", "class=gender", "--set", f"pronouns={pronouns}")
        found = json.loads(run(*options, "--json", "--out", pronouns).out)
        scores[pronouns] = next(e["value"] for e in found["estimates"] if e["metric"] == "avg_score")
    assert scores["on"] > scores["off"] > 0


def test_compat_released_cuts_off_what_is_not_among_the_ten_likeliest(run: Any, mask_model_folder: Path) -> None:
    options = ("--model", f"hf:{mask_model_folder}", "--set", "class=religion")
    paper = json.loads(run(*options, "--json", "--out", "a").out)["estimates"]
    released = json.loads(run(*options, "--set", "compat=released", "--json", "--out", "b").out)["estimates"]
    average = [next(e["value"] for e in found if e["metric"] == "avg_score") for found in (paper, released)]
    assert average[0] > average[1] >= 0  # in so large a vocabulary hardly a subject is among the ten likeliest
    assert not math.isclose(average[0], average[1], rel_tol=0.01)


def test_compat_released_widens_the_spans(run: Any) -> None:
    options = ("--set", "class=religion", "--json")
    paper = json.loads(run(*options, "--out", "a").out)["estimates"]
    released = json.loads(run(*options, "--set", "compat=released", "--out", "b").out)["estimates"]
    average = [next(e["value"] for e in found if e["metric"] == "avg_score") for found in (paper, released)]
    assert average[1] > average[0]  # the best of several starts and ends
