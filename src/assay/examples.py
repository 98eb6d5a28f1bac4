"""Questions as they were put, with what the model answered: a sample of them, for people to look at.

They lie beside the findings in examples.jsonl, one on a line; the most telling come first, so that the first few of
them are the best that few can show.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.errors import DataError

FILE = "examples.jsonl"
MOST = 240
"""Examples that a run keeps."""

About = Mapping[str, str | Sequence[str]]
Wanted = Mapping[str, str | Sequence[str]]
"""What numbers an example should stand behind: by key the value, or any of several."""


class Option(NamedTuple):
    """An answer that could be given, with the model's score where it gave one."""

    text: str
    score: float | None = None
    chosen: bool = False
    right: bool = False


@dataclass(frozen=True)
class Asked:
    """One question as the model saw it; `prompt` is what a model that writes read, `answer` what it wrote."""

    text: str
    question: str
    options: Sequence[Option]
    answer: str | None = None
    prompt: str = ""


@dataclass(frozen=True)
class Example:
    """Questions that belong together. `about` names the numbers that they stand behind, by the keys of findings.json
    and of the tables (class, attribute, category, context, …); `scores` says what the scores are.
    """

    about: About
    asked: Sequence[Asked]
    scores: str = ""
    note: str = ""

    def fits(self, wanted: Wanted) -> bool:
        """Whether it stands behind a number.

        >>> example = Example({"class": "gender", "subject": ["Ann", "Bob"]}, [])
        >>> example.fits({"subject": "Bob"}), example.fits({"subject": ["Cleo", "Ann"], "class": "gender"})
        (True, True)
        >>> example.fits({"class": "religion"}), example.fits({"category": "Age"})
        (False, False)
        """
        return all(set(several(self.about.get(key, ()))) & set(several(value)) for key, value in wanted.items())

    def as_json(self) -> dict[str, Any]:
        asked = [
            {
                "text": each.text,
                "question": each.question,
                "options": [[o.text, o.score, int(o.chosen), int(o.right)] for o in each.options],
                "answer": each.answer,
                **({"prompt": each.prompt} if each.prompt else {}),
            }
            for each in self.asked
        ]
        return {**vars(self), "about": dict(self.about), "asked": asked}


def to_lines(examples: Sequence[Example]) -> bytes:
    """The content of examples.jsonl: the same examples give the same bytes."""
    lines = (json.dumps(example.as_json(), ensure_ascii=False, allow_nan=False) + "\n" for example in examples)
    return "".join(lines).encode("utf-8", "replace")


def read_examples(folder: Path) -> list[Example]:
    """The examples of a run folder; none where it has none."""
    path = folder / FILE
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeError) as error:
        raise DataError(f"cannot be read ({error}).", _AGAIN, code="unreadable-file", file=path) from None
    return [_example(line, path, number) for number, line in enumerate(lines, 1) if line]


_AGAIN = "Repeat the run to write it again, or delete the file: the report is then made without examples."


def _example(line: str, path: Path, number: int) -> Example:
    try:
        return msgspec.convert(json.loads(line), Example, strict=False)  # options say 0 and 1 for no and yes
    except ValueError as error:
        problem = f"this is no example of assay ({error})."
        raise DataError(problem, _AGAIN, code="bad-findings", file=path, line=number) from None


def several(value: str | Sequence[str]) -> Sequence[str]:
    """One value, or several, as a sequence."""
    return (value,) if isinstance(value, str) else value
