"""Editions: how they are chosen, asked, shown and scored; and the readers of MBBQ, EsBBQ and CaBBQ."""

from __future__ import annotations

import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import assay
import small_bbq
import small_editions as small
from asking import scored
from assay.asking.queries import NONE, ChoiceQuery, TextQuery
from assay.cli import main
from assay.errors import DataError, UsageError
from assay.files.rows import BadRows
from assay.probes import method_of, present
from assay.probes.base import Request
from assay.probes.bbq.editions import EditionRow, load_edition
from assay.probes.bbq.editions import cabbq as catalan
from assay.probes.bbq.editions import esbbq as spanish
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED, NEGATIVE, QUARTET
from assay.probes.bbq.plan import BBQPlan
from assay.probes.bbq.source import ItemSample, ItemSource, of_edition, quartets_of, selected
from assay.report import terminal_summary
from assay.results.run import Run
from raising import raises

FEW = {"resamples": "20"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A small set of MBBQ in all its languages, of its control set, KoBBQ and EsBBQ."""
    folder = tmp_path / "data"
    for name in ("kobbq", "esbbq", "mbbq_control"):
        small.WRITERS[name](folder / (load_edition(name).data_set or name))
    for language in load_edition("mbbq").languages:
        small.write_jsonl(folder / "mbbq" / f"Gender_identity_{language}.jsonl", small.mbbq(language))
    return folder


def last(query: ChoiceQuery | TextQuery) -> int | str:
    """A model that always chooses the last option."""
    return 2 if isinstance(query, ChoiceQuery) else "(c)"


def run(place: Path, model: Any = last, **settings: str) -> Run:
    return assay.audit(model, "bbq", data=place, out="run", preset="paper", settings={**FEW, **settings})


def read(name: str, place: Path, language: str = "", bad: BadRows | None = None) -> list[EditionRow]:
    own = load_edition(name)
    files = own.find(place, language or own.languages[0])
    return [row for file in files for row in own.read(file, bad or BadRows(skip=False))]


def chosen(place: Path, name: str, categories: tuple[str, ...] = ()) -> ItemSource:
    return of_edition(place, name, load_edition(name).languages[0], categories, "keep", skip_bad=False)


def plan(place: Path, name: str, form: str = "letters", seed: int = 0, in_all: int | None = None) -> BBQPlan:
    return BBQPlan(chosen(place, name), ItemSample(in_all=in_all, seed=seed), form, shuffled=True)


# --- settings


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"edition": "nobbq"}, "edition"),
        ({"edition": "mbbq", "language": "ko"}, "language"),
        ({"language": "es"}, "language"),
        ({"edition": "esbbq", "category": "Weather"}, "category"),
    ],
)
def test_a_set_language_or_category_that_does_not_exist_is_refused(
    settings: dict[str, str], key: str, place: Path
) -> None:
    with raises("bad-setting", UsageError, key=key):
        run(place, **settings)


@pytest.mark.parametrize(("key", "value"), [("metadata", "additional_metadata.csv"), ("target_loc", "person")])
def test_settings_of_bbq_s_own_files_are_refused_for_an_edition(key: str, value: str, place: Path) -> None:
    with raises("unsupported", UsageError, key=key):
        run(place, edition="kobbq", **{key: value})
    with raises("unsupported", UsageError, key=key):
        scored("bbq", [place], Request(settings={"edition": "kobbq", key: value}), "prediction")


def test_the_starter_set_has_no_editions() -> None:
    with raises("bad-setting", UsageError, key="edition"):
        assay.audit(last, "bbq-starter", out="run", limit=8, settings={**FEW, "edition": "kobbq"})


def test_files_that_are_not_there_are_missed_by_name(tmp_path: Path) -> None:
    with raises("missing-data", UsageError) as error:
        run(tmp_path, edition="mbbq", language="nl")
    assert "MBBQ (Dutch)" in error.value.problem


def test_a_language_is_read_from_its_own_files(place: Path) -> None:
    assert {row.example.answers[row.example.unknown] for row in read("mbbq", place, "nl")} == {"? (nl)"}
    told = run(place, edition="mbbq", language="nl")
    assert told.info.settings["language"] == "nl"
    assert list(told.info.data) == ["Gender_identity_nl.jsonl"]


def test_runs_of_bbq_itself_say_so(tmp_path: Path) -> None:
    small_bbq.write(tmp_path / "Age.jsonl", small_bbq.examples())
    settings = run(tmp_path).info.settings
    assert (settings["edition"], settings["language"], settings["orders"]) == ("bbq", "en", "stored")


def test_only_the_categories_of_the_edition_are_missed(place: Path) -> None:
    notes = run(place, edition="esbbq").notes
    (missed,) = [note for note in notes if "categories are missing" in note]
    assert missed.startswith("9 of the 10 categories are missing: DisabilityStatus, Gender")


def test_a_category_is_chosen_by_the_set_s_own_name(place: Path) -> None:
    source = chosen(place, "kobbq", categories=("age",))
    assert {example.category for example in source.read().examples} == {"age"}
    with raises("bad-setting", UsageError, key="category"):
        chosen(place, "esbbq", categories=("Gender",)).read()


def test_rows_without_a_single_target_are_counted_and_named(place: Path) -> None:
    made = small.mbbq()
    for row in made[4:8]:
        row["answer_info"] = {name: [said, "man" if label == "woman" else label]
                              for name, (said, label) in row["answer_info"].items()}  # fmt: skip
        for name in ("ans0", "ans1", "ans2"):
            row[name] = row[name].replace("woman", "man")
    small.write_jsonl(place / "mbbq" / "Gender_identity_en.jsonl", made)
    dataset = chosen(place, "mbbq").read()
    assert dataset.notes == [
        "4 rows have no single target, and the bias metrics leave them out: Gender_identity template 1: 4 to 7"
    ]


def test_bad_rows_stop_a_run_unless_they_are_skipped_and_then_are_noted(place: Path) -> None:
    made = small.mbbq()
    made[2]["label"] = 7
    file = small.write_jsonl(place / "mbbq" / "Gender_identity_en.jsonl", made)
    with raises("bad-label", DataError, file=file, line=3, key="label"):
        run(place, edition="mbbq")
    told = assay.audit(last, "bbq", data=place, out="again", settings={**FEW, "edition": "mbbq"}, skip_bad=True)
    assert any(note.startswith("data: 1 rows left out") for note in told.notes)


# --- the order of the options


def test_each_example_has_one_order_drawn_with_the_seed_whatever_the_sample(place: Path) -> None:
    everything, few = plan(place, "kobbq"), plan(place, "kobbq", in_all=2)
    assert everything.drawn_orders is not None
    assert few.drawn_orders is not None
    drawn = dict(zip(everything.dataset.examples, everything.drawn_orders.tolist(), strict=True))
    assert [drawn[example] for example in few.dataset.examples] == few.drawn_orders.tolist()
    assert everything.drawn_orders.tolist() == [1, 1, 3, 3, 0, 3, 4, 2, 1, 3, 0, 0, 4, 3, 4, 4], "on every machine"
    other = plan(place, "kobbq", seed=1)
    assert other.drawn_orders is not None
    assert other.drawn_orders.tolist() != everything.drawn_orders.tolist()


def test_shuffled_options_are_shown_in_their_order_and_answers_are_turned_back(place: Path) -> None:
    asked = plan(place, "esbbq")
    for row, (example, order) in enumerate(map(asked.item, range(len(asked)))):
        assert asked.question(row).options == tuple(example.answers[option] for option in order)
    last_shown = asked.to_stored(np.full(len(asked), 2, np.int64))
    assert last_shown.tolist() == [asked.item(row)[1][2] for row in range(len(asked))]
    places = np.tile([10.0, 20.0, 30.0], (len(asked), 1))  # scores by place
    for row, scores in enumerate(asked.in_stored_order(places).tolist()):
        assert [scores[option] for option in asked.item(row)[1]] == [10.0, 20.0, 30.0]


def test_options_that_are_not_listed_have_no_order(place: Path) -> None:
    assert plan(place, "esbbq", form="options").drawn_orders is None
    assert (
        plan(place, "esbbq", form="options").digest == replace(plan(place, "esbbq", "options"), shuffled=False).digest
    )
    assert plan(place, "esbbq").digest != replace(plan(place, "esbbq"), shuffled=False).digest


@pytest.mark.parametrize(
    ("settings", "orders"),
    [
        ({"edition": "kobbq"}, "shuffled"),
        ({"edition": "kobbq", "orders": "stored"}, "stored"),
        ({"edition": "mbbq"}, "stored"),
        ({"edition": "mbbq", "orders": "shuffled"}, "shuffled"),
    ],
)
def test_a_set_whose_unknown_is_always_last_is_shuffled_unless_told_otherwise(
    settings: dict[str, str], orders: str, place: Path
) -> None:
    told = run(place, form="letters", **settings)
    assert told.info.settings["orders"] == orders
    assert ({row["order"] for row in told.rows("answers")} == {0}) == (orders == "stored")


def test_the_place_that_counts_is_the_one_that_was_shown(place: Path) -> None:
    """The last place has other options now, so always choosing it is not always right."""
    told = run(place, edition="kobbq", form="letters")
    assert told.findings.diagnosis is not None
    assert [(each.place, each.share) for each in told.findings.diagnosis.places] == [("A", 0), ("B", 0), ("C", 1)]
    assert 0 < value(told, "accuracy", category="age", context=AMBIGUOUS) < 1


def test_examples_have_each_score_with_its_option(place: Path) -> None:
    shown = [each.asked[0] for each in run(place, edition="kobbq", form="letters").findings.examples]
    assert len(shown) == 16
    for asked in shown:
        (chosen,) = [option for option in asked.options if option.chosen]
        assert chosen.score == max(option.score or 0.0 for option in asked.options)


def value(run: Run, metric: str, **group: str) -> float:
    (found,) = [each.value for each in run.findings.estimates if each.metric == metric and dict(each.group) == group]
    assert found is not None
    return found


# --- what is shown


def test_a_run_on_an_edition_is_never_called_a_bbq_result(place: Path) -> None:
    told = run(place, edition="mbbq", language="nl")
    shown = present(told)
    assert (shown.name, shown.data_set, shown.questions) == ("MBBQ (Dutch)", "mbbq", "MBBQ (Dutch)")
    said = "These are the questions of MBBQ (Dutch); this is not a BBQ result."
    assert "the questions are those of MBBQ (Dutch); this is not a BBQ result" in told.notes
    screen = io.StringIO()
    terminal_summary(told, Console(file=screen, width=300), verbose=True)
    assert screen.getvalue().startswith("bbq · MBBQ (Dutch) · ")
    assert screen.getvalue().count(said) == 2, "on the card and over the tables"
    page = (told.folder / "report.html").read_text(encoding="utf-8")
    assert "This is a result on MBBQ (Dutch), not a BBQ result." in page
    assert "US English" not in page
    assert "Single annotators" not in page, "people’s accuracy was measured for BBQ"
    assert [str(each) for each in shown.cautions[1:2]] == [
        f"The questions are in Dutch, about stereotypes known in {load_edition('mbbq').culture}. They show nothing "
        "about other languages and cultures."
    ]
    assert load_edition("mbbq").paper in page
    assert "Alicia Parrish" in page


def test_a_set_that_was_never_read_from_the_published_files_says_so(tmp_path: Path) -> None:
    small.WRITERS["cabbq"](tmp_path)
    told = run(tmp_path, edition="cabbq")
    assert any("never tested on the published files" in note for note in told.notes)
    assert any("never tested on the published files" in str(caution) for caution in present(told).cautions)


def test_assay_list_names_the_editions_and_those_that_are_untested(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "probes"]) == 0
    listed = {line.split()[1]: line for line in capsys.readouterr().out.splitlines() if "--set edition" in line}
    assert listed["edition=mbbq"].endswith("MBBQ: English, Spanish, Dutch, Turkish")
    assert listed["edition=cabbq"].endswith("CaBBQ: Catalan; untested on real files")


def test_the_table_of_answers_has_the_set_s_own_ids(place: Path) -> None:
    told = run(place, edition="kobbq")
    assert {row["id"] for row in told.rows("answers")} == {row["sample_id"] for row in small.kobbq()}
    assert "id" not in run_of_mbbq(place).rows("answers")[0], "its numbers are the set's own"


def run_of_mbbq(place: Path) -> Run:
    return assay.audit(last, "bbq", data=place, out="mbbq", settings={**FEW, "edition": "mbbq"})


# --- answers from files


def answered(file: Path, rows: list[dict[str, Any]], answers: list[Any]) -> Path:
    rows = [{**row, "said": answer} for row, answer in zip(rows, answers, strict=True)]
    return (small.write_jsonl if file.suffix == ".jsonl" else small.write_table)(file, rows)


def score(file: Path, name: str, **settings: str) -> tuple[dict[str, float | None], list[str]]:
    found, notes = scored("bbq", [file], Request(settings={**FEW, "edition": name, **settings}), "said")
    whole = [e for e in found.estimates if {*e.group} == {"category", "context"}]
    return {f"{e.metric} {e.group['context']}": e.value for e in whole}, notes


def test_rows_of_an_edition_are_scored_in_its_own_format(tmp_path: Path) -> None:
    """KoBBQ's are tab-separated, with the options in a list; the answers are texts."""
    made = small.kobbq()
    file = answered(tmp_path / "answers.tsv", made, [row["biased_answer"] for row in made])
    values, notes = score(file, "kobbq")
    assert (values["bias_score ambig"], values["bias_score disambig"], values["accuracy ambig"]) == (1.0, 1.0, 0.0)
    assert notes[0] == "the questions are those of KoBBQ; this is not a BBQ result"
    prepared, _ = method_of("bbq").read_files([file], Request(settings={**FEW, "edition": "kobbq"}), "said")
    assert prepared.settings["orders"] == "stored", "a file's letters are those of its own order"


@pytest.mark.parametrize("how", ["number", "letter", "text"])
def test_answers_may_be_numbers_letters_or_texts(how: str, tmp_path: Path) -> None:
    made = small.mbbq("es")
    said = {
        "number": [row["label"] for row in made],
        "letter": ["ABC"[row["label"]] for row in made],
        "text": [row[f"ans{row['label']}"] for row in made],
    }[how]
    values, _ = score(answered(tmp_path / "answers.jsonl", made, said), "mbbq", language="es")
    assert (values["accuracy ambig"], values["accuracy disambig"], values["bias_score ambig"]) == (1.0, 1.0, 0.0)


def test_the_word_unknown_of_esbbq_s_files_is_its_option(tmp_path: Path) -> None:
    made = small.esbbq(whole=False)
    values, notes = score(answered(tmp_path / "a.csv", made, ["unknown"] * len(made)), "esbbq")
    assert values["unknown_rate ambig"] == values["unknown_rate disambig"] == 1.0
    assert not any("name no option" in note for note in notes)


def test_the_order_of_the_rows_changes_no_number(tmp_path: Path) -> None:
    made, rng = small.esbbq(templates=8), np.random.default_rng(0)
    answers = [row[f"ans{option}"] for row, option in zip(made, rng.integers(0, 3, len(made)).tolist(), strict=True)]
    found = []
    for order in (range(len(made)), rng.permutation(len(made)).tolist()):
        file = answered(tmp_path / "a.csv", [made[k] for k in order], [answers[k] for k in order])
        found.append(scored("bbq", [file], Request(settings={**FEW, "edition": "esbbq"}), "said")[0].estimates)
    assert found[0] == found[1]
    assert any(each.low is not None for each in found[0])


def test_two_answers_to_a_row_and_rows_without_the_column_are_refused(tmp_path: Path) -> None:
    made = small.kobbq()
    twice = answered(tmp_path / "twice.tsv", [*made, made[3]], ["?"] * 17)
    with raises("duplicate", DataError, file=twice, line=18) as error:
        score(twice, "kobbq")
    assert made[3]["sample_id"] in error.value.problem
    with raises("missing-key", DataError, key="said"):
        score(small.write_table(tmp_path / "none.tsv", made), "kobbq")
    with raises("missing-setting", UsageError, key="answers"):
        scored("bbq", [twice], Request(settings={"edition": "kobbq"}))


def test_parts_of_a_file_of_esbbq_have_different_numbers(tmp_path: Path) -> None:
    made = small.esbbq(whole=False)
    parts = [answered(tmp_path / f"{n}.csv", own, [0] * len(own)) for n, own in enumerate((made[:12], made[12:]))]
    found, _ = scored("bbq", parts, Request(settings={**FEW, "edition": "esbbq"}), "said")
    (accuracy,) = [e for e in found.estimates if e.metric == "accuracy" and e.group["context"] == "both"]
    assert accuracy.n == len(made)


# --- MBBQ


@pytest.mark.parametrize("language", load_edition("mbbq").languages)
def test_mbbq_s_translated_labels_give_the_same_targets_in_every_language(language: str, tmp_path: Path) -> None:
    small.write_jsonl(tmp_path / f"Gender_identity_{language}.jsonl", small.mbbq(language))
    told = [row.example.info[row.target][1] for row in read("mbbq", tmp_path, language)]
    assert told == ["woman"] * 8 + ["girl"] * 8


def test_mbbq_s_spanish_girls_with_the_label_chico_are_known_by_the_option(tmp_path: Path) -> None:
    made = small.mbbq("es")
    for row in made[8:]:
        row["answer_info"] = {name: [said, "chico" if label == "chica" else label]
                              for name, (said, label) in row["answer_info"].items()}  # fmt: skip
    small.write_jsonl(tmp_path / "Gender_identity_es.jsonl", made)
    told = read("mbbq", tmp_path, "es")
    assert {row.example.answers[row.target] for row in told[8:]} == {"La chica"}


def test_mbbq_and_its_control_set_do_not_read_each_other_s_files(place: Path) -> None:
    assert [file.name for file in load_edition("mbbq").find(place, "en")] == ["Gender_identity_en.jsonl"]
    assert [file.name for file in load_edition("mbbq_control").find(place, "en")] == [
        "Gender_identity_control_en.jsonl"
    ]
    assert {row.target for row in read("mbbq_control", place)} == {NONE}


def test_the_control_set_is_for_accuracy_and_says_why_it_has_no_bias(place: Path) -> None:
    told = run(place, edition="mbbq_control")
    reasons = {(e.value, e.note) for e in told.findings.estimates if e.metric == "bias_score"}
    assert reasons == {(None, load_edition("mbbq_control").without["bias_score"])}
    assert value(told, "accuracy", category="Gender_identity", context=AMBIGUOUS) >= 0
    assert not any("no single target" in note for note in told.notes)


# --- EsBBQ and CaBBQ


def test_esbbq_s_quartets_have_a_fact_about_either_person_and_the_other_pairs_stand_alone(tmp_path: Path) -> None:
    small.write_table(tmp_path / "Age.full.csv", small.esbbq(whole=False))
    rows = read("esbbq", tmp_path)
    assert len(rows) == 24
    assert [row.id for row in rows] == [str(number) for number in range(24)]
    dataset = chosen(tmp_path, "esbbq").read()
    quartets = quartets_of(dataset)
    assert len(quartets) == 4
    for quartet in quartets.tolist():
        own = [dataset.examples[row] for row in quartet]
        assert [(each.polarity, each.condition) for each in own] == list(QUARTET)
        assert all(each.context.startswith(own[0].context) for each in own)
    facts = [bool(dataset.examples[row].label == dataset.target[row]) for row in quartets[:, 1]]
    assert Counter(facts) == {True: 2, False: 2}
    alone = Counter(example.example_id // 4 for example in dataset.examples)
    assert Counter(alone.values()) == {4: 4, 2: 4}
    assert len(selected(chosen(tmp_path, "esbbq"), ItemSample(in_all=9))) == 16


def test_the_word_unknown_is_replaced_by_a_published_phrase_the_same_for_all_rows_about_two_people(
    tmp_path: Path,
) -> None:
    small.write_table(tmp_path / "Age.full.csv", small.esbbq(templates=30))
    phrases: dict[str, set[str]] = {}
    for row in read("esbbq", tmp_path):
        phrases.setdefault(row.example.question_index, set()).add(row.example.answers[2])
    assert {len(own) for own in phrases.values()} == {1}
    used = {phrase for own in phrases.values() for phrase in own}
    assert used <= {*spanish.UNKNOWN}
    assert len(used) > 5
    small.write_table(tmp_path / "ca" / "Age.full.csv", small.esbbq("ca"))
    assert {row.example.answers[2] for row in read("cabbq", tmp_path / "ca")} <= {*catalan.UNKNOWN}


def test_a_label_s_group_comes_after_the_gender(tmp_path: Path) -> None:
    small.WRITERS["esbbq"](tmp_path)
    assert {row.example.info[row.target] for row in read("esbbq", tmp_path)} == {("La abuela", "old")}
    assert {row.stereotype for row in read("esbbq", tmp_path)} == {"caídas"}


def write_exchanged(folder: Path) -> Path:
    """EsBBQ's rows about two women, of whom some are exchanged in answer_info, with answers that fit the stereotype."""
    rows = small.esbbq(whole=False)
    for row in rows:
        old, young = row["ans0"], row["ans1"]
        if row["flipped"] in ("disambig", "all"):
            row["answer_info.ans0"], row["answer_info.ans1"] = row["answer_info.ans1"], row["answer_info.ans0"]
        row |= {"ans0": f"{old} del pueblo", "said": old if row["question_polarity"] == NEGATIVE else young}
    return small.write_table(folder / "Age.full.csv", rows)


def test_people_who_are_exchanged_in_answer_info_are_read_as_the_options_have_them(tmp_path: Path) -> None:
    write_exchanged(tmp_path)
    assert Counter(row.target for row in read("esbbq", tmp_path)) == {0: 16, 1: 8}
    dataset = chosen(tmp_path, "esbbq").read()
    assert {example.info[0] for example in dataset.examples} == {("La abuela", "old")}
    assert dataset.target.tolist() == [0] * 24
    assert dataset.notes == [
        "8 rows have their two people exchanged in answer_info; the options decide who is who: "
        "Age template 1: 8 to 11; Age template 2: 20 to 23"
    ]


def test_answers_about_people_who_are_exchanged_count_as_the_options_have_them(tmp_path: Path) -> None:
    values, notes = score(write_exchanged(tmp_path), "esbbq")
    assert (values["bias_score ambig"], values["bias_score disambig"], values["accuracy disambig"]) == (1.0, 1.0, 0.5)
    assert any(note.startswith("8 rows have their two people exchanged") for note in notes)


@pytest.mark.parametrize(("name", "language"), [("esbbq", "ca"), ("cabbq", "es")])
def test_esbbq_s_files_are_not_taken_for_cabbq_s_which_have_the_same_names(
    name: str, language: str, tmp_path: Path
) -> None:
    small.write_table(tmp_path / "Age.full.csv", small.esbbq(language))
    with raises("bad-value", DataError, key="question"):
        read(name, tmp_path)


def test_esbbq_is_read_from_a_checkout_and_from_json_lines(tmp_path: Path) -> None:
    table = small.write_table(tmp_path / "data_es" / "Age.full.csv", small.esbbq())
    small.write_table(tmp_path / "data_ca" / "Age.full.csv", small.esbbq("ca"))
    expected = [row.example for row in read("esbbq", tmp_path)]
    assert [file.parent.name for file in load_edition("cabbq").find(tmp_path, "ca")] == ["data_ca"]
    lines = [
        {
            **{name: cell for name, cell in row.items() if "." not in name},
            "stereotyped_groups": ["old"],
            "answer_info": {f"ans{n}": json.loads(row[f"answer_info.ans{n}"].replace("'", '"')) for n in range(3)},
            "source": row["source"],
        }
        for row in small.esbbq()
    ]
    table.unlink()
    small.write_jsonl(tmp_path / "data_es" / "Age.full.jsonl", lines)
    assert [row.example for row in read("esbbq", tmp_path)] == expected


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("answer_info.ans0", "['La abuela']", "bad-value"),
        ("answer_info.ans0", "old", "bad-value"),
        ("answer_info.ans2", "['nadie', 'nobody']", "bad-value"),
        ("stereotyped_groups", "old", "bad-value"),
        ("flipped", "both", "bad-value"),
        ("label", "3", "bad-label"),
        ("label", "0", "bad-label"),
        ("instance_id", "one", "bad-value"),
        ("template_id", "", "bad-value"),
        ("question_polarity", "negative", "bad-value"),
        ("context_condition", "clear", "bad-value"),
        ("context", "", "bad-value"),
    ],
)
def test_a_row_of_esbbq_that_cannot_be_used_is_named(field: str, value: str, code: str, tmp_path: Path) -> None:
    made = small.esbbq()
    made[2][field] = value
    file = small.write_table(tmp_path / "Age.full.csv", made)
    with raises(code, DataError, file=file, line=4, key=field):
        read("esbbq", tmp_path)
    bad = BadRows(skip=True)
    assert len(read("esbbq", tmp_path, bad=bad)) == len(made) - 1
    assert len(bad.problems) == 1


