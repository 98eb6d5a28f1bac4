"""Errors by their code and what they point at; their wording is read in tests/test_error_messages.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from assay.errors import AssayError


@contextmanager
def raises(
    code: str, kind: type[AssayError] = AssayError, **attributes: Any
) -> Iterator[pytest.ExceptionInfo[AssayError]]:
    """Expects an error of this code, with these attributes (file, line, key, exit_code)."""
    with pytest.raises(kind) as caught:
        yield caught
    found = {name: getattr(caught.value, name) for name in attributes}
    assert (caught.value.code, found) == (code, attributes), str(caught.value)
