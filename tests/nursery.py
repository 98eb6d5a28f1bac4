"""Attempts at a command that may be killed: forks of a process that has imported everything, so that work is hit.

An attempt is killed after some seconds, or disturbed at a file-system call (`kill_points`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

KILLED = 9  # how waitpid says it

MODULES = (
    *("torch", "transformers.models.bert.modeling_bert", "transformers.trainer", "accelerate", "rich.console"),
    *("onnxruntime", "tokenizers", "scipy.special", "sklearn.cluster", "sklearn.linear_model", "sklearn.manifold"),
    *("httpx2", "httpcore2", "anyio._backends._asyncio", "assay.models.api.detect_dialect", "assay.compare.present"),
    *(
        "assay.runs.audit",
        "assay.runs.score",
        "assay.runs.export",
        "assay.report.html",
        "assay.engine.shared_folder_worker",
    ),
    *("assay.lab.training", "assay.lab.debiasing", "assay.lab.studies"),
    *("assay.probes.unqover.method", "assay.probes.bbq_starter.method", "assay.probes.sodapop.method"),
    *("assay.runs.tour", "assay.datasets.download", "assay.models.builtin"),
)
"""What commands import, late: whatever a fork lacks, it imports by itself."""

_PROGRAM = """
import gc, json, os, resource, select, signal, sys, tempfile, time, traceback
from importlib import import_module
from pathlib import Path
for name in sys.argv[1:]:
    import_module(name)
import kill_points
from assay.__main__ import main as program
from assay.report.page_templates import environment
for name in environment().list_templates(extensions=["html"]):
    environment().get_template(name)  # compiled here, not in each fork that writes a page
gc.freeze()  # forks need not look through what has been imported

def main(arguments):
    sys.argv = ["assay", *arguments]
    return program()

def prepared(order):
    for number, name in ((1, "log"), (2, "errors")):
        os.dup2(os.open(order[name] or order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    if order["typed"]:
        os.dup2(os.open(order["typed"], os.O_RDONLY), 0)
    os.chdir(order["folder"])
    os.environ["ASSAY_CACHE"] = order["cache"]
    os.environ.update(order["environment"])
    for name, most in order["limits"].items():
        if name == "RLIMIT_AS":  # more than this process has now
            most += int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(getattr(resource, name), (most, most))
    if not order["below"]:
        return
    kill_points.stop_the_clock()
    if "MADE_UP_DATA" in os.environ:
        kill_points.make_up_data(os.environ["MADE_UP_DATA"])
    os.environ["TMPDIR"] = tempfile.tempdir = os.path.join(order["below"], "tmp")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which whoever runs the tests may ignore
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

def attempt(order):
    try:
        prepared(order)
        points = order["below"] and kill_points.arm(order["below"], order["at"], order["when"], order["fault"])
    except KeyboardInterrupt:  # before the program begins
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    code = main(order["arguments"])
    if not points:
        return code
    Path(order["log"] + ".calls").write_text(json.dumps(points.seen))
    return code

def waited(child, seconds):
    if hasattr(os, "pidfd_open"):  # Linux: no looking again and again
        ending = os.pidfd_open(child)
        select.select([ending], [], [], seconds)
        os.close(ending)
        return os.waitpid(child, os.WNOHANG)
    began, ended, status = time.monotonic(), 0, 0
    while not ended and (seconds is None or time.monotonic() - began < seconds):
        time.sleep(0.002)
        ended, status = os.waitpid(child, os.WNOHANG)
    return ended, status

for line in sys.stdin:
    order = json.loads(line)
    beside = os.fork() if order["beside"] else None
    if beside == 0:
        prepared({**order, "log": os.devnull, "errors": None})
        os._exit(main(order["beside"]))
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = attempt(order)
        except SystemExit as ended:
            code = ended.code
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    ended, status = waited(child, order["delay"])
    killed = time.monotonic()
    if not ended:
        os.kill(child, getattr(signal, order["fault"], signal.SIGKILL))
        ended, status = waited(child, 60)
    if not ended:
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    if beside:
        os.kill(beside, signal.SIGTERM)
        os.waitpid(beside, 0)
    print(json.dumps({"status": status, "began": began, "killed": killed, "ended": time.monotonic()}), flush=True)
"""


class Nursery:
    def __init__(self, process: Any) -> None:
        self.process = process

    def attempt(
        self,
        arguments: Sequence[str],
        *,
        cache: Path,
        log: Path,
        delay: float | None = None,
        below: Path | None = None,
        at: int | str | None = None,
        when: str = "before",
        fault: str = "SIGKILL",
        environment: Mapping[str, str] | None = None,
        limits: Mapping[str, int] | None = None,
        beside: Sequence[str] = (),
        folder: Path | None = None,
        errors: Path | None = None,
        typed: Path | None = None,
    ) -> dict[str, Any]:
        """Run until the end, or until it is killed: how it ended, and when.

        It gets the signal `fault` after `delay` seconds, or is disturbed by a `fault` at the call `at` among those that
        change files `below` a folder. The clock then stands still, and if it ends by itself the names of these calls
        are in LOG.calls. `limits` are those of `resource`, for RLIMIT_AS beyond what is
        used already. Another command runs `beside` it. `folder` is the working folder, `errors` the file of the
        standard error if it is not the log, and `typed` that of the standard input.
        """
        order = {"arguments": [*arguments], "delay": delay, "cache": str(cache), "log": str(log)}
        order |= {"below": below and str(below), "at": at, "when": when, "fault": fault}
        order |= {"environment": {**(environment or {})}, "limits": {**(limits or {})}, "beside": [*beside]}
        order |= {"folder": str(folder or Path.cwd()), "errors": errors and str(errors)}
        order |= {"typed": typed and str(typed)}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def run(
        self, *arguments: object, folder: Path, cache: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """`assay ARGUMENTS` in a folder, like `subprocess.run` with its output captured."""
        with TemporaryDirectory() as place:
            out, err = Path(place, "out"), Path(place, "err")
            now = {name: value for name, value in os.environ.items() if name.startswith("ASSAY_")}
            how = {"cache": cache or Path(now["ASSAY_CACHE"]), "environment": {**now, **(environment or {})}}
            if cache is not None:
                how["environment"]["ASSAY_CACHE"] = str(cache)
            ended = self.attempt([*map(str, arguments)], log=out, errors=err, folder=folder, **how)
            code = os.waitstatus_to_exitcode(ended["status"])
            said = (path.read_text(encoding="utf-8", errors="replace") for path in (out, err))
            return subprocess.CompletedProcess(["assay", *arguments], code, *said)


@contextmanager
def nursery(*modules: str) -> Iterator[Nursery]:
    """Where attempts are made, with these modules imported."""
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *modules],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    ) as process:  # it ends when its input does
        yield Nursery(process)
