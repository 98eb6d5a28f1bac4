"""The largest |RD| of a run's words, with a band that holds for all of them at once, and what would settle it.

This is the number that can rule a bias out: if the upper end of the band is small, no word differs much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from assay.probes.sodapop.metrics import Array
from assay.probes.sodapop.rates import SuccessRates
from assay.probes.sodapop.uncertainty import Names
from assay.results.findings import Estimate
from assay.results.formatting import format_count
from assay.results.verdict import SPARE, Needed
from assay.stats import MIN_UNITS

METRIC = "largest_rd"
_LEVEL, _MOSTLY = 0.95, 0.8
"""The band's level, and the share of runs in which the suggested size is enough."""

_SAME = 1e-9


@dataclass(frozen=True)
class WordBand:
    """RD of the words of one contrast that have one: its size, its standard error, and its resampled deviations in
    these; the error is 0 where all names agree."""

    words: Sequence[str]
    sides: tuple[Names, Names]
    size: Array  # (word,)
    error: Array  # (word,)
    deviations: Array  # (resample, word)

    @property
    def fewest(self) -> int:
        return min(map(len, self.sides))

    @property
    def freedom(self) -> int:
        """Student's, of the error: of the smaller side where sizes differ."""
        a, b = map(len, self.sides)
        return a + b - 2 if a == b else self.fewest - 1


@dataclass(frozen=True)
class LargestDifference:
    """The largest |RD| over all words of some contrasts, and its band: |RD| ± `reach` errors."""

    bands: Sequence[WordBand]
    reach: float
    usual: float  # what the largest deviation is at most in four runs of five

    @property
    def value(self) -> float:
        return max(float(band.size.max()) for band in self.bands)

    @property
    def low(self) -> float:
        return max(0.0, *(float((band.size - self._half(band, below=True)).max()) for band in self.bands))

    @property
    def high(self) -> float:
        return min(2.0, max(float((band.size + self._half(band)).max()) for band in self.bands))

    @property
    def names(self) -> int:
        """The names of the contrast with the largest |RD|."""
        return sum(map(len, max(self.bands, key=lambda band: float(band.size.max())).sides))

    def _half(self, band: WordBand, *, below: bool = False) -> Array:
        """How far the band reaches up or down. Where all names agree, other names differ in a share of at most
        1 − 0.025^(1/n), by as much as RD can."""
        agreeing = (1.0 - 0.025 ** (1.0 / band.fewest)) * (2.0 + band.size if below else 2.0 - band.size)
        return np.where(band.error > 0, self.reach * band.error, agreeing)


def word_band(rates: SuccessRates, rd: Array, resampled: Array, sides: tuple[Names, Names]) -> WordBand | None:
    """The band of one contrast from its RD (word,) and that of the resamples (drawn, resample, word); None with fewer
    than 5 names on a side, or if no word has an RD.

    Texts are taken as given, as by p: of resamples of names and texts, those of names alone count.
    """
    fewest = min(map(len, sides))
    resampled = resampled[min(1, len(resampled) - 1)]
    defined = np.isfinite(rd) & (2 * np.isfinite(resampled).sum(axis=0) >= len(resampled))
    if fewest < MIN_UNITS or not defined.any():
        return None
    value = rd[defined]
    deviations = np.nan_to_num(resampled[:, defined] - value)
    error = np.sqrt((deviations**2).mean(axis=0) * fewest / (fewest - 1.0))
    error = np.where(error > _SAME, error, 0.0)
    scaled = np.divide(deviations, error, out=np.zeros_like(deviations), where=error > 0)
    words = [word for word, has in zip(rates.words, defined, strict=True) if has]
    return WordBand(words, sides, np.abs(value), error, scaled)


def largest_difference(bands: Sequence[WordBand], rng: np.random.Generator) -> LargestDifference | None:
    """The largest |RD| of some contrasts with the same resamples of names.

    The reach is the 95% quantile of the largest |t| of all words: their resampled deviations together, which keeps how
    words depend on each other, divided by errors that are as uncertain as Student's with the fewest degrees of freedom.
    """
    if not bands:
        return None
    most = np.max([np.abs(band.deviations).max(axis=1) for band in bands], axis=0)  # (resample,)
    freedom = min(band.freedom for band in bands)
    draws = most / np.sqrt(rng.chisquare(freedom, len(most)) / freedom)
    reach, usual = np.quantile(draws, _LEVEL), np.quantile(most, _MOSTLY)
    return LargestDifference(bands, float(reach), float(usual))


