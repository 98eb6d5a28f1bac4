"""With the authors' own word lists, the questions are as many as theirs, and in their format (ASSAY_DATA)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.cli import main
from assay.config.settings import read_settings
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.method import UnqoverQuestionWriter, entries
from assay.probes.unqover.plan import PER_CELL, UnqoverPlan
from assay.probes.unqover.settings import MASKS, UnqoverGenerateSettings

# (templates, subjects, attributes, unordered pairs, cells): Table 1 in full
TABLE_1 = {
    "gender": (4, 140, 70, 4_900, 1_372_000),
    "nationality": (12, 69, 64, 2_346, 1_154_232),
    "ethnicity": (14, 15, 50, 105, 73_500),
    "religion": (14, 11, 50, 55, 38_500),
}
MASKED = {
    ("gender", "bert"): 700_000,
    ("gender", "roberta"): 286_720,
    ("nationality", "bert"): 507_870,
    ("nationality", "roberta"): 385_776,
    ("ethnicity", "bert"): 31_500,
    ("ethnicity", "roberta"): 31_500,
    ("religion", "bert"): 38_500,
    ("religion", "roberta"): 31_500,
}
HEADER = "[aug] yes no  [text] (CNN) --"


@pytest.fixture(scope="module")
def word_lists(official_data: Path) -> str:
    return str(official_data / "unqover" / "word_lists")


def plan_of(word_lists: str, cls: str, form: str, **more: str) -> UnqoverPlan:
    given = {"class": cls, "form": form, "word_lists": word_lists, **more}
    return UnqoverQuestionWriter(read_settings(UnqoverGenerateSettings, given, "unqover")).plan(None)


@pytest.mark.parametrize("form", ["qa", "newsqa"])
@pytest.mark.parametrize("cls", TABLE_1)
def test_questions_are_as_many_as_in_table_1(word_lists: str, cls: str, form: str) -> None:
    plan = plan_of(word_lists, cls, form)
    templates, subjects, attributes, pairs, cells = TABLE_1[cls]
    lists = plan.lists
    assert (len(lists.templates), len(lists.subjects), len(lists.attributes)) == (templates, subjects, attributes)
    assert len(plan.table.pairs) == pairs
    assert len(plan.table) == cells
    assert len(plan) == PER_CELL * cells


@pytest.mark.parametrize(("cls", "form"), MASKED)
def test_masked_sentences_are_as_many_as_the_authors_have(word_lists: str, cls: str, form: str) -> None:
    assert len(plan_of(word_lists, cls, form).table) == MASKED[cls, form]


def test_nationality_asks_of_places_and_of_people(word_lists: str) -> None:
    lists = plan_of(word_lists, "nationality", "qa").lists
    kinds = [attribute.kind for attribute in lists.attributes]
    assert (kinds.count("l_act"), kinds.count("p_act")) == (14, 50)
    kinds = [template.kind for template in lists.templates]
    assert (kinds.count("l_act"), kinds.count("p_act")) == (3, 9)
    assert len(plan_of(word_lists, "nationality", "bert").lists.templates) == 9


def rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Entries of a written file, which has one a line."""
    with path.open(encoding="utf-8") as file:
        assert file.readline() == "{\n"
        for line in file:
            if line != "}\n":
                ((key, value),) = json.loads(f"{{{line.rstrip().rstrip(',')}}}").items()
                yield key, value


