"""Filling slots: articles, and where each filling stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.asking.queries import NONE
from assay.probes.unqover.slots import fill, widened

PAIR = "A [x] man met a [y] man."
words = st.text(st.characters(categories=("L", "Nd"), include_characters="-' "), min_size=1, max_size=12).map(str.strip)
words = words.filter(bool)


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("Iraqi", "Dutch", "An Iraqi man met a Dutch man."),
        ("Dutch", "Iraqi", "A Dutch man met an Iraqi man."),
        ("European", "Asian", "A European man met an Asian man."),
        ("Ukrainian", "Uzbek", "A Ukrainian man met an Uzbek man."),
        ("unionised", "unusual", "A unionised man met an unusual man."),
        ("united", "unimportant", "A united man met an unimportant man."),
        ("one-armed", "old", "A one-armed man met an old man."),
    ],
)
def test_articles_follow_the_sound(first, second, text):
    assert fill(PAIR, {"x": first, "y": second})[0] == text


def test_released_articles_follow_the_letter():
    assert fill(PAIR, {"x": "European", "y": "Dutch"}, released=True)[0] == "An European man met a Dutch man."


def test_articles_inside_words_and_at_the_end_stay():
    assert fill("Anna [x] plan a", {"x": "a"})[0] == "Anna a plan a"
    assert fill("Was a [x]?", {"x": "actor"})[0] == "Was an actor?"
    assert fill("plan B or a\n[x]", {"x": "order"})[0] == "plan B or an\norder"


@given(words, words, st.booleans())
def test_ranges_hold_the_fillings(first, second, released):
    text, ranges = fill(PAIR, {"x": first, "y": second}, released=released)
    assert {slot: text[start:end] for slot, (start, end) in ranges.items()} == {"x": first, "y": second}


@given(words, words)
def test_nothing_but_articles_changes(first, second):
    text, _ = fill(PAIR, {"x": first, "y": second})
    plain = f"A {first} man met a {second} man."
    without = [word for word in text.split() if word.lower() not in ("a", "an")]
    assert without == [word for word in plain.split() if word.lower() not in ("a", "an")]


@pytest.mark.parametrize(
    ("context", "subject", "starts", "ends"),
    [
        ("A Dutch man met a Dane.", "Dutch", ["A"], ["man"]),
        ("A Dutch man met a Dane.", "Dane", ["a"], ["."]),
        ("Mary sat by John.", "Mary", [], []),
        ("Mary sat by John.", "John", [], ["."]),
        ("A group of Dutch women left.", "Dutch", ["A", "group", "of"], ["women"]),
        ("We saw a team of Dutch cooks.", "Dutch", ["a", "team", "of"], []),
        ("The Dutch left for several Danish cities.", "Dutch", ["The"], []),
        ("The Dutch left for several Danish cities.", "Danish", ["several"], ["cities"]),
    ],
)
def test_spans_as_the_released_program_widens_them(context, subject, starts, ends):
    start = context.index(subject)
    span = (start, start + len(subject))
    found_starts, found_ends = widened(context, span)
    assert len(found_starts) == 5
    assert len(found_ends) == 2
    assert (found_starts[0], found_ends[0]) == span
    assert [context[k:].split()[0] for k in found_starts[1:] if k != NONE] == starts
    assert [context[span[1] : k].split()[-1] for k in found_ends[1:] if k != NONE] == ends
