"""Vectors of words are the last layer's hidden states of plain transformers, for every family and every head."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.asking.queries import EmbedColumns, EmbedQuery, StringColumn
from assay.errors import ModelError, UsageError
from assay.models import find_model, load_model
from assay.models.base import Options
from raising import raises
from tiny_models import FAMILIES

Models = Callable[..., Any]

HEADS = ("span", "mask", "choice")
AUTO = {
    "span": "AutoModelForQuestionAnswering",
    "mask": "AutoModelForMaskedLM",
    "choice": "AutoModelForMultipleChoice",
}
CASES = {  # text, word
    "one token": ("Gerald met Anne by the old bridge.", "Anne"),
    "several tokens": ("There was an African-American by the bridge.", "African-American"),
    "two words": ("It was the old bridge, nobody can say.", "old bridge"),
    "at the start": ("Jennifer was there.", "Jennifer"),
    "at the end": ("Nobody met Gerald", "Gerald"),
    "accents": ("José met Zoë there.", "Zoë"),
    "a possessive": ("It was Gerald's old bridge.", "Gerald"),
    "a long text": ("She met him by the bridge. " * 12 + "Gerald was there.", "Gerald"),
}


def columns(*cases: tuple[str, str]) -> EmbedColumns:
    start = np.array([text.index(word) for text, word in cases], np.int32)
    end = start + np.array([len(word) for _, word in cases], np.int32)
    return EmbedColumns(StringColumn.of(text for text, _ in cases), start, end)


class Reference:
    """A model as plain transformers has it, asked without padding for all hidden states."""

    def __init__(self, folder: Path, head: str) -> None:
        import transformers

        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        self.model: Any = getattr(transformers, AUTO[head]).from_pretrained(folder).eval()
        self.head = head

    def vector(self, query: EmbedQuery) -> tuple[NDArray[np.float64], int]:
        """The word's vector, and of how many tokens it is the mean."""
        import torch

        encoded = self.tokenizer(query.text, return_tensors="pt")
        inputs = dict(encoded)
        if self.head == "choice":
            inputs = {name: values[None] for name, values in inputs.items()}
        with torch.no_grad():
            hidden = self.model(**inputs, output_hidden_states=True).hidden_states[-1][0]
        offsets, (start, end) = encoded.encodings[0].offsets, query.subject
        special = encoded.encodings[0].special_tokens_mask
        own = [place for place, (lo, hi) in enumerate(offsets) if not special[place] and max(lo, start) < min(hi, end)]
        return hidden[own].double().mean(0).numpy(), len(own)


@pytest.fixture(scope="module")
def plain(model_folder: Callable[..., Path]) -> Callable[[str, str], Reference]:
    return cache(lambda head, family: Reference(model_folder(head, family), head))


def assert_close(ours: Any, expected: Any) -> None:
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", HEADS)
def test_a_words_vector_is_the_mean_of_the_last_hidden_states_over_its_tokens(
    head: str, family: str, model: Models, plain: Models, answer: Models
) -> None:
    asked = columns(*CASES.values())
    vectors = answer(model(head, family), asked)["vector"]
    assert (vectors.shape, vectors.dtype) == ((len(asked), 32), np.float32)
    counts = []
    for row in range(len(asked)):
        expected, tokens = plain(head, family).vector(asked.row(row))
        assert_close(vectors[row], expected)
        counts.append(tokens)
    assert 1 in counts
    assert max(counts) > 1


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", HEADS)
def test_neither_padding_nor_the_batch_changes_a_vector(head: str, family: str, model: Models, answer: Models) -> None:
    loaded = model(head, family)
    alone = [answer(loaded, columns(case))["vector"][0] for case in CASES.values()]
    for budget in (1, 100, 100_000):
        assert_close(answer(loaded, columns(*CASES.values()), budget=budget)["vector"], alone)


@pytest.mark.parametrize("head", HEADS)
def test_a_vector_depends_on_the_word_and_on_its_text(head: str, model: Models, answer: Models) -> None:
    """Otherwise equality with transformers would show little."""
    cases = [("Gerald met Anne.", "Gerald"), ("Gerald met Anne.", "Anne"), ("Gerald was there.", "Gerald")]
    first, other, elsewhere = answer(model(head, "bert"), columns(*cases))["vector"]
    assert np.abs(first - other).max() > 0.05
    assert np.abs(first - elsewhere).max() > 0.05


def test_models_that_write_give_no_vectors(model_folder: Models) -> None:
    for kind in ("text", "causal"):
        assert "embed" not in find_model(f"hf:{model_folder(kind)}", Options(device="cpu")).abilities
    writer = load_model(f"hf:{model_folder('causal')}", device="cpu")
    with raises("missing-ability", UsageError, key="embed"):
        writer.encode(columns(CASES["one token"]))


def test_of_an_encoder_and_a_decoder_the_encoder_gives_the_vectors(
    tmp_path: Path, model_folder: Models, answer: Models
) -> None:
    """The decoder reads every token one place later, so that a word's place would be another word's."""
    import torch
    import transformers

    folder = Path(shutil.copytree(model_folder("text", "bart"), tmp_path / "model"))
    config = transformers.AutoConfig.from_pretrained(folder)
    config.architectures = None
    saved: Any = transformers.BartForQuestionAnswering(config).eval()
    saved.save_pretrained(folder)
    asked = columns(CASES["several tokens"], CASES["at the end"])
    vectors = answer(load_model(f"hf:{folder}", device="cpu"), asked)["vector"]
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
    for row in range(2):
        query = asked.row(row)
        encoded = tokenizer(query.text, return_tensors="pt")
        with torch.no_grad():
            hidden = saved.model.encoder(encoded["input_ids"]).last_hidden_state[0]
        first, last = (encoded.char_to_token(0, place) for place in (query.subject[0], query.subject[1] - 1))
        assert_close(vectors[row], hidden[first : last + 1].mean(0).numpy())


def test_a_model_without_a_vector_for_every_token_is_refused(
    model_folder: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: Any = load_model(f"hf:{model_folder('mask', 'bert')}", device="cpu")
    tokens = loaded.encode(columns(CASES["one token"]))
    network = loaded._model.base_model
    whole = network.forward

    def shortened(**inputs: Any) -> Any:
        outputs = whole(**inputs)
        outputs["last_hidden_state"] = outputs["last_hidden_state"][:, ::2]
        return outputs

    monkeypatch.setattr(network, "forward", shortened)
    with raises("missing-ability", ModelError, key="embed"):
        loaded.forward(tokens)


def test_vectors_that_are_no_numbers_are_an_error(tmp_path: Path, model_folder: Models) -> None:
    from safetensors.torch import load_file, save_file

    folder = Path(shutil.copytree(model_folder("span", "bert"), tmp_path / "model"))
    weights = load_file(folder / "model.safetensors")
    weights["bert.encoder.layer.1.output.LayerNorm.bias"][3] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    loaded = load_model(f"hf:{folder}", device="cpu")
    with raises("bad-scores", ModelError):
        loaded.forward(loaded.encode(columns(CASES["one token"])))
