"""Rows of tokens on the device, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from data import Rows


class Batch(NamedTuple):
    """Padded rows (row, position): ids, what is no padding, and token types."""

    ids: Tensor
    there: Tensor
    types: Tensor


class Table:
    """Rows of tokens on the device. With `options`, so many rows belong together: they make one place of the table."""

    def __init__(self, rows: Rows, device: torch.device, options: int = 1) -> None:
        self.ids, self.length, self.second = (
            torch.from_numpy(array).to(device) for array in (rows.ids, rows.length, rows.second)
        )
        self.longest = torch.from_numpy(rows.length.reshape(-1, options).max(1))
        self.options = options

    def __len__(self) -> int:
        return len(self.longest)

    def batch(self, places: Tensor, width: int, among: Tensor | None = None) -> Batch:
        """All rows of some places, or with `among` (place, kept) only these of each place's options."""
        if among is None:
            among = torch.arange(self.options, device=places.device).expand(len(places), -1)
        rows = (places[:, None] * self.options + among).flatten()
        column = torch.arange(width, device=places.device)
        there = column < self.length[rows, None]
        return Batch(self.ids[rows, :width].long(), there, (there & (column >= self.second[rows, None])).long())

    def in_order(self, size: int) -> Iterator[tuple[Tensor, Batch]]:
        """All places, one batch after the other."""
        for places in torch.arange(len(self)).split(size):
            yield places, self.batch(places.to(self.ids.device), int(self.longest[places].max()))

    def shuffled(self, size: int, width: int) -> Iterator[Tensor]:
        """Places for ever, in batches of one size: in an epoch each place once that fits into the width."""
        fitting = (self.longest <= width).nonzero().squeeze(1).to(self.ids.device)
        if len(fitting) < size:
            raise SystemExit(
                f"a batch shall have {size} rows, but only {len(fitting)} have at most {width} tokens. "
                "Make the recipe's batches smaller: --set …_rows=…"
            )
        while True:
            order = fitting[torch.randperm(len(fitting), device=fitting.device)]
            yield from order[: len(order) // size * size].split(size)


class Drawn:
    """Rows of a table, drawn at every step into a tensor that stays in place."""

    def __init__(self, table: Table, size: int, width: int) -> None:
        self.table = table
        self.width = min(width, table.ids.shape[1])
        self.places = torch.empty(size, dtype=torch.long, device=table.ids.device)
        self._order = table.shuffled(size, width)
        self.again()

    def again(self) -> None:
        """The next places of the epoch."""
        self.places.copy_(next(self._order))

    def batch(self, among: Tensor | None = None) -> Batch:
        return self.table.batch(self.places, self.width, among)
