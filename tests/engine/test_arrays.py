"""Arrays that plans refer to by digest: what was stored comes back, and nothing else does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy
from numpy.typing import NDArray

from assay.engine import arrays as engine_arrays
from assay.engine.arrays import kept_in, load_arrays, save_arrays
from assay.errors import UsageError

ARRAYS: dict[str, NDArray[Any]] = {"strings": np.array([[1, -1], [2, 3]], np.int32), "name": np.array([0, 4], np.int64)}


def files() -> list[Path]:
    return sorted(path for path in Path(os.environ["ASSAY_CACHE"]).rglob("*") if path.is_file())


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    """Arrays are kept in memory when they were read; here they are to be read from disk."""
    engine_arrays._load.cache_clear()


@given(
    of_numpy.arrays(
        st.sampled_from([np.int32, np.int64, np.float32, np.uint8]), of_numpy.array_shapes(min_side=0, max_dims=3)
    )
)
@settings(max_examples=30, deadline=None)
def test_what_was_stored_comes_back(array: NDArray[Any]) -> None:
    found = load_arrays(save_arrays({"one": array, "turned": array.T}))
    assert set(found) == {"one", "turned"}
    assert found["one"].dtype == array.dtype
    assert found["one"].shape == array.shape
    assert found["one"].tobytes() == array.tobytes()
    assert found["turned"].shape == array.T.shape


def test_the_digest_is_of_the_content_alone() -> None:
    turned = dict(reversed(ARRAYS.items()))
    copied = {name: np.asfortranarray(array.copy()) for name, array in ARRAYS.items()}
    assert save_arrays(ARRAYS) == save_arrays(turned) == save_arrays(copied)


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
    digests = [save_arrays(arrays) for arrays in different]
    assert len(set(digests)) == len(digests)


def test_what_is_there_is_not_written_again() -> None:
    digest = save_arrays(ARRAYS)
    (path,) = files()
    assert path.name == f"{digest}.npz"
    before = path.stat()
    assert save_arrays(ARRAYS) == digest
    (path,) = files()
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_arrays_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    digest = save_arrays(ARRAYS)
    first = load_arrays(digest)
    monkeypatch.setattr(np, "load", None)
    assert load_arrays(digest) is first


def test_another_cache_has_arrays_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = save_arrays(ARRAYS)
    load_arrays(digest)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    with pytest.raises(UsageError, match="cannot be read") as refused:
        load_arrays(digest)
    assert "again" in refused.value.remedy


def test_content_that_has_changed_is_not_taken_for_the_old() -> None:
    digest = save_arrays(ARRAYS)
    (path,) = files()
    np.savez(path, **{**ARRAYS, "name": ARRAYS["name"] + 1})
    with pytest.raises(UsageError, match="its content has changed") as refused:
        load_arrays(digest)
    assert str(path) in refused.value.problem
    assert "Delete it" in refused.value.remedy


def test_a_trial_leaves_no_arrays_behind(tmp_path: Path) -> None:
    with kept_in(tmp_path):
        digest = save_arrays(ARRAYS)
        assert load_arrays(digest)["name"].tolist() == [0, 4]
    assert not files()
    assert [path.stem for path in tmp_path.rglob("*.npz")] == [digest]
    save_arrays(ARRAYS)
    assert len(files()) == 1, "afterwards they lie where they always do"


@pytest.mark.parametrize("damage", [b"", b"no archive at all"])
def test_a_damaged_file_is_named_and_written_anew(damage: bytes) -> None:
    digest = save_arrays(ARRAYS)
    (file,) = files()
    file.write_bytes(damage)
    engine_arrays._load.cache_clear()
    with pytest.raises(UsageError, match=r"cannot be read") as damaged:
        load_arrays(digest)
    assert "Delete it" in damaged.value.remedy
    assert save_arrays(ARRAYS) == digest
    assert np.array_equal(load_arrays(digest)["strings"], ARRAYS["strings"])
