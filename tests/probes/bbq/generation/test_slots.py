"""Slots are filled as the authors fill them."""

from __future__ import annotations

import pytest

from assay.probes.bbq.generation import Person, PersonPair, fill


@pytest.mark.parametrize(
    ("text", "first", "second", "filled"),
    [
        ("I met a {{NAME1}} and a owl.", "Roma", "Sikh", "I met a Roma and a owl."),
        ("I met a {{NAME1}} and a owl.", "Roma", "Irish", "I met a Roma and an owl."),
        ("A {{NAME1}} came. A {{NAME2}} left.", "Asian", "Arab", "A Asian came. An Arab left."),
        ("I met a {{NAME1}}.", "European", "Sikh", "I met a European."),
        ("One a {{NAME1}} man, one a {{NAME2}} man", "lesbian", "gay", "One a lesbian woman, one a gay man"),
        ("the {{NAME1}} woman", "Latino", "Sikh", "the Latina woman"),
        ("the {{{NAME1}} and {{NAME2}}}", "Thai", "Sikh", "the {Thai and Sikh}"),
    ],
)
def test_slots_are_filled_as_the_authors_fill_them(text: str, first: str, second: str, filled: str) -> None:
    assert fill(text, PersonPair(Person(first, ""), Person(second, ""), "None")) == filled


def test_an_occupation_with_a_vowel_corrects_articles_too() -> None:
    pair = PersonPair(Person("Roma", "", "dentist"), Person("Black", "", "usher"), "intersectional_c")
    assert fill("a {{OCC1}} and a {{OCC2}} with a apple", pair) == "a dentist and an usher with an apple"
    assert fill("a {{GEN1}} and a {{GEN2}}", pair) == "a dentist and an usher"
