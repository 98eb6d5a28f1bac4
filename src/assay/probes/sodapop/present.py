"""How a SODAPOP run is shown: what was asked, which words fool the model for which names, and what may explain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

from assay.presentation.elements import (
    Block,
    DotCell,
    HeadlineEstimate,
    Paragraphs,
    Presentation,
    Scorecard,
    Section,
    SummaryCard,
    TextRole,
)
from assay.presentation.rich_text import Code, NumberText, Strong, Text, Verbatim, join_texts
from assay.probes.sodapop import GROUPS, PAPER, PROBE, say_group, spelled
from assay.probes.sodapop.present_groups import (
    behind_pair,
    count_names,
    groups_in_short,
    groups_told_apart,
    names,
    picture,
)
from assay.probes.sodapop.present_words import traits, words_in_short, words_that_fool
from assay.probes.sodapop.read_tables import (
    GroupDifference,
    WordDifference,
    clearest,
    knows_pieces,
    read_pairs,
    separations,
    told_apart,
)
from assay.probes.sodapop.settings import LETTERS, counts_chosen
from assay.results.findings import Estimate
from assay.results.formatting import (
    cell,
    format_count,
    format_fixed,
    format_fixed_interval,
    format_p_equals,
    format_share,
    plural,
)
from assay.results.run import Run, RunKind
from assay.results.verdict import CLEAR, Chance

if TYPE_CHECKING:
    from assay.probes.sodapop.read_tables import WordDifference


ASKS = "short texts about one person, with different first names: which wrong answers fool the model for which names?"
PICTURE = (
    "each mark is a name. Names for which similar words fool the model lie close together (t-SNE of the success rates, "
    "as in SODAPOP’s Figure 4). Groups that lie apart are treated differently. Point at a mark to see its name; pick a "
    "group in the legend to see it alone."
)
MOST_TOLD = 4  # words in the first paragraphs
MOST_SEPARATED = 3  # pairs of groups in a sentence


def present(run: Run) -> Presentation:
    """What is shown of a run."""
    pairs = read_pairs(run)
    summary, in_short = RunSummary(run, pairs), words_in_short(run, pairs)
    return Presentation(
        name="SODAPOP",
        asks=ASKS,
        lead=lead(summary),
        card=card_of(summary),
        scorecard=Scorecard(
            [
                HeadlineEstimate(
                    estimate, say_group(estimate.group), behind_pair(estimate), task=PROBE.words.task(estimate.group)
                )
                for estimate in run.findings.estimates
            ],
            counted="n counts names, of both groups together.",
            probe=run.probe,
        ),
        cautions=[*_counted_before(run), *PROBE.cautions, *_small(run)],
        citation=[["The method: ", PAPER]],
        data_set="sodapop",
        sections=[
            *words_that_fool(run, pairs),
            Section(groups_told_apart(run, summary.separations, pairs)),
            Section(picture(run, "Names by the words that fool the model for them", PICTURE, "sodapop-picture")),
            Section(traits(run)),
            Section(names(run)),
        ],
        summary=[in_short] if summary.words else (),
        terminal=[in_short, *groups_in_short(summary.separations, len(summary.tested))]
        if pairs or summary.separations
        else (),
    )


def _counted_before(run: Run) -> list[Text]:
    """That an older version counted success in another way; nothing if it did not."""
    if counts_chosen(run.info.settings):
        return []
    return [
        "An older version made these numbers. It counted a wrong answer if it was likelier than the right one, even "
        "where the model chose the third answer. They cannot be compared with those of other runs; `assay score "
        "sodapop RUN` counts the same answers again."
    ]


def _small(run: Run) -> list[Text]:
    """What a small run cannot say."""
    remarks: list[Text] = []
    least, only, most = (run.info.settings.get(name) for name in ("min_count", "context", "contexts"))
    texts = 1 if isinstance(only, int) and only else most
    used = ""
    if isinstance(texts, int):
        used = f"This run used {'one text' if texts == 1 else f'at most {texts} texts'}. "
    if isinstance(least, int):
        counted = f"It counts a word if each name has {format_count(least)} or more wrong answers with it"
        used += f"{counted} (the paper: 50, over 50 texts). "
    if used:
        remarks.append(f"{used}Few texts and few answers show what happens in those texts, not in general.")
    if run.sample:
        larger = "). A larger run, with more names and texts, can detect smaller differences."
        remarks.append(["This run is smaller than the paper’s (", Verbatim(run.sample), larger])
    return remarks


# --- what the first paragraphs are made of


@dataclass(frozen=True)
class RunSummary:
    """What the first paragraphs are made of."""

    run: Run
    pairs: Sequence[GroupDifference]

    @cached_property
    def words(self) -> list[WordDifference]:
        """Those of all pairs, the clearest first."""
        return clearest(self.pairs)

    @cached_property
    def clear(self) -> list[WordDifference]:
        """The words that are statistically clear and worth a headline; the tables list smaller ones as well."""
        smallest = self.run.smallest("words")
        return [word for word in self.words if word.clear and abs(word.rd) >= smallest]

    @property
    def clearly(self) -> str:
        smallest = self.run.smallest("words")
        return "statistically clear" + (f" with an RD of at least {smallest:g}" if smallest else "")

    @cached_property
    def separations(self) -> list[Estimate]:
        """The pairs of groups, those that are told apart most surely first."""

        def order(estimate: Estimate) -> tuple[bool, float, float]:
            return estimate.value is None, 1.0 if estimate.p is None else estimate.p, -(estimate.value or 0.0)

        return sorted(separations(self.run.findings), key=order)

    @cached_property
    def tested(self) -> list[Estimate]:
        """The pairs of groups that were tested."""
        return [estimate for estimate in self.separations if estimate.chance in (Chance.ABOVE, Chance.WITHIN)]

    @property
    def vocabulary(self) -> str:
        return plural(_different(self.words), "word")

    @property
    def compared(self) -> str:
        return f"{plural(len(self.pairs), 'comparison')} of two groups"

    @property
    def where_clear(self) -> str:
        return f"{len({(word.group_a, word.group_b) for word in self.clear})} of {self.compared}"

    @property
    def leading(self) -> list[WordDifference]:
        """The clearest words, each once, with the groups in the order that makes RD positive."""
        once: dict[str, WordDifference] = {}
        for word in self.clear or self.words[:1]:
            once.setdefault(word.word, word.towards_first)
        return list(once.values())[:MOST_TOLD]


def _different(words: Sequence[WordDifference]) -> int:
    return len({word.word for word in words})


def _unset(run: Run, name: str) -> bool:
    """Whether a setting exists and has no value, which means the probe's own choice."""
    return run.info.settings.get(name, "") is None


