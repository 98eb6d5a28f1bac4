"""Whether files, and rows that came with answers, are the published ones.

A complete category is known by its digest: its rows, written back, must equal the published file. Single rows can only
be compared with the published files themselves, where these are on this machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from assay.datasets.catalogue import DataSet, data_folder, is_published
from assay.errors import AssayError
from assay.files.opening import MOST_WHOLE, open_bytes
from assay.files.rows import BadRows
from assay.probes.bbq import PROBE, category_words
from assay.probes.bbq.editions import ORIGINAL, load_edition
from assay.probes.bbq.items import Item
from assay.probes.bbq.read_items import data_files, read_examples, stem
from assay.probes.bbq.source import ItemSource
from assay.results.formatting import plural

_OFFICIAL = next(data_set for data_set in PROBE.data.published if data_set.name == ORIGINAL)


@lru_cache(maxsize=4)
def note_on(source: ItemSource) -> tuple[str, ...]:
    """A note on files of a source that are not the published ones, if there are any."""
    files = [*source.files, *([source.metadata] if source.metadata else [])]
    return tuple(note_on_files((Path(path) for path, _ in files), source.edition))


def note_on_files(files: Iterable[Path], name: str = ORIGINAL) -> list[str]:
    """A note that names those files whose content was not published, if there are any and the set is pinned."""
    title, pinned = _published_set(name)
    others = [file.name for file in files if pinned and not _is_published(file, pinned)]
    return [f"not the published files: {', '.join(others)}; results on them are not {title} results"] if others else []


def _is_published(file: Path, pinned: DataSet) -> bool:
    with open_bytes(file) as content:
        return is_published(pinned, content.read(MOST_WHOLE))


def _published_set(name: str) -> tuple[str, DataSet | None]:
    """What BBQ or an edition is called, and its data set if that is pinned."""
    if name == ORIGINAL:
        return PROBE.title, _OFFICIAL
    edition = load_edition(name)
    pinned = {data_set.name: data_set for data_set in PROBE.data.published if data_set.pinned}
    return edition.title, pinned.get(edition.data_set or name)


# --- rows that came with answers


_SHOWN = 5


def notes_on_rows(examples: Sequence[Item], folder: Path | None) -> list[str]:
    """Notes on categories that are not the published rows, or not all of them: which rows differ, and in what.

    `folder` has the official data, if one was named.
    """
    ordered = sorted(examples, key=lambda row: (row.category, row.example_id))
    others = {
        category: category_rows
        for category, rows in groupby(ordered, key=lambda row: row.category)
        if not _is_whole(category_rows := list(rows))
    }
    if not others:
        return []
    names = ", ".join(map(category_words, others))
    first = f"not the published rows, or not all of them: {names}; results on them may not be BBQ results"
    published = _published(others, data_folder(folder))
    unknown = ", ".join(category_words(category) for category in others if category not in published)
    compare = (
        f"whether rows of {unknown} were edited is unknown: --data DIR compares them with the published files there"
    )
    compared = (_compared(others[category], rows) for category, rows in published.items())
    return [first, *compared, *([compare] if unknown else [])]


def _is_whole(rows: Sequence[Item]) -> bool:
    return is_published(_OFFICIAL, "".join(f"{row.to_line()}\n" for row in rows).encode())


def _published(categories: Mapping[str, object], folder: Path) -> dict[str, Mapping[int, Item]]:
    """The published rows of those categories whose published files are in a folder."""
    published: dict[str, Mapping[int, Item]] = {}
    with suppress(AssayError, OSError):  # no official data here: nothing to compare with
        for file in data_files(folder):
            if stem(file) in categories and _is_published(file, _OFFICIAL):
                rows = read_examples(file, BadRows(skip=True))
                published[stem(file)] = {row.example_id: row for row in rows}
    return published


def _compared(rows: Sequence[Item], published: Mapping[int, Item]) -> str:
    """How many rows of a category are not published ones, and which."""
    category = category_words(rows[0].category)
    differing = {row.example_id: [*_differing(row, published.get(row.example_id))] for row in rows}
    differing = {number: names for number, names in differing.items() if names}
    if not differing:
        return f"{category}: all {plural(len(rows), 'row')} are published ones, of {len(published):,}"
    listed = "; ".join(f"{number} ({', '.join(names)})" for number, names in [*differing.items()][:_SHOWN])
    more = f"; and {len(differing) - _SHOWN:,} more" if len(differing) > _SHOWN else ""
    return (
        f"{category}: {len(differing):,} of {plural(len(rows), 'row')} differ from the published ones: {listed}{more}"
    )


_CALLED = {"polarity": "question_polarity", "condition": "context_condition", "info": "answer_info"}


def _differing(row: Item, published: Item | None) -> Iterator[str]:
    """The fields in which a row differs from the published one."""
    if published is None:
        yield "no such row"
        return
    for name in (field.name for field in fields(Item)):
        if getattr(row, name) != getattr(published, name):
            yield _CALLED.get(name, name)
