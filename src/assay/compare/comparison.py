"""Finished runs compared: paired differences on the items that both answered, then tables side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from assay.compare.differences import Difference, difference_table, differences_of
from assay.config.settings import MOST_DRAWS, RESAMPLES
from assay.errors import AssayError, DataError, UsageError
from assay.files.decoding import whole_number
from assay.presentation.elements import Chart, Section
from assay.probes import method_of, varieties
from assay.probes.base import Method
from assay.probes.contrast import Common, PairedChange
from assay.results.findings import Table
from assay.results.notebook_display import NotebookDisplay
from assay.results.run import Run, RunKind
from assay.results.verdict import VerdictKind
from assay.runs.folder import INFO, read_info, read_run
from assay.runs.score import recollect_answers

T = TypeVar("T")

DIFFERENCES = "differences"
TITLE = "Paired differences on the items that both answered (* statistically clear, corrected for all tests)"
ESTIMATED = ("resamples", "draws", "permutations", "splits", "place_excess", "place_same")
"""Settings that change intervals, or what counts as a finding, but not what was asked."""


@dataclass(frozen=True)
class Comparison(NotebookDisplay):
    """Runs of one probe, each compared with the first; or tours, with a comparison for each probe in `parts`.

    `differences` are those of all parts. `counts` says, by model, how many items the two runs have, and how many are
    common; `notes` what was not compared, and why; `remarks`, by model, what belongs beside the differences.
    Where all runs are of one model in several languages, `model` is its name, `models` are the languages, and
    `sections` show what the probe says about them together.
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
    remarks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    model: str = ""
    sections: Sequence[Section] = ()

    def to_json(self) -> str:
        return json.dumps(self.content(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def content(self) -> dict[str, Any]:
        """What `to_json` writes."""
        content: dict[str, Any] = {"probe": self.probe, "runs": list(self.runs), "models": list(self.models)}
        content |= {"model": self.model} if self.model else {}
        if self.parts:
            return content | {"notes": list(self.notes), "probes": [part.content() for part in self.parts]}
        charts = (block for section in self.sections for block in section.blocks if isinstance(block, Chart))
        charted = {chart.file: chart.data for chart in charts if chart.data is not None}
        return content | {
            "items": [
                {
                    "model": name,
                    "items": counts.what,
                    "of_baseline": counts.baseline,
                    "of_model": counts.model,
                    "common": counts.common,
                }
                for name, model_counts in self.counts.items()
                for counts in model_counts
            ],
            "notes": list(self.notes),
            "remarks": {name: list(remarks) for name, remarks in self.remarks.items()},
            "differences": [difference.as_json() for difference in self.differences],
            "tables": {name: list(table.records()) for name, table in {**self.tables, **charted}.items()},
        }


def compare_folders(paths: Sequence[Path], *, common: bool) -> Comparison:
    """Compare the runs, or folders of runs, at these paths (see `assay.compare`)."""
    if len(paths) < 2:
        problem = "a comparison needs at least two run folders."
        raise UsageError(problem, "assay compare DIR DIR …", code="missing-setting")
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError("a run folder is named twice.", "Compare a run with others.", code="duplicate")
    tours = {path: _runs_by_probe(path) for path in paths}
    if all(tours.values()):
        return _compare_tours(tours, common)
    if any(tours.values()):
        tour, single = min(tours, key=lambda path: not tours[path]), min(tours, key=lambda path: bool(tours[path]))
        problem = f"{tour} is a folder of runs, and {single} is not."
        raise UsageError(problem, "Compare runs with runs, or tours with tours.", code="not-comparable")
    runs = [read_run(path) for path in paths]
    return compare_runs(runs, _names(runs, paths), common)


def _runs_by_probe(folder: Path) -> dict[str, Path]:
    """The runs in a folder of runs by their probe; none where it is a run itself."""
    if (folder / "run.json").exists():
        return {}
    folders: dict[str, Path] = {}
    for file in sorted(folder.glob("*/run.json")):
        probe = read_info(file.parent).probe
        if probe in folders:
            problem = f"{folder} holds two runs of {probe}, {folders[probe].name} and {file.parent.name}."
            raise UsageError(problem, "Name the runs to compare themselves.", code="duplicate")
        folders[probe] = file.parent
    return folders


def _compare_tours(tours: Mapping[Path, Mapping[str, Path]], common: bool) -> Comparison:
    probes = dict.fromkeys(probe for runs in tours.values() for probe in runs)
    lacking = {probe: [str(path) for path, runs in tours.items() if probe not in runs] for probe in probes}
    shared = [probe for probe, absent in lacking.items() if not absent]
    if not shared:
        contents = "; ".join(f"{path}: {', '.join(runs)}" for path, runs in tours.items())
        problem = f"no probe is in all of these folders ({contents})."
        raise UsageError(problem, "Run the same probe on each model.", code="not-comparable")
    notes = [f"{probe} is not in {', '.join(absent)}" for probe, absent in lacking.items() if absent]
    opened = {probe: [read_run(runs[probe]) for runs in tours.values()] for probe in shared}
    names = _names(opened[shared[0]], [*tours])
    parts: list[Comparison] = []
    refused: list[UsageError] = []
    for probe, runs in opened.items():
        try:
            parts.append(compare_runs(runs, names, common))
        except UsageError as error:
            refused.append(error)
            notes.append(f"{probe} was not compared: {error.problem}")
    if not parts:
        raise refused[0]
    differences = [difference for part in parts for difference in part.differences]
    return Comparison([*map(str, tours)], names, {}, {}, differences, {}, notes, "tour", parts)


def compare_runs(runs: Sequence[Run], names: Sequence[str], common: bool) -> Comparison:
    """Each run against the first; a note says what could not be read again."""
    first, probe = names[0], runs[0].probe
    if probes := {run.probe for run in runs} - {probe}:
        problem = f"these runs are from different probes ({', '.join(sorted({probe, *probes}))})."
        raise UsageError(problem, "Compare runs of one probe.", code="not-comparable", key="probe")
    apart = bool(varieties(runs))
    if not common and not apart:
        _require_same_data(runs)
    method, settings = method_of(probe), resampling_settings(runs[0])
    _require_asked_alike(method, runs)
    changes: dict[str, Sequence[PairedChange]] = {}
    counts: dict[str, Sequence[Common]] = {}
    remarks: dict[str, Sequence[str]] = {}
    tables: dict[str, Table] = {}
    judged = [(name, run.findings.unusable) for name, run in zip(names, runs, strict=True)]
    notes = [f"{name}: {VerdictKind.UNUSABLE}: {reason}" for name, reason in judged if reason]
    sides = [
        _or_note(partial(method.recall, run, partial(recollect_answers, run)), name, notes)
        for name, run in zip(names, runs, strict=True)
    ]
    for name, run, side in zip(names[1:], runs[1:], sides[1:], strict=True):
        notes += _different_settings(first, runs[0], name, run, method.varied_by if apart else ())
        if sides[0] is None or side is None:
            continue
        if not apart and (languages := method.varieties([runs[0].info.settings, run.info.settings])):
            notes.append(f"{first} was asked in {languages[0]}, {name} in {languages[1]}: nothing is paired")
            continue
        pair = _or_note(partial(method.contrast, sides[0], side, settings=settings, common=common), name, notes)
        if pair is None:
            continue
        if (pair.counts or not apart) and not any(common_items.common for common_items in pair.counts):
            if common:
                problem = f"{runs[0].folder} and {run.folder} have no item in common."
                raise UsageError(problem, "Ask both models the same questions.", code="not-comparable")
            notes.append(f"{first} and {name} have no item in common: nothing is paired")
        counts[name] = pair.counts
        notes += [f"{name}: {note}" for note in pair.notes]
        changes[name] = pair.changes
        if pair.remarks:
            remarks[name] = pair.remarks
        for title, table in pair.tables.items():
            before = tables[title].rows if title in tables else []
            tables[title] = Table(("model", *table.columns), [*before, *((name, *row) for row in table.rows)])
    differences, tables = differences_of(probe, first, changes, tables)
    tables |= method.side_by_side([(name, run.findings) for name, run in zip(names, runs, strict=True)])
    if differences:
        tables = {DIFFERENCES: difference_table(differences)} | tables
    return Comparison(
        [str(run.folder) for run in runs],
        list(names),
        tables,
        titles={DIFFERENCES: TITLE, **method.titles},
        differences=differences,
        counts=counts,
        notes=notes,
        probe=probe,
        remarks=remarks,
        model=runs[0].model if apart else "",
        sections=method.across(runs) if apart else (),
    )


def resampling_settings(run: Run) -> dict[str, Any]:
    """A run's settings, for a comparison with it; somebody may have changed `resamples`."""
    settings = {"resamples": RESAMPLES, **run.info.settings}
    resamples = whole_number(str(settings["resamples"]))
    if resamples is None or not 1 <= resamples <= MOST_DRAWS:
        raise DataError(
            f'"resamples" is {str(settings["resamples"])[:40]!r}, expected a whole number from 1 to {MOST_DRAWS:,}.',
            "Repeat the run to rewrite it.",
            code="bad-value",
            file=run.folder / INFO,
            key="resamples",
        )
    return {**settings, "resamples": resamples}


def _or_note(make: Callable[[], T], name: str, notes: list[str]) -> T | None:
    """What `make` returns; where it fails, None and a note that says why. Answers of another run are an error."""
    try:
        return make()
    except AssayError as error:
        if error.code == "stale-answers":
            raise
        notes.append(f"no paired differences with {name}: {error.problem} {error.remedy}".rstrip())
        return None


def _different_settings(first: str, run: Run, second: str, other_run: Run, but: Collection[str]) -> list[str]:
    """The settings that differ, where both are runs of a model; `but` for those that names tell."""
    if RunKind.PREDICTIONS in (run.info.kind, other_run.info.kind):
        return []
    settings, other_settings = run.info.settings, other_run.info.settings
    different = [
        f"{key} ({settings.get(key)}, {other_settings.get(key)})"
        for key in {**settings, **other_settings}
        if key not in {*ESTIMATED, *but}
        and not key.startswith("smallest_")
        and str(settings.get(key)) != str(other_settings.get(key))
    ]
    return [f"{first} and {second} have different settings: {'; '.join(different)}"] if different else []


def _names(runs: Sequence[Run], folders: Sequence[Path]) -> list[str]:
    """Runs by their model's name, or by their folder where two models have the same; those of one model by what tells
    them apart, such as their language.
    """
    if apart := varieties(runs):
        return [*apart]
    names = [run.findings.model for run in runs]
    return [name if names.count(name) == 1 else str(path) for name, path in zip(names, folders, strict=True)]


def _require_asked_alike(method: Method[Any, Any], runs: Sequence[Run]) -> None:
    ways = [method.asked_as(run.info.settings) for run in runs]
    for run, way in zip(runs, ways, strict=True):
        if way != ways[0]:
            problem = f"{runs[0].folder} was asked in another way ({ways[0]}) than {run.folder} ({way})."
            remedy = (
                "Their numbers are not comparable. Repeat one of them with the other's settings; what an older version "
                f"counted in another way is counted again by `assay score {run.probe} RUN`."
            )
            raise UsageError(problem, remedy, code="not-comparable", key="form")


def _require_same_data(runs: Sequence[Run]) -> None:
    first: dict[str, tuple[str, Path]] = {}
    for run in runs:
        if run.info.kind is RunKind.PREDICTIONS:
            continue  # what they were made from is not known
        for name, digest in run.info.data.items():
            before, folder = first.setdefault(name, (digest, run.folder))
            if before != digest:
                apart = f"{folder} and {run.folder} were asked from different data ({name})"
                remedy = "Repeat one of them with the other's data, or compare only the items that both have: --common."
                problem = f"{apart}, so their numbers are not comparable."
                raise UsageError(problem, remedy, code="not-comparable", key=name)
