"""A study made ready: files found, settings tried, sizes counted, recipes digested; all before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from assay.engine.store import digest_of_arrays
from assay.errors import UsageError
from assay.files.published import data_folder
from assay.lab.studies.data_files import Places, digest_of_place
from assay.lab.studies.file import Model, Runs, StudyFile
from assay.lab.studies.makers import Makers
from assay.lab.studies.ready_models import ReadyModels
from assay.lab.studies.schedule import Known, Schedule, abilities_of, schedule_of
from assay.lab.studies.steps import RunProbe, Step
from assay.lab.studies.work import Work
from assay.lab.training import kind_of
from assay.plan import AnyPlan, Arrays
from assay.probes import method_of, probes
from assay.probes.base import Prepared as Questions
from assay.queries import Answers


@dataclass
class Study:
    """A study that can be run: the schedule of everything in the file, and the chosen `steps`, prepared."""

    file: StudyFile
    out: Path
    places: Places
    makers: Makers
    ready: ReadyModels
    schedule: Schedule
    abilities: Known
    steps: Sequence[Step] = ()
    _digests: dict[Path, str] = field(default_factory=dict)
    _questions: dict[str, Questions] = field(default_factory=dict)

    def work(self, device: str, dtype: str) -> Work:
        """What a step needs, here or in another process."""
        kinds = {name: kind_of(able or ()) for name, able in self.abilities.items()}
        heads = {name: kind.name if kind else None for name, kind in kinds.items()}
        return Work(self.out, self.makers, {name: self.spec(name) for name in self.file.models}, heads, device, dtype)

    def spec(self, name: str) -> str:
        """A model's name for assay: as the file has it, or the folder that it is made in; others have it already."""
        model = self.file.models.get(name)
        if model is None:
            return name
        return f"hf:{self.out / 'models' / name}" if model.made else self.ready.of(model).spec

    def identity(self, name: str) -> str:
        """What tells a model apart before it is there: a digest, a name at the hub, or the digest of its recipe."""
        model = self.file.models.get(name)
        if model is None:
            return name
        if not model.made:
            return self.ready.of(model).identity
        step = next(step for step in self.schedule.steps if step.name == name)
        step.prepare(self)
        return step.recipe

    def digest(self, path: Path) -> str:
        if path not in self._digests:
            self._digests[path] = digest_of_place(path)
        return self._digests[path]

    def official_data(self, probe: str, runs: Runs) -> Path | None:
        """The official data that a run needs, if it needs any."""
        if runs.data is not None:
            return self.places.find(runs.data, "data", runs)
        if probes()[probe].official(runs.preset, runs.limit):
            return self.places.data if self.places.named else data_folder().resolve()
        return None

    def questions(self, run: RunProbe) -> Questions:
        """What a run asks; set up once for all runs with the same questions, since that may read large files."""
        others = {self.spec(name): self.abilities[name] for name in run.needs[1:]}
        expected = _Expected(self._expected(run), others)
        key = repr((run.probe, run.request, sorted(expected.abilities), others))
        if key not in self._questions:
            self._questions[key] = method_of(run.probe).prepare(run.request, expected)
        return self._questions[key]

    def _expected(self, run: RunProbe) -> frozenset[str]:
        """What the model of a run can do; where that is not known yet, all that the probe could use of it."""
        known, asked = self.abilities[run.model], probes()[run.probe].abilities
        if known is not None:
            return known
        form = run.settings.get("form")
        able = asked | {"choice", "fill", "embed"}
        return (able - asked) | {form} if form in asked else able


def prepare(
    file: StudyFile,
    out: Path,
    *,
    data: str | Path | None = None,
    only: Sequence[str] = (),
    makers: Makers | None = None,
    fetch: bool = False,
) -> Study:
    """Everything that can be wrong is found here, and said with its file, place and remedy.

    `fetch` finds models of the hub, too, which downloads them; else what they can do is taken on trust.
    """
    makers, places = makers or Makers(), Places.of(file, data)
    ready = ReadyModels(file, makers)
    abilities: dict[str, frozenset[str] | None] = {}

    def known(models: Sequence[Model]) -> Known:
        abilities.update(abilities_of(models, ready.abilities))
        return abilities

    schedule = schedule_of(file, known)
    if fetch:
        needed = {name for step in schedule.only(only) for name in step.needs}
        ready.fetch([model for name, model in file.models.items() if name in needed and not model.made])
        schedule = schedule_of(file, known)
    for model in file.models.values():
        if not model.made:
            ready.of(model)
    study = Study(file, out.absolute(), places, makers, ready, schedule, abilities, schedule.only(only))
    for step in study.steps:
        step.prepare(study)
    return study


@dataclass(frozen=True)
class _Expected:
    """Stands for a model that may not be there yet: it can do these things, and every word is one token to it."""

    abilities: frozenset[str]
    others: Mapping[str, frozenset[str] | None]

    def of(self, model: str) -> _Expected:
        known = self.others.get(model)
        return _Expected(frozenset({"fill", "mask"}) if known is None else known, {})

    def keep(self, arrays: Arrays) -> str:
        return digest_of_arrays(arrays)

    def __call__(self, plan: AnyPlan, label: str) -> Answers:
        if plan.ability != "word":
            raise UsageError(
                f"{label} cannot be counted before the model is there.", "Ask fewer things.", code="unsupported"
            )
        count = len(plan)
        arrays: Mapping[str, Any] = {"pieces": np.ones(count, np.int32), "key": np.arange(count, dtype=np.int64)}
        return Answers(np.zeros(count, np.uint8), dict(arrays))
