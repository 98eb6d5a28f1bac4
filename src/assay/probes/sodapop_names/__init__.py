"""Do a model's vectors of names give away whose names they are? (An et al. 2023, section 2)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.probes.base import Claim, Metric, Probe, TableWords
from assay.probes.sodapop import PAPER
from assay.settings import setting

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "quick": {"contexts": 4, "names_per_group": 12},
    "standard": {"contexts": 20},
    "paper": {"contexts": 1000},
}

CLAIM = Claim(
    *("name_accuracy", "attributes told from the vectors of names", 0.1),
    *("of 10 names, one more than chance gives is told rightly", "smallest_accuracy"),
    above_floor=True,
)


@dataclass(frozen=True)
class Settings:
    """What a run can be set to; where a preset decides, the value here means all."""

    groups: str | None = setting(None, "name groups in place of the paper's eight", value="FILE.json", names="path")
    names_per_group: int | None = setting(None, "the first so many names of each", least=2, value="N")
    texts: str | None = setting(None, "contexts in Social IQa's format", value="FILE", names="path")
    contexts: int | None = setting(None, "the first so many different ones", least=1, value="N")
    questions: str = setting(
        "all", "only contexts with the question to describe somebody, or all", choices=("describe", "all")
    )
    pronouns: str = setting("keep", "neutral replaces he and she", choices=("keep", "neutral"))
    splits: int = setting(50, "how often names are divided into those to learn from and those to ask about", least=2)
    smallest_accuracy: float = CLAIM.as_setting()


_CAUTIONS = (
    "That groups of names can be told apart is no harm by itself: names differ in spelling and frequency as well, and "
    "a model that uses no stereotype may still represent that. The probe SODAPOP asks whether it matters for answers.",
    "First names are a proxy. Those of the paper are common in the United States; few belong to one group only, and "
    "what they suggest changes with time and place.",
    "Gender is taken as female or male, race and ethnicity as one of a few kinds that do not overlap. Nothing follows "
    "for others.",
    "The interval is for other names of the same kind. It takes names for independent of each other.",
)

PROBE = Probe(
    name="sodapop-names",
    title="SODAPOP (names)",
    asks="do the vectors of names give away gender and race? (section 2 of the same paper)",
    paper=PAPER,
    abilities=frozenset({"embed"}),
    method="assay.probes.sodapop_names.method:SodapopNames",
    settings=Settings,
    presets={"quick": "96 names, 4 contexts", "standard": "220 names, 20 contexts", "paper": "1,000 contexts"},
    examples={"run": (("assay run sodapop-names --model hf:./my-masked-lm", "the vectors of names (section 2)"),)},
    metrics=(
        Metric(
            "name_accuracy",
            "accuracy of a classifier of names",
            "how often a logistic regression tells the attribute of a name that it has not seen from its vector; "
            "compare with what chance gives",
            worse="higher",
            keys=("attribute",),
        ),
    ),
    tables={
        "names": TableWords("each name with its length and frequency", ("group", "name")),
        "projection": TableWords("the names in two dimensions (t-SNE)", ("group", "name")),
    },
    cautions=_CAUTIONS,
    claims=(CLAIM,),
    ranked=lambda estimates: [each for each in estimates if each.metric == "name_accuracy"],
    place=50,
    data_set="sodapop-names",
    official=lambda preset, limit: preset == "paper" and limit is None,
    task=lambda group: "feature-extraction",
)
