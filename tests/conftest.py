"""What all tests share: a cache of their own, a browser, tiny models made on the spot, the official data if present."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, settings

import selection
import tiny_models
from assay.models import builtin
from beginning.one_core import count_one_core
from golden_numbers import Golden
from nursery import MODULES, Nursery, nursery
from selection import OF_FIXTURES
from sharing import Shared
from small_tour import Toured, tour_in, write_tour
from tiny_models import ModelFolder

settings.register_profile("assay", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("assay")  # no test is about time: a busy machine is no failure

os.environ["HF_HUB_OFFLINE"] = "1"  # no test may reach for the network; huggingface_hub reads this when it is imported

Kind = Literal["span", "mask", "choice", "text", "causal"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden anew (its README.md says when)")


def pytest_configure(config: pytest.Config) -> None:
    """In several processes no library starts a thread for each core: those that wait for others cost minutes.

    Any process may use any core, so a cluster, a server or a browser has all of them while tests wait for it.

    What is collected stays, so there is no garbage to look for until that is done.
    """
    gc.disable()
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # a shell's background job, whose programs would ignore Ctrl-C, too
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(selection)  # the hooks of a conftest are for the files of its folder only
    if getattr(config.option, "numprocesses", None):
        os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    if "PYTEST_XDIST_WORKER" in os.environ:
        count_one_core()


EARLY = {"long", "ray", "server"}
"""Markers of what comes first, in one process: else two would have a cluster and a server each."""


@pytest.hookimpl(tryfirst=True)  # before pytest selects by markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for fixture in OF_FIXTURES.keys() & getattr(item, "fixturenames", ()):
            item.add_marker(OF_FIXTURES[fixture])
    items.sort(key=lambda item: EARLY.isdisjoint(marker.name for marker in item.iter_markers()))


MANY = 300
"""Modules whose objects are worth leaving out of garbage collection."""
_modules = 0
"""How many there were when it was done last."""


@pytest.hookimpl(tryfirst=True)  # the next garbage collection would be that of another plugin's hook
def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_runtest_setup() -> None:
    """Leave thousands of tests, and torch's modules, out of garbage collection, which every training begins itself."""
    global _modules
    if len(sys.modules) > _modules + MANY:
        gc.freeze()
        _modules = len(sys.modules)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """The numbers of tests/golden."""
    return Golden(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session", autouse=True)
def _never_wait_for_the_disk() -> Iterator[None]:
    """Here, and in programs, `os.fsync` only looks whether a file is open: more can be seen after a power cut alone."""
    beginning = str(Path(__file__).parent / "beginning")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [beginning, os.environ.get("PYTHONPATH")])))
        yield


@pytest.fixture(scope="session", autouse=True)
def _load_the_built_in_model_once() -> Iterator[None]:
    """Loading its graphs takes as long as a dozen answers, and a process of tests does it hundreds of times."""
    load = builtin._session
    kept = cache(lambda made_by, *how: load(*how))

    def once(graph: Path, threads: int) -> Any:
        library = sys.modules.get("onnxruntime")
        if library is None or graph.parent != builtin.FOLDER:
            return load(graph, threads)
        return kept(library.InferenceSession, graph, threads)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtin, "_session", once)
        yield


@pytest.fixture(scope="session")
def _rooms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """New folders, numbered; pytest, for the name of each of its own, reads the names of all that there are."""
    here = tmp_path_factory.mktemp("tests")
    return (here / str(number) for number in count())


@pytest.fixture
def _room(_rooms: Iterator[Path]) -> Path:
    """A folder for one test."""
    room = next(_rooms)
    room.mkdir()
    return room


@pytest.fixture
def tmp_path(_room: Path, request: pytest.FixtureRequest) -> Path:
    """An empty folder for one test."""
    folder = _room / re.sub(r"\W", "_", request.node.name)[:30]
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, _room: Path) -> None:
    """Every test has an empty block store, and none touches the user's."""
    cache = _room / "assay-cache"
    cache.mkdir()
    monkeypatch.setenv("ASSAY_CACHE", str(cache))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's chromium, headless. Without it tests are skipped, or fail where ASSAY_BROWSER is "required"."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        reason = "needs chromium: apt-get install chromium"
        if os.environ.get("ASSAY_BROWSER") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])  # root has no sandbox
        yield started
        started.close()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """`shared(name, make, …)`: a folder that is made once for all processes of this test run."""
    here = tmp_path_factory.getbasetemp()
    root = (here.parent if "PYTEST_XDIST_WORKER" in os.environ else here) / "shared"
    root.mkdir(exist_ok=True)
    return Shared(root)


@pytest.fixture(scope="session")
def programs() -> Iterator[Nursery]:
    """assay as a program, in forks of a process that has imported everything: for tests that are not about starting."""
    with nursery(*MODULES) as process:
        yield process


@pytest.fixture(scope="session")
def model_folder(shared: Shared) -> ModelFolder:
    """`model_folder(kind, family, **options)`: the folder of a tiny model, made when first asked for.

    kind is "span", "mask", "choice" (families like "bert", the default), "text" ("t5") or "causal" ("gpt2"); the
    options are those of `tiny_models`. Tests must not write into the folder: it is shared by all tests.
    """
    import torch

    torch.set_num_threads(1)  # the tests run in several processes, and tiny models gain nothing from threads

    def folder(kind: Kind, family: str | None = None, **options: Any) -> Path:
        family = family or {"text": "t5", "causal": "gpt2"}.get(kind, "bert")
        make: Any = getattr(tiny_models, f"make_{kind}_model")
        return shared(f"{family}-{kind}", lambda folder: make(folder, family, **options), *sorted(options.items()))

    return folder


@pytest.fixture(scope="session")
def span_model_folder(model_folder: ModelFolder) -> Path:
    """A tiny BERT that answers questions with a span of the context."""
    return model_folder("span", "bert")


@pytest.fixture(scope="session")
def mask_model_folder(model_folder: ModelFolder) -> Path:
    """A tiny BERT that fills masks."""
    return model_folder("mask", "bert")


@pytest.fixture(scope="session")
def kept_runs(shared: Shared) -> Path:
    """The run folders of tests/kept_runs.py: `one/NAME` and `two/NAME`. Tests must not write into them."""
    from kept_runs import write_runs

    return shared("kept-runs", write_runs)


@pytest.fixture(scope="session")
def toured(shared: Shared) -> Toured:
    """A finished tour with the built-in model. Tests must not write into its folders."""
    return tour_in(shared("tour", write_tour))


@pytest.fixture(scope="session")
def official_data() -> Path:
    """The folder with the papers' own data; the test is skipped where there is none."""
    folder = os.environ.get("ASSAY_DATA")
    if not folder:
        pytest.skip("needs the official data: set ASSAY_DATA to its folder")
    if not Path(folder).is_dir():
        pytest.fail(f"ASSAY_DATA is {folder}, which is no folder")
    return Path(folder)
