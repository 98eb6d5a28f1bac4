"""A comparison as sections of blocks: first what differs, then the tables side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from assay.compare.chart import changes_chart
from assay.compare.comparison import DIFFERENCES, Comparison
from assay.compare.differences import Difference, changed, difference_table, is_bias, tested_and_clear
from assay.presentation.elements import (
    Block,
    CellKind,
    DisplayTable,
    DotCell,
    MarkedCell,
    OmittedRows,
    Panel,
    PanelPicker,
    Paragraphs,
    RowGroup,
    Section,
    TableCell,
    TableColumn,
    TableRow,
    TextRole,
    data_table,
)
from assay.presentation.rich_text import ChartMark, NumberText, Strong, Text, Verbatim, join_texts, plain
from assay.probes import known_probe, metric_named, say_group
from assay.results.findings import Table as Data
from assay.results.formatting import format_interval, format_number, format_p_equals, plural
from assay.results.notebook_display import NotebookView, show_by_sections
from assay.results.verdict import VerdictKind

MOST_ROWS = 60  # of a table that a page shows; its data have all
MOST_DRAWN = 600
"""Differences that a page draws (as many rows as any table has there); where there are more, the clear ones are among
them, and the data have all."""
MOST_TOLD = 4  # differences in a sentence
ENDS = 8  # rows of a long table at either end that a terminal shows, for each class and form
MOST_PRINTED = 24
"""Differences that a terminal shows; where there are more, the clear ones are among them."""
MOST_LINES = 40
"""Rows of the other tables that a terminal shows; of longer ones it names the size."""


OF_MODELS = (
    "Differences are computed on the questions that both models answered. A difference that is not clear does not "
    "show that two models are equal, and a smaller bias on these questions does not show that a model is free of bias."
)
OF_LANGUAGES = (
    "A difference between languages says how this model answers, not how people who speak them think. It may come from "
    "the translation, or from how well the model knows a language: compare the accuracies. A difference that is not "
    "clear does not show that two languages are equal."
)
"""What to keep in mind about differences of models, and of languages."""


def title_of(comparison: Comparison) -> Text:
    """What is compared with what."""
    baseline, *others = [Verbatim(name) for name in comparison.models]
    if comparison.model:
        return [Verbatim(comparison.model), " in ", join_texts([baseline, *others], last=" and ")]
    return [join_texts(others, last=" and "), " compared with ", baseline]


def present_comparison(comparison: Comparison) -> list[Section]:
    """The sections of a page: in short, every probe, how it was compared."""
    parts = comparison.parts or (comparison,)
    several = len(comparison.models) > 2
    sections = [_part(part, several, f"p{number}") for number, part in enumerate(parts, 1)]
    together = [
        replace(section, title="The languages side by side", anchor="languages") for section in comparison.sections
    ]
    return [_in_short(parts, several), *together, *sections, _method_section(comparison)]


def language_section(comparison: Comparison, anchor: str) -> Section:
    """One model in several languages, on a page that shows the languages side by side elsewhere."""
    several = len(comparison.models) > 2
    short, section = _in_short([comparison], several), _part(comparison, several, anchor)
    details = Panel("", section.blocks, "All differences between the languages", folded=True)
    return Section([*short.blocks, details], plain(["One model in several languages: ", title_of(comparison)]), anchor)


def about(difference: Difference) -> list[Text]:
    """The metric and the group of a difference, in words."""
    probe, change = difference.probe, difference.change
    return [metric_named(probe, change.metric).title, ", ", Verbatim(say_group(probe, change.group))]


def differences_block(
    differences: Sequence[Difference], *, several: bool, language: str = "", **chart: Any
) -> DisplayTable:
    """Differences by metric, each metric on its own scale; `several` models need a column for their names. `language`
    is the baseline's, where one model's languages are compared.
    """
    kind, heads, worse = "model", ["baseline", "model", "change"], "than the baseline"
    than = "the model’s value is higher than the baseline’s"
    if language:
        kind, worse, than = "language", f"than in {language}", f"the value is higher than in {language}"
        heads = [f"in {language}", "in the language" if several else f"in {differences[0].model}", "change"]
    columns = [
        *(TableColumn(head, CellKind.TEXT) for head in ("asked about", *([kind] if several else []))),
        *(TableColumn(Verbatim(head), CellKind.NUMBER) for head in heads),
        TableColumn("on its scale", CellKind.DOTS, by_group=True),
        TableColumn("95% interval", CellKind.INTERVAL),
        TableColumn("worse by", CellKind.NUMBER),
        *(TableColumn(head, CellKind.PROBABILITY) for head in ("p", "q")),
        TableColumn("n", CellKind.COUNT),
    ]

    def row(difference: Difference) -> TableRow:
        change, worse = difference.change, difference.worse
        cells: list[TableCell] = [say_group(difference.probe, change.group), *([difference.model] if several else [])]
        cells += [difference.before, difference.after, MarkedCell(change.value, note=change.note)]
        dot = DotCell(change.value, change.low, change.high, hollow=not difference.clear)
        cells += [dot, (change.low, change.high)]
        return TableRow([*cells, "" if worse is None else worse.value, change.p, change.q, change.n])

    groups: dict[tuple[str, str], list[TableRow]] = {}
    for difference in differences:
        groups.setdefault((difference.probe, difference.change.metric), []).append(row(difference))
    return DisplayTable(
        how=[
            *("right of zero, ", Verbatim(than), ". The line ", ChartMark("range")),
            *(" is the 95% interval; a filled dot ", ChartMark("dot"), " is statistically clear (q ≤ 0.05, corrected "),
            *("for all tests of the comparison, and 0 outside the interval), a hollow one ", ChartMark("hollow")),
            f" is not. “Worse by” above 0 means that the model is worse {worse}.",
        ],
        data=difference_table(differences),
        columns=columns,
        groups=[RowGroup(rows, metric_named(*metric).title) for metric, rows in groups.items()],
        **chart,
    )


# --- a page


def _in_short(parts: Sequence[Comparison], several: bool) -> Section:
    blocks: list[Block] = []
    for part in parts:
        blocks += _warnings(part)
        sentence, clear = _count_sentence(part)
        blocks.append(Paragraphs([Strong([Verbatim(known_probe(part.probe).title), ". ", sentence])]))
        chart = changes_chart(part.differences, several=several, language=part.models[0] if part.model else "")
        blocks += [chart] if chart else []
        if clear:
            sentences = [_sentence(part, difference, several) for difference in _told_differences(part, clear)]
            blocks += [Paragraphs(["The largest first:"]), Paragraphs(sentences, TextRole.ITEMS)]
        if part.remarks:
            blocks.append(Paragraphs(_remarks(part, {name: name for name in part.models}, several)))
    caution = OF_LANGUAGES if any(part.model for part in parts) else OF_MODELS
    return Section([*blocks, Paragraphs([caution])], "In short", "short")


def _warnings(part: Comparison) -> list[Block]:
    """Which models' answers cannot be used, and why; their numbers say little about bias."""
    warnings: list[Text] = [["Warning: ", Verbatim(note), "."] for note in part.notes if VerdictKind.UNUSABLE in note]
    return [Paragraphs(warnings, TextRole.WARNING)] if warnings else []


