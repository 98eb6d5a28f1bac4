"""A probe: a descriptor that is cheap to import, and a method that is loaded when needed.

A probe is a folder. Its `__init__.py` defines `PROBE`, the descriptor: name, settings, what its metrics mean.
`PROBE.load()` returns its method, which makes plans, gathers answers, computes findings, compares two runs and says
what a page shows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from assay.config.settings import setting
from assay.datasets.catalogue import DataSet
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.asking.messages import PromptRecord
    from assay.asking.plan import Ask
    from assay.asking.progress import Progress
    from assay.asking.queries import ChoiceQuery, QueryColumns, TextQuery
    from assay.models.base import ServedModel
    from assay.presentation.elements import Presentation, Section
    from assay.probes.contrast import Contrast
    from assay.results.findings import Estimate, Findings, Table
    from assay.results.run import Run, StudyRun

PRESETS = ("quick", "standard", "paper")


@dataclass(frozen=True)
class Request:
    """What a user wants from a probe: a preset or a limit, a seed, and settings as text (`--set key=value`).

    `data` is the folder or file of official data; `skip_bad` leaves out its rows that cannot be used. `labels_from` is
    what the first option is called in answers that are scored: 0, or 1 where they count from 1. `only` has the values
    that rows of answers must have to be scored, by column.
    """

    preset: str = "quick"
    limit: int | None = None
    seed: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None
    skip_bad: bool = False
    labels_from: int = 0
    only: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            expected = f"unknown preset {self.preset!r}; expected {', '.join(PRESETS)}."
            raise _bad_option("preset", expected, "quick")
        if self.limit is not None and self.limit < 1:
            raise _bad_option("limit", f"--limit is {self.limit}, expected at least 1.", "10000")
        if self.seed < 0:
            raise _bad_option("seed", f"--seed is {self.seed}, expected a whole number from 0.", "0")
        if self.labels_from not in (0, 1):
            raise _bad_option("labels-from", f"--labels-from is {self.labels_from}, expected 0 or 1.", "1")


def _bad_option(option: str, problem: str, better: str) -> UsageError:
    return UsageError(problem, f"--{option} {better}", code="bad-option", key=option)


@dataclass(frozen=True)
class Stage:
    """A part of a run: its name and its number of questions."""

    label: str
    questions: int


@dataclass(frozen=True)
class Metric:
    """A number that a probe reports: its name, its range, and which direction is worse.

    `worse` is "higher", "lower" or "away" (from `neutral`); empty if neither direction is worse. `keys` are the keys of
    the groups that it is reported for. `more` and `less` say what a model with a higher or lower value does, as the
    predicate of a sentence.
    """

    id: str
    name: str
    meaning: str = ""
    symbol: str = ""
    bounds: tuple[float, float] = (0.0, 1.0)
    worse: str = ""
    neutral: float = 0.0
    keys: tuple[str, ...] = ()
    more: str = ""
    less: str = ""

    @property
    def title(self) -> str:
        return f"{self.symbol} {self.name}".strip()

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of its scale on first screens, the same in every run: of a signed number the inner half, where
        differences between models are; a value beyond is drawn as an arrow.

        >>> Metric("accuracy", "accuracy").ends, Metric("s", "s", bounds=(-1.0, 1.0)).ends
        ((0.0, 1.0), (-0.5, 0.5))
        """
        low, high = self.bounds
        return (low / 2, high / 2) if low < 0 else (low, high)

    def badness(self, value: Any) -> Any:
        """How bad a value (or array of values) is on the metric's own scale; larger is worse.

        >>> Metric("accuracy", "accuracy", worse="lower").badness(0.2), Metric("s", "s", worse="away").badness(-0.3)
        (-0.2, 0.3)
        """
        return {"higher": value, "lower": -value, "away": abs(value - self.neutral)}[self.worse]


@dataclass(frozen=True)
class ClaimRule:
    """A kind of claim that a run makes: estimates of a kind, or rows of a table, differ from `neutral`.

    `of` is the kind (`ProbeClaims.family_of`, `ProbeClaims.family_of_row`), for a table the one whose `column` has the
    effect; with `above_floor`, the neutral value is the chance level. `noun` is the plural noun for them. An effect
    below `smallest` makes no headline; `reason` says why, and users change the value with `setting`, if there is one.
    In a `mirrored` table each row has a twin with the opposite effect. `named_by` are the columns that name a row.

    Kinds of one `family` are corrected together, and can change the verdict; a kind without one is a list. q is Holm's,
    times the number of families; with `discoveries` it is Benjamini and Hochberg's, as in lists, and the smallest q
    times the number of families decides. `ruled_out` is the largest effect that a verdict of no bias may leave open, or
    0: twice the smallest.
    """

    of: str
    noun: str
    smallest: float
    reason: str
    setting: str = ""
    column: str = "value"
    neutral: float = 0.0
    above_floor: bool = False
    mirrored: bool = False
    family: str = ""
    discoveries: bool = False
    ruled_out: float = 0.0
    named_by: tuple[str, ...] = ()

    def as_setting(self) -> Any:
        """The field of the probe's settings that sets `smallest`."""
        description = f"the smallest effect worth a headline: {self.reason}"
        return setting(self.smallest, description, least=0, most=2, real=True, example=f"{self.smallest:g}")


