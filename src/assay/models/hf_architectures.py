"""The architectures of `hf:` models: encoders for span, masked and multiple-choice questions, models that write, and
causal models, which also score options after a prompt. All encoders can also give vectors of words, which need no head.

The options of a question to a causal model share their start (`encode_prompts.py`). Its keys and values are computed
once and reused for every option, which then costs only its own few tokens; the head over the vocabulary is computed
only where an option's token follows. When a model is loaded, a sample is scored this way and from whole sequences; if
the two differ, whole sequences are used.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import MASK, NONE, ChoiceColumns, FillColumns, Ints, Scoring, StringColumn
from assay.asking.tokens import Tokens, option_rows, ragged_take
from assay.errors import ModelError
from assay.models.base import ModelSpec, padded
from assay.models.hf import HFModel, Tensor, has_types
from assay.models.tokenise import join

Floats = NDArray[np.float32]

_TOKEN_FIELDS = ("bos_token_id", "eos_token_id", "decoder_start_token_id", "forced_bos_token_id")
"""The fields of generation_config.json that count: the tokens that start and end a text."""


# --- encoders


class EncoderModel(HFModel):
    """Answers span, masked or multiple-choice questions, depending on its head, and gives vectors of words."""

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__(spec)
        self._typed = self.encoder.tokeniser.typed and has_types(self._model.config)
        self._mask_only = "mask" in spec.abilities and self._heads_agree()
        if "choice" in spec.abilities:
            self._require_padding_without_effect()

    def _answer(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        answer = {"span": self._span, "choice": self._choice, "embed": self._embed}.get(tokens.ability, self._masked)
        return answer(tokens)

    def _span(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        torch, inputs = self._torch, self._inputs(tokens)
        outputs = self._model(**inputs)
        logs = {}
        for name, logits in {"start": outputs.start_logits, "end": outputs.end_logits}.items():
            logits = self._finite(logits.float())
            if "attention_mask" in inputs and not tokens.scoring.count_padding:
                logits = logits.masked_fill(inputs["attention_mask"] == 0, -torch.inf)
            logs[name] = self._best_at(logits.log_softmax(-1), tokens.marks[name], -torch.inf)
        return {"score": (0.5 * (logs["start"] + logs["end"])).exp().cpu().numpy()}

    def _choice(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        rows, options = len(tokens), tokens.marks["parts"].shape[1] - 1
        inputs = {name: values.view(rows, options, -1) for name, values in self._inputs(option_rows(tokens)).items()}
        logits = self._finite(self._model(**inputs).logits.float())  # (row, option)
        return {"score": logits.cpu().numpy()}

    def _embed(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        """The mean of the last layer's hidden states over each word's tokens (row, width)."""
        torch, inputs, network = self._torch, self._inputs(tokens), self._model.base_model
        if getattr(self._model.config, "is_encoder_decoder", False):
            network = network.encoder  # the decoder's states are one token behind
        hidden = getattr(network(**inputs), "last_hidden_state", None)
        if hidden is None or hidden.shape[:2] != inputs["input_ids"].shape:
            problem = f"{self.spec.name} has no vector for every token in its last layer."
            remedy = "Models of this architecture cannot be asked for vectors of words; choose another model."
            raise ModelError(problem, remedy, code="missing-ability", key="embed")
        position = torch.arange(hidden.shape[1], device=self.spec.device)
        start, end = (self._tensor(tokens.marks[name])[:, None] for name in ("start", "end"))
        shares = ((position >= start) & (position < end)) / (end - start)  # (row, position)
        return {"vector": torch.einsum("rp,rpw->rw", shares, self._finite(hidden.float())).cpu().numpy()}

    def _masked(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        probabilities = self._finite(self._mask_logits(tokens, self._mask_only).float()).softmax(-1)  # (row, token)
        if tokens.ability == "fill":
            best = probabilities.topk(int(tokens.marks["top"][0]), dim=-1)
            return {"token": best.indices.int().cpu().numpy(), "probability": best.values.cpu().numpy()}
        if tokens.scoring.top is not None:
            least = probabilities.topk(tokens.scoring.top, dim=-1).values[:, -1:]
            probabilities = probabilities.masked_fill(probabilities < least, 0)
        return {"score": self._best_at(probabilities, tokens.marks["candidates"], 0).cpu().numpy()}

    def _best_at(self, values: Tensor, places: Ints, otherwise: float) -> Tensor:
        """The largest of a row's values at the alternative places (row, subject, alternative) of each subject."""
        at = self._tensor(places)
        rows = values[:, None, :].expand(-1, at.shape[1], -1)
        return rows.gather(2, at.clamp(min=0)).masked_fill(at == NONE, otherwise).amax(-1)

    def _mask_logits(self, tokens: Tokens, mask_only: bool) -> Tensor:
        """Logits at the mask (row, token); if possible, the head is computed only for that position."""
        torch, inputs = self._torch, self._inputs(tokens)
        places = self._tensor(tokens.marks["mask"])
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
        """Whether the head gives the same at the mask alone as at the mask among all positions."""
        tokens = self.encode(FillColumns(StringColumn.of(["a b"] * 2), StringColumn.of([f"{MASK} c", f"d e {MASK}"])))
        with self._torch.inference_mode(), self._float32_head():
            full = self._mask_logits(tokens, mask_only=False)
            try:
                narrow = self._mask_logits(tokens, mask_only=True)
            except Exception:  # an architecture whose head reads something else; the full head is always right
                return False
        return full.shape == narrow.shape and bool(self._torch.allclose(full, narrow, rtol=1e-3, atol=1e-3))

    def _require_padding_without_effect(self) -> None:
        """Refuse an architecture whose logits change with padding: XLNet scores an option at the last position."""
        columns = ChoiceColumns(
            StringColumn.of(["a b"]), StringColumn.of(["c"]), ["d", "d e f g h"], np.array([[0, 1]], np.int32)
        )
        alone = replace(columns, options=columns.options[:, :1])
        with_padding, without = (self.forward(self.encode(rows))["score"][0, 0] for rows in (columns, alone))
        if not self._close(with_padding, without):
            problem = f"{self.spec.name} scores an option differently when padding follows it."
            remedy = "Models of this architecture cannot be asked several options at once; choose another model."
            raise ModelError(problem, remedy, code="bad-model", key="choice")

    def _inputs(self, tokens: Tokens) -> dict[str, Tensor]:
        """Padded arrays; without an attention mask if nothing is padded."""
        rows = padded(tokens, self._pad)
        arrays = {"input_ids": rows.ids}
        if not rows.there.all():
            arrays["attention_mask"] = rows.there
        if self._typed and tokens.scoring.token_types:
            arrays["token_type_ids"] = rows.types
        return {name: self._tensor(values) for name, values in arrays.items()}


