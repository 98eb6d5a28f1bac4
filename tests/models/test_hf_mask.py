"""Masked scores are probabilities over the whole vocabulary at the mask, as plain transformers has them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.asking.queries import (
    MASK,
    NONE,
    FillColumns,
    MaskColumns,
    MaskQuery,
    Scoring,
    SpanColumns,
    StringColumn,
    WordColumns,
)
from assay.errors import DataError, ModelError, UsageError
from assay.models import load_model
from raising import raises
from reference_scores import assert_close, stacked
from tiny_models import FAMILIES

Models = Callable[..., Any]

CONTEXT = "John met Mary by the old bridge."
NAMES = ("Mary", "John")

TEXTS = {  # context, sentence
    "begins the sentence": (CONTEXT, f"{MASK} was an old man."),
    "inside the sentence": (CONTEXT, f"The old man was {MASK} there."),
    "ends the sentence": (CONTEXT, f"Nobody can say it was {MASK}."),
    "all of the sentence": (CONTEXT, MASK),
    "no context": ("", f"The old man was {MASK} there."),
    "no context, begins the text": ("", f"{MASK} was an old man."),
    "behind a quotation mark": (CONTEXT, f'He said "{MASK}" there.'),
    "a hyphen before it": (CONTEXT, f"Anne-{MASK} was there."),
    "accents and emoji": ("José met Zoë 😀 there.", f"Şule was {MASK}, 日本."),
    "double blanks": ("(CNN) --  John met Mary.", f"The old man  was  {MASK}  there."),
    "odd blanks": (" John\tmet  Mary.  ", f" {MASK}\nwas there "),
}


def columns(*texts: tuple[str, str], names: Sequence[str] = NAMES, scoring: Scoring | None = None) -> MaskColumns:
    """Every name is a subject of every text."""
    subjects = np.tile(np.arange(len(names), dtype=np.int32)[None, :, None], (len(texts), 1, 1))
    context, sentence = zip(*texts, strict=True)
    return MaskColumns(StringColumn.of(context), StringColumn.of(sentence), names, subjects, scoring or Scoring())


def fill(*texts: tuple[str, str], top: int) -> FillColumns:
    context, sentence = zip(*texts, strict=True)
    return FillColumns(StringColumn.of(context), StringColumn.of(sentence), top)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", TEXTS)
def test_scores_are_those_of_plain_transformers(
    case: str, family: str, model: Models, reference: Models, answer: Models
) -> None:
    asked = columns(TEXTS[case])
    scores = answer(model("mask", family), asked)["score"]
    assert_close(scores, stacked(reference("mask", family), [asked.row(0)]))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_tiny_models_tell_words_apart(family: str, reference: Models) -> None:
    """Otherwise an equality of scores would show nothing."""
    scores = stacked(reference("mask", family), [columns(text).row(0) for text in list(TEXTS.values())[:5]])
    assert np.median(np.abs(np.log(scores[:, 0] / scores[:, 1]))) > 0.2


@pytest.mark.parametrize("family", FAMILIES)
def test_neither_padding_nor_the_batch_changes_a_score(family: str, model: Models, answer: Models) -> None:
    loaded, texts = model("mask", family), list(TEXTS.values())
    alone = [answer(loaded, columns(text))["score"][0] for text in texts]
    for budget in (1, 60, 100_000):
        together = answer(loaded, columns(*texts), budget=budget)["score"]
        assert_close(together, alone)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_head_at_the_mask_alone_gives_what_the_full_head_gives(family: str, model: Models) -> None:
    loaded = model("mask", family)
    assert loaded._mask_only, "the short way is not taken, so that this test would show nothing"
    tokens = loaded.encode(columns(*TEXTS.values()))
    short, full = (loaded._mask_logits(tokens, mask_only=short).detach() for short in (True, False))
    assert short.shape == full.shape
    np.testing.assert_allclose(short, full, atol=1e-5, rtol=1e-5)


def test_a_head_that_needs_all_positions_is_computed_in_full(
    model: Models, answer: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short way is tried when a model is loaded, and taken only where it gives the same."""
    loaded = model("mask", "bert")
    expected = answer(loaded, columns(*TEXTS.values()))["score"]
    honest = loaded._mask_logits
    monkeypatch.setattr(loaded, "_mask_logits", lambda tokens, mask_only: honest(tokens, mask_only) + 0.1 * mask_only)
    assert not loaded._heads_agree()
    monkeypatch.setattr(loaded, "_mask_only", loaded._heads_agree())
    assert_close(answer(loaded, columns(*TEXTS.values()))["score"], expected)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_candidate_is_the_token_that_the_word_has_in_place(family: str, model: Models, reference: Models) -> None:
    """Behind a blank, behind a quotation mark and at the start of a text a word may be different tokens."""
    texts, plain = [TEXTS["inside the sentence"], TEXTS["behind a quotation mark"], ("", f"{MASK} was there.")], []
    for context, sentence in texts:
        text = f"{context} {sentence}".strip()
        plain.append([reference("mask", family).token_in_place(text, name) for name in NAMES])
    assert model("mask", family).encode(columns(*texts)).marks["candidates"][:, :, 0].tolist() == plain
    assert (plain[0] != plain[1]) == (family in ("roberta", "albert", "deberta-v3"))
    assert (plain[0] != plain[2]) == (family == "roberta")


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_the_likeliest_alternative_of_a_subject_counts(
    family: str, model: Models, reference: Models, answer: Models
) -> None:
    words = ["Mary", "John", "She", "she", "He", "Xanthippe"]
    asked = columns(TEXTS["begins the sentence"], TEXTS["inside the sentence"], TEXTS["double blanks"])
    alternatives = np.array([[[0, 2, 3, 5], [1, 4, NONE, NONE]]] * len(asked), np.int32)  # a name of many tokens: none
    scores = answer(model("mask", family), replace(asked, words=words, subjects=alternatives))["score"]
    for row, text in enumerate(asked.row(row).text for row in range(len(asked))):
        one = reference("mask", family).scores(MaskQuery(text, ("Mary", "She", "she"))).max()
        other = reference("mask", family).scores(MaskQuery(text, ("John", "He"))).max()
        assert_close(scores[row], [one, other])


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_only_the_likeliest_tokens_keep_their_probability_when_asked_so(
    family: str, model: Models, reference: Models, answer: Models
) -> None:
    loaded, plain = model("mask", family), reference("mask", family)
    text = TEXTS["inside the sentence"]
    probabilities = plain.probabilities(f"{text[0]} {text[1]}")
    names = ["Mary", "John", "Anne", "Gerald", "Jennifer", "Linda", "James", "David"]
    tokens = [plain.token_in_place(f"{text[0]} {text[1]}", name) for name in names]
    ranks = [(probabilities > probabilities[token]).sum() for token in tokens]
    cut = int(np.median(ranks))
    scores = answer(loaded, columns(text, names=names, scoring=Scoring(top=cut)))["score"][0]
    expected = [probabilities[token] if rank < cut else 0 for token, rank in zip(tokens, ranks, strict=True)]
    assert 0 in expected
    assert max(expected) > 0
    assert_close(scores, expected)
    assert np.array_equal(scores == 0, np.array(expected) == 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_filling_gives_the_likeliest_tokens_in_order(
    family: str, model: Models, reference: Models, answer: Models
) -> None:
    loaded, texts = model("mask", family), [TEXTS["begins the sentence"], TEXTS["no context"]]
    filled = answer(loaded, fill(*texts, top=7))
    assert filled["token"].shape == filled["probability"].shape == (2, 7)
    for row, (context, sentence) in enumerate(texts):
        probabilities = reference("mask", family).probabilities(f"{context} {sentence}".strip())
        assert_close(filled["probability"][row], np.sort(probabilities)[::-1][:7])
        assert_close(probabilities[filled["token"][row]], filled["probability"][row])


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "deberta-v3"])
def test_a_mask_that_somebody_wrote_is_text(family: str, model: Models, reference: Models) -> None:
    loaded, tokenizer = model("mask", family), reference("mask", family).tokenizer
    written = tokenizer.mask_token
    texts = [(f"{written} met Mary.", f"{MASK} was {written}."), (CONTEXT, f"{written}{MASK} was there.")]
    tokens = loaded.encode(columns(*texts))
    for row in range(2):
        ids = tokens.ids[tokens.offsets[row] : tokens.offsets[row + 1]].tolist()
        assert ids.count(tokenizer.mask_token_id) == 1
        assert ids.index(tokenizer.mask_token_id) == tokens.marks["mask"][row]
        seen = tokenizer.decode(ids, skip_special_tokens=True).replace(" ", "").lower()
        assert seen.count(written.lower()) == "".join(texts[row]).count(written)


