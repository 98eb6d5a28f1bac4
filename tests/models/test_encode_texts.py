"""Choice and embed questions, and subjects of all kinds, as tokens: each what the real tokenizer gives."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import tiny_models
from assay.asking.queries import (
    MASK,
    ChoiceColumns,
    ChoiceQuery,
    EmbedColumns,
    FillColumns,
    QueryColumns,
    Scoring,
    StringColumn,
    WordColumns,
)
from assay.asking.tokens import Tokens, option_rows
from assay.errors import DataError, ModelError
from assay.models.encode_columns import Encoder, joined_tokens
from assay.models.tokenise import FastTokenizer, Tokeniser
from raising import raises
from reference_scores import columns_of, span_query
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

Tokenisers = dict[str, Tokeniser]


def choice(*queries: ChoiceQuery, scoring: Scoring | None = None) -> ChoiceColumns:
    return ChoiceColumns.of(queries, scoring)


def embed(*asked: tuple[str, str]) -> EmbedColumns:
    """Texts and the word in each, where it stands first."""
    start = np.array([text.index(word) for text, word in asked], np.int32)
    end = start + np.array([len(word) for _, word in asked], np.int32)
    return EmbedColumns(StringColumn.of(text for text, _ in asked), start, end)


def options_of(tokens: Tokens) -> list[list[int]]:
    """Token ids of all options, row by row."""
    flat = option_rows(tokens)
    return [flat.ids[lo:hi].tolist() for lo, hi in zip(flat.offsets[:-1], flat.offsets[1:], strict=True)]


def expected(tokenizer: FastTokenizer, queries: Sequence[ChoiceQuery]) -> list[list[int]]:
    """The same by the real tokenizer."""
    pairs = [
        (query.context, f"{query.question} {option}" if query.question else option)
        for query in queries
        for option in query.options
    ]
    return [list(tokenizer(*pair if pair[0] else pair[1:])["input_ids"]) for pair in pairs]


# --- choice

MAYBE = st.one_of(st.just(""), texts())
SOME = st.one_of(st.sampled_from(["Anne", "New Zealand"]), texts())


@pytest.mark.parametrize("name", [*FAMILIES, *UNUSUAL])
@quickly(100)
@example(context="a", question="b", options=["", "c"])
@example(context="", question="a b", options=["c", "d e"])
@example(context="", question="", options=[" c", "c"])
@example(context="a", question="", options=[" c", "c"])
@example(context="a", question="b ", options=["c", " c"])
@example(context="a", question="b", options=["\u0301c", "▁c"])
@given(context=MAYBE, question=MAYBE, options=st.lists(SOME, min_size=2, max_size=2))
def test_options_are_tokenised_as_the_real_tokenizer_does(
    name: str, context: str, question: str, options: list[str], tokenisers: Tokenisers
) -> None:
    tokeniser = tokenisers[name]
    queries = [ChoiceQuery(context, question, tuple(options)), ChoiceQuery("Anne met him.", question, tuple(options))]
    queries.append(ChoiceQuery(context, "Who?", tuple(options[::-1])))
    special = any(map(tokeniser.has_special, [context, question, *options]))
    assume(question or all(options))
    try:
        ours = options_of(joined_tokens(tokeniser, choice(*queries), whole=False))
    except DataError:  # a special token was written as text
        assert special
        return
    if not special:
        assert ours == expected(tokeniser.tokenizer, queries)
    assert ours == options_of(joined_tokens(tokeniser, choice(*queries), whole=True))


@pytest.mark.parametrize("context", ["", "Anne met John."])
def test_a_question_and_an_option_without_any_text_are_refused(context: str, tokenisers: Tokenisers) -> None:
    asked = choice(ChoiceQuery("Anne.", "Who?", ("", "Anne")), ChoiceQuery(context, "", ("Anne", "")))
    for whole in (False, True):
        with raises("bad-text", DataError, key="options") as refused:
            joined_tokens(tokenisers["bert"], asked, whole=whole)
        assert repr(asked.row(1)) in str(refused.value)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_second_text_begins_where_the_real_tokenizer_has_it(name: str, tokenisers: Tokenisers) -> None:
    queries = [
        ChoiceQuery("Gerald met Jennifer.", "Who was there?", ("Gerald", "Jennifer Quincy")),
        ChoiceQuery("Gerald.", "", ("Gerald", "Jennifer Quincy")),
        ChoiceQuery("", "Who?", ("Gerald", "Jennifer Quincy")),
    ]
    tokenizer: Any = tokenisers[name].tokenizer
    flat = option_rows(joined_tokens(tokenisers[name], choice(*queries), whole=False))
    for place in range(6):
        query = queries[place // 2]
        second = f"{query.question} {query.options[place % 2]}".strip()
        if query.context:
            encoded = tokenizer(query.context, second)
            assert encoded.sequence_ids(0).index(1) == flat.second[place]
        else:
            assert flat.second[place] == flat.lengths[place] == len(tokenizer(second)["input_ids"])


def test_the_options_of_a_row_stand_one_behind_the_other(tokenisers: Tokenisers) -> None:
    queries = [ChoiceQuery("Anne.", "Who?", ("Anne", "he and she")), ChoiceQuery("", "Who was?", ("Anne-Marie", "it"))]
    tokens = joined_tokens(tokenisers["bert"], choice(*queries), whole=False)
    lengths = [len(ids) for ids in expected(tokenisers["bert"].tokenizer, queries)]
    assert tokens.marks["parts"].tolist() == [[0, lengths[0], sum(lengths[:2])], [0, lengths[2], sum(lengths[2:])]]
    assert tokens.lengths.tolist() == [sum(lengths[:2]), sum(lengths[2:])]
    taken = tokens.take(np.array([1, 1, 0]))
    all_options = options_of(tokens)
    assert options_of(taken) == [*all_options[2:], *all_options[2:], *all_options[:2]]
    assert option_rows(taken).second.tolist() == [*option_rows(tokens).second[[2, 3, 2, 3, 0, 1]].tolist()]


def test_fewer_separators_than_the_tokenizer_has(tokenisers: Tokenisers) -> None:
    query = ChoiceQuery("Anne met John.", "Who?", ("Anne", "John"))
    encoder = Encoder(tokenisers["roberta"].tokenizer, 128, "a model")
    usual, one = (encoder.encode(choice(query, scoring=Scoring(separators=most))) for most in (None, 1))
    for ids, fewer in zip(options_of(usual), options_of(one), strict=True):
        at = ids.index(2)
        assert ids[at : at + 2] == [2, 2]
        assert fewer == [*ids[:at], *ids[at + 1 :]]
    assert (usual.second - one.second).tolist() == [1]


def test_equal_texts_are_tokenised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand rows of three options from ten contexts, five questions and twenty choices."""
    rng = np.random.default_rng(1)
    columns = ChoiceColumns(
        StringColumn([f"Anne met John {k}." for k in range(10)], rng.integers(0, 10, 1000).astype(np.int32)),
        StringColumn([f"Who was there {k}?" for k in range(5)], rng.integers(0, 5, 1000).astype(np.int32)),
        [f"option {k}" for k in range(20)],
        rng.integers(0, 20, (1000, 3)).astype(np.int32),
    )
    tokeniser = Tokeniser(wrapped(tiny_models._word_piece("bert", VOCABULARY)))
    seen: list[str] = []
    encode = tokeniser._encode

    def counted(text: str) -> Any:
        seen.append(text)
        return encode(text)

    monkeypatch.setattr(tokeniser, "_encode", counted)
    by_words = joined_tokens(tokeniser, columns, whole=False)
    assert len(seen) == len(set(seen)) < 60, "words, each once"
    seen.clear()
    whole = joined_tokens(tokeniser, columns, whole=True)
    assert len(seen) == len(set(seen)) <= 10 + 5 * 20, "contexts, and questions with their options, each once"
    assert np.array_equal(by_words.ids, whole.ids)


