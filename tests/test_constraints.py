"""What `make venv` and the image install: pinned versions, and only files whose hashes constraints.txt has."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
UNBOUNDED = {"rich", "protobuf"}  # pyproject.toml says why


def pinned() -> Iterator[tuple[Requirement, list[str]]]:
    """The requirements of constraints.txt, and the options of each."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            named, *options = line.split(" --")
            yield Requirement(named), [option.strip() for option in options]


def asked(*lists: list[str]) -> list[Requirement]:
    """Requirements on other packages."""
    every = [Requirement(line) for requirements in lists for line in requirements]
    return [requirement for requirement in every if requirement.name != PROJECT["project"]["name"]]


def test_every_pin_is_one_version_and_has_the_hashes_of_its_files() -> None:
    for requirement, options in pinned():
        assert re.fullmatch(r"==[\w.+]+", str(requirement.specifier)), requirement
        assert options, f"{requirement} has no hash"
        assert [option for option in options if not re.fullmatch("hash=sha256:[0-9a-f]{64}", option)] == []


def test_every_dependency_is_pinned_to_a_version_that_pyproject_allows() -> None:
    """If this fails: make lock."""
    versions: dict[str, set[str]] = {}
    for requirement, _ in pinned():
        versions.setdefault(requirement.name, set()).add(str(requirement.specifier).removeprefix("=="))
    groups = [PROJECT["project"]["dependencies"], *EXTRAS.values(), PROJECT["build-system"]["requires"]]
    for wanted in asked(*groups, *PROJECT["dependency-groups"].values()):
        found = versions.get(canonicalize_name(wanted.name), set())
        assert found, f"{wanted.name} is not in constraints.txt"
        assert [version for version in found if not wanted.specifier.contains(version)] == [], wanted


def test_what_users_install_is_bounded_on_both_sides() -> None:
    users = [requirements for extra, requirements in EXTRAS.items() if extra != "dev"]
    for requirement in asked(PROJECT["project"]["dependencies"], *users):
        signs = {each.operator for each in requirement.specifier}
        assert signs == ({">="} if requirement.name in UNBOUNDED else {">=", "<"}), requirement


# --- what the Makefile and the Dockerfile install


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def installing(text: str) -> list[str]:
    """Commands of a shell script that install something."""
    commands = re.split(r"&&|\|\||;|\n", text.replace("\\\n", " "))
    return [command.strip() for command in commands if re.search(r"\bpip\b.* (install|\$hashed)\b", command)]


def unchecked(command: str) -> bool:
    return "--require-hashes" not in command and "$hashed" not in command


def test_only_assay_itself_and_a_torch_of_ones_own_are_installed_without_hashes(tmp_path: Path) -> None:
    places = (f"VENV={tmp_path / 'v'}", f"TOOLS={tmp_path / 't'}")
    shown = make("--dry-run", "--always-make", "venv", "lock", "audit", *places)
    commands = installing(shown.stdout)
    assert len(commands) > 6, shown.stderr
    itself, torch = [command for command in commands if unchecked(command)]
    assert itself.endswith("--no-deps --no-build-isolation --editable .")
    before, _, name = torch.partition(" --no-index --no-deps ")
    assert before.endswith("--disable-pip-version-check")
    said = subprocess.run(["sh", "-c", f"echo {name}"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.strip() == next(str(each) for each, _ in pinned() if each.name == "torch")


def test_the_image_installs_nothing_else_without_hashes() -> None:
    commands = installing((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    itself, torch = [command for command in commands if unchecked(command)]
    assert itself.endswith("pip install --no-deps /wheels/*.whl")
    assert '--no-deps --index-url "$TORCH_INDEX" "$(sed ' in torch
    assert len(commands) == 6


@pytest.mark.parametrize(
    ("says", "code", "expected"),
    [
        ("No known vulnerabilities found", 0, "No known vulnerabilities found"),
        ("Found 2 known vulnerabilities in 1 package", 1, "Found 2 known vulnerabilities in 1 package"),
        ("ERROR:pip_audit._cli:rich: could not be audited", 1, "The audit could not be made"),
        ("requests.exceptions.ConnectionError: …", 1, "The audit could not be made"),
    ],
)
def test_an_audit_that_could_not_be_made_is_not_taken_for_a_good_one(
    says: str, code: int, expected: str, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "pip-audit"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {code}\n", encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / ".ready").touch()
    done = make("audit", f"TOOLS={tmp_path}")
    assert expected in done.stderr
    assert ("could not be made" in done.stderr) == ("could not" in expected)
    assert (done.returncode == 0) == (code == 0)
