"""A small world for the recipe of the built-in model: data in the layout that it reads, and a base to begin with.

Everybody in it does one thing to another, somewhere: "Odell mended the kite indoors". No two texts tell the same.
"""

from __future__ import annotations

import gzip
import json
import lzma
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice, product
from pathlib import Path

import pytest

from assay.models.builtin import FOLDER
from parts import part_of

NAMES = ("Tamsin", "Odell", "Amal", "Ines", "Kenji", "Zora")
DEEDS = ("mended", "painted", "borrowed", "polished", "carried", "measured", "hid", "sold", "washed", "weighed")
THINGS = ("kite", "lantern", "ladder", "kettle", "anchor", "basket", "saddle", "violin", "barrel", "compass")
PLACES = ("outside", "indoors", "upstairs", "downstairs", "alone", "again", "slowly", "yesterday")
FEELINGS = ("proud", "tired", "careful", "curious", "hungry", "patient", "worried", "calm")


@dataclass(frozen=True)
class Deed:
    """Something that somebody did: the one thing that all texts are made of."""

    name: str
    deed: str
    thing: str
    place: str

    @property
    def words(self) -> list[str]:
        return [self.name, self.deed, "the", self.thing, self.place, "."]

    @property
    def text(self) -> str:
        return " ".join(self.words[:-1]) + "."


@dataclass(frozen=True)
class World:
    """A folder of data, and what stands in it."""

    folder: Path
    sentences: dict[str, list[Deed]]  # QAMR's, by part
    contexts: dict[str, list[Deed]]  # Social IQa's, by its own parts: train and dev


def deeds() -> Iterator[Deed]:
    """Deeds in a random order, each once, whoever did it."""
    chance = random.Random(0)
    everything = list(product(DEEDS, THINGS, PLACES))
    chance.shuffle(everything)
    return (Deed(chance.choice(NAMES), *rest) for rest in everything)


def write_world(folder: Path) -> World:
    """Data with something in every part of every set."""
    told = deeds()
    sentences = {part: list(islice(told, many)) for part, many in [("train", 12), ("validation", 2), ("test", 2)]}
    contexts = {part: list(islice(told, many)) for part, many in [("train", 20), ("dev", 4)]}
    for name in ("text", "qamr", "socialiqa"):
        (folder / name).mkdir(parents=True)
    write_prose(folder / "text/standard_ebooks.txt.xz", told)
    write_qamr(folder / "qamr", sentences)
    for part, some in contexts.items():
        write_questions(folder / "socialiqa", part, [item(deed, number) for number, deed in enumerate(some)])
    return World(folder, sentences, contexts)


def write_prose(file: Path, told: Iterator[Deed]) -> None:
    """One book for each part, of more than a window of tokens."""
    lines = []
    for part in ("train", "validation", "test"):
        book = next(name for number in count() if part_of(f"{(name := f'## book-{number}')} 0", 0.005, 0.01) == part)
        lines.append(book)
        for _ in range(4):
            lines.append(" ".join(f"“{deed.text}” That’s what was said." for deed in islice(told, 3)))
    file.write_bytes(lzma.compress("\n".join(lines).encode(), preset=0))


def write_qamr(folder: Path, sentences: dict[str, list[Deed]]) -> None:
    """Three questions on each sentence; nobody's answer to the third is one span."""
    texts, rows = [], []
    for part, some in sentences.items():
        keys = (key for number in count() if part_of(key := f"small:{number}", 0.05, 0.10) == part)
        for key, deed in zip(keys, some, strict=False):  # there are keys without end
            texts.append(f"{key}\t{' '.join(deed.words)}")
            for question, answers in [
                (f"Who {deed.deed} something?", ("0", "11:0", "12:0")),
                (f"What did {deed.name} have?", ("2 3", "11:3", "12:")),
                ("What was it about?", ("0 3", "11:0", "12:0")),
            ]:
                rows.append("\t".join([key, "0 1 3 4", "7", "0", "1", question, *answers]))
    half = len(rows) // 2
    for name, lines in [("wiki-sentences", texts), ("filtered_dev", rows[:half]), ("filtered_test", rows[half:])]:
        write_gz(folder / f"{name}.tsv.gz", lines)


def item(deed: Deed, number: int) -> dict[str, str]:
    """A question of Social IQa's kind, and its right answer."""
    question = ("How would you describe {}?", "What will {} want to do next?")[number % 2].format(deed.name)
    answers = [FEELINGS[(number + step) % len(FEELINGS)] for step in (0, 3, 5)]
    options = {f"answer{letter}": answer for letter, answer in zip("ABC", answers, strict=True)}
    return {"context": deed.text, "question": question, **options, "right": str(1 + number % 3)}


def write_questions(folder: Path, part: str, items: list[dict[str, str]]) -> None:
    shown = [{key: value for key, value in each.items() if key != "right"} for each in items]
    write_gz(folder / f"{part}.jsonl.gz", [json.dumps(each) for each in shown])
    write_gz(folder / f"{part}-labels.lst.gz", [each["right"] for each in items])


def write_gz(file: Path, lines: list[str]) -> None:
    file.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Data that every test of a file reads, and none changes."""
    return write_world(tmp_path_factory.mktemp("world") / "data")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base like the one that base.py writes, from the shipped model's encoder and tokenizer."""
    from safetensors.torch import load_file, save_file

    folder = tmp_path_factory.mktemp("base")
    shipped = load_file(FOLDER / "weights.safetensors")
    encoder = {name.removeprefix("bert."): value for name, value in shipped.items() if name.startswith("bert.")}
    save_file(encoder, folder / "model.safetensors")
    shutil.copy(FOLDER / "tokenizer.json", folder)
    return folder
