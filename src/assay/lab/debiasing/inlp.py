"""INLP (Ravfogel et al. 2020): train a linear classifier of the attribute, remove its directions, and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from assay.config.settings import setting
from assay.errors import UsageError
from assay.lab.debiasing.attribute_words import AttributeWords
from assay.lab.debiasing.corpus import Corpus, kinds_of_sentences, names_of_kinds
from assay.lab.debiasing.method import DebiasJob, DebiasMethod
from assay.lab.debiasing.projection import ProjectionFit, ProjectionSettings, Vectors, project
from assay.lab.debiasing.vectors import (
    Floats,
    Labels,
    RemovedDirections,
    majority_rate,
    probe_accuracies,
    projection_without,
    row_space,
    split,
    train_probe,
)
from assay.lab.model_card import table

_ONE_SIDED_95 = 1.645


@dataclass(frozen=True)
class InlpSettings(ProjectionSettings):
    """What INLP can be set to; the defaults are bias-bench's values."""

    rounds: int = setting(80, "how many classifiers are trained; the direction of each is removed", least=1)
    stop: str = setting(
        "never", "chance: stop when a classifier does no better than guessing", choices=("never", "chance")
    )
    clip: str = setting("random", "cut sentences after their attribute word", choices=("random", "never"))
    least_words: int = setting(5, "leave out shorter sentences", least=1)

    def require_some_left(self, attribute: AttributeWords, width: int) -> None:
        if self.stop == "never":
            require_some_left(self.rounds, len(names_of_kinds(attribute)), width)


def learnt(
    job: DebiasJob, settings: InlpSettings, attribute: AttributeWords, corpus: Corpus, vectors: Vectors
) -> ProjectionFit:
    """The directions of linear classifiers of sentences with words of one class, of the other, or of none."""
    selection = replace(settings.choosing(job.seed), clip=settings.clip == "random", least_words=settings.least_words)
    sentences, available = kinds_of_sentences(corpus, attribute, selection, job.progress)
    features, firsts = vectors([text for texts in sentences.values() for text in texts])
    labels = np.repeat(np.arange(len(sentences)), [len(texts) for texts in sentences.values()])
    rest, test = split(labels, job.seed)
    places = split(labels[rest], job.seed)
    train, dev = rest[places[0]], rest[places[1]]
    job.progress.start("inlp: rounds", settings.rounds, "classifiers")
    removed = inlp(
        features[train],
        labels[train],
        features[dev],
        labels[dev],
        rounds=settings.rounds,
        stop_at_chance=settings.stop == "chance",
        on_round=lambda: job.progress.advance(1),
    )
    job.progress.advance(settings.rounds + 1 - len(removed.ranks))  # those that were not needed
    counts = {
        "there": available,
        "used": {name: len(texts) for name, texts in sentences.items()},
        "split": {"train": len(train), "dev": len(dev), "test": len(test)},
    }
    return counts, removed, probe_accuracies(features, firsts, labels, train, test, removed.basis)


def inlp(
    features: Floats,
    labels: Labels,
    dev_features: Floats,
    dev_labels: Labels,
    *,
    rounds: int = 80,
    stop_at_chance: bool = False,
    on_round: Callable[[], None] = lambda: None,
) -> RemovedDirections:
    """Iterative nullspace projection with linear support vector machines, as bias-bench runs it.

    Round i trains a classifier on the features P_i x and adds the directions W_i that it uses (one for two classes, one
    for each of more) to those removed; one that uses nothing ends it. P_{i+1} projects onto the intersection of the
    null spaces of W_1 … W_i, which is the null space of the sum of their row spaces' projections (Ben-Israel), so of
    the rows of all W together.

    features (sentence, width). There is no test of accuracy by default: all rounds are run. `stop_at_chance` ends as
    soon as the probe's accuracy on the dev features is not above `majority` by more than chance allows (one-sided 95%).
    `on_round` is called after each round.
    """
    width, classes = features.shape[1], len(np.unique(labels))
    if classes < 2:
        problem = "there is only one class, so there is nothing to tell apart."
        raise UsageError(problem, "Use sentences of two classes.", code="bad-option", key="labels")
    if not stop_at_chance:
        require_some_left(rounds, classes, width)
    majority = majority_rate(dev_labels)
    enough = majority + _ONE_SIDED_95 * sqrt(majority * (1 - majority) / len(dev_labels))
    train, dev = (np.asarray(vectors, np.float64) for vectors in (features, dev_features))
    basis: Floats = np.zeros((0, width))
    accuracy, ranks, unfinished = [], [0], 0
    for number in range(rounds + 1):
        projection = projection_without(basis)
        probe = train_probe(train @ projection, labels)
        accuracy.append(probe.score(dev @ projection, dev_labels))
        if number == rounds or (stop_at_chance and accuracy[-1] <= enough):
            break
        unfinished += not probe.converged
        wider = row_space(np.concatenate([basis, row_space(probe.weights)]))
        if len(wider) == len(basis):  # the classifier's weights are 0: it found nothing, and never will
            break
        if len(wider) >= width:
            raise _too_many(f"after {number + 1} rounds all {width} directions of the model are removed.", number // 2)
        basis = wider
        ranks.append(len(basis))
        on_round()
    return RemovedDirections(basis, tuple(accuracy), tuple(ranks), majority, unfinished=unfinished)


def require_some_left(rounds: int, classes: int, width: int) -> None:
    """Refuse so many rounds that no direction of the model could be left."""
    directions = 1 if classes == 2 else classes  # that one classifier uses
    if rounds * directions >= width:
        problem = f"{rounds} rounds remove up to {rounds * directions} directions, and the model has {width}."
        raise _too_many(problem, (width - 1) // (2 * directions))


def _too_many(problem: str, better: int) -> UsageError:
    remedy = f"Nothing would be left: --set rounds={max(better, 1)}"
    return UsageError(problem, remedy, code="bad-setting", key="rounds")


def rounds(report: Mapping[str, Any]) -> list[str]:
    """For the card: how well classifiers did after some rounds."""
    probe = report["probe"]
    last = len(probe["directions"]) - 1
    numbers = sorted({0, *(number for number in (1, 2, 5, 10, 20, 40) if number < last), last})
    rows = [[number, probe["directions"][number], f"{probe['accuracy'][number]:.3f}"] for number in numbers]
    ending = f"All rounds are in assay.json; guessing gives {probe['majority']:.3f}."
    if probe["unfinished"]:
        ending += f" In {probe['unfinished']} of {last} rounds the classifier's training did not converge."
    intro = "On development sentences, after some of the rounds:"
    return ["", intro, "", *table(("rounds", "directions removed", "accuracy"), rows), "", ending]


METHOD = DebiasMethod(
    "inlp",
    "INLP",
    "remove what linear classifiers find of the attribute in the encoder's output (post hoc)",
    "Ravfogel et al. 2020, with the settings of bias-bench (Meade et al. 2022) as defaults",
    InlpSettings,
    lambda job: project(job, learnt, rounds),
    stands_for="INLP (iterative nullspace projection)",
    folded=True,
)
