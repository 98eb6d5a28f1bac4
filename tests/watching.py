"""Programs under watch: where they connect to beyond this machine, and what they make in the file system.

An audit hook tells of Python's own sockets, in the program and in every Python that it starts. strace, where it can be
used, tells of the system calls of all processes and libraries.
"""

from __future__ import annotations

import ast
import ipaddress
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

HOOK = """
import os, sys
def told(event, given):
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg"} and isinstance(given[1], tuple):
        say("connect", given[1][0], given[1][1])
    elif event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}:
        say("look up", given[0], None)
def say(*what):
    with open(os.environ["WATCHED_SOCKETS"], "a", encoding="utf-8") as file:
        file.write(f"{what!r}\\n")
sys.addaudithook(told)
"""
SENDING = ("connect", "sendto", "sendmsg", "sendmmsg")
MAKING = ("open", "openat", "openat2", "creat", "mkdir", "mkdirat", "mknod", "mknodat")
NAMING = ("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat")  # the new name comes last
CALLS = ",".join(f"?{name}" for name in (*SENDING, *MAKING, *NAMING))  # not every processor has all
CHOSEN = ("ORT_", "HF_", "HUGGINGFACE_", "TRANSFORMERS_", "DISABLE_TELEMETRY", "DO_NOT_TRACK", "XDG_", "ASSAY_")
"""How the names of variables begin by which users choose where libraries write, and what they send."""
DNS = 53


@dataclass(frozen=True)
class Watched:
    """A finished program, the folders that it had, and what it tried."""

    done: subprocess.CompletedProcess[str]
    work: Path
    home: Path
    temporary: Path
    beyond: list[str] = field(default_factory=list)  # addresses that are not of this machine, and names looked up
    made: list[Path] = field(default_factory=list)  # files and folders, wherever; without strace those left in `home`
    traced: bool = False

    def made_outside(self, *places: Path) -> list[Path]:
        """What was made elsewhere than in these places, on the way to them, and in the temporary folder."""
        own = (*places, self.temporary, Path(os.devnull))
        far = [path for path in self.made if not any(path.is_relative_to(o) or o.is_relative_to(path) for o in own)]
        return [path for path in far if not _was_semaphore(path)]


def watched(folder: Path, arguments: Sequence[str], **environment: str) -> Watched:
    """Python with these arguments in `folder`/work, with empty folders as home and for temporary files."""
    work, home, temporary, own = (folder / name for name in ("work", "home", "tmp", "watch"))
    for each in (work, home, temporary, own):
        each.mkdir(exist_ok=True)
    (own / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(CHOSEN)}
    path = os.pathsep.join(filter(None, (str(own), os.environ.get("PYTHONPATH"))))
    kept |= {"HOME": str(home), "TMPDIR": str(temporary), "WATCHED_SOCKETS": str(own / "sockets"), "PYTHONPATH": path}
    kept |= {"PYTHONDONTWRITEBYTECODE": "1", **environment}
    traced = can_trace()
    trace = ["strace", "-f", "--seccomp-bpf", "-qq", "-y", "-e", f"trace={CALLS}", "-o", str(own / "calls")]
    command = [*(trace if traced else []), sys.executable, *arguments]
    done = subprocess.run(command, cwd=work, env=kept, capture_output=True, text=True, timeout=1800)
    told = _lines(own / "sockets")
    beyond = [line for line in told if _is_beyond(*ast.literal_eval(line)[1:])]
    if not traced:
        return Watched(done, work, home, temporary, beyond, [*home.rglob("*")])
    calls = _lines(own / "calls")
    beyond += [line for line in calls for address, port in _addresses(line) if _is_beyond(address, port)]
    return Watched(done, work, home, temporary, beyond, [*_made(calls, work, own)], traced)


@cache
def can_trace() -> bool:
    """Whether there is a strace that may trace programs here."""
    program = shutil.which("strace")
    return program is not None and subprocess.run([program, "-f", "--seccomp-bpf", "-qq", "true"]).returncode == 0


def _was_semaphore(path: Path) -> bool:
    """Whether this is a lock in memory that had a name for a moment: joblib tries one when it is imported."""
    return path.match("/dev/shm/sem.*") and not path.exists()


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []


def _is_beyond(host: object, port: int | None) -> bool:
    """Whether this is not this machine; its resolver would ask others."""
    if host in (None, "", "localhost"):
        return False
    try:
        address = ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        return True
    return port == DNS or not (address.is_loopback or address.is_unspecified)


def _addresses(line: str) -> Iterator[tuple[str, int]]:
    for found in re.finditer(r"sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|AF_INET6, )\"([^\"]+)\"", line):
        yield found[2], int(found[1])


def _made(calls: Iterable[str], work: Path, own: Path) -> Iterator[Path]:
    """What these calls made, each once, but for the watch's own files."""
    seen = set()
    for line in calls:
        name = re.match(r"\d+ +(\w+)\(", line)
        if name is None or name[1] in SENDING or " = -1 " in line:
            continue
        if name[1].startswith("open") and "O_CREAT" not in line:
            continue
        folder, path = re.findall(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"', line)[-1]
        seen.add(Path(os.path.normpath(work / folder / path)))
    yield from sorted(path for path in seen if not path.is_relative_to(own))
