"""Texts to token ids, word by word and each word once, wherever that gives what the real tokenizer gives.

Most tokenizers split at blanks before anything else, so the tokens of a text are the tokens of its words one behind
the other. `Tokeniser` keeps every word's tokens; `encode.py` compares a sample of the rows with the real tokenizer and
takes whole texts (`whole=True`) for a tokenizer that does not work like that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.queries import Ints, ragged_take, starts_of

_MOST_REMEMBERED = 200_000


Columns = tuple[list[int], list[int], list[int]]  # ids, first characters, characters behind the last


class Pieces(NamedTuple):
    """The tokens of one text with their character ranges."""

    ids: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True)
class Ragged:
    """Token ids of several texts, with the character range of every token in its own text."""

    ids: Ints  # (token,)
    start: Ints  # (token,)
    end: Ints  # (token,)
    offsets: NDArray[np.int64]  # (text + 1,)

    def token_at(self, text: Ints, character: Ints) -> Ints:
        """Index, within its text, of the token that holds a character; -1 where none does."""
        stride = np.int64(max(int(self.end.max(initial=0)), int(character.max(initial=0))) + 2)
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        found = np.searchsorted(owner * stride + self.end, text * stride + character, side="right")
        inside = found < self.offsets[text + 1]
        safe = np.where(inside, found, 0)
        inside &= self.start[safe] <= character
        return np.where(inside, found - self.offsets[text], -1).astype(np.int32)


@dataclass(frozen=True)
class Layout:
    """Special tokens around one or two texts, as the tokenizer puts them."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]


class Tokeniser:
    """A fast tokenizer of transformers, used without its special tokens: those come from its layout."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self._backend = tokenizer.backend_tokenizer
        self._words: dict[str, Columns] = {}
        self._texts: dict[tuple[bool, str], Pieces] = {}
        self.single = self._layout("a")
        self.pair = self._layout("a", "b")
        self.specials = tuple(token for token in tokenizer.all_special_tokens if token)

    def segments(self, texts: Sequence[str], *, whole: bool = False) -> Ragged:
        """Tokens of each text, without special tokens."""
        parts = [self._text(text, whole) for text in texts]
        lengths = np.array([len(part.ids) for part in parts], dtype=np.int64)
        ids, start, end = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Ragged(ids, start, end, starts_of(lengths))

    def word(self, word: str) -> list[int]:
        """Token ids of a word inside a sentence, that is, behind a blank."""
        return self._encode(f" {word}")[0]

    def has_special(self, text: str) -> bool:
        return any(token in text for token in self.specials)

    def real_pair(self, first: str, second: str) -> list[int]:
        """What the tokenizer itself makes of a pair of texts."""
        return list(self.tokenizer(first, second, truncation=False)["input_ids"])

    def real_single(self, text: str) -> list[int]:
        """What the tokenizer itself makes of a text, special tokens in the text included."""
        return list(self.tokenizer(text, truncation=False)["input_ids"])

    def _text(self, text: str, whole: bool) -> Pieces:
        known = self._texts.get((whole, text))
        if known is None:
            if len(self._texts) >= _MOST_REMEMBERED:
                self._texts.clear()
            columns = self._encode(text) if whole else self._by_words(text)
            known = self._texts[whole, text] = Pieces(*(np.array(column, dtype=np.int32) for column in columns))
        return known

    def _by_words(self, text: str) -> Columns:
        ids: list[int] = []
        start: list[int] = []
        end: list[int] = []
        at = 0
        for place, word in enumerate(text.split(" ")):
            piece = word if place == 0 else f" {word}"
            if piece:
                word_ids, word_start, word_end = self._word(piece)
                ids += word_ids
                start += [at + offset for offset in word_start]
                end += [at + offset for offset in word_end]
            at += len(piece)
        return ids, start, end

    def _word(self, piece: str) -> Columns:
        known = self._words.get(piece)
        if known is None:
            if len(self._words) >= _MOST_REMEMBERED:
                self._words.clear()
            known = self._words[piece] = self._encode(piece)
        return known

    def _encode(self, text: str) -> Columns:
        self._backend.no_truncation()
        self._backend.no_padding()
        self._backend.encode_special_tokens = True  # a literal "[MASK]" in a text is text
        encoding = self._backend.encode(text, add_special_tokens=False)
        self._backend.encode_special_tokens = False
        return encoding.ids, [start for start, _ in encoding.offsets], [end for _, end in encoding.offsets]

    def _layout(self, *texts: str) -> Layout:
        encoded = self.tokenizer(*texts, return_special_tokens_mask=True)
        ids, bounds = list(encoded["input_ids"]), _bounds(encoded["special_tokens_mask"])
        between = ids[bounds[1] : bounds[2]] if len(texts) == 2 else []
        return Layout(tuple(ids[: bounds[0]]), tuple(between), tuple(ids[bounds[-1] :]))


def _bounds(special: Sequence[int]) -> list[int]:
    """Where texts begin and end among special tokens: begin, end, begin, end, …"""
    bounds, inside = [], False
    for place, mark in enumerate([*special, 1]):
        if (mark == 0) != inside:
            bounds.append(place)
            inside = not inside
    return bounds


def join(parts: Sequence[tuple[Ints, NDArray[np.int64]]]) -> tuple[Ints, NDArray[np.int64], list[NDArray[np.int64]]]:
    """Rows made of parts: (flat ids, lengths) of each part for every row -> ids, row offsets, start of each part.

    A constant part is given by `constant`.
    """
    lengths = np.sum([part_lengths for _, part_lengths in parts], axis=0)
    offsets = starts_of(lengths)
    ids = np.zeros(offsets[-1], np.int32)
    starts, at = [], np.zeros(len(lengths), np.int64)
    for flat, part_lengths in parts:
        shift = np.repeat(offsets[:-1] + at - starts_of(part_lengths)[:-1], part_lengths)
        ids[np.arange(len(flat)) + shift] = flat
        starts.append(at)
        at = at + part_lengths
    return ids, offsets, starts


def constant(ids: Sequence[int], rows: int) -> tuple[Ints, NDArray[np.int64]]:
    """The same ids in every row, as a part for `join`."""
    return np.tile(np.array(ids, dtype=np.int32), rows), np.full(rows, len(ids), np.int64)


def chosen(texts: Ragged, index: Ints) -> tuple[Ints, NDArray[np.int64]]:
    """One of the texts in every row, as a part for `join`."""
    return ragged_take(texts.ids, texts.offsets, index)
