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
from itertools import chain

import numpy as np

from assay.errors import DataError
from assay.probes.base import Probe
from assay.probes.bbq import ALL, BOTH, category_words, count_answers, family_of, metrics, same_category
from assay.probes.bbq.analyse import METRICS, ORDER_SENSITIVITY, cells_in, overall_in
from assay.probes.bbq.count_answers import FIELDS, Array, JudgedAnswers, Tally, TallyField
from assay.probes.bbq.edition_language import ENGLISH, EditionLanguage, language_labels
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED
from assay.probes.bbq.tallies import MIN_COUNTED, ResampledTallies, ResamplingUnits, TallyMetric, by_unit
from assay.probes.contrast import SEED, Common, Contrast, PairedChange, change_of
from assay.results.findings import Cell, Estimate, Findings, Table
from assay.results.formatting import format_number
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
        [
            estimate.group["context"],
            estimate.group["category"],
            estimate.metric,
            name,
            estimate.value,
            estimate.low,
            estimate.high,
            estimate.n,
        ]
        for name, findings in models
        for estimate in findings.estimates
        if estimate.metric in _SHOWN and set(estimate.group) == {"category", "context"}
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
    _cached: dict[tuple[str, bool], ItemTallies] = field(default_factory=dict, compare=False, repr=False)

    def items(self, refusals: str, contents: bool) -> ItemTallies:
        """What every item adds to a tally; made once, since a ranking compares a run with many."""
        if (refusals, contents) not in self._cached:
            self._cached[refusals, contents] = ItemTallies.of(self.answers, refusals, contents)
        return self._cached[refusals, contents]


def recalled_run(run: Run) -> RecalledRun:
    if "answers" not in run.findings.tables:
        problem, remedy = "this run has no table of answers.", "Score it again: assay score bbq DIR"
        raise DataError(problem, remedy, code="bad-findings", file=run.folder, key="answers")
    refusals = run.info.settings.get("refusals") or "wrong"
    return RecalledRun(
        run.findings.tables["answers"], str(refusals), str(run.folder), EditionLanguage.of(run.info.settings)
    )


def compare_answers(
    probe: Probe,
    baseline: RecalledRun,
    model: RecalledRun,
    *,
    resamples: int,
    common: bool,
    exchanges: int = SWAPS,
    about: Sequence[Estimate] | None = None,
) -> Contrast:
    """The changes from one model to the other on the items that both answered: all, or those that are `about` these.

    Refusals are counted as in the first run. With `common`, items must be matched by content.
    """
    apart = baseline.variety != model.variety
    if common and apart:
        problem = f"{baseline.folder} and {model.folder} are in different languages, or from different sets."
        raise DataError(problem, "Compare them without --common.", code="not-comparable", key="language")
    if baseline.variety.is_control != model.variety.is_control and baseline.variety.language != model.variety.language:
        return Contrast([], [], notes=["a control set is compared with its own language only"])
    notes = []
    if baseline.refusals != model.refusals:
        notes.append(f"refusals count as {baseline.refusals} in both; this run itself has refusals={model.refusals}")
    first, second = (side.items(baseline.refusals, not apart) for side in (baseline, model))
    options = resamples, exchanges, about, {*baseline.variety.without, *model.variety.without}
    if baseline.variety.family != model.variety.family:
        keys, tallies = _side_by_side(first, second)
        changes = _changes(probe, keys, tallies, *options, paired=False)
        counts, notes = [], [*notes, DIFFERENT]
    else:
        pairs = _parallel(first, second) if apart else _same(first, second)
        counts = [Common("items", len(first.rows), len(second.rows), len(pairs))]
        if not pairs:
            return Contrast([], counts, notes=notes)
        both = zip((first, second), zip(*pairs, strict=True), strict=True)
        tallies = np.stack([items.tallies[[items.rows[key] for key in keys]] for items, keys in both])
        changes = _changes(probe, [key for key, _ in pairs], tallies, *options)
    tables, remarks = _beside(changes, language_labels([baseline.variety, model.variety]))
    return Contrast(changes, counts, tables, notes, remarks)


Pairs = list[tuple[Key, Key]]


def _same(baseline: ItemTallies, model: ItemTallies) -> Pairs:
    return [(key, key) for key in sorted(baseline.rows.keys() & model.rows.keys())]


def _parallel(baseline: ItemTallies, model: ItemTallies) -> Pairs:
    """The items of two languages of a set that have the same number; where a template has none, in their order.

    MBBQ's Spanish questions about gender have other numbers than its English ones, and are sorted differently.
    """
    pairs = _same(baseline, model)
    matched = {key[:4] for key, _ in pairs}
    rest: list[dict[tuple[str, ...], list[Key]]] = [{}, {}]
    for items, unmatched in zip((baseline, model), rest, strict=True):
        for key in items.rows:
            if key[:4] not in matched:
                unmatched.setdefault(key[:4], []).append(key)
    of_both = sorted(rest[0].keys() & rest[1].keys())
    return pairs + [pair for template in of_both for pair in zip(rest[0][template], rest[1][template], strict=False)]


