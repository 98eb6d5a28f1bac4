"""`hf:` models: every model that transformers' Auto classes can load, from a folder or from the hub.

| questions                     | class of transformers         | here           |
|-------------------------------|-------------------------------|----------------|
| span                          | AutoModelForQuestionAnswering | `EncoderModel` |
| masked                        | AutoModelForMaskedLM          | `EncoderModel` |
| with options                  | AutoModelForMultipleChoice    | `EncoderModel` |
| prompts                       | AutoModelForSeq2SeqLM         | `TextModel`    |
| with options, and prompts     | AutoModelForCausalLM          | `CausalModel`  |

These classes are in `hf_architectures.py`. `hf_files.py` finds models; this file loads them and has what all of them
share. Weights are read from safetensors, and code that comes with a model does not run, unless the user allows it.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock, get_ident
from traceback import walk_tb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import QueryColumns
from assay.asking.tokens import Tokens
from assay.errors import AssayError, ModelError, UsageError, is_of_device, is_out_of_memory, is_panic
from assay.models.base import AUTO, FLOAT32, SCORED, TF32, BatchTooLargeError, ModelSpec, TokenModel, with_dtype
from assay.models.encode_columns import Encoder
from assay.models.encode_prompts import PromptEncoder
from assay.models.hf_files import find, first_line, libraries

HELP = "hf:ORG/NAME[@REVISION] or hf:./folder: any model that transformers can load"

__all__ = ["HELP", "HFModel", "Tensor", "find", "has_types", "load", "load_tokenizer", "load_weights", "max_length"]

Tensor = Any  # torch's; torch is imported only when a model is loaded

_AUTO = (
    ({"choice", "text"}, "AutoModelForCausalLM"),
    ({"text"}, "AutoModelForSeq2SeqLM"),
    ({"choice"}, "AutoModelForMultipleChoice"),
    ({"span"}, "AutoModelForQuestionAnswering"),
    ({"mask"}, "AutoModelForMaskedLM"),
)
"""The class of transformers that has these abilities, the first that fits."""


def load(spec: ModelSpec) -> HFModel:
    """Load weights and tokenizer onto the device; a model whose number type is still open computes in float32."""
    from assay.models.hf_architectures import CausalModel, EncoderModel, TextModel

    spec = with_dtype(spec, FLOAT32) if spec.dtype == AUTO else spec
    kind: type[HFModel] = EncoderModel
    if "text" in spec.abilities:
        kind = CausalModel if "choice" in spec.abilities else TextModel
    try:
        with no_panic(spec.name):
            return kind(spec)
    except (AssayError, MemoryError):
        raise
    except Exception as error:  # the folder's files are others': a value of the wrong kind may fail anywhere
        raise _unusable(spec, error) from error


def _unusable(spec: ModelSpec, error: Exception) -> ModelError:
    problem = f"{spec.name} cannot be used: {first_line(error)} ({type(error).__name__})."
    remedy = "Check config.json, generation_config.json and tokenizer_config.json, or get the model again."
    return ModelError(problem, remedy, code="cannot-load")


def _is_of_network(error: Exception) -> bool:
    """Whether an error comes out of a network of transformers, and is neither a device's nor one of ours."""
    if isinstance(error, AssayError) or is_of_device(error):
        return False
    modules = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
    return any(module.startswith("transformers") for module in modules)


