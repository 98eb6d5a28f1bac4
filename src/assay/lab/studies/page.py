"""report.html of a study: what was found, the models and their task scores, each probe by model, and what changed.

It links to the page of every run, and to runs/report.html, which has all of them with all their charts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, TypedDict
from urllib.parse import quote

from assay.compare.differences import Difference, key_of, tested_and_clear
from assay.compare.present import about, differences_block
from assay.errors import DataError
from assay.files.atomic import write_atomically
from assay.files.decoding import json_value, require_typed
from assay.files.opening import read_whole, reason
from assay.lab.debiasing import METHODS
from assay.lab.studies.steps import COMPARISON, CompareRuns, RunProbe, scores_of
from assay.lab.studies.study_file import StudyFile, StudyModel
from assay.lab.studies.study_record import StudyRecord
from assay.presentation.elements import (
    CellKind,
    DisplayTable,
    RowGroup,
    Section,
    TableCell,
    TableColumn,
    TableRow,
    TableTools,
)
from assay.presentation.rich_text import NumberText, PageLink, Strong, Text, Verbatim, join_texts, task_score_text
from assay.probes import across, of_study, present, probes
from assay.report.headline import estimates_across_runs
from assay.report.html import RunView
from assay.report.html import render as render_report
from assay.report.html_elements import ElementRenderer
from assay.report.page_templates import environment, script_and_digest
from assay.results.findings import Cell, Estimate, is_claimed
from assay.results.findings import Table as Data
from assay.results.formatting import format_count, format_number, plural
from assay.results.run import Run, StudyRun, TaskScore
from assay.runs.folder import open_bare

Tasks = Mapping[str, TaskScore | None]
"""What each model scores at its task, by its name."""

PREFERRED = ("accuracy", "f1", "em", "log_likelihood")
"""Which of a model's scores is its task score: the first of these that it has."""

LARGEST = 3  # differences in a row
OF_ITEMS = "_differences"
"""How the name of a comparison's table of single items ends: word_differences are those of words."""

HOW = (
    "each model is compared with its baseline on the questions that both answered. A difference is clear if q, "
    "corrected for all tests of the comparison, is at most 0.05 and the interval does not contain 0. Clear differences "
    "are worse, better, or neither: for some numbers, such as how often the model chose “cannot be determined”, no "
    "direction is worse. Look at those too, because a model that hardly answers can seem less biased."
)


@dataclass(frozen=True)
class StudyRunView:
    step: RunProbe
    content: Run

    @property
    def link(self) -> str:
        return f"runs/{quote(self.step.name, safe='')}/report.html"


def write_page(out: Path, file: StudyFile, runs: Sequence[RunProbe], record: StudyRecord) -> Path | None:
    """Write a study's page, and the page of all runs; return the study's, or None if no run is finished."""
    views = []
    for run, title in labels(runs, file):
        if "finished" in record.of(run) and (run.folder(out) / "findings.json").is_file():
            content = open_bare(run.folder(out))
            info = replace(content.info, model=replace(content.info.model, name=title))
            findings = replace(content.findings, model=title)
            views.append(StudyRunView(run, replace(content, info=info, findings=findings)))
    if not views:
        return None
    views.sort(key=lambda view: [*probes()].index(view.step.probe))  # stable: models stay in their order
    everything = render_report([view.content for view in views], out / "runs")
    write_atomically(out / "runs" / "report.html", everything.encode("utf-8", "replace"))
    page = render(file, views, record, _comparisons(out, views, record))
    write_atomically(out / "report.html", page.encode("utf-8", "replace"))
    return out / "report.html"


def _comparisons(out: Path, runs: Sequence[StudyRunView], record: StudyRecord) -> dict[str, StudyComparison]:
    """The comparisons of these runs as they are now, by the run that is compared."""
    titles = {run.step.name: run.content.model for run in runs}
    comparisons = {}
    for entry in record.part(CompareRuns.part).values():
        run, baseline = entry["run"], entry["baseline"]
        if "finished" in entry and {run, baseline} <= titles.keys() and record.holds(entry, (run, baseline)):
            path = out / CompareRuns.home / run / COMPARISON
            comparisons[run] = StudyComparison(run, titles[run], titles[baseline], _read(path))
    return comparisons


class _Difference(TypedDict):
    probe: str
    model: str
    baseline: str
    baseline_value: float | None
    model_value: float | None
    change: Estimate
    worse: Estimate | None


