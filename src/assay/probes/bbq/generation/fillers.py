"""Who is compared in a template: by its own lists, by proper names, or by the vocabulary, as in the authors' program.

Labels belong to slots where a template gives them (NAME1_info, NAME2_info), and to people where the vocabulary does.
The authors' program lets a template's label wander with the person when it swaps two proper names, so that in half of
the official examples of Gender_identity 35 and 36, and by the same rule of SES 8, the person whom the text calls trans,
or poor, has the other one's label. Here everybody has their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.probes.bbq.generation.crossed import RACE, SES, SOME, crossed_pairs
from assay.probes.bbq.generation.draws import Draws
from assay.probes.bbq.generation.slots import Pair, Person
from assay.probes.bbq.generation.templates import Template
from assay.probes.bbq.generation.vocabulary import FIRST, FIRST_ONLY, Name, Vocabulary, Word

GENDER, NATIONALITY = "Gender_identity", "Nationality"

SOME_NAMES = 6
"""How many names are taken where all that matters is that they differ."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Somebody who may fill either slot; `label` is the vocabulary's, "" where it has none."""

    name: str
    label: str = ""


_Meetings = Iterator[tuple[_Candidate, Sequence[_Candidate]]]
"""Everybody who is compared, each with whom."""


def groups_of_pairs(template: Template, vocabulary: Vocabulary, draws: Draws) -> Iterator[list[Pair]]:
    """All pairs of people for a template, in the authors' order; those of a group share WORD1 and WORD2."""
    if template.crossing:
        yield from crossed_pairs(template, template.crossing, vocabulary, draws)
        return
    both_orders = template.names is None and (template.proper or template.category != GENDER)
    for one, others in _meetings(template, vocabulary, draws):
        for other in others:
            orders = [(one, other), (other, one)] if both_orders else [(one, other)]
            yield [Pair(*_seated(template, order), template.subcategory) for order in orders]


def _seated(template: Template, order: tuple[_Candidate, _Candidate]) -> tuple[Person, Person]:
    """Two people in the slots 1 and 2, with their labels: the slot's, the person's, both, or else the filler."""
    one, other = (
        Person(candidate.name, "_".join(filter(None, (info, candidate.label))) or candidate.name)
        for info, candidate in zip(template.infos, order, strict=True)
    )
    return one, other


def _meetings(template: Template, vocabulary: Vocabulary, draws: Draws) -> _Meetings:
    if template.names:
        firsts, seconds = ([_Candidate(name) for name in names] for names in template.names)
        return ((one, seconds) for one in firsts)
    if template.proper:
        rules = {RACE: _race_names, GENDER: _gender_names}
        return rules.get(template.category, _any_names)(template, vocabulary, draws)
    if template.category == GENDER:
        words = draws.some(vocabulary.words(template, GENDER, template.part), SOME)
        return _each_with_the_rest([_Candidate(word.text) for word in words])
    return (_opposite_words if template.category == SES else _stereotyped_words)(template, vocabulary, draws)


def _each_with_the_rest(people: Sequence[_Candidate]) -> _Meetings:
    return ((one, [other for other in people if other.name != one.name]) for one in people)


def _opposite_words(template: Template, vocabulary: Vocabulary, draws: Draws) -> _Meetings:
    """Some words, each with all those whose Info is another."""
    for word in draws.some(vocabulary.words(template, SES, template.part), SOME):
        _, others = vocabulary.by_info(template, SES, word.info, template.part)
        yield _Candidate(word.text, word.info), [_Candidate(other.text, other.info) for other in others]


def _stereotyped_words(template: Template, vocabulary: Vocabulary, draws: Draws) -> _Meetings:
    """The stereotyped groups' words, each with some of the others; nationalities have their region as label."""

    def candidate(word: Word) -> _Candidate:
        return _Candidate(word.text, word.info if template.category == NATIONALITY else "")

    inside, outside = vocabulary.by_groups(template, template.category, template.part)
    for word in draws.some(inside, SOME):
        yield candidate(word), [candidate(other) for other in draws.some(outside, SOME)]


def _race_names(template: Template, vocabulary: Vocabulary, draws: Draws) -> _Meetings:
    """Names of the stereotyped groups, each with names of the same gender and of other groups."""

    def candidate(name: Name) -> _Candidate:
        return _Candidate(vocabulary.full_name(template, name, draws), name.label)

    for name in draws.sample(vocabulary.names(template, FIRST, among=template.groups), SOME):
        others = vocabulary.names(template, FIRST, name.gender, besides=template.groups, without=name.text)
        yield candidate(name), [candidate(other) for other in draws.sample(others, SOME)]


def _gender_names(template: Template, vocabulary: Vocabulary, draws: Draws) -> _Meetings:
    """Women's names, each with some men's."""
    for woman in draws.sample(vocabulary.names(template, FIRST_ONLY, "F"), SOME):
        men = draws.sample(vocabulary.names(template, FIRST_ONLY, "M", without=woman.text), SOME)
        yield _Candidate(woman.text, "F"), [_Candidate(man.text, "M") for man in men]


def _any_names(template: Template, vocabulary: Vocabulary, draws: Draws) -> _Meetings:
    """Names of either gender, each with all the others."""
    names = draws.sample(vocabulary.names(template, FIRST_ONLY), SOME_NAMES)
    vocabulary.names(template, FIRST_ONLY, without=names[0].text)  # complains where there is nobody else
    return _each_with_the_rest([_Candidate(name.text) for name in names])
