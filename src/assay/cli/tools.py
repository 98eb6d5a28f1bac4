"""What the commands share: common options, settings as they are typed, progress and output as shown."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from assay.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from assay.probes.base import Probe
    from assay.progress import Progress
    from assay.run import Run

_DATA = "official data: their folder, or one file (default: ASSAY_DATA, else where `assay data fetch` puts them)"
SHARED: Mapping[str, Mapping[str, Any]] = {
    "folder": {"metavar": "DIR", "help": "a run, or a folder of runs such as a tour"},
    "--out": {"metavar": "DIR", "help": "the run folder (default: runs/ and a name made from the command)"},
    "--set": {"action": "append", "default": [], "metavar": "KEY=VALUE", "help": "a setting (repeatable)"},
    "--seed": {"type": int, "metavar": "S", "help": "for samples, intervals and noise floors (0)"},
    "--data": {"metavar": "DIR", "help": _DATA},
    "--device": {"default": "auto", "help": "cpu, cuda, cuda:1, mps (default: the best there is)"},
    "--json": {"action": "store_true", "help": "print findings.json instead of a summary"},
    "--verbose": {"action": "store_true", "help": "print tables, notes and files as well"},
}
"""The options that several commands have."""


def add_shared(parser: argparse.ArgumentParser, *names: str) -> None:
    for name in names:
        parser.add_argument(name, **SHARED[name])


def examples_of(command: str, settings: Callable[[Probe], type | None], first: str = "", between: str = "") -> str:
    """Every probe's examples of a command, and its settings there; lines `first`, and `between` the two."""
    from assay.probes import probes
    from assay.settings import help_of

    known = list(probes().values())
    lines = [line for probe in known for line in probe.examples.get(command, ())]
    text = f"examples:\n{first}" + "".join(f"  {line:<53}   {what}".rstrip() + "\n" for line, what in lines) + between
    listed: dict[tuple[str, ...], list[str]] = {}  # probes that share a class of settings are listed together
    for probe in known:
        kind = settings(probe)
        if kind is not None:
            listed.setdefault(tuple(help_of(kind)), []).append(probe.name)
    for entries, names in listed.items():
        text += f"\nsettings of {' and '.join(names)} (--set key=value):\n" + wrapped(entries)
    return text


def settings_listed(common: type | None, kinds: Mapping[str, type]) -> str:
    """The settings of several kinds of something; what all of them share is listed once."""
    from assay.settings import help_of

    shared = help_of(common) if common else []
    text = f"settings (--set key=value):\n{wrapped(shared)}" if shared else ""
    for name, kind in kinds.items():
        own = wrapped([entry for entry in help_of(kind) if entry not in shared])
        text += f"settings of {name}{'' if shared else ' (--set key=value)'}:\n{own}"
    return text


def wrapped(entries: Sequence[str], width: int = 112) -> str:
    """Entries in lines, three blanks between them."""
    lines: list[str] = []
    for entry in entries:
        if lines and len(lines[-1]) + 3 + len(entry) <= width:
            lines[-1] += f"   {entry}"
        else:
            lines.append(f"  {entry}")
    return "".join(f"{line}\n" for line in lines)


def settings_of(pairs: Sequence[str]) -> dict[str, str]:
    """Settings from their `--set key=value`."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            problem = f"--set {pair!r} is no setting; expected key=value."
            raise UsageError(problem, "For example --set class=gender.", code="bad-option", key="set")
        settings[key] = value
    return settings


def show(runs: Sequence[Run], page: Path, options: argparse.Namespace, larger: str = "") -> None:
    """Print what runs found, where the page over them is, and the command for a larger sample."""
    from rich.console import Console

    from assay.report import terminal_summary, terminal_where

    console = Console()
    for run in runs:
        terminal_summary(run, console, verbose=options.verbose)
    terminal_where(page, console, larger)


def write(text: str, out: str | None) -> None:
    """Write a text for other programs to a file or to standard output, as UTF-8 whatever the terminal speaks."""
    content = text.encode("utf-8", "backslashreplace")
    if out is not None:
        from assay.files.atomic import write_atomically

        write_atomically(Path(out), content)
    elif hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:  # somebody put a stream of text in its place
        sys.stdout.write(content.decode())


def print_stages(stages: Sequence[Any], file: Any = None) -> None:
    """The parts of a run, and how many questions each has."""
    for stage in stages:
        print(f"  {stage.label:22} {stage.questions:>11,} questions", file=file)
    print(f"  {'in all':22} {sum(stage.questions for stage in stages):>11,} questions", file=file)


def shown_progress() -> AbstractContextManager[Progress]:
    """A bar on a terminal, a line now and then elsewhere."""
    from assay.progress import showing

    return showing(True)


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
