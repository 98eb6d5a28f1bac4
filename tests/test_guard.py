"""No text of this repository repeats the official data sets: no eight words in a row are shared with them.

The official data lie in the folder that ASSAY_DATA names; without it the guard itself is skipped, and only the detector
is tested. A sequence never runs over the end of a line or of a tab-separated cell, so that plain lists of single words
(names, countries) may stand in any order. Sequences that the papers print are excused by tests/guard_allowed.txt.
"""

from __future__ import annotations

import gzip
import lzma
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = Path(__file__).with_name("guard_allowed.txt")

LENGTH = 8
OFFICIAL_FOLDERS = ("bbq", "bbq_family", "unqover", "socialiqa", "sodapop", "qamr", "bias_bench", "names", "text")
NOT_OURS = re.compile(r"\.git|\.?venv|__pycache__|\..+_cache|\.hypothesis|\.tox|\.nox|build|dist|runs|.+\.egg-info")

Words = tuple[str, ...]
Sequences = dict[Words, str]  # eight words -> the first place where we have them, "file:line"


@dataclass(frozen=True)
class Overlap:
    ours: str
    official: str
    words: str

    def __str__(self) -> str:
        return f'{self.ours}: "{self.words}" is in {self.official}'


# --- reading


def read_text(path: Path) -> str:
    """The text of a file, unpacked where it is compressed; "" for what is no text."""
    raw = path.read_bytes()
    if path.suffix == ".gz":
        raw = gzip.decompress(raw)
    elif path.suffix == ".xz":
        raw = lzma.decompress(raw)
    if b"\0" in raw[:8192]:
        return ""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def git(folder: Path, *arguments: str) -> bytes:
    """What git prints about `folder`, even where a hook's environment points it to another repository."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(["git", *arguments], cwd=folder, env=outside, capture_output=True, check=True).stdout


def our_files(root: Path) -> list[Path]:
    """The files that git tracks under `root`; where git tracks nothing, all files but caches and environments."""
    try:
        listed = git(root, "ls-files", "-z")
    except (OSError, subprocess.CalledProcessError):
        listed = b""
    tracked = [root / os.fsdecode(name) for name in listed.split(b"\0") if name]
    return [path for path in tracked or walk(root) if path.is_file()]


def walk(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not NOT_OURS.fullmatch(name))
        yield from (Path(folder, name) for name in sorted(names))


def official_files(data: Path) -> list[Path]:
    found = (path for folder in OFFICIAL_FOLDERS for path in sorted((data / folder).rglob("*")))
    return [path for path in found if path.is_file() and not path.name.upper().startswith(("LICENSE", "README"))]


# --- comparing

_WORD = re.compile(r"[a-z0-9']+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|([nrt\"]))")
_ESCAPED = {"n": "\n", "r": "\n", "t": "\t", '"': '"'}


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _ESCAPED[match[2]]


def cells(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and words of every cell that is long enough; JSON's escapes count as what they stand for."""
    for number, line in enumerate(text.lower().split("\n"), start=1):
        plain = _ESCAPE.sub(_unescaped, line) if "\\" in line else line
        for cell in re.split(r"[\t\n]", plain.replace("\u2019", "'")):
            words = _WORD.findall(cell)
            if len(words) >= LENGTH:
                yield number, words


def windows(words: list[str]) -> Iterator[Words]:
    return zip(*(words[start:] for start in range(LENGTH)), strict=False)  # the shortest, the last, ends it


def sequences(files: Iterable[Path], root: Path) -> Sequences:
    found: Sequences = {}
    for path in files:
        for number, words in cells(read_text(path)):
            for window in windows(words):
                found.setdefault(window, f"{path.relative_to(root).as_posix()}:{number}")
    return found


