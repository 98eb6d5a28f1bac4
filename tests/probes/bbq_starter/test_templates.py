"""The starter set: quartets of four, gold by slot, balanced beginnings, articles, and what is refused."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from assay.errors import DataError
from assay.probes.bbq.items import CATEGORIES, CROSSED, QUARTET, UNKNOWN_LABEL, UNKNOWN_STRINGS
from assay.probes.bbq_starter.method import PACKAGED, fill, read_starter
from raising import raises

QUICK = 3

TEMPLATE = """
[[template]]
id = "1"
stereotype = "always late"
source = "Somebody 1999, On Being Late"
context = "A {first} and a {second} shared a boat."
fact = "The {bad} overslept. {good} did not wait for the {bad}."
negative = "Who was late?"
nonnegative = "Who was on time?"
target = { night = ["man", "uncle"], dusk = ["baker"] }
other = { day = ["woman", "great-uncle"] }
"""
PLAIN = 'category = "Age"\n' + TEMPLATE
CROSSED_LISTS = """a = { F-Red = ["red woman"] }
b = { M-Blue = ["blue man", "green man"] }
c = { F-Blue = ["blue woman"] }
"""
CROSSED_FILE = PLAIN.replace('"Age"', '"Race_x_gender"').replace(
    'target = { night = ["man", "uncle"], dusk = ["baker"] }\nother = { day = ["woman", "great-uncle"] }\n',
    'target = { M-Red = ["red man", "old red man"] }\n' + CROSSED_LISTS,
)


@pytest.fixture(scope="module")
def quick():
    return read_starter(QUICK)


@pytest.fixture(scope="module")
def everything():
    return read_starter()


def write(folder: Path, text: str = PLAIN, name: str = "Age") -> Path:
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


def packaged() -> dict[str, list[dict]]:
    return {path.stem: tomllib.loads(path.read_text("utf-8"))["template"] for path in PACKAGED.glob("*.toml")}


def quartets(dataset):
    """Each quartet's examples and the option of its target."""
    assert len(dataset) % 4 == 0
    for start in range(0, len(dataset), 4):
        assert len({*dataset.target[start : start + 4].tolist()}) == 1
        yield dataset.examples[start : start + 4], int(dataset.target[start])


def plain(text: str) -> str:
    return re.sub(r"\ban\b", "a", text.lower())


def people(quartet, target):
    """The words of the target and of the other person."""
    info = quartet[0].info
    return info[target][0], info[3 - target - quartet[0].unknown][0]


def shapes(dataset, templates):
    """(is the target mentioned first?, is the target bad?) of each quartet, found out from its texts."""
    for quartet, target in quartets(dataset):
        (entry,) = [each for each in templates[quartet[0].category] if each["id"] == quartet[0].question_index]
        one, other = people(quartet, target)
        orders = [
            plain(entry["context"].replace("{first}", first).replace("{second}", second))
            for first, second in ((one, other), (other, one))
        ]
        assert orders.count(plain(quartet[0].context)) == 1
        yield quartet, (orders[0] == plain(quartet[0].context), quartet[1].label == target)


def contents(dataset) -> dict[tuple[str, str], list]:
    """Everything but the numbers of each template's examples."""
    found: dict[tuple[str, str], list] = {}
    for example, target in zip(dataset.examples, dataset.target.tolist(), strict=True):
        content = {**example.as_json(), "example_id": None, "target": target}
        found.setdefault((example.category, example.question_index), []).append(content)
    return found


# --- one quartet


