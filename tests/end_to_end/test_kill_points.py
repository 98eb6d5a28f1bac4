"""Commands that are killed, or hit by another fault, at file-system calls, and repeated, leave what undisturbed ones
leave, byte for byte.

`make test` kills each command at one or two calls, and has another fault at one, always the same; `make soak` does both
at every call, and kills 1,000 times at random moments.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import cycle

import pytest

from kill_points import SIGNALS
from killed_commands import COMMANDS, Trial, Workshop, servers, small_disk
from nursery import Nursery

pytestmark = [pytest.mark.kill, pytest.mark.long, pytest.mark.skipif(os.name != "posix", reason="forks")]

EVERY_POINT = "ASSAY_SOAK_POINTS" in os.environ
SOAK_FAULTS = list(filter(None, os.environ.get("ASSAY_SOAK_FAULTS", "").split(",")))
"""Names of faults that every call gets; "all": see FAILING."""
RANDOM_KILLS = int(os.environ.get("ASSAY_SOAK_RANDOM_KILLS", "0"))
ONLY = os.environ.get("ASSAY_SOAK_COMMANDS", "").split(",")
"""Names of commands; without any, all."""
SHARE, SHARES = map(int, os.environ.get("ASSAY_SOAK_SHARE", "0/1").split("/"))
"""Of a command's calls, which share of how many."""

FAILING = ("ENOSPC", "EIO")
"""Faults that every call gets in `make soak`; of the others it gets one, in turn."""

MANY = 60
"""Calls of a command that is killed at two of them in `make test`."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, programs: Nursery) -> Iterator[Workshop]:
    import torch

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("killed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(folder / "cache"))
        with servers(folder) as environment:
            yield Workshop(folder, programs, environment)


def chosen() -> list[str]:
    return [command.name for command in COMMANDS if ONLY == [""] or command.name in ONLY]


@pytest.fixture(scope="module")
def trials(shop: Workshop) -> list[Trial]:
    return [Trial(shop, command) for command in COMMANDS if command.name in chosen()]


Count = Callable[[int, int], None]


@pytest.fixture
def count(record_property: Callable[[str, int], None]) -> Count:
    """Takes down for `make soak` how much was tried, and how much was found."""

    def taken(tried: int, findings: int) -> None:
        record_property("tried", tried)
        record_property("findings", findings)

    return taken


def test_a_command_killed_at_a_file_system_call_and_repeated_leaves_the_same(trials: list[Trial], count: Count) -> None:
    rng, found = random.Random(20201116), list[str]()
    for trial in trials:
        name, points = trial.command.name, trial.points[SHARE::SHARES]
        if not EVERY_POINT:
            points = rng.sample(points, 2 if len(points) > MANY else 1)
        wrong = [f"{name}: {what}" for point in points if (what := trial.killed_at(point))]
        found += wrong
        count(len(points), len(wrong))
    assert trials
    assert not found, "\n\n".join(found)


def test_a_command_with_a_fault_at_a_file_system_call_says_so_and_repeated_leaves_the_same(
    trials: list[Trial], count: Count
) -> None:
    rng, found = random.Random(20201117), list[str]()
    for number, trial in enumerate(trials):
        name, points = trial.command.name, trial.points[SHARE::SHARES]
        if SOAK_FAULTS == ["all"]:
            some = cycle([fault for fault in trial.command.faults if fault not in FAILING])
            faults = [(point, fault) for point in points for fault in (*FAILING, next(some))]
        elif SOAK_FAULTS:
            faults = [(point, fault) for point in points for fault in SOAK_FAULTS]
        else:
            possible = trial.command.faults
            faults = [(rng.choice(points), possible[number % len(possible)])]
        wrong = [f"{name}: {what}" for point, fault in faults if (what := trial.disturbed_at(point, fault))]
        found += wrong
        count(len(faults), len(wrong))
    assert trials
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize(
    ("command", "resource", "most"),
    [
        ("run", "RLIMIT_FSIZE", 20_000),
        ("train", "RLIMIT_FSIZE", 20_000),  # weights are not written by Python
        pytest.param("score", "RLIMIT_AS", 64 << 20, marks=pytest.mark.skipif(sys.platform != "linux", reason="/proc")),
    ],
)
def test_a_command_that_reaches_a_limit_says_so_and_repeated_leaves_the_same(
    command: str, resource: str, most: int, trials: list[Trial]
) -> None:
    for trial in trials:
        if trial.command.name == command:
            assert not (wrong := trial.limited(resource, most)), wrong


@pytest.fixture
def remount(shop: Workshop) -> Iterator[Callable[[str], None]]:
    with ExitStack() as stack:
        try:
            yield stack.enter_context(small_disk(shop.folder / "disk"))
        except OSError as error:
            pytest.skip(f"only root can mount a disk ({error})")


def test_a_command_on_a_disk_that_is_full_or_read_only_says_so_and_repeated_leaves_the_same(
    shop: Workshop, remount: Callable[[str], None], count: Count
) -> None:
    there, found = Workshop(shop.folder / "disk", shop.made_in, shop.environment), list[str]()
    there.log = shop.log  # which is not on the disk
    shares = (None, 0.1, 0.3, 0.5, 0.7, 0.9) if SOAK_FAULTS else (None, 0.5)
    for command in COMMANDS:
        if command.name in (chosen() if SOAK_FAULTS else ["run"]) and len(command.steps) == 1:
            trial = Trial(there, command)
            wrong = [f"{command.name}: {what}" for share in shares if (what := trial.on_disk(remount, share))]
            found += wrong
            count(len(shares), len(wrong))
    assert not found, "\n\n".join(found)


@pytest.mark.skipif(not RANDOM_KILLS, reason="part of make soak")
def test_commands_stopped_at_random_moments_and_repeated_leave_the_same(trials: list[Trial], count: Count) -> None:
    rng, signals = random.Random(int(os.environ.get("ASSAY_SOAK_SEED", "0"))), RANDOM_KILLS // 5
    stopped = [rng.choice(trials).signalled(rng, SIGNALS[number % len(SIGNALS)]) for number in range(signals)]
    found = list(filter(None, stopped))
    count(signals, len(found))
    assert not found, "\n\n".join(found)


@pytest.mark.skipif(not RANDOM_KILLS, reason="part of make soak")
def test_commands_killed_at_random_moments_and_repeated_leave_the_same(trials: list[Trial], count: Count) -> None:
    rng, found, kills = random.Random(int(os.environ.get("ASSAY_SOAK_SEED", "0"))), list[str](), 0
    while kills < RANDOM_KILLS:
        hit, wrong = rng.choice(trials).killed_at_random(rng, most=4)
        kills, found = kills + hit, found + [wrong] * bool(wrong)
    count(kills, len(found))
    assert not found, "\n\n".join(found)
