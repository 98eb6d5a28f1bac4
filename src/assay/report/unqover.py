"""What is said about an UnQover run beyond its estimates: the facts of its first paragraph, and its figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.findings import Cell, Estimate, Table
from assay.probes.unqover.models import aligned, rank_summary, ranks
from assay.report.across import run_names
from assay.report.associations import Association, Strongest, ranked_subjects, strongest_associations
from assay.report.bars import Bar, Scale, bar, signed_scale
from assay.report.content import Content
from assay.report.headline import Verdict, verdict
from assay.report.unqover_heat import attribute_maps, class_maps
from assay.report.words import group_words, interval, number

MOST_PAIRS = 8  # of each class and form in the table of associations
MOST_ROWS = 2000  # of a class and form in the data of a chart
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
        "strongest_intensity": max(
            (i for i in intensities if i.verdict is Verdict.ABOVE), key=lambda i: i.estimate.value or 0.0, default=None
        ),
        "behind": _behind,
        "strongest": strongest,
        "clearest": next((row for row in strongest.rows if row.clear), None),
        "pairs": pairs,
        "pair_scale": pair_scale,
        "subjects": subjects,
        "subject_scale": subject_scale,
        "end_subjects": END_SUBJECTS,
        "attribute_maps": attribute_maps(content),
        "class_maps": class_maps(content),
        "pair_table": _table(drawn.row for figure in pairs for drawn in figure.rows),
        "subject_table": _table(row for _, rows in ranked_subjects(content) for row in rows[:MOST_ROWS]),
    }


def _behind(row: Association) -> dict[str, str]:
    """Which examples stand behind an association."""
    who = {"group" if row.pooled else "subject": row.subject}
    return {"class": row.bias_class, "form": row.form} | who | ({"attribute": row.attribute} if row.attribute else {})


@dataclass(frozen=True)
class Ranked:
    """A subject's ranks over models: their mean with its deviation as a bar, and each model's."""

    subject: str
    mean: float
    std: float
    bar: Bar | None


@dataclass(frozen=True)
class Ranking:
    """The subjects of one class and form by their mean rank over models (Figures 4 and 5)."""

    group: str
    scale: Scale
    rows: Sequence[Ranked]
    left_out: int
    table: Table


def unqover_models(contents: Sequence[Content]) -> dict[str, Any]:
    """What several models show together: the ranks of their subjects."""
    names = run_names(contents)
    places: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for name, content in zip(names, contents, strict=True):
        for place, rows in ranked_subjects(content):
            places.setdefault(place, {})[name] = {row.subject: row.gamma for row in rows}
    return {"rankings": [_ranking(place, own) for place, own in places.items() if _share(own)]}


def _share(own: dict[str, dict[str, float]]) -> bool:
    """Whether at least two models have subjects in common."""
    return len(own) > 1 and len(set.intersection(*map(set, own.values()))) > 1


def _ranking(place: tuple[str, str], own: dict[str, dict[str, float]]) -> Ranking:
    subjects, gamma = aligned(list(own.values()))
    summary, each = rank_summary(gamma), ranks(gamma)
    order = sorted(range(len(subjects)), key=lambda k: (summary.mean[k], subjects[k]))
    scale = Scale(1.0, float(len(subjects)))
    rows: list[Sequence[Cell]] = [
        [subjects[k], float(summary.mean[k]), float(summary.std[k]), *each[:, k].tolist()] for k in order
    ]
    shown = order[:END_SUBJECTS] + order[-END_SUBJECTS:] if len(order) > MOST_SUBJECTS else order
    drawn = []
    for k in shown:
        mean, std = float(summary.mean[k]), float(summary.std[k])
        said = "; ".join(f"{name}: {place:g}" for name, place in zip(own, each[:, k].tolist(), strict=True))
        low, high = max(mean - std, scale.low), min(mean + std, scale.high)
        title = f"{subjects[k]}: mean rank {mean:.1f}, deviation {std:.1f}"
        drawn.append(Ranked(subjects[k], mean, std, bar(scale, mean, low, high, None, title, said)))
    table = Table(("subject", "mean_rank", "std_rank", *own), rows)
    return Ranking(_place(place), scale, drawn, len(order) - len(shown), table)


def _table(rows: Iterable[Association]) -> Table:
    columns = ("class", "form", "subject", "attribute", "gamma", "low", "high", "eta", "q", "n")
    return Table(columns, [[*r.where, r.subject, r.attribute, r.gamma, r.low, r.high, r.eta, r.q, r.n] for r in rows])


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