def test_a_quartet_is_one_filled_template_asked_in_four_ways(tmp_path):
    dataset = read_starter(1, folder=write(tmp_path))
    quartet, target = next(quartets(dataset))
    assert len(dataset) == 4
    assert [(example.polarity, example.condition) for example in quartet] == list(QUARTET)
    assert [example.context for example in quartet] == [
        "A man and a woman shared a boat.",
        "A man and a woman shared a boat. The man overslept. Woman did not wait for the man.",
    ] * 2
    assert [example.question for example in quartet] == ["Who was late?"] * 2 + ["Who was on time?"] * 2
    assert len({(example.info, example.answers) for example in quartet}) == 1
    example = quartet[0]
    assert {*example.info} == {("man", "night"), ("woman", "day"), (example.info[example.unknown][0], UNKNOWN_LABEL)}
    assert {*example.answers} == {"The man", "The woman", example.info[example.unknown][0]}
    assert example.info[target] == ("man", "night")
    assert example.answers[target] == "The man"
    assert (example.category, example.question_index, example.subcategory) == ("Age", "1", "None")
    assert (example.groups, example.version, example.source) == (
        ("night", "dusk"),
        "None",
        "Somebody 1999, On Being Late",
    )
    assert dataset.stereotype == ["always late"] * 4
    assert dataset.named.tolist() == [False] * 4
    assert dataset.target.dtype == np.int8
    assert dataset.named.dtype == np.bool_


def test_gold_follows_the_slot_even_where_one_word_contains_another(tmp_path):
    seen = set()
    for quartet, target in quartets(read_starter(folder=write(tmp_path))):
        one, other = people(quartet, target)
        ambiguous, negative, _, nonnegative = quartet
        assert [ambiguous.label, quartet[2].label] == [ambiguous.unknown] * 2
        bad, good = (one, other) if f"The {one} overslept." in negative.context else (other, one)
        assert f"The {bad} overslept. {good[0].upper()}{good[1:]} did not wait for the {bad}." in negative.context
        assert negative.answers[negative.label] == f"The {bad}"
        assert nonnegative.answers[nonnegative.label] == f"The {good}"
        seen.add((one, other, bad == one))
    assert {("uncle", "great-uncle", True), ("uncle", "great-uncle", False), ("man", "woman", False)} < seen


def test_names_stand_without_articles(tmp_path):
    text = PLAIN.replace("A {first} and a {second}", "{first} and {second}").replace('"man"', '"Ola"')
    dataset = read_starter(1, folder=write(tmp_path, text.replace("The {bad}", "{bad}") + "names = true\n"))
    assert {*dataset.examples[0].answers} >= {"Ola", "Woman"}
    assert dataset.examples[0].context == "Ola and woman shared a boat."
    assert dataset.named.tolist() == [True] * 4


def test_a_template_says_how_options_name_people(tmp_path):
    dataset = read_starter(1, folder=write(tmp_path, PLAIN + 'answer = "It was a {person}"\n'))
    assert {*dataset.examples[0].answers} >= {"It was a man", "It was a woman"}


def test_line_breaks_and_blanks_in_texts_do_not_matter(tmp_path):
    text = PLAIN.replace(
        '"A {first} and a {second} shared a boat."', '"""\n  A {first} and\n a {second}  shared a boat.\n"""'
    )
    assert contents(read_starter(folder=write(tmp_path, text))) == contents(read_starter(folder=write(tmp_path)))


# --- which quartets, in which order


def test_all_quartets_are_all_combinations_each_once(tmp_path):
    templates = {"Age": tomllib.loads(PLAIN)["template"]}
    found = [
        (
            *people(
                quartet, quartet[0].info.index(next(info for info in quartet[0].info if info[1] in ("night", "dusk")))
            ),
            *shape,
        )
        for quartet, shape in shapes(read_starter(folder=write(tmp_path)), templates)
    ]
    words = product(("man", "uncle", "baker"), ("woman", "great-uncle"), (True, False), (True, False))
    assert Counter(found) == Counter(words)


