"""How a SODAPOP run is shown: what was asked, which words fool the model about whom, and what may explain it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from assay.blocks import Block, Presentation, Prose, Role, Score, Scorecard, Section
from assay.findings import Estimate
from assay.probes.sodapop import PAPER, PROBE, people_words, say_group
from assay.probes.sodapop.card import card_of
from assay.probes.sodapop.differences import (
    Pair,
    Word,
    clearest,
    knows_pieces,
    read_pairs,
    separations,
    tested_by,
    told_apart,
)
from assay.probes.sodapop.present_groups import behind_pair, groups_in_short, groups_told_apart, names, picture
from assay.probes.sodapop.present_words import traits, words_in_short, words_that_fool
from assay.probes.sodapop.settings import LETTERS
from assay.run import Kind, Run
from assay.text import Code, Figure, Name, Strong, Text, listed
from assay.verdict import CLEAR, Chance
from assay.wording import cell, count, equals, fixed, fixed_interval, plural, share

ASKS = "short texts about somebody, with one first name after another: which wrong answers fool the model about whom?"
PICTURE = (
    "each mark is a name, put near names about which similar words fool the model (t-SNE of the success rates, as in "
    "SODAPOP’s Figure 4). Groups that lie apart are treated differently; point at a mark for its name, pick a group in "
    "the legend to see it alone."
)
MOST_TOLD = 4  # words in the first paragraphs
MOST_SEPARATED = 3  # pairs of groups in a sentence

CODES = {"EA": "European American", "AA": "African American", "AS": "Asian", "HS": "Hispanic"}
"""What the paper's names of groups stand for."""


def present(run: Run) -> Presentation:
    """What is shown of a run."""
    pairs = read_pairs(run)
    found, in_short = Found(run, pairs), words_in_short(run, pairs)
    return Presentation(
        name="SODAPOP",
        asks=ASKS,
        lead=lead(found),
        card=card_of(found),
        scorecard=Scorecard(
            [Score(e, say_group(e.group), behind_pair(e), task=PROBE.task(e.group)) for e in run.findings.estimates],
            counted="n counts names, of both groups together.",
            probe=run.probe,
        ),
        cautions=[*PROBE.cautions, *_small(run)],
        citation=[["The method: ", PAPER]],
        data_set="sodapop",
        sections=[
            *words_that_fool(run, pairs),
            Section(groups_told_apart(run, found.separations, pairs)),
            Section(picture(run, "Names by the words that fool the model about them", PICTURE, "sodapop-picture")),
            Section(traits(run)),
            Section(names(run)),
        ],
        summary=[in_short] if found.words else (),
        terminal=[in_short, *groups_in_short(found.separations, len(found.tested))]
        if pairs or found.separations
        else (),
    )


def _small(run: Run) -> list[Text]:
    """What a small run cannot say."""
    said: list[Text] = []
    least, only, most = (run.info.settings.get(name) for name in ("min_count", "context", "contexts"))
    texts = 1 if isinstance(only, int) and only else most
    used = ""
    if isinstance(texts, int):
        used = f"This run used {'one text' if texts == 1 else f'at most {texts} texts'}. "
    if isinstance(least, int):
        counted = f"It counts a word if each name has {count(least)} or more wrong answers with it"
        used += f"{counted} (the paper: 50, over 50 texts). "
    if used:
        said.append(f"{used}Few texts and few answers show what happens in these, not in general.")
    if run.sample:
        larger = "); a larger one, with more names and texts, tells more from chance."
        said.append(["This run is smaller than the paper’s (", Name(run.sample), larger])
    return said


# --- what the first paragraphs are made of


