"""Run folders: reading finished ones (run.json is checked by its schema), and writing with a lock."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import msgspec  # over pydantic: it decodes our own dataclasses, names the key that is wrong, and loads in half the time

from assay.engine.ask import AnsweredPlan, Resume
from assay.engine.store import StoredBlock, UsedBlocks
from assay.errors import AssayError, DataError, UsageError
from assay.files.atomic import remove_leftovers, write_atomically
from assay.files.decoding import json_value, without_nan
from assay.files.lock import LOCK, held, is_new
from assay.files.opening import read_whole, reason
from assay.probes import described
from assay.results.examples import FILE, read_examples, to_lines
from assay.results.findings import NEAR_TIE, TABLES, Findings, read_digested, require_schema, table_path
from assay.results.run import Run, RunInfo, Tour

INFO, BLOCKS = "run.json", "blocks.json"
_DEPTHS = ("*", "*/*")  # a tour; several models with a folder each
_ASK_AGAIN = "Repeat the run with --resume never, which asks everything again, or with another --out."
OTHER_FOLDER = "Choose another folder with --out, or replace this run with --resume never."


def open_run(folder: str | Path) -> Run | Tour:
    """Open a finished run, or a tour with the runs in it (`.runs`)."""
    path = Path(folder)
    folders = run_folders(path)
    return read_run(path) if folders == [path] else Tour(path, [read_run(run) for run in folders])


def read_run(folder: Path) -> Run:
    """A finished run; its run.json must be there and complete."""
    return _opened(folder, read_info(folder))


def open_bare(folder: Path) -> Run:
    """A finished run; without a complete run.json, as far as its findings tell."""
    return _opened(folder, _info(folder, "Repeat the run to rewrite it.") or RunInfo())


def _opened(folder: Path, info: RunInfo) -> Run:
    findings, digests = read_digested(folder)
    _require_parts(folder, info, digests)
    findings = replace(described(findings), examples=read_examples(folder))
    return Run(folder, info, findings, digests["findings.json"])


def _require_parts(folder: Path, info: RunInfo, digests: Mapping[str, str]) -> None:
    """Refuse files that are not those of the run.json beside them. A run.json without digests cannot tell."""
    expected = {table_path(name): digest for name, digest in info.table_digests.items()}
    expected |= {"findings.json": info.findings_digest} if info.findings_digest else {}
    for file, digest in digests.items():
        if file in expected and digest != expected[file]:
            problem = f"this file is not the one that the run wrote: its digest differs from that in {INFO}."
            remedy = "Repeat the run's command, which writes all of its files, or restore the file."
            raise DataError(problem, remedy, code="other-run", file=folder / file)


def open_runs(folder: Path) -> list[Run]:
    """The finished runs of a folder: the folder itself if it is a run, otherwise those in it."""
    return [open_bare(path) for path in run_folders(folder)]


def run_folders(folder: Path) -> list[Path]:
    """The folders of finished runs, sorted by path: the folder itself if it is a run, otherwise those in it."""
    if (folder / "findings.json").exists() or (folder / "run.json").exists():
        return [folder]
    folders = sorted({file.parent for depth in _DEPTHS for file in folder.glob(f"{depth}/findings.json")})
    if not folders:
        remedy = "Name a run folder that `assay run` wrote, or a folder of runs."
        raise UsageError("this folder has no finished run.", remedy, code="not-a-run", file=folder)
    return folders


def unfinished_folders(folder: Path) -> list[Path]:
    """The runs in a folder that were started and have no findings yet."""
    begun = {file.parent for depth in _DEPTHS for file in folder.glob(f"{depth}/run.json")}
    return sorted(path for path in begun if not (path / "findings.json").exists())


def read_info(folder: Path) -> RunInfo:
    """run.json of a run folder."""
    info = info_in(folder)
    if info is None:
        problem = "this is not a run folder: it has no run.json."
        raise UsageError(problem, "Name a run folder that `assay run` wrote.", code="not-a-run", file=folder)
    return info


def info_in(folder: Path) -> RunInfo | None:
    """run.json of a folder, or None."""
    return _info(folder, OTHER_FOLDER, needed=("identity",))


def _info(folder: Path, remedy: str, needed: Sequence[str] = ()) -> RunInfo | None:
    path = folder / INFO
    wrong = partial(DataError, remedy=remedy, file=path)
    try:
        content = without_nan(json_value(read_whole(path), mend=True))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        code = "bad-json" if isinstance(error, json.JSONDecodeError) else "unreadable-file"
        raise wrong(f"cannot be read ({reason(error)}).", code=code) from None
    if not isinstance(content, dict):
        raise wrong("this is not a run.json file of assay.", code="bad-json")
    require_schema(content, path)
    fields = {key: value for key, value in content.items() if value is not None}
    for key in ("schema", *needed):
        if key not in fields:
            raise wrong(f'this is not a run.json file of assay: "{key}" is missing.', code="missing-key", key=key)
    try:
        return msgspec.convert(fields, RunInfo)
    except msgspec.ValidationError as error:
        at = re.search(r"`\$\.([\w.]+)", str(error))
        raise wrong(
            f"this is not a run.json file of assay ({error}).", code="bad-value", key=at[1] if at else None
        ) from None


def used_blocks(folder: Path) -> dict[str, UsedBlocks]:
    """The blocks of a run by key, as its blocks.json lists them; none if it has no such file."""
    path = folder / BLOCKS
    wrong = partial(DataError, remedy=_ASK_AGAIN, file=path)
    used: dict[str, UsedBlocks] = {}
    try:
        for entry in json_value(read_whole(path)):
            key, since, until = str(entry["key"]), entry.get("since"), entry.get("until")
            blocks = [StoredBlock(key, int(lo), int(hi), str(checksum)) for lo, hi, checksum in entry["blocks"]]
            period = 0.0 if since is None else float(since), inf if until is None else float(until)
            used[key] = UsedBlocks({(block.lo, block.hi): block for block in blocks}, *period)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise wrong(f"cannot be read ({reason(error)}).", code="unreadable-file") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise wrong(f"this is not a list of blocks ({error}).", code="bad-json") from None
    for block in (block for of_key in used.values() for block in of_key.blocks.values()):
        for name in ("key", "checksum"):
            if not re.fullmatch("[0-9a-f]{64}", getattr(block, name)):
                raise wrong(f"this is not a list of blocks (a {name} is not a digest).", code="bad-value", key=name)
    return used


def info_json(info: RunInfo) -> bytes:
    """The content of run.json."""
    others = {name: model.as_json() for name, model in info.others.items()}
    content = msgspec.to_builtins(info) | {"model": info.model.as_json(), "others": others}
    return (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


# --- writing


@dataclass
class RunFolder:
    """An open run folder. `info` is the content of run.json so far."""

    path: Path
    info: RunInfo
    finished_before: bool = False

    def note(self, **more: Any) -> None:
        """Update fields of run.json."""
        self.info = replace(self.info, **more)
        write_atomically(self.path / INFO, info_json(self.info))

    def remember(self, budgets: Mapping[str, int]) -> None:
        """Record that memory ran out; a resumed run then computes in the same batches."""
        self.note(backed_off=dict(budgets))

    def size_blocks(self, sizes: Mapping[str, int]) -> None:
        """Record the number of questions in the blocks of each plan, for a resumed run."""
        self.note(block_sizes=dict(sizes))

    def write_blocks(self, plans: list[AnsweredPlan]) -> None:
        content = [
            {name: getattr(answered, name) for name in ("label", "plan", "key", "since", "until", "blocks")}
            for answered in plans
        ]
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        write_atomically(self.path / BLOCKS, f"{text}\n".encode())

    def write_findings(self, findings: Findings) -> None:
        tables = {name: table.to_csv().encode() for name, table in findings.tables.items()}
        for name, content in tables.items():
            write_atomically(self.path / table_path(name), content)
        if findings.examples:
            write_atomically(self.path / FILE, to_lines(findings.examples))
        else:
            (self.path / FILE).unlink(missing_ok=True)  # of an earlier run that this one replaces
        findings_json = findings.to_json().encode()
        write_atomically(self.path / "findings.json", findings_json)
        self.info = replace(
            self.info,
            near_ties={"below": NEAR_TIE, "items": dict(findings.near_ties)},
            findings_digest=hashlib.sha256(findings_json).hexdigest(),
            table_digests={name: hashlib.sha256(content).hexdigest() for name, content in tables.items()},
        )


@contextmanager
def open_for_writing(path: Path, info: RunInfo, resume: Resume) -> Iterator[RunFolder]:
    """Lock a run folder and start or resume the run that `info.identity` describes.

    If a new run fails before there is anything to resume, its files are removed.
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
            for subfolder in (path, path / TABLES):
                remove_leftovers(subfolder)
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
    """run.json of an existing run; None if the folder is new. Refuses any other folder."""
    try:
        info = info_in(path)
    except DataError:
        if resume is Resume.NEVER:
            return RunInfo()  # it will be replaced, whatever it is
        raise
    if info is None and not is_new(path, INFO):
        problem = "this is not a run folder."
        raise UsageError(problem, "Choose another folder with --out.", code="not-a-run", file=path)
    return info


