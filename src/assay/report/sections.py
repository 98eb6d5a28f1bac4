"""Sections of blocks as a page of their own, whatever they are about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.blocks import Section, Text, notes_in, plain
from assay.files.atomic import write_atomically
from assay.report.headline import numbered
from assay.report.html_blocks import Blocks
from assay.report.page import rendered


def write_page(path: Path, title: Text, sections: Sequence[Section], kind: str = "") -> Path:
    """Writes a page and returns its path; `kind` says in a word what it is."""
    write_atomically(path, render_page(title, sections, kind).encode("utf-8", "replace"))
    return path


def render_page(title: Text, sections: Sequence[Section], kind: str = "") -> str:
    """The page as text; every section has a heading, and its anchor as id."""
    views = [Blocks(section.anchor, notes=numbered(notes_in([section]))) for section in sections]
    return rendered(
        "sections.html",
        title=plain(title),
        heading=Blocks("").text(title),
        kind=kind,
        sections=[
            (section, view, view.blocks(section.blocks, 3)) for section, view in zip(sections, views, strict=True)
        ],
    )
