"""A run folder has one writer, belongs to one run, and holds whole files only."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.engine.ask import Asked, Resume
from assay.engine.run_folder import RunFolder, open_for_writing, read_info
from assay.engine.store import Block, BlockStore
from assay.errors import DataError, ModelError, UsageError
from assay.files.atomic import open_atomically, write_atomically
from assay.findings import Estimate, Findings, Table, read_findings
from assay.queries import Answers

INFO: Mapping[str, Any] = {
    "probe": "unqover",
    "started": "now",
    "identity": {"probe": "unqover", "model": "m1", "settings": {"class": "gender"}, "data": {"names": "d1"}},
}
FINDINGS = Findings("unqover", "a model", [Estimate("mu", {"class": "gender"}, 0.25, n=4)], {"t": Table(["a"], [[1]])})


def changed(**identity: Any) -> dict[str, Any]:
    return {**INFO, "identity": {**INFO["identity"], **identity}}


def finish(path: Path, info: Mapping[str, Any] = INFO) -> None:
    with open_for_writing(path, info, Resume.ALWAYS) as folder:
        folder.write_findings(FINDINGS)
        folder.info["finished"] = "later"
        folder.write_info()


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
        from assay.engine.run_folder import open_for_writing
        from assay.errors import UsageError
        try:
            with open_for_writing(Path(sys.argv[1]), {"identity": {}}, Resume.ALWAYS):
                print("written")
        except UsageError as error:
            print(error.problem)
        """
    )

    def second() -> str:
        done = subprocess.run(
            [sys.executable, "-c", attempt, str(tmp_path / "run")], capture_output=True, text=True, check=True
        )
        return done.stdout

    with open_for_writing(tmp_path / "run", {"identity": {}}, Resume.ALWAYS):
        before = (tmp_path / "run" / "run.json").read_bytes()
        assert "another program is writing this run" in second()
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
    later = {**INFO, "started": "tomorrow", "command": "again"}
    with open_for_writing(tmp_path / "run", later, Resume.ALWAYS) as folder:
        assert folder.backed_off == {"plan": 2048}
        assert folder.info["started"] == "now"
        assert folder.info["command"] == "again"
        assert not folder.finished_before
    assert read_info(tmp_path / "run")["backed_off"] == {"plan": 2048}


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
        pytest.raises(UsageError, match=f"holds another run.*{next(iter(other))}") as wrong,
        open_for_writing(tmp_path / "run", changed(**other), resume),
    ):
        pytest.fail("opened")
    assert wrong.value.exit_code == 2
    assert "--out" in wrong.value.remedy
    assert before == {name: (tmp_path / "run" / name).read_bytes() for name in names(tmp_path / "run")}


def test_another_run_may_replace_it_when_asked_to_but_only_when_it_is_done(tmp_path: Path) -> None:
    with open_for_writing(tmp_path / "run", INFO, Resume.ALWAYS) as folder:
        folder.remember({"plan": 2048})
    with open_for_writing(tmp_path / "run", changed(model="m2"), Resume.NEVER) as folder:
        assert folder.backed_off == {}
        assert read_info(tmp_path / "run")["identity"]["model"] != "m2"
        folder.write_info()
    assert read_info(tmp_path / "run")["identity"]["model"] == "m2"


def test_changed_data_are_a_data_error(tmp_path: Path) -> None:
    finish(tmp_path / "run", changed(data={"names": "d1", "places": "d1"}))
    with (
        pytest.raises(DataError, match=r"data of this run \(names\) have changed") as wrong,
        open_for_writing(tmp_path / "run", changed(data={"names": "d2", "places": "d1"}), Resume.ALWAYS),
    ):
        pytest.fail("opened")
    assert wrong.value.exit_code == 3


