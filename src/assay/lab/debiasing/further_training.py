"""Methods that let masked training go on for a while, from beginning to end.

They begin with a model that fills masks and give one: its encoder and its head, changed. Fine-tuning for a task comes
after them (`assay train choice --base hf:./OUT …`).

The training has a folder of its own beside the result (`.NAME.….training`), where the same command goes on after an
interruption; the result appears whole, under its name, when everything is done.
"""

from __future__ import annotations

import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar

from assay.asking.plan import digest_of as digest_of_values
from assay.config.settings import setting
from assay.errors import ModelError
from assay.files.atomic import rename_folder
from assay.files.opening import digest_of_file
from assay.lab.debiasing.attribute_words import AttributeWords
from assay.lab.debiasing.corpus import Corpus
from assay.lab.debiasing.method import DebiasJob, DebiasMethod, DebiasResult, cost, require_new, write_report
from assay.lab.model_card import debiased_card, listed
from assay.lab.training import KINDS, train
from assay.lab.training.base_model import BaseModel, load_base, opened_base, require_device
from assay.lab.training.data_files import Texts
from assay.lab.training.mask import MaskSettings
from assay.lab.training.training_folder import DONE, finished, read_noted
from assay.lab.training.training_kind import TrainingSettings, settings_of
from assay.models.base import ModelSpec

MASK = KINDS["mask"]

STEPS: Any = setting(2000, "steps; ignored if epochs is set", least=1)
ACCUMULATE: Any = setting(16, "batches per optimizer step", least=1)
"""bias-bench's values, in place of those of masked training alone."""


