"""Folders, names and texts of strangers: what once hung, ended in a traceback or reached files elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import small_bbq
from assay.asking.plan import WordPlan
from assay.datasets.download import open_part
from assay.engine.executor import EngineSettings
from assay.engine.journal import Journal
from assay.engine.plan_json import of_data, to_data
from assay.engine.shared_folder import FORMAT, Job, JobFolder, WorkerFailure
from assay.engine.shared_folder_worker import SharedFolderWorker
from assay.engine.store import BlockStore
from assay.errors import DataError, UsageError
from assay.lab.studies import study
from assay.lab.studies.page import _read as read_comparison
from assay.lab.studies.study_record import read_record
from assay.lab.training.training_folder import open_out
from assay.models.api.client import words_of
from assay.models.base import Reply
from assay.probes.bbq.editions.ggbbq import fits
from assay.probes.bbq.logs.inspect_ai import _row
from assay.probes.bbq.prompt_sources import read_prompts
from assay.probes.bbq.read_items import example_of
from assay.probes.bbq.targets import template_stereotypes
from assay.probes.unqover.lists import WordListFile, _entries
from assay.results.findings import read_table
from assay.runs.export import export
from bounded import Said, bounded, saying
from fake_models import FakeModel, fake_spec
from kept_runs import without_digests
from raising import raises

NAN = float("nan")
PLAN = WordPlan(("one", "two"))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test has a folder of its own, and a minute of computing."""
    monkeypatch.chdir(tmp_path)
    with bounded(waiting=300, computing=60):
        yield


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    return saying(capsys)


@pytest.fixture
def run(kept_runs: Path, tmp_path: Path) -> Path:
    shutil.copytree(kept_runs / "two" / "scored-bbq", tmp_path / "two")
    return without_digests(shutil.copytree(kept_runs / "one" / "scored-bbq", tmp_path / "run"))


# --- pipes and names


@pytest.mark.parametrize("name", ["findings.json", "run.json", "examples.jsonl", "tables/by_label.csv"])
@pytest.mark.parametrize(
    "command",
    [("report", "run", "--format", "md"), ("compare", "two", "run", "--json"), ("export", "run")],
    ids=" ".join,
)
def test_a_pipe_in_a_run_folder_is_not_waited_for(name: str, command: tuple[str, ...], run: Path, said: Said) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    code, text = said(*command)
    assert code in (0, 2, 3) if command[0] == "export" else code == 3, text
    assert "Traceback" not in text


def test_an_example_in_which_nothing_was_asked_is_refused(run: Path, said: Said) -> None:
    lines = (run / "examples.jsonl").read_text(encoding="utf-8").splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | {"asked": []})
    (run / "examples.jsonl").write_text("\n".join(lines), encoding="utf-8")
    code, text = said("report", "run", "--format", "md")
    assert code == 3
    assert "examples.jsonl, line 2:" in text


def test_a_pipe_as_the_mark_of_an_export_is_no_export(run: Path) -> None:
    (run / "blocks.json").write_text("[]", encoding="utf-8")
    (run / "blocks").mkdir(exist_ok=True)
    (run / "blocks" / "exported").unlink(missing_ok=True)
    os.mkfifo(run / "blocks" / "exported")
    assert BlockStore.of_run(run).root != run / "blocks"


def test_a_pipe_in_the_place_of_an_archive_is_not_replaced(run: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "out.zip")
    with raises("not-new", UsageError, file=tmp_path / "out.zip"):
        export(run, tmp_path / "out.zip")


def test_a_pipe_as_the_part_of_a_download_is_not_continued(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".a.jsonl.other-1.part")
    with open_part(tmp_path / "a.jsonl") as part:
        assert part.tell() == 0


