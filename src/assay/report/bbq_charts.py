"""BBQ's charts: an estimate for each category and context, on one scale, with others beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.findings import Estimate
from assay.report.bars import Scale, signed_scale
from assay.report.bbq_grid import ALL, QUESTION_ONLY, Grid
from assay.report.headline import Line, line_of, numbered_notes
from assay.report.words import CONTEXTS, POLARITIES, category_words

SHARES = Scale(0.0, 1.0)

GUESSING = 1 / 3
"""The accuracy of choosing one of three options at random."""

RATES = ("refused_rate", "unparsed_rate", "order_sensitivity")


@dataclass(frozen=True)
class Row:
    """A line of a chart, and what stands beside it."""

    line: Line
    beside: Sequence[Estimate | None]


@dataclass(frozen=True)
class Part:
    """The lines of one category, a line for each context."""

    category: str
    whole: bool
    rows: Sequence[Row]


@dataclass(frozen=True)
class Chart:
    """Lines by category on one scale; none where nothing was measured."""

    scale: Scale
    parts: Sequence[Part]

    @property
    def has_q(self) -> bool:
        return any(row.line.estimate.q is not None for part in self.parts for row in part.rows)

    def __bool__(self) -> bool:
        return bool(self.parts)


def charts(estimates: Sequence[Estimate], people: float | None) -> dict[str, Chart]:
    """All of them, by name. `people` is the accuracy that people reach, where somebody measured it."""
    made = _Charts(Grid.of(estimates), numbered_notes(estimates))
    return {
        "bias": made.of("bias_score", beside=made.metrics("error_alignment", "diff_bias")),
        "accuracy": made.of("accuracy", SHARES, beside=made.questions, chance=GUESSING, reference=people),
        "cost": made.of("accuracy_cost"),
        "rates": made.of("unknown_rate", SHARES, beside=made.metrics(*RATES)),
        "comparisons": made.comparisons(),
    }


def comparison_words(category: str, comparison: str) -> str:
    """How the other person of a crossed question differs from the stereotyped one.

    >>> comparison_words("Race_x_SES", "a"), comparison_words("Race_x_gender", "c"), comparison_words("Own", "b")
    ('same race, other class', 'other race, other gender', 'other first attribute, same second attribute')
    """
    differ = {"a": ("same", "other"), "b": ("other", "same"), "c": ("other", "other")}
    if comparison not in differ:
        return comparison
    first, crossed, second = category.removesuffix(" (names)").partition("_x_")
    names = (first.lower(), "class" if second == "SES" else second) if crossed else _UNNAMED
    return ", ".join(f"{how} {name}" for how, name in zip(differ[comparison], names, strict=True))


_UNNAMED = ("first attribute", "second attribute")

Beside = Callable[[str, str], Sequence[Estimate | None]]  # of a category and a context


@dataclass(frozen=True)
class _Charts:
    grid: Grid
    notes: Mapping[str, int]

    def of(
        self,
        metric: str,
        scale: Scale | None = None,
        beside: Beside = lambda category, context: (),
        chance: float | None = None,
        reference: float | None = None,
    ) -> Chart:
        """A metric by category and context."""
        scale = scale or _signed(estimate for (name, _, _), estimate in self.grid.cells.items() if name == metric)
        parts = []
        for category in self.grid.categories:
            rows = []
            for context in self.grid.contexts:
                estimate = self.grid.get(metric, category, context)
                if estimate is not None:
                    said = CONTEXTS.get(context, context)
                    told = None if context == QUESTION_ONLY else reference  # people were given the texts
                    line = line_of(estimate, said, self.notes, scale, chance=chance, reference=told)
                    rows.append(Row(line, beside(category, context)))
            if rows:
                parts.append(Part(category_words(category), category == ALL, rows))
        return Chart(scale, parts)

    def comparisons(self) -> Chart:
        """The bias scores of crossed categories, by how the other person differs."""
        found = self.grid.comparisons
        scale, parts = _signed(found.values()), []
        for category, comparison in dict.fromkeys((category, letter) for category, _, letter in found):
            rows = [
                Row(line_of(found[key], CONTEXTS.get(context, context), self.notes, scale), ())
                for context in self.grid.contexts
                if (key := (category, context, comparison)) in found
            ]
            parts.append(Part(f"{category_words(category)}: {comparison_words(category, comparison)}", False, rows))
        return Chart(scale, parts)

    def metrics(self, *names: str) -> Beside:
        return lambda category, context: [self.grid.get(name, category, context) for name in names]

    def questions(self, category: str, context: str) -> Sequence[Estimate | None]:
        """The accuracy of negative and of non-negative questions."""
        return [self.grid.polarities.get((category, context, polarity)) for polarity in POLARITIES]


def _signed(estimates: Iterable[Estimate]) -> Scale:
    return signed_scale(mark for each in estimates for mark in (each.value, each.low, each.high))
