"""With the authors' templates, the examples are theirs: as many, in their order, with their texts (ASSAY_DATA).

The official files of seven categories are compared example by example; of the other four, the numbers of Table 3 and
of the rules. The official files were drawn without a seed, so texts are compared by filling the templates with the
official fillers.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

import small_templates
from assay.asking.queries import NONE
from assay.probes.bbq.generation import BBQQuestionWriter, Person, PersonPair, fill, groups_of_pairs
from assay.probes.bbq.generation.templates import BBQTemplate, read_templates, template_files
from assay.probes.bbq.generation.vocabulary import SeededDraws, Vocabulary
from assay.probes.bbq.items import CATEGORIES, CROSSED
from assay.probes.bbq.targets import find_targets, template_attributes

TABLE_3 = {
    "Age": 3_680,
    "Disability_status": 1_556,
    "Gender_identity": 5_672,
    "Nationality": 3_080,
    "Physical_appearance": 1_576,
    "Race_ethnicity": 6_880,
    "Race_x_SES": 11_160,
    "Race_x_gender": 15_960,
    "Religion": 1_200,
    "SES": 6_864,
    "Sexual_orientation": 864,
}
HERE = tuple(category for category in CATEGORIES if "Race" not in category and category != "SES")
DIGESTS = {
    "Age": "1b4fbece0367e944569ad5f513470eaab1fb78538b4f7412ef8f73cd9b75e26b",
    "Disability_status": "d3f8ae5ada8c009f20af56c1f866853b938f52d80d978065cddb01047c64f6f9",
    "Gender_identity": "e975286fc60ce613144c3c35c49506fed78ec75ae8d24dd46b64ae7c966f34e3",
    "Nationality": "39ff748d21e6ab0ab130522a49f76bd7af07df19de1ae820f978021ebe499cad",
    "Physical_appearance": "38921016775b7a71efd475405b8963bb1069662638317d0020d42ebbdc8d93ea",
    "Race_ethnicity": "d25ea30430b07100672de70020ff8804afa68a3c666eb435d03ff7f1ed6d273d",
    "Race_x_SES": "270c185c53d60317dc74396fda270189555e0df14007d2a9e6646aff72bf0130",
    "Race_x_gender": "3cd36c03a76ab9bc2fe8fd20596895d3ca260aaa8c4ff65d76f60ce28ceca669",
    "Religion": "7ee182ea0422833be03e137c69edd83a7cab76afcc23f49848e89e991f08d416",
    "SES": "0b1c497b6f06faae3bdabced76e74531516297d2b7f3b841302ffc1e786caefc",
    "Sexual_orientation": "7ad1c4395d19e00272346874156efceeadb471f0925964090e9bc377530baa35",
}
"""sha256 of every file for seed 0. Who changes what is generated changes these, and says so in the changelog."""

MENDED = ("Physical_appearance", 656, "other employee", "employee")
"""One official filler is not what fills the slot: "other" is a word of the template's answer."""

Quartet = list[dict[str, Any]]


@dataclass(frozen=True)
class Match:
    """An official quartet, the template that it was made of, and the pair that we make at the same place."""

    template: BBQTemplate
    official: Quartet
    theirs: PersonPair
    ours: PersonPair

    @property
    def fillers(self) -> tuple[str, str]:
        return self.theirs.first.name, self.theirs.second.name


