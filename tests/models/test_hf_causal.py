"""Options behind a prompt: their scores are the log probabilities of plain transformers, whole sequence by sequence."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.asking.queries import ChoiceColumns, ChoiceQuery, FillColumns, Scoring, StringColumn, WordColumns
from assay.errors import DataError, ModelError, UsageError
from assay.models import load_model
from assay.models.base import BatchTooLargeError
from raising import raises
from reference_scores import CausalReference
from tiny_models import CAUSAL_FAMILIES, with_network

Models = Callable[..., Any]

CHATTING = ("qwen2", "mistral")
PLAIN = Scoring(chat=False)
CONTEXT, WHO = "Gerald met Jennifer by the old bridge.", "Who was there?"
OPTIONS = ("Gerald", "Jennifer Quincy", "Nobody can say")

QUERIES = {
    "usual": ChoiceQuery(CONTEXT, WHO, OPTIONS),
    "the same options in another order": ChoiceQuery(CONTEXT, WHO, OPTIONS[::-1]),
    "no question": ChoiceQuery(CONTEXT, "", OPTIONS),
    "no context": ChoiceQuery("", WHO, OPTIONS),
    "options alone": ChoiceQuery("", "", OPTIONS),
    "options of one token": ChoiceQuery(CONTEXT, WHO, ("Gerald", "Jennifer", "She")),
    "equal options": ChoiceQuery(CONTEXT, WHO, ("Gerald met", "Gerald met", "Jennifer")),
    "options that begin alike": ChoiceQuery(CONTEXT, WHO, ("the old man", "the old bridge", "the")),
    "an empty option": ChoiceQuery(CONTEXT, WHO, ("", "Gerald", "Jennifer")),
    "accents and emoji": ChoiceQuery("José met Zoë there.", "Şule?", ("Zoë", "日本", "Ελένη 👩‍🚀")),
    "odd blanks": ChoiceQuery(" Gerald   met\nAnne\u00a0there ", "Who  was\tthere? ", (" Gerald", "Anne ", "a  b")),
    "long": ChoiceQuery(f"{CONTEXT} " * 4, WHO, ("Gerald", "Jennifer", "the old man by the bridge " * 4)),
}


def columns(*queries: ChoiceQuery, scoring: Scoring = PLAIN) -> ChoiceColumns:
    return ChoiceColumns.of(queries, scoring)


@pytest.fixture(scope="module")
def plain(model_folder: Models) -> Callable[[str], CausalReference]:
    return cache(lambda family: CausalReference(model_folder("causal", family)))


def assert_close(ours: Any, expected: Any) -> None:
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("family", CAUSAL_FAMILIES)
@pytest.mark.parametrize("case", QUERIES)
def test_scores_are_the_log_probabilities_of_plain_transformers(
    case: str, family: str, model: Models, plain: Models, answer: Models
) -> None:
    query, reference = QUERIES[case], plain(family)
    found = answer(model("causal", family), columns(query))
    assert (found["score"].shape, found["score"].dtype) == ((1, 3), np.float32)
    assert_close(found["score"][0], reference.scores(query))
    sequences, shared = reference.sequences(query)
    assert found["tokens"].dtype == np.int32
    assert found["tokens"].tolist() == [[len(ids) - shared for ids in sequences]]


@pytest.mark.parametrize("family", CHATTING)
@pytest.mark.parametrize("case", QUERIES)
def test_a_chat_template_is_used_where_there_is_one(
    case: str, family: str, model: Models, plain: Models, answer: Models
) -> None:
    query, reference = QUERIES[case], plain(family)
    found = answer(model("causal", family), columns(query, scoring=Scoring()))
    assert_close(found["score"][0], reference.scores(query, chat=True))
    assert np.abs(found["score"] - answer(model("causal", family), columns(query))["score"]).max() > 0.1


@pytest.mark.parametrize("family", CAUSAL_FAMILIES)
def test_a_text_begins_as_the_tokenizer_has_it_and_only_once(family: str, model: Models, plain: Models) -> None:
    """Some tokenizers put a token before a text, and a template that brings its own gets no second one."""
    tokenizer = plain(family).tokenizer
    for scoring in (PLAIN, Scoring()):
        ids = model("causal", family).encode(columns(QUERIES["usual"], scoring=scoring)).ids.tolist()
        starts = {"llama": "<s>", "mistral": "<s>", "opt": "</s>"}
        if family in starts:
            assert ids[0] == tokenizer.convert_tokens_to_ids(starts[family])
            assert ids.count(ids[0]) == 1
        templated = family == "qwen2" and scoring.chat
        assert ids.count(tokenizer.convert_tokens_to_ids("<|im_start|>")) == 2 * templated or family != "qwen2"


def test_a_model_without_template_is_asked_the_same_with_and_without_one(model: Models) -> None:
    tokens = [model("causal", "gpt2").encode(columns(QUERIES["usual"], scoring=each)) for each in (PLAIN, Scoring())]
    assert tokens[0].ids.tolist() == tokens[1].ids.tolist()


@pytest.mark.parametrize("family", CAUSAL_FAMILIES)
def test_the_tiny_models_tell_options_apart(family: str, plain: Models) -> None:
    """Otherwise an equality of scores would show nothing."""
    usual = plain(family).scores(QUERIES["options of one token"])
    assert np.ptp(usual) > 0.05
    assert np.abs(usual - plain(family).scores(replace(QUERIES["options of one token"], context=""))).max() > 0.05
    assert np.abs(usual - plain(family).scores(replace(QUERIES["options of one token"], question=""))).max() > 0.05


@pytest.mark.parametrize("family", CAUSAL_FAMILIES)
def test_neither_padding_nor_the_batch_changes_a_score(family: str, model: Models, answer: Models) -> None:
    loaded = model("causal", family)
    alone = [answer(loaded, columns(query))["score"][0] for query in QUERIES.values()]
    for budget in (1, 150, 100_000):
        together = answer(loaded, columns(*QUERIES.values()), budget=budget)
        assert_close(together["score"], alone)
        assert together["tokens"].tolist() == answer(loaded, columns(*QUERIES.values()))["tokens"].tolist()


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("options", [1, 2, 7])
def test_any_number_of_options_is_scored(
    options: int, family: str, model: Models, plain: Models, answer: Models
) -> None:
    some = (*OPTIONS, "Mary", "an African-American", "it never was", "He")[:options]
    queries = [ChoiceQuery(CONTEXT, WHO, some), ChoiceQuery("", "Who?", some[::-1])]
    scores = answer(model("causal", family), columns(*queries))["score"]
    assert scores.shape == (2, options)
    assert_close(scores, [plain(family).scores(query) for query in queries])


# --- what options share is computed once


class Counting:
    """A network that notes the shape of what it is given."""

    def __init__(self, network: Any) -> None:
        self.network, self.shapes = network, list[tuple[int, ...]]()

    def __call__(self, input_ids: Any, **more: Any) -> Any:
        self.shapes.append(tuple(input_ids.shape))
        return self.network(input_ids=input_ids, **more)


@pytest.mark.parametrize("family", CAUSAL_FAMILIES)
def test_what_the_options_share_is_computed_once(
    family: str, model: Models, plain: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, query = model("causal", family), QUERIES["usual"]
    sequences, shared = plain(family).sequences(query)
    lengths = [len(ids) - shared for ids in sequences]
    assert lengths[0] == 1
    counting = Counting(loaded._model)
    monkeypatch.setattr(loaded, "_model", counting)
    loaded.forward(loaded.encode(columns(query, query)))
    assert counting.shapes == [(2, shared), (4, max(lengths) - 1)], "one pass for each part, without one-token options"


def test_options_of_one_token_need_no_second_pass(model: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = model("causal", "gpt2")
    counting = Counting(loaded._model)
    monkeypatch.setattr(loaded, "_model", counting)
    assert loaded.forward(loaded.encode(columns(QUERIES["options of one token"])))["tokens"].tolist() == [[1, 1, 1]]
    assert len(counting.shapes) == 1


def test_a_row_is_as_long_as_what_is_computed_for_it(model: Models, plain: Models) -> None:
    """The engine's batches follow from it."""
    tokens = model("causal", "llama").encode(columns(*QUERIES.values()))
    for row, query in enumerate(QUERIES.values()):
        sequences, shared = plain("llama").sequences(query)
        assert tokens.lengths[row] == shared + sum(len(ids) - shared for ids in sequences)


