"""Columns of queries to tokens, for models with a fast tokenizer."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, ModelError
from assay.models.base import unable
from assay.models.encode_texts import (
    Joined,
    joined_tokens,
    require_window,
    sampled,
    sequences,
    texts_of,
    token_tokens,
    word_tokens,
)
from assay.models.tokenise import FastTokenizer, Tokeniser, chosen, constant, join
from assay.queries import (
    MASK,
    NONE,
    FillColumns,
    Ints,
    MaskColumns,
    QueryColumns,
    TextColumns,
    Texts,
    TokenColumns,
    Tokens,
    WordColumns,
    option_rows,
    starts_of,
)

Masked = MaskColumns | FillColumns


class Encoder:
    """Tokenises columns word by word, checks a sample against the real tokenizer, and says how it went.

    `whole` is true, with a warning, for a tokenizer that does not split at blanks, and becomes true when the sample
    shows that this one does not work word by word for some other reason: then whole texts are tokenised, which is exact
    and slower.
    """

    def __init__(self, tokenizer: FastTokenizer, max_length: int, name: str) -> None:
        self.tokeniser = Tokeniser(tokenizer)
        self.max_length = max_length
        self.name = name
        self.whole = False
        if not self.tokeniser.splits_at_blanks:
            self._give_up_on_words()

    def encode(self, columns: QueryColumns) -> Tokens:
        if isinstance(columns, WordColumns):
            return word_tokens(self.tokeniser, columns)
        if isinstance(columns, TokenColumns):
            return token_tokens(self.tokeniser, columns)
        if isinstance(columns, TextColumns):
            raise unable(self.name, columns.ability)
        tokens = self._checked_masked(columns) if isinstance(columns, Masked) else self._checked_joined(columns)
        require_window(columns, _by_sequence(tokens).lengths, self.max_length, self.name)
        return tokens

    def _checked_joined(self, columns: Joined) -> Tokens:
        tokens = joined_tokens(self.tokeniser, columns, whole=self.whole)
        ours = _by_sequence(tokens)
        rows = sampled(len(ours))
        part = sequences(columns, rows)
        exact = _by_sequence(joined_tokens(self.tokeniser, part, whole=True))
        reference = exact
        if part.scoring.separators is not None:
            usual = replace(part, scoring=replace(part.scoring, separators=None))
            reference = _by_sequence(joined_tokens(self.tokeniser, usual, whole=True))
        for row in range(len(part)):
            texts = texts_of(part, row)
            if not any(map(self.tokeniser.has_special, texts)) and _row(reference, row) != self.tokeniser.real(*texts):
                problem = f"the tokenizer of {self.name} does not tokenise the texts of a question one by one."
                remedy = f"It cannot be used for {columns.ability} questions; please report the model's name."
                raise ModelError(problem, remedy, code="bad-tokenizer")
        if self.whole or _same(ours.take(rows), exact):
            return tokens
        self._give_up_on_words()
        return joined_tokens(self.tokeniser, columns, whole=True)

    def _checked_masked(self, columns: Masked) -> Tokens:
        left, right = _around_mask(columns)
        texts = [*columns.context.values, *_unblanked(left), *right.values]
        if self.whole or not all(map(self.tokeniser.exact, texts)):
            return self._masked_whole(columns, left)
        tokens = self._masked(columns, left, right)
        for row in sampled(len(columns)).tolist():
            text = columns.row(row).text
            real = self.tokeniser.real(text.replace(MASK, self.tokeniser.mask))
            if not self.tokeniser.has_special(text) and _row(tokens, row) != real:
                self._give_up_on_words()
                return self._masked_whole(columns, left)
        return tokens

    def _masked(self, columns: Masked, left: Texts, right: Texts) -> Tokens:
        rows, layout, segments = len(columns), self.tokeniser.single, self.tokeniser.segments
        ids, offsets, starts = join(
            [
                constant(layout.before, rows),
                chosen(segments(columns.context.values), columns.context.index),
                chosen(segments(_unblanked(left)), left.index),
                constant([self.tokeniser.mask_id], rows),
                chosen(segments(right.values), right.index),
                constant(layout.after, rows),
            ]
        )
        return self._with_masks(columns, left, ids, offsets, starts[3])

    def _masked_whole(self, columns: Masked, left: Texts) -> Tokens:
        """Every row by the real tokenizer; a text that holds a special token literally would confuse it."""
        rows, places = [], []
        for row in range(len(columns)):
            text = columns.row(row).text
            if self.tokeniser.has_special(text):
                problem = f"a text holds one of the tokenizer's special tokens: {text!r}."
                raise DataError(problem, "Reword it.", code="bad-text")
            ids = self.tokeniser.real(text.replace(MASK, self.tokeniser.mask))
            rows.append(np.array(ids, np.int32))
            places.append(ids.index(self.tokeniser.mask_id))
        offsets = starts_of(np.array([len(ids) for ids in rows], np.int64))
        return self._with_masks(columns, left, np.concatenate(rows), offsets, np.array(places, np.int64))

    def _with_masks(
        self, columns: Masked, left: Texts, ids: Ints, offsets: NDArray[np.int64], places: NDArray[np.int64]
    ) -> Tokens:
        marks: dict[str, NDArray[Any]] = {"mask": places.astype(np.int32)}
        if isinstance(columns, MaskColumns):
            before = Texts.of(text[max(text.rfind(" "), 0) :] for text in left.values)  # a word's tokens depend on it
            table = [[self._one_token(word, piece) for word in columns.words] + [NONE] for piece in before.values]
            of_row = before.index[left.index][:, None, None]
            marks["candidates"] = np.array(table, np.int32)[of_row, columns.subjects]
            missing = np.argwhere(marks["candidates"][:, :, 0] == NONE)
            if len(missing):
                word = columns.words[columns.subjects[missing[0][0], missing[0][1], 0]]
                problem = f"{word!r} is not one token of {self.name}."
                raise DataError(problem, "Leave it out of masked questions.", code="bad-text", key="words")
        else:
            marks["top"] = np.full(len(columns), columns.top, np.int32)
        second = np.diff(offsets).astype(np.int32)
        return Tokens(columns.ability, ids, offsets, second, marks, columns.scoring)

    def _one_token(self, word: str, before: str) -> int:
        ids = self.tokeniser.known(word, before)
        return ids[0] if len(ids) == 1 else NONE

    def _give_up_on_words(self) -> None:
        self.whole = True
        warnings.warn(f"{self.name}: its tokenizer needs whole texts, not words; tokenising is slower.", stacklevel=2)


def _around_mask(columns: Masked) -> tuple[Texts, Texts]:
    """What stands left and right of the mask in its sentence; the left part begins with the blank behind a context."""
    sentences = columns.sentence.values
    wrong = [text for text in sentences if text.count(MASK) != 1]
    wrong += [text for text in columns.context.values if MASK in text]
    if wrong:
        problem = f"a masked text needs exactly one masked word, in its sentence: {wrong[0]!r}."
        raise DataError(problem, "Put one [mask] into it.", code="bad-text", key="sentence")
    halves = [sentence.partition(MASK) for sentence in sentences]
    left = [*(half for half, _, _ in halves), *(f" {half}" for half, _, _ in halves)]
    has_context = np.array([bool(text) for text in columns.context.values], np.int32)[columns.context.index]
    used, index = np.unique(columns.sentence.index + len(sentences) * has_context, return_inverse=True)
    return (
        Texts([left[place] for place in used.tolist()], index.astype(np.int32)),
        Texts([half for _, _, half in halves], columns.sentence.index),
    )


def _unblanked(left: Texts) -> list[str]:
    """Texts without the blank before the mask: the mask token stands for it."""
    return [text.removesuffix(" ") for text in left.values]


def _by_sequence(tokens: Tokens) -> Tokens:
    return option_rows(tokens) if tokens.ability == "choice" else tokens


def _row(tokens: Tokens, row: int) -> list[int]:
    ids: list[int] = tokens.ids[tokens.offsets[row] : tokens.offsets[row + 1]].tolist()
    return ids


def _same(one: Tokens, other: Tokens) -> bool:
    same = np.array_equal(one.ids, other.ids) and np.array_equal(one.offsets, other.offsets)
    return same and all(np.array_equal(one.marks[name], other.marks[name]) for name in one.marks)
