"""The folder of one run: who may write it, what was asked, what was found."""

from __future__ import annotations

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
from assay.files.lock import LOCK, held, is_new
from assay.findings import NEAR_TIE, Findings

_INFO = "run.json"
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
        write_atomically(self.path / _INFO, _json(self.info))

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
    _info_before(path, resume)  # nothing is touched where it complains
    with held(path, "writing this run"):
        folder = RunFolder(path, dict(info))
        before = _info_before(path, resume)
        try:
            if before is not None and resume is not Resume.NEVER:
                _require_same(path, before["identity"], info["identity"])
                folder.info |= {key: before[key] for key in ("started", "backed_off") if key in before}
                folder.finished_before = "finished" in before and (path / "findings.json").exists()
            for place in (path, path / "tables"):
                remove_leftovers(place)
            replaced_at_the_end = before is not None and resume is Resume.NEVER
            if not replaced_at_the_end and not (folder.finished_before and resume is Resume.ONLY_MISSING):
                folder.write_info()
            yield folder
        except AssayError:
            if before is None and not folder.backed_off and {entry.name for entry in path.iterdir()} <= {LOCK, _INFO}:
                (path / _INFO).unlink(missing_ok=True)
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
    """run.json of a run that is there already; None where the folder is new, and anything else is refused."""
    try:
        info = _read_info(path)
    except DataError:
        if resume is Resume.NEVER:
            return {}  # it will be replaced, whatever it is
        raise
    if info is None and not is_new(path, _INFO):
        raise UsageError(f"{path}: this folder holds something else than a run.", "Choose another with --out.")
    return info


def _read_info(path: Path) -> dict[str, Any] | None:
    try:
        info: Any = json.loads((path / _INFO).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read ({error}).", _OTHER_FOLDER, file=path / _INFO) from None
    if not isinstance(info, dict) or not isinstance(info.get("identity"), dict):
        raise DataError("this is no run.json of assay.", _OTHER_FOLDER, file=path / _INFO)
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


def _json(content: Any, indent: int | None = 1) -> bytes:
    return (json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False) + "\n").encode()