class _ComparisonJson(TypedDict):
    """What is used of a comparison.json; nothing else of it can be, since its types are not checked."""

    probe: str
    notes: list[str]
    differences: list[_Difference]
    tables: dict[str, list[dict[str, Any]]]


def _read(path: Path) -> _ComparisonJson:
    try:
        content: _ComparisonJson = json_value(read_whole(path))
        require_typed(content, _ComparisonJson)
        for difference in content["differences"]:
            Difference.from_json(difference)
    except (OSError, ValueError, TypeError) as error:
        remedy = "Remove its folder; the same command then compares these runs again."
        raise DataError(f"cannot be read ({reason(error)}).", remedy, code="unreadable-file", file=path) from None
    return content


def labels(runs: Sequence[RunProbe], file: StudyFile) -> list[tuple[RunProbe, str]]:
    """Every run with its model's title, in the file's order of models.

    Where a model is asked a probe several times, the label also says what differs.
    """
    order = [*file.models]
    labelled = []
    for run in sorted(runs, key=lambda run: order.index(run.model)):
        apart = [run.runs.name] if run.runs.name else []
        apart += [f"{key}={value}" for key, value in run.varied.items()]
        title = file.models[run.model].title
        labelled.append((run, f"{title} ({', '.join(apart)})" if apart else title))
    return labelled


def render(
    file: StudyFile, runs: Sequence[StudyRunView], record: StudyRecord, compared: Mapping[str, StudyComparison]
) -> str:
    scores = {name: scores_of(record.part("models").get(name, {}).get("scores")) for name in file.models}
    tasks = {name: task_score(scores[name], scores.get(file.baseline(name) or "", {})) for name in scores}
    parts = [
        _part(f"p{number}", list(views), file, tasks, compared)
        for number, (_, views) in enumerate(groupby(runs, key=lambda run: run.step.probe), 1)
    ]
    script, digest = script_and_digest()
    entries = {name: entry for part in ("models", "runs", "comparisons") for name, entry in record.part(part).items()}
    page = environment().get_template("study.html")
    return page.render(
        study=file,
        models=ElementRenderer("models").sections([Section([_models(file, record, tasks)])]),
        parts=parts,
        record=record.content,
        failed={name: str(entry["error"]["problem"]) for name, entry in entries.items() if entry.get("error")},
        seconds=sum(entry.get("seconds", 0.0) for entry in entries.values()),
        script=script,
        script_digest=digest,
    )


def _part(
    anchor: str, runs: Sequence[StudyRunView], file: StudyFile, tasks: Tasks, compared: Mapping[str, StudyComparison]
) -> dict[str, Any]:
    """A probe: its runs, what only a study shows about them, the models side by side, its charts over models."""
    contents, several, view = [run.content for run in runs], len(runs) > 1, ElementRenderer(anchor)
    headlines = [present(content).scorecard.estimates for content in contents]
    changes = changes_of(
        [compared[run.step.name] for run in runs if run.step.name in compared],
        [estimate for headline in headlines for estimate in headline],
    )
    judged = Counter(str(run.findings.verdict.says) for run in contents if run.findings.verdict)
    verdicts = ", ".join(f"{says} ({plural(amount, 'run')})" for says, amount in judged.most_common())
    sentences: list[Text] = [changes.text] if changes else []
    sentences += [f"Verdicts: {verdicts}."] if verdicts else []
    return {
        "anchor": anchor,
        "runs": runs,
        "found": view.text(join_texts(sentences, " ")),
        "template": RunView(contents[0], anchor),
        "of_study": view.sections(of_study([_study_run(run, file, tasks[run.step.model]) for run in runs])),
        "changes": changes,
        "changed": view.sections([Section([changes.summary])] if changes else []),
        "beside": estimates_across_runs(contents, headlines) if several else None,
        "models": across(contents) if several else (),
    }


def _study_run(run: StudyRunView, file: StudyFile, task: TaskScore | None) -> StudyRun:
    name = run.step.model
    baseline = file.baseline(name)
    methods = [
        f"{METHODS[model.value].title}{f' ({model.attribute})' if model.attribute else ''}"
        for model in file.methods(name)
    ]
    sources = [model.name for model in file.above(name)]
    title = file.models[baseline].title if baseline else None
    return StudyRun(run.content, name, sources, "; ".join(methods), title, task)


