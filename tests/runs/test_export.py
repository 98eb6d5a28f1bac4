"""`assay export`: a run carries its answers to machines that never computed them, whole and checked, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from assay.cli import main
from assay.compare import compare
from assay.engine.store import BlockStore, StoredBlock
from assay.errors import DataError, UsageError
from assay.models.base import Options
from assay.probes import concluded, method_of
from assay.runs.audit import audit
from assay.runs.export import export
from assay.runs.folder import open_run
from assay.runs.score import recollect_answers
from raising import raises

pytestmark = pytest.mark.whole

PROBES = ("sodapop", "unqover")
LIMIT = 48


@dataclass(frozen=True)
class Audited:
    """A folder of runs, one of each probe, and the cache with their answers."""

    folder: Path
    cache: Path


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """Made once; tests get copies."""
    made = Audited(tmp_path_factory.mktemp("audited") / "runs", tmp_path_factory.mktemp("cache"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(made.cache))
        for probe in PROBES:
            settings = {"resamples": "20"} | ({"draws": "20"} if probe == "unqover" else {})
            audit("builtin", probe, limit=LIMIT, settings=settings, options=Options(threads=1), out=made.folder / probe)
    (made.folder / "report.html").write_text("a page over all", encoding="utf-8")
    return made


@pytest.fixture
def runs(audited: Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This test's own copy of the runs, with their answers in the cache."""
    monkeypatch.setenv("ASSAY_CACHE", str(shutil.copytree(audited.cache, tmp_path / "cache")))
    return shutil.copytree(audited.folder, tmp_path / "runs")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """From this call on we are on a machine that has no answers; returns its cache."""

    def move() -> Path:
        shutil.rmtree(tmp_path / "cache")
        (tmp_path / "empty").mkdir()
        monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "empty"))
        return tmp_path / "empty"

    return move


def findings(folder: Path) -> str:
    return (folder / "findings.json").read_text(encoding="utf-8")


def scored_again(folder: Path) -> str:
    """findings.json as a run's stored answers give it, without the model."""
    run = open_run(folder)
    found = concluded(method_of(run.probe), *recollect_answers(run))
    return replace(found, probe=run.probe, model=run.model).to_json()


