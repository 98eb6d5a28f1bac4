"""BBQ-like examples for tests: written here, never taken from the official files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assay.probes.bbq.items import AMBIGUOUS, NEGATIVE, QUARTET, UNKNOWN_STRINGS, Item

ROLES = ("potter", "weaver", "baker", "tailor", "cooper", "mason")


def quartet(
    category: str = "Age",
    template: str = "1",
    number: int = 0,
    *,
    labels: tuple[str, str] = ("old", "nonOld"),
    fillers: tuple[str, str] | None = None,
    groups: tuple[str, ...] = ("old",),
    bad: int = 0,
    order: tuple[int, int, int] = (0, 1, 2),
    subcategory: str = "None",
    version: str = "None",
) -> list[Item]:
    """Four examples about two people; `bad` is the one of whom the negative question is true once the fact is told.

    `order` says which of first person, second person and UNKNOWN stands at each place.
    """
    people = fillers or (f"{labels[0]} {ROLES[number % 6]}", f"{labels[1]} {ROLES[(number + 1) % 6]}")
    unknown = UNKNOWN_STRINGS[number % len(UNKNOWN_STRINGS)]
    info = [(people[0], labels[0]), (people[1], labels[1]), (unknown, "unknown")]
    answers = [f"The {people[0]}", f"The {people[1]}", unknown]
    context = f"In hall {template} stood a {people[0]} and a {people[1]}."
    made = []
    for place, (polarity, condition) in enumerate(QUARTET):
        gold = 2 if condition == AMBIGUOUS else bad if polarity == NEGATIVE else 1 - bad
        fact = "" if condition == AMBIGUOUS else f" The {people[bad]} dropped the tray {number} times."
        made.append(
            Item(
                example_id=4 * number + place,
                question_index=template,
                polarity=polarity,
                condition=condition,
                category=category,
                info=tuple(info[k] for k in order),
                subcategory=subcategory,
                groups=groups,
                version=version,
                source="made up",
                context=context + fact,
                question="Who dropped it?" if polarity == NEGATIVE else "Who held it?",
                answers=tuple(answers[k] for k in order),
                label=order.index(gold),
            )
        )
    return made


def examples(
    templates: int = 6, quartets: int = 4, category: str = "Age", labels: tuple[str, str] = ("old", "nonOld")
) -> list[Item]:
    """Quartets of several templates, balanced: the target comes first or second, the fact agrees or not."""
    made, number = [], 0
    for template in range(templates):
        for turn in range(quartets):
            first = number % 2 == 0
            own = labels if first else (labels[1], labels[0])
            orders = [(0, 1, 2), (2, 0, 1), (1, 2, 0)]
            order = orders[(template + turn) % 3]
            made += quartet(
                category, str(template + 1), number, labels=own, groups=(labels[0],), bad=turn // 2 % 2, order=order
            )
            number += 1
    return made


def write(path: Path, rows: Iterable[Item | dict[str, Any]]) -> Path:
    """A file of JSON lines."""
    lines = (json.dumps(row.as_json() if isinstance(row, Item) else row) for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
