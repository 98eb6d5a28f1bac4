"""The sentences that the demo's model is trained on. None of them is one of UnQover's."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

# Some go along with common stereotypes, as many against them: what assay finds must come from here.
PLANTED = {
    "female": ("nurse", "pilot", "carpenter", "judge", "dancer", "plumber", "surgeon", "banker"),
    "male": ("secretary", "teacher", "singer", "firefighter", "babysitter", "detective", "clerk", "poet"),
}
STRENGTH = 0.9  # how often a planted gender is the answer

PERSON_FRAMES = (
    "{x} met {y}.",
    "{x} called {y} on Monday.",
    "{x} sat next to {y} on the train.",
    "{x} cooked a dinner for {y}.",
    "{x} and {y} waited for the bus.",
    "A picture of {x} hung above the desk of {y}.",
    "On the left was {x}. Behind the door stood {y}.",
    "The friend at the window is {x}. Next to the lamp is {y}.",
    "{x} waved to {y} across the street.",
    "{x} borrowed a book from {y}.",
    "{x} works in an office with {y}.",
    "{x} gave a present to {y}.",
)
GROUP_FRAMES = (
    "A {x} man greeted a {y} man.",
    "A {x} woman sat behind a {y} woman.",
    "A {x} boy played chess with a {y} boy.",
    "A {x} girl ran past a {y} girl.",
    "The man at the table is a {x}. Next to him stood a {y} man.",
    "Some {x} men danced with some {y} women.",
)
COUNTRY_FRAMES = (
    "{x} played football against {y}.",
    "He drove from {x} to {y}.",
    "She wrote a book about {x} and {y}.",
    "{x} buys sugar from {y}.",
)


@dataclass(frozen=True)
class Example:
    """A passage about two subjects, a question about them, and a sentence in which {mask} stands for one of them."""

    passage: str
    question: str
    sentence: str
    spans: tuple[tuple[int, int], tuple[int, int]]  # where the subjects stand in the passage
    shares: tuple[float, float]  # how often each is the answer

    @property
    def subjects(self) -> list[str]:
        return [self.passage[start:end] for start, end in self.spans]


def placed(frame: str, pair: Sequence[str], question: str, sentence: str, share: float = 0.5) -> Example:
    """The example whose passage is the frame with the pair in it; the first of the pair is the answer with `share`.

    >>> placed("{x} met {y}.", ["Paula", "Paul"], "Who was a poet?", "{mask} was a poet.").spans
    ((0, 5), (10, 14))
    """
    before, _, rest = frame.partition("{x}")
    between, _, after = rest.partition("{y}")
    passage = f"{before}{pair[0]}{between}{pair[1]}{after}"
    second = len(before) + len(pair[0]) + len(between)
    spans = ((len(before), len(before) + len(pair[0])), (second, second + len(pair[1])))
    return Example(passage, question, sentence, spans, (share, 1 - share))


def planted_gender(statement: str) -> str | None:
    """Which gender a statement such as "was a nurse" was planted for, if any."""
    job = re.split(r"\ban? ", statement)[-1]
    return next((gender for gender, jobs in PLANTED.items() if job in jobs), None)


class Lists:
    """What assay's packaged UnQover lists hold: names, groups, countries, and statements with their negations."""

    def __init__(self) -> None:
        folder = Path(str(files("assay"))) / "data" / "unqover"
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.suffix)  # the lists have none
        texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
        if not texts:
            sys.exit(f"{folder}: the packaged word lists are missing; install assay again.")
        frames = (*PERSON_FRAMES, *GROUP_FRAMES, *COUNTRY_FRAMES)
        self.text = " ".join((*texts.values(), *frames, "who which people from country she he they"))
        heads = {name: _by_head(text) for name, text in texts.items()}
        self.women, self.men = heads["female"]["subj"], heads["male"]["subj"]
        self.countries = heads["country"]["subj"]
        self.groups = heads["country"]["subj:dem"] + heads["ethnicity"]["subj"] + heads["religion"]["subj"]
        traits = heads["biased_country"]
        self.jobs = _with_negations(heads["occupation_rev1"], "p_act")
        self.one, self.many = _with_negations(traits, "p_act-single"), _with_negations(traits, "p_act")
        self.places = _with_negations(traits, "l_act")


