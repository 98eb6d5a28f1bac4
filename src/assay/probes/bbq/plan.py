"""The questions put to a model: a recipe that reads the examples where it is run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from assay.plan import digest_of
from assay.probes.bbq.examples import AMBIGUOUS, OPTIONS, Dataset, Example
from assay.probes.bbq.settings import CHOICE_FORMS, LETTERS, RACE
from assay.probes.bbq.settings import OPTIONS as BY_OPTION
from assay.probes.bbq.source import Sample, Source, selected
from assay.prompts import lettered, message
from assay.queries import (
    ChoiceColumns,
    ChoiceQuery,
    ListedColumns,
    QueryColumns,
    SampleColumns,
    Scoring,
    TextColumns,
    Texts,
    joined_by_blank,
)

VERSION = 1
"""Part of the digest: raise it when the same examples are asked in other words."""

ORDERS = tuple(permutations(range(OPTIONS)))  # the stored order first
PLACES = ("A", "B", "C")
ANSWER_TOKENS = 32
_BREAK = " \\n "
"""How UnifiedQA's inputs separate their parts: a backslash and an n, as its authors document."""


@dataclass(frozen=True)
class BBQPlan:
    """The examples of a sample, each in one form, in the stored order of options or in all six.

    Without contexts only the ambiguous half is asked: the other half would repeat its questions.
    """

    source: Source
    sample: Sample
    form: str
    contexts: bool = True
    all_orders: bool = False
    chat: bool = True
    answer: str = ""
    samples: int = 1
    tokens: int = ANSWER_TOKENS
    system: str = ""
    shots: tuple[tuple[str, str], ...] = ()

    @property
    def ability(self) -> str:
        if self.form not in CHOICE_FORMS:
            return "text"
        return {"": "choice", "samples": "sample", "text": "text"}.get(self.answer, "listed")

    @property
    def digest(self) -> str:
        return digest_of(
            {
                "bbq": VERSION,
                "data": dict(self.source.read().files),
                "source": [self.source.meaning, self.source.defects, self.source.skip_bad, self.source.categories],
                "sample": [self.sample.in_all, self.sample.per_template, self.sample.seed],
                "form": [self.form, self.contexts, self.orders, self.chat],
                **self._of_endpoint(),
            }
        )

    def _of_endpoint(self) -> dict[str, object]:
        """What else decides the answers; not in the digests of plans that are older than these settings."""
        if not self.answer and not self.system and not self.shots and self.tokens == ANSWER_TOKENS:
            return {}
        drawn = self.samples if self.answer == "samples" else 1
        return {"asked": [self.answer, drawn, self.tokens, self.system, self.shots]}

    @property
    def dataset(self) -> Dataset:
        """The examples asked about, each once."""
        return selected(self.source, self.sample) if self.contexts else _ambiguous(self.source, self.sample)

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """The orders of options asked; where each option is scored by itself the order cannot matter."""
        return ORDERS if self.all_orders and self.form != BY_OPTION else ORDERS[:1]

    def __len__(self) -> int:
        return len(self.dataset) * len(self.orders)

    def columns(self, lo: int, hi: int) -> QueryColumns:
        scoring = Scoring(chat=self.chat, answer=self.answer, system=self.system, shots=self.shots)
        rows = range(lo, hi)
        if self.ability == "sample":
            return SampleColumns(Texts.of(self._prompt(row) for row in rows), self.tokens, scoring, self.samples)
        if self.ability == "text":
            return TextColumns(Texts.of(self._prompt(row) for row in rows), self.tokens, scoring)
        columns = ListedColumns if self.ability == "listed" else ChoiceColumns
        return columns.of([self.query(row) for row in rows], scoring)

    def shown(self, row: int) -> tuple[Example, tuple[int, ...]]:
        """The example of a row, and the order in which its options are shown."""
        example, order = divmod(row, len(self.orders))
        return self.dataset.examples[example], self.orders[order]

    def query(self, row: int) -> ChoiceQuery:
        example, order = self.shown(row)
        form = BY_OPTION if self.ability == "listed" else self.form  # an endpoint lists the options itself
        return choice_of(example, form, order, self.contexts)

    def _prompt(self, row: int) -> str:
        example, order = self.shown(row)
        return prompt_of(example, self.form, order, self.contexts)

    def stored(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Options as shown (row,) turned into options as stored; what is no option stays."""
        shown = np.array(self.orders)[np.arange(len(chosen)) % len(self.orders)]  # (row, option)
        picked = np.take_along_axis(shown, np.maximum(chosen, 0)[:, None], axis=1)[:, 0]
        return np.where(chosen >= 0, picked, chosen)


@lru_cache(maxsize=4)
def _ambiguous(source: Source, sample: Sample) -> Dataset:
    dataset = selected(source, sample)
    return dataset.take(np.flatnonzero([each.condition == AMBIGUOUS for each in dataset.examples]))


def choice_of(example: Example, form: str, order: tuple[int, ...], with_context: bool) -> ChoiceQuery:
    """An example as a question with options: themselves, or the letters under which the question lists them."""
    options = tuple(example.answers[place] for place in order)
    context = example.context if with_context else ""
    if form == BY_OPTION:
        return ChoiceQuery(context, example.question, options)
    return ChoiceQuery(context, lettered(example.question, options), PLACES)


def prompt_of(example: Example, form: str, order: tuple[int, ...], with_context: bool) -> str:
    """An example as a prompt: the paper's input for text-to-text models, in the style of RACE or of ARC, or letters."""
    context = example.context if with_context else ""
    if form == LETTERS:
        query = choice_of(example, form, order, with_context)
        return message(query.context, query.question)
    marked = " ".join(f"({name.lower()}) {example.answers[place]}" for name, place in zip(PLACES, order, strict=True))
    if form == RACE:
        return _BREAK.join(part for part in (example.question, marked, context) if part)
    return _BREAK.join((joined_by_blank(context, example.question), marked))
