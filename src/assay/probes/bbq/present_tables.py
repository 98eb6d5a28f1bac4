"""The page's tables and maps from a run's long tables: groups, crossed groups, phrasings of UNKNOWN, templates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from assay.presentation import elements
from assay.presentation.elements import (
    Block,
    CellKind,
    Chart,
    DisplayTable,
    DotCell,
    MarkedCell,
    Panel,
    PanelPicker,
    RowGroup,
    TableColumn,
    TableRow,
)
from assay.presentation.rich_text import Text, Verbatim
from assay.probes.bbq import category_words, comparison_words, context_words, label_words
from assay.probes.bbq.estimate_grid import EstimateGrid, fill_slots, is_clear
from assay.probes.bbq.present_charts import cells_of
from assay.results.findings import Cell, Estimate, is_claimed, table_path
from assay.results.findings import Table as Data
from assay.results.formatting import cell, format_count, plural
from assay.results.run import Run
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


def read_scores(run: Run, table: str, who: str, detail: str, contexts: Sequence[str]) -> list[Estimate]:
    """The bias scores of groups in a table of the run, each with a stereotype or a comparison, ordered by context."""
    found = []
    for row in run.rows(table):
        value, low, high, q, n = (run.number(table, row, column) for column in ("bias_score", "low", "high", "q", "n"))
        if value is not None and n and cell(row, "context") in contexts:
            group = {key: cell(row, key) for key in ("category", "context", who, detail)}
            found.append(Estimate("bias_score", group, value, low, high, n=int(n), q=q, claimed=is_claimed(row)))
    return sorted(found, key=lambda e: contexts.index(e.group["context"]))


def _order(e: Estimate) -> tuple[bool, bool, float, str, str, str]:
    """Sort key: clear ones first, then those with an interval, then by size; small groups vary widely by chance."""
    category, _, who, detail = e.group.values()
    return not is_clear(e), e.low is None, -abs(e.value or 0.0), category, who, detail


def _cells(e: Estimate) -> list[elements.TableCell]:
    return [e.value, DotCell(e.value, e.low, e.high, hollow=not is_clear(e)), (e.low, e.high), e.q, e.n]


def _data(found: Iterable[Estimate], *who: str) -> Data:
    keys = ("category", "context", *who)
    rows = [[*(e.group[key] for key in keys), e.value, e.low, e.high, e.q, e.n] for e in found]
    return Data((*keys, "bias_score", "low", "high", "q", "n"), rows)


def _gap(left_out: int, what: str, table: str) -> list[elements.OmittedRows]:
    many = plural(left_out, what) if what else f"{format_count(left_out)} more"
    return [elements.OmittedRows(f"{many}: {table_path(table)}")] if left_out > 0 else []


# --- groups


def labels(run: Run, contexts: Sequence[str], without: Collection[str]) -> list[Block]:
    """Bias scores by group: all stereotypes of a group together, and single ones.

    `without` are categories that are shown elsewhere. Tables show the first context, where bias is strongest.
    """
    every = read_scores(run, "by_label", "label", "stereotype", contexts)
    shown = [e for e in every if e.n >= MIN_EXAMPLES and e.group["context"] == contexts[0]]
    together = [e for e in shown if not e.group["stereotype"] and e.group["category"] not in without]
    by_category = {
        category: sorted((e for e in together if e.group["category"] == category), key=_order)
        for category in dict.fromkeys(e.group["category"] for e in together)
    }
    single = sorted((e for e in shown if e.group["stereotype"]), key=_order)
    kept, strongest = [e for own in by_category.values() for e in own[:MOST_LABELS]], single[:MOST_STEREOTYPES]
    reach = [mark for e in (*kept, *strongest) for mark in (e.value, e.low, e.high)]
    figures = [
        *(TableColumn("bias score", CellKind.NUMBER), TableColumn("bias score", CellKind.DOTS, reach=reach)),
        *(
            TableColumn(run.level, CellKind.INTERVAL),
            TableColumn("q", CellKind.PROBABILITY),
            TableColumn("n", CellKind.COUNT),
        ),
    ]
    main = Verbatim(context_words(contexts[0] if contexts else ""))
    return [
        *([_by_label(by_category, figures, main)] if kept else []),
        *_maps(_STEREOTYPES, [e for e in every if e.group["stereotype"]], "stereotype", "stereotype", "label"),
        *([_single(single, figures, main)] if single else []),
    ]


def _by_label(
    by_category: Mapping[str, Sequence[Estimate]], figures: Sequence[TableColumn], main: Verbatim
) -> DisplayTable:
    groups = [
        RowGroup(
            [
                *(TableRow([label_words(e.group["label"]), *_cells(e)], _behind(e)) for e in own[:MOST_LABELS]),
                *_gap(len(own) - MOST_LABELS, "more group", "by_label"),
            ],
            category_words(category),
        )
        for category, own in by_category.items()
    ]
    return DisplayTable(
        title="Who the stereotypes are about",
        how=fill_slots(
            "the bias score in {main} questions, by the group that the stereotype is about. Right of zero, the model "
            "agrees with stereotypes about these people. A filled dot {dot} is statistically clear "
            f"(q at most {CLEAR}, {ALLOWED}).",
            main=main,
        ),
        data=_data((e for own in by_category.values() for e in own[:MOST_LABELS]), "label"),
        file="bbq-labels",
        anchor="labels",
        after=[
            "The clearest of each category come first. Intervals and q need at least 5 templates. q is corrected for "
            "all groups and stereotypes of all categories and kinds of questions; intervals are not."
        ],
        columns=[TableColumn("group", CellKind.TEXT), *figures],
        groups=groups,
    )


def _single(single: Sequence[Estimate], figures: Sequence[TableColumn], main: Verbatim) -> DisplayTable:
    strongest = single[:MOST_STEREOTYPES]
    rows = []
    for e in strongest:
        who: Text = [Verbatim(label_words(e.group["label"])), " (", Verbatim(category_words(e.group["category"])), ")"]
        rows.append(TableRow([who, e.group["stereotype"], *_cells(e)], _behind(e)))
    return DisplayTable(
        title="Single stereotypes",
        how=fill_slots(
            "the largest bias scores of a group with one stereotype in {main} questions. Most are based on one or two "
            "templates, too few for an interval. They show where to look; they are not findings.",
            main=main,
        ),
        data=_data(strongest, "label", "stereotype"),
        file="bbq-stereotypes",
        anchor="single",
        columns=[TableColumn("group", CellKind.TEXT), TableColumn("stereotype", CellKind.TEXT), *figures],
        groups=[RowGroup([*rows, *_gap(len(single) - MOST_STEREOTYPES, "", "by_label")])],
    )


def _behind(e: Estimate) -> dict[str, str]:
    return {key: value for key, value in e.group.items() if value}


# --- crossed groups


def crossed(found: Sequence[Estimate]) -> list[Block]:
    """Maps and tables of crossed groups by how the other person differs from them."""
    contexts = [e.group["context"] for e in found]
    by_letter = sorted(found, key=lambda e: (contexts.index(e.group["context"]), e.group["comparison"]))
    in_words = []
    for e in by_letter:
        words = comparison_words(e.group["category"], e.group["comparison"])
        in_words.append(replace(e, group={**e.group, "comparison": words}))
    return [
        *_maps(_CROSSED, in_words, "group", "target", "comparison", in_order=True),
        *(
            _in_numbers(number, category, [e for e in found if e.group["category"] == category])
            for number, category in enumerate(dict.fromkeys(e.group["category"] for e in found), 1)
        ),
    ]


def _in_numbers(number: int, category: str, own: Sequence[Estimate]) -> Panel:
    """A crossed category; at most MOST_TARGETS groups, those with the most examples."""
    found = {(e.group["target"], e.group["comparison"], e.group["context"]): e for e in own}
    heads = list(product(sorted({letter for _, letter, _ in found}), dict.fromkeys(context for _, _, context in found)))
    sizes: Counter[str] = Counter()
    for (target, _, _), e in found.items():
        sizes[target] += e.n
    chosen = sorted(sorted(sizes, key=lambda target: (-sizes[target], target))[:MOST_TARGETS])
    rows = []
    for target in chosen:
        scores = [found.get((target, *head)) for head in heads]
        cells = ["" if e is None else MarkedCell(e.value, is_clear(e) or None) for e in scores]
        rows.append(TableRow([label_words(target), *cells], {"category": category, "target": target}))
    title = f"Crossed groups in numbers: {category_words(category)}"
    table = DisplayTable(
        title=title,
        how="bias scores by the group that the stereotype is about; bold if statistically clear "
        f"(q at most {CLEAR}, {ALLOWED}).",
        data=_data((e for own in chosen for (who, _, _), e in found.items() if who == own), "target", "comparison"),
        file="bbq-crossed",
        anchor=f"targets-{number}",
        columns=[
            TableColumn("group", CellKind.TEXT),
            *(
                TableColumn(Verbatim(context_words(context)), CellKind.NUMBER, over=comparison_words(category, letter))
                for letter, context in heads
            ),
        ],
        groups=[RowGroup([*rows, *_gap(len(sizes) - len(chosen), "", "intersectional")])],
    )
    return Panel("", [table], Verbatim(title), folded=True)


# --- maps


_HEADS = {"label": "group", "target": "group"}


def _in_words(key: str, e: Estimate) -> str:
    return label_words(e.group[key]) if key in _HEADS else e.group[key]


def _maps(
    said: Chart, found: Sequence[Estimate], row: str, row_key: str, column: str, *, in_order: bool = False
) -> list[PanelPicker]:
    """A map for each category and context, all on one colour scale."""
    parts: list[Panel] = []
    categories, contexts = (dict.fromkeys(e.group[key] for e in found) for key in ("category", "context"))
    for category, context in product(categories, contexts):
        here = [e for e in found if (e.group["category"], e.group["context"]) == (category, context)]
        own = {(_in_words(row_key, e), _in_words(column, e)): e for e in here}
        if not own:
            continue
        name = f"{category_words(category)}, {context_words(context)}"
        shown = replace(said, title=f"{said.title}: {name}", anchor=f"{said.anchor}-{len(parts) + 1}")
        heat = elements.HeatMap(
            **vars(shown),
            **cells_of(own, ("low", "high", "q", "n")),
            name=name,
            row=row,
            column=_HEADS.get(column, column),
            value="bias score",
            columns=[e.group[column] for e in found] if in_order else None,
            reach=[e.value for e in found],
            examples={"category": category, "context": context},
            row_key=row_key,
            column_key=column,
        )
        parts.append(Panel(name, [heat], folded=True, open=not parts))
    return [PanelPicker(label=f"{said.title} of", parts=parts)] if parts else []


# --- prompts


def prompts(run: Run, grid: EstimateGrid) -> list[DisplayTable]:
    """The accuracy and bias score of each prompt, for all categories together (or the only one)."""
    table, numbers = "by_prompt", ("accuracy", "bias_score", "low", "high")
    found: dict[str, dict[str, list[float | None]]] = {}
    for row in run.rows(table):
        if cell(row, "category") == grid.whole(cell(row, "context")):
            own = [run.number(table, row, column) for column in numbers]
            found.setdefault(cell(row, "prompt"), {})[cell(row, "context")] = own
    rows: list[TableRow] = []
    for name, scores in found.items():
        cells: list[elements.TableCell] = [name]
        for right, bias, low, high in (scores[context] for context in grid.contexts):
            cells += ["" if right is None else right, "" if bias is None else bias, (low, high)]
        rows.append(TableRow(cells))
    heads = (("accuracy", CellKind.NUMBER), ("bias score", CellKind.NUMBER), (run.level, CellKind.INTERVAL))
    shown = DisplayTable(
        title="Prompts",
        how="accuracy and bias score of each prompt, for the same questions. The headline numbers have the spread over "
        "prompts, and how large it would be by chance.",
        data=Data(
            ("prompt", "context", *numbers),
            [[name, context, *own] for name, scores in found.items() for context, own in scores.items()],
        ),
        file="bbq-prompts",
        anchor="prompts",
        columns=[
            TableColumn("prompt", CellKind.TEXT),
            *(
                TableColumn(head, kind, over=context_words(context))
                for context in grid.contexts
                for head, kind in heads
            ),
        ],
        groups=[RowGroup(rows)],
    )
    return [shown] if rows else []


# --- phrasings of “cannot be determined”


def unknown_strings(run: Run, contexts: Sequence[str]) -> list[Panel]:
    """How often each phrasing was offered and chosen in each context; the most chosen first."""
    table, columns = "unknown_strings", ("offered", "chosen", "share_of_unknown")
    found: dict[str, dict[str, tuple[int, float, float | None]]] = {}
    for row in run.rows(table):
        offered, chosen, share = (run.number(table, row, column) for column in columns)
        found.setdefault(cell(row, "string"), {})[cell(row, "context")] = int(offered or 0), chosen or 0.0, share
    ranked = sorted(found.items(), key=lambda item: (-sum(own[1] for own in item[1].values()), item[0]))[:MOST_STRINGS]
    data: list[Sequence[Cell]] = []
    rows: list[TableRow] = []
    for string, offers in ranked:
        cells: list[elements.TableCell] = [string]
        for context in contexts:
            if context in offers:
                offered, chosen, share = offers[context]
                cells += [f"{format_count(round(chosen))} of {format_count(offered)}", share]
                data.append([string, context, offered, chosen, share])
            else:
                cells += ["", ""]
        rows.append(TableRow(cells))
    heads = (("chosen", CellKind.COUNT), ("share", CellKind.SHARE))
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
            *(TableColumn(head, kind, over=context_words(context)) for context in contexts for head, kind in heads),
        ],
        groups=[RowGroup(rows)],
    )
    said = "Phrasings of “cannot be determined”, and how often each was chosen"
    return [Panel("", [shown], said, folded=True)] if ranked else []


# --- templates

Template = tuple[str, str, str]  # category, number, stereotype
Answers = dict[str, tuple[float, float, float, int]]  # by polarity: shares of target, other and UNKNOWN, and n


def templates(run: Run, contexts: Sequence[str]) -> list[Panel]:
    """The most biased templates in the first context, where bias is strongest."""
    context = contexts[0] if contexts else ""
    found = _most_biased(run, context)
    named = any(stereotype for (_, _, stereotype), _ in found)
    data: list[Sequence[Cell]] = []
    rows: list[TableRow] = []
    for (category, index, stereotype), answers in found:
        who: Text = [Verbatim(category_words(category)), " ", Verbatim(index)]
        shares = [share for polarity in ("neg", "nonneg") for share in answers[polarity][:3]]
        about = {"category": category, "context": context, "question_index": index}
        bias, about_whom = _bias(answers), [stereotype] if named else []
        rows.append(TableRow([who, *about_whom, bias, *shares, _count(answers)], about))
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
    said = "Templates with the strongest bias, and the answers to each"
    return [Panel("", [shown], said, folded=True)] if found else []


def _most_biased(run: Run, context: str) -> list[tuple[Template, Answers]]:
    """The templates of a context with the largest bias, of either sign; only those with both questions."""
    table, found = "by_template", dict[Template, Answers]()
    for row in run.rows(table):
        if cell(row, "context") == context:
            columns = ("target", "non_target", "unknown", "n")
            target, other, unknown, n = (run.number(table, row, column) or 0.0 for column in columns)
            key = cell(row, "category"), cell(row, "question_index"), cell(row, "stereotype")
            found.setdefault(key, {})[cell(row, "polarity")] = target, other, unknown, int(n)
    enough = (each for each in found.items() if {"neg", "nonneg"} <= each[1].keys() and _count(each[1]) >= MIN_EXAMPLES)
    return sorted(enough, key=lambda each: (-round(abs(_bias(each[1])), 9), *each[0][:2]))[:MOST_TEMPLATES]


def _count(answers: Answers) -> int:
    return sum(n for *_, n in answers.values())


def _bias(answers: Answers) -> float:
    """The share of all answers that agree with the stereotype minus the share that contradict it, in [-1, 1]."""
    signs = {"neg": 1.0, "nonneg": -1.0}
    added = (signs.get(key, 0.0) * n * (target - other) for key, (target, other, _, n) in answers.items())
    return sum(added) / _count(answers)
