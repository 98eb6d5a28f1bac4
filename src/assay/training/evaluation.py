"""Evaluating a model on a task's own data: SQuAD's EM and F1, accuracy, perplexity.

The model is loaded as audits load it, from its folder, and asked in the engine's batches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.engine.executor import Settings as Engine
from assay.engine.executor import forward_all
from assay.engine.progress import Progress, Silent
from assay.models.base import BatchTooLargeError, ModelSpec
from assay.models.hf import load
from assay.models.hf_files import libraries
from assay.models.hf_load import has_types, load_weights
from assay.models.padding import Padded, padded
from assay.models.tokenise import Tokeniser
from assay.queries import Tokens
from assay.training.choice_data import ChoiceData, read_choice_data
from assay.training.encode_choice import Choices, encode_choice
from assay.training.encode_span import Windows, encode_span
from assay.training.encode_text import Blocks, encode_text
from assay.training.features import IGNORED, Masking
from assay.training.files import digests_of, summary_of
from assay.training.scores import Scores, exact_match, mean_estimate, perplexity_estimate, token_f1
from assay.training.settings import Kind, Settings
from assay.training.span_data import SpanData, read_span_data
from assay.training.text_data import lines_of, text_files

LONGEST_ANSWER = 30
"""Tokens of an answer, as in the field's programs for SQuAD."""

_ROWS = 2048  # asked between two signs of progress

Array = NDArray[Any]


@dataclass(frozen=True)
class SpanTest:
    """Questions and their windows, all of them. `answer_windows`: score windows that hold the answer apart as well."""

    data: SpanData
    windows: Windows
    answer_windows: bool


@dataclass(frozen=True)
class ChoiceTest:
    data: ChoiceData
    choices: Choices


@dataclass(frozen=True)
class MaskTest:
    """Blocks with tokens hidden once and for all, and the tokens that were hidden (IGNORED elsewhere)."""

    digests: dict[str, str]
    blocks: Blocks
    hidden: Tokens
    labels: Tokens


Test = SpanTest | ChoiceTest | MaskTest


def read_test(kind: Kind, path: Path, tokenizer: Any, name: str, settings: Settings, seed: int, known: int) -> Test:
    """Read and encode data to evaluate on; `known` is the number of tokens that the model knows."""
    if kind == "span":
        data = read_span_data(path)
        windows = encode_span(tokenizer, name, data, window=settings.window, stride=settings.stride)
        return SpanTest(data, windows, settings.windows == "answer")
    if kind == "choice":
        questions = read_choice_data(path, "dev")
        return ChoiceTest(questions, encode_choice(tokenizer, name, questions, length=settings.length))
    blocks = encode_text(tokenizer, lines_of(path)(), length=settings.length, apart=settings.blocks == "apart")
    hidden, labels = _hidden(blocks.features.tokens, masking_of(tokenizer, settings, known), seed)
    return MaskTest(digests_of(path, text_files(path)), blocks, hidden, labels)


def masking_of(tokenizer: Any, settings: Settings, known: int) -> Masking:
    """How to hide tokens of this tokenizer's vocabulary, as far as the model knows them."""
    special = tuple(sorted(set(tokenizer.all_special_ids)))
    return Masking(settings.masking, tokenizer.mask_token_id, min(len(tokenizer), known), special)


def score(test: Test, spec: ModelSpec, *, seed: int = 0, progress: Progress | None = None) -> Scores:
    """How a model does on the data."""
    ask = _Asker(spec, progress or Silent())
    if isinstance(test, SpanTest):
        return _span_scores(test, ask, seed)
    if isinstance(test, ChoiceTest):
        return _choice_scores(test, ask, seed)
    return _mask_scores(test, ask, seed)


