"""The gate: does a model keep the limits of a policy? For builds that shall fail when it does not.

A limit is judged on the bound of an estimate's interval, so that few questions, whose intervals are wide, do not pass
what many would not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from assay.errors import AssayError, DataError, UsageError
from assay.findings import Estimate
from assay.gate.judge import Judgement, Outcome, judge, judge_difference, not_selected
from assay.gate.policy import Limit, Policy, read_policy
from assay.gate.select import Absent, absent_parts, absent_probe, of_probe, selected
from assay.gate.verdicts import Verdicts
from assay.report.content import Content, read_content
from assay.report.folders import run_folders, unfinished_folders

if TYPE_CHECKING:
    from assay.compare import Comparison

__all__ = ["Judgement", "Limit", "Outcome", "Policy", "Verdicts", "gate", "read_policy"]


class Compare(Protocol):
    """assay.compare.compare."""

    def __call__(self, folders: Sequence[Path], *, common: bool) -> Comparison: ...


_Key = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class _Compared:
    """A run beside its baseline: how much worse each estimate is, or why that is not known; and what to know of it."""

    worse: Mapping[_Key, Estimate | str]
    notes: Sequence[str]

    def of(self, estimate: Estimate) -> Estimate | str:
        unknown = "; ".join(("not compared with the baseline", *self.notes))
        return self.worse.get(_key(estimate)) or unknown


def gate(folder: str | Path, policy: str | Path | Policy) -> Verdicts:
    """Judge a run, or all runs in a folder, by a policy: the path of a TOML file, or one built in Python."""
    from assay.compare import compare

    return judge_runs(Path(folder), policy if isinstance(policy, Policy) else read_policy(policy), compare)


def judge_runs(folder: Path, policy: Policy, compare: Compare) -> Verdicts:
    """The verdicts on all limits for all runs of a folder; `compare` sets a run beside its baseline."""
    if unfinished := unfinished_folders(folder):
        raise UsageError(
            f"{unfinished[0]}: this run is not finished.", "Repeat its `assay run` command, or remove its folder."
        )
    runs = [read_content(path) for path in run_folders(folder)]
    gates = _Gate(folder, policy, runs, compare)
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
    runs: Sequence[Content]
    compare: Compare
    compared: dict[tuple[Path, Path, bool], _Compared] = field(default_factory=dict)

    def judgements(self, limit: Limit) -> Iterator[Judgement]:
        """What comes of a limit, run by run."""
        own = [run for run in self.runs if of_probe(limit, run.findings.probe, run.findings.estimates)]
        if not own:
            metrics = {estimate.metric for run in self.runs for estimate in run.findings.estimates}
            probes = {run.findings.probe for run in self.runs}
            yield self._absent(limit, absent_probe(limit, probes, metrics))
        for run in own:
            model, place = run.model, str(run.folder)
            for absent in absent_parts(limit, run.findings.estimates):
                yield self._absent(limit, absent, model, place)
            for estimate in selected(limit, run.findings.estimates):
                found = self._judged(limit, run, estimate)
                yield replace(found, metric=f"{run.findings.probe}.{limit.of_metric}", model=model, run=place)

    def _absent(self, limit: Limit, absent: Absent, model: str = "", run: str = "") -> Judgement:
        rule = "fail" if absent.misspelt else self.policy.rule("missing", limit)
        return not_selected(limit, absent.why, Outcome(rule), model, run)

    def _judged(self, limit: Limit, run: Content, estimate: Estimate) -> Judgement:
        if limit.baseline is None:
            return judge(self.policy, limit, estimate)
        return judge_difference(self.policy, limit, estimate, self._beside(limit, run).of(estimate))

    def _beside(self, limit: Limit, run: Content) -> _Compared:
        """A run compared with a limit's baseline, once for all limits."""
        key = Path(str(limit.baseline)), run.folder, limit.common
        if key not in self.compared:
            baseline = self._baseline(limit, run)
            try:
                comparison = self.compare([baseline, run.folder], common=limit.common)
            except AssayError as error:
                remedy = error.remedy.replace("--common", "common = true in the limit")
                raise UsageError(f"{self.policy.name}, {limit.title}: {error.problem}", remedy) from None
            worse = {_key(each.change): each.worse or each.change.note or "" for each in comparison.differences}
            self.compared[key] = _Compared(worse, comparison.notes)
        return self.compared[key]

    def _baseline(self, limit: Limit, run: Content) -> Path:
        """The run that a run is compared with: of the same probe, in the same place where there are several."""
        folder = Path(str(limit.baseline))
        if not folder.is_dir():
            raise DataError(
                f"{limit.title}: the baseline {folder} is no folder.", "Name a run's folder.", file=self.policy.name
            )
        same = [path for path in run_folders(folder) if read_content(path).findings.probe == run.findings.probe]
        beside = folder / run.folder.relative_to(self.folder)
        if len(same) == 1 or beside in same:
            return beside if beside in same else same[0]
        raise DataError(
            f"{limit.title}: the baseline {folder} holds {len(same)} runs of {run.findings.probe}, expected one.",
            "Name the folder of one run, or of a tour.",
            file=self.policy.name,
        )


def _key(estimate: Estimate) -> _Key:
    return estimate.metric, tuple(sorted(estimate.group.items()))
