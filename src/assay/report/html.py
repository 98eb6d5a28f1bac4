"""report.html: one page about one run, made from its folder alone; no network, no script, the same bytes each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from assay.errors import UsageError
from assay.findings import Estimate
from assay.report import words
from assay.report.bbq import bbq_page
from assay.report.bbq_grid import headline_estimates
from assay.report.content import Content, flat, read_content
from assay.report.headline import Verdict, headline_blocks, numbered_notes, outside_interval
from assay.report.sodapop import sodapop_page
from assay.report.unqover import unqover_page


@dataclass(frozen=True)
class _Page:
    """What a probe adds to the page: a template of macros (lead, caution, sections, citation), and what these need.

    `headline` chooses the estimates of the headline table.
    """

    template: str
    facts: Callable[[Content], Mapping[str, Any]] = lambda content: {}
    headline: Callable[[Sequence[Estimate]], Sequence[Estimate]] = lambda estimates: estimates


_BBQ = _Page("bbq.html", bbq_page, headline_estimates)
_PAGES: Mapping[str, _Page] = {
    "unqover": _Page("unqover.html", unqover_page),
    "bbq": _BBQ,
    "bbq-starter": _BBQ,
    "sodapop": _Page("sodapop.html", sodapop_page),
}
_GENERIC = _Page("generic.html")

# The parts of run.json that are shown as lists, and what they are called.
_RECORDED = {
    "stages": "Questions by part",
    "settings": "Settings",
    "engine": "Engine",
    "data": "Data digests",
    "versions": "Versions",
    "machine": "Machine",
    "near_ties": "Near ties (another machine may decide them differently)",
    "timings": "Time, in seconds",
}


def write_html(folder: Path) -> Path:
    """Writes report.html into a run folder, or into a folder of run folders (a tour), and returns its path.

    The page needs only findings.json and the tables; what run.json does not tell is left out.
    """
    path = folder / "report.html"
    runs = [] if (folder / "findings.json").exists() else sorted(file.parent for file in folder.glob("*/findings.json"))
    text = render_tour(sorted(map(read_content, runs), key=_place)) if runs else render(read_content(folder))
    page = text.encode("utf-8", "replace")
    beside = folder / ".report.html.partial"
    try:
        beside.write_bytes(page)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UsageError(
            f"{path}: cannot be written ({error.strerror}).", "Free some space or change the folder's permissions."
        ) from None
    return path


def _place(content: Content) -> int:
    """Where a run stands on the page of a tour: the probes in the order in which they are written about here."""
    return [*_PAGES].index(content.findings.probe) if content.findings.probe in _PAGES else len(_PAGES)


def render(content: Content) -> str:
    """The page as text."""
    page = _PAGES.get(content.findings.probe, _GENERIC)
    notes = numbered_notes(content.findings.estimates)
    estimates = page.headline(content.findings.estimates)
    return (
        _environment()
        .get_template("report.html")
        .render(
            content=content,
            probe_template=page.template,
            facts=page.facts(content),
            blocks=headline_blocks(estimates, notes),
            notes=notes,
            has_interval=any(estimate.low is not None for estimate in estimates),
            has_floor=any(estimate.floor is not None for estimate in estimates),
            has_q=any(estimate.q is not None for estimate in estimates),
            outside=words.OUTSIDE if any(map(outside_interval, estimates)) else "",
            recorded={said: list(flat(content.run[part])) for part, said in _RECORDED.items() if content.run.get(part)},
            model_facts=_model_facts(content),
            tables=[_table_link(content, name) for name in content.findings.tables],
        )
    )


def render_tour(contents: Sequence[Content]) -> str:
    """The page of a tour as text: every run in short, with a link to its own page."""
    environment = _environment()
    runs = []
    for content in contents:
        page = _PAGES.get(content.findings.probe, _GENERIC)
        needs = {"content": content, "facts": page.facts(content)}
        probe: Any = environment.get_template(page.template).make_module(needs)
        runs.append((content, probe, quote(content.folder.name, safe="")))
    models = ", ".join(dict.fromkeys(content.model for content in contents))
    return environment.get_template("tour.html").render(runs=runs, models=models)


def _model_facts(content: Content) -> list[tuple[str, str]]:
    """What identifies the model; not where its files lay, which means nothing to others who read the page."""
    model = content.run.get("model")
    if not isinstance(model, Mapping):
        return [("spec", content.model)]
    return list(flat({key: value for key, value in model.items() if key != "place"}))


def _table_link(content: Content, name: str) -> tuple[str, str, int, str]:
    """(name, relative link, rows, what it holds)"""
    rows = len(content.findings.tables[name].rows)
    return name, f"tables/{quote(name, safe='')}.csv", rows, words.TABLES.get(name, "")


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("assay.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": lambda value: _minus(words.number(value)),
        "fixed": lambda value: _minus(words.fixed(value)),
        "short": lambda value: _minus(f"{value:g}"),
        "probability": words.probability,
        "share": lambda value: _minus(words.share(value)),
        "share_points": words.share_points,
        "equals": words.equals,
        "count": words.count,
    }
    environment.globals |= {
        "interval": lambda low, high: _minus(words.interval(low, high)),
        "fixed_interval": lambda low, high: _minus(words.fixed_interval(low, high)),
        "share_interval": lambda low, high: _minus(words.share_interval(low, high)),
        "plural": words.plural,
        "Verdict": Verdict,
    }
    return environment


def _minus(figures: str) -> str:
    """Figures with a typographic minus, which lines up with digits and is read aloud."""
    return figures.replace("-", "−")