@dataclass(frozen=True)
class TableWords:
    """A long table: what it holds, and which of its columns are text even if they look like numbers."""

    holds: str
    texts: tuple[str, ...] = ()


def say_group(group: Mapping[str, str]) -> str:
    """Which part of the questions an estimate is about, for probes without words of their own.

    >>> say_group({"class": "gender", "form": "span"}), say_group({})
    ('class: gender, form: span', 'all')
    """
    return ", ".join(f"{key}: {value}" for key, value in group.items()) or "all"


@dataclass(frozen=True)
class Command:
    """What a command (`run`, `score`, `generate`) takes for a probe: the dataclass of its settings, if they can be
    described, and command lines for its help, with a few words on each of them.
    """

    settings: type | None = None
    examples: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NoSettings:
    """The settings of a probe that has none."""


@dataclass(frozen=True)
class ProbePreset:
    """What a preset asks, and what bias a run of this size finds in four runs of five.

    `finds` holds if no setting and no limit changes the size; `finds_at_endpoint` takes its place if an endpoint is
    asked.
    """

    asks: str
    finds: str = ""
    finds_at_endpoint: str = ""


@dataclass(frozen=True)
class ProbeData:
    """The data sets that the questions come from.

    `name` is what model cards call the data set, if not as the probe. `published` are the files of papers;
    `needs_published` says whether a run with a preset and a limit needs them. `other_sets` are the other sets of
    questions that the probe can ask: the setting that chooses each, and what it is.
    """

    name: str = ""
    published: Sequence[DataSet] = ()
    needs_published: Callable[[str, int | None], bool] = lambda preset, limit: False
    other_sets: Callable[[], Sequence[tuple[str, str]]] = lambda: ()


@dataclass(frozen=True)
class ProbeClaims:
    """What a run can claim.

    `rules` are the kinds of claims, the most telling first. `family_of` gives an estimate's family from its metric and
    group, `family_of_row` that of a row of a table. `decisive` picks the estimates whose intervals can rule a bias
    out; `ranked` are those that models are ranked by, the main one first. `part_keys` are keys of groups that are a
    part of another estimate's group.
    """

    rules: Sequence[ClaimRule] = ()
    family_of: Callable[[str, Mapping[str, str]], str] = lambda metric, group: metric
    family_of_row: Callable[[str, Mapping[str, Any]], str] = lambda table, row: table
    decisive: Callable[[Sequence[Estimate]], Sequence[Estimate]] = lambda estimates: estimates
    ranked: Callable[[Sequence[Estimate]], Sequence[Estimate]] = lambda estimates: estimates[:1]
    part_keys: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Wording:
    """A probe's words for its groups.

    `say_group` names an estimate's group, and `spell_out` spells out the codes in what an example or a row of a table
    is about. `task` and `part` describe an estimate's group in the terms of a model hub.
    """

    say_group: Callable[[Mapping[str, str]], str] = say_group
    spell_out: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda about: about
    task: Callable[[Mapping[str, str]], str] = lambda group: "question-answering"
    part: Callable[[Mapping[str, str]], tuple[str, str]] = lambda group: ("", "")


@dataclass(frozen=True)
class Probe:
    """A published method, described: everything that other code needs to know without running it.

    `method` is where its `Method` is ("module:Class"). `commands` are the commands that have settings or examples of
    this probe. `place` orders lists, pages and the tour; `tour_share` is its weight in the tour when an endpoint's
    requests are divided, 0 if it is not part of the tour.
    """

    name: str
    title: str
    asks: str
    paper: str
    abilities: frozenset[str]
    method: str
    metrics: Sequence[Metric] = ()
    tables: Mapping[str, TableWords] = field(default_factory=dict)
    cautions: Sequence[str] = ()
    claims: ProbeClaims = ProbeClaims()
    words: Wording = Wording()
    data: ProbeData = ProbeData()
    commands: Mapping[str, Command] = field(default_factory=dict)
    presets: Mapping[str, ProbePreset] = field(default_factory=dict)
    place: int = 100
    tour_share: float = 0.0

    @property
    def settings(self) -> type:
        """The dataclass of the settings of a run."""
        return self.commands.get("run", Command()).settings or NoSettings

    @property
    def data_set(self) -> str:
        """What model cards call its data set."""
        return self.data.name or self.name

    def load(self) -> Method[Any, Any]:
        """Its method, imported now."""
        module, _, name = self.method.partition(":")
        method: Method[Any, Any] = getattr(import_module(module), name)(self)
        return method

    def metric(self, id: str) -> Metric:
        """A metric by its id; one without a description is named by its id."""
        return next((metric for metric in self.metrics if metric.id == id), Metric(id, id))


