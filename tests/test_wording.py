"""Phrases that read as translated, and must not come back where users read them (docstrings and comments are free)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "assay"
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
PHRASES = (
    r"this is no (BBQ|run|study)",
    r"has not the ability",
    r"nobody can know",
    r"something else than",
    r"a frame of it",
    r"which direction is worse",
    r"So it is with",
    r"says otherwise about",
    r"to be had",
    r"not of transformers",
    r"for a browser:",
    r"begin anew",
    r"[Mm]end it",
    r"next to nothing\b(?! \*\*)",
    r"makes the page again",
    r"balanced over everything",
    r"is not installed, and",
    r"gives (this|the attribute|a) rather to",
    r"[Gg]endered names (are )?pooled",
    r"say too little about others",
    r"n counts cells",
    r"what chance adds is taken off",
    r"answers? (is|are) begun",
    r"shall answer",
    r"(to go|goes) on from (here|what)",
    r"[Ii]nstall assay again",
    r"came to nothing",
    r"noise floors",
    r"one behind the other",
    r"the answer anew",
    r"no intact",
    r"what is there with",
    r"what stereotypes cost",
    r"Ways to say UNKNOWN",
    r"the fact that decides",
    r"which is no file",
    r"count nowhere",
    r"where the text tells",
    r"with all tests of the run allowed for",
    r"nothing is clear of chance",
    r"were set differently",
    r"base no decision",
    r"as they were put\b",
    r"draws? the same units anew",
    r"the policy demands",
    r"so one-sided a difference",
    r"Name also",
    r"fool(s|ed)? the model( more often| rather)? about",
    r"\brather about\b",
    r"\bbearers?\b",
    r"[Tt]ake (it|one of them|the tuple) out",
    r"told rightly",
    r"the first so many",
    r"at most so many",
    r"\bcame about\b",
    r"[Tt]he nearest to it",
    r"turns? round",
    r"where chance gives",
    r"wrong answers of its own",
    r"\b(EA|AA|AS|HS) (fe)?male\b",
    r"Nothing tells",
    r"say little about anybody",
    r"an endless number",
    r"put the code into shape",
)


@cache
def texts() -> list[tuple[str, str]]:
    """Where, and what: every text of the program that is not a docstring, the templates, and the documentation."""
    return list(_texts())


def _texts() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
                yield f"{path.relative_to(ROOT)}, line {node.lineno}", node.value
    for path in [*sorted((SOURCE / "report" / "templates").iterdir()), *PAGES]:
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_does_not_come_back(phrase: str) -> None:
    assert [where for where, text in texts() if re.search(phrase, text)] == []


def test_phrases_would_be_noticed() -> None:
    assert len(texts()) > 1000
    assert re.search(PHRASES[0], "These are starter questions: this is no BBQ result.")
