"""Files are there whole or not at all, and what killed programs left goes away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from assay.engine.files import open_atomically, remove_leftovers, write_atomically


def test_leftovers_of_dead_programs_are_removed_and_those_of_living_ones_kept(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = tmp_path / f".a.block.{dead.pid}.tmp"
    current = tmp_path / f".a.block.{os.getpid()}.tmp"
    for path in (left, current, tmp_path / ".other.tmp", tmp_path / "a.block"):
        path.write_bytes(b"x")
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([current.name, ".other.tmp", "a.block"])


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
