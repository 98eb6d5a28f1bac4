"""What a study file's entries mean together: who is made from whom, what is asked of whom, and in which order.

Nothing is read or run here; what models can do is handed in as far as it is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product

from assay.debias import FOLDED
from assay.errors import UsageError
from assay.gate.policy import near
from assay.models import KINDS
from assay.models.hf_files import ABILITIES
from assay.probes import PROBES
from assay.study.file import ModelEntry, RunEntry, StudyFile
from assay.study.lineage import Lineage
from assay.study.values import Place

MODEL_SETTINGS = ("fill_model",)
"""Settings of probes that name another model."""

HEAD = "choice"
"""The head of the built-in model that these methods take unless their setting `head` says otherwise."""

Known = Mapping[str, frozenset[str] | None]
"""What each model can do; None where that is not known before it is there."""

_HEADS = {
    "span": frozenset(ABILITIES["ForQuestionAnswering"]),
    "choice": frozenset(ABILITIES["ForMultipleChoice"]),
    "mask": frozenset(ABILITIES["ForMaskedLM"]),
}
_SIGNS = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Cell:
    """One run of the study: a probe asked of a model. `name` is its folder's; `others` are models that it asks, too."""

    name: str
    run: RunEntry
    probe: str
    model: str
    settings: Mapping[str, str]
    varied: Mapping[str, str]
    others: Sequence[str]

    @property
    def needs(self) -> tuple[str, ...]:
        return self.model, *self.others


@dataclass(frozen=True)
class Pair:
    """A run of a model beside the same run of the model that this one is compared with."""

    run: Cell
    baseline: Cell

    @property
    def name(self) -> str:
        return f"compare--{self.run.name}"


Entry = ModelEntry | Cell | Pair


@dataclass(frozen=True)
class Order:
    """Models to make, runs and comparisons, every one after what it needs; notes say what was left out."""

    steps: Sequence[Entry]
    cells: Sequence[Cell]
    notes: Sequence[str] = ()

    def only(self, patterns: Sequence[str]) -> Order:
        """The steps whose names fit a pattern, and those that they need."""
        if not patterns:
            return self
        names = [step.name for step in self.steps]
        chosen: set[str] = set()
        for pattern in patterns:
            fitting = [name for name in names if fnmatchcase(name, pattern)]
            if not fitting:
                raise UsageError(
                    f"--only {pattern!r} fits no model to make and no run{near(pattern, names)}",
                    "See their names with --dry-run.",
                )
            chosen.update(fitting)
        for step in reversed(self.steps):
            if step.name in chosen:
                chosen.update(needs_of(step))
        kept = [step for step in self.steps if step.name in chosen]
        return Order(kept, [cell for cell in self.cells if cell.name in chosen], self.notes)


def needs_of(step: Entry) -> tuple[str, ...]:
    """The models, or runs, that have to be there first."""
    if isinstance(step, Pair):
        return step.baseline.name, step.run.name
    if isinstance(step, Cell):
        return step.needs
    return (step.source,) if step.made and step.source else ()


def order_study(file: StudyFile, known: Callable[[Sequence[ModelEntry]], Known]) -> Order:
    """The order of a study; `known` says what its models can do, asked once names are known to be right."""
    for entry in file.models.values():
        for key, name in (("model" if entry.how == "debias" else "base", entry.source), ("baseline", entry.baseline)):
            if name is not None:
                _require_model(name, key, file.models, entry.place)
        if entry.baseline == entry.name:
            raise entry.place.error("it is its own baseline.", "Name another model, or leave it out.", "baseline")
    models = _sorted(file)
    abilities = known(models)
    for entry in models:
        _require_makeable(entry, abilities)
    cells, notes = _cells(file, abilities)
    return Order([*_steps(models, cells), *_pairs(cells, Lineage(file.models), abilities, notes)], cells, notes)


