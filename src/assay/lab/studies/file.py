"""A study file: models that are ready, trained or debiased, and the probes that they are asked. See docs/studies.md.

    [study]                     name, title, about, seed, data
    [models.NAME]               one of spec, train, debias; and what goes with it
    [[runs]]                    probe, models, preset, limit, settings, …

Here a file is read and every entry of it is checked by itself; what they mean together is `schedule.py`'s matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.files.toml import Table, Text, Texts, TomlFile, Truth, Whole, near
from assay.lab.debiasing import METHODS
from assay.lab.training import KINDS
from assay.models import is_bare
from assay.probes import probes
from assay.probes.base import PRESETS

PACKAGED = Path(__file__).parents[2] / "data" / "studies"
ATTRIBUTES = ("gender", "race", "religion")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_NAMED = "Use letters, digits, dots, single dashes and underscores."


_KEYS = {  # of each way to come about: what it needs, and what it may have
    "spec": (("spec",), ("base", "title", "baseline")),
    "train": (("train", "base", "data"), ("eval", "preset", "settings", "seed", "title", "baseline")),
    "debias": (
        ("debias", "model", "corpus"),
        ("attribute", "words", "eval", "settings", "seed", "title", "baseline"),
    ),
}
_FILES = ("data", "eval", "corpus", "words")


@dataclass(frozen=True)
class About:
    """[study]: what it is called, the seed of all that say no other, and where files lie."""

    name: Text = ""
    title: Text = ""
    about: Text = ""
    seed: Whole = 0
    data: Text | None = None


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model of the study: ready (`spec`), trained (the kind of training) or debiased (the method)."""

    file: TomlFile
    name: str
    title: Text = ""
    baseline: Text | None = None
    spec: Text | None = None
    train: Text | None = None
    debias: Text | None = None
    base: Text | None = None
    model: Text | None = None
    attribute: Text | None = None
    data: Text | None = None
    eval: Text | None = None
    corpus: Text | None = None
    words: Text | None = None
    preset: Text | None = None
    settings: Table = field(default_factory=dict)
    seed: Whole | None = None

    @property
    def how(self) -> str:
        return next(how for how in _KEYS if getattr(self, how))

    @property
    def value(self) -> str:
        """Its spec, the kind of training or the debiasing method."""
        return self.spec or self.train or self.debias or ""

    @property
    def made(self) -> bool:
        return not self.spec

    @property
    def source(self) -> str | None:
        """The model that it is made from; of a ready one only what the page says that it was fine-tuned from."""
        return self.base or self.model

    @property
    def source_key(self) -> str:
        return "model" if self.debias else "base"

    @property
    def files(self) -> dict[str, str]:
        """The files that it is made with, as they are written."""
        return {key: getattr(self, key) for key in _FILES if getattr(self, key) is not None}

    def error(self, problem: str, remedy: str, *place: str, code: str, key: str | None = None) -> DataError:
        return self.file.error(problem, remedy, "models", self.name, *place, code=code, key=key)


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Some probes asked of some models, with some settings; `vary` gives a setting several values, each a run."""

    file: TomlFile
    number: int
    probe: Texts
    models: Texts
    name: Text | None = None
    preset: Text = "quick"
    limit: Whole | None = None
    seed: Whole | None = None
    settings: Table = field(default_factory=dict)
    vary: Table = field(default_factory=dict)
    data: Text | None = None
    skip_bad: Truth = False

    @property
    def probes(self) -> tuple[str, ...]:
        return _each(self.probe)

    @property
    def patterns(self) -> tuple[str, ...]:
        """Names of models, or patterns of them."""
        return _each(self.models)

    def error(self, problem: str, remedy: str, *place: str, code: str, key: str | None = None) -> DataError:
        return self.file.error(problem, remedy, "runs", self.number, *place, code=code, key=key)


@dataclass(frozen=True)
class StudyFile:
    """What a study file says."""

    toml: TomlFile
    head: About
    models: Mapping[str, Model]
    runs: Sequence[Runs]

    @property
    def path(self) -> Path:
        return self.toml.path

    @property
    def name(self) -> str:
        return self.head.name or self.path.stem

    @property
    def title(self) -> str:
        return self.head.title or self.name

    @property
    def about(self) -> str:
        return self.head.about

    @property
    def seed(self) -> int:
        return self.head.seed

    @property
    def text(self) -> str:
        return self.toml.text


def find_study(given: str | Path) -> Path:
    """The file that is meant: a path, or the name of one that comes with assay."""
    path = Path(given).expanduser()
    if path.is_file():
        return path
    packaged = {file.stem: file for file in packaged_studies()}
    if str(given) in packaged:
        return packaged[str(given)]
    if path.is_dir():
        raise DataError("this is a folder.", "Name a study's TOML file.", file=path, code="unreadable-file")
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise DataError(
            "there is no such file.",
            "Name a study's TOML file; docs/studies.md says how to write one.",
            file=path,
            code="missing-file",
        )
    raise DataError(
        f"there is no study {str(given)!r}{near(str(given), packaged)}",
        f"Name a TOML file, or one that comes with assay: {', '.join(packaged)}.",
        code="bad-option",
        key="study",
    )


def packaged_studies() -> list[Path]:
    """The study files that come with assay."""
    return sorted(PACKAGED.glob("*.toml"))


def read_study(path: Path) -> StudyFile:
    """The study of a TOML file."""
    file = TomlFile.read(path, "A study is a TOML file; docs/studies.md says how to write one.")
    file.require_keys(file.content, ("study", "models", "runs"))
    head = file.table(About, "study") if "study" in file.content else About()
    if not _NAME.fullmatch(head.name or path.stem):
        raise file.error(
            f'"name" is {head.name or path.stem!r}.',
            "Use letters, digits, dots, dashes and underscores.",
            "study",
            "name",
            code="bad-value",
        )
    models = file.content.get("models", {})
    if not isinstance(models, Mapping):
        raise file.error('"models" is no table.', "Begin each with [models.NAME].", "models", code="bad-value")
    if not models:
        raise file.error(
            "there are no models.",
            'Add at least one, such as [models.base] with spec = "builtin".',
            code="missing-key",
            key="models",
        )
    runs = [_runs(file, number) for number in range(file.tables("runs"))]
    return StudyFile(file, head, {name: _model(file, name) for name in models}, runs)


def _model(file: TomlFile, name: str) -> Model:
    table = file.content["models"][name]
    if not _NAME.fullmatch(name) or "--" in name or is_bare(name):
        why = "also the name of a kind of model" if is_bare(name) else "no name for a folder"
        raise file.error(f"{name!r} is {why}.", _NAMED, "models", name, code="bad-value")
    given = [how for how in _KEYS if isinstance(table, Mapping) and how in table]
    if len(given) != 1:
        found = "none of them is there" if not given else f"there are {' and '.join(given)}"
        raise file.error(
            f"expected one of spec, train and debias; {found}.",
            'A ready model has spec = "builtin" or "hf:…", others are trained or debiased.',
            *("models", name),
            code="bad-value" if given else "missing-key",
        )
    needed, others = _KEYS[given[0]]
    model = file.table(Model, "models", name, keys=(*needed, *others), needed=needed, file=file, name=name)
    if model.train:
        file.require_one_of(model.train, KINDS, "models", name, "train")
    if model.debias:
        file.require_one_of(model.debias, METHODS, "models", name, "debias")
        if model.attribute is None and not METHODS[model.debias].general:
            raise model.error(
                '"attribute" is missing.',
                f"Choose one of {', '.join(ATTRIBUTES)}.",
                code="missing-key",
                key="attribute",
            )
        if model.attribute is not None and model.attribute not in ATTRIBUTES and not model.words:
            raise model.error(
                f'"attribute" is {model.attribute!r}{near(model.attribute, ATTRIBUTES)}',
                f'Choose one of {", ".join(ATTRIBUTES)}, or give its words in a file: words = "…".',
                "attribute",
                code="bad-value",
            )
    return replace(model, title=model.title or name, settings=_settings(model.settings, model, "settings"))


def _runs(file: TomlFile, number: int) -> Runs:
    runs = file.table(Runs, "runs", number, file=file, number=number)
    for probe in runs.probes:
        file.require_one_of(probe, probes(), "runs", number, "probe")
    file.require_one_of(runs.preset, PRESETS, "runs", number, "preset")
    if runs.name is not None and (not _NAME.fullmatch(runs.name) or "--" in runs.name):
        raise runs.error(f'"name" is {runs.name!r}.', _NAMED, "name", code="bad-value")
    if runs.limit == 0:
        raise runs.error('"limit" is 0, expected at least 1 question.', "limit = 10000", "limit", code="bad-value")
    for key, values in runs.vary.items():
        if not isinstance(values, list) or len(values) < 2:
            raise runs.error(
                f'"vary": {key} is {values!r}, expected a list of at least two values.',
                "A setting with one value belongs into settings.",
                "vary",
                code="bad-value",
                key=key,
            )
        if key in runs.settings:
            raise runs.error(
                f'"{key}" is both in settings and in vary.',
                "Leave it out of settings.",
                "vary",
                code="duplicate",
                key=key,
            )
    vary = {key: [_settings({key: each}, runs, "vary")[key] for each in own] for key, own in runs.vary.items()}
    return replace(
        runs,
        settings=_settings(runs.settings, runs, "settings"),
        vary={key: tuple(dict.fromkeys(values)) for key, values in vary.items()},
    )


def _settings(table: Mapping[str, Any], entry: Model | Runs, key: str) -> dict[str, str]:
    """Settings as `--set` would give them: texts."""
    for name, value in table.items():
        if isinstance(value, list):
            raise entry.error(
                f'"{key}": {name} is a list.',
                f'Write {name} = "a,b" for one run with several, or vary = {{ {name} = [...] }} for a run with each.',
                key,
                code="bad-value",
                key=name,
            )
        if not isinstance(value, str | int | float):
            raise entry.error(
                f'"{key}": {name} is {value!r}, expected a text or a number.',
                f'{name} = "…"',
                key,
                code="bad-value",
                key=name,
            )
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in table.items()}


def _each(given: str | list[str]) -> tuple[str, ...]:
    """One text, or a list of them, each once."""
    return tuple(dict.fromkeys([given] if isinstance(given, str) else given))
