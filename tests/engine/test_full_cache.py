"""The disk of the cache is full: nothing more is sent, and what was paid for is kept in the run's folder."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

from assay.engine.concurrency import GRACE
from assay.engine.endpoints import EndpointExecutor
from assay.engine.journal import BESIDE, Journal, _entries, _Writer
from assay.errors import UsageError
from assay.models.base import Reply
from raising import raises
from virtual_time import SPEC, VirtualServer, ask, log_normal, virtual

__all__ = ["virtual"]


class Disks:
    """Writes to files in the `full` folders fail from now on, or after so many more."""

    def __init__(self) -> None:
        self.full: tuple[Path, ...] = ()
        self.left = 0

    def fill(self, *folders: Path, after: int = 0) -> None:
        self.full, self.left = folders, after

    def require_space(self, path: Path) -> None:
        if any(path.is_relative_to(folder) for folder in self.full):
            self.left -= 1
            if self.left < 0:
                problem, remedy = "no space left to write this file.", "Free some space."
                raise UsageError(problem, remedy, code="no-space", file=path)


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch) -> Disks:
    append, all_of_them = _Writer.append, Disks()

    def appended(self: _Writer, line: bytes) -> int:
        all_of_them.require_space(self.path)
        return append(self, line)

    monkeypatch.setattr(_Writer, "append", appended)
    return all_of_them


def run(server: VirtualServer, folder: Path, count: int = 378) -> list[bytes]:
    (folder / "run").mkdir(exist_ok=True, parents=True)
    desk = EndpointExecutor(lambda spec: server, folder / "journal", run=folder / "run")
    answers: list[bytes] = ask(server, folder, count, desk=desk)["text"].tolist()
    return answers


def replies(folder: Path) -> int:
    """How many are in the journal."""
    journal = Journal.of(folder / "journal", SPEC)
    journal.close()
    return len(journal)


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize("after", [0, 1, 100, 377])
def test_what_still_arrives_goes_to_the_runs_folder_and_the_next_command_takes_it(
    after: int, tmp_path: Path, disks: Disks
) -> None:
    first, second = (VirtualServer(latency=log_normal(1.0, 0.5)) for _ in range(2))
    disks.fill(tmp_path / "journal", after=after)
    with raises("no-space", UsageError) as error:
        run(first, tmp_path)
    disks.fill()
    beside = tmp_path / "run" / BESIDE
    assert str(beside) in str(error.value)
    assert error.value.file is not None
    assert error.value.file.is_relative_to(tmp_path / "journal")
    assert first.number <= after + first.highest, "nothing is sent after the first failed write"
    rescued = len(beside.read_bytes().splitlines())
    assert f"{rescued} repl" in str(error.value)
    assert rescued + after == sum(first.answered.values())
    assert run(second, tmp_path) == [b"yes"] * 378
    assert not beside.exists()
    assert first.number + second.number == 378, "no answer is paid for twice"
    assert replies(tmp_path) == 378


@pytest.mark.usefixtures("virtual")
def test_while_the_cache_stays_full_what_is_in_the_runs_folder_is_used_from_there(tmp_path: Path, disks: Disks) -> None:
    disks.fill(tmp_path / "journal", after=20)
    servers = [VirtualServer() for _ in range(3)]
    for server in servers:
        with raises("no-space", UsageError):
            run(server, tmp_path)
    assert all(0 < server.number <= 20 + server.highest for server in servers)
    asked = [question for server in servers for question in server.answered]
    assert len(asked) == len(set(asked))


@pytest.mark.usefixtures("virtual")
def test_if_both_disks_are_full_the_message_says_how_many_answers_were_lost(tmp_path: Path, disks: Disks) -> None:
    disks.fill(tmp_path, after=100)
    server = VirtualServer(latency=log_normal(1.0, 0.5))
    with raises("no-space", UsageError) as error:
        run(server, tmp_path)
    lost = sum(server.answered.values()) - 100
    assert lost > 1
    assert f"{lost} replies were lost" in str(error.value)


@pytest.mark.usefixtures("virtual")
def test_the_end_does_not_wait_for_pauses_or_slow_replies(tmp_path: Path, disks: Disks) -> None:
    disks.fill(tmp_path / "journal", after=20)
    server = VirtualServer(latency=lambda number: 200.0 if number % 10 == 3 else 1.0)
    ended: list[float] = []
    close = server.close

    async def closed() -> None:
        ended.append(asyncio.get_running_loop().time())
        await close()

    server.close = closed  # type: ignore[method-assign]
    with raises("no-space", UsageError):
        run(server, tmp_path)
    assert ended[0] < server.times[-1] + 1.0 + GRACE + 1.0


# --- merging


def reply(number: int) -> Reply:
    return Reply({"choices": [{"text": f"ä\nb {number}"}]}, number, 1)


def beside_of(folder: Path, disks: Disks, count: int = 5) -> Path:
    """A file with replies that a journal could not store."""
    path = folder / BESIDE
    journal = Journal(folder / "journal", path)
    disks.fill(folder / "journal")
    for number in range(count):
        journal.put(f"call{number}", reply(number))
    journal.close()
    assert journal.rescued == count
    return path


def contents(journal: Journal, count: int) -> list[Reply | None]:
    """Its replies, without their times."""
    found = [journal.get(f"call{number}") for number in range(count)]
    return [dataclasses.replace(each, at=0.0) if each else None for each in found]


@pytest.mark.parametrize("killed", ["at once", "before the file is removed", "in the middle"])
def test_a_program_that_is_killed_while_it_merges_leaves_what_the_next_one_merges(
    killed: str, tmp_path: Path, disks: Disks
) -> None:
    path = beside_of(tmp_path, disks)
    disks.fill()
    if killed != "at once":
        content = path.read_bytes()
        Journal(tmp_path / "journal", path).close()
        path.write_bytes(content)
        (stored,) = (tmp_path / "journal").iterdir()
        assert stored.read_bytes() == content
        if killed == "in the middle":
            stored.write_bytes(content[: len(content) // 2])
    for _ in range(2):
        journal = Journal(tmp_path / "journal", path)
        assert contents(journal, 5) == [reply(number) for number in range(5)]
        assert not path.exists()
        journal.close()
    lines = [digest for file in (tmp_path / "journal").iterdir() for digest, _ in _entries(file)]
    assert sorted(lines) == [f"call{number}" for number in range(5)]


@pytest.mark.parametrize("damage", [b"", b"12345678 call9 1.0 {", b"nonsense\n"])
def test_a_damaged_line_in_the_runs_folder_costs_no_other(damage: bytes, tmp_path: Path, disks: Disks) -> None:
    path = beside_of(tmp_path, disks)
    with path.open("ab") as file:
        file.write(damage)
    journal = Journal(tmp_path / "journal", path)  # the cache is full still: the file grows
    journal.put("call5", reply(5))
    journal.close()
    disks.fill()
    journal = Journal(tmp_path / "journal", path)
    assert contents(journal, 6) == [reply(number) for number in range(6)]
    assert not path.exists()
    journal.close()


def test_without_a_runs_folder_the_error_is_raised_at_once(tmp_path: Path, disks: Disks) -> None:
    journal = Journal(tmp_path / "journal")
    disks.fill(tmp_path)
    with raises("no-space", UsageError):
        journal.put("call", reply(1))
    assert "call" not in journal
    journal.close()
