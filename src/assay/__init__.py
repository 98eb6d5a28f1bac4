"""assay measures social bias in question-answering models, with its uncertainty.

The public names: `audit` runs a probe on a model, `load_model` loads one, `open_run` reads a finished run folder and
`compare` sets several runs side by side. They are loaded when first used, so that importing assay costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.audit import audit, open_run
    from assay.compare import compare
    from assay.models import load_model

__version__ = "0.1.0"
__all__ = ["audit", "compare", "load_model", "open_run"]

_HOMES = {"audit": "audit", "open_run": "audit", "compare": "compare", "load_model": "models"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"assay.{_HOMES[name]}"), name)
