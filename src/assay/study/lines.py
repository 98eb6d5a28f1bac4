"""Where things stand in a TOML file, which Python's reader does not tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_HEAD = re.compile(r"""\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?$""")


@dataclass(frozen=True)
class Lines:
    """The lines of a file, looked at as text: a place that is not found is None, never a wrong one on purpose."""

    text: str

    def of_table(self, *path: str, key: str | None = None) -> int | None:
        """The line of a key in the table [a.b], else of the table's head."""
        return self._within(
            [place for place, (double, name) in self._heads().items() if not double and name == path], key
        )

    def of_item(self, name: str, number: int, key: str | None = None) -> int | None:
        """The line of a key in the so-manieth (from 0) table of the list [[name]], else of that table's head."""
        heads = [place for place, (double, own) in self._heads().items() if double and own == (name,)]
        return self._within(heads[number : number + 1], key)

    def _heads(self) -> dict[int, tuple[bool, tuple[str, ...]]]:
        """Line number -> whether it is of a list, and the names in it."""
        found = {}
        for place, line in enumerate(self.text.splitlines(), 1):
            if head := _HEAD.match(line):
                found[place] = head[1] == "[[", _names(head[2])
        return found

    def _within(self, heads: Sequence[int], key: str | None) -> int | None:
        if not heads:
            return None
        first = heads[0]
        last = min((place for place in self._heads() if place > first), default=len(self.text.splitlines()) + 1)
        if key is not None:
            named = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""")
            for place, line in enumerate(self.text.splitlines()[first : last - 1], first + 1):
                if named.match(line):
                    return place
        return first


def _names(head: str) -> tuple[str, ...]:
    """
    >>> _names('models."my base"'), _names("models . base")
    (('models', 'my base'), ('models', 'base'))
    """
    found = re.findall(r""""([^"]*)"|'([^']*)'|([^.\s"']+)""", head)
    return tuple(double or single or bare for double, single, bare in found)