@pytest.mark.parametrize(
    "command",
    [
        *(("train", "span", "--data", "rows.jsonl", "--out", "FILE"), ("study", "study-small", "--out", "FILE")),
        *(("export", "run", "--out", "FILE"), ("export", "run", "--out", "FILE.zip")),
        *(("report", "run", "--format", "md", "--out", "FILE"), ("compare", "run", "two", "--out", "FILE")),
        *(
            ("run", "unqover", "--limit", "4", "--executor", "work:FILE"),
            ("generate", "unqover", "--set", "word_lists=FILE", "--out", "a"),
        ),
        *(
            ("doctor", "--model", "hf:./FILE"),
            ("run", "bbq", "--data", "FILE"),
            ("list", "FILE"),
            ("completion", "FILE"),
        ),
        *(("run", "FILE"), ("data", "fetch", "FILE")),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("run")
def test_a_name_that_is_too_long_is_one_clear_error_here_too(
    command: tuple[str, ...], said: Said, tmp_path: Path
) -> None:
    (tmp_path / "rows.jsonl").write_text("{}\n", encoding="utf-8")
    code, text = said(*(each.replace("FILE", "n" * 300) for each in command))
    assert code in (2, 3, 4), text
    assert "Traceback" not in text


# --- texts that regular expressions would take hours for


def test_a_server_s_page_of_brackets_takes_no_time() -> None:
    assert words_of(None, "<" * 4_000_000).startswith("<<<")


def test_a_word_list_of_blanks_takes_no_time(tmp_path: Path) -> None:
    with raises("bad-row", DataError, file=tmp_path / "a", line=1):
        _entries(WordListFile(tmp_path / "a", b"[subj] a" + b" " * 50_000 + b"| b | c"), "subj")


def test_a_template_of_slots_takes_no_time() -> None:
    assert not fits(["a", *["b"] * 50, "c"], "a" + "b" * 5_000, entire=True)
    assert fits(["a", *["b"] * 50, "c"], "a" + "b" * 5_000 + "c", entire=True)


def test_an_input_of_blank_lines_takes_no_time() -> None:
    assert "context" not in _row({"input": "Context: a" + "\n" * 500_000 + "Questions", "id": "1"})
    assert _row({"input": "Context: a\n" + "\n" * 500_000 + " Question: b ", "id": "1"})["question"] == "b"


def test_a_prompt_of_blanks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "prompts.tsv"
    path.write_text("prompt_id\tprompt\n1\tA" + " " * 100_000 + "{a}\n", encoding="utf-8")
    with raises("bad-text", DataError, file=path, line=2, key="prompt"):
        read_prompts(path, "en")


def test_an_epoch_of_5000_digits_is_no_sample(tmp_path: Path, said: Said) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        archive.writestr(f"samples/1_epoch_{'9' * 5000}.json", "{}")
    assert said("score", "bbq", "log.eval")[0] == 3


def test_an_example_id_of_5001_digits_is_refused(tmp_path: Path) -> None:
    row = small_bbq.quartet()[0].as_json()
    for key in ("example_id", "label", "question_index"):
        with raises("bad-label" if key == "label" else "bad-value", DataError, line=1, key=key):
            example_of({**row, key: "9" * 5001 if key != "question_index" else {}}, tmp_path, 1)


def test_a_category_of_a_name_that_no_file_can_have_has_no_templates(tmp_path: Path) -> None:
    (tmp_path / "new_templates - Age.csv").write_text("Q_id,Relevant_social_values\n1,memory\n", encoding="utf-8")
    found = template_stereotypes(tmp_path, ["n" * 300, "a\0b", "../x", "Age"])
    assert found == {("Age", "1"): "memory"}


# --- what other programs left


def test_a_training_removes_nothing_outside_its_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    for names in (["../mine.txt"], [str(tmp_path / "mine.txt")], [".."]):
        (out / "assay.json").write_text(json.dumps({"made_by": "assay train", "files": names}), encoding="utf-8")
        with raises("unreadable-file", DataError, file=out / "assay.json"), open_out(out, resume=False) as opened:
            opened.begin({})
    assert (tmp_path / "mine.txt").exists()


@pytest.mark.parametrize("key", ["identity", "files", "settings"])
def test_a_training_with_wrong_types_is_refused(key: str, tmp_path: Path) -> None:
    (tmp_path / "training.json").write_text(json.dumps({"made_by": "assay train", key: 7}), encoding="utf-8")
    with raises("unreadable-file", DataError, file=tmp_path / "training.json"), open_out(tmp_path, resume=True):
        pass


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": 7},
        {"models": []},
        {"models": {"a": 7}},
        {"runs": {"a": {"seconds": "x"}}},
        {"comparisons": {"a": {"finished": "now"}}},
        {"models": {"a": {"scores": {"after": {"accuracy": None}}}}},
        {"models": {"a": {"scores": {"estimates": [{"metric": "perplexity", "group": {}, "value": -1}]}}}},
        {"started": "now", "x": float("nan")},
        {"last": None},
        {"last": {"versions": []}},
        {"models": {"a": {"scores": {"estimates": [{"metric": "mu", "group": {}, "value": 0.6, "lowx": 0.5}]}}}},
    ],
    ids=str,
)
def test_a_study_with_wrong_types_is_refused(wrong: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(json.dumps({"schema": 1, **wrong}), encoding="utf-8")
    with raises("bad-value", DataError, file=tmp_path / "study.json"):
        read_record(tmp_path)


def test_odd_names_in_a_job_are_left_alone(tmp_path: Path) -> None:
    job = JobFolder(tmp_path)
    job.post(Job(FORMAT, "key", fake_spec(), to_data(PLAN), PLAN.digest, EngineSettings(), ((0, 2),)))
    job.fail(range(2), WorkerFailure("ModelError", "it broke."))
    for name in ("claims/a-b.1", "claims/1-2.x", "claims/1-2-3.1", "failed/x.json", f"claims/{'9' * 100}-1.1"):
        (tmp_path / name).write_text("", encoding="utf-8")
    for name in ("blocks/a/b/0-2.block", "blocks/1/7/x.block"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    assert job.claims() == {}
    assert job.done() == {}
    assert list(job.failures()) == [range(2)]
    job.begin_again()
    assert not job.has_failed()


def test_a_worker_does_not_wait_for_a_claim_that_is_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "claim")
    worker = SharedFolderWorker(tmp_path, lambda name, options: fake_spec(name), FakeModel)
    assert not worker._is_stale(tmp_path / "claim")


@pytest.mark.parametrize("fields", [{"words": 7, "ability": "word"}, {"words": [{}], "ability": "word"}, {}])
def test_a_plan_of_wrong_types_is_refused(fields: dict[str, object]) -> None:
    with raises("bad-value", DataError, key="plan"):
        of_data({"is": "assay.asking.plan:WordPlan", "fields": fields}, PLAN.digest)


def test_a_stored_reply_of_wrong_types_is_named(tmp_path: Path) -> None:
    line = b"call 1.000000 " + json.dumps({"content": [], "served": 7}).encode()
    path = tmp_path / "1.journal"
    path.write_bytes(f"{zlib.crc32(line):08x} ".encode() + line + b"\n")
    journal = Journal(tmp_path)
    with raises("bad-value", DataError, file=path):
        journal.get("call")
    journal.close()


def test_a_pipe_among_journals_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "1.journal")
    with raises("unreadable-file", DataError, file=tmp_path / "1.journal"):
        Journal(tmp_path)


