"""Evaluation against the plainest programs: single windows by transformers' own tokenizer, loops over all spans."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.lab.training import evaluate, train
from assay.lab.training.scores import exact_match, token_f1
from assay.lab.training.span import SpanData, read_span_data

pytestmark = pytest.mark.training

Base = Callable[..., str]
WINDOW, STRIDE = 28, 6


def predictions(folder: str, data: SpanData, none_allowed: bool, only_answers: bool = False) -> list[str]:
    """What a model answers: the best span of all windows of a question, one after the other."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    answers = []
    for example in data.examples:
        passage = data.passages[example.passage]
        question = len(tokenizer(example.question)["input_ids"])
        overlap = WINDOW - question - 1 - STRIDE
        encoded = tokenizer(
            example.question,
            passage,
            truncation="only_second",
            max_length=WINDOW,
            stride=overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        best, text, nothing = -math.inf, "", math.inf
        for at, ids in enumerate(encoded["input_ids"]):
            ranges = encoded["offset_mapping"][at]
            inside = [place for place, part in enumerate(encoded.sequence_ids(at)) if part == 1]
            if only_answers and example.start is not None and example.end is not None:
                held = ranges[inside[0]][0] <= example.start and example.end <= ranges[inside[-1]][1]
                if not held:
                    continue
            types = [
                [
                    int(part == 1 or (part is None and place > inside[0]))
                    for place, part in enumerate(encoded.sequence_ids(at))
                ]
            ]
            with torch.inference_mode():
                out = model(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor(types))
            start, end = out.start_logits[0].tolist(), out.end_logits[0].tolist()
            nothing = min(nothing, start[0] + end[0])
            for first in inside:
                for last in inside:
                    if first <= last < first + 30 and start[first] + end[last] > best:
                        best = start[first] + end[last]
                        text = passage[ranges[first][0] : ranges[last][1]]
        answers.append("" if none_allowed and nothing > best else text)
    return answers


@pytest.mark.parametrize("version", [1, 2])
def test_em_and_f1_are_those_of_the_plainest_program(
    tmp_path: Path, squad: Callable[..., Any], small_base: Base, version: int
) -> None:
    (tmp_path / "dev.json").write_text(json.dumps(squad(10, version=version)))
    data = read_span_data(tmp_path / "dev.json")
    trained = train(
        "span",
        small_base("mask"),
        tmp_path / "dev.json",
        tmp_path / "out",
        settings={"window": WINDOW, "stride": STRIDE, "rate": 3e-3, "epochs": 12, "batch": 8},
        evaluation=tmp_path / "dev.json",
        device="cpu",
    )
    assert trained.scores is not None
    given = predictions(str(trained.folder), data, none_allowed=version == 2)
    for metric, rule in {"em": exact_match, "f1": token_f1}.items():
        each = [rule(text, example.answers) for text, example in zip(given, data.examples, strict=True)]
        assert trained.scores[metric].value == pytest.approx(float(np.mean(each)))
        assert 0.2 < float(np.mean(each)) < 1  # neither is trivial
    assert trained.scores["f1"].n == 30
    assert (trained.scores.unit, trained.scores.units) == ("passage", 10)
    parts = {each.group.get("questions"): each.n for each in trained.scores.estimates if each.metric == "em"}
    assert parts == ({None: 30, "answerable": 20, "unanswerable": 10} if version == 2 else {None: 30})
    if version == 2:
        assert "" in given
        assert set(given) != {""}


def test_windows_with_the_answer_are_scored_apart_where_only_they_were_learnt_from(
    tmp_path: Path, squad: Callable[..., Any], small_base: Base
) -> None:
    (tmp_path / "dev.json").write_text(json.dumps(squad(8)))
    data, base = read_span_data(tmp_path / "dev.json"), small_base("span")
    settings = {"window": WINDOW, "stride": STRIDE, "windows": "answer"}
    found = evaluate("span", base, tmp_path / "dev.json", settings=settings, device="cpu")
    values = {(each.metric, each.group.get("windows")): each.value for each in found.estimates}
    assert set(values) == {(metric, part) for metric in ("em", "f1") for part in (None, "answer")}
    for part in (None, "answer"):
        given = predictions(base[3:], data, none_allowed=False, only_answers=part == "answer")
        expected = np.mean([token_f1(text, each.answers) for text, each in zip(given, data.examples, strict=True)])
        assert values["f1", part] == pytest.approx(float(expected))
    assert any("upper bound" in note for note in found.notes)


def test_perplexity_is_that_of_the_hidden_words(tmp_path: Path, prose: Callable[..., str], small_base: Base) -> None:
    import torch
    import transformers

    from assay.lab.training import KINDS
    from assay.lab.training.mask import MaskTest
    from assay.lab.training.training_kind import settings_of
    from assay.models import find_model
    from assay.models.hf import load_tokenizer

    (tmp_path / "text.txt").write_text(prose(30))
    settings, _ = settings_of(KINDS["mask"], None, {"length": 20})
    tokenizer = load_tokenizer(find_model(small_base()))
    test = KINDS["mask"].test(tmp_path / "text.txt", tokenizer, "x", settings, 0, len(tokenizer))
    assert isinstance(test, MaskTest)
    model = transformers.AutoModelForMaskedLM.from_pretrained(small_base()[3:]).eval()
    losses: list[float] = []
    for row in range(len(test.hidden)):
        lo, hi = test.hidden.offsets[row : row + 2].tolist()
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([test.hidden.ids[lo:hi].tolist()])).logits[0]
        for place, label in enumerate(test.labels.ids[lo:hi].tolist()):
            if label >= 0:
                losses.append(-float(logits[place].log_softmax(-1)[label]))
    found = evaluate("mask", small_base(), tmp_path / "text.txt", settings={"length": 20}, device="cpu")["perplexity"]
    assert found.value == pytest.approx(math.exp(float(np.mean(losses))), rel=1e-4)
    assert found.n == len(losses)


def test_the_built_in_model_is_evaluated_by_its_name(tmp_path: Path, social_iqa: Callable[..., Path]) -> None:
    found = evaluate("choice", "builtin", social_iqa(tmp_path, rows=20), device="cpu")
    assert found["accuracy"].value > 0.8
