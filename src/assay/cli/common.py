"""What the commands share: common options, settings from the command line, executors, progress and output."""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from assay.asking.progress import console_on
from assay.errors import UsageError, printable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from assay.engine.executor import Executor
    from assay.results.run import Run

LOCAL = "local"
_DATA = "the folder of official data, or one file (default: ASSAY_DATA, else the folder of `assay data fetch`)"
SHARED: Mapping[str, Mapping[str, Any]] = {
    "probe": {"metavar": "PROBE", "help": "see `assay list probes`"},
    "folder": {"metavar": "DIR", "help": "a run, or a folder of runs such as a tour"},
    "--out": {"metavar": "DIR", "help": "the run folder (default: a name in runs/ made from the command)"},
    "--set": {"action": "append", "default": [], "metavar": "KEY=VALUE", "help": "a setting; see below (repeatable)"},
    "--seed": {"type": int, "metavar": "S", "help": "seed for samples, intervals and chance levels (0)"},
    "--data": {"metavar": "DIR", "help": _DATA},
    "--device": {"default": "auto", "help": "cpu, cuda, cuda:1 or mps (default: the best available)"},
    "--json": {"action": "store_true", "help": "print findings.json instead of a summary"},
    "--verbose": {"action": "store_true", "help": "print tables, notes and files as well"},
}
"""Arguments that several commands share."""


def add_shared(parser: argparse.ArgumentParser, *names: str) -> None:
    for name in names:
        parser.add_argument(name, **SHARED[name])


def examples_of(command: str, about: str | None, first: str = "", between: str = "") -> str:
    """The probes' examples of a command, then their settings there; about one probe, its settings are explained.

    `first` are lines before the examples, `between` lines after them.
    """
    from assay.probes import probes

    known_probes = probes()
    chosen = {
        name: probe.commands[command]
        for name, probe in known_probes.items()
        if command in probe.commands and (about not in known_probes or name == about)
    }
    lines = [line for described in chosen.values() for line in described.examples.items()]
    text = f"examples:\n{'' if about in known_probes else first}" + "".join(
        f"  # {purpose}\n  {line}\n" if purpose else f"  {line}\n" for line, purpose in lines
    )
    kinds: dict[type, list[str]] = {}  # probes that share a class of settings are listed together
    for name, described in chosen.items():
        if described.settings is not None:
            kinds.setdefault(described.settings, []).append(name)
    listed = settings_listed(None, {" and ".join(names): kind for kind, names in kinds.items()}, about)
    more = f"\nWhat each setting means: assay {command} PROBE --help\n" if kinds and about not in known_probes else ""
    return f"{text}{between}\n{listed}{more}" if listed else text + between


def settings_listed(common: type | None, kinds: Mapping[str, type], about: str | None) -> str:
    """The settings of probes, methods or kinds of training; those in `common` are listed once.

    About one of them, each setting is explained; otherwise names and values are listed.
    """
    from assay.config.settings import explained, help_of

    if about is not None and about in kinds:
        entries = "".join(f"  {entry}\n{filled(meaning, '      ')}" for entry, meaning in explained(kinds[about]))
        return f"settings of {about} (--set key=value):\n{entries}"
    shared = help_of(common) if common else []
    parts = {"settings": shared} if shared else {}
    parts |= {
        f"settings of {name}": [each for each in help_of(kind) if each not in shared] for name, kind in kinds.items()
    }
    return "\n".join(f"{name} (--set key=value):\n{wrapped(entries)}" for name, entries in parts.items())


