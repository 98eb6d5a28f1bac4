"""UnQover's long tables, read for showing: the strongest associations, and the subjects by γ(x)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.results.findings import Table as Data
from assay.results.findings import is_claimed
from assay.results.formatting import cell
from assay.results.run import Run

MIN_CELLS = 5  # a γ over fewer comparisons says little

Part = tuple[str, str]  # class, form


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
    def part(self) -> Part:
        return self.bias_class, self.form

    @property
    def who(self) -> str:
        return f"{self.subject} names" if self.pooled else self.subject

    @property
    def examples(self) -> dict[str, str]:
        """Which examples it is about."""
        subject = {"group" if self.pooled else "subject": self.subject}
        attribute = {"attribute": self.attribute} if self.attribute else {}
        return {"class": self.bias_class, "form": self.form} | subject | attribute

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
        return not self.clear, -abs(self.gamma), *self.part, self.subject, self.attribute or ""


def strongest_associations(run: Run) -> tuple[list[Association], int]:
    """All associations worth showing, clear ones first, each part by size; and how many were left out, having fewer
    than MIN_CELLS cells.

    Where a class has grouped names (gender), their rows take the place of single names, which a sample compares too
    rarely. Of two groups that mirror each other (γ of one is minus γ of the other), only the favoured one is kept.
    """
    pooled = _enough(_favoured(_associations(run, "groups")))
    pooled_parts = {row.part for row in pooled}
    single = [row for row in _associations(run, "gamma") if row.part not in pooled_parts]
    singles = _enough(single)
    return sorted(pooled + singles, key=lambda row: row.order), len(single) - len(singles)


def ranked_subjects(run: Run) -> list[tuple[Part, list[Association]]]:
    """The subjects of every (class, form), the most favoured first."""
    parts = rows_by_part(_associations(run, "subjects")).items()
    return [(part, sorted(rows, key=lambda row: (-row.gamma, row.subject))) for part, rows in parts]


def compared_groups(run: Run) -> dict[Part, tuple[str, str, list[Association]]]:
    """The two groups of names (in order) of every (class, form) that has them, and the rows of the second.

    The two are compared with each other, so γ of the first is minus γ of the second.
    """
    compared = {}
    for part, part_rows in rows_by_part(_associations(run, "groups")).items():
        first, *others = sorted({row.subject for row in part_rows})
        if len(others) == 1:
            compared[part] = first, others[0], [row for row in part_rows if row.subject == others[0]]
    return compared


def association_table(rows: Iterable[Association]) -> Data:
    """Associations as a long table: the data of a chart."""
    columns = ("class", "form", "subject", "attribute", "gamma", "low", "high", "eta", "q", "n")
    return Data(columns, [[*r.part, r.subject, r.attribute, r.gamma, r.low, r.high, r.eta, r.q, r.n] for r in rows])


def rows_by_part(rows: Iterable[Association]) -> dict[Part, list[Association]]:
    """Associations by class and form, in the order of the first ones."""
    parts: dict[Part, list[Association]] = {}
    for row in rows:
        parts.setdefault(row.part, []).append(row)
    return parts


def part_label(part: Part) -> str:
    return ", ".join(text for text in part if text)


def _associations(run: Run, table: str) -> list[Association]:
    associations = []
    for row in run.rows(table):
        gamma = run.number(table, row, "gamma")
        if gamma is None:
            continue
        low, high, eta, q = (run.number(table, row, column) for column in ("low", "high", "eta", "q"))
        cells = int(run.number(table, row, "n") or 0)
        subject = cell(row, "subject") or cell(row, "group")
        attribute = cell(row, "attribute") if "attribute" in row else None
        part = cell(row, "class"), cell(row, "form")
        tested = q, is_claimed(row)
        about = table == "groups", cell(row, "attribute_class") if "attribute_class" in row else ""
        associations.append(Association(*part, subject, attribute, gamma, low, high, eta, *tested, cells, *about))
    return associations


def _enough(rows: Iterable[Association]) -> list[Association]:
    return [row for row in rows if row.n >= MIN_CELLS]


def _favoured(rows: Sequence[Association]) -> list[Association]:
    """The rows without the unfavoured one of two groups; with more groups, or where both have γ = 0, all rows."""
    gammas: dict[tuple[str, str, str | None], list[float]] = {}
    for row in rows:
        gammas.setdefault((*row.part, row.attribute), []).append(row.gamma)
    mirrored = {key for key, pair in gammas.items() if len(pair) == 2 and pair[0] * pair[1] < 0}
    return [row for row in rows if row.gamma > 0 or (*row.part, row.attribute) not in mirrored]
