"""One training from end to end: look at everything first, then train, save, evaluate and write it all down."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from assay import __version__
from assay.errors import ModelError, UsageError
from assay.lab.card import trained_card
from assay.lab.training.base_model import DTYPES, Base, Loaded, load_base, opened_base, require_seed
from assay.lab.training.batches import Batches, Features
from assay.lab.training.evaluation import Asker
from assay.lab.training.kind import Kind, Task, Test
from assay.lab.training.mask_texts import Texts
from assay.lab.training.out_folder import MADE_BY, Out, explained_full_disk, open_out, require_space
from assay.lab.training.scores import Scores
from assay.lab.training.settings import Settings, settings_of
from assay.lab.training.trainer import Steps, fit, uses_bfloat16
from assay.models import find_model
from assay.models.base import Options, unable
from assay.models.hf import has_types, load_tokenizer, load_weights, max_length
from assay.models.hf_files import libraries
from assay.models.tokenise import Tokeniser
from assay.progress import Progress, Silent

_WITHOUT_EFFECT = ("save_steps", "keep_checkpoints")  # on the weights: they may change when a training is resumed


@dataclass(frozen=True)
class Trained:
    """A finished training: the model's folder, the content of its assay.json, and what the model scored."""

    folder: Path
    info: Mapping[str, Any]
    scores: Scores | None

    @property
    def model(self) -> str:
        """The model's name for everything else in assay."""
        return f"hf:{self.folder}"


@dataclass(frozen=True)
class Request:
    """What is to be trained, on what, and where to; `about` is noted with the model and tells trainings apart."""

    kind: Kind[Any]
    base: str
    out: Path
    data: Path | Texts | None
    preset: str | None
    settings: Mapping[str, Any] | None
    evaluation: Path | None
    seed: int
    device: str
    dtype: str
    resume: bool
    about: Mapping[str, Any]


def run(request: Request, progress: Progress | None = None) -> Trained:
    """Train as requested. Everything that can be wrong is found before the first step."""
    began = time.perf_counter()
    kind, progress = request.kind, progress or Silent()
    settings, given = settings_of(kind, request.preset, request.settings)
    require_seed(request.seed)
    if request.dtype not in DTYPES:
        raise UsageError(
            f"training computes in {' or '.join(DTYPES[1:])}, not in {request.dtype!r}.",
            "Leave --dtype out.",
            code="no-device",
            key="dtype",
        )
    _require_accelerate()
    with (
        open_out(request.out, resume=request.resume) as folder,
        opened_base(request.base, kind, request.device) as base,
    ):
        loaded = load_base(base, kind, settings, request.seed)
        settings, notes = kind.fitted(settings, given, loaded.longest, base.name)
        task = kind.task(request.data, loaded.tokenizer, base.name, settings)
        known = loaded.known
        if task.features.tokens.ids.max() >= known:
            raise ModelError(
                f"the tokenizer of {base.name} has tokens beyond the {known:,} that the model knows.",
                "It is another model's tokenizer: put the right one into the folder.",
                code="bad-tokenizer",
            )
        test = None  # read before anything is trained: it may be wrong, too
        if request.evaluation is not None:
            test = kind.test(request.evaluation, loaded.tokenizer, base.name, settings, request.seed, known)
        require_space(folder, loaded.parameters, settings.keep_checkpoints)
        steps = Steps.of(len(task.features), settings)
        info = _info(request, base, loaded, settings, task, steps, (*notes, *task.notes))
        with explained_full_disk(request.out, resume=request.resume):
            checkpoint = folder.begin(_identity(info, task))
            curve = fit(
                loaded.model,
                _batches(loaded, task.features, settings, kind, request.seed),
                settings,
                steps,
                checkpoints=folder.checkpoints,
                resume_from=checkpoint,
                seed=request.seed,
                device=base.spec.device,
                dtype=request.dtype,
                progress=progress,
            )
            _save(loaded, base, folder)
        scores = None if test is None else _score(test, folder, base, request.seed, progress)
        info |= {"curve": curve, "scores": None if scores is None else scores.as_json()}
        made = datetime.now(UTC).isoformat(timespec="seconds")
        page = trained_card(kind, info, scores, command=_command(), made=made, seconds=time.perf_counter() - began)
        written = folder.finish(info, page, keep_checkpoints=settings.keep_checkpoints > 0)
    return Trained(request.out, written, scores)


