"""Commands that are killed at every file-system call, with all that they need in one folder, and what they must leave.

A `Command` has steps; one of them is killed and repeated, the others are not disturbed. Afterwards the folder must be
as if nothing had happened: the same files with the same bytes, in the run, the cache and the temporary folder.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path
from threading import Thread
from typing import Any

import small_lists
import tiny_models
from assay.datasets.catalogue import blob_id
from assay.errors import DataError, ModelError, UsageError
from assay.models import find_model
from endpoint_server import serving
from kill_points import AFTER, BEFORE, ERRORS, FAULTS, HALF, SIGNALS, VANISH
from nursery import KILLED, Nursery

EXIT_CODES = {
    **dict.fromkeys(ERRORS, (UsageError.exit_code,)),
    **{name: (128 + getattr(signal, name),) for name in SIGNALS},
    VANISH: (UsageError.exit_code, DataError.exit_code),
}
"""How a command that cannot go on ends, by the fault."""

HANGS = 240.0
"""Seconds after which a command has hung."""

CACHE, JOURNAL = "cache", "cache/journal"
REPLIES = f"{JOURNAL}, all"
"""Replies of endpoints are in the journal until they are blocks: of a cache that vanished, it may be missing then."""

Snapshot = dict[str, bytes | None]
"""Files with their content, and folders, by their path."""


@dataclass(frozen=True)
class Command:
    """Steps in a folder AREA. `prepare` puts there what they need. If a `finished` step is repeated, it may refuse with
    this message: what it makes is never made twice. If the cache has vanished, `again` has to be repeated first. What
    was lost by a fault in the first of two steps is made `beside` the second. One that `carries` its answers needs no
    cache.
    """

    name: str
    steps: tuple[tuple[str, ...], ...]
    prepare: Callable[[Workshop], None]
    finished: str = ""
    again: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    faults: tuple[str, ...] = FAULTS
    carries: bool = False


@dataclass(frozen=True)
class Point:
    """Where a command is killed: the step, the number of the call in it, and when."""

    step: int
    at: int
    when: str
    call: str

    def __str__(self) -> str:
        return f"step {self.step}, {self.when} call {self.at} ({self.call})"


class Workshop:
    """A folder in which commands are tried, always under the same path: some files contain it."""

    def __init__(self, folder: Path, made_in: Nursery, environment: Mapping[str, str]) -> None:
        self.folder, self.made_in, self.environment = folder, made_in, environment
        self.area, self.log = folder / "area", folder / "log"

    def attempt(self, step: Sequence[str], beside: Sequence[str] = (), **more: Any) -> int:
        """How a step ended, with another command `beside` it. One that does not end is killed after some minutes."""
        arguments, beside = (
            [part.replace("AREA", str(self.area)).replace("URL", self.environment["URL"]) for part in command]
            for command in (step, beside)
        )
        how = {"cache": self.area / "cache", "log": self.log, "below": self.area, "environment": self.environment}
        status: int = self.made_in.attempt(arguments, **{"delay": HANGS, **how, **more}, beside=beside)["status"]
        return status

    def done(self, *steps: Sequence[str]) -> None:
        """Do steps undisturbed."""
        for step in steps:
            status = self.attempt(step)
            assert status == 0, self.said()

    def said(self) -> str:
        return self.log.read_text()[-3000:]

    def calls(self) -> list[str]:
        found: list[str] = json.loads(self.log.with_name("log.calls").read_text())
        return found

    def begin(self, template: Path) -> None:
        """Have in the folder what a template has, and nothing else."""
        shutil.rmtree(self.area, ignore_errors=True)
        shutil.copytree(template, self.area)
        self.log.write_text("")

    def prepared(self, prepare: Callable[[Workshop], None]) -> Path:
        """The template of what commands need; made once."""
        template = self.folder / f"template {prepare.__name__}"
        if not template.exists():
            shutil.rmtree(self.area, ignore_errors=True)
            (self.area / "tmp").mkdir(parents=True)
            prepare(self)
            shutil.copytree(self.area, template)
        return template

    def used(self) -> int:
        """Bytes that are used on the disk with the folder."""
        disk = os.statvfs(self.folder)
        return (disk.f_blocks - disk.f_bfree) * disk.f_frsize

    def snapshot(self) -> Snapshot:
        found: Snapshot = {}
        for path in sorted(self.area.rglob("*")):
            name = str(path.relative_to(self.area))
            if path.suffix == ".journal":  # each program has its own; what they say together counts
                known = (found.get(REPLIES) or b"").splitlines(True)
                found[REPLIES] = b"".join(sorted({*known, *_entries(path)}))
            else:
                found[name] = _comparable(path) if path.is_file() else None
        return found


def _entries(path: Path) -> Iterator[bytes]:
    """The whole lines of a journal, without checksums and times."""
    for line in path.read_bytes().splitlines():
        checksum, _, rest = line.partition(b" ")
        if checksum == f"{zlib.crc32(rest):08x}".encode():
            digest, _, reply = rest.split(b" ", 2)
            yield digest + b" " + reply + b"\n"


def _comparable(path: Path) -> bytes:
    """A file without what may differ: how many requests this very program has sent."""
    content = path.read_bytes()
    if path.name == "run.json":
        said = json.loads(content)
        said.get("spent", {}).pop("sent_now", None)
        return json.dumps(said).encode()
    if path.name == "report.html":
        return re.sub(rb"(>sent_now</bdi></dt>\s*<dd><bdi>)\d+", rb"\1", content)
    return content


class Trial:
    """One command: what it leaves undisturbed, and whether it leaves the same after a kill."""

    def __init__(self, shop: Workshop, command: Command) -> None:
        self.shop, self.command = shop, command
        self.template = shop.prepared(command.prepare)
        self.points: list[Point] = []
        self.seconds: list[float] = []
        shop.begin(self.template)
        for number, step in enumerate(command.steps):
            began = time.monotonic()
            shop.done(step)
            self.seconds.append(time.monotonic() - began)
            self.points += _points(number, shop.calls())
        self.expected = shop.snapshot()

    def killed_at(self, point: Point) -> str:
        """Kill the command at a point and repeat it; what is wrong then, if anything."""
        self.shop.begin(self.template)
        self.shop.done(*self.command.steps[: point.step])
        status = self.shop.attempt(self.command.steps[point.step], at=point.at, when=point.when)
        if status not in (0, KILLED):  # with threads, a call may come at another place, or not at all
            return f"{point}: ended with {status}: {self.shop.said()}"
        return self._repeated(point.step, str(point))

    def disturbed_at(self, point: Point, fault: str) -> str:
        """Have a fault at a point, and repeat the command without it; what is wrong then, if anything."""
        how = {"at": point.at, "when": point.when, "fault": fault}
        return self._disturbed(point.step, f"{fault}, {point}", EXIT_CODES[fault], **how)

    def signalled(self, rng: random.Random, fault: str) -> str:
        """As `disturbed_at`, for a signal at a random moment."""
        step = rng.randrange(len(self.command.steps))
        how = {"delay": rng.uniform(0, self.seconds[step]), "fault": fault}
        return self._disturbed(step, f"step {step}, {how}", EXIT_CODES[fault], **how)

    def limited(self, resource: str, most: int) -> str:
        """As `disturbed_at`, with a limit of `resource` in the first step."""
        codes = (UsageError.exit_code, ModelError.exit_code)
        return self._disturbed(0, f"{resource} {most:,}", codes, limits={resource: most})

    def on_disk(self, remount: Callable[[str], None], share: float | None) -> str:
        """As `disturbed_at`, on a disk with this share of the needed space; with None, it may only be read."""
        self.shop.begin(self.template)
        used = self.shop.used()
        self.shop.done(*self.command.steps)
        needed = self.shop.used() - used

        def limit() -> None:
            remount("ro" if share is None else f"size={used + int(share * needed)}")

        where = "read-only disk" if share is None else f"disk with {share} of the space"
        return self._disturbed(0, where, (UsageError.exit_code,), before=limit, after=lambda: remount("rw,size=1g"))

    def _disturbed(
        self,
        step: int,
        where: str,
        codes: Collection[int],
        *,
        before: Callable[[], None] = lambda: None,
        after: Callable[[], None] = lambda: None,
        **how: Any,
    ) -> str:
        """What is wrong with a step that is disturbed by `how`, or between `before` and `after`, and then repeated."""
        self.shop.begin(self.template)
        self.shop.done(*self.command.steps[:step])
        known, vanishes = len(self.shop.log.read_text()), how.get("fault") == VANISH
        before()
        status = self.shop.attempt(self.command.steps[step], self.command.beside if step else (), **how)
        after()
        said = self.shop.log.read_text()[known:]
        begun = "delay" in how and status == getattr(signal, how["fault"])  # it was not ready for signals yet
        if "Traceback" in said or (status not in (0, *(code << 8 for code in codes)) and not begun):
            return f"{where}: ended with {status / 256:g}: {said[-3000:]}"
        if status and not begun and len(re.findall("^assay: (?!warning)", said, re.MULTILINE)) != 1:
            return f"{where}: not one message: {said[-3000:]}"
        last = step == len(self.command.steps) - 1
        if last and not status and (wrong := self._compared(more=False, without=(CACHE,) if vanishes else ())):
            return f"{where}: ended with 0, but {wrong}: {said[-3000:]}"
        if vanishes and self.command.again:
            self.shop.done(self.command.again)
        lost = (CACHE if self.command.carries else JOURNAL,)
        return self._repeated(step, where, without=lost if vanishes else ())

    def killed_at_random(self, rng: random.Random, most: int) -> tuple[int, str]:
        """Kill a step at up to `most` random moments, one attempt after the other: how many kills hit it, and what is
        wrong then.
        """
        step, kills = rng.randrange(len(self.command.steps)), 0
        self.shop.begin(self.template)
        self.shop.done(*self.command.steps[:step])
        delays = [rng.uniform(0, self.seconds[step]) for _ in range(rng.randint(1, most))]
        for delay in delays:
            kills += self.shop.attempt(self.command.steps[step], delay=delay) == KILLED
        moments = ", ".join(f"{delay:.3f}" for delay in delays)
        return kills, self._repeated(step, f"{self.command.name}, step {step}, killed after {moments} s")

    def _repeated(self, first: int, where: str, *, without: tuple[str, ...] = ()) -> str:
        for number, step in enumerate(self.command.steps[first:], first):
            status = self.shop.attempt(step, self.command.beside if number else ())
            refused = number == first and self.command.finished and self.command.finished in self.shop.said()
            if status != 0 and not refused:
                return f"{where}: repeated, it ended with {status}: {self.shop.said()}"
        wrong = self._compared(without=without)
        return wrong and f"{where}: {wrong}"

    def _compared(self, *, more: bool = True, without: tuple[str, ...] = ()) -> str:
        """How the files differ from those that are expected; without `more`, there may be others. What is in the
        folders `without` is not looked at.
        """
        found, expected = (
            {name: what for name, what in each.items() if not name.startswith(without)}
            for each in (self.shop.snapshot(), self.expected)
        )
        others = sorted(name for name in found.keys() & expected.keys() if found[name] != expected[name])
        added, fewer = sorted(found.keys() - expected.keys()) if more else [], sorted(expected.keys() - found.keys())
        if not added and not fewer and not others:
            return ""
        return f"more {added[:5]}, fewer {fewer[:5]}, other content {others[:5]}"


def _points(step: int, calls: Sequence[str]) -> Iterator[Point]:
    """Every call, before it, and writes also in the middle; after a call is before the next one, but for the last.

    Of many writes one after the other, which fill one file, the first, the last and one between stand for all.
    """
    at = 1
    for call, group in groupby(calls):
        numbers = [*range(at, at + len([*group]))]
        at = numbers[-1] + 1
        if call == "write":
            numbers = sorted({numbers[0], numbers[len(numbers) // 2], numbers[-1]})
        for number in numbers:
            yield Point(step, number, BEFORE, call)
            if call == "write":
                yield Point(step, number, HALF, call)
    yield Point(step, len(calls), AFTER, calls[-1])


# --- the commands

WORDS = ("unqover", "--set", "word_lists=AREA/lists", "--set", "class=religion")
FEWER = ("--set", "draws=20", "--set", "resamples=20")
RUN = ("run", *WORDS, "--model", "hf:AREA/span", "--limit", "24", *FEWER, "--block-size", "12", "--out", "AREA/run")
REPORT = ("report", "AREA/run")
FEW = ("--set", "max_steps=2", "--set", "batch=4", "--set", "accumulate=1", "--set", "length=16", "--device", "cpu")
TEXT = ("--corpus", "AREA/text.txt", "--attribute", "gender")
STUDY = """
[models.base]
spec = "hf:./mask"

