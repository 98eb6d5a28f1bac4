"""A model behind an endpoint, from the command line to the page."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from assay.engine.store import BlockStore
from endpoint_server import ALL, Asked, Sent, serving

pytestmark = pytest.mark.whole

Command = Any
FEW = ("--set", "resamples=20")
KEY = "sk-never-to-be-seen-1234567890"


def run_json(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return content


def answers(folder: Path) -> Counter[str]:
    rows = (folder / "tables" / "answers.csv").read_text(encoding="utf-8").splitlines()
    place = rows[0].split(",").index("answer")
    return Counter(row.split(",")[place] for row in rows[1:])


@pytest.mark.parametrize("way", ["decisions", "systemone", "structured", "letters", "samples", "text"])
def test_every_way_leads_to_findings_and_a_page(way: str, assay: Command, tmp_path: Path) -> None:
    with serving() as server:
        out = tmp_path / "run"
        done = assay(
            "run", "bbq-starter", "--model", server.model, "--limit", 48, "--set", f"answer={way}", *FEW, "--out", out
        )
        assert done.code == 0, done.err
        assert len(server.questions) == (480 if way == "samples" else 48)
    info = run_json(out)
    assert info["settings"]["answer"] == way
    assert any(f"answer={way}" in note for note in info["notes"])
    assert info["spent"]["requests"] == len(server.questions)
    assert info["spent"]["input_tokens"] > 0
    assert f"answer={way}" in (out / "report.html").read_text(encoding="utf-8")
    assert sum(answers(out).values()) == 48
    assert answers(out)["unparsed"] == 0
    again = assay("score", "bbq-starter", out, "--out", tmp_path / "again")
    assert again.code == 0, again.err
    assert (tmp_path / "again" / "findings.json").read_bytes() == (out / "findings.json").read_bytes()


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("way", ["decisions", "systemone", "structured", "letters", "samples", "text"])
def test_who_answered_is_in_run_json_however_the_run_came_about(
    way: str, named: bool, assay: Command, tmp_path: Path
) -> None:
    """Asked, from stored blocks or replies, exported, scored again; also where replies do not name a model."""
    with serving() as server:
        unnamed = {} if named else {"model": None, "system_fingerprint": 7}
        server.behave = lambda asked: Sent(content=server.usual(asked) | unnamed, headers={"Server": "engine/1"})
        run = ("run", "bbq-starter", "--model", server.model, "--limit", 8, "--set", f"answer={way}", *FEW)
        asked = assay(*run, "--out", tmp_path / "asked")
        assert asked.code == 0, asked.err
        assay(*run, "--out", tmp_path / "from blocks")
        shutil.rmtree(BlockStore.default().root)
        assay(*run, "--out", tmp_path / "from replies")
    assay("export", tmp_path / "asked", "--out", tmp_path / "exported")
    assay("score", "bbq-starter", tmp_path / "exported", "--out", tmp_path / "scored")
    (served,) = run_json(tmp_path / "asked")["endpoint"]["served"]
    assert served["n"] == 8
    assert (served["model"], served["fingerprint"]) == (("tiny-llm", "fp_1") if named else (None, None))
    assert served["server"] == "engine/1"
    assert served["first"] <= served["last"]
    for name in ("from blocks", "from replies", "exported", "scored"):
        assert run_json(tmp_path / name)["endpoint"]["served"] == [served], name
        page = (tmp_path / name / "report.html").read_text(encoding="utf-8")
        assert "<title>Bias report: tiny-llm</title>" in page
        assert "Who answered" in page
        assert server.url in page


def test_the_best_way_is_taken_and_all_orders_are_asked(assay: Command, tmp_path: Path) -> None:
    with serving(ALL - {"decisions"}) as server:
        out = tmp_path / "run"
        options = ("--limit", 8, "--set", "orders=all", *FEW, "--out", out)
        assert assay("run", "bbq-starter", "--model", server.model, *options).code == 0
        assert {each.path for each in server.questions} == {"/v1/systemone"}
        assert len(server.questions) == 48
    assert run_json(out)["settings"]["answer"] == "systemone"


def test_options_are_scored_alone_where_the_server_repeats_prompts(assay: Command, tmp_path: Path) -> None:
    with serving() as server:
        options = ("--limit", 8, "--set", "form=options", *FEW, "--out", tmp_path / "run")
        assert assay("run", "bbq-starter", "--model", server.model, *options).code == 0
        assert {each.path for each in server.questions} == {"/v1/completions"}
        assert len(server.questions) == 24
    with serving(frozenset({"text"})) as server:
        done = assay("run", "bbq-starter", "--model", server.model, *options)
        assert done.code == 2
        assert "form=letters" in done.message


def test_a_way_that_the_endpoint_has_not_is_refused(assay: Command, tmp_path: Path) -> None:
    with serving(frozenset({"text"})) as server:
        done = assay(
            "run", "bbq-starter", "--model", server.model, "--set", "answer=letters", "--out", tmp_path / "run"
        )
        assert done.code == 2
        assert "answer=letters" in done.message
        assert server.questions == []
    done = assay("run", "bbq-starter", "--set", "answer=letters", "--out", tmp_path / "run")
    assert done.code == 2
    assert "is for endpoints" in done.message


def test_a_system_prompt_is_sent_and_belongs_to_the_run(assay: Command, tmp_path: Path) -> None:
    with serving(frozenset({"text", "logprobs"})) as server, serving() as other:  # both at once have two addresses
        common = ("run", "bbq-starter", "--model", server.model, "--limit", 8, *FEW, "--out", tmp_path / "run")
        assert assay(*common, "--set", "system=Be fair.").code == 0
        assert all(each.body["messages"][0] == {"role": "system", "content": "Be fair."} for each in server.questions)
        done = assay(*common)
        assert done.code == 2, "another run"
        done = assay("run", "bbq-starter", "--model", other.model, "--limit", 8, "--set", "system=Be fair.", *FEW)
        assert done.code == 2
        assert "--set answer=letters" in done.message


def test_examples_are_shown_first_and_belong_to_the_run(assay: Command, tmp_path: Path) -> None:
    shots = tmp_path / "shots.jsonl"
    shown = {"context": "Ann met Bo.", "question": "Who slept?", "ans0": "Ann", "ans1": "Bo", "ans2": "Not known"}
    shown |= {"label": 2}  # type: ignore[dict-item]  # as BBQ's files have it
    shots.write_text(json.dumps(shown) + "\n", encoding="utf-8")
    with serving(frozenset({"text", "logprobs"})) as server:
        common = ("run", "bbq-starter", "--model", server.model, "--limit", 8, *FEW)
        assert assay(*common, "--set", f"shots={shots}", "--out", tmp_path / "one").code == 0
        for asked in server.questions:
            user, assistant, question = asked.body["messages"]
            assert user["content"].startswith("Ann met Bo.\nWho slept?\nA. Ann")
            assert assistant == {"role": "assistant", "content": "C"}
            assert question["role"] == "user"
        assert assay("score", "bbq-starter", tmp_path / "one", "--out", tmp_path / "again").code == 0
        shots.write_text(json.dumps(shown | {"label": 3}) + "\n", encoding="utf-8")
        done = assay(*common, "--set", f"shots={shots}", "--out", tmp_path / "two")
        assert done.code == 3
        assert "shots.jsonl, line 1" in done.message


# --- prompts


CHATS = ALL - {"decisions", "systemone"} | {"continues"}


def prompts(folder: Path) -> list[str]:
    lines = (folder / "examples.jsonl").read_text(encoding="utf-8").splitlines()
    return [asked["prompt"] for line in lines for asked in json.loads(line)["asked"]]


@pytest.mark.parametrize("way", ["structured", "letters", "samples", "text"])
@pytest.mark.parametrize("variant", ["q", "q+if+cot", "reprompt"])
def test_variants_are_asked_in_every_way_that_has_words(variant: str, way: str, assay: Command, tmp_path: Path) -> None:
    with serving(CHATS) as server:
        out, steps = tmp_path / "run", 1 if variant == "q" else 2
        common = ("run", "bbq-starter", "--model", server.model, "--limit", 16, *FEW, "--set", f"variant={variant}")
        common = (*common, "--set", f"answer={way}", "--set", "samples=3")
        dry = assay(*common, "--dry-run")
        drawn = 48 if way == "samples" else 16
        assert f"to send: {drawn + 16 * (steps - 1)}" in dry.out
        assert server.questions == []
        done = assay(*common, "--out", out)
        assert done.code == 0, done.err
        assert len(server.questions) == drawn + 16 * (steps - 1)
    last = [each for each in server.questions if len(each.messages) == 2 * steps - 1]
    assert len(last) == drawn
    begun = {"q": "The answer is", "q+if+cot": "The single, most likely answer choice is", "reprompt": ""}[variant]
    assert {each.begun for each in last} == {begun}
    if steps == 2:
        wrote = {each.messages[1]["content"] for each in last}
        assert all("The answer is" in each for each in wrote), "what the stand-in wrote in the first step"
    sent = {"\n".join(f"[{each['role']}]\n{each['content']}" for each in asked.messages) for asked in last}
    if begun:
        sent = {f"{each}\n[assistant begins]\n{begun}" for each in sent}
    shown = prompts(out)
    assert shown
    assert {each if each.startswith("[") else f"[user]\n{each}" for each in shown} <= sent
    found = answers(out)
    assert (sum(found.values()), found["unparsed"]) == (16, 0)
    assert assay("score", "bbq-starter", out, "--out", tmp_path / "again").code == 0
    assert (tmp_path / "again" / "findings.json").read_bytes() == (out / "findings.json").read_bytes()


def test_a_beginning_that_the_server_repeats_is_no_part_of_the_answer(assay: Command, tmp_path: Path) -> None:
    with serving(CHATS - {"continues"} | {"repeats"}) as server:
        options = ("--limit", 8, *FEW, "--set", "variant=q+if+cot", "--set", "answer=text", "--out", tmp_path / "run")
        assert assay("run", "bbq-starter", "--model", server.model, *options).code == 0
    wrote = [each.messages[1]["content"] for each in server.questions if len(each.messages) == 3]
    assert len(wrote) == 8
    assert {each.count("Let's think") for each in wrote} == {1}
    assert answers(tmp_path / "run")["unparsed"] == 0


def test_what_an_endpoint_cannot_be_asked_is_refused_before_anything_is_sent(assay: Command, tmp_path: Path) -> None:
    common = ("--limit", 8, *FEW, "--out", tmp_path / "run")
    with serving() as server:
        run = ("run", "bbq-starter", "--model", server.model, *common)
        done = assay(*run, "--set", "variant=q", "--set", "answer=letters")
        assert done.code == 2
        assert "cannot continue an answer that has been started ('The answer is')" in done.message
        done = assay(*run, "--set", "variant=explain")
        assert done.code == 2
        assert "answer=decisions has fields" in done.message
        assert "--set answer=letters" in done.message
        assert server.questions == []
    with serving(frozenset({"decisions"})) as server:
        done = assay("run", "bbq-starter", "--model", server.model, *common, "--set", "variant=reprompt")
        assert (done.code, server.questions) == (2, [])
        assert "does not write text" in done.message


def test_the_prompt_of_a_run_is_what_was_sent(assay: Command, tmp_path: Path) -> None:
    with serving() as server:
        for way in ("letters", "decisions"):
            out = tmp_path / way
            options = ("--limit", 8, "--set", f"answer={way}", *FEW, "--out", out)
            assert assay("run", "bbq-starter", "--model", server.model, *options).code == 0
        sent = {asked.prompt for asked in server.questions if asked.path.endswith("/chat/completions")}
    assert {*prompts(tmp_path / "letters"), run_json(tmp_path / "letters")["prompts"]["bbq-starter"]["example"]} <= sent
    told = run_json(tmp_path / "decisions")["prompts"]["bbq-starter"]["example"]
    bodies = [asked.body for asked in server.questions if asked.path.endswith("/decisions")]
    assert told in {  # whichever came first
        "[context]\n{}\n[question]\n{}\n[options]\n{}".format(
            body["input"],
            body["questions"][0]["instructions"],
            "\n".join(choice["value"] for choice in body["questions"][0]["choices"]),
        )
        for body in bodies
    }


def test_completions_read_a_dialogue_as_one_text(assay: Command, tmp_path: Path) -> None:
    with serving() as server:
        options = ("--limit", 8, "--set", "form=options", "--set", "system=Be fair.", *FEW, "--out", tmp_path / "run")
        assert assay("run", "bbq-starter", "--model", server.model, *options).code == 0
        assert {each.path for each in server.questions} == {"/v1/completions"}
        for each in server.questions:
            system, asked = each.prompt.split("\n\n")
            assert system == "Be fair."
            assert "\nAnswer: " in asked


def test_a_prompt_that_lists_no_options_is_answered_in_free_text(assay: Command, tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("{context} {question} Say who.", encoding="utf-8")
    with serving(CHATS) as server:
        options = ("--limit", 8, "--set", f"prompt={tmp_path / 'p.txt'}", *FEW, "--out", tmp_path / "run")
        assert assay("run", "bbq-starter", "--model", server.model, *options).code == 0
        assert all(each.prompt.endswith(" Say who.") for each in server.questions)
        assert {each.body["max_tokens"] for each in server.questions} == {512}
    assert answers(tmp_path / "run") == {"unparsed": 8}  # letters, which stand for nothing here


def test_an_endpoint_for_decisions_alone_is_audited(assay: Command, tmp_path: Path) -> None:
    with serving(frozenset({"decisions"})) as server:
        out = tmp_path / "run"
        assert assay("run", "bbq-starter", "--model", server.model, "--limit", 8, *FEW, "--out", out).code == 0
    assert run_json(out)["settings"]["answer"] == "decisions"


def test_the_same_command_finds_the_same_and_sends_nothing(assay: Command, tmp_path: Path) -> None:
    with serving() as server:
        common = ("run", "bbq-starter", "--model", server.model, *FEW)
        assert assay(*common, "--limit", 32, "--out", tmp_path / "one").code == 0
        sent = len(server.asked)
        before = (tmp_path / "one" / "findings.json").read_bytes()
        assert assay(*common, "--limit", 32, "--out", tmp_path / "one").code == 0
        assert (len(server.asked), (tmp_path / "one" / "findings.json").read_bytes()) == (sent, before)
        assert run_json(tmp_path / "one")["spent"]["requests"] == 32
        assert assay(*common, "--limit", 48, "--out", tmp_path / "two").code == 0
        bodies = Counter(str(each.body) for each in server.questions)
        assert set(bodies.values()) == {1}, "a larger limit pays only for what is new"
        assert assay(*common, "--limit", 32, "--out", tmp_path / "one", "--resume", "never").code == 0
        assert len(server.asked) == sent + len(bodies) - 32 + 32


# --- the key


def test_the_key_is_nowhere_but_in_the_header(assay: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where the server repeats it: in its answers, in errors, in names."""
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))

    def repeating(asked: Asked) -> Sent | None:
        content = server.usual(asked) | {"system_fingerprint": f"fp {KEY}", "seen": asked.headers["authorization"]}
        escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
        return Sent(content=json.dumps(content | {"escaped": "HERE"}).replace("HERE", escaped).encode())

    with serving() as server:
        server.behave = repeating
        options = ("--limit", 16, *FEW, "--key-env", "MY_KEY", "--set", "answer=text")
        done = [assay("doctor", "--model", server.model, "--key-env", "MY_KEY")]
        done.append(assay("run", "bbq-starter", "--model", server.model, *options, "--out", tmp_path / "run"))
        done.append(assay("report", tmp_path / "run", "--format", "model-card"))
        done.append(assay("export", tmp_path / "run", "--out", tmp_path / "exported"))
        assert [each.code for each in done] == [0] * 4, done
        assert {each.headers["authorization"] for each in server.asked} == {f"Bearer {KEY}"}
        server.behave = lambda asked: Sent(401, {"error": {"message": f"the key {KEY} is wrong"}})
        done.append(
            assay("run", "bbq-starter", "--model", server.model, *options, "--out", tmp_path / "r2", "--seed", 1)
        )
        assert done[-1].code == 4
        assert "the key [key] is wrong" in done[-1].err
    said = "".join(each.out + each.err for each in done)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 15
    assert any(path.suffix == ".journal" for path in files)
    assert KEY not in said
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_a_reply_with_the_key_is_the_same_from_the_journal(
    assay: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)

    def repeating(asked: Asked) -> Sent | None:
        content = server.usual(asked)
        content["choices"][0]["message"]["content"] += f" {KEY}, or {KEY.upper()}."
        return Sent(content=content)

    def run(name: str) -> bytes:
        options = ("--limit", 16, *FEW, "--key-env", "MY_KEY", "--set", "answer=text", "--out", tmp_path / name)
        done = assay("run", "bbq-starter", "--model", server.model, *options)
        assert done.code == 0, done.err
        return b"".join((tmp_path / name / file).read_bytes() for file in ("findings.json", "tables/answers.csv"))

    with serving() as server:
        server.behave = repeating
        first, asked = run("one"), len(server.asked)
        shutil.rmtree(BlockStore.default().root)
        assert run("two") == first
        assert len(server.asked) == asked


