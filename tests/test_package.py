"""What is published works where it is installed: the wheel, in a fresh environment, from another folder."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and the sdist, made by the build backend itself; nothing is downloaded."""
    place = tmp_path_factory.mktemp("dist")
    build(ROOT, place, "wheel", "sdist")
    return place


def build(source: Path, place: Path, *kinds: str) -> None:
    code = "import os, sys; from hatchling import build; os.chdir(sys.argv[1]);"
    code += "".join(f"build.build_{kind}(sys.argv[2]);" for kind in kinds)
    subprocess.run([sys.executable, "-c", code, str(source), str(place)], check=True, capture_output=True)


def wheel_names(place: Path) -> set[str]:
    (wheel,) = place.glob("assay_bias-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_and_sdist_have_what_they_need_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("assay_bias-*.whl")
    names = wheel_names(built)
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode == 0:
        own = {name.removeprefix("src/") for name in tracked.stdout.splitlines() if (ROOT / name).exists()}
        assert own <= names, "part of the package, but not of the wheel"
    assert {name.partition("/")[0] for name in names} == {"assay", wheel.name.partition("-py3")[0] + ".dist-info"}
    (sdist,) = built.glob("assay_bias-*.tar.gz")
    with tarfile.open(sdist) as source:
        inside = {name.partition("/")[2] for name in source.getnames()}
    assert {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "Dockerfile", ".dockerignore"} <= inside
    assert "tests/test_package.py" in inside


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


# --- how to install it, as documentation and messages say


def install_lines() -> Iterator[tuple[str, str]]:
    """Where it is said, and the rest of the command, of everything that installs or runs assay."""
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in documents()}
    for path in sorted((ROOT / "src" / "assay").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts[f"{path.relative_to(ROOT)}, line {node.lineno}"] = node.value
    from assay.errors import how_to_install

    texts |= {f"how_to_install({extra!r})": how_to_install(extra) for extra in ("api", "hf", "train")}
    for where, text in texts.items():
        for line in re.findall(r"(?:\bpip|pipx|uv tool) install ([^\n`]+)|\buvx --from ([^\n`]+)", text):
            yield where, "".join(line)


def documents() -> list[Path]:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "Dockerfile"]
    return sorted([*pages, *(ROOT / "src" / "assay" / "data").rglob("*.md")])


def problem_of(line: str) -> str | None:
    """What is wrong with the requirements of an install line; None where nothing is."""
    try:
        words = shlex.split(line.rstrip("\\"), comments=True)
    except ValueError:
        return None  # prose with an apostrophe
    for word in words:
        named = re.match(r"(?P<name>assay[\w-]*|\.)(?:\[(?P<extras>[\w,$]*)\])?(?: @ (?P<address>.*))?$", word)
        if named is None:
            continue
        if named["name"] == "assay" and words.index(word) == 0:
            return "the distribution is called assay-bias"
        unknown = {each for each in (named["extras"] or "").split(",") if each} - set(PROJECT["optional-dependencies"])
        if unknown:
            return f"there is no extra {', '.join(unknown)}"
        if named["address"] and not re.match(r"git\+(ADDRESS|\$ASSAY_REPOSITORY)$", named["address"]):
            return "the git address is not the placeholder that the others have"
    return None


def test_install_lines_name_the_distribution_and_extras_that_exist() -> None:
    lines = list(install_lines())
    assert {where for where, _ in lines} > {"README.md", "docs/install.md", "docs/gate.md", "how_to_install('hf')"}
    assert [(where, line, problem_of(line)) for where, line in lines if problem_of(line)] == []


@pytest.mark.parametrize(
    "line", ["assay", '"assay[hf]"', '"assay-bias[torch]"', '".[gpu]"', '"assay-bias @ git+https://x.org"']
)
def test_wrong_install_lines_are_noticed(line: str) -> None:
    assert problem_of(line)


# --- the image


def test_the_image_is_built_from_files_that_are_enough(built: Path, tmp_path: Path) -> None:
    """What the Dockerfile copies is let through by .dockerignore, and makes the same wheel as the checkout."""
    instructions = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8")).splitlines()
    copied = [word for line in instructions if re.match("COPY (?!--from)", line) for word in line.split()[1:-1]]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line.removeprefix("!") for line in ignored if line.startswith("!")} == set(copied)
    source = tmp_path / "source"
    source.mkdir()
    for name in copied:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    build(source, tmp_path, "wheel")
    assert wheel_names(tmp_path) == wheel_names(built)
    users = [line.split()[1] for line in instructions if line.startswith("USER")]
    assert users
    assert users[-1] != "root"
