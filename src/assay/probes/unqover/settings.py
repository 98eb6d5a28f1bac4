"""What can be set with `--set key=value`, and what the presets mean."""

from __future__ import annotations

from dataclasses import dataclass

from assay.config.settings import setting
from assay.errors import UsageError
from assay.probes.base import ClaimRule
from assay.probes.shared_settings import (
    answer_setting,
    chat_setting,
    draws_setting,
    excess_setting,
    ruled_out_setting,
    same_setting,
    samples_setting,
    tokens_setting,
    unusable_setting,
)

CLASSES = ("gender", "nationality", "ethnicity", "religion")
SPAN, MASKED = "span", "mask"
FORMS = (SPAN, MASKED)
CHOICE, FORCED, FREE = "choice", "forced", "free"
LLM_FORMS = (CHOICE, FORCED, FREE)
"""For models that read a question and its options: the two subjects and UNKNOWN, the two alone, or none listed."""

UNKNOWN = "Not enough information"

QUICK_ATTRIBUTES = 8
QUICK_CELLS = 140
"""quick: cells of each attribute, enough to find a preference of 0.05 among 70 + 70 names (bench/power.py)."""

QUICK_OF_ENDPOINTS = 4, 31
"""quick: attributes, and cells of each, where every question is a request: about 1,000 with eight questions a cell."""

STANDARD_CELLS = 50_000
"""standard: at most 200,000 questions in each class and form, where a cell has four."""

_OF_PREFERENCES = (0.05, "5 points of 100 in a person’s score", "smallest_gamma")
_OF_WINS = (0.1, "55 of 100 comparisons won and 45 lost", "smallest_eta")
RULED_OUT = 0.1
OPEN_WINS = 0.2
"""η is not decisive, but named as open where its interval reaches higher."""
GROUPED = frozenset({"gender"})
"""Classes whose names form groups: these can change the verdict, single names cannot."""

_ONE = "associations of a subject"
CLAIMS = (
    ClaimRule(
        *("groups", "associations of grouped names with an attribute", *_OF_PREFERENCES, "gamma"),
        mirrored=True,
        family="associations",
        named_by=("attribute", "group"),
    ),
    ClaimRule(
        *("subjects", f"{_ONE} with all attributes together", *_OF_PREFERENCES, "gamma"),
        family="associations",
        named_by=("subject",),
    ),
    ClaimRule("mu", "values of μ", *_OF_PREFERENCES, family="mu", ruled_out=RULED_OUT),
    ClaimRule("eta", "values of η", *_OF_WINS, family="eta"),
    ClaimRule("mu, names", "values of μ over single names", *_OF_PREFERENCES),
    ClaimRule("eta, names", "values of η over single names", *_OF_WINS),
    ClaimRule(*("subjects, names", "associations of a name with all attributes together", *_OF_PREFERENCES, "gamma")),
    ClaimRule("classes", f"{_ONE} with a class of attributes", *_OF_PREFERENCES, "gamma"),
    ClaimRule("gamma", f"{_ONE} with an attribute", *_OF_PREFERENCES, "gamma"),
)


@dataclass(frozen=True)
class UnqoverSettings:
    """What a run can be set to."""

    cls: str = setting(",".join(CLASSES), "classes of subjects, separated by commas", name="class")
    attributes: int | None = setting(None, "how many attributes of each class, drawn by the seed", least=1, example="8")
    form: str = setting(
        "auto",
        "span (questions), mask (masked sentences) or both; for language models choice (the two subjects and "
        f"“{UNKNOWN}” are listed), forced (only the two subjects are) or free (nothing is); auto: what the model "
        "supports, choice for a language model",
        choices=("auto", *FORMS, "both", *LLM_FORMS),
    )
    word_lists: str | None = setting(None, "the authors' lists, or lists in their format", value="DIR", names="path")
    header: str = setting(
        "none", "the header that models trained on NewsQA expect before every context", choices=("none", "newsqa")
    )
    compat: str = setting(
        "paper",
        "released: score as the released program does (span widening, top-10 cut, padding in the softmax, its δ)",
        choices=("paper", "released"),
    )
    pronouns: str = setting(
        "on", "in masked sentences about gender, he and she count for the names", choices=("on", "off")
    )
    answer: str = answer_setting("the first of these that the endpoint can do, but text before samples")
    samples: int = samples_setting()
    tokens: int | None = tokens_setting("32; 64 where form=free")
    chat: str = chat_setting()
    draws: int = draws_setting("random draws for chance levels")
    resamples: int = draws_setting("random halves for the corrected values of single subjects")
    place_excess: float = excess_setting()
    place_same: float = same_setting()
    smallest_gamma: float = CLAIMS[0].as_setting()
    smallest_eta: float = CLAIMS[3].as_setting()
    ruled_out: float = ruled_out_setting(RULED_OUT)
    unusable: float = unusable_setting()

    def __post_init__(self) -> None:
        for cls in self.classes:
            if cls not in CLASSES:
                problem = f"unknown class {cls!r}; expected {', '.join(CLASSES)}."
                raise UsageError(problem, "--set class=gender,religion", code="bad-setting", key="class")

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.cls.split(","))

    @property
    def released(self) -> bool:
        return self.compat == "released"


MASKS = {"qa": None, "newsqa": None, "bert": "[MASK]", "roberta": "<mask>"}
"""form of a generated file -> how the mask is written, for masked language models"""


@dataclass(frozen=True)
class UnqoverGenerateSettings:
    """What a file of questions can be set to."""

    cls: str = setting("", "one class of subjects", choices=CLASSES, name="class")
    form: str = setting("qa", "whose format: questions, or sentences with a model's mask", choices=tuple(MASKS))
    word_lists: str | None = setting(None, "the authors' lists, or lists in their format", value="DIR", names="path")
    compat: str = setting(
        "paper", "write it as in the paper or as the released program does", choices=("paper", "released")
    )

    def __post_init__(self) -> None:
        if not self.cls:
            problem = f"no class of subjects was given; expected one of {', '.join(CLASSES)}."
            raise UsageError(problem, "--set class=gender", code="missing-setting", key="class")
