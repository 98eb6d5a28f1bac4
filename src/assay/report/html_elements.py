"""Blocks as parts of a page; templates/blocks.html has a macro for each block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from assay.presentation.elements import (
    Block,
    DisplayTable,
    HeatMap,
    Panel,
    PanelPicker,
    Paragraphs,
    Scatter,
    Scorecard,
    Section,
    left_out,
)
from assay.presentation.rich_text import (
    ChartMark,
    Code,
    Emphasis,
    NumberText,
    PageLink,
    Strong,
    TableLink,
    Text,
    Verbatim,
    plain,
)
from assay.probes import metric_named
from assay.report.drawing import draw_heat, draw_scatter
from assay.report.headline import by_metric, estimates_block, estimates_table
from assay.report.html_tables import LOOKS, NOTHING, TableRenderer
from assay.report.page_templates import environment, minus
from assay.report.shared import on_intervals
from assay.results.examples import Wanted
from assay.results.findings import table_path
from assay.results.formatting import plural

_TAGS = {Verbatim: "bdi", Strong: "strong", Emphasis: "em", Code: "code"}


def _titled(block: Block) -> str:
    """The title of a chart, or the label of several to pick from; empty for anything else."""
    match block:
        case DisplayTable() | HeatMap() | Scatter():
            return "" if left_out(block) else block.title
        case PanelPicker():
            return block.title or block.label.removesuffix(" of")
        case Panel():
            return next(filter(None, map(_titled, block.blocks)), "")
    return ""


def _inside(chart: Block) -> str:
    """What a folded chart holds, in a few words."""
    match chart:
        case DisplayTable():
            return plural(len(chart.rows), "row")
        case HeatMap():
            sizes = len({row for row, _ in chart.cells}), len({column for _, column in chart.cells})
            return f"a map of {sizes[0]} by {sizes[1]}"
        case Scatter():
            return f"a picture of {plural(len(chart.points), 'point')}"
        case PanelPicker():
            return f"{plural(len(chart.parts), 'part')} to choose from"
    return ""


BEYOND: Text = [" An arrow ", ChartMark("beyond"), " points to a value beyond the scale."]


@dataclass
class ElementRenderer:
    """Renders the blocks of one part of a page. `uid` begins all ids, `place` the links to the run's files;
    `has` says whether the page has an example for a number, and `notes` has the numbers of notes. `spelled_out`
    spells out the codes in what examples are about.
    """

    uid: str
    place: str = ""
    has: Callable[[Wanted], bool] = lambda wanted: False
    notes: Mapping[str, int] = field(default_factory=dict)
    level: str = ""
    spelled_out: Callable[[Wanted], Wanted] = lambda wanted: wanted
    _anchors: Counter[str] = field(default_factory=Counter)

    BLOCKS, MARKS = "blocks.html", "marks.html"  # the templates with the macros of blocks, and of what they draw

    @property
    def macros(self) -> Any:
        return environment().get_template(self.BLOCKS).module

    @property
    def marks(self) -> Any:
        return environment().get_template(self.MARKS).module

    # --- text

    def text(self, text: Text) -> Markup:
        match text:
            case str():
                return escape(text)
            case NumberText():
                return escape(minus(text.text))
            case Verbatim() | Strong() | Emphasis() | Code():
                tag = _TAGS[type(text)]
                return Markup(f"<{tag}>{{}}</{tag}>").format(self.text(text.text))
            case TableLink():
                return Markup('<a href="{}">{}</a>').format(self.link_to(text.table), plain(text))
            case PageLink():
                return Markup('<a href="{}">{}</a>').format(text.to, self.text(text.text))
            case ChartMark():
                return Markup(
                    self.macros.part_key(LOOKS[text.place]) if text.kind == "part" else self.marks.key(text.kind)
                )
        return Markup("").join(map(self.text, text))

    def link_to(self, table: str) -> str:
        return f"{self.place}{table_path(quote(table, safe=''))}"

    def noted(self, note: str | None) -> Markup:
        """The number of a note, to follow what it explains; empty if there is none."""
        number = self.notes.get(note or "")
        return Markup("") if number is None else self.note_link(number)

    def note_link(self, number: int) -> Markup:
        return Markup(' <a href="#{}-note-{}">[{}]</a>').format(self.uid, number, number)

    # --- blocks

    def sections(self, sections: Sequence[Section]) -> Markup:
        return Markup("\n").join(map(self.section, sections))

    def section(self, section: Section) -> Markup:
        if not section.title:
            return self.blocks(section.blocks)
        inner = self.blocks(section.blocks, 5)
        return Markup(self.macros.section(self._id(section.anchor or "section"), section.title, inner))

    def unfolding(self, sections: Sequence[Section], lead: Markup = NOTHING) -> Markup:
        """The first chart, then the lead, then all other charts folded, each with a line on what is inside."""
        parts: list[Markup] = []
        seen = False
        for section in sections:
            if section.title:
                parts.append(self.folded(section.title, "", [section]) if seen else self.section(section))
                seen = True
                continue
            for block in section.blocks:
                title, inner = _titled(block), self.block(block)
                parts.append(self.fold(title, _inside(block), inner) if title and seen and inner else inner)
                seen = seen or bool(title)
        return Markup("\n").join([*parts[:1], lead, *parts[1:]])

    def folded(self, title: str, inside: str, sections: Sequence[Section]) -> Markup:
        """Sections that open with a click on their title; empty if there are none."""
        return self.fold(title, inside, self.sections(sections)) if sections else NOTHING

    def fold(self, title: str, inside: str, inner: Markup) -> Markup:
        return Markup(self.macros.fold(self._id("fold"), title, inside, inner))

    def blocks(self, blocks: Sequence[Block], level: int = 4, *, bare: bool = False) -> Markup:
        return Markup("\n").join(self.block(block, level, bare=bare) for block in blocks)

    def block(self, block: Block, level: int = 4, *, bare: bool = False) -> Markup:
        """A block with headings of this level; `bare` is for a table that shares the frame of another chart."""
        macros = self.macros
        block = left_out(block) or block
        match block:
            case Paragraphs():
                return Markup(macros.prose(list(map(self.text, block.paragraphs)), block.role.value))
            case Panel():
                label = self.text(block.said or Verbatim(block.name))
                return Markup(macros.part(block, label, self.blocks(block.blocks, level, bare=bare)))
            case PanelPicker():
                parts = [self.block(part, level, bare=bool(block.title)) for part in block.parts]
                inner = Markup(macros.pick(block.label, parts))
                return self._framed(block, level, inner) if block.title else inner
            case DisplayTable():
                return self._table(block, level, bare)
            case HeatMap():
                return self._heat(block, level)
            case Scatter():
                identity = self._id(block.anchor)
                picture = draw_scatter(block)
                more: Sequence[Text] = ()
                if picture.left_out and block.table:
                    more = [[f"{picture.left_out:,} more are not drawn: ", TableLink(block.table), "."]]
                inner = Markup(macros.scatter(picture, f"{identity}-map", block.said))
                return self._framed(block, level, inner, identity, data=block.data or picture.data, more=more)

    def _framed(
        self,
        chart: DisplayTable | HeatMap | Scatter | PanelPicker,
        level: int,
        inner: Markup,
        identity: str = "",
        *,
        data: Any = None,
        beside: str = "",
        more: Sequence[Text] = (),
    ) -> Markup:
        after = [self.text(text) for text in (*chart.after, *more)]
        return Markup(
            self.macros.frame(
                identity or self._id(chart.anchor),
                chart.title,
                self.text(chart.how),
                data if data is not None else chart.data,
                chart.file,
                level,
                beside,
                inner,
                after,
            )
        )

    def _id(self, anchor: str) -> str:
        """An id that is unique on the page."""
        self._anchors[anchor] += 1
        before = self._anchors[anchor]
        return f"{self.uid}-{anchor}" + (f"-{before}" if before > 1 else "")

    # --- heat maps

    def _heat(self, block: HeatMap, level: int) -> Markup:
        picture = draw_heat(block)
        if picture is None:
            return Markup("")
        identity = self._id(block.anchor)
        data = block.data if block.data or block.table else picture.table
        beside = self.link_to(block.table) if block.table else ""
        block = replace(block, examples=self.spelled_out(block.examples))
        inner = Markup(self.macros.heat(picture, f"{identity}-map", block))
        return self._framed(block, level, inner, identity, data=data, beside=beside)

    # --- tables

    def _table(self, table: DisplayTable, level: int, bare: bool, below: Markup = NOTHING) -> Markup:
        identity = self._id(table.anchor)
        renderer = TableRenderer(self, table)
        caption = table.title if bare else ""
        label = f"{identity}-caption" if bare else f"{identity}-title"
        inner = Markup(self.macros.table(table, renderer.heads(), renderer.bodies(), label, caption)) + below
        how = [table.how, BEYOND] if renderer.beyond else table.how
        return inner if bare else self._framed(replace(table, how=how), level, inner, identity)

    def scorecard(self, card: Scorecard, file: str) -> Markup:
        """The headline numbers, by metric, with the notes of the whole run."""
        notes = Markup(self.macros.notes(self))
        if not card.scores:
            return self.block(Paragraphs(["This run has no estimates."])) + notes
        estimates, metrics = card.estimates, by_metric(card.scores)
        words = [metric_named(card.probe, metric) for metric in metrics]
        line = (
            [", the line ", ChartMark("range"), f" its {self.level}"]
            if any(estimate.low is not None for estimate in estimates)
            else []
        )
        tick = [", the tick ", ChartMark("floor"), " its chance level"]
        papers = [", the dotted line ", ChartMark("reference"), " the value before correction for chance"]
        table = estimates_block(
            [(metric.title, scores) for metric, scores in zip(words, metrics.values(), strict=True)],
            self.level,
            card.probe,
            title="Headline numbers",
            how=[
                *("the dot ", ChartMark("dot"), " is the estimate"),
                *line,
                *(papers if any(estimate.corrected is not None for estimate in estimates) else []),
                *(tick if any(estimate.floor is not None for estimate in estimates) else []),
                *(
                    "; a hollow dot ",
                    ChartMark("hollow"),
                    " is not statistically clear. Each metric has its own scale. ",
                ),
                *(on_intervals(estimates), " ", card.counted),
            ],
            data=estimates_table(estimates),
            file=file,
            anchor="headline",
        )
        return self._table(table, 4, False, notes + Markup(self.macros.meanings(words)))
