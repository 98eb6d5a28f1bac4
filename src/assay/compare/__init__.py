"""Comparing runs: paired differences on the items that both answered, tables side by side, and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.compare.comparison import Comparison


def compare(folders: Sequence[str | Path], *, common: bool = False) -> Comparison:
    """Compare runs of one probe, or tours probe by probe, with the first of them: the baseline.

    Runs whose questions were made from different data are refused, unless `common` is set: then only items with the
    same content are compared.
    """
    from assay.compare.comparison import compare_folders

    return compare_folders([Path(folder) for folder in folders], common=common)
