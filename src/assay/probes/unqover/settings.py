"""What can be set with `--set key=value`, and what the presets mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from assay.errors import UsageError
from assay.probes.settings import read_settings
from assay.probes.unqover.lists import CLASSES

QUICK_CELLS = {"gender": 70 * 6, "ethnicity": 105 * 3, "religion": 55 * 4, "nationality": 69 * 6 // 2}
"""quick: 6 cells an occupation; 3 and 4 a pair; every country in 6 pairs."""

STANDARD_CELLS = 50_000
"""standard: at most 200,000 questions (four a cell) in each class and form."""

FORMS = ("auto", "span", "mask", "both")
CHOICES = {
    "form": FORMS,
    "header": ("none", "newsqa"),
    "compat": ("paper", "released"),
    "pronouns": ("on", "off"),
}


@dataclass(frozen=True)
class Settings:
    """UnQover's settings.

    cls: classes of subjects, separated by commas (`--set class=gender,religion`).
    form: span (questions), mask (masked sentences), both, or auto: what the model can do.
    word_lists: a folder in the authors' format instead of the packaged lists.
    header: newsqa writes the header that models trained on NewsQA expect before every context.
    compat: released scores as the released program does: span widening, top-10 cut, padding in the softmax, its δ.
    pronouns: in masked sentences about gender, he and she count for the names.
    draws, resamples: for the noise floor and for intervals.
    """

    cls: str = ",".join(CLASSES)
    form: str = "auto"
    word_lists: str | None = None
    header: str = "none"
    compat: str = "paper"
    pronouns: str = "on"
    draws: int = 1000
    resamples: int = 1000

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.cls.split(","))

    @property
    def released(self) -> bool:
        return self.compat == "released"

    def as_dict(self) -> dict[str, str | int | None]:
        return {_shown(field.name): getattr(self, field.name) for field in fields(self)}

    @staticmethod
    def parse(given: Mapping[str, str]) -> Settings:
        """
        >>> Settings.parse({"class": "gender", "draws": "99"}).draws
        99
        """
        known = (_shown(field.name) for field in fields(Settings))
        values = read_settings("unqover", given, known, CHOICES, {"draws": 1, "resamples": 1})
        settings = Settings(**{"cls" if key == "class" else key: value for key, value in values.items()})
        for cls in settings.classes:
            if cls not in CLASSES:
                raise UsageError(
                    f"unknown class {cls!r}; expected {', '.join(CLASSES)}.", "--set class=gender,religion"
                )
        return settings


def _shown(name: str) -> str:
    return "class" if name == "cls" else name
