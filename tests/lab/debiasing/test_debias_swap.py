"""CDA's swap: words change with their case and endings right, everything else stays, and the swap can be undone."""

from __future__ import annotations

import itertools
import json
import lzma
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.lab.debiasing.attribute_words import read_attribute
from assay.lab.debiasing.cda import ReleasedSwapper, Swapper, Tuples, drawn, shifted

ONE_TO_ONE = (
    ("he", "she"),
    ("man", "woman"),
    ("actor", "actress"),
    ("actors", "actresses"),
    ("boys", "girls"),
    ("sir", "ma'am"),
    ("mr.", "mrs."),
    ("lord", "dr."),
    ("he-goat", "nanny"),
    ("i", "we"),
)
TRIPLES = (("jewish", "christian", "muslim"), ("rabbi", "priest", "imam"), ("st.", "dr.", "x-ray"))
PRONOUNS = (("he", "she"), ("him", "her"), ("his", "her"), ("his", "hers"), ("himself", "herself"))


def counterfactual(text: str, tuples: Tuples, shift: int | Sequence[int] = 1) -> str:
    """The text with every attribute word replaced by the one so far behind it, or of the class that replaces it."""
    swapper = Swapper(tuples)
    return swapper.swapped(text, shifted(swapper.classes, shift) if isinstance(shift, int) else shift)


# --- single words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("he He HE", "she She SHE"),
        ("hE mAN", "hE mAN"),  # names and codes
        ("The Actor's hat, the actors' hats.", "The Actress's hat, the actresses' hats."),
        ("MAN’S", "WOMAN’S"),
        ("He'll say he's late; he'd know.", "She'll say she's late; she'd know."),
        ('(he) "he" he, he; he: he! he? he… —he—', '(she) "she" she, she; she: she! she? she… —she—'),
        ("He. He said.", "She. She said."),
        ("theatre sheman manly, human woman_x he2", "theatre sheman manly, human woman_x he2"),
        ("Mr. Hill met mrs. Dale, and Mr Hill", "Mrs. Hill met mr. Dale, and Mr Hill"),
        ("Yes, ma'am. Sir's hat; SIR!", "Yes, sir. Ma'am's hat; MA'AM!"),
        ("the table, 3.5 km, a_b", "the table, 3.5 km, a_b"),
        ("", ""),
    ],
)
def test_words_change_with_case_punctuation_and_endings_and_others_are_kept(text: str, expected: str) -> None:
    assert counterfactual(text, ONE_TO_ONE) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("an ex-man and a Snow-Man", "an ex-woman and a Snow-Woman"),
        ("man-made, he-said, boys-only", "man-made, he-said, boys-only"),
        ("the man-in-law's, the actor-to-be, Boys-in-Law", "the woman-in-law's, the actress-to-be, Girls-in-Law"),
        ("A he-goat. The Nanny's he-goats", "A nanny. The He-goat's he-goats"),  # the whole word is listed
        ("super-nanny", "super-nanny"),  # super-he-goat would be read as super-he and a goat
        ("in-law to-be", "in-law to-be"),
    ],
)
def test_of_a_hyphenated_word_its_head_changes(text: str, expected: str) -> None:
    assert counterfactual(text, ONE_TO_ONE) == expected


def test_a_counterpart_with_a_period_is_put_only_where_it_can_be_read_back() -> None:
    text = "The lord spoke. My lord. Lords, lord-like, lord's. The dr. spoke. No dr.s."
    assert (
        counterfactual(text, ONE_TO_ONE) == "The dr. spoke. My lord. Lords, lord-like, lord's. The lord spoke. No dr.s."
    )


def test_triples_go_round() -> None:
    assert counterfactual("A Rabbi and an imam", TRIPLES) == "A Priest and an rabbi"
    assert counterfactual("A Rabbi and an imam", TRIPLES, shift=2) == "A Imam and an priest"
    assert counterfactual("A Rabbi and an imam", TRIPLES, shift=(2, 0, 1)) == "A Imam and an priest"
    assert counterfactual("A Rabbi and an imam", TRIPLES, shift=(1, 0, 0)) == "A Priest and an rabbi"


# --- words with several counterparts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I saw her.", "I saw him."),
        ("I saw her; her coat was wet", "I saw him; his coat was wet"),
        ("I told her that she must go with her sister", "I told him that he must go with his sister"),
        ("I gave her the book", "I gave him the book"),
        ("HER OWN HOUSE", "HIS OWN HOUSE"),
        ("They looked at her sadly", "They looked at him sadly"),
        ("Her family left", "His family left"),
        ('Her "friend"', 'His "friend"'),
        ("I told her I'm late", "I told him I'm late"),
        ("near her\nold home", "near him\nold home".replace("him", "his")),
        ("The book is his.", "The book is hers."),
        ("His book is his, and his to give", "Her book is hers, and hers to give"),
        ("hers, Herself", "his, Himself"),
    ],
)
def test_the_next_word_decides_between_object_and_possessive(text: str, expected: str) -> None:
    assert counterfactual(text, PRONOUNS) == expected


def test_the_rule_follows_the_list_and_not_two_fixed_words() -> None:
    plural = (("he", "she", "they"), ("him", "her", "them"), ("his", "her", "their"), ("his", "hers", "theirs"))
    assert counterfactual("She met her aunt; I know her.", plural) == "They met their aunt; I know them."
    assert counterfactual("his hat is his", plural, shift=2) == "their hat is theirs"
    assert counterfactual("The hat is his.", PRONOUNS[:3]) == "The hat is her."  # no hers in the list
    assert counterfactual("her hat", [("him", "her")]) == "him hat"


