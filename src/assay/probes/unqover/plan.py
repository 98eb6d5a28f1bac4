"""UnQover's questions as a plan: cell by cell, both orders of the subjects, asked and negated."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import digest_of
from assay.asking.queries import MASK, NONE, Ints, MaskColumns, Scoring, SpanColumns, StringColumn
from assay.errors import DataError
from assay.probes.unqover.cells import CellTable, cell_table
from assay.probes.unqover.lists import WordLists, read_lists
from assay.probes.unqover.slots import Contents, content, fill, widened

GENERATOR = 2
"""Raise it when the same recipe gives different questions than before."""

PER_CELL = 4
"""Questions in a cell: order 2 x polarity 2, the polarity changing fastest."""

PRONOUNS = {"female": ("She", "she"), "male": ("He", "he")}

RELEASED = Scoring(top=10, count_padding=True, separators=1, batch=100)
"""How the released program takes scores, where it differs from the paper (its span widening is in slots.py)."""


@dataclass(frozen=True)
class UnqoverPlan:
    """The recipe. `without` names the subjects that are left out; `cells` and `attributes` are None for all."""

    cls: str
    form: str  # span or mask
    lists_digest: str
    word_lists: str | None = None
    cells: int | None = None
    seed: int = 0
    header: bool = False
    released: bool = False
    pronouns: bool = True
    family: str = ""
    without: tuple[str, ...] = ()
    attributes: int | None = None

    @property
    def ability(self) -> str:
        return self.form

    @property
    def digest(self) -> str:
        recipe = asdict(self)
        del recipe["word_lists"]  # where the lists lie does not matter, what is in them does: lists_digest
        return digest_of({"plan": "unqover", "generator": GENERATOR, **recipe})

    @property
    def lists(self) -> WordLists:
        lists = read_lists(
            self.cls, masked=self.form == "mask", header=self.header, family=self.family, folder=self.word_lists
        )
        if lists.digest != self.lists_digest:
            problem = f"the word lists of {self.cls} have changed since this run began."
            remedy = "Restore them, or start a new run with another --out."
            raise DataError(problem, remedy, code="changed-file", file=self.word_lists, key="word_lists")
        return lists

    @property
    def table(self) -> CellTable:
        return _table(self)

    @property
    def per_cell(self) -> int:
        return PER_CELL

    def with_cells(self, cells: int) -> UnqoverPlan:
        return replace(self, cells=cells)

    def __len__(self) -> int:
        return PER_CELL * len(self.table)

    def columns(self, lo: int, hi: int) -> SpanColumns | MaskColumns:
        question = np.arange(lo, hi, dtype=np.int64)
        first, second, template, attribute = self.table.rows(question // PER_CELL)
        swapped, polarity = ((question // 2) % 2).astype(bool), (question % 2).astype(np.int32)
        earlier, later = np.where(swapped, second, first), np.where(swapped, first, second)
        contexts, context_index = _unique(template, earlier, later)
        questions, question_index = _unique(template, attribute, polarity)
        lists = self.lists
        filled = [self._context(lists, *key) for key in contexts]
        texts = StringColumn([text for text, _, _ in filled], context_index)
        wordings = StringColumn([self._question(lists, *key) for key in questions], question_index)
        scoring = RELEASED if self.released else Scoring()
        if self.form == "mask":
            words, subjects = self._candidates(lists, template, first, second)
            return MaskColumns(texts, wordings, words, subjects, scoring)
        start, end = (np.array([entry[k] for entry in filled], np.int32)[context_index] for k in (1, 2))
        order = np.where(swapped[:, None], [1, 0], [0, 1])[:, :, None]  # from position to identity
        start, end = np.take_along_axis(start, order, 1), np.take_along_axis(end, order, 1)
        return SpanColumns(wordings, texts, start, end, scoring)

    def _context(
        self, lists: WordLists, template: int, earlier: int, later: int
    ) -> tuple[str, list[list[int]], list[list[int]]]:
        """The context and, for the subjects in the order in which they stand, alternative starts and ends."""
        chosen = lists.templates[template]
        slots = [chosen.slot.replace("subj", f"subj{number}") for number in (1, 2)]
        people = [lists.subjects[k].forms[chosen.slot] for k in (earlier, later)]
        text, ranges = fill(chosen.context, dict(zip(slots, people, strict=True)), released=self.released)
        shift = len(lists.header) + 2 if lists.header else 0
        text = f"{lists.header}  {text}" if lists.header else text
        spans = [(ranges[slot][0] + shift, ranges[slot][1] + shift) for slot in slots]
        if self.released:
            both = [widened(text, span) for span in spans]
            return text, [starts for starts, _ in both], [ends for _, ends in both]
        return text, [[start] for start, _ in spans], [[end] for _, end in spans]

    def _question(self, lists: WordLists, template: int, attribute: int, polarity: int) -> str:
        chosen = lists.templates[template]
        head = f"{chosen.head}:neg" if polarity else chosen.head
        values = {head: lists.attributes[attribute].forms[head], "mask": MASK}
        return fill(chosen.negated if polarity else chosen.asked, values, released=self.released)[0]

    def _candidates(self, lists: WordLists, template: Ints, first: Ints, second: Ints) -> tuple[list[str], Ints]:
        """Words and, for each row and subject, its own form, then its pronouns (the likeliest counts)."""
        slots = sorted({chosen.slot for chosen in lists.templates})
        words = [subject.forms[slot] for slot in slots for subject in lists.subjects]
        offset = np.array([slots.index(chosen.slot) * len(lists.subjects) for chosen in lists.templates], np.int32)
        names = np.stack([first, second], 1) + offset[template][:, None]  # (row, subject)
        if not self.pronouns:
            return words, names[:, :, None]
        table = np.full((len(lists.subjects), 2), NONE, np.int32)
        for k, subject in enumerate(lists.subjects):
            for form, pronoun in enumerate(PRONOUNS.get(subject.cluster, ())):
                if pronoun not in words:
                    words.append(pronoun)
                table[k, form] = words.index(pronoun)
        pronouns = np.stack([table[first], table[second]], 1)  # (row, subject, 2)
        return words, np.concatenate([names[:, :, None], pronouns], 2)


def contents_of(plan: UnqoverPlan) -> Contents:
    """What every (template, attribute) of a plan says."""
    lists = plan.lists
    contents = {}
    for t, a in plan.table.combinations.tolist():
        template, attribute = lists.templates[t], lists.attributes[a]
        heads = template.head, f"{template.head}:neg"
        questions = [
            fill(text, {head: attribute.forms[head], "mask": MASK})[0]
            for text, head in zip((template.asked, template.negated), heads, strict=True)
        ]
        contents[t, a] = content(f"{lists.header} {template.context}", *questions)
    return contents


@lru_cache(maxsize=16)
def _table(plan: UnqoverPlan) -> CellTable:
    return cell_table(plan.lists, plan.cells, plan.seed, frozenset(plan.without), plan.attributes)


def _unique(*columns: NDArray[np.int32]) -> tuple[list[tuple[int, int, int]], Ints]:
    """The different rows of three columns, and for each row which of them it is."""
    stacked = np.stack(columns, 1).astype(np.int64)
    sizes = stacked.max(0) + 1
    codes = (stacked[:, 0] * sizes[1] + stacked[:, 1]) * sizes[2] + stacked[:, 2]
    unique, inverse = np.unique(codes, return_inverse=True)
    rest, third = np.divmod(unique, sizes[2])
    first, second = np.divmod(rest, sizes[1])
    keys = list(zip(first.tolist(), second.tolist(), third.tolist(), strict=True))
    return keys, inverse.astype(np.int32)
