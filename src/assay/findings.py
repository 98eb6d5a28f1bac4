"""What a probe finds: estimates and tables, and the findings.json that other programs read."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import DataError

SCHEMA = 1

NEAR_TIE = 1e-5
"""Two machines, or two numbers of threads, may compute scores that differ by about this much."""

Cell = str | int | float | None


@dataclass(frozen=True)
class Estimate:
    """A number with its interval and its n or, where it is undefined, the reason instead of a number.

    `floor` is what chance alone gives (for maxima and absolute values); `p` and `q` (corrected) are optional.

    >>> Estimate("mu", {"class": "gender"}, None, n=0, note="nothing was asked").value is None
    True
    """

    metric: str
    group: Mapping[str, str]
    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    n: int = 0
    p: float | None = None
    q: float | None = None
    floor: float | None = None
    note: str | None = None

    def __post_init__(self) -> None:
        for name in ("value", "low", "high", "p", "q", "floor"):
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise ValueError(f"{self.metric} {dict(self.group)}: {name} is {number}; undefined is None with a note")
        if self.value is None and not self.note:
            raise ValueError(f"{self.metric} {dict(self.group)}: undefined without a note")

    def as_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "group": dict(self.group),
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "n": self.n,
            "p": self.p,
            "q": self.q,
            "floor": self.floor,
            "note": self.note,
        }


@dataclass(frozen=True)
class Table:
    """A long table: column names and rows; None is an empty cell in the CSV."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def to_csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()

    def records(self) -> Iterable[dict[str, Cell]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)


@dataclass(frozen=True)
class Findings:
    """All that a probe found about a model.

    `near_ties` says, by part of the probe, how many items were decided by less than NEAR_TIE: metrics that count wins
    may differ by these between machines. It is for run.json, not for findings.json.
    """

    probe: str
    model: str
    estimates: Sequence[Estimate]
    tables: Mapping[str, Table] = field(default_factory=dict)
    near_ties: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """The text of findings.json: the same findings give the same bytes."""
        content = {
            "schema": SCHEMA,
            "probe": self.probe,
            "model": self.model,
            "estimates": [estimate.as_json() for estimate in self.estimates],
            "tables": {name: f"tables/{name}.csv" for name in self.tables},
        }
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_findings(folder: Path) -> Findings:
    """The findings of a run folder, tables included."""
    path = folder / "findings.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["schema"] != SCHEMA:
            raise ValueError(f"it has schema {content['schema']}")
        estimates = [Estimate(**estimate) for estimate in content["estimates"]]
        tables = {name: read_table(folder / where) for name, where in content["tables"].items()}
        return Findings(content["probe"], content["model"], estimates, tables)
    except FileNotFoundError as error:
        raise DataError(
            "there are no findings here.", "Finish the run first: repeat its `assay run` command.", file=error.filename
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        raise DataError(
            f"not a findings.json of schema {SCHEMA} ({error}).", "Repeat the run to write it again.", file=path
        ) from None


def read_table(path: Path) -> Table:
    """A table as written by a run: columns of numbers become numbers, empty cells None."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    if not lines:
        raise DataError("this table is empty: not even column names.", "Repeat the run to write it again.", file=path)
    columns, rows = lines[0], lines[1:]
    wrong = next((number for number, row in enumerate(rows, 2) if len(row) != len(columns)), None)
    if wrong is not None:
        raise DataError(
            f"expected {len(columns)} cells.", "Repeat the run to write the table again.", file=path, line=wrong
        )
    kinds = [_kind(cells) for cells in zip(*rows, strict=True)] if rows else []
    return Table(
        columns, [[kind(cell) if cell else None for kind, cell in zip(kinds, row, strict=True)] for row in rows]
    )


_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?")


def _kind(cells: Iterable[str]) -> type[int] | type[float] | type[str]:
    """What the cells of a column are: whole numbers, numbers or texts."""
    matches = [_NUMBER.fullmatch(cell) for cell in cells if cell]
    if not all(matches):
        return str
    return float if any(match and (match[1] or match[2]) for match in matches) else int
