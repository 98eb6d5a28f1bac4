"""Every block as every view shows it; whatever a probe puts into blocks comes back as text, and does nothing."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from assay.presentation.elements import (
    FEWEST,
    BarCell,
    Block,
    CellKind,
    DisplayTable,
    DotCell,
    HeatMap,
    MarkedCell,
    OmittedRows,
    Panel,
    PanelPicker,
    Paragraphs,
    RowGroup,
    Scatter,
    ScatterPoint,
    Section,
    TableCell,
    TableColumn,
    TableRow,
    TableTools,
    TextRole,
)
from assay.presentation.rich_text import ChartMark, Code, Emphasis, NumberText, Strong, TableLink, Text, Verbatim
from assay.report import markdown_sections, print_sections, write_page
from assay.report.html_elements import ElementRenderer
from assay.report.markdown import section_lines
from assay.report.notebook import sections_html
from assay.report.shared import notes_of
from assay.report.terminal import TerminalPrinter
from assay.results.findings import Table as Data
from html_pages import HOSTILE, Page

SCORES = [
    TableColumn("who", CellKind.TEXT),
    TableColumn("score", CellKind.NUMBER),
    TableColumn("score", CellKind.DOTS),
    TableColumn("interval", CellKind.INTERVAL),
    TableColumn("share", CellKind.SHARE, over="ambiguous"),
    TableColumn("p", CellKind.PROBABILITY, over="ambiguous"),
    TableColumn("n", CellKind.COUNT),
]


def scored(who: Text, value: float | None, clear: bool | None = None, note: str | None = None) -> TableRow:
    ends = (None, None) if value is None else (value - 0.1, value + 0.1)
    number = MarkedCell(value, clear, note)
    return TableRow(
        [who, number, DotCell(value, *ends, floor=0.05, reference=0.9), ends, 0.25, 0.0001, 1234], {"who": "x"}
    )


def page_of(*blocks: Block, notes: Sequence[str] = (), title: str = "") -> Page:
    numbered = {note: place for place, note in enumerate(notes, 1)}
    view = ElementRenderer("p1", "run/", lambda wanted: True, numbered, "95% interval")
    return Page(f"<main>{view.section(Section(blocks, title))}</main>")


def terminal(*blocks: Block, notes: Sequence[str] = ()) -> str:
    stream = io.StringIO()
    numbered = {note: place for place, note in enumerate(notes, 1)}
    TerminalPrinter(Console(file=stream, width=160)).section(Section(blocks), numbered)
    return " ".join(stream.getvalue().split())


def markdown(*blocks: Block, notes: Sequence[str] = ()) -> str:
    return "\n".join(section_lines(Section(blocks), "##", {note: place for place, note in enumerate(notes, 1)}))


def table(*rows: TableRow | OmittedRows, columns: Sequence[TableColumn] = SCORES, **more: object) -> DisplayTable:
    return DisplayTable(
        title="Scores",
        how=["a dot ", ChartMark("dot"), " is a score"],
        data=Data(["a"], [[1]]),
        file="mine-scores",
        anchor="scores",
        columns=columns,
        groups=[RowGroup(rows)],
        **more,  # type: ignore[arg-type]
    )


# --- text


def test_each_kind_of_text_is_marked_up_on_a_page_and_plain_elsewhere() -> None:
    said: Text = [
        *("a ", Verbatim("שלום"), " b ", NumberText("-0.5"), " c ", Strong(["d ", Verbatim("e")]), " "),
        *(Emphasis("f"), " ", Code("--set g"), " ", TableLink("words"), "."),
    ]
    page = page_of(Paragraphs([said]))
    assert "a <bdi>שלום</bdi> b −0.5 c <strong>d <bdi>e</bdi></strong> <em>f</em> <code>--set g</code>" in page.source
    assert page.files == ["run/tables/words.csv"]
    expected = "a שלום b -0.5 c d e f --set g tables/words.csv."
    assert expected in terminal(Paragraphs([said]))
    assert expected in markdown(Paragraphs([said]))


def test_paragraphs_have_roles() -> None:
    page = page_of(*(Paragraphs([role.value, "other"], role) for role in TextRole))
    classes = [attributes.get("class") for attributes in page.all("p")]
    assert classes == [None, None, "how", "how", "warning", "warning"]
    assert len(page.all("li")) == 2
    assert "- items\n- other" in markdown(Paragraphs(["items", "other"], TextRole.ITEMS))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_in_every_place_of_every_block_is_only_text(text: str) -> None:
    columns = [
        TableColumn(text, CellKind.TEXT),
        TableColumn(text, CellKind.DOTS, sides=(text, text)),
        TableColumn(text, CellKind.SHARE, text),
    ]
    columns.append(TableColumn(text, CellKind.BARS, parts=[text]))
    row = TableRow([text, DotCell(0.5, told=text), MarkedCell(0.5, note=text), BarCell({text: 1.0})], {text: text})
    shown = DisplayTable(title=text, how=text, file=text, anchor="a", after=[text], columns=columns,
                  groups=[RowGroup([row, OmittedRows(text)], text)])  # fmt: skip
    heat = HeatMap(title=text, anchor="h", name=text, row=text, column=text, value=text, cells={(text, text): 0.5},
                examples={text: text}, row_key=text, column_key=text, table=text)  # fmt: skip
    scatter = Scatter(title=text, anchor="s", points=[ScatterPoint(text, text, 0, 1)], said=text)
    inner = [Paragraphs([Verbatim(text), Strong(text), Code(text), NumberText(text), TableLink(text)])]
    blocks = [
        shown,
        heat,
        scatter,
        PanelPicker(label=text, parts=[Panel(text, inner, text, folded=True), Panel(text, inner)]),
    ]
    page = page_of(*blocks, notes=[text], title=text)
    assert page.text.count(text) > 20
    assert not {"script", "style", "img"} & {tag for tag, attributes in page.elements if "type" not in attributes}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    printed = terminal(*blocks, notes=[text])
    assert "\u202e" not in printed
    assert "<script>" not in markdown(*blocks, notes=[text]).replace("\\", "")


# --- tables


def test_a_table_has_typed_cells_a_scale_examples_and_two_rows_of_heads() -> None:
    page = page_of(table(scored("Ann", -0.5, clear=True), scored(["Bo (", Verbatim("x"), ")"], 0.25)))
    words = page.words
    assert "Ann −0.500 −0.600 to −0.400 25.0% <0.001 1,234 examples of Ann" in words
    assert "Bo (x) 0.250" in words
    drawn = [svg["aria-label"] for svg in page.all("svg") if svg.get("class") == "bar"]
    assert drawn[0] == "Ann: score -0.500. Interval -0.600 to -0.400. Chance level 0.050. For comparison: 0.900."
    assert [svg["aria-label"] for svg in page.all("svg") if svg.get("class") == "bar axis"] == ["Scale from −1 to 1"]
    heads = [attributes for attributes in page.all("th") if attributes.get("scope") in ("col", "colgroup")]
    assert [head.get("colspan") for head in heads].count("2") == 1
    assert [head.get("rowspan") for head in heads].count("2") == 6  # the five others, and examples
    assert {"id": "p1-scores", "class": "chart-frame"} in page.all("figure")
    assert [link["download"] for link in page.all("a") if link.get("class") == "csv"] == ["mine-scores.csv"]
    (attributes,) = page.all("table")
    assert "data-filter" in attributes
    assert "data-sort" not in attributes  # the heads of the second row are not those of all columns


def test_without_room_to_draw_a_table_has_its_numbers_and_marks() -> None:
    shown = table(scored("Ann", -0.5, clear=True), scored("Bo", 0.25, clear=False), OmittedRows("7 more"))
    printed = terminal(shown)
    assert "ambiguous ambiguous who score interval share p n" in printed
    assert "Ann -0.500* -0.600 to -0.400 25.0% <0.001 1,234" in printed
    assert "Bo ~0.250 0.150 to 0.350" in printed
    assert "7 more" in printed
    written = markdown(shown)
    assert "| who | score | interval | ambiguous share | ambiguous p | n |" in written
    assert "| Ann | -0.500\\* | -0.600 to -0.400 | 25.0% | &lt;0.001 | 1,234 |" in written
    assert "| Bo | \\~0.250 |" in written
    assert "| 7 more |  |  |  |  |  |" in written


def test_a_note_is_linked_from_the_page_and_numbered_everywhere() -> None:
    shown = table(scored("Ann", None, note="nobody answered"))
    assert notes_of([Section([PanelPicker(label="x", parts=[Panel("y", [shown])])])]) == {"nobody answered": 1}
    notes = ["another", "nobody answered"]
    assert "#p1-note-2" in page_of(shown, notes=notes).links
    assert "Ann – [2] –" in terminal(shown, notes=notes)
    assert "| Ann | – [2] | – |" in markdown(shown, notes=notes)


def test_what_is_clear_is_bold_where_nothing_is_drawn() -> None:
    columns = [TableColumn("who", CellKind.TEXT), TableColumn("score", CellKind.NUMBER)]
    page = page_of(table(TableRow(["Ann", MarkedCell(0.5, True)]), TableRow(["Bo", MarkedCell(0.25)]), columns=columns))
    assert "<b>0.500</b>" in page.source
    assert "<b>0.250</b>" not in page.source


def test_heads_of_groups_stand_above_or_beside_their_rows() -> None:
    columns = [TableColumn("question", CellKind.TEXT), TableColumn("score", CellKind.FIXED)]
    rows: list[TableRow] = [TableRow(["ambiguous", 0.5]), TableRow(["disambiguated", None])]
    groups = [RowGroup(rows, "Age"), RowGroup(rows, "all", whole=True)]
    tools = TableTools.GROUPS
    beside = DisplayTable(title="T", anchor="t", columns=columns, groups=groups, heads_beside=True, group="category",
                   sort=tools, filter=tools)  # fmt: skip
    page = page_of(beside)
    assert [th.get("rowspan") for th in page.all("th") if th.get("scope") == "rowgroup"] == ["2", "2"]
    assert [body.get("class") for body in page.all("tbody")] == [None, "whole"]
    assert page.all("table") == [{"class": "chart", "data-sort": "groups", "data-filter": "groups"}]
    above = page_of(DisplayTable(title="T", anchor="t", columns=columns, groups=groups))
    assert [th.get("colspan") for th in above.all("th") if th.get("scope") == "rowgroup"] == ["2", "2"]
    assert "category question score" in terminal(beside)
    assert "Age ambiguous 0.500 disambiguated – all ambiguous 0.500" in terminal(beside)
    assert "| Age | ambiguous | 0.500 |\n|  | disambiguated | – |" in markdown(beside)


def test_parts_of_a_whole_are_drawn_side_by_side() -> None:
    columns = [
        TableColumn("who", CellKind.TEXT),
        TableColumn("answers", CellKind.BARS, parts=["named", "unknown", "refused"]),
    ]
    page = page_of(table(TableRow(["Ann", BarCell({"named": 0.25, "unknown": 0.75})]), columns=columns))
    pieces = [rect for rect in page.all("rect") if rect.get("y") == "4"]
    assert [(piece["class"], piece["x"], piece["width"]) for piece in pieces] == [
        ("mark square", "6.0", "47.0"),
        ("mark circle", "53.0", "141.0"),
    ]
    assert "Ann: named 25.0%, unknown 75.0%" in [svg.get("aria-label") for svg in page.all("svg")]
    assert '<rect class="mark circle"' in page_of(Paragraphs([ChartMark("part", 1)])).source


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (TableColumn("x", CellKind.DOTS), "Scale from −0.5 to 0.5"),
        (TableColumn("x", CellKind.DOTS, signed=False), "Scale from 0 to 0.5"),
        (TableColumn("x", CellKind.DOTS, reach=[1.5]), "Scale from −2 to 2"),
        (TableColumn("x", CellKind.DOTS, ends=(0.5, 1.0)), "Scale from 0.5 to 1"),
    ],
)
def test_a_scale_is_made_from_the_dots_or_said(column: TableColumn, said: str) -> None:
    cells: list[TableCell] = ["Ann", DotCell(0.3)]
    page = page_of(table(TableRow(cells), columns=[TableColumn("who", CellKind.TEXT), column]))
    assert said in [svg.get("aria-label") for svg in page.all("svg")]


def test_groups_have_scales_of_their_own_where_they_measure_different_things() -> None:
    columns = [
        TableColumn("who", CellKind.TEXT),
        TableColumn("drawn", CellKind.DOTS, by_group=True),
        TableColumn("score", CellKind.NUMBER),
    ]
    groups = [
        RowGroup([TableRow(["Ann", DotCell(0.03), 0.03])], "bias"),
        RowGroup([TableRow(["Bo", DotCell(7.0), 7.0])], "time"),
    ]
    groups.append(RowGroup([TableRow(["Cy", DotCell(None), None])], "nothing"))
    page = page_of(DisplayTable(title="T", anchor="t", columns=columns, groups=groups))
    axes = [svg["aria-label"] for svg in page.all("svg") if svg.get("class") == "bar axis"]
    assert axes == ["Scale from −0.05 to 0.05", "Scale from −10 to 10"]  # none where nothing is drawn
    assert [svg["aria-label"] for svg in page.all("svg") if svg.get("class") == "bar"] == [
        "bias, Ann: 0.030",
        "time, Bo: 7.000",
    ]
    shown = notebook(DisplayTable(title="T", columns=columns, groups=groups))
    assert "−0.05 to 0.05" in shown.words
    assert "−10 to 10" in shown.words


# --- any sections


def notebook(*blocks: Block) -> Page:
    return Page(sections_html("title", ["fact"], [Section(blocks, "Section")]))


def test_any_sections_are_a_page_a_printout_markdown_and_a_cell_of_a_notebook(tmp_path: Path) -> None:
    text = [Paragraphs(["see ", Code("this")]), table(scored("Ann", None, note="nobody answered"))]
    sections = [Section(text, "First", "one"), Section([Paragraphs(["then this"])], "Second", "two")]
    page = Page(write_page(tmp_path / "p.html", ["About ", Verbatim("Ann")], sections, "test").read_text("utf-8"))
    assert [h.get("id") for h in page.all("h2")] == ["one-title", "two-title"]
    assert {"#one", "#two", "#one-note-1"} <= set(page.links)
    assert "one-note-1" in page.ids
    stream = io.StringIO()
    print_sections(sections, Console(file=stream, width=160))
    for shown in (page.words, " ".join(stream.getvalue().split()), markdown_sections(sections).replace("\\", "")):
        for said in ("First", "see", "this", "Ann", "– [1]", "nobody answered", "Second", "then this"):
            assert said in shown, said
    assert "– [1]" in notebook(*text).words


# --- other charts


def test_a_map_carries_its_cells_or_leads_to_the_runs_table() -> None:
    cells = {("r1", "c1"): 0.5, ("r1", "c2"): -0.25, ("r2", "c1"): 0.1, ("r3", "c1"): 0.1}
    heat = HeatMap(title="Map", anchor="map", file="mine-map", name="of all", row="row", column="other row", value="γ",
                cells=cells, beside={"n": dict.fromkeys(cells, 3.0)}, columns=["c2", "c1"], reach=[0.9])  # fmt: skip
    page = page_of(heat)
    ((_, data),) = page.scripts
    assert '"columns":["c2","c1"]' in data
    assert '"end":1.0' in data
    assert "r1,c2,-0.25,3.0" in next(link for link in page.links if link.startswith("data:"))
    linked = page_of(HeatMap(anchor="map", name="", row="r", column="c", value="v", cells=cells, table="gamma"))
    assert linked.files == ["run/tables/gamma.csv"]
    assert page_of(HeatMap(anchor="map", name="", row="r", column="c", value="v", cells={})).text.strip() == ""


def test_a_picture_has_a_mark_for_each_group_and_says_what_it_leaves_out() -> None:
    points = [ScatterPoint(f"n{i}", ("EA female", "EA male", "AA male")[i % 3], i, -i) for i in range(1300)]
    page = page_of(Scatter(title="Names", anchor="names", points=points, said="Names", table="projection"))
    assert "EA female (434)" in page.words
    assert "more are not drawn: tables/projection.csv" in page.words
    assert len([path for path in page.all("path") if "data-tip" in path]) < 600


@pytest.mark.parametrize("many", [FEWEST - 1, FEWEST])
def test_a_chart_of_too_little_is_left_out_with_a_line(many: int) -> None:
    names = [f"n{i}" for i in range(many)]
    bars = [TableRow([name, DotCell(0.1, bar=True)]) for name in names]
    columns = [TableColumn("who", CellKind.TEXT), TableColumn("γ", CellKind.DOTS)]
    charts: Mapping[str, Block] = {
        "rows or columns": HeatMap(title="A", anchor="a", name="", row="r", column="c", value="v",
                                cells={(name, "x"): 0.5 for name in names}),
        "points": Scatter(title="A", anchor="a", said="s",
                          points=[ScatterPoint(name, "g", 0.0, 0.0) for name in names]),
        "rows": DisplayTable(title="A", anchor="a", columns=columns, groups=[RowGroup(bars)]),
    }  # fmt: skip
    first = DisplayTable(title="B", anchor="b", columns=columns, groups=[RowGroup([TableRow(["n", DotCell(0.1)])])])
    for of, chart in charts.items():
        words, title = page_of(chart).words, f"A: not drawn, because it would have fewer than 3 {of}."
        assert (title in words) == (many < FEWEST)
        assert bool(page_of(chart).all("figure")) == (many >= FEWEST)
        folded = ElementRenderer("p").unfolding([Section([first, chart])])
        assert ("<details" in folded) == (many >= FEWEST)  # a line needs no unfolding
    assert page_of(first).all("figure")  # numbers can be read however few they are


def test_bars_begin_at_the_neutral_point_and_are_hollow_where_they_are_not_clear() -> None:
    values = {
        "a": DotCell(0.5, 0.3, 0.7, bar=True),
        "b": DotCell(-0.5, hollow=True, bar=True),
        "c": DotCell(0.0, bar=True),
    }
    columns = [
        TableColumn("who", CellKind.TEXT),
        TableColumn("γ", CellKind.DOTS, ends=(-1.0, 1.0), sides=("less", "more")),
    ]
    table = DisplayTable(
        title="T", anchor="t", columns=columns, groups=[RowGroup([TableRow([*each]) for each in values.items()])]
    )
    page = page_of(table)
    assert re.findall(r'<path class="(from[a-z ]*)" d="(.*?)"', page.source) == [
        ("from", "M100.0 4H147.0v10H100.0z"),
        ("from hollow", "M100.0 4H53.0v10H100.0z"),
        ("from", "M100.0 4H100.0v10H100.0z"),
    ]
    assert page.source.count('class="zero"') == 3
    assert "<circle" not in page.source
    assert "← less more →" in page.words.replace("\xa0", " ")
    shown = notebook(table)
    assert "M100.0 4H147.0v10H100.0z" in shown.source
    assert "<circle" not in shown.source


def test_parts_are_picked_and_folded_and_a_titled_pick_is_one_chart() -> None:
    parts = [
        Panel("one", [Paragraphs(["first"])], folded=True, open=True),
        Panel("two", [Paragraphs(["second"])], folded=True),
    ]
    page = page_of(PanelPicker(label="Which", parts=parts))
    assert [details.get("data-name") for details in page.all("details")] == ["one", "two"]
    assert ["open" in details for details in page.all("details")] == [True, False]
    assert {"data-pick": "Which"} in page.all("div")
    tables = [Panel(name, [table(scored(name, 0.5))]) for name in ("Ann", "Bo")]
    one = page_of(PanelPicker(title="Both", how="x", anchor="both", label="Of", parts=tables))
    assert [figure["id"] for figure in one.all("figure")] == ["p1-both"]
    assert len(one.all("caption")) == 2
    assert len(one.ids) == len(set(one.ids))
    labels = {div["aria-labelledby"] for div in one.all("div") if div.get("role") == "region"}
    assert labels <= set(one.ids)
    assert "Ann 0.500" in terminal(PanelPicker(label="Of", parts=tables))
    assert page_of(Panel("alone", [], "Click", folded=True)).words == "Click"


def test_a_section_with_a_title_puts_its_charts_one_level_lower() -> None:
    page = page_of(table(scored("Ann", 0.5)), title="Words")
    assert (len(page.all("h4")), len(page.all("h5"))) == (1, 1)


@pytest.mark.parametrize(
    ("room", "other"),
    [("probes", "report"), ("gate", "report"), ("report", "compare"), ("report", "gate"), ("report", "runs")],
)
def test_what_is_shown_and_how_that_looks_do_not_know_each_other(room: str, other: str) -> None:
    for path in (Path(__file__).parents[2] / "src" / "assay" / room).rglob("*.py"):
        assert f"assay.{other}" not in path.read_text(encoding="utf-8"), path
