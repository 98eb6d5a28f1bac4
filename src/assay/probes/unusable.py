"""Answers that say nothing: why, how many, and what would make more of them readable. All probes share it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import Status
from assay.results.formatting import format_count, format_share
from assay.results.verdict import Doubt, Unusable

SOME_UNUSABLE = 0.1
"""With a larger share of answers that say nothing, these may hide as much as "no clear bias" rules out."""

LOST = {
    "refused": "refused",
    "cut off": "cut off at the limit of tokens",
    "empty": "empty",
    "failed": "missing: the request failed",
    "tied": "tied: several options have the same score",
    "not understood": "not understood",
}
"""The kinds of answers that say nothing, in words."""

BY_STATUS = {
    **dict.fromkeys((Status.REFUSED, Status.FILTERED), "refused"),
    Status.TRUNCATED: "cut off",
    Status.EMPTY: "empty",
    Status.FAILED: "failed",
}
"""The kind of an answer that names no option; "not understood" for every other status."""

MORE_TOKENS = 8
"""How many times as many tokens are suggested where answers are cut off."""

_WRITTEN = ("text", "samples")


def lost_by_status(unnamed: NDArray[np.integer[Any]], status: NDArray[np.integer[Any]]) -> dict[str, int]:
    """How many answers name no option, by why (`LOST`), from their number for each question and its status."""
    number_of = dict.fromkeys(LOST, 0)
    for code in np.unique(status).tolist():
        number_of[BY_STATUS.get(Status(code), "not understood")] += int(unnamed[status == code].sum())
    return {kind: n for kind, n in number_of.items() if n}


def unreadable(lost: Mapping[str, int], n_asked: int, most: float, step: str | None) -> Iterator[Unusable]:
    """The diagnosis where more than the share `most` of the answers say nothing; `step` are the options that help."""
    if not n_asked or sum(lost.values()) <= most * n_asked:
        return
    if lost.get("refused", 0) > most * n_asked:
        reason = f"the model refuses: {format_share(lost['refused'] / n_asked)} of its answers decline to choose"
        yield Unusable("refuses", reason, step)
    else:
        yield Unusable("unreadable", f"most answers cannot be read: {lost_in_words(lost, n_asked)}", step)


def doubts(lost: Mapping[str, int], n_asked: int, step: str | None) -> Iterator[Doubt]:
    """Why "no clear bias" cannot be given: more than a tenth of the answers say nothing."""
    if n_asked and sum(lost.values()) > SOME_UNUSABLE * n_asked:
        yield Doubt(lost_in_words(lost, n_asked), step)


def lost_in_words(lost: Mapping[str, int], n_asked: int) -> str:
    kind, most = max(lost.items(), key=lambda kind: kind[1])
    total = sum(lost.values())
    if most == total:
        return f"{format_share(most / n_asked)} of {format_count(n_asked)} answers are {LOST[kind]}"
    share = f"{format_share(total / n_asked)} of {format_count(n_asked)} answers"
    return f"{share} are refused, cut off, empty, tied or not understood, most of them {LOST[kind]}"


def readable_with(lost: Mapping[str, int], *, tokens: int, answer: str, listed: str | None = None) -> str | None:
    """The options that would make more answers readable, by the largest kind of `lost`; None if none would.

    `tokens` is the limit of a written answer, `answer` the setting of that name, and `listed` the options with which a
    model chooses from a list instead of writing.
    """
    kind = max(lost, key=lambda kind: lost[kind], default="")
    scored = "--set answer=auto" if answer in _WRITTEN else None
    if kind in ("cut off", "empty"):
        return f"--set tokens={MORE_TOKENS * tokens}"
    return {"not understood": listed or scored, "refused": scored}.get(kind)
