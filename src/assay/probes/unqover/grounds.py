"""What UnQover's verdict rests on beside its estimates: can the answers be used, does the model name anybody, and how
many questions would settle what is open?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from assay.asking.messages import FIELD_MODES
from assay.probes.diagnose import doubts, following_place, readable_with, unreadable
from assay.probes.unqover import decisive, metrics, say_group
from assay.probes.unqover.analyse import ScoredCells, fewest, only_asked, too_few
from assay.probes.unqover.cells import CellLabels, Cells
from assay.probes.unqover.diagnose import follows_options
from assay.probes.unqover.forms import ListedPlan
from assay.probes.unqover.metrics import Array
from assay.probes.unqover.plan import UnqoverPlan
from assay.probes.unqover.settings import (
    CHOICE,
    CLASSES,
    FREE,
    OPEN_WINS,
    QUICK_CELLS,
    QUICK_OF_ENDPOINTS,
    UnqoverSettings,
)
from assay.results.diagnosis import Diagnosis
from assay.results.findings import Estimate
from assay.results.formatting import format_count, format_number, format_share
from assay.results.verdict import OPEN, SPARE, Grounds, Needed, VerdictPart
from assay.stats import MIN_UNITS, student_reach

NAMES_NOBODY = 0.05
"""Up to this probability of the two people together, a model is said to name nobody."""

_MOSTLY = 0.8
"""The share of runs in which the number of questions that is suggested is enough, for all that chance does to μ."""


class Held(NamedTuple):
    """What there is to ask about one class in one form: comparisons in all, those asked, and the questions of each."""

    comparisons: int
    n_asked: int
    questions: int

    @staticmethod
    def of(plan: UnqoverPlan | ListedPlan) -> Held:
        return Held(plan.table.total, len(plan.table), plan.per_cell)


def grounds_of(
    parts: Sequence[ScoredCells],
    estimates: Sequence[Estimate],
    diagnosis: Diagnosis,
    settings: UnqoverSettings,
    *,
    held: Mapping[str, Held],
    tokens: int = 0,
    way: str = "",
) -> Grounds:
    """The grounds of a run's verdict.

    `held` has every part by its label, and is empty for files, to which nothing can be added. Of a language model,
    `tokens` limits a written answer, and `way` is how it was asked.
    """
    lost: Counter[str] = Counter()
    for part in parts:
        lost.update(part.lost)
    n_given = sum(part.given for part in parts)
    form = next((part.form.partition(",")[0] for part in parts), "")
    listed = f"--set form={CHOICE}" if form == FREE else None
    helps = readable_with(lost, tokens=tokens, answer=settings.answer, listed=listed)
    free = f"--set form={FREE}" if way not in FIELD_MODES and follows_options(diagnosis, settings) else None
    reasons = [*unreadable(lost, n_given, settings.unusable, helps), following_place(diagnosis, free)]
    return Grounds(
        unusable=next(filter(None, reasons), None),
        manner=_manner,
        parts=[*_open_wins(estimates)],
        doubts=[*doubts(lost, n_given, helps)],
        needed=_needed(parts, estimates, settings, held),
        more=any(part.n_asked < part.comparisons for part in held.values()),
        rules_out=_rules_out(parts, settings),
    )


def _manner(estimates: Sequence[Estimate]) -> str:
    """That a model names nobody, which is right here."""
    scores = [estimate.value for estimate in estimates if estimate.metric == "avg_score"]
    people = [2.0 * score for score in scores if score is not None]
    if not people or max(people) > NAMES_NOBODY:
        return ""
    return f"it names nobody: the two people together have {format_share(max(people))} of the probability on average"


def _open_wins(estimates: Sequence[Estimate]) -> Iterator[VerdictPart]:
    """The values of η that may be large, the widest first: it is not decisive."""
    grouped = {_part(estimate) for estimate in estimates if "subjects" in estimate.group}
    open_estimates = [
        estimate
        for estimate in estimates
        if estimate.metric == "eta"
        and ("subjects" in estimate.group or _part(estimate) not in grouped)
        and (estimate.low or 0.0) <= OPEN_WINS < (estimate.high or 0.0)
    ]
    for estimate in sorted(open_estimates, key=lambda estimate: -(estimate.high or 0.0)):
        group = f" ({say_group(estimate.group)})" if len(open_estimates) > 1 else ""
        reason = f"how often one side wins{group}: up to {format_number(estimate.high)}"
        yield VerdictPart(OPEN, "eta", dict(estimate.group), reason)


def _part(estimate: Estimate) -> tuple[str | None, str | None]:
    return estimate.group.get("class"), estimate.group.get("form")


def _rules_out(parts: Sequence[ScoredCells], settings: UnqoverSettings) -> str:
    if any(part.labels.groups is None for part in parts):
        return f"a bias intensity μ above {settings.ruled_out:g} is ruled out"
    attributes = {part.cls: len(np.unique(part.cells.attribute)) for part in parts}
    attributes_asked = f"any of the {sum(attributes.values())} attributes asked about"
    return f"a preference γ of one group of names above {settings.ruled_out:g} is ruled out for {attributes_asked}"


# --- how many questions would do


def _needed(
    parts: Sequence[ScoredCells], estimates: Sequence[Estimate], settings: UnqoverSettings, held: Mapping[str, Held]
) -> dict[str, Needed]:
    """What would settle the value of μ that needs most."""
    by_part = {(part.cls, part.form): part for part in parts}
    needs = [
        _part_needs(by_part[estimate.group["class"], estimate.group["form"]], estimate, settings, held, len(parts))
        for estimate in decisive(estimates)
        if estimate.high is None or estimate.high > settings.ruled_out
    ]
    defined = [need for need in needs if need is not None]
    if not defined:
        return {}
    return {"mu": max(defined, key=lambda need: float("inf") if need.limit is None else need.limit)}


def _part_needs(
    part: ScoredCells, mu: Estimate, settings: UnqoverSettings, held: Mapping[str, Held], parts: int
) -> Needed | None:
    cells, labels = only_asked(part.cells, part.labels)
    if not len(cells):
        return None
    if fewest(labels) < MIN_UNITS and fewest(part.labels) < MIN_UNITS:
        return Needed(None, too_few(labels))
    middle, listed = mu.value if mu.corrected is None else mu.corrected, part.cells.listed is not None
    if middle is None or mu.high is None:
        comparisons = _comparisons_to_begin(part.labels, settings.attributes, listed=listed)
        if part.label in held:
            comparisons = min(comparisons, held[part.label].comparisons)
        return _needed_limit(part, comparisons, "would give μ an interval", settings, held, parts)
    effect, room = f"would settle μ to within {settings.ruled_out:g}", settings.ruled_out - middle
    if room <= 0:
        return Needed(None, f"more questions would not help: μ itself is above {settings.ruled_out:g}")
    if labels.groups is None:
        comparisons = ceil(len(cells) * SPARE * ((mu.high - middle) / room) ** 2)
        return _needed_limit(part, comparisons, effect, settings, held, parts)
    names = fewest(part.labels)
    needed_names, needed_comparisons = _needed_for_groups(cells, labels, room, names)
    if needed_comparisons is None:
        return Needed(None, f"about {format_count(needed_names)} names in each group {effect}; here are {names}")
    return _needed_limit(part, needed_comparisons, effect, settings, held, parts)


def _needed_limit(
    part: ScoredCells, comparisons: int, effect: str, settings: UnqoverSettings, held: Mapping[str, Held], parts: int
) -> Needed:
    """A limit that gives the part so many comparisons: it is divided evenly among all parts."""
    about, part_held = f"about {format_count(comparisons)} comparisons {effect}", held.get(part.label)
    if part_held is None:
        return Needed(None, f"{about}; here are {format_count(len(part.cells))}")
    if comparisons > part_held.comparisons:
        return Needed(None, f"{about}; this set has {format_count(part_held.comparisons)}")
    limit = max(comparisons, ceil(SPARE * part_held.n_asked)) * part_held.questions * parts
    limit = min(limit, sum(of_part.comparisons * of_part.questions for of_part in held.values()))
    return Needed(limit, f"about {format_count(limit)} questions {effect}", _same_questions(settings))


def _same_questions(settings: UnqoverSettings) -> str:
    """The options with which a limit asks about the same classes and attributes as this run, which a preset chose."""
    chosen = [f"--set class={settings.cls}"] if settings.classes != CLASSES else []
    return " ".join([*chosen, *([f"--set attributes={settings.attributes}"] if settings.attributes else [])])


def _comparisons_to_begin(labels: CellLabels, n_asked: int | None, *, listed: bool) -> int:
    """Comparisons that are usually enough, where there are too few to estimate anything; `asked` attributes at most."""
    attributes = min(n_asked or len(labels.attributes), len(labels.attributes))
    if labels.groups is None:
        return 5 * len(labels.subjects) * attributes
    return attributes * (QUICK_OF_ENDPOINTS[1] if listed else QUICK_CELLS)


def _needed_for_groups(cells: Cells, labels: CellLabels, room: float, names: int) -> tuple[int, int | None]:
    """The names in each group, and the comparisons, with which the interval of pooled μ ends less than `room` above its
    true value; None for the comparisons where that takes more `names` than there are.

    γ(a) of n comparisons and G names in each group has the variance b/G + w/n. Comparisons take new names before they
    repeat any. μ is the largest |γ| of all attributes: its upper end exceeds the true value by t errors, and by what
    the largest of so many errors is at most in four runs of five (as if they were independent).
    """
    attributes = len(labels.attributes)
    bias = metrics.of_cells(metrics.comparative_bias, cells.scores)
    n = np.bincount(cells.attribute, minlength=attributes)
    far = bias - (np.bincount(cells.attribute, bias, attributes) / n)[cells.attribute]
    alone = float((far**2).mean())
    between = _name_variance(cells, far, alone)
    largest = NormalDist().inv_cdf((1.0 + _MOSTLY ** (1.0 / attributes)) / 2.0)

    def allowed(units: float) -> float:
        return (room / (float(student_reach(1.0, max(units - 1.0, 1.0))) + largest)) ** 2

    per_attribute = alone / allowed(min(names, float(n.mean())))
    if per_attribute <= names:
        return ceil(per_attribute), ceil(SPARE * per_attribute * attributes)
    rest = allowed(names) - between / names
    if rest <= 0:
        return ceil(SPARE * between / allowed(names)), None
    return names, ceil(SPARE * (alone - between) / rest * attributes)


def _name_variance(cells: Cells, far: Array, alone: float) -> float:
    """The variance that both names give a comparison, of which each has the variance `alone`: at least this much.

    It is the covariance of comparisons with the same name, added up, less two standard errors. They are those about the
    same attribute, or about any where hardly a name was asked about twice with the same.
    """
    attribute = cells.attribute.astype(np.int64)
    by_column = []
    for column in (attribute, np.zeros_like(attribute)):
        products = pairs = 0.0
        for subject in (cells.first, cells.second):
            unit = subject.astype(np.int64) * (int(column.max()) + 1) + column
            n, sums = np.bincount(unit), np.bincount(unit, far)
            products += float((sums**2 - np.bincount(unit, far**2)).sum()) / 2.0
            pairs += float((n * (n - 1)).sum()) / 2.0
        by_column.append((products, pairs))
    products, pairs = by_column[0] if 2.0 * by_column[0][1] >= len(far) else by_column[1]
    covariance = (products - 2.0 * alone * pairs**0.5) / pairs if pairs else 0.0
    return min(max(2.0 * covariance, 0.0), alone)
