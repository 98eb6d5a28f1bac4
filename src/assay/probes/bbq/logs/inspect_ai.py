"""Logs of Inspect.

LOG.eval is a zip archive with samples/ID_epoch_N.json, packed with zstd in newer versions; LOG.json is one object with
all samples. Both begin with `eval`, which names the model. A sample has the row's
other fields in `metadata`, the options in `choices`, the right one's letter in `target`, and the letter that the model
chose in `scores`. Choices can be shuffled in two ways. A shuffled data set has choices and letters in the new order,
but answer_info in the old one: here the options go back to their places. A shuffling solver hides what it did, but for
the scorer's explanation: letters in the model's own words are read in the order given there.
"""

from __future__ import annotations

import io
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from assay.answers import REFUSED, parse_answer
from assay.errors import DataError, require_package
from assay.files.decoding import json_at, json_value
from assay.files.opening import UNREADABLE, is_zip, open_regular, open_text, open_zip, reason, require_modest
from assay.files.rows import BadRows, Row
from assay.probes.bbq.items import OPTIONS, Item
from assay.probes.bbq.logs.log_rows import (
    COMPLETE,
    LoggedAnswer,
    LogLocation,
    Official,
    complete_example,
    option_of,
    whole,
)

_MOST_BYTES = 64 << 20
"""A sample in an archive takes a few kilobytes; what unpacks to more than this is not a sample."""
_MOST_TEXT = 64 << 20
"""Characters of a log that is one JSON object, which has to be in memory as a whole."""

_MOST_HEAD = 1 << 20
"""Characters of such a log in which `eval` is looked for: it stands before the samples."""
_HEADERS = ("header.json", "_journal/start.json")
"""What an archive says about itself; the first is written when all samples are."""
_EVAL = re.compile(r'"eval"\s*:\s*')
_NO_MODEL = "none/none"
_ZSTD = 93
"""The number of this way to pack; zipfile of Python 3.14 knows it."""

_SAMPLE = re.compile(r"samples/(.+)_epoch_(\d{1,9})(\.json|/sample\.json)")
_CONTEXT = "Context:"
_QUESTION = re.compile(r"^[^\S\n]*Question:", re.MULTILINE)
_SAMPLE_ID = re.compile(r"(?:(.+)_)?(\d+)")
_SHOWN_CHOICE = re.compile(r"^[A-Z]\) (.*)$", re.MULTILINE)
_ATTACHMENT = "attachment://"

_CONVERT = "Convert it with `inspect log convert LOG --to json --output-dir DIR`, and score the file in DIR."


def read(path: Path, bad: BadRows, official: Official, notes: list[str]) -> Iterator[LoggedAnswer]:
    read_ = silent = 0
    for number, sample in _samples(path, bad, notes):
        location = LogLocation(path, part=f"sample {number} ({sample.get('id')})")
        try:
            row = _row(sample)
            example = complete_example(row, official, location)
            logged = LoggedAnswer(example, _chosen(sample, row["choices"], example, location), number)
        except DataError as error:
            bad.found(error)
        else:
            read_, silent = read_ + 1, silent + (logged.answer is None)
            yield logged
    if silent:
        failed = f"{silent:,} of {read_:,} samples failed or hold no answer, and count as not understood"
        notes.append(f"{path.name}: {failed}")


def _at(value: Any, *path: str | int) -> Any:
    """What stands at a path in nested objects and lists; None where it does not lead so far."""
    for key in path:
        if isinstance(key, str):
            value = value.get(key) if isinstance(value, dict) else None
        else:
            value = value[key] if isinstance(value, list) and key < len(value) else None
    return value


def _row(sample: Row) -> dict[str, Any]:
    """A sample as a row: its metadata and what is told elsewhere. `gold` is the right one among `choices`, or -1."""
    metadata = sample.get("metadata")
    row: dict[str, Any] = dict(metadata) if isinstance(metadata, dict) else {}
    prompt = _text(sample.get("input"), sample).lstrip()
    if prompt.startswith(_CONTEXT) and (match := _QUESTION.search(prompt)):
        row.update(context=prompt[len(_CONTEXT) : match.start()].strip(), question=prompt[match.end() :].strip())
    if match := _SAMPLE_ID.fullmatch(str(sample.get("id"))):
        row.setdefault("example_id", row.get("source_id", match[2]))
        if match[1]:
            row.setdefault("category", match[1])
    choices, target = sample.get("choices"), sample.get("target")
    usable = isinstance(choices, list) and len(choices) == OPTIONS and all(isinstance(text, str) for text in choices)
    row["choices"] = choices if usable else []
    if usable:
        row["gold"] = _letter(target[0] if isinstance(target, list) and len(target) == 1 else target)
    return row


