"""assay reports to nobody, nor does a library that it uses: however it is used, and whatever the environment says.

It tries no network that it was not asked for, and writes into its run folder, its cache and the temporary folder alone.
`make soak` watches the whole tour, longer than 30 s (ASSAY_SOAK_TOUR); `make test` one of few questions.

onnxruntime's telemetry begins when it is imported: it leaves a device id and a queue of events in the user's cache
folder, and looks for its server about ten seconds later. The files show it without the wait. What the hub is told is
in tests/models/test_find_model.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from watching import Watched, can_trace, watched

pytestmark = pytest.mark.strace

SWITCHES = ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY", "DISABLE_TELEMETRY", "DO_NOT_TRACK")
TOUR = () if "ASSAY_SOAK_TOUR" in os.environ else ("--limit", "32", "--threads", "1")
LIBRARY = """
import assay
from assay.asking.queries import MASK, FillColumns, StringColumn
model = assay.load_model("builtin", threads=1)
model.forward(model.encode(FillColumns(StringColumn.of([""]), StringColumn.of([f"{MASK} sang."]))))
"""
PROCESS_OF_ITS_OWN = """
import subprocess, sys, assay
subprocess.run([sys.executable, "-c", "import onnxruntime"], check=True)
"""


@pytest.mark.parametrize(
    ("code", "settings"),
    [
        pytest.param(LIBRARY, {}, id="library"),
        pytest.param(LIBRARY, dict.fromkeys(SWITCHES, "0"), id="library, telemetry allowed"),
        pytest.param(PROCESS_OF_ITS_OWN, {}, id="a process that assay starts"),
    ],
)
def test_using_assay_leaves_no_device_id_and_no_queue_of_events(
    code: str, settings: dict[str, str], tmp_path: Path
) -> None:
    seen = watched(tmp_path, ["-c", code], **settings)
    assert seen.done.returncode == 0, seen.done.stderr
    assert seen.beyond == []
    assert seen.made_outside() == []


def test_the_tour_tries_no_network_and_writes_nowhere_else(tmp_path: Path) -> None:
    require_alone(watched(tmp_path, ["-m", "assay", "run", *TOUR]))


def test_a_model_in_a_folder_is_audited_without_network_and_nothing_is_written_elsewhere(
    span_model_folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(span_model_folder, tmp_path / "work" / "model")
    options = ("--model", "hf:./model", "--limit", "32", "--threads", "1", "--device", "cpu")
    require_alone(watched(tmp_path, ["-m", "assay", "run", "unqover", *options]))


def require_alone(seen: Watched) -> None:
    assert seen.done.returncode == 0, seen.done.stderr
    assert [*seen.work.glob("runs/*/report.html")]
    assert seen.beyond == []
    assert seen.made_outside(seen.work / "runs", seen.home / ".cache" / "assay") == []
    if not seen.traced:
        pytest.skip("only Python's own sockets and the home folder were watched: strace cannot be used here")


# --- the watch itself

CONNECTS = """
import ctypes, socket, subprocess, sys
from pathlib import Path
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)  # connecting it sends nothing
here = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('127.0.0.1', 9))"
subprocess.run([sys.executable, "-c", here], check=True)
subprocess.run([sys.executable, "-c", here.replace("127.0.0.1", "192.0.2.1")])
address = socket.AF_INET.to_bytes(2, sys.byteorder) + (9).to_bytes(2, "big") + bytes([192, 0, 2, 2]) + bytes(8)
ctypes.CDLL(None).connect(udp.fileno(), address, len(address))
(Path.home() / "id").touch()
(Path.home() / ".cache").mkdir()
Path("runs/a").mkdir(parents=True)
"""


def test_the_watch_sees_python_in_other_processes_and_files(tmp_path: Path) -> None:
    seen = watched(tmp_path, ["-c", CONNECTS])
    assert seen.done.returncode == 0, seen.done.stderr
    assert [line for line in seen.beyond if line.startswith("(")] == ["('connect', '192.0.2.1', 9)"]
    assert seen.made_outside(seen.work / "runs", seen.home / ".cache" / "assay") == [seen.home / "id"]


@pytest.mark.skipif(not can_trace(), reason="strace cannot be used here")
def test_the_watch_sees_libraries_that_are_not_written_in_python(tmp_path: Path) -> None:
    calls = [line for line in watched(tmp_path, ["-c", CONNECTS]).beyond if not line.startswith("(")]
    assert [address for address in ("192.0.2.1", "192.0.2.2") for line in calls if address in line] == [
        "192.0.2.1",
        "192.0.2.2",
    ]


def test_ray_is_told_not_to_report_how_it_is_used() -> None:
    pytest.importorskip("ray", reason='needs Ray: pip install "assay-bias[ray]"')
    code = "import assay; from ray._common.usage.usage_lib import usage_stats_enabled as on; print(on())"
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