def with_abilities(models: Sequence[ModelEntry], ready: Callable[[ModelEntry], frozenset[str] | None]) -> Known:
    """What models can do, as far as it is known; `ready` knows those that need not be made. Sources come first."""
    found: dict[str, frozenset[str] | None] = {}
    for entry in models:
        if entry.how == "spec":
            found[entry.name] = ready(entry)
        elif entry.how == "train":
            found[entry.name] = _HEADS[entry.value]
        elif entry.value in FOLDED:
            before = found[entry.source or ""]
            several = before is not None and len(before & {*_HEADS}) > 1  # a folder has one of the built-in model's
            found[entry.name] = _HEADS.get(entry.settings.get("head", HEAD)) if several else before
        else:
            found[entry.name] = _HEADS["mask"]
    return found


def _require_model(name: str, key: str, models: Iterable[str], place: Place) -> None:
    if name not in [*models]:
        raise place.error(
            f'"{key}" is {name!r}, which is no model of this study{near(name, [*models])}',
            f"Add a [models.{name}], or name one that is there.",
            key,
        )


def _sorted(file: StudyFile) -> list[ModelEntry]:
    """Models in the file's order, but none before its source; a circle is an error."""
    done: dict[str, ModelEntry] = {}

    def add(entry: ModelEntry, above: tuple[str, ...]) -> None:
        if entry.name in above:
            circle = " from ".join([*above[above.index(entry.name) :], entry.name])
            raise entry.place.error(
                f"it would be made from itself: {circle}.",
                "Let one of them begin with a ready model (spec).",
                "model" if entry.how == "debias" else "base",
            )
        if entry.name not in done:
            if entry.source is not None:
                add(file.models[entry.source], (*above, entry.name))
            done[entry.name] = entry

    for entry in file.models.values():
        add(entry, ())
    return list(done.values())


def _require_makeable(entry: ModelEntry, abilities: Known) -> None:
    before = abilities[entry.source] if entry.made and entry.source else None
    if entry.how == "debias" and entry.value not in FOLDED and before is not None and "mask" not in before:
        raise entry.place.error(
            f"{entry.value} trains a masked language model further, and {entry.source} cannot fill masks.",
            f"Apply {entry.value} to its base, and train that on the task then.",
            "model",
        )
    text_only = before is not None and not before & {*_HEADS, "embed"}
    if entry.made and text_only:
        does = f": it can only {', '.join(sorted(before))}" if before else " with a head"
        raise entry.place.error(
            f"{entry.source} is no encoder{does}.",
            "Begin with an encoder, such as a BERT or a RoBERTa.",
            "model" if entry.how == "debias" else "base",
        )


# --- runs


def _cells(file: StudyFile, abilities: Known) -> tuple[list[Cell], list[str]]:
    cells: dict[str, Cell] = {}
    notes: list[str] = []
    for run in file.runs:
        own = [
            _cell(run, probe, model, dict(zip(run.vary, values, strict=True)), file)
            for probe in run.probes
            for model in _chosen(run, probe, file, abilities, notes)
            for values in product(*run.vary.values())
        ]
        for cell in own:
            if cell.name in cells:
                raise run.place.error(
                    f"{cell.name} is there already, in runs {cells[cell.name].run.number + 1}.",
                    'Give one of them a name, which its folders then end with: name = "…".',
                )
            _require_able(cell, abilities)
            cells[cell.name] = cell
    return list(cells.values()), notes


