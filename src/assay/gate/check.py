"""A policy's limits against the runs of a folder: which estimates a limit is about, or why it finds none.

The bound of an estimate's interval is checked: few questions give wide intervals, and must not pass where many would
fail. A misspelt name must never count as a limit that is kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from assay.compare import compare
from assay.compare.differences import EstimateKey, key_of
from assay.errors import AssayError, DataError, UsageError, suggest
from assay.gate.policy import Limit, Match, Policy
from assay.gate.verdicts import Judgement, Outcome, ReasonCode, Verdicts
from assay.probes import metrics_called, part_keys, probes
from assay.results.diagnosis import FOLLOWS
from assay.results.findings import Estimate
from assay.results.run import Run
from assay.results.verdict import Chance, VerdictKind
from assay.runs.folder import open_bare, open_runs, run_folders, unfinished_folders


def judge_folder(folder: Path, policy: Policy) -> Verdicts:
    """The verdicts on all limits for all runs of a folder."""
    if unfinished := unfinished_folders(folder):
        remedy = "Repeat its `assay run` command, or remove its folder."
        raise UsageError("this run is not finished.", remedy, code="unfinished-run", file=unfinished[0])
    gates = _Gate(folder, policy, open_runs(folder))
    judgements = [judgement for limit in policy.limits for judgement in gates.judgements(limit)]
    judgements += [judgement for run in gates.runs for judgement in _verdict_judgements(run, policy)]
    if all(judgement.outcome is Outcome.SKIP for judgement in judgements):
        nothing = "every limit was skipped, so nothing was checked"
        rule = "at least one estimate is checked"
        judgements.append(Judgement("the policy", rule, Outcome.FAIL, nothing, "*", {}, code=ReasonCode.LIMIT))
    notes = dict.fromkeys(note for _, comparison_notes in gates.compared.values() for note in comparison_notes)
    not_checked = [note for run in gates.runs if (note := _unchecked_note(run, policy))]
    return Verdicts(str(folder), policy.name, judgements, [*notes, *not_checked])


Worse = Mapping[EstimateKey, Estimate | str]
"""How much worse than in the baseline each estimate of a run is, or why that is not known."""


@dataclass(frozen=True)
class _Gate:
    folder: Path
    policy: Policy
    runs: Sequence[Run]
    compared: dict[tuple[Path, Path, bool], tuple[Worse, Sequence[str]]] = field(default_factory=dict)  # with notes

    def judgements(self, limit: Limit) -> Iterator[Judgement]:
        """The judgements of a limit, run by run."""
        runs = [run for run in self.runs if _is_about(limit, run)]
        if not runs:
            yield self._not_judged(limit, _absent_runs(limit, self.runs))
        for run in runs:
            model, folder = run.model, str(run.folder)
            for absent in _absent_parts(limit, run.findings.estimates):
                yield replace(self._not_judged(limit, absent), model=model, run=folder)
            for estimate in _selected(limit, run.findings.estimates):
                worse = None if limit.baseline is None else self._worse(limit, run, estimate)
                judgement = judge(self.policy, limit, estimate, worse)
                yield replace(judgement, metric=f"{run.probe}.{limit.of_metric}", model=model, run=folder)

    def _not_judged(self, limit: Limit, absent: _MissingPart) -> Judgement:
        outcome = Outcome("fail" if absent.misspelt else self.policy.rule("missing", limit))
        return Judgement(limit.title, limit.rule, outcome, absent.reason, limit.metric, {}, code=ReasonCode.LIMIT)

    def _worse(self, limit: Limit, run: Run, estimate: Estimate) -> Estimate | str:
        """How much worse an estimate is than in a limit's baseline; the runs are compared once for all limits."""
        key = Path(str(limit.baseline)), run.folder, limit.common
        if key not in self.compared:
            baseline = self._baseline(limit, run)
            try:
                comparison = compare([baseline, run.folder], common=limit.common)
            except AssayError as error:
                remedy = error.remedy.replace("--common", "common = true in the limit")
                problem = f"{self.policy.name}, {limit.title}: {error.problem}"
                refused = type(error)(problem, remedy, code=error.code, key=error.key)
                refused.file, refused.line = error.file, error.line  # which the problem names already
                raise refused from None
            if comparison.model:
                languages = " and in ".join(comparison.models)
                problem = f"{self.policy.name}, {limit.title}: the baseline and {run.folder} were asked in {languages}."
                remedy = "Name a baseline in the same language."
                raise UsageError(problem, remedy, code="not-comparable", key="baseline")
            worse: Worse = {
                key_of(difference.change): difference.worse or difference.change.note or ""
                for difference in comparison.differences
            }
            self.compared[key] = worse, comparison.notes
        worse, notes = self.compared[key]
        return worse.get(key_of(estimate)) or "; ".join(("not compared with the baseline", *notes))

    def _baseline(self, limit: Limit, run: Run) -> Path:
        """The run that a run is compared with: of the same probe, in the same place where there are several."""
        folder = Path(str(limit.baseline))
        about = f"{limit.title}: the baseline {folder}"
        refused = partial(DataError, key="baseline", file=self.policy.name)
        if not folder.is_dir():
            raise refused(f"{about} is not a folder.", "Name a run's folder.", code="missing-file")
        same = [path for path in run_folders(folder) if open_bare(path).probe == run.probe]
        beside = folder / run.folder.relative_to(self.folder)
        if len(same) == 1 or beside in same:
            return beside if beside in same else same[0]
        problem = f"{about} holds {len(same)} runs of {run.probe}, expected one."
        raise refused(problem, "Name the folder of one run, or of a tour.", code="not-comparable")


