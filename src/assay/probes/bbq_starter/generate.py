"""The starter set as files in the authors' format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from assay.plan import Ask
from assay.probes.bbq.examples import Example
from assay.probes.bbq.generation import COUNTED, require_folder, write_files
from assay.probes.bbq_starter.templates import PACKAGED, read_starter
from assay.progress import Progress


@dataclass(frozen=True)
class StarterGeneration:
    """The starter set, or somebody's templates in its format, as files in the authors' format."""

    counted: ClassVar[str] = COUNTED
    folder: Path = PACKAGED
    seed: int = 0

    def notes(self) -> list[str]:
        return ["this is assay's own starter set: results on it are not BBQ's"] if self.folder == PACKAGED else []

    def write_to(self, out: Path, ask: Ask | None, meter: Progress) -> int:
        require_folder(out)
        examples = read_starter(seed=self.seed, folder=self.folder).examples
        meter.start("bbq-starter", len(examples), "examples")
        by_category: dict[str, list[Example]] = {}
        for example in examples:
            by_category.setdefault(example.category, []).append(example)
        return write_files(out, by_category, meter.advance)
