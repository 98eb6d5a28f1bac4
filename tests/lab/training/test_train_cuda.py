"""What only a GPU shows: training computes in bfloat16, keeps float32 weights, learns as the CPU does, and resumes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ModelError
from assay.lab.training import train
from raising import raises

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

Write = Callable[..., Path]
Base = Callable[..., str]


def losses(done: Any) -> list[float]:
    return [point["loss"] for point in done.info["curve"]]


def test_bfloat16_learns_as_float32_does_and_weights_stay_float32(
    tmp_path: Path, social_iqa: Write, small_base: Base
) -> None:
    from safetensors.torch import load_file

    data, still = social_iqa(tmp_path, rows=96), {"dropout": 0, "attention_dropout": 0, "rate": 1e-3, "epochs": 3}
    made = {
        (device, dtype): train(
            "choice",
            small_base("choice"),
            data,
            tmp_path / f"{device}-{dtype}",
            settings=still,
            device=device,
            dtype=dtype,
        )
        for device, dtype in (("cpu", "float32"), ("cuda", "float32"), ("cuda", "auto"))
    }
    reference = losses(made["cpu", "float32"])
    assert losses(made["cuda", "float32"]) == pytest.approx(reference, rel=1e-2)
    assert losses(made["cuda", "auto"]) == pytest.approx(reference, rel=0.15)
    assert losses(made["cuda", "auto"]) != losses(made["cuda", "float32"])
    assert made["cuda", "auto"].info["dtype"] == "bfloat16"
    weights = load_file(made["cuda", "auto"].folder / "model.safetensors")
    assert {values.dtype for values in weights.values()} == {torch.float32}


@pytest.mark.parametrize("kind", ["choice", "mask"])
def test_an_interrupted_training_goes_on(
    tmp_path: Path, social_iqa: Write, prose: Callable[..., str], small_base: Base, kind: Any
) -> None:
    class Until:
        left = 9

        def start(self, label: str, total: int, unit: str = "questions") -> None:
            pass

        def advance(self, count: int, *, stored: bool = False) -> None:
            self.left -= not stored
            if self.left < 0:
                raise KeyboardInterrupt

    (tmp_path / "text.txt").write_text(prose(200))
    data = social_iqa(tmp_path, rows=40) if kind == "choice" else tmp_path / "text.txt"
    settings = {"batch": 4, "max_steps": 14, "save_steps": 3, "rate": 1e-3}
    whole = train(kind, small_base(), data, tmp_path / "whole", settings=settings, device="cuda")
    with pytest.raises(KeyboardInterrupt):
        train(kind, small_base(), data, tmp_path / "parts", settings=settings, device="cuda", progress=Until())
    parts = train(kind, small_base(), data, tmp_path / "parts", settings=settings, device="cuda")
    assert losses(parts) == pytest.approx(losses(whole), rel=1e-2)


def test_memory_that_runs_out_is_explained(tmp_path: Path, prose: Callable[..., str]) -> None:
    (tmp_path / "text.txt").write_text(prose(2000))
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(1_500_000_000 / total)
    try:
        with raises("out-of-memory", ModelError, key="batch") as caught:
            train("mask", "builtin", tmp_path / "text.txt", tmp_path / "out", settings={"batch": 256, "length": 64})
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()
    assert "--set batch=128 --set accumulate=2" in caught.value.remedy
