"""Text of the user's, read as a stream: plain, gzip or xz, one paragraph a line; and its sentences."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from assay.errors import DataError
from assay.files.opening import UNREADABLE, reason, unpacked
from assay.progress import Progress, Silent

_ENDS = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+(?=[\"'“‘«(\[]*[^\W_a-zß-öø-ÿ])")
_TITLES = {"mr", "mrs", "ms", "messrs", "mme", "mlle", "dr", "prof", "rev", "hon", "st", "sr", "jr"}
_RANKS = {"capt", "col", "gen", "lt", "sgt", "maj", "gov", "sen", "rep", "pres"}
_ABBREVIATIONS = _TITLES | _RANKS | {"vol", "vs"}
_LAST_WORD = re.compile(r"(\w+)\.$")
_LONG = 12  # letters; no abbreviation is as long


class Corpus:
    """A file of text. After `lines` has run to its end, `digest` names its unpacked content."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.digest: str | None = None
        if not self.path.is_file():
            folder = self.path.is_dir()
            problem, code = (
                ("this is a folder.", "unreadable-file") if folder else ("there is no such file.", "missing-file")
            )
            raise DataError(problem, "A corpus is one file of text, plain, .gz or .xz.", file=self.path, code=code)

    def lines(self, progress: Progress | None = None) -> Iterator[str]:
        """Its lines without their ends, one after the other; what cannot be read is a DataError with the line."""
        progress = progress or Silent()
        progress.start(f"reading {self.path.name}", self.path.stat().st_size, "bytes")
        hasher, number, told = hashlib.sha256(), 0, 0
        try:
            with self.path.open("rb") as packed:
                for number, line in enumerate(unpacked(packed, self.path.suffix), 1):
                    hasher.update(line)
                    yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                    if number % 1000 == 0:
                        told, before = packed.tell(), told
                        progress.advance(told - before)
                progress.advance(packed.tell() - told)
        except UnicodeDecodeError as error:
            raise DataError(
                f"this is not UTF-8 text ({error.reason}).",
                "Convert it.",
                file=self.path,
                line=number,
                code="unreadable-file",
            ) from None
        except UNREADABLE as error:
            problem = f"cannot be read behind line {number} ({reason(error)})."
            raise DataError(problem, "Get it again.", file=self.path, code="unreadable-file") from None
        self.digest = hasher.hexdigest()

    def texts(self, progress: Progress | None = None) -> Iterator[str]:
        """Its lines that hold more than blanks."""
        return (text for line in self.lines(progress) if (text := line.strip()))

    def sentences(self, progress: Progress | None = None) -> Iterator[str]:
        """The sentences of all lines."""
        for line in self.lines(progress):
            yield from sentences_of(line)


def sentences_of(paragraph: str) -> Iterator[str]:
    """The sentences of a paragraph, blanks made single.

    A sentence ends with . ! ? or … and the quotes and brackets that close behind it, where blanks and something other
    than a small letter follow; not behind a title or another usual abbreviation (Mr., Dr., St., …) and not behind a
    single letter (J. Smith). The end of the line ends it, too. Texts without capitals are not cut within a line.

    >>> list(sentences_of("Mr. J. Ames left.  “Why?” she asked. Nobody knew…"))
    ['Mr. J. Ames left.', '“Why?” she asked.', 'Nobody knew…']
    """
    start = 0
    for end in _ENDS.finditer(paragraph):
        last = _LAST_WORD.search(paragraph[max(start, end.start() - _LONG) : end.start() + 1])
        if last and (len(last[1]) == 1 or last[1].lower() in _ABBREVIATIONS):
            continue
        if sentence := " ".join(paragraph[start : end.end()].split()):
            yield sentence
        start = end.end()
    if sentence := " ".join(paragraph[start:].split()):
        yield sentence
