"""Models that choose among options: their data, their questions as tokens, and their accuracy.

The data are RACE's folders of articles, and Social IQa's JSON lines with their labels. Questions are encoded by the
encoder of audits: training and audit agree because they share it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import ChoiceColumns, ChoiceQuery
from assay.asking.tokens import Tokens, option_rows, starts_of
from assay.config.settings import setting
from assay.errors import DataError
from assay.files.decoding import whole_number
from assay.files.opening import PACKED, open_text
from assay.files.rows import BadRows, read_rows
from assay.lab.training.batches import Features, joined
from assay.lab.training.data_files import FileLocation, Texts, digests_of, existing, json_of, plain_suffix, summary_of
from assay.lab.training.scores import TaskScores, TrainedModelAsk, mean_estimate
from assay.lab.training.training_kind import EvaluationData, TrainingData, TrainingKind, TrainingSettings
from assay.models.encode_columns import Encoder
from assay.models.hf import load

_CHUNK = 4096
_NO_LIMIT = 10**9


@dataclass(frozen=True)
class ChoiceSettings(TrainingSettings):
    length: int = setting(512, "the most tokens per sequence", least=8)


class ChoiceTraining(TrainingKind[ChoiceSettings]):
    name = "choice"
    does = "answers multiple-choice questions about a context"
    reads = (
        "RACE's folder of articles (train/, and dev/ for --eval);",
        'Social IQa\'s .jsonl beside its -labels.lst, or with "correct" in every row',
    )
    head = "MultipleChoice"
    pipeline = "multiple-choice"
    settings = ChoiceSettings

    def task(self, data: Path | Texts, tokenizer: Any, name: str, settings: ChoiceSettings) -> TrainingData:
        questions = read_choice_data(self.path(data))
        choices = encode_choice(tokenizer, name, questions, length=settings.length)
        counts = {
            "questions": len(choices.rows),
            "contexts": len(set(questions.contexts)),
            "options": questions.options,
            "contexts_cut": choices.cut,
            "questions_left_out": choices.left_out,
        }
        return TrainingData(choices.features, summary_of(questions.digests), counts, questions.notes)

    def test(
        self, path: Path, tokenizer: Any, name: str, settings: ChoiceSettings, seed: int, n_tokens: int
    ) -> EncodedChoices:
        return encode_choice(tokenizer, name, read_choice_data(path, "dev"), length=settings.length)


@dataclass(frozen=True)
class EncodedChoices(EvaluationData):
    """Rows of options and the right one's number; which questions they are, and how many contexts were cut."""

    data: ChoiceData
    features: Features
    rows: NDArray[np.int64]  # (row,): the question's number in its file
    cut: int
    left_out: int

    def scores(self, ask: TrainedModelAsk, seed: int) -> TaskScores:
        logits = ask.ask_model(self.features.tokens, load(ask.spec))["score"]  # (row, option)
        right = logits.argmax(1) == self.features.labels["labels"]
        units = np.array(self.data.contexts, np.int64)[self.rows]
        accuracy = mean_estimate("accuracy", {}, right, units, seed=seed, floor=1 / self.data.options)
        notes = list(self.data.notes)
        notes += [f"{self.left_out:,} questions were left out because they are too long"] if self.left_out else []
        notes += [f"{self.cut:,} contexts were truncated"] if self.cut else []
        return TaskScores(summary_of(self.data.digests), "context", len(np.unique(units)), (accuracy,), tuple(notes))


def encode_choice(tokenizer: Any, name: str, data: ChoiceData, *, length: int) -> EncodedChoices:
    """Each option's sequence: the context, then question + blank + option (`queries.ChoiceColumns`).

    If one is longer than `length`, the context's end is cut off, equally for all options of the question; a question
    whose other parts alone are longer is left out and counted. Audits never cut: they refuse a text that is too long.
    """
    encoder = Encoder(tokenizer, _NO_LIMIT, name)
    layout = encoder.tokeniser.pair
    parts, fits, cut = [], [], 0
    for lo in range(0, len(data.queries), _CHUNK):
        tokens = encoder.encode(ChoiceColumns.of(data.queries[lo : lo + _CHUNK]))
        excess = np.maximum(np.diff(tokens.marks["parts"], axis=1).max(1) - length, 0)  # (row,)
        context = tokens.second - len(layout.before) - len(layout.between)  # tokens of it that may go
        fitting = np.flatnonzero(excess < context)
        cut += int((excess[fitting] > 0).sum())
        fits.append(lo + fitting)
        if len(fitting):
            parts.append(_shortened(tokens.take(fitting), excess[fitting], len(layout.between)))
    rows = np.concatenate(fits)
    if not len(rows):
        remedy = "Increase the length with --set length=…, or choose another base."
        raise DataError(f"no question fits into {length} tokens.", remedy, code="too-long", key="length")
    labels = {"labels": np.array(data.labels, np.int64)[rows]}
    return EncodedChoices(data, Features(joined(parts), labels), rows, cut, len(data.queries) - len(rows))


