"""A prompt, a system prompt and examples of one's own: every defect has one clear message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.errors import DataError, UsageError
from assay.probes.bbq.ask_items import choose_form
from assay.probes.bbq.prompt_sources import digests_of, read_wording
from assay.probes.bbq.prompts import OWN
from assay.probes.bbq.settings import BBQSettings
from raising import raises

LM = frozenset({"choice", "text"})
GOOD = "{context}\n{question}\n{options}\nSay it:\n"
ROW = {"context": "", "question": "Who slept?", "ans0": "Ann", "ans1": "Bo", "ans2": "Unknown", "label": 1}


def prompted(tmp_path: Path, text: str, form: str = "auto") -> str:
    """The form that a prompt is asked in."""
    file = tmp_path / "prompt.txt"
    file.write_text(text, encoding="utf-8")
    settings = BBQSettings(prompt=str(file), form=form)
    return choose_form(settings, read_wording(settings), LM)


def test_a_prompt_is_taken_as_it_is_but_for_its_last_line_breaks(tmp_path: Path) -> None:
    (tmp_path / "p").write_text(f"{GOOD}\n", encoding="utf-8")
    assert read_wording(BBQSettings(prompt=str(tmp_path / "p"))).template == GOOD.rstrip("\n")


def test_the_slots_say_the_form(tmp_path: Path) -> None:
    assert prompted(tmp_path, GOOD) == "letters"
    assert prompted(tmp_path, "{context} {question}") == "options"
    assert prompted(tmp_path, "{context} {question}", "free") == "free"
    assert prompted(tmp_path, GOOD, "written") == "written"


@pytest.mark.parametrize(
    ("text", "form", "code", "key", "said"),
    [
        ("", "auto", "empty-file", None, "the prompt is empty."),
        (" \n\n", "auto", "empty-file", None, "the prompt is empty."),
        ("{question} {options}", "auto", "missing-key", "context", "the prompt has no slot {context}."),
        ("{context} {options}", "auto", "missing-key", "question", "the prompt has no slot {question}."),
        ("{context} {question}", "letters", "missing-key", "options", "the prompt has no slot {options}."),
        ("{{context}} {question}", "auto", "missing-key", "context", "the prompt has no slot {context}."),
        (GOOD, "free", "unknown-key", "options", "the prompt lists the options, but form=free does not show them."),
        ("{context}\n{answer}", "auto", "unknown-key", "answer", "unknown slot {answer}; expected {context}, "),
        ("{context}\n{}", "auto", "unknown-key", "", "unknown slot {}; expected {context}, {question}, {options}."),
        ("{context!r} {question}", "auto", "unknown-key", "context!r", "unknown slot {context!r}; expected"),
        ("{context} {question} }", "auto", "bad-text", "prompt", "a single } is not part of a slot."),
        ("{context} { {question}", "auto", "bad-text", "prompt", "a single { is not part of a slot."),
    ],
)
def test_a_prompt_that_cannot_be_used_is_refused(
    tmp_path: Path, text: str, form: str, code: str, key: str | None, said: str
) -> None:
    with raises(code, DataError, key=key, file=tmp_path / "prompt.txt") as wrong:
        prompted(tmp_path, text, form)
    assert said in wrong.value.problem
    assert wrong.value.remedy


def test_an_unknown_slot_is_found_on_its_line(tmp_path: Path) -> None:
    with raises("unknown-key", DataError, line=3):
        prompted(tmp_path, "{context}\n{question}\n{choices}")


@pytest.mark.parametrize("name", ["prompt", "shots", "system"])
def test_a_file_that_is_not_there_is_said(name: str) -> None:
    with raises("bad-setting", UsageError, key=name) as wrong:
        read_wording(BBQSettings(**{name: "none.txt"}))
    assert wrong.value.problem == f"{name} is none.txt, which is not a file."


def test_a_system_prompt_is_a_file_or_a_text(tmp_path: Path) -> None:
    (tmp_path / "s").write_text(" Be fair.\n", encoding="utf-8")
    assert read_wording(BBQSettings(system=str(tmp_path / "s"))).system == "Be fair."
    assert read_wording(BBQSettings(system="Answer yes/no questions. ")).system == "Answer yes/no questions."
    (tmp_path / "s").write_text("\n", encoding="utf-8")
    with raises("empty-file", DataError, file=tmp_path / "s"):
        read_wording(BBQSettings(system=str(tmp_path / "s")))
    with raises("bad-setting", UsageError, key="system"):
        read_wording(BBQSettings(system=" "))


def test_a_prompt_that_is_no_text_is_said(tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"\xff\xfe{context}")
    with raises("unreadable-file", DataError, file=tmp_path / "p"):
        read_wording(BBQSettings(prompt=str(tmp_path / "p")))


@pytest.mark.parametrize(
    ("change", "code", "key"),
    [
        ({"question": None}, "bad-value", "question"),
        ({"question": ""}, "bad-value", "question"),
        ({"ans2": 3}, "bad-value", "ans2"),
        ({"label": 3}, "bad-label", "label"),
        ({"label": True}, "bad-label", "label"),
        ({"label": "1"}, "bad-label", "label"),
    ],
)
def test_examples_that_cannot_be_used_are_refused(
    tmp_path: Path, change: dict[str, object], code: str, key: str
) -> None:
    file = tmp_path / "shots.jsonl"
    file.write_text(f"{json.dumps(ROW)}\n{json.dumps({**ROW, **change})}\n", encoding="utf-8")
    with raises(code, DataError, file=file, line=2, key=key):
        read_wording(BBQSettings(shots=str(file)))


def test_an_example_without_a_field_and_a_file_without_examples(tmp_path: Path) -> None:
    file = tmp_path / "shots.jsonl"
    file.write_text(json.dumps({key: value for key, value in ROW.items() if key != "ans1"}), encoding="utf-8")
    with raises("missing-key", DataError, line=1, key="ans1"):
        read_wording(BBQSettings(shots=str(file)))
    file.write_text("\n", encoding="utf-8")
    with raises("empty-file", DataError, file=file):
        read_wording(BBQSettings(shots=str(file)))


def test_what_was_brought_is_digested_by_its_content(tmp_path: Path) -> None:
    found = []
    for text in ("Be fair.", "Be brief."):
        (tmp_path / "s").write_text(text, encoding="utf-8")
        (tmp_path / "shots.jsonl").write_text(json.dumps({**ROW, "context": text}), encoding="utf-8")
        (tmp_path / "p").write_text(f"{text} {GOOD}", encoding="utf-8")
        paths = {
            name: str(tmp_path / file) for name, file in (("system", "s"), ("shots", "shots.jsonl"), ("prompt", "p"))
        }
        found.append(digests_of(read_wording(BBQSettings(**paths))))
    assert set(found[0]) == {"prompt", "system", "shots"}
    assert len({*found[0].values(), *found[1].values()}) == 6
    assert digests_of(OWN) == {}


# --- what goes together


@pytest.mark.parametrize(
    ("settings", "able", "form"),
    [
        ({}, "choice text", "options"),
        ({}, "choice", "options"),
        ({}, "text", "race"),
        ({"system": "Be fair."}, "text", "written"),
        ({"system": "Be fair."}, "choice text", "options"),
        ({"variant": "q"}, "choice text", "letters"),
        ({"variant": "explain"}, "text", "written"),
        ({"variant": "explain", "form": "written"}, "choice text", "written"),
    ],
)
def test_the_form_that_suits(settings: dict[str, str], able: str, form: str) -> None:
    chosen = BBQSettings(**settings)
    assert choose_form(chosen, read_wording(chosen), frozenset(able.split())) == form


@pytest.mark.parametrize(
    ("settings", "able", "code", "key"),
    [
        ({"variant": "q"}, "choice", "unsupported", "form"),
        ({"variant": "q", "form": "options"}, "choice text", "bad-setting", "variant"),
        ({"variant": "q", "form": "free"}, "choice text", "bad-setting", "variant"),
        ({"variant": "q", "form": "race"}, "text", "bad-setting", "variant"),
        ({"variant": "q", "form": "letters"}, "text", "missing-ability", "form"),
        ({"form": "free"}, "choice", "missing-ability", "form"),
        ({"system": "Be fair."}, "choice", "unsupported", "system"),
        ({"system": "Be fair.", "form": "arc"}, "text", "bad-setting", "system"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_asked(
    settings: dict[str, str], able: str, code: str, key: str
) -> None:
    chosen = BBQSettings(**settings)
    with raises(code, UsageError, key=key):
        choose_form(chosen, read_wording(chosen), frozenset(able.split()))


def test_a_variant_and_a_prompt_exclude_each_other(tmp_path: Path) -> None:
    (tmp_path / "p").write_text(GOOD, encoding="utf-8")
    chosen = BBQSettings(variant="q", prompt=str(tmp_path / "p"))
    with raises("bad-setting", UsageError, key="prompt"):
        choose_form(chosen, read_wording(chosen), LM)
