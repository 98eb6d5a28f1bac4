"""A run folder has one writer, belongs to one run, and holds whole files only."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.asking.queries import Answers
from assay.engine.ask import AnsweredPlan, Resume
from assay.engine.store import Block, BlockStore
from assay.errors import AssayError, DataError, ModelError, UsageError
from assay.files.atomic import open_atomically, write_atomically
from assay.models.base import ModelSpec
from assay.results.findings import Estimate, Findings, Table, read_findings
from assay.results.run import RunInfo, RunKind, Tour
from assay.runs.folder import RunFolder, open_for_writing, open_run, read_info
from raising import raises

INFO = RunInfo(
    "unqover",
    identity={"probe": "unqover", "model": "m1", "settings": {"class": "gender"}, "data": {"names": "d1"}},
    started="now",
)
FINDINGS = Findings("unqover", "a model", [Estimate("mu", {"class": "gender"}, 0.25, n=4)], {"t": Table(["a"], [[1]])})


def changed(**identity: Any) -> RunInfo:
    return replace(INFO, identity={**INFO.identity, **identity})


def finish(path: Path, info: RunInfo = INFO) -> None:
    with open_for_writing(path, info, Resume.ALWAYS) as folder:
        folder.write_findings(FINDINGS)
        folder.note(finished="later")


def fail(path: Path, work: Callable[[RunFolder], None] = lambda folder: None) -> None:
    """A run that does some work and then fails."""
    with open_for_writing(path, INFO, Resume.ALWAYS) as folder:
        work(folder)
        raise ModelError("no memory.")


def names(path: Path) -> set[str]:
    return {str(entry.relative_to(path)) for entry in path.rglob("*") if entry.is_file()}


# --- one writer


def test_a_second_program_cannot_write_the_same_run(tmp_path: Path) -> None:
    attempt = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from assay.engine.ask import Resume
        from assay.errors import UsageError
        from assay.results.run import RunInfo
        from assay.runs.folder import open_for_writing
        try:
            with open_for_writing(Path(sys.argv[1]), RunInfo(), Resume.ALWAYS):
                print("written")
        except UsageError as error:
            print(error.code, error.file)
        """
    )

    def second() -> str:
        done = subprocess.run(
            [sys.executable, "-c", attempt, str(tmp_path / "run")], capture_output=True, text=True, check=True
        )
        return done.stdout

    with open_for_writing(tmp_path / "run", RunInfo(), Resume.ALWAYS):
        before = (tmp_path / "run" / "run.json").read_bytes()
        assert second() == f"in-use {tmp_path / 'run'}\n"
        assert (tmp_path / "run" / "run.json").read_bytes() == before
    assert second() == "written\n"


def test_the_lock_does_not_outlive_an_error(tmp_path: Path) -> None:
    finish(tmp_path / "run")
    with pytest.raises(ZeroDivisionError), open_for_writing(tmp_path / "run", INFO, Resume.ALWAYS):
        raise ZeroDivisionError
    finish(tmp_path / "run")


# --- one run


def test_the_same_run_can_be_resumed_and_keeps_what_was_noted(tmp_path: Path) -> None:
    with open_for_writing(tmp_path / "run", INFO, Resume.ALWAYS) as folder:
        folder.remember({"plan": 2048})
    later = replace(INFO, started="tomorrow", command="again")
    with open_for_writing(tmp_path / "run", later, Resume.ALWAYS) as folder:
        assert folder.info.backed_off == {"plan": 2048}
        assert folder.info.started == "now"
        assert folder.info.command == "again"
        assert not folder.finished_before
    assert read_info(tmp_path / "run").backed_off == {"plan": 2048}


def test_a_finished_run_is_known_to_be_finished(tmp_path: Path) -> None:
    finish(tmp_path / "run")
    before = (tmp_path / "run" / "run.json").read_bytes()
    with open_for_writing(tmp_path / "run", INFO, Resume.ONLY_MISSING) as folder:
        assert folder.finished_before
    assert (tmp_path / "run" / "run.json").read_bytes() == before
    (tmp_path / "run" / "findings.json").unlink()
    with open_for_writing(tmp_path / "run", INFO, Resume.ONLY_MISSING) as folder:
        assert not folder.finished_before