def test_a_stored_reply_whose_time_is_none_is_left_out(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.put("call", Reply({}))
    journal.close()
    for head in (b"other x ", b"other 1e999 ", b"\xff\xff 1.000000 "):
        line = head + b'{"content": {}}'
        (tmp_path / "0.journal").write_bytes(f"{zlib.crc32(line):08x} ".encode() + line + b"\n")
        assert len(Journal(tmp_path)) == 1


# --- what is written down


def test_findings_of_a_study_do_not_depend_on_where_it_lies(span_model_folder: Path, tmp_path: Path) -> None:
    written = []
    for place in ("a", "some/where/else"):
        model = shutil.copytree(span_model_folder, tmp_path / place / "model")
        file = tmp_path / place / "study.toml"
        runs = '[[runs]]\nprobe = "unqover"\nmodels = ["mine"]\nlimit = 40\nsettings = { class = "religion" }\n'
        file.write_text(f'[study]\nname = "s"\n[models.mine]\nspec = "hf:{model}"\n{runs}', encoding="utf-8")
        done = study(file, tmp_path / place / "out")
        assert not done.failures
        (found,) = (tmp_path / place / "out" / "runs").glob("*/findings.json")
        written.append(found.read_bytes())
    assert written[0] == written[1]
    assert str(tmp_path).encode() not in written[0]


def test_a_name_that_is_a_formula_stays_that_name_for_programs(run: Path) -> None:
    """docs/foreign-data.md says what to do before such a table is opened in a spreadsheet."""
    table = run / "tables" / "by_label.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("old", "=HYPERLINK(1)"), encoding="utf-8")
    assert {row["label"] for row in read_table(table).records()} >= {"=HYPERLINK(1)"}


@pytest.mark.parametrize(
    "wrong",
    [
        *({"differences": 7}, {"notes": None}, {"probe": 7}, {"worse": 7}),
        *({"change": {"metric": "mu", "nx": 1}}, {"baseline_value": float("inf")}),
    ],
    ids=str,
)
def test_a_comparison_of_a_study_with_wrong_types_is_refused(wrong: dict[str, object], tmp_path: Path) -> None:
    change = {"metric": "mu", "group": {}, "value": 0.1}
    told = {"probe": "p", "model": "m", "baseline": "b", "baseline_value": 0.1, "model_value": 0.2}
    differences = [{**told, "change": change, "worse": None, **wrong}]
    path = tmp_path / "comparison.json"
    content = {"probe": "p", "notes": [], "differences": differences, "tables": {}, **wrong}
    path.write_text(json.dumps(content), encoding="utf-8")
    with raises("unreadable-file", DataError, file=path):
        read_comparison(path)


@pytest.mark.parametrize("share", ["x", "-0.5", "3.0", "nan"])
def test_runs_with_a_share_that_is_none_are_not_paired_and_a_note_says_so(
    share: str, kept_runs: Path, tmp_path: Path, said: Said
) -> None:
    for place in ("one", "two"):
        without_digests(shutil.copytree(kept_runs / place / "sodapop-names", tmp_path / place))
    table = tmp_path / "one" / "tables" / "names.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("5.8985,0.0,", f"5.8985,{share},"), encoding="utf-8")
    code, told = said("compare", "one", "two", "--json")
    (note,) = json.loads(told)["notes"]
    assert code == 0
    assert f"holds '{share}', expected a number from 0 to 1 or an empty cell." in note


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("settings", {"resamples": [1]}), ("settings", {"resamples": "x"}), ("settings", {"resamples": 10**9})),
        *(("block_sizes", {"a": 0}), ("engine", {"block_size": 2**60}), ("seed", -1), ("timings", {"a": NAN})),
        *(("identity", {"data": 0}), ("identity", {"answers": [1]})),
    ],
    ids=str,
)
def test_a_run_json_with_values_that_no_run_has_is_refused(key: str, value: object, run: Path, said: Said) -> None:
    path = run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {key: value}), encoding="utf-8")
    code, told = said("compare", "run", "two", "--json")
    assert code == 3
    assert "run/run.json" in told
    assert "Traceback" not in told


