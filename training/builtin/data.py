"""What the built-in model learns from, and what it is tested on.

| head   | learns from                                     | tested on                    |
|--------|-------------------------------------------------|------------------------------|
| mask   | prose, QAMR's sentences, Social IQa's train part | prose that was held out      |
| span   | QAMR's questions                                | QAMR sentences held out      |
| choice | Social IQa's train part                         | Social IQa's dev part        |

A part of each training set is kept for validation: choices are made on that, and on nothing else. Nothing of BBQ,
UnQover or SODAPOP is read; SODAPOP's contexts come from Social IQa's dev part, so `read` checks that no context of the
train part is among those of the dev part, whoever it is about. Of QAMR's sentences one of five words is there twice,
on both sides; 9 of the 3,936 test questions are about it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from parts import PARTS, apart, nameless, part_of

Ints = NDArray[np.int32]
Item = dict[str, str]  # context, question, A, B, C, right

FILES = (
    "text/standard_ebooks.txt.xz",
    "qamr/filtered_dev.tsv.gz",
    "qamr/filtered_test.tsv.gz",
    "qamr/wiki-sentences.tsv.gz",
    "socialiqa/train.jsonl.gz",
    "socialiqa/train-labels.lst.gz",
    "socialiqa/dev.jsonl.gz",
    "socialiqa/dev-labels.lst.gz",
)
OPTIONS = 3
EXTRA = 6  # in training: answers to other questions of the same kind, which teachers judge as well

_RUN = 20  # so many paragraphs of a book stay together
_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "\u2060": None, "\xa0": " "})
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "``": '"', "''": '"'}


@dataclass(frozen=True)
class Rows:
    """Sequences of tokens, padded with 0; from `second` on they have token type 1."""

    ids: Ints  # (row, position)
    length: Ints  # (row,)
    second: Ints  # (row,)

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Spans:
    """Questions about sentences. `answers` are the words of annotators' answers, the first one's first."""

    rows: Rows
    word: Ints  # (row, position): the sentence's word that a token belongs to, or -1
    answers: list[list[tuple[int, int]]]  # first and last word

    def targets(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The share of annotators (row, position) whose answer begins, and ends, with a token."""
        start, end = (np.zeros(self.word.shape, np.float32) for _ in range(2))
        for row, answers in enumerate(self.answers):
            for first, last in answers:
                start[row, np.flatnonzero(self.word[row] == first)[0]] += 1 / len(answers)
                end[row, np.flatnonzero(self.word[row] == last)[-1]] += 1 / len(answers)
        return start, end


@dataclass(frozen=True)
class Choices:
    """Questions, each with so many options (rows in the order of questions, then options), and the right one."""

    rows: Rows
    right: Ints  # (question,)
    options: int = OPTIONS


@dataclass(frozen=True)
class Data:
    """Every part of every set, by part; and the digests of the files."""

    prose: dict[str, Ints]  # one stream of tokens
    short: Rows  # whole sentences, for the mask head; train alone
    spans: dict[str, Spans]
    choices: dict[str, Choices]  # in training with EXTRA options behind their own
    digests: dict[str, str]


def read(folder: Path, tokenizer_file: Path) -> Data:
    """Read and tokenise everything."""
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise SystemExit(f"{folder}: {missing[0]} is missing. All that must be there: {', '.join(FILES)}.")
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    words = _Words(tokenizer)
    sentences = dict(_tsv(folder / "qamr/wiki-sentences.tsv.gz"))
    items, unseen = _questions(folder, "train"), _questions(folder, "dev")
    known = {nameless(item["context"]) for item in unseen}
    if shared := [item["context"] for item in items if nameless(item["context"]) in known]:
        raise SystemExit(f"{len(shared)} training contexts are in the dev part as well, for example: {shared[0]}")
    validated = apart([item["context"] for item in items], share=0.3)
    by_part = {
        "train": [item for place, item in enumerate(items) if place not in validated],
        "validation": [items[place] for place in sorted(validated)],
    }
    texts = [_sentence(text.split(" ")).text for key, text in sentences.items() if _sentence_part(key) == "train"]
    texts += [text for item in by_part["train"] for text in _statements(item)]
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}
    return Data(
        prose={part: words.stream(_prose(folder / FILES[0], part)) for part in PARTS},
        short=words.rows([(text, "") for text in texts]),
        spans=_spans(folder, sentences, words),
        choices={
            "train": _choices(by_part["train"], words, _others(by_part["train"])),
            "validation": _choices(by_part["validation"], words),
            "test": _choices(unseen, words),
        },
        digests=digests,
    )


