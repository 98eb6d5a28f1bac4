"""What a study's page says of models against those that they are compared with, on what both were asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.blocks import Column, Figure, Group, Kind, Link, Name, Row, Table, TableCell, Text, Tools, listed
from assay.compare.differences import Difference, tested_and_clear
from assay.compare.present import differences_block
from assay.findings import Cell, Estimate
from assay.findings import Table as Data
from assay.lab.studies.steps import COMPARISON
from assay.probes import metric_named, say_group
from assay.verdict import CLEAR
from assay.wording import count, number

MOST_TOLD = 3  # differences in a row
OF_ITEMS = "_differences"
"""How the name of a comparison's table of single items ends: word_differences are those of words."""

HOW = (
    "every model against the one that it is compared with, on the questions that both answered: how many differences "
    "could be tested, how many of them are clear of chance (q at most 0.05 and 0 outside the interval), and in how "
    "many of these the model is worse or better. The other clear ones have no good side, such as mean score or UNKNOWN "
    "rate; look at them, too, since a model that hardly answers any more seems better."
)


@dataclass(frozen=True)
class Compared:
    """A comparison of the study: two runs by their titles, and what comparison.json says of them."""

    run: str
    model: str
    baseline: str
    told: Mapping[str, Any]

    @staticmethod
    def read(folder: Path, run: str, model: str, baseline: str) -> Compared:
        """A comparison that was made."""
        return Compared(run, model, baseline, json.loads((folder / COMPARISON).read_bytes()))

    @property
    def link(self) -> str:
        return f"compare/{quote(self.run, safe='')}/comparison.html"

    @cached_property
    def differences(self) -> list[Difference]:
        found = (Difference.from_json(each) for each in self.told["differences"])
        return [replace(each, model=self.model, baseline=self.baseline) for each in found]

    @property
    def items(self) -> tuple[int, int] | None:
        """Of single items (words), how many changed clearly and how many could be tested."""
        tables = [rows for name, rows in self.told["tables"].items() if name.endswith(OF_ITEMS)]
        tested = [row["q"] for rows in tables for row in rows if row["q"] is not None]
        return (sum(q <= CLEAR for q in tested), len(tested)) if tables else None


@dataclass(frozen=True)
class Changes:
    """A probe's comparisons: model by model in short, and the differences of its headline numbers."""

    summary: Table
    differences: Table


def changes_of(compared: Sequence[Compared], headline: Sequence[Estimate]) -> Changes | None:
    """What a probe's comparisons show; `headline` are the estimates whose changes are shown one by one."""
    if not compared:
        return None
    chosen = {_key(estimate) for estimate in headline}
    found = [each for own in compared for each in own.differences if _key(each.change) in chosen]
    chart = {"title": "Differences of the headline numbers on the same questions", "anchor": "against-each"}
    probe = found[0].probe if found else ""
    differences = differences_block(found, several=True, file=f"{probe}-differences", **chart)
    return Changes(_summary(compared), differences)


def _summary(compared: Sequence[Compared]) -> Table:
    tables = (name for each in compared for name in each.told["tables"] if name.endswith(OF_ITEMS))
    items = next((f"{name.removesuffix(OF_ITEMS)}s" for name in tables), "")
    rows, lines = [], []
    for each in compared:
        tested, clear = tested_and_clear(each.differences)
        worse, better = (sum(sign * _direction(d) > 0 for d in clear) for sign in (1, -1))
        changed: list[TableCell] = [f"{count(each.items[0])} of {count(each.items[1])}" if each.items else ""]
        told = listed([_told(d) for d in clear[:MOST_TOLD]], "; ")
        if not tested:
            told = listed([Name(note) for note in each.told["notes"]], "; ")
        names: list[TableCell] = [Name(each.model), Name(each.baseline)]
        counts: list[TableCell] = [tested, len(clear), worse, better, *(changed if items else ())]
        rows.append(Row([*names, *counts, told, Link("page", each.link)]))
        line: list[Cell] = [each.run, each.model, each.baseline, tested, len(clear), worse, better]
        lines.append([*line, *(each.items or (None, None))])
    heads = ("differences tested", "clear of chance", "worse", "better", *([f"{items} changed"] if items else []))
    columns = ("run", "model", "compared_with", "tested", "clear", "worse", "better")
    more = f" {items.capitalize()}: how many changed clearly, of those that could be tested." if items else ""
    return Table(
        title="What changed against the model that it is compared with",
        how=HOW + more,
        data=Data((*columns, f"{items or 'items'}_clear", f"{items or 'items'}_tested"), lines),
        file=f"{compared[0].told.get('probe') or 'study'}-against",
        anchor="against",
        columns=[
            *(Column(head, Kind.TEXT) for head in ("model", "compared with")),
            *(Column(head, Kind.COUNT, wraps=True) for head in heads),
            *(Column(head, Kind.TEXT) for head in ("the largest clear ones", "all")),
        ],
        groups=[Group(rows)],
        filter=Tools.NONE,
        narrow=True,
    )


def _told(difference: Difference) -> Text:
    change = difference.change
    about: list[Text] = [
        metric_named(difference.probe, change.metric).title,
        ", ",
        Name(say_group(difference.probe, change.group)),
    ]
    return [*about, ": ", Figure(f"{number(difference.before)} to {number(difference.after)}")]


def _direction(difference: Difference) -> float:
    return (difference.worse.value or 0.0) if difference.worse is not None else 0.0


def _key(estimate: Estimate) -> tuple[str, tuple[tuple[str, str], ...]]:
    return estimate.metric, tuple(sorted(estimate.group.items()))
