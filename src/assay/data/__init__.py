"""The papers' own data: finding, fetching and checking it. Packaged word lists and models lie in folders beside.

official    which files there are (`pinned.tsv`), and where they lie on this machine
check       whether those that are there are the right ones
fetch       getting the others: `from assay.data.fetch import fetch`, which loads what the network needs
    part_file   the beginnings of downloads, so that the next one goes on
"""

from __future__ import annotations

from assay.data.check import FileState, verify
from assay.data.official import (
    DATA_SETS,
    CatalogueRow,
    DataSet,
    PinnedFile,
    catalogue,
    data_folder,
    pinned_files,
)

__all__ = [
    "DATA_SETS",
    "CatalogueRow",
    "DataSet",
    "FileState",
    "PinnedFile",
    "catalogue",
    "data_folder",
    "pinned_files",
    "verify",
]
