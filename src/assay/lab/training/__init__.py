"""Training: reading a task's data, training with transformers' Trainer, evaluating.

    train("span" | "choice" | "mask", base, data, out)      the papers' models, from any encoder
    evaluate(kind, model, data)                             how a model does on a task's own data

The result is an ordinary folder for `hf:`, with README.md (the card) and assay.json (what was done, for programs).

    kind.py, span.py, choice.py, mask.py     what each kind of training learns from: its settings, tokens and scores
    data_files.py, span_data.py, choice_data.py              reading the data
    batches.py, trainer.py                   order, masks and padding; the Trainer
    base_model.py, out_folder.py             what a training begins with, and what it leaves
    scores.py                                asking the trained model, and how good it is
    pipeline.py                              KINDS, and all of this in its order

A new kind is a file with a `Kind`, and an entry in KINDS. torch is imported when a model is loaded.
"""

from assay.lab.training.pipeline import KINDS, evaluate, kind_of, train

__all__ = ["KINDS", "evaluate", "kind_of", "train"]
