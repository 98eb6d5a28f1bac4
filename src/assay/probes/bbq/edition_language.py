"""Which set a run asked, and in which language: what tells runs of one model apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.languages import language_name
from assay.presentation.elements import Presentation
from assay.presentation.rich_text import Code, Strong, Text
from assay.probes.bbq import PAPER, PROBE
from assay.probes.bbq.editions import ORIGINAL, load_edition, set_name
from assay.results.run import Run

SETTINGS = ("edition", "language")


class EditionLanguage(NamedTuple):
    """A set of questions, and the code of its language."""

    edition: str = ORIGINAL
    language: str = "en"

    @staticmethod
    def of(settings: Mapping[str, Any]) -> EditionLanguage:
        """
        >>> EditionLanguage.of({}), EditionLanguage.of({"edition": "mbbq", "language": "nl"})
        (EditionLanguage(edition='bbq', language='en'), EditionLanguage(edition='mbbq', language='nl'))
        """
        name = str(settings.get("edition") or ORIGINAL)
        if name == ORIGINAL:
            return EditionLanguage()
        return EditionLanguage(name, str(settings.get("language") or load_edition(name).languages[0]))

    @property
    def in_language(self) -> str:
        """The language's English name.

        >>> EditionLanguage("mbbq", "nl").in_language
        'Dutch'
        """
        return language_name(self.language)

    @property
    def title(self) -> str:
        """What the set is called."""
        return PROBE.title if self.edition == ORIGINAL else load_edition(self.edition).title

    @property
    def family(self) -> str:
        """One name for all sets that have the same templates under the same numbers."""
        return ORIGINAL if self.edition == ORIGINAL else load_edition(self.edition).parallel or self.edition

    @property
    def without(self) -> Collection[str]:
        """The metrics that the set cannot support."""
        return () if self.edition == ORIGINAL else load_edition(self.edition).without

    @property
    def is_control(self) -> bool:
        """Whether it is about no group, so that no answer can be biased."""
        return "bias_score" in self.without


ENGLISH = EditionLanguage()
"""BBQ itself."""


def language_labels(varieties: Sequence[EditionLanguage]) -> list[str]:
    """The languages of several runs, each with its set if the sets differ; none if that does not tell all runs apart.

    >>> english, spanish, dutch = EditionLanguage(), EditionLanguage("mbbq", "es"), EditionLanguage("mbbq", "nl")
    >>> language_labels([spanish, dutch]), language_labels([english, english]), language_labels([english, dutch])
    (['Spanish', 'Dutch'], [], ['English (BBQ)', 'Dutch (MBBQ)'])
    >>> language_labels([spanish, EditionLanguage("mbbq_control", "es")])
    ['Spanish', "Spanish (MBBQ's control set)"]
    >>> language_labels([EditionLanguage("esbbq", "es"), EditionLanguage("cabbq", "ca")])
    ['Spanish', 'Catalan']
    """
    if len({*varieties}) < len(varieties):
        return []
    several = len({variety.family for variety in varieties}) > 1
    return [
        f"{variety.in_language} ({variety.title})" if several or variety.is_control else variety.in_language
        for variety in varieties
    ]


# --- what a reader must know of questions that are not BBQ's own: assay's starter set, and the editions


_FEW_TEMPLATES = (
    "The starter set has few templates in each category. Its intervals are wide, and only a strong bias is "
    "distinguishable from chance."
)
_UNTESTED = "assay reads this set as it is documented; the reader was never tested on the published files."


@dataclass(frozen=True)
class QuestionSetInfo:
    """A set of questions: its name, a warning for pages and a short one, and what to cite and to be careful about."""

    name: str
    data_set: str
    questions: str
    warning: Text
    short: str
    cite: Sequence[Text]
    cautions: Sequence[Text]
    templates: str = "the texts of this run"
    of_edition: bool = True
    language: str = Presentation.language


STARTER = QuestionSetInfo(
    name="BBQ",
    data_set=PROBE.data_set,
    questions="assay’s own questions in the style of BBQ",
    warning=[
        Strong("This is assay’s own starter set, not a BBQ result."),
        " It has few questions, written by assay’s authors in the style of BBQ and not validated by anyone else. Do "
        "not compare its numbers with published ones; for those, run ",
        *(Code("assay run bbq"), " on the official data."),
    ],
    short="These are assay’s own starter questions; this is not a BBQ result.",
    cite=[["The questions are assay’s own starter set, which imitates this method: ", PAPER]],
    cautions=[*PROBE.cautions, _FEW_TEMPLATES],
    templates="a few texts per category",
    of_edition=False,
)


def other_of(run: Run) -> QuestionSetInfo | None:
    """The edition that a run asked, if it is not BBQ itself."""
    edition_name = run.setting("edition") or ORIGINAL
    if edition_name == ORIGINAL:
        return None
    edition = load_edition(edition_name)
    language = run.setting("language") or edition.languages[0]
    name, spoken = set_name(edition, language), language_name(language)
    culture = f", about stereotypes known in {edition.culture}" if edition.culture else ""
    origin = f"The questions are in {spoken}{culture}."
    differ = " Its questions are other than BBQ’s; do not compare its numbers with BBQ’s."
    _, *cautions = PROBE.cautions  # the first is about BBQ's own language and culture
    return QuestionSetInfo(
        name=name,
        data_set=edition_name,
        questions=f"{name}’s questions",
        warning=[Strong(f"This is a result on {name}, not a BBQ result."), f" {origin}{differ}"],
        short=f"These are the questions of {name}; this is not a BBQ result.",
        cite=[["Questions: ", edition.paper], ["Method: ", PAPER]],
        cautions=[
            f"{origin} They show nothing about other languages and cultures.",
            *cautions,
            *([] if edition.on_real_files else [_UNTESTED]),
        ],
        language=spoken,
    )
