"""Known defects of published files, which are kept by default, and what `assay data check` says of the contents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import NONE
from assay.errors import UsageError
from assay.files.rows import BadRows
from assay.probes.bbq.editions import NAMES, ORIGINAL, Edition, has_targets, load_edition, set_name
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED, OPTIONS, QUARTET, Item
from assay.probes.bbq.read_items import beside, data_files, read_examples
from assay.probes.bbq.targets import find_targets, has_exchanged_people, template_attributes
from assay.results.formatting import plural

DROP = "drop"

_COUNTS = Path(__file__).parents[2] / "data" / "editions" / "counts.tsv"
_ALL = "all"


@dataclass(frozen=True)
class Defect:
    """One kind of defect: its rows, and whether `defects=drop` leaves them out."""

    name: str
    description: str
    rows: NDArray[np.int64]
    dropped: bool


def find_defects(
    examples: Sequence[Item], targets: NDArray[np.int8], *, from_bbq: bool = True, aimed: bool = True
) -> list[Defect]:
    """All known kinds of defects, including those that do not occur in these examples.

    Those of single templates are looked for only if the templates are BBQ's, missing targets only if the set has any.
    """

    def rows(is_defective: Callable[[Item], bool]) -> NDArray[np.int64]:
        return np.array([row for row, example in enumerate(examples) if is_defective(example)], np.int64)

    duplicates = _duplicates(examples, ordered=True)
    reordered = np.setdiff1d(_duplicates(examples, ordered=False), duplicates)
    template_defects = [
        Defect("wrong gold", _WRONG_GOLD, rows(_wrong_gold), dropped=True),
        Defect("swapped labels", _SWAPPED, rows(_swapped), dropped=True),
    ]
    missing = [Defect("no single target", _NO_TARGET, np.flatnonzero(targets == NONE), dropped=True)]
    return [
        *(template_defects if from_bbq else []),
        *(missing if aimed else []),
        Defect("duplicate", "the same question and options as an earlier example", duplicates, dropped=True),
        Defect(
            "repeated", "the same as an earlier example, with the options in another order", reordered, dropped=False
        ),
        Defect("exchanged people", _EXCHANGED, rows(has_exchanged_people), dropped=False),
        Defect("blank label", "an option without filler and label in answer_info", rows(_blank), dropped=False),
        Defect("stray brace", "a brace left over from a slot in a text", rows(_brace), dropped=False),
    ]


def dropped(defects: Sequence[Defect]) -> NDArray[np.int64]:
    """The examples that `defects=drop` leaves out."""
    return np.unique(np.concatenate([defect.rows for defect in defects if defect.dropped]))


_WRONG_GOLD = "Physical_appearance 6 b and 10 b: the fact names one person, the label the other"
_WRONG_TEMPLATES = (("Physical_appearance", "6", "b"), ("Physical_appearance", "10", "b"))
_SWAPPED = "Gender_identity 35 and 36: the person who is trans in the text has the label nonTrans"
_EXCHANGED = "answer_info has each person's words where the option names the other; the options decide who is who"
_NO_TARGET = "neither or both of the people are the stereotyped one, so the bias metrics leave the example out"


def _wrong_gold(example: Item) -> bool:
    template = example.category, example.question_index, example.version
    return template in _WRONG_TEMPLATES and example.condition == DISAMBIGUATED


def _swapped(example: Item) -> bool:
    """The authors' program swapped two names together with their labels, which belong to the place."""
    return any(
        label.startswith("nonTrans") and f"{filler}, who is trans" in example.context for filler, label in example.info
    )


def _blank(example: Item) -> bool:
    return any(not label for _, label in example.info)


def _brace(example: Item) -> bool:
    return any("{" in text or "}" in text for text in (example.context, example.question, *example.answers))


def _duplicates(examples: Sequence[Item], *, ordered: bool) -> NDArray[np.int64]:
    """Examples that repeat an earlier one except for their number and, unless `ordered`, the order of the options."""
    seen: set[tuple[str, str, str, tuple[str, ...]]] = set()
    rows = []
    for row, example in enumerate(examples):
        answers = example.answers if ordered else tuple(sorted(example.answers))
        key = example.category, example.context, example.question, answers
        if key in seen:
            rows.append(row)
        seen.add(key)
    return np.array(rows, np.int64)


# --- `assay data check`


def content_lines(path: Path, name: str) -> Iterator[str]:
    """The defects of BBQ's files: ids by category and template."""
    bad = BadRows(skip=True)
    try:
        files = data_files(path)
    except UsageError:
        return
    examples = [example for file in files for example in read_examples(file, bad)]
    yield f"\n{len(examples):,} examples in {len(files)} files"
    yield from bad.notes("all files")
    templates = beside(path, files[0], "templates")
    known = template_attributes(templates, examples)
    for defect in find_defects(examples, find_targets(examples, known)):
        drops = "left out with defects=drop" if defect.dropped else "harmless"
        yield f"\n{defect.name}: {len(defect.rows)} examples; {defect.description} ({drops})"
        yield from by_template(examples, defect.rows)


def by_template(examples: Sequence[Item], rows: NDArray[np.int64], ids: Sequence[str] = ()) -> Iterator[str]:
    """The numbers of some examples, or what their set calls them, a line for each template."""
    templates: dict[tuple[str, str], list[str]] = {}
    has_ids = any(ids)
    for row in rows.tolist():
        example = examples[row]
        name = ids[row] if has_ids else str(example.example_id)
        templates.setdefault((example.category, example.question_index), []).append(name)
    for (category, question), names in templates.items():
        yield f"  {category} template {question}: {ranges(names)}"


_NAMED, _LONGEST = 5, 100
"""How many templates a note names, and how many characters each of them has there."""


