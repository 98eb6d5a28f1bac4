"""Text that people read: strings, and parts that each view formats, links or escapes in its own way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class Name:
    """Text from data or a model; its writing direction must not affect the text around it."""

    text: str


@dataclass(frozen=True)
class Figure:
    """A number as `assay.wording` writes it."""

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
class Mark:
    """A chart's mark in running text; `place` says which part, if the mark has parts."""

    kind: Literal["dot", "hollow", "range", "floor", "reference", "beyond", "before", "part"]
    place: int = 0


@dataclass(frozen=True)
class Link:
    """A link to a page beside this one."""

    text: Text
    to: str


@dataclass(frozen=True)
class File:
    """A link to a table of the run, shown as the path of its file."""

    table: str


Text: TypeAlias = "str | Name | Figure | Strong | Emphasis | Code | Mark | File | Link | Sequence[Text]"


def plain(text: Text) -> str:
    """Text as a string without any structure.

    >>> plain(["The model ", Strong(Name("m")), " has γ = ", Figure("-0.1"), "; see ", File("gamma"), "."])
    'The model m has γ = -0.1; see tables/gamma.csv.'
    """
    match text:
        case str():
            return text
        case Name() | Figure() | Code() | Strong() | Emphasis() | Link():
            return plain(text.text)
        case File():
            return f"tables/{text.table}.csv"
        case Mark():
            return ""
    return "".join(map(plain, text))


def listed(items: Sequence[Text], between: str = ", ", last: str | None = None) -> Text:
    """Items joined into a list.

    >>> plain(listed(["a", "b", "c"])), plain(listed(["a", "b", "c"], last=" and "))
    ('a, b, c', 'a, b and c')
    """
    parts: list[Text] = []
    for place, item in enumerate(items):
        if place:
            parts.append(last if last is not None and place == len(items) - 1 else between)
        parts.append(item)
    return parts


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Text for a terminal: escape codes, direction marks and lone surrogates are written out; lines and tabs stay.

    >>> printable("a\x1b[31mb\n"), printable("ab\u202ec")
    ('a\\x1b[31mb\n', 'ab\\u202ec')
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def shortened(text: str) -> str:
    """A message in which a value of thousands of digits or words does not hide what is said about it.

    >>> said = shortened("resamples is " + "9" * 5001 + ", expected a whole number.")
    >>> len(said), said[:20], said[-30:]
    (239, 'resamples is 9999999', '9999, expected a whole number.')
    """
    text = _LONG_WORD.sub(lambda found: f"{found[0][:100]}…{found[0][-100:]}", text)
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:2000]} … {text[-900:]}"


_LONG_WORD = re.compile(r"\S{1000,}")
_LONGEST_MESSAGE = 3000
