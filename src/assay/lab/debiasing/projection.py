"""Methods that project what a finished model's head reads, from beginning to end.

What is cheap and may fail comes first; the result's folder appears whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.config.settings import setting
from assay.errors import UsageError
from assay.files.atomic import folder_beside, rename_folder
from assay.lab.debiasing.attribute_words import AttributeWords
from assay.lab.debiasing.corpus import Corpus, SentenceSelection
from assay.lab.debiasing.folding import find_places, fold
from assay.lab.debiasing.method import DebiasJob, DebiasResult, cost, require_space, write_report
from assay.lab.debiasing.vectors import RemovedDirections, head_inputs, sentence_vectors
from assay.lab.model_card import debiased_card, listed
from assay.lab.training import KINDS, kind_of
from assay.lab.training.base_model import copy_tokenizer, opened_base
from assay.models.base import ModelSpec
from assay.models.hf import load_tokenizer, load_weights, max_length
from assay.results.formatting import without_folders
from assay.version import __version__

_PACKAGES = ("torch", "transformers", "scikit-learn", "numpy")


@dataclass(frozen=True)
class ProjectionSettings:
    """What these methods share; the defaults are bias-bench's values."""

    sentences: int = setting(
        10_000, "how many sentences of each class (INLP) or with an attribute word (SentenceDebias); 0: all", least=0
    )
    case: str = setting("lower", "lower: always lower-case texts", choices=("lower", "keep"))
    match: str = setting(
        "word", "token: find words only between blanks, as in the released code", choices=("word", "token")
    )
    length: int = setting(0, "the most tokens per sentence; 0: as many as the model reads", least=0)
    head: str = setting("choice", "which head of the built-in model", choices=("span", "mask", "choice"))

    def choosing(self, seed: int) -> SentenceSelection:
        lower, whole_tokens = self.case == "lower", self.match == "token"
        return SentenceSelection(limit=self.sentences, lower=lower, whole_tokens=whole_tokens, seed=seed)

    def require_some_left(self, attribute: AttributeWords, width: int) -> None:
        """Refuse what would leave no direction of a model of this width."""


@dataclass(frozen=True)
class ProjectionFit:
    """How many sentences there were, what is to be removed, and what a probe tells on sentences kept for the end."""

    sentences: Mapping[str, Any]
    removed: RemovedDirections
    probe_accuracies: Mapping[str, Mapping[str, float]]


Vectors = Callable[[list[str]], NDArray[np.float32]]
"""Gives the vectors of texts by one model: (2, text, width), see `sentence_vectors`."""

P = TypeVar("P", bound=ProjectionSettings)


def project(
    job: DebiasJob,
    learn: Callable[[DebiasJob, P, AttributeWords, Corpus, Vectors], ProjectionFit],
    rounds: Callable[[Mapping[str, Any]], list[str]] = lambda report: [],
) -> DebiasResult:
    """Make the model of a method that learns from sentences what to remove; `rounds` is what its card adds."""
    settings: P = job.method.read_settings(job.settings)
    if job.dtype not in ("auto", "float32"):
        problem = f"{job.method.name} supports only float32, not {job.dtype!r}."
        raise UsageError(problem, "Leave --dtype out.", code="no-device", key="dtype")
    attribute = job.method.attribute(job.attribute, job.words)
    corpus = Corpus(job.corpus)
    with _opened(job, settings) as spec:
        model, tokenizer = load_weights(spec), load_tokenizer(spec)
        inputs = head_inputs(tokenizer, model.device, options=kind_of(spec.abilities) is KINDS["choice"])
        places = find_places(model, inputs)
        settings.require_some_left(attribute, model.config.hidden_size)
        require_space(job.out, int(1.1 * 4 * sum(weight.numel() for weight in model.parameters())))
        before = job.scores(Path(spec.place))
        limit = max_length(tokenizer, model)
        length = min(settings.length or limit, limit)
        label = f"{job.method.name}: vectors"
        vectors = partial(sentence_vectors, model, tokenizer, length=length, progress=job.progress, label=label)
        fit = learn(job, settings, attribute, corpus, vectors)
        removed = fit.removed
        head = {"head": settings.head} if job.model == "builtin" else {"revision": spec.revision}
        report: dict[str, Any] = job.report(attribute, corpus.digest) | {
            "model": {"name": without_folders(spec.name), "digest": spec.digest, **head},
            "architecture": type(model).__name__,
            "settings": asdict(settings),
            "device": spec.device,
            "sentences": fit.sentences,
            "removed": {"directions": len(removed.basis), "of": removed.basis.shape[1], "share": removed.share},
            "probe": {
                "accuracy": removed.accuracy,
                "directions": removed.ranks,
                "majority": removed.majority,
                "unfinished": removed.unfinished,
                **fit.probe_accuracies,
            },
            "folded_into": fold(model, removed.projection, places, inputs),
            "scores": None,
            "versions": {"assay": __version__, **{name: version(name) for name in _PACKAGES}},
        }
        with folder_beside(job.out) as folder:
            model.save_pretrained(folder)
            copy_tokenizer(spec, folder)
            np.savez(
                folder / "subspace.npz",
                allow_pickle=False,
                basis=removed.basis,  # (direction, width), orthonormal: the projection is I - basis.T @ basis
                accuracy=np.array(removed.accuracy),
                directions=np.array(removed.ranks),
                majority=np.array(removed.majority),
            )
            report["scores"] = cost(before, job.scores(folder))
            report = write_report(folder, report, _card(job, report, rounds(report)))
            rename_folder(folder, job.out)
    return DebiasResult(job.out, report)