def template_names(examples: Sequence[Item], rows: NDArray[np.int64], ids: Sequence[str] = ()) -> str:
    """The same for a note: the first templates, and how many more there are."""
    lines = [shorten(line.strip(), _LONGEST, placeholder=" …") for line in by_template(examples, rows, ids)]
    more = [f"and {plural(len(lines) - _NAMED, 'more template')}"] if len(lines) > _NAMED else []
    return "; ".join([*lines[:_NAMED], *more])


_NUMBERED = re.compile(r"(|.* )(0|[1-9][0-9]{0,14})")


def ranges(names: Sequence[str]) -> str:
    """Names that are numbers, or words and a number, as ranges; other names as they are.

    >>> ranges(["1", "2", "3", "7"]), ranges(["ambig 4", "ambig 5", "disambig 5"]), ranges(["002a-003", "7"])
    ('1 to 3, 7', 'ambig 4 to 5, disambig 5', '002a-003, 7')
    """
    matches = [_NUMBERED.fullmatch(name) for name in names]
    numbers: dict[str, list[int]] = {}
    for match in filter(None, matches):
        numbers.setdefault(match[1], []).append(int(match[2]))
    parts = [name for name, match in zip(names, matches, strict=True) if match is None]
    for words, sequence in numbers.items():
        spans: list[list[int]] = []
        for number in sorted(sequence):
            if spans and number == spans[-1][1] + 1:
                spans[-1][1] = number
            else:
                spans.append([number, number])
        listed = ", ".join(str(lo) if lo == hi else f"{lo} to {hi}" for lo, hi in spans)
        parts.append(f"{words}{listed}")
    return ", ".join(parts)


def edition_content_lines(path: Path, name: str) -> Iterator[str]:
    """Counts and defects of the files of a data set, by edition and language; nothing if there are none."""
    for edition in (load_edition(code) for code in NAMES if code != ORIGINAL):
        if (edition.data_set or edition.name) == name:
            for language in edition.languages:
                yield from _edition_lines(edition, path, language)


def _edition_lines(edition: Edition, path: Path, language: str) -> Iterator[str]:
    files = edition.find(path, language)
    if not files:
        return
    bad = BadRows(skip=True)
    rows = [row for file in files for row in edition.read(file, bad)]
    examples = [row.example for row in rows]
    targets = np.array([row.target for row in rows], np.int8)
    yield f"\n{set_name(edition, language)}: {len(rows):,} rows in {plural(len(files), 'file')}"
    if not edition.on_real_files:
        yield "  assay reads this set from its documentation: it was not tested on these files"
    yield from _counts(edition.name, examples)
    yield from bad.notes(f"{edition.title}, all files")
    for defect in _edition_defects(edition, examples, targets):
        if len(defect.rows):
            drops = " (left out with defects=drop)" if defect.dropped else ""
            yield f"\n{defect.name}: {len(defect.rows):,} rows; {defect.description}{drops}"
            yield from by_template(examples, defect.rows, [row.id for row in rows])
    if all(example.unknown == OPTIONS - 1 for example in examples):
        yield "\n“cannot be determined” is the last option of every row: “always C” is right in all ambiguous contexts"
    quartets = Counter((example.category, example.example_id // len(QUARTET)) for example in examples)
    alone = sum(count for count in quartets.values() if count != len(QUARTET))
    if alone:
        yield f"\n{alone:,} rows belong to no whole quartet (four rows of a filled template): --limit never takes them"


def published_counts(name: str) -> dict[str, tuple[int, int | None]]:
    """The published numbers of a set's questions, by category: all, and the ambiguous ones if they are known."""
    lines = _COUNTS.read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    return {
        category: (int(total), int(ambiguous) if ambiguous else None)
        for edition, category, total, ambiguous in cells
        if edition == name
    }


def _counts(name: str, examples: Sequence[Item]) -> Iterator[str]:
    published, counted = published_counts(name), Counter((example.category, example.condition) for example in examples)
    totals = Counter(example.category for example in examples)
    for category, total in totals.items():
        ambiguous = counted[category, AMBIGUOUS]
        line = f"  {category}: {total:,} rows, {ambiguous:,} of them ambiguous"
        yield line + _compared(published.get(category), total, ambiguous)
    if _ALL in published:
        yield f"  all categories: {len(examples):,} rows" + _compared(published[_ALL], len(examples), None)
    absent = [category for category in published if category != _ALL and category not in totals]
    if absent:
        yield f"  not here: {', '.join(absent)}"


def _compared(published: tuple[int, int | None] | None, total: int, ambiguous: int | None) -> str:
    """
    >>> _compared((8, 4), 8, 4), _compared((8, None), 9, 4), _compared(None, 9, 4)
    (' (as published)', ' (published: 8)', '')
    >>> _compared((8, 4), 8, 3)
    ' (published: 8, 4 of them ambiguous)'
    """
    if published is None:
        return ""
    if published[0] == total and published[1] in (None, ambiguous):
        return " (as published)"
    ambiguous_part = f", {published[1]:,} of them ambiguous" if published[1] is not None else ""
    return f" (published: {published[0]:,}{ambiguous_part})"


def _edition_defects(edition: Edition, examples: Sequence[Item], targets: NDArray[np.int8]) -> list[Defect]:
    """BBQ's kinds of defects, which sets made from it may have inherited, and numbers that are not unique."""
    numbers = Counter((example.category, example.example_id) for example in examples)
    twice = [row for row, example in enumerate(examples) if numbers[example.category, example.example_id] > 1]
    repeated = np.array(twice, np.int64)
    return [
        *find_defects(examples, targets, from_bbq=edition.from_bbq, aimed=has_targets(edition)),
        Defect("same number", "several rows of a category have this number", repeated, dropped=False),
    ]
