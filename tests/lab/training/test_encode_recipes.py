"""Data to tokens: windows hold their answers, choices are encoded as audits encode them, blocks hold all of a text."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.asking.queries import ChoiceColumns
from assay.asking.tokens import option_rows
from assay.errors import DataError
from assay.lab.training.batches import Batches
from assay.lab.training.choice import ChoiceData, encode_choice, read_choice_data
from assay.lab.training.mask import encode_text
from assay.lab.training.span import SpanData, SpanExample, encode_span, read_span_data
from assay.models import load_model
from assay.models.hf import load_tokenizer
from raising import raises
from tiny_models import FAMILIES

Base = Callable[..., str]


def tokenizer_of(name: str) -> Any:
    from assay.models import find_model

    return load_tokenizer(find_model(name))


def row(features: Any, at: int) -> list[int]:
    tokens = features.tokens
    ids: list[int] = tokens.ids[tokens.offsets[at] : tokens.offsets[at + 1]].tolist()
    return ids


@pytest.mark.parametrize("family", FAMILIES)
def test_the_tokens_of_a_window_at_its_labels_are_the_answer(
    tmp_path: Path, squad: Callable[..., dict[str, Any]], small_base: Base, family: str
) -> None:
    (tmp_path / "train.json").write_text(json.dumps(squad(8)))
    data = read_span_data(tmp_path / "train.json")
    tokenizer = tokenizer_of(small_base("mask", family))
    windows = encode_span(tokenizer, family, data, window=28, stride=5)
    assert len(windows.features) > len(data.examples)  # some passages need several
    held = set()
    for at, example in enumerate(windows.example.tolist()):
        start, end = (int(windows.features.labels[f"{name}_positions"][at]) for name in ("start", "end"))
        ids = row(windows.features, at)
        assert len(ids) <= 28
        if windows.features.tokens.marks["holds"][at]:
            held.add(example)
            said = tokenizer.decode(ids[start : end + 1]).strip()
            assert said.casefold() == data.examples[example].answers[0].casefold()
        else:
            assert (start, end) == (0, 0)
    assert held == set(range(len(data.examples)))


@pytest.mark.parametrize("family", ["bert", "roberta", "albert"])
def test_a_passage_that_fits_is_encoded_as_the_real_tokenizer_does(
    tmp_path: Path, squad: Callable[..., dict[str, Any]], small_base: Base, family: str
) -> None:
    (tmp_path / "train.json").write_text(json.dumps(squad(4)))
    data = read_span_data(tmp_path / "train.json")
    tokenizer = tokenizer_of(small_base("mask", family))
    windows = encode_span(tokenizer, family, data, window=64, stride=20)
    assert windows.example.tolist() == list(range(len(data.examples)))
    for at, example in enumerate(data.examples):
        assert row(windows.features, at) == tokenizer(example.question, data.passages[example.passage])["input_ids"]


def test_windows_begin_a_stride_apart_and_reach_the_end(small_base: Base) -> None:
    tokenizer = tokenizer_of(small_base())
    passage = " ".join(["garden", "kitchen", "library", "station", "market", "harbour"] * 5)
    data = SpanData([passage], [SpanExample("Where?", 0, 0, 6, ("garden",))])
    windows = encode_span(tokenizer, "x", data, window=17, stride=4)  # 12 tokens of the passage in each
    assert windows.first.tolist() == [0, 4, 8, 12, 16, 20]
    assert windows.features.tokens.marks["holds"].tolist() == [1, 0, 0, 0, 0, 0]
    alone = encode_span(tokenizer, "x", data, window=17, stride=4, only_answers=True)
    assert alone.first.tolist() == [0]


def test_only_windows_with_the_answer_still_keep_questions_without_one(small_base: Base) -> None:
    tokenizer = tokenizer_of(small_base())
    passage = " ".join(["garden", "kitchen", "library", "station", "market", "harbour"] * 5)
    without = SpanExample("Where?", 0, None, None, ())
    windows = encode_span(tokenizer, "x", SpanData([passage], [without]), window=17, stride=4, only_answers=True)
    assert len(windows.features) == 6
    assert set(windows.features.labels["start_positions"].tolist()) == {0}


def test_an_answer_longer_than_a_window_is_left_out_and_counted(small_base: Base) -> None:
    tokenizer = tokenizer_of(small_base())
    passage = " ".join(["garden", "kitchen", "library"] * 6)
    long = SpanExample("Where?", 0, 0, len(passage), (passage,))
    short = SpanExample("Where?", 0, 0, 6, ("garden",))
    windows = encode_span(tokenizer, "x", SpanData([passage], [long, short]), window=16, stride=4, only_answers=True)
    assert windows.left_out == 1
    assert set(windows.example.tolist()) == {1}
    with pytest.raises(DataError, match="no answer is in a window"):
        encode_span(tokenizer, "x", SpanData([passage], [long]), window=16, stride=4, only_answers=True)


def test_a_window_without_room_is_refused(small_base: Base) -> None:
    question = " ".join(["Where"] * 30)
    data = SpanData(["Anna went."], [SpanExample(question, 0, 0, 4, ("Anna",))])
    with pytest.raises(DataError, match="a window of 16 tokens has no room after a question of 30"):
        encode_span(tokenizer_of(small_base()), "x", data, window=16, stride=4)


@pytest.mark.parametrize("family", FAMILIES)
def test_training_on_choices_computes_what_an_audit_computes(
    tmp_path: Path, social_iqa: Callable[..., Path], small_base: Base, family: str
) -> None:
    """The same tensors go into the network, so the logits agree: the base here is a choice model."""
    import torch
    import transformers

    data = read_choice_data(social_iqa(tmp_path, rows=10))
    audited: Any = load_model(small_base("choice", family), device="cpu")
    seen: list[dict[str, Any]] = []
    audited._model.register_forward_pre_hook(lambda _, __, given: seen.append(dict(given)), with_kwargs=True)
    logits = audited.forward(audited.encode(ChoiceColumns.of(data.queries)))["score"]

    from assay.lab.training import KINDS, _batches
    from assay.lab.training.base_model import load_base, opened_base
    from assay.lab.training.training_kind import settings_of

    settings, _ = settings_of(KINDS["choice"], None, {"length": 64})
    with opened_base(small_base("choice", family), KINDS["choice"], "cpu") as base:
        loaded = load_base(base, KINDS["choice"], settings, 0)
        choices = encode_choice(loaded.tokenizer, base.name, data, length=64)
        tensors = _batches(loaded, choices.features, settings, KINDS["choice"], 0)(range(10))
    assert tensors.pop("labels").tolist() == data.labels
    assert set(tensors) == set(seen[-1])
    for name, values in tensors.items():
        assert torch.equal(values, seen[-1][name]), name
    plain = transformers.AutoModelForMultipleChoice.from_pretrained(small_base("choice", family)[3:]).eval()
    with torch.inference_mode():
        assert np.allclose(plain(**tensors).logits.numpy(), logits, atol=1e-5)


def test_a_long_context_loses_its_end_in_all_options_alike(
    tmp_path: Path, social_iqa: Callable[..., Path], small_base: Base
) -> None:
    tokenizer = tokenizer_of(small_base("choice"))
    data = read_choice_data(social_iqa(tmp_path, rows=6))
    uneven = [
        type(query)(query.context, query.question, (*query.options[:2], f"{query.options[2]} and then the station"))
        for query in data.queries
    ]
    whole = encode_choice(tokenizer, "x", ChoiceData(uneven, data.labels, data.contexts), length=64)
    short = encode_choice(tokenizer, "x", ChoiceData(uneven, data.labels, data.contexts), length=20)
    assert (whole.cut, short.cut) == (0, 6)
    for at, query in enumerate(uneven):
        long_rows = option_rows(whole.features.tokens.take(np.array([at])))
        rows = option_rows(short.features.tokens.take(np.array([at])))
        assert rows.lengths.max() == 20
        removed = set((long_rows.lengths - rows.lengths).tolist())
        assert removed == {int(long_rows.lengths.max()) - 20}  # as much from each
        for option in range(3):
            ids = rows.ids[rows.offsets[option] : rows.offsets[option + 1]].tolist()
            full = tokenizer(query.context, f"{query.question} {query.options[option]}")["input_ids"]
            kept = int(rows.second[option]) - 1  # the first token and the context, without the separator
            assert ids[:kept] == full[:kept]
            assert ids[kept:] == full[-(len(ids) - kept) :]


def test_questions_that_leave_no_room_for_a_context_are_left_out(
    tmp_path: Path, social_iqa: Callable[..., Path], small_base: Base
) -> None:
    data = read_choice_data(social_iqa(tmp_path, rows=3))
    long = " ".join(["the station"] * 12)
    data.queries[1] = type(data.queries[1])("Anna sat down.", "Where?", (long, long, long))
    choices = encode_choice(tokenizer_of(small_base("choice")), "x", data, length=24)
    assert (choices.rows.tolist(), choices.left_out) == ([0, 2], 1)
    assert choices.features.labels["labels"].tolist() == [data.labels[0], data.labels[2]]
    with raises("too-long", DataError, key="length"):
        encode_choice(tokenizer_of(small_base("choice")), "x", data, length=8)


def test_blocks_hold_the_texts_one_behind_the_other(prose: Callable[..., str], small_base: Base) -> None:
    tokenizer = tokenizer_of(small_base())
    lines = prose(40).splitlines()
    blocks, n_texts = encode_text(tokenizer, lines, length=16, apart=False)
    whole = [token for line in lines for token in tokenizer(line, add_special_tokens=False)["input_ids"]]
    inner = [row(blocks, at)[1:-1] for at in range(len(blocks))]
    assert {len(ids) for ids in inner} == {14}
    assert [token for ids in inner for token in ids] == whole[: len(whole) // 14 * 14]
    assert n_texts == 40
    for at in range(len(blocks)):
        ids = row(blocks, at)
        assert (ids[0], ids[-1]) == (tokenizer.cls_token_id, tokenizer.sep_token_id)


def test_blocks_apart_begin_with_every_text_and_cut_long_ones(small_base: Base) -> None:
    tokenizer = tokenizer_of(small_base())
    texts = ["Anna went to the garden.", "Ben sat down.", " ".join(["station"] * 20)]
    blocks, _ = encode_text(tokenizer, texts, length=10, apart=True)
    said = [tokenizer.decode(row(blocks, at)[1:-1]) for at in range(len(blocks))]
    assert said == ["anna went to the garden.", "ben sat down.", *[" ".join(["station"] * n) for n in (8, 8, 4)]]


def test_a_stream_is_read_no_further_than_the_blocks_need(small_base: Base) -> None:
    read = 0

    def endless() -> Any:
        nonlocal read
        rng = random.Random(0)
        while True:
            read += 1
            yield " ".join(rng.choices(["garden", "kitchen"], k=10))

    blocks, n_texts = encode_text(tokenizer_of(small_base()), endless(), length=16, apart=False, most=50)
    assert len(blocks) == 50
    assert read <= 2000
    assert n_texts == 70  # of 10 tokens each, for 50 blocks with 14 between their special tokens


def test_texts_that_were_only_read_ahead_are_not_counted(small_base: Base) -> None:
    texts = ["Anna went to the garden.", "Ben", *["Clara sat down."] * 500]
    blocks, n_texts = encode_text(tokenizer_of(small_base()), texts, length=16, apart=True, most=4)
    assert (len(blocks), n_texts) == (4, 5)  # one of them is too short for a block


def test_a_text_of_nothing_is_refused(small_base: Base) -> None:
    with raises("empty-file", DataError):
        encode_text(tokenizer_of(small_base()), [], length=16, apart=False)


def test_token_types_are_those_of_audits(tmp_path: Path, social_iqa: Callable[..., Path], small_base: Base) -> None:
    data = read_choice_data(social_iqa(tmp_path, rows=4))
    choices = encode_choice(tokenizer_of(small_base("choice")), "x", data, length=64)
    arrays = Batches(choices.features, pad=0, typed=True).arrays([0, 1, 2, 3])
    assert arrays["input_ids"].shape == arrays["token_type_ids"].shape
    assert arrays["input_ids"].shape[:2] == (4, 3)
    separators = arrays["input_ids"] == 3
    first = separators.argmax(-1)[..., None]  # types are 1 behind the first separator, up to the last
    place = np.arange(separators.shape[-1])
    last = separators.shape[-1] - 1 - separators[..., ::-1].argmax(-1)[..., None]
    assert np.array_equal(arrays["token_type_ids"], ((place > first) & (place <= last)).astype(int))
