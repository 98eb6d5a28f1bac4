"""Which groups of names the words tell apart (KMeans): as a table, as a map of groups by groups, and in short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.blocks import Block, Column, Dot, Group, Heat, Kind, Mark, Marked, Prose, Role, Row, Section, Table
from assay.examples import Wanted
from assay.findings import Cell, Estimate
from assay.findings import Table as Data
from assay.probes.sodapop import say_group
from assay.probes.sodapop.differences import Pair
from assay.run import Run
from assay.verdict import CLEAR, Verdict, verdict
from assay.wording import plural

MOST_PAIRS = 16  # in short
MANY_PAIRS, MANY_GROUPS = 6, 4  # from which on a map is clearer than a list


@dataclass(frozen=True)
class Separation:
    """KMeans' accuracy for a pair of groups, and how many of its words are clear of chance."""

    estimate: Estimate
    clear: int

    @property
    def said(self) -> str:
        return say_group(self.estimate.group)

    @property
    def tested(self) -> bool:
        return verdict(self.estimate) in (Verdict.ABOVE, Verdict.WITHIN)

    @property
    def above(self) -> bool:
        return verdict(self.estimate) is Verdict.ABOVE

    @property
    def order(self) -> tuple[bool, float, float]:
        e = self.estimate
        return e.value is None, 1.0 if e.p is None else e.p, -(e.value or 0.0)


def read_separations(run: Run, pairs: Sequence[Pair]) -> list[Separation]:
    """The pairs of groups, those told apart most surely first."""
    clear = {(pair.a, pair.b): len(pair.clear) for pair in pairs}
    found = [
        Separation(each, clear.get((each.group["a"], each.group["b"]), 0))
        for each in run.findings.estimates
        if each.metric == "kmeans_accuracy" and {"a", "b"} <= each.group.keys()
    ]
    return sorted(found, key=lambda each: each.order)


def behind_pair(estimate: Estimate) -> Wanted:
    """Which examples stand behind an estimate of two groups.

    >>> behind_pair(Estimate("kmeans_accuracy", {"a": "EA", "b": "AA"}, 0.8))
    {'group': ['EA', 'AA']}
    """
    group = dict(estimate.group)
    pair = [group.pop(side) for side in ("a", "b") if side in group]
    return {**group, "group": pair} if pair else group


def told_apart(run: Run, separations: Sequence[Separation]) -> list[Block]:
    """The table and, where there are many pairs, the map."""
    if not separations:
        return []
    alone = {
        "shared": " A model that ignores names gives what chance gives.",
        "per_name": " Since each name has wrong answers of its own, these alone may tell groups apart.",
    }.get(run.setting("distractors"), "")
    table = Table(
        title="Can the groups be told apart?",
        how=[
            "accuracy is the share of names that fall into the cluster of their group when names are sorted into two "
            "clusters by the words that fool the model about them (KMeans; SODAPOP’s Table 2). The tick ",
            *(Mark("floor"), " is what chance gives; a filled dot ", Mark("dot"), " is better than that (p at most "),
            f"{CLEAR}).",
        ],
        data=_data(separations),
        file="sodapop-separation",
        anchor="separation",
        after=[
            "The surest come first; p is not corrected for the number of pairs. KMeans does not know who is in which "
            "group. Chance gives more than 0.5, since the better of two ways to match clusters and groups is "
            f"taken.{alone}"
        ],
        columns=[
            Column("groups", Kind.TEXT),
            Column("accuracy", Kind.NUMBER),
            Column("accuracy", Kind.DOTS, ends=(0.5, 1.0)),
            Column("chance gives", Kind.NUMBER),
            Column("p", Kind.PROBABILITY),
            Column("names", Kind.COUNT),
            Column("clear words", Kind.COUNT),
        ],
        groups=[Group([_row(each) for each in separations])],
    )
    return [table, *_map(separations)]


def _row(each: Separation) -> Row:
    e = each.estimate
    value = Marked(e.value, note=e.note if e.value is None else None)
    dot = Dot(e.value, e.low, e.high, e.floor, hollow=not each.above)
    return Row([each.said, value, dot, e.floor, e.p, e.n, each.clear], behind_pair(e))


def _data(separations: Sequence[Separation]) -> Data:
    rows: list[list[Cell]] = []
    for each in separations:
        e = each.estimate
        rows.append([e.group["a"], e.group["b"], e.value, e.floor, e.p, e.n, each.clear])
    return Data(("group_a", "group_b", "accuracy", "chance", "p", "n", "clear_words"), rows)


def _map(separations: Sequence[Separation]) -> list[Heat]:
    """By how much accuracy exceeds what chance gives, group by group; none where a list shows it as well."""
    cells: dict[tuple[str, str], float] = {}
    beside: dict[str, dict[tuple[str, str], float | None]] = {"accuracy": {}, "chance": {}, "p": {}, "n": {}}
    for each in separations:
        e = each.estimate
        if e.value is None or e.floor is None:
            continue
        for key in ((e.group["a"], e.group["b"]), (e.group["b"], e.group["a"])):
            cells[key] = e.value - e.floor
            for name, value in zip(beside, (e.value, e.floor, e.p, e.n), strict=True):
                beside[name][key] = value
    groups = {group for key in cells for group in key}
    if len(cells) < 2 * MANY_PAIRS or len(groups) < MANY_GROUPS:
        return []
    heat = Heat(
        title="Groups told apart, group by group",
        how="each square is by how much accuracy exceeds what chance gives, for the two groups of its row and column. "
        "Orange: the words tell the two groups apart; pale or blue: no better than chance. Blank pairs were not "
        "compared, since they differ in more than one thing.",
        file="sodapop-separation-map",
        anchor="separation-map",
        name="",
        row="group",
        column="other group",
        value="accuracy above chance",
        cells=cells,
        beside=beside,
        row_key="group",
        column_key="group",
    )
    return [heat]


# --- in short


def groups_in_short(separations: Sequence[Separation]) -> list[Section]:
    """The surest pairs; nothing where there is none."""
    if not separations:
        return []
    shown = separations[:MOST_PAIRS]
    table = Table(
        title="Groups told apart by the words (KMeans)",
        columns=[
            Column("groups", Kind.TEXT),
            Column("accuracy", Kind.FIXED),
            Column("chance", Kind.FIXED),
            Column("p", Kind.PROBABILITY),
            Column("names", Kind.COUNT),
        ],
        groups=[Group([_short(each) for each in shown])],
    )
    above, tested = sum(each.above for each in separations), sum(each.tested for each in separations)
    left_out = len(separations) - len(shown)
    more = f" {plural(left_out, 'pair')} not shown." if left_out else ""
    reading = (
        f"{above or 'None'} of {plural(tested, 'pair')} better than chance (* p at most {CLEAR}; about "
        f"{CLEAR * tested:.1f} would be by chance).{more}",
        "chance: above 0.5, since the better way to match clusters and groups is taken.",
    )
    return [Section([table, Prose(reading, Role.SMALL)])]


def _short(each: Separation) -> Row:
    e = each.estimate
    return Row([each.said, Marked(e.value, each.above or None), e.floor, e.p, e.n])