def test_a_run_whose_near_ties_are_no_numbers_can_be_scored_again(kept_runs: Path, tmp_path: Path, said: Said) -> None:
    run = shutil.copytree(kept_runs / "one" / "tour" / "bbq-starter", tmp_path / "run")
    path = run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"near_ties": {"items": {"a": NAN}}}), encoding="utf-8")
    code, told = said("score", "bbq-starter", "run", "--set", "resamples=20", "--out", "again")
    assert (code, "Traceback" in told) == (0, False)


def test_a_run_with_unknown_sizes_is_not_scored_again(kept_runs: Path, tmp_path: Path, said: Said) -> None:
    run = shutil.copytree(kept_runs / "one" / "tour" / "bbq-starter", tmp_path / "run")
    path = run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"engine": {"block_sizex": 1}}), encoding="utf-8")
    code, told = said("score", "bbq-starter", "run", "--set", "resamples=20", "--out", "again")
    assert (code, "run.json" in told, "block_sizex" in told) == (3, True, True)


def test_a_number_that_no_run_finds_is_refused(run: Path, said: Said) -> None:
    path = run / "findings.json"
    content = json.loads(path.read_bytes())
    content["estimates"][0] |= {"value": -1e308, "low": None, "high": None}
    path.write_text(json.dumps(content), encoding="utf-8")
    code, told = said("report", "run")
    assert (code, "value is larger than 1e+100" in told) == (3, True)


def test_a_number_in_a_table_that_no_run_finds_is_a_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,c\n1e99,1e308,1\n2,-3,1e-300\n", encoding="utf-8")
    assert [list(row) for row in read_table(path).rows] == [[1e99, "1e308", 1.0], [2.0, "-3", 1e-300]]


def test_an_estimate_whose_group_lacks_a_key_names_the_file(kept_runs: Path, tmp_path: Path, said: Said) -> None:
    for place in ("one", "two"):
        without_digests(shutil.copytree(kept_runs / place / "sodapop-names", tmp_path / place))
    path = tmp_path / "one" / "findings.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"attribute"', '"another"'), encoding="utf-8")
    code, told = said("compare", "one", "two", "--json")
    assert code == 3
    assert "the group of an estimate has no 'attribute'" in told
    assert "one/findings.json" in told


def test_too_many_resamples_are_refused_in_words_that_people_write(said: Said) -> None:
    code, told = said("run", "bbq-starter", "--set", "resamples=2000000", "--out", "out")
    assert code == 2
    assert "resamples is '2000000', expected a whole number from 1 to 1,000,000." in told
