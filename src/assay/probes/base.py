"""What a probe is: a descriptor that costs nothing to import, and a method, loaded when it is used.

A probe is a folder. Its `__init__.py` has `PROBE`, the descriptor: what it is called, which settings it has, what its
metrics mean. `PROBE.load()` gives its method: the object that makes plans, gathers answers, computes findings, compares
two runs and says what a page shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from assay.errors import UsageError
from assay.files.published import DataSet
from assay.settings import setting

if TYPE_CHECKING:
    from assay.blocks import Presentation, Section
    from assay.dialogue import Prompt
    from assay.findings import Estimate, Findings, Table
    from assay.plan import Ask
    from assay.probes.contrast import Contrast
    from assay.progress import Progress
    from assay.run import Run, StudyRun

PRESETS = ("quick", "standard", "paper")


@dataclass(frozen=True)
class Request:
    """What a user asks of a probe: a preset or a limit, a seed, and settings as text (`--set key=value`).

    `data` is the folder or file of official data that was named; `skip_bad` leaves out rows of it that cannot be used.
    `again` says that a stored run is read once more, maybe one that an earlier assay asked.
    """

    preset: str = "quick"
    limit: int | None = None
    seed: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None
    skip_bad: bool = False
    again: bool = False

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            expected = f"unknown preset {self.preset!r}; expected {', '.join(PRESETS)}."
            raise _bad_option("preset", expected, "quick")
        if self.limit is not None and self.limit < 1:
            raise _bad_option("limit", f"--limit is {self.limit}, expected at least 1 question.", "10000")
        if self.seed < 0:
            raise _bad_option("seed", f"--seed is {self.seed}, expected a whole number from 0.", "0")


def _bad_option(option: str, problem: str, better: str) -> UsageError:
    return UsageError(problem, f"--{option} {better}", code="bad-option", key=option)


@dataclass(frozen=True)
class Stage:
    """A part of a run: what it is called and how many questions it asks."""

    label: str
    questions: int


@dataclass(frozen=True)
class Metric:
    """A number that a probe reports: what it is called, its range, and which way is worse.

    `worse` is "higher", "lower" or "away" (from `neutral`); empty where neither direction is. `keys` are those of the
    groups that it is reported for.
    """

    id: str
    name: str
    meaning: str = ""
    symbol: str = ""
    bounds: tuple[float, float] = (0.0, 1.0)
    worse: str = ""
    neutral: float = 0.0
    keys: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.symbol} {self.name}".strip()

    def badness(self, value: Any) -> Any:
        """How bad a value, or an array of them, is on the metric's own scale: of two the larger one is worse.

        >>> Metric("accuracy", "accuracy", worse="lower").badness(0.2), Metric("s", "s", worse="away").badness(-0.3)
        (-0.2, 0.3)
        """
        return {"higher": value, "lower": -value, "away": abs(value - self.neutral)}[self.worse]


@dataclass(frozen=True)
class Claim:
    """A kind of claim that a run makes: that estimates of a family, or rows of a table, differ from `neutral`.

    `of` is the family (`Probe.family_of`) or the table, in whose `column` the effect is; with `above_floor`, neutral is
    what chance alone gives. `said` is what several of them are called. Below `smallest` an effect makes no headline,
    for the reason `why`; users change it with `setting`. Each row of a `mirrored` table has a twin with the opposite
    effect.
    """

    of: str
    said: str
    smallest: float
    why: str
    setting: str
    column: str = "value"
    neutral: float = 0.0
    above_floor: bool = False
    mirrored: bool = False

    def as_setting(self) -> Any:
        """The field of the probe's settings that changes `smallest`."""
        said = f"the smallest effect worth a headline: {self.why}"
        return setting(self.smallest, said, least=0, most=2, real=True, example=f"{self.smallest:g}")


@dataclass(frozen=True)
class TableWords:
    """A long table: what it holds, and which of its columns are texts even where they look like numbers."""

    holds: str
    texts: tuple[str, ...] = ()


def say_group(group: Mapping[str, str]) -> str:
    """Which part of the questions an estimate is about, for probes that have no words of their own for it.

    >>> say_group({"class": "gender", "form": "span"}), say_group({})
    ('class: gender, form: span', 'all')
    """
    return ", ".join(f"{key}: {value}" for key, value in group.items()) or "all"


