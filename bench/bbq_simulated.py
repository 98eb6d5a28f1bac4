"""BBQ's questions without their texts, at the presets' own sizes, and answers of models whose truth is known.

The structure is that of the 58,492 questions: templates with their numbers of quartets, stereotypes and labels. What a
preset takes of them is drawn by the code that draws it in a run. The starter set is the packaged one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

from assay.probes.bbq import family_of
from assay.probes.bbq.analyse import EstimateGroup, cells_of, contributions
from assay.probes.bbq.count_answers import FIELDS, Tally, TallyField
from assay.probes.bbq.items import COMPARISONS, CROSSED, DISAMBIGUATED, NEGATIVE, QUARTET, Dataset, Item
from assay.probes.bbq.settings import CLAIMS, QUICK, STANDARD
from assay.probes.bbq.source import ItemSample, ItemSource, selected
from assay.probes.bbq.tables import crossed_of, label_of
from assay.probes.bbq.tallies import MIN_COUNTED, AnsweredItems, ResampledTallies, ResamplingUnits, TallyMetric
from assay.probes.bbq_starter.method import QUICK as STARTER_QUICK
from assay.probes.bbq_starter.method import STANDARD as STARTER_STANDARD
from assay.probes.bbq_starter.method import StarterSource
from assay.results.verdict import CLEAR
from assay.stats import MIN_UNITS, benjamini_hochberg, holm, logit_interval, sign_flip_p

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

NAMES = " (names)"
TEMPLATES = {
    "Age": (
        "8aA 8bA 8cA 24cA 18dB 32eA 32fA 32gA 18hA 40iA 24jA 24kA 18lB 32gA 18mA 50nB 24nB 50oB 72pA 40qA 70oB 70lB "
        "84rB 40sB 84sB"
    ),
    "Disability_status": (
        "12aA 60bA 16cA 3dA 4eA 8fA 8gA 12hA 42iA 30jA 18kA 32lA 18lA 18kA 8mA 12mA 18nA 12oA 2pA 12aA 12qA 8jA 8rA "
        "4sA 12tA"
    ),
    "Gender_identity": (
        "2aA 2bA 2cA 2dB 2eC 2fA 2gD 2hC 2iA 18jE 18kE 16kE 12cAB 2aA 2lA 32mE 32mE 2nA 4oCD 2fA 2oC 2dB 2aA 2eC 2hC"
    ),
    "Gender_identity (names)": (
        "50aA 50bA 50cA 50dA 50eB 50fA 50gB 50hB 50iA 50jC 50kD 50cA 50aA 50fA 50lA 50aA 50aA 50mB 50mB 50nA 50dA "
        "50hB 50iA 50eB 50dA"
    ),
    "Nationality": (
        "10aA 10bB 10cC 50dDEFGH 50eDEFIJ 10aA 10fI 50dDFGHI 50gKLMNO 30hPQR 50iSTUVW 50jKLXYZ 50kKMOYα 10cC "
        "50lDFHIJ 10aA 10mB 10nβ 50oPQSVW 10bB 30hPQR 50iSVWγδ 50jMNOXY 50dFGHIJ 10fI"
    ),
    "Physical_appearance": (
        "18aA 18bA 18cA 18dA 18eB 50dA 8fB 8fB 2gB 18hC 20iC 24iC 24jD 32hC 18kB 18lA 8mB 8nB 8oB 8pB 4kE 12kE 8qE "
        "8qE 18eB"
    ),
    "Race_ethnicity": (
        "40aABCD 20bBC 20bBC 10cE 10dE 20eBC 20fBC 20gBC 10hF 10aG 10iE 10jE 20kAD 20lAD 10hF 20mHI 20nBC 20lAD "
        "50oABCDF 20pBC 20pBC 20qBC 20qBC 10rJ 20mHI"
    ),
    "Race_ethnicity (names)": (
        "50aAB 50bCD 50cEF 50dEF 50eCD 50fCD 50gCD 50hEF 50iEF 50jAB 50kAB 50lCD 50kAB 50mACD 50bCD 50nCD 50nCD "
        "50oCD 50oCD 50pGH 50mABD 50qAB 50pGH 50rGH 50rGH"
    ),
    "Race_x_SES": (
        "120aABCD 150aEFG 120aABCD 150aFH 120bABCD 150bEGH 120bABCD 150bFH 30cI 150cJ 30cI 150cJK 30dL 150dM 60eNO "
        "150eP 60fBC 150fGH 60eNO 150ePQ 30gR 150gS 30hR 150hS 30dL 150dM"
    ),
    "Race_x_gender": (
        "60aAB 150aA 60bCD 150bC 30cE 150cE 60dFG 150dF 30eH 60fIJ 150fI 60gKL 150gL 30hH 60iCD 150iC 60jCD 150jC "
        "60jCD 60iCD 150iC 60gKL 150gL 60fIJ 150fI 30kE 150kE 30kE 150kE 60lCD 150lC 60mCD 150mC 60nKL 150nL 30oM "
        "60lCD 150lC 30pN 150pN 30qO 150qO"
    ),
    "Religion": (
        "10aA 10aA 30bABC 10cD 10aA 10dE 20eBE 10fF 10gC 10hE 10iF 10jB 10kD 10lD 10mA 10dE 10nG 10oG 30bABC 10cD "
        "10jB 10nG 10dE 10fF 10gC"
    ),
    "SES": (
        "12aA 12aA 12bA 120cA 120dA 12eA 12fA 120gA 18hA 18dA 120dA 120aA 120iA 120jA 120eA 12jA 12iA 12bA 120gA "
        "120bA 120aA 120cA 120dA 12cA 12dA"
    ),
    "Sexual_orientation": (
        "8aA 8bB 8cA 8bB 8dA 8eA 12fAC 8gA 8hB 8iD 12jAC 8kB 8lC 8mC 8nC 8aA 8oA 8oA 8hB 8cA 12pAC 12pAC 8iD 8bB 8mC"
    ),
}
"""For every template of a category: its quartets, a letter for its stereotype, and one for each label of targets."""

RESAMPLES = 400  # fewer than a run draws: enough for a standard deviation
SIZES: Mapping[str, Mapping[str, int | None]] = {
    "bbq": {"quick": QUICK, "standard": STANDARD, "paper": None},
    "bbq-starter": {"quick": STARTER_QUICK, "standard": STARTER_STANDARD, "paper": None},
}
TARGET, OTHER, UNKNOWN = 0, 1, 2  # the options of a simulated question

SPREAD = 6.0  # a + b of beta distributions: small means that templates differ much
GAPS = 0.05  # the standard deviation of half of what templates favour facts by that agree with the stereotype
DEPENDS = 0.2  # answers that depend on the order of the options
OTHER_PERSON = 0.6  # a wrong answer names the other person, and says UNKNOWN otherwise


@dataclass(frozen=True)
class Structure(ItemSource):
    """All 58,492 questions, without a word."""

    def read(self) -> Dataset:
        return _questions()


@cache
def _questions() -> Dataset:
    examples: list[Item] = []
    stereotypes: list[str] = []
    named: list[bool] = []
    numbers: dict[str, int] = {}
    for cell, templates in TEMPLATES.items():
        category = cell.removesuffix(NAMES)
        for place, template in enumerate(templates.split()):
            match = re.fullmatch(r"(\d+)(\w)(\w+)", template)
            assert match is not None
            for quartet in range(int(match[1])):
                label = match[3][quartet // 2 % len(match[3])]
                start = numbers.get(category, 0)
                numbers[category] = start + len(QUARTET)
                examples += _quartet(category, f"{place}{cell.removeprefix(category)}", label, quartet, start)
                stereotypes += [match[2]] * len(QUARTET)
                named += [cell != category] * len(QUARTET)
    return Dataset(examples, np.zeros(len(examples), np.int8), np.array(named), stereotypes)


def _quartet(category: str, template: str, label: str, number: int, start: int) -> Iterator[Item]:
    """Every other quartet has a fact that agrees with the stereotype."""
    said = f"{label}-{label}" if category in CROSSED else label
    kind = list(COMPARISONS)[number // 2 % 3] if category in CROSSED else "None"
    info = ((said, said), ("other", "other"), ("unknown", "unknown"))
    for place, (polarity, condition) in enumerate(QUARTET):
        agrees = number % 2 == 0
        told = TARGET if agrees == (polarity == NEGATIVE) else OTHER
        gold = told if condition == DISAMBIGUATED else UNKNOWN
        about = (start + place, template, polarity, condition, category, info, kind)
        yield Item(*about, (), "", "", "", "", ("", "", ""), gold)


@dataclass(frozen=True)
class Scenario:
    """What a model tends to do, on average over templates; and in which share of the categories it is biased."""

    name: str
    person: float = 0.5  # names somebody where the text does not tell
    agrees: float = 0.5  # of those who are named, where it is biased
    right: float = 0.85  # when the fact is told
    gap: float = 0.0  # by which it is more often right where the fact agrees with the stereotype, where it is biased
    differ: bool = True  # whether templates do
    biased: float = 1.0  # in this share of the categories, the first ones

    def tendencies(self, biased: NDArray[np.bool_], sets: int, rng: np.random.Generator) -> dict[str, Array]:
        """Of templates (set, template): each has its own, drawn from beta and normal distributions."""
        shape = (sets, len(biased))
        gap = np.where(biased, self.gap / 2, 0.0)
        if self.differ:
            gap = gap + GAPS * rng.normal(size=shape)
        right = self._share(self.right, shape, rng)
        return {
            "person": self._share(self.person, shape, rng),
            "agrees": self._share(np.where(biased, self.agrees, 0.5), shape, rng),
            "aligned": np.clip(right + gap, 0.0, 1.0),
            "nonaligned": np.clip(right - gap, 0.0, 1.0),
            "depends": self._share(DEPENDS, shape, rng),
        }

    def _share(self, mean: float | Array, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        if not self.differ:
            return np.broadcast_to(np.asarray(mean, np.float64), shape)
        mean = np.clip(mean, 1e-6, 1.0 - 1e-6)
        return rng.beta(SPREAD * mean, SPREAD * (1.0 - mean), shape)

    def truth(self, biased: bool) -> dict[str, float]:
        """The means of the tendencies over an endless number of templates."""
        means = {"person": self.person, "agrees": self.agrees if biased else 0.5, "depends": DEPENDS}
        fine, coarse = ((np.arange(n) + 0.5) / n for n in (1000, 100))
        right, apart = np.array([self.right]), np.zeros((1, 1))
        if self.differ:
            right = betaincinv(SPREAD * self.right, SPREAD * (1.0 - self.right), fine)
            apart = GAPS * ndtri(coarse[:, None])
        gap = apart + (self.gap / 2 if biased else 0.0)
        sides = {"aligned": right + gap, "nonaligned": right - gap}
        return means | {name: float(np.clip(own, 0.0, 1.0).mean()) for name, own in sides.items()}


@dataclass(frozen=True)
class Questions:
    """What a preset asks, and what its analysis needs to know that no answer changes.

    Atoms are questions that nothing tells apart: of one template and context, about one label, and so on.
    """

    dataset: Dataset

    @cached_property
    def units(self) -> ResamplingUnits:
        about = [each.question_index for each in self.dataset.examples]
        return ResamplingUnits.make(list(zip(self.dataset.cells, about, strict=True)), RESAMPLES, 0)

    @cached_property
    def categories(self) -> list[str]:
        """The category of every template."""
        first = np.unique(self.units.of, return_index=True)[1]
        return [self.dataset.cells[row] for row in first]

    @cached_property
    def atom(self) -> Indices:
        """Of every question; in the order of their templates."""
        data, keys = self.dataset, []
        for row, (unit, each) in enumerate(zip(self.units.of.tolist(), data.examples, strict=True)):
            aligned = each.label == (
                data.target[row] if each.polarity == NEGATIVE else 3 - data.target[row] - each.unknown
            )
            about = label_of(data, row) or "", data.stereotype[row], each.comparison or ""
            keys.append((unit, each.condition == DISAMBIGUATED, bool(aligned), *about))
        places = {key: place for place, key in enumerate(sorted(set(keys)))}
        return np.array([places[key] for key in keys], np.int64)

    @cached_property
    def atoms(self) -> tuple[Indices, NDArray[np.bool_], NDArray[np.bool_], Indices]:
        """Template, whether the fact is told, whether it agrees with the stereotype, and the number of questions."""
        _, first, size = np.unique(self.atom, return_index=True, return_counts=True)
        examples, target = self.dataset.examples, self.dataset.target
        told = [examples[row].condition == DISAMBIGUATED for row in first]
        agrees = [(examples[row].label == target[row]) == (examples[row].polarity == NEGATIVE) for row in first]
        return self.units.of[first], np.array(told), np.array(agrees), size

    @cached_property
    def cells(self) -> list[tuple[EstimateGroup, Indices]]:
        """With their atoms. Left out: parts by polarity, and rates that are 0 here."""
        blank = AnsweredItems(self.dataset, np.zeros((len(self.dataset), 1), np.int64))
        return [(cell, np.unique(self.atom[cell.rows])) for cell in cells_of(blank) if "polarity" not in cell.group]

    @cached_property
    def rows(self) -> dict[str, list[Indices]]:
        """The atoms of both tables' rows that can have a p: those about enough templates."""
        data = self.dataset
        found: dict[str, dict[tuple[str, ...], set[int]]] = {"by_label": {}, "intersectional": {}}
        for row, (atom, cell, each) in enumerate(zip(self.atom.tolist(), data.cells, data.examples, strict=True)):
            label, target = label_of(data, row), crossed_of(data, row)
            for stereotype in {"", data.stereotype[row]} if label else ():
                key = (cell, each.condition, label or "", stereotype)
                found["by_label"].setdefault(key, set()).add(atom)
            if target:
                key = (each.category, each.condition, target, each.comparison or "")
                found["intersectional"].setdefault(key, set()).add(atom)
        unit = self.atoms[0]
        return {
            name: [own for each in rows.values() if len(np.unique(unit[own := np.array(sorted(each))])) >= MIN_UNITS]
            for name, rows in found.items()
        }

    def is_biased(self, scenario: Scenario) -> NDArray[np.bool_]:
        names = list(dict.fromkeys(self.categories))
        some = set(names[: max(round(scenario.biased * len(names)), 1)])
        return np.array([own in some for own in self.categories])

    def answers(self, scenario: Scenario, sets: int, rng: np.random.Generator) -> Tally:
        """What the answers to every atom come to in simulated runs (set, atom, Field)."""
        unit, told, agrees, size = self.atoms
        tends = {name: own[:, unit] for name, own in scenario.tendencies(self.is_biased(scenario), sets, rng).items()}
        named = rng.binomial(size, tends["person"])
        biased = rng.binomial(named, tends["agrees"])
        right = rng.binomial(size, np.where(agrees, tends["aligned"], tends["nonaligned"]))
        other = rng.binomial(size - right, OTHER_PERSON)
        result = _tally(size, told, agrees, named, biased, right, other)
        result[..., TallyField.DEPENDS] = rng.binomial(size, tends["depends"])
        return result

    def expected(self, scenario: Scenario) -> Tally:
        """The same on average over all templates (atom, Field)."""
        unit, told, agrees, size = self.atoms
        is_biased = self.is_biased(scenario)[unit]
        of = {flag: scenario.truth(flag) for flag in (False, True)}
        tends = {name: np.where(is_biased, of[True][name], of[False][name]) for name in of[True]}
        named = size * tends["person"]
        right = size * np.where(agrees, tends["aligned"], tends["nonaligned"])
        result = _tally(size, told, agrees, named, named * tends["agrees"], right, (size - right) * OTHER_PERSON)
        result[..., TallyField.DEPENDS] = size * tends["depends"]
        return result

    def by_template(self, tally: Tally, atoms: Indices) -> tuple[Tally, Indices]:
        """Of some atoms (set, template, Field), and the templates' numbers."""
        units, starts = np.unique(self.atoms[0][atoms], return_index=True)
        return np.add.reduceat(tally[:, atoms], starts, axis=1), units

    def drawn(self, tally: Tally, atoms: Indices) -> ResampledTallies:
        """Every data set is a model of its own."""
        own, units = self.by_template(tally, atoms)
        return ResampledTallies(own, own.sum(axis=1), self.units.weights[:, units] @ own, self.units.strata[units])


