"""How a SODAPOP run is shown: what was asked, the words that fool the model, and which groups they tell apart."""

from __future__ import annotations

from typing import Any

from assay.blocks import Name, Presentation, Score, Scorecard, Section, Text
from assay.probes.sodapop import PAPER, PROBE, say_group
from assay.probes.sodapop.differences import read_pairs
from assay.probes.sodapop.present_groups import behind_pair, groups_in_short, groups_told_apart, names, picture
from assay.probes.sodapop.present_lead import Found, brief, lead
from assay.probes.sodapop.present_words import traits, words_in_short, words_that_fool
from assay.run import Run
from assay.wording import count

ASKS = "short texts about somebody, with one first name after another: which wrong answers fool the model about whom?"
PICTURE = (
    "each mark is a name, put near names about which similar words fool the model (t-SNE of the success rates, as in "
    "SODAPOP’s Figure 4). Groups that lie apart are treated differently; point at a mark for its name, pick a group in "
    "the legend to see it alone."
)


def present(run: Run) -> Presentation:
    """What is shown of a run."""
    pairs = read_pairs(run)
    found, in_short = Found(run, pairs), words_in_short(run, pairs)
    return Presentation(
        name="SODAPOP",
        asks=ASKS,
        brief=brief(found),
        lead=lead(found),
        scorecard=Scorecard(
            [Score(e, say_group(e.group), behind_pair(e), task=PROBE.task(e.group)) for e in run.findings.estimates],
            counted="n counts names, of both groups together.",
            probe=run.probe,
        ),
        cautions=[*PROBE.cautions, *_small(run)],
        citation=[["The method: ", PAPER]],
        data_set="sodapop",
        sections=[
            *words_that_fool(run, pairs),
            Section(groups_told_apart(run, found.separations, pairs)),
            Section(picture(run, "Names by the words that fool the model about them", PICTURE, "sodapop-picture")),
            Section(traits(run)),
            Section(names(run)),
        ],
        summary=[in_short] if found.words else (),
        terminal=[in_short, *groups_in_short(found.separations, len(found.tested))]
        if pairs or found.separations
        else (),
    )


def _small(run: Run) -> list[Text]:
    """What a small run cannot say."""
    said: list[Text] = []
    least = _whole(run, "min_count")
    texts = 1 if _whole(run, "context") else _whole(run, "contexts")
    if least is not None or texts is not None:
        used = "" if texts is None else f"This run used {'one text' if texts == 1 else f'at most {texts} texts'}. "
        if least is not None:
            counted = f"It counts a word if each name has {count(least)} or more wrong answers with it"
            used += f"{counted} (the paper: 50, over 50 texts). "
        said.append(f"{used}Few texts and few answers show what happens in these, not in general.")
    if run.sample:
        larger = "); a larger one, with more names and texts, tells more from chance."
        said.append(["This run is smaller than the paper’s (", Name(run.sample), larger])
    return said


def _whole(run: Run, name: str) -> int | None:
    value: Any = run.info.settings.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
