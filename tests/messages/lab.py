"""Messages about training, debiasing and studies, and about the TOML files of studies."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from assay.lab.debiasing.attribute_words import read_words
from assay.lab.debiasing.corpus import Corpus
from assay.lab.debiasing.inlp import require_some_left
from assay.lab.debiasing.sentence_debias import sentence_debias
from assay.lab.studies import plan
from assay.lab.studies.step_context import _lost
from assay.lab.studies.study_file import find_study, read_study
from assay.lab.studies.study_record import open_record, read_record
from assay.lab.training import KINDS
from assay.lab.training.base_model import require_device
from assay.lab.training.choice import read_choice_data
from assay.lab.training.data_files import existing
from assay.lab.training.span import read_span_data
from assay.lab.training.training_folder import explained_full_disk, open_out
from assay.lab.training.training_kind import preset_of


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def study(text: str) -> Callable[[Path], object]:
    """Reads a study of this text."""
    return lambda folder: read_study(written(folder, "mine.toml", text))


def words(content: object) -> Callable[[Path], object]:
    """Reads a list of attribute words."""
    return lambda folder: read_words(written(folder, "words.json", json.dumps(content)))


def row(**change: object) -> Callable[[Path], object]:
    """Reads a question of Social IQa with these changes."""
    content = {"context": "Anna sat.", "question": "Who?", "answerA": "Anna", "answerB": "Ben", **change}
    return lambda folder: read_choice_data(written(folder, "rows.jsonl", json.dumps(content) + "\n"))


def lost(folder: Path) -> None:
    raise _lost(-9)


def full_disk(folder: Path) -> None:
    with explained_full_disk(folder, resume=True):
        raise OSError(errno.ENOSPC, "No space left on device")


def other_study(folder: Path) -> None:
    written(folder, "study.json", '{"schema": 1, "name": "yours"}')
    with open_record(folder, read_study(written(folder, "mine.toml", '[models.a]\nspec = "builtin"\n'))):
        pass


def planned(text: str) -> Callable[[Path], object]:
    """Plans a study of this text."""
    return lambda folder: plan(written(folder, "mine.toml", text), folder / "out")


def other_files(folder: Path) -> None:
    written(folder, "thesis.tex", "precious")
    with open_out(folder, resume=True):
        pass


CASES: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "bad-option": (
        lambda folder: find_study("study-smal"),
        "there is no study 'study-smal'; did you mean \"study-small\"?\n"
        "Name a TOML file, or one that comes with assay: bbq-paper, sodapop-paper, study-small, unqover-paper.",
    ),
    "missing-setting": (
        lambda folder: KINDS["span"].path(None),
        "span training needs data.\n--data PATH",
    ),
    "bad-setting": (
        lambda folder: require_some_left(12, 2, 12),
        "12 rounds remove up to 12 directions, and the model has 12.\nNothing would be left: --set rounds=5",
    ),
    "unsupported": (
        lambda folder: preset_of(KINDS["span"], "bbq"),
        "the preset bbq is for choice training, not for span.\nassay train choice …",
    ),
    "not-new": (
        other_files,
        "FOLDER: this folder is not empty and is not a training folder.\nChoose another folder with --out.",
    ),
    "not-a-run": (
        lambda folder: (written(folder, "study.json", "{}"), read_record(folder)),
        "FOLDER/study.json: this is not a study.json file of assay.\nChoose another folder with --out.",
    ),
    "missing-file": (
        lambda folder: existing(folder / "dev.jsonl"),
        "FOLDER/dev.jsonl: there is no such file or folder.\nCheck the name.",
    ),
    "unreadable-file": (
        lambda folder: Corpus(folder),
        "FOLDER: this is a folder.\nA corpus is one file of text, plain, .gz or .xz.",
    ),
    "empty-file": (
        lambda folder: read_span_data(written(folder, "train.json", "")),
        "FOLDER/train.json: this file is empty.\n"
        'Files of SQuAD (JSON with "data") or of MRQA (JSON lines with "context" and "qas") are expected.',
    ),
    "bad-json": (
        lambda folder: read_span_data(written(folder, "train.json", '{"header": {}}\n[1]\n')),
        "FOLDER/train.json, line 2: this is not a JSON object.\nOne object a line is expected.",
    ),
    "bad-toml": (
        study("[models]\nname =\n"),
        "FOLDER/mine.toml, line 2: not TOML: Invalid value (at line 2, column 7).\n"
        "A study is a TOML file; docs/studies.md says how to write one.",
    ),
    "unknown-key": (
        study('[models.a]\nspec = "builtin"\ntitel = "A"\n'),
        'FOLDER/mine.toml, line 3: models.a: unknown key "titel"; did you mean "title"?\n'
        "The keys are spec, base, title, baseline.",
    ),
    "bad-value": (
        study('[models.a]\ntrain = "choise"\nbase = "a"\ndata = "x"\n'),
        'FOLDER/mine.toml, line 2: models.a: "train" is \'choise\'; did you mean "choice"?\n'
        "Choose one of span, choice, mask.",
    ),
    "missing-key": (
        study('[models.a]\ntrain = "choice"\ndata = "x"\n'),
        'FOLDER/mine.toml, line 1: models.a: "base" is missing.\nAdd base = "…".',
    ),
    "duplicate": (
        words({"gender": [["he", "she"], ["he", "she"]]}),
        "FOLDER/words.json: gender, tuple 2 (he, she): this repeats tuple 1.\nRemove one of them.",
    ),
    "bad-label": (
        row(correct="D"),
        "FOLDER/rows.jsonl, line 1: the right answer is 'D', expected one of A, B.\nFix the label.",
    ),
    "bad-row": (
        words({"gender": [["he", 1]]}),
        "FOLDER/words.json: gender, tuple 1: expected a list of at least two words, not ['he', 1].\n"
        'Write {"gender": [["he", "she"], ["man", "woman"]]}: for each attribute its tuples of counterparts.',
    ),
    "bad-list": (
        words({"gender": [["He", "she"]]}),
        "FOLDER/words.json: gender, tuple 1: 'He' has capitals.\nWrite 'he': case makes no difference.",
    ),
    "bad-model": (
        lambda folder: sentence_debias(np.zeros((3, 2, 4))),
        "some sentences have the vector 0.\nThe model's encoder is damaged; choose another.",
    ),
    "bad-tokenizer": (
        lambda folder: sentence_debias(np.ones((3, 2, 4))),
        "the model gives a sentence and its counterparts the same vector.\n"
        "Its tokenizer does not know the attribute words: use others with --words.",
    ),
    "step-failed": (
        lost,
        "its process ended without a result (SIGKILL).\nIt may have run out of memory: try again with fewer --jobs.",
    ),
    "no-space": (
        full_disk,
        "FOLDER: the disk is full ([Errno 28] No space left on device).\n"
        "Free some space; the same command then continues from the last checkpoint.",
    ),
    "other-run": (
        other_study,
        "FOLDER: this folder holds another study, yours.\nChoose another folder with --out.",
    ),
    "unknown-model": (
        planned('[models.a]\nspec = "builtin"\n[[runs]]\nprobe = "unqover"\nmodels = "b"\n'),
        "FOLDER/mine.toml, line 5: runs 1: \"models\" is 'b', which is not a model of this study.\n"
        "Add [models.b], or name an existing model.",
    ),
    "no-device": (
        lambda folder: require_device("foo"),
        "training runs on cpu, cuda or mps, not on 'foo'.\nLeave --device out to use the best available device.",
    ),
}
