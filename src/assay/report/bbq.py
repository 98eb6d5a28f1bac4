"""What is said about a BBQ run beyond its estimates: the facts of its first paragraphs, its charts and its tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.findings import Cell, Estimate, Table
from assay.probes.bbq.showcase import comparison_words
from assay.report import bbq_tables as tables
from assay.report.bars import Bar, Scale, bar, signed_scale
from assay.report.bbq_charts import charts
from assay.report.bbq_grid import ALL, QUESTION_ONLY, Grid
from assay.report.bbq_heat import crossed_maps, label_maps
from assay.report.bbq_tables import Crossed, Offer, Score, Template
from assay.report.content import Content
from assay.report.words import CONTEXTS, category_words, interval, number

STARTER = "bbq-starter"

PEOPLE, PEOPLE_VOTING = 0.957, 0.997
"""The accuracy of single annotators on BBQ, and of five by vote (Parrish et al. 2022, section 4)."""

MOST_CLEAR = 5  # categories in a sentence
MOST_LABELS = 5  # of each category
MOST_STEREOTYPES = MOST_TEMPLATES = 10
MOST_STRINGS = 12
MOST_TARGETS = 20  # of each crossed category


@dataclass(frozen=True)
class Share:
    """A share with its interval, where it has one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Asked:
    """What the first paragraphs say of one context."""

    context: str
    estimates: Mapping[str, Estimate]  # by metric, over all categories
    named: Share | None  # the answers that name a person, of all that were understood
    clear: Mapping[str, Sequence[Estimate]]  # by metric, the categories that are clear of chance, the strongest first
    tested: Mapping[str, int]  # by metric, how many categories were tested against chance

    def get(self, metric: str) -> Estimate | None:
        return self.estimates.get(metric)

    @property
    def accuracy(self) -> Estimate | None:
        """None also where it is undefined."""
        accuracy = self.get("accuracy")
        return None if accuracy is None or accuracy.value is None else accuracy

    @property
    def refused(self) -> float:
        return self._share("refused_rate")

    @property
    def unparsed(self) -> float:
        return self._share("unparsed_rate")

    def _share(self, metric: str) -> float:
        rate = self.get(metric)
        return 0.0 if rate is None or rate.value is None else rate.value


@dataclass(frozen=True)
class Drawn:
    """The score of a group of people with its bar."""

    row: Score
    bar: Bar | None


def bbq_page(content: Content) -> dict[str, Any]:
    """What templates/bbq.html needs."""
    grid, starter = Grid.of(content.findings.estimates), content.findings.probe == STARTER
    refusals = content.setting("refusals") or "wrong"
    return {
        "starter": starter,
        "people": PEOPLE,
        "people_voting": PEOPLE_VOTING,
        "most_clear": MOST_CLEAR,
        "categories": [category_words(category) for category in grid.categories if category != ALL],
        "questions": content.questions or _examples(grid),
        "refusals": refusals,
        "asked": [_asked(grid, context, refusals) for context in grid.contexts],
        "charts": charts(content.findings.estimates, None if starter else PEOPLE, refusals),
        "with_texts": any(context != QUESTION_ONLY for context in grid.contexts),
        "has_orders": any(metric == "order_sensitivity" for metric, _, _ in grid.cells),
        "context_words": lambda context: CONTEXTS.get(context, context),
        "category_words": category_words,
        "comparison_words": comparison_words,
        **_tables(content, grid.contexts),
    }


