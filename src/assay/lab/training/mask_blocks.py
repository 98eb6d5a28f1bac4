"""Streams of texts to blocks of tokens for masked training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from assay.errors import DataError
from assay.lab.training.batches import Features
from assay.models.tokenise import Tokeniser
from assay.queries import Ints, Tokens, starts_of

_CHUNK = 1000
_SHORTEST = 2  # tokens of a text that there is something to learn from


@dataclass(frozen=True)
class Blocks:
    """Blocks, and how many texts of the stream it took to fill them."""

    features: Features
    texts: int


def encode_text(tokenizer: Any, texts: Iterable[str], *, length: int, apart: bool, most: int | None = None) -> Blocks:
    """Blocks of at most `length` tokens, with the special tokens of one text around each.

    Texts fill blocks one behind the other, and what is left at the stream's end is dropped; or every text begins a
    block of its own (`apart`). The stream is read no further than `most` blocks need.
    """
    layout = Tokeniser(tokenizer).single
    room = length - len(layout.before) - len(layout.after)
    encoded = _Encoded(tokenizer, texts)
    contents = _apart(iter(encoded), room) if apart else _full(iter(encoded), room)
    before, after = np.array(layout.before, np.int32), np.array(layout.after, np.int32)
    rows = [np.concatenate([before, content, after]) for content in islice(contents, most)]
    if not rows:
        raise DataError("there is no text to learn from.", "Give a text of at least a few words.", code="empty-file")
    lengths = np.array([len(row) for row in rows], np.int64)
    tokens = Tokens("mask", np.concatenate(rows), starts_of(lengths), lengths.astype(np.int32))
    return Blocks(Features(tokens), encoded.taken)


@dataclass
class _Encoded:
    """The tokens of texts, which are read by the chunk; `taken` counts those that were asked for."""

    tokenizer: Any
    texts: Iterable[str]
    taken: int = 0

    def __iter__(self) -> Iterator[Ints]:
        backend, texts = self.tokenizer.backend_tokenizer, iter(self.texts)
        while chunk := list(islice(texts, _CHUNK)):
            for encoding in backend.encode_batch(chunk, add_special_tokens=False):
                self.taken += 1
                yield np.array(encoding.ids, np.int32)


def _full(texts: Iterator[Ints], room: int) -> Iterator[Ints]:
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
