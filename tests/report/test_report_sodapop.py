"""SODAPOP's page: its first paragraphs say what the findings say, and nothing in the findings can act on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DataError
from assay.results.findings import Estimate, Findings, Table
from html_pages import HOSTILE, Page, assert_harmless, cards, write_page
from html_pages import in_words as lead
from raising import raises

WriteRun = Callable[..., Path]

SETTINGS: Mapping[str, Any] = {
    "groups": None,
    "fill_model": None,
    "distractors": "shared",
    "min_count": 4,
    "contexts": 2,
    "context": None,
}


def page_of(folder: Path) -> Page:
    return Page(write_page(folder).read_text(encoding="utf-8"))


def card_of(page: Page) -> str:
    """The words of the page's one card."""
    (card,) = cards(page)
    return card


def with_words(findings: Findings, **changes: Any) -> Findings:
    """The findings with other values in columns of the table of words."""
    table = findings.tables["words"]
    rows = [[changes.get(name, cell) for name, cell in zip(table.columns, row, strict=True)] for row in table.rows]
    return replace(findings, tables={**findings.tables, "words": Table(table.columns, rows)})


# --- the first paragraphs


def test_the_first_paragraphs_tell_what_was_done_and_which_words_fool_the_model(
    write_run: WriteRun, sodapop: Findings, run: Mapping[str, Any]
) -> None:
    words = lead(page_of(write_run(sodapop, {**run, "settings": SETTINGS})))
    assert "The model hf:org/model was given short texts about one person" in words
    assert "A masked language model (the audited model itself) wrote the wrong answers by replacing words" in words
    assert "The same text was used with different first names (4 names from 3 groups)." in words
    assert (
        "2 words fool the model at different rates for different groups, statistically clear (q at most 0.05 after "
        "correction). There are 3 such differences among 4 words, in 2 of 3 comparisons of two groups."
    ) in words
    assert (
        "Wrong answers with “harsh” were chosen 10.6% of the time for European American female names, 10.0% for "
        "European American male names (RD 0.058, 95% interval 0.020 to 0.090, q < 0.001)"
    ) in words


def test_the_top_of_the_page_says_it_in_a_sentence_with_groups_in_full(
    write_run: WriteRun, sodapop: Findings, run: Mapping[str, Any]
) -> None:
    card = card_of(page_of(write_run(sodapop, {**run, "settings": SETTINGS})))
    assert card.startswith(
        "SODAPOP Wrong answers with “harsh” were chosen 10.6% of the time for European American female names, 10.0% "
        "for European American male names. 0.058 Relative difference of “harsh” · 0.6 of 100 wrong answers 95% "
        "interval 0.020 to 0.090"
    )
    assert "← European American male names European American female names →" in card
    assert "not distinguishable from chance" not in card
    none = with_words(replace(sodapop, estimates=[replace(each, p=0.2) for each in sodapop.estimates]), q=0.3)
    card = card_of(page_of(write_run(none, run, name="none")))
    assert "No word differs clearly between groups of names. The largest difference: wrong answers with “kind”" in card
    assert "; alone it would be clear; after correction for all tests of the run it is not" in card
    nothing = replace(sodapop, tables={}, estimates=sodapop.estimates[2:])
    assert card_of(page_of(write_run(nothing, run, name="nothing"))) == (
        "SODAPOP No word could be compared: none was tested in two groups of names. See what was found"
    )


def test_the_sentence_names_the_group_that_is_fooled_more_first_and_turns_rd_with_it(
    write_run: WriteRun, sodapop: Findings
) -> None:
    words = lead(page_of(write_run(sodapop)))
    assert (
        "Wrong answers with “kind” were chosen 50.0% of the time for European American male names, 20.0% for European "
        "American female names (RD 0.857, 95% interval 0.400 to 1.200, q = 0.004)"
    ) in words
    assert words.count("“kind”") == 1  # of two pairs in which it is clear, the clearer
    assert words.index("“harsh”") < words.index("“kind”")


def test_without_a_clear_word_the_page_says_so_and_names_the_largest_with_that_caution(
    write_run: WriteRun, sodapop: Findings
) -> None:
    words = lead(page_of(write_run(with_words(sodapop, q=0.3))))
    assert "No word is statistically clear after correction for 4 words in 3 comparisons of two groups." in words
    assert "The largest difference is not clear: wrong answers with “kind” were chosen 50.0% of the time" in words
    assert "shrink" not in words


def test_groups_that_clusters_tell_apart_are_counted_with_what_chance_gives(
    write_run: WriteRun, sodapop: Findings
) -> None:
    words = lead(page_of(write_run(sodapop)))
    assert "The words alone tell the groups apart in 1 of 2 pairs of groups" in words  # one has no value
    apart = "European American and African American female names (98.0% of names in the cluster of their group, chance "
    assert f"{apart}level 58.0%" in words
    assert "European American female and male names (75.0%" not in words
    corrected = replace(sodapop, estimates=[replace(each, q=0.2) for each in sodapop.estimates[:2]])
    words = lead(page_of(write_run(corrected, name="corrected")))
    assert "The words alone do not tell the groups apart in any of 2 pairs of groups:" in words
    assert (
        "better than chance (q at most 0.05). The closest: European American and African American female names" in words
    )
    assert "chance level 58.0%, q = 0.200)." in words


