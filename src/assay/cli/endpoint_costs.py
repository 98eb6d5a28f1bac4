"""What `assay run` prints about an endpoint: what a run would send and cost, and what it did send and cost."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from assay.asking.progress import duration
from assay.cli.common import print_stages
from assay.results.formatting import plural

if TYPE_CHECKING:
    from assay.engine.spending import Spending
    from assay.runs.dry_run import RequestEstimate, TrialRun


def spending_of(options: argparse.Namespace) -> Spending:
    """The price and the budget from the command's options."""
    from assay.engine.spending import Price, Spending

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
    from assay.cli.audit_printer import AuditPrinter
    from assay.models import find_model
    from assay.probes.base import Request
    from assay.runs.audit import data_path
    from assay.runs.dry_run import expect_calls
    from assay.runs.tour import MissingProbes, answerable, expect_tour

    options_used = replace(common["options"], send=bool(options.trial))
    data = data_path(common["data"])
    request = Request(common["preset"], common["limit"], common["seed"], common["settings"], data, common["skip_bad"])
    if options.probe is not None:
        calls = expect_calls(
            options.model, options.probe, request, options_used, trial=options.trial or 0, spending=spending
        )
        print_stages(calls.stages)
        _say([calls], spending)
        return 0
    telling = AuditPrinter(options.model)
    missing = MissingProbes(telling)
    able = answerable(find_model(options.model, options_used), missing)
    estimates = expect_tour(
        options.model, able, request, options_used, missing, trial=options.trial or 0, spending=spending
    )
    for name, calls in estimates.items():
        print(f"{name}: {calls.requests:,} requests{_limited(calls)}")
        print_stages(calls.stages)
    _say([*estimates.values()], spending)
    return telling.ended()


def _limited(calls: RequestEstimate) -> str:
    return "" if calls.limit is None else f" (limit {calls.limit:,})"


def say_tour(calls: Mapping[str, RequestEstimate], spending: Spending) -> int:
    """Print to standard error what the tour is about to send; returns the number of requests."""
    parts = ", ".join(f"{name} {estimate.requests:,}{_limited(estimate)}" for name, estimate in calls.items())
    print(f"requests by probe: {parts}", file=sys.stderr)
    _say([*calls.values()], spending, file=sys.stderr)
    return sum(call.unsent for call in calls.values())


def _say(estimates: Sequence[RequestEstimate], spending: Spending, file: Any = None) -> None:
    say = partial(print, file=file)
    if any(calls.spec.endpoint is not None and calls.spec.endpoint.assumed for calls in estimates):
        say("What this endpoint can do is not known yet; counted as answer=letters. `assay doctor --model` tests it.")
    requests, unsent = sum(calls.requests for calls in estimates), sum(calls.unsent for calls in estimates)
    say(f"requests: {requests:,}; {requests - unsent:,} of them are already answered and stored")
    read, output = (sum(counts) for counts in zip(*(calls.tokens for calls in estimates), strict=True))
    tried = [calls.tried for calls in estimates if calls.tried]
    source = "measured in the trial" if tried else "estimated"
    say(f"to send: {unsent:,}, with about {read:,.0f} input and at most {output:,.0f} output tokens ({source})")
    if spending.price is not None:
        say(f"cost: about ${spending.price.usd(read, output):.4f}")
    else:
        say("cost: unknown; pass the price of a million tokens with --price IN,OUT")
    for calls in estimates:
        if calls.sees:
            say(f"a run of this size finds, in four of five runs: {calls.sees} (docs/run-size.md)")
    for trial in tried:
        _say_tried(trial, unsent)


def _say_tried(tried: TrialRun, unsent: int) -> None:
    rate = tried.spending.sent / max(tried.seconds, 1e-9)
    print(f"trial: {tried.questions:,} questions, {tried.spending.sent:,} requests in {duration(tried.seconds)}")
    if tried.spending.sent:
        print(f"expected: {duration(unsent / rate)} at this rate; a longer run is faster")
    for note in tried.notes:
        print(f"note: {note}")
    say_spent(tried.spending)
