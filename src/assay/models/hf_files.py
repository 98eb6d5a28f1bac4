"""Finds `hf:` models, in a folder or on the hub, and digests their files without loading them.

The digest covers every file that transformers reads: those in the folder itself, and those below it that an index of
weights or a configuration names. Names and symbolic links that lead out of the folder are refused, except links to the
blobs of the hub's cache, which consists of them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Any

import msgspec

from assay.errors import DataError, UsageError, how_to_install, printable, require_package
from assay.files.decoding import json_value
from assay.files.opening import read_whole, reason
from assay.models.base import (
    AUTO,
    FLOAT16,
    FLOAT32,
    TF32,
    ModelSpec,
    Options,
    model_file_digest,
    parameters_in,
    with_dtype,
)

_CAUSAL = ("choice", "text", "word")

ABILITIES = {
    "ForQuestionAnswering": ("span", "embed", "word"),
    "ForMaskedLM": ("mask", "fill", "embed", "word", "token"),
    "ForMultipleChoice": ("choice", "embed", "word"),
    "ForCausalLM": _CAUSAL,
    "LMHeadModel": _CAUSAL,
    "ForConditionalGeneration": _CAUSAL,  # of several media; those with an encoder for the prompt only write: see below
}
"""The abilities of a model, by the end of its architecture's name."""

DTYPES = (AUTO, FLOAT32, TF32, "bfloat16", FLOAT16)

_WEIGHTS = ("*.safetensors",)
_PICKLED = ("*.bin",)
_TEXTS = ("*.json", "*.txt", "*.model", "*.jinja")
_TEMPLATES = "additional_chat_templates/*.jinja"
_CODE = ("*.py",)
_CONFIGS = ("config.json", "config.*.json", "tokenizer_config.json")  # those with a number are for some versions
_PARTS = re.compile(r"(^|_)(layers?|blocks|experts|groups|group_num|attention_types)$")
_MOST_PARTS = 2_000
_KERNELS = ("attn_implementation", "experts_implementation")
_BLOBS = re.compile(r"/models--[^/]+/blobs/[^/]+$")
_CONVERT = "Convert them, or pass --allow-pickle if you trust their source: loading such files can run code."
_OWN_CODE = "Omit --trust-remote-code, or put that code into the folder and remove the name up to --."


def find(name: str, rest: str, options: Options) -> ModelSpec:
    """Find a folder or a model from the hub, digest its files and determine its abilities."""
    folder, revision = _folder(rest, options)
    unfit = partial(UsageError, code="bad-folder", file=folder)
    if not (folder / "config.json").is_file():
        problem = "there is no config.json, so this is not a model folder."
        raise unfit(problem, "Name the folder that contains it.", key="config.json")
    for path in filter(Path.is_file, folder.iterdir()):
        _require_within(folder, path)
    config = _config(folder / "config.json", options)
    if (folder / "adapter_config.json").is_file():
        problem = "the folder has an adapter; transformers applies it only if peft is installed."
        remedy = "Merge the two with peft's merge_and_unload, or remove adapter_config.json to measure the model alone."
        raise unfit(problem, remedy, key="adapter_config.json")
    weights, others = _files_read(folder, options)
    if not weights:
        raise unfit("there are no weights in safetensors files.", _CONVERT, key="*.safetensors")
    if options.dtype not in DTYPES:
        problem = f"the number type {options.dtype!r} is unknown; expected {', '.join(DTYPES)}."
        raise UsageError(problem, "--dtype auto", code="bad-option", key="dtype")
    device, abilities = _device(options.device), _abilities(config)
    on_gpu = device.startswith("cuda")
    if options.dtype == TF32 and not on_gpu:
        problem = f"the number type {TF32} is one of NVIDIA's GPUs, and the device is {device}."
        raise UsageError(problem, "--dtype float32", code="bad-option", key="dtype")
    stored_dtype = config.dtype or config.torch_dtype or ""
    spec = ModelSpec(
        name=name,
        kind="hf",
        place=str(folder),
        digest=_digest(folder, weights + others),
        abilities=abilities,
        device=device,
        revision=revision,
        trust_remote_code=options.trust_remote_code,
        allow_pickle=options.allow_pickle,
        threads=options.threads or 0,
        parameters=parameters_in(path for path in weights if path.suffix == ".safetensors"),
        checkpoint_dtype=stored_dtype if stored_dtype in DTYPES[1:] else "",
    )
    return with_dtype(spec, FLOAT32 if options.dtype == AUTO and not on_gpu else options.dtype)