RARE = ("met   Anne", "met\tAnne ", "\u00a0Anne", "👩\u200d🚀 Anne", "\u0301 Anne")


@pytest.mark.parametrize("rare", RARE)
@pytest.mark.parametrize("name", [KEEPING_BLANKS, MERGING, RUNS, STRIPPING])
@pytest.mark.parametrize("place", ["context", "question", "option"])
def test_a_rare_text_that_no_sample_meets_is_tokenised_right(place: str, name: str, rare: str) -> None:
    encoder = Encoder(wrapped(unusual(name)), 128, "a model")
    queries = [ChoiceQuery(f"Gerald met Anne {k}.", "Who was there?", ("Anne", "Gerald")) for k in range(200)]
    usual = queries[77]
    queries[77] = {
        "context": replace(usual, context=rare),
        "question": replace(usual, question=rare),
        "option": replace(usual, options=("Anne", rare)),
    }[place]
    tokens = encoder.encode(choice(*queries))
    assert options_of(tokens) == expected(encoder.tokeniser.tokenizer, queries)
    assert not encoder.whole, "the other blocks are tokenised word by word"


@pytest.mark.parametrize("made", [wrapped(not_splitting()), changing("an African")], ids=["no blanks", "changing"])
def test_a_tokenizer_that_needs_whole_texts_gets_them(made: Any) -> None:
    """The second one's need shows only where the question's last word meets the option's first."""
    queries = [ChoiceQuery("Anne from New Zealand.", "Who was an", ("African by the bridge", "American"))] * 3
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        encoder = Encoder(made, 128, "a model")
        tokens = [encoder.encode(choice(*queries)) for _ in range(2)]
    assert ["needs whole texts" in str(warning.message) for warning in said] == [True], "once"
    for each in tokens:
        assert options_of(each) == expected(made, queries)


