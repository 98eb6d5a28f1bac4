"""Blocks computed by the workers of a Ray cluster: the same bytes, whatever dies.

One small cluster serves all tests of a process; some add machines to it. `make soak` sets ASSAY_SOAK_WORKER_KILLS to
50.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.asking.plan import WordPlan
from assay.asking.progress import SilentProgress
from assay.cli import main
from assay.engine.executor import ComputedBlock, EngineSettings, LocalExecutor
from assay.engine.ray_executor import RayExecutor, RayWorker, _BlockQueue, _WorkerHandle, places
from assay.errors import DataError, ModelError, UsageError
from assay.models import find_model, load, load_elsewhere
from assay.models.base import Options
from assay.runs.audit import audit, new_executor
from assay.runs.tour import tour
from fake_models import FakeModel, FakePlan, MemoryArrays, expected_values, fake_spec
from raising import raises
from ray_models import Deadly, Noting, Picky, Slow, small_memory

KILLS = int(os.environ.get("ASSAY_SOAK_WORKER_KILLS", "3"))
SMALL = EngineSettings(block_size=16, token_budget=64)
NO_ARRAYS = MemoryArrays()
SECRETS = ("OPENAI_API_KEY", "SOME_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_WORD", "HF_TOKEN")
ONE_THREAD = Options(threads=1)


@pytest.fixture(scope="session", autouse=True)
def _no_spare_processes() -> Iterator[None]:
    """Clusters start workers when there is something for them to do, not one for each CPU before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_enable_worker_prestart", "0")
        patch.setenv("RAY_prestart_worker_first_driver", "0")
        yield


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A cluster of one machine with two CPUs, to which this process is connected; nobody reads its logs."""
    ray = pytest.importorskip("ray", reason='needs Ray: pip install "assay-bias[ray]"')
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.engine.ray_executor.PATIENCE", 600.0)  # on a busy machine a worker starts late
        ours = str(Path(__file__).parents[1])  # where workers find ray_models
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [ours, os.environ.get("PYTHONPATH")])))
        with pytest.MonkeyPatch.context() as secrets:
            for name in SECRETS:
                secrets.setenv(name, "of whoever started the cluster")
            head = {"num_cpus": 2, "include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
            made = Cluster(initialize_head=True, head_node_args=head)
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
        yield made
        ray.shutdown()
        made.shutdown()


@pytest.fixture
def more(cluster: Any) -> Iterator[Callable[..., Any]]:
    """`more(num_cpus=…)` adds a machine to the cluster, for one test."""
    added: list[Any] = []

    def add(**resources: Any) -> Any:
        added.append(cluster.add_node(**resources))
        cluster.wait_for_nodes()
        return added[-1]

    yield add
    for node in added:
        if node in cluster.list_all_nodes():
            cluster.remove_node(node)


def blocks_of(plan: FakePlan) -> list[range]:
    return [range(lo, min(lo + 16, len(plan))) for lo in range(0, len(plan), 16)]


def computed(executor: RayExecutor, plan: FakePlan, spec: Any = None) -> list[ComputedBlock]:
    return list(executor.run(spec or fake_spec(), plan, blocks_of(plan), SMALL, NO_ARRAYS))


def wait_for_all(executor: RayExecutor, spec: Any = None) -> None:
    """Asks until every worker was ready."""
    while not executor.pool or not all(worker.pid for worker in executor.pool):
        list(executor.run(spec or fake_spec(), WordPlan(("word",)), [range(1)], SMALL, NO_ARRAYS))


def values_of(blocks: list[ComputedBlock]) -> Any:
    return np.concatenate([block.answers["value"] for block in sorted(blocks, key=lambda block: block.lo)])


def findings_in(folder: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("findings.json")}
    assert found
    return found


class Disturbing(SilentProgress):
    """A progress that does something when blocks came back."""

    def __init__(self, disturb: Callable[[], None]) -> None:
        self.disturb = disturb

    def advance(self, count: int, *, stored: bool = False) -> None:
        self.disturb()


# --- the same bytes


FEW: dict[str, Any] = {"limit": 32, "options": ONE_THREAD, "engine": EngineSettings(block_size=4)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The findings of a small tour, computed in this process."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(folder / "cache"))
        tour("builtin", out=folder / "tour", **FEW)
    found = findings_in(folder / "tour")
    assert len(found) == 3
    return found


@pytest.mark.ray
def test_a_tour_on_two_workers_of_this_machine_finds_the_same_bytes_and_leaves_nothing(
    undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    pytest.importorskip("ray", reason='needs Ray: pip install "assay-bias[ray]"')
    home = tmp_path / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if name not in ("RAY_ADDRESS", "XDG_CACHE_HOME")}
    command = [sys.executable, "-m", "assay", "run", "--limit", "32", "--threads", "1", "--block-size", "4"]
    command += ["--executor", "ray", "--workers", "2", "--out", str(tmp_path / "tour")]
    before = {*Path("/tmp").glob("assay-ray-*")}
    done = subprocess.run(command, env={**environment, "HOME": str(home)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert findings_in(tmp_path / "tour") == undisturbed
    key = home / ".ray" / "auth_token"  # of Ray's clusters, which it makes once for every user
    assert {path for path in home.rglob("*") if path.is_file()} <= {key}
    assert {*Path("/tmp").glob("assay-ray-*")} <= before
    assert "ray" not in done.stdout.replace("--executor ray", "").lower().split()


def test_a_machine_that_is_lost_in_the_middle_of_a_tour_changes_nothing(
    undisturbed: dict[str, bytes], more: Callable[..., Any], cluster: Any, tmp_path: Path
) -> None:
    """It is lost while some of its workers compute."""
    second, lost = more(num_cpus=2), 0
    with RayExecutor(load_elsewhere, workers=4) as executor:

        def lose() -> None:
            nonlocal lost
            if not lost and any(worker.node == second.node_id and worker.blocks for worker in executor.pool):
                lost = sum(worker.node == second.node_id for worker in executor.pool)
                cluster.remove_node(second)

        wait_for_all(executor, find_model("builtin", ONE_THREAD))
        tour("builtin", out=tmp_path / "tour", executor=executor, progress=Disturbing(lose), **FEW)
        assert lost
        assert second.node_id not in {worker.node for worker in executor.pool}
    assert findings_in(tmp_path / "tour") == undisturbed


def test_workers_that_are_killed_at_random_moments_change_nothing(
    cluster: Any, tmp_path: Path, record_property: Callable[[str, int], None]
) -> None:
    rng, kills, came = random.Random(20261116), 0, 0
    size: dict[str, Any] = {"limit": 64 + 32 * KILLS, "options": ONE_THREAD, "engine": EngineSettings(block_size=4)}
    few = {"class": "gender", "form": "span", "draws": "20", "resamples": "20"}  # one plan
    audit("builtin", "unqover", out=tmp_path / "undisturbed", settings=few, **size)
    shutil.rmtree(os.environ["ASSAY_CACHE"])
    with RayExecutor(load_elsewhere, workers=2) as executor:

        def kill() -> None:
            nonlocal kills, came
            came += 1
            busy = [worker for worker in executor.pool if worker.ready and worker.blocks]
            if came % 5 == 0 and kills < KILLS and busy:
                os.kill(rng.choice(busy).pid, signal.SIGKILL)
                kills += 1

        audit(
            "builtin",
            "unqover",
            out=tmp_path / "killed",
            settings=few,
            executor=executor,
            progress=Disturbing(kill),
            **size,
        )
    record_property("tried", kills)
    assert kills == KILLS
    assert findings_in(tmp_path / "killed") == findings_in(tmp_path / "undisturbed")


# --- workers


def test_models_take_turns_on_the_same_workers(cluster: Any) -> None:
    plan, other = FakePlan(64), FakePlan(40, "other words")
    with RayExecutor(Slow, workers=2) as executor:
        wait_for_all(executor)
        assert np.array_equal(values_of(computed(executor, plan)), expected_values(plan))
        pids = {worker.pid for worker in executor.pool}
        assert np.array_equal(values_of(computed(executor, other, fake_spec("fake:two"))), expected_values(other))
        assert np.array_equal(values_of(computed(executor, plan)), expected_values(plan))
        assert {worker.pid for worker in executor.pool} == pids


def test_a_plan_that_was_abandoned_does_not_disturb_the_next_one(cluster: Any) -> None:
    plan, other = FakePlan(160), FakePlan(64, "other words", accent="y")
    with RayExecutor(Slow, workers=2) as executor:
        abandoned = executor.run(fake_spec(), plan, blocks_of(plan), SMALL, NO_ARRAYS)
        next(abandoned)
        abandoned.close()  # type: ignore[attr-defined]  # a generator
        assert np.array_equal(values_of(computed(executor, other)), expected_values(other))


def test_a_block_that_kills_its_workers_is_named_after_four_of_them(cluster: Any, tmp_path: Path) -> None:
    plan, killed = FakePlan(96), tmp_path / "killed"
    word = plan.columns(40, 41).words[0]
    with (
        RayExecutor(Deadly(word, killed), workers=2) as executor,
        raises("worker-died", ModelError, key="32-48", exit_code=4),
    ):
        computed(executor, plan)
    assert len(set(killed.read_text().split())) == 4


def test_workers_that_die_while_loading_end_the_run(cluster: Any, tmp_path: Path) -> None:
    with (
        RayExecutor(Deadly("", tmp_path / "killed"), workers=2) as executor,
        raises("worker-died", ModelError, key="workers"),
    ):
        computed(executor, FakePlan(16))


def test_a_worker_that_finds_other_weights_refuses(
    cluster: Any, model_folder: Callable[..., Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(model_folder("span", "bert"), tmp_path / "model")
    spec = find_model(f"hf:{folder}", Options(device="cpu", threads=1))
    (folder / "config.json").write_text((folder / "config.json").read_text() + "\n")
    with RayExecutor(load_elsewhere, workers=1) as executor, raises("damaged-model", ModelError, exit_code=4):
        computed(executor, FakePlan(16), spec)


def test_an_error_of_a_worker_reaches_the_caller_as_it_is(cluster: Any) -> None:
    with RayExecutor(Picky, workers=1) as executor, raises("bad-text", DataError):
        computed(executor, FakePlan(16))


def test_blocks_after_one_that_ran_out_of_memory_begin_with_its_budget(cluster: Any) -> None:
    plan = FakePlan(160)
    with RayExecutor(small_memory, workers=1) as executor:
        found = list(executor.run(fake_spec(), plan, blocks_of(plan), EngineSettings(16, 100), NO_ARRAYS))
    assert {block.budget for block in found} == {25}
    assert np.array_equal(values_of(found), expected_values(plan))


def test_workers_are_placed_where_there_are_gpus_for_them(more: Callable[..., Any]) -> None:
    """The GPUs exist in Ray's books only."""
    two, one = more(num_cpus=2, num_gpus=2), more(num_cpus=2, num_gpus=1)
    spec, plan = fake_spec(device="cuda:1"), FakePlan(320)
    with RayExecutor(Slow) as executor:
        computed(executor, FakePlan(16))  # the run's other model needs none
        assert np.array_equal(values_of(computed(executor, plan, spec)), expected_values(plan))
        assert len(executor.pool) == 3
        wait_for_all(executor, spec)
        assert Counter(worker.node for worker in executor.pool) == {two.node_id: 2, one.node_id: 1}
    with RayExecutor(Slow, gpus=2) as executor:
        computed(executor, plan, spec)
        assert [worker.node for worker in executor.pool] == [two.node_id]


