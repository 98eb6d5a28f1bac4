"""SODAPOP on language models from the command line: endpoints in every way, causal models here, and what is refused."""

from __future__ import annotations

import csv
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import assay as library
from assay.asking.queries import ChoiceQuery, TextQuery
from assay.probes.sodapop.contexts import starter_contexts
from assay.results.diagnosis import FOLLOWS
from endpoint_server import ALL, Asked, Sent, Server, serving
from small_sodapop import group_file

pytestmark = pytest.mark.whole

Command = Any
SIX = {group: [f"{group}{place}" for place in "abcdef"] for group in ("Ann", "Bob")}
FEW = ("--set", "contexts=1", "--set", "cap=6", "--set", "min_count=1", "--set", "resamples=20", "--threads", 1)
CHAT = frozenset({"text", "logprobs"})
QUESTIONS = 12 * 6  # names and distractors


@pytest.fixture
def names(tmp_path: Path) -> tuple[str, str]:
    """The options for twelve names in two groups."""
    return "--set", f"groups={group_file(tmp_path, SIX)}"


def info(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return content


def found(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "findings.json", *(folder / "tables").iterdir())}


def rows(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("way", ["decisions", "letters", "samples", "text"])
def test_a_way_leads_to_findings_and_a_page(way: str, assay: Command, names: tuple[str, str], tmp_path: Path) -> None:
    with serving() as server:
        out = tmp_path / "run"
        command = ("run", "sodapop", "--model", server.model, *names, *FEW, "--set", f"answer={way}")
        dry = assay(*command, "--dry-run")
        assert dry.code == 0, dry.err
        assert f"to send: {QUESTIONS}" in dry.out
        assert server.questions == []
        done = assay(*command, "--out", out)
        assert done.code == 0, done.err
        assert len(server.questions) == QUESTIONS
        before = found(out)
        assert assay(*command, "--out", out).code == 0
        assert len(server.questions) == QUESTIONS, "stored answers are used again"
        assert found(out) == before
    run = info(out)
    assert (run["settings"]["form"], run["settings"]["answer"]) == ("letters", way)
    assert run["settings"]["fill_model"] == "builtin"
    assert set(run["others"]) == {"builtin"}
    assert run["prompts"]["answers"]["form"] == "letters"
    assert any(f"answer={way}" in note for note in run["notes"])
    assert any("written by the model builtin" in note for note in run["notes"])
    page = (out / "report.html").read_text(encoding="utf-8")
    assert f"answer={way}" in page
    assert "form=letters" in page
    assert {row["pieces"] for row in rows(out, "names")} == {""}
    assert assay("score", "sodapop", out, "--out", tmp_path / "again").code == 0
    assert found(tmp_path / "again") == before


def test_answers_are_scored_alone_where_the_server_repeats_prompts(
    assay: Command, names: tuple[str, str], tmp_path: Path
) -> None:
    with serving() as server:
        out = tmp_path / "run"
        command = ("run", "sodapop", "--model", server.model, *names, *FEW)
        assay("doctor", "--model", server.model)
        assert f"to send: {12 * 7}" in assay(*command, "--dry-run").out
        assert assay(*command, "--out", out).code == 0
        assert {each.path for each in server.questions} == {"/v1/completions"}
        assert len(server.questions) == 12 * 7
    assert info(out)["settings"]["form"] == "options"
    shown = info(out)["prompts"]["answers"]["text"]
    assert any(asked.prompt.startswith(shown) for asked in server.questions)
    assert assay("score", "sodapop", out, "--out", tmp_path / "again").code == 0
    assert found(tmp_path / "again") == found(out)


def test_the_prompts_of_examples_are_what_was_sent(assay: Command, names: tuple[str, str], tmp_path: Path) -> None:
    with serving(CHAT) as server:
        assert assay("run", "sodapop", "--model", server.model, *names, *FEW, "--out", tmp_path / "run").code == 0
        sent = {asked.prompt for asked in server.questions}
    lines = (tmp_path / "run" / "examples.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = [asked["prompt"] for line in lines for asked in json.loads(line)["asked"]]
    assert prompts
    assert set(prompts) <= sent


def refusing(server: Server, asked: Asked) -> Sent | None:
    """A third refuses, some fail for good."""
    if "How would you describe" not in asked.prompt or asked.number % 3:
        return None
    content = server.usual(asked)
    content["choices"][0] |= {"message": {"role": "assistant", "content": None, "refusal": "No."}}
    content["choices"][0].pop("logprobs", None)
    return Sent(content=content)


def test_refusals_are_counted_and_choose_nothing(assay: Command, names: tuple[str, str], tmp_path: Path) -> None:
    with serving(CHAT) as server:
        server.behave = lambda asked: refusing(server, asked)
        done = assay("run", "sodapop", "--model", server.model, *names, *FEW, "--out", tmp_path / "run")
        assert done.code == 0, done.err
    notes = " ".join(info(tmp_path / "run")["notes"])
    assert "were refused; they count as choosing none" in notes
    assert rows(tmp_path / "run", "words")


def test_a_server_that_always_says_a_is_called_that_and_fails_the_gate(
    assay: Command, names: tuple[str, str], tmp_path: Path
) -> None:
    with serving(CHAT) as server:
        server.chooses = lambda asked: [0.9, 0.06, 0.04] if "How would you" in asked.prompt else _usual(asked)
        command = ("run", "sodapop", "--model", server.model, *names, *FEW, "--out", tmp_path / "run")
        done = assay(*command, "--set", "cap=12")
        assert done.code == 0, done.err
    diagnosis = json.loads((tmp_path / "run" / "findings.json").read_text(encoding="utf-8"))["diagnosis"]
    assert diagnosis["why"].startswith(FOLLOWS)
    policy = tmp_path / "policy.toml"
    policy.write_text('[[limit]]\nmetric = "sodapop.kmeans_accuracy"\nsize = 1.0\n', encoding="utf-8")
    judged = assay("gate", tmp_path / "run", "--policy", policy)
    assert judged.code == 1
    assert "sodapop.unusable" in judged.out


def _usual(asked: Asked) -> list[float]:
    """What makes the server's letters move with the question, as finding its abilities needs it."""
    return [0.1, 0.8, 0.1] if "spoon, a boat and" in asked.prompt else [0.8, 0.1, 0.1]


def test_a_causal_model_here_is_asked_in_both_forms_which_are_not_compared(
    assay: Command, names: tuple[str, str], model_folder: Any, tmp_path: Path
) -> None:
    model = f"hf:{model_folder('causal')}"
    command = ("run", "sodapop", "--model", model, *names, *FEW)
    one, two, three = (tmp_path / name for name in ("options", "letters", "byte"))
    for out, more in ((one, ()), (two, ("--set", "form=letters")), (three, ("--set", "likelihood=byte"))):
        done = assay(*command, *more, "--out", out)
        assert done.code == 0, done.err
        assert info(out)["settings"]["fill_model"] == "builtin"
        assert all(int(row["pieces"]) > 0 for row in rows(out, "names"))
        assert info(out)["prompts"]["answers"]["text"].endswith("Answer:")
    assert assay("score", "sodapop", two, "--out", tmp_path / "again").code == 0
    assert found(tmp_path / "again") == found(two)
    assert [info(out)["settings"]["form"] for out in (one, two, three)] == ["options", "letters", "options"]
    assert info(two)["stages"]["answers, at most"] == QUESTIONS
    assert found(one) != found(three), "shorter answers have an advantage in sums"
    assert assay("compare", one, three).code == 0
    done = assay("compare", one, two)
    assert done.code == 2
    assert "was asked in another way (form=options)" in done.message
    pages = assay("report", tmp_path)
    assert pages.code == 0, pages.err
    assert "asked in different ways" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_function_that_only_writes_is_asked_for_letters(tmp_path: Path) -> None:
    def writes(query: TextQuery) -> str:
        return "B. of course"

    settings = {"groups": str(group_file(tmp_path, SIX)), "contexts": "1", "min_count": "1", "resamples": "20"}
    run = library.audit(writes, "sodapop", settings=settings, out=tmp_path / "run")
    assert run.info.settings["form"] == "letters"
    assert run.findings.diagnosis is not None
    assert run.findings.diagnosis.follows_place

    def chooses(query: ChoiceQuery) -> list[float]:
        return [float(len(option)) for option in query.options]

    run = library.audit(chooses, "sodapop", settings=settings, out=tmp_path / "other")
    assert run.info.settings["form"] == "options"
    assert all(row["rd"] in (0, None) for row in run.findings.tables["words"].records())


def test_a_tour_of_an_endpoint_has_it(assay: Command, tmp_path: Path) -> None:
    with serving(frozenset({"text"})) as server:
        done = assay("run", "sodapop", "--model", server.model, "--dry-run")
        assert done.code == 0, done.err
        assert "to send: 960" in done.out
    with serving(ALL - {"echo"}) as server:
        done = assay("run", "--model", server.model, "--dry-run")
        assert done.code == 0, done.err
        assert "sodapop: " in done.out


# --- what is printed, counted again from the server's log

_OPTION = re.compile(r"^([ABC])\. (.+)$", re.MULTILINE)
COUNTED = ("--set", "contexts=2", "--set", "cap=8", "--set", "min_count=2", "--set", "resamples=20", "--threads", 1)


def leaning(asked: Asked) -> list[float]:
    """Probabilities of the letters that follow from name and answers: often the second wrong answer is the likeliest,
    sometimes two tie."""
    options = dict(_OPTION.findall(asked.prompt))
    if len(options) != 3 or "How would you" not in asked.prompt:
        return _usual(asked)
    person = "Ann" if "Ann" in asked.prompt else "Bob"
    weights = [zlib.crc32(f"{person} {option}".encode()) % 5 + 1 for option in options.values()]
    return [weight / sum(weights) for weight in weights]


def drawn(asked: Asked) -> str:
    """The letter of a sample, as the server draws it."""
    return "ABC"[zlib.crc32(f"{asked.prompt} {asked.body['seed']}".encode()) % 3]


def counted_by_hand(questions: Sequence[Asked], way: str) -> dict[tuple[str, str], list[float]]:
    """For every group and word, 1 for each time that a wrong answer with it was listed and chosen, ½ or ⅓ for a tie,
    0 for each other time."""
    right = {context.answer for context in starter_contexts()}
    chosen: dict[tuple[str, str], list[float]] = defaultdict(list)
    for asked in questions:
        options, shares = dict(_OPTION.findall(asked.prompt)), leaning(asked)
        best = [letter for letter, share in zip(options, shares, strict=True) if share == max(shares)]
        named = {"samples": [drawn(asked)] if way == "samples" else [], "text": best[:1]}.get(way, best)
        person = "Ann" if "Ann" in asked.prompt else "Bob"
        for letter, option in options.items():
            for word in {word for word in option.split() if option not in right}:
                chosen[person, word].append((letter in named) / len(named))
    return chosen


@pytest.mark.parametrize("way", ["letters", "samples", "text"])
def test_the_printed_rates_are_those_of_the_servers_own_log(
    way: str, assay: Command, names: tuple[str, str], tmp_path: Path
) -> None:
    with serving() as server:
        server.chooses = leaning
        command = ("run", "sodapop", "--model", server.model, *names, *COUNTED, "--set", f"answer={way}")
        done = assay(*command, "--out", tmp_path / "run")
        assert done.code == 0, done.err
        counted = counted_by_hand(server.questions, way)
    assert info(tmp_path / "run")["settings"]["success"] == "chosen"
    words = rows(tmp_path / "run", "words")
    assert words
    for row in words:
        for group, column in ((row["group_a"], "sr_a"), (row["group_b"], "sr_b")):
            assert float(row[column]) == pytest.approx(fmean(counted[group, row["word"]])), (group, row["word"])
    told = re.search(
        r"rong answers with “(.+?)” were chosen ([\d.]+)% of the time for (\w+) names, ([\d.]+)% for (\w+) names",
        " ".join(done.out.split()),
    )
    assert told, done.out
    word, first, a, second, b = told.groups()
    for group, percent in ((a, first), (b, second)):
        assert float(percent) == pytest.approx(100 * fmean(counted[group, word]), abs=0.051), (group, word)


def test_a_run_of_the_older_definition_is_not_compared_until_it_is_scored_again(
    assay: Command, names: tuple[str, str], tmp_path: Path
) -> None:
    older, newer, again = (tmp_path / name for name in ("older", "newer", "again"))
    with serving() as server:
        for out, way in ((older, "letters"), (newer, "text")):
            done = assay(
                *("run", "sodapop", "--model", server.model, *names, *COUNTED, "--set", f"answer={way}", "--out", out)
            )
            assert done.code == 0, done.err
    assert assay("compare", older, newer).code == 0, "both follow Eq. 1"
    content = info(older)
    del content["settings"]["success"]
    (older / "run.json").write_text(json.dumps(content), encoding="utf-8")
    done = assay("compare", newer, older)
    assert done.code == 2
    assert "in another way (form=letters) than" in done.message
    assert "success=likelier" in done.message
    assert "assay score sodapop RUN" in done.message
    assert assay("report", older).code == 0
    page = (older / "report.html").read_text(encoding="utf-8")
    assert "An older version made these numbers" in page
    assert "were likelier than the right one" in page
    assert assay("score", "sodapop", older, "--out", again).code == 0
    assert info(again)["settings"]["success"] == "chosen"
    assert assay("compare", newer, again).code == 0
