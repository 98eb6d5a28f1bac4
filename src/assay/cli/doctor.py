"""`assay doctor`: the versions, devices and folders that a bug report should name; and what an endpoint can do."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

NAME = "doctor"
HELP = "show versions, devices and folders, or what an endpoint can do"
EXAMPLES = """examples:
  # this machine
  assay doctor
  # an endpoint: which ways of answering it supports
  assay doctor --model api:NAME@http://localhost:8000/v1
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="api:NAME@URL", help="test what an endpoint can do (at most 12 requests)")
    parser.add_argument("--key-env", metavar="NAME", help="the environment variable with its key (OPENAI_API_KEY)")


def call(options: argparse.Namespace) -> int:
    from assay.asking.progress import shown_progress

    with shown_progress(True):
        for name, answer in checks() if options.model is None else endpoint_checks(options.model, options.key_env):
            print(f"{name:14} {answer}")
    return 0


def endpoint_checks(model: str, key_env: str | None) -> Iterator[tuple[str, str]]:
    """What an endpoint can do; the answer is kept for later runs."""
    from assay.asking.messages import ANSWER_MODES
    from assay.errors import UsageError
    from assay.models import find_model
    from assay.models.base import Options

    spec = find_model(model, Options(key_env=key_env, again=True))
    if spec.endpoint is None:
        remedy = "For example --model api:NAME@http://localhost:8000/v1."
        raise UsageError(f"{model} is not an endpoint.", remedy, code="bad-option", key="model")
    endpoint = spec.endpoint
    yield "endpoint", spec.place
    yield "model", endpoint.model
    yield "key", f"in {endpoint.key_env}" if endpoint.key_env else "none is sent"
    for line in endpoint.found:
        name, _, words = line.partition(": ")
        yield name, words
    yield "abilities", ", ".join(sorted(spec.abilities)) or "none"
    if endpoint.ways:
        best = endpoint.ways[0]
        yield "asked by", f"{best}: {ANSWER_MODES[best]} (--set answer={'|'.join(endpoint.ways)})"


_CORE = ("numpy", "rich", "jinja2", "onnxruntime", "tokenizers")
_HF = ("torch", "transformers")


def checks() -> Iterator[tuple[str, str]]:
    import platform
    import shutil
    from importlib import metadata

    from assay.datasets.catalogue import data_folder
    from assay.engine.store import BlockStore
    from assay.errors import how_to_install
    from assay.models.builtin import usable_cpus
    from assay.version import __version__

    yield "assay", __version__
    yield "python", f"{platform.python_version()} on {platform.platform()}"
    for package in (*_CORE, *_HF):
        try:
            yield package, metadata.version(package)
        except metadata.PackageNotFoundError:
            remedy = f"{how_to_install('hf')} for hf: models" if package in _HF else "pip install assay-bias"
            yield package, f"not installed ({remedy})"
    yield "CPUs", f"{usable_cpus()} usable"
    yield "device", _device()
    root = BlockStore.default().root
    existing = next(folder for folder in (root, *root.parents) if folder.exists())
    yield "answers", f"{root} ({shutil.disk_usage(existing).free / 1e9:,.0f} GB free; change it with ASSAY_CACHE)"
    data = data_folder()
    missing = "" if data.is_dir() else "missing; "
    yield "official data", f"{data} ({missing}change it with ASSAY_DATA; see `assay data list`)"


def _device() -> str:
    try:
        import torch
    except ImportError:
        return "cpu (others need torch)"
    return f"cuda: {torch.cuda.get_device_name()}" if torch.cuda.is_available() else "cpu"
