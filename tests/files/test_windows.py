"""What is different on Windows, with the system's own modules imitated: locks, replacing, processes, names and lines.

No test here has run on a real Windows.
"""

from __future__ import annotations

import ast
import ctypes
import errno
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path, PureWindowsPath
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import assay
from assay.errors import UsageError
from assay.files import atomic, lock
from assay.lab.studies import step_context as study_work
from assay.lab.training import data_files
from raising import raises

NOT_THERE = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "termios"}


def on_windows(module: ModuleType, **imitated: ModuleType) -> Any:
    """A module as Windows would load it."""
    spec = importlib.util.spec_from_file_location(f"{module.__name__} on Windows", str(module.__file__))
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "platform", "win32")
        for name in NOT_THERE:
            patched.setitem(sys.modules, name, None)
        for name, other in imitated.items():
            patched.setitem(sys.modules, name, other)
        spec.loader.exec_module(loaded)
    return loaded


# --- locks


class Msvcrt(ModuleType):
    """Locks of regions of open files, as Windows has them: of the first byte alone."""

    LK_UNLCK, LK_NBLCK = 0, 2

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.locked: dict[tuple[int, int], int] = {}  # by file, the handle that locked it

    def locking(self, handle: int, mode: int, size: int) -> None:
        assert size == 1
        status = os.fstat(handle)
        file = (status.st_dev, status.st_ino)
        if mode == self.LK_UNLCK:
            assert self.locked.pop(file) == handle
        elif mode == self.LK_NBLCK:
            if file in self.locked:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            self.locked[file] = handle
        else:
            pytest.fail("this waits")


@pytest.fixture
def msvcrt() -> Msvcrt:
    return Msvcrt()


@pytest.fixture
def held(msvcrt: Msvcrt) -> Callable[..., Any]:
    found: Callable[..., Any] = on_windows(lock, msvcrt=msvcrt).held
    return found


def test_on_windows_a_second_writer_is_refused_until_the_first_is_done(
    held: Callable[..., Any], msvcrt: Msvcrt, tmp_path: Path
) -> None:
    for _ in range(2):
        with held(tmp_path, "busy"):
            with raises("in-use", UsageError, file=tmp_path), held(tmp_path, "busy"):
                pytest.fail("held")
            assert len(msvcrt.locked) == 1
        assert not msvcrt.locked
        assert not [*tmp_path.iterdir()]


def test_on_windows_a_file_is_removed_when_nobody_holds_its_lock(msvcrt: Msvcrt, tmp_path: Path) -> None:
    of_windows, path = on_windows(lock, msvcrt=msvcrt), tmp_path / "program.claims"
    handle = of_windows.hold(path)
    os.write(handle, b"a\n")
    assert not of_windows.remove_if_free(path)
    assert path.read_bytes() == b"a\n"
    of_windows.let_go(handle, path)
    assert not msvcrt.locked
    assert not path.exists()
    path.touch()
    assert of_windows.remove_if_free(path)
    assert not path.exists()


