"""What the commands share, in whichever module each is: settings as they are typed, and progress as it is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.engine.progress import Progress


def settings_of(pairs: Sequence[str]) -> dict[str, str]:
    """Settings from their `--set key=value`."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {pair!r} is no setting; expected key=value.", "For example --set class=gender.")
        settings[key] = value
    return settings


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """A bar on a terminal, a line now and then elsewhere."""
    from assay.engine.progress import Bar, Lines

    if sys.stderr.isatty():
        with Bar() as bar:
            yield bar
    else:
        yield Lines()
