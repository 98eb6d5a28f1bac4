"""`assay work`: a worker for runs that were started with `--executor work:DIR`."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from assay.errors import UsageError

NAME = "work"
HELP = "compute answers for runs that wait for them in a shared folder"
EXAMPLES = """examples:
  # a run that leaves computing to workers
  assay run unqover --model hf:./folder --executor work:/shared/work
  # a worker, here or on another machine; start as many as there are GPUs
  assay work /shared/work
  # end when there was nothing to do for ten minutes
  assay work /shared/work --exit-when-idle 600
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", metavar="DIR", help="the folder that was given to `assay run --executor work:DIR`")
    idle = "end after this long without work (default: wait for ever)"
    add("--exit-when-idle", type=float, metavar="SECONDS", help=idle)
    lease = "take over the block of a worker that gave no sign of life for this long (60)"
    add("--lease", type=float, metavar="SECONDS", default=60.0, help=lease)
    add("--threads", type=int, metavar="N", help="CPU threads for the model (default: as the run has it)")
    add("--trust-remote-code", action="store_true", help="allow Python code that comes with a model to run")
    add("--allow-pickle", action="store_true", help="allow pickled weights, which can run code")


def call(options: argparse.Namespace) -> int:
    from assay.engine.shared_folder_worker import SharedFolderWorker
    from assay.models import find_model, load
    from assay.models.base import Options
    from assay.results.formatting import plural

    for name, value in (("exit-when-idle", options.exit_when_idle), ("lease", options.lease)):
        if value is not None and not value > 0:
            problem = f"--{name} is {value:g}, expected more than 0 seconds."
            raise UsageError(problem, f"--{name} 60", code="bad-option", key=name)
    folder = Path(options.folder).expanduser()
    allowed = Options(
        trust_remote_code=options.trust_remote_code, allow_pickle=options.allow_pickle, threads=options.threads
    )
    say = partial(print, file=sys.stderr, flush=True)
    say(f"waiting for work in {folder.resolve()}")
    worker = SharedFolderWorker(folder, find_model, load, allowed, options.lease, say)
    done = worker.work(options.exit_when_idle)
    print(f"nothing left to do; {plural(done, 'block')} computed", file=sys.stderr)
    return 0
