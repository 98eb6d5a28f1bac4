"""Files of strangers that once ended in a traceback, filled the memory or never ended: one clear error each."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import small_bbq
from assay.cli import main
from assay.config.toml_file import TomlFile
from assay.engine.store import BadBlockError, BlockStore, StoredBlock
from assay.errors import DataError, ModelError, UsageError
from assay.files.decoding import json_value, toml_value
from assay.files.opening import open_bytes, open_text, read_whole
from assay.files.rows import BadRows, read_rows
from block_files import write_block_file
from bounded import Said, bounded, saying
from kept_runs import without_digests
from raising import raises

MB = 1 << 20


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test has a folder of its own, and five minutes."""
    monkeypatch.chdir(tmp_path)
    with bounded(waiting=300):
        yield


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    return saying(capsys)


def rows(**changed: Any) -> str:
    made = [{**example.as_json(), "prediction": 0, **changed} for example in small_bbq.quartet()]
    return "".join(json.dumps(row) + "\n" for row in made)


# --- texts that Python does not turn into numbers

NINES = "9" * 5001


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"prediction": NINES}, 0),
        ({"prediction": f"ans{NINES}"}, 0),
        ({"category": "Race_ethnicity", "question_index": NINES}, 0),
        ({"example_id": NINES}, 3),
        ({"label": NINES}, 3),
    ],
    ids=["answer", "answer's name", "template", "number", "label"],
)
def test_digits_without_end_are_a_text_like_others(
    changed: dict[str, str], expected: int, said: Said, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text(rows(**changed))
    code, text = said("score", "bbq", "a.jsonl", "--answers", "prediction", "--set", "resamples=20")
    assert (code, "Traceback" in text) == (expected, False)


@pytest.mark.parametrize("probe", ["unqover", "bbq-starter"])
def test_a_setting_of_digits_without_end_is_refused(probe: str, said: Said) -> None:
    code, text = said("run", probe, "--set", f"resamples={NINES}", "--dry-run")
    assert code == 2
    assert "expected a whole number" in text


# --- what cannot be opened


READ = {
    "score bbq": ("score", "bbq", "FILE", "--answers", "prediction"),
    "score unqover": ("score", "unqover", "FILE"),
    "score sodapop": ("score", "sodapop", "FILE"),
    "gate": ("gate", "run", "--policy", "FILE"),
    "study": ("study", "FILE", "--dry-run"),
    "names": ("run", "sodapop", "--set", "groups=FILE", "--dry-run"),
    "metadata": ("run", "bbq", "--data", "data", "--set", "metadata=FILE", "--dry-run"),
    "words": ("debias", "cda", "--model", "hf:none", "--set", "words=FILE", "--out", "out"),
}


@pytest.fixture
def official(tmp_path: Path) -> None:
    small_bbq.write(tmp_path / "data" / "Age.jsonl", small_bbq.quartet())


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("command", READ)
@pytest.mark.usefixtures("official")
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_only_regular_files_are_opened(command: str, kind: str, said: Said, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file = Path("/dev/zero")
    code, text = said(*(each.replace("FILE", str(file)) for each in READ[command]))
    assert code in (2, 3, 4)
    assert "Traceback" not in text


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize(
    "command",
    [
        *READ.values(),
        *(("report", "FILE"), ("compare", "FILE", "FILE"), ("export", "FILE"), ("gate", "FILE", "--policy", "FILE")),
        *(("run", "unqover", "--limit", "4", "--out", "FILE"), ("generate", "unqover", "--out", "FILE")),
        *(("train", "span", "--data", "FILE", "--out", "out"), ("work", "FILE"), ("data", "check", "--data", "FILE")),
        *(("score", "bbq", "rows.jsonl", "--answers", "prediction", "--out", "FILE"), ("run", "--model", "hf:./FILE")),
        ("debias", "cda", "--model", "hf:none", "--out", "FILE"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("official")
def test_a_name_that_is_too_long_is_one_clear_error(command: tuple[str, ...], said: Said, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(rows(), encoding="utf-8")
    code, text = said(*(each.replace("FILE", "n" * 300) for each in command))
    assert code in (2, 3), text
    assert "Traceback" not in text


def test_arguments_that_are_not_utf8_are_refused(said: Said) -> None:
    code, text = said("score", "bbq", "a\udcff.jsonl")
    assert code == 2
    assert "is not UTF-8" in text


# --- what does not end, or fills the memory


def test_an_endless_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{}\n" + b"x" * (65 * MB))
    with raises("unreadable-file", DataError, file=path, line=2), open_text(path) as file:
        file.readlines()


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.open), (".xz", lzma.open)])
@pytest.mark.parametrize("piece", [b" ", b"\n"], ids=["blanks", "lines"])
def test_archives_that_unpack_to_gigabytes_are_left_early(
    tmp_path: Path, suffix: str, pack: Any, piece: bytes, said: Said
) -> None:
    path = tmp_path / f"bbq.jsonl{suffix}"
    with pack(path, "wb") as file:
        for _ in range(20):
            file.write(piece * MB)
    code, text = said("score", "bbq", str(path), "--answers", "prediction", "--skip-bad")
    assert code == 3
    assert "blanks in a row" in text
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.open), (".xz", lzma.open)])
def test_text_that_unpacks_to_many_times_its_size_is_left_early(tmp_path: Path, suffix: str, pack: Any) -> None:
    path = tmp_path / f"a.txt{suffix}"
    with pack(path, "wb") as file:
        for _ in range(80):
            file.write(b"ab\n" * (MB // 3))
    with raises("unreadable-file", DataError, file=path), open_bytes(path) as content:
        while content.read(MB):
            pass


@pytest.mark.slow
def test_no_more_rows_are_skipped_than_can_be_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("no\n" * 100_001, encoding="utf-8")
    with raises("bad-row", DataError, file=path, line=100_001):
        list(read_rows(path, BadRows(skip=True)))


def test_gigabytes_of_blank_lines_are_left_early(tmp_path: Path) -> None:
    path = tmp_path / "bbq.jsonl"
    with path.open("wb") as file:
        for _ in range(20):
            file.write(b"\n" * MB)
    with raises("unreadable-file", DataError, file=path), open_text(path) as file:
        file.readlines()


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from assay.cli import main
code = main(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # getrusage includes the parent
print("peak", int(peak.split()[1]) >> 10)
sys.exit(code)
"""


@pytest.mark.slow
def test_a_large_log_takes_less_than_a_gigabyte(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    with path.open("w", encoding="utf-8") as file:
        file.write('{"version": 2, "status": "success", "eval": {"task": "bbq"}, "samples": [')
        piece = ",".join(["[]"] * 300_000)
        for _ in range(340):  # 300 MB
            file.write(piece + ",")
        file.write("{}]}")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "score", "bbq", str(path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 3, done.stderr
    assert int(done.stdout.split()[-1]) < 1024


def test_json_of_many_values_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(ValueError, match="more than 8,000,000 values"):
        json_value("[" + "0," * 8_000_001 + "0]")


def test_a_table_heading_of_blanks_takes_no_time(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('["a' + " " * 200_000 + 'b"]\nx = 1\n', encoding="utf-8")
    assert TomlFile.read(path, "").line("a" + " " * 200_000 + "b") == 1


def test_a_pipe_in_place_of_a_block_is_a_damaged_block(tmp_path: Path) -> None:
    path = BlockStore(tmp_path).path(StoredBlock("a" * 64, 0, 3, "0" * 64))
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(BadBlockError, match="not a regular file"):
        BlockStore(tmp_path).read("a" * 64, 0, 3)


def test_a_block_of_impossible_shapes_is_a_damaged_block(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000000,), }\n"
        archive.writestr("queries.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    write_block_file(BlockStore(tmp_path), "a" * 64, 0, 3, packed.getvalue())
    with pytest.raises(BadBlockError, match="not a block"):
        BlockStore(tmp_path).read("a" * 64, 0, 3)


# --- what decoders let through

NOT_JSON = {
    "a number of 401 digits": "1" + "0" * 400,
    "a number of 5,001 digits": "9" * 5001,
    "a number beyond floats": "1e400",
    "half a surrogate pair": '"\\ud800"',
    "deep lists": "[" * 100_000 + "]" * 100_000,
    "deep objects": '{"a":' * 5_000 + "1" + "}" * 5_000,
    "not quite as deep": "[" * 200 + "]" * 200,
}


@pytest.mark.parametrize("text", NOT_JSON.values(), ids=NOT_JSON)
def test_json_that_no_reader_could_use_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"digits|too large|surrogate|nested"):
        json_value(text)


def test_pairs_of_surrogates_are_characters() -> None:
    assert json_value('"\\ud83d\\ude00"') == "😀"
    assert json_value('["\\ud800x"]', mend=True) == ["\ufffdx"]


@pytest.mark.parametrize("text", ["a = 0x" + "f" * 5000, "a = " + "9" * 5001, "a" + ".a" * 500 + " = 1"])
def test_toml_that_no_reader_could_use_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"digits|nested"):
        toml_value(text)


@pytest.mark.parametrize("value", NOT_JSON.values(), ids=NOT_JSON)
@pytest.mark.parametrize("key", ["label", "category", "answer_info", "example_id", "prediction"])
def test_rows_with_them_name_their_line_and_leave_nothing(value: str, key: str, said: Said, tmp_path: Path) -> None:
    (tmp_path / "bbq.jsonl").write_text(rows(**{key: "@"}).replace('"@"', value), encoding="utf-8")
    code, text = said("score", "bbq", "bbq.jsonl", "--answers", "prediction", "--out", "out")
    assert code == 3
    assert "bbq.jsonl, line 1:" in text
    assert not (tmp_path / "out").exists()


def test_a_list_as_the_category_of_a_log_is_refused(said: Said, tmp_path: Path) -> None:
    from probes.bbq.test_logs import generated, inspected, write_json

    example = small_bbq.quartet()[0]
    doc = generated(example, "The old potter")
    doc["doc"]["category"] = ["Age"]
    (tmp_path / "samples_bbq_2026-01-02.jsonl").write_text(json.dumps(doc) + "\n", encoding="utf-8")
    assert said("score", "bbq", "samples_bbq_2026-01-02.jsonl")[0] == 3
    sample = inspected(example)
    sample["metadata"]["category"] = ["Age"]
    write_json(tmp_path / "log.json", [sample])
    assert said("score", "bbq", "log.json")[0] == 3


def test_a_label_of_5001_digits_is_refused(tmp_path: Path) -> None:
    from assay.lab.training.choice import read_choice_data

    row = {"context": "Ann met Bo.", "question": "Why?", "answerA": "a", "answerB": "b", "answerC": "c"}
    (tmp_path / "siqa.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (tmp_path / "siqa-labels.lst").write_text("9" * 5001, encoding="utf-8")
    with raises("bad-label", DataError, file=tmp_path / "siqa-labels.lst", line=1):
        list(read_choice_data(tmp_path / "siqa.jsonl"))


def test_a_number_as_the_answers_of_a_question_is_refused(tmp_path: Path) -> None:
    from assay.lab.training.span import read_span_data

    found = [{"text": "Bo", "char_spans": [[8, 9]]}]
    asked = {"qid": "1", "question": "Who?", "answers": 7, "detected_answers": found}
    path = tmp_path / "mrqa.jsonl"
    path.write_text(json.dumps({"context": "Ann met Bo.", "qas": [asked]}) + "\n", encoding="utf-8")
    with raises("missing-key", DataError, file=path, line=1, key="answers"):
        read_span_data(path)


@pytest.mark.usefixtures("official")
def test_metadata_that_are_not_utf8_are_refused(said: Said, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes(b"category,question_index\n\xff\xfe,1\n")
    code, text = said("run", "bbq", "--data", "data", "--set", "metadata=m.csv", "--dry-run")
    assert code == 3
    assert "m.csv" in text


# --- run folders that somebody changed


@pytest.fixture
def run(kept_runs: Path, tmp_path: Path) -> Path:
    shutil.copytree(kept_runs / "two" / "scored-bbq", tmp_path / "two")
    return without_digests(shutil.copytree(kept_runs / "one" / "scored-bbq", tmp_path / "run"))


def changed(path: Path, key: str, value: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, key: value}), encoding="utf-8")


ON_RUNS = (
    ("report", "run", "--format", "md"),
    ("compare", "two", "run", "--json"),
    ("export", "run"),
)


@pytest.mark.parametrize("command", ON_RUNS, ids=" ".join)
@pytest.mark.parametrize("value", [[], {"a": 1}, 7, None, "x" * 300])
@pytest.mark.parametrize("key", ["model", "identity", "settings", "data", "timings", "stages", "notes"])
def test_a_tampered_run_json_is_read_or_refused(
    command: tuple[str, ...], key: str, value: Any, run: Path, said: Said
) -> None:
    changed(run / "run.json", key, value)
    code, text = said(*command)
    assert code in (0, 2, 3), text
    assert "Traceback" not in text


@pytest.mark.parametrize("name", ["findings.json", "run.json", "examples.jsonl", "tables/by_label.csv"])
@pytest.mark.parametrize("command", ON_RUNS, ids=" ".join)
def test_a_folder_in_place_of_a_file_is_named(name: str, command: tuple[str, ...], run: Path, said: Said) -> None:
    (run / name).unlink()
    (run / name).mkdir()
    code, text = said(*command)
    assert code in (0, 2, 3) if command[0] == "export" else code == 3, text
    assert command[0] == "export" or name in text


def test_tables_outside_the_run_folder_are_not_read(run: Path, said: Said, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    for place in ("../secret.csv", str(tmp_path / "secret.csv")):
        changed(run / "findings.json", "tables", {"answers": place})
        code, text = said("report", "run", "--format", "csv")
        assert code == 3
        assert "outside the folder" in text


# --- what reaches the terminal

ESCAPE = "\x1b]0;owned\x07\x1b[2J\u202e"


def test_errors_have_no_control_sequences() -> None:
    for error in (DataError(f"a {ESCAPE}", f"b {ESCAPE}", file=f"c{ESCAPE}"), UsageError(ESCAPE), ModelError(ESCAPE)):
        assert not {"\x1b", "\x07", "\u202e"} & set(f"{error}{error.problem}{error.remedy}")


@pytest.mark.parametrize("command", ["score", "report", "gate"])
def test_names_in_data_reach_no_terminal_as_control_sequences(command: str, run: Path, said: Said) -> None:
    if command == "score":
        Path("bbq.jsonl").write_text(rows(category=f"Age{ESCAPE}", label=ESCAPE), encoding="utf-8")
        code, text = said("score", "bbq", "bbq.jsonl", "--answers", f"prediction{ESCAPE}")
        assert code == 3
    else:
        changed(run / "findings.json", "model", f"m{ESCAPE}")
        changed(run / "run.json", "notes", [ESCAPE])
        Path("p.toml").write_text(f"[[limit]]\nmetric = {json.dumps(ESCAPE)}\nupper = 1\n", encoding="utf-8")
        code, text = said(*(("report", "run") if command == "report" else ("gate", "run", "--policy", "p.toml")))
    assert text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_what_is_printed_for_programs_stays_as_it_is(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    changed(run / "findings.json", "model", "m\u202e\x9b")
    assert main(["report", str(run), "--format", "json"]) == 0
    assert "m\u202e\x9b" in capfd.readouterr().out or "\\u202e" in capfd.readouterr().out


# --- what is written down


def test_a_run_finds_its_word_lists_from_another_folder(said: Said, tmp_path: Path) -> None:
    import small_lists

    small_lists.write(tmp_path / "lists")
    few = ("--set", "class=religion", "--set", "resamples=20", "--limit", "40")
    code, text = said("run", "unqover", "--model", "builtin", "--set", "word_lists=lists", *few, "--out", "run")
    assert code == 0, text
    (tmp_path / "elsewhere").mkdir()
    os.chdir(tmp_path / "elsewhere")
    code, text = said("score", "unqover", str(tmp_path / "run"), "--out", "again")
    assert code == 0, text


def test_findings_do_not_depend_on_where_a_model_lies(said: Said, span_model_folder: Path, tmp_path: Path) -> None:
    few = ("--set", "class=religion", "--set", "resamples=20", "--limit", "40")
    written = []
    for place in ("a", "some/where/else"):
        model = shutil.copytree(span_model_folder, tmp_path / place / "model")
        code, text = said("run", "unqover", "--model", f"hf:{model}", *few, "--out", f"{place}/run")
        assert code == 0, text
        written.append((tmp_path / place / "run" / "findings.json").read_bytes())
    assert written[0] == written[1]
    assert str(tmp_path).encode() not in written[0]


def test_reading_whole_files_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 11)
    assert read_whole(tmp_path / "a", 11) == b"x" * 11
    with pytest.raises(OSError, match="more than"):
        read_whole(tmp_path / "a", 10)
