"""One progress bar with rate and time left on a terminal; a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_SECONDS_BETWEEN_LINES = 15.0


class Progress(Protocol):
    """Told how many questions of a plan are answered, or how much of something else is done."""

    def start(self, label: str, total: int, unit: str = "questions") -> None: ...

    def advance(self, count: int, *, stored: bool = False) -> None:
        """`stored` answers were on disk already: they do not count towards the rate."""


class Silent:
    """No progress shown: for library use and tests."""

    def start(self, label: str, total: int, unit: str = "questions") -> None:
        pass

    def advance(self, count: int, *, stored: bool = False) -> None:
        pass


class Lines:
    """A plain line now and then, and when a plan is done."""

    def __init__(self) -> None:
        self._label, self._total, self._done, self._fresh, self._unit = "", 0, 0, 0, ""
        self._began = self._said = 0.0

    def start(self, label: str, total: int, unit: str = "questions") -> None:
        self._label, self._total, self._done, self._fresh, self._unit = label, total, 0, 0, unit
        self._began = self._said = time.monotonic()

    def advance(self, count: int, *, stored: bool = False) -> None:
        self._done += count
        self._fresh += 0 if stored else count
        now = time.monotonic()
        if self._done == self._total or now - self._said >= _SECONDS_BETWEEN_LINES:
            rate = self._fresh / max(now - self._began, 1e-9)
            left = (self._total - self._done) / rate if rate else 0.0
            tail = f"{_said(rate)}, {left:,.0f} s left" if self._fresh else "stored already"
            done = f"{self._label}: {self._done:,} of {self._total:,} {self._unit}, {tail}"
            print(done, file=sys.stderr, flush=True)
            self._said = now


class Bar:
    """A bar on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._task: TaskID | None = None
        self._fresh, self._began = 0, 0.0
        self._bar: RichProgress = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def start(self, label: str, total: int, unit: str = "questions") -> None:
        self._task = self._bar.add_task(label, total=total, rate="")
        self._fresh, self._began = 0, time.monotonic()

    def advance(self, count: int, *, stored: bool = False) -> None:
        if self._task is None:
            return
        self._fresh += 0 if stored else count
        rate = self._fresh / max(time.monotonic() - self._began, 1e-9)
        self._bar.update(self._task, advance=count, rate=_said(rate) if self._fresh else "stored")


def _said(rate: float) -> str:
    """A rate by the second, or by the minute where things take longer: the steps of a study."""
    return f"{rate:,.0f}/s" if rate >= 1 else f"{rate * 60:,.1f}/min"