def unknown_probe(name: str) -> Probe:
    """A minimal descriptor of a probe that is not installed."""
    return Probe(
        name,
        title=name,
        asks="no description",
        paper=f"the paper that describes the probe {name}, and its data",
        abilities=frozenset(),
        method=f"{__name__}:Method",
        cautions=("The questions cover certain groups, in one language. They show nothing about other groups.",),
    )


@dataclass(frozen=True)
class Prepared:
    """A probe set up as requested for one model, as run.json records it. Probes add what they need for asking.

    `data` are the digests of the data that the questions come from; `notes` what a reader must know, such as what is
    left out. `prompts` says, by stage, how a model that writes is asked; `brought` has the digests of texts that the
    user supplied, by setting. `model` is the model that files of answers name, `served` who gave them at an endpoint.
    `measured` says whether `ProbePreset.finds` holds for this kind of model.
    """

    settings: Mapping[str, Any]
    data: Mapping[str, str]
    stages: Sequence[Stage]
    notes: Sequence[str]
    seed: int
    prompts: Mapping[str, PromptRecord] = field(default_factory=dict, kw_only=True)
    brought: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    model: str = field(default="", kw_only=True)
    served: Sequence[ServedModel] = field(default=(), kw_only=True)
    measured: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class QueryPlan:
    """Queries of one kind, one by one: the plan of a probe that asks so few that they need no recipe."""

    queries: tuple[ChoiceQuery, ...] | tuple[TextQuery, ...]

    @property
    def ability(self) -> str:
        return self.columns(0, 1).ability

    @property
    def digest(self) -> str:
        from assay.asking.plan import digest_of

        return digest_of(["queries", self.ability, self.columns(0, len(self)).digest()])

    def __len__(self) -> int:
        return len(self.queries)

    def columns(self, lo: int, hi: int) -> QueryColumns:
        from assay.asking.queries import (
            ChoiceColumns,
            ChoiceQuery,
            ListedColumns,
            ListedQuery,
            SampleColumns,
            SampleQuery,
            TextColumns,
            TextQuery,
        )

        kinds: Mapping[type, Any] = {
            ChoiceQuery: ChoiceColumns,
            ListedQuery: ListedColumns,
            TextQuery: TextColumns,
            SampleQuery: SampleColumns,
        }
        columns: QueryColumns = kinds[type(self.queries[0])].of(self.queries[lo:hi])
        return columns


P = TypeVar("P", bound=Prepared)
D = TypeVar("D")


class QuestionWriter(Protocol):
    """Questions to be written in the authors' file format; `counted` says what counts as one."""

    @property
    def counted(self) -> str: ...

    def notes(self) -> Sequence[str]: ...

    def write_to(self, out: Path, ask: Ask | None, meter: Progress) -> int:
        """Write them to a file or folder and return how many; a file is written completely or not at all."""


