"""What a probe shows of a run, as data: sections of blocks, which every view renders in its own way.

How a probe is shown
--------------------
1. The probe's `Method` has `present(run) -> Presentation` and, if several models can be shown together, `across(runs)
   -> Sequence[Section]`: functions of `assay/probes/NAME/present.py`, which the method uses as they are (`present =
   staticmethod(present)`). `run` is an `assay.results.run.Run`; `assay.report` is not imported.
2. What people read is `Text` (`assay.presentation.rich_text`): your own strings, `Verbatim` for whatever comes from
   data or a model, `NumberText` for a number written by `assay.results.formatting`, `Strong`, `Emphasis`, `Code`,
   `ChartMark` (the mark of a chart, in running text) and `TableLink` (a link to a table of the run). Never markup: each
   view escapes by itself.
3. `Presentation.sections` goes on the page; `Presentation.summary` is what the terminal, Markdown and a model card
   print below the headline: one or two tables, and a line on how to read them. A block may be in both. Where the
   headline does not fit a terminal, `Presentation.terminal` is printed in place of both.
4. Charts (`DisplayTable`, `HeatMap`, `Scatter`, and a `PanelPicker` with a title) have a title, one line on how to read
   them (`how`), their `data` and the `file` to save these as. `anchor` is their id on the page, after the run's own.
   - Values with intervals are a `DisplayTable` with a column of kind DOTS, whose cells are `DotCell`s; parts of a whole
     are one with a column of kind BARS, whose cells are `BarCell`. All cells of a column are drawn on one scale: `ends`
     fixes it, `reach` gives the values that it has to hold (for several tables on one scale), else it is made from the
     cells.
   - Filled marks are statistically clear, hollow or pale ones are not, in every chart.
   - Two groups that mirror each other are one bar each row (`DotCell.bar`), not two rows of a map. What has long names
     runs down a map. A chart of fewer than `FEWEST` units is replaced by a line (`left_out`).
   - Examples of a number: `TableRow.examples`, `HeatMap.examples` with the keys of its rows and columns.
   - A value that is clear, or not clear, or has a note, is wrapped in `MarkedCell`. The views number, list and link
     notes.
   - Rows that are left out, in the middle or at the end: an `OmittedRows` among the rows.
   - Rows that belong together are a `RowGroup`: its head is above them or, with `DisplayTable.heads_beside`, beside
     them.
5. What only a study shows about its models, such as what debiasing changed: `of_study(runs: Sequence[StudyRun]) ->
   Sequence[Section]`; `assay.results.run` has `StudyRun`.
6. `PanelPicker` lets readers pick one of several `Panel`s; a `Panel` that is `folded` opens on a click, alone or in a
   `PanelPicker`.

A new kind of block is a class here, and a macro in report/templates/blocks.html with a case in report/html_elements.py.
The terminal and Markdown show what `readable` of report/shared.py makes of it: paragraphs and tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from assay.presentation.rich_text import Text, Verbatim
from assay.results.examples import Wanted
from assay.results.findings import Cell, Estimate
from assay.results.findings import Table as Data
from assay.results.formatting import format_number

# --- blocks of text


class TextRole(Enum):
    PLAIN = "plain"
    SMALL = "small"  # small print
    WARNING = "warning"
    ITEMS = "items"  # each paragraph is an item of a list


@dataclass(frozen=True)
class Paragraphs:
    """Paragraphs."""

    paragraphs: Sequence[Text]
    role: TextRole = TextRole.PLAIN


# --- headline numbers


@dataclass(frozen=True)
class HeadlineEstimate:
    """A headline estimate: what it is about in words, and which examples show it.

    `place` says what it is about by the columns of `Scorecard.places`. `task` and `part` (an identifier, and in words)
    are a model hub's names for the task and the part of the data set.
    """

    estimate: Estimate
    said: str
    examples: Wanted = field(default_factory=dict)
    place: Sequence[str] = ()
    task: str = "question-answering"
    part: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Scorecard:
    """The headline estimates of a run; `counted` says what their n counts. Views use `probe` to find the names of
    its metrics.
    """

    scores: Sequence[HeadlineEstimate]
    counted: Text = ""
    places: Sequence[str] = ("group",)
    probe: str = ""

    @property
    def estimates(self) -> list[Estimate]:
        return [score.estimate for score in self.scores]


@dataclass(frozen=True)
class SummaryCard:
    """A run on a reader's first screen: one plain sentence, one number on its scale, one example.

    `label` says in words what the number is, `severity` how much it is in a reader's units, `sides` what is to the left
    and right of its neutral point, `ends` the ends of its scale: the same in every run, so that sizes can be compared.
    `of` is the kind of claim (`Claim.of`) that it belongs to. `examples` selects the example, `telling` what it has to
    show where the run's examples know that. `warning` comes first; `not_asked` names what this run left out.
    """

    sentence: Text
    label: Text = ""
    number: DotCell | None = None
    sides: tuple[str, str] | None = None
    examples: Wanted = field(default_factory=dict)
    warning: Text = ""
    severity: str = ""
    ends: tuple[float, float] | None = None
    of: str = ""
    telling: Wanted = field(default_factory=dict)
    not_asked: Text = ""


# --- charts


@dataclass(frozen=True, kw_only=True)
class Chart:
    """What every chart has; `after` is small print below it. `how` begins in lower case: it follows a colon."""

    title: str = ""
    how: Text = ""
    data: Data | None = None
    file: str = ""
    anchor: str = ""
    after: Sequence[Text] = ()


class CellKind(Enum):
    """What the cells of a column are. A string is shown as it is in a column of any kind."""

    TEXT = "text"  # Text; a string is taken for a name
    NUMBER = "number"
    FIXED = "fixed"  # with three decimals
    TENTHS = "tenths"  # with one decimal
    SHARE = "share"
    PROBABILITY = "probability"
    COUNT = "count"
    INTERVAL = "interval"  # (low, high)
    FIXED_INTERVAL = "fixed interval"
    DOTS = "dots"
    BARS = "bars"

    @property
    def drawn(self) -> bool:
        return self in (CellKind.DOTS, CellKind.BARS)


Ends = tuple[float | None, float | None]


@dataclass(frozen=True)
class DotCell:
    """A value with its interval, drawn as a dot on a line; hollow where it is not statistically clear.

    `floor` is a tick for the chance level, `reference` another one, which `told` has to explain; a line marks
    `neutral`, where a model without bias would be. With `bar` it is a bar that begins there, for values that differ in
    direction more than in size: its colour is neutral, and orange stays what agrees with a stereotype. `before` is a
    square: the value that this one is compared with.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    floor: float | None = None
    reference: float | None = None
    hollow: bool = False
    told: str = ""
    neutral: float = 0.0
    bar: bool = False
    before: float | None = None


