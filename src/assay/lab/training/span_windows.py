"""Questions about passages to windows of tokens, with the places of the answers in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, ModelError
from assay.lab.training.batches import Features
from assay.lab.training.span_data import SpanData, SpanExample
from assay.models.tokenise import Tokeniser
from assay.queries import Ints, Tokens, starts_of

_LONGEST_QUESTION = 64
"""Tokens of a question that are read, as in BERT's program for SQuAD."""

_CHUNK = 1000


@dataclass(frozen=True)
class Passage:
    """A passage's tokens and, for each, the range of its characters."""

    ids: Ints
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    def tokens_of(self, start: int, end: int) -> tuple[int, int]:
        """The first and the last token that hold a range of characters; the last is before the first if none does."""
        return (
            int(np.searchsorted(self.end, start, side="right")),
            int(np.searchsorted(self.start, end, side="left")) - 1,
        )


@dataclass(frozen=True)
class Windows:
    """Windows of tokens with, for each, its question and the passage's token that its context begins with.

    The marks of the tokens: `second`, where the context begins; `behind`, where it has ended; `holds`, whether the
    answer is in the window.
    """

    features: Features
    example: NDArray[np.int64]  # (window,)
    first: NDArray[np.int64]  # (window,)
    passages: Sequence[Passage]
    left_out: int


def encode_span(
    tokenizer: Any, name: str, data: SpanData, *, window: int, stride: int, only_answers: bool = False
) -> Windows:
    """All windows of all questions, or only those that hold the answer, if there is one.

    A window without the answer, and every window of a question without one, is to point at the first token ([CLS]).
    Windows begin `stride` tokens apart, or less where a long question leaves less room. A question whose answer has no
    tokens, or is in no window where only such count, is left out and counted.
    """
    tokeniser = Tokeniser(tokenizer)
    layout = tokeniser.pair
    if not layout.before:
        raise ModelError(
            f"the tokenizer of {name} begins a text with no token of its own to point at.",
            "Choose another base.",
            code="bad-tokenizer",
        )
    passages = [Passage(*columns) for columns in _encoded(tokenizer, data.passages)]
    asked = list(dict.fromkeys(example.question for example in data.examples))
    ids = {
        text: columns[0][:_LONGEST_QUESTION] for text, columns in zip(asked, _encoded(tokenizer, asked), strict=True)
    }
    rows: list[Ints] = []
    table: list[tuple[int, int, int, int, int, int, bool]] = []
    left_out = 0
    before, between, after = (np.array(part, np.int32) for part in (layout.before, layout.between, layout.after))
    for at, example in enumerate(data.examples):
        passage, question = passages[example.passage], ids[example.question]
        second = len(before) + len(question) + len(between)
        room = window - second - len(after)
        if room < 1:
            raise DataError(
                f"a window of {window} tokens has no room behind a question of {len(question)}: {example.question!r}.",
                "Choose a longer window with --set window=…",
                code="too-long",
                key="window",
            )
        answer = _answer(passage, example)
        if answer is not None and answer[0] > answer[1]:
            left_out += 1
            continue
        kept = False
        for lo in _starts(len(passage.ids), room, stride):
            hi = min(lo + room, len(passage.ids))
            holds = answer is not None and lo <= answer[0] and answer[1] < hi
            if only_answers and answer is not None and not holds:
                continue
            kept = True
            rows.append(np.concatenate([before, question, between, passage.ids[lo:hi], after]))
            start, end = (second + token - lo for token in answer) if answer is not None and holds else (0, 0)
            table.append((at, lo, second, second + hi - lo, start, end, holds))
        left_out += not kept
    if not rows:
        raise DataError(
            "no answer is in a window of tokens.",
            "Choose a longer window with --set window=…",
            code="too-long",
            key="window",
        )
    columns = np.array(table, np.int64).T
    offsets = starts_of(np.array([len(row) for row in rows], np.int64))
    marks: dict[str, NDArray[Any]] = {"second": columns[2], "behind": columns[3], "holds": columns[6]}
    tokens = Tokens("span", np.concatenate(rows), offsets, columns[2].astype(np.int32), marks)
    features = Features(tokens, {"start_positions": columns[4], "end_positions": columns[5]})
    return Windows(features, columns[0], columns[1], passages, left_out)


def _answer(passage: Passage, example: SpanExample) -> tuple[int, int] | None:
    return None if example.start is None or example.end is None else passage.tokens_of(example.start, example.end)


def _starts(tokens: int, room: int, stride: int) -> Iterator[int]:
    """Where windows of a passage begin: one behind the other, until one reaches the end.

    >>> list(_starts(10, 4, 3)), list(_starts(3, 4, 3))
    ([0, 3, 6], [0])
    """
    lo = 0
    yield lo
    while lo + room < tokens:
        lo += min(stride, room)
        yield lo


def _encoded(tokenizer: Any, texts: Sequence[str]) -> Iterator[tuple[Ints, NDArray[np.int64], NDArray[np.int64]]]:
    """Ids and character ranges of every text's tokens, without special ones."""
    backend = tokenizer.backend_tokenizer
    for lo in range(0, len(texts), _CHUNK):
        for encoding in backend.encode_batch(list(texts[lo : lo + _CHUNK]), add_special_tokens=False):
            ranges = np.array(encoding.offsets, np.int64).reshape(-1, 2)
            yield np.array(encoding.ids, np.int32), ranges[:, 0], ranges[:, 1]
