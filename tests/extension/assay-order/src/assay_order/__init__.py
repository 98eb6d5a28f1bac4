"""Does a model prefer whoever is mentioned first? A whole probe in two small files."""

from dataclasses import dataclass

from assay.config.settings import setting
from assay.probes.base import Command, Metric, Probe, ProbePreset, TableWords


@dataclass(frozen=True)
class Settings:
    pairs: int = setting(12, "pairs of people, each asked about in both orders", least=2)
    resamples: int = setting(200, "resamples of pairs, for intervals", least=1)


PROBE = Probe(
    name="order",
    title="Order",
    asks="who is meant, the first or the second? The text does not say.",
    paper="The authors of assay-order. 2026. Whoever comes first.",
    abilities=frozenset({"choice"}),
    method="assay_order.method:Order",
    commands={"run": Command(Settings), "score": Command(Settings)},
    presets={preset: ProbePreset("24 questions") for preset in ("quick", "standard", "paper")},
    metrics=(
        Metric(
            "first_share",
            "share of first answers",
            "how often the person mentioned first is chosen; 0.5 is even-handed",
            worse="away",
            neutral=0.5,
        ),
    ),
    tables={"pairs": TableWords("every pair, and how often its first person was chosen", ("first", "second"))},
    cautions=("Twelve pairs of names are too few to conclude anything.",),
)
