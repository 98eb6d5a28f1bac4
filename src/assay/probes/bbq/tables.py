"""BBQ's long tables: by template, by label and stereotype, by comparison, UNKNOWN strings, and every answer."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import NONE
from assay.probes.bbq import count_answers, metrics
from assay.probes.bbq.count_answers import AnswerKind, Array, Tally, TallyField, if_finite
from assay.probes.bbq.items import DISAMBIGUATED, Dataset, Item
from assay.probes.bbq.tallies import SIGNED, AnsweredItems, ResamplingUnits, TallyMetric
from assay.results.findings import Cell, Table
from assay.stats import sign_flip_p

SYNONYMS = {
    "Black": "Black, African American",
    "African American": "Black, African American",
    "Hispanic": "Hispanic, Latino",
    "Latino": "Hispanic, Latino",
    "Middle Eastern": "Middle Eastern, Arab",
    "Arab": "Middle Eastern, Arab",
}
"""Labels that the paper's Figures 9 and 10 combine."""

_RATES = (TallyField.UNKNOWN, TallyField.REFUSED, TallyField.UNPARSED, TallyField.TIED)

Key = tuple[str, ...]


def tables_of(part: AnsweredItems, counted: Tally, units: ResamplingUnits) -> dict[str, Table]:
    """All tables of answers; `counted` is what every example adds to a tally (example, Field)."""
    tables = {
        "by_template": _by_template(part, counted),
        "by_label": _by_label(part, counted, units),
        "unknown_strings": _unknown_strings(part),
        "answers": _answers(part),
    }
    crossed = _intersectional(part, counted, units)
    return tables | ({"intersectional": crossed} if crossed.rows else {})


def label_of(dataset: Dataset, row: int) -> str | None:
    """The label of the stereotyped person; for nationalities, the filler."""
    example, target = dataset.examples[row], int(dataset.target[row])
    return None if target == NONE else example.info[target][0 if example.category == "Nationality" else 1]


def crossed_of(dataset: Dataset, row: int) -> str | None:
    """Who the stereotyped person of a crossed category is."""
    example, target = dataset.examples[row], int(dataset.target[row])
    if example.comparison is None or target == NONE:
        return None
    second, _, race = example.info[target][1].partition("-")
    race = race.rpartition("-")[2]
    return f"{SYNONYMS.get(race, race)} {second}".strip()


def _groups(keys: Sequence[Key | None]) -> list[tuple[Key, NDArray[np.int64]]]:
    """Rows by their key, in the order in which keys occur; rows whose key is None are left out."""
    rows: dict[Key, list[int]] = {}
    for row, key in enumerate(keys):
        if key is not None:
            rows.setdefault(key, []).append(row)
    return [(key, np.array(key_rows, np.int64)) for key, key_rows in rows.items()]


def _by_template(part: AnsweredItems, counted: Tally) -> Table:
    """Rates of each kind of answer for every template, context and polarity (the paper's Table 2)."""
    data, kind = part.dataset, part.judged.kind
    about = zip(data.cells, data.examples, data.stereotype, strict=True)
    keys = [
        (cell, item.question_index, part.context(item), item.polarity, stereotype) for cell, item, stereotype in about
    ]
    people = [(kind == person).mean(axis=1) for person in (AnswerKind.TARGET, AnswerKind.NON_TARGET)]
    rows: list[list[Cell]] = []
    for key, group_rows in _groups(keys):
        tally = counted[group_rows].sum(axis=0)
        shares = [float(named[group_rows].mean()) for named in people]
        shares += [float(tally[field]) / float(tally[TallyField.ASKED]) for field in _RATES]
        scores = [if_finite(score) for score in (metrics.accuracy(tally), _bias(key[2]).of(tally))]
        rows.append([*key, len(group_rows), *shares, *scores])
    columns = ["category", "question_index", "context", "polarity", "stereotype", "n"]
    columns += ["target", "non_target", "unknown", "refused", "unparsed", "tied", "accuracy", "bias_score"]
    return Table(columns, rows)


def _by_label(part: AnsweredItems, counted: Tally, units: ResamplingUnits) -> Table:
    """The bias score by the target's label, for each stereotype and for all of them (the paper's Figure 4)."""
    data = part.dataset
    keys: list[Key | None] = []
    for row, (cell, item) in enumerate(zip(data.cells, data.examples, strict=True)):
        label = label_of(data, row)
        keys.append(None if label is None else (cell, part.context(item), label, data.stereotype[row]))
    together = [None if key is None else (*key[:3], "") for key in keys]
    single = [key if key is not None and key[3] else None for key in keys]
    return _scores(counted, units, ("label", "stereotype"), _groups(together) + _groups(single))


