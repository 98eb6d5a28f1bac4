"""Debiasing: models with less of an attribute in them, as far as published methods achieve it.

    method.py                     what a method is, is told and gives back; what it cost, on data of the model's task
    inlp.py, sentence_debias.py   post hoc: directions are removed from what a finished model's head reads
    projection.py                 what these two share, such as folding a projection into the first layer that reads it
    vectors.py                    sentences' vectors, and probes of them
    cda.py, dropout.py            masked training goes on, on counterfactual text or with more dropout
    further_training.py           what these two share
    attribute_words.py            attribute words: counterparts such as he and she
    corpus.py                     the user's text, and which sentences of it a method learns from

A new method is a file with METHOD, and its entry in METHODS: command line, studies and cards know it from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay.asking.progress import Progress, SilentProgress
from assay.errors import UsageError
from assay.lab.debiasing import cda, dropout, inlp, sentence_debias
from assay.lab.debiasing.method import DebiasJob, DebiasMethod, DebiasResult, Evaluate, require_new
from assay.lab.training.trainer import require_libraries

__all__ = ["METHODS", "DebiasJob", "DebiasResult", "Evaluate", "debias", "method_named"]

METHODS: Mapping[str, DebiasMethod] = {
    module.METHOD.name: module.METHOD for module in (inlp, sentence_debias, cda, dropout)
}


def method_named(name: str) -> DebiasMethod:
    if name not in METHODS:
        problem = f"there is no method {name!r}; there are {', '.join(METHODS)}."
        raise UsageError(problem, "Choose one of these.", code="bad-option", key="method")
    return METHODS[name]


def debias(
    method: str,
    model: str,
    out: Path | str,
    *,
    corpus: Path | str,
    attribute: str | None = None,
    words: Path | str | None = None,
    settings: Mapping[str, str] | None = None,
    seed: int = 0,
    device: str = "auto",
    dtype: str = "auto",
    evaluate: Evaluate | None = None,
    progress: Progress | None = None,
) -> DebiasResult:
    """Make a debiased model from another one and save it as an ordinary folder of transformers.

    method: "inlp", "sentence", "cda" or "dropout" (which needs no attribute). model: `hf:./folder`,
    `hf:ORG/NAME@REVISION`, or `builtin` (its head: the setting `head`; cda and dropout take that for masks). out: a new
    folder. attribute: whose words are used, such as "gender", of the packaged list or of the file `words`. corpus: a
    text file (plain, .gz, .xz). settings: as text, see docs/debias.md. evaluate: scores a folder; it is called before
    and after, and what debiasing cost goes into the report.

    The folder has the model, its tokenizer, `subspace.npz` (what inlp or sentence removed), README.md (the model's
    card) and assay.json (the same for programs).
    """
    job = DebiasJob(
        method_named(method),
        model,
        Path(out),
        Path(corpus),
        attribute=attribute,
        words=None if words is None else Path(words),
        settings=dict(settings or {}),
        seed=seed,
        device=device,
        dtype=dtype,
        evaluate=evaluate,
        progress=progress or SilentProgress(),
    )
    require_new(job.out)
    require_libraries("debiasing needs", "torch", "transformers")
    return job.method.run(job)
