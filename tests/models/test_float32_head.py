"""Whatever the number type, scores come from a last layer that computes in float32: bfloat16 would make options tie."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.asking.queries import (
    MASK,
    ChoiceColumns,
    ChoiceQuery,
    FillColumns,
    Scoring,
    SpanColumns,
    StringColumn,
    TextColumns,
)
from assay.engine.executor import EngineSettings, block_key
from assay.models import find_model, hf, load_model
from assay.models.base import Options
from reference_scores import CausalReference
from tiny_models import CAUSAL_FAMILIES, FAMILIES, TEXT_FAMILIES, with_network

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

Models = Callable[..., Any]

WORDS = (
    *("Gerald", "Jennifer", "She", "he", "met", "by", "the", "old", "bridge", "Who", "was", "there", "Nobody", "can"),
    *("say", "it", "never", "an", "and"),
)
CONTEXT, WHO = "Gerald met Jennifer by the old bridge.", "Who was there?"
LETTERS = ChoiceQuery(CONTEXT, WHO, WORDS)
LONGER = (
    ChoiceQuery(CONTEXT, WHO, ("Gerald", "Jennifer Quincy", "Nobody can say")),
    ChoiceQuery("", WHO, ("he", "a b c", "")),
)

_SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
_SIZES |= {"num_key_value_heads": 2, "initializer_range": 0.3, "max_position_embeddings": 128}
OTHERS: dict[str, dict[str, Any]] = {  # what architectures do behind their last layer, or with it
    "gemma2": {"final_logit_softcapping": 5.0, "head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 64},
    "granite": {"logits_scaling": 4.0},
    "cohere": {"logit_scale": 0.25},
    "phi": {},  # a bias
    "llama": {"tie_word_embeddings": True},
}


def columns(*queries: ChoiceQuery) -> ChoiceColumns:
    return ChoiceColumns.of(queries, Scoring(chat=False))


def other(kind: str, folder: Path, tmp_path: Path) -> Path:
    def network(tokens: int) -> Any:
        special = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
        config = transformers.AutoConfig.for_model(kind, vocab_size=tokens, **special, **_SIZES, **OTHERS[kind])
        made = transformers.AutoModelForCausalLM.from_config(config)
        if made.lm_head.bias is not None:
            torch.nn.init.normal_(made.lm_head.bias, std=3.0)
        return made

    return with_network(folder, tmp_path, network)


def last_scores(folder: Path, *, head: Any = None) -> NDArray[np.float64]:
    """The log probabilities of WORDS in bfloat16 as plain transformers has them; `head` is its last layer's type."""
    reference = CausalReference(folder)
    network = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()
    if head is not None:
        layer = copy.deepcopy(network.get_output_embeddings()).to(head)
        layer.register_forward_pre_hook(lambda module, args: (args[0].to(head),))
        network.set_output_embeddings(layer)
    sequences, shared = reference.sequences(LETTERS)
    assert {len(ids) for ids in sequences} == {shared + 1}, "options of one token"
    with torch.no_grad():
        logits = network(torch.tensor([sequences[0][:-1]]), use_cache=False).logits[0, -1]
    logs = logits.double().log_softmax(-1)
    return np.array([float(logs[ids[-1]]) for ids in sequences])


def assert_exact(folder: Path, answer: Models) -> None:
    loaded = load_model(f"hf:{folder}", device="cpu", dtype="bfloat16")
    scores = answer(loaded, columns(LETTERS))["score"][0]
    np.testing.assert_allclose(scores, last_scores(folder, head=torch.float32), rtol=2e-6, atol=2e-5)
    assert len({*scores.tolist()}) == len(WORDS), "no two words have one score"
    exact = answer(load_model(f"hf:{folder}", device="cpu"), columns(*LONGER))["score"]
    np.testing.assert_allclose(answer(loaded, columns(*LONGER))["score"], exact, rtol=0.08, atol=0.3)


@pytest.mark.parametrize("family", CAUSAL_FAMILIES)
def test_options_are_scored_in_float32(family: str, model_folder: Models, answer: Models) -> None:
    assert_exact(model_folder("causal", family), answer)


@pytest.mark.parametrize("kind", OTHERS)
def test_what_an_architecture_does_to_its_logits_is_done(
    kind: str, tmp_path: Path, model_folder: Models, answer: Models
) -> None:
    folder = other(kind, model_folder("causal", "gpt2"), tmp_path)
    assert_exact(folder, answer)
    network = transformers.AutoModelForCausalLM.from_pretrained(folder)
    if kind == "phi":
        assert network.lm_head.bias.abs().max() > 1
    elif kind == "llama":
        assert network.lm_head.weight is network.model.embed_tokens.weight
    else:
        name, value = next(iter(OTHERS[kind].items()))
        assert getattr(network.config, name) == value


def test_plain_bfloat16_would_tie(model_folder: Models) -> None:
    """Otherwise the tests above would show nothing."""
    ties = {family: len(WORDS) - len({*last_scores(model_folder("causal", family))}) for family in CAUSAL_FAMILIES}
    assert sum(ties.values()) > 0, ties


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("copied", [1, 7, 60, 10**6])
def test_a_layer_is_computed_some_rows_at_a_time(copied: int, bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf, "_COPIED", copied)
    layer = torch.nn.Linear(6, 23, bias=bias).bfloat16()
    hidden = torch.randn(2, 3, 6).bfloat16()
    found = hf.linear_in_float32(layer, hidden)
    expected = copy.deepcopy(layer).double()(hidden.double())
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-6, atol=1e-6)