# --- models that write


class TextModel(HFModel):
    """A text-to-text model (T5, BART): an encoder reads the prompt, a decoder writes the answer.

    It writes the likeliest token each time until it ends the text or reaches the token limit. Other generation settings
    in its folder (sampling, beams, penalties, lengths) are ignored, which makes answers the same every time.
    """

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__(spec)
        defaults = self._model.generation_config
        token_ids = {name: getattr(defaults, name, None) for name in _TOKEN_FIELDS}
        if token_ids["eos_token_id"] is None:
            token_ids["eos_token_id"] = self._tokenizer.eos_token_id
        self._greedy = {"do_sample": False, "num_beams": 1, "pad_token_id": self._pad, **token_ids}
        self._model.generation_config = self._transformers.GenerationConfig(**self._greedy)
        ends = token_ids["eos_token_id"]
        self._ends = np.array([] if ends is None else ends, np.int64).reshape(-1)

    def _answer(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        return {"text": self._written(tokens)}

    def _written(self, tokens: Tokens, *, left: bool = False) -> NDArray[np.bytes_]:
        """What the model writes after the prompts, which are padded after or before (`left`) their tokens: (row,)."""
        prompts = padded(tokens, self._pad, left=left)
        most = int(tokens.marks["tokens"][0])
        ids = self._model.generate(
            input_ids=self._tensor(prompts.ids),
            attention_mask=self._tensor(prompts.there),
            generation_config=self._transformers.GenerationConfig(**self._greedy, max_new_tokens=most),
            logits_processor=[self._checked],
        )
        start = 1 if self._model.config.is_encoder_decoder else prompts.ids.shape[1]  # a first token, or the prompt
        return np.array([self._text(row) for row in ids[:, start:].cpu().numpy()], np.bytes_)

    def _checked(self, _: Tensor, logits: Tensor) -> Tensor:
        """A step of `generate`, which would continue even if scores are not numbers."""
        self._finite(logits.amax(-1))
        return logits

    def _text(self, ids: NDArray[np.int64]) -> bytes:
        end = np.flatnonzero(np.isin(ids, self._ends))
        text_ids = ids[: end[0]] if len(end) else ids
        text: str = self._tokenizer.decode(text_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text.strip().encode()


class CausalModel(TextModel):
    """A causal language model, such as GPT-2 or Llama."""

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__(spec)
        self._takes = frozenset(inspect.signature(self._model.forward).parameters)
        self._shares = self._beginnings_agree()
        if not self._shares:
            slower = "its architecture cannot share the common beginning of options, so scoring is slower."
            warnings.warn(f"{spec.name}: {slower}", stacklevel=2)

    def _answer(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        if tokens.ability == "text":
            return {"text": self._going_on(tokens)}
        score = self._shared_scores(tokens) if self._shares else self._whole_scores(tokens)
        return {"score": score, "tokens": np.diff(tokens.marks["parts"], axis=1)[:, 1:].astype(np.int32)}

    def _going_on(self, tokens: Tokens) -> NDArray[np.bytes_]:
        """Texts written after the prompts; if padding may matter, prompts of equal length are batched together."""
        if self._shares:
            return self._written(tokens, left=True)
        groups = [np.flatnonzero(tokens.lengths == length) for length in np.unique(tokens.lengths)]
        texts = np.concatenate([self._written(tokens.take(rows)) for rows in groups])
        return texts[np.argsort(np.concatenate(groups))]

    def _shared_scores(self, tokens: Tokens) -> Floats:
        """Log probabilities (row, option): first the common starts, then the options, with the cache of the starts."""
        beginnings, options = _pieces(tokens)
        prefix = padded(beginnings, self._pad, left=True)
        places = np.maximum(prefix.there.cumsum(1) - 1, 0)
        output = self._run(prefix.ids, prefix.there, places, keep=1, use_cache=True)
        row = np.arange(len(options)) // (len(options) // len(tokens))  # of each option
        first = self._tensor(options.ids[options.offsets[:-1]])
        scores = self._log_probabilities(output.logits[:, -1], first.view(len(tokens), -1)).flatten()  # (row * option,)
        longer = np.flatnonzero(options.lengths > 1)
        if len(longer):
            row, more = row[longer], padded(options.take(longer), self._pad)
            cache = output.past_key_values
            del output
            cache.batch_select_indices(self._tensor(row))
            is_token = np.concatenate([prefix.there[row], more.there[:, :-1]], 1)
            places = beginnings.lengths[row, None] + np.arange(more.ids.shape[1] - 1)
            logits = self._run(more.ids[:, :-1], is_token, places, past_key_values=cache, use_cache=True).logits
            rest = self._log_probabilities(logits, self._tensor(more.ids[:, 1:, None]))[..., 0]
            scores[self._tensor(longer)] += (rest * self._tensor(more.there[:, 1:])).sum(1)
        return _table(scores, len(tokens))

    def _whole_scores(self, tokens: Tokens) -> Floats:
        """The same, from whole sequences: any causal architecture can do this."""
        beginnings, options = _pieces(tokens)
        row = np.arange(len(tokens)).repeat(len(options) // len(tokens))
        before = ragged_take(beginnings.ids, beginnings.offsets, row)
        ids, offsets, starts = join([before, (options.ids, options.lengths)])
        sequences = padded(Tokens("choice", ids, offsets, np.diff(offsets).astype(np.int32)), self._pad)
        first = int(starts[1].min())  # the first place whose token any option counts
        width = sequences.ids.shape[1]
        output = self._run(sequences.ids, keep=width - first + 1, use_cache=False)
        following = self._tensor(sequences.ids[:, first:, None])
        logs = self._log_probabilities(output.logits[:, first - 1 - width : -1], following)[..., 0]
        counted = sequences.there[:, first:] * (np.arange(first, width) >= starts[1][:, None])
        return _table((logs * self._tensor(counted)).sum(1), len(tokens))

    def _run(
        self,
        ids: NDArray[np.int64],
        is_token: NDArray[np.int64] | None = None,
        places: NDArray[np.int64] | None = None,
        keep: int = 0,
        **more: Any,
    ) -> Any:
        """Output with logits at the last `keep` positions (0: all), or at more if it has no such option."""
        if is_token is not None and places is not None and not is_token.all():
            more["attention_mask"] = self._tensor(is_token)
            if "position_ids" in self._takes:  # others count what the mask shows
                more["position_ids"] = self._tensor(places)
        if keep and "logits_to_keep" in self._takes:
            more["logits_to_keep"] = keep
        return self._model(input_ids=self._tensor(ids), **more)

    def _log_probabilities(self, logits: Tensor, tokens: Tensor) -> Tensor:
        """Natural logarithms of the probabilities of some tokens at each position (position, token)."""
        logits = logits.float()
        return self._finite(logits.gather(-1, tokens) - logits.logsumexp(-1, keepdim=True))

    def _beginnings_agree(self) -> bool:
        """Whether scoring with a cached start gives the same as whole sequences."""
        options = np.array([[0, 1, 2], [2, 1, 0]], np.int32)
        contexts, questions = StringColumn.of(["a b", "a b c d e f g"]), StringColumn.of(["c", "d e"])
        columns = ChoiceColumns(contexts, questions, ["d", "d e f", "g h"], options, Scoring(chat=False))
        tokens = self.encode(columns)
        with self._torch.inference_mode(), self._float32_head():
            self._require_causal(tokens)
            whole_scores = self._whole_scores(tokens)
            try:
                shared_scores = self._shared_scores(tokens)
            except Exception:  # an architecture with another cache, or none; whole sequences are always right
                return False
        return self._close(shared_scores, whole_scores)

    def _require_causal(self, tokens: Tokens) -> None:
        """Refuse an architecture that sees the tokens that it predicts: XLNet, or BERT saved as a language model."""
        ids = tokens.take(np.zeros(1, np.int64)).ids[None].astype(np.int64)
        changed_ids = np.where(np.arange(ids.size) == ids.size - 1, (ids + 1) % self._n_tokens, ids)
        logits = [
            self._finite(self._run(row, use_cache=False).logits[:, :-1].float()).cpu() for row in (ids, changed_ids)
        ]
        spread = logits[0].std()
        if not self._close(*(logit / spread for logit in logits)):
            problem = (
                f"{self.spec.name} is not a causal language model: its predictions depend on the text that follows."
            )
            raise ModelError(problem, "Choose a causal one, such as GPT-2 or Llama.", code="bad-model")


def _table(scores: Tensor, rows: int) -> Floats:
    table: Floats = scores.view(rows, -1).cpu().numpy()
    return table


def _pieces(tokens: Tokens) -> tuple[Tokens, Tokens]:
    """What the options of each row share (row,), and what each of them adds (row * option,)."""
    pieces = option_rows(tokens)
    first = np.arange(len(pieces)) % (len(pieces) // len(tokens)) == 0
    return pieces.take(np.flatnonzero(first)), pieces.take(np.flatnonzero(~first))
