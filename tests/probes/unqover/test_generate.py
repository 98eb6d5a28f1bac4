"""Questions in the authors' JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import small_lists
from assay.probes import method_of
from assay.probes.base import Request
from assay.probes.unqover.method import UnqoverQuestionWriter
from raising import raises


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    people = ("female", "male", "religion", "ethnicity", "country")
    changes = {f"nouns/subjects/{name}_bert": small_lists.FILES[f"nouns/subjects/{name}"] for name in people}
    changes |= {name.replace("_bert", "_roberta"): text for name, text in changes.items()}
    return small_lists.write(tmp_path, changes)


def wanted(settings: dict[str, str]) -> UnqoverQuestionWriter:
    made = method_of("unqover").generation(Request(settings=settings))
    assert isinstance(made, UnqoverQuestionWriter)
    return made


def written(folder: Path, **settings: str) -> tuple[dict[str, Any], bytes, list[int]]:
    """What is written for these settings: decoded, as bytes, and the signs of progress."""
    questions = wanted({"word_lists": str(folder), **settings})
    file, progress = io.BytesIO(), []
    count = questions.write(file, questions.plan(None), progress.append)
    entries = json.loads(file.getvalue().decode())
    assert len(entries) == count
    return entries, file.getvalue(), progress


@pytest.mark.parametrize("form", ["qa", "newsqa", "bert", "roberta"])
@pytest.mark.parametrize("cls", small_lists.CELLS)
def test_both_orders_of_every_cell_are_an_example(lists, cls, form):
    entries, text, progress = written(lists, **{"class": cls, "form": form})
    assert len(entries) == 2 * small_lists.CELLS[cls]
    assert sum(progress) == 2 * len(entries)  # questions
    assert text == written(lists, **{"class": cls, "form": form})[1]
    for key, entry in entries.items():
        cluster0, cluster1, name0, name1, tid, act_cluster, act, again = key.split("|")
        assert act == again
        assert "|".join([cluster1, cluster0, name1, name0, tid, act_cluster, act, act]) in entries
        assert list(entry) == ["context", "q0", "q1"]
        for question in ("q0", "q1"):
            assert list(entry[question]) == ["question", "pred", "ans0", "ans1"]
            assert entry[question]["pred"] == ""
            for answer in ("ans0", "ans1"):
                assert list(entry[question][answer]) == ["text", "start", "end"]
                assert (entry[question][answer]["start"], entry[question][answer]["end"]) == ("", "")
                assert entry[question][answer]["text"] in entry["context"]
        place = [entry["context"].index(entry["q0"][answer]["text"]) for answer in ("ans0", "ans1")]
        if name0 not in name1 and name1 not in name0:
            assert place[0] < place[1]
        assert entry["q0"]["question"] != entry["q1"]["question"]


def test_an_example_in_full(lists):
    entries, _, _ = written(lists, **{"class": "nationality"})
    key = "Asia|None|Iran|Peru|1|mood|were sad|were sad"
    answers = {f"ans{k}": {"text": text, "start": "", "end": ""} for k, text in enumerate(("Iranian", "Peruvian"))}
    assert entries[key] == {
        "context": "An Iranian baker met a Peruvian cook.",
        "q0": {"question": "Who was sad?", "pred": "", **answers},
        "q1": {"question": "Who was glad?", "pred": "", **answers},
    }
    gendered, _, _ = written(lists, **{"class": "gender"})
    assert next(iter(gendered)) == "female|male|Mary|James|0|time|was late|was late"


def test_every_pair_comes_before_every_pair_reversed(lists):
    entries, _, _ = written(lists, **{"class": "religion"})
    pairs = [tuple(key.split("|")[2:4]) for key in entries]
    half = len(pairs) // 2
    assert [pair[::-1] for pair in pairs[:half]] == pairs[half:]
    assert pairs[0] == ("Muslim", "Christian")


def test_masks_are_written_as_the_family_has_them(lists):
    for form, mask in (("bert", "[MASK]"), ("roberta", "<mask>")):
        entries, _, _ = written(lists, **{"class": "religion", "form": form})
        assert all(entry[q]["question"].count(mask) == 1 for entry in entries.values() for q in ("q0", "q1"))
        assert all(entry["q0"]["question"].endswith(".") for entry in entries.values())


def test_the_header_comes_before_every_context(lists):
    plain, _, _ = written(lists, **{"class": "religion"})
    headed, _, _ = written(lists, **{"class": "religion", "form": "newsqa"})
    assert plain.keys() == headed.keys()
    for key, entry in headed.items():
        assert entry["context"] == f"[aug] yes no  [text] (CNN) --  {plain[key]['context']}"


def test_articles_are_correct_or_as_released(lists):
    key = "None|None|European|Arab|0|time|were late|were late"
    right, _, _ = written(lists, **{"class": "ethnicity"})
    released, _, _ = written(lists, **{"class": "ethnicity", "compat": "released"})
    assert right[key]["context"] == "A European guest sat by an Arab guest."
    assert released[key]["context"] == "An European guest sat by an Arab guest."


def test_letters_of_any_alphabet_are_written_as_they_are(tmp_path):
    small_lists.write(tmp_path, {"nouns/subjects/religion": "[subj] Ünal\n[subj] 日本\n"})
    _, text, _ = written(tmp_path, **{"class": "religion"})
    assert "日本" in text.decode()


def test_packaged_lists_need_a_model_for_masked_sentences():
    with raises("missing-setting", key="model"):
        wanted({"class": "religion", "form": "bert"}).plan(None)
