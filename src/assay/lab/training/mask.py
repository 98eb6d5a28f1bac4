"""Training models that fill masks; perplexity."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import UsageError
from assay.lab.training.batches import IGNORED, Masking
from assay.lab.training.data_files import digests_of, summary_of
from assay.lab.training.evaluation import Array, Asker
from assay.lab.training.kind import Kind, Task, Test
from assay.lab.training.mask_blocks import encode_text
from assay.lab.training.mask_texts import Texts, lines_of, text_files
from assay.lab.training.scores import Scores, perplexity_estimate
from assay.lab.training.settings import Settings, epochs, rate
from assay.models.base import padded
from assay.queries import Tokens
from assay.settings import setting


@dataclass(frozen=True)
class TextSettings(Settings):
    """How models learn to fill masks, whatever the texts are."""

    epochs: float | None = epochs(1.0)
    rate: float = rate(5e-5)
    batch: int = setting(32, "blocks in a batch", least=1)
    length: int = setting(512, "the most tokens of a block", least=8)
    masking: float = setting(
        0.15, "the share of tokens to predict", least=0, most=0.9, above=True, real=True, example="0.15"
    )


@dataclass(frozen=True)
class MaskSettings(TextSettings):
    """How mask models are trained."""

    blocks: str = setting(
        "joined", "one text after the other fills blocks, or every text begins one", choices=("joined", "apart")
    )


class MaskTraining(Kind[MaskSettings]):
    name = "mask"
    does = "fills masked words"
    reads = ("plain text: .txt, .txt.gz, .txt.xz or a folder of them",)
    head = "MaskedLM"
    pipeline = "fill-mask"
    masks = True
    settings = MaskSettings

    def task(self, data: Path | Texts | None, tokenizer: Any, name: str, settings: MaskSettings) -> Task:
        most = None if settings.max_steps is None else settings.max_steps * settings.batch * settings.accumulate
        if data is None:
            raise UsageError("mask training needs text.", "--data PATH", code="missing-setting", key="data")
        texts, digests = (lines_of(data), digests_of(data, text_files(data))) if isinstance(data, Path) else (data, {})
        blocks = encode_text(tokenizer, texts(), length=settings.length, apart=settings.blocks == "apart", most=most)
        counts = {
            "texts": blocks.texts,
            "blocks": len(blocks.features),
            "tokens": len(blocks.features.tokens.ids),
        }
        return Task(blocks.features, summary_of(digests), counts)

    def test(self, path: Path, tokenizer: Any, name: str, settings: MaskSettings, seed: int, known: int) -> MaskTest:
        blocks = encode_text(tokenizer, lines_of(path)(), length=settings.length, apart=settings.blocks == "apart")
        hidden, labels = _hidden(blocks.features.tokens, self.masking(tokenizer, settings, known), seed)
        return MaskTest(digests_of(path, text_files(path)), hidden, labels)

    def masking(self, tokenizer: Any, settings: MaskSettings, known: int) -> Masking:
        special = tuple(sorted(set(tokenizer.all_special_ids)))
        return Masking(settings.masking, tokenizer.mask_token_id, min(len(tokenizer), known), special)


@dataclass(frozen=True)
class MaskTest(Test):
    """Blocks with tokens hidden once and for all, and the tokens that were hidden (IGNORED elsewhere)."""

    digests: dict[str, str]
    hidden: Tokens
    labels: Tokens

    def scores(self, ask: Asker, seed: int) -> Scores:
        ask.load()
        torch = ask.torch

        def losses(tokens: Tokens) -> dict[str, Array]:
            labels = padded(self.labels.take(tokens.marks["row"]), IGNORED).ids
            places = ask.tensor(labels) != IGNORED  # (block, position)
            logits = ask.outputs(padded(tokens, ask.pad)).logits[places].float()  # (label, token)
            each = torch.nn.functional.cross_entropy(logits, ask.tensor(labels)[places], reduction="none").double()
            sums = torch.zeros(len(labels), dtype=torch.float64, device=each.device)
            sums.index_add_(0, places.nonzero()[:, 0], each)
            return {"loss": sums.cpu().numpy(), "count": places.sum(1).cpu().numpy()}

        found = ask.ask(self.hidden, losses)
        units = np.arange(len(self.hidden))
        estimate = perplexity_estimate(found["loss"], found["count"].astype(np.float64), units, seed=seed)
        return Scores(summary_of(self.digests), "block", len(units), (estimate,))


def _hidden(tokens: Tokens, masking: Masking, seed: int) -> tuple[Tokens, Tokens]:
    """Rows with tokens hidden, each by its own random numbers, and the labels laid out alike."""
    ids, labels = [], []
    for row in range(len(tokens)):
        one = padded(tokens.take(np.array([row])), 0)
        changed, label = masking.apply(one, np.random.default_rng([seed, row]))
        ids.append(changed[0])
        labels.append(label[0])
    marks = {"row": np.arange(len(tokens))}
    hidden, wanted = (np.concatenate(each).astype(np.int32) for each in (ids, labels))
    return (
        Tokens("mask", hidden, tokens.offsets, tokens.second, marks),
        Tokens("mask", wanted, tokens.offsets, tokens.second),
    )
