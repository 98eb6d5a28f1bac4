"""What `assay data list|fetch|check` print, as lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from assay.data.check import verify
from assay.data.fetch import fetch
from assay.data.official import DATA_SETS, catalogue, data_folder
from assay.engine.progress import Progress
from assay.errors import DataError, UsageError

_CONTENTS = {"bbq": "assay.probes.bbq.defects"}
"""Whose contents are looked through, too: data set -> module with `content_lines(folder)`."""


def list_lines(folder: Path | None) -> Iterator[str]:
    """What there is, and how much of it is here."""
    for row in catalogue(data_folder(folder)):
        here = f"{row.present} of {row.total} files" if row.present else "not here"
        yield f"{row.name:9} {here:16} {row.licence:11} {row.what}"
    yield f"in {data_folder(folder)} (--data or ASSAY_DATA name another folder); `assay data fetch NAME` gets them"


def fetch_lines(folder: Path | None, name: str | None, progress: Progress) -> Iterator[str]:
    """Download a data set, or every one."""
    for each in [name] if name else DATA_SETS:
        done = fetch(each, data_folder(folder), progress=progress)
        fresh, replaced, kept = len(done.new), len(done.replaced), len(done.kept)
        yield f"{each}: {fresh} files fetched ({done.size / 1e6:.1f} MB), {kept} were here already, in {done.folder}"
        if replaced:
            yield f"{each}: {replaced} other files of these names were replaced"


def check_lines(folder: Path | None, name: str | None) -> Iterator[str]:
    """Whether the files are the published ones, and what is known to be wrong in them.

    A file that differs is an error, after everything was listed.
    """
    if name is None:
        raise UsageError("which data?", f"assay data check {'|'.join(DATA_SETS)}")
    place = data_folder(folder)
    states = verify(name, place)
    for state in states:
        if state.state != "missing":
            yield f"{state.state:10} {state.path}{f' ({state.note})' if state.note else ''}"
    counts = Counter(state.state for state in states)
    yield ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    missing = [state.path.name for state in states if state.state == "missing"]
    if missing:
        yield f"missing: {', '.join(missing)}"
    if name in _CONTENTS and any(state.state != "missing" for state in states):
        yield from import_module(_CONTENTS[name]).content_lines(place)
    if counts["different"]:
        raise DataError(
            f"{counts['different']} files in {place / name} are not the published ones.",
            f"Get them again with `assay data fetch {name}`, or use them knowingly.",
        )
