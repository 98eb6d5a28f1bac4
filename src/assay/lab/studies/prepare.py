"""A study made ready: files and models found, settings tried, sizes counted, recipes digested; before anything runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.asking.plan import AnyPlan, Arrays
from assay.asking.queries import Answers
from assay.datasets.catalogue import data_folder
from assay.engine.store import digest_of_arrays
from assay.errors import DataError, UsageError
from assay.files.opening import PACKED, digest_of_file
from assay.lab.studies.schedule import Schedule, schedule_of
from assay.lab.studies.step_context import StepContext, StudyActions
from assay.lab.studies.steps import RunProbe, Step
from assay.lab.studies.study_file import PACKAGED, Entry, RunsEntry, StudyFile, StudyModel
from assay.lab.training import kind_of
from assay.lab.training.choice import labels_file
from assay.models import is_name, known_names
from assay.models.base import ModelSpec, Options
from assay.probes import method_of, probes
from assay.probes.base import Prepared as Questions


@dataclass(frozen=True)
class ReadyModel:
    """A model that need not be made: its name for assay, what tells it apart, and its spec once it was found.

    A hub's is not fetched for this, and is told apart by its name there, fetched or not: pin a revision in it.
    """

    spec: str
    identity: str
    model_spec: ModelSpec | None


@dataclass
class Study:
    """A study that can be run: the schedule of everything in the file, and the chosen `steps`, prepared.

    `folders` are those in which files are looked for; `ready` has the models that need not be made.
    """

    file: StudyFile
    out: Path
    folders: Sequence[Path]
    makers: StudyActions
    schedule: Schedule = field(init=False)
    steps: Sequence[Step] = ()
    ready: dict[str, ReadyModel] = field(default_factory=dict)
    _digests: dict[Path, str] = field(default_factory=dict)
    _questions: dict[str, Questions] = field(default_factory=dict)

    def work(self, device: str, dtype: str) -> StepContext:
        """What a step needs, here or in another process."""
        kinds = {name: kind_of(able or ()) for name, able in self.schedule.abilities.items()}
        heads = {name: kind.name if kind else None for name, kind in kinds.items()}
        return StepContext(
            self.out, self.makers, {name: self.spec(name) for name in self.file.models}, heads, device, dtype
        )

    # --- models

    def spec(self, name: str) -> str:
        """A model's name for assay: as the file has it, or the folder that it is made in; others have it already."""
        model = self.file.models.get(name)
        if model is None:
            return name
        return self.ready[name].spec if model.spec else f"hf:{self.out / 'models' / name}"

    def identity(self, name: str) -> str:
        """What tells a model apart before it is there: a digest, a name at the hub, or the digest of its recipe."""
        model = self.file.models.get(name)
        if model is None:
            return name
        if model.spec:
            return self.ready[name].identity
        step = next(step for step in self.schedule.steps if step.name == name)
        step.prepare(self)
        return step.recipe

    def fetch(self, models: Sequence[StudyModel]) -> None:
        for model in models:
            ready = self.ready[model.name]
            if ready.model_spec is None:
                self.ready[model.name] = replace(ready, model_spec=self._find(model, ready.spec))

    def abilities(self, model: StudyModel) -> frozenset[str] | None:
        """What a ready model can do: the built-in one and those in folders are found at once, a hub's when fetched."""
        if model.name not in self.ready:
            if not is_name(model.value):
                problem = f'"spec" is {model.value!r}, expected {known_names()}.'
                raise model.error(problem, 'spec = "builtin"', "spec", code="unknown-model")
            kind, colon, rest = model.value.partition(":")
            is_path = rest.startswith((".", "/", "~"))
            folder = self.file.toml.path.resolve().parent / Path(rest).expanduser()
            spec = f"{kind}:{folder.resolve()}" if is_path else model.value
            model_spec = self._find(model, spec) if is_path or not colon else None
            self.ready[model.name] = ReadyModel(spec, model_spec.digest if model_spec else spec, model_spec)
        model_spec = self.ready[model.name].model_spec
        return None if model_spec is None else model_spec.abilities

    def _find(self, model: StudyModel, spec: str) -> ModelSpec:
        try:
            return self.makers.find(spec, Options(device="cpu"))  # which does not look for devices
        except UsageError as error:
            raise model.error(error.problem, error.remedy, "spec", code=error.code) from None

    # --- files

    def find_file(self, name: str, key: str, entry: Entry) -> Path:
        """A file or folder that an entry names; a packed form of it (.gz, .xz) will do."""
        path = Path(name).expanduser()
        for folder in self.folders:
            for suffix in ("", *PACKED):
                candidate = folder / f"{path}{suffix}"
                if candidate.exists():
                    return candidate
        searched = " or ".join(map(str, self.folders))
        remedy = f"Put it there, or name the folder that contains {name}: --data DIR."
        if path.is_absolute():
            searched, remedy = str(path.parent), "Check the name."
        problem = f'"{key}" is {name!r}, but there is no such file or folder in {searched}.'
        raise entry.error(problem, remedy, key, code="missing-file")

    def official_data(self, probe: str, runs: RunsEntry) -> Path | None:
        """The official data that a run needs, if it needs any."""
        if runs.data is not None:
            return self.find_file(runs.data, "data", runs)
        return self.folders[0] if probes()[probe].data.needs_published(runs.preset, runs.limit) else None

    def digest(self, path: Path) -> str:
        """The digest of a file's content, with that of its labels; or of all files in a folder by their names."""
        if path not in self._digests:
            labels = labels_file(path) if path.is_file() else None
            files = _files(path) if labels is None else [path, labels]
            if files == [path]:
                self._digests[path] = digest_of_file(path)
            else:
                names = [file.name if path.is_file() else file.relative_to(path).as_posix() for file in files]
                lines = [f"{digest_of_file(file)}  {name}\n" for file, name in zip(files, names, strict=True)]
                self._digests[path] = hashlib.sha256("".join(lines).encode()).hexdigest()
        return self._digests[path]

    def size(self, path: Path) -> int:
        return sum(file.stat().st_size for file in _files(path))

    # --- questions

    def questions(self, run: RunProbe) -> Questions:
        """What a run asks; set up once for all runs with the same questions, since that may read large files."""
        others = {self.spec(name): self.schedule.abilities[name] for name in run.needs[1:]}
        usable, abilities = probes()[run.probe].abilities, self.schedule.abilities[run.model]
        if abilities is None:  # not known yet: all that the probe could use of it
            form = run.settings.get("form")
            able = usable | {"choice", "fill", "embed"}
            abilities = (able - usable) | {form} if form in usable else able
        expected = _ExpectedAsk(abilities, others)
        key = repr((run.probe, run.request, sorted(expected.abilities), others))
        if key not in self._questions:
            self._questions[key] = method_of(run.probe).prepare(run.request, expected)
        return self._questions[key]


