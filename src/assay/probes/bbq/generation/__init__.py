"""Generates BBQ's examples from the authors' templates and vocabularies, or from the user's own.

With the authors' templates there are as many examples of every template as in the official files, in the same order and
with the same texts around the same fillers; which fillers, UNKNOWN strings and orders of answers are drawn differs,
since the official files were drawn without a seed. Other differences:

* An answer's filler and label are those of the slot in it. The authors' program takes whoever's name occurs in the
  answer, which fails for names that are part of others; official files were fixed afterwards, and one filler of
  Physical_appearance (examples 656 to 659) grew by a word of its template.
* With the fact, the right answer is Answer_negative for the negative question and Answer_non_negative for the other. In
  Physical_appearance 6 b and 10 b these two columns are swapped but the fact is not, so the label of the 68 examples
  with a fact contradicts it. The official file has the same error, and so has what is generated here.
* No two people of an example have the same first name (the vocabulary has an Amy of two ethnicities).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from assay.asking.plan import Ask
from assay.asking.progress import Progress
from assay.datasets.catalogue import data_folder
from assay.errors import UsageError
from assay.files.atomic import open_atomically, remove_leftovers
from assay.probes.base import Request
from assay.probes.bbq import items as bbq
from assay.probes.bbq.generation.templates import (
    OPPOSITE,
    BBQTemplate,
    CrossedAttribute,
    read_templates,
    template_files,
)
from assay.probes.bbq.generation.vocabulary import FIRST, FIRST_ONLY, GroupWord, ProperName, SeededDraws, Vocabulary
from assay.probes.bbq.items import COMPARISONS, OPTIONS, QUARTET, UNKNOWN_LABEL, Item
from assay.probes.bbq.settings import BBQGenerateSettings

COUNTED = "questions with three options, a file for each category"

_SOME = 1000
"""Examples written between two updates of the progress bar."""


@dataclass(frozen=True)
class BBQQuestionWriter:
    """A set of examples to generate: from all files in a folder of templates, or from those of some categories."""

    counted: ClassVar[str] = COUNTED
    templates: Mapping[str, Path]  # category -> file
    vocabulary: Vocabulary
    seed: int = 0

    @staticmethod
    def of(settings: BBQGenerateSettings, request: Request) -> BBQQuestionWriter:
        """The generation that the settings describe; by default the authors' templates in the official data."""
        folder = Path(settings.templates).expanduser()
        if not settings.templates:
            folder = data_folder(request.data) / "bbq" / "templates"
            if not folder.is_dir():
                remedy = "Name the folder with the CSV files: --set templates=DIR"
                raise UsageError("the templates were not found.", remedy, code="missing-setting", key="templates")
        paths = template_files(folder)
        named = settings.category
        categories = list(paths) if named is None else [name.strip() for name in named.split(",")]
        for name in categories:
            if name not in paths:
                problem = f"{folder} has no templates for the category {name!r}; it has {', '.join(paths)}."
                remedy = f"--set category={next(iter(paths))}"
                raise UsageError(problem, remedy, code="bad-setting", key="category")
        chosen = {name: path for name, path in paths.items() if name in categories}
        return BBQQuestionWriter(chosen, Vocabulary.read(folder), request.seed)

    def files(self) -> list[str]:
        return [f"{category}.jsonl" for category in self.templates]

    def count(self) -> int:
        """The number of examples; raises an error for unusable templates before anything is written."""
        return len(QUARTET) * sum(len(group) for template in self._all_templates() for group in self._groups(template))

    def notes(self) -> list[str]:
        """Notes for the user: templates, or parts of their lists, that produce nothing."""
        return [note for template in self._all_templates() for note in template.notes]

    def examples(self) -> Iterator[Item]:
        """All examples, category by category."""
        for category in self.templates:
            yield from self.examples_of(category)

    def examples_of(self, category: str) -> Iterator[Item]:
        """The examples of a category, numbered from 0."""
        first_id = 0
        for template in self._templates(category):
            draws = SeededDraws("bbq texts", self.seed, category, template.index)
            for group in self._groups(template):
                words = tuple(draws.choice(word) if word else "" for word in template.words)
                for pair in group:
                    yield from _quartet(template, pair, (words[0], words[1]), draws, first_id)
                    first_id += len(QUARTET)

    def write(self, out: Path, advance: Callable[[int], None]) -> int:
        """Write a file for each category into the folder `out`, and return the number of examples."""
        self.count()  # complains before anything is written
        return write_files(out, {category: self.examples_of(category) for category in self.templates}, advance)

    def write_to(self, out: Path, ask: Ask | None, meter: Progress) -> int:
        require_folder(out)
        meter.start("bbq", self.count(), "examples")
        return self.write(out, meter.advance)

    def _templates(self, category: str) -> list[BBQTemplate]:
        return read_templates(self.templates[category], category)

    def _all_templates(self) -> Iterator[BBQTemplate]:
        return (template for category in self.templates for template in self._templates(category))

    def _groups(self, template: BBQTemplate) -> Iterator[list[PersonPair]]:
        """The pairs of a template. Fillers have draws of their own, so they can be counted without filling any text."""
        draws = SeededDraws("bbq fillers", self.seed, template.category, template.index)
        return groups_of_pairs(template, self.vocabulary, draws)


