"""findings.json and run.json are as docs/guide.md documents them, field by field; other versions' files are refused."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.errors import DataError
from assay.models import find_model
from bounded import Said, saying
from endpoint_server import Asked, Sent, Server, serving
from kept_runs import RUNS
from raising import raises

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"
FILES = ("findings.json", "run.json")
TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "number": (int, float),
    "true": (bool,),
    "false": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "list": (list,),
    "map": (dict,),
}


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    return saying(capsys)


def documented(file: str) -> dict[str, str]:
    """The fields of a file with their types, as the guide's table has them."""
    section = GUIDE.read_text(encoding="utf-8").partition(f"### Fields of `{file}`")[2].partition("\n#")[0]
    return dict(re.findall(r"^\| `(\S+)` \| ([^|]+) \|", section, re.MULTILINE))


def wrong_in(content: Any, fields: dict[str, str], path: str = "") -> Iterator[str]:
    """What a file has that is not documented, lacks though it is, or has with another type."""
    below = {name for name in fields if re.fullmatch(rf"{re.escape(path)}\w+", name)}
    yield from (f"{name} is missing" for name in below - {f"{path}{key}" for key in content})
    for key, value in content.items():
        name = f"{path}{key}"
        if name not in fields:
            yield f"{name} is not documented"
            continue
        kind, _, inner = fields[name].partition(" of ")
        if kind in ("map", "list") and inner:
            parts = value.values() if isinstance(value, dict) else value
            yield from (f"{name} has {part!r}, not {inner}" for part in parts if not is_a(part, inner))
        elif not is_a(value, fields[name]):
            yield f"{name} is {value!r}, not {fields[name]}"
        elif isinstance(value, list):
            for part in value:
                yield from wrong_in(part, fields, f"{name}[].")
        elif isinstance(value, dict) and "object" in fields[name]:
            yield from wrong_in(value, fields, f"{name}.")


def is_a(value: Any, kinds: str) -> bool:
    kinds = kinds.partition(" of ")[0] if kinds.startswith(("map", "list")) else kinds
    names = re.split(r", | or ", kinds)
    return "any" in names or type(value) in {type_ for name in names for type_ in TYPES[name]}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("file", FILES)
def test_every_field_is_documented_with_its_type(file: str, name: str, kept_runs: Path) -> None:
    content = json.loads((kept_runs / "one" / name / file).read_text(encoding="utf-8"))
    assert list(wrong_in(content, documented(file))) == []
    assert content["schema"] == 3


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"more": 1}, "more is not documented"),
        ({"schema": None}, "schema is None, not number"),
        ({"verdict": {}}, "verdict.says is missing"),
        ({"tables": {"gamma": 1}}, "tables has 1, not text"),
        ({"estimates": [{"value": 1}]}, "estimates[].n is missing"),
    ],
)
def test_what_is_not_as_documented_is_noticed(change: dict[str, Any], wrong: str, kept_runs: Path) -> None:
    content = json.loads((kept_runs / "one" / "tour" / "unqover" / "findings.json").read_text(encoding="utf-8"))
    assert wrong in wrong_in(content | change, documented("findings.json"))


@pytest.mark.parametrize("name", RUNS)
def test_run_json_has_the_digests_of_what_the_run_found(name: str, kept_runs: Path) -> None:
    folder = kept_runs / "two" / name
    info = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert info["findings_digest"] == digest(folder / "findings.json")
    tables = {path.stem: digest(path) for path in (folder / "tables").glob("*.csv")}
    assert info["table_digests"] == tables
    assert {*tables} == {*json.loads((folder / "findings.json").read_text(encoding="utf-8"))["tables"]}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- endpoints