@dataclass(frozen=True)
class Found:
    """What the first paragraphs are made of."""

    run: Run
    pairs: Sequence[Pair]

    @cached_property
    def words(self) -> list[Word]:
        """Those of all pairs, the clearest first."""
        return clearest(self.pairs)

    @cached_property
    def clear(self) -> list[Word]:
        """Those that are clear of chance and worth a headline; the tables list smaller ones as well."""
        smallest = self.run.smallest("words")
        return [word for word in self.words if word.clear and abs(word.rd) >= smallest]

    @property
    def clearly(self) -> str:
        smallest = self.run.smallest("words")
        return f"clear of chance and with an RD of at least {smallest:g}" if smallest else "clear of chance"

    @cached_property
    def separations(self) -> list[Estimate]:
        """The pairs of groups, those that are told apart most surely first."""

        def order(e: Estimate) -> tuple[bool, float, float]:
            return e.value is None, 1.0 if e.p is None else e.p, -(e.value or 0.0)

        return sorted(separations(self.run.findings), key=order)

    @cached_property
    def tested(self) -> list[Estimate]:
        """The pairs of groups that could be told apart, or not."""
        return [e for e in self.separations if e.chance in (Chance.ABOVE, Chance.WITHIN)]

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
    def told(self) -> list[Word]:
        """The clearest, each word once, with the groups in the order that makes RD positive."""
        once: dict[str, Word] = {}
        for word in self.clear or self.words[:1]:
            once.setdefault(word.word, word.towards_first)
        return list(once.values())[:MOST_TOLD]

    @property
    def codes(self) -> Mapping[str, str]:
        """The paper's abbreviations, where its groups were asked about."""
        if self.run.info.settings.get("groups") is not None:
            return {}
        asked = {people_words(cell(row, "group")).split(" ")[0] for row in self.run.rows("names")}
        return {code: said for code, said in CODES.items() if code in asked}

    def spelt(self, group: str) -> str:
        """A group without abbreviations."""
        first, *rest = people_words(group).split(" ")
        return " ".join([self.codes.get(first, first), *rest])


def _different(words: Sequence[Word]) -> int:
    return len({word.word for word in words})


def _unset(run: Run, name: str) -> bool:
    """Whether a setting is there and has no value, so that the probe's own choice holds."""
    return run.info.settings.get(name, "") is None


def _told(found: Found, word: Word, say: Callable[[str], str] = people_words) -> Text:
    """A difference in a sentence; `say` says how groups are called."""
    often, than = how_much(word.sr_a, word.sr_b)
    known = word.sr_a is not None and word.sr_b is not None
    rates = f"{share(word.sr_a)} and {share(word.sr_b)} of the times; " if known else ""
    between = "no interval" if word.low is None else f"{found.run.level} {fixed_interval(word.low, word.high)}"
    q = "" if word.q is None else f", q {equals(word.q)}"
    a, b = Name(say(word.group_a)), Name(say(word.group_b))
    return [
        *("“", Strong(Name(word.word)), f"” fooled the model {often} about ", a, f" names {than} about ", b),
        *(f" names ({rates}RD ", Figure(f"{fixed(word.rd)}, {between}"), f"{q})"),
    ]


def how_much(more: float | None, less: float | None) -> tuple[str, str]:
    """How much more often something happens, and the word to go on with.

    >>> how_much(0.106, 0.1), how_much(0.25, 0.1), how_much(0.1, 0.0), how_much(None, 0.1)
    (('6.0% more often', 'than'), ('2.5 times as often', 'as'), ('more often', 'than'), ('more often', 'than'))
    """
    if more is None or not less or more <= less:
        return "more often", "than"
    ratio = more / less
    return (f"{ratio:.1f} times as often", "as") if ratio >= 2 else (f"{share(ratio - 1)} more often", "than")


# --- the first paragraphs


def lead(found: Found) -> list[Block]:
    items: list[Block] = []
    if found.clear:
        fool = f"{plural(_different(found.clear), 'word fools', 'words fool')} the model at different rates for "
        words: Text = [
            Strong(f"{fool}different groups, {found.clearly}"),
            f", of {found.vocabulary} that could be tested: {plural(len(found.clear), 'difference')} (q at most "
            f"{CLEAR}), in {found.where_clear}. The clearest:",
        ]
        items = [Prose([_told(found, word) for word in found.told], Role.ITEMS)]
    elif any(word.q is not None for word in found.words):
        words = [
            Strong(f"No word is {found.clearly}"),
            f" once the number of words and comparisons is allowed for, of {found.vocabulary} in {found.compared}. ",
            "The clearest, which is small: " if found.words[0].clear else "The largest, which could be chance: ",
            *(_told(found, found.told[0]), "."),
        ]
    else:
        words = [Strong("No word could be compared:"), " none was tested in two groups of names."]
    rest = [text for text in (_separation(found), _reasons(found)) if text]
    return [Prose([_asked(found), words]), *items, *([Prose(rest)] if rest else [])]


def _asked(found: Found) -> Text:
    run = found.run
    asked = [cell(row, "group") for row in run.rows("names")]
    many = f": {plural(len(asked), 'name')} from {plural(len({*asked}), 'group')}" if asked else ""
    codes = ", ".join(f"{code} {said}" for code, said in found.codes.items())
    return [
        *("The model ", Strong(Name(run.model)), " was given short texts about one person, each with a question "),
        *("about that person and ", _answers(run), f" The person had one first name after another{many}. Which "),
        "answer is right does not depend on the name. So if wrong answers with a certain word fool the model more "
        "often about names of one group than about names of another, the model connects that word with that group.",
        f" Groups are called as in the paper: {codes}." if codes else "",
    ]


