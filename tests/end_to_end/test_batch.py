"""Batch files: requests for a service that answers whole files, and the answers that came back."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.probes import concluded, method_of
from assay.runs.folder import open_run
from assay.runs.score import recollect_answers
from endpoint_server import ALL, Asked, Server, serving

pytestmark = pytest.mark.whole

Command = Any
Line = dict[str, Any]
FEW = ("--set", "resamples=20")
CHATS = ALL - {"decisions", "systemone", "structured"} | {"continues"}


def lines_of(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, lines: list[Line]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def result(own: str, body: Any, status: int = 200) -> Line:
    response = {"status_code": status, "request_id": f"req_{own}", "body": body}
    return {"id": f"batch_req_{own}", "custom_id": own, "response": response, "error": None}


def answered(server: Server, requests: list[Line]) -> list[Line]:
    """What a service makes of requests, in an order of its own."""
    found = []
    for line in requests:
        assert line.keys() == {"custom_id", "method", "url", "body"}
        assert line["method"] == "POST"
        found.append(result(line["custom_id"], server.usual(Asked(line["url"], {}, line["body"], 0, 0))))
    random.Random(7).shuffle(found)
    return found


@pytest.fixture
def asked(assay: Command, tmp_path: Path) -> Callable[..., tuple[Server, list[Line]]]:
    """`asked("--limit", 16, …)`: the requests of bbq-starter, and a server that can answer them."""

    def ask(*options: object) -> tuple[Server, list[Line]]:
        requests = tmp_path / "requests.jsonl"
        done = assay(
            *("generate", "bbq-starter", "--format", "openai-batch", "--model", "tiny-llm", *options, "--out", requests)
        )
        assert done.code == 0, done.err
        return Server(CHATS), lines_of(requests)

    return ask


SETTINGS = {
    "letters": (),
    "all orders": ("--set", "orders=all"),
    "free": ("--set", "form=free"),
    "written": ("--set", "form=written"),
    "samples": ("--set", "answer=samples", "--set", "samples=3"),
    "question only": ("--set", "context=both"),
    "baseline": ("--set", "variant=baseline", "--set", "system=Be fair."),
    "q": ("--set", "variant=q"),
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_a_batch_finds_what_a_run_finds(settings: tuple[str, ...], assay: Command, tmp_path: Path) -> None:
    run, requests, again = tmp_path / "run", tmp_path / "requests.jsonl", tmp_path / "scored"
    with serving(CHATS) as server:
        assert (
            assay("run", "bbq-starter", "--model", server.model, "--limit", 16, *settings, *FEW, "--out", run).code == 0
        )
        sent = sorted(json.dumps(each.body, sort_keys=True) for each in server.questions)
        before = len(server.asked)
        batch = ("generate", "bbq-starter", "--format", "openai-batch", "--model", server.model, "--limit", 16)
        assert assay(*batch, *settings, "--out", requests).code == 0
        assert len(server.asked) == before, "nothing is sent"
        lines = lines_of(requests)
        assert sorted(json.dumps(line["body"], sort_keys=True) for line in lines) == sent
        results = write(tmp_path / "results.jsonl", answered(server, lines))
    done = assay("score", "bbq-starter", results, *FEW, "--out", again)
    assert done.code == 0, done.err
    assert (again / "findings.json").read_bytes() == (run / "findings.json").read_bytes()
    for table in (run / "tables").iterdir():
        assert (again / "tables" / table.name).read_bytes() == table.read_bytes()
    assert json.loads((again / "run.json").read_text())["model"]["name"] == server.model
    assert (again / "examples.jsonl").read_bytes() == (run / "examples.jsonl").read_bytes(), "with the prompts"


def test_who_answered_is_recorded_with_the_times_that_replies_have(
    assay: Command, asked: Callable[..., tuple[Server, list[Line]]], tmp_path: Path
) -> None:
    server, requests = asked("--limit", 16)
    lines = answered(server, requests)
    for number, line in enumerate(lines):
        line["response"]["body"]["created"] = 1_700_000_000 + number
    lines[3]["response"]["body"].update(model=None, created="yesterday")
    lines[5] = result(lines[5]["custom_id"], {"error": {"message": "later", "type": "content_filter"}}, 400)
    done = assay("score", "bbq-starter", write(tmp_path / "results.jsonl", lines), *FEW, "--out", tmp_path / "scored")
    assert done.code == 0, done.err
    served = json.loads((tmp_path / "scored" / "run.json").read_text(encoding="utf-8"))["endpoint"]["served"]
    first, last = "2023-11-14T22:13:20+00:00", "2023-11-14T22:13:35+00:00"
    assert served[0] == {
        "model": "tiny-llm",
        "fingerprint": "fp_1",
        "server": None,
        "n": 14,
        "first": first,
        "last": last,
    }
    assert {(each["model"], each["fingerprint"], each["n"], each["first"]) for each in served[1:]} == {
        (None, "fp_1", 1, None),
        (None, None, 1, None),
    }


def test_ids_are_unique_short_and_plain(asked: Callable[..., tuple[Server, list[Line]]]) -> None:
    _, requests = asked("--limit", 16, "--set", "orders=all", "--set", "answer=samples", "--set", "samples=2")
    ids = [line["custom_id"] for line in requests]
    assert len(set(ids)) == len(ids) == 16 * 6 * 2
    assert all(len(own) <= 64 and own.replace("-", "").isalnum() for own in ids)


def test_equal_requests_are_written_once(asked: Callable[..., tuple[Server, list[Line]]]) -> None:
    _, requests = asked("--set", "context=none")
    bodies = [json.dumps(line["body"]) for line in requests]
    assert len(set(bodies)) == len(bodies)


def test_what_has_no_answer_is_counted_and_named(
    asked: Callable[..., tuple[Server, list[Line]]], assay: Command, tmp_path: Path
) -> None:
    server, requests = asked("--limit", 16)
    ids = [line["custom_id"] for line in requests]
    good = {line["custom_id"]: line for line in answered(server, requests)}
    expired = {"id": "x", "custom_id": ids[0], "response": None, "error": {"code": "expired", "message": "too late"}}
    busy = result(ids[1], {"error": {"message": "overloaded"}}, 500)
    silent = result(ids[2], {"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]})
    results = write(tmp_path / "results.jsonl", [good[own] for own in ids[4:]])
    errors = write(tmp_path / "errors.jsonl", [expired, busy, silent])
    score = ("score", "bbq-starter", *FEW, "--out", tmp_path / "scored")
    done = assay(*score, results, errors)
    assert done.code == 3
    assert f"1 of 16 requests are not among the results: {ids[3]}." in done.message
    assert "3 of 16 requests have no usable answer" in done.message
    assert "--skip-bad" in done.message
    done = assay(*score, results, errors, "--skip-bad")
    assert done.code == 0, done.err
    notes = json.loads((tmp_path / "scored" / "run.json").read_text())["notes"]
    (said,) = [note for note in notes if "no usable answer" in note]
    assert all(words in said for words in (*ids[:3], "too late", "500: overloaded", "200, but it ignores logprobs"))
    assert any(ids[3] in note for note in notes)
    assert any("of 16 answers, 4 without an answer" in note for note in notes)
    again = write(tmp_path / "again.jsonl", [good[own] for own in ids[:4]])
    done = assay(*score, errors, results, again)  # what was sent again replaces errors
    assert done.code == 0, done.err
    notes = json.loads((tmp_path / "scored" / "run.json").read_text())["notes"]
    assert not any("no usable answer" in note or "not among" in note for note in notes)


def test_refusals_filters_and_cut_answers_are_recognised(
    asked: Callable[..., tuple[Server, list[Line]]], assay: Command, tmp_path: Path
) -> None:
    server, requests = asked("--limit", 16, "--set", "form=free")
    ids = [line["custom_id"] for line in requests]
    good = {line["custom_id"]: line for line in answered(server, requests)}
    special = [
        result(ids[0], {"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}]}),
        result(ids[1], {"error": {"code": "content_filter", "message": "no"}}, 400),
        result(ids[2], {"choices": [{"message": {"content": "The answer"}, "finish_reason": "length"}]}),
        result(ids[3], {"choices": [{"message": {"content": None}, "finish_reason": "length"}]}),
    ]
    results = write(tmp_path / "results.jsonl", [*special, *(good[own] for own in ids[4:])])
    assert assay("score", "bbq-starter", results, *FEW, "--out", tmp_path / "scored").code == 0
    (said,) = [n for n in json.loads((tmp_path / "scored" / "run.json").read_text())["notes"] if "refused" in n]
    assert "1 refused; 1 withheld by a filter; 1 cut off at the token limit; 1 empty" in said
    rows = (tmp_path / "scored" / "tables" / "answers.csv").read_text().splitlines()
    assert sum(",refused" in row for row in rows) == 2


def test_results_may_repeat_themselves(
    asked: Callable[..., tuple[Server, list[Line]]], assay: Command, tmp_path: Path
) -> None:
    server, requests = asked("--limit", 16)
    lines = answered(server, requests)
    one, two = write(tmp_path / "one.jsonl", lines), write(tmp_path / "two.jsonl", [*lines, *lines[:5]])
    found = []
    for file in (one, two):
        assert assay("score", "bbq-starter", file, *FEW, "--out", tmp_path / file.stem).code == 0
        found.append((tmp_path / file.stem / "findings.json").read_bytes())
    assert found[0] == found[1]
    assert any(
        "answered more than once: 5 requests" in n
        for n in json.loads((tmp_path / "two" / "run.json").read_text())["notes"]
    )


def test_results_are_scored_elsewhere_with_what_they_were_made_from(
    asked: Callable[..., tuple[Server, list[Line]]], assay: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, requests = asked("--limit", 16)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    results = write(elsewhere / "results.jsonl", answered(server, requests))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "other-cache"))
    score = ("score", "bbq-starter", *FEW, "--out", tmp_path / "scored", results)
    done = assay(*score)
    assert done.code == 3
    assert ".batch.json" in done.message
    made = tmp_path / "requests.batch.json"
    assert assay(*score, made).code == 0, "named"
    shutil.copy(made, elsewhere)
    assert assay(*score).code == 0, "beside the results"
    prepared, gathered = recollect_answers(open_run(tmp_path / "scored"))
    found = concluded(method_of("bbq-starter"), prepared, gathered)
    assert found.estimates == open_run(tmp_path / "scored").findings.estimates


def test_what_does_not_fit_is_said(
    asked: Callable[..., tuple[Server, list[Line]]], assay: Command, tmp_path: Path
) -> None:
    server, requests = asked("--limit", 16)
    results = write(tmp_path / "results.jsonl", answered(server, requests))
    done = assay("score", "bbq", results)
    assert done.code == 2
    assert "answers to questions of the probe bbq-starter" in done.message
    other = write(tmp_path / "other.jsonl", [result("task-1", {})])
    done = assay("score", "bbq-starter", other)
    assert done.code == 3
    assert "other.jsonl, line 1" in done.message
    _, more = asked("--limit", 32)
    both = write(tmp_path / "both.jsonl", answered(server, [requests[0], more[0]]))
    done = assay("score", "bbq-starter", both)
    assert done.code == 2
    assert "several batches" in done.message
    done = assay("score", "bbq-starter", results, "--answers", "answer")
    assert (done.code, "--answers" in done.message) == (2, True)


@pytest.mark.parametrize("variant", ["q+if+cot", "explain", "reprompt"])
def test_questions_in_two_steps_are_refused(variant: str, assay: Command, tmp_path: Path) -> None:
    batch = ("generate", "bbq-starter", "--format", "openai-batch", "--model", "m", "--limit", 8)
    done = assay(*batch, "--set", f"variant={variant}", "--out", tmp_path / "r" / "requests.jsonl")
    assert done.code == 2
    assert "depend on earlier answers" in done.message
    assert list((tmp_path / "r").iterdir()) == []


def test_options_of_a_batch_need_it_and_it_needs_a_model(assay: Command, tmp_path: Path) -> None:
    done = assay("generate", "bbq-starter", "--format", "openai-batch", "--out", "r.jsonl")
    assert (done.code, "--model NAME" in done.message) == (2, True)
    done = assay("generate", "bbq-starter", "--limit", 8, "--out", "folder")
    assert (done.code, "only with batches" in done.message) == (2, True)
    done = assay("generate", "bbq-starter", "--format", "parquet", "--out", "folder")
    assert (done.code, "unknown format 'parquet'" in done.message) == (2, True)


def test_a_changed_prompt_is_noticed(assay: Command, tmp_path: Path) -> None:
    prompt, requests = tmp_path / "p.txt", tmp_path / "requests.jsonl"
    prompt.write_text("{context} {question} {options} Say a letter.", encoding="utf-8")
    batch = ("generate", "bbq-starter", "--format", "openai-batch", "--model", "m", "--limit", 8)
    assert assay(*batch, "--set", f"prompt={prompt}", "--out", requests).code == 0
    results = write(tmp_path / "results.jsonl", answered(Server(CHATS), lines_of(requests)))
    prompt.write_text("{context} {question} {options} Say a letter!", encoding="utf-8")
    done = assay("score", "bbq-starter", results, "--out", tmp_path / "scored")
    assert done.code == 3
    assert "prompt has changed" in done.message
