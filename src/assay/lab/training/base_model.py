"""The model that a training begins with: found and loaded as `hf:` models are, with the head that the task needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from assay.errors import AssayError, ModelError, UsageError
from assay.files.atomic import temporary_folder
from assay.lab.training.training_kind import TrainingKind, TrainingSettings
from assay.models import find_model
from assay.models.base import ModelSpec, Options
from assay.models.builtin import Head, write_builtin
from assay.models.hf import load_tokenizer, max_length, no_larger_than_its_weights, unloadable
from assay.models.hf_files import first_line, libraries

DTYPES = ("auto", "float32", "bfloat16")
LARGEST_SEED = 2**32 - 1  # that numpy takes

_DEVICES = ("cpu", "cuda", "mps")

_TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.txt", "vocab.json", "merges.txt", "*.model", "*.jinja"),
)
_DROPOUT = {
    "dropout": ("hidden_dropout_prob", "dropout", "embedding_dropout", "mlp_dropout"),
    "attention_dropout": ("attention_probs_dropout_prob", "attention_dropout"),
}


@dataclass
class BaseModel:
    """A base model in memory, ready to be trained.

    fresh: weights that the base did not have, or that were not to be kept. restore: what the configuration said before
    this training's own settings.
    """

    model: Any
    tokenizer: Any
    longest: int
    fresh: tuple[str, ...]
    restore: Mapping[str, Any]

    @property
    def n_tokens(self) -> int:
        count: int = self.model.get_input_embeddings().num_embeddings
        return count

    @property
    def parameters(self) -> int:
        return sum(each.numel() for each in self.model.parameters())


def require_seed(seed: int) -> None:
    if not 0 <= seed <= LARGEST_SEED:
        problem = f"the seed is {seed}, expected a whole number from 0 to {LARGEST_SEED}."
        raise UsageError(problem, "--seed 0", code="bad-option", key="seed")


@contextmanager
def opened_base(name: str, kind: TrainingKind[Any], device: str, dtype: str = "auto") -> Iterator[ModelSpec]:
    """Find a base model. The built-in one is written as a folder of transformers, with its head for this task."""
    options = Options(device=device, dtype=dtype)
    if name != "builtin":
        yield find_model(name, options)
        return
    with temporary_folder() as temporary:
        folder = write_builtin(temporary / "builtin", cast(Head, kind.name))
        yield replace(find_model(f"hf:{folder}", options), name=name, digest=find_model(name).digest)


def copy_tokenizer(base: ModelSpec, folder: Path) -> None:
    """Copy the tokenizer's files unchanged, so the new model tokenizes as its base does."""
    for pattern in _TOKENIZER_FILES:
        for file in Path(base.place).glob(pattern):
            shutil.copyfile(file, folder / file.name)


def load_base(base: ModelSpec, kind: TrainingKind[Any], settings: TrainingSettings, seed: int) -> BaseModel:
    """Load a base model with the head that the task needs, after a look at whether it can have one."""
    require_seed(seed)
    transformers, torch = libraries()
    files: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    with _explained_loading(base.name, "Complete its folder."):
        config = transformers.AutoConfig.from_pretrained(base.place, **files)
    _require_task(transformers, config, kind, base.name)
    restore = _set_dropout(config, settings, base.name) | {"use_cache": getattr(config, "use_cache", None)}
    auto = getattr(transformers, f"AutoModelFor{kind.head}")
    files |= {"config": config, "dtype": torch.float32, "use_safetensors": True, "output_loading_info": True}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        with (
            _explained_loading(base.name, "See the message of transformers above."),
            no_larger_than_its_weights(base),
        ):
            model, info = auto.from_pretrained(base.place, **files)
        missing = sorted(info["missing_keys"])
        _require_weights(model, missing, kind, settings.head, base.name)
        if settings.head == "new":
            model, missing = _with_new_head(auto, model)
    tokenizer = load_tokenizer(base)
    if kind.masks and tokenizer.mask_token_id is None:
        problem = f"the tokenizer of {base.name} has no mask token."
        raise ModelError(problem, "Choose a base that was trained with masks.", code="bad-tokenizer")
    return BaseModel(model, tokenizer, max_length(tokenizer, model), tuple(missing), restore)


