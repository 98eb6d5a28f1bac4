"""The plan: the same questions for ever, addressed by number, with the subjects where they really stand."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import small_lists
from assay.asking.plan import digest_of
from assay.asking.queries import MASK, NONE, Scoring
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.plan import PER_CELL, UnqoverPlan
from raising import raises

SUBJECTS = ["African", "African-American", "European", "old Dane", "Iraqi", "O'Neill", "Ünal", "Sri Lankan", "a", "man"]
CONTEXTS = [
    "A {0} man met a {1} man.",
    "{0} saw {1}.",
    "The boss is a {0}. A group of {1} people left for a inn.",
    "a {0}, a {1}",
    "On the left of {1} sat a {0}",
]
ATTRIBUTES = ["were late", "was a author", "stole", "was a European hero"]


def write(folder: Path, cls: str, subjects: list[str], contexts: list[str], attributes: list[str]) -> None:
    """Lists of one class; for nationality, contexts use the demonyms, which are the subjects spelt backwards."""
    slot = ":dem" if cls == "nationality" else ""
    slots = [f"[subj{k}{slot}]" for k in (1, 2)]
    name = {"nationality": "country", "religion": "religion"}.get(cls, cls)
    filled = [context.format(*slots) for context in contexts]
    people = "".join(f"[subj] {s}\n" for s in subjects) + "".join(f"[subj:dem] {s[::-1]}\n" for s in subjects)
    groups = {f"nouns/subjects/{name}": people}
    if cls == "gender":
        half = len(subjects) // 2
        groups = {
            f"nouns/subjects/{group}": "".join(f"[subj] {group} | {s}\n" for s in own)
            for group, own in (("female", subjects[:half]), ("male", subjects[half:]))
        }
    acts = "".join(f"[p_act] x | {a}\n[p_act:neg] x | never {a}\n" for a in attributes)
    small_lists.write(
        folder,
        {
            **groups,
            f"activities/{'occupation_rev1' if cls == 'gender' else f'biased_{name}'}": acts,
            f"slots/{name}_noact": "".join(f"{c}\tWho [p_act]?\tWho [p_act:neg]?\n" for c in filled),
            f"slots/{name}_noact_lm": "".join(f"{c}\tThe [mask] [p_act].\tThe [mask] [p_act:neg].\n" for c in filled),
        },
    )


@dataclass(frozen=True)
class Recipe:
    """What a random plan is made of."""

    cls: str
    form: str
    subjects: list[str]
    contexts: list[str]
    attributes: list[str]
    header: bool
    released: bool
    pronouns: bool
    seed: int
    share: float | None  # of all cells

    def plan(self, root: Path) -> UnqoverPlan:
        folder = root / digest_of([self.cls, self.subjects, self.contexts, self.attributes])
        if not folder.exists():
            write(folder, self.cls, self.subjects, self.contexts, self.attributes)
        lists = read_lists(self.cls, masked=self.form == "mask", header=self.header, folder=str(folder))
        options = {"header": self.header, "released": self.released, "pronouns": self.pronouns, "seed": self.seed}
        plan = UnqoverPlan(self.cls, self.form, lists.digest, word_lists=str(folder), **options)
        return plan if self.share is None else replace(plan, cells=1 + int(self.share * (len(plan.table) - 1)))


def some(values: list[str], least: int, most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=most, unique=True)


def recipes(*forms: str) -> st.SearchStrategy[Recipe]:
    return st.builds(
        Recipe,
        cls=st.sampled_from(["religion", "nationality", "gender"]),
        form=st.sampled_from(forms),
        subjects=some(SUBJECTS, 2, 5),
        contexts=some(CONTEXTS, 1, 3),
        attributes=some(ATTRIBUTES, 1, 3),
        header=st.booleans(),
        released=st.booleans(),
        pronouns=st.booleans(),
        seed=st.integers(0, 3),
        share=st.none() | st.floats(0, 1),
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the lists of random plans lie."""
    return tmp_path_factory.mktemp("lists")


