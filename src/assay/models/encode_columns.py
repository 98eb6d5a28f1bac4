"""Columns of queries to tokens, for models with a fast tokenizer that read a text at once.

Texts are tokenised one by one and joined. Functions that take `whole` tokenise no text word by word when it is true;
`Encoder` compares the two ways with each other and with the real tokenizer.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import (
    MASK,
    NONE,
    ChoiceColumns,
    EmbedColumns,
    FillColumns,
    Ints,
    MaskColumns,
    QueryColumns,
    SpanColumns,
    StringColumn,
    TextColumns,
    joined_by_blank,
)
from assay.asking.tokens import Tokens, option_rows, ragged_take, starts_of
from assay.errors import DataError, ModelError
from assay.models.base import missing_ability_error
from assay.models.tokenise import ColumnEncoder, FastTokenizer, RaggedTokens, Tokeniser, chosen, constant, join, sampled

Masked = MaskColumns | FillColumns
Joined = SpanColumns | ChoiceColumns | EmbedColumns


class Encoder(ColumnEncoder):
    """Tokenises columns word by word and checks a sample against the real tokenizer.

    If the tokenizer does not split at blanks, or the sample shows another difference, `whole` is true, with a warning:
    then whole texts are tokenised, which is exact and slower.
    """

    def __init__(self, tokenizer: FastTokenizer, max_length: int, name: str) -> None:
        super().__init__(tokenizer, max_length, name)
        self.whole = False
        if not self.tokeniser.splits_at_blanks:
            self._give_up_on_words()

    def _texts(self, columns: QueryColumns) -> Tokens:
        if isinstance(columns, MaskColumns | FillColumns):
            tokens = self._checked_masked(columns)
        elif isinstance(columns, SpanColumns | EmbedColumns) or (
            isinstance(columns, ChoiceColumns) and columns.dialogue is None
        ):
            tokens = self._checked_joined(columns)
        else:
            raise missing_ability_error(self.name, TextColumns.ability)
        self._require_window(columns, _by_sequence(tokens).lengths)
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
                problem = f"the tokenizer of {self.name} cannot tokenise the texts of a question separately."
                remedy = f"It cannot be used for {columns.ability} questions; please report the model's name."
                raise ModelError(problem, remedy, code="bad-tokenizer")
        if self.whole or _same(ours.take(rows), exact):
            return tokens
        self._give_up_on_words()
        return joined_tokens(self.tokeniser, columns, whole=True)

    def _checked_masked(self, columns: Masked) -> Tokens:
        before_mask, after_mask = _around_mask(columns)
        texts = [*columns.context.values, *_unblanked(before_mask), *after_mask.values]
        if self.whole or not all(map(self.tokeniser.exact, texts)):
            return self._masked_whole(columns, before_mask)
        tokens = self._masked(columns, before_mask, after_mask)
        for row in sampled(len(columns)).tolist():
            text = columns.row(row).text
            real = self.tokeniser.real(text.replace(MASK, self.tokeniser.mask))
            if not self.tokeniser.has_special(text) and _row(tokens, row) != real:
                self._give_up_on_words()
                return self._masked_whole(columns, before_mask)
        return tokens

    def _masked(self, columns: Masked, before_mask: StringColumn, after_mask: StringColumn) -> Tokens:
        rows, layout, segments = len(columns), self.tokeniser.single, self.tokeniser.segments
        ids, offsets, starts = join(
            [
                constant(layout.before, rows),
                chosen(segments(columns.context.values), columns.context.index),
                chosen(segments(_unblanked(before_mask)), before_mask.index),
                constant([self.tokeniser.mask_id], rows),
                chosen(segments(after_mask.values), after_mask.index),
                constant(layout.after, rows),
            ]
        )
        return self._with_masks(columns, before_mask, ids, offsets, starts[3])

    def _masked_whole(self, columns: Masked, before_mask: StringColumn) -> Tokens:
        """Every row by the real tokenizer; refuses texts that contain a special token literally."""
        rows, positions = [], []
        for row in range(len(columns)):
            text = columns.row(row).text
            if self.tokeniser.has_special(text):
                problem = f"a text contains one of the tokenizer's special tokens: {text!r}."
                raise DataError(problem, "Reword it.", code="bad-text")
            ids = self.tokeniser.real(text.replace(MASK, self.tokeniser.mask))
            rows.append(np.array(ids, np.int32))
            positions.append(ids.index(self.tokeniser.mask_id))
        offsets = starts_of(np.array([len(ids) for ids in rows], np.int64))
        return self._with_masks(columns, before_mask, np.concatenate(rows), offsets, np.array(positions, np.int64))

    def _with_masks(
        self,
        columns: Masked,
        before_mask: StringColumn,
        ids: Ints,
        offsets: NDArray[np.int64],
        positions: NDArray[np.int64],
    ) -> Tokens:
        marks: dict[str, NDArray[Any]] = {"mask": positions.astype(np.int32)}
        if isinstance(columns, MaskColumns):
            before = StringColumn.of(
                text[max(text.rfind(" "), 0) :] for text in before_mask.values
            )  # a word's tokens depend on it
            tokens = [[self.tokeniser.known(word, piece) for word in columns.words] for piece in before.values]
            table = [[*(ids[0] if len(ids) == 1 else NONE for ids in row), NONE] for row in tokens]
            of_row = before.index[before_mask.index][:, None, None]
            marks["candidates"] = np.array(table, np.int32)[of_row, columns.subjects]
            missing = np.argwhere(marks["candidates"][:, :, 0] == NONE)
            if len(missing):
                word = columns.words[columns.subjects[missing[0][0], missing[0][1], 0]]
                problem = f"{word!r} is not one token of {self.name}."
                raise DataError(problem, "Leave this word out of masked questions.", code="bad-text", key="words")
        else:
            marks["top"] = np.full(len(columns), columns.top, np.int32)
        second = np.diff(offsets).astype(np.int32)
        return Tokens(columns.ability, ids, offsets, second, marks, columns.scoring)

    def _give_up_on_words(self) -> None:
        self.whole = True
        warnings.warn(
            f"{self.name}: its tokenizer needs whole texts instead of words, so tokenising is slower.", stacklevel=2
        )


def _around_mask(columns: Masked) -> tuple[StringColumn, StringColumn]:
    """The text left and right of the mask in its sentence; the left part starts with the blank after a context."""
    sentences = columns.sentence.values
    wrong = [text for text in sentences if text.count(MASK) != 1]
    wrong += [text for text in columns.context.values if MASK in text]
    if wrong:
        problem = f"a masked text needs exactly one masked word, in its sentence: {wrong[0]!r}."
        raise DataError(problem, "Put one [mask] into it.", code="bad-text", key="sentence")
    halves = [sentence.partition(MASK) for sentence in sentences]
    before_mask = [*(half for half, _, _ in halves), *(f" {half}" for half, _, _ in halves)]
    used, index = np.unique(columns.sentence.index + len(sentences) * _filled(columns.context), return_inverse=True)
    return (
        StringColumn([before_mask[choice] for choice in used.tolist()], index.astype(np.int32)),
        StringColumn([half for _, _, half in halves], columns.sentence.index),
    )


def _unblanked(before_mask: StringColumn) -> list[str]:
    """Texts without the blank before the mask: the mask token includes it."""
    return [text.removesuffix(" ") for text in before_mask.values]


def _by_sequence(tokens: Tokens) -> Tokens:
    return option_rows(tokens) if tokens.ability == "choice" else tokens


def _row(tokens: Tokens, row: int) -> list[int]:
    ids: list[int] = tokens.ids[tokens.offsets[row] : tokens.offsets[row + 1]].tolist()
    return ids


def _same(first: Tokens, second: Tokens) -> bool:
    same = np.array_equal(first.ids, second.ids) and np.array_equal(first.offsets, second.offsets)
    return same and all(np.array_equal(first.marks[name], second.marks[name]) for name in first.marks)


# --- span, choice and embed


def joined_tokens(tokeniser: Tokeniser, columns: Joined, *, whole: bool) -> Tokens:
    if isinstance(columns, SpanColumns):
        return _span(tokeniser, columns, whole)
    if isinstance(columns, ChoiceColumns):
        return _choice(tokeniser, columns, whole)
    return _embed(tokeniser, columns, whole)


def sequences(columns: Joined, rows: NDArray[np.int64]) -> Joined:
    """Some of the sequences that a model reads, as separate rows: each option of a row is a sequence."""
    row, option = np.divmod(rows, columns.options.shape[1] if isinstance(columns, ChoiceColumns) else 1)
    taken: dict[str, Any] = {}
    for column_field in fields(columns):
        column = getattr(columns, column_field.name)
        if isinstance(column, StringColumn):
            taken[column_field.name] = StringColumn.of(column[index] for index in row.tolist())
        elif isinstance(column, np.ndarray):
            taken[column_field.name] = column[row]
    if isinstance(columns, ChoiceColumns):
        taken["options"] = columns.options[row, option][:, None]
    return replace(columns, **taken)


def texts_of(columns: Joined, row: int) -> tuple[str, ...]:
    """The one or two texts of a row with one sequence, as the real tokenizer takes them."""
    if isinstance(columns, SpanColumns):
        return columns.question[row], columns.context[row]
    if isinstance(columns, EmbedColumns):
        return (columns.text[row],)
    query = columns.row(row)
    second = joined_by_blank(query.question, query.options[0])
    return (query.context, second) if query.context else (second,)


def _span(tokeniser: Tokeniser, columns: SpanColumns, whole: bool) -> Tokens:
    rows, layout = len(columns), tokeniser.pair
    question = tokeniser.segments(columns.question.values, whole=whole)
    context = tokeniser.segments(columns.context.values, whole=whole)
    ids, offsets, starts = join(
        [
            constant(layout.before, rows),
            chosen(question, columns.question.index),
            constant(layout.between[: columns.scoring.separators], rows),
            chosen(context, columns.context.index),
            constant(layout.after, rows),
        ]
    )
    of_row, before = columns.context.index[:, None, None], starts[3][:, None, None]
    places = {
        "start": _token_of(columns.context.values, context, of_row, columns.start),
        "end": _token_of(columns.context.values, context, of_row, columns.end, end=True),
    }
    _require_subjects(columns, (columns.start != NONE) & (places["start"] == NONE))
    _require_subjects(columns, (columns.end != NONE) & (places["end"] == NONE))
    _require_subjects(columns, places["start"][:, :, 0] > places["end"][:, :, 0])
    marks = {name: np.where(token == NONE, NONE, token + before).astype(np.int32) for name, token in places.items()}
    return Tokens("span", ids, offsets, starts[3].astype(np.int32), marks, columns.scoring)


def _embed(tokeniser: Tokeniser, columns: EmbedColumns, whole: bool) -> Tokens:
    rows, layout = len(columns), tokeniser.single
    text = tokeniser.segments(columns.text.values, whole=whole)
    ids, offsets, starts = join(
        [constant(layout.before, rows), chosen(text, columns.text.index), constant(layout.after, rows)]
    )
    start = _token_of(columns.text.values, text, columns.text.index, columns.start)
    end = _token_of(columns.text.values, text, columns.text.index, columns.end, end=True)
    _require_subjects(columns, (start == NONE) | (end == NONE) | (start > end))
    places = {"start": start, "end": end + 1}
    marks = {name: (token + starts[1]).astype(np.int32) for name, token in places.items()}
    return Tokens("embed", ids, offsets, np.diff(offsets).astype(np.int32), marks, columns.scoring)


def _choice(tokeniser: Tokeniser, columns: ChoiceColumns, whole: bool) -> Tokens:
    """Every option's sequence: the context and, as second text, question + blank + option; or that text alone."""
    rows, options = columns.options.shape
    context = tokeniser.segments(columns.context.values, whole=whole)
    paired = _filled(columns.context).repeat(options)  # (sequence,)
    single, pair = tokeniser.single, tokeniser.pair
    ids, offsets, starts = join(
        [
            _either(paired, pair.before, single.before),
            chosen(context, np.where(paired, columns.context.index.repeat(options), NONE)),
            _either(paired, pair.between[: columns.scoring.separators], ()),
            *_question_and_option(tokeniser, columns, whole),
            _either(paired, pair.after, single.after),
        ]
    )
    lengths = np.diff(offsets)
    second = np.where(paired, starts[3], lengths).reshape(rows, options).max(1)  # a single text has no second one
    parts = offsets[:-1].reshape(rows, options)
    parts = np.concatenate([parts, offsets[options::options, None]], 1) - parts[:, :1]  # (row, option + 1)
    marks = {"parts": parts.astype(np.int32)}
    return Tokens("choice", ids, offsets[::options], second.astype(np.int32), marks, columns.scoring)


