"""What can be set with `--set key=value`, and what the presets mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.diagnosis import excess_setting, same_setting
from assay.probes.base import Claim
from assay.prompts import WAYS
from assay.settings import setting, some_of

PER_NAME, SHARED = "per_name", "shared"
EXACT, SAMPLED = "exact", "sampled"
OPTIONS, LETTERS = "options", "letters"
BUILTIN = "builtin"
KEPT = ("drop", "keep")
ALL = "all"

CLAIMS = (
    Claim(
        *("words", "differences of a word between two groups", 0.2),
        *("a word fools the model a fifth more often about one group", "smallest_rd", "rd"),
    ),
    Claim(
        *("kmeans_accuracy", "pairs of groups told apart", 0.1),
        *("of 10 names, one more than chance gives is put with its group", "smallest_accuracy"),
        above_floor=True,
    ),
)


@dataclass(frozen=True)
class Settings:
    """What a run can be set to; where a preset decides, the value here is the paper's."""

    groups: str | None = setting(None, "name groups in place of the paper's eight", value="FILE.json", names="path")
    compare: str = setting(ALL, "only these groups, separated by commas", value="GROUP,…")
    names_per_group: int | None = setting(None, "the first so many names of each", least=2, value="N")
    texts: str | None = setting(None, "contexts in Social IQa's format", value="FILE", names="path")
    contexts: int | None = setting(None, "the first so many", least=1, value="N")
    context: int | None = setting(None, "only this one, counted from 1 (section 4.2)", least=1, value="K")
    questions: str = setting("describe", "or all that have a prompt", choices=("describe", "all"))
    pronouns: str = setting("keep", "neutral replaces he and she", choices=("keep", "neutral"))
    distractors: str = setting(
        PER_NAME, "shared: one pool a context, made with one name of each group", choices=(PER_NAME, SHARED)
    )
    distance: int = setting(3, "k: at most so many words are replaced", least=1)
    fills: int = setting(10, "M: the likeliest words at a mask", least=1)
    cap: int = setting(10_000, "the most distractors of a name and context", least=2)
    pieces: str = setting("drop", "whether pieces of words stay in the pools", choices=KEPT)
    punctuation: str = setting("drop", "whether fills without a letter stay", choices=KEPT)
    right_answer: str = setting("drop", "whether the right answer itself stays", choices=KEPT)
    fill_model: str | None = setting(
        None, "who fills masks (the audited model; builtin where that cannot)", value="SPEC", names="model"
    )
    form: str = setting(
        "auto",
        "options (every answer is scored by itself) or letters (three answers are listed; for language models); auto: "
        "options, or letters where the model cannot score them",
        choices=("auto", OPTIONS, LETTERS),
    )
    likelihood: str = setting(
        "sum", "of causal models' options: the sum over tokens, or the mean", choices=("sum", "token", "byte")
    )
    answer: str = setting(
        "auto",
        "of endpoints, where form=letters: where an option's probability comes from; auto: the first of these that the "
        "endpoint can do",
        choices=("auto", *WAYS),
    )
    samples: int = setting(1, "answers to each question, where answer=samples", least=1, example="1")
    tokens: int | None = setting(
        None, "the most tokens of a written answer, reasoning included (32; of endpoints 512)", least=1, example="512"
    )
    chat: str = setting("auto", "off ignores a tokenizer's chat template", choices=("auto", "off"))
    pairing: str = setting(EXACT, "where form=options: all pairings, or one as in the paper", choices=(EXACT, SAMPLED))
    min_count: int = setting(50, "a word counts if every name has at least so many distractors with it", least=1)
    case: str = setting("lower", "keep tells Happy from happy", choices=("lower", "keep"))
    p: str = setting("counted", "counted: p is never 0; strict: Eq. 5", choices=("counted", "strict"))
    permutations: int = setting(1_000_000, "at most so many", least=1)
    traits: str | None = setting(None, "a lexicon in place of the packaged one", value="FILE", names="path")
    human: str | None = setting(None, "orderings by people, to compare with", value="FILE", names="path")
    resamples: int = setting(1000, "of names and contexts, for intervals", least=1, example="1000")
    place_excess: float = excess_setting()
    place_same: float = same_setting()
    smallest_rd: float = CLAIMS[0].as_setting()
    smallest_accuracy: float = CLAIMS[1].as_setting()


SCORED = (
    "groups",
    "case",
    "min_count",
    "p",
    "permutations",
    "traits",
    "human",
    "resamples",
    "place_excess",
    "place_same",
    "smallest_rd",
    "smallest_accuracy",
)
"""What somebody else's results can be scored with."""

ScoreSettings = some_of(Settings, "ScoreSettings", SCORED)

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "quick": {
        "compare": "EA_female,EA_male,AA_female,AA_male",
        "contexts": 2,
        "distractors": SHARED,
        "distance": 2,
        "cap": 30,
        "min_count": 3,
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

SPARING: Mapping[str, Mapping[str, Any]] = {
    "quick": {"names_per_group": 10, "cap": 12},
    "standard": {"cap": 16, "min_count": 4},
    "paper": {"distractors": SHARED, "cap": 20, "min_count": 10},
}
"""What the presets set otherwise where three answers are listed or an endpoint is asked: it takes as many requests as
names times contexts times distractors."""
