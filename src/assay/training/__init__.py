"""How models are made: reading a task's data, training with transformers' Trainer, evaluating, writing a model card.

    train("span" | "choice" | "mask", base, data, out)      the papers' models, from any encoder
    train_mask_on(texts, base, out)                         masked training on any stream of texts
    evaluate(kind, model, data)                             how a model does on a task's own data

The result is an ordinary folder for `hf:`, with README.md (the card) and assay.json (what was done, for programs).
Everything heavy is imported when it is used, so that importing this costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.engine.progress import Progress
    from assay.training.recipe import Trained
    from assay.training.scores import Scores
    from assay.training.settings import Kind
    from assay.training.text_data import Texts

__all__ = ["evaluate", "train", "train_mask_on"]


def train(
    kind: Kind,
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
    Social IQa's files, or plain text. settings: see `assay.training.settings.Settings`; values may be texts.
    evaluation: data to score the trained model on. dtype: "auto" computes in bfloat16 on CUDA, and the weights stay in
    float32. resume: go on where an earlier attempt at this very training ended; False begins anew.
    """
    from assay.training.recipe import Request, run

    test = None if evaluation is None else Path(evaluation)
    request = Request(
        kind, base, Path(out), Path(data), None, preset, settings, test, seed, device, dtype, resume, about={}
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
    from assay.training.recipe import Request, run

    test = None if evaluation is None else Path(evaluation)
    request = Request(
        "mask", base, Path(out), None, texts, None, settings, test, seed, device, dtype, resume, about=about or {}
    )
    return run(request, progress)


def evaluate(kind: Kind, model: str, data: str | Path, **options: Any) -> Scores:
    """How a model does on a task's data; the options are those of `assay.training.recipe.evaluate`."""
    from assay.training.recipe import evaluate as evaluated

    return evaluated(kind, model, data, **options)
