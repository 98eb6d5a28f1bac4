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
from assay.toml_file import read_toml

PACKAGED = Path(__file__).parents[1] / "data" / "studies"
METHODS = {"inlp": "INLP", "sentence": "SentenceDebias", "cda": "CDA", "dropout": "Dropout"}
"""Debiasing methods and what people call them."""
TRAIN = ("span", "choice", "mask")
ATTRIBUTES = ("gender", "race", "religion")
GENERAL = ("dropout",)
"""Methods that are about no attribute in particular."""

How = Literal["spec", "train", "debias"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SETTING = str | int | float | bool


@dataclass(frozen=True)
class Place:
    """Where an entry stands, for messages about it."""

    file: Path
    lines: Lines
    said: str  # "models.siqa", "runs 2"
    table: tuple[str, ...] = ()
    item: int | None = None

    def error(self, problem: str, remedy: str, key: str | None = None) -> DataError:
        if self.item is not None:
            line = self.lines.of_item(self.table[0], self.item, key)
        else:
            line = self.lines.of_table(*self.table, key=key) if self.table else None
        said = f"{self.said}: " if self.said else ""
        return DataError(f"{said}{problem}", remedy, file=self.file, line=line)


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
    _known(content, ("study", "models", "runs"), whole)
    head = Place(path, lines, "study", ("study",))
    about = _table(content.get("study", {}), "study", whole)
    _known(about, ("name", "title", "about", "seed", "data"), head)
    name = _text(about, "name", head) or path.stem
    if not _NAME.fullmatch(name):
        raise head.error(f'"name" is {name!r}.', "Use letters, digits, dots, dashes and underscores.", "name")
    models = _table(content.get("models", {}), "models", whole)
    runs = content.get("runs", [])
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        raise whole.error('"runs" is no list of tables.', "Begin each with [[runs]].")
    if not models:
        raise whole.error("there are no models.", 'Add at least one, such as [models.base] with spec = "builtin".')
    return StudyFile(
        path=path,
        text=text,
        name=name,
        title=_text(about, "title", head) or name,
        about=_text(about, "about", head) or "",
        seed=_whole(about, "seed", head) or 0,
        data=_text(about, "data", head),
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
_CHOICES: Mapping[str, Sequence[str]] = {"train": TRAIN, "debias": tuple(METHODS)}


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
    _known(entry, _KEYS[how], place)
    value = _required(entry, how, place)
    if how in _CHOICES and value not in _CHOICES[how]:
        raise place.error(
            f'"{how}" is {value!r}{near(value, _CHOICES[how])}', f"Choose one of {', '.join(_CHOICES[how])}.", how
        )
    needed = {"spec": (), "train": ("base", "data"), "debias": ("model", "corpus")}[how]
    for key in needed:
        _required(entry, key, place)
    attribute = _text(entry, "attribute", place)
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
        title=_text(entry, "title", place) or name,
        source=_text(entry, "model" if how == "debias" else "base", place),
        baseline=_text(entry, "baseline", place),
        attribute=attribute,
        files={key: written for key in _FILES if (written := _text(entry, key, place)) is not None},
        preset=_text(entry, "preset", place),
        settings=_settings(entry.get("settings", {}), "settings", place),
        seed=_whole(entry, "seed", place),
    )


_RUN = ("probe", "models", "name", "preset", "limit", "seed", "settings", "vary", "data", "skip_bad")


def _run(entry: Mapping[str, Any], number: int, path: Path, lines: Lines) -> RunEntry:
    place = Place(path, lines, f"runs {number + 1}", ("runs",), number)
    _known(entry, _RUN, place)
    probes = _texts(entry, "probe", place)
    for probe in probes:
        if probe not in PROBES:
            raise place.error(
                f'"probe" is {probe!r}{near(probe, PROBES)}', f"Choose one of {', '.join(PROBES)}.", "probe"
            )
    preset = _text(entry, "preset", place) or "quick"
    if preset not in PRESETS:
        raise place.error(
            f'"preset" is {preset!r}{near(preset, PRESETS)}', f"Choose one of {', '.join(PRESETS)}.", "preset"
        )
    name = _text(entry, "name", place)
    if name is not None and (not _NAME.fullmatch(name) or "--" in name):
        raise place.error(f'"name" is {name!r}.', "Use letters, digits, dots, single dashes and underscores.", "name")
    limit = _whole(entry, "limit", place)
    if limit == 0:
        raise place.error('"limit" is 0, expected at least 1 question.', "limit = 10000", "limit")
    skip_bad = entry.get("skip_bad", False)
    if not isinstance(skip_bad, bool):
        raise place.error(f'"skip_bad" is {skip_bad!r}, expected true or false.', "skip_bad = true", "skip_bad")
    settings, vary = _settings(entry.get("settings", {}), "settings", place), _vary(entry.get("vary", {}), place)
    if both := sorted({*settings} & {*vary}):
        raise place.error(f'"{both[0]}" is both in settings and in vary.', "Leave it out of settings.", "vary")
    return RunEntry(
        number=number,
        place=place,
        probes=probes,
        models=_texts(entry, "models", place),
        name=name,
        preset=preset,
        limit=limit,
        seed=_whole(entry, "seed", place),
        settings=settings,
        vary=vary,
        data=_text(entry, "data", place),
        skip_bad=skip_bad,
    )


# --- values


def _known(table: Mapping[str, Any], keys: Sequence[str], place: Place) -> None:
    for key in table:
        if key not in keys:
            raise place.error(f'unknown key "{key}"{near(key, keys)}', f"The keys are {', '.join(keys)}.", key)


def _table(value: Any, key: str, place: Place) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise place.error(f'"{key}" is no table.', f"Begin it with [{key}].")
    return value


def _text(table: Mapping[str, Any], key: str, place: Place) -> str | None:
    value = table.get(key)
    if key in table and not (isinstance(value, str) and value.strip()):
        raise place.error(f'"{key}" is {value!r}, expected a text.', f'{key} = "…"', key)
    return value


def _required(table: Mapping[str, Any], key: str, place: Place) -> str:
    value = _text(table, key, place)
    if value is None:
        raise place.error(f'"{key}" is missing.', f'Add {key} = "…"; see docs/studies.md.')
    return value


def _texts(table: Mapping[str, Any], key: str, place: Place) -> tuple[str, ...]:
    """One text, or a list of them."""
    value = table.get(key)
    listed = [value] if isinstance(value, str) else value
    if key not in table:
        raise place.error(f'"{key}" is missing.', f'Add {key} = "…" or {key} = ["…", "…"].')
    if not isinstance(listed, list) or not listed or not all(isinstance(each, str) and each for each in listed):
        raise place.error(f'"{key}" is {value!r}, expected a text or a list of texts.', f'{key} = ["…", "…"]', key)
    return tuple(dict.fromkeys(listed))


def _whole(table: Mapping[str, Any], key: str, place: Place) -> int | None:
    value = table.get(key)
    if key in table and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise place.error(f'"{key}" is {value!r}, expected a whole number from 0.', f"{key} = 0", key)
    return value


def _settings(table: Any, key: str, place: Place) -> dict[str, str]:
    """Settings as `--set` would give them: texts."""
    if not isinstance(table, dict):
        raise place.error(f'"{key}" is {table!r}, expected keys with values.', f"{key} = {{ draws = 1000 }}", key)
    return {own: _setting(own, value, key, place) for own, value in table.items()}


def _vary(table: Any, place: Place) -> dict[str, tuple[str, ...]]:
    if not isinstance(table, dict):
        raise place.error(
            f'"vary" is {table!r}, expected lists of values.', 'vary = { distractors = ["per_name", "shared"] }', "vary"
        )
    for key, values in table.items():
        if not isinstance(values, list) or len(values) < 2:
            raise place.error(
                f'"vary": {key} is {values!r}, expected a list of at least two values.',
                "A setting with one value belongs into settings.",
                "vary",
            )
    return {key: tuple(dict.fromkeys(_setting(key, v, "vary", place) for v in own)) for key, own in table.items()}


def _setting(name: str, value: Any, key: str, place: Place) -> str:
    if isinstance(value, list):
        raise place.error(
            f'"{key}": {name} is a list.',
            f'Write {name} = "a,b" for one run with several, or vary = {{ {name} = [...] }} for a run with each.',
            key,
        )
    if not isinstance(value, _SETTING):
        raise place.error(f'"{key}": {name} is {value!r}, expected a text or a number.', f'{name} = "…"', key)
    return str(value).lower() if isinstance(value, bool) else str(value)
