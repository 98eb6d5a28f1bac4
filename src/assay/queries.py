"""The questions that a model can be asked, in columns and one by one, and the answers it gives.

This file and `plan.py` are the whole architecture on one screen: a probe makes a plan, a plan is a sequence of
queries, the engine asks them, a model answers.

| ability  | a query says                                         | an answer says                                   |
|----------|------------------------------------------------------|--------------------------------------------------|
| `span`   | question, context, where the subjects stand in it    | score of every subject: sqrt(P(start) · P(end))  |
| `mask`   | text with one masked word, subjects that may fill it | probability of every subject at the mask         |
| `fill`   | text with one masked word                            | the likeliest tokens and their probabilities     |
| `choice` | context, question, options                           | the logit or log probability of every option     |
| `text`   | a prompt                                             | what the model writes behind it                  |
| `embed`  | text, where a word stands in it                      | the word's vector in this text                   |
| `word`   | a word                                               | how many tokens it is in this model, and which   |
| `token`  | a token                                              | its text, and whether it is a word of its own    |

At scale queries travel as columns; a query object is a view of one row, for tests, docs and browsing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.dialogue import Dialogue, message

Ints = NDArray[np.int32]

MASK = "\ufffc"
"""Stands for the masked word in a text; a model puts its own mask token there, so that a literal "[MASK]" is text."""

NONE = -1
"""No further alternative, in columns that hold several alternatives for a subject."""


class Status(IntEnum):
    """What became of a query. Blocks store these numbers."""

    OK = 0
    REFUSED = 1  # the model declined to answer
    FAILED = 2  # there is no answer: an error, or time ran out
    FILTERED = 3  # what the model answered, or was asked, was withheld by whoever runs it
    TRUNCATED = 4  # the answer ended too early; the row has what there is of it


@dataclass(frozen=True, slots=True)
class SpanQuery:
    """Which of the subjects, given by their character ranges in the context, answers the question?"""

    question: str
    context: str
    subjects: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class MaskQuery:
    """How likely is each subject at MASK in the text?"""

    text: str
    subjects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FillQuery:
    """Which tokens are the likeliest at MASK in the text?"""

    text: str


@dataclass(frozen=True, slots=True)
class ChoiceQuery:
    """Which of the options answers the question about the context? Either of context and question may be empty.

    With a `dialogue`, context and question are the user's last message in it (`prompt`), and an option is what the
    assistant says next.
    """

    context: str
    question: str
    options: tuple[str, ...]
    dialogue: Dialogue | None = field(default=None, repr=False)

    @property
    def prompt(self) -> str:
        """Context and question as one message."""
        return message(self.context, self.question)


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What does the model write behind the prompt, in at most so many tokens?

    With a `dialogue`, the prompt is the user's last message in it.
    """

    prompt: str
    tokens: int
    dialogue: Dialogue | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class EmbedQuery:
    """Which vector has the word (or the words) at this character range of the text?"""

    text: str
    subject: tuple[int, int]


@dataclass(frozen=True, slots=True)
class WordQuery:
    """Which tokens make up this word inside a sentence?"""

    word: str


@dataclass(frozen=True, slots=True)
class TokenQuery:
    """What does a token stand for?"""

    token: int


Query = SpanQuery | MaskQuery | FillQuery | ChoiceQuery | TextQuery | EmbedQuery | WordQuery | TokenQuery

OF_THE_TOKENIZER = frozenset({"word", "token"})
"""Abilities that every model has for its tokenizer alone; they take no time worth speaking of."""


@dataclass(frozen=True)
class Scoring:
    """How scores are taken from a model; the defaults are the papers' definitions.

    top: only the `top` likeliest tokens at a mask keep their probability, the others score 0.
    count_padding: the softmax over positions includes padding.
    token_types: pass token types to models that know them.
    separators: at most so many separators between two texts (None: as the tokenizer has it).
    batch: batches of so many rows in the plan's order (None: the engine's length-sorted ones).
    chat: a model that writes is asked through its tokenizer's chat template, where there is one.
    """

    top: int | None = None
    count_padding: bool = False
    token_types: bool = True
    separators: int | None = None
    batch: int | None = None
    chat: bool = True


