"""TOML files that users write: read whole, with an error that names the line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from assay.errors import DataError


def read_toml(path: Path, *, name_it: str, what_it_is: str, how: str | None = None) -> tuple[str, dict[str, Any]]:
    """The text and the content of a TOML file.

    The remedies: `name_it` where it cannot be read, `what_it_is` where it is no text, `how` (else the same) where it is
    no TOML.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}).", name_it, file=path) from None
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at line (\d+)", str(error))
        raise DataError(f"not TOML: {error}.", how or what_it_is, file=path, line=int(at[1]) if at else None) from None
    except UnicodeDecodeError:
        raise DataError("not UTF-8 text.", what_it_is, file=path) from None
