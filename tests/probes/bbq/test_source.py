"""Which examples are asked: whole quartets, spread evenly, the same for every model; and what a plan makes of them."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import small_bbq
from assay.asking.queries import ChoiceColumns, TextColumns
from assay.errors import UsageError
from assay.probes.base import Request
from assay.probes.bbq import PROBE
from assay.probes.bbq.defects import find_defects, ranges
from assay.probes.bbq.items import QUARTET, Dataset
from assay.probes.bbq.method import BBQ
from assay.probes.bbq.plan import ORDERS, BBQPlan
from assay.probes.bbq.settings import BBQSettings
from assay.probes.bbq.source import ItemSample, ItemSource, dataset_of, official, selected
from assay.probes.bbq.tallies import AnsweredItems
from assay.probes.bbq_starter import PROBE as STARTER
from assay.probes.bbq_starter.method import BBQStarter
from assay.runs.question_files import generate
from raising import raises

QUARTETS = 10


@pytest.fixture
def source(tmp_path: Path) -> ItemSource:
    for name, labels in {"Age": ("old", "nonOld"), "Religion": ("Hindu", "Sikh"), "SES": ("lowSES", "highSES")}.items():
        templates = {"Age": 6, "Religion": 4, "SES": 9}[name]
        examples = small_bbq.examples(templates, QUARTETS, name, labels)
        small_bbq.write(tmp_path / f"{name}.jsonl", examples)
    return make(tmp_path)


def make(place: Path, categories: tuple[str, ...] = (), defects: str = "keep") -> ItemSource:
    return official(place, categories, None, "auto", defects, skip_bad=False)


def starter(category: str = "") -> ItemSource:
    return BBQStarter(STARTER).source(BBQSettings(category), Request())


def quartets(dataset: Dataset) -> Counter[tuple[str, int]]:
    return Counter((example.category, example.example_id // 4) for example in dataset.examples)


def facts(dataset: Dataset) -> dict[tuple[str, str], tuple[int, int]]:
    """Of every template, the quartets whose facts agree with the stereotype, and those whose facts contradict it."""
    aligned = AnsweredItems(dataset, np.zeros((len(dataset), 1), np.int64)).judged.aligned[:, 0]
    counts: dict[tuple[str, str], list[float]] = {}
    for example, side in zip(dataset.examples, aligned, strict=True):
        own = counts.setdefault((example.category, example.question_index), [0.0, 0.0])
        own[0] += (side == 1) / 2  # both questions of a quartet that come with its fact
        own[1] += (side == 0) / 2
    return {template: (int(agree), int(contradict)) for template, (agree, contradict) in counts.items()}


@pytest.mark.parametrize("wanted", [1, 3, 7, 19, 40, 100])
def test_a_limit_takes_whole_quartets_from_every_category_and_template(source: ItemSource, wanted: int) -> None:
    taken = selected(source, ItemSample(in_all=wanted))
    assert len(taken) == wanted * len(QUARTET)
    assert set(quartets(taken).values()) == {len(QUARTET)}
    by_category = Counter(category for category, _ in quartets(taken))
    assert len(by_category) == min(wanted, 3)
    assert max(by_category.values()) - min(by_category.values()) <= 2  # a pair
    for category in by_category:
        templates = Counter(
            example.question_index for example in taken.examples[:: len(QUARTET)] if example.category == category
        )
        assert max(templates.values()) - min(templates.values()) <= 2


@pytest.mark.parametrize("wanted", [1, 2, 5, 6, 7, 11, 12, 13, 19, 40, 99])
def test_a_limit_takes_as_many_facts_that_agree_as_contradict(source: ItemSource, wanted: int) -> None:
    """First come single quartets of two templates of each of the three categories, then their partners, then pairs."""
    counts = facts(selected(source, ItemSample(in_all=wanted)))
    apart = [agree - contradict for agree, contradict in counts.values()]
    assert abs(sum(apart)) <= 1
    singles = 2 * 3
    assert sum(map(abs, apart)) == (min(wanted, 2 * singles - wanted) if wanted < 2 * singles else wanted % 2)


def test_more_than_there_is_takes_everything(source: ItemSource) -> None:
    assert len(selected(source, ItemSample(in_all=10_000))) == len(source.read()) == 19 * QUARTETS * 4


def test_a_larger_limit_contains_the_smaller(source: ItemSource) -> None:
    small, large = (quartets(selected(source, ItemSample(in_all=n))) for n in (20, 50))
    assert small.keys() < large.keys()


@pytest.mark.parametrize("taken", [2, 6, 10])
def test_so_many_of_every_template_are_balanced_over_who_the_fact_is_about(source: ItemSource, taken: int) -> None:
    counts = facts(selected(source, ItemSample(per_template=taken)))
    assert len(counts) == 19
    assert set(counts.values()) == {(taken // 2, taken // 2)}


def test_quartets_without_a_target_are_no_half_of_a_pair(tmp_path: Path) -> None:
    """They neither agree with the stereotype nor contradict it."""
    aimed = small_bbq.examples(templates=1, quartets=4)
    nobody = [row for n in range(50, 60) for row in small_bbq.quartet("Age", "1", n, labels=("x", "x"))]
    small_bbq.write(tmp_path / "Age.jsonl", [*aimed, *nobody])
    for seed in range(5):
        assert facts(selected(make(tmp_path), ItemSample(per_template=4, seed=seed))) == {("Age", "1"): (2, 2)}


def test_a_template_that_lacks_facts_of_one_kind_still_gets_its_quartets(tmp_path: Path) -> None:
    both = [row for n in range(8) for row in small_bbq.quartet("Age", "1", n, bad=int(n == 0))]
    small_bbq.write(tmp_path / "Age.jsonl", both)
    assert facts(selected(make(tmp_path), ItemSample(per_template=2))) == {("Age", "1"): (1, 1)}
    assert facts(selected(make(tmp_path), ItemSample(per_template=6))) == {("Age", "1"): (5, 1)}


@pytest.mark.parametrize("preset", ["quick", "standard"])
def test_presets_of_the_starter_set_have_as_many_facts_that_agree_as_contradict(preset: str) -> None:
    size = BBQStarter(STARTER).presets[preset]
    assert size is not None
    counts = facts(selected(starter(), ItemSample(per_template=size)))
    assert len(counts) == 11 * 8
    assert set(counts.values()) == {(size // 2, size // 2)}


@pytest.mark.parametrize("preset", ["quick", "standard"])
def test_presets_of_the_official_files_have_as_many_facts_that_agree_as_contradict(
    official_data: Path, preset: str
) -> None:
    source, size = make(official_data), BBQ(PROBE).presets[preset]
    assert size is not None
    every, taken = facts(source.read()), facts(selected(source, ItemSample(per_template=size)))
    assert taken.keys() == every.keys()
    for template, (agree, contradict) in taken.items():
        lacks = min(min(every[template]) - size // 2, 0)
        assert agree == contradict or lacks < 0, template
    assert sum(agree != contradict for agree, contradict in taken.values()) <= 4  # templates about one side only


def test_comparisons_of_the_starter_s_crossed_categories_take_turns() -> None:
    taken = selected(starter("Race_x_gender"), ItemSample(per_template=4))
    counts = Counter(each.comparison for each in taken.examples)
    assert counts.keys() == {"a", "b", "c"}
    assert max(counts.values()) - min(counts.values()) <= len(QUARTET)


def test_places_of_unknown_stay_balanced_in_the_starter_s_quick_sample() -> None:
    taken = selected(starter(), ItemSample(per_template=4))
    places = Counter((each.category, each.unknown) for each in taken.examples[:: len(QUARTET)])
    assert set(places.values()) == {10, 11}


def test_the_seed_decides_which(source: ItemSource) -> None:
    one, again, other = (quartets(selected(source, ItemSample(in_all=30, seed=seed))) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_incomplete_quartets_are_never_sampled(tmp_path: Path) -> None:
    small_bbq.write(tmp_path / "Age.jsonl", small_bbq.examples(templates=3, quartets=2)[1:])
    taken = selected(make(tmp_path), ItemSample(in_all=99))
    assert len(taken) == 5 * 4
    assert ("Age", 0) not in quartets(taken)


def test_only_some_categories(source: ItemSource, tmp_path: Path) -> None:
    assert {e.category for e in make(tmp_path, ("Age", "SES")).read().examples} == {"Age", "SES"}
    with raises("bad-setting", UsageError, key="category"):
        make(tmp_path, ("Nationality",))
    with raises("bad-setting", UsageError, key="category"):
        starter("Ages")


def test_the_starter_set_s_quick_sample_is_1408_examples() -> None:
    assert "1,408" in STARTER.presets["quick"].asks
    taken = selected(starter(), ItemSample(per_template=BBQStarter(STARTER).presets["quick"]))
    assert len(taken) == 11 * 8 * 4 * 4 == 1408
    assert set(Counter(e.category for e in taken.examples).values()) == {128}


def test_the_starter_set_written_to_files_is_read_back_with_the_same_targets(tmp_path: Path) -> None:
    assert generate("bbq-starter", tmp_path).examples == len(starter().read())
    read, packaged = make(tmp_path).read(), starter().read()
    assert list(read.examples) == list(packaged.examples)
    assert read.target.tolist() == packaged.target.tolist()


def test_changed_files_are_other_data(source: ItemSource, tmp_path: Path) -> None:
    small_bbq.write(tmp_path / "Age.jsonl", small_bbq.examples(5, QUARTETS))
    plans = [BBQPlan(each, ItemSample(), "options") for each in (source, make(tmp_path))]
    assert plans[0].digest != plans[1].digest


# --- defects


def test_defects_are_found_and_dropped_when_asked(tmp_path: Path) -> None:
    sound = small_bbq.examples(templates=2, quartets=2, category="Physical_appearance", labels=("obese", "nonObese"))
    wrong = small_bbq.quartet("Physical_appearance", "6", 50, labels=("obese", "x"), groups=("obese",), version="b")
    nobody = small_bbq.quartet("Physical_appearance", "9", 51, labels=("x", "x"), groups=("obese",))
    again = [
        type(e)(**{**{n: getattr(e, n) for n in e.__slots__}, "example_id": e.example_id + 400}) for e in sound[:1]
    ]
    small_bbq.write(tmp_path / "Physical_appearance.jsonl", [*sound, *wrong, *nobody, *again])
    everything = make(tmp_path).read()
    found = {each.name: len(each.rows) for each in find_defects(everything.examples, everything.target)}
    assert found["wrong gold"] == 2
    assert found["no single target"] == 4
    assert found["duplicate"] == 1
    kept = make(tmp_path, defects="drop").read()
    assert len(everything) - len(kept) == 7
    assert any("7 examples with known defects" in note for note in kept.notes)


def test_numbers_in_a_row_are_written_as_ranges() -> None:
    assert ranges(["5", "1", "2", "3", "9"]) == "1 to 3, 5, 9"


def test_numbers_after_the_same_word_are_ranges_too_and_other_names_stay_as_they_are() -> None:
    assert ranges(["amb 12", "dis 8", "amb 13", "dis 7", "amb 20"]) == "amb 12 to 13, 20, dis 7 to 8"
    assert ranges(["age-002a-003-amb-bsd", "a 007"]) == "age-002a-003-amb-bsd, a 007"


def test_official_defects_are_those_that_are_known(official_data: Path) -> None:
    dataset = make(official_data).read()
    found = {each.name: len(each.rows) for each in find_defects(dataset.examples, dataset.target)}
    assert found == {
        "wrong gold": 68,
        "swapped labels": 200,
        "no single target": 16,
        "duplicate": 2,
        "repeated": 8,
        "exchanged people": 0,
        "blank label": 0,
        "stray brace": 100,
    }
    assert len(make(official_data, defects="drop").read()) == len(dataset) - 68 - 200 - 16 - 2


# --- plans

EXAMPLES = small_bbq.examples(templates=2, quartets=2)


@pytest.fixture
def few(tmp_path: Path) -> ItemSource:
    small_bbq.write(tmp_path / "few" / "Age.jsonl", EXAMPLES)
    return make(tmp_path / "few")


def test_a_plan_is_small_and_survives_pickling(source: ItemSource) -> None:
    plan = BBQPlan(source, ItemSample(), "options")
    before = plan.columns(0, 50).digest()
    packed = pickle.dumps(plan)
    assert len(packed) < 2000
    assert pickle.loads(packed).columns(0, 50).digest() == before


def test_options_are_asked_as_they_are_stored(few: ItemSource) -> None:
    columns = BBQPlan(few, ItemSample(), "options").columns(0, 16)
    assert isinstance(columns, ChoiceColumns)
    query = columns.row(5)
    assert (query.context, query.question, query.options) == (
        EXAMPLES[5].context,
        EXAMPLES[5].question,
        EXAMPLES[5].answers,
    )


def test_letters_list_the_options_in_every_order(few: ItemSource) -> None:
    plan = BBQPlan(few, ItemSample(), "letters", all_orders=True)
    assert len(plan) == 16 * 6
    for row, order in enumerate(ORDERS):
        query = plan.query(row)
        assert query.options == ("A", "B", "C")
        for letter, place in zip("ABC", order, strict=True):
            assert f"\n{letter}. {EXAMPLES[0].answers[place]}\n" in query.question


def test_an_answer_in_another_order_is_turned_back(few: ItemSource) -> None:
    plan = BBQPlan(few, ItemSample(), "letters", all_orders=True)
    shown = np.array([order.index(EXAMPLES[0].label) for order in ORDERS] * 16)
    assert (plan.to_stored(shown) == EXAMPLES[0].label).all()
    assert (plan.to_stored(np.full(96, -2)) == -2).all()


def test_scored_options_are_asked_in_one_order_only(few: ItemSource) -> None:
    assert len(BBQPlan(few, ItemSample(), "options", all_orders=True)) == 16


def test_the_paper_s_inputs_for_text_to_text_models(few: ItemSource) -> None:
    example = EXAMPLES[0]
    listed = f"(a) {example.answers[0]} (b) {example.answers[1]} (c) {example.answers[2]}"
    prompts = {}
    for form in ("race", "arc"):
        for contexts in (True, False):
            columns = BBQPlan(few, ItemSample(), form, contexts).columns(0, 1)
            assert isinstance(columns, TextColumns)
            prompts[form, contexts] = columns.row(0).prompt
    assert prompts["race", True] == f"{example.question} \\n {listed} \\n {example.context}"
    assert prompts["arc", True] == f"{example.context} {example.question} \\n {listed}"
    assert prompts["race", False] == prompts["arc", False] == f"{example.question} \\n {listed}"


def test_without_contexts_only_the_ambiguous_half_is_asked(few: ItemSource) -> None:
    plan = BBQPlan(few, ItemSample(), "options", contexts=False)
    assert len(plan) == 8
    assert {example.condition for example in plan.dataset.examples} == {"ambig"}
    assert plan.query(0).context == ""


def test_dataset_of_keeps_the_order_of_examples() -> None:
    assert list(dataset_of(EXAMPLES).examples) == EXAMPLES