@contextmanager
def _opened(job: DebiasJob, settings: ProjectionSettings) -> Iterator[ModelSpec]:
    """The model to begin with, which has to have a head whose input can be projected."""
    with opened_base(job.model, KINDS[settings.head], job.device, "float32") as spec:
        if spec.kind != "hf" or "text" in spec.abilities or kind_of(spec.abilities) is None:
            problem = f"{job.model} is not an encoder with a head for span, masked or multiple-choice questions."
            remedy = "INLP and SentenceDebias change what such a head reads; choose another model."
            raise UsageError(problem, remedy, code="unsupported", key="model")
        if "head" in job.settings and settings.head not in spec.abilities:
            remedy = "Leave head out: only the built-in model has several."
            raise UsageError(f"{job.model} has no head {settings.head}.", remedy, code="bad-setting", key="head")
        yield spec


# --- the card

_DID = (
    "Made with assay. This is an ordinary transformers model: the removed directions are folded into the weights of",
    "the first layer that reads the encoder's output. No hook and no special class is needed.",
)
_LIMITS = (
    "- Only what a linear classifier finds in mean vectors is removed, for the words above, in text like the corpus.",
    "  That says little about the model's answers: measure them (`assay run … --model hf:FOLDER`).",
    "- The encoder itself is unchanged. Its hidden states, and a new head trained on it, still have what was removed;",
    "  further training of this head may also bring it back.",
)


def _card(job: DebiasJob, report: Mapping[str, Any], rounds: list[str]) -> str:
    removed, sentences, probe = report["removed"], report["sentences"], report["probe"]
    held_out, first = probe["held_out"], probe["first_token"]
    share = removed["share"]
    of_variance = "" if share is None else f", which have {share:.1%} of the variance between counterparts"
    used, available = (listed(sentences[which], "{1:,} {0}") for which in ("used", "there"))
    facts = {
        "sentences": f"{used}; the corpus has {available}",
        "removed": f"{removed['directions']} of {removed['of']} directions{of_variance}",
        "folded into": listed(report["folded_into"], "`{}` (changed by {:.1%})"),
    }
    paragraphs = [
        "A linear classifier of the attribute, trained on the encoder's mean vectors of sentences, is right for "
        f"{held_out['before']:.3f} of the test sentences before and {held_out['after']:.3f} after; guessing gives "
        f"{held_out['majority']:.3f}.",
        "",
        f"Trained only on the vector of a sentence's first token, which multiple-choice heads read, it is right for "
        f"{first['before']:.3f} before and {first['after']:.3f} after: what is gone from the mean may still be there.",
        *rounds,
    ]
    sections = {"What a linear probe can still predict": paragraphs}
    return debiased_card(job.method, report, _DID, facts, sections, _LIMITS)
