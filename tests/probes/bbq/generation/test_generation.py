"""BBQ's examples from templates: everything here is made of templates and vocabularies of our own."""

from __future__ import annotations

import hashlib
import itertools
import json
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from assay.probes.bbq.items import UNKNOWN_STRINGS
from raising import raises
from small_templates import (
    NAMED,
    PLAIN,
    fillers,
    generated,
    generation,
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


# --- lists of names in the template


def test_an_example_in_full(folder: Path) -> None:
    row = PLAIN | {
        "version": "b",
        "Subcategory": "Night",
        "Names": "NAME1: [miller]; NAME2: [owl keeper]",
        "NAME1_info": "mill",
        "NAME2_info": "zoo",
        "Notes": "a source",
    }
    first, told, *_ = generated(folder, "Sleep", row)
    place = told.label
    assert json.loads(told.to_line()) == {
        "example_id": 1,
        "question_index": "1",
        "question_polarity": "neg",
        "context_condition": "disambig",
        "category": "Sleep",
        "answer_info": {f"ans{k}": list(told.info[k]) for k in range(3)},
        "additional_metadata": {
            "subcategory": "Night",
            "stereotyped_groups": ["baker"],
            "version": "b",
            "source": "a source",
        },
        "context": "Ferry tickets were checked by a miller and an owl keeper. It was the owl keeper who fell asleep.",
        "question": "Who dozed?",
        **{f"ans{k}": told.answers[k] for k in range(3)},
        "label": place,
    }
    assert (told.answers[place], told.info[place]) == (
        "The owl keeper ",
        ("owl keeper", "zoo"),
    )  # answers are as they are
    assert first.context == "Ferry tickets were checked by a miller and an owl keeper."
    assert people([first, told, *_]) == [(("miller", "mill"), ("owl keeper", "zoo"))]


def test_every_first_name_meets_every_second_in_the_lists_order(folder: Path) -> None:
    examples = generated(folder, "Age", PLAIN | {"Names": "{{NAME1}}: [a, b c]; {{NAME2}}: [d, e, f]"})
    assert fillers(examples) == list(itertools.product(["a", "b c"], ["d", "e", "f"]))
    assert people(examples)[0] == (("a", "a"), ("d", "d"))  # without NAME1_info, the label is the filler


def test_names_in_the_template_come_before_proper_names_and_vocabulary(folder: Path) -> None:
    row = PLAIN | {"Names": "NAME1: [x]; NAME2: [y]", "Proper_nouns_only": "TRUE"}
    for category in ("Race_ethnicity", "Gender_identity", "SES", "Religion"):
        assert fillers(generated(folder, category, row)) == [("x", "y")]


@pytest.mark.parametrize(
    ("names", "pairs", "notes"),
    [
        ("NAME1: [a; b]; NAME2: [c, d]", [("a", "c"), ("a", "d")], ["loses 'b]'"]),
        ("NAME1: [a, b]; NAME2: [c; d]", [], ["loses 'd]'", "produces no examples"]),
        ("NAME2: [a]; NAME1: [b]", [], ["produces no examples"]),
        ("NAME1: [a]", [], ["produces no examples"]),
    ],
)
def test_only_the_last_segment_can_be_the_second_list(
    folder: Path, names: str, pairs: list[tuple[str, str]], notes: list[str]
) -> None:
    """As in the authors' program, on which the official numbers depend; but the user is told."""
    assert fillers(generated(folder, "Age", PLAIN | {"Names": names})) == pairs
    told = generation(folder).notes()
    assert len(told) == len(notes)
    for note, part in zip(told, notes, strict=True):
        assert part in note
        assert "Age.csv, line 2" in note


def test_a_filler_that_is_part_of_the_other_keeps_its_label(folder: Path) -> None:
    names = {"Names": "NAME1: [a beard]; NAME2: [not a beard]", "NAME1_info": "with", "NAME2_info": "without"}
    for example in generated(folder, "Looks", PLAIN | names):
        labels = dict(zip((answer.strip() for answer in example.answers), example.info, strict=True))
        assert labels["The a beard"] == ("a beard", "with")
        assert labels["The not a beard"] == ("not a beard", "without")


def test_version_and_subcategory_are_none_where_the_table_has_none(folder: Path) -> None:
    names = PLAIN | {"Names": "NAME1: [x]; NAME2: [y]"}
    bare = generated(folder, "Age", names)[0]
    blank = generated(folder, "Age", names | {"version": "", "Subcategory": ""})[0]
    assert (bare.version, bare.subcategory, bare.source) == ("None", "None", "")
    assert (blank.version, blank.subcategory) == ("", "None")


# --- what is drawn


def test_words_that_do_not_matter_are_shared_by_both_orders(folder: Path) -> None:
    words = {
        "Ambiguous_Context": "In the {{WORD1}} a {{NAME1}} met a {{NAME2}} with {{WORD2}}.",
        "Lexical_diversity": "{{WORD1}}: [attic, cellar, barn]; WORD2: [soup]",
    }
    quartets = generated(folder, "Trades", PLAIN | words)[::4]
    places = [example.context.split(" ")[2] for example in quartets]
    assert places[::2] == places[1::2]
    assert all(example.context.endswith("with soup.") for example in quartets)
    seen = {generated(folder, "Trades", PLAIN | words, seed=seed)[0].context.split(" ")[2] for seed in range(20)}
    assert seen == {"attic", "cellar", "barn"}


def test_unknown_strings_and_orders_are_drawn_evenly(folder: Path) -> None:
    letters = "abcdefghijklmnop"
    names = f"NAME1: [{', '.join(letters)}]; NAME2: [{', '.join(letters.upper())}]"
    quartets = generated(folder, "Age", PLAIN | {"Names": names})[1::4]
    unknown = Counter(example.answers[example.unknown] for example in quartets)
    orders = Counter((example.unknown, example.label) for example in quartets)
    assert set(unknown) == set(UNKNOWN_STRINGS)
    assert len(orders) == 6
    assert max(unknown.values()) < 2.2 * len(quartets) / 10
    assert max(orders.values()) < 2 * len(quartets) / 6


def test_a_seed_gives_the_same_examples_for_ever(folder: Path) -> None:
    lines = [example.to_line() for row in (PLAIN, NAMED) for example in generated(folder, "Trades", row, seed=7)]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    assert digest == "ba697439363d9889d62bae0734be915e24fca8d16237e15605cebb337f7f9875"
    again = [example.to_line() for row in (PLAIN, NAMED) for example in generated(folder, "Trades", row, seed=8)]
    assert again != lines
    assert len(again) == len(lines)


def test_a_category_does_not_depend_on_the_others(folder: Path) -> None:
    alone = generated(folder, "Trades", PLAIN)
    generated(folder, "Religion", PLAIN | {"Known_stereotyped_groups": '["Sikh"]'})
    everything = generation(folder)
    assert everything.files() == ["Religion.jsonl", "Trades.jsonl"]
    assert [example for example in everything.examples() if example.category == "Trades"] == alone
    assert list(everything.examples_of("Trades")) == alone


def test_a_template_does_not_depend_on_those_before_it(folder: Path) -> None:
    first, second = NAMED, NAMED | {"Q_id": "2"}
    both = generated(folder, "Age", first, second)
    changed = generated(folder, "Age", first | {"Names": "NAME1: [x]; NAME2: [y]"}, second)
    assert [e.context for e in both if e.question_index == "2"] == [
        e.context for e in changed if e.question_index == "2"
    ]
    assert fillers(both)[:60] != fillers(both)[60:]


# --- files


def test_files_are_written_whole_in_the_official_format(folder: Path, tmp_path: Path) -> None:
    generated(folder, "Trades", *(PLAIN | {"Q_id": str(k)} for k in range(60)))
    (folder / "Trades.csv").rename(folder / "new_templates - Trades.csv")
    generated(folder, "Age", NAMED)
    write_sheet(folder / "new_templates - Filler_items.csv", [{"Q_id": "101", "Context": "no template"}])
    wanted, progress, out = generation(folder), [], tmp_path / "out" / "bbq"
    assert wanted.write(out, progress.append) == wanted.count() == sum(progress) == 60 * 24 + 240
    assert len(progress) == 2
    assert sorted(path.name for path in out.iterdir()) == wanted.files() == ["Age.jsonl", "Trades.jsonl"]
    for name in wanted.files():
        lines = (out / name).read_bytes().decode().splitlines()
        assert [json.dumps(json.loads(line)) for line in lines] == lines
        assert lines == [example.to_line() for example in wanted.examples_of(name.removesuffix(".jsonl"))]


def test_nothing_is_written_where_one_template_cannot_be_used(folder: Path, tmp_path: Path) -> None:
    generated(folder, "Age", NAMED)
    write_sheet(folder / "Trades.csv", [PLAIN | {"Known_stereotyped_groups": '["potter"]'}])
    with raises("bad-list", file=folder / "Trades.csv", line=2, key="Name"):
        generation(folder).write(tmp_path / "out", lambda _: None)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_examples(folder: Path) -> None:
    peaks = []
    for size in (10, 50):
        lists = [", ".join(f"{side}{k}" for k in range(size)) for side in "ab"]
        write_sheet(folder / "Age.csv", [PLAIN | {"Names": f"NAME1: [{lists[0]}]; NAME2: [{lists[1]}]"}])
        wanted = generation(folder)
        tracemalloc.start()
        assert sum(1 for _ in wanted.examples()) == 4 * size**2
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
