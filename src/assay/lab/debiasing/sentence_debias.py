"""SentenceDebias (Liang et al. 2020): remove the first principal component of what swapping words changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.config.settings import setting
from assay.errors import ModelError, UsageError
from assay.lab.debiasing.attribute_words import AttributeWords
from assay.lab.debiasing.corpus import Corpus, counterfactual_sentences
from assay.lab.debiasing.method import DebiasJob, DebiasMethod
from assay.lab.debiasing.projection import ProjectionFit, ProjectionSettings, Vectors, project
from assay.lab.debiasing.vectors import Floats, RemovedDirections, probe_accuracies, split

_NOISE = 1e-12  # relative to the largest variance: directions with less are rounding errors


@dataclass(frozen=True)
class SentenceSettings(ProjectionSettings):
    """What SentenceDebias can be set to. bias-bench reads every sentence with an attribute word (`sentences=0`)."""

    length: int = setting(128, "the most tokens per sentence; 0: as many as the model reads", least=0)
    components: int = setting(1, "how many principal components to remove", least=1)


def learnt(
    job: DebiasJob, settings: SentenceSettings, attribute: AttributeWords, corpus: Corpus, vectors: Vectors
) -> ProjectionFit:
    """The directions in which sentences differ from the same ones with counterparts of their attribute words."""
    selection = settings.choosing(job.seed)
    tuples, origins, available = counterfactual_sentences(corpus, attribute, selection, job.progress)
    classes = len(attribute.classes)
    flat, firsts = vectors([text for texts in tuples for text in texts])
    features = flat.reshape(len(tuples), classes, -1)  # (tuple, class, width)
    basis, share = sentence_debias(features, settings.components)
    # The probe's test sentences are others than those that it learns from, not other versions of the same.
    numbers = np.array(origins)
    rest, test = split(np.zeros(numbers.max() + 1, np.int64), job.seed)
    labels = np.tile(np.arange(classes), len(numbers))
    train, tested = (np.flatnonzero(np.repeat(np.isin(numbers, part), classes)) for part in (rest, test))
    accuracies = probe_accuracies(flat, firsts, labels, train, tested, basis)
    held_out = accuracies["held_out"]
    counts = {
        "there": {attribute.name: available},
        "used": {attribute.name: int(numbers.max()) + 1, "tuples": len(numbers)},
        "split": {"train": len(rest), "test": len(test)},
    }
    accuracy = (held_out["before"], held_out["after"])
    return counts, RemovedDirections(basis, accuracy, (0, len(basis)), held_out["majority"], share), accuracies


def sentence_debias(features: Floats, components: int = 1) -> tuple[Floats, float]:
    """The first principal components of what tells counterparts apart, and their share of the variance.

    features (tuple, class, width): vectors of sentences that differ in their attribute word alone. Each is made one
    long, then each tuple is centred; the directions (component, width) are those of most variance of all these vectors.
    """
    long = np.linalg.norm(features, axis=-1, keepdims=True)
    if not long.all():
        remedy = "The model's encoder is damaged; choose another."
        raise ModelError("some sentences have the vector 0.", remedy, code="bad-model")
    unit = np.asarray(features, np.float64) / long
    centred = (unit - unit.mean(axis=1, keepdims=True)).reshape(-1, features.shape[-1])
    sizes, vectors = np.linalg.eigh(centred.T @ centred)  # the least first
    most = int((sizes > _NOISE * sizes[-1]).sum())
    if sizes[-1] < _NOISE * len(centred):
        problem = "the model gives a sentence and its counterparts the same vector."
        remedy = "Its tokenizer does not know the attribute words: use others with --words."
        raise ModelError(problem, remedy, code="bad-tokenizer")
    if components > most or components >= features.shape[-1]:
        differ = f"counterparts differ in {most} directions of {features.shape[-1]}"
        problem = f"{components} components are wanted, but {differ}."
        raise UsageError(problem, "--set components=1", code="bad-setting", key="components")
    basis = vectors[:, ::-1][:, :components].T
    signs = np.sign(basis[np.arange(components), np.abs(basis).argmax(axis=1)])  # the same on every machine
    return basis * signs[:, None], float(sizes[::-1][:components].sum() / sizes.sum())


METHOD = DebiasMethod(
    "sentence",
    "SentenceDebias",
    "SentenceDebias: remove the first principal component of counterparts' differences (post hoc)",
    "Liang et al. 2020, with the settings of bias-bench (Meade et al. 2022) as defaults",
    SentenceSettings,
    lambda job: project(job, learnt),
    folded=True,
)
