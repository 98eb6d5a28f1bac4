"""Finished runs compared: paired differences on the items that both answered, then tables side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from assay.compare.differences import Difference, difference_table, differences_of
from assay.errors import AssayError, UsageError
from assay.findings import Table
from assay.notebooks import Displayed
from assay.probes import method_of
from assay.probes.base import Method
from assay.probes.contrast import Common
from assay.run import Kind, Run
from assay.runs.folder import open_run, read_info
from assay.runs.score import gathered_again

DIFFERENCES = "differences"
TITLE = "Paired differences on the items that both answered (* clear of chance: q at most 0.05, 0 outside the interval)"
ESTIMATED = ("resamples", "draws", "permutations", "splits")
"""Settings that change how sure we are, not what was asked."""

RESAMPLES = 1000
"""For probes without such a setting."""


@dataclass(frozen=True)
class Comparison(Displayed):
    """Runs of one probe, every one compared with the first; or tours, with a comparison for each probe in `parts`.

    `differences` are those of all parts. `counts` says, by model, how many items the two runs have, and how many are
    common; `notes` what was not compared, and why.
    """

    runs: Sequence[str]
    models: Sequence[str]
    tables: Mapping[str, Table]
    titles: Mapping[str, str]
    differences: Sequence[Difference] = ()
    counts: Mapping[str, Sequence[Common]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    probe: str = ""
    parts: Sequence[Comparison] = ()

    def to_json(self) -> str:
        return json.dumps(self._content(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def _content(self) -> dict[str, Any]:
        named: dict[str, Any] = {"probe": self.probe, "runs": list(self.runs), "models": list(self.models)}
        if self.parts:
            return named | {"notes": list(self.notes), "probes": [part._content() for part in self.parts]}
        counts = [
            {
                "model": name,
                "items": each.what,
                "of_baseline": each.baseline,
                "of_model": each.model,
                "common": each.common,
            }
            for name, own in self.counts.items()
            for each in own
        ]
        return named | {
            "items": counts,
            "notes": list(self.notes),
            "differences": [each.as_json() for each in self.differences],
            "tables": {name: list(table.records()) for name, table in self.tables.items()},
        }


def compare_folders(paths: Sequence[Path], *, common: bool) -> Comparison:
    """Compare the runs, or folders of runs, at these paths (see `assay.compare`)."""
    if len(paths) < 2:
        raise UsageError(
            "a comparison needs at least two run folders.", "assay compare DIR DIR …", code="missing-setting"
        )
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError("a run folder is named twice.", "Compare a run with others.", code="duplicate")
    tours = [_probes_in(path) for path in paths]
    if any(tours):
        single = next((path for path, held in zip(paths, tours, strict=True) if not held), None)
        if single is not None:
            tour = next(path for path, held in zip(paths, tours, strict=True) if held)
            raise UsageError(
                f"{tour} is a folder of runs, and {single} is not.",
                "Compare runs with runs, or tours with tours.",
                code="not-comparable",
            )
        return _compare_tours(paths, tours, common)
    runs = [open_run(path) for path in paths]
    return _compare_runs(runs, _names(runs, paths), common)


def _probes_in(folder: Path) -> dict[str, Path]:
    """The runs in a folder of runs by their probe; none where it is a run itself."""
    if (folder / "run.json").exists():
        return {}
    found: dict[str, Path] = {}
    for file in sorted(folder.glob("*/run.json")):
        probe = read_info(file.parent).probe
        if probe in found:
            raise UsageError(
                f"{folder} holds two runs of {probe}, {found[probe].name} and {file.parent.name}.",
                "Name the runs to compare themselves.",
                code="duplicate",
            )
        found[probe] = file.parent
    return found


def _compare_tours(paths: Sequence[Path], tours: Sequence[Mapping[str, Path]], common: bool) -> Comparison:
    shared = [probe for probe in tours[0] if all(probe in held for held in tours)]
    if not shared:
        held = "; ".join(f"{path}: {', '.join(own)}" for path, own in zip(paths, tours, strict=True))
        raise UsageError(
            f"no probe is in all of these folders ({held}).", "Run the same probe on each model.", code="not-comparable"
        )
    notes = []
    for probe in dict.fromkeys(name for held in tours for name in held):
        lacking = [str(path) for path, held in zip(paths, tours, strict=True) if probe not in held]
        notes += [f"{probe} is not in {', '.join(lacking)}"] if lacking else []
    opened = {probe: [open_run(held[probe]) for held in tours] for probe in shared}
    names = _names(opened[shared[0]], paths)
    parts = [_compare_runs(runs, names, common) for runs in opened.values()]
    every = [each for part in parts for each in part.differences]
    return Comparison([str(path) for path in paths], names, {}, {}, every, {}, notes, "tour", parts)


def _compare_runs(runs: Sequence[Run], names: Sequence[str], common: bool) -> Comparison:
    probes = {run.probe for run in runs}
    if len(probes) > 1:
        raise UsageError(
            f"these runs are of {', '.join(sorted(probes))}.",
            "Compare runs of one probe.",
            code="not-comparable",
            key="probe",
        )
    if not common:
        _require_same_data(runs)
    probe = probes.pop()
    method = method_of(probe)
    found = _paired(method, runs, names, common)
    beside = method.side_by_side([(name, run.findings) for name, run in zip(names, runs, strict=True)])
    tables = {**found.tables, **beside}
    if found.differences:
        tables = {DIFFERENCES: difference_table(found.differences)} | tables
    titles = {DIFFERENCES: TITLE, **method.titles}
    folders = [str(run.folder) for run in runs]
    return Comparison(folders, list(names), tables, titles, found.differences, found.counts, found.notes, probe=probe)


@dataclass
class _Found:
    """What the pairs of runs gave so far."""

    differences: list[Difference] = field(default_factory=list)
    counts: dict[str, Sequence[Common]] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def _paired(method: Method[Any, Any], runs: Sequence[Run], names: Sequence[str], common: bool) -> _Found:
    """Every run against the first; what cannot be read again is noted."""
    found = _Found()
    sides: list[Any] = []
    for name, run in zip(names, runs, strict=True):
        try:
            sides.append(method.recall(run, partial(gathered_again, run)))
        except AssayError as error:
            sides.append(None)
            found.notes.append(f"no paired differences with {name}: {error.problem} {error.remedy}".rstrip())
    settings = {"resamples": RESAMPLES, **runs[0].info.settings}
    for name, run, side in zip(names[1:], runs[1:], sides[1:], strict=True):
        found.notes += _settings_apart(names[0], runs[0], name, run)
        if sides[0] is None or side is None:
            continue
        try:
            pair = method.contrast(sides[0], side, settings=settings, common=common)
        except AssayError as error:
            found.notes.append(f"no paired differences with {name}: {error.problem} {error.remedy}".rstrip())
            continue
        if not any(each.common for each in pair.counts):
            if common:
                raise UsageError(
                    f"{runs[0].folder} and {run.folder} have no item in common.",
                    "Ask both models the same questions.",
                    code="not-comparable",
                )
            found.notes.append(f"{names[0]} and {name} have no item in common: nothing is paired")
        found.counts[name] = pair.counts
        found.notes += [f"{name}: {note}" for note in pair.notes]
        found.differences += differences_of(method.probe.name, names[0], name, pair.changes)
        for title, table in pair.tables.items():
            rows = [(name, *row) for row in table.rows]
            before = found.tables[title].rows if title in found.tables else []
            found.tables[title] = Table(("model", *table.columns), [*before, *rows])
    return found


def _settings_apart(first: str, one: Run, second: str, other: Run) -> list[str]:
    """What was set differently, where both are runs of a model."""
    if Kind.PREDICTIONS in (one.info.kind, other.info.kind):
        return []
    ours, theirs = one.info.settings, other.info.settings
    different = [
        f"{key} ({ours.get(key)}, {theirs.get(key)})"
        for key in {**ours, **theirs}
        if key not in ESTIMATED and str(ours.get(key)) != str(theirs.get(key))
    ]
    return [f"{first} and {second} were set differently: {'; '.join(different)}"] if different else []


def _names(runs: Sequence[Run], folders: Sequence[Path]) -> list[str]:
    """Runs by their model's name, or by their folder where two models have the same."""
    names = [run.findings.model for run in runs]
    return [name if names.count(name) == 1 else str(path) for name, path in zip(names, folders, strict=True)]


def _require_same_data(runs: Sequence[Run]) -> None:
    first: dict[str, tuple[str, Path]] = {}
    for run in runs:
        if run.info.kind is Kind.PREDICTIONS:
            continue  # nobody knows what they were made from
        for name, digest in run.info.data.items():
            before, folder = first.setdefault(name, (digest, run.folder))
            if before != digest:
                raise UsageError(
                    f"{folder} and {run.folder} were asked from different data ({name}), so their numbers are not "
                    "comparable.",
                    "Repeat one of them with the other's data, or compare only the items that both have: --common.",
                    code="not-comparable",
                    key=name,
                )
