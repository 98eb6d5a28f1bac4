"""The manifest of official data, where they are looked for, and whether what is there is right."""

from __future__ import annotations

import gzip
import lzma
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from assay.cli.data import check_lines
from assay.datasets.catalogue import DataSet, FileState, blob_id, catalogue, data_folder, pinned_files, verify
from assay.errors import UsageError
from assay.probes import data_sets

CATEGORIES = (
    *("Age", "Disability_status", "Gender_identity", "Nationality", "Physical_appearance", "Race_ethnicity"),
    *("Race_x_SES", "Race_x_gender", "Religion", "SES", "Sexual_orientation"),
)
FILES = {
    "bbq/data/Age.jsonl": b'{"made": "up"}\n',
    "bbq/templates/new_templates - Age.csv": b"a,b\n1,2\n",
    "bbq/LICENSE": b"do as you like\n",
}


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """An empty data folder, and a manifest of made-up files for it."""
    manifest = tmp_path / "pinned.tsv"
    rows = [("some/repository", "0" * 40, blob_id(FILES[place]), place[4:], place) for place in FILES]
    manifest.write_text("# a comment\n" + "".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def of(folder: Path) -> DataSet:
    """The data set of the manifest beside a data folder."""
    return DataSet("bbq", "made up", "none", folder.parent / "pinned.tsv")


def put(folder: Path, place: str, content: bytes | None = None) -> Path:
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(FILES[place] if content is None else content)
    return path


def states(folder: Path) -> dict[str, FileState]:
    return {state.path.relative_to(folder).as_posix(): state for state in verify(of(folder), folder)}


# --- the manifest


PINNED = [name for name, known in data_sets().items() if known.pinned]


@pytest.mark.parametrize("name", PINNED)
def test_every_pinned_file_has_full_ids_and_a_place_of_its_own_in_its_folder(name: str) -> None:
    files = pinned_files(data_sets()[name])
    assert len({(file.repository, file.commit) for file in files}) == 1, "one revision"
    assert max(Counter(file.path for file in files).values()) == 1
    for file in files:
        assert re.fullmatch(r"[\w-]+/[\w-]+", file.repository)
        assert re.fullmatch(r"[0-9a-f]{40}", file.commit)
        assert re.fullmatch(r"[0-9a-f]{40}", file.blob)
        assert ".." not in PurePosixPath(file.path).parts
        assert PurePosixPath(file.path).parts[0] == name
        assert not file.source.startswith("/")


def test_bbq_is_eleven_data_files_fourteen_templates_the_metadata_and_the_licence() -> None:
    places = {file.path for file in pinned_files(data_sets()["bbq"])}
    data = {f"bbq/data/{category}.jsonl" for category in CATEGORIES}
    templates = {f"bbq/templates/new_templates - {category}.csv" for category in (*CATEGORIES, "Filler_items")}
    templates |= {"bbq/templates/vocabulary.csv", "bbq/templates/vocabulary_proper_names.csv"}
    assert places == data | templates | {"bbq/additional_metadata.csv", "bbq/LICENSE"}
    assert (len(data), len(templates)) == (11, 14)


def test_the_word_lists_that_unqover_reads_are_pinned() -> None:
    from assay.probes.unqover.lists import FILES as LISTS

    places = {file.path for file in pinned_files(data_sets()["unqover"])}
    for files in LISTS.values():
        for subject in files.subjects:
            assert {
                f"unqover/word_lists/nouns/subjects/{subject}{family}" for family in ("", "_bert", "_roberta")
            } <= places
        assert f"unqover/word_lists/activities/{files.activities}" in places
        assert {f"unqover/word_lists/slots/{files.slots}{form}" for form in ("", "_lm")} <= places
    assert {"unqover/word_lists/fillers/newsqa", "unqover/LICENSE"} <= places


def test_an_unknown_data_set_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no data set 'squad'") as error:
        list(check_lines(None, "squad"))
    assert "unqover, bbq, kobbq" in error.value.remedy


# --- the folder


def test_the_data_folder_is_the_given_one_then_assay_data_then_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ASSAY_DATA", "~/chosen")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert data_folder(Path("~/given")) == tmp_path / "given"
    assert data_folder() == tmp_path / "chosen"
    monkeypatch.setenv("ASSAY_DATA", "")
    assert data_folder(None) == tmp_path / "xdg" / "assay"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert data_folder() == tmp_path / ".local" / "share" / "assay"


def test_the_catalogue_counts_what_is_there_plain_or_compressed(made_up: Path) -> None:
    def counts() -> dict[str, tuple[int, int, Path]]:
        return {row.name: (row.present, row.total, row.folder) for row in catalogue([of(made_up)], made_up)}

    assert counts()["bbq"] == (0, 3, made_up / "bbq")
    put(made_up, "bbq/LICENSE")
    put(made_up, "bbq/data/Age.jsonl.gz", b"whatever")
    put(made_up, "bbq/data/Other.jsonl", b"whatever")
    assert counts()["bbq"] == (2, 3, made_up / "bbq")


def test_files_that_the_user_brings_have_no_total(tmp_path: Path) -> None:
    mine = DataSet("mine", "made up", "none", bring="write to me")
    (row,) = catalogue([mine], tmp_path)
    assert (row.present, row.total) == (0, None)
    put(tmp_path, "mine/a.jsonl", b"")
    put(tmp_path, "mine/.b.part", b"")
    (row,) = catalogue([mine], tmp_path)
    assert (row.present, row.total, pinned_files(mine)) == (1, None, ())


def test_a_data_set_may_lie_within_another_folder(made_up: Path) -> None:
    within = replace(of(made_up), within="collection")
    assert within.folder(made_up) == made_up / "bbq", "where it is put if it is nowhere"
    put(made_up, "collection/bbq/LICENSE", FILES["bbq/LICENSE"])
    assert [state.path for state in verify(within, made_up) if state.state == "ok"] == [
        made_up / "collection" / "bbq" / "LICENSE"
    ]
    (row,) = catalogue([within], made_up)
    assert (row.present, row.folder) == (1, made_up / "collection" / "bbq")
    put(made_up, "bbq/LICENSE")
    assert within.folder(made_up) == made_up / "bbq", "its own folder comes first"


def test_the_catalogue_has_every_probes_data_sets(tmp_path: Path) -> None:
    names = [row.name for row in catalogue(data_sets().values(), tmp_path)]
    assert {"unqover", "bbq", "kobbq", "mbbq", "sodapop"} <= {*names}
    assert len({*names}) == len(names)


# --- the check


def test_the_blob_id_is_gits() -> None:
    assert (
        blob_id(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
    )  # printf 'hello\n' | git hash-object --stdin


def test_files_are_ok_or_missing(made_up: Path) -> None:
    put(made_up, "bbq/LICENSE")
    put(made_up, "bbq/data/Age.jsonl.gz", gzip.compress(FILES["bbq/data/Age.jsonl"]))
    assert {place: state.state for place, state in states(made_up).items()} == {
        "bbq/data/Age.jsonl.gz": "ok",
        "bbq/templates/new_templates - Age.csv": "missing",
        "bbq/LICENSE": "ok",
    }
    assert states(made_up)["bbq/data/Age.jsonl.gz"].note == "compressed"
    put(
        made_up,
        "bbq/templates/new_templates - Age.csv.xz",
        lzma.compress(FILES["bbq/templates/new_templates - Age.csv"]),
    )
    assert states(made_up)["bbq/templates/new_templates - Age.csv.xz"].state == "ok"


def test_a_folder_that_is_not_there_has_nothing_but_missing_files(made_up: Path) -> None:
    assert [state.state for state in verify(of(made_up), made_up / "nowhere")] == ["missing"] * 3


def test_a_changed_byte_is_different_and_the_note_gives_both_ids(made_up: Path) -> None:
    put(made_up, "bbq/LICENSE", b"do as you Like\n")
    state = states(made_up)["bbq/LICENSE"]
    assert state.state == "different"
    assert blob_id(b"do as you Like\n")[:12] in state.note
    assert blob_id(FILES["bbq/LICENSE"])[:12] in state.note


def test_changed_line_ends_are_different_and_named(made_up: Path) -> None:
    put(made_up, "bbq/templates/new_templates - Age.csv", b"a,b\r\n1,2\r\n")
    state = states(made_up)["bbq/templates/new_templates - Age.csv"]
    assert (state.state, "line endings" in state.note) == ("different", True)


@pytest.mark.parametrize(
    ("damage", "note"),
    [
        (lambda packed: packed[:-9], "ends early"),
        (lambda packed: b"no gzip at all", "not an intact gzip file"),
        (lambda packed: packed[:-8] + bytes(8), "not an intact gzip file"),  # a wrong checksum
        (lambda packed: packed[:10] + b"\xff" * 8 + packed[18:], "not an intact gzip file"),
        (lambda packed: b"", "blob id"),
        (lambda packed: gzip.compress(b"other"), "blob id"),
    ],
    ids=["cut", "not gzip", "checksum", "garbage", "empty", "other content"],
)
def test_a_damaged_or_wrong_compressed_file_is_different(
    made_up: Path, damage: Callable[[bytes], bytes], note: str
) -> None:
    put(made_up, "bbq/data/Age.jsonl.gz", damage(gzip.compress(FILES["bbq/data/Age.jsonl"])))
    state = states(made_up)["bbq/data/Age.jsonl.gz"]
    assert state.state == "different"
    assert note in state.note


def test_a_folder_in_a_files_place_is_different(made_up: Path) -> None:
    (made_up / "bbq" / "LICENSE").mkdir(parents=True)
    assert states(made_up)["bbq/LICENSE"].state == "different"


def test_a_file_that_is_there_in_both_forms_has_both_looked_at(made_up: Path) -> None:
    put(made_up, "bbq/data/Age.jsonl")
    put(made_up, "bbq/data/Age.jsonl.gz", gzip.compress(b"other"))
    found = states(made_up)
    assert found["bbq/data/Age.jsonl"].state == "ok"
    assert found["bbq/data/Age.jsonl.gz"].state == "different"
    assert len(found) == 4


def test_other_files_are_unpinned_and_hidden_ones_are_not_looked_at(made_up: Path) -> None:
    for place in FILES:
        put(made_up, place)
    put(made_up, "bbq/predictions/mine.jsonl", b"")
    put(made_up, "bbq/data/.Age.jsonl.machine-1.part", b"")
    put(made_up, "elsewhere/file", b"")
    found = states(made_up)
    others = {place: state.note for place, state in found.items() if state.state == "unpinned"}
    assert others == {"bbq/predictions/mine.jsonl": "not among the pinned files"}
    assert all(found[place].state == "ok" for place in FILES)


# --- the real thing


@pytest.mark.parametrize("name", PINNED)
def test_official_files_are_right_where_they_are_there(official_data: Path, name: str) -> None:
    if not data_sets()[name].folder(official_data).is_dir():
        pytest.skip(f"needs the published files of {name}")
    found = [state for state in verify(data_sets()[name], official_data) if state.state != "unpinned"]
    assert len(found) == len(pinned_files(data_sets()[name]))
    assert [state for state in found if state.state not in ("ok", "missing")] == []
    assert any(state.state == "ok" for state in found)


def test_finding_data_loads_neither_the_network_nor_arrays() -> None:
    heavy = {"urllib.request", "http.client", "ssl", "numpy", "rich", "gzip"}
    code = f"import sys, assay.datasets.catalogue; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
