"""Computes blocks on the workers of a Ray cluster: many GPUs, or many machines.

Ray only places workers; this module hands out the blocks, and the caller stores them. A worker is an actor that loads
the model once, computes one block and tokenises the next. It gets a block only after it said that it is ready. If it
dies, with its machine or alone, another one replaces it and its blocks are computed again, before all others.
"""

from __future__ import annotations

import logging
import os
import platform
import re
import shutil
import tempfile
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from assay.asking.plan import AnyPlan, ArrayPlan, Arrays
from assay.asking.queries import Answers
from assay.engine.executor import MAX_WORKER_DEATHS, ComputedBlock, EngineSettings, LocalExecutor, forward_all
from assay.engine.executors import LOCAL, ExecutorRequest
from assay.engine.store import ArraySource, columns_of
from assay.errors import AssayError, ModelError, UsageError, how_to_install, require_package
from assay.files.child_environment import Secrets
from assay.models.base import AnsweringModel, AnyModel, EndpointModel, ModelSpec
from assay.version import __version__

AT_ONCE = 2
"""Blocks that a worker has: one is computed while the next is tokenised."""
PATIENCE = 60.0
"""Seconds without any worker after which there is a warning."""
FORMS = ("ray", "ray:ADDRESS")
"""Ray's address for a cluster that lives as long as this process, on this machine alone."""


# --- in a worker's process


@dataclass(frozen=True)
class _SentArrays:
    """The arrays of one plan, as they were sent."""

    arrays: Arrays

    def load(self, digest: str) -> Arrays:
        return self.arrays


class RayWorker:
    """Loads a model and computes blocks, in threads. Errors are returned, not raised: Ray would wrap them.

    `secrets` are removed from its process's environment.
    """

    def __init__(self, load: Callable[[ModelSpec], AnyModel], secrets: Secrets | None = None) -> None:
        if secrets is not None:  # of a cluster that was started with them
            secrets.forget()
        self._local = LocalExecutor(load)
        self._encoding, self._computing = Lock(), Lock()

    def ready(self, version: str, spec: ModelSpec) -> tuple[str, int] | AssayError:
        """Load the model; returns Ray's id of the machine, and the process id."""
        host = platform.node()
        if version != __version__:
            problem = f"the worker on {host} has assay {__version__}, but this run was started with {version}."
            remedy = "Install the same version of assay on every machine."
            return UsageError(problem, remedy, code="unsupported", key="executor")
        try:
            with self._encoding, self._computing:  # blocks of an abandoned plan may be under way
                self._local.model(spec)
        except AssayError as error:
            return type(error)(f"on {host}: {error.problem}", error.remedy, code=error.code, key=error.key)
        return imported().get_runtime_context().get_node_id(), os.getpid()

    def compute(
        self, spec: ModelSpec, plan: AnyPlan, arrays: Arrays, block: range, settings: EngineSettings
    ) -> ComputedBlock | AssayError:
        """The block of a plan, computed with the model that is loaded."""
        try:
            return self._compute(spec, plan, _SentArrays(arrays), block, settings)
        except AssayError as error:
            return error

    def _compute(
        self, spec: ModelSpec, plan: AnyPlan, arrays: ArraySource, block: range, settings: EngineSettings
    ) -> ComputedBlock:
        with self._encoding:
            model = self._local.model(spec)
            if isinstance(model, AnsweringModel | EndpointModel):
                return next(self._local.run(spec, plan, [block], settings, arrays))
            queries = columns_of(plan, arrays, block.start, block.stop)
            tokens = model.encode(queries)
        with self._computing:
            answers, budget = forward_all(model, tokens, settings.backed_off or settings.budget_for(spec))
        return ComputedBlock(block.start, block.stop, queries.digest(), answers, budget)


# --- in the process that started the run


