"""How errors read: for each code, a message of every part of assay that raises it, word for word.

Other tests go by codes. `tests/messages/PART.py` has CASES: by code, what raises the error, given an empty folder, and
the error's text, where FOLDER stands for that folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

import pytest

from assay.errors import CODES, AssayError

Case = tuple[Callable[[Path], object], str]

PARTS: Mapping[str, Mapping[str, Case]] = {
    path.stem: import_module(f"messages.{path.stem}").CASES
    for path in sorted(Path(__file__).with_name("messages").glob("*.py"))
}


@pytest.mark.parametrize(("part", "code"), [(part, code) for part, cases in PARTS.items() for code in cases])
def test_a_message_says_what_is_wrong_and_what_to_do(part: str, code: str, tmp_path: Path) -> None:
    raised, expected = PARTS[part][code]
    with pytest.raises(AssayError) as error:
        raised(tmp_path)
    assert str(error.value).replace(str(tmp_path), "FOLDER") == expected
    assert error.value.code == code
    assert code in CODES