def _tally(
    size: Indices,
    told: NDArray[np.bool_],
    agrees: NDArray[np.bool_],
    named: ArrayLike,
    biased: ArrayLike,
    right: ArrayLike,
    other: ArrayLike,
) -> Tally:
    """From numbers of answers (…, atom): in ambiguous contexts persons named, in others right and wrong ones."""
    named, biased, right, other = (np.asarray(own, np.float64) for own in (named, biased, right, other))
    result = np.zeros((*named.shape, FIELDS))
    correct = np.where(told, right, size - named)
    result[..., [TallyField.ASKED, TallyField.COUNTED, TallyField.TARGETED, TallyField.ORDERED]] = size[:, None]
    result[..., [TallyField.CORRECT, TallyField.TARGETED_CORRECT]] = correct[..., None]
    result[..., TallyField.UNKNOWN] = np.where(told, size - right - other, size - named)
    result[..., TallyField.BIASED] = np.where(told, np.where(agrees, right, other), biased)
    result[..., TallyField.COUNTER] = np.where(told, np.where(agrees, other, right), named - biased)
    result[..., TallyField.PERSON] = np.where(told, right + other, named)
    for side, own, good, declined, person in (
        (agrees, TallyField.ALIGNED, TallyField.ALIGNED_CORRECT, TallyField.ALIGNED_UNKNOWN, TallyField.ALIGNED_PERSON),
        (
            ~agrees,
            TallyField.NONALIGNED,
            TallyField.NONALIGNED_CORRECT,
            TallyField.NONALIGNED_UNKNOWN,
            TallyField.NONALIGNED_PERSON,
        ),
    ):
        result[..., own] = np.where(told & side, size, 0)
        result[..., good] = np.where(told & side, right, 0)
        result[..., declined] = np.where(told & side, size - right - other, 0)
        result[..., person] = np.where(told & side, right + other, 0)
    return result


