"""Who is compared with whom, by which rule, and with which labels."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import pytest

from small_templates import (
    CROSSED,
    GENDERED,
    NAMED,
    PLAIN,
    WORKING,
    both_orders,
    by,
    fillers,
    generated,
    people,
    write_names,
    write_sheet,
    write_vocabulary,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with both vocabularies and no templates yet."""
    write_vocabulary(tmp_path)
    write_names(tmp_path)
    return tmp_path


# --- words of the vocabulary


def test_stereotyped_words_meet_the_others_in_both_orders(folder: Path) -> None:
    groups = {"Known_stereotyped_groups": '["Sikh", "Hindu", "Druid"]'}
    examples = generated(folder, "Religion", PLAIN | groups)
    pairs = [("Hindu", "Jewish"), ("Hindu", "Mormon"), ("Sikh", "Jewish"), ("Sikh", "Mormon")]
    assert fillers(examples)[::2] == pairs  # in the vocabulary's order where there are fewer than five
    assert both_orders(fillers(examples))
    assert people(examples)[0] == (("Hindu", "Hindu"), ("Jewish", "Jewish"))
    assert {example.groups for example in examples} == {("Sikh", "Hindu", "Druid")}


def test_five_are_drawn_where_there_are_more(folder: Path) -> None:
    groups = {"Known_stereotyped_groups": json.dumps([f"in {k}" for k in range(9)])}
    words = [f"{side} {k}" for side in ("in", "out") for k in range(9)]
    write_sheet(folder / "vocabulary.csv", [{"Category": "Trades", "Name": word} for word in words])
    pairs = fillers(generated(folder, "Trades", PLAIN | groups))
    assert len(pairs) == 5 * 5 * 2
    assert both_orders(pairs)
    met = Counter(first for first, _ in pairs[::2])
    assert set(met.values()) == {5}
    assert all(first.startswith("in") and second.startswith("out") for first, second in pairs[::2])
    contrasts = {tuple(second for first, second in pairs[::2] if first == word) for word in met}
    assert len(contrasts) > 1  # drawn anew for every word
    assert all(len(set(own)) == 5 for own in contrasts)


def test_nationalities_have_their_region_as_label(folder: Path) -> None:
    examples = generated(folder, "Nationality", PLAIN | {"Known_stereotyped_groups": '["Kenyan"]'})
    labels = {info for pair in people(examples) for info in pair}
    assert labels == {("Omani", "Asia"), ("Kenyan", "Africa"), ("Malian", "Africa"), ("Irish", "Europe")}


def test_a_category_of_ones_own_takes_its_words_from_the_vocabulary(folder: Path) -> None:
    examples = generated(folder, "Trades", PLAIN)
    assert fillers(examples)[::2] == [("baker", "miller"), ("baker", "smith"), ("baker", "cooper")]
    assert {example.category for example in examples} == {"Trades"}


def test_gender_words_meet_those_of_their_subcategory_or_all(folder: Path) -> None:
    row = PLAIN | {"Known_stereotyped_groups": '["F"]'}
    assert fillers(generated(folder, "Gender_identity", row | {"Subcategory": "child"})) == [
        ("boy", "girl"),
        ("girl", "boy"),
    ]
    without = fillers(generated(folder, "Gender_identity", row | {"Subcategory": ""}))
    assert without == list(itertools.permutations(["man", "woman", "boy", "girl"], 2))


def test_occupations_meet_all_of_the_other_class(folder: Path) -> None:
    examples = generated(folder, "SES", PLAIN | {"Subcategory": "Occupation"})
    assert both_orders(people(examples))
    met: dict[str, list[str]] = {}
    for first, second in people(examples)[::2]:
        assert {first[1], second[1]} == {"lowSES", "highSES"}
        assert first[1] == f"{first[0].split()[0]}SES"
        met.setdefault(first[0], []).append(second[0])
    assert len(met) == 5
    for first, seconds in met.items():
        assert seconds == ([f"high {k}" for k in range(3)] if "low" in first else [f"low {k}" for k in range(4)])


