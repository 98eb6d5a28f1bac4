"""The steps of a study: a model made, a probe run on one, two runs compared.

Every step is made once from the file (`schedule.py`), prepared before anything runs (`prepare.py`), and done, in this
process or in another one. Nothing is noted here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from assay.asking.plan import digest_of
from assay.asking.progress import Progress
from assay.config.settings import names_of
from assay.engine.ask import Resume
from assay.errors import AssayError, DataError, UsageError
from assay.files.atomic import write_atomically
from assay.files.decoding import json_value
from assay.files.opening import digest_as_stored, read_whole
from assay.lab.debiasing import METHODS
from assay.lab.studies.study_file import RunsEntry, StudyModel
from assay.lab.training import KINDS
from assay.lab.training.training_kind import preset_of, settings_of
from assay.models.base import AUTO, Options
from assay.probes import probes
from assay.probes.base import Request
from assay.results.findings import Estimate

if TYPE_CHECKING:
    from assay.lab.studies.prepare import Study
    from assay.lab.studies.step_context import StepContext

RECIPE = 1
"""Raise it when the same recipe would give another model or run."""

COMPARISON = "comparison.json"
"""What `assay compare --json` prints, in the folder of a comparison."""


@dataclass(eq=False)
class Step(ABC):
    """Something that a study does. `needs` are the models and runs that have to be there first.

    `content`, once it is prepared, has everything that decides what comes of it, and `size` how large it is, in its own
    terms. `kind` is what people call it; `part` the part of study.json about its kind, `home` the folder with theirs.
    """

    kind: ClassVar[str]
    part: ClassVar[str]
    home: ClassVar[str]

    name: str
    needs: tuple[str, ...]
    content: Mapping[str, Any] = field(default_factory=dict, init=False)
    size: Mapping[str, int] = field(default_factory=dict, init=False)

    @property
    def recipe(self) -> str:
        """The digest of its content."""
        return digest_of(dict(self.content))

    def folder(self, out: Path) -> Path:
        return out / self.home / self.name

    def prepare(self, study: Study) -> None:
        """Find what it names and check it, before anything runs; a wrong thing is an error with its line."""
        if not self.content:
            self.content = {"recipe": RECIPE, **self._content(study)}

    @abstractmethod
    def _content(self, study: Study) -> dict[str, Any]: ...

    @abstractmethod
    def is_done(self, folder: Path, entry: Mapping[str, Any]) -> bool:
        """Whether its folder is whole; `entry` is what study.json says of it."""

    def can_go_on(self, work: StepContext, folder: Path) -> bool:
        """Whether what was begun may be gone on with."""
        return True

    @property
    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What study.json records besides its recipe."""

    @abstractmethod
    def __str__(self) -> str:
        """What it does and how large it is, in a line."""

    @abstractmethod
    def do(self, work: StepContext, folder: Path, progress: Progress) -> dict[str, Any]:
        """Do it; returns what study.json shall say."""