def _sentence(summary: RunSummary, word: WordDifference) -> Text:
    """A difference in a sentence."""
    between = "no interval" if word.low is None else f"{summary.run.level} {format_fixed_interval(word.low, word.high)}"
    q = "" if word.q is None else f", q {format_p_equals(word.q)}"
    return [*rates_of(word, summary.run), " (RD ", NumberText(f"{format_fixed(word.rd)}, {between}"), f"{q})"]


# --- the first paragraphs


def lead(summary: RunSummary) -> list[Block]:
    items: list[Block] = []
    if summary.clear:
        many = plural(_different(summary.clear), "word fools", "words fool")
        words: Text = [
            Strong(f"{many} the model at different rates for different groups, {summary.clearly}"),
            f" (q at most {CLEAR} after correction). There are {plural(len(summary.clear), 'such difference')} among "
            f"{summary.vocabulary}, in {summary.where_clear}. The clearest:",
        ]
        items = [Paragraphs([["W", _sentence(summary, word)] for word in summary.leading], TextRole.ITEMS)]
    elif any(word.q is not None for word in summary.words):
        words = [
            Strong(f"No word is {summary.clearly}"),
            f" after correction for {summary.vocabulary} in {summary.compared}. ",
            "The clearest difference is small: " if summary.words[0].clear else "The largest difference is not clear: ",
            *("w", _sentence(summary, summary.leading[0]), "."),
        ]
    else:
        words = [Strong("No word could be compared:"), " none was tested in two groups of names."]
    rest = [text for text in (_separation(summary), _reasons(summary)) if text]
    return [Paragraphs([_what_was_asked(summary), words]), *items, *([Paragraphs(rest)] if rest else [])]


