"""What the model learns: each task draws a batch and says how wrong the model is about it.

Drawing fills tensors that stay where they are, and everything else happens in `loss` without waiting for the device: so
a whole step can be recorded once and replayed, which is several times as fast on a GPU.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div

from data import OPTIONS, Data
from hidden import WINDOW, Hidden, framed
from model import BuiltIn, fast
from tables import Drawn, Table

SHORT, SPAN, CHOICE = 64, 96, 48
"""Tokens of a row; the few longer ones are left out of training."""


class Task(Protocol):
    """Something to learn, from rows drawn at every step."""

    drawn: Drawn

    def loss(self) -> Tensor: ...


class Reading:
    """Masked words, in windows of prose and in short sentences."""

    def __init__(self, model: BuiltIn, data: Data, device: torch.device, prose_rows: int, short_rows: int) -> None:
        self.model = model
        self.encode_prose = torch.compile(model.encode) if device.type == "cuda" else model.encode
        self.prose = torch.from_numpy(data.prose["train"]).to(device)
        self.inside = torch.arange(WINDOW - 2, device=device)
        self.rows = prose_rows
        self.drawn = Drawn(Table(data.short, device), short_rows, SHORT)

    def loss(self) -> Tensor:
        starts = torch.randint(len(self.prose) - WINDOW, (self.rows, 1), device=self.prose.device)
        prose = Hidden.of(framed(self.prose[starts + self.inside].long()))
        batch = self.drawn.batch()
        short = Hidden.of(batch.ids)
        with fast(self.prose.device):
            of_prose = self.encode_prose(prose.ids).flatten(0, 1)[prose.places]
            of_short = self.model.encode(short.ids, batch.there, batch.types).flatten(0, 1)[short.places]
            logits = self.model.mask(torch.cat([of_prose, of_short]))
        return cross_entropy(logits.float(), torch.cat([prose.words, short.words]))


class Spanning:
    """The answer's first and last token: those of the annotators, and what teachers think (2, row, position)."""

    def __init__(
        self,
        model: BuiltIn,
        data: Data,
        device: torch.device,
        rows: int,
        judged: Tensor | None = None,
        trust: float = 0,
    ) -> None:
        self.model = model
        annotated = torch.stack([torch.from_numpy(part) for part in data.spans["train"].targets()]).to(device)
        self.target = annotated if judged is None else torch.lerp(annotated, judged.to(device), trust)
        self.drawn = Drawn(Table(data.spans["train"].rows, device), rows, SPAN)

    def loss(self) -> Tensor:
        batch = self.drawn.batch()
        with fast(batch.ids.device):
            logits = torch.stack(self.model.span(self.model.encode(*batch))).float()
        logs = logits.masked_fill(~batch.there, -1e4).log_softmax(-1)
        return -(self.target[:, self.drawn.places, : self.drawn.width] * logs).sum(-1).mean()


class Choosing:
    """The right option, and what teachers think of all options (question, option): `others` of other questions, too."""

    def __init__(
        self,
        model: BuiltIn,
        data: Data,
        device: torch.device,
        rows: int,
        judged: Tensor | None = None,
        trust: float = 0,
        others: int = 0,
    ) -> None:
        choices = data.choices["train"]
        self.model, self.others, self.trust = model, others, trust
        self.right = torch.from_numpy(choices.right).long().to(device)
        self.judged = None if judged is None else judged.to(device)
        self.drawn = Drawn(Table(choices.rows, device, choices.options), rows, CHOICE)

    def loss(self) -> Tensor:
        places = self.drawn.places
        device, rows = places.device, len(places)
        drawn = torch.rand(rows, self.drawn.table.options - OPTIONS, device=device).argsort(1)[:, : self.others]
        among = torch.cat([torch.arange(OPTIONS, device=device).expand(rows, -1), OPTIONS + drawn], 1)
        with fast(device):
            hidden = self.model.encode(*self.drawn.batch(among))
            logits = self.model.choice(hidden).float().reshape(among.shape)
        loss = cross_entropy(logits[:, :OPTIONS], self.right[places])
        if self.judged is None:
            return loss
        wanted = self.judged[places].gather(1, among).log_softmax(1)
        judgement = kl_div(logits.log_softmax(1), wanted, reduction="batchmean", log_target=True)
        return torch.lerp(loss, judgement, self.trust)
