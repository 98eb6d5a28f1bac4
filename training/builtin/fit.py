"""The loop that every stage of the training goes through."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch

from model import BuiltIn, device_of
from tasks import Task

Watch = Callable[[int, dict[str, float]], None]
"""Gets the number of a step and the tasks' losses there."""


def fit(
    model: BuiltIn,
    tasks: Mapping[str, Task],
    steps: int,
    rate: float,
    weights: Mapping[str, float],
    watch: Watch | None = None,
) -> None:
    """AdamW with a warm-up and a cosine to zero, on the tasks' losses, weighted where they have weights.

    `watch` is called after every tenth of the steps. On a GPU a step is recorded once and replayed.
    """
    device = device_of(model)
    optimizer = _optimizer(model, device)
    seen = {name: torch.zeros((), device=device) for name in tasks}

    def step() -> None:
        losses = {name: task.loss() for name, task in tasks.items()}
        torch.stack([weights.get(name, 1.0) * loss for name, loss in losses.items()]).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        for name, loss in losses.items():
            seen[name].copy_(loss.detach())

    def fresh_step() -> None:
        optimizer.zero_grad()
        step()

    model.train()
    take_step = _recorded(step, optimizer) if device.type == "cuda" else fresh_step
    for number in range(1, steps + 1):
        warm = min(1.0, number / min(500, 1 + steps // 10))
        for group in optimizer.param_groups:
            group["lr"].fill_(group["faster"] * rate * warm * 0.5 * (1 + math.cos(math.pi * number / steps)))
        for task in tasks.values():
            task.drawn.again()
        take_step()
        if watch is not None and number % max(1, steps // 10) == 0:
            watch(number, {name: round(float(loss), 4) for name, loss in seen.items()})
            model.train()  # the caller may have switched it to evaluation
    model.eval()


def _optimizer(model: BuiltIn, device: torch.device) -> torch.optim.Optimizer:
    """Heads learn five times as fast as the encoder. Rates are tensors, so a recorded step sees them change."""
    heads = [values for name, values in model.named_parameters() if not name.startswith("bert.")]
    groups = [{"params": [*model.bert.parameters()], "faster": 1}, {"params": heads, "faster": 5}]
    return torch.optim.AdamW(
        [{**group, "lr": torch.zeros((), device=device)} for group in groups],
        betas=(0.9, 0.98),
        weight_decay=0.01,
        fused=True,
        capturable=device.type == "cuda",
    )


def _recorded(step: Callable[[], None], optimizer: torch.optim.Optimizer) -> Callable[[], None]:
    """The step as a CUDA graph. It is tried out first, which changes nothing while the rates are 0."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            optimizer.zero_grad()
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad()
    with torch.cuda.graph(graph):
        step()
    replay: Callable[[], None] = graph.replay
    return replay
