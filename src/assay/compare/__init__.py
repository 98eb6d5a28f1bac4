"""What two runs say: paired differences on the items that both answered, then tables side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.compare.runs import Comparison


def compare(folders: Sequence[str | Path], *, common: bool = False) -> Comparison:
    """Compare runs of one probe with the first of them, or tours probe by probe.

    Refuses runs whose questions were made from different data, unless `common` allows to take the items that are the
    same by their content in both. Folders that hold runs, such as tours, are compared probe by probe.
    """
    from assay.compare.runs import compare_folders

    return compare_folders([Path(folder) for folder in folders], common=common)
