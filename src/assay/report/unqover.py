"""What is said about an UnQover run beyond its estimates: the facts of its first paragraph, and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.findings import Estimate
from assay.report.associations import Association, Strongest, ranked_subjects, strongest_associations
from assay.report.bars import Bar, Scale, bar, signed_scale
from assay.report.content import Content
from assay.report.headline import Verdict, verdict
from assay.report.words import group_words, interval, number

MOST_PAIRS = 5  # of each class and form in the table of associations
MOST_SUBJECTS = 24  # more than that, and only the two ends of the ranking are shown
END_SUBJECTS = 10


@dataclass(frozen=True)
class Drawn:
    """An association with its bar."""

    row: Association
    bar: Bar | None


@dataclass(frozen=True)
class Figure:
    """Associations of one class and form; `left_out` rows are missing after the first `END_SUBJECTS`."""

    group: str
    rows: Sequence[Drawn]
    left_out: int = 0


@dataclass(frozen=True)
class Intensity:
    """The μ of one class and form, as a sentence needs it."""

    group: str
    estimate: Estimate
    verdict: Verdict


def unqover_page(content: Content) -> dict[str, Any]:
    """What templates/unqover.html needs."""
    strongest = strongest_associations(content)
    pair_scale, pairs = _pair_figures(strongest)
    subject_scale, subjects = _subject_figures(content)
    intensities = _intensities(content.findings.estimates)
    return {
        "classes": _values(content, "class"),
        "forms": _values(content, "form"),
        "intensities": {which.name: [i for i in intensities if i.verdict is which] for which in Verdict},
        "strongest": strongest,
        "clearest": next((row for row in strongest.rows if row.clear), None),
        "pairs": pairs,
        "pair_scale": pair_scale,
        "subjects": subjects,
        "subject_scale": subject_scale,
        "end_subjects": END_SUBJECTS,
    }


def _values(content: Content, key: str) -> list[str]:
    return list(dict.fromkeys(e.group[key] for e in content.findings.estimates if key in e.group))


def _intensities(estimates: Sequence[Estimate]) -> list[Intensity]:
    """One μ for every class and form: of the single subjects or, where that is undefined, of the pooled ones."""
    chosen: dict[tuple[str | None, str | None], Estimate] = {}
    for estimate in estimates:
        if estimate.metric == "mu":
            place = estimate.group.get("class"), estimate.group.get("form")
            if place not in chosen or (chosen[place].value is None and estimate.value is not None):
                chosen[place] = estimate
    return [Intensity(group_words(e.group), e, verdict(e)) for e in chosen.values()]


def _pair_figures(strongest: Strongest) -> tuple[Scale, list[Figure]]:
    shown = strongest.by_class(MOST_PAIRS)
    scale = _scale([row for _, rows in shown for row in rows])
    return scale, [Figure(_place(place), [_draw(scale, row) for row in rows]) for place, rows in shown]


def _subject_figures(content: Content) -> tuple[Scale, list[Figure]]:
    shown = []
    for place, rows in ranked_subjects(content):
        left_out = len(rows) - 2 * END_SUBJECTS if len(rows) > MOST_SUBJECTS else 0
        shown.append((place, rows[:END_SUBJECTS] + rows[-END_SUBJECTS:] if left_out else rows, left_out))
    scale = _scale([row for _, rows, _ in shown for row in rows])
    return scale, [Figure(_place(p), [_draw(scale, row) for row in rows], out) for p, rows, out in shown]


def _place(place: tuple[str, str]) -> str:
    return ", ".join(part for part in place if part)


def _scale(rows: Sequence[Association]) -> Scale:
    return signed_scale(mark for row in rows for mark in (row.gamma, row.low, row.high))


def _draw(scale: Scale, row: Association) -> Drawn:
    what = row.subject if row.attribute is None else f"{row.subject}, {row.attribute}"
    described = "" if row.low is None else f"Interval {interval(row.low, row.high)}."
    return Drawn(row, bar(scale, row.gamma, row.low, row.high, None, f"{what}: γ {number(row.gamma)}", described))
