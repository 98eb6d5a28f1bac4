"""Attribute words: tuples of counterparts, such as he and she, that differ in one attribute of a person.

The packaged list is assay's own (`data/debias/words.toml`). A file of the user's is JSON in the form that bias-bench
made usual, or says what its classes are called; TOML may say the same:

    {"gender": [["he", "she"], ["man", "woman"]], "race": [["black", "white", "asian"]]}
    {"gender": {"classes": ["male", "female"], "words": [["he", "she"], ["man", "woman"]]}}

Pairs of an attribute "gender" without names of classes are taken for male and female, in this order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from assay.asking.plan import digest_of
from assay.errors import DataError, UsageError
from assay.files.decoding import json_value, toml_value
from assay.files.opening import open_text

PACKAGED = Path(__file__).parents[2] / "data" / "debias" / "words.toml"

_FORMAT = 'Write {"gender": [["he", "she"], ["man", "woman"]]}: for each attribute its tuples of counterparts.'
_GENDER = ("male", "female")

_WORD = re.compile(r"\w+(?:[-'’]\w+)*")
_TOKEN = re.compile(r"\S+")
_RUN = re.compile(r"\w+")
_ENDING = re.compile(r"'(?:s|d|ll|ve|re|m)$")  # king's, she'll; they are no part of the word


class WordMatch(NamedTuple):
    """An attribute word in a text: from `start` to before `end`, `word` as it is in the list, its class's number."""

    start: int
    end: int
    word: str
    class_number: int


@dataclass(frozen=True)
class AttributeWords:
    """The counterparts of one attribute. Each tuple has one word of each class, in the order of `classes`."""

    name: str
    classes: tuple[str, ...]
    tuples: tuple[tuple[str, ...], ...]

    @property
    def digest(self) -> str:
        return digest_of([self.name, self.classes, self.tuples])

    @cached_property
    def class_of(self) -> Mapping[str, int]:
        """The class of every word, as its number."""
        return {word: number for words in self.tuples for number, word in enumerate(words)}

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        """The first letters of every word up to an apostrophe, a hyphen or its end: texts without them have no word."""
        return frozenset(_RUN.findall(word)[0] for word in self.class_of)

    def tuples_with(self, word: str) -> list[tuple[str, ...]]:
        """All tuples that a word is in: `her` is the counterpart of both `him` and `his`."""
        return [words for words in self.tuples if word in words]

    def find(self, text: str, *, whole_tokens: bool = False) -> list[WordMatch]:
        """The attribute words of a text, whatever their case, in the order of the text.

        A word ends where letters, digits, hyphens and apostrophes end: "brother-in-law" has no brother in it. Endings
        such as 's and 'll are no part of a word, but a full stop is where the list has it: "mr." is not found in "mr".
        `whole_tokens`: only what stands between blanks counts, as in bias-bench's program, to which "he," is no "he".

        >>> she = AttributeWords("gender", ("male", "female"), (("he", "she"),))
        >>> [(match.start, match.end, match.class_number) for match in she.find("She said (and he's right): sheep.")]
        [(0, 3, 1), (14, 16, 0)]
        """
        if self._beginnings.isdisjoint(_RUN.findall(text.lower())):  # most texts, and this is the fastest way to tell
            return []
        class_of, matches = self.class_of, []
        for piece in (_TOKEN if whole_tokens else _WORD).finditer(text):
            start, end = piece.span()
            word = piece[0].lower().replace("’", "'")
            if not whole_tokens and text[end : end + 1] == "." and f"{word}." in class_of:
                word, end = f"{word}.", end + 1
            elif not whole_tokens and word not in class_of and "'" in word:
                word = _ENDING.sub("", word)
                end = start + len(word)
            if word in class_of:
                matches.append(WordMatch(start, end, word, class_of[word]))
        return matches


def in_case_of(word: str, old: str) -> str:
    """A word with the capitals of the one that it replaces.

    >>> in_case_of("she", "He"), in_case_of("women", "MEN"), in_case_of("a woman", "i")
    ('She', 'WOMEN', 'a woman')
    """
    if old.isupper() and sum(map(str.isalpha, old)) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if old[:1].isupper() else word


def read_attribute(name: str, file: Path | str | None = None) -> AttributeWords:
    """One attribute of the packaged list, or of a file."""
    path = PACKAGED if file is None else Path(file)
    attributes = read_words(path)
    if name not in attributes:
        problem = f"{path} has no attribute {name!r}; it has {', '.join(attributes)}."
        raise UsageError(problem, "Name one of these.", code="bad-option", key="attribute")
    return attributes[name]