def _notes(part: Comparison) -> list[str]:
    return [f"Note: {note}" for note in part.notes if VerdictKind.UNUSABLE not in note]


def _count_sentence(part: Comparison) -> tuple[str, list[Difference]]:
    """How many differences are better, worse and unclear, in a sentence; and the clear ones: those of bias first, the
    largest first.
    """
    tested, clear = tested_and_clear(changed(part.differences))
    if not tested:
        is_tested = any(difference.change.p is not None for difference in part.differences)
        return "No number differs." if is_tested else "No difference could be tested.", []
    if not clear:
        none = f"None of the {tested} differences is" if tested > 1 else "The one difference is not"
        return f"{none} statistically clear.", []
    clear.sort(key=lambda difference: not is_bias(difference))
    if part.model:
        are = "is" if len(clear) == 1 else "are"
        return f"{len(clear)} of {plural(tested, 'difference')} between languages {are} statistically clear.", clear
    directions = [difference.worse.value or 0.0 if difference.worse else 0.0 for difference in clear]
    better, worse = sum(value < 0 for value in directions), sum(value > 0 for value in directions)
    neither = len(clear) - better - worse
    counts = [f"{better} better", f"{worse} worse", *([f"{neither} neither better nor worse"] if neither else [])]
    return f"Of {plural(tested, 'difference')}: {', '.join(counts)}, {tested - len(clear)} unclear.", clear