class _Words:
    """The tokenizer, for many texts at once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.first, self.between = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def stream(self, texts: Sequence[str]) -> Ints:
        return np.array([token for ids in self.ids(texts) for token in ids], np.int32)

    def rows(self, pairs: Sequence[tuple[str, str]]) -> Rows:
        distinct = list({text: None for pair in pairs for text in pair})
        ids = dict(zip(distinct, self.ids(distinct), strict=True))
        return self.joined([ids[first] for first, _ in pairs], [ids[second] for _, second in pairs])

    def joined(self, firsts: Iterable[list[int]], seconds: Iterable[list[int]]) -> Rows:
        """[CLS] first [SEP] second [SEP], or without a second: [CLS] first [SEP]."""
        rows, second_at = [], []
        for first, second in zip(firsts, seconds, strict=True):
            row = [self.first, *first, self.between]
            second_at.append(len(row))
            rows.append(row + ([*second, self.between] if second else []))
        length = np.array([len(row) for row in rows], np.int32)
        padded = np.zeros((len(rows), int(length.max())), np.int32)
        for place, row in enumerate(rows):
            padded[place, : len(row)] = row
        return Rows(padded, length, np.array(second_at, np.int32))


@dataclass(frozen=True)
class _Sentence:
    text: str
    starts: list[int]  # of every word


def _sentence(words: Sequence[str]) -> _Sentence:
    """A sentence of words as people write it: brackets, quotes and what is glued to its neighbours.

    >>> _sentence("He did n't say `` no '' -LRB- yet -RRB- .".split()).text
    'He didn\\'t say "no" (yet).'
    """
    text, starts, glue = "", [], True
    for word in words:
        closing = word in {",", ".", ":", ";", "?", "!", "%", "''", "'", "-RRB-", "-RSB-", "n't"} or (
            word.startswith("'") and len(word) > 1
        )
        text += "" if glue or closing else " "
        starts.append(len(text))
        text += _BRACKETS.get(word, word)
        glue = word in {"``", "`", "-LRB-", "-LSB-", "$"}
    return _Sentence(text, starts)


class _Question(NamedTuple):
    """A question about a sentence, and what annotators answered: first and last word."""

    key: str
    text: str
    answers: list[tuple[int, int]]


def _spans(folder: Path, sentences: dict[str, str], words: _Words) -> dict[str, Spans]:
    found: dict[str, list[_Question]] = {part: [] for part in PARTS}
    for name in ("qamr/filtered_dev.tsv.gz", "qamr/filtered_test.tsv.gz"):
        for fields in _tsv(folder / name):
            key, question = fields[0], fields[5]
            answers = [_contiguous(text) for text in (fields[6], *(field.partition(":")[2] for field in fields[7:]))]
            if answers[0] is not None:
                asked = _Question(key, question, [answer for answer in answers if answer])
                found[_sentence_part(key)].append(asked)
    return {part: _span_rows(questions, sentences, words) for part, questions in found.items()}


def _sentence_part(key: str) -> str:
    """The part of a sentence of QAMR, with all its questions."""
    return part_of(key, 0.05, 0.10)


def _span_rows(questions: Sequence[_Question], sentences: dict[str, str], words: _Words) -> Spans:
    keys = list({question.key: None for question in questions})
    written = {key: _sentence(sentences[key].split(" ")) for key in keys}
    encodings = words.tokenizer.encode_batch([written[key].text for key in keys], add_special_tokens=False)
    encoded = dict(zip(keys, encodings, strict=True))
    rows = words.joined(
        words.ids([question.text for question in questions]), [encoded[question.key].ids for question in questions]
    )
    word = np.full(rows.ids.shape, -1, np.int32)
    for row, question in enumerate(questions):
        begins = [start for start, _ in encoded[question.key].offsets]
        owner = np.searchsorted(written[question.key].starts, begins, side="right") - 1
        word[row, rows.second[row] : rows.length[row] - 1] = owner
    answers = [
        [answer for answer in question.answers if all((word[row] == place).any() for place in answer)]
        for row, question in enumerate(questions)
    ]
    keep = np.array([bool(given) for given in answers])
    kept = Rows(rows.ids[keep], rows.length[keep], rows.second[keep])
    return Spans(kept, word[keep], [given for given in answers if given])


def _contiguous(places: str) -> tuple[int, int] | None:
    """First and last of word indices that stand side by side.

    >>> _contiguous("3 4 5"), _contiguous("3 5"), _contiguous("")
    ((3, 5), None, None)
    """
    indices = [int(place) for place in places.split()]
    if not indices or indices != list(range(indices[0], indices[0] + len(indices))):
        return None
    return indices[0], indices[-1]


def _choices(items: Sequence[Item], words: _Words, others: Sequence[Sequence[str]] | None = None) -> Choices:
    others = others or [()] * len(items)
    pairs = [
        (item["context"], f"{item['question']} {answer}")
        for item, more in zip(items, others, strict=True)
        for answer in (*(item[option] for option in "ABC"), *more)
    ]
    right = np.array(["ABC".index(item["right"]) for item in items], np.int32)
    return Choices(words.rows(pairs), right, len(pairs) // len(items))


def _others(items: Sequence[Item]) -> list[list[str]]:
    """For each question EXTRA answers that other questions of its kind offer."""
    generator = np.random.default_rng(0)
    offered: defaultdict[str, list[str]] = defaultdict(list)
    for item in items:
        offered[nameless(item["question"])] += [item[option] for option in "ABC"]
    answers = [offered[nameless(item["question"])] for item in items]
    return [[some[place] for place in generator.integers(len(some), size=EXTRA)] for some in answers]


def _statements(item: Item) -> Iterator[str]:
    """What an item says when its right answer is taken for true."""
    answer = item[item["right"]]
    yield f"{item['context']} {item['question']} {answer}"
    if described := re.fullmatch(r"How would you describe (\w+)\?", item["question"]):
        yield f"{item['context']} {described[1]} is {answer}."


def _questions(folder: Path, part: str) -> list[Item]:
    items = []
    labels = gzip.decompress((folder / f"socialiqa/{part}-labels.lst.gz").read_bytes()).decode().split()
    lines = gzip.decompress((folder / f"socialiqa/{part}.jsonl.gz").read_bytes()).decode().splitlines()
    for line, label in zip(lines, labels, strict=True):
        raw = json.loads(line)
        item = {"context": raw["context"], "question": raw["question"], "right": "ABC"[int(label) - 1]}
        items.append(item | {option: raw[f"answer{option}"] for option in "ABC"})
    return items


def _prose(file: Path, part: str) -> list[str]:
    """The paragraphs of a part; runs of paragraphs stay together."""
    kept, book, place = [], "", 0
    for line in lzma.decompress(file.read_bytes()).decode().splitlines():
        if line.startswith("## "):
            book, place = line, 0
            continue
        if part_of(f"{book} {place // _RUN}", 0.005, 0.01) == part:
            kept.append(line.translate(_QUOTES))
        place += 1
    return kept


def _tsv(file: Path) -> Iterator[list[str]]:
    for line in gzip.decompress(file.read_bytes()).decode().splitlines():
        yield line.split("\t")
