"""What the commands share, in whichever module each is: settings as they are typed, progress and output as shown."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from assay.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from assay.engine.progress import Progress


def settings_of(pairs: Sequence[str]) -> dict[str, str]:
    """Settings from their `--set key=value`."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {pair!r} is no setting; expected key=value.", "For example --set class=gender.")
        settings[key] = value
    return settings


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """A bar on a terminal, a line now and then elsewhere."""
    from assay.engine.progress import Bar, Lines

    if sys.stderr.isatty():
        with Bar() as bar:
            yield bar
    else:
        yield Lines()


@contextmanager
def output_for_any_reader() -> Iterator[None]:
    """Standard output and error whose reader may stop early, as `head` does, or not be there at all.

    The command goes on, and its exit code is its own; what nobody reads is dropped.
    """
    before = sys.stdout, sys.stderr
    if sys.stdout is sys.__stdout__:  # else somebody put another stream in its place
        sys.stdout = _dropping(sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _dropping(sys.stderr)
    during = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for stream in during:
            stream.flush()


def _dropping(stream: TextIO | None) -> TextIO:
    """A stream to the same place that drops what is written after the reader has gone."""
    if stream is None:  # it was closed when Python began
        return Path(os.devnull).open("w", encoding="utf-8")
    if stream.isatty() or not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    raw = _Pipe(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        raw if stream.write_through else io.BufferedWriter(raw),  # as Python makes it, with and without -u
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


class _Pipe(io.FileIO):
    def write(self, content: ReadableBuffer, /) -> int:
        try:
            return super().write(content)
        except BrokenPipeError:
            return memoryview(content).nbytes
