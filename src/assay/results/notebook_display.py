"""How values are displayed in notebooks. The modules with the views are loaded when something is first shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NotebookView:
    """Sections (of assay.presentation.elements) under a title and a line of facts."""

    title: str
    facts: Sequence[str]
    sections: Sequence[Any]


views: dict[type, Callable[[Any], str]] = {}
"""HTML by the type of what is shown; that of `NotebookView` renders sections."""


def load_views() -> object:
    """Fills `views`; the package replaces this function with the one that does."""


class NotebookDisplay:
    """A value that notebooks show as HTML."""

    def _repr_html_(self) -> str | None:
        return html_of(self)


def html_of(value: object) -> str | None:
    """A value as HTML; None if its type has no view."""
    load_views()
    view = views.get(type(value))
    return None if view is None else view(value)


def show_by_sections(kind: type, sections_of: Callable[[Any], Sequence[NotebookView]]) -> None:
    """Show values of a kind as the sections that `sections_of` makes of them."""
    views[kind] = lambda value: "".join(map(views[NotebookView], sections_of(value)))
