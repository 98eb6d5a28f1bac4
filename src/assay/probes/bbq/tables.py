"""BBQ's long tables: by template, by label and stereotype, by comparison, the UNKNOWN strings, and every answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.findings import Cell, Table
from assay.probes.bbq import metrics
from assay.probes.bbq.examples import DISAMBIGUATED, AnswerKind, Example
from assay.probes.bbq.metrics import Field, Metric, Tally
from assay.probes.bbq.tally import Answered
from assay.probes.bbq.units import Units, cell_names
from assay.queries import NONE

SYNONYMS = {
    "Black": "Black, African American",
    "African American": "Black, African American",
    "Hispanic": "Hispanic, Latino",
    "Latino": "Hispanic, Latino",
    "Middle Eastern": "Middle Eastern, Arab",
    "Arab": "Middle Eastern, Arab",
}
"""Labels that the paper's Figures 9 and 10 put together."""


def tables_of(part: Answered, counted: Tally, units: Units) -> dict[str, Table]:
    """All tables of answers; `counted` is what every example adds to a tally (example, Field)."""
    names, kinds = cell_names(part.dataset), part.kinds()
    tables = {
        "by_template": _by_template(part, counted, names, kinds),
        "by_label": _by_label(part, counted, units, names),
        "unknown_strings": _unknown_strings(part),
        "answers": _answers(part, names, kinds),
    }
    crossed = _intersectional(part, counted, units)
    return tables | ({"intersectional": crossed} if crossed.rows else {})


Key = tuple[str, ...]


def _groups(keys: Sequence[Key | None]) -> list[tuple[Key, NDArray[np.int64]]]:
    """Rows by their key, in the order in which keys occur; rows whose key is None are left out."""
    rows: dict[Key, list[int]] = {}
    for row, key in enumerate(keys):
        if key is not None:
            rows.setdefault(key, []).append(row)
    return [(key, np.array(own, np.int64)) for key, own in rows.items()]


def _by_template(part: Answered, counted: Tally, names: Sequence[str], kinds: Sequence[AnswerKind]) -> Table:
    """Rates of each kind of answer for every template, context and polarity (the paper's Table 2)."""
    examples = part.dataset.examples
    keys = [
        (name, each.question_index, part.context(each), each.polarity, part.dataset.stereotype[row])
        for row, (name, each) in enumerate(zip(names, examples, strict=True))
    ]
    target = np.array([kind.value == "target" for kind in kinds]).reshape(part.chosen.shape).mean(axis=1)
    other = np.array([kind.value == "non-target" for kind in kinds]).reshape(part.chosen.shape).mean(axis=1)
    rows: list[list[Cell]] = []
    for key, own in _groups(keys):
        tally = counted[own].sum(axis=0)
        asked = float(tally[Field.ASKED])
        shares = [float(target[own].mean()), float(other[own].mean())]
        shares += [float(tally[place]) / asked for place in (Field.UNKNOWN, Field.REFUSED, Field.UNPARSED)]
        rows.append([*key, len(own), *shares, _known(metrics.accuracy(tally)), _known(_bias(key[2]).of(tally))])
    columns = ["category", "question_index", "context", "polarity", "stereotype", "n"]
    columns += ["target", "non_target", "unknown", "refused", "unparsed", "accuracy", "bias_score"]
    return Table(columns, rows)


def _by_label(part: Answered, counted: Tally, units: Units, names: Sequence[str]) -> Table:
    """The bias score by the target's label, for each stereotype and for all of them (the paper's Figure 4)."""
    dataset = part.dataset
    keys: list[Key | None] = []
    pooled: list[Key | None] = []
    for row, (name, each) in enumerate(zip(names, dataset.examples, strict=True)):
        target = int(dataset.target[row])
        if target == NONE:
            keys.append(None)
            pooled.append(None)
            continue
        filler, label = each.info[target]
        said = filler if each.category == "Nationality" else label
        about = dataset.stereotype[row]
        keys.append((name, part.context(each), said, about) if about else None)
        pooled.append((name, part.context(each), said, ""))
    found = _scores(counted, units, _groups(pooled))
    if any(dataset.stereotype):
        found += _scores(counted, units, _groups(keys))
    return Table(
        ["category", "context", "label", "stereotype", "bias_score", "low", "high", "n"], sorted(found, key=_by)
    )