def blocks(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.block"))


def all_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- what an export is for


@pytest.mark.parametrize("probe", PROBES)
def test_without_an_export_another_machine_cannot_score_again(
    runs: Path, elsewhere: Callable[[], Path], probe: str
) -> None:
    elsewhere()
    with raises("unfinished-run", UsageError):
        scored_again(runs / probe)


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("how", ["into itself", "copy", "zip"])
def test_scoring_an_exported_run_elsewhere_gives_the_same_bytes(
    runs: Path, tmp_path: Path, elsewhere: Callable[[], Path], probe: str, how: str
) -> None:
    before = findings(runs / probe)
    out = {"into itself": None, "copy": tmp_path / "sent", "zip": tmp_path / "sent.zip"}[how]
    export(runs / probe, out)
    place = runs / probe
    if out is not None:
        shutil.rmtree(runs)
        place = tmp_path / "sent"
    if how == "zip":
        with zipfile.ZipFile(tmp_path / "sent.zip") as archive:
            archive.extractall(tmp_path)
    cache = elsewhere()
    assert scored_again(place) == before
    assert not blocks(cache), "the answers are read where they lie"


def test_the_command_scores_it_again_without_the_model(
    runs: Path, tmp_path: Path, elsewhere: Callable[[], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(runs / "unqover"), "--out", str(tmp_path / "sent")]) == 0
    said = capsys.readouterr()
    assert str(tmp_path / "sent") in said.out
    assert "blocks of answers" in said.out
    assert "Source data is not included" in said.err
    elsewhere()
    assert main(["score", "unqover", str(tmp_path / "sent"), "--out", str(tmp_path / "again"), "--json"]) == 0
    assert capsys.readouterr().out == findings(runs / "unqover")


def test_a_folder_of_runs_is_exported_with_all_of_them(
    runs: Path, tmp_path: Path, elsewhere: Callable[[], Path]
) -> None:
    done = export(runs, tmp_path / "sent")
    assert done.runs == PROBES
    assert done.blocks == len(blocks(tmp_path / "sent"))
    assert done.size == sum(path.stat().st_size for path in blocks(tmp_path / "sent"))
    assert (tmp_path / "sent" / "report.html").read_text(encoding="utf-8") == "a page over all"
    elsewhere()
    for probe in PROBES:
        assert scored_again(tmp_path / "sent" / probe) == findings(runs / probe)


def test_exported_runs_are_compared_elsewhere_item_by_item(
    runs: Path, tmp_path: Path, elsewhere: Callable[[], Path]
) -> None:
    folders = [shutil.copytree(runs / "unqover", tmp_path / name) for name in ("one", "two")]
    for folder in folders:
        export(folder)
    elsewhere()
    assert compare(folders).differences
    without = [shutil.copytree(runs / "unqover", tmp_path / name) for name in ("three", "four")]
    assert not compare(without).differences


# --- what is in it


def test_a_copy_holds_all_files_of_the_run_and_nothing_hidden(runs: Path, tmp_path: Path) -> None:
    run = runs / "unqover"
    (run / ".lock").touch()
    (run / ".findings.json.host-1.tmp").write_text("half")
    export(run, tmp_path / "sent")
    sent = {name: content for name, content in all_files(tmp_path / "sent").items() if not name.startswith("blocks/")}
    assert sent == {name: content for name, content in all_files(run).items() if not name.startswith(".")}
    assert {"run.json", "blocks.json", "findings.json", "tables/gamma.csv"} <= set(sent)


def test_the_same_run_gives_the_same_zip(runs: Path, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        export(runs, tmp_path / folder / "sent.zip")
    one, two = ((tmp_path / folder / "sent.zip").read_bytes() for folder in ("one", "two"))
    assert one == two


def test_what_was_exported_can_be_exported_again_from_its_own_answers(
    runs: Path, tmp_path: Path, elsewhere: Callable[[], Path]
) -> None:
    export(runs / "sodapop", tmp_path / "sent")
    elsewhere()
    export(tmp_path / "sent", tmp_path / "on")
    assert all_files(tmp_path / "on") == all_files(tmp_path / "sent")


def test_no_data_file_is_copied_and_their_digests_are(runs: Path, tmp_path: Path) -> None:
    (note, *_) = export(runs / "unqover", tmp_path / "sent").notes
    assert note.startswith("Source data is not included")
    data = json.loads((tmp_path / "sent" / "run.json").read_text(encoding="utf-8"))["data"]
    assert "nouns/subjects/female" in data
    assert not [name for name in all_files(tmp_path / "sent") if Path(name).name in {Path(file).name for file in data}]


# --- what is stale, damaged or missing


def test_answers_of_an_export_count_only_for_the_run_that_they_are_of(runs: Path) -> None:
    """When a run was made again, its list of blocks may be another; an export is then out of date."""
    run = runs / "unqover"
    export(run)
    assert BlockStore.of_run(run).root == run / "blocks"
    (run / "blocks.json").write_text((run / "blocks.json").read_text() + "\n")
    assert BlockStore.of_run(run).root == BlockStore.default().root
    export(run)
    assert BlockStore.of_run(run).root == run / "blocks"


def test_what_a_broken_off_export_wrote_is_used_again_where_the_cache_is_gone(runs: Path, tmp_path: Path) -> None:
    """The repeated run takes these answers from there, and has no need to store them."""
    run = runs / "unqover"
    export(run)
    own = run / "blocks"
    (own / "exported").unlink()
    written = sorted(own.glob("*/*/*.block"))
    assert len(written) > 1
    for path in written[1:]:
        path.unlink()
    shutil.rmtree(tmp_path / "cache")
    with raises("unfinished-run", key=None, file=run):
        export(run)
    settings = {"resamples": "20", "draws": "20"}
    audit("builtin", "unqover", limit=LIMIT, settings=settings, options=Options(threads=1), out=run)
    export(run)
    assert sorted(own.glob("*/*/*.block")) == written
    assert scored_again(run) == findings(run)


def test_a_damaged_answer_of_an_export_is_taken_from_the_cache(runs: Path) -> None:
    run = runs / "unqover"
    export(run)
    for block in blocks(run):
        block.write_bytes(b"damaged")
    assert scored_again(run) == findings(run)


def cached(run: Path) -> Path:
    """The file in the cache of the last block that a run uses."""
    entry = json.loads((run / "blocks.json").read_text(encoding="utf-8"))[-1]
    block = StoredBlock(entry["key"], *entry["blocks"][-1])
    return BlockStore(Path(os.environ["ASSAY_CACHE"]) / "blocks").path(block)


def remove(file: Path) -> None:
    file.unlink()


def damage(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1] + b"?")


def replace_by_another(file: Path) -> None:
    """A block that is sound, with other answers than the run used."""
    key, (lo, hi) = file.parent.name, map(int, file.stem.split("-")[:2])
    store = BlockStore(file.parents[2])
    read = store.read(key, lo, hi)
    assert read is not None
    read[0].answers.status[:] = 1
    store.write(key, read[0])
    file.unlink()


@pytest.mark.parametrize(
    ("harm", "code"),
    [(remove, "unfinished-run"), (damage, "unreadable-file"), (replace_by_another, "stale-answers")],
)
@pytest.mark.parametrize("into", ["itself", "sent", "sent.zip"])
def test_a_run_whose_answers_are_not_all_there_is_refused_and_nothing_is_written(
    runs: Path, tmp_path: Path, harm: Callable[[Path], None], code: str, into: str
) -> None:
    run = runs / "unqover"
    harm(cached(run))
    before = all_files(tmp_path)
    with raises(code, DataError, file=run):
        export(run, None if into == "itself" else tmp_path / into)
    assert all_files(tmp_path) == before


@pytest.mark.parametrize("gone", ["blocks.json", "findings.json"])
def test_an_unfinished_run_is_refused(runs: Path, tmp_path: Path, gone: str) -> None:
    (runs / "unqover" / gone).unlink()
    with raises("unfinished-run", DataError, file=runs / "unqover"):
        export(runs / "unqover", tmp_path / "sent")


@pytest.mark.parametrize(
    ("listed", "code"),
    [
        ("{", "bad-json"),
        ("{}x", "bad-json"),
        ('[{"key": "../../etc", "blocks": [[0, 1, "a"]]}]', "bad-value"),
        ('[{"key": 3}]', "bad-json"),
    ],
)
def test_a_list_of_blocks_that_is_none_is_refused(runs: Path, tmp_path: Path, listed: str, code: str) -> None:
    path = runs / "unqover" / "blocks.json"
    path.write_text(listed)
    with raises(code, DataError, file=path):
        export(runs / "unqover", tmp_path / "sent")


@pytest.mark.parametrize(
    "scored",
    [
        {"kind": "predictions"},
        {"kind": "rescored"},
    ],
)
def test_scores_are_exported_without_answers_and_say_so(runs: Path, tmp_path: Path, scored: dict[str, Any]) -> None:
    run = runs / "unqover"
    info = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps({**info, **scored}), encoding="utf-8")
    (run / "blocks.json").unlink()
    done = export(run, tmp_path / "sent")
    assert done.blocks == 0
    assert any("which are not included: unqover" in note for note in done.notes)
    assert findings(tmp_path / "sent") == findings(run)