def test_a_pair_that_is_not_tokenised_text_by_text_is_refused() -> None:
    from tokenizers.processors import TemplateProcessing

    encoder = Encoder(wrapped(tiny_models._word_piece("bert", VOCABULARY)), 128, "a model")
    encoder.tokeniser.tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single="$A", pair="$B $A")
    with raises("bad-tokenizer", ModelError, key=None):
        encoder.encode(choice(ChoiceQuery("Anne met John.", "Who?", ("Anne", "John"))))


# --- embed


@pytest.mark.parametrize("name", [*FAMILIES, *UNUSUAL])
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Gerald met Anne by the bridge.", "Anne"),
        ("An African-American met him.", "African-American"),
        ("It was the old bridge.", "old bridge"),
        ('"Anne," he said.', "Anne"),
        ("José met Zoë and 日本.", "Zoë"),
        ("(CNN) --  Gerald   met\tAnne ", "Anne"),
        ("It was said by Bartholomew", "Bartholomew"),
    ],
)
def test_a_words_tokens_are_those_that_touch_it(name: str, text: str, word: str, tokenisers: Tokenisers) -> None:
    encoder = Encoder(tokenisers[name].tokenizer, 128, "a model")
    tokens = encoder.encode(embed(("He and she.", "she"), (text, word)))
    tokenizer: Any = encoder.tokeniser.tokenizer
    encoded = tokenizer(text)
    assert tokens.ids[tokens.offsets[1] : tokens.offsets[2]].tolist() == encoded["input_ids"]
    assert tokens.second.tolist() == tokens.lengths.tolist(), "there is no second text"
    start, end = text.index(word), text.index(word) + len(word)
    ranges = zip(encoded.encodings[0].offsets, encoded.encodings[0].special_tokens_mask, strict=True)
    touching = [
        place for place, ((lo, hi), special) in enumerate(ranges) if not special and max(lo, start) < min(hi, end)
    ]
    assert list(range(tokens.marks["start"][1], tokens.marks["end"][1])) == touching


