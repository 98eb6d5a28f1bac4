"""Two programs with the same cache do not both pay for a request, and never wait for each other's other requests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.engine.claims import ENDING, Claims, Turn, remove_leftovers
from assay.engine.endpoints import EndpointExecutor
from assay.engine.journal import Journal, _entries
from assay.files.lock import hold
from assay.models.base import Reply
from endpoint_server import Server, serving
from virtual_time import SPEC, VirtualServer, ask, virtual

__all__ = ["virtual"]

SEND, USE, WAIT = Turn.SEND, Turn.USE, Turn.WAIT


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Claims]]:
    """Makes programs, whose names ascend."""
    monkeypatch.setattr("assay.engine.claims.LOOK", -1.0)  # everything is read at once
    made: list[Claims] = []

    def make() -> Claims:
        made.append(Claims(Journal(tmp_path)))
        return made[-1]

    yield make
    for claims in made:
        end(claims)


def end(claims: Claims) -> None:
    claims.journal.close()
    claims.close()


Program = Callable[[], Claims]


@pytest.mark.parametrize("first", [0, 1], ids=["the first program", "the second program"])
def test_what_one_program_has_claimed_another_waits_for_and_uses(first: int, program: Program) -> None:
    both = program(), program()
    one, other = both[first], both[1 - first]
    assert (one.take("a"), other.take("a"), one.take("b"), other.take("c")) == (SEND, WAIT, SEND, SEND)
    assert other.take("a") is WAIT
    one.journal.put("a", Reply({"x": 1}, 3, 1))
    one.forget("a")
    assert other.take("a") is USE
    reply = other.journal.get("a")
    assert reply is not None
    assert (reply.content, reply.input_tokens) == ({"x": 1}, 3)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("ends", ["failed", "ended", "ended with the reply"])
def test_when_a_claim_ends_another_program_sends_or_uses_the_reply(first: int, ends: str, program: Program) -> None:
    both = program(), program()
    one, other = both[first], both[1 - first]
    assert (one.take("a"), other.take("a")) == (SEND, WAIT)
    if ends == "failed":
        one.release("a")
    else:
        if ends == "ended with the reply":
            one.journal.put("a", Reply({}, 3, 1))
        end(one)
    assert other.take("a") is (USE if ends == "ended with the reply" else SEND)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("moment", ["before it writes", "before it reads"])
def test_of_two_programs_that_claim_at_the_same_moment_exactly_one_sends(
    first: int, moment: str, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = program(), program()
    one, other = both[first], both[1 - first]
    for claims in both:
        claims.take("known to each other")
    turns: dict[str, Turn] = {}
    name = "_write" if moment == "before it writes" else "_look"
    original = getattr(one, name)

    def interrupted(*args: object) -> object:
        if "a" not in other._mine and "other" not in turns and (moment != "before it reads" or "a" in one._mine):
            turns["other"] = other.take("a")
        return original(*args)

    monkeypatch.setattr(one, name, interrupted)
    turns["one"] = one.take("a")
    monkeypatch.undo()
    monkeypatch.setattr("assay.engine.claims.LOOK", -1.0)
    for _ in range(3):  # until both have read what the other did
        turns = {
            name: claims.take("a") if turns[name] is WAIT else turns[name]
            for name, claims in (("one", one), ("other", other))
        }
    assert sorted(turn.value for turn in turns.values()) == ["send", "wait"]


def test_three_programs_that_wait_for_a_fourth_send_once_when_it_ends(program: Program) -> None:
    programs = [program() for _ in range(4)]
    for order in ((2, 0, 1, 3), (3, 2, 1, 0), (0, 1, 2, 3)):
        digest = f"request {order}"
        sender, *waiting = (programs[number] for number in order)
        assert sender.take(digest) is SEND
        assert [claims.take(digest) for claims in waiting] == [WAIT] * 3
        sender.release(digest)
        turns = [claims.take(digest) for _ in range(3) for claims in waiting if digest not in claims.journal]
        sent = [number for number, turn in enumerate(turns) if turn is SEND]
        assert len({number % 3 for number in sent}) == 1


def test_programs_that_were_killed_leave_nothing_behind(tmp_path: Path, program: Program) -> None:
    killed = tmp_path / f"0-machine-1{ENDING}"
    killed.write_text("a\n")
    claims = program()
    assert claims.take("a") is SEND
    assert not killed.exists()
    killed.write_text("a\n")
    remove_leftovers(tmp_path)
    assert [path.name for path in tmp_path.glob(f"*{ENDING}")] == [claims.path.name]
    end(claims)
    assert not list(tmp_path.glob(f"*{ENDING}"))


def test_without_locks_nothing_waits(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(path: Path) -> int:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("assay.engine.claims.hold", unsupported)
    assert [claims.take("a") for claims in (program(), program())] == [SEND, SEND]


# --- askings


@contextmanager
def claimed(folder: Path, *digests: str) -> Iterator[Path]:
    """Another living program has claimed these requests."""
    path = Journal.of(folder / "journal", SPEC).folder / f"0-other{ENDING}"
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = hold(path)
    os.write(handle, "".join(f"{digest}\n" for digest in digests).encode())
    yield path
    os.close(handle)


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize("again", [False, True])
def test_asking_again_does_not_wait_for_anybody_and_other_questions_neither(again: bool, tmp_path: Path) -> None:
    server = VirtualServer()
    digests = [] if not again else [call.digest(SPEC.place) for row in range(40) for call in calls(server, row)]
    with claimed(tmp_path, "another request", *digests):
        ask(server, tmp_path, 40, since=time.time() if again else 0.0)
    assert server.number == 40
    assert server.times[-1] < 5


def calls(server: VirtualServer, row: int) -> object:
    from virtual_time import questions

    columns = questions(range(row, row + 1))
    return server.calls(columns.row(0), columns.scoring)  # type: ignore[attr-defined]


@pytest.mark.usefixtures("virtual")
def test_waiting_for_another_program_is_said_and_ends_with_it(tmp_path: Path) -> None:
    server, lines = VirtualServer(), list[str]()
    (digest,) = (call.digest(SPEC.place) for call in calls(server, 3))  # type: ignore[attr-defined]
    with claimed(tmp_path, digest) as path:

        def waits(line: str) -> None:
            lines.append(line)
            path.unlink(missing_ok=True)

        ask(server, tmp_path, 40, waits=waits)
    assert lines == ["waiting for replies to 1 request that another program has sent, or for its end"]
    assert server.number == 40


@pytest.mark.usefixtures("virtual")
def test_a_failed_request_is_released_and_nothing_is_left(tmp_path: Path) -> None:
    server = VirtualServer()
    ask(server, tmp_path, 10)
    desk = EndpointExecutor(lambda spec: server, tmp_path / "journal")
    folder = Journal.of(tmp_path / "journal", SPEC).folder
    assert not list(folder.glob(f"*{ENDING}"))
    (folder / f"0-killed{ENDING}").touch()
    desk.tidy(SPEC)
    assert not list(folder.glob(f"*{ENDING}"))


# --- two processes

PROGRAM = """
import sys
from pathlib import Path
from assay.engine.endpoints import EndpointExecutor
from assay.models import load
from assay.models.base import Endpoint, ModelSpec
from assay.asking.queries import ListedColumns, ListedQuery, Scoring

