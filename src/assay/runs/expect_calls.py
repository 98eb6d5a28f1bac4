"""What a run on an endpoint would send and cost, without sending anything; or with a few questions that are asked."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.engine.ask import Asker
from assay.engine.journal import Journal
from assay.engine.spending import Price, Spending
from assay.engine.store import ArrayStore, BlockStore
from assay.errors import UsageError
from assay.models import find_model, load
from assay.models.base import LETTERS_A_TOKEN, EndpointModel, ModelSpec, Options, unable
from assay.probes import method_of
from assay.probes.base import Method, Request, Stage
from assay.queries import Answer, ChoiceColumns, Status, TextColumns
from assay.runs.audit import new_desk, new_executor
from assay.runs.each_call import EachCall


@dataclass
class Calls:
    """How many requests a run takes, how many of them have no stored reply, and about how many tokens these have."""

    spec: ModelSpec
    stages: tuple[Stage, ...] = ()
    requests: int = 0
    unsent: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tried: Tried | None = None

    def usd(self, price: Price) -> float:
        """What sending them costs; as if all written tokens that are allowed were written, unless some were tried."""
        return price.usd(*self.tokens)

    @property
    def tokens(self) -> tuple[float, float]:
        """Tokens read and written, by the trial where there was one."""
        if self.tried is None or not self.tried.spending.sent:
            return self.input_tokens, self.output_tokens
        spent = self.tried.spending
        each = self.unsent / spent.sent
        return spent.input_tokens * each, spent.output_tokens * each


@dataclass(frozen=True)
class Tried:
    """A few questions that were asked: what they cost, how long they took, and what came back."""

    questions: int
    seconds: float
    spending: Spending
    notes: tuple[str, ...]


def expect_calls(
    model: str,
    probe: str,
    request: Request,
    options: Options | None = None,
    *,
    trial: int = 0,
    spending: Spending | None = None,
) -> Calls:
    """What a run would send. Nothing is, unless some questions are asked for a `trial`, whose replies are kept."""
    spec = find_model(model, replace(options or Options(), send=bool(trial)))
    loaded = load(spec)
    if not isinstance(loaded, EndpointModel):
        raise unable(spec.name, "an endpoint's")
    method, calls = method_of(probe), Calls(spec)
    with TemporaryDirectory(prefix="assay-") as folder:  # blocks of the trial are not kept, its replies are
        if trial:
            calls.tried = _tried(spec, method, request, trial, Path(folder), spending)
        counting = _Counting(loaded, calls, Journal.of(new_desk().root, spec), ArrayStore(Path(folder) / "arrays"))
        prepared = method.prepare(request, counting)
        method.gather(prepared, counting)
        calls.stages = tuple(prepared.stages)
    return calls


def _tried(
    spec: ModelSpec, method: Method[Any, Any], request: Request, trial: int, folder: Path, spending: Spending | None
) -> Tried:
    desk, began = new_desk(spending), time.perf_counter()
    ask = Asker(spec, BlockStore(folder), new_executor(), desk=desk)
    prepared = method.prepare(replace(request, limit=trial), ask)
    method.gather(prepared, ask)
    questions = sum(stage.questions for stage in prepared.stages)
    return Tried(questions, time.perf_counter() - began, desk.spending, tuple(ask.notes))


class _Counting(EachCall):
    """An `ask` that only counts. It says that there is no answer, but to what is written: further questions may follow
    from that, so there it gives what is stored, or as many characters as would be written.
    """

    def __init__(self, model: EndpointModel, calls: Calls, journal: Journal, arrays: ArrayStore) -> None:
        super().__init__(model, arrays)
        self.calls, self.journal = calls, journal
        self.seen: set[str] = set()

    def of(self, model: str) -> _Counting:
        raise UsageError(f"what {model} is asked depends on answers.", "Run it.", code="unsupported")

    def asked(self, columns: ChoiceColumns | TextColumns, row: int, place: int) -> Answer:
        query, replies = columns.row(row), []
        calls = self.model.calls(query, columns.scoring)
        for call in calls:
            digest = call.digest(self.model.spec.place)
            self._count(digest, call.input_tokens, call.output_tokens)
            if isinstance(columns, TextColumns):
                replies.append(self.journal.get(digest))
        if not isinstance(columns, TextColumns):
            return Answer(Status.FAILED)
        stored = [reply for reply in replies if reply is not None]
        if len(stored) == len(calls):
            return self.model.read(query, columns.scoring, stored)
        return Answer(Status.TRUNCATED, text="x" * LETTERS_A_TOKEN * columns.tokens)

    def _count(self, digest: str, read: int, written: int) -> None:
        if digest in self.seen:  # equal requests are sent once
            return
        self.seen.add(digest)
        self.calls.requests += 1
        if digest not in self.journal:
            self.calls.unsent += 1
            self.calls.input_tokens += read
            self.calls.output_tokens += written
