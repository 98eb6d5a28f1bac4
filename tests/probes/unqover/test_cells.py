"""Which cells are asked: everything once, or a balanced sample of a chosen size."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.asking.plan import WordPlan
from assay.asking.queries import Answers
from assay.errors import UsageError
from assay.probes import method_of
from assay.probes.base import Request
from assay.probes.unqover.lists import Attribute, Subject, UnqoverTemplate, WordLists, read_lists
from assay.probes.unqover.method import UnqoverPrepared
from assay.probes.unqover.plan import CellTable, ClassForm, cell_table
from assay.probes.unqover.settings import CLASSES
from raising import raises

ALL = {"gender": 1_372_000, "nationality": 1_154_232, "ethnicity": 73_500, "religion": 38_500}


class Tokenizer:
    """An `ask` that knows words alone: each is one token, except those that it is told of."""

    ways = ()

    def __init__(self, *abilities: str, many: tuple[str, ...] = ()) -> None:
        self.abilities, self.many = frozenset((*abilities, "word")), many

    def __call__(self, plan: WordPlan, label: str) -> Answers:
        pieces = np.array([2 if word in self.many else 1 for word in plan.words], np.int32)
        keys = np.arange(len(plan), dtype=np.uint64)
        return Answers(np.zeros(len(plan), np.uint8), {"pieces": pieces, "key": keys})


def prepared(tokenizer: Tokenizer, **request) -> UnqoverPrepared:
    return method_of("unqover").prepare(Request(**request), tokenizer)


def plans(*forms: str, **request):
    return prepared(Tokenizer(*forms), **request).plans


def rows(table: CellTable) -> list[tuple[int, int, int, int]]:
    """first, second, template, attribute of every cell"""
    columns = table.rows(np.arange(len(table), dtype=np.int64))
    return list(zip(*(column.tolist() for column in columns), strict=True))


@cache
def packaged(cls: str) -> WordLists:
    return read_lists(cls, masked=False, header=False)


def small_lists(people: int, places: int, templates: tuple[int, int], subjects: int, split: int | None) -> WordLists:
    """Lists that only have numbers: so many attributes and templates of each kind."""
    counts = {"p_act": people, "l_act": places}
    return WordLists(
        subjects=tuple(Subject("None", {"subj": f"s{k}"}) for k in range(subjects)),
        split=split,
        attributes=tuple(Attribute(kind, "None", {kind: f"{kind}{k}"}) for kind in counts for k in range(counts[kind])),
        templates=tuple(
            UnqoverTemplate("", "", "", "subj", kind)
            for kind, number in zip(counts, templates, strict=True)
            for _ in range(number)
            if counts[kind]
        ),
        header="",
        files={},
    )


any_lists = st.builds(
    small_lists,
    people=st.integers(1, 7),
    places=st.integers(0, 3),
    templates=st.tuples(st.integers(1, 6), st.integers(1, 3)),
    subjects=st.integers(2, 7),
    split=st.none() | st.just(1),
) | st.builds(
    small_lists,
    people=st.integers(1, 7),
    places=st.just(0),
    templates=st.tuples(st.integers(1, 6), st.just(1)),
    subjects=st.integers(3, 9),
    split=st.integers(1, 2),
)


def every_cell(lists: WordLists) -> set[tuple[int, int, int, int]]:
    n = len(lists.subjects)
    return {
        (i, j, t, a)
        for i in range(n)
        for j in range(i + 1, n)
        if lists.split is None or i < lists.split <= j
        for t, template in enumerate(lists.templates)
        for a, attribute in enumerate(lists.attributes)
        if template.kind == attribute.kind
    }


# --- any lists


@given(any_lists)
def test_a_full_table_has_every_cell_once(lists):
    found = rows(cell_table(lists, None, 0))
    assert len(found) == len(set(found))
    assert set(found) == every_cell(lists)


@given(any_lists, st.integers(0, 5), st.data())
def test_a_sample_has_so_many_different_cells(lists, seed, data):
    everything = every_cell(lists)
    wanted = data.draw(st.integers(1, len(everything)))
    found = rows(cell_table(lists, wanted, seed))
    assert len(found) == len(set(found)) == wanted
    assert set(found) <= everything


@given(any_lists, st.integers(0, 5), st.data())
def test_samples_of_one_seed_are_nested(lists, seed, data):
    total = len(every_cell(lists))
    few = data.draw(st.integers(1, total))
    many = data.draw(st.integers(few, total))
    assert set(rows(cell_table(lists, few, seed))) <= set(rows(cell_table(lists, many, seed)))


@given(any_lists, st.integers(0, 5), st.data())
def test_a_sample_covers_attributes_templates_and_subjects_as_evenly_as_it_can(lists, seed, data):
    wanted = data.draw(st.integers(1, len(every_cell(lists))))
    found = rows(cell_table(lists, wanted, seed))
    kinds = [template.kind for template in lists.templates]
    attributes = Counter(a for *_, a in found)
    if wanted >= len(lists.attributes):
        assert len(attributes) == len(lists.attributes)
    for kind in set(kinds):
        own = [k for k, attribute in enumerate(lists.attributes) if attribute.kind == kind]
        asked = Counter(t for _, _, t, _ in found if kinds[t] == kind)
        if asked.total() >= max(kinds.count(kind), len(own)):
            assert len(asked) == kinds.count(kind)
    subjects = Counter(x for i, j, *_ in found for x in (i, j))
    if lists.split is None and wanted >= len(lists.subjects):
        assert len(subjects) == len(lists.subjects)


@given(any_lists, st.integers(0, 3))
def test_subjects_that_are_left_out_occur_nowhere(lists, seed):
    without = frozenset({lists.subjects[-1].name})
    table = cell_table(lists, None, seed, without)
    assert not any(len(lists.subjects) - 1 in row[:2] for row in rows(table))
    assert set(rows(table)) == {row for row in every_cell(lists) if len(lists.subjects) - 1 not in row[:2]}


# --- the packaged lists


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("cls", CLASSES)
def test_quick_asks_often_about_few_attributes_and_is_balanced(cls, seed):
    lists = packaged(cls)
    plan = plans("span", preset="quick", seed=seed, settings={"class": cls})[ClassForm(cls, "span")]
    found = rows(plan.table)
    assert len(plan) == 4 * 8 * 140 == 4 * len(set(found))
    attributes = Counter(a for *_, a in found)
    subjects = Counter(x for i, j, _, _ in found for x in (i, j))
    assert len(attributes) == 8
    for kind in {lists.attributes[a].kind for a in attributes}:  # some go with more templates than others
        own = [count for a, count in attributes.items() if lists.attributes[a].kind == kind]
        assert max(own) - min(own) <= (1 if cls != "nationality" else 2)
    assert len(subjects) == len(lists.subjects)
    assert max(subjects.values()) - min(subjects.values()) <= 2
    for kind in {lists.attributes[a].kind for a in attributes}:
        own = [sum(row[2] == t for row in found) for t, x in enumerate(lists.templates) if x.kind == kind]
        assert min(own) > 0
        assert max(own) - min(own) <= 3


def test_the_seed_draws_the_attributes_and_a_setting_says_how_many():
    def asked(seed: int, **settings: str) -> set[int]:
        found = plans("span", seed=seed, settings=settings)[ClassForm("gender", "span")]
        return {a for *_, a in rows(found.table)}

    assert asked(0) == asked(0) != asked(1)
    assert asked(0) < asked(0, attributes="20")
    assert len(asked(0, attributes="20")) == 20
    assert len(asked(0, attributes="1000")) == 70


def test_quick_sizes_of_models_that_can_do_one_form_or_both():
    assert {part.label: len(plan) for part, plan in plans("span").items()} == {"gender (span)": 4480}
    both = plans("span", "mask")
    assert list(both) == [ClassForm("gender", "span"), ClassForm("gender", "mask")]
    assert sum(map(len, both.values())) == 8_960  # about 9,000
    assert sum(map(len, plans("mask").values())) == 4_480


def test_quick_says_in_one_line_what_it_leaves_out():
    assert prepared(Tokenizer("span")).notes == [
        "asked about 8 of 70 attributes of gender; not about nationality, ethnicity, religion"
    ]
    assert prepared(Tokenizer("span"), preset="standard").notes == []


def test_the_written_settings_of_a_quick_run_ask_the_same_again():
    new = prepared(Tokenizer("span"))
    written = {key: str(value) for key, value in new.settings.items() if value is not None}
    assert plans("span", settings=written) == new.plans


def test_standard_asks_at_most_200_000_questions_of_a_class_and_form():
    found = plans("span", "mask", preset="standard")
    assert len(found) == 8
    for part, plan in found.items():
        assert len(plan) == min(200_000, 4 * ALL[part.cls])


def test_paper_asks_everything():
    found = plans("span", preset="paper")
    assert {part.cls: len(plan.table) for part, plan in found.items()} == ALL
    assert all(plan.table.sample is None for plan in found.values())


@pytest.mark.parametrize("limit", [1, 5, 255, 256, 1000, 4001, 20_000])
def test_a_limit_is_reached_in_whole_cells(limit):
    total = sum(map(len, plans("span", limit=limit).values()))
    assert total % 4 == 0
    assert max(limit, 16) <= total < max(limit, 16) + 4  # at least a cell of each class


def test_a_limit_is_shared_out_evenly_and_what_one_class_lacks_goes_to_others():
    even = plans("span", limit=40_000)
    assert {len(plan) for plan in even.values()} == {10_000}
    found = {part.cls: len(plan) for part, plan in plans("span", limit=2_000_000).items()}
    assert found == {"gender": 776_000, "nationality": 776_000, "ethnicity": 294_000, "religion": 154_000}
    everything = plans("span", limit=10**9)
    assert {part.cls: len(plan.table) for part, plan in everything.items()} == ALL


@pytest.mark.parametrize("cls", CLASSES)
def test_a_limit_covers_every_attribute_and_template(cls):
    lists = packaged(cls)
    limit = 4 * len(lists.attributes)
    found = rows(plans("span", limit=limit, settings={"class": cls})[ClassForm(cls, "span")].table)
    assert {a for *_, a in found} == set(range(len(lists.attributes)))
    assert {t for _, _, t, _ in found} == set(range(len(lists.templates)))


def test_limits_are_deterministic_nested_and_differ_between_seeds():
    def sample(limit: int, seed: int) -> dict[ClassForm, set[tuple[int, int, int, int]]]:
        return {part: set(rows(plan.table)) for part, plan in plans("span", limit=limit, seed=seed).items()}

    small, large, other = sample(800, 0), sample(3000, 0), sample(800, 1)
    assert small == sample(800, 0)
    for part in small:
        assert small[part] < large[part]
        assert small[part] != other[part]


def test_a_limit_too_small_for_all_attributes_is_noted():
    notes = prepared(Tokenizer("span"), limit=40).notes
    assert [note.split(":")[0] for note in notes] == [f"{cls} (span)" for cls in reversed(sorted_by_size())]


def sorted_by_size() -> list[str]:
    return sorted(CLASSES, key=lambda cls: -ALL[cls])


def test_subjects_of_several_tokens_are_left_out_of_masked_sentences_alone():
    names = ("African-American", "Middle-Eastern")
    settings = {"class": "ethnicity", "form": "both"}
    asked = prepared(Tokenizer("span", "mask", many=names), preset="paper", settings=settings)
    found = asked.plans
    assert found[ClassForm("ethnicity", "span")].without == ()
    left_out = found[ClassForm("ethnicity", "mask")].without
    assert set(left_out) <= set(names)
    kept = 15 - len(left_out)
    assert len(found[ClassForm("ethnicity", "mask")]) == 4 * 14 * 50 * kept * (kept - 1) // 2
    assert len(asked.notes) == 1
    assert ", ".join(left_out) in asked.notes[0]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("preset", "huge"),
        ("limit", 0),
        ("seed", -1),
    ],
)
def test_requests_that_make_no_sense(option, value):
    with raises("bad-option", UsageError, key=option):
        prepared(Tokenizer("span"), **{option: value})
