"""Runs in other formats than a page: Markdown, JSON, CSV and a model card."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import UsageError
from assay.presentation.elements import HeadlineEstimate, Presentation
from assay.presentation.leaderboard import Leaderboard
from assay.probes import metric_named
from assay.report.headline import estimates_table
from assay.report.markdown import cautions, citations, escaped, fenced, findings, markdown_report
from assay.report.run_summary import TextReport
from assay.report.shared import in_order, recorded_facts
from assay.results.findings import Cell
from assay.results.formatting import format_estimate_interval, percent, plural, without_folders
from assay.results.run import Run


def model_card(runs: Sequence[Run], boards: Sequence[Leaderboard] = ()) -> str:
    """The card of the one model that all runs are about: metadata between lines of dashes, then the section.

    `boards`, which other formats show, are not used: a card is about one model.
    """
    models = dict.fromkeys(run.model for run in runs)
    if len(models) > 1:
        raise UsageError(
            f"these runs are of {len(models)} models ({', '.join(models)}), and a card is about one.",
            "Name the folder of one model's runs.",
            code="unsupported",
        )
    summaries = [TextReport.of(run) for run in runs]
    results = [result for summary in summaries for result in _results(summary.run, summary.shown)]
    index = {"model-index": [{"name": model_id(runs[0]), "results": results}]}
    metadata = f"---\n{to_yaml(index)}---\n\n" if results else ""  # the hub refuses an index without results
    return metadata + "\n".join(_section(summaries)) + "\n"


def model_id(run: Run) -> str:
    """The model's name without what only this machine knows: its kind, its revision, the folder that it lay in."""
    kind = run.info.model.kind
    name = run.model.removeprefix(f"{kind}:") if kind else run.model
    name = name.partition("@")[0].rstrip("/") or name
    is_path = name.startswith((".", "/", "~")) or name.count("/") > 1
    return name.rpartition("/")[2] if is_path else name


def _results(run: Run, shown: Presentation) -> list[dict[str, Any]]:
    """The defined headline estimates by task and part of the data; an undefined one cannot be in an index."""
    metrics_of: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for score in shown.scorecard.scores:
        if score.estimate.value is not None:
            metrics_of.setdefault((score.task, *score.part), []).append(_metric(run.probe, score))
    results = []
    for (task, config, part), metrics in metrics_of.items():
        data_set: dict[str, Any] = {"type": shown.data_set, "name": f"{shown.name}, {part}" if part else shown.name}
        if config:
            data_set["config"] = config
        args = {key: value for key in ("preset", "limit", "seed") if (value := getattr(run.info, key)) is not None}
        if args:
            data_set["args"] = args
        results.append({"task": {"type": task}, "dataset": data_set, "metrics": metrics})
    return results


def _metric(probe: str, score: HeadlineEstimate) -> dict[str, Any]:
    estimate = score.estimate
    named = f"{metric_named(probe, estimate.metric).title}, {score.said}"
    if estimate.low is not None:
        named += f" ({percent(estimate.level)} interval {format_estimate_interval(estimate)})"
    names = ("corrected", "low", "high", "level", "n", "p", "q", "floor")
    numbers = {name: getattr(estimate, name) for name in names}
    args = {key: _rounded(number) for key, number in numbers.items() if number is not None}
    return {
        "type": estimate.metric,
        "value": _rounded(estimate.value),
        "name": named,
        "args": {**args, "group": dict(estimate.group)},
    }


def _rounded(number: float | None) -> float | int | None:
    return number if number is None or isinstance(number, int) else float(f"{number:.6g}")


def _section(summaries: Sequence[TextReport]) -> list[str]:
    runs, presentations = [summary.run for summary in summaries], [summary.shown for summary in summaries]
    lines = ["## Bias evaluation (assay)", ""]
    for summary in summaries:
        run, scorecard = summary.run, summary.shown.scorecard
        questions = "" if run.questions is None else f" ({plural(run.questions, 'question')})"
        lines += [f"### {escaped(summary.shown.name)}{questions}", "", *findings(summary, "###")]
        for metric in [
            metric_named(run.probe, id) for id in dict.fromkeys(estimate.metric for estimate in scorecard.estimates)
        ]:
            if metric.meaning:
                lines.append(f"- {escaped(metric.title)}: {escaped(metric.meaning)}.")
        lines.append("")
    lines += ["Keep in mind:", "", *cautions(presentations), ""]
    commands = list(dict.fromkeys(without_folders(run.info.command) for run in runs if run.info.command))
    if commands:
        lines += ["Made with:", "", *fenced("\n".join(commands)), ""]
    digests = [f"- {escaped(run.probe)}: findings.json, sha256 {run.findings_digest}" for run in runs]
    return [*lines, *digests, "", "Cite:", "", *citations(runs, presentations)]