def _remarks(part: Comparison, names: Mapping[str, str], several: bool) -> list[Text]:
    """What belongs beside the differences, with the model's name where there are several."""
    lines: list[Text] = []
    for model, remarks in part.remarks.items():
        prefix: list[Text] = [Verbatim(names[model]), ": "] if several else []
        lines += [[*prefix, remark] for remark in remarks]
    return lines


def _told_differences(part: Comparison, clear: Sequence[Difference]) -> Sequence[Difference]:
    """The clear differences that are told in words: of languages, those for which the probe has words."""
    if part.model:
        worded = [difference for difference in clear if metric_named(difference.probe, difference.change.metric).more]
        clear = worded or clear
    return clear[:MOST_TOLD]


def _sentence(part: Comparison, difference: Difference, several: bool) -> Text:
    change, worse = difference.change, difference.worse.value if difference.worse else None
    between = "no interval" if change.low is None else f"95% interval {format_interval(change.low, change.high)}"
    named = metric_named(difference.probe, change.metric)
    does = named.more if (change.value or 0.0) > 0 else named.less
    if part.model and does:
        places: list[Text] = [" in ", Verbatim(difference.model), " than in ", Verbatim(difference.baseline), " "]
        size = NumberText(f"(difference {format_number(change.value)}, {between})")
        return [f"The model {does}", *places, size, ": ", Verbatim(say_group(difference.probe, change.group))]
    chance = f"p {format_p_equals(change.p)}" if change.q is None else f"q {format_p_equals(change.q)}"
    moved = "rose" if (change.value or 0.0) > 0 else "fell"
    before, after, by = map(format_number, (difference.before, difference.after, change.value))
    numbers = f"from {before} to {after} (change {by}, {between}, {chance})"
    of_model: list[Text] = [Verbatim(difference.model), ": "] if several else []
    metric, _, group = about(difference)
    judged = f": {'worse' if worse > 0 else 'better'} than the baseline" if worse else ""
    return [*of_model, metric, " (", group, f") {moved} ", NumberText(numbers), judged]


def _part(part: Comparison, several: bool, anchor: str) -> Section:
    """A probe: how many items are common, the differences, the tables."""
    lines = [f"{name}, {counts}." if several else f"{counts}." for name, counts in _counts(part)]
    lines += _notes(part)
    blocks: list[Block] = [Paragraphs([Verbatim(line) for line in lines], TextRole.SMALL)]
    if part.differences:
        title = "Differences between the languages" if part.model else "Differences on the same questions"
        chart = {"title": title, "file": f"{part.probe}-differences"}
        distinct = changed(part.differences)
        after = _left_out_note(part, len(distinct), "the data of this table have")
        language = part.models[0] if part.model else ""
        listed = distinct or part.differences
        shown = _clearest(listed, MOST_DRAWN)
        if len(shown) < len(listed):
            clear = sum(difference.clear for difference in listed) - sum(difference.clear for difference in shown)
            unclear = f", {clear:,} of them clear" if clear else ", none of them clear"
            not_shown = plural(len(listed) - len(shown), "more difference")
            after = [f"{not_shown} in the data of this table{unclear}.", *after]
        table = differences_block(shown, several=several, language=language, anchor="differences", **chart)
        blocks.append(replace(table, data=difference_table(part.differences), after=after if distinct else ()))
    else:
        blocks.append(Paragraphs(["There are no paired differences."]))
    for name, data in _tables(part):
        title = part.titles.get(name, name)
        file = f"{part.probe}-{name}"
        side_by_side = data_table(data, _readable_codes(part, data), title=title, data=data, file=file, anchor="table")
        more = len(data.rows) - MOST_ROWS
        gap = [OmittedRows(f"{plural(more, 'more row')} in the data")] if more > 0 else []
        cut = replace(side_by_side, groups=[RowGroup([*side_by_side.rows[:MOST_ROWS], *gap])])
        blocks.append(Panel("", [cut], f"{title}: {plural(len(data.rows), 'row')}", folded=True))
    return Section(blocks, known_probe(part.probe).title, anchor)


def _clearest(differences: Sequence[Difference], most: int) -> list[Difference]:
    """At most so many of the differences, in their order: the clear ones first, then the others that are defined."""

    def tier(i: int) -> tuple[bool, bool]:
        return not differences[i].clear, differences[i].change.value is None

    return [differences[i] for i in sorted(sorted(range(len(differences)), key=tier)[:most])]