def libraries() -> tuple[Any, Any]:
    """transformers and torch, imported only when a model is found or loaded."""
    with require_package("hf: models need", how_to_install("hf")):
        import torch
        import transformers
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for handler in logging.getLogger("transformers").handlers:
        handler.addFilter(_printable)
    return transformers, torch


def _printable(record: logging.LogRecord) -> bool:
    """What transformers says may contain what is in a model's files: escape sequences become text."""
    record.msg, record.args = printable(record.getMessage()), None
    return True


def _folder(rest: str, options: Options) -> tuple[Path, str | None]:
    path = Path(rest).expanduser()
    if path.is_dir():
        return path.resolve(), None
    repo, _, revision = rest.partition("@")
    if rest.startswith((".", "/", "~")) or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", repo):
        remedy = "Give an existing folder, or hf:ORG/NAME@REVISION."
        raise UsageError(f"there is no model folder {rest}.", remedy, code="unknown-model")
    with require_package("hf: models need", how_to_install("hf")):
        from huggingface_hub import snapshot_download
    patterns = [*_WEIGHTS, *_TEXTS]
    patterns += [*(_PICKLED if options.allow_pickle else ()), *(_CODE if options.trust_remote_code else ())]
    try:
        folder = Path(snapshot_download(repo, revision=revision or None, allow_patterns=patterns))
    except Exception as error:  # the hub's client raises many kinds of errors; each means: not to be had
        problem = (
            f"the model {rest} is not a local folder and could not be downloaded from the hub ({first_line(error)})."
        )
        remedy = "Check the name and the network, or give a local folder: hf:./folder."
        raise UsageError(problem, remedy, code="unknown-model") from error
    return folder, folder.name


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _json(path: Path) -> dict[str, Any]:
    broken = partial(DataError, remedy="Download the model's folder again.", file=path)
    try:
        content = json_value(read_whole(path))
    except (OSError, ValueError) as error:
        code = "bad-json" if isinstance(error, json.JSONDecodeError) else "unreadable-file"
        raise broken(f"cannot be read ({reason(error)}).", code=code) from None
    if not isinstance(content, dict):
        raise broken("this is not a JSON object.", code="bad-json")
    return content


@dataclass(frozen=True)
class _Config:
    """What is read from a config.json."""

    architectures: list[str] | None = None
    is_encoder_decoder: bool | None = None
    dtype: str | None = None
    torch_dtype: str | None = None  # its former name


def _config(path: Path, options: Options) -> _Config:
    """config.json, checked; transformers would make as many layers as it names before it looks at the weights."""
    content, trusted = _json(path), options.trust_remote_code
    wrong = partial(DataError, remedy="Get the model's folder again.", code="bad-value", file=path)
    for keys, value in _values(content):
        key = keys[-1]
        if _PARTS.search(key) and isinstance(value, int) and value > _MOST_PARTS:
            raise wrong(f'"{key}" is {value}; no known model has more than {_MOST_PARTS:,}.', key=key)
        if any(name.removeprefix("_") in _KERNELS for name in keys) and "/" in str(value) and not trusted:
            problem = f'"{key}" is {value!r}: code from the hub, which transformers would fetch and run.'
            remedy = "Remove this key, or pass --trust-remote-code if you trust that code."
            raise UsageError(problem, remedy, code="unsafe-weights", file=path, key=key)
    try:
        return msgspec.convert(content, _Config)
    except msgspec.ValidationError as error:
        raise wrong(f"this is not a model's configuration ({error}).") from None