class HFModel(TokenModel):
    """A transformers model on its device, with its tokenizer. Subclasses say how it answers."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self._transformers, self._torch = libraries()
        if spec.threads:
            self._torch.set_num_threads(spec.threads)
        self._torch.backends.cuda.enable_cudnn_sdp(False)  # it compiles a kernel for every new shape of a batch
        self._model = load_weights(spec)
        self._tokenizer = load_tokenizer(spec)
        self._n_tokens = self._model.get_input_embeddings().num_embeddings
        pads = (self._tokenizer.pad_token_id, self._tokenizer.eos_token_id, 0)  # some models do not know their own
        self._pad = next(pad for pad in pads if pad is not None and pad < self._n_tokens)
        self._head = self._rough_head()
        window = max_length(self._tokenizer, self._model)
        if "text" in spec.abilities:
            self.encoder = PromptEncoder(self._tokenizer, window, spec.name, causal="choice" in spec.abilities)
        else:
            self.encoder = Encoder(self._tokenizer, window, spec.name)

    def encode(self, columns: QueryColumns) -> Tokens:
        with no_panic(self.spec.name):
            tokens = super().encode(columns)
        if tokens.ids.max(initial=0) >= self._n_tokens:
            problem = f"the tokenizer of {self.spec.name} has tokens beyond the {self._n_tokens} that the model knows."
            remedy = "It belongs to another model: put the right tokenizer into the folder."
            raise ModelError(problem, remedy, code="bad-tokenizer", key="vocab_size")
        return tokens

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        try:
            with (
                no_panic(self.spec.name),
                self._torch.inference_mode(),
                _precision(self._torch, "high" if self.spec.dtype == TF32 else "highest"),
                self._float32_head(used=tokens.ability in SCORED),
            ):
                return super().forward(tokens)
        except BatchTooLargeError:
            self._torch.cuda.empty_cache()
            raise
        except Exception as error:
            if _is_of_network(error):
                raise _unusable(self.spec, error) from error
            raise

    def _rough_head(self) -> Any:
        """The linear layer that gives the scores, if it would compute them in less than float32."""
        if not self.spec.head_dtype:
            return None
        head = self._model.get_output_embeddings() if self.spec.abilities & {"mask", "text"} else None
        if head is None:
            width = 2 if "span" in self.spec.abilities else 1  # a start and an end, or one score for each option
            layers = [layer for layer in self._model.modules() if isinstance(layer, self._torch.nn.Linear)]
            head = next((layer for layer in reversed(layers) if layer.out_features == width), None)
        if isinstance(head, self._torch.nn.Linear):
            return head
        self._warn_of_rough_scores()
        return None

    @contextmanager
    def _float32_head(self, *, used: bool = True) -> Iterator[None]:
        """A context in which the last layer computes in float32: in bfloat16 scores of different options are often
        equal.

        The rest of the network runs as it is, including what its architecture does to the logits.
        """
        head, calls = self._head, 0
        if head is None or not used:
            yield
            return

        def forward(hidden: Tensor) -> Tensor:
            nonlocal calls
            calls += 1
            with _precision(self._torch, "highest"):
                return linear_in_float32(head, hidden)

        head.forward = forward
        try:
            yield
        finally:
            del head.forward
        if not calls:  # an architecture that takes the layer's weights and leaves the layer alone
            self._head = None
            self._warn_of_rough_scores()

    def _warn_of_rough_scores(self) -> None:
        rough = f"its last layer cannot be computed in float32; its scores are as coarse as {self.spec.dtype}."
        warnings.warn(f"{self.spec.name}: {rough}", stacklevel=2)

    def _tensor(self, values: NDArray[Any]) -> Tensor:
        """An array on the device; whole numbers become torch's index type."""
        return self._torch.from_numpy(values).to(self.spec.device).long()

    def _close(self, first: Any, second: Any) -> bool:
        """Whether two ways to compute scores agree within the precision of the number type."""
        tolerance = 1e-3 if self.spec.dtype in (FLOAT32, TF32) else 0.1
        return bool(np.allclose(first, second, rtol=tolerance, atol=tolerance))

    def _finite(self, values: Tensor) -> Tensor:
        if not bool(self._torch.isfinite(values).all()):
            problem = f"{self.spec.name} gave scores that are not numbers (NaN or infinite)."
            remedy = "Try --dtype float32; if that does not help, the weights are damaged."
            raise ModelError(problem, remedy, code="bad-scores")
        return values


