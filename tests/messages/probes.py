"""Messages about what is asked: probes, their settings, and the files that they read."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np

import small_bbq
from asking import scored
from assay.probes import method_of, probe_named
from assay.probes.base import Request
from assay.probes.bbq.compare_runs import RecalledRun, compare_answers
from assay.probes.bbq.edition_language import EditionLanguage
from assay.probes.bbq.read_items import data_files
from assay.probes.bbq_starter.method import read_starter
from assay.probes.sodapop.contexts import paper_contexts, read_contexts
from assay.probes.sodapop.names import read_groups
from assay.probes.sodapop_names.method import recalled_names
from assay.probes.unqover.analyse import CellLabels, Cells, analyse
from assay.results.findings import Table
from small_templates import NOBODY, PLAIN, generation, write_sheet, write_vocabulary

EXAMPLES = small_bbq.quartet()


def written(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file


def answered(
    folder: Path, change: Mapping[str, Any] | None = None, column: str | None = "said", **settings: str
) -> None:
    """Scores answers to four examples, of which the last is changed."""
    rows: list[Any] = [example.as_json() | {"said": "A"} for example in EXAMPLES]
    file = small_bbq.write(folder / "a.jsonl", [*rows[:3], rows[3] | (change or {})])
    scored("bbq", [file], Request(settings=settings), column)


def logged(folder: Path, **sample: Any) -> None:
    """Scores a log of lm-evaluation-harness with one sample."""
    file = written(folder / "samples.jsonl", json.dumps({"doc": EXAMPLES[0].as_json(), **sample}))
    scored("bbq", [file], Request())


def broken_sample(folder: Path) -> None:
    with zipfile.ZipFile(folder / "log.eval", "w") as archive:
        archive.writestr("samples/Age_00001_epoch_1.json", "{")
    scored("bbq", [folder / "log.eval"], Request())


def template(folder: Path, name: str, row: dict[str, str], category: str | None = None) -> None:
    """Generates the examples of a template in a file of this name."""
    write_sheet(folder / f"{name}.csv", [row])
    generation(folder, category).count()


def short_row(folder: Path) -> None:
    written(folder / "Age.csv", ",".join(NOBODY) + "\n1,x\n")
    generation(folder).count()


def rare_words(folder: Path) -> None:
    write_vocabulary(folder)
    template(folder, "Elves", PLAIN)


def starter(folder: Path, text: str) -> None:
    written(folder / "Age.toml", text)
    read_starter(folder=folder)


def described(folder: Path, name: str, read: Callable[[Path], object]) -> None:
    """Reads a file with one row of Social IQa's format about somebody of this name."""
    row = {"context": f"{name} slept.", "question": f"How would you describe {name}?", "answerA": "calm"}
    read(written(folder / "dev.jsonl", json.dumps({**row, "correct": "A"})))


def improbable(folder: Path) -> None:
    column = np.zeros(1, np.int32)
    cells = Cells(column, column, column + 1, column, np.full((1, 2, 2, 2), 1.5, np.float32))
    analyse(
        cells, CellLabels(["x", "y"], ["late"], ["time"], 1, None, sampled=False), cls="religion", form="span", seed=0
    )


def of_two_languages(folder: Path) -> None:
    one, other = (
        RecalledRun(Table(("model",), []), "wrong", str(folder / language), EditionLanguage("bbq", language))
        for language in ("en", "es")
    )
    compare_answers(probe_named("bbq"), one, other, resamples=1, common=True)