def _side_by_side(baseline: ItemTallies, model: ItemTallies) -> tuple[list[Key], Tally]:
    """The items of both, with the categories' names of the first, and their tallies (model, item, Field), which are 0
    for the items of the other.
    """
    names = {same_category(key[0]): key[0] for key in baseline.rows}
    renamed: list[Key] = [(names.get(same_category(key[0]), key[0]), *key[1:]) for key in model.rows]
    tallies = np.zeros((2, len(baseline.tallies) + len(model.tallies), FIELDS))
    tallies[0, : len(baseline.tallies)] = baseline.tallies[[*baseline.rows.values()]]
    tallies[1, len(baseline.tallies) :] = model.tallies[[*model.rows.values()]]
    return [*baseline.rows, *renamed], tallies


@dataclass(frozen=True)
class ItemTallies:
    """A model's answers: the tally of every item."""

    rows: Mapping[Key, int]
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
        items = np.array([numbers.setdefault(item_key, len(numbers)) for item_key in about], np.int64)  # (answer,)
        _, first, orders = np.unique(items, return_index=True, return_counts=True)
        answers_given = zip(columns["answer"], columns["option"], strict=True)
        named_options = np.array([f"{kind} {option}" for kind, option in answers_given], object)  # of any length
        tallies = by_unit(_judged(columns).tally(refusals), items, len(numbers)) / orders[:, None]
        tallies[:, TallyField.DEPENDS] = np.bincount(items, named_options != named_options[first][items]) > 0
        tallies[:, TallyField.ORDERED] = (orders > 1) & ("prompt" not in columns)
        rows: dict[Key, int] = {}
        seen: dict[tuple[str, ...], int] = {}
        for number, row in enumerate(first.tolist()):
            *template, example_id = about[row]
            key = (*template, str(columns["content"][row]) if contents else example_id)
            seen[key] = seen.get(key, -1) + 1  # a file may ask one question twice
            rows[key[0], key[1], key[2], key[3], key[4], seen[key]] = number
        return ItemTallies(rows, tallies)


