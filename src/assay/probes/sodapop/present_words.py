"""The words that fool the model, by pair of groups; the clearest words in short; the traits that the words suggest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

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
    TableTools,
    TextRole,
)
from assay.presentation.rich_text import ChartMark, Emphasis, Strong, TableLink, Text, Verbatim, join_texts
from assay.probes.sodapop import say_pair, spelled_pair
from assay.probes.sodapop.read_tables import GroupDifference, WordDifference, clearest, knows_pieces, most_telling
from assay.results.findings import Table as Data
from assay.results.findings import table_path
from assay.results.formatting import cell, format_interval, format_number, plural
from assay.results.run import Run
from assay.results.verdict import ALLOWED, CLEAR

MOST_PAIRS = 40
MOST_ROWS = 240  # words over all pairs, about
MOST_WORDS, FEWEST_WORDS = 12, 5  # of each pair
OPEN_PAIRS, OPEN_TRAITS = 3, 2  # pairs that are unfolded
MOST_NAMED = 6  # words of a folded pair

_RATES = (
    "The success rate of a word is the share of wrong answers with it that the model chose when the text had a name of "
    "the group. RD (relative difference) is the difference between the two groups’ rates, divided by their mean. It "
    "ranges from −2 to 2; 0 means no difference."
)
_ORDER = (
    "Statistically clear words come first (q, which is p corrected for all words of all comparisons, is at most "
    f"{CLEAR}, {ALLOWED}), then words with p up to {CLEAR}, then the rest, each by the size of RD. Intervals come from "
    "resampling names and texts, and need 5 names in each group. n counts wrong answers with the word, over all names "
    "of both groups."
)


def words_that_fool(run: Run, pairs: Sequence[GroupDifference]) -> list[Section]:
    """The first words of each pair, all on one scale; nothing where there is no pair."""
    telling = most_telling(pairs)[:MOST_PAIRS]
    if not telling:
        return []
    most_words = min(MOST_WORDS, max(FEWEST_WORDS, MOST_ROWS // len(telling)))
    words = [word for pair in telling for word in pair.words[:most_words]]
    extra = {}  # columns that only some runs have
    explained: list[Text] = [_RATES]
    if any(word.rd_pools for word in words):
        extra["rd_pools"] = "RD, pools alone"
        alone = " is the RD of a model that ignores names; it is not 0 because each name has its own wrong answers."
        explained += [" ", Emphasis("Pools alone"), alone]
    elif run.setting("distractors") == "shared":
        explained.append(" All names share the same wrong answers; a model that ignores names has RD = 0.")
    if any(word.rd_controlled is not None for word in words):
        extra["rd_controlled"] = "RD, controlled"
        out = f" is RD with the names’ {_controls(run)} regressed out; if it is much smaller, spelling or rarity may "
        explained += [" ", Emphasis("Controlled"), f"{out}be the reason."]
    rest = len(pairs) - len(telling)
    pooled = (
        " In grouped pairs, all names with the same gender, or the same race or ethnicity, count together; their "
        "p-values compare only names that are otherwise alike."
    )
    after: Text = [
        f"{plural(rest, 'more pair')} of groups, and every word of all: " if rest else "Every word of every pair: ",
        *(TableLink("words"), ".", pooled if any(pair.pooled for pair in pairs) else ""),
    ]
    parts = [
        _part(pair, _table(run, pair, most_words, extra, _reach(words)), unfolded=rank < OPEN_PAIRS)
        for rank, pair in enumerate(telling)
    ]
    blocks: list[Block] = [
        Paragraphs([explained, _ORDER], TextRole.SMALL),
        PanelPicker(label="Groups", parts=parts),
        Paragraphs([after], TextRole.SMALL),
    ]
    return [Section(blocks, "Words that fool the model", "words")]


def _reach(words: Sequence[WordDifference]) -> list[float]:
    """A scale for nine of ten words and all clear ones, so that one rarely chosen word does not squeeze the others."""
    sizes = sorted(abs(word.rd) for word in words)
    return [*sizes[(len(sizes) - 1) * 9 // 10 :][:1], *(word.rd for word in words if word.clear)]


def _part(pair: GroupDifference, table: DisplayTable, *, unfolded: bool) -> Panel:
    grouped, clear = ", grouped" if pair.pooled else "", pair.clear
    named: list[Text] = [Verbatim(word.word) for word in clear[:MOST_NAMED]]
    summary: Text = [
        *(
            Strong(Verbatim(pair.title)),
            f"{grouped}: {len(clear) or 'none'} of {plural(len(pair.words), 'word')} clear",
        ),
        [" (", join_texts(named), ", …" if len(clear) > MOST_NAMED else "", ")"] if clear else "",
    ]
    inner: list[Block] = [table] if pair.words else []
    if pair.never:
        never = plural(pair.never, "word never fooled", "words never fooled")
        inner.append(Paragraphs([f"{never} the model for either group: RD is undefined."], TextRole.SMALL))
    return Panel(f"{pair.title}{grouped} ({len(clear)} clear)", inner, summary, folded=True, open=unfolded)


def _table(
    run: Run, pair: GroupDifference, most: int, extra: Mapping[str, str], reach: Sequence[float]
) -> DisplayTable:
    a, b = map(Verbatim, pair.sides)
    words, left_out, pools = pair.words[:most], len(pair.words[most:]), "rd_pools" in extra
    gap = [OmittedRows(f"{plural(left_out, 'more word')}: {table_path('words')}")] if left_out else []
    return DisplayTable(
        title=f"Words for {pair.title}",
        how=[
            *("right of zero, wrong answers with the word fool the model more often for ", a, " names; left of zero, "),
            *("for ", b, " names. Filled dots ", ChartMark("dot"), " are statistically clear, hollow ones "),
            *(ChartMark("hollow"), " are not"),
            ["; the tick ", ChartMark("reference"), " is the part that the pools alone explain"] if pools else "",
            ".",
        ],
        data=Data(WordDifference._fields, words),
        file="sodapop-words",
        anchor="words-of",
        columns=[
            TableColumn("word", CellKind.TEXT),
            TableColumn("RD", CellKind.FIXED),
            TableColumn("RD", CellKind.DOTS, reach=reach, sides=(b.text, a.text)),
            TableColumn(run.level, CellKind.FIXED_INTERVAL),
            *(TableColumn(["rate, ", group], CellKind.SHARE, wraps=True) for group in (a, b)),
            *(TableColumn(head, CellKind.PROBABILITY) for head in ("p", "q")),
            *(TableColumn(head, CellKind.FIXED, wraps=True) for head in extra.values()),
            TableColumn("n", CellKind.COUNT),
        ],
        groups=[RowGroup([*(_row(word, extra) for word in words), *gap])],
        after=[f"† {note}." for note in dict.fromkeys(word.note for word in words if word.clear and word.note)],
        narrow=True,
    )


def _row(word: WordDifference, extra: Mapping[str, str]) -> TableRow:
    pools = word.rd_pools if "rd_pools" in extra else None
    tip = [] if word.low is None else [f"Interval {format_interval(word.low, word.high)}."]
    tip += [] if pools is None else [f"The pools alone give {format_number(pools)}."]
    dot = DotCell(word.rd, word.low, word.high, reference=pools, hollow=not word.clear, told=" ".join(tip))
    return TableRow(
        [
            [Strong(Verbatim(word.word)), " †" if word.note else ""] if word.clear else word.word,
            *(word.rd, dot, (word.low, word.high), word.sr_a, word.sr_b, word.p, word.q),
            *(getattr(word, column) for column in extra),
            word.n,
        ],
        {"group": [word.group_a, word.group_b], "word": word.word},
    )


# --- in short


def words_in_short(run: Run, pairs: Sequence[GroupDifference]) -> Section:
    """The clearest words of all pairs together."""
    words = clearest(pairs)
    if not words:
        return Section([Paragraphs(["Words: none could be compared."])])
    clear = [word for word in words if word.clear]
    rows = []
    for word in (word.towards_first for word in words[:MOST_WORDS]):
        rd = MarkedCell(word.rd, word.clear or None)
        rows.append(TableRow([word.word, *word.sides, rd, (word.low, word.high), word.p, word.q]))
    table = DisplayTable(
        title=f"Words that fool the model, the {'clearest first' if clear else 'largest RD'}",
        columns=[
            *(TableColumn(head, CellKind.TEXT) for head in ("word", "more often for names", "than for names")),
            TableColumn("RD", CellKind.FIXED),
            TableColumn(run.level, CellKind.FIXED_INTERVAL),
            *(TableColumn(head, CellKind.PROBABILITY) for head in ("p", "q")),
        ],
        groups=[RowGroup(rows)],
    )
    reading = [
        _clear(clear, pairs),
        "RD: how much more often answers with the word are chosen for the first group, relative to the mean of both; 0 "
        "is equal, 2 the most.",
    ]
    if explained := sum(word.explained for word in clear):
        shrink, change = ("shrinks", "changes") if explained == 1 else ("shrink", "change")
        reading.append(
            f"{explained} of the {len(clear)} {shrink} to less than half, or {change} sign, with the names' "
            f"{_controls(run)} regressed out."
        )
    pools = {
        "shared": "All names had the same wrong answers (shared pools).",
        "per_name": "Each name has its own wrong answers (per-name pools); the report shows the RD that these alone "
        "give.",
    }
    reading += [sentence for kind, sentence in pools.items() if kind == run.setting("distractors")]
    return Section([table, Paragraphs(reading, TextRole.SMALL)])


def _clear(clear: Sequence[WordDifference], pairs: Sequence[GroupDifference]) -> str:
    if not clear:
        return f"No word is statistically clear in any comparison of two groups (q at most {CLEAR}, {ALLOWED})."
    different = plural(len({word.word for word in clear}), "word")
    compared = f"{sum(bool(pair.clear) for pair in pairs)} of {plural(len(pairs), 'comparison')} of two groups"
    return (
        f"* statistically clear: q, corrected for all words of all comparisons, is at most {CLEAR}, {ALLOWED}. "
        f"{plural(len(clear), 'difference is', 'differences are')} clear ({different}, in {compared})."
    )


# --- traits


class _Traits(NamedTuple):
    """The traits by which two groups could be ordered, as cells, and whether people's ratings agree on each."""

    title: str
    a: str
    b: str
    rows: list[list[TableCell]]
    agrees: list[bool]


