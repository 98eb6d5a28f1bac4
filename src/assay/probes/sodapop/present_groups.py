"""Groups of names: which ones the words tell apart (KMeans), the names themselves, and all names in a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median
from typing import NamedTuple

from assay.presentation.elements import (
    Block,
    CellKind,
    DisplayTable,
    DotCell,
    HeatMap,
    MarkedCell,
    OmittedRows,
    Panel,
    Paragraphs,
    RowGroup,
    Scatter,
    ScatterPoint,
    Section,
    TableColumn,
    TableRow,
    TableTools,
    TextRole,
)
from assay.presentation.rich_text import ChartMark
from assay.probes.sodapop import say_group, spelled
from assay.probes.sodapop.read_tables import GroupDifference, told_apart
from assay.results.examples import Wanted
from assay.results.findings import Cell, Estimate, table_path
from assay.results.findings import Table as Data
from assay.results.formatting import cell, plural
from assay.results.run import Run
from assay.results.verdict import CLEAR

MOST_PAIRS = 16  # in short
MANY_PAIRS, MANY_GROUPS = 6, 4  # from which on a map is clearer than a list
MOST_NAMES = 300
_LARGEST = 12.0  # no count of people has a larger logarithm


def behind_pair(estimate: Estimate) -> Wanted:
    """Which examples belong to an estimate of two groups.

    >>> behind_pair(Estimate("kmeans_accuracy", {"a": "EA", "b": "AA"}, 0.8))
    {'group': ['EA', 'AA']}
    """
    group = dict(estimate.group)
    pair = [group.pop(side) for side in ("a", "b") if side in group]
    return {**group, "group": pair} if pair else group


def groups_told_apart(run: Run, separations: Sequence[Estimate], pairs: Sequence[GroupDifference]) -> list[Block]:
    """The table and, where there are many pairs, a map of groups by groups."""
    if not separations:
        return []
    alone = {
        "shared": " A model that ignores names is at the chance level.",
        "per_name": " Each name has its own wrong answers, and these alone may tell groups apart.",
    }.get(run.setting("distractors"), "")
    clear = {(pair.a, pair.b): len(pair.clear) for pair in pairs}
    rows: list[TableRow] = []
    lines: list[list[Cell]] = []
    for e in separations:
        groups = e.group["a"], e.group["b"]
        value = MarkedCell(e.value, note=e.note if e.value is None else None)
        dot = DotCell(e.value, e.low, e.high, e.floor, hollow=not told_apart(e))
        beside = [e.floor, e.p, e.q, e.n, clear.get(groups, 0)]
        rows.append(TableRow([say_group(e.group), value, dot, *beside], behind_pair(e)))
        lines.append([*groups, e.value, *beside])
    table = DisplayTable(
        title="Can the groups be told apart?",
        how=[
            "names are sorted into two clusters by the words that fool the model for them (KMeans; SODAPOP’s Table 2). "
            "Accuracy is the share of names in the cluster of their group. The tick ",
            *(ChartMark("floor"), " is the chance level. Filled dots ", ChartMark("dot"), " are statistically clear ("),
            *(f"q at most {CLEAR}), hollow ones ", ChartMark("hollow"), " are not."),
        ],
        data=Data(("group_a", "group_b", "accuracy", "chance", "p", "q", "n", "clear_words"), lines),
        file="sodapop-separation",
        anchor="separation",
        after=[
            "The clearest come first; q is p corrected for the number of pairs. KMeans does not know which name is in "
            "which group. The chance level is above 0.5, because the better of the two ways to match clusters and "
            f"groups counts.{alone}"
        ],
        columns=[
            TableColumn("groups", CellKind.TEXT),
            TableColumn("accuracy", CellKind.NUMBER),
            TableColumn("accuracy", CellKind.DOTS, ends=(0.5, 1.0)),
            TableColumn("chance level", CellKind.NUMBER),
            *(TableColumn(head, CellKind.PROBABILITY) for head in ("p", "q")),
            TableColumn("names", CellKind.COUNT),
            TableColumn("clear words", CellKind.COUNT),
        ],
        groups=[RowGroup(rows)],
    )
    heat = _above_chance(separations)
    mapped = len(heat.cells) >= 2 * MANY_PAIRS and len({group for key in heat.cells for group in key}) >= MANY_GROUPS
    return [table, heat] if mapped else [table]


def _above_chance(separations: Sequence[Estimate]) -> HeatMap:
    """A map of KMeans' accuracies, by how much each exceeds the chance level."""
    said = spelled([e.group[side] for e in separations for side in ("a", "b")])
    ways = (("a", "b"), ("b", "a"))
    found = {(said[e.group[one]], said[e.group[other]]): e for e in separations for one, other in ways}
    cells = {
        key: value - floor
        for key, e in found.items()
        if (value := e.value) is not None and (floor := e.floor) is not None
    }
    numbers = {"accuracy": "value", "chance": "floor", "p": "p", "q": "q", "n": "n"}
    beside = {name: {key: getattr(found[key], own) for key in cells} for name, own in numbers.items()}
    unclear = {key for key in cells if found[key].could_be_chance}
    return HeatMap(
        title="Groups told apart, group by group",
        how="each square shows how far accuracy exceeds the chance level for the two groups of names in its row and "
        "column. Orange: the words tell the two groups apart; pale or blue: not better than chance. Blank pairs were "
        "not compared, because they differ in more than one attribute.",
        file="sodapop-separation-map",
        anchor="separation-map",
        name="",
        row="group",
        column="other group",
        value="accuracy above chance",
        cells=cells,
        beside=beside,
        unclear=unclear,
    )


