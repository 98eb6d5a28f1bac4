"""Do a model's vectors of names reveal gender and race? (An et al. 2023, section 2)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.config.settings import setting
from assay.probes.base import (
    ClaimRule,
    Command,
    Metric,
    Probe,
    ProbeClaims,
    ProbeData,
    ProbePreset,
    TableWords,
    Wording,
)
from assay.probes.sodapop import PAPER

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "quick": {"contexts": 4, "names_per_group": 12},
    "standard": {"contexts": 20},
    "paper": {"contexts": 1000},
}

CLAIM = ClaimRule(
    *("name_accuracy", "attributes predicted from the vectors of names", 0.1),
    *("of 10 names, one more than by chance is predicted correctly", "smallest_accuracy"),
    above_floor=True,
    family="attributes",
    discoveries=True,
)


@dataclass(frozen=True)
class SodapopNamesSettings:
    """The settings of a run; where a preset decides, the default here means all."""

    groups: str | None = setting(
        None, "groups of names to use in place of the paper's eight", value="FILE.json", names="path"
    )
    names_per_group: int | None = setting(None, "use the first N names of each group", least=2, value="N")
    texts: str | None = setting(
        None, "read contexts from this file, in Social IQa's format", value="FILE", names="path"
    )
    contexts: int | None = setting(None, "use the first N different contexts", least=1, value="N")
    questions: str = setting(
        "all", "only contexts whose question asks for a description, or all", choices=("describe", "all")
    )
    pronouns: str = setting("keep", "neutral: replace he and she", choices=("keep", "neutral"))
    splits: int = setting(50, "how many random splits of the names into training and test names", least=2)
    smallest_accuracy: float = CLAIM.as_setting()


_CAUTIONS = (
    "It is not harmful in itself that groups of names can be told apart: names also differ in spelling and frequency, "
    "and a model that uses no stereotype may still represent that. SODAPOP tests whether it matters for answers.",
    "First names are a proxy. Those of the paper are common in the United States; few belong to one group only, and "
    "what they suggest changes with time and place.",
    "Gender is treated as female or male, race and ethnicity as a few categories that do not overlap. The results say "
    "nothing about others.",
    "The interval is for other names of the same kind. It treats names as independent of each other.",
)

PROBE = Probe(
    name="sodapop-names",
    title="SODAPOP (names)",
    asks="do the vectors of names give away gender and race? (section 2 of the same paper)",
    paper=PAPER,
    abilities=frozenset({"embed"}),
    method="assay.probes.sodapop_names.method:SodapopNames",
    presets={
        "quick": ProbePreset("96 names, 4 contexts"),
        "standard": ProbePreset("220 names, 20 contexts"),
        "paper": ProbePreset("1,000 contexts"),
    },
    commands={
        "run": Command(
            SodapopNamesSettings,
            {"assay run sodapop-names --model hf:./my-masked-lm": "the vectors of names (section 2)"},
        )
    },
    metrics=(
        Metric(
            "name_accuracy",
            "accuracy of a name classifier",
            "how often a logistic regression predicts the attribute of an unseen name from its vector; compare with "
            "the chance level",
            worse="higher",
            keys=("attribute",),
        ),
    ),
    tables={
        "names": TableWords("each name with its length and frequency", ("group", "name")),
        "projection": TableWords("the names in two dimensions (t-SNE)", ("group", "name")),
    },
    cautions=_CAUTIONS,
    claims=ProbeClaims(
        (CLAIM,),
        ranked=lambda estimates: [estimate for estimate in estimates if estimate.metric == "name_accuracy"],
    ),
    place=50,
    data=ProbeData(needs_published=lambda preset, limit: preset == "paper" and limit is None),
    words=Wording(task=lambda group: "feature-extraction"),
)