def _text(content: object, sample: Row) -> str:
    """Text, or that of messages, as Inspect writes it: long ones are attached to the sample."""
    if isinstance(content, list):
        return "\n".join(text for part in content if (text := _text(part, sample)))
    if isinstance(content, dict):
        return "" if content.get("role") == "system" else _text(content.get("content", content.get("text")), sample)
    text = content if isinstance(content, str) else ""
    attached = sample.get("attachments")
    if text.startswith(_ATTACHMENT) and isinstance(attached, dict):
        return str(attached.get(text.removeprefix(_ATTACHMENT), ""))
    return text


def _letter(value: object) -> int:
    """The place of a choice by its letter; -1 for anything else."""
    return ascii_uppercase.find(value) if isinstance(value, str) and len(value) == 1 else -1


def _chosen(sample: Row, choices: Sequence[str], example: Item, location: LogLocation) -> int | str | None:
    """The option of the letter that the scorer found; else the completion; None where the sample failed."""
    if sample.get("error"):
        return None
    scores = sample.get("scores")
    score = scores.get("choice", next(iter(scores.values()), {})) if isinstance(scores, dict) else {}
    index = _letter(str(_at(score, "answer") or "").strip())
    if 0 <= index < len(choices):
        option = option_of(choices[index], example)
        if option is None:
            problem = f"the choice {choices[index]!r} is none of the example's options."
            raise location.bad(problem, COMPLETE, code="bad-value", key="choices")
        return option
    listed, explanation = choices, _at(score, "explanation")
    if isinstance(explanation, str) and explanation.startswith("Choices were shuffled"):  # by the solver
        listed = _SHOWN_CHOICE.findall(explanation)[: len(choices)]
    output = sample.get("output")  # older versions have what the model wrote in the first message alone
    text = _text(_at(output, "completion"), sample) or _text(_at(output, "choices", 0, "message"), sample)
    return _in_words(text, listed, example)


def _in_words(text: str, shown_choices: Sequence[str], example: Item) -> int | str | None:
    """An answer in words; it is parsed here where the letters in it stand for other places than the example's."""
    if not text.strip():
        return None
    order = [option_of(choice, example) for choice in shown_choices]
    if order == list(range(OPTIONS)) or len(order) != OPTIONS or None in order:
        return text
    fillers = [example.info[option][0] for option in order if option is not None]
    option = parse_answer(text, shown_choices, fillers)
    return order[option] if option >= 0 else text if option == REFUSED else None


def _samples(path: Path, bad: BadRows, notes: list[str]) -> Iterator[tuple[int, Row]]:
    """The samples of a log with their numbers; of several epochs the first one that is there."""
    if path.suffix != ".eval" and not is_zip(path):
        listed = _listed(path)
        epochs = [(str(sample.get("id")), whole(sample.get("epoch"))) for sample in listed]
        yield from ((number + 1, listed[number]) for number in _first_epochs(epochs, path, notes))
        return
    wrong = partial(DataError, file=path)
    try:
        with open_zip(path) as archive:
            names = {name: match for name in archive.namelist() if (match := _SAMPLE.fullmatch(name))}
            epochs = [(match[1], int(match[2])) for match in names.values()]
            if any(match[3] != ".json" for match in names.values()):
                problem = "its samples are stored in parts, which assay does not read."
                raise wrong(problem, _CONVERT, code="unsupported")
            ordered = list(names)
            require_modest(sum(archive.getinfo(name).file_size for name in ordered), path.stat().st_size)
            for number in _first_epochs(epochs, path, notes):
                try:
                    yield number + 1, _member(archive, ordered[number], path)
                except DataError as error:
                    bad.found(error)
    except NotImplementedError:
        problem = "its samples are compressed in an unknown format."
        raise wrong(problem, _CONVERT, code="unsupported") from None
    except (OSError, zipfile.BadZipFile) as error:
        problem = f"cannot be read as an archive ({error})."
        raise wrong(problem, "Get the log again.", code="unreadable-file") from None