@lru_cache(maxsize=1)
def official_examples(folder: Path, category: str) -> list[dict[str, Any]]:
    with gzip.open(folder / "bbq" / "data" / f"{category}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def templates(official_data: Path) -> Path:
    return official_data / "bbq" / "templates"


@pytest.fixture(scope="module")
def everything(templates: Path) -> BBQQuestionWriter:
    return small_templates.generation(templates)


def pairs_of(folder: Path, category: str) -> Iterator[tuple[BBQTemplate, PersonPair]]:
    vocabulary = Vocabulary.read(folder)
    for template in read_templates(template_files(folder)[category], category):
        for group in groups_of_pairs(template, vocabulary, SeededDraws(category, template.index)):
            for pair in group:
                yield template, pair


def matches(data: Path, category: str) -> list[Match]:
    """Every official quartet with its template: by its place in the file alone."""
    examples, found = official_examples(data, category), []
    for number, (template, ours) in enumerate(pairs_of(data / "bbq" / "templates", category)):
        four = examples[4 * number : 4 * number + 4]
        people: dict[int, Person] = {}
        for slot, told in zip(template.named, (four[1], four[3]), strict=True):
            text, label = told["answer_info"][f"ans{told['label']}"]
            if (category, four[0]["example_id"], text) == MENDED[:3]:
                text = MENDED[3]
            people[slot] = Person(text, label)
        found.append(Match(template, four, PersonPair(people[0], people[1], ours.subcategory), ours))
    assert 4 * len(found) == len(examples)
    return found


# --- how many, in which order


def test_there_is_a_file_for_every_category(everything: BBQQuestionWriter) -> None:
    assert everything.files() == [f"{category}.jsonl" for category in CATEGORIES]
    assert everything.count() == sum(TABLE_3.values()) == 58_492


@pytest.mark.parametrize("category", CATEGORIES)
def test_examples_are_as_many_as_in_table_3(everything: BBQQuestionWriter, category: str) -> None:
    examples = list(everything.examples_of(category))
    assert len(examples) == TABLE_3[category]
    assert [example.example_id for example in examples] == list(range(len(examples)))


@pytest.mark.parametrize("category", CATEGORIES)
def test_seed_0_gives_the_same_file_for_ever(everything: BBQQuestionWriter, category: str) -> None:
    examples = everything.examples_of(category)
    digest = hashlib.sha256("".join(f"{example.to_line()}\n" for example in examples).encode()).hexdigest()
    assert digest == DIGESTS[category]


@pytest.mark.parametrize("category", sorted(set(CATEGORIES) - set(HERE)))
def test_templates_without_an_official_file_have_as_many_examples_as_their_rule_says(
    templates: Path, category: str
) -> None:
    made = Counter(template.index for template, _ in pairs_of(templates, category))
    races = {word.text for word in Vocabulary.read(templates).all_words or () if word.category == "Race_ethnicity"}
    for template in read_templates(template_files(templates)[category], category):
        targets = len(races & set(template.groups))
        if category.startswith("Race_x"):
            expected = 600 if template.proper else 120 * targets
        elif category == "Race_ethnicity":
            expected = 200 if template.proper else 40 * targets
        elif template.names:
            expected = 4 * len(template.names[0]) * len(template.names[1])
        else:
            expected = 240 if template.proper else 480
        assert 4 * made[template.index] == expected


@pytest.mark.parametrize("category", HERE)
def test_all_that_is_not_drawn_is_as_in_the_official_file(
    official_data: Path, everything: BBQQuestionWriter, category: str
) -> None:
    same = ("example_id", "question_index", "question_polarity", "context_condition", "category", "additional_metadata")
    official = official_examples(official_data, category)
    for theirs, ours in zip(official, everything.examples_of(category), strict=True):
        written = ours.as_json()
        assert list(written) == list(theirs)
        assert {key: written[key] for key in same} == {key: theirs[key] for key in same}


def test_two_official_templates_give_nothing_and_one_loses_a_word(everything: BBQQuestionWriter) -> None:
    """Disability_status 4 a (line 8), 4 b (line 9) and 19 b (line 39)."""
    notes = everything.notes()
    assert [note.partition(": ")[0].rpartition(" ")[2] for note in notes] == ["8", "9", "9", "39"]
    assert all("Disability_status" in note for note in notes)
    assert sum("produces no examples" in note for note in notes) == 2


# --- targets of crossed categories


@pytest.mark.parametrize(("category", "rows"), [("Race_x_gender", 10_640), ("Race_x_SES", 7_440)])
def test_crossed_targets_are_the_same_without_comparison_b(
    templates: Path, everything: BBQQuestionWriter, category: str, rows: int
) -> None:
    """By comparison c, and where that is missing, too, by the templates."""
    assert category in CROSSED
    examples = [*everything.examples_of(category)]
    targets = find_targets(examples).tolist()
    assert NONE not in targets
    for left, known, n in (("ac", {}, rows), ("a", None, rows // 2)):
        places = [place for place, example in enumerate(examples) if str(example.comparison) in left]
        chosen = [examples[place] for place in places]
        assert len(chosen) == n
        attributes = template_attributes(templates, chosen) if known is None else known
        assert find_targets(chosen, attributes).tolist() == [targets[place] for place in places]


# --- texts


def texts(template: BBQTemplate, pair: PersonPair, words: tuple[str, str]) -> tuple[str, ...]:
    """Both contexts, both questions, both answers."""
    context = fill(template.context, pair, words).strip()
    return (
        context,
        f"{context} {fill(template.fact, pair, words)}".strip(),
        *(fill(question, pair, words).strip() for question in template.questions),
        *(fill(answer, pair, words) for answer in template.answers),
    )


def official_texts(four: Quartet) -> tuple[str, ...]:
    contexts, questions = ([example[key] for example in four] for key in ("context", "question"))
    assert contexts[:2] == contexts[2:]
    assert questions[::2] == questions[1::2]
    negative, other = (told[f"ans{told['label']}"] for told in (four[1], four[3]))
    return *contexts[:2], *questions[::2], negative, other


@pytest.mark.parametrize("category", HERE)
def test_official_fillers_give_the_official_texts(official_data: Path, category: str) -> None:
    for match in matches(official_data, category):
        lists = [own or ("",) for own in match.template.words]
        possible = {texts(match.template, match.theirs, (one, other)) for one, other in itertools.product(*lists)}
        assert official_texts(match.official) in possible


def test_one_official_filler_is_not_what_fills_the_slot(official_data: Path) -> None:
    category, first, theirs, ours = MENDED
    found = Counter(
        (example["example_id"] // 4 * 4, text)
        for example in official_examples(official_data, category)
        for text, _ in example["answer_info"].values()
        if text == theirs
    )
    assert found == {(first, theirs): 4}
    assert ours in theirs


# --- who is compared


def test_people_who_are_not_drawn_are_the_official_ones_in_their_order(official_data: Path) -> None:
    """Lists of names, gender's words, and vocabularies small enough: only there can the order be compared."""
    drawn: Counter[str] = Counter()
    for category in HERE:
        for match in matches(official_data, category):
            if match.template.proper or category in ("Nationality", "Religion"):
                drawn[category] += 1
                continue
            assert match.fillers == (match.ours.first.name, match.ours.second.name)
            assert match.theirs == match.ours  # labels too
    assert drawn == {"Gender_identity": 25 * 50, "Nationality": 770, "Religion": 300}


@pytest.mark.parametrize("category", ["Gender_identity", "Nationality", "Religion"])
def test_people_who_are_drawn_are_drawn_by_the_official_rule(official_data: Path, category: str) -> None:
    """In every template the people meet as often, in the same pattern, and from the same sides."""

    def pattern(match: Match, pair: PersonPair) -> tuple[str, ...]:
        inside = match.template.groups if category != "Gender_identity" else names["F"]
        return tuple("in" if name in inside else "out" for name in (pair.first.name, pair.second.name))

    every = Vocabulary.read(official_data / "bbq" / "templates").all_names or ()
    names = {gender: {name.text for name in every if name.gender == gender} for gender in "FM"}
    by_template: dict[int, list[Match]] = {}
    for match in matches(official_data, category):
        if match.template.proper or category != "Gender_identity":
            assert pattern(match, match.theirs) == pattern(match, match.ours)
            by_template.setdefault(match.template.index, []).append(match)
    for own in by_template.values():
        theirs, ours = ([m.fillers for m in own], [(m.ours.first.name, m.ours.second.name) for m in own])
        for pairs in (theirs, ours):
            assert pairs[1::2] == [(second, first) for first, second in pairs[::2]]
        met = [Counter(first for first, _ in pairs[::2]) for pairs in (theirs, ours)]
        assert list(met[0].values()) == list(met[1].values())
        if category == "Religion":  # never more than four, so that they come in the vocabulary's order
            assert list(met[0]) == list(met[1])


def test_labels_are_the_official_ones_but_for_two_templates_where_those_are_on_the_wrong_person(
    official_data: Path,
) -> None:
    """Gender_identity 35 and 36 say who is trans by the slot; the official labels do not follow when names swap."""
    vocabulary = Vocabulary.read(official_data / "bbq" / "templates")
    region = {word.text: word.info for word in vocabulary.all_words or () if word.category == "Nationality"}
    gender = {name.text: name.gender for name in vocabulary.all_names or () if name.kind == "first_only"}
    differ: Counter[tuple[str, str]] = Counter()
    for category in ("Gender_identity", "Nationality", "Religion"):
        for match in matches(official_data, category):
            for info, person in zip(match.template.infos, (match.theirs.first, match.theirs.second), strict=True):
                own = gender.get(person.name) or region.get(person.name) or ""
                if person.label != ("_".join(filter(None, (info, own))) or person.name):
                    differ[category, match.template.question_index] += 1
    assert differ == {("Gender_identity", "35"): 2 * 25, ("Gender_identity", "36"): 2 * 25}


def test_gold_contradicts_the_fact_where_it_does_officially(official_data: Path, everything: BBQQuestionWriter) -> None:
    """Physical_appearance 6 b and 10 b: the answers are swapped with the roles, but the fact is not.

    That is in the template file, so that what is generated has the same gold as the official file, there and
    everywhere else in the category: the same answer, given the same question and context.
    """
    category = "Physical_appearance"
    gold = []
    for source in (official_examples(official_data, category), [e.as_json() for e in everything.examples_of(category)]):
        gold.append([(e["question"], e[f"ans{e['label']}"]) for e in source if e["context_condition"] == "disambig"])
    assert gold[0] == gold[1]
    rows = {(t.question_index, t.version): t for t, _ in pairs_of(official_data / "bbq" / "templates", category)}
    assert rows["6", "a"].fact == rows["6", "b"].fact
    for question in ("6", "10"):
        assert rows[question, "a"].named == (1, 0)
        assert rows[question, "b"].named == (0, 1)
