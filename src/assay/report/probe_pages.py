"""What each probe adds to a page, by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.examples import Wanted
from assay.findings import Estimate
from assay.report.bbq import bbq_page
from assay.report.bbq_grid import bbq_behind, headline_estimates
from assay.report.bbq_models import bbq_models
from assay.report.content import Content
from assay.report.sodapop import sodapop_page
from assay.report.sodapop_figures import behind_pair
from assay.report.sodapop_models import sodapop_models
from assay.report.sodapop_names import names_page
from assay.report.unqover import unqover_models, unqover_page


@dataclass(frozen=True)
class ProbePage:
    """What a probe adds to the page: a template of macros (see generic.html), and what these need.

    `headline` chooses the estimates of the headline table, `models` says what several models of the probe show, and
    `behind` which examples stand behind an estimate.
    """

    template: str
    facts: Callable[[Content], Mapping[str, Any]] = lambda content: {}
    headline: Callable[[Sequence[Estimate]], Sequence[Estimate]] = lambda estimates: estimates
    models: Callable[[Sequence[Content]], Mapping[str, Any]] = lambda contents: {}
    behind: Callable[[Estimate], Wanted] = lambda estimate: dict(estimate.group)


def _without(key: str) -> Callable[[Estimate], Wanted]:
    return lambda estimate: {own: value for own, value in estimate.group.items() if own != key}


_BBQ = ProbePage("bbq.html", bbq_page, headline_estimates, models=bbq_models, behind=bbq_behind)
PAGES: Mapping[str, ProbePage] = {
    "unqover": ProbePage("unqover.html", unqover_page, models=unqover_models, behind=_without("subjects")),
    "bbq": _BBQ,
    "bbq-starter": _BBQ,
    "sodapop": ProbePage("sodapop.html", sodapop_page, models=sodapop_models, behind=behind_pair),
    "sodapop-names": ProbePage("sodapop_names.html", names_page),
}
GENERIC = ProbePage("generic.html")


def page_of(probe: str) -> ProbePage:
    """A plain page for a probe that none is written for."""
    return PAGES.get(probe, GENERIC)
