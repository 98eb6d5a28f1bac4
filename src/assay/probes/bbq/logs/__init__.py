"""Other tools' logs of BBQ, read as examples with a model's answers.

`inspect_ai.py` reads those of Inspect, this module those of lm-evaluation-harness. Its `--log_samples` writes
samples_TASK_DATE.jsonl, with a line for every example and filter: `doc` is the data set's row, `arguments` the request,
`resps` the response before any filter. In a multiple-choice task that is [log-likelihood, greedy] for every
continuation, with numbers as text; there are twelve, the two people and ten phrasings of UNKNOWN, and the likeliest is
the answer. Otherwise it is what the model wrote, without having seen the options.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from assay.answers import TIED
from assay.errors import DataError
from assay.files.decoding import json_value
from assay.files.opening import read_whole
from assay.files.rows import AnswerFileKind, BadRows, Row, kind_of, read_rows, require_any
from assay.probes.bbq.items import Item
from assay.probes.bbq.logs import inspect_ai
from assay.probes.bbq.logs.log_rows import LoggedAnswer, LogLocation, Official, complete_example, option_of

LOGS = frozenset({AnswerFileKind.LM_EVAL, AnswerFileKind.INSPECT})

_ENDINGS = (".eval", ".json", ".jsonl", ".jsonl.gz", ".jsonl.xz")
_DATED = re.compile(r"_(\d{4}-\d\d-\d\d[^_/]*?)\.jsonl")


def log_kind(path: Path) -> AnswerFileKind | None:
    """Whose log a file is; None if it is not a log."""
    kind = kind_of(path)
    return kind if kind in LOGS else None


def logs_in(folder: Path) -> list[Path]:
    """All logs in a folder and its subfolders, sorted by name."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name.endswith(_ENDINGS))
    return [path for path in files if log_kind(path) is not None]


def model_of(path: Path, kind: str) -> str:
    """The model whose answers a log holds; empty if unknown. lm-eval names it in the results next to the samples."""
    if kind == AnswerFileKind.INSPECT:
        return inspect_ai.model_of(path)
    dated = _DATED.search(path.name)
    for beside in sorted(path.parent.glob(f"*_{dated[1]}.json")) if dated else ():
        try:
            model = json_value(read_whole(beside)).get("model_name")
        except (OSError, ValueError, RecursionError, AttributeError):
            continue
        if isinstance(model, str):
            return model
    return ""


def read_log(
    path: Path, kind: str, bad: BadRows, official: Official | None = None, notes: list[str] | None = None
) -> Iterator[LoggedAnswer]:
    """The examples of a log with their answers, from the first epoch and the first filter only.

    `official` completes examples with missing fields. Notes for the reader go to `notes` once the log is read. An
    example that has two answers comes twice.
    """
    read = _read_lm_eval if kind == AnswerFileKind.LM_EVAL else inspect_ai.read
    answers = read(path, bad, official or {}, [] if notes is None else notes)
    return require_any(answers, path, "usable answer", "Check the log.")


def _read_lm_eval(path: Path, bad: BadRows, official: Official, notes: list[str]) -> Iterator[LoggedAnswer]:
    filters: dict[tuple[str, int], str] = {}
    others: Counter[str] = Counter()
    for line, sample in read_rows(path, bad):
        location, name = LogLocation(path, line), str(sample.get("filter"))
        try:
            doc = sample.get("doc")
            if not isinstance(doc, dict):
                problem = '"doc" is missing, expected the example.'
                raise location.bad(problem, "Check the log.", code="missing-key", key="doc")
            example = complete_example(doc, official, location)
            if filters.setdefault((example.category, example.example_id), name) != name:
                others[name] += 1
                continue
            answer = LoggedAnswer(example, _response(sample, example, location), line, letters=False)
        except DataError as error:
            bad.found(error)
        else:
            yield answer
    if others:
        which = ", ".join(sorted(others))
        notes.append(f"{path.name}: {others.total():,} lines of further filters ({which}) repeat answers; left out")


def _response(sample: Row, example: Item, location: LogLocation) -> int | str | None:
    """What the model said: the likeliest continuation's option, TIED, or its words; None if it said nothing."""
    wrong = partial(location.bad, remedy="Log the samples again.", code="bad-row")
    resps = sample.get("resps")
    if not isinstance(resps, list) or not resps or not all(isinstance(resp, list) and resp for resp in resps):
        raise wrong('"resps" has no response for every request.', key="resps")
    first = [resp[0] for resp in resps]  # where a request is repeated
    if isinstance(first[0], str):
        return first[0] if first[0].strip() else None
    continuations = _continuations(sample.get("arguments"))
    if len(continuations) != len(first):
        raise wrong(f'"arguments" has {len(continuations)} continuations, "resps" {len(first)}.', key="arguments")
    scores: list[tuple[float, int]] = []
    for (context, text), pair in zip(continuations, first, strict=True):
        if not context and any(other_context for other_context, _ in continuations):
            continue  # the continuation without the question, for mutual information
        option = option_of(text, example)
        if option is None:
            problem = f"the continuation {text!r} is none of the example's options, nor a way to say UNKNOWN."
            offer = "Only tasks that offer the options' texts can be scored."
            raise location.bad(problem, offer, code="bad-value", key="arguments")
        try:
            score = float(pair[0] if isinstance(pair, list) else "")
        except (ValueError, TypeError, IndexError):
            raise wrong(f'"resps" has {pair!r}, expected a log-likelihood.', code="bad-value", key="resps") from None
        scores.append((score, option))
    if any(math.isnan(score) for score, _ in scores):
        return None
    best = max(score for score, _ in scores)
    chosen = {option for score, option in scores if score == best}
    return chosen.pop() if len(chosen) == 1 else TIED


def _continuations(arguments: object) -> list[tuple[str, str]]:
    """Contexts and continuations: {"gen_args_0": {"arg_0": context, "arg_1": continuation}, …}, or as lists."""
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(requests, list):
        return []
    parts = [list(request.values()) if isinstance(request, dict) else request for request in requests]
    return [(part[0], part[1]) for part in parts if isinstance(part, list) and [*map(type, part[:2])] == [str, str]]
