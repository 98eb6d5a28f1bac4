"""What a model is trained on: ragged tokens with labels, the order they come in, and padded batches made of them.

Tokens and padding are those of audits (`assay.asking.tokens.Tokens`, `assay.models.base`), so a model sees in training
what it sees when it is asked. Nothing here draws from a global source of random numbers: order and masks are functions
of the seed, the pass over the data and the row, so that a resumed training sees what an undisturbed one does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.tokens import Tokens, option_rows, starts_of
from assay.models.base import PaddedBatch, padded

Array = NDArray[Any]

IGNORED = -100
"""The label of a token that is not to be predicted, as torch's losses have it."""

_TOKENISED = 1000  # texts at once
_MEGA = 50  # batches of similar lengths, as transformers' length-grouped sampler has it


@dataclass(frozen=True)
class Features:
    """Rows of tokens and their labels, under the names that the model's forward method has for them."""

    tokens: Tokens
    labels: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The width that each row needs: that of its longest option, in a choice."""
        if self.tokens.ability != "choice":
            return self.tokens.lengths
        widest: NDArray[np.int64] = np.diff(self.tokens.marks["parts"], axis=1).max(1)
        return widest

    def digest(self) -> str:
        """Tells other features from these: other data, another tokenizer, another length."""
        hasher, tokens = hashlib.sha256(), self.tokens
        arrays: dict[str, Array] = {"ids": tokens.ids, "offsets": tokens.offsets, "second": tokens.second}
        for name, values in (arrays | dict(self.labels)).items():
            hasher.update(f"{name} {values.dtype.str} {values.shape}".encode() + np.ascontiguousarray(values).tobytes())
        return hasher.hexdigest()


def encoded(tokenizer: Any, texts: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Texts with the tokenizer's encodings of them, without special tokens."""
    stream = iter(texts)
    while chunk := list(islice(stream, _TOKENISED)):
        yield from zip(chunk, tokenizer.backend_tokenizer.encode_batch(chunk, add_special_tokens=False), strict=True)


def inputs_of(rows: PaddedBatch, typed: bool) -> dict[str, Array]:
    """Padded rows under the names that models have for them; `typed`: the model was trained with token types."""
    arrays: dict[str, Array] = {"input_ids": rows.ids}
    if not rows.there.all():
        arrays["attention_mask"] = rows.there
    if typed:
        arrays["token_type_ids"] = rows.types
    return arrays


def joined(parts: Sequence[Tokens]) -> Tokens:
    """Rows of several pieces, one behind the other."""
    first = parts[0]
    return Tokens(
        first.ability,
        np.concatenate([part.ids for part in parts]),
        starts_of(np.concatenate([part.lengths for part in parts])),
        np.concatenate([part.second for part in parts]),
        {name: np.concatenate([part.marks[name] for part in parts]) for name in first.marks},
        first.scoring,
    )


Masking = Callable[[PaddedBatch, np.random.Generator], tuple[NDArray[np.int64], NDArray[np.int64]]]
"""`hide_tokens` with a model's own tokens and a share."""


def hide_tokens(
    rows: PaddedBatch,
    rng: np.random.Generator,
    *,
    share: float,
    mask: int,
    vocabulary: int,
    special: tuple[int, ...],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tokens with some of them hidden, and labels; every row has at least one label, however short it is.

    BERT's way to hide words: of the chosen tokens 80% become the mask, 10% a random token, 10% stay.
    """
    may = (rows.there == 1) & ~np.isin(rows.ids, special)
    draw = np.where(may, rng.random(rows.ids.shape), 2.0)
    chosen = may & (draw <= np.maximum(share, draw.min(1, keepdims=True)))
    kind = rng.random(rows.ids.shape)
    random = rng.integers(0, vocabulary, rows.ids.shape)
    ids = np.where(chosen & (kind < 0.8), mask, rows.ids)
    ids = np.where(chosen & (kind >= 0.8) & (kind < 0.9), random, ids)
    return ids, np.where(chosen, rows.ids, IGNORED)


@dataclass(frozen=True)
class Batches:
    """Rows, named by visit numbers (pass over the data · rows + row), as the tensors that a model takes.

    typed: the model was trained with token types. pad: what fills rows up.
    """

    features: Features
    pad: int
    typed: bool
    seed: int = 0
    masking: Masking | None = None

    def arrays(self, visits: Sequence[int]) -> dict[str, Array]:
        rows = np.array(visits, np.int64) % len(self.features)
        tokens = self.features.tokens.take(rows)
        flat = option_rows(tokens) if tokens.ability == "choice" else tokens
        wide = padded(flat, self.pad)
        arrays = inputs_of(wide, self.typed)
        if tokens.ability == "choice":
            options = tokens.marks["parts"].shape[1] - 1
            arrays = {name: values.reshape(len(rows), options, -1) for name, values in arrays.items()}
        if self.masking is not None:
            arrays["input_ids"], arrays["labels"] = self.masking(
                wide, np.random.default_rng([self.seed, *map(int, visits)])
            )
        return arrays | {name: values[rows] for name, values in self.features.labels.items()}

    def __call__(self, visits: Sequence[int]) -> dict[str, Any]:
        import torch

        return {name: torch.from_numpy(np.ascontiguousarray(values)) for name, values in self.arrays(visits).items()}


@dataclass
class RowOrder:
    """The order of the rows in each pass, as visit numbers: by chance, or by chance with similar lengths together.

    It is a sampler for torch's loader and, since `Batches` makes tensors of visit numbers, its dataset as well.
    transformers' own samplers draw from torch's global generator, so a training that is resumed in its second pass
    would see another order than an undisturbed one; this order depends on the seed and the pass alone.
    """

    lengths: NDArray[np.int64]
    batch: int
    seed: int
    grouped: bool
    epoch: int = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by the loader before each pass."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, visit: int) -> int:
        return visit

    def __iter__(self) -> Iterator[int]:
        rows = len(self.lengths)
        order = np.random.default_rng([self.seed, self.epoch]).permutation(rows)
        if self.grouped:
            order = _grouped(order, self.lengths, self.batch)
        return iter((self.epoch * rows + order).tolist())


def _grouped(order: NDArray[np.int64], lengths: NDArray[np.int64], batch: int) -> NDArray[np.int64]:
    """Rows sorted by length within stretches of 50 batches, the longest row of all in the first batch.

    So memory runs out at once, if it does. After transformers' `get_length_grouped_indices`.
    """
    size = max(min(len(order) // (batch * 4), _MEGA), 1) * batch
    stretches = [order[lo : lo + size] for lo in range(0, len(order), size)]
    result = np.concatenate([stretch[np.argsort(-lengths[stretch], kind="stable")] for stretch in stretches])
    longest = int(np.argmax(lengths[result]))
    result[[0, longest]] = result[[longest, 0]]
    return result
