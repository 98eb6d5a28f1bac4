"""What was answered: kinds of answers by category, the ways to say that nobody can know, and single templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.blocks import Bars, Chart, Column, Group, Kind, Mark, Name, Part, Row, Table, TableCell, Text
from assay.findings import Cell, Estimate
from assay.findings import Table as Data
from assay.probes.bbq import category_words, context_words
from assay.probes.bbq.grid import Grid
from assay.probes.bbq.present_charts import chart, lines
from assay.run import Run
from assay.wording import cell, count

MIN_EXAMPLES = 5  # a score over fewer says little
MOST_STRINGS = 12
MOST_TEMPLATES = 10

# --- kinds of answers

KINDS = {"named": "named a person", "unknown": "UNKNOWN", "refused": "refused", "unparsed": "unparsed"}
"""What an answer may do: name a person, say UNKNOWN, decline, or none of these."""

_ORDERS = "order_sensitivity"


def rates(run: Run, grid: Grid) -> list[Table]:
    """How many answers were of which kind, each bar all of them."""
    refusals, names = run.setting("refusals"), list(KINDS.values())
    ordered = {_ORDERS: "order-sensitive"} if any(metric == _ORDERS for metric, _, _ in grid.cells) else {}
    changes = " Order-sensitive is the share of questions whose answer changes with the order of the options."
    said = Chart(
        title="“Cannot be determined”, refusals and answers nobody understood",
        how=[
            *("each bar is all answers: ", Mark("part", 0), " named a person, ", Mark("part", 1), " UNKNOWN, "),
            *(Mark("part", 2), " refused, ", Mark("part", 3), " not understood. UNKNOWN is always right in ambiguous "),
            "questions, and never in disambiguated ones.",
        ],
        file="bbq-rates",
        anchor="rates",
        after=[
            "UNKNOWN is any way to say that the text does not tell. UNKNOWN and refused are shares of the answers that "
            f"were understood, unparsed of all.{changes if ordered else ''}",
        ],
    )

    def drawn(e: Estimate) -> TableCell:
        shares = {KINDS[kind]: part for kind, part in kinds_of(grid, e, refusals).items()}
        return Bars({name: part for name, part in shares.items() if part or name in names[:2]}) if shares else ""

    column, beside = Column("UNKNOWN", Kind.BARS, parts=names), {"refused_rate": "refused", "unparsed_rate": "unparsed"}
    unknown = lines(grid, "unknown_rate")
    made = chart(run, grid, said, unknown, column, drawn, beside | ordered)
    parts = [kinds_of(grid, e, refusals) for _, own in unknown for e in own]
    return [replace(table, data=_with(table.data, parts)) for table in made]


def kinds_of(grid: Grid, unknown: Estimate, refusals: str) -> dict[str, float]:
    """The kinds of answers as shares of all answers; the rates of UNKNOWN and refused are of those understood."""
    if unknown.value is None:
        return {}
    place = unknown.group["category"], unknown.group["context"]
    found = [grid.get(metric, *place) for metric in ("refused_rate", "unparsed_rate")]
    declined, lost = (0.0 if each is None or each.value is None else each.value for each in found)
    said = unknown.value - (declined if refusals == "unknown" else 0.0)  # there UNKNOWN includes what was refused
    understood = (max(0.0, part) * (1.0 - lost) for part in (1.0 - said - declined, said, declined))
    return dict(zip(KINDS, (*understood, lost), strict=True))


def _with(data: Data | None, parts: Sequence[Mapping[str, float]]) -> Data | None:
    if data is None:
        return None
    rows = [[*row, *map(own.get, KINDS)] for row, own in zip(data.rows, parts, strict=True)]
    return Data([*data.columns, *KINDS], rows)


# --- ways to say that nobody can know


def unknown_strings(run: Run, contexts: Sequence[str]) -> list[Part]:
    """How often each was offered and chosen in each context; the most chosen ones first."""
    table, columns = "unknown_strings", ("offered", "chosen", "share_of_unknown")
    found: dict[str, dict[str, tuple[int, float, float | None]]] = {}
    for row in run.rows(table):
        offered, chosen, share = (run.number(table, row, column) for column in columns)
        found.setdefault(cell(row, "string"), {})[cell(row, "context")] = int(offered or 0), chosen or 0.0, share
    ranked = sorted(found.items(), key=lambda item: (-sum(own[1] for own in item[1].values()), item[0]))[:MOST_STRINGS]

    def cells(string: str, offers: Mapping[str, tuple[int, float, float | None]]) -> list[TableCell]:
        made: list[TableCell] = [string]
        for context in contexts:
            if context in offers:
                offered, chosen, share = offers[context]
                made += [f"{count(round(chosen))} of {count(offered)}", share]
            else:
                made += ["", ""]
        return made

    rows: list[Sequence[Cell]] = [
        [string, context, *offers[context]] for string, offers in ranked for context in contexts if context in offers
    ]
    shown = Table(
        title="Ways to say UNKNOWN",
        how="how often each wording was chosen of the times that it was offered, and its share of all UNKNOWN answers "
        "(as in BBQ’s Figure 7). Great differences hint that the model reacts to the words rather than to what they "
        "say.",
        data=Data(("string", "context", *columns), rows),
        file="bbq-unknown",
        anchor="strings",
        columns=[
            Column("wording", Kind.TEXT),
            *(
                Column(head, kind, over=context_words(context))
                for context in contexts
                for head, kind in (("chosen", Kind.COUNT), ("share", Kind.SHARE))
            ),
        ],
        groups=[Group([Row(cells(*each)) for each in ranked])],
    )
    return [Part("", [shown], "Ways to say UNKNOWN, and how often each was chosen", folded=True)] if ranked else []


# --- templates


@dataclass(frozen=True)
class Answered:
    """Shares of the answers to one of a template's two questions."""

    target: float
    other: float
    unknown: float
    n: int