# --- where it goes


def test_it_overwrites_nothing(runs: Path, tmp_path: Path) -> None:
    for name in ("sent", "sent.zip"):
        (tmp_path / name).write_text("mine")
        with raises("not-new", UsageError, file=tmp_path / name):
            export(runs, tmp_path / name)
        assert (tmp_path / name).read_text() == "mine"


@pytest.mark.parametrize("name", ["sent", "sent.zip"])
def test_the_same_export_once_more_is_fine_and_another_run_in_its_place_is_not(
    runs: Path, tmp_path: Path, name: str
) -> None:
    """The program may have been killed when it was done, before it could say so."""
    export(runs / "unqover", tmp_path / name)
    before = all_files(tmp_path)
    assert export(runs / "unqover", tmp_path / name).place == tmp_path / name
    with raises("not-new", UsageError, file=tmp_path / name):
        export(runs / "sodapop", tmp_path / name)
    assert all_files(tmp_path) == before


@pytest.mark.parametrize("name", ["sent", "sent.zip"])
def test_no_link_out_of_the_run_is_followed(runs: Path, tmp_path: Path, name: str) -> None:
    run, secret = runs / "unqover", tmp_path / "secret"
    (secret / "etc").mkdir(parents=True)
    (secret / "etc" / "passwd").write_text("root")
    for link in (run / "folder", run / "tables" / "folder", run / "tables" / "a.csv"):
        link.symlink_to(secret / "etc" / "passwd" if link.suffix else secret / "etc")
        with raises("unreadable-file", DataError, file=link):
            export(run, tmp_path / name)
        link.unlink()
    assert not (tmp_path / name).exists()
    (runs / "page.html").symlink_to(secret / "etc" / "passwd")
    with raises("unreadable-file", DataError, file=runs / "page.html"):
        export(runs, tmp_path / name)
    (run / "blocks").symlink_to(secret / "etc")
    with raises("unreadable-file", DataError, file=run / "blocks"):
        export(run)
    assert all_files(secret) == {"etc/passwd": b"root"}


