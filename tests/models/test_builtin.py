"""The built-in model's answers are those of its weights: by reference values from torch, by hand, and by transformers.

Nothing here knows which weights are shipped; `builtin_reference.json` is written together with them.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import assay
from assay.asking.queries import (
    MASK,
    NONE,
    ChoiceColumns,
    EmbedColumns,
    FillColumns,
    MaskColumns,
    QueryColumns,
    Scoring,
    SpanColumns,
    StringColumn,
    TokenColumns,
    WordColumns,
)
from assay.engine.ask import LiveAsk
from assay.engine.executor import EngineSettings, LocalExecutor
from assay.engine.store import BlockStore
from assay.errors import DataError, UsageError
from assay.models import find_model, load, load_model
from assay.models.base import Options
from assay.models.builtin import FOLDER, likeliest
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.plan import UnqoverPlan
from raising import raises
from reference_scores import columns_of, span_query

pytestmark = pytest.mark.slow

Answer = Callable[..., dict[str, NDArray[Any]]]

REFERENCE = json.loads(Path(__file__).with_name("builtin_reference.json").read_text(encoding="utf-8"))
MASK_TOKEN, VOCABULARY = 103, 30522

SPANS = [
    span_query("Who sang?", "Anne met Bob by the river.", "Anne", "Bob"),
    span_query(
        "Who was not there at all on that day?", "José gave Zoë Quincy a lamp, and Zoë left.", "José", "Zoë Quincy"
    ),
    span_query("What is [MASK]?", "Anne wrote [MASK] and Bob read [SEP].", "Anne", "Bob"),
    span_query("Who?", "Gerald walked on and on, " * 30 + "until Jennifer came.", "Gerald", "Jennifer"),
]
MASKED = [  # context, sentence
    ("John met Mary by the old bridge.", f"{MASK} was an old man."),
    ("", f"Nobody can say that it was {MASK}."),
    ("Somebody wrote [MASK] there.", f"The {MASK} was not José."),
    ("They went on and on." + " They went on and on." * 24, f"Then {MASK} came back."),
]
WORDS = ("Mary", "John", "she")


def span_columns(*, scoring: Scoring | None = None) -> SpanColumns:
    return replace(columns_of(SPANS), scoring=scoring or Scoring())


def mask_columns(*, scoring: Scoring | None = None) -> MaskColumns:
    context, sentence = zip(*MASKED, strict=True)
    subjects = np.tile(np.array([[0, NONE], [1, 2]], np.int32), (len(MASKED), 1, 1))
    return MaskColumns(StringColumn.of(context), StringColumn.of(sentence), WORDS, subjects, scoring or Scoring())


def fill_columns(top: int = 5) -> FillColumns:
    context, sentence = zip(*MASKED, strict=True)
    return FillColumns(StringColumn.of(context), StringColumn.of(sentence), top)


def choice_columns() -> ChoiceColumns:
    context = ["Anne spilled the paint.", "", "Bob ran on and on. " * 20]
    question = ["Who should clean up?", "Which animal lays eggs?", ""]
    choices = ["Anne", "Bob", "a hen", "nobody can say who it was"]
    options = np.array([[0, 1, 3], [2, 0, 0], [3, 1, 2]], np.int32)
    return ChoiceColumns(StringColumn.of(context), StringColumn.of(question), choices, options)


def embed_columns() -> EmbedColumns:
    text = ["Anne met Zoë Quincy.", "The river was [MASK].", "On and on. " * 30 + "Jennifer came."]
    words = ["Zoë Quincy", "river", "Jennifer"]
    start = np.array([text.index(word) for text, word in zip(text, words, strict=True)], np.int32)
    return EmbedColumns(StringColumn.of(text), start, start + np.array([len(word) for word in words], np.int32))


EVERY: dict[str, Callable[[], QueryColumns]] = {
    "span": span_columns,
    "mask": mask_columns,
    "fill": fill_columns,
    "choice": choice_columns,
    "embed": embed_columns,
}


@pytest.fixture(scope="module")
def model() -> Any:
    return load_model("builtin", threads=1)


class ByHand:
    """The shipped files, used without any of assay's code: one text or pair at a time."""

    def __init__(self) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.everywhere, self.places = (
            onnxruntime.InferenceSession(str(FOLDER / f"{name}.onnx"), providers=["CPUExecutionProvider"])
            for name in ("everywhere", "places")
        )
        self.tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
        self.tokenizer.encode_special_tokens = True  # "[MASK]" in a text is text

    def run(self, output: str, ids: list[int], types: list[int], places: tuple[int, ...] = ()) -> NDArray[np.float64]:
        inputs = {"input_ids": [ids], "attention_mask": [[1] * len(ids)], "token_type_ids": [types]}
        arrays = {name: np.array(values, np.int64) for name, values in inputs.items()}
        if output in ("mask", "choice"):
            (found,) = self.places.run([output], {**arrays, "mask_places": np.array(places, np.int64)})
        else:
            (found,) = self.everywhere.run([output], arrays)
        return np.asarray(found, np.float64)

    def masked(self, context: str, sentence: str) -> tuple[list[int], int]:
        left, right = f"{context} {sentence}".strip().split(MASK)
        halves = [self.tokenizer.encode(half, add_special_tokens=False).ids for half in (left, right)]
        return [101, *halves[0], MASK_TOKEN, *halves[1], 102], 1 + len(halves[0])

    def probabilities(self, context: str, sentence: str) -> NDArray[np.float64]:
        ids, place = self.masked(context, sentence)
        return softmax(self.run("mask", ids, [0] * len(ids), (place,))[0])


