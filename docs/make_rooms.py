"""The picture of the package's rooms, from its imports: python docs/make_rooms.py writes docs/rooms.svg.

A room imports only rooms below it. A line leads from a room to those that it needs directly: what they import is left
out.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "assay"
PICTURE = Path(__file__).with_name("rooms.svg")
WIDTH, ROW, BOX, HIGH = 900, 74, 118, 34


def rooms() -> list[str]:
    return sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


def imported(room: str) -> Iterator[str]:
    """The rooms that the modules of a room import, late and for types, too."""
    for path in sorted((SOURCE / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            yield from (name.split(".")[1] for name in names if name.startswith("assay."))


def needed() -> Mapping[str, set[str]]:
    every = set(rooms())
    return {room: {*imported(room)} & every - {room} for room in sorted(every)}


def heights(needs: Mapping[str, set[str]]) -> dict[str, int]:
    """How high each room stands: above all that it needs."""
    found: dict[str, int] = {}

    def height(room: str) -> int:
        if room not in found:
            found[room] = 1 + max(map(height, needs[room]), default=-1)
        return found[room]

    for room in needs:
        height(room)
    return found


def direct(needs: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Without the rooms that a needed room needs as well."""

    def below(room: str) -> set[str]:
        return needs[room].union(*map(below, needs[room]))

    return {room: own - set().union(*map(below, own)) for room, own in needs.items()}


def picture() -> str:
    needs = needed()
    by_height: dict[int, list[str]] = defaultdict(list)
    for room, height in heights(needs).items():
        by_height[height].append(room)
    top = max(by_height)
    at = {
        room: (WIDTH * (place + 1) / (len(row) + 1), ROW * (top - height) + ROW / 2)
        for height, row in by_height.items()
        for place, room in enumerate(sorted(row))
    }
    lines = [
        f'<path d="M{at[room][0]:.0f} {at[room][1] + HIGH / 2:.0f}L{at[other][0]:.0f} {at[other][1] - HIGH / 2:.0f}"/>'
        for room, others in direct(needs).items()
        for other in sorted(others)
    ]
    boxes = [
        f'<rect x="{x - BOX / 2:.0f}" y="{y - HIGH / 2:.0f}" width="{BOX}" height="{HIGH}" rx="6"/>'
        f'<text x="{x:.0f}" y="{y + 5:.0f}">{escape(room)}</text>'
        for room, (x, y) in sorted(at.items())
    ]
    style = (
        "path{stroke:#8a93a0;stroke-width:1.2;fill:none}rect{fill:#eef3fb;stroke:#0b57a4}"
        "text{font:15px sans-serif;text-anchor:middle;fill:#14202e}"
    )
    size = f'viewBox="0 0 {WIDTH} {ROW * (top + 1)}" width="{WIDTH}" height="{ROW * (top + 1)}"'
    title = "<title>The rooms of assay: each imports only rooms below it</title>"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    return "\n".join([head, title, f"<style>{style}</style>", *lines, *boxes, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(PICTURE)
