"""What `assay run` says about an endpoint: what a run would send and cost, and what it did."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.cli.tools import duration, print_stages

if TYPE_CHECKING:
    from assay.engine.spending import Spending
    from assay.runs.expect_calls import Calls


def spending_of(options: argparse.Namespace) -> Spending:
    """What may be spent, as the command says."""
    from assay.engine.spending import Price, Spending

    return Spending(None if options.price is None else Price.of(options.price), options.budget_usd)


def say_spent(spending: Spending) -> None:
    """What was sent and spent, where anything was asked of an endpoint."""
    if not spending.used and not spending.sent:
        return
    cost = "" if spending.usd is None else f", ${spending.usd:.4f}"
    billed = f"{spending.input_tokens:,} tokens read and {spending.output_tokens:,} written{cost}"
    print(f"requests: {spending.used:,} answered, {spending.sent:,} sent now: {billed}", file=sys.stderr)


def dry_run(options: argparse.Namespace, common: dict[str, Any], spending: Spending) -> int:
    """Print what a run would send and cost."""
    from assay.probes.base import Request
    from assay.runs.audit import answerable, place_of
    from assay.runs.expect_calls import expect_calls

    common["options"] = replace(common["options"], send=bool(options.trial))
    data = place_of(common["data"])
    request = Request(common["preset"], common["limit"], common["seed"], common["settings"], data, common["skip_bad"])
    named = [options.probe] if options.probe else answerable(options.model, common["options"])
    for probe in named:
        calls = expect_calls(
            options.model, probe, request, common["options"], trial=options.trial or 0, spending=spending
        )
        _say(calls, spending)
    return 0


def _say(calls: Calls, spending: Spending) -> None:
    print_stages(calls.stages)
    if calls.spec.endpoint is not None and calls.spec.endpoint.assumed:
        print("What this endpoint can do is not known yet: counted as for answer=letters. `assay doctor` finds out.")
    print(f"requests: {calls.requests:,}, of which {calls.requests - calls.unsent:,} are answered and stored")
    read, written = calls.tokens
    how = "by what was tried" if calls.tried else "estimated"
    tokens = f"about {read:,.0f} tokens to read and at most {written:,.0f} to write ({how})"
    print(f"to send: {calls.unsent:,}, with {tokens}")
    if spending.price is not None:
        print(f"cost: about ${calls.usd(spending.price):.4f}")
    else:
        print("cost: name the price of a million tokens with --price IN,OUT")
    if calls.tried is not None:
        tried = calls.tried
        rate = tried.spending.sent / max(tried.seconds, 1e-9)
        print(f"tried: {tried.questions:,} questions, {tried.spending.sent:,} requests in {duration(tried.seconds)}")
        if tried.spending.sent:
            print(f"expected: {duration(calls.unsent / rate)} at this rate, which grows in a longer run")
        for note in tried.notes:
            print(f"note: {note}")
        say_spent(tried.spending)
