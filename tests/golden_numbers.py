"""Numbers kept in tests/golden: comparing with them, and writing them anew (`--update-golden`). Its README says when.

This file knows findings.json and its tables, and nothing of assay's modules.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden"
ABOUT = ("preset", "limit", "seed", "questions", "stages")
"""What is kept of run.json."""
UNSTABLE = {"projection": ("x", "y")}
"""t-SNE gives the same places on the same machine only; the rest of its table is kept."""
WORDING = frozenset({"note", "reason", "rule", "outcome"})
"""Texts that do not tell one record from another."""
DERIVED = frozenset({"interval_of"})
"""What follows from other numbers, and is not kept."""
VERDICT = ("limit", "metric", "group", "outcome", "value", "low", "high", "margin")
"""What is kept of a verdict."""
DIAGNOSED = ("places", "exchanged", "ties", "negation")
MOST = 20  # differences that a failure lists

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Closeness:
    """How far a number may be from the kept one. Where near ties decided, what is counted may differ by these."""

    within: float = 1e-9
    near_ties: int = 0
    counts: frozenset[str] = frozenset()  # metrics, and columns of tables, that count who won

    def of(self, record: Record, column: str) -> float:
        counted = self.counts & {str(record.get("metric")), column}
        return self.within + (2 * self.near_ties / max(record.get("n") or 1, 1) if counted else 0.0)


EXACT = Closeness()


def on_any_machine(run: Path) -> Closeness:
    """For a run of a real model: scores differ by some 1e-5, and what counts wins by the near ties that it reports."""
    ties = json.loads((run / "run.json").read_text(encoding="utf-8"))["near_ties"]["items"]
    return Closeness(1e-4, sum(ties.values()), frozenset({"eta"}))


@dataclass
class Golden:
    """What was kept; with `update` it is written instead of compared."""

    update: bool = False
    folder: Path = field(default=FOLDER)

    def run(self, name: str, run: Path, close: Closeness = EXACT, *, hide_texts: bool = False) -> None:
        """The estimates and tables of a run folder; `hide_texts` keeps only digests of the tables' texts."""
        found = json.loads((run / "findings.json").read_text(encoding="utf-8"))
        info = json.loads((run / "run.json").read_text(encoding="utf-8"))
        about = {key: found[key] for key in ("probe", "model")} | {key: info[key] for key in ABOUT if key in info}
        about["verdict"] = {key: found["verdict"][key] for key in ("says", "why")}
        self.records(f"{name}.json", found["estimates"], close, about)
        self.diagnosis(f"{name}/diagnosis.json", found["diagnosis"], close)
        tables = {title: _table(run / file, hide_texts) for title, file in found["tables"].items()}
        if self.update:
            for stale in (self.folder / name).glob("*.csv.gz"):
                stale.unlink()
            for title, (columns, rows) in tables.items():
                write_packed(self.folder / name / f"{title}.csv.gz", [columns, *rows])
        kept = {path.name.split(".")[0]: read_packed(path) for path in (self.folder / name).glob("*.csv.gz")}
        assert kept.keys() == tables.keys(), f"{name}: other tables"
        for title, (columns, rows) in tables.items():
            assert kept[title][0] == columns, f"{name}, {title}: other columns"
            records = (
                [dict(zip(columns, map(_cell, row), strict=True)) for row in some] for some in (kept[title][1:], rows)
            )
            require_alike(f"{name}/{title}.csv.gz", *records, close)

    def diagnosis(self, file: str, found: Record, close: Closeness) -> None:
        """What a run says about its answers: who follows a place, and shares of places, exchanged pairs, negations."""
        shares = ("place", "part", "share", "expected", *(("q",) if close is EXACT else ()), "exact", "n")
        parts = {key: own if isinstance(own, list) else [own] for key in DIAGNOSED if (own := found[key]) is not None}
        records = [
            {"kind": key} | {name: each[name] for name in shares if name in each}
            for key, some in parts.items()
            for each in some
        ]
        about = {key: found[key] for key in ("follows_place", "missing")}
        self.records(file, records, replace(close, counts=close.counts | {"share", "expected"}), about)

    def verdicts(self, file: str, told: str) -> None:
        """What a gate said, as JSON."""
        judged = json.loads(told)
        verdicts = [{part: each[part] for part in VERDICT} for each in judged["verdicts"]]
        self.records(file, verdicts, about={"passed": judged["passed"]})

    def records(
        self, file: str, found: Sequence[Record], close: Closeness = EXACT, about: Record | None = None
    ) -> None:
        """Records, whatever their order, and what they are about, which must be equal."""
        path, about = self.folder / file, about or {}
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            notes: list[str] = []
            parts = {key: _json(value) for key, value in about.items()}
            parts["records"] = _lines(_short(record, notes) for record in found)
            parts["notes"] = _lines(notes)
            content = ",\n".join(f'"{key}": {value}' for key, value in parts.items())
            path.write_text(f"{{\n{content}\n}}\n", encoding="utf-8")
        kept, records = read_records(path)
        require_alike(file, records, json.loads(_json(found)), close)
        assert kept == json.loads(_json(about)), file


