"""Limits of time for what must not hang, and commands with what they say."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from assay.cli import main

Said = Callable[..., tuple[int, str]]
"""Runs a command: its exit code, and what it prints."""


class HangError(BaseException):
    """It takes too long. No `except Exception` of a program catches it."""


@contextmanager
def bounded(*, waiting: int, computing: int = 0) -> Iterator[None]:
    """Raises HangError after so many seconds of waiting, or of computing (0: no limit)."""

    def hang(*_: object) -> None:
        raise HangError

    signal.signal(signal.SIGALRM, hang)
    signal.signal(signal.SIGPROF, hang)
    signal.alarm(waiting)
    signal.setitimer(signal.ITIMER_PROF, computing)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def saying(capsys: pytest.CaptureFixture[str]) -> Said:
    def run(*arguments: str) -> tuple[int, str]:
        try:
            code = main(arguments)
        except SystemExit as error:
            code = int(error.code or 0)
        out = capsys.readouterr()
        return code, out.out + out.err

    return run