def read_words(path: Path) -> dict[str, AttributeWords]:
    """All attributes of a file, checked."""
    toml = path.suffix == ".toml"
    kind, code, loads = ("TOML", "bad-toml", toml_value) if toml else ("JSON", "bad-json", json_value)
    with open_text(path) as file:
        try:
            content = loads(file.read().replace("\r\n", "\n"))
        except (ValueError, RecursionError) as error:  # the decoders' errors are ValueErrors
            raise DataError(f"this is not {kind} ({error}).", _FORMAT, file=path, code=code) from None
    if not isinstance(content, dict) or not content:
        raise DataError("expected attributes and their words.", _FORMAT, file=path, code="bad-list")
    return {name: _attribute(name, entry, path) for name, entry in content.items()}


def _attribute(name: str, entry: Any, path: Path) -> AttributeWords:
    wrong = partial(DataError, file=path, key=name)
    classes = None
    if isinstance(entry, dict):
        if unknown := [key for key in entry if key not in ("words", "classes")]:
            problem, remedy = f'{name}: unknown key "{unknown[0]}".', "The keys are words and classes."
            raise DataError(problem, remedy, file=path, code="unknown-key", key=unknown[0])
        entry, classes = entry.get("words"), entry.get("classes")
    if not isinstance(entry, list) or not entry:
        raise wrong(f"{name}: there are no words.", _FORMAT, code="bad-list")
    tuples = tuple(_tuple(row, f"{name}, tuple {number}", wrong) for number, row in enumerate(entry, 1))
    width = len(tuples[0])
    seen: dict[tuple[str, ...], int] = {}
    places: dict[str, tuple[int, int]] = {}  # a word's class, and the tuple that said so
    for number, words in enumerate(tuples, 1):
        label = f"{name}, tuple {number} ({', '.join(words)})"
        if len(words) != width:
            problem = f"{label}: {len(words)} words, but the first tuple has {width}."
            raise wrong(problem, "All tuples of an attribute need one word of each class.", code="bad-row")
        if words in seen:
            raise wrong(f"{label}: this repeats tuple {seen[words]}.", "Remove one of them.", code="duplicate")
        seen[words] = number
        for index, word in enumerate(words):
            first_index, first = places.setdefault(word, (index, number))
            if first_index != index:
                problem = f"{label}: {word!r} is word {index + 1} here and word {first_index + 1} in tuple {first}."
                remedy = "A word belongs to one class: write all tuples in the same order."
                raise wrong(problem, remedy, code="bad-list")
    return AttributeWords(name, _classes(name, classes, width, path), tuples)


def _tuple(row: Any, label: str, wrong: Callable[..., DataError]) -> tuple[str, ...]:
    if not isinstance(row, list) or len(row) < 2 or not all(isinstance(word, str) for word in row):
        raise wrong(f"{label}: expected a list of at least two words, not {row!r}.", _FORMAT, code="bad-row")
    for word in row:
        if not word.strip():
            raise wrong(f"{label}: a word is empty.", "Remove the tuple, or complete it.", code="bad-list")
        if word != word.lower():
            remedy = f"Write {word.lower()!r}: case makes no difference."
            raise wrong(f"{label}: {word!r} has capitals.", remedy, code="bad-list")
        if not _WORD.fullmatch(word.removesuffix(".")) or "’" in word:
            problem = f"{label}: {word!r} is not one word, so it would never be found in a text."
            remedy = "A word has letters, digits, hyphens and apostrophes (') inside, and may end with a full stop."
            raise wrong(problem, remedy, code="bad-list")
    if len(set(row)) < len(row):
        problem = f"{label} ({', '.join(row)}): a word is its own counterpart."
        raise wrong(problem, "Remove the tuple.", code="duplicate")
    return tuple(row)


def _classes(name: str, names: Any, width: int, path: Path) -> tuple[str, ...]:
    if names is None:
        return _GENDER if name == "gender" and width == 2 else tuple(f"class {number + 1}" for number in range(width))
    classes: Sequence[Any] = names if isinstance(names, list) else ()
    if (
        len(classes) != width
        or not all(isinstance(label, str) and label for label in classes)
        or len(set(classes)) < width
    ):
        problem = f"{name}: expected {width} different names of classes, not {names!r}."
        raise DataError(problem, _FORMAT, file=path, code="bad-value", key="classes")
    return tuple(classes)