def _shortened(tokens: Tokens, excess: NDArray[np.int64], between: int) -> Tokens:
    """Without so many tokens at the end of each row's context, in all its options."""
    if not excess.any():
        return tokens
    flat, options = option_rows(tokens), tokens.marks["parts"].shape[1] - 1
    gone = excess.repeat(options)  # (sequence,)
    behind = flat.offsets[:-1] + flat.second - between  # where the context of each sequence has ended
    edges = np.zeros(len(flat.ids) + 1, np.int64)
    np.add.at(edges, behind - gone, 1)
    np.add.at(edges, behind, -1)
    lengths = (flat.lengths - gone).reshape(-1, options)  # (row, option)
    starts = np.concatenate([np.zeros((len(lengths), 1), np.int64), lengths.cumsum(1)], 1)
    return Tokens(
        tokens.ability,
        flat.ids[np.cumsum(edges[:-1]) == 0],
        starts_of(lengths.sum(1)),
        (tokens.second - excess).astype(np.int32),
        {"parts": starts.astype(np.int32)},
        tokens.scoring,
    )


# --- the data


Part = Literal["train", "dev"]

_PARTS = ("train", "dev", "test")  # RACE's, each a folder with middle/ and high/
_LETTERS = "ABCDEFGH"
_EXPECTED = (
    "A folder of RACE (middle/*.txt, high/*.txt) or a file of Social IQa (train.jsonl beside train-labels.lst, or rows "
    'with "correct") is expected.'
)


@dataclass
class ChoiceData:
    """Questions with as many options each, the number of the right one, and which of them share a context."""

    queries: list[ChoiceQuery] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    contexts: list[int] = field(default_factory=list)  # the number of the question's context among all
    digests: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def options(self) -> int:
        return len(self.queries[0].options)


Read = tuple[ChoiceQuery, int, FileLocation]


def read_choice_data(path: Path, part: Part = "train") -> ChoiceData:
    """Read RACE's folder or Social IQa's file; of a folder with several parts the `part` that is wanted."""
    if existing(path).is_dir():
        articles = sorted(file for file in path.rglob("*.txt") if not file.name.startswith("."))
        rows = sorted(file for file in path.glob(f"*{part}.jsonl*") if plain_suffix(file) == ".jsonl")
        if articles:
            return _race_folder(path, articles, part)
        if len(rows) != 1:
            got, code = ("several", "duplicate") if rows else ("neither RACE's articles nor", "empty-file")
            raise DataError(f"there are {got} {part}.jsonl in this folder.", _EXPECTED, file=path, code=code)
        path = rows[0]
    if plain_suffix(path) == ".txt":
        return _collected(path, [path], _race([path]))
    labels = labels_file(path)
    return _collected(path.parent, [path, *([labels] if labels else [])], _social_iqa(path, labels))


def labels_file(path: Path) -> Path | None:
    """The labels of Social IQa lie beside its questions: train-labels.lst beside train.jsonl."""
    beside = (path.with_name(f"{_stem(path)}-labels.lst{packed}") for packed in ("", *PACKED))
    return next((file for file in beside if file.is_file()), None)


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".xz").removesuffix(".jsonl")


def _collected(root: Path, files: list[Path], read: Iterator[Read], notes: tuple[str, ...] = ()) -> ChoiceData:
    data, contexts = ChoiceData(notes=notes), dict[str, int]()
    for query, label, location in read:
        if data.queries and len(query.options) != data.options:
            problem = f"this question has {len(query.options)} options, the ones before it have {data.options}."
            remedy = "All questions must have the same number: train on them separately."
            raise DataError(problem, remedy, file=location.file, line=location.line, code="bad-row")
        data.queries.append(query)
        data.labels.append(label)
        data.contexts.append(contexts.setdefault(query.context, len(contexts)))
    if not data.queries:
        named = files[0] if len(files) < 3 else root
        raise DataError("there are no questions in it.", _EXPECTED, file=named, code="empty-file")
    data.digests = digests_of(root, files)
    return data


