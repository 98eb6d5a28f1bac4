"""report.html: one page about one run or many, made from their folders alone; no network, the same bytes each time.

Charts are drawn here, as SVG, and can be read without a script; report.js lets readers sort, filter, pick and search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.examples import Example, Wanted, read_examples
from assay.files.atomic import write_atomically
from assay.report import words
from assay.report.across import side_by_side
from assay.report.content import Content, flat, read_content
from assay.report.folders import run_folders
from assay.report.headline import estimates_table, headline_blocks, numbered_notes, outside_interval
from assay.report.page import environment, script_and_digest
from assay.report.probe_pages import PAGES, ProbePage, page_of

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


@dataclass(frozen=True)
class Shown:
    """A run on the page: `uid` begins the ids of all its parts, `place` the links to its files."""

    content: Content
    page: ProbePage
    uid: str
    place: str
    examples: Sequence[Example]

    def has(self, about: Wanted) -> bool:
        """Whether the page has an example behind a number."""
        return any(example.fits(about) for example in self.examples)


@dataclass(frozen=True)
class _Part:
    """A probe on the page: its runs, each with the macros of its template and what else the page says about it."""

    anchor: str
    runs: Sequence[tuple[Shown, Any, Mapping[str, Any]]]
    models: Mapping[str, Any]
    beside: Any

    @property
    def probe(self) -> Any:
        return self.runs[0][1]

    @property
    def uid(self) -> str:
        return self.runs[0][0].content.findings.probe


def write_html(folder: Path, *, examples: bool = True) -> Path:
    """Writes report.html into a run folder, or into a folder of run folders (a tour), and returns its path.

    The page needs only findings.json, the tables and examples.jsonl; what run.json does not tell is left out.
    """
    path = folder / "report.html"
    page = render(read_contents(folder), folder, examples=examples)
    write_atomically(path, page.encode("utf-8", "replace"))
    return path


def read_contents(folder: Path) -> list[Content]:
    """The run of a run folder, or the runs in a folder of them, probe by probe in the order of the page."""
    return sorted(map(read_content, run_folders(folder)), key=_place)


def _place(content: Content) -> tuple[int, str]:
    probe = content.findings.probe
    return [*PAGES].index(probe) if probe in PAGES else len(PAGES), probe


def render(contents: Sequence[Content], folder: Path, *, examples: bool = True) -> str:
    """The page as text."""
    templates = environment()
    each = max(1, MOST_EXAMPLES // len(contents)) if examples else 0
    parts: list[_Part] = []
    for probe, own in groupby(contents, key=lambda content: content.findings.probe):
        page, of_probe = page_of(probe), list(own)
        runs = []
        for number, content in enumerate(of_probe, 1):
            uid = f"p{len(parts) + 1}" + (f"-{number}" if len(of_probe) > 1 else "")
            shown = Shown(content, page, uid, _link_to(content, folder), read_examples(content.folder)[:each])
            facts = page.facts(content)
            module: Any = templates.get_template(page.template).make_module(
                {"content": content, "facts": facts, "run": shown}
            )
            runs.append((shown, module, _numbers(shown)))
        several = len(of_probe) > 1
        parts.append(
            _Part(
                f"p{len(parts) + 1}",
                runs,
                page.models(of_probe) if several else {},
                side_by_side([(c, page.headline(c.findings.estimates)) for c in of_probe]) if several else None,
            )
        )
    script, digest = script_and_digest()
    return templates.get_template("report.html").render(
        parts=parts,
        runs=[run for part in parts for run in part.runs],
        models=list(dict.fromkeys(content.model for content in contents)),
        abouts=[example.about for part in parts for shown, _, _ in part.runs for example in shown.examples],
        with_examples=examples,
        days=sorted({day for content in contents if (day := content.said("finished")[:10])}),
        script=script,
        script_digest=digest,
    )


def _numbers(shown: Shown) -> Mapping[str, Any]:
    """What report.html needs of a run besides what its probe says."""
    content = shown.content
    notes = numbered_notes(content.findings.estimates)
    estimates = shown.page.headline(content.findings.estimates)
    return {
        "blocks": headline_blocks(estimates, notes),
        "notes": notes,
        "table": estimates_table(estimates),
        "has_interval": any(estimate.low is not None for estimate in estimates),
        "has_floor": any(estimate.floor is not None for estimate in estimates),
        "has_q": any(estimate.q is not None for estimate in estimates),
        "outside": words.OUTSIDE if any(map(outside_interval, estimates)) else "",
        "recorded": {said: list(flat(content.run[part])) for part, said in _RECORDED.items() if content.run.get(part)},
        "model_facts": _model_facts(content),
        "tables": [_table_link(shown, name) for name in content.findings.tables],
    }


def _link_to(content: Content, folder: Path) -> str:
    """Where a run's files lie, seen from the page: empty, or a folder with its stroke."""
    inner = content.folder.relative_to(folder).parts
    return "".join(f"{quote(part, safe='')}/" for part in inner)


def _model_facts(content: Content) -> list[tuple[str, str]]:
    """What identifies the model; not where its files lay, which means nothing to others who read the page."""
    model = content.run.get("model")
    if not isinstance(model, Mapping):
        return [("spec", content.model)]
    return list(flat({key: value for key, value in model.items() if key != "place"}))


def _table_link(shown: Shown, name: str) -> tuple[str, str, int, str]:
    """(name, relative link, rows, what it holds)"""
    rows = len(shown.content.findings.tables[name].rows)
    return name, f"{shown.place}tables/{quote(name, safe='')}.csv", rows, words.TABLES.get(name, "")