def _intersectional(part: AnsweredItems, counted: Tally, units: ResamplingUnits) -> Table:
    """The bias score of crossed categories by target and by how the other person differs (Figures 8 to 10)."""
    keys: list[Key | None] = []
    for row, item in enumerate(part.dataset.examples):
        target = crossed_of(part.dataset, row)
        keys.append(None if target is None else (item.category, part.context(item), target, item.comparison or ""))
    return _scores(counted, units, ("target", "comparison"), _groups(keys))


def _scores(
    counted: Tally, units: ResamplingUnits, about: tuple[str, str], groups: Sequence[tuple[Key, NDArray[np.int64]]]
) -> Table:
    """Rows of a key, the bias score of its examples, its interval and p over templates, and n; without q."""
    rows: list[list[Cell]] = []
    for key, group_rows in groups:
        tallies = units.drawn(counted[None], group_rows)
        spread = tallies.of(_bias(key[1]))
        ends = spread.interval(float(spread.values[0]), spread.replicates[0], SIGNED)
        cells = [if_finite(number) for number in (spread.values[0], *ends)]
        p = None if cells[1] is None else float(sign_flip_p(leaning(tallies.tally))[0])
        rows.append([*key, *cells, p, None, round(float(tallies.total[0, TallyField.TARGETED]))])
    rows.sort(key=lambda row: [str(cell) for cell in row[:4]])
    return Table(["category", "context", *about, "bias_score", "low", "high", "p", "q", "n"], rows)


def leaning(tally: Tally) -> Array:
    """How far the answers to each template lean to the stereotype's side (…, unit), from tallies (…, unit, Field)."""
    return np.asarray(tally[..., TallyField.BIASED] - tally[..., TallyField.COUNTER])


def _unknown_strings(part: AnsweredItems) -> Table:
    """How often each phrasing of UNKNOWN was offered and chosen (the paper's Figure 7)."""
    offered: Counter[tuple[str, str]] = Counter()
    chosen: defaultdict[tuple[str, str], float] = defaultdict(float)
    totals: defaultdict[str, float] = defaultdict(float)
    for item, options in zip(part.dataset.examples, part.chosen, strict=True):
        key = part.context(item), item.answers[item.unknown]
        offered[key] += 1
        chosen[key] += float((options == item.unknown).mean())
    for (context, _), times in chosen.items():
        totals[context] += times
    rows: list[list[Cell]] = [
        [*key, offered[key], _round(times), times / totals[key[0]] if totals[key[0]] else None]
        for key, times in sorted(chosen.items())
    ]
    return Table(["context", "string", "offered", "chosen", "share_of_unknown"], rows)


def _answers(part: AnsweredItems) -> Table:
    """Every answer, for comparisons and lookups; `option` is the one chosen, as stored.

    `content` is a digest of the question and how its answers are judged: one number may mean different questions in
    two files. `id` is what the set itself calls the row.
    """
    data, judged = part.dataset, part.judged
    contents = [content_digest(*each) for each in zip(data.examples, data.target.tolist(), strict=True)]
    rows: list[list[Cell]] = []
    for row, order in np.ndindex(*part.chosen.shape):
        item, option = data.examples[row], int(part.chosen[row, order])
        position = int(part.drawn_order[row]) if part.drawn_order is not None else 0 if part.prompts else order
        about = [data.cells[row], item.example_id, item.question_index, part.context(item), item.polarity, position]
        sides = [int(side[row, order]) if side[row, order] >= 0 else None for side in (judged.biased, judged.aligned)]
        judgements = [int(judged.right[row, order]), int(judged.targeted[row, order]), *sides]
        chosen = [option if option >= 0 else None, str(judged.kind[row, order])]
        rows.append(
            [*about, *chosen, *judgements, contents[row], *data.ids[row : row + 1], *part.prompts[order : order + 1]]
        )
    columns = ["category", "example_id", "question_index", "context", "polarity", "order"]
    columns += ["option", "answer", "correct", "target", "biased", "aligned", "content"]
    return Table([*columns, *(["id"] if data.ids else []), *(["prompt"] if part.prompts else [])], rows)


def content_digest(example: Item, target: int) -> str:
    """A digest of a question, its options, the right one and the target, in twelve letters.

    Letters a to p replace the digits, so that no program reads it as a number.
    """
    content = json.dumps(
        [example.context, example.question, example.answers, example.label, target], ensure_ascii=False
    )
    return "".join(chr(ord("a") + int(digit, 16)) for digit in hashlib.sha256(content.encode()).hexdigest()[:12])


def _bias(context: str) -> TallyMetric:
    """The bias score; templates count where an answer names a person."""
    score = metrics.bias_disambiguated if context == DISAMBIGUATED else metrics.bias_ambiguous
    return TallyMetric("bias_score", score, SIGNED, count_answers.named, "")


def _round(value: float) -> Cell:
    return int(value) if value == int(value) else round(value, 6)
