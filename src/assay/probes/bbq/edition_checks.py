"""What `assay data check` says about the contents of BBQ's relatives: counts by category, and known defects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.files.rows import BadRows
from assay.probes.bbq.defects import Defect, by_template, find_defects
from assay.probes.bbq.editions import NAMES, ORIGINAL, Edition, has_targets, load_edition, set_name
from assay.probes.bbq.items import AMBIGUOUS, OPTIONS, QUARTET, Item
from assay.results.formatting import plural

_COUNTS = Path(__file__).parents[2] / "data" / "editions" / "counts.tsv"
_ALL = "all"


def content_lines(place: Path, name: str) -> Iterator[str]:
    """Counts and defects of the files of a data set at a place, by edition and language; nothing if there are none."""
    for each in NAMES:
        if each != ORIGINAL and (load_edition(each).data_set or each) == name:
            for language in load_edition(each).languages:
                yield from _lines(load_edition(each), place, language)


def _lines(own: Edition, place: Path, language: str) -> Iterator[str]:
    files = own.find(place, language)
    if not files:
        return
    bad = BadRows(skip=True)
    read = [row for file in files for row in own.read(file, bad)]
    examples = [each.example for each in read]
    targets = np.array([each.target for each in read], np.int8)
    yield f"\n{set_name(own, language)}: {len(read):,} rows in {plural(len(files), 'file')}"
    if not own.on_real_files:
        yield "  assay reads this set from its documentation: it was not tested on these files"
    yield from _counts(own.name, examples)
    yield from bad.notes(f"{own.title}, all files")
    for defect in _defects(own, examples, targets):
        if len(defect.rows):
            drops = " (left out with defects=drop)" if defect.dropped else ""
            yield f"\n{defect.name}: {len(defect.rows):,} rows; {defect.what}{drops}"
            yield from by_template(examples, defect.rows, [each.id for each in read])
    yield from _layout(examples)


def published(name: str) -> dict[str, tuple[int, int | None]]:
    """The published numbers of a set's questions, by category: all, and the ambiguous ones if they are known."""
    lines = _COUNTS.read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    return {
        category: (int(total), int(ambiguous) if ambiguous else None)
        for own, category, total, ambiguous in cells
        if own == name
    }


def _counts(name: str, examples: Sequence[Item]) -> Iterator[str]:
    known, counted = published(name), Counter((example.category, example.condition) for example in examples)
    totals = Counter(example.category for example in examples)
    for category, total in totals.items():
        ambiguous = counted[category, AMBIGUOUS]
        said = f"  {category}: {total:,} rows, {ambiguous:,} of them ambiguous"
        yield said + _compared(known.get(category), total, ambiguous)
    if _ALL in known:
        yield f"  all categories: {len(examples):,} rows" + _compared(known[_ALL], len(examples), None)
    absent = [category for category in known if category != _ALL and category not in totals]
    if absent:
        yield f"  not here: {', '.join(absent)}"


def _compared(told: tuple[int, int | None] | None, total: int, ambiguous: int | None) -> str:
    """
    >>> _compared((8, 4), 8, 4), _compared((8, None), 9, 4), _compared(None, 9, 4)
    (' (as published)', ' (published: 8)', '')
    >>> _compared((8, 4), 8, 3)
    ' (published: 8, 4 of them ambiguous)'
    """
    if told is None:
        return ""
    if told[0] == total and told[1] in (None, ambiguous):
        return " (as published)"
    return f" (published: {told[0]:,}" + (f", {told[1]:,} of them ambiguous)" if told[1] is not None else ")")


def _defects(own: Edition, examples: Sequence[Item], targets: NDArray[np.int8]) -> Iterator[Defect]:
    """BBQ's kinds of defects, which sets made from it may have inherited, and numbers that are not unique."""
    yield from find_defects(examples, targets, from_bbq=own.from_bbq, aimed=has_targets(own))
    numbers = Counter((example.category, example.example_id) for example in examples)
    twice = [row for row, each in enumerate(examples) if numbers[each.category, each.example_id] > 1]
    yield Defect("same number", "several rows of a category have this number", np.array(twice, np.int64), dropped=False)


def _layout(examples: Sequence[Item]) -> Iterator[str]:
    """How the set as a whole is laid out: where UNKNOWN is, and how many rows come in fours."""
    if all(example.unknown == OPTIONS - 1 for example in examples):
        yield "\n“cannot be determined” is the last option of every row: “always C” is right in all ambiguous contexts"
    quartets = Counter((example.category, example.example_id // len(QUARTET)) for example in examples)
    alone = sum(count for count in quartets.values() if count != len(QUARTET))
    if alone:
        yield f"\n{alone:,} rows belong to no whole quartet (four rows of a filled template): --limit never takes them"