@pytest.fixture(scope="module")
def by_hand() -> ByHand:
    return ByHand()


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum())


def assert_close(ours: Any, expected: Any, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=tolerance)


# --- reference values by torch


def outputs(model: Any, tokens: Any, *names: str, places: Any = None) -> list[Any]:
    at = None if places is None else np.array(places, np.int64)
    found: list[Any] = model._run(model._padded(tokens), *names, places=at)
    return found


@pytest.mark.parametrize("example", REFERENCE["span"], ids=lambda example: example["question"])
def test_span_logits_are_those_of_torch(example: dict[str, Any], model: Any) -> None:
    where = np.array([[[0]]], np.int32)
    asked = SpanColumns(StringColumn.of([example["question"]]), StringColumn.of([example["context"]]), where, where + 1)
    tokens = model.encode(asked)
    assert tokens.ids.tolist() == example["ids"]
    assert tokens.second.tolist() == [example["second"]]
    start, end = outputs(model, tokens, "start", "end")
    np.testing.assert_allclose(start[0], example["start"], atol=1e-3)
    np.testing.assert_allclose(end[0], example["end"], atol=1e-3)


@pytest.mark.parametrize("example", REFERENCE["mask"], ids=lambda example: example["text"][:40])
def test_mask_logits_and_hidden_states_are_those_of_torch(example: dict[str, Any], model: Any) -> None:
    tokens = model.encode(FillColumns(StringColumn.of([""]), StringColumn.of([example["text"]])))
    assert tokens.ids.tolist() == example["ids"]
    assert tokens.marks["mask"].tolist() == [example["place"]]
    (logits,) = outputs(model, tokens, "mask", places=[example["place"]])
    (hidden,) = outputs(model, tokens, "hidden")
    np.testing.assert_allclose(logits[0, example["tokens"]], example["logits"], atol=1e-3)
    np.testing.assert_allclose(hidden[0, example["place"], :8], example["hidden"], atol=1e-3)


@pytest.mark.parametrize("example", REFERENCE["choice"], ids=lambda example: example["question"])
def test_choice_logits_are_those_of_torch(example: dict[str, Any], model: Any, answer: Answer) -> None:
    options = np.arange(len(example["options"]), dtype=np.int32)[None]
    asked = ChoiceColumns(
        StringColumn.of([example["context"]]), StringColumn.of([example["question"]]), example["options"], options
    )
    assert model.encode(asked).ids.tolist() == [token for ids in example["ids"] for token in ids]
    np.testing.assert_allclose(answer(model, asked)["score"][0], example["logits"], atol=1e-3)