def prepare(
    file: StudyFile, out: Path, makers: StudyActions, *, data: str | Path | None, only: Sequence[str], fetch: bool
) -> Study:
    """Everything that can be wrong is found here, and said with its file, place and remedy.

    `fetch` finds models of the hub, too, which downloads them; else what they can do is taken on trust.
    """
    study = Study(file, out.absolute(), _folders(file, data), makers)
    study.schedule = schedule_of(file, study.abilities)
    if fetch:
        needed = {name for step in study.schedule.only(only) for name in step.needs}
        study.fetch([model for name, model in file.models.items() if name in needed and model.spec])
        study.schedule = schedule_of(file, study.abilities)
    study.steps = study.schedule.only(only)
    for step in study.steps:
        step.prepare(study)
    return study


def _folders(file: StudyFile, option: str | Path | None) -> list[Path]:
    """The data folder, then the study file's: that of those that come with assay holds nothing else.

    `given` (--data) comes before what the file says, and that before the usual data folder (ASSAY_DATA).
    """
    path = file.toml.path
    file_folder = path.resolve().parent
    folder = data_folder().resolve()
    if option is not None:
        folder = Path(option).expanduser().resolve()
        if not folder.is_dir():
            remedy = "Name the folder of the study's data: --data DIR."
            raise DataError("there is no such folder.", remedy, file=folder, code="missing-file", key="data")
    elif file.data is not None:
        folder = (file_folder / Path(file.data).expanduser()).resolve()
        if not folder.is_dir():
            problem = f'"data" is {file.data!r}, but {folder} is not a folder.'
            remedy = "Name another one with --data DIR."
            raise file.toml.error(problem, remedy, "study", "data", code="missing-file")
    return [folder] if path.parent == PACKAGED else [folder, file_folder]


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())


@dataclass(frozen=True)
class _ExpectedAsk:
    """Stands for a model that may not be there yet: it can do these things, and every word is one token to it."""

    abilities: frozenset[str]
    others: Mapping[str, frozenset[str] | None]
    ways: tuple[str, ...] = ()

    def of(self, model: str) -> _ExpectedAsk:
        abilities = self.others.get(model)
        return _ExpectedAsk(frozenset({"fill", "mask"}) if abilities is None else abilities, {})

    def keep(self, arrays: Arrays) -> str:
        return digest_of_arrays(arrays)

    def __call__(self, plan: AnyPlan, label: str) -> Answers:
        if plan.ability != "word":
            problem = f"{label} cannot be counted before the model exists."
            raise UsageError(problem, "Ask fewer things.", code="unsupported")
        count = len(plan)
        arrays: Mapping[str, Any] = {"pieces": np.ones(count, np.int32), "key": np.arange(count, dtype=np.int64)}
        return Answers(np.zeros(count, np.uint8), dict(arrays))
