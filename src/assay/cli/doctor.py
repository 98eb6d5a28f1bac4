"""`assay doctor`: what this machine has, for bug reports and for people whose first run fails."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

NAME = "doctor"
HELP = "what this machine has: libraries, devices, folders"


def add_options(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def call(options: argparse.Namespace) -> int:
    for name, answer in checks():
        print(f"{name:14} {answer}")
    return 0


_CORE = ("numpy", "rich", "jinja2", "onnxruntime", "tokenizers")
_HF = ("torch", "transformers")


def checks() -> Iterator[tuple[str, str]]:
    """Name and answer of each check."""
    import platform
    import shutil
    from importlib import metadata

    from assay import __version__
    from assay.engine.store import BlockStore
    from assay.files.published import data_folder
    from assay.models.builtin import usable_cpus

    yield "assay", __version__
    yield "python", f"{platform.python_version()} on {platform.platform()}"
    for package in (*_CORE, *_HF):
        try:
            yield package, metadata.version(package)
        except metadata.PackageNotFoundError:
            remedy = 'pip install ".[hf]" for hf: models' if package in _HF else "install assay again"
            yield package, f"not installed ({remedy})"
    yield "CPUs", f"{usable_cpus()} for this process"
    yield "device", _device()
    root = BlockStore.default().root
    existing = next(folder for folder in (root, *root.parents) if folder.exists())
    yield "answers", f"{root} ({shutil.disk_usage(existing).free / 1e9:,.0f} GB free; ASSAY_CACHE moves it)"
    data = data_folder()
    yield "official data", f"{data}{'' if data.is_dir() else ' (not there)'} (ASSAY_DATA moves it; `assay data list`)"


def _device() -> str:
    try:
        import torch
    except ImportError:
        return "cpu (others are for hf: models, which need torch)"
    if torch.cuda.is_available():
        return f"cuda: {torch.cuda.get_device_name()}"
    return "cpu"
