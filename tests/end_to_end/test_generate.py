"""`assay generate`: a file of questions, whole or not at all."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

import small_lists

pytestmark = pytest.mark.whole


def test_a_file_of_questions(assay: Any, lists: Path) -> None:
    done = assay(
        "generate", "unqover", "--set", "class=religion", "--set", f"word_lists={lists}", "--out", "a/b/q.json"
    )
    assert done.code == 0
    assert done.out == "120 examples (ordered pairs, two questions each) in a/b/q.json\n"
    assert done.err.count("religion (qa): 240 of 240 questions") == 1
    assert len(json.loads(Path("a/b/q.json").read_text(encoding="utf-8"))) == 120
    assert [path.name for path in Path("a/b").iterdir()] == ["q.json"]


def test_a_model_says_which_subjects_are_one_token(assay: Any, lists: Path, mask_model_folder: Path) -> None:
    options = ("--set", "class=ethnicity", "--set", "form=bert", "--set", f"word_lists={lists}")
    done = assay("generate", "unqover", *options, "--model", f"hf:{mask_model_folder}", "--out", "q.json")
    assert done.code == 0, done.err
    entries = json.loads(Path("q.json").read_text())
    assert len(entries) == 4 * 3 * 2 * 3  # without African-American
    assert not any("African-American" in key for key in entries)
    assert all("[MASK]" in entry["q0"]["question"] for entry in entries.values())


def test_the_built_in_model_says_which_subjects_are_one_token(assay: Any, lists: Path) -> None:
    """Its vocabulary is a real one: it has words for most subjects, and none for a hyphenated one."""
    options = ("--set", "class=ethnicity", "--set", "form=bert", "--set", f"word_lists={lists}")
    done = assay("generate", "unqover", *options, "--model", "builtin", "--out", "q.json")
    assert done.code == 0, done.err
    entries = json.loads(Path("q.json").read_text())
    assert len(entries) == 4 * 3 * 2 * 3  # without African-American
    assert not any("African-American" in key for key in entries)


def test_a_full_disk_leaves_no_file(assay: Any, lists: Path, snapshot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    Path("q.json").write_text("from yesterday")
    before = snapshot()
    monkeypatch.setattr(os, "fsync", full)
    done = assay("generate", "unqover", "--set", "class=religion", "--set", f"word_lists={lists}", "--out", "q.json")
    assert done.code == 2
    assert "q.json: no space left" in done.message
    assert snapshot() == before


def test_lists_with_a_mistake_leave_no_file(assay: Any, lists: Path, snapshot: Any) -> None:
    small_lists.write(lists, {"slots/religion_noact": "A man.\tWho [p_act]?\tWho [p_act:neg]?\n"})
    before = snapshot()
    done = assay("generate", "unqover", "--set", "class=religion", "--set", f"word_lists={lists}", "--out", "q.json")
    assert done.code == 3
    assert "religion_noact, line 1: " in done.message
    assert snapshot() == before
