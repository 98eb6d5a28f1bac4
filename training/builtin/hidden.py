"""Words that are hidden from the model, for it to find: while it learns, and when it is tested."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

WINDOW = 128  # tokens of prose at a time, with [CLS] and [SEP]
CLS, SEP, MASK = 101, 102, 103
FIRST_WORD, TOKENS = 999, 30522  # tokens below are special or reserved
SHARE = 0.15  # of the words are hidden


class Hidden(NamedTuple):
    """Rows of ids with some words hidden, the flat places of these, and the words there (-100: nothing is asked)."""

    ids: Tensor
    places: Tensor
    words: Tensor

    @staticmethod
    def of(ids: Tensor, generator: torch.Generator | None = None, *, everywhere: bool = False) -> Hidden:
        """SHARE of every row's words, and nothing special; without waiting for the device.

        Of the hidden words 80% become [MASK], 10% another word and 10% stay; with `everywhere` all become [MASK].
        """
        random: dict[str, Any] = {"generator": generator, "device": ids.device}
        most = max(1, round(SHARE * ids.shape[1]))
        order = torch.rand(ids.shape, **random).masked_fill(ids < FIRST_WORD, 2).argsort(1)[:, :most]
        asked = torch.arange(most, device=ids.device) < SHARE * (ids >= FIRST_WORD).sum(1, keepdim=True)
        words = ids.gather(1, order)
        fate = torch.rand(words.shape, **random)
        others = torch.randint(FIRST_WORD, TOKENS, words.shape, **random)
        shown = torch.where((fate < 0.8) | everywhere, MASK, torch.where(fate < 0.9, others, words))
        hidden = ids.scatter(1, order, torch.where(asked, shown, words))
        places = order + ids.shape[1] * torch.arange(len(ids), device=ids.device)[:, None]
        return Hidden(hidden, places.flatten(), words.masked_fill(~asked, -100).flatten())

    def to(self, device: torch.device) -> Hidden:
        return Hidden(*(tensor.to(device) for tensor in self))


def framed(windows: Tensor) -> Tensor:
    """Windows of a stream between [CLS] and [SEP]."""
    ids = torch.nn.functional.pad(windows, (1, 1), value=SEP)
    ids[:, 0] = CLS
    return ids
