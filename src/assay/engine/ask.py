"""`ask` answers a plan: it reuses stored blocks and computes missing ones."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from pathlib import Path

import numpy as np

from assay.asking.plan import AnyPlan, Arrays, Ask
from assay.asking.progress import Progress, SilentProgress, waits_of
from assay.asking.queries import TOKENIZER_ABILITIES, Answers, QueryColumns, Status
from assay.engine.choose_block_size import choose_block_size
from assay.engine.choose_dtype import choose_dtype
from assay.engine.endpoints import EndpointExecutor
from assay.engine.executor import ComputedBlock, EngineSettings, Executor, block_key
from assay.engine.shared_folder import SharedFolderExecutor
from assay.engine.store import (
    BadBlockError,
    BlockStore,
    LostBlockError,
    ReplacedBlockError,
    UsedBlocks,
    begun_at,
    columns_of,
    digest_of_arrays,
    read_block,
)
from assay.errors import DataError, ModelError, UsageError
from assay.models.base import AUTO, FLOAT32, ModelSpec, ServedModel, with_dtype
from assay.results.formatting import plural


class Resume(Enum):
    """What happens to the answers and runs of an earlier attempt.

    always: stored answers are reused, and a finished run is analysed again.
    never: everything is asked again.
    only-missing: like always, but a finished run is skipped.
    """

    ALWAYS = "always"
    NEVER = "never"
    ONLY_MISSING = "only-missing"


@dataclass(frozen=True)
class AnsweredPlan:
    """An answered plan: its blocks, for blocks.json, and how long it took."""

    label: str
    plan: str
    key: str
    blocks: tuple[tuple[int, int, str], ...]  # lo, hi, checksum
    ability: str = ""
    since: float = 0.0  # when asking began, if everything was asked again (Unix time)
    until: float | None = None  # when the last reply of an endpoint came
    seconds: float = field(default=0.0, compare=False)

    @property
    def questions(self) -> int:
        return self.blocks[-1][1]


class BaseAsk(ABC):
    """What every `Ask` has: its model, and the store of its plans' arrays."""

    model: ModelSpec
    store: BlockStore

    @property
    def abilities(self) -> frozenset[str]:
        return self.model.abilities

    @property
    def ways(self) -> tuple[str, ...]:
        return self.model.endpoint.ways if self.model.endpoint else ()

    def keep(self, arrays: Arrays) -> str:
        return self.store.arrays.keep(arrays)

    def columns(self, plan: AnyPlan, block: range) -> QueryColumns:
        return columns_of(plan, self.store.arrays, block.start, block.stop)

    @abstractmethod
    def __call__(self, plan: AnyPlan, label: str) -> Answers: ...

    @abstractmethod
    def of(self, model: str) -> Ask: ...


