"""docs/glossary.md names what there is, and its picture is of the rooms as they are."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "assay"
ROWS = [
    row.strip("|").split("|") for row in PAGE.splitlines() if row.startswith("| ") and not row.startswith("| concept")
]
PLACES = sorted({place for *_, where in ROWS for place in re.findall(r"[\w/]+(?:\.py|/)", where) if "/" in place})


def test_a_concept_has_a_row_of_its_own() -> None:
    concepts = [concept.strip() for concept, *_ in ROWS]
    assert len(concepts) == len({*concepts}) >= 60


@pytest.mark.parametrize("place", PLACES)
def test_what_it_names_is_there(place: str) -> None:
    if place.startswith("/"):  # …/compare_runs.py: in the folders of probes
        assert [*(SOURCE / "probes").glob(f"*{place}")], place
    else:
        assert (SOURCE / place).exists(), place


@pytest.mark.slow
def test_the_picture_is_of_the_rooms_as_they_are() -> None:
    spec = importlib.util.spec_from_file_location("make_rooms", ROOT / "docs" / "make_rooms.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.picture()
    assert made == (ROOT / "docs" / "rooms.svg").read_text(encoding="utf-8"), "python docs/make_rooms.py"
    assert {*re.findall(r"<text [^>]*>(.*?)</text>", made)} == {*module.rooms()}
