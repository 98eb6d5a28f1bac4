"""What a kind of training is. Each has a file of its own with its settings, data and scores (span, choice, mask).

It is registered in KINDS (`assay.lab.training`): command line, studies, cards and evaluation know it from there.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic

from assay.errors import UsageError
from assay.lab.training.batches import Features, Masking
from assay.lab.training.data_files import Texts
from assay.lab.training.scores import Asker, Scores
from assay.lab.training.settings import S
from assay.models.hf_files import ABILITIES


@dataclass(frozen=True)
class Task:
    """What is learnt from: rows of tokens, digests of the files that they are made from, how many of what there are."""

    features: Features
    digests: Mapping[str, str]
    counts: Mapping[str, int]
    notes: tuple[str, ...] = ()


class Test(ABC):
    """Data to evaluate a model on, read and encoded."""

    @abstractmethod
    def scores(self, ask: Asker, seed: int) -> Scores:
        """How a model does on them."""


class Kind(ABC, Generic[S]):
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
    def task(self, data: Path | Texts, tokenizer: Any, name: str, settings: S) -> Task:
        """What is in the data, in the tokens of the model of this name."""

    @abstractmethod
    def test(self, path: Path, tokenizer: Any, name: str, settings: S, seed: int, known: int) -> Test:
        """Data to evaluate on; `known` is the number of tokens that the model knows."""

    def masking(self, tokenizer: Any, settings: S, known: int) -> Masking | None:
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

    def fitted(self, settings: S, given: frozenset[str], most: int, name: str) -> tuple[S, tuple[str, ...]]:
        """Settings that the model can do: a default longer than what it reads is lowered, and noted."""
        wanted = getattr(settings, self.longest)
        if wanted <= most:
            return settings, ()
        if self.longest in given:
            problem = f"{self.longest} is {wanted}, and {name} reads {most} tokens at most."
            raise UsageError(problem, f"--set {self.longest}={most}", code="bad-setting", key=self.longest)
        note = f"{self.longest} is {most}, the most that the base reads, not {wanted}"
        return replace(settings, **self._lowered(settings, given, most)), (note,)

    def _lowered(self, settings: S, given: frozenset[str], most: int) -> dict[str, Any]:
        return {self.longest: most}
