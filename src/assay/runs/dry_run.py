"""What a run on an endpoint would send and cost, without sending anything or from a small trial."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from assay.asking.plan import AnyPlan, Ask
from assay.asking.queries import Answer, Answers, ChoiceColumns, Status, TextColumns
from assay.engine.ask import BaseAsk, LiveAsk
from assay.engine.executor import Executor, answers_of
from assay.engine.journal import Journal
from assay.engine.spending import Price, Spending
from assay.engine.store import BlockStore
from assay.files.atomic import temporary_folder
from assay.models import find_model, find_second
from assay.models.base import LETTERS_A_TOKEN, EndpointModel, EndpointRequest, ModelSpec, Options, missing_ability_error
from assay.probes import known_probe, method_of
from assay.probes.base import PRESETS, Method, Request, Stage
from assay.runs.audit import new_desk, new_executor

_STEP = 1024


@dataclass
class DryAsk(BaseAsk):
    """Subclasses define the answer to a question, and how other models are asked."""

    endpoint: EndpointModel
    store: BlockStore

    def __post_init__(self) -> None:
        self.model = self.endpoint.spec

    def __call__(self, plan: AnyPlan, label: str) -> Answers:
        parts = []
        for lo in range(0, len(plan), _STEP):
            columns = self.columns(plan, range(lo, min(lo + _STEP, len(plan))))
            if not isinstance(columns, ChoiceColumns | TextColumns):
                raise missing_ability_error(self.model.name, columns.ability)
            answers = [self.answer(columns, row, lo + row) for row in range(len(columns))]
            parts.append(answers_of(answers, columns, self.model.name, of_endpoint=True))
        return Answers.joined(parts)

    @abstractmethod
    def answer(self, columns: ChoiceColumns | TextColumns, row: int, index: int) -> Answer:
        """The answer to a row of the columns, which is the plan's row `index`."""


# --- how much it would be


@dataclass
class RequestEstimate:
    """The requests of a run, those without a stored reply, and about how many tokens these have.

    `sees` says what bias a run of this size finds; empty if that was not measured.
    """

    spec: ModelSpec
    limit: int | None = None
    stages: tuple[Stage, ...] = ()
    requests: int = 0
    unsent: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tried: TrialRun | None = None
    sees: str = ""

    @property
    def questions(self) -> int:
        return sum(stage.questions for stage in self.stages)

    def usd(self, price: Price) -> float:
        """The cost of sending them; without a trial, it assumes the most output tokens."""
        return price.usd(*self.tokens)

    @property
    def tokens(self) -> tuple[float, float]:
        """Input and output tokens, measured in the trial if there was one."""
        if self.tried is None or not self.tried.spending.sent:
            return self.input_tokens, self.output_tokens
        spent = self.tried.spending
        scale = self.unsent / spent.sent
        return spent.input_tokens * scale, spent.output_tokens * scale


@dataclass(frozen=True)
class TrialRun:
    """A trial: how many questions were asked, what they cost, how long they took, and notes."""

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
    at_most: int | None = None,
) -> RequestEstimate:
    """What a run would send. Nothing is sent, except for a `trial` of some questions, whose replies are stored.

    A second model on this machine is really asked, because the questions to the endpoint depend on its answers; these
    are stored and reused by the run. A run that takes more requests than `at_most` gets a limit; the smallest run of a
    probe may still take more.
    """
    asking_options = replace(options or Options(), send=bool(trial))
    spec, find = find_model(model, asking_options), partial(find_second, options=asking_options)
    method, tried = method_of(probe), None
    with temporary_folder() as folder:  # blocks of the trial are not kept, its replies are
        if trial:
            tried = _tried(spec, method, request, trial, folder, spending, find)
        counting = _CountingAsk(new_desk().model(spec), BlockStore(folder), RequestEstimate(spec), find)
        calls = _counted(method, request, counting)
        while at_most is not None and calls.requests > at_most:
            most = (
                calls.questions if calls.limit is None else calls.limit * 9 // 10
            )  # probes round a limit as they like
            limit = most * at_most // calls.requests
            if limit < 1:
                break
            calls = _counted(method, replace(request, limit=limit), counting)
    return replace(calls, tried=tried, sees=_sees(probe, request, calls))


def _counted(method: Method[Any, Any], request: Request, counting: _CountingAsk) -> RequestEstimate:
    calls = RequestEstimate(counting.model, limit=request.limit)
    ask = replace(counting, calls=calls, seen=set())
    prepared = method.prepare(request, ask)
    method.gather(prepared, ask)
    calls.stages = tuple(prepared.stages)
    return calls


def _sees(probe: str, request: Request, calls: RequestEstimate) -> str:
    """What bias the run finds, if its size is that of the smallest preset."""
    if request.preset != PRESETS[0] or calls.limit is not None or request.settings:
        return ""
    preset = known_probe(probe).presets.get(request.preset)
    return preset.finds_at_endpoint or preset.finds if preset else ""


def _tried(
    spec: ModelSpec,
    method: Method[Any, Any],
    request: Request,
    trial: int,
    folder: Path,
    spending: Spending | None,
    find: Callable[[str], ModelSpec],
) -> TrialRun:
    desk, began = new_desk(spending), time.perf_counter()
    before = replace(desk.spending)
    ask = LiveAsk(spec, BlockStore(folder), new_executor(), desk=desk, find=find)
    prepared = method.prepare(replace(request, limit=trial), ask)
    method.gather(prepared, ask)
    questions = sum(stage.questions for stage in prepared.stages)
    counts = {name: getattr(desk.spending, name) - getattr(before, name) for name in _SPENT}
    return TrialRun(questions, time.perf_counter() - began, replace(before, **counts), tuple(ask.notes))


_SPENT = ("sent", "used", "input_tokens", "output_tokens")


@dataclass
class _CountingAsk(DryAsk):
    """An `ask` that only counts; its answers have the status FAILED. As further questions may depend on a written
    answer, there it returns the stored one, or a text of the maximum length.
    """

    calls: RequestEstimate
    find: Callable[[str], ModelSpec]
    executor: Executor = field(default_factory=new_executor)
    seen: set[str] = field(default_factory=set)

    @cached_property
    def journal(self) -> Journal:
        return Journal.of(new_desk().root, self.model)

    def of(self, model: str) -> Ask:
        spec = self.find(model)
        if spec.endpoint is not None:
            return replace(self, endpoint=new_desk().model(spec))  # counted in common
        return LiveAsk(spec, BlockStore.default(), self.executor, find=self.find)

    def answer(self, columns: ChoiceColumns | TextColumns, row: int, index: int) -> Answer:
        query = columns.row(row)
        requests = self.endpoint.calls(query, columns.scoring)
        digests = [request.digest(self.model.place) for request in requests]
        for digest, request in zip(digests, requests, strict=True):
            self._count(digest, request)
        if not isinstance(columns, TextColumns):
            return Answer(Status.FAILED)
        replies = [reply for digest in digests if (reply := self.journal.get(digest)) is not None]
        if len(replies) == len(requests):
            return self.endpoint.read(query, columns.scoring, replies)
        return Answer(Status.TRUNCATED, text="x" * LETTERS_A_TOKEN * columns.tokens)

    def _count(self, digest: str, request: EndpointRequest) -> None:
        if digest in self.seen:  # equal requests are sent once
            return
        self.seen.add(digest)
        self.calls.requests += 1
        if digest not in self.journal:
            self.calls.unsent += 1
            self.calls.input_tokens += request.input_tokens
            self.calls.output_tokens += request.output_tokens
