"""CDA (counterfactual data augmentation): masked training on text and on copies of it with attribute words swapped.

Attribute words are swapped for their counterparts, everything else stays as it is. The words are tuples with one word
for each class: ("he", "she"), ("jewish", "christian", "muslim"). A word of class c becomes the word of class `to[c]` in
its tuple. The rules:

Case        he → she, He → She, HE → SHE; a word in any other mixture (hE, McMan) is a name or a code and is kept.
Punctuation stays where it is, attached or not; listed words may have a period of their own (mr. → mrs.).
Apostrophe  what follows it is kept: Actor's → Actress's, he'll → she'll, boys' → girls'. A listed word with an
            apostrophe (ma'am) is found as it is spelled.
Hyphen      the whole word if it is listed; else what it is about: its last part (ex-husband → ex-wife) or the part
            before -in-law, -to-be and -elect (father-in-law → mother-in-law). man-made and black-and-blue are kept.
Several     a word of several tuples is ambiguous: the first tuple wins, except for possessives and objects, where the
            next word decides (`her` → his before a noun, else him; `his` → her before a noun, else hers).

With a list in which no word occurs twice, the swap can be undone exactly: pairs by a second pass, longer tuples by the
inverse shift. Where a swap would give a text that reads otherwise (`miss.` with mr. as its counterpart: `mr..`), the
word is kept, so that this holds for every text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from random import Random
from typing import Any

import numpy as np

from assay.asking.progress import Progress
from assay.config.settings import setting
from assay.errors import DataError
from assay.lab.debiasing.attribute_words import AttributeWords
from assay.lab.debiasing.corpus import Corpus
from assay.lab.debiasing.further_training import ACCUMULATE, STEPS, FurtherTraining
from assay.lab.debiasing.method import DebiasMethod
from assay.lab.training.base_model import BaseModel
from assay.lab.training.batches import encoded
from assay.lab.training.data_files import Texts
from assay.lab.training.mask import TextSettings, full_blocks
from assay.models.base import ModelSpec
from assay.models.tokenise import Tokeniser

_AT_ONCE = 256  # blocks that are clipped together


@dataclass(frozen=True)
class CdaSettings(TextSettings):
    """What CDA can be set to: where words are swapped, and all of masked training but `blocks`, which are apart."""

    accumulate: int = ACCUMULATE
    max_steps: int | None = STEPS
    compat: str = setting(
        "assay", "how words are swapped: by assay's rules, or as bias-bench does", choices=("assay", "released")
    )


class Cda(FurtherTraining):
    did = "It was trained further with masks, on text with attribute words and on copies with these words swapped."
    attribute: AttributeWords

    def require_texts(self) -> None:
        swapper = Swapper(self.attribute.tuples)
        if not any(swapper.has_word(line) for line in self.corpus.lines()):  # read as far as the first one
            raise _no_words(self.corpus, self.attribute)

    def training(self, base: ModelSpec) -> dict[str, str]:
        return {**self.training_settings, "blocks": "apart"}

    def texts(self, loaded: BaseModel, length: int) -> Texts:
        released = self.method_settings["compat"] == "released"
        swapper = (ReleasedSwapper if released else Swapper)(self.attribute.tuples)
        job, layout = self.job, Tokeniser(loaded.tokenizer).single
        room = length - len(layout.before) - len(layout.after)
        return partial(
            augmented_texts, self.corpus, self.attribute, loaded.tokenizer, room, swapper, job.seed, job.progress
        )


def augmented_texts(
    corpus: Corpus,
    attribute: AttributeWords,
    tokenizer: Any,
    room: int,
    swapper: Swapper | ReleasedSwapper,
    seed: int,
    progress: Progress,
) -> Iterator[str]:
    """CDA's stream of texts: every block of the corpus that has an attribute word, its counterfactual copy before it.

    room: tokens of a block, without the model's own around it. seed: for tuples of more than two words, where each
    class of each block draws one of the others. The stream is the same each time that it is called for.
    """
    cut = decoded_blocks if isinstance(swapper, ReleasedSwapper) else blocks_of
    blocks = enumerate(cut(corpus.texts(progress), tokenizer, room))
    pairs = (
        (swapper.swapped(block, drawn(swapper.classes, Random(f"{seed} {number}"))), block)
        for number, block in blocks
        if swapper.has_word(block)
    )
    any_yet = False
    while chunk := list(islice(pairs, _AT_ONCE)):
        any_yet = True
        yield from clipped([text for pair in chunk for text in pair], tokenizer, room)
    if not any_yet:
        raise _no_words(corpus, attribute)


def blocks_of(lines: Iterable[str], tokenizer: Any, room: int) -> Iterator[str]:
    """The text of the lines, joined by spaces, in pieces of at most `room` tokens that end between words.

    What is left at the end is dropped, unless it is all there is.
    """
    parts: list[str] = []
    held, any_yet = 0, False
    for line, encoding in encoded(tokenizer, lines):
        starts = [start for start, _ in encoding.offsets]
        first, begin = 0, 0  # the first token, and the first letter, that is in no block
        while len(starts) - first >= room - held:
            cut = _between_words(line, starts, first, first + room - held)
            if cut == first and not parts:  # one word fills more than a block
                cut = first + room
            end = starts[cut] if cut < len(starts) else len(line)
            yield " ".join(filter(None, [*parts, line[begin:end].strip()]))
            parts, held, any_yet = [], 0, True
            first, begin = cut, end
        if first < len(starts):
            parts.append(line[begin:].strip())
            held += len(starts) - first
    if parts and not any_yet:
        yield " ".join(parts)


def decoded_blocks(lines: Iterable[str], tokenizer: Any, room: int) -> Iterator[str]:
    """Pieces of exactly `room` tokens as the tokenizer writes them: what the released program swaps words in."""
    for ids in full_blocks((np.array(encoding.ids, np.int32) for _, encoding in encoded(tokenizer, lines)), room):
        yield tokenizer.decode(ids.tolist(), clean_up_tokenization_spaces=True)


def clipped(texts: list[str], tokenizer: Any, room: int) -> Iterator[str]:
    """Texts without what is beyond `room` tokens: a counterpart may have more tokens than the word that it replaces."""
    for text, encoding in encoded(tokenizer, texts):
        offsets = encoding.offsets
        yield text[: offsets[room][0]] if len(offsets) > room else text


def _between_words(line: str, starts: list[int], first: int, cut: int) -> int:
    """The last token from `first` to `cut` that begins a word; `first` if there is none."""
    while first < cut < len(starts) and not any(map(str.isspace, line[max(starts[cut] - 1, 0) : starts[cut] + 1])):
        cut -= 1
    return cut


def _no_words(corpus: Corpus, attribute: AttributeWords) -> DataError:
    words = ", ".join(list(attribute.class_of)[:4])
    problem = f"it has no word of the attribute {attribute.name} ({words}, …), so there is nothing to swap."
    remedy = "Use another corpus, or other words with --words."
    return DataError(problem, remedy, file=corpus.path, code="empty-file", key="words")


# --- swapping words

Tuples = Sequence[Sequence[str]]
Member = tuple[int, int]  # which tuple, and which class in it
Cut = tuple[str, str, str]  # what is before a listed word in its chunk, the word, and what is after it

PUNCTUATION = ".,?!;:"
"""What the released program finds attached to a word."""

_CHUNK = re.compile(r"\w+(?:['’-]\w+)*\.?")
_NEXT_WORD = re.compile(r"\s+[\"“‘'(\[]?([^\W\d_][\w-]*)")
_HEAD_FIRST = re.compile(r"-(?:in-laws?|to-be|elect)(?:['’]\w+)?\.?$", re.IGNORECASE)
_JOINS = re.compile(r"[\w.'’-]")
_MEMO = 1 << 16

_OBJECT, _DETERMINER, _ALONE = "object", "determiner", "alone"  # saw her, her book, the book is hers
_ROLES = {
    "him": {_OBJECT},
    "her": {_OBJECT, _DETERMINER},
    "them": {_OBJECT},
    "his": {_DETERMINER, _ALONE},
    "their": {_DETERMINER},
    "hers": {_ALONE},
    "theirs": {_ALONE},
}

_NOT_A_NOUN = """
    a an the this these those some any all no none every each both either neither enough such several half
    something anything nothing everything one another
    i you he she it we they me him us them my your his her its our their mine yours hers ours theirs myself yourself
    himself herself itself ourselves themselves who whom whose which what how why whether where when
    and or but nor if while because though although unless until till since that than then so as like thus
    to in on at with without from by for of off about above across after against along among around before behind
    below beneath beside besides between beyond down during except into near onto out over through throughout toward
    towards under up upon within outside away aside apart forward backward forth together further afterwards
    is are was were am be been has had have do does did would could may must shall should cannot
    not never ever always again also too yet still just even almost quite rather perhaps maybe indeed
    here there now once twice soon often sometimes today tomorrow yesterday tonight later alone instead anyway well
    better much more very forever somewhere anywhere everywhere upstairs downstairs awake alive
    go goes went come comes came know knows knew say says said tell see seen feel think get got take took give gave
    make made keep kept sit sat stood put become became seem seemed looked looking speak spoke understand forget wait
    eat enter begin began