@dataclass(frozen=True)
class Texts:
    """A column of texts in which equal texts are stored once: row r is `values[index[r]]`."""

    values: Sequence[str]
    index: Ints  # (row,)

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, row: int) -> str:
        return self.values[int(self.index[row])]

    @staticmethod
    def in_order(texts: Sequence[str]) -> Texts:
        """Texts that need no comparing: few, or all different."""
        return Texts(texts, np.arange(len(texts), dtype=np.int32))

    @staticmethod
    def of(texts: Iterable[str]) -> Texts:
        """
        >>> column = Texts.of(["a", "b", "a"])
        >>> column.values, column.index.tolist()
        (['a', 'b'], [0, 1, 0])
        """
        places: dict[str, int] = {}
        index = [places.setdefault(text, len(places)) for text in texts]
        return Texts(list(places), np.array(index, dtype=np.int32))


@dataclass(frozen=True)
class Columns:
    """Queries of one ability. Its fields are columns, words that a later column points into, numbers that all rows
    share, and the scoring; the last column has a row for each query. A column that is None is not there.
    """

    ability: ClassVar[str]

    def __len__(self) -> int:
        return len(self._columns()[-1])

    def digest(self) -> str:
        shared = " ".join(str(each) for each in self._values() if isinstance(each, int | Scoring))
        named = f"{self.ability} {shared}".replace(", chat=True", "")  # stored answers are older than the choice
        hasher = hashlib.sha256(named.encode())
        for column in self._columns():
            if isinstance(column, Texts):
                for text in column.values:
                    encoded = text.encode()
                    hasher.update(len(encoded).to_bytes(4, "little") + encoded)
                column = column.index
            hasher.update(f"{column.dtype.str}{column.shape}".encode() + np.ascontiguousarray(column).tobytes())
        return hasher.hexdigest()

    def _values(self) -> list[Any]:
        return [getattr(self, each.name) for each in fields(self)]

    def _columns(self) -> list[Texts | Ints]:
        columns = [each for each in self._values() if not isinstance(each, int | Scoring | None)]
        return [each if isinstance(each, Texts | np.ndarray) else Texts.in_order(each) for each in columns]


@dataclass(frozen=True)
class SpanColumns(Columns):
    """Rows of SpanQuery. A subject may have several alternative starts and ends: the likeliest of each counts."""

    ability: ClassVar[str] = "span"
    question: Texts
    context: Texts
    start: Ints  # (row, subject, alternative): offset of the first character, or NONE
    end: Ints  # (row, subject, alternative): offset behind the last character, or NONE
    scoring: Scoring = Scoring()

    def row(self, row: int) -> SpanQuery:
        spans = zip(self.start[row, :, 0].tolist(), self.end[row, :, 0].tolist(), strict=True)
        return SpanQuery(self.question[row], self.context[row], tuple(spans))


@dataclass(frozen=True)
class MaskColumns(Columns):
    """Rows of MaskQuery; the text is context + blank + sentence, or the sentence alone where the context is empty.

    The likeliest alternative of a subject counts.
    """

    ability: ClassVar[str] = "mask"
    context: Texts
    sentence: Texts  # each holds MASK once
    words: Sequence[str]
    subjects: Ints  # (row, subject, alternative): index into words, or NONE
    scoring: Scoring = Scoring()

    def row(self, row: int) -> MaskQuery:
        words = tuple(self.words[k] for k in self.subjects[row, :, 0].tolist())
        return MaskQuery(joined_by_blank(self.context[row], self.sentence[row]), words)


@dataclass(frozen=True)
class FillColumns(Columns):
    """Rows of FillQuery; the text is as in MaskColumns, and the `top` likeliest tokens are wanted."""

    ability: ClassVar[str] = "fill"
    context: Texts
    sentence: Texts  # each holds MASK once
    top: int = 10
    scoring: Scoring = Scoring()

    def row(self, row: int) -> FillQuery:
        return FillQuery(joined_by_blank(self.context[row], self.sentence[row]))