def _question_and_option(
    tokeniser: Tokeniser, columns: ChoiceColumns, whole: bool
) -> list[tuple[Ints, NDArray[np.int64]]]:
    """The second text of every sequence, as parts for `join`: question and option separately, or both together.

    They are separate if they can be tokenised word by word, which avoids building every pair. Each distinct text is
    tokenised once in either case.
    """
    questions = columns.question
    used, option = np.unique(columns.options, return_inverse=True)
    option = option.reshape(-1)  # (sequence,)
    question = questions.index.repeat(columns.options.shape[1])  # (sequence,)
    choices = [columns.choices[choice] for choice in used.tolist()]
    behind = [f" {choice}" for choice in choices]
    apart = np.zeros(len(option), bool)
    if not whole:
        exact = np.array([bool(text) and tokeniser.exact(text) for text in questions.values])
        apart = exact[question] & np.array([tokeniser.exact(text) for text in behind])[option]
    pairs, together = np.unique((question.astype(np.int64) * len(used) + option)[~apart], return_inverse=True)
    index = np.full(len(option), NONE)
    index[~apart] = together
    both = [
        joined_by_blank(questions.values[i], choices[j])
        for i, j in (divmod(pair, len(used)) for pair in pairs.tolist())
    ]
    if "" in both:
        row = int(np.flatnonzero(index == both.index(""))[0]) // columns.options.shape[1]
        problem = f"a question and its option are both empty: {columns.row(row)}"
        raise DataError(problem, "Add a text to one of them.", code="bad-text", key="options")
    any_apart = apart.any()
    return [
        chosen(tokeniser.segments(questions.values if any_apart else []), np.where(apart, question, NONE)),
        chosen(tokeniser.segments(behind if any_apart else [], behind=True), np.where(apart, option, NONE)),
        chosen(tokeniser.segments(both, whole=whole), index),
    ]