@pytest.mark.parametrize("place", [(0, 99), (30, 34), (4, 5), (5, 5)], ids=["too long", "behind", "a blank", "empty"])
def test_a_word_that_is_not_in_its_text_is_refused(place: tuple[int, int], tokenisers: Tokenisers) -> None:
    start, end = (np.array([at], np.int32) for at in place)
    encoder = Encoder(tokenisers["bert"].tokenizer, 128, "a model")
    with raises("bad-text", DataError, key="subjects") as refused:
        encoder.encode(EmbedColumns(StringColumn.of(["Anne met John."]), start, end))
    assert "Anne met John." in str(refused.value)


def test_a_text_beyond_the_models_window_is_refused(tokenisers: Tokenisers) -> None:
    encoder = Encoder(tokenisers["bert"].tokenizer, 8, "a model")
    assert len(encoder.encode(embed(("a b c d e f", "f"))).ids) == 8
    with raises("too-long", DataError) as refused:
        encoder.encode(embed(("a b c d e f g", "f")))
    assert " 9" in str(refused.value)


# --- characters that a tokenizer drops or composes

APART = [
    ("Zoe\u0308 met Anne", "Zoe\u0308"),
    ("Zoe\u0308 met Anne", "Anne"),
    ("e\u0301 o\u0308 e\u0301e\u0301, then Anne.", "Anne"),
    ("Jose\u0301, Anne and e\u0301", "Jose\u0301"),
    ("Jose\u0301, Anne and e\u0301", "e\u0301"),
    ("q\u0307\u0323, Anne", "q\u0307\u0323"),
    (unicodedata.normalize("NFD", "가 and 각, he"), unicodedata.normalize("NFD", "각")),
    ("\u200eAnne\u200b, he", "\u200eAnne\u200b"),
    ("👩\u200d🚀 met Anne\ufe0f.", "Anne\ufe0f"),
]


@pytest.mark.parametrize("name", [*FAMILIES, *(name for name in UNUSUAL if name != "prefix blank")])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("text", "subject"), APART)
def test_a_subject_keeps_its_place_where_characters_are_written_apart(
    text: str, subject: str, whole: bool, name: str, tokenisers: Tokenisers
) -> None:
    """Its tokens are all those that hold one of its characters, none else; the last one may be in no token."""
    tokeniser: Any = tokenisers[name]
    query = span_query("Who?", text, subject, subject)
    tokens = joined_tokens(tokeniser, columns_of((query,)), whole=whole)
    start, end = query.subjects[0]
    encoding = tokeniser.tokenizer("Who?", text).encodings[0]
    ranges = zip(encoding.offsets, encoding.sequence_ids, strict=True)
    holding = [at for at, ((lo, hi), of) in enumerate(ranges) if of == 1 and max(lo, start) < min(hi, end)]
    assert (tokens.marks["start"][0, 0, 0], tokens.marks["end"][0, 0, 0]) == (holding[0], holding[-1])
    embedded = joined_tokens(tokeniser, embed((text, subject)), whole=whole)
    first = int(embedded.marks["start"][0])
    assert embedded.ids[first : int(embedded.marks["end"][0])].tolist() == tokens.ids[holding].tolist()


@pytest.mark.parametrize("text", ["Zoë met José é by 각.", "Ñandú, Şule and Zoë"])
def test_a_tokenizer_without_accents_sees_the_same_however_they_are_written(text: str, tokenisers: Tokenisers) -> None:
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    assert len(forms[0]) < len(forms[1])
    seen = []
    for form in forms:
        word = unicodedata.normalize("NFC" if form == forms[0] else "NFD", "Zoë")
        tokens = Encoder(tokenisers["bert"].tokenizer, 128, "a model").encode(embed((form, word)))
        seen.append((tokens.ids.tolist(), tokens.marks["start"].tolist(), tokens.marks["end"].tolist()))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("subject", [(1, 2), (5, 6)], ids=["between letters", "alone"])
