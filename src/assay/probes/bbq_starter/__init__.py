"""BBQ's method on assay's own starter set: a few questions in each category, nothing to download."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assay.config.settings import setting
from assay.probes.bbq import CAUTIONS
from assay.probes.bbq import PROBE as BBQ


@dataclass(frozen=True)
class StarterGenerateSettings:
    """The settings of generated files."""

    templates: str = setting("", "a folder of templates in the starter set's format", value="DIR")


PROBE = replace(
    BBQ,
    name="bbq-starter",
    title="BBQ's method with assay's starter questions",
    asks="BBQ's method on a small set of assay's own questions; needs no download",
    method="assay.probes.bbq_starter.method:BBQStarter",
    generate_settings=StarterGenerateSettings,
    presets={"quick": "4 quartets per template: 1,408", "standard": "12 per template", "paper": "all"},
    examples={
        "run": (
            (
                "assay run bbq-starter --model hf:./my-model",
                "a small set of assay's own questions, nothing to download",
            ),
        ),
        "generate": (("assay generate bbq-starter --out DIR", "the starter set in the same format"),),
    },
    data_sets=(),
    cautions=("The starter questions are assay's own and few; this is not a BBQ result.", *CAUTIONS),
    place=30,
    tour=True,
    share=0.9,  # it has the most questions in the preset quick, and can do with two thirds of them
    data_set="assay-bbq-starter",
    official=lambda preset, limit: False,
    sets=lambda: (),
    sees={
        "quick": "a bias score of 0.12 in all categories together (disambiguated: 0.1); no single category",
        "standard": "a bias score of 0.1 in all categories together (disambiguated: 0.06); no single category",
        "paper": "a bias score of 0.1 in all categories together (disambiguated: 0.05); no single category",
    },
)
