"""Files that may be packed: the same text whichever way, and one clear error wherever a damaged one is read."""

from __future__ import annotations

import gzip
import hashlib
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DataError
from assay.files.opening import digest_of_file, open_bytes, open_text
from assay.files.rows import BadRows, read_rows
from assay.lab.debiasing.attribute_words import read_words
from assay.lab.debiasing.corpus import Corpus
from assay.lab.training.choice import read_choice_data
from assay.lab.training.data_files import lines_of
from assay.lab.training.span import read_span_data
from assay.probes.bbq.logs import log_kind
from assay.probes.bbq.read_items import read_examples
from assay.probes.bbq.targets import read_metadata
from assay.probes.sodapop.contexts import read_contexts
from assay.probes.sodapop.names import read_groups
from raising import raises

TEXT = "\ufeffZoë\r\nand “others”\n" + "".join(f"line {n} of {n * n % 977}\n" for n in range(2000))
PACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}


def cut(packed: bytes) -> bytes:
    return packed[:15]


def garbled(packed: bytes) -> bytes:
    return packed[:40] + b"\xff" * 40 + packed[80:]


def not_packed(packed: bytes) -> bytes:
    return TEXT.encode()


DAMAGED = [
    (suffix, damage, why)
    for suffix, kind in ((".gz", "not an intact gzip file"), (".xz", "not an intact xz file"))
    for damage, why in ((cut, "the compressed file ends early"), (garbled, kind), (not_packed, kind))
]


@pytest.fixture(params=DAMAGED, ids=lambda each: f"{each[1].__name__}{each[0]}")
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Callable[[str], Path], str]:
    """Writes a damaged file of a name, and says what is wrong with it."""
    suffix, damage, why = request.param

    def write(name: str) -> Path:
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(damage(PACK[suffix](TEXT.encode())))
        return path

    return write, why


@pytest.mark.parametrize("suffix", PACK)
def test_a_file_has_the_same_text_and_digest_whether_it_is_packed_or_not(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(PACK[suffix](TEXT.encode()))
    with open_text(path) as file:
        assert file.read() == TEXT.removeprefix("\ufeff")
    with open_bytes(path) as content:
        assert content.read() == TEXT.encode()
    assert digest_of_file(path) == hashlib.sha256(TEXT.encode()).hexdigest()


READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "a digest": ("a.txt", digest_of_file),
    "rows": ("a.jsonl", lambda path: list(read_rows(path, BadRows(skip=True)))),
    "rows of CSV": ("a.csv", lambda path: list(read_rows(path, BadRows(skip=True)))),
    "BBQ's examples": ("Age.jsonl", lambda path: read_examples(path, BadRows(skip=True))),
    "BBQ's metadata": ("additional_metadata.csv", read_metadata),
    "a log of answers": ("log.json", log_kind),
    "SODAPOP's contexts": ("dev.jsonl", read_contexts),
    "groups of names": ("groups.json", read_groups),
    "words for debiasing": ("words.json", read_words),
    "a corpus": ("corpus.txt", lambda path: list(Corpus(path).lines())),
    "spans": ("train.json", read_span_data),
    "choices": ("train.jsonl", read_choice_data),
    "an article of RACE": ("1.txt", read_choice_data),
    "text": ("text.txt", lambda path: list(lines_of(path)())),
}


@pytest.mark.parametrize("what", READERS)
def test_a_damaged_packed_file_is_named_wherever_it_is_read(
    damaged: tuple[Callable[[str], Path], str], what: str
) -> None:
    (write, why), (name, read) = damaged, READERS[what]
    path = write(name)
    with pytest.raises(DataError) as caught:
        read(path)
    assert caught.value.file == path
    assert why in caught.value.problem
    assert caught.value.remedy


def test_labels_beside_a_file_are_named_where_they_are_damaged(damaged: tuple[Callable[[str], Path], str]) -> None:
    labels = damaged[0]("dev-labels.lst")
    rows = labels.with_name("dev.jsonl")
    rows.write_text('{"context": "Ann sat.", "question": "Why?", "answerA": "a", "answerB": "b", "answerC": "c"}\n')
    for read in (read_contexts, read_choice_data):
        with raises("unreadable-file", DataError, file=labels):
            read(rows)


def test_what_is_missing_a_folder_or_no_text_is_named(tmp_path: Path) -> None:
    with raises("missing-file", DataError, file=tmp_path / "none.txt"), open_text(tmp_path / "none.txt"):
        pass
    with raises("unreadable-file", DataError, file=tmp_path), open_text(tmp_path):
        pass
    latin = tmp_path / "latin.txt"
    latin.write_bytes("Zoë\n".encode("latin-1"))
    with raises("unreadable-file", DataError, file=latin), open_text(latin) as file:
        file.read()
