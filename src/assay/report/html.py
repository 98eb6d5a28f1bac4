"""Pages: report.html, about one run or many and made from their folders alone, and sections of blocks of any kind.

A page needs no network, and the same runs give the same bytes.

Charts are drawn here, as SVG, and can be read without a script; report.js lets readers sort, filter, pick and search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from assay.files.atomic import write_atomically
from assay.presentation.elements import Block, DisplayTable, Paragraphs, Section, TextRole
from assay.presentation.leaderboard import Leaderboard
from assay.presentation.rich_text import Text, plain
from assay.probes import across, known_probe, present, spelled_out, table_words
from assay.report.drawing import Scale, scale_for
from assay.report.headline import estimates_across_runs
from assay.report.html_elements import ElementRenderer
from assay.report.html_tables import described
from assay.report.leaderboard_sections import ranking_sections
from assay.report.page_templates import rendered
from assay.report.run_summary import (
    TITLE,
    bottom_line,
    diagnosis_sections,
    example_of,
    reason,
    shown_card,
    unclear,
    verdict_sections,
)
from assay.report.shared import (
    facts,
    flat,
    headings,
    in_order,
    languages,
    notes_of,
    questions_label,
    recorded_facts,
    who_answered,
)
from assay.results.examples import Example, Wanted
from assay.results.formatting import format_number as written
from assay.results.formatting import plural
from assay.results.run import Run, read_missing
from assay.results.verdict import VerdictKind

MOST_EXAMPLES = 360
"""Examples on a page, shared out over its runs."""

MOST_ROWS = 40
"""Rows of the models' headline numbers that are shown unfolded."""

MOST_BYTES = 3_000_000
"""Bytes of a page about several runs. A longer one leaves the charts of each to the run's own page, and what was
recorded about it to its run.json, so that it opens at once."""


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
    "spent": "Endpoint usage",
}


class RunView:
    """What the templates of pages show of a run. `uid` begins the ids of its parts, `place` the links to its files."""

    def __init__(self, run: Run, uid: str, place: str = "", examples: Sequence[Example] = ()) -> None:
        self.run, self.uid, self.examples, self.place = run, uid, examples, place
        self.shown = present(run)
        notes = notes_of(self.shown.sections, self.shown.scorecard.estimates)
        self.view = ElementRenderer(uid, place, self.has, notes, run.level, partial(spelled_out, run.probe))

    def details(self) -> Markup:
        """All that the page shows of the run below its card."""
        return Markup("\n").join([self.verdict(), self.found(), self.headline(), self.diagnosis()])

    def own_page(self) -> str:
        """The link to the page about this run alone; empty where there is none."""
        return f"{self.place}report.html" if self.place and (self.run.folder / "report.html").exists() else ""

    def verdict(self) -> Markup:
        """The run's verdict, which is a warning if its answers cannot be used."""
        return self.view.sections(verdict_sections(self.run.findings))

    def diagnosis(self) -> Markup:
        diagnosis = self.run.findings.diagnosis
        sections = diagnosis_sections(self.run.findings, with_table=True)
        return self.view.folded(TITLE, diagnosis.why if diagnosis else "", sections)

    def found(self) -> Markup:
        """Warnings, the main chart, and folded everything else that was found."""
        lead = self.shown.lead
        warnings = [block for block in lead if isinstance(block, Paragraphs) and block.role is TextRole.WARNING]
        words = self.view.blocks([block for block in lead if block not in warnings])
        in_words = self.view.fold("In words", "what was asked, and what was found", words)
        return self.view.blocks(warnings) + self.view.unfolding(self.shown.sections, in_words)

    def headline(self) -> Markup:
        """All headline numbers, folded."""
        card = self.shown.scorecard
        inner = self.view.scorecard(card, f"{self.run.probe}-headline")
        if not card.scores:
            return inner
        return self.view.fold("Headline numbers", plural(len(card.scores), "estimate"), inner)

    def card(self) -> Mapping[str, Any]:
        """The run on the first screen."""
        findings = self.run.findings
        card, verdict = shown_card(self.run, self.shown), findings.verdict
        says = VerdictKind.UNUSABLE if findings.unusable else verdict.says if verdict else None
        number = card.number
        ends = [] if number is None else [number.value, number.low, number.high, number.floor]
        return {
            "verdict": says.value if says else "",
            "look": says.name.lower() if says else "",
            "why": self.view.text(reason(findings)),
            "warning": self.view.text(card.warning),
            "sentence": self.view.text(card.sentence),
            "label": self.view.text(card.label),
            "number": number,
            "drawn": "" if number is None else f"{plain(card.label)}: {written(number.value)}",
            "described": "" if number is None else described(number),
            "scale": Scale(*card.ends) if card.ends else scale_for(ends, signed=card.sides is not None),
            "severity": card.severity,
            "unclear": unclear(self.run, card, number) if number is not None and number.hollow else "",
            "not_asked": self.view.text(card.not_asked),
            "sides": card.sides,
            "example": example_of(card, self.examples),
        }

    def has(self, about: Wanted) -> bool:
        """Whether the page has an example behind a number."""
        return any(example.fits(about) for example in self.examples)

    def recorded(self) -> Mapping[str, Any]:
        """How the run was made, without the local path of its model."""
        run, recorded = self.run, recorded_facts(self.run.info)
        model = {key: value for key, value in recorded.get("model", {}).items() if key != "place"}
        return {
            "asked": questions_label(run) or "number of questions not recorded",
            "facts": facts(run, "preset", "limit", "seed", "started", "finished"),
            "served": who_answered(run),
            "recorded": {title: list(flat(recorded[part])) for part, title in _RECORDED.items() if part in recorded},
            "model_facts": list(flat(model or {"name": run.model})),
            "tables": [
                (name, self.view.link_to(name), len(table.rows), table_words(run.probe, name))
                for name, table in run.findings.tables.items()
            ],
        }

    @staticmethod
    def beside(uid: str, block: Block, sections: Sequence[Section], *, fold: bool = False) -> Markup:
        """What several runs of its probe show together, under this id; with `fold` only the first chart is open."""
        view = ElementRenderer(uid)
        first, rows = view.block(block), len(block.rows) if isinstance(block, DisplayTable) else 0
        if not fold:
            return first + view.sections(sections)
        if rows > MOST_ROWS:
            first = view.fold("Headline numbers by model", plural(rows, "row"), first)
        return view.unfolding(sections, first)


