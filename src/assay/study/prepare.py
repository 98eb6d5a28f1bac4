"""A study made ready: files found, settings tried, sizes counted, recipes digested; all before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from assay.data.official import data_folder
from assay.errors import AssayError, DataError, UsageError
from assay.plan import Plan, digest_of
from assay.probes import PROBES, Probe, Request, Stage, make_probe
from assay.queries import Answers
from assay.study.file import ModelEntry, StudyFile
from assay.study.makers import Makers
from assay.study.order import (
    MODEL_SETTINGS,
    Cell,
    Entry,
    Known,
    Order,
    Pair,
    needs_of,
    order_study,
    with_abilities,
)
from assay.study.places import Places, digest_of_place, size_of_place
from assay.study.ready import Finder, Ready
from assay.training.settings import KINDS

RECIPE = 1
"""Raise it when the same recipe would give another model or run."""

PATH_SETTINGS = ("groups", "texts", "traits", "human", "word_lists", "metadata")
"""Settings of probes that name files."""

_OWN_PAPERS_DATA = {"sodapop", "sodapop-names"}
"""Probes that read official data in the preset paper only."""


@dataclass(frozen=True)
class ToMake:
    """A model to make: its files, and the digest of everything that decides what it becomes."""

    entry: ModelEntry
    files: Mapping[str, Path]
    seed: int
    recipe: str
    content: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def needs(self) -> Sequence[str]:
        return needs_of(self.entry)

    @property
    def size(self) -> int:
        """Bytes to learn from."""
        return sum(size_of_place(path) for key, path in self.files.items() if key in ("data", "corpus"))


@dataclass(frozen=True)
class ToRun:
    """A run: what is asked, how much of it at most, and the digest of all that decides the findings."""

    cell: Cell
    request: Request
    stages: Sequence[Stage]
    recipe: str
    content: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.cell.name

    @property
    def needs(self) -> Sequence[str]:
        return needs_of(self.cell)

    @property
    def questions(self) -> int:
        return sum(stage.questions for stage in self.stages)


@dataclass(frozen=True)
class ToCompare:
    """Two runs to compare on what both were asked: how does the second model differ from the first?"""

    pair: Pair
    recipe: str
    content: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.pair.name

    @property
    def needs(self) -> Sequence[str]:
        return needs_of(self.pair)


Step = ToMake | ToRun | ToCompare


@dataclass(frozen=True)
class Prepared:
    """A study that can be run: steps in their order, each by its name."""

    file: StudyFile
    whole: Order  # of everything in the file, whatever was chosen
    steps: Sequence[Step]
    ready: Mapping[str, Ready]
    abilities: Known
    out: Path

    def head_of(self, name: str) -> str | None:
        """The kind of training behind a model's head: who evaluates it has to know."""
        return next((kind for kind in KINDS if kind in (self.abilities[name] or ())), None)

    def spec_of(self, name: str) -> str:
        """A model's name for assay: as it is written in the file, or the folder that it is made in."""
        return self.ready[name].spec if name in self.ready else f"hf:{model_folder(self.out, name)}"


def model_folder(out: Path, name: str) -> Path:
    return out / "models" / name


def run_folder(out: Path, name: str) -> Path:
    return out / "runs" / name


def comparison_folder(out: Path, run: str) -> Path:
    """Where a run is compared with that of its model's baseline."""
    return out / "compare" / run


def prepare(
    file: StudyFile,
    out: Path,
    *,
    data: str | Path | None = None,
    only: Sequence[str] = (),
    makers: Makers | None = None,
    fetch: bool = False,
) -> Prepared:
    """Find and check everything that a study needs; what is wrong is a DataError that names file, place and remedy.

    `fetch` finds models of the hub, too, which downloads them; else what they can do is taken on trust.
    """
    makers, places = makers or Makers(), Places.of(file, data)
    finder = Finder(file, makers)
    abilities: dict[str, frozenset[str] | None] = {}

    def known(models: Sequence[ModelEntry]) -> Known:
        abilities.update(with_abilities(models, finder.abilities))
        return abilities

    whole = order_study(file, known)
    if fetch:
        wanted = {name for step in whole.only(only).steps for name in _ancestry(step, file)}
        finder.fetch({name for name in wanted if file.models[name].how == "spec"})
        whole = order_study(file, known)
    study = _Study(file, out.absolute(), places, makers, finder, abilities)
    steps = [study.step(entry) for entry in whole.only(only).steps]
    ready = {name: finder.ready(entry) for name, entry in file.models.items() if not entry.made}
    return Prepared(file, whole, steps, ready, abilities, out.absolute())


def _ancestry(step: Entry, file: StudyFile) -> list[str]:
    """The models that a step has to do with."""
    if isinstance(step, Pair):
        return [*_ancestry(step.baseline, file), *_ancestry(step.run, file)]
    waiting = [*step.needs] if isinstance(step, Cell) else [step.name]
    for name in waiting:
        source = file.models[name].source
        if source is not None and file.models[name].made:
            waiting.append(source)
    return waiting


