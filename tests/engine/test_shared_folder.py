"""Workers in a shared folder: the same bytes as in one process, whoever dies; one worker for a block; refusals."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.asking.plan import TokenPlan, WordPlan
from assay.engine.executor import MAX_WORKER_DEATHS, ComputedBlock, EngineSettings, LocalExecutor, block_key
from assay.engine.plan_json import of_data, to_data
from assay.engine.shared_folder import Job, JobFolder, SharedFolderExecutor
from assay.engine.shared_folder_worker import SharedFolderWorker
from assay.engine.store import StoredBlock
from assay.errors import DataError, ModelError, UsageError
from assay.models.base import AnyModel, Endpoint, ModelSpec, Options
from assay.probes.base import Request
from assay.probes.bbq.plan import AnsweringPlan, BBQPlan, WritingPlan
from assay.probes.bbq.prompts import FewShotExample, PromptWording
from assay.probes.bbq.source import ItemSample
from assay.probes.bbq_starter.method import StarterSource
from assay.probes.question_format import ListedQuestion, QuestionFormat
from assay.probes.sodapop.plans import FillPlan, LetterPlan, ScorePlan
from assay.probes.sodapop_names.method import NamePlan
from assay.probes.unqover.forms import ListedPlan
from assay.probes.unqover.plan import UnqoverPlan
from assay.runs.audit import audit, new_executor, prepare_audit
from fake_models import FakeModel, FakePlan, MemoryArrays, expected_values, fake_spec
from raising import raises

PLAN, SIZE = FakePlan(64), EngineSettings(block_size=8, token_budget=64)
BLOCKS = [range(lo, lo + 8) for lo in range(0, 64, 8)]
KEY = block_key(fake_spec(), PLAN, SIZE)


@pytest.fixture(autouse=True)
def _plans_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the fake plan's package had registered a probe."""
    monkeypatch.setattr("assay.engine.plan_json._packages", lambda: frozenset({"assay", "fake_models"}))


def a_worker(folder: Path, load: Callable[[ModelSpec], AnyModel] = FakeModel, **more: Any) -> SharedFolderWorker:
    return SharedFolderWorker(folder, lambda name, options: fake_spec(name), load, **more)


@contextmanager
def driving(folder: Path, **more: Any) -> Iterator[Future[list[ComputedBlock]]]:
    """A driver of one job in a thread, which has posted it; it must have ended when the block ends."""
    driver = SharedFolderExecutor(folder, **more)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: list(driver.run(fake_spec(), PLAN, BLOCKS, SIZE, MemoryArrays())))
        wait_for(lambda: JobFolder(folder / KEY).file.exists() or running.done())
        yield running
        running.result(timeout=20) if not running.done() else None


@contextmanager
def telling() -> Iterator[list[str]]:
    """What is warned about, in any thread."""
    told: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *rest, **more: told.append(str(message))
        yield told


def wait_for(happened: Callable[[], object], seconds: float = 20.0) -> None:
    ends = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.005)


def require_right(blocks: list[ComputedBlock]) -> None:
    blocks = sorted(blocks, key=lambda block: block.lo)
    assert [range(block.lo, block.hi) for block in blocks] == BLOCKS
    assert np.array_equal(np.concatenate([block.answers["value"] for block in blocks]), expected_values(PLAN))


# --- one job


def test_a_worker_computes_what_the_driver_waits_for(tmp_path: Path) -> None:
    with driving(tmp_path) as running:
        assert a_worker(tmp_path).work(idle=0.2) == len(BLOCKS)
        require_right(running.result(timeout=20))
    assert list(tmp_path.iterdir()) == [], "a finished job is removed"


def test_several_workers_compute_every_block_once(tmp_path: Path) -> None:
    workers = [a_worker(tmp_path) for _ in range(4)]
    with driving(tmp_path) as running, ThreadPoolExecutor(4) as pool:
        computed = list(pool.map(lambda worker: worker.work(idle=0.3), workers))
    assert sum(computed) == len(BLOCKS)
    require_right(running.result())


def test_a_block_has_the_budget_that_its_worker_used(tmp_path: Path) -> None:
    with driving(tmp_path) as running:
        a_worker(tmp_path, lambda spec: FakeModel(spec, most_tokens=40)).work(idle=0.2)
    assert {block.budget for block in running.result()} == {32}


@pytest.mark.slow
def test_a_removed_job_is_posted_again(tmp_path: Path) -> None:
    with driving(tmp_path) as running:
        JobFolder(tmp_path / KEY).remove()
        wait_for(JobFolder(tmp_path / KEY).file.exists)
        a_worker(tmp_path).work(idle=0.5)
    require_right(running.result())


