"""One run: its folder, how it was made, and its findings."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from assay.asking.messages import PromptRecord
from assay.errors import DataError
from assay.files.atomic import write_atomically
from assay.files.decoding import json_value
from assay.files.opening import read_whole
from assay.models.base import ModelSpec, ServedModel
from assay.results.findings import SCHEMA, Cell, Estimate, Findings
from assay.results.notebook_display import NotebookDisplay, html_of

FILE = "missing.json"


def write_missing(folder: Path, missing: Mapping[str, str]) -> None:
    """Write which probes are missing, each with the reason; if none is, remove an earlier file."""
    if missing:
        write_atomically(folder / FILE, (json.dumps(dict(missing), indent=1, ensure_ascii=False) + "\n").encode())
    else:
        (folder / FILE).unlink(missing_ok=True)


def read_missing(folder: Path) -> dict[str, str]:
    """The missing probes with the reasons; empty if there is no readable file."""
    try:
        content = json_value(read_whole(folder / FILE))
        return {str(probe): str(reason) for probe, reason in content.items()}
    except (OSError, ValueError, AttributeError):
        return {}


# --- the run


Row = Mapping[str, Cell]
Setting = str | int | float | bool | None

_LARGEST = 2**53
_YEAR_10000 = 253_402_300_800  # Unix time


class RunKind(StrEnum):
    """Where a run's answers come from: a model, files of predictions, or another run's stored answers."""

    ASKED = "asked"
    PREDICTIONS = "predictions"
    RESCORED = "rescored"


@dataclass(frozen=True)
class Served:
    """A model that answered at an endpoint: its name, version and server as the replies say, the number of answers,
    and when the first and the last of them came; None where it is not known.
    """

    model: str | None
    fingerprint: str | None
    server: str | None
    n: int
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True)
class EndpointInfo:
    """What answered at an endpoint, the most frequent first, and whether it was asked to think; None if unknown."""

    served: Sequence[Served] = ()
    thinking: str | None = None

    @staticmethod
    def of(models: Sequence[ServedModel]) -> EndpointInfo:
        """The models of all parts of a run, each once."""
        merged: dict[tuple[str, str, str], tuple[int, float, float]] = {}
        for model in models:
            key = model.model, model.fingerprint, model.server
            n, first, last = merged.get(key, (0, model.first, model.last))
            merged[key] = n + model.n, min(first, model.first), max(last, model.last)
        served = [
            Served(model or None, fingerprint or None, server or None, n, _moment(first), _moment(last))
            for (model, fingerprint, server), (n, first, last) in merged.items()
        ]
        return EndpointInfo(sorted(served, key=lambda each: -each.n))


def _moment(at: float) -> str | None:
    """A time as run.json has it; None if it is unknown, or not a time at all.

    >>> _moment(1700000000.5), _moment(0.0), _moment(1e19)
    ('2023-11-14T22:13:20+00:00', None, None)
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds") if 0 < at < _YEAR_10000 else None


@dataclass(frozen=True)
class RunInfo:
    """The content of run.json: how the run was made, with what, when and where.

    `identity` distinguishes runs: a folder with another identity holds another run. `others` are further models that
    were asked, `stages` the number of questions in each part, `data` the digests of the data files, and `data_folder`
    their folder. `prompts` says, by stage, how a model that writes was asked; `brought` has the digests of the user's
    own texts for that. `backed_off` has, by plan, the token budget after memory ran out, and `block_sizes` the number
    of questions in a block, unless `engine` sets it for all. `spent` is what asking an endpoint cost, and `endpoint`
    says who answered there. `findings_digest` and `table_digests`, by table, are those of the files that the run wrote.
    `protocol` is the version of the protocol that the run follows; None until there is one.
    """

    probe: str = ""
    identity: Mapping[str, Any] = field(default_factory=dict)
    kind: RunKind = RunKind.ASKED
    schema: int = SCHEMA
    model: ModelSpec = field(default_factory=lambda: ModelSpec(""))
    others: Mapping[str, ModelSpec] = field(default_factory=dict)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    preset: str | None = None
    limit: int | None = None
    seed: int | None = None
    questions: int | None = None
    stages: Mapping[str, int] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    data_folder: str | None = None
    skip_bad: bool = False
    engine: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    started: str = ""
    finished: str = ""
    timings: Mapping[str, float] = field(default_factory=dict)
    near_ties: Mapping[str, Any] = field(default_factory=dict)
    backed_off: Mapping[str, int] = field(default_factory=dict)
    block_sizes: Mapping[str, int] = field(default_factory=dict)
    spent: Mapping[str, float | None] = field(default_factory=dict)
    prompts: Mapping[str, PromptRecord] = field(default_factory=dict)
    brought: Mapping[str, str] = field(default_factory=dict)
    endpoint: EndpointInfo | None = None
    findings_digest: str | None = None
    table_digests: Mapping[str, str] = field(default_factory=dict)
    protocol: str | None = None

    def __post_init__(self) -> None:
        counts = {"limit": self.limit, "seed": self.seed, "questions": self.questions}
        for name in ("stages", "engine", "backed_off", "block_sizes"):
            counts |= {f"{name}.{key}": count for key, count in getattr(self, name).items()}
        for name, count in counts.items():
            least = 1 if name.startswith("block_sizes.") else 0
            if count is not None and not least <= count <= _LARGEST:
                raise ValueError(f"{name} must be a whole number from {least} to {_LARGEST}")
        kinds = {"answers": str, "data": Mapping, "brought": Mapping, "dtype": str, "only": Mapping, "labels_from": int}
        for key, kind in kinds.items():
            if not isinstance(self.identity.get(key), kind | None):
                raise ValueError(f"identity.{key} has the wrong type")


