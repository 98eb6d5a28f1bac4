"""Order and masks: functions of the seed and the pass alone, so that they are the same after an interruption."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from assay.asking.tokens import Tokens, starts_of
from assay.lab.training.batches import IGNORED, Batches, Features, RowOrder, hide_tokens
from assay.models.base import PaddedBatch, padded

MASK, SPECIAL = 4, (0, 1, 2, 3, 4)


def features(rows: int = 400, seed: int = 0) -> Features:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(4, 60, rows)
    ids = rng.integers(10, 1000, int(lengths.sum())).astype(np.int32)
    offsets = starts_of(lengths)
    ids[offsets[:-1]], ids[offsets[1:] - 1] = 2, 3
    return Features(Tokens("mask", ids, offsets, lengths.astype(np.int32)))


@pytest.mark.parametrize("grouped", [True, False])
def test_every_row_comes_once_in_every_pass_in_another_order(grouped: bool) -> None:
    order = RowOrder(features().lengths, batch=8, seed=1, grouped=grouped)
    passes = []
    for epoch in (0, 1, 2):
        order.set_epoch(epoch)
        visits = list(order)
        assert sorted(visits) == list(range(epoch * 400, (epoch + 1) * 400))
        passes.append([visit % 400 for visit in visits])
    assert len({tuple(each) for each in passes}) == 3
    again = RowOrder(features().lengths, batch=8, seed=1, grouped=grouped, epoch=2)
    assert [visit % 400 for visit in again] == passes[2]
    assert [visit % 400 for visit in RowOrder(features().lengths, 8, seed=2, grouped=grouped)] != passes[0]


def test_grouped_batches_pad_far_less_and_begin_with_the_longest_row() -> None:
    lengths = features().lengths

    def padding(grouped: bool) -> int:
        rows = list(RowOrder(lengths, batch=8, seed=0, grouped=grouped))
        return sum(int((lengths[part].max() - lengths[part]).sum()) for part in np.array(rows).reshape(-1, 8))

    assert padding(True) < 0.3 * padding(False)
    assert lengths[next(iter(RowOrder(lengths, batch=8, seed=0, grouped=True)))] == lengths.max()


def hide(share: float) -> Any:
    return partial(hide_tokens, share=share, mask=MASK, vocabulary=1000, special=SPECIAL)


def test_masks_hide_words_as_bert_does() -> None:
    tokens = Tokens(
        "mask", np.arange(10, 200_010, dtype=np.int32) % 900 + 10, starts_of(np.full(400, 500)), np.zeros(400)
    )
    rows = padded(tokens, 0)
    ids, labels = hide(0.15)(rows, np.random.default_rng(0))
    chosen = labels != IGNORED
    assert chosen.mean() == pytest.approx(0.15, abs=0.005)
    assert np.array_equal(labels[chosen], rows.ids[chosen])
    assert np.array_equal(ids[~chosen], rows.ids[~chosen])
    hidden, kept = ids[chosen] == MASK, ids[chosen] == rows.ids[chosen]
    assert hidden.mean() == pytest.approx(0.8, abs=0.02)
    assert kept.mean() == pytest.approx(0.1, abs=0.02)
    other = ids[chosen][~hidden & ~kept]
    assert len(other) / chosen.sum() == pytest.approx(0.1, abs=0.02)
    assert len(np.unique(other)) > 800  # from the whole vocabulary


def test_special_tokens_and_padding_are_never_predicted_and_every_row_predicts_something() -> None:
    made = features(rows=300)
    rows = padded(made.tokens, 0)
    _, labels = hide(0.01)(rows, np.random.default_rng(0))
    chosen = labels != IGNORED
    assert chosen.any(1).all()
    assert not (chosen & (rows.there == 0)).any()
    assert not np.isin(rows.ids[chosen], SPECIAL).any()


def test_a_row_of_special_tokens_alone_predicts_nothing() -> None:
    rows = PaddedBatch(np.array([[2, 3, 0]]), np.array([[1, 1, 0]]), np.zeros((1, 3), np.int64))
    ids, labels = hide(0.9)(rows, np.random.default_rng(0))
    assert (ids.tolist(), labels.tolist()) == ([[2, 3, 0]], [[IGNORED] * 3])


def test_masks_depend_on_the_visit_and_on_nothing_else() -> None:
    batches = Batches(features(), 0, typed=False, seed=3, masking=hide(0.15))
    first, later = batches.arrays([5, 9]), batches.arrays([405, 409])  # the same rows in the next pass
    np.random.seed(7)  # what others draw
    again = batches.arrays([5, 9])
    assert np.array_equal(first["input_ids"], again["input_ids"])
    assert not np.array_equal(first["labels"], later["labels"])
    was, is_now = (np.where(each["labels"] != IGNORED, each["labels"], each["input_ids"]) for each in (first, later))
    assert np.array_equal(was, is_now)


def test_other_tokens_and_other_labels_have_other_digests() -> None:
    one = features()
    assert one.digest() == features().digest()
    assert one.digest() != features(seed=1).digest()
    assert Features(one.tokens, {"labels": np.zeros(400, np.int64)}).digest() != one.digest()
