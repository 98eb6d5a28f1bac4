"""Reading finished runs: run.json checked by its schema, findings with their tables and examples."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec  # over pydantic: it decodes our own dataclasses, names the key that is wrong, and loads in half the time

from assay.errors import DataError, UsageError
from assay.examples import read_examples
from assay.findings import read_digested
from assay.probes import described
from assay.run import Kind, Run, RunInfo

INFO = "run.json"
OTHER_FOLDER = "Choose another folder with --out, or replace what is there with --resume never."
_REPEAT = "Repeat the run to write it again."


def open_run(folder: str | Path) -> Run:
    """A finished run."""
    path = Path(folder)
    return _opened(path, read_info(path))


def open_bare(folder: Path) -> Run:
    """A finished run; one whose run.json, or any of its keys, is gone is what its findings say."""
    content = _content(folder / "run.json", _REPEAT)
    return _opened(folder, RunInfo() if content is None else _checked(content, folder / "run.json", _REPEAT))


def _opened(folder: Path, info: RunInfo) -> Run:
    findings, digest = read_digested(folder)
    return Run(folder, info, replace(described(findings), examples=read_examples(folder)), digest)


_DEPTHS = ("*", "*/*")  # a tour; several models with a folder each


def open_runs(folder: Path) -> list[Run]:
    """The finished runs of a folder: itself where it is a run, else those in it."""
    return [open_bare(path) for path in run_folders(folder)]


def run_folders(folder: Path) -> list[Path]:
    """The finished runs of a folder, in the order of their paths: the folder itself where it is a run."""
    if (folder / "findings.json").exists() or (folder / "run.json").exists():
        return [folder]
    found = sorted({file.parent for depth in _DEPTHS for file in folder.glob(f"{depth}/findings.json")})
    if not found:
        remedy = "Name a folder that `assay run` made, or one with such in it."
        raise UsageError("there is no finished run here.", remedy, code="not-a-run", file=folder)
    return found


def unfinished_folders(folder: Path) -> list[Path]:
    """The runs in a folder that began and have no findings yet."""
    begun = {file.parent for depth in _DEPTHS for file in folder.glob(f"{depth}/run.json")}
    return sorted(path for path in begun if not (path / "findings.json").exists())


def read_info(folder: Path) -> RunInfo:
    """run.json of a run folder."""
    info = info_in(folder)
    if info is None:
        problem = "this is no run folder (there is no run.json)."
        raise UsageError(problem, "Name a folder that `assay run` made.", code="not-a-run", file=folder)
    return info


def info_in(folder: Path) -> RunInfo | None:
    """run.json of a folder, None where there is none."""
    path = folder / INFO
    content = _content(path, OTHER_FOLDER)
    if content is None:
        return None
    if "identity" not in content:
        raise DataError("this is no run.json of assay.", OTHER_FOLDER, code="missing-key", file=path, key="identity")
    return _checked(content, path, OTHER_FOLDER)


def _content(path: Path, remedy: str) -> dict[str, Any] | None:
    """The JSON object of a file, without what is null; None where there is no file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        code = "bad-json" if isinstance(error, json.JSONDecodeError) else "unreadable-file"
        raise DataError(f"cannot be read ({error}).", remedy, code=code, file=path) from None
    if not isinstance(content, dict):
        raise DataError("this is no run.json of assay.", remedy, code="bad-json", file=path)
    return {key: value for key, value in content.items() if value is not None}


def _checked(content: Mapping[str, Any], path: Path, remedy: str) -> RunInfo:
    try:
        return msgspec.convert(_as_now(content), RunInfo)
    except msgspec.ValidationError as error:
        at, problem = re.search(r"`\$\.([\w.]+)", str(error)), f"this is no run.json of assay ({error})."
        raise DataError(problem, remedy, code="bad-value", file=path, key=at[1] if at else None) from None


def info_json(info: RunInfo) -> bytes:
    """The content of run.json."""
    others = {name: other.as_json() for name, other in info.others.items()}
    content = msgspec.to_builtins(info) | {"model": info.model.as_json(), "others": others}
    return (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _as_now(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Schema 1 as schema 2 has it: it did not say where answers come from, and named a file's model `spec`."""
    model, identity = content.get("model"), content.get("identity", {})
    if content.get("schema") != 1 or not isinstance(identity, Mapping):
        return content
    if isinstance(model, Mapping) and model.get("kind") == "predictions":
        named = {"name": model.get("spec", "")}
        skip_bad = identity.get("skip_bad", False)
        return {**content, "kind": Kind.PREDICTIONS, "model": named, "skip_bad": skip_bad}
    return {**content, "kind": Kind.RESCORED} if "scored" in identity else content
