"""How answers are counted: the kind of each, the tallies of every template, and the resampling of templates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.probes.bbq.count_answers import Array, JudgedAnswers, Tally, TallyField, judge, ratio
from assay.probes.bbq.items import NEGATIVE, Dataset, Item
from assay.stats import MIN_UNITS, logit_interval, multinomial_weights, student_p

QUESTION_ONLY = "question_only"
SIGNED, SHARE = (-1.0, 1.0), (0.0, 1.0)


@dataclass(frozen=True)
class TallyMetric:
    """A metric of tallies: its range, what its n counts, and why it may be undefined.

    `fewest` is the smallest number of answers that it divides by, where that is not its n.
    """

    name: str
    of: Callable[[Tally], Array]
    bounds: tuple[float, float]
    n: Callable[[Tally], Array]
    undefined: str
    fewest: Callable[[Tally], Array] | None = None

    def counted(self, tally: Tally) -> Array:
        """How many answers it rests on: with fewer than `MIN_COUNTED` nothing is tested."""
        return (self.fewest or self.n)(tally)


MIN_COUNTED = 5
"""The fewest answers that a test may rest on, in a run and on either side of a comparison."""

Bools = NDArray[np.bool_]
Template = tuple[str, str]  # category (names apart), number


@dataclass(frozen=True)
class AnsweredItems:
    """Examples with the answers given to them, in one or several orders of the options, or with several prompts.

    `drawn_order` is which order of the options each example was shown in, if each has its own (`plan.ORDERS`).
    """

    dataset: Dataset
    chosen: NDArray[np.int64]  # (example, order or prompt): the option as stored, REFUSED, UNPARSED or TIED
    question_only: bool = False
    drawn_order: NDArray[np.int64] | None = None  # (example,)
    prompts: tuple[str, ...] = ()

    @property
    def orders(self) -> int:
        return 1 if self.prompts else int(self.chosen.shape[1])

    def context(self, example: Item) -> str:
        """The context of an example as the findings name it."""
        return QUESTION_ONLY if self.question_only else example.condition

    @cached_property
    def contexts(self) -> list[str]:
        """The context of every example as the findings name it."""
        return [self.context(example) for example in self.dataset.examples]

    @cached_property
    def templates(self) -> list[Template]:
        """The template of every example."""
        numbers = (example.question_index for example in self.dataset.examples)
        return list(zip(self.dataset.cells, numbers, strict=True))

    @cached_property
    def gold(self) -> NDArray[np.int64]:
        """The right option (example,); without a context it is always UNKNOWN."""
        if self.question_only:
            return self.unknown
        return np.array([example.label for example in self.dataset.examples], np.int64)

    @cached_property
    def unknown(self) -> NDArray[np.int64]:
        """The option “cannot be determined” (example,)."""
        return np.array([example.unknown for example in self.dataset.examples], np.int64)

    @cached_property
    def negative(self) -> Bools:
        """Whether the question is a negative one (example,)."""
        return np.array([example.polarity == NEGATIVE for example in self.dataset.examples], np.bool_)

    @cached_property
    def judged(self) -> JudgedAnswers:
        columns = (self.gold, self.unknown, self.dataset.target, self.negative)
        return judge(self.chosen, *(column[:, None] for column in columns))


def counts(answered: AnsweredItems, refusals: str) -> Tally:
    """What every example adds to a tally (example, Field), each order of the options or prompt an equal share of it."""
    tally: Tally = answered.judged.tally(refusals).mean(axis=1)
    tally[:, TallyField.ORDERED] = answered.orders > 1
    tally[:, TallyField.DEPENDS] = (answered.chosen != answered.chosen[:, :1]).any(axis=1) & (answered.orders > 1)
    return tally


# --- templates are resampled, in a run's own intervals and in those of two runs' differences


@dataclass(frozen=True)
class ResamplingUnits:
    """The templates, which are what is resampled, within each category (names apart)."""

    of: NDArray[np.int64]  # (example,)
    weights: NDArray[np.float64]  # (resample, unit)
    strata: NDArray[np.int64]  # (unit,)

    @staticmethod
    def make(templates: Sequence[Template], resamples: int, seed: int) -> ResamplingUnits:
        """From every example's template."""
        numbers: dict[Template, int] = {}
        of = [numbers.setdefault(template, len(numbers)) for template in templates]
        _, strata = np.unique([category for category, _ in numbers], return_inverse=True)
        weights = multinomial_weights(strata, resamples, np.random.default_rng(seed))
        return ResamplingUnits(np.array(of, np.int64), weights, strata)

    def drawn(self, values: NDArray[np.float64], rows: NDArray[np.int64]) -> ResampledTallies:
        """What some examples add (model, example, Field), by template and in every resample."""
        units, unit_numbers = np.unique(self.of[rows], return_inverse=True)
        tally = np.stack([by_unit(value[rows], unit_numbers, len(units)) for value in values])
        return ResampledTallies(tally, tally.sum(axis=1), self.weights[:, units] @ tally, self.strata[units])