def noted(file: Path, when: str = "now") -> list[set[str]]:
    """Which of the secrets were there when a model was loaded, each time."""
    return [{*json.loads(line)[when]} & {*SECRETS} for line in file.read_text().splitlines()]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_of_an_existing_cluster_forget_its_secrets(cluster: Any, tmp_path: Path) -> None:
    """They know the hub's token from the first model of the hub on; nothing is sent to them."""
    hub = replace(fake_spec("fake:two"), revision="1a2b")
    with RayExecutor(Noting(tmp_path / "names"), workers=1, key_env="MY_WORD") as executor:
        computed(executor, FakePlan(16))
        computed(executor, FakePlan(16), hub)
        computed(executor, FakePlan(16))
    assert noted(tmp_path / "names") == [set(), {"HF_TOKEN"}, {"HF_TOKEN"}]
    assert noted(tmp_path / "names", "began") == [{*SECRETS}] * 3


@pytest.mark.ray
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_cluster_of_our_own_starts_without_secrets(tmp_path: Path) -> None:
    """Neither its workers nor the processes that start them have ever had them."""
    pytest.importorskip("ray", reason='needs Ray: pip install "assay-bias[ray]"')
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])
    own = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    own |= {**dict.fromkeys(SECRETS, "of the user"), "PYTHONPATH": paths, "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, program, tmp_path / "names"], env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert noted(tmp_path / "names", "began") == [set(), {"HF_TOKEN"}]
    assert {*said["local"]} & {*SECRETS} == set()
    assert {*said["hub"]} & {*SECRETS} == {"HF_TOKEN"}
    assert {*SECRETS} <= {*said["own"]}
    assert "HOME" in said["local"]


PROGRAM = """
import json, os, sys
from dataclasses import replace
from pathlib import Path
import psutil
from assay.engine.executor import EngineSettings
from assay.engine.ray_executor import RayExecutor
from fake_models import FakePlan, MemoryArrays, fake_spec
from ray_models import Noting

def names(model):
    "Of all processes below this one while the model is asked: every variable."
    plan = FakePlan(16)
    list(executor.run(model, plan, [range(16)], EngineSettings(block_size=16, token_budget=64), MemoryArrays()))
    return sorted({name for each in psutil.Process().children(recursive=True) for name in each.environ()})

with RayExecutor(Noting(Path(sys.argv[1])), workers=1, key_env="MY_WORD") as executor:
    local, hub = names(fake_spec()), names(replace(fake_spec("fake:two"), revision="1a2b"))
print(json.dumps({"local": local, "hub": hub, "own": sorted(os.environ)}))
"""


def test_more_workers_than_the_cluster_has_room_for_are_refused(cluster: Any) -> None:
    with RayExecutor(Slow, workers=3) as executor, raises("bad-option", UsageError, key="workers"):
        computed(executor, FakePlan(16))
    assert executor.pool == []


def test_an_address_without_a_cluster_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason='needs Ray: pip install "assay-bias[ray]"')
    monkeypatch.setattr(ray, "is_initialized", lambda: False)

    def init(**how: Any) -> None:
        raise ConnectionError("no cluster there\nand more")

    monkeypatch.setattr(ray, "init", init)
    with raises("bad-option", UsageError, key="executor") as failed:
        computed(RayExecutor(Slow, "10.0.0.1:6379"), FakePlan(16))
    assert "10.0.0.1:6379 (no cluster there)" in failed.value.problem