def columns(rows):
    queries = [ListedQuery("", f"Question {row}?", ("yes", "no", "maybe")) for row in rows]
    return ListedColumns.of(queries, Scoring(answer="letters"))

url, folder = sys.argv[1:]
endpoint = Endpoint("m", "KEY", ways=("letters",))
spec = ModelSpec(f"api:m@{url}", "api", url, "0" * 64, frozenset({"listed"}), endpoint=endpoint)
print("ready", flush=True)
sys.stdin.readline()
answers = EndpointExecutor(load, Path(folder)).ask(spec, columns, [range(lo, lo + 40) for lo in range(0, 200, 40)])
print(sum(int((block.status == 0).sum()) for _, _, block in answers), flush=True)
"""


@contextmanager
def two_programs(server: Server, folder: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Two programs with the same 200 questions, which begin together."""
    command = [sys.executable, "-c", PROGRAM, server.url, str(folder)]
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [
        subprocess.Popen(command, env={**os.environ, "KEY": f"key-of-program-{number}"}, **piped)  # type: ignore[call-overload]
        for number in range(2)
    ]
    try:
        for process in both:
            assert process.stdout.readline() == "ready\n"
        for process in both:
            process.stdin.write("go\n")
            process.stdin.flush()
        yield both
    finally:
        for process in both:
            process.kill()
            process.communicate()


@pytest.mark.slow
def test_two_programs_with_the_same_questions_send_every_request_once(tmp_path: Path) -> None:
    with serving(latency=0.05) as server, two_programs(server, tmp_path) as both:
        assert [process.communicate(timeout=60)[0] for process in both] == ["200\n"] * 2
        assert len(server.questions) == 200
    assert not list(tmp_path.rglob(f"*{ENDING}"))


@pytest.mark.kill
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("killed", [0, 1])
def test_when_one_of_two_programs_is_killed_the_other_sends_what_is_missing(killed: int, tmp_path: Path) -> None:
    with serving(latency=0.05) as server, two_programs(server, tmp_path) as both:
        end = time.monotonic() + 60
        while len(server.questions) < 60 and time.monotonic() < end:
            time.sleep(0.01)
        both[killed].send_signal(signal.SIGKILL)
        both[killed].wait()
        stored = [path for path in tmp_path.rglob("*.journal") if path.stem.endswith(f"-{both[killed].pid}")]
        assert both[1 - killed].communicate(timeout=60)[0] == "200\n"
        sent = sum(asked.headers["authorization"].endswith(f"program-{killed}") for asked in server.questions)
        under_way = sent - sum(len([*_entries(path)]) for path in stored)
        assert len(server.questions) == 200 + under_way
    assert not list(tmp_path.rglob(f"*{ENDING}"))
