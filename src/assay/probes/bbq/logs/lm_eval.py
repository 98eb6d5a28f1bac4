"""Logs of lm-evaluation-harness.

`--log_samples` writes samples_TASK_DATE.jsonl, a line for every example and filter: `doc` is the data set's row,
`arguments` what the model was asked, `resps` what it said before any filter. In a task of multiple choice that is
[log-likelihood, greedy] for every continuation, numbers as text; there are twelve, the two people and ten ways to say
UNKNOWN, and the likeliest one is the answer. Otherwise it is what the model wrote, without having seen the options.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from assay.errors import DataError
from assay.probes.bbq.examples import Example
from assay.probes.bbq.logs.rows import Given, Official, Place, complete_example, option_of
from assay.rows import Bad, Row, rows_of


def read(path: Path, bad: Bad, official: Official, notes: list[str]) -> Iterator[Given]:
    filters: dict[tuple[str, int], str] = {}
    others: Counter[str] = Counter()
    for line, sample in rows_of(path, bad):
        where, name = Place(path, line), str(sample.get("filter"))
        try:
            doc = sample.get("doc")
            if not isinstance(doc, dict):
                raise where.bad(
                    '"doc" is missing, expected the example.', "Check the log.", code="missing-key", key="doc"
                )
            example = complete_example(doc, official, where)
            if filters.setdefault((example.category, example.example_id), name) != name:
                others[name] += 1
                continue
            given = Given(example, _response(sample, example, where), line, letters=False)
        except DataError as error:
            bad.found(error)
        else:
            yield given
    if others:
        which = ", ".join(sorted(others))
        notes.append(f"{path.name}: {others.total():,} lines of further filters ({which}) repeat answers; left out")


def _response(sample: Row, example: Example, where: Place) -> int | str | None:
    """What the model said: the likeliest continuation's option (None if two options tie), or its words."""
    resps = sample.get("resps")
    if not isinstance(resps, list) or not resps or not all(isinstance(own, list) and own for own in resps):
        raise where.bad(
            '"resps" has no response for every request.', "Log the samples again.", code="bad-row", key="resps"
        )
    first = [own[0] for own in resps]  # where a request is repeated
    if isinstance(first[0], str):
        return first[0] if first[0].strip() else None
    asked = _asked(sample.get("arguments"))
    if len(asked) != len(first):
        raise where.bad(
            f'"arguments" has {len(asked)} continuations, "resps" {len(first)}.',
            "Log the samples again.",
            code="bad-row",
            key="arguments",
        )
    scores: list[tuple[float, int]] = []
    for (context, text), pair in zip(asked, first, strict=True):
        if not context and any(other for other, _ in asked):
            continue  # the continuation without the question, for mutual information
        option = option_of(text, example)
        if option is None:
            raise where.bad(
                f"the continuation {text!r} is none of the example's options, nor a way to say UNKNOWN.",
                "Only tasks that offer the options' texts can be scored.",
                code="bad-value",
                key="arguments",
            )
        scores.append((_number(pair, where), option))
    best = max(score for score, _ in scores)
    chosen = {option for score, option in scores if score == best}
    return chosen.pop() if len(chosen) == 1 and not any(math.isnan(score) for score, _ in scores) else None


def _asked(arguments: object) -> list[tuple[str, str]]:
    """Contexts and continuations: {"gen_args_0": {"arg_0": context, "arg_1": continuation}, …}, or as lists."""
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(requests, list):
        return []
    parts = [list(one.values()) if isinstance(one, dict) else one for one in requests]
    return [(one[0], one[1]) for one in parts if isinstance(one, list) and [*map(type, one[:2])] == [str, str]]


def _number(pair: object, where: Place) -> float:
    try:
        if isinstance(pair, list):
            return float(pair[0])
    except (ValueError, TypeError, IndexError):
        pass
    raise where.bad(
        f'"resps" has {pair!r}, expected a log-likelihood.', "Log the samples again.", code="bad-value", key="resps"
    )
