"""Executors by their names."""

from __future__ import annotations

import pytest

from assay.engine.executor import LocalExecutor
from assay.engine.executors import LOCAL, executors
from assay.engine.shared_folder import SharedFolderExecutor
from assay.errors import UsageError
from assay.runs.audit import new_executor
from raising import raises


def test_a_name_gives_the_executor() -> None:
    assert isinstance(new_executor(LOCAL), LocalExecutor)
    shared = new_executor("work:some/folder")
    assert isinstance(shared, SharedFolderExecutor)
    assert shared.folder.as_posix() == "some/folder"


@pytest.mark.parametrize("name", ["", "lokal", "local:", "local:x", "work", "work:", "ray:", "dask"])
def test_a_name_that_no_executor_has_is_refused_with_the_forms_that_there_are(name: str) -> None:
    with raises("bad-option", UsageError, key="executor") as caught:
        new_executor(name)
    assert "expected local, ray, ray:ADDRESS or work:DIR" in caught.value.problem


def test_a_misspelt_name_comes_with_a_suggestion() -> None:
    with raises("bad-option", UsageError, key="executor") as caught:
        new_executor("lcoal")
    assert 'did you mean "local"?' in caught.value.problem


@pytest.mark.parametrize(("option", "given"), [("workers", {"workers": 2}), ("gpus-per-worker", {"gpus": 1.0})])
@pytest.mark.parametrize("name", [LOCAL, "work:folder"])
def test_options_about_workers_are_refused_by_executors_that_start_none(
    name: str, option: str, given: dict[str, float]
) -> None:
    with raises("bad-option", UsageError, key=option):
        new_executor(name, **given)  # type: ignore[arg-type]  # one of the two


def test_assays_own_come_first() -> None:
    assert list(executors())[:3] == ["local", "ray", "work"]