def test_of_other_ambiguous_words_the_first_tuple_wins() -> None:
    pairs = (("gentleman", "lady"), ("lord", "lady"), ("mr.", "mrs."), ("mr.", "ms."))
    assert counterfactual("Lady Ash and lord Birch met Mr. Elm and Ms. Oak", pairs) == (
        "Gentleman Ash and lady Birch met Mrs. Elm and Mr. Oak"
    )


def test_the_rule_is_mostly_right_in_real_text(official_data: Path) -> None:
    """English tells him from his: where a text has one of them, the rule should have chosen it."""
    with lzma.open(official_data / "text" / "standard_ebooks.txt.xz", "rt", encoding="utf-8") as file:
        text = file.read(3_000_000)
    swapper, spaced = Swapper([("him", "her"), ("his", "her")]), re.compile(r"(?<=\s)(hi[ms])(?=[\s.,;!?])")
    there = spaced.findall(text)
    text = re.sub(r"(?i)\bher\b", "hers", text)  # what is not known must not count
    chosen = spaced.findall(swapper.swapped(spaced.sub("her", text), (1, 0)))
    assert len(there) == len(chosen) > 5000
    assert sum(a == b for a, b in zip(there, chosen, strict=True)) / len(there) > 0.94


# --- undoing


_PIECES = st.sampled_from(
    [
        *itertools.chain(*ONE_TO_ONE, *TRIPLES),
        *("goat", "ex", "in-law", "law", "to-be", "x", "ray", "dr", "mr", "s", "the", "they", "1", "_", "é", "\u0301"),
        *("'", "’", "-", ".", ",", " ", "\n", '"', "…", "'s", "--", "..", " "),
    ]
)
_TEXTS = st.lists(
    st.tuples(_PIECES, st.sampled_from([str, str.capitalize, str.upper, str.swapcase])).map(
        lambda pair: pair[1](pair[0])
    ),
    max_size=24,
).map("".join)


@given(_TEXTS | st.text(max_size=60))
def test_two_passes_give_any_text_back_for_a_one_to_one_list(text: str) -> None:
    assert counterfactual(counterfactual(text, ONE_TO_ONE), ONE_TO_ONE) == text


@given(_TEXTS, st.integers(-4, 4))
def test_the_inverse_shift_gives_any_text_back_for_triples(text: str, shift: int) -> None:
    assert counterfactual(counterfactual(text, TRIPLES, shift), TRIPLES, -shift) == text


@given(
    st.lists(st.text("abcß-'.", min_size=1, max_size=4), min_size=4, max_size=8, unique=True),
    st.text("abcßABCS-'. ", max_size=30),
)
def test_it_can_be_undone_whatever_the_words_are(words: list[str], text: str) -> None:
    pairs = list(zip(words[::2], words[1::2], strict=False))
    if all(re.fullmatch(r"\w+(?:['’-]\w+)*\.?", word) for word in words):  # as lists of words have them
        assert counterfactual(counterfactual(text, pairs), pairs) == text


@given(_TEXTS)
def test_what_would_not_change_has_no_word(text: str) -> None:
    assert Swapper(ONE_TO_ONE).has_word(text) == (counterfactual(text, ONE_TO_ONE) != text)


def test_nothing_else_changes_in_a_long_text_and_its_spaces_stay() -> None:
    text = "  A\ttree;\r\n\r\n“Leaves”   fell — slowly…\x0b  He  saw.\n"
    assert counterfactual(text, ONE_TO_ONE) == text.replace("He", "She")


# --- which class replaces which


def test_a_drawn_replacement_is_never_the_class_itself_and_draws_each_class_on_its_own() -> None:
    random = Random(0)
    drawings = {drawn(3, random) for _ in range(200)}
    assert drawings == set(itertools.product((1, 2), (0, 2), (0, 1)))
    assert drawn(2, random) == shifted(2) == (1, 0)


# --- as released


def test_as_released_the_last_tuple_wins_and_words_are_what_stands_between_spaces() -> None:
    swapper = ReleasedSwapper([("he", "she"), ("him", "her"), ("his", "her"), ("actor", "actress")])
    text = "i saw her, and her  coat. he ; (he) he's actor: actor's He"
    assert swapper.swapped(text, (1, 0)) == "i saw his, and his coat. she ; (he) he's actress: actor's He"
    assert swapper.has_word("so she:")
    assert not swapper.has_word("He, (she) he-man")


def test_as_released_triples_take_the_replacement_of_their_class() -> None:
    swapper = ReleasedSwapper([("black", "caucasian", "asian"), ("black", "white", "asian")])
    assert swapper.swapped("black white caucasian asian", (1, 2, 0)) == "white asian asian black"
    assert swapper.swapped("black asian!", (2, 0, 1)) == "asian white!"


# --- lists


@pytest.mark.parametrize("attribute", ["gender", "race", "religion"])
def test_every_packaged_word_is_found_and_replaced(attribute: str) -> None:
    tuples = read_attribute(attribute).tuples
    for words in tuples:
        for word in words:
            assert counterfactual(f"The {word} here", tuples) != f"The {word} here"


def test_every_word_of_the_usual_list_is_found_and_replaced(official_data: Path) -> None:
    file = official_data / "bias_bench" / "bias_attribute_words.json"
    for tuples in json.loads(file.read_text(encoding="utf-8")).values():
        for word in itertools.chain(*tuples):
            assert Swapper(tuples).has_word(f"The {word} here"), word