@dataclass(eq=False)
class MakeModel(Step):
    """A model to train or to debias."""

    kind, part, home = "model", "models", "models"

    model: StudyModel
    files: dict[str, Path] = field(default_factory=dict, init=False)
    seed: int = field(default=0, init=False)

    def _content(self, study: Study) -> dict[str, Any]:
        model = self.model
        self.files = {key: study.find_file(name, key, model) for key, name in model.files.items()}
        self._check()
        self.size = {"bytes": sum(study.size(self.files[key]) for key in ("data", "corpus") if key in self.files)}
        self.seed = study.file.seed if model.seed is None else model.seed
        return {
            "how": [model.how, model.value, model.attribute],
            "source": study.identity(model.source or ""),
            "files": {key: study.digest(path) for key, path in self.files.items()},
            "preset": model.preset,
            "settings": dict(model.settings),
            "seed": self.seed,
        }

    def _check(self) -> None:
        """Settings, preset and attribute words that exist."""
        model, key = self.model, "preset"
        try:
            if model.train:
                kind = KINDS[model.train]
                preset_of(kind, model.preset)
                key = "settings"
                settings_of(kind, model.preset, model.settings)
            else:
                method, key = METHODS[model.value], "settings"
                method.read_settings(model.settings)
                key = "attribute"
                if model.attribute is not None:
                    method.attribute(model.attribute, self.files.get("words"))
        except UsageError as error:
            raise model.error(error.problem, error.remedy, key, code=error.code, key=error.key) from None

    def is_done(self, folder: Path, entry: Mapping[str, Any]) -> bool:
        return _is_made(folder) and "digest" in entry

    @property
    def facts(self) -> dict[str, Any]:
        model = self.model
        return {"title": model.title, "how": model.how, "value": model.value, "source": model.source}

    def __str__(self) -> str:
        model, size = self.model, self.size["bytes"]
        large = f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:,.1f} kB"
        if model.train:
            return f"model  {self.name}: {model.source} trained for {model.value}, {large} of data"
        about = f" for {model.attribute}" if model.attribute else ""
        return f"model  {self.name}: {model.source} debiased by {model.value}{about}, {large} of text"

    def do(self, work: StepContext, folder: Path, progress: Progress) -> dict[str, Any]:
        model, files, scores = self.model, self.files, None
        if not _is_made(folder):  # it may only lack its note
            common: dict[str, Any] = {"settings": dict(model.settings), "seed": self.seed, "device": work.device}
            common |= {"dtype": work.dtype, "progress": progress}
            if model.train:
                common |= {"preset": model.preset, "evaluation": files.get("eval"), "resume": True}
                work.makers.train(model.value, work.specs[model.source or ""], files["data"], folder, **common)
            else:
                scores = self._debias(work, folder, common)
        spec = work.makers.find(work.specs[self.name], Options(device="cpu"))
        return {"digest": spec.digest, "scores": scores or _object(folder / "assay.json").get("scores")}

    def _debias(self, work: StepContext, folder: Path, common: dict[str, Any]) -> Mapping[str, Any] | None:
        """Returns the model's scores with their intervals; the method itself keeps values alone."""
        model, files, head = self.model, self.files, work.heads[self.name]
        seen: list[Mapping[str, Any]] = []
        evaluate = None
        if head is not None and "eval" in files:

            def evaluate(result: Path) -> dict[str, float]:
                seen.append(work.makers.evaluate(head, result, files["eval"], work.device))
                return {
                    name: estimate.value for name, estimate in scores_of(seen[-1]).items() if estimate.value is not None
                }

        common |= {"attribute": model.attribute, "corpus": files["corpus"], "words": files.get("words")}
        common |= {"evaluate": evaluate, "dtype": "auto" if METHODS[model.value].folded else work.dtype}
        work.makers.debias(model.value, work.specs[model.source or ""], folder, **common)
        return seen[-1] if seen else None


@dataclass(eq=False)
class RunProbe(Step):
    """A probe to run on a model. `varied` are the settings that tell it from its siblings."""

    kind, part, home = "run", "runs", "runs"

    runs: RunsEntry
    probe: str
    model: str
    settings: Mapping[str, str]
    varied: Mapping[str, str]
    request: Request = field(default_factory=Request, init=False)

    @property
    def questions_key(self) -> tuple[object, ...]:
        """What is asked, independent of the model."""
        runs, settings = self.runs, tuple(sorted(self.settings.items()))
        return self.probe, runs.name, runs.preset, runs.limit, runs.seed, runs.data, settings

    def naming(self, meaning: str) -> list[str]:
        """The settings in use that name a path, or a model."""
        return [name for name in names_of(probes()[self.probe].settings, meaning) if name in self.settings]

    def _content(self, study: Study) -> dict[str, Any]:
        runs = self.runs
        files = {key: study.find_file(self.settings[key], key, runs) for key in self.naming("path")}
        models = {key: self.settings[key] for key in self.naming("model")}
        settings = {
            **self.settings,
            **{key: str(path) for key, path in files.items()},
            **{key: study.spec(name) for key, name in models.items()},
        }
        seed = study.file.seed if runs.seed is None else runs.seed
        try:
            official = study.official_data(self.probe, runs)
            self.request = Request(runs.preset, runs.limit, seed, settings, official, runs.skip_bad)
            prepared = study.questions(self)
        except DataError:
            raise  # it names a file of the data
        except AssayError as error:
            problem = f"{self.probe} on {self.model}: {error.problem}"
            raise runs.error(problem, error.remedy, "settings", code=error.code, key=error.key) from None
        self.size = {"questions": sum(stage.questions for stage in prepared.stages)}
        named = {name for meaning in ("path", "model") for name in names_of(probes()[self.probe].settings, meaning)}
        return {
            "probe": self.probe,
            "model": study.identity(self.model),
            "others": {key: study.identity(name) for key, name in models.items()},
            "size": runs.preset if runs.limit is None else runs.limit,
            "preset": runs.preset,
            "seed": seed,
            "settings": {key: value for key, value in prepared.settings.items() if key not in named},
            "files": {key: study.digest(path) for key, path in files.items()},
            "data": dict(prepared.data),
            "skip_bad": runs.skip_bad,
        }

    def is_done(self, folder: Path, entry: Mapping[str, Any]) -> bool:
        is_whole = "finished" in _object(folder / "run.json") and (folder / "findings.json").is_file()
        return is_whole and "finished" in entry

    def can_go_on(self, work: StepContext, folder: Path) -> bool:
        """With the same kind of device and numbers: answers of two devices do not go into one run."""
        spec = work.specs[self.model]
        now, began = work.makers.find(spec, work.options(spec)), _object(folder / "run.json").get("identity") or {}
        same_type = now.dtype == AUTO or began.get("dtype") in (None, now.dtype)  # if open, it is taken from the run
        return began.get("device") in (None, now.device.split(":")[0]) and same_type

    @property
    def questions(self) -> int:
        """How many are asked at most."""
        return self.size["questions"]

    @property
    def facts(self) -> dict[str, Any]:
        return {"probe": self.probe, "model": self.model, **self.size}

    def __str__(self) -> str:
        return f"run    {self.name}: at most {self.questions:,} questions"

    def do(self, work: StepContext, folder: Path, progress: Progress) -> dict[str, Any]:
        spec = work.specs[self.model]
        request = {
            key: getattr(self.request, key) for key in ("preset", "limit", "seed", "settings", "data", "skip_bad")
        }
        options = {"options": work.options(spec), "resume": Resume.ALWAYS, "progress": progress}
        work.makers.audit(spec, self.probe, out=folder, **request, **options)
        return {"findings": digest_as_stored(folder / "findings.json")}


