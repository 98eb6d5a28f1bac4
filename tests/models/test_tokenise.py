"""Tokenising word by word gives what the real tokenizer gives, and where it would not, whole texts are tokenised.

Tried with the tokenizers of the tiny models and with those of `unusual_tokenizers`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tiny_models
from assay.asking.queries import MASK, MaskColumns, StringColumn
from assay.asking.tokens import ragged_take, starts_of
from assay.errors import DataError, ModelError
from assay.models import load_model
from assay.models.encode_columns import Encoder
from assay.models.tokenise import RaggedTokens, Tokeniser, chosen, constant, join
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.plan import UnqoverPlan
from assay.probes.unqover.settings import CLASSES
from raising import raises
from reference_scores import MaskReference, SpanReference, assert_close, columns_of, span_query, stacked
from tiny_models import FAMILIES
from unusual_tokenizers import (
    KEEPING_BLANKS,
    MERGING,
    RUNS,
    STRIPPING,
    UNUSUAL,
    VOCABULARY,
    changing,
    not_splitting,
    quickly,
    texts,
    unusual,
    wrapped,
)


def whole(tokeniser: Tokeniser, text: str) -> tuple[list[int], list[int | None]]:
    """Token ids of a text, and for every character that is no blank the first token that holds it, by the library."""
    backend = tokeniser.tokenizer.backend_tokenizer
    backend.encode_special_tokens = True
    encoding = backend.encode(text, add_special_tokens=False)
    backend.encode_special_tokens = False
    return encoding.ids, [encoding.char_to_token(at) for at, letter in enumerate(text) if not letter.isspace()]


def by_words(tokeniser: Tokeniser, text: str) -> tuple[list[int], list[int | None]]:
    """The same by assay."""
    pieces = tokeniser.segments([text])
    places = np.array([at for at, letter in enumerate(text) if not letter.isspace()], np.int32)
    tokens = pieces.token_at(np.zeros(len(places), np.int32), places)
    return pieces.ids.tolist(), [None if token < 0 else token for token in tokens.tolist()]


@pytest.mark.parametrize("name", [*FAMILIES, *UNUSUAL])
@quickly(150)
@example(text="a  b")
@example(text="a   b")
@example(text="a  ")
@example(text="  a")
@example(text="a \u200b b")
@example(text="a \u0301 b")
@example(text="a\u00a0 b")
@example(text="a ¨ b")
@example(text=". ▁b")
@given(text=texts())
def test_word_by_word_gives_what_the_real_tokenizer_gives(
    name: str, text: str, tokenisers: dict[str, Tokeniser]
) -> None:
    try:
        ours = by_words(tokenisers[name], text)
    except DataError:  # a special token was written as text
        tokens = {*whole(tokenisers[name], text)[0]}
        assert tokens & {*tokenisers[name].tokenizer.all_special_ids}
    else:
        assert ours == whole(tokenisers[name], text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (KEEPING_BLANKS, "a   b"),
        (KEEPING_BLANKS, "a  "),
        (RUNS, "a  b"),
        (MERGING, "a  b"),
        (MERGING, "a \u0301 b"),
        (MERGING, "a\u00a0 b"),
        (MERGING, "a ¨ b"),
        (STRIPPING, "  ▁"),
        (STRIPPING, ".\n b"),
    ],
)
def test_these_texts_would_come_out_differently_word_by_word(
    name: str, text: str, tokenisers: dict[str, Tokeniser]
) -> None:
    """So the rule that sends them to the real tokenizer is needed."""
    tokeniser = tokenisers[name]
    assert not tokeniser.exact(text)
    assert tokeniser._by_words(text)[0] != whole(tokeniser, text)[0]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("form", ["span", "mask"])
def test_the_packaged_questions_are_all_tokenised_word_by_word(
    form: str, cls: str, family: str, tokenisers: dict[str, Tokeniser]
) -> None:
    """The short way is what makes tokenising fast, so the questions that are asked a million times must go it."""
    for header in (False, True):
        lists = read_lists(cls, masked=form == "mask", header=header)
        columns: Any = UnqoverPlan(cls, form, lists.digest, header=header, cells=300).columns(0, 1200)
        question = columns.sentence if form == "mask" else columns.question
        sentences = [half.removesuffix(" ") for text in question.values for half in text.split(MASK)]
        assert all(map(tokenisers[family].exact, [*columns.context.values, *sentences]))


@pytest.mark.parametrize("text", ["a  b", "José met 日本.", "it's 1,234.5 -- (a)?", " a b", "", "naïve-ish Ελένη"])
def test_usual_texts_are_tokenised_word_by_word(text: str, tokenisers: dict[str, Tokeniser]) -> None:
    assert tokenisers["bert"].exact(text)
    assert tokenisers["roberta"].exact(text)


# --- where a character is


def test_the_first_and_the_last_token_of_a_character() -> None:
    """Two texts; in the second one, character 0 is three tokens, and no token holds character 1."""
    ids, start, end = (
        np.array(each, np.int32) for each in ([7, 8, 9, 9, 9, 5], [0, 2, 0, 0, 0, 2], [2, 3, 1, 1, 1, 4])
    )
    pieces = RaggedTokens(ids, start, end, np.array([0, 2, 6]))
    text, character = np.array([0, 0, 0, 0, 1, 1, 1, 1], np.int32), np.array([0, 1, 2, 3, 0, 1, 3, 4], np.int32)
    assert pieces.token_at(text, character).tolist() == [0, 0, 1, -1, 0, -1, 3, -1]
    assert pieces.token_at(text, character, last=True).tolist() == [0, 0, 1, -1, 2, -1, 3, -1]


@quickly(100)
@given(lengths=st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=5))
def test_joined_rows_are_their_parts_one_behind_the_other(lengths: list[list[int]]) -> None:
    rows = [
        [[100 * row + 10 * part + k for k in range(size)] for part, size in enumerate(sizes)]
        for row, sizes in enumerate(lengths)
    ]
    parts = [
        (np.array([token for row in rows for token in row[part]], np.int32), np.array([len(row[part]) for row in rows]))
        for part in range(3)
    ]
    ids, offsets, starts = join([constant([1, 2], len(rows)), *parts])
    expected = [[1, 2, *(token for part in row for token in part)] for row in rows]
    assert [ids[lo:hi].tolist() for lo, hi in pairwise(offsets.tolist())] == expected
    for part in range(3):
        before = [2 + sum(len(piece) for piece in row[:part]) for row in rows]
        assert starts[part + 1].tolist() == before


@quickly(50)
@given(data=st.data(), pieces=st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=5))
def test_taking_ragged_rows_is_taking_list_elements(data: st.DataObject, pieces: list[list[int]]) -> None:
    rows = data.draw(st.lists(st.integers(0, len(pieces) - 1)))
    flat = np.array([number for piece in pieces for number in piece], np.int32)
    offsets = starts_of(np.array([len(piece) for piece in pieces]))
    taken, lengths = ragged_take(flat, offsets, np.array(rows, np.int64))
    assert taken.tolist() == [number for row in rows for number in pieces[row]]
    assert lengths.tolist() == [len(pieces[row]) for row in rows]
    texts = RaggedTokens(flat, flat, flat, offsets)
    assert chosen(texts, np.array(rows, np.int32))[0].tolist() == taken.tolist()


# --- tokenizers that do not work word by word


@pytest.fixture(scope="module")
def folder_not_splitting(model_folder: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """`folder(kind)`: a tiny DeBERTa whose tokenizer has pieces that reach over a blank."""

    def folder(kind: str) -> Path:
        made = not_splitting()
        text = VOCABULARY + "".join(f" unused{k}" for k in range(9))  # so that its vocabulary is large enough
        make = {"span": tiny_models.make_span_model, "mask": tiny_models.make_mask_model}[kind]
        path = make(tmp_path_factory.mktemp("not-splitting"), "deberta-v3", text=text)
        made.save(str(path / "tokenizer.json"))
        config = json.loads((path / "tokenizer_config.json").read_text(encoding="utf-8"))
        config["tokenizer_class"] = "PreTrainedTokenizerFast"  # as it is saved: the family's own class would mend it
        (path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
        return path

    return folder


QUERIES = (
    span_query("Who was there?", "Anne from New Zealand met Gerald by the old bridge.", "New Zealand", "Gerald"),
    span_query("Who was by the bridge?", "Gerald met an African-American.", "Gerald", "African-American"),
)


def test_a_tokenizer_that_does_not_split_at_blanks_gets_whole_texts_for_spans(
    folder_not_splitting: Any, answer: Any
) -> None:
    folder = folder_not_splitting("span")
    with pytest.warns(UserWarning, match="needs whole texts"):
        loaded = load_model(f"hf:{folder}", device="cpu")
    plain = SpanReference(folder)
    assert "▁New▁Zealand" in plain.tokenizer.tokenize(QUERIES[0].context)
    scores = answer(loaded, columns_of(QUERIES))["score"]
    assert_close(scores, stacked(plain, QUERIES))


def test_a_tokenizer_that_does_not_split_at_blanks_gets_whole_texts_for_masks(
    folder_not_splitting: Any, answer: Any
) -> None:
    folder = folder_not_splitting("mask")
    with pytest.warns(UserWarning, match="needs whole texts"):
        loaded = load_model(f"hf:{folder}", device="cpu")
    sentences = [f"Nobody from New Zealand was {MASK} by the bridge.", f"{MASK} met Anne-Marie."]
    subjects = np.array([[[0], [1]], [[1], [0]]], np.int32)
    asked = MaskColumns(
        StringColumn.of(["", "Anne met Gerald."]), StringColumn.of(sentences), ["Anne", "Gerald"], subjects
    )
    scores = answer(loaded, asked)["score"]
    assert_close(scores, stacked(MaskReference(folder), [asked.row(0), asked.row(1)]))
    with raises("bad-text", DataError, key=None):
        loaded.encode(
            MaskColumns(StringColumn.of(["[MASK]"]), StringColumn.of([f"{MASK} a"]), ["Anne"], subjects[:1, :1])
        )
    with raises("bad-text", DataError, key="sentence"):
        loaded.encode(
            MaskColumns(StringColumn.of(["a"]), StringColumn.of([f"{MASK} {MASK}"]), ["Anne"], subjects[:1, :1])
        )


def test_whole_texts_are_noticed_to_be_needed_on_the_sample() -> None:
    """This tokenizer splits at blanks, but what it makes of a word depends on the word behind it."""
    encoder = Encoder(changing("an African"), 128, "a model")
    columns = columns_of(QUERIES)
    assert not encoder.whole
    with pytest.warns(UserWarning, match="needs whole texts"):
        tokens = encoder.encode(columns)
    for row in range(2):
        ids = tokens.ids[tokens.offsets[row] : tokens.offsets[row + 1]].tolist()
        pair = columns.row(row)
        assert ids == encoder.tokeniser.tokenizer(pair.question, pair.context)["input_ids"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encoder.encode(columns).ids.tolist() == tokens.ids.tolist()  # said once


def test_masked_texts_are_noticed_to_need_whole_texts_on_the_sample() -> None:
    encoder = Encoder(changing("was there"), 128, "a model")
    subjects = np.zeros((1, 1, 1), np.int32)
    asked = MaskColumns(
        StringColumn.of(["Anne met Gerald."]), StringColumn.of([f"Nobody was there but {MASK}."]), ["Anne"], subjects
    )
    with pytest.warns(UserWarning, match="needs whole texts"):
        tokens = encoder.encode(asked)
    real = encoder.tokeniser.tokenizer(asked.row(0).text.replace(MASK, "<mask>"))["input_ids"]
    assert tokens.ids.tolist() == real
    assert real[int(tokens.marks["mask"][0])] == encoder.tokeniser.tokenizer.mask_token_id


RARE = ("Gerald met   Anne.", "Gerald\tmet Anne. ", "Gerald\u00a0met Anne.", "Gerald met 👩\u200d🚀 Anne.")


@pytest.mark.parametrize("rare", RARE)
@pytest.mark.parametrize("name", [KEEPING_BLANKS, MERGING, RUNS, STRIPPING])
def test_a_rare_text_that_no_sample_meets_is_tokenised_right(name: str, rare: str) -> None:
    """One of two hundred texts; the sample is smaller."""
    encoder = Encoder(wrapped(unusual(name)), 128, "a model")
    contexts = [f"Gerald met Anne {number}." for number in range(200)]
    contexts[77] = rare
    queries = tuple(span_query("Who was there?", context, "Gerald", "Anne") for context in contexts)
    tokens = encoder.encode(columns_of(queries))
    real = encoder.tokeniser.tokenizer("Who was there?", rare)
    assert tokens.ids[tokens.offsets[77] : tokens.offsets[78]].tolist() == real["input_ids"]
    for subject, (start, end) in enumerate(queries[77].subjects):
        assert tokens.marks["start"][77, subject, 0] == real.char_to_token(0, start, 1)
        assert tokens.marks["end"][77, subject, 0] == real.char_to_token(0, end - 1, 1)


@pytest.mark.parametrize("rare", RARE)
def test_a_rare_masked_text_that_no_sample_meets_is_tokenised_right(rare: str) -> None:
    from tokenizers import AddedToken

    made = unusual(KEEPING_BLANKS)
    made.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    encoder = Encoder(wrapped(made), 128, "a model")
    contexts = [f"Gerald met Anne {number}." for number in range(200)]
    contexts[77] = rare
    subjects = np.zeros((200, 1, 1), np.int32)
    asked = MaskColumns(StringColumn.of(contexts), StringColumn.of([f"It was {MASK} there."] * 200), ["Anne"], subjects)
    tokens = encoder.encode(asked)
    real = encoder.tokeniser.tokenizer(asked.row(77).text.replace(MASK, "<mask>"))["input_ids"]
    assert tokens.ids[tokens.offsets[77] : tokens.offsets[78]].tolist() == real
    assert not encoder.whole, "the other blocks are tokenised word by word"


@pytest.mark.parametrize("added", [{"content": "New Zealand"}, {"content": "New", "rstrip": True}])
def test_an_added_token_that_reaches_over_a_blank_needs_whole_texts(added: dict[str, Any]) -> None:
    from tokenizers import AddedToken

    made = tiny_models._word_piece("bert", VOCABULARY)
    assert Tokeniser(wrapped(made)).splits_at_blanks
    made.add_tokens([AddedToken(**added)])
    assert not Tokeniser(wrapped(made)).splits_at_blanks


def test_a_pair_that_is_not_tokenised_text_by_text_is_refused() -> None:
    from tokenizers.processors import TemplateProcessing

    encoder = Encoder(wrapped(tiny_models._word_piece("bert", VOCABULARY)), 128, "a model")
    backend = encoder.tokeniser.tokenizer.backend_tokenizer
    backend.post_processor = TemplateProcessing(single="$A", pair="$B $A")
    with raises("bad-tokenizer", ModelError, key=None):
        encoder.encode(columns_of(QUERIES))


@pytest.fixture(autouse=True)
def _quiet() -> None:
    """The tiny models are saved while tests run; what transformers says about that is of no interest."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
