"""Who is compared in a template, and its slots filled with them: by lists, names or vocabulary, as the authors do it.

Labels belong to slots where a template gives them (NAME1_info, NAME2_info), and to people where the vocabulary does.
The authors' program lets a template's label wander with the person when it swaps two proper names, so that in half of
the official examples of Gender_identity 35 and 36, and by the same rule of SES 8, the person whom the text calls trans,
or poor, has the other one's label. Here everybody has their own.

In a template that crosses race with gender or with socio-economic status, whoever has the stereotyped race and the
stereotyped value is compared with three people: (a) of the same race, with the opposite value; (b) of another race,
with the same value; (c) of another race, with the opposite value. Where races are words, (a) is the same for all
contrasts of a race and comes up with each: five times, with other words for what does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.probes.bbq.generation.templates import OPPOSITE, BBQTemplate, CrossedAttribute
from assay.probes.bbq.generation.vocabulary import FIRST, FIRST_ONLY, GroupWord, ProperName, SeededDraws, Vocabulary
from assay.probes.bbq.items import COMPARISONS

GENDER, NATIONALITY, RACE, SES = "Gender_identity", "Nationality", "Race_ethnicity", "SES"

SOME = 5
"""How many people a rule takes where there are as many or more."""

SOME_NAMES = 6
"""How many names are taken where all that matters is that they differ."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who fills NAME1 or NAME2, and in crossed templates, with `term`, GEN or OCC of the same number."""

    name: str
    label: str = ""
    term: str = ""

    @property
    def text(self) -> str:
        """The filler as `answer_info` has it."""
        return f"{self.name} {self.term}" if self.term else self.name


@dataclass(frozen=True, slots=True)
class PersonPair:
    """Who fills the slots 1 and 2; `subcategory` as the official files have it."""

    first: Person
    second: Person
    subcategory: str


def fill(text: str, pair: PersonPair, words: tuple[str, str] = ("", "")) -> str:
    """A template's text with everything in its place. The order of the steps matters.

    Articles are corrected only where a filler begins with a vowel, but then in the whole text, save at its beginning.

    >>> pair = PersonPair(Person("Asian"), Person("European"), "None")
    >>> fill("A {{NAME1}} {{WORD1}} met a {{NAME2}} and a {{NAME1}} one.", pair, ("aunt", ""))
    'A Asian aunt met a European and an Asian one.'
    """
    first, second = pair.first, pair.second
    for slot, first_filler, second_filler in (
        ("NAME", first.name, second.name),
        ("GEN", first.term, second.term),
        ("OCC", first.term, second.term),
        ("WORD", *words),
    ):
        text = text.replace(f"{{{{{slot}1}}}}", first_filler).replace(f"{{{{{slot}2}}}}", second_filler)
    text = text.replace("lesbian man", "lesbian woman").replace("Latino woman", "Latina woman")
    if any(re.match("[aeiou]", filler, re.IGNORECASE) for filler in (first.name, second.name, first.term, second.term)):
        text = re.sub(r"(\s[Aa])(\s[AEIOUaeiou])", r"\1n\2", text).replace(" an European", " a European")
    return text


# --- templates of one category

_Pairs = Iterator[list[PersonPair]]
_Meetings = Iterator[tuple[Person, Sequence[Person]]]
"""Everybody who may fill either slot, each with whom they are compared; labels are the vocabulary's."""


def groups_of_pairs(template: BBQTemplate, vocabulary: Vocabulary, draws: SeededDraws) -> _Pairs:
    """All pairs of people for a template, in the authors' order; those of a group share WORD1 and WORD2."""
    if template.crossing:
        yield from _crossed_pairs(template, template.crossing, vocabulary, draws)
        return
    both_orders = template.names is None and (template.proper or template.category != GENDER)
    for person, people in _meetings(template, vocabulary, draws):
        for compared in people:
            orders = [(person, compared), (compared, person)] if both_orders else [(person, compared)]
            yield [PersonPair(*_seated(template, order), template.subcategory) for order in orders]


def _seated(template: BBQTemplate, order: tuple[Person, Person]) -> tuple[Person, Person]:
    """Two people in the slots 1 and 2, with their labels: the slot's, the person's, both, or else the filler."""
    first, second = (
        Person(person.name, "_".join(filter(None, (info, person.label))) or person.name)
        for info, person in zip(template.infos, order, strict=True)
    )
    return first, second


def _meetings(template: BBQTemplate, vocabulary: Vocabulary, draws: SeededDraws) -> _Meetings:
    if template.names:
        firsts, seconds = ([Person(name) for name in names] for names in template.names)
        return ((person, seconds) for person in firsts)
    if template.proper:
        rules = {RACE: _race_names, GENDER: _gender_names}
        return rules.get(template.category, _any_names)(template, vocabulary, draws)
    if template.category == GENDER:
        words = draws.some(vocabulary.words(template, GENDER, template.part), SOME)
        return _each_with_the_rest([Person(word.text) for word in words])
    return (_opposite_words if template.category == SES else _stereotyped_words)(template, vocabulary, draws)


def _each_with_the_rest(people: Sequence[Person]) -> _Meetings:
    return ((person, [compared for compared in people if compared.name != person.name]) for person in people)


def _opposite_words(template: BBQTemplate, vocabulary: Vocabulary, draws: SeededDraws) -> _Meetings:
    """Some words, each with all those whose Info is another."""
    for word in draws.some(vocabulary.words(template, SES, template.part), SOME):
        _, opposites = vocabulary.by_info(template, SES, word.info, template.part)
        yield Person(word.text, word.info), [Person(opposite.text, opposite.info) for opposite in opposites]


