"""Generates BBQ's examples from the authors' templates and vocabularies, or from the user's own.

With the authors' templates there are as many examples of every template as in the official files, in the same order and
with the same texts around the same fillers; which fillers, UNKNOWN strings and orders of answers are drawn differs,
since the official files were drawn without a seed. Other differences:

* An answer's filler and label are those of the slot in it. The authors' program takes whoever's name occurs in the
  answer, which fails for names that are part of others; official files were fixed afterwards, and one filler of
  Physical_appearance (examples 656 to 659) grew by a word of its template. See `people.py` for labels on wrong people.
* With the fact, the right answer is Answer_negative for the negative question and Answer_non_negative for the other. In
  Physical_appearance 6 b and 10 b these two columns are swapped but the fact is not, so the label of the 68 examples
  with a fact contradicts it. The official file has the same error, and so has what is generated here.
* No two people of an example have the same first name (the vocabulary has an Amy of two ethnicities).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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
from assay.probes.bbq.generation.people import PersonPair, fill, groups_of_pairs
from assay.probes.bbq.generation.templates import BBQTemplate, read_templates, template_files
from assay.probes.bbq.generation.vocabulary import SeededDraws, Vocabulary
from assay.probes.bbq.items import OPTIONS, QUARTET, UNKNOWN_LABEL, Item
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
        return len(QUARTET) * sum(len(group) for template in self._every() for group in self._groups(template))

    def notes(self) -> list[str]:
        """Notes for the user: templates, or parts of their lists, that produce nothing."""
        return [note for template in self._every() for note in template.notes]

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

    def _every(self) -> Iterator[BBQTemplate]:
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