@contextmanager
def _explained_loading(name: str, remedy: str) -> Iterator[None]:
    try:
        yield
    except AssayError:
        raise
    except Exception as error:  # transformers raises many kinds of errors; each means: unusable
        raise unloadable(name, error, remedy) from error


def require_device(device: str) -> None:
    """Refuse a device that is not there; transformers' Trainer would take another one, or fail when all is loaded."""
    refused = partial(UsageError, code="no-device", key="device")
    if device == "auto":
        return
    if device.startswith("cuda:"):
        remedy = f"CUDA_VISIBLE_DEVICES={device[5:]} chooses one; --device cuda"
        raise refused(f"training runs on cuda, not on {device}.", remedy)
    if device not in _DEVICES:
        problem = f"training runs on {', '.join(_DEVICES[:-1])} or {_DEVICES[-1]}, not on {device!r}."
        raise refused(problem, "Leave --device out to use the best available device.")
    _, torch = libraries()
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # torch asserts that it was built for the device
        problem = f"the device {device!r} cannot be used: {first_line(error)}."
        raise refused(problem, "--device cpu works everywhere; cuda and mps need such a device.") from error


def _require_task(transformers: Any, config: Any, kind: TrainingKind[Any], name: str) -> None:
    """Refuse a model that writes, and one that has no head for this task."""
    both_ways = type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING
    writes = type(config) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING and not both_ways
    if writes or getattr(config, "is_encoder_decoder", False) or getattr(config, "is_decoder", False):
        problem = f"which generates text; {kind.name} training needs an encoder."
        remedy = "Choose an encoder such as BERT, RoBERTa, DistilBERT, ELECTRA, ALBERT or DeBERTa."
    elif type(config) not in getattr(transformers, kind.mapping):
        problem = f"for which transformers has no {kind.name} head."
        remedy = "Choose another base: BERT, RoBERTa, DistilBERT, ELECTRA, ALBERT and DeBERTa have all three."
    else:
        return
    raise UsageError(f"{name} is a {config.model_type} model, {problem}", remedy, code="unsupported", key="base")


def _require_weights(model: Any, missing: list[str], kind: TrainingKind[Any], head: str, name: str) -> None:
    """Refuse a base that lacks weights of its encoder, or of a head that is to be kept."""
    prefix = f"{model.base_model_prefix}."
    lost = [key for key in missing if key.startswith(prefix) and not key.startswith(f"{prefix}pooler.")]
    if lost:
        problem = f"{name} lacks weights of its encoder: {', '.join(lost[:3])}."
        raise ModelError(problem, "Its folder is incomplete; download it again.", code="bad-folder", key=lost[0])
    if not missing or head == "new":
        return
    lacks = f"it lacks {', '.join(missing[:3])}."
    if head == "keep":
        problem = f"{name} has no {kind.name} head to keep: {lacks}"
        raise UsageError(problem, "--set head=new starts with a new one.", code="bad-setting", key="head")
    if kind.masks:
        problem = f"{name} has no head that fills masks: {lacks}"
        remedy = "Choose a base that fills masks, or start with an untrained head: --set head=new"
        raise UsageError(problem, remedy, code="missing-ability", key=kind.name)


def _with_new_head(auto: Any, model: Any) -> tuple[Any, list[str]]:
    """A model with the same encoder, and everything outside it as a model has it before any training."""
    fresh = auto.from_config(model.config)
    fresh.base_model.load_state_dict(model.base_model.state_dict())
    inside = {id(parameter) for parameter in fresh.base_model.parameters()}  # a mask head shares the embeddings
    return fresh, sorted(name for name, parameter in fresh.named_parameters() if id(parameter) not in inside)


def _set_dropout(config: Any, settings: TrainingSettings, name: str) -> dict[str, Any]:
    """Put other rates of dropout into a configuration; returns what was there."""
    before: dict[str, Any] = {}
    for setting, attributes in _DROPOUT.items():
        rate = getattr(settings, setting)
        if rate is None:
            continue
        present = [attribute for attribute in attributes if hasattr(config, attribute)]
        if not present:
            problem = f"{name} has no setting {setting}."
            raise UsageError(problem, f"Leave --set {setting} out.", code="bad-setting", key=setting)
        for attribute in present:
            before[attribute] = getattr(config, attribute)
            setattr(config, attribute, rate)
    return before
