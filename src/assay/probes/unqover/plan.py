"""UnQover's questions as a plan: cell by cell, both orders of the subjects, asked and negated.

A cell is an unordered pair of subjects x a template x an attribute of the template's kind. A sample of n cells is the
first n in a fixed order of all cells, so samples of different sizes are nested. In that order pairs come in rounds in
which every subject takes part equally often, and pairs of template and attribute in rounds in which every attribute
occurs once and templates take turns. Any beginning of it is balanced.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import combinations as combinations_of
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import Ask, WordPlan, digest_of
from assay.asking.queries import MASK, NONE, Answers, Ints, MaskColumns, Scoring, SpanColumns, StringColumn
from assay.errors import DataError
from assay.probes.unqover.lists import WordLists, read_lists
from assay.probes.unqover.settings import MASKED
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


# --- which cells are asked


@dataclass(frozen=True)
class CellTable:
    """The cells of a plan as columns: subject i, subject j, template, attribute."""

    pairs: Ints  # (pair, 2)
    combinations: Ints  # (combination, 2): template, attribute
    sample: NDArray[np.int64] | None  # (cell,) numbers of the cells asked; None: all of them

    @property
    def total(self) -> int:
        """How many cells there are when all are asked."""
        return len(self.pairs) * len(self.combinations)

    def __len__(self) -> int:
        return self.total if self.sample is None else len(self.sample)

    def rows(self, cells: NDArray[np.int64]) -> tuple[Ints, Ints, Ints, Ints]:
        """first, second, template, attribute of cells."""
        number = cells if self.sample is None else self.sample[cells]
        pair, combination = np.divmod(number, len(self.combinations))
        pairs, combinations = self.pairs[pair], self.combinations[combination]
        return pairs[:, 0], pairs[:, 1], combinations[:, 0], combinations[:, 1]


def cell_table(
    lists: WordLists,
    cells: int | None,
    seed: int,
    without: frozenset[str] = frozenset(),
    attributes: int | None = None,
) -> CellTable:
    """All cells of the lists, or a balanced sample of them.

    `without` names subjects that are left out; with a number of `attributes` only so many are asked about, which the
    seed draws: no answer of a model has a say in it.
    """
    asked_attributes = np.random.default_rng([seed, 20201117]).permutation(len(lists.attributes))[:attributes].tolist()
    subjects = [k for k, subject in enumerate(lists.subjects) if subject.name not in without]
    if lists.split is None:
        pairs = [*combinations_of(subjects, 2)]
    else:
        pairs = [(i, j) for i in subjects if i < lists.split for j in subjects if j >= lists.split]
    combinations = [
        (t, a)
        for t, template in enumerate(lists.templates)
        for a, attribute in enumerate(lists.attributes)
        if attribute.kind == template.kind and a in asked_attributes
    ]
    table = CellTable(
        np.array(pairs, np.int32).reshape(-1, 2), np.array(combinations, np.int32).reshape(-1, 2), sample=None
    )
    if cells is None or cells >= table.total:
        return table
    rng = np.random.default_rng([seed, 20201116])
    order = _balanced_pairs(table.pairs, lists.split, rng)
    turns = _balanced_combinations(table.combinations, rng)
    index = np.arange(cells, dtype=np.int64)
    shift = index // lcm(len(order), len(turns))  # both begin anew together there: without it, cells would come again
    numbers = order[index % len(order)] * len(turns) + turns[(index + shift) % len(turns)]
    return CellTable(table.pairs, table.combinations, np.sort(numbers))


def _balanced_pairs(pairs: Ints, split: int | None, rng: np.random.Generator) -> NDArray[np.int64]:
    """Numbers of the pairs in rounds: in a round every subject occurs equally often (twice; between groups: once)."""
    number = {(int(i), int(j)): k for k, (i, j) in enumerate(pairs)}
    order: list[int] = []
    if split is None:
        subjects = rng.permutation(np.unique(pairs)).tolist()
        n = len(subjects)
        for distance in range(1, n // 2 + 1):
            ends = {tuple(sorted((subjects[k], subjects[(k + distance) % n]))) for k in range(n)}
            order += rng.permutation(sorted(number[i, j] for i, j in ends)).tolist()
    else:
        first, second = (rng.permutation(np.unique(pairs[:, side])).tolist() for side in (0, 1))
        longer, shorter = max(len(first), len(second)), min(len(first), len(second))
        for distance in range(longer):
            ends_of = [(k, (k + distance) % longer) for k in range(shorter)]
            ends = {(first[a], second[b]) if len(first) <= len(second) else (first[b], second[a]) for a, b in ends_of}
            order += rng.permutation(sorted(number[i, j] for i, j in ends)).tolist()
    return np.array(order, np.int64)


def _balanced_combinations(combinations: Ints, rng: np.random.Generator) -> NDArray[np.int64]:
    """Numbers of the combinations in rounds: in a round every attribute occurs once, and templates take turns."""
    number = {(int(t), int(a)): k for k, (t, a) in enumerate(combinations)}
    kinds: dict[tuple[int, ...], list[int]] = {}  # attributes by the templates that they go with
    for attribute in rng.permutation(np.unique(combinations[:, 1])).tolist():
        usable = combinations[combinations[:, 1] == attribute, 0]
        kinds.setdefault(tuple(usable.tolist()), []).append(attribute)
    order: list[int] = []
    for turn in range(max(map(len, kinds))):
        shuffled: list[tuple[float, int]] = []
        for templates, attributes in kinds.items():
            if turn < len(templates):
                dealt = _deal_combinations(turn, len(templates), len(attributes), rng)
                numbers = [number[templates[t], attributes[a]] for t, a in dealt]
                shuffled += [((index + rng.random()) / len(numbers), k) for index, k in enumerate(numbers)]
        order += [k for _, k in sorted(shuffled)]  # kinds interleaved, each in its own order
    return np.array(order, np.int64)


def _deal_combinations(turn: int, templates: int, attributes: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """(template, attribute) of one round: every attribute once, templates going on where the last round ended.

    Shuffled within hands of one combination per template, and hand by hand, so that templates stay even throughout;
    what is left over makes no hand, and stays in its order.
    """
    first = turn * attributes
    begun = first // lcm(templates, attributes)  # otherwise templates would meet the same attributes again
    combinations = [((first + k + begun) % templates, k) for k in range(attributes)]
    hands = [combinations[k : k + templates] for k in range(0, attributes - attributes % templates, templates)]
    shuffled = [hands[hand][k] for hand in rng.permutation(len(hands)) for k in rng.permutation(templates)]
    return shuffled + combinations[len(shuffled) :]


# --- which subjects cannot be asked about


@dataclass(frozen=True)
class ClassForm:
    """One class of subjects in one form.

    With a language model the form says in which way it was asked, too, since their numbers are not comparable: "choice,
    letters".
    """

    cls: str
    form: str

    @property
    def label(self) -> str:
        return f"{self.cls} ({self.form})"


def unusable(part: ClassForm, lists: WordLists, ask: Ask, notes: list[str]) -> tuple[str, ...]:
    """Subjects that cannot be asked about in this model: in masked sentences those that are not one token."""
    slots = sorted({template.slot for template in lists.templates})
    words = tuple(subject.forms[slot] for slot in slots for subject in lists.subjects)
    answers = ask(WordPlan(words), f"words of {part.label}")
    pieces = answers["pieces"].reshape(len(slots), -1)  # (slot, subject)
    usable = (pieces == 1).all(0) if part.form == MASKED else np.ones(len(lists.subjects), bool)
    _require_different(part, lists, slots, answers, usable)
    left_out = [subject.name for subject, keep in zip(lists.subjects, usable, strict=True) if not keep]
    if left_out:
        notes.append(
            f"{part.label}: {len(left_out)} of {len(lists.subjects)} subjects are left out because they are not single "
            f"tokens of this model: {', '.join(left_out)}"
        )
    sides = [usable] if lists.split is None else [usable[: lists.split], usable[lists.split :]]
    if usable.sum() < 2 or not all(side.any() for side in sides):
        problem = f"{part.label}: fewer than two subjects are single tokens of this model, so no pair is left."
        remedy = "Choose other subjects with --set word_lists=DIR, another class, or a model with a larger vocabulary."
        raise DataError(problem, remedy, code="nothing-to-ask", key="class")
    return tuple(left_out)


def _require_different(part: ClassForm, lists: WordLists, slots: list[str], answers: Answers, usable: Any) -> None:
    """Raise an error if two subjects have the same tokens, which makes them one subject to the model."""
    keys = answers["key"].reshape(len(slots), -1)
    for slot, row in zip(slots, keys.tolist(), strict=True):
        names: dict[int, str] = {}  # by key
        for subject, key, is_usable in zip(lists.subjects, row, usable.tolist(), strict=True):
            name = subject.forms[slot]
            if is_usable and key in names:
                raise DataError(
                    f"{part.label}: the subjects {names[key]!r} and {name!r} have the same tokens, so this model "
                    "cannot tell them apart.",
                    "Remove one of them from the word lists, or choose another model.",
                    code="bad-list",
                )
            names[key] = name
