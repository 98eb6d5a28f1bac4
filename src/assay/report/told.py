"""What a page says about a run, as HTML: from its probe's blocks."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from assay.blocks import Block, Presentation, Section, Text, notes_in
from assay.examples import Example, Wanted
from assay.probes import present
from assay.report.headline import numbered
from assay.report.html_blocks import Blocks
from assay.run import Run


class Told:
    """What the templates of pages show of a run. `uid` begins the ids of its parts, `place` the links to its files."""

    def __init__(self, run: Run, uid: str, place: str = "", examples: Sequence[Example] = ()) -> None:
        self.run, self.uid, self.place, self.examples = run, uid, place, examples
        self.shown: Presentation = present(run)
        notes = [*(e.note for e in self.shown.scorecard.estimates), *notes_in(self.shown.sections)]
        self._view = Blocks(uid, place, self.has, numbered(notes), run.level)

    def has(self, about: Wanted) -> bool:
        """Whether the page has an example behind a number."""
        return any(example.fits(about) for example in self.examples)

    def name(self) -> str:
        return self.shown.name

    def asks(self) -> str:
        return self.shown.asks

    def brief(self) -> Markup:
        return self._view.text(self.shown.brief)

    def lead(self) -> Markup:
        return self._view.blocks(self.shown.lead)

    def caution(self) -> Markup:
        return self._each("li", self.shown.cautions)

    def scorecard(self) -> Markup:
        return self._view.scorecard(self.shown.scorecard, f"{self.run.probe}-headline")

    def sections(self) -> Markup:
        return self._view.sections(self.shown.sections)

    def citation(self) -> Markup:
        return self._each("p", self.shown.citation)

    def beside(self, uid: str, block: Block, sections: Sequence[Section]) -> Markup:
        """What several runs of its probe show together, under this id."""
        view = Blocks(uid)
        return view.block(block) + view.sections(sections)

    def _each(self, tag: str, texts: Sequence[Text]) -> Markup:
        return Markup("\n").join(Markup(f"<{tag}>{{}}</{tag}>").format(self._view.text(text)) for text in texts)
