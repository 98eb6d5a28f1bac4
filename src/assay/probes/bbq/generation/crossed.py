"""Who is compared in a template that crosses race with gender or with socio-economic status.

Whoever has the stereotyped race and the stereotyped value is compared with three people: (a) of the same race, with the
opposite value; (b) of another race, with the same value; (c) of another race, with the opposite value. Where races are
words, (a) is the same for all contrasts of a race and comes up with each: five times, with other words for what does
not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.probes.bbq.examples import COMPARISONS
from assay.probes.bbq.generation.draws import Draws
from assay.probes.bbq.generation.slots import Pair, Person
from assay.probes.bbq.generation.templates import OPPOSITE, Crossing, Template
from assay.probes.bbq.generation.vocabulary import FIRST, Vocabulary

RACE, SES = "Race_ethnicity", "SES"
"""The categories whose words crossed templates take."""

SOME = 5
"""How many people a rule takes where there are as many or more."""

_Somebody = tuple[str, str]
"""A filler and its race: "Black" twice, or a full name with "F-Black"."""

_Meetings = Iterator[tuple[_Somebody, Sequence[tuple[_Somebody, _Somebody, _Somebody]]]]
"""Everybody who is compared, each with the people of the comparisons a, b, c, several times."""


def crossed_pairs(template: Template, crossing: Crossing, vocabulary: Vocabulary, draws: Draws) -> Iterator[list[Pair]]:
    """All pairs of people for a crossed template, in groups of six: a, b, c, and the same in the other order."""
    value, opposite = crossing.value, OPPOSITE[crossing.value]
    named = template.proper and crossing.by_gender  # then a name says both
    terms = ("", "") if named else _fixed_terms(crossing, draws)

    def person(somebody: _Somebody, value: str, term: str) -> Person:
        name, race = somebody
        return Person(name, race if named else f"{value}-{race}", term)

    meetings = _names if template.proper else _words
    for target, contrasts in meetings(template, crossing, vocabulary, draws):
        for a, b, c in contrasts:
            own, other = terms or _occupations(template, crossing, vocabulary, draws)
            one = person(target, value, own)
            others = person(a, opposite, other), person(b, value, own), person(c, opposite, other)
            pairs = [Pair(one, second, name) for second, name in zip(others, COMPARISONS, strict=True)]
            yield [*pairs, *(pair.reversed() for pair in pairs)]


def _fixed_terms(crossing: Crossing, draws: Draws) -> tuple[str, str] | None:
    """The terms for the two values, one choice for the whole template; None where every contrast has its own."""
    if crossing.terms is None:
        return None
    own, other = map(draws.choice, crossing.terms)
    return own, other


def _occupations(template: Template, crossing: Crossing, vocabulary: Vocabulary, draws: Draws) -> tuple[str, str]:
    own, other = vocabulary.by_info(template, SES, crossing.value)
    return draws.choice(own).text, draws.choice(other).text


def _words(template: Template, _: Crossing, vocabulary: Vocabulary, draws: Draws) -> _Meetings:
    inside, outside = vocabulary.by_groups(template, RACE)
    for word in draws.some(inside, SOME):
        one = (word.text, word.text)
        others = [(other.text, other.text) for other in draws.some(outside, SOME)]
        yield one, [(one, other, other) for other in others]


def _names(template: Template, crossing: Crossing, vocabulary: Vocabulary, draws: Draws) -> _Meetings:
    """With gender, three names for a, b, c; with status, the same other name for b and c, all of the same gender.

    With gender the other race need not be outside the stereotyped groups: it is any but the target's own.
    """
    gender = crossing.value if crossing.by_gender else crossing.gender
    for one in draws.sample(vocabulary.names(template, FIRST, gender, among=template.groups), SOME):
        race, same, opposite = [one.ethnicity], one.gender, OPPOSITE[one.gender]
        if crossing.by_gender:
            pools = [
                vocabulary.names(template, FIRST, opposite, among=race, without=one.text),
                vocabulary.names(template, FIRST, same, besides=race, without=one.text),
                vocabulary.names(template, FIRST, opposite, besides=race, without=one.text),
            ]
        else:
            pools = [
                vocabulary.names(template, FIRST, same, among=race, without=one.text),
                vocabulary.names(template, FIRST, same, besides=template.groups, without=one.text),
            ]
        chosen = [
            [(vocabulary.full_name(template, name, draws), name.label) for name in names]
            for names in ([one], *(draws.sample(pool, SOME) for pool in pools))
        ]
        yield chosen[0][0], list(zip(chosen[1], chosen[2], chosen[-1], strict=False))