def write_files(out: Path, examples: Mapping[str, Iterable[Item]], advance: Callable[[int], None]) -> int:
    """Write CATEGORY.jsonl for each category into the folder `out`, and return the number of examples."""
    remove_leftovers(out)
    n_written = 0
    for category, items in examples.items():
        with open_atomically(out / f"{category}.jsonl") as file:
            for example in items:
                file.write(f"{example.to_line()}\n".encode())
                n_written += 1
                if n_written % _SOME == 0:
                    advance(_SOME)
    if n_written % _SOME:
        advance(n_written % _SOME)
    return n_written


def require_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        remedy = "Name the folder to write the files into with --out."
        raise UsageError("this is a file, not a folder.", remedy, code="bad-option", file=out, key="out")


def _quartet(
    template: BBQTemplate, pair: PersonPair, words: tuple[str, str], draws: SeededDraws, first_id: int
) -> Iterator[Item]:
    """The four examples of a filled template: both questions, without and with the fact that decides.

    They share everything else. With the fact, the negative question's answer is Answer_negative, the other one's
    Answer_non_negative.
    """
    unknown = draws.choice(bbq.UNKNOWN_STRINGS)
    order = draws.sample(range(OPTIONS), OPTIONS)  # place -> 0 negative, 1 non-negative, 2 unknown
    people = (pair.first, pair.second)
    answers = [*(fill(answer, pair, words) for answer in template.answers), unknown]
    info = [*((people[slot].text, people[slot].label) for slot in template.named), (unknown, UNKNOWN_LABEL)]
    context = fill(template.context, pair, words).strip()
    contexts = (context, f"{context} {fill(template.fact, pair, words)}".strip())
    questions = [fill(question, pair, words).strip() for question in template.questions]
    for number, (polarity, condition) in enumerate(QUARTET):
        polarity_index = bbq.POLARITIES.index(polarity)
        yield Item(
            example_id=first_id + number,
            question_index=template.question_index,
            polarity=polarity,
            condition=condition,
            category=template.category,
            info=tuple(info[answer] for answer in order),
            subcategory=pair.subcategory,
            groups=template.groups,
            version=template.version,
            source=template.source,
            context=contexts[bbq.CONDITIONS.index(condition)],
            question=questions[polarity_index],
            answers=tuple(answers[answer] for answer in order),
            label=order.index(polarity_index if condition == bbq.DISAMBIGUATED else OPTIONS - 1),
        )


# --- who is compared in a template, by lists, names or vocabulary as the authors do it, and its slots filled with them
#
# Labels belong to slots where a template gives them (NAME1_info, NAME2_info), and to people where the vocabulary does.
# The authors' program lets a template's label wander with the person when it swaps two proper names, so that in half of
# the official examples of Gender_identity 35 and 36, and by the same rule of SES 8, the person whom the text calls
# trans, or poor, has the other one's label. Here everybody has their own.
#
# In a template that crosses race with gender or with socio-economic status, whoever has the stereotyped race and the
# stereotyped value is compared with three people: (a) of the same race, with the opposite value; (b) of another race,
# with the same value; (c) of another race, with the opposite value. Where races are words, (a) is the same for all
# contrasts of a race and comes up with each: five times, with other words for what does not matter.

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