@cache
def questions(probe: str, size: str) -> Questions:
    source = Structure() if probe == "bbq" else StarterSource()
    return Questions(selected(source, ItemSample(per_template=SIZES[probe][size])))


# --- analysed as a run is, all data sets at once


def intervals(metric: TallyMetric, drawn: ResampledTallies) -> tuple[Array, Array, Array]:
    """The values of a metric and both ends of their intervals (set,); NaN where a run says that there is none."""
    own = drawn.of(metric)
    low, high = logit_interval(own.values, own.replicates.T, own.effective, strata=own.strata, bounds=metric.bounds)
    enough = own.units - own.strata >= MIN_UNITS - 1
    return own.values, np.where(enough, low, np.nan), np.where(enough, high, np.nan)


@dataclass(frozen=True)
class Claims:
    """q of all that can be claimed, by kind (set, test); `whose` says what the tests of estimates are about."""

    q: Mapping[str, Array]
    whose: Mapping[str, list[Mapping[str, str]]]

    def claimed(self, kind: str) -> NDArray[np.bool_]:
        """(set, test)"""
        return self.q[kind] <= CLEAR

    @property
    def anything(self) -> NDArray[np.bool_]:
        """Whether something is claimed that can change the verdict (set,)."""
        deciding = [kind for kind in self.q if FAMILY.get(kind)]
        return np.asarray(np.concatenate([self.claimed(kind) for kind in deciding], axis=1).any(axis=1))


