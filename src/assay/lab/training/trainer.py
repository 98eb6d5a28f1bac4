"""The training itself: transformers' Trainer, told what to do and kept quiet.

Two of its habits need care. Its samplers draw from torch's global generator (see `batches.Order`). And it takes every
model whose forward method has **kwargs for one that divides its loss by the number of labels in all accumulated
batches; the heads for choices and masks do not, and their gradients would grow with every accumulated batch.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from assay.asking.progress import Progress
from assay.errors import DataError, ModelError, UsageError, how_to_install, is_out_of_memory, require_package
from assay.files.decoding import json_typed
from assay.files.opening import read_whole, reason
from assay.lab.training.batches import Batches, RowOrder
from assay.lab.training.training_kind import TrainingSettings
from assay.models.hf_files import libraries

_POINTS = 200  # of the loss curve, about
_SAVES = 10
_BETWEEN_SAVES = 100  # steps, at least, so that a short training does not spend its time on checkpoints

Point = dict[str, float]


@dataclass(frozen=True)
class TrainingSteps:
    """How many steps there are, and after how many the loss is noted and a checkpoint written."""

    total: int
    log: int
    save: int

    @staticmethod
    def of(rows: int, settings: TrainingSettings) -> TrainingSteps:
        """Checkpoints come with a point of the loss curve, so that a resumed curve has the same points.

        >>> TrainingSteps.of(1000, TrainingSettings(batch=4, epochs=2))
        TrainingSteps(total=500, log=2, save=100)
        """
        steps_per_pass = math.ceil(math.ceil(rows / settings.batch) / settings.accumulate)  # steps of a pass
        limits = [] if settings.max_steps is None else [settings.max_steps]
        limits += [] if settings.epochs is None else [max(1, math.ceil(steps_per_pass * settings.epochs))]
        total = min(limits)
        log = max(1, total // _POINTS)
        save = settings.save_steps or max(math.ceil(total / _SAVES), _BETWEEN_SAVES)
        return TrainingSteps(total, log, math.ceil(save / log) * log)


def fit(
    model: Any,
    batches: Batches,
    settings: TrainingSettings,
    steps: TrainingSteps,
    *,
    checkpoints: Path,
    resume_from: Path | None,
    device: str,
    dtype: str,
    progress: Progress,
) -> list[Point]:
    """Train a model in place; returns its loss curve: step, loss (the mean since the last point) and learning rate."""
    size = settings.batch * settings.accumulate
    progress.start("training", steps.total * size, "examples")
    if resume_from is not None:
        done = _state(resume_from / "trainer_state.json")
        progress.advance(min(done.global_step, steps.total) * size, stored=True)
        if done.global_step >= steps.total:  # the Trainer would take one more step
            trained = type(model).from_pretrained(resume_from, local_files_only=True, use_safetensors=True)
            model.load_state_dict(trained.state_dict())
            model.to(device).eval()
            return _curve(done.log_history)
    transformers, _ = libraries()
    order = RowOrder(batches.features.lengths, size, batches.seed, settings.order == "grouped")
    with _own_random_numbers(), _without_cudnn_attention():
        trainer = transformers.Trainer(
            model=model,
            args=_arguments(transformers, settings, steps, checkpoints, batches.seed, device, dtype),
            train_dataset=order,
            data_collator=batches,
            callbacks=[_listener(transformers, progress, size)],
        )
        trainer._get_train_sampler = lambda *arguments, **more: order
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.model_accepts_loss_kwargs = False  # see above: a batch's loss is its mean, and steps take their mean
        with _explained_memory(device, settings):
            trainer.train(resume_from_checkpoint=None if resume_from is None else str(resume_from))
    model.eval()
    return _curve(trainer.state.log_history)


def _arguments(
    transformers: Any,
    settings: TrainingSettings,
    steps: TrainingSteps,
    checkpoints: Path,
    seed: int,
    device: str,
    dtype: str,
) -> Any:
    try:
        arguments = transformers.TrainingArguments(
            output_dir=str(checkpoints),
            max_steps=steps.total,
            per_device_train_batch_size=settings.batch,
            gradient_accumulation_steps=settings.accumulate,
            learning_rate=settings.rate,
            lr_scheduler_type="linear",
            warmup_steps=math.ceil(settings.warmup * steps.total) if settings.warmup < 1 else int(settings.warmup),
            weight_decay=settings.weight_decay,
            bf16=uses_bfloat16(device, dtype),
            use_cpu=device == "cpu",
            torch_compile=settings.compile == "on",
            seed=seed,
            data_seed=seed,
            logging_strategy="steps",
            logging_steps=steps.log,
            logging_nan_inf_filter=False,  # it would hide that a training failed
            save_strategy="steps",
            save_steps=steps.save,
            save_total_limit=max(1, settings.keep_checkpoints),
            eval_strategy="no",
            report_to="none",
            log_level="error",
            disable_tqdm=True,
            remove_unused_columns=False,
            dataloader_num_workers=0,  # a batch is made in a fraction of a millisecond
            dataloader_pin_memory=device.startswith("cuda"),
        )
    except ImportError as error:  # it is too old
        problem = f"training needs accelerate ({str(error).splitlines()[0]})."
        raise UsageError(problem, how_to_install("train"), code="not-installed", key="accelerate") from None
    _ = arguments.device  # finds the devices; several would share every batch without being asked to
    arguments._n_gpu = min(arguments.n_gpu, 1)
    return arguments


def require_libraries(need: str, *names: str) -> None:
    """Raise UsageError, with the extra to install, if one of these libraries is missing; `need` is "training needs"."""
    with require_package(need, how_to_install("train")):
        for name in names:
            import_module(name)


def _listener(transformers: Any, progress: Progress, size: int) -> Any:
    class ProgressCallback(transformers.TrainerCallback):
        """Tells about progress, notes the last loss, and stops a training that has failed."""

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> Any:
            progress.advance(size)
            control.should_log = control.should_log or state.global_step >= state.max_steps
            return control

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
            loss = (logs or {}).get("loss")
            if loss is not None and not math.isfinite(loss):
                problem = f"training failed: the loss is {loss} at step {state.global_step:,}."
                remedy = "Try a smaller rate (--set rate=…), a warmup (--set warmup=0.1), or --dtype float32."
                raise ModelError(problem, remedy, code="training-failed")

    return ProgressCallback()


def uses_bfloat16(device: str, dtype: str) -> bool:
    return dtype == "bfloat16" or (dtype == "auto" and device.startswith("cuda"))


@dataclass(frozen=True)
class _CheckpointState:
    global_step: int
    log_history: list[dict[str, Any]]


def _state(path: Path) -> _CheckpointState:
    try:
        return json_typed(read_whole(path), _CheckpointState)
    except (OSError, ValueError) as error:
        remedy = "Start over with --resume never."
        raise DataError(f"cannot be read ({reason(error)}).", remedy, code="unreadable-file", file=path) from None


def _curve(history: list[dict[str, Any]]) -> list[Point]:
    points = [entry for entry in history if {"step", "loss", "learning_rate"} <= entry.keys()]
    return [{"step": point["step"], "loss": point["loss"], "rate": point["learning_rate"]} for point in points]


@contextmanager
def _own_random_numbers() -> Iterator[None]:
    """The Trainer seeds every generator there is; afterwards they are as the caller had them."""
    _, torch = libraries()
    before, numpy_before = random.getstate(), np.random.get_state()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(before)
        np.random.set_state(numpy_before)


@contextmanager
def _without_cudnn_attention() -> Iterator[None]:
    """Without cuDNN's attention, which is slow where shapes keep changing, as those of batches do here.

    With it steps took two to four times as long on an H200 (bfloat16, torch 2.11), unless widths were rounded up so
    that there were few of them.
    """
    _, torch = libraries()
    before = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)


@contextmanager
def _explained_memory(device: str, settings: TrainingSettings) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        problem = f"{device} does not have enough memory for batches of {settings.batch}."
        less = f"--set batch={max(settings.batch // 2, 1)} --set accumulate={settings.accumulate * 2}"
        raise ModelError(problem, f"{less} gives the same result.", code="out-of-memory", key="batch") from error
