"""Scoring somebody else's answers: tables of rows with a column of answers, in every usual form."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import small_bbq
from asking import scored
from assay.errors import DataError, UsageError
from assay.probes.base import Request
from assay.results.findings import Estimate, Findings
from assay.runs.folder import open_run
from assay.runs.score import recollect_answers
from assay.runs.score import score as score_to_folder
from raising import raises

EXAMPLES = small_bbq.examples()
RNG = np.random.default_rng(0)
OPTIONS = RNG.integers(0, 3, len(EXAMPLES)).tolist()

FORMS = {
    "text": lambda example, option: example.answers[option],
    "text in other letters": lambda example, option: f'"{example.answers[option].upper()}."',
    "letters": lambda example, option: "ABC"[option],
    "letters in brackets": lambda example, option: f"({'abc'[option]})",
    "numbers": lambda example, option: option,
    "numbers as text": lambda example, option: str(option),
    "sentences": lambda example, option: f"Answer: {'ABC'[option]}) {example.answers[option]}",
}


def value(findings: Findings, metric: str, **group: str) -> Estimate:
    (estimate,) = (e for e in findings.estimates if e.metric == metric and dict(e.group) == group)
    return estimate


def rows(form: str = "text") -> list[dict[str, Any]]:
    return [
        example.as_json() | {"said": FORMS[form](example, option)}
        for example, option in zip(EXAMPLES, OPTIONS, strict=True)
    ]


def score(
    file: Path | list[Path],
    answers: str | None = "said",
    skip_bad: bool = False,
    labels_from: int = 0,
    only: dict[str, str] | None = None,
    **settings: str,
) -> Findings:
    files = file if isinstance(file, list) else [file]
    about = {"skip_bad": skip_bad, "labels_from": labels_from, "only": only or {}}
    request = Request(settings={"resamples": "20", **settings}, **about)
    return scored("bbq", files, request, answers)[0]


@pytest.mark.parametrize("form", FORMS)
def test_answers_in_every_form_give_the_same_scores(tmp_path: Path, form: str) -> None:
    reference = score(small_bbq.write(tmp_path / "a.jsonl", rows("text")))
    assert score(small_bbq.write(tmp_path / "b.jsonl", rows(form))).to_json() == reference.to_json().replace(
        '"model": "a"', '"model": "b"'
    )
    told = [row["option"] for row in reference.tables["answers"].records()]
    assert told == OPTIONS


@pytest.mark.parametrize("wrong", [-1, 3, 11, -2, 1.5, 10**12])
@pytest.mark.parametrize("form", ["numbers", "numbers as text"])
def test_numbers_that_are_no_options_are_answers_that_name_none(tmp_path: Path, form: str, wrong: float) -> None:
    without, some = rows(form), rows(form)
    for row in (3, 10):
        without[row]["said"], some[row]["said"] = None, wrong if form == "numbers" else str(wrong)
    reference = score(small_bbq.write(tmp_path / "a.jsonl", without))
    request = Request(settings={"resamples": "20"})
    found, notes = scored("bbq", [small_bbq.write(tmp_path / "b" / "a.jsonl", some)], request, "said")
    assert found.estimates == reference.estimates
    assert found.tables["answers"].rows == reference.tables["answers"].rows
    note = next(each for each in notes if "name no option" in each)
    assert f"2 of {len(some)} answers name no option and are not counted" in note
    assert f"'{wrong}'" in note


def test_numbers_among_texts_are_options_as_well(tmp_path: Path) -> None:
    mixed = [row | ({"said": option} if option else {}) for row, option in zip(rows(), OPTIONS, strict=True)]
    mixed[0]["said"] = 7
    found = score(small_bbq.write(tmp_path / "a.jsonl", mixed))
    told = [row["option"] for row in found.tables["answers"].records()]
    assert told[1:] == OPTIONS[1:]
    assert told[0] not in (0, 1, 2, 7)


def write_csv(file: Path, written: list[dict[str, Any]]) -> Path:
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(written[0]))
        writer.writeheader()
        writer.writerows(written)
    return file


def test_csv_files_are_scored_too(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "a.csv", rows())
    assert score(file).to_json() == score(small_bbq.write(tmp_path / "a.jsonl", rows())).to_json()


def test_several_files_are_scored_together(tmp_path: Path) -> None:
    whole = small_bbq.write(tmp_path / "a.jsonl", rows())
    parts = [
        small_bbq.write(tmp_path / "x" / f"{name}.jsonl", part)
        for name, part in {"a": rows()[:40], "b": rows()[40:]}.items()
    ]
    assert score(parts).to_json() == score(whole).to_json()


def test_a_wrong_column_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", rows())
    with raises("missing-key", DataError, file=file, line=1, key="answer") as caught:
        score(file, "answer")
    assert "said" in caught.value.problem
    with raises("missing-setting", UsageError, key="answers"):
        score(file, None)


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_columns_that_may_hold_the_answers_are_listed(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"a.{ending}"
    said = [row | {"their_answer": row["said"], "note": "x"} for row in rows()]
    (write_csv if ending == "csv" else small_bbq.write)(file, said)
    with raises("missing-setting", UsageError, key="answers") as caught:
        score(file, None)
    assert "Candidates: said, their_answer, note." in caught.value.problem
    assert caught.value.remedy == "--answers said"
    with raises("missing-key", DataError, file=file, key="theiranswer") as wrong:
        score(file, "theiranswer")
    assert "Candidates: said, their_answer, note." in wrong.value.problem
    assert wrong.value.remedy == "--answers their_answer"


def test_questions_without_answers_and_rows_of_something_else_say_what_they_are(tmp_path: Path) -> None:
    plain = small_bbq.write(tmp_path / "Age.jsonl", EXAMPLES)
    with raises("missing-setting", UsageError, file=plain, key="answers") as caught:
        score(plain, None)
    assert "no column of answers" in caught.value.problem
    other = small_bbq.write(tmp_path / "other.jsonl", [{"prompt": "Who?", "completion": "A"}])
    with raises("missing-key", DataError, file=other, line=1, key="context") as caught:
        score(other, None)
    assert "nor a known log" in caught.value.problem


def test_an_example_twice_is_an_error_or_skipped(tmp_path: Path) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", [*rows(), rows()[5]])
    with raises("duplicate", DataError, file=file, line=97) as caught:
        score(file)
    assert f"{file}, line 6" in caught.value.problem
    assert score(file, skip_bad=True).to_json() == score(small_bbq.write(tmp_path / "b" / "a.jsonl", rows())).to_json()


def test_bad_rows_are_skipped_when_asked_and_listed(tmp_path: Path) -> None:
    broken = [*rows(), {**rows()[0], "example_id": 999, "label": 7}]
    file = small_bbq.write(tmp_path / "a.jsonl", broken)
    with raises("bad-label", DataError, file=file, line=97, key="label"):
        score(file)
    _, notes = scored("bbq", [file], Request(settings={"resamples": "20"}, skip_bad=True), "said")
    assert any("1 rows left out" in note for note in notes)
    assert any("line 97" in note for note in notes)


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
@pytest.mark.parametrize(("place", "label"), [(0, -1), (0, 0), (1, 2)])
def test_a_gold_that_cannot_be_right_is_named(tmp_path: Path, ending: str, place: int, label: int) -> None:
    changed, file = rows(), tmp_path / f"a.{ending}"
    changed[place]["label"] = label
    if ending == "csv":
        write_csv(file, changed)
    else:
        small_bbq.write(file, changed)
    line = place + (2 if ending == "csv" else 1)
    with raises("bad-label", DataError, file=file, line=line, key="label"):
        score(file)


@pytest.mark.parametrize("skip_bad", [False, True])
def test_a_file_without_a_row_among_others_is_an_error(tmp_path: Path, skip_bad: bool) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", rows())
    empty = tmp_path / "empty.csv"
    empty.write_text(",".join(rows()[0]) + "\n")
    with raises("empty-file", DataError, file=empty):
        score([file, empty], skip_bad=skip_bad)


def test_what_is_not_understood_is_quoted(tmp_path: Path) -> None:
    changed = rows()
    changed[3]["said"] = "the weather was fine"
    changed[4]["said"] = None
    file = small_bbq.write(tmp_path / "a.jsonl", changed)
    _, notes = scored("bbq", [file], Request(settings={"resamples": "20"}), "said")
    assert any("2 of 96 answers name no option" in note and "the weather was fine" in note for note in notes)


def test_only_some_categories_are_scored(tmp_path: Path) -> None:
    more = [
        example.as_json() | {"said": "A"} for example in small_bbq.examples(6, 2, "Religion", labels=("Hindu", "Sikh"))
    ]
    file = small_bbq.write(tmp_path / "a.jsonl", rows() + more)
    found = score(file, category="Religion")
    assert {estimate.group["category"] for estimate in found.estimates} == {"Religion"}
    with raises("nothing-to-ask", UsageError):
        score(file, category="SES")


def test_defects_can_be_left_out_of_scores(tmp_path: Path) -> None:
    twin = [{**rows()[0], "example_id": 500}]
    file = small_bbq.write(tmp_path / "a.jsonl", rows() + twin)
    (kept,) = [
        e
        for e in score(file, defects="drop").estimates
        if e.metric == "accuracy" and len(e.group) == 2 and e.group["context"] == "ambig"
    ]
    assert kept.n == 48


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("context", "both", "bad-setting"),
        ("form", "verse", "bad-setting"),
        ("resamples", "0", "bad-setting"),
        ("colour", "red", "unknown-setting"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path: Path, key: str, value: str, code: str) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", rows())
    with raises(code, UsageError, key=key):
        scored("bbq", [file], Request(settings={key: value}), "said")


# --- columns and keys that are there twice


def test_a_column_that_is_there_twice_is_an_error(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "a.csv", rows())
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([f"said,{lines[0]}", *(f"A,{line}" for line in lines[1:])]) + "\n", encoding="utf-8")
    for skip_bad in (False, True):
        with raises("duplicate", DataError, file=file, line=1, key="said"):
            score(file, skip_bad=skip_bad)


def test_columns_without_a_name_may_be_several(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "a.csv", rows())
    reference = score(file).to_json()
    file.write_text("".join(f",,{line}\n" for line in file.read_text(encoding="utf-8").splitlines()), encoding="utf-8")
    assert score(file).to_json() == reference


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [("said", '"said": ', '"said": "A", "said": '), ("ans0", '{"ans0": [', '{"ans0": ["x", "y"], "ans0": [')],
)
def test_a_key_that_is_there_twice_is_an_error(tmp_path: Path, key: str, old: str, new: str) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", rows())
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[6] = lines[6].replace(old, new, 1)
    file.write_text("".join(lines), encoding="utf-8")
    with raises("duplicate", DataError, file=file, line=7, key=key):
        score(file)
    score(file, skip_bad=True)


# --- what a spreadsheet made of the rows


@pytest.mark.parametrize("date", ["1-Jan", "Jan-01", "2026-01-01", "01-Jan-26", "1/1/2026", "2026-01-01 00:00:00"])
@pytest.mark.parametrize("key", ["example_id", "question_index"])
def test_a_date_in_place_of_an_index_says_what_happened(tmp_path: Path, key: str, date: str) -> None:
    changed = rows()
    changed[4][key] = date
    file = write_csv(tmp_path / "a.csv", changed)
    with raises("bad-value", DataError, file=file, line=6, key=key) as caught:
        score(file)
    assert f"'{date}': a spreadsheet made a date of what was there" in caught.value.problem
    assert "this column as text" in caught.value.remedy


def test_names_of_templates_that_only_look_a_little_like_dates_are_used(tmp_path: Path) -> None:
    for name in ("1", "12-3", "jan", "template-1", "1-january-x", "mar1", "2026"):
        changed = [row | {"question_index": name} if row["question_index"] == "3" else row for row in rows()]
        assert name in str(score(small_bbq.write(tmp_path / "a.jsonl", changed)).tables["by_template"].rows)


# --- columns that hold something else than answers


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_column_of_true_and_false_is_no_column_of_answers(tmp_path: Path, ending: str) -> None:
    changed = [row | {"said": None if k == 3 else k % 3 > 0} for k, row in enumerate(rows())]
    if ending == "csv":
        changed = [row | {"said": "" if row["said"] is None else str(row["said"]).upper()} for row in changed]
    file = tmp_path / f"a.{ending}"
    (write_csv if ending == "csv" else small_bbq.write)(file, changed)
    for skip_bad in (False, True):
        with raises("bad-value", DataError, file=file, key="said") as caught:
            score(file, skip_bad=skip_bad)
    assert "TRUE or FALSE in every row" in caught.value.problem


def test_a_single_true_among_answers_names_none(tmp_path: Path) -> None:
    changed = rows()
    changed[0]["said"] = True
    _, notes = scored(
        "bbq", [small_bbq.write(tmp_path / "a.jsonl", changed)], Request(settings={"resamples": "20"}), "said"
    )
    assert any("1 of 96 answers name no option" in note for note in notes)


@pytest.mark.parametrize(
    ("column", "told"), [("label", "these are the scores of the data themselves"), ("said", "are they a model's")]
)
def test_right_answers_in_place_of_a_models_are_noted(tmp_path: Path, column: str, told: str) -> None:
    changed = [row | {"said": row["label"]} for row in rows()]
    file = small_bbq.write(tmp_path / "a.jsonl", changed)
    _, notes = scored("bbq", [file], Request(settings={"resamples": "20"}), column)
    assert sum(told in note for note in notes) == 1
    file = small_bbq.write(tmp_path / "b.jsonl", rows())
    _, notes = scored("bbq", [file], Request(settings={"resamples": "20"}), "said")
    assert not any("these are the" in note or "are right" in note for note in notes)


# --- labels that count from 1

FROM_1 = {
    "numbers": (1, 2, 3),
    "numbers as text": ("1", "2", "3"),
    "letters": ("B", "C", "D"),
    "as ans1": ("ans1", "ans2", "ans3"),
}


def counted_from_1(form: str) -> list[dict[str, Any]]:
    return [row | {"said": FROM_1[form][option]} for row, option in zip(rows(), OPTIONS, strict=True)]


@pytest.mark.parametrize("form", FROM_1)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_labels_that_count_from_1_are_refused_until_that_is_said(tmp_path: Path, form: str, ending: str) -> None:
    file = tmp_path / f"a.{ending}"
    (write_csv if ending == "csv" else small_bbq.write)(file, counted_from_1(form))
    for skip_bad in (False, True):
        with raises("bad-label", DataError, file=file, key="said") as caught:
            score(file, skip_bad=skip_bad)
    assert "Counted from 1?" in caught.value.problem
    assert caught.value.remedy.startswith("--labels-from 1")
    reference = score(small_bbq.write(tmp_path / "b" / "a.jsonl", rows()))
    assert score(file, labels_from=1).to_json() == reference.to_json()


@pytest.mark.parametrize("few", [[1, 3], ["D"], [3]])
def test_a_3_without_a_0_is_refused_in_however_few_rows(tmp_path: Path, few: list[Any]) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", [row | {"said": said} for row, said in zip(rows(), few, strict=False)])
    with raises("bad-label", DataError, file=file, line=len(few), key="said"):
        score(file)


def test_missing_answers_do_not_hide_labels_that_count_from_1(tmp_path: Path) -> None:
    changed = counted_from_1("numbers")
    changed[0]["said"], changed[1]["said"], changed[2]["said"], changed[3]["said"] = None, -1, "", "I will not say."
    file = small_bbq.write(tmp_path / "a.jsonl", changed)
    with raises("bad-label", DataError, file=file, key="said"):
        score(file)
    plain = rows()
    plain[0]["said"], plain[1]["said"], plain[2]["said"], plain[3]["said"] = None, -1, "", "I will not say."
    reference = score(small_bbq.write(tmp_path / "b" / "a.jsonl", plain))
    assert score(file, labels_from=1).estimates == reference.estimates


def test_a_single_letter_d_among_texts_is_an_answer_that_names_none(tmp_path: Path) -> None:
    changed = rows()
    changed[7]["said"] = "D"
    assert score(small_bbq.write(tmp_path / "a.jsonl", changed)).tables["answers"]


@pytest.mark.parametrize(("amount", "noted"), [(10, False), (40, True)])
def test_labels_1_and_2_without_0_and_3_are_noted_in_many_rows(tmp_path: Path, amount: int, noted: bool) -> None:
    """They may count from 0 or from 1: a model that never names the first option is improbable in many rows only."""
    changed = [row | {"said": 1 + k % 2} for k, row in enumerate(rows())][:amount]
    file = small_bbq.write(tmp_path / "a.jsonl", changed)
    _, notes = scored("bbq", [file], Request(settings={"resamples": "20"}), "said")
    assert any("--labels-from 1" in note for note in notes) is noted


def test_right_answers_that_are_never_the_first_option_are_not_noted(tmp_path: Path) -> None:
    changed = [row | {"said": row["label"]} for row in rows() if row["label"]]
    file = small_bbq.write(tmp_path / "a.jsonl", changed)
    _, notes = scored("bbq", [file], Request(settings={"resamples": "20"}), "said")
    assert not any("--labels-from" in note for note in notes)


def test_labels_that_do_not_count_from_1_are_refused_if_that_is_said(tmp_path: Path) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", rows("numbers"))
    with raises("bad-value", DataError, file=file, line=1 + OPTIONS.index(0), key="said"):
        score(file, labels_from=1)
    file = small_bbq.write(tmp_path / "a.jsonl", rows("text"))
    with raises("bad-option", UsageError, file=file, key="labels-from"):
        score(file, labels_from=1)
    with raises("bad-option", UsageError, key="labels-from"):
        Request(labels_from=2)


def test_how_labels_count_is_kept_with_the_run(tmp_path: Path) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", counted_from_1("numbers"))
    few = {"settings": {"resamples": "20"}, "answers": "said"}
    run = score_to_folder("bbq", [file], labels_from=1, out=tmp_path / "run", **few)
    _, gathered = recollect_answers(run)
    assert gathered.parts[0].answered.chosen[:, 0].tolist() == OPTIONS


@pytest.mark.parametrize("probe", ["unqover", "bbq"])
def test_labels_of_files_in_a_known_format_are_not_counted(tmp_path: Path, probe: str) -> None:
    file = tmp_path / "results.jsonl"
    file.write_text('{"custom_id": "a-0-0", "response": {}}\n' if probe == "bbq" else "{}", encoding="utf-8")
    with raises("bad-option", UsageError, key="labels-from"):
        score_to_folder(probe, [file], labels_from=1, out=tmp_path / "run")


# --- rows of several models

MODELS = ("small", "large")


def of_two_models() -> list[dict[str, Any]]:
    """Every row twice; the second model always says what comes next among the options."""
    return [
        row | {"model": model, "said": row[f"ans{(option + k) % 3}"]}
        for row, option in zip(rows(), OPTIONS, strict=True)
        for k, model in enumerate(MODELS)
    ]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_rows_of_two_models_are_scored_one_at_a_time(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"a.{ending}"
    (write_csv if ending == "csv" else small_bbq.write)(file, of_two_models())
    for skip_bad in (False, True):
        with raises("bad-option", UsageError, file=file, key="only", exit_code=2) as caught:
            score(file, skip_bad=skip_bad)
    assert "answers of several models: small" in caught.value.problem
    assert "and large" in caught.value.problem
    assert caught.value.remedy == "Score one at a time: --only model=small"
    for model in MODELS:
        own = [row for row in of_two_models() if row["model"] == model]
        alone = score(small_bbq.write(tmp_path / model / "a.jsonl", own))
        assert score(file, only={"model": model}).to_json() == alone.to_json()


def test_rows_of_two_models_in_two_files_are_named_too(tmp_path: Path) -> None:
    half = len(EXAMPLES) // 2
    one = small_bbq.write(tmp_path / "one.jsonl", [row | {"model": "small"} for row in rows()[:half]])
    other = small_bbq.write(tmp_path / "other.jsonl", [row | {"model": "large"} for row in rows()[half:]])
    with raises("bad-option", UsageError, file=other, line=1, key="only") as caught:
        score([one, other])
    assert f"small ({one}, line 1) and large" in caught.value.problem


def test_rows_are_chosen_by_any_column(tmp_path: Path) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", [row | {"run": k % 2} for k, row in enumerate(rows())])
    own = [row for k, row in enumerate(rows()) if k % 2]
    alone = score(small_bbq.write(tmp_path / "b" / "a.jsonl", own))
    assert score(file, only={"run": "1"}).to_json() == alone.to_json()
    with raises("bad-option", UsageError, file=file, key="only") as caught:
        score(file, only={"run": "7"})
    assert "no row has run=7; there are 0, 1." in caught.value.problem
    with raises("bad-option", UsageError, file=file, line=1, key="only") as caught:
        score(file, only={"trial": "1"})
    assert "no column 'trial'" in caught.value.problem


def test_the_chosen_rows_are_kept_with_the_run(tmp_path: Path) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", of_two_models())
    few = {"settings": {"resamples": "20"}, "answers": "said"}
    run = score_to_folder("bbq", [file], only={"model": "small"}, out=tmp_path / "run", **few)
    _, gathered = recollect_answers(run)
    assert gathered.parts[0].answered.chosen[:, 0].tolist() == OPTIONS
    with raises("bad-option", UsageError, key="only"):
        score_to_folder("unqover", [file], only={"model": "small"}, out=tmp_path / "other")


@pytest.mark.parametrize(("key", "value"), [("only", "model=small"), ("only", 7), ("labels_from", "1")])
def test_a_run_that_says_something_else_about_its_rows_is_refused(tmp_path: Path, key: str, value: Any) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", rows())
    run = score_to_folder("bbq", [file], settings={"resamples": "20"}, answers="said", out=tmp_path / "run")
    info = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
    info["identity"][key] = value
    (run.folder / "run.json").write_text(json.dumps(info), encoding="utf-8")
    with pytest.raises(DataError, match=f"identity.{key}"):
        recollect_answers(open_run(run.folder))


# --- several columns of answers


def in_two_columns(second: list[int]) -> list[dict[str, Any]]:
    return [
        row | {"later": example.answers[option]} for row, example, option in zip(rows(), EXAMPLES, second, strict=True)
    ]


OTHERS = RNG.integers(0, 3, len(EXAMPLES)).tolist()


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_the_answers_in_two_columns_are_averaged(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"a.{ending}"
    (write_csv if ending == "csv" else small_bbq.write)(file, in_two_columns(OTHERS))
    for answers in ("said,later", "said, later"):
        findings = score(file, answers)
        ambiguous = [k for k, example in enumerate(EXAMPLES) if example.condition == "ambig"]
        given = [(EXAMPLES[k], option) for k in ambiguous for option in (OPTIONS[k], OTHERS[k])]
        right = sum(option == example.label for example, option in given)
        told = value(findings, "accuracy", category="Age", context="ambig")
        assert told.value == pytest.approx(right / len(given))
        assert told.n == len(ambiguous), "an item with two answers is one item"
        table = findings.tables["answers"].records()
        assert [(row["prompt"], row["option"]) for row in table] == [
            pair for k in range(len(EXAMPLES)) for pair in (("said", OPTIONS[k]), ("later", OTHERS[k]))
        ]


def test_the_same_answers_in_two_columns_change_no_number_and_no_interval(tmp_path: Path) -> None:
    """An item's answers are never resampled as if they were two items."""
    file = small_bbq.write(tmp_path / "a.jsonl", in_two_columns(OPTIONS))
    twice = [estimate for estimate in score(file, "said,later").estimates if not estimate.metric.startswith("prompt_")]
    assert [replace(estimate, q=None) for estimate in twice] == [
        replace(estimate, q=None) for estimate in score(file).estimates
    ]


