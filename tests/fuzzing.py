"""Feeds readers damaged and hostile files, made from a corpus of good ones by a few changes each.

A reader here is a kind of files with the commands or functions that read them. `attempt` writes the corpus into a
fresh folder, changes one file and lets a command read it. It fails if that ends with anything but one of assay's
errors, takes too long, needs too much memory, prints a control sequence or leaves files behind.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import lzma
import os
import re
import resource
import shutil
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from assay.cli import main
from assay.errors import AssayError
from bounded import HangError, bounded

SECONDS = 60
BYTES = 1 << 30
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where files are made in half of the time that a disk takes: an attempt has some hundred small ones."""

Change = tuple[int, int, int]
"""What is done to a file's content: the kind of change, a place and a value, each a number modulo what there is."""
Use = Callable[[Path], int]
"""Reads files of a folder; returns an exit code."""


@dataclass(frozen=True)
class Case:
    """One input: which file of the corpus is changed, how, and who reads it."""

    file: int
    use: int
    changes: Sequence[Change]


CASES = st.builds(
    Case,
    st.integers(0, 999),
    st.integers(0, 999),
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 1 << 24), st.integers(0, 999)), min_size=1, max_size=3),
)


@dataclass(frozen=True)
class Reader:
    """`corpus` are good files by their paths; `uses` are, by the file that is changed, what reads it."""

    corpus: Mapping[str, bytes]
    uses: Mapping[str, Sequence[Use]]


# --- hostile values, as they are written in JSON

