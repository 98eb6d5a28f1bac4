"""Models side by side, and changes between two models on the same items, with intervals over templates.

Items are matched by content (see `tables.content_digest`), and in two languages of one set by number. Intervals
are computed as for a run (`tally.Units`), with the same templates drawn for both models. p comes from exchanging the
two models' answers template by template; under the null hypothesis it does not matter whose they are. Templates are
independent, so this is the exact test. q is corrected over the same families as in a run (`family_of`). Nothing is
tested on fewer than `MIN_COUNTED` answers of either model.

Sets that ask different questions have no templates in common: each set's are drawn by themselves, and p is Student's t
test of the difference, with the error that the interval has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.errors import DataError
from assay.probes.base import Probe
from assay.probes.bbq import BOTH, count_answers, family_of, metrics, same_category
from assay.probes.bbq.analyse import METRICS, ORDER_SENSITIVITY, cells_in, overall_in
from assay.probes.bbq.count_answers import FIELDS, Array, JudgedAnswers, Tally, TallyField
from assay.probes.bbq.edition_language import ENGLISH, EditionLanguage, language_labels
from assay.probes.bbq.evasion import beside
from assay.probes.bbq.items import DISAMBIGUATED
from assay.probes.bbq.tallies import MIN_COUNTED, ResampledTallies, ResamplingUnits, TallyMetric, by_unit
from assay.probes.contrast import SEED, Common, Contrast, PairedChange, change_of
from assay.results.findings import Cell, Estimate, Findings, Table
from assay.results.run import Run
from assay.stats import student_p

SWAPS = 9999
DIFFERENT = (
    "these sets ask different questions: differences between them are not paired, and may come from the questions as "
    "well as from the language"
)
_SHOWN = ("accuracy", "bias_score", "accuracy_cost")
_TIE = 1e-12
_OF_NAMED = (metrics.error_alignment, metrics.bias_disambiguated)
"""Metrics that are shares of the answers that name a person."""

Key = tuple[str, str, str, str, str, int]  # category, template, context, polarity, content or number, which of several


def side_by_side(models: Sequence[tuple[str, Findings]]) -> dict[str, Table]:
    """Tables of several models, given by name and findings."""
    rows: list[Sequence[Cell]] = [
        [e.group["context"], e.group["category"], e.metric, name, e.value, e.low, e.high, e.n]
        for name, findings in models
        for e in findings.estimates
        if e.metric in _SHOWN and set(e.group) == {"category", "context"}
    ]
    columns = ("context", "category", "metric", "model", "value", "low", "high", "n")
    ordered = sorted(rows, key=lambda row: [str(cell) for cell in row[:4]])
    return {"scores": Table(columns, ordered)} if rows else {}


@dataclass(frozen=True)
class RecalledRun:
    """A run's answers, how it counts refusals, and what it asked."""

    answers: Table
    refusals: str
    folder: str = ""
    variety: EditionLanguage = ENGLISH
    _made: dict[tuple[str, bool], ItemTallies] = field(default_factory=dict, compare=False, repr=False)

    def items(self, refusals: str, contents: bool) -> ItemTallies:
        """What every item adds to a tally; made once, since a ranking compares a run with many."""
        if (refusals, contents) not in self._made:
            self._made[refusals, contents] = ItemTallies.of(self.answers, refusals, contents)
        return self._made[refusals, contents]


def recalled_run(run: Run) -> RecalledRun:
    if "answers" not in run.findings.tables:
        problem, again = "this run has no table of answers.", "Score it again: assay score bbq DIR"
        raise DataError(problem, again, code="bad-findings", file=run.folder, key="answers")
    refusals = run.info.settings.get("refusals") or "wrong"
    return RecalledRun(
        run.findings.tables["answers"], str(refusals), str(run.folder), EditionLanguage.of(run.info.settings)
    )


def compare_answers(
    probe: Probe,
    one: RecalledRun,
    other: RecalledRun,
    *,
    resamples: int,
    common: bool,
    exchanges: int = SWAPS,
    about: Sequence[Estimate] | None = None,
) -> Contrast:
    """The changes from one model to the other on the items that both answered: all, or those that are `about` these.

    Refusals are counted as in the first run. With `common`, items must be matched by content.
    """
    apart = one.variety != other.variety
    if common and apart:
        problem = f"{one.folder} and {other.folder} are in different languages, or from different sets."
        raise DataError(problem, "Compare them without --common.", code="not-comparable", key="language")
    if one.variety.is_control != other.variety.is_control and one.variety.language != other.variety.language:
        return Contrast([], [], notes=["a control set is compared with its own language only"])
    notes = []
    if one.refusals != other.refusals:
        notes.append(f"refusals count as {one.refusals} in both; this run itself has refusals={other.refusals}")
    first, second = (side.items(one.refusals, not apart) for side in (one, other))
    how = resamples, exchanges, about, {*one.variety.without, *other.variety.without}
    if one.variety.family != other.variety.family:
        keys, tallies = _side_by_side(first, second)
        changes = _changes(probe, keys, tallies, *how, paired=False)
        counts, notes = [], [*notes, DIFFERENT]
    else:
        pairs = _parallel(first, second) if apart else _same(first, second)
        counts = [Common("items", len(first.place), len(second.place), len(pairs))]
        if not pairs:
            return Contrast([], counts, notes=notes)
        both = zip((first, second), zip(*pairs, strict=True), strict=True)
        tallies = np.stack([items.tallies[[items.place[key] for key in keys]] for items, keys in both])
        changes = _changes(probe, [key for key, _ in pairs], tallies, *how)
    tables, remarks = beside(changes, language_labels([one.variety, other.variety]))
    return Contrast(changes, counts, tables, notes, remarks)


