"""UnQover's long tables, read for showing: the strongest associations, and the subjects by γ(x)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.findings import is_claimed
from assay.run import Run
from assay.wording import cell

MIN_CELLS = 5  # a γ over fewer cells says little


@dataclass(frozen=True)
class Association:
    """γ of a subject with an attribute, or with all of them (attribute is None), with its interval and η.

    γ is in [-1, 1]; 0 means no preference, positive that the model gives the attribute rather to this subject.
    """

    bias_class: str
    form: str
    subject: str
    attribute: str | None
    gamma: float
    low: float | None
    high: float | None
    eta: float | None
    q: float | None
    claimed: bool | None
    n: int
    pooled: bool = False

    @property
    def where(self) -> tuple[str, str]:
        return self.bias_class, self.form

    @property
    def could_be_chance(self) -> bool:
        return self.claimed is False

    @property
    def clear(self) -> bool:
        return self.claimed is True

    @property
    def order(self) -> tuple[bool, float, str, str, str, str]:
        """Sorts what is clear of chance first, then the strongest first, equal ones by name: the same page each time.

        The largest γ of a large run are those with the fewest cells, so they would hide what is known for sure.
        """
        return not self.clear, -abs(self.gamma), *self.where, self.subject, self.attribute or ""


@dataclass(frozen=True)
class Strongest:
    """Associations in their order, with what was left out in choosing them."""

    rows: Sequence[Association]
    pooled: bool  # some rows are of pooled names
    too_few: int  # rows left out, having fewer than MIN_CELLS cells

    def by_class(self, most: int) -> list[tuple[tuple[str, str], list[Association]]]:
        """The first few of every (class, form), in the order of the classes' first ones."""
        places = dict.fromkeys(row.where for row in self.rows)
        return [(place, [row for row in self.rows if row.where == place][:most]) for place in places]


def strongest_associations(run: Run) -> Strongest:
    """All associations worth showing: those clear of chance first, and the strongest first among them and the others.

    Where a class's names were pooled (gender), the pooled rows stand for the single names, of which sampled runs ask
    too rarely. Of two pooled groups that mirror each other (γ of one is minus γ of the other) only the favoured shows.
    """
    pooled = _enough(_favoured(_associations(run, "groups")))
    places = {row.where for row in pooled}
    single = [row for row in _associations(run, "gamma") if row.where not in places]
    kept = _enough(single)
    return Strongest(sorted(pooled + kept, key=lambda row: row.order), bool(pooled), len(single) - len(kept))


def ranked_subjects(run: Run) -> list[tuple[tuple[str, str], list[Association]]]:
    """The subjects of every (class, form), the most favoured first."""
    rows = _associations(run, "subjects")
    places = dict.fromkeys(row.where for row in rows)
    return [
        (place, sorted((row for row in rows if row.where == place), key=lambda row: (-row.gamma, row.subject)))
        for place in places
    ]


def _associations(run: Run, table: str) -> list[Association]:
    found = []
    for row in run.rows(table):
        gamma = run.number(table, row, "gamma")
        if gamma is None:
            continue
        low, high, eta, q = (run.number(table, row, column) for column in ("low", "high", "eta", "q"))
        cells = int(run.number(table, row, "n") or 0)
        subject = cell(row, "subject") or cell(row, "group")
        attribute = cell(row, "attribute") if "attribute" in row else None
        place = cell(row, "class"), cell(row, "form")
        tested = q, is_claimed(row)
        found.append(Association(*place, subject, attribute, gamma, low, high, eta, *tested, cells, table == "groups"))
    return found


def _enough(rows: Iterable[Association]) -> list[Association]:
    return [row for row in rows if row.n >= MIN_CELLS]


def _favoured(rows: Sequence[Association]) -> list[Association]:
    """Drops the unfavoured one of two pooled groups; with more groups, or where both have γ = 0, drops nothing."""
    gammas: dict[tuple[str, str, str | None], list[float]] = {}
    for row in rows:
        gammas.setdefault((*row.where, row.attribute), []).append(row.gamma)
    mirrored = {key for key, pair in gammas.items() if len(pair) == 2 and pair[0] * pair[1] < 0}
    return [row for row in rows if row.gamma > 0 or (*row.where, row.attribute) not in mirrored]