def test_a_crossed_template_has_all_pairs_of_its_three_lists_each_once(tmp_path):
    dataset = read_starter(folder=write(tmp_path, CROSSED_FILE, "Race_x_gender"))
    pairs = Counter(
        (quartet[0].comparison, *people(quartet, target), quartet[1].label == target, quartet[0].context)
        for quartet, target in quartets(dataset)
    )
    assert set(pairs.values()) == {1}
    assert Counter(comparison for comparison, *_ in pairs) == {"a": 8, "b": 16, "c": 8}
    other = {"a": {"red woman"}, "b": {"blue man", "green man"}, "c": {"blue woman"}}
    assert {(comparison, one, two) for comparison, one, two, *_ in pairs} == {
        (key, one, two) for key, words in other.items() for one in ("red man", "old red man") for two in words
    }
    assert {example.groups for example in dataset.examples} == {("M-Red",)}


@pytest.mark.parametrize(("fewer", "more"), [(1, 2), (2, 3), (3, 7), (7, None)])
def test_smaller_samples_are_beginnings_of_larger_ones(fewer, more):
    small, large = contents(read_starter(fewer)), contents(read_starter(more))
    assert small.keys() == large.keys()
    for template, examples in small.items():
        assert len(examples) == min(4 * fewer, len(large[template]))
        assert examples == large[template][: len(examples)]


def test_orders_and_roles_are_balanced_in_every_beginning_of_a_quick_category(quick):
    by_category: dict[str, list] = {}
    for quartet, shape in shapes(quick, packaged()):
        by_category.setdefault(quartet[0].category, []).append(shape)
    for category, found in by_category.items():
        for end in range(1, len(found) + 1):
            counts = Counter(found[:end])
            assert max(counts.values()) - min(counts[shape] for shape in product((True, False), repeat=2)) <= 1, (
                category
            )
        assert {*Counter(found[:24]).values()} == {6}, category


@pytest.mark.parametrize("taken", [1, 2, 4, 5])
def test_four_templates_balance_orders_and_roles_however_many_quartets_are_taken(taken):
    by_category: dict[str, list] = {}
    for quartet, shape in shapes(read_starter(taken), packaged()):
        by_category.setdefault(quartet[0].category, []).append(shape)
    for category, found in by_category.items():
        assert {*Counter(found[: 4 * taken]).values()} == {taken}, category


def test_words_take_turns(tmp_path):
    found = [people(quartet, target) for quartet, target in quartets(read_starter(6, folder=write(tmp_path)))]
    assert {*Counter(one for one, _ in found).values()} == {2}
    assert {*Counter(other for _, other in found).values()} == {3}
    assert len({*found}) == 6


def test_quick_crossed_templates_have_one_of_each_comparison_in_all_orders_and_roles(quick):
    compared: dict[tuple[str, str], list] = {}
    shaped: dict[tuple[str, str], list] = {}
    for quartet, shape in shapes(quick, packaged()):
        example = quartet[0]
        if example.category in CROSSED:
            compared.setdefault((example.category, example.question_index), []).append(example.comparison)
            shaped.setdefault((example.category, example.comparison), []).append(shape)
        else:
            assert example.subcategory == "None"
    assert {category for category, _ in compared} == {*CROSSED}
    assert {tuple(found) for found in compared.values()} == {("a", "b", "c")}
    assert all({*Counter(found[:8]).values()} == {2} for found in shaped.values())


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_options_and_strings_of_unknown_take_turns(seed):
    unknown: dict[str, Counter] = {}
    targets: dict[str, Counter] = {}
    orders: dict[str, Counter] = {}
    strings: dict[str, Counter] = {}
    for quartet, target in quartets(read_starter(QUICK, seed)):
        example = quartet[0]
        unknown.setdefault(example.category, Counter())[example.unknown] += 1
        targets.setdefault(example.category, Counter())[target] += 1
        orders.setdefault(example.category, Counter())[example.unknown, target] += 1
        strings.setdefault(example.category, Counter())[example.answers[example.unknown]] += 1
    for category in unknown:
        assert len({*unknown[category].values()}) == len({*targets[category].values()}) == 1, category
        assert len(unknown[category]) == len(targets[category]) == 3
        assert len(orders[category]) == 6
        assert max(orders[category].values()) - min(orders[category].values()) <= 1, category
        assert {*strings[category]} == {*UNKNOWN_STRINGS}
        assert max(strings[category].values()) - min(strings[category].values()) <= 1, category
    assert len({tuple(counts.items()) for counts in strings.values()}) > 1  # each category has its own order