def test_the_reference_holds_long_texts_accents_and_literal_special_tokens() -> None:
    """Otherwise agreement with it would show less than it should."""
    texts = [example["context"] for example in REFERENCE["span"]] + [example["text"] for example in REFERENCE["mask"]]
    assert any("[MASK]" in text for text in texts)
    assert any(not text.replace(MASK, "").isascii() for text in texts)
    for kind in ("span", "mask"):
        assert max(len(example["ids"]) for example in REFERENCE[kind]) > 128


# --- every ability, by hand


@pytest.mark.parametrize("types", [True, False], ids=["with token types", "without"])
def test_a_span_score_is_the_root_of_two_probabilities(
    types: bool, model: Any, by_hand: ByHand, answer: Answer
) -> None:
    scores = answer(model, span_columns(scoring=Scoring(token_types=types)))["score"]
    for row, query in enumerate(SPANS):
        encoded = by_hand.tokenizer.encode(query.question, query.context)
        type_ids = encoded.type_ids if types else [0] * len(encoded.ids)
        start, end = (softmax(by_hand.run(name, encoded.ids, type_ids)[0]) for name in ("start", "end"))
        for subject, (lo, hi) in enumerate(query.subjects):
            first, last = encoded.char_to_token(lo, 1), encoded.char_to_token(hi - 1, 1)
            assert_close(scores[row, subject], (start[first] * end[last]) ** 0.5)


def test_padding_may_be_counted_as_the_released_program_does(model: Any, by_hand: ByHand) -> None:
    counted = model.forward(model.encode(span_columns(scoring=Scoring(count_padding=True, batch=4))))["score"]
    usual = model.forward(model.encode(span_columns()))["score"]
    longest = int(np.argmax([len(query.context) for query in SPANS]))
    assert_close(counted[longest], usual[longest])
    shorter = np.arange(len(SPANS)) != longest
    assert (counted[shorter] < usual[shorter]).all()


def test_a_mask_score_is_the_likeliest_alternatives_probability(model: Any, by_hand: ByHand, answer: Answer) -> None:
    scores = answer(model, mask_columns())["score"]
    mary, john, she = (by_hand.tokenizer.token_to_id(word.lower()) for word in WORDS)
    for row, text in enumerate(MASKED):
        probabilities = by_hand.probabilities(*text)
        expected = [probabilities[mary], max(probabilities[john], probabilities[she])]
        np.testing.assert_allclose(scores[row], expected, rtol=1e-4)


def test_only_the_likeliest_tokens_keep_their_probability_where_that_is_asked_for(
    model: Any, by_hand: ByHand, answer: Answer
) -> None:
    context, sentence = MASKED[0]
    likely = answer(model, FillColumns(StringColumn.of([context]), StringColumn.of([sentence]), 200))["token"][
        0
    ].tolist()
    rank = {by_hand.tokenizer.id_to_token(token): place for place, token in enumerate(likely)}
    words = [word for word in rank if word.isascii() and word.isalpha()][:9]
    subjects = np.arange(9, dtype=np.int32)[None, :, None]
    scoring = Scoring(top=rank[words[4]] + 1)
    asked = MaskColumns(StringColumn.of([context]), StringColumn.of([sentence]), words, subjects, scoring)
    expected = by_hand.probabilities(context, sentence)[[likely[rank[word]] for word in words]]
    np.testing.assert_allclose(answer(model, asked)["score"][0, :5], expected[:5], rtol=1e-4)
    assert answer(model, asked)["score"][0, 5:].tolist() == [0, 0, 0, 0]


def test_fills_are_the_likeliest_tokens_in_order(model: Any, by_hand: ByHand, answer: Answer) -> None:
    found = answer(model, fill_columns(7))
    assert found["token"].shape == found["probability"].shape == (len(MASKED), 7)
    for row, text in enumerate(MASKED):
        probabilities = by_hand.probabilities(*text)
        np.testing.assert_allclose(found["probability"][row], np.sort(probabilities)[::-1][:7], rtol=1e-4)
        np.testing.assert_allclose(probabilities[found["token"][row]], found["probability"][row], rtol=1e-4)
        assert len(set(found["token"][row].tolist())) == 7


def test_equally_likely_tokens_come_in_the_order_of_their_ids() -> None:
    chance = np.random.default_rng(0)
    probabilities = chance.integers(0, 6, (50, 40)).astype(np.float32) / 8
    for top in (1, 3, 39, 40, 41):
        token, probability = likeliest(probabilities, top)
        assert np.array_equal(token, np.argsort(-probabilities, axis=1, kind="stable")[:, :top])
        assert np.array_equal(probability, -np.sort(-probabilities, axis=1)[:, :top])


