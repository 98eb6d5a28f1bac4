"""The journal stores every reply of an endpoint, so that no request is paid for twice.

There is one folder for each endpoint and model, with one file for each program that asked; only that program appends to
it. A line has a checksum, the digest of the call, the time of the reply, and the reply as JSON. A killed program
leaves at most a part of its last line, whose checksum is then wrong. Of several replies to a call the latest counts,
except for a run that is built again: it gets those that it had.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import platform
import re
import time
import zlib
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import BinaryIO, NamedTuple

from assay.errors import DataError
from assay.files.atomic import explained
from assay.files.decoding import json_typed
from assay.files.opening import open_bytes, open_regular
from assay.models.base import ModelSpec, Reply
from assay.plan import digest_of

_ENDING = ".journal"
_LINE = re.compile(rb"([0-9a-f]{8}) (\w{1,128}) (\d{1,20}\.\d{1,9}) (.*)\n", re.ASCII | re.DOTALL)
"""Checksum, digest, time, reply."""


class _Entry(NamedTuple):
    """Where a reply is stored: its file, its place there, and its time."""

    path: Path
    offset: int
    length: int
    at: float


class Journal:
    """The replies to calls, by the calls' digests. Only their places are in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._entries: dict[str, _Entry] = {}  # the latest
        self._earlier: dict[str, list[_Entry]] = {}
        self._readers: dict[Path, BinaryIO] = {}
        self._file: BinaryIO | None = None
        self._path = (
            folder / f"{time.time_ns():020d}-{re.sub(r'[^A-Za-z0-9]', '', platform.node())}-{os.getpid()}{_ENDING}"
        )
        self._unsynced = False
        for path in sorted(folder.glob(f"*{_ENDING}")):
            for digest, entry in _entries(path):
                self._note(digest, entry)

    @staticmethod
    def of(root: Path, model: ModelSpec) -> Journal:
        """The journal of one endpoint and model."""
        name = model.endpoint.model if model.endpoint else model.name
        return Journal(root / digest_of({"url": model.place, "model": name})[:32])

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, digest: str) -> bool:
        return digest in self._entries

    def get(self, digest: str, since: float = 0.0, until: float = inf) -> Reply | None:
        """The latest reply to a call that came `until` then or, if there is none, the first after that; None if there
        is none `since` then.
        """
        latest = self._entries.get(digest)
        if latest is None or latest.at < since:
            return None
        replies = [entry for entry in (*self._earlier.get(digest, ()), latest) if entry.at >= since]
        before = [entry for entry in replies if entry.at <= until]
        entry = max(before, key=_at) if before else min(replies, key=_at)
        if entry.path not in self._readers:
            self._readers[entry.path] = open_regular(entry.path)
        reader = self._readers[entry.path]
        reader.seek(entry.offset)
        try:
            return dataclasses.replace(json_typed(reader.read(entry.length), Reply), at=entry.at)
        except ValueError as error:
            problem = f"what is stored at byte {entry.offset:,} is not a reply ({error})."
            remedy = "Delete the file, which assay did not write like this: its requests are then sent again."
            raise DataError(problem, remedy, code="bad-value", file=entry.path) from None

    def put(self, digest: str, reply: Reply, since: float = 0.0) -> Reply:
        """Store a reply, which is returned with its time, at least `since`: the operating system has it then, and the
        disk within a second (`sync`).
        """
        fields = {each.name: getattr(reply, each.name) for each in dataclasses.fields(reply) if each.name != "at"}
        content = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        before = self._entries.get(digest)
        at = max(time.time(), since + 1e-6, before.at + 1e-6 if before else 0.0)  # the clock may have been set back
        head = f"{digest} {at:.6f} ".encode()
        line = f"{zlib.crc32(head + content):08x} ".encode() + head + content + b"\n"
        with explained(self._path, "file"):
            if self._file is None:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open("xb", buffering=0)
            offset = self._file.tell()
            try:
                if self._file.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                self._file.seek(offset)
                self._file.truncate()  # a part of a line would damage the next one
                raise
        self._unsynced = True
        entry = _Entry(self._path, offset + len(line) - len(content) - 1, len(content), float(f"{at:.6f}"))
        self._note(digest, entry)
        return dataclasses.replace(reply, at=entry.at)

    def sync(self) -> None:
        """Sync stored replies to the disk; another thread may store more at the same time."""
        if self._file is not None and self._unsynced:
            self._unsynced = False
            try:
                with explained(self._path, "file"):
                    os.fsync(self._file.fileno())
            except BaseException:
                self._unsynced = True
                raise

    def close(self) -> None:
        self.sync()
        for file in (self._file, *self._readers.values()):
            if file is not None:
                file.close()
        self._file, self._readers = None, {}

    def _note(self, digest: str, entry: _Entry) -> None:
        before = self._entries.get(digest)
        if before is not None:
            before, entry = sorted((before, entry), key=_at)  # of the same time, the one read last is the latest
            self._earlier.setdefault(digest, []).append(before)
        self._entries[digest] = entry


def _at(entry: _Entry) -> float:
    return entry.at


def _entries(path: Path) -> Iterator[tuple[str, _Entry]]:
    """The entries of a file, without damaged or incomplete lines."""
    offset = 0
    with open_bytes(path) as file:
        for line in file:
            parts = _LINE.fullmatch(line)
            if parts and f"{zlib.crc32(line[9:-1]):08x}".encode() == parts[1]:
                yield parts[2].decode(), _Entry(path, offset + parts.start(4), len(parts[4]), float(parts[3]))
            offset += len(line)
