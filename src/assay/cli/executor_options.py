"""Where answers are computed: the options of commands that ask models, and the executor that they name."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.engine.executor import Executor

LOCAL = "local"


def add_where(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    description = (
        "where to compute: local (this process), ray (workers on this machine), ray:ADDRESS (a Ray cluster) or "
    )
    description += "work:DIR (the workers that `assay work DIR` starts)"
    add("--executor", metavar="NAME", default=LOCAL, help=description)
    room = "with ray: how many workers; auto, the default: as many as there is room for"
    add("--workers", type=_count, metavar="N", help=room)
    add("--gpus-per-worker", type=float, metavar="G", help="with ray: GPUs of each worker (1 for a model on a GPU)")


def _count(text: str) -> int | str:
    """A number of workers, or auto."""
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor auto") from None


@contextmanager
def executor_of(options: argparse.Namespace) -> Iterator[Executor]:
    """The executor that the options name, closed at the end."""
    from assay.runs.audit import new_executor

    for option, value, least in (("workers", options.workers, 1), ("gpus-per-worker", options.gpus_per_worker, 0)):
        if isinstance(value, int | float) and value < least:
            problem = f"--{option} is {value:g}, expected at least {least}."
            raise UsageError(problem, f"--{option} {least}", code="bad-option", key=option)
    workers = None if options.workers == "auto" else options.workers
    key_env = getattr(options, "key_env", None) or ""  # not every command that asks models has it
    executor = new_executor(options.executor, workers, options.gpus_per_worker, key_env)
    with executor if isinstance(executor, AbstractContextManager) else nullcontext():
        yield executor
