"""`builtin`: the small model that comes with assay. onnxruntime runs it; torch is not needed.

It is one BERT encoder with a head for each kind of question. Its files are in the package: `everywhere.onnx` computes
spans and vectors, `places.onnx` masks and choices, which need one place of a text; both in float32. Their weights, in
float16, are in `weights.safetensors` under transformers' names (`write_builtin` turns them into folders for
transformers); `SHA256SUMS` guards them all.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import NONE, TOKENIZER_ABILITIES, Ints
from assay.asking.tokens import Tokens, option_rows
from assay.errors import ModelError, UsageError, how_to_install, require_package
from assay.models.base import ModelSpec, Options, PaddedBatch, TokenModel, model_file_digest, padded, parameters_in
from assay.models.encode_columns import Encoder

HELP = "builtin: the small model that comes with assay; needs no torch and no network"
BARE = True

ABILITIES = frozenset({"span", "mask", "fill", "choice", "embed", *TOKENIZER_ABILITIES})

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

Floats = NDArray[np.float32]

_NOWHERE = np.zeros(0, np.int64)


def find(name: str, rest: str, options: Options) -> ModelSpec:
    """The packaged model; `rest` is empty, because there is only one."""
    return find_in(FOLDER, name, options)


def find_in(folder: Path, name: str, options: Options) -> ModelSpec:
    """The model in a folder like the packaged one; checks every file against its checksum."""
    for option, value, supported in [("device", options.device, "cpu"), ("dtype", options.dtype, "float32")]:
        if value not in ("auto", supported):
            problem = f"{name} supports only --{option} {supported}, not {value!r}."
            raise UsageError(problem, f"Omit --{option}, or choose an hf: model.", code="no-device", key=option)
    return ModelSpec(
        name=name,
        kind="builtin",
        place=str(folder),
        digest=verified(folder),
        abilities=ABILITIES,
        device="cpu",
        dtype="float32",
        threads=options.threads or 0,
        parameters=parameters_in([folder / WEIGHTS]),
    )


def load(spec: ModelSpec) -> BuiltInModel:
    """Load the model after checking its files again, as this may be another process on another machine."""
    if verified(Path(spec.place)) != spec.digest:
        problem = f"{spec.name} differs from the model that this run began with."
        raise ModelError(problem, "Install the same version of assay on every machine.", code="damaged-model")
    return BuiltInModel(spec)


class BuiltInModel(TokenModel):
    """Answers every kind of question that an encoder can answer, in float32 on the CPU."""

    def __init__(self, spec: ModelSpec) -> None:
        folder = Path(spec.place)
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        self.spec = spec
        self._sessions: dict[str, Any] = {}  # by graph; each has its own copy of the weights, so only those in use
        tokenizer = BareTokenizer(folder / TOKENIZER, mask_token="[MASK]", pad_token="[PAD]")
        self._pad = tokenizer.pad_token_id
        self.encoder = Encoder(tokenizer, config["max_position_embeddings"], spec.name)

    def _answer(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        match tokens.ability:
            case "span":
                return {"score": self._span(tokens)}
            case "choice":
                (logits,) = self._run(self._padded(option_rows(tokens)), "choice", places=_NOWHERE)
                return {"score": logits.reshape(len(tokens), -1)}
            case "embed":
                (hidden,) = self._run(self._padded(tokens), "hidden")
                return {"vector": mean_between(hidden, tokens.marks["start"], tokens.marks["end"])}
            case _:
                return self._masked(tokens)

    def _span(self, tokens: Tokens) -> Floats:
        rows = self._padded(tokens)
        start, end = self._run(rows, "start", "end")
        counted = np.ones_like(rows.there) if tokens.scoring.count_padding else rows.there
        first = best_at(log_softmax(start, counted), tokens.marks["start"], -np.inf)
        last = best_at(log_softmax(end, counted), tokens.marks["end"], -np.inf)
        scores: Floats = np.exp(0.5 * (first + last))
        return scores

    def _masked(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        rows = self._padded(tokens)
        flat = np.arange(len(tokens)) * rows.ids.shape[1] + tokens.marks["mask"]  # positions among those of all rows
        (logits,) = self._run(rows, "mask", places=flat)
        probabilities = softmax(logits)  # (row, token)
        if tokens.ability == "fill":
            token, probability = likeliest(probabilities, int(tokens.marks["top"][0]))
            return {"token": token, "probability": probability}
        if tokens.scoring.top is not None:
            least = _nth_largest(probabilities, tokens.scoring.top)
            probabilities = np.where(probabilities < least, np.float32(0), probabilities)
        return {"score": best_at(probabilities, tokens.marks["candidates"], 0)}

    def _padded(self, tokens: Tokens) -> PaddedBatch:
        rows = padded(tokens, self._pad)
        return rows if tokens.scoring.token_types else rows._replace(types=np.zeros_like(rows.types))

    def _run(self, rows: PaddedBatch, *outputs: str, places: NDArray[np.int64] | None = None) -> list[Floats]:
        """Outputs of the graph for everywhere or, with `places` to score the vocabulary at, of the one for places."""
        inputs = {"input_ids": rows.ids, "attention_mask": rows.there, "token_type_ids": rows.types}
        if places is not None:
            inputs["mask_places"] = places
        arrays: list[Floats] = self._session(EVERYWHERE if places is None else PLACES).run(list(outputs), inputs)
        if not all(np.isfinite(values).all() for values in arrays):
            problem = f"{self.spec.name} gave scores that are not numbers (NaN or infinite)."
            remedy = "Its files are intact, so the computation fails on this machine; please report it."
            raise ModelError(problem, remedy, code="bad-scores")
        return arrays

    def _session(self, graph: str) -> Any:
        if graph not in self._sessions:
            self._sessions[graph] = _session(Path(self.spec.place) / graph, self.spec.threads or usable_cpus())
        return self._sessions[graph]


class BareTokenizer:
    """A `FastTokenizer` for one tokenizer.json, without transformers.

    The file says which tokens are special, but not what each is for.
    """

    def __init__(self, file: Path, *, mask_token: str, pad_token: str) -> None:
        from tokenizers import Tokenizer

        backend = Tokenizer.from_file(str(file))
        backend.no_truncation()
        backend.no_padding()
        self.backend_tokenizer: Any = backend
        self.mask_token: str | None = mask_token
        self.pad_token_id: int = backend.token_to_id(pad_token)
        added = backend.get_added_tokens_decoder().values()
        self.all_special_tokens: Sequence[str] = [token.content for token in added if token.special]
        unknown = getattr(backend.model, "unk_token", None)
        self.unk_token_id: int | None = None if unknown is None else backend.token_to_id(unknown)

    def __call__(self, text: str, text_pair: str | None = None) -> Mapping[str, Any]:
        return {"input_ids": self.backend_tokenizer.encode(text, text_pair).ids}


def usable_cpus() -> int:
    """The number of CPUs that this process may use; in a container or job, maybe fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def log_softmax(logits: Floats, counted: NDArray[np.int64]) -> Floats:
    """Log probabilities over the counted positions of each row; -inf at the others."""
    shifted = np.where(counted == 1, logits, np.float32(-np.inf))
    shifted -= shifted.max(-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(-1, keepdims=True))
    return shifted


