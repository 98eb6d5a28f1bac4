"""A policy's limits against the runs of a folder.

A limit is judged on the bound of an estimate's interval, so that few questions, whose intervals are wide, do not pass
what many would not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.compare import compare
from assay.errors import AssayError, DataError, UsageError
from assay.findings import Estimate
from assay.gate.judge import Judgement, Outcome, judge, judge_difference, not_selected
from assay.gate.policy import Limit, Policy
from assay.gate.select import Absent, absent_parts, absent_probe, of_probe, selected
from assay.gate.verdicts import Verdicts
from assay.run import Run
from assay.runs.folder import open_bare, open_runs, run_folders, unfinished_folders

_Key = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class _Compared:
    """A run beside its baseline: how much worse each estimate is, or why that is not known; and what to know of it."""

    worse: Mapping[_Key, Estimate | str]
    notes: Sequence[str]

    def of(self, estimate: Estimate) -> Estimate | str:
        unknown = "; ".join(("not compared with the baseline", *self.notes))
        return self.worse.get(_key(estimate)) or unknown


def judge_folder(folder: Path, policy: Policy) -> Verdicts:
    """The verdicts on all limits for all runs of a folder."""
    if unfinished := unfinished_folders(folder):
        raise UsageError(
            "this run is not finished.",
            "Repeat its `assay run` command, or remove its folder.",
            code="unfinished-run",
            file=unfinished[0],
        )
    gates = _Gate(folder, policy, open_runs(folder))
    judgements = [judgement for limit in policy.limits for judgement in gates.judgements(limit)]
    if all(judgement.outcome is Outcome.SKIP for judgement in judgements):
        nothing = "every limit was skipped, so nothing was judged"
        judgements.append(Judgement("the policy", "at least one estimate is judged", Outcome.FAIL, nothing, "*", {}))
    notes = dict.fromkeys(note for compared in gates.compared.values() for note in compared.notes)
    return Verdicts(str(folder), policy.name, judgements, list(notes))


@dataclass(frozen=True)
class _Gate:
    folder: Path
    policy: Policy
    runs: Sequence[Run]
    compared: dict[tuple[Path, Path, bool], _Compared] = field(default_factory=dict)

    def judgements(self, limit: Limit) -> Iterator[Judgement]:
        """What comes of a limit, run by run."""
        own = [run for run in self.runs if of_probe(limit, run.probe, run.findings.estimates)]
        if not own:
            metrics = {estimate.metric for run in self.runs for estimate in run.findings.estimates}
            probes = {run.probe for run in self.runs}
            yield self._absent(limit, absent_probe(limit, probes, metrics))
        for run in own:
            model, place = run.model, str(run.folder)
            for absent in absent_parts(limit, run.findings.estimates):
                yield self._absent(limit, absent, model, place)
            for estimate in selected(limit, run.findings.estimates):
                found = self._judged(limit, run, estimate)
                yield replace(found, metric=f"{run.probe}.{limit.of_metric}", model=model, run=place)

    def _absent(self, limit: Limit, absent: Absent, model: str = "", run: str = "") -> Judgement:
        rule = "fail" if absent.misspelt else self.policy.rule("missing", limit)
        return not_selected(limit, absent.why, Outcome(rule), model, run)

    def _judged(self, limit: Limit, run: Run, estimate: Estimate) -> Judgement:
        if limit.baseline is None:
            return judge(self.policy, limit, estimate)
        return judge_difference(self.policy, limit, estimate, self._beside(limit, run).of(estimate))

    def _beside(self, limit: Limit, run: Run) -> _Compared:
        """A run compared with a limit's baseline, once for all limits."""
        key = Path(str(limit.baseline)), run.folder, limit.common
        if key not in self.compared:
            baseline = self._baseline(limit, run)
            try:
                comparison = compare([baseline, run.folder], common=limit.common)
            except AssayError as error:
                remedy = error.remedy.replace("--common", "common = true in the limit")
                problem = f"{self.policy.name}, {limit.title}: {error.problem}"
                refused = UsageError(problem, remedy, code=error.code, key=error.key)
                refused.file, refused.line = error.file, error.line  # which the problem names already
                raise refused from None
            worse = {_key(each.change): each.worse or each.change.note or "" for each in comparison.differences}
            self.compared[key] = _Compared(worse, comparison.notes)
        return self.compared[key]

    def _baseline(self, limit: Limit, run: Run) -> Path:
        """The run that a run is compared with: of the same probe, in the same place where there are several."""
        folder = Path(str(limit.baseline))
        if not folder.is_dir():
            raise DataError(
                f"{limit.title}: the baseline {folder} is no folder.",
                "Name a run's folder.",
                code="missing-file",
                key="baseline",
                file=self.policy.name,
            )
        same = [path for path in run_folders(folder) if open_bare(path).probe == run.probe]
        beside = folder / run.folder.relative_to(self.folder)
        if len(same) == 1 or beside in same:
            return beside if beside in same else same[0]
        raise DataError(
            f"{limit.title}: the baseline {folder} holds {len(same)} runs of {run.probe}, expected one.",
            "Name the folder of one run, or of a tour.",
            code="not-comparable",
            file=self.policy.name,
            key="baseline",
        )


def _key(estimate: Estimate) -> _Key:
    return estimate.metric, tuple(sorted(estimate.group.items()))
