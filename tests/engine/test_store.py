"""Blocks come back as they were stored, or not at all."""

from __future__ import annotations

import hashlib
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from assay.asking.queries import Answers
from assay.engine.store import BadBlockError, Block, BlockStore, StoredBlock
from block_files import block_file, write_block_file

KEY = "ab" + "0" * 62
QUERIES = hashlib.sha256(b"queries").hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> BlockStore:
    return BlockStore(tmp_path / "blocks")


def block(rows: int = 3, lo: int = 0) -> Block:
    arrays = {
        "score": np.linspace(0, 1, 2 * rows, dtype=np.float32).reshape(rows, 2),
        "key": np.arange(rows, dtype=np.uint64) + np.uint64(2**63),
    }
    return Block(lo, lo + rows, QUERIES, Answers(np.zeros(rows, np.uint8), arrays))


def zipped(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asarray(values), allow_pickle=True)
    return buffer.getvalue()


def test_a_block_comes_back_as_it_was_stored(store: BlockStore) -> None:
    checksum = store.write(KEY, block())
    found = store.read(KEY, 0, 3)
    assert found is not None
    again, same_checksum = found
    assert same_checksum == checksum
    assert (again.lo, again.hi, again.queries) == (0, 3, QUERIES)
    assert {*again.answers.arrays} == {"score", "key"}
    for name, values in block().answers.arrays.items():
        assert again.answers[name].dtype == values.dtype
        assert np.array_equal(again.answers[name], values)


@settings(max_examples=40, deadline=None)
@given(
    st_numpy.arrays(
        st.sampled_from([np.float32, np.float64, np.int32, np.uint64, np.uint8]),
        st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, 2)),
    )
)
def test_any_array_of_numbers_survives(tmp_path_factory: pytest.TempPathFactory, values: Any) -> None:
    store = BlockStore(tmp_path_factory.getbasetemp() / "any")
    rows = len(values)
    store.write(KEY, Block(5, 5 + rows, QUERIES, Answers(np.ones(rows, np.uint8), {"any": values})))
    found = store.read(KEY, 5, 5 + rows)
    assert found is not None
    assert found[0].answers["any"].tobytes() == values.tobytes()
    assert found[0].answers["any"].shape == values.shape


def test_the_same_block_is_the_same_bytes(store: BlockStore, tmp_path: Path) -> None:
    other = BlockStore(tmp_path / "elsewhere")
    assert store.write(KEY, block()) == other.write(KEY, block())
    one, same = (block_file(place, KEY, 0, 3) for place in (store, other))
    assert (one.name, one.read_bytes()) == (same.name, same.read_bytes())


def test_a_block_that_was_never_stored_is_missing(store: BlockStore) -> None:
    store.write(KEY, block())
    assert store.read(KEY, 3, 6) is None
    assert store.read("cd" + KEY[2:], 0, 3) is None


def test_blocks_of_other_ranges_and_keys_do_not_meet(store: BlockStore) -> None:
    store.write(KEY, block(3))
    store.write(KEY, block(2, lo=3))
    store.write("cd" + KEY[2:], block(3))
    assert len(list(store.root.rglob("*.block"))) == 3


@pytest.mark.parametrize("where", [0, 5, 14, 40, 60, -1], ids=lambda at: f"byte {at}")
def test_a_flipped_bit_is_noticed(where: int, store: BlockStore) -> None:
    store.write(KEY, block())
    path = block_file(store, KEY, 0, 3)
    content = bytearray(path.read_bytes())
    content[where] ^= 1
    path.write_bytes(content)
    with pytest.raises(BadBlockError, match=path.name):
        store.read(KEY, 0, 3)


@pytest.mark.parametrize("kept", [0, 10, 20, 46, 47, 200])
def test_a_file_cut_short_is_noticed(kept: int, store: BlockStore) -> None:
    store.write(KEY, block())
    path = block_file(store, KEY, 0, 3)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(BadBlockError, match="checksum"):
        store.read(KEY, 0, 3)


def test_a_file_that_cannot_be_read_is_a_bad_block(store: BlockStore) -> None:
    store.path(StoredBlock(KEY, 0, 3, "0" * 64)).mkdir(parents=True)
    with pytest.raises(BadBlockError, match="cannot be read"):
        store.read(KEY, 0, 3)


def test_half_written_files_are_ignored(store: BlockStore) -> None:
    store.write(KEY, block())
    path = block_file(store, KEY, 0, 3)
    content = path.read_bytes()
    path.unlink()
    for name in (f".{path.name}.123.tmp", f"{path.name}.tmp", "0000000000-0000000003"):
        path.with_name(name).write_bytes(content[:100])
    assert store.read(KEY, 0, 3) is None


class Mine:
    """What a forger would put into a pickle: something that happens when it is loaded."""

    loaded = False

    def __reduce__(self) -> Any:
        return _spring, ()


def _spring() -> Mine:
    Mine.loaded = True
    return Mine()


def test_nothing_pickled_is_ever_loaded(store: BlockStore) -> None:
    objects = np.empty(3, object)
    objects[:] = [Mine()] * 3
    queries = np.frombuffer(bytes.fromhex(QUERIES), np.uint8)
    status = np.zeros(3, np.uint8)
    payloads = [
        zipped(status=status, queries=queries, **{"answer.score": objects}),
        zipped(status=objects, queries=queries),
        zipped(status=status, queries=objects),
        pickle.dumps(objects),
        pickle.dumps(Mine()),
    ]
    for payload in payloads:
        write_block_file(store, KEY, 0, 3, payload)
        with pytest.raises(BadBlockError, match="not a block"):
            store.read(KEY, 0, 3)
    assert not Mine.loaded


def test_answers_that_are_objects_cannot_be_stored(store: BlockStore) -> None:
    objects = np.array([{"a": 1}] * 3, object)
    with pytest.raises(ValueError, match="allow_pickle"):
        store.write(KEY, Block(0, 3, QUERIES, Answers(np.zeros(3, np.uint8), {"score": objects})))
    assert store.read(KEY, 0, 3) is None


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"not a zip",
        zipped(),
        zipped(status=np.zeros(3, np.uint8)),
        zipped(status=np.zeros(2, np.uint8), queries=np.zeros(32, np.uint8)),
        zipped(status=np.uint8(0), queries=np.zeros(32, np.uint8)),
        zipped(status=np.zeros(3, np.uint8), queries=np.zeros(32, np.uint8), **{"answer.score": np.zeros((2, 2))}),
    ],
    ids=["nothing", "no zip", "empty zip", "no queries", "too few rows", "no rows", "too few answers"],
)
def test_a_file_that_is_no_block_of_this_range_is_noticed(payload: bytes, store: BlockStore) -> None:
    write_block_file(store, KEY, 0, 3, payload)
    with pytest.raises(BadBlockError):
        store.read(KEY, 0, 3)


def test_a_single_array_is_no_block(store: BlockStore) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    write_block_file(store, KEY, 0, 3, buffer.getvalue())
    with pytest.raises(BadBlockError):
        store.read(KEY, 0, 3)


def test_the_store_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "here"))
    assert BlockStore.default().root == tmp_path / "here" / "blocks"
    monkeypatch.delenv("ASSAY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert BlockStore.default().root == tmp_path / "caches" / "assay" / "blocks"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert BlockStore.default().root == tmp_path / "home" / ".cache" / "assay" / "blocks"