@dataclass(frozen=True)
class Probe:
    """A published method, described: everything that others need to know of it without running it.

    `method` is where its `Method` is ("module:Class"). `settings` is the dataclass of its settings; `score_settings`
    and `generate_settings` are those of these two commands, where it knows them. `presets` says what each preset asks;
    `examples` are command lines for the help of a command, each with a few words on it. `place` orders lists, pages and
    the tour, and `tour` says whether the probe is part of that; `share` is its weight there when an endpoint's requests
    are shared out. `part_keys` are keys of groups that single out a part of what another estimate is about. `claims`
    are the kinds of claims, the most telling first; `family_of` says to which an estimate belongs, by its metric and
    group, and `decisive` picks the estimates whose intervals may rule a bias out. `sees` says, by preset, what bias a
    run of this size finds in four runs of five; it holds where no setting and no limit changes the size. `official`
    says whether a preset, or a limit, needs official data. `say_values` spells out the values of a key that examples
    are about, in their order. `task` and `part` say what an estimate's group is in the
    terms of a model hub.
    """

    name: str
    title: str
    asks: str
    paper: str
    abilities: frozenset[str]
    method: str
    settings: type
    presets: Mapping[str, str] = field(default_factory=dict)
    metrics: Sequence[Metric] = ()
    tables: Mapping[str, TableWords] = field(default_factory=dict)
    data_sets: Sequence[DataSet] = ()
    cautions: Sequence[str] = ()
    claims: Sequence[Claim] = ()
    family_of: Callable[[str, Mapping[str, str]], str] = lambda metric, group: metric
    decisive: Callable[[Sequence[Estimate]], Sequence[Estimate]] = lambda estimates: estimates
    place: int = 100
    tour: bool = False
    share: float = 1.0
    part_keys: frozenset[str] = frozenset()
    score_settings: type | None = None
    generate_settings: type | None = None
    examples: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    data_set: str = ""
    official: Callable[[str, int | None], bool] = lambda preset, limit: False
    say_group: Callable[[Mapping[str, str]], str] = say_group
    say_values: Callable[[str, Sequence[str]], Sequence[str]] = lambda key, values: values
    task: Callable[[Mapping[str, str]], str] = lambda group: "question-answering"
    part: Callable[[Mapping[str, str]], tuple[str, str]] = lambda group: ("", "")
    sees: Mapping[str, str] = field(default_factory=dict)

    def load(self) -> Method[Any, Any]:
        """Its method, imported when it is first wanted."""
        module, _, name = self.method.partition(":")
        made: Method[Any, Any] = getattr(import_module(module), name)(self)
        return made

    def metric(self, id: str) -> Metric:
        """A metric by its id; one that is not described is called what it is."""
        return next((each for each in self.metrics if each.id == id), Metric(id, id))


def unknown_probe(name: str) -> Probe:
    """The descriptor of a probe that is not installed: it says as little as can be said."""
    return Probe(
        name,
        title=name,
        asks="no description",
        paper=f"the paper that describes the probe {name}, and its data",
        abilities=frozenset(),
        method=f"{__name__}:Method",
        settings=object,
        cautions=(
            "The questions cover certain groups, in one language; nothing follows for groups that they leave out.",
        ),
    )


@dataclass(frozen=True)
class Prepared:
    """A probe set up as requested for one model: what run.json says about it. A probe adds what it needs to ask.

    `data` are the digests of the data behind the questions; `notes` what a reader must know, such as what is left out.
    `prompts` says, by stage, how a model that writes is asked; `brought` are the digests of texts that the user brought
    for that, by their settings. `model` is who answered, where files of answers say so. `measured` says whether
    `Probe.sees` holds for such a model.
    """

    settings: Mapping[str, Any]
    data: Mapping[str, str]
    stages: Sequence[Stage]
    notes: Sequence[str]
    seed: int
    prompts: Mapping[str, Prompt] = field(default_factory=dict, kw_only=True)
    brought: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    model: str = field(default="", kw_only=True)
    measured: bool = field(default=True, kw_only=True)


P = TypeVar("P", bound=Prepared)
D = TypeVar("D")


class Generation(Protocol):
    """Questions that somebody wants in the authors' own file format; `counted` says what counts as one."""

    @property
    def counted(self) -> str: ...

    def notes(self) -> Sequence[str]: ...

    def write_to(self, out: Path, ask: Ask | None, meter: Progress) -> int:
        """Write them to a file or folder, each file whole or not at all; returns how many."""