def test_an_options_score_is_its_logit(model: Any, by_hand: ByHand, answer: Answer) -> None:
    asked = choice_columns()
    scores = answer(model, asked)["score"]
    assert scores.shape == (3, 3)
    for row in range(len(asked)):
        query = asked.row(row)
        for option, text in enumerate(query.options):
            second = f"{query.question} {text}".strip()
            encoded = by_hand.tokenizer.encode(*([query.context, second] if query.context else [second]))
            assert_close(scores[row, option], by_hand.run("choice", encoded.ids, encoded.type_ids)[0])


def test_a_words_vector_is_the_mean_over_its_tokens(model: Any, by_hand: ByHand, answer: Answer) -> None:
    asked = embed_columns()
    vectors = answer(model, asked)["vector"]
    for row in range(len(asked)):
        query = asked.row(row)
        encoded = by_hand.tokenizer.encode(query.text)
        start, end = query.subject
        holding = [k for k, (lo, hi) in enumerate(encoded.offsets) if max(lo, start) < min(hi, end)]
        assert (len(holding) > 1) == (row == 0)
        expected = by_hand.run("hidden", encoded.ids, encoded.type_ids)[0, holding].mean(0)
        assert_close(vectors[row], expected)


def test_words_are_counted_in_tokens(model: Any, by_hand: ByHand, answer: Answer) -> None:
    words = ["river", "Xanthippe", "RIVER", "José"]
    found = answer(model, WordColumns(StringColumn.of(words)))
    assert found["pieces"].tolist() == [len(by_hand.tokenizer.encode(word, add_special_tokens=False)) for word in words]
    assert found["key"][0] == found["key"][2] != found["key"][3]


def test_tokens_have_texts(model: Any, by_hand: ByHand, answer: Answer) -> None:
    ids = [by_hand.tokenizer.token_to_id(token) for token in ("river", "##s", "[MASK]")]
    assert answer(model, TokenColumns(np.array(ids, np.int32)))["text"].tolist() == [b"river", b"##s", b""]


# --- what does not change an answer


@pytest.mark.parametrize("ability", EVERY)
def test_neither_padding_nor_the_batch_changes_an_answer(ability: str, model: Any, answer: Answer) -> None:
    asked = EVERY[ability]()
    alone = answer(model, asked, budget=1)
    for budget in (200, 100_000):
        together = answer(model, asked, budget=budget)
        assert together.keys() == alone.keys()
        for name, values in together.items():
            assert values.dtype == alone[name].dtype
            assert_close(values, alone[name])


@pytest.mark.parametrize("ability", EVERY)
def test_the_number_of_threads_changes_no_answer(ability: str, model: Any, answer: Answer) -> None:
    asked, two = EVERY[ability](), load_model("builtin", threads=2)
    one = answer(model, asked)
    for name, values in answer(two, asked).items():
        assert_close(values, one[name])


@pytest.mark.parametrize(("rows", "width"), [(1, 1), (1, 2), (1, 512), (3, 17), (40, 24)])
@pytest.mark.parametrize("places", [0, 1, 40])
def test_the_graph_takes_every_shape(rows: int, width: int, places: int, model: Any) -> None:
    chance = np.random.default_rng(rows + width + places)
    ids = chance.integers(0, VOCABULARY, (rows, width))
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    at = chance.integers(0, rows * width, places)
    start, end, hidden = model._session("everywhere.onnx").run(["start", "end", "hidden"], inputs)
    mask, choice = model._session("places.onnx").run(["mask", "choice"], {**inputs, "mask_places": at})
    assert start.shape == end.shape == (rows, width)
    assert mask.shape == (places, VOCABULARY)
    assert choice.shape == (rows,)
    assert hidden.shape == (rows, width, 384)
    assert all(np.isfinite(output).all() for output in (start, end, mask, choice, hidden))


# --- texts


