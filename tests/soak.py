"""`make soak`: the tests that break things, at full length, and one table of what they tried and found.

    python tests/soak.py --jobs 8                       # everything
    python tests/soak.py --part kills --part faults     # only these

A part belongs to a variable: the test files that read it are its tests, and its value makes them long. Tests say what
they did with `record_property("tried", 200)` and `record_property("findings", 0)`. One that does not is one thing
tried, and one finding if it fails. Failures never stop the rest. The exit code is 1 if anything was found, or if a part
tried nothing. A variable that is set already keeps its value: `ASSAY_SOAK_INPUTS=800 python tests/soak.py`. Whatever
is drawn at random is the same every time; another `--seed` draws anew.
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
from typing import Literal
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "build" / "soak"
PYTEST = (
    *("-m", "pytest", "-p", "no:cacheprovider"),
    *("-o", "junit_family=xunit1"),  # the newer one has no place for what tests record
)
SEEDS = 4
SHOWN = ("numpy", "onnxruntime", "torch", "transformers", "ray")
"""Packages whose versions are printed with the table."""


@dataclass(frozen=True)
class Part:
    what: str
    """What is counted: kills, inputs, faults."""
    name: str
    variable: str
    amount: int | str
    """Of a number every job gets a share. Empty: the part runs only if the variable is set."""
    keyword: str = ""
    """Of the tests in the files that read the variable, those that pytest selects with this; without any, all."""
    split: Literal["functions", "parameters", "commands", "seeds"] = "functions"
    """What is a job: a test function, each of its parameters, a share of a command's calls, or each of four seeds."""


AT_CALLS, AT_RANDOM = "at_a_file_system_call", "at_random_moments"
PARTS = (  # first what has found the most
    Part("inputs", "hostile files", "ASSAY_SOAK_INPUTS", 100_000, "whatever", "parameters"),
    Part("kills", "at every call", "ASSAY_SOAK_POINTS", "all", f"killed_{AT_CALLS}", "commands"),
    Part("kills", "at random moments", "ASSAY_SOAK_RANDOM_KILLS", 1000, f"killed_{AT_RANDOM}", "seeds"),
    Part("kills", "of runs on an endpoint", "ASSAY_SOAK_KILLS", 200),
    Part("kills", "of workers of Ray", "ASSAY_SOAK_WORKER_KILLS", 50, f"killed_{AT_RANDOM}"),
    Part("faults", "at every call", "ASSAY_SOAK_FAULTS", "all", f"fault_{AT_CALLS}", "commands"),
    Part("faults", "limits and disks", "ASSAY_SOAK_FAULTS", "all", "limit or disk"),
    Part("faults", "signals", "ASSAY_SOAK_RANDOM_KILLS", 1000, f"stopped_{AT_RANDOM}", "seeds"),
    Part("surroundings", "locales, zones, seeds, threads", "ASSAY_SOAK_PLACES", 20, "surrounding"),
    Part("surroundings", "other Pythons", "ASSAY_SOAK_PYTHONS", "", "pythons"),
    Part("surroundings", "no connections", "ASSAY_SOAK_TOUR", "all"),
)


@dataclass(frozen=True)
class Job:
    """One process of pytest."""

    part: Part
    name: str
    """Of its row."""
    test: tuple[str, ...]
    root: Path
    environment: dict[str, str]


@dataclass
class Row:
    tried: int = 0
    findings: int = 0
    seconds: float = 0.0

    def add(self, other: Row) -> None:
        self.tried, self.findings = self.tried + other.tried, self.findings + other.findings
        self.seconds += other.seconds


def jobs_of(part: Part, root: Path, workers: int) -> list[Job]:
    """The processes of a part: none if no file reads its variable, whole files if their tests cannot be collected."""
    paths = sorted((root / "tests").rglob("test_*.py"))
    files = [str(path) for path in paths if part.variable in path.read_text(encoding="utf-8")]
    if not files:
        return []
    amount = os.environ.get(part.variable, str(part.amount))
    chosen = (*files, *(["-k", part.keyword] if part.keyword else []))

    def job(name: str, *test: str, **more: str) -> Job:
        named = f"{part.name}: {name}" if name else part.name
        return Job(part, named, test or chosen, root, environment({part.variable: amount, **more}))

    if part.split == "commands":
        said = asked("-c", "from killed_commands import COMMANDS as c; print(*(each.name for each in c), sep=chr(10))")
        shares = [f"{number}/{workers}" for number in range(workers)]  # each takes ten seconds to begin
        return [job(name, ASSAY_SOAK_COMMANDS=name, ASSAY_SOAK_SHARE=share) for name in said for share in shares]
    if part.split == "seeds":
        amount = share(amount, SEEDS)
        first = SEEDS * int(os.environ["ASSAY_SOAK_SEED"])
        return [job("", ASSAY_SOAK_SEED=str(first + number)) for number in range(SEEDS)]
    collected = asked(*PYTEST, "--collect-only", "--quiet", *chosen, root=root, **{part.variable: amount})
    names = [line for line in collected if "::" in line]
    if part.split == "parameters":
        amount = share(amount, len(names) or 1)
        return [job(name.partition("[")[2].removesuffix("]"), name) for name in names] or [job("")]
    functions = list(dict.fromkeys(name.partition("[")[0] for name in names))
    words = [name.rpartition("::test_")[2].replace("_", " ") for name in functions]
    return [job(said, name) for name, said in zip(functions, words, strict=True)] if len(words) > 1 else [job("")]


