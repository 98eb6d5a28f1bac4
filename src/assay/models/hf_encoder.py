"""`hf:` encoders: models for span, masked and multiple-choice questions.

All of them can also give vectors of words, which need no head.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import MASK, NONE, ChoiceColumns, FillColumns, Ints, StringColumn
from assay.asking.tokens import Tokens, option_rows
from assay.errors import ModelError
from assay.models.base import ModelSpec, padded
from assay.models.hf import HFModel, Tensor, has_types


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
