"""Which requests other programs are sending now, so that two programs with the same questions do not both pay.

Every program that sends has a file of claims beside its journal file, which only it appends to and whose lock it holds
while it lives. A line is the digest of a request that it sends, or, after "-", of one that it has given up. A claim
counts while the program's lock is held.

A program sends a request only if, after it has written its own claim, it reads no other: of two programs, the one that
writes later reads the claim of the other. If both read each other's, the one with the lower name keeps its claim and
the other withdraws its own; whoever does not send waits for the reply, or for the end of the claim. Claims of other
requests are never waited for.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from pathlib import Path

from assay.engine.journal import Journal
from assay.errors import AssayError
from assay.files.atomic import explained
from assay.files.lock import hold, let_go, remove_if_free
from assay.files.opening import open_regular

ENDING = ".claims"
LOOK = 0.25
"""Seconds for which what was read of others is new enough to wait on."""
SETTLED = 2.0
"""A folder's time is trusted if it is older than these seconds: until then another file may get the same time."""
_WITHOUT_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


class Turn(Enum):
    """What to do about a request: send it, use the reply that another program has stored, or wait."""

    SEND = "send"
    USE = "use"
    WAIT = "wait"


class _Other:
    """The claims of another program."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.claimed: set[str] = set()
        self._file = open_regular(path)
        self._rest = b""

    def read(self) -> None:
        """Read what it has written since."""
        while content := self._file.read(1 << 16):
            *lines, self._rest = (self._rest + content).split(b"\n")
            for line in lines:
                digest = line.decode("ascii", "replace")
                if digest.startswith("-"):
                    self.claimed.discard(digest[1:])
                else:
                    self.claimed.add(digest)

    def close(self) -> None:
        self._file.close()


class Claims:
    """The claims of this program, and what it knows of the others'. Without locks (some file systems) nothing waits."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.path = journal.folder / f"{journal.program}{ENDING}"
        self._handle: int | None = None
        self._working = True
        self._mine: set[str] = set()
        self._others: dict[str, _Other] = {}  # by the names of their files
        self._folder_at = -1
        self._looked_at = 0.0

    def take(self, digest: str) -> Turn:
        """Claim a request, unless another program has done so."""
        if not self._working:
            return Turn.SEND
        if digest not in self._mine:
            if time.monotonic() - self._looked_at > LOOK:
                self._look()
            if digest in self.journal:
                return Turn.USE
            if any(program.path.name < self.path.name for program in self._claiming(digest)):
                return Turn.WAIT
        if not self.claim(digest):
            return Turn.SEND
        self._look()
        others = bool(self._others)
        rivals = list(self._claiming(digest))
        if others:  # after the rivals: one that has ended since had stored its replies
            self.journal.refresh()
        if digest in self.journal:
            self.release(digest)
            return Turn.USE
        if not rivals:
            return Turn.SEND
        if min(program.path.name for program in rivals) < self.path.name:
            self.release(digest)
        return Turn.WAIT

    def claim(self, digest: str) -> bool:
        """Claim a request, whatever others do; False if claims do not work here."""
        if digest not in self._mine and self._write(f"{digest}\n"):
            self._mine.add(digest)
        return self._working

    def release(self, digest: str) -> None:
        """Give a request up: without a reply, others may send it."""
        if digest in self._mine:
            self._mine.discard(digest)
            with suppress(AssayError):  # a full disk: then it is released at the end
                self._write(f"-{digest}\n")

    def forget(self, digest: str) -> None:
        """The reply to a request is stored: the claim may stay, as nobody asks for it any more."""
        self._mine.discard(digest)

    def close(self) -> None:
        """Remove this program's claims, and those of killed ones; nothing is claimed any more."""
        self._working = False
        for program in self._others.values():
            program.close()
            remove_if_free(program.path)
        self._others = {}
        if self._handle is not None:
            let_go(self._handle, self.path)
            self._handle = None

    def _write(self, line: str) -> bool:
        if not self._working:
            return False
        try:
            if self._handle is None:
                self.journal.folder.mkdir(parents=True, exist_ok=True)
                self._handle = hold(self.path)
            os.write(self._handle, line.encode())
        except OSError as error:
            if error.errno not in _WITHOUT_LOCKS:
                with explained(self.path, "file"):
                    raise
            self._working = False
        return self._working

    def _look(self) -> None:
        """Read what others have claimed, and, if programs came or went, what they have stored."""
        self._looked_at = time.monotonic()
        changed = self._changed()
        if changed:
            names = {path.name: path for path in self.journal.folder.glob(f"*{ENDING}") if path != self.path}
            for name in self._others.keys() - names.keys():
                self._others.pop(name).close()
            for name in names.keys() - self._others.keys():
                if not remove_if_free(names[name]):
                    with suppress(FileNotFoundError):  # it has just ended
                        self._others[name] = _Other(names[name])
        for program in self._others.values():
            program.read()
        if changed or self._others:
            self.journal.refresh()

    def _changed(self) -> bool:
        """Whether files may have come or gone since the last time."""
        try:
            at = self.journal.folder.stat().st_mtime_ns
        except FileNotFoundError:
            return False
        if at == self._folder_at:
            return False
        self._folder_at = at if abs(time.time() - at / 1e9) > SETTLED else -1
        return True

    def _claiming(self, digest: str) -> Iterator[_Other]:
        """Other living programs that have claimed a request."""
        for name, program in list(self._others.items()):
            if digest in program.claimed:
                if remove_if_free(program.path):
                    self._others.pop(name).close()
                    self._folder_at = -1
                else:
                    yield program


def remove_leftovers(folder: Path) -> None:
    """Remove the claims of programs that were killed."""
    for path in folder.glob(f"*{ENDING}"):
        remove_if_free(path)
