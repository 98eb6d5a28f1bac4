"""Commands that are killed at file-system calls, and repeated, leave what undisturbed ones leave, byte for byte.

`make test` kills each command at one or two calls, always the same; `make soak` at every call, and 1,000 times at
random moments.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator

import pytest

from killed_commands import COMMANDS, MODULES, Trial, Workshop, servers
from nursery import nursery

EVERY_POINT = "ASSAY_SOAK_POINTS" in os.environ
RANDOM_KILLS = int(os.environ.get("ASSAY_SOAK_RANDOM_KILLS", "0"))
ONLY = os.environ.get("ASSAY_SOAK_COMMANDS", "").split(",")
"""Names of commands; without any, all."""

MANY = 60
"""Calls of a command that is killed at two of them in `make test`."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    import torch

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("killed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(folder / "cache"))
        patch.setenv("OMP_NUM_THREADS", "1")
        with servers(folder) as environment, nursery(*MODULES) as made_in:
            yield Workshop(folder, made_in, environment)


def chosen() -> list[str]:
    return [command.name for command in COMMANDS if ONLY == [""] or command.name in ONLY]


@pytest.mark.skipif(os.name != "posix", reason="forks")
def test_a_command_killed_at_a_file_system_call_and_repeated_leaves_the_same(
    shop: Workshop, record_property: Callable[[str, int], None]
) -> None:
    rng, found, kills = random.Random(20201116), list[str](), 0
    for command in COMMANDS:
        if command.name not in chosen():
            continue
        trial = Trial(shop, command)
        points = trial.points
        if not EVERY_POINT:
            points = rng.sample(points, 2 if len(points) > MANY else 1)
        wrong = [f"{command.name}: {what}" for point in points if (what := trial.killed_at(point))]
        found, kills = found + wrong, kills + len(points)
    record_property("tried", kills)
    record_property("findings", len(found))
    assert kills
    assert not found, "\n\n".join(found)


@pytest.mark.skipif(not RANDOM_KILLS, reason="part of make soak")
def test_commands_killed_at_random_moments_and_repeated_leave_the_same(
    shop: Workshop, record_property: Callable[[str, int], None]
) -> None:
    rng, found, kills = random.Random(int(os.environ.get("ASSAY_SOAK_SEED", "0"))), list[str](), 0
    trials = [Trial(shop, command) for command in COMMANDS if command.name in chosen()]
    while kills < RANDOM_KILLS:
        hit, wrong = rng.choice(trials).killed_at_random(rng, most=4)
        kills, found = kills + hit, found + [wrong] * bool(wrong)
    record_property("tried", kills)
    record_property("findings", len(found))
    assert not found, "\n\n".join(found)