def test_two_drivers_do_not_wait_for_the_same_answers(tmp_path: Path) -> None:
    with driving(tmp_path) as running:
        with raises("in-use", UsageError) as refused:
            next(SharedFolderExecutor(tmp_path).run(fake_spec(), PLAN, BLOCKS, SIZE, MemoryArrays()))
        assert "work:DIR" in refused.value.remedy
        a_worker(tmp_path).work(idle=0.2)
    require_right(running.result())


def test_without_a_worker_the_driver_says_how_to_start_one(tmp_path: Path) -> None:
    with telling() as told, driving(tmp_path, alone=0.0):
        wait_for(lambda: told)
        a_worker(tmp_path).work(idle=0.2)
    assert told == [f"no worker has begun yet. Start some: assay work {tmp_path}"]


# --- claims and leases


def test_of_workers_that_race_for_a_claim_exactly_one_gets_it(tmp_path: Path) -> None:
    place, rng = JobFolder(tmp_path / "job"), random.Random(20261116)
    (place.path / "claims").mkdir(parents=True)
    workers, together = [a_worker(tmp_path) for _ in range(8)], threading.Barrier(8)

    def race(worker: SharedFolderWorker) -> list[tuple[range, int]]:
        won = []
        for number in (1, 2):  # a first claim, and the takeover of one
            for block in BLOCKS:
                together.wait()
                if worker._claim(place, block, number):
                    won.append((block, number))
        return won

    rng.shuffle(workers)
    with ThreadPoolExecutor(8) as pool:
        won = [each for one in pool.map(race, workers) for each in one]
    assert sorted(won, key=str) == sorted(((block, number) for block in BLOCKS for number in (1, 2)), key=str)


@pytest.mark.slow
def test_a_dead_workers_block_is_taken_over_after_the_lease_and_not_before(tmp_path: Path) -> None:
    place = JobFolder(tmp_path / KEY)
    with driving(tmp_path) as running:
        place.claim(BLOCKS[3], 1).write_text("dead")
        began = time.monotonic()
        worker = a_worker(tmp_path, lease=1.0)
        assert worker.work(idle=0.1) == len(BLOCKS) - 1
        assert BLOCKS[3] not in place.done()
        assert worker.work(idle=2.2) == 1
        require_right(running.result(timeout=20))
        assert time.monotonic() - began >= 1.0


@pytest.mark.slow
def test_a_stale_claim_is_taken_over_by_one_worker(tmp_path: Path) -> None:
    place, workers = JobFolder(tmp_path / KEY), [a_worker(tmp_path, lease=0.6) for _ in range(6)]
    with driving(tmp_path) as running, ThreadPoolExecutor(6) as pool:
        for block in BLOCKS:
            place.claim(block, 1).write_text("dead")
        computed = list(pool.map(lambda worker: worker.work(idle=1.6), workers))
    assert sum(computed) == len(BLOCKS)
    require_right(running.result())


@pytest.mark.slow
def test_a_claim_is_renewed_while_its_block_is_computed(tmp_path: Path) -> None:
    begun = threading.Event()

    @dataclass
    class Slow(FakeModel):
        waits: list[float] = field(default_factory=lambda: [2.6])

        def forward(self, tokens: Any) -> Any:
            begun.set()
            time.sleep(self.waits.pop() if self.waits else 0.0)
            return super().forward(tokens)

    with driving(tmp_path) as running, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(a_worker(tmp_path, Slow, lease=0.8).work, 0.5)
        begun.wait(10)
        quick = a_worker(tmp_path, lease=0.8).work(idle=1.8)  # longer than the lease, with nothing to take over
        assert quick == len(BLOCKS) - 2, "the other worker has one in the works and one at hand"
        assert slow.result(timeout=20) == 2
    require_right(running.result())