@dataclass(eq=False)
class _WorkerHandle:
    """A worker as the driver sees it. `blocks` are those that it has, in the order in which it got them.

    `pid` is 0 until it was ready once; `died` counts the workers before it, in its place, that never were.
    """

    actor: Any
    ready: bool = False
    blocks: list[range] = field(default_factory=list)
    pid: int = 0
    node: str = ""
    died: int = 0

    def replaced_by(self, actor: Any, model: ModelSpec, reason: str) -> _WorkerHandle:
        """Its successor after its death; raises if too many died while they loaded the model."""
        died = 0 if self.pid else self.died + 1
        if died == MAX_WORKER_DEATHS:
            problem = f"{MAX_WORKER_DEATHS} workers died while they loaded {model.name}: {reason}."
            remedy = "Check that assay is installed on every machine and that the model fits; choose fewer --workers."
            raise ModelError(problem, remedy, code="worker-died", key="workers")
        return _WorkerHandle(actor, died=died)


@dataclass
class RayExecutor:
    """Computes on the workers of a Ray cluster; close it, or use it as a context.

    `load` must find the model on the worker's machine and refuse other weights. `address` is a cluster's, or LOCAL.
    `workers` None: as many as the cluster has room for. `gpus` is how many each worker reserves; None: one if the model
    is on a GPU. If this process is connected to Ray already, that cluster is used and stays.

    Ray's processes get no secrets: not the variable `key_env`, nor those of `Secrets`. They get the hub's token only if
    a model is on the hub; a cluster of our own that was started without it is then started again.
    """

    load: Callable[[ModelSpec], AnyModel]
    address: str = LOCAL
    workers: int | None = None
    gpus: float | None = None
    key_env: str = ""
    pool: list[_WorkerHandle] = field(default_factory=list, repr=False)
    _cpus: int = 1
    _reserved: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _folder: Path | None = None  # of a cluster of our own
    _connected: bool = False
    _hub: bool = False  # whether a model was on the hub

    def run(
        self, model: ModelSpec, plan: AnyPlan, blocks: Iterable[range], settings: EngineSettings, arrays: ArraySource
    ) -> Iterator[ComputedBlock]:
        self._admit(model)
        ray = self._connect()
        gpus = self.gpus if self.gpus is not None else float(model.device.startswith("cuda"))
        if not self.pool or gpus > self._reserved["num_gpus"]:  # the run's other model may not have needed a GPU
            self._hire(ray, model, gpus)
        spec, work = self._placed(model), _BlockQueue(model, plan, deque(blocks))
        sent = ray.put(arrays.load(plan.arrays) if isinstance(plan, ArrayPlan) else {})  # once for each machine
        loading: dict[Any, _WorkerHandle] = {}
        under_way: dict[Any, tuple[_WorkerHandle, range]] = {}

        def prepare(worker: _WorkerHandle) -> None:
            worker.ready, worker.blocks = False, []
            loading[worker.actor.ready.remote(__version__, spec)] = worker

        def replace_dead(worker: _WorkerHandle, reason: str) -> None:
            if worker in self.pool:
                ray.kill(worker.actor)
                new = worker.replaced_by(self._actor(ray), model, reason)
                self.pool[self.pool.index(worker)] = new
                prepare(new)

        for worker in self.pool:
            prepare(worker)
        while work.todo or under_way:
            for worker, block in work.handed_out(self.pool):
                under_way[worker.actor.compute.remote(spec, plan, sent, block, settings)] = worker, block
            done, _ = ray.wait([*under_way, *loading], num_returns=1, timeout=PATIENCE)
            if not done and not under_way:
                warnings.warn(f"no worker has started within {PATIENCE:.0f} seconds; waiting.", stacklevel=2)
            for ref in done:
                reply, lost_reason = _reply_of(ray, ref)
                if ref in loading:
                    worker = loading.pop(ref)
                    if lost_reason is not None:
                        replace_dead(worker, lost_reason)
                    else:
                        worker.node, worker.pid = reply
                        worker.ready = True
                    continue
                worker, block = under_way.pop(ref)
                if lost_reason is not None:
                    replace_dead(worker, lost_reason)
                    work.again(block, lost_reason)
                    continue
                worker.blocks.remove(block)
                if reply.budget < (settings.backed_off or settings.budget_for(model)):
                    settings = replace(settings, backed_off=reply.budget)
                yield _copied(reply)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers, and the cluster if it is our own."""
        self._dismiss()
        if self._connected:
            imported().shutdown()
            self._connected = False
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _admit(self, model: ModelSpec) -> None:
        """Begin anew with the hub's token if this is the first model that needs it."""
        if model.revision is not None and not self._hub:
            if self._folder is not None:
                self.close()
            self._dismiss()
            self._hub = True

    @property
    def _secrets(self) -> Secrets:
        return Secrets(self.key_env, self._hub)

    def _dismiss(self) -> None:
        for worker in self.pool:
            imported().kill(worker.actor)
        self.pool.clear()

    def _connect(self) -> Any:
        """The module ray, connected to the cluster."""
        ray = imported()
        if ray.is_initialized():
            return ray
        arguments: dict[str, Any] = {}
        if self.address == LOCAL:
            # Ray's sockets are in it, and their paths must be short; TMPDIR may be long.
            self._folder = Path(tempfile.mkdtemp(prefix="assay-ray-", dir="/tmp" if os.name == "posix" else None))
            arguments = {"include_dashboard": False, "_temp_dir": str(self._folder)}
        try:
            with self._secrets.withheld():  # processes that Ray starts inherit this environment
                ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR, **arguments)
        except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            problem = f"cannot connect to Ray at {self.address} ({(str(error).splitlines() or [''])[0]})."
            remedy = "Start a cluster with `ray start --head`, and give the address that it prints."
            raise UsageError(problem, remedy, code="bad-option", key="executor") from error
        self._connected = True
        return ray

    def _hire(self, ray: Any, model: ModelSpec, gpus: float) -> None:
        self._dismiss()
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        room = [(int(node.get("CPU", 0)), node.get("GPU", 0.0)) for node in nodes]
        count, self._cpus = places(room, self.workers, gpus, model.threads)
        self._reserved = {"num_cpus": self._cpus, "num_gpus": gpus}
        self.pool = [_WorkerHandle(self._actor(ray)) for _ in range(count)]

    def _actor(self, ray: Any) -> Any:
        """A new actor. Ray neither restarts it nor repeats its calls: `run` does, and counts."""
        options = {
            "max_restarts": 0,
            "max_task_retries": 0,
            "max_concurrency": AT_ONCE,
            "scheduling_strategy": "SPREAD",
        }
        return ray.remote(RayWorker).options(**options, **self._reserved).remote(self.load, self._secrets)

    def _placed(self, model: ModelSpec) -> ModelSpec:
        """The model as a worker loads it: on the first of the GPUs that it sees, or with its share of CPUs."""
        if model.device.startswith("cuda"):
            return replace(model, device="cuda")
        return replace(model, threads=model.threads or self._cpus)