# --- encoders


def wide(values: Any) -> int:
    """In how many of some numbers bfloat16 would have lost digits."""
    return int((torch.tensor(values).bfloat16().float() != torch.tensor(values)).sum())


@pytest.mark.parametrize("family", FAMILIES)
def test_the_options_of_an_encoder_are_scored_in_float32(family: str, model_folder: Models, answer: Models) -> None:
    loaded = load_model(f"hf:{model_folder('choice', family)}", device="cpu", dtype="bfloat16")
    scores = answer(loaded, columns(*LONGER))["score"]
    assert wide(scores) > scores.size // 2
    exact = load_model(f"hf:{model_folder('choice', family)}", device="cpu")
    expected = answer(exact, columns(*LONGER))["score"]
    np.testing.assert_allclose(scores, expected, atol=0.1 * float(np.abs(expected).max()))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["span", "mask"])
def test_the_last_layer_of_an_encoder_gives_float32(kind: str, family: str, model_folder: Models) -> None:
    loaded: Any = load_model(f"hf:{model_folder(kind, family)}", device="cpu", dtype="bfloat16")
    seen: list[Any] = []
    loaded._head.register_forward_hook(lambda module, args, output: seen.append(output))
    if kind == "span":
        place = np.array([[[0], [11]]], np.int32)
        asked: Any = SpanColumns(StringColumn.of([WHO]), StringColumn.of(["Gerald met Jennifer."]), place, place + 6)
    else:
        asked = FillColumns(StringColumn.of(["Gerald met Jennifer."]), StringColumn.of([f"{MASK} was there."]))
    expected = load_model(f"hf:{model_folder(kind, family)}", device="cpu")
    found = [each.forward(each.encode(asked)) for each in (loaded, expected)]  # type: ignore[attr-defined]
    assert [each.dtype for each in seen] == [torch.float32]
    assert wide(seen[0].tolist()) > seen[0].numel() // 2
    assert loaded._head.forward.__func__ is torch.nn.Linear.forward, "the layer is left as it was"
    name = "score" if kind == "span" else "probability"
    np.testing.assert_allclose(found[0][name], found[1][name], rtol=0.5, atol=0.1)


# --- where it does not apply


def test_a_float32_model_is_left_alone(model_folder: Models) -> None:
    loaded: Any = load_model(f"hf:{model_folder('causal', 'llama')}", device="cpu")
    assert loaded._head is None
    assert loaded.spec.head_dtype == ""


@pytest.mark.parametrize(("kind", "family"), [("text", TEXT_FAMILIES[0]), ("causal", "gpt2")])
def test_what_a_model_writes_is_its_own(kind: str, family: str, model_folder: Models) -> None:
    """The last layer is computed for every token that is written, and no scores are compared."""
    folder = model_folder(kind, family)
    loaded: Any = load_model(f"hf:{folder}", device="cpu", dtype="bfloat16")
    seen: list[Any] = []
    loaded._model.get_output_embeddings().register_forward_hook(lambda module, args, output: seen.append(output.dtype))
    loaded.forward(loaded.encode(TextColumns(StringColumn.of(["Who was there?"]), 4, Scoring(chat=False))))
    assert {*seen} == {torch.bfloat16}


def test_an_architecture_that_does_not_call_its_last_layer_is_warned_about(
    tmp_path: Path, model_folder: Models
) -> None:
    """MobileBERT multiplies with the layer's weights and some more."""
    folder = tmp_path / "mobilebert"
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_folder("mask", "bert"))
    tokenizer.save_pretrained(folder)
    sizes = {"embedding_size": 16, "intra_bottleneck_size": 16, "num_feedforward_networks": 1}
    sizes |= {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.MobileBertConfig(vocab_size=len(tokenizer), **sizes)
    transformers.MobileBertForMaskedLM(config).save_pretrained(folder)
    with pytest.warns(UserWarning, match="as coarse as bfloat16"):
        loaded: Any = load_model(f"hf:{folder}", device="cpu", dtype="bfloat16")
    asked = FillColumns(StringColumn.of(["Gerald met Jennifer."]), StringColumn.of([f"{MASK} was there."]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        loaded.forward(loaded.encode(asked))


# --- answers that were stored before


def test_only_answers_of_other_number_types_are_asked_again(model_folder: Models) -> None:
    """A run that was made before says nothing of the last layer's type, and finds its answers."""

    class Plan:
        digest = "plan"

    def key(spec: Any) -> str:
        return block_key(spec, Plan(), EngineSettings())  # type: ignore[arg-type]  # all that is read of a plan

    name = f"hf:{model_folder('causal', 'gpt2')}"
    exact, rough = (find_model(name, Options(device="cpu", dtype=dtype)) for dtype in ("float32", "bfloat16"))
    assert (exact.head_dtype, rough.head_dtype) == ("", "float32")
    assert key(rough) != key(replace(rough, head_dtype=""))
    assert find_model(f"hf:{model_folder('text', 't5')}", Options(device="cpu", dtype="bfloat16")).head_dtype == ""
