"""Pages: report.html, about one run or many and made from their folders alone, and sections of blocks of any kind.

A page needs no network, and has the same bytes each time.

Charts are drawn here, as SVG, and can be read without a script; report.js lets readers sort, filter, pick and search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from assay.blocks import Block, Section, Text, plain
from assay.examples import Example, Wanted
from assay.files.atomic import write_atomically
from assay.probes import across, present, table_words
from assay.report.headline import beside
from assay.report.html_blocks import Blocks
from assay.report.page import rendered
from assay.report.texts import asked, facts, flat, in_order, known, notes_of
from assay.run import Run

MOST_EXAMPLES = 360
"""Examples on a page, shared out over its runs."""


# The parts of run.json that are shown as lists, and what they are called.
_RECORDED = {
    "stages": "Questions by part",
    "settings": "Settings",
    "engine": "Engine",
    "data": "Data digests",
    "others": "Other models",
    "versions": "Versions",
    "machine": "Machine",
    "near_ties": "Near ties (another machine may decide them differently)",
    "timings": "Time, in seconds",
}


class Told:
    """What the templates of pages show of a run. `uid` begins the ids of its parts, `place` the links to its files."""

    def __init__(self, run: Run, uid: str, place: str = "", examples: Sequence[Example] = ()) -> None:
        self.run, self.uid, self.place, self.examples = run, uid, place, examples
        self.shown = present(run)
        self.view = Blocks(
            uid, place, self.has, notes_of(self.shown.sections, self.shown.scorecard.estimates), run.level
        )

    def has(self, about: Wanted) -> bool:
        """Whether the page has an example behind a number."""
        return any(example.fits(about) for example in self.examples)

    @staticmethod
    def beside(uid: str, block: Block, sections: Sequence[Section]) -> Markup:
        """What several runs of its probe show together, under this id."""
        view = Blocks(uid)
        return view.block(block) + view.sections(sections)


@dataclass(frozen=True)
class _Part:
    """A probe on the page: its runs, each with what else the page says about it, and what they show together."""

    anchor: str
    runs: Sequence[tuple[Told, Mapping[str, Any]]]
    beside: Markup

    @property
    def probe(self) -> Told:
        return self.runs[0][0]


def write_html(folder: Path, runs: Sequence[Run], *, examples: bool = True) -> Path:
    """Writes report.html about a folder's runs into it, and returns its path."""
    path = folder / "report.html"
    page = render(in_order(runs), folder, examples=examples)
    write_atomically(path, page.encode("utf-8", "replace"))
    return path


def render(runs: Sequence[Run], folder: Path, *, examples: bool = True) -> str:
    """The page as text."""
    each = max(1, MOST_EXAMPLES // len(runs)) if examples else 0
    parts: list[_Part] = []
    for _, own in groupby(runs, key=lambda run: run.probe):
        of_probe, anchor = list(own), f"p{len(parts) + 1}"
        several = len(of_probe) > 1
        shown = [
            Told(run, f"{anchor}-{number}" if several else anchor, _link_to(run, folder), run.findings.examples[:each])
            for number, run in enumerate(of_probe, 1)
        ]
        headlines = [told.shown.scorecard.estimates for told in shown]
        together = Told.beside(anchor, beside(of_probe, headlines), across(of_probe)) if several else Markup("")
        parts.append(_Part(anchor, [(told, _recorded(told)) for told in shown], together))
    return rendered(
        "report.html",
        parts=parts,
        runs=[run for part in parts for run in part.runs],
        models=list(dict.fromkeys(run.model for run in runs)),
        abouts=[example.about for part in parts for told, _ in part.runs for example in told.examples],
        with_examples=examples,
        days=sorted({day for run in runs if (day := run.info.finished[:10])}),
    )


def _recorded(shown: Told) -> Mapping[str, Any]:
    """What report.html says about how a run was made."""
    run, said = shown.run, known(shown.run.info)
    return {
        "asked": asked(run) or "number of questions not recorded",
        "facts": facts(run, "preset", "limit", "seed", "started", "finished"),
        "recorded": {title: list(flat(said[part])) for part, title in _RECORDED.items() if part in said},
        "model_facts": _model_facts(run, said),
        "tables": [_table_link(shown, name) for name in run.findings.tables],
    }


def _link_to(run: Run, folder: Path) -> str:
    """Where a run's files lie, seen from the page: empty, or a folder with its stroke."""
    inner = run.folder.relative_to(folder).parts
    return "".join(f"{quote(part, safe='')}/" for part in inner)


def _model_facts(run: Run, said: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What identifies the model; not where its files lay, which means nothing to others who read the page."""
    model = {key: value for key, value in said.get("model", {}).items() if key != "place"}
    return list(flat(model or {"name": run.model}))


def _table_link(shown: Told, name: str) -> tuple[str, str, int, str]:
    """(name, relative link, rows, what it holds)"""
    run = shown.run
    link = f"{shown.place}tables/{quote(name, safe='')}.csv"
    return name, link, len(run.findings.tables[name].rows), table_words(run.probe, name)


# --- sections of blocks, whatever they are about


def write_page(path: Path, title: Text, sections: Sequence[Section], kind: str = "") -> Path:
    """Writes a page and returns its path; `kind` says in a word what it is."""
    write_atomically(path, render_page(title, sections, kind).encode("utf-8", "replace"))
    return path


def render_page(title: Text, sections: Sequence[Section], kind: str = "") -> str:
    """The page as text; every section has a heading, and its anchor as id."""
    views = [Blocks(section.anchor, notes=notes_of([section])) for section in sections]
    return rendered(
        "sections.html",
        title=plain(title),
        heading=Blocks("").text(title),
        kind=kind,
        sections=[
            (section, view, view.blocks(section.blocks, 3)) for section, view in zip(sections, views, strict=True)
        ],
    )
