"""What is asked: one folder for each published method, and those of other people's packages.

Every folder here is a probe, and its package has `PROBE`. Other packages register theirs as entry points of the group
`assay.probes`: the name of the probe, and where its `PROBE` is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module, metadata
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError, near
from assay.files.published import DataSet
from assay.probes.base import Method, Metric, Prepared, Probe, unknown_probe

if TYPE_CHECKING:
    from assay.blocks import Presentation, Section
    from assay.findings import Findings
    from assay.run import Run, StudyRun

GROUP = "assay.probes"


@cache
def probes() -> Mapping[str, Probe]:
    """Every probe by its name, in the order of their places: assay's own, and those of other packages."""
    own = [import_module(f"{__name__}.{each.name}").PROBE for each in iter_modules(__path__) if each.ispkg]
    others = [entry.load() for entry in sorted(metadata.entry_points(group=GROUP), key=lambda each: each.name)]
    found: dict[str, Probe] = {}
    for probe in sorted([*own, *others], key=lambda each: each.place):
        if probe.name in found:
            raise UsageError(
                f"two packages have a probe {probe.name!r}.",
                "Uninstall one of them.",
                code="duplicate",
                key=probe.name,
            )
        found[probe.name] = probe
    return found


def probe_named(name: str) -> Probe:
    """The probe of this name."""
    if name not in probes():
        problem = f"unknown probe {name!r}; expected {', '.join(probes())}{near(name, probes())}"
        raise UsageError(problem, "See `assay list probes`.", code="unknown-probe")
    return probes()[name]


def method_of(name: str) -> Method[Any, Any]:
    """The method of the probe of this name."""
    return probe_named(name).load()


def known_probe(name: str) -> Probe:
    """The probe of this name; one that is not installed says as little as can be said."""
    return probes().get(name) or unknown_probe(name)


def present(run: Run) -> Presentation:
    """What a run's probe shows of it."""
    return known_probe(run.probe).load().present(run)


def across(runs: Sequence[Run]) -> Sequence[Section]:
    """What several runs of one probe show together besides their headline numbers."""
    return known_probe(runs[0].probe).load().across(runs)


def of_study(runs: Sequence[StudyRun]) -> Sequence[Section]:
    """What only a study shows of several runs of one probe: what making their models changed."""
    return known_probe(runs[0].run.probe).load().of_study(runs)


def tour_probes() -> list[Probe]:
    """The probes of `assay run` without a name, in their order."""
    return [each for each in probes().values() if each.tour]


def metrics_called(id: str) -> list[Metric]:
    """The metrics of this id: none where no probe has it, several where several do."""
    return [metric for probe in probes().values() for metric in probe.metrics if metric.id == id]


def part_keys() -> frozenset[str]:
    """Keys of estimates that are about a part of what another estimate is about."""
    return frozenset().union(*(probe.part_keys for probe in probes().values()))


def data_sets() -> Mapping[str, DataSet]:
    """What the papers published, by name."""
    return {known.name: known for probe in probes().values() for known in probe.data_sets}


def say_group(probe: str, group: Mapping[str, str]) -> str:
    """Which part of a probe's questions an estimate is about, in its probe's words."""
    return known_probe(probe).say_group(group)


def metric_named(probe: str, id: str) -> Metric:
    """A metric of a probe; what is not described is called what it is."""
    return known_probe(probe).metric(id)


def table_words(probe: str, table: str) -> str:
    """What a table of a probe holds; empty where that is not described."""
    tables = known_probe(probe).tables
    return tables[table].holds if table in tables else ""


def concluded(method: Method[Any, Any], prepared: Prepared, gathered: Any) -> Findings:
    """What a probe makes of its answers, with what of it the run claims, and the verdict."""
    from assay.probes.claims import with_claims

    return with_claims(method.findings(prepared, gathered), method.probe, prepared.settings)


def described(findings: Findings) -> Findings:
    """Findings whose tables know which of their columns are texts, as their probe says."""
    words = known_probe(findings.probe).tables
    tables = {
        name: replace(table, texts=words[name].texts) if name in words else table
        for name, table in findings.tables.items()
    }
    return replace(findings, tables=tables)