def read_records(path: Path) -> tuple[dict[str, Any], list[Record]]:
    """What kept records are about, and the records."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    notes = kept.pop("notes")
    return kept, [_long(record, notes) for record in kept.pop("records")]


def unpacked(name: str, folder: Path) -> Path:
    """A kept run as a run folder again, for what shows runs."""
    kept, estimates = read_records(FOLDER / f"{name}.json")
    tables = {path.name.split(".")[0]: read_packed(path) for path in sorted((FOLDER / name).glob("*.csv.gz"))}
    (folder / "tables").mkdir(parents=True)
    for title, rows in tables.items():
        with (folder / "tables" / f"{title}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
    places = {title: f"tables/{title}.csv" for title in tables}
    found = {key: kept[key] for key in ("probe", "model", "verdict")} | {"schema": 3, "tables": places}
    found["estimates"] = [{"value": None, **estimate} for estimate in estimates]
    (folder / "findings.json").write_text(_json(found), encoding="utf-8")
    info = {key: value for key, value in kept.items() if key in ABOUT} | {
        "schema": 3,
        "identity": {},
        "model": {"name": kept["model"]},
    }
    (folder / "run.json").write_text(_json(info), encoding="utf-8")
    return folder


def require_alike(what: str, kept: Iterable[Record], found: Iterable[Record], close: Closeness = EXACT) -> None:
    """Fails with a list of the records that differ, each by name and with both numbers."""
    before, now = _by_texts(kept), _by_texts(found)
    unlike = [f"gone: {key}" for key in before if key not in now] + [f"new: {key}" for key in now if key not in before]
    for key in [key for key in before if key in now]:
        one, other = before[key], now[key]
        apart = [
            f"{column} was {one.get(column)}, is {other.get(column)}"
            for column in {**one, **other}
            if not _alike(one.get(column), other.get(column), close.of(one, column))
        ]
        unlike += [f"{key}: {'; '.join(apart)}"] if apart else []
    shown = "\n  ".join(unlike[:MOST])
    remedy = "If they shall: pytest --update-golden, and say why in the commit."
    assert not unlike, f"{len(unlike)} of {len(before)} records are not as in {what}:\n  {shown}\n{remedy}"


def _by_texts(records: Iterable[Record]) -> dict[str, Record]:
    """Records by their texts; those with the same by their turn."""
    found: dict[str, Record] = {}
    seen: Counter[str] = Counter()
    for whole in records:
        record = _without_derived(whole)
        key = ", ".join(_texts(record))
        seen[key] += 1
        found[key if seen[key] == 1 else f"{key} ({seen[key]})"] = record
    return found


def _without_derived(record: Any) -> Any:
    if not isinstance(record, Mapping):
        return record
    return {name: _without_derived(cell) for name, cell in record.items() if name not in DERIVED}


def _short(record: Record, notes: list[str]) -> Record:
    """A record without what is null, and with the number of its note: other words for a note are one line's change."""
    said = {name: value for name, value in _without_derived(record).items() if value is not None}
    if "note" in said:
        notes += [said["note"]] if said["note"] not in notes else []
        said["note"] = notes.index(said["note"])
    return {name: _short(value, notes) if isinstance(value, Mapping) else value for name, value in said.items()}


def _long(record: Record, notes: Sequence[str]) -> Record:
    said = {name: _long(value, notes) if isinstance(value, Mapping) else value for name, value in record.items()}
    return said | ({"note": notes[said["note"]]} if "note" in said else {})


def _texts(record: Record) -> Iterator[str]:
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _texts(value)
        elif isinstance(value, str) and value and name not in WORDING:
            yield value


def _alike(one: Any, other: Any, within: float) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return all(_alike(one.get(key), other.get(key), within) for key in {**one, **other})
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= within
    return bool(one == other)


# --- tables

Rows = list[list[str]]


def _table(path: Path, hide_texts: bool) -> tuple[list[str], Rows]:
    """A table's columns and rows without what differs from machine to machine."""
    with path.open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    kept = [place for place, column in enumerate(columns) if column not in UNSTABLE.get(path.stem, ())]
    own = [[_hidden(row[place]) if hide_texts else row[place] for place in kept] for row in rows]
    return [columns[place] for place in kept], own


def _cell(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _hidden(text: str) -> str:
    return f"x{sha256(text.encode()).hexdigest()[:7]}" if text and isinstance(_cell(text), str) else text


def write_packed(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    path.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))


def read_packed(path: Path) -> Rows:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def _lines(values: Iterable[object]) -> str:
    return "[\n" + ",\n".join(map(_json, values)) + "\n]"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
