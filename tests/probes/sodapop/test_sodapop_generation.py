"""What `assay generate sodapop` writes: groups of names that a run reads, and the questions that a run asks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.audit import audit
from assay.engine.progress import Silent
from assay.errors import DataError, UsageError
from assay.generate import generate
from assay.models import load_model
from assay.plan import Plan
from assay.probes import Request
from assay.probes.sodapop.generation import Names, Questions, generation
from assay.probes.sodapop.name_builder import APPENDIX_A, SECTION_2
from assay.probes.sodapop.names import read_groups
from assay.probes.sodapop.scoring import score_files
from assay.queries import MASK, Answers, ChoiceColumns, ChoiceQuery, FillColumns, TokenColumns

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
    assert done.notes == ("names by group: EA_female 3, EA_male 2, AS_female 2, AS_male 2",)


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
        with pytest.raises(DataError, match="fewer than two groups"):
            generate("sodapop", out, settings=given)
        assert not out.exists()
        return
    generate("sodapop", out, settings=given)
    found = {group.name: len(group.names) for group in read_groups(out).groups}
    assert {name: found[name] for name in expected} == expected


def test_the_papers_rules_are_the_ones_that_are_named() -> None:
    assert Names.parse({"tables": "a.csv"}).rules == SECTION_2
    assert Names.parse({"tables": "a.csv", "rules": "appendix_a"}).rules == APPENDIX_A


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "what is to be written"),
        ({"what": "poems"}, "what is 'poems', expected names or questions"),
        ({"what": "names"}, "which tables"),
        ({"what": "names", "tables": ""}, "which tables"),
        ({"what": "names", "tables": "a.csv", "rules": "mine"}, "section2, appendix_a"),
        ({"what": "names", "tables": "a.csv", "cap": "9"}, "no setting 'cap' for names"),
        ({"what": "names", "tables": "a.csv", "race_threshold": "0.3"}, "more than 0.5"),
        ({"what": "names", "tables": "a.csv", "race_threshold": "EA:most"}, "race_threshold is 'most'"),
        ({"what": "names", "tables": "a.csv", "gender_threshold": "high"}, "gender_threshold is 'high'"),
        ({"what": "names", "tables": "a.csv", "per_group": "1"}, "too few"),
        ({"what": "names", "tables": "a.csv", "min_count": "few"}, "min_count is 'few'"),
        ({"what": "questions", "tables": "a.csv"}, "no setting 'tables' for questions"),
        ({"what": "questions", "min_count": "3"}, "no setting 'min_count' for questions"),
        ({"what": "questions", "preset": "huge"}, "preset is 'huge'"),
        ({"what": "questions", "cap": "1"}, "cap is '1'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        generation("sodapop", Request(settings=settings))


def test_a_folder_is_no_place_to_write_to(tmp_path: Path, table: str) -> None:
    for settings in ({"what": "names", "tables": table}, {"what": "questions"}):
        with pytest.raises(UsageError, match="this is a folder"):
            generate("sodapop", tmp_path, settings=settings)


# --- questions


class FakeFiller:
    """Fills every mask with the same words, in an order that depends on the text."""

    abilities = frozenset({"fill"})
    words = ("kind", "rude", "wild", "calm", "tall")

    def of(self, model: str) -> FakeFiller:
        raise AssertionError("nobody else is asked")

    def __call__(self, plan: Plan, label: str) -> Answers:
        columns = plan.columns(0, len(plan))
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
    wanted = generation("sodapop", Request(seed=seed, settings=given))
    assert isinstance(wanted, Questions)
    count = wanted.write_to(out, FakeFiller(), Silent())
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


def test_questions_need_a_model_that_fills(tmp_path: Path, groups: str, model_folder: Callable[..., Path]) -> None:
    settings, out = {"what": "questions", "groups": groups}, tmp_path / "q.jsonl"
    with pytest.raises(UsageError, match="which model writes the distractors") as refused:
        generate("sodapop", out, settings=settings)
    assert "--model builtin" in refused.value.remedy
    with pytest.raises(UsageError, match="cannot fill masks"):
        generate("sodapop", out, settings=settings, model=f"hf:{model_folder('choice')}")
    assert not out.exists()


def test_the_questions_are_those_of_a_run_with_sampled_pairs(tmp_path: Path, groups: str) -> None:
    """Written, answered by the model outside of the probe, and scored from the file, they give what the run gives."""
    asked = {"groups": groups, "contexts": "2", "cap": "21", "distractors": "per_name"}
    scored = {"groups": groups, "min_count": "1", "resamples": "20", "permutations": "100"}
    run = audit("builtin", "sodapop", settings=asked | scored | {"pairing": "sampled"}, seed=5, out=tmp_path / "run")
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
    findings, notes = score_files([out], Request(seed=5, settings=scored), None)
    assert not notes
    ours, theirs = (list(each.tables["words"].records()) for each in (findings, run.findings))
    assert len(ours) == len(theirs) > 5
    for one, other in zip(ours, theirs, strict=True):
        for column in ("group_a", "group_b", "word", "n"):
            assert one[column] == other[column]
        for column in ("sr_a", "sr_b", "rd", "p", "q"):
            assert one[column] == pytest.approx(other[column])
    assert any(row["rd"] for row in ours)
