"""`hf:` models: whatever transformers' Auto classes load, from a folder or from the hub.

Span questions go to AutoModelForQuestionAnswering, masked ones to AutoModelForMaskedLM. Weights are read from
safetensors and no code of the model's author runs, unless that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import ModelError, UsageError
from assay.models.base import BatchTooLargeError, ModelSpec
from assay.models.hf_files import find, first_line, libraries
from assay.queries import NONE, QueryColumns, Tokens

__all__ = ["HFModel", "find", "load"]

Tensor = Any  # torch's; torch is imported only when a model is loaded


def load(spec: ModelSpec) -> HFModel:
    """Load weights and tokenizer onto the device."""
    return HFModel(spec)


class HFModel:
    """A transformers model that answers span or masked questions."""

    def __init__(self, spec: ModelSpec) -> None:
        transformers, torch = libraries()
        from assay.models.encode import Encoder

        self.spec = spec
        self._torch = torch
        auto = transformers.AutoModelForQuestionAnswering if "span" in spec.abilities else None
        auto = transformers.AutoModelForMaskedLM if "mask" in spec.abilities else auto
        if auto is None:
            raise UsageError(f"{spec.name} can neither answer span questions nor fill masks.", "Choose another model.")
        self._model = self._from_pretrained(auto)
        tokenizer = self._tokenizer(transformers)
        self._known_tokens = self._model.get_input_embeddings().num_embeddings
        self._pad = tokenizer.pad_token_id or 0
        self._encoder = Encoder(tokenizer, _max_length(tokenizer, self._model), spec.name)
        self._typed = self._encoder.tokeniser.typed and _has_types(self._model.config)
        self._mask_only = "mask" in spec.abilities and self._heads_agree()

    def encode(self, columns: QueryColumns) -> Tokens:
        if columns.ability not in self.spec.abilities:
            raise UsageError(f"{self.spec.name} cannot answer {columns.ability} questions.", "Choose another model.")
        tokens = self._encoder.encode(columns)
        if tokens.ids.max(initial=0) >= self._known_tokens:
            raise ModelError(
                f"the tokenizer of {self.spec.name} has tokens beyond the {self._known_tokens} that the model knows.",
                "It is another model's tokenizer: put the right one into the folder.",
            )
        return tokens

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        """Answers to one batch."""
        if tokens.ability == "word":
            return dict(tokens.marks)
        with self._torch.inference_mode(), self._memory_errors():
            return self._span(tokens) if tokens.ability == "span" else self._masked(tokens)

    def token_text(self, ids: NDArray[np.int32]) -> list[str]:
        """The text of tokens, one by one, without surrounding blanks."""
        return [self._encoder.tokeniser.tokenizer.decode([token]).strip() for token in ids.tolist()]

    def _span(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        torch, inputs = self._torch, self._inputs(tokens)
        outputs = self._model(**inputs)
        logs = {}
        for name, logits in {"start": outputs.start_logits, "end": outputs.end_logits}.items():
            logits = self._finite(logits.float())
            if "attention_mask" in inputs and not tokens.scoring.count_padding:
                logits = logits.masked_fill(inputs["attention_mask"] == 0, -torch.inf)
            places = torch.from_numpy(tokens.marks[name]).to(logits.device).long()  # (row, subject, alternative)
            rows = logits.log_softmax(-1)[:, None, :].expand(-1, places.shape[1], -1)
            picked = rows.gather(2, places.clamp(min=0)).masked_fill(places == NONE, -torch.inf)
            logs[name] = picked.amax(-1)  # (row, subject)
        return {"score": (0.5 * (logs["start"] + logs["end"])).exp().cpu().numpy()}

    def _masked(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        torch = self._torch
        probabilities = self._finite(self._mask_logits(tokens, self._mask_only).float()).softmax(-1)  # (row, token)
        if tokens.ability == "fill":
            best = probabilities.topk(int(tokens.marks["top"][0]), dim=-1)
            return {"token": best.indices.int().cpu().numpy(), "probability": best.values.cpu().numpy()}
        if tokens.scoring.top is not None:
            least = probabilities.topk(tokens.scoring.top, dim=-1).values[:, -1:]
            probabilities = probabilities.masked_fill(probabilities < least, 0)
        candidates = torch.from_numpy(tokens.marks["candidates"]).to(probabilities.device).long()
        rows = probabilities[:, None, :].expand(-1, candidates.shape[1], -1)
        picked = rows.gather(2, candidates.clamp(min=0)).masked_fill(candidates == NONE, 0)
        return {"score": picked.amax(-1).cpu().numpy()}

    def _mask_logits(self, tokens: Tokens, mask_only: bool) -> Tensor:
        """Logits at the mask (row, token); the head is computed for that position alone where it can be."""
        torch, inputs = self._torch, self._inputs(tokens)
        places = torch.from_numpy(tokens.marks["mask"]).to(self.spec.device).long()
        rows = torch.arange(len(tokens), device=self.spec.device)
        if not mask_only:
            logits: Tensor = self._model(**inputs).logits[rows, places]
            return logits

        def keep_mask(module: Any, args: Any, output: Any) -> Any:
            output["last_hidden_state"] = output["last_hidden_state"][rows, places][:, None]
            return output

        handle = self._model.base_model.register_forward_hook(keep_mask)
        try:
            narrow: Tensor = self._model(**inputs).logits[:, 0]
            return narrow
        finally:
            handle.remove()

    def _heads_agree(self) -> bool:
        """Whether this architecture's head gives at the mask alone what it gives at the mask among all positions."""
        from assay.queries import MASK, FillColumns, Texts

        tokens = self.encode(FillColumns(Texts.of(["a b"] * 2), Texts.of([f"{MASK} c", f"d e {MASK}"])))
        with self._torch.inference_mode():
            full = self._mask_logits(tokens, mask_only=False)
            try:
                narrow = self._mask_logits(tokens, mask_only=True)
            except Exception:  # an architecture whose head reads something else; the full head is always right
                return False
        return full.shape == narrow.shape and bool(self._torch.allclose(full, narrow, rtol=1e-3, atol=1e-3))

    def _inputs(self, tokens: Tokens) -> dict[str, Tensor]:
        """Padded arrays; no attention mask where nothing is padded."""
        torch, lengths = self._torch, tokens.lengths
        width = int(lengths.max())
        column = np.arange(width)
        there = column < lengths[:, None]
        ids = np.full((len(tokens), width), self._pad, np.int64)
        ids[there] = tokens.ids
        arrays: dict[str, NDArray[Any]] = {"input_ids": ids}
        if not there.all():
            arrays["attention_mask"] = there.astype(np.int64)
        if self._typed and tokens.scoring.token_types:
            arrays["token_type_ids"] = (there & (column >= tokens.second[:, None])).astype(np.int64)
        return {name: torch.from_numpy(values).to(self.spec.device) for name, values in arrays.items()}

    def _finite(self, logits: Tensor) -> Tensor:
        if not bool(self._torch.isfinite(logits).all()):
            raise ModelError(
                f"{self.spec.name} gave scores that are not numbers (NaN or infinite).",
                "Try --dtype float32; if that does not help, the weights are damaged.",
            )
        return logits

    @contextmanager
    def _memory_errors(self) -> Iterator[None]:
        try:
            yield
        except (MemoryError, self._torch.OutOfMemoryError) as error:
            self._torch.cuda.empty_cache()
            raise BatchTooLargeError(str(error)) from error
        except RuntimeError as error:
            if "can't allocate memory" in str(error):
                raise BatchTooLargeError(str(error)) from error
            raise

    def _from_pretrained(self, auto: Any) -> Any:
        torch, spec = self._torch, self.spec
        try:
            model, info = auto.from_pretrained(
                spec.place,
                dtype=getattr(torch, spec.dtype),
                use_safetensors=None if spec.allow_pickle else True,
                trust_remote_code=spec.trust_remote_code,
                local_files_only=True,
                output_loading_info=True,
            )
        except Exception as error:  # transformers and safetensors raise many kinds of errors; each means: unusable
            raise ModelError(
                f"{spec.name} cannot be loaded: {first_line(error)}", "See the message of transformers above."
            ) from error
        if info["missing_keys"]:
            raise ModelError(
                f"{spec.name} lacks weights for {', '.join(sorted(info['missing_keys'])[:3])}.",
                "Its head was never trained, and made-up weights would give made-up numbers; choose a finished model.",
            )
        try:
            return model.to(spec.device).eval()
        except (RuntimeError, AssertionError) as error:  # torch asserts that it was built for the device
            raise UsageError(
                f"{spec.name} cannot be put on the device {spec.device!r}: {first_line(error)}.",
                "--device cpu works everywhere; cuda, cuda:1 or mps need such a device with enough memory.",
            ) from error

    def _tokenizer(self, transformers: Any) -> Any:
        spec = self.spec
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                spec.place, trust_remote_code=spec.trust_remote_code, local_files_only=True
            )
        except Exception as error:  # as above
            raise ModelError(
                f"the tokenizer of {spec.name} cannot be loaded: {first_line(error)}", "Complete its folder."
            ) from error
        if len(tokenizer) <= len(tokenizer.all_special_tokens):  # what transformers makes of a folder without one
            raise ModelError(
                f"the tokenizer of {spec.name} knows no words.", "Complete the folder: tokenizer.json is missing."
            )
        if not tokenizer.is_fast:
            raise ModelError(f"{spec.name} has no fast tokenizer (tokenizer.json).", "Convert its tokenizer first.")
        if "mask" in spec.abilities and tokenizer.mask_token_id is None:
            raise ModelError(
                f"the tokenizer of {spec.name} has no mask token.",
                "A masked language model needs one: set mask_token in its tokenizer_config.json.",
            )
        return tokenizer


def _has_types(config: Any) -> bool:
    """Whether a model was trained with token types.

    The tokenizer's model_input_names does not say so: transformers 5 dropped token types from it for ALBERT and others.
    """
    return getattr(config, "type_vocab_size", 0) > 1 and config.model_type != "big_bird"  # that one never got any


def _max_length(tokenizer: Any, model: Any) -> int:
    """The tokenizer's limit or the number of learnt positions, whichever is less."""
    limit = int(min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 10**9)))
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            limit = min(limit, module.num_embeddings - module.padding_idx - 1)  # RoBERTa counts from behind padding
    return limit
