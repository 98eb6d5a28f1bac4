"""Accuracy and “cannot be determined” next to a change of the bias score: a model that evades everything scores 0, too.

Yang et al. 2025 (Rethinking Prompt-based Debiasing in Large Language Models, arXiv 2503.09219) find that instructions
against bias often teach evasion. So every gain is shown with accuracy where the text gives the answer, and with the
share of answers that chose “cannot be determined”.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.probes.bbq import ALL, category_words
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED
from assay.probes.contrast import PairedChange
from assay.results.findings import Cell, Table
from assay.results.formatting import format_number

BESIDE = "beside"
TITLE = "Bias score in ambiguous questions, with accuracy and “cannot be determined”"

_SCORE, _RIGHT = "bias, ambig.", "accuracy, disamb."
_UNKNOWN = {AMBIGUOUS: "UNKNOWN, ambig.", DISAMBIGUATED: "UNKNOWN, disamb."}
_SHOWN = {
    _SCORE: ("bias_score", AMBIGUOUS),
    _RIGHT: ("accuracy", DISAMBIGUATED),
    **{name: ("unknown_rate", context) for context, name in _UNKNOWN.items()},
}

Row = Mapping[str, PairedChange]


def beside(changes: Sequence[PairedChange], languages: Sequence[str] = ()) -> tuple[dict[str, Table], list[str]]:
    """A table by category, and a sentence about all of them together; neither if a context is missing.

    `languages` are those of the two runs, if they differ.
    """
    rows = _by_category(changes)
    if not rows:
        return {}, []
    cells: list[Sequence[Cell]] = [
        [category, name, each.before, each.after, each.change.value, each.change.low, each.change.high]
        for category, row in rows.items()
        for name, each in row.items()
    ]
    table = Table(("category", "measure", "before", "after", "change", "low", "high"), cells)
    whole = ALL if ALL in rows else next(iter(rows))
    return {BESIDE: table}, [_said(whole, rows[whole], languages)] if whole == ALL or len(rows) == 1 else []


def _by_category(changes: Sequence[PairedChange]) -> dict[str, Row]:
    """The changes shown for every category, all categories together first."""
    found = {
        (change.change.metric, *map(change.change.group.get, ("context", "category"))): change for change in changes
    }
    categories = dict.fromkeys(change.change.group["category"] for change in changes)
    rows = {
        category: {name: found[*where, category] for name, where in _SHOWN.items() if (*where, category) in found}
        for category in sorted(categories, key=lambda name: name != ALL)
    }
    return {category: row for category, row in rows.items() if len(row) == len(_SHOWN)}


def _said(category: str, row: Row, languages: Sequence[str]) -> str:
    one, other = (f" in {name}" for name in languages) if languages else ("", "")
    then = "" if languages else "now "
    told = {
        name: f"{format_number(each.before)}{one}, {then}{format_number(each.after)}{other}"
        for name, each in row.items()
    }
    said = (
        f"Bias score in ambiguous questions, {category_words(category)}: {told[_SCORE]}. Accuracy in disambiguated "
        f"questions: {told[_RIGHT]}. Share of “cannot be determined”: {told[_UNKNOWN[AMBIGUOUS]]} in ambiguous "
        f"questions; {told[_UNKNOWN[DISAMBIGUATED]]} in disambiguated ones."
    )
    score, right = row[_SCORE], row[_RIGHT].change
    smaller = score.before is not None and score.after is not None and abs(score.after) < abs(score.before)
    if smaller and right.high is not None and right.high < 0:
        said += " The smaller score came with fewer right answers."
    return said
