"""What `assay run` prints while it works, about endpoints too, and its exit code if a probe of the tour fails.

Imported when a run begins, because its own imports are slow.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from assay.asking.progress import Progress, ProgressBar, duration
from assay.cli.common import print_stages
from assay.engine.spending import Price, Spending
from assay.errors import AssayError, UsageError
from assay.models import find_model
from assay.probes.base import Request, Stage
from assay.results.formatting import plural
from assay.runs.audit import AuditListener, data_path
from assay.runs.dry_run import RequestEstimate, expect_calls
from assay.runs.tour import MissingProbes, answerable, expect_tour


@dataclass
class AuditPrinter(AuditListener):
    """Prints to standard error what an audit does. On a terminal, asks before a tour sends requests, unless `yes`."""

    model: str
    spending: Spending = field(default_factory=Spending)
    progress: Progress | None = None
    yes: bool = False
    failed: dict[str, Exception] = field(default_factory=dict)

    def begins(self, probe: str, stages: tuple[Stage, ...], notes: tuple[str, ...], folder: Path) -> None:
        print(f"{probe} on {self.model}, {folder}", file=sys.stderr)
        print_stages(stages, file=sys.stderr)
        for note in notes:
            print(f"note: {note}", file=sys.stderr)

    def skips(self, probe: str, why: str) -> None:
        print(f"{probe} is left out: {why}", file=sys.stderr)

    def fails(self, probe: str, error: Exception) -> None:
        self.failed[probe] = error
        if isinstance(error, AssayError):
            print(f"{probe} failed: {error.problem}", file=sys.stderr)
            if error.remedy:
                print(f"  {error.remedy}", file=sys.stderr)
        else:  # a bug in assay or in a probe's package: its report needs the traceback
            traceback.print_exception(error)
            print(f"{probe} failed: {error!r}", file=sys.stderr)

    def sends(self, calls: Mapping[str, RequestEstimate]) -> None:
        if isinstance(self.progress, ProgressBar):
            self.progress.clear()
        parts = ", ".join(f"{name} {estimate.requests:,}{_limited(estimate)}" for name, estimate in calls.items())
        print(f"requests by probe: {parts}", file=sys.stderr)
        _say([*calls.values()], self.spending, file=sys.stderr)
        unsent = sum(estimate.unsent for estimate in calls.values())
        if not unsent or self.yes or not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
            return
        print(f"Send {unsent:,} requests? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise UsageError("no request was sent.", "Answer y to send them, or pass --yes.", code="not-confirmed")

    def ended(self) -> int:
        """The exit code; first repeats at the end which probes failed."""
        if not self.failed:
            return 0
        named, first = " and ".join(self.failed), next(iter(self.failed.values()))
        print(f"assay: {named} failed (see above); the report has the other probes.", file=sys.stderr)
        print("       Run the same command to try again; stored answers are reused.", file=sys.stderr)
        return first.exit_code if isinstance(first, AssayError) else 1


# --- endpoints: what a run would send and cost, and what it did send and cost


def spending_of(options: argparse.Namespace) -> Spending:
    return Spending(None if options.price is None else Price.of(options.price), options.budget_usd)


def say_spent(spending: Spending) -> None:
    """Print what was sent and spent, if an endpoint was asked."""
    if not spending.used and not spending.sent:
        return
    cost = "" if spending.usd is None else f", ${spending.usd:.4f}"
    billed = f"{spending.input_tokens:,} input and {spending.output_tokens:,} output tokens{cost}"
    print(f"requests: {spending.used:,} answered, {spending.sent:,} of them sent now: {billed}", file=sys.stderr)
    if spending.cut_off:
        note = f"{plural(spending.cut_off, 'request')} had no reply yet when asking ended, and may be billed, too"
        print(f"note: {note}", file=sys.stderr)
    if spending.budget is not None:
        print(f"budget of ${spending.budget:g}: {spending.of_budget()}", file=sys.stderr)


def dry_run(options: argparse.Namespace, common: dict[str, Any], spending: Spending) -> int:
    """Print what a run, or the tour, would send and cost."""
    model, trial = options.model, options.trial or 0
    asking = replace(common["options"], send=bool(trial))
    data = data_path(common["data"])
    request = Request(common["preset"], common["limit"], common["seed"], common["settings"], data, common["skip_bad"])
    printer = AuditPrinter(model)
    if options.probe is not None:
        calls = expect_calls(model, options.probe, request, asking, trial=trial, spending=spending)
        print_stages(calls.stages)
        estimates = {options.probe: calls}
    else:
        missing = MissingProbes(printer)
        able = answerable(find_model(model, asking), missing)
        estimates = dict(expect_tour(model, able, request, asking, missing, trial=trial, spending=spending))
        for name, calls in estimates.items():
            print(f"{name}: {calls.requests:,} requests{_limited(calls)}")
            print_stages(calls.stages)
    _say([*estimates.values()], spending)
    return printer.ended()


def _limited(calls: RequestEstimate) -> str:
    return "" if calls.limit is None else f" (limit {calls.limit:,})"


def _say(estimates: Sequence[RequestEstimate], spending: Spending, file: Any = None) -> None:
    say = partial(print, file=file)
    if any(calls.spec.endpoint is not None and calls.spec.endpoint.assumed for calls in estimates):
        say("What this endpoint can do is not known yet; counted as answer=letters. `assay doctor --model` tests it.")
    requests, unsent = sum(calls.requests for calls in estimates), sum(calls.unsent for calls in estimates)
    say(f"requests: {requests:,}; {requests - unsent:,} of them are already answered and stored")
    read, output = map(sum, zip(*(calls.tokens for calls in estimates), strict=True))
    trials = [calls.tried for calls in estimates if calls.tried]
    source = "measured in the trial" if trials else "estimated"
    say(f"to send: {unsent:,}, with about {read:,.0f} input and at most {output:,.0f} output tokens ({source})")
    if spending.price is not None:
        say(f"cost: about ${spending.price.usd(read, output):.4f}")
    else:
        say("cost: unknown; pass the price of a million tokens with --price IN,OUT")
    for calls in estimates:
        if calls.sees:
            say(f"a run of this size finds, in four of five runs: {calls.sees} (docs/run-size.md)")
    for trial in trials:
        n_sent, rate = trial.spending.sent, trial.spending.sent / max(trial.seconds, 1e-9)
        print(f"trial: {trial.questions:,} questions, {n_sent:,} requests in {duration(trial.seconds)}")
        if n_sent:
            print(f"expected: {duration(unsent / rate)} at this rate; a longer run is faster")
        for note in trial.notes:
            print(f"note: {note}")
        say_spent(trial.spending)
