"""Errors have codes: each one that is raised, out of one catalogue, all of which is used; and they keep them."""

from __future__ import annotations

import ast
import pickle
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import assay
from assay.config.toml_file import WrongValueError
from assay.errors import CODES, AssayError, DataError, ModelError, UsageError

SOURCE = Path(assay.__file__).parent
KINDS = ("AssayError", "UsageError", "DataError", "ModelError")


@cache
def modules() -> dict[str, ast.Module]:
    """All of assay but the catalogue itself."""
    files = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "errors.py"]
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in files}


def called(call: ast.Call) -> str:
    """The last name of what is called."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def code_arguments(tree: ast.Module) -> Iterator[ast.expr]:
    """Whatever is given as a code: by keyword, by place to a function of the module, as a default or by a variable."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    places: dict[str, int] = {}
    for function in functions:
        arguments = function.args
        names = [ast.unparse(each) for each in arguments.args if each.arg != "self"]
        if "code: str" in names:  # not a process's exit code
            places[function.name] = names.index("code: str")
        defaults = [
            *zip(arguments.args[::-1], arguments.defaults[::-1], strict=False),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        yield from (default for each, default in defaults if each.arg == "code" and default is not None)
        if any(is_code(keyword.value) for keyword in ast.walk(function) if isinstance(keyword, ast.keyword)):
            assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
            yield from (node.value for node in assigned if any(map(is_code, node.targets)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "code")
            yield from node.args[places[called(node)] :][:1] if called(node) in places else ()


def is_code(node: ast.expr) -> bool:
    """Whether it is a variable of this name."""
    return isinstance(node, ast.Name) and node.id == "code"


def literals(given: ast.expr) -> Iterator[str]:
    """The codes that an expression can give; none where it passes one on that was given elsewhere."""
    if isinstance(given, ast.IfExp):
        yield from literals(given.body)
        yield from literals(given.orelse)
    elif isinstance(given, ast.Constant) and isinstance(given.value, str):
        yield given.value
    elif (
        not ast.unparse(given).startswith("ReasonCode.") and ast.unparse(given) != "None"
    ):  # these are the gate's reasons
        passed_on = is_code(given) or (isinstance(given, ast.Attribute) and given.attr == "code")
        assert passed_on, f"line {given.lineno}: write a code as it is, so that it can be found"


@pytest.mark.slow
def test_every_code_is_in_the_catalogue_and_all_of_the_catalogue_is_used() -> None:
    used = {
        (name, code) for name, tree in modules().items() for given in code_arguments(tree) for code in literals(given)
    }
    assert {(name, code) for name, code in used if code not in CODES} == set()
    assert set(CODES) - {code for _, code in used} == set()


@pytest.mark.slow
def test_every_error_has_a_code() -> None:
    without = [
        f"{name}:{node.lineno}"
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node) in KINDS
        if not any(keyword.arg == "code" for keyword in node.keywords)
    ]
    assert without == []


def test_codes_are_looked_for_wherever_they_can_be_written() -> None:
    text = """
    def bad(self, problem, code: str = "a", *, line): raise DataError(problem, code=code)
    def worse(problem, *, code="b"): raise DataError(problem, code=error.code)
    def worst(): code = "c" if missing else "d"; raise DataError("…", code=code)
    def ended(): code = "no code of an error"
    def lost(code: int): raise ModelError(str(code), code=error.code)
    bad("…", "e", line=3)
    lost(process.exitcode)
    raise ModelError("…", code="f")
    """
    tree = ast.parse(textwrap.dedent(text))
    assert sorted(code for given in code_arguments(tree) for code in literals(given)) == list("abcdef")
    with pytest.raises(AssertionError):
        list(literals(ast.parse('NAMES["a"]', mode="eval").body))


@pytest.mark.parametrize("kind", [AssayError, UsageError, DataError, ModelError])
@pytest.mark.parametrize("line", [None, 3])
def test_an_error_comes_out_of_another_process_as_it_went_in(kind: type[AssayError], line: int | None) -> None:
    before = kind("not so.", "Do this.", code="bad-value", file="a.csv", line=line, key="age")
    after = pickle.loads(pickle.dumps(before))
    assert type(after) is kind
    assert (after.code, after.file, after.line, after.key) == ("bad-value", Path("a.csv"), line, "age")
    assert (str(after), after.problem, after.remedy) == (str(before), before.problem, "Do this.")


def test_an_error_that_is_made_from_something_else_does_too() -> None:
    after = pickle.loads(pickle.dumps(WrongValueError("not so.", "Do this.", "upper", code="bad-policy")))
    assert (type(after), after.code, after.key, str(after)) == (
        WrongValueError,
        "bad-policy",
        "upper",
        "not so.\nDo this.",
    )


@pytest.mark.parametrize("value", ["9" * 5001, "9 " * 5000])
def test_a_long_value_does_not_hide_what_is_said_about_it(value: str) -> None:
    said = DataError(f'"resamples" is {value}, expected a whole number.', "Fix it.", file="a.json").problem
    assert said.startswith('a.json: "resamples" is 9')
    assert said.endswith("9, expected a whole number.") or said.endswith("9 , expected a whole number.")
    assert len(said) < 3100
