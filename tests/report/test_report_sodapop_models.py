"""SODAPOP's maps, several models on one page, examples behind numbers, and the page of sodapop-names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from assay.results.examples import FILE, AskedQuestion, Example, Option, to_lines
from assay.results.findings import Estimate, Findings, Table
from html_pages import HOSTILE, OF_A_TOUR, Page, assert_harmless, write_page

WriteRun = Callable[..., Path]


def page_of(folder: Path) -> Page:
    return Page(write_page(folder).read_text(encoding="utf-8"))


def maps(page: Page) -> list[dict[str, Any]]:
    """The data of the heat maps."""
    found = (json.loads(text) for attributes, text in page.scripts if attributes)
    return [each for each in found if isinstance(each, dict) and "values" in each]


def cells(heat: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    return {
        (row, column): value
        for row, values in zip(heat["rows"], heat["values"], strict=True)
        for column, value in zip(heat["columns"], values, strict=True)
        if value is not None
    }


# --- maps


def test_many_pairs_have_a_map_of_groups_by_groups_that_reads_the_same_both_ways(
    write_run: WriteRun, sodapop: Findings
) -> None:
    estimates = [
        Estimate("kmeans_accuracy", {"a": a, "b": b}, 0.6 + place / 20, n=12, p=0.5, q=0.6, floor=0.58)
        for place, (a, b) in enumerate(combinations("ABCD", 2))
    ]
    page = page_of(write_run(replace(sodapop, estimates=estimates)))
    (heat,) = maps(page)
    found = cells(heat)
    assert found["A", "B"] == found["B", "A"] == pytest.approx(0.02)
    assert found["C", "D"] == found["D", "C"] == pytest.approx(0.27)
    assert len(found) == 12  # nobody with themselves
    assert set(heat["beside"]) == {"accuracy", "chance", "p", "q", "n"}
    assert "Groups told apart, group by group" in page.words
    few = page_of(write_run(replace(sodapop, estimates=estimates[:5]), name="few"))
    assert not maps(few)
    assert "group by group" not in few.words


# --- several models


@pytest.fixture
def two(write_run: WriteRun, sodapop: Findings, tmp_path: Path) -> Path:
    """Two models; the second names a pair's groups in the other order, and knows a word that the first does not."""
    columns = sodapop.tables["words"].columns
    rows = [
        ("EA_male", "EA_female", "kind", 0.3, 0.2, 0.1, 0.25, 0.4, 0.1, 0.7, 0.2, 0.5, 96, 0.1, None),
        ("EA_male", "EA_female", "calm", 0.3, 0.2, 0.1, 0.25, 0.5, 0.1, 0.9, 0.001, 0.01, 96, 0.0, None),
        ("EA_male", "EA_female", "dull", 0.3, 0.2, 0.1, 0.25, 0.1, None, None, 0.9, 0.9, 96, 0.0, None),
    ]
    other = replace(
        sodapop,
        model="other",
        estimates=[
            Estimate("kmeans_accuracy", {"a": f"{race}_male", "b": f"{race}_female"}, 0.9, n=12, p=0.01, floor=0.6)
            for race in ("EA", "AS")
        ],
        tables={**sodapop.tables, "words": Table(columns, rows)},
    )
    write_run(sodapop, name="study/one")
    write_run(other, name="study/two")
    return tmp_path / "study"


def test_several_models_are_compared_by_pair_and_by_word(two: Path) -> None:
    page = page_of(two)
    assert_harmless(page, OF_A_TOUR)
    words = maps(page)
    separation = next(link for link in page.links if "group_a,group_b,model,accuracy" in link).split("%0A")[1:-1]
    rows = [row.split(",")[:4] for row in separation]
    assert ["EA_female", "EA_male", "hf:org/model", "0.75"] in rows
    assert ["EA_female", "EA_male", "other", "0.9"] in rows
    assert not [row for row in rows if row[1] == "AA_female" and row[2] == "other"]
    assert "European American female and male names 0.750 0.900" in page.words
    first = cells(words[0])
    assert first["kind", "hf:org/model"] == -0.857
    assert first["kind", "other"] == -0.4, "turned round: it named the groups in the other order"
    assert first["calm", "other"] == -0.5
    assert ("calm", "hf:org/model") not in first
    assert {word for word, _ in first} == {"kind", "harsh", "calm"}, "clear in at least one model"
    assert "Words by model: European American female and male names" in page.words
    assert "Words by model: European American and African American female names" not in page.words


def test_ids_stay_unique_with_several_runs(two: Path) -> None:
    page = page_of(two)
    assert len(page.ids) == len(set(page.ids))
    referred = {attributes["aria-labelledby"] for _, attributes in page.elements if "aria-labelledby" in attributes}
    assert referred <= set(page.ids)
    legends = {each["data-legend"] for each in page.all("ul") if "data-legend" in each}
    assert len(legends) == 2
    assert legends <= set(page.ids)
    files = {link for link in page.files if link.endswith("words.csv")}
    assert files == {"one/tables/words.csv", "two/tables/words.csv"}


