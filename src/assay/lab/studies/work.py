"""Doing a step in any process: what it needs to know, and what becomes of errors."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError, ModelError
from assay.files.atomic import write_atomically
from assay.lab.studies.makers import Makers
from assay.lab.studies.steps import Step
from assay.models.base import Options
from assay.models.hf_files import first_line
from assay.progress import Progress

Outcome = Mapping[str, Any] | AssayError
"""What study.json shall say about a step that was done, or why it failed."""


@dataclass(frozen=True)
class Work:
    """What every step needs. `specs` are the models' names for assay, `heads` the kinds of training behind their heads.

    `device` and `dtype` are for the models that have a choice: the built-in one has none.
    """

    out: Path
    makers: Makers
    specs: Mapping[str, str]
    heads: Mapping[str, str | None]
    device: str = "auto"
    dtype: str = "auto"

    def options(self, spec: str) -> Options:
        return Options() if spec == "builtin" else Options(self.device, self.dtype)

    def attempt(self, step: Step, folder: Path, progress: Progress) -> Outcome:
        """Do a step; whatever a model, or a library, does about it is told, not raised."""
        try:
            return step.do(self, folder, progress)
        except AssayError as error:
            return error
        except Exception as error:  # the other steps are not lost by it
            log = self.out / "logs" / f"{step.name}.txt"
            write_atomically(log, traceback.format_exc().encode("utf-8", "replace"))
            return ModelError(f"{type(error).__name__}: {first_line(error)}", f"See {log}.", code="step-failed")
