"""Folders and names of files: where answers are kept for later runs, and names that every system takes."""

from __future__ import annotations

import os
import re
from pathlib import Path


def cache_folder() -> Path:
    """`ASSAY_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("ASSAY_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay"


# --- names that every system takes: Windows drops dots at the end, and has devices with names


_DEVICES = {"con", "prn", "aux", "nul"} | {f"{port}{digit}" for port in ("com", "lpt") for digit in range(10)}


def is_taken_everywhere(name: str) -> bool:
    """Whether letters, digits, dots, dashes and underscores can be a folder's name on every system.

    >>> [is_taken_everywhere(name) for name in ("bert.v2", "bert.", "Aux", "nul.v2", "null")]
    [True, False, False, False, True]
    """
    return not name.endswith(".") and name.partition(".")[0].casefold() not in _DEVICES


def in_name(text: str) -> str:
    """A text as a part of a name: its words, joined by dashes.

    >>> in_name("hf:../models/BERT v2."), in_name("C:" + chr(92) + "answers")
    ('hf-models-BERT-v2', 'C-answers')
    """
    return "-".join(part for word in re.split(r"[^\w.]+", text) if (part := word.strip(".")))
