"""A worker: takes up blocks of the jobs in a shared folder (`shared_folder.py`) and computes them, one after another.

A job is plain data, and whoever can write into the folder can post one. So a worker loads code or pickled weights that
come with a model only if it was allowed to when it was started.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.asking.plan import AnyPlan
from assay.engine.executor import MAX_WORKER_DEATHS, EngineSettings, LocalExecutor, block_key
from assay.engine.plan_json import of_data
from assay.engine.shared_folder import FORMAT, LEASE, JobFolder, WorkerFailure, pauses, worker_name
from assay.engine.store import ArrayStore, files_matching
from assay.errors import AssayError, DataError, ModelError, UsageError
from assay.files.opening import open_regular
from assay.models.base import AnyModel, ModelSpec, Options
from assay.results.formatting import plural


@dataclass(frozen=True)
class _LoadedJob:
    """A job that this worker can take part in; the model is as it was found here."""

    folder: JobFolder
    blocks: tuple[range, ...]
    model: ModelSpec
    plan: AnyPlan
    settings: EngineSettings
    arrays: ArrayStore


@dataclass
class SharedFolderWorker:
    """Computes blocks of the jobs in `folder`.

    `find` finds a model by its name, and `load` loads it; `allowed` are the options of this worker, of which it takes
    the threads and what may be loaded. `say` gets a line about each job. A claim that is not renewed for `lease`
    seconds is taken over.
    """

    folder: Path
    find: Callable[[str, Options], ModelSpec]
    load: Callable[[ModelSpec], AnyModel]
    allowed: Options = field(default_factory=Options)
    lease: float = LEASE
    say: Callable[[str], None] = lambda line: None
    _jobs: dict[Path, tuple[int, _LoadedJob | None]] = field(default_factory=dict, repr=False)
    _models: dict[ModelSpec, ModelSpec | WorkerFailure] = field(default_factory=dict, repr=False)
    _watch: dict[Path, tuple[int, float]] = field(default_factory=dict, repr=False)
    _held: dict[range, Path] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._local = LocalExecutor(self.load)

    def work(self, idle: float | None = None) -> int:
        """Compute until there was nothing to do for `idle` seconds (None: for ever); returns the number of blocks."""
        total, pause, since = 0, pauses(), time.monotonic()
        with self._renewing():
            while True:
                computed = next(filter(None, map(self._take_part, self._ready())), 0)
                if computed:
                    total, pause, since = total + computed, pauses(), time.monotonic()
                elif idle is not None and time.monotonic() - since >= idle:
                    return total
                else:
                    time.sleep(next(pause))

    # --- which jobs

    def _ready(self) -> Iterator[_LoadedJob]:
        """The jobs that this worker can take part in, the oldest first."""
        posted_jobs: list[tuple[int, Path]] = []
        for path in files_matching(self.folder, "*/job.json"):
            with contextlib.suppress(OSError):  # it is finished
                posted_jobs.append((path.stat().st_mtime_ns, path))
        if not posted_jobs:
            self._watch.clear()
        self._jobs = {path: job for path, job in self._jobs.items() if (job[0], path) in posted_jobs}
        for posted, path in sorted(posted_jobs):
            if path not in self._jobs:
                self._jobs[path] = posted, self._prepared(JobFolder(path.parent))
            ready = self._jobs[path][1]
            if ready is not None:
                yield ready

    def _prepared(self, folder: JobFolder) -> _LoadedJob | None:
        """A job with its model and plan, or None after saying why this worker does not take part."""
        try:
            job = folder.read()
        except FileNotFoundError:  # it is finished
            return None
        except DataError as error:
            self._refuse(folder, self._failure(error))
            return None
        try:
            model = self._found(job.model)
            plan = of_data(job.plan, job.plan_digest)
            if job.format != FORMAT or block_key(model, plan, job.settings) != job.key:
                remedy = "Install the same version of assay on every machine."
                raise UsageError("another version of assay posted this job.", remedy, code="unsupported")
            blocks = tuple(range(lo, hi) for lo, hi in job.blocks)
            return _LoadedJob(folder, blocks, model, plan, job.settings, folder.arrays)
        except Exception as error:  # whatever files, models and packages of others raise: only this job is concerned
            self._refuse(folder, self._failure(error))
            return None

    def _found(self, spec: ModelSpec) -> ModelSpec:
        """The same model as it is here."""
        if spec not in self._models:
            try:
                self._models[spec] = self._find(spec)
            except Exception as error:  # as above; it is not looked for again, which can take long
                self._models[spec] = self._failure(error)
        model = self._models[spec]
        if isinstance(model, WorkerFailure):
            raise model.error()
        return model

    def _find(self, posted: ModelSpec) -> ModelSpec:
        if posted.endpoint is not None:
            remedy = "Ask it without --executor."
            raise UsageError(f"{posted.name} is an endpoint, which workers do not ask.", remedy, code="unsupported")
        for is_needed, is_allowed, option in [
            (posted.trust_remote_code, self.allowed.trust_remote_code, "--trust-remote-code"),
            (posted.allow_pickle, self.allowed.allow_pickle, "--allow-pickle"),
        ]:
            if is_needed and not is_allowed:
                problem = f"{posted.name} may run code, which this worker does not allow."
                raise UsageError(problem, f"assay work DIR {option}", code="unsafe-weights", key=option)
        options = replace(
            self.allowed,
            device=posted.device.partition(":")[0],  # its number is of another machine
            dtype=posted.dtype,
            trust_remote_code=posted.trust_remote_code,
            allow_pickle=posted.allow_pickle,
            threads=self.allowed.threads or posted.threads or None,
        )
        model = self.find(posted.name, options)
        if model.digest != posted.digest:
            problem = f"{posted.name} has other weights or another tokenizer here than where the run was started."
            remedy = "Copy the same files to this machine, or name a folder that all machines share."
            raise ModelError(problem, remedy, code="damaged-model", key=posted.name)
        return model

    def _failure(self, error: Exception) -> WorkerFailure:
        """An error as data; this worker's output gets the traceback of one that nobody foresaw."""
        if not isinstance(error, AssayError):
            self.say("".join(traceback.format_exception(error)))
        return WorkerFailure.of(error)

    def _refuse(self, folder: JobFolder, failure: WorkerFailure) -> None:
        """Tell the driver and the reader of this worker's output."""
        refusal = replace(failure, problem=f"worker {worker_name()} does not take part: {failure.problem}")
        with contextlib.suppress(OSError, AssayError):  # the job may be gone
            folder.refuse(refusal)
        warnings.warn(f"{refusal.problem} {failure.remedy}", stacklevel=2)

    # --- which blocks

    def _take_part(self, ready: _LoadedJob) -> int:
        """Compute blocks of a job until all are claimed; returns how many."""
        claimed, computed, questions = self._claimed(ready), 0, 0
        first = next(claimed, None)
        if first is None:
            return 0
        try:
            self._local.model(ready.model)
        except Exception as error:  # as in _prepared
            self._release()
            self._refuse(ready.folder, self._failure(error))
            self._jobs[ready.folder.file] = self._jobs[ready.folder.file][0], None
            return 0

        def blocks() -> Iterator[range]:
            yield first
            yield from claimed

        try:
            for block in self._local.run(ready.model, ready.plan, blocks(), ready.settings, ready.arrays):
                if ready.folder.file.exists():  # else the driver has everything
                    ready.folder.store.write(str(block.budget), block)
                del self._held[range(block.lo, block.hi)]
                computed, questions = computed + 1, questions + block.hi - block.lo
        except Exception as error:
            if not self._held:
                raise
            if ready.folder.file.exists():  # else the job is gone, which may be the error
                failed = next(iter(self._held))  # they are computed in the order in which they were claimed
                del self._held[failed]  # its claim stays: nobody else is to try
                ready.folder.fail(failed, self._failure(error))
                warnings.warn(f"questions {failed.start} to {failed.stop}: {error}", stacklevel=2)
        finally:
            self._release()
        self.say(f"{ready.model.name}: {plural(computed, 'block')} computed ({plural(questions, 'question')})")
        return computed

    def _claimed(self, ready: _LoadedJob) -> Iterator[range]:
        """Claims blocks one by one: first those that nobody has, then those of workers that died.

        A job with a failed block rests, as the driver ends with that error, until a driver posts it again.
        """
        folder = ready.folder
        claims, done = folder.claims(), folder.done()
        for block in ready.blocks:
            if folder.has_failed():
                return
            if block not in claims and block not in done:
                if self._claim(folder, block, 1):
                    yield block
                else:
                    claims = folder.claims()  # another worker was faster: see what else it has
        claims, done = folder.claims(), folder.done()
        for block in ready.blocks:
            if block in claims and block not in done and self._is_stale(folder.claim(block, claims[block])):
                done = folder.done()
                if folder.has_failed():
                    return
                if block in done:
                    continue
                if claims[block] >= MAX_WORKER_DEATHS:
                    workers = plural(MAX_WORKER_DEATHS, "worker")
                    problem = f"{workers} died while computing questions {block.start} to {block.stop}."
                    remedy = "Look into their output, for example for missing memory; then run the same command again."
                    folder.fail(block, WorkerFailure("ModelError", problem, remedy, "worker-died"))
                elif self._claim(folder, block, claims[block] + 1):
                    yield block

    def _claim(self, folder: JobFolder, block: range, number: int) -> bool:
        """Claim a block, unless another worker has or the job is gone."""
        path = folder.claim(block, number)
        try:
            with path.open("xb") as file:
                file.write(worker_name().encode())
        except (FileExistsError, FileNotFoundError):
            return False
        except OSError as error:
            problem, remedy = f"cannot be written ({error.strerror}).", "Workers must be able to write to the folder."
            raise UsageError(problem, remedy, code="cannot-write", file=path) from None
        self._held[block] = path
        return True

    def _is_stale(self, claim: Path) -> bool:
        """Whether a claim has not changed for the time of a lease, by this machine's clock alone."""
        try:
            with open_regular(claim) as file:  # network file systems ask the server when a file is opened
                renewed = os.fstat(file.fileno()).st_mtime_ns
        except OSError:
            return False
        before, since = self._watch.get(claim, (None, 0.0))
        if renewed != before:
            self._watch[claim] = renewed, time.monotonic()
            return False
        return time.monotonic() - since >= self.lease

    def _release(self) -> None:
        """Give up claims that were not computed."""
        for path in self._held.values():
            with contextlib.suppress(OSError):
                path.unlink()
        self._held.clear()

    @contextlib.contextmanager
    def _renewing(self) -> Iterator[None]:
        """Renew the claims that are held, in a thread."""
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(min(5.0, self.lease / 4)):
                for path in list(self._held.values()):
                    with contextlib.suppress(OSError):
                        os.utime(path)

        thread = threading.Thread(target=renew, name="assay-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
