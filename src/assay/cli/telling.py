"""What `assay run` says while it works, and how it ends where a probe of the tour fails.

Imported when a run begins, since what it imports is not light.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assay.cli.endpoint import say_tour
from assay.cli.tools import print_stages
from assay.engine.spending import Spending
from assay.errors import AssayError, UsageError
from assay.probes.base import Stage
from assay.progress import Bar, Progress
from assay.runs.audit import Listener
from assay.runs.expect_calls import Calls


@dataclass
class Telling(Listener):
    """Prints on standard error what an audit does. Before a tour sends anything it asks on a terminal, unless `yes`."""

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
        else:  # a fault of assay or of a probe's package: whoever repairs it needs all of it
            traceback.print_exception(error)
            print(f"{probe} failed: {error!r}", file=sys.stderr)

    def sends(self, calls: Mapping[str, Calls]) -> None:
        if isinstance(self.progress, Bar):
            self.progress.clear()
        unsent = say_tour(calls, self.spending)
        if not unsent or self.yes or not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
            return
        print(f"Send {unsent:,} requests? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise UsageError("nothing was sent.", "Answer y to send them, or pass --yes.", code="not-confirmed")

    def ended(self) -> int:
        """The exit code, after a last word on the probes that failed: what comes last is read."""
        if not self.failed:
            return 0
        named, first = " and ".join(self.failed), next(iter(self.failed.values()))
        print(f"assay: {named} failed, as said above; the report has the other probes.", file=sys.stderr)
        print("       The same command tries again, and uses what is stored.", file=sys.stderr)
        return first.exit_code if isinstance(first, AssayError) else 1
