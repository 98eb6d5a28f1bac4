"""Arrays that plans refer to by digest: what was stored comes back, and nothing else does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy
from numpy.typing import NDArray

from assay.engine.store import ArrayStore, digest_of_arrays
from assay.errors import UsageError
from raising import raises

ARRAYS: dict[str, NDArray[Any]] = {"strings": np.array([[1, -1], [2, 3]], np.int32), "name": np.array([0, 4], np.int64)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "arrays"


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@given(
    of_numpy.arrays(
        st.sampled_from([np.int32, np.int64, np.float32, np.uint8]), of_numpy.array_shapes(min_side=0, max_dims=3)
    )
)
@settings(max_examples=30, deadline=None)
def test_what_was_stored_comes_back(tmp_path_factory: pytest.TempPathFactory, array: NDArray[Any]) -> None:
    folder = tmp_path_factory.getbasetemp() / "any arrays"
    found = ArrayStore(folder).load(ArrayStore(folder).keep({"one": array, "turned": array.T}))
    assert set(found) == {"one", "turned"}
    assert found["one"].dtype == array.dtype
    assert found["one"].shape == array.shape
    assert found["one"].tobytes() == array.tobytes()
    assert found["turned"].shape == array.T.shape


def test_the_digest_is_of_the_content_alone() -> None:
    turned = dict(reversed(ARRAYS.items()))
    copied = {name: np.asfortranarray(array.copy()) for name, array in ARRAYS.items()}
    assert digest_of_arrays(ARRAYS) == digest_of_arrays(turned) == digest_of_arrays(copied)


def test_whatever_differs_has_another_digest() -> None:
    strings, name = ARRAYS["strings"], ARRAYS["name"]
    different = [
        ARRAYS,
        {"strings": strings},
        {"strings": strings, "names": name},
        {"strings": strings, "name": name + 1},
        {"strings": strings.astype(np.int64), "name": name},
        {"strings": strings.reshape(1, 4), "name": name},
        {"strings": strings.T, "name": name},
        {"strings": name, "name": strings},
        {"strings": strings[:0], "name": name},
        {"strings": strings[:0].reshape(0, 5), "name": name},
    ]
    digests = [digest_of_arrays(arrays) for arrays in different]
    assert len(set(digests)) == len(digests)


def test_what_is_there_is_not_written_again(folder: Path) -> None:
    digest = ArrayStore(folder).keep(ARRAYS)
    assert digest == digest_of_arrays(ARRAYS)
    (path,) = files(folder)
    assert path.name == f"{digest}.npz"
    before = path.stat()
    assert ArrayStore(folder).keep(ARRAYS) == digest
    (path,) = files(folder)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_arrays_are_read_once_and_those_just_kept_not_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, other = ArrayStore(folder), ArrayStore(folder)
    digest = kept.keep(ARRAYS)
    first = other.load(digest)
    monkeypatch.setattr(np, "load", None)
    assert other.load(digest) is first
    assert kept.load(digest) is ARRAYS


def test_only_the_few_sets_used_last_stay_in_memory(folder: Path) -> None:
    store = ArrayStore(folder)
    sets: list[dict[str, NDArray[Any]]] = [{"name": np.array([number])} for number in range(6)]
    digests = [store.keep(arrays) for arrays in sets[:4]]
    store.load(digests[0])
    digests += [store.keep(arrays) for arrays in sets[4:]]
    in_memory = [store.load(digest) is arrays for digest, arrays in zip(digests, sets, strict=True)]
    assert in_memory == [True, False, False, False, False, False]  # each that is read puts another one out
    assert [store.load(digest)["name"].tolist() for digest in digests] == [[number] for number in range(6)]


def test_another_store_has_arrays_of_its_own(folder: Path, tmp_path: Path) -> None:
    digest = ArrayStore(folder).keep(ARRAYS)
    with raises("unreadable-file", UsageError, file=tmp_path / "elsewhere" / files(folder)[0].name):
        ArrayStore(tmp_path / "elsewhere").load(digest)


def test_content_that_has_changed_is_not_taken_for_the_old(folder: Path) -> None:
    digest = ArrayStore(folder).keep(ARRAYS)
    (path,) = files(folder)
    np.savez(path, **{**ARRAYS, "name": ARRAYS["name"] + 1})
    with raises("changed-file", UsageError, file=path):
        ArrayStore(folder).load(digest)


@pytest.mark.parametrize("damage", [b"", b"no archive at all"])
def test_a_damaged_file_is_named_and_written_anew(folder: Path, damage: bytes) -> None:
    digest = ArrayStore(folder).keep(ARRAYS)
    (file,) = files(folder)
    file.write_bytes(damage)
    with raises("unreadable-file", UsageError, file=file):
        ArrayStore(folder).load(digest)
    assert ArrayStore(folder).keep(ARRAYS) == digest
    assert np.array_equal(ArrayStore(folder).load(digest)["strings"], ARRAYS["strings"])


def test_what_a_killed_program_left_goes_when_the_arrays_are_stored(folder: Path) -> None:
    program = "import os; from assay.engine.store import *; os.fsync = lambda handle: os._exit(9)\n"
    program += f"ArrayStore(Path({str(folder)!r})).keep({{'one': np.arange(3)}})"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 9
    assert len(files(folder)) == 1
    digest = ArrayStore(folder).keep({"one": np.arange(3)})
    assert [path.name for path in files(folder)] == [f"{digest}.npz"]