def test_a_lease_does_not_depend_on_clocks_that_are_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, claim, now = a_worker(tmp_path, lease=60.0), tmp_path / "claim", [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    claim.write_text("another worker")
    for moment in (2e9, 1e9, 3e9):  # the clock of its machine is set back and forth, while it renews its claim
        os.utime(claim, (moment, moment))
        assert not worker._is_stale(claim)
        now[0] += 59.0
        assert not worker._is_stale(claim)
    now[0] += 2.0
    assert worker._is_stale(claim)


@pytest.mark.kill
def test_a_block_that_kills_its_workers_ends_the_run_and_is_tried_again_by_the_next(tmp_path: Path) -> None:
    place = JobFolder(tmp_path / KEY)
    driver = SharedFolderExecutor(tmp_path).run(fake_spec(), PLAN, BLOCKS, SIZE, MemoryArrays())
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(list, driver)
        wait_for(place.file.exists)
        for number in range(1, MAX_WORKER_DEATHS + 1):
            place.claim(BLOCKS[3], number).write_text("dead")
        a_worker(tmp_path, lease=0.2).work(idle=0.8)
        with raises("worker-died", ModelError) as failed:
            running.result(timeout=20)
    assert "questions 24 to 32" in failed.value.problem
    with driving(tmp_path) as again:
        assert a_worker(tmp_path).work(idle=0.3) == 1, "the other blocks are there still"
    require_right(again.result())


# --- what goes wrong on a worker


@pytest.mark.slow
def test_a_worker_with_other_weights_refuses_once_and_the_others_go_on(tmp_path: Path) -> None:
    other = replace(fake_spec(), digest="0" * 64)
    with telling() as told, driving(tmp_path) as running:
        refusing = SharedFolderWorker(tmp_path, lambda name, options: other, FakeModel)
        assert refusing.work(idle=0.3) == 0
        wait_for(lambda: len(told) == 2)
        assert a_worker(tmp_path).work(idle=0.2) == len(BLOCKS)
    require_right(running.result())
    assert len(told) == 2, "the worker's own message, and the driver's"
    assert told[0] == told[1]
    assert "does not take part: fake:one has other weights" in told[0]


@pytest.mark.parametrize("permission", ["trust_remote_code", "allow_pickle"])
def test_a_job_alone_does_not_permit_code_of_a_model(tmp_path: Path, permission: str) -> None:
    wanted = replace(fake_spec(), **{permission: True})
    JobFolder(tmp_path / KEY).post(Job(1, KEY, wanted, to_data(PLAN), PLAN.digest, SIZE, ((0, 8),)))
    with pytest.warns(UserWarning, match="may run code"):
        assert a_worker(tmp_path).work(idle=0.05) == 0
    permitted: dict[str, Any] = {permission: True}
    assert a_worker(tmp_path, allowed=Options(**permitted)).work(idle=0.05) == 1


def test_a_worker_loads_the_model_for_its_own_device_and_threads(tmp_path: Path) -> None:
    asked: list[Options] = []

    def find(name: str, options: Options) -> ModelSpec:
        asked.append(options)
        return fake_spec(name, device=options.device)

    far = fake_spec(device="cuda:3")
    key = block_key(far, PLAN, SIZE)
    JobFolder(tmp_path / key).post(Job(1, key, far, to_data(PLAN), PLAN.digest, SIZE, ((0, 8), (8, 16))))
    assert SharedFolderWorker(tmp_path, find, FakeModel, Options(threads=2)).work(idle=0.05) == 2
    assert asked == [Options(device="cuda", dtype="float32", threads=2)], "it is found once"


@pytest.mark.slow
def test_an_error_of_the_model_is_the_drivers_error(tmp_path: Path) -> None:
    class Broken(FakeModel):
        def forward(self, tokens: Any) -> Any:
            raise ModelError("its scores are not numbers.", "Choose another.", code="bad-scores", key="scores")

    with telling() as told, driving(tmp_path) as running:
        assert a_worker(tmp_path, Broken).work(idle=0.2) == 0
        with raises("bad-scores", ModelError, key="scores"):
            running.result(timeout=20)
    assert told == ["questions 0 to 8: its scores are not numbers.\nChoose another."], "it tries no other block"
    with driving(tmp_path) as again:  # its model is in order now
        a_worker(tmp_path).work(idle=0.3)
    require_right(again.result())


def test_any_other_error_names_the_worker_as_its_place(tmp_path: Path) -> None:
    class Broken(FakeModel):
        def encode(self, columns: Any) -> Any:
            raise ZeroDivisionError("oh")

    said: list[str] = []
    with telling(), driving(tmp_path) as running:
        a_worker(tmp_path, Broken, say=said.append).work(idle=0.2)
        with raises("worker-failed", ModelError) as failed:
            running.result(timeout=20)
    assert "ZeroDivisionError('oh')" in failed.value.problem
    assert any("Traceback" in line and "in encode" in line for line in said)


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_keeps_only_its_worker_away(tmp_path: Path) -> None:
    def load(spec: ModelSpec) -> AnyModel:
        raise UsageError("no such device.", "Choose another.", code="no-device")

    with telling() as told, driving(tmp_path) as running:
        assert a_worker(tmp_path, load).work(idle=0.2) == 0
        assert a_worker(tmp_path).work(idle=0.2) == len(BLOCKS)
    require_right(running.result())
    assert all("no such device. Choose another." in each for each in told)
    assert told


def test_a_damaged_block_is_computed_again(tmp_path: Path) -> None:
    place = JobFolder(tmp_path / KEY)
    path = place.store.path(StoredBlock("64", 0, 8, "0" * 64))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"damaged")
    with telling() as told, driving(tmp_path) as running:
        a_worker(tmp_path).work(idle=0.3)
    require_right(running.result())
    assert told == [f"{path}: its checksum is wrong; its questions are asked again."]


