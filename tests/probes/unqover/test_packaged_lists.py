"""The packaged UnQover lists keep what their README and the paper's Table 1 promise.

The files are read here line by line, without assay, so that a fault in the lists and one in their reader differ.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

LISTS = Path(__file__).parents[3] / "src" / "assay" / "data" / "unqover"

CLASSES = ("gender", "country", "ethnicity", "religion")
SUBJECTS = {"female": 70, "male": 70, "country": 69, "ethnicity": 15, "religion": 11}
PREJUDICE = ("biased_country", "biased_ethnicity", "biased_religion")
ACTIVITIES = dict(zip(CLASSES, ("occupation_rev1", *PREJUDICE), strict=True))
PEOPLE_HEADS = ("p_act", "p_act:neg", "p_act-single", "p_act-single:neg")
TEMPLATES = {"gender": 4, "country": 12, "ethnicity": 14, "religion": 14}
CELLS = {"gender": 1_372_000, "country": 1_154_232, "ethnicity": 73_500, "religion": 38_500}  # Table 1, in full

M49_SUBREGIONS = {
    *("Northern Africa", "Eastern Africa", "Middle Africa", "Southern Africa", "Western Africa"),
    *("Caribbean", "Central America", "South America", "Northern America"),
    *("Central Asia", "Eastern Asia", "South-eastern Asia", "Southern Asia", "Western Asia"),
    *("Eastern Europe", "Northern Europe", "Southern Europe", "Western Europe"),
    *("Australia and New Zealand", "Melanesia", "Micronesia", "Polynesia"),
}

ENTRY = re.compile(r"\[([a-z_:-]+)\] ([^|]+) \| ([^|]+)")
HEAD = re.compile(r"\[([pl]_act(?:-single)?(?::neg)?)\]")

Entries = dict[str, list[tuple[str, str]]]


def content(path: Path) -> list[str]:
    """The lines that are neither blank nor comments."""
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip() and line[0] != "#"]


def entries(folder: str, name: str) -> Entries:
    """(cluster, text) pairs of a subject or activity file by head, in file order."""
    found: Entries = {}
    for line in content(LISTS / folder / name):
        match = ENTRY.fullmatch(line)
        assert match, f"{name}: {line!r} is not '[head] cluster | text'"
        found.setdefault(match[1], []).append((match[2], match[3]))
    return found


def subjects(name: str) -> Entries:
    return entries("nouns/subjects", name)


def activities(name: str) -> Entries:
    return entries("activities", name)


def templates(kind: str, suffix: str = "") -> list[tuple[str, str, str]]:
    rows = [tuple(line.split("\t")) for line in content(LISTS / "slots" / f"{kind}_noact{suffix}")]
    assert all(len(row) == 3 for row in rows)
    return [(context, asked, negated) for context, asked, negated in rows]


def texts(pairs: list[tuple[str, str]]) -> list[str]:
    return [text for _, text in pairs]


def pair_count(kind: str) -> int:
    if kind == "gender":
        return len(subjects("female")["subj"]) * len(subjects("male")["subj"])
    n = len(subjects(kind)["subj"])
    return n * (n - 1) // 2


def all_files() -> list[Path]:
    return sorted(path for path in LISTS.rglob("*") if path.is_file() and path.suffix != ".md")


@pytest.mark.parametrize("path", all_files(), ids=lambda path: str(path.relative_to(LISTS)))
def test_file_is_clean_utf8_and_says_where_it_comes_from(path: Path) -> None:
    raw = path.read_bytes()
    text = raw.decode("utf-8")
    assert b"\r" not in raw
    assert text.startswith("# ")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert all(line == line.strip() for line in text.split("\n"))


@pytest.mark.parametrize(("name", "count"), SUBJECTS.items())
def test_subjects_are_as_many_as_in_table_1(name: str, count: int) -> None:
    terms = texts(subjects(name)["subj"])
    assert len(terms) == count
    assert len(set(terms)) == count


@pytest.mark.parametrize("name", ["female", "male"])
def test_the_cluster_of_a_name_is_its_gender(name: str) -> None:
    assert {cluster for cluster, _ in subjects(name)["subj"]} == {name}


def test_no_name_belongs_to_both_genders() -> None:
    assert not set(texts(subjects("female")["subj"])) & set(texts(subjects("male")["subj"]))


@pytest.mark.parametrize("name", ["ethnicity", "religion"])
def test_ethnicities_and_religions_have_no_clusters(name: str) -> None:
    assert {cluster for cluster, _ in subjects(name)["subj"]} == {"None"}


def test_every_country_has_one_demonym_in_the_same_subregion() -> None:
    countries, demonyms = subjects("country")["subj"], subjects("country")["subj:dem"]
    assert [cluster for cluster, _ in countries] == [cluster for cluster, _ in demonyms]
    assert len(set(texts(demonyms))) == len(countries)
    assert not set(texts(countries)) & set(texts(demonyms))
    # a list shifted by a line would show here: every demonym starts with its country's letter
    assert all(name[0] == form[0] for (_, name), (_, form) in zip(countries, demonyms, strict=True))


def test_the_clusters_of_countries_are_subregions_of_m49() -> None:
    assert {cluster for cluster, _ in subjects("country")["subj"]} <= M49_SUBREGIONS


@pytest.mark.parametrize(
    ("country", "subregion", "demonym"),
    [
        ("Germany", "Western Europe", "German"),
        ("Britain", "Northern Europe", "British"),
        ("Korea", "Eastern Asia", "Korean"),
        ("Dominica", "Caribbean", "Dominican"),
        ("Iran", "Southern Asia", "Iranian"),
        ("Kosovo", "Southern Europe", "Kosovar"),
        ("Palestine", "Western Asia", "Palestinian"),
    ],
)
def test_country_region_and_demonym(country: str, subregion: str, demonym: str) -> None:
    found = subjects("country")
    place = found["subj"].index((subregion, country))
    assert found["subj:dem"][place] == (subregion, demonym)


def test_each_occupation_is_negated_by_can_never_be() -> None:
    found = activities("occupation_rev1")
    assert set(found) == {"p_act", "p_act:neg"}
    assert len(found["p_act"]) == 70
    for (cluster, asked), (cluster_neg, negated) in zip(found["p_act"], found["p_act:neg"], strict=True):
        match = re.fullmatch(r"was (an?) (.+)", asked)
        assert match
        assert match[1] == ("an" if match[2][0] in "aeiou" else "a")
        assert negated == f"can never be {match[1]} {match[2]}"
        assert cluster == cluster_neg


@pytest.mark.parametrize("name", PREJUDICE)
def test_there_are_enough_attributes_in_aligned_heads(name: str) -> None:
    found = activities(name)
    expected = set(PEOPLE_HEADS) | ({"l_act", "l_act:neg"} if name == "biased_country" else set())
    assert set(found) == expected
    assert len(found["p_act"]) >= 50
    for head in PEOPLE_HEADS:
        assert [cluster for cluster, _ in found[head]] == [cluster for cluster, _ in found["p_act"]]
    if name == "biased_country":
        assert len(found["l_act"]) >= 14
        assert [cluster for cluster, _ in found["l_act"]] == [cluster for cluster, _ in found["l_act:neg"]]


def test_attributes_of_people_are_the_same_in_the_three_files() -> None:
    country, ethnicity, religion = (
        {head: pairs for head, pairs in activities(name).items() if head in PEOPLE_HEADS} for name in PREJUDICE
    )
    assert country == ethnicity == religion


def test_attributes_of_people_have_at_least_eight_classes_of_four_to_eight() -> None:
    sizes = Counter(cluster for cluster, _ in activities("biased_country")["p_act"])
    assert len(sizes) >= 8
    assert all(4 <= size <= 8 for size in sizes.values())
    assert all(cluster == cluster.lower() for cluster in sizes)


@pytest.mark.parametrize("name", ACTIVITIES.values())
def test_no_attribute_or_negation_occurs_twice(name: str) -> None:
    found = activities(name)
    for group in ("l_act", "p_act", "p_act-single"):
        both = texts(found.get(group, [])) + texts(found.get(f"{group}:neg", []))
        assert [text for text, count in Counter(both).items() if count > 1] == []


@pytest.mark.parametrize("name", ACTIVITIES.values())
def test_negations_are_antonyms_or_never_but_not_not(name: str) -> None:
    for text in texts(list(chain.from_iterable(activities(name).values()))):
        assert not re.search(r"\bnot\b|cannot|n['\u2019]t\b", text.lower()), text


@pytest.mark.parametrize("name", PREJUDICE)
def test_attributes_are_short_and_plain(name: str) -> None:
    for text in texts(list(chain.from_iterable(activities(name).values()))):
        assert 3 <= len(text.split()) <= 9, text
        assert re.fullmatch(r"[a-z]+( [a-z]+)*", text), text


def test_plural_and_singular_differ_only_where_grammar_asks() -> None:
    found = activities("biased_country")
    for negation in ("", ":neg"):
        for (_, many), (_, one) in zip(found[f"p_act{negation}"], found[f"p_act-single{negation}"], strict=True):
            assert not many.startswith("was ")
            assert not one.startswith("were ")
            assert many.startswith("were ") == one.startswith("was ")


@pytest.mark.parametrize("name", PREJUDICE)
def test_no_attribute_names_a_group(name: str) -> None:
    groups = {
        text.lower()
        for subject in ("country", "ethnicity", "religion")
        for text in texts(list(chain.from_iterable(subjects(subject).values())))
    }
    for text in texts(list(chain.from_iterable(activities(name).values()))):
        assert not groups & set(text.split()), text


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("suffix", ["", "_lm"])
def test_each_template_has_both_subjects_and_one_head(kind: str, suffix: str) -> None:
    rows = templates(kind, suffix)
    known = activities(ACTIVITIES[kind])
    assert len(rows) == TEMPLATES[kind]
    assert len(set(rows)) == len(rows)
    for context, asked, negated in rows:
        slots = re.findall(r"\[[^\]]+\]", context)
        assert sorted(slots) in (["[subj1]", "[subj2]"], ["[subj1:dem]", "[subj2:dem]"])
        assert (":dem" in context) <= (kind == "country")
        (head,) = HEAD.findall(asked)
        assert HEAD.findall(negated) == [f"{head}:neg"]
        assert negated == asked.replace(f"[{head}]", f"[{head}:neg]")
        assert {head, f"{head}:neg"} <= set(known)
        masks = 1 if suffix else 0
        assert asked.count("[mask]") == masks
        assert len(re.findall(r"\[[^\]]+\]", asked)) == 1 + masks


@pytest.mark.parametrize("kind", CLASSES)
def test_questions_and_masked_sentences_share_contexts_and_heads(kind: str) -> None:
    spans, masks = templates(kind), templates(kind, "_lm")
    assert [row[0] for row in spans] == [row[0] for row in masks]
    assert [HEAD.findall(row[1]) for row in spans] == [HEAD.findall(row[1]) for row in masks]


def test_singular_and_plural_heads_follow_the_people_in_the_context() -> None:
    for kind in ("country", "ethnicity", "religion"):
        for context, masked, _ in templates(kind, "_lm"):
            who = re.search(r"\[subj2(?::dem)?\] (man|woman|boy|girl|men|women)\.", context)
            if who is None:
                assert re.fullmatch(r"\[mask\] \[l_act\]\.|People from \[mask\] \[p_act\]\.", masked)
                continue
            head = "p_act" if who[1] in ("men", "women") else "p_act-single"
            assert masked == f"The [mask] {who[1]} [{head}]."


def test_ethnicity_and_religion_have_the_same_templates() -> None:
    assert templates("ethnicity") == templates("religion")
    assert templates("ethnicity", "_lm") == templates("religion", "_lm")


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(("suffix", "end"), [("", "?"), ("_lm", ".")])
def test_every_combination_is_a_whole_sentence(kind: str, suffix: str, end: str) -> None:
    known = activities(ACTIVITIES[kind])
    for context, asked, negated in templates(kind, suffix):
        assert context.endswith(".")
        for template in (asked, negated):
            (head,) = HEAD.findall(template)
            for text in texts(known[head]):
                sentence = template.replace(f"[{head}]", text).replace("[mask]", "Somebody")
                assert sentence.endswith(end)
                assert sentence[:-1].rstrip(" ?.!,;") == sentence[:-1]
                assert "[" not in sentence
                assert "  " not in sentence
                assert sentence[0].isupper()


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("suffix", ["", "_lm"])
def test_cells_are_as_many_as_table_1_and_the_readme_say(kind: str, suffix: str) -> None:
    known = activities(ACTIVITIES[kind])
    combinations = sum(len(known[HEAD.findall(asked)[0]]) for _, asked, _ in templates(kind, suffix))
    cells = pair_count(kind) * combinations
    assert cells == CELLS[kind]
    label = "nationality" if kind == "country" else kind
    row = rf"\| {label} \| {'mask' if suffix else 'span'} \|.*\| {cells:,} \| {4 * cells:,} \|"
    assert re.search(row, (LISTS / "README.md").read_text(encoding="utf-8"))


def test_the_newsqa_filler_is_one_line() -> None:
    assert content(LISTS / "fillers" / "newsqa") == ["[aug] yes no  [text] (CNN) --"]
