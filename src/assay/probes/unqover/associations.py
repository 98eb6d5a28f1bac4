"""UnQover's long tables, read for showing: the strongest associations, and the subjects by γ(x)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.results.findings import Table as Data
from assay.results.findings import is_claimed
from assay.results.formatting import cell
from assay.results.run import Run

MIN_CELLS = 5  # a γ over fewer comparisons says little

Place = tuple[str, str]  # class, form


@dataclass(frozen=True)
class Association:
    """γ of a subject with an attribute, or with all of them (attribute is None), with its interval and η.

    γ is in [-1, 1]; 0 means no preference, above 0 the model associates the attribute more with this subject.
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
    attribute_class: str = ""

    @property
    def where(self) -> Place:
        return self.bias_class, self.form

    @property
    def who(self) -> str:
        return f"{self.subject} names" if self.pooled else self.subject

    @property
    def examples(self) -> dict[str, str]:
        """Which examples it is about."""
        who = {"group" if self.pooled else "subject": self.subject}
        what = {"attribute": self.attribute} if self.attribute else {}
        return {"class": self.bias_class, "form": self.form} | who | what

    @property
    def could_be_chance(self) -> bool:
        return self.claimed is False

    @property
    def clear(self) -> bool:
        return self.claimed is True

    @property
    def order(self) -> tuple[bool, float, str, str, str, str]:
        """The sorting key: clear ones first, then by size, then by name.

        The largest γ of a large run often have the fewest cells, and would hide what is clear.
        """
        return not self.clear, -abs(self.gamma), *self.where, self.subject, self.attribute or ""


@dataclass(frozen=True)
class StrongestAssociations:
    """Associations in their order, and how many were left out."""

    rows: Sequence[Association]
    pooled: bool  # some rows are about grouped names
    too_few: int  # rows left out, having fewer than MIN_CELLS cells

    def by_class(self, most: int) -> list[tuple[Place, list[Association]]]:
        """The first few of every (class, form), in the order of the classes' first ones."""
        places = dict.fromkeys(row.where for row in self.rows)
        return [(place, [row for row in self.rows if row.where == place][:most]) for place in places]


def strongest_associations(run: Run) -> StrongestAssociations:
    """All associations worth showing: clear ones first, each part by size.

    Where a class has grouped names (gender), their rows take the place of single names, which a sample compares too
    rarely. Of two groups that mirror each other (γ of one is minus γ of the other), only the favoured one is kept.
    """
    pooled = _enough(_favoured(_associations(run, "groups")))
    places = {row.where for row in pooled}
    single = [row for row in _associations(run, "gamma") if row.where not in places]
    kept = _enough(single)
    return StrongestAssociations(
        sorted(pooled + kept, key=lambda row: row.order), bool(pooled), len(single) - len(kept)
    )


def ranked_subjects(run: Run) -> list[tuple[Place, list[Association]]]:
    """The subjects of every (class, form), the most favoured first."""
    rows = _associations(run, "subjects")
    places = dict.fromkeys(row.where for row in rows)
    return [
        (place, sorted((row for row in rows if row.where == place), key=lambda row: (-row.gamma, row.subject)))
        for place in places
    ]


def compared_groups(run: Run) -> dict[Place, tuple[str, str, list[Association]]]:
    """The two groups of names (in order) of every (class, form) that has them, and the rows of the second.

    The two are compared with each other, so γ of the first is minus γ of the second.
    """
    rows = _associations(run, "groups")
    found = {}
    for place in dict.fromkeys(row.where for row in rows):
        own = [row for row in rows if row.where == place]
        first, *others = sorted({row.subject for row in own})
        if len(others) == 1:
            found[place] = first, others[0], [row for row in own if row.subject == others[0]]
    return found


def association_table(rows: Iterable[Association]) -> Data:
    """Associations as a long table: the data of a chart."""
    columns = ("class", "form", "subject", "attribute", "gamma", "low", "high", "eta", "q", "n")
    return Data(columns, [[*r.where, r.subject, r.attribute, r.gamma, r.low, r.high, r.eta, r.q, r.n] for r in rows])


def place_said(place: Place) -> str:
    return ", ".join(part for part in place if part)


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
        about = table == "groups", cell(row, "attribute_class") if "attribute_class" in row else ""
        found.append(Association(*place, subject, attribute, gamma, low, high, eta, *tested, cells, *about))
    return found


def _enough(rows: Iterable[Association]) -> list[Association]:
    return [row for row in rows if row.n >= MIN_CELLS]


def _favoured(rows: Sequence[Association]) -> list[Association]:
    """The rows without the unfavoured one of two groups; with more groups, or where both have γ = 0, all rows."""
    gammas: dict[tuple[str, str, str | None], list[float]] = {}
    for row in rows:
        gammas.setdefault((*row.where, row.attribute), []).append(row.gamma)
    mirrored = {key for key, pair in gammas.items() if len(pair) == 2 and pair[0] * pair[1] < 0}
    return [row for row in rows if row.gamma > 0 or (*row.where, row.attribute) not in mirrored]
