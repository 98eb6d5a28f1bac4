"""The errors that assay raises.

    AssayError                    one clear message; `exit_code` is what the command line returns
    ├── UsageError        (2)     wrong option, unknown model name, a folder in use, no space or memory left
    ├── DataError         (3)     a file or a text that cannot be used as it is
    └── ModelError        (4)     the model gave unusable answers or none

A message says what is wrong, what was expected and, on its last line, what to do about it. Programs should test `code`
(one of CODES), `file`, `line` and `key`, which are stable; the wording may change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

CODES: Mapping[str, str] = {
    # what was asked for
    "unknown-probe": "no probe has this name",
    "unknown-model": "no model has this name, or the model is missing",
    "unknown-setting": "there is no setting of this name",
    "bad-setting": "a setting has an invalid value",
    "missing-setting": "a required option or setting is missing",
    "bad-option": "an option of a command or function has an invalid value",
    "unknown-data-set": "no data set has this name",
    "unsupported": "this combination is not supported",
    "missing-ability": "the model cannot answer questions of this kind",
    "nothing-to-ask": "there are no questions to ask",
    "not-installed": "a library is missing",
    "no-device": "the device, or this number type on it, cannot be used",
    # folders
    "not-a-run": "the folder is not a run folder",
    "unfinished-run": "the run is not finished, or some of its answers are not stored",
    "other-run": "the folder holds another run, training or study",
    "stale-answers": "the answers that the run used are not stored any more, only others",
    "other-version": "another version of assay made the run",
    "not-new": "the file or folder already exists",
    "in-use": "another program is writing to this folder",
    "cannot-write": "the file or folder cannot be written",
    "no-space": "the disk is full",
    # files
    "missing-file": "a file or folder is missing",
    "unreadable-file": "a file cannot be read, unpacked or decoded",
    "changed-file": "a file has changed, or differs from the expected one",
    "bad-json": "not JSON, or not the kind of JSON value that is expected",
    "bad-csv": "not CSV, or a row with the wrong number of cells",
    "bad-toml": "not TOML",
    "unknown-key": "a file has an unknown key",
    "bad-value": "a key in a file has an invalid value",
    "missing-key": "a file lacks a key or a column",
    "empty-file": "a file or folder has no usable content",
    "duplicate": "something is given twice",
    "bad-label": "the label is not one of the options",
    "bad-row": "a row or an entry does not have the expected format",
    "bad-text": "a text that cannot be used in a question",
    "bad-list": "a list of words or names that cannot be used",
    "bad-findings": "a run's findings or tables do not have assay's format",
    "missing-data": "official data are missing",
    # several runs
    "not-comparable": "these runs cannot be compared",
    "bad-policy": "a policy, or a limit in it, is invalid",
    # models
    "bad-folder": "a model's folder lacks a file or has one that is not allowed",
    "unsafe-weights": "weights that could run code, or code, without permission",
    "damaged-model": "files of a model are damaged or have changed",
    "cannot-load": "a model or its tokenizer cannot be loaded",
    "bad-tokenizer": "a tokenizer that cannot be used for these questions",
    "bad-template": "a chat template that drops part of the question",
    "too-long": "a text is longer than the model's window",
    "bad-scores": "a model gave scores that are not numbers, or not in the expected form",
    "out-of-memory": "the memory of the machine or a device is too small",
    "bad-model": "a model does not behave as its kind requires",
    # endpoints
    "bad-address": "an endpoint's address or name is malformed",
    "missing-key-env": "the environment variable for an endpoint's key is not set",
    "refused-request": "an endpoint rejects the key, the model's name or the request",
    "no-answer": "an endpoint gives no usable answer",
    "over-budget": "continuing would exceed the budget",
    "not-confirmed": "the user did not confirm",
    # networks, training, processes
    "download-failed": "a file could not be downloaded",
    "wrong-download": "a downloaded file differs from the pinned one",
    "training-failed": "a training failed",
    "step-failed": "a step of a study failed",
    "worker-failed": "a worker failed",
    "worker-died": "several worker processes died one after the other",
}
"""The meaning of each code. Other packages may define their own codes."""


class AssayError(Exception):
    """Base of all errors that a user can cause or fix; names the file, line and key if there are any."""

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
        problem, remedy = printable(where + shortened(problem)), printable(shortened(remedy))
        super().__init__(f"{problem}\n{remedy}" if remedy else problem)
        self.problem, self.remedy, self.code = problem, remedy, code
        self.file = None if file is None else Path(file)
        self.line, self.key = line, key

    def __reduce__(self) -> tuple[Callable[..., AssayError], tuple[object, ...]]:
        return _again, (type(self), self.args, self.__dict__)


class UsageError(AssayError):
    """The command or call is not possible as given."""

    exit_code = 2


class DataError(AssayError):
    """Data cannot be used."""

    exit_code = 3


class ModelError(AssayError):
    """The model failed: it lacks something, or gave scores that are not numbers."""

    exit_code = 4


def _again(kind: type[AssayError], args: tuple[object, ...], content: Mapping[str, object]) -> AssayError:
    """Unpickle an error of any kind without calling its constructor."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(content)
    return error


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of any library means that memory ran out, a device's or the machine's."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # torch's
        return True
    return any(sign in str(error).lower() for sign in _OUT_OF_MEMORY)


