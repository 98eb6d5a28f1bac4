"""Other tools' logs of BBQ, read as examples with the answers that somebody's model gave.

Inspect's are read in `inspect_ai.py`, those of lm-evaluation-harness here. Its `--log_samples` writes
samples_TASK_DATE.jsonl, a line for every example and filter: `doc` is the data set's row, `arguments` what the model
was asked, `resps` what it said before any filter. In a task of multiple choice that is [log-likelihood, greedy] for
every continuation, numbers as text; there are twelve, the two people and ten ways to say UNKNOWN, and the likeliest one
is the answer. Otherwise it is what the model wrote, without having seen the options.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from assay.answers import TIED
from assay.errors import DataError
from assay.files.opening import open_text
from assay.probes.bbq.examples import Example
from assay.probes.bbq.logs import inspect_ai
from assay.probes.bbq.logs.rows import Given, Official, Place, complete_example, option_of
from assay.rows import Bad, Row, not_none, rows_of

LM_EVAL, INSPECT = "lm-eval", "inspect"

_HEAD = 1 << 16
_ENDINGS = (".eval", ".json", ".jsonl", ".jsonl.gz", ".jsonl.xz")
_DATED = re.compile(r"_(\d{4}-\d\d-\d\d[^_/]*?)\.jsonl")
_INSPECT_HEAD = re.compile(r'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"(?:status|eval|invalidated)"\s*:')


def log_kind(path: Path) -> str | None:
    """Whose log a file is: LM_EVAL, INSPECT, or None where it is none of theirs."""
    if path.suffix == ".eval" or zipfile.is_zipfile(path):
        return INSPECT
    with open_text(path) as file:
        try:
            head = file.read(_HEAD).lstrip()
            if _INSPECT_HEAD.match(head):
                return INSPECT
            first, ended, _ = head.partition("\n")
            row = json.loads(first if ended else first + file.readline())
        except (ValueError, RecursionError):
            return None
    return LM_EVAL if isinstance(row, dict) and isinstance(row.get("doc"), dict) and "resps" in row else None


def logs_in(folder: Path) -> list[Path]:
    """Every log in a folder and the folders below it, in the order of their names."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name.endswith(_ENDINGS))
    return [path for path in files if log_kind(path) is not None]


def model_of(path: Path, kind: str) -> str:
    """The model whose answers a log holds; empty where nothing says. lm-eval names it in a file beside the samples."""
    if kind == INSPECT:
        return inspect_ai.model_of(path)
    dated = _DATED.search(path.name)
    for beside in sorted(path.parent.glob(f"*_{dated[1]}.json")) if dated else ():
        try:
            found = json.loads(beside.read_text(encoding="utf-8")).get("model_name")
        except (OSError, ValueError, RecursionError, AttributeError):
            continue
        if isinstance(found, str):
            return found
    return ""


def read_log(
    path: Path, kind: str, bad: Bad, official: Official | None = None, notes: list[str] | None = None
) -> Iterator[Given]:
    """The examples of a log with their answers; of several epochs the first, of several filters the first as well.

    `official` completes examples of which the log leaves fields out. What a reader must know goes to `notes` once the
    log is read. An example that is answered twice in the same way comes twice.
    """
    read = _read_lm_eval if kind == LM_EVAL else inspect_ai.read
    found = read(path, bad, official or {}, [] if notes is None else notes)
    return not_none(found, path, "answer that can be used", "Check the log.")


def _read_lm_eval(path: Path, bad: Bad, official: Official, notes: list[str]) -> Iterator[Given]:
    filters: dict[tuple[str, int], str] = {}
    others: Counter[str] = Counter()
    for line, sample in rows_of(path, bad):
        where, name = Place(path, line), str(sample.get("filter"))
        try:
            doc = sample.get("doc")
            if not isinstance(doc, dict):
                problem = '"doc" is missing, expected the example.'
                raise where.bad(problem, "Check the log.", code="missing-key", key="doc")
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
    """What the model said: the likeliest continuation's option, TIED, or its words; None if it said nothing."""
    wrong = partial(where.bad, remedy="Log the samples again.", code="bad-row")
    resps = sample.get("resps")
    if not isinstance(resps, list) or not resps or not all(isinstance(own, list) and own for own in resps):
        raise wrong('"resps" has no response for every request.', key="resps")
    first = [own[0] for own in resps]  # where a request is repeated
    if isinstance(first[0], str):
        return first[0] if first[0].strip() else None
    asked = _asked(sample.get("arguments"))
    if len(asked) != len(first):
        raise wrong(f'"arguments" has {len(asked)} continuations, "resps" {len(first)}.', key="arguments")
    scores: list[tuple[float, int]] = []
    for (context, text), pair in zip(asked, first, strict=True):
        if not context and any(other for other, _ in asked):
            continue  # the continuation without the question, for mutual information
        option = option_of(text, example)
        if option is None:
            problem = f"the continuation {text!r} is none of the example's options, nor a way to say UNKNOWN."
            offer = "Only tasks that offer the options' texts can be scored."
            raise where.bad(problem, offer, code="bad-value", key="arguments")
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


def _asked(arguments: object) -> list[tuple[str, str]]:
    """Contexts and continuations: {"gen_args_0": {"arg_0": context, "arg_1": continuation}, …}, or as lists."""
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(requests, list):
        return []
    parts = [list(one.values()) if isinstance(one, dict) else one for one in requests]
    return [(one[0], one[1]) for one in parts if isinstance(one, list) and [*map(type, one[:2])] == [str, str]]
