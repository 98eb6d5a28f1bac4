"""Tokenises texts word by word, each word once, if that gives the same as the real tokenizer; and single words.

Columns become tokens along one path: `TokenModel.encode` asks the model's `ColumnEncoder`. That answers queries for
words and tokens itself; those with texts are encoded by `Encoder` (`encode_columns.py`), for models that read a text at
once, or by `PromptEncoder` (`encode_prompts.py`), for models that write.

Most tokenizers split at blanks first, so the tokens of a text are the tokens of its words, joined. `Tokeniser` caches
every word's tokens. A text with unusual blanks is tokenised whole, and so are all texts of a tokenizer that does not
split at blanks (`splits_at_blanks`). In addition, `Encoder` compares a sample of the rows with the real tokenizer.
"""

from __future__ import annotations

import hashlib
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import NONE, Ints, QueryColumns, TokenColumns, WordColumns
from assay.asking.tokens import Tokens, ragged_take, starts_of
from assay.errors import DataError

_MOST_REMEMBERED = 200_000

Columns = tuple[list[int], list[int], list[int]]
"""The tokens of one text: ids, the first character of each, the character after its last."""


class FastTokenizer(Protocol):
    """The interface of a tokenizer: fast tokenizers of transformers have it, those of tokenizers need a wrapper."""

    backend_tokenizer: Any  # the Tokenizer of the tokenizers library that does the work
    all_special_tokens: Sequence[str]
    unk_token_id: int | None
    mask_token: str | None

    def __call__(self, text: str, text_pair: str | None = None) -> Mapping[str, Any]:
        """`input_ids` of one or two texts with special tokens around them, neither cut nor padded."""


@dataclass(frozen=True)
class RaggedTokens:
    """Token ids of several texts, with the character range of every token in its own text."""

    ids: Ints  # (token,)
    start: Ints  # (token,)
    end: Ints  # (token,)
    offsets: NDArray[np.int64]  # (text + 1,)

    def token_at(self, text: Ints, character: Ints, *, last: bool = False) -> Ints:
        """The index, in its text, of the first or last token that holds a character; -1 if none does.

        They differ if a character is several tokens: byte-level tokenizers split rare letters into bytes.
        """
        holding = np.flatnonzero(self.start < self.end)  # a token for a blank may hold no character
        if not len(holding):
            return np.full(character.shape, -1, np.int32)
        stride = np.int64(max(int(self.end.max()), int(character.max(initial=0))) + 2)
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        keys = (owner * stride + (self.start if last else self.end))[holding]
        nearest = np.searchsorted(keys, text * stride + character, side="right") - last
        token = holding[np.clip(nearest, 0, len(holding) - 1)]
        inside = (owner[token] == text) & (self.start[token] <= character) & (character < self.end[token])
        return np.where(inside, token - self.offsets[text], -1).astype(np.int32)