def test_a_subject_of_dropped_characters_alone_is_refused(subject: tuple[int, int], tokenisers: Tokenisers) -> None:
    query = replace(span_query("Who?", "a\u200bx, \u200b he", "a", "he"), subjects=(subject, (7, 9)))
    with raises("bad-text", DataError, key="subjects"):
        joined_tokens(tokenisers["bert"], columns_of((query,)), whole=False)


# --- tokenizers that cut and pad, and tokenizers without transformers


class Bare:
    """A tokenizer of the tokenizers library with what FastTokenizer asks for, and nothing else."""

    def __init__(self, made: Any) -> None:
        self.backend_tokenizer = made
        self.all_special_tokens = tiny_models._BERT_LIKE
        self.unk_token_id = made.token_to_id("[UNK]")
        self.mask_token = "[MASK]"

    def __call__(self, text: str, text_pair: str | None = None) -> Mapping[str, Any]:
        return {"input_ids": self.backend_tokenizer.encode(text, text_pair).ids}


LONG = "Anne met " + "the old man and " * 50 + "Gerald."
ASKED: dict[str, QueryColumns] = {
    "span": columns_of((span_query(LONG, LONG, "Anne", "Gerald"), span_query("Who?", "Anne.", "Anne", "Anne"))),
    "fill": FillColumns(StringColumn.of([LONG, "Anne."]), StringColumn.of([f"{MASK} was there.", f"It was {MASK}"])),
    "odd fill": FillColumns(StringColumn.of([LONG + "  "]), StringColumn.of([f"{MASK} was\tthere."])),
    "choice": choice(ChoiceQuery(LONG, LONG, ("Anne", LONG)), ChoiceQuery("", "Who?", ("Anne", "he"))),
    "embed": embed((LONG, "Gerald"), ("Anne", "Anne")),
    "word": WordColumns(StringColumn.of(["Anne", "a-b-c-d-e-f-g-h-i-j"])),
}


@pytest.mark.parametrize("wrap", [wrapped, Bare], ids=["transformers", "bare"])
@pytest.mark.parametrize("ability", ASKED)
def test_nothing_is_cut_or_padded_by_a_tokenizer_that_would(ability: str, wrap: Callable[[Any], Any]) -> None:
    from tokenizers import AddedToken

    def made(*, limited: bool) -> Any:
        tokenizer = tiny_models._word_piece("bert", VOCABULARY)
        tokenizer.add_special_tokens([AddedToken(token, special=True) for token in tiny_models._BERT_LIKE])
        if limited:
            tokenizer.enable_truncation(8)
            tokenizer.enable_padding(length=8)
        return tokenizer

    usual = Encoder(wrapped(made(limited=False)), 1000, "a model").encode(ASKED[ability])
    limited = Encoder(wrap(made(limited=True)), 1000, "a model")
    assert not limited.whole
    first = limited.encode(ASKED[ability])
    limited.tokeniser.tokenizer.backend_tokenizer.enable_truncation(8)  # somebody else did
    limited.tokeniser.tokenizer.backend_tokenizer.enable_padding(length=8)
    limited.tokeniser._text.cache_clear()
    for tokens in (first, limited.encode(ASKED[ability])):
        assert tokens.ids.tolist() == usual.ids.tolist()
        assert tokens.offsets.tolist() == usual.offsets.tolist()
        assert {name: mark.tolist() for name, mark in tokens.marks.items()} == {
            name: mark.tolist() for name, mark in usual.marks.items()
        }
    if ability != "word":
        assert usual.lengths.max() > 128
    assert not limited.whole


@pytest.mark.parametrize("wrap", [wrapped, Bare], ids=["transformers", "bare"])
def test_the_text_of_tokens_is_what_transformers_says(wrap: Callable[[Any], Any]) -> None:
    made = tiny_models._word_piece("bert", VOCABULARY)
    ids = np.arange(made.get_vocab_size(), dtype=np.int32)
    expected = [wrapped(made).decode([token]).strip() for token in ids.tolist()]
    tokeniser = Tokeniser(wrap(made))
    assert [tokeniser.token_text(token) for token in ids.tolist()] == expected
    assert len(set(expected)) > len(ids) // 2
