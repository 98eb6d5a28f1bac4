"""Span scores are the papers' definition, computed as plain transformers would, for every family of models.

S = sqrt(P(start at the subject's first token) · P(end at its last token)), each a softmax over all positions of the
input: question, context and special tokens alike. The two subjects' scores are not normalised against each other.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.asking.queries import NONE, FillColumns, Scoring, SpanColumns, SpanQuery, StringColumn
from assay.errors import DataError, ModelError, UsageError
from assay.models import load_model
from raising import raises
from reference_scores import assert_close, columns_of, span_query, stacked, tokens_of
from tiny_models import FAMILIES

Models = Callable[..., Any]

TYPED = ("bert", "electra", "albert")
WHO = "Who was there?"

QUERIES = {
    "single tokens": span_query(WHO, "Gerald met Jennifer by the bridge.", "Gerald", "Jennifer"),
    "the later one asked first": span_query(WHO, "Gerald met Jennifer by the bridge.", "Jennifer", "Gerald"),
    "several tokens": span_query(WHO, "Bartholomew Quincy met Xanthippe.", "Bartholomew Quincy", "Xanthippe"),
    "hyphenated": span_query(WHO, "An African-American met Anne-Marie.", "African-American", "Anne-Marie"),
    "twice in the context": span_query(WHO, "Mary saw Anne, but Anne never saw Mary.", ("Anne", 1), ("Mary", 1)),
    "in the question too": span_query("Was it Anne or John?", "John met Anne.", "Anne", "John"),
    "one inside the other": span_query(WHO, "An African met an African-American.", "African", "African-American"),
    "one inside the other, swapped": span_query(
        WHO, "An African-American met an African.", ("African", 1), "African-American"
    ),
    "all of the context": span_query(WHO, "Anne John", "Anne", "John"),
    "against punctuation": span_query(WHO, '"Gerald", (Anne-Marie) said.', "Gerald", "Anne-Marie"),
    "accents": span_query(WHO, "José met Zoë and Şule.", "José", "Zoë"),
    "accents apart": span_query(WHO, "Jose\u0301 met Zoe\u0308.", "Jose\u0301", "Zoe\u0308"),
    "behind accents apart": span_query(WHO, "e\u0301 and S\u0327ule met Anne and John.", "Anne", "John"),
    "emoji": span_query(WHO, "A 😀 met the 👩‍🚀 there.", "😀", "👩‍🚀"),
    "other scripts": span_query(WHO, "日本 met Ñandú and Ελένη.", "日本", "Ελένη"),
    "double blanks": span_query(WHO, "(CNN) --  Gerald met Anne.", "Gerald", "Anne"),
    "odd blanks": span_query("Who  was\tthere? ", " Gerald   met\nAnne\u00a0there ", "Gerald", "Anne"),
    "digits": span_query("Who had 1,234.5?", "John was 42 and Anne 3½.", "John", "Anne"),
    "special tokens as text": span_query("Who [SEP] </s> was?", "[MASK] and <mask> met [CLS] Anne.", "Anne", "met"),
}

USUAL = {name: query for name, query in QUERIES.items() if name != "special tokens as text"}


def columns(*queries: SpanQuery, scoring: Scoring | None = None) -> SpanColumns:
    asked = columns_of(queries)
    return replace(asked, scoring=scoring or Scoring())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", USUAL)
def test_scores_are_those_of_plain_transformers(
    case: str, family: str, model: Models, reference: Models, answer: Models
) -> None:
    query = QUERIES[case]
    scores = answer(model("span", family), columns(query))["score"]
    assert_close(scores, stacked(reference("span", family), [query]))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_tiny_models_tell_positions_apart(family: str, reference: Models) -> None:
    """Otherwise an equality of scores would show nothing."""
    scores = stacked(reference("span", family), list(QUERIES.values())[:10])
    assert np.median(np.abs(np.log(scores[:, 0] / scores[:, 1]))) > 0.2
    assert scores.sum(axis=1).max() < 0.9, "the two subjects' scores are not normalised"


@pytest.mark.parametrize("family", FAMILIES)
def test_padding_does_not_change_a_score(family: str, model: Models, answer: Models) -> None:
    loaded = model("span", family)
    alone = [answer(loaded, columns(query))["score"][0] for query in USUAL.values()]
    together = answer(loaded, columns(*USUAL.values()), budget=100_000)["score"]
    assert_close(together, alone)


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_stand_in_the_order_of_the_questions_whatever_the_batches(
    family: str, model: Models, answer: Models
) -> None:
    loaded, asked = model("span", family), columns(*USUAL.values())
    together = answer(loaded, asked, budget=100_000)["score"]
    for budget in (1, 40, 90):
        assert_close(answer(loaded, asked, budget=budget)["score"], together)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "deberta-v3"])
def test_special_tokens_in_a_text_are_text(family: str, model: Models, reference: Models, answer: Models) -> None:
    """A model must not see a separator or a mask where somebody wrote one: the words around it keep their places."""
    loaded, query = model("span", family), QUERIES["special tokens as text"]
    tokens, tokenizer = loaded.encode(columns(query)), reference("span", family).tokenizer
    ids = tokens.ids.tolist()
    assert ids.count(tokenizer.sep_token_id) == (3 if family == "roberta" else 2)
    assert ids.count(tokenizer.cls_token_id) == 1
    assert tokenizer.mask_token_id not in ids
    for subject, (start, end) in enumerate(query.subjects):
        first, last = int(tokens.marks["start"][0, subject, 0]), int(tokens.marks["end"][0, subject, 0])
        text = tokenizer.decode(ids[first : last + 1]).strip()
        assert text.lower() == query.context[start:end].lower()
    assert answer(loaded, columns(query))["score"].shape == (1, 2)


def test_special_tokens_that_cannot_be_told_from_text_are_refused(model: Models) -> None:
    """SentencePiece vocabularies with capitals hold "[SEP]" as a piece like any other."""
    with raises("bad-text", DataError, key=None) as refused:
        model("span", "deberta-v3").encode(columns(QUERIES["special tokens as text"]))
    assert "'[SEP]'" in str(refused.value)


@pytest.mark.parametrize("family", FAMILIES)
def test_token_types_are_passed_where_the_model_has_them(
    family: str, model: Models, reference: Models, answer: Models
) -> None:
    query, plain = QUERIES["hyphenated"], reference("span", family)
    typed = answer(model("span", family), columns(query))["score"][0]
    untyped = answer(model("span", family), columns(query, scoring=Scoring(token_types=False)))["score"][0]
    assert_close(typed, plain.scores(query))
    assert_close(untyped, plain.scores(query, token_types=False))
    assert np.allclose(typed, untyped, atol=1e-7) == (family not in TYPED)


@pytest.mark.parametrize("family", FAMILIES)
def test_counted_padding_takes_part_in_the_softmax(
    family: str, model: Models, reference: Models, answer: Models
) -> None:
    """As the released program: batches in the plan's order, and the softmax runs over the padded width."""
    plain, queries = reference("span", family), list(QUERIES.values())[:7]
    scores = answer(model("span", family), columns(*queries, scoring=Scoring(count_padding=True, batch=3)))["score"]
    for lo in range(0, len(queries), 3):
        batch = queries[lo : lo + 3]
        encoded = plain.tokenizer(
            [query.question for query in batch],
            [query.context for query in batch],
            padding=True,
            return_tensors="pt",
            return_token_type_ids=True,
        )
        types = encoded["token_type_ids"] if plain.typed else None
        start, end = plain.probabilities(encoded["input_ids"], types, encoded["attention_mask"])
        for row, query in enumerate(batch):
            alone = plain.tokenizer(query.question, query.context)
            places = [tokens_of(alone, span, second=True) for span in query.subjects]
            expected = [(start[row, first] * end[row, last]) ** 0.5 for first, last in places]
            assert_close(scores[lo + row], expected)
    uncounted = answer(model("span", family), columns(*queries))["score"]
    assert np.abs(uncounted - scores).max() > 1e-4, "there was no padding to count"


