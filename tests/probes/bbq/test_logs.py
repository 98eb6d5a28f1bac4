"""Other tools' logs of BBQ, in the shape that lm-evaluation-harness 0.4.13 and Inspect 0.3.102 and 0.3.285 write."""

from __future__ import annotations

import itertools
import json
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

import small_bbq
from asking import scored
from assay.answers import TIED
from assay.errors import DataError, UsageError
from assay.files.rows import BadRows
from assay.probes.base import Request
from assay.probes.bbq.items import UNKNOWN_STRINGS, Item
from assay.probes.bbq.logs import LoggedAnswer, inspect_ai, log_kind, logs_in, model_of, read_log
from assay.probes.bbq.logs.log_rows import COMPLETE
from raising import raises

EXAMPLES = small_bbq.examples(templates=2, quartets=2)
ONE = EXAMPLES[1]
LETTERS = "ABC"
ORDERS = list(itertools.permutations(range(3)))


# --- logs of lm-evaluation-harness


def continuations(example: Item) -> list[str]:
    """What its bbq task offers: the two people, then all ways to say UNKNOWN."""
    people = [text for place, text in enumerate(example.answers) if place != example.unknown]
    return [*people, *UNKNOWN_STRINGS]


def likelihoods(example: Item, best: str) -> dict[str, float]:
    return {text: -1.5 if text == best else -20.0 - place for place, text in enumerate(continuations(example))}


def sample_of(
    doc: dict[str, Any], requests: list[list[Any]], responses: list[list[Any]], name: str = "none"
) -> dict[str, Any]:
    """A line of samples_TASK_DATE.jsonl; `responses` has the repeats of every request."""
    asked = {
        f"gen_args_{k}": {f"arg_{place}": part for place, part in enumerate(one)} for k, one in enumerate(requests)
    }
    extra = {"biased_answers": [doc.get("ans0")], "ans0_groups": ["old"], "ans1_groups": [], "ans2_groups": ["unknown"]}
    return {
        "doc_id": 0,
        "doc": {**doc, **extra},
        "target": "2",
        "arguments": asked,
        "resps": responses,
        "filtered_resps": [own[0] for own in responses],
        "filter": name,
        "metrics": ["acc"],
        "doc_hash": "0",
        "acc": 1.0,
        "amb_bias_score_SES": [1.0, float("nan"), float("nan"), float("nan")],
    }


def multiple_choice(
    example: Item, scores: dict[str, float], doc: dict[str, Any] | None = None, name: str = "none"
) -> dict[str, Any]:
    requests = [[f"{example.context}\n\nQ: {example.question}\nA:", f" {text}"] for text in scores]
    return sample_of(doc or example.as_json(), requests, [[[str(value), "False"]] for value in scores.values()], name)


def generated(example: Item, text: str, name: str = "none") -> dict[str, Any]:
    request = [f"{example.context}\n\nQ: {example.question}\nA:", {"until": ["\n\n"], "max_gen_toks": 256}]
    return sample_of(example.as_json(), [request], [[text]], name)


def without(example: Item, *names: str) -> dict[str, Any]:
    return {name: value for name, value in example.as_json().items() if name not in names}


# --- logs of Inspect


def inspected(
    example: Item,
    answer: str | None = "A",
    *,
    completion: str | None = None,
    order: Sequence[int] = (0, 1, 2),
    epoch: int = 1,
    **changed: Any,
) -> dict[str, Any]:
    """A sample of inspect_evals' bbq; `order` says which option is the first choice, the second and the third."""
    said = f"ANSWER: {answer}" if completion is None else completion
    row = example.as_json()
    kept = ("category", "question_index", "question_polarity", "context_condition", "answer_info")
    return {
        "id": f"{example.category}_{example.example_id:05d}",
        "epoch": epoch,
        "input": f"Context: {example.context}\n\nQuestion: {example.question}",
        "choices": [example.answers[place] for place in order],
        "target": LETTERS[list(order).index(example.label)],
        "output": {"model": "some", "choices": [{"message": {"content": said}}], "completion": said},
        "scores": {"choice": {"value": "I", "answer": answer or "", "explanation": said, "history": []}},
        "metadata": {
            "source_id": example.example_id,
            **{name: row[name] for name in (*kept, "additional_metadata")},
        },
        "attachments": {},
        **changed,
    }