@dataclass
class LiveAsk(BaseAsk):
    """Asks a model, through an executor and a store of blocks.

    `backed_off` has, by plan digest, the token budget after memory ran out; `remember` is called when it changes.
    `sizes` has, by plan digest, the number of questions in a block if the settings do not fix it; `resized` is called
    when a plan is added.
    `types` has, by model whose number type was left open, the same model with the type that was decided; `typed` is
    called before it answers its first question. `expected` is the number of questions of the run, if it is known.
    `used` are, by key, the blocks that a finished run in the same folder used: they are taken, and not newer ones.
    `run` stands for the run's folder: a run that asks everything again, and was stopped, continues with what it has
    asked itself. `find` finds other models by name, for probes that ask two; `others` are those that were asked.
    Endpoints are asked through the `desk`, not the executor; `notes` says what their answers show about the run,
    `billed` counts the requests, input tokens and output tokens of these answers, whenever they were made, and `served`
    says who gave them.
    """

    model: ModelSpec
    store: BlockStore
    executor: Executor
    settings: EngineSettings = field(default_factory=EngineSettings)
    progress: Progress = field(default_factory=SilentProgress)
    resume: Resume = Resume.ALWAYS
    backed_off: dict[str, int] = field(default_factory=dict)
    remember: Callable[[dict[str, int]], None] = lambda budgets: None
    sizes: dict[str, int] = field(default_factory=dict)
    resized: Callable[[dict[str, int]], None] = lambda sizes: None
    types: dict[ModelSpec, ModelSpec] = field(default_factory=dict)
    typed: Callable[[], None] = lambda: None
    expected: int = 0
    used: Mapping[str, UsedBlocks] = field(default_factory=dict)
    run: str = ""
    asked: list[AnsweredPlan] = field(default_factory=list)
    find: Callable[[str], ModelSpec] | None = None
    others: dict[str, ModelSpec] = field(default_factory=dict)
    desk: EndpointExecutor | None = None
    notes: list[str] = field(default_factory=list)
    billed: Counter[str] = field(default_factory=Counter)
    served: list[ServedModel] = field(default_factory=list)

    def of(self, model: str) -> LiveAsk:
        if self.find is None:
            remedy = "Ask through assay.audit or `assay run`."
            raise UsageError("a second model cannot be asked here.", remedy, code="unsupported")
        if model not in self.others:
            self.others[model] = self.find(model)
        return replace(self, model=self.others[model])  # what is noted about the run is noted in common

    def __call__(self, plan: AnyPlan, label: str) -> Answers:
        if plan.ability not in self.abilities:
            able = ", ".join(sorted(self.abilities - TOKENIZER_ABILITIES)) or "none"
            problem = (
                f"{label} needs the ability {plan.ability!r}, which {self.model.name} does not have; it has: {able}."
            )
            remedy = "Choose a model for that task, or other questions with --set form=…."
            raise UsageError(problem, remedy, code="missing-ability", key=plan.ability)
        if not len(plan):
            remedy = "Choose more subjects, attributes or templates."
            raise UsageError(f"{label}: there are no questions to ask.", remedy, code="nothing-to-ask")
        began = time.perf_counter()
        self._settle(plan)
        settings = replace(self.settings, block_size=self._size(plan))
        key = block_key(self.model, plan, settings)
        self.progress.start(label, len(plan))
        asking, files = self._files(key)
        used = self.used.get(key, UsedBlocks({}, begun_at(asking)))
        answered: dict[int, tuple[Answers, str]] = {}  # with the checksums, by the block's first question
        missing: list[range] = []
        for block in _blocks(len(plan), settings.block_size):
            stored = self._stored(files.get((block.start, block.stop), []), plan, block)
            if stored is None or (self.model.endpoint and _failed(stored[0])):
                missing.append(block)
            else:
                answered[block.start] = stored
                self._count(key, plan, block, stored[0])
                self.progress.advance(len(block), stored=True)
        if missing:
            self.store.clean(key, asking)
            compute = partial(self._ask_endpoint, used=used) if self.model.endpoint else self._compute
            with closing(compute(plan, missing, settings)) as blocks:
                for computed in blocks:
                    if self.desk is not None:
                        self.desk.spending.reuse_block((key, computed.lo), 0, 0)  # its replies have been counted
                    answered[computed.lo] = computed.answers, self.store.write(key, computed, asking)
                    if not self.model.endpoint:
                        self.progress.advance(computed.hi - computed.lo)
        elif isinstance(self.executor, SharedFolderExecutor):
            self.executor.forget(key)
        elif self.model.endpoint and self.desk is not None:
            self.desk.tidy(self.model)
        parts = sorted(answered.items())
        answers = Answers.joined([part for _, (part, _) in parts])
        if asking and not _failed(answers):
            self.store.finish(key, asking)
        self.asked.append(
            AnsweredPlan(
                label=label,
                plan=plan.digest,
                key=key,
                blocks=tuple((lo, lo + len(part), checksum) for lo, (part, checksum) in parts),
                ability=plan.ability,
                since=used.since,
                until=float(answers["at"].max()) if self.model.endpoint else None,
                seconds=time.perf_counter() - began,
            )
        )
        if self.model.endpoint:
            self.notes.extend(endpoint_notes(label, answers))
            costs = answers["billed"].sum(axis=0).tolist()
            self.billed.update(dict(zip(("requests", "input_tokens", "output_tokens"), costs, strict=True)))
            self.served.extend(served_models(answers))
            _require_few_failed(self.model, answers)
        return answers

    def _settle(self, plan: AnyPlan) -> None:
        """Decide in which number type the model answers, if that was left open."""
        if self.model.dtype != AUTO or plan.ability in TOKENIZER_ABILITIES:
            return
        if self.model not in self.types:
            self.types[self.model] = choose_dtype(
                self.model, plan, self.expected, self.store.arrays, partial(self._tried, plan)
            )
            self.typed()
        self.model = self.types[self.model]
        if self.model.chosen and (note := f"{self.model.name} computes in {self.model.chosen}") not in self.notes:
            self.notes.append(note)

    def _tried(self, plan: AnyPlan, model: ModelSpec, sample: Sequence[range]) -> Answers:
        """Answers to a sample, which are not stored."""
        settings = replace(self.settings, block_size=len(sample[0]))
        computed = self.executor.run(model, plan, sample, settings, self.store.arrays)
        return Answers.joined([block.answers for block in sorted(computed, key=lambda block: block.lo)])

    def _size(self, plan: AnyPlan) -> int:
        """The number of questions in a block: from the settings, from the run, or chosen for the plan."""
        if self.settings.block_size:
            return self.settings.block_size
        if plan.digest not in self.sizes:
            self.sizes[plan.digest] = choose_block_size(self.model, plan, self.store.arrays)
            self.resized(self.sizes)
        return self.sizes[plan.digest]

    def _ask_endpoint(
        self, plan: AnyPlan, missing: list[range], settings: EngineSettings, used: UsedBlocks
    ) -> Generator[ComputedBlock]:
        """Blocks of a model behind an endpoint, from the journal and, where it has no reply, from the endpoint."""
        if self.desk is None:
            remedy = "Ask through assay.audit or `assay run`."
            raise UsageError("an endpoint cannot be asked here.", remedy, code="unsupported")
        budget = settings.budget_for(self.model)
        answered = self.desk.ask(
            self.model,
            partial(self.columns, plan),
            missing,
            since=used.since,
            until=used.until,
            advance=self.progress.advance,
            waits=waits_of(self.progress),
        )
        with closing(answered):  # what it cannot store is an error here, and not in a destructor
            for rows, queries, answers in answered:
                yield ComputedBlock(rows.start, rows.stop, queries, answers, budget)

    def _count(self, key: str, plan: AnyPlan, block: range, answers: Answers) -> None:
        """Stored answers count towards the budget, as it is the whole run's."""
        if self.model.endpoint and self.desk is not None:
            n_requests, *tokens = answers["billed"].sum(axis=0).tolist()
            if n_requests and not tokens[0]:  # the server does not count
                tokens = self.desk.estimate(self.model, self.columns(plan, block))
            self.desk.spending.reuse_block((key, block.start), *tokens)

    def _compute(self, plan: AnyPlan, missing: list[range], settings: EngineSettings) -> Generator[ComputedBlock]:
        budget = self.backed_off.get(plan.digest, 0)
        settings = replace(settings, backed_off=budget)
        budget = budget or settings.budget_for(self.model)
        model = replace(self.model, chosen="")
        if model.dtype == AUTO:  # only its tokenizer is asked so far
            model = with_dtype(model, FLOAT32)
        for computed in self.executor.run(model, plan, missing, settings, self.store.arrays):
            if computed.budget < budget:  # other workers may have begun their blocks with the larger one
                budget = self.backed_off[plan.digest] = computed.budget
                self.remember(self.backed_off)
            yield computed

    def _files(self, key: str) -> tuple[str, dict[tuple[int, int], list[Path]]]:
        """The files with stored answers, by range; and the asking that they belong to, if everything is asked again."""
        if self.resume is Resume.NEVER:
            return self.store.begin(key, self.run), {}
        asking = self.store.unfinished(key, self.run)
        if key not in self.used:
            return asking, self.store.newest(key, asking)
        files = {span: self.store.copies(block) for span, block in self.used[key].blocks.items()}
        return asking if begun_at(asking) == self.used[key].since else "", files

    def _stored(self, copies: Sequence[Path], plan: AnyPlan, block: range) -> tuple[Answers, str] | None:
        try:
            stored = read_block(copies, block.start, block.stop)
        except BadBlockError as error:
            warnings.warn(f"{error}; its questions are asked again.", stacklevel=2)
            return None
        if stored is None:
            return None
        entry, checksum = stored
        if entry.queries != self.columns(plan, block).digest():
            warnings.warn(
                f"{copies[0]}: it holds answers to other questions; its questions are asked again.", stacklevel=2
            )
            return None
        return entry.answers, checksum