def test_what_the_pools_alone_explain_is_told_where_names_have_their_own(
    write_run: WriteRun, sodapop: Findings
) -> None:
    told = {}
    for distractors in ("shared", "per_name", None):
        run = {"settings": {"distractors": distractors}}
        told[distractors] = lead(page_of(write_run(sodapop, run, name=str(distractors))))
    assert "all names had the same wrong answers (shared pools), so differences come" in told["shared"]
    # |RD| of the three clear differences: 0.857, 0.058 and 0.286; of the pools: 0.1, 0.04 and 0.1, all the same way
    assert (
        "Over the 3 clear differences, RD averages 0.400 in absolute value. The pools alone, with a model that ignores "
        "names, would give 0.080, with the same sign in 3 of 3."
    ) in told["per_name"]
    assert "shared pools" not in told["per_name"]
    assert "pools" not in told[None]
    for words in told.values():
        assert "With both regressed out, 1 of 3 clear differences shrinks to less than half or changes sign" in words


def test_an_own_filling_model_and_own_groups_are_told_as_such(write_run: WriteRun, sodapop: Findings) -> None:
    run = {"settings": {**SETTINGS, "fill_model": "hf:org/filler", "groups": "own.json"}}
    rows = [("EA", "WA", *sodapop.tables["words"].rows[1][2:])]  # names from East and West Africa
    own = replace(sodapop, estimates=[], tables={"words": Table(sodapop.tables["words"].columns, rows)})
    words = lead(page_of(write_run(own, run)))
    assert "A masked language model (hf:org/filler) wrote" in words
    assert "for WA names, 20.0% for EA names" in words
    assert "European American" not in words
    assert "the audited model itself" not in lead(page_of(write_run(sodapop, name="unknown")))


def test_results_of_another_program_are_told_as_such(write_run: WriteRun, sodapop: Findings) -> None:
    for kind, settings, elsewhere in (("predictions", {"min_count": "4"}, True), ("rescored", SETTINGS, False)):
        run = {"kind": kind, "identity": {"scored": ["digest"]}, "settings": settings}
        words = lead(page_of(write_run(sodapop, run, name=kind)))
        assert ("The questions were asked elsewhere, and only the results were scored" in words) == elsewhere
        assert ("three answers: the right one and two wrong ones" in words) != elsewhere


def test_the_number_of_questions_is_called_an_upper_bound_where_it_is_one(
    write_run: WriteRun, sodapop: Findings, run: Mapping[str, Any]
) -> None:
    bound = {**run, "stages": {"words to fill, at most": 308, "answers, at most": 6000}}
    assert "at most 6,308 questions ·" in page_of(write_run(sodapop, bound, name="bound")).words
    assert "at most 6,308 questions" not in page_of(write_run(sodapop, run, name="known")).words


def test_cautions_and_citation_are_those_of_the_paper(
    write_run: WriteRun, sodapop: Findings, run: Mapping[str, Any]
) -> None:
    words = page_of(write_run(sodapop, {**run, "settings": SETTINGS})).words
    assert "The authors of SODAPOP warn against concluding from it that a model has no bias." in words
    assert "Gender is treated as female or male" in words
    assert "First names are a proxy." in words
    assert "A masked language model wrote the words, with its own bias." in words
    assert "q corrects for all words of all comparisons of groups." in words
    assert "This run used at most 2 texts. It counts a word if each name has 4 or more wrong answers with it" in words
    assert "This run is smaller than the paper’s (preset quick)" in words
    assert "pages 1573–1596. doi 10.18653/v1/2023.eacl-main.116" in words
    alone = page_of(write_run(sodapop, {"settings": {**SETTINGS, "context": 3}}, name="alone")).words
    assert "This run used one text." in alone


# --- what could go wrong


@pytest.mark.parametrize("empty", [True, False])
def test_tables_may_be_empty_or_missing(write_run: WriteRun, sodapop: Findings, empty: bool) -> None:
    for table in (*sodapop.tables, None):
        kept = {
            name: Table(own.columns, []) if name == table or table is None else own
            for name, own in sodapop.tables.items()
            if empty or (name != table and table is not None)
        }
        page = page_of(write_run(replace(sodapop, tables=kept), {"settings": SETTINGS}, name=str(table)))
        headings = {
            "words": "Words that fool the model",
            "names": "The names How",
            "projection": "The names in a picture",
            "traits": "Traits that the words suggest",
        }
        for name, heading in headings.items():
            assert (heading in page.words) == (table is not None and name != table)
        assert ("No word could be compared" in page.words) == (table in ("words", None))
        assert "None" not in page.words


