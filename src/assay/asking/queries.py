"""The questions that models can be asked, as columns and as single queries, and their answers.

This file and `plan.py` are the whole architecture on one screen: a probe makes a plan, a plan is a sequence of
queries, the engine asks them, a model answers.

| ability  | a query says                                         | an answer says                                   |
|----------|------------------------------------------------------|--------------------------------------------------|
| `span`   | question, context, where the subjects are in it      | score of every subject: sqrt(P(start) · P(end))  |
| `mask`   | text with one masked word, subjects that may fill it | probability of every subject at the mask         |
| `fill`   | text with one masked word                            | the likeliest tokens and their probabilities     |
| `choice` | context, question, options                           | the logit or log probability of every option     |
| `listed` | the same, with all options shown in this order       | the log probability that each of them is chosen  |
| `text`   | a prompt                                             | what the model writes after it                   |
| `sample` | a prompt, and how often it is asked                  | what the model writes each time, drawn at random |
| `embed`  | text, where a word is in it                          | the word's vector in this text                   |
| `word`   | a word                                               | how many tokens it is in this model, and which   |
| `token`  | a token                                              | its text, and whether it is a word of its own    |

At scale queries travel as columns; a query object is a view of one row, for tests, docs and browsing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.asking.messages import Dialogue, as_text, completion_prompt, user_message

Ints = NDArray[np.int32]

MASK = "\ufffc"
"""Marks the masked word in a text; models replace it by their own mask token. A literal "[MASK]" is ordinary text."""

NONE = -1
"""No further alternative, in columns that hold several alternatives for a subject."""


class Status(IntEnum):
    """What became of a query. Blocks store these numbers."""

    OK = 0
    REFUSED = 1  # the model declined to answer
    FAILED = 2  # there is no answer: an error, or time ran out
    FILTERED = 3  # what the model answered, or was asked, was withheld by whoever runs it
    TRUNCATED = 4  # the answer ended too early; the row has what there is of it
    EMPTY = 5  # nothing was answered: as when reasoning used up all tokens that were allowed
    UNCLEAR = 6  # the model gave little probability to any of the options; the row has what there is of it


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
        return user_message(self.context, self.question)

    @property
    def plain(self) -> str:
        """What a model without chat messages reads; an option continues it."""
        return (
            completion_prompt(self.context, self.question)
            if self.dialogue is None
            else as_text(self.prompt, self.dialogue)
        )


@dataclass(frozen=True, slots=True)
class ListedQuery(ChoiceQuery):
    """Which option does a model choose if it sees all of them, in this order?

    Without a dialogue, the model's kind lists the options. With one, the prompt lists them, and the options here are
    the letters under which they are listed.
    """


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What does the model write after the prompt, in at most `tokens` tokens?

    With a `dialogue`, the prompt is the user's last message in it.
    """

    prompt: str
    tokens: int
    dialogue: Dialogue | None = field(default=None, repr=False)

    @property
    def plain(self) -> str:
        """What a model without chat messages reads."""
        return self.prompt if self.dialogue is None else as_text(self.prompt, self.dialogue)


@dataclass(frozen=True, slots=True)
class SampleQuery(TextQuery):
    """What does the model write if it is asked `samples` times at temperature 1?"""

    samples: int = 10


@dataclass(frozen=True, slots=True)
class EmbedQuery:
    """What is the vector of the words at this character range of the text?"""

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

ENDPOINT_ABILITIES = frozenset({"listed", "sample"})
"""Abilities that only endpoints have, in addition to others."""

TOKENIZER_ABILITIES = frozenset({"word", "token"})
"""Abilities of the tokenizer, which every model has; they take almost no time."""


@dataclass(frozen=True)
class Scoring:
    """How scores are computed; the defaults are the papers' definitions.

    top: only the `top` likeliest tokens at a mask keep their probability, the others score 0.
    count_padding: the softmax over positions includes padding.
    token_types: pass token types to models that know them.
    separators: the most separators between two texts (None: as the tokenizer has it).
    batch: rows per batch, in the plan's order (None: the engine's length-sorted batches).
    chat: a model that writes is asked through its tokenizer's chat template, if there is one.
    answer: which way (`Ask.ways`) is used to get probabilities of listed options from an endpoint.
    """

    top: int | None = None
    count_padding: bool = False
    token_types: bool = True
    separators: int | None = None
    batch: int | None = None
    chat: bool = True
    answer: str = ""


@dataclass(frozen=True)
class StringColumn:
    """A column of texts that stores equal texts once: row r is `values[index[r]]`."""

    values: Sequence[str]
    index: Ints  # (row,)

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, row: int) -> str:
        return self.values[int(self.index[row])]

    @staticmethod
    def in_order(texts: Sequence[str]) -> StringColumn:
        """Texts that need no comparing: few, or all different."""
        return StringColumn(texts, np.arange(len(texts), dtype=np.int32))

    @staticmethod
    def of(texts: Iterable[str]) -> StringColumn:
        """
        >>> column = StringColumn.of(["a", "b", "a"])
        >>> column.values, column.index.tolist()
        (['a', 'b'], [0, 1, 0])
        """
        places: dict[str, int] = {}
        index = [places.setdefault(text, len(places)) for text in texts]
        return StringColumn(list(places), np.array(index, dtype=np.int32))


