"""Dropout: masked training with other rates of dropout; about no attribute in particular."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.config.settings import setting
from assay.errors import DataError
from assay.files.decoding import json_value
from assay.files.opening import read_whole
from assay.lab.debiasing.further_training import ACCUMULATE, STEPS, FurtherTraining
from assay.lab.debiasing.method import DebiasMethod
from assay.lab.training.base_model import BaseModel
from assay.lab.training.data_files import Texts
from assay.lab.training.mask import MaskSettings
from assay.models.base import ModelSpec
from assay.models.hf_files import libraries

RATES, OTHER_RATES = (0.20, 0.15), (0.05, 0.05)
"""Dropout of hidden states and of attention: for BERT and RoBERTa, and for others (Webster et al. 2020, bias-bench)."""


@dataclass(frozen=True)
class DropoutSettings(MaskSettings):
    """What Dropout can be set to: its rates, and all of masked training."""

    accumulate: int = ACCUMULATE
    max_steps: int | None = STEPS
    keep_dropout: str = setting("yes", "whether the new model's configuration keeps the rates", choices=("yes", "no"))


class Dropout(FurtherTraining):
    did = "It was trained further with masks, with other dropout rates."

    def require_texts(self) -> None:
        if next(self.corpus.texts(), None) is None:
            remedy = "Use a text of at least a few words."
            raise DataError("it contains no text.", remedy, file=self.corpus.path, code="empty-file")

    def training(self, base: ModelSpec) -> dict[str, str]:
        config = json_value(read_whole(Path(base.place) / "config.json"))
        hidden, attention = RATES if config.get("model_type") in ("bert", "roberta") else OTHER_RATES
        return {"dropout": str(hidden), "attention_dropout": str(attention), **self.training_settings}

    def texts(self, loaded: BaseModel, length: int) -> Texts:
        return lambda: self.corpus.texts(self.job.progress)

    def notes(self, rates: Mapping[str, float], before: Mapping[str, Any]) -> list[str]:
        """It knows no attribute, and its rates are lower than some models' own."""
        unused = [name for name in ("attribute", "words") if getattr(self.job, name) is not None]
        notes = [f"{name} was given, but Dropout does not use it" for name in unused]
        lower = {name: rate for name, rate in rates.items() if rate < before[name]}
        return notes + [f"{name} is {rate}, less than the model's own {before[name]}" for name, rate in lower.items()]

    def finish(self, folder: Path, rates: Mapping[str, float]) -> None:
        """Put the rates into the configuration, as the released program leaves them: later training has them, too."""
        if self.method_settings["keep_dropout"] == "no":
            return
        transformers, _ = libraries()
        config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        for name, rate in rates.items():
            setattr(config, name, rate)
        config.save_pretrained(folder)


METHOD = DebiasMethod(
    "dropout",
    "Dropout",
    "train further with masks, with other dropout rates; not about a particular attribute",
    "Webster et al. 2020; defaults are those of bias-bench (Meade et al. 2022)",
    DropoutSettings,
    lambda job: Dropout(job).run(),
    general=True,
)
