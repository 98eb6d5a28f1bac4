"""A run folder, read for showing: its findings, checked, and what run.json says about how they came about."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any

from assay.errors import DataError
from assay.findings import Cell, Estimate, Findings, read_findings
from assay.report.words import percent

Row = Mapping[str, Cell]


@dataclass(frozen=True)
class Content:
    """All that the terminal summary and the page are made from."""

    folder: Path
    findings: Findings
    run: Mapping[str, Any]
    findings_digest: str

    @property
    def model(self) -> str:
        """The audited model as the user named it."""
        model = self.run.get("model")
        spec = (model.get("spec") or model.get("name")) if isinstance(model, Mapping) else model
        return text(spec) if spec else self.findings.model

    @property
    def questions(self) -> int | None:
        asked = self.run.get("questions")
        return asked if isinstance(asked, int) and not isinstance(asked, bool) else None

    @property
    def at_most(self) -> bool:
        """Whether the number of questions is only an upper bound, as a part of the run then says of itself."""
        stages = self.run.get("stages")
        return isinstance(stages, Mapping) and any("at most" in str(label) for label in stages)

    @property
    def version(self) -> str:
        """Of assay, where it is recorded."""
        versions = self.run.get("versions")
        return text(versions.get("assay", "")) if isinstance(versions, Mapping) else ""

    @property
    def notes(self) -> list[str]:
        """What the run says about itself, such as subjects that were left out; each once."""
        notes = self.run.get("notes") or []
        return list(dict.fromkeys(text(note) for note in (notes if isinstance(notes, list) else [notes])))

    @property
    def level(self) -> str:
        """ "95% interval", or only "interval" where the estimates do not agree on one level."""
        levels = {estimate.level for estimate in self.findings.estimates}
        return f"{percent(levels.pop())} interval" if len(levels) == 1 else "interval"

    def said(self, key: str) -> str:
        """A value of run.json as text; empty where it is missing."""
        value = self.run.get(key)
        return "" if value is None else text(value)

    def setting(self, name: str) -> str:
        """A setting of the run that is a text; empty where it is missing or something else."""
        settings = self.run.get("settings")
        value = settings.get(name) if isinstance(settings, Mapping) else None
        return value if isinstance(value, str) else ""

    def rows(self, table: str) -> Sequence[Row]:
        """The rows of a table; none where this run has no such table."""
        return list(self.findings.tables[table].records()) if table in self.findings.tables else []

    def table_path(self, table: str) -> Path:
        return self.folder / "tables" / f"{table}.csv"

    def number(self, table: str, row: Row, column: str) -> float | None:
        """A cell that has to hold a number or nothing."""
        value = row.get(column)
        if value is None or (isinstance(value, int | float) and abs(value) < sys.float_info.max):
            return value
        raise DataError(
            f'column "{column}" holds {str(value)[:40]!r}, expected a finite number or an empty cell.',
            "Repeat the run to write it again.",
            file=self.table_path(table),
        )


def read_content(folder: Path) -> Content:
    """The content of a run folder. run.json, or any of its keys, may be missing; findings.json may not."""
    findings = read_findings(folder)
    path = folder / "findings.json"
    for estimate in findings.estimates:
        _check(estimate, path)
    names: tuple[object, ...] = (findings.probe, findings.model)
    if not all(isinstance(name, str) for name in names):
        raise DataError('"probe" and "model" have to be text.', "Repeat the run to write it again.", file=path)
    return Content(folder, findings, _read_run(folder / "run.json"), hashlib.sha256(path.read_bytes()).hexdigest())


def _read_run(path: Path) -> Mapping[str, Any]:
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise DataError(f"not JSON ({error}).", "Repeat the run to write it again.", file=path) from None
    if not isinstance(run, dict):
        raise DataError("expected a JSON object.", "Repeat the run to write it again.", file=path)
    return run


def _check(estimate: Estimate, path: Path) -> None:
    """What the types of Estimate promise but a file need not keep."""
    kept: list[tuple[object, type | UnionType]] = [
        (estimate.metric, str),
        (estimate.group, Mapping),
        (estimate.n, int),
        (estimate.level, int | float),
        (estimate.note, str | None),
    ]
    if not all(isinstance(*pair) for pair in kept) or not all(type(v) is str for v in estimate.group.values()):
        raise DataError(
            f"an estimate of {str(estimate.metric)[:40]!r} does not keep to the format.",
            "Its metric, note and group values are text, its n a whole number, its level a number.",
            file=path,
        )


def cell(row: Row, column: str) -> str:
    """A cell of a table as text; empty where it, or its column, is missing."""
    value = row.get(column)
    return "" if value is None else text(value)


def text(value: object) -> str:
    """A JSON value as a person would write it; text stays as it is.

    >>> text("a"), text(True), text(0.5), text(None), text(["a", 2])
    ('a', 'yes', '0.5', 'none', 'a, 2')
    """
    match value:
        case str():
            return value
        case bool():
            return "yes" if value else "no"
        case None:
            return "none"
        case list() | tuple():
            return ", ".join(text(item) for item in value)
        case dict():
            return "; ".join(f"{name}: {said}" for name, said in flat(value))
    return str(value)


def flat(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """A JSON object as (name, text), the names of inner objects joined by dots.

    >>> list(flat({"a": {"b": 1}, "c": "x"}))
    [('a.b', '1'), ('c', 'x')]
    """
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from flat(inner, f"{name}.{key}" if name else str(key))
    elif value not in ({}, []) or name:
        yield name, text(value)