def test_a_literal_mask_is_text(model: Any) -> None:
    span, masked = model.encode(span_columns()), model.encode(fill_columns())
    assert MASK_TOKEN not in span.ids
    assert (masked.ids == MASK_TOKEN).sum() == len(MASKED)
    assert (masked.ids[masked.offsets[:-1] + masked.marks["mask"]] == MASK_TOKEN).all()


def test_texts_may_have_512_tokens_and_not_one_more(model: Any, answer: Answer) -> None:
    sentence = f"{MASK} " + "on " * 508 + "."
    asked = FillColumns(StringColumn.of([""]), StringColumn.of([sentence]), 3)
    assert model.encode(asked).lengths.tolist() == [512]
    assert answer(model, asked)["token"].shape == (1, 3)
    with raises("too-long", DataError) as refused:
        model.encode(replace(asked, context=StringColumn.of(["on"])))
    assert "513" in str(refused.value)


def test_an_ability_that_it_has_not_is_wrong_use(model: Any) -> None:
    class Unheard(WordColumns):
        ability = "sing"

    with raises("missing-ability", UsageError, key="sing"):
        model.encode(Unheard(StringColumn.of(["la"])))


# --- the engine, and transformers


@pytest.mark.parametrize("form", ["span", "mask"])
def test_the_engine_runs_it(form: str, model: Any, tmp_path: Path) -> None:
    lists = read_lists("religion", masked=form == "mask", header=False)
    plan = UnqoverPlan("religion", form, lists.digest, cells=10)
    spec = find_model("builtin", Options(threads=1))
    ask = LiveAsk(spec, BlockStore(tmp_path), LocalExecutor(load), EngineSettings(block_size=24))
    scores = ask(plan, "religion")["score"]
    assert scores.shape == (len(plan), 2)
    tokens = model.encode(plan.columns(0, len(plan)))
    alone = [model.forward(tokens.take(np.array([row])))["score"][0] for row in range(len(plan))]
    np.testing.assert_allclose(scores, alone, rtol=1e-4, atol=1e-7)


@pytest.fixture(scope="module", params=["span", "mask", "choice"])
def head(request: pytest.FixtureRequest) -> Iterator[tuple[str, Path]]:
    """One of the heads as transformers has it; removed afterwards, for it is large."""
    pytest.importorskip("torch")
    with tempfile.TemporaryDirectory() as place:
        yield request.param, assay.write_builtin(Path(place) / request.param, request.param)


def test_transformers_gives_the_same_answers(head: tuple[str, Path], model: Any, answer: Answer) -> None:
    kind, folder = head
    other = load_model(f"hf:{folder}", device="cpu")
    assert kind in other.spec.abilities
    asked = EVERY[kind]()
    scores = answer(model, asked)["score"]
    difference = np.abs(scores - answer(other, asked)["score"]).max()
    assert difference < 1e-4
    assert difference < 1e-2 * np.ptp(scores), "otherwise agreement of small scores would show nothing"


def test_transformers_finds_all_weights_and_no_others(head: tuple[str, Path]) -> None:
    import torch
    import transformers
    from safetensors.torch import load_file

    kind, folder = head
    classes = {"span": "BertForQuestionAnswering", "mask": "BertForMaskedLM", "choice": "BertForMultipleChoice"}
    network, info = getattr(transformers, classes[kind]).from_pretrained(folder, output_loading_info=True)
    assert not any(info.values()), info
    shipped = load_file(FOLDER / "weights.safetensors")
    for name, weight in network.named_parameters():
        assert weight.dtype == torch.float32
        assert torch.equal(weight, shipped[name].float())
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert (tokenizer.model_max_length, tokenizer.mask_token_id, tokenizer.pad_token_id) == (512, MASK_TOKEN, 0)
    text = "Zoë's café, " + "on and on " * 60
    ours = json.loads((FOLDER / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    ids = tokenizer(text)["input_ids"]
    assert ids[:5] == [ours[token] for token in ("[CLS]", "zoe", "'", "s", "cafe")]
    assert len(ids) > 128
    network(input_ids=torch.tensor([[ids[:20]]] if kind == "choice" else [ids[:20]]))[0].sum().backward()
    trained = [name for name, weight in network.named_parameters() if weight.grad is not None]
    assert any(name.startswith("bert.encoder.layer.0.") for name in trained)
