"""Answerers of BBQ whose verdict is known: what each of them chooses, from the questions alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from assay.answers import REFUSED, UNPARSED
from assay.asking.queries import NONE
from assay.probes import probe_named
from assay.probes.bbq.analyse import findings_of
from assay.probes.bbq.diagnose import diagnosis_of
from assay.probes.bbq.grounds import grounds_of, lost_answers, mentioned_first
from assay.probes.bbq.items import DISAMBIGUATED, NEGATIVE, Dataset
from assay.probes.bbq.settings import BBQSettings
from assay.probes.bbq.tallies import AnsweredItems
from assay.probes.claims import with_claims
from assay.results.findings import Findings

Options = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Questions:
    """What answerers need to know of questions; `biased` and `counter` are the options that a stereotype suggests."""

    dataset: Dataset

    def __post_init__(self) -> None:
        examples = self.dataset.examples
        unknown = np.array([each.unknown for each in examples], np.int64)
        target = self.dataset.target.astype(np.int64)
        negative = np.array([each.polarity == NEGATIVE for each in examples])
        other = np.where(target != NONE, 3 - unknown - target, (unknown + 1) % 3)
        target = np.where(target != NONE, target, (unknown + 2) % 3)
        found = {
            "unknown": unknown,
            "right": np.array([each.label for each in examples], np.int64),
            "told": np.array([each.condition == DISAMBIGUATED for each in examples]),
            "biased": np.where(negative, target, other),
            "counter": np.where(negative, other, target),
            "category": np.array(self.dataset.cells),
            "template": np.array([each.question_index for each in examples]),
        }
        for name, values in found.items():
            object.__setattr__(self, name, values)

    unknown: Options = field(init=False)
    right: Options = field(init=False)
    told: Bools = field(init=False)
    biased: Options = field(init=False)
    counter: Options = field(init=False)
    category: NDArray[np.str_] = field(init=False)
    template: NDArray[np.str_] = field(init=False)

    @property
    def wrong_person(self) -> Options:
        """Where the text gives the answer: the other person."""
        return 3 - self.unknown - self.right

    @property
    def confirms(self) -> Bools:
        """Whether the fact confirms the stereotype."""
        confirms: Bools = self.told & (self.right == self.biased)
        return confirms

    @property
    def first(self) -> Options:
        return np.array([mentioned_first(each) for each in self.dataset.examples], np.int64)


Answerer = Callable[[Questions, np.random.Generator], Options]


def noisy(person: float = 0.01, declines: float = 0.1, wrong: float = 0.01) -> Answerer:
    """Names somebody where the text does not tell, declines or names the wrong person where it does, at random."""

    def answer(asked: Questions, rng: np.random.Generator) -> Options:
        draw, side = rng.random(len(asked.right)), rng.random(len(asked.right)) < 0.5
        guessed = np.where(draw < person, np.where(side, asked.biased, asked.counter), asked.unknown)
        told = np.select([draw < declines, draw < declines + wrong], [asked.unknown, asked.wrong_person], asked.right)
        return np.where(asked.told, told, guessed)

    return answer


def selective(confirming: float, contradicting: float) -> Answerer:
    """Never names a wrong person, but declines more often where the fact confirms a stereotype."""

    def answer(asked: Questions, rng: np.random.Generator) -> Options:
        declines = rng.random(len(asked.right)) < np.where(asked.confirms, confirming, contradicting)
        return np.where(asked.told & declines, asked.unknown, asked.right)

    return answer


def leaning(bias: Callable[[Questions], NDArray[np.float64]], *, person: float = 0.5) -> Answerer:
    """Right where the text tells; else names somebody in a share of the questions, leaning by s_AMB = `bias`."""

    def answer(asked: Questions, rng: np.random.Generator) -> Options:
        lean = np.clip(bias(asked) / person, -1.0, 1.0)
        named = rng.random(len(asked.right)) < person
        agrees = rng.random(len(asked.right)) < (1.0 + lean) / 2.0
        guessed = np.where(named, np.where(agrees, asked.biased, asked.counter), asked.unknown)
        return np.where(asked.told, asked.right, guessed)

    return answer


def in_categories(**bias: float) -> Callable[[Questions], NDArray[np.float64]]:
    return lambda asked: np.array([bias.get(each, 0.0) for each in asked.category])


def in_templates(category: str, some: int) -> Answerer:
    """Always biased in the first templates of one category, noisy elsewhere."""

    def answer(asked: Questions, rng: np.random.Generator) -> Options:
        known = list(dict.fromkeys(asked.template[asked.category == category].tolist()))[:some]
        biased = (asked.category == category) & np.isin(asked.template, known) & ~asked.told
        return np.where(biased, asked.biased, noisy()(asked, rng))

    return answer


def guessing(asked: Questions, rng: np.random.Generator) -> Options:
    return rng.integers(0, 3, len(asked.right))


def always(option: Callable[[Questions], Options]) -> Answerer:
    return lambda asked, rng: option(asked)


def first_person(asked: Questions, rng: np.random.Generator) -> Options:
    return np.where(asked.first != NONE, asked.first, (asked.unknown + 1) % 3)


def mostly(said: int, share: float) -> Answerer:
    """Perfect, but a share of the answers says nothing."""

    def answer(asked: Questions, rng: np.random.Generator) -> Options:
        return np.where(rng.random(len(asked.right)) < share, said, asked.right)

    return answer


ANSWERERS: Mapping[str, Answerer] = {
    "perfect": always(lambda asked: asked.right),
    "noisy": noisy(),
    "cautious": noisy(0.01, 0.44, 0.005),
    "selective abstainer": selective(0.2, 0.05),
    "always biased": always(lambda asked: asked.biased),
    "always counter-biased": always(lambda asked: asked.counter),
    "always UNKNOWN": always(lambda asked: asked.unknown),
    "always A": always(lambda asked: np.zeros_like(asked.right)),
    "always first person": first_person,
    "guessing": guessing,
    "refuser": mostly(REFUSED, 0.8),
    "truncated": mostly(UNPARSED, 1.0),
    "one category at 0.3": leaning(in_categories(Age=0.3)),
    "two categories at +0.3 and −0.3": leaning(in_categories(Age=0.3, Religion=-0.3)),
    "biased in 5 templates of one category": in_templates("Age", 5),
}


def concluded(
    probe: str,
    dataset: Dataset,
    chosen: Options,
    *,
    held: Dataset | None = None,
    settings: BBQSettings = BBQSettings(),  # noqa: B008
    lost: Mapping[str, int] | None = None,
    seed: int = 0,
) -> Findings:
    """The findings of answers, with their verdict, as of a run."""
    part = AnsweredItems(dataset, chosen[:, None])
    how = {"refusals": settings.refusals, "resamples": settings.resamples, "seed": seed}
    found = findings_of(probe, [part], scored=False, **how)  # type: ignore[arg-type]
    diagnosis = diagnosis_of([part], None, settings)
    said = lost_answers(part.chosen) if lost is None else lost
    grounds = grounds_of([part], found.estimates, diagnosis, settings, lost=said, held=held, seed=seed)
    found = replace(found, diagnosis=diagnosis, grounds=grounds)
    return with_claims(found, probe_named(probe), {})


def sampled(source: Dataset, rows: Sequence[int]) -> Questions:
    return Questions(source.take(np.array(rows, np.int64)))
