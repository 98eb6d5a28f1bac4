"""Several models on one scale: every headline estimate with a line for each model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.findings import Cell, Estimate, Table
from assay.report.bars import Scale, scale_for
from assay.report.content import Content
from assay.report.headline import Line, line_of
from assay.report.words import MetricWords, group_words, metric_words

Given = Sequence[tuple[Content, Sequence[Estimate]]]


@dataclass(frozen=True)
class Rows:
    """The lines of one group of estimates, one for each model that has it; their `group` is the model's name."""

    group: str
    lines: Sequence[Line]


@dataclass(frozen=True)
class Metric:
    words: MetricWords
    scale: Scale
    groups: Sequence[Rows]


@dataclass(frozen=True)
class Beside:
    """The metrics that at least two models have, and all of it as a table."""

    metrics: Sequence[Metric]
    table: Table


def side_by_side(runs: Given) -> Beside:
    """What the headline estimates of several runs of a probe are, model by model."""
    names = run_names([content for content, _ in runs])
    found: dict[str, dict[tuple[tuple[str, str], ...], list[tuple[str, Estimate]]]] = {}
    for name, (_, estimates) in zip(names, runs, strict=True):
        for estimate in estimates:
            key = tuple(sorted(estimate.group.items()))
            found.setdefault(estimate.metric, {}).setdefault(key, []).append((name, estimate))
    metrics, rows = [], []
    for metric, groups in found.items():
        shared = [own for own in groups.values() if sum(estimate.value is not None for _, estimate in own) > 1]
        if not shared:
            continue
        every = [estimate for own in shared for _, estimate in own]
        scale = scale_for(mark for e in every for mark in (e.value, e.low, e.high, e.floor))
        lines = [Rows(group_words(own[0][1].group), [_line(name, e, scale) for name, e in own]) for own in shared]
        metrics.append(Metric(metric_words(metric), scale, lines))
        rows += [_row(name, estimate) for own in shared for name, estimate in own]
    return Beside(metrics, Table(("metric", "group", "model", "value", "low", "high", "floor", "p", "q", "n"), rows))


def run_names(contents: Sequence[Content]) -> list[str]:
    """Runs by their model's name, or with their folder's where two models have the same."""
    models = [content.model for content in contents]
    return [
        model if models.count(model) == 1 else f"{model} ({content.folder.name})"
        for model, content in zip(models, contents, strict=True)
    ]


def _line(name: str, estimate: Estimate, scale: Scale) -> Line:
    return line_of(estimate, name, {estimate.note: 0} if estimate.note else {}, scale)


def _row(name: str, e: Estimate) -> list[Cell]:
    return [e.metric, group_words(e.group), name, e.value, e.low, e.high, e.floor, e.p, e.q, e.n]
