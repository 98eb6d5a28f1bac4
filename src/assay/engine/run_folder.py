"""The folder of one run: who may write it, what was asked, what was found."""

from __future__ import annotations

import contextlib
import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.engine.ask import Asked, Resume
from assay.errors import AssayError, DataError, UsageError
from assay.examples import FILE, to_lines
from assay.files.atomic import remove_leftovers, write_atomically
from assay.findings import NEAR_TIE, Findings

_OTHER_FOLDER = "Choose another folder with --out, or replace what is there with --resume never."


@dataclass
class RunFolder:
    """An open run folder. `info` is the content of run.json; `identity` in it says what the run is about."""

    path: Path
    info: dict[str, Any] = field(default_factory=dict)
    finished_before: bool = False

    @property
    def backed_off(self) -> dict[str, int]:
        budgets: dict[str, int] = self.info.get("backed_off", {})
        return budgets

    def remember(self, budgets: Mapping[str, int]) -> None:
        """Note that memory ran out, so that a resumed run computes in the same batches."""
        self.info["backed_off"] = dict(budgets)
        self.write_info()

    def write_info(self) -> None:
        write_atomically(self.path / "run.json", _json(self.info))

    def write_blocks(self, asked: list[Asked]) -> None:
        content = [
            {"label": entry.label, "plan": entry.plan, "key": entry.key, "blocks": [list(b) for b in entry.blocks]}
            for entry in asked
        ]
        write_atomically(self.path / "blocks.json", _json(content, indent=None))

    def write_findings(self, findings: Findings) -> None:
        for name, table in findings.tables.items():
            write_atomically(self.path / "tables" / f"{name}.csv", table.to_csv().encode())
        if findings.examples:
            write_atomically(self.path / FILE, to_lines(findings.examples))
        else:
            (self.path / FILE).unlink(missing_ok=True)  # of an earlier run that this one replaces
        write_atomically(self.path / "findings.json", findings.to_json().encode())
        self.info["near_ties"] = {"below": NEAR_TIE, "items": dict(findings.near_ties)}


@contextmanager
def open_for_writing(path: Path, info: Mapping[str, Any], resume: Resume) -> Iterator[RunFolder]:
    """Lock a run folder and begin or resume the run that `info["identity"]` describes.

    When a new run fails before anything was found, or noted for a resumed run, nothing of it is left behind.
    """
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be made ({error.strerror}).", "Choose another folder with --out.") from None
    with _locked(path):
        folder = RunFolder(path, dict(info))
        before = _info_before(path, resume)
        try:
            if before is not None and resume is not Resume.NEVER:
                _require_same(path, before["identity"], info["identity"])
                folder.info |= {key: before[key] for key in ("started", "backed_off") if key in before}
                folder.finished_before = "finished" in before and (path / "findings.json").exists()
            elif before is None and any(entry.name != ".lock" for entry in path.iterdir()):
                raise UsageError(f"{path}: this folder holds something else than a run.", "Choose another with --out.")
            remove_leftovers(path)
            replaced_at_the_end = before is not None and resume is Resume.NEVER
            if not replaced_at_the_end and not (folder.finished_before and resume is Resume.ONLY_MISSING):
                folder.write_info()
            yield folder
        except AssayError:
            if before is None and not folder.backed_off:
                _clean(path, made)
            raise


def read_info(path: Path) -> dict[str, Any]:
    """run.json of a run folder."""
    info = _read_info(path)
    if info is None:
        raise UsageError(
            f"{path}: this is no run folder (there is no run.json).", "Name a folder that `assay run` made."
        )
    return info


def _info_before(path: Path, resume: Resume) -> dict[str, Any] | None:
    try:
        return _read_info(path)
    except DataError:
        if resume is Resume.NEVER:
            return {}  # it will be replaced, whatever it is
        raise


def _read_info(path: Path) -> dict[str, Any] | None:
    try:
        info: Any = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read ({error}).", _OTHER_FOLDER, file=path / "run.json") from None
    if not isinstance(info, dict) or not isinstance(info.get("identity"), dict):
        raise DataError("this is no run.json of assay.", _OTHER_FOLDER, file=path / "run.json")
    return info


def _require_same(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    different = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    if different == ["data"]:
        files = sorted(
            name for name in {**before["data"], **now["data"]} if before["data"].get(name) != now["data"].get(name)
        )
        raise DataError(
            f"the data of this run ({', '.join(files)}) have changed since it began.",
            f"Restore them to resume. {_OTHER_FOLDER}",
            file=path,
        )
    if different:
        what = "; ".join(f"{key}: {before.get(key)} there, {now.get(key)} now" for key in sorted(different))
        raise UsageError(f"{path}: this folder holds another run ({what}).", _OTHER_FOLDER)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        file = (path / ".lock").open("w")
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror}).", "Choose a folder that you may write to with --out."
        ) from None
    with file as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"{path}: another program is writing this run.", "Wait until it is done, or choose another --out."
            ) from None
        yield


def _clean(path: Path, made: list[Path]) -> None:
    """Remove what a run left that came to nothing, and the folders that were made for it."""
    if all(entry.name in (".lock", "run.json") for entry in path.iterdir()):
        (path / "run.json").unlink(missing_ok=True)
    if not (path / "run.json").exists():
        (path / ".lock").unlink(missing_ok=True)
    for folder in made:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _json(content: Any, indent: int | None = 1) -> bytes:
    return (json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False) + "\n").encode()