def test_a_mask_that_cannot_be_told_from_text_is_refused(model: Models) -> None:
    """SentencePiece vocabularies with capitals hold "[MASK]" as a piece like any other."""
    with raises("bad-text", DataError, key=None):
        model("mask", "deberta-v3").encode(columns((CONTEXT, f"{MASK} was [MASK].")))


# --- words


def test_words_say_how_many_tokens_they_are_and_which(model: Models, answer: Models) -> None:
    words = ["Mary", "mary", "African-American", "Bartholomew", "\U0001f600"]
    bert = answer(model("mask", "bert"), WordColumns(StringColumn.of(words)))
    assert bert["pieces"][0] == 1
    assert bert["pieces"][2] == 3
    assert bert["pieces"][3] > 1
    assert bert["pieces"][4] == 0, "unknown to this tokenizer"
    assert bert["key"][0] == bert["key"][1], "this tokenizer does not see capitals"
    assert len(set(bert["key"].tolist())) == 4
    roberta = answer(model("mask", "roberta"), WordColumns(StringColumn.of(words)))
    assert len(set(roberta["key"].tolist())) == 5


# --- what cannot be asked


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("word", ["Bartholomew", "African-American", "new man"])
def test_a_word_of_several_tokens_cannot_be_a_candidate(word: str, family: str, model: Models) -> None:
    with raises("bad-text", DataError, key="words", exit_code=3) as refused:
        model("mask", family).encode(columns(TEXTS["begins the sentence"], names=["Mary", word]))
    assert repr(word) in str(refused.value)


