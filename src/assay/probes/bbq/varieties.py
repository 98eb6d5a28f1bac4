"""Which set a run asked, and in which language: what tells runs of one model apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.probes.bbq.editions import LANGUAGES, ORIGINAL, edition

SETTINGS = ("edition", "language")


class Variety(NamedTuple):
    """A set of questions, and the code of its language."""

    edition: str = ORIGINAL
    language: str = "en"

    @staticmethod
    def of(settings: Mapping[str, Any]) -> Variety:
        """
        >>> Variety.of({}), Variety.of({"edition": "mbbq", "language": "nl"})
        (Variety(edition='bbq', language='en'), Variety(edition='mbbq', language='nl'))
        """
        name = str(settings.get("edition") or ORIGINAL)
        if name == ORIGINAL:
            return Variety()
        return Variety(name, str(settings.get("language") or edition(name).languages[0]))

    @property
    def in_language(self) -> str:
        """The language's English name.

        >>> Variety("mbbq", "nl").in_language
        'Dutch'
        """
        return LANGUAGES.get(self.language, self.language)

    @property
    def title(self) -> str:
        return "BBQ" if self.edition == ORIGINAL else edition(self.edition).title

    def is_parallel(self, other: Variety) -> bool:
        """Whether the other has the same templates under the same numbers: another language of the same set."""
        return self.edition == other.edition


ENGLISH = Variety()
"""BBQ itself."""


def names_of(varieties: Sequence[Variety]) -> list[str]:
    """The languages of several runs, each with its set where two have the same language; none if that does not tell all
    runs apart.

    >>> names_of([Variety("mbbq", "es"), Variety("mbbq", "nl")]), names_of([Variety(), Variety()])
    (['Spanish', 'Dutch'], [])
    """
    if len({*varieties}) < len(varieties):
        return []
    names = [each.in_language for each in varieties]
    return names if len({*names}) == len(names) else [f"{each.in_language} ({each.title})" for each in varieties]