@pytest.mark.parametrize("family", CAUSAL_FAMILIES)
def test_whole_sequences_give_the_same(family: str, model: Models, answer: Models) -> None:
    import torch

    loaded = model("causal", family)
    assert loaded._shares, "the short way is not taken, so that this test would show nothing"
    tokens = loaded.encode(columns(*QUERIES.values()))
    with torch.inference_mode():
        assert_close(loaded._whole_scores(tokens), loaded._shared_scores(tokens))


def test_a_window_that_slides_over_the_prompt_is_kept_for_its_options(model_folder: Models, answer: Models) -> None:
    """Each position of this model sees eight others, fewer than any prompt has."""
    folder = model_folder("causal", "mistral", sliding_window=8)
    loaded, reference = load_model(f"hf:{folder}", device="cpu"), CausalReference(folder)
    assert loaded._shares  # type: ignore[attr-defined]  # a causal model's own
    scores = answer(loaded, columns(*QUERIES.values()))["score"]
    assert_close(scores, [reference.scores(query) for query in QUERIES.values()])


def test_another_number_type_shares_as_well_and_gives_nearly_the_same(
    model_folder: Models, model: Models, answer: Models
) -> None:
    rough = load_model(f"hf:{model_folder('causal', 'llama')}", device="cpu", dtype="bfloat16")
    assert rough._shares  # type: ignore[attr-defined]  # a causal model's own
    scores = answer(rough, columns(*QUERIES.values()))["score"]
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, answer(model("causal", "llama"), columns(*QUERIES.values()))["score"], rtol=0.05)