def _require_same(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    different = _different(before, now)
    kind = different[0] if different in (["data"], ["brought"]) else ""
    if kind and (files := sorted(_different(before.get(kind) or {}, now.get(kind) or {}))):
        subject = "data" if kind == "data" else "texts"
        problem = f"the {subject} of this run ({', '.join(files)}) have changed since it began."
        remedy = f"Restore them to resume. {OTHER_FOLDER}"
        raise DataError(problem, remedy, code="changed-file", file=path, key=files[0])
    if different:
        differences = "; ".join(
            line for key in sorted(different) for line in changes(key, before.get(key), now.get(key))
        )
        problem = f"this folder holds another run ({differences})."
        raise UsageError(problem, OTHER_FOLDER, code="other-run", file=path, key=min(different))


def changes(key: str, before: Any, now: Any) -> list[str]:
    """What differs between the existing run and the requested one.

    >>> changes("settings", {"orders": "all", "form": "letters"}, {"orders": "stored", "form": "letters"})
    ['orders: all → stored']
    >>> changes("seed", 0, 1), changes("settings", {"limit": None}, {"limit": 5})
    (['seed: 0 → 1'], ['limit: not set → 5'])
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        changed = sorted(_different(before, now))
        return [line for inner in changed for line in changes(inner, before.get(inner), now.get(inner))]
    return [f"{key}: {' → '.join('not set' if value is None else str(value) for value in (before, now))}"]


def _different(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    return [key for key in {**first, **second} if first.get(key) != second.get(key)]
