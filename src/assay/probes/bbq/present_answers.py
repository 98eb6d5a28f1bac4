"""What was answered: the ways to say that nobody can know, and the most biased templates."""

from __future__ import annotations

from collections.abc import Sequence

from assay.blocks import Column, Group, Kind, Name, Part, Row, Table, TableCell, Text
from assay.findings import Cell
from assay.findings import Table as Data
from assay.probes.bbq import category_words, context_words
from assay.probes.bbq.grid import told
from assay.run import Run
from assay.wording import cell, count

MIN_EXAMPLES = 5  # a score over fewer says little
MOST_STRINGS = 12
MOST_TEMPLATES = 10


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
        cells: list[TableCell] = [string]
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