@dataclass(frozen=True)
class SpecialTokenLayout:
    """Special tokens around one or two texts, as the tokenizer puts them."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]


class Tokeniser:
    """A fast tokenizer, used without its special tokens: those come from its layout.

    `typed`: it tells the second of two texts from the first by token types.
    `mask` and `mask_id`: its mask token; "" and NONE if it has none.
    """

    def __init__(self, tokenizer: FastTokenizer) -> None:
        self.tokenizer = tokenizer
        self._backend = tokenizer.backend_tokenizer
        self._word = lru_cache(_MOST_REMEMBERED)(self._word_tokens)
        self._text = lru_cache(_MOST_REMEMBERED)(self._text_tokens)
        self._unlimited()
        self.single = self._layout("a")
        self.pair = self._layout("a", "b")
        added = self._backend.get_added_tokens_decoder().values()
        special_texts = [*tokenizer.all_special_tokens, *(token.content for token in added if token.special)]
        self.specials = tuple(token for token in dict.fromkeys(special_texts) if token)
        self.unknown = tokenizer.unk_token_id
        self.mask = tokenizer.mask_token or ""
        self.mask_id: int = self._backend.token_to_id(self.mask) if self.mask else NONE
        self.special_ids = {self._backend.token_to_id(token) for token in self.specials} - {self.unknown, None}
        self.typed = 1 in self._backend.encode("a", "b").type_ids
        self._a = self._encode("a")[0]
        self.splits_at_blanks = _splits_at_blanks(self._backend)
        self._double_blanks = self._by_words("a  b")[0] == self._encode("a  b")[0]

    def segments(self, texts: Sequence[str], *, whole: bool = False, behind: bool = False) -> RaggedTokens:
        """Tokens of each text, without special tokens.

        `behind`: the texts follow another text; each starts with the blank between them.
        """
        parts = [self._text(text, whole, behind) for text in texts]
        lengths = np.array([part.shape[1] for part in parts], dtype=np.int64)
        ids, start, end = np.concatenate([np.zeros((3, 0), np.int32), *parts], axis=1)
        return RaggedTokens(ids, start, end, starts_of(lengths))

    def word(self, word: str, before: str = " ") -> list[int]:
        """Token ids of a word after a blank, at the start of a text (""), or after something like ' "'.

        Empty if the word shares a token with the text before it.
        """
        ids, start, end = self._word(before + word, not before.startswith(" "))
        glued = len(before.rstrip(" "))
        if not glued:
            return ids
        first = next((index for index, behind in enumerate(end) if behind > glued), len(ids))
        return ids[first:] if first < len(ids) and start[first] >= glued else []

    def known(self, word: str, before: str = " ") -> list[int]:
        """Like `word`, but empty if a part of the word is unknown to the tokenizer."""
        ids = self.word(word, before)
        return [] if self.unknown in ids else ids

    def whole(self, texts: Sequence[str], *, marked: bool = False) -> list[list[int]]:
        """Token ids of texts with special tokens around them; special tokens inside a text count as text.

        With `marked`, special tokens inside the texts count and none are added: for the output of a chat template.
        """
        self._unlimited()
        self._backend.encode_special_tokens = not marked
        rows = [
            encoding.ids for encoding in self._backend.encode_batch_fast(list(texts), add_special_tokens=not marked)
        ]
        self._backend.encode_special_tokens = False
        if not marked:
            before, after = len(self.single.before), len(self.single.after)
            for ids in rows:
                self._require_text(ids[before : len(ids) - after])
        return rows

    def exact(self, text: str) -> bool:
        """Whether the text's words can be tokenised one by one, by a tokenizer that splits at blanks.

        False if there are several blanks between words (many tokenizers accept two) or a blank at the end, or if the
        text has a character that a tokenizer may treat as a blank, turn into one, or drop.
        """
        too_many = "   " if self._double_blanks else "  "
        if too_many in text or text.startswith("  ") or text.endswith(" "):
            return False
        if text.isascii():
            return text.isprintable()
        flat = unicodedata.normalize("NFKD", text)
        if not flat.isprintable() or flat.count(" ") != text.count(" "):
            return False
        return not any(unicodedata.category(word[0]).startswith("M") for word in text.split(" ") if word)

    def has_special(self, text: str) -> bool:
        return any(token in text for token in self.specials)

    def real(self, *texts: str) -> list[int]:
        """The tokenizer's own tokens for one or two texts, including special tokens."""
        self._unlimited()
        return list(self.tokenizer(*texts)["input_ids"])

    def token_text(self, token: int) -> str:
        """The text of a token without surrounding blanks."""
        text: str = self._backend.decode([token], skip_special_tokens=False)
        return text.strip()

    def _text_tokens(self, text: str, whole: bool, behind: bool) -> NDArray[np.int32]:
        """The tokens of a text as an array of Columns: (3, token)."""
        columns = self._by_words(text, behind) if not whole and self.exact(text) else self._encode(text)
        return np.array(columns, dtype=np.int32)

    def _by_words(self, text: str, behind: bool = False) -> Columns:
        ids: list[int] = []
        start: list[int] = []
        end: list[int] = []
        at = 0
        for index, word in enumerate(text.split(" ")):
            piece = word if index == 0 else f" {word}"
            if piece:
                word_ids, word_start, word_end = self._word(piece, at == 0 and not behind)
                ids += word_ids
                start += [at + offset for offset in word_start]
                end += [at + offset for offset in word_end]
            at += len(piece)
        return ids, start, end

    def _word_tokens(self, piece: str, first: bool) -> Columns:
        """Tokens of a word with the blank before it, at the start of a text or further on.

        Further on, they are those after another word: some tokenizers strip a blank at the start of a text.
        """
        if first:
            return self._encode(piece)
        ids, start, end = self._encode(f"a{piece}")
        before = len(self._a)
        if ids[:before] != self._a:
            return self._encode(piece)
        return ids[before:], [offset - 1 for offset in start[before:]], [offset - 1 for offset in end[before:]]

    def _encode(self, text: str) -> Columns:
        self._unlimited()
        self._backend.encode_special_tokens = True  # a literal "[MASK]" in a text is text
        encoding = self._backend.encode(text, add_special_tokens=False)
        self._backend.encode_special_tokens = False
        self._require_text(encoding.ids)
        return encoding.ids, [start for start, _ in encoding.offsets], [end for _, end in encoding.offsets]

    def _require_text(self, ids: list[int]) -> None:
        special = self.special_ids.intersection(ids)  # SentencePiece models hold them as ordinary pieces, too
        if special:
            token = self._backend.id_to_token(min(special))
            problem = f"a text contains {token!r}, which this tokenizer confuses with its special token."
            raise DataError(problem, "Reword the text.", code="bad-text")

    def _unlimited(self) -> None:
        """Nothing is cut or padded: a published tokenizer.json may have either switched on, and whoever else uses the
        tokenizer may switch it on again."""
        self._backend.no_truncation()
        self._backend.no_padding()

    def _layout(self, *texts: str) -> SpecialTokenLayout:
        encoding = self._backend.encode(*texts)
        ids, special = encoding.ids, encoding.special_tokens_mask
        first, last = special.index(0), len(special) - special[::-1].index(0)
        between = tuple(
            token for token, is_special in zip(ids[first:last], special[first:last], strict=True) if is_special
        )
        return SpecialTokenLayout(tuple(ids[:first]), between, tuple(ids[last:]))


