"""INLP and SentenceDebias from beginning to end: what is cheap and may fail comes first, the folder appears whole."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from assay import __version__
from assay.debias.card import card
from assay.debias.corpus import Corpus
from assay.debias.features import head_inputs, sentence_vectors
from assay.debias.fold import find_places, fold
from assay.debias.job import Debiased, Job, require_space
from assay.debias.linear import (
    Removed,
    inlp,
    majority_rate,
    probe_accuracy,
    projection_without,
    require_some_left,
    sentence_debias,
)
from assay.debias.sentences import Choosing, counterfactual_sentences, kinds_of_sentences, names_of_kinds
from assay.debias.settings import InlpSettings, SentenceSettings, Settings, settings_of
from assay.debias.words import Attribute, read_attribute
from assay.errors import UsageError
from assay.files.atomic import folder_beside, rename_folder
from assay.models import find_model
from assay.models.base import ModelSpec, Options
from assay.models.builtin_folder import Head, write_builtin
from assay.models.hf_load import load_tokenizer, load_weights, max_length

_HEADS = ("choice", "span", "mask")
_TOKENIZER_FILES = ("*.json", "*.txt", "*.model", "*.jinja")
_NOT_THE_TOKENIZERS = ("config.json", "generation_config.json", "assay.json")
_PACKAGES = ("torch", "transformers", "scikit-learn", "numpy")
_TEST_SHARE = 0.3

Told = dict[str, dict[str, float]]


def run(job: Job) -> Debiased:
    """Make the model that a job asks for."""
    settings = settings_of(job.method, job.settings)
    if job.dtype not in ("auto", "float32"):
        problem = f"{job.method} computes in float32 only, not {job.dtype!r}."
        raise UsageError(problem, "Leave --dtype out: what is folded must be exact.")
    if job.attribute is None:
        raise UsageError(f"{job.method} needs an attribute, such as gender.", "--attribute gender")
    attribute = read_attribute(job.attribute, job.words)
    corpus = Corpus(job.corpus)
    with _source(job, settings) as (spec, known):
        ability = next(each for each in _HEADS if each in spec.abilities)
        model, tokenizer = load_weights(spec), load_tokenizer(spec)
        inputs = head_inputs(tokenizer, ability, model.device)
        places = find_places(model, inputs)
        if isinstance(settings, InlpSettings) and settings.stop == "never":
            require_some_left(settings.rounds, len(names_of_kinds(attribute)), model.config.hidden_size)
        require_space(job.out, int(1.1 * 4 * sum(weight.numel() for weight in model.parameters())))

        before = None if job.evaluate is None else job.evaluate(Path(spec.place))

        limit = max_length(tokenizer, model)
        length = min(settings.length or limit, limit)
        sentences, removed, told = _learnt(job, settings, attribute, corpus, _Vectors(model, tokenizer, length, job))
        changes = fold(model, removed.projection, places, inputs)

        report: dict[str, Any] = {
            "schema": 1,
            "kind": "debiased",
            "method": job.method,
            "attribute": attribute.name,
            "model": known,
            "architecture": type(model).__name__,
            "corpus": {"file": job.corpus.name, "digest": corpus.digest},
            "words": {"file": None if job.words is None else job.words.name, "digest": attribute.digest},
            "settings": settings.as_json(),
            "seed": job.seed,
            "device": spec.device,
            "sentences": sentences,
            "removed": {"directions": len(removed.basis), "of": removed.basis.shape[1], "share": removed.share},
            "probe": {
                "accuracy": removed.accuracy,
                "directions": removed.ranks,
                "majority": removed.majority,
                "unfinished": removed.unfinished,
                **told,
            },
            "folded_into": changes,
            "scores": None,
            "versions": {"assay": __version__, **{name: version(name) for name in _PACKAGES}},
            "command": job.command(),
        }
        with folder_beside(job.out) as folder:
            model.save_pretrained(folder)
            _copy_tokenizer(Path(spec.place), folder)
            _save_subspace(folder / "subspace.npz", removed)
            if job.evaluate is not None and before is not None:
                report["scores"] = _scores(before, job.evaluate(folder))
            text = json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False)
            (folder / "assay.json").write_text(text + "\n", encoding="utf-8")
            (folder / "README.md").write_text(card(report), encoding="utf-8")
            rename_folder(folder, job.out)
    return Debiased(job.out, json.loads(text))


@contextmanager
def _source(job: Job, settings: Settings) -> Iterator[tuple[ModelSpec, dict[str, Any]]]:
    """The model to begin with, as a folder of transformers, and how the report names it."""
    options = Options(device=job.device, dtype="float32")
    if job.model == "builtin":
        own = find_model("builtin")
        with tempfile.TemporaryDirectory(prefix="assay-builtin-") as place:
            folder = write_builtin(Path(place) / "builtin", cast(Head, settings.head))
            spec = replace(find_model(f"hf:{folder}", options), name="builtin")
            yield spec, {"name": "builtin", "digest": own.digest, "head": settings.head}
        return
    spec = find_model(job.model, options)
    if spec.kind != "hf" or "text" in spec.abilities or not spec.abilities & {*_HEADS}:
        problem = f"{job.model} is no encoder with a head for span, masked or multiple-choice questions."
        raise UsageError(problem, "INLP and SentenceDebias change what such a head reads; choose another model.")
    if "head" in job.settings and settings.head not in spec.abilities:
        raise UsageError(
            f"{job.model} has no head {settings.head}.", "Only the built-in model has several; leave it out."
        )
    yield spec, {"name": job.model, "digest": spec.digest, "revision": spec.revision}


class _Vectors:
    """Vectors of texts by one model."""

    def __init__(self, model: Any, tokenizer: Any, length: int, job: Job) -> None:
        self._model, self._tokenizer, self._length, self._job = model, tokenizer, length, job

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        label = f"{self._job.method}: vectors"
        return sentence_vectors(self._model, self._tokenizer, texts, self._length, self._job.progress, label)


def _learnt(
    job: Job, settings: Settings, attribute: Attribute, corpus: Corpus, vectors: _Vectors
) -> tuple[dict[str, Any], Removed, Told]:
    """How many sentences there were, what is to be removed, and what a probe tells on sentences kept for the end."""
    how = Choosing(
        limit=settings.sentences,
        lower=settings.case == "lower",
        whole_tokens=settings.match == "token",
        seed=job.seed,
    )
    if isinstance(settings, InlpSettings):
        how = replace(how, clip=settings.clip == "random", least_words=settings.least_words)
        return _inlp(job, settings, attribute, corpus, how, vectors)
    assert isinstance(settings, SentenceSettings)  # there are two methods
    return _sentence_debias(job, settings, attribute, corpus, how, vectors)


def _inlp(
    job: Job, settings: InlpSettings, attribute: Attribute, corpus: Corpus, how: Choosing, vectors: _Vectors
) -> tuple[dict[str, Any], Removed, Told]:
    kinds = kinds_of_sentences(corpus, attribute, how, job.progress)
    features, firsts = vectors([text for texts in kinds.texts.values() for text in texts])
    labels = np.repeat(np.arange(len(kinds.texts)), [len(texts) for texts in kinds.texts.values()])
    rest, test = _split(labels, job.seed)
    places = _split(labels[rest], job.seed)
    train, dev = rest[places[0]], rest[places[1]]
    job.progress.start("inlp: rounds", settings.rounds, "classifiers")
    removed = inlp(
        features[train],
        labels[train],
        features[dev],
        labels[dev],
        rounds=settings.rounds,
        stop_at_chance=settings.stop == "chance",
        told=lambda: job.progress.advance(1),
    )
    job.progress.advance(settings.rounds + 1 - len(removed.ranks))  # those that were not needed
    counts = {
        "there": dict(kinds.there),
        "used": {name: len(texts) for name, texts in kinds.texts.items()},
        "split": {"train": len(train), "dev": len(dev), "test": len(test)},
    }
    return counts, removed, _told(features, firsts, labels, train, test, removed.basis)


def _sentence_debias(
    job: Job, settings: SentenceSettings, attribute: Attribute, corpus: Corpus, how: Choosing, vectors: _Vectors
) -> tuple[dict[str, Any], Removed, Told]:
    found = counterfactual_sentences(corpus, attribute, how, job.progress)
    classes = len(attribute.classes)
    flat, firsts = vectors([text for texts in found.texts for text in texts])
    features = flat.reshape(len(found.texts), classes, -1)  # (tuple, class, width)
    basis, share = sentence_debias(features, settings.components)
    # The probe's test sentences are others than those that it learns from, not other versions of the same.
    numbers = np.array(found.sentence)
    rest, test = _split(np.zeros(numbers.max() + 1, np.int64), job.seed)
    labels = np.tile(np.arange(classes), len(numbers))
    train, tested = (np.flatnonzero(np.repeat(np.isin(numbers, part), classes)) for part in (rest, test))
    told = _told(flat, firsts, labels, train, tested, basis)
    held_out = told["held_out"]
    counts = {
        "there": {attribute.name: found.there},
        "used": {attribute.name: int(numbers.max()) + 1, "tuples": len(numbers)},
        "split": {"train": len(rest), "test": len(test)},
    }
    accuracy = (held_out["before"], held_out["after"])
    return counts, Removed(basis, accuracy, (0, len(basis)), held_out["majority"], share), told


def _told(
    means: NDArray[np.float32],
    firsts: NDArray[np.float32],
    labels: NDArray[np.int64],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    basis: NDArray[np.floating],
) -> Told:
    """What a probe of mean vectors tells, and one of the first tokens' vectors, which heads that choose read."""
    both = {"held_out": means, "first_token": firsts}
    return {name: _held_out(vectors, labels, train, test, basis) for name, vectors in both.items()}


