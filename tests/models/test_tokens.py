"""What tokens stand for, one by one: their text, and whether that text is a word of its own in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.asking.queries import MASK, FillColumns, StringColumn, TokenColumns
from assay.errors import UsageError
from assay.models import find_model, load_model
from assay.models.builtin import FOLDER
from raising import raises
from tiny_models import FAMILIES

Models = Callable[..., Any]


def asked(*tokens: int) -> TokenColumns:
    return TokenColumns(np.array(tokens, np.int32))


def texts(answers: dict[str, Any]) -> list[str]:
    return [text.decode() for text in answers["text"].tolist()]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_token_of_a_masked_model_is_told_as_its_own_tokenizer_has_it(
    family: str, model: Models, model_folder: Callable[..., Path], answer: Models
) -> None:
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(model_folder("mask", family))
    answers = answer(model("mask", family), asked(*range(len(tokenizer))))
    special = {*tokenizer.all_special_ids}
    before = tokenizer("was", add_special_tokens=False)["input_ids"]
    whole = []
    for token, text in enumerate(texts(answers)):
        expected = "" if token in special else tokenizer.decode([token]).strip()
        assert text == expected.rstrip("\0"), token  # arrays of bytes end before a NUL
        alone = tokenizer(f"was {text}", add_special_tokens=False)["input_ids"]
        whole.append(bool(text) and alone == [*before, token])
    assert answers["whole"].tolist() == whole
    assert len(special) >= 5
    assert sum(whole) > 100
    assert sum(whole) < len(whole) - len(special), "some tokens are pieces"


@pytest.mark.parametrize(
    ("family", "word", "piece"),
    [("bert", "bridge", "##e"), ("roberta", "Ġbridge", "bridge"), ("albert", "▁bridge", "bridge")],
)
def test_a_word_is_whole_and_a_piece_is_not_even_if_it_looks_like_one(
    family: str, word: str, piece: str, model: Models, model_folder: Callable[..., Path], answer: Models
) -> None:
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(model_folder("mask", family))
    tokens = tokenizer.convert_tokens_to_ids([word, piece])
    answers = answer(model("mask", family), asked(*tokens))
    assert texts(answers)[0] == "bridge"
    assert answers["whole"].tolist() == [1, 0]


def test_the_tokens_that_fill_a_mask_can_be_asked_about(model: Models, answer: Models) -> None:
    filled = answer(model("mask", "bert"), FillColumns(StringColumn.of([""]), StringColumn.of([f"It was {MASK}."]), 7))
    assert len(texts(answer(model("mask", "bert"), asked(*filled["token"][0].tolist())))) == 7


def test_the_built_in_model_tells_its_tokens(answer: Models) -> None:
    from tokenizers import Tokenizer

    built_in = load_model("builtin", threads=1)
    numbers = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "[MASK]": 103}
    answers = answer(built_in, asked(*numbers.values()))
    assert texts(answers) == [""] * 5
    assert answers["whole"].tolist() == [0] * 5
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    answers = answer(built_in, asked(*map(tokenizer.token_to_id, ("happy", ",", "##ing"))))
    assert texts(answers)[:2] == ["happy", ","]
    assert answers["whole"].tolist() == [1, 1, 0]
    assert "token" in find_model("builtin").abilities


def test_models_that_fill_nothing_need_not_tell_tokens(model_folder: Callable[..., Path], model: Models) -> None:
    assert "token" in find_model(f"hf:{model_folder('mask', 'bert')}").abilities
    assert "token" not in find_model(f"hf:{model_folder('causal', 'gpt2')}").abilities
    with raises("missing-ability", UsageError, key="token"):
        model("causal", "gpt2").encode(asked(5))
