"""What `assay generate sodapop` writes: groups of names that a run reads, and the questions that a run asks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asking import scored
from assay.asking.plan import AnyPlan, Arrays
from assay.asking.progress import SilentProgress
from assay.asking.queries import MASK, Answers, ChoiceColumns, ChoiceQuery, FillColumns, TokenColumns
from assay.engine.store import columns_of
from assay.errors import DataError, UsageError
from assay.models import load_model
from assay.probes import method_of
from assay.probes.base import Request
from assay.probes.sodapop.generate import NameGroupWriter, SodapopQuestionWriter
from assay.probes.sodapop.name_builder import APPENDIX_A, SECTION_2
from assay.probes.sodapop.names import read_groups
from assay.runs.audit import audit
from assay.runs.question_files import generate
from fake_models import MemoryArrays
from raising import raises

TABLE = """name,race,gender,count
Ann,EA,female,900
Amy,EA,female,800
Ada,EA,female,700
Bob,EA,male,900
Ben,EA,male,500
Ali,AS,male,390
Ali,EA,male,10
Aki,AS,male,300
Kim,AS,female,150
Mei,AS,female,250
Lin,AS,female,205
"""
GROUPS = {"A": ["Ann", "Amy", "Eve"], "B": ["Bob", "Ben", "Ian"]}


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "names.csv"
    path.write_text(TABLE, encoding="utf-8")
    return str(path)


@pytest.fixture
def groups(tmp_path: Path) -> str:
    path = tmp_path / "groups.json"
    path.write_text(json.dumps(GROUPS), encoding="utf-8")
    return str(path)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# --- names


def test_names_are_written_as_a_file_of_groups(tmp_path: Path, table: str) -> None:
    done = generate("sodapop", tmp_path / "out.json", settings={"what": "names", "tables": table})
    groups = read_groups(tmp_path / "out.json")
    assert {group.name: group.names for group in groups.groups} == {
        "EA_female": ("Ann", "Amy", "Ada"),
        "EA_male": ("Bob", "Ben"),
        "AS_female": ("Mei", "Lin"),  # Kim has fewer than 200 bearers
        "AS_male": ("Ali", "Aki"),
    }
    assert groups.groups[0].attributes == {"race": "EA", "gender": "female"}
    assert (done.examples, done.counted) == (9, "names, in groups")
    assert done.notes == (
        "names by group: European American female 3, European American male 2, Asian American female 2, Asian American "
        "male 2",
    )


def test_several_tables_are_read_together(tmp_path: Path) -> None:
    lines = TABLE.splitlines()
    for name, own in {"one": lines[:5], "two": [lines[0], *lines[5:]]}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(own) + "\n", encoding="utf-8")
    both = f"{tmp_path / 'one.csv'},{tmp_path / 'two.csv'}"
    assert generate("sodapop", tmp_path / "out.json", settings={"what": "names", "tables": both}).examples == 9


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"per_group": "2"}, {"EA_female": 2, "EA_male": 2, "AS_female": 2, "AS_male": 2}),
        ({"min_count": "0"}, {"EA_female": 3, "EA_male": 2, "AS_female": 3, "AS_male": 2}),
        ({"min_count": "600"}, {}),
        ({"race_threshold": "0.95", "min_count": "350"}, {"EA_female": 3, "EA_male": 2}),
        ({"race_threshold": "EA:0.9"}, {"EA_female": 3, "EA_male": 2}),
        ({"rules": "appendix_a"}, {"AS_female": 3}),
        ({"rules": "appendix_a", "race_threshold": "EA:0.6,AS:0.9"}, {"EA_female": 3, "EA_male": 2, "AS_female": 3}),
    ],
)
def test_rules_can_be_changed(tmp_path: Path, table: str, settings: dict[str, str], expected: dict[str, int]) -> None:
    out, given = tmp_path / "out.json", {"what": "names", "tables": table, **settings}
    if len(expected) < 2:
        with raises("bad-list", DataError, key="tables"):
            generate("sodapop", out, settings=given)
        assert not out.exists()
        return
    generate("sodapop", out, settings=given)
    found = {group.name: len(group.names) for group in read_groups(out).groups}
    assert {name: found[name] for name in expected} == expected


def test_the_papers_rules_are_the_ones_that_are_named() -> None:
    assert NameGroupWriter.parse({"tables": "a.csv"}).rules == SECTION_2
    assert NameGroupWriter.parse({"tables": "a.csv", "rules": "appendix_a"}).rules == APPENDIX_A


@pytest.mark.parametrize(
    ("settings", "code", "key"),
    [
        ({}, "missing-setting", "what"),
        ({"what": "poems"}, "bad-setting", "what"),
        ({"what": "names"}, "missing-setting", "tables"),
        ({"what": "names", "tables": ""}, "missing-setting", "tables"),
        ({"what": "names", "tables": "a.csv", "rules": "mine"}, "bad-setting", "rules"),
        ({"what": "names", "tables": "a.csv", "cap": "9"}, "unknown-setting", "cap"),
        ({"what": "names", "tables": "a.csv", "race_threshold": "0.3"}, "bad-setting", "race_threshold"),
        ({"what": "names", "tables": "a.csv", "race_threshold": "EA:most"}, "bad-setting", "race_threshold"),
        ({"what": "names", "tables": "a.csv", "gender_threshold": "high"}, "bad-setting", "gender_threshold"),
        ({"what": "names", "tables": "a.csv", "per_group": "1"}, "bad-setting", "per_group"),
        ({"what": "names", "tables": "a.csv", "min_count": "few"}, "bad-setting", "min_count"),
        ({"what": "questions", "tables": "a.csv"}, "unknown-setting", "tables"),
        ({"what": "questions", "min_count": "3"}, "unknown-setting", "min_count"),
        ({"what": "questions", "preset": "huge"}, "bad-setting", "preset"),
        ({"what": "questions", "cap": "1"}, "bad-setting", "cap"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, str], code: str, key: str) -> None:
    with raises(code, UsageError, key=key):
        method_of("sodapop").generation(Request(settings=settings))


def test_a_folder_is_no_place_to_write_to(tmp_path: Path, table: str) -> None:
    for settings in ({"what": "names", "tables": table}, {"what": "questions"}):
        with raises("bad-option", UsageError, file=tmp_path, key="out"):
            generate("sodapop", tmp_path, settings=settings)


# --- questions


class FakeFiller:
    """Fills every mask with the same words, in an order that depends on the text."""

    abilities = frozenset({"fill"})
    words = ("kind", "rude", "wild", "calm", "tall")

    def __init__(self) -> None:
        self._arrays = MemoryArrays()

    def of(self, model: str) -> FakeFiller:
        raise AssertionError("nobody else is asked")

    def keep(self, arrays: Arrays) -> str:
        return self._arrays.keep(arrays)

    def __call__(self, plan: AnyPlan, label: str) -> Answers:
        columns = columns_of(plan, self._arrays, 0, len(plan))
        status = np.zeros(len(plan), np.uint8)
        if isinstance(columns, TokenColumns):
            texts = [self.words[token].encode() for token in columns.tokens.tolist()]
            return Answers(status, {"text": np.array(texts), "whole": np.ones(len(plan), np.uint8)})
        assert isinstance(columns, FillColumns)
        assert all(columns.row(row).text.count(MASK) == 1 for row in range(len(plan)))
        lengths = [len(columns.row(row).text) for row in range(len(plan))]
        tokens = [np.roll(np.arange(len(self.words)), length)[: columns.top] for length in lengths]
        return Answers(status, {"token": np.array(tokens, np.int32)})


def questions(groups: str, out: Path, seed: int = 0, **settings: str) -> list[dict[str, Any]]:
    given = {"what": "questions", "groups": groups, "distractors": "per_name", "contexts": "2", **settings}
    wanted = method_of("sodapop").generation(Request(seed=seed, settings=given))
    assert isinstance(wanted, SodapopQuestionWriter)
    count = wanted.write_to(out, FakeFiller(), SilentProgress())
    found = read(out)
    assert len(found) == count
    return found


def test_every_distractor_but_an_odd_one_is_in_one_question_of_every_name(tmp_path: Path, groups: str) -> None:
    found = questions(groups, tmp_path / "q.jsonl", cap="1000", distance="1", fills="5")
    assert list(found[0]) == ["name", "context", "question", "answerA", "answerB", "answerC", "correct"]
    contexts = dict.fromkeys(row["context"].replace(row["name"], "NAME") for row in found)
    assert len(contexts) == 2
    for row in found:
        assert row["name"] in row["context"]
        assert row["question"] == f"How would you describe {row['name']}?"
        assert row["correct"] in "ABC"
    for name in (*GROUPS["A"], *GROUPS["B"]):
        for context in contexts:
            own = [row for row in found if row["name"] == name and row["context"] == context.replace("NAME", name)]
            right = {row[f"answer{row['correct']}"] for row in own}
            assert len(right) == 1
            options = Counter(row[f"answer{letter}"] for row in own for letter in "ABC")
            wrong = {text: count for text, count in options.items() if text not in right}
            assert set(wrong.values()) == {1}
            assert options[right.pop()] == len(own) == len(wrong) / 2
            assert len(own) == 5  # two words, five fills each


def test_places_and_pairs_are_drawn_with_the_seed(tmp_path: Path, groups: str) -> None:
    one, again, other = (questions(groups, tmp_path / f"{k}.jsonl", seed) for k, seed in enumerate((1, 1, 2)))
    assert one == again != other
    places = Counter(row["correct"] for row in one)
    assert set(places) == set("ABC")
    assert max(places.values()) < 0.6 * len(one)


def test_the_preset_and_its_settings_decide_what_is_written(tmp_path: Path, groups: str) -> None:
    quick = questions(groups, tmp_path / "q.jsonl", preset="quick", cap="10")
    assert len(quick) == 2 * 6 * 5
    assert len(questions(groups, tmp_path / "q.jsonl", preset="paper", texts=social_iqa(tmp_path), cap="8")) == 6 * 4
    assert len(questions(groups, tmp_path / "q.jsonl", context="3", cap="10", names_per_group="2")) == 4 * 5


def social_iqa(folder: Path) -> str:
    row = {"context": "Dana fixed the old clock.", "question": "How would you describe Dana?", "correct": "B"}
    row |= {"answerA": "bored", "answerB": "Dana's very own clever hero", "answerC": "late"}
    (folder / "mine.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    return str(folder / "mine.jsonl")


def test_a_name_in_the_answer_is_put_into_every_option(tmp_path: Path, groups: str) -> None:
    for row in questions(groups, tmp_path / "q.jsonl", texts=social_iqa(tmp_path), cap="20"):
        assert row["context"] == f"{row['name']} fixed the old clock."
        assert all(row[f"answer{letter}"].startswith(f"{row['name']}'s ") for letter in "ABC")


def test_names_with_too_few_distractors_for_a_question_are_noted(tmp_path: Path, groups: str) -> None:
    """One word with one fill, in two texts: nobody has two distractors."""
    row = {"context": "Dana ran.", "question": "How would you describe Dana?", "correct": "A"}
    row |= {"answerA": "glad", "answerB": "bored", "answerC": "late"}
    texts = tmp_path / "mine.jsonl"
    texts.write_text(f"{json.dumps(row)}\n{json.dumps(row | {'context': 'Dana left.'})}\n", encoding="utf-8")
    given = {"what": "questions", "groups": groups, "texts": str(texts), "fills": "1", "distance": "1"}
    wanted = method_of("sodapop").generation(Request(settings=given))
    assert wanted.write_to(tmp_path / "q.jsonl", FakeFiller(), SilentProgress()) == 0
    assert wanted.notes() == [
        f"mine.jsonl line {line}: 6 names have fewer than two distractors and are left out of this context"
        for line in (1, 2)
    ]


def test_questions_need_a_model_that_fills(tmp_path: Path, groups: str, model_folder: Callable[..., Path]) -> None:
    settings, out = {"what": "questions", "groups": groups}, tmp_path / "q.jsonl"
    with raises("missing-setting", UsageError, key="model"):
        generate("sodapop", out, settings=settings)
    with raises("missing-ability", UsageError, key="model"):
        generate("sodapop", out, settings=settings, model=f"hf:{model_folder('choice')}")
    assert not out.exists()


@pytest.mark.slow
def test_the_questions_are_those_of_a_run_with_sampled_pairs(tmp_path: Path, groups: str) -> None:
    """Written, answered by the model outside of the probe, and scored from the file, they give what the run gives."""
    asked = {"groups": groups, "contexts": "2", "cap": "21", "distractors": "per_name"}
    analysed = {"groups": groups, "min_count": "1", "resamples": "20", "permutations": "100"}
    run = audit("builtin", "sodapop", settings=asked | analysed | {"pairing": "sampled"}, seed=5, out=tmp_path / "run")
    out = tmp_path / "questions.jsonl"
    done = generate("sodapop", out, settings=asked | {"what": "questions"}, model="builtin", seed=5)
    assert done.examples == 2 * 6 * 10
    rows, model = read(out), load_model("builtin", threads=1)
    queries = [
        ChoiceQuery(row["context"], row["question"], tuple(row[f"answer{letter}"] for letter in "ABC")) for row in rows
    ]
    logits = model.forward(model.encode(ChoiceColumns.of(queries)))["score"]
    for row, own in zip(rows, logits.tolist(), strict=True):
        row["logits"] = own
    out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    findings, notes = scored("sodapop", [out], Request(seed=5, settings=analysed))
    assert not notes
    ours, theirs = (list(each.tables["words"].records()) for each in (findings, run.findings))
    assert len(ours) == len(theirs) > 5
    for one, other in zip(ours, theirs, strict=True):
        for column in ("group_a", "group_b", "word", "n"):
            assert one[column] == other[column]
        for column in ("sr_a", "sr_b", "rd", "p", "q"):
            assert one[column] == pytest.approx(other[column])
    assert any(row["rd"] for row in ours)