def _what_was_asked(summary: RunSummary) -> Text:
    run, count = summary.run, count_names(summary.run)
    return [
        *("The model ", Strong(Verbatim(run.model)), " was given short texts about one person, each with a question "),
        *("about that person and ", _answers(run), f" The same text was used with different first names{count}. "),
        "The right answer does not depend on the name. If wrong answers with a certain word fool the model more often "
        "for one group of names than for another, the model associates that word more with that group.",
    ]


_LISTED = (
    " The three were listed together, in two orders, so that each answer changes its place; a wrong answer fools the "
    "model if the model chooses it (form=letters)."
)


def _answers(run: Run) -> Text:
    if run.info.kind is RunKind.PREDICTIONS:
        return (
            "several answers, one of them right. The questions were asked elsewhere, and only the results were scored "
            "here. In SODAPOP, a masked language model writes the wrong answers by replacing words of the right one."
        )
    named, itself = run.setting("fill_model"), " (the audited model itself)"
    return [
        "three answers: the right one and two wrong ones. A masked language model",
        *([" (", Verbatim(named), ")"] if named else [itself] if _unset(run, "fill_model") else []),
        " wrote the wrong answers by replacing words of the right one.",
        *([_LISTED] if run.setting("form") == LETTERS and counts_chosen(run.info.settings) else []),
    ]


def _separation(summary: RunSummary) -> Text:
    tested = summary.tested
    if not tested:
        return ""
    pairs = f"{plural(len(tested), 'pair')} of groups"
    if separated := [estimate for estimate in tested if told_apart(estimate)]:
        first, *others = separated[:MOST_SEPARATED]
        surest = [_agreed(first, in_full=True), *(_agreed(estimate, in_full=False) for estimate in others)]
        return [
            Strong(f"The words alone tell the groups apart in {len(separated)} of {pairs}"),
            ": two clusters of names, formed without knowing the groups, match them better than chance "
            f"(q at most {CLEAR}). The clearest: ",
            *(join_texts(surest, "; "), "."),
        ]
    return [
        Strong(f"The words alone do not tell the groups apart in any of {pairs}:"),
        " two clusters of names, formed without knowing the groups, do not match them better than chance "
        f"(q at most {CLEAR}). The closest: ",
        *(_agreed(tested[0], in_full=True), "."),
    ]


def _agreed(estimate: Estimate, *, in_full: bool) -> Text:
    cluster = " of names in the cluster of their group" if in_full else ""
    floor = "" if estimate.floor is None else f", chance level {format_share(estimate.floor)}"
    return [
        Verbatim(say_group(estimate.group)),
        f" ({format_share(estimate.value)}{cluster}{floor}, q {format_p_equals(estimate.q)})",
    ]


def _reasons(summary: RunSummary) -> Text:
    """What else could cause a difference: the wrong answers, and the names' spelling and frequency."""
    words, came = summary.clear or summary.words, Strong("Where differences come from:")
    pools = [(word.rd_pools, word.rd) for word in words if word.rd_pools is not None]
    match summary.run.setting("distractors"):
        case "shared":
            return [
                came,
                " all names had the same wrong answers (shared pools), so differences come from the audited model, not "
                "from the one that wrote the answers. ",
                _spelling(summary),
            ]
        case "per_name" if pools:
            which = f"the {plural(len(words), 'clear difference')}" if summary.clear else "all words"
            same = sum(alone * rd > 0 for alone, rd in pools)
            return [
                came,
                " each name had its own wrong answers, as in the paper (per-name pools), so part of a difference may "
                f"come from the model that wrote them. Over {which}, RD averages "
                f"{format_fixed(fmean(abs(word.rd) for word in words))} in absolute value. The pools alone, with a "
                f"model that ignores names, would give {format_fixed(fmean(abs(alone) for alone, _ in pools))}, with "
                f"the same sign in {format_count(same)} of {format_count(len(words))}. Shared pools (",
                *(Code("--set distractors=shared"), ") avoid this. ", _spelling(summary)),
            ]
    return _spelling(summary)