MOST_FAILED = 0.01
"""The largest share of questions without an answer with which findings are still computed."""


def _failed(answers: Answers) -> int:
    return int((answers.status == Status.FAILED).sum())


def _require_few_failed(model: ModelSpec, answers: Answers) -> None:
    failed = _failed(answers)
    if failed > MOST_FAILED * len(answers):
        problem = f"{model.name} gave no answer to {failed:,} of {plural(len(answers), 'question')}."
        remedy = "The other answers are stored. Repeat the command to ask only these again."
        raise ModelError(problem, remedy, code="no-answer")


def endpoint_notes(label: str, answers: Answers, failed: str = "") -> Iterator[str]:
    """Notes on the answers of an endpoint: refusals, failures, little probability, a changed model.

    `failed` describes questions without an answer if they are not asked again.
    """
    words = {**_WORDS, **({Status.FAILED: failed} if failed else {})}
    counts = {status: int((answers.status == status).sum()) for status in Status if status is not Status.OK}
    if any(counts.values()):
        exceptions = "; ".join(f"{count:,} {words[status]}" for status, count in counts.items() if count)
        yield f"{label}: of {plural(len(answers), 'answer')}, {exceptions}"
    if "mass" in answers.arrays and len(mass := answers["mass"][answers["mass"] == answers["mass"]]):
        low, middle = float(mass.min()), float(np.median(mass))
        if low < 0.9:
            together = f"a probability of {middle:.3f} (median; minimum {low:.3f})"
            yield f"{label}: the listed options together have {together}"
    served: Counter[str] = Counter()
    for model in served_models(answers):
        served[" ".join(filter(None, (model.model, model.fingerprint)))] += model.n
    del served[""]
    if len(served) > 1:
        models = ", ".join(f"{name} ({count:,})" for name, count in served.most_common())
        yield f"{label}: the served model changed during the run: {models}"