def test_one_separator_instead_of_two(model: Models, reference: Models, answer: Models) -> None:
    import torch

    plain, query = reference("span", "roberta"), QUERIES["single tokens"]
    encoded = plain.tokenizer(query.question, query.context)
    ids = list(encoded["input_ids"])
    second = ids.index(plain.tokenizer.sep_token_id) + 1
    assert ids[second] == plain.tokenizer.sep_token_id
    start, end = plain.probabilities(torch.tensor([ids[:second] + ids[second + 1 :]]))
    places = [tokens_of(encoded, span, second=True) for span in query.subjects]
    expected = [(start[0, first - 1] * end[0, last - 1]) ** 0.5 for first, last in places]
    scores = answer(model("span", "roberta"), columns(query, scoring=Scoring(separators=1)))["score"]
    assert_close(scores[0], expected)
    assert not np.allclose(scores[0], plain.scores(query), atol=1e-4)


def test_one_separator_changes_nothing_where_there_is_one(model: Models, answer: Models) -> None:
    query = QUERIES["single tokens"]
    asked = [columns(query, scoring=Scoring(separators=separators)) for separators in (None, 1)]
    default, one = (answer(model("span", "bert"), each)["score"] for each in asked)
    assert np.array_equal(default, one)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_likeliest_start_and_the_likeliest_end_of_the_alternatives_count(
    family: str, model: Models, reference: Models, answer: Models
) -> None:
    """Separately: the best start may belong to one alternative and the best end to another, and one may have more."""
    context = "A group of Iraqi men met an African there."
    plain, starts, ends = reference("span", family), [[11, 0, 2, 8], [28, 25, NONE, NONE]], [[16, 20], [35, NONE]]
    asked = SpanColumns(
        StringColumn.of([WHO]), StringColumn.of([context]), np.array([starts], np.int32), np.array([ends], np.int32)
    )
    encoded = plain.tokenizer(WHO, context, return_tensors="pt", return_token_type_ids=True)
    start, end = plain.probabilities(encoded["input_ids"], encoded["token_type_ids"] if plain.typed else None)
    expected = [
        (
            max(start[0, encoded.char_to_token(0, place, 1)] for place in starts[subject] if place != NONE)
            * max(end[0, encoded.char_to_token(0, place - 1, 1)] for place in ends[subject] if place != NONE)
        )
        ** 0.5
        for subject in (0, 1)
    ]
    assert_close(answer(model("span", family), asked)["score"][0], expected)