# --- without Ray


def test_a_worker_tokenises_the_next_block_while_it_computes_one() -> None:
    ahead = threading.Event()

    class Watched(FakeModel):
        def encode(self, columns: Any) -> Any:
            tokens = super().encode(columns)
            if len(self.encoded) == 2:
                ahead.set()
            return tokens

        def forward(self, tokens: Any) -> Any:
            assert ahead.wait(10), "the second block was not tokenised before the first one was answered"
            return super().forward(tokens)

    worker, plan = RayWorker(Watched), FakePlan(32)
    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(worker.compute, fake_spec(), plan, {}, block, SMALL) for block in blocks_of(plan)]
        found: Any = [call.result() for call in calls]
    assert np.array_equal(values_of(found), expected_values(plan))


def work_of(*blocks: range, died: dict[range, int] | None = None) -> _BlockQueue:
    return _BlockQueue(fake_spec(), FakePlan(96), deque(blocks), Counter(died or {}))


def test_a_worker_gets_blocks_only_when_it_is_ready_and_has_two_at_most() -> None:
    ready, loading = _WorkerHandle("a", ready=True), _WorkerHandle("b")
    blocks = blocks_of(FakePlan(96))
    work = work_of(*blocks)
    assert list(work.handed_out([loading, ready])) == [(ready, blocks[0]), (ready, blocks[1])]
    assert list(work.handed_out([loading, ready])) == []
    loading.ready = True
    assert list(work.handed_out([loading, ready])) == [(loading, blocks[2]), (loading, blocks[3])]


