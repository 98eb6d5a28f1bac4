"""Text of the user's, read as a stream (plain, gzip or xz, one paragraph a line), and sentences to learn from.

Which sentences these are: one pass over the text, the same choice for the same seed.

INLP (as bias-bench builds it). Sentences of at least 5 words. An attribute with two classes gives three kinds of
sentences: with words of one class, of the other, and of neither ("neutral"); sentences with both are left out. An
attribute with more classes gives two: with any attribute word, and without. Up to 10,000 of each kind, in lower case,
cut at a random place behind the last attribute word (neutral ones: behind the fourth word), since a causal model, for
which this was invented, has the word in its memory there; for an encoder it makes texts of many lengths.

SentenceDebias. Every sentence with an attribute word, beside the same sentence with each counterpart in its place.

The choice: every sentence has a number that its text and the seed give; those with the lowest numbers are taken. That
is an even choice among all different sentences. It depends neither on the order of the corpus nor on how often a
sentence is in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from assay.asking.progress import Progress, SilentProgress
from assay.errors import DataError
from assay.files.opening import UNREADABLE, open_regular, reason, unpacked
from assay.lab.debiasing.attribute_words import AttributeWords, WordMatch, in_case_of

NEUTRAL = "neutral"
FEWEST = 10
"""Of each kind: with fewer there is nothing to learn and nothing to test on."""

_NEUTRAL_WORDS = 4
_BLANK_FREE = re.compile(r"\S+")

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
            refused = partial(DataError, remedy="A corpus is one file of text, plain, .gz or .xz.", file=self.path)
            if self.path.is_dir():
                raise refused("this is a folder.", code="unreadable-file")
            raise refused("there is no such file.", code="missing-file")

    def lines(self, progress: Progress | None = None) -> Iterator[str]:
        """Its lines without their ends, one after the other; what cannot be read is a DataError with the line."""
        progress = progress or SilentProgress()
        progress.start(f"reading {self.path.name}", self.path.stat().st_size, "bytes")
        hasher, number, reported = hashlib.sha256(), 0, 0
        try:
            with open_regular(self.path) as packed, unpacked(packed, self.path.suffix) as content:
                for number, line in enumerate(content, 1):
                    hasher.update(line)
                    yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                    if number % 1000 == 0:
                        reported, before = packed.tell(), reported
                        progress.advance(reported - before)
                progress.advance(packed.tell() - reported)
        except UnicodeDecodeError as error:
            problem = f"this is not UTF-8 text ({error.reason})."
            raise DataError(
                problem, "Convert it to UTF-8.", file=self.path, line=number, code="unreadable-file"
            ) from None
        except UNREADABLE as error:
            problem = f"cannot be read after line {number} ({reason(error)})."
            raise DataError(problem, "Download it again.", file=self.path, code="unreadable-file") from None
        self.digest = hasher.hexdigest()

    def texts(self, progress: Progress | None = None) -> Iterator[str]:
        """Its lines that hold more than blanks."""
        return (text for line in self.lines(progress) if (text := line.strip()))

    def sentences(self, progress: Progress | None = None) -> Iterator[str]:
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


@dataclass(frozen=True)
class SentenceSelection:
    """How sentences are chosen; the defaults are bias-bench's. `limit` 0: all."""

    limit: int = 10_000
    least_words: int = 5
    lower: bool = True
    clip: bool = True
    whole_tokens: bool = False
    seed: int = 0


class SentenceSample:
    """Up to `limit` different sentences: those whose text and seed give the lowest numbers."""

    def __init__(self, limit: int, seed: int) -> None:
        self.limit = limit
        self.seen = 0  # all sentences, repetitions too
        self._key = seed.to_bytes(8, "little", signed=True)
        self._sentences: dict[int, str] = {}  # by number: all that can be among the lowest, and some more

    def add(self, sentence: str) -> None:
        self.seen += 1
        number = int.from_bytes(hashlib.blake2b(sentence.encode(), digest_size=8, key=self._key).digest(), "little")
        self._sentences.setdefault(number, sentence)
        if self.limit and len(self._sentences) > 2 * self.limit:
            self._sentences = dict(self.chosen())

    def __len__(self) -> int:
        return min(len(self._sentences), self.limit or len(self._sentences))

    def chosen(self) -> list[tuple[int, str]]:
        """Number and text of those that were chosen, the lowest number first."""
        return sorted(self._sentences.items())[: self.limit or None]


def names_of_kinds(attribute: AttributeWords) -> tuple[str, ...]:
    """The kinds of sentences that INLP tells apart: both of two classes and neither, or any of more and none.

    >>> names_of_kinds(AttributeWords("gender", ("male", "female"), (("he", "she"),)))
    ('male', 'female', 'neutral')
    """
    names = attribute.classes if len(attribute.classes) == 2 else (f"any {attribute.name}",)
    return (*names, NEUTRAL)


