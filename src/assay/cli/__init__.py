"""The command line: one file a command, which parses, calls one library function and prints. Imports are late, so that
help comes at once."""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

from assay import __version__
from assay.cli import (
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
)
from assay.cli.tools import output_for_any_reader
from assay.errors import AssayError, near

COMMANDS: Sequence[Any] = (
    *(run, score, generate, report, gate, compare, export, data, list_),
    *(train, debias, study, doctor, completion),
)
"""Modules with NAME, HELP, `add_options(parser)` and `call(options) -> exit code`; and with EXAMPLES, or `examples()`
where these list what is installed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The program. Returns its exit code: 0 done, 1 a gate failed, 2 wrong use, 3 bad data, 4 the model failed."""
    with output_for_any_reader():
        parser = _parser()
        if "_ARGCOMPLETE" in os.environ:
            completion.complete(parser, _all(parser))
        options = parser.parse_args(arguments)
        if not hasattr(options, "call"):
            parser.print_help()
            return 0
        try:
            with _plain_warnings():
                call: Callable[[argparse.Namespace], int] = options.call
                return call(options)
        except AssayError as error:
            print(f"assay: {error.problem}", file=sys.stderr)
            if error.remedy:
                print(f"       {error.remedy}", file=sys.stderr)
            return error.exit_code
        except KeyboardInterrupt:
            print("assay: stopped; the same command goes on from what is stored.", file=sys.stderr)
            return 130


_FIRST_STEPS = """Begin with:  assay run
Then:        assay run unqover --model hf:./folder
More:        assay COMMAND --help"""


class _Parser(argparse.ArgumentParser):
    """A parser whose examples are put together only when somebody reads them: they list what is installed."""

    def __init__(self, examples: Callable[[], str | None] = lambda: None, **more: Any) -> None:
        super().__init__(**more, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.examples = examples

    def error(self, message: str) -> NoReturn:
        """Says what may have been meant by a command or an option that is not there."""
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        unknown = re.match(r"unrecognized arguments: (--[\w-]+)", message)
        said = ""
        if choice:
            said = near(choice[1], re.findall(r"'(.*?)'", choice[2]))
        elif unknown:
            said = near(unknown[1], [option for parser in _all(self) for option in parser._option_string_actions])
        super().error(f"{message}{said.removesuffix('.')}")

    def format_help(self) -> str:
        self.epilog = self.examples()
        return super().format_help()


def _all(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()


def _parser() -> argparse.ArgumentParser:
    does = "Measure social bias in question-answering models, with its uncertainty."
    parser = _Parser(lambda: _FIRST_STEPS, prog="assay", description=does)
    parser.add_argument("--version", action="version", version=f"assay {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND")
    for module in COMMANDS:
        examples = getattr(module, "examples", partial(getattr, module, "EXAMPLES", None))
        own = commands.add_parser(module.NAME, help=module.HELP, description=module.HELP, examples=examples)
        module.add_options(own)
        own.set_defaults(call=module.call)
    return parser


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings of assay as one line; those of other libraries are not for users."""

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        print(f"assay: warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=UserWarning, module=r"assay\.")
        warnings.showwarning = show
        yield
