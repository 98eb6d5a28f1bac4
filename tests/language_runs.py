"""Runs of one model in several languages, made without any model: how much it leans differs by language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import made_runs
import small_bbq
from assay.probes.bbq import PROBE
from assay.probes.bbq.analyse import findings_of
from assay.probes.bbq.examples import Dataset, Example
from assay.probes.bbq.source import dataset_of
from assay.probes.bbq.tally import Answered
from assay.probes.claims import with_claims

CATEGORIES = {"Age": ("old", "nonOld"), "Religion": ("Hindu", "Sikh"), "SES": ("lowSES", "highSES")}


def questions(language: str, templates: int = 10, names: Mapping[str, tuple[str, str]] = CATEGORIES) -> list[Example]:
    """The same questions in every language, but for a word."""
    made = [each for name, labels in names.items() for each in small_bbq.examples(templates, 4, name, labels)]
    return [replace(each, context=f"[{language}] {each.context}") for each in made]


def leaning(dataset: Dataset, share: float, seed: int, unknown: float = 0.2) -> np.ndarray:
    """Answers of which this share agrees with the stereotype; some say UNKNOWN instead."""
    rng = np.random.default_rng(seed)
    rows = zip(dataset.examples, dataset.target.tolist(), strict=True)
    side = np.array([target if each.polarity == "neg" else 3 - each.unknown - target for each, target in rows])
    neither = np.array([each.unknown for each in dataset.examples])
    named = np.where(rng.random(len(dataset)) < share, side, 3 - neither - side)
    return np.where(rng.random(len(dataset)) < unknown, neither, named)


def write(
    folder: Path,
    language: str,
    share: float,
    *,
    edition: str = "mbbq",
    model: str = "hf:org/model",
    rows: Sequence[Example] = (),
    **run: Any,
) -> Path:
    """A run of a model that leans to the stereotypes' side by this share."""
    dataset = dataset_of([*rows] or questions(language))
    part = Answered(dataset, leaning(dataset, share, len(folder.name)).reshape(-1, 1))
    found = findings_of("bbq", [part], refusals="wrong", resamples=50, seed=0, scored=True)
    settings = {"edition": edition, "language": language, "refusals": "wrong", "resamples": 200}
    info = {
        **made_runs.RUN,
        "probe": "bbq",
        "identity": {},
        "settings": settings,
        "data": {f"Age_{language}.jsonl": language},
    }
    info["model"] = {**made_runs.RUN["model"], "name": model}
    return made_runs.write_run(folder, replace(with_claims(found, PROBE, settings), model=model), {**info, **run})