"""
"""Words that seldom begin what a possessive is about: before them `her` is an object (him), and `his` stands alone."""

_LY_BUT_NO_ADVERB = """
    family early only daily weekly nightly yearly belly bodily curly elderly fatherly friendly ghostly holy homely
    kindly lively lonely lovely manly motherly womanly newly orderly reply folly scholarly sickly silly sly supply ugly
    worldly brotherly sisterly ally jelly bully
"""
_NO_POSSESSIONS, _NO_ADVERBS = frozenset(_NOT_A_NOUN.split()), frozenset(_LY_BUT_NO_ADVERB.split())


def shifted(classes: int, shift: int = 1) -> tuple[int, ...]:
    """Which class replaces which in a cyclic shift; the inverse is the negative shift.

    >>> shifted(3), shifted(3, -1)
    ((1, 2, 0), (2, 0, 1))
    """
    return tuple((kind + shift) % classes for kind in range(classes))


def drawn(classes: int, random: Random) -> tuple[int, ...]:
    """For each class another one, drawn on its own, as CDA does for one sequence; two classes change places."""
    return tuple((kind + random.randrange(1, classes)) % classes for kind in range(classes))


class Swapper:
    """Finds and swaps the words of one list, by the rules above.

    >>> pairs = [("he", "she"), ("him", "her"), ("his", "her"), ("actor", "actress")]
    >>> Swapper(pairs).swapped("He gave the Actor's hat to her, and she lost his.", (1, 0))
    "She gave the Actress's hat to him, and he lost her."
    >>> Swapper([("rabbi", "priest", "imam")]).swapped("a rabbi", shifted(3, 2))
    'a imam'
    """

    def __init__(self, tuples: Tuples) -> None:
        self.classes = len(tuples[0])
        self._members: dict[str, list[Member]] = {}  # by the word as it stands in a text
        self._meant: dict[str, str] = {}  # the listed word that is so written
        self._words: list[tuple[str, ...]] = []  # tuples in one way of writing, by the number in a member
        self._roles: list[frozenset[str]] = []
        for words in tuples:
            self._add(tuple(words))
        self._cut = lru_cache(_MEMO)(self._cut_anew)  # asked for every word of a corpus

    def has_word(self, text: str) -> bool:
        """Whether some word of the text would be swapped."""
        return next(self._changes(text, shifted(self.classes)), None) is not None

    def swapped(self, text: str, to: Sequence[int]) -> str:
        """The text with each word of class c replaced by that of class to[c]."""
        parts, done = [], 0
        for start, end, new in self._changes(text, to):
            parts += [text[done:start], new]
            done = end
        return "".join((*parts, text[done:]))

    def _changes(self, text: str, to: Sequence[int]) -> Iterator[tuple[int, int, str]]:
        """From where to where the text changes, and what is there then."""
        for match in _CHUNK.finditer(text):
            cut = self._cut(match[0])
            if cut is not None and (new := self._replaced(text, match, cut, to)) is not None:
                yield *match.span(), new

    def _add(self, words: tuple[str, ...]) -> None:
        """Make a tuple known in three ways of writing; one that reads like another word (I: also I) is left out."""
        capitals = tuple(word[:1].upper() + word[1:] for word in words)
        spellings = dict.fromkeys((words, capitals, tuple(word.upper() for word in words)))
        roles = frozenset.intersection(*(frozenset(_ROLES.get(word, ())) for word in words))
        taken: set[str] = set()
        for spelling in spellings:
            meant = zip(spelling, words, strict=True)
            if taken.isdisjoint(spelling) and all(self._meant.get(spelt, word) == word for spelt, word in meant):
                taken |= set(spelling)
                self._meant |= dict(zip(spelling, words, strict=True))
                for kind, word in enumerate(spelling):
                    self._members.setdefault(word, []).append((len(self._words), kind))
                self._words.append(spelling)
                self._roles.append(roles)

    def _replaced(self, text: str, match: re.Match[str], cut: Cut, to: Sequence[int]) -> str | None:
        """What becomes of a chunk of the text; None if it stays."""
        before, word, after = cut
        number, kind = self._member(word, not after and _before_noun(text, match.end()))
        versions = [(before, counterpart, after) for counterpart in self._words[number]]
        periods = {"".join(version).endswith(".") for version in versions}
        if len(periods) > 1 and _JOINS.match(text, match.end()):
            return None  # a period would come or go beside a letter or another period
        if not all(self._readable(version) for version in versions):
            return None  # one of the counterparts would be read as other words: this one would not be found again
        return "".join(versions[to[kind]])

    def _member(self, word: str, before_noun: bool) -> Member:
        """The tuple that a word is taken from, and its class."""
        candidates = self._members[word]
        if len(candidates) > 1 and any(self._roles[number] for number, _ in candidates):
            fitting = [
                candidate for candidate in candidates if (_DETERMINER in self._roles[candidate[0]]) == before_noun
            ]
            return (fitting or candidates)[0]
        return candidates[0]

    def _readable(self, version: Cut) -> bool:
        chunk = "".join(version)
        return self._cut(chunk) == version and _CHUNK.fullmatch(chunk) is not None

    def _cut_anew(self, chunk: str) -> Cut | None:
        """The listed word of a chunk, between what is before and after it."""
        if length := self._listed(chunk):
            return "", chunk[:length], chunk[length:]
        tail = _HEAD_FIRST.search(chunk)
        stem = chunk[: tail.start()] if tail else chunk
        head = stem.rfind("-") + 1
        length = self._listed(stem[head:]) if head or tail else 0
        return (chunk[:head], chunk[head : head + length], chunk[head + length :]) if length else None

    def _listed(self, chunk: str) -> int:
        """The length of the listed word that the chunk begins with: all of it, or all before a period or apostrophe."""
        ends = [len(chunk), *(at for at in range(len(chunk) - 1, 0, -1) if chunk[at] in ".'’")]
        return next((end for end in ends if chunk[:end] in self._members), 0)


class ReleasedSwapper:
    """Swaps as the released program of bias-bench does (`compat=released`).

    Words are what stands between spaces, spelled exactly as listed (lower-case, as an uncased model's decoder writes
    them), also with one of . , ? ! ; : attached; of several tuples the last one wins (her → his). Spaces become single.
    """

    def __init__(self, tuples: Tuples) -> None:
        self.classes = len(tuples[0])
        self._by_word: dict[str, tuple[Sequence[str], int, str]] = {}
        for mark in ("", *PUNCTUATION):
            for words in tuples:
                for kind, word in enumerate(words):
                    self._by_word[word + mark] = words, kind, mark

    def has_word(self, text: str) -> bool:
        return not self._by_word.keys().isdisjoint(text.split())

    def swapped(self, text: str, to: Sequence[int]) -> str:
        return " ".join(self._counterpart(word, to) for word in text.split())

    def _counterpart(self, word: str, to: Sequence[int]) -> str:
        if word not in self._by_word:
            return word
        words, kind, mark = self._by_word[word]
        return words[to[kind]] + mark


def _before_noun(text: str, end: int) -> bool:
    """Whether a possessive may stand here: a word follows, and it is neither in the list above nor an adverb in -ly."""
    following = _NEXT_WORD.match(text, end)
    if following is None:
        return False
    word = following[1].lower()
    return word not in _NO_POSSESSIONS and (not word.endswith("ly") or word in _NO_ADVERBS)


METHOD = DebiasMethod(
    "cda",
    "CDA",
    "train further with masks, on text and on copies with attribute words swapped",
    "Zmigrod et al. 2019, Webster et al. 2020; defaults are those of bias-bench (Meade et al. 2022)",
    CdaSettings,
    lambda job: Cda(job).run(),
    stands_for="CDA (counterfactual data augmentation)",
)
