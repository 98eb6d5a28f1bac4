"""Files are there whole or not at all, and what killed programs left goes away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from assay.files.atomic import open_atomically, remove_leftovers, write_atomically

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
