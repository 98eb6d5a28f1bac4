"""Loading `hf:` models: weights and tokenizer of a model that was found; whatever is wrong with them is said here."""

from __future__ import annotations

from functools import partial
from typing import Any

from assay.errors import ModelError, UsageError
from assay.models.base import ModelSpec
from assay.models.hf_files import first_line, libraries

_AUTO = (
    ({"choice", "text"}, "AutoModelForCausalLM"),
    ({"text"}, "AutoModelForSeq2SeqLM"),
    ({"choice"}, "AutoModelForMultipleChoice"),
    ({"span"}, "AutoModelForQuestionAnswering"),
    ({"mask"}, "AutoModelForMaskedLM"),
)
"""The class of transformers that has these abilities, the first that fits."""


def load_weights(spec: ModelSpec) -> Any:
    """The model that has the spec's abilities, on its device."""
    transformers, torch = libraries()
    auto = next((auto for abilities, auto in _AUTO if abilities <= spec.abilities), None)
    if auto is None:
        problem = f"{spec.name} can neither answer span questions, nor fill masks, nor choose among options, nor write."
        raise UsageError(problem, "Choose another model.", code="missing-ability")
    files = {"trust_remote_code": spec.trust_remote_code, "local_files_only": True}
    try:
        if auto == "AutoModelForCausalLM":
            config = type(transformers.AutoConfig.from_pretrained(spec.place, **files))
            of_pictures = config in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING  # they are not all in the other
            if of_pictures and config not in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
                auto = "AutoModelForImageTextToText"
        model, info = getattr(transformers, auto).from_pretrained(
            spec.place,
            dtype=getattr(torch, spec.dtype),
            use_safetensors=None if spec.allow_pickle else True,
            output_loading_info=True,
            **files,
        )
    except Exception as error:  # transformers and safetensors raise many kinds of errors; each means: unusable
        problem = f"{spec.name} cannot be loaded: {first_line(error)}"
        raise ModelError(problem, "See the message of transformers above.", code="cannot-load") from error
    if missing := sorted(info["missing_keys"]):
        problem = f"{spec.name} lacks weights for {', '.join(missing[:3])}."
        remedy = "Its head was never trained, and made-up weights would give made-up numbers; choose a finished model."
        raise ModelError(problem, remedy, code="bad-folder", key=missing[0])
    try:
        return model.to(spec.device).eval()
    except (RuntimeError, AssertionError) as error:  # torch asserts that it was built for the device
        problem = f"{spec.name} cannot be put on the device {spec.device!r}: {first_line(error)}."
        remedy = "--device cpu works everywhere; cuda, cuda:1 or mps need such a device with enough memory."
        raise UsageError(problem, remedy, code="no-device", key="device") from error


def load_tokenizer(spec: ModelSpec) -> Any:
    """The model's fast tokenizer, as transformers has it."""
    transformers, _ = libraries()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            spec.place, trust_remote_code=spec.trust_remote_code, local_files_only=True
        )
    except Exception as error:  # as above
        problem = f"the tokenizer of {spec.name} cannot be loaded: {first_line(error)}"
        raise ModelError(problem, "Complete its folder.", code="cannot-load", key="tokenizer") from error
    unfit = partial(ModelError, code="bad-tokenizer")
    if len(tokenizer) <= len(tokenizer.all_special_tokens):  # what transformers makes of a folder without one
        remedy = "Complete the folder: tokenizer.json is missing."
        raise unfit(f"the tokenizer of {spec.name} knows no words.", remedy)
    if not tokenizer.is_fast:
        problem = f"{spec.name} has no fast tokenizer (tokenizer.json)."
        raise unfit(problem, "Convert its tokenizer first.", key="tokenizer.json")
    if "mask" in spec.abilities and tokenizer.mask_token_id is None:
        remedy = "A masked language model needs one: set mask_token in its tokenizer_config.json."
        raise unfit(f"the tokenizer of {spec.name} has no mask token.", remedy, key="mask_token")
    return tokenizer


def has_types(config: Any) -> bool:
    """Whether a model was trained with token types.

    The tokenizer's model_input_names does not say so: transformers 5 dropped token types from it for ALBERT and others.
    """
    return getattr(config, "type_vocab_size", 0) > 1 and config.model_type != "big_bird"  # that one never got any


def max_length(tokenizer: Any, model: Any) -> int:
    """The tokenizer's limit or the number of learnt positions, whichever is less."""
    config = getattr(model.config, "text_config", model.config)  # a model of several media has one for each
    learnt = getattr(config, "max_position_embeddings", None) or 10**9
    limit = int(min(tokenizer.model_max_length, learnt if learnt > 0 else 10**9))  # XLNet has -1 there: any number
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            limit = min(limit, module.num_embeddings - module.padding_idx - 1)  # RoBERTa counts from behind padding
    return limit
