"""What a study file's entries mean together: who is made from whom, what is asked of whom, and in which order.

Nothing is read or run here; what models can do is handed in as far as it is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product

from assay.asking.queries import ENDPOINT_ABILITIES
from assay.config.toml_file import said
from assay.errors import UsageError, suggest
from assay.lab.debiasing import METHODS
from assay.lab.studies.steps import CompareRuns, MakeModel, RunProbe, Step
from assay.lab.studies.study_file import Entry, RunsEntry, StudyFile, StudyModel
from assay.lab.training import KINDS
from assay.models import kinds
from assay.probes import probes

Known = Mapping[str, frozenset[str] | None]
"""What each model can do; None where that is not known before it is there."""

_SIGNS = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Schedule:
    """The steps, every one after what it needs; what models can do; notes on what was left out."""

    steps: Sequence[Step]
    runs: Sequence[RunProbe]
    abilities: Known
    notes: Sequence[str]

    def only(self, patterns: Sequence[str]) -> Sequence[Step]:
        """The steps whose names match a pattern, and those that they need; all steps if there is no pattern."""
        names = [step.name for step in self.steps]
        chosen: set[str] = set() if patterns else {*names}
        for pattern in patterns:
            fitting = [name for name in names if fnmatchcase(name, pattern)]
            if not fitting:
                problem = f"--only {pattern!r} matches no model and no run{suggest(pattern, names)}"
                raise UsageError(problem, "List the names with --dry-run.", code="bad-option", key="only")
            chosen.update(fitting)
        for step in reversed(self.steps):
            if step.name in chosen:
                chosen.update(step.needs)
        return [step for step in self.steps if step.name in chosen]


def schedule_of(file: StudyFile, ready: Callable[[StudyModel], frozenset[str] | None]) -> Schedule:
    """The order of a study; `ready` says what models can do that need not be made, once all names are right."""
    for model in file.models.values():
        for key, name in ((model.source_key, model.source), ("baseline", model.baseline)):
            if name is not None:
                _require_model(name, key, file.models, model)
        if model.baseline == model.name:
            raise model.error("it is its own baseline.", "Name another model, or leave it out.", "baseline")
    models = _sources_first(file.models)
    abilities = _abilities(models, ready)
    for model in models:
        _require_makeable(model, abilities)
    notes: list[str] = []
    runs = _runs(file, abilities, notes)
    pairs = _pairs(runs, file, abilities, notes)
    return Schedule([*_models_and_runs(models, runs), *pairs], runs, abilities, notes)


def _abilities(models: Sequence[StudyModel], ready: Callable[[StudyModel], frozenset[str] | None]) -> Known:
    """What models can do, as far as it is known. Sources come first."""
    abilities: dict[str, frozenset[str] | None] = {}
    for model in models:
        if model.spec:
            abilities[model.name] = ready(model)
        elif model.train:
            abilities[model.name] = KINDS[model.train].abilities
        elif METHODS[model.value].folded:
            before = abilities[model.source or ""]
            several = before is not None and len(before & KINDS.keys()) > 1  # a folder has one of the built-in model's
            head = str(model.settings.get("head", getattr(METHODS[model.value].settings, "head", None)))
            abilities[model.name] = KINDS[head].abilities if several and head in KINDS else before
        else:
            abilities[model.name] = KINDS["mask"].abilities
    return abilities


def _require_model(name: str, key: str, models: Collection[str], entry: Entry) -> None:
    if name not in models:
        problem = f'"{key}" is {name!r}, which is not a model of this study{suggest(name, models)}'
        raise entry.error(problem, f"Add [models.{name}], or name an existing model.", key, code="unknown-model")


def _sources_first(models: Mapping[str, StudyModel]) -> list[StudyModel]:
    """Models in the file's order, but none before its source; a circle is an error."""
    done: dict[str, StudyModel] = {}

    def add(model: StudyModel, above: tuple[str, ...]) -> None:
        if model.name in above:
            circle = " from ".join([*above[above.index(model.name) :], model.name])
            remedy = "One of them must start from a ready model (spec)."
            raise model.error(f"it would be made from itself: {circle}.", remedy, model.source_key)
        if model.name not in done:
            if model.source is not None:
                add(models[model.source], (*above, model.name))
            done[model.name] = model

    for model in models.values():
        add(model, ())
    return list(done.values())


def _require_makeable(model: StudyModel, abilities: Known) -> None:
    before = abilities[model.source] if model.source and not model.spec else None
    if before is None:
        return
    if model.debias and not METHODS[model.debias].folded and "mask" not in before:
        problem = f"{model.debias} trains a masked language model further, but {model.source} cannot fill masks."
        remedy = f"Apply {model.debias} to its base, then train the result on the task."
        raise model.error(problem, remedy, "model", code="missing-ability")
    if not before & {*KINDS, "embed"}:
        does = f": it can only {', '.join(sorted(before))}" if before else " with a head"
        remedy = "Start from an encoder such as BERT or RoBERTa."
        raise model.error(f"{model.source} is not an encoder{does}.", remedy, model.source_key, code="unsupported")