def _files_read(folder: Path, options: Options) -> tuple[list[Path], list[Path]]:
    """The files that decide a model's answers: weights, and all others."""
    kinds = _WEIGHTS + (_PICKLED if options.allow_pickle else ())
    weights, indexes = _files(folder, *kinds), _files(folder, *(f"{kind}.index.json" for kind in kinds))
    others = _files(folder, *_TEXTS, _TEMPLATES, *(("**/*.py",) if options.trust_remote_code else ()))
    for file in _files(folder, *_CONFIGS):
        try:
            content = _json(file)
        except DataError:  # find() has seen config.json; transformers says what is wrong with the others
            continue
        for name in _named(content, "transformers_weights"):
            path = _inside(folder, name, file, "transformers_weights")
            (indexes if name.endswith(".index.json") else weights).add(path)
        tokenizers = _named(content, "fast_tokenizer_files")
        others |= {_inside(folder, name, file, "fast_tokenizer_files") for name in tokenizers}
        for name in _named(content, "auto_map") if options.trust_remote_code else ():
            if "--" in name:
                problem = f"the code {name} belongs to another repository, which the model's digest cannot cover."
                raise DataError(problem, _OWN_CODE, code="unsupported", file=file, key="auto_map")
            _inside(folder, name, file, "auto_map")
    for index in indexes:
        weights |= {_inside(folder, name, index, "weight_map") for name in _named(_json(index), "weight_map")}
    unsafe = [path for path in weights if path.suffix != ".safetensors"]
    if unsafe and not options.allow_pickle:
        problem = "these weights are not in a safetensors file."
        raise UsageError(problem, _CONVERT, code="unsafe-weights", file=min(unsafe))
    weights_read, others_read = (
        sorted(path for path in paths if path.is_file()) for paths in (weights, others | indexes)
    )
    return weights_read, others_read


def _files(folder: Path, *patterns: str) -> set[Path]:
    """The folder's files, except those in which assay records how a model was made."""
    paths = (path for pattern in patterns for path in folder.glob(pattern) if path.is_file())
    return {_require_within(folder, path) for path in paths if path.name != "assay.json"}


def _named(content: Any, key: str) -> Iterator[str]:
    """All texts under a key, wherever it is in some JSON.

    >>> list(_named({"text_config": {"auto_map": {"A": ["x", None]}}, "b": "y"}, "auto_map"))
    ['x']
    """
    return (value for keys, value in _values(content) if key in keys and isinstance(value, str))


def _values(content: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What some JSON consists of, apart from objects and lists: each value with the keys that lead to it.

    >>> list(_values({"a": {"b": [1, None]}, "c": "x"}))
    [(('a', 'b'), 1), (('a', 'b'), None), (('c',), 'x')]
    """
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _values(value, (*keys, key))
    elif isinstance(content, list):
        for value in content:
            yield from _values(value, keys)
    else:
        yield keys, content


def _inside(folder: Path, name: str, file: Path, key: str) -> Path:
    """The file of a folder that another file of it names, under a key."""
    path = PurePath(name)
    if path.anchor or ".." in path.parts:
        remedy = "Put that file into the folder, and change the name."
        raise DataError(f"{name!r} is outside the model's folder.", remedy, code="bad-value", file=file, key=key)
    return _require_within(folder, folder / path)


def _require_within(folder: Path, path: Path) -> Path:
    """Refuse a link out of the folder: what it leads to would be read, and copied into what is trained from it."""
    target = path.resolve()
    if not target.is_relative_to(folder.resolve()) and not _BLOBS.search(target.as_posix()):
        problem = "this is a link out of the model's folder, which is not followed."
        raise DataError(problem, "Put the file itself there: cp -L.", code="bad-folder", file=path)
    return path


def _digest(folder: Path, files: list[Path]) -> str:
    hasher = hashlib.sha256()
    for path in files:
        name = path.relative_to(folder).as_posix().encode("utf-8", "surrogateescape")
        hasher.update(name + b"\0" + bytes.fromhex(model_file_digest(path)))
    return hasher.hexdigest()


def _abilities(config: _Config) -> frozenset[str]:
    """The abilities of the first architecture named, the class that the model was saved from."""
    saved = next(iter(config.architectures or []), "")
    abilities = frozenset(next((able for ending, able in ABILITIES.items() if saved.endswith(ending)), ()))
    text_to_text = "text" in abilities and config.is_encoder_decoder
    return abilities - {"choice"} if text_to_text else abilities


def _device(device: str) -> str:
    if device != "auto":
        return device
    _, torch = libraries()
    return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