[models.cda]
debias = "cda"
model = "base"
attribute = "gender"
corpus = "text.txt"
settings = { max_steps = 1, batch = 2, accumulate = 1, length = 16 }

[[runs]]
probe = "unqover"
models = ["base", "cda"]
limit = 8
settings = { class = "religion", draws = 20, resamples = 20 }
"""


def _nothing(shop: Workshop) -> None:
    pass


def _span(shop: Workshop) -> None:
    tiny_models.make_span_model(shop.area / "span", "bert")
    small_lists.write(shop.area / "lists")


def _asked(shop: Workshop) -> None:
    _span(shop)
    shop.done(RUN)


def _posted(shop: Workshop) -> None:
    """A job in a shared folder, whose driver was killed; what the tokenizer alone answers is stored."""
    _asked(shop)
    for asked in json.loads((shop.area / "run" / "blocks.json").read_text()):
        if asked["label"] == "religion (span)":
            shutil.rmtree(shop.area / "cache" / "blocks" / asked["key"][:2])
    shutil.rmtree(shop.area / "run")
    assert shop.attempt((*RUN, "--executor", "work:AREA/work"), at="replace job.json", when=AFTER) == KILLED


def _mask(shop: Workshop) -> None:
    tiny_models.make_mask_model(shop.area / "mask", "bert", max_length=64)
    who = ("man", "mother", "boy", "girl")
    places = ("town", "school", "church", "market", "work", "court", "bed", "sea")
    lines = [f"The {person} went to {place} in the morning." for person in who for place in places]
    (shop.area / "text.txt").write_text("\n".join(lines) + "\n")


def _study(shop: Workshop) -> None:
    _mask(shop)
    (shop.area / "tiny.toml").write_text(STUDY)


def _known_endpoint(shop: Workshop) -> None:
    """What the endpoint can do is known."""
    place = shop.area / "cache" / "endpoints"
    shutil.copytree(shop.environment["ENDPOINTS"], place)


COMMANDS = (
    Command("run", (RUN,), _span),
    Command("score", (("score", "unqover", "AREA/run", "--out", "AREA/again"),), _asked, again=RUN),
    Command("report", (REPORT,), _asked, again=RUN),
    Command(
        "report to a file", (("report", "AREA/run", "--format", "csv", "--out", "AREA/all.csv"),), _asked, again=RUN
    ),
    Command("export", (("export", "AREA/run"),), _asked, again=RUN, carries=True),
    Command("export to a folder", (("export", "AREA/run", "--out", "AREA/sent"),), _asked, again=RUN),
    Command("export to a zip", (("export", "AREA/run", "--out", "AREA/sent.zip", "--no-examples"),), _asked, again=RUN),
    Command("generate", (("generate", *WORDS, "--out", "AREA/out.json"),), _span),
    Command("data fetch", (("data", "fetch", "bbq", "--data", "AREA/data"),), _nothing),
    Command("gate --init", (("gate", "--init", "AREA/policy.toml"),), _nothing, finished="already exists"),
    Command(
        "run on an endpoint",
        (("run", "bbq-starter", "--model", "URL", "--limit", "24", "--set", "resamples=20", "--out", "AREA/run"),),
        _known_endpoint,
    ),
    Command(
        "work",
        (
            ("work", "AREA/work", "--exit-when-idle", "1", "--lease", "0.4"),
            (*RUN, "--executor", "work:AREA/work"),
        ),
        _posted,
        beside=("work", "AREA/work", "--lease", "0.4"),
    ),
    Command(
        "train",
        (("train", "mask", "--base", "hf:AREA/mask", "--data", "AREA/text.txt", "--out", "AREA/out", *FEW),),
        _mask,
        finished="this folder holds a finished model",
    ),
    Command(
        "debias by further training",
        (("debias", "cda", "--model", "hf:AREA/mask", *TEXT, "--out", "AREA/out", *FEW),),
        _mask,
        finished="exists and is not empty",
    ),
    Command(
        "debias by projection",
        (("debias", "sentence", "--model", "hf:AREA/mask", *TEXT, "--out", "AREA/out", "--device", "cpu"),),
        _mask,
        finished="exists and is not empty",
    ),
    Command(
        "study",
        (("study", "AREA/tiny.toml", "--out", "AREA/study", "--device", "cpu"),),
        _study,
        faults=(*ERRORS, *SIGNALS),  # without the cache, its comparison says that it is not paired
    ),
)


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[str], None]]:
    """A file system in memory, and a function that mounts it again with other options. An OSError if one may not."""
    folder.mkdir()

    def mount(options: str) -> None:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "assay", folder], capture_output=True, text=True)
        if done.returncode:
            raise OSError(done.stderr)

    mount("size=1g")
    try:
        yield lambda options: mount(f"remount,{options}")
    finally:
        subprocess.run(["umount", folder], check=True)


@contextmanager
def servers(folder: Path) -> Iterator[dict[str, str]]:
    """An endpoint, and a mirror of made-up official data: where they are, as the environment of commands."""
    pinned, mirror = folder / "pinned.tsv", folder / "mirror"
    commit = "0123456789abcdef0123456789abcdef01234567"
    rng, lines = random.Random(0), []
    for name, size in (("data/Age.jsonl", 200_000), ("LICENSE", 40)):
        file, content = mirror / "some" / "repository" / commit / name, rng.randbytes(size)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        lines.append("\t".join(("some/repository", commit, blob_id(content), name, f"bbq/{name}")))
    pinned.write_text("\n".join(lines) + "\n")
    handler = partial(_Quiet, directory=str(mirror))
    with serving() as server, ThreadingHTTPServer(("127.0.0.1", 0), handler) as files:
        Thread(target=files.serve_forever, daemon=True).start()
        find_model(server.model)  # it is remembered in this process's cache
        from assay.files.paths import cache_folder

        yield {
            "URL": server.model,
            "ENDPOINTS": str(cache_folder() / "endpoints"),
            "ASSAY_MIRROR": f"http://127.0.0.1:{files.server_address[1]}",
            "MADE_UP_DATA": str(pinned),
            "OMP_NUM_THREADS": "1",
        }
        files.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass
