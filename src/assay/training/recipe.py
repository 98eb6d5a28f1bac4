"""One training from end to end: look at everything first, then train, save, evaluate and write it all down."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from assay import __version__
from assay.engine.progress import Progress, Silent
from assay.errors import ModelError, UsageError
from assay.models import find_model
from assay.models.base import Options, unable
from assay.models.hf_files import libraries
from assay.models.hf_load import has_types, load_tokenizer, load_weights, max_length
from assay.models.tokenise import Tokeniser
from assay.training.base import DTYPES, Base, Loaded, load_base, opened_base, require_seed
from assay.training.card import card
from assay.training.choice_data import read_choice_data
from assay.training.encode_choice import encode_choice
from assay.training.encode_span import encode_span
from assay.training.encode_text import encode_text
from assay.training.evaluation import Test, masking_of, read_test, score
from assay.training.features import Batches, Features
from assay.training.files import digests_of, summary_of
from assay.training.folder import MADE_BY, Out, explained_full_disk, open_out, require_space
from assay.training.loop import Steps, fit, uses_bfloat16
from assay.training.scores import Scores
from assay.training.settings import KINDS, Kind, Settings, read
from assay.training.span_data import read_span_data
from assay.training.text_data import Texts, lines_of, text_files

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

    kind: Kind
    base: str
    out: Path
    data: Path | None
    texts: Texts | None
    preset: str | None
    settings: Mapping[str, Any] | None
    evaluation: Path | None
    seed: int
    device: str
    dtype: str
    resume: bool
    about: Mapping[str, Any]


@dataclass(frozen=True)
class _Task:
    features: Features
    digests: Mapping[str, str]
    counts: Mapping[str, int]
    notes: tuple[str, ...] = ()


def run(request: Request, progress: Progress | None = None) -> Trained:
    """Train as requested. Everything that can be wrong is found before the first step."""
    began = time.perf_counter()
    kind, progress = request.kind, progress or Silent()
    if kind not in KINDS:
        raise UsageError(f"there is no {kind!r} training; there are {', '.join(KINDS)}.", "assay train span …")
    settings, given = read(kind, request.preset, request.settings)
    require_seed(request.seed)
    if request.dtype not in DTYPES:
        raise UsageError(
            f"training computes in {' or '.join(DTYPES[1:])}, not in {request.dtype!r}.", "Leave --dtype out."
        )
    _require_accelerate()
    with (
        open_out(request.out, resume=request.resume) as folder,
        opened_base(request.base, kind, request.device) as base,
    ):
        loaded = load_base(base, kind, settings, request.seed)
        settings, notes = _fitted(settings, given, kind, loaded.longest, base.name)
        task = _read(request, loaded, settings, base)
        known = loaded.model.get_input_embeddings().num_embeddings
        if task.features.tokens.ids.max() >= known:
            raise ModelError(
                f"the tokenizer of {base.name} has tokens beyond the {known:,} that the model knows.",
                "It is another model's tokenizer: put the right one into the folder.",
            )
        test = _test(request, loaded, settings, base)
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
        page = card(info, scores, command=_command(), made=made, seconds=time.perf_counter() - began)
        written = folder.finish(info, page, keep_checkpoints=settings.keep_checkpoints > 0)
    return Trained(request.out, written, scores)


def evaluate(
    kind: Kind,
    model: str,
    data: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str = "auto",
    dtype: str = "float32",
    progress: Progress | None = None,
) -> Scores:
    """How a model does on a task's data: SQuAD's EM and F1 (span), accuracy (choice), perplexity (mask).

    `model` is a name as everywhere (`hf:./folder`, `builtin`); the settings that matter are length, window, stride,
    windows, blocks and masking. Intervals resample passages, contexts or blocks.
    """
    chosen, given = read(kind, None, settings)
    require_seed(seed)
    with opened_base(model, kind, device) as base:
        spec = replace(base.spec, name=model, dtype="float32" if dtype == "auto" else dtype)
        if kind not in spec.abilities or "text" in spec.abilities:
            raise unable(model, kind)
        tokenizer, network = load_tokenizer(spec), load_weights(spec)
        chosen, _ = _fitted(chosen, given, kind, max_length(tokenizer, network), model)
        known = network.get_input_embeddings().num_embeddings
        del network
        test = read_test(kind, Path(data), tokenizer, model, chosen, seed, known)
        return score(test, spec, seed=seed, progress=progress)


def _fitted(
    settings: Settings, given: frozenset[str], kind: Kind, longest: int, name: str
) -> tuple[Settings, tuple[str, ...]]:
    """Settings that the model can do: a default longer than what it reads is lowered, and noted."""
    setting = "window" if kind == "span" else "length"
    wanted = getattr(settings, setting)
    if wanted <= longest:
        return settings, ()
    if setting in given:
        raise UsageError(
            f"{setting} is {wanted}, and {name} reads {longest} tokens at most.", f"--set {setting}={longest}"
        )
    changed: dict[str, Any] = {setting: longest}
    if kind == "span" and "stride" not in given:
        changed["stride"] = max(1, min(settings.stride, longest // 3))
    return replace(settings, **changed), (f"{setting} is {longest}, the most that the base reads, not {wanted}",)


def _read(request: Request, loaded: Loaded, settings: Settings, base: Base) -> _Task:
    tokenizer = loaded.tokenizer
    if request.kind == "mask":
        return _read_text(request, tokenizer, settings)
    if request.data is None:
        raise UsageError(f"{request.kind} training needs data.", "--data PATH")
    if request.kind == "span":
        data = read_span_data(request.data)
        only = settings.windows == "answer"
        windows = encode_span(
            tokenizer, base.name, data, window=settings.window, stride=settings.stride, only_answers=only
        )
        counts = {
            "questions": len(data.examples) - windows.left_out,
            "passages": len(data.passages),
            "windows": len(windows.features),
            "questions_left_out": data.left_out + windows.left_out,
        }
        return _Task(windows.features, summary_of(data.digests), counts)
    questions = read_choice_data(request.data)
    choices = encode_choice(tokenizer, base.name, questions, length=settings.length)
    counts = {
        "questions": len(choices.rows),
        "contexts": len(set(questions.contexts)),
        "options": questions.options,
        "contexts_cut": choices.cut,
        "questions_left_out": choices.left_out,
    }
    return _Task(choices.features, summary_of(questions.digests), counts, questions.notes)


def _read_text(request: Request, tokenizer: Any, settings: Settings) -> _Task:
    most = None if settings.max_steps is None else settings.max_steps * settings.batch * settings.accumulate
    if request.texts is not None:
        texts, digests = request.texts, {}
    elif request.data is not None:
        texts = lines_of(request.data)
        digests = digests_of(request.data, text_files(request.data))
    else:
        raise UsageError("mask training needs text.", "--data PATH")
    blocks = encode_text(tokenizer, texts(), length=settings.length, apart=settings.blocks == "apart", most=most)
    counts = {
        "texts": blocks.texts,
        "blocks": len(blocks.features),
        "tokens": len(blocks.features.tokens.ids),
    }
    return _Task(blocks.features, summary_of(digests), counts)


def _test(request: Request, loaded: Loaded, settings: Settings, base: Base) -> Test | None:
    """The data to evaluate on, read before anything is trained: they may be wrong, too."""
    if request.evaluation is None:
        return None
    known = loaded.model.get_input_embeddings().num_embeddings
    return read_test(request.kind, request.evaluation, loaded.tokenizer, base.name, settings, request.seed, known)


def _batches(loaded: Loaded, features: Features, settings: Settings, kind: Kind, seed: int) -> Batches:
    known = loaded.model.get_input_embeddings().num_embeddings
    pads = (loaded.tokenizer.pad_token_id, loaded.tokenizer.eos_token_id, 0)
    return Batches(
        features,
        pad=next(pad for pad in pads if pad is not None and pad < known),
        typed=kind != "mask" and Tokeniser(loaded.tokenizer).typed and has_types(loaded.model.config),
        seed=seed,
        masking=masking_of(loaded.tokenizer, settings, known) if kind == "mask" else None,
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
    return score(test, spec, seed=seed, progress=progress)


def _info(
    request: Request,
    base: Base,
    loaded: Loaded,
    settings: Settings,
    task: _Task,
    steps: Steps,
    notes: tuple[str, ...],
) -> dict[str, Any]:
    """assay.json, as far as it is known before the training. Nothing in it depends on the day or on folders here."""
    return {
        "schema": 1,
        "made_by": MADE_BY,
        "kind": request.kind,
        "about": dict(request.about),
        "base": {"name": _public_name(base), "digest": base.digest, "revision": base.revision},
        "new_weights": list(loaded.fresh),
        "data": dict(task.digests),
        "counts": dict(task.counts),
        "preset": request.preset,
        "settings": settings.of(request.kind),
        "seed": request.seed,
        "steps": steps.total,
        "device": base.spec.device,
        "dtype": "bfloat16" if uses_bfloat16(base.spec.device, request.dtype) else "float32",
        "versions": _versions(),
        "notes": list(notes),
    }


def _identity(info: Mapping[str, Any], task: _Task) -> dict[str, Any]:
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
        raise UsageError("training needs accelerate, which is not installed.", 'pip install "assay[train]"') from None