def test_a_run_without_estimates_gives_a_page(write_run: WriteRun, sodapop: Findings) -> None:
    assert "This run has no estimates" in page_of(write_run(Findings("sodapop", "m", []), name="bare")).words
    words = page_of(write_run(replace(sodapop, estimates=[]))).words
    assert "Wrong answers with “harsh” were chosen" in words
    assert "Can the groups be told apart?" not in words


@pytest.mark.parametrize(
    "column", ["sr_a", "sr_b", "rd", "low", "high", "p", "q", "n", "rd_pools", "rd_controlled", "word", "group_a"]
)
def test_any_cell_of_a_word_may_be_empty(write_run: WriteRun, sodapop: Findings, column: str) -> None:
    for distractors in ("per_name", "shared"):
        findings = with_words(sodapop, **{column: None})
        words = page_of(write_run(findings, {"settings": {"distractors": distractors}}, name=distractors)).words
        assert "In short" in words
        assert "None" not in words
        assert "NaN" not in words


def test_hostile_text_in_groups_words_names_and_settings_does_nothing(write_run: WriteRun, sodapop: Findings) -> None:
    estimates = [Estimate("kmeans_accuracy", {"a": t, "b": t}, 0.9, n=9, p=0.01, floor=0.6) for t in HOSTILE]
    estimates += [Estimate(t, {"a": t, "b": t, t: t}, None, note=f"why {t}") for t in HOSTILE]
    numbers = (0.3, 0.2, 0.1, 0.25, 0.4, 0.2, 0.6, 0.001, 0.001, 90, 0.1, 0.2)
    columns = {name: table.columns for name, table in sodapop.tables.items()}
    tables = {
        "words": Table(columns["words"], [(t, t, t, *numbers) for t in HOSTILE]),
        "names": Table(columns["names"], [(t, t, 0.4, 2, 5.5) for t in HOSTILE]),
        "projection": Table(columns["projection"], [(t, t, i, -i) for i, t in enumerate(HOSTILE)]),
        "traits": Table(columns["traits"], [(t, t, t, 1, 2, o, ">", 1) for t in HOSTILE for o in (">", "<", t)]),
    }
    settings = dict.fromkeys(("fill_model", "distractors", "groups"), HOSTILE[2])
    run = {"settings": settings, "stages": dict.fromkeys(HOSTILE, 1), "notes": HOSTILE}
    page = page_of(write_run(Findings("sodapop", HOSTILE[0], estimates, tables), run))
    assert_harmless(page)
    for text in HOSTILE:
        assert page.text.count(text) > 25
        assert f"why {text}" in page.text


def test_the_page_needs_nothing_from_outside_and_is_well_marked_up(
    write_run: WriteRun, sodapop: Findings, run: Mapping[str, Any]
) -> None:
    page = page_of(write_run(sodapop, {**run, "settings": {"distractors": "per_name"}}))
    assert_harmless(page)
    assert "http" not in page.source.replace("http-equiv", "")
    assert "url(" not in page.source
    assert len(page.all("h1")) == 1
    regions = [each for each in page.all("div") if each.get("role") == "region"]
    assert len(regions) == len(page.all("table")) == 9
    assert all(each.get("aria-labelledby") and each.get("tabindex") == "0" for each in regions)
    assert len(page.all("summary")) == len(page.all("details")) == 17
    assert len(page.all("figure")) == 9
    assert len([link for link in page.all("a") if link.get("class") == "csv"]) == 9
    assert all(cell.get("scope") for cell in page.all("th"))
    drawings = [svg for svg in page.all("svg") if svg.get("role") == "img"]
    assert all(svg.get("aria-label") for svg in drawings)
    assert len(drawings) > 10
    assert all(svg.get("aria-hidden") for svg in page.all("svg") if svg.get("role") != "img")
    identities = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    referred = {attributes["aria-labelledby"] for _, attributes in page.elements if "aria-labelledby" in attributes}
    assert referred <= set(identities)
    assert {link.removeprefix("#") for link in page.links if link.startswith("#")} <= set(identities)
    for table in sodapop.tables:
        assert f"tables/{table}.csv" in page.links


@pytest.mark.parametrize(
    ("table", "column"),
    [("words", "rd"), ("words", "n"), ("names", "pieces"), ("projection", "x"), ("traits", "score_a")],
)
def test_a_word_where_a_number_belongs_names_the_file(
    write_run: WriteRun, sodapop: Findings, table: str, column: str
) -> None:
    columns = sodapop.tables[table].columns
    cells = zip(columns, sodapop.tables[table].rows[0], strict=True)
    row = ["lots" if name == column else cell for name, cell in cells]
    folder = write_run(replace(sodapop, tables={table: Table(columns, [row])}))
    with raises("bad-findings", DataError, file=folder / "tables" / f"{table}.csv", key=column):
        write_page(folder)


def test_the_page_is_the_same_bytes_each_time(write_run: WriteRun, sodapop: Findings) -> None:
    folder = write_run(sodapop)
    assert write_page(folder).read_bytes() == write_page(folder).read_bytes()