def new(request: ExecutorRequest) -> RayExecutor:
    imported()  # a missing library is reported before anything else is done
    address = request.address or LOCAL
    return RayExecutor(request.load_elsewhere, address, request.workers, request.gpus, request.key_env)


def imported() -> Any:
    """The module ray."""
    with require_package("--executor ray needs", how_to_install("ray")):
        import ray
    return ray


def places(room: Sequence[tuple[int, float]], workers: int | None, gpus: float, threads: int = 0) -> tuple[int, int]:
    """How many workers there are, and how many CPUs each reserves; `room` has the CPUs and GPUs of every machine.

    Without `threads`, workers on GPUs reserve one CPU; others share the CPUs, and by default there is one for each
    machine, or for as many CPUs as the smallest machine has.

    >>> places([(4, 0), (8, 0)], None, 0), places([(4, 0), (8, 0)], 5, 0), places([(8, 2), (8, 4)], None, 1)
    ((3, 4), (5, 2), (6, 1))
    """

    def fit(cpus: int) -> int:
        return sum(min(has // cpus, int(cards // gpus) if gpus else has // cpus) for has, cards in room)

    most = max((cpus for cpus, _ in room), default=0)
    if threads or gpus:
        cpus = threads or 1
    elif workers is None:
        cpus = min((cpus for cpus, _ in room if cpus), default=1)
    else:
        cpus = next((cpus for cpus in range(most, 1, -1) if fit(cpus) >= workers), 1)
    if fit(cpus) < (workers or 1):
        needed = f"{cpus} CPU{'s' * (cpus > 1)}" + (f" and {gpus:g} GPU{'s' * (gpus > 1)}" if gpus else "")
        problem = f"the cluster has room for {fit(cpus)} workers with {needed} each, expected at least {workers or 1}."
        remedy = "Choose fewer --workers or --threads, another --gpus-per-worker, or add machines to the cluster."
        raise UsageError(problem, remedy, code="bad-option", key="workers")
    return workers or fit(cpus), cpus


@dataclass
class _BlockQueue:
    """The blocks of a plan that no worker has, and how often workers died with a block."""

    model: ModelSpec
    plan: AnyPlan
    todo: deque[range]
    died: Counter[range] = field(default_factory=Counter)

    def handed_out(self, pool: Sequence[_WorkerHandle]) -> Iterator[tuple[_WorkerHandle, range]]:
        """Blocks for the workers that are ready and have room.

        A block whose worker died is given to one that has no other block, to know which block kills.
        """
        for depth in range(AT_ONCE):
            for worker in pool:
                if self.todo and worker.ready and len(worker.blocks) == depth:
                    if depth and any(self.died[block] for block in (self.todo[0], *worker.blocks)):
                        continue
                    worker.blocks.append(self.todo.popleft())
                    yield worker, worker.blocks[-1]

    def again(self, block: range, reason: str) -> None:
        """Put a block whose worker died before all others; raises if that was the last try."""
        self.todo.appendleft(block)
        self.died[block] += 1
        if self.died[block] == MAX_WORKER_DEATHS:
            problem = (
                f"{MAX_WORKER_DEATHS} workers died with questions {block.start} to {block.stop} ({self.plan.ability}) "
                f"for {self.model.name}: {reason}."
            )
            remedy = "If memory ran out, choose fewer --workers or a smaller --block-size. Other answers are stored."
            raise ModelError(problem, remedy, code="worker-died", key=f"{block.start}-{block.stop}")


def _reply_of(ray: Any, ref: Any) -> tuple[Any, str | None]:
    """A worker's reply; or None and the reason if it is lost, alone or with the worker or its machine.

    Raises the error that a worker returned.
    """
    try:
        reply = ray.get(ref)
    except ray.exceptions.RayTaskError:
        raise  # a bug, here or in a package of somebody else
    except ray.exceptions.RayError as error:
        return None, _in_short(error)
    if isinstance(reply, AssayError):
        raise reply
    return reply, None


def _in_short(error: Exception) -> str:
    """What Ray says about a dead worker, in one line: the cause comes last."""
    lines = [line.strip() for line in re.sub(r"\x1b\[\d*m", "", str(error)).splitlines() if line.strip()]
    last = lines[-1] if lines else type(error).__name__
    return last.rpartition("Worker exit detail: ")[2].partition(" Some common causes")[0][:200].rstrip(".")


def _copied(block: ComputedBlock) -> ComputedBlock:
    """A block in this process's memory; it came in memory that is shared with Ray, which it would fill."""
    arrays = {name: values.copy() for name, values in block.answers.arrays.items()}
    return replace(block, answers=Answers(block.answers.status.copy(), arrays))
