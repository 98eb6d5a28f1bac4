"""report.html of a study: its models and what they cost, every probe by model, what debiasing and fine-tuning changed.

It links to the page of every run, and to runs/report.html, which has all of them with all their charts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from assay.blocks import (
    Block,
    Column,
    Figure,
    Group,
    Kind,
    Link,
    Name,
    Row,
    Section,
    Strong,
    StudyRun,
    Table,
    TaskScore,
    Text,
    Tools,
)
from assay.files.atomic import write_atomically
from assay.findings import Cell
from assay.findings import Table as Data
from assay.lab.debiasing import METHODS
from assay.lab.studies.changes import Changes, Compared, changes_of
from assay.lab.studies.file import Model, StudyFile
from assay.lab.studies.lineage import Lineage
from assay.lab.studies.record import Record
from assay.lab.studies.steps import Compare, RunProbe
from assay.lab.studies.task_scores import scores_of, task_score
from assay.probes import across, of_study, present, probes
from assay.report.headline import beside
from assay.report.html import Told
from assay.report.html import render as render_report
from assay.report.html_blocks import Blocks
from assay.report.page import environment, script_and_digest
from assay.run import Run
from assay.runs.folder import open_bare
from assay.wording import number


@dataclass(frozen=True)
class Asked:
    """A finished run of the study, its content under the model's title."""

    step: RunProbe
    content: Run

    @property
    def link(self) -> str:
        return f"runs/{quote(self.step.name, safe='')}/report.html"


@dataclass(frozen=True)
class Part:
    """A probe: its runs, what only a study shows of them, the models side by side, its own charts over models."""

    probe: str
    anchor: str
    runs: Sequence[Asked]
    template: Told
    of_study: Markup
    changes: Changes | None
    changed: Markup
    beside: Block | None
    models: Sequence[Section]


def write_page(out: Path, file: StudyFile, runs: Sequence[RunProbe], record: Record) -> Path | None:
    """Write a study's page, and the one with all runs; returns the first, or None where no run is finished."""
    asked = [
        Asked(run, _titled(open_bare(run.folder(out)), label))
        for run, label in labels(runs, file)
        if "finished" in record.of(run) and (run.folder(out) / "findings.json").is_file()
    ]
    if not asked:
        return None
    asked.sort(key=lambda each: [*probes()].index(each.step.probe))  # stable: models stay in their order
    everything = render_report([each.content for each in asked], out / "runs")
    write_atomically(out / "runs" / "report.html", everything.encode("utf-8", "replace"))
    page = render(file, asked, record, _compared(out, asked, record))
    write_atomically(out / "report.html", page.encode("utf-8", "replace"))
    return out / "report.html"


def _compared(out: Path, runs: Sequence[Asked], record: Record) -> dict[str, Compared]:
    """The comparisons of these runs as they are now, by the run that is compared."""
    titles = {run.step.name: run.content.model for run in runs}
    made = [(each["run"], each["baseline"], each) for each in record.part(Compare.part).values() if "finished" in each]
    return {
        run: Compared.read(out / Compare.home / run, run, titles[run], titles[baseline])
        for run, baseline, known in made
        if {run, baseline} <= titles.keys() and record.holds(known, (run, baseline))
    }


def labels(runs: Sequence[RunProbe], file: StudyFile) -> list[tuple[RunProbe, str]]:
    """Every run with its model's title; with what tells it apart where a model is asked a probe several times.

    Runs go by models in the file's order.
    """
    places = {name: place for place, name in enumerate(file.models)}
    found = []
    for run in sorted(runs, key=lambda run: places[run.model]):
        apart = [run.runs.name] if run.runs.name else []
        apart += [f"{key}={value}" for key, value in run.varied.items()]
        title = file.models[run.model].title
        found.append((run, f"{title} ({', '.join(apart)})" if apart else title))
    return found


def render(file: StudyFile, runs: Sequence[Asked], record: Record, compared: Mapping[str, Compared]) -> str:
    """The page as text."""
    lineage = Lineage(file.models)
    tasks = _tasks(file, lineage, record)
    asked = dict.fromkeys(run.step.probe for run in runs)
    parts = [
        _part(f"p{number}", probe, [run for run in runs if run.step.probe == probe], lineage, tasks, compared)
        for number, probe in enumerate(asked, 1)
    ]
    script, digest = script_and_digest()
    done = {name: known for part in ("models", "runs", "comparisons") for name, known in record.part(part).items()}
    return (
        environment()
        .get_template("study.html")
        .render(
            study=file,
            models=Blocks("models").sections([Section([_models(file, lineage, record, tasks)])]),
            parts=parts,
            record=record.content,
            failed={name: str(known["error"]["problem"]) for name, known in done.items() if known.get("error")},
            seconds=sum(known.get("seconds", 0.0) for known in done.values()),
            script=script,
            script_digest=digest,
        )
    )


