"""Plain text to learn words from: txt, txt.gz or txt.xz, read line by line however large it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from assay.errors import DataError
from assay.files.opening import open_text
from assay.lab.training.data_files import existing, plain_suffix

Texts = Callable[[], Iterator[str]]
"""Gives a stream of texts, the same one each time that it is called."""

_EXPECTED = "Plain text in UTF-8 is expected: a .txt file (also .gz or .xz), or a folder of such files."


def text_files(path: Path) -> list[Path]:
    """The file, or the text files of a folder in the order of their names."""
    existing(path)
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if plain_suffix(file) == ".txt")
    if not files:
        raise DataError("there are no text files in this folder.", _EXPECTED, file=path, code="empty-file")
    return files


def lines_of(path: Path) -> Texts:
    """The lines of a file, or of a folder's files, that hold more than blanks."""
    files = text_files(path)

    def texts() -> Iterator[str]:
        for file in files:
            with open_text(file) as content:
                for line in content:
                    if text := line.strip():
                        yield text

    if next(texts(), None) is None:
        raise DataError("there is no text in it.", _EXPECTED, file=path, code="empty-file")
    return texts