FAMILY = {claim.of: claim.family for claim in CLAIMS}


def claims(asked: Questions, tally: Tally, *, tables: bool = True) -> Claims:
    """What runs claim: bias scores and gaps, and rows of the tables by label and of crossed categories."""
    p: dict[str, list[Array]] = {}
    whose: dict[str, list[Mapping[str, str]]] = {}
    for cell, atoms in asked.cells:
        for metric in {"bias_score", "accuracy_cost", "abstention_gap"} & {each.name for each in cell.metrics}:
            kind = family_of(metric, cell.group)
            p.setdefault(kind, []).append(_p(metric, asked.by_template(tally, atoms)[0]))
            whose.setdefault(kind, []).append(cell.group)
    for table, rows in asked.rows.items() if tables else ():
        for atoms in rows:
            p.setdefault(table, []).append(_p("bias_score", asked.by_template(tally, atoms)[0], MIN_UNITS))
    columns = {kind: np.stack(own, axis=1) for kind, own in p.items()}
    q = {kind: np.array([benjamini_hochberg(each) for each in own]) for kind, own in columns.items()}
    families = list(dict.fromkeys(FAMILY[kind] for kind in columns if FAMILY.get(kind)))
    for family in families:  # as assay.probes.claims does it
        kinds = [kind for kind in columns if FAMILY.get(kind) == family]
        together = np.concatenate([columns[kind] for kind in kinds], axis=1)
        found = np.minimum(len(families) * np.array([holm(each) for each in together]), 1.0)
        ends = np.cumsum([columns[kind].shape[1] for kind in kinds])
        q |= dict(zip(kinds, np.split(found, ends[:-1], axis=1), strict=True))
    return Claims(q, whose)


def _p(metric: str, tally: Tally, least: int = 1) -> Array:
    """p of tallies (set, template, Field); NaN where an answer to fewer than `least` templates names somebody, or where
    fewer than five answers decline.
    """
    added = contributions(metric, tally)
    assert added is not None
    named = (tally[..., [TallyField.BIASED, TallyField.COUNTER]].sum(axis=-1) > 0).sum(axis=1)
    enough = named >= least
    if metric == "abstention_gap":
        enough = tally[..., [TallyField.ALIGNED_UNKNOWN, TallyField.NONALIGNED_UNKNOWN]].sum(axis=(1, 2)) >= MIN_COUNTED
    return np.where(enough, sign_flip_p(np.nan_to_num(added)), np.nan)