@contextmanager
def _precision(torch: Any, name: str) -> Iterator[None]:
    """A context in which matrices in float32 are multiplied with this precision: "high" is tf32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def linear_in_float32(layer: Any, hidden: Tensor) -> Tensor:
    """The output of a linear layer in float32, computed from some rows of its weights at a time.

    A vocabulary's weights may take gigabytes in float32; _COPIED limits the copy.
    """
    hidden, width = hidden.float(), layer.out_features
    scores = hidden.new_empty((*hidden.shape[:-1], width))
    rows = max(1, _COPIED // layer.in_features)
    for start in range(0, width, rows):
        part = slice(start, start + rows)
        scores[..., part] = hidden @ layer.weight[part].float().T
        if layer.bias is not None:
            scores[..., part] += layer.bias[part]
    return scores


_COPIED = 1 << 24  # numbers: 64 MiB in float32


# --- weights and tokenizers: whatever is wrong with them is said here


_LAYER = re.compile(r"\.(layers?|h|blocks?)\.\d+\.")  # a tensor of a numbered layer


def load_weights(spec: ModelSpec) -> Any:
    """The model that has the spec's abilities, on its device."""
    transformers, torch = libraries()
    auto = next((auto for abilities, auto in _AUTO if abilities <= spec.abilities), None)
    if auto is None:
        problem = f"{spec.name} cannot mark answers, fill masks, choose among options or write text."
        raise UsageError(
            problem,
            "Choose another model: an extractive QA, masked, multiple-choice or generative model.",
            code="missing-ability",
        )
    files = {"trust_remote_code": spec.trust_remote_code, "local_files_only": True}
    try:
        if auto == "AutoModelForCausalLM":
            config = type(transformers.AutoConfig.from_pretrained(spec.place, **files))
            of_pictures = config in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING  # they are not all in the other
            if of_pictures and config not in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
                auto = "AutoModelForImageTextToText"
        with no_larger_than_its_weights(spec):
            model, info = getattr(transformers, auto).from_pretrained(
                spec.place,
                dtype=getattr(torch, FLOAT32 if spec.dtype == TF32 else spec.dtype),
                use_safetensors=None if spec.allow_pickle else True,
                output_loading_info=True,
                **files,
            )
    except AssayError:
        raise
    except Exception as error:  # transformers and safetensors raise many kinds of errors; each means: unusable
        raise unloadable(spec.name, error, "See the message of transformers above.") from error
    if missing := sorted(info["missing_keys"]):
        problem = f"{spec.name} lacks weights for {', '.join(missing[:3])}."
        remedy = "Its head was never trained, and random weights would give random numbers; choose a trained model."
        raise ModelError(problem, remedy, code="bad-folder", key=missing[0])
    if beyond := [key for key in sorted(info["unexpected_keys"]) if _LAYER.search(key)]:
        unused = f"config.json names fewer layers than the weights have; {len(beyond)} are not used ({beyond[0]}, …)."
        warnings.warn(f"{spec.name}: {unused}", stacklevel=2)
    try:
        return model.to(spec.device).eval()
    except (RuntimeError, AssertionError) as error:  # torch asserts that it was built for the device
        problem = f"{spec.name} cannot be put on the device {spec.device!r}: {first_line(error)}."
        remedy = "--device cpu works everywhere; cuda, cuda:1 or mps need such a device with enough memory."
        raise UsageError(problem, remedy, code="no-device", key="device") from error


_BEYOND = 1 << 26  # numbers, 256 MiB in float32, that any network may have beyond its weights, such as masks
_TIMES = 4  # embeddings count twice where they are shared, and so do weights of which two are stored in a byte
_MOST_TENSORS = 500_000