_LISTED = (
    " The three were listed together, in two orders in which none keeps its place; a wrong answer fools the model "
    "where the model finds it likelier than the right one (form=letters)."
)


def _answers(run: Run) -> Text:
    if run.info.kind is Kind.PREDICTIONS:
        return (
            "several answers, one of them right. Here the questions were put elsewhere and only their results were "
            "scored; in the method, a masked language model writes the wrong answers, replacing words of the right one."
        )
    named, itself = run.setting("fill_model"), " (here the audited model itself)"
    return [
        "three answers: the right one and two wrong ones. The wrong answers were written by a masked language model",
        *([" (", Name(named), ")"] if named else [itself] if _unset(run, "fill_model") else []),
        ", which replaced words of the right answer.",
        *([_LISTED] if run.setting("form") == LETTERS else []),
    ]


def _separation(found: Found) -> Text:
    tested = found.tested
    if not tested:
        return ""
    pairs = f"{plural(len(tested), 'pair')} of groups"
    if separated := [e for e in tested if told_apart(e)]:
        surest = [_agreed(e, in_full=place == 0) for place, e in enumerate(separated[:MOST_SEPARATED])]
        return [
            Strong(f"The words alone tell the groups apart in {len(separated)} of {pairs}"),
            ": two clusters of names, made without knowing the groups, agree with them better than chance "
            f"({tested_by(tested)} at most {CLEAR}). The surest: ",
            *(listed(surest, "; "), "."),
        ]
    return [
        Strong(f"The words alone tell the groups apart in none of {pairs}:"),
        " nowhere do two clusters of names, made without knowing the groups, agree with them better than chance "
        f"({tested_by(tested)} at most {CLEAR}). The nearest to it: ",
        *(_agreed(tested[0], in_full=True), "."),
    ]


def _agreed(e: Estimate, *, in_full: bool) -> Text:
    cluster, chance = (" of names in the cluster of their group", "where chance gives") if in_full else ("", "chance")
    floor = "" if e.floor is None else f", {chance} {share(e.floor)}"
    return [
        Name(say_group(e.group)),
        f" ({share(e.value)}{cluster}{floor}, {tested_by([e])} {equals(e.p if e.q is None else e.q)})",
    ]


def _reasons(found: Found) -> Text:
    """What else could make a difference: the wrong answers, and the names' spelling and frequency."""
    words, came = found.clear or found.words, Strong("Where differences come from:")
    pools = [(word.rd_pools, word.rd) for word in words if word.rd_pools is not None]
    match found.run.setting("distractors"):
        case "shared":
            return [
                came,
                " all names were tried with the same wrong answers (shared pools), so that differences come from the "
                "audited model, not from the one that wrote them. ",
                _spelling(found),
            ]
        case "per_name" if pools:
            which = f"the {plural(len(words), 'clear difference')}" if found.clear else "all words"
            same = sum(alone * rd > 0 for alone, rd in pools)
            return [
                came,
                " each name had wrong answers of its own, as in the paper (per-name pools), so that a part may come "
                f"from the model that wrote them. Over {which}, RD is {fixed(fmean(abs(word.rd) for word in words))} "
                "on average, whatever its sign; the pools alone, with a model that ignores names, would give "
                f"{fixed(fmean(abs(alone) for alone, _ in pools))}, and point the same way in {count(same)} of "
                f"{count(len(words))}. Shared pools (",
                *(Code("--set distractors=shared"), ") have no such part. ", _spelling(found)),
            ]
    return _spelling(found)


def _spelling(found: Found) -> str:
    clear = found.clear
    controlled = [word for word in clear if word.rd_controlled is not None]
    if not controlled:
        return ""
    explained = sum(word.explained for word in controlled)
    shrink, turn = ("shrinks", "turns") if explained == 1 else ("shrink", "turn")
    why = "; there the names’ spelling or rarity, rather than the group, may be the reason" if explained else ""
    differ = "how frequent they are. With that"
    if knows_pieces(found.run):
        differ = "how many pieces a model cuts them into and in how frequent they are. With both"
    return (
        f"Names also differ in {differ} regressed "
        f"out, {count(explained)} of {plural(len(controlled), 'clear difference')} {shrink} to less than half or "
        f"{turn} round{why}."
    )