@pytest.mark.parametrize("content", ["{", "[]", "7", '{"probe": "unqover"}'])
def test_a_run_json_of_something_else_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(DataError, match=r"run\.json"), open_for_writing(tmp_path, INFO, Resume.ALWAYS):
        pytest.fail("opened")
    assert (tmp_path / "run.json").read_text() == content
    with pytest.raises(DataError, match=r"run\.json"):
        read_info(tmp_path)
    with open_for_writing(tmp_path, INFO, Resume.NEVER) as folder:
        folder.write_info()
    assert read_info(tmp_path)["identity"] == INFO["identity"]  # what the error's remedy promises


def test_a_folder_without_run_json_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run folder"):
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
    with (
        pytest.raises(UsageError, match="something else than a run"),
        open_for_writing(tmp_path, INFO, Resume.ALWAYS),
    ):
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
        assert folder.backed_off == {"plan": 2048}


def test_a_failed_attempt_does_not_remove_an_earlier_one(tmp_path: Path) -> None:
    with open_for_writing(tmp_path / "run", INFO, Resume.ALWAYS):
        pass
    with pytest.raises(ModelError):
        fail(tmp_path / "run")
    assert read_info(tmp_path / "run")["identity"] == INFO["identity"]


@pytest.mark.parametrize("where", ["file", "file/run"])
def test_a_folder_that_cannot_be_made_is_one_clear_error(where: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="cannot be made"), open_for_writing(tmp_path / where, INFO, Resume.ALWAYS):
        pytest.fail("opened")


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()  # permissions do not stop an administrator; this stops everybody
    with pytest.raises(UsageError, match="cannot be written"), open_for_writing(tmp_path, INFO, Resume.ALWAYS):
        pytest.fail("opened")


# --- whole files


def test_everything_that_was_written_can_be_read_again(tmp_path: Path) -> None:
    with open_for_writing(tmp_path / "run", INFO, Resume.ALWAYS) as folder:
        folder.write_blocks([Asked("words", "p1", "k1", ((0, 16, "c1"), (16, 20, "c2")))])
        folder.write_findings(FINDINGS)
    assert json.loads((tmp_path / "run" / "blocks.json").read_text()) == [
        {"label": "words", "plan": "p1", "key": "k1", "blocks": [[0, 16, "c1"], [16, 20, "c2"]]}
    ]
    found = read_findings(tmp_path / "run")
    assert (found.probe, found.model, list(found.estimates)) == ("unqover", "a model", list(FINDINGS.estimates))


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
            "run.json": folder.write_info,
            "blocks.json": lambda: folder.write_blocks([]),
            "tables/t.csv": lambda: folder.write_findings(FINDINGS),
            "findings.json": lambda: folder.write_findings(Findings("unqover", "a model", [])),
        }
        with pytest.raises(UsageError) as full:
            write[name]()
        assert full.value.problem == f"{tmp_path / 'run' / name}: no space left to write this file."
        assert "ASSAY_CACHE" in full.value.remedy
        assert full.value.exit_code == 2
        assert names(tmp_path) == before


def test_a_full_disk_leaves_no_part_of_a_block(tmp_path: Path, full_disk: Callable[[], None]) -> None:
    store = BlockStore(tmp_path)
    full_disk()
    with pytest.raises(UsageError, match=r"0000000000-0000000002\.block: no space left"):
        store.write("ab" * 32, Block(0, 2, "00" * 32, Answers(np.zeros(2, np.uint8), {"score": np.zeros(2)})))
    assert names(tmp_path) == set()
    assert store.read("ab" * 32, 0, 2) is None


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="cannot be written") as wrong:
        write_atomically(tmp_path / "file" / "run.json", b"new")
    assert "--out" in wrong.value.remedy


def test_numbers_that_json_does_not_know_are_never_written(tmp_path: Path) -> None:
    with open_for_writing(tmp_path / "run", INFO, Resume.ALWAYS) as folder:
        folder.info["timings"] = {"run": float("nan")}
        with pytest.raises(ValueError, match="not JSON compliant"):
            folder.write_info()
    assert "timings" not in read_info(tmp_path / "run")