@dataclass(frozen=True)
class BarCell:
    """Parts of a whole, by name, drawn as one bar; the names are those of `TableColumn.parts`."""

    shares: Mapping[str, float]


@dataclass(frozen=True)
class MarkedCell:
    """A value that is statistically clear (True) or not (False), or whose note says why something is missing."""

    value: Value
    clear: bool | None = None
    note: str | None = None


Value: TypeAlias = "Text | float | Ends | None"
TableCell: TypeAlias = "Value | DotCell | BarCell | MarkedCell"


@dataclass(frozen=True)
class TableColumn:
    """A column of a table. In a drawn column, a page shows the scale in place of the head.

    `over` is a head over this column and its neighbours with the same one. `ends`, `reach` and `signed` set the scale
    of dots (fixed, to hold these values, to both sides of 0); `sides` says what is to its left and right. With
    `by_group` every group has its own scale, beside its head. `parts` are the names of a bar's parts, in order.
    """

    head: Text
    kind: CellKind
    over: str = ""
    wraps: bool = False
    ends: tuple[float, float] | None = None
    reach: Sequence[float | None] | None = None
    signed: bool = True
    sides: tuple[str, str] | None = None
    by_group: bool = False
    parts: Sequence[str] = ()


@dataclass(frozen=True)
class TableRow:
    cells: Sequence[TableCell]
    examples: Wanted | None = None


@dataclass(frozen=True)
class OmittedRows:
    """Rows that are left out here: how many, and where they are."""

    said: Text


@dataclass(frozen=True)
class RowGroup:
    """Rows that belong together, under or beside a head; `whole` is the total, which stays last. In a column with
    `by_group`, `ends` fixes the scale of the group.
    """

    rows: Sequence[TableRow | OmittedRows]
    head: Text = ""
    whole: bool = False
    ends: tuple[float, float] | None = None


class TableTools(Enum):
    """What a reader sorts or filters: nothing, rows within their groups, or whole groups."""

    NONE = ""
    ROWS = "rows"
    GROUPS = "groups"


@dataclass(frozen=True, kw_only=True)
class DisplayTable(Chart):
    """Rows of typed cells. With `heads_beside`, a column called `group` has the groups' heads. A table with two rows
    of heads cannot be sorted.
    """

    columns: Sequence[TableColumn]
    groups: Sequence[RowGroup]
    sort: TableTools = TableTools.ROWS
    filter: TableTools = TableTools.ROWS
    heads_beside: bool = False
    group: str = ""
    narrow: bool = False

    @property
    def rows(self) -> list[TableRow]:
        return [row for group in self.groups for row in group.rows if isinstance(row, TableRow)]


Cells = Mapping[tuple[str, str], float]
Beside = Mapping[str, Mapping[tuple[str, str], float | None]]