def test_a_link_within_the_run_is_exported_as_the_file_that_it_leads_to(runs: Path, tmp_path: Path) -> None:
    run = runs / "unqover"
    (run / "linked.csv").symlink_to("tables/gamma.csv")
    export(run, tmp_path / "sent")
    assert not (tmp_path / "sent" / "linked.csv").is_symlink()
    assert (tmp_path / "sent" / "linked.csv").read_bytes() == (run / "tables" / "gamma.csv").read_bytes()


def test_what_a_killed_program_left_is_not_exported(runs: Path, tmp_path: Path) -> None:
    (runs / "unqover" / "tables" / ".gamma.csv.host-1.tmp").write_text("half")
    export(runs / "unqover", tmp_path / "sent")
    assert not [name for name in all_files(tmp_path / "sent") if name.endswith(".tmp")]


def test_it_does_not_write_a_copy_into_what_it_copies(runs: Path) -> None:
    with raises("bad-option", UsageError, file=runs / "unqover" / "sent", key="out"):
        export(runs, runs / "unqover" / "sent")


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with raises("not-a-run", UsageError, file=tmp_path):
        export(tmp_path)


# --- texts of questions


def test_texts_of_questions_can_be_left_out_of_a_copy(runs: Path, tmp_path: Path) -> None:
    run = runs / "unqover"
    example = {"about": {}, "asked": [{"text": "An odd gnu.", "question": "Who?", "options": [], "answer": None}]}
    (run / "examples.jsonl").write_text(json.dumps({**example, "scores": "", "note": ""}) + "\n", encoding="utf-8")
    kept = export(run, tmp_path / "kept")
    assert any("--no-examples" in note for note in kept.notes)
    assert (tmp_path / "kept" / "examples.jsonl").exists()
    left_out = export(run, tmp_path / "sent", examples=False)
    assert not any("--no-examples" in note for note in left_out.notes)
    texts = [content.decode("utf-8", "replace") for name, content in all_files(tmp_path / "sent").items()]
    assert not [text for text in texts if "An odd gnu." in text]
    assert (tmp_path / "sent" / "report.html").exists()
    assert (run / "examples.jsonl").exists()


def test_texts_of_questions_are_never_taken_from_the_run_itself(runs: Path) -> None:
    with raises("bad-option", UsageError, key="examples"):
        export(runs / "unqover", examples=False)
