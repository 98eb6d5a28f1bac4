"""What a debiasing method is, what it is told, what it gives back, and what that cost on data of the model's task."""

from __future__ import annotations

import math
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.asking.progress import Progress, SilentProgress
from assay.config.settings import read_settings
from assay.errors import UsageError
from assay.files.atomic import write_atomically
from assay.lab.debiasing.attribute_words import AttributeWords, read_attribute
from assay.lab.training import evaluate, kind_of
from assay.lab.training.data_files import existing
from assay.lab.training.training_folder import CARD, DONE, as_json, read_noted
from assay.models import find_model
from assay.models.base import Options
from assay.results.formatting import without_folders

Evaluate = Callable[[Path], Mapping[str, float]]
"""Scores of the model in a folder of transformers, by name; higher is better."""


@dataclass(frozen=True)
class DebiasMethod:
    """A published method: what it is called, what it does, which settings it has (a dataclass), and `run`.

    `stands_for` is its name at length, `does` a line for help texts. `folded`: it changes a finished model and leaves
    its head, being folded into a layer, which must be exact, so it computes in float32 only; the others train a masked
    language model. `general`: it is about no attribute in particular.
    """

    name: str
    title: str
    does: str
    paper: str
    settings: type
    run: Callable[[DebiasJob], DebiasResult]
    stands_for: str = ""
    folded: bool = False
    general: bool = False

    def read_settings(self, texts: Mapping[str, str]) -> Any:
        return read_settings(self.settings, texts, self.name, remedy="See docs/debias.md.")

    def attribute(self, name: str | None, words: Path | None) -> AttributeWords:
        """The attribute that it needs, of the packaged list or of a file of words."""
        if name is None:
            problem = f"{self.name} needs an attribute, such as gender."
            raise UsageError(problem, "--attribute gender", code="missing-setting", key="attribute")
        return read_attribute(name, words)


@dataclass(frozen=True)
class DebiasJob:
    """One call of `debias`. `settings` are still text; each method reads its own."""

    method: DebiasMethod
    model: str
    out: Path
    corpus: Path
    attribute: str | None = None
    words: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    device: str = "auto"
    dtype: str = "auto"
    evaluate: Evaluate | None = None
    progress: Progress = field(default_factory=SilentProgress)

    def scores(self, folder: Path) -> Mapping[str, float] | None:
        """What the model in a folder scores, if it is to be evaluated."""
        return None if self.evaluate is None else self.evaluate(folder)

    def command(self) -> str:
        values = {"model": self.model, "attribute": self.attribute, "corpus": self.corpus, "words": self.words}
        values |= {"eval": getattr(self.evaluate, "data", None)}  # the command line's own evaluation has its data
        values |= {name: value for name in ("device", "dtype") if (value := getattr(self, name)) != "auto"}
        options = [word for name, value in values.items() if value is not None for word in (f"--{name}", str(value))]
        options += [word for key, value in self.settings.items() for word in ("--set", f"{key}={value}")]
        ending = ["--out", str(self.out), "--seed", str(self.seed)]
        return shlex.join(["assay", "debias", self.method.name, *options, *ending])

    def report(self, attribute: AttributeWords | None, corpus_digest: str | None) -> dict[str, Any]:
        """How assay.json begins, whatever the method."""
        words = None if attribute is None else {"file": self.words and self.words.name, "digest": attribute.digest}
        return {
            "schema": 1,
            "kind": "debiased",
            "method": self.method.name,
            "attribute": None if attribute is None else attribute.name,
            "corpus": {"file": self.corpus.name, "digest": corpus_digest},
            "words": words,
            "seed": self.seed,
            "command": without_folders(self.command()),
        }


@dataclass(frozen=True)
class DebiasResult:
    """A model that was made: its folder, for `hf:`, and what is in its assay.json."""

    folder: Path
    report: Mapping[str, Any]


@dataclass(frozen=True)
class EvaluateOn:
    """Scores on data of the task that a model's head is for: accuracy, or EM and F1, or how likely hidden words are."""

    data: Path
    device: str = "auto"
    seed: int = 0
    progress: Progress | None = None

    def __post_init__(self) -> None:
        existing(self.data)

    def __call__(self, folder: Path) -> Mapping[str, float]:
        name = f"hf:{folder.absolute()}"
        kind = kind_of(find_model(name, Options(device=self.device)).abilities)
        if kind is None:
            problem = f"{folder} has no head that could be evaluated."
            raise UsageError(problem, "Leave --eval out.", code="missing-ability", key="eval")
        scores = evaluate(kind.name, name, self.data, seed=self.seed, device=self.device, progress=self.progress)
        values = {
            estimate.metric: estimate.value
            for estimate in scores.estimates
            if estimate.value is not None and not estimate.group
        }
        if "perplexity" in values:  # the one score of models that fill masks, where less is better
            return {"log_likelihood": -math.log(values["perplexity"])}
        return values


def cost(before: Mapping[str, float] | None, after: Mapping[str, float] | None) -> dict[str, Any] | None:
    """What a model scored before and after, and what it lost (above 0: it became worse); None if it has no scores."""
    if before is None or after is None:
        return None
    lost = {name: before[name] - after[name] for name in before if name in after}
    return {"before": dict(before), "after": dict(after), "cost": lost}


def write_report(folder: Path, report: Mapping[str, Any], card: str) -> dict[str, Any]:
    """Write the card and then assay.json; returns what that says."""
    write_atomically(folder / CARD, card.encode())
    write_atomically(folder / DONE, as_json(report, indent=2))
    return read_noted(folder / DONE)


def require_new(folder: Path) -> None:
    """Raise UsageError for a folder that is not empty and for the current one, which cannot be replaced."""
    if folder.resolve() == Path.cwd().resolve():
        remedy = "Choose a new one with --out, for example --out NAME."
        raise UsageError("this is the current folder.", remedy, code="bad-option", key="out")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        problem = f"{folder} exists and is not empty."
        raise UsageError(problem, "Choose a new folder with --out.", code="not-new", key="out")


def require_space(folder: Path, size: int) -> None:
    """Refuse to begin what could not be saved: `size` is in bytes."""
    parent = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(parent).free
    if free < size:
        problem = f"{size / 1e6:,.0f} MB are needed, and {free / 1e6:,.0f} MB are free."
        raise UsageError(problem, "Free some space, or choose another disk with --out.", code="no-space", file=folder)
