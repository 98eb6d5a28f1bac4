"""A folder that a command writes into has one writer, and was looked at before anything was put there."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from assay.engine.ask import Resume
from assay.errors import UsageError
from assay.files.lock import held, hold, let_go, remove_if_free
from assay.lab.studies.study_file import packaged_studies, read_study
from assay.lab.studies.study_record import open_record
from assay.lab.training.training_folder import open_out
from assay.results.run import RunInfo
from assay.runs.folder import open_for_writing
from raising import raises

Opened = Callable[[Path], AbstractContextManager[Any]]

OPENERS: dict[str, Opened] = {
    "run": lambda path: open_for_writing(path, RunInfo(), Resume.ALWAYS),
    "score": lambda path: open_for_writing(path, RunInfo(), Resume.NEVER),
    "train": lambda path: open_out(path, resume=True),
    "train again": lambda path: open_out(path, resume=False),
    "study": lambda path: open_record(path, read_study(packaged_studies()[0])),
}
every_command = pytest.mark.parametrize("opened", OPENERS.values(), ids=OPENERS)


def refused(opened: Opened, path: Path, code: str, file: Path) -> None:
    with raises(code, UsageError, file=file) as wrong, opened(path):
        pytest.fail("opened")
    assert "--out" in wrong.value.remedy


def refused_as_anothers(opened: Opened, path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds|is not a") as wrong, opened(path):
        pytest.fail("opened")
    assert "--out" in wrong.value.remedy


# --- nobody else's files


@every_command
def test_a_folder_of_somebody_elses_is_not_touched(opened: Opened, tmp_path: Path) -> None:
    folder, precious = tmp_path / "folder", tmp_path / "precious"
    folder.mkdir()
    (folder / "thesis.tex").write_text("mine")
    refused_as_anothers(opened, folder)
    assert [entry.name for entry in folder.iterdir()] == ["thesis.tex"]
    precious.write_text("years of work")
    (folder / ".lock").symlink_to(precious)
    refused_as_anothers(opened, folder)
    assert precious.read_text() == "years of work"


@every_command
def test_a_lock_that_is_a_link_is_not_followed(opened: Opened, tmp_path: Path) -> None:
    precious, absent = tmp_path / "precious", tmp_path / "absent"
    precious.write_text("years of work")
    for target in (precious, absent):
        folder = tmp_path / f"to {target.name}"
        folder.mkdir()
        (folder / ".lock").symlink_to(target)
        refused(opened, folder, "not-new", folder / ".lock")
        assert (folder / ".lock").is_symlink()
    assert precious.read_text() == "years of work"
    assert not absent.exists()


@every_command
@pytest.mark.parametrize("put", [lambda path: path.write_text("mine"), os.mkfifo], ids=["file", "pipe"])
def test_a_lock_that_is_something_else_stays_as_it_is(
    opened: Opened, put: Callable[[Path], object], tmp_path: Path
) -> None:
    put(tmp_path / ".lock")
    before = (tmp_path / ".lock").lstat()
    refused(opened, tmp_path, "not-new", tmp_path / ".lock")
    after = (tmp_path / ".lock").lstat()
    assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)


# --- killed programs

FIRST_WRITES: dict[str, Callable[[Any], object]] = {
    "run": lambda folder: None,  # opening it writes
    "score": lambda folder: None,
    "train": lambda out: out.begin({}),
    "train again": lambda out: out.begin({}),
    "study": lambda record: record.write(),
}
KILLED = """
import os, runpy, sys
from pathlib import Path

file, command, out = sys.argv[1:]
sys.path.insert(0, str(Path(file).parents[1]))
tests = runpy.run_path(file)
os.fsync = lambda handle: os._exit(9)  # before the file has its name
with tests["OPENERS"][command](Path(out)) as folder:
    tests["FIRST_WRITES"][command](folder)