@dataclass(frozen=True)
class ResampledTallies:
    """Tallies over some templates of one model, or of several: the same templates in each resample."""

    tally: Tally  # (model, unit, Field)
    total: Tally  # (model, Field)
    replicates: Tally  # (model, resample, Field)
    strata: NDArray[np.int64]  # (unit,)

    def of(self, metric: TallyMetric) -> ResampledMetric:
        n = metric.n(self.tally)  # (model, unit)
        by_stratum = [n[:, self.strata == stratum] for stratum in np.unique(self.strata)]
        effective = sum(
            ratio(unit_counts.sum(axis=1) ** 2, (unit_counts**2).sum(axis=1), 0.0) for unit_counts in by_stratum
        )
        strata = sum((unit_counts > 0).any(axis=1).astype(np.int64) for unit_counts in by_stratum)
        units = (n > 0).sum(axis=1)
        return ResampledMetric(
            metric.of(self.total), metric.of(self.replicates), units, np.asarray(strata), np.asarray(effective)
        )


@dataclass(frozen=True)
class ResampledMetric:
    """A metric of one model or several: its values, and what it is in every resample of the templates."""

    values: Array  # (model,)
    replicates: Array  # (model, resample)
    units: NDArray[np.int64]  # (model,) the templates that contribute to it
    strata: NDArray[np.int64]  # (model,) and their categories
    effective: Array  # (model,) so many templates of one size would tell as much (Kish 1965), summed over categories

    @property
    def few(self) -> str | None:
        """Why there is no interval, if so."""
        needed = MIN_UNITS - 1 + np.maximum(self.strata, 1)  # one of every category is not free to vary
        if (self.units >= needed).all():
            return None
        least = (self.units - needed).argmin()
        return f"no interval: too few templates ({self.units[least]}; {needed[least]} are needed)"

    @property
    def p(self) -> float:
        """Student's t test of the difference between two models whose templates were drawn separately; NaN without it.

        The error and the degrees of freedom are those of `interval`.
        """
        if self.few:
            return np.nan
        differences, least = self.replicates[1] - self.replicates[0], (self.effective - self.strata).argmin()
        freedom = max(self.effective[least] - self.strata[least], 1.0)
        error = np.nanstd(differences, ddof=1) * np.sqrt(self.effective[least] / freedom)
        return float(student_p(self.values[1] - self.values[0], error, freedom)) if error else np.nan

    def interval(self, value: float, replicates: Array, bounds: tuple[float, float]) -> tuple[Any, Any]:
        """The ends for a value, or for a difference of two, from what it is in the resamples; NaN where undefined."""
        if self.few:
            return np.nan, np.nan
        least = (self.effective - self.strata).argmin()  # of the model that tells less
        return logit_interval(value, replicates, self.effective[least], strata=self.strata[least], bounds=bounds)


def by_unit(values: NDArray[np.float64], unit: NDArray[np.int64], units: int) -> NDArray[np.float64]:
    """Sums of the examples' values (example, …) over each unit (unit, …)."""
    sums = np.zeros((units, *values.shape[1:]))
    np.add.at(sums, unit, values)
    return sums
