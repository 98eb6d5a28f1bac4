"""A model card's part about bias: the hub's model-index, and a section of Markdown to paste below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.blocks import Presentation, Score
from assay.errors import UsageError
from assay.probes import metric_named, present
from assay.ranking import Leaderboard
from assay.report.markdown import cautions, citations, escaped, fenced, findings
from assay.run import Run
from assay.wording import measured_interval, percent, plural, without_folders


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
    shown = [present(run) for run in runs]
    results = [result for run, own in zip(runs, shown, strict=True) for result in _results(run, own)]
    index = {"model-index": [{"name": model_id(runs[0]), "results": results}]}
    metadata = f"---\n{to_yaml(index)}---\n\n" if results else ""  # the hub refuses an index without results
    return metadata + "\n".join(_section(runs, shown)) + "\n"


def model_id(run: Run) -> str:
    """The model's name without what only this machine knows: its kind, its revision, the folder that it lay in."""
    kind = run.info.model.kind
    name = run.model.removeprefix(f"{kind}:") if kind else run.model
    name = name.partition("@")[0].rstrip("/") or name
    is_path = name.startswith((".", "/", "~")) or name.count("/") > 1
    return name.rpartition("/")[2] if is_path else name


def _results(run: Run, shown: Presentation) -> list[dict[str, Any]]:
    """The defined headline estimates by task and part of the data; an undefined one cannot be in an index."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for score in shown.scorecard.scores:
        if score.estimate.value is not None:
            found.setdefault((score.task, *score.part), []).append(_metric(run.probe, score))
    results = []
    for (task, config, said), metrics in found.items():
        data_set: dict[str, Any] = {"type": shown.data_set, "name": f"{shown.name}, {said}" if said else shown.name}
        if config:
            data_set["config"] = config
        args = {key: value for key in ("preset", "limit", "seed") if (value := getattr(run.info, key)) is not None}
        if args:
            data_set["args"] = args
        results.append({"task": {"type": task}, "dataset": data_set, "metrics": metrics})
    return results


def _metric(probe: str, score: Score) -> dict[str, Any]:
    e = score.estimate
    named = f"{metric_named(probe, e.metric).title}, {score.said}"
    if e.low is not None:
        named += f" ({percent(e.level)} interval {measured_interval(e)})"
    names = ("corrected", "low", "high", "level", "n", "p", "q", "floor")
    numbers = {name: getattr(e, name) for name in names}
    args = {key: _rounded(number) for key, number in numbers.items() if number is not None}
    return {"type": e.metric, "value": _rounded(e.value), "name": named, "args": {**args, "group": dict(e.group)}}


def _rounded(number: float | None) -> float | int | None:
    return number if number is None or isinstance(number, int) else float(f"{number:.6g}")


def _section(runs: Sequence[Run], shown: Sequence[Presentation]) -> list[str]:
    lines = ["## Bias evaluation (assay)", ""]
    for run, own in zip(runs, shown, strict=True):
        asked = "" if run.questions is None else f" ({plural(run.questions, 'question')})"
        lines += [f"### {escaped(own.name)}{asked}", "", *findings(run, own, "###")]
        for metric in dict.fromkeys(estimate.metric for estimate in own.scorecard.estimates):
            said = metric_named(run.probe, metric)
            if said.meaning:
                lines.append(f"- {escaped(said.title)}: {escaped(said.meaning)}.")
        lines.append("")
    lines += ["Keep in mind:", "", *cautions(shown), ""]
    commands = list(dict.fromkeys(without_folders(run.info.command) for run in runs if run.info.command))
    if commands:
        lines += ["Made with:", "", *fenced("\n".join(commands)), ""]
    digests = [f"- {escaped(run.probe)}: findings.json, sha256 {run.findings_digest}" for run in runs]
    return [*lines, *digests, "", "Cite:", "", *citations(runs, shown)]


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