class _Asker:
    """A model in the engine's batches; `answer` says what a batch's answers are."""

    def __init__(self, spec: ModelSpec, progress: Progress) -> None:
        self.spec = spec
        self.transformers, self.torch = libraries()
        self._progress = progress

    def load(self) -> None:
        """The network with the head that was trained, and what it needs of its tokenizer."""
        self.network = load_weights(self.spec)
        tokenizer = self.transformers.AutoTokenizer.from_pretrained(self.spec.place, local_files_only=True)
        self.pad = tokenizer.pad_token_id or 0
        self.typed = Tokeniser(tokenizer).typed and has_types(self.network.config)

    def ask(self, tokens: Tokens, answer: Callable[[Tokens], dict[str, Array]]) -> dict[str, Array]:
        return self.ask_model(tokens, _Answering(self.spec, answer, self.torch))

    def ask_model(self, tokens: Tokens, model: Any) -> dict[str, Array]:
        budget, parts = Engine().budget_for(self.spec), []
        self._progress.start("evaluating", len(tokens), "rows")
        for lo in range(0, len(tokens), _ROWS):
            rows = np.arange(lo, min(lo + _ROWS, len(tokens)))
            answers, budget = forward_all(model, tokens.take(rows), budget)
            parts.append(answers.arrays)
            self._progress.advance(len(rows))
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def outputs(self, rows: Padded) -> Any:
        arrays = {"input_ids": rows.ids}
        if not rows.there.all():
            arrays["attention_mask"] = rows.there
        if self.typed:
            arrays["token_type_ids"] = rows.types
        tensors = {name: self.torch.from_numpy(values).to(self.spec.device) for name, values in arrays.items()}
        return self.network(**tensors)

    def tensor(self, values: Array) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(values)).to(self.spec.device)


@dataclass(frozen=True)
class _Answering:
    """A function as the engine's model: without gradients, and memory that runs out as the engine knows it."""

    spec: ModelSpec
    answer: Callable[[Tokens], dict[str, Array]]
    torch: Any

    def forward(self, tokens: Tokens) -> dict[str, Array]:
        with self.torch.inference_mode():
            try:
                return self.answer(tokens)
            except (MemoryError, self.torch.OutOfMemoryError) as error:
                self.torch.cuda.empty_cache()
                raise BatchTooLargeError(str(error)) from error


def _span_scores(test: SpanTest, ask: _Asker, seed: int) -> Scores:
    ask.load()
    windows, examples = test.windows, test.data.examples
    found = ask.ask(windows.features.tokens, lambda tokens: best_spans(ask, tokens))
    asked = np.unique(windows.example)
    units = np.array([examples[at].passage for at in asked.tolist()], np.int64)
    answerable = np.array([examples[at].start is not None for at in asked.tolist()])
    holds = windows.features.tokens.marks["holds"].astype(bool) | ~answerable[np.searchsorted(asked, windows.example)]
    kinds = {"": np.ones(len(holds), bool)} | ({"answer": holds} if test.answer_windows else {})
    estimates = []
    for kind, counted in kinds.items():
        given = _predictions(test, found, counted)
        right = [examples[at].answers for at in asked.tolist()]
        texts = [given.get(at, "") for at in asked.tolist()]
        for metric, rule in {"em": exact_match, "f1": token_f1}.items():
            values = np.array([rule(text, each) for text, each in zip(texts, right, strict=True)])
            group = {"windows": kind} if kind else {}
            estimates.append(mean_estimate(metric, group, values, units, seed=seed))
            if test.data.has_unanswerable and not kind:
                for name, part in {"answerable": answerable, "unanswerable": ~answerable}.items():
                    estimates.append(mean_estimate(metric, {"questions": name}, values[part], units[part], seed=seed))
    notes = []
    if test.answer_windows:
        notes.append("windows=answer: scored on windows that hold the answer only, as UnQover A.1; an upper bound")
    if left := test.data.left_out + windows.left_out:
        notes.append(f"{left:,} questions were left out: their answer is not where the file says")
    return Scores(summary_of(test.data.digests), "passage", len(np.unique(units)), tuple(estimates), tuple(notes))


def best_spans(ask: _Asker, tokens: Tokens) -> dict[str, Array]:
    """The best span of every window: the greatest sum of start and end logits, at most LONGEST_ANSWER tokens long.

    `null` is the sum at the first token, which stands for "no answer".
    """
    torch = ask.torch
    rows = padded(tokens, ask.pad)
    outputs = ask.outputs(rows)
    start, end = outputs.start_logits.float(), outputs.end_logits.float()  # (window, position)
    place = torch.arange(start.shape[1], device=start.device)
    second, behind = (ask.tensor(tokens.marks[name])[:, None] for name in ("second", "behind"))
    inside = (place >= second) & (place < behind)
    null = start[:, 0] + end[:, 0]
    start, end = (each.masked_fill(~inside, -torch.inf) for each in (start, end))
    best = torch.full_like(null, -torch.inf)
    first, last = torch.zeros_like(null, dtype=torch.long), torch.zeros_like(null, dtype=torch.long)
    for more in range(min(LONGEST_ANSWER, start.shape[1])):
        sums, at = (start[:, : start.shape[1] - more] + end[:, more:]).max(1)
        better = sums > best
        best = torch.where(better, sums, best)
        first, last = torch.where(better, at, first), torch.where(better, at + more, last)
    found = {"score": best, "null": null, "first": first, "last": last}
    return {name: values.cpu().numpy() for name, values in found.items()}


