"""The tour: every probe that a model can answer, one run for each, and one page for all.

If a probe fails, the tour continues, and its page says what is missing. On an endpoint, the number of requests is known
before the tour starts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.asking.progress import Progress, TourProgress, shown_progress
from assay.asking.queries import ENDPOINT_ABILITIES
from assay.engine.executor import Executor
from assay.engine.spending import Spending
from assay.errors import AssayError, UsageError
from assay.files.atomic import of_system
from assay.models import find_model
from assay.models.base import ModelSpec, Options
from assay.probes import tour_probes
from assay.probes.base import Probe, Request
from assay.results.run import Tour, write_missing
from assay.runs.audit import (
    AuditListener,
    PreparedAudit,
    data_path,
    default_name,
    new_executor,
    prepare_audit,
    require_askable,
    run_audit,
    write_page,
)
from assay.runs.dry_run import RequestEstimate, expect_calls

REQUESTS = 3000
"""The most requests that the tour sends to an endpoint, unless a limit or a larger preset is given."""


def tour(
    model: str = "builtin",
    *,
    preset: str = "quick",
    limit: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    options: Options | None = None,
    settings: Mapping[str, str] | None = None,
    data: str | Path | None = None,
    skip_bad: bool = False,
    progress: Progress | bool | None = None,
    listener: AuditListener | None = None,
    executor: Executor | None = None,
    spending: Spending | None = None,
    **more: Any,
) -> Tour:
    """Audit a model with every probe that it can answer; `limit` is per probe, and the other options are `audit`'s.

    Returns the folder, with its report.html, and the run of each probe in it. If a probe fails, the listener hears of
    it (without one, there is a warning) and its run is missing; if every probe fails, the first failure is raised.
    """
    request = Request(preset, limit, seed, settings or {}, data_path(data), skip_bad)
    folder = Path(out) if out is not None else Path("runs") / default_name("tour", model, preset, limit)
    _require_tour(folder)
    with shown_progress(progress) as meter:  # also while it is tested what an endpoint can do
        spec, executor = find_model(model, options), executor or new_executor()  # loads the model once for all
        require_askable(spec, executor)
        missing = MissingProbes(listener or AuditListener())
        able = answerable(spec, missing)
        requests = {probe.name: request for probe in able}
        if spec.endpoint is not None:
            calls = expect_tour(model, able, request, options, missing)
            requests = {name: replace(request, limit=estimate.limit) for name, estimate in calls.items()}
            missing.listener.sends(calls)
        begun: dict[str, PreparedAudit] = {}
        for name, probe_request in requests.items():
            with missing.about(name, lacking=True):
                arguments = {**more, "options": options, "executor": executor, "spending": spending}
                begun[name] = prepare_audit(spec, name, probe_request, out=folder / name, **arguments)
        runs, done, total = [], 0, sum(audit.questions for audit in begun.values())
        for name, audit in begun.items():
            if isinstance(meter, TourProgress):
                meter.overall("the tour", done, total)
            with missing.about(name):
                runs.append(run_audit(audit, meter, missing.listener))
            done += audit.questions
    missing.require_some(runs)
    write_missing(folder, missing.why)
    write_page(folder, runs)
    return Tour(folder, runs)


class MissingProbes:
    """The missing probes of a tour, with the reasons."""

    def __init__(self, listener: AuditListener) -> None:
        self.listener = listener
        self.why: dict[str, str] = {}
        self._failed: list[Exception] = []
        self._lacking: list[Exception] = []

    def skip(self, probe: str, reason: str) -> None:
        """Leave out a probe that the model cannot answer."""
        self.why[probe] = f"left out: {reason}"
        self.listener.skips(probe, reason)

    @contextmanager
    def about(self, probe: str, *, lacking: bool = False) -> Iterator[None]:
        """A context that records a failure as this probe's; with `lacking`, a missing ability leaves the probe out."""
        try:
            yield
        except Exception as error:  # a fault in one probe, which may be another package's, must not cost the others
            if lacking and isinstance(error, AssayError) and error.code == "missing-ability":
                self._lacking.append(error)
                self.skip(probe, error.problem)
                return
            failed = of_system(error) or error
            self._failed.append(failed)
            self.why[probe] = f"failed: {failed.problem if isinstance(failed, AssayError) else repr(failed)}"
            self.listener.fails(probe, failed)

    def require_some(self, results: Collection[object]) -> None:
        """If there is no result, raise the first failure, or else the error about a missing ability."""
        if not results:
            raise next(iter([*self._failed, *self._lacking]))


def answerable(spec: ModelSpec, missing: MissingProbes) -> list[Probe]:
    """The probes of the tour that a model can answer; if there are none, the first, whose error says what it lacks."""
    able = [probe for probe in tour_probes() if probe.abilities & spec.abilities]
    for probe in tour_probes():
        if able and probe not in able:
            needed = " or ".join(sorted(probe.abilities - ENDPOINT_ABILITIES))
            missing.skip(probe.name, f"it needs a model with the ability {needed}")
    return able or tour_probes()[:1]


def expect_tour(
    model: str,
    able: Sequence[Probe],
    request: Request,
    options: Options | None,
    missing: MissingProbes,
    *,
    trial: int = 0,
    spending: Spending | None = None,
) -> dict[str, RequestEstimate]:
    """What each probe of a tour sends to an endpoint.

    With the preset quick and no limit, each may send its share of `REQUESTS`, and what earlier probes did not use.
    """
    remaining, calls = REQUESTS, dict[str, RequestEstimate]()
    for number, probe in enumerate(able):
        share = int(remaining * probe.tour_share / sum(later.tour_share for later in able[number:]))
        at_most = share if request.limit is None and request.preset == "quick" else None
        with missing.about(probe.name, lacking=True):
            calls[probe.name] = expect_calls(
                model, probe.name, request, options, trial=trial, spending=spending, at_most=at_most
            )
            remaining -= calls[probe.name].requests
    missing.require_some(calls)
    return calls


def _require_tour(folder: Path) -> None:
    """Refuse a folder with other runs: a tour's page covers all runs in its folder."""
    others = {file.parent.name for file in folder.glob("*/run.json")} - {probe.name for probe in tour_probes()}
    held = "one run, not a tour" if (folder / "run.json").exists() else f"another run, {min(others)}" if others else ""
    if held:
        problem = f"this folder holds {held}."
        raise UsageError(problem, "Choose another folder with --out.", code="other-run", file=folder)