# --- proper names


def test_race_names_meet_names_of_the_same_gender_from_other_groups(folder: Path) -> None:
    examples = generated(folder, "Race_ethnicity", NAMED | {"Known_stereotyped_groups": '["Black", "Latino", "Greek"]'})
    assert len(examples) == 200
    assert both_orders(people(examples))
    for (one, one_label), (other, other_label) in people(examples)[::2]:
        (gender, ethnicity), (other_gender, other_ethnicity) = one_label.split("-"), other_label.split("-")
        assert gender == other_gender
        assert ethnicity in ("Black", "Latino")
        assert other_ethnicity in ("Arab", "Asian", "White")
        for name, own in ((one, ethnicity), (other, other_ethnicity)):
            first, last = name.split(" ")
            assert first.startswith(f"{own[:2]}{gender}")
            assert last.startswith(f"Mc{own}")


def test_womens_names_meet_mens(folder: Path) -> None:
    examples = generated(folder, "Gender_identity", NAMED | {"Known_stereotyped_groups": '["F"]'})
    assert len(examples) == 200
    assert both_orders(people(examples))
    assert {(first[1], second[1]) for first, second in people(examples)[::2]} == {("F", "M")}
    assert all(text.startswith(label) for pair in people(examples) for text, label in pair)
    assert len({first for first, _ in fillers(examples)[::2]}) == 5


def test_a_templates_labels_stay_with_its_slots(folder: Path) -> None:
    """The context says who of the two it is: whoever is in that slot has the label, in either order."""
    infos = {"NAME1_info": "tall", "NAME2_info": "short", "Known_stereotyped_groups": '["short"]'}
    named = people(generated(folder, "Gender_identity", NAMED | infos))
    assert Counter((first[1], second[1]) for first, second in named) == {
        ("tall_F", "short_M"): 25,
        ("tall_M", "short_F"): 25,
    }
    for category in ("SES", "Height"):
        assert {(first[1], second[1]) for first, second in people(generated(folder, category, NAMED | infos))} == {
            ("tall", "short")
        }


def test_elsewhere_six_names_meet_each_other(folder: Path) -> None:
    pairs = fillers(generated(folder, "Age", NAMED))
    assert len(pairs) == 6 * 5 * 2
    assert both_orders(pairs)
    names = list(dict.fromkeys(first for first, _ in pairs[::2]))
    assert pairs[::2] == list(itertools.permutations(names, 2))
    assert all("-only-" in name for name in names)


# --- crossed categories


def test_crossed_words_are_compared_in_three_ways(folder: Path) -> None:
    examples = generated(folder, "Race_x_gender", GENDERED)
    assert len(examples) == 2 * 5 * 3 * 2 * 4
    assert [example.subcategory[-1] for example in examples[::4]] == list("abcabc") * 10
    for number, group in enumerate(by(6, people(examples))):
        race = "Arab" if number < 5 else "Roma"
        target = (f"{race} woman", f"F-{race}")
        (_, (a, a_label)), (_, (b, b_label)), (_, (c, c_label)) = group[:3]
        assert {first for first, _ in group[:3]} == {target}
        assert [(second, first) for first, second in group[:3]] == list(group[3:])
        assert (a, a_label) == (f"{race} man", f"M-{race}")
        other = b_label.removeprefix("F-")
        assert other not in ("Arab", "Roma")
        assert (b, c, c_label) == (f"{other} woman", f"{other} man", f"M-{other}")


