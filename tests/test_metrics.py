"""The papers' formulas are public: `assay.metrics.NAME`."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

import assay
from assay import metrics
from assay.probes import probes
from assay.probes.bbq import metrics as of_bbq

DOCS = Path(__file__).parents[1] / "docs" / "python.md"


def test_every_probe_with_formulas_of_its_own_is_there_and_none_is_listed_by_name() -> None:
    assert dir(metrics) == ["bbq", "sodapop", "unqover"]
    assert assay.metrics.bbq is of_bbq
    source = Path(metrics.__file__).read_text(encoding="utf-8").partition("from __future__")[2]
    assert not [name for name in probes() if re.search(rf"\b{name}\b", source)]


@pytest.mark.parametrize("name", ["bbq_starter", "nothing", "__path__"])
def test_what_is_not_there_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(metrics, name)


def test_the_package_lists_its_public_names() -> None:
    assert dir(assay) == sorted([*assay.__all__, "__version__", "metrics"])
    for name in dir(assay):
        assert getattr(assay, name) is not None


@pytest.mark.parametrize("name", ["bbq", "sodapop", "unqover"])
def test_a_method_has_its_formulas_on_few_screens(name: str) -> None:
    assert len(Path(getattr(metrics, name).__file__).read_text(encoding="utf-8").splitlines()) <= 250


ROWS = """context,polarity,chosen,label,unknown,stereotyped
ambig,neg,0,2,2,0
ambig,nonneg,1,2,2,0
ambig,neg,2,2,2,0
ambig,nonneg,0,2,2,0
disambig,neg,0,0,2,0
disambig,neg,2,1,2,0
disambig,nonneg,1,1,2,0
disambig,nonneg,2,0,2,0
"""


def test_the_documented_example_computes_three_numbers_from_a_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By hand: s_AMB of 2 stereotyped and 1 counter-stereotyped answers, 1 of 4 right: 0.75 · 1/3. Where the text gives
    the answer, two answers name people, both as the stereotype has it; it declines in none of the facts that confirm
    the stereotype, and in both of those that contradict it.
    """
    (code,) = (
        block
        for block in re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
        if "assay.metrics" in block
    )
    assert len(code.splitlines()) <= 12
    (tmp_path / "answers.csv").write_text(ROWS, encoding="utf-8")
    assert len([*csv.DictReader(io.StringIO(ROWS))]) == 8
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "example", "exec"), {})
    assert [round(float(value), 6) for value in capsys.readouterr().out.split()] == [0.25, 1.0, -1.0]
