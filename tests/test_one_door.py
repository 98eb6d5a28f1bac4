"""What reads a file or decodes a text goes through `assay.files.opening` and `decoding`, or has a reason here."""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.files.decoding import json_typed, python_value, written_value
from assay.files.opening import is_zip

SOURCE = Path(__file__).parents[1] / "src" / "assay"
DOOR = {"files/opening.py", "files/decoding.py"}

DECODERS = {
    "json",
    "tomllib",
    "ast",
    "zipfile",
    "tarfile",
    "gzip",
    "lzma",
    "bz2",
    "pickle",
    "yaml",
    "msgspec.json",
    "np",
}
DECODE = {"load", "loads", "decode", "JSONDecoder", "literal_eval", "parse", "ZipFile", "is_zipfile", "fromfile"}
READ = {"open", "read_text", "read_bytes"}
DIGITS = {"isdecimal", "isdigit", "isnumeric"}  # what has them may be too long for `int`: `whole_number` knows

OWN, PACKAGED = "written by this program a moment ago", "a file of the package"
ALLOWED = {
    "cli/run.py: json.loads": (1, OWN),
    "cli/common.py: open": (1, "the null device, to write"),
    "asking/messages.py: json.loads": (1, OWN),
    "engine/journal.py: open": (1, "creates a journal"),
    "engine/store.py: np.load": (1, "what the door opened; whatever it raises is one error"),
    "engine/store.py: open": (1, "writes a block"),
    "engine/store.py: zipfile.ZipFile": (2, "writes a block, and adds up the sizes in one that the door opened"),
    "engine/shared_folder_worker.py: open": (1, "creates a claim"),
    "files/atomic.py: open": (2, "writes"),
    "datasets/download.py: open": (2, "the network, which has limits of its own; and a part, to write"),
    "files/lock.py: open": (3, "locks, which are never read"),
    "datasets/catalogue.py: read_text": (1, PACKAGED),
    "gate/policy.py: read_bytes": (1, PACKAGED),
    "lab/training/training_kind.py: read_text": (1, PACKAGED),
    "lab/training/training_kind.py: tomllib.loads": (1, PACKAGED),
    "lab/training/training_folder.py: json.loads": (1, OWN),
    "models/builtin.py: json.loads": (2, PACKAGED),
    "models/builtin.py: read_text": (3, PACKAGED),
    "models/chat_templates.py: json.loads": (1, "what chat_template_worker.py wrote, whose size is limited"),
    "models/hf.py: open": (1, "the null device, to write"),
    "models/chat_template_worker.py: json.loads": (1, "what chat_templates.py wrote"),
    "models/chat_template_worker.py: open": (1, "the null device, to write"),
    "models/chat_template_worker.py: read_text": (1, "the system's"),
    "probes/bbq/defects.py: read_text": (1, PACKAGED),
    "probes/bbq/logs/inspect_ai.py: open": (1, "a member of an archive that the door opened, with a limit"),
    "probes/bbq/logs/inspect_ai.py: zipfile.ZipFile": (2, "a type"),
    "probes/bbq/prompt_sources.py: ast.parse": (1, "what the door read, with a limit; its errors are caught"),
    "probes/sodapop/contexts.py: read_text": (2, PACKAGED),
    "probes/sodapop/contexts.py: tomllib.loads": (2, PACKAGED),
    "probes/sodapop/names.py: read_text": (1, PACKAGED),
    "probes/sodapop/split_words.py: read_text": (1, PACKAGED),
    "report/formats.py: json.loads": (1, OWN),
    "report/markdown.py: isdigit": (1, "makes no number"),
    "report/page_templates.py: read_text": (1, PACKAGED),
    "runs/export.py: open": (1, "writes an archive"),
    "runs/export.py: read_bytes": (3, "copies regular files, whatever is in them"),
    "runs/export.py: zipfile.ZipFile": (1, "writes an archive"),
}
"""By file and name, how often it is used beside the door, and why."""


def used(tree: ast.Module) -> Iterator[str]:
    """What in a module opens files or decodes texts: uses of decoders, imports of their parts, calls that read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in DECODERS:
            yield from (f"{node.module}.{each.name}" for each in node.names if each.name in DECODE | READ)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in DECODERS:
            if node.attr in DECODE | READ:
                yield ast.unparse(node)
        elif isinstance(node, ast.Attribute) and node.attr in DIGITS:
            yield node.attr
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in READ and ast.unparse(node.func).rpartition(".")[0] not in DECODERS:
                yield name


@pytest.mark.slow
def test_everything_is_read_through_the_one_door() -> None:
    found: Counter[str] = Counter()
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name not in DOOR:
            found.update(f"{name}: {each}" for each in used(ast.parse(path.read_text(encoding="utf-8"))))
    assert dict(found) == {name: count for name, (count, _) in ALLOWED.items()}


@pytest.mark.parametrize(
    "line",
    [
        "import json; f = json.loads",
        "from json import loads",
        "x = [read(t) for read in (ast.literal_eval,)]",
        "open(p)",
        "p.read_text()",
        "Path(p).open('rb').read()",
        "msgspec.json.decode(b)",
        "gzip.open(p)",
        "int(text) if text.isdecimal() else None",
    ],
)
def test_a_reader_beside_the_door_is_seen(line: str) -> None:
    assert len([*used(ast.parse(line))]) == 1


# --- what the door itself does with texts that Python wrote

NOT_PYTHON = {
    "a number of 5,001 digits": "9" * 5001,
    "a number of 5,000 hexadecimal digits": "[0x" + "f" * 5000 + "]",
    "a number beyond floats": "(1e400,)",
    "half a surrogate pair": "{'a': '\\ud800'}",
    "half a surrogate pair as a key": "{'\\U0000dfff': 1}",
    "deep lists": "[" * 10_000 + "]" * 10_000,
    "many signs": "-" * 50_000 + "1",
    "a long text": "'" + "a" * 100_001 + "'",
    "a call": "print(1)",
    "a list as a key": "{[]: 1}",
    "a null": "'\0'",
}


@pytest.mark.parametrize("text", NOT_PYTHON.values(), ids=NOT_PYTHON)
def test_texts_that_no_reader_could_use_are_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - every reason has its own words
        python_value(text)
    assert written_value(text) is None


def test_backslashes_are_not_warned_about(recwarn: pytest.WarningsRecorder) -> None:
    assert python_value(r"'\d'") == r"\d"
    assert not recwarn.list


def test_json_of_a_wrong_type_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="Expected `int`"):
        json_typed('["a"]', list[int])
    with pytest.raises(ValueError, match="nested"):
        json_typed("[" * 200 + "]" * 200, list)


def test_a_pipe_is_no_archive(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.zip")
    assert not is_zip(tmp_path / "a.zip")
