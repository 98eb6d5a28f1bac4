"""The page's tables and maps from a run's long tables: labels, crossed groups, ways to say UNKNOWN, templates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from assay import blocks
from assay.blocks import Block, Chart, Column, Dot, Group, Kind, Marked, Part, Pick, Row, Table
from assay.findings import Cell, Estimate, is_claimed
from assay.findings import Table as Data
from assay.probes.bbq import category_words, context_words
from assay.probes.bbq.grid import is_clear, told
from assay.probes.bbq.present_charts import cells_of
from assay.probes.bbq.showcase import comparison_words
from assay.run import Run
from assay.text import Name, Text
from assay.verdict import ALLOWED, CLEAR
from assay.wording import cell, count, plural

MIN_EXAMPLES = 5  # a score over fewer says little
MOST_LABELS = 5  # of each category
MOST_STEREOTYPES = 10
MOST_TARGETS = 20  # of each crossed category
MOST_STRINGS = 12
MOST_TEMPLATES = 10

_STEREOTYPES = Chart(
    title="Labels and stereotypes",
    how="each square is the bias score of a label with one stereotype (as in BBQ’s Figure 4). Orange: the model agrees "
    "with the stereotype about these people; blue: it contradicts it. A click on a square shows examples of it.",
    file="bbq-stereotypes",
    anchor="stereotypes",
)
_CROSSED = Chart(
    title="Crossed groups",
    how="each square is the bias score of the people whom the stereotype is about, by how the other person differs "
    "from them (as in BBQ’s Figures 9 and 10). Orange: the model agrees with stereotypes about them; blue: it "
    "contradicts these. A click on a square shows examples of it.",
    file="bbq-crossed",
    anchor="crossed",
)


def read_scores(run: Run, table: str, who: str, detail: str, contexts: Sequence[str]) -> list[Estimate]:
    """The bias scores of groups of people in a table of the run, each with a stereotype or a comparison, by context."""
    found = []
    for row in run.rows(table):
        value, low, high, q, n = (run.number(table, row, column) for column in ("bias_score", "low", "high", "q", "n"))
        if value is not None and n and cell(row, "context") in contexts:
            group = {key: cell(row, key) for key in ("category", "context", who, detail)}
            found.append(Estimate("bias_score", group, value, low, high, n=int(n), q=q, claimed=is_claimed(row)))
    return sorted(found, key=lambda e: contexts.index(e.group["context"]))


def _order(e: Estimate) -> tuple[bool, bool, float, str, str, str]:
    """Sorts what is clear first, then what has an interval, then by size: small groups score far by chance."""
    category, _, who, detail = e.group.values()
    return not is_clear(e), e.low is None, -abs(e.value or 0.0), category, who, detail


def _cells(e: Estimate) -> list[blocks.TableCell]:
    return [e.value, Dot(e.value, e.low, e.high, hollow=not is_clear(e)), (e.low, e.high), e.q, e.n]


def _data(found: Iterable[Estimate], *who: str) -> Data:
    keys = ("category", "context", *who)
    rows = [[*(e.group[key] for key in keys), e.value, e.low, e.high, e.q, e.n] for e in found]
    return Data((*keys, "bias_score", "low", "high", "q", "n"), rows)


def _gap(left_out: int, what: str, table: str) -> list[blocks.Gap]:
    many = plural(left_out, what) if what else f"{count(left_out)} more"
    return [blocks.Gap(f"{many}: tables/{table}.csv")] if left_out > 0 else []


# --- labels


def labels(run: Run, contexts: Sequence[str], without: Collection[str]) -> list[Block]:
    """The labels of categories that are not shown elsewhere, and of all with single stereotypes.

    Where one context has to do, it is the first, in which bias shows most.
    """
    every = read_scores(run, "by_label", "label", "stereotype", contexts)
    shown = [e for e in every if e.n >= MIN_EXAMPLES and e.group["context"] == contexts[0]]
    pooled = [e for e in shown if not e.group["stereotype"] and e.group["category"] not in without]
    by_category = {
        category: sorted((e for e in pooled if e.group["category"] == category), key=_order)
        for category in dict.fromkeys(e.group["category"] for e in pooled)
    }
    single = sorted((e for e in shown if e.group["stereotype"]), key=_order)
    kept, strongest = [e for own in by_category.values() for e in own[:MOST_LABELS]], single[:MOST_STEREOTYPES]
    reach = [mark for e in (*kept, *strongest) for mark in (e.value, e.low, e.high)]
    figures = [
        *(Column("bias score", Kind.NUMBER), Column("bias score", Kind.DOTS, reach=reach)),
        *(Column(run.level, Kind.INTERVAL), Column("q", Kind.PROBABILITY), Column("n", Kind.COUNT)),
    ]
    main = Name(context_words(contexts[0] if contexts else ""))
    return [
        *([_by_label(by_category, figures, main)] if kept else []),
        *_maps(_STEREOTYPES, [e for e in every if e.group["stereotype"]], "stereotype", "stereotype", "label"),
        *([_single(single, figures, main)] if single else []),
    ]


def _by_label(by_category: Mapping[str, Sequence[Estimate]], figures: Sequence[Column], main: Name) -> Table:
    groups = [
        Group(
            [
                *(Row([e.group["label"], *_cells(e)], _behind(e)) for e in own[:MOST_LABELS]),
                *_gap(len(own) - MOST_LABELS, "more label", "by_label"),
            ],
            category_words(category),
        )
        for category, own in by_category.items()
    ]
    return Table(
        title="Who the stereotypes are about",
        how=told(
            "the bias score in {main} questions, by the label of the person whom the stereotype is about, as the data "
            "spell it. Right of zero, the model agrees with stereotypes about these people; a filled dot {dot} is "
            f"clear of chance (q at most {CLEAR}, {ALLOWED}).",
            main=main,
        ),
        data=_data((e for own in by_category.values() for e in own[:MOST_LABELS]), "label"),
        file="bbq-labels",
        anchor="labels",
        after=[
            "The clearest of each category come first. Intervals and q need 5 templates; q is corrected for all labels "
            "and stereotypes of all categories and kinds of questions, intervals are not."
        ],
        columns=[Column("label", Kind.TEXT), *figures],
        groups=groups,
    )


def _single(single: Sequence[Estimate], figures: Sequence[Column], main: Name) -> Table:
    strongest = single[:MOST_STEREOTYPES]
    rows = []
    for e in strongest:
        who: Text = [Name(e.group["label"]), " (", Name(category_words(e.group["category"])), ")"]
        rows.append(Row([who, e.group["stereotype"], *_cells(e)], _behind(e)))
    return Table(
        title="Single stereotypes",
        how=told(
            "the largest bias scores of a label with a stereotype in {main} questions. Most rest on one or two "
            "templates, too few for an interval: they tell where to look, not what is so.",
            main=main,
        ),
        data=_data(strongest, "label", "stereotype"),
        file="bbq-stereotypes",
        anchor="single",
        columns=[Column("label", Kind.TEXT), Column("stereotype", Kind.TEXT), *figures],
        groups=[Group([*rows, *_gap(len(single) - MOST_STEREOTYPES, "", "by_label")])],
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
        *_maps(_CROSSED, in_words, "about whom", "target", "comparison", in_order=True),
        *(
            _in_numbers(number, category, [e for e in found if e.group["category"] == category])
            for number, category in enumerate(dict.fromkeys(e.group["category"] for e in found), 1)
        ),
    ]


def _in_numbers(number: int, category: str, own: Sequence[Estimate]) -> Part:
    """A crossed category; at most so many targets, those with the most examples."""
    found = {(e.group["target"], e.group["comparison"], e.group["context"]): e for e in own}
    heads = list(product(sorted({letter for _, letter, _ in found}), dict.fromkeys(context for _, _, context in found)))
    sizes: Counter[str] = Counter()
    for (target, _, _), e in found.items():
        sizes[target] += e.n
    chosen = sorted(sorted(sizes, key=lambda target: (-sizes[target], target))[:MOST_TARGETS])
    rows = []
    for target in chosen:
        scores = [found.get((target, *head)) for head in heads]
        cells = ["" if e is None else Marked(e.value, is_clear(e) or None) for e in scores]
        rows.append(Row([target, *cells], {"category": category, "target": target}))
    title = f"Crossed groups in numbers: {category_words(category)}"
    table = Table(
        title=title,
        how="bias scores by whom the stereotype is about; bold where they are clear of chance (q, corrected for all "
        f"crossed groups, at most {CLEAR}, {ALLOWED}).",
        data=_data((e for own in chosen for (who, _, _), e in found.items() if who == own), "target", "comparison"),
        file="bbq-crossed",
        anchor=f"targets-{number}",
        columns=[
            Column("about whom", Kind.TEXT),
            *(
                Column(Name(context_words(context)), Kind.NUMBER, over=comparison_words(category, letter))
                for letter, context in heads
            ),
        ],
        groups=[Group([*rows, *_gap(len(sizes) - len(chosen), "", "intersectional")])],
    )
    return Part("", [table], Name(title), folded=True)


# --- maps


def _maps(
    said: Chart, found: Sequence[Estimate], row: str, row_key: str, column: str, *, in_order: bool = False
) -> list[Pick]:
    """A map for each category and context, all on one scale, so that colours mean the same in each."""
    parts: list[Part] = []
    categories, contexts = (dict.fromkeys(e.group[key] for e in found) for key in ("category", "context"))
    for category, context in product(categories, contexts):
        here = [e for e in found if (e.group["category"], e.group["context"]) == (category, context)]
        own = {(e.group[row_key], e.group[column]): e for e in here}
        if not own:
            continue
        name = f"{category_words(category)}, {context_words(context)}"
        shown = replace(said, title=f"{said.title}: {name}", anchor=f"{said.anchor}-{len(parts) + 1}")
        heat = blocks.Heat(
            **vars(shown),
            **cells_of(own, ("low", "high", "q", "n")),
            name=name,
            row=row,
            column=column,
            value="bias score",
            columns=[e.group[column] for e in found] if in_order else None,
            reach=[e.value for e in found],
            examples={"category": category, "context": context},
            row_key=row_key,
            column_key=column,
        )
        parts.append(Part(name, [heat], folded=True, open=not parts))
    return [Pick(label=f"{said.title} of", parts=parts)] if parts else []


# --- ways to say that nobody can know


def unknown_strings(run: Run, contexts: Sequence[str]) -> list[Part]:
    """How often each was offered and chosen in each context; the most chosen ones first."""
    table, columns = "unknown_strings", ("offered", "chosen", "share_of_unknown")
    found: dict[str, dict[str, tuple[int, float, float | None]]] = {}
    for row in run.rows(table):
        offered, chosen, share = (run.number(table, row, column) for column in columns)
        found.setdefault(cell(row, "string"), {})[cell(row, "context")] = int(offered or 0), chosen or 0.0, share
    ranked = sorted(found.items(), key=lambda item: (-sum(own[1] for own in item[1].values()), item[0]))[:MOST_STRINGS]
    data: list[Sequence[Cell]] = []
    rows: list[Row] = []
    for string, offers in ranked:
        cells: list[blocks.TableCell] = [string]
        for context in contexts:
            if context in offers:
                offered, chosen, share = offers[context]
                cells += [f"{count(round(chosen))} of {count(offered)}", share]
                data.append([string, context, offered, chosen, share])
            else:
                cells += ["", ""]
        rows.append(Row(cells))
    heads = (("chosen", Kind.COUNT), ("share", Kind.SHARE))
    shown = Table(
        title="Ways to say UNKNOWN",
        how="how often each wording was chosen of the times that it was offered, and its share of all UNKNOWN answers "
        "(as in BBQ’s Figure 7). Great differences hint that the model reacts to the words rather than to what they "
        "say.",
        data=Data(("string", "context", *columns), data),
        file="bbq-unknown",
        anchor="strings",
        columns=[
            Column("wording", Kind.TEXT),
            *(Column(head, kind, over=context_words(context)) for context in contexts for head, kind in heads),
        ],
        groups=[Group(rows)],
    )
    return [Part("", [shown], "Ways to say UNKNOWN, and how often each was chosen", folded=True)] if ranked else []


# --- templates

Template = tuple[str, str, str]  # category, number, stereotype
Answers = dict[str, tuple[float, float, float, int]]  # by polarity: shares of target, other and UNKNOWN, and n


def templates(run: Run, contexts: Sequence[str]) -> list[Part]:
    """The most biased templates in the first context, in which bias shows most."""
    context = contexts[0] if contexts else ""
    found = _most_biased(run, context)
    named = any(stereotype for (_, _, stereotype), _ in found)
    data: list[Sequence[Cell]] = []
    rows: list[Row] = []
    for (category, index, stereotype), answers in found:
        who: Text = [Name(category_words(category)), " ", Name(index)]
        shares = [share for polarity in ("neg", "nonneg") for share in answers[polarity][:3]]
        about = {"category": category, "context": context, "question_index": index}
        bias, about_whom = _bias(answers), [stereotype] if named else []
        rows.append(Row([who, *about_whom, bias, *shares, _count(answers)], about))
        data += [[category, index, context, stereotype, bias, polarity, *own] for polarity, own in answers.items()]
    questions, shares_of = ("negative question", "other question"), ("stereotyped", "other", "nobody")
    keys = ("category", "question_index", "context", "stereotype", "bias", "polarity")
    shown = Table(
        title="Templates with the strongest bias",
        how=told(
            "what the model answered to the two {context} questions of a template (as in BBQ’s Table 2): the share "
            "that names the person whom the stereotype is about, the other person, or nobody. An even-handed model "
            "names both alike.",
            context=Name(context_words(context)),
        ),
        data=Data((*keys, "target", "non_target", "unknown", "n"), data),
        file="bbq-templates",
        anchor="templates",
        after=[
            "Bias is the share of answers that agree with the stereotype minus the share that contradict it. Single "
            "templates vary much by chance: look at these texts before you conclude."
        ],
        columns=[
            Column("template", Kind.TEXT),
            *([Column("stereotype", Kind.TEXT)] if named else []),
            Column("bias", Kind.NUMBER),
            *(Column(head, Kind.SHARE, over=question) for question in questions for head in shares_of),
            Column("n", Kind.COUNT),
        ],
        groups=[Group(rows)],
    )
    said = "Templates with the strongest bias, and what was answered to each"
    return [Part("", [shown], said, folded=True)] if found else []


def _most_biased(run: Run, context: str) -> list[tuple[Template, Answers]]:
    """Those of a context whose bias is largest, whatever the sign; only those with both questions."""
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
