"""`assay completion`: what a shell needs to complete commands."""

from __future__ import annotations

import argparse

NAME = "completion"
HELP = "print a script that lets your shell complete assay commands"
SHELLS = ("bash", "zsh", "fish")
EXAMPLES = """examples:
  assay completion bash >> ~/.bashrc
  assay completion zsh >> ~/.zshrc
  assay completion fish > ~/.config/fish/completions/assay.fish
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def call(options: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["assay"], shell=options.shell))
    return 0