@dataclass(frozen=True)
class BaseColumns:
    """Queries of one ability. Its fields are columns, words that a later column points into, numbers that all rows
    share, and the scoring; the last column has a row for each query. A column that is None is not there.
    """

    ability: ClassVar[str]

    def __len__(self) -> int:
        return len(self._columns()[-1])

    def digest(self) -> str:
        shared = " ".join(str(each) for each in self._values() if isinstance(each, int | Scoring))
        hasher = hashlib.sha256(f"{self.ability} {shared}".encode())
        for column in self._columns():
            if isinstance(column, StringColumn):
                for text in column.values:
                    encoded = text.encode()
                    hasher.update(len(encoded).to_bytes(4, "little") + encoded)
                column = column.index
            hasher.update(f"{column.dtype.str}{column.shape}".encode() + np.ascontiguousarray(column).tobytes())
        return hasher.hexdigest()

    def _values(self) -> list[Any]:
        return [getattr(self, each.name) for each in fields(self)]

    def _columns(self) -> list[StringColumn | Ints]:
        columns = [each for each in self._values() if not isinstance(each, int | Scoring | None)]
        return [
            column if isinstance(column, StringColumn | np.ndarray) else StringColumn.in_order(column)
            for column in columns
        ]


@dataclass(frozen=True)
class SpanColumns(BaseColumns):
    """Rows of SpanQuery. A subject may have several alternative starts and ends: the likeliest of each counts."""

    ability: ClassVar[str] = "span"
    question: StringColumn
    context: StringColumn
    start: Ints  # (row, subject, alternative): offset of the first character, or NONE
    end: Ints  # (row, subject, alternative): offset behind the last character, or NONE
    scoring: Scoring = Scoring()

    def row(self, row: int) -> SpanQuery:
        spans = zip(self.start[row, :, 0].tolist(), self.end[row, :, 0].tolist(), strict=True)
        return SpanQuery(self.question[row], self.context[row], tuple(spans))


@dataclass(frozen=True)
class MaskColumns(BaseColumns):
    """Rows of MaskQuery; the text is context + blank + sentence, or the sentence alone where the context is empty.

    The likeliest alternative of a subject counts.
    """

    ability: ClassVar[str] = "mask"
    context: StringColumn
    sentence: StringColumn  # each holds MASK once
    words: Sequence[str]
    subjects: Ints  # (row, subject, alternative): index into words, or NONE
    scoring: Scoring = Scoring()

    def row(self, row: int) -> MaskQuery:
        words = tuple(self.words[k] for k in self.subjects[row, :, 0].tolist())
        return MaskQuery(joined_by_blank(self.context[row], self.sentence[row]), words)


@dataclass(frozen=True)
class FillColumns(BaseColumns):
    """Rows of FillQuery; the text is as in MaskColumns, and the `top` likeliest tokens are wanted."""

    ability: ClassVar[str] = "fill"
    context: StringColumn
    sentence: StringColumn  # each holds MASK once
    top: int = 10
    scoring: Scoring = Scoring()

    def row(self, row: int) -> FillQuery:
        return FillQuery(joined_by_blank(self.context[row], self.sentence[row]))


@dataclass(frozen=True)
class ChoiceColumns(BaseColumns):
    """Rows of ChoiceQuery, each with as many options as the others.

    A multiple-choice model reads the context and, as second text, question + blank + option, or the option alone if the
    question is empty. If the context is empty, it reads only the second text. A causal model reads context and question
    as a prompt that the option continues (`models/encode_prompts.py`).
    """

    ability: ClassVar[str] = "choice"
    context: StringColumn
    question: StringColumn
    choices: Sequence[str]
    options: Ints  # (row, option): index into choices
    scoring: Scoring = Scoring()
    dialogue: StringColumn | None = None  # `Dialogue.to_text`

    @classmethod
    def of(cls, queries: Sequence[ChoiceQuery], scoring: Scoring | None = None) -> Self:
        choices = StringColumn.of(option for query in queries for option in query.options)
        return cls(
            StringColumn.of(query.context for query in queries),
            StringColumn.of(query.question for query in queries),
            choices.values,
            choices.index.reshape(len(queries), -1),
            scoring or Scoring(),
            _dialogues(queries),
        )

    def row(self, row: int) -> ChoiceQuery:
        options = tuple(self.choices[k] for k in self.options[row].tolist())
        return ChoiceQuery(self.context[row], self.question[row], options, _dialogue(self.dialogue, row))


@dataclass(frozen=True)
class ListedColumns(ChoiceColumns):
    """Rows of ListedQuery."""

    ability: ClassVar[str] = "listed"

    def row(self, row: int) -> ListedQuery:
        query = ChoiceColumns.row(self, row)
        return ListedQuery(query.context, query.question, query.options, query.dialogue)