_DEEP = 100_000
VALUES: Sequence[str] = (
    *("null", "true", "false", "[]", "{}", '""', "0", "-1", "3", "1.5", "1e-320", "NaN", "-Infinity", "1e400"),
    *("1" + "0" * 400, "9" * 5001, '"' + "9" * 5001 + '"', "9223372036854775808", "-1e308"),
    *(
        '"\\ud800"',
        '"\\u0000"',
        '"\\u001b]0;x\\u0007\\u001b[2J"',
        '"\\u202eabc"',
        '"=HYPERLINK(1)"',
        '"../../../etc/passwd"',
    ),
    *(
        '"/dev/zero"',
        '"' + "a" * 100_000 + '"',
        '"' + "n" * 300 + '"',
        '"{{ 1 }}"',
        '"[x](javascript:1)"',
        '" "',
        '"\\n"',
    ),
    *("[null]", "[[]]", "[1, 2, 3]", '["a", "b"]', '{"a": null}', '{"": {}}', '[{"a": [1]}]'),
    *("[" * _DEEP + "]" * _DEEP, '{"a":' * _DEEP + "1" + "}" * _DEEP, "[" * 90 + "]" * 90),
)
TEXTS: Sequence[str] = (
    " " * 20_000,
    "\n" * 20_000,
    " \n" * 5_000,
    "(" * 5_000,
    "a b " * 5_000,
    "\x1b[31m",
    "{{x}}" * 500,
)
"""What may be in a text, to the cost of regular expressions."""
NUMBERS: Sequence[str] = ("0", "99999", "1" + "0" * 19, "9" * 400, "1e400", "-1")
"""What may be in the place of a number within a text, such as a date's year."""
_MARK = '"@hostile@"'
_BITS: Sequence[bytes] = (
    *(
        b"\xff\xfe",
        b"\x00",
        b"\xed\xa0\x80",
        b'"',
        b"{",
        b"[",
        b"]",
        b"}",
        b",",
        b"\n",
        b"\r",
        b"\\",
        b"\\ud800",
        b"\t",
    ),
    *(
        b"\x1b[31m",
        b"9" * 5001,
        b"1e400",
        b" " * 10_000,
        b"\n" * 10_000,
        b'"' * 1000,
        b"\xef\xbb\xbf",
        "\u2028".encode(),
    ),
)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in some JSON."""
    yield at
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*at, key))


def _in_json(text: str, kind: int, place: int, number: int) -> str:
    """JSON, or one line of JSON lines, with one value replaced, removed, repeated or renamed."""
    value = json.loads(text)
    found = list(places(value))
    fields: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for each in found:  # the same field of all items of a list is one: else long lists would hide what stands alone
        fields.setdefault(tuple("*" if isinstance(key, int) else key for key in each), []).append(each)
    same = list(fields.values())[place % len(fields)]
    path = same[(place // len(fields)) % len(same)]
    if not path:
        return VALUES[number % len(VALUES)]
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    last = path[-1]
    match kind % 8:
        case 0:
            del holder[last]
        case 1 if isinstance(holder, dict):
            holder[f"{last}x"] = holder.pop(last)
        case 2 if isinstance(holder, list):
            holder.append(holder[last])
        case 4 if isinstance(holder[last], str):  # something within a text
            at = number % (len(holder[last]) + 1)
            holder[last] = holder[last][:at] + TEXTS[number % len(TEXTS)] + holder[last][at:]
        case 5 if isinstance(holder[last], str) and re.search(r"\d", holder[last]):  # a large number within a text
            holder[last] = re.sub(r"\d+", NUMBERS[number % len(NUMBERS)], holder[last], count=1 + number % 3)
        case 3 if isinstance(holder, dict):  # a value from somewhere else
            other = value
            for key in found[number % len(found)]:
                other = other[key]
            holder[last] = json.loads(json.dumps(other))
        case _:
            holder[last] = "@hostile@"
    return json.dumps(value, ensure_ascii=False).replace(_MARK, VALUES[number % len(VALUES)])


def _in_cells(text: str, place: int, number: int, separator: str) -> str:
    """A table or TOML with one cell replaced."""
    lines = text.split("\n")
    row = place % len(lines)
    cells = lines[row].split(separator)
    cells[(place // len(lines)) % len(cells)] = VALUES[number % len(VALUES)].strip('"')
    return "\n".join((*lines[:row], separator.join(cells), *lines[row + 1 :]))


def _in_table(text: str, place: int, number: int, separator: str) -> str:
    """A table with one cell replaced or prolonged, in quotation marks where it needs them."""
    rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=separator)]
    cells = rows[place % len(rows)]
    at = (place // len(rows)) % len(cells)
    value = VALUES[number % len(VALUES)].strip('"')
    cells[at] = cells[at] + TEXTS[number % len(TEXTS)] if number % 3 == 0 else value
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator).writerows(rows)
    return out.getvalue()


def _in_lines(text: str, kind: int, place: int, number: int) -> str:
    lines = text.split("\n")
    row = place % len(lines)
    match kind % 3:
        case 0:
            del lines[row]
        case 1:
            lines.insert(number % len(lines), lines[row])
        case _:
            lines[row] = lines[row][: number % (len(lines[row]) + 1)]
    return "\n".join(lines)


def _in_bytes(content: bytes, kind: int, place: int, number: int) -> bytes:
    at = place % (len(content) + 1)
    match kind % 5:
        case 0:
            return content[:at]
        case 1:
            return content[:at] + _BITS[number % len(_BITS)] + content[at:]
        case 2:
            return content[:at] + content[at + 1 + number :]
        case 3:
            return content[:at] + bytes([number % 256]) + content[at + 1 :]
        case _:
            return content[:at] + content[at : at + number] * 3 + content[at:]


def changed(content: bytes, name: str, change: Change) -> bytes:
    """A file's content after one change that fits its name: of its values, its lines or its bytes."""
    kind, place, number = change
    name, _, packing = name.rpartition(".") if name.endswith((".gz", ".xz")) else (name, "", "")
    if packing and kind % 3:
        pack: Any = {"gz": gzip, "xz": lzma}[packing]
        with contextlib.suppress(OSError, EOFError, zlib.error, lzma.LZMAError):  # an earlier change left no archive
            return bytes(pack.compress(changed(pack.decompress(content), name, (kind // 3, place, number))))
    try:
        text = content.decode()
        if kind < 70 and name.endswith(".json"):
            return _in_json(text, kind, place, number).encode()
        if kind < 70 and name.endswith(".jsonl"):
            lines = text.split("\n")
            row = place % max(1, len(lines) - 1)
            lines[row] = _in_json(lines[row], kind, place // len(lines), number)
            return "\n".join(lines).encode()
        if kind < 40 and name.endswith((".csv", ".tsv")):
            return _in_table(text, place, number, "\t" if name.endswith(".tsv") else ",").encode()
        if kind < 60 and name.endswith((".csv", ".tsv", ".toml", ".txt", ".lst")):
            return _in_cells(text, place, number, "=" if name.endswith(".toml") else ",").encode()
        if kind < 80:
            return _in_lines(text, kind, place, number).encode()
    except (ValueError, RecursionError, csv.Error, ZeroDivisionError):
        pass  # an earlier change left no text, no JSON or no table
    if name.endswith(".safetensors") and kind < 70:
        with contextlib.suppress(ValueError, RecursionError, IndexError):
            return _in_header(content, kind, place, number)
    if name.endswith((".eval", ".zip", ".npz")) and kind < 70:
        with contextlib.suppress(Exception):  # an earlier change left no archive: zipfile raises almost anything then
            return _in_archive(content, kind, place, number)
    return _in_bytes(content, kind, place, number)


def _in_header(content: bytes, kind: int, place: int, number: int) -> bytes:
    """Weights with another header."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = _in_json(content[8:end].decode(), kind, place, number).encode()
    return len(header).to_bytes(8, "little") + header + content[end:]


def _in_archive(content: bytes, kind: int, place: int, number: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(each.filename, archive.read(each)) for each in archive.infolist()]
    at = place % len(members)
    name, inside = members[at]
    if kind % 7 == 0:
        members[at] = (("../out.json", "/abs.json", "samples/\x00.json", "n" * 300, "")[number % 5], inside)
    else:
        members[at] = (name, changed(inside, ".json", (kind, place // len(members), number)))
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")
        for name, inside in members:
            archive.writestr(name, inside)
    return out.getvalue()


# --- one attempt


class FoundError(AssertionError):
    """What an input brought to light."""


def attempt(reader: Reader, case: Case) -> int:
    """Let a case be read; returns the exit code. FoundError, or whatever was raised that must not be."""
    name = list(reader.uses)[case.file % len(reader.uses)]
    content = reader.corpus[name]
    for change in case.changes:
        content = changed(content, name, change)
    use = reader.uses[name][case.use % len(reader.uses[name])]
    before, here = dict(os.environ), Path.cwd()
    folder = Path(tempfile.mkdtemp(prefix="assay-fuzz-", dir=MEMORY))
    try:
        for other, kept in reader.corpus.items():
            path = folder / "in" / other
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if other == name else kept)
        os.environ["ASSAY_CACHE"] = str(folder / "cache")
        os.chdir(folder / "in")
        known = _files(folder / "in")
        with _limited():
            code = use(folder / "in")
        if code not in (0, 1, 2, 3, 4):
            raise FoundError(f"the exit code is {code}")
        if code and (left := _files(folder / "in") - known):
            raise FoundError(f"left behind: {sorted(left)}")
        return code
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(folder, ignore_errors=True)


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def _kilobytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:")))


@contextlib.contextmanager
def _written_past_python() -> Iterator[bytearray]:
    """Has, afterwards, what was printed by libraries in other languages, and by loggers that had the streams before."""
    found = bytearray()
    with tempfile.TemporaryFile() as file:
        kept = {stream: os.dup(stream) for stream in (1, 2)}
        for stream in kept:
            os.dup2(file.fileno(), stream)
        try:
            yield found
        finally:
            for stream, own in kept.items():
                os.dup2(own, stream)
                os.close(own)
            file.seek(0)
            found += file.read(1 << 20)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Limits of time and memory, and no output."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak of memory is measured from here on
    before = _kilobytes("VmHWM")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, ((_kilobytes("VmSize") << 10) + 8 * BYTES, hard))  # spares the machine
    try:
        with (
            bounded(waiting=5 * SECONDS, computing=SECONDS),
            _written_past_python() as printed,
            contextlib.redirect_stdout(io.StringIO()) as said,
            contextlib.redirect_stderr(io.StringIO()) as told,
        ):
            yield
    except HangError:
        raise FoundError(f"it takes more than {SECONDS} s") from None
    except MemoryError:
        raise FoundError("it takes more than 8 GB") from None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    if (_kilobytes("VmHWM") - before) << 10 > BYTES:
        raise FoundError("it takes more than 1 GB")
    if "\x1b" in said.getvalue() + told.getvalue() or b"\x1b" in printed:
        raise FoundError("a control sequence is printed")
    if "Traceback" in told.getvalue():
        raise FoundError(told.getvalue()[-2000:])


# --- uses


def command(*arguments: str) -> Use:
    """A command line, run in the folder."""

    def use(folder: Path) -> int:
        try:
            return main(arguments)
        except SystemExit as error:  # argparse
            return int(error.code or 0)

    return use


def function(call: Callable[[Path], object], name: str) -> Use:
    """A function that reads one file of the folder, to its end if it returns an iterator."""

    def use(folder: Path) -> int:
        try:
            found = call(folder / name)
            if isinstance(found, Iterator):
                for _ in found:
                    pass
        except AssayError as error:
            return error.exit_code
        return 0

    return use