def _first_epochs(samples: Sequence[tuple[str, int]], path: Path, notes: list[str]) -> list[int]:
    """The places of the samples of the lowest epoch of every id."""
    first: dict[str, int] = {}
    for name, epoch in samples:
        first[name] = min(epoch, first.get(name, epoch))
    numbers = [number for number, (name, epoch) in enumerate(samples) if epoch == first[name]]
    if len(numbers) < len(samples):
        later = f"{len(samples) - len(numbers):,} answers of later epochs were left out"
        notes.append(f"{path.name}: only the first epoch of every sample was read; {later}")
    return numbers


def _listed(path: Path) -> list[Row]:
    """The samples of a log that is one JSON object."""
    wrong = partial(DataError, file=path)
    with open_text(path) as file:
        try:
            text = file.read(_MOST_TEXT + 1)
            if len(text) > _MOST_TEXT:
                convert = "Convert it to an .eval log."
                raise wrong("this log is too large to read at once.", convert, code="unreadable-file")
            samples = _at(json_value(text), "samples")
        except (ValueError, RecursionError) as error:
            raise wrong(f"cannot be read as JSON ({error}).", "Get the log again.", code="bad-json") from None
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
        remedy = "Score a log that was written with its samples."
        raise wrong("this log has no samples, only results.", remedy, code="missing-key", key="samples")
    return samples


def model_of(path: Path) -> str:
    """The model that a log names; empty if it names none."""
    if path.suffix == ".eval" or is_zip(path):
        try:
            with open_zip(path) as archive:
                name = next((name for name in _HEADERS if name in archive.namelist()), None)
                model = None if name is None else _at(_member(archive, name, path), "eval", "model")
        except (OSError, zipfile.BadZipFile, NotImplementedError, DataError):
            return ""  # whoever reads the samples says what is wrong
    else:
        with open_text(path) as file:
            head = file.read(_MOST_HEAD)
        begins = _EVAL.search(head)
        try:
            model = begins and _at(json_at(head, begins.end())[0], "model")
        except (ValueError, RecursionError):
            model = None
    return model if isinstance(model, str) and model != _NO_MODEL else ""


def _unpacked(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """The content of a member, or one byte more of it than a sample may have."""
    info = archive.getinfo(name)
    if info.compress_type != _ZSTD or hasattr(zipfile, "ZIP_ZSTANDARD"):
        with archive.open(info) as file:
            return file.read(_MOST_BYTES + 1)
    with require_package(f"{path} is compressed with zstd, which needs", "pip install zstandard"):
        import zstandard
    with open_regular(path) as packed:
        packed.seek(info.header_offset)
        mark, names, extra = struct.unpack("<4s22x2H", packed.read(30))
        if mark != b"PK\x03\x04" or info.flag_bits & 1:
            raise zipfile.BadZipFile("damaged, or encrypted")
        packed.seek(names + extra, os.SEEK_CUR)
        content, packed_rest = b"", io.BytesIO(packed.read(info.compress_size))
        try:
            with zstandard.ZstdDecompressor().stream_reader(packed_rest, read_across_frames=True) as unpacking:
                while len(content) <= _MOST_BYTES and (more := unpacking.read(_MOST_BYTES + 1 - len(content))):
                    content += more
        except zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from None
    if len(content) <= _MOST_BYTES and (zlib.crc32(content), len(content)) != (info.CRC, info.file_size):
        raise zipfile.BadZipFile("its checksum is wrong")
    return content


def _member(archive: zipfile.ZipFile, name: str, path: Path) -> Row:
    """One sample of an archive; nothing is unpacked to disk, and never more than a sample may have."""
    location = LogLocation(path, part=name)
    try:
        content = _unpacked(archive, name, path)
        if len(content) > _MOST_BYTES:
            problem = f"unpacks to more than {_MOST_BYTES >> 20} MB."
            raise location.bad(problem, "This is not a log of BBQ.", code="unsupported")
        sample = json_value(content)
    except NotImplementedError:
        raise  # every member is packed in the same way: this is not about one sample
    except (ValueError, RecursionError, RuntimeError, zipfile.BadZipFile, *UNREADABLE) as error:
        raise location.bad(f"cannot be read ({reason(error)}).", "Get the log again.", code="unreadable-file") from None
    if not isinstance(sample, dict):
        raise location.bad("expected a JSON object.", "Get the log again.", code="bad-json")
    return sample
