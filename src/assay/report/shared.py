"""What all views share: the cells of tables, numbered notes, estimates, and how a run was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from assay.models.base import ModelSpec
from assay.presentation.elements import (
    Block,
    CellKind,
    DisplayTable,
    MarkedCell,
    OmittedRows,
    Panel,
    PanelPicker,
    Paragraphs,
    Presentation,
    RowGroup,
    Section,
    TableCell,
    TableColumn,
    TableRow,
)
from assay.presentation.rich_text import plain
from assay.probes import probes
from assay.results.findings import Estimate
from assay.results.formatting import (
    at_endpoint,
    format_count,
    format_fixed,
    format_fixed_interval,
    format_interval,
    format_number,
    format_p,
    format_share,
    plural,
)
from assay.results.run import Run, RunInfo
from assay.results.run import RunKind as RunKind

MOST_SERVED = 10
"""The most models that answered at an endpoint that are shown; all are in run.json."""

# --- cells

_WRITTEN: Mapping[CellKind, Callable[[Any], str]] = {
    CellKind.NUMBER: format_number,
    CellKind.FIXED: format_fixed,
    CellKind.TENTHS: lambda value: "–" if value is None else f"{value:.1f}",
    CellKind.SHARE: format_share,
    CellKind.PROBABILITY: format_p,
    CellKind.COUNT: lambda value: "–" if value is None else format_count(round(value)),
    CellKind.INTERVAL: lambda ends: format_interval(*ends),
    CellKind.FIXED_INTERVAL: lambda ends: format_fixed_interval(*ends),
}


def unmarked(cell: TableCell) -> Any:
    return cell.value if isinstance(cell, MarkedCell) else cell


def format_cell(column: TableColumn, cell: TableCell) -> str:
    """A cell that is not drawn as plain text.

    >>> format_cell(TableColumn("", CellKind.NUMBER), -0.5)
    '-0.500'
    >>> format_cell(TableColumn("", CellKind.INTERVAL), MarkedCell((0.1, 0.2), clear=True))
    '0.100 to 0.200'
    >>> format_cell(TableColumn("", CellKind.SHARE), None), format_cell(TableColumn("", CellKind.SHARE), "all")
    ('–', 'all')
    """
    value = unmarked(cell)
    if column.kind is CellKind.TEXT or isinstance(value, str):
        return "" if value is None else plain(value)
    return _WRITTEN[column.kind](value)


def named(table: DisplayTable, group: RowGroup, row: TableRow) -> str:
    """What a row is about: its texts, after the head of its group where that is beside it."""
    texts = [group.head] if table.heads_beside else []
    texts += [
        unmarked(cell) for column, cell in zip(table.columns, row.cells, strict=True) if column.kind is CellKind.TEXT
    ]
    return ", ".join(words for text in texts if text and (words := plain(text)))


# --- views that cannot draw


def readable(blocks: Iterable[Block]) -> Iterator[Paragraphs | DisplayTable]:
    """Paragraphs and tables, also those in parts to pick from; pictures are left to the page."""
    for block in blocks:
        match block:
            case Paragraphs() | DisplayTable():
                yield block
            case PanelPicker():
                yield from readable(block.parts)
            case Panel():
                yield from readable(block.blocks)


def notes_of(sections: Iterable[Section], estimates: Iterable[Estimate] = ()) -> Mapping[str, int]:
    """Each different note of the estimates and of marked cells once, numbered from 1 in order of appearance.

    >>> notes_of([], [Estimate("m", {}, None, note=note) for note in ("b", "a", "b")])
    {'b': 1, 'a': 2}
    """
    tables = [each for section in sections for each in readable(section.blocks) if isinstance(each, DisplayTable)]
    cells = [cell for table in tables for row in table.rows for cell in row.cells]
    notes = [*(e.note for e in estimates), *(cell.note for cell in cells if isinstance(cell, MarkedCell))]
    return {note: place for place, note in enumerate(dict.fromkeys(filter(None, notes)), start=1)}


Heads = list[tuple[str, str]]  # the head over a head, or nothing, and the head
Line = tuple[list[str], RowGroup, TableRow | OmittedRows, bool]
"""Cells, what they show, and whether they begin their group."""


def printed(
    table: DisplayTable, notes: Mapping[str, int], quoted: Callable[[str], str], clear: str, unclear: str
) -> tuple[Heads, Heads, list[Line]]:
    """A table for views that cannot draw: the heads of its words, those of its figures, and its lines, words first.

    `quoted` makes of a text what a view shows; `clear` and `unclear` mark what is statistically clear, and what is not.
    """
    order = [index for index, column in enumerate(table.columns) if not column.kind.drawn]
    order.sort(key=lambda index: table.columns[index].kind is not CellKind.TEXT)
    columns = [table.columns[index] for index in order]
    grouped = any(group.head for group in table.groups)
    words: Heads = [("", table.group)] if grouped else []
    words += [(column.over, plain(column.head)) for column in columns if column.kind is CellKind.TEXT]
    figures = [(column.over, plain(column.head)) for column in columns if column.kind is not CellKind.TEXT]

    def marked(column: TableColumn, cell: TableCell) -> str:
        text_shown = quoted(format_cell(column, cell))
        if not isinstance(cell, MarkedCell):
            return text_shown
        text_shown = f"{unclear if cell.clear is False else ''}{text_shown}{clear if cell.clear else ''}"
        return f"{text_shown} [{notes[cell.note]}]" if cell.note else text_shown

    lines: list[Line] = []
    for group in table.groups:
        for index, row in enumerate(group.rows):
            if isinstance(row, OmittedRows):
                cells = [quoted(plain(row.said)), *[""] * (len(words) + len(figures) - 1)]
            else:
                cells = [quoted(plain(group.head)) if index == 0 else ""] if grouped else []
                cells += [marked(column, row.cells[index]) for column, index in zip(columns, order, strict=True)]
            lines.append((cells, group, row, index == 0))
    return words, figures, lines


# --- estimates

CORRECTED = (
    "Noise makes maxima and means of absolute values too large. Next to such a value is the number corrected for that, "
    "to which the interval belongs."
)


def lacks_interval(estimate: Estimate) -> bool:
    """Whether there is a value but no interval, which is then what a note explains."""
    return estimate.value is not None and estimate.low is None


def on_intervals(estimates: Iterable[Estimate]) -> str:
    """What to know about the intervals of these estimates; empty if nothing."""
    return CORRECTED if any(estimate.corrected is not None for estimate in estimates) else ""


# --- how a run was made


def in_order(runs: Iterable[Run]) -> list[Run]:
    """Runs in the order of the list of probes; those of one probe stay in theirs."""
    places = {name: place for place, name in enumerate(probes())}
    return sorted(runs, key=lambda run: (places.get(run.probe, len(places)), run.probe))


def questions_label(run: Run) -> str:
    """How many questions were asked; empty where that is not recorded."""
    if run.questions is None:
        return ""
    return f"{'at most ' if run.at_most else ''}{plural(run.questions, 'question')}"


def languages(presentations: Iterable[Presentation]) -> str:
    """The languages of the questions.

    >>> languages([])
    'US English'
    """
    return " and ".join(dict.fromkeys(each.language for each in presentations)) or Presentation.language


def facts(run: Run, *keys: str) -> list[tuple[str, str]]:
    """What run.json says under these keys, where it says something; a limit takes the place of a preset."""
    values = {key: getattr(run.info, key) for key in keys if key != "preset" or run.info.limit is None}
    return [(key, text(value)) for key, value in values.items() if value not in (None, "")]


def headings(models: Sequence[str]) -> tuple[list[str], list[str]]:
    """The models' names for a heading, and the addresses of endpoints for the line below it.

    >>> headings(["api:llm@http://one/v1"]), headings(["api:llm@http://one/v1", "builtin"])
    ((['llm'], ['http://one/v1']), (['llm', 'builtin'], ['llm: http://one/v1']))
    """
    parts = [at_endpoint(model) or (model, "") for model in models]
    names = [name for name, _ in parts]
    if len({*names}) < len(names):  # one name at two addresses
        return [*models], []
    single = len(parts) == 1
    return names, [address if single else f"{name}: {address}" for name, address in parts if address]


def who_answered(run: Run) -> list[list[tuple[str, str]]]:
    """What is recorded about the models that answered at an endpoint, the most frequent first."""
    served = run.info.endpoint.served if run.info.endpoint else ()
    facts_by_model = (
        {**vars(model), "model": model.model or "not named in the replies", "answers": format_count(model.n)}
        for model in served[:MOST_SERVED]
    )
    names = ("model", "fingerprint", "server", "answers", "first", "last")
    return [[(name, facts[name]) for name in names if facts[name]] for facts in facts_by_model]


def recorded_facts(info: RunInfo) -> dict[str, Any]:
    """The keys of run.json that have a value."""
    model = _known_model(info.model)
    if info.kind is RunKind.PREDICTIONS:
        model["kind"] = str(info.kind)
    others = {name: _known_model(other) for name, other in info.others.items()}
    facts_by_key = {**asdict(info), "model": model, "others": others}
    return {key: value for key, value in facts_by_key.items() if value not in (None, "", {}, (), [])}


def _known_model(spec: ModelSpec) -> dict[str, Any]:
    """The known facts about a model; of one that was not found, only what was recorded."""
    unknown = ModelSpec("").as_json()
    return {
        key: value
        for key, value in spec.as_json().items()
        if value not in (None, "", []) and (spec.kind or value != unknown[key])
    }


def text(value: object) -> str:
    """A JSON value as a person would write it; text stays as it is.

    >>> text("a"), text(True), text(0.5), text(None), text(["a", 2])
    ('a', 'yes', '0.5', 'none', 'a, 2')
    """
    match value:
        case str():
            return value
        case bool():
            return "yes" if value else "no"
        case None:
            return "none"
        case list() | tuple():
            return ", ".join(text(item) for item in value)
        case dict():
            return "; ".join(f"{name}: {said}" for name, said in flat(value))
    return str(value)


def flat(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """A JSON object as (name, text), the names of inner objects joined by dots.

    >>> list(flat({"a": {"b": 1}, "c": "x"}))
    [('a.b', '1'), ('c', 'x')]
    """
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from flat(inner, f"{name}.{key}" if name else str(key))
    elif value not in ({}, []) or name:
        yield name, text(value)