@pytest.mark.parametrize("other", [{"settings": {"class": "religion"}}, {"model": "m2"}, {"seed": 1}])
@pytest.mark.parametrize("resume", [Resume.ALWAYS, Resume.ONLY_MISSING])
def test_another_run_is_refused(other: dict[str, Any], resume: Resume, tmp_path: Path) -> None:
    finish(tmp_path / "run")
    before = {name: (tmp_path / "run" / name).read_bytes() for name in names(tmp_path / "run")}
    with (
        raises("other-run", UsageError, file=tmp_path / "run", key=next(iter(other)), exit_code=2),
        open_for_writing(tmp_path / "run", changed(**other), resume),
    ):
        pytest.fail("opened")
    assert before == {name: (tmp_path / "run" / name).read_bytes() for name in names(tmp_path / "run")}


def test_another_run_may_replace_it_when_asked_to_but_only_when_it_is_done(tmp_path: Path) -> None:
    with open_for_writing(tmp_path / "run", INFO, Resume.ALWAYS) as folder:
        folder.remember({"plan": 2048})
    with open_for_writing(tmp_path / "run", changed(model="m2"), Resume.NEVER) as folder:
        assert folder.info.backed_off == {}
        assert read_info(tmp_path / "run").identity["model"] != "m2"
        folder.note()
    assert read_info(tmp_path / "run").identity["model"] == "m2"


def test_changed_data_are_a_data_error(tmp_path: Path) -> None:
    finish(tmp_path / "run", changed(data={"names": "d1", "places": "d1"}))
    with (
        raises("changed-file", DataError, file=tmp_path / "run", key="names", exit_code=3),
        open_for_writing(tmp_path / "run", changed(data={"names": "d2", "places": "d1"}), Resume.ALWAYS),
    ):
        pytest.fail("opened")


@pytest.mark.parametrize(
    ("content", "code", "key"),
    [
        ("{", "bad-json", None),
        ("[]", "bad-json", None),
        ("7", "bad-json", None),
        ('{"probe": "unqover"}', "missing-key", "schema"),
        ('{"schema": 3, "probe": "unqover"}', "missing-key", "identity"),
    ],
)
def test_a_run_json_of_something_else_is_refused(content: str, code: str, key: str | None, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)
    with raises(code, DataError, file=path, key=key), open_for_writing(tmp_path, INFO, Resume.ALWAYS):
        pytest.fail("opened")
    assert path.read_text() == content
    with raises(code, DataError, file=path, key=key):
        read_info(tmp_path)
    with open_for_writing(tmp_path, INFO, Resume.NEVER) as folder:
        folder.note()
    assert read_info(tmp_path).identity == INFO.identity  # what the error's remedy promises


def test_a_folder_without_run_json_is_no_run(tmp_path: Path) -> None:
    with raises("not-a-run", UsageError, file=tmp_path):
        read_info(tmp_path)


# --- nothing left behind