def to_yaml(content: Mapping[str, Any]) -> str:
    """An object as YAML, its keys in their order; what is not ASCII is written as escapes, which every reader takes.

    >>> print(to_yaml({"a": [{"b": "x: y"}], "c": 1e-05, "d": {}}), end="")
    a:
    - b: 'x: y'
    c: 1.0e-05
    d: {}
    """
    import yaml  # takes a while to import

    return str(yaml.safe_dump(content, sort_keys=False, width=10_000))


# --- every format


SCHEMA = 1

_ESSENTIAL = (
    *("model", "others", "settings", "preset", "limit", "seed", "questions", "stages", "data"),
    *("endpoint", "versions", "command", "notes", "near_ties", "started", "finished"),
)
"""The keys of run.json that mean something on another machine."""


def report_text(runs: Sequence[Run], form: str, boards: Sequence[Leaderboard] = ()) -> str:
    """The report of one run or many in one of FORMATS; `boards` rank the models."""
    return FORMATS[form](in_order(runs), boards)


def _names(runs: Sequence[Run]) -> list[str]:
    """The runs' folders, named from where they part."""
    folders = [run.folder.resolve() for run in runs]
    above = Path(os.path.commonpath(folders)) if len(folders) > 1 else folders[0].parent
    return [folder.relative_to(above).as_posix() for folder in folders]


def json_report(runs: Sequence[Run], boards: Sequence[Leaderboard] = ()) -> str:
    """One JSON document: for each run its findings.json, that file's digest, and the essentials of run.json.

    With several models, `leaderboards` has their ranks.
    """
    reports = [
        {
            "run": name,
            "findings_sha256": run.findings_digest,
            "findings": json.loads(run.findings.to_json()),
            "made": _portable({key: facts[key] for key in _ESSENTIAL if key in facts}),
        }
        for name, run, facts in zip(_names(runs), runs, (recorded_facts(run.info) for run in runs), strict=True)
    ]
    ranks = {"leaderboards": [board.as_json() for board in boards]} if boards else {}
    return (
        json.dumps({"schema": SCHEMA, **ranks, "runs": reports}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )


def csv_report(runs: Sequence[Run], boards: Sequence[Leaderboard] = ()) -> str:
    """All estimates of all runs, one a row, with a column for each key of their groups; with `boards`, also the rank
    that the model has by this estimate. People open it in spreadsheets, so it has no formulas.
    """
    rows = [
        (name, run, estimate)
        for name, run in zip(_names(runs), runs, strict=True)
        for estimate in run.findings.estimates
    ]
    about: dict[str, list[Cell]] = {
        "run": [name for name, _, _ in rows],
        "probe": [run.probe for _, run, _ in rows],
        "model": [run.model for _, run, _ in rows],
    }
    if boards:
        ranks = {
            (id(model.run), id(model.estimate)): model.rank
            for board in boards
            for ranking in board.rankings
            for model in ranking.models
        }
        about |= {"rank": [ranks.get((id(run), id(estimate)), "") for _, run, estimate in rows]}
    return estimates_table([estimate for _, _, estimate in rows], about).for_spreadsheets().to_csv()


def _portable(value: Any) -> Any:
    """A JSON value without the folders that models lay in."""
    if isinstance(value, Mapping):
        return {key: _portable(inner) for key, inner in value.items() if key != "place"}
    return [_portable(inner) for inner in value] if isinstance(value, list) else value


FORMATS: Mapping[str, Callable[[Sequence[Run], Sequence[Leaderboard]], str]] = {
    "md": markdown_report,
    "json": json_report,
    "csv": csv_report,
    "model-card": model_card,
}
