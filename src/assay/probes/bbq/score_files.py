"""Scores existing answers to BBQ's questions, from files; no model is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.answers import TIED, UNPARSED, parse_answer, parse_released
from assay.errors import AssayError, DataError, UsageError
from assay.files.decoding import whole_number
from assay.files.rows import BadRows, Row, Selection, read_rows
from assay.languages import language
from assay.probes.base import Request
from assay.probes.bbq.answer_columns import Column, note_on_gold, numbered
from assay.probes.bbq.choose_examples import PartAnswers
from assay.probes.bbq.defects import DROP
from assay.probes.bbq.editions import ORIGINAL, Edition, EditionRow, language_of, load_edition
from assay.probes.bbq.items import AMBIGUOUS, CATEGORIES, Dataset, Item
from assay.probes.bbq.logs import log_kind, model_of, read_log
from assay.probes.bbq.logs.log_rows import LoggedAnswer, Official
from assay.probes.bbq.published_rows import note_on_files, notes_on_rows
from assay.probes.bbq.read_items import beside, data_files, example_of, read_examples
from assay.probes.bbq.settings import BBQSettings
from assay.probes.bbq.source import dataset_of, dataset_of_rows, sound_rows
from assay.probes.bbq.tallies import AnsweredItems
from assay.probes.bbq.targets import (
    read_by_options,
    read_metadata,
    template_attributes,
    template_stereotypes,
)

_SHOWN = 3
"""How many answers that were not understood are quoted in the notes."""

ItemAnswers = tuple[LoggedAnswer, ...]
"""The answers to an item, one for each column of answers."""


def answered_files(
    files: Sequence[Path], settings: BBQSettings, request: Request, answers: str | None
) -> tuple[PartAnswers, list[str]]:
    """The answers in files, and notes for the reader.

    A file is a table of the set's rows with a column of answers (JSON lines or CSV, plain or compressed; text, letters
    or the option's number), or, for BBQ itself, a log of lm-evaluation-harness or Inspect. With several columns, each
    has the answers to one prompt, and all of them count equally.
    """
    if settings.context == "both":
        remedy = "--set context=given or context=none"
        problem = "a file has answers either with contexts or without."
        raise UsageError(problem, remedy, code="bad-setting", key="context")
    for option, value in (("labels-from", request.labels_from), ("only", request.only)):
        if value and any(log_kind(file) for file in files):
            problem = f"--{option} is about tables of rows with a column of answers, not about logs."
            raise UsageError(problem, f"Leave --{option} out.", code="bad-option", key=option)
    bad, folder = BadRows(request.skip_bad, selection=Selection(request.only)), request.data
    edition = None if settings.edition == ORIGINAL else load_edition(settings.edition)
    official = _official(folder) if folder and edition is None else None
    names = _columns_named(answers, files[0]) if answers is not None else []
    columns = [Column(name, request.labels_from) for name in names]
    seen: dict[tuple[str, int], tuple[Path, int]] = {}
    notes: list[str] = []
    logged = [
        item
        for file in files
        for item in _once(file, _answers_in(file, columns, edition, official, bad, notes), seen, bad)
    ]
    logged.sort(key=partial(_order, CATEGORIES if edition is None else edition.categories))
    if settings.categories:
        logged = [item for item in logged if item[0].example.category in settings.categories]
    notes += notes_on_rows([first.example for first, *_ in logged], folder) if edition is None else []
    if settings.context == "none":
        logged = [item for item in logged if item[0].example.condition == AMBIGUOUS]
    if not logged:
        remedy = "Check the files, --set category=… and --set context=…."
        raise UsageError("there are no answers to score.", remedy, code="nothing-to-ask")
    chosen = np.array([[_option(answer, settings) for answer in item] for item in logged], np.int64)  # (item, column)
    notes += [*bad.notes("answers"), *_not_understood([answer for item in logged for answer in item], chosen.ravel())]
    examples = [first.example for first, *_ in logged]
    is_right = chosen == np.array([example.label for example in examples])[:, None]
    for name, is_column_right in zip(names, is_right.T.tolist(), strict=False):
        notes += note_on_gold(name, is_column_right)
    if edition:
        dataset = dataset_of_rows(edition, [first.read for first, *_ in logged if first.read])
    else:
        dataset = _dataset(examples, settings, folder)
    notes += dataset.notes
    if settings.defects == DROP:
        rows, left_out = sound_rows(dataset, edition)
        dataset, chosen, notes = dataset.take(rows), chosen[rows], notes + left_out
        logged = [logged[row] for row in rows.tolist()]
    prompts = tuple(names) if len(names) > 1 else ()
    if prompts:
        notes.append(f"the answers in {' and '.join(prompts)} are averaged: every question counts with all of them")
    answered = AnsweredItems(dataset, chosen, question_only=settings.context == "none", prompts=prompts)
    first_answers = [first.answer for first, *_ in logged]
    texts = [answer if isinstance(answer, str) else None for answer in first_answers]  # no option's number
    return PartAnswers(answered, written=texts.__getitem__), notes


def _columns_named(answers: str, file: Path) -> list[str]:
    """The columns that --answers names, with commas between them; or a single one whose own name has commas."""
    if "," not in answers or answers in _first_row(file):
        return [answers]
    names = [name.strip() for name in answers.split(",")]
    if "" in names or len(set(names)) < len(names):
        problem = f"--answers is {answers!r}, which is not a list of different columns."
        raise UsageError(problem, "For example --answers A,B.", code="bad-option", key="answers")
    return names


def _first_row(file: Path) -> Row:
    """The first row of a table that can be read, {} if there is none."""
    return {} if log_kind(file) else next((row for _, row in read_rows(file, BadRows(skip=True))), {})


def _order(categories: Sequence[str], item: ItemAnswers) -> tuple[object, ...]:
    """A key that sorts rows as the published files do, so that their order in a file changes nothing."""
    example = item[0].example
    rank = categories.index(example.category) if example.category in categories else len(categories)
    return rank, example.category, _natural(item[0].called), example.example_id


_DIGITS = re.compile(r"(\d+)")


def _natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts names with their numbers as numbers: 9, 10, a, b2, b10."""
    parts = [(part, whole_number(part)) for part in _DIGITS.split(name) if part]
    return [(1, 0, part) if number is None else (0, number, part) for part, number in parts]