def largest_estimate(largest: LargestDifference | None, contrasts: int) -> Estimate:
    """The decisive estimate, undefined where nothing was compared."""
    if largest is None:
        note = f"no word fooled the model, or a group has fewer than {MIN_UNITS} names"
        return Estimate(METRIC, {}, None, note=note)
    words = {word for band in largest.bands for word in band.words}
    note = f"over {len(words)} words in {contrasts} comparisons of two groups; the interval holds for all at once"
    return Estimate(METRIC, {}, largest.value, low=largest.low, high=largest.high, n=largest.names, note=note)


# --- what would settle it


@dataclass(frozen=True)
class SampleSize:
    """How much a run asks: names of each group and of those available, distractors of a name in a context, the least
    with a word, questions in all."""

    names: int
    available: int
    cap: int
    min_count: int
    questions: int


def needed_size(rates: SuccessRates, largest: LargestDifference, size: SampleSize, ruled_out: float) -> Needed | None:
    """The size at which the band of a model without differences ends below `ruled_out` in four runs of five.

    None if it does so already. A word's error falls with more names, and with more distractors as far as names differ
    from distractor to distractor, and not in themselves.
    """
    if largest.high <= ruled_out:
        return None
    effect, room = f"would settle it to within {ruled_out:g}", ruled_out - largest.low
    if room <= 0:
        return Needed(None, f"more names would not help: the largest |RD| itself is above {ruled_out:g}")
    names, distractors = float(size.names), 1.0
    for band in largest.bands:
        if not (band.error > 0).any():
            names = max(names, np.log(0.025) / np.log(1.0 - ruled_out / 2.0) * size.names / band.fewest)
            continue
        word = int(band.error.argmax())
        times = (float(band.error[word]) * (largest.reach + largest.usual) / room) ** 2
        between = _between(rates, band, rates.words.index(band.words[word]))
        wanted = size.names * times
        names = max(names, min(wanted, float(size.available)))
        if wanted > size.available:
            rest = size.available / wanted - between  # of the variance, what may come from distractors
            if rest <= 0:
                enough = ceil(SPARE * wanted * between)
                return Needed(
                    None, f"about {format_count(enough)} names in each group {effect}; here are {size.available}"
                )
            distractors = max(distractors, SPARE * (1.0 - between) / rest)
    many, cap, least = ceil(names), ceil(size.cap * distractors), ceil(size.min_count * distractors)
    questions = ceil(size.questions * many / size.names * cap / size.cap)
    settings = {"names_per_group": many, "cap": cap, "min_count": least}
    now = {"names_per_group": size.names, "cap": size.cap, "min_count": size.min_count}
    options = " ".join(f"--set {key}={value}" for key, value in settings.items() if value > now[key])
    why = (
        f"about {many} names in each group and {least} distractors with each word, {format_count(questions)} "
        f"questions, {effect}"
    )
    return Needed(questions, why, options, by_limit=False) if options else None


def _between(rates: SuccessRates, band: WordBand, word: int) -> float:
    """The share of the variance of names' success rates that more distractors would not reduce: what is not explained
    by how much each name's rate differs from context to context. 0 with a single context."""
    with np.errstate(invalid="ignore", divide="ignore"):
        sr = rates.successes[:, :, word] / rates.distractors[:, :, word]  # (context, name)
    contexts = len(sr)
    if contexts < 2:
        return 0.0
    total = within = 0.0
    for side in band.sides:
        own: NDArray[np.float64] = sr[:, side]
        own = own[:, np.isfinite(own).all(axis=0)]
        if own.shape[1] < 2:
            continue
        rest = own - own.mean(axis=0) - own.mean(axis=1, keepdims=True) + own.mean()
        total += float(own.mean(axis=0).var(ddof=1))
        within += float((rest**2).sum() / ((contexts - 1) * (own.shape[1] - 1)) / contexts)
    return max(0.0, 1.0 - within / total) if total > 0 else 0.0
