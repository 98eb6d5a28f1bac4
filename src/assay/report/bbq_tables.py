"""BBQ's long tables, read for showing: labels, crossed groups, ways to say that nobody can know, templates."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from assay.report.content import Content, cell

MIN_EXAMPLES = 5  # a score over fewer says little


@dataclass(frozen=True)
class Score:
    """The bias score of a group of people, for a stereotype or a comparison where `detail` names one."""

    category: str
    context: str
    who: str
    detail: str
    value: float
    low: float | None
    high: float | None
    n: int

    @property
    def clear(self) -> bool:
        """Whether its interval leaves 0 out. These intervals are not corrected for the number of groups."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def order(self) -> tuple[bool, bool, float, str, str, str]:
        """Sorts what is clear of 0 first, then what has an interval, then by size: small groups score far by chance."""
        return not self.clear, self.low is None, -abs(self.value), self.category, self.who, self.detail


@dataclass(frozen=True)
class Labels:
    """The first few labels of a category, and how many more there are."""

    category: str
    rows: Sequence[Score]
    left_out: int


def labels(content: Content, context: str, most: int, without: Collection[str]) -> list[Labels]:
    """The labels of every category in one context, over all stereotypes; not of categories shown elsewhere."""
    rows = [row for row in scores(content, "by_label", "label", "stereotype", context) if not row.detail]
    found = []
    for category in dict.fromkeys(row.category for row in rows if row.category not in without):
        own = sorted((row for row in rows if row.category == category), key=lambda row: row.order)
        found.append(Labels(category, own[:most], len(own) - len(own[:most])))
    return found


def stereotypes(content: Content, context: str) -> list[Score]:
    """Labels with single stereotypes, the strongest first."""
    rows = scores(content, "by_label", "label", "stereotype", context)
    return sorted((row for row in rows if row.detail), key=lambda row: row.order)


@dataclass(frozen=True)
class Crossed:
    """The scores of one crossed category: for each target, by (comparison, context)."""

    category: str
    comparisons: Sequence[str]
    contexts: Sequence[str]
    targets: Mapping[str, Mapping[tuple[str, str], Score]]
    left_out: int


def crossed(content: Content, contexts: Sequence[str], most: int) -> list[Crossed]:
    """The crossed categories; of each at most so many targets, those with the most examples."""
    rows = [r for context in contexts for r in scores(content, "intersectional", "target", "comparison", context, 1)]
    found = []
    for category in dict.fromkeys(row.category for row in rows):
        own = [row for row in rows if row.category == category]
        comparisons = sorted({row.detail for row in own})
        present = [context for context in contexts if any(row.context == context for row in own)]
        sizes: dict[str, int] = {}
        for row in own:
            sizes[row.who] = sizes.get(row.who, 0) + row.n
        chosen = sorted(sorted(sizes, key=lambda who: (-sizes[who], who))[:most])
        targets = {who: {(r.detail, r.context): r for r in own if r.who == who} for who in chosen}
        found.append(Crossed(category, comparisons, present, targets, len(sizes) - len(chosen)))
    return found


@dataclass(frozen=True)
class Offer:
    """How often a way to say that nobody can know was offered and chosen in a context."""

    offered: int
    chosen: float
    share: float | None  # of all such answers in this context


def unknown_strings(content: Content, contexts: Sequence[str], most: int) -> list[tuple[str, list[Offer | None]]]:
    """For every string what it came to in each context; the most chosen strings first."""
    found: dict[str, dict[str, Offer]] = {}
    for row in content.rows("unknown_strings"):
        columns = ("offered", "chosen", "share_of_unknown")
        offered, chosen, share = (content.number("unknown_strings", row, column) for column in columns)
        offer = Offer(int(offered or 0), chosen or 0.0, share)
        found.setdefault(cell(row, "string"), {})[cell(row, "context")] = offer
    ranked = sorted(found.items(), key=lambda item: (-sum(offer.chosen for offer in item[1].values()), item[0]))
    return [(string, [offers.get(context) for context in contexts]) for string, offers in ranked[:most]]


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


def templates(content: Content, context: str) -> list[Template]:
    """The templates in one context, the most biased first, whatever the sign; only those with both questions."""
    found: dict[tuple[str, str, str], dict[str, Answered]] = {}
    for row in content.rows("by_template"):
        if cell(row, "context") == context:
            target, other, unknown, n = (
                content.number("by_template", row, column) or 0.0 for column in ("target", "non_target", "unknown", "n")
            )
            key = cell(row, "category"), cell(row, "question_index"), cell(row, "stereotype")
            found.setdefault(key, {})[cell(row, "polarity")] = Answered(target, other, unknown, int(n))
    made = [Template(*key, answers) for key, answers in found.items() if {"neg", "nonneg"} <= answers.keys()]
    enough = [template for template in made if template.n >= MIN_EXAMPLES]
    return sorted(enough, key=lambda each: (-abs(each.bias), each.category, each.index))


def scores(content: Content, table: str, who: str, detail: str, context: str, least: int = MIN_EXAMPLES) -> list[Score]:
    """The rows of a table that have a bias score in a context, over at least so many examples."""
    found = []
    for row in content.rows(table):
        value = content.number(table, row, "bias_score") if cell(row, "context") == context else None
        if value is None:
            continue
        low, high, n = (content.number(table, row, column) for column in ("low", "high", "n"))
        place = cell(row, "category"), context, cell(row, who), cell(row, detail)
        if (n or 0) >= least:
            found.append(Score(*place, value, low, high, int(n or 0)))
    return found