def groups_in_short(separations: Sequence[Estimate], tested: int) -> list[Section]:
    """The clearest pairs; nothing where there are none. `tested` is the number of pairs that were tested."""
    if not separations:
        return []
    shown = separations[:MOST_PAIRS]
    table = DisplayTable(
        title="Groups told apart by the words (KMeans)",
        columns=[
            TableColumn("groups", CellKind.TEXT),
            TableColumn("accuracy", CellKind.FIXED),
            TableColumn("chance level", CellKind.FIXED),
            *(TableColumn(head, CellKind.PROBABILITY) for head in ("p", "q")),
            TableColumn("names", CellKind.COUNT),
        ],
        groups=[RowGroup([TableRow([say_group(e.group), _starred(e), e.floor, e.p, e.q, e.n]) for e in shown])],
    )
    above, left_out = sum(map(told_apart, separations)), len(separations) - len(shown)
    more = f" {plural(left_out, 'pair')} not shown." if left_out else ""
    reading = (
        f"{above or 'None'} of {plural(tested, 'pair')} better than chance (* q at most {CLEAR}).{more}",
        "The chance level is above 0.5, because the better way to match clusters and groups counts.",
    )
    return [Section([table, Paragraphs(reading, TextRole.SMALL)])]


def _starred(e: Estimate) -> MarkedCell:
    return MarkedCell(e.value, told_apart(e) or None)


# --- the names


class _Name(NamedTuple):
    """A name: how often wrong answers fooled the model for it, its tokens, and how many people have it."""

    group: str
    name: str
    mean_sr: float | None
    pieces: float | None
    bearers: int | None


def names(run: Run) -> list[Block]:
    """The groups of names in short, and every name; nothing where no names are known."""
    groups: dict[str, list[_Name]] = {}
    said = _groups_said(run, "names")
    for row in run.rows("names"):
        sr, pieces, logarithm = (run.number("names", row, key) for key in ("mean_sr", "pieces", "log10_frequency"))
        bearers = None if logarithm is None else round(10 ** min(logarithm, _LARGEST))
        name = _Name(said[cell(row, "group")], cell(row, "name"), sr, pieces, bearers)
        groups.setdefault(name.group, []).append(name)
    if not groups:
        return []
    summed: list[list[Cell]] = []
    for group, own in groups.items():
        means = _over(fmean, (n.mean_sr for n in own)), _over(fmean, (n.pieces for n in own))
        middle = _over(median, (n.bearers for n in own))
        summed.append([group, len(own), *means, None if middle is None else round(middle)])
    rate, bearing = (
        TableColumn("success rate", CellKind.NUMBER),
        TableColumn("people with this name", CellKind.COUNT, wraps=True),
    )
    of_groups = DisplayTable(
        title="The names",
        how="the success rate is over all words. Tokens is the number of tokens that the model splits a name into. "
        "People with this name are counted in the United States (100 if the name is too rare to be listed). Groups "
        "that differ much in tokens or frequency differ in more than gender and race. Groups have means, and the "
        "median number of people.",
        data=Data(("group", "names", "mean_sr", "mean_pieces", "median_bearers"), summed),
        file="sodapop-groups",
        anchor="names",
        columns=[
            *(TableColumn("group", CellKind.TEXT), TableColumn("names", CellKind.COUNT), rate),
            *(TableColumn("tokens", CellKind.TENTHS), bearing),
        ],
        groups=[RowGroup([TableRow(cells) for cells in summed])],
        filter=TableTools.NONE,
    )
    found = [name for own in groups.values() for name in own]
    shown, left_out = found[:MOST_NAMES], len(found[MOST_NAMES:])
    every = DisplayTable(
        title="Names by group",
        how="one row for each name; the columns are explained above.",
        data=Data(_Name._fields, shown),
        file="sodapop-names",
        anchor="names-every",
        columns=[
            *(TableColumn("name", CellKind.TEXT), TableColumn("group", CellKind.TEXT), rate),
            *(TableColumn("tokens", CellKind.COUNT), bearing),
        ],
        groups=[
            RowGroup(
                [
                    *(TableRow([n.name, n.group, *n[2:]], {"name": n.name}) for n in shown),
                    *([OmittedRows(f"{plural(left_out, 'more name')}: {table_path('names')}")] if left_out else []),
                ]
            )
        ],
    )
    return [of_groups, Panel("Every name", [every], folded=True)]


def _over(average: Callable[[list[float]], float], values: Iterable[float | None]) -> float | None:
    """An average of the values that are known."""
    known = [value for value in values if value is not None]
    return average(known) if known else None


def _groups_said(run: Run, table: str) -> dict[str, str]:
    """The groups of a table in words."""
    return spelled([cell(row, "group") for row in run.rows(table)])


def picture(run: Run, said: str, how: str, file: str) -> list[Block]:
    """The names in the plane, similar names close together; nothing where the run has no projection."""
    points = []
    said_of = _groups_said(run, "projection")
    for row in run.rows("projection"):
        x, y = (run.number("projection", row, column) for column in ("x", "y"))
        if x is not None and y is not None:
            points.append(ScatterPoint(cell(row, "name"), said_of[cell(row, "group")], x, y))
    chart = Scatter(
        title="The names in a picture",
        how=how,
        file=file,
        anchor="picture",
        after=[
            "Only neighbourhoods are meaningful. Distances, directions, sizes and the space between clusters mean "
            "little, and t-SNE draws clusters even where there are none."
        ],
        points=points,
        said=said,
        table="projection",
    )
    return [chart] if points else []
