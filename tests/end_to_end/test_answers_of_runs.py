"""Answers belong to the run that asked for them, whoever asks the same questions later.

An endpoint is asked and then upgraded; everything is asked again into another folder. Whatever reads the answers of the
first run gets those, or refuses.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.engine import endpoints
from assay.engine.ask import Resume
from assay.engine.store import BlockStore
from assay.errors import AssayError, ModelError
from assay.runs.export import export
from assay.runs.score import score
from endpoint_server import Sent, Server, serving

pytestmark = pytest.mark.whole

LISTS = Path(__file__).parents[1] / "golden" / "paid" / "lists"
ARGUMENTS: dict[str, dict[str, Any]] = {
    "bbq-starter": {"limit": 48, "settings": {"answer": "letters", "resamples": "50"}},
    "unqover": {
        "preset": "paper",
        "settings": {"word_lists": str(LISTS), "class": "religion", "form": "choice", "answer": "letters"},
    },
}
WORSE = {
    "bbq-starter": """metric = "bbq-starter.accuracy"\ngroup = {context = "disambig"}\n""",
    "unqover": """metric = "unqover.mu"\n""",
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(endpoints, "delay", lambda attempt, after: 0.001)  # between the attempts at a question
    with serving() as server:
        yield server


def ask(server: Server, out: str, resume: Resume = Resume.ALWAYS, probe: str = "bbq-starter") -> int:
    """How many requests a run sends."""
    before = len(server.questions)
    assay.audit(server.model, probe, out=out, resume=resume, progress=False, **ARGUMENTS[probe])
    return len(server.questions) - before


def upgrade(server: Server) -> None:
    """From now on it prefers B."""
    server.chooses = lambda asked: [0.1, 0.8, 0.1]


@pytest.fixture
def old(server: Server) -> Path:
    """The run from before an upgrade, with a copy that `assay export` made; `new` is from after it."""
    return upgraded(server, "bbq-starter")


def upgraded(server: Server, probe: str) -> Path:
    asked = ask(server, "old", probe=probe)
    assert asked > 0
    export("old", "copy")
    upgrade(server)
    assert ask(server, "new", Resume.NEVER, probe) == asked
    assert results("new") != results("old")
    return Path("old")


def results(run: str | Path) -> dict[str, bytes]:
    """What a run found, without times."""
    return {path.name: path.read_bytes() for path in (Path(run, "findings.json"), *Path(run, "tables").iterdir())}


# --- whoever reads a run's answers


def again(probe: str, run: str) -> dict[str, bytes]:
    return results(score(probe, [run], out=f"{run}-again").folder)


def exported(probe: str, run: str) -> dict[str, bytes]:
    """What can be scored from an export alone."""
    export(run, f"{run}-sent")
    shutil.move("cache", "elsewhere")
    try:
        return again(probe, f"{run}-sent")
    finally:
        shutil.rmtree("cache", ignore_errors=True)
        shutil.move("elsewhere", "cache")


def differences(probe: str, baseline: str) -> list[Any]:
    found = [difference.as_json() for difference in assay.compare([baseline, "new"]).differences]
    return [each | {"baseline": ""} for each in found]


def judged(probe: str, baseline: str) -> list[Any]:
    policy = f"[[limit]]\n{WORSE[probe]}baseline = '{baseline}'\nworse_by = 0.02\n"
    Path("policy.toml").write_text(policy, encoding="utf-8")
    verdicts = json.loads(assay.gate("new", "policy.toml").to_json())["verdicts"]
    return [(each["outcome"], each["value"]) for each in verdicts]


CONSUMERS: dict[str, Callable[[str, str], Any]] = {
    "score": again,
    "export": exported,
    "compare": differences,
    "gate": judged,
}


@pytest.mark.parametrize("probe", ARGUMENTS)
def test_a_run_keeps_its_answers_when_they_are_asked_again_elsewhere(probe: str, server: Server) -> None:
    old = upgraded(server, probe)
    for name, consumer in CONSUMERS.items():
        assert consumer(probe, "old") == consumer(probe, "copy"), name
    for consumer in (again, exported):
        assert consumer(probe, "old") == results(old)
    assert "fail" in {outcome for outcome, _ in judged(probe, "old")}


@pytest.mark.parametrize("probe", ARGUMENTS)
@pytest.mark.parametrize("harm", ["removed", "damaged", "replaced by those of the other run"])
def test_answers_that_are_gone_are_never_taken_from_another_run(probe: str, harm: str, server: Server) -> None:
    old = upgraded(server, probe)
    for file in files_of(old):
        others = [path for path in file.parent.glob(f"{file.name[:21]}*") if path != file]
        if harm == "removed":
            file.unlink()
        elif harm == "damaged":
            file.write_bytes(b"damaged")
        else:
            shutil.copy(others[0], file)
    expected = {"stale-answers"} if harm == "removed" else {"unfinished-run", "unreadable-file"}
    for name, consumer in CONSUMERS.items():
        if probe == "bbq-starter" and consumer in (differences, judged):  # these read the run's own tables
            assert consumer(probe, "old") == consumer(probe, "copy"), name
            continue
        if harm == "removed" or consumer not in (differences, judged):
            with pytest.raises(AssayError) as refused:
                consumer(probe, "old")
            assert refused.value.code in expected, name
            assert refused.value.exit_code == (2 if refused.value.code == "unfinished-run" else 3)
            assert refused.value.remedy
        elif consumer is differences:  # a note says why
            assert consumer(probe, "old") == []
        else:
            assert {outcome for outcome, _ in consumer(probe, "old")} == {"fail"}


def files_of(run: Path) -> list[Path]:
    """The files of a run's blocks in the cache."""
    store = BlockStore.default()
    listed = json.loads((run / "blocks.json").read_text(encoding="utf-8"))
    blocks = [(entry["key"], checksum) for entry in listed for _, _, checksum in entry["blocks"]]
    files = [path for key, checksum in blocks for path in store.folder(key).glob(f"*-{checksum[:16]}.block")]
    assert len(files) == len(blocks)
    return files