def _part(
    anchor: str,
    probe: str,
    runs: Sequence[Asked],
    lineage: Lineage,
    tasks: Mapping[str, TaskScore | None],
    compared: Mapping[str, Compared],
) -> Part:
    contents, several, view = [run.content for run in runs], len(runs) > 1, Blocks(anchor)
    headlines = [present(content).scorecard.estimates for content in contents]
    changes = changes_of(
        [compared[run.step.name] for run in runs if run.step.name in compared],
        [estimate for headline in headlines for estimate in headline],
    )
    return Part(
        probe,
        anchor,
        runs,
        Told(contents[0], anchor),
        view.sections(of_study([_made(run, lineage, tasks[run.step.model]) for run in runs])),
        changes,
        view.sections([Section([changes.summary])] if changes else []),
        beside(contents, headlines) if several else None,
        across(contents) if several else (),
    )


def _made(run: Asked, lineage: Lineage, task: TaskScore | None) -> StudyRun:
    name, models = run.step.model, lineage.models
    baseline = lineage.baseline(name)
    methods = [
        f"{METHODS[model.value].title}{f' ({model.attribute})' if model.attribute else ''}"
        for model in lineage.methods(name)
    ]
    sources = [model.name for model in lineage.above(name)]
    return StudyRun(run.content, name, sources, "; ".join(methods), models[baseline].title if baseline else None, task)


# --- the models


def _tasks(file: StudyFile, lineage: Lineage, record: Record) -> dict[str, TaskScore | None]:
    """What each model scores at its task, beside its baseline."""
    scores = {name: scores_of(record.part("models").get(name, {}).get("scores")) for name in file.models}
    baselines = {name: lineage.baseline(name) for name in file.models}
    return {
        name: task_score(own, scores[baselines[name] or ""] if baselines[name] else {}) for name, own in scores.items()
    }


def _models(file: StudyFile, lineage: Lineage, record: Record, tasks: Mapping[str, TaskScore | None]) -> Table:
    """The models in the file's order."""
    rows, lines = [], []
    for name, model in file.models.items():
        known, task, made = record.part("models").get(name, {}), tasks[name], made_words(model, file.models)
        seconds, error = known.get("seconds"), (known.get("error") or {}).get("problem")
        before = lineage.baseline(name)
        baseline = file.models[before].title if before else None
        change = task.change if task else None
        title: Text = Name(model.title)
        if "finished" in known:
            title = Link(title, f"models/{quote(name, safe='')}/README.md")
        failed: list[Text] = [" ", Strong("failed:"), " ", Name(error)] if error else []
        score: Text = [f"{task.metric.replace('_', ' ')} ", task.said] if task else ""
        signed = "" if change is None else Figure(f"{'+' if change > 0 else ''}{number(change)}")
        rows.append(
            Row([title, [Name(made), *failed], score, Name(baseline or ""), signed, "" if seconds is None else seconds])
        )
        e = task.score if task else None
        numbers: list[Cell] = [e.value, e.low, e.high] if e else [None] * 3
        about: list[Cell] = [name, model.title, made, task.metric if task else None]
        lines.append([*about, *numbers, baseline, change, seconds])
    columns = ("name", "title", "made", "metric", "score", "low", "high", "baseline", "change", "seconds")
    return Table(
        title="The models, and what making them cost",
        how="each model with how it came about and, where task data were given, what it scores there (its 95% interval "
        "beside it). The change is against the model that it is compared with; below zero it lost some of its ability.",
        data=Data(columns, lines),
        file="study-models",
        anchor="table",
        columns=[
            *(Column(head, Kind.TEXT) for head in ("model", "made from", "task score", "compared with", "change")),
            Column("seconds", Kind.COUNT),
        ],
        groups=[Group(rows)],
        sort=Tools.NONE,
        filter=Tools.NONE,
    )


def made_words(model: Model, models: Mapping[str, Model]) -> str:
    """How a model came about, in a few words."""
    if model.spec:
        return f"ready: {model.spec}"
    source = models[model.source or ""].title
    if model.train:
        return (
            f"{source}, trained further" if model.train == "mask" else f"{source}, trained for {model.train} questions"
        )
    about = f", {model.attribute}" if model.attribute else ""
    return f"{source}, debiased: {METHODS[model.value].title}{about}"


def _titled(content: Run, title: str) -> Run:
    """A run with the study's title for its model."""
    info = replace(content.info, model=replace(content.info.model, name=title))
    return replace(content, info=info, findings=replace(content.findings, model=title))
