"""The probes: one folder for each published method, and those of other packages.

Every folder here is a probe, and its package defines `PROBE`. Other packages register theirs as entry points of the
group `assay.probes`: the name of the probe, and where its `PROBE` is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module, metadata
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from assay.datasets.catalogue import DataSet
from assay.errors import UsageError, suggest
from assay.probes.base import Method, Metric, Prepared, Probe, unknown_probe

if TYPE_CHECKING:
    from assay.presentation.elements import Presentation, Section
    from assay.results.findings import Findings
    from assay.results.run import Run, StudyRun

GROUP = "assay.probes"


@cache
def probes() -> Mapping[str, Probe]:
    """All probes by name, ordered by place: assay's own, and those of other packages."""
    own = [import_module(f"{__name__}.{each.name}").PROBE for each in iter_modules(__path__) if each.ispkg]
    others = [entry.load() for entry in sorted(metadata.entry_points(group=GROUP), key=lambda each: each.name)]
    by_name: dict[str, Probe] = {}
    for probe in sorted([*own, *others], key=lambda each: each.place):
        if probe.name in by_name:
            raise UsageError(
                f"two packages have a probe {probe.name!r}.", "Uninstall one of them.", code="duplicate", key=probe.name
            )
        by_name[probe.name] = probe
    return by_name


def probe_named(name: str) -> Probe:
    """The probe of this name."""
    if name not in probes():
        problem = f"unknown probe {name!r}; expected {', '.join(probes())}{suggest(name, probes())}"
        raise UsageError(problem, "See `assay list probes`.", code="unknown-probe")
    return probes()[name]


def method_of(name: str) -> Method[Any, Any]:
    """The method of the probe of this name."""
    return probe_named(name).load()


def known_probe(name: str) -> Probe:
    """The probe of this name; one that is not installed gets a minimal descriptor."""
    return probes().get(name) or unknown_probe(name)


def present(run: Run) -> Presentation:
    """What a run's probe shows of the run."""
    return known_probe(run.probe).load().present(run)


def across(runs: Sequence[Run]) -> Sequence[Section]:
    """What several runs of one probe show together, apart from their headline numbers."""
    return known_probe(runs[0].probe).load().across(runs)


def of_study(runs: Sequence[StudyRun]) -> Sequence[Section]:
    """What a study shows about several runs of one probe: how training or debiasing changed their models."""
    return known_probe(runs[0].run.probe).load().of_study(runs)


def varieties(runs: Sequence[Run]) -> Sequence[str]:
    """What tells several runs of one model and one probe apart, such as the language of their questions, in words that
    can follow “in”; empty for other runs.
    """
    if len(runs) < 2 or len({(run.probe, run.weights) for run in runs}) > 1:
        return ()
    return known_probe(runs[0].probe).load().varieties([run.info.settings for run in runs])


def run_names(runs: Sequence[Run]) -> list[str]:
    """The runs' names: their model's name, with the folder's name if two models have the same; or, for one model, what
    tells its runs apart.
    """
    models = [run.model for run in runs]
    return [*varieties(runs)] or [
        model if models.count(model) == 1 else f"{model} ({run.folder.name})"
        for model, run in zip(models, runs, strict=True)
    ]


def tour_probes() -> list[Probe]:
    """The probes of the tour (`assay run` without a probe), in order."""
    return [probe for probe in probes().values() if probe.tour_share]


def metrics_called(id: str) -> list[Metric]:
    """The metrics with this id, one for each probe that has it."""
    return [metric for probe in probes().values() for metric in probe.metrics if metric.id == id]


def part_keys() -> frozenset[str]:
    """Keys of groups that are a part of another estimate's group."""
    return frozenset().union(*(probe.claims.part_keys for probe in probes().values()))


def data_sets() -> Mapping[str, DataSet]:
    """The published data sets, by name."""
    return {data_set.name: data_set for probe in probes().values() for data_set in probe.data.published}


def say_group(probe: str, group: Mapping[str, str]) -> str:
    """Which part of a probe's questions an estimate is about, in its probe's words."""
    return known_probe(probe).words.say_group(group)


def spelled_out(probe: str, about: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an example, or a row of a table, is about: the same keys, with the probe's codes spelled out."""
    return known_probe(probe).words.spell_out(about)


def metric_named(probe: str, id: str) -> Metric:
    """A metric of a probe; one without a description is named by its id."""
    return known_probe(probe).metric(id)


def table_words(probe: str, table: str) -> str:
    """What a table of a probe holds; empty if the probe does not describe it."""
    tables = known_probe(probe).tables
    return tables[table].holds if table in tables else ""


def concluded(method: Method[Any, Any], prepared: Prepared, gathered: Any) -> Findings:
    """A probe's findings from its answers, with the run's claims and the verdict."""
    from assay.probes.claims import with_claims

    return with_claims(method.findings(prepared, gathered), method.probe, prepared.settings)


def described(findings: Findings) -> Findings:
    """Findings whose tables know which of their columns are text."""
    words = known_probe(findings.probe).tables
    tables = {
        name: replace(table, texts=words[name].texts) if name in words else table
        for name, table in findings.tables.items()
    }
    return replace(findings, tables=tables)
