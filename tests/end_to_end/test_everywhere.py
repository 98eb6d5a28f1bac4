"""The same command finds the same everywhere, byte for byte: hash seeds, time zones, locales, threads, Pythons.

`make test` tries two surroundings besides that of the tests themselves. `make soak` draws ASSAY_SOAK_PLACES more, and
tries the Pythons that ASSAY_SOAK_PYTHONS names, separated by commas: each with an environment of its own, of the same
versions. What the model's own threads may change is in test_threads.py.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import assay
from small_tour import Toured

pytestmark = pytest.mark.slow

PLACES = int(os.environ.get("ASSAY_SOAK_PLACES", "0"))
PYTHONS = [path for path in os.environ.get("ASSAY_SOAK_PYTHONS", "").split(",") if path]
TOUR = ("-m", "assay", "run", "--limit", "32", "--threads", "1", "--out", "tour")
PLAIN = {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1"}
ASCII = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # as the locale has it: Python's own help is off
TURKISH = "tr_TR.UTF-8"  # i is not the small I, and numbers have commas
ZONES = ("NPT-5:45", "HST10", "CHAST-12:45CHADT,M9.5.0,M4.1.0", "UTC")


def test_the_tour_finds_the_same_in_every_surrounding(
    toured: Toured, tmp_path: Path, record_property: Callable[[str, int], None]
) -> None:
    here = found_in(toured.folder)
    assert {"unqover/findings.json", "bbq-starter/blocks.json", "sodapop/tables/words.csv"} <= here.keys()
    for number, place in enumerate(places(tmp_path)):
        there = found(sys.executable, tmp_path / str(number), place)
        assert differing(here, there) == [], place
        record_property("tried", 1)


@pytest.mark.skipif(not PYTHONS, reason="part of make soak, where ASSAY_SOAK_PYTHONS names others")
@pytest.mark.parametrize("python", PYTHONS)
def test_the_tour_finds_the_same_with_other_pythons(python: str, tmp_path: Path) -> None:
    here, there = (found(each, tmp_path / str(own), PLAIN) for own, each in enumerate((sys.executable, python)))
    assert differing(here, there) == []


def places(folder: Path) -> Iterator[dict[str, str]]:
    """Surroundings that differ from the plain one in everything; those of `make soak` at random."""
    turkish = {"LC_ALL": TURKISH, "LOCPATH": str(folder)} if made_turkish(folder) else {"LC_ALL": "POSIX"}
    yield {"PYTHONHASHSEED": "1", "TZ": ZONES[0], "LC_ALL": "C", "OMP_NUM_THREADS": "2", **ASCII}
    yield {"PYTHONHASHSEED": "4242", "TZ": ZONES[1], "OMP_NUM_THREADS": "3", **turkish}
    rng = random.Random(PLACES)
    for _ in range(PLACES):
        own = {"PYTHONHASHSEED": str(rng.randrange(2**32)), "TZ": rng.choice(ZONES)}
        locale = rng.choice((turkish, {"LC_ALL": "C"}, {"LC_ALL": "POSIX", **ASCII}))
        yield {**own, **locale, "OMP_NUM_THREADS": str(rng.randrange(1, 5))}


def made_turkish(folder: Path) -> bool:
    """Whether there is a Turkish locale in the folder now: systems have its source more often than itself."""
    program = shutil.which("localedef")
    command = [str(program), "-i", "tr_TR", "-f", "UTF-8", str(folder / TURKISH)]
    return program is not None and subprocess.run(command, capture_output=True).returncode == 0


def found(python: str, folder: Path, place: dict[str, str]) -> dict[str, bytes]:
    """Everything that a tour found there, and what its answers are, by file."""
    folder.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON", "OMP_"))}
    package = str(Path(str(assay.__file__)).parents[1])
    environment = {**kept, "PYTHONPATH": package, "ASSAY_CACHE": str(folder / "cache"), **place}
    done = subprocess.run([python, *TOUR], cwd=folder, env=environment, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return found_in(folder / "tour")


def found_in(tour: Path) -> dict[str, bytes]:
    patterns = ("findings.json", "blocks.json", "examples.jsonl", "*.csv")
    return {path.relative_to(tour).as_posix(): path.read_bytes() for each in patterns for path in tour.rglob(each)}


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]
