"""Studies whose work is done by `fake_makers`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError, UsageError
from assay.lab.studies import StudyResult, study
from fake_makers import Fakes

FILE = """
[study]
name = "mine"
seed = 7

[models.base]
title = "the base"
spec = "builtin"

[models.siqa]
train = "choice"
base = "base"
data = "train.jsonl"
eval = "dev.jsonl"
preset = "sodapop"
settings = { max_steps = 3 }

[models.inlp-gender]
debias = "inlp"
model = "siqa"
attribute = "gender"
corpus = "text.txt"
eval = "dev.jsonl"
settings = { rounds = 2 }

[models.cda-gender]
debias = "cda"
model = "base"
attribute = "gender"
corpus = "text.txt"

[models.cda-gender-siqa]
title = "CDA"
train = "choice"
base = "cda-gender"
data = "train.jsonl"
eval = "dev.jsonl"
preset = "sodapop"
settings = { max_steps = 3 }

[[runs]]
probe = "sodapop"
models = ["siqa", "inlp-*", "*-siqa"]
settings = { fill_model = "base" }

[[runs]]
probe = "unqover"
models = ["base", "cda-gender"]
settings = { form = "mask", class = "religion" }
"""
DATA = ("train.jsonl", "dev.jsonl", "text.txt")


@dataclass
class Bench:
    """A folder with a study file and its data; `text` may be changed between two calls of `run`."""

    folder: Path
    fakes: Fakes
    text: str = FILE

    @property
    def file(self) -> Path:
        path = self.folder / "mine.toml"
        path.write_text(self.text, encoding="utf-8")
        return path

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def run(self, **more: Any) -> StudyResult:
        self.fakes.calls.clear()
        return study(self.file, self.out, makers=self.fakes.makers, **more)

    def refused(self, **more: Any) -> AssayError:
        """The error of a study that must not begin."""
        self.fakes.calls.clear()
        with pytest.raises(AssayError) as caught:
            study(self.file, self.out, makers=self.fakes.makers, **more)
        assert not self.fakes.calls, "nothing may run before everything is checked"
        assert not (self.out / "models").exists()
        assert caught.value.remedy
        return caught.value

    def line(self, text: str, after: str = "") -> int:
        """The number of the line that begins with a text, the first one after another line."""
        lines = self.text.splitlines()
        first = lines.index(after) if after else 0
        return next(n for n, line in enumerate(lines[first:], first + 1) if line.startswith(text))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for name in DATA:
        (tmp_path / name).write_text(f"content of {name}\n")
    return Bench(tmp_path, Fakes())


Failing = Callable[[str], UsageError]