def test_an_unknown_word_cannot_be_a_candidate(model: Models) -> None:
    with raises("bad-text", DataError, key="words"):
        model("mask", "bert").encode(columns(TEXTS["begins the sentence"], names=["Mary", "☃"]))


@pytest.mark.parametrize(
    "text",
    [(CONTEXT, "Nobody was there."), (CONTEXT, f"{MASK} was {MASK}."), (f"{MASK} met Mary.", f"{MASK} was there.")],
    ids=["none", "two in the sentence", "one more in the context"],
)
def test_a_text_needs_exactly_one_mask(text: tuple[str, str], model: Models) -> None:
    with raises("bad-text", DataError, key="sentence"):
        model("mask", "bert").encode(columns(TEXTS["no context"], text))


def test_a_text_beyond_the_models_window_is_refused(model: Models) -> None:
    with raises("too-long", DataError, exit_code=3) as refused:
        model("mask", "bert").encode(columns((CONTEXT * 20, f"{MASK} was there.")))
    assert " 128 " in str(refused.value)


def test_a_masked_model_cannot_find_spans(model: Models) -> None:
    places = np.zeros((1, 2, 1), np.int32)
    with raises("missing-ability", UsageError, key="span"):
        model("mask", "bert").encode(SpanColumns(StringColumn.of(["a"]), StringColumn.of(["b"]), places, places + 1))


def test_scores_that_are_no_numbers_are_an_error(tmp_path: Path, model_folder: Callable[..., Path]) -> None:
    from safetensors.torch import load_file, save_file

    folder = Path(shutil.copytree(model_folder("mask", "bert"), tmp_path / "model"))
    weights = load_file(folder / "model.safetensors")
    weights["cls.predictions.bias"][7] = float("inf")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    damaged = load_model(f"hf:{folder}", device="cpu")
    with raises("bad-scores", ModelError):
        damaged.forward(damaged.encode(columns(TEXTS["no context"])))