@dataclass(frozen=True)
class Run(NotebookDisplay):
    """A finished run: its folder, how it was made (`info`, from run.json) and its findings."""

    folder: Path
    info: RunInfo
    findings: Findings
    read_digest: str = ""

    @property
    def probe(self) -> str:
        return self.findings.probe

    @property
    def model(self) -> str:
        """The audited model as the user named it."""
        return self.info.model.name or self.findings.model

    @property
    def weights(self) -> str:
        """What identifies the model: the digest of its files or, if answers came in files, its name."""
        return self.info.model.digest or self.model

    @property
    def questions(self) -> int | None:
        """How many questions were asked; None if it is not recorded."""
        return self.info.questions

    @property
    def at_most(self) -> bool:
        """Whether the number of questions is only an upper bound, as the label of a part then says."""
        return any("at most" in label for label in self.info.stages)

    @property
    def notes(self) -> list[str]:
        """The run's notes, such as subjects that were left out; each once."""
        return list(dict.fromkeys(self.info.notes))

    @property
    def findings_digest(self) -> str:
        """The digest of findings.json, as it was read or, for a run of this process, written."""
        return self.read_digest or hashlib.sha256(self.findings.to_json().encode()).hexdigest()

    @property
    def level(self) -> str:
        """The name of the estimates' intervals, such as "95% interval"."""
        return self.findings.level

    @property
    def sample(self) -> str:
        """ "limit 500" or "preset quick" if the run is a sample of the questions; otherwise empty."""
        if self.info.limit is not None:
            return f"limit {self.info.limit}"
        return f"preset {self.info.preset}" if self.info.preset not in (None, "", "paper") else ""

    def setting(self, name: str) -> str:
        """A setting of the run as text; empty if it is missing or not a text."""
        value = self.info.settings.get(name)
        return value if isinstance(value, str) else ""

    def rows(self, table: str) -> Sequence[Row]:
        """The rows of a table; empty if this run has no such table."""
        return list(self.findings.tables[table].records()) if table in self.findings.tables else []

    def smallest(self, of: str) -> float:
        """The smallest effect of this kind that is worth a headline; 0 if the run has no verdict."""
        return 0.0 if self.findings.verdict is None else self.findings.verdict.smallest(of)

    def number(self, table: str, row: Row, column: str, bounds: tuple[float, float] | None = None) -> float | None:
        """The number in a cell, or None if it is empty; anything else, or outside the bounds, is a DataError."""
        value = row.get(column)
        low, high = bounds or (-sys.float_info.max, sys.float_info.max)
        if value is None or (isinstance(value, int | float) and low <= value <= high):
            return value
        expected = f"a number from {bounds[0]:g} to {bounds[1]:g}" if bounds else "a finite number"
        raise DataError(
            f'column "{column}" holds {str(value)[:40]!r}, expected {expected} or an empty cell.',
            "Repeat the run to rewrite it.",
            code="bad-findings",
            file=self.folder / "tables" / f"{table}.csv",
            key=column,
        )

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}: {self.findings!r})"


class Tour(NamedTuple):
    """A folder of finished runs, such as a tour, with one run for each probe."""

    folder: Path
    runs: list[Run]

    @property
    def missing(self) -> dict[str, str]:
        """The probes that failed or that the model cannot answer, each with the reason."""
        return read_missing(self.folder)

    def __repr__(self) -> str:
        return f"Tour({str(self.folder)!r}: {', '.join(run.probe for run in self.runs)})"

    def _repr_html_(self) -> str | None:
        return html_of(self)


# --- runs of a study


@dataclass(frozen=True)
class TaskScore:
    """A model's score at its task, and the score of the model that it is compared with."""

    metric: str
    score: Estimate
    before: Estimate | None

    @property
    def change(self) -> float | None:
        """The change of the score; below 0, the model is worse."""
        if self.before is None or self.before.value is None or self.score.value is None:
            return None
        return self.score.value - self.before.value


@dataclass(frozen=True)
class StudyRun:
    """A run of a study, and how its model was made.

    `model` is the model's name in the study, `sources` those of the models that it was made from; `debiased_by` are the
    methods in words, `baseline` is the title of the model that it is compared with.
    """

    run: Run
    model: str
    sources: Sequence[str]
    debiased_by: str
    baseline: str | None
    task: TaskScore | None
