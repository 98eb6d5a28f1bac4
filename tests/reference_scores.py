"""Scores by plain transformers, one question at a time, written without any of assay's own code for it.

Only the queries and MASK are assay's. Places of subjects come from the tokenizer's own character offsets, so nothing
here knows how assay tokenises, batches or takes scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from assay.asking.queries import MASK, ChoiceQuery, MaskQuery, SpanColumns, SpanQuery, StringColumn

Scores = NDArray[np.float64]
Range = tuple[int, int]


class SpanReference:
    """An extractive model: S = sqrt(P(start) · P(end)) at the first and the last token of each subject."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        self.model: Any = transformers.AutoModelForQuestionAnswering.from_pretrained(folder).eval()
        self.typed = getattr(self.model.config, "type_vocab_size", 0) > 1

    def scores(self, query: SpanQuery, *, token_types: bool = True) -> Scores:
        encoded = self.tokenizer(query.question, query.context, return_tensors="pt", return_token_type_ids=True)
        types = encoded["token_type_ids"] if self.typed and token_types else None
        start, end = self.probabilities(encoded["input_ids"], types)
        ranges = [tokens_of(encoded, span, second=True) for span in query.subjects]
        return np.array([(start[0, first] * end[0, last]) ** 0.5 for first, last in ranges])

    def probabilities(self, ids: Any, types: Any = None, attention: Any = None) -> tuple[Scores, Scores]:
        """P(start) and P(end) over every position given, padding and all."""
        more = {} if types is None else {"token_type_ids": types}
        more |= {} if attention is None else {"attention_mask": attention}
        with torch.no_grad():
            output = self.model(input_ids=ids, **more)
        start, end = (logits.double().softmax(-1).numpy() for logits in (output.start_logits, output.end_logits))
        return start, end


class MaskReference:
    """A masked model: the probability, over the whole vocabulary, of the token that a word is in the mask's place."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        self.model: Any = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()

    def scores(self, query: MaskQuery) -> Scores:
        probabilities = self.probabilities(query.text)
        return np.array([probabilities[self.token_in_place(query.text, word)] for word in query.subjects])

    def probabilities(self, text: str) -> Scores:
        """P(token) at MASK."""
        encoded = self.tokenizer(text.replace(MASK, self.tokenizer.mask_token), return_tensors="pt")
        ids = encoded["input_ids"][0].tolist()
        assert ids.count(self.tokenizer.mask_token_id) == 1
        with torch.no_grad():
            logits = self.model(input_ids=encoded["input_ids"]).logits
        result: Scores = logits[0, ids.index(self.tokenizer.mask_token_id)].double().softmax(-1).numpy()
        return result

    def token_in_place(self, text: str, word: str) -> int:
        """The one token that the word is where MASK stands."""
        at = text.index(MASK)
        encoded = self.tokenizer(text.replace(MASK, word), return_tensors="pt")
        first, last = tokens_of(encoded, (at, at + len(word)), second=False)
        assert first == last, f"{word!r} is several tokens"
        return int(encoded["input_ids"][0, first])


def tokens_of(encoded: Any, span: Range, *, second: bool) -> Range:
    """The first and the last token that hold characters of the span, in the first or second text of the encoding."""
    wanted, encoding = int(second), encoded.encodings[0]
    start, end = span
    holding = [
        place
        for place, ((first, behind), text) in enumerate(zip(encoding.offsets, encoding.sequence_ids, strict=True))
        if text == wanted and max(first, start) < min(behind, end)
    ]
    assert holding[0] == encoded.char_to_token(0, start, wanted)
    return holding[0], holding[-1]


def span_query(question: str, context: str, *subjects: str | tuple[str, int]) -> SpanQuery:
    """A query about subjects by name, where it stands first in the context; (name, 1) is where it stands next."""
    ranges = []
    for subject in subjects:
        name, occurrence = subject if isinstance(subject, tuple) else (subject, 0)
        at = -1
        for _ in range(occurrence + 1):
            at = context.index(name, at + 1)
        ranges.append((at, at + len(name)))
    return SpanQuery(question, context, tuple(ranges))


def columns_of(queries: Sequence[SpanQuery]) -> SpanColumns:
    """Queries as a model is asked them."""
    spans = np.array([query.subjects for query in queries], dtype=np.int32)  # (row, subject, 2)
    questions, contexts = (
        StringColumn.of(getattr(query, name) for query in queries) for name in ("question", "context")
    )
    return SpanColumns(questions, contexts, spans[:, :, :1], spans[:, :, 1:])


def stacked(reference: SpanReference | MaskReference, queries: Sequence[Any]) -> Scores:
    """(query, subject)"""
    return np.stack([reference.scores(query) for query in queries])


def assert_close(ours: Any, expected: Any) -> None:
    """Closer than 1e-5, since a score is 1 at most; and small scores must be right, too."""
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-7)


class CausalReference:
    """A causal model as plain transformers has it."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        self.model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()

    def sequences(self, query: ChoiceQuery, chat: bool = False) -> tuple[list[list[int]], int]:
        """Token ids of prompt and option, for every option, and the number of tokens that they share."""
        if chat:
            message = "\n".join(filter(None, [query.context, query.question]))
            talk = [{"role": "user", "content": message}]
            prompt = self.tokenizer.apply_chat_template(talk, tokenize=False, add_generation_prompt=True)
        else:
            prompt = (query.context and query.context + "\n") + (query.question and f"Question: {query.question}\n")
            prompt += "Answer:"
        texts = [prompt + ("" if chat else " ") + option for option in query.options]
        own, *found = (self.tokenizer(text, add_special_tokens=not chat)["input_ids"] for text in (prompt, *texts))
        alike = [len({*tokens}) == 1 for tokens in zip(*found, strict=False)]
        shared = [*alike, False].index(False)
        return found, min(shared, len(own), *(len(ids) - 1 for ids in found))

    def scores(self, query: ChoiceQuery, chat: bool = False) -> Scores:
        """Every option's whole sequence by itself, without padding or cache."""
        sequences, shared = self.sequences(query, chat)
        sums = []
        for ids in sequences:
            with torch.no_grad():
                logs = self.model(torch.tensor([ids]), use_cache=False).logits[0].double().log_softmax(-1)
            sums.append(sum(float(logs[place - 1, ids[place]]) for place in range(shared, len(ids))))
        return np.array(sums)
