"""The files of blocks in a store, whose names have the checksums of their content."""

from __future__ import annotations

import hashlib
from pathlib import Path

from assay.engine.ask import LiveAsk
from assay.engine.store import BlockStore, StoredBlock, UsedBlocks

MAGIC = b"assay-block-1\n"


def block_file(store: BlockStore, key: str, lo: int, hi: int) -> Path:
    """The newest file with answers to a range of questions."""
    (path,) = store.newest(key)[lo, hi]
    return path


def write_block_file(store: BlockStore, key: str, lo: int, hi: int, payload: bytes) -> Path:
    """A file with a right checksum over any payload: what a forger would write."""
    checksum = hashlib.sha256(payload).digest()
    path = store.path(StoredBlock(key, lo, hi, checksum.hex()))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(MAGIC + checksum + payload)
    return path


def used_by(ask: LiveAsk) -> dict[str, UsedBlocks]:
    """The blocks that were asked for, as a run's blocks.json lists them."""
    return {
        asked.key: UsedBlocks({(lo, hi): StoredBlock(asked.key, lo, hi, checksum) for lo, hi, checksum in asked.blocks})
        for asked in ask.asked
    }