def _counts(part: Comparison) -> list[tuple[str, str]]:
    """By model, how many items the two runs have in common."""
    counted = []
    for name, model_counts in part.counts.items():
        for counts in model_counts:
            same = counts.common == counts.baseline == counts.model
            counted.append((name, f"{counts.what}: the same {counts.common:,}" if same else str(counts)))
    return counted


def _left_out_note(part: Comparison, n_shown: int, elsewhere: str) -> list[Text]:
    """How many differences are not shown, and where they are; nothing where all are."""
    n_left_out = len(part.differences) - n_shown
    if not n_left_out:
        return []
    rows = plural(n_left_out, "row")
    return [f"{rows} left out (no change, undefined, or the values of another row): {elsewhere} all."]


def _readable_codes(part: Comparison, data: Data) -> dict[str, str]:
    """The codes of a table's cells in words, and other heads for its columns where they are about languages."""
    keys = {key for metric in known_probe(part.probe).metrics for key in metric.keys}
    spelt: dict[str, str] = {}
    if part.model:
        spelt |= {"model": "language", "before": f"in {part.models[0]}", "after": "in the language"}
    for index, column in enumerate(data.columns):
        cells = dict.fromkeys(row[index] for row in data.rows if isinstance(row[index], str))
        if column == "metric":
            spelt |= {str(cell): metric_named(part.probe, str(cell)).title for cell in cells}
        elif column in keys:
            spelt |= {str(cell): say_group(part.probe, {column: str(cell)}) for cell in cells}
    return spelt


def _tables(part: Comparison) -> list[tuple[str, Any]]:
    """The tables besides the differences, which have a form of their own."""
    return [(name, data) for name, data in part.tables.items() if name != DIFFERENCES]


def _method_section(comparison: Comparison) -> Section:
    method = (
        "Intervals resample the same units for both models. A p-value is how often a difference at least this large "
        "would occur if the two models’ answers were interchangeable; q corrects it for all groups and models of one "
        "metric."
    )
    if comparison.model:
        method = (
            "Languages of one set have the same templates: intervals resample these, the same for both languages. A "
            "p-value is how often a difference at least this large would occur if the answers in the two languages "
            "were interchangeable; q corrects it for all groups and languages of one metric. Sets that ask different "
            "questions are resampled separately, and p is that of Student’s t test."
        )
    models: list[Text] = [
        ["baseline: " if i == 0 else "" if comparison.model else "model: ", Verbatim(name), ", ", Verbatim(run)]
        for i, (name, run) in enumerate(zip(comparison.models, comparison.runs, strict=True))
    ]
    notes: list[Text] = [["Note: ", Verbatim(note)] for note in comparison.notes] if comparison.parts else []
    return Section(
        [Paragraphs([method]), Paragraphs(models, TextRole.ITEMS), Paragraphs(notes)], "How it was compared", "measured"
    )


# --- a terminal, in which models go by numbers


def terminal_comparison(comparison: Comparison) -> list[Section]:
    """The differences, then the tables; long ones are cut or left to the page."""
    numbers = {name: f"[{number}]" for number, name in enumerate(comparison.models, 1)}
    models = Section([Paragraphs([f"{number} {name}" for name, number in numbers.items()])])
    if comparison.model:
        numbers = {name: name for name in comparison.models}
        models = Section([Paragraphs([Strong(title_of(comparison))])])
    parts = [_terminal_part(part, numbers, bool(comparison.parts)) for part in comparison.parts or (comparison,)]
    notes = [f"Note: {note}" for note in comparison.notes] if comparison.parts else []
    return [models, *parts, *([Section([Paragraphs(notes, TextRole.SMALL)])] if notes else [])]