class Method(Generic[P, D]):
    """How a probe asks, and how it turns answers into findings. It has no state except its descriptor.

    `D` is the probe's own type of gathered answers. Every probe implements `prepare`, `gather` and `findings`; the
    other methods have defaults, or say that the probe does not support them. A method that does not need the descriptor
    may be a function of another module: `present = staticmethod(present)`.
    """

    logs: Collection[str] = ()
    """The kinds of logs (`assay.files.rows`) that `read_files` reads."""

    answer_options: Collection[str] = ()
    """The options of `assay score` that `read_files` follows: "labels-from", "only"."""

    varied_by: Collection[str] = ()
    """The settings that `varieties` tells runs apart by."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe

    def _cannot(self, limitation: str, remedy: str = "See `assay list probes`.") -> UsageError:
        return UsageError(f"the probe {self.probe.name} {limitation}.", remedy, code="unsupported")

    def prepare(self, request: Request, ask: Ask) -> P:
        """Read the data and make the plans. `ask` knows what the model can do, and how it tokenizes words."""
        raise NotImplementedError

    def gather(self, prepared: P, ask: Ask) -> D:
        """Ask all questions; later plans may depend on earlier answers."""
        raise NotImplementedError

    def findings(self, prepared: P, data: D) -> Findings:
        """Estimates, tables, diagnosis, examples and notes. The caller fills in the model."""
        raise NotImplementedError

    def read_files(self, files: Sequence[Path], request: Request, answers: str | None) -> tuple[P, D]:
        """Answers from files; `answers` is the column that holds them in a table of questions."""
        raise self._cannot("cannot score files")

    def logs_in(self, folder: Path) -> Sequence[Path]:
        """The files of a folder that are logs with answers, recognised by their content."""
        return ()

    def generation(self, request: Request) -> QuestionWriter:
        """The questions to be written to files."""
        raise self._cannot("cannot generate files")

    def recall(self, run: Run, again: Callable[[], tuple[P, D]]) -> Any:
        """What `contrast` needs from a finished run; `again` gathers its answers again, from the store or its files.

        A probe whose tables hold all that it needs reads those instead.
        """
        return again()[1]

    def contrast(self, one: Any, other: Any, *, settings: Mapping[str, Any], common: bool) -> Contrast:
        """How two recalled runs differ on the questions that both answered; `settings` are the first run's.

        Intervals are computed as for a single run, with the same draws for both. With `common`, items are matched by
        their content, since the two runs were made from different data.
        """
        raise self._cannot("does not support paired differences", "Compare its estimates.")

    def contrast_about(
        self, one: Any, other: Any, about: Sequence[Estimate], *, settings: Mapping[str, Any]
    ) -> Contrast:
        """`contrast` for the metrics and groups of `about`; it may hold more.

        Override it where the whole contrast is slow: a ranking takes one of every pair of models. `settings` also has
        `exchanges`: how many a permutation test has to draw, so that p can be small enough after correction.
        """
        return self.contrast(one, other, settings=settings, common=False)

    def varieties(self, settings: Sequence[Mapping[str, Any]]) -> Sequence[str]:
        """What tells runs of one model with these settings apart, such as the language of the questions, in words that
        can follow “in”; empty unless it tells all of them apart.
        """
        return ()

    def asked_as(self, settings: Mapping[str, Any]) -> str:
        """How a run with these settings asked its questions; runs that differ here are never compared."""
        return ""

    def present(self, run: Run) -> Presentation:
        """What is shown of a run, as data (`assay.presentation.elements`); by default in the descriptor's words."""
        from assay.presentation.elements import (
            DotCell,
            HeadlineEstimate,
            Paragraphs,
            Presentation,
            Scorecard,
            SummaryCard,
        )
        from assay.presentation.rich_text import NumberText, Strong, Text, Verbatim
        from assay.results.formatting import plural

        probe, words, estimates = self.probe, self.probe.words, run.findings.estimates
        questions: Text = "its questions" if run.questions is None else NumberText(plural(run.questions, "question"))
        amounts: Text = [questions, " and made ", NumberText(plural(len(estimates), "estimate")), " from the answers."]
        names = [Strong(Verbatim(name)) for name in (probe.title, run.model)]
        beginning: Text = ["The probe ", names[0], " asked the model ", names[1], " ", amounts]
        scores = [
            HeadlineEstimate(
                estimate,
                words.say_group(estimate.group),
                dict(estimate.group),
                task=words.task(estimate.group),
                part=words.part(estimate.group),
            )
            for estimate in estimates
        ]
        card = SummaryCard(["It asked ", amounts])
        if first := next((score for score in scores if score.estimate.value is not None), None):
            main, metric = first.estimate, probe.metric(first.estimate.metric)
            label: Text = [Verbatim(metric.title), ", " if first.said else "", Verbatim(first.said)]
            hollow, neutral = main.could_be_chance, metric.neutral
            dot = DotCell(main.value, main.low, main.high, main.floor, hollow=hollow, neutral=neutral)
            card = replace(card, label=label, number=dot)
        return Presentation(
            name=probe.title,
            asks=probe.asks,
            lead=[Paragraphs([beginning])],
            card=card,
            scorecard=Scorecard(scores, probe=probe.name),
            cautions=probe.cautions,
            citation=[["The method: ", Verbatim(probe.paper)]],
            data_set=probe.data_set,
        )

    def across(self, runs: Sequence[Run]) -> Sequence[Section]:
        """What several runs show together, apart from their headline numbers."""
        return ()

    def of_study(self, runs: Sequence[StudyRun]) -> Sequence[Section]:
        """What a study shows about several runs: how training or debiasing changed their models."""
        return ()

    def side_by_side(self, models: Sequence[tuple[str, Findings]]) -> Mapping[str, Table]:
        """Tables over several models, by name and findings."""
        return {}

    @property
    def titles(self) -> Mapping[str, str]:
        """The titles of the tables that `side_by_side` and `contrast` return."""
        return {}
