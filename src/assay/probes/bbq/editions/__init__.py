"""BBQ's relatives in other languages and cultures, one file a set; all are read into the same examples.

`--set edition=kobbq` reads the set whose file here is `kobbq.py`. That file has an `EDITION`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from assay.probes.bbq.examples import Example
from assay.rows import Bad

ORIGINAL = "bbq"
NAMES = (ORIGINAL,)
"""The values of the setting `edition`."""

LANGUAGES = {
    **{"en": "English", "es": "Spanish", "ca": "Catalan", "nl": "Dutch", "tr": "Turkish", "de": "German"},
    **{"ko": "Korean", "eu": "Basque", "ja": "Japanese", "hi": "Hindi", "zh": "Chinese"},
}


class Read(NamedTuple):
    """A row of a set: its example, and the option naming the person that the stereotype is about.

    `target` is NONE where the set's own rule finds no single person. The four examples made from one filled template
    have numbers that give the same quotient when divided by four.
    """

    example: Example
    target: int
    stereotype: str = ""


@dataclass(frozen=True)
class Edition:
    """A set of questions made like BBQ's.

    `languages` are codes of `assay.languages`, the default first. `find` gives the files of a language at a place, in
    order; `read` the rows of a file, after telling `bad` about those that cannot be used. `unknown_last` says that
    “cannot be determined” is the last option of every row, so that options are shuffled unless `orders` says
    otherwise. `on_real_files` is False for a set that was read from its documentation only. `without` has the metrics
    that the set cannot support, with the reason.
    """

    name: str
    title: str
    paper: str
    languages: tuple[str, ...]
    find: Callable[[Path, str], list[Path]]
    read: Callable[[Path, Bad], Iterator[Read]]
    unknown_last: bool = False
    on_real_files: bool = True
    without: Mapping[str, str] = field(default_factory=dict)


def edition(name: str) -> Edition:
    """The set of this name, one of NAMES."""
    found: Edition = import_module(f"{__name__}.{name}").EDITION
    return found
