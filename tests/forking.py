"""Processes for what begins some by itself: forks of one that has imported torch, where a new one takes seconds."""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import ForkServerContext


def forks() -> ForkServerContext:
    """In place of `get_context("spawn")`: what goes into such a process is pickled, too."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [
            *("torch", "transformers", "numpy.random", "fake_makers", "assay.lab.studies"),
            *("assay.probes.unqover", "assay.probes.bbq_starter", "assay.probes.sodapop", "assay.probes.sodapop_names"),
        ]
    )
    return context