# --- the models


def task_score(scores: Mapping[str, Estimate], before: Mapping[str, Estimate]) -> TaskScore | None:
    """A model's task score beside its baseline's, where it has one."""
    metrics = [*(name for name in PREFERRED if name in scores), *scores]
    return TaskScore(metrics[0], scores[metrics[0]], before.get(metrics[0])) if metrics else None


def _models(file: StudyFile, record: StudyRecord, tasks: Tasks) -> DisplayTable:
    rows, lines = [], []
    for name, model in file.models.items():
        entry, task, origin = record.part("models").get(name, {}), tasks[name], _origin(model, file)
        seconds, error = entry.get("seconds"), (entry.get("error") or {}).get("problem")
        before = file.baseline(name)
        baseline = file.models[before].title if before else None
        change = task.change if task else None
        title: Text = Verbatim(model.title)
        if "finished" in entry:
            title = PageLink(title, f"models/{quote(name, safe='')}/README.md")
        failed: list[Text] = [" ", Strong("failed:"), " ", Verbatim(error)] if error else []
        score: Text = [f"{task.metric.replace('_', ' ')} ", task_score_text(task)] if task else ""
        signed = "" if change is None else NumberText(f"{'+' if change > 0 else ''}{format_number(change)}")
        spent = "" if seconds is None else seconds
        rows.append(TableRow([title, [Verbatim(origin), *failed], score, Verbatim(baseline or ""), signed, spent]))
        estimate = task.score if task else None
        numbers: list[Cell] = [estimate.value, estimate.low, estimate.high] if estimate else [None] * 3
        named: list[Cell] = [name, model.title, origin, task.metric if task else None]
        lines.append([*named, *numbers, baseline, change, seconds])
    heads = ("model", "how it was made", "task score", "baseline", "change")
    columns = ("name", "title", "made", "metric", "score", "low", "high", "baseline", "change", "seconds")
    return DisplayTable(
        title="The models and their task scores",
        how="each model, how it was made and, if evaluation data were given, its task score with a 95% interval. The "
        "change is relative to the baseline; below zero, the model became worse at its task.",
        data=Data(columns, lines),
        file="study-models",
        anchor="table",
        columns=[*(TableColumn(head, CellKind.TEXT) for head in heads), TableColumn("seconds", CellKind.COUNT)],
        groups=[RowGroup(rows)],
        sort=TableTools.NONE,
        filter=TableTools.NONE,
    )


def _origin(model: StudyModel, file: StudyFile) -> str:
    """How a model was made, in a few words."""
    if model.spec:
        return f"ready: {model.spec}"
    source = file.models[model.source or ""].title
    if model.train:
        return f"{source}, trained {'further' if model.train == 'mask' else f'for {model.train} questions'}"
    about = f", {model.attribute}" if model.attribute else ""
    return f"{source}, debiased: {METHODS[model.value].title}{about}"


# --- models against those that they are compared with, on what both were asked


@dataclass(frozen=True)
class StudyComparison:
    """A comparison of the study: two runs by their titles, and the content of comparison.json."""

    run: str
    model: str
    baseline: str
    content: _ComparisonJson

    @property
    def link(self) -> str:
        return f"compare/{quote(self.run, safe='')}/comparison.html"

    @cached_property
    def differences(self) -> list[Difference]:
        differences = map(Difference.from_json, self.content["differences"])
        return [replace(difference, model=self.model, baseline=self.baseline) for difference in differences]

    @property
    def items(self) -> tuple[int, int] | None:
        """How many single items (words) changed clearly, and how many were tested."""
        tables = [rows for name, rows in self.content["tables"].items() if name.endswith(OF_ITEMS)]
        tested = [claimed for rows in tables for row in rows if (claimed := is_claimed(row)) is not None]
        return (sum(tested), len(tested)) if tables else None


@dataclass(frozen=True)
class ProbeChanges:
    """A probe's comparisons: what they found, a row for each model, and the differences of its headline numbers."""

    text: Text
    summary: DisplayTable
    differences: DisplayTable


