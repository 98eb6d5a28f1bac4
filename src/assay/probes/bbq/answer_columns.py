"""A column of answers as a whole: numbers or letters of options, or texts; and columns that hold something else."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path

from assay.answers import parse_index
from assay.errors import DataError, UsageError
from assay.files.rows import require_any
from assay.probes.bbq.items import OPTIONS
from assay.probes.bbq.logs.log_rows import LoggedAnswer

_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|nan)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """The column of answers that the user names, and the number of the first option in it."""

    name: str
    first: int = 0


def numbered(texts: list[LoggedAnswer], file: Path, answer_column: Column, notes: list[str]) -> Iterator[LoggedAnswer]:
    """Numbers of options, as numbers from 0; other answers as texts.

    A text such as "1" is a number only if all answers are numbers or letters. A number that is no option's, such as -1
    for no answer, is a text that names none. Notes for the reader go to `notes`.
    """
    column, first = answer_column.name, answer_column.first
    _require_answers(texts, file, column)
    labels = [parse_index(text.answer, OPTIONS + 1) for text in texts]  # one more, as they may count from 1
    pairs = [*zip(labels, texts, strict=True)]
    if first and not any(label >= 0 for label in labels):
        problem = f'"{column}" has texts, but --labels-from is about numbers or letters.'
        raise UsageError(problem, "Leave --labels-from out.", code="bad-option", file=file, key="labels-from")
    notes += _require_counted_from(first, pairs, file, column)
    all_labels = all(label >= 0 or _is_blank(text.answer) or _is_number(text.answer) for label, text in pairs)
    for i, (label, text) in enumerate(pairs):
        option = label - first
        if 0 <= option < OPTIONS and (all_labels or first or not isinstance(text.answer, str)):
            texts[i] = replace(text, answer=option)
        elif text.answer is not None:
            texts[i] = replace(text, answer=str(text.answer))
    yield from require_any(texts, file, "usable answer", "Leave it out, or give a file of BBQ's rows.")


_MOSTLY = 0.5  # of the answers must be labels before the column is taken for one of labels
_FEW = 1e-3
"""So improbable must it be that no answer is the first option, before a note asks whether labels count from 1."""


def _require_counted_from(first: int, pairs: Sequence[tuple[int, LoggedAnswer]], file: Path, column: str) -> list[str]:
    """Refuse labels that cannot count from `first`; a note on those that hardly do.

    3 (or D) is no option if labels count from 0, so labels from 1 to 3 count from 1, however few they are. 1 and 2
    without 0 and 3 may count from either.
    """
    first_rows = dict(reversed(pairs))  # the first row of each label
    if first and 0 in first_rows:
        problem = f'"{column}" is {first_rows[0].answer!r}, so the labels do not count from 1 (or B).'
        remedy = "Leave --labels-from out."
        raise DataError(problem, remedy, code="bad-value", file=file, line=first_rows[0].line, key=column)
    labelled = [(label, text) for label, text in pairs if label >= 0]
    n_answers = sum(not _is_none(text.answer) for _, text in pairs)
    too_large = any(label < 0 and _is_number(text.answer) and not _is_none(text.answer) for label, text in pairs)
    if first or 0 in first_rows or too_large or not labelled or len(labelled) < _MOSTLY * n_answers:
        return []
    if OPTIONS in first_rows:
        letters = not _is_number(first_rows[OPTIONS].answer)
        problem = f'"{column}" has labels from {"B to D and no A" if letters else "1 to 3 and no 0"}. Counted from 1?'
        remedy = "--labels-from 1" + (", which makes B the first option." if letters else "")
        raise DataError(problem, remedy, code="bad-label", file=file, line=first_rows[OPTIONS].line, key=column)
    if _chance_of_no_first(labelled) >= _FEW:
        return []
    question = "if the labels count from 1, add --labels-from 1"
    return [f'{file.name}: none of the answers in "{column}" is the first option (0, or A); {question}']


def _chance_of_no_first(labelled: Sequence[tuple[int, LoggedAnswer]]) -> float:
    """How probable it is that a model as accurate as this one never names the first option, if it errs at random."""
    right = sum(label == text.example.label for label, text in labelled) / len(labelled)
    return math.prod(1 - right if text.example.label == 0 else right + (1 - right) / 2 for _, text in labelled)


GOLD = "label"
"""BBQ's column of right answers."""

_MANY = 20  # so many right answers are hardly a model's


def note_on_gold(column: str | None, right: Sequence[bool]) -> list[str]:
    """A note if the answers are the data's own right ones, or seem to be."""
    if column == GOLD:
        return [f'"{GOLD}" has the right answers: these are the scores of the data themselves, not of a model']
    if len(right) >= _MANY and all(right):
        return [
            f'all {len(right):,} answers in "{column}" are right: are they a model\'s, or the right answers themselves?'
        ]
    return []


def _require_answers(texts: Sequence[LoggedAnswer], file: Path, column: str) -> None:
    """Refuse a column that only has TRUE and FALSE."""
    answers = {str(text.answer).strip().casefold() for text in texts if not _is_blank(text.answer)}
    if answers and answers <= {"true", "false"}:
        problem = f'"{column}" has TRUE or FALSE in every row: it seems to say whether an answer was right.'
        remedy = "Name the column with the answers themselves: --answers COLUMN"
        raise DataError(problem, remedy, code="bad-value", file=file, line=texts[0].line, key=column)


def _is_blank(answer: object) -> bool:
    return answer is None or answer == ""


def _is_none(answer: object) -> bool:
    """Whether an answer is blank, a negative number or NaN: "no answer", as programs write it."""
    if isinstance(answer, int | float) or (isinstance(answer, str) and _is_number(answer)):
        return not float(answer) >= 0
    return _is_blank(answer)


def _is_number(answer: object) -> bool:
    return isinstance(answer, Real) or (isinstance(answer, str) and bool(_NUMBER.fullmatch(answer)))