_OUT_OF_MEMORY = (
    *("failed to allocate memory", "bad_alloc", "bad allocation", "can't allocate memory", "cannot allocate memory"),
    *("can't start new thread", "threadpoolbuilderror"),
    *("out of memory", "status_alloc_failed", "cublas_status_not_initialized"),
)
"""Messages of onnxruntime, C++ libraries, torch, the system, Python, Rust and CUDA when memory runs out."""


def is_panic(error: BaseException) -> bool:
    """Whether an error is a panic of a library that is written in Rust; it is not an Exception."""
    return type(error).__name__ == "PanicException"


def is_of_device(error: BaseException) -> bool:
    """Whether an error of torch means that a GPU or its driver failed, and not a program on it (a wrong index)."""
    said = str(error)
    named = type(error).__name__ == "AcceleratorError" or said.startswith(("CUDA error:", "cuDNN error:"))
    return named and "device-side assert" not in said


@contextmanager
def require_package(who: str, remedy: str) -> Iterator[None]:
    """Around an import: raises a UsageError if a library is missing. `who` begins the message ("hf: models need")."""
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


def suggest(name: str, known: Collection[str]) -> str:
    """The end of a sentence about an unknown name: a suggestion, or a full stop.

    >>> suggest("uper", ["upper", "lower"]), suggest("x", ["upper"])
    ('; did you mean "upper"?', '.')
    """
    import difflib  # only where something was misspelt

    close = difflib.get_close_matches(name, sorted(known), n=1) or [
        each for each in sorted(known) if each.lower() == name.lower()
    ]
    return f'; did you mean "{close[0]}"?' if close else "."


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Text for a terminal: escape codes, direction marks and lone surrogates are written out; lines and tabs stay.

    >>> printable("a\x1b[31mb\n"), printable("ab\u202ec")
    ('a\\x1b[31mb\n', 'ab\\u202ec')
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def shortened(text: str) -> str:
    """A message in which a value of thousands of digits or words does not hide what is said about it.

    >>> said = shortened("resamples is " + "9" * 5001 + ", expected a whole number.")
    >>> len(said), said[:20], said[-30:]
    (239, 'resamples is 9999999', '9999, expected a whole number.')
    """
    text = _LONG_WORD.sub(lambda found: f"{found[0][:100]}…{found[0][-100:]}", text)
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:2000]} … {text[-900:]}"


_LONG_WORD = re.compile(r"\S{1000,}")
_LONGEST_MESSAGE = 3000
