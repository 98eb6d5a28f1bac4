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
    *sorted((ROOT / "docs").glob("*.md")),
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
    r"Nothing tells",
    r"say little about anybody",
    r"an endless number",
    r"put the code into shape",
)


@cache
def said() -> list[tuple[str, str]]:
    """Where, and what: every text of the program that is not a docstring, the templates, and the documentation."""
    return list(_said())


def _said() -> Iterator[tuple[str, str]]:
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
    assert [where for where, text in said() if re.search(phrase, text)] == []


def test_phrases_would_be_noticed() -> None:
    assert len(said()) > 1000
    assert re.search(PHRASES[0], "These are starter questions: this is no BBQ result.")
