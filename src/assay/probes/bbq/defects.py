"""Known defects of the published files, listed by `assay data check bbq` and kept by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import NONE
from assay.errors import UsageError
from assay.files.decoding import whole_number
from assay.files.rows import BadRows
from assay.probes.bbq.items import DISAMBIGUATED, Item
from assay.probes.bbq.read_items import data_files, read_examples
from assay.probes.bbq.targets import find_targets

DROP = "drop"


@dataclass(frozen=True)
class Defect:
    """One kind of defect: its rows, and whether `defects=drop` leaves them out."""

    name: str
    what: str
    rows: NDArray[np.int64]
    dropped: bool


def find_defects(
    examples: Sequence[Item], targets: NDArray[np.int8], *, from_bbq: bool = True, aimed: bool = True
) -> list[Defect]:
    """All known kinds of defects, including those that do not occur in these examples.

    Those of single templates are looked for only if the templates are BBQ's, missing targets only if the set has any.
    """

    def rows(is_so: Callable[[Item], bool]) -> NDArray[np.int64]:
        return np.array([row for row, example in enumerate(examples) if is_so(example)], np.int64)

    again = _again(examples, ordered=True)
    reordered = np.setdiff1d(_again(examples, ordered=False), again)
    known = [
        Defect("wrong gold", _WRONG_GOLD, rows(_wrong_gold), dropped=True),
        Defect("swapped labels", _SWAPPED, rows(_swapped), dropped=True),
    ]
    missing = [Defect("no single target", _NO_TARGET, np.flatnonzero(targets == NONE), dropped=True)]
    return [
        *(known if from_bbq else []),
        *(missing if aimed else []),
        Defect("duplicate", "the same question and options as an earlier example", again, dropped=True),
        Defect(
            "repeated", "the same as an earlier example, with the options in another order", reordered, dropped=False
        ),
        Defect("blank label", "an option without filler and label in answer_info", rows(_blank), dropped=False),
        Defect("stray brace", "a brace left over from a slot in a text", rows(_brace), dropped=False),
    ]


def dropped(defects: Sequence[Defect]) -> NDArray[np.int64]:
    """The examples that `defects=drop` leaves out."""
    return np.unique(np.concatenate([defect.rows for defect in defects if defect.dropped]))


_WRONG_GOLD = "Physical_appearance 6 b and 10 b: the fact names one person, the label the other"
_WRONG_TEMPLATES = (("Physical_appearance", "6", "b"), ("Physical_appearance", "10", "b"))
_SWAPPED = "Gender_identity 35 and 36: the person who is trans in the text has the label nonTrans"
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


def _again(examples: Sequence[Item], *, ordered: bool) -> NDArray[np.int64]:
    """Examples that repeat an earlier one except for their number and, unless `ordered`, the order of the options."""
    seen: set[tuple[str, str, str, tuple[str, ...]]] = set()
    found = []
    for row, example in enumerate(examples):
        answers = example.answers if ordered else tuple(sorted(example.answers))
        key = example.category, example.context, example.question, answers
        if key in seen:
            found.append(row)
        seen.add(key)
    return np.array(found, np.int64)


def content_lines(place: Path, name: str) -> Iterator[str]:
    """The defects of the files at a place, for `assay data check bbq`: ids by category and template."""
    bad = BadRows(skip=True)
    try:
        files = data_files(place)
    except UsageError:
        return
    examples = [example for file in files for example in read_examples(file, bad)]
    yield f"\n{len(examples):,} examples in {len(files)} files"
    yield from bad.notes("all files")
    for defect in find_defects(examples, find_targets(examples)):
        drops = "left out with defects=drop" if defect.dropped else "harmless"
        yield f"\n{defect.name}: {len(defect.rows)} examples; {defect.what} ({drops})"
        yield from by_template(examples, defect.rows)


def by_template(examples: Sequence[Item], rows: NDArray[np.int64], ids: Sequence[str] = ()) -> Iterator[str]:
    """The numbers of some examples, or what their set calls them, a line for each template."""
    templates: dict[tuple[str, str], list[int]] = {}
    for row in rows.tolist():
        templates.setdefault((examples[row].category, examples[row].question_index), []).append(row)
    for (category, question), own in templates.items():
        called = [ids[row] for row in own] if any(ids) else [str(examples[row].example_id) for row in own]
        numbers = [number for each in called if (number := whole_number(each)) is not None]
        listed = ranges(numbers) if len(numbers) == len(called) else ", ".join(called)
        yield f"  {category} template {question}: {listed}"


def ranges(numbers: Sequence[int]) -> str:
    """
    >>> ranges([1, 2, 3, 7])
    '1-3, 7'
    """
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(lo) if lo == hi else f"{lo}-{hi}" for lo, hi in parts)
