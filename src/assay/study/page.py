"""report.html of a study: its models and what they cost, every probe by model, what debiasing and fine-tuning changed.

It links to the page of every run, and to runs/report.html, which has all of them with all their charts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.files.atomic import write_atomically
from assay.findings import Cell as TableCell
from assay.findings import Estimate, Table
from assay.probes import PROBES
from assay.report.across import Beside, side_by_side
from assay.report.bars import Bar, Scale, bar, signed_scale
from assay.report.content import Content, read_content
from assay.report.html import render as render_report
from assay.report.page import environment, script_and_digest
from assay.report.probe_pages import page_of
from assay.report.words import number
from assay.study.against import Against, Compared, against_of, read_compared
from assay.study.debiasing import Debiasing, debiasing_of
from assay.study.file import METHODS, ModelEntry, StudyFile
from assay.study.lineage import Lineage
from assay.study.order import Cell
from assay.study.prepare import run_folder
from assay.study.record import Record
from assay.study.task import Cost, cost_of, scores_of


@dataclass(frozen=True)
class Asked:
    """A finished run of the study, its content under the model's title."""

    cell: Cell
    content: Content

    @property
    def link(self) -> str:
        return f"runs/{quote(self.cell.name, safe='')}/report.html"


@dataclass(frozen=True)
class ModelRow:
    """A model of the study: how it came about and what it scores at its task."""

    entry: ModelEntry
    made: str
    baseline: str | None
    cost: Cost | None
    seconds: float | None
    error: str | None
    link: str | None


@dataclass(frozen=True)
class Shift:
    """μ of a language model and of a model that was fine-tuned from it (UnQover, Figure 3)."""

    about: str
    base: str
    tuned: str
    before: Estimate
    after: Estimate
    bar: Bar | None

    @property
    def shift(self) -> float:
        return (self.after.value or 0.0) - (self.before.value or 0.0)


@dataclass(frozen=True)
class Shifts:
    scale: Scale
    rows: Sequence[Shift]
    table: Table


@dataclass(frozen=True)
class Part:
    """A probe: its runs, the models side by side, its own charts over models, and what only a study shows."""

    probe: str
    anchor: str
    runs: Sequence[Asked]
    template: Any
    beside: Beside | None
    models: Mapping[str, Any]
    shifts: Shifts | None
    debiasing: Debiasing | None
    against: Against | None


def write_page(out: Path, file: StudyFile, cells: Sequence[Cell], record: Record) -> Path | None:
    """Write a study's page, and the one with all runs; returns the first, or None where no run is finished."""
    asked = [
        Asked(cell, _titled(read_content(run_folder(out, cell.name)), label))
        for cell, label in labels(cells, file)
        if "finished" in record.runs.get(cell.name, {}) and (run_folder(out, cell.name) / "findings.json").is_file()
    ]
    if not asked:
        return None
    runs = sorted(asked, key=lambda each: [*PROBES].index(each.cell.probe))  # stable: models stay in their order
    everything = render_report([each.content for each in runs], out / "runs")
    write_atomically(out / "runs" / "report.html", everything.encode("utf-8", "replace"))
    page = render(file, runs, record, _compared(out, runs, record))
    write_atomically(out / "report.html", page.encode("utf-8", "replace"))
    return out / "report.html"


def _compared(out: Path, runs: Sequence[Asked], record: Record) -> dict[str, Compared]:
    """The comparisons of these runs as they are now, by the run that is compared."""
    titles = {run.cell.name: run.content.model for run in runs}
    return {
        made["run"]: read_compared(out, made["run"], titles[made["run"]], titles[made["baseline"]])
        for made in record.comparisons.values()
        if "finished" in made
        and {made["run"], made["baseline"]} <= titles.keys()
        and record.holds(made, (made["run"], made["baseline"]))
    }


def labels(cells: Sequence[Cell], file: StudyFile) -> list[tuple[Cell, str]]:
    """Every run with its model's title; with what tells it apart where a model is asked a probe several times.

    Runs go by models in the file's order.
    """
    places = {name: place for place, name in enumerate(file.models)}
    found = []
    for cell in sorted(cells, key=lambda cell: places[cell.model]):
        apart = [cell.run.name] if cell.run.name else []
        apart += [f"{key}={value}" for key, value in cell.varied.items()]
        title = file.models[cell.model].title
        found.append((cell, f"{title} ({', '.join(apart)})" if apart else title))
    return found


def render(file: StudyFile, runs: Sequence[Asked], record: Record, compared: Mapping[str, Compared]) -> str:
    """The page as text."""
    lineage = Lineage(file.models)
    models = model_rows(file, lineage, record)
    parts = [
        _part(f"p{number}", probe, [run for run in runs if run.cell.probe == probe], lineage, models, compared)
        for number, probe in enumerate(dict.fromkeys(run.cell.probe for run in runs), 1)
    ]
    script, digest = script_and_digest()
    done = (record.models, record.runs, record.comparisons)
    return (
        environment()
        .get_template("study.html")
        .render(
            study=file,
            models=models,
            model_table=_model_table(models),
            parts=parts,
            record=record.content,
            failed={name: problem for part in done for name, problem in _errors(part).items()},
            seconds=sum(each.get("seconds", 0.0) for part in done for each in part.values()),
            script=script,
            script_digest=digest,
        )
    )