Pairs = list[tuple[Key, Key]]


def _same(one: ItemTallies, other: ItemTallies) -> Pairs:
    return [(key, key) for key in sorted(one.place.keys() & other.place.keys())]


def _parallel(one: ItemTallies, other: ItemTallies) -> Pairs:
    """The items of two languages of a set that have the same number; where a template has none, in their order.

    MBBQ's Spanish questions about gender have other numbers than its English ones, and are sorted differently.
    """
    pairs = _same(one, other)
    matched = {key[:4] for key, _ in pairs}
    rest: list[dict[tuple[str, ...], list[Key]]] = [{}, {}]
    for items, own in zip((one, other), rest, strict=True):
        for key in items.place:
            if key[:4] not in matched:
                own.setdefault(key[:4], []).append(key)
    of_both = sorted(rest[0].keys() & rest[1].keys())
    return pairs + [pair for where in of_both for pair in zip(rest[0][where], rest[1][where], strict=False)]


def _side_by_side(one: ItemTallies, other: ItemTallies) -> tuple[list[Key], Tally]:
    """The items of both, with the categories' names of the first, and their tallies (model, item, Field), which are 0
    for the items of the other.
    """
    names = {same_category(key[0]): key[0] for key in one.place}
    renamed: list[Key] = [(names.get(same_category(key[0]), key[0]), *key[1:]) for key in other.place]
    tallies = np.zeros((2, len(one.tallies) + len(other.tallies), FIELDS))
    tallies[0, : len(one.tallies)] = one.tallies[[*one.place.values()]]
    tallies[1, len(one.tallies) :] = other.tallies[[*other.place.values()]]
    return [*one.place, *renamed], tallies


@dataclass(frozen=True)
class ItemTallies:
    """A model's answers: the tally of every item."""

    place: Mapping[Key, int]
    tallies: Tally  # (item, Field)

    @staticmethod
    def of(answers: Table, refusals: str, contents: bool) -> ItemTallies:
        """Items from the table of answers; several orders of one item's options are averaged."""
        if not answers.rows:
            return ItemTallies({}, np.zeros((0, FIELDS)))
        columns = answers.by_column()
        names = ("category", "question_index", "context", "polarity", "example_id")
        about = list(zip(*(map(str, columns[name]) for name in names), strict=True))
        numbers: dict[tuple[str, ...], int] = {}
        item = np.array([numbers.setdefault(each, len(numbers)) for each in about], np.int64)  # (answer,)
        _, first, orders = np.unique(item, return_index=True, return_counts=True)
        answers_given = zip(columns["answer"], columns["option"], strict=True)
        said = np.array([f"{kind} {option}" for kind, option in answers_given], object)  # of any length
        tallies = by_unit(_judged(columns).tally(refusals), item, len(numbers)) / orders[:, None]
        tallies[:, TallyField.DEPENDS] = np.bincount(item, said != said[first][item]) > 0
        tallies[:, TallyField.ORDERED] = (orders > 1) & ("prompt" not in columns)
        place: dict[Key, int] = {}
        seen: dict[tuple[str, ...], int] = {}
        for number, row in enumerate(first.tolist()):
            *where, named = about[row]
            key = (*where, str(columns["content"][row]) if contents else named)
            seen[key] = seen.get(key, -1) + 1  # a file may ask one question twice
            place[key[0], key[1], key[2], key[3], key[4], seen[key]] = number
        return ItemTallies(place, tallies)


def _judged(columns: Mapping[str, Sequence[Cell]]) -> JudgedAnswers:
    """The judged answers, from the table of answers."""
    told = {name: np.array(columns[name], dtype=object) for name in ("answer", "correct", "context", "target")}
    sides: dict[Cell, float] = {0: 0.0, 1: 1.0}
    biased, aligned = (np.array([sides.get(cell, np.nan) for cell in columns[name]]) for name in ("biased", "aligned"))
    targeted = told["target"].astype(np.bool_)
    return JudgedAnswers(
        told["answer"], told["correct"] == 1, told["context"] != DISAMBIGUATED, targeted, biased, aligned
    )


