"""What can be set for INLP and SentenceDebias with `--set key=value`; the defaults are bias-bench's values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from assay.errors import UsageError
from assay.probes.settings import read_settings

_HEADS = ("span", "mask", "choice")
_CHOICES = {
    "case": ("lower", "keep"),
    "clip": ("random", "never"),
    "match": ("word", "token"),
    "stop": ("never", "chance"),
    "head": _HEADS,
}
_NUMBERS = {"rounds": 1, "components": 1, "sentences": 0, "least_words": 1, "length": 0}


@dataclass(frozen=True)
class Settings:
    """What both methods share.

    sentences: as many of each kind (INLP), or as many with an attribute word (SentenceDebias); 0: all. case: `lower`
    turns texts to lower case, whatever the model reads. match: `token` finds words between blanks only, as released.
    length: the most tokens of a sentence; 0: as many as the model reads. head: of the built-in model, which has three.
    """

    sentences: int = 10_000
    case: str = "lower"
    match: str = "word"
    length: int = 0
    head: str = "choice"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class InlpSettings(Settings):
    """rounds: classifiers trained, each of whose directions is removed. stop: `chance` ends when a classifier does no
    better than guessing. clip: cut sentences behind their attribute word. least_words: shorter sentences are left out.
    """

    rounds: int = 80
    stop: str = "never"
    clip: str = "random"
    least_words: int = 5


@dataclass(frozen=True)
class SentenceSettings(Settings):
    """components: how many principal components are removed. bias-bench reads 128 tokens of a sentence, and every
    sentence that has an attribute word (`sentences=0`).
    """

    length: int = 128
    components: int = 1


SETTINGS: dict[str, type[Settings]] = {"inlp": InlpSettings, "sentence": SentenceSettings}


def settings_of(method: str, given: Mapping[str, str]) -> Settings:
    """A method's settings, read from text.

    >>> settings_of("inlp", {"rounds": "20"}).as_json()["rounds"]
    20
    """
    kind = SETTINGS[method]
    known = [field.name for field in fields(kind)]
    if unknown := [key for key in given if key not in known]:
        problem = f"{method} has no setting {unknown[0]!r}; it has {', '.join(sorted(known))}."
        raise UsageError(problem, "See docs/debias.md.")
    return kind(**read_settings(method, given, known, _CHOICES, _NUMBERS))