def asked(*command: str, root: Path = ROOT, **more: str) -> list[str]:
    """The lines that Python prints; none if it fails."""
    done = subprocess.run(
        [sys.executable, *command], cwd=root, env=environment(more), capture_output=True, text=True, check=False
    )
    return [] if done.returncode else done.stdout.splitlines()


def share(amount: str, jobs: int) -> str:
    return str(math.ceil(int(amount) / jobs)) if amount.isdecimal() else amount


def environment(more: dict[str, str]) -> dict[str, str]:
    """Ours, with the checkout's assay before an installed one."""
    paths = os.pathsep.join(filter(None, [str(ROOT / "src"), str(ROOT / "tests"), os.environ.get("PYTHONPATH")]))
    return {**os.environ, **more, "PYTHONPATH": paths}


def run(job: Job, number: int) -> Row:
    """Run it; what pytest said is kept, and the folders of tests that failed."""
    log, results = LOGS / f"{number:03}.log", LOGS / f"{number:03}.xml"
    place = Path(tempfile.mkdtemp(prefix="assay-soak-"))
    began = time.monotonic()
    with log.open("w", encoding="utf-8") as said:
        command = [sys.executable, *PYTEST, *job.test, "--junit-xml", str(results), "--basetemp", str(place / "tests")]
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
    said = [(each.get("name"), int(each.get("value", "0"))) for each in case.iter("property")]
    findings = sum(number for name, number in said if name == "findings")
    tried = [number for name, number in said if name != "findings"]
    failed = any(case.find(tag) is not None for tag in ("failure", "error"))
    return Row(sum(tried) if tried else int(case.find("skipped") is None), findings or int(failed))


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
    found = {part: jobs_of(part, root, workers) for part in parts}
    jobs = [job for part in parts for job in found[part]]
    rows = {(job.part.what, job.name): Row() for job in jobs}
    rows |= {(part.what, part.name): Row() for part in parts if not found[part]}
    done = 0
    pool = ThreadPoolExecutor(workers)
    waiting = {pool.submit(run, job, number): (job, number) for number, job in enumerate(jobs)}
    try:
        for future in as_completed(waiting):
            (job, number), row, done = waiting[future], future.result(), done + 1
            rows[job.part.what, job.name].add(row)
            said = f"{job.part.what}, {job.name}: {row.tried:,} tried, {row.findings} findings"
            print(f"[{done}/{len(jobs)}] {said}, {row.seconds:,.0f} s ({LOGS / f'{number:03}.log'})", flush=True)
    except KeyboardInterrupt:
        print("Stopped: the table has what was finished.", file=sys.stderr)
    finally:
        pool.shutdown(cancel_futures=True)
    command = " ".join(["python", "tests/soak.py", *sys.argv[1:]])
    today, seconds = time.strftime("%Y-%m-%d", time.gmtime()), time.monotonic() - began
    print(f"\n{today}, `{command}`, {seconds:,.0f} s ({machine()}):\n")
    print(*table(rows), sep="\n")
    idle = [f"{what}, {name}" for (what, name), row in rows.items() if not row.tried]
    if idle:
        print(f"\nNothing was tried of: {'; '.join(idle)}. The logs say why: {LOGS}", file=sys.stderr)
    return 130 if done < len(jobs) else int(bool(idle) or any(row.findings for row in rows.values()))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    names = sorted({part.what for part in PARTS} | {part.name for part in PARTS})
    parser.add_argument("--seed", type=int, default=0, help="another one makes other inputs and kills at other moments")
    parser.add_argument("--part", action="append", choices=names, help="only this part (may be repeated)")
    chosen = parser.parse_args()
    os.environ["ASSAY_SOAK_SEED"] = str(chosen.seed)
    parts = [part for part in PARTS if part.amount or part.variable in os.environ]
    wanted = chosen.part or names
    return soak([part for part in parts if part.what in wanted or part.name in wanted], chosen.jobs)


if __name__ == "__main__":
    sys.exit(main())