# --- what cannot be asked


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_weights_that_do_not_fit_into_memory_are_called_that(
    error: Exception, model_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers

    def fail(*arguments: object, **more: object) -> Any:
        raise error

    monkeypatch.setattr(transformers.AutoModelForQuestionAnswering, "from_pretrained", fail)
    with raises("out-of-memory", ModelError, exit_code=4):
        load_model(f"hf:{model_folder('span', 'bert')}")


def test_a_passage_beyond_the_models_window_is_refused(model_folder: Callable[..., Path]) -> None:
    short = load_model(f"hf:{model_folder('span', 'bert', max_length=24)}", device="cpu")
    fits = span_query(WHO, "Anne met " + "the " * 13 + "John.", "Anne", "John")
    assert len(short.encode(columns(fits)).ids) == 24
    with raises("too-long", DataError, exit_code=3) as refused:
        short.encode(columns(span_query(WHO, "Anne met " + "the " * 14 + "John.", "Anne", "John")))
    assert " 25" in str(refused.value)


def test_the_window_of_roberta_begins_behind_its_padding(
    model_folder: Callable[..., Path], tmp_path: Path, answer: Models
) -> None:
    """Its table of positions is two longer than what it reads, and its tokenizer need not know a limit."""
    folder = copied(model_folder("span", "roberta", max_length=24), tmp_path)
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    del config["model_max_length"]
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    short = load_model(f"hf:{folder}", device="cpu")
    fits = span_query(WHO, "Anne met" + " the" * 12 + " John.", "Anne", "John")
    assert len(short.encode(columns(fits)).ids) == 24
    assert np.isfinite(answer(short, columns(fits))["score"]).all()
    with raises("too-long", DataError):
        short.encode(columns(span_query(WHO, "Anne met" + " the" * 13 + " John.", "Anne", "John")))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_tokenizer_saved_with_cutting_and_padding_does_neither(
    family: str, model_folder: Callable[..., Path], tmp_path: Path, model: Models, answer: Models
) -> None:
    from tokenizers import Tokenizer

    folder = copied(model_folder("span", family), tmp_path)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(folder / "tokenizer.json"))
    queries = [*list(USUAL.values())[:4], span_query(WHO, "Anne met " + "the " * 80 + "John.", "Anne", "John")]
    scores = answer(load_model(f"hf:{folder}", device="cpu"), columns(*queries))["score"]
    assert_close(scores, answer(model("span", family), columns(*queries))["score"])


@pytest.mark.parametrize("span", [(0, 99), (30, 34), (4, 5)], ids=["too long", "behind the end", "a blank"])
def test_a_subject_that_is_not_in_its_passage_is_refused(span: tuple[int, int], model: Models) -> None:
    query = SpanQuery(WHO, "Anne met John.", (span, (9, 13)))
    with raises("bad-text", DataError, key="subjects") as refused:
        model("span", "bert").encode(columns(QUERIES["single tokens"], query))
    assert "Anne met John." in str(refused.value)


def test_a_span_model_cannot_fill_masks(model: Models) -> None:
    with raises("missing-ability", UsageError, key="fill"):
        model("span", "bert").encode(FillColumns(StringColumn.of([""]), StringColumn.of(["a"])))


def test_scores_that_are_no_numbers_are_an_error(tmp_path: Path, model_folder: Callable[..., Path]) -> None:
    from safetensors.torch import load_file, save_file

    folder = copied(model_folder("span", "bert"), tmp_path)
    weights = load_file(folder / "model.safetensors")
    weights["qa_outputs.bias"][:] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    damaged = load_model(f"hf:{folder}", device="cpu")
    with raises("bad-scores", ModelError, exit_code=4):
        damaged.forward(damaged.encode(columns(QUERIES["hyphenated"])))


def copied(folder: Path, target: Path) -> Path:
    return Path(shutil.copytree(folder, target / "model"))
