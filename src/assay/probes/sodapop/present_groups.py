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
    for estimate in separations:
        groups = estimate.group["a"], estimate.group["b"]
        value = MarkedCell(estimate.value, note=estimate.note if estimate.value is None else None)
        dot = DotCell(estimate.value, estimate.low, estimate.high, estimate.floor, hollow=not told_apart(estimate))
        beside = [estimate.floor, estimate.p, estimate.q, estimate.n, clear.get(groups, 0)]
        rows.append(TableRow([say_group(estimate.group), value, dot, *beside], behind_pair(estimate)))
        lines.append([*groups, estimate.value, *beside])
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
    titles = spelled([estimate.group[side] for estimate in separations for side in ("a", "b")])
    estimates: dict[tuple[str, str], Estimate] = {}
    for estimate in separations:
        a, b = (titles[estimate.group[side]] for side in ("a", "b"))
        estimates |= {(a, b): estimate, (b, a): estimate}
    cells = {
        key: estimate.value - estimate.floor
        for key, estimate in estimates.items()
        if estimate.value is not None and estimate.floor is not None
    }
    fields = {"accuracy": "value", "chance": "floor", "p": "p", "q": "q", "n": "n"}
    beside = {name: {key: getattr(estimates[key], field) for key in cells} for name, field in fields.items()}
    unclear = {key for key in cells if estimates[key].could_be_chance}
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
    table = DisplayTable(
        title="Groups told apart by the words (KMeans)",
        columns=[
            TableColumn("groups", CellKind.TEXT),
            TableColumn("accuracy", CellKind.FIXED),
            TableColumn("chance level", CellKind.FIXED),
            *(TableColumn(head, CellKind.PROBABILITY) for head in ("p", "q")),
            TableColumn("names", CellKind.COUNT),
        ],
        groups=[RowGroup([*map(_short_row, separations[:MOST_PAIRS])])],
    )
    above, left_out = sum(map(told_apart, separations)), len(separations[MOST_PAIRS:])
    more = f" {plural(left_out, 'pair')} not shown." if left_out else ""
    reading = (
        f"{above or 'None'} of {plural(tested, 'pair')} better than chance (* q at most {CLEAR}).{more}",
        "The chance level is above 0.5, because the better way to match clusters and groups counts.",
    )
    return [Section([table, Paragraphs(reading, TextRole.SMALL)])]


def _short_row(estimate: Estimate) -> TableRow:
    starred = MarkedCell(estimate.value, told_apart(estimate) or None)
    return TableRow([say_group(estimate.group), starred, estimate.floor, estimate.p, estimate.q, estimate.n])


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
    titles = _group_titles(run, "names")
    for row in run.rows("names"):
        sr, pieces, logarithm = (run.number("names", row, key) for key in ("mean_sr", "pieces", "log10_frequency"))
        bearers = None if logarithm is None else round(10 ** min(logarithm, _LARGEST))
        group = titles[cell(row, "group")]
        groups.setdefault(group, []).append(_Name(group, cell(row, "name"), sr, pieces, bearers))
    if not groups:
        return []
    summed: list[list[Cell]] = []
    for group, members in groups.items():
        means = _over(fmean, (name.mean_sr for name in members)), _over(fmean, (name.pieces for name in members))
        middle = _over(median, (name.bearers for name in members))
        summed.append([group, len(members), *means, None if middle is None else round(middle)])
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
    all_names = [name for members in groups.values() for name in members]
    first_names, left_out = all_names[:MOST_NAMES], len(all_names[MOST_NAMES:])
    by_group = DisplayTable(
        title="Names by group",
        how="one row for each name; the columns are explained above.",
        data=Data(_Name._fields, first_names),
        file="sodapop-names",
        anchor="names-every",
        columns=[
            *(TableColumn("name", CellKind.TEXT), TableColumn("group", CellKind.TEXT), rate),
            *(TableColumn("tokens", CellKind.COUNT), bearing),
        ],
        groups=[
            RowGroup(
                [
                    *(TableRow([n.name, n.group, *n[2:]], {"name": n.name}) for n in first_names),
                    *([OmittedRows(f"{plural(left_out, 'more name')}: {table_path('names')}")] if left_out else []),
                ]
            )
        ],
    )
    return [of_groups, Panel("Every name", [by_group], folded=True)]


def _over(average: Callable[[list[float]], float], values: Iterable[float | None]) -> float | None:
    """An average of the values that are known."""
    defined = [value for value in values if value is not None]
    return average(defined) if defined else None


def count_names(run: Run) -> str:
    """How many names of how many groups a run asked about, in brackets; empty where they are not known."""
    groups = [cell(row, "group") for row in run.rows("names")]
    return f" ({plural(len(groups), 'name')} from {plural(len({*groups}), 'group')})" if groups else ""


def _group_titles(run: Run, table: str) -> dict[str, str]:
    """The groups of a table in words."""
    return spelled([cell(row, "group") for row in run.rows(table)])


def picture(run: Run, description: str, how: str, file: str) -> list[Block]:
    """The names in the plane, similar names close together; nothing where the run has no projection."""
    points = []
    titles = _group_titles(run, "projection")
    for row in run.rows("projection"):
        x, y = (run.number("projection", row, column) for column in ("x", "y"))
        if x is not None and y is not None:
            points.append(ScatterPoint(cell(row, "name"), titles[cell(row, "group")], x, y))
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
        said=description,
        table="projection",
    )
    return [chart] if points else []
