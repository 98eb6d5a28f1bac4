"""A run on an endpoint that is killed again and again: nothing that was received is paid for twice.

The attempts are forks of a process that has imported everything, as in test_kill.py, so that kills hit the asking. The
server is in this process and counts. `make soak` sets ASSAY_SOAK_KILLS to 200.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from assay.files.paths import cache_folder
from assay.models import find_model
from endpoint_server import Server, serving
from nursery import KILLED, Nursery

pytestmark = pytest.mark.kill

KILLS = int(os.environ.get("ASSAY_SOAK_KILLS", "5"))
QUESTIONS = 240
KEPT_AFTER = 1.0
"""Seconds after which a reply must be kept, whatever happens."""


def findings(folder: Path) -> dict[str, bytes]:
    paths = [folder / "findings.json", *sorted((folder / "tables").iterdir())]
    return {path.name: path.read_bytes() for path in paths}


def lost_answers(server: Server, kills: list[float]) -> list[str]:
    """The questions that came again though the reply to them was received long enough before a kill.

    So whatever else comes again was under way, or had just been answered.
    """
    lost = []
    for body, moments in server.came.items():
        for first, second in pairwise(moments):
            received = [at for at in server.answered[body] if first <= at < second]
            killed = min(at for at in kills if at >= first)
            if received and received[0] < killed - KEPT_AFTER:
                lost.append(body)
    return lost


def test_kills_at_random_moments_lose_only_what_is_under_way(
    tmp_path: Path, programs: Nursery, record_property: Callable[[str, int], None]
) -> None:
    """Each attempt is killed; when all is asked it begins anew with nothing stored, until there were enough kills."""
    rng = random.Random(20261116)
    arguments = ["run", "bbq-starter", "--limit", str(QUESTIONS), "--set", "resamples=20", "--set", "answer=letters"]
    with serving(latency=0.2, most=16) as server:  # so that asking takes most of the time

        def attempt(name: str, delay: float | None) -> dict[str, Any]:
            command = [*arguments, "--model", server.model, "--out", str(tmp_path / name)]
            places = {"cache": tmp_path / f"{name}-cache", "log": tmp_path / f"{name}.log"}
            return programs.attempt(command, **places, delay=delay)

        find_model(server.model)
        found = cache_folder() / "endpoints"
        shutil.copytree(found, tmp_path / "undisturbed-cache" / "endpoints")
        whole = attempt("undisturbed", None)
        assert whole["status"] == 0, (tmp_path / "undisturbed.log").read_text()
        expected = findings(tmp_path / "undisturbed")
        longest = 0.9 * (whole["killed"] - whole["began"])
        kills, partial = 0, 0
        while kills < KILLS or (partial < 3 and kills < 3 * KILLS):
            server.came.clear(), server.answered.clear()
            moments: list[float] = []
            shutil.copytree(found, tmp_path / "killed-cache" / "endpoints")
            while True:
                before = len(server.came)
                ended = attempt("killed", rng.uniform(0.1, longest))
                if ended["status"] == 0:
                    break
                assert ended["status"] == KILLED, (tmp_path / "killed.log").read_text()
                kills += 1
                moments.append(ended["killed"])
                partial += 0 < before < QUESTIONS
                time.sleep(0.2)  # what was sent before the kill has come
                if (kills >= KILLS and partial >= 3) or len(moments) > 30:
                    assert attempt("killed", None)["status"] == 0, (tmp_path / "killed.log").read_text()
                    break
            assert lost_answers(server, [*moments, time.monotonic()]) == []
            assert findings(tmp_path / "killed") == expected
            shutil.rmtree(tmp_path / "killed")
            shutil.rmtree(tmp_path / "killed-cache")
        record_property("tried", kills)
        assert partial >= 3, "the kills hardly hit the asking"