@pytest.mark.parametrize("way", ["letters", "text"])
def test_a_dummy_for_a_key_changes_no_number(
    way: str, assay: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words that stand in replies: the name of a field, letters of options, and a letter of almost any word."""
    monkeypatch.setattr("assay.models.api.client._warned", set())
    findings, requests = {}, {}
    with serving() as server:
        for key in (KEY, "token", "A", "B", "C", "a"):
            monkeypatch.setenv("OPENAI_API_KEY", key)
            monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache" / f"{ord(key[0])} {len(key)}"))
            out, before = tmp_path / f"run {key}", len(server.asked)
            options = ("--limit", 32, *FEW, "--set", f"answer={way}", "--out", out)
            done = assay("run", "bbq-starter", "--model", server.model, *options)
            assert done.code == 0, done.err
            assert ("OPENAI_API_KEY has fewer than 16 characters" in done.err) == (key == "token")  # said once
            findings[key], requests[key] = (out / "findings.json").read_bytes(), len(server.asked) - before
    assert len(set(findings.values())) == 1
    assert len(set(requests.values())) == 1


# --- money


def test_a_dry_run_sends_nothing(assay: Command, tmp_path: Path) -> None:
    with serving() as server:
        common = ("run", "bbq-starter", "--model", server.model, "--limit", 64, "--dry-run")
        done = assay(*common)
        assert done.code == 0, done.err
        assert "to send: 64" in done.out
        assert "not known yet" in done.out
        assert "--price" in done.out
        assert server.asked == []
        assay("doctor", "--model", server.model)
        sent = len(server.asked)
        done = assay(*common, "--price", "10,20")
        assert "not known yet" not in done.out
        assert "cost: about $0.0" in done.out
        assert len(server.asked) == sent


def test_a_trial_is_paid_for_once(assay: Command, tmp_path: Path) -> None:
    with serving() as server:
        common = ("run", "bbq-starter", "--model", server.model, "--limit", 64, "--price", "10,20")
        done = assay(*common, "--dry-run", "--try", 12)
        assert done.code == 0, done.err
        assert "measured in the trial" in done.out
        tried = len(server.questions)
        assert 12 <= tried <= 16
        done = assay(*common, *FEW, "--out", tmp_path / "run")
        assert done.code == 0
        assert max(Counter(str(each.body) for each in server.questions).values()) == 1
        spent = run_json(tmp_path / "run")["spent"]
        assert spent["requests"] == 64
        assert spent["usd"] == pytest.approx(spent["input_tokens"] * 10e-6 + spent["output_tokens"] * 20e-6, abs=1e-5)
    assert assay("run", "bbq-starter", "--try", 3).code == 2


def test_a_budget_ends_the_run_and_the_same_command_goes_on(assay: Command, tmp_path: Path) -> None:
    with serving(latency=0.01) as server:
        common = ("run", "bbq-starter", "--model", server.model, "--limit", 96, *FEW, "--out", tmp_path / "run")
        done = assay(*common, "--price", "100,0", "--budget-usd", "0.5")
        assert done.code == 2
        assert "would exceed the budget of $0.5" in done.err
        assert "sent now" in done.err
        sent = len(server.questions)
        assert 5 < sent < 90
        assert assay(*common).code == 0
        assert len(server.questions) == 96
    assert assay(*common, "--budget-usd", "1").code == 2


# --- what the page says


def test_refusals_empty_and_unclear_answers_are_told(assay: Command, tmp_path: Path) -> None:
    def some(asked: Asked) -> Sent | None:
        if asked not in server.questions:
            return None
        entry = {"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}
        outside = [{"token": "Well", "logprob": -0.01}, {"token": "A", "logprob": -5.0}]
        unclear = {"message": {"content": "Well"}, "logprobs": {"content": [{"top_logprobs": outside}]}}
        return [Sent(content={"choices": [entry]}), Sent(content={"choices": [unclear]}), None][len(asked.prompt) % 3]

    with serving(frozenset({"text", "logprobs"}), behave=some) as server:
        assert (
            assay("run", "bbq-starter", "--model", server.model, "--limit", 64, *FEW, "--out", tmp_path / "run").code
            == 0
        )
    found = answers(tmp_path / "run")
    assert found["refused"] > 5
    assert found["unparsed"] > 5
    (told,) = [note for note in run_json(tmp_path / "run")["notes"] if "refused" in note]
    assert f"{found['refused']} refused; {found['unparsed']} unclear" in told
    assert told in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_a_model_that_follows_places_is_called_that(assay: Command, tmp_path: Path) -> None:
    def first(asked: Asked) -> list[float]:
        return [0.9 - len(str(asked.body)) % 7 / 1000, 0.06, 0.04 + len(str(asked.body)) % 7 / 1000]

    with serving(frozenset({"text", "logprobs"}), chooses=first) as server:
        done = assay("run", "bbq-starter", "--model", server.model, "--limit", 264, *FEW, "--out", tmp_path / "run")
    assert "follow the option" in " ".join(done.out.split())
    assert json.loads((tmp_path / "run" / "findings.json").read_text())["diagnosis"]["follows_place"]


def test_doctor_says_what_an_endpoint_can_do(assay: Command) -> None:
    with serving(frozenset({"text"})) as server:
        done = assay("doctor", "--model", server.model)
        assert done.code == 0
        assert "answers, but ignores logprobs" in done.out
        assert "asked by       samples" in done.out
    assert assay("doctor", "--model", "builtin").code == 2


# --- Ctrl-C


@pytest.mark.kill
def test_an_interrupted_run_ends_politely_and_goes_on(tmp_path: Path) -> None:
    with serving(latency=0.1) as server:
        command = [sys.executable, "-m", "assay", "run", "bbq-starter", "--model", server.model, *FEW]
        command += ["--out", str(tmp_path / "run")]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
        ) as program:
            _until(lambda: len(server.questions) > 100)
            program.send_signal(signal.SIGINT)
            _, said = program.communicate(timeout=30)
        assert program.returncode != 0
        assert "Traceback" not in said
        under_way = len(server.questions)
        assert under_way < 1408
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        assert max(Counter(str(each.body) for each in server.questions).values()) == 1
        assert len(server.questions) == 1408


def _until(true: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
