"""Folding equals projecting: for every family of encoders and every head, the plain model answers as the hooked one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.errors import ModelError
from assay.lab.debiasing.projection import find_folding_layers, fold
from assay.lab.debiasing.vectors import head_inputs
from assay.models import find_model
from assay.models.base import Options
from assay.models.hf import load_tokenizer, load_weights
from raising import raises

ModelFolder = Callable[..., Path]

ENCODER = {
    "bert": "bert.encoder",
    "roberta": "roberta.encoder",
    "distilbert": "distilbert.transformer",
    "electra": "electra.encoder",
    "albert": "albert.encoder",
    "deberta-v3": "deberta.encoder.layer.1",  # the encoder gives it twice, and what a hook on it changes is not read
}
"""What gives the last hidden state, before any head reads it."""

READERS = {
    ("bert", "choice"): "bert.pooler.dense",
    ("bert", "span"): "qa_outputs",
    ("bert", "mask"): "cls.predictions.transform.dense",
    ("roberta", "choice"): "roberta.pooler.dense",
    ("roberta", "span"): "qa_outputs",
    ("roberta", "mask"): "lm_head.dense",
    ("distilbert", "choice"): "pre_classifier",
    ("distilbert", "span"): "qa_outputs",
    ("distilbert", "mask"): "vocab_transform",
    ("electra", "choice"): "sequence_summary.summary",
    ("electra", "span"): "qa_outputs",
    ("electra", "mask"): "generator_predictions.dense",
    ("albert", "choice"): "albert.pooler",
    ("albert", "span"): "qa_outputs",
    ("albert", "mask"): "predictions.dense",
    ("deberta-v3", "choice"): "pooler.dense",
    ("deberta-v3", "span"): "qa_outputs",
    ("deberta-v3", "mask"): "cls.predictions.transform.dense",
}


def projection(width: int, removed: int = 5, seed: int = 0) -> NDArray[np.float64]:
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(width, removed)))[0]
    return np.eye(width) - basis @ basis.T


@contextmanager
def hooked(model: Any, name: str, matrix: NDArray[np.float64]) -> Iterator[None]:
    """A hook as the published programs have one, on a module that we name, written without anything of assay."""
    import torch

    def project(module: Any, args: Any, output: Any) -> Any:
        states = output if torch.is_tensor(output) else output[0]
        first = states @ torch.tensor(matrix, dtype=states.dtype)  # symmetric, so it may stand behind
        if torch.is_tensor(output):
            return first
        if isinstance(output, tuple):
            return (first, *output[1:])
        output.last_hidden_state = first
        return output

    handle = model.get_submodule(name).register_forward_hook(project)
    try:
        yield
    finally:
        handle.remove()


def answers(model: Any, inputs: Any) -> Any:
    """All logits of a model, side by side."""
    import torch

    with torch.inference_mode():
        output = model(**inputs)
    return torch.cat([output[name].reshape(-1) for name in output if name.endswith("logits")])


def loaded(folder: Path) -> tuple[Any, Any, dict[str, Any]]:
    spec = find_model(f"hf:{folder}", Options(device="cpu"))
    model, tokenizer = load_weights(spec), load_tokenizer(spec)
    return model, tokenizer, head_inputs(tokenizer, "cpu", options="choice" in spec.abilities)


@pytest.mark.parametrize(("family", "kind"), READERS)
def test_folding_equals_projecting(family: str, kind: str, model_folder: ModelFolder, tmp_path: Path) -> None:
    import torch

    model, tokenizer, inputs = loaded(model_folder(kind, family))
    matrix = projection(model.config.hidden_size)
    before = answers(model, inputs)
    with hooked(model, ENCODER[family], matrix):
        expected = answers(model, inputs)
    assert (expected - before).abs().max() > 1e-3  # there is something to be equal to

    weights = {name: values.clone() for name, values in model.state_dict().items()}
    places = find_folding_layers(model, inputs)
    assert places == (ENCODER[family], [READERS[family, kind]])
    fold(model, matrix, *places, inputs)
    assert torch.allclose(answers(model, inputs), expected, rtol=1e-5, atol=1e-5)

    changed = {name for name, values in model.state_dict().items() if not torch.equal(values, weights[name])}
    assert changed == {f"{READERS[family, kind]}.weight"}  # no embedding, no decoder, no bias

    model.save_pretrained(tmp_path)  # any program that loads it gets the same answers, on other texts as well
    tokenizer.save_pretrained(tmp_path)
    again = load_weights(find_model(f"hf:{tmp_path}", Options(device="cpu")))
    assert torch.equal(answers(again, inputs), answers(model, inputs))
    generator = torch.Generator().manual_seed(1)
    others = torch.randint(5, 60, tuple(inputs["input_ids"].shape), generator=generator)
    original = load_weights(find_model(f"hf:{model_folder(kind, family)}", Options(device="cpu")))
    other = {"input_ids": others, "attention_mask": torch.ones_like(others)}
    with hooked(original, ENCODER[family], matrix):
        expected = answers(original, other)
    assert torch.allclose(answers(again, other), expected, rtol=1e-5, atol=1e-5)


def test_a_hook_on_the_whole_bert_comes_too_late(model_folder: ModelFolder) -> None:
    """Why the hook's place matters: the pooler is a part of BertModel and has read the hidden states by then."""
    import torch

    model, _, inputs = loaded(model_folder("choice", "bert"))
    before = answers(model, inputs)
    with hooked(model, "bert", projection(model.config.hidden_size)):
        assert torch.equal(answers(model, inputs), before)