def allowed_sequences(text: str) -> set[Words]:
    """The sequences of an allow-list, whose lines are `source TAB text`; "#" starts a comment."""
    entries = [line.split("\t") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for entry in entries:
        if len(entry) != 2 or not re.fullmatch(r"\w+, (Table|Figure|Appendix) [A-Z0-9.]+", entry[0]):
            raise ValueError(f"{entry}: expected 'Paper, Table N', a tab, and the text that it prints")
    return {window for _, printed in entries for _, words in cells(printed) for window in windows(words)}


def overlaps(ours: Sequences, official: Iterable[Path], data: Path) -> list[Overlap]:
    """Every sequence of ours that some official file has, once."""
    found: dict[Words, Overlap] = {}
    for path in official:
        for number, words in cells(read_text(path)):
            if ours.keys().isdisjoint(windows(words)):  # the usual case, without a loop in Python
                continue
            where = f"{path.relative_to(data).as_posix()}:{number}"
            for window in windows(words):
                if window in ours:
                    found.setdefault(window, Overlap(ours[window], where, " ".join(window)))
    return list(found.values())


def compare(root: Path, data: Path, allowed: str = "") -> list[Overlap]:
    ours = sequences((path for path in our_files(root) if data not in path.parents), root)
    for window in allowed_sequences(allowed):
        ours.pop(window, None)
    return overlaps(ours, official_files(data), data)


# --- the guard


def test_no_eight_words_in_a_row_are_shared_with_the_official_data() -> None:
    named = os.environ.get("ASSAY_DATA")
    if not named:
        pytest.skip("ASSAY_DATA is not set: no official data to compare with")
    data = Path(named).resolve()
    if not official_files(data):
        pytest.skip(f"ASSAY_DATA names {data}, which holds no official data")
    found = compare(ROOT, data, ALLOWED.read_text(encoding="utf-8"))
    assert not found, f"{len(found)} shared; reword ours:\n" + "\n".join(map(str, found[:40]))


# --- the detector, on planted text

PLANTED = "seven green kettles sang beneath a crooked old lighthouse yesterday"  # ten words
EIGHT = "and then green kettles sang beneath a crooked old lighthouse fell"
SEVEN = "and then kettles sang beneath a crooked old lighthouse fell"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "official"
    (folder / "bbq" / "data").mkdir(parents=True)
    (folder / "bbq" / "data" / "plain.txt").write_text(f"first line\n{PLANTED}\n", encoding="utf-8")
    return folder


def test_eight_shared_words_are_found_with_both_places(root: Path, data: Path) -> None:
    (root / "notes.md").write_text(f"nothing here\n\n{EIGHT}\n", encoding="utf-8")
    (overlap,) = compare(root, data)
    assert overlap.ours == "notes.md:3"
    assert overlap.official == "bbq/data/plain.txt:2"
    assert overlap.words == "green kettles sang beneath a crooked old lighthouse"


def test_seven_shared_words_are_not(root: Path, data: Path) -> None:
    (root / "notes.md").write_text(SEVEN, encoding="utf-8")
    assert compare(root, data) == []


def test_case_and_punctuation_do_not_hide_a_sequence(root: Path, data: Path) -> None:
    (root / "notes.md").write_text('"Green kettles", sang -- beneath a CROOKED, old lighthouse!', encoding="utf-8")
    assert len(compare(root, data)) == 1


def test_escapes_do_not_hide_a_sequence(root: Path, data: Path) -> None:
    text = r'{"context": "\u201cIt\u2019s odd\u201d that nine \"green\" kettles sang aloud\nthen"}'
    (data / "bbq" / "data" / "more.jsonl").write_text(text, encoding="utf-8")
    (root / "notes.md").write_text("it's odd that nine green kettles sang aloud", encoding="utf-8")
    (overlap,) = compare(root, data)
    assert overlap.words == "it's odd that nine green kettles sang aloud"


@pytest.mark.parametrize("break_", ["\n", "\t"])
def test_a_sequence_ends_with_its_line_and_cell(root: Path, data: Path, break_: str) -> None:
    (root / "list").write_text(EIGHT.replace(" beneath ", f"{break_}beneath "), encoding="utf-8")
    assert compare(root, data) == []


@pytest.mark.parametrize("name", ["bbq/a.jsonl.gz", "unqover/word_lists/slots/b", "text/c.txt.xz", "names/d.csv"])
def test_all_kinds_of_official_files_are_read(root: Path, data: Path, name: str) -> None:
    text = "six purple wagons rolled down an icy hill at dusk"
    packed = {".gz": gzip.compress(text.encode()), ".xz": lzma.compress(text.encode())}
    (data / name).parent.mkdir(parents=True, exist_ok=True)
    (data / name).write_bytes(packed.get(Path(name).suffix, text.encode()))
    (root / "notes.md").write_text(text, encoding="utf-8")
    assert {overlap.official for overlap in compare(root, data)} == {f"{name}:1"}


@pytest.mark.parametrize("name", ["bbq/LICENSE.txt", "bbq/data/README.md", "README.md", "elsewhere/plain.txt"])
def test_licences_readmes_and_other_folders_are_no_official_data(root: Path, data: Path, name: str) -> None:
    (data / "bbq" / "data" / "plain.txt").unlink()
    (data / name).parent.mkdir(exist_ok=True)
    (data / name).write_text(PLANTED, encoding="utf-8")
    (root / "notes.md").write_text(EIGHT, encoding="utf-8")
    assert compare(root, data) == []


def test_compressed_files_of_ours_are_read_and_binary_ones_passed_over(root: Path, data: Path) -> None:
    (root / "set.jsonl.gz").write_bytes(gzip.compress(EIGHT.encode()))
    (root / "weights.bin").write_bytes(b"\0\1" + EIGHT.encode())
    assert [overlap.ours for overlap in compare(root, data)] == ["set.jsonl.gz:1"]


def test_caches_and_environments_are_not_ours(root: Path, data: Path) -> None:
    for name in (".venv", ".mypy_cache", "__pycache__"):
        (root / name).mkdir()
        (root / name / "notes.md").write_text(EIGHT, encoding="utf-8")
    assert compare(root, data) == []


def test_in_a_git_checkout_only_tracked_files_count(root: Path, data: Path) -> None:
    for name in ("tracked.md", "untracked.md"):
        (root / name).write_text(EIGHT, encoding="utf-8")
    try:
        git(root, "init", "--quiet")
        git(root, "add", "tracked.md")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("git is not here")
    assert [overlap.ours for overlap in compare(root, data)] == ["tracked.md:1"]


def test_what_a_paper_prints_is_allowed_and_nothing_else(root: Path, data: Path) -> None:
    (root / "notes.md").write_text(PLANTED, encoding="utf-8")
    allowed = "# a comment\n\nSomePaper, Table 3\tgreen kettles sang beneath a crooked old lighthouse\n"
    assert {overlap.words for overlap in compare(root, data)} > {
        overlap.words for overlap in compare(root, data, allowed)
    }
    assert "green kettles sang beneath a crooked old lighthouse" not in str(compare(root, data, allowed))


def test_an_allowed_text_must_say_where_it_is_printed() -> None:
    with pytest.raises(ValueError, match="Table N"):
        allowed_sequences("green kettles sang beneath a crooked old lighthouse")
