"""What can be set with `--set key=value`, and what the presets mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from assay.probes.settings import read_settings

QUICK, STANDARD = 2, 10
"""Quartets of every template in the presets quick and standard; paper takes all."""

STARTER_QUICK, STARTER_STANDARD = 3, 12
"""The same for the starter set, which has few templates."""

OPTIONS, LETTERS, RACE, ARC = "options", "letters", "race", "arc"
CHOICE_FORMS, TEXT_FORMS = (OPTIONS, LETTERS), (RACE, ARC)

CHOICES = {
    "form": ("auto", *CHOICE_FORMS, *TEXT_FORMS),
    "context": ("given", "none", "both"),
    "orders": ("stored", "all"),
    "likelihood": ("sum", "token", "byte"),
    "chat": ("auto", "off"),
    "parsing": ("assay", "released"),
    "refusals": ("wrong", "unknown", "exclude"),
    "defects": ("keep", "drop"),
    "target_loc": ("auto", "person", "biased"),
}


@dataclass(frozen=True)
class Settings:
    """BBQ's settings.

    category: only these categories, separated by commas (all).
    form: options (each is scored by itself), letters (they are listed; A, B and C are scored), race or arc (the paper's
      inputs for text-to-text models); auto: options, or race for a model that only writes.
    context: given, none (the question-only baseline) or both.
    orders: the options as stored, or in all six orders: then every order counts as a sixth of an answer.
    likelihood: of causal models' options: the sum over their tokens, or the mean per token or per byte.
    chat: off ignores a tokenizer's chat template.
    parsing: released matches written answers as the authors' program does.
    refusals: what a refusal counts as: wrong, unknown, or nothing (exclude).
    defects: drop leaves out what `assay data check bbq` lists as wrong.
    metadata: the authors' additional_metadata.csv, where it does not lie beside the data; target_loc: what its column
      of this name means: the stereotyped person, the biased answer, or whichever its rows show (auto).
    resamples: of templates, for intervals.
    """

    category: str = ""
    form: str = "auto"
    context: str = "given"
    orders: str = "stored"
    likelihood: str = "sum"
    chat: str = "auto"
    parsing: str = "assay"
    refusals: str = "wrong"
    defects: str = "keep"
    metadata: str | None = None
    target_loc: str = "auto"
    resamples: int = 1000

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.category.split(",") if name.strip())

    def as_dict(self) -> dict[str, str | int | None]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @staticmethod
    def parse(given: Mapping[str, str]) -> Settings:
        """
        >>> Settings.parse({"category": "Age, Religion", "resamples": "99"}).categories
        ('Age', 'Religion')
        """
        values = read_settings("bbq", given, (each.name for each in fields(Settings)), CHOICES, {"resamples": 1})
        return Settings(**values)
