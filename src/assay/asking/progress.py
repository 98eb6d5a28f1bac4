"""How far long work is: a bar on a terminal, a line that is renewed in a notebook, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO, runtime_checkable

from assay.errors import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

EVERY = 15.0
"""Seconds without an answer after which it is said what is being waited for, and again after so many more."""
ROOMY = 80
"""Columns of a terminal that has room for a bar."""


class Progress(Protocol):
    """Receives how many questions of a plan are answered, or how much of other work is done."""

    def start(self, label: str, total: int, unit: str = "questions") -> None: ...

    def advance(self, count: int, *, stored: bool = False) -> None:
        """`stored` answers were on disk already: they do not count towards the rate."""


@runtime_checkable
class TourProgress(Progress, Protocol):
    """A progress that can also show larger work, such as a tour, of which plans are parts."""

    def overall(self, label: str, done: int, total: int) -> None:
        """`done` of `total` questions were answered before the plan that starts next."""


@runtime_checkable
class Waiting(Progress, Protocol):
    """A progress that can also show what is being waited for."""

    def waits(self, description: str) -> None:
        """Nothing has come for `EVERY` seconds. `description` may have control characters of a server."""


class SilentProgress:
    """Shows nothing."""

    def start(self, label: str, total: int, unit: str = "questions") -> None:
        pass

    def advance(self, count: int, *, stored: bool = False) -> None:
        pass


class RemainingTime:
    """How far larger work is, and how long the rest takes at the rate so far.

    A part may have fewer questions than expected; `at` corrects the count.
    """

    def __init__(self) -> None:
        self.label, self.total, self.done = "", 0, 0
        self._fresh, self._began = 0, 0.0

    def at(self, label: str, done: int, total: int) -> None:
        self._began = self._began or time.monotonic()
        self.label, self.done, self.total = label, done, total

    def advance(self, count: int, stored: bool) -> None:
        self.done = min(self.total, self.done + count)
        self._fresh += 0 if stored else count

    def said(self, of: str = "") -> str:
        """For example "40% of the tour, about 2 min left"; empty if there is no larger work."""
        if not self.total:
            return ""
        share = f"{self.done / self.total:.0%}{of}"
        rate = self._fresh / max(time.monotonic() - self._began, 1e-9)
        return f"{share}, about {duration((self.total - self.done) / rate)} left" if self._fresh else share


class LineProgress:
    """Prints a plain line every 15 seconds, and when a plan is done."""

    SECONDS_BETWEEN = EVERY

    def __init__(self) -> None:
        self._label, self._total, self._done, self._fresh, self._unit = "", 0, 0, 0, ""
        self._began = self._printed_at = 0.0
        self._overall = RemainingTime()

    def overall(self, label: str, done: int, total: int) -> None:
        self._overall.at(label, done, total)

    def start(self, label: str, total: int, unit: str = "questions") -> None:
        self._label, self._total, self._done, self._fresh, self._unit = printable(label), total, 0, 0, unit
        self._began = self._printed_at = time.monotonic()

    def advance(self, count: int, *, stored: bool = False) -> None:
        self._done += count
        self._fresh += 0 if stored else count
        self._overall.advance(count, stored)
        now = time.monotonic()
        if self._done == self._total or now - self._printed_at >= self.SECONDS_BETWEEN:
            rate = self._fresh / max(now - self._began, 1e-9)
            seconds_left = (self._total - self._done) / rate if rate else 0.0
            tail = f"{_rate_text(rate)}, {seconds_left:,.0f} s left" if self._fresh else "stored already"
            done = f"{self._label}: {self._done:,} of {self._total:,} {self._unit}, {tail}"
            overall = self._overall.said(f" of {self._overall.label}")
            done += f" ({overall})" if overall else ""
            self.say(done)
            self._printed_at = now

    def waits(self, description: str) -> None:
        done = f"{self._label}: {self._done:,} of {self._total:,} {self._unit}; " if self._label else ""
        self.say(f"{done}{printable(description)}")
        self._printed_at = time.monotonic()

    def say(self, line: str) -> None:
        sys.stderr.write(f"{line}\n")  # in one piece: whatever stops the program, its message begins a line
        sys.stderr.flush()


class NotebookProgress(LineProgress):
    """One line below a notebook's cell, renewed while the work goes on."""

    SECONDS_BETWEEN = 0.5

    def __init__(self) -> None:
        super().__init__()
        self._shown: Any = None

    def start(self, label: str, total: int, unit: str = "questions") -> None:
        super().start(label, total, unit)
        self.say(f"{self._label}: 0 of {total:,} {unit}")

    def say(self, line: str) -> None:
        if self._shown is None:
            from IPython.display import display

            self._shown = display({"text/plain": line}, raw=True, display_id=True)
        else:
            self._shown.update({"text/plain": line}, raw=True)


