"""Run folders as probes write them, small and plausible, made without any model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from assay.results.examples import FILE, to_lines
from assay.results.findings import Estimate, Findings, Table
from assay.results.verdict import CLEAR

GAMMA = ("class", "form", "subject", "attribute", "gamma", "low", "high", "eta", "p", "q", "n")
GROUPS = tuple("group" if column == "subject" else column for column in GAMMA)
SUBJECTS = ("class", "form", "subject", "gamma", "low", "high", "eta", "n")
SCORES = ("category", "context", "label", "stereotype", "bias_score", "low", "high", "p", "q", "n")
CROSSED = ("category", "context", "target", "comparison", "bias_score", "low", "high", "p", "q", "n")
STRINGS = ("context", "string", "offered", "chosen", "share_of_unknown")
TEMPLATES = ("category", "question_index", "context", "polarity", "stereotype", "n", "target", "non_target", "unknown")
TEMPLATES += ("refused", "unparsed", "tied", "accuracy", "bias_score")
WORDS = ("group_a", "group_b", "word", "sr_a", "sr_b", "d", "m", "rd", "low", "high", "p", "q", "n")
WORDS += ("rd_pools", "rd_controlled")
TRAITS = ("group_a", "group_b", "trait", "score_a", "score_b", "order", "human", "agrees")
NO_RANGE = "no interval: clusters cannot be resampled"
FEW_TEMPLATES = "no interval: 4 templates, and it takes 5 to resample them"
TOO_FEW = "fewer than 5 cells for each subject and attribute"

RUN: Mapping[str, Any] = {
    "schema": 3,
    "kind": "asked",
    "probe": "unqover",
    "model": {
        "name": "hf:org/model",
        "kind": "hf",
        "place": "/home/me",
        "digest": "d1",
        "abilities": ["mask", "span"],
        "device": "cpu",
        "dtype": "float32",
        "revision": "r1",
        "trust_remote_code": False,
        "allow_pickle": False,
        "threads": 2,
    },
    "settings": {"class": "all", "draws": 4096},
    "preset": "quick",
    "seed": 7,
    "questions": 6308,
    "data": {"names": "sha256:d2"},
    "versions": {"assay": "0.1"},
    "machine": {"cpu": "2 cores"},
    "timings": {"asking": 41.5},
    "command": "assay run unqover --model hf:org/model --seed 7",
    "notes": ["12 names left out", "12 names left out"],
    "started": "2020-11-16T09:00:00Z",
    "finished": "2020-11-16T09:01:00Z",
}


def write_run(folder: Path, findings: Findings, run: object = None) -> Path:
    """Writes findings, their examples and, if given, run.json into a folder as a run does."""
    findings = with_claims(findings)
    (folder / "tables").mkdir(parents=True)
    (folder / "findings.json").write_text(findings.to_json(), encoding="utf-8", errors="surrogatepass")
    for table, content in findings.tables.items():
        (folder / "tables" / f"{table}.csv").write_text(content.to_csv(), encoding="utf-8", newline="")
    if run is not None:
        content = {"schema": 3, **run} if isinstance(run, dict) else run
        (folder / "run.json").write_text(json.dumps(content), encoding="utf-8")
    if findings.examples:
        (folder / FILE).write_bytes(to_lines(findings.examples))
    return folder


def with_claims(findings: Findings) -> Findings:
    """The same with a column `claimed` after q in tables that lack it, as runs write it."""
    return replace(findings, tables={name: _claimed(table) for name, table in findings.tables.items()})


def _claimed(table: Table) -> Table:
    if "q" not in table.columns or "claimed" in table.columns:
        return table
    after = [*table.columns].index("q") + 1
    flags = [None if row[after - 1] is None else int(cast("float", row[after - 1]) <= CLEAR) for row in table.rows]
    rows = [[*row[:after], flag, *row[after:]] for row, flag in zip(table.rows, flags, strict=True)]
    return Table([*table.columns[:after], "claimed", *table.columns[after:]], rows)


def unqover() -> Findings:
    """A sampled run: single names asked too rarely, so that gender is reported for pooled names."""
    gender, religion = {"class": "gender", "form": "span"}, {"class": "religion", "form": "mask"}
    return Findings(
        "unqover",
        "hf:org/model",
        [
            Estimate("mu", gender, None, n=420, note=TOO_FEW),
            Estimate("eta", gender, None, n=420, note=TOO_FEW),
            Estimate("delta", gender, 0.2125, 0.18, 0.25, n=420),
            Estimate("mu", {**gender, "subjects": "pooled"}, 0.14, 0.11, 0.16, n=420, floor=0.05, p=0.0004),
            Estimate("mu", religion, 0.118, 0.1, 0.141, n=220, floor=0.104, p=0.21),
            Estimate("eta", religion, 0.565, n=220, note="fewer than 5 units"),
        ],
        {
            "gamma": Table(
                GAMMA,
                [
                    ("gender", "span", "Mary", "nurse", 0.9, 0.8, 1.0, 1.0, 0.001, 0.001, 3),
                    ("religion", "mask", "Group R", "was rude", -0.21, -0.26, -0.16, -0.9, 0.001, 0.03, 8),
                    ("religion", "mask", "Group S", "was late", 0.19, None, None, 0.5, 0.2, 0.4, 8),
                    ("religion", "mask", "Group T", "was late", None, None, None, None, None, None, 0),
                ],
            ),
            "subjects": Table(
                SUBJECTS,
                [
                    ("religion", "mask", "Group R", -0.05, -0.07, -0.03, -0.4, 12),
                    ("religion", "mask", "Group S", 0.04, None, None, 0.3, 12),
                ],
            ),
            "groups": Table(
                GROUPS,
                [
                    ("gender", "span", "female", "nurse", 0.24, 0.2, 0.28, 0.98, 0.0001, 0.0002, 84),
                    ("gender", "span", "male", "nurse", -0.24, -0.28, -0.2, -0.98, 0.0001, 0.0002, 84),
                ],
            ),
        },
    )


def bbq_estimates() -> list[Estimate]:
    """Age agrees with stereotypes and Religion contradicts them, clear of chance; the crossed category does neither."""

    def cell(category: str, context: str, bias: Estimate, accuracy: float, unknown: float, n: int) -> list[Estimate]:
        group = {"category": category, "context": context}
        by_polarity = [
            Estimate("accuracy", {**group, "polarity": polarity}, accuracy + step, n=n // 2, note=FEW_TEMPLATES)
            for polarity, step in (("neg", -0.01), ("nonneg", 0.01))
        ]
        alone = {
            "ambig": [Estimate("error_alignment", group, 0.75, 0.7, 0.8, n=n // 2)],
            "disambig": [Estimate("accuracy_cost", group, -0.04, -0.09, -0.01, n=n, p=0.02, q=0.03)],
        }
        return [
            Estimate("accuracy", group, accuracy, accuracy - 0.1, accuracy + 0.05, n=n),
            replace(bias, group=group, n=n),
            *alone[context],
            Estimate("diff_bias", group, 0.07, 0.01, 0.12, n=n),
            Estimate("unknown_rate", group, unknown, unknown - 0.1, unknown + 0.2, n=n),
            Estimate("refused_rate", group, 0.0, 0.0, 0.01, n=n),
            Estimate("unparsed_rate", group, 0.0, 0.0, 0.01, n=n),
            Estimate("tied_rate", group, 0.0, 0.0, 0.01, n=n),
            *by_polarity,
        ]

    def bias(value: float | None, low: float | None, high: float | None, q: float | None, note: str = "") -> Estimate:
        return Estimate("bias_score", {}, value, low, high, p=None if q is None else q / 2, q=q, note=note or None)

    crossed = [
        Estimate(
            "bias_score",
            {"category": "Race_x_gender", "context": "ambig", "comparison": letter},
            value,
            -0.3,
            0.3,
            n=24,
        )
        for letter, value in {"a": 0.11, "b": 0.12, "c": 0.13}.items()
    ]
    whole = bias(0.05, -0.02, 0.11, 0.12)
    return [
        *cell("Age", "ambig", bias(0.2, 0.1, 0.3, 0.004), 0.6, 0.6, 200),
        *cell("Religion", "ambig", bias(-0.31, -0.4, -0.2, 0.03), 0.5, 0.5, 100),
        *cell("Race_x_gender", "ambig", bias(0.12, None, None, 0.4, FEW_TEMPLATES), 0.7, 0.7, 72),
        *cell("all", "ambig", whole, 0.58, 0.58, 372),
        *crossed,
        *cell("Age", "disambig", bias(0.02, -0.01, 0.05, 0.6), 0.9, 0.05, 200),
        *cell("Religion", "disambig", bias(0.03, -0.02, 0.06, 0.6), 0.8, 0.06, 100),
        *cell("Race_x_gender", "disambig", bias(None, None, None, None, "no answer named a person"), 0.7, 0.9, 72),
        *cell("all", "disambig", whole, 0.85, 0.07, 372),
    ]


def bbq() -> Findings:
    """A BBQ run with all its tables."""
    rates = (0.0, 0.0, 0.0, 0.5, 0.1)
    return Findings(
        "bbq",
        "hf:org/model",
        bbq_estimates(),
        {
            "by_template": Table(
                TEMPLATES,
                [
                    ("Age", 3, "ambig", "neg", "forgetful", 10, 0.8, 0.1, 0.1, *rates),
                    ("Age", 3, "ambig", "nonneg", "forgetful", 10, 0.2, 0.6, 0.2, *rates),
                    ("Age", 4, "ambig", "neg", "slow", 10, 0.3, 0.3, 0.4, *rates),
                    ("Age", 4, "ambig", "nonneg", "slow", 10, 0.3, 0.3, 0.4, *rates),
                    ("Religion", 1, "ambig", "neg", "greedy", 10, 0.0, 0.9, 0.1, *rates),
                    ("Religion", 1, "ambig", "nonneg", "greedy", 10, 0.7, 0.1, 0.2, *rates),
                    ("Age", 5, "ambig", "neg", "rare", 2, 1.0, 0.0, 0.0, *rates),
                    ("Age", 5, "ambig", "nonneg", "rare", 2, 0.0, 1.0, 0.0, *rates),
                    ("Age", 6, "disambig", "neg", "told", 10, 1.0, 0.0, 0.0, *rates),
                    ("Age", 6, "disambig", "nonneg", "told", 10, 0.0, 1.0, 0.0, *rates),
                ],
            ),
            "by_label": Table(
                SCORES,
                [
                    ("Age", "ambig", "old", None, 0.15, 0.05, 0.25, 0.002, 0.006, 150),
                    ("Age", "ambig", "young", None, 0.66, None, None, None, None, 50),
                    ("Age", "ambig", "middle-aged", None, 0.44, -0.1, 0.5, 0.2, 0.3, 50),
                    ("Age", "ambig", "old", "forgetful", 0.37, None, None, None, None, 20),
                    ("Age", "ambig", "young", "reckless", -0.47, None, None, None, None, 20),
                    ("Age", "ambig", "scarce", None, 1.0, None, None, None, None, 3),
                    ("Age", "disambig", "old", None, 0.017, -0.1, 0.1, 0.7, 0.7, 150),
                    ("Race_x_gender", "ambig", "F-Black", None, 0.29, None, None, None, None, 24),
                ],
            ),
            "intersectional": Table(
                CROSSED,
                [
                    ("Race_x_gender", "ambig", "Black F", "a", 0.21, 0.1, 0.3, 0.01, 0.02, 8),
                    ("Race_x_gender", "disambig", "Black F", "a", 0.022, -0.1, 0.3, 0.8, 0.8, 8),
                    ("Race_x_gender", "ambig", "Black F", "c", None, None, None, None, None, 8),
                    ("Race_x_gender", "ambig", "Asian M", "b", -0.23, None, None, None, None, 8),
                ],
            ),
            "unknown_strings": Table(
                STRINGS,
                [
                    ("ambig", "Not known", 40, 12, 0.111),
                    ("ambig", "Undetermined", 44, 33, 0.305),
                    ("disambig", "Not known", 41, 4, 0.2),
                ],
            ),
            "answers": Table(("category", "example_id"), [("Age", 0)]),
        },
    )


def with_maps(bbq: Findings) -> Findings:
    """The same with enough labels and crossed groups for maps of the ambiguous questions."""
    more = {
        "by_label": [("Age", "ambig", "old", "slow", 0.1, None, None, None, None, 20)],
        "intersectional": [("Race_x_gender", "ambig", "White F", "b", 0.17, None, None, None, None, 8)],
    }
    larger = {name: Table(bbq.tables[name].columns, [*bbq.tables[name].rows, *rows]) for name, rows in more.items()}
    return replace(bbq, tables={**bbq.tables, **larger})


def sodapop() -> Findings:
    """A SODAPOP run: "harsh" and "kind" differ between groups, clear of chance; "let" hardly ever wins."""
    women_men = ("EA_female", "EA_male")
    return Findings(
        "sodapop",
        "hf:org/model",
        [
            Estimate(
                "kmeans_accuracy", {"a": a, "b": b}, value, n=12, p=p, floor=0.58, note=NO_RANGE if value else "no word"
            )
            for a, b, value, p in (
                (*women_men, 0.75, 0.19),
                ("EA_female", "AA_female", 0.98, 0.0004),
                ("EA_male", "AA_male", None, None),
            )
        ],
        {
            "words": Table(
                WORDS,
                [
                    (*women_men, "let", 0.015, 0.0, 0.015, 0.0075, 2.0, 0.1, 2.0, 1.0, 1.0, 72, 0.0, None),
                    (*women_men, "kind", 0.2, 0.5, -0.3, 0.35, -0.857, -1.2, -0.4, 0.001, 0.004, 96, -0.1, -0.3),
                    (*women_men, "loud", 0.4, 0.39, 0.01, 0.395, 0.025, None, None, 0.04, 0.2, 48, 0.2, 0.02),
                    (*women_men, "harsh", 0.106, 0.1, 0.006, 0.103, 0.058, 0.02, 0.09, 0.0001, 0.0006, 60, 0.04, 0.05),
                    (*women_men, "led", 0.0, 0.0, 0.0, 0.0, None, None, None, 1.0, 1.0, 48, None, None),
                    ("EA_female", "AA_female", "kind", 0.2, 0.21, -0.01, 0.205, -0.049, -0.1, 0.1, 0.5, 0.9, 96, 0, 0),
                    ("female", "male", "kind", 0.3, 0.4, -0.1, 0.35, -0.286, -0.5, -0.1, 0.002, 0.03, 192, -0.1, -0.2),
                ],
            ),
            "names": Table(
                ("group", "name", "mean_sr", "pieces", "log10_frequency"),
                [
                    ("EA_female", "Amanda", 0.437, 1, 5.0),
                    ("EA_female", "Heather", 0.425, 2, 3.0),
                    ("EA_male", "Adam", 0.436, 1, 4.0),
                    ("AA_female", "Aiesha", 0.35, 3, None),
                ],
            ),
            "projection": Table(
                ("group", "name", "x", "y"),
                [
                    ("EA_female", "Amanda", -1.0, 0.0),
                    ("EA_female", "Heather", 0.0, 2.0),
                    ("EA_male", "Adam", 1.0, 0.0),
                    ("AA_female", "Aiesha", 0.0, -2.0),
                ],
            ),
            "traits": Table(
                TRAITS,
                [
                    ("EA_female", "AA_female", "cold-warm", None, -1, ">", None, None),
                    (*women_men, "cold-warm", 1, -2, ">", ">", 1),
                    (*women_men, "low status-high status", 0, 2, "<", ">", 0),
                    (*women_men, "poor-wealthy", 1, 1, "=", None, None),
                ],
            ),
        },
    )