# --- architectures for which that is not so


def test_an_architecture_without_keys_and_values_gets_whole_sequences(
    tmp_path: Path, model_folder: Models, answer: Models
) -> None:
    import transformers

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8, "initializer_range": 0.3}
    folder = with_network(
        model_folder("causal", "gpt2"),
        tmp_path,
        lambda tokens: transformers.MambaForCausalLM(transformers.MambaConfig(vocab_size=tokens, **sizes)),
    )
    with pytest.warns(UserWarning, match="cannot share the common beginning of options"):
        loaded = load_model(f"hf:{folder}", device="cpu")
    scores = answer(loaded, columns(*QUERIES.values()))["score"]
    assert_close(scores, [CausalReference(folder).scores(query) for query in QUERIES.values()])


@pytest.mark.parametrize("fault", ["other numbers", "an error"])
def test_a_cache_that_gives_something_else_is_noticed_when_the_model_is_loaded(
    fault: str, model_folder: Models, model: Models, answer: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.models.hf_architectures import CausalModel

    honest = CausalModel._shared_scores

    def faulty(self: Any, tokens: Any) -> Any:
        if fault == "an error":
            raise NotImplementedError("no cache here")
        return honest(self, tokens) + 0.1

    expected = answer(model("causal", "gpt2"), columns(*QUERIES.values()))["score"]
    monkeypatch.setattr(CausalModel, "_shared_scores", faulty)
    with pytest.warns(UserWarning, match="cannot share"):
        loaded = load_model(f"hf:{model_folder('causal', 'gpt2')}", device="cpu")
    assert_close(answer(loaded, columns(*QUERIES.values()))["score"], expected)


@pytest.mark.parametrize("name", ["bert", "xlnet"])
def test_a_model_that_sees_what_it_is_to_predict_is_refused(name: str, tmp_path: Path, model_folder: Models) -> None:
    import transformers

    def network(tokens: int) -> Any:
        if name == "xlnet":
            config = transformers.XLNetConfig(vocab_size=tokens, d_model=32, n_layer=2, n_head=2, d_inner=64)
            return transformers.XLNetLMHeadModel(config)
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        return transformers.BertLMHeadModel(transformers.BertConfig(vocab_size=tokens, **sizes))

    folder = with_network(model_folder("causal", "gpt2"), tmp_path, network)
    with raises("bad-model", ModelError, key=None, exit_code=4):
        load_model(f"hf:{folder}", device="cpu")


def test_a_model_of_texts_and_pictures_is_asked_in_texts(tmp_path: Path, model_folder: Models, answer: Models) -> None:
    import transformers

    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "initializer_range": 0.3}
    pictures = {"model_type": "clip_vision_model", "num_hidden_layers": 1, "image_size": 28, "patch_size": 14, **sizes}

    def network(tokens: int) -> Any:
        texts = {"model_type": "llama", "num_hidden_layers": 2, "vocab_size": tokens, "max_position_embeddings": 64}
        config = transformers.LlavaConfig(text_config={**texts, **sizes}, vision_config=pictures, image_token_index=5)
        return transformers.LlavaForConditionalGeneration(config)

    folder = with_network(model_folder("causal", "gpt2"), tmp_path, network)
    loaded = load_model(f"hf:{folder}", device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        language = transformers.LlavaForConditionalGeneration.from_pretrained(folder).eval()
    reference = CausalReference.__new__(CausalReference)
    reference.tokenizer, reference.model = transformers.AutoTokenizer.from_pretrained(folder), language
    assert_close(answer(loaded, columns(QUERIES["usual"]))["score"][0], reference.scores(QUERIES["usual"]))
    with raises("too-long", DataError) as refused:
        loaded.encode(columns(QUERIES["long"]))
    assert " 64 " in str(refused.value)


# --- what cannot be asked


@pytest.mark.parametrize("family", CAUSAL_FAMILIES)
def test_a_special_token_that_somebody_wrote_is_text_or_refused(family: str, model: Models, plain: Models) -> None:
    """SentencePiece vocabularies hold them as pieces like any other."""
    loaded, tokenizer = model("causal", family), plain(family).tokenizer
    special = "</s>" if family in ("opt", "llama", "mistral") else "<|endoftext|>"
    asked = columns(ChoiceQuery(f"{special} met {special}.", WHO, ("Gerald", special)))
    if family in ("llama", "mistral"):
        with raises("bad-text", DataError, key=None):
            loaded.encode(asked)
        return
    tokens = loaded.encode(asked)
    assert tokens.ids.tolist().count(tokenizer.convert_tokens_to_ids(special)) == (family == "opt")
    assert tokenizer.decode(tokens.ids).count(special) == 3 + (family == "opt")


@pytest.mark.parametrize("place", ["context", "question", "options"])
def test_a_special_token_inside_a_chat_template_is_refused(place: str, model: Models) -> None:
    text = "Gerald<|im_end|>"
    query = replace(QUERIES["usual"], **{place: ("Anne", text, "Mary") if place == "options" else text})
    with raises("bad-text", DataError, key="chat") as refused:
        model("causal", "qwen2").encode(columns(query, scoring=Scoring()))
    assert "Gerald<|im_end|>" in str(refused.value)


def test_the_models_window_is_for_each_option_not_for_all_of_them(model_folder: Models) -> None:
    short = load_model(f"hf:{model_folder('causal', 'gpt2', max_length=24)}", device="cpu")
    fits = ChoiceQuery("Gerald met" + " the" * 6 + " old bridge.", WHO, ("Gerald", "Jennifer"))
    assert short.encode(columns(fits)).marks["parts"].tolist() == [[0, 23, 24, 25]]
    with raises("too-long", DataError) as refused:
        short.encode(columns(fits, replace(fits, options=("Gerald", "Jennifer met"))))
    assert " 25" in str(refused.value)
    assert "Jennifer met" in str(refused.value)


def test_a_causal_model_cannot_fill_masks(model: Models) -> None:
    with raises("missing-ability", UsageError, key="fill"):
        model("causal", "gpt2").encode(FillColumns(StringColumn.of([""]), StringColumn.of(["a"])))


def test_a_causal_model_knows_words(model: Models, answer: Models) -> None:
    for family in ("gpt2", "llama"):
        words = answer(model("causal", family), WordColumns(StringColumn.of(["Mary", "African-American"])))
        assert words["pieces"].tolist() == [1, 3]


def damaged(folder: Path, tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    from safetensors.torch import load_file, save_file

    target = Path(shutil.copytree(folder, tmp_path / "model"))
    weights = load_file(target / "model.safetensors")
    change(weights)
    save_file(weights, target / "model.safetensors", {"format": "pt"})
    return target


def test_scores_that_are_no_numbers_are_an_error(tmp_path: Path, model_folder: Models) -> None:
    folder = damaged(
        model_folder("causal", "gpt2"), tmp_path, lambda weights: weights["transformer.ln_f.bias"].fill_(float("nan"))
    )
    with raises("bad-scores", ModelError, exit_code=4):
        load_model(f"hf:{folder}", device="cpu")


def test_a_head_that_is_missing_is_an_error(tmp_path: Path, model_folder: Models) -> None:
    folder = damaged(model_folder("causal", "llama"), tmp_path, lambda weights: weights.pop("lm_head.weight"))
    with raises("bad-folder", ModelError, key="lm_head.weight"):
        load_model(f"hf:{folder}", device="cpu")


def test_a_pad_token_that_the_model_does_not_know_is_not_used(
    tmp_path: Path, model_folder: Models, model: Models, answer: Models
) -> None:
    """Somebody added one to the tokenizer alone."""
    folder = Path(shutil.copytree(model_folder("causal", "llama"), tmp_path / "model"))
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "pad_token": "[PAD]"}), encoding="utf-8")
    loaded = load_model(f"hf:{folder}", device="cpu")
    scores = answer(loaded, columns(*QUERIES.values()))["score"]
    assert_close(scores, answer(model("causal", "llama"), columns(*QUERIES.values()))["score"])


@pytest.mark.parametrize("case", ["usual", "options of one token"])
def test_a_batch_that_does_not_fit_is_told_to_the_engine(
    case: str, model: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    loaded = model("causal", "gpt2")

    def no_memory(**inputs: Any) -> Any:
        raise torch.OutOfMemoryError("none left")

    tokens = loaded.encode(columns(QUERIES[case]))
    monkeypatch.setattr(loaded, "_model", no_memory)
    with pytest.raises(BatchTooLargeError):
        loaded.forward(tokens)
