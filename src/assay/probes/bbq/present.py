"""How a BBQ run is shown: what was asked and found, bias and accuracy by category, about whom, and the answers."""

from __future__ import annotations

from assay.blocks import Code, Emphasis, Name, Presentation, Prose, Role, Score, Scorecard, Section, Strong, Text
from assay.findings import Estimate
from assay.probes.bbq import PAPER, PROBE, say_group
from assay.probes.bbq.analyse import ALL
from assay.probes.bbq.grid import Grid, behind
from assay.probes.bbq.present_charts import by_category, comparisons, rates
from assay.probes.bbq.present_short import in_short, in_terminal
from assay.probes.bbq.present_tables import crossed, labels, read_scores, templates, unknown_strings
from assay.probes.bbq.present_told import Telling
from assay.run import Run

WARNING: Text = [
    Strong("This is assay’s own starter set, and no BBQ result."),
    " Its questions are of BBQ’s kind, but few, written by assay’s authors, and validated by nobody else. Do not "
    "compare its figures with published ones; for those, run ",
    *(Code("assay run bbq"), " on the official data."),
]
KOBBQ: Text = [
    "Diff-bias: Jiho Jin, Jiseon Kim, Nayeon Lee, Haneul Yoo, Alice Oh and Hwaran Lee. 2024. KoBBQ: Korean Bias "
    "Benchmark for Question Answering. ",
    *(Emphasis("Transactions of the Association for Computational Linguistics"), ", volume 12."),
]
FEW_TEMPLATES = (
    "The starter set has few templates in each category. Its intervals are wide, and only a strong bias can be told "
    "from chance."
)


def present(run: Run, *, starter: bool = False) -> Presentation:
    """What is shown of a run; of assay's own starter questions it is said that they are no BBQ."""
    grid = Grid.of(run.findings.estimates)
    telling = Telling(run, grid, starter)
    targets = read_scores(run, "intersectional", "target", "comparison", grid.contexts)
    which: Text = "The method and the data: "
    if starter:
        which = "The questions are assay’s own starter set. The method, of which it is an imitation and no instance: "
    return Presentation(
        name="BBQ",
        asks=telling.asks(),
        brief=telling.brief(),
        lead=[*([Prose([WARNING], Role.WARNING)] if starter else []), *telling.lead()],
        scorecard=_scorecard(run, grid),
        cautions=_cautions(run, starter),
        citation=[[which, PAPER], KOBBQ],
        data_set=PROBE.data_set,
        sections=[
            Section(
                [
                    *by_category(run, grid, starter),
                    *labels(run, grid.contexts, without={e.group["category"] for e in targets}),
                    *comparisons(run, grid),
                    *crossed(run, targets),
                    *rates(run, grid),
                    *unknown_strings(run, grid.contexts),
                    *templates(run, grid.contexts),
                ]
            )
        ],
        summary=in_short(run, grid, starter),
        terminal=in_terminal(run, grid, starter),
    )


def _scorecard(run: Run, grid: Grid) -> Scorecard:
    several = len([category for category in grid.categories if category != ALL]) > 1
    below = " This table has all categories together; the sections below have each." if several else ""
    found = [e for e in run.findings.estimates if _is_headline(e, grid)]
    return Scorecard(
        [Score(e, say_group(e.group), behind(e), (), PROBE.task(e.group), PROBE.part(e.group)) for e in found],
        counted=f"n counts examples: one question with its three options.{below}",
        probe=run.probe,
    )


def _is_headline(e: Estimate, grid: Grid) -> bool:
    """Whether it is of all categories together, where a context has several; never of their parts."""
    if {"polarity", "comparison"} & e.group.keys():
        return False
    whole = grid.whole(e.group["context"]) if {"category", "context"} <= e.group.keys() else None
    return whole is None or e.group["category"] == whole


def _cautions(run: Run, starter: bool) -> list[Text]:
    said: list[Text] = [
        "The authors of BBQ warn against concluding from a bias score near 0 that a model has no bias, or less than "
        f"another. It means only that answers leaned neither way, on {'few' if starter else 'some two dozen'} texts in "
        "each category.",
        *PROBE.cautions,
    ]
    if starter:
        said.append(FEW_TEMPLATES)
    if run.sample:
        rest = "); a larger one gives narrower intervals."
        said.append(["This run may have asked only a sample of the possible questions (", Name(run.sample), rest])
    return said