def _race_folder(path: Path, articles: list[Path], part: Part) -> ChoiceData:
    """All articles of a folder; where they lie in several of RACE's parts, those of one."""
    parts = sorted({article.relative_to(path).parts[0] for article in articles}.intersection(_PARTS))
    if len(parts) < 2:
        return _collected(path, articles, _race(articles))
    others = ", ".join(f"{name}/" for name in parts if name != part)
    if part not in parts:
        problem = f"this folder has no {part}/ with articles, only {others}."
        remedy = f"Name the part to use, for example {path / parts[0]}."
        raise DataError(problem, remedy, file=path, code="missing-file")
    root = path / part
    chosen = [article for article in articles if article.is_relative_to(root)]
    return _collected(root, chosen, _race(chosen), (f"only {part}/ of the folder was read, not {others}",))


def _race(files: list[Path]) -> Iterator[Read]:
    for path in files:
        row, location = json_of(path, _EXPECTED), FileLocation(path)
        if not isinstance(row, dict):
            raise location.error("expected a JSON object.", _EXPECTED, code="bad-json")
        article = location.text(row.get("article"), "article")
        lists = [row[key] for key in ("questions", "options", "answers") if isinstance(row.get(key), list)]
        if len(lists) != 3 or len({len(each) for each in lists}) != 1:
            problem = '"questions", "options" and "answers" must be lists of one length.'
            raise location.error(problem, "Download the file again.", code="bad-row")
        for at, (question, options, answer) in enumerate(zip(*lists, strict=True)):
            inside = location.inside(f"question {at}")
            query = _query(article, question, options, inside)
            yield query, _letter(answer, len(query.options), inside), inside


def _social_iqa(path: Path, beside: Path | None) -> Iterator[Read]:
    """Rows with their labels from the file beside them, or without one from "correct"."""
    labels, count = [], 0
    if beside is not None:
        with open_text(beside) as file:
            labels = [line.strip() for line in file if line.strip()]
    for count, (line, row) in enumerate(read_rows(path, BadRows(skip=False)), 1):
        location = FileLocation(path, line)
        options = [row[key] for letter in _LETTERS if (key := f"answer{letter}") in row]
        query = _query(row.get("context"), row.get("question"), options, location)
        if beside is None:
            if "correct" not in row:
                remedy = f"Put the labels beside it as {_stem(path)}-labels.lst, one number a line, or "
                remedy += 'give every row "correct": "A".'
                raise location.error("this row has no label.", remedy, code="missing-key", key="correct")
            label = _letter(row["correct"], len(options), location)
        elif count > len(labels):
            break
        else:
            label = _number(labels[count - 1], len(options), FileLocation(beside, count))
        yield query, label, location
    if beside is not None and count != len(labels):
        problem = f"there are {len(labels):,} labels, but {path.name} has a different number of questions."
        remedy = "Download both files again: line n of one belongs to line n of the other."
        raise FileLocation(beside).error(problem, remedy, code="bad-label")


def _query(context: Any, question: Any, options: Any, location: FileLocation) -> ChoiceQuery:
    if not isinstance(options, list) or len(options) < 2:
        raise location.error("at least two options are expected.", _EXPECTED, code="bad-row")
    texts = tuple(location.text(option, "an option") for option in options)
    return ChoiceQuery(location.text(context, "context"), location.text(question, "question"), texts)


def _letter(answer: Any, options: int, location: FileLocation) -> int:
    letters = _LETTERS[:options]
    if not isinstance(answer, str) or len(answer) != 1 or answer not in letters:
        problem = f"the right answer is {answer!r}, expected one of {', '.join(letters)}."
        raise location.error(problem, "Fix the label.", code="bad-label")
    return letters.index(answer)


def _number(text: str, options: int, location: FileLocation) -> int:
    number = whole_number(text)
    if number is None or not 1 <= number <= options:
        problem = f"the label is {text[:60]!r}, expected a number from 1 to {options}."
        raise location.error(problem, "Fix the label.", code="bad-label")
    return number - 1
