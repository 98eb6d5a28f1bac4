"""Run folders of two stand-in models with every probe, a tour of each, and scores of predictions: small ones.

For what reads runs: the fixture `kept_runs` has `one/…` and `two/…`, shared by all tests. They must not be written
into: copy what a test changes.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import assay
import stand_in
from assay.runs.export import export
from assay.runs.question_files import generate
from assay.runs.score import score
from golden_numbers import FOLDER

MODELS = ("one", "two")
FEW = {"resamples": "50"}
CATEGORIES = FEW | {"category": "Religion,Race_x_gender"}
SODAPOP = FEW | {"names_per_group": "2", "contexts": "1", "questions": "describe", "fills": "10", "permutations": "500"}
UNQOVER = FEW | {"class": "gender,religion", "draws": "50"}
ASKED = ("bbq", "sodapop-names", "tour/bbq-starter", "tour/sodapop", "tour/unqover")
SCORED = ("scored-bbq", "scored-sodapop", "scored-unqover")
RUNS = (*ASKED, *SCORED)
ARGUMENTS: dict[str, dict[str, Any]] = {
    "bbq": {"limit": 48, "settings": CATEGORIES},
    "sodapop-names": {"settings": {"names_per_group": "4", "contexts": "1", "splits": "5"}},
    "tour/bbq-starter": {"limit": 48, "settings": CATEGORIES},
    "tour/sodapop": {"limit": 160, "settings": SODAPOP},
    "tour/unqover": {"limit": 240, "settings": UNQOVER},
}


def write_runs(root: Path) -> Path:
    """Make all runs in a folder."""
    here = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(root / "cache"))
        stand_in.install(patch)
        os.chdir(root)  # runs name the files that they were made of
        try:
            _write()
        finally:
            os.chdir(here)
    shutil.rmtree(root / "cache")
    return root


def without_digests(run: Path) -> Path:
    """A run folder whose run.json does not know its other files: for tests that change them, as whoever changes them
    can change their digests.
    """
    path = run / "run.json"
    info = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(info | {"findings_digest": None, "table_digests": {}}), encoding="utf-8")
    return run


def _write() -> None:
    generate("bbq-starter", Path("data"))
    shutil.copytree(FOLDER / "predictions", "predictions")
    for number, model in enumerate(MODELS, 1):
        for name, arguments in ARGUMENTS.items():
            more = {"data": Path("data")} if name == "bbq" else {}
            run = assay.audit(f"stand-in:{model}", Path(name).name, out=Path(model, name), **arguments, **more)
            export(run.folder)
        _write_answers(model, Path("predictions", f"bbq_{number}.jsonl"))
        score("bbq", [f"predictions/bbq_{number}.jsonl"], answers="said", out=Path(model, "scored-bbq"), settings=FEW)
        groups = FEW | {"groups": "predictions/groups.json", "permutations": "500", "min_count": "1"}
        score("sodapop", [f"predictions/sodapop_{number}.jsonl"], out=Path(model, "scored-sodapop"), settings=groups)
        few = FEW | {"draws": "50"}
        score("unqover", [f"predictions/unqover_{number}.json"], out=Path(model, "scored-unqover"), settings=few)


def _write_answers(model: str, path: Path) -> None:
    """What a model may have said to each question about age; some answers name no option."""
    with path.open("w", encoding="utf-8") as file:
        for line in Path("data", "Age.jsonl").read_text(encoding="utf-8").splitlines()[:48]:
            row = json.loads(line)
            k = int(stand_in.chance(model, row["context"], row["question"]) * 4)
            print(json.dumps(row | {"said": [row["ans0"], row["ans1"], row["ans2"], "no idea"][k]}), file=file)
