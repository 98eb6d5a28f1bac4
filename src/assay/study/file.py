"""A study file: models that are ready, trained or debiased, and the probes that they are asked. See docs/studies.md.

    [study]                     name, title, about, seed, data
    [models.NAME]               one of spec, train, debias; and what goes with it
    [[runs]]                    probe, models, preset, limit, settings, …

Here a file is read and every key of it is checked by itself; what the entries mean together is `order.py`'s matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from assay.errors import DataError
from assay.gate.policy import near
from assay.models import BARE
from assay.probes import PRESETS, PROBES
from assay.study.lines import Lines
from assay.study.values import Place, known_keys, required, settings_of, table_of, text_of, texts_of, varied, whole_of
from assay.toml_file import read_toml
from assay.training.settings import KINDS

PACKAGED = Path(__file__).parents[1] / "data" / "studies"
METHODS = {"inlp": "INLP", "sentence": "SentenceDebias", "cda": "CDA", "dropout": "Dropout"}
"""Debiasing methods and what people call them."""
ATTRIBUTES = ("gender", "race", "religion")
GENERAL = ("dropout",)
"""Methods that are about no attribute in particular."""

How = Literal["spec", "train", "debias"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class ModelEntry:
    """A model of the study. `how` says which: `value` is then its spec, the kind of training or the debiasing method.

    `source` is the model that it is made from (`base` of a trained one, `model` of a debiased one); for a ready one it
    only says on the page which language model it was fine-tuned from. `baseline` is what the page compares it with.
    """

    name: str
    how: How
    value: str
    place: Place
    title: str
    source: str | None = None
    baseline: str | None = None
    attribute: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)  # data, eval, corpus, words: as they are written
    preset: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None

    @property
    def made(self) -> bool:
        return self.how != "spec"


@dataclass(frozen=True)
class RunEntry:
    """Some probes asked of some models, with some settings; `vary` gives a setting several values, each a run."""

    number: int
    place: Place
    probes: Sequence[str]
    models: Sequence[str]
    name: str | None = None
    preset: str = "quick"
    limit: int | None = None
    seed: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    vary: Mapping[str, Sequence[str]] = field(default_factory=dict)
    data: str | None = None
    skip_bad: bool = False


@dataclass(frozen=True)
class StudyFile:
    """What a study file says."""

    path: Path
    text: str
    name: str
    title: str
    about: str
    seed: int
    data: str | None
    models: Mapping[str, ModelEntry]
    runs: Sequence[RunEntry]
    place: Place


def find_study(given: str | Path) -> Path:
    """The file that is meant: a path, or the name of one that comes with assay."""
    path = Path(given).expanduser()
    if path.is_file():
        return path
    packaged = {file.stem: file for file in packaged_studies()}
    if str(given) in packaged:
        return packaged[str(given)]
    if path.is_dir():
        raise DataError("this is a folder.", "Name a study's TOML file.", file=path)
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise DataError(
            "there is no such file.", "Name a study's TOML file; docs/studies.md says how to write one.", file=path
        )
    raise DataError(
        f"there is no study {str(given)!r}{near(str(given), packaged)}",
        f"Name a TOML file, or one that comes with assay: {', '.join(packaged)}.",
    )


def packaged_studies() -> list[Path]:
    """The study files that come with assay."""
    return sorted(PACKAGED.glob("*.toml"))


def read_study(path: Path) -> StudyFile:
    """The study of a TOML file."""
    text, content = read_toml(
        path,
        name_it="Name a study's TOML file.",
        what_it_is="A study is a TOML file.",
        how="See docs/studies.md for how to write one.",
    )
    lines = Lines(text)
    whole = Place(path, lines, "")
    known_keys(content, ("study", "models", "runs"), whole)
    head = Place(path, lines, "study", ("study",))
    about = table_of(content.get("study", {}), "study", whole)
    known_keys(about, ("name", "title", "about", "seed", "data"), head)
    name = text_of(about, "name", head) or path.stem
    if not _NAME.fullmatch(name):
        raise head.error(f'"name" is {name!r}.', "Use letters, digits, dots, dashes and underscores.", "name")
    models = table_of(content.get("models", {}), "models", whole)
    runs = content.get("runs", [])
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        raise whole.error('"runs" is no list of tables.', "Begin each with [[runs]].")
    if not models:
        raise whole.error("there are no models.", 'Add at least one, such as [models.base] with spec = "builtin".')
    return StudyFile(
        path=path,
        text=text,
        name=name,
        title=text_of(about, "title", head) or name,
        about=text_of(about, "about", head) or "",
        seed=whole_of(about, "seed", head) or 0,
        data=text_of(about, "data", head),
        models={own: _model(own, entry, path, lines) for own, entry in models.items()},
        runs=[_run(entry, number, path, lines) for number, entry in enumerate(runs)],
        place=whole,
    )


# --- the entries

_COMMON = ("title", "baseline")
_KEYS: Mapping[How, tuple[str, ...]] = {
    "spec": ("spec", "base", *_COMMON),
    "train": ("train", "base", "data", "eval", "preset", "settings", "seed", *_COMMON),
    "debias": ("debias", "model", "attribute", "corpus", "words", "eval", "settings", "seed", *_COMMON),
}
_FILES = ("data", "eval", "corpus", "words")
_CHOICES: Mapping[str, Sequence[str]] = {"train": KINDS, "debias": tuple(METHODS)}


def _model(name: str, entry: Any, path: Path, lines: Lines) -> ModelEntry:
    place = Place(path, lines, f"models.{name}", ("models", name))
    if not isinstance(entry, dict):
        raise place.error(f"it is {entry!r}, expected keys with values.", f'[models.{name}] and spec = "builtin".')
    if not _NAME.fullmatch(name) or "--" in name or name in BARE:
        why = "also the name of a kind of model" if name in BARE else "no name for a folder"
        raise place.error(f"{name!r} is {why}.", "Use letters, digits, dots, single dashes and underscores.")
    given: list[How] = [how for how in _KEYS if how in entry]
    if len(given) != 1:
        said = "none of them is there" if not given else f"there are {' and '.join(given)}"
        raise place.error(
            f"expected one of spec, train and debias; {said}.",
            'A ready model has spec = "builtin" or "hf:…", others are trained or debiased.',
        )
    how = given[0]
    known_keys(entry, _KEYS[how], place)
    value = required(entry, how, place)
    if how in _CHOICES and value not in _CHOICES[how]:
        raise place.error(
            f'"{how}" is {value!r}{near(value, _CHOICES[how])}', f"Choose one of {', '.join(_CHOICES[how])}.", how
        )
    needed = {"spec": (), "train": ("base", "data"), "debias": ("model", "corpus")}[how]
    for key in needed:
        required(entry, key, place)
    attribute = text_of(entry, "attribute", place)
    if how == "debias":
        if attribute is None and value not in GENERAL:
            raise place.error('"attribute" is missing.', f"Choose one of {', '.join(ATTRIBUTES)}.")
        if attribute is not None and attribute not in ATTRIBUTES and "words" not in entry:
            raise place.error(
                f'"attribute" is {attribute!r}{near(attribute, ATTRIBUTES)}',
                f'Choose one of {", ".join(ATTRIBUTES)}, or give its words in a file: words = "…".',
                "attribute",
            )
    return ModelEntry(
        name=name,
        how=how,
        value=value,
        place=place,
        title=text_of(entry, "title", place) or name,
        source=text_of(entry, "model" if how == "debias" else "base", place),
        baseline=text_of(entry, "baseline", place),
        attribute=attribute,
        files={key: written for key in _FILES if (written := text_of(entry, key, place)) is not None},
        preset=text_of(entry, "preset", place),
        settings=settings_of(entry.get("settings", {}), "settings", place),
        seed=whole_of(entry, "seed", place),
    )


_RUN = ("probe", "models", "name", "preset", "limit", "seed", "settings", "vary", "data", "skip_bad")


def _run(entry: Mapping[str, Any], number: int, path: Path, lines: Lines) -> RunEntry:
    place = Place(path, lines, f"runs {number + 1}", ("runs",), number)
    known_keys(entry, _RUN, place)
    probes = texts_of(entry, "probe", place)
    for probe in probes:
        if probe not in PROBES:
            raise place.error(
                f'"probe" is {probe!r}{near(probe, PROBES)}', f"Choose one of {', '.join(PROBES)}.", "probe"
            )
    preset = text_of(entry, "preset", place) or "quick"
    if preset not in PRESETS:
        raise place.error(
            f'"preset" is {preset!r}{near(preset, PRESETS)}', f"Choose one of {', '.join(PRESETS)}.", "preset"
        )
    name = text_of(entry, "name", place)
    if name is not None and (not _NAME.fullmatch(name) or "--" in name):
        raise place.error(f'"name" is {name!r}.', "Use letters, digits, dots, single dashes and underscores.", "name")
    limit = whole_of(entry, "limit", place)
    if limit == 0:
        raise place.error('"limit" is 0, expected at least 1 question.', "limit = 10000", "limit")
    skip_bad = entry.get("skip_bad", False)
    if not isinstance(skip_bad, bool):
        raise place.error(f'"skip_bad" is {skip_bad!r}, expected true or false.', "skip_bad = true", "skip_bad")
    settings, vary = settings_of(entry.get("settings", {}), "settings", place), varied(entry.get("vary", {}), place)
    if both := sorted({*settings} & {*vary}):
        raise place.error(f'"{both[0]}" is both in settings and in vary.', "Leave it out of settings.", "vary")
    return RunEntry(
        number=number,
        place=place,
        probes=probes,
        models=texts_of(entry, "models", place),
        name=name,
        preset=preset,
        limit=limit,
        seed=whole_of(entry, "seed", place),
        settings=settings,
        vary=vary,
        data=text_of(entry, "data", place),
        skip_bad=skip_bad,
    )
