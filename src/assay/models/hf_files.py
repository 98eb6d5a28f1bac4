"""Finding `hf:` models: a folder, or a model of the hub; its files are digested, nothing is loaded."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from assay.errors import DataError, UsageError
from assay.models.base import ModelSpec, Options

_CAUSAL = ("choice", "text", "word")

ABILITIES = {
    "ForQuestionAnswering": ("span", "embed", "word"),
    "ForMaskedLM": ("mask", "fill", "embed", "word", "token"),
    "ForMultipleChoice": ("choice", "embed", "word"),
    "ForCausalLM": _CAUSAL,
    "LMHeadModel": _CAUSAL,
    "ForConditionalGeneration": _CAUSAL,  # of several media; those with an encoder for the prompt only write: see below
}
"""What a model can do, by the end of its architecture's name."""

DTYPES = ("auto", "float32", "bfloat16", "float16")

_WEIGHTS = ("*.safetensors",)
_PICKLED = ("*.bin",)
_TEXTS = ("*.json", "*.txt", "*.model", "*.jinja")
_CODE = ("*.py",)
_INSTALL = 'Install what hf: models need: pip install "assay[hf]".'


def find(name: str, rest: str, options: Options) -> ModelSpec:
    """Find a folder or a model of the hub, digest its files and see what it can do."""
    folder, revision = _folder(rest, options)
    if not (folder / "config.json").is_file():
        raise UsageError(
            f"{folder}: there is no config.json, so this is no model folder.", "Name the folder that holds it."
        )
    config = _config(folder / "config.json")
    weights = _files(folder, _WEIGHTS + (_PICKLED if options.allow_pickle else ()))
    if not weights:
        raise UsageError(
            f"{folder}: there are no weights in safetensors files.",
            "Convert them, or pass --allow-pickle if you trust whoever made them: loading *.bin can run their code.",
        )
    if options.dtype not in DTYPES:
        raise UsageError(f"the number type {options.dtype!r} is unknown; expected {', '.join(DTYPES)}.", "--dtype auto")
    device = _device(options.device)
    return ModelSpec(
        name=name,
        kind="hf",
        place=str(folder),
        digest=_digest(weights + _files(folder, _TEXTS + (_CODE if options.trust_remote_code else ()))),
        abilities=_abilities(config),
        device=device,
        dtype="float32" if options.dtype == "auto" else options.dtype,
        revision=revision,
        trust_remote_code=options.trust_remote_code,
        allow_pickle=options.allow_pickle,
        threads=options.threads or 0,
    )


def libraries() -> tuple[Any, Any]:
    """transformers and torch, imported only when a model is found or loaded."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise UsageError(f"hf: models need {error.name}, which is not installed.", _INSTALL) from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers, torch


def _folder(rest: str, options: Options) -> tuple[Path, str | None]:
    path = Path(rest).expanduser()
    if path.is_dir():
        return path.resolve(), None
    repo, _, revision = rest.partition("@")
    if rest.startswith((".", "/", "~")) or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", repo):
        raise UsageError(f"there is no model folder {rest}.", "Give an existing folder, or hf:ORG/NAME@REVISION.")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise UsageError(f"hf: models need {error.name}, which is not installed.", _INSTALL) from None
    patterns = [*_WEIGHTS, *_TEXTS]
    patterns += [*(_PICKLED if options.allow_pickle else ()), *(_CODE if options.trust_remote_code else ())]
    try:
        place = Path(snapshot_download(repo, revision=revision or None, allow_patterns=patterns))
    except Exception as error:  # the hub's client raises many kinds of errors; each means: not to be had
        raise UsageError(
            f"the model {rest} is neither a folder here nor to be had from the hub ({first_line(error)}).",
            "Check the name and the network, or give a local folder: hf:./folder.",
        ) from error
    return place, place.name


def first_line(error: Exception) -> str:
    """What an error says, shortly."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read ({error}).", "Get the model's folder again.", file=path) from None
    if not isinstance(config, dict):
        raise DataError("this is no model's configuration.", "Get the model's folder again.", file=path)
    return config


def _files(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    """What decides a model's answers; not what assay notes about how it was made."""
    found = (path for pattern in patterns for path in folder.glob(pattern) if path.is_file())
    return sorted(path for path in found if path.name != "assay.json")


def _digest(files: list[Path]) -> str:
    hasher = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            hasher.update(path.name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
    return hasher.hexdigest()


def _abilities(config: dict[str, Any]) -> frozenset[str]:
    """Those of the class that the model was saved from, the first one named: its head is the one that is there."""
    saved = next(iter(config.get("architectures") or []), "")
    abilities = frozenset(next((able for ending, able in ABILITIES.items() if saved.endswith(ending)), ()))
    text_to_text = "text" in abilities and config.get("is_encoder_decoder", False)
    return abilities - {"choice"} if text_to_text else abilities


def _device(wanted: str) -> str:
    if wanted != "auto":
        return wanted
    _, torch = libraries()
    return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
