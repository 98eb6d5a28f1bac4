"""assay measures social bias in question-answering models, with its uncertainty.

The public names: `audit` runs a probe on a model, `tour` runs every probe, `score` scores existing answers,
`load_model` loads a model, `open_run` opens a finished run or tour, `compare` compares runs, `gate` checks runs against
a policy, and `write_builtin` writes the built-in model as a folder that transformers can load. `metrics` has the
papers' formulas. They are loaded when first used, which keeps `import assay` fast.

Importing assay switches off the telemetry of the libraries that it uses, in this process and those that it starts.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from assay.compare import compare  # functions with the names of their rooms: bound here, so that they stay functions
from assay.gate import gate
from assay.results import notebook_display
from assay.version import __version__ as __version__

if TYPE_CHECKING:
    from assay import metrics as metrics
    from assay.models import load_model
    from assay.models.builtin import write_builtin
    from assay.runs.audit import audit
    from assay.runs.folder import open_run
    from assay.runs.score import score
    from assay.runs.tour import tour

__all__ = ["audit", "compare", "gate", "load_model", "open_run", "score", "tour", "write_builtin"]

# Without these, onnxruntime writes a device id and a queue of events when it is imported and sends them seconds later,
# huggingface_hub tells the hub more than a download needs, and Ray reports how it is used. Set here, since these
# libraries read them when they are imported, and whatever the user's own settings are: assay promises to work without
# the network.
os.environ.update(
    ORT_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_TELEMETRY="1", DO_NOT_TRACK="1", RAY_USAGE_STATS_ENABLED="0"
)

notebook_display.load_views = lambda: [_home(module) for module in ("report.notebook", "compare.present")]

_HOMES = {
    "audit": "runs.audit",
    "load_model": "models",
    "open_run": "runs.folder",
    "score": "runs.score",
    "tour": "runs.tour",
    "write_builtin": "models.builtin",
}


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", "metrics"])


def __getattr__(name: str) -> Any:
    if name == "metrics":
        return _home("metrics")
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    return getattr(_home(_HOMES[name]), name)


def _home(module: str) -> Any:
    from importlib import import_module

    return import_module(f"assay.{module}")