def test_folding_twice_is_folding_once(model_folder: ModelFolder) -> None:
    """Since P P = P; the second time finds nothing to change, and says so."""
    model, _, inputs = loaded(model_folder("span", "bert"))
    matrix, places = projection(model.config.hidden_size), find_folding_layers(model, inputs)
    first = fold(model, matrix, *places, inputs)
    assert first["qa_outputs"] > 0.1
    with raises("bad-model", ModelError, key="qa_outputs"):
        fold(model, matrix, *places, inputs)


def test_weights_that_do_not_change_are_an_error(model_folder: ModelFolder) -> None:
    model, _, inputs = loaded(model_folder("mask", "roberta"))
    with raises("bad-model", ModelError, key="lm_head.dense"):
        fold(model, np.eye(model.config.hidden_size), *find_folding_layers(model, inputs), inputs)


# --- heads that cannot be folded into


def test_a_head_without_a_linear_layer_in_front_is_refused_by_the_name_of_its_class(model_folder: ModelFolder) -> None:
    import torch

    model, _, inputs = loaded(model_folder("span", "bert"))
    model.qa_outputs = torch.nn.Sequential(torch.nn.LayerNorm(model.config.hidden_size), model.qa_outputs)
    with pytest.raises(ModelError, match="BertForQuestionAnswering: no linear layer reads its last hidden state") as no:
        find_folding_layers(model, inputs)
    assert "choose another model" in no.value.remedy


def test_a_head_that_reads_the_hidden_state_elsewhere_too_is_refused(model_folder: ModelFolder) -> None:
    import torch

    class Both(torch.nn.Module):
        def __init__(self, linear: Any) -> None:
            super().__init__()
            self.linear = linear

        def forward(self, states: Any) -> Any:
            return self.linear(states) + 5 * states[..., :2] ** 2

    model, _, inputs = loaded(model_folder("span", "bert"))
    model.qa_outputs = Both(model.qa_outputs)
    places = find_folding_layers(model, inputs)
    assert places[1] == ["qa_outputs.linear"]
    with pytest.raises(ModelError, match=r"BertForQuestionAnswering: with the projection in qa_outputs\.linear"):
        fold(model, projection(model.config.hidden_size), *places, inputs)


def test_a_layer_that_shares_its_weights_with_the_embeddings_is_refused(model_folder: ModelFolder) -> None:
    import torch

    model, _, inputs = loaded(model_folder("mask", "bert"))
    model.cls.predictions.transform = torch.nn.Identity()
    with pytest.raises(
        ModelError, match=r"BertForMaskedLM: cls\.predictions\.decoder, .* shares its weights with bert"
    ):
        find_folding_layers(model, inputs)


def test_a_decoder_is_refused(tmp_path: Path) -> None:
    import torch
    import transformers

    sizes = {f"{part}_{what}": 2 for part in ("encoder", "decoder") for what in ("layers", "attention_heads")}
    config = transformers.BartConfig(vocab_size=64, d_model=16, max_position_embeddings=64, **sizes)
    model = transformers.BartForQuestionAnswering(config).eval()
    ids = torch.arange(5, 25).view(2, 10)
    with pytest.raises(ModelError, match="BartForQuestionAnswering: it has no encoder with one last hidden state"):
        find_folding_layers(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})


def test_a_model_that_does_not_run_is_refused(model_folder: ModelFolder) -> None:
    model, _, inputs = loaded(model_folder("choice", "bert"))
    with pytest.raises(ModelError, match="BertForMultipleChoice: it cannot be run on two short texts"):
        find_folding_layers(model, {**inputs, "input_ids": inputs["input_ids"] + 10**6})
