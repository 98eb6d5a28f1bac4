"""Reads the headers of safetensors files, never their tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from assay.files.decoding import json_value
from assay.files.opening import open_regular

_MOST = 100_000_000
"""Bytes of a header, as the format allows them."""
_MOST_SIZES = 64


def parameters_in(files: Iterable[Path]) -> int | None:
    """The number of parameters in these files, each tensor's name counted once; None if a file cannot be read."""
    shapes: dict[str, list[int]] = {}
    try:
        for file in files:
            with open_regular(file) as content:
                length = int.from_bytes(content.read(8), "little")
                header = json_value(content.read(length)) if length <= _MOST else {}
            shapes |= {name: _shape(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__"}
        return sum(math.prod(shape) for shape in shapes.values()) or None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # whoever loads it says what is wrong with it
        return None


def _shape(sizes: list[int]) -> list[int]:
    """A tensor's shape; others than tensors have would take hours to multiply."""
    if len(sizes) > _MOST_SIZES or not all(type(size) is int and 0 <= size < 1 << 63 for size in sizes):
        raise ValueError(f"no tensor has the shape {str(sizes)[:60]}")
    return sizes
