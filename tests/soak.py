"""`make soak`: the tests that break things, at full length, and one table of what they tried and found.

    python tests/soak.py --jobs 8                       # everything
    python tests/soak.py --part kills --part faults     # only these

A part belongs to a variable: the test files that read it are its tests, and its value makes them long. Tests say what
they did with `record_property("tried", 200)` and `record_property("findings", 0)`. One that does not is one thing
tried, and one finding if it fails. Failures never stop the rest. The exit code is 1 if anything was found, or if a part
tried nothing. A variable that is set already keeps its value: `ASSAY_SOAK_INPUTS=800 python tests/soak.py`.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "build" / "soak"
PYTEST = (
    *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider"),
    *("-o", "junit_family=xunit1"),  # the newer one has no place for what tests record
)
SHOWN = ("numpy", "onnxruntime", "torch", "transformers", "ray")
"""Packages whose versions are printed with the table."""


@dataclass(frozen=True)
class Part:
    what: str
    """What is counted: kills, inputs, faults."""
    name: str
    variable: str
    amount: int | str
    """A number is divided over the jobs of the part."""
    keyword: str = ""
    """Of the tests in the files that read the variable, those that pytest selects with this; without any, all."""
    split: bool = False
    """A job is a test with one parameter; else a test function with all of its parameters."""
    times: int = 1
    """Jobs for each of these, with different seeds."""


PARTS = (
    Part("kills", "at every call", "ASSAY_SOAK_POINTS", "all", keyword="file_system_call", split=True),
    Part("kills", "at random moments", "ASSAY_SOAK_RANDOM_KILLS", 1000, keyword="random", times=4),
    Part("kills", "runs on an endpoint", "ASSAY_SOAK_KILLS", 200),
    Part("kills", "workers of Ray", "ASSAY_SOAK_WORKER_KILLS", 50, keyword="killed_at_random"),
    Part("inputs", "hostile files", "ASSAY_SOAK_INPUTS", 100_000, keyword="whatever", split=True),
    Part("faults", "of the machine", "ASSAY_SOAK_FAULTS", "all"),
    Part("interpreters", "the same findings", "ASSAY_SOAK_PYTHONS", "all"),
)


@dataclass(frozen=True)
class Job:
    """One process of pytest."""

    part: Part
    test: str
    root: Path
    environment: dict[str, str]

    @property
    def name(self) -> str:
        """Of its row: the parameter, or the name of the function in words."""
        function, _, parameter = self.test.rpartition("::")[2].partition("[")
        return f"{self.part.name}: {parameter.removesuffix(']') or function.removeprefix('test_').replace('_', ' ')}"


@dataclass
class Row:
    tried: int = 0
    findings: int = 0
    seconds: float = 0.0

    def add(self, other: Row) -> None:
        self.tried, self.findings = self.tried + other.tried, self.findings + other.findings
        self.seconds += other.seconds


def jobs_of(part: Part, root: Path) -> list[Job]:
    """The processes of a part: none if no file reads its variable, whole files if their tests cannot be collected."""
    paths = sorted((root / "tests").rglob("test_*.py"))
    files = [str(path) for path in paths if part.variable in path.read_text(encoding="utf-8")]
    if not files:
        return []
    amount = os.environ.get(part.variable, str(part.amount))
    command = [*PYTEST, "--collect-only", "--quiet", *files, *(["-k", part.keyword] if part.keyword else [])]
    said = subprocess.run(
        command, cwd=root, env=environment({part.variable: amount}), capture_output=True, text=True, check=False
    )
    names = [line for line in said.stdout.splitlines() if "::" in line and said.returncode == 0]
    units = list(dict.fromkeys(name if part.split else name.partition("[")[0] for name in names)) or files
    if amount.isdecimal():
        amount = str(math.ceil(int(amount) / len(units) / part.times))
    return [
        Job(part, unit, root, environment({part.variable: amount, "ASSAY_SOAK_SEED": str(seed)}))
        for seed in range(part.times)
        for unit in units
    ]


def environment(more: dict[str, str]) -> dict[str, str]:
    """Ours, with the checkout's assay before an installed one."""
    paths = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    return {**os.environ, **more, "PYTHONPATH": paths}