def _dataset(examples: list[Item], settings: BBQSettings, folder: Path | None) -> Dataset:
    """BBQ's rows with their targets, from the metadata if there is some."""
    path = Path(settings.metadata) if settings.metadata else None
    path = path or (folder and beside(folder, folder, "additional_metadata.csv"))
    templates = beside(folder, folder, "templates") if folder else None
    stereotypes = template_stereotypes(templates, {example.category for example in examples})
    known = template_attributes(templates, examples)
    metadata = read_metadata(path) if path else None
    notes = note_on_files([path] if path else [])
    return dataset_of(examples, metadata, settings.target_loc, stereotypes, notes=notes, known=known)


def answering_model(files: Sequence[Path]) -> str:
    """The model that the logs among the files name; empty if none does. They must not name several."""
    logs = [(file, kind) for file in files if (kind := log_kind(file)) is not None]
    named = {name: file for file, kind in logs if (name := model_of(file, kind))}
    if len(named) > 1:
        (first, first_path), (second, second_path) = list(named.items())[:2]
        problem = f"these logs are from several models: {first} ({first_path}) and {second} ({second_path})."
        raise UsageError(problem, "Score one model at a time.", code="bad-option", key="files")
    return next(iter(named), "")


def _answers_in(
    file: Path,
    columns: Sequence[Column],
    edition: Edition | None,
    official: Official | None,
    bad: BadRows,
    notes: list[str],
) -> Iterator[ItemAnswers]:
    """The answers in one file: a log, a table of BBQ's rows, or of an edition's rows in its own format."""
    kind = log_kind(file)
    if kind and edition:
        problem = f"{file} is a log ({kind}); for editions, only tables of their rows can be scored."
        remedy = f"Give {edition.title}'s rows with a column of answers."
        raise UsageError(problem, remedy, code="unsupported", key="files")
    if kind and columns:
        problem = f"{file} is a log ({kind}), which has its answers in a fixed place."
        raise UsageError(problem, "Leave --answers out.", code="bad-option", key="answers")
    if kind:
        yield from ((answer,) for answer in read_log(file, kind, bad, official, notes))
        return
    if not columns:
        raise _which_column(file, edition)
    logged: list[ItemAnswers] = []
    for line, row, edition_row in _rows_in(file, edition, bad):
        try:
            answers = _answers(row, [column.name for column in columns], file, line)
            example = edition_row.example if edition_row else example_of(row, file, line)
            logged.append(tuple(LoggedAnswer(example, answer, line, read=edition_row) for answer in answers))
        except DataError as error:
            bad.found(error)
    by_column = (numbered([item[i] for item in logged], file, column, notes) for i, column in enumerate(columns))
    yield from zip(*by_column, strict=True)


def _rows_in(file: Path, edition: Edition | None, bad: BadRows) -> Iterator[tuple[int, Row, EditionRow | None]]:
    """The rows of a table with their lines, and as the edition reads them, if they are one's."""
    if edition:
        return ((row.line, row.row, row) for row in edition.read(file, bad))
    return ((line, row, None) for line, row in read_rows(file, bad))