def kinds_of_sentences(
    corpus: Corpus, attribute: AttributeWords, selection: SentenceSelection, progress: Progress | None = None
) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Sentences for INLP by kind, chosen and cut; and how many of each kind the corpus has, repetitions included."""
    names = names_of_kinds(attribute)
    by_class = len(names) > 2
    samples = {name: SentenceSample(selection.limit, selection.seed) for name in names}
    count = 0
    for sentence in corpus.sentences(progress):
        if sentence.count(" ") + 1 < selection.least_words:
            continue
        count += 1
        classes = {match.class_number for match in attribute.find(sentence, whole_tokens=selection.whole_tokens)}
        if not classes:
            samples[NEUTRAL].add(sentence)
        elif not by_class:
            samples[names[0]].add(sentence)
        elif len(classes) == 1:
            samples[attribute.classes[classes.pop()]].add(sentence)
    _require(corpus, attribute, count, {name: len(sample) for name, sample in samples.items()})
    texts = {
        name: [_prepared(sentence, number, attribute, selection) for number, sentence in sample.chosen()]
        for name, sample in samples.items()
    }
    return texts, {name: sample.seen for name, sample in samples.items()}


def counterfactual_sentences(
    corpus: Corpus, attribute: AttributeWords, selection: SentenceSelection, progress: Progress | None = None
) -> tuple[list[tuple[str, ...]], list[int], int]:
    """Sentences for SentenceDebias as (text with class 1's word, with class 2's, …), the number of the sentence that
    each came from, and how many there were. `selection.least_words` and `selection.clip` are not used.

    A sentence gives one example for each different attribute word in it and each tuple that this word is in; all
    occurrences of the word are replaced, other attribute words stay.
    """
    sample, count = SentenceSample(selection.limit, selection.seed), 0
    for sentence in corpus.sentences(progress):
        count += 1
        if attribute.find(sentence, whole_tokens=selection.whole_tokens):
            sample.add(sentence)
    _require(corpus, attribute, count, {attribute.name: len(sample)})
    texts, origins = [], []
    for number, (_, sentence) in enumerate(sample.chosen()):
        text = sentence.lower() if selection.lower else sentence
        for example in counterfactuals_of(text, attribute, whole_tokens=selection.whole_tokens):
            texts.append(example)
            origins.append(number)
    return texts, origins, sample.seen


def counterfactuals_of(text: str, attribute: AttributeWords, *, whole_tokens: bool = False) -> list[tuple[str, ...]]:
    """A text with each class's word in place of its attribute word, for every such word and every tuple that it is in.

    >>> two = AttributeWords("gender", ("male", "female"), (("him", "her"), ("his", "her")))
    >>> counterfactuals_of("It is her hat.", two)
    [('It is him hat.', 'It is her hat.'), ('It is his hat.', 'It is her hat.')]
    """
    by_word: dict[str, list[WordMatch]] = {}
    for match in attribute.find(text, whole_tokens=whole_tokens):
        by_word.setdefault(match.word, []).append(match)
    return [
        tuple(text if counterpart == word else _replaced(text, places, counterpart) for counterpart in words)
        for word, places in by_word.items()
        for words in attribute.tuples_with(word)
    ]


def _replaced(text: str, matches: Sequence[WordMatch], word: str) -> str:
    for match in reversed(matches):  # so that the places before it stay where they are
        text = text[: match.start] + in_case_of(word, text[match.start : match.end]) + text[match.end :]
    return text


def _prepared(sentence: str, number: int, attribute: AttributeWords, selection: SentenceSelection) -> str:
    """A sentence as it is given to the model. Where it is cut depends on its own number, not on other sentences."""
    if selection.clip:
        ends = [word.end() for word in _BLANK_FREE.finditer(sentence)]
        matches = attribute.find(sentence, whole_tokens=selection.whole_tokens)
        least = sum(end < matches[-1].end for end in ends) + 1 if matches else min(_NEUTRAL_WORDS, len(ends))
        sentence = sentence[: ends[Random(number).randint(least, len(ends)) - 1]]
    return sentence.lower() if selection.lower else sentence


def _require(corpus: Corpus, attribute: AttributeWords, count: int, n_by_kind: Mapping[str, int]) -> None:
    """Enough different sentences of each kind."""
    refused = partial(DataError, file=corpus.path, code="empty-file")
    if not count:
        raise refused("there are no sentences.", "Use a file with text, one paragraph per line.")
    if not any(number for name, number in n_by_kind.items() if name != NEUTRAL):
        words = ", ".join(list(attribute.class_of)[:4])
        alone = " without one of the other class" if len(n_by_kind) == 3 else ""
        problem = f"none of its {count:,} sentences has a word of the attribute {attribute.name} ({words}, …){alone}."
        raise refused(problem, "Use another corpus, or other words with --words.", key="words")
    for name, number in n_by_kind.items():
        if number < FEWEST:
            kind = "without attribute words" if name == NEUTRAL else f"with words of: {name}"
            problem = f"it has {count:,} sentences, but only {number} different ones {kind}"
            problem += f"; at least {FEWEST} are needed."
            raise refused(problem, "Use a larger corpus, or other words with --words.", key=name)
