"""Methods that project what a finished model's head reads, from beginning to end.

What is cheap and may fail comes first; the result's folder appears whole.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from assay import __version__
from assay.errors import UsageError
from assay.files.atomic import folder_beside, rename_folder
from assay.lab.card import debiased_card, listed
from assay.lab.debiasing.corpus import Corpus
from assay.lab.debiasing.folding import find_places, fold
from assay.lab.debiasing.linear import Removed, majority_rate, probe_accuracy, projection_without
from assay.lab.debiasing.method import Debiased, Job, cost, require_space
from assay.lab.debiasing.sentences import Choosing
from assay.lab.debiasing.vectors import head_inputs, sentence_vectors
from assay.lab.debiasing.words import Attribute
from assay.lab.training import KINDS, kind_of
from assay.models import find_model
from assay.models.base import ModelSpec, Options
from assay.models.builtin import Head, write_builtin
from assay.models.hf import load_tokenizer, load_weights, max_length
from assay.settings import setting

_TOKENIZER_FILES = ("*.json", "*.txt", "*.model", "*.jinja")
_NOT_THE_TOKENIZERS = ("config.json", "generation_config.json", "assay.json")
_PACKAGES = ("torch", "transformers", "scikit-learn", "numpy")
_TEST_SHARE = 0.3


@dataclass(frozen=True)
class ProjectionSettings:
    """What these methods share; the defaults are bias-bench's values."""

    sentences: int = setting(
        10_000, "as many of each kind (INLP), or as many with an attribute word (SentenceDebias); 0: all", least=0
    )
    case: str = setting("lower", "lower turns texts to lower case, whatever the model reads", choices=("lower", "keep"))
    match: str = setting("word", "token finds words between blanks only, as released", choices=("word", "token"))
    length: int = setting(0, "the most tokens of a sentence; 0: as many as the model reads", least=0)
    head: str = setting("choice", "of the built-in model, which has three", choices=("span", "mask", "choice"))

    def choosing(self, seed: int) -> Choosing:
        """How sentences are chosen."""
        lower, whole = self.case == "lower", self.match == "token"
        return Choosing(limit=self.sentences, lower=lower, whole_tokens=whole, seed=seed)

    def require_some_left(self, attribute: Attribute, width: int) -> None:
        """Refuse what would leave no direction of a model of this width."""


@dataclass(frozen=True)
class Learnt:
    """How many sentences there were, what is to be removed, and what a probe tells on sentences kept for the end."""

    sentences: Mapping[str, Any]
    removed: Removed
    told: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Vectors:
    """Vectors of texts by one model."""

    model: Any
    tokenizer: Any
    length: int
    job: Job

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        label = f"{self.job.method.name}: vectors"
        return sentence_vectors(self.model, self.tokenizer, texts, self.length, self.job.progress, label)


P = TypeVar("P", bound=ProjectionSettings)


def projecting_run(
    learnt: Callable[[Job, P, Attribute, Corpus, Vectors], Learnt],
    told_of_rounds: Callable[[Mapping[str, Any]], list[str]] = lambda report: [],
) -> Callable[[Job], Debiased]:
    """The `run` of a method that learns from sentences what to remove; `told_of_rounds` is what its card adds."""

    def run(job: Job) -> Debiased:
        settings: P = job.method.read_settings(job.settings)
        if job.dtype not in ("auto", "float32"):
            problem = f"{job.method.name} computes in float32 only, not {job.dtype!r}."
            raise UsageError(problem, "Leave --dtype out: what is folded must be exact.", code="no-device", key="dtype")
        attribute = job.method.attribute(job.attribute, job.words)
        corpus = Corpus(job.corpus)
        with _source(job, settings) as (spec, known):
            model, tokenizer = load_weights(spec), load_tokenizer(spec)
            inputs = head_inputs(tokenizer, model.device, options=kind_of(spec.abilities) is KINDS["choice"])
            places = find_places(model, inputs)
            settings.require_some_left(attribute, model.config.hidden_size)
            require_space(job.out, int(1.1 * 4 * sum(weight.numel() for weight in model.parameters())))
            before = None if job.evaluate is None else job.evaluate(Path(spec.place))
            limit = max_length(tokenizer, model)
            length = min(settings.length or limit, limit)
            found = learnt(job, settings, attribute, corpus, Vectors(model, tokenizer, length, job))
            removed = found.removed
            changes = fold(model, removed.projection, places, inputs)
            report: dict[str, Any] = job.report(attribute, corpus.digest) | {
                "model": known,
                "architecture": type(model).__name__,
                "settings": asdict(settings),
                "device": spec.device,
                "sentences": found.sentences,
                "removed": {"directions": len(removed.basis), "of": removed.basis.shape[1], "share": removed.share},
                "probe": {
                    "accuracy": removed.accuracy,
                    "directions": removed.ranks,
                    "majority": removed.majority,
                    "unfinished": removed.unfinished,
                    **found.told,
                },
                "folded_into": changes,
                "scores": None,
                "versions": {"assay": __version__, **{name: version(name) for name in _PACKAGES}},
            }
            with folder_beside(job.out) as folder:
                model.save_pretrained(folder)
                _copy_tokenizer(Path(spec.place), folder)
                _save_subspace(folder / "subspace.npz", removed)
                if job.evaluate is not None and before is not None:
                    report["scores"] = cost(before, job.evaluate(folder))
                text = json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False)
                (folder / "assay.json").write_text(text + "\n", encoding="utf-8")
                (folder / "README.md").write_text(_card(job, report, told_of_rounds(report)), encoding="utf-8")
                rename_folder(folder, job.out)
        return Debiased(job.out, json.loads(text))

    return run


