"""What a change of the bias score comes with: a model that evades every question has a score of 0, too.

Yang et al. 2025 (Rethinking Prompt-based Debiasing in Large Language Models, arXiv 2503.09219) find that instructions
against bias often teach evasion; so accuracy where the text tells, and the rate of UNKNOWN, belong beside every gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.findings import Cell, Table
from assay.probes.bbq import ALL, category_words
from assay.probes.bbq.examples import AMBIGUOUS, DISAMBIGUATED
from assay.probes.contrast import Change
from assay.wording import number

BESIDE = "beside"
TITLE = "What a change of the ambiguous bias score comes with: accuracy where the text tells, and the rate of UNKNOWN"

_SCORE, _RIGHT = "bias, ambig.", "accuracy, disamb."
_UNKNOWN = {AMBIGUOUS: "UNKNOWN, ambig.", DISAMBIGUATED: "UNKNOWN, disamb."}
_SHOWN = {
    _SCORE: ("bias_score", AMBIGUOUS),
    _RIGHT: ("accuracy", DISAMBIGUATED),
    **{name: ("unknown_rate", context) for context, name in _UNKNOWN.items()},
}

Row = Mapping[str, Change]


def beside(changes: Sequence[Change]) -> tuple[dict[str, Table], list[str]]:
    """A table of every category, and a sentence about all of them together; neither where a context is missing."""
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
    return {BESIDE: table}, [_said(whole, rows[whole])] if whole == ALL or len(rows) == 1 else []


def _by_category(changes: Sequence[Change]) -> dict[str, Row]:
    """What is shown of every category, all categories together first."""
    found = {(each.change.metric, *map(each.change.group.get, ("context", "category"))): each for each in changes}
    categories = dict.fromkeys(each.change.group["category"] for each in changes)
    rows = {
        category: {name: found[*where, category] for name, where in _SHOWN.items() if (*where, category) in found}
        for category in sorted(categories, key=lambda name: name != ALL)
    }
    return {category: row for category, row in rows.items() if len(row) == len(_SHOWN)}


def _said(category: str, row: Row) -> str:
    told = {name: f"{number(each.before)}, now {number(each.after)}" for name, each in row.items()}
    said = (
        f"Ambiguous bias score, {category_words(category)}: {told[_SCORE]}. Beside it: accuracy where the text tells "
        f"{told[_RIGHT]}; “cannot be determined” in ambiguous questions {told[_UNKNOWN[AMBIGUOUS]]}, in disambiguated "
        f"ones {told[_UNKNOWN[DISAMBIGUATED]]}."
    )
    score, right = row[_SCORE], row[_RIGHT].change
    smaller = score.before is not None and score.after is not None and abs(score.after) < abs(score.before)
    if smaller and right.high is not None and right.high < 0:
        said += " The smaller score came with fewer right answers."
    return said
