"""Files are there whole or not at all, and what killed programs left goes away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.engine.ask import Resume
from assay.errors import UsageError
from assay.files.atomic import (
    beside,
    folder_beside,
    open_atomically,
    remove_leftovers,
    rename_folder,
    temporary_folder,
    write_atomically,
)
from assay.probes.bbq.generation import write_files
from assay.results.run import RunInfo
from assay.runs.folder import open_for_writing
from raising import raises

KILLED = """
import os, sys
from pathlib import Path
from assay.files.atomic import open_atomically
with open_atomically(Path(sys.argv[1])) as file:
    file.write(b"half")
    os._exit(9)
"""


def test_what_a_killed_program_left_is_removed_and_what_others_write_is_kept(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a.block"], check=False)
    (left,) = tmp_path.iterdir()
    living = tmp_path / left.name.replace(left.stem.rpartition("-")[2], str(os.getpid()))
    elsewhere = tmp_path / f".a.block.othermachine-{left.stem.rpartition('-')[2]}.tmp"
    kept = [living, elsewhere, tmp_path / ".other.tmp", tmp_path / "a.block"]
    kept += [tmp_path / left.name.replace(left.stem.rpartition("-")[2], other) for other in ("tour", "9" * 20)]
    for path in kept:
        path.write_bytes(b"x")
    remove_leftovers(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(kept)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")
    try:
        with open_atomically(path) as file:
            file.write(b"new")
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("what", ["a run's table", "a file of generated questions"])
def test_what_a_killed_program_left_goes_with_the_next_attempt(what: str, tmp_path: Path) -> None:
    folder = tmp_path / "tables" if what == "a run's table" else tmp_path
    subprocess.run([sys.executable, "-c", KILLED, folder / "a.csv"], check=False)
    assert len([*folder.glob(".a.csv.*")]) == 1
    if what == "a run's table":
        (tmp_path / "run.json").write_text('{"schema": 3, "identity": {}}')
        with open_for_writing(tmp_path, RunInfo(), Resume.ALWAYS):
            pass
    else:
        write_files(tmp_path, {}, lambda count: None)
    assert not [*folder.glob(".*")]


def test_what_a_killed_program_left_of_a_file_goes_when_the_file_is_written(tmp_path: Path) -> None:
    for name in ("a[1].csv", "b.csv"):
        subprocess.run([sys.executable, "-c", KILLED, tmp_path / name], check=False)
    assert len([*tmp_path.iterdir()]) == 2
    write_atomically(tmp_path / "a[1].csv", b"whole")
    (other,) = {*tmp_path.iterdir()} - {tmp_path / "a[1].csv"}
    assert other.name.startswith(".b.csv.")


def test_a_folder_in_a_files_place_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with raises("cannot-write", UsageError, file=tmp_path / "report.html") as wrong:
        write_atomically(tmp_path / "report.html", b"page")
    assert "there is a folder of this name" in wrong.value.problem
    assert "--out" not in wrong.value.remedy


# --- folders


def make(path: Path) -> None:
    with folder_beside(path) as folder:
        (folder / "file").write_text("new")
        assert not (path / "file").exists()
        rename_folder(folder, path)


TEMPORARY = """
import os
from assay.files.atomic import temporary_folder
with temporary_folder() as one, temporary_folder() as two:
    (one / "large").write_text("88 MB")
    (two / "large").write_text("88 MB")
    os._exit(9)
"""


def test_temporary_folders_of_killed_programs_are_removed_and_those_of_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    subprocess.run([sys.executable, "-c", TEMPORARY], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert len([*tmp_path.rglob("large")]) == 2
    (tmp_path / ".mozilla").mkdir()
    with temporary_folder() as one, temporary_folder() as two:  # one in another, as debiasing and training have them
        assert {*tmp_path.iterdir()} == {one, two, tmp_path / ".mozilla"}
    assert [*tmp_path.iterdir()] == [tmp_path / ".mozilla"]


def test_a_folder_gets_its_name_when_it_is_whole_and_an_empty_one_makes_way(tmp_path: Path) -> None:
    make(tmp_path / "a" / "new")
    (tmp_path / "a" / "empty").mkdir()
    make(tmp_path / "a" / "empty")
    assert {str(path.relative_to(tmp_path / "a")) for path in tmp_path.glob("a/*/*")} == {"new/file", "empty/file"}
    assert len([*(tmp_path / "a").iterdir()]) == 2


@pytest.mark.parametrize("there", ["a folder", "a file"])
def test_a_folder_takes_nobodys_place(there: str, tmp_path: Path) -> None:
    mine = tmp_path / "out" if there == "a file" else tmp_path / "out" / "mine"
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")
    with raises("cannot-write", UsageError, file=tmp_path / "out"):
        make(tmp_path / "out")
    assert mine.read_text() == "mine"
    assert [*tmp_path.iterdir()] == [tmp_path / "out"]


def test_a_disk_that_fills_while_a_folder_is_filled_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    with raises("no-space", UsageError, file=tmp_path / "out"), folder_beside(tmp_path / "out"):
        raise RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)")
    with pytest.raises(RuntimeError, match="something else"), folder_beside(tmp_path / "out"):
        raise RuntimeError("something else")
    assert not [*tmp_path.iterdir()]


def test_what_killed_programs_left_of_a_folder_is_in_nobodys_way(tmp_path: Path) -> None:
    """Within a container, the next program often has the number of the one that was killed."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    same = beside(tmp_path / "out", "dir")
    places = {pid: tmp_path / same.name.replace(f"-{os.getpid()}.", f"-{pid}.") for pid in (gone.pid, os.getppid())}
    file = places[gone.pid].with_suffix(".tmp")
    other = tmp_path / f".other{places[gone.pid].name[4:]}"
    for place in (same, *places.values(), other):
        place.mkdir()
        (place / "half").touch()
    file.touch()
    make(tmp_path / "out")
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["file"]
    assert {*tmp_path.iterdir()} == {tmp_path / "out", places[os.getppid()], other}