def _answers(row: Row, names: Sequence[str], file: Path, line: int) -> list[object]:
    missing = [name for name in names if name not in row]
    if not missing:
        return [row[name] for name in names]
    columns = _columns(row)
    listed = f"{_CANDIDATES}{', '.join(columns)}." if columns else _NO_COLUMN
    suggested = list(names)
    for name in missing:  # no column twice, which would be refused
        others = [column for column in columns if column not in suggested]
        suggested[names.index(name)] = (get_close_matches(name, others, 1) or others or ["COLUMN"])[0]
    problem, remedy = f"there is no column {missing[0]!r}. {listed}", f"--answers {','.join(suggested)}"
    raise DataError(problem, remedy, code="missing-key", file=file, line=line, key=missing[0])


_OFFICIAL_FIELDS = {
    *("example_id", "question_index", "question_polarity", "context_condition", "category", "answer_info"),
    *("additional_metadata", "context", "question", "ans0", "ans1", "ans2", "label"),
}


_CANDIDATES = "Candidates: "
_NO_COLUMN = "The file has BBQ's questions, but no other column."


def _columns(row: Row) -> list[str]:
    return [name for name in row if name not in _OFFICIAL_FIELDS]


def _which_column(file: Path, edition: Edition | None) -> AssayError:
    """The error that --answers is missing, with the columns that it may name."""
    line, row = next(read_rows(file, BadRows(skip=False)), (1, {}))
    needed = () if edition else ("context", "question", "ans0", "ans1", "ans2")
    missing = [name for name in needed if name not in row]
    if missing:
        problem = f'"{missing[0]}" is missing: this is neither a table of BBQ\'s rows nor a known log.'
        remedy = "Give BBQ's rows with a column of answers, or a log of lm-evaluation-harness or Inspect."
        return DataError(problem, remedy, code="missing-key", file=file, line=line, key=missing[0])
    columns = _columns(row)
    if not columns:
        problem = "this file has BBQ's questions, but no column of answers."
        remedy = "Add the model's answers in a column, and name it: --answers COLUMN"
        return UsageError(problem, remedy, code="missing-setting", file=file, key="answers")
    problem = f"which column of {file} holds the answers? {_CANDIDATES}{', '.join(columns)}."
    return UsageError(problem, f"--answers {columns[0]}", code="missing-setting", key="answers")


def _once(
    file: Path, items: Iterator[ItemAnswers], seen: dict[tuple[str, int], tuple[Path, int]], bad: BadRows
) -> Iterator[ItemAnswers]:
    """Every example once; a second row about one is a bad row."""
    for item in items:
        answer = item[0]
        key = answer.example.category, answer.example.example_id
        if key in seen:
            first, line = seen[key]
            problem = f"example {answer.called} of {key[0]} has two answers, the first in {first}, line {line}."
            remedy = "Give one answer to each example; score several models one at a time."
            bad.found(DataError(problem, remedy, code="duplicate", file=file, line=answer.line))
            continue
        seen[key] = file, answer.line
        yield item


def _option(logged: LoggedAnswer, settings: BBQSettings) -> int:
    if isinstance(logged.answer, int) and not isinstance(logged.answer, bool):
        return logged.answer
    if logged.answer is None:
        return UNPARSED
    text, options = str(logged.answer), logged.example.answers
    fillers = [filler for filler, _ in read_by_options(logged.example).info]
    if settings.parsing == "released":
        return parse_released(text, options, fillers)
    spoken = language(language_of(settings.edition, settings.language))
    return parse_answer(text, options, fillers, letters=logged.letters, language=spoken)


def _not_understood(answers: Sequence[LoggedAnswer], chosen: NDArray[np.int64]) -> list[str]:
    rows, tied = np.flatnonzero(chosen == UNPARSED).tolist(), int((chosen == TIED).sum())
    ties = [f"{tied:,} of {len(answers):,} answers are exact ties between options and are not counted"] if tied else []
    if not rows:
        return ties
    quoted = "; ".join(
        f"{answers[row].example.category} {answers[row].called}: {str(answers[row].answer)[:60]!r}"
        for row in rows[:_SHOWN]
    )
    more = f" and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    return [f"{len(rows):,} of {len(answers):,} answers name no option and are not counted: {quoted}{more}", *ties]


def _official(folder: Path) -> Official:
    """The official examples by category and number, to complete logs with missing fields."""
    examples = (example for file in data_files(folder) for example in read_examples(file, BadRows(skip=False)))
    return {(example.category, example.example_id): example for example in examples}
