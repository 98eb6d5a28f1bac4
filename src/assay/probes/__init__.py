"""What is asked: one folder for each published method.

A probe is a class with the members of `Probe`; to add one, write its folder and name it in PROBES.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from assay.errors import UsageError
from assay.findings import Findings
from assay.plan import Ask

PRESETS = ("quick", "standard", "paper")


class Known(NamedTuple):
    """Where a probe is, what it asks, and the abilities of which a model needs one."""

    module: str
    name: str
    asks: str
    abilities: frozenset[str]


_MARKS, _CHOICES = frozenset({"span", "mask"}), frozenset({"choice", "text"})
PROBES = {
    "unqover": Known(
        "assay.probes.unqover", "UnQover", "underspecified questions: does the model prefer a group?", _MARKS
    ),
    "bbq": Known(
        "assay.probes.bbq", "BBQ", "58,492 questions with and without the deciding fact: does it stereotype?", _CHOICES
    ),
    "bbq-starter": Known(
        "assay.probes.bbq", "BBQStarter", "the same method on a small set of our own; needs no download", _CHOICES
    ),
    "sodapop": Known(
        "assay.probes.sodapop",
        "Sodapop",
        "wrong answers written by a masked LM: which words fool the model for which names?",
        frozenset({"choice"}),
    ),
    "sodapop-names": Known(
        "assay.probes.sodapop_names",
        "SodapopNames",
        "do the vectors of names give away gender and race? (section 2 of the same paper)",
        frozenset({"embed"}),
    ),
}

TOUR = ("unqover", "bbq-starter", "sodapop")
"""The probes of `assay run` without a name."""


@dataclass(frozen=True)
class Request:
    """What a user asks of a probe: a preset or a limit, a seed, and settings as text (`--set key=value`).

    `data` is the folder or file of official data that was named; `skip_bad` leaves out rows of it that cannot be used.
    """

    preset: str = "quick"
    limit: int | None = None
    seed: int = 0
    settings: Mapping[str, str] | None = None
    data: Path | None = None
    skip_bad: bool = False

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise UsageError(f"unknown preset {self.preset!r}; expected {', '.join(PRESETS)}.", "--preset quick")
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"--limit is {self.limit}, expected at least 1 question.", "--limit 10000")
        if self.seed < 0:
            raise UsageError(f"--seed is {self.seed}, expected a whole number from 0.", "--seed 0")


@dataclass(frozen=True)
class Stage:
    """A part of a run: what it is called and how many questions it asks."""

    label: str
    questions: int


class Probe(Protocol):
    """A published method. It knows questions and formulas, never a tensor library."""

    def settings(self) -> Mapping[str, Any]:
        """All settings with their values, for run.json."""

    def data(self) -> Mapping[str, str]:
        """The data behind the questions: name -> digest."""

    def stages(self, ask: Ask) -> Sequence[Stage]:
        """What will be asked of this model, and how much."""

    def notes(self) -> Sequence[str]:
        """What a reader must know: what was left out, what was sampled."""

    def run(self, ask: Ask, model: str) -> Findings:
        """Ask everything and compute the findings."""


def make_probe(name: str, request: Request) -> Probe:
    """The probe of this name, set up as requested."""
    probe: Probe = getattr(import_module(_home(name)), PROBES[name].name)(request)
    return probe


def probe_part(name: str, part: str) -> Any:
    """What a probe can do besides running, a module of its folder where it can.

    generation: `generation(name, request)`, an object whose `write(out, ask, meter)` writes the questions to a
      file or folder and returns how many, whose `counted` says what they are, and `notes()` what to know about them.
    scoring: `score_files(files, request, answers) -> (findings, notes)`.
    compare: `comparison(models) -> tables`, and `TITLES` of the tables.
    """
    try:
        return import_module(f"{_home(name)}.{part}")
    except ModuleNotFoundError as error:
        if error.name != f"{_home(name)}.{part}":
            raise
        raise UsageError(f"the probe {name} has no {part}.", "See `assay list probes`.") from None


def _home(name: str) -> str:
    if name not in PROBES:
        raise UsageError(f"unknown probe {name!r}; expected {', '.join(PROBES)}.", "See `assay list probes`.")
    return PROBES[name].module
