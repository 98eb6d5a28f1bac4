"""Attempts at a command that may be killed: forks of a process that has imported everything, so that work is hit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

KILLED = 9  # how waitpid says it

_PROGRAM = """
import json, os, signal, sys, time
from importlib import import_module
for name in sys.argv[1:]:
    import_module(name)
from assay.cli import main

for line in sys.stdin:
    order = json.loads(line)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1), os.dup2(log, 2)
        os.environ["ASSAY_CACHE"] = order["cache"]
        os._exit(main(order["arguments"]))
    ended, status = 0, 0
    while not ended and (order["delay"] is None or time.monotonic() - began < order["delay"]):
        time.sleep(0.002)
        ended, status = os.waitpid(child, os.WNOHANG)
    killed = time.monotonic()
    if not ended:
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    print(json.dumps({"status": status, "began": began, "killed": killed, "ended": time.monotonic()}), flush=True)
"""


class Nursery:
    def __init__(self, process: Any) -> None:
        self.process = process

    def attempt(self, arguments: Sequence[str], *, cache: Path, log: Path, delay: float | None) -> dict[str, Any]:
        """Run until the end, or until it is killed after `delay` seconds: how it ended, and when."""
        order = {"arguments": [*arguments], "delay": delay, "cache": str(cache), "log": str(log)}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@contextmanager
def nursery(*modules: str) -> Iterator[Nursery]:
    """Where attempts are made, with these modules imported."""
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *modules], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:  # it ends when its input does
        yield Nursery(process)
