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

from assay.config.toml_file import Place, Table, Text, Texts, TomlFile, Truth, Whole
from assay.errors import DataError, suggest
from assay.files.paths import is_taken_everywhere
from assay.lab.debiasing import METHODS
from assay.lab.training import KINDS
from assay.models import is_bare
from assay.probes import probes
from assay.probes.base import PRESETS

PACKAGED = Path(__file__).parents[2] / "data" / "studies"
ATTRIBUTES = ("gender", "race", "religion")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_LIMITS = "no dot at the end, and no device of Windows (aux, con, …)."
_NAMED = f"Use letters, digits, dots, single dashes and underscores; {_LIMITS}"
_KEYS = {  # of each way to come about: what it needs, and what it may have
    "spec": (("spec",), ("base", "title", "baseline")),
    "train": (("train", "base", "data"), ("eval", "preset", "settings", "seed", "title", "baseline")),
    "debias": (("debias", "model", "corpus"), ("attribute", "words", "eval", "settings", "seed", "title", "baseline")),
}
_FILES = ("data", "eval", "corpus", "words")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A table of a study file."""

    file: TomlFile
    key_path: Place

    def error(
        self, problem: str, remedy: str, *inside: str, code: str = "bad-value", key: str | None = None
    ) -> DataError:
        return self.file.error(problem, remedy, *self.key_path, *inside, code=code, key=key)


@dataclass(frozen=True, kw_only=True)
class StudyModel(Entry):
    """A model of the study: ready (`spec`), trained (the kind of training) or debiased (the method)."""

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
        return next(key for key in _KEYS if getattr(self, key))

    @property
    def value(self) -> str:
        """Its spec, the kind of training or the debiasing method."""
        return self.spec or self.train or self.debias or ""

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

    @property
    def recipe(self) -> tuple[object, ...]:
        """What it was taught, whatever it was made from."""
        return self.how, self.value, self.data, self.preset, tuple(sorted(self.settings.items()))


@dataclass(frozen=True, kw_only=True)
class RunsEntry(Entry):
    """Some probes asked of some models, with some settings; `vary` gives a setting several values, each a run."""

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
        return _as_tuple(self.probe)

    @property
    def patterns(self) -> tuple[str, ...]:
        """Names of models, or patterns of them."""
        return _as_tuple(self.models)


@dataclass(frozen=True, kw_only=True)
class StudyFile:
    """What a study file says, and who came from whom in it: for what a page sets side by side.

    `seed` is that of all that say no other; `data` the folder that files are looked for in.
    """

    toml: TomlFile
    name: Text = ""
    title: Text = ""
    about: Text = ""
    seed: Whole = 0
    data: Text | None = None
    models: Mapping[str, StudyModel] = field(default_factory=dict)
    runs: Sequence[RunsEntry] = ()

    def above(self, name: str) -> list[StudyModel]:
        """The models that this one was made from, the nearest first; not itself."""
        source = self.models[name].source
        return [] if source is None else [self.models[source], *self.above(source)]

    def methods(self, name: str) -> list[StudyModel]:
        """The debiasing that went into a model, the first first."""
        return [entry for entry in reversed([self.models[name], *self.above(name)]) if entry.debias]

    def baseline(self, name: str) -> str | None:
        """What a debiased model is compared with.

        The model that the file names; else what a post-hoc method changed; else the model with the same training whose
        base was not debiased, that with the same seed first.
        """
        entry = self.models[name]
        if entry.baseline is not None:
            return entry.baseline
        if not self.methods(name):
            return None
        if entry.debias:
            return entry.source
        plain = next(model.name for model in self.above(name) if not self.methods(model.name))
        siblings = (model for model in self.models.values() if model.source == plain and model.train)
        twins = [model for model in siblings if model.recipe == entry.recipe]
        return min(twins, key=lambda twin: twin.seed != entry.seed).name if twins else None


def find_study(name: str | Path) -> Path:
    """The file that is meant: a path, or the name of one that comes with assay."""
    path, packaged = Path(name).expanduser(), {file.stem: file for file in packaged_studies()}
    if path.is_file():
        return path
    if str(name) in packaged:
        return packaged[str(name)]
    if path.is_dir():
        raise DataError("this is a folder.", "Name a study's TOML file.", file=path, code="unreadable-file")
    if path.suffix == ".toml" or len(path.parts) > 1:
        remedy = "Name a study's TOML file; docs/studies.md says how to write one."
        raise DataError("there is no such file.", remedy, file=path, code="missing-file")
    problem = f"there is no study {str(name)!r}{suggest(str(name), packaged)}"
    remedy = f"Name a TOML file, or one that comes with assay: {', '.join(packaged)}."
    raise DataError(problem, remedy, code="bad-option", key="study")


def packaged_studies() -> list[Path]:
    """The study files that come with assay."""
    return sorted(PACKAGED.glob("*.toml"))


def read_study(path: Path) -> StudyFile:
    """The study of a TOML file."""
    file = TomlFile.read(path, "A study is a TOML file; docs/studies.md says how to write one.")
    file.require_keys(file.content, ("study", "models", "runs"))
    head = StudyFile(toml=file)
    if "study" in file.content:
        head = file.table(StudyFile, "study", keys=("name", "title", "about", "seed", "data"), toml=file)
    name = head.name or path.stem
    if not _is_name(name):
        remedy = f"Use letters, digits, dots, dashes and underscores; {_LIMITS}"
        raise file.error(f'"name" is {name!r}.', remedy, "study", "name")
    models = file.content.get("models", {})
    if not isinstance(models, Mapping):
        raise file.error('"models" is not a table.', "Start each model with [models.NAME].", "models")
    if not models:
        remedy = 'Add at least one, such as [models.base] with spec = "builtin".'
        raise file.error("there are no models.", remedy, code="missing-key", key="models")
    folders: dict[str, str] = {}
    for model in models:
        if (namesake := folders.setdefault(model.casefold(), model)) != model:
            problem = f"{model!r} and {namesake!r} would have the same folder on systems that ignore capitals."
            raise file.error(problem, "Give one of them another name.", "models", model, code="duplicate")
    runs = [_runs(file, number) for number in range(file.tables("runs"))]
    read = {model: _model(file, model) for model in models}
    return replace(head, name=name, title=head.title or name, models=read, runs=runs)


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and is_taken_everywhere(name)


def _model(file: TomlFile, name: str) -> StudyModel:
    table, key_path = file.content["models"][name], ("models", name)
    if not _is_name(name) or "--" in name or is_bare(name):
        reason = "also the name of a kind of model" if is_bare(name) else "not a valid folder name"
        raise file.error(f"{name!r} is {reason}.", _NAMED, *key_path)
    origins = [key for key in _KEYS if isinstance(table, Mapping) and key in table]
    if len(origins) != 1:
        got = f"got {' and '.join(origins)}" if origins else "got none"
        remedy = 'A ready model has spec = "builtin" or "hf:…"; others are trained or debiased.'
        code = "bad-value" if origins else "missing-key"
        raise file.error(f"expected one of spec, train and debias; {got}.", remedy, *key_path, code=code)
    needed, others = _KEYS[origins[0]]
    model = file.table(
        StudyModel, *key_path, keys=(*needed, *others), needed=needed, file=file, key_path=key_path, name=name
    )
    if model.train:
        file.require_one_of(model.train, KINDS, *key_path, "train")
    if model.debias:
        file.require_one_of(model.debias, METHODS, *key_path, "debias")
        _require_attribute(model, METHODS[model.debias].general)
    return replace(model, title=model.title or name, settings=_settings(model.settings, model, "settings"))


def _require_attribute(model: StudyModel, optional: bool) -> None:
    attribute, choose = model.attribute, f"Choose one of {', '.join(ATTRIBUTES)}"
    if attribute is None and not optional:
        raise model.error('"attribute" is missing.', f"{choose}.", code="missing-key", key="attribute")
    if attribute is not None and attribute not in ATTRIBUTES and not model.words:
        remedy = f'{choose}, or give its words in a file: words = "…".'
        raise model.error(f'"attribute" is {attribute!r}{suggest(attribute, ATTRIBUTES)}', remedy, "attribute")


def _runs(file: TomlFile, number: int) -> RunsEntry:
    key_path = ("runs", number)
    runs = file.table(RunsEntry, *key_path, file=file, key_path=key_path)
    for probe in runs.probes:
        file.require_one_of(probe, probes(), *key_path, "probe")
    file.require_one_of(runs.preset, PRESETS, *key_path, "preset")
    if runs.name is not None and (not _is_name(runs.name) or "--" in runs.name):
        raise runs.error(f'"name" is {runs.name!r}.', _NAMED, "name")
    if runs.limit == 0:
        raise runs.error('"limit" is 0, expected at least 1 question.', "limit = 10000", "limit")
    for key, values in runs.vary.items():
        if not isinstance(values, list) or len(values) < 2:
            problem = f'"vary": {key} is {values!r}, expected a list of at least two values.'
            raise runs.error(problem, "Put a setting with one value into settings.", "vary", key=key)
        if key in runs.settings:
            problem = f'"{key}" is both in settings and in vary.'
            raise runs.error(problem, "Leave it out of settings.", "vary", code="duplicate", key=key)
    vary = {key: [_settings({key: value}, runs, "vary")[key] for value in values] for key, values in runs.vary.items()}
    return replace(
        runs,
        settings=_settings(runs.settings, runs, "settings"),
        vary={key: tuple(dict.fromkeys(values)) for key, values in vary.items()},
    )


def _settings(table: Mapping[str, Any], entry: Entry, key: str) -> dict[str, str]:
    """Settings as `--set` would give them: texts."""
    for name, value in table.items():
        if isinstance(value, list):
            remedy = (
                f'Write {name} = "a,b" for one run with several, or vary = {{ {name} = [...] }} for a run with each.'
            )
            raise entry.error(f'"{key}": {name} is a list.', remedy, key, key=name)
        if not isinstance(value, str | int | float):
            problem = f'"{key}": {name} is {value!r}, expected a text or a number.'
            raise entry.error(problem, f'{name} = "…"', key, key=name)
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in table.items()}


def _as_tuple(value: str | list[str]) -> tuple[str, ...]:
    """One text, or a list of them, each once."""
    return tuple(dict.fromkeys([value] if isinstance(value, str) else value))