def _predictions(test: SpanTest, found: dict[str, Array], counted: NDArray[np.bool_]) -> dict[int, str]:
    """The answer to every question: its best window's span; none where pointing nowhere scores higher (v2 only)."""
    windows, data = test.windows, test.data
    given: dict[int, str] = {}
    best: dict[int, float] = {}
    null: dict[int, float] = {}
    second = windows.features.tokens.marks["second"]
    for row in np.flatnonzero(counted).tolist():
        at, value = int(windows.example[row]), float(found["score"][row])
        null[at] = min(null.get(at, np.inf), float(found["null"][row]))
        if value > best.get(at, -np.inf):
            best[at] = value
            passage = windows.passages[data.examples[at].passage]
            shift = int(windows.first[row]) - int(second[row])
            start, end = (int(found[name][row]) + shift for name in ("first", "last"))
            given[at] = data.passages[data.examples[at].passage][passage.start[start] : passage.end[end]].strip()
    if data.has_unanswerable:
        given |= {at: "" for at in given if null[at] > best[at]}
    return given


def _choice_scores(test: ChoiceTest, ask: _Asker, seed: int) -> Scores:
    choices = test.choices
    logits = ask.ask_model(choices.features.tokens, load(ask.spec))["score"]  # (row, option)
    right = logits.argmax(1) == choices.features.labels["labels"]
    units = np.array(test.data.contexts, np.int64)[choices.rows]
    accuracy = mean_estimate("accuracy", {}, right, units, seed=seed, floor=1 / test.data.options)
    notes = list(test.data.notes)
    notes += [f"{choices.left_out:,} questions were left out: they are too long"] if choices.left_out else []
    notes += [f"{choices.cut:,} contexts were cut at their end"] if choices.cut else []
    return Scores(summary_of(test.data.digests), "context", len(np.unique(units)), (accuracy,), tuple(notes))


def _mask_scores(test: MaskTest, ask: _Asker, seed: int) -> Scores:
    ask.load()
    torch = ask.torch

    def losses(tokens: Tokens) -> dict[str, Array]:
        labels = padded(test.labels.take(tokens.marks["row"]), IGNORED).ids
        places = ask.tensor(labels) != IGNORED  # (block, position)
        logits = ask.outputs(padded(tokens, ask.pad)).logits[places].float()  # (label, token)
        each = torch.nn.functional.cross_entropy(logits, ask.tensor(labels)[places], reduction="none").double()
        sums = torch.zeros(len(labels), dtype=torch.float64, device=each.device)
        sums.index_add_(0, places.nonzero()[:, 0], each)
        return {"loss": sums.cpu().numpy(), "count": places.sum(1).cpu().numpy()}

    found = ask.ask(test.hidden, losses)
    units = np.arange(len(test.hidden))
    estimate = perplexity_estimate(found["loss"], found["count"].astype(np.float64), units, seed=seed)
    return Scores(summary_of(test.digests), "block", len(units), (estimate,))


def _hidden(tokens: Tokens, masking: Masking, seed: int) -> tuple[Tokens, Tokens]:
    """Rows with tokens hidden, each by its own random numbers, and the labels laid out alike."""
    ids, labels = [], []
    for row in range(len(tokens)):
        one = padded(tokens.take(np.array([row])), 0)
        changed, label = masking.apply(one, np.random.default_rng([seed, row]))
        ids.append(changed[0])
        labels.append(label[0])
    marks = {"row": np.arange(len(tokens))}
    hidden, wanted = (np.concatenate(each).astype(np.int32) for each in (ids, labels))
    return (
        Tokens("mask", hidden, tokens.offsets, tokens.second, marks),
        Tokens("mask", wanted, tokens.offsets, tokens.second),
    )