def changes_of(compared: Sequence[StudyComparison], headline: Sequence[Estimate]) -> ProbeChanges | None:
    """What a probe's comparisons show; `headline` has the estimates whose changes are listed one by one."""
    if not compared:
        return None
    chosen = {key_of(estimate) for estimate in headline}
    differences = [difference for comparison in compared for difference in comparison.differences]
    listed = [difference for difference in differences if key_of(difference.change) in chosen]
    chart = {"title": "Differences in the headline numbers on the same questions", "anchor": "against-each"}
    probe = listed[0].probe if listed else ""
    block = differences_block(listed, several=True, file=f"{probe}-differences", **chart)
    return ProbeChanges(_in_all(compared, differences), _summary(compared), block)


def _in_all(compared: Sequence[StudyComparison], differences: Sequence[Difference]) -> Text:
    """How many differences were tested in all comparisons, how many are clear, and the largest clear one."""
    tested, clear = tested_and_clear(differences)
    items = ""
    if changed := [counts for comparison in compared if (counts := comparison.items)]:
        n_changed, n_tested = map(sum, zip(*changed, strict=True))
        share = f"{format_count(n_changed) if n_changed else 'None'} of {format_count(n_tested)}"
        items = f" {share} {_items_name(compared)} changed clearly."
    if not clear:
        none = f"{plural(tested, 'difference')} tested, none clear." if tested else "No difference could be tested."
        return f"{none}{items}"
    worse, better = _worse_and_better(clear)
    largest: Text = [Verbatim(clear[0].model), ", ", _values(clear[0])]
    summary = f"{plural(tested, 'difference')} tested, {format_count(len(clear))} clear"
    return [f"{summary}: {better} better, {worse} worse. The largest: ", largest, f".{items}"]


def _items_name(compared: Sequence[StudyComparison]) -> str:
    """What single items are called, such as words; empty if no comparison has any."""
    tables = (name for comparison in compared for name in comparison.content["tables"] if name.endswith(OF_ITEMS))
    return next((f"{name.removesuffix(OF_ITEMS)}s" for name in tables), "")


def _summary(compared: Sequence[StudyComparison]) -> DisplayTable:
    items = _items_name(compared)
    rows, lines = [], []
    for comparison in compared:
        tested, clear = tested_and_clear(comparison.differences)
        worse, better = _worse_and_better(clear)
        changed: list[TableCell] = [
            f"{format_count(comparison.items[0])} of {format_count(comparison.items[1])}" if comparison.items else ""
        ]
        largest = join_texts([_values(d) for d in clear[:LARGEST]], "; ")
        if not tested:
            largest = join_texts([Verbatim(note) for note in comparison.content["notes"]], "; ")
        names: list[TableCell] = [Verbatim(comparison.model), Verbatim(comparison.baseline)]
        counts: list[TableCell] = [tested, len(clear), worse, better, *(changed if items else ())]
        rows.append(TableRow([*names, *counts, largest, PageLink("page", comparison.link)]))
        line: list[Cell] = [comparison.run, comparison.model, comparison.baseline, tested, len(clear), worse, better]
        lines.append([*line, *(comparison.items or (None, None))])
    heads = ("differences tested", "clear", "worse", "better", *([f"{items} changed"] if items else []))
    columns = ("run", "model", "compared_with", "tested", "clear", "worse", "better")
    more = f" {items.capitalize()} changed: how many changed clearly, of those tested." if items else ""
    return DisplayTable(
        title="What changed relative to the baseline",
        how=HOW + more,
        data=Data((*columns, f"{items or 'items'}_clear", f"{items or 'items'}_tested"), lines),
        file=f"{compared[0].content['probe'] or 'study'}-against",
        anchor="against",
        columns=[
            *(TableColumn(head, CellKind.TEXT) for head in ("model", "baseline")),
            *(TableColumn(head, CellKind.COUNT, wraps=True) for head in heads),
            *(TableColumn(head, CellKind.TEXT) for head in ("largest clear differences", "all")),
        ],
        groups=[RowGroup(rows)],
        filter=TableTools.NONE,
        narrow=True,
    )


def _values(difference: Difference) -> Text:
    values = f"{format_number(difference.before)} to {format_number(difference.after)}"
    return [*about(difference), ": ", NumberText(values)]


def _worse_and_better(clear: Sequence[Difference]) -> tuple[int, int]:
    """How many differences are for the worse, and how many for the better."""
    directions = [(difference.worse and difference.worse.value) or 0.0 for difference in clear]
    return sum(direction > 0 for direction in directions), sum(direction < 0 for direction in directions)
