"""Text that people read: strings, and parts that each view formats, links or escapes in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from assay.results import formatting
from assay.results.findings import table_path
from assay.results.run import TaskScore


@dataclass(frozen=True)
class Verbatim:
    """Text from data or a model; its writing direction must not affect the text around it."""

    text: str


@dataclass(frozen=True)
class NumberText:
    """A number as `assay.results.formatting` writes it."""

    text: str


@dataclass(frozen=True)
class Strong:
    text: Text


@dataclass(frozen=True)
class Emphasis:
    text: Text


@dataclass(frozen=True)
class Code:
    text: str


@dataclass(frozen=True)
class ChartMark:
    """A chart's mark in running text; `place` says which part, if the mark has parts."""

    kind: Literal["dot", "hollow", "range", "floor", "reference", "beyond", "before", "part"]
    place: int = 0


@dataclass(frozen=True)
class PageLink:
    """A link to a page beside this one."""

    text: Text
    to: str


@dataclass(frozen=True)
class TableLink:
    """A link to a table of the run, shown as the path of its file."""

    table: str


Text: TypeAlias = (
    "str | Verbatim | NumberText | Strong | Emphasis | Code | ChartMark | TableLink | PageLink | Sequence[Text]"
)


def plain(text: Text) -> str:
    """Text as a string without any structure.

    >>> plain(["The model ", Strong(Verbatim("m")), " has γ = ", NumberText("-0.1"), "; see ", TableLink("gamma"), "."])
    'The model m has γ = -0.1; see tables/gamma.csv.'
    """
    match text:
        case str():
            return text
        case Verbatim() | NumberText() | Code() | Strong() | Emphasis() | PageLink():
            return plain(text.text)
        case TableLink():
            return table_path(text.table)
        case ChartMark():
            return ""
    return "".join(map(plain, text))


def join_texts(items: Sequence[Text], between: str = ", ", last: str | None = None) -> Text:
    """Items joined into a list.

    >>> plain(join_texts(["a", "b", "c"])), plain(join_texts(["a", "b", "c"], last=" and "))
    ('a, b, c', 'a, b and c')
    """
    parts: list[Text] = []
    for index, item in enumerate(items):
        if index:
            parts.append(last if last is not None and index == len(items) - 1 else between)
        parts.append(item)
    return parts


def task_score_text(score: TaskScore) -> Text:
    """A model's score at its task, with the interval."""
    estimate = score.score
    around = f" {formatting.format_interval(estimate.low, estimate.high)}" if estimate.low is not None else ""
    return NumberText(f"{formatting.format_number(estimate.value)}{around}")
