"""Training: reading a task's data, training with transformers' Trainer, evaluating.

    train("span" | "choice" | "mask", base, data, out)      the papers' models, from any encoder
    evaluate(kind, model, data)                             how a model does on a task's own data

The result is an ordinary folder for `hf:`, with README.md (the card) and assay.json (what was done, for programs).

    training_kind.py, span.py, choice.py, mask.py     what each kind of training learns from: settings, tokens, scores
    data_files.py                                     files to learn from, and plain text
    batches.py, trainer.py                            order, masks and padding; the Trainer
    base_model.py, training_folder.py                 what a training begins with, and what it leaves
    scores.py                                         asking the trained model, and how good it is

A new kind is a file with a `TrainingKind`, and an entry in KINDS. torch is imported when a model is loaded.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from assay.asking.progress import Progress, SilentProgress
from assay.errors import ModelError, UsageError
from assay.lab.model_card import trained_card
from assay.lab.training.base_model import (
    DTYPES,
    BaseModel,
    copy_tokenizer,
    load_base,
    opened_base,
    require_device,
    require_seed,
)
from assay.lab.training.batches import Batches, Features
from assay.lab.training.choice import ChoiceTraining
from assay.lab.training.data_files import Texts
from assay.lab.training.mask import MaskTraining
from assay.lab.training.scores import TaskScores, TrainedModelAsk
from assay.lab.training.span import SpanTraining
from assay.lab.training.trainer import TrainingSteps, fit, require_libraries, uses_bfloat16
from assay.lab.training.training_folder import MADE_BY, TrainingFolder, explained_full_disk, open_out, require_space
from assay.lab.training.training_kind import TrainingData, TrainingKind, TrainingSettings, presets, settings_of
from assay.models import find_model
from assay.models.base import ModelSpec, Options, missing_ability_error
from assay.models.hf import has_types, load_tokenizer, load_weights, max_length
from assay.models.tokenise import Tokeniser
from assay.results.formatting import without_folders
from assay.version import __version__

KINDS: Mapping[str, TrainingKind[Any]] = {
    kind.name: kind for kind in (SpanTraining(), ChoiceTraining(), MaskTraining())
}

_WITHOUT_EFFECT = ("save_steps", "keep_checkpoints")  # on the weights: they may change when a training is resumed
_PACKAGES = ("torch", "transformers", "accelerate", "tokenizers")


def kind_named(name: str) -> TrainingKind[Any]:
    if name not in KINDS:
        problem = f"there is no {name!r} training; there are {', '.join(KINDS)}."
        raise UsageError(problem, "assay train span …", code="bad-option", key="kind")
    return KINDS[name]


def kind_of(abilities: Collection[str]) -> TrainingKind[Any] | None:
    """The kind of training for the head of a model with these abilities."""
    return next((kind for kind in KINDS.values() if kind.name in abilities), None)


@dataclass(frozen=True)
class TrainingResult:
    """A finished training: the model's folder, the content of its assay.json, and what the model scored."""

    folder: Path
    info: Mapping[str, Any]
    scores: TaskScores | None

    @property
    def model(self) -> str:
        """The model's name for everything else in assay."""
        return f"hf:{self.folder}"


def train(
    kind: str,
    base: str,
    data: str | Path | Texts,
    out: str | Path,
    *,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    evaluation: str | Path | None = None,
    about: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str = "auto",
    dtype: str = "auto",
    resume: bool = True,
    progress: Progress | None = None,
) -> TrainingResult:
    """Train a model that marks answers ("span"), chooses among options ("choice") or fills masks ("mask").

    base: `hf:./folder`, `hf:ORG/NAME@REVISION` or `builtin`; an encoder. data: SQuAD's or MRQA's files, RACE's folders,
    Social IQa's files, or plain text; "mask" also takes a function that gives the same stream of texts each time that
    it is called. settings: as the kind has them (`assay train --help`); values may be texts. evaluation: data to score
    the trained model on. about: noted in assay.json and tells this training from others; say there where texts that
    are made on the way come from. dtype: "auto" computes in bfloat16 on CUDA, and the weights stay in float32. resume:
    continue an earlier attempt at the same training; False starts over.

    Inputs are checked before the first step.
    """
    began = time.perf_counter()
    training_kind, out, progress = kind_named(kind), Path(out), progress or SilentProgress()
    chosen, given_names = settings_of(training_kind, preset, settings)
    require_seed(seed)
    if dtype not in DTYPES:
        problem = f"training supports {' or '.join(DTYPES[1:])}, not {dtype!r}."
        raise UsageError(problem, "Leave --dtype out.", code="no-device", key="dtype")
    require_libraries("training needs", "torch", "transformers", "accelerate")
    require_device(device)
    with open_out(out, resume=resume) as folder, opened_base(base, training_kind, device) as source:
        loaded = load_base(source, training_kind, chosen, seed)
        chosen, notes = training_kind.fitted(chosen, given_names, loaded.longest, base)
        task = training_kind.task(data if callable(data) else Path(data), loaded.tokenizer, base, chosen)
        _require_known(task, loaded, base)
        test = None  # read before anything is trained: it may be wrong, too
        if evaluation is not None:
            test = training_kind.test(Path(evaluation), loaded.tokenizer, base, chosen, seed, loaded.n_tokens)
        require_space(folder, loaded.parameters, chosen.keep_checkpoints)
        steps = TrainingSteps.of(len(task.features), chosen)
        info = {
            **{"schema": 1, "made_by": MADE_BY, "kind": kind, "about": dict(about or {})},
            **_source(source, loaded, task),
            **{"preset": preset, "settings": asdict(chosen), "seed": seed, "steps": steps.total},
            **_machine(source.device, dtype),
            "notes": [*notes, *task.notes],
        }
        with explained_full_disk(out, resume=resume):
            curve = fit(
                loaded.model,
                _batches(loaded, task.features, chosen, training_kind, seed),
                chosen,
                steps,
                resume_from=folder.begin(_identity(info, task)),
                checkpoints=folder.checkpoints,
                device=source.device,
                dtype=dtype,
                progress=progress,
            )
            _save(loaded, source, folder)
        scores = None
        if test is not None:
            spec = find_model(f"hf:{out.resolve()}", Options(device=source.device))
            scores = test.scores(TrainedModelAsk(spec, progress), seed)
        info |= {"curve": curve, "scores": None if scores is None else scores.as_json()}
        program = Path(sys.argv[0]).name
        command = shlex.join(["assay" if program == "__main__.py" else program, *sys.argv[1:]])
        made_at = f"{datetime.now(UTC).isoformat(timespec='seconds')}, {time.perf_counter() - began:,.0f} s"
        paper = presets()[preset].source if preset else ""
        card = trained_card(training_kind, info, scores, paper=paper, command=without_folders(command), made_at=made_at)
        return TrainingResult(out, folder.finish(info, card, keep_checkpoints=chosen.keep_checkpoints > 0), scores)