@dataclass(frozen=True)
class TextColumns(BaseColumns):
    """Rows of TextQuery; at most `tokens` new tokens are wanted, each the likeliest one."""

    ability: ClassVar[str] = "text"
    prompt: StringColumn
    tokens: int = 32
    scoring: Scoring = Scoring()
    dialogue: StringColumn | None = None  # `Dialogue.to_text`

    @classmethod
    def of(cls, queries: Sequence[TextQuery], scoring: Scoring | None = None) -> Self:
        """Columns of queries with the same number of tokens."""
        (tokens,) = {query.tokens for query in queries}
        return cls(
            StringColumn.of(query.prompt for query in queries), tokens, scoring or Scoring(), _dialogues(queries)
        )

    def row(self, row: int) -> TextQuery:
        return TextQuery(self.prompt[row], self.tokens, _dialogue(self.dialogue, row))


def _dialogues(queries: Sequence[ChoiceQuery] | Sequence[TextQuery]) -> StringColumn | None:
    """The column of dialogues; None if the queries have none. Either all have one, or none has."""
    texts = [query.dialogue.to_text() for query in queries if query.dialogue is not None]
    return StringColumn.of(texts) if texts else None


def _dialogue(column: StringColumn | None, row: int) -> Dialogue | None:
    return None if column is None else Dialogue.of_text(column[row])


@dataclass(frozen=True)
class SampleColumns(TextColumns):
    """Rows of SampleQuery; each is asked `samples` times."""

    ability: ClassVar[str] = "sample"
    samples: int = 10

    @classmethod
    def of(cls, queries: Sequence[TextQuery], scoring: Scoring | None = None) -> Self:
        """Columns of queries that are asked equally often."""
        (samples,) = {query.samples for query in queries if isinstance(query, SampleQuery)}
        return replace(super().of(queries, scoring), samples=samples)

    def row(self, row: int) -> SampleQuery:
        return SampleQuery(self.prompt[row], self.tokens, _dialogue(self.dialogue, row), self.samples)


@dataclass(frozen=True)
class EmbedColumns(BaseColumns):
    """Rows of EmbedQuery."""

    ability: ClassVar[str] = "embed"
    text: StringColumn
    start: Ints  # (row,): offset of the first character
    end: Ints  # (row,): offset behind the last character
    scoring: Scoring = Scoring()

    def row(self, row: int) -> EmbedQuery:
        return EmbedQuery(self.text[row], (int(self.start[row]), int(self.end[row])))


@dataclass(frozen=True)
class WordColumns(BaseColumns):
    """Rows of WordQuery."""

    ability: ClassVar[str] = "word"
    words: StringColumn
    scoring: Scoring = Scoring()

    def row(self, row: int) -> WordQuery:
        return WordQuery(self.words[row])


@dataclass(frozen=True)
class TokenColumns(BaseColumns):
    """Rows of TokenQuery."""

    ability: ClassVar[str] = "token"
    tokens: Ints  # (row,)
    scoring: Scoring = Scoring()

    def row(self, row: int) -> TokenQuery:
        return TokenQuery(int(self.tokens[row]))


QueryColumns = (
    SpanColumns | MaskColumns | FillColumns | ChoiceColumns | TextColumns | EmbedColumns | WordColumns | TokenColumns
)


class ServerRecord(NamedTuple):
    """Who answered at an endpoint, as its reply says: the model, its version, the server; and when (Unix time)."""

    model: str = ""
    fingerprint: str = ""
    server: str = ""
    at: float = 0.0


_UNKNOWN = ServerRecord()


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one query, with its status: the options' scores (choice), or a text (text).

    Only an answer with the status OK must have them; an answer is never a guess. `texts` are the answers to a query
    that was asked several times. `mass` is the total probability of the options, `served` says who answered at an
    endpoint, and `billed` is the numbers of requests, input tokens and output tokens.
    """

    status: Status
    scores: tuple[float, ...] | None = None
    text: str | None = None
    texts: tuple[str, ...] = ()
    mass: float = 1.0
    served: ServerRecord = _UNKNOWN
    billed: tuple[int, int, int] = (0, 0, 0)


@dataclass(frozen=True)
class Answers:
    """Arrays aligned with the rows asked. A row whose status is not OK may have no scores (NaN) or an empty text.

    span, mask: `score` float32 (row, subject). fill: `token` int32 and `probability` float32 (row, top).
    choice: `score` float32 (row, option), the model's logits: softmax over a row gives the options' probabilities. A
    causal model's score is the natural logarithm of the option's probability after the prompt, a sum over its tokens,
    and `tokens` int32 (row, option) says how many these are.
    listed: `score` float32 (row, option), the natural logarithm of the option's probability, -inf if it is too small
    to measure; `mass` float32 (row,), the probability of all options together.
    text: `text` bytes (row,), UTF-8 without special tokens and surrounding blanks; as wide as the longest.
    sample: `text` bytes (row, sample), likewise.
    Endpoints add `model`, `fingerprint` and `server` bytes (row,) and `at` float64 (row,), fields of `ServerRecord`,
    and `billed` int64 (row, 3): requests, input tokens and output tokens.
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


def joined_by_blank(first: str, second: str) -> str:
    """Two texts joined by a blank, or the second alone if the first is empty."""
    return f"{first} {second}" if first else second
