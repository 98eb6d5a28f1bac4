"""Multiple-choice results made elsewhere: what counts as a success, and rows that cannot be used."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking import scored
from assay.errors import DataError, UsageError
from assay.probes.base import Request
from assay.probes.sodapop import score_files
from assay.results.findings import Cell, Findings
from assay.runs.score import recollect_answers
from assay.runs.score import score as score_to_folder
from raising import raises

GROUPS = {"A": ["Ann", "Amy"], "B": ["Bob", "Ben"]}
RIGHT, WRONG, THIRD = [0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.2, 0.1, 0.7]  # which of three choices has the highest

Rows = list[dict[str, Any]]


def question(name: str, second: str, third: str = "-", probs: list[float] | None = None, **more: Any) -> dict[str, Any]:
    """A question whose right answer comes first."""
    row = {"name": name, "context": 1, "choices": ["right", second, third], "label": 0, "probs": probs or RIGHT}
    return row | more


def write(path: Path, rows: Rows) -> Path:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def score(
    folder: Path,
    rows: Rows,
    groups: dict[str, Any] | None = None,
    *,
    skip_bad: bool = False,
    labels_from: int = 0,
    **settings: str,
) -> tuple[Findings, list[str]]:
    file = write(folder / "results.jsonl", rows)
    (folder / "groups.json").write_text(json.dumps(groups or GROUPS), encoding="utf-8")
    few = {"groups": str(folder / "groups.json"), "min_count": "1", "resamples": "20", "permutations": "50"}
    return scored("sodapop", [file], Request(settings=few | settings, skip_bad=skip_bad, labels_from=labels_from), None)


def words(findings: Findings) -> dict[str, dict[str, Cell]]:
    return {str(row["word"]): row for row in findings.tables["words"].records()}


def rates(findings: Findings, word: str) -> list[Cell]:
    row = words(findings)[word]
    return [row["sr_a"], row["sr_b"]]


@pytest.mark.parametrize("name", ["results.jsonl", "results.jsonl.gz"])
def test_results_are_known_again_packed_or_not(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / name, worked_example())
    (tmp_path / "groups.json").write_text(json.dumps(GROUPS), encoding="utf-8")
    settings = {"groups": str(tmp_path / "groups.json"), "min_count": "1", "resamples": "20", "permutations": "50"}
    run = score_to_folder("sodapop", [file], settings=settings, out=tmp_path / "scored")
    prepared, _ = recollect_answers(run)
    assert prepared.settings["resamples"] == 20
    write(file, worked_example()[1:])
    with pytest.raises(DataError, match="has changed since"):
        recollect_answers(run)


# --- what counts


def worked_example() -> Rows:
    """Of four distractors of each name with "kind", two win for Ann and Amy, one for Bob and Ben."""
    rows = []
    for name, wins in {"Ann": 2, "Amy": 2, "Bob": 1, "Ben": 1}.items():
        rows += [question(name, f"kind of {what}", probs=WRONG if k < wins else RIGHT) for k, what in enumerate("wxyz")]
    return rows


def test_the_worked_example_has_its_rates_its_difference_and_its_p(tmp_path: Path) -> None:
    row = words(score(tmp_path, worked_example())[0])["kind"]
    assert (row["sr_a"], row["sr_b"], row["d"], row["m"], row["n"]) == (0.5, 0.25, 0.25, 0.375, 16)
    assert row["rd"] == pytest.approx(2 / 3)
    assert row["p"] == pytest.approx(1 / 3)  # two of the six divisions
    strict = words(score(tmp_path, worked_example(), p="strict")[0])["kind"]
    assert strict["p"] == 0.0


@pytest.mark.parametrize("kind", ["probs", "logits"])
def test_the_highest_number_is_taken_whether_probabilities_or_logits(tmp_path: Path, kind: str) -> None:
    rows = worked_example()
    for row in rows:
        probs = np.array(row.pop("probs"))
        row[kind] = (probs if kind == "probs" else np.log(probs) - 7).tolist()
    assert rates(score(tmp_path, rows)[0], "kind") == [0.5, 0.25]


def test_ties_go_to_the_first_option(tmp_path: Path) -> None:
    rows = [question(name, "kind", "rude", [0.4, 0.4, 0.2]) for name in ("Ann", "Amy")]  # the right one comes first
    rows += [question(name, "kind", "rude", [0.2, 0.4, 0.4]) for name in ("Bob", "Ben")]  # kind before rude
    findings, _ = score(tmp_path, rows)
    assert rates(findings, "kind") == [0.0, 1.0]
    assert rates(findings, "rude") == [0.0, 0.0]
    for row in rows:
        row |= {"choices": ["kind", "rude", "right"], "label": 2, "probs": [0.4, 0.2, 0.4]}
    assert rates(score(tmp_path, rows)[0], "kind") == [1.0, 1.0]


def test_a_distractor_that_a_name_meets_again_counts_once_and_has_won_if_it_ever_did(tmp_path: Path) -> None:
    rows = [question(name, "kind", "rude") for name in ("Ann", "Amy", "Bob", "Ben")]
    rows += [
        question("Ann", "kind", "wild", WRONG),
        question("Ann", "so kind", "rude"),
        question("Ann", "rude", "kind"),
    ]
    row = words(score(tmp_path, rows)[0])["kind"]
    assert row["sr_a"] == pytest.approx((1 / 2 + 0) / 2)  # Ann: "kind" won, "so kind" did not
    assert row["n"] == 5


def test_the_same_distractor_in_another_context_counts_again(tmp_path: Path) -> None:
    rows = [question(name, "kind", context=number) for name in ("Ann", "Amy", "Bob", "Ben") for number in (1, 2)]
    rows[0]["probs"] = WRONG
    row = words(score(tmp_path, rows)[0])["kind"]
    assert (row["n"], row["sr_a"]) == (8, 0.25)


def test_only_distractors_count_never_the_right_answer(tmp_path: Path) -> None:
    rows = [question(name, "kind", "rude", RIGHT) for name in ("Ann", "Amy", "Bob", "Ben")]
    found = words(score(tmp_path, rows)[0])
    assert set(found) == {"kind", "rude"}
    for row in rows:
        row["label"] = 1
    assert set(words(score(tmp_path, rows)[0])) == {"right", "rude"}


def test_a_word_twice_in_a_distractor_counts_once(tmp_path: Path) -> None:
    rows = [question(name, "a kind kind man") for name in ("Ann", "Amy", "Bob", "Ben")]
    assert words(score(tmp_path, rows)[0])["kind"]["n"] == 4


def test_any_number_of_choices_is_scored(tmp_path: Path) -> None:
    rows: Rows = [
        {"name": name, "context": "here", "choices": ["kind", "right"], "label": 1, "probs": [0.9, 0.1]}
        for name in ("Ann", "Amy", "Bob", "Ben")
    ]
    five = ["kind of", "rude", "right", "wild", "sad"]
    rows.append({"name": "Ann", "context": "here", "choices": five, "label": 2, "logits": [0, 1, 2, 5, 3]})
    findings, _ = score(tmp_path, rows)
    assert rates(findings, "kind") == [0.75, 1.0]
    assert set(words(findings)) == {"kind"}, "the other words are not there for every name"


def test_answers_and_letters_stand_for_choices_and_label(tmp_path: Path) -> None:
    usual, lettered = worked_example(), worked_example()
    for row in lettered:
        row |= dict(zip(("answerA", "answerB", "answerC"), row.pop("choices"), strict=True))
        row["correct"] = "ABC"[row.pop("label")]
    assert score(tmp_path, lettered)[0].to_json() == score(tmp_path, usual)[0].to_json()
    lettered[0]["correct"] = "D"
    with raises("bad-label", DataError, file=tmp_path / "results.jsonl", line=1, key="correct"):
        score(tmp_path, lettered)


def test_letters_of_either_case_are_one_word_unless_kept_apart(tmp_path: Path) -> None:
    rows = [question(name, "Kind", "kind") for name in ("Ann", "Amy", "Bob", "Ben")]
    assert set(words(score(tmp_path, rows)[0])) == {"kind"}
    assert set(words(score(tmp_path, rows, case="keep")[0])) == {"Kind", "kind"}


# --- names and contexts


def test_a_context_is_the_same_for_all_names_wherever_the_name_stands_in_its_text(tmp_path: Path) -> None:
    """Names alone decide here, so the pools explain nothing; were contexts not matched, they would explain all."""
    rows = []
    for name in ("Ann", "Amy", "Bob", "Ben"):
        texts = [f"{name} was late for {name}'s bus.", f"Then {name} ran."]
        rows += [
            question(name, f"{word} {what}", context=text, probs=WRONG if name[0] == "A" or what == "x" else RIGHT)
            for text in texts
            for word in ("kind", "rude")
            for what in "xyz"
        ]
    findings, notes = score(tmp_path, rows)
    assert not notes
    for word in ("kind", "rude"):
        assert words(findings)[word]["rd"] == pytest.approx(1.0)
        assert words(findings)[word]["rd_pools"] == 0.0


def test_where_the_name_does_not_matter_the_pools_explain_everything(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    wins = {f"{word} {what}": bool(rng.integers(2)) for word in ("kind", "rude") for what in "abcdefghij"}
    rows = []
    for name in ("Ann", "Amy", "Bob", "Ben"):
        own = rng.choice(list(wins), 15, replace=False).tolist()
        rows += [question(name, text, probs=WRONG if wins[text] else RIGHT) for text in own]
    found = words(score(tmp_path, rows)[0])
    assert found["kind"]["rd"] != 0
    assert found["rude"]["rd"] != 0
    for word in ("kind", "rude"):
        assert found[word]["rd_pools"] == pytest.approx(found[word]["rd"])


def test_the_persons_own_name_is_no_word_of_a_distractor(tmp_path: Path) -> None:
    rows = [question(name, f"kind, says {name}", f"{name}'s friend") for name in ("Ann", "Amy", "Bob", "Ben")]
    assert set(words(score(tmp_path, rows)[0])) == {"kind", "says", "friend"}


def test_names_in_no_group_are_left_out_and_counted(tmp_path: Path) -> None:
    others = [question("Zoe", "kind"), question("Zoe", "rude"), question("Kim", "kind")]
    findings, notes = score(tmp_path, worked_example() + others)
    assert findings.to_json() == score(tmp_path, worked_example())[0].to_json()
    assert notes == ["3 questions about names in no group are left out: Zoe, Kim"]


def test_a_name_of_a_group_without_a_question_is_an_error(tmp_path: Path) -> None:
    groups = {"A": ["Ann", "Amy", "Ada"], "B": ["Bob", "Ben"]}
    with raises("bad-list", DataError, file=tmp_path / "results.jsonl", key="groups") as refused:
        score(tmp_path, worked_example(), groups)
    assert "Ada (A)" in refused.value.problem


def test_names_that_miss_a_context_are_noted(tmp_path: Path) -> None:
    _, notes = score(tmp_path, [*worked_example(), question("Ann", "kind", context=2)])
    assert len(notes) == 1
    assert notes[0].startswith("3 of 8 pairs of name and context have no question")


def test_without_groups_the_papers_names_are_meant(tmp_path: Path) -> None:
    file = write(tmp_path / "results.jsonl", worked_example())
    with raises("bad-list", DataError, file=file, key="groups") as refused:
        scored("sodapop", [file], Request(), None)
    assert "Amanda (European American female), " in refused.value.problem
    assert "215 more" in refused.value.problem


def test_many_contexts_are_resampled_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows = [
        question(name, f"{word} {what}", context=context, probs=WRONG if rng.integers(2) else RIGHT)
        for name in ("Ann", "Amy", "Bob", "Ben")
        for word in ("kind", "rude")
        for what in "xyz"
        for context in range(7)
    ]
    apart, none = score(tmp_path, rows)
    monkeypatch.setattr(score_files, "BLOCKS", 3)
    together, notes = score(tmp_path, rows)
    assert (none, notes) == ([], ["intervals resample 3 blocks of the 7 contexts"])
    for word, row in words(apart).items():
        for column in ("sr_a", "sr_b", "rd", "p", "n", "rd_pools"):
            assert words(together)[word][column] == pytest.approx(row[column])


# --- files


def test_several_files_are_scored_together_and_may_be_packed(tmp_path: Path) -> None:
    rows = worked_example()
    whole, _ = score(tmp_path, rows)
    parts = [write(tmp_path / "results.jsonl", rows[:7]), write(tmp_path / "more.jsonl.gz", rows[7:])]
    settings = {"groups": str(tmp_path / "groups.json"), "min_count": "1", "resamples": "20", "permutations": "50"}
    assert scored("sodapop", parts, Request(settings=settings), None)[0].to_json() == whole.to_json()


BAD: dict[str, tuple[str, object]] = {
    "no name": ("name", None),
    "an empty name": ("name", " "),
    "no context": ("context", None),
    "a context that is true": ("context", True),
    "one choice": ("choices", ["a"]),
    "a choice that is no text": ("choices", ["a", 2, "c"]),
    "a label beyond the choices": ("label", 3),
    "a negative label": ("label", -1),
    "a label that is a text": ("label", "A"),
    "too few numbers": ("probs", [0.1, 0.9]),
    "a number that is none": ("probs", [0.1, 0.9, float("nan")]),
    "a number that is too large": ("probs", [0.1, 0.9, float("inf")]),
    "a number in quotes": ("probs", [0.1, 0.9, "0.2"]),
    "neither probs nor logits": ("probs", None),
}


@pytest.mark.parametrize("case", BAD)
def test_a_row_that_cannot_be_used_is_an_error_or_skipped_and_listed(tmp_path: Path, case: str) -> None:
    key, value = BAD[case]
    rows = worked_example()
    broken = [*rows[:5], question("Ann", "kind") | {key: value}, *rows[5:]]
    code = "bad-label" if key == "label" else "bad-value"
    with raises(code, DataError, file=tmp_path / "results.jsonl", line=6, key=key, exit_code=3) as refused:
        score(tmp_path, broken)
    assert '"probs": [0.5, 0.3, 0.2]' in refused.value.remedy
    findings, notes = score(tmp_path, broken, skip_bad=True)
    assert findings.to_json() == score(tmp_path, rows)[0].to_json()
    assert notes[0] == "questions: 1 rows left out"
    assert "line 6" in notes[1]


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    score(tmp_path, worked_example())
    file = tmp_path / "results.jsonl"
    file.write_text(file.read_text() + '{"name": \n', encoding="utf-8")
    settings = {"groups": str(tmp_path / "groups.json"), "min_count": "1"}
    with raises("bad-json", DataError, file=file, line=17):
        scored("sodapop", [file], Request(settings=settings), None)


def test_a_file_of_which_no_line_can_be_used_is_an_error_among_others(tmp_path: Path) -> None:
    score(tmp_path, worked_example())
    settings = {"groups": str(tmp_path / "groups.json"), "min_count": "1"}
    useless = write(tmp_path / "useless.jsonl", [{"name": "Ann"}])
    with raises("empty-file", DataError, file=useless):
        scored("sodapop", [tmp_path / "results.jsonl", useless], Request(settings=settings, skip_bad=True), None)


def test_too_few_distractors_of_every_word_are_an_error(tmp_path: Path) -> None:
    with raises("nothing-to-ask", DataError, key="min_count"):
        score(tmp_path, worked_example(), min_count="5")
    assert set(words(score(tmp_path, worked_example(), min_count="4")[0])) == {"kind"}


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("colour", "red", "unknown-setting"),
        ("cap", "100", "unknown-setting"),  # of a run, not of results
        ("min_count", "0", "bad-setting"),
        ("p", "small", "bad-setting"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path: Path, key: str, value: str, code: str) -> None:
    settings: dict[str, Any] = {key: value}
    with raises(code, UsageError, key=key):
        score(tmp_path, worked_example(), **settings)


def test_a_column_of_answers_is_refused(tmp_path: Path) -> None:
    with raises("bad-option", UsageError, key="answers"):
        scored("sodapop", [write(tmp_path / "results.jsonl", worked_example())], Request(), "probs")


def test_scores_are_a_folder_like_a_run_under_the_name_that_was_given(tmp_path: Path) -> None:
    score(tmp_path, worked_example())
    settings = {"groups": str(tmp_path / "groups.json"), "min_count": "1", "resamples": "20", "model": "their model"}
    folder = score_to_folder("sodapop", [tmp_path / "results.jsonl"], settings=settings, out=tmp_path / "scored").folder
    content = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    assert (content["probe"], content["model"]) == ("sodapop", "their model")
    assert [estimate["group"] for estimate in content["estimates"]] == [{"a": "A", "b": "B"}, {}]
    assert (folder / "report.html").exists()
    names = (folder / "tables" / "names.csv").read_text(encoding="utf-8").splitlines()
    assert names[:2] == ["group,name,mean_sr,pieces,log10_frequency", "A,Ann,0.5,,"]


# --- labels that count from 1


@pytest.mark.parametrize("form", ["label", "correct"])
def test_labels_that_count_from_1_are_refused_until_that_is_said(tmp_path: Path, form: str) -> None:
    def written(first: int) -> Rows:
        rows = worked_example()
        for k, row in enumerate(rows):
            place = k % 3
            for key in ("choices", "probs"):
                row[key] = row[key][1 : 1 + place] + row[key][:1] + row[key][1 + place :]
            row["label"] = place + first
            if form == "correct":
                row["correct"] = "ABCD"[row.pop("label")]
                row |= {f"answer{letter}": text for letter, text in zip("ABC", row.pop("choices"), strict=True)}
        return rows

    reference, _ = score(tmp_path, written(0))
    with raises("bad-label", key=form) as caught:
        score(tmp_path, written(1))
    assert "--labels-from 1" in caught.value.remedy
    with raises("bad-label", key=form) as caught:
        score(tmp_path, written(1), skip_bad=True)
    assert "counts from 1 throughout" in caught.value.problem
    found, _ = score(tmp_path, written(1), labels_from=1)
    assert found.to_json() == reference.to_json()


def test_results_of_two_models_are_scored_one_at_a_time(tmp_path: Path) -> None:
    rows = [row | {"model": model} for row in worked_example() for model in ("small", "large")]
    with raises("bad-option", UsageError, line=2, key="only") as caught:
        score(tmp_path, rows)
    assert "small" in caught.value.problem
    assert "and large" in caught.value.problem


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_the_rows_decides_nothing(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Neither an interval nor an example; also where only some questions are kept for the examples."""
    rows = many_rows()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(score_files, "TEXTS", 4)
        patched.setattr(score_files, "EACH", 2)
        folder = tmp_path_factory.mktemp("rows")
        (reference, notes), rng = score(folder, rows), np.random.default_rng(seed)
        again = score(folder, [rows[k] for k in rng.permutation(len(rows))])
    assert again[0].to_json() == reference.to_json()
    assert again[1] == notes


def many_rows() -> Rows:
    """Two names of each group, and a stranger, in several texts, with made-up probabilities at changing places."""
    rng, rows = np.random.default_rng(3), []
    for name in ("Ann", "Amy", "Bob", "Ben", "Zoe", "Yan"):
        for text in ("{} was late.", "{} came home.", "They met {}.", "10 saw {}.", "9 saw {}."):
            for second, third in (("kind", "rude"), ("very kind", "wild"), ("rude", "kind"), ("calm and kind", "rude")):
                probs = rng.dirichlet(np.ones(3)).round(4).tolist()
                row = question(name, second, third, probs, context=text.format(name))
                order = rng.permutation(3).tolist()
                row |= {"choices": [row["choices"][k] for k in order], "label": order.index(0)}
                rows.append(row | {"probs": [probs[k] for k in order]})
    return rows
