"""Who is the target: by category, without substring accidents, and by the authors' metadata in both its meanings."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import small_bbq
from assay.asking.queries import NONE
from assay.probes.bbq.defects import content_lines
from assay.probes.bbq.items import NON_NEGATIVE, Item
from assay.probes.bbq.source import dataset_of, official
from assay.probes.bbq.targets import (
    find_named,
    find_targets,
    has_exchanged_people,
    read_by_options,
    read_metadata,
    template_attributes,
)
from raising import raises

CASES: dict[str, tuple[str, tuple[str, str], tuple[str, str] | None, tuple[str, ...], int]] = {
    # what is tested: category, labels, fillers, groups, the target among the two people
    "old is not in nonOld": ("Age", ("nonOld", "old"), None, ("old",), 1),
    "nonOld": ("Age", ("nonOld", "old"), None, ("nonOld",), 0),
    "disabled, whatever the groups say": ("Disability_status", ("nonDisabled", "disabled"), None, ("autistic",), 1),
    "case does not matter": ("Religion", ("muslim", "Hindu"), None, ("Muslim",), 0),
    "a nationality is the filler, not its region": (
        "Nationality",
        ("Africa", "Europe"),
        ("Malian", "Dutch"),
        ("Dutch",),
        1,
    ),
    "woman is F": ("Gender_identity", ("man", "woman"), None, ("F",), 1),
    "boy is M": ("Gender_identity", ("boy", "girl"), None, ("M",), 0),
    "trans by the label's beginning": ("Gender_identity", ("nonTrans_F", "trans_F"), None, ("Transgender women",), 1),
    "African is not African American": (
        "Race_ethnicity",
        ("African", "African American"),
        None,
        ("Black", "African American"),
        1,
    ),
    "a name's gender is left aside": ("Race_ethnicity", ("F-White", "F-Black"), None, ("Black",), 1),
    "low SES is lowSES": ("SES", ("highSES", "lowSES"), None, ("low SES",), 1),
    "somebody's own category": ("Handedness", ("left", "right"), None, ("left",), 0),
}


@pytest.mark.parametrize("what", CASES)
def test_the_target_is_found_by_the_category_s_rule(what: str) -> None:
    category, labels, fillers, groups, person = CASES[what]
    made = small_bbq.quartet(category, labels=labels, fillers=fillers, groups=groups, order=(2, 0, 1))
    assert find_targets(made).tolist() == [person + 1] * 4


@pytest.mark.parametrize("labels", [("boy", "man"), ("girl", "woman")])
def test_two_people_of_one_gender_have_no_single_target(labels: tuple[str, str]) -> None:
    assert (find_targets(small_bbq.quartet("Gender_identity", labels=labels, groups=("F",))) == NONE).all()


def crossed(first: str, second: str, comparison: str, number: int = 0, category: str = "Race_x_gender") -> list[Item]:
    return small_bbq.quartet(
        category,
        labels=(first, second),
        groups=("Black", "African American"),
        subcategory=f"intersectional_{comparison}",
        number=number,
    )


def test_a_crossed_target_has_both_attributes() -> None:
    """Whether the target is F or M is what both people of comparison b share."""
    made = (
        crossed("F-Black", "M-Black", "a")
        + crossed("F-White", "F-Black", "b", 1)
        + crossed("M-White", "F-Black", "c", 2)
        + crossed("F-White", "M-Black", "c", 3)
    )
    assert find_targets(made).tolist() == [0] * 4 + [1] * 4 + [1] * 4 + [NONE] * 4


def test_a_crossed_target_s_class_stands_first_in_the_label_of_a_name() -> None:
    made = crossed("lowSES-F-White", "lowSES-F-Black", "b", category="Race_x_SES") + crossed(
        "lowSES-F-Black", "highSES-F-Black", "a", 1, category="Race_x_SES"
    )
    assert find_targets(made).tolist() == [1] * 4 + [0] * 4


def test_without_comparison_b_comparison_c_shows_the_crossed_target() -> None:
    """Only one person of comparison c has the stereotyped race, and has the stereotyped gender, too."""
    examples = crossed("F-Black", "M-Black", "a") + crossed("M-White", "F-Black", "c", 1)
    assert find_targets(examples).tolist() == [0] * 4 + [1] * 4


def test_a_lost_label_in_comparison_c_is_read_from_the_answer() -> None:
    """“Latina” took the place of “Latino” in the published files, and the label was lost."""
    lost = [
        replace(
            example, info=(example.info[0], ("", ""), example.info[2]), answers=("The man", "The Latina", "Unknown")
        )
        for example in crossed("M-White", "F-Latino", "c")
    ]
    assert find_targets([replace(example, groups=("Latino",)) for example in lost]).tolist() == [1] * 4


ALONE = crossed("F-Black", "M-Black", "a")
"""Both people have the stereotyped race, and nothing in these rows says which gender the stereotype is about."""


def test_comparison_a_alone_does_not_show_the_crossed_target_and_a_note_counts_and_names_the_rows() -> None:
    assert (find_targets(ALONE) == NONE).all()
    (note,) = dataset_of(ALONE).notes
    assert note == (
        "4 rows have no single target, and the bias metrics leave them out (the target of crossed categories needs "
        "comparison b or c, or the authors' templates next to the data): Race_x_gender template 1: 0 to 3"
    )


def test_a_note_on_many_rows_without_a_target_stays_short() -> None:
    rows = [example for number in range(0, 400, 2) for example in crossed("F-Black", "M-Black", "a", number)]
    many = [replace(example, question_index=str(example.example_id // 200)) for example in rows]
    (note,) = dataset_of(many).notes
    assert note.startswith("800 rows have no single target")
    assert note.endswith("…; and 3 more templates")
    assert len(note) < 1000


def write_crossed_templates(folder: Path, attribute: str = "F") -> Path:
    folder.mkdir(parents=True)
    path = folder / "new_templates - Race_x_gender.csv"
    path.write_text(f"Q_id,Known_stereotyped_var2\n1,{attribute}\n2,M\n", encoding="utf-8")
    return path


def test_the_authors_templates_beside_the_file_show_the_crossed_target(tmp_path: Path) -> None:
    """Samples depend on targets: the template file is among the files of the run."""
    small_bbq.write(tmp_path / "data" / "Race_x_gender.jsonl", ALONE)
    templates = write_crossed_templates(tmp_path / "templates")
    dataset = official(tmp_path, (), None, "auto", "keep", skip_bad=False).read()
    assert dataset.target.tolist() == [0] * 4
    assert not dataset.notes
    assert templates.name in dataset.files
    assert "no single target: 0 examples" in "\n".join(content_lines(tmp_path, "bbq"))


def test_the_examples_decide_before_the_templates(tmp_path: Path) -> None:
    """A run on complete files is the same whether or not the templates are beside them."""
    small_bbq.write(tmp_path / "data" / "Race_x_gender.jsonl", ALONE + crossed("F-White", "F-Black", "b", 1))
    templates = write_crossed_templates(tmp_path / "templates", "M")
    dataset = official(tmp_path, (), None, "auto", "keep", skip_bad=False).read()
    assert dataset.target.tolist() == [0] * 4 + [1] * 4
    assert templates.name not in dataset.files
    assert template_attributes(templates.parent, ALONE) == {("Race_x_gender", "1"): "M"}


def test_a_lost_label_is_read_from_the_answer() -> None:
    kept = small_bbq.quartet(
        "Race_x_gender",
        labels=("F-White", "F-Latino"),
        groups=("Latino",),
        fillers=("White woman", "Latino woman"),
        subcategory="intersectional_b",
    )
    lost = [
        type(each)(
            **{
                **{name: getattr(each, name) for name in each.__slots__},
                "info": (each.info[0], ("", ""), each.info[2]),
                "answers": (each.answers[0], "The Latina woman", each.answers[2]),
            }
        )
        for each in kept
    ]
    assert find_targets(lost).tolist() == [1] * 4


def test_templates_with_names_are_told_by_their_number() -> None:
    made = [small_bbq.quartet(name, number)[0] for name in ("Race_ethnicity", "Age") for number in ("25", "26")]
    assert find_named(made).tolist() == [False, True, False, False]


# --- answer_info and options


def with_exchanged_people(example: Item) -> Item:
    """The same example with its two people exchanged in answer_info, but not in the options."""
    first, second = (option for option in range(3) if option != example.unknown)
    info = list(example.info)
    info[first], info[second] = info[second], info[first]
    return replace(example, info=tuple(info))


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
@pytest.mark.parametrize(
    "fillers", [("old potter", "young weaver"), ("guest with glasses", "glasses"), ("man", "woman"), ("Ann", "Anna")]
)
def test_people_who_are_exchanged_in_answer_info_are_who_the_options_say(
    fillers: tuple[str, str], order: tuple[int, int, int]
) -> None:
    for example in small_bbq.quartet(fillers=fillers, order=order):
        assert not has_exchanged_people(example)
        exchanged = with_exchanged_people(example)
        assert has_exchanged_people(exchanged)
        assert read_by_options(exchanged) == example == read_by_options(example)


def test_words_that_stand_in_no_option_do_not_exchange_anybody() -> None:
    """Options may inflect the words of answer_info."""
    for info in ((("chico", "M"), ("chica", "F")), (("", ""), ("chica", "F"))):
        example = replace(ALONE[0], info=(*info, ("Unknown", "unknown")), answers=("La vecina", "El vecino", "Unknown"))
        assert read_by_options(example) is example


def test_a_file_of_bbq_with_exchanged_people_has_the_targets_of_the_options_and_a_note() -> None:
    sound = dataset_of(EXAMPLES)
    dataset = dataset_of([with_exchanged_people(EXAMPLES[0]), *EXAMPLES[1:]])
    assert dataset.examples == sound.examples
    assert dataset.target.tolist() == sound.target.tolist()
    assert dataset.notes == [
        "1 row has their two people exchanged in answer_info; the options decide who is who: Age template 1: 0"
    ]


# --- additional_metadata.csv

EXAMPLES = small_bbq.examples(templates=3)


def metadata(path: Path, meaning: str, changes: dict[int, str] | None = None) -> Path:
    """A file of metadata for EXAMPLES, whose target_loc is the person or the biased answer."""
    targets = find_targets(EXAMPLES)
    columns = ["category", "question_index", "example_id", "target_loc", "label_type", "Relevant_social_values"]
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        for row, example in enumerate(EXAMPLES):
            loc = int(targets[row])
            if meaning == "biased" and example.polarity == NON_NEGATIVE:
                loc = 3 - loc - example.unknown
            told = (changes or {}).get(row, str(loc))
            writer.writerow(["Age", example.question_index, example.example_id, told, "label", "clumsiness"])
    return path


@pytest.mark.parametrize("meaning", ["person", "biased"])
def test_target_loc_is_understood_in_both_its_meanings(tmp_path: Path, meaning: str) -> None:
    read = read_metadata(metadata(tmp_path / "m.csv", meaning))
    assert read.meaning() == meaning
    for told in ("auto", meaning):
        assert read.targets(EXAMPLES, told).tolist() == find_targets(EXAMPLES).tolist()
    other = {"person": "biased", "biased": "person"}[meaning]
    assert read.targets(EXAMPLES, other).tolist() != find_targets(EXAMPLES).tolist()


def test_metadata_give_targets_names_and_stereotypes(tmp_path: Path) -> None:
    read = read_metadata(metadata(tmp_path / "m.csv", "biased"))
    nameless = [
        type(each)(**{**{name: getattr(each, name) for name in each.__slots__}, "groups": ("nobody",)})
        for each in EXAMPLES
    ]
    assert (dataset_of(nameless).target == NONE).all()
    completed = dataset_of(nameless, read)
    assert completed.target.tolist() == find_targets(EXAMPLES).tolist()
    assert set(completed.stereotype) == {"clumsiness"}
    assert not completed.named.any()


def test_an_example_without_target_loc_keeps_the_rule_s_target(tmp_path: Path) -> None:
    read = read_metadata(metadata(tmp_path / "m.csv", "biased", {0: "NA"}))
    assert dataset_of(EXAMPLES, read).target.tolist() == find_targets(EXAMPLES).tolist()


@pytest.mark.parametrize("wrong", ["3", "first", "-1"])
def test_metadata_that_make_no_sense_are_named_by_line(tmp_path: Path, wrong: str) -> None:
    with raises("bad-value", file=tmp_path / "m.csv", line=3, key="target_loc"):
        read_metadata(metadata(tmp_path / "m.csv", "biased", {1: wrong}))


def test_another_csv_is_no_metadata(tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text("category,example_id\nAge,0\n")
    with raises("missing-key", file=file, line=1, key="question_index"):
        read_metadata(file)


def test_official_files_have_16_examples_without_a_target(official_data: Path) -> None:
    from assay.files.rows import BadRows
    from assay.probes.bbq.read_items import data_files, read_examples

    without = 0
    for file in data_files(official_data):
        examples = read_examples(file, BadRows(skip=False))
        missing = np.flatnonzero(find_targets(examples) == NONE)
        without += len(missing)
        assert {(examples[row].category, examples[row].question_index) for row in missing} <= {
            ("Gender_identity", "13")
        }
    assert without == 16