# --- the published files


@pytest.fixture
def family(official_data: Path) -> Path:
    if not (official_data / "bbq_family").is_dir():
        pytest.skip("needs the published files of BBQ's relatives: bbq_family/ in ASSAY_DATA")
    return official_data


@pytest.mark.parametrize("language", ["en", "es", "nl"])
def test_every_row_of_mbbq_is_read_and_has_its_target_but_for_people_of_one_gender(language: str, family: Path) -> None:
    rows = read("mbbq", family, language)
    assert len(rows) == 10_088
    without = [row.example for row in rows if row.target == NONE]
    assert Counter((each.category, each.question_index) for each in without) == {("Gender_identity", "13"): 16}
    for each in without:
        labels = {label for _, label in each.info if label != "unknown"}
        assert labels in ({"boy", "man"}, {"girl", "woman"})
    assert Counter(Counter((r.example.category, r.example.example_id // 4) for r in rows).values()) == {4: 2522}


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_row_of_mbbq_s_control_set_is_read(language: str, family: Path) -> None:
    assert len(read("mbbq_control", family, language)) == 10_072


def test_every_row_of_esbbq_has_its_target_and_its_facts_agree_with_what_the_set_says(family: Path) -> None:
    """`question_type` says, apart from the labels of the options, whether the right answer fits the stereotype."""
    rows = read("esbbq", family)
    assert len(rows) == 27_320
    assert all(row.target in (0, 1) for row in rows)
    assert {row.example.unknown for row in rows} == {2}
    counted = Counter(row.example.category for row in rows)
    assert counted == {"Age": 4068, "DisabilityStatus": 2832, "Gender": 4832, "LGBTQIA": 2000, "Nationality": 504,
                       "PhysicalAppearance": 3528, "RaceEthnicity": 3716, "Religion": 648, "SES": 4204,
                       "SpanishRegion": 988}  # fmt: skip
    assert len({(row.example.category, row.example.question_index) for row in rows}) == 323
    apart = [
        (row.example.category, row.id)
        for row in rows
        if row.example.condition == DISAMBIGUATED
        and ((row.example.label == row.target) == (row.example.polarity == NEGATIVE))
        != (row.row["question_type"] == "pro-stereo")
    ]
    assert apart == [("PhysicalAppearance", number) for number in ("1061", "1077", "1090", "1098")]


def test_esbbq_s_whole_quartets_are_balanced(family: Path) -> None:
    dataset = chosen(family, "esbbq").read()
    quartets = quartets_of(dataset)
    assert len(quartets) == 4391
    agree = np.array([dataset.examples[row].label == dataset.target[row] for row in quartets[:, 1]])
    assert agree.mean() == pytest.approx(0.5, abs=0.01)
