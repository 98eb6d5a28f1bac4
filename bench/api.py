"""How close assay comes to the rate that an endpoint allows.

A stand-in server answers after 200 ms, takes 64 requests at once and rejects others with 429. It can answer at most 320
requests a second; the script prints which share of that a run of many questions reaches, including its start.

    python bench/api.py [--quick]

The stand-in runs in a separate process. On a machine with one free core both share it, and the result is lower than
over a network.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from subprocess import PIPE

from assay.asking.queries import ListedColumns, ListedQuery, QueryColumns, Scoring
from assay.engine.endpoints import EndpointExecutor
from assay.models import load
from assay.models.base import Endpoint, ModelSpec

TESTS = Path(__file__).parents[1] / "tests"
LATENCY, AT_ONCE = 0.2, 64
LEAST = 0.85
SERVER = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from endpoint_server import serving
with serving(latency={LATENCY}, most={AT_ONCE}) as server:
    print(server.url, flush=True)
    sys.stdin.read()
    print(server.turned_down, flush=True)
"""


def columns(rows: range) -> QueryColumns:
    queries = [ListedQuery("A text of some length. " * 10, f"Question {row}?", ("yes", "no", "maybe")) for row in rows]
    return ListedColumns.of(queries, Scoring(answer="letters"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer questions, so the start counts more")
    questions = 3_000 if parser.parse_args().quick else 12_000
    with (
        subprocess.Popen([sys.executable, "-c", SERVER], stdin=PIPE, stdout=PIPE, text=True) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        spec = ModelSpec(
            f"api:m@{url}", "api", url, "0" * 64, frozenset({"listed"}), endpoint=Endpoint("m", ways=("letters",))
        )
        began, busy = time.perf_counter(), time.process_time()
        desk = EndpointExecutor(load, Path(folder))
        answered = sum(len(answers) for _, _, answers in desk.ask(spec, columns, [range(questions)]))
        seconds, busy = time.perf_counter() - began, time.process_time() - busy
        server.stdin.close()
        turned_down = int(server.stdout.readline())
    assert answered == questions
    allowed = AT_ONCE / LATENCY
    share = questions / seconds / allowed
    print(f"{questions:,} requests in {seconds:.1f} s: {questions / seconds:.0f} a second of {allowed:.0f} allowed")
    print(f"share of what the limits allow: {share:.2f} (at least {LEAST})")
    print(
        f"turned down: {turned_down:,} ({turned_down / questions:.1%}); CPU: {busy / questions * 1e3:.2f} ms a request"
    )
    if share < LEAST:
        raise SystemExit(f"only {share:.2f} of what the limits allow")


if __name__ == "__main__":
    main()
