"""A column of answers as a whole: numbers or letters of options, or texts; and columns that hold something else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path

from assay.answers import parse_index
from assay.errors import DataError
from assay.probes.bbq.logs.rows import Given
from assay.rows import not_none

_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|nan)\s*", re.IGNORECASE)


def numbered(texts: list[Given], file: Path, column: str) -> Iterator[Given]:
    """Numbers of options, as numbers; other answers as texts.

    A text such as "1" is a number only if all answers are numbers or letters. A number that is no option's, such as -1
    for no answer, is a text that names none.
    """
    _require_answers(texts, file, column)
    numbers = [parse_index(each.answer) for each in texts]
    told = zip(numbers, texts, strict=True)
    whole = all(number >= 0 or _is_blank(each.answer) or _is_number(each.answer) for number, each in told)
    for place, (number, each) in enumerate(zip(numbers, texts, strict=True)):
        if number >= 0 and (whole or not isinstance(each.answer, str)):
            texts[place] = replace(each, answer=number)
        elif each.answer is not None:
            texts[place] = replace(each, answer=str(each.answer))
    yield from not_none(texts, file, "usable answer", "Leave it out, or give a file of BBQ's rows.")


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


def _require_answers(texts: Sequence[Given], file: Path, column: str) -> None:
    """Refuse a column that only has TRUE and FALSE."""
    written = {str(each.answer).strip().casefold() for each in texts if not _is_blank(each.answer)}
    if written and written <= {"true", "false"}:
        problem = f'"{column}" has TRUE or FALSE in every row: it seems to say whether an answer was right.'
        remedy = "Name the column with the answers themselves: --answers COLUMN"
        raise DataError(problem, remedy, code="bad-value", file=file, line=texts[0].line, key=column)


def _is_blank(answer: object) -> bool:
    return answer is None or answer == ""


def _is_number(answer: object) -> bool:
    return isinstance(answer, Real) or (isinstance(answer, str) and bool(_NUMBER.fullmatch(answer)))