# --- one estimate against one limit: the bound of its interval decides, not the value


def judge(policy: Policy, limit: Limit, estimate: Estimate, worse: Estimate | str | None = None) -> Judgement:
    """The verdict on an estimate of a run; against a baseline on how much worse it is, or why that is not known."""
    judged, margin = estimate if worse is None or isinstance(worse, str) else worse, None
    if isinstance(worse, str) or judged.value is None:
        reason = worse if isinstance(worse, str) else f"undefined: {judged.note}"
        outcome = Outcome(policy.rule("undefined", limit))
        judged = replace(estimate, value=None, low=None, high=None, note=reason)
    elif limit.clear_of_chance is not None:
        outcome, reason = _by_chance(judged)
    else:
        outcome, reason, margin = _by_bounds(policy, limit, judged)
    about = limit.title, limit.rule, outcome, reason, limit.metric, dict(judged.group)
    numbers = {key: getattr(judged, key) for key in ("value", "corrected", "low", "high", "level", "n")}
    code = None
    if outcome is not Outcome.PASS:
        code = ReasonCode.FEW if _lacks_answers(limit, judged, margin) else ReasonCode.LIMIT
    return Judgement(*about, **numbers, margin=margin, code=code)


_TOO_FEW = re.compile(r"\b(too few|fewer than|are needed|in most resamples)\b")
"""How probes' notes say that there are too few answers, templates or names for a number or its interval."""


def _lacks_answers(limit: Limit, judged: Estimate, margin: float | None) -> bool:
    """Whether nothing could be judged because there are too few answers for a number, its interval or its test."""
    unknown = judged.chance is Chance.UNTOLD if limit.clear_of_chance is not None else judged.low is None
    missing = judged.value is None or (unknown and margin is None)
    return missing and _TOO_FEW.search(judged.note or "") is not None


_NOT_CONTAINED = "its interval does not contain it, so no bound can be checked"


def _by_chance(estimate: Estimate) -> tuple[Outcome, str]:
    chance = estimate.chance
    finding = {
        Chance.ABOVE: "statistically clear",
        Chance.WITHIN: "not statistically clear",
        Chance.UNTOLD: "it has no p, q or chance level to compare with",
    }[chance]
    numbers = {"q": estimate.q, "p": estimate.p, "chance level": estimate.floor}
    tested = ", ".join(f"{name} {value:.3g}" for name, value in numbers.items() if value is not None)
    outcome = Outcome.PASS if chance is Chance.WITHIN else Outcome.FAIL
    return outcome, f"{finding} ({tested})" if tested else finding