def _judged(columns: Mapping[str, Sequence[Cell]]) -> JudgedAnswers:
    """The judged answers, from the table of answers."""
    arrays = {name: np.array(columns[name], dtype=object) for name in ("answer", "correct", "context", "target")}
    sides: dict[Cell, float] = {0: 0.0, 1: 1.0}
    biased, aligned = (np.array([sides.get(cell, np.nan) for cell in columns[name]]) for name in ("biased", "aligned"))
    targeted = arrays["target"].astype(np.bool_)
    return JudgedAnswers(
        arrays["answer"], arrays["correct"] == 1, arrays["context"] != DISAMBIGUATED, targeted, biased, aligned
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
    changes: list[PairedChange] = []
    templates = [key[:2] for key in shared]
    if not paired:
        of_second = tallies[1, :, TallyField.ASKED] > 0
        templates = [(f"{second} {name}", number) for second, (name, number) in zip(of_second, templates, strict=True)]
    units = ResamplingUnits.make(templates, resamples, SEED)
    category, context = (np.array([key[column] for key in shared]) for column in (0, 2))
    by_context = (group for name in METRICS for group in cells_in(name, category, context))
    for cell in chain(by_context, overall_in(category, context)):
        candidates = (*cell.metrics, ORDER_SENSITIVITY)
        names = {m.name for m in candidates} if about is None else {e.metric for e in about if e.group == cell.group}
        names.difference_update(without)
        if not names:
            continue
        resampled = units.drawn(tallies, cell.rows)
        if not resampled.total[:, TallyField.ASKED].all():
            continue  # only one of two sets has this category
        if cell.group["context"] == BOTH or not resampled.total[:, TallyField.ORDERED].all():
            names.discard(ORDER_SENSITIVITY.name)
        exchanged = _exchanged(resampled, exchanges) if paired else None
        for metric in (metric for metric in candidates if metric.name in names):
            spread = resampled.of(metric)
            few_reason = too_few(metric.counted(resampled.total))
            if few_reason:
                p = np.nan
            else:
                p = spread.p if exchanged is None else _p(metric, resampled.tally, spread.values, exchanged)
            changes.append(
                change_of(
                    probe.metric(metric.name),
                    cell.group,
                    (float(spread.values[0]), float(spread.values[1])),
                    n=len(cell.rows),
                    replicates=None if few_reason or spread.few else (spread.replicates[0], spread.replicates[1]),
                    interval=spread.interval,
                    p=p,
                    family=family_of(metric.name, cell.group),
                    undefined=_undefined(metric, spread.values),
                    note=few_reason or spread.few,
                )
            )
    return changes


def _exchanged(resampled: ResampledTallies, exchanges: int = SWAPS) -> Tally:
    """Both tallies when the models' answers to some templates are exchanged (model, exchange, Field)."""
    baseline, model = resampled.tally
    swapped = np.random.default_rng([SEED, 1]).integers(0, 2, size=(exchanges, len(baseline))).astype(np.float64)
    moved = swapped @ (model - baseline)
    return np.stack([resampled.total[0] + moved, resampled.total[1] - moved])


def _p(metric: TallyMetric, tally: Tally, values: Array, exchanged: Tally) -> float:
    """p of exchanging the two models' answers.

    Of shares of the answers that name a person it is the larger of that and `_p_of_shares`: exchanged answers would
    spread a few wrong answers of one model and the many of the other evenly over both.
    """
    differences = np.diff(metric.of(exchanged), axis=0)[0]
    reached = (
        np.abs(differences) >= abs(values[1] - values[0]) - _TIE
    )  # an undefined draw is not counted as reaching it
    p = (1 + int(reached.sum())) / (1 + int(np.isfinite(differences).sum()))
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


# --- accuracy and “cannot be determined” next to a change of the bias score
#
# A model that evades everything scores 0, too. Yang et al. 2025 (Rethinking Prompt-based Debiasing in Large Language
# Models, arXiv 2503.09219) find that instructions against bias often teach evasion.

BESIDE = "beside"
TITLE = "Bias score in ambiguous questions, with accuracy and “cannot be determined”"

_SCORE, _RIGHT = "bias, ambig.", "accuracy, disamb."
_UNKNOWN, _UNKNOWN_TOLD = "UNKNOWN, ambig.", "UNKNOWN, disamb."
_BESIDE = {
    _SCORE: ("bias_score", AMBIGUOUS),
    _RIGHT: ("accuracy", DISAMBIGUATED),
    _UNKNOWN: ("unknown_rate", AMBIGUOUS),
    _UNKNOWN_TOLD: ("unknown_rate", DISAMBIGUATED),
}

Measures = Mapping[str, PairedChange]  # of a category, by the keys of _BESIDE


def _beside(changes: Sequence[PairedChange], languages: Sequence[str] = ()) -> tuple[dict[str, Table], list[str]]:
    """A table by category, and a sentence about all of them together; neither if a context is missing.

    `languages` are those of the two runs, if they differ.
    """
    by_key = {(c.change.metric, c.change.group.get("context"), c.change.group["category"]): c for c in changes}
    categories = sorted(dict.fromkeys(c.change.group["category"] for c in changes), key=lambda name: name != ALL)
    measures: dict[str, Measures] = {
        category: {name: by_key[*key, category] for name, key in _BESIDE.items()}
        for category in categories
        if all((*key, category) in by_key for key in _BESIDE.values())
    }
    if not measures:
        return {}, []
    rows: list[Sequence[Cell]] = [
        [category, name, c.before, c.after, c.change.value, c.change.low, c.change.high]
        for category, by_name in measures.items()
        for name, c in by_name.items()
    ]
    table = Table(("category", "measure", "before", "after", "change", "low", "high"), rows)
    category = ALL if ALL in measures else next(iter(measures))
    is_whole = category == ALL or len(measures) == 1
    return {BESIDE: table}, [_sentence(category, measures[category], languages)] if is_whole else []


def _sentence(category: str, measures: Measures, languages: Sequence[str]) -> str:
    in_first, in_second = (f" in {name}" for name in languages) if languages else ("", "")
    then = "" if languages else "now "
    numbers = {
        name: f"{format_number(change.before)}{in_first}, {then}{format_number(change.after)}{in_second}"
        for name, change in measures.items()
    }
    sentence = (
        f"Bias score in ambiguous questions, {category_words(category)}: {numbers[_SCORE]}. Accuracy in disambiguated "
        f"questions: {numbers[_RIGHT]}. Share of “cannot be determined”: {numbers[_UNKNOWN]} in ambiguous "
        f"questions; {numbers[_UNKNOWN_TOLD]} in disambiguated ones."
    )
    score, right = measures[_SCORE], measures[_RIGHT].change
    smaller = score.before is not None and score.after is not None and abs(score.after) < abs(score.before)
    if smaller and right.high is not None and right.high < 0:
        sentence += " The smaller score came with fewer right answers."
    return sentence