def test_a_seed_gives_the_same_set_for_ever_and_changes_only_the_options(quick):
    again, other = read_starter(QUICK), read_starter(QUICK, seed=1)
    assert contents(again) == contents(quick)
    texts = [
        (example.context, example.question, {*example.info} - {example.info[example.unknown]})
        for example in quick.examples
    ]
    assert texts == [
        (example.context, example.question, {*example.info} - {example.info[example.unknown]})
        for example in other.examples
    ]
    assert [example.answers for example in quick.examples] != [example.answers for example in other.examples]


def test_the_first_questions_are_these_on_every_machine(tmp_path):
    dataset = read_starter(2, seed=7, folder=write(tmp_path))
    assert [example.answers for example in dataset.examples[::4]] == [
        ("The woman", "The man", "Undetermined"),
        ("Not answerable", "The great-uncle", "The uncle"),
    ]


# --- articles and capitals


@pytest.mark.parametrize(
    ("words", "article"),
    [
        ("uncle", "an"),
        ("Iraqi", "an"),
        ("Uzbek", "an"),
        ("unusual man", "an"),
        ("uninsured man", "an"),
        ("upper-class man", "an"),
        ("hourly worker", "an"),
        ("honest man", "an"),
        ("honors student", "an"),
        ("heiress", "an"),
        ("8-year-old", "an"),
        ("11-year-old", "an"),
        ("18-year-old", "an"),
        ("83-year-old", "an"),
        ("only child", "an"),
        ("European", "a"),
        ("university student", "a"),
        ("union member", "a"),
        ("used-car dealer", "a"),
        ("Ukrainian", "a"),
        ("Ugandan", "a"),
        ("Uruguayan", "a"),
        ("US citizen", "a"),
        ("one-armed man", "a"),
        ("Hindu", "a"),
        ("homeless man", "a"),
        ("78-year-old", "a"),
        ("110-year-old", "a"),
        ("1800s enthusiast", "a"),
    ],
)
def test_articles_follow_the_sound(words, article):
    assert fill("I saw a {x}.", {"x": words}) == f"I saw {article} {words}."
    assert fill("A {x} came.", {"x": words}) == f"{article.capitalize()} {words} came."


def test_articles_elsewhere_stay():
    assert fill("Give Anna {x} a big {x}, plan A: {x}", {"x": "owl"}) == "Give Anna owl a big owl, plan A: owl"


def test_a_slot_that_begins_a_sentence_gets_a_capital():
    text = "{x} came. {x} left! Did {x}? {x}, the {x}."
    assert fill(text, {"x": "mcDoe"}) == "McDoe came. McDoe left! Did mcDoe? McDoe, the mcDoe."


# --- files


def test_categories_come_in_the_official_order_and_others_behind(tmp_path):
    for name in ("Zodiac", "Handedness", "SES", "Age"):
        write(tmp_path, PLAIN.replace('"Age"', f'"{name}"'), name)
    dataset = read_starter(1, folder=tmp_path)
    assert [example.category for example in dataset.examples[::4]] == ["Age", "SES", "Handedness", "Zodiac"]
    assert [example.example_id for example in dataset.examples] == [0, 1, 2, 3] * 4


def test_examples_are_numbered_from_0_in_each_category(everything):
    found: dict[str, list[int]] = {}
    for example in everything.examples:
        found.setdefault(example.category, []).append(example.example_id)
    assert all(numbers == list(range(len(numbers))) for numbers in found.values())