def test_answers_to_other_questions_are_refused(tmp_path: Path) -> None:
    """As if a worker's copy of the data differed; its plan has the same digest."""
    other = replace(PLAN, accent="é")
    with driving(tmp_path) as running:
        place = JobFolder(tmp_path / KEY)
        for block in LocalExecutor(FakeModel).run(fake_spec(), other, BLOCKS[:1], SIZE, MemoryArrays()):
            place.store.write("64", block)
        with raises("changed-file", DataError):
            running.result(timeout=20)
    assert place.done() == {}


def test_endpoints_are_asked_from_one_process(tmp_path: Path) -> None:
    spec = replace(fake_spec(abilities=("choice",)), endpoint=Endpoint("x"))
    with raises("unsupported", UsageError, key="executor"):
        prepare_audit(
            spec, "bbq-starter", Request("quick", 10, 0, {}, None, False), executor=SharedFolderExecutor(tmp_path)
        )


def test_an_executor_is_named_with_its_folder(tmp_path: Path) -> None:
    assert new_executor(f"work:{tmp_path}") == SharedFolderExecutor(tmp_path)
    with raises("bad-option", UsageError, key="executor"):
        new_executor("work:")


# --- real processes

PROBES: dict[str, dict[str, Any]] = {
    "unqover": {"limit": 60, "settings": {"draws": "20", "resamples": "20"}},
    "bbq-starter": {"limit": 32, "settings": {"resamples": "20"}},
    "sodapop": {"limit": 200, "settings": {"resamples": "20", "permutations": "1000"}},
}
SHORT: dict[str, Any] = {"engine": EngineSettings(block_size=16), "options": Options(threads=1)}
DRIVE = ["run", "unqover", "--set", "draws=20", "--set", "resamples=20", "--threads", "1", "--block-size", "4"]


def start(*arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "assay", *map(str, arguments)], stderr=subprocess.DEVNULL)


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda name: monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / name))


@pytest.fixture
def expected(tmp_path: Path, cached: Callable[[str], None]) -> Callable[..., bytes]:
    """findings.json of a run in this process."""

    def run(probe: str, **other: Any) -> bytes:
        cached("cache-here")
        asked = {**PROBES[probe], **SHORT, **other}
        run = audit("builtin", probe, **asked, out=tmp_path / "here" / probe)
        return (run.folder / "findings.json").read_bytes()

    return run


@pytest.mark.slow
def test_findings_have_the_same_bytes_as_in_one_process(
    tmp_path: Path, cached: Callable[[str], None], expected: Callable[..., bytes]
) -> None:
    folder = tmp_path / "work"
    workers = [start("work", folder) for _ in range(2)]
    here = {probe: expected(probe) for probe in PROBES}
    cached("cache-there")
    try:
        for probe, asked in PROBES.items():
            elsewhere = SharedFolderExecutor(folder, alone=600)
            run = audit("builtin", probe, **asked, **SHORT, out=tmp_path / "there" / probe, executor=elsewhere)
            assert (run.folder / "findings.json").read_bytes() == here[probe], probe
    finally:
        for worker in workers:
            end(worker)
    assert list(folder.iterdir()) == []


@pytest.mark.kill
def test_killing_workers_and_the_driver_loses_nothing(
    tmp_path: Path, cached: Callable[[str], None], expected: Callable[..., bytes]
) -> None:
    """The driver and two workers are killed at random moments, and started again, until the run is finished."""
    rng, folder, out = random.Random(20261117), tmp_path / "work", tmp_path / "out"
    here = expected("unqover", limit=120, engine=EngineSettings(block_size=4))
    cached("cache-there")
    work = ["work", folder, "--lease", "1"]
    drive = [*DRIVE, "--limit", 120, "--executor", f"work:{folder}", "--out", out]
    store = tmp_path / "cache-there" / "blocks"
    running = {"driver": start(*drive), "one": start(*work), "two": start(*work)}

    def stored() -> set[Path]:
        return set(store.rglob("*.block"))

    try:
        for victim in ("one", "driver", "two"):
            before = len(stored())
            wait_for(lambda before=before: len(stored()) > before + 2, 60)
            time.sleep(rng.uniform(0.0, 0.2))
            end(running[victim])
            assert running[victim].returncode == -signal.SIGKILL, "it was at work"
            kept = {path: path.stat().st_mtime_ns for path in stored()}
            running[victim] = start(*(drive if victim == "driver" else work))
        assert running["driver"].wait(timeout=120) == 0
    finally:
        for process in running.values():
            end(process)
    assert (out / "findings.json").read_bytes() == here
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "a stored block was asked for again"
    assert list(folder.iterdir()) == []