@pytest.mark.whole
def test_who_answered_at_an_endpoint_is_recorded(tmp_path: Path) -> None:
    """Also for answers of which the replies say less: the most frequent first."""

    def behave(asked: Asked) -> Sent:
        content, headers = server.usual(asked), {"Server": "engine/1.2"}
        if asked.number % 3 == 0:
            content, headers = {**content, "model": "another", "system_fingerprint": None}, {}
        return Sent(content=content, headers=headers)

    with serving() as server:
        server.behave = behave
        info = audited(server, tmp_path / "run")
        again = audited(server, tmp_path / "again")
    assert list(wrong_in(info, documented("run.json"))) == []
    served, seldom = info["endpoint"]["served"]
    assert (served["model"], served["fingerprint"], served["server"]) == ("tiny-llm", "fp_1", "engine/1.2")
    assert (seldom["model"], seldom["fingerprint"], seldom["server"]) == ("another", None, None)
    assert served["n"] > seldom["n"] > 0
    assert served["n"] + seldom["n"] == 48
    assert info["started"] <= served["first"] <= served["last"] <= info["finished"]
    assert info["endpoint"]["thinking"] is None
    assert again["spent"]["sent_now"] == 0
    assert again["endpoint"] == info["endpoint"], "stored replies keep their time"


def audited(server: Server, out: Path) -> dict[str, Any]:
    few = {"answer": "letters", "resamples": "20"}
    assay.audit(server.model, "bbq-starter", limit=48, settings=few, out=out, progress=False)
    info: dict[str, Any] = json.loads((out / "run.json").read_text(encoding="utf-8"))
    return info


def test_a_diagnosis_that_makes_answers_useless_is_the_verdicts(tmp_path: Path) -> None:
    with serving() as server:
        find_model(server.model)  # what it can do is remembered
        server.chooses = lambda asked: [0.8, 0.1, 0.1]
        audited(server, tmp_path)
    content = json.loads((tmp_path / "findings.json").read_text(encoding="utf-8"))
    assert list(wrong_in(content, documented("findings.json"))) == []
    assert content["verdict"]["says"] == "answers cannot be used"
    assert content["verdict"]["diagnosis"] == "follows_place"
    assert content["diagnosis"]["follows_place"]


# --- other versions


@pytest.fixture
def old(kept_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run folder of schema 2."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(kept_runs / "one" / "scored-bbq", "now")
    folder = Path(shutil.copytree("now", "old"))
    for file in FILES:
        content = json.loads((folder / file).read_text(encoding="utf-8"))
        (folder / file).write_text(json.dumps(content | {"schema": 2}), encoding="utf-8")
    (tmp_path / "policy.toml").write_text('accept = ["no clear bias"]\n', encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("report", "old"),
        ("report", "old", "--format", "json"),
        ("compare", "now", "old"),
        ("gate", "old", "--policy", "policy.toml"),
        ("export", "old", "--out", "out.zip"),
        ("score", "bbq", "old", "--out", "again"),
        ("run", "bbq-starter", "--limit", "8", "--out", "old"),
    ],
    ids=" ".join,
)
def test_a_folder_of_another_version_gets_one_message(command: tuple[str, ...], old: Path, said: Said) -> None:
    before = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    code, words = said(*command)
    assert code == 3
    assert words.count("this run was made by another version of assay (schema 2, expected 3)") == 1
    assert "Repeat the run" in words
    assert "Traceback" not in words
    assert {path: path.read_bytes() for path in old.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("file", FILES)
def test_one_of_its_files_is_enough(file: str, old: Path) -> None:
    for other in set(FILES) - {file}:
        shutil.copy(old.with_name("now") / other, old / other)
    with raises("other-version", DataError, file=old / file):
        assay.open_run(old)


def test_it_is_replaced_where_this_is_wanted(old: Path, said: Said) -> None:
    few = ("--limit", "8", "--set", "resamples=20", "--threads", "1")
    code, words = said("run", "bbq-starter", *few, "--out", "old", "--resume", "never")
    assert code == 0, words
    assert assay.open_run(old).probe == "bbq-starter"


@pytest.mark.parametrize("schema", [None, "3", [3]])
@pytest.mark.parametrize("file", FILES)
def test_a_file_without_a_schema_number_is_refused(file: str, schema: Any, old: Path) -> None:
    now = old.with_name("now")
    content = json.loads((now / file).read_text(encoding="utf-8"))
    (now / file).write_text(json.dumps(content | {"schema": schema}), encoding="utf-8")
    with pytest.raises(DataError) as refused:
        assay.open_run(now)
    assert refused.value.file == now / file
