"""Notes on questions that are not the published ones, by the ids that `assay data check bbq` compares as well."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from assay.files.opening import open_bytes
from assay.files.published import is_published
from assay.probes.bbq import PROBE
from assay.probes.bbq.examples import Example

(_OFFICIAL,) = PROBE.data_sets


def note_on_files(files: Iterable[Path]) -> list[str]:
    """A note that names those files whose content was not published, if there are any."""
    others = [file.name for file in files if not is_published(_OFFICIAL, _content(file))]
    return [f"not the published files: {', '.join(others)}; results on them are not BBQ's"] if others else []


def note_on_rows(examples: Iterable[Example]) -> list[str]:
    """The same for rows that came with answers, by category: written back they are the published file, or they differ.

    Only whole categories can be recognised.
    """
    lines: dict[str, list[str]] = {}
    for example in sorted(examples, key=lambda each: each.example_id):
        lines.setdefault(example.category, []).append(f"{example.to_line()}\n")
    others = sorted(category for category, own in lines.items() if not is_published(_OFFICIAL, "".join(own).encode()))
    if not others:
        return []
    return [f"not the published rows, or not all of them: {', '.join(others)}; results on them may not be BBQ's"]


def _content(file: Path) -> bytes:
    with open_bytes(file) as content:
        return content.read()
