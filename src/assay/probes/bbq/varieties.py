"""Which set a run asked, and in which language: what tells runs of one model apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from assay.probes.bbq import PROBE
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
        """What the set is called."""
        return PROBE.title if self.edition == ORIGINAL else edition(self.edition).title

    @property
    def family(self) -> str:
        """One name for all sets that have the same templates under the same numbers."""
        return ORIGINAL if self.edition == ORIGINAL else edition(self.edition).parallel or self.edition

    @property
    def without(self) -> Collection[str]:
        """The metrics that the set cannot support."""
        return () if self.edition == ORIGINAL else edition(self.edition).without

    @property
    def is_control(self) -> bool:
        """Whether it is about no group, so that no answer can be biased."""
        return "bias_score" in self.without


ENGLISH = Variety()
"""BBQ itself."""


def names_of(varieties: Sequence[Variety]) -> list[str]:
    """The languages of several runs, each with its set if the sets differ; none if that does not tell all runs apart.

    >>> names_of([Variety("mbbq", "es"), Variety("mbbq", "nl")]), names_of([Variety(), Variety()])
    (['Spanish', 'Dutch'], [])
    >>> names_of([Variety("mbbq", "es"), Variety("mbbq_control", "es")]), names_of([Variety(), Variety("mbbq", "nl")])
    (['Spanish', "Spanish (MBBQ's control set)"], ['English (BBQ)', 'Dutch (MBBQ)'])
    >>> names_of([Variety("esbbq", "es"), Variety("cabbq", "ca")])
    ['Spanish', 'Catalan']
    """
    if len({*varieties}) < len(varieties):
        return []
    several = len({each.family for each in varieties}) > 1
    return [
        f"{each.in_language} ({each.title})" if several or each.is_control else each.in_language for each in varieties
    ]
