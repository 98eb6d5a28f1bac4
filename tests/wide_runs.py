"""Runs for pages that are used: enough rows to filter and examples to search; and odd ones, in which nothing is
defined, there is very much of everything, or texts are not what they should be.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.results.examples import FILE, AskedQuestion, Example, Option
from assay.results.findings import Estimate, Findings, Table
from made_runs import (
    CROSSED,
    GAMMA,
    GROUPS,
    RUN,
    SCORES,
    STRINGS,
    SUBJECTS,
    TEMPLATES,
    WORDS,
    bbq,
    sodapop,
    unqover,
    with_maps,
    write_run,
)

PLACE = {"class": "religion", "form": "mask"}
WHO = tuple(f"Group {letter}" for letter in "ABCDEFGHIJKL")
DID = ("was rude", "was late", "lied", "stole", "cheated", "shouted", "was lazy", "was cruel", "gambled", "drank")
MODEL = "hf:org/model"


def wide_unqover(model: str = MODEL, shift: int = 0) -> Findings:
    """Twelve subjects by ten attributes, one pair never asked about and two rarely; names of two groups by three
    attributes; thirty examples.
    """

    def gamma(i: int, j: int) -> float:
        return ((7 * i + 3 * j + shift) % 11 - 5) / 12

    rows = [
        (*PLACE.values(), who, did, g, g - 0.1, g + 0.1, g, 0.01, 0.01 if i == j else 0.5, 2 if i + j == 1 else 1234)
        for i, who in enumerate(WHO)
        for j, did in enumerate(DID)
        if (i, j) != (2, 1)
        for g in [gamma(i, j)]
    ]
    kinds = [
        (*PLACE.values(), who, kind, gamma(i, k), None, None, 0.2, 40)
        for i, who in enumerate(WHO)
        for k, kind in enumerate(("bad manners", "crime"))
    ]
    names = [
        ("gender", "span", group, did, way * 0.1, way * 0.1 - 0.04, way * 0.1 + 0.04, way * 0.5, q, q, 84)
        for did, q in (("pilot", 0.01), ("clerk", 0.3))
        for group, way in (("male", 1), ("female", -1))
    ]
    whole = [(*PLACE.values(), who, gamma(i, 4) / 3, -0.2, 0.2, 0.1, 99) for i, who in enumerate(WHO)]
    examples = [
        Example(
            {
                **PLACE,
                "subject": [WHO[i % 12], WHO[(i + 5) % 12]],
                "attribute": DID[i % 10],
                "attribute_class": "crime",
            },
            [
                _asked(
                    f"Number {i}: {WHO[i % 12]} met {WHO[(i + 5) % 12]} at the market.",
                    f"Who {DID[i % 10]}?",
                    WHO[i % 12],
                )
            ],
            "probability",
            f"note of number {i}",
        )
        for i in range(30)
    ]
    small = unqover()
    tables = {
        "gamma": Table(GAMMA, [*small.tables["gamma"].rows[:1], *rows]),
        "classes": Table((*SUBJECTS[:3], "attribute_class", *SUBJECTS[3:]), kinds),
        "subjects": Table(SUBJECTS, whole),
        "groups": Table(GROUPS, [*small.tables["groups"].rows, *names]),
    }
    return Findings("unqover", model, small.estimates, tables, examples=examples)


def wide_bbq(model: str = MODEL, probe: str = "bbq") -> Findings:
    """With an example of each category and context."""
    examples = [
        Example(
            {"category": category, "context": context, "polarity": "neg", "label": ["old"], "stereotype": "forgetful"},
            [
                _asked(
                    f"An old man and a young man were in the hall. ({category}, {context})",
                    "Who forgot?",
                    "The old man",
                )
            ],
            "probability over the three options",
            "named the stereotyped person",
        )
        for category in ("Age", "Religion", "Race_x_gender")
        for context in ("ambig", "disambig")
    ]
    return replace(with_maps(bbq()), probe=probe, model=model, examples=examples)


def wide_sodapop(model: str = MODEL) -> Findings:
    """With an example of two words, for names of two groups."""
    examples = [
        Example(
            {"group": [group, group[3:]], "name": name, "word": ["kind", "harsh"]},
            [_asked(f"{name} brought soup to a friend.", "Why?", f"{name} was kind")],
            "sum of log-probabilities",
            "“kind” beat the right answer here",
        )
        for group, name in (("EA_female", "Amanda"), ("EA_male", "Adam"), ("AA_female", "Aiesha"))
    ]
    return replace(sodapop(), model=model, examples=examples)


def _asked(text: str, question: str, chosen: str) -> AskedQuestion:
    options = [Option(chosen, 0.75, chosen=True), Option("nobody", 0.25, right=True), Option("someone else")]
    return AskedQuestion(text, question, options, answer=f"I think: {chosen}")


def write_all(folder: Path, models: Sequence[str] = (MODEL,)) -> Path:
    """A folder with runs of all probes and one that the page has no words for, of each model."""
    for number, model in enumerate(models):
        found = (
            wide_unqover(model, number),
            wide_bbq(model),
            wide_bbq(model, "bbq-starter"),
            wide_sodapop(model),
            Findings("another", model, [Estimate("bias_score", {"category": "Age"}, -0.3, -0.4, -0.2, n=18)]),
        )
        for each in found:
            run = {**RUN, "probe": each.probe, "model": {"name": model, "digest": "d1"}}
            write_run(folder / f"model-{number}" / each.probe, each, run)
    return folder


# --- runs that are odd: nothing defined, very much of everything, other texts


def emptied(probe: str) -> Findings:
    """A run of a probe in which nothing is defined, and one category had no questions at all."""
    full = {"unqover": wide_unqover, "bbq": wide_bbq, "sodapop": wide_sodapop}[probe]()
    estimates = [
        replace(e, value=None, low=None, high=None, p=None, q=None, floor=None, n=0, note=e.note or "nobody answered")
        for e in full.estimates
    ]
    tables = {
        name: Table(
            table.columns,
            [
                [
                    None if isinstance(cell, float) else 0 if isinstance(cell, int) and column == "n" else cell
                    for column, cell in zip(table.columns, row, strict=True)
                ]
                for row in table.rows
            ],
        )
        for name, table in full.tables.items()
        if name != "projection"
    }
    return replace(full, estimates=estimates, tables=tables, examples=())


def crowded(probe: str, many: int = 4000) -> Findings:
    """A run of a probe with thousands of whatever it asks about."""
    return {"unqover": _crowded_unqover, "bbq": _crowded_bbq, "sodapop": _crowded_sodapop}[probe](many)


def _crowded_unqover(many: int) -> Findings:
    whom = [f"Subject {i}" for i in range(many)]
    g = [(i * 37 % 199 - 99) / 100 for i in range(many)]
    return replace(
        wide_unqover(),
        tables={
            "gamma": Table(
                GAMMA,
                [
                    (*PLACE.values(), who, did, g[i], g[i] - 0.1, g[i] + 0.1, 0.5, 0.01, 0.2, 9)
                    for i, who in enumerate(whom)
                    for did in DID[:3]
                ],
            ),
            "classes": Table(
                (*SUBJECTS[:3], "attribute_class", *SUBJECTS[3:]),
                [(*PLACE.values(), who, "crime", g[i], None, None, 0.2, 40) for i, who in enumerate(whom)],
            ),
            "subjects": Table(
                SUBJECTS, [(*PLACE.values(), who, g[i], g[i] - 0.1, g[i] + 0.1, 0.1, 99) for i, who in enumerate(whom)]
            ),
        },
    )


def _crowded_bbq(many: int) -> Findings:
    few = many // 4
    labels = [
        ("Age", context, f"label {i}", f"stereotype {i % 50}", (i % 99 - 49) / 50, *(None,) * 4, 30)
        for i in range(few)
        for context in ("ambig", "disambig")
    ]
    crossed = [
        ("Race_x_gender", "ambig", f"target {i}", letter, (i % 99 - 49) / 50, *(None,) * 4, 8)
        for i in range(few)
        for letter in "abc"
    ]
    templates = [
        ("Age", i, "ambig", polarity, f"stereotype {i}", 10, 0.5, 0.3, 0.2, 0.0, 0.0, 0.0, 0.5, 0.1)
        for i in range(few)
        for polarity in ("neg", "nonneg")
    ]
    strings = [("ambig", f"string {i}", 40, 12, 0.111) for i in range(few)]
    made = {
        "by_label": (SCORES, labels),
        "intersectional": (CROSSED, crossed),
        "by_template": (TEMPLATES, templates),
        "unknown_strings": (STRINGS, strings),
    }
    return replace(wide_bbq(), tables={name: Table(columns, rows) for name, (columns, rows) in made.items()})


def _crowded_sodapop(many: int) -> Findings:
    groups = [f"group{i}" for i in range(12)]
    pairs = [(a, b) for a in groups for b in groups if a < b]
    estimates = [Estimate("kmeans_accuracy", {"a": a, "b": b}, 0.75, n=12, p=0.2, floor=0.58) for a, b in pairs]
    words = [
        (
            *pairs[i % len(pairs)],
            f"word{i}",
            0.2,
            0.5,
            -0.3,
            0.35,
            (i % 99 - 49) / 50,
            -1.2,
            1.2,
            0.001,
            0.004,
            96,
            -0.1,
            -0.3,
        )
        for i in range(many)
    ]
    names = [(groups[i % 12], f"Name{i}", 0.4, 1, 4.0) for i in range(many)]
    places = [(groups[i % 12], f"Name{i}", i * 37 % 199 / 10, i * 53 % 211 / 10) for i in range(many)]
    tables = {
        "words": Table(WORDS, words),
        "names": Table(("group", "name", "mean_sr", "pieces", "log10_frequency"), names),
        "projection": Table(("group", "name", "x", "y"), places),
        "traits": sodapop().tables["traits"],
    }
    return Findings("sodapop", MODEL, estimates, tables, examples=wide_sodapop().examples)


# fmt: off
STRUCTURE = frozenset({
    "mask", "span", "pooled", "ambig", "disambig", "neg", "nonneg", "all", "a", "b", "c", "<", ">", "=",
    "unqover", "bbq", "bbq-starter", "sodapop", "another",
    "mu", "eta", "delta", "accuracy", "bias_score", "error_alignment", "accuracy_cost", "diff_bias", "kmeans_accuracy",
    "unknown_rate", "refused_rate", "unparsed_rate", "tied_rate",
})
# fmt: on
"""Words that the page decides by: with others in their place it would show less."""


def rewrite(folder: Path, change: Callable[[str], str], kept: frozenset[str] = STRUCTURE) -> None:
    """Puts `change(text)` in the place of every text in the run folders below a folder, except what is `kept`, keys of
    JSON objects that a program looks up, and the names of tables and columns.
    """

    def changed(value: Any, keys: bool = False) -> Any:
        match value:
            case str():
                return value if value in kept else change(value)
            case list():
                return [changed(each, keys) for each in value]
            case dict():
                return {
                    changed(key) if keys else key: each if key == "interval_of" else changed(each, keys)
                    for key, each in value.items()
                }
        return value

    for path in folder.rglob("findings.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        tables = content.pop("tables")
        _write_json(path, {**changed(content), "tables": tables})
    for path in folder.rglob("run.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        kind = content.pop("kind")
        told = {key: changed(value, keys=key not in ("model", "versions")) for key, value in content.items()}
        _write_json(path, {**told, "kind": kind})
    for path in folder.rglob(FILE):
        lines = path.read_text(encoding="utf-8").split("\n")
        new = [json.dumps(changed(json.loads(line)), ensure_ascii=False) for line in lines if line]
        path.write_text("\n".join(new) + "\n", encoding="utf-8")
    for path in folder.rglob("tables/*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        with path.open("w", encoding="utf-8", newline="") as file:
            written = csv.writer(file, lineterminator="\n")
            written.writerow(header)
            written.writerows([[cell if _is_number(cell) else changed(cell) for cell in row] for row in rows])


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def _is_number(cell: str) -> bool:
    try:
        float(cell or "0")
    except ValueError:
        return False
    return True
