"""The page's tables and maps from a run's long tables: groups, crossed groups, phrasings of UNKNOWN, templates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from assay.presentation import elements
from assay.presentation.elements import (
    Block,
    CellKind,
    Chart,
    DisplayTable,
    DotCell,
    Panel,
    PanelPicker,
    RowGroup,
    TableColumn,
    TableRow,
)
from assay.presentation.rich_text import Text, Verbatim
from assay.probes.bbq import category_words, comparison_words, context_words, label_words
from assay.probes.bbq.estimate_grid import EstimateGrid, behind, fill_slots, is_clear, marked
from assay.probes.bbq.present_charts import heat_map
from assay.results.findings import Cell, Estimate, is_claimed, table_path
from assay.results.findings import Table as Data
from assay.results.formatting import cell, format_count, plural
from assay.results.run import Row, Run
from assay.results.verdict import ALLOWED, CLEAR

MIN_EXAMPLES = 5  # a score over fewer says little
MOST_LABELS = 5  # of each category
MOST_STEREOTYPES = 10
MOST_TARGETS = 20  # of each crossed category
MOST_STRINGS = 12
MOST_TEMPLATES = 10

_STEREOTYPES = Chart(
    title="Groups and stereotypes",
    how="each square is the bias score of a group of people with one stereotype (as in BBQ’s Figure 4). Orange: the "
    "model agrees with the stereotype about these people; blue: it contradicts it; pale: not clear. Click a square to "
    "see examples.",
    file="bbq-stereotypes",
    anchor="stereotypes",
)
_CROSSED = Chart(
    title="Crossed groups",
    how="each square is the bias score of a group that stereotypes are about, by how the other person differs from it "
    "(as in BBQ’s Figures 9 and 10). Orange: the model agrees with stereotypes about the group; blue: it contradicts "
    "them; pale: not clear. Click a square to see examples.",
    file="bbq-crossed",
    anchor="crossed",
)


def read_scores(run: Run, table: str, subject: str, detail: str, contexts: Sequence[str]) -> list[Estimate]:
    """The bias scores of groups in a table of the run, each with a stereotype or a comparison, ordered by context."""
    scores = []
    for row in run.rows(table):
        value, low, high, q, n = (run.number(table, row, column) for column in ("bias_score", "low", "high", "q", "n"))
        if value is not None and n and cell(row, "context") in contexts:
            group = {key: cell(row, key) for key in ("category", "context", subject, detail)}
            scores.append(Estimate("bias_score", group, value, low, high, n=int(n), q=q, claimed=is_claimed(row)))
    return sorted(scores, key=lambda e: contexts.index(e.group["context"]))


def _order(score: Estimate) -> tuple[bool, bool, float, str, str, str]:
    """Sort key: clear ones first, then those with an interval, then by size; small groups vary widely by chance."""
    category, _, subject, detail = score.group.values()
    return not is_clear(score), score.low is None, -abs(score.value or 0.0), category, subject, detail


def _data(scores: Iterable[Estimate], *keys: str) -> Data:
    keys = ("category", "context", *keys)
    rows = [[*(e.group[key] for key in keys), e.value, e.low, e.high, e.q, e.n] for e in scores]
    return Data((*keys, "bias_score", "low", "high", "q", "n"), rows)


def _omitted(count: int, noun: str, table: str) -> list[elements.OmittedRows]:
    rows = plural(count, noun) if noun else f"{format_count(count)} more"
    return [elements.OmittedRows(f"{rows}: {table_path(table)}")] if count > 0 else []


# --- groups


def labels(run: Run, contexts: Sequence[str], without: Collection[str]) -> list[Block]:
    """Bias scores by group: all stereotypes of a group together, and single ones.

    `without` are categories that are shown elsewhere. Tables show the first context, where bias is strongest.
    """
    scores = read_scores(run, "by_label", "label", "stereotype", contexts)
    in_first = [e for e in scores if e.n >= MIN_EXAMPLES and e.group["context"] == contexts[0]]
    together = [e for e in in_first if not e.group["stereotype"] and e.group["category"] not in without]
    by_category = {
        category: sorted((e for e in together if e.group["category"] == category), key=_order)
        for category in dict.fromkeys(e.group["category"] for e in together)
    }
    single = sorted((e for e in in_first if e.group["stereotype"]), key=_order)
    shown = [e for of_category in by_category.values() for e in of_category[:MOST_LABELS]] + single[:MOST_STEREOTYPES]
    figures = [
        TableColumn("bias score", CellKind.NUMBER),
        TableColumn("bias score", CellKind.DOTS, reach=[x for e in shown for x in (e.value, e.low, e.high)]),
        TableColumn(run.level, CellKind.INTERVAL),
        TableColumn("q", CellKind.PROBABILITY),
        TableColumn("n", CellKind.COUNT),
    ]
    context = Verbatim(context_words(contexts[0] if contexts else ""))
    return [
        *([_by_label(by_category, figures, context)] if together else []),
        *_maps(_STEREOTYPES, [e for e in scores if e.group["stereotype"]], "stereotype", "stereotype", "label"),
        *([_single(single, figures, context)] if single else []),
    ]


def _row(score: Estimate, *about: elements.TableCell) -> TableRow:
    dot = DotCell(score.value, score.low, score.high, hollow=not is_clear(score))
    return TableRow([*about, score.value, dot, (score.low, score.high), score.q, score.n], behind(score))


def _by_label(
    by_category: Mapping[str, Sequence[Estimate]], figures: Sequence[TableColumn], context: Verbatim
) -> DisplayTable:
    groups = [
        RowGroup(
            [
                *(_row(e, label_words(e.group["label"])) for e in scores[:MOST_LABELS]),
                *_omitted(len(scores) - MOST_LABELS, "more group", "by_label"),
            ],
            category_words(category),
        )
        for category, scores in by_category.items()
    ]
    return DisplayTable(
        title="Who the stereotypes are about",
        how=fill_slots(
            "the bias score in {main} questions, by the group that the stereotype is about. Right of zero, the model "
            "agrees with stereotypes about these people. A filled dot {dot} is statistically clear "
            f"(q at most {CLEAR}, {ALLOWED}).",
            main=context,
        ),
        data=_data((e for scores in by_category.values() for e in scores[:MOST_LABELS]), "label"),
        file="bbq-labels",
        anchor="labels",
        after=[
            "The clearest of each category come first. Intervals and q need at least 5 templates. q is corrected for "
            "all groups and stereotypes of all categories and kinds of questions; intervals are not."
        ],
        columns=[TableColumn("group", CellKind.TEXT), *figures],
        groups=groups,
    )


def _single(single: Sequence[Estimate], figures: Sequence[TableColumn], context: Verbatim) -> DisplayTable:
    rows = []
    for score in single[:MOST_STEREOTYPES]:
        label, category = Verbatim(label_words(score.group["label"])), Verbatim(category_words(score.group["category"]))
        rows.append(_row(score, [label, " (", category, ")"], score.group["stereotype"]))
    return DisplayTable(
        title="Single stereotypes",
        how=fill_slots(
            "the largest bias scores of a group with one stereotype in {main} questions. Most are based on one or two "
            "templates, too few for an interval. They show where to look; they are not findings.",
            main=context,
        ),
        data=_data(single[:MOST_STEREOTYPES], "label", "stereotype"),
        file="bbq-stereotypes",
        anchor="single",
        columns=[TableColumn("group", CellKind.TEXT), TableColumn("stereotype", CellKind.TEXT), *figures],
        groups=[RowGroup([*rows, *_omitted(len(single) - MOST_STEREOTYPES, "", "by_label")])],
    )


# --- crossed groups


def crossed(scores: Sequence[Estimate]) -> list[Block]:
    """Maps and tables of crossed groups by how the other person differs from them."""
    contexts = [e.group["context"] for e in scores]
    in_words = []
    for score in sorted(scores, key=lambda e: (contexts.index(e.group["context"]), e.group["comparison"])):
        words = comparison_words(score.group["category"], score.group["comparison"])
        in_words.append(replace(score, group={**score.group, "comparison": words}))
    return [
        *_maps(_CROSSED, in_words, "group", "target", "comparison", in_order=True),
        *(
            _in_numbers(number, category, [e for e in scores if e.group["category"] == category])
            for number, category in enumerate(dict.fromkeys(e.group["category"] for e in scores), 1)
        ),
    ]


def _in_numbers(number: int, category: str, scores: Sequence[Estimate]) -> Panel:
    """A crossed category; at most MOST_TARGETS groups, those with the most examples."""
    by_key = {(e.group["target"], e.group["comparison"], e.group["context"]): e for e in scores}
    letters, contexts = sorted({letter for _, letter, _ in by_key}), dict.fromkeys(context for *_, context in by_key)
    heads = list(product(letters, contexts))
    sizes: Counter[str] = Counter()
    for (target, _, _), score in by_key.items():
        sizes[target] += score.n
    targets = sorted(sorted(sizes, key=lambda target: (-sizes[target], target))[:MOST_TARGETS])
    rows = [
        TableRow(
            [label_words(target), *(marked(by_key.get((target, *head))) for head in heads)],
            {"category": category, "target": target},
        )
        for target in targets
    ]
    title = f"Crossed groups in numbers: {category_words(category)}"
    table = DisplayTable(
        title=title,
        how="bias scores by the group that the stereotype is about; bold if statistically clear "
        f"(q at most {CLEAR}, {ALLOWED}).",
        data=_data((e for t in targets for (target, *_), e in by_key.items() if target == t), "target", "comparison"),
        file="bbq-crossed",
        anchor=f"targets-{number}",
        columns=[
            TableColumn("group", CellKind.TEXT),
            *(
                TableColumn(Verbatim(context_words(context)), CellKind.NUMBER, over=comparison_words(category, letter))
                for letter, context in heads
            ),
        ],
        groups=[RowGroup([*rows, *_omitted(len(sizes) - len(targets), "", "intersectional")])],
    )
    return Panel("", [table], Verbatim(title), folded=True)


# --- maps


_HEADS = {"label": "group", "target": "group"}


def _in_words(key: str, score: Estimate) -> str:
    return label_words(score.group[key]) if key in _HEADS else score.group[key]


def _maps(
    chart: Chart, scores: Sequence[Estimate], row: str, row_key: str, column: str, *, in_order: bool = False
) -> list[PanelPicker]:
    """A map for each category and context, all on one colour scale."""
    parts: list[Panel] = []
    categories, contexts = (dict.fromkeys(e.group[key] for e in scores) for key in ("category", "context"))
    for category, context in product(categories, contexts):
        about = {"category": category, "context": context}
        cells = {(_in_words(row_key, e), _in_words(column, e)): e for e in scores if about.items() <= e.group.items()}
        if not cells:
            continue
        heat = heat_map(
            chart,
            cells,
            len(parts) + 1,
            title=f"{chart.title}: {category_words(category)}, {context_words(context)}",
            name=f"{category_words(category)}, {context_words(context)}",
            row=row,
            column=_HEADS.get(column, column),
            value="bias score",
            columns=[e.group[column] for e in scores] if in_order else None,
            reach=[e.value for e in scores],
            examples=about,
            row_key=row_key,
            column_key=column,
        )
        parts.append(Panel(heat.name, [heat], folded=True, open=not parts))
    return [PanelPicker(label=f"{chart.title} of", parts=parts)] if parts else []


# --- prompts, and phrasings of “cannot be determined”, by context

Numbers = Sequence[float | None]


def _by_context(
    run: Run, table: str, key: str, columns: Sequence[str], rows: Iterable[Row]
) -> dict[str, dict[str, Numbers]]:
    """The numbers in some columns of a table of the run, by what its key names, and by context."""
    numbers: dict[str, dict[str, Numbers]] = {}
    for row in rows:
        by_context = numbers.setdefault(cell(row, key), {})
        by_context[cell(row, "context")] = [run.number(table, row, column) for column in columns]
    return numbers


def prompts(run: Run, grid: EstimateGrid) -> list[DisplayTable]:
    """The accuracy and bias score of each prompt, for all categories together (or the only one)."""
    table, columns = "by_prompt", ("accuracy", "bias_score", "low", "high")
    rows = [row for row in run.rows(table) if cell(row, "category") == grid.whole(cell(row, "context"))]
    by_prompt = _by_context(run, table, "prompt", columns, rows)
    heads = (("accuracy", CellKind.NUMBER), ("bias score", CellKind.NUMBER), (run.level, CellKind.INTERVAL))

    def cells(name: str) -> Iterator[elements.TableCell]:
        yield name
        for right, bias, low, high in (by_prompt[name][context] for context in grid.contexts):
            yield from ("" if right is None else right, "" if bias is None else bias, (low, high))

    table_shown = DisplayTable(
        title="Prompts",
        how="accuracy and bias score of each prompt, for the same questions. The headline numbers have the spread over "
        "prompts, and how large it would be by chance.",
        data=Data(
            ("prompt", "context", *columns),
            [
                [name, context, *numbers]
                for name, by_context in by_prompt.items()
                for context, numbers in by_context.items()
            ],
        ),
        file="bbq-prompts",
        anchor="prompts",
        columns=[TableColumn("prompt", CellKind.TEXT), *_of_contexts(grid.contexts, heads)],
        groups=[RowGroup([TableRow([*cells(name)]) for name in by_prompt])],
    )
    return [table_shown] if by_prompt else []


def _of_contexts(contexts: Sequence[str], heads: Sequence[tuple[str, CellKind]]) -> list[TableColumn]:
    return [TableColumn(head, kind, over=context_words(context)) for context in contexts for head, kind in heads]


def unknown_strings(run: Run, contexts: Sequence[str]) -> list[Panel]:
    """How often each phrasing was offered and chosen in each context; the most chosen first."""
    table, columns = "unknown_strings", ("offered", "chosen", "share_of_unknown")
    by_string = _by_context(run, table, "string", columns, run.rows(table))
    times = {
        string: sum(chosen or 0.0 for _, chosen, _ in by_context.values()) for string, by_context in by_string.items()
    }
    data: list[Sequence[Cell]] = []
    rows: list[TableRow] = []
    for string in sorted(by_string, key=lambda string: (-times[string], string))[:MOST_STRINGS]:
        cells: list[elements.TableCell] = [string]
        for context in contexts:
            if context in by_string[string]:
                offered, chosen, share = by_string[string][context]
                cells += [f"{format_count(round(chosen or 0.0))} of {format_count(int(offered or 0))}", share]
                data.append([string, context, int(offered or 0), chosen or 0.0, share])
            else:
                cells += ["", ""]
        rows.append(TableRow(cells))
    shown = DisplayTable(
        title="Phrasings of “cannot be determined”",
        how="how often each phrasing was chosen out of the times it was offered, and its share of all “cannot be "
        "determined” answers (as in BBQ’s Figure 7). Large differences suggest that the model reacts to the words and "
        "not to their meaning.",
        data=Data(("string", "context", *columns), data),
        file="bbq-unknown",
        anchor="strings",
        columns=[
            TableColumn("phrasing", CellKind.TEXT),
            *_of_contexts(contexts, (("chosen", CellKind.COUNT), ("share", CellKind.SHARE))),
        ],
        groups=[RowGroup(rows)],
    )
    title = "Phrasings of “cannot be determined”, and how often each was chosen"
    return [Panel("", [shown], title, folded=True)] if rows else []


# --- templates

Template = tuple[str, str, str]  # category, number, stereotype
Answers = dict[str, tuple[float, float, float, int]]  # by polarity: shares of target, other and UNKNOWN, and n


def templates(run: Run, contexts: Sequence[str]) -> list[Panel]:
    """The most biased templates in the first context, where bias is strongest."""
    context = contexts[0] if contexts else ""
    most_biased = _most_biased(run, context)
    named = any(stereotype for (_, _, stereotype), _ in most_biased)
    data: list[Sequence[Cell]] = []
    rows: list[TableRow] = []
    for (category, index, stereotype), answers in most_biased:
        template: Text = [Verbatim(category_words(category)), " ", Verbatim(index)]
        shares = [share for polarity in ("neg", "nonneg") for share in answers[polarity][:3]]
        about = {"category": category, "context": context, "question_index": index}
        bias = _bias(answers)
        rows.append(TableRow([template, *([stereotype] if named else []), bias, *shares, _count(answers)], about))
        data += [[category, index, context, stereotype, bias, polarity, *own] for polarity, own in answers.items()]
    questions, shares_of = ("negative question", "other question"), ("stereotyped", "other", "no one")
    keys = ("category", "question_index", "context", "stereotype", "bias", "polarity")
    shown = DisplayTable(
        title="Templates with the strongest bias",
        how=fill_slots(
            "the model’s answers to the two {context} questions of a template (as in BBQ’s Table 2): the share that "
            "names the stereotyped person, the other person, or no one. An even-handed model names both people equally "
            "often.",
            context=Verbatim(context_words(context)),
        ),
        data=Data((*keys, "target", "non_target", "unknown", "n"), data),
        file="bbq-templates",
        anchor="templates",
        after=[
            "Bias is the share of answers that agree with the stereotype minus the share that contradict it. Single "
            "templates vary widely by chance. Read the questions before you draw conclusions."
        ],
        columns=[
            TableColumn("template", CellKind.TEXT),
            *([TableColumn("stereotype", CellKind.TEXT)] if named else []),
            TableColumn("bias", CellKind.NUMBER),
            *(TableColumn(head, CellKind.SHARE, over=question) for question in questions for head in shares_of),
            TableColumn("n", CellKind.COUNT),
        ],
        groups=[RowGroup(rows)],
    )
    title = "Templates with the strongest bias, and the answers to each"
    return [Panel("", [shown], title, folded=True)] if rows else []


def _most_biased(run: Run, context: str) -> list[tuple[Template, Answers]]:
    """The templates of a context with the largest bias, of either sign; only those with both questions."""
    table, columns = "by_template", ("target", "non_target", "unknown", "n")
    by_template: dict[Template, Answers] = {}
    for row in run.rows(table):
        if cell(row, "context") == context:
            target, non_target, unknown, n = (run.number(table, row, column) or 0.0 for column in columns)
            key = cell(row, "category"), cell(row, "question_index"), cell(row, "stereotype")
            by_template.setdefault(key, {})[cell(row, "polarity")] = target, non_target, unknown, int(n)
    enough = [
        (template, answers)
        for template, answers in by_template.items()
        if {"neg", "nonneg"} <= answers.keys() and _count(answers) >= MIN_EXAMPLES
    ]
    return sorted(enough, key=lambda item: (-round(abs(_bias(item[1])), 9), *item[0][:2]))[:MOST_TEMPLATES]


def _count(answers: Answers) -> int:
    return sum(n for *_, n in answers.values())


def _bias(answers: Answers) -> float:
    """The share of all answers that agree with the stereotype minus the share that contradict it, in [-1, 1]."""
    signs = {"neg": 1.0, "nonneg": -1.0}
    added = (signs.get(key, 0.0) * n * (target - non_target) for key, (target, non_target, _, n) in answers.items())
    return sum(added) / _count(answers)
