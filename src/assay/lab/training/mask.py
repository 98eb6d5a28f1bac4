"""Training models that fill masks, on streams of texts in blocks of tokens; perplexity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from assay.asking.queries import Ints
from assay.asking.tokens import Tokens, starts_of
from assay.config.settings import setting
from assay.errors import DataError
from assay.lab.training.batches import IGNORED, Features, Masking, encoded, hide_tokens
from assay.lab.training.data_files import Texts, digests_of, lines_of, summary_of, text_files
from assay.lab.training.scores import Array, TaskScores, TrainedModelAsk, perplexity_estimate
from assay.lab.training.training_kind import EvaluationData, TrainingData, TrainingKind, TrainingSettings, epochs, rate
from assay.models.base import padded
from assay.models.tokenise import Tokeniser

_SHORTEST = 2  # tokens of a text that there is something to learn from


@dataclass(frozen=True)
class TextSettings(TrainingSettings):
    """How models learn to fill masks, whatever the texts are."""

    epochs: float | None = epochs(1.0)
    rate: float = rate(5e-5)
    batch: int = setting(32, "blocks in a batch", least=1)
    length: int = setting(512, "the most tokens per block", least=8)
    masking: float = setting(
        0.15, "the share of tokens to predict", least=0, most=0.9, above=True, real=True, example="0.15"
    )


@dataclass(frozen=True)
class MaskSettings(TextSettings):
    blocks: str = setting(
        "joined", "one text after the other fills blocks, or every text begins one", choices=("joined", "apart")
    )


class MaskTraining(TrainingKind[MaskSettings]):
    name = "mask"
    does = "fills masked words"
    reads = ("plain text: .txt, .txt.gz, .txt.xz or a folder of them",)
    head = "MaskedLM"
    pipeline = "fill-mask"
    masks = True
    settings = MaskSettings

    def task(self, data: Path | Texts, tokenizer: Any, name: str, settings: MaskSettings) -> TrainingData:
        most = None if settings.max_steps is None else settings.max_steps * settings.batch * settings.accumulate
        texts, digests = (lines_of(data), digests_of(data, text_files(data))) if isinstance(data, Path) else (data, {})
        apart = settings.blocks == "apart"
        blocks, n_texts = encode_text(tokenizer, texts(), length=settings.length, apart=apart, most=most)
        counts = {"texts": n_texts, "blocks": len(blocks), "tokens": len(blocks.tokens.ids)}
        return TrainingData(blocks, summary_of(digests), counts)

    def test(self, path: Path, tokenizer: Any, name: str, settings: MaskSettings, seed: int, n_tokens: int) -> MaskTest:
        blocks, _ = encode_text(tokenizer, lines_of(path)(), length=settings.length, apart=settings.blocks == "apart")
        hidden, labels = _hidden(blocks.tokens, self.masking(tokenizer, settings, n_tokens), seed)
        return MaskTest(digests_of(path, text_files(path)), hidden, labels)

    def masking(self, tokenizer: Any, settings: MaskSettings, n_tokens: int) -> Masking:
        special = tuple(sorted(set(tokenizer.all_special_ids)))
        vocabulary = min(len(tokenizer), n_tokens)
        mask = tokenizer.mask_token_id
        return partial(hide_tokens, share=settings.masking, mask=mask, vocabulary=vocabulary, special=special)


@dataclass(frozen=True)
class MaskTest(EvaluationData):
    """Blocks with tokens hidden once and for all, and the tokens that were hidden (IGNORED elsewhere)."""

    digests: dict[str, str]
    hidden: Tokens
    labels: Tokens

    def scores(self, ask: TrainedModelAsk, seed: int) -> TaskScores:
        torch = ask.torch

        def losses(tokens: Tokens) -> dict[str, Array]:
            labels = padded(self.labels.take(tokens.marks["row"]), IGNORED).ids
            is_hidden = ask.tensor(labels) != IGNORED  # (block, position)
            logits = ask.outputs(padded(tokens, ask.pad)).logits[is_hidden].float()  # (label, token)
            token_losses = torch.nn.functional.cross_entropy(
                logits, ask.tensor(labels)[is_hidden], reduction="none"
            ).double()
            sums = torch.zeros(len(labels), dtype=torch.float64, device=token_losses.device)
            sums.index_add_(0, is_hidden.nonzero()[:, 0], token_losses)
            return {"loss": sums.cpu().numpy(), "count": is_hidden.sum(1).cpu().numpy()}

        answers = ask.ask(self.hidden, losses)
        units = np.arange(len(self.hidden))
        estimate = perplexity_estimate(answers["loss"], answers["count"].astype(np.float64), units, seed=seed)
        return TaskScores(summary_of(self.digests), "block", len(units), (estimate,))


def _hidden(tokens: Tokens, masking: Masking, seed: int) -> tuple[Tokens, Tokens]:
    """Rows with tokens hidden, each by its own random numbers, and the labels in the same layout."""
    ids, labels = [], []
    for row in range(len(tokens)):
        block = padded(tokens.take(np.array([row])), 0)
        changed, label = masking(block, np.random.default_rng([seed, row]))
        ids.append(changed[0])
        labels.append(label[0])
    hidden, label_ids = (np.concatenate(parts).astype(np.int32) for parts in (ids, labels))
    return replace(tokens, ids=hidden, marks={"row": np.arange(len(tokens))}), replace(tokens, ids=label_ids)


def encode_text(
    tokenizer: Any, texts: Iterable[str], *, length: int, apart: bool, most: int | None = None
) -> tuple[Features, int]:
    """Blocks of at most `length` tokens, with the special tokens of one text around each; and how many texts they took.

    Texts fill blocks one after another, and what is left at the stream's end is dropped; or every text begins a
    block of its own (`apart`). The stream is read no further than `most` blocks need.
    """
    layout = Tokeniser(tokenizer).single
    room = length - len(layout.before) - len(layout.after)
    taken = 0

    def ids() -> Iterator[Ints]:
        nonlocal taken
        for _, encoding in encoded(tokenizer, texts):
            taken += 1
            yield np.array(encoding.ids, np.int32)

    contents = (_apart if apart else full_blocks)(ids(), room)
    before, after = np.array(layout.before, np.int32), np.array(layout.after, np.int32)
    rows = [np.concatenate([before, content, after]) for content in islice(contents, most)]
    if not rows:
        raise DataError("there is no text to learn from.", "Use a text of at least a few words.", code="empty-file")
    lengths = np.array([len(row) for row in rows], np.int64)
    tokens = Tokens("mask", np.concatenate(rows), starts_of(lengths), lengths.astype(np.int32))
    return Features(tokens), taken


def full_blocks(texts: Iterator[Ints], room: int) -> Iterator[Ints]:
    """Blocks of exactly `room` tokens; a stream too short for one is one block."""
    waiting: list[Ints] = []
    held, any_yet = 0, False
    for ids in texts:
        waiting.append(ids)
        held += len(ids)
        if held >= room:
            together = np.concatenate(waiting)
            for lo in range(0, held - room + 1, room):
                any_yet = True
                yield together[lo : lo + room]
            waiting = [together[held - held % room :]]
            held %= room
    if not any_yet and held >= _SHORTEST:
        yield np.concatenate(waiting)


def _apart(texts: Iterator[Ints], room: int) -> Iterator[Ints]:
    for ids in texts:
        for lo in range(0, len(ids), room):
            if len(ids) - lo >= _SHORTEST:
                yield ids[lo : lo + room]