def _chosen(run: RunEntry, probe: str, file: StudyFile, abilities: Known, notes: list[str]) -> list[str]:
    """The models of a run in the file's order. What only a pattern brings and cannot answer is left out with a note."""
    named: dict[str, bool] = {}  # model -> whether its name is written out
    for pattern in run.models:
        if not (taken_out := pattern.startswith("!")) and not _SIGNS.search(pattern):
            _require_model(pattern, "models", file.models, run.place)
        fitting = [name for name in file.models if fnmatchcase(name, pattern.removeprefix("!"))]
        if not fitting:
            raise run.place.error(
                f'"models": no model fits {pattern!r}.', f"The models are {', '.join(file.models)}.", "models"
            )
        for name in fitting:
            if taken_out:
                named.pop(name, None)
            else:
                named[name] = named.get(name, False) or name == pattern
    able = []
    for name in (name for name in file.models if name in named):
        does = abilities[name]
        if does is not None and not does & PROBES[probe].abilities:
            needed = " or ".join(sorted(PROBES[probe].abilities))
            if named[name]:
                raise run.place.error(
                    f"{probe} needs a model that can answer {needed} questions, and {name} cannot.",
                    f"Take it out of the run's models, or train it for that task: {_remedy(needed)}.",
                    "models",
                )
            notes.append(f"{probe} is not asked of {name}, which cannot answer {needed} questions")
            continue
        able.append(name)
    if not able:
        raise run.place.error(f"no model is left that {probe} can be asked of.", "Name at least one.", "models")
    return able


def _remedy(needed: str) -> str:
    return (
        " or ".join(f'train = "{word}"' for word in needed.split(" or ") if word in _HEADS) or "see docs/own-model.md"
    )


def _cell(run: RunEntry, probe: str, model: str, varied: Mapping[str, str], file: StudyFile) -> Cell:
    settings = {**run.settings, **varied}
    others = []
    for key in MODEL_SETTINGS:
        name = settings.get(key)
        if name in file.models:
            others.append(str(name))
        elif name is not None and name.partition(":")[0] not in KINDS:
            raise run.place.error(
                f'"{key}" is {name!r}, which is neither a model of this study nor a model\'s name'
                f"{near(name, file.models)}",
                f'For example {key} = "{next(iter(file.models))}", or "builtin".',
                "vary" if key in varied else "settings",
            )
    ends = [f"{key}={value}" for key, value in varied.items()]
    parts = [probe, model, *([run.name] if run.name else []), *(re.sub(r"[^\w.=-]+", "-", end) for end in ends)]
    return Cell("--".join(parts), run, probe, model, settings, varied, others)


def _require_able(cell: Cell, abilities: Known) -> None:
    """Whoever fills masks has to be able to: nearly every choice model needs another one for that."""
    if cell.probe != "sodapop":
        return
    filler = cell.settings.get("fill_model")
    does = abilities.get(filler or cell.model)
    if does is not None and "fill" not in does:
        raise cell.run.place.error(
            f"{filler or cell.model} cannot fill masks, which sodapop needs.",
            'Name a masked language model: settings = { fill_model = "…" }.',
            "settings",
        )


def _pairs(cells: Sequence[Cell], lineage: Lineage, abilities: Known, notes: list[str]) -> list[Pair]:
    """Every run with that of its model's baseline, where both are asked the same."""
    asked = {_asked(cell, cell.model): cell for cell in cells}
    found = []
    for cell in cells:
        before = lineage.baseline(cell.model)
        other = None if before is None else asked.get(_asked(cell, before))
        if other is None:
            continue
        does = [able & PROBES[cell.probe].abilities for model in (cell, other) if (able := abilities[model.model])]
        if len(does) == 2 and not does[0] & does[1]:
            notes.append(f"{cell.name} is not compared with {other.name}: the two are asked in different forms")
            continue
        found.append(Pair(cell, other))
    return found


def _asked(cell: Cell, model: str) -> tuple[object, ...]:
    run = cell.run
    return model, cell.probe, run.name, run.preset, run.limit, run.seed, run.data, tuple(sorted(cell.settings.items()))


def _steps(models: Sequence[ModelEntry], cells: Sequence[Cell]) -> list[ModelEntry | Cell]:
    """Run by run, each after the models that it needs; models that no run asks come last."""
    entries = {entry.name: entry for entry in models}
    done: dict[str, ModelEntry | Cell] = {}

    def add(step: ModelEntry | Cell) -> None:
        for name in needs_of(step):
            add(entries[name])
        if isinstance(step, Cell) or step.made:
            done.setdefault(step.name, step)

    every: list[ModelEntry | Cell] = [*cells, *models]
    for step in every:
        add(step)
    return list(done.values())
