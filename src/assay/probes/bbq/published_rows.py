"""Whether rows that came with answers are BBQ's published ones.

A complete category is known by its digest: its rows, written back, must equal the published file. Single rows can only
be compared with the published files themselves, where these are on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from pathlib import Path

from assay.datasets.catalogue import data_folder, is_published
from assay.errors import AssayError
from assay.files.opening import MOST_WHOLE, open_bytes
from assay.files.rows import BadRows
from assay.probes.bbq import category_words
from assay.probes.bbq.editions import ORIGINAL
from assay.probes.bbq.items import Item
from assay.probes.bbq.read_items import data_files, read_examples, stem
from assay.probes.bbq.source import published_set
from assay.results.formatting import plural

_SHOWN = 5


def notes_on_rows(examples: Sequence[Item], folder: Path | None) -> list[str]:
    """Notes on categories that are not the published rows, or not all of them: which rows differ, and in what.

    `place` is the folder of official data, if one was named.
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
    _, official = published_set(ORIGINAL)
    return official is not None and is_published(official, "".join(f"{row.to_line()}\n" for row in rows).encode())


def _published(categories: Mapping[str, object], folder: Path) -> dict[str, Mapping[int, Item]]:
    """The published rows of those categories whose published files are in a folder."""
    _, official = published_set(ORIGINAL)
    rows_by_category: dict[str, Mapping[int, Item]] = {}
    try:
        for file in data_files(folder):
            if stem(file) in categories and official is not None:
                with open_bytes(file) as content:
                    same = is_published(official, content.read(MOST_WHOLE))
                if same:
                    rows_by_category[stem(file)] = {
                        row.example_id: row for row in read_examples(file, BadRows(skip=True))
                    }
    except (AssayError, OSError):
        return rows_by_category  # no official data here: nothing to compare with
    return rows_by_category


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