def _either(condition: NDArray[np.bool_], yes: Sequence[int], no: Sequence[int]) -> tuple[Ints, NDArray[np.int64]]:
    """One of two constants in every row, as a part for `join`."""
    lengths = np.array([len(no), len(yes)], np.int64)
    return ragged_take(np.array([*no, *yes], np.int32), starts_of(lengths), condition.astype(np.int64))


def _token_of(values: Sequence[str], pieces: RaggedTokens, text: Ints, offset: Ints, *, end: bool = False) -> Ints:
    """The index, in its text, of the token that holds the character at an offset, or before it (`end`).

    NONE if the offset is NONE or no token holds it. Tokenizers drop characters, or compose them with the one
    before: an accent written as a character of its own is in no token. Then the subject's end is its next character
    to the left, its start the next one to the right.
    """
    character, text = np.where(offset == NONE, NONE, offset - end), np.broadcast_to(text, offset.shape)
    token = pieces.token_at(text, character, last=end)
    step = -1 if end else 1
    while True:
        lost = [
            position
            for position in zip(*np.nonzero((token == NONE) & (character >= 0)), strict=True)
            if _may_be_dropped(values[text[position]], int(character[position]), step)
        ]
        if not lost:
            return token
        at = tuple(np.array(lost).T)
        character[at] += step
        token[at] = pieces.token_at(text[at], character[at], last=end)


def _may_be_dropped(text: str, at: int, step: int) -> bool:
    """Whether the character is a mark, invisible, or part of a Hangul syllable, and the next one is not a blank."""
    if not (0 <= at < len(text) and 0 <= at + step < len(text)) or text[at + step].isspace():
        return False
    return unicodedata.category(text[at])[0] in "MC" or "\u1160" <= text[at] <= "\u11ff"


def _require_subjects(columns: SpanColumns | EmbedColumns, missing: NDArray[np.bool_]) -> None:
    if missing.any():
        row = int(np.argwhere(missing)[0][0])
        remedy = "Every subject's character range must be inside its text and contain more than blanks."
        problem = f"a subject is missing from its passage: {columns.row(row)}"
        raise DataError(problem, remedy, code="bad-text", key="subjects")


def _filled(texts: StringColumn) -> NDArray[np.bool_]:
    """Which rows' texts are not empty."""
    return np.array([bool(text) for text in texts.values])[texts.index]