"""


@pytest.fixture(params=FIRST_WRITES)
def killed(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """A command that was killed at its first write into the folder `out`: what opens that folder."""
    done = subprocess.run([sys.executable, "-c", KILLED, __file__, request.param, str(tmp_path / "out")])
    assert done.returncode == 9
    assert len([*(tmp_path / "out").iterdir()]) == 2
    return OPENERS[request.param]


def test_a_command_that_was_killed_at_its_first_write_can_be_repeated(killed: Opened, tmp_path: Path) -> None:
    with killed(tmp_path / "out"):
        left = {entry.name for entry in (tmp_path / "out").iterdir()}
    assert not [name for name in left if name.endswith(".tmp")]


def test_a_command_that_was_killed_on_one_machine_can_be_repeated_on_another(
    killed: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.node", lambda: "another")
    with killed(tmp_path / "out"):
        pass


@every_command
def test_what_looks_like_a_part_of_somebody_elses_file_is_not_ones_own(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / ".thesis.tex.machine-1.tmp").touch()
    refused_as_anothers(opened, tmp_path)


# --- one writer

SEVERAL = """
import sys
from pathlib import Path
from assay.errors import UsageError
from assay.lab.training.training_folder import open_out

folder, inside = Path(sys.argv[1]), Path(sys.argv[2])
held = 0
while held < 150:
    try:
        with open_out(folder, resume=True):
            inside.touch(exist_ok=False)
            inside.unlink()
            held += 1
    except UsageError as error:
        assert error.code == "in-use", error
"""


@pytest.mark.slow
def test_one_of_six_programs_holds_the_lock_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    command = [sys.executable, "-c", SEVERAL, str(tmp_path / "folder"), str(tmp_path / "inside")]
    programs = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    said = [program.communicate(timeout=120)[1] for program in programs]
    assert [program.returncode for program in programs] == [0] * 6, said


@every_command
def test_a_second_writer_is_refused_until_the_first_is_done(opened: Opened, tmp_path: Path) -> None:
    with opened(tmp_path / "folder"):
        refused(opened, tmp_path / "folder", "in-use", tmp_path / "folder")
    with opened(tmp_path / "folder"):
        pass


@every_command
def test_the_lock_of_a_killed_program_is_free(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    with opened(tmp_path):
        pass


def test_the_lock_goes_with_its_holder_and_so_do_folders_that_nothing_came_into(tmp_path: Path) -> None:
    with held(tmp_path / "a" / "b", "busy"):
        (tmp_path / "a" / "file").touch()
    with pytest.raises(ZeroDivisionError), held(tmp_path / "a" / "c" / "d", "busy"):
        raise ZeroDivisionError
    assert [entry.name for entry in tmp_path.rglob("*")] == ["a", "file"]


def test_a_holder_leaves_the_lock_alone_that_another_one_put_in_place_of_its_own(tmp_path: Path) -> None:
    with held(tmp_path, "busy"):
        (tmp_path / ".lock").rename(tmp_path / "moved")
        (tmp_path / ".lock").touch()
    assert (tmp_path / ".lock").exists()


def test_a_file_system_without_locks_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno
    import fcntl

    def unable(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", unable)
    with raises("cannot-write", UsageError, file=tmp_path / "folder" / ".lock"), held(tmp_path / "folder", "busy"):
        pytest.fail("held")


@pytest.mark.skipif(os.name != "posix", reason="Windows refuses to remove it while others have it open")
def test_a_lock_is_removed_though_the_disk_fails_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, failures = Path.unlink, [OSError(errno.EIO, "Input/output error")]

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if failures:
            raise failures.pop()
        real(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    with held(tmp_path, "working"):
        pass
    assert not failures
    assert [*tmp_path.iterdir()] == []


def test_a_file_whose_lock_is_held_is_not_removed_and_any_other_is(tmp_path: Path) -> None:
    path = tmp_path / "program.claims"
    handle = hold(path)
    os.write(handle, b"a\n")
    assert not remove_if_free(path)
    assert path.read_bytes() == b"a\n"
    let_go(handle, path)
    assert not path.exists()
    assert remove_if_free(path), "it is gone already"
    path.touch()
    assert remove_if_free(path)
    assert not path.exists()


def test_a_file_that_is_removed_while_it_is_being_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, open_file = tmp_path / "program.claims", os.open

    def opened(name: Path, flags: int, *mode: int) -> int:
        handle = open_file(name, flags, *mode)
        if name == path and not moments:
            moments.append("between creating and locking it")
            path.unlink()
        return handle

    moments: list[str] = []
    monkeypatch.setattr(os, "open", opened)
    handle = hold(path)
    assert moments
    assert path.exists()
    assert not remove_if_free(path)
    let_go(handle, path)
