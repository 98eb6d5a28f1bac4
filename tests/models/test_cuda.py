"""What only a GPU shows: its scores agree with the CPU's, and running out of its memory halves the batch."""

from __future__ import annotations

import numpy as np
import pytest

from assay.engine.executor import forward_all
from assay.models import load_model
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.plan import UnqoverPlan
from conftest import ModelFolder

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
