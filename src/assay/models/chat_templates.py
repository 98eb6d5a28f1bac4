"""Runs chat templates in a process of their own, because they are programs that come with a model.

transformers' sandbox keeps them away from files and from Python. It does not keep them from running for ever, or from
filling the memory in one step (`"x" * 10**10`). The process has limits for that (`chat_template_worker.py`), and no
key in its environment; it is started with the first template and serves all models of this process.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay.errors import ModelError
from assay.files.child_environment import harmless

SECONDS = 20.0
"""How long a template may take for a request; usual ones take some milliseconds."""
ASKED = 256
"""The most prompts of a request."""
PROGRAM = Path(__file__).with_name("chat_template_worker.py")

Messages = Sequence[Mapping[str, Any]]


def rendered(template: str, tokens: Mapping[str, Any], conversations: Sequence[Messages]) -> list[str]:
    """The prompt of each conversation, up to the place where the assistant starts to speak, as transformers makes it.

    `tokens` are the special tokens that the template may name. RuntimeError, with the reason, if it fails.
    """
    texts: list[str] = []
    for start in range(0, len(conversations), ASKED):
        batch = conversations[start : start + ASKED]
        request = {"template": template, "tokens": dict(tokens), "conversations": batch, "seconds": SECONDS}
        answer = _PROCESS.answer(request)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        texts += answer["texts"]
    return texts


class _Process:
    """The process, with one request at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            try:
                process = self._running()
                _put(process, request)
                return _next(process) or {"error": _why_ended(process)}
            except BaseException:  # Ctrl-C: its answer must not be taken for that to the next request
                self.stop()
                raise

    def _running(self) -> subprocess.Popen[bytes]:
        """What was started here and still runs: after a fork, the other process may be using it."""
        if self._started is not None and self._owner == os.getpid() and self._started.poll() is None:
            return self._started
        self.stop()
        environment = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "HF_HUB_OFFLINE": "1"}
        self._started, self._owner = _start({**harmless(os.environ), **environment}), os.getpid()
        if _next(self._started) is None:
            problem = f"the program that runs chat templates does not start (exit code {self._started.wait()})."
            raise ModelError(problem, "Ask without templates: --set chat=off.", code="cannot-load")
        return self._started

    def stop(self) -> None:
        process, self._started = self._started, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was not read is lost
                assert pipe is not None
                pipe.close()
        process.wait()


def _start(environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", str(PROGRAM)],  # -P: the modules beside the program are not for it
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )


def _put(process: subprocess.Popen[bytes], request: Mapping[str, Any]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it has ended: there will be no answer
        process.stdin.write(json.dumps(request, default=str).encode() + b"\n")
        process.stdin.flush()


def _next(process: subprocess.Popen[bytes]) -> dict[str, Any] | None:
    """Its next answer; None if it has ended."""
    assert process.stdout is not None
    line = process.stdout.readline()
    return json.loads(line) if line.endswith(b"\n") else None


def _why_ended(process: subprocess.Popen[bytes]) -> str:
    code = process.wait()
    return f"it takes more than {SECONDS:g} seconds" if code == 1 else f"its process ended with code {code}"


_PROCESS = _Process()
atexit.register(_PROCESS.stop)
