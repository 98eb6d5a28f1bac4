"""What a kind of training is: its settings, its data and its scores. Each has a file of its own (span, choice, mask).

It is registered in KINDS (`__init__.py`): command line, studies, cards and evaluation know it from there. Settings are
as users write them (`--set key=value`), over a paper's preset, over the defaults; what every kind has is here.
"""

from __future__ import annotations

import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from assay.config.settings import read_settings, setting
from assay.errors import UsageError
from assay.lab.training.batches import Features, Masking
from assay.lab.training.data_files import Texts
from assay.lab.training.scores import TaskScores, TrainedModelAsk
from assay.models.hf_files import ABILITIES


def epochs(default: float) -> Any:
    return setting(default, "passes over the data", least=0, above=True, real=True, example=f"{default:g}")


def rate(default: float) -> Any:
    description = "the learning rate; it falls linearly to 0"
    return setting(
        default, description, least=0, most=1, above=True, real=True, example=f"{default:g}", value=f"{default:g}"
    )


@dataclass(frozen=True)
class TrainingSettings:
    """What decides the trained weights, besides the base model, the data, the seed and the machine."""

    epochs: float | None = epochs(3.0)
    rate: float = rate(2e-5)
    batch: int = setting(16, "examples in a batch", least=1)
    accumulate: int = setting(1, "batches per optimizer step", least=1)
    warmup: float = setting(0.0, "warmup steps, or a share of all steps if below 1", least=0, real=True)
    weight_decay: float = setting(0.0, "AdamW's", least=0, real=True)
    max_steps: int | None = setting(None, "steps; without epochs they alone decide", least=1, value="N")
    head: str = setting(
        "auto",
        "keep the base's head, start with a new one, or keep it if there is one",
        choices=("auto", "keep", "new"),
    )
    dropout: float | None = setting(
        None, "dropout rate for this training (default: the base's)", least=0, most=0.9, real=True
    )
    attention_dropout: float | None = setting(
        None, "attention dropout rate for this training", least=0, most=0.9, real=True
    )
    order: str = setting(
        "grouped", "grouped: batches of similar lengths; random: any lengths", choices=("grouped", "random")
    )
    save_steps: int = setting(0, "steps between checkpoints (0: ten in all, at least 100 steps apart)", least=0)
    keep_checkpoints: int = setting(0, "checkpoints to keep at the end", least=0)
    compile: str = setting("off", "compile the model with torch first", choices=("off", "on"))


S = TypeVar("S", bound=TrainingSettings)


@dataclass(frozen=True)
class Preset:
    """A paper's settings for one kind of training, and where they are printed."""

    kind: str
    settings: Mapping[str, Any]
    source: str


@cache
def presets() -> Mapping[str, Preset]:
    file = Path(__file__).parents[2] / "data" / "training" / "presets.toml"
    return {name: Preset(**entry) for name, entry in tomllib.loads(file.read_text(encoding="utf-8")).items()}


@dataclass(frozen=True)
class TrainingData:
    """What is learnt from: rows of tokens, digests of the files that they are made from, how many of what there are."""

    features: Features
    digests: Mapping[str, str]
    counts: Mapping[str, int]
    notes: tuple[str, ...] = ()


class EvaluationData(ABC):
    """Data to evaluate a model on, read and encoded."""

    @abstractmethod
    def scores(self, ask: TrainedModelAsk, seed: int) -> TaskScores:
        """How a model does on them."""


class TrainingKind(ABC, Generic[S]):
    """A kind of training.

    `does` is what a model of this kind does, `reads` says for help texts which data it learns from; `head` is what
    transformers calls its head, `pipeline` what a model hub calls its task; `longest` is the setting with the most
    tokens of a row; `masks` says that it needs a mask token, and a base whose head knows something already.
    """

    name: ClassVar[str]
    does: ClassVar[str]
    reads: ClassVar[tuple[str, ...]]
    head: ClassVar[str]
    pipeline: ClassVar[str]
    longest: ClassVar[str] = "length"
    masks: ClassVar[bool] = False
    settings: type[S]

    @abstractmethod
    def task(self, data: Path | Texts, tokenizer: Any, name: str, settings: S) -> TrainingData:
        """What is in the data, in the tokens of the model of this name."""

    @abstractmethod
    def test(self, path: Path, tokenizer: Any, name: str, settings: S, seed: int, n_tokens: int) -> EvaluationData:
        """Data to evaluate on; `n_tokens` is the number of tokens that the model knows."""

    def masking(self, tokenizer: Any, settings: S, n_tokens: int) -> Masking | None:
        """How tokens are hidden, where they are."""
        return None

    @property
    def mapping(self) -> str:
        """The map of transformers that has the architectures with such a head."""
        return f"MODEL_FOR_{re.sub('(?<=[a-z])(?=[A-Z])', '_', self.head).upper()}_MAPPING"

    @property
    def abilities(self) -> frozenset[str]:
        """What its models can be asked."""
        return frozenset(ABILITIES[f"For{self.head}"])

    def path(self, data: Path | Texts) -> Path:
        """The data, where they have to be files."""
        if not isinstance(data, Path):
            raise UsageError(f"{self.name} training needs data.", "--data PATH", code="missing-setting", key="data")
        return data

    def fitted(self, settings: S, given_names: frozenset[str], most: int, name: str) -> tuple[S, tuple[str, ...]]:
        """Settings that the model can do: a default longer than what it reads is lowered, and noted."""
        length = getattr(settings, self.longest)
        if length <= most:
            return settings, ()
        if self.longest in given_names:
            problem = f"{self.longest} is {length}, but {name} reads at most {most} tokens."
            raise UsageError(problem, f"--set {self.longest}={most}", code="bad-setting", key=self.longest)
        note = f"{self.longest} is {most}, the most that the base reads, instead of {length}"
        return replace(settings, **self._lowered(settings, given_names, most)), (note,)

    def _lowered(self, settings: S, given_names: frozenset[str], most: int) -> dict[str, Any]:
        return {self.longest: most}


def preset_of(kind: TrainingKind[S], name: str | None) -> dict[str, Any]:
    """The settings of a preset, which has to be of this kind of training."""
    if name is None:
        return {}
    preset = presets().get(name)
    if preset is None:
        problem = f"there is no preset {name!r}; there are {', '.join(presets())}."
        raise UsageError(problem, "Leave --preset out.", code="bad-option", key="preset")
    if preset.kind != kind.name:
        problem = f"the preset {name} is for {preset.kind} training, not for {kind.name}."
        raise UsageError(problem, f"assay train {preset.kind} …", code="unsupported", key="preset")
    return dict(preset.settings)


def settings_of(
    kind: TrainingKind[S], preset: str | None, values: Mapping[str, Any] | None
) -> tuple[S, frozenset[str]]:
    """The settings of a training, and which of them were given."""
    texts = {key: str(value) for key, value in (values or {}).items() if value is not None}
    paper = preset_of(kind, preset)
    if "max_steps" in texts and "epochs" not in texts and preset is None:
        paper["epochs"] = None  # the steps decide
    owner = f"{kind.name} training"
    return read_settings(kind.settings, texts, owner, remedy="See `assay train --help`.", **paper), frozenset(texts)
