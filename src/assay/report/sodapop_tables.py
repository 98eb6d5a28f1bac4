"""SODAPOP's other tables, read for showing: who the names are, and how words order groups by traits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from assay.findings import Table
from assay.report.content import Content, cell
from assay.report.words import people_words


@dataclass(frozen=True)
class Name:
    """A name: how often wrong answers fooled the model about it, its tokens, and how many people bear it."""

    group: str
    name: str
    mean_sr: float | None
    pieces: int | None
    bearers: int | None


@dataclass(frozen=True)
class Group:
    """A group's names in short: means of their success rates and pieces, and the median of their bearers."""

    group: str
    names: Sequence[Name]

    @property
    def count(self) -> int:
        return len(self.names)

    @property
    def mean_sr(self) -> float | None:
        known = [name.mean_sr for name in self.names if name.mean_sr is not None]
        return fmean(known) if known else None

    @property
    def pieces(self) -> float | None:
        known = [name.pieces for name in self.names if name.pieces is not None]
        return fmean(known) if known else None

    @property
    def bearers(self) -> int | None:
        known = [name.bearers for name in self.names if name.bearers is not None]
        return round(median(known)) if known else None


_LARGEST = 12.0  # a logarithm beyond which nobody counted anything


def read_names(content: Content) -> list[Group]:
    """The groups with their names, in the order of the table."""
    found: dict[str, list[Name]] = {}
    for row in content.rows("names"):
        sr, pieces, logarithm = (content.number("names", row, key) for key in ("mean_sr", "pieces", "log10_frequency"))
        bearers = None if logarithm is None else round(10 ** min(logarithm, _LARGEST))
        group = people_words(cell(row, "group"))
        whole = None if pieces is None else int(pieces)
        found.setdefault(group, []).append(Name(group, cell(row, "name"), sr, whole, bearers))
    return [Group(group, names) for group, names in found.items()]


def group_table(groups: Sequence[Group]) -> Table:
    """The groups in short, as a table."""
    rows = [[g.group, g.count, g.mean_sr, g.pieces, g.bearers] for g in groups]
    return Table(("group", "names", "mean_sr", "mean_pieces", "median_bearers"), rows)


def name_table(names: Sequence[Name]) -> Table:
    """Names as a table."""
    rows = [[n.group, n.name, n.mean_sr, n.pieces, n.bearers] for n in names]
    return Table(("group", "name", "mean_sr", "pieces", "bearers"), rows)


@dataclass(frozen=True)
class Trait:
    """Which of two groups has more of a trait's second pole, by the model's words and by people's ratings.

    `more` and `people` name a group; "both alike" is an empty text, None that nobody was asked.
    """

    poles: str
    pole: str
    score_a: int | None
    score_b: int | None
    more: str
    people: str | None
    agrees: bool | None


@dataclass(frozen=True)
class Traits:
    """The traits by which two groups could be ordered."""

    a: str
    b: str
    rows: Sequence[Trait]

    @property
    def compared(self) -> int:
        return sum(row.agrees is not None for row in self.rows)

    @property
    def agreeing(self) -> int:
        return sum(bool(row.agrees) for row in self.rows)


def read_traits(content: Content) -> list[Traits]:
    """The pairs of groups with their traits; those that people ordered too come first, then those with most traits."""
    found: dict[tuple[str, str], list[Trait]] = {}
    for row in content.rows("traits"):
        a, b = (people_words(cell(row, key)) for key in ("group_a", "group_b"))
        scores = (content.number("traits", row, key) for key in ("score_a", "score_b"))
        score_a, score_b = (None if score is None else int(score) for score in scores)
        people, agrees = cell(row, "human"), content.number("traits", row, "agrees")
        more: Mapping[str, str] = {">": a, "<": b}
        found.setdefault((a, b), []).append(
            Trait(
                *poles_of(cell(row, "trait")),
                score_a,
                score_b,
                more.get(cell(row, "order"), ""),
                more.get(people, "") if people else None,
                None if agrees is None else bool(agrees),
            )
        )
    pairs = [Traits(a, b, rows) for (a, b), rows in found.items()]
    return sorted(pairs, key=lambda pair: (-pair.compared, -len(pair.rows)))


def poles_of(trait: str) -> tuple[str, str]:
    """A trait as people read it, and the pole by which groups are ordered; both its whole name where it does not tell.

    >>> poles_of("low status-high status"), poles_of("warmth")
    (('low status – high status', 'high status'), ('warmth', 'warmth'))
    """
    first, _, second = trait.partition("-")
    return (f"{first} – {second}", second) if first and second and "-" not in second else (trait, trait)
