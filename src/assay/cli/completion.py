"""`assay completion`: a script for shells, and the completions that it asks for."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

NAME = "completion"
HELP = "print a script that lets your shell complete assay commands"
SHELLS = ("bash", "zsh", "fish")
EXAMPLES = """examples:
  # then open a new shell
  assay completion bash >> ~/.bashrc
  assay completion zsh >> ~/.zshrc
  assay completion fish > ~/.config/fish/completions/assay.fish
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell to write a script for")


def call(options: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["assay"], shell=options.shell))
    return 0


def complete(parser: argparse.ArgumentParser, parsers: Iterable[argparse.ArgumentParser]) -> None:
    """Print completions for a shell and exit; `parsers` are those of all commands."""
    import argcomplete

    from assay.config.settings import shown_name
    from assay.probes import probes

    def names(**more: Any) -> list[str]:
        return list(probes())

    def settings(parsed_args: argparse.Namespace, **more: Any) -> list[str]:
        probe = probes().get(getattr(parsed_args, "probe", None) or "")
        return [f"{shown_name(setting)}=" for setting in fields(probe.settings)] if probe else []

    for action in (action for command in parsers for action in command._actions):
        if action.dest in ("probe", "set"):
            action.completer = names if action.dest == "probe" else settings  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)
