"""The folder of one run: who may write it, what was asked, what was found."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.engine.ask import Asked, Resume
from assay.errors import AssayError, DataError, UsageError
from assay.examples import FILE, to_lines
from assay.files.atomic import remove_leftovers, write_atomically
from assay.files.lock import LOCK, held, is_new
from assay.findings import NEAR_TIE, Findings
from assay.run import RunInfo
from assay.runs.read import INFO, OTHER_FOLDER, info_in, info_json


@dataclass
class RunFolder:
    """An open run folder. `info` is the content of run.json as far as it is known."""

    path: Path
    info: RunInfo
    finished_before: bool = False

    def note(self, **more: Any) -> None:
        """Write run.json with something more in it."""
        self.info = replace(self.info, **more)
        write_atomically(self.path / INFO, info_json(self.info))

    def remember(self, budgets: Mapping[str, int]) -> None:
        """Note that memory ran out, so that a resumed run computes in the same batches."""
        self.note(backed_off=dict(budgets))

    def write_blocks(self, asked: list[Asked]) -> None:
        content = [{name: getattr(each, name) for name in ("label", "plan", "key", "blocks")} for each in asked]
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        write_atomically(self.path / "blocks.json", f"{text}\n".encode())

    def write_findings(self, findings: Findings) -> None:
        for name, table in findings.tables.items():
            write_atomically(self.path / "tables" / f"{name}.csv", table.to_csv().encode())
        if findings.examples:
            write_atomically(self.path / FILE, to_lines(findings.examples))
        else:
            (self.path / FILE).unlink(missing_ok=True)  # of an earlier run that this one replaces
        write_atomically(self.path / "findings.json", findings.to_json().encode())
        self.info = replace(self.info, near_ties={"below": NEAR_TIE, "items": dict(findings.near_ties)})


@contextmanager
def open_for_writing(path: Path, info: RunInfo, resume: Resume) -> Iterator[RunFolder]:
    """Lock a run folder and begin or resume the run that `info.identity` describes.

    When a new run fails before anything was found, or noted for a resumed run, nothing of it is left behind.
    """
    _info_before(path, resume)  # nothing is touched where it complains
    with held(path, "writing this run"):
        folder = RunFolder(path, info)
        before = _info_before(path, resume)
        try:
            if before is not None and resume is not Resume.NEVER:
                _require_same(path, before.identity, info.identity)
                folder.info = replace(info, started=before.started or info.started, backed_off=before.backed_off)
                folder.finished_before = bool(before.finished) and (path / "findings.json").exists()
            for place in (path, path / "tables"):
                remove_leftovers(place)
            replaced_at_the_end = before is not None and resume is Resume.NEVER
            if not replaced_at_the_end and not (folder.finished_before and resume is Resume.ONLY_MISSING):
                folder.note()
            yield folder
        except AssayError:
            new = before is None and not folder.info.backed_off
            if new and {entry.name for entry in path.iterdir()} <= {LOCK, INFO}:
                (path / INFO).unlink(missing_ok=True)
            raise


def _info_before(path: Path, resume: Resume) -> RunInfo | None:
    """run.json of a run that is there already; None where the folder is new, and anything else is refused."""
    try:
        info = info_in(path)
    except DataError:
        if resume is Resume.NEVER:
            return RunInfo()  # it will be replaced, whatever it is
        raise
    if info is None and not is_new(path, INFO):
        problem = "this folder holds something else than a run."
        raise UsageError(problem, "Choose another with --out.", code="not-a-run", file=path)
    return info


def _require_same(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    different = _different(before, now)
    if different == ["data"]:
        files = sorted(_different(before["data"], now["data"]))
        problem = f"the data of this run ({', '.join(files)}) have changed since it began."
        remedy = f"Restore them to resume. {OTHER_FOLDER}"
        raise DataError(problem, remedy, code="changed-file", file=path, key=files[0])
    if different:
        what = "; ".join(f"{key}: {before.get(key)} there, {now.get(key)} now" for key in sorted(different))
        problem = f"this folder holds another run ({what})."
        raise UsageError(problem, OTHER_FOLDER, code="other-run", file=path, key=min(different))


def _different(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [key for key in {**one, **other} if one.get(key) != other.get(key)]
