"""CDA (counterfactual data augmentation): masked training on text and on copies of it with attribute words swapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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
from assay.lab.debiasing.swapping import ReleasedSwapper, Swapper, drawn
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
        return AugmentedTexts(self.corpus, self.attribute, loaded.tokenizer, room, swapper, job.seed, job.progress)


@dataclass
class AugmentedTexts:
    """CDA's stream of texts: every block of the corpus that has an attribute word, its counterfactual copy before it.

    room: tokens of a block, without the model's own around it. seed: for tuples of more than two words, where each
    class of each block draws one of the others. The stream is the same each time that it is called for.
    """

    corpus: Corpus
    attribute: AttributeWords
    tokenizer: Any
    room: int
    swapper: Swapper | ReleasedSwapper
    seed: int
    progress: Progress

    def __call__(self) -> Iterator[str]:
        pairs, any_yet = self._pairs(), False
        while chunk := list(islice(pairs, _AT_ONCE)):
            any_yet = True
            yield from clipped([text for pair in chunk for text in pair], self.tokenizer, self.room)
        if not any_yet:
            raise _no_words(self.corpus, self.attribute)

    def _pairs(self) -> Iterator[tuple[str, str]]:
        cut = decoded_blocks if isinstance(self.swapper, ReleasedSwapper) else blocks_of
        blocks = cut(self.corpus.texts(self.progress), self.tokenizer, self.room)
        for number, block in enumerate(blocks):
            if self.swapper.has_word(block):
                to = drawn(self.swapper.classes, Random(f"{self.seed} {number}"))
                yield self.swapper.swapped(block, to), block


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


METHOD = DebiasMethod(
    "cda",
    "CDA",
    "train further with masks, on text and on copies with attribute words swapped",
    "Zmigrod et al. 2019, Webster et al. 2020; defaults are those of bias-bench (Meade et al. 2022)",
    CdaSettings,
    lambda job: Cda(job).run(),
    stands_for="CDA (counterfactual data augmentation)",
)
