"""assay measures social bias in question-answering models, with its uncertainty.

The public names: `audit` runs a probe on a model, `tour` runs all of them, `load_model` loads one, `open_run` reads a
finished run folder, `compare` sets several runs side by side, `gate` judges runs by a policy, and `write_builtin`
writes the built-in model as a folder of transformers.
They are loaded when first used, so that importing assay costs nothing.

Importing assay switches off the telemetry of the libraries that it uses, for this process and those that it starts.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.audit import audit, open_run
    from assay.compare import compare
    from assay.gate import gate
    from assay.models import load_model
    from assay.models.builtin_folder import write_builtin
    from assay.tour import tour

__version__ = "0.1.0"
__all__ = ["audit", "compare", "gate", "load_model", "open_run", "tour", "write_builtin"]

# Without these, onnxruntime writes a device id and a queue of events when it is imported and sends them seconds later,
# and huggingface_hub tells the hub more than a download needs. Set here, since these libraries read them when they are
# imported, and whatever the user's own settings are: assay promises to work without the network.
os.environ.update(ORT_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_TELEMETRY="1", DO_NOT_TRACK="1")

_HOMES = {
    "audit": "audit",
    "open_run": "audit",
    "compare": "compare",
    "gate": "gate",
    "load_model": "models",
    "tour": "tour",
    "write_builtin": "models.builtin_folder",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"assay.{_HOMES[name]}"), name)


class _Package(ModuleType):
    """Python notes every imported module in its package; `assay.audit`, `compare`, `gate` and `tour` stay functions."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
