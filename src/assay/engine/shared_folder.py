"""Computing without a cluster engine: jobs in a shared folder, which any number of `assay work DIR` take up.

`SharedFolderExecutor` posts each plan as a job and waits for its blocks; `shared_folder_worker.py` computes them. A job
is a folder

    KEY/job.json              model, plan, settings and ranges, as plain data
    KEY/arrays/DIGEST.npz     the plan's arrays
    KEY/claims/LO-HI.N        who computes a block, at the Nth try; its time is renewed as long as the worker lives
    KEY/blocks/…/LO-HI-….block  computed blocks, by the token budget that was used
    KEY/failed/LO-HI.json     the error that a block ended with
    KEY/refused/WORKER.json   why a worker does not take part

where KEY is the blocks' key. A claim is made by exclusive creation. If it is not renewed for the time of a lease, the
worker is taken for dead: another one may create the claim N + 1, which only one of them can. A block is the same
whoever computes it, so the worst that can happen is that one is computed twice. The driver takes blocks into its own
store, and removes the job when it has all of them.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from assay.asking.plan import AnyPlan, ArrayPlan
from assay.engine.executor import ComputedBlock, EngineSettings, block_key
from assay.engine.executors import ExecutorRequest
from assay.engine.plan_json import to_data
from assay.engine.store import ArraySource, ArrayStore, BadBlockError, BlockStore, columns_of, files_matching
from assay.errors import AssayError, DataError, ModelError, UsageError
from assay.files.atomic import write_atomically
from assay.files.decoding import json_typed
from assay.files.lock import held
from assay.files.opening import read_whole, reason
from assay.models.base import ModelSpec

T = TypeVar("T")

FORMS = ("work:DIR",)

FORMAT = 1
"""Of jobs: raise it when older workers could not read them."""

_WHOLE = re.compile("[0-9]{1,15}")
_OF_BLOCK = re.compile(r"([0-9]{1,15})-([0-9]{1,15})(?:-[0-9a-f]{16}\.block|\.[0-9a-z]+)")

LEASE = 60.0
"""Seconds after which a claim that is not renewed may be taken over."""

ALONE = 30.0
"""Seconds after which the driver says that there is no worker."""


@dataclass(frozen=True)
class Job:
    """What job.json says; `plan` is a recipe as data (`engine/plan_json.py`), and `blocks` are ranges of it."""

    format: int
    key: str
    model: ModelSpec
    plan: Any
    plan_digest: str
    settings: EngineSettings
    blocks: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class WorkerFailure:
    """An error on a worker, as data."""

    kind: str
    problem: str
    remedy: str = ""
    code: str = ""
    key: str | None = None

    @staticmethod
    def of(error: BaseException) -> WorkerFailure:
        if isinstance(error, AssayError):
            return WorkerFailure(type(error).__name__, error.problem, error.remedy, error.code, error.key)
        return WorkerFailure("", f"a worker failed with {error!r}.", "The worker's output has the details.")

    def error(self) -> AssayError:
        for kind in (UsageError, DataError, ModelError):
            if kind.__name__ == self.kind:
                return kind(self.problem, self.remedy, code=self.code, key=self.key)
        return ModelError(self.problem, self.remedy, code="worker-failed")


@dataclass(frozen=True)
class JobFolder:
    """The files of a job."""

    path: Path

    @property
    def file(self) -> Path:
        return self.path / "job.json"

    @property
    def arrays(self) -> ArrayStore:
        return ArrayStore(self.path / "arrays")

    @property
    def store(self) -> BlockStore:
        """Blocks by their token budget, which stands for the key."""
        return BlockStore(self.path / "blocks")

    def done(self) -> dict[range, int]:
        """The computed blocks, with the token budget of each."""
        files = files_matching(self.path, "blocks/*/*/*.block")
        return {block: int(path.parent.name) for block, path in _ranges(files) if _WHOLE.fullmatch(path.parent.name)}

    def claims(self) -> dict[range, int]:
        """The claimed blocks, with the number of the last try of each."""
        tries: dict[range, int] = {}
        for block, path in _ranges(files_matching(self.path, "claims/*-*.*")):
            if _WHOLE.fullmatch(path.suffix[1:]):
                tries[block] = max(tries.get(block, 0), int(path.suffix[1:]))
        return tries

    def claim(self, block: range, number: int) -> Path:
        return self.path / "claims" / f"{_name(block)}.{number}"

    def failures(self) -> dict[range, WorkerFailure]:
        return {
            block: _read(path, WorkerFailure) for block, path in _ranges(files_matching(self.path, "failed/*.json"))
        }

    def has_failed(self) -> bool:
        return any(_ranges(files_matching(self.path, "failed/*.json")))

    def fail(self, block: range, failure: WorkerFailure) -> None:
        _write(self.path / "failed" / f"{_name(block)}.json", failure)

    def refusals(self) -> list[WorkerFailure]:
        return [_read(path, WorkerFailure) for path in sorted(files_matching(self.path, "refused/*.json"))]

    def refuse(self, failure: WorkerFailure) -> None:
        _write(self.path / "refused" / f"{worker_name()}.json", failure)

    def post(self, job: Job) -> None:
        (self.path / "claims").mkdir(parents=True, exist_ok=True)  # workers do not create it: the job may be gone
        _write(self.file, job)

    def read(self) -> Job:
        return _read(self.file, Job)

    def forget(self, block: range) -> None:
        """Have a block computed again, whatever became of it."""
        name = _name(block)
        for pattern in (f"blocks/*/*/{name}-*.block", f"claims/{name}.*"):
            for path in files_matching(self.path, pattern):
                path.unlink(missing_ok=True)
        (self.path / "failed" / f"{name}.json").unlink(missing_ok=True)

    def begin_again(self) -> None:
        """Forget why blocks failed and who refused: a driver that starts wants to know what is so now."""
        for block, _ in _ranges(files_matching(self.path, "failed/*.json")):
            self.forget(block)
        shutil.rmtree(self.path / "refused", ignore_errors=True)

    def remove(self) -> None:
        self.file.unlink(missing_ok=True)  # first: from now on it is no job
        shutil.rmtree(self.path, ignore_errors=True)


def new(request: ExecutorRequest) -> SharedFolderExecutor:
    request.require_no_workers()
    return SharedFolderExecutor(Path(request.address).expanduser())


@dataclass
class SharedFolderExecutor:
    """Has blocks computed by the workers of a shared folder; it computes none itself.

    A job stays in the folder if this process ends early: workers finish it, and the same command takes the blocks from
    there. After `alone` seconds without a worker there is a warning.
    """

    folder: Path
    alone: float = ALONE
    _told: set[str] = field(default_factory=set, repr=False)

    def run(
        self, model: ModelSpec, plan: AnyPlan, blocks: Iterable[range], settings: EngineSettings, arrays: ArraySource
    ) -> Iterator[ComputedBlock]:
        blocks = list(blocks)
        key, ranges = block_key(model, plan, settings), tuple((block.start, block.stop) for block in blocks)
        job = Job(FORMAT, key, model, to_data(plan), plan.digest, settings, ranges)
        folder, remaining, pause = JobFolder(self.folder / key), set(blocks), pauses()
        with self._only_driver(folder):
            folder.begin_again()
            began, posted = time.monotonic(), False
            while remaining:
                looked = time.monotonic()
                if not posted or not folder.file.exists():  # somebody may have removed it
                    if isinstance(plan, ArrayPlan):
                        folder.arrays.keep(arrays.load(plan.arrays))
                    folder.post(job)
                    posted = True
                done = folder.done()
                looking = time.monotonic() - looked
                for block in sorted(remaining & done.keys(), key=lambda block: block.start):
                    computed = _taken(folder, plan, arrays, block, done[block])
                    if computed is not None:
                        remaining.remove(block)
                        pause = pauses()
                        yield computed
                if remaining:
                    self._tell(folder, time.monotonic() - began)
                    time.sleep(max(next(pause), looking))
            folder.remove()

    def forget(self, key: str) -> None:
        """Remove the job of a driver that was killed when it had stored all blocks."""
        folder = JobFolder(self.folder / key)
        if folder.path.is_dir():
            with contextlib.suppress(UsageError), self._only_driver(folder):  # else another driver has it
                folder.remove()

    @contextlib.contextmanager
    def _only_driver(self, folder: JobFolder) -> Iterator[None]:
        """Hold the job: two drivers would overwrite each other's."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            remedy = "Choose another folder: --executor work:DIR."
            problem = f"cannot be created ({error.strerror})."
            raise UsageError(problem, remedy, code="cannot-write", file=self.folder) from None
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(held(folder.path, "waiting for the same answers"))
            except UsageError as error:
                wait = "Wait until it is finished, or choose" if error.code == "in-use" else "Choose"
                remedy = f"{wait} another folder: --executor work:DIR."
                raise UsageError(error.problem, remedy, code=error.code) from None
            yield

    def _tell(self, folder: JobFolder, waited: float) -> None:
        """Raise the error that a worker ended with; warn about workers that refuse, and if there are none."""
        for failure in folder.failures().values():
            raise failure.error()
        for refusal in folder.refusals():
            self._warn(f"{refusal.problem} {refusal.remedy}")
        if waited > self.alone and not folder.claims():
            self._warn(f"no worker has begun yet. Start some: assay work {self.folder}")

    def _warn(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            warnings.warn(text, stacklevel=2)


def _taken(folder: JobFolder, plan: AnyPlan, arrays: ArraySource, block: range, budget: int) -> ComputedBlock | None:
    """A computed block; a damaged one is None and will be computed again. Raises a DataError if the worker's questions
    were others, as its files may differ.
    """
    try:
        stored = folder.store.read(str(budget), block.start, block.stop)
    except BadBlockError as error:
        warnings.warn(f"{error}; its questions are asked again.", stacklevel=2)
        stored = None
    if stored is None:
        folder.forget(block)
        return None
    read = stored[0]
    if read.queries != columns_of(plan, arrays, block.start, block.stop).digest():
        folder.forget(block)
        problem = f"a worker answered other questions than {block.start} to {block.stop} here."
        remedy = "Use the same version of assay and the same data on every machine; then run the same command again."
        raise DataError(problem, remedy, code="changed-file", file=folder.path)
    return ComputedBlock(block.start, block.stop, read.queries, read.answers, budget)


def pauses() -> Iterator[float]:
    """Seconds to wait between looks into a folder: longer each time, up to one."""
    seconds = 0.02
    while True:
        yield seconds
        seconds = min(1.0, 1.5 * seconds)


def worker_name() -> str:
    """This process, for people who read the folder."""
    return f"{platform.node()}-{os.getpid()}"


def _name(block: range) -> str:
    return f"{block.start:010d}-{block.stop:010d}"


def _ranges(files: Iterable[Path]) -> Iterator[tuple[range, Path]]:
    """Files that are named after blocks, with these; others are not assay's."""
    for file in files:
        if name := _OF_BLOCK.fullmatch(file.name):
            yield range(int(name[1]), int(name[2])), file


def _write(path: Path, content: Any) -> None:
    write_atomically(path, msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")


def _read(path: Path, kind: type[T]) -> T:
    try:
        return json_typed(read_whole(path), kind)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        remedy = "Use the same version of assay everywhere."
        raise DataError(f"cannot be read ({reason(error)}).", remedy, code="bad-value", file=path) from None