def test_a_run_that_fails_before_it_stores_anything_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        fail(tmp_path / "a" / "b" / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_in_an_empty_folder_leaves_it_empty(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        fail(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with raises("not-a-run", UsageError, file=tmp_path), open_for_writing(tmp_path, INFO, Resume.ALWAYS):
        pytest.fail("opened")
    assert names(tmp_path) == {"thesis.tex"}


def test_a_failed_run_that_found_something_stays(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        fail(tmp_path / "run", lambda folder: folder.write_findings(FINDINGS))
    assert names(tmp_path / "run") == {"run.json", "findings.json", "tables/t.csv"}


def test_a_failed_run_that_noted_its_batches_stays(tmp_path: Path) -> None:
    """Otherwise the same command would compute the missing blocks in other batches."""
    with pytest.raises(ModelError):
        fail(tmp_path / "run", lambda folder: folder.remember({"plan": 2048}))
    with open_for_writing(tmp_path / "run", INFO, Resume.ALWAYS) as folder:
        assert folder.info.backed_off == {"plan": 2048}


def test_a_failed_attempt_does_not_remove_an_earlier_one(tmp_path: Path) -> None:
    with open_for_writing(tmp_path / "run", INFO, Resume.ALWAYS):
        pass
    with pytest.raises(ModelError):
        fail(tmp_path / "run")
    assert read_info(tmp_path / "run").identity == INFO.identity


@pytest.mark.parametrize("where", ["file", "file/run"])
def test_a_folder_that_cannot_be_made_is_one_clear_error(where: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    path = tmp_path / where
    with raises("cannot-write", UsageError, file=path), open_for_writing(path, INFO, Resume.ALWAYS):
        pytest.fail("opened")


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    lock.mkdir()  # permissions do not stop an administrator; this stops everybody
    with raises("cannot-write", UsageError, file=lock), open_for_writing(tmp_path, INFO, Resume.ALWAYS):
        pytest.fail("opened")


# --- whole files


def test_everything_that_was_written_can_be_read_again(tmp_path: Path) -> None:
    with open_for_writing(tmp_path / "run", INFO, Resume.ALWAYS) as folder:
        folder.write_blocks([AnsweredPlan("words", "p1", "k1", ((0, 16, "c1"), (16, 20, "c2")))])
        folder.write_findings(FINDINGS)
    assert json.loads((tmp_path / "run" / "blocks.json").read_text()) == [
        {
            "label": "words",
            "plan": "p1",
            "key": "k1",
            "since": 0.0,
            "until": None,
            "blocks": [[0, 16, "c1"], [16, 20, "c2"]],
        }
    ]
    found = read_findings(tmp_path / "run")
    assert (found.probe, found.model, list(found.estimates)) == ("unqover", "a model", list(FINDINGS.estimates))


def test_run_json_says_all_that_is_known_and_is_read_as_it_was(tmp_path: Path) -> None:
    model = ModelSpec("hf:m", "hf", "/models/m", "d1", frozenset({"span", "mask", "fill", "embed"}), revision="r1")
    known = RunInfo(
        "sodapop",
        identity={"probe": "sodapop", "others": {"filler": "d2"}},
        kind=RunKind.RESCORED,
        model=model,
        others={"filler": replace(model, name="filler", digest="d2")},
        settings={"form": "both", "draws": 20, "lists": None},
        limit=400,
        seed=3,
        questions=401,
        stages={"gender (span)": 401},
        data={"names": "d3"},
        skip_bad=True,
        engine={"block_size": 16, "token_budget": 512},
        notes=["12 names left out"],
        timings={"run": 1.5},
        near_ties={"below": 1e-5, "items": {"gender (span)": 2}},
        backed_off={"plan": 256},
    )
    with open_for_writing(tmp_path / "run", known, Resume.NEVER):
        pass
    assert read_info(tmp_path / "run") == known
    written = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (written["schema"], written["kind"]) == (3, "rescored")
    for told in (written["model"], written["others"]["filler"]):
        assert told["abilities"] == ["embed", "fill", "mask", "span"]  # the same run gives the same bytes


@pytest.mark.parametrize(
    ("key", "value"), [("identity", 7), ("seed", "3"), ("settings", []), ("kind", "told"), ("timings", {"run": "long"})]
)
def test_a_value_of_the_wrong_type_is_an_error_that_names_its_key(key: str, value: object, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"schema": 3, "identity": {}, key: value}))
    with raises("bad-value", DataError, file=tmp_path / "run.json", key=key, exit_code=3):
        read_info(tmp_path)


def test_a_reader_sees_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_atomically(path, b"old")
    with open_atomically(path) as file:
        file.write(b"n" * 100_000)
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"n" * 100_000
    assert names(tmp_path) == {"run.json"}


def test_a_write_that_fails_half_way_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_atomically(path, b"old")
    with pytest.raises(TypeError), open_atomically(path) as file:
        file.writelines([b"half of the n", None])  # type: ignore[list-item]  # the second piece makes it fail
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"run.json"}


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """`full_disk()`: from now on nothing more can be written."""

    def no_space(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return lambda: monkeypatch.setattr(os, "fsync", no_space)


@pytest.mark.parametrize("name", ["run.json", "blocks.json", "tables/t.csv", "findings.json"])
def test_a_full_disk_is_one_clear_error_that_names_the_file(
    name: str, tmp_path: Path, full_disk: Callable[[], None]
) -> None:
    with open_for_writing(tmp_path / "run", INFO, Resume.ALWAYS) as folder:
        before = names(tmp_path)
        full_disk()
        write: dict[str, Callable[[], None]] = {
            "run.json": folder.note,
            "blocks.json": lambda: folder.write_blocks([]),
            "tables/t.csv": lambda: folder.write_findings(FINDINGS),
            "findings.json": lambda: folder.write_findings(Findings("unqover", "a model", [])),
        }
        with raises("no-space", UsageError, file=tmp_path / "run" / name, exit_code=2):
            write[name]()
        assert names(tmp_path) == before


def test_a_full_disk_leaves_no_part_of_a_block(tmp_path: Path, full_disk: Callable[[], None]) -> None:
    store = BlockStore(tmp_path)
    full_disk()
    with raises("no-space", UsageError) as full:
        store.write("ab" * 32, Block(0, 2, "00" * 32, Answers(np.zeros(2, np.uint8), {"score": np.zeros(2)})))
    assert full.value.file is not None
    assert full.value.file.name.startswith("0000000000-0000000002-")
    assert names(tmp_path) == set()
    assert store.read("ab" * 32, 0, 2) is None


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with raises("cannot-write", UsageError, file=tmp_path / "file" / "run.json"):
        write_atomically(tmp_path / "file" / "run.json", b"new")


def test_numbers_that_json_does_not_know_are_never_written(tmp_path: Path) -> None:
    with (
        open_for_writing(tmp_path / "run", INFO, Resume.ALWAYS) as folder,
        pytest.raises(ValueError, match="not JSON compliant"),
    ):
        folder.note(timings={"run": float("nan")})
    assert not read_info(tmp_path / "run").timings


def test_a_folder_of_runs_opens_as_a_tour(tmp_path: Path) -> None:
    """What is unfinished is left out."""
    for name in ("b", "a"):
        finish(tmp_path / "tour" / name)
    (tmp_path / "tour" / "c").mkdir()
    (tmp_path / "tour" / "c" / "run.json").write_text("{}", encoding="utf-8")
    tour = open_run(tmp_path / "tour")
    assert isinstance(tour, Tour)
    assert tour.folder == tmp_path / "tour"
    assert [run.folder.name for run in tour.runs] == ["a", "b"]
    assert tour.runs[0].findings_digest == open_run(tmp_path / "tour" / "a").findings_digest


def test_a_folder_without_a_finished_run_does_not_open(tmp_path: Path) -> None:
    with raises("not-a-run", UsageError, file=tmp_path):
        open_run(tmp_path)


def test_a_runs_digest_is_of_the_findings_that_were_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where another program writes findings.json while it is read."""
    finish(tmp_path / "run")
    file = tmp_path / "run" / "findings.json"
    written = file.read_bytes()

    def replaced(findings: Findings) -> Findings:
        file.write_bytes(written.replace(b"0.25", b"0.5"))
        return findings

    monkeypatch.setattr("assay.runs.folder.described", replaced)
    run = open_run(tmp_path / "run")
    assert [each.value for each in run.findings.estimates] == [0.25]
    assert run.findings_digest == hashlib.sha256(written).hexdigest()


@pytest.mark.parametrize("kind", ["data", "brought"])
@pytest.mark.parametrize("now", [{}, {"names": "d1"}])
def test_a_run_whose_record_of_data_was_emptied_is_another_run(kind: str, now: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"schema": 3, "identity": {**INFO.identity, kind: None}}))
    expected = ("changed-file", "names") if now else ("other-run", kind)
    with pytest.raises(AssayError) as caught, open_for_writing(tmp_path, changed(**{kind: now}), Resume.ALWAYS):
        pass
    assert (caught.value.code, caught.value.key) == expected