def _terminal_part(part: Comparison, numbers: Mapping[str, str], named: bool) -> Section:
    several = len(part.models) > 2
    counted, clear = _count_sentence(part)
    largest: list[Text] = []
    if clear:
        of_bias = " in bias" if is_bias(clear[0]) else ""
        largest = [[f"The largest change{of_bias}: ", _sentence(part, clear[0], several), "."]]
        if part.model:
            largest = [_sentence(part, difference, several) for difference in _told_differences(part, clear)]
    blocks = [*_warnings(part), *([Paragraphs([counted, *largest])] if part.differences else [])]
    lines = [f"{numbers[name]} {counts}" if several else counts for name, counts in _counts(part)]
    lines += _notes(part)
    blocks += [Paragraphs(lines, TextRole.SMALL)] if lines else []
    blocks += [block for section in part.sections for block in section.blocks if not isinstance(block, PanelPicker)]
    blocks += _terminal_differences(part, numbers)
    if part.remarks:
        blocks.append(Paragraphs(_remarks(part, numbers, several)))
    unshown = []
    for name, data in _tables(part):
        title = part.titles.get(name, name)
        table = data_table(data, {**_readable_codes(part, data), **numbers}, title=title)
        groups = groupby(zip(data.rows, table.rows, strict=True), key=lambda pair: pair[0][:2])
        rows = [row for _, group in groups for row in _ends([row for _, row in group])]
        if len(rows) <= MOST_LINES:
            blocks.append(replace(table, groups=[RowGroup(rows)]))
        else:
            unshown.append(f"{title}: {plural(len(data.rows), 'row')}; --out FILE.html shows them.")
    blocks += [Paragraphs(unshown, TextRole.SMALL)] if unshown else []
    if not part.tables:
        blocks.append(
            Paragraphs(["No estimate is defined in both runs. Run a larger sample, for example --preset standard."])
        )
    return Section(blocks, part.probe if named else "")


def _ends(rows: Sequence[TableRow]) -> list[TableRow | OmittedRows]:
    """The first and last of many rows, as the papers' figures have them."""
    return list(rows) if len(rows) <= 2 * ENDS else [*rows[:ENDS], OmittedRows("…"), *rows[-ENDS:]]


def _terminal_differences(part: Comparison, numbers: Mapping[str, str]) -> list[Block]:
    differences = changed(part.differences)
    if not differences:
        return []
    printed = _clearest(differences, MOST_PRINTED)
    several = len({difference.model for difference in differences}) > 1
    kind = "language" if part.model else "model"
    columns = [
        *([TableColumn(kind, CellKind.TEXT)] if several else []),
        *(TableColumn("metric", CellKind.TEXT), TableColumn("asked about", CellKind.TEXT)),
        TableColumn(numbers[differences[0].baseline], CellKind.NUMBER),
        TableColumn(kind if several else numbers[differences[0].model], CellKind.NUMBER),
        TableColumn("change", CellKind.NUMBER),
        TableColumn("95% interval", CellKind.INTERVAL),
        TableColumn("q", CellKind.PROBABILITY),
    ]

    def row(difference: Difference) -> TableRow:
        change, (metric, _, group) = difference.change, about(difference)
        cells: list[TableCell] = [*([numbers[difference.model]] if several else []), metric, group]
        cells += [difference.before, difference.after]
        cells += [MarkedCell(change.value, clear=difference.clear or None), (change.low, change.high)]
        return TableRow([*cells, change.q if change.q is not None else change.p])

    title = "Differences between the languages" if part.model else "Differences on the items that both answered"
    below: list[Text] = []
    if any(difference.clear for difference in printed):
        below.append(
            "* statistically clear: q (p where there is no q) is at most 0.05, corrected for all tests of the "
            "comparison, and 0 is outside the interval."
        )
    if len(printed) < len(differences):
        below.append(f"{plural(len(differences) - len(printed), 'more difference')}, not clear: --json has all.")
    else:
        below += _left_out_note(part, len(printed), "--json has")
    return [
        DisplayTable(title=title, columns=columns, groups=[RowGroup([*map(row, printed)])]),
        Paragraphs(below, TextRole.SMALL),
    ]


# --- a notebook


def in_notebooks(comparison: Comparison) -> list[NotebookView]:
    """For every probe, the differences from the baseline by metric with their intervals, then the other tables."""
    if comparison.parts:
        return [view for part in comparison.parts for view in in_notebooks(part)]
    first, *others = comparison.models
    amount = plural(len(comparison.differences), "paired difference")
    section = replace(_part(comparison, len(others) > 1, ""), title="")
    title = f"assay comparison {comparison.probe}".strip()
    return [NotebookView(title, [f"{', '.join(others)} minus {first}", amount], [section])]


show_by_sections(Comparison, in_notebooks)