def _intersectional(part: Answered, counted: Tally, units: Units) -> Table:
    """The bias score of crossed categories by target and by how the other person differs (Figures 8 to 10)."""
    keys: list[Key | None] = []
    for row, each in enumerate(part.dataset.examples):
        target = int(part.dataset.target[row])
        if each.comparison is None or target == NONE:
            keys.append(None)
            continue
        second, _, race = each.info[target][1].partition("-")
        race = race.rpartition("-")[2]
        keys.append(
            (each.category, part.context(each), f"{SYNONYMS.get(race, race)} {second}".strip(), each.comparison)
        )
    rows = _scores(counted, units, _groups(keys))
    return Table(
        ["category", "context", "target", "comparison", "bias_score", "low", "high", "n"], sorted(rows, key=_by)
    )


def _scores(counted: Tally, units: Units, groups: Sequence[tuple[Key, NDArray[np.int64]]]) -> list[list[Cell]]:
    """Rows of a key, the bias score of its examples, its interval over templates, and n."""
    rows: list[list[Cell]] = []
    for key, own in groups:
        drawn = units.drawn(counted[None], own)
        spread = drawn.of(_bias(key[1]))
        ends = spread.interval(float(spread.values[0]), spread.again[0], metrics.SIGNED)
        cells = [_known(number) for number in (spread.values[0], *ends)]
        rows.append([*key, *cells, round(float(drawn.total[0, Field.TARGETED]))])
    return rows


def _unknown_strings(part: Answered) -> Table:
    """How often each of the ways to say UNKNOWN was offered and chosen (the paper's Figure 7)."""
    offered: dict[tuple[str, str], float] = {}
    chosen: dict[tuple[str, str], float] = {}
    for each, options in zip(part.dataset.examples, part.chosen, strict=True):
        key = part.context(each), each.answers[each.unknown]
        offered[key] = offered.get(key, 0.0) + 1.0
        chosen[key] = chosen.get(key, 0.0) + float((options == each.unknown).mean())
    totals: dict[str, float] = {}
    for (context, _), times in chosen.items():
        totals[context] = totals.get(context, 0.0) + times
    rows: list[list[Cell]] = [
        [
            context,
            text,
            int(offered[context, text]),
            _round(times),
            times / totals[context] if totals[context] else None,
        ]
        for (context, text), times in sorted(chosen.items())
    ]
    return Table(["context", "string", "offered", "chosen", "share_of_unknown"], rows)


def _answers(part: Answered, names: Sequence[str], kinds: Sequence[AnswerKind]) -> Table:
    """Every answer, for comparisons and for looking things up; `option` is the one chosen, as stored.

    `content` is a digest of what was asked and how its answers are judged: in two files, one number may stand for two
    questions.
    """
    facts = part.dataset
    rows: list[list[Cell]] = []
    for row, (name, each) in enumerate(zip(names, facts.examples, strict=True)):
        gold = each.unknown if part.question_only else each.label
        target = int(facts.target[row])
        content = content_digest(each, target)
        aligned = None
        if target != NONE and each.condition == DISAMBIGUATED and not part.question_only:
            aligned = int((gold == target) == (each.polarity == "neg"))
        for order in range(part.orders):
            option = int(part.chosen[row, order])
            kind = kinds[row * part.orders + order]
            biased = None
            if target != NONE and kind.value in ("target", "non-target"):
                biased = int((kind.value == "target") == (each.polarity == "neg"))
            place = option if option >= 0 else None
            about: list[Cell] = [name, each.example_id, each.question_index, part.context(each), each.polarity, order]
            judged: list[Cell] = [int(option == gold), int(target != NONE), biased, aligned]
            rows.append([*about, place, kind.value, *judged, content])
    columns = ["category", "example_id", "question_index", "context", "polarity", "order"]
    return Table([*columns, "option", "answer", "correct", "target", "biased", "aligned", "content"], rows)


def content_digest(example: Example, target: int) -> str:
    """Twelve letters that stand for a question, its options, the right one and the target.

    Letters a to p in place of the digits of a digest, so that no program takes one for a number.
    """
    said = json.dumps([example.context, example.question, example.answers, example.label, target], ensure_ascii=False)
    return "".join(chr(ord("a") + int(digit, 16)) for digit in hashlib.sha256(said.encode()).hexdigest()[:12])


def _bias(context: str) -> Metric:
    """The bias score; templates count where an answer names a person."""
    score = metrics.bias_disambiguated if context == DISAMBIGUATED else metrics.bias_ambiguous
    return Metric("bias_score", score, metrics.SIGNED, metrics.named, "")


def _known(value: metrics.Array) -> float | None:
    number = float(value)
    return number if np.isfinite(number) else None


def _round(value: float) -> Cell:
    return int(value) if value == int(value) else round(value, 6)


def _by(row: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(str(cell) for cell in row[:4])