@dataclass(frozen=True)
class ChoiceColumns(Columns):
    """Rows of ChoiceQuery, each with as many options as the others.

    A multiple-choice model reads the context and, as the text behind it, question + blank + option, or the option alone
    where the question is empty. Where the context is empty it reads that second text alone. A causal model reads
    context and question as a prompt that the option goes on from (`models/encode_prompts.py`).
    """

    ability: ClassVar[str] = "choice"
    context: Texts
    question: Texts
    choices: Sequence[str]
    options: Ints  # (row, option): index into choices
    scoring: Scoring = Scoring()
    dialogue: Texts | None = None  # `Dialogue.to_text`

    @staticmethod
    def of(queries: Sequence[ChoiceQuery], scoring: Scoring | None = None) -> ChoiceColumns:
        choices = Texts.of(option for query in queries for option in query.options)
        return ChoiceColumns(
            Texts.of(query.context for query in queries),
            Texts.of(query.question for query in queries),
            choices.values,
            choices.index.reshape(len(queries), -1),
            scoring or Scoring(),
            _dialogues(queries),
        )

    def row(self, row: int) -> ChoiceQuery:
        options = tuple(self.choices[k] for k in self.options[row].tolist())
        return ChoiceQuery(self.context[row], self.question[row], options, _dialogue(self.dialogue, row))


@dataclass(frozen=True)
class TextColumns(Columns):
    """Rows of TextQuery; at most `tokens` new tokens are wanted, each the likeliest one."""

    ability: ClassVar[str] = "text"
    prompt: Texts
    tokens: int = 32
    scoring: Scoring = Scoring()
    dialogue: Texts | None = None  # `Dialogue.to_text`

    @staticmethod
    def of(queries: Sequence[TextQuery], scoring: Scoring | None = None) -> TextColumns:
        """Queries that want equally many tokens."""
        (tokens,) = {query.tokens for query in queries}
        return TextColumns(
            Texts.of(query.prompt for query in queries), tokens, scoring or Scoring(), _dialogues(queries)
        )

    def row(self, row: int) -> TextQuery:
        return TextQuery(self.prompt[row], self.tokens, _dialogue(self.dialogue, row))


def _dialogues(queries: Sequence[ChoiceQuery] | Sequence[TextQuery]) -> Texts | None:
    """A column of their dialogues; None where no query has one. All have one, or none has."""
    found = [query.dialogue.to_text() for query in queries if query.dialogue is not None]
    return Texts.of(found) if found else None


def _dialogue(column: Texts | None, row: int) -> Dialogue | None:
    return None if column is None else Dialogue.of_text(column[row])


@dataclass(frozen=True)
class EmbedColumns(Columns):
    """Rows of EmbedQuery."""

    ability: ClassVar[str] = "embed"
    text: Texts
    start: Ints  # (row,): offset of the first character
    end: Ints  # (row,): offset behind the last character
    scoring: Scoring = Scoring()

    def row(self, row: int) -> EmbedQuery:
        return EmbedQuery(self.text[row], (int(self.start[row]), int(self.end[row])))


@dataclass(frozen=True)
class WordColumns(Columns):
    """Rows of WordQuery."""

    ability: ClassVar[str] = "word"
    words: Texts
    scoring: Scoring = Scoring()

    def row(self, row: int) -> WordQuery:
        return WordQuery(self.words[row])


@dataclass(frozen=True)
class TokenColumns(Columns):
    """Rows of TokenQuery."""

    ability: ClassVar[str] = "token"
    tokens: Ints  # (row,)
    scoring: Scoring = Scoring()

    def row(self, row: int) -> TokenQuery:
        return TokenQuery(int(self.tokens[row]))