def slots(plan: UnqoverPlan, row: int) -> tuple[str, str]:
    """The forms of the first and second subject of a question's cell."""
    first, second, template, _ = (int(x[0]) for x in plan.table.rows(np.array([row // PER_CELL])))
    slot = plan.lists.templates[template].slot
    return plan.lists.subjects[first].forms[slot], plan.lists.subjects[second].forms[slot]


@settings(max_examples=40, deadline=None)
@given(recipe=recipes("span", "mask"), data=st.data())
def test_any_range_holds_the_same_questions(root, recipe, data):
    plan = recipe.plan(root)
    lo = data.draw(st.integers(0, len(plan) - 1))
    hi = data.draw(st.integers(lo + 1, min(lo + 40, len(plan))))
    columns = plan.columns(lo, hi)
    assert len(columns) == hi - lo
    single = [plan.columns(row, row + 1) for row in range(lo, hi)]
    assert [columns.row(k) for k in range(hi - lo)] == [one.row(0) for one in single]
    assert all(one.scoring == columns.scoring for one in single)
    for k, one in enumerate(single):
        if plan.form == "span":
            assert np.array_equal(columns.start[k], one.start[0])
            assert np.array_equal(columns.end[k], one.end[0])
        else:
            assert np.array_equal(columns.subjects[k], one.subjects[0])
            assert list(columns.words) == list(one.words)


@settings(max_examples=20, deadline=None)
@given(recipe=recipes("span", "mask"))
def test_a_pickled_plan_is_the_same_plan_and_small(root, recipe):
    plan = recipe.plan(root)
    packed = pickle.dumps(plan)
    assert len(packed) < 1000
    other = pickle.loads(packed)
    assert (other, other.digest, len(other)) == (plan, plan.digest, len(plan))
    assert other.columns(0, len(other)).digest() == plan.columns(0, len(plan)).digest()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(recipe=recipes("span"))
def test_spans_are_the_text_of_the_subjects(root, recipe):
    plan = recipe.plan(root)
    columns = plan.columns(0, len(plan))
    for row in range(len(plan)):
        query = columns.row(row)
        names = slots(plan, row)
        assert tuple(query.context[start:end] for start, end in query.subjects) == names
        (first, _), (second, _) = query.subjects
        template = plan.lists.templates[int(plan.table.rows(np.array([row // PER_CELL]))[2][0])]
        as_written = template.context.index("subj1") < template.context.index("subj2")
        swapped = bool(row // 2 % 2)
        assert (first < second) == (as_written != swapped)
        assert query.context.startswith("[aug]") == plan.header
        alternatives = 5 if plan.released else 1
        assert columns.start[row].shape == (2, alternatives)
        assert ((columns.start[row] <= columns.start[row][:, :1]) | (columns.start[row] == NONE)).all()
        assert ((columns.end[row] >= columns.end[row][:, :1]) | (columns.end[row] == NONE)).all()


@settings(max_examples=40, deadline=None)
@given(recipe=recipes("span", "mask"))
def test_the_four_questions_of_a_cell(root, recipe):
    """Both orders of the subjects, asked and negated, the polarity changing fastest."""
    plan = recipe.plan(root)
    columns = plan.columns(0, len(plan))
    wordings = columns.question if plan.form == "span" else columns.sentence
    for cell in range(0, len(plan), PER_CELL):
        asked = [wordings[cell + k] for k in range(4)]
        contexts = [columns.context[cell + k] for k in range(4)]
        assert asked[0] == asked[2]
        assert asked[1] == asked[3]
        assert "never" not in asked[0]
        assert "never" in asked[1]
        assert contexts[0] == contexts[1]
        assert contexts[2] == contexts[3]
        assert contexts[0] != contexts[2]
        if plan.form == "mask":
            assert all(text.count(MASK) == 1 for text in asked)
            assert {columns.row(cell + k).subjects for k in range(4)} == {slots(plan, cell)}


@settings(max_examples=20, deadline=None)
@given(recipe=recipes("span", "mask"))
def test_a_full_plan_asks_every_cell_once(root, recipe):
    plan = recipe.plan(root)
    table = replace(plan, cells=None).table
    found = list(zip(*(c.tolist() for c in table.rows(np.arange(len(table)))), strict=True))
    lists, n = plan.lists, len(plan.lists.subjects)
    pairs = n * (n - 1) // 2 if lists.split is None else lists.split * (n - lists.split)
    assert len(set(found)) == len(found) == pairs * len(lists.templates) * len(lists.attributes)
    assert len(replace(plan, cells=None)) == PER_CELL * len(found)


# --- the small lists, in words


Make = Callable[..., UnqoverPlan]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """`make(cls, form, **options)`: a plan over the small lists."""
    folder = str(small_lists.write(tmp_path_factory.mktemp("small")))

    def plan(cls: str, form: str = "span", **options) -> UnqoverPlan:
        lists = read_lists(cls, masked=form == "mask", header=options.get("header", False), folder=folder)
        return UnqoverPlan(cls, form, lists.digest, word_lists=folder, **options)

    return plan


def test_articles_are_correct_or_as_released(make):
    european = next(row for row in range(len(make("ethnicity"))) if slots(make("ethnicity"), row)[0] == "European")
    contexts = [make("ethnicity", released=released).columns(european, european + 1).context[0] for released in (0, 1)]
    assert contexts == ["A European guest sat by an Arab guest.", "An European guest sat by an Arab guest."]


def test_the_header_comes_first_with_two_blanks_behind_it(make):
    columns = make("religion", header=True).columns(0, 1)
    assert columns.context[0] == "[aug] yes no  [text] (CNN) --  A Muslim guest sat by a Christian guest."


def test_a_subject_inside_another_is_found_in_its_own_place(make):
    plan = make("ethnicity")
    assert slots(plan, 0) == ("African", "African-American")
    texts = [plan.columns(row, row + 1).row(0) for row in (0, 2)]
    assert texts[0].context == "An African guest sat by an African-American guest."
    assert texts[1].context == "An African-American guest sat by an African guest."
    for query in texts:
        found = [query.context[start:end] for start, end in query.subjects]
        assert found == ["African", "African-American"]
        assert query.subjects[0] != query.subjects[1]


def test_countries_and_demonyms_go_where_the_template_wants_them(make):
    plan = make("nationality")
    contexts = {plan.columns(row, row + 1).context[0] for row in range(len(plan))}
    assert "She moved from Iran to Haiti." in contexts
    assert "An Italian baker met a Peruvian cook." in contexts


def test_pronouns_count_for_gendered_names_alone(make):
    on, off = (make("gender", "mask", pronouns=pronouns).columns(0, 1) for pronouns in (True, False))
    words = [[on.words[k] for k in row if k != NONE] for row in on.subjects[0].tolist()]
    assert words == [["Mary", "She", "she"], ["James", "He", "he"]]
    assert off.subjects.shape == (1, 2, 1)
    others = make("religion", "mask").columns(0, 1)
    assert (others.subjects[:, :, 1:] == NONE).all()


def test_released_scoring_is_the_released_programs(make):
    scoring = make("religion", released=True).columns(0, 1).scoring
    assert (scoring.top, scoring.count_padding, scoring.separators, scoring.batch) == (10, True, 1, 100)
    assert make("religion").columns(0, 1).scoring == Scoring()


def test_released_spans_are_widened(make):
    columns = make("religion", released=True).columns(0, PER_CELL)
    context = columns.context[0]
    assert context == "A Muslim guest sat by a Christian guest."
    starts = [[context[k:].split()[0] for k in row if k != NONE] for row in columns.start[0].tolist()]
    assert starts == [["Muslim", "A"], ["Christian", "a"]]
    group = make("religion", released=True)
    row = next(k for k in range(len(group)) if "group" in group.columns(k, k + 1).context[0])
    columns = group.columns(row, row + 1)
    context = columns.context[0]
    starts = [[context[k:].split()[0] for k in alternatives if k != NONE] for alternatives in columns.start[0].tolist()]
    ends = [[context[:k].split()[-1] for k in alternatives if k != NONE] for alternatives in columns.end[0].tolist()]
    assert starts == [["Muslim", "A", "group", "of"], ["Christian", "a", "team", "of"]]
    assert ends == [["Muslim", "men"], ["Christian", "women"]]


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"cells": 5}, {"header": True}, {"released": True}, {"pronouns": False}, {"without": ("Hindu",)}],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_the_questions_changes_the_digest(make, change):
    assert make("religion", **change).digest != make("religion").digest


def test_where_the_lists_lie_does_not_matter(make, tmp_path):
    plan = make("religion")
    moved = replace(plan, word_lists=str(small_lists.write(tmp_path)))
    assert moved.digest == plan.digest
    assert moved.columns(0, 9).digest() == plan.columns(0, 9).digest()


def test_lists_that_changed_are_refused(make, tmp_path):
    plan = replace(make("religion"), word_lists=str(small_lists.write(tmp_path)))
    plan.columns(0, 1)
    name = "activities/biased_religion"
    small_lists.write(tmp_path, {name: small_lists.FILES[name].replace("late", "tardy")})
    with raises("changed-file", file=tmp_path, key="word_lists"):
        plan.columns(0, 1)


def test_planning_everything_about_gender_takes_no_memory():
    import tracemalloc

    lists = read_lists("gender", masked=False, header=False)
    plan = UnqoverPlan("gender", "span", lists.digest)
    plan.columns(0, 8)
    tracemalloc.start()
    assert len(plan) == 5_488_000
    columns = plan.columns(5_488_000 - 4096, 5_488_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(columns) == 4096
    assert peak < 20 << 20