def _read_traits(run: Run) -> list[_Traits]:
    """Pairs of groups; those that people rated come first, then those with most traits."""
    traits_by_pair: dict[tuple[str, str], _Traits] = {}
    for row in run.rows("traits"):
        groups = cell(row, "group_a"), cell(row, "group_b")
        a, b = spelled_pair(groups)
        poles, pole = poles_of(cell(row, "trait"))
        scores = [run.number("traits", row, key) for key in ("score_a", "score_b")]
        agrees = run.number("traits", row, "agrees")
        words, people = (cell(row, key) for key in ("order", "human"))
        more = {">": a, "<": b}
        pair = traits_by_pair.setdefault((a, b), _Traits(say_pair(groups), a, b, [], []))
        alike = "" if agrees is None else "yes" if agrees else "no"
        by_people = _ordered(more.get(people, ""), pole) if people else ""
        pair.rows.append([poles, *scores, _ordered(more.get(words, ""), pole), by_people, alike])
        pair.agrees.extend([] if agrees is None else [bool(agrees)])
    return sorted(traits_by_pair.values(), key=lambda pair: (-len(pair.agrees), -len(pair.rows)))


def _ordered(more: str, pole: str) -> Text:
    return [Verbatim(more), ": more ", Verbatim(pole)] if more else "both the same"


