"""Everything that assay raises on purpose.

    AssayError                    one clear message; `exit_code` is what the command line returns
    ├── UsageError        (2)     wrong option, unknown model name, a folder in use, no space left
    ├── DataError         (3)     a file or a text that cannot be used as it is
    └── ModelError        (4)     the model answered nonsense or could not answer

A message says what is wrong, what was expected and, on its last line, what to do about it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


class AssayError(Exception):
    """Base of all errors that a user can cause or cure."""

    exit_code = 1

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem}\n{remedy}" if remedy else problem)
        self.problem = problem
        self.remedy = remedy

    def __reduce__(self) -> tuple[Callable[..., AssayError], tuple[type[AssayError], str, str]]:
        return _again, (type(self), self.problem, self.remedy)


class UsageError(AssayError):
    """The command or call cannot be carried out as given."""

    exit_code = 2


class DataError(AssayError):
    """Some data cannot be used; names the file and line where there is one."""

    exit_code = 3

    def __init__(
        self, problem: str, remedy: str = "", *, file: Path | str | None = None, line: int | None = None
    ) -> None:
        where = "" if file is None else f"{file}: " if line is None else f"{file}, line {line}: "
        super().__init__(where + problem, remedy)


class ModelError(AssayError):
    """The model failed: it lacks something, or gave scores that are no numbers."""

    exit_code = 4


def _again(kind: type[AssayError], problem: str, remedy: str) -> AssayError:
    """An error that came from another process, whatever else its kind is made from."""
    error = kind.__new__(kind)
    AssayError.__init__(error, problem, remedy)
    return error