def served_models(answers: Answers) -> list[ServedModel]:
    """The models that gave an endpoint's answers; questions without a reply do not count."""
    rows = np.flatnonzero(answers.status != Status.FAILED)
    columns = (answers[name][rows].tolist() for name in ("model", "fingerprint", "server", "at"))
    times: dict[tuple[bytes, bytes, bytes], list[float]] = {}
    for model, fingerprint, server, at in zip(*columns, strict=True):
        times.setdefault((model, fingerprint, server), []).append(at)
    return [
        ServedModel(_text(model), _text(fingerprint), _text(server), len(at), min(at), max(at))
        for (model, fingerprint, server), at in times.items()
    ]


def _text(name: bytes) -> str:
    return name.decode(errors="replace")


_WORDS = {
    Status.REFUSED: "refused",
    Status.FAILED: "failed; repeat the command to ask them again",
    Status.FILTERED: "withheld by a filter",
    Status.TRUNCATED: "cut off at the token limit",
    Status.EMPTY: "empty",
    Status.UNCLEAR: "unclear, as the listed options have little probability",
}


@dataclass
class StoredAsk(BaseAsk):
    """Answers only from the blocks that a run `used`, to score again without the model. `sizes` is as in `LiveAsk`."""

    model: ModelSpec
    store: BlockStore
    used: Mapping[str, UsedBlocks]
    settings: EngineSettings = field(default_factory=EngineSettings)
    others: Mapping[str, ModelSpec] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    def of(self, model: str) -> StoredAsk:
        if model not in self.others:
            raise UsageError(f"{model} was not asked in this run.", "Repeat the run with it.", code="unfinished-run")
        return replace(self, model=self.others[model])

    def keep(self, arrays: Arrays) -> str:
        """Stores nothing: stored answers are found by the plan's digest, without its questions."""
        return digest_of_arrays(arrays)

    def __call__(self, plan: AnyPlan, label: str) -> Answers:
        size = self.settings.block_size or self.sizes.get(plan.digest, 0)
        if not size:
            raise _unfinished(label, "the questions differ from those of the run")
        key = block_key(self.model, plan, replace(self.settings, block_size=size))
        used, parts = self.used.get(key, UsedBlocks({})).blocks, []
        for block in _blocks(len(plan), size):
            span = block.start, block.stop
            questions = f"questions {block.start} to {block.stop}"
            if span not in used:
                raise _unfinished(label, f"the run did not ask {questions}")
            try:
                parts.append(self.store.require(used[span], partial(read_block, lo=block.start, hi=block.stop)).answers)
            except BadBlockError:
                raise _unfinished(label, f"{questions} are damaged") from None
            except ReplacedBlockError:
                raise _stale(label, questions) from None
            except LostBlockError:
                raise _unfinished(label, f"{questions} are missing") from None
        return Answers.joined(parts)


def _unfinished(label: str, reason: str) -> UsageError:
    remedy = "Repeat the run's `assay run` command first: it computes the missing answers."
    return UsageError(f"the answers to {label} are not all stored ({reason}).", remedy, code="unfinished-run")


def _stale(label: str, questions: str) -> DataError:
    problem = (
        f"the answers to {label} that this run used ({questions}) are not stored any more; "
        "there are other answers to the same questions, which are not this run's."
    )
    remedy = "Use a copy of the run that `assay export` made, or repeat the run with another --out."
    return DataError(problem, remedy, code="stale-answers")


def _blocks(total: int, size: int) -> Iterator[range]:
    return (range(lo, min(lo + size, total)) for lo in range(0, total, size))