@dataclass
class _Study:
    """What turns entries into what can be made and run."""

    file: StudyFile
    out: Path
    places: Places
    makers: Makers
    finder: Finder
    abilities: Known
    _made: dict[str, ToMake] = field(default_factory=dict)
    _asked: dict[str, ToRun] = field(default_factory=dict)
    _digests: dict[Path, str] = field(default_factory=dict)
    _probes: dict[str, Probe] = field(default_factory=dict)

    def step(self, entry: Entry) -> Step:
        if isinstance(entry, Pair):
            return self.to_compare(entry)
        return self.to_run(entry) if isinstance(entry, Cell) else self.to_make(entry)

    def to_compare(self, pair: Pair) -> ToCompare:
        runs = {cell.name: self.to_run(cell).recipe for cell in (pair.baseline, pair.run)}
        content = {"recipe": RECIPE, "runs": runs}
        return ToCompare(pair, digest_of(content), content)

    def to_make(self, entry: ModelEntry) -> ToMake:
        if entry.name in self._made:
            return self._made[entry.name]
        assert entry.source is not None  # the file's reader has seen to it
        files = {key: self.places.find(written, key, entry.place) for key, written in entry.files.items()}
        try:
            if entry.how == "train":
                self.makers.check_train(entry.value, entry.preset, entry.settings)
            else:
                self.makers.check_debias(entry.value, entry.settings, entry.attribute, files.get("words"))
        except UsageError as error:
            key = "preset" if "preset" in error.problem else "settings"
            raise entry.place.error(error.problem, error.remedy, key) from None
        seed = self.file.seed if entry.seed is None else entry.seed
        content = {
            "recipe": RECIPE,
            "how": [entry.how, entry.value, entry.attribute],
            "source": self.identity(entry.source),
            "files": {key: self.digest(path) for key, path in files.items()},
            "preset": entry.preset,
            "settings": dict(entry.settings),
            "seed": seed,
        }
        self._made[entry.name] = ToMake(entry, files, seed, digest_of(content), content)
        return self._made[entry.name]

    def to_run(self, cell: Cell) -> ToRun:
        if cell.name not in self._asked:
            self._asked[cell.name] = self._to_run(cell)
        return self._asked[cell.name]

    def _to_run(self, cell: Cell) -> ToRun:
        run = cell.run
        files = {
            key: self.places.find(cell.settings[key], key, run.place) for key in PATH_SETTINGS if key in cell.settings
        }
        others = {key: self._spec(cell.settings[key]) for key in MODEL_SETTINGS if key in cell.settings}
        settings = {**cell.settings, **{key: str(path) for key, path in files.items()}, **others}
        seed = self.file.seed if run.seed is None else run.seed
        try:
            request = Request(run.preset, run.limit, seed, settings, self._data(cell), run.skip_bad)
            probe = self._probe(cell.probe, request)
            stages = probe.stages(
                _Expected(self._expected(cell), {self._spec(n): self.abilities[n] for n in cell.others})
            )
        except DataError:
            raise  # it names a file of the data
        except AssayError as error:
            raise run.place.error(f"{cell.probe} on {cell.model}: {error.problem}", error.remedy) from None
        told = {
            key: value
            for key, value in probe.settings().items()
            if key not in PATH_SETTINGS and key not in MODEL_SETTINGS
        }
        content = {
            "recipe": RECIPE,
            "probe": cell.probe,
            "model": self.identity(cell.model),
            "others": {key: self._identity_of(cell.settings[key]) for key in others},
            "size": run.preset if run.limit is None else run.limit,
            "preset": run.preset,
            "seed": seed,
            "settings": told,
            "files": {key: self.digest(path) for key, path in files.items()},
            "data": dict(probe.data()),
            "skip_bad": run.skip_bad,
        }
        return ToRun(cell, request, tuple(stages), digest_of(content), content)

    def identity(self, name: str) -> str:
        """What tells a model apart before it is there: a digest, a name at the hub, or the digest of its recipe."""
        entry = self.file.models[name]
        return self.to_make(entry).recipe if entry.made else self.finder.ready(entry).identity

    def digest(self, path: Path) -> str:
        if path not in self._digests:
            self._digests[path] = digest_of_place(path)
        return self._digests[path]

    def _spec(self, name: str) -> str:
        entry = self.file.models.get(name)
        if entry is None:
            return name
        return f"hf:{model_folder(self.out, name)}" if entry.made else self.finder.ready(entry).spec

    def _identity_of(self, name: str) -> str:
        return self.identity(name) if name in self.file.models else name

    def _probe(self, name: str, request: Request) -> Probe:
        """Set up once for all cells with the same questions, since that may read and digest large files.

        Not where it keeps what it learnt about a model: UnQover's plans depend on what the model can do.
        """
        key = repr((name, request))
        if name == "unqover":
            return make_probe(name, request)
        if key not in self._probes:
            self._probes[key] = make_probe(name, request)
        return self._probes[key]

    def _expected(self, cell: Cell) -> frozenset[str]:
        """What the model of a cell can do; where that is not known yet, all that the probe could use of it."""
        known = self.abilities[cell.model]
        if known is not None:
            return known
        form = cell.settings.get("form")
        able = PROBES[cell.probe].abilities | {"choice", "fill", "embed"}
        return (able - PROBES[cell.probe].abilities) | {form} if form in PROBES[cell.probe].abilities else able

    def _data(self, cell: Cell) -> Path | None:
        run = cell.run
        if run.data is not None:
            return self.places.find(run.data, "data", run.place)
        if cell.probe == "bbq" or (cell.probe in _OWN_PAPERS_DATA and run.preset == "paper" and run.limit is None):
            return self.places.data if self.places.named else data_folder().resolve()
        return None


@dataclass(frozen=True)
class _Expected:
    """Stands for a model that may not be there yet: it can do these things, and every word is one token to it."""

    abilities: frozenset[str]
    others: Mapping[str, frozenset[str] | None]

    def of(self, model: str) -> _Expected:
        known = self.others.get(model)
        return _Expected(frozenset({"fill", "mask"}) if known is None else known, {})

    def __call__(self, plan: Plan, label: str) -> Answers:
        if plan.ability != "word":
            raise UsageError(f"{label} cannot be counted before the model is there.", "Ask fewer things.")
        count = len(plan)
        arrays: Mapping[str, Any] = {"pieces": np.ones(count, np.int32), "key": np.arange(count, dtype=np.int64)}
        return Answers(np.zeros(count, np.uint8), dict(arrays))
