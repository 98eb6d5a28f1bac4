"""A sample of the questions as they were asked, with the model's answers, for people to look at.

A run folder stores them in examples.jsonl, one on a line, the most telling first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from assay.errors import DataError
from assay.files.decoding import json_value
from assay.files.opening import read_whole, reason

FILE = "examples.jsonl"
MOST = 240
"""The most examples that a run stores."""

About = Mapping[str, str | Sequence[str]]
Wanted = Mapping[str, str | Sequence[str]]
"""The number that examples are wanted for: the value of each key, or any of several."""


class Option(NamedTuple):
    """A possible answer, with the model's score if it gave one."""

    text: str
    score: float | None = None
    chosen: bool = False
    right: bool = False


def shown_score(score: float, digits: int = 4) -> float | None:
    """A score with so many significant digits; None if it is undefined or infinite."""
    return float(f"{score:.{digits}g}") if isfinite(score) else None


def scored_options(
    texts: Sequence[str], scores: Sequence[float], right: int | None = None, *, least: float = float("-inf")
) -> list[Option]:
    """Options with their scores. The model chose what scores highest, if that is more than `least`."""
    highest = max(scores)
    return [
        Option(text, shown_score(score), least < score == highest, i == right)
        for i, (text, score) in enumerate(zip(texts, scores, strict=True))
    ]


@dataclass(frozen=True)
class AskedQuestion:
    """One question as the model saw it; of a model that writes text also the `prompt` and its written `answer`."""

    text: str
    question: str
    options: Sequence[Option]
    answer: str | None = None
    prompt: str = ""


@dataclass(frozen=True)
class Example:
    """Questions that belong together.

    `about` says which numbers they contribute to, by the keys of findings.json and of the tables (class, attribute,
    category, context, …); `scores` says what the scores are.
    """

    about: About
    asked: Sequence[AskedQuestion]
    scores: str = ""
    note: str = ""

    def fits(self, about: Wanted) -> bool:
        """Whether it contributes to a number.

        >>> example = Example({"class": "gender", "subject": ["Ann", "Bob"]}, [])
        >>> example.fits({"subject": "Bob"}), example.fits({"subject": ["Cleo", "Ann"], "class": "gender"})
        (True, True)
        >>> example.fits({"class": "religion"}), example.fits({"category": "Age"})
        (False, False)
        """
        return all(set(_several(self.about.get(key, ()))) & set(_several(value)) for key, value in about.items())

    def as_json(self) -> dict[str, Any]:
        questions = [
            {
                "text": question.text,
                "question": question.question,
                "options": [[o.text, o.score, int(o.chosen), int(o.right)] for o in question.options],
                "answer": question.answer,
                **({"prompt": question.prompt} if question.prompt else {}),
            }
            for question in self.asked
        ]
        return {**vars(self), "about": dict(self.about), "asked": questions}


T = TypeVar("T")


def take_turns(sources: Iterable[Iterable[T | None]], most: int | None = None) -> Iterator[T]:
    """At most so many items, one of each source in turn; where a source gives None, it loses its turn.

    >>> [*take_turns(["abc", "d", "ef"], most=5)]
    ['a', 'd', 'e', 'b', 'f']
    """
    rounds = zip_longest(*sources)
    return islice((item for items in rounds for item in items if item is not None), most)


def to_lines(examples: Sequence[Example]) -> bytes:
    """The content of examples.jsonl; the same examples always give the same bytes."""
    lines = (json.dumps(example.as_json(), ensure_ascii=False, allow_nan=False) + "\n" for example in examples)
    return "".join(lines).encode("utf-8", "replace")


def read_examples(folder: Path) -> list[Example]:
    """The examples of a run folder; empty if it has none."""
    path = folder / FILE
    try:
        lines = read_whole(path).decode().split("\n")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeError) as error:
        raise DataError(f"cannot be read ({reason(error)}).", _AGAIN, code="unreadable-file", file=path) from None
    return [_example(line, path, number) for number, line in enumerate(lines, 1) if line]


_AGAIN = "Repeat the run to rewrite it, or delete the file to make the report without examples."


def _example(line: str, path: Path, number: int) -> Example:
    try:
        example = msgspec.convert(json_value(line), Example, strict=False)  # options say 0 and 1 for no and yes
        if not example.asked:
            raise ValueError("nothing was asked")
        return example
    except ValueError as error:
        problem = f"this is not an example written by assay ({error})."
        raise DataError(problem, _AGAIN, code="bad-findings", file=path, line=number) from None


def _several(value: str | Sequence[str]) -> Sequence[str]:
    return (value,) if isinstance(value, str) else value