def run(job: Job, number: int) -> Row:
    """Run it; what pytest said is kept, and the folders of tests that failed."""
    log, results = LOGS / f"{number:03}.log", LOGS / f"{number:03}.xml"
    place = Path(tempfile.mkdtemp(prefix="assay-soak-"))
    began = time.monotonic()
    with log.open("w", encoding="utf-8") as said:
        command = [*PYTEST, job.test, "--junit-xml", str(results), "--basetemp", str(place / "tests")]
        done = subprocess.run(command, cwd=job.root, env=job.environment, stdout=said, stderr=said, check=False)
    row = Row(seconds=time.monotonic() - began)
    with suppress(FileNotFoundError, ElementTree.ParseError):  # pytest itself died
        for case in ElementTree.parse(results).iter("testcase"):
            row.add(read(case))
    row.findings = row.findings or int(done.returncode != 0)
    if not row.findings:
        shutil.rmtree(place, ignore_errors=True)
    return row


def read(case: ElementTree.Element) -> Row:
    """What one test tried and found; nothing if it was skipped."""
    said = {str(each.get("name")): int(str(each.get("value"))) for each in case.iter("property")}
    failed = any(case.find(tag) is not None for tag in ("failure", "error"))
    skipped = case.find("skipped") is not None
    return Row(said.get("tried", int(not skipped)), said.get("findings", 0) or int(failed))


def table(rows: dict[tuple[str, str], Row]) -> Iterator[str]:
    """Markdown: the parts, and the sums of what was counted."""
    yield "| what | part | tried | findings | seconds |"
    yield "|---|---|---:|---:|---:|"
    sums: dict[tuple[str, str], Row] = {}
    for (what, _), row in rows.items():
        sums.setdefault((what, "all"), Row()).add(row)
    for (what, name), row in [*rows.items(), *sums.items()]:
        yield f"| {what} | {name} | {row.tried:,} | {row.findings:,} | {row.seconds:,.0f} |"


def machine() -> str:
    versions = [f"{name} {metadata.version(name)}" for name in SHOWN if any(metadata.distributions(name=name))]
    named = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return ", ".join([named, *versions])


def soak(parts: Sequence[Part], workers: int, root: Path = ROOT) -> int:
    """Run all jobs, print the table and return the exit code."""
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    began = time.monotonic()
    found = {part: jobs_of(part, root) for part in parts}
    jobs = [job for part in parts for job in found[part]]
    lone = {part for part in parts if len({job.test for job in found[part]}) < 2}
    rows = {(job.part.what, job.part.name if job.part in lone else job.name): Row() for job in jobs}
    rows |= {(part.what, part.name): Row() for part in parts if not found[part]}
    done = 0
    pool = ThreadPoolExecutor(workers)
    waiting = {pool.submit(run, job, number): (job, number) for number, job in enumerate(jobs)}
    try:
        for future in as_completed(waiting):
            (job, number), row, done = waiting[future], future.result(), done + 1
            rows[job.part.what, job.part.name if job.part in lone else job.name].add(row)
            said = f"{job.part.what}, {job.name}: {row.tried:,} tried, {row.findings} findings"
            print(f"[{done}/{len(jobs)}] {said}, {row.seconds:,.0f} s ({LOGS / f'{number:03}.log'})", flush=True)
    except KeyboardInterrupt:
        print("Stopped: the table has what was finished.", file=sys.stderr)
    finally:
        pool.shutdown(cancel_futures=True)
    command = " ".join(["python", "tests/soak.py", *sys.argv[1:]])
    print(
        f"\n{time.strftime('%Y-%m-%d', time.gmtime())}, `{command}`, {time.monotonic() - began:,.0f} s ({machine()}):\n"
    )
    print(*table(rows), sep="\n")
    idle = [f"{what}, {name}" for (what, name), row in rows.items() if not row.tried]
    if idle:
        print(f"\nNothing was tried of: {'; '.join(idle)}. The logs say why: {LOGS}", file=sys.stderr)
    return 130 if done < len(jobs) else int(bool(idle) or any(row.findings for row in rows.values()))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    names = sorted({part.what for part in PARTS} | {part.name for part in PARTS})
    parser.add_argument("--part", action="append", choices=names, help="only this part (may be repeated)")
    chosen = parser.parse_args()
    wanted = chosen.part or names
    return soak([part for part in PARTS if part.what in wanted or part.name in wanted], chosen.jobs)


if __name__ == "__main__":
    sys.exit(main())