class ProgressBar:
    """Draws a bar on a terminal, or prints the same as text if the terminal is narrow."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress
        from rich.table import Column
        from rich.text import Text

        class RemainingTimeColumn(TimeRemainingColumn):
            def render(self, task: Task) -> Text:  # the bar of the whole has it in words
                return Text() if task.id == bar._all else super().render(task)

        bar, console = self, console_on(sys.stderr)
        columns: list[ProgressColumn] = [
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            RemainingTimeColumn(),
        ]
        if console.width < ROOMY:
            line = "{task.description}: {task.completed:,.0f} of {task.total:,.0f}  {task.fields[rate]}"
            columns = [TextColumn(line, markup=False, table_column=Column())]
        self._task: TaskID | None = None
        self._all: TaskID | None = None
        self._overall = RemainingTime()
        self._fresh, self._began = 0, 0.0
        self._bar: RichProgress = RichProgress(*columns, console=console)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def clear(self) -> None:
        """Remove the bar from the terminal until something starts again."""
        self._bar.stop()
        for task in self._bar.task_ids:
            self._bar.remove_task(task)

    def overall(self, label: str, done: int, total: int) -> None:
        self._overall.at(label, done, total)
        if self._all is None:
            self._all = self._bar.add_task(label, total=total, rate="")

    def start(self, label: str, total: int, unit: str = "questions") -> None:
        self._bar.start()
        self._task = self._bar.add_task(printable(label), total=total, rate="")
        self._fresh, self._began = 0, time.monotonic()

    def advance(self, count: int, *, stored: bool = False) -> None:
        if self._task is None:
            return
        self._fresh += 0 if stored else count
        self._overall.advance(count, stored)
        if self._all is not None:
            overall = self._overall
            self._bar.update(self._all, completed=overall.done, total=overall.total, rate=overall.said())
        rate = self._fresh / max(time.monotonic() - self._began, 1e-9)
        self._bar.update(self._task, advance=count, rate=_rate_text(rate) if self._fresh else "stored")

    def waits(self, description: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(printable(description), markup=False, highlight=False, soft_wrap=True)


def console_on(stream: TextIO) -> Console:
    """A console of rich on a stream. What it prints must be free of control characters of others."""
    from rich.console import Console

    return Console(file=getattr(stream, "bare", stream))


def _rate_text(rate: float) -> str:
    """A rate per second, or per minute if it is below one per second."""
    return f"{rate:,.0f}/s" if rate >= 1 else f"{rate * 60:,.1f}/min"


def duration(seconds: float) -> str:
    """
    >>> duration(59.6), duration(3700)
    ('1 min 0 s', '1 h 1 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


_shown: ContextVar[Progress | None] = ContextVar("shown", default=None)


def waits_of(progress: Progress | None) -> Callable[[str], None]:
    """What receives what is being waited for."""
    return progress.waits if isinstance(progress, Waiting) else lambda description: None


def waits_shown() -> Callable[[str], None]:
    """What receives what is being waited for, in the progress that is shown now."""
    return waits_of(_shown.get())


@contextmanager
def shown_progress(progress_choice: Progress | bool | None = None) -> Iterator[Progress]:
    """Progress as a caller wants it: `True` shows it, `False` does not, and a `Progress` receives it.

    `None` shows it where somebody can watch: on a terminal and in a notebook.
    """
    with _shows(progress_choice) as progress:
        before = _shown.set(progress)
        try:
            yield progress
        finally:
            _shown.reset(before)


@contextmanager
def _shows(progress_choice: Progress | bool | None) -> Iterator[Progress]:
    if not (progress_choice is None or isinstance(progress_choice, bool)):
        yield progress_choice
    elif progress_choice is not False and _in_notebook():
        yield NotebookProgress()
    elif progress_choice is not False and sys.stderr is not None and sys.stderr.isatty():
        with ProgressBar() as bar:
            yield bar
    else:
        yield LineProgress() if progress_choice else SilentProgress()


def _in_notebook() -> bool:
    """Whether this process runs a notebook's cells: IPython is loaded, and its shell has a kernel."""
    ipython: Any = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")