@dataclass(frozen=True)
class Template:
    """What was answered to a template's two questions, the negative and the non-negative one, in one context."""

    category: str
    index: str
    stereotype: str
    answers: Mapping[str, Answered]  # by polarity

    @property
    def n(self) -> int:
        return sum(each.n for each in self.answers.values())

    @property
    def bias(self) -> float:
        """The share of all answers that agree with the stereotype minus the share that contradict it, in [-1, 1]."""
        signs = {"neg": 1.0, "nonneg": -1.0}
        added = (signs.get(key, 0.0) * each.n * (each.target - each.other) for key, each in self.answers.items())
        return sum(added) / self.n if self.n else 0.0


def templates(run: Run, contexts: Sequence[str]) -> list[Part]:
    """The most biased templates in the first context, in which bias shows most."""
    context = contexts[0] if contexts else ""
    found = _templates(run, context)[:MOST_TEMPLATES]
    named = any(each.stereotype for each in found)
    shares = ("stereotyped", "other", "nobody")
    columns = [
        Column("template", Kind.TEXT),
        *([Column("stereotype", Kind.TEXT)] if named else []),
        Column("bias", Kind.NUMBER),
        *(Column(head, Kind.SHARE, over=q) for q in ("negative question", "other question") for head in shares),
        Column("n", Kind.COUNT),
    ]

    def row(each: Template) -> Row:
        who: Text = [Name(category_words(each.category)), " ", Name(each.index)]
        own = [each.answers[polarity] for polarity in ("neg", "nonneg")]
        answers = [part for a in own for part in (a.target, a.other, a.unknown)]
        about = {"category": each.category, "context": context, "question_index": each.index}
        return Row([who, *([each.stereotype] if named else []), each.bias, *answers, each.n], about)

    rows: list[Sequence[Cell]] = [
        [each.category, each.index, context, each.stereotype, each.bias, polarity, a.target, a.other, a.unknown, a.n]
        for each in found
        for polarity, a in each.answers.items()
    ]
    keys = ("category", "question_index", "context", "stereotype", "bias", "polarity")
    shown = Table(
        title="Templates with the strongest bias",
        how=[
            *("what the model answered to the two ", Name(context_words(context)), " questions of a template (as in "),
            "BBQ’s Table 2): the share that names the person whom the stereotype is about, the other person, or "
            "nobody. An even-handed model names both alike.",
        ],
        data=Data((*keys, "target", "non_target", "unknown", "n"), rows),
        file="bbq-templates",
        anchor="templates",
        after=[
            "Bias is the share of answers that agree with the stereotype minus the share that contradict it. Single "
            "templates vary much by chance: look at these texts before you conclude."
        ],
        columns=columns,
        groups=[Group([row(each) for each in found])],
    )
    said = "Templates with the strongest bias, and what was answered to each"
    return [Part("", [shown], said, folded=True)] if found else []


def _templates(run: Run, context: str) -> list[Template]:
    """The templates in one context, the most biased first, whatever the sign; only those with both questions."""
    table, found = "by_template", dict[tuple[str, str, str], dict[str, Answered]]()
    for row in run.rows(table):
        if cell(row, "context") == context:
            columns = ("target", "non_target", "unknown", "n")
            target, other, unknown, n = (run.number(table, row, column) or 0.0 for column in columns)
            key = cell(row, "category"), cell(row, "question_index"), cell(row, "stereotype")
            found.setdefault(key, {})[cell(row, "polarity")] = Answered(target, other, unknown, int(n))
    made = [Template(*key, answers) for key, answers in found.items() if {"neg", "nonneg"} <= answers.keys()]
    enough = [template for template in made if template.n >= MIN_EXAMPLES]
    return sorted(enough, key=lambda each: (-round(abs(each.bias), 9), each.category, each.index))