def write_html(folder: Path, runs: Sequence[Run], *, examples: bool = True, boards: Sequence[Leaderboard] = ()) -> Path:
    """Writes report.html about a folder's runs into it, and returns its path; `boards` rank the models."""
    path = folder / "report.html"
    page = render(in_order(runs), folder, examples=examples, boards=boards)
    write_atomically(path, page.encode("utf-8", "replace"))
    return path


def render(runs: Sequence[Run], folder: Path, *, examples: bool = True, boards: Sequence[Leaderboard] = ()) -> str:
    """The page as text."""
    n_examples = max(1, MOST_EXAMPLES // len(runs)) if examples else 0
    parts: list[dict[str, Any]] = []  # the probes
    for _, probe_runs in groupby(runs, key=lambda run: run.probe):
        of_probe, anchor = list(probe_runs), f"p{len(parts) + 1}"
        many = len(of_probe) > 1
        run_views = [
            RunView(
                run, f"{anchor}-{number}" if many else anchor, _link_to(run, folder), run.findings.examples[:n_examples]
            )
            for number, run in enumerate(of_probe, 1)
        ]
        headlines = [view.shown.scorecard.estimates for view in run_views]
        together = (
            RunView.beside(anchor, estimates_across_runs(of_probe, headlines), across(of_probe), fold=True)
            if many
            else ""
        )
        names = {view.shown.name for view in run_views}
        name = names.pop() if len(names) == 1 else known_probe(of_probe[0].probe).title
        parts.append({"anchor": anchor, "runs": run_views, "probe": run_views[0], "name": name, "beside": together})
    views = [view for part in parts for view in part["runs"]]
    models, addresses = headings(list(dict.fromkeys(run.model for run in runs)))
    page = partial(
        rendered,
        "report.html",
        parts=parts,
        runs=views,
        models=models,
        addresses=addresses,
        abouts=[spelled_out(view.run.probe, example.about) for view in views for example in view.examples],
        with_examples=examples,
        missing=_missing(runs, folder),
        languages=languages(view.shown for view in views),
        ranked=[(section, _view(section).blocks(section.blocks, 3)) for section in ranking_sections(boards)],
        about=_about(runs),
        bottom=ElementRenderer("bottom").text(bottom_line(runs)),
    )
    full_page = page(details=details) if (details := _details(views)) else ""
    fits = len(runs) == 1 or 0 < len(full_page.encode("utf-8", "replace")) < MOST_BYTES
    return full_page if fits else page(details={})


def _details(runs: Sequence[RunView]) -> Mapping[str, Markup]:
    """The details of every run by its uid; none of several where they alone are too long together."""
    details: dict[str, Markup] = {}
    length = 0
    for view in runs:
        details[view.uid] = view.details()
        length += len(details[view.uid])
        if len(runs) > 1 and length > MOST_BYTES:
            return {}
    return details


def _about(runs: Sequence[Run]) -> str:
    """What kind of model it is, when it was audited, and how large the runs are."""
    days = sorted({day for run in runs if (day := run.info.finished[:10])})
    n_questions = sum(run.questions or 0 for run in runs)
    sizes = list(dict.fromkeys(run.sample for run in runs if run.sample))
    demo = all(run.model == "builtin" for run in runs)
    facts = ["demonstration: a small teaching model; do not base decisions on its answers" if demo else ""]
    facts += [" to ".join(dict.fromkeys([days[0], days[-1]])) if days else ""]
    facts += [plural(n_questions, "question") if n_questions else "", ", ".join(sizes)]
    return " · ".join(filter(None, facts))


def _missing(runs: Sequence[Run], folder: Path) -> list[tuple[str, str]]:
    """Titles of probes that the folder notes as missing, and why; not of those that ran since."""
    probes_run = {run.probe for run in runs}
    return [
        (known_probe(name).title, reason) for name, reason in read_missing(folder).items() if name not in probes_run
    ]


def _link_to(run: Run, folder: Path) -> str:
    """The path from the page to a run's files: empty, or a folder with a slash at the end."""
    inner = run.folder.relative_to(folder).parts
    return "".join(f"{quote(part, safe='')}/" for part in inner)


# --- sections of blocks, whatever they are about


def write_page(path: Path, title: Text, sections: Sequence[Section], kind: str = "") -> Path:
    """Writes a page and returns its path; `kind` says in a word what it is."""
    write_atomically(path, render_page(title, sections, kind).encode("utf-8", "replace"))
    return path


def render_page(title: Text, sections: Sequence[Section], kind: str = "") -> str:
    """The page as text; every section has a heading, and its anchor as id."""
    views = [_view(section) for section in sections]
    return rendered(
        "sections.html",
        title=plain(title),
        heading=ElementRenderer("").text(title),
        kind=kind,
        sections=[
            (section, view, view.blocks(section.blocks, 3)) for section, view in zip(sections, views, strict=True)
        ],
    )


def _view(section: Section) -> ElementRenderer:
    """The renderer of a section that stands alone: its anchor begins the ids, and it numbers its own notes."""
    return ElementRenderer(section.anchor, notes=notes_of([section]))
