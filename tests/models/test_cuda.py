"""What only a GPU shows: its scores agree with the CPU's, and running out of its memory halves the batch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.asking.queries import ChoiceColumns, ChoiceQuery, StringColumn, TextColumns
from assay.engine.executor import forward_all
from assay.models import load_model
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.plan import UnqoverPlan
from tiny_models import CAUSAL_FAMILIES, TEXT_FAMILIES, ModelFolder

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.parametrize("form", ["span", "mask"])
def test_scores_agree_with_the_cpu(model_folder: ModelFolder, form: str) -> None:
    lists = read_lists("religion", masked=form == "mask", header=False)
    plan = UnqoverPlan("religion", form, lists.digest, cells=200)
    scores = []
    for device in ("cpu", "cuda"):
        model = load_model(f"hf:{model_folder(form)}", device=device)
        scores.append(forward_all(model, model.encode(plan.columns(0, len(plan))), 4096)[0]["score"])
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-4, atol=1e-6)


def test_a_batch_that_does_not_fit_is_halved_until_it_does(model_folder: ModelFolder) -> None:
    lists = read_lists("religion", masked=False, header=False)
    plan = UnqoverPlan("religion", "span", lists.digest, cells=20_000)
    model = load_model(f"hf:{model_folder('span')}", device="cuda")
    tokens = model.encode(plan.columns(0, len(plan)))
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(400_000_000 / total)
    try:
        answers, budget = forward_all(model, tokens, 1 << 24)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert budget < 1 << 24
    small = forward_all(model, tokens, 65_536)[0]
    np.testing.assert_allclose(answers["score"], small["score"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("left", [100, 530, 680, 700, 720, 740])
def test_a_run_beside_a_program_that_holds_the_memory_ends_with_a_message_and_can_be_repeated(
    left: int, model_folder: ModelFolder, tmp_path: Path
) -> None:
    """With ever more megabytes left there is no room for CUDA itself, its kernels, cuBLAS, a batch."""

    def run() -> subprocess.CompletedProcess[str]:
        what = ("unqover", "--set", "class=religion", "--limit", "2000", "--model", f"hf:{model_folder('span')}")
        command = [sys.executable, "-m", "assay", "run", *what, "--device", "cuda", "--out", str(tmp_path / "run")]
        return subprocess.run(command, capture_output=True, text=True)

    free, _ = torch.cuda.mem_get_info()
    held = torch.empty(free - (left << 20), dtype=torch.uint8, device="cuda")
    done = run()
    del held
    torch.cuda.empty_cache()
    assert done.returncode in (0, 2, 4), done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or "memory" in done.stderr or "the device failed" in done.stderr
    assert run().returncode == 0


CONTEXTS = ("", "Gerald met Jennifer.", "Gerald met Jennifer by the old bridge. " * 3)
OPTIONS = ("Gerald", "Jennifer Quincy", "Nobody can say")
CHOICES = ChoiceColumns.of([ChoiceQuery(context, "Who was there?", OPTIONS) for context in CONTEXTS])
PROMPTS = TextColumns(StringColumn.of(f"{context} Who was there?" for context in CONTEXTS), 8)


@pytest.mark.parametrize("family", CAUSAL_FAMILIES)
def test_log_probabilities_agree_with_the_cpu(model_folder: ModelFolder, family: str) -> None:
    """In one batch, so that beginnings of different lengths are padded."""
    scores = []
    for device, dtype in (("cpu", "float32"), ("cuda", "float32"), ("cuda", "bfloat16")):
        model = load_model(f"hf:{model_folder('causal', family)}", device=device, dtype=dtype)
        assert model._shares  # type: ignore[attr-defined]  # a causal model's own
        scores.append(forward_all(model, model.encode(CHOICES), 4096)[0]["score"])
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(scores[0], scores[2], rtol=0.1, atol=0.1)


@pytest.mark.parametrize(("kind", "families"), [("text", TEXT_FAMILIES), ("causal", CAUSAL_FAMILIES)])
def test_texts_agree_with_the_cpu(model_folder: ModelFolder, kind: str, families: tuple[str, ...]) -> None:
    for family in families:
        models = [load_model(f"hf:{model_folder(kind, family)}", device=device) for device in ("cpu", "cuda")]
        texts = [forward_all(model, model.encode(PROMPTS), 4096)[0]["text"].tolist() for model in models]
        assert texts[0] == texts[1]
