"""BBQ's charts: an estimate for each category and context, on one scale, with others beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.findings import Cell, Estimate, Table
from assay.probes.bbq.showcase import comparison_words
from assay.report.bars import MARGIN, WIDTH, Scale, signed_scale
from assay.report.bbq_grid import ALL, QUESTION_ONLY, Grid, bbq_behind
from assay.report.headline import Line, line_of, numbered_notes
from assay.report.words import CONTEXTS, POLARITIES, category_words, share

SHARES = Scale(0.0, 1.0)

GUESSING = 1 / 3
"""The accuracy of choosing one of three options at random."""

RATES = ("refused_rate", "unparsed_rate", "order_sensitivity")

KINDS = ("named", "unknown", "refused", "unparsed")
"""What an answer may do: name a person, say UNKNOWN, decline, or none of these."""
_SAID = {"named": "named a person", "unknown": "UNKNOWN", "refused": "refused", "unparsed": "unparsed"}
_NEIGHBOURS = ("error_alignment", "diff_bias")


@dataclass(frozen=True)
class Stack:
    """The kinds of answers as parts of one bar: for each that occurs its kind, its left end and its width."""

    pieces: Sequence[tuple[str, float, float]]
    shares: Mapping[str, float]  # of all answers, by kind
    title: str


@dataclass(frozen=True)
class Row:
    """A line of a chart, what stands beside it, and which examples stand behind it."""

    line: Line
    beside: Sequence[Estimate | None]
    stack: Stack | None = None

    @property
    def about(self) -> Mapping[str, str]:
        return bbq_behind(self.line.estimate)


@dataclass(frozen=True)
class Part:
    """The lines of one category, a line for each context."""

    category: str
    whole: bool
    rows: Sequence[Row]


@dataclass(frozen=True)
class Chart:
    """Lines by category on one scale, none where nothing was measured; `columns` name what stands beside them."""

    scale: Scale
    parts: Sequence[Part]
    columns: Sequence[str] = ()

    @property
    def has_q(self) -> bool:
        return any(row.line.estimate.q is not None for part in self.parts for row in part.rows)

    def __bool__(self) -> bool:
        return bool(self.parts)

    @property
    def table(self) -> Table:
        """The same as a table."""
        rows = [row for part in self.parts for row in part.rows]
        groups = list(dict.fromkeys(key for row in rows for key in row.line.estimate.group))
        metric = next((row.line.estimate.metric for row in rows), "value")
        return Table(
            [*groups, metric, "low", "high", "p", "q", "n", *self.columns, *(KINDS if _stacked(rows) else ())],
            [_cells(row, groups, len(self.columns)) for row in rows],
        )


def _stacked(rows: Sequence[Row]) -> bool:
    return any(row.stack for row in rows)


def _cells(row: Row, groups: Sequence[str], columns: int) -> list[Cell]:
    e = row.line.estimate
    others = [None if other is None else other.value for other in row.beside[:columns]]
    kinds = [row.stack.shares.get(kind) for kind in KINDS] if row.stack else []
    return [*(e.group.get(key) for key in groups), e.value, e.low, e.high, e.p, e.q, e.n, *others, *kinds]


def charts(estimates: Sequence[Estimate], people: float | None, refusals: str = "wrong") -> dict[str, Chart]:
    """All of them, by name. `people` is the accuracy that people reach, where somebody measured it."""
    made = _Charts(Grid.of(estimates), numbered_notes(estimates))
    return {
        "bias": made.of("bias_score", beside=_NEIGHBOURS),
        "accuracy": made.of("accuracy", SHARES, made.questions, chance=GUESSING, reference=people),
        "cost": made.of("accuracy_cost"),
        "rates": made.kinds(refusals),
        "comparisons": made.comparisons(),
    }


def stack_of(unknown: Estimate, refused: Estimate | None, unparsed: Estimate | None, refusals: str) -> Stack | None:
    """The kinds of answers as shares of all answers; the rates of UNKNOWN and refused are of those understood."""
    if unknown.value is None:
        return None
    not_understood = _value(unparsed)
    declined = _value(refused)
    said = unknown.value - (declined if refusals == "unknown" else 0.0)  # there UNKNOWN includes what was refused
    understood = 1.0 - not_understood
    parts = (1.0 - said - declined, said, declined)
    shares = dict(zip(KINDS, (*(max(0.0, part) * understood for part in parts), not_understood), strict=True))
    pieces, left = [], float(MARGIN)
    for kind, part in shares.items():
        width = part * (WIDTH - 2 * MARGIN)
        if width > 0:
            pieces.append((kind, round(left, 1), round(width, 1)))
        left += width
    told = ", ".join(f"{_SAID[kind]} {share(part)}" for kind, part in shares.items() if part or kind in KINDS[:2])
    return Stack(pieces, shares, told)


def _value(estimate: Estimate | None) -> float:
    return 0.0 if estimate is None or estimate.value is None else estimate.value


Beside = Callable[[str, str], Sequence[Estimate | None]]  # of a category and a context
_POLAR = tuple(f"accuracy_{polarity}" for polarity in POLARITIES)


@dataclass(frozen=True)
class _Charts:
    grid: Grid
    notes: Mapping[str, int]

    def of(
        self,
        metric: str,
        scale: Scale | None = None,
        beside: Beside | Sequence[str] = (),
        chance: float | None = None,
        reference: float | None = None,
    ) -> Chart:
        """A metric by category and context."""
        scale = scale or _signed(estimate for (name, _, _), estimate in self.grid.cells.items() if name == metric)
        others = beside if callable(beside) else self.metrics(*beside)
        parts = []
        for category in self.grid.categories:
            rows = []
            for context in self.grid.contexts:
                estimate = self.grid.get(metric, category, context)
                if estimate is not None:
                    said = CONTEXTS.get(context, context)
                    told = None if context == QUESTION_ONLY else reference  # people were given the texts
                    line = line_of(estimate, said, self.notes, scale, chance=chance, reference=told)
                    rows.append(Row(line, others(category, context)))
            if rows:
                parts.append(Part(category_words(category), category == ALL, rows))
        return Chart(scale, parts, _POLAR if callable(beside) else beside)

    def kinds(self, refusals: str) -> Chart:
        """How many answers were of which kind."""
        chart = self.of("unknown_rate", SHARES, RATES)
        return replace(
            chart,
            parts=[
                replace(part, rows=[replace(row, stack=_stack_of(row, refusals)) for row in part.rows])
                for part in chart.parts
            ],
        )

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


def _stack_of(row: Row, refusals: str) -> Stack | None:
    return stack_of(row.line.estimate, row.beside[0], row.beside[1], refusals)


def _signed(estimates: Iterable[Estimate]) -> Scale:
    return signed_scale(mark for each in estimates for mark in (each.value, each.low, each.high))