# --- runs


def _runs(file: StudyFile, abilities: Known, notes: list[str]) -> list[RunProbe]:
    runs_by_folder: dict[str, RunProbe] = {}
    for runs in file.runs:
        for probe in runs.probes:
            for model in _chosen(runs, probe, file, abilities, notes):
                for values in product(*runs.vary.values()):
                    run = _run(runs, probe, model, dict(zip(runs.vary, values, strict=True)), file)
                    folder = run.name.casefold()  # as systems see it that ignore capitals
                    if folder in runs_by_folder:
                        problem = f"{run.name} is already defined in {said(runs_by_folder[folder].runs.key_path)}."
                        remedy = 'Give one of them a name, which is added to its folders: name = "…".'
                        raise runs.error(problem, remedy, code="duplicate")
                    runs_by_folder[folder] = run
    return list(runs_by_folder.values())


def _chosen(runs: RunsEntry, probe: str, file: StudyFile, abilities: Known, notes: list[str]) -> list[str]:
    """The models of a run in the file's order. What only a pattern brings and cannot answer is left out with a note."""
    named: dict[str, bool] = {}  # model -> whether its name is written out
    for pattern in runs.patterns:
        if not (taken_out := pattern.startswith("!")) and not _SIGNS.search(pattern):
            _require_model(pattern, "models", file.models, runs)
        fitting = [name for name in file.models if fnmatchcase(name, pattern.removeprefix("!"))]
        if not fitting:
            remedy = f"The models are {', '.join(file.models)}."
            raise runs.error(f'"models": no model matches {pattern!r}.', remedy, "models", code="unknown-model")
        for name in fitting:
            if taken_out:
                named.pop(name, None)
            else:
                named[name] = named.get(name, False) or name == pattern
    able, answered = [], sorted(probes()[probe].abilities)
    for name in (name for name in file.models if name in named):
        does = abilities[name]
        if does is None or not does.isdisjoint(answered):
            able.append(name)
            continue
        needed = " or ".join(ability for ability in answered if ability not in ENDPOINT_ABILITIES)
        if named[name]:
            trained = " or ".join(f'train = "{word}"' for word in answered if word in KINDS) or "see docs/own-model.md"
            problem = f"{probe} needs a model that can answer {needed} questions, but {name} cannot."
            remedy = f"Remove it from the run's models, or train it for that task: {trained}."
            raise runs.error(problem, remedy, "models", code="missing-ability")
        notes.append(f"{probe} is not run on {name}, which cannot answer {needed} questions")
    if not able:
        problem = f"no model is left that {probe} can run on."
        raise runs.error(problem, "Name at least one.", "models", code="nothing-to-ask")
    return able


def _run(runs: RunsEntry, probe: str, model: str, varied: Mapping[str, str], file: StudyFile) -> RunProbe:
    ends = [f"{key}={value}" for key, value in varied.items()]
    parts = [probe, model, *([runs.name] if runs.name else []), *(re.sub(r"[^\w.=-]+", "-", end) for end in ends)]
    run = RunProbe("--".join(parts).rstrip("."), (model,), runs, probe, model, {**runs.settings, **varied}, varied)
    for key in run.naming("model"):
        name = run.settings[key]
        if name in file.models:
            run.needs += (name,)
        elif name.partition(":")[0] not in kinds():
            neither = "which is neither a model of this study nor a model name"
            remedy = f'For example {key} = "{next(iter(file.models))}", or "builtin".'
            section = "vary" if key in varied else "settings"
            problem = f'"{key}" is {name!r}, {neither}{suggest(name, file.models)}'
            raise runs.error(problem, remedy, section, code="unknown-model", key=key)
    return run


def _pairs(runs: Sequence[RunProbe], file: StudyFile, abilities: Known, notes: list[str]) -> list[CompareRuns]:
    """Every run with that of its model's baseline, where both are asked the same."""
    runs_by_questions = {(run.model, *run.questions_key): run for run in runs}
    pairs = []
    for run in runs:
        baseline = runs_by_questions.get((file.baseline(run.model), *run.questions_key))
        if baseline is None:
            continue
        first, second = abilities[baseline.model], abilities[run.model]
        if first and second and not first & second & probes()[run.probe].abilities:
            notes.append(f"{run.name} is not compared with {baseline.name}: the two are asked in different forms")
            continue
        pairs.append(CompareRuns(f"compare--{run.name}", (baseline.name, run.name), baseline, run))
    return pairs


def _models_and_runs(models: Sequence[StudyModel], runs: Sequence[RunProbe]) -> list[Step]:
    """Run by run, each after the models that it needs; models that no run asks come last."""
    making = {model.name: MakeModel(model.name, (model.source or "",), model) for model in models if not model.spec}
    done: dict[str, Step] = {}

    def add(step: Step) -> None:
        for name in step.needs:
            if name in making:
                add(making[name])
        done.setdefault(step.name, step)

    for step in (*runs, *making.values()):
        add(step)
    return list(done.values())
