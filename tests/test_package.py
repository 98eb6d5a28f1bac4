"""What is published works where it is installed: the wheel, in a fresh environment, from another folder."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and the sdist, made by the build backend itself; nothing is downloaded."""
    place = tmp_path_factory.mktemp("dist")
    code = (
        "import os, sys; from hatchling import build; os.chdir(sys.argv[1]);"
        "build.build_wheel(sys.argv[2]); build.build_sdist(sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", code, str(ROOT), str(place)], check=True, capture_output=True)
    return place


def test_wheel_and_sdist_have_what_they_need_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("assay_bias-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode == 0:
        own = {name.removeprefix("src/") for name in tracked.stdout.splitlines() if (ROOT / name).exists()}
        assert own <= set(names), "part of the package, but not of the wheel"
    assert {name.partition("/")[0] for name in names} == {"assay", wheel.name.partition("-py3")[0] + ".dist-info"}
    (sdist,) = built.glob("assay_bias-*.tar.gz")
    with tarfile.open(sdist) as source:
        inside = {name.partition("/")[2] for name in source.getnames()}
    assert {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "tests/test_package.py"} <= inside


def test_a_tiny_audit_runs_from_the_installed_wheel(built: Path, tmp_path: Path) -> None:
    """In an environment of its own, which borrows only the libraries that the tests have: the network is not needed."""
    place = tmp_path / "environment"
    venv.create(place, with_pip=False, symlinks=True)
    python = next(path for path in place.glob("*/python*") if path.is_file())
    (packages,) = place.glob("**/site-packages")
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    quietly = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--target", str(packages)]
    subprocess.run([sys.executable, "-m", "pip", "install", *quietly, *map(str, built.glob("*.whl"))], check=True)
    (packages / "zz_borrowed.pth").write_text("\n".join(borrowed) + "\n", encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {"PATH": "", "HOME": str(tmp_path), "ASSAY_CACHE": str(tmp_path / "cache"), "PYTHONSAFEPATH": "1"}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [str(python), *arguments], cwd=elsewhere, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = Path(run("-c", "import assay; print(assay.__file__)").strip())
    assert where.is_relative_to(packages), "the checkout was imported in place of the wheel"
    run("-m", "assay", "run", "unqover", "--limit", "40", "--out", "run")
    found = json.loads((elsewhere / "run" / "findings.json").read_text(encoding="utf-8"))
    assert found["probe"] == "unqover"
    assert (elsewhere / "run" / "report.html").exists()
    assert "assay-bias" in run("-c", "from importlib import metadata; print(metadata.metadata('assay-bias')['Name'])")