@dataclass(eq=False)
class CompareRuns(Step):
    """Two runs to compare on what both were asked: how does the second model differ from the first?"""

    kind, part, home = "comparison", "comparisons", "compare"

    baseline: RunProbe
    run: RunProbe

    def folder(self, out: Path) -> Path:
        return out / self.home / self.run.name

    def _content(self, study: Study) -> dict[str, Any]:
        for run in (self.baseline, self.run):
            run.prepare(study)
        return {"runs": {run.name: run.recipe for run in (self.baseline, self.run)}}

    def is_done(self, folder: Path, entry: Mapping[str, Any]) -> bool:
        return (folder / COMPARISON).is_file() and "finished" in entry

    @property
    def facts(self) -> dict[str, Any]:
        return {"run": self.run.name, "baseline": self.baseline.name}

    def __str__(self) -> str:
        return f"pair   {self.name}: with {self.baseline.name}"

    def do(self, work: StepContext, folder: Path, progress: Progress) -> dict[str, Any]:
        comparison = work.makers.compare(self.baseline.folder(work.out), self.run.folder(work.out))
        from assay.compare.present import present_comparison, title_of
        from assay.report import write_page

        write_page(folder / "comparison.html", title_of(comparison), present_comparison(comparison), "comparison")
        write_atomically(folder / COMPARISON, comparison.to_json().encode())  # last: it says that all is there
        return {}


def scores_of(scores: Any) -> dict[str, Estimate]:
    """What a model scores over everything, by metric, from what it says of itself in assay.json; higher is better.

    >>> scores_of({"before": {"accuracy": 0.6}, "after": {"accuracy": 0.5}})["accuracy"].value
    0.5
    """
    scores = scores or {}
    debiased = [Estimate(name, {}, value) for name, value in scores.get("after", {}).items()]
    trained = [Estimate.from_json(estimate) for estimate in scores.get("estimates", ())]
    overall = [_higher_is_better(estimate) for estimate in trained if not estimate.group and estimate.value is not None]
    return {estimate.metric: estimate for estimate in debiased or overall}


def _higher_is_better(estimate: Estimate) -> Estimate:
    """Perplexity as the logarithm of a hidden word's mean probability, so that less is worse for every score."""
    if estimate.metric != "perplexity":
        return estimate
    value, low, high = (None if x is None else -math.log(x) for x in (estimate.value, estimate.high, estimate.low))
    return replace(estimate, metric="log_likelihood", value=value, low=low, high=high, floor=None)


def _is_made(folder: Path) -> bool:
    """Whether a model's folder is finished: its assay.json is written last, or says so."""
    report = _object(folder / "assay.json")
    return bool(report) and bool(report.get("finished", True)) and (folder / "config.json").is_file()


def _object(path: Path) -> Mapping[str, Any]:
    """A JSON object; empty where there is none."""
    try:
        content = json_value(read_whole(path))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
