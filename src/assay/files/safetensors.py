"""What a safetensors file says about itself: its header alone is read, never a tensor."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path

_MOST = 100_000_000
"""Bytes of a header, as the format allows them."""


def parameters_in(files: Iterable[Path]) -> int | None:
    """How many numbers the tensors of these files have, each name counted once; None where a file cannot be read."""
    shapes: dict[str, list[int]] = {}
    try:
        for file in files:
            with file.open("rb") as content:
                length = int.from_bytes(content.read(8), "little")
                header = json.loads(content.read(length)) if length <= _MOST else {}
            shapes |= {name: tensor["shape"] for name, tensor in header.items() if name != "__metadata__"}
        return sum(math.prod(shape) for shape in shapes.values()) or None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # whoever loads it says what is wrong with it
        return None
