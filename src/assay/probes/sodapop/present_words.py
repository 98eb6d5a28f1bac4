"""The words that fool the model, pair of groups by pair of groups, all on one scale; and the clearest in short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.blocks import (
    Block,
    Column,
    Dot,
    Emphasis,
    File,
    Gap,
    Group,
    Kind,
    Mark,
    Marked,
    Name,
    Part,
    Pick,
    Prose,
    Role,
    Row,
    Section,
    Strong,
    Table,
    Text,
    listed,
)
from assay.findings import Table as Data
from assay.probes.sodapop import people_words
from assay.probes.sodapop.differences import Pair, Word, clearest, most_telling
from assay.run import Run
from assay.verdict import CLEAR
from assay.wording import interval, number, plural

MOST_PAIRS = 40
MOST_ROWS = 240  # words over all pairs, about
MOST_WORDS, FEWEST_WORDS = 12, 5  # of each pair
OPEN_PAIRS = 3  # that are unfolded
MOST_NAMED = 6  # words of a folded pair

_RATES = (
    "The success rate of a word is the share of the wrong answers with it that the model chose, with a name of the "
    "group in the text. RD is the difference of the two groups’ rates, divided by their mean: it runs from −2 to 2, "
    "and 0 is no difference."
)
_ORDER = (
    "Words that are clear of chance come first (q, which is p corrected for the number of words, is at most "
    f"{CLEAR}), then those with p up to {CLEAR}, then the rest, each by the size of RD. Intervals come from drawing "
    "names and texts anew, and need 5 names in each group. n counts wrong answers with the word, over all names of "
    "both groups."
)


def words_that_fool(run: Run, pairs: Sequence[Pair]) -> list[Section]:
    """The first words of each pair; nothing where there is no pair."""
    telling = most_telling(pairs)[:MOST_PAIRS]
    if not telling:
        return []
    each = min(MOST_WORDS, max(FEWEST_WORDS, MOST_ROWS // len(telling)))
    shown = [word for pair in telling for word in pair.words[:each]]
    tables = _Tables(run, shown, each)
    parts = [_part(tables, pair, place < OPEN_PAIRS) for place, pair in enumerate(telling)]
    rest = len(pairs) - len(telling)
    every = f"{plural(rest, 'more pair')} of groups, and every word of all: " if rest else "Every word of every pair: "
    pooled = (
        " Pooled pairs take all names with one attribute together; their p-values compare only names that are "
        "otherwise alike."
    )
    after: Text = [every, File("words"), ".", pooled if any(pair.pooled for pair in pairs) else ""]
    how = Prose([[_RATES, *_explained(run, tables)], _ORDER], Role.SMALL)
    return [
        Section(
            [how, Pick(label="Groups", parts=parts), Prose([after], Role.SMALL)], "Words that fool the model", "words"
        )
    ]


def _explained(run: Run, tables: _Tables) -> list[Text]:
    said: list[Text] = []
    if tables.has_pools:
        alone = " is the RD that a model would have which ignores names, since each name has wrong answers of its own."
        said += [" ", Emphasis("Pools alone"), alone]
    elif run.setting("distractors") == "shared":
        said.append(" All names share the same wrong answers, so that these alone give RD = 0.")
    if tables.has_controlled:
        out = " is RD with the names’ pieces and frequency regressed out; where it is much smaller, spelling or rarity "
        said += [" ", Emphasis("Controlled"), f"{out}may be the reason."]
    return said


def _part(tables: _Tables, pair: Pair, unfolded: bool) -> Part:
    pooled, clear = ", pooled" if pair.pooled else "", pair.clear
    named: list[Text] = [Name(word.word) for word in clear[:MOST_NAMED]]
    said: Text = [
        *(Strong(Name(pair.said)), f"{pooled}: {len(clear) or 'none'} of {plural(len(pair.words), 'word')} clear of "),
        *("chance", [" (", listed(named), ", …" if len(clear) > MOST_NAMED else "", ")"] if clear else ""),
    ]
    inner: list[Block] = [tables.of(pair)] if pair.words else []
    if pair.never:
        never = plural(pair.never, "word never fooled", "words never fooled")
        inner.append(Prose([f"{never} the model about either group: RD is undefined."], Role.SMALL))
    return Part(f"{pair.said}{pooled} ({len(clear)} clear)", inner, said, folded=True, open=unfolded)


class _Tables:
    """Makes the tables of the pairs, whose words share one scale; `each` is how many words each has."""

    def __init__(self, run: Run, shown: Sequence[Word], each: int) -> None:
        self.run, self.each = run, each
        self.has_pools = any(word.pools for word in shown)
        self.has_controlled = any(word.controlled is not None for word in shown)
        self.reach = _reach(shown)

    def of(self, pair: Pair) -> Table:
        a, b = Name(people_words(pair.a)), Name(people_words(pair.b))
        shown, left_out = pair.words[: self.each], len(pair.words[self.each :])
        columns = [
            Column("word", Kind.TEXT),
            Column("RD", Kind.FIXED),
            Column("RD", Kind.DOTS, reach=self.reach, sides=(b.text, a.text)),
            Column(self.run.level, Kind.FIXED_INTERVAL),
            Column(["rate, ", a], Kind.SHARE, wraps=True),
            Column(["rate, ", b], Kind.SHARE, wraps=True),
            Column("p", Kind.PROBABILITY),
            Column("q", Kind.PROBABILITY),
            *([Column("RD, pools alone", Kind.FIXED, wraps=True)] if self.has_pools else []),
            *([Column("RD, controlled", Kind.FIXED, wraps=True)] if self.has_controlled else []),
            Column("n", Kind.COUNT),
        ]
        gap = [Gap(f"{plural(left_out, 'more word')}: tables/words.csv")] if left_out else []
        return Table(
            title=f"Words for {pair.said}",
            how=[
                *("right of zero, wrong answers with the word fool the model more often about ", a, " names, left "),
                *("about ", b, " names. A filled dot ", Mark("dot"), " is clear of chance, a hollow one "),
                *(Mark("hollow"), " is not"),
                ["; the tick ", Mark("reference"), " is the part that the pools alone explain"]
                if self.has_pools
                else "",
                ".",
            ],
            data=_data(shown),
            file="sodapop-words",
            anchor="words-of",
            columns=columns,
            groups=[Group([*map(self._row, shown), *gap])],
            narrow=True,
        )

    def _row(self, word: Word) -> Row:
        pools = word.pools if self.has_pools else None
        told = [] if word.low is None else [f"Interval {interval(word.low, word.high)}."]
        told += [] if pools is None else [f"The pools alone give {number(pools)}."]
        dot = Dot(word.rd, word.low, word.high, reference=pools, hollow=not word.clear, told=" ".join(told))
        return Row(
            [
                Strong(Name(word.word)) if word.clear else word.word,
                *(word.rd, dot, (word.low, word.high), word.sr_a, word.sr_b, word.p, word.q),
                *([word.pools] if self.has_pools else []),
                *([word.controlled] if self.has_controlled else []),
                word.n,
            ],
            {"group": [word.a, word.b], "word": word.word},
        )


def _reach(words: Iterable[Word]) -> list[float]:
    """A scale for nine of ten words and all that are clear: one that hardly ever wins must not squeeze the others."""
    rows = list(words)
    sizes = sorted(abs(word.rd) for word in rows)
    return [*sizes[(len(sizes) - 1) * 9 // 10 :][:1], *(word.rd for word in rows if word.clear)]


def _data(words: Iterable[Word]) -> Data:
    columns = ("group_a", "group_b", "word", "rd", "low", "high", "sr_a", "sr_b", "p", "q", "rd_pools", "rd_controlled")
    rows = [
        [w.a, w.b, w.word, w.rd, w.low, w.high, w.sr_a, w.sr_b, w.p, w.q, w.pools, w.controlled, w.n] for w in words
    ]
    return Data((*columns, "n"), rows)


# --- in short


def words_in_short(run: Run, pairs: Sequence[Pair]) -> Section:
    """The clearest words of all pairs together."""
    found = clearest(pairs)
    if not found:
        return Section([Prose(["Words: none could be compared."])])
    clear = [word for word in found if word.clear]
    table = Table(
        title=f"Words that fool the model, the {'clearest first' if clear else 'largest RD'}",
        columns=[
            *(Column(head, Kind.TEXT) for head in ("word", "more often for", "than for")),
            Column("RD", Kind.FIXED),
            Column(run.level, Kind.FIXED_INTERVAL),
            Column("p", Kind.PROBABILITY),
            Column("q", Kind.PROBABILITY),
        ],
        groups=[Group([_short(word.towards_first) for word in found[:MOST_WORDS]])],
    )
    reading = [
        "RD: by how much more often the word wins for the first group, relative to the mean of both; 0 is even, 2 the "
        "most.",
        *_controlled(clear),
        *_pools(run),
    ]
    return Section([table, Prose([_clear(clear, pairs), *reading], Role.SMALL)])


def _short(word: Word) -> Row:
    groups = people_words(word.a), people_words(word.b)
    return Row([word.word, *groups, Marked(word.rd, word.clear or None), (word.low, word.high), word.p, word.q])


def _clear(clear: Sequence[Word], pairs: Sequence[Pair]) -> str:
    if not clear:
        return f"No word is clear of chance: q is above {CLEAR} in each comparison of two groups."
    different = plural(len({word.word for word in clear}), "word")
    compared = f"{sum(bool(pair.clear) for pair in pairs)} of {plural(len(pairs), 'comparison')} of two groups"
    return (
        f"* clear of chance: q, corrected for the number of words, is at most {CLEAR}. So are "
        f"{plural(len(clear), 'difference')} of {different}, in {compared}."
    )


def _controlled(clear: Sequence[Word]) -> list[str]:
    explained = sum(word.explained for word in clear)
    shrink = (
        "shrinks to less than half, or turns round" if explained == 1 else "shrink to less than half, or turn round"
    )
    out = f"{explained} of the {len(clear)} {shrink}, with the names' pieces and frequency regressed out."
    return [out] if explained else []


def _pools(run: Run) -> list[str]:
    match run.setting("distractors"):
        case "shared":
            return ["All names were tried with the same wrong answers (shared pools)."]
        case "per_name":
            own = (
                "Each name has wrong answers of its own (per-name pools): the report has the RD that these alone give."
            )
            return [own]
    return []
