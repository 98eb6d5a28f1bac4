"""Everything that assay raises on purpose.

    AssayError                    one clear message; `exit_code` is what the command line returns
    ├── UsageError        (2)     wrong option, unknown model name, a folder in use, no space left
    ├── DataError         (3)     a file or a text that cannot be used as it is
    └── ModelError        (4)     the model answered nonsense or could not answer

A message says what is wrong, what was expected and, on its last line, what to do about it. Programs go by `code`, one
of CODES, and by `file`, `line` and `key`: the wording may change, these do not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

CODES: Mapping[str, str] = {
    # what was asked for
    "unknown-probe": "no probe has this name",
    "unknown-model": "no model has this name, or none is there",
    "unknown-setting": "there is no setting of this name",
    "bad-setting": "a setting has a value that it cannot have",
    "missing-setting": "something has to be named and is not",
    "bad-option": "an option of a command or function has a value that it cannot have",
    "unknown-data-set": "no data set has this name",
    "unsupported": "this cannot be done with that",
    "missing-ability": "the model cannot answer questions of this kind",
    "nothing-to-ask": "no question is left",
    "not-installed": "a library is missing",
    "no-device": "the device, or the number type on it, cannot be used",
    # folders
    "not-a-run": "the folder holds no run, or something else",
    "unfinished-run": "the run was not finished, or answers of it are not stored",
    "other-run": "the folder holds another run, training or study",
    "not-new": "something is there already",
    "in-use": "another program is writing there",
    "cannot-write": "nothing can be written there",
    "no-space": "no space is left there",
    # files
    "missing-file": "a file or folder is not there",
    "unreadable-file": "a file cannot be read, unpacked or decoded",
    "changed-file": "a file is not what it was, or not what it has to be",
    "bad-json": "not JSON, or not the kind of JSON value that is expected",
    "bad-csv": "not CSV, or a row with another number of cells",
    "bad-toml": "not TOML",
    "unknown-key": "a file has a key that means nothing there",
    "bad-value": "a key of a file has a value that it cannot have",
    "missing-key": "a file lacks a key or a column",
    "empty-file": "a file or folder has nothing that could be used",
    "duplicate": "something is there twice",
    "bad-label": "the right answer is not one that a question can have",
    "bad-row": "a row, or an entry, is not one of the format",
    "bad-text": "a text that cannot be asked about",
    "bad-list": "a list of words or names that cannot be used",
    "bad-findings": "a run's findings or tables are not as assay writes them",
    "missing-data": "official data are not where they are looked for",
    # several runs
    "not-comparable": "these runs cannot be compared",
    "bad-policy": "a policy, or a limit of it, makes no sense",
    # models
    "bad-folder": "a model's folder lacks something or has something that must not be there",
    "unsafe-weights": "weights that could run code, or code itself, without being asked for",
    "damaged-model": "files of a model are damaged or were changed",
    "cannot-load": "a model or its tokenizer cannot be loaded",
    "bad-tokenizer": "a tokenizer that does not do what is needed",
    "bad-template": "a chat template that does not pass on what is asked",
    "too-long": "a text is longer than the model reads",
    "bad-scores": "a model gave scores that are no numbers, or not what was asked for",
    "out-of-memory": "a device's memory is too small",
    "bad-model": "a model that does not do what its kind has to",
    # endpoints
    "bad-address": "an endpoint's address or name is not built as it has to be",
    "missing-key-env": "the environment variable that is to hold an endpoint's key is not set",
    "refused-request": "an endpoint refuses the key, the model's name or the request",
    "no-answer": "an endpoint gives no usable answer",
    "over-budget": "going on would cost more than was allowed",
    "not-confirmed": "whoever was asked does not want it",
    # networks, training, processes
    "download-failed": "a file could not be fetched",
    "wrong-download": "what was fetched is not what was pinned",
    "training-failed": "a training came to nothing",
    "step-failed": "a step of a study failed",
}
"""What a code means. Other packages may have codes of their own."""


class AssayError(Exception):
    """Base of all errors that a user can cause or cure; names the file, line and key where there are such."""

    exit_code = 1

    def __init__(
        self,
        problem: str,
        remedy: str = "",
        *,
        code: str = "",
        file: Path | str | None = None,
        line: int | None = None,
        key: str | None = None,
    ) -> None:
        where = "" if file is None else f"{file}: " if line is None else f"{file}, line {line}: "
        super().__init__(f"{where}{problem}\n{remedy}" if remedy else where + problem)
        self.problem, self.remedy, self.code = where + problem, remedy, code
        self.file = None if file is None else Path(file)
        self.line, self.key = line, key

    def __reduce__(self) -> tuple[Callable[..., AssayError], tuple[object, ...]]:
        return _again, (type(self), self.args, self.__dict__)


class UsageError(AssayError):
    """The command or call cannot be carried out as given."""

    exit_code = 2


class DataError(AssayError):
    """Some data cannot be used."""

    exit_code = 3


class ModelError(AssayError):
    """The model failed: it lacks something, or gave scores that are no numbers."""

    exit_code = 4


def _again(kind: type[AssayError], args: tuple[object, ...], content: Mapping[str, object]) -> AssayError:
    """An error that came from another process, whatever else its kind is made from."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(content)
    return error


@contextmanager
def needing(who: str, remedy: str) -> Iterator[None]:
    """Around an import: a library that is missing is said so, as something that somebody needs ("hf: models need")."""
    try:
        yield
    except ImportError as error:
        problem = f"{who} {error.name}, which is not installed."
        raise UsageError(problem, remedy, code="not-installed", key=error.name) from None


def how_to_install(extra: str) -> str:
    """The command that adds an extra to the environment that has assay, wherever assay was installed from.

    >>> how_to_install("hf")
    'pip install "assay-bias[hf]"'
    """
    return f'pip install "assay-bias[{extra}]"'


def near(name: str, known: Collection[str]) -> str:
    """The end of a sentence about an unknown name: what may have been meant.

    >>> near("uper", ["upper", "lower"]), near("x", ["upper"])
    ('; did you mean "upper"?', '.')
    """
    import difflib  # only where something was misspelt

    close = difflib.get_close_matches(name, sorted(known), n=1) or [
        each for each in sorted(known) if each.lower() == name.lower()
    ]
    return f'; did you mean "{close[0]}"?' if close else "."