def _held_out(
    features: NDArray[np.float32],
    labels: NDArray[np.int64],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    basis: NDArray[np.floating],
) -> dict[str, float]:
    """What a linear probe tells on sentences that nothing was learnt or chosen with: before, after, by guessing."""
    parts = features[train], labels[train], features[test], labels[test]
    before = probe_accuracy(*parts, projection_without(basis[:0]))
    return {
        "before": before,
        "after": probe_accuracy(*parts, projection_without(basis)),
        "majority": majority_rate(labels[test]),
    }


def _split(labels: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of 70% and of 30% of these, the same part of each class."""
    from sklearn.model_selection import train_test_split

    every = np.arange(len(labels))
    first, second = train_test_split(every, test_size=_TEST_SHARE, random_state=seed % 2**32, stratify=labels)
    return first, second


def _copy_tokenizer(source: Path, folder: Path) -> None:
    """The tokenizer's files as they are; what transformers has just written there stays."""
    for pattern in _TOKENIZER_FILES:
        for path in source.glob(pattern):
            indexes = path.name.endswith(".index.json")  # of weights in several files
            if path.name not in _NOT_THE_TOKENIZERS and not indexes and not (folder / path.name).exists():
                shutil.copyfile(path, folder / path.name)


def _save_subspace(path: Path, removed: Removed) -> None:
    np.savez(
        path,
        allow_pickle=False,
        basis=removed.basis,  # (direction, width), orthonormal: the projection is I - basis.T @ basis
        accuracy=np.array(removed.accuracy),
        directions=np.array(removed.ranks),
        majority=np.array(removed.majority),
    )


def _scores(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, Any]:
    cost = {name: before[name] - after[name] for name in before if name in after}
    return {"before": dict(before), "after": dict(after), "cost": cost}
