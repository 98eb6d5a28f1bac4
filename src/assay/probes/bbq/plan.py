"""The questions put to a model: a recipe that reads the examples where it is run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from assay.plan import digest_of
from assay.probes.bbq.examples import AMBIGUOUS, OPTIONS, Dataset, Example
from assay.probes.bbq.settings import CHOICE_FORMS, RACE
from assay.probes.bbq.settings import OPTIONS as BY_OPTION
from assay.probes.bbq.source import Sample, Source, selected
from assay.queries import ChoiceColumns, ChoiceQuery, QueryColumns, Scoring, TextColumns, Texts, joined_by_blank

VERSION = 1
"""Part of the digest: raise it when the same examples are asked in other words."""

ORDERS = tuple(permutations(range(OPTIONS)))  # the stored order first
PLACES = ("A", "B", "C")
_ANSWER_TOKENS = 32
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

    @property
    def ability(self) -> str:
        return "choice" if self.form in CHOICE_FORMS else "text"

    @property
    def digest(self) -> str:
        return digest_of(
            {
                "bbq": VERSION,
                "data": dict(self.source.read().files),
                "source": [self.source.meaning, self.source.defects, self.source.skip_bad, self.source.categories],
                "sample": [self.sample.in_all, self.sample.per_template, self.sample.seed],
                "form": [self.form, self.contexts, self.orders, self.chat],
            }
        )

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
        scoring, rows = Scoring(chat=self.chat), range(lo, hi)
        if self.ability == "text":
            return TextColumns(Texts.of(self._prompt(row) for row in rows), _ANSWER_TOKENS, scoring)
        return ChoiceColumns.of([self.query(row) for row in rows], scoring)

    def shown(self, row: int) -> tuple[Example, tuple[int, ...]]:
        """The example of a row, and the order in which its options are shown."""
        example, order = divmod(row, len(self.orders))
        return self.dataset.examples[example], self.orders[order]

    def query(self, row: int) -> ChoiceQuery:
        example, order = self.shown(row)
        return choice_of(example, self.form, order, self.contexts)

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
    listed = "\n".join(f"{name}. {option}" for name, option in zip(PLACES, options, strict=True))
    return ChoiceQuery(context, f"{example.question}\n{listed}\nAnswer with one letter: A, B or C.", PLACES)


def prompt_of(example: Example, form: str, order: tuple[int, ...], with_context: bool) -> str:
    """An example as the paper's input for text-to-text models, in the style of RACE or of ARC."""
    lettered = " ".join(f"({name.lower()}) {example.answers[place]}" for name, place in zip(PLACES, order, strict=True))
    context = example.context if with_context else ""
    if form == RACE:
        return _BREAK.join(part for part in (example.question, lettered, context) if part)
    return _BREAK.join((joined_by_blank(context, example.question), lettered))
