"""How words order groups by traits, and whether people order them alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.blocks import Column, File, Group, Kind, Name, Part, Pick, Row, Strong, Table, Text, Tools
from assay.probes.sodapop import people_words
from assay.run import Run
from assay.wording import cell, plural

MOST_PAIRS = 40
OPEN_PAIRS = 2  # that are unfolded


@dataclass(frozen=True)
class _Trait:
    """Which of two groups has more of a trait's second pole, by the model's words and by people's ratings.

    `more` and `people` name a group; "both alike" is an empty text, None that nobody was asked.
    """

    poles: str
    pole: str
    scores: Sequence[float | None]
    more: str
    people: str | None
    agrees: bool | None


@dataclass(frozen=True)
class _Traits:
    """The traits by which two groups could be ordered."""

    a: str
    b: str
    rows: Sequence[_Trait]

    @property
    def said(self) -> str:
        return f"{self.a} and {self.b}"

    @property
    def compared(self) -> int:
        return sum(row.agrees is not None for row in self.rows)

    @property
    def agreeing(self) -> int:
        return sum(bool(row.agrees) for row in self.rows)


def traits(run: Run) -> list[Pick]:
    """The pairs of groups with their traits; nothing where there are none."""
    found = _read(run)
    if not found:
        return []
    shown, left_out = found[:MOST_PAIRS], len(found[MOST_PAIRS:])
    people = [pair for pair in shown if pair.compared]
    agreeing, compared = sum(pair.agreeing for pair in people), sum(pair.compared for pair in people)
    alike = (
        f" Words and people order the groups alike on {agreeing} of {plural(compared, 'trait')}, over "
        f"{plural(len(people), 'pair')} of groups."
    )
    chart = Pick(
        title="What the words say about people",
        how=[
            "a group’s score is the number of its words for the second trait minus that for the first; a dash means "
            "that it has none. The model connects the group with the higher score more with the second trait.",
            alike if people else "",
        ],
        data=run.findings.tables["traits"],
        file="sodapop-traits",
        anchor="traits",
        after=[
            [
                "Words with p below 0.05, not corrected, are taken as belonging to the group about which they fool the "
                "model more, and looked up in a list of words for pairs of opposing traits (the ABC model; SODAPOP’s "
                "section 5). A score that rests on one or two words only tells where to look.",
                " “By people” is how people ordered the groups, as read from a file." if people else "",
                [f" {plural(left_out, 'more pair')} of groups: ", File("traits"), "."] if left_out else "",
            ]
        ],
        label="Groups",
        parts=[_part(pair, place < OPEN_PAIRS) for place, pair in enumerate(shown)],
    )
    return [chart]


def _read(run: Run) -> list[_Traits]:
    """Those that people ordered too come first, then those with most traits."""
    found: dict[tuple[str, str], list[_Trait]] = {}
    for row in run.rows("traits"):
        a, b = (people_words(cell(row, key)) for key in ("group_a", "group_b"))
        scores = [run.number("traits", row, key) for key in ("score_a", "score_b")]
        people, agrees = cell(row, "human"), run.number("traits", row, "agrees")
        more: Mapping[str, str] = {">": a, "<": b}
        found.setdefault((a, b), []).append(
            _Trait(
                *poles_of(cell(row, "trait")),
                scores,
                more.get(cell(row, "order"), ""),
                more.get(people, "") if people else None,
                None if agrees is None else bool(agrees),
            )
        )
    pairs = [_Traits(a, b, rows) for (a, b), rows in found.items()]
    return sorted(pairs, key=lambda pair: (-pair.compared, -len(pair.rows)))


def poles_of(trait: str) -> tuple[str, str]:
    """A trait as people read it, and the pole by which groups are ordered; both its whole name where it does not tell.

    >>> poles_of("low status-high status"), poles_of("warmth")
    (('low status – high status', 'high status'), ('warmth', 'warmth'))
    """
    first, _, second = trait.partition("-")
    return (f"{first} – {second}", second) if first and second and "-" not in second else (trait, trait)


def _part(pair: _Traits, unfolded: bool) -> Part:
    many = plural(len(pair.rows), "trait")
    like = f", like people on {pair.agreeing} of {pair.compared}" if pair.compared else ""
    columns = [
        Column("trait", Kind.TEXT),
        Column(Name(pair.a), Kind.COUNT, wraps=True),
        Column(Name(pair.b), Kind.COUNT, wraps=True),
        Column("by the words", Kind.TEXT),
        *([Column("by people", Kind.TEXT), Column("alike", Kind.TEXT)] if pair.compared else []),
    ]
    table = Table(
        title=f"Traits of {pair.said}",
        anchor="traits-of",
        columns=columns,
        groups=[Group([_row(row, people=bool(pair.compared)) for row in pair.rows])],
        filter=Tools.NONE,
    )
    said: Text = [Strong(Name(pair.said)), f": {many}{like}"]
    return Part(f"{pair.said} ({many})", [table], said, folded=True, open=unfolded)


def _row(row: _Trait, *, people: bool) -> Row:
    by_people = "" if row.people is None else _ordered(row.people, row.pole)
    alike = "" if row.agrees is None else "yes" if row.agrees else "no"
    told = [by_people, alike] if people else []
    return Row([row.poles, *row.scores, _ordered(row.more, row.pole), *told])


def _ordered(more: str, pole: str) -> Text:
    return [Name(more), ": more ", Name(pole)] if more else "both alike"
