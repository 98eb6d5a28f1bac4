"""assay reports to nobody, nor does a library that it uses: however it is used, and whatever the environment says.

onnxruntime's telemetry begins when it is imported: it leaves a device id and a queue of events in the user's cache
folder, and looks for its server about ten seconds later. The files show it without the wait. What the hub is told is
in tests/models/test_find_model.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SWITCHES = ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY", "DISABLE_TELEMETRY", "DO_NOT_TRACK")
LIBRARY = """
import assay
from assay.queries import MASK, FillColumns, Texts
model = assay.load_model("builtin", threads=1)
model.forward(model.encode(FillColumns(Texts.of([""]), Texts.of([f"{MASK} sang."]))))
"""
COMMAND = """
import sys
from assay.cli import main
few = ["--limit", "32", "--threads", "1", "--set", "draws=20", "--set", "resamples=20"]
assert main(["run", "unqover", *few, "--out", sys.argv[1]]) == 0
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
        pytest.param(COMMAND, {}, id="command"),
        pytest.param(PROCESS_OF_ITS_OWN, {}, id="a process that assay starts"),
    ],
)
def test_using_assay_leaves_no_device_id_and_no_queue_of_events(
    code: str, settings: dict[str, str], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    outside = {name: value for name, value in os.environ.items() if name not in SWITCHES and "XDG_" not in name}
    command = [sys.executable, "-c", code, str(tmp_path / "run")]
    done = subprocess.run(command, env={**outside, "HOME": str(home), **settings}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in home.rglob("*") if path.is_file()] == []


def test_ray_is_told_not_to_report_how_it_is_used() -> None:
    pytest.importorskip("ray", reason='needs Ray: pip install "assay-bias[ray]"')
    code = "import assay; from ray._common.usage.usage_lib import usage_stats_enabled as on; print(on())"
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