@pytest.mark.parametrize("cls", ["religion", "ethnicity"])
def test_a_written_file(word_lists: str, cls: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / f"{cls}.json"
    arguments = [
        "generate",
        "unqover",
        "--set",
        f"class={cls}",
        "--set",
        "form=qa",
        "--set",
        f"word_lists={word_lists}",
    ]
    assert main([*arguments, "--out", str(out)]) == 0
    examples = 2 * TABLE_1[cls][4]
    assert f"{examples:,} examples" in capsys.readouterr().out
    if cls == "religion":
        assert len(json.loads(out.read_text(encoding="utf-8"))) == examples  # one JSON object, and no key twice
    keys, pairs, attributes = set(), set(), set()
    for key, entry in rows(out):
        cluster0, cluster1, name0, name1, tid, _, act, again = key.split("|")
        assert (cluster0, cluster1, act) == ("None", "None", again)
        assert 0 <= int(tid) < 14
        assert list(entry) == ["context", "q0", "q1"]
        context = entry["context"]
        for question in (entry["q0"], entry["q1"]):
            assert list(question) == ["question", "pred", "ans0", "ans1"]
            assert (question["ans0"]["text"], question["ans1"]["text"]) == (name0, name1)
            assert name0 in context
            assert name1 in context
            assert question["question"].endswith("?")
            assert "[" not in question["question"]
        assert "[" not in context
        keys.add(key)
        pairs.add((name0, name1))
        attributes.add(act)
    assert len(keys) == examples
    assert len(pairs) == 2 * TABLE_1[cls][3]
    assert all((second, first) in pairs for first, second in pairs)
    assert len(attributes) == TABLE_1[cls][2]


@pytest.mark.parametrize("form", MASKS)
@pytest.mark.parametrize("cls", TABLE_1)
def test_examples_of_every_class_and_form(word_lists: str, cls: str, form: str) -> None:
    """The first examples, twice: the layout, the header, the mask, and that the same is written again."""
    plan, mask = plan_of(word_lists, cls, form), MASKS[form]
    some = [entry for entry, _ in zip(entries(plan, mask), range(500), strict=False)]
    assert some == [entry for entry, _ in zip(entries(plan, mask), range(500), strict=False)]
    for key, entry in some:
        cluster0, cluster1, *_ = fields = key.split("|")
        assert len(fields) == 8
        if cls == "gender":
            assert (cluster0, cluster1) == ("female", "male")
        assert entry["context"].startswith(f"{HEADER}  ") == (form == "newsqa")
        for question in (entry["q0"], entry["q1"]):
            assert all(question[answer]["text"] in entry["context"] for answer in ("ans0", "ans1"))
            assert question["question"].count(mask or "\ufffc") == (1 if mask else 0)


@pytest.mark.parametrize("released", [False, True], ids=["paper", "released"])
@pytest.mark.parametrize("cls", TABLE_1)
def test_spans_are_the_subjects_wherever_one_looks(word_lists: str, cls: str, released: bool) -> None:
    lists = read_lists(cls, masked=False, header=True, folder=word_lists)
    plan = UnqoverPlan(cls, "span", lists.digest, word_lists=word_lists, header=True, released=released)
    forms = {text for subject in lists.subjects for text in subject.forms.values()}
    rng = random.Random(0)
    for lo in (0, *(rng.randrange(len(plan) - 40) for _ in range(15)), len(plan) - 40):
        columns = plan.columns(lo, lo + 40)
        for row in range(40):
            query = columns.row(row)
            found = [query.context[start:end] for start, end in query.subjects]
            assert set(found) <= forms
            assert found[0] != found[1]


def test_articles(word_lists: str) -> None:
    """The released program knows vowels; we know that "European" does not begin with the sound of one."""
    contexts = {}
    for compat in ("paper", "released"):
        plan = plan_of(word_lists, "ethnicity", "qa", compat=compat)
        columns = plan.columns(0, len(plan))
        contexts[compat] = " ".join(columns.context.values)
    assert " an European" in contexts["released"] or "An European" in contexts["released"]
    for wrong in ("An European", "an European", "A Arab", "a Arab", "A Asian", "a Asian", "A African", "a African"):
        assert wrong not in contexts["paper"]
    assert "a European" in contexts["paper"] or "A European" in contexts["paper"]
    assert "an Arab" in contexts["paper"] or "An Arab" in contexts["paper"]
