"""MBBQ's control set: the same questions about two people with names, who belong to no group that is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from assay.asking.queries import NONE
from assay.files.rows import BadRows
from assay.probes.bbq.editions import EditionRow, files_at, mbbq

_NAMES = "MBBQ’s control set has names in place of groups, so that no answer agrees with a stereotype"


def read(path: Path, bad: BadRows) -> Iterator[EditionRow]:
    return (row._replace(target=NONE) for row in mbbq.read(path, bad))


EDITION = replace(
    mbbq.EDITION,
    name="mbbq_control",
    title="MBBQ's control set",
    find=lambda path, language: files_at(path, "mbbq", rf"\w+_control_{language}\.jsonl"),
    read=read,
    without=dict.fromkeys(("bias_score", "error_alignment", "diff_bias", "accuracy_cost"), _NAMES),
    data_set="mbbq",
    parallel="mbbq",
)
