"""The page over several runs: each in short and whole, its files linked, and no name that could act on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from assay.errors import DataError
from assay.results.findings import Estimate, Findings, Table
from html_pages import HOSTILE, OF_A_TOUR, Page, assert_harmless, cards, write_page
from raising import raises

WriteRun = Callable[..., Path]


def other(model: str = "hf:org/model") -> Findings:
    return Findings("another", model, [Estimate("bias_score", {"category": "Age"}, -0.298, -0.35, -0.24, n=1840)])


@pytest.fixture
def tour(write_run: WriteRun, findings: Findings, run: Mapping[str, Any]) -> Path:
    """A folder with two runs."""
    folders = [
        write_run(found, {**run, "probe": found.probe}, name=f"tour/{found.probe}") for found in (findings, other())
    ]
    return folders[0].parent


def page_of(folder: Path) -> Page:
    return Page(write_page(folder).read_text(encoding="utf-8"))


def sections(page: Page) -> list[str]:
    """The probes of the page, by their headings."""
    return re.findall(r'<h2 id="p\d+-title">(.*?)</h2>', page.source)


def test_every_run_is_told_in_short_and_linked(tour: Path) -> None:
    page = page_of(tour)
    assert_harmless(page, OF_A_TOUR)
    tables = [f"unqover/tables/{name}.csv" for name in ("gamma", "subjects", "groups")]
    assert page.files[-5:] == [*tables, "unqover/findings.json", "another/findings.json"]
    assert {*page.files[:-5]} <= {*tables}  # the data of heat maps
    assert all((tour / link).is_file() for link in page.files)
    assert "hf:org/model 2020-11-16 · 12,616 questions · preset quick" in page.words
    first, second = cards(page)
    assert first.startswith("UnQover The model associates “nurse” more with female names than with male names")
    assert second.startswith("another It asked 6,308 questions and made 1 estimate from the answers")
    assert "was asked 6,308 questions about gender and religion" in page.words
    assert "associates “nurse” more with “female” names than with the others" in page.words
    assert "The probe another asked the model hf:org/model 6,308 questions and made 1 estimate" in page.words
    assert "A low score does not show that the model is free of bias" in page.words
    assert "Content warning" in page.words


def test_the_page_is_well_marked_up_and_needs_nothing_from_outside(tour: Path) -> None:
    page = page_of(tour)
    source = (tour / "report.html").read_text(encoding="utf-8")
    assert "http" not in source.replace("http-equiv", "")
    assert "url(" not in source
    assert len(page.all("h1")) == 1
    assert len(page.ids) == len(set(page.ids))
    referred = {attributes["aria-labelledby"] for _, attributes in page.elements if "aria-labelledby" in attributes}
    assert referred
    assert referred <= set(page.ids)


def test_two_probes_with_pages_of_their_own_stand_side_by_side(
    write_run: WriteRun, findings: Findings, bbq: Findings, run: Mapping[str, Any]
) -> None:
    for found in (findings, replace(bbq, probe="bbq-starter"), bbq):
        folder = write_run(found, {**run, "probe": found.probe}, name=f"both/{found.probe}")
    page = page_of(folder.parent)
    assert_harmless(page, OF_A_TOUR)
    assert sections(page) == ["UnQover", "BBQ", "bbq-starter"]
    assert list(dict.fromkeys(link.split("/")[0] for link in page.files)) == ["unqover", "bbq", "bbq-starter"]
    assert page.words.count("This is assay’s own starter set, not a BBQ result.") == 1
    assert "associates “nurse” more with “female” names" in page.words
    assert len(page.ids) == len(set(page.ids))


def test_three_probes_make_one_tour(
    write_run: WriteRun, findings: Findings, bbq: Findings, sodapop: Findings, run: Mapping[str, Any]
) -> None:
    for found in (findings, replace(bbq, probe="bbq-starter"), sodapop):
        write_run(found, {**run, "probe": found.probe}, name=f"all/{found.probe}")
    page = page_of(write_run(other(), name="all/another").parent)
    assert_harmless(page, OF_A_TOUR)
    assert sections(page) == ["UnQover", "bbq-starter", "SODAPOP", "another"]
    assert "associates “nurse” more with “female” names" in page.words
    assert "The bias score is statistically clear in 2 of 3 categories" in page.words
    assert "Wrong answers with “harsh” were chosen 10.6% of the time for European American female names" in page.words
    assert len(page.ids) == len(set(page.ids))


def test_runs_of_several_models_stand_under_their_probe_side_by_side(
    write_run: WriteRun, findings: Findings, run: Mapping[str, Any]
) -> None:
    for model in ("hf:org/model", "hf:org/other"):
        for found in (findings, other()):
            told = {**run, "model": {"name": model}, "probe": found.probe}
            folder = write_run(replace(found, model=model), told, name=f"two/{model[7:]}/{found.probe}")
    page = page_of(folder.parent.parent)
    assert_harmless(page, OF_A_TOUR)
    assert sections(page) == ["UnQover", "another"]
    assert "assay · bias report hf:org/model and hf:org/other" in page.words
    assert [card.split(" ")[:3] for card in cards(page)] == [
        [probe, "·", f"hf:org/{name}"] for probe in ("UnQover", "another") for name in ("model", "other")
    ]
    assert "A low score does not show that these models are free of bias" in page.words
    assert page.words.count("Models side by side") == 2
    assert [run["data-name"] for run in page.all("section") if run.get("class") == "run"] == [
        f"hf:org/{name} ({probe})" for probe in ("unqover", "another") for name in ("model", "other")
    ]
    assert len(page.ids) == len(set(page.ids))
    assert "model/unqover/tables/gamma.csv" in page.files
    assert all((folder.parent.parent / link).is_file() for link in page.files)


def test_only_the_built_in_model_is_called_a_demonstration(write_run: WriteRun) -> None:
    told = {}
    for model in ("builtin", "hf:org/builtin"):
        name = model.replace("/", "-")
        told[model] = page_of(write_run(other(model), name=f"{name}/another").parent).words
    assert "demonstration: a small teaching model; do not base decisions on its answers" in told["builtin"]
    assert "demonstration" not in told["hf:org/builtin"]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("probe", ["unqover", "bbq", "bbq-starter", "sodapop", "another"])
def test_hostile_names_of_models_are_only_text(write_run: WriteRun, findings: Findings, probe: str, text: str) -> None:
    folder = write_run(Findings(probe, text, findings.estimates, findings.tables), name=f"tour/{probe}")
    page = page_of(folder.parent)
    assert_harmless(page, OF_A_TOUR)
    assert page.text.count(text) >= 3  # title, heading, lead


def test_hostile_names_of_folders_and_probes_are_only_text(write_run: WriteRun) -> None:
    names = [text.replace("/", "\\") for text in HOSTILE if len(text) < 100]
    for name in names:
        write_run(Findings(name, "m", [], {"plain": Table(["a"], [["b"]])}), name=f"tour/{name}")
    tour = write_run(other(), name="tour/another").parent
    page = page_of(tour)
    assert_harmless(page, OF_A_TOUR)
    assert {unquote(link).split("/")[0] for link in page.files} == {*names, "another"}
    assert all((tour / unquote(link)).is_file() for link in page.files)
    assert all(name in page.text for name in names)


def test_the_page_is_the_same_bytes_each_time_and_leaves_nothing_beside_it(tour: Path) -> None:
    first = write_page(tour).read_bytes()
    assert write_page(tour).read_bytes() == first
    assert sorted(path.name for path in tour.iterdir()) == ["another", "report.html", "unqover"]


def test_folders_without_findings_are_no_part_of_a_tour(tour: Path) -> None:
    (tour / "notes").mkdir()
    (tour / "notes" / "run.json").write_text("{}")
    assert sections(page_of(tour)) == ["UnQover", "another"]


def test_a_broken_run_in_a_tour_names_its_file(tour: Path) -> None:
    before = write_page(tour).read_bytes()
    (tour / "unqover" / "findings.json").write_text("{", encoding="utf-8")
    with raises("bad-findings", DataError, file=tour / "unqover" / "findings.json"):
        write_page(tour)
    assert (tour / "report.html").read_bytes() == before
