"""Training: reading a task's data, training with transformers' Trainer, evaluating.

    train("span" | "choice" | "mask", base, data, out)      the papers' models, from any encoder
    train_mask_on(texts, base, out)                         masked training on any stream of texts
    evaluate(kind, model, data)                             how a model does on a task's own data

The result is an ordinary folder for `hf:`, with README.md (the card) and assay.json (what was done, for programs).

    kind.py, span.py, choice.py, mask.py     what each kind of training learns from, its settings and its scores
    settings.py, presets.py                  what can be set, and the papers' settings
    *_data.py, mask_texts.py                 reading the data
    span_windows.py, choice_tokens.py, mask_blocks.py        from data to tokens
    batches.py, trainer.py                   order, masks and padding; the Trainer
    base_model.py, out_folder.py             what a training begins with, and what it leaves
    evaluation.py, scores.py                 asking the trained model, and how good it is
    pipeline.py                              all of this in its order

A new kind is a file with a `Kind`, and an entry in KINDS. torch is imported when a model is loaded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError
from assay.lab.training.choice import ChoiceTraining
from assay.lab.training.kind import Kind
from assay.lab.training.mask import MaskTraining
from assay.lab.training.span import SpanTraining

if TYPE_CHECKING:
    from assay.lab.training.mask_texts import Texts
    from assay.lab.training.pipeline import Trained
    from assay.lab.training.scores import Scores
    from assay.progress import Progress

__all__ = ["KINDS", "evaluate", "kind_named", "kind_of", "train", "train_mask_on"]

KINDS: Mapping[str, Kind[Any]] = {kind.name: kind for kind in (SpanTraining(), ChoiceTraining(), MaskTraining())}


def kind_named(name: str) -> Kind[Any]:
    """The kind of training of this name."""
    if name not in KINDS:
        raise UsageError(
            f"there is no {name!r} training; there are {', '.join(KINDS)}.",
            "assay train span …",
            code="bad-option",
            key="kind",
        )
    return KINDS[name]


def kind_of(abilities: Collection[str]) -> Kind[Any] | None:
    """The kind of training behind the head of a model with these abilities."""
    return next((kind for kind in KINDS.values() if kind.name in abilities), None)


def train(
    kind: str,
    base: str,
    data: str | Path,
    out: str | Path,
    *,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    evaluation: str | Path | None = None,
    seed: int = 0,
    device: str = "auto",
    dtype: str = "auto",
    resume: bool = True,
    progress: Progress | None = None,
) -> Trained:
    """Train a model that marks answers ("span"), chooses among options ("choice") or fills masks ("mask").

    base: `hf:./folder`, `hf:ORG/NAME@REVISION` or `builtin`; an encoder. data: SQuAD's or MRQA's files, RACE's folders,
    Social IQa's files, or plain text. settings: as the kind has them (`assay train --help`); values may be texts.
    evaluation: data to score the trained model on. dtype: "auto" computes in bfloat16 on CUDA, and the weights stay in
    float32. resume: go on where an earlier attempt at this very training ended; False begins anew.
    """
    from assay.lab.training.pipeline import Request, run

    test = None if evaluation is None else Path(evaluation)
    request = Request(
        kind_named(kind), base, Path(out), Path(data), preset, settings, test, seed, device, dtype, resume, about={}
    )
    return run(request, progress)


def train_mask_on(
    texts: Texts,
    base: str,
    out: str | Path,
    settings: Mapping[str, Any] | None = None,
    *,
    about: Mapping[str, Any] | None = None,
    evaluation: str | Path | None = None,
    seed: int = 0,
    device: str = "auto",
    dtype: str = "auto",
    resume: bool = True,
    progress: Progress | None = None,
) -> Trained:
    """Masked training on a stream of texts: `texts()` must give the same ones each time that it is called.

    For text that is made on the way, such as counterfactual copies. `about` is noted in assay.json and tells this
    training from others: say there where the texts come from. The setting blocks=apart keeps texts from sharing a
    block, dropout and attention_dropout change the rates of dropout for this training.
    """
    from assay.lab.training.pipeline import Request, run

    test = None if evaluation is None else Path(evaluation)
    request = Request(
        kind_named("mask"), base, Path(out), texts, None, settings, test, seed, device, dtype, resume, about=about or {}
    )
    return run(request, progress)


def evaluate(
    kind: str,
    model: str,
    data: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str = "auto",
    dtype: str = "float32",
    progress: Progress | None = None,
) -> Scores:
    """How a model does on a task's data: SQuAD's EM and F1 (span), accuracy (choice), perplexity (mask).

    `model` is a name as everywhere (`hf:./folder`, `builtin`); the settings that matter are length, window, stride,
    windows, blocks and masking. Intervals resample passages, contexts or blocks.
    """
    from assay.lab.training.pipeline import evaluated

    return evaluated(kind_named(kind), model, Path(data), settings, seed, device, dtype, progress)
