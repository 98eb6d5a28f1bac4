"""The command of the step that helps a run most: other options, or a larger sample; the rest as it was typed."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from assay.verdict import Says

if TYPE_CHECKING:
    from assay.run import Run

NEXT = {"quick": "standard", "standard": "paper"}
TIMES = 10  # the factor for --limit
SETTLED = (Says.UNUSABLE, Says.CANNOT)
"""Verdicts that a larger sample does not change."""

AddOptions = Callable[[argparse.ArgumentParser], None]


def next_commands(runs: Sequence[Run], options: argparse.Namespace, add_options: AddOptions) -> list[tuple[str, str]]:
    """What each command is for, and the command: for a run whose verdict names a step that step, and a larger sample
    of everything unless no run that was asked would gain from it.
    """
    verdicts = [(run, run.findings.verdict) for run in runs]
    found = []
    for run, verdict in verdicts:
        if verdict is not None and verdict.next:
            own: dict[str, Any] = {"probe": run.probe}
            if len(runs) > 1 and options.out is not None:
                own["out"] = f"{options.out.rstrip('/')}-{run.probe}"
            purpose = f"Next ({run.probe})" if len(runs) > 1 else "Next"
            command = command_with(verdict.next, argparse.Namespace(**{**vars(options), **own}), add_options)
            found.append((purpose, command))
    gain = any(verdict is None or not (verdict.next or verdict.says in SETTLED) for _, verdict in verdicts)
    larger = larger_command(options, add_options) if gain else ""
    return [*found, *([("Larger sample", larger)] if larger else [])]


def command_with(step: str, options: argparse.Namespace, add_options: AddOptions) -> str:
    """`assay run` with the options of a step in place of the same ones, and a new folder.

    >>> from assay.cli.run import add_options
    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser)
    >>> options = parser.parse_args("bbq --set orders=2 --set form=free --out runs/a".split())
    >>> command_with("--set orders=all", options, add_options)
    'assay run bbq --out runs/a-orders-all --set form=free --set orders=all'
    """
    parser = argparse.ArgumentParser(add_help=False)
    add_options(parser)
    words = shlex.split(step)
    given, _ = parser.parse_known_args(words)
    changed = {name: value for name, value in vars(given).items() if value != parser.get_default(name)}
    if settings := changed.get("set"):
        keys = {pair.partition("=")[0] for pair in settings}
        changed["set"] = [*(pair for pair in options.set if pair.partition("=")[0] not in keys), *settings]
    name = re.sub(r"[^A-Za-z0-9]+", "-", " ".join(word for word in words if not word.startswith("-")))
    return _command(options, changed, name.strip("-"), add_options)


def larger_command(options: argparse.Namespace, add_options: AddOptions) -> str:
    """`assay run` with the same options, the next preset (or ten times the limit) and a new folder.

    Empty if the run asked everything.

    >>> from assay.cli.run import add_options
    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser)
    >>> larger_command(parser.parse_args("unqover --seed 7 --set class=gender --out runs/a".split()), add_options)
    'assay run unqover --preset standard --out runs/a-standard --set class=gender --seed 7'
    """
    if options.limit is not None:
        size = str(TIMES * options.limit)
        return _command(options, {"limit": size}, size, add_options)
    if options.preset in NEXT:
        size = NEXT[options.preset]
        return _command(options, {"preset": size}, size, add_options)
    return ""


def _command(options: argparse.Namespace, changed: dict[str, Any], name: str, add_options: AddOptions) -> str:
    """The command with these options changed; `name` is what is added to the folder's name."""
    changed["resume"] = "always"  # the option is about the stored answers of this run
    if options.out is not None:
        changed["out"] = f"{options.out.rstrip('/')}-{name}"
    parser = argparse.ArgumentParser(add_help=False)
    add_options(parser)
    now = argparse.Namespace(**{**vars(options), **changed})
    return shlex.join(["assay", "run", *_words(parser, now)])


def _words(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Iterator[str]:
    """Every option that differs from its default, as typed."""
    for action in parser._actions:  # there is no public way to list them
        value = getattr(options, action.dest)
        if value == action.default:
            continue
        if not action.option_strings:
            yield value
        elif action.nargs == 0:
            yield action.option_strings[0]
        else:
            for each in value if isinstance(value, list) else [value]:
                yield from (action.option_strings[0], str(each))