def evaluate(
    kind: str,
    model: str,
    data: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str = "auto",
    dtype: str = "float32",
    progress: Progress | None = None,
) -> TaskScores:
    """How a model does on a task's data: SQuAD's EM and F1 (span), accuracy (choice), perplexity (mask).

    `model` is a name as everywhere (`hf:./folder`, `builtin`); the settings that matter are length, window, stride,
    windows, blocks and masking. Intervals resample passages, contexts or blocks.
    """
    training_kind = kind_named(kind)
    chosen, given_names = settings_of(training_kind, None, settings)
    require_seed(seed)
    require_device(device)
    with opened_base(model, training_kind, device) as base:
        spec = replace(base, dtype="float32" if dtype == "auto" else dtype)
        if kind not in spec.abilities or "text" in spec.abilities:
            raise missing_ability_error(model, kind)
        tokenizer, network = load_tokenizer(spec), load_weights(spec)
        chosen, _ = training_kind.fitted(chosen, given_names, max_length(tokenizer, network), model)
        n_tokens = network.get_input_embeddings().num_embeddings
        del network
        test = training_kind.test(Path(data), tokenizer, model, chosen, seed, n_tokens)
        return test.scores(TrainedModelAsk(spec, progress or SilentProgress()), seed)


def _require_known(task: TrainingData, loaded: BaseModel, name: str) -> None:
    if task.features.tokens.ids.max() >= loaded.n_tokens:
        problem = f"the tokenizer of {name} has more tokens than the {loaded.n_tokens:,} that the model knows."
        remedy = "It belongs to another model: put the right tokenizer into the folder."
        raise ModelError(problem, remedy, code="bad-tokenizer")


def _batches(
    loaded: BaseModel, features: Features, settings: TrainingSettings, kind: TrainingKind[Any], seed: int
) -> Batches:
    n_tokens, masking = loaded.n_tokens, kind.masking(loaded.tokenizer, settings, loaded.n_tokens)
    pads = (loaded.tokenizer.pad_token_id, loaded.tokenizer.eos_token_id, 0)
    pad = next(pad for pad in pads if pad is not None and pad < n_tokens)
    typed = masking is None and Tokeniser(loaded.tokenizer).typed and has_types(loaded.model.config)
    return Batches(features, pad, typed, seed, masking)


def _save(loaded: BaseModel, base: ModelSpec, folder: TrainingFolder) -> None:
    """The model with its base's own rates of dropout: those of a training say nothing about the next one."""
    for name, value in loaded.restore.items():
        setattr(loaded.model.config, name, value)
    with folder.saving() as saved:
        loaded.model.save_pretrained(saved)
        copy_tokenizer(base, saved)


def _source(base: ModelSpec, loaded: BaseModel, task: TrainingData) -> dict[str, Any]:
    """What a model is made from, for assay.json: nothing in it depends on the day or on folders here."""
    known_elsewhere = base.name == "builtin" or base.revision is not None
    name = base.name if known_elsewhere else f"hf:./{Path(base.place).name}"
    return {
        "base": {"name": name, "digest": base.digest, "revision": base.revision},
        "new_weights": list(loaded.fresh),
        "data": dict(task.digests),
        "counts": dict(task.counts),
    }


def _machine(device: str, dtype: str) -> dict[str, Any]:
    versions = {"assay": __version__, **{name: metadata.version(name) for name in _PACKAGES}}
    return {"device": device, "dtype": "bfloat16" if uses_bfloat16(device, dtype) else "float32", "versions": versions}


def _identity(info: Mapping[str, Any], task: TrainingData) -> dict[str, Any]:
    """What makes two trainings the same, so one can continue the other."""
    same = {key: info[key] for key in ("kind", "about", "seed", "steps", "device", "dtype")}
    settings = {key: value for key, value in info["settings"].items() if key not in _WITHOUT_EFFECT}
    return {**same, "base": info["base"]["digest"], "data": task.features.digest(), "settings": settings}
