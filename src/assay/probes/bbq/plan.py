"""The questions to a model: a recipe that reads the items where it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.messages import FIELD_MODES
from assay.asking.plan import Arrays, digest_of
from assay.asking.queries import ChoiceQuery, ListedQuery, QueryColumns, SampleQuery, TextQuery
from assay.probes.bbq.items import AMBIGUOUS, OPTIONS, Dataset, Item
from assay.probes.bbq.prompts import OWN, PromptWording
from assay.probes.bbq.settings import CHOICE_FORMS, LETTERS, UNLISTED_FORMS
from assay.probes.bbq.source import ItemSample, ItemSource, selected
from assay.probes.question_format import ListedQuestion, QuestionFormat, columns_of, readable_fields

VERSION = 2
"""Part of the digest: raise it when the same items are asked differently."""

ORDERS = tuple(permutations(range(OPTIONS)))  # the stored order first

BY_FORM = QuestionFormat(tokens=0)
"""A local model: as many tokens as the form needs."""


@dataclass(frozen=True)
class BBQPlan:
    """The items of a sample, each in one form, with the options in the stored order, in all six, or in one that is
    drawn for each item with the sample's seed.

    Without contexts only the ambiguous half is asked; the other half would repeat its questions. `format` is how an
    endpoint is asked for letters; its tokens limit written answers in any form (0: by form).
    """

    source: ItemSource
    sample: ItemSample
    form: str
    contexts: bool = True
    all_orders: bool = False
    shuffled: bool = False
    wording: PromptWording = OWN
    format: QuestionFormat = BY_FORM

    @property
    def ability(self) -> str:
        return self.format.ability if self.form in CHOICE_FORMS else "text"

    @property
    def digest(self) -> str:
        return digest_of(
            {
                "bbq": VERSION,
                "data": dict(self.source.read().files),
                "source": [self.source.meaning, self.source.defects, self.source.skip_bad, self.source.categories],
                "sample": [self.sample.in_all, self.sample.per_template, self.sample.seed],
                "form": [self.form, self.contexts, self.orders, self.format.chat],
                "words": self.wording.content(self.form),
                "set": [self.source.edition, self.source.language],
                "shuffled": self.drawn_orders is not None,
                "asked": [self.format.way, self.format.times, self.format.tokens],
            }
        )

    @property
    def dataset(self) -> Dataset:
        """The items asked about, each once."""
        return selected(self.source, self.sample) if self.contexts else _ambiguous(self.source, self.sample)

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """The orders of options that are asked; only the stored one if options are not listed."""
        return ORDERS if self.all_orders and self.form not in UNLISTED_FORMS else ORDERS[:1]

    @property
    def drawn_orders(self) -> NDArray[np.int64] | None:
        """Which of ORDERS each item has (item,), if each has its own."""
        listed = self.form not in UNLISTED_FORMS
        return _draw_orders(self.source, self.sample, self.contexts) if self.shuffled and listed else None

    def __len__(self) -> int:
        return len(self.dataset) * len(self.orders)

    def columns(self, lo: int, hi: int) -> QueryColumns:
        return self.columns_of([self.query(row) for row in range(lo, hi)], self.ability)

    def columns_of(self, queries: Sequence[Any], ability: str) -> QueryColumns:
        return columns_of(queries, ability, self.format.way, chat=self.format.chat)

    def item(self, row: int) -> tuple[Item, tuple[int, ...]]:
        """The item of a row, and the order in which its options are shown."""
        index, order = divmod(row, len(self.orders))
        drawn_orders = self.drawn_orders
        return self.dataset.examples[index], ORDERS[order if drawn_orders is None else drawn_orders[index]]

    def question(self, row: int) -> ListedQuestion:
        """The question of a row with its options as they are shown."""
        item, order = self.item(row)
        unknown = {item.unknown: self.wording.unknown} if self.wording.unknown else {}
        options = tuple(unknown.get(option) or item.answers[option] for option in order)
        return ListedQuestion(item.context if self.contexts else "", item.question, options)

    def query(self, row: int, wrote: str | None = None) -> ChoiceQuery | TextQuery:
        """The question of a row in words; `wrote` is what the model wrote in the first step, if any."""
        question, ability = self.question(row), self.ability
        if ability in ("text", "sample"):
            text = self.wording.text(self.form, question, wrote)
            tokens = self.format.tokens or text.tokens
            if ability == "sample":
                return SampleQuery(text.prompt, tokens, text.dialogue, self.format.samples)
            return replace(text, tokens=tokens)
        if ability == "listed" and (self.wording == OWN or self.format.way in FIELD_MODES):
            return self.format.query(question)  # an endpoint lists the options itself
        choice = self.wording.choice(self.form, question, wrote)
        if ability == "listed":
            return ListedQuery(choice.context, choice.question, choice.options, choice.dialogue)
        return choice

    def readable_query(self, row: int, wrote: str | None = None) -> ChoiceQuery | TextQuery:
        """The question of a row for people to read, also if an endpoint takes it in fields."""
        if self.format.way in FIELD_MODES:
            return TextQuery(readable_fields(self.question(row)), 0)
        return self.wording.query(self.form, self.question(row), wrote)

    def to_stored(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Options as shown (row,) turned into options as stored; other values stay."""
        picked = np.take_along_axis(self._options_shown(len(chosen)), np.maximum(chosen, 0)[:, None], axis=1)[:, 0]
        return np.where(chosen >= 0, picked, chosen)

    def in_stored_order(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores of options as shown (row, position), in the order in which they are stored (row, option)."""
        stored = np.empty_like(scores)
        np.put_along_axis(stored, self._options_shown(len(scores)), scores, axis=1)
        return stored

    def _options_shown(self, rows: int) -> NDArray[np.int64]:
        """The option at each position (row, position)."""
        drawn_orders = self.drawn_orders
        return np.array(ORDERS)[np.arange(rows) % len(self.orders) if drawn_orders is None else drawn_orders]


@dataclass(frozen=True)
class WritingPlan:
    """The first of two steps: what the model writes before it answers the questions of a plan."""

    of: BBQPlan
    ability: str = "text"

    @property
    def digest(self) -> str:
        lettered = replace(self.of, form=LETTERS, format=replace(self.of.format, way=""))  # the same however it answers
        return digest_of(["bbq, first step", lettered.digest])

    def __len__(self) -> int:
        return len(self.of)

    def columns(self, lo: int, hi: int) -> QueryColumns:
        return self.of.columns_of([self.query(row) for row in range(lo, hi)], self.ability)

    def query(self, row: int) -> TextQuery:
        first = self.of.wording.first(self.of.question(row))
        return replace(first, tokens=self.of.format.tokens or first.tokens)


@dataclass(frozen=True)
class AnsweringPlan:
    """The second step: the questions of a plan after what the model wrote.

    The arrays hold `row` (question,), rows of the plan, and `text` (question,), UTF-8.
    """

    of: BBQPlan
    arrays: str
    rows: int

    @property
    def ability(self) -> str:
        return self.of.ability

    @property
    def digest(self) -> str:
        return digest_of(["bbq, second step", self.of.digest, self.arrays])

    def __len__(self) -> int:
        return self.rows

    def columns_from(self, arrays: Arrays, lo: int, hi: int) -> QueryColumns:
        both = zip(arrays["row"][lo:hi].tolist(), arrays["text"][lo:hi].tolist(), strict=True)
        return self.of.columns_of([self.of.query(row, wrote=text.decode()) for row, text in both], self.ability)


@lru_cache(maxsize=8)
def _draw_orders(source: ItemSource, sample: ItemSample, contexts: bool) -> NDArray[np.int64]:
    """Which of ORDERS each item of a sample has: the same in every sample with this seed, and on every machine."""
    dataset = selected(source, sample) if contexts else _ambiguous(source, sample)
    keys = (f"{sample.seed} {item.category} {item.example_id}" for item in dataset.examples)
    digests = (hashlib.sha256(key.encode()).digest() for key in keys)
    return np.array([int.from_bytes(digest[:8], "big") % len(ORDERS) for digest in digests], np.int64)


@lru_cache(maxsize=4)
def _ambiguous(source: ItemSource, sample: ItemSample) -> Dataset:
    dataset = selected(source, sample)
    return dataset.take(np.flatnonzero([item.condition == AMBIGUOUS for item in dataset.examples]))
