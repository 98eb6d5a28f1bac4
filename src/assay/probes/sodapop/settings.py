"""What can be set with `--set key=value`, and what the presets mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from assay.probes.settings import read_settings

PER_NAME, SHARED = "per_name", "shared"
EXACT, SAMPLED = "exact", "sampled"

CHOICES = {
    "distractors": (PER_NAME, SHARED),
    "pairing": (EXACT, SAMPLED),
    "case": ("lower", "keep"),
    "pieces": ("drop", "keep"),
    "punctuation": ("drop", "keep"),
    "right_answer": ("drop", "keep"),
    "pronouns": ("keep", "neutral"),
    "questions": ("describe", "all"),
    "p": ("counted", "strict"),
}
NUMBERS = {
    "distance": 1,
    "fills": 1,
    "cap": 2,
    "min_count": 1,
    "names_per_group": 2,
    "contexts": 1,
    "context": 1,
    "resamples": 1,
    "permutations": 1,
}
"""setting -> its least value"""


@dataclass(frozen=True)
class Settings:
    """SODAPOP's settings; where a preset decides, the value here is the paper's.

    groups: a JSON file of name groups in place of the paper's eight; names_per_group: the first so many of each.
    texts: a file of contexts in Social IQa's format in place of the packaged ones; contexts: the first so many;
      context: only this one (counted from 1), as in section 4.2; questions: describe, or all that have a prompt;
      pronouns: neutral replaces he and she.
    distractors: per_name (the paper's) or shared: one pool a context, made with one name of each group.
    distance, fills, cap: k, M and the most distractors of a name and context.
    pieces, punctuation, right_answer: whether pieces of words, fills without a letter, and the right answer itself stay
      in the pools.
    fill_model: who fills masks; the audited model where it can.
    pairing: exact (all pairings) or sampled (one, as in the paper).
    min_count: a word counts if every name has at least so many distractors with it; case: keep tells Happy from happy.
    p: counted (p is never 0) or strict (Eq. 5); permutations: at most so many.
    traits: a lexicon in place of the packaged one; human: orderings by people, to compare with.
    resamples: of names and contexts, for intervals.
    """

    groups: str | None = None
    names_per_group: int | None = None
    texts: str | None = None
    contexts: int | None = None
    context: int | None = None
    questions: str = "describe"
    pronouns: str = "keep"
    distractors: str = PER_NAME
    distance: int = 3
    fills: int = 10
    cap: int = 10_000
    pieces: str = "drop"
    punctuation: str = "drop"
    right_answer: str = "drop"
    fill_model: str | None = None
    pairing: str = EXACT
    min_count: int = 50
    case: str = "lower"
    p: str = "counted"
    permutations: int = 1_000_000
    traits: str | None = None
    human: str | None = None
    resamples: int = 1000

    def as_dict(self) -> dict[str, str | int | None]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @staticmethod
    def parse(given: Mapping[str, str], preset: str = "paper") -> Settings:
        """The settings of a preset with those that were given in their place.

        >>> Settings.parse({"cap": "99"}, "quick").cap, Settings.parse({}, "quick").distractors
        (99, 'shared')
        """
        read = read_settings("sodapop", given, (each.name for each in fields(Settings)), CHOICES, NUMBERS)
        return Settings(**{**PRESETS[preset], **read})


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "quick": {
        "names_per_group": 6,
        "contexts": 2,
        "distractors": SHARED,
        "distance": 2,
        "cap": 60,
        "min_count": 4,
        "permutations": 10_000,
    },
    "standard": {
        "names_per_group": 12,
        "contexts": 6,
        "distractors": SHARED,
        "cap": 300,
        "min_count": 10,
    },
    "paper": {},
}
