"""What `assay run` prints while it works, and its exit code if a probe of the tour fails.

Imported when a run begins, because its own imports are slow.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assay.asking.progress import Progress, ProgressBar
from assay.cli.common import print_stages
from assay.cli.endpoint_costs import say_tour
from assay.engine.spending import Spending
from assay.errors import AssayError, UsageError
from assay.probes.base import Stage
from assay.runs.audit import AuditListener
from assay.runs.dry_run import RequestEstimate


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
        unsent = say_tour(calls, self.spending)
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