def test_crossed_texts_agree_with_their_fillers(folder: Path) -> None:
    race = {"Known_stereotyped_race": '["Latino"]'}
    examples = generated(folder, "Race_x_gender", GENDERED | race)
    for told, other in zip(examples[1::4], examples[3::4], strict=True):
        for example in (told, other):
            text = example.info[example.label][0].replace("Latino woman", "Latina woman")
            assert example.answers[example.label] == f"The {text}"
            assert f" {text}" in example.context
        assert " a Arab" not in told.context
        assert " a Asian" not in told.context
    assert any("Latino woman" in text for example in examples for text, _ in example.info)  # the filler, as it was
    assert not any("Latino woman" in example.context for example in examples)


def test_occupations_are_drawn_for_every_contrast(folder: Path) -> None:
    occupations = set()
    for group in by(6, people(generated(folder, "Race_x_SES", WORKING))):
        (target, target_label), (a, a_label) = group[0]
        race, occupation = target.split(" ", 1)
        assert target_label == f"lowSES-{race}"
        assert occupation.startswith("low")
        assert a_label == f"highSES-{race}"
        (b, b_label), (c, c_label) = group[1][1], group[2][1]
        assert b.split(" ", 1)[1] == occupation
        assert c.split(" ", 1)[1] == a.split(" ", 1)[1]
        assert (b_label, c_label) == (f"lowSES-{b.split()[0]}", f"highSES-{b.split()[0]}")
        occupations.add(occupation)
    assert len(occupations) > 1


def test_terms_of_the_template_are_drawn_once(folder: Path) -> None:
    terms = {"Names": '[["rich", "wealthy"], ["poor", "broke"]]', "Var2_info": '["highSES", "lowSES"]'}
    seen = set()
    for seed in range(8):
        examples = generated(folder, "Race_x_SES", WORKING | terms, seed=seed)
        labels = {(text.split(" ")[1], label.split("-")[0]) for pair in people(examples) for text, label in pair}
        assert {label for _, label in labels} == {"lowSES", "highSES"}
        assert len(labels) == 2
        seen |= labels
    assert seen == {("poor", "lowSES"), ("broke", "lowSES"), ("rich", "highSES"), ("wealthy", "highSES")}


def test_names_crossed_with_gender(folder: Path) -> None:
    race = {"Known_stereotyped_race": '["Arab", "Black"]', "Proper_nouns_only": "TRUE"}
    examples = generated(folder, "Race_x_gender", CROSSED | race)
    assert len(examples) == 600
    others = set()
    for group in by(6, people(examples)):
        gender, ethnicity = group[0][0][1].split("-")
        assert gender == "F"
        assert ethnicity in ("Arab", "Black")
        labels = [second[1].split("-") for _, second in group[:3]]
        assert labels[0] == ["M", ethnicity]
        assert labels[1][0] == "F"
        assert labels[2][0] == "M"
        assert ethnicity not in (labels[1][1], labels[2][1])
        assert [(second, first) for first, second in group[:3]] == list(group[3:])
        others |= {labels[1][1], labels[2][1]}
    assert others & {"Arab", "Black"}  # only the target's own is excluded


@pytest.mark.parametrize("gender", ["", "M", "F"])
def test_names_crossed_with_status(folder: Path, gender: str) -> None:
    race = {"Known_stereotyped_race": '["Arab", "Black"]', "Proper_nouns_only": "TRUE", "Stated_gender_info": gender}
    examples = generated(folder, "Race_x_SES", WORKING | race)
    assert len(examples) == 600
    for group in by(6, people(examples)):
        (target, label), (a, a_label) = group[0]
        (b, b_label), (c, c_label) = group[1][1], group[2][1]
        status, own, ethnicity = label.split("-")
        assert status == "lowSES"
        assert gender in ("", own)
        assert a_label == f"highSES-{own}-{ethnicity}"
        assert target.split(" ")[0] != a.split(" ")[0]
        assert b.split(" ")[:2] == c.split(" ")[:2]
        other = b_label.split("-")[2]
        assert other not in ("Arab", "Black")
        assert (b_label, c_label) == (f"lowSES-{own}-{other}", f"highSES-{own}-{other}")