@dataclass(frozen=True, kw_only=True)
class HeatMap(Chart):
    """Values by (row, column) as colours; `beside` has other numbers, which a reader sees with each value. Values in
    `unclear` are pale: not distinguishable from chance.

    `name` says which of several maps it is; `row`, `column` and `value` what its rows, columns and values are. What has
    long names should be the rows. `columns` gives the order of the columns; else similar ones are neighbours. `reach`
    is as in `TableColumn`. `examples` and the keys say which examples belong to a cell. Its data are its cells, unless
    it has others or a `table` of the run holds them.
    """

    name: str
    row: str
    column: str
    value: str
    cells: Cells
    beside: Beside = field(default_factory=dict)
    unclear: Set[tuple[str, str]] = frozenset()
    columns: Sequence[str] | None = None
    reach: Sequence[float | None] | None = None
    examples: Wanted = field(default_factory=dict)
    row_key: str = ""
    column_key: str = ""
    table: str = ""


@dataclass(frozen=True)
class ScatterPoint:
    name: str
    group: str
    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class Scatter(Chart):
    """Points in the plane, each group with its own mark; `said` says in words what is drawn. Groups named with two
    parts (A x, A y) get two kinds of one mark. Of very many points only some are drawn; a `table` of the run has all.
    """

    points: Sequence[ScatterPoint]
    said: str
    table: str = ""


# --- containers


@dataclass(frozen=True)
class Panel:
    """Blocks under a name. If folded, they open with a click on `said` (or on the name)."""

    name: str
    blocks: Sequence[Block]
    said: Text = ""
    folded: bool = False
    open: bool = False


@dataclass(frozen=True, kw_only=True)
class PanelPicker(Chart):
    """Parts of which a reader picks one, in a menu called `label`; without a script all are shown.

    With a title it is one chart: its tables have only captions (their titles) and share its data and its `how`.
    """

    label: str
    parts: Sequence[Panel]


Block: TypeAlias = Paragraphs | DisplayTable | HeatMap | Scatter | PanelPicker | Panel


@dataclass(frozen=True)
class Section:
    """Blocks, under a heading where the titles of their charts are not enough."""

    blocks: Sequence[Block]
    title: str = ""
    anchor: str = ""


@dataclass(frozen=True)
class Presentation:
    """All that a probe shows of a run.

    `asks` says what it asks, in a few words after its name; `card` what was found, for the first screen; `lead` the
    same in full. `cautions` is what the numbers cannot say; `citation` what to cite; `data_set` a model hub's name for
    its data; `questions` which set was asked, if the probe has several, and `language` in which language. Where
    `terminal` has sections, a terminal prints them in place of the headline numbers and the summary.
    """

    name: str
    asks: str
    lead: Sequence[Block]
    card: SummaryCard
    scorecard: Scorecard
    cautions: Sequence[Text]
    citation: Sequence[Text]
    data_set: str
    sections: Sequence[Section] = ()
    summary: Sequence[Section] = ()
    terminal: Sequence[Section] = ()
    questions: str = ""
    language: str = "US English"


# --- charts of too little

FEWEST = 3
"""A chart needs so many rows, columns or points: two show no pattern that their numbers, in the tables, do not."""


def left_out(block: Block) -> Paragraphs | None:
    """The line that takes the place of a map, a scatter plot or a chart of bars with fewer than `FEWEST` units.

    A map has as many units as its longer side. Tables of numbers can be read however short they are.
    """
    match block:
        case HeatMap():
            units, of = max((len({key[side] for key in block.cells}) for side in (0, 1)), default=0), "rows or columns"
        case Scatter():
            units, of = len(block.points), "points"
        case DisplayTable() if any(isinstance(cell, DotCell) and cell.bar for row in block.rows for cell in row.cells):
            units, of = len(block.rows), "rows"
        case _:
            return None
    if not 0 < units < FEWEST:
        return None
    reason = f": not drawn, because it would have fewer than {FEWEST} {of}. The numbers are in the tables."
    return Paragraphs([[Verbatim(block.title), reason]], TextRole.SMALL)


# --- tables as they are


def data_table(table: Data, named: Mapping[str, str] | None = None, **chart: Any) -> DisplayTable:
    """A long table as a block; `named` has other names for its columns and texts.

    >>> shown = data_table(Data(("who", "n"), [("a", 3), ("b", None)]), {"a": "Ann"})
    >>> [column.kind.value for column in shown.columns], [row.cells for row in shown.rows]
    (['text', 'count'], [['Ann', 3], ['b', None]])
    """
    names, columns = named or {}, []
    for index, name in enumerate(table.columns):
        cells = [row[index] for row in table.rows]
        kind = CellKind.NUMBER if any(isinstance(cell, float) for cell in cells) else CellKind.COUNT
        kind = kind if all(isinstance(cell, int | float | None) for cell in cells) else CellKind.TEXT
        columns.append(TableColumn(Verbatim(names.get(name, name.replace("_", " "))), kind))

    def shown(column: TableColumn, cell: Cell) -> TableCell:
        if column.kind is not CellKind.TEXT:
            return cell
        return (
            format_number(cell) if isinstance(cell, float) else "" if cell is None else names.get(str(cell), str(cell))
        )

    rows = [TableRow([*map(shown, columns, row)]) for row in table.rows]
    return DisplayTable(columns=columns, groups=[RowGroup(rows)], **chart)