def _changes(
    probe: Probe,
    shared: Sequence[Key],
    tallies: Tally,
    resamples: int,
    exchanges: int,
    about: Sequence[Estimate] | None,
    without: Collection[str],
    *,
    paired: bool = True,
) -> list[PairedChange]:
    """The changes of every category and context, then of all categories of a context together, but for metrics that one
    of the sets is `without`; or only those `about` these estimates.

    `tallies` has both models' (model, item, Field). If they are not `compare_answers`, each item is of one model only.
    """
    made: list[PairedChange] = []
    templates = [key[:2] for key in shared]
    if not paired:
        whose = tallies[1, :, TallyField.ASKED] > 0
        templates = [(f"{own} {name}", number) for own, (name, number) in zip(whose, templates, strict=True)]
    units = ResamplingUnits.make(templates, resamples, SEED)
    category, context = (np.array([key[place] for key in shared]) for place in (0, 2))
    for cell in (
        *(each for where in METRICS for each in cells_in(where, category, context)),
        *overall_in(category, context),
    ):
        wanted = None if about is None else {each.metric for each in about if each.group == cell.group}
        if wanted is not None and not wanted:
            continue
        drawn = units.drawn(tallies, cell.rows)
        if not drawn.total[:, TallyField.ASKED].all():
            continue  # only one of two sets has this category
        exchanged = _exchanged(drawn, exchanges) if paired else None
        several = (
            (ORDER_SENSITIVITY,) if drawn.total[:, TallyField.ORDERED].all() and cell.group["context"] != BOTH else ()
        )
        for metric in (*cell.metrics, *several):
            if metric.name in without or (wanted is not None and metric.name not in wanted):
                continue
            spread = drawn.of(metric)
            few = too_few(metric.counted(drawn.total))
            p = np.nan if few else spread.p if exchanged is None else _p(metric, drawn.tally, spread.values, exchanged)
            made.append(
                change_of(
                    probe.metric(metric.name),
                    cell.group,
                    (float(spread.values[0]), float(spread.values[1])),
                    n=len(cell.rows),
                    replicates=None if few or spread.few else (spread.again[0], spread.again[1]),
                    interval=spread.interval,
                    p=p,
                    family=family_of(metric.name, cell.group),
                    undefined=_undefined(metric, spread.values),
                    note=few or spread.few,
                )
            )
    return made


def _exchanged(drawn: ResampledTallies, exchanges: int = SWAPS) -> Tally:
    """Both tallies when the models' answers to some templates are exchanged (model, exchange, Field)."""
    one, other = drawn.tally
    swapped = np.random.default_rng([SEED, 1]).integers(0, 2, size=(exchanges, len(one))).astype(np.float64)
    moved = swapped @ (other - one)
    return np.stack([drawn.total[0] + moved, drawn.total[1] - moved])


def _p(metric: TallyMetric, tally: Tally, values: Array, exchanged: Tally) -> float:
    """p of exchanging the two models' answers.

    Of shares of the answers that name a person it is the larger of that and `_p_of_shares`: exchanged answers would
    spread a few wrong answers of one model and the many of the other evenly over both.
    """
    drawn = np.diff(metric.of(exchanged), axis=0)[0]
    reached = np.abs(drawn) >= abs(values[1] - values[0]) - _TIE  # an undefined draw is not counted as reaching it
    p = (1 + int(reached.sum())) / (1 + int(np.isfinite(drawn).sum()))
    return max(p, _p_of_shares(tally)) if metric.of in _OF_NAMED else p


def _p_of_shares(tally: Tally) -> float:
    """Student's t test of how often two models agree with the stereotype, of the times that each names a person.

    The error is that of models with the same share (as in a score test), from the templates' residuals.
    """
    named, biased = count_answers.named(tally), tally[..., TallyField.BIASED]  # (model, unit)
    total = named.sum(axis=1)
    residual = (biased - biased.sum() / total.sum() * named) / total[:, None]
    error = np.sqrt(((residual[1] - residual[0]) ** 2).sum())
    freedom = (total**2 / (named**2).sum(axis=1)).min() - 1.0
    first, second = biased.sum(axis=1) / total
    return float(student_p(second - first, error, max(freedom, 1.0)))


def too_few(counted: Array) -> str | None:
    """Why nothing is tested, if so, from the numbers of answers that count in the baseline and in the model."""
    least = int(counted.argmin())
    if counted[least] >= MIN_COUNTED:
        return None
    count, whose = f"{counted[least]:.3g}", ("baseline", "model")[least]
    answers = "answer counts" if count == "1" else "answers count"
    return f"not tested: {count} {answers} in the {whose}, and at least {MIN_COUNTED} are needed in both"


def _undefined(metric: TallyMetric, values: Array) -> str:
    whose = [name for name, value in zip(("baseline", "model"), values, strict=True) if not np.isfinite(value)]
    return f"undefined in the {' and the '.join(whose)}: {metric.undefined}"
