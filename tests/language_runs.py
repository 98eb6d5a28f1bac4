"""Runs of one model in several languages, made without any model: how much it leans differs by language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import made_runs
import small_bbq
from assay.asking.queries import NONE
from assay.probes.bbq import PROBE, editions
from assay.probes.bbq.analyse import findings_of
from assay.probes.bbq.items import Dataset, Item
from assay.probes.bbq.source import dataset_of
from assay.probes.bbq.tallies import AnsweredItems
from assay.probes.claims import with_claims

CATEGORIES = {"Age": ("old", "nonOld"), "Religion": ("Hindu", "Sikh"), "SES": ("lowSES", "highSES")}


def questions(language: str, templates: int = 10, names: Mapping[str, tuple[str, str]] = CATEGORIES) -> list[Item]:
    """The same questions in every language, but for a word."""
    made = [each for name, labels in names.items() for each in small_bbq.examples(templates, 4, name, labels)]
    return [replace(each, context=f"[{language}] {each.context}") for each in made]


def answers(dataset: Dataset, share: float, right: float, seed: int) -> np.ndarray:
    """Answers of which some are right; of the others this share agrees with the stereotype, but for a fifth, which say
    UNKNOWN.
    """
    rng = np.random.default_rng(seed)
    rows = zip(dataset.examples, dataset.target.tolist(), strict=True)
    side = np.array([target if each.polarity == "neg" else 3 - each.unknown - target for each, target in rows])
    unknown, gold = (np.array([getattr(each, name) for each in dataset.examples]) for name in ("unknown", "label"))
    named = np.where(rng.random(len(dataset)) < share, side, 3 - unknown - side)
    chosen = np.where(rng.random(len(dataset)) < 0.2, unknown, named)
    return np.where(rng.random(len(dataset)) < right, gold, chosen)


def write(
    folder: Path,
    language: str,
    share: float,
    *,
    edition: str = "mbbq",
    model: str = "hf:org/model",
    right: float = 0.0,
    seed: int = 0,
    **settings: Any,
) -> Path:
    """A run of a model that leans to the stereotypes' side by this share."""
    dataset = dataset_of(questions(language))
    chosen = answers(dataset, share, right, seed).reshape(-1, 1)
    if edition == "mbbq_control":
        dataset = replace(dataset, target=np.full(len(dataset), NONE, np.int8))
    without = editions.load_edition(edition).without if edition != "bbq" else {}
    parts = [AnsweredItems(dataset, chosen)]
    found = findings_of("bbq", parts, refusals="wrong", resamples=50, seed=0, scored=True, without=without)
    said = {"edition": edition, "language": language, "refusals": "wrong", "resamples": 200, **settings}
    info = {**made_runs.RUN, "probe": "bbq", "identity": {}, "settings": said, "data": {f"{language}.jsonl": edition}}
    info["model"] = {**made_runs.RUN["model"], "name": model, "digest": model}
    return made_runs.write_run(folder, replace(with_claims(found, PROBE, said), model=model), info)
