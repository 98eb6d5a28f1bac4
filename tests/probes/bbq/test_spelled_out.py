"""Codes of the official files are spelled out wherever people read, and stay in what programs read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import small_bbq
from assay.probes import spelled_out
from assay.probes.bbq import category_words, label_words, say_group
from assay.probes.bbq.items import CATEGORIES
from assay.probes.bbq_starter.method import read_starter
from assay.report.html import render
from assay.runs.score import score

EXAMPLES = small_bbq.examples(category="Disability_status", labels=("disabled", "nonDisabled"))
CODE = re.compile(r"_|[a-z][A-Z]|\b[FM]\b")


def test_no_category_and_no_label_of_the_starter_set_stays_a_code() -> None:
    labels = {label for example in read_starter().examples for _, label in example.info}
    words = [*map(category_words, CATEGORIES), *map(label_words, labels)]
    assert len(words) > 60
    assert [each for each in words if CODE.search(each.replace("SES", ""))] == []


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("lowSES-Native American", "Native American, low SES"),
        ("F-Middle Eastern", "Middle Eastern, female"),
        ("nonTrans_M", "not trans, male"),
        ("notPregnant", "not pregnant"),
        ("LatinSouthAmerica", "Latin South America"),
        ("Black, African American lowSES", "Black, African American, low SES"),
        ("Syrian", "Syrian"),
        ("my own-label", "my own-label"),
    ],
)
def test_labels_are_spelled_out(label: str, words: str) -> None:
    assert label_words(label) == words


def test_what_an_example_is_about_is_spelled_out_with_the_same_keys() -> None:
    about = {
        "category": "Race_x_SES",
        "context": "disambig",
        "polarity": "nonneg",
        "question_index": "3",
        "comparison": ["a", "same race, other class"],
        "target": "Asian lowSES",
        "answer": "non-target",
    }
    spelt = spelled_out("bbq", about)
    assert [*spelt] == [*about]
    assert list(spelt.values()) == [
        *("Race × socioeconomic status", "disambiguated", "non-negative questions", "3"),
        *(["same race, other class"], "Asian, low SES", "the other person"),
    ]
    assert spelled_out("not installed", about) == about


def test_a_group_names_its_comparison_in_words() -> None:
    said = say_group({"category": "Race_x_gender", "context": "ambig", "comparison": "b"})
    assert said == "Race × gender, ambiguous, the other person: other race, same gender"


def test_the_page_has_words_and_the_files_have_codes(tmp_path: Path) -> None:
    rows = [example.as_json() | {"said": example.answers[0]} for example in EXAMPLES]
    file = small_bbq.write(tmp_path / "a.jsonl", rows)
    run = score("bbq", [file], answers="said", settings={"resamples": "20"}, out=tmp_path / "run")
    page = render([run], run.folder)
    shown = re.sub(r"<script.*?</script>|data-(save|file)=\S+", "", page, flags=re.DOTALL)
    assert "Disability status" in shown
    assert "category <bdi>Disability status</bdi>" in shown
    assert '"category": "Disability_status"' in (run.folder / "findings.json").read_text()
    assert "Disability_status" in (run.folder / "tables" / "by_template.csv").read_text()
    assert "Disability_status" in (run.folder / "examples.jsonl").read_text()