def add_where(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    choices = "local (this process), ray (workers on this machine), ray:ADDRESS (a Ray cluster) or work:DIR (the "
    choices += "workers that `assay work DIR` starts)"
    add("--executor", metavar="NAME", default=LOCAL, help=f"where to compute: {choices}")
    room = "with ray: how many workers; auto, the default: as many as there is room for"
    add("--workers", type=_count, metavar="N", help=room)
    add("--gpus-per-worker", type=float, metavar="G", help="with ray: GPUs of each worker (1 for a model on a GPU)")


def _count(text: str) -> int | str:
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor auto") from None


@contextmanager
def executor_of(options: argparse.Namespace) -> Iterator[Executor]:
    """The executor that the options name, closed at the end."""
    from assay.runs.audit import new_executor

    for option, value, least in (("workers", options.workers, 1), ("gpus-per-worker", options.gpus_per_worker, 0)):
        if isinstance(value, int | float) and value < least:
            problem = f"--{option} is {value:g}, expected at least {least}."
            raise UsageError(problem, f"--{option} {least}", code="bad-option", key=option)
    workers = None if options.workers == "auto" else options.workers
    key_env = getattr(options, "key_env", None) or ""  # not every command that asks models has it
    executor = new_executor(options.executor, workers, options.gpus_per_worker, key_env)
    with executor if isinstance(executor, AbstractContextManager) else nullcontext():
        yield executor


def _width() -> int:
    """The width of help texts, as argparse has it."""
    return max(40, shutil.get_terminal_size().columns - 2)


def filled(text: str, indent: str, hanging: int = 0) -> str:
    """A paragraph in lines of the terminal's width; those after the first are indented by `hanging`, if given."""
    import textwrap

    lines = textwrap.wrap(
        text,
        _width(),
        initial_indent=indent,
        subsequent_indent=" " * (hanging or len(indent)),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "".join(f"{line}\n" for line in lines)


def wrapped(entries: Sequence[str]) -> str:
    """Entries in lines of the terminal's width, three blanks between them."""
    lines: list[str] = []
    for entry in entries:
        if lines and len(lines[-1]) + 3 + len(entry) <= _width():
            lines[-1] += f"   {entry}"
        else:
            lines.append(f"  {entry}")
    return "".join(f"{line}\n" for line in lines)


def settings_of(pairs: Sequence[str]) -> dict[str, str]:
    return values_of("set", pairs, "key=value", "class=gender")


def values_of(option: str, pairs: Sequence[str], form: str, example: str) -> dict[str, str]:
    """The values of a repeatable option, such as `--set key=value`, by what comes before the equals sign."""
    values = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            problem = f"--{option} is {pair!r}, expected {form}."
            raise UsageError(problem, f"For example --{option} {example}.", code="bad-option", key=option)
        values[key] = value
    return values


def show(
    runs: Sequence[Run], page: Path, options: argparse.Namespace, following: Sequence[tuple[str, str]] = ()
) -> None:
    """Print the findings of runs, the place of their page, and the commands that could follow with their purposes."""
    from assay.report import terminal_bottom_line, terminal_summary, terminal_where

    console = console_on(sys.stdout)
    for run in runs:
        terminal_summary(run, console, verbose=options.verbose, brief=len(runs) > 1 and not options.verbose)
    terminal_bottom_line(runs, console)
    terminal_where(page, console, following)


def write_json(content: Any) -> None:
    write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write(text: str, out: str | None = None) -> None:
    """Write a text for other programs to a file or to standard output, always as UTF-8."""
    to_terminal = out is None and sys.stdout.isatty()
    content = (printable(text) if to_terminal else text).encode("utf-8", "backslashreplace")
    if out is not None:
        from assay.files.atomic import write_atomically

        write_atomically(Path(out), content)
    elif hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:  # replaced by a stream of text
        sys.stdout.write(content.decode())


def print_stages(stages: Sequence[Any], file: Any = None) -> None:
    """Print the parts of a run and how many questions each has."""
    for stage in stages:
        print(f"  {stage.label:22} {stage.questions:>11,} questions", file=file)
    print(f"  {'total':22} {sum(stage.questions for stage in stages):>11,} questions", file=file)


@contextmanager
def output_for_any_reader() -> Iterator[Callable[[], str]]:
    """Let the reader of standard output or error stop early, as `head` does, or be absent, or have a full disk.

    The command continues and keeps its exit code; output that cannot be written is dropped. Control characters of what
    is printed, which may come from data, servers or models, are written out. Yields a function that says, at the end,
    why standard output could not be written, if it could not; that a reader stopped is no reason.
    """
    before = sys.stdout, sys.stderr
    if sys.stdout is sys.__stdout__:  # otherwise it was replaced on purpose
        sys.stdout = _dropping(sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _dropping(sys.stderr)
    sys.stdout, sys.stderr = cast(TextIO, _PrintableStream(sys.stdout)), cast(TextIO, _PrintableStream(sys.stderr))
    during = sys.stdout, sys.stderr

    def lost() -> str:
        during[0].flush()
        buffer = getattr(during[0], "buffer", None)
        raw = getattr(buffer, "raw", buffer)
        return raw.lost if isinstance(raw, _OutputPipe) else ""

    try:
        yield lost
    finally:
        sys.stdout, sys.stderr = before
        for stream in during:
            stream.flush()


def _dropping(stream: TextIO | None) -> TextIO:
    """A stream to the same place that drops what cannot be written there."""
    if stream is None:  # it was closed when Python began
        return Path(os.devnull).open("w", encoding="utf-8", newline="\n")
    terminal = stream.isatty()
    if not isinstance(stream, io.TextIOWrapper) or (terminal and os.name == "nt"):  # Windows' do not take bytes
        return stream
    stream.flush()
    raw = _OutputPipe(stream.fileno(), "w", closefd=False)
    raw.terminal = terminal
    return io.TextIOWrapper(
        raw if stream.write_through else io.BufferedWriter(raw),  # as Python makes it, with and without -u
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


class _PrintableStream:
    """A stream for what `print` writes; consoles of rich write to `bare`, as their colours are control characters."""

    def __init__(self, stream: TextIO) -> None:
        self.bare = stream

    def write(self, text: str) -> int:
        self.bare.write(printable(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bare, name)


class _OutputPipe(io.FileIO):
    """Notes in `lost` why something could not be written, unless a reader or a `terminal` has gone."""

    lost, terminal = "", False

    def write(self, content: ReadableBuffer, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            if not isinstance(error, BrokenPipeError) and not self.terminal:
                self.lost = error.strerror or str(error)
            return memoryview(content).nbytes