def test_blocks_are_spread_before_any_worker_gets_a_second_one() -> None:
    pool = [_WorkerHandle("a", ready=True), _WorkerHandle("b", ready=True)]
    given = [worker.actor for worker, _ in work_of(*blocks_of(FakePlan(48))).handed_out(pool)]
    assert given == ["a", "b", "a"]


def test_a_block_whose_worker_died_is_computed_by_a_worker_without_another_block() -> None:
    suspect, others = range(0, 16), [range(16, 32), range(32, 48)]
    busy, idle = _WorkerHandle("a", ready=True, blocks=[range(48, 64)]), _WorkerHandle("b", ready=True)
    given = list(work_of(suspect, *others, died={suspect: 1}).handed_out([busy, idle]))
    assert given == [(idle, suspect), (busy, others[0])]


def test_workers_that_die_while_loading_are_counted_in_their_place_since_one_was_ready_there() -> None:
    """So a lost machine with many workers does not end the run, whether they compute, load or wait."""
    was_ready = _WorkerHandle("a", pid=7)
    never = was_ready.replaced_by("b", fake_spec(), "gone")
    for actor in ("c", "d", "e"):
        never = never.replaced_by(actor, fake_spec(), "gone")
    with raises("worker-died", ModelError, key="workers"):
        never.replaced_by("f", fake_spec(), "gone")