def _tables(content: Content, contexts: Sequence[str]) -> dict[str, Any]:
    """What is shown of the long tables; where one context has to do, it is the first, in which bias shows most."""
    main = contexts[0] if contexts else ""
    crossed = tables.crossed(content, contexts, MOST_TARGETS)
    labels = tables.labels(content, main, MOST_LABELS, without={each.category for each in crossed})
    stereotypes = tables.stereotypes(content, main)
    strongest, templates = stereotypes[:MOST_STEREOTYPES], tables.templates(content, main)[:MOST_TEMPLATES]
    strings = tables.unknown_strings(content, contexts, MOST_STRINGS)
    shown = [*(row for label in labels for row in label.rows), *strongest]
    scale = signed_scale(mark for row in shown for mark in (row.value, row.low, row.high))
    return {
        "main": CONTEXTS.get(main, main),
        "main_context": main,
        "label_scale": scale,
        "labels": [(category_words(each.category), _draw(scale, each.rows), each.left_out) for each in labels],
        "stereotypes": _draw(scale, strongest),
        "stereotypes_left_out": len(stereotypes) - len(strongest),
        "label_table": _score_table((row for label in labels for row in label.rows), "label"),
        "stereotype_table": _score_table(strongest, "label", "stereotype"),
        "label_maps": label_maps(content, contexts),
        "crossed": crossed,
        "crossed_maps": crossed_maps(content, contexts),
        "crossed_table": _crossed_table,
        "strings": strings,
        "string_table": _string_table(strings, contexts),
        "templates": templates,
        "template_table": _template_table(templates, main),
    }


_INTERVAL = ("bias_score", "low", "high", "n")


def _score_table(rows: Iterable[Score], *who: str) -> Table:
    return Table(
        ("category", "context", *who, *_INTERVAL),
        [[r.category, r.context, *(r.who, r.detail)[: len(who)], r.value, r.low, r.high, r.n] for r in rows],
    )


def _crossed_table(crossed: Crossed) -> Table:
    return _score_table((row for own in crossed.targets.values() for row in own.values()), "target", "comparison")


def _string_table(strings: Sequence[tuple[str, Sequence[Offer | None]]], contexts: Sequence[str]) -> Table:
    rows: list[Sequence[Cell]] = [
        [string, context, offer.offered, offer.chosen, offer.share]
        for string, offers in strings
        for context, offer in zip(contexts, offers, strict=True)
        if offer
    ]
    return Table(("string", "context", "offered", "chosen", "share_of_unknown"), rows)


def _template_table(templates: Sequence[Template], context: str) -> Table:
    columns = ("category", "question_index", "context", "stereotype", "bias", "polarity")
    rows: list[Sequence[Cell]] = [
        [each.category, each.index, context, each.stereotype, each.bias, polarity, a.target, a.other, a.unknown, a.n]
        for each in templates
        for polarity, a in each.answers.items()
    ]
    return Table((*columns, "target", "non_target", "unknown", "n"), rows)


def _asked(grid: Grid, context: str, refusals: str) -> Asked:
    whole = grid.whole(context)
    estimates = {metric: e for (metric, category, own), e in grid.cells.items() if (category, own) == (whole, context)}
    tested = ("bias_score", "accuracy_cost")
    return Asked(
        context,
        estimates,
        _named(estimates, refusals),
        {metric: grid.clear(metric, context) for metric in tested},
        {metric: len(grid.tested(metric, context)) for metric in tested},
    )


def _named(estimates: Mapping[str, Estimate], refusals: str) -> Share | None:
    """The share of answers that name a person: those that neither say UNKNOWN nor refuse."""
    unknown, refused = estimates.get("unknown_rate"), estimates.get("refused_rate")
    if unknown is None or unknown.value is None:
        return None
    declined = 0.0 if refused is None or refusals == "unknown" else refused.value or 0.0
    if declined:
        return Share(max(0.0, 1.0 - unknown.value - declined))
    if unknown.low is None or unknown.high is None:
        return Share(1.0 - unknown.value)
    return Share(1.0 - unknown.value, 1.0 - unknown.high, 1.0 - unknown.low)


def _examples(grid: Grid) -> int | None:
    """How many examples were asked about, where run.json does not say how many questions that took."""
    found = [grid.of_whole("unparsed_rate", context) for context in grid.contexts]
    return sum(estimate.n for estimate in found if estimate is not None) or None


def _draw(scale: Scale, rows: Sequence[Score]) -> list[Drawn]:
    def drawn(row: Score) -> Drawn:
        what = f"{row.who}, {row.detail}" if row.detail else row.who
        described = "" if row.low is None else f"Interval {interval(row.low, row.high)}."
        title = f"{what}: bias score {number(row.value)}"
        return Drawn(row, bar(scale, row.value, row.low, row.high, None, title, described))

    return [drawn(row) for row in rows]
