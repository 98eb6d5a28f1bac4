"""Real servers with real models, asked from the command line: what stand-ins speak is what servers speak."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.asking.queries import ENDPOINT_ABILITIES
from assay.models.api.client import Client
from assay.probes import tour_probes
from real_servers import llama_cpp, transformers_serve
from tiny_models import ModelFolder, default_text

pytestmark = pytest.mark.server

Command = Any
FEW = ("--set", "resamples=20")
QUESTIONS = 16
MOST_IN_ALL = 150
"""Requests to the server with a real model, whoever sends them."""
FINDING = 12
PROBES = [probe.name for probe in tour_probes() if probe.abilities & ENDPOINT_ABILITIES]
SHARE = (MOST_IN_ALL - 2 * FINDING) // len(PROBES)
"""Of them, those of one probe; two processes of tests may each find out what the server can do."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The path of every request that this process sends."""
    paths: list[str] = []
    post = Client.post

    async def counted(self: Client, path: str, *content: Any) -> Any:
        paths.append(path)
        return await post(self, path, *content)

    monkeypatch.setattr(Client, "post", counted)
    return paths


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A real model, and the folder with what was found of it: nothing yet."""
    folder = tmp_path_factory.mktemp("llama")
    with llama_cpp(folder) as url:
        yield f"api:smollm2@{url}", folder / "endpoints"


def doctor(model: str, known: Path, assay: Command, sent: list[str]) -> str:
    """What `assay doctor` says of a model; what it found is kept for the other tests."""
    done = assay("doctor", "--model", model)
    assert done.code == 0, done.err
    assert len(sent) <= FINDING
    shutil.copytree(Path(os.environ["ASSAY_CACHE"]) / "endpoints", known)
    (known / "said.txt").write_text(done.out, encoding="utf-8")
    sent.clear()
    return str(done.out)


def known_of(llama: tuple[str, Path], assay: Command, sent: list[str]) -> str:
    """What is said of the real model; it is asked once in a process."""
    model, known = llama
    if not known.exists():
        return doctor(model, known, assay, sent)
    shutil.copytree(known, Path(os.environ["ASSAY_CACHE"]) / "endpoints")
    return (known / "said.txt").read_text(encoding="utf-8")


def test_doctor_finds_what_llama_cpp_can_do(llama: tuple[str, Path], assay: Command, sent: list[str]) -> None:
    said = known_of(llama, assay, sent)
    for works in ("letters", "samples", "text", "continued"):
        assert re.search(rf"^{works} +works$", said, re.MULTILINE)
    assert re.search(r"^structured +answers, but ignores structured_outputs$", said, re.MULTILINE)
    assert re.search(r"^echo +answers, but ignores echo$", said, re.MULTILINE)
    assert re.search(r"^systemone +refused \(501: .*\)$", said, re.MULTILINE)
    assert re.search(r"^asked by +letters: ", said, re.MULTILINE)


@pytest.mark.parametrize("probe", PROBES)
def test_a_real_model_is_audited_and_resumed(
    probe: str, llama: tuple[str, Path], assay: Command, sent: list[str], tmp_path: Path
) -> None:
    known_of(llama, assay, sent)
    out = tmp_path / "run"
    command = ("run", probe, "--model", llama[0], "--limit", QUESTIONS, *FEW, "--out", out)
    done = assay(*command)
    assert done.code == 0, done.err
    assert 0 < len(sent) <= SHARE
    info = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert info["spent"]["requests"] == len(sent)
    assert info["spent"]["input_tokens"] > 20 * len(sent)
    assert "smollm2" in (out / "report.html").read_text(encoding="utf-8")
    found = (out / "findings.json").read_bytes()
    assert any(each["value"] is not None for each in json.loads(found)["estimates"])
    before = len(sent)
    assert assay(*command).code == 0
    assert (len(sent), (out / "findings.json").read_bytes()) == (before, found)


def test_transformers_serve_decides_and_ignores_logprobs(
    model_folder: ModelFolder, assay: Command, sent: list[str], tmp_path: Path
) -> None:
    tiny = model_folder("causal", "qwen2", text=f"{default_text()}\nA B C D", max_length=1024)
    with transformers_serve(tiny, tmp_path) as url:
        model = f"api:{tiny}@{url}"
        done = assay("doctor", "--model", model)
        assert done.code == 0, done.err
        assert re.search(r"^systemone +works$", done.out, re.MULTILINE)
        assert re.search(r"^letters +answers, but ignores logprobs$", done.out, re.MULTILINE)
        assert re.search(r"^structured +not tested: it needs logprobs$", done.out, re.MULTILINE)
        assert re.search(r"^asked by +systemone: ", done.out, re.MULTILINE)
        assert len(sent) <= FINDING
        sent.clear()
        done = assay("run", "bbq-starter", "--model", model, "--limit", 32, *FEW, "--out", tmp_path / "run")
        assert done.code == 0, done.err
        assert sent == ["/systemone"] * 32
    assert json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))["settings"]["answer"] == "systemone"