def _spelling(summary: RunSummary) -> str:
    clear = summary.clear
    controlled = [word for word in clear if word.rd_controlled is not None]
    if not controlled:
        return ""
    explained = sum(word.explained for word in controlled)
    shrink, change = ("shrinks", "changes") if explained == 1 else ("shrink", "change")
    reason = "; there the names’ spelling or rarity may be the reason, not the group" if explained else ""
    differ = "how frequent they are. With this"
    if knows_pieces(summary.run):
        differ = "how many tokens they have and how frequent they are. With both"
    return (
        f"Names also differ in {differ} regressed out, {format_count(explained)} of "
        f"{plural(len(controlled), 'clear difference')} {shrink} to less than half or {change} sign{reason}."
    )


# --- the first screen: the clearest word


def _succeeded(run: Run) -> str:
    """What a wrong answer did that counts as success."""
    return "chosen" if counts_chosen(run.info.settings) else "likelier than the right one"


def rates_of(word: WordDifference, run: Run) -> list[Text]:
    """How often wrong answers with a word were chosen for both groups, without the first letter and the full stop."""
    a, b = word.sides
    begin: list[Text] = ["rong answers with “", Strong(Verbatim(word.word)), f"” were {_succeeded(run)} "]
    if word.sr_a is None or word.sr_b is None:
        return [*begin, "more often for ", Verbatim(a), " names than for ", Verbatim(b), " names"]
    first, second = f"{format_share(word.sr_a)} of the time for ", f"{format_share(word.sr_b)} for "
    return [*begin, first, Verbatim(a), " names, ", second, Verbatim(b), " names"]


def card_of(summary: RunSummary) -> SummaryCard:
    """The card: the clearest word, or the largest difference where none is clear."""
    if not summary.words:
        sentence = "No word could be compared: none was tested in two groups of names."
        return SummaryCard(sentence, not_asked=not_asked(summary.run))
    word = summary.leading[0]
    a, b = word.sides
    start = "W" if summary.clear else "No word differs clearly between groups of names. The largest difference: w"
    if word.clear and not summary.clear:
        start = "Differences are clear but very small. The clearest: w"
    return SummaryCard(
        [start, *rates_of(word, summary.run), "."],
        label=["Relative difference of “", Verbatim(word.word), "”"],
        number=DotCell(word.rd, word.low, word.high, hollow=not word.clear),
        sides=(f"{b} names", f"{a} names"),
        ends=(-2.0, 2.0),
        severity=_severity(word),
        of="words",
        examples={"word": word.word},
        not_asked=not_asked(summary.run),
    )


def not_asked(run: Run) -> Text:
    """The paper's groups of names that the run left out, in a line; empty if it has all, or groups of its own."""
    groups = {cell(row, "group") for row in run.rows("names")}
    absent = [group for group in GROUPS if group not in groups]
    if not groups or not absent or not groups <= {*GROUPS}:
        return ""
    named = spelled(absent)
    return ["Not asked: ", join_texts([Verbatim(named[group]) for group in absent], last=" and "), " names."]


def _severity(word: WordDifference) -> str:
    """The difference between two success rates, of 100 wrong answers; empty if they are not known."""
    if word.sr_a is None or word.sr_b is None:
        return ""
    points = 100 * abs(word.sr_a - word.sr_b)
    return f"{points:.1f} of 100 wrong answers"
