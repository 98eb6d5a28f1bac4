"""`assay data`: the papers' official data."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from assay.asking.progress import shown_progress
from assay.cli.common import add_shared
from assay.datasets.catalogue import DataSet, catalogue, data_folder
from assay.errors import DataError, UsageError, suggest

if TYPE_CHECKING:
    from assay.asking.progress import Progress

NAME = "data"
HELP = "download and check the papers' official data"
EXAMPLES = """examples:
  # the data sets, and which of them are on this machine
  assay data list
  # download the pinned revision and verify it
  assay data fetch bbq
  # check that all files are there and unchanged, and list known defects in them
  assay data check bbq --data DIR
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("fetch", "check", "list"), help="what to do")
    parser.add_argument("name", nargs="?", metavar="NAME", help="a data set; see `assay data list`")
    add_shared(parser, "--data")


def call(options: argparse.Namespace) -> int:
    folder = None if options.data is None else Path(options.data)
    with shown_progress(True) as progress:
        lines = {
            "list": lambda: list_lines(folder),
            "fetch": lambda: fetch_lines(folder, options.name, progress),
            "check": lambda: check_lines(folder, options.name),
        }[options.what]()
        for line in lines:
            print(line)
    return 0


def _named(name: str) -> DataSet:
    from assay.probes import data_sets

    if name not in data_sets():
        remedy = f"Choose one of {', '.join(data_sets())}."
        problem = f"there is no data set {name!r}{suggest(name, data_sets())}"
        raise UsageError(problem, remedy, code="unknown-data-set", key="name")
    return data_sets()[name]


def list_lines(folder: Path | None) -> Iterator[str]:
    """Every data set, and how many of its files are on this machine."""
    from assay.probes import data_sets

    for row in catalogue(data_sets().values(), data_folder(folder)):
        status = f"{row.present} of {row.total} files" if row.present else "not fetched"
        if row.total is None:
            status = f"{row.present} of your own" if row.present else "bring your own"
        yield f"{row.name:9} {status:16} {row.licence:15} {row.what}"
    yield f"Folder: {data_folder(folder)} (change it with --data or ASSAY_DATA). Download: assay data fetch NAME"
    yield "bring your own: `assay data fetch NAME` says where to get the files and where to put them"


def fetch_lines(folder: Path | None, name: str | None, progress: Progress) -> Iterator[str]:
    """Download a data set, or every one that can be downloaded."""
    from assay.datasets.download import fetch
    from assay.probes import data_sets

    for data_set in [_named(name)] if name else [data_set for data_set in data_sets().values() if data_set.pinned]:
        if data_set.pinned is None:
            raise _bring(data_set, folder)
        done = fetch(data_set, data_folder(folder), progress=progress)
        got = f"{len(done.new)} files fetched ({done.size / 1e6:.1f} MB)"
        yield f"{data_set.name}: {got}, {len(done.kept)} already there, in {done.folder}"
        if done.replaced:
            yield f"{data_set.name}: {len(done.replaced)} files that differed were replaced"


def _bring(data_set: DataSet, folder: Path | None) -> UsageError:
    """An error that says how to get the files of a data set that the user brings."""
    problem = f"assay does not download {data_set.name}: {data_set.bring}"
    remedy = f"Put the files, plain or compressed, into {data_folder(folder) / data_set.name}."
    return UsageError(problem, remedy, code="missing-data", key=data_set.name)


def check_lines(folder: Path | None, name: str | None) -> Iterator[str]:
    """Whether the files are the published ones, and the known defects in them.

    Raises an error after all lines if a file is missing or differs.
    """
    from assay.datasets.catalogue import verify
    from assay.probes import data_sets

    if name is None:
        raise UsageError(
            "no data set is named.", f"assay data check {'|'.join(data_sets())}", code="missing-setting", key="name"
        )
    root = data_folder(folder)
    data_set = _named(name)
    if data_set.pinned is None:
        lines = list(_content_lines(data_set, root))
        if not lines:
            raise _bring(data_set, folder)
        yield from lines
        return
    states = verify(data_set, root)
    for state in states:
        if state.state != "missing":
            yield f"{state.state:10} {state.path}{f' ({state.note})' if state.note else ''}"
    counts = Counter(state.state for state in states)
    yield ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    missing = [state.path.name for state in states if state.state == "missing"]
    if missing:
        yield f"missing: {', '.join(missing)}"
    if any(state.state != "missing" for state in states):
        yield from _content_lines(data_set, root)
    if missing:
        problem = f"{len(missing)} of {len(states)} files of {name} are missing in {data_set.folder(root)}."
        remedy = f"Download them with `assay data fetch {name}`, or name the folder that has them: --data DIR."
        raise DataError(problem, remedy, code="missing-data")
    if counts["different"]:
        problem = f"{counts['different']} files in {data_set.folder(root)} differ from the published ones."
        remedy = f"Download them again with `assay data fetch {name}`, unless you changed them on purpose."
        raise DataError(problem, remedy, code="changed-file")


def _content_lines(data_set: DataSet, path: Path) -> Iterator[str]:
    """What the data set's own function says about the contents at a place."""
    if data_set.contents:
        module, _, function = data_set.contents.partition(":")
        yield from getattr(import_module(module), function)(path, data_set.name)