# --- examples


def test_words_pairs_and_names_lead_to_their_examples_and_only_where_there_are_any(
    write_run: WriteRun, sodapop: Findings
) -> None:
    folder = write_run(sodapop)
    about = {"group": ["EA_female", "EA_male", "female"], "name": ["Amanda", "Adam"], "word": ["kind"]}
    asked = AskedQuestion("Amanda left.", "How would you describe Amanda?", [Option("kind", 0.5, right=True)])
    (folder / FILE).write_bytes(to_lines([Example(about, [asked])]))
    page = page_of(folder)
    wanted = [json.loads(link["data-see"] or "")["about"] for link in page.all("a") if "data-see" in link]
    ea = ["European American female", "European American male"]
    assert {"group": ea, "word": "kind"} in wanted
    assert {"group": ["female", "male"], "word": "kind"} in wanted
    assert {"group": ea} in wanted
    assert {"name": "Amanda"} in wanted
    assert {"name": "Adam"} in wanted
    assert not [each for each in wanted if each.get("word", "kind") != "kind" or each.get("name") == "Heather"]
    both = ["European American male", "African American male"]
    assert {"group": both} in wanted, "an example of one of the two groups is behind both"
    assert "SODAPOP · group European American female, European American male, female · name Amanda, Adam" in page.words


# --- the picture


def test_the_legend_knows_the_marks_of_each_group(write_run: WriteRun, sodapop: Findings) -> None:
    page = page_of(write_run(sodapop))
    keys = [each["data-key"] for each in page.all("li") if "data-key" in each]
    assert keys == ["0", "1", "2"]
    marks = [each for each in page.all("path") if "data-tip" in each]
    assert [mark["data-key"] for mark in marks] == ["0", "0", "1", "2"]


# --- sodapop-names


def names_findings(**change: Any) -> Findings:
    names = Table(
        ("group", "name", "pieces", "log10_frequency", "told_gender", "told_race"),
        [("EA_female", "Amanda", 1, 5.0, 1.0, None), ("EA_male", "Adam", 1, 4.0, 0.5, None)],
    )
    spots = [("EA_female", "Amanda", -1.0, 0.0), ("EA_male", "Adam", 1.0, 2.0), ("EA_male", "Alan", 2.0, 2.0)]
    places = Table(("group", "name", "x", "y"), spots)
    told = Estimate(
        "name_accuracy", {"attribute": "gender"}, 0.752, 0.6, 0.844, n=96, p=0.01, floor=0.498, note="splits"
    )
    few = Estimate("name_accuracy", {"attribute": "race"}, None, note="AA has 2 names")
    return Findings("sodapop-names", "m", [replace(told, **change), few], {"names": names, "projection": places})


def test_the_page_of_names_says_what_their_vectors_give_away(write_run: WriteRun) -> None:
    page = page_of(write_run(names_findings()))
    assert_harmless(page)
    assert (
        "SODAPOP names From the model’s vectors of names alone, a linear classifier predicts the gender of 75.2% of "
        "unseen names (95% interval 60.0% to 84.4%), chance level 49.8% (p = 0.010)."
    ) in page.words
    assert "Nothing can be said about race: AA has 2 names." in page.words
    assert "2 names from 2 groups" in page.words
    assert "not harmful in itself" in page.words
    assert "Amanda (European American female)" in page.words
    assert "2023.eacl-main.116" in page.words
    assert "no description" not in page.words
    chance = page_of(write_run(names_findings(p=0.4), name="chance"))
    assert "(p = 0.400, not distinguishable from chance)" in chance.words


def test_a_run_of_names_may_be_bare_or_hostile(write_run: WriteRun) -> None:
    bare = page_of(write_run(Findings("sodapop-names", "m", []), name="bare"))
    assert "No attribute could be tested with these names." in bare.words
    estimates = [Estimate("name_accuracy", {"attribute": text}, 0.7, n=9, p=0.01, floor=0.5) for text in HOSTILE]
    estimates += [Estimate("name_accuracy", {"attribute": text}, None, note=f"why {text}") for text in HOSTILE]
    places = Table(("group", "name", "x", "y"), [(text, text, i, -i) for i, text in enumerate(HOSTILE)])
    names = Table(("group", "name"), [(text, text) for text in HOSTILE])
    findings = Findings("sodapop-names", HOSTILE[0], estimates, {"projection": places, "names": names})
    page = page_of(write_run(findings, {"notes": HOSTILE}))
    assert_harmless(page)
    for text in HOSTILE:
        assert page.text.count(text) > 5