@pytest.mark.parametrize(
    ("room", "asked", "expected"),
    [
        ([(2, 0.0)], (None, 0, 0), (1, 2)),  # one worker with all CPUs
        ([(2, 0.0)], (2, 0, 0), (2, 1)),
        ([(3, 0.0), (3, 0.0)], (3, 0, 0), (3, 1)),  # two CPUs each would leave one without a place
        ([(2, 0.0)], (None, 0, 1), (2, 1)),
        ([(0, 0.0), (8, 4.0)], (None, 1, 0), (4, 1)),
        ([(8, 1.0)], (None, 0.5, 0), (2, 1)),
        ([(4, 8.0)], (None, 1, 2), (2, 2)),
    ],
)
def test_how_many_workers_there_are_and_how_many_cpus_each_has(room: Any, asked: Any, expected: Any) -> None:
    assert places(room, *asked) == expected


@pytest.mark.parametrize("asked", [(3, 0, 0), (None, 1, 0), (None, 0, 4)])
def test_workers_without_a_place_are_refused(asked: Any) -> None:
    with raises("bad-option", UsageError, key="workers"):
        places([(2, 0.0)], *asked)


def test_a_missing_library_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with raises("not-installed", UsageError, key="ray") as failed:
        new_executor("ray")
    assert failed.value.remedy == 'pip install "assay-bias[ray]"'


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--workers", "2"], "--workers needs --executor ray"),
        (["--gpus-per-worker", "1"], "--gpus-per-worker needs --executor ray"),
        (["--executor", "ray", "--workers", "0"], "--workers is 0, expected at least 1"),
        (["--executor", "ray", "--workers", "many"], "'many' is neither a number nor auto"),
        (["--executor", "ray:"], "expected local, ray, ray:ADDRESS or work:DIR"),
        (["--executor", "ray", "--model", "api:m@http://127.0.0.1:9/v1"], "an endpoint is asked from this process"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) if "many" in options else nullcontext():  # argparse ends the program
        assert main(["run", "unqover", *options]) == 2
    assert said in capsys.readouterr().err


def test_the_variable_with_an_endpoints_key_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    executors = []

    def made(*named: Any) -> Any:
        executors.append(new_executor(*named))
        raise UsageError("enough.")

    pytest.importorskip("ray", reason='needs Ray: pip install "assay-bias[ray]"')
    monkeypatch.setattr("assay.runs.audit.new_executor", made)
    assert main(["run", "bbq-starter", "--executor", "ray", "--key-env", "MY_WORD"]) == 2
    (executor,) = executors
    assert isinstance(executor, RayExecutor)
    assert "MY_WORD" in executor._secrets


def test_the_runs_of_a_study_compute_with_the_executor_that_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    class Watched(LocalExecutor):
        def run(self, model: Any, plan: Any, *rest: Any) -> Any:
            asked.append(plan.ability)
            return super().run(model, plan, *rest)

    def made(*named: object) -> Watched:
        assert named == ("ray:auto", 3, 0.5, "")
        return Watched(load)

    monkeypatch.setattr("assay.runs.audit.new_executor", made)
    file = tmp_path / "mine.toml"
    file.write_text(
        '[study]\nname = "mine"\ntitle = "Mine"\n[models.one]\nspec = "builtin"\n'
        '[[runs]]\nprobe = "bbq-starter"\nmodels = ["one"]\nlimit = 8\n'
    )
    command = ["study", str(file), "--out", str(tmp_path / "study"), "--executor", "ray:auto"]
    command += ["--workers", "3", "--gpus-per-worker", "0.5"]
    assert main([*command, "--jobs", "2"]) == 2
    assert asked == []
    assert main(command) == 0
    assert asked == ["choice"]
