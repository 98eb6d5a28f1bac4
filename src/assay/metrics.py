"""The papers' formulas, as pure functions over arrays: `assay.metrics.NAME` is what a probe's `metrics.py` has.

>>> import assay.metrics
>>> dir(assay.metrics)
['bbq', 'sodapop', 'unqover']
>>> float(assay.metrics.sodapop.relative_difference(0.2, 0.5))
0.4
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from assay.probes import probes


@cache
def _homes() -> dict[str, str]:
    """The module with a probe's formulas, by the probe's name, for those that have one of their own."""
    folders = {name.replace("-", "_"): probe.method.partition(":")[0] for name, probe in probes().items()}
    homes = {name: f"{module.rpartition('.')[0]}.metrics" for name, module in folders.items()}
    return {name: home for name, home in homes.items() if find_spec(home) is not None}


def __getattr__(name: str) -> ModuleType:
    if name.startswith("_") or name not in _homes():
        raise AttributeError(f"module 'assay.metrics' has no attribute {name!r}")
    return import_module(_homes()[name])


def __dir__() -> list[str]:
    return sorted(_homes())
