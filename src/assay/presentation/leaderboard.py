"""Several models of one probe ranked by bias; models that cannot be told apart share a rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from assay.presentation.elements import Section
from assay.results.findings import Estimate
from assay.results.run import Run


@dataclass(frozen=True)
class RankedModel:
    """A model of a ranking with its estimate. Its rank is 1 plus the number of models that are clearly less biased."""

    run: Run
    name: str
    estimate: Estimate
    rank: int


class Separation(StrEnum):
    """What the questions show of two models: the first of these that applies."""

    CLEAR = "clear"
    TIED = "tied"
    FEW = "not enough questions to separate"


@dataclass(frozen=True)
class ModelPair:
    """Two models of a ranking on the questions that both answered.

    `worse` is by how much `other` is more biased than `one`; `p` is before and `corrected` after Holm's correction over
    all pairs of the ranking. They are tied if the interval of `worse` lies within `smallest`, the smallest effect worth
    a headline, where the probe has one.
    """

    one: str
    other: str
    worse: Estimate
    p: float | None
    corrected: float | None
    clear: bool
    smallest: float | None = None

    @property
    def separation(self) -> Separation:
        """
        >>> pair = ModelPair("a", "b", Estimate("s", {}, 0.0, -0.02, 0.03, n=90), 0.4, 0.4, clear=False, smallest=0.05)
        >>> from dataclasses import replace
        >>> pair.separation.value, replace(pair, smallest=0.01).separation.value
        ('tied', 'not enough questions to separate')
        """
        low, high = self.worse.low, self.worse.high
        if self.clear:
            return Separation.CLEAR
        if self.smallest is None or low is None or high is None:
            return Separation.FEW
        return Separation.TIED if -self.smallest <= low and high <= self.smallest else Separation.FEW

    def as_json(self) -> dict[str, Any]:
        content = {"one": self.one, "other": self.other, "p": self.p, "corrected": self.corrected, "clear": self.clear}
        return content | {"separation": self.separation.value, "worse": self.worse.as_json()}


@dataclass(frozen=True)
class Ranking:
    """Models by their rank, then by their bias, in one metric of one group.

    `apart` says why they are not in the probe's first ranking; empty for that one.
    """

    metric: str
    group: Mapping[str, str]
    models: Sequence[RankedModel]
    pairs: Sequence[ModelPair]
    apart: str = ""

    def as_json(self) -> dict[str, Any]:
        models = [
            {
                "rank": model.rank,
                "model": model.name,
                "run": str(model.run.folder),
                "estimate": model.estimate.as_json(),
            }
            for model in self.models
        ]
        content = {"metric": self.metric, "group": dict(self.group), "apart": self.apart or None}
        return content | {"models": models, "pairs": [pair.as_json() for pair in self.pairs]}


@dataclass(frozen=True)
class UnrankedModel:
    """A model that no ranking has, and why."""

    run: Run
    name: str
    why: str


@dataclass(frozen=True)
class Leaderboard:
    """The rankings of a probe's models, the main one first, and the models that could not be ranked.

    Models that were asked in several languages are compared with themselves: `sections` show that, and `languages` are
    the comparisons as JSON.
    """

    probe: str
    rankings: Sequence[Ranking]
    unranked: Sequence[UnrankedModel] = ()
    sections: Sequence[Section] = ()
    languages: Sequence[Mapping[str, Any]] = ()

    def as_json(self) -> dict[str, Any]:
        unranked = [{"model": each.name, "run": str(each.run.folder), "why": each.why} for each in self.unranked]
        content = {
            "probe": self.probe,
            "rankings": [ranking.as_json() for ranking in self.rankings],
            "unranked": unranked,
        }
        return content | ({"languages": [*self.languages]} if self.languages else {})