def test_on_windows_the_lock_is_closed_before_it_is_removed(
    held: Callable[..., Any], msvcrt: Msvcrt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink, handles = Path.unlink, []

    def unless_open(path: Path, missing_ok: bool = False) -> None:
        for handle in handles:
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(handle)
        unlink(path, missing_ok)

    with held(tmp_path, "busy"):
        handles += msvcrt.locked.values()
        monkeypatch.setattr(Path, "unlink", unless_open)
    assert handles
    assert not [*tmp_path.iterdir()]


def test_on_windows_a_lock_that_another_program_has_opened_stays(
    held: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with held(tmp_path, "busy"):
        monkeypatch.setattr(Path, "unlink", refuse)
    monkeypatch.undo()
    assert [entry.name for entry in tmp_path.iterdir()] == [".lock"]


def test_on_windows_a_lock_that_is_a_link_is_not_followed(
    held: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_NOFOLLOW")
    (tmp_path / ".lock").symlink_to(tmp_path / "absent")
    with raises("not-new", UsageError, file=tmp_path / ".lock"), held(tmp_path, "busy"):
        pytest.fail("held")
    assert not (tmp_path / "absent").exists()


# --- replacing files that others read


@pytest.mark.parametrize("write", ["file", "folder"])
def test_on_windows_a_file_or_folder_is_replaced_when_who_reads_it_is_done(
    write: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, replace, reads = on_windows(atomic), Path.replace, [3]

    def unless_read(path: Path, target: Path) -> Path:
        reads[0] -= 1
        if reads[0] > 0:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", unless_read)
    if write == "file":
        module.write_atomically(tmp_path / "a", b"new")
        assert (tmp_path / "a").read_bytes() == b"new"
    else:
        with module.folder_beside(tmp_path / "a") as folder:
            module.rename_folder(folder, tmp_path / "a")
        assert (tmp_path / "a").is_dir()
    assert reads == [0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_on_windows_a_file_that_is_read_for_long_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, target: Path) -> Path:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    module = on_windows(atomic)
    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr(module, "_WAITS", (0.0, 0.0))
    with raises("cannot-write", UsageError, file=tmp_path / "a"):
        module.write_atomically(tmp_path / "a", b"new")
    assert not [*tmp_path.iterdir()]


# --- processes

RUNNING, ENDED, NONE, ANOTHERS = 4, 8, 12, 16


class Kernel:
    """Processes as kernel32 tells of them."""

    def __init__(self) -> None:
        self.error = 0
        self.open: list[int] = []

    def OpenProcess(self, access: int, inherited: bool, pid: int) -> int:
        self.error = {NONE: 87, ANOTHERS: 5}.get(pid, 0)
        if not self.error:
            self.open.append(pid)
        return 0 if self.error else pid

    def WaitForSingleObject(self, process: int, milliseconds: int) -> int:
        assert milliseconds == 0
        return 0x102 if process == RUNNING else 0

    def CloseHandle(self, process: int) -> None:
        self.open.remove(process)


def test_on_windows_parts_of_processes_that_ended_are_removed_and_no_process_is_hurt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel()
    monkeypatch.setattr(ctypes, "WinDLL", lambda name, use_last_error: kernel, raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: kernel.error, raising=False)
    monkeypatch.setattr(os, "kill", lambda pid, how: pytest.fail("this would interrupt it"))
    parts = {pid: tmp_path / f".a.{atomic._machine()}-{pid}.tmp" for pid in (RUNNING, ENDED, NONE, ANOTHERS)}
    for part in parts.values():
        part.touch()
    on_windows(atomic).remove_leftovers(tmp_path)
    assert {*tmp_path.iterdir()} == {parts[RUNNING], parts[ANOTHERS]}
    assert not kernel.open


def test_a_study_hears_from_its_processes_whatever_the_system_calls_their_pipes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class PipeConnection:
        def recv(self) -> dict[str, int]:
            return {"answer": 42}

        def close(self) -> None:
            pass

    silent, speaking = PipeConnection(), PipeConnection()
    process = SimpleNamespace(join=lambda: None, exitcode=0)
    running: Any = {silent: (process, "one"), speaking: (process, "two")}
    work: Any = None
    several = study_work.StepProcesses(work, 2, running)
    monkeypatch.setattr(study_work, "wait", lambda connections: [speaking])
    assert several.done() == ("two", {"answer": 42})
    assert [*several._running] == [silent]


# --- names and lines


def test_files_of_a_folder_have_the_same_names_in_records_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    class Folder(PureWindowsPath):
        def is_dir(self) -> bool:
            return True

    root: Any = Folder("C:/race")
    file: Any = PureWindowsPath("C:/race/test/high/1.txt")
    monkeypatch.setattr(data_files, "digest_of_file", lambda file: "digest")
    assert data_files.digests_of(root, [file]) == {"test/high/1.txt": "digest"}


def sources() -> dict[str, ast.Module]:
    root = Path(str(assay.__file__)).parent
    return {path.relative_to(root).as_posix(): ast.parse(path.read_bytes()) for path in root.rglob("*.py")}


@pytest.mark.slow
def test_text_has_the_same_encoding_and_the_same_ends_of_lines_everywhere() -> None:
    opened = [(name, *found) for name, tree in sources().items() for found in _opened_as_text(tree)]
    assert len(opened) > 10
    assert [(name, line, lacking) for name, line, lacking in opened if lacking] == []


def _opened_as_text(tree: ast.Module) -> Iterator[tuple[int, set[str]]]:
    """The lines where text is read or written, and which arguments are missing there."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = getattr(call.func, "attr", "")
        mode = {"read_text": "r", "write_text": "w"}.get(name, "b")
        if name == "open" and call.args and isinstance(call.args[0], ast.Constant):
            mode = str(call.args[0].value)  # of a path; an archive's first argument is a member, whose content is bytes
        if re.fullmatch("[rwxa+]+", mode):
            needed = {"encoding"} if mode == "r" else {"encoding", "newline"}
            yield call.lineno, needed - {str(keyword.arg) for keyword in call.keywords}


# --- everywhere


@pytest.mark.slow
def test_nothing_but_the_lock_and_a_limit_for_linux_imports_what_windows_does_not_have() -> None:
    found = {name for name, tree in sources().items() if _imports(tree) & NOT_THERE}
    assert found == {"files/lock.py", "models/chat_template_worker.py"}


def _imports(tree: ast.Module) -> set[str]:
    nodes = [*ast.walk(tree)]
    plain = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    return plain | {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