def write_json(path: Path, samples: list[dict[str, Any]], indent: int | None = 2, **about: str) -> Path:
    content = {"version": 2, "status": "success", "eval": {"task": "bbq", **about}, "plan": {}, "samples": samples}
    path.write_text(json.dumps(content, indent=indent), encoding="utf-8")
    return path


def write_eval(path: Path, samples: Iterable[dict[str, Any]], **about: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": {"task": "bbq"}}))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr("_journal/summaries/1.json", "[]")
        archive.writestr(
            "header.json", json.dumps({"version": 2, "status": "success", "eval": {"task": "bbq", **about}})
        )
    return path


def pack_with_zstd(path: Path, frames: int = 1) -> Path:
    """An archive with its members packed as newer versions of Inspect do; large ones have several frames."""
    with zipfile.ZipFile(path) as archive:
        members = [(name.encode(), archive.read(name)) for name in archive.namelist()]
    whole, directory = b"", b""
    for name, content in members:
        size = -(-len(content) // frames)
        parts = [content[lo : lo + size] for lo in range(0, len(content), size)]
        packed = b"".join(zstandard.ZstdCompressor().compress(part) for part in parts)
        about = struct.pack("<5H3L2H", 20, 0, 93, 0, 33, zlib.crc32(content), len(packed), len(content), len(name), 4)
        extra = struct.pack("<2H", 0xBEEF, 0)  # some programs write more here than into the directory
        directory += (
            b"PK\x01\x02" + struct.pack("<H", 20) + about[:-2] + struct.pack("<4H2L", 0, 0, 0, 0, 0, len(whole)) + name
        )
        whole += b"PK\x03\x04" + about + name + extra + packed
    end = struct.pack("<4H2LH", 0, 0, len(members), len(members), len(directory), len(whole), 0)
    path.write_bytes(whole + directory + b"PK\x05\x06" + end)
    return path


def read(path: Path, bad: BadRows | None = None, **further: Any) -> list[LoggedAnswer]:
    kind = log_kind(path)
    assert kind is not None
    return list(read_log(path, kind, bad or BadRows(skip=False), **further))


def lm_eval(folder: Path, *samples: dict[str, Any]) -> Path:
    return small_bbq.write(folder / "samples_bbq_2026-01-02.jsonl", samples)


# --- whose log it is


def test_each_kind_of_log_is_told_by_its_content(tmp_path: Path) -> None:
    line = lm_eval(tmp_path, generated(ONE, "x"))
    assert log_kind(line) == "lm-eval"
    assert log_kind(write_eval(tmp_path / "log.eval", [inspected(ONE)])) == "inspect"
    assert log_kind(write_eval(tmp_path / "renamed.zip", [inspected(ONE)])) == "inspect"
    assert log_kind(write_json(tmp_path / "log.json", [inspected(ONE)])) == "inspect"
    assert log_kind(write_json(tmp_path / "dense.json", [inspected(ONE)], indent=None)) == "inspect"


def test_a_first_line_longer_than_what_is_looked_at_first_is_read_to_its_end(tmp_path: Path) -> None:
    long = {**generated(ONE, "x"), "arguments": "x" * 200_000}
    assert log_kind(lm_eval(tmp_path, long)) == "lm-eval"


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"example_id,category\n1,Age\n", b"{", b"[1]\n", b"\xff\xfe\x00", b'{"doc": 1}\n']
)
def test_other_files_are_no_logs(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(content)
    assert log_kind(file) is None


def test_ordinary_rows_are_no_log(tmp_path: Path) -> None:
    assert log_kind(small_bbq.write(tmp_path / "Age.jsonl", EXAMPLES)) is None


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with raises("missing-file", file=tmp_path / "none.jsonl"):
        log_kind(tmp_path / "none.jsonl")


# --- lm-evaluation-harness


def test_the_likeliest_continuation_is_the_answer(tmp_path: Path) -> None:
    samples, expected = [], []
    for example, best in zip(EXAMPLES, itertools.cycle([*range(3), "other"]), strict=False):
        place = best if isinstance(best, int) else example.unknown
        other = next(text for text in UNKNOWN_STRINGS if text not in example.answers)
        text = other if best == "other" else example.answers[place]
        samples.append(multiple_choice(example, likelihoods(example, text)))
        expected.append(place)
    given = read(lm_eval(tmp_path, *samples))
    assert [each.example for each in given] == EXAMPLES
    assert [each.answer for each in given] == expected
    assert set(expected) == {0, 1, 2}
    assert [each.line for each in given] == list(range(1, len(EXAMPLES) + 1))


def test_options_may_tie_and_ways_to_say_unknown_may_not(tmp_path: Path) -> None:
    people, ways = continuations(ONE)[:2], continuations(ONE)[2:]
    tied = dict.fromkeys([*people, *ways], -3.0)
    unknown = {**dict.fromkeys(people, -9.0), **dict.fromkeys(ways, -3.0)}
    broken = {**dict.fromkeys(ways, -9.0), people[0]: -1.0, people[1]: float("nan")}
    file = lm_eval(tmp_path, *(multiple_choice(ONE, scores) for scores in (tied, unknown, broken)))
    assert [each.answer for each in read(file)] == [TIED, ONE.unknown, None]


def test_the_ties_of_a_log_are_counted_and_noted(tmp_path: Path) -> None:
    samples = [dict.fromkeys(continuations(example), -3.0) for example in EXAMPLES]
    samples[1:] = [{text: float(-place) for place, text in enumerate(each)} for each in samples[1:]]
    file = lm_eval(tmp_path, *(multiple_choice(*each) for each in zip(EXAMPLES, samples, strict=True)))
    found, notes = scored("bbq", [file], Request(settings={"resamples": "20"}))
    assert f"1 of {len(EXAMPLES)} answers are exact ties between options and are not counted" in notes
    rates = {e.metric: e.value for e in found.estimates if e.group == {"category": "Age", "context": "ambig"}}
    assert (rates["tied_rate"], rates["unparsed_rate"]) == (pytest.approx(2 / len(EXAMPLES)), 0.0)


def test_what_the_model_wrote_is_taken_as_it_is_before_any_filter(tmp_path: Path) -> None:
    written = {**generated(ONE, " The mason, I think."), "filtered_resps": ["[invalid]"]}
    file = lm_eval(tmp_path, written, generated(EXAMPLES[2], " \n"))
    assert [each.answer for each in read(file)] == [" The mason, I think.", None]


def test_lines_of_further_filters_are_left_out_and_told(tmp_path: Path) -> None:
    first = [generated(example, f"answer {example.example_id}", "strict") for example in EXAMPLES[:3]]
    again = [generated(example, "something else", "lenient") for example in EXAMPLES[:3]]
    notes: list[str] = []
    given = read(lm_eval(tmp_path, *first, *again), notes=notes)
    assert [each.answer for each in given] == ["answer 0", "answer 1", "answer 2"]
    assert len(notes) == 1
    assert "3 lines" in notes[0]
    assert "lenient" in notes[0]


def test_a_second_answer_under_the_same_filter_is_not_hidden(tmp_path: Path) -> None:
    notes: list[str] = []
    given = read(lm_eval(tmp_path, generated(ONE, "one"), generated(ONE, "two")), notes=notes)
    assert [each.answer for each in given] == ["one", "two"]
    assert notes == []


def test_continuations_without_the_question_do_not_compete(tmp_path: Path) -> None:
    scores = likelihoods(ONE, ONE.answers[ONE.label])
    requests = [[context, f" {text}"] for context in ("Q: who?\nA:", "") for text in scores]
    responses = [[[str(value), "False"]] for value in (*scores.values(), *(-0.1 for _ in scores))]
    assert read(lm_eval(tmp_path, sample_of(ONE.as_json(), requests, responses)))[0].answer == ONE.label


def test_requests_written_as_lists_and_numbers_are_read_too(tmp_path: Path) -> None:
    scores = likelihoods(ONE, ONE.answers[ONE.label])
    line = multiple_choice(ONE, scores)
    line["arguments"] = [["Q: who?", f" {text}"] for text in scores]
    line["resps"] = [[[value, False]] for value in scores.values()]
    assert read(lm_eval(tmp_path, line))[0].answer == ONE.label


@pytest.mark.parametrize(
    ("changed", "code", "key"),
    [
        ({"resps": []}, "bad-row", "resps"),
        ({"resps": [[]]}, "bad-row", "resps"),
        ({"resps": [[["-1.0", "False"]]]}, "bad-row", "arguments"),
        ({"resps": [[["much", "False"]]] * 12}, "bad-value", "resps"),
        ({"arguments": None}, "bad-row", "arguments"),
        ({"doc": None}, "missing-key", "doc"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, changed: dict[str, Any], code: str, key: str) -> None:
    line = {**multiple_choice(ONE, likelihoods(ONE, ONE.answers[0])), **changed}
    file = lm_eval(tmp_path, generated(EXAMPLES[0], "x"), line)
    with raises(code, DataError, file=file, line=2, key=key):
        read(file)
    bad = BadRows(skip=True)
    assert len(read(file, bad)) == 1
    assert len(bad.problems) == 1


@pytest.mark.parametrize("example", EXAMPLES[:2], ids=["ambiguous", "disambiguated"])
def test_a_gold_that_cannot_be_right_is_named_unless_official_rows_are_given(tmp_path: Path, example: Item) -> None:
    wrong = replace(example, label=(example.unknown + (example.label == example.unknown)) % 3)
    files = [
        (lm_eval(tmp_path, generated(wrong, "x")), 1, "line 1"),
        (write_json(tmp_path / "log.json", [inspected(wrong)]), None, "sample 1"),
    ]
    for file, line, where in files:
        with raises("bad-label", DataError, file=file, line=line, key="label") as caught:
            read(file)
        assert caught.value.problem.startswith(f"{file}, {where}")
        assert caught.value.remedy == COMPLETE
        official = {(example.category, example.example_id): example}
        assert [each.example for each in read(file, official=official)] == [example]


def test_a_continuation_that_is_no_option_is_not_guessed(tmp_path: Path) -> None:
    file = lm_eval(tmp_path, multiple_choice(ONE, {"A": -1.0, "B": -2.0, "C": -3.0}))
    with raises("bad-value", DataError, file=file, line=1, key="arguments"):
        read(file)


def test_copies_of_the_data_with_other_names_are_understood(tmp_path: Path) -> None:
    renamed = without(ONE, "label", "context_condition", "answer_info") | {"answer_label": ONE.label}
    renamed |= {"category": "age", "question_index": int(ONE.question_index)}
    for place, (filler, label) in enumerate(ONE.info):
        renamed |= {f"ans{place}_text": filler, f"ans{place}_info": label}
    line = multiple_choice(ONE, likelihoods(ONE, ONE.answers[ONE.label]), renamed)
    assert read(lm_eval(tmp_path, line)) == [LoggedAnswer(ONE, ONE.label, 1, letters=False)]


@pytest.mark.parametrize("example", EXAMPLES[:4], ids=lambda example: f"{example.polarity} {example.condition}")
def test_the_condition_of_the_context_follows_from_the_right_answer(tmp_path: Path, example: Item) -> None:
    doc = without(example, "context_condition")
    line = multiple_choice(example, likelihoods(example, example.answers[0]), doc)
    assert read(lm_eval(tmp_path, line))[0].example == example


# --- completing logs with the official rows

OFFICIAL = {(example.category, example.example_id): example for example in EXAMPLES}


def stripped(example: Item = ONE, **changed: Any) -> dict[str, Any]:
    doc = without(example, "additional_metadata") | changed
    return multiple_choice(example, likelihoods(example, example.answers[2]), doc)


def test_what_is_missing_is_named_with_the_way_to_complete_it(tmp_path: Path) -> None:
    file = lm_eval(tmp_path, stripped())
    with raises("missing-key", DataError, file=file, line=1, key="additional_metadata") as caught:
        read(file)
    assert "line 0" not in caught.value.problem
    assert caught.value.remedy == COMPLETE


def test_official_rows_complete_a_log(tmp_path: Path) -> None:
    assert read(lm_eval(tmp_path, stripped(category="age")), official=OFFICIAL) == [
        LoggedAnswer(ONE, 2, 1, letters=False)
    ]


def test_official_rows_with_other_texts_are_refused(tmp_path: Path) -> None:
    file = lm_eval(tmp_path, stripped(question="Who sang?"))
    with raises("bad-value", DataError, file=file, line=1, key="question"):
        read(file, official=OFFICIAL)


def test_an_example_that_the_official_rows_lack_is_named(tmp_path: Path) -> None:
    file = lm_eval(tmp_path, stripped(example_id=999))
    with raises("missing-key", DataError, file=file, line=1, key="additional_metadata") as caught:
        read(file, official=OFFICIAL)
    assert "do not have this example" in caught.value.problem


# --- Inspect


@pytest.mark.parametrize("name", ["log.eval", "log.json"])
def test_the_scorers_letter_is_the_answer(tmp_path: Path, name: str) -> None:
    samples = [inspected(example, LETTERS[place % 3]) for place, example in enumerate(EXAMPLES)]
    write = write_eval if name.endswith(".eval") else write_json
    given = read(write(tmp_path / name, samples))
    assert [each.example for each in given] == EXAMPLES
    assert [each.answer for each in given] == [place % 3 for place in range(len(EXAMPLES))]
    assert [each.line for each in given] == list(range(1, len(EXAMPLES) + 1))


def test_where_the_scorer_found_no_letter_the_completion_is_the_answer(tmp_path: Path) -> None:
    whole = inspected(EXAMPLES[0], "", completion="It was the mason.")
    older = inspected(EXAMPLES[1], "", completion="The potter.")
    del older["output"]["completion"]
    parts = inspected(EXAMPLES[2], "", completion="")
    parts["output"]["choices"][0]["message"]["content"] = [
        {"type": "reasoning", "reasoning": "Hm."},
        {"type": "text", "text": "Nobody knows."},
    ]
    several = inspected(EXAMPLES[3], "A, B")
    given = read(write_json(tmp_path / "log.json", [whole, older, parts, several]))
    assert [each.answer for each in given] == ["It was the mason.", "The potter.", "Nobody knows.", "ANSWER: A, B"]


def test_samples_that_failed_have_no_answer_and_those_not_scored_their_completion(tmp_path: Path) -> None:
    failed = inspected(EXAMPLES[0], scores={}, error={"message": "broken"}, output={"choices": [], "completion": ""})
    halted = inspected(EXAMPLES[1], error={"message": "broken"})
    unscored, emptied = inspected(EXAMPLES[2], scores=None), inspected(EXAMPLES[5], scores={})
    silent, fine = inspected(EXAMPLES[3], "", completion=""), inspected(EXAMPLES[4], "A")
    notes: list[str] = []
    given = read(write_eval(tmp_path / "log.eval", [failed, halted, unscored, emptied, silent, fine]), notes=notes)
    assert [each.answer for each in given] == [None, None, "ANSWER: A", "ANSWER: A", None, 0]
    assert len(notes) == 1
    assert "3 of 6 samples" in notes[0]


@pytest.mark.parametrize("order", ORDERS)
def test_choices_shuffled_in_the_data_set_go_back_to_their_places(tmp_path: Path, order: tuple[int, ...]) -> None:
    samples = [inspected(example, "B", order=order) for example in EXAMPLES]
    given = read(write_json(tmp_path / "log.json", samples))
    assert [each.example for each in given] == EXAMPLES
    assert {each.answer for each in given} == {order[1]}


@pytest.mark.parametrize("order", ORDERS[1:])
def test_letters_in_words_stand_for_the_choices_as_they_were_shown(tmp_path: Path, order: tuple[int, ...]) -> None:
    lettered = inspected(ONE, "", completion=f"(b) {ONE.answers[order[1]]}", order=order)
    refused = inspected(EXAMPLES[2], "", completion="I'm sorry, I can't help with that.", order=order)
    unclear = inspected(EXAMPLES[3], "", completion="Bananas.", order=order)
    given = read(write_json(tmp_path / "log.json", [lettered, refused, unclear]))
    assert [each.answer for each in given] == [order[1], "I'm sorry, I can't help with that.", None]


@pytest.mark.parametrize("order", ORDERS)
def test_a_shuffling_solver_shows_its_order_in_the_explanation(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Its letters are already those of the choices, but what it could not read has the letters that were shown."""
    listed = "\n".join(f"{LETTERS[k]}) {ONE.answers[place]}" for k, place in enumerate(order))
    told = f"Choices were shuffled before generating a response, this was sent:\n\n{listed}\nShuffled answer:\nANSWER: "
    found, missed = inspected(ONE, "C"), inspected(EXAMPLES[2], "", completion="(b)")
    found["scores"]["choice"]["explanation"] = told + LETTERS[order.index(2)]
    shown = "\n".join(f"{LETTERS[k]}) {EXAMPLES[2].answers[place]}" for k, place in enumerate(order))
    missed["scores"]["choice"]["explanation"] = told.replace(listed, shown)
    given = read(write_json(tmp_path / "log.json", [found, missed]))
    assert given[0].answer == 2
    assert given[1].answer == ("(b)" if order == (0, 1, 2) else order[1])


def test_choices_that_cannot_be_told_apart_are_refused_unless_the_official_rows_tell(tmp_path: Path) -> None:
    sample = inspected(ONE, "A", order=(1, 0, 2))
    sample["metadata"]["answer_info"] = {
        f"ans{place}": ["nobody" if label != "unknown" else filler, label]
        for place, (filler, label) in enumerate(ONE.info)
    }
    file = write_json(tmp_path / "log.json", [sample])
    with raises("bad-row", DataError, file=file, line=None, key="choices") as caught:
        read(file)
    assert caught.value.remedy == COMPLETE
    assert "sample 1 (Age_00001)" in caught.value.problem
    assert read(file, official=OFFICIAL) == [LoggedAnswer(ONE, 1, 1)]


def test_samples_without_metadata_are_completed_by_their_id(tmp_path: Path) -> None:
    file = write_json(tmp_path / "log.json", [inspected(ONE, "C", metadata={}, order=(2, 0, 1))])
    with raises("missing-key", DataError, file=file, key="answer_info"):
        read(file)
    assert read(file, official=OFFICIAL) == [LoggedAnswer(ONE, 1, 1)]


def test_a_choice_that_is_no_option_is_not_guessed(tmp_path: Path) -> None:
    sample = inspected(ONE, "A", metadata={})
    sample["choices"][0] = "Somebody else"
    file = write_json(tmp_path / "log.json", [sample])
    with raises("bad-value", DataError, file=file, key="choices"):
        read(file, official=OFFICIAL)


def test_of_several_epochs_the_first_that_is_there_counts(tmp_path: Path) -> None:
    samples = [inspected(example, LETTERS[epoch - 1], epoch=epoch) for epoch in (2, 1, 3) for example in EXAMPLES[:3]]
    samples = [sample for sample in samples if (sample["id"], sample["epoch"]) != ("Age_00002", 1)]
    for file in (write_eval(tmp_path / "log.eval", samples), write_json(tmp_path / "log.json", samples)):
        notes: list[str] = []
        given = read(file, notes=notes)
        assert {each.example.example_id: each.answer for each in given} == {0: 0, 1: 0, 2: 1}
        assert len(given) == 3
        assert len(notes) == 1
        assert "5 answers of later epochs" in notes[0]


def test_long_texts_are_found_among_the_attachments(tmp_path: Path) -> None:
    attached = inspected(ONE, input="attachment://abc", attachments={"abc": inspected(ONE)["input"]})
    text = {"role": "user", "content": [{"type": "text", "text": inspected(EXAMPLES[2])["input"]}]}
    messages = inspected(EXAMPLES[2], input=[{"role": "system", "content": "Be brief."}, text])
    given = read(write_json(tmp_path / "log.json", [attached, messages]))
    assert [each.example for each in given] == [ONE, EXAMPLES[2]]


def test_other_scorers_are_read_as_well(tmp_path: Path) -> None:
    samples = [inspected(ONE, scores={"match": {"value": "C", "answer": "B", "explanation": ""}})]
    assert read(write_json(tmp_path / "log.json", samples))[0].answer == 1


# --- archives packed with zstd


@pytest.mark.parametrize("frames", [1, 3])
def test_archives_packed_with_zstd_are_read(tmp_path: Path, frames: int) -> None:
    samples = [inspected(example, "B") for example in EXAMPLES]
    plain = write_eval(tmp_path / "plain.eval", samples)
    packed = pack_with_zstd(write_eval(tmp_path / "packed.eval", samples, model="openai/some"), frames)
    assert {info.compress_type for info in zipfile.ZipFile(packed).infolist()} == {93}
    assert read(packed) == read(plain)
    assert len(read(packed)) == len(EXAMPLES)
    assert model_of(packed, "inspect") == "openai/some"


def test_a_damaged_sample_in_zstd_is_named(tmp_path: Path) -> None:
    file = pack_with_zstd(write_eval(tmp_path / "log.eval", [inspected(ONE), inspected(EXAMPLES[2])]))
    with zipfile.ZipFile(file) as archive:
        info = archive.infolist()[1]
    content = bytearray(file.read_bytes())
    place = info.header_offset + 60 + len(info.filename)
    content[place : place + 8] = b"\xff" * 8
    file.write_bytes(content)
    with raises("unreadable-file", DataError, file=file) as caught:
        read(file)
    assert info.filename in caught.value.problem
    assert len(read(file, BadRows(skip=True))) == 1


def test_a_sample_in_zstd_that_unpacks_to_too_much_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = inspected(ONE, store={"x": "0" * 1_000_000})
    file = pack_with_zstd(write_eval(tmp_path / "log.eval", [inspected(EXAMPLES[0]), huge]))
    monkeypatch.setattr(inspect_ai, "_MOST_BYTES", 100_000)
    with raises("unsupported", DataError, file=file):
        read(file)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python unpacks zstd by itself")
def test_a_missing_library_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = pack_with_zstd(write_eval(tmp_path / "log.eval", [inspected(ONE)]))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with raises("not-installed", UsageError, key="zstandard") as caught:
        read(file, BadRows(skip=True))
    assert caught.value.remedy == "pip install zstandard"


# --- whose answers they are


def test_logs_say_whose_answers_they_hold(tmp_path: Path) -> None:
    assert model_of(write_eval(tmp_path / "a.eval", [inspected(ONE)], model="openai/some"), "inspect") == "openai/some"
    assert model_of(write_json(tmp_path / "a.json", [inspected(ONE)], model="openai/some"), "inspect") == "openai/some"
    assert model_of(write_eval(tmp_path / "b.eval", [inspected(ONE)], model="none/none"), "inspect") == ""
    assert model_of(write_json(tmp_path / "b.json", [inspected(ONE)]), "inspect") == ""
    started = tmp_path / "started.eval"
    with zipfile.ZipFile(started, "w") as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": {"model": "openai/some"}}))
    assert model_of(started, "inspect") == "openai/some"


def test_lm_eval_names_the_model_in_a_file_beside_the_samples(tmp_path: Path) -> None:
    date = "2026-01-02T03-04-05.678901"
    samples = small_bbq.write(tmp_path / f"samples_bbq_{date}.jsonl", [generated(ONE, "x")])
    assert model_of(samples, "lm-eval") == ""
    (tmp_path / "results_2025-01-02T03-04-05.678901.json").write_text('{"model_name": "org/other"}')
    (tmp_path / f"results_{date}.json").write_text('{"model_name": "org/model", "config": {"model": "hf"}}')
    assert model_of(samples, "lm-eval") == "org/model"


def test_answers_of_several_models_are_not_mixed(tmp_path: Path) -> None:
    half = len(EXAMPLES) // 2
    one = write_eval(tmp_path / "one.eval", [inspected(example) for example in EXAMPLES[:half]], model="m/one")
    two = write_eval(tmp_path / "two.eval", [inspected(example) for example in EXAMPLES[half:]], model="m/two")
    with raises("bad-option", UsageError, key="files") as caught:
        scored("bbq", [one, two], Request())
    assert "m/one" in caught.value.problem
    assert "m/two" in caught.value.problem


def test_every_log_in_a_folder_is_found_in_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    two = write_eval(tmp_path / "b" / "2.eval", [inspected(ONE)])
    one = write_json(tmp_path / "a.json", [inspected(ONE)])
    three = lm_eval(tmp_path / "c", generated(ONE, "x"))
    (tmp_path / "c" / "results_2026-01-02.json").write_text('{"model_name": "m"}')
    (tmp_path / "notes.txt").write_text("no log")
    small_bbq.write(tmp_path / "rows.jsonl", [ONE])
    assert logs_in(tmp_path) == [one, two, three]


# --- archives that cannot be trusted


def test_an_archive_packed_in_an_unknown_way_is_to_be_converted(tmp_path: Path) -> None:
    file = write_eval(tmp_path / "log.eval", [inspected(ONE)])
    content = bytearray(file.read_bytes())
    for mark, method in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):  # where a header has its method
        start = content.find(mark)
        while start >= 0:
            content[start + method : start + method + 2] = (99).to_bytes(2, "little")
            start = content.find(mark, start + 1)
    file.write_bytes(content)
    with raises("unsupported", DataError, file=file) as caught:
        read(file, BadRows(skip=True))
    assert "inspect log convert" in caught.value.remedy


def test_samples_stored_in_pieces_are_to_be_converted(tmp_path: Path) -> None:
    file = write_eval(tmp_path / "log.eval", [inspected(EXAMPLES[0])])
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("samples/Age_00001_epoch_1/sample.json", "{}")
    with raises("unsupported", DataError, file=file) as caught:
        read(file)
    assert "inspect log convert" in caught.value.remedy


def test_a_sample_that_unpacks_to_too_much_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = inspected(ONE, store={"x": "0" * 1_000_000})
    file = write_eval(tmp_path / "log.eval", [inspected(EXAMPLES[0]), huge])
    assert file.stat().st_size < 20_000
    assert len(read(file)) == 2
    monkeypatch.setattr(inspect_ai, "_MOST_BYTES", 500_000)
    with raises("unsupported", DataError, file=file):
        read(file)
    bad = BadRows(skip=True)
    assert [each.example for each in read(file, bad)] == [EXAMPLES[0]]
    assert len(bad.problems) == 1


def test_members_are_read_and_never_written(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    file = write_eval(inner / "log.eval", [{**inspected(ONE), "id": "../../../Age_00001"}])
    before = sorted(tmp_path.rglob("*"))
    read(file)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_sample_that_was_written_again_counts_once_as_it_was_written_last(tmp_path: Path) -> None:
    file = write_eval(tmp_path / "log.eval", [inspected(ONE, "A")])
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("samples/Age_00001_epoch_1.json", json.dumps(inspected(ONE, "C")))
    assert [each.answer for each in read(file)] == [2]


@pytest.mark.parametrize(("content", "code"), [("[]", "bad-json"), ("{", "unreadable-file"), ("3", "bad-json")])
def test_a_sample_that_is_no_object_is_named(tmp_path: Path, content: str, code: str) -> None:
    file = write_eval(tmp_path / "log.eval", [inspected(EXAMPLES[0])])
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("samples/Age_00001_epoch_1.json", content)
    with raises(code, DataError, file=file) as caught:
        read(file)
    assert "samples/Age_00001_epoch_1.json" in caught.value.problem
    assert len(read(file, BadRows(skip=True))) == 1


def test_what_is_no_archive_or_has_no_samples_is_refused(tmp_path: Path) -> None:
    cut = write_eval(tmp_path / "cut.eval", [inspected(ONE)])
    cut.write_bytes(cut.read_bytes()[:200])
    with raises("unreadable-file", DataError, file=cut):
        read(cut)
    header = tmp_path / "header.json"
    header.write_text('{"version": 2, "status": "started", "eval": {}}')
    with raises("missing-key", DataError, file=header, key="samples"):
        read(header)
    broken = tmp_path / "broken.json"
    broken.write_text('{"version": 2, "status": "started", "eval": ')
    with raises("bad-json", DataError, file=broken):
        read(broken)
    empty = write_eval(tmp_path / "empty.eval", [])
    with raises("empty-file", DataError, file=empty):
        read(empty)


def test_a_log_of_something_else_is_refused(tmp_path: Path) -> None:
    other = {"id": 1, "epoch": 1, "input": "2 + 2", "target": "4", "choices": None, "scores": {}, "metadata": {}}
    file = write_json(tmp_path / "log.json", [other])
    with raises("missing-key", DataError, file=file, key="label"):
        read(file)


def test_labels_of_a_log_are_not_counted(tmp_path: Path) -> None:
    request = Request(settings={"resamples": "20"}, labels_from=1)
    with raises("bad-option", key="labels-from"):
        scored("bbq", [lm_eval(tmp_path, generated(ONE, "x"))], request)