def test_each_column_is_read_in_its_own_form(tmp_path: Path) -> None:
    """Numbers in one and texts in the other, of which "1" is no option."""
    mixed = [row | {"number": str(option)} for row, option in zip(rows(), OTHERS, strict=True)]
    mixed[0]["said"], mixed[1]["number"] = "1", "-1"
    file = small_bbq.write(tmp_path / "a.jsonl", mixed)
    findings, notes = scored("bbq", [file], Request(settings={"resamples": "20"}), "said,number")
    told = [row["option"] for row in findings.tables["answers"].records()]
    assert told[1::2] == [OTHERS[0], None, *OTHERS[2:]]
    assert told[2::2] == OPTIONS[1:]
    assert any(f"of {2 * len(EXAMPLES)} answers name no option" in note for note in notes)


def test_a_missing_column_among_several_is_named(tmp_path: Path) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", in_two_columns(OTHERS))
    with raises("missing-key", DataError, file=file, line=1, key="latter") as caught:
        score(file, "said,latter")
    assert "no column 'latter'" in caught.value.problem
    assert caught.value.remedy == "--answers said,later"
    with raises("missing-key", DataError, file=file, line=1, key="sayd") as caught:
        score(file, "said,sayd")
    assert caught.value.remedy == "--answers said,later", "not the same column twice, which would be refused"
    some = in_two_columns(OTHERS)
    del some[5]["later"]
    file = small_bbq.write(tmp_path / "b.jsonl", some)
    with raises("missing-key", DataError, file=file, line=6, key="later"):
        score(file, "said,later")
    assert len(score(file, "said,later", skip_bad=True).tables["answers"].rows) == 2 * (len(EXAMPLES) - 1)


