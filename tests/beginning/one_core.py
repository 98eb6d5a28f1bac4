"""Several processes of tests share the cores: each of them, and what it starts, counts on one."""

import os


def count_one_core() -> None:
    """Make this process count one core. It may use all, but as many threads would wait for each other."""
    if hasattr(os, "sched_getaffinity"):
        usable = os.sched_getaffinity
        os.sched_getaffinity = lambda process: {min(usable(process))}  # type: ignore[assignment]