def chosen_of(method: DebiasMethod, texts: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """A method's own settings, and those of its training as text, checked; bias-bench's values where none are given."""
    read = method.read_settings(texts)
    of_training = {setting.name for setting in fields(MaskSettings)}
    training = {"batch": str(read.batch), "accumulate": str(read.accumulate)}
    if "epochs" not in texts:  # epochs mean whole passes
        training["max_steps"] = str(read.max_steps)
    training |= {key: str(text) for key, text in texts.items() if key in of_training}
    return {name: value for name, value in vars(read).items() if name not in of_training}, training


class FurtherTraining(ABC):
    """One further training, as a job asks for it; a method says what the texts are and what else is its own."""

    did: ClassVar[str]
    attribute: AttributeWords | None

    def __init__(self, job: DebiasJob) -> None:
        self.job, self.corpus = job, Corpus(job.corpus)
        self.method_settings, self.training_settings = chosen_of(job.method, job.settings)
        self.attribute = None if job.method.general else job.method.attribute(job.attribute, job.words)
        self.require_texts()

    @abstractmethod
    def require_texts(self) -> None:
        """Refuse a corpus without what it needs, before anything is loaded."""

    @abstractmethod
    def texts(self, loaded: BaseModel, length: int) -> Texts:
        """What is learnt from; `length` is the setting."""

    def training(self, base: ModelSpec) -> dict[str, str]:
        """The settings of the training, as text."""
        return self.training_settings

    def notes(self, rates: Mapping[str, float], before: Mapping[str, Any]) -> list[str]:
        """What is worth knowing: `rates` are those of dropout, `before` the model's own."""
        return []

    def finish(self, folder: Path, rates: Mapping[str, float]) -> None:  # noqa: B027 (a method may have nothing to do)
        """Change something in the trained model's folder."""

    def run(self) -> DebiasResult:
        """Make the model. What is cheap and may fail comes first."""
        job = self.job
        require_device(job.device)
        with opened_base(job.model, MASK, job.device) as base:
            training = self.training(base)
            settings, given_names = settings_of(MASK, None, training)
            loaded = load_base(base, MASK, settings, job.seed)
            settings, _ = MASK.fitted(settings, given_names, loaded.longest, base.name)
            rates = {name: getattr(loaded.model.config, name) for name in loaded.restore if "dropout" in name}
            notes = self.notes(rates, loaded.restore)
            texts = self.texts(loaded, settings.length)
            digest = digest_of_file(self.corpus.path)
            about = {
                "made_by": f"assay debias {job.method.name}",
                "own_settings": self.method_settings,
                "attribute": None if self.attribute is None else self.attribute.name,
                "words": None if self.attribute is None else self.attribute.digest,
                "corpus": digest,
            }
            del loaded  # the training loads its own
            identity = digest_of_values([[about, training, base.digest, base.device], job.seed, job.dtype])[:12]
            work = job.out.absolute().with_name(f".{job.out.name}.{identity}.training")
            if (trained := read_noted(work / DONE)).get("kind") == "debiased":  # it was killed at the end
                return _moved(job, work, trained)
            trained = finished(work)  # or after its training
            before = job.scores(Path(base.place))
            options: dict[str, Any] = {name: getattr(job, name) for name in ("seed", "device", "dtype", "progress")}
            info = trained or train("mask", job.model, texts, work, settings=training, about=about, **options).info
            architecture, changed = _require_change(base, work, settings, job.seed)
            self.finish(work, rates)
            after = job.scores(work)
        report = job.report(self.attribute, digest) | {
            "model": info["base"],
            "architecture": architecture,
            "settings": {**self.method_settings, **info["settings"]},
            "device": info["device"],
            "dtype": info["dtype"],
            "training": {key: info[key] for key in ("steps", "counts", "new_weights", "curve")},
            "changed": changed,
            "scores": cost(before, after),
            "notes": [*notes, *info["notes"]],
            "versions": info["versions"],
        }
        return _moved(job, work, write_report(work, report, self._card(report)))

    def _card(self, report: Mapping[str, Any]) -> str:
        training = report["training"]
        first, last = training["curve"][0], training["curve"][-1]
        did = [
            f"Made with assay. {self.did}",
            "This is an ordinary transformers model that fills masks. Fine-tune it for a task, then measure its bias:",
            "the method promises nothing about the answers to a task.",
        ]
        moved = {name: 100 * change for name, change in report["changed"].items()}
        facts = {
            "texts": listed(training["counts"], "{1:,} {0}"),
            "steps": f"{training['steps']:,}; loss {first['loss']:.4f} at first, {last['loss']:.4f} at the end",
            "change in the weights": listed(moved, "{} by {:.2g}%"),
            "device": f"{report['device']}, {report['dtype']}",
        }
        return debiased_card(self.job.method, report, did, facts, {})


def _require_change(base: ModelSpec, work: Path, settings: TrainingSettings, seed: int) -> tuple[str, dict[str, float]]:
    """The model's class, and how far its weights moved, relative to their size: of the encoder and of the head."""
    with opened_base(f"hf:{work}", MASK, "cpu") as result:
        old = load_base(base, MASK, settings, seed).model
        new = load_base(result, MASK, replace(settings, head="keep"), seed).model
    inside = {id(parameter) for parameter in new.base_model.parameters()}
    sums = {"encoder": [0.0, 0.0], "head": [0.0, 0.0]}
    for (_, before), (_, after) in zip(old.named_parameters(), new.named_parameters(), strict=True):
        part = sums["encoder" if id(after) in inside else "head"]
        before, after = before.detach().double(), after.detach().double()
        part[0] += float(((after - before) ** 2).sum())
        part[1] += float((before**2).sum())
    if not sums["encoder"][0] > 0:
        problem = "the training did not change the encoder's weights."
        raise ModelError(problem, "Train more: --set max_steps=…, --set rate=…", code="training-failed")
    moved = {name: (change / size) ** 0.5 if size else 0.0 for name, (change, size) in sums.items()}
    return type(new).__name__, moved


def _moved(job: DebiasJob, work: Path, report: Mapping[str, Any]) -> DebiasResult:
    """Give the finished folder its name; nothing is left of other attempts."""
    require_new(job.out)
    work_name = re.compile(rf"\.{re.escape(job.out.name)}\.[0-9a-f]{{12}}\.training")
    for folder in work.parent.iterdir():
        if work_name.fullmatch(folder.name) and folder != work:
            shutil.rmtree(folder, ignore_errors=True)
    rename_folder(work, job.out)  # last: repeating what was killed before that goes on
    return DebiasResult(job.out, report)