def _stereotyped_words(template: BBQTemplate, vocabulary: Vocabulary, draws: SeededDraws) -> _Meetings:
    """The stereotyped groups' words, each with some of the others; nationalities have their region as label."""

    def person(word: GroupWord) -> Person:
        return Person(word.text, word.info if template.category == NATIONALITY else "")

    inside, outside = vocabulary.by_groups(template, template.category, template.part)
    for word in draws.some(inside, SOME):
        yield person(word), [person(compared) for compared in draws.some(outside, SOME)]


def _race_names(template: BBQTemplate, vocabulary: Vocabulary, draws: SeededDraws) -> _Meetings:
    """Names of the stereotyped groups, each with names of the same gender and of other groups."""

    def person(name: ProperName) -> Person:
        return Person(vocabulary.full_name(template, name, draws), name.label)

    for name in draws.sample(vocabulary.names(template, FIRST, among=template.groups), SOME):
        others = vocabulary.names(template, FIRST, name.gender, besides=template.groups, without=name.text)
        yield person(name), [person(compared) for compared in draws.sample(others, SOME)]


def _gender_names(template: BBQTemplate, vocabulary: Vocabulary, draws: SeededDraws) -> _Meetings:
    """Women's names, each with some men's."""
    for woman in draws.sample(vocabulary.names(template, FIRST_ONLY, "F"), SOME):
        men = draws.sample(vocabulary.names(template, FIRST_ONLY, "M", without=woman.text), SOME)
        yield Person(woman.text, "F"), [Person(man.text, "M") for man in men]


def _any_names(template: BBQTemplate, vocabulary: Vocabulary, draws: SeededDraws) -> _Meetings:
    """Names of either gender, each with all the others."""
    names = draws.sample(vocabulary.names(template, FIRST_ONLY), SOME_NAMES)
    vocabulary.names(template, FIRST_ONLY, without=names[0].text)  # complains where there is nobody else
    return _each_with_the_rest([Person(name.text) for name in names])


# --- crossed templates

_Contrasts = Iterator[tuple[Person, Sequence[tuple[Person, Person, Person]]]]
"""Everybody who is compared, each with the people of the comparisons a, b, c, several times; labels are races."""


def _crossed_pairs(
    template: BBQTemplate, crossing: CrossedAttribute, vocabulary: Vocabulary, draws: SeededDraws
) -> _Pairs:
    """All pairs of people for a crossed template, in groups of six: a, b, c, and the same in the other order."""
    value, opposite = crossing.value, OPPOSITE[crossing.value]
    named = template.proper and crossing.by_gender  # then a name says both
    terms = ["", ""] if named else [draws.choice(words) for words in crossing.terms or ()]  # the same in all contrasts

    def person(named_person: Person, value: str, term: str) -> Person:
        return Person(named_person.name, named_person.label if named else f"{value}-{named_person.label}", term)

    meetings = _crossed_names if template.proper else _crossed_words
    for target, contrasts in meetings(template, crossing, vocabulary, draws):
        for a, b, c in contrasts:
            occupations = () if terms else vocabulary.by_info(template, SES, value)
            term, opposite_term = terms or [draws.choice(words).text for words in occupations]
            first = person(target, value, term)
            others = person(a, opposite, opposite_term), person(b, value, term), person(c, opposite, opposite_term)
            pairs = [PersonPair(first, second, name) for second, name in zip(others, COMPARISONS, strict=True)]
            yield [*pairs, *(PersonPair(pair.second, pair.first, pair.subcategory) for pair in pairs)]


def _crossed_words(
    template: BBQTemplate, _: CrossedAttribute, vocabulary: Vocabulary, draws: SeededDraws
) -> _Contrasts:
    inside, outside = vocabulary.by_groups(template, RACE)
    for word in draws.some(inside, SOME):
        target = Person(word.text, word.text)
        others = [Person(compared.text, compared.text) for compared in draws.some(outside, SOME)]
        yield target, [(target, compared, compared) for compared in others]


def _crossed_names(
    template: BBQTemplate, crossing: CrossedAttribute, vocabulary: Vocabulary, draws: SeededDraws
) -> _Contrasts:
    """With gender, three names for a, b, c; with status, the same other name for b and c, all of the same gender.

    With gender the other race need not be outside the stereotyped groups: it is any but the target's own.
    """
    gender = crossing.value if crossing.by_gender else crossing.gender
    for target in draws.sample(vocabulary.names(template, FIRST, gender, among=template.groups), SOME):
        race, same, opposite = [target.ethnicity], target.gender, OPPOSITE[target.gender]
        if crossing.by_gender:
            pools = [
                vocabulary.names(template, FIRST, opposite, among=race, without=target.text),
                vocabulary.names(template, FIRST, same, besides=race, without=target.text),
                vocabulary.names(template, FIRST, opposite, besides=race, without=target.text),
            ]
        else:
            pools = [
                vocabulary.names(template, FIRST, same, among=race, without=target.text),
                vocabulary.names(template, FIRST, same, besides=template.groups, without=target.text),
            ]
        chosen = [
            [Person(vocabulary.full_name(template, name, draws), name.label) for name in names]
            for names in ([target], *(draws.sample(pool, SOME) for pool in pools))
        ]
        yield chosen[0][0], list(zip(chosen[1], chosen[2], chosen[-1], strict=False))