def evaluated(
    kind: Kind[Any],
    model: str,
    data: Path,
    settings: Mapping[str, Any] | None,
    seed: int,
    device: str,
    dtype: str,
    progress: Progress | None,
) -> Scores:
    """How a model does on a task's data."""
    chosen, given = settings_of(kind, None, settings)
    require_seed(seed)
    with opened_base(model, kind, device) as base:
        spec = replace(base.spec, name=model, dtype="float32" if dtype == "auto" else dtype)
        if kind.name not in spec.abilities or "text" in spec.abilities:
            raise unable(model, kind.name)
        tokenizer, network = load_tokenizer(spec), load_weights(spec)
        chosen, _ = kind.fitted(chosen, given, max_length(tokenizer, network), model)
        known = network.get_input_embeddings().num_embeddings
        del network
        test = kind.test(data, tokenizer, model, chosen, seed, known)
        return test.scores(Asker(spec, progress or Silent()), seed)


def _batches(loaded: Loaded, features: Features, settings: Settings, kind: Kind[Any], seed: int) -> Batches:
    known, masking = loaded.known, kind.masking(loaded.tokenizer, settings, loaded.known)
    pads = (loaded.tokenizer.pad_token_id, loaded.tokenizer.eos_token_id, 0)
    return Batches(
        features,
        pad=next(pad for pad in pads if pad is not None and pad < known),
        typed=masking is None and Tokeniser(loaded.tokenizer).typed and has_types(loaded.model.config),
        seed=seed,
        masking=masking,
    )


def _save(loaded: Loaded, base: Base, folder: Out) -> None:
    """The model with its base's own rates of dropout: those of a training say nothing about the next one."""
    for name, value in loaded.restore.items():
        setattr(loaded.model.config, name, value)
    with folder.saving() as place:
        loaded.model.save_pretrained(place)
        base.copy_tokenizer(place)


def _score(test: Test, folder: Out, base: Base, seed: int, progress: Progress) -> Scores:
    spec = find_model(f"hf:{folder.path.resolve()}", Options(device=base.spec.device))
    return test.scores(Asker(spec, progress), seed)


def _info(
    request: Request,
    base: Base,
    loaded: Loaded,
    settings: Settings,
    task: Task,
    steps: Steps,
    notes: tuple[str, ...],
) -> dict[str, Any]:
    """assay.json, as far as it is known before the training. Nothing in it depends on the day or on folders here."""
    return {
        "schema": 1,
        "made_by": MADE_BY,
        "kind": request.kind.name,
        "about": dict(request.about),
        "base": {"name": _public_name(base), "digest": base.digest, "revision": base.revision},
        "new_weights": list(loaded.fresh),
        "data": dict(task.digests),
        "counts": dict(task.counts),
        "preset": request.preset,
        "settings": asdict(settings),
        "seed": request.seed,
        "steps": steps.total,
        "device": base.spec.device,
        "dtype": "bfloat16" if uses_bfloat16(base.spec.device, request.dtype) else "float32",
        "versions": _versions(),
        "notes": list(notes),
    }


def _identity(info: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """What makes two trainings the same, so that one may go on where the other ended."""
    same = {key: info[key] for key in ("kind", "about", "seed", "steps", "device", "dtype")}
    settings = {key: value for key, value in info["settings"].items() if key not in _WITHOUT_EFFECT}
    return {**same, "base": info["base"]["digest"], "data": task.features.digest(), "settings": settings}


def _public_name(base: Base) -> str:
    """The base's name without what only this machine knows: the folder that it lies in."""
    if base.name == "builtin" or base.revision is not None:
        return base.name
    return f"hf:./{Path(base.spec.place).name}"


def _versions() -> dict[str, str]:
    packages = ("torch", "transformers", "accelerate", "tokenizers")
    return {"assay": __version__} | {name: metadata.version(name) for name in packages}


def _command() -> str:
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def _require_accelerate() -> None:
    libraries()
    try:
        import accelerate  # noqa: F401 (only whether it is there: transformers' Trainer needs it)
    except ImportError:
        raise UsageError(
            "training needs accelerate, which is not installed.",
            'pip install "assay[train]"',
            code="not-installed",
            key="accelerate",
        ) from None
