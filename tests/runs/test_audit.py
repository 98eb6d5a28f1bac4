"""An audit says what is wrong before it takes any time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.errors import UsageError
from assay.runs.audit import audit, expect
from raising import raises


@pytest.mark.parametrize("call", [audit, expect])
@pytest.mark.parametrize("given", [{"clas": "gender"}, {"form": "spam"}], ids=["unknown", "wrong"])
def test_a_wrong_setting_is_said_before_the_models_files_are_read(
    call: Callable[..., Any], given: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("assay.runs.audit.find_model", lambda *_: pytest.fail("the model was looked for"))
    (key,) = given
    with raises("unknown-setting" if key == "clas" else "bad-setting", UsageError, key=key):
        call("hf:./large", "unqover", settings=given)