def _by_bounds(policy: Policy, limit: Limit, estimate: Estimate) -> tuple[Outcome, str, float | None]:
    if not estimate.contained:
        return Outcome.FAIL, _NOT_CONTAINED, None
    low, high, value = estimate.low, estimate.high, estimate.value
    lowest, highest, hint = "lower bound", "upper bound", ""
    if low is None or high is None:
        if policy.rule("no_interval", limit) == "fail":
            note = f": {estimate.note}" if estimate.note else ""
            return Outcome.FAIL, f"a value without an interval{note}", None
        assert value is not None  # undefined ones were judged before
        low = high = value
        lowest = highest = "value"
        hint = "checked by its value: it has no interval"
    broken, margins, (lower, upper) = [], [], limit.bounds
    if upper is not None:
        margins.append(upper - high)
        if limit.worse_by is not None and high > upper:
            broken.append(f"{highest} {high:.6g} is more than {upper:g}")
        elif limit.worse_by is None and high >= upper:
            broken.append(f"{highest} {high:.6g} is not below {upper:g}")
    if lower is not None:
        margins.append(low - lower)
        if low <= lower:
            broken.append(f"{lowest} {low:.6g} is not above {lower:g}")
    return Outcome.FAIL if broken else Outcome.PASS, "; ".join(broken) or hint, min(margins)


# --- verdicts, and whether estimates mean anything


def _verdict_judgements(run: Run, policy: Policy) -> Iterator[Judgement]:
    """The judgements of a run's verdict: whether its answers can be used, and whether the policy accepts it.

    Where the answers cannot be used, that alone is judged, unless the policy names this verdict among the accepted.
    """
    unusable_reason, verdict = _why_unusable(run), run.findings.verdict
    about: dict[str, Any] = {"group": {}, "model": run.model, "run": str(run.folder)}
    if unusable_reason:
        judged = _USABLE, _USABLE, Outcome(policy.unusable), unusable_reason, f"{run.probe}.unusable"
        yield Judgement(*judged, **about, code=ReasonCode.UNUSABLE)
    if policy.accept is None or (unusable_reason and VerdictKind.UNUSABLE not in policy.accept):
        return
    title = f"verdict: {' or '.join(policy.accept)}"
    about["metric"] = f"{run.probe}.verdict"
    if verdict is None:
        no_verdict = "the run has no verdict: its probe gives none"
        yield Judgement(title, title, Outcome.FAIL, no_verdict, **about, code=ReasonCode.VERDICT)
        return
    reason = f"{verdict.says}: {verdict.why}"
    if verdict.says in policy.accept:
        yield Judgement(title, title, Outcome.PASS, reason, **about)
    else:
        code = ReasonCode.FEW if verdict.says in (VerdictKind.FEW, VerdictKind.CANNOT) else ReasonCode.VERDICT
        yield Judgement(title, title, Outcome.FAIL, reason, **about, code=code)


_USABLE = "answers can be used"


def _why_unusable(run: Run) -> str:
    """Why a run's answers cannot be used; empty if they can, or if that is not known."""
    verdict, diagnosis = run.findings.verdict, run.findings.diagnosis
    if verdict is not None and verdict.says is VerdictKind.UNUSABLE:
        return f"{verdict.says}: {verdict.why}"
    return f"{VerdictKind.UNUSABLE}: {diagnosis.why}" if diagnosis is not None and diagnosis.follows_place else ""


def _unchecked_note(run: Run, policy: Policy) -> str:
    """A note on what was not checked about a run's answers; empty if there is nothing to say."""
    if reason := _why_unusable(run):
        skipped = f'{run.folder} did not fail, because of unusable = "skip": {reason}'
        return skipped if policy.unusable == "skip" else ""
    if run.findings.diagnosis is None:
        return f"{run.folder} has no diagnosis: whether {FOLLOWS} was not checked"
    return ""


# --- which estimates


def _is_about(limit: Limit, run: Run) -> bool:
    """Whether a limit is about a run; for any probe ("*") those runs count that have the metric."""
    if limit.probe == "*":
        return any(estimate.metric == limit.of_metric for estimate in run.findings.estimates)
    return limit.probe == run.probe