# --- the run's own command, and others


def test_the_runs_own_command_asks_nothing_and_finds_the_same(old: Path, server: Server) -> None:
    before, blocks = results(old), (old / "blocks.json").read_bytes()
    assert ask(server, "old") == 0
    assert results(old) == before
    assert (old / "blocks.json").read_bytes() == blocks


def test_so_it_does_after_it_was_stopped_while_it_was_repeated(old: Path, server: Server) -> None:
    before = results(old)
    info = json.loads((old / "run.json").read_text(encoding="utf-8"))
    (old / "run.json").write_text(json.dumps(info | {"finished": ""}), encoding="utf-8")
    assert ask(server, "old") == 0
    assert results(old) == before


@pytest.mark.parametrize("gone", ["blocks", "blocks of the run"])
def test_a_run_that_is_built_again_from_the_journal_gets_the_replies_that_it_got(
    gone: str, old: Path, server: Server
) -> None:
    before = results(old)
    if gone == "blocks":
        shutil.rmtree(Path("cache", "blocks"))
    else:
        for file in files_of(old):
            file.unlink()
    assert ask(server, "old") == 0
    assert results(old) == before
    assert ask(server, "new") == 0
    assert results("new") != results("old")


def test_an_export_is_enough_for_the_runs_own_command(old: Path, server: Server) -> None:
    export("old")
    for kept in ("blocks", "journal"):
        shutil.rmtree(Path("cache", kept))
    assert ask(server, "old") == 0


def test_any_other_command_takes_the_newest_answers(old: Path, server: Server) -> None:
    assert ask(server, "third") == 0
    assert results("third") == results("new")


def test_everything_is_asked_again_into_the_same_folder(old: Path, server: Server) -> None:
    assert ask(server, "old", Resume.NEVER) == 48
    assert results("old") == results("new")
    assert again("bbq-starter", "copy") == results("copy")


def test_a_question_that_failed_gets_no_answer_from_before_everything_was_asked_again(server: Server) -> None:
    ask(server, "old")
    upgrade(server)
    (first,) = {server.questions[0].prompt}
    server.behave = lambda asked: Sent(500, {}) if asked.prompt == first else None
    with pytest.raises(ModelError, match="gave no answer to 1 of 48"):
        ask(server, "new", Resume.NEVER)
    server.behave = lambda asked: None
    assert ask(server, "new") == 1
    ask(server, "fresh", Resume.NEVER)
    assert results("new") == results("fresh")


# --- asking everything again, and being stopped


def stopped(server: Server, out: str) -> None:
    """Ask everything again; from the thirtieth question on, the server rejects the key."""
    usual, count = server.behave, len(server.questions)
    server.behave = lambda asked: Sent(401, {}) if len(server.questions) - count > 30 else None
    with pytest.raises(ModelError):
        ask(server, out, Resume.NEVER)
    server.behave = usual


def test_answers_of_an_asking_that_did_not_finish_are_nobody_elses(server: Server) -> None:
    ask(server, "old")
    upgrade(server)
    stopped(server, "new")
    assert ask(server, "other") == 0
    assert results("other") == results("old")


def test_an_asking_that_was_stopped_continues_with_what_it_asked_itself(server: Server) -> None:
    ask(server, "old")
    upgrade(server)
    stopped(server, "new")
    assert 0 < ask(server, "new") < 48
    ask(server, "fresh", Resume.NEVER)
    assert results("new") == results("fresh")
    assert results("new") != results("old")


def test_stored_blocks_are_not_kept_twice_if_the_answers_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def blocks() -> set[str]:
        assay.audit(
            "builtin", "bbq-starter", limit=8, settings={"resamples": "20"}, out="run", progress=False, resume=resume
        )
        return {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.block")}

    resume = Resume.ALWAYS
    first = blocks()
    resume = Resume.NEVER
    assert blocks() == first