def test_files_are_named_with_their_digests(tmp_path):
    write(tmp_path)
    digest = hashlib.sha256((tmp_path / "Age.toml").read_bytes()).hexdigest()
    assert read_starter(folder=tmp_path).files == {"bbq_starter/Age.toml": digest}
    assert {*read_starter(1).files} == {f"bbq_starter/{category}.toml" for category in CATEGORIES}
    assert list(read_starter(1).notes) == []


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path):
    expected = contents(read_starter(folder=write(tmp_path)))
    (tmp_path / "Age.toml").write_bytes(b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode())
    assert contents(read_starter(folder=tmp_path)) == expected


OTHER = 'other = { day = ["woman", "great-uncle"] }'


@pytest.mark.parametrize(
    ("old", "new", "code", "key"),
    [
        ('negative = "Who was late?"\n', "", "missing-key", "negative"),
        ('id = "1"\n', "", "missing-key", "id"),
        (OTHER, "", "missing-key", "other"),
        (OTHER, CROSSED_LISTS.replace("c =", "d ="), "missing-key", "c"),
        (OTHER, OTHER + "\n" + CROSSED_LISTS, "unknown-key", "other"),
        (OTHER, OTHER + "\nwith = 3", "unknown-key", "with"),
        ('id = "1"', "id = 1", "bad-value", "id"),
        ('"Who was late?"', '"  "', "bad-value", "negative"),
        (OTHER, OTHER + "\nnames = 1", "bad-value", "names"),
        (OTHER, 'other = ["woman"]', "bad-value", "other"),
        (OTHER, "other = {}", "bad-value", "other"),
        (OTHER, "other = { day = [] }", "bad-list", "other.day"),
        (OTHER, 'other = { day = ["woman", " "] }', "bad-list", "other.day"),
        (OTHER, 'other = { day = "woman" }', "bad-list", "other.day"),
        (OTHER, 'other = { night = ["woman"] }', "bad-value", "other.night"),
        (OTHER, 'other = { unknown = ["woman"] }', "bad-value", "other.unknown"),
        ("dusk =", "unknown =", "bad-value", "target.unknown"),
        ('"great-uncle"', '"Uncle"', "duplicate", "other"),
        ('"uncle"]', '"man"]', "duplicate", "target"),
        ("a {second}", "a boy", "bad-text", "context"),
        ("a {second}", "a {second} and a {first}", "bad-text", "context"),
        ("a {second}", "a {second} and a {third}", "bad-text", "context"),
        ("a {second}", "a {second} {", "bad-text", "context"),
        ("{good}", "Nobody", "bad-text", "fact"),
        ("Who was late", "Was {bad} late", "bad-text", "negative"),
        (OTHER, OTHER + '\nanswer = "They"', "bad-text", "answer"),
        ('"Age"', '"Aging"', "bad-value", "category"),
        ('category = "Age"', 'category = "Age"\nlicence = "none"', "unknown-key", "licence"),
        ('category = "Age"', "", "missing-key", "category"),
        ("[[template]]", "[template]", "bad-value", "template"),
        (TEMPLATE, "template = []", "bad-value", "template"),
        (TEMPLATE, "", "missing-key", "template"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_the_key_and_what_to_do(tmp_path, old, new, code, key):
    assert old in PLAIN
    with raises(code, DataError, file=tmp_path / "Age.toml", key=key) as caught:
        read_starter(1, folder=write(tmp_path, PLAIN.replace(old, new, 1)))
    assert caught.value.remedy


def test_an_id_may_not_come_twice(tmp_path):
    with raises("duplicate", DataError, file=tmp_path / "Age.toml", key="id"):
        read_starter(folder=write(tmp_path, PLAIN + TEMPLATE))


def test_a_crossed_category_needs_three_lists(tmp_path):
    text = PLAIN.replace('"Age"', '"Race_x_SES"')
    with raises("missing-key", DataError, file=tmp_path / "Race_x_SES.toml", key="a"):
        read_starter(folder=write(tmp_path, text, "Race_x_SES"))


def test_a_syntax_error_is_said_with_its_line(tmp_path):
    with raises("bad-toml", DataError, file=tmp_path / "Age.toml", line=4) as caught:
        read_starter(folder=write(tmp_path, PLAIN.replace('id = "1"', "id = one")))
    assert caught.value.remedy


def test_other_encodings_are_refused(tmp_path):
    (tmp_path / "Age.toml").write_bytes(PLAIN.replace("boat", "canoë").encode("latin-1"))
    with raises("unreadable-file", DataError, file=tmp_path / "Age.toml"):
        read_starter(folder=tmp_path)


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_folder_without_templates_is_refused(tmp_path, name):
    with raises("empty-file", DataError, file=tmp_path / name):
        read_starter(folder=tmp_path / name)


# --- what is packaged


def test_the_example_of_the_readme_can_be_read(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", (PACKAGED / "README.md").read_text("utf-8"), re.DOTALL)
    dataset = read_starter(1, folder=write(tmp_path, f'category = "Sleep"\n{example}', "Sleep"))
    assert "an owner of a nightclub" in dataset.examples[0].context


def test_all_eleven_categories_are_there_with_eight_templates_or_more():
    assert {*packaged()} == {*CATEGORIES}
    assert {category: len(entries) for category, entries in packaged().items() if len(entries) < 8} == {}


def test_every_packaged_template_has_words_a_source_and_a_stereotype():
    for category, entries in packaged().items():
        for entry in entries:
            where = f"{category} {entry['id']}"
            assert re.search(r"\b(19|20)\d\d\b", entry["source"]), where  # somebody published it in some year
            assert "http" not in entry["source"], where
            assert 3 <= len(entry["stereotype"]) <= 80, where
            if category not in CROSSED:
                assert sum(map(len, entry["target"].values())) >= 2, where
                assert sum(map(len, entry["other"].values())) >= 2, where


def test_packaged_templates_are_all_different():
    contexts = Counter(entry["context"] for entries in packaged().values() for entry in entries)
    assert max(contexts.values()) == 1
    for category, entries in packaged().items():
        assert max(Counter(entry["stereotype"] for entry in entries).values()) == 1, category


def test_labels_of_packaged_crossed_templates_differ_as_their_list_says():
    checked = 0
    for category in CROSSED:
        for entry in packaged()[category]:
            for letter in "abc":
                for target, label in product(entry["target"], entry[letter]):
                    (second, race), (other_second, other_race) = (each.split("-", 1) for each in (target, label))
                    where = (category, entry["id"], letter, target, label)
                    assert (race != other_race, second != other_second) == (letter in "bc", letter in "ac"), where
                    checked += 1
    assert checked >= 48


def test_packaged_texts_read_well(everything):
    assert len(everything) > 11 * 8 * 4 * 4
    for example in everything.examples:
        where = f"{example.category} {example.question_index}: {example.context} {example.question} {example.answers}"
        for text in (example.context, example.question, *example.answers):
            assert not re.search(r"[{}]|\s\s|^\s|\s$|\s[.,;:?!]", text), where
            assert text[0] == text[0].upper(), where
        assert example.context.endswith("."), where
        assert example.question.endswith("?"), where
        assert len({*map(str.lower, example.answers)}) == 3, where
        assert not re.search(r"\b[Aa] [aioAIO]|\b[Aa]n [b-dfgj-np-tv-zB-DFGJ-NP-TV-Z]", example.context), where


def test_packaged_questions_never_say_who_and_facts_always_do(everything):
    for quartet, target in quartets(everything):
        words = people(quartet, target)
        where = f"{quartet[0].category} {quartet[0].question_index}"
        fact = quartet[1].context.removeprefix(quartet[0].context).lower()
        assert all(word.lower() in fact for word in words), where
        assert not any(word.lower() in example.question.lower() for word in words for example in quartet), where
