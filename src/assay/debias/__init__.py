"""Mitigation: models with less of an attribute in them, as far as published methods achieve it.

    words.py       attribute words: counterparts such as he and she
    corpus.py      the user's text, cut into sentences
    sentences.py   which sentences a method learns from
    linear.py      INLP and SentenceDebias: the directions to remove, and the projection without them
    features.py    vectors of sentences
    fold.py        a projection becomes part of the first layer that reads the encoder's output
    post_hoc.py    all of this in its order, for a model that is finished
    card.py        what the made model says about itself
    swap.py        CDA's counterfactual texts
    further_training.py    CDA and Dropout: masked training on such texts, or with more dropout
    command.py     `assay debias`

A method is a module with `run(job) -> Debiased`; to add one, write the module and name it in METHODS.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from assay.debias.job import Debiased, Evaluate, Job, require_new
from assay.engine.progress import Progress, Silent
from assay.errors import UsageError

__all__ = ["FOLDED", "METHODS", "Debiased", "Evaluate", "Job", "debias"]

METHODS = {
    "inlp": "assay.debias.post_hoc",
    "sentence": "assay.debias.post_hoc",
    "cda": "assay.debias.further_training",
    "dropout": "assay.debias.further_training",
}
"""Where each method is. Those that train further (CDA, Dropout) have a module of their own."""
FOLDED = frozenset({"inlp", "sentence"})
"""Methods that change a finished model and leave its head: they are folded into a layer, which must be exact, so they
compute in float32 only. The others train a masked language model."""


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
) -> Debiased:
    """Make a debiased model from another one and save it as an ordinary folder of transformers.

    method: "inlp", "sentence", "cda" or "dropout" (which needs no attribute). model: `hf:./folder`,
    `hf:ORG/NAME@REVISION`, or `builtin` (its head: the setting `head`; cda and dropout take that for masks). out: a new
    folder. attribute: whose words are used, such as "gender", of the packaged list or of the file `words`. corpus: a
    text file (plain, .gz, .xz). settings: as text, see docs/debias.md. evaluate: scores a folder; it is called before
    and after, and what debiasing cost goes into the report.

    The folder has the model, its tokenizer, `subspace.npz` (what inlp or sentence removed), README.md (the model's
    card) and assay.json (the same for programs).
    """
    if method not in METHODS:
        raise UsageError(f"there is no method {method!r}; there are {', '.join(METHODS)}.", "Choose one of these.")
    job = Job(
        method=method,
        model=model,
        out=Path(out),
        corpus=Path(corpus),
        attribute=attribute,
        words=None if words is None else Path(words),
        settings=dict(settings or {}),
        seed=seed,
        device=device,
        dtype=dtype,
        evaluate=evaluate,
        progress=progress or Silent(),
    )
    require_new(job.out)
    made: Debiased = import_module(METHODS[method]).run(job)
    return made
