"""The command line: one file for each command, which parses options, calls one library function and prints.

Heavy imports are inside functions, which keeps help fast.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from assay.cli import (
    cache,
    compare,
    completion,
    data,
    debias,
    doctor,
    export,
    gate,
    generate,
    list_,
    report,
    run,
    score,
    study,
    train,
    work,
)
from assay.cli.common import output_for_any_reader
from assay.errors import UsageError, suggest
from assay.files.atomic import of_system
from assay.version import __version__

COMMANDS: Sequence[Any] = (
    *(run, score, generate, report, gate, compare, export, data, list_),
    *(train, debias, study, work, cache, doctor, completion),
)
"""Modules with NAME, HELP, `add_options(parser)` and `call(options) -> exit code`; and with EXAMPLES, or
`examples(about)`, where `about` is the probe, method or kind that was named before --help, if any."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns the exit code: 0 done, 1 a gate failed, 2 wrong use, 3 bad data, 4 the model failed.

    2 also means that the command is done, but its output could not be written. 128 + N: the signal N stopped it, which
    is 130 after Ctrl-C.
    """
    with output_for_any_reader() as lost, _stoppable():
        try:
            code = _done(sys.argv[1:] if arguments is None else arguments)
        except SystemExit as ended:  # argparse's, after a help text or a message of its own
            if not lost():
                raise
            code = ended.code if isinstance(ended.code, int) else 0
        if reason := lost():
            print(f"assay: standard output could not be written ({reason}).", file=sys.stderr)
            print("       Write it somewhere else; the same command uses what is done already.", file=sys.stderr)
        return code or (UsageError.exit_code if reason else 0)


def _done(arguments: Sequence[str]) -> int:
    """Run a command, with a message for every foreseen error; returns the exit code."""
    try:
        parser = _parser()
        if "_ARGCOMPLETE" in os.environ:
            completion.complete(parser, _all(parser))
        if not_text := next((argument for argument in arguments if not _is_text(argument)), None):
            parser.error(f"{not_text!r} is not UTF-8")
        options = parser.parse_args(arguments)
        if not hasattr(options, "call"):
            parser.print_help()
            return 0
        with _plain_warnings():
            call: Callable[[argparse.Namespace], int] = options.call
            return call(options)
    except KeyboardInterrupt as stopped:
        by = stopped.by if isinstance(stopped, _CommandStoppedError) else signal.SIGINT
        ending = "stopped" if by is signal.SIGINT else f"stopped by {by.name}"
        print(f"assay: {ending}. Answers so far are stored; the same command continues from there.", file=sys.stderr)
        return 128 + by
    except BaseException as error:  # panics of libraries in Rust are not Exceptions
        foreseen = of_system(error)
        if foreseen is None:
            raise
        print(f"assay: {foreseen.problem}", file=sys.stderr)
        if foreseen.remedy:
            print(f"       {foreseen.remedy}", file=sys.stderr)
        return foreseen.exit_code


class _CommandStoppedError(KeyboardInterrupt):
    """A signal stopped the command."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.by = signal.Signals(number)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Have the signals that end a program stop a command as Ctrl-C does; those that are ignored stay so."""

    def stop(number: int, frame: object) -> NoReturn:
        raise _CommandStoppedError(number)

    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        signals = []  # others cannot decide what signals do
    before = {number: signal.signal(number, stop) for number in signals if signal.getsignal(number) is signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_FIRST_STEPS = """examples:
  # every probe on the built-in model, in a few minutes
  assay run
  # one probe on your own model
  assay run unqover --model hf:./folder
  # the options and examples of a command
  assay run --help
"""


class _Help(argparse.Action):
    """Prints the help of a command: about the probe, method or kind that was named before it, if any."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, *rest: Any) -> None:
        named = (getattr(namespace, dest, None) for dest in ("probe", "method", "kind"))
        parser.about = next(filter(None, named), None)
        parser.print_help()
        parser.exit()


class _Parser(argparse.ArgumentParser):
    """A parser that builds its examples only for a help text: they list what is installed."""

    def __init__(self, examples: Callable[[str | None], str | None], **more: Any) -> None:
        super().__init__(**more, formatter_class=argparse.RawDescriptionHelpFormatter, add_help=False)
        self.examples, self.about = examples, None
        self.add_argument("-h", "--help", action=_Help, nargs=0, default=argparse.SUPPRESS, help="show this help")

    def error(self, message: str) -> NoReturn:
        """Adds what the user may have meant by an unknown command or option."""
        suggestion = ""
        if choice := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            choices = re.findall(r"[^\s',]+", choice[2])  # newer Pythons do not quote them
            suggestion = suggest(choice[1], choices)
        elif unknown := re.match(r"unrecognized arguments: (--[\w-]+)", message):
            options = [option for parser in _all(self) for option in parser._option_string_actions]
            suggestion = suggest(unknown[1], options)
        super().error(f"{message}{suggestion.removesuffix('.')}")

    def format_help(self) -> str:
        self.epilog = self.examples(self.about)
        return super().format_help()


def _all(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and the parsers of its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()


def _parser() -> argparse.ArgumentParser:
    does = "Measure social bias in question-answering models, with its uncertainty."
    parser = _Parser(lambda about: _FIRST_STEPS, prog="assay", description=does)
    parser.add_argument("-V", "--version", action="version", version=f"assay {__version__}", help="show the version")
    commands = parser.add_subparsers(metavar="COMMAND")
    for module in COMMANDS:
        examples = getattr(module, "examples", lambda about, module=module: module.EXAMPLES)
        does = f"{module.HELP[0].upper()}{module.HELP[1:]}."
        command = commands.add_parser(module.NAME, help=module.HELP, description=does, examples=examples)
        module.add_options(command)
        command.set_defaults(call=module.call)
    return parser


def _is_text(argument: str) -> bool:
    """Whether an argument can be written into run.json: bytes that are not UTF-8 are lone surrogates here."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings of assay as one line, and hide those of other libraries."""

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        print(f"assay: warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=UserWarning, module=r"assay\.")
        warnings.showwarning = show
        yield
