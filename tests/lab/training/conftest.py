"""Small data in the formats that models are trained on, all written here; and models that a test can train."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tiny_models

PEOPLE = ("Anna", "Ben", "Clara", "David", "Emma", "Frank")
PLACES = ("garden", "kitchen", "library", "station", "market", "harbour")
THINGS = ("lamp", "book", "basket", "violin", "letter", "kettle")
TEXT = (
    " ".join((*PEOPLE, *PLACES, *THINGS))
    + " Where did who leave the a went to with In and then sat down before It was put what carry Nobody knows why ?"
)


def sentence(rng: random.Random) -> tuple[str, str, str, str]:
    who, where, what = rng.choice(PEOPLE), rng.choice(PLACES), rng.choice(THINGS)
    return f"{who} went to the {where} with a {what}.", who, where, what


@pytest.fixture
def squad() -> Callable[..., dict[str, Any]]:
    """`squad(paragraphs, version)`: SQuAD's content; in version 2 every third question has no answer."""

    def make(paragraphs: int = 12, version: int = 1, seed: int = 0) -> dict[str, Any]:
        rng, made = random.Random(seed), []
        for number in range(paragraphs):
            lines = [sentence(rng) for _ in range(3)]
            context = " ".join(line[0] for line in lines)
            qas: list[dict[str, Any]] = []
            for at, (text, who, where, what) in enumerate(lines):
                start = context.index(text) + text.index(where)
                answers = [{"text": where, "answer_start": start}]
                entry = {"id": f"{number}-{at}", "question": f"Where did {who} carry the {what}?", "answers": answers}
                if version == 2 and at == 2:
                    entry |= {"question": f"Why did {who} leave?", "answers": [], "is_impossible": True}
                qas.append(entry)
            made.append({"context": context, "qas": qas})
        return {"version": f"{version}", "data": [{"title": "made", "paragraphs": made}]}

    return make


@pytest.fixture
def mrqa() -> Callable[..., str]:
    """`mrqa(passages)`: MRQA's JSON lines with their header."""

    def make(passages: int = 6, seed: int = 0) -> str:
        rng, lines = random.Random(seed), [json.dumps({"header": {"dataset": "Made", "split": "train"}})]
        for number in range(passages):
            context, who, where, what = sentence(rng)
            start = context.index(where)
            detected = [
                {"text": where.upper(), "char_spans": [[start, start + len(where) - 1]], "token_spans": [[4, 4]]}
            ]
            qa = {"qid": f"m{number}", "question": f"Where did {who} carry the {what}?", "detected_answers": detected}
            lines.append(
                json.dumps({"id": "", "context": context, "qas": [{**qa, "answers": [where, f"the {where}"]}]})
            )
        return "\n".join(lines) + "\n"

    return make


@pytest.fixture
def race() -> Callable[[Path], Path]:
    """`race(folder)`: RACE's folders with four articles of two questions each."""

    def write(folder: Path, seed: int = 0) -> Path:
        rng = random.Random(seed)
        for level in ("middle", "high"):
            (folder / level).mkdir(parents=True)
            for number in range(2):
                lines = [sentence(rng) for _ in range(2)]
                content = {
                    "article": " ".join(line[0] for line in lines),
                    "questions": [f"Where did {who} go?" for _, who, _, _ in lines],
                    "options": [_options(rng, where) for _, _, where, _ in lines],
                    "id": f"{level}{number}.txt",
                }
                content["answers"] = [
                    "ABCD"[options.index(line[2])] for options, line in zip(content["options"], lines, strict=True)
                ]
                (folder / level / f"{number}.txt").write_text(json.dumps(content), encoding="utf-8")
        return folder

    return write


def _options(rng: random.Random, right: str) -> list[str]:
    others = rng.sample([place for place in PLACES if place != right], 3)
    return rng.sample([right, *others], 4)


@pytest.fixture
def social_iqa() -> Callable[..., Path]:
    """`social_iqa(folder, part, rows)`: rows of three options in PART.jsonl, their labels in PART-labels.lst.

    Some places are always right and others never, so that a tiny model can learn it.
    """

    def write(folder: Path, part: str = "train", rows: int = 24, seed: int = 0) -> Path:
        rng, lines, labels = random.Random(seed), [], []
        for _ in range(rows):
            who, where, what = rng.choice(PEOPLE), rng.choice(PLACES[:3]), rng.choice(THINGS)
            context, options = f"{who} went to the {where} with a {what}.", rng.sample(PLACES[3:], 2)
            label = rng.randrange(3)
            options.insert(label, where)
            answers = {f"answer{letter}": f"the {option}" for letter, option in zip("ABC", options, strict=True)}
            lines.append(json.dumps({"context": context, "question": f"Where did {who} go?", **answers}))
            labels.append(str(label + 1))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{part}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / f"{part}-labels.lst").write_text("\n".join(labels) + "\n", encoding="utf-8")
        return folder / f"{part}.jsonl"

    return write


@pytest.fixture
def prose() -> Callable[..., str]:
    """`prose(lines)`: one sentence a line."""

    def make(lines: int = 60, seed: int = 0) -> str:
        rng = random.Random(seed)
        return "".join(f"{sentence(rng)[0]}\n" for _ in range(lines))

    return make


@pytest.fixture(scope="session")
def small_base(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """`small_base(kind, family)`: the name of a tiny model that knows the words of this file. Not to be written to."""
    import torch

    torch.set_num_threads(1)
    made: dict[tuple[str, str, int], str] = {}

    def base(kind: str = "mask", family: str = "bert", max_length: int = 64) -> str:
        key = (kind, family, max_length)
        if key not in made:
            make: Any = getattr(tiny_models, f"make_{kind}_model")
            folder = tmp_path_factory.mktemp(f"{family}-{kind}-base")
            made[key] = f"hf:{make(folder, family, text=TEXT, max_length=max_length)}"
        return made[key]

    return base
