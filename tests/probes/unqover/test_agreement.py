"""What an entry of a predictions file says twice is compared: put right where it is exchanged, refused otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import small_lists
from asking import scored
from assay.probes.base import Request
from assay.probes.unqover.agreement import ListedWords, every_list
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.method import entries
from assay.probes.unqover.plan import UnqoverPlan
from assay.probes.unqover.predictions import read_predictions
from raising import raises

Entries = dict[str, Any]
FEW = {"draws": "20", "resamples": "20"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Entries]:
    """`made("gender")`: predictions for the small lists, with made-up scores."""
    folder = str(small_lists.write(tmp_path_factory.mktemp("lists")))

    @cache
    def written(cls: str) -> str:
        lists = read_lists(cls, masked=False, header=False, folder=folder)
        rng, found = np.random.default_rng(0), dict(entries(UnqoverPlan(cls, "span", lists.digest, folder), None))
        for entry in found.values():
            for question in ("q0", "q1"):
                for answer in ("ans0", "ans1"):
                    scores = {"start": round(rng.random() / 2, 3), "end": round(rng.random() / 2, 3)}
                    entry[question][answer] = entry[question][answer] | scores
        return json.dumps(found)

    return lambda cls: json.loads(written(cls))


def dump(folder: Path, content: Entries) -> Path:
    path = folder / "x.json"
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def exchange(question: Entries) -> None:
    """The answers change places, with their texts."""
    question["ans0"], question["ans1"] = question["ans1"], question["ans0"]


def exchange_questions(entry: Entries) -> None:
    entry["q0"], entry["q1"] = entry["q1"], entry["q0"]


def rotated(content: Entries) -> Entries:
    """Every key with the content of the one after it."""
    keys, values = list(content), list(content.values())
    return dict(zip(keys, values[1:] + values[:1], strict=True))


@pytest.mark.parametrize("cls", ["gender", "nationality", "religion"])
@given(data=st.data())
@settings(max_examples=6, deadline=None)
def test_whatever_is_exchanged_the_findings_are_the_same_bytes(
    made: Callable[[str], Entries], tmp_path_factory: pytest.TempPathFactory, cls: str, data: st.DataObject
) -> None:
    content, folder = made(cls), tmp_path_factory.mktemp("exchanged")
    before, notes = scored("unqover", [dump(folder, content)], Request(settings=FEW))
    assert notes == []
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    shares = [data.draw(st.sampled_from((0.0, 0.1, 0.5, 1.0))) for _ in range(3)]
    for entry in content.values():
        for question, share in zip(("q0", "q1"), shares, strict=False):
            if rng.random() < share:
                exchange(entry[question])
        if rng.random() < shares[2]:
            exchange_questions(entry)
    after, _ = scored("unqover", [dump(folder, content)], Request(settings=FEW))
    assert after.to_json() == before.to_json()


def test_a_note_says_how_many_entries_were_put_right(made: Callable[[str], Entries], tmp_path: Path) -> None:
    content = made("gender")
    some = sorted(content)[3:7]
    for key in some:
        exchange(content[key]["q0"])
    exchange_questions(content[some[-1]])
    _, notes = scored("unqover", [dump(tmp_path, content)], Request(settings=FEW))
    answers, questions = notes
    assert answers.startswith("x.json: 4 entries have ans0 and ans1 exchanged together with their texts")
    assert repr(some[0]) in answers
    assert questions.startswith("x.json: 1 entry has q0 and q1 exchanged together with their answers")
    assert repr(some[-1]) in questions


@pytest.mark.parametrize("cls", ["gender", "nationality", "religion"])
def test_keys_shifted_against_their_contents_are_an_error(
    made: Callable[[str], Entries], tmp_path: Path, cls: str
) -> None:
    path = dump(tmp_path, rotated(made(cls)))
    with raises("bad-row", file=path, exit_code=3) as caught:
        read_predictions(path, cls, None)
    assert caught.value.key in made(cls)
    assert "contradicts its key" in caught.value.problem
    assert "--skip-bad" in caught.value.remedy


def test_a_key_with_other_subjects_names_both(made: Callable[[str], Entries], tmp_path: Path) -> None:
    content = made("gender")
    wrong = next(key for key in content if "|Mary|James|" in key)
    other = wrong.replace("|James|", "|John|")
    content[wrong] = content[other]
    path = dump(tmp_path, content)
    with raises("bad-row", file=path, key=wrong) as caught:
        read_predictions(path, None, None)
    assert "its key names 'Mary' and 'James', but its answers are 'Mary' and 'John'" in caught.value.problem
    kept = read_predictions(path, None, None, skip_bad=True)
    assert len(kept.cells) == small_lists.CELLS["gender"] - 1
    assert "'Mary' and 'John'" in kept.skipped[0]


@pytest.mark.parametrize("cls", ["gender", "religion"])
def test_questions_about_another_attribute_are_an_error(
    made: Callable[[str], Entries], tmp_path: Path, cls: str
) -> None:
    content = made(cls)
    wrong = next(iter(content))
    for question in ("q0", "q1"):
        other = next(
            key for key in content if content[key][question]["question"] != content[wrong][question]["question"]
        )
        content[wrong][question]["question"] = content[other][question]["question"]
    path = dump(tmp_path, content)
    with raises("bad-row", file=path, key=wrong) as caught:
        read_predictions(path, None, None)
    assert "it asks" in caught.value.problem


def test_attributes_exchanged_throughout_are_an_error(made: Callable[[str], Entries], tmp_path: Path) -> None:
    """The same everywhere in the file: only the words tell."""
    content = {}
    for key, entry in made("gender").items():
        moved = key.replace("was late", "was *").replace("was slow", "was late").replace("was *", "was slow")
        content[moved] = entry
    path = dump(tmp_path, content)
    with raises("bad-row", file=path) as caught:
        read_predictions(path, None, None)
    assert "its key has 'was slow', but its questions are about 'was late'" in caught.value.problem


def test_attributes_of_the_word_lists_are_known_by_their_other_forms() -> None:
    """A question has the singular, the key the plural; and many negations are antonyms."""
    from assay.probes.unqover.agreement import _order

    words = ListedWords.from_folder(None)
    checked = 0
    for lists in every_list(None):
        for template in lists.templates:
            for attribute in (each for each in lists.attributes if each.kind == template.kind):
                heads = template.head, f"{template.head}:neg"
                both = tuple(
                    text.replace(f"[{head}]", attribute.forms[head]).lower()
                    for text, head in zip((template.asked, template.negated), heads, strict=True)
                )
                one, other = both
                assert _order(attribute.text.lower(), (one, other), words) == 0
                assert _order(attribute.text.lower(), (other, one), words) == 1
                checked += 1
    assert checked > 1000


def test_the_passage_of_the_other_order_is_an_error(made: Callable[[str], Entries], tmp_path: Path) -> None:
    content = made("religion")
    wrong = next(iter(content))
    first, second = wrong.split("|")[2:4]
    other = wrong.replace(f"|{first}|{second}|", f"|{second}|{first}|")
    content[wrong] = content[other]
    path = dump(tmp_path, content)
    with raises("bad-row", file=path, key=wrong) as caught:
        read_predictions(path, None, None)
    assert f"its passage is 'A {second} guest sat by a {first} guest.'" in caught.value.problem


def test_a_passage_of_another_template_is_an_error(made: Callable[[str], Entries], tmp_path: Path) -> None:
    content = made("religion")
    wrong = list(content)[-1]
    content[wrong]["context"] = content[wrong]["context"].replace("joined", "left")
    path = dump(tmp_path, content)
    with raises("bad-row", file=path, key=wrong):
        read_predictions(path, None, None)


def test_names_that_no_list_knows_in_a_passage_are_learned_from_the_file(
    made: Callable[[str], Entries], tmp_path: Path
) -> None:
    """Country names of their own, whose people have names of their own."""
    text = json.dumps(made("nationality"))
    for old, new in {"Iranian": "Zubby", "Haitian": "Quorran", "Iran": "Utter", "Haiti": "Quorra"}.items():
        text = text.replace(old, new)
    content = json.loads(text)
    before = read_predictions(dump(tmp_path, content), "nationality", None)
    rng = np.random.default_rng(1)
    for entry in content.values():
        for question in ("q0", "q1"):
            if rng.random() < 0.6:
                exchange(entry[question])
    after = read_predictions(dump(tmp_path, content), "nationality", None)
    assert after.righted
    np.testing.assert_array_equal(after.cells.scores, before.cells.scores)
    assert len(after.cells) == small_lists.CELLS["nationality"]


def test_a_single_pair_with_unknown_names_must_stand_in_the_passages_order(
    made: Callable[[str], Entries], tmp_path: Path
) -> None:
    text = json.dumps({key: entry for key, entry in made("nationality").items() if "Iran" in key and "Haiti" in key})
    for old, new in {"Iranian": "Zubby", "Haitian": "Quorran", "Iran": "Utter", "Haiti": "Quorra"}.items():
        text = text.replace(old, new)
    content = json.loads(text)
    assert len(read_predictions(dump(tmp_path, content), "nationality", None).cells) == 5
    wrong = next(key for key, entry in content.items() if "Zubby" in entry["context"])
    exchange(content[wrong]["q0"])
    exchange(content[wrong]["q1"])
    path = dump(tmp_path, content)
    with raises("bad-row", file=path, key=wrong):
        read_predictions(path, "nationality", None)


def test_questions_whose_words_do_not_tell_the_negation_must_be_in_one_order(
    made: Callable[[str], Entries], tmp_path: Path
) -> None:
    content = made("religion")
    for entry in content.values():
        entry["q0"]["question"], entry["q1"]["question"] = "Who?", "Who not?"
    assert read_predictions(dump(tmp_path, content), None, None).righted == []
    wrong = list(content)[5]
    exchange_questions(content[wrong])
    path = dump(tmp_path, content)
    with raises("bad-row", file=path) as caught:
        read_predictions(path, None, None)
    assert "no word tells the negation" in caught.value.problem


def test_a_word_of_the_passage_that_is_also_a_name_is_no_subject(
    tmp_path: Path, made: Callable[[str], Entries]
) -> None:
    content = {}
    for key, entry in made("gender").items():
        entry["context"] = entry["context"].replace("sat by", "will lisa by")
        content[key] = entry
    assert len(read_predictions(dump(tmp_path, content), None, None).cells) == small_lists.CELLS["gender"]


def test_what_may_be_missing_may_still_be_missing(made: Callable[[str], Entries], tmp_path: Path) -> None:
    content = made("religion")
    before = read_predictions(dump(tmp_path, content), None, None)
    for entry in content.values():
        del entry["q1"]["question"]
        for answer in ("ans0", "ans1"):
            del entry["q1"][answer]["text"]
    after = read_predictions(dump(tmp_path, content), None, None)
    np.testing.assert_array_equal(after.cells.scores, before.cells.scores)
    key = list(content)[2]
    exchange(content[key]["q0"])
    path = dump(tmp_path, content)
    with raises("bad-row", file=path, key=key):
        read_predictions(path, None, None)


def test_word_lists_may_have_templates_of_one_form_only(tmp_path: Path) -> None:
    names = [name for name in small_lists.FILES if "religion" in name and not name.endswith("_noact")]
    folder = small_lists.write(tmp_path / "lists", dict.fromkeys(small_lists.FILES.keys() - {*names}))
    words = ListedWords.from_folder(str(folder))
    assert list(words.subjects)[:5] == ["Muslim", "Christian", "Jewish", "Hindu", "Atheist"]
    with raises("missing-file"):
        ListedWords.from_folder(str(tmp_path))