def softmax(logits: Floats) -> Floats:
    """Probabilities over each row, computed in place: with many masks, these are the largest arrays."""
    logits -= logits.max(-1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(-1, keepdims=True)
    return logits


def best_at(values: Floats, places: Ints, otherwise: float) -> Floats:
    """The largest of a row's values at the alternative places (row, subject, alternative) of each subject.

    >>> best_at(np.array([[0.5, 0.25, 0.125]], np.float32), np.array([[[2, 1], [0, -1]]], np.int32), 0).tolist()
    [[0.25, 0.5]]
    """
    picked = values[np.arange(len(values))[:, None, None], places]
    best: Floats = np.where(places == NONE, np.float32(otherwise), picked).max(-1)
    return best


def likeliest(probabilities: Floats, top: int) -> tuple[Ints, Floats]:
    """The `top` likeliest tokens of each row and their probabilities, the likeliest first, then the lower token id.

    >>> likeliest(np.array([[0.25, 0.125, 0.25, 0.375]], np.float32), 2)[0].tolist()
    [[3, 0]]
    """
    top = min(top, probabilities.shape[-1])
    row, token = np.nonzero(probabilities >= _nth_largest(probabilities, top))  # as many as tie, by row
    token = token[np.lexsort((token, -probabilities[row, token], row))]
    first = np.searchsorted(row, np.arange(len(probabilities)))
    best = token[first[:, None] + np.arange(top)]
    return best.astype(np.int32), np.take_along_axis(probabilities, best, axis=-1)


def mean_between(hidden: Floats, start: Ints, end: Ints) -> Floats:
    """The mean of each row's vectors from position `start` to before `end`."""
    column = np.arange(hidden.shape[1])
    inside = (column >= start[:, None]) & (column < end[:, None])
    shares = (inside / (end - start)[:, None]).astype(np.float32)
    mean: Floats = np.einsum("rp,rpw->rw", shares, hidden)
    return mean


def _nth_largest(values: Floats, n: int) -> Floats:
    index = max(values.shape[-1] - n, 0)
    return np.partition(values, index, axis=-1)[:, index : index + 1]


def _session(graph: Path, threads: int) -> Any:
    with require_package("the built-in model needs", "pip install assay-bias"):
        import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # its errors are raised as well; printed ones would tear the progress bar
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


# --- its files: whether they are whole, and how to hand them to transformers


def verified(folder: Path) -> str:
    """The digest of a folder with intact files; a ModelError names the first file that is not."""
    sums = _sums(folder / SUMS)
    for name in FILES:
        if _sha256(folder / name) != sums[name]:
            raise _damaged(folder / name, "its content has changed")
    return _sha256(folder / SUMS)


def write_builtin(folder: Path | str, head: Head) -> Path:
    """Write the built-in model with one of its heads as a folder that transformers can load.

    head: "span" (BertForQuestionAnswering), "mask" (BertForMaskedLM) or "choice" (BertForMultipleChoice). The weights
    are those that the built-in model computes with, in float32; `hf:FOLDER` gives the same answers. The folder must be
    new or empty. Needs safetensors, which comes with the extra hf.
    """
    if head not in _HEADS:
        problem = f"the built-in model has no head {head!r}; expected {', '.join(get_args(Head))}."
        raise UsageError(problem, 'For example "span".', code="bad-option", key="head")
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        problem = f"{folder} already exists and is not empty."
        raise UsageError(problem, "Choose a new folder.", code="not-new", key="folder")
    with require_package("this needs", how_to_install("hf")):
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
        raise _damaged(file, f"{missing[0]} is missing from it")
    return sums


def _sha256(file: Path) -> str:
    try:
        return model_file_digest(file)
    except FileNotFoundError:
        raise _damaged(file, "it is missing") from None
    except OSError:
        raise _damaged(file, "it cannot be read") from None


def _damaged(file: Path, reason: str) -> ModelError:
    return ModelError(
        f"this file of the built-in model is damaged: {reason}.",
        "Reinstall assay with pip install --force-reinstall.",
        code="damaged-model",
        file=file,
    )


def _write_json(file: Path, content: dict[str, object]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8", newline="\n")