def _selected(limit: Limit, estimates: Sequence[Estimate]) -> list[Estimate]:
    """The estimates of one run (of the limit's probe) that a limit is about."""
    of_metric = (estimate for estimate in estimates if estimate.metric == limit.of_metric)
    return [estimate for estimate in of_metric if _has_group(limit, estimate.group)]


def _has_group(limit: Limit, group: Mapping[str, str]) -> bool:
    if part_keys() & group.keys() - limit.group.keys():
        return False
    if limit.without and all(_matches(match, group.get(key)) for key, match in limit.without.items()):
        return False
    return all(_matches(match, group.get(key)) for key, match in limit.group.items())


def _matches(match: Match, value: str | None) -> bool:
    """
    >>> _matches("*", "a"), _matches("*", None), _matches(["a", "b"], "b"), _matches(False, None)
    (True, False, True, True)
    """
    if isinstance(match, bool):
        return value is None
    if isinstance(match, str):
        return value is not None if match == "*" else value == match
    return value in match


# --- why there are none


@dataclass(frozen=True)
class _MissingPart:
    """Something that a limit names and a run does not have; what is `misspelt` exists nowhere."""

    reason: str
    misspelt: bool = False


def _absent_runs(limit: Limit, runs: Sequence[Run]) -> _MissingPart:
    """Why no run is about a limit."""
    present_probes = {run.probe for run in runs}
    if misspelt := _misspelt_metric(limit, {estimate.metric for run in runs for estimate in run.findings.estimates}):
        return misspelt
    if limit.probe == "*":
        return _MissingPart(f"no run has the metric {limit.of_metric}.")
    probe_names = {*probes(), *present_probes}
    if limit.probe not in probe_names:
        return _MissingPart(f'there is no probe "{limit.probe}"{suggest(limit.probe, probe_names)}', misspelt=True)
    return _MissingPart(f"there is no run of {limit.probe} here, only of {', '.join(sorted(present_probes))}.")


def _absent_parts(limit: Limit, estimates: Sequence[Estimate]) -> list[_MissingPart]:
    """What a limit names and a run of its probe does not have: the metric, a key, all the values together, or one."""
    if misspelt := _misspelt_metric(limit, {estimate.metric for estimate in estimates}):
        return [misspelt]
    groups = [estimate.group for estimate in estimates if estimate.metric == limit.of_metric]
    if not groups:
        return [_MissingPart(f"this run has no {limit.of_metric}.")]
    present = {key for group in groups for key in group}
    keys = present | {key for metric in metrics_called(limit.of_metric) for key in metric.keys}
    for key in (*limit.group, *limit.without):
        if key not in keys:
            problem = f'no estimate of {limit.of_metric} has the key "{key}"{suggest(key, present)}'
            return [_MissingPart(problem, misspelt=True)]
    chosen = [estimate.group for estimate in _selected(limit, estimates)]
    lacking = list(_missing_values(limit, groups, chosen))
    if chosen or lacking:
        return lacking
    return [_MissingPart(f"no estimate of {limit.of_metric} matches the limit's group and without.")]


def _misspelt_metric(limit: Limit, metrics: Collection[str]) -> _MissingPart | None:
    if limit.of_metric in metrics or metrics_called(limit.of_metric):
        return None
    return _MissingPart(f'there is no metric "{limit.of_metric}"{suggest(limit.of_metric, metrics)}', misspelt=True)


def _missing_values(
    limit: Limit, groups: Sequence[Mapping[str, str]], chosen: Sequence[Mapping[str, str]]
) -> Iterator[_MissingPart]:
    """The named values that no selected estimate has; where nothing is selected, those that no estimate has at all."""
    searched = chosen or groups
    for key, match in limit.group.items():
        if isinstance(match, bool):
            continue
        if match == "*":
            if not any(key in group for group in searched):
                yield _MissingPart(f'no estimate of {limit.of_metric} has the key "{key}".')
            continue
        for value in [match] if isinstance(match, str) else match:
            if not any(group.get(key) == value for group in searched):
                values = {group[key] for group in groups if key in group}
                yield _MissingPart(f'no estimate of {limit.of_metric} has {key} "{value}"{suggest(value, values)}')
