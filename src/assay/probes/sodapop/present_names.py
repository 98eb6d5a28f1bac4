"""Who the names are: their groups, each name, and all in a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, median

from assay.blocks import Block, Column, Gap, Group, Kind, Part, Point, Row, Scatter, Table, Tools
from assay.findings import Cell
from assay.findings import Table as Data
from assay.probes.sodapop import people_words
from assay.run import Run
from assay.wording import cell, plural

MOST_NAMES = 300
_LARGEST = 12.0  # a logarithm beyond which nobody counted anything


@dataclass(frozen=True)
class _Name:
    """A name: how often wrong answers fooled the model about it, its tokens, and how many people bear it."""

    group: str
    name: str
    mean_sr: float | None
    pieces: float | None
    bearers: int | None


def names(run: Run) -> list[Block]:
    """The groups of names in short, and every name; nothing where no names are known."""
    found = [_read(run, row) for row in run.rows("names")]
    if not found:
        return []
    groups: dict[str, list[_Name]] = {}
    for name in found:
        groups.setdefault(name.group, []).append(name)
    summed: list[list[Cell]] = [
        [group, len(own), _mean(n.mean_sr for n in own), _mean(n.pieces for n in own), _middle(n.bearers for n in own)]
        for group, own in groups.items()
    ]
    rate, bearers = Column("success rate", Kind.NUMBER), Column("bearers", Kind.COUNT)
    of_groups = Table(
        title="The names",
        how="pieces is the number of tokens that the model cuts a name into, bearers the number of people in the "
        "United States with that name (100 where it is too rare to be listed). Groups that differ much in these differ "
        "in more than who they are. The success rate is over all words. Of a group, the means are shown, and the "
        "median of bearers.",
        data=Data(("group", "names", "mean_sr", "mean_pieces", "median_bearers"), summed),
        file="sodapop-groups",
        anchor="names",
        columns=[
            *(Column("group", Kind.TEXT), Column("names", Kind.COUNT), rate),
            *(Column("pieces", Kind.TENTHS), bearers),
        ],
        groups=[Group([Row(cells) for cells in summed])],
        filter=Tools.NONE,
    )
    shown = [name for own in groups.values() for name in own][:MOST_NAMES]
    left_out = len(found) - len(shown)
    every = Table(
        title="Names by group",
        how="one line for each name; what the columns hold is said above.",
        data=Data(
            ("group", "name", "mean_sr", "pieces", "bearers"),
            [[n.group, n.name, n.mean_sr, n.pieces, n.bearers] for n in shown],
        ),
        file="sodapop-names",
        anchor="names-every",
        columns=[
            *(Column("name", Kind.TEXT), Column("group", Kind.TEXT), rate),
            *(Column("pieces", Kind.COUNT), bearers),
        ],
        groups=[
            Group(
                [
                    *(Row([n.name, n.group, n.mean_sr, n.pieces, n.bearers], {"name": n.name}) for n in shown),
                    *([Gap(f"{plural(left_out, 'more name')}: tables/names.csv")] if left_out else []),
                ]
            )
        ],
    )
    return [of_groups, Part("Every name", [every], folded=True)]


def _read(run: Run, row: Mapping[str, Cell]) -> _Name:
    sr, pieces, logarithm = (run.number("names", row, key) for key in ("mean_sr", "pieces", "log10_frequency"))
    bearers = None if logarithm is None else round(10 ** min(logarithm, _LARGEST))
    return _Name(people_words(cell(row, "group")), cell(row, "name"), sr, pieces, bearers)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _middle(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return round(median(known)) if known else None


def picture(run: Run, said: str, how: str, file: str) -> list[Block]:
    """The names in the plane, near names that are similar as `how` says; nothing where the run has no projection."""
    points = []
    for row in run.rows("projection"):
        x, y = (run.number("projection", row, column) for column in ("x", "y"))
        if x is not None and y is not None:
            points.append(Point(cell(row, "name"), people_words(cell(row, "group")), x, y))
    if not points:
        return []
    chart = Scatter(
        title="The names in a picture",
        how=how,
        file=file,
        anchor="picture",
        after=[
            "Only neighbourhoods mean something: distances, directions, sizes and the space between clusters mean "
            "little, and t-SNE draws clusters even where there are none."
        ],
        points=points,
        said=said,
        table="projection",
    )
    return [chart]
