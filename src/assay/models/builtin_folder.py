"""The files of the built-in model: where they are, whether they are whole, and how to hand them to transformers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Literal, get_args

from assay.errors import ModelError, UsageError, how_to_install, needing
from assay.files.opening import digest_as_stored

FOLDER = Path(__file__).parents[1] / "data" / "builtin"
FILES = ("config.json", "everywhere.onnx", "places.onnx", "tokenizer.json", "weights.safetensors")
CONFIG, EVERYWHERE, PLACES, TOKENIZER, WEIGHTS = FILES
SUMS = "SHA256SUMS"

Head = Literal["span", "mask", "choice"]

_ENCODER = ("bert.embeddings.", "bert.encoder.")
_HEADS: dict[Head, tuple[str, tuple[str, ...]]] = {  # transformers' class, and the tensors that it has
    "span": ("BertForQuestionAnswering", (*_ENCODER, "qa_outputs.")),
    "mask": ("BertForMaskedLM", (*_ENCODER, "cls.")),
    "choice": ("BertForMultipleChoice", (*_ENCODER, "bert.pooler.", "classifier.")),
}
_TOKENIZER_CONFIG = {
    "tokenizer_class": "BertTokenizer",
    "do_lower_case": True,
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}


def verified(folder: Path) -> str:
    """The digest of a folder whose files are as they were shipped; a ModelError names the first one that is not."""
    sums = _sums(folder / SUMS)
    for name in FILES:
        if _sha256(folder / name) != sums[name]:
            raise _damaged(folder / name, "it is not what was shipped")
    return _sha256(folder / SUMS)


def write_builtin(folder: Path | str, head: Head) -> Path:
    """Write the built-in model with one of its heads as a folder of transformers, for fine-tuning or a closer look.

    head: "span" (BertForQuestionAnswering), "mask" (BertForMaskedLM) or "choice" (BertForMultipleChoice). The weights
    are those that the built-in model computes with, in float32; `hf:FOLDER` gives the same answers. The folder must be
    new or empty. Needs safetensors, which comes with the extra hf.
    """
    if head not in _HEADS:
        problem = f"the built-in model has no head {head!r}; expected {', '.join(get_args(Head))}."
        raise UsageError(problem, 'For example "span".', code="bad-option", key="head")
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        problem = f"{folder} is there already, and not empty."
        raise UsageError(problem, "Choose a new folder.", code="not-new", key="folder")
    with needing("this needs", how_to_install("hf")):
        from safetensors.numpy import load_file, save_file
    verified(FOLDER)
    architecture, parts = _HEADS[head]
    stored = load_file(FOLDER / WEIGHTS).items()
    weights = {name: values.astype("float32") for name, values in stored if name.startswith(parts)}
    config = json.loads((FOLDER / CONFIG).read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    shutil.copy(FOLDER / TOKENIZER, folder / TOKENIZER)
    _write_json(folder / CONFIG, {**config, "architectures": [architecture], "dtype": "float32"})
    longest = {"model_max_length": config["max_position_embeddings"]}
    _write_json(folder / "tokenizer_config.json", {**_TOKENIZER_CONFIG, **longest})
    return folder


def _sums(file: Path) -> dict[str, str]:
    """Checksums by file name, from a file that sha256sum can check."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise _damaged(file, "it cannot be read") from None
    sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    if missing := [name for name in FILES if name not in sums]:
        raise _damaged(file, f"{missing[0]} is not in it")
    return sums


def _sha256(file: Path) -> str:
    try:
        return digest_as_stored(file)
    except FileNotFoundError:
        raise _damaged(file, "it is missing") from None
    except OSError:
        raise _damaged(file, "it cannot be read") from None


def _damaged(file: Path, why: str) -> ModelError:
    return ModelError(
        f"this file of the built-in model is damaged: {why}.",
        "Install assay again from its checkout: pip install --force-reinstall .",
        code="damaged-model",
        file=file,
    )


def _write_json(file: Path, content: dict[str, object]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