@contextmanager
def _source(job: Job, settings: ProjectionSettings) -> Iterator[tuple[ModelSpec, dict[str, Any]]]:
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
    if spec.kind != "hf" or "text" in spec.abilities or kind_of(spec.abilities) is None:
        problem = f"{job.model} is no encoder with a head for span, masked or multiple-choice questions."
        raise UsageError(
            problem,
            "INLP and SentenceDebias change what such a head reads; choose another model.",
            code="unsupported",
            key="model",
        )
    if "head" in job.settings and settings.head not in spec.abilities:
        raise UsageError(
            f"{job.model} has no head {settings.head}.",
            "Only the built-in model has several; leave it out.",
            code="bad-setting",
            key="head",
        )
    yield spec, {"name": job.model, "digest": spec.digest, "revision": spec.revision}


def told(
    means: NDArray[np.float32],
    firsts: NDArray[np.float32],
    labels: NDArray[np.int64],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    basis: NDArray[np.floating],
) -> dict[str, dict[str, float]]:
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


def split(labels: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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


# --- the card

_DID = (
    "Made by assay. This is an ordinary model for transformers: the removed directions are folded into the weights of",
    "the first layer that reads the encoder's output, so that no hook and no special class is needed.",
)
_LIMITS = (
    "- Only what a linear classifier of mean vectors finds is removed, for the words above, in text like the corpus.",
    "  That says little about the model's answers: measure them (`assay run … --model hf:FOLDER`).",
    "- The encoder itself is as it was. Whoever reads its hidden states, or trains a new head on it, has what was",
    "  removed back; further training of this head may bring it back as well.",
)


def _card(job: Job, report: Mapping[str, Any], rounds: list[str]) -> str:
    removed, sentences, probe = report["removed"], report["sentences"], report["probe"]
    held_out, first = probe["held_out"], probe["first_token"]
    share = removed["share"]
    of_variance = "" if share is None else f", which have {share:.1%} of the variance between counterparts"
    used, there = (listed(sentences[which], "{1:,} {0}") for which in ("used", "there"))
    facts = {
        "sentences": f"{used}; there were {there}",
        "removed": f"{removed['directions']} of {removed['of']} directions{of_variance}",
        "folded into": listed(report["folded_into"], "`{}` (changed by {:.1%})"),
    }
    told = [
        "A linear classifier of the attribute, trained on the encoder's mean vectors of sentences, is right about "
        f"{held_out['before']:.3f} of the test sentences before and about {held_out['after']:.3f} after; guessing "
        f"gives {held_out['majority']:.3f}.",
        "",
        f"Trained on the vector of a sentence's first token alone, which heads that choose read, it is right about "
        f"{first['before']:.3f} before and {first['after']:.3f} after: what is gone from the mean may still be there.",
        *rounds,
    ]
    sections = {"What a linear probe can still tell": told}
    return debiased_card(job.method, report, _DID, facts, sections, _LIMITS)
