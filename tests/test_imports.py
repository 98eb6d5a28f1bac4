"""Starting assay stays cheap: heavy packages are imported by what uses them, not by `import assay` or the command line.

The tests look at what is imported, not at the clock, so that they say the same on every machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import small_lists

pytestmark = pytest.mark.slow

TORCH = {"torch", "transformers", "safetensors", "huggingface_hub"}
MODELS = TORCH | {"onnxruntime", "tokenizers", "httpx2", "httpcore2", "ray"}
HEAVY = MODELS | {"numpy", "rich", "jinja2", "scipy", "sklearn", "polars", "pandas"}

IMPORT = "import assay"
PUBLIC_NAMES = "import assay; assay.__all__, assay.__version__, dir(assay)"
COMMAND_LINE = "import assay.cli"
HELP = """
import assay.cli
try:
    assay.cli.main(["--help"])
except SystemExit as finished:
    assert not finished.code
"""


def imported_by(code: str, *arguments: object) -> set[str]:
    """The top-level packages in a fresh interpreter after it ran the code, which finds the arguments in sys.argv."""
    report = (
        "import json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})), file=sys.stderr)"
    )
    command = [sys.executable, "-c", f"{code}\n{report}", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def imported_by_command(*arguments: object) -> set[str]:
    """Those after a command of assay that must succeed."""
    return imported_by("import sys, assay.cli\nassert assay.cli.main(sys.argv[1:]) == 0", *arguments)


@pytest.mark.parametrize(
    "code",
    [IMPORT, PUBLIC_NAMES, COMMAND_LINE, HELP],
    ids=["import assay", "public names", "import assay.cli", "assay --help"],
)
def test_starting_up_imports_nothing_heavy(code: str) -> None:
    assert imported_by(code) & HEAVY == set()


@pytest.mark.parametrize("arguments", [["list"], ["list", "models"], ["run", "--help"]], ids=" ".join)
def test_what_needs_no_model_imports_no_library_of_models(arguments: list[str]) -> None:
    if arguments[-1] == "--help":
        code = HELP.replace('["--help"]', repr(arguments))
        assert imported_by(code) & HEAVY == set()
    else:
        assert imported_by_command(*arguments) & MODELS == set()


def test_scoring_imports_no_library_of_models(tmp_path: Path) -> None:
    """Neither somebody else's predictions, which are given here, nor a run's stored answers (below) need a model."""
    lists, questions = small_lists.write(tmp_path / "lists"), tmp_path / "questions.json"
    options = ("--set", "class=religion", "--set", f"word_lists={lists}")
    assert imported_by_command("generate", "unqover", *options, "--out", questions) & MODELS == set()
    entries = json.loads(questions.read_text())
    for entry in entries.values():
        for question in ("q0", "q1"):
            entry[question]["pred"] = entry[question]["ans0"]["text"]
            for answer in ("ans0", "ans1"):
                entry[question][answer] |= {"start": 0.25, "end": 0.25}
    questions.write_text(json.dumps(entries))
    few = ("--set", "draws=20", "--set", "resamples=20")
    assert imported_by_command("score", "unqover", questions, *few, "--out", tmp_path / "scored") & MODELS == set()


def test_the_built_in_model_needs_no_torch_and_its_stored_answers_no_model(tmp_path: Path) -> None:
    options = ("--limit", 32, "--threads", 1, "--set", "draws=20", "--set", "resamples=20", "--out", tmp_path / "run")
    used = imported_by_command("run", "unqover", "--model", "builtin", *options)
    assert "onnxruntime" in used
    assert used & TORCH == set()
    assert imported_by_command("score", "unqover", tmp_path / "run", "--out", tmp_path / "again") & MODELS == set()
    assert imported_by_command("report", tmp_path / "run") & MODELS == set()


def test_heavy_imports_would_be_noticed() -> None:
    assert "numpy" in imported_by("import numpy")
    asks = "model.forward(model.encode(FillColumns(StringColumn.of(['']), StringColumn.of([f'{MASK} sang.']))))"
    loads = "import assay; from assay.asking.queries import *; model = assay.load_model('builtin', threads=1)"
    assert "onnxruntime" in imported_by(f"{loads}; {asks}")


@pytest.mark.parametrize(
    "before",
    [
        "",
        "import assay.cli, assay.compare.comparison, assay.gate.check, assay.runs.audit, assay.runs.score",
        "assay.open_run",
    ],
)
def test_public_names_are_functions_however_often_and_in_whatever_order_they_are_used(before: str) -> None:
    """Some have the name of the module that they are in; importing that must not hide them."""
    names = "[type(getattr(assay, name)).__name__ for name in (*assay.__all__, *reversed(assay.__all__))]"
    imported_by(f"import assay\n{before}\nfound = {names}\nassert set(found) == {{'function'}}, found")
