"""Which estimates a limit is about, and why it finds none: a misspelt name must never pass for a limit that is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.files.toml import near
from assay.findings import Estimate
from assay.gate.policy import Limit, Match
from assay.probes import metrics_called, part_keys, probes


@dataclass(frozen=True)
class Absent:
    """Something that a limit names and a run does not have; what is `misspelt` exists nowhere."""

    why: str
    misspelt: bool = False


def selected(limit: Limit, estimates: Sequence[Estimate]) -> list[Estimate]:
    """The estimates of one run (of the limit's probe) that a limit is about."""
    return [estimate for estimate in estimates if estimate.metric == limit.of_metric and _chosen(limit, estimate.group)]


def of_probe(limit: Limit, probe: str, estimates: Sequence[Estimate]) -> bool:
    """Whether a limit is about a run; for any probe ("*") those runs count that have the metric."""
    if limit.probe == "*":
        return any(estimate.metric == limit.of_metric for estimate in estimates)
    return limit.probe == probe


def _chosen(limit: Limit, group: Mapping[str, str]) -> bool:
    if part_keys() & group.keys() - limit.group.keys():
        return False
    if limit.without and all(_matches(wanted, group.get(key)) for key, wanted in limit.without.items()):
        return False
    return all(_matches(wanted, group.get(key)) for key, wanted in limit.group.items())


def _matches(wanted: Match, value: str | None) -> bool:
    """
    >>> _matches("*", "a"), _matches("*", None), _matches(["a", "b"], "b"), _matches(False, None)
    (True, False, True, True)
    """
    if isinstance(wanted, bool):
        return value is None
    if isinstance(wanted, str):
        return value is not None if wanted == "*" else value == wanted
    return value in wanted


def absent_probe(limit: Limit, there: Collection[str], metrics: Collection[str]) -> Absent:
    """Why no run is about a limit; `there` and `metrics` are the probes and metrics of the runs."""
    if misspelt := _misspelt_metric(limit, metrics):
        return misspelt
    if limit.probe == "*":
        return Absent(f"no run has the metric {limit.of_metric}.")
    known = {*probes(), *there}
    if limit.probe not in known:
        return Absent(f'there is no probe "{limit.probe}"{near(limit.probe, known)}', misspelt=True)
    return Absent(f"there is no run of {limit.probe} here, only of {', '.join(sorted(there))}.")


def absent_parts(limit: Limit, estimates: Sequence[Estimate]) -> list[Absent]:
    """What a limit names and a run of its probe does not have: the metric, a key, all the values together, or one."""
    if misspelt := _misspelt_metric(limit, {estimate.metric for estimate in estimates}):
        return [misspelt]
    own = [estimate.group for estimate in estimates if estimate.metric == limit.of_metric]
    if not own:
        return [Absent(f"this run has no {limit.of_metric}.")]
    present = {key for group in own for key in group}
    keys = present | {key for metric in metrics_called(limit.of_metric) for key in metric.keys}
    for key in (*limit.group, *limit.without):
        if key not in keys:
            said = f'no estimate of {limit.of_metric} has the key "{key}"{near(key, present)}'
            return [Absent(said, misspelt=True)]
    chosen = [estimate.group for estimate in selected(limit, estimates)]
    lacking = list(_lacking(limit, own, chosen))
    if chosen or lacking:
        return lacking
    return [Absent(f"no estimate of {limit.of_metric} fits all that the limit's group and without demand.")]


def _misspelt_metric(limit: Limit, metrics: Collection[str]) -> Absent | None:
    if limit.of_metric in metrics or metrics_called(limit.of_metric):
        return None
    return Absent(f'there is no metric "{limit.of_metric}"{near(limit.of_metric, metrics)}', misspelt=True)


def _lacking(limit: Limit, own: Sequence[Mapping[str, str]], chosen: Sequence[Mapping[str, str]]) -> Iterator[Absent]:
    """The named values that no selected estimate has; where nothing is selected, those that no estimate has at all."""
    looked_at = chosen or own
    for key, wanted in limit.group.items():
        if isinstance(wanted, bool):
            continue
        if wanted == "*":
            if not any(key in group for group in looked_at):
                yield Absent(f'no estimate of {limit.of_metric} has the key "{key}".')
            continue
        for value in [wanted] if isinstance(wanted, str) else wanted:
            if not any(group.get(key) == value for group in looked_at):
                known = {group[key] for group in own if key in group}
                yield Absent(f'no estimate of {limit.of_metric} has {key} "{value}"{near(value, known)}')