@contextmanager
def no_larger_than_its_weights(spec: ModelSpec) -> Iterator[None]:
    """A context in which no network is built that is far larger than the weights in the folder.

    transformers makes what config.json describes, fills it with random numbers, and then says that it does not fit.
    """
    _, torch = libraries()
    sizes: dict[tuple[int, str], int] = {}
    thread = get_ident()  # others may load other models meanwhile
    most, total = _BEYOND + _TIMES * (spec.parameters or 1 << 62), 0

    def made(module: Any, name: str, tensor: Tensor) -> None:
        nonlocal total
        if get_ident() != thread:
            return
        size = 0 if tensor is None else tensor.numel()
        total += size - sizes.get((id(module), name), 0)  # loading puts a tensor where one was
        sizes[id(module), name] = size
        if total > most or len(sizes) > _MOST_TENSORS:
            problem = f"config.json of {spec.name} describes a network that is far larger than its weights."
            raise ModelError(problem, "Get the model's folder again.", code="bad-folder", key="config.json")

    register = torch.nn.modules.module
    hooks = [register.register_module_parameter_registration_hook(made)]
    hooks += [register.register_module_buffer_registration_hook(made)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def unloadable(name: str, error: Exception, remedy: str) -> ModelError:
    """The error about a model that cannot be loaded; `remedy` unless memory ran out."""
    if is_out_of_memory(error):
        problem, remedy = f"there is not enough memory to load {name}.", "Close other programs, or use a smaller model."
        return ModelError(problem, remedy, code="out-of-memory")
    return ModelError(f"{name} cannot be loaded: {first_line(error)}", remedy, code="cannot-load")


def load_tokenizer(spec: ModelSpec) -> Any:
    """The model's fast tokenizer, as transformers has it."""
    transformers, _ = libraries()
    try:
        with no_panic(spec.name), _unprinted(_STDOUT):
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                spec.place, trust_remote_code=spec.trust_remote_code, local_files_only=True
            )
    except AssayError:
        raise
    except Exception as error:  # as above
        problem = f"the tokenizer of {spec.name} cannot be loaded: {first_line(error)}"
        raise ModelError(
            problem, "Add the missing tokenizer files to its folder.", code="cannot-load", key="tokenizer"
        ) from error
    unfit = partial(ModelError, code="bad-tokenizer")
    if len(tokenizer) <= len(tokenizer.all_special_tokens):  # what transformers makes of a folder without one
        remedy = "Add tokenizer.json to its folder."
        raise unfit(f"the tokenizer of {spec.name} has an empty vocabulary.", remedy)
    if not tokenizer.is_fast:
        problem = f"{spec.name} has no fast tokenizer (tokenizer.json)."
        raise unfit(problem, "Convert its tokenizer first.", key="tokenizer.json")
    with no_panic(spec.name), _unprinted(_STDOUT, _STDERR):
        for texts in (
            ("a",),
            ("a", "b"),
        ):  # with special tokens, which tokenizer.json may name wrongly for one or for two
            tokenizer.backend_tokenizer.encode(*texts)
    if "mask" in spec.abilities and tokenizer.mask_token_id is None:
        remedy = "A masked language model needs one: set mask_token in its tokenizer_config.json."
        raise unfit(f"the tokenizer of {spec.name} has no mask token.", remedy, key="mask_token")
    return tokenizer


@contextmanager
def no_panic(name: str) -> Iterator[None]:
    """Around calls of tokenizers: where that library panics, which is not an Exception, the model is at fault."""
    try:
        yield
    except BaseException as error:
        if not is_panic(error) or is_out_of_memory(error):
            raise
        problem = f"the tokenizer of {name} cannot be used: the library tokenizers failed ({first_line(error)})."
        remedy = "Get its tokenizer.json again."
        raise ModelError(problem, remedy, code="bad-tokenizer", key="tokenizer.json") from error


_STDOUT, _STDERR = 1, 2
_PRINTING = Lock()
"""Held while the streams are others."""


@contextmanager
def _unprinted(*streams: int) -> Iterator[None]:
    """A context in which nothing is printed, not even by libraries in Rust.

    tokenizers prints the keys that it does not know to standard output, escape sequences and all.
    """
    with _PRINTING, ExitStack() as stack, Path(os.devnull).open("wb") as nowhere:
        for stream in streams:
            with suppress(OSError):  # it is closed
                copy = os.dup(stream)
                stack.callback(os.close, copy)
                stack.callback(os.dup2, copy, stream)
                os.dup2(nowhere.fileno(), stream)
        yield


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
