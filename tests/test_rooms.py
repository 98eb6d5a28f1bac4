"""The rooms of the package: who may import whom, and that nothing about a probe stands outside its folder."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from assay.probes import probes

SOURCE = Path(__file__).parents[1] / "src" / "assay"

LAYERS = (
    ("errors", "version"),
    ("stats", "files", "languages"),
    ("config", "answers"),
    ("asking",),
    ("models", "datasets"),
    ("results",),
    ("presentation", "engine"),
    ("probes",),
    ("report",),
    ("runs",),
    ("compare",),
    ("gate", "lab"),
    ("cli",),
)
"""The rooms, lowest first: each imports only rooms of lower layers. Two modules beside them are the lowest."""
LAYER_OF = {room: number for number, rooms in enumerate(LAYERS) for room in rooms}

WORDS = frozenset({"accuracy", "names", "subjects", "words", "groups", "answers", "classes"})
"""Ids of metrics and names of tables that are plain English, and stand for that elsewhere: the accuracy of a classifier
that debiasing trains, the answers of a model, the words of a list. A probe's name or another id is never among them."""


@cache
def trees() -> Mapping[str, ast.Module]:
    """Every module of the package, parsed."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(tree: ast.Module) -> Iterator[str]:
    """The modules of assay that a module imports: at its top, late in a function, or for its types alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.partition(".")[0] == "assay")
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "assay":
            for each in node.names:
                full = f"{node.module}.{each.name}"
                yield full if full in trees() else node.module


def room(module: str) -> str:
    """assay.stats.intervals is in the room stats; a module beside the rooms is one by itself."""
    return module.split(".")[1] if "." in module else ""


@cache
def between_rooms() -> Mapping[str, Mapping[str, str]]:
    """By room, the rooms that it imports, each with one such import. What the package itself exports is apart."""
    edges: dict[str, dict[str, str]] = {}
    for name, tree in trees().items():
        for other in imported(tree):
            if room(name) and room(other) and room(name) != room(other):
                edges.setdefault(room(name), {}).setdefault(room(other), f"{name} imports {other}")
    return edges


@pytest.mark.slow
def test_rooms_do_not_import_each_other_in_circles() -> None:
    edges, done = between_rooms(), set[str]()

    def visit(here: str, path: tuple[str, ...]) -> None:
        if here in path:
            circle = (*path[path.index(here) :], here)
            pytest.fail(" and ".join(edges[one][other] for one, other in pairwise(circle)))
        if here not in done:
            for other in edges.get(here, ()):
                visit(other, (*path, here))
            done.add(here)

    for name in edges:
        visit(name, ())


@pytest.mark.parametrize("who", sorted(LAYER_OF))
def test_a_room_imports_only_those_below_it(who: str) -> None:
    assert {other: why for other, why in between_rooms().get(who, {}).items() if LAYER_OF[other] >= LAYER_OF[who]} == {}


def test_every_room_has_a_layer() -> None:
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert rooms == LAYER_OF.keys() - {"errors", "version"}


def test_beside_the_rooms_is_only_what_imports_none() -> None:
    """But for what starts the program, and for the public names: those of the package, and the probes' formulas."""
    starting = {"__init__", "__main__", "metrics"}
    assert {path.stem for path in SOURCE.glob("*.py")} == {*starting, "errors", "version"}
    for name in ("assay.errors", "assay.version"):
        assert [*imported(trees()[name])] == []


def test_the_engine_knows_no_kind_of_model() -> None:
    own = {other for name, tree in trees().items() if room(name) == "engine" for other in imported(tree)}
    assert {other for other in own if other.startswith("assay.models")} <= {"assay.models.base"}


# --- a probe is a folder


def probe_words() -> dict[str, str]:
    """What only a probe's own folder may say: its name, its metrics' ids, its tables' names."""
    said: dict[str, str] = {}
    for probe in probes().values():
        said |= dict.fromkeys(probe.tables, f"a table of {probe.name}")
        said |= {metric.id: f"a metric of {probe.name}" for metric in probe.metrics}
        said[probe.name] = "a probe"
    return {word: what for word, what in said.items() if word not in WORDS}


def literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts in a module, but for docstrings and texts that stand alone like these."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.lineno, node.value


def test_nothing_about_a_probe_stands_outside_its_folder() -> None:
    known = probe_words()
    found = [
        f"{name}, line {line}: {text!r} is {known[text]}"
        for name, tree in trees().items()
        if room(name) != "probes"
        for line, text in literals(tree)
        if text in known
    ]
    assert found == []


def test_a_probe_says_nothing_about_another() -> None:
    """But for probes that are made from another: these import it."""
    own = {folder.name for folder in (SOURCE / "probes").iterdir() if (folder / "__init__.py").exists()}
    built_on = {("bbq_starter", "bbq"), ("sodapop_names", "sodapop")}
    for name, tree in trees().items():
        parts = name.split(".")
        if room(name) == "probes" and len(parts) > 2 and parts[2] in own:
            others = {
                other.split(".")[2]
                for other in imported(tree)
                if other.startswith("assay.probes.") and other.count(".") > 1
            }
            assert {(parts[2], other) for other in others & own - {parts[2]}} <= built_on, name


@pytest.mark.parametrize("shown", [probe for probe in probes() if probe in ("unqover", "sodapop")])
def test_a_page_loads_only_the_probe_that_it_shows(shown: str) -> None:
    """Descriptors of all probes are loaded, since they are listed; their methods are not."""
    code = f"""
import sys
from pathlib import Path
from assay.results.findings import Findings
from assay.report.html import render
from assay.results.run import Run, RunInfo
render([Run(Path("."), RunInfo(), Findings({shown!r}, "m", []))], Path("."))
parts = [name.split(".") for name in sys.modules if name.startswith("assay.probes.")]
described = ("settings", "editions", "edition_data_sets")  # what descriptors import
print(*{{part[2] for part in parts if len(part) > 3 and part[3] not in described}})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {shown}