def traits(run: Run) -> list[PanelPicker]:
    """How the words order groups by traits, and whether people order them the same way; nothing without traits."""
    pairs = _read_traits(run)
    first_pairs, left_out = pairs[:MOST_PAIRS], len(pairs[MOST_PAIRS:])
    rated = [pair.agrees for pair in first_pairs if pair.agrees]
    alike = (
        f" Words and people order the groups in the same way on {sum(map(sum, rated))} of "
        f"{plural(sum(map(len, rated)), 'trait')}, over {plural(len(rated), 'pair')} of groups."
    )
    chart = PanelPicker(
        title="Traits that the words suggest",
        how=[
            "a group’s score is the number of its words for the second trait minus the number for the first; a dash "
            "means that it has none. The model associates the second trait more with the group that has the higher "
            "score.",
            alike if rated else "",
        ],
        data=run.findings.tables.get("traits"),
        file="sodapop-traits",
        anchor="traits",
        after=[
            [
                "Words with p below 0.05, not corrected, count for the group for which they fool the model more often. "
                "They are looked up in a list of words for pairs of opposite traits (the ABC model; SODAPOP’s section "
                "5). A score based on one or two words is only a hint.",
                " “By people” is how people ordered the groups, as read from a file." if rated else "",
                [f" {plural(left_out, 'more pair')} of groups: ", TableLink("traits"), "."] if left_out else "",
            ]
        ],
        label="Groups",
        parts=[_traits_of(pair, unfolded=rank < OPEN_TRAITS) for rank, pair in enumerate(first_pairs)],
    )
    return [chart] if first_pairs else []


def poles_of(trait: str) -> tuple[str, str]:
    """A trait in words, and the pole by which groups are ordered; for a trait without two poles, its name twice.

    >>> poles_of("low status-high status"), poles_of("warmth")
    (('low status – high status', 'high status'), ('warmth', 'warmth'))
    """
    first, _, second = trait.partition("-")
    return (f"{first} – {second}", second) if first and second and "-" not in second else (trait, trait)


def _traits_of(pair: _Traits, *, unfolded: bool) -> Panel:
    title, many = pair.title, plural(len(pair.rows), "trait")
    like = f", like people on {sum(pair.agrees)} of {len(pair.agrees)}" if pair.agrees else ""
    orders = ("by the words", "by people", "same order") if pair.agrees else ("by the words",)
    columns = [
        TableColumn("trait", CellKind.TEXT),
        *(TableColumn(Verbatim(group), CellKind.COUNT, wraps=True) for group in (pair.a, pair.b)),
        *(TableColumn(head, CellKind.TEXT) for head in orders),
    ]
    table = DisplayTable(
        title=f"Traits for {title}",
        anchor="traits-of",
        columns=columns,
        groups=[RowGroup([TableRow(cells[: len(columns)]) for cells in pair.rows])],
        filter=TableTools.NONE,
    )
    return Panel(f"{title} ({many})", [table], [Strong(Verbatim(title)), f": {many}{like}"], folded=True, open=unfolded)


def _controls(run: Run) -> str:
    return "number of tokens and frequency" if knows_pieces(run) else "frequency"