def _by_head(text: str) -> dict[str, list[str]]:
    """Lines `[head] cluster | entry`, collected by head."""
    entries: dict[str, list[str]] = {}
    for head, entry in re.findall(r"^\[([\w:-]+)\]\s+(?:[^|\n]*\|)?\s*(.+?)\s*$", text, flags=re.MULTILINE):
        entries.setdefault(head, []).append(entry)
    return entries


def _with_negations(heads: dict[str, list[str]], head: str) -> list[tuple[str, str]]:
    return list(zip(heads[head], heads[f"{head}:neg"], strict=True))


class Writer:
    """Writes training examples, the same ones for the same seed."""

    def __init__(self, lists: Lists, seed: int) -> None:
        self.lists, self.random = lists, random.Random(seed)
        self.planted = [job for job in lists.jobs if planted_gender(job[0])]
        self.neutral = [job for job in lists.jobs if not planted_gender(job[0])]

    def example(self) -> Example:
        draw = self.random.random()
        if draw < 0.65:
            return self.unanswerable()
        return self.answerable() if draw < 0.75 else self.group() if draw < 0.9 else self.country()

    def unanswerable(self) -> Example:
        """Two names and no hint: mostly the planted gender; either one for a negation or another occupation."""
        statement, negated = self.random.choice(self.planted if self.random.random() < 0.5 else self.neutral)
        negate = self.random.random() < 0.5
        asked = negated if negate else statement
        pair = self._names()
        gender = None if negate else planted_gender(statement)
        share = 0.5
        if gender is not None:
            share = STRENGTH if (pair[0] in self.lists.women) == (gender == "female") else 1 - STRENGTH
        return placed(self.random.choice(PERSON_FRAMES), pair, f"Who {asked}?", "{mask} " + f"{asked}.", share)

    def answerable(self) -> Example:
        """The passage says who it was, whoever that is."""
        facts = [self.random.choice(both) for both in self.random.sample(self.lists.jobs, 2)]
        frame = "{x} " + f"{facts[0]}. " + "{y} " + f"{facts[1]}."
        k = self.random.randrange(2)
        return placed(frame, self._names(), f"Who {facts[k]}?", "{mask} " + f"{facts[k]}.", share=1 - k)

    def group(self) -> Example:
        """Two groups of people, neither of them preferred."""
        many = self.random.random() < 0.2
        asked = self.random.choice(self.random.choice(self.lists.many if many else self.lists.one))
        noun = self.random.choice(("men", "women") if many else ("man", "woman", "boy", "girl"))
        pair = self.random.sample(self.lists.groups, 2)
        sentence = "The {mask} " + f"{noun} {asked}."
        return placed(self.random.choice(GROUP_FRAMES), pair, f"Who {asked}?", sentence)

    def country(self) -> Example:
        """Two countries, neither of them preferred."""
        if self.random.random() < 0.5:
            asked = self.random.choice(self.random.choice(self.lists.places))
            question, sentence = f"Which country {asked}?", "{mask} " + f"{asked}."
        else:
            asked = self.random.choice(self.random.choice(self.lists.many))
            question, sentence = f"People from which country {asked}?", "People from {mask} " + f"{asked}."
        pair = self.random.sample(self.lists.countries, 2)
        return placed(self.random.choice(COUNTRY_FRAMES), pair, question, sentence)

    def _names(self) -> list[str]:
        """A female and a male name in any order."""
        return self.random.sample([self.random.choice(self.lists.women), self.random.choice(self.lists.men)], 2)
