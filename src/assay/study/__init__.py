"""Studies: many models, some made on the way, asked many probes, from one file; with one page over everything.

    file.py      what a study file says
    values.py    each value of it, with its place
    lines.py     where in the file
    order.py     who is made from whom, what is asked of whom, in which order
    ready.py     models that need not be made
    places.py    where the files lie that it names
    prepare.py   everything checked, counted and digested before anything runs
    makers.py    who trains, debiases and audits
    record.py    study.json: what was done, from which recipes
    work.py      one step
    hands.py     who does it: this process, or several
    runner.py    all steps, each when what it needs is there
    conduct.py   all of it in its order: `study` and `plan`
    lineage.py   who came from whom
    against.py   what changed, for the page
    page.py      report.html
    command.py   the command line

Its names are loaded when first used, so that `assay --help`, which needs only command.py, comes at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.study.conduct import Planned, Studied, plan, study
    from assay.study.file import packaged_studies
    from assay.study.makers import Makers
    from assay.study.record import State
    from assay.study.runner import Failure, Told

__all__ = ["Failure", "Makers", "Planned", "State", "Studied", "Told", "packaged_studies", "plan", "study"]

_HOMES = {
    "Failure": "runner",
    "Makers": "makers",
    "Planned": "conduct",
    "State": "record",
    "Studied": "conduct",
    "Told": "runner",
    "packaged_studies": "file",
    "plan": "conduct",
    "study": "conduct",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assay.study' has no attribute {name!r}")
    return getattr(import_module(f"assay.study.{_HOMES[name]}"), name)