@pytest.mark.parametrize("answers", ["said,", ",said", "said,said", ","])
def test_a_list_of_columns_has_each_once(tmp_path: Path, answers: str) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", rows())
    with raises("bad-option", UsageError, key="answers"):
        score(file, answers)


def test_a_column_whose_name_has_a_comma_can_be_scored(tmp_path: Path) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", [row | {"answer, final": row["said"]} for row in rows()])
    assert score(file, "answer, final").to_json() == score(file).to_json()


def test_the_columns_are_kept_with_the_run(tmp_path: Path) -> None:
    file = small_bbq.write(tmp_path / "a.jsonl", in_two_columns(OTHERS))
    run = score_to_folder("bbq", [file], settings={"resamples": "20"}, answers="said,later", out=tmp_path / "run")
    assert any("said and later are averaged" in note for note in run.info.notes)
    _, gathered = recollect_answers(run)
    assert gathered.parts[0].answered.chosen.T.tolist() == [OPTIONS, OTHERS]


# --- the order of the rows


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10_000), named=st.sampled_from([None, "3-b"]))
def test_the_order_of_the_rows_decides_nothing(
    tmp_path_factory: pytest.TempPathFactory, seed: int, named: str | None
) -> None:
    """Two categories and templates beyond 9; some answers are not understood, and examples are shown."""
    religion = small_bbq.examples(6, 2, "Religion", labels=("Hindu", "Sikh"))
    more = [example.as_json() | {"said": "B"} for example in religion]
    both = [*rows()[:48], *more, *small_unread()]
    both = [row | {"question_index": named} if named and row["question_index"] == "3" else row for row in both]
    folder, rng = tmp_path_factory.mktemp("rows"), np.random.default_rng(seed)
    request = Request(settings={"resamples": "20"})
    reference = scored("bbq", [small_bbq.write(folder / "a.jsonl", both)], request, "said")
    mixed = [both[k] for k in rng.permutation(len(both))]
    found = scored("bbq", [small_bbq.write(folder / "a.jsonl", mixed)], request, "said")
    assert found[0].to_json() == reference[0].to_json()
    assert found[1] == reference[1]


def small_unread() -> list[dict[str, Any]]:
    """Rows of templates 10 and 11, with answers that name no option."""
    quartets = [small_bbq.quartet("Age", str(10 + k), 40 + k) for k in range(2)]
    return [example.as_json() | {"said": "the weather"} for own in quartets for example in own]
