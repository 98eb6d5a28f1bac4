"""Markdown in which nothing that comes from data or a model can act: no markup, no HTML, no broken table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.report.plaintext import visible

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKUP = frozenset("\\`*_[]|~$#")
_STARTS = re.compile(r"^([-+](?=[-\s]|$)|=|\d+(?=[.)](?:\s|$)))")  # of lists, lines and underlined headings
_LINK = re.compile(r"(?i)(?<=\w):(?=//)|(?<=www)\.")  # in what some programs make a link of


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line; spaces around it, which could make it code, are left out.

    >>> escaped("a|b <i> `c`"), escaped("EA_male\n# x"), escaped("- https://x"), escaped("-0.1"), escaped("1. a")
    ('a\\|b &lt;i&gt; \\`c\\`', 'EA\\_male\\\\n\\# x', '\\- https&#58;//x', '-0.1', '&#49;. a')
    """
    marked = "".join(_ENTITIES.get(c, f"\\{c}" if c in _MARKUP else c) for c in visible(text).strip(" "))
    linked = _LINK.sub(lambda match: f"&#{ord(match[0])};", marked)
    return _STARTS.sub(_quiet_start, linked)


def _quiet_start(match: re.Match[str]) -> str:
    start = match[0]
    return f"&#{ord(start[0])};{start[1:]}" if start[0].isdigit() else f"\\{start}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], figures: int = 0) -> list[str]:
    """The lines of a table of Markdown cells; the last `figures` columns are of numbers, to the right."""
    aligned = ["---"] * (len(heads) - figures) + ["---:"] * figures
    return [_row(heads), _row(aligned), *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def fenced(text: str) -> list[str]:
    """Lines of text as code, between fences that the text cannot close.

    >>> fenced("a ``` b")
    ['````', 'a ``` b', '````']
    """
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *map(visible, text.split("\n")), fence]
