"""Starting assay stays cheap: heavy packages are imported by what uses them, not by `import assay` or the command line.

The tests look at what is imported, not at the clock, so that they say the same on every machine.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"numpy", "torch", "transformers", "tokenizers", "rich", "jinja2", "scipy", "sklearn", "polars", "pandas"}

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


def imported_by(code: str) -> set[str]:
    """The top-level packages in a fresh interpreter after it ran the code."""
    report = (
        "import json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [IMPORT, PUBLIC_NAMES, COMMAND_LINE, HELP],
    ids=["import assay", "public names", "import assay.cli", "assay --help"],
)
def test_starting_up_imports_nothing_heavy(code: str) -> None:
    assert imported_by(code) & HEAVY == set()


def test_heavy_imports_would_be_noticed() -> None:
    assert "numpy" in imported_by("import numpy")
