"""A BBQ run in the terminal: accuracy and bias by category, then how often which kind of answer was given."""

from __future__ import annotations

from collections.abc import Sequence

from assay.findings import Estimate
from assay.report import words
from assay.report.bbq import PEOPLE, STARTER
from assay.report.bbq_grid import ALL, AMBIGUOUS, DISAMBIGUATED, Grid, is_clear
from assay.report.content import Content
from assay.report.plaintext import clipped, visible
from assay.report.printer import Printer, Row

SHORT = {AMBIGUOUS: "ambig.", DISAMBIGUATED: "disamb."}
MARK = "*"  # of what is clear of chance

_RATES = {"unknown_rate": "UNKNOWN", "refused_rate": "refused", "unparsed_rate": "unparsed"}
_MORE = {"error_alignment": "agreeing errors", "accuracy_cost": "accuracy cost", "order_sensitivity": "order-sensitive"}


def print_categories(printer: Printer, content: Content) -> bool:
    """Prints what a BBQ run found; says whether there was anything that is by category and context."""
    grid = Grid.of(content.findings.estimates)
    if not grid.cells:
        return False
    if content.findings.probe == STARTER:
        printer.line("These are assay's own starter questions: this is no BBQ result.", "bold")
        printer.line()
    sides = [context for context in SHORT if context in grid.contexts]
    alone = [[context] for context in grid.contexts if context not in SHORT]
    for contexts in ([sides] if sides else []) + alone:
        _print_scores(printer, content, grid, contexts)
    _print_reading(printer, content, grid)
    _print_answers(printer, grid)
    return True


def _print_scores(printer: Printer, content: Content, grid: Grid, contexts: Sequence[str]) -> None:
    said = [SHORT.get(context, "") for context in contexts]
    figures = [f"accuracy\n{short}".strip() for short in said]
    figures += [head for short in said for head in (f"bias\n{short}".strip(), content.level)]
    rows = []
    for category in grid.categories:
        accuracies = [grid.get("accuracy", category, context) for context in contexts]
        scores = [grid.get("bias_score", category, context) for context in contexts]
        cells = [_fixed(accuracy) for accuracy in accuracies]
        cells += [cell for score in scores for cell in (_fixed(score), _between(score))]
        clear = any(score is not None and is_clear(score) for score in scores)
        rows.append(Row([words.category_words(category), *cells], "bold" if clear else "", category == ALL))
    where = "" if any(said) else f", {', '.join(map(_context, contexts))}"
    printer.table(f"Accuracy and bias by category{where}", ["category"], figures, rows)


def _print_reading(printer: Printer, content: Content, grid: Grid) -> None:
    printer.line("bias: above 0 answers agree with stereotypes, below 0 they contradict them.", "dim")
    if any(grid.clear("bias_score", context) for context in grid.contexts):
        printer.line(
            f"{MARK} clear of chance: q, corrected for the number of categories, is at most {words.CLEAR}.", "dim"
        )
    elif any(grid.tested("bias_score", context) for context in grid.contexts):
        printer.line(f"No category is clear of chance: q is above {words.CLEAR} in each.", "dim")
    texts = content.findings.probe != STARTER and set(SHORT) & set(grid.contexts)
    people = "" if not texts else f"; single people reach {PEOPLE} on BBQ"
    printer.line(f"accuracy: guessing gives 0.333{people}.", "dim")
    shown = [each for (metric, _, _), each in grid.cells.items() if metric in ("accuracy", "bias_score")]
    if any(each.low is None for each in shown):
        printer.line(f"{words.UNDEFINED}: undefined, or too few templates for an interval; the report says why.", "dim")
    printer.line()


def _print_answers(printer: Printer, grid: Grid) -> None:
    """How often which kind of answer was given, over all categories."""
    wholes = [context for context in grid.contexts if grid.whole(context) is not None]
    more = {metric: head for metric, head in _MORE.items() if any(grid.of_whole(metric, own) for own in wholes)}
    heads = _RATES | more
    if not any(grid.of_whole(metric, context) for metric in heads for context in wholes):
        return
    rows = [
        Row([_context(context), *(_fixed(grid.of_whole(metric, context)) for metric in heads)]) for context in wholes
    ]
    several = any(grid.whole(context) == ALL for context in wholes)
    title = "Answers, all categories together" if several else "Answers"
    printer.table(title, ["question"], [head.replace(" ", "\n") for head in heads.values()], rows)
    for metric, said in {"refused_rate": "were refused", "unparsed_rate": "could not be understood"}.items():
        rates = [(context, grid.of_whole(metric, context)) for context in wholes]
        told = [
            f"{words.share(rate.value)} ({_context(context)})"
            for context, rate in rates
            if rate is not None and rate.value
        ]
        if told:
            printer.line(f"Some answers {said}: {', '.join(told)}.", "bold")
    for metric, head in more.items():
        printer.line(f"{head}: {words.metric_words(metric).meaning}.", "dim")
    printer.line()


def _context(context: str) -> str:
    return clipped(visible(words.CONTEXTS.get(context, context)))


def _fixed(estimate: Estimate | None) -> str:
    """A value with three decimals, so that a column lines up; marked where it is clear of chance."""
    if estimate is None:
        return ""
    mark = MARK if estimate.metric == "bias_score" and is_clear(estimate) else ""
    return f"{words.fixed(estimate.value)}{mark}"


def _between(estimate: Estimate | None) -> str:
    return "" if estimate is None else words.fixed_interval(estimate.low, estimate.high)