def _splits_at_blanks(backend: Any) -> bool:
    """Whether no token crosses a blank: the tokenizer splits there first, and no added token contains one."""
    text = backend.normalizer.normalize_str("a b") if backend.normalizer is not None else "a b"
    if backend.pre_tokenizer is None or len(backend.pre_tokenizer.pre_tokenize_str(text)) < 2:
        return False
    added = backend.get_added_tokens_decoder().values()
    return not any(" " in token.content.strip(" ") or (token.rstrip and not token.special) for token in added)


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


def chosen(texts: RaggedTokens, index: Ints) -> tuple[Ints, NDArray[np.int64]]:
    """One of the texts in every row, or nothing where the index is NONE, as a part for `join`."""
    offsets = np.append(texts.offsets, texts.offsets[-1:])  # one more text, an empty one, for NONE
    return ragged_take(texts.ids, offsets, np.where(index == NONE, len(texts.offsets) - 1, index))


_SAMPLE = 16
"""How many rows of every block are also tokenised by the real tokenizer and compared."""


def sampled(rows: int) -> NDArray[np.int64]:
    """The rows to compare."""
    return np.unique(np.linspace(0, rows - 1, min(rows, _SAMPLE)).astype(np.int64))


class ColumnEncoder(ABC):
    """Turns columns of queries into tokens for one model; subclasses have `_texts` for queries with texts."""

    def __init__(self, tokenizer: FastTokenizer, max_length: int, name: str) -> None:
        self.tokeniser = Tokeniser(tokenizer)
        self.max_length = max_length
        self.name = name

    def encode(self, columns: QueryColumns) -> Tokens:
        """The tokens of these rows, checked with the real tokenizer and against the model's window."""
        if isinstance(columns, WordColumns):
            return self._words(columns)
        if isinstance(columns, TokenColumns):
            return self._tokens(columns)
        return self._texts(columns)

    @abstractmethod
    def _texts(self, columns: QueryColumns) -> Tokens:
        """The tokens of queries with texts."""

    def _require_window(self, columns: QueryColumns, lengths: NDArray[Any], answer: int = 0) -> None:
        """Refuse sequences (some for every row) that do not fit into the window together with the answer's tokens."""
        too_long = np.flatnonzero(lengths + answer > self.max_length)
        if len(too_long):
            first = int(too_long[0])
            row = columns.row(first * len(columns) // len(lengths))
            reserve = f" and its answer up to {answer}" if answer else ""
            length = f"this question has {lengths[first]}{reserve}, so the end would be cut off: {row}"
            remedy = "Shorten the passage or choose a model with a longer window."
            raise DataError(f"{self.name} reads at most {self.max_length} tokens; {length}", remedy, code="too-long")

    def _words(self, columns: WordColumns) -> Tokens:
        """What the tokenizer makes of words, as marks that are the answers themselves."""
        words, index = columns.words.values, columns.words.index
        digests = [hashlib.sha256(str(self.tokeniser.word(word)).encode()).digest()[:8] for word in words]
        marks: dict[str, NDArray[Any]] = {
            "pieces": np.array([len(self.tokeniser.known(word)) for word in words], np.int32)[index],
            "key": np.array([int.from_bytes(digest, "little") for digest in digests], np.uint64)[index],
        }
        return _answered(columns, marks)

    def _tokens(self, columns: TokenColumns) -> Tokens:
        """What tokens stand for, as marks that are the answers themselves."""
        tokens = columns.tokens.tolist()
        silent = self.tokeniser.special_ids | {self.tokeniser.unknown}
        texts = ["" if token in silent else self.tokeniser.token_text(token) for token in tokens]
        are_words = [
            bool(text) and self.tokeniser.word(text) == [token] for text, token in zip(texts, tokens, strict=True)
        ]
        marks: dict[str, NDArray[Any]] = {
            "text": np.array([text.encode() for text in texts], dtype=np.bytes_),
            "whole": np.array(are_words, np.uint8),
        }
        return _answered(columns, marks)


def _answered(columns: WordColumns | TokenColumns, marks: dict[str, NDArray[Any]]) -> Tokens:
    """Rows whose answers are there already, with a token each."""
    nothing, offsets = np.zeros(len(columns), np.int32), np.arange(len(columns) + 1, dtype=np.int64)
    return Tokens(columns.ability, nothing, offsets, nothing, marks, columns.scoring)
