"""BBQ's relatives in other languages and cultures, one file a set; all are read into the same examples.

`--set edition=kobbq` reads the set whose file here is `kobbq.py`. That file has an `EDITION`; nothing else lists it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from assay.errors import UsageError
from assay.files.opening import PACKED
from assay.languages import language_name
from assay.probes.bbq import same_category
from assay.probes.bbq.items import CATEGORIES
from assay.probes.bbq.settings import NAMES as NAMES
from assay.probes.bbq.settings import ORIGINAL as ORIGINAL

if TYPE_CHECKING:
    from assay.files.rows import BadRows, Row
    from assay.probes.bbq.items import Item


class EditionRow(NamedTuple):
    """A row of a set: its example, and the option naming the person that the stereotype is about.

    `target` is NONE where the set's own rule finds no single person. The four examples made from one filled template
    have numbers that give the same quotient when divided by four; `id` is what the set itself calls the row, if that is
    not the example's number. `line` and `row` are where it was read and all that it says, for rows with answers.
    """

    example: Item
    target: int
    stereotype: str = ""
    id: str = ""
    line: int = 0
    row: Row = MappingProxyType({})


@dataclass(frozen=True)
class Edition:
    """A set of questions made like BBQ's.

    `languages` are codes of `assay.languages`, the default first. `find` gives the files of a language at a place, in
    order; `read` the rows of a file, after telling `bad` about those that cannot be used. `unknown_last` says that
    “cannot be determined” is the last option of every row, so that options are shuffled unless `orders` says
    otherwise. `on_real_files` is False for a set that was read from its documentation only. `without` has the metrics
    that the set cannot support, with the reason. `culture` is where its stereotypes are known, as in “known in …”.
    `categories` are all that the set has, as its rows name them. `data_set` is the data set that its files belong to,
    if that has another name. `from_bbq` says that its templates are BBQ's, with their numbers and their defects;
    `parallel` names a set with the same templates under the same numbers, as a set's own languages have.
    """

    name: str
    title: str
    paper: str
    languages: tuple[str, ...]
    find: Callable[[Path, str], list[Path]]
    read: Callable[[Path, BadRows], Iterator[EditionRow]]
    unknown_last: bool = False
    on_real_files: bool = True
    without: Mapping[str, str] = field(default_factory=dict)
    culture: str = ""
    categories: tuple[str, ...] = ()
    data_set: str = ""
    from_bbq: bool = False
    parallel: str = ""


def load_edition(name: str) -> Edition:
    """The set of this name, one of NAMES except BBQ itself."""
    edition: Edition = import_module(f"{__name__}.{name}").EDITION
    return edition


def has_targets(edition: Edition) -> bool:
    """Whether a set is about stereotyped people at all."""
    return "bias_score" not in edition.without


def categories_of(name: str) -> Sequence[str]:
    """All categories of a set."""
    return CATEGORIES if name == ORIGINAL else load_edition(name).categories


def absent_categories(name: str, asked_categories: Iterable[str]) -> list[str]:
    """The categories of a set that are not among those that were asked; none if nothing was."""
    present = {same_category(category.partition(" (")[0]) for category in asked_categories}
    return [category for category in categories_of(name) if same_category(category) not in present] if present else []


def language_of(name: str, language: str) -> str:
    """The language of an edition that a setting asks for; raises UsageError if the set does not have it."""
    codes = ("en",) if name == ORIGINAL else load_edition(name).languages
    if language and language not in codes:
        problem = f"language is {language!r}; edition={name} has {', '.join(codes)}."
        raise UsageError(problem, f"--set language={codes[0]}", code="bad-setting", key="language")
    return language or codes[0]


def set_name(edition: Edition, language: str) -> str:
    """A set as people read it, with the language if it has several.

    >>> set_name(load_edition("mbbq"), "nl")
    'MBBQ (Dutch)'
    """
    return f"{edition.title} ({language_name(language)})" if len(edition.languages) > 1 else edition.title


def files_at(path: Path, name: str, pattern: str) -> list[Path]:
    """The files of a set whose names, without .gz or .xz, match a pattern, in order: those in the first folder that has
    any of NAME/data, NAME, bbq_family/NAME, data and the place itself; or the place, if it is a file."""
    if path.is_file():
        return [path]
    for folder in (path / name / "data", path / name, path / "bbq_family" / name, path / "data", path):
        files: dict[str, Path] = {}
        for file in sorted(folder.glob("*")):  # where both are there, the file itself comes first, and wins
            plain = file.name.removesuffix(file.suffix) if file.suffix in PACKED else file.name
            if re.fullmatch(pattern, plain):
                files.setdefault(plain, file)
        if files:
            return [*files.values()]
    return []
