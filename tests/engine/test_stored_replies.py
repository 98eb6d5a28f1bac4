"""Replies of endpoints cost money: those that an earlier version stored are used, and nothing is sent again.

tests/golden/paid has the questions, and a journal that the version before schema 3 of findings.json wrote with `ask`.
It is never written again. Requests that test what an endpoint can do are not answers, and may change.
"""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import assay
from endpoint_server import serving

PAID = Path(__file__).parents[1] / "golden" / "paid"
PORT = 21_871  # the journal is the one of this address
FORMS = {
    "decisions": {"answer": "decisions"},
    "systemone": {"answer": "systemone"},
    "structured": {"answer": "structured"},
    "letters": {"answer": "letters"},
    "samples": {"answer": "samples", "samples": "2"},
    "text": {"answer": "text"},
    "echo": {"form": "options"},
    "prompt": {"answer": "letters", "system": str(PAID / "system.txt")},
}
UNQOVER = {"word_lists": str(PAID / "lists"), "class": "religion", "form": "choice", "answer": "letters"}


def ask(model: str, form: str, out: Path) -> Any:
    """All questions of BBQ or, for the form "unqover", of UnQover."""
    if form == "unqover":
        return assay.audit(model, "unqover", preset="paper", settings=UNQOVER, out=out, progress=False)
    settings = {"resamples": "20", **FORMS[form]}
    return assay.audit(model, "bbq", preset="paper", data=PAID / "data", settings=settings, out=out, progress=False)


@pytest.mark.parametrize("form", [*FORMS, "unqover"])
def test_replies_that_an_earlier_version_stored_are_used(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    shutil.copytree(PAID / "journal", tmp_path / "cache" / "journal")
    with serving(port=PORT) as server:
        run = ask(server.model, form, tmp_path / "run")
        assert server.questions == []
    assert run.info.spent["sent_now"] == 0
    assert run.info.spent["requests"] > 0
    (served,) = run.info.endpoint.served
    assert (served.model, served.fingerprint, served.server) == ("tiny-llm", "fp_1", None)
    assert served.first is not None
    if form in FORMS:
        with (run.folder / "tables" / "answers.csv").open(encoding="utf-8", newline="") as file:
            answers = [row["answer"] for row in csv.DictReader(file)]
        assert answers == json.loads((PAID / "answers.json").read_text(encoding="utf-8"))[form]
