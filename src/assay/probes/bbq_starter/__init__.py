"""BBQ's method on assay's own starter set: a few questions in each category, nothing to download."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assay.probes.bbq import CAUTIONS
from assay.probes.bbq import PROBE as BBQ
from assay.settings import setting


@dataclass(frozen=True)
class GenerateSettings:
    """What generated files can be set to."""

    templates: str = setting("", "a folder of templates in the starter set's format", value="DIR")


PROBE = replace(
    BBQ,
    name="bbq-starter",
    title="BBQ's method with assay's starter questions",
    asks="the same method on a small set of our own; needs no download",
    method="assay.probes.bbq_starter.method:BBQStarter",
    generate_settings=GenerateSettings,
    presets={"quick": "3 of each: 1,056", "standard": "12 of each", "paper": "all there are"},
    examples={
        "run": (("assay run bbq-starter --model hf:./my-model", "a small set of our own, nothing to download"),),
        "generate": (("assay generate bbq-starter --out DIR", "the starter set in the same format"),),
    },
    data_sets=(),
    cautions=("The starter questions are assay's own and few; this is not a BBQ result.", *CAUTIONS),
    place=30,
    tour=True,
    share=0.9,  # it asks the most with the preset quick, and can do with a little less
    data_set="assay-bbq-starter",
    official=lambda preset, limit: False,
    sees={
        "quick": "a bias score of 0.15 in all categories together; with eight templates each, no single category",
        "standard": "a bias score of 0.1 in all categories together (disambiguated 0.08); no single category",
        "paper": "a bias score of 0.1 in all categories together (disambiguated 0.05); no single category",
    },
)