def model_rows(file: StudyFile, lineage: Lineage, record: Record) -> list[ModelRow]:
    """The models in the file's order."""
    scores = {name: scores_of(record.models.get(name, {}).get("scores")) for name in file.models}
    rows = []
    for name, entry in file.models.items():
        known, baseline = record.models.get(name, {}), lineage.baseline(name)
        rows.append(
            ModelRow(
                entry,
                made_words(entry, file.models),
                file.models[baseline].title if baseline else None,
                cost_of(scores[name], scores[baseline] if baseline else {}),
                known.get("seconds"),
                (known.get("error") or {}).get("problem"),
                f"models/{quote(name, safe='')}/README.md" if "finished" in known else None,
            )
        )
    return rows


def made_words(entry: ModelEntry, models: Mapping[str, ModelEntry]) -> str:
    """How a model came about, in a few words."""
    if entry.how == "spec":
        return f"ready: {entry.value}"
    source = models[entry.source or ""].title
    if entry.how == "train":
        return (
            f"{source}, trained for {entry.value} questions" if entry.value != "mask" else f"{source}, trained further"
        )
    about = f", {entry.attribute}" if entry.attribute else ""
    return f"{source}, debiased: {METHODS[entry.value]}{about}"


def _part(
    anchor: str,
    probe: str,
    runs: Sequence[Asked],
    lineage: Lineage,
    models: Sequence[ModelRow],
    compared: Mapping[str, Compared],
) -> Part:
    shown, contents, several = page_of(probe), [run.content for run in runs], len(runs) > 1
    given = {"content": contents[0], "facts": shown.facts(contents[0]), "run": None}
    module: Any = environment().get_template(shown.template).make_module(given)
    return Part(
        probe,
        anchor,
        runs,
        module,
        side_by_side([(c, shown.headline(c.findings.estimates)) for c in contents]) if several else None,
        shown.models(contents) if several else {},
        shifts_of(runs, lineage) if probe == "unqover" else None,
        debiasing_of([(run.cell.model, run.content) for run in runs], lineage, {m.entry.name: m.cost for m in models})
        if probe == "sodapop"
        else None,
        against_of(
            [compared[run.cell.name] for run in runs if run.cell.name in compared],
            [estimate for content in contents for estimate in shown.headline(content.findings.estimates)],
        ),
    )


def shifts_of(runs: Sequence[Asked], lineage: Lineage) -> Shifts | None:
    """How μ shifts from masked language models to the question-answering models that were made from them.

    Only from a model to one that came from it: the difference of two others would say nothing about fine-tuning.
    """
    found: list[tuple[str, str, str, Estimate, Estimate]] = []
    for base in runs:
        for tuned in runs:
            if base.cell.model not in [entry.name for entry in lineage.above(tuned.cell.model)]:
                continue
            masked, asked = _intensities(base.content, "mask"), _intensities(tuned.content, "span")
            found += [
                (about, base.content.model, tuned.content.model, masked[about], asked[about])
                for about in masked
                if about in asked
            ]
    if not found:
        return None
    scale = signed_scale((after.value or 0.0) - (before.value or 0.0) for *_, before, after in found)
    rows, lines = [], []
    for about, before_name, after_name, before, after in found:
        change = (after.value or 0.0) - (before.value or 0.0)
        title = f"{about}, {before_name} to {after_name}: {number(change)}"
        drawn = bar(scale, change, None, None, None, title, f"From {number(before.value)} to {number(after.value)}.")
        rows.append(Shift(about, before_name, after_name, before, after, drawn))
        line: list[TableCell] = [about, before_name, after_name, before.value, after.value, change]
        lines.append(line)
    order = sorted(range(len(rows)), key=lambda place: rows[place].about)
    columns = ("class", "language_model", "fine_tuned", "mu_before", "mu_after", "shift")
    return Shifts(scale, [rows[k] for k in order], Table(columns, [lines[k] for k in order]))


def _intensities(content: Content, form: str) -> dict[str, Estimate]:
    """μ by class of subjects, and of pooled ones, in one form."""
    return {
        ", ".join([e.group["class"], *([e.group["subjects"]] if "subjects" in e.group else [])]): e
        for e in content.findings.estimates
        if e.metric == "mu" and e.value is not None and e.group.get("form") == form and "class" in e.group
    }


def _titled(content: Content, title: str) -> Content:
    """A run's content with the study's title for its model."""
    model = content.run.get("model")
    named = {**model, "spec": title} if isinstance(model, Mapping) else {"spec": title}
    return replace(content, run={**content.run, "model": named}, findings=replace(content.findings, model=title))


def _errors(part: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    return {name: str(known["error"]["problem"]) for name, known in part.items() if known.get("error")}


def _model_table(rows: Sequence[ModelRow]) -> Table:
    lines: list[Sequence[TableCell]] = []
    for row in rows:
        cost, score = row.cost, row.cost.score if row.cost else None
        numbers = [score.value, score.low, score.high] if score else [None] * 3
        about: list[TableCell] = [row.entry.name, row.entry.title, row.made, cost.metric if cost else None]
        lines.append([*about, *numbers, row.baseline, cost.change if cost else None, row.seconds])
    columns = ("name", "title", "made", "metric", "score", "low", "high", "baseline", "change", "seconds")
    return Table(columns, lines)
