"""What a study's page says of models against those that they are compared with, on what both were asked."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.compare import difference_table
from assay.differences import CLEAR, Difference, tested_and_clear
from assay.findings import Cell as TableCell
from assay.findings import Estimate, Table
from assay.report.comparison import Metric, metrics_of
from assay.study.prepare import comparison_folder
from assay.study.record import COMPARISON

MOST_TOLD = 3  # differences in a row


@dataclass(frozen=True)
class Compared:
    """A comparison of the study: two runs by their titles, and what comparison.json says of them."""

    run: str
    model: str
    baseline: str
    told: Mapping[str, Any]

    @property
    def link(self) -> str:
        return f"compare/{quote(self.run, safe='')}/comparison.html"

    @cached_property
    def differences(self) -> list[Difference]:
        found = (Difference.from_json(each) for each in self.told["differences"])
        return [replace(each, model=self.model, baseline=self.baseline) for each in found]


@dataclass(frozen=True)
class Row:
    """A model in short: of the differences that could be tested, which are clear of chance, and what they mean.

    `words` counts SODAPOP's words with a changed RD, and those that could be tested.
    """

    compared: Compared
    tested: int
    clear: Sequence[Difference]  # the largest first
    words: tuple[int, int] | None

    @property
    def worse(self) -> int:
        return sum(_direction(each) > 0 for each in self.clear)

    @property
    def better(self) -> int:
        return sum(_direction(each) < 0 for each in self.clear)

    @property
    def told(self) -> Sequence[Difference]:
        return self.clear[:MOST_TOLD]


@dataclass(frozen=True)
class Against:
    """A probe's comparisons: model by model in short, and the differences of its headline numbers."""

    rows: Sequence[Row]
    summary: Table
    metrics: Sequence[Metric]
    differences: Table

    @property
    def shown(self) -> int:
        return sum(len(metric.rows) for metric in self.metrics)

    @property
    def has_words(self) -> bool:
        return any(row.words is not None for row in self.rows)


def read_compared(out: Path, run: str, model: str, baseline: str) -> Compared:
    """A comparison that was made."""
    return Compared(run, model, baseline, json.loads((comparison_folder(out, run) / COMPARISON).read_bytes()))


def against_of(compared: Sequence[Compared], headline: Sequence[Estimate]) -> Against | None:
    """What a probe's comparisons show; `headline` are the estimates whose changes are shown one by one."""
    if not compared:
        return None
    rows = [_row(each) for each in compared]
    chosen = {_key(estimate) for estimate in headline}
    found = [each for own in compared for each in own.differences if _key(each.change) in chosen]
    return Against(rows, _summary(rows), metrics_of(found), difference_table(found))


def _row(compared: Compared) -> Row:
    tested, clear = tested_and_clear(compared.differences)
    return Row(compared, tested, clear, _words(compared.told["tables"].get("word_differences")))


def _words(rows: Collection[Mapping[str, Any]] | None) -> tuple[int, int] | None:
    if rows is None:
        return None
    tested = [row["q"] for row in rows if row["q"] is not None]
    return sum(q <= CLEAR for q in tested), len(tested)


def _direction(difference: Difference) -> float:
    return (difference.worse.value or 0.0) if difference.worse is not None else 0.0


def _key(estimate: Estimate) -> tuple[str, tuple[tuple[str, str], ...]]:
    return estimate.metric, tuple(sorted(estimate.group.items()))


def _summary(rows: Sequence[Row]) -> Table:
    columns = ("run", "model", "compared_with", "tested", "clear", "worse", "better", "words_clear", "words_tested")
    lines: list[list[TableCell]] = [
        [
            *(row.compared.run, row.compared.model, row.compared.baseline),
            *(row.tested, len(row.clear), row.worse, row.better, *(row.words or (None, None))),
        ]
        for row in rows
    ]
    return Table(columns, lines)
