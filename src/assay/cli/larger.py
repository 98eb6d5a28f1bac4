"""The command for a larger sample: the same command with another size and folder."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator

NEXT = {"quick": "standard", "standard": "paper"}
TIMES = 10  # the factor for --limit


def larger_command(options: argparse.Namespace, add_options: Callable[[argparse.ArgumentParser], None]) -> str:
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
        changed = {"limit": size}
    elif options.preset in NEXT:
        size = NEXT[options.preset]
        changed = {"preset": size}
    else:
        return ""
    changed["resume"] = "always"  # the option is about the stored answers of this run
    if options.out is not None:
        changed["out"] = f"{options.out.rstrip('/')}-{size}"
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