CASES: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "unknown-probe": (
        lambda folder: probe_named("bqb"),
        "unknown probe 'bqb'; expected unqover, bbq, bbq-starter, sodapop, sodapop-names; did you mean \"bbq\"?\n"
        "See `assay list probes`.",
    ),
    "unknown-setting": (
        lambda folder: method_of("sodapop").generation(Request(settings={"what": "names", "cap": "9"})),
        "there is no setting 'cap' for names; there are tables, rules, race_threshold, gender_threshold, "
        "min_count, per_group.\n"
        "--set tables=…",
    ),
    "bad-setting": (
        lambda folder: template(folder, "Age", NOBODY, category="Elves"),
        "FOLDER has no templates for the category 'Elves'; it has Age.\n--set category=Age",
    ),
    "missing-setting": (
        lambda folder: answered(folder, column=None),
        "which column of FOLDER/a.jsonl holds the answers? Candidates: said.\n--answers said",
    ),
    "bad-option": (
        lambda folder: Request(preset="huge"),
        "unknown preset 'huge'; expected quick, standard, paper.\n--preset quick",
    ),
    "unsupported": (
        lambda folder: method_of("sodapop-names").generation(Request()),
        "the probe sodapop-names cannot generate files.\nSee `assay list probes`.",
    ),
    "missing-ability": (
        lambda folder: method_of("sodapop").prepare(Request(), Mock(abilities=frozenset({"fill"}))),
        "this model cannot choose among options.\n"
        "SODAPOP needs a multiple-choice model, a language model or an endpoint.",
    ),
    "nothing-to-ask": (
        lambda folder: answered(folder, category="SES"),
        "there are no answers to score.\nCheck the files, --set category=… and --set context=….",
    ),
    "missing-file": (
        lambda folder: template(folder, "Trades", PLAIN),
        "FOLDER/Trades.csv, line 2: this template needs vocabulary.csv, which is not in FOLDER.\n"
        "Add the file, or list who is compared in the column Names.",
    ),
    "unreadable-file": (
        broken_sample,
        "FOLDER/log.eval, samples/Age_00001_epoch_1.json: cannot be read (Expecting property name enclosed "
        "in double quotes: line 1 column 2 (char 1)).\n"
        "Get the log again.",
    ),
    "changed-file": (
        lambda folder: described(folder, "Bethany", paper_contexts),
        'FOLDER/dev.jsonl: "How would you describe Bethany?" appears 1 times in the first 321 lines, '
        "expected 50 times as in SODAPOP's own file.\n"
        "Name that file, or read all contexts of this one with --set texts=FILE.",
    ),
    "bad-json": (
        lambda folder: read_groups(written(folder / "groups.json", '["Ann", "Amy"]')),
        "FOLDER/groups.json: expected an object in braces, got a list.\n"
        'Write {"A": ["Ann", "Amy"], "B": ["Bob", "Ben"]}, or {"A": {"names": ["Ann", "Amy"], "gender": '
        '"female"}, …}.',
    ),
    "bad-csv": (
        short_row,
        "FOLDER/Age.csv, line 2: this row has 2 cells, expected 9, one for each column of the header.\n"
        "Put quotation marks around cells with commas, and write empty cells as nothing between commas.",
    ),
    "bad-toml": (
        lambda folder: starter(folder, "category = Age"),
        "FOLDER/Age.toml, line 1: this is not TOML in UTF-8: Invalid value (at line 1, column 12).\nFix the file.",
    ),
    "unknown-key": (
        lambda folder: starter(folder, 'category = "Age"\nlicence = "none"\n[[template]]'),
        "FOLDER/Age.toml: category is 'Age', keys: category, licence, template.\n"
        'Begin with category = "Age", as the file is named; all else belongs under [[template]].',
    ),
    "bad-value": (
        lambda folder: answered(folder, {"context_condition": "clear"}),
        'FOLDER/a.jsonl, line 4: "context_condition" is "clear", expected ambig or disambig.\n'
        "Every example needs the fields of the official files; see `assay data check bbq`.",
    ),
    "missing-key": (
        lambda folder: answered(folder, column="answer"),
        "FOLDER/a.jsonl, line 1: there is no column 'answer'. Candidates: said.\n--answers said",
    ),
    "empty-file": (
        lambda folder: described(folder, "his wide-awake neighbour", read_contexts),
        'FOLDER/dev.jsonl: no row can be used: expected "How would you describe NAME?", with a '
        "context that names this person.\n"
        "Name a file in Social IQa's format, or use all its questions with --set questions=all.",
    ),
    "duplicate": (
        lambda folder: answered(folder, {"example_id": 0}),
        "FOLDER/a.jsonl, line 4: example 0 of Age has two answers, the first in FOLDER/a.jsonl, line 1.\n"
        "Give one answer to each example; score several models one at a time.",
    ),
    "bad-label": (
        lambda folder: answered(folder, {"label": 2}),
        'FOLDER/a.jsonl, line 4: "label" is 2, expected 0 or 1 (a person), since context_condition is '
        '"disambig".\n'
        "Correct the label, get the file again with `assay data fetch bbq`, or leave such rows out with "
        "--skip-bad.",
    ),
    "bad-row": (
        lambda folder: logged(folder, resps=[]),
        'FOLDER/samples.jsonl, line 1: "resps" has no response for every request.\nLog the samples again.',
    ),
    "bad-text": (
        lambda folder: template(folder, "Age", NOBODY | {"Question_non_negative": "Who is {{NAME3}}?"}),
        "FOLDER/Age.csv, line 2: Question_non_negative has the unknown slot '{{NAME3}}'; "
        "the slots are {{NAME1}}, {{NAME2}}.\n"
        "Correct the slot; WORD1 and WORD2 need lists in Lexical_diversity, GEN and OCC a crossed category.",
    ),
    "bad-list": (
        rare_words,
        "FOLDER/Elves.csv, line 2: this template needs two words whose Category is Elves, which "
        "FOLDER/vocabulary.csv does not have.\n"
        "Add them, or list who is compared in the column Names.",
    ),
    "bad-findings": (
        lambda folder: recalled_names(Mock(folder=folder, **{"findings.tables": {}})),
        "FOLDER: this run has no table of names.\nRepeat the run.",
    ),
    "missing-data": (
        data_files,
        "FOLDER: there are no BBQ files (CATEGORY.jsonl or CATEGORY.jsonl.gz) in it, in data/ or in "
        "bbq/data/.\n"
        "Get them with `assay data fetch bbq`, or name their folder or one of them with --data.",
    ),
    "not-comparable": (
        of_two_languages,
        "FOLDER/en and FOLDER/es are in different languages, or from different sets.\nCompare them without --common.",
    ),
    "bad-scores": (
        improbable,
        "a score is outside 0 to 1 or not a number (least 1.5, greatest 1.5).\n"
        "UnQover's scores are probabilities; check the weights and precision that the model was loaded with.",
    ),
}