QueryColumns = (
    SpanColumns | MaskColumns | FillColumns | ChoiceColumns | TextColumns | EmbedColumns | WordColumns | TokenColumns
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one query, and what it was answered: the options' scores (choice), or a text (text).

    Only an answer that is OK must have them: an answer is never a guess.
    """

    status: Status
    scores: tuple[float, ...] | None = None
    text: str | None = None


@dataclass(frozen=True)
class Answers:
    """Arrays aligned with the rows asked. A row whose status is not OK may have no scores (NaN) or an empty text.

    span, mask: `score` float32 (row, subject). fill: `token` int32 and `probability` float32 (row, top).
    choice: `score` float32 (row, option), the model's logits: softmax over a row gives the options' probabilities. A
    causal model's score is the natural logarithm of the option's probability behind the prompt, a sum over its tokens,
    and `tokens` int32 (row, option) says how many these are.
    text: `text` bytes (row,), UTF-8 without special tokens and surrounding blanks; as wide as the longest needs it.
    embed: `vector` float32 (row, width), the mean of the last layer's hidden states over the word's tokens.
    word: `pieces` int32 (row,), `key` uint64 (row,): equal keys mean equal tokens.
    token: `text` bytes (row,), UTF-8, empty for special tokens; `whole` uint8 (row,): 1 where the text, as a word in a
    sentence, is this one token.
    """

    status: NDArray[np.uint8]
    arrays: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.status)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    @staticmethod
    def joined(parts: Sequence[Answers]) -> Answers:
        """Answers to consecutive ranges of a plan, as one."""
        names = parts[0].arrays
        arrays = {name: np.concatenate([part.arrays[name] for part in parts]) for name in names}
        return Answers(np.concatenate([part.status for part in parts]), arrays)


@dataclass(frozen=True)
class Tokens:
    """Rows ready for a model: ragged token ids without padding, and what each row is about.

    `marks` are per-row arrays that only the model that made them understands (token positions, candidate ids).
    A choice row holds one sequence for each of its options, one behind the other (`option_rows` takes them apart):
    its marks `parts` (row, option + 1) say where in the row they begin, the row's end included. For a causal model the
    first of these sequences is what all options share, and the others are what each adds to it: (row, option + 2). A
    text row's mark `tokens` (row,) says how many new ones are wanted at the most. An embed row's marks `start` and
    `end` (row,) are the word's first token and the one behind its last.
    """

    ability: str
    ids: Ints  # (token,)
    offsets: NDArray[np.int64]  # (row + 1,)
    second: Ints  # (row,): index in the row (choice: in each of its sequences) of the first token with token type 1
    marks: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    scoring: Scoring = Scoring()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def take(self, rows: NDArray[np.int64]) -> Tokens:
        ids, lengths = ragged_take(self.ids, self.offsets, rows)
        marks = {name: values[rows] for name, values in self.marks.items()}
        return Tokens(self.ability, ids, starts_of(lengths), self.second[rows], marks, self.scoring)


def option_rows(tokens: Tokens) -> Tokens:
    """Choice rows taken apart: every option is a row of its own, without marks; answers reshape to (row, option).

    >>> tokens = Tokens("choice", np.arange(5), np.array([0, 5]), np.array([2]), {"parts": np.array([[0, 3, 5]])})
    >>> options = option_rows(tokens)
    >>> options.offsets.tolist(), options.second.tolist()
    ([0, 3, 5], [2, 2])
    """
    parts = tokens.marks["parts"]  # (row, option + 1)
    starts = tokens.offsets[:-1, None] + parts[:, :-1]  # (row, option)
    offsets = np.append(starts.reshape(-1), tokens.offsets[-1:])
    second = np.minimum(tokens.second[:, None], np.diff(parts, axis=1)).reshape(-1).astype(np.int32)
    return Tokens(tokens.ability, tokens.ids, offsets, second, scoring=tokens.scoring)


def joined_by_blank(first: str, second: str) -> str:
    """Two texts as one, or the second alone where the first is empty."""
    return f"{first} {second}" if first else second


def starts_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Offsets of consecutive pieces with these lengths, the end included."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def ragged_take(
    flat: NDArray[Any], offsets: NDArray[np.int64], rows: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The chosen pieces of a ragged array one behind the other, and their lengths.

    >>> ragged_take(np.array([1, 2, 3, 4]), np.array([0, 1, 4]), np.array([1, 0, 0]))[0].tolist()
    [2, 3, 4, 1, 1]
    """
    lengths = offsets[rows + 1] - offsets[rows]
    shift = np.repeat(offsets[rows] - starts_of(lengths)[:-1], lengths)
    return flat[np.arange(len(shift)) + shift], lengths