@pytest.mark.kill
def test_a_worker_that_is_asked_to_end_gives_its_claims_back(tmp_path: Path, cached: Callable[[str], None]) -> None:
    cached("cache")
    folder = tmp_path / "work"
    driver = start(*DRIVE, "--limit", 400, "--executor", f"work:{folder}", "--out", tmp_path / "out")
    worker = start("work", folder)
    try:
        wait_for(lambda: len(list(folder.glob("*/blocks/*/*/*.block"))) > 8, 60)
        end(driver)  # else it would take the blocks and remove the job
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=20) == 128 + signal.SIGTERM
    finally:
        end(driver)
        end(worker)
    (job,) = (JobFolder(path) for path in folder.iterdir() if (path / "job.json").exists())
    assert set(job.claims()) <= set(job.done())
    assert len(job.done()) < len(job.read().blocks), "it had not finished"


def test_a_worker_ends_when_it_has_been_idle(tmp_path: Path) -> None:
    assert start("work", tmp_path / "nothing", "--exit-when-idle", "0.1").wait(timeout=30) == 0


@pytest.mark.parametrize("option", ["--lease", "--exit-when-idle"])
def test_times_are_positive(tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    from assay.cli import main

    assert main(["work", str(tmp_path), option, "0"]) == 2
    assert f"{option} is 0" in capsys.readouterr().err


# --- plans as data

QUESTION = ListedQuestion("Ann met Bo.", "Who slept?", ("Ann", "Bo"))
BBQ = BBQPlan(
    StarterSource(categories=("age",)),
    ItemSample(8, None, 3),
    "letters",
    wording=PromptWording(shots=(FewShotExample(QUESTION, 1),)),
)
GENDER = UnqoverPlan("gender", "span", "ab" * 32, cells=5, without=("Ann",))
ANSWERS = (("Ann",), (("Ann came.", "Who?"),), ("very", "kind"), ("", " ", "."), "ab" * 32, 3)


@pytest.mark.parametrize(
    "plan",
    [
        WordPlan(("a", "b")),
        TokenPlan((1, 2)),
        GENDER,
        ListedPlan(GENDER, "choice", QuestionFormat("samples", 3, chat=False)),
        BBQ,
        WritingPlan(BBQ),
        AnsweringPlan(BBQ, "ab" * 32, 4),
        FillPlan(*ANSWERS, 10),
        ScorePlan(*ANSWERS, chat=False),
        LetterPlan(*ANSWERS, QuestionFormat()),
        NamePlan(("[NAME] came.",), ("Ann",)),
    ],
    ids=lambda plan: type(plan).__name__,
)
def test_plans_of_all_probes_are_plain_data(plan: Any) -> None:
    import json

    again = of_data(json.loads(json.dumps(to_data(plan))), plan.digest)
    assert again == plan
    assert hash(again) == hash(plan)
    assert type(getattr(again, "source", None)) is type(getattr(plan, "source", None))


@pytest.mark.parametrize(
    "data",
    [
        {"is": "subprocess:Popen", "fields": {"args": ["true"]}},
        {"is": "assay.cli:main", "fields": {}},
        {"is": "assay.engine.store:Path", "fields": {}},
        {"is": "assay.asking.plan:WordPlan", "fields": {"words": [], "other": 1}},
        {"is": "assay.nowhere:WordPlan", "fields": {}},
        {"fields": {}},
        ["no plan"],
    ],
)
def test_nothing_but_records_of_assay_is_made_from_data(data: Any) -> None:
    with pytest.raises(DataError):
        of_data(data, "digest")


def test_a_plan_that_cannot_be_data_is_refused_before_anything_is_posted(tmp_path: Path) -> None:
    plan: Any = replace(PLAN, name=Path("words"))
    object.__setattr__(plan, "batch", [1])
    with raises("unsupported", UsageError, key="plan"):
        to_data(plan)