class Method(Generic[P, D]):
    """How a probe asks and what it makes of the answers. It has no state but its descriptor.

    `D` is the probe's own type of gathered answers. Every probe writes `prepare`, `gather` and `findings`; the others
    have defaults, or say that this probe cannot do that. What needs no descriptor may be a function of another module:
    `present = staticmethod(present)`.
    """

    def __init__(self, probe: Probe) -> None:
        self.probe = probe

    def _cannot(self, what: str, remedy: str = "See `assay list probes`.") -> UsageError:
        return UsageError(f"the probe {self.probe.name} {what}.", remedy, code="unsupported")

    def prepare(self, request: Request, ask: Ask) -> P:
        """Read the data and make the plans. `ask` says what the model can do, and what its tokenizer makes of words."""
        raise NotImplementedError

    def gather(self, prepared: P, ask: Ask) -> D:
        """Ask everything; later plans may depend on earlier answers."""
        raise NotImplementedError

    def findings(self, prepared: P, data: D) -> Findings:
        """Estimates, tables, diagnosis, examples and notes. The caller says whose they are."""
        raise NotImplementedError

    def read_files(self, files: Sequence[Path], request: Request, answers: str | None) -> tuple[P, D]:
        """Somebody else's answers from files; `answers` is the column that holds them in a table of questions."""
        raise self._cannot("cannot score files")

    def logs_in(self, folder: Path) -> Sequence[Path]:
        """The files of a folder that hold somebody else's answers, for probes that know them by their content."""
        return ()

    def generation(self, request: Request) -> Generation:
        """The questions that a user wants as files."""
        raise self._cannot("cannot generate files")

    def recall(self, run: Run, again: Callable[[], tuple[P, D]]) -> Any:
        """What `contrast` needs of a finished run; `again` gathers its answers once more, from the store or its files.

        A probe whose tables hold all that it needs reads those instead.
        """
        return again()[1]

    def contrast(self, one: Any, other: Any, *, settings: Mapping[str, Any], common: bool) -> Contrast:
        """How two recalled runs differ on what both were asked; `settings` are the first run's, with `resamples`.

        Intervals are made by what makes those of a single run, with the same draws for both. With `common` the items
        must be known by their content: the two were made from different data.
        """
        raise self._cannot("has no paired differences", "Compare its estimates.")

    def asked_as(self, settings: Mapping[str, Any]) -> str:
        """How a run with these settings put its questions; runs that differ in it are never compared."""
        return ""

    def present(self, run: Run) -> Presentation:
        """What is shown of a run, as data (`assay.blocks` says how): here plainly, in the words of the descriptor."""
        from assay.blocks import Card, Dot, Presentation, Prose, Score, Scorecard
        from assay.text import Figure, Name, Strong, Text
        from assay.wording import plural

        probe, estimates = self.probe, run.findings.estimates
        asked: Text = "its questions" if run.questions is None else Figure(plural(run.questions, "question"))
        made: Text = [asked, " and made ", Figure(plural(len(estimates), "estimate")), " from the answers."]
        who: list[Text] = ["The probe ", Strong(Name(probe.title)), " asked the model ", Strong(Name(run.model)), " "]
        scores = [
            Score(e, probe.say_group(e.group), dict(e.group), task=probe.task(e.group), part=probe.part(e.group))
            for e in estimates
        ]
        label: Text = ""
        number: Dot | None = None
        for first in [score for score in scores if score.estimate.value is not None][:1]:
            e, metric = first.estimate, probe.metric(first.estimate.metric)
            label = [Name(metric.title), ", " if first.said else "", Name(first.said)]
            number = Dot(e.value, e.low, e.high, e.floor, hollow=e.could_be_chance, neutral=metric.neutral)
        return Presentation(
            name=probe.title,
            asks=probe.asks,
            lead=[Prose([[*who, made]])],
            card=Card(["It asked ", made], label, number),
            scorecard=Scorecard(scores, probe=probe.name),
            cautions=probe.cautions,
            citation=[["The method: ", Name(probe.paper)]],
            data_set=probe.data_set or probe.name,
        )

    def across(self, runs: Sequence[Run]) -> Sequence[Section]:
        """What several runs show together besides their headline numbers."""
        return ()

    def of_study(self, runs: Sequence[StudyRun]) -> Sequence[Section]:
        """What only a study shows of several runs: what making their models changed."""
        return ()

    def side_by_side(self, models: Sequence[tuple[str, Findings]]) -> Mapping[str, Table]:
        """Tables over several models, by name and findings."""
        return {}

    @property
    def titles(self) -> Mapping[str, str]:
        """Of the tables that `side_by_side` and `contrast` give."""
        return {}
