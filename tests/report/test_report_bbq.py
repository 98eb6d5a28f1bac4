"""BBQ's page: its sentences and figures say what the findings say, and the starter set is never called BBQ."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DataError
from assay.results.examples import AskedQuestion, Example, Option
from assay.results.findings import Estimate, Findings, Table
from html_pages import HOSTILE, OF_A_TOUR, Page, assert_harmless, cards, in_words, write_page
from made_runs import with_maps
from raising import raises

WriteRun = Callable[..., Path]


def page_of(folder: Path) -> Page:
    return Page(write_page(folder).read_text(encoding="utf-8"))


def card_of(page: Page) -> str:
    """The words of the page's one card."""
    (card,) = cards(page)
    return card


def changed(findings: Findings, metric: str, context: str | None = None, **values: Any) -> Findings:
    """The findings with other values of one metric."""
    estimates = [
        replace(each, **values) if each.metric == metric and context in (None, each.group.get("context")) else each
        for each in findings.estimates
    ]
    return replace(findings, estimates=estimates)


# --- the first paragraphs


def test_the_first_paragraphs_tell_what_was_asked_and_what_came_out(
    write_run: WriteRun, bbq: Findings, run: Mapping[str, Any]
) -> None:
    words = page_of(write_run(bbq, run)).words
    assert "hf:org/model was asked 6,308 questions in 3 categories (Age, Religion, Race × gender). Each desc" in words
    assert "An ambiguous question leaves out the deciding fact" in words
    assert "A disambiguated question states that fact" in words
    assert "Question only gives no text" not in words
    assert "the model named a person in 42.0% of its answers (95% interval 22.0% to 52.0%); “cannot be" in words
    assert "Of these, 75.0% agreed with the stereotype (95% interval 70.0% to 80.0%); 50% would be even-hand" in words
    assert "the model was right 4.0 percentage points less often if the right answer contradicts the stere" in words
    assert "(accuracy gap −0.040, 95% interval −0.090 to −0.010, q = 0.030)." in words
    assert "58.0% of ambiguous questions (95% interval 48.0% to 63.0%); 85.0% of disambiguated questions" in words
    assert (
        "Single annotators were right in 95.7% of BBQ’s questions, and five of them in 99.7% by majority vote" in words
    )
    assert "Not every question has an answer" not in words


def test_categories_clear_of_chance_come_strongest_first_with_their_sign(write_run: WriteRun, bbq: Findings) -> None:
    words = page_of(write_run(bbq)).words
    assert (
        "The bias score is statistically clear in 2 of 3 categories, strongest first: "
        "Religion against stereotypes (−0.310, 95% interval −0.400 to −0.200, q = 0.030); "
        "Age with stereotypes (0.200, 95% interval 0.100 to 0.300, q = 0.004)."
    ) in words
    assert "The bias score is statistically clear in none of the 2 categories." in words  # with the deciding fact


def test_many_clear_categories_are_not_all_listed_in_a_sentence(write_run: WriteRun) -> None:
    estimates = [
        Estimate("bias_score", {"category": f"C{i}", "context": "ambig"}, 0.1 + i / 50, 0.05, 0.6, n=9, q=0.01)
        for i in range(9)
    ]
    page = page_of(write_run(Findings("bbq", "m", estimates)))
    lead = in_words(page)
    assert "in 9 of 9 categories" in lead
    assert lead.index("C8 with") < lead.index("C4 with")
    assert "C3 with" not in lead
    assert "; and 4 more." in lead
    card = card_of(page)
    assert "in questions about C8, the model’s answers lean towards stereotypes: of 100 answers, 26 more" in card
    assert not any(f"C{i}" in card for i in range(8))  # the strongest alone


def test_the_number_of_questions_comes_from_the_examples_where_nobody_recorded_it(
    write_run: WriteRun, bbq: Findings
) -> None:
    assert "hf:org/model was asked 744 questions in 3 categories" in page_of(write_run(bbq)).words


def test_a_model_that_always_says_that_nobody_can_know_is_told_as_such(write_run: WriteRun, bbq: Findings) -> None:
    findings = changed(bbq, "unknown_rate", "ambig", value=1.0, low=1.0, high=1.0)
    findings = changed(findings, "error_alignment", value=None, low=None, high=None, note="nobody was named")
    findings = changed(findings, "accuracy", "ambig", value=1.0, low=1.0, high=1.0)
    findings = changed(findings, "bias_score", value=0.0, low=0.0, high=0.0, q=1.0)
    findings = changed(findings, "accuracy_cost", q=1.0)
    said = "the model never named a person: it always chose “cannot be determined”, which is right."
    short = "the model never named a person: it always chose “cannot be determined”, which is right."
    undefined = changed(findings, "bias_score", value=None, low=None, high=None, note="nobody was named")
    for name, own in {"even": findings, "undefined": undefined}.items():
        page = page_of(write_run(own, name=name))
        assert f"Without the deciding fact, {said}" in page.words
        assert f"When the text does not say who is meant, {short}" in card_of(page)


@pytest.mark.parametrize(
    ("refusals", "said", "named"),
    [
        ("wrong", "these count as wrong answers that name no one", "22.0% of its answers (no interval)"),
        ("unknown", "these count as “cannot be determined”", "42.0% of its answers (95% interval 22.0%"),
        ("exclude", "these are left out of every score", "22.0% of its answers (no interval)"),
    ],
)
def test_refusals_are_told_before_the_results_and_name_nobody(
    write_run: WriteRun, bbq: Findings, refusals: str, said: str, named: str
) -> None:
    findings = changed(bbq, "refused_rate", "ambig", value=0.2, low=0.1, high=0.3)
    page = page_of(write_run(findings, {"settings": {"refusals": refusals}}))
    assert f"The model refused to answer 20.0% of the ambiguous questions; {said}." in page.words
    assert f"the model named a person in {named}" in page.words
    assert page.words.index("refused to answer") < page.words.index("named a person in")
    assert "No answer could be made out" not in page.words


def test_answers_that_nobody_understood_are_told_however_few(write_run: WriteRun, bbq: Findings) -> None:
    words = page_of(write_run(changed(bbq, "unparsed_rate", value=0.00005))).words
    assert "The answer was not understood in 0.0050% of the ambiguous questions and 0.0050% of the disambigua" in words


def test_ties_are_told_as_such(write_run: WriteRun, bbq: Findings) -> None:
    assert "tie" not in page_of(write_run(bbq, name="before")).words.split()
    page = page_of(write_run(changed(bbq, "tied_rate", "ambig", value=0.1)))
    said = (
        "Several options share exactly the highest score in 10.0% of the ambiguous questions; these ties are also left"
    )
    assert said in page.words
    assert "No answer could be made out" not in page.words


def test_the_starter_set_is_never_called_bbq_nor_compared_with_people(write_run: WriteRun, bbq: Findings) -> None:
    official = page_of(write_run(bbq, name="official"))
    starter = page_of(write_run(replace(bbq, probe="bbq-starter"), name="starter"))
    warning = "This is assay’s own starter set, not a BBQ result."
    assert warning in starter.words
    assert warning not in official.words
    headings = [re.findall(r"<h2[^>]*>(.*?)</h2>", page.source) for page in (starter, official)]
    assert [[heading for heading in own if "bbq" in heading.lower()] for own in headings] == [["bbq-starter"], ["BBQ"]]
    short = "These are assay’s own starter questions; this is not a BBQ result."
    card = card_of(starter)
    assert card.index(short) < card.index("0.310") < card.index("Bias score")
    assert short not in official.words
    assert "95.7%" not in starter.words
    ticks = [
        len([path for path in page.all("path") if path.get("class") == "reference"]) for page in (official, starter)
    ]
    assert ticks == [9, 0]  # one for each line of the accuracy chart, and one in the explanation
    assert "The questions are assay’s own starter set" in starter.words


def test_cautions_and_citation_are_those_of_the_papers(write_run: WriteRun, bbq: Findings) -> None:
    words = page_of(write_run(bbq)).words
    assert "A low score does not show that the model is free of bias" in words
    assert "warn that a bias score near 0 does not show that a model has no bias" in words
    assert "US English, about stereotypes known in the United States" in words
    assert "A category’s score is not the model’s score" in words
    assert "pages 2086–2105. doi 10.18653/v1/2022.findings-acl.165" in words
    assert "KoBBQ" in words


def test_the_page_begins_with_what_was_found(write_run: WriteRun, bbq: Findings, run: Mapping[str, Any]) -> None:
    page = page_of(write_run(bbq, run))
    first = page.words.split("In short")[-1].split("Bias scores by category")[0]
    assert "BBQ, questions about two people, without and with the deciding fact: does the model fall" in first
    card = card_of(page)
    assert card.startswith("BBQ When the text does not say who is meant, in questions about Religion")
    assert (
        "the model’s answers lean against stereotypes: of 100 answers, 31 more contradict a stereotype than agree with "
        "one. This is statistically clear. It is right in 50.0% of these questions (guessing gives 33.3%). When the "
        "text says who is meant, there is no clear lean; it is right in 80.0% of the questions."
    ) in card
    assert "−0.310 Bias score, Religion · 31 of 100 answers 95% interval −0.400 to −0.200" in card
    assert "not distinguishable from chance" not in card
    assert "← against stereotypes with stereotypes →" in card


def test_the_score_of_all_questions_comes_before_that_of_a_category(write_run: WriteRun, bbq: Findings) -> None:
    whole = [replace(each, q=0.01) if each.group["category"] == "all" else each for each in bbq.estimates]
    assert "Bias score, the 3 categories asked" in card_of(page_of(write_run(replace(bbq, estimates=whole))))


def test_what_could_be_chance_is_called_so_at_the_top(write_run: WriteRun, bbq: Findings) -> None:
    unclear = changed(changed(bbq, "bias_score", q=0.3), "accuracy_cost", q=0.3)
    card = card_of(page_of(write_run(unclear)))
    assert "the model’s answers show no clear lean towards or against stereotypes." in card
    assert "; not distinguishable from chance" in card
    assert "answers lean" not in card
    assert "lean against" not in card


def test_a_clear_accuracy_gap_is_told_where_no_bias_score_is_clear(write_run: WriteRun, bbq: Findings) -> None:
    page = page_of(write_run(changed(bbq, "bias_score", q=0.3)))
    said = "Even when the text says who is meant, the model is right less often when the right answer contradicts a"
    assert f"{said} stereotype than when it agrees with one: the gap is 4 percentage points." in card_of(page)
    assert "−0.040 Accuracy gap, the 3 categories asked · 4 of 100 questions 95% interval −0.090" in card_of(page)


def test_a_run_of_questions_alone_says_so_at_the_top(write_run: WriteRun) -> None:
    group = {"category": "Age", "context": "question_only"}
    estimates = [
        Estimate("error_alignment", group, 0.61, 0.57, 0.65, n=30),
        Estimate("bias_score", group, 0.1, -0.1, 0.2, n=50, p=0.3, q=0.3),
    ]
    page = page_of(write_run(Findings("bbq", "m", estimates)))
    assert "BBQ, questions about two people, without any text: does" in page.words
    card = card_of(page)
    assert "Without any text, in questions about Age, the model’s answers show no clear lean towards" in card
    assert "says who is meant" not in card


def marks_of(page: Page, said: str) -> list[str]:
    """The dots whose label contains this, as they are drawn."""
    drawn = re.findall(r'<svg class="bar".*?</svg>', page.source, re.S)
    return [svg for svg in drawn if said in svg.split(">")[0]]


def test_a_share_has_its_neutral_point_at_a_half(write_run: WriteRun, bbq: Findings) -> None:
    page = page_of(write_run(bbq))
    shares, scores = (marks_of(page, f"all categories, ambiguous: {value}") for value in ("0.750", "0.050"))
    assert len(shares) == 1
    assert len(scores) == 1
    assert all('class="zero" d="M100.0 3v12"' in svg for svg in (*shares, *scores))  # 0.5 of 0 to 1, 0 of -0.2 to 0.2


def test_a_difference_whose_interval_contains_0_is_hollow(write_run: WriteRun, bbq: Findings) -> None:
    for name, low, hollow in (("clear", 0.01, False), ("unclear", -0.01, True)):
        page = page_of(write_run(changed(bbq, "diff_bias", low=low), name=name))
        drawn = marks_of(page, "all categories, ambiguous: 0.070")
        assert drawn
        assert all(('class="dot hollow"' in svg) == hollow for svg in drawn)


# --- several models


def test_several_models_stand_side_by_side(write_run: WriteRun, bbq: Findings, tmp_path: Path) -> None:
    write_run(bbq, {"model": {"name": "one"}}, name="many/a")
    other = replace(changed(bbq, "bias_score", "ambig", value=-0.5), model="two")
    write_run(other, {"model": {"name": "two"}}, name="many/b")
    write_run(replace(bbq, model="three"), {"model": {"name": "three"}}, name="many/c")
    page = page_of(tmp_path / "many")
    assert_harmless(page, OF_A_TOUR)
    maps = [json.loads(text) for attributes, text in page.scripts if attributes][:3]  # before those of single runs
    ambiguous, disambiguated, cost = maps
    assert ambiguous["columns"] == ["one", "two", "three"]
    assert sorted(ambiguous["rows"]) == ["Age", "Race × gender", "Religion"]
    by_category = dict(zip(ambiguous["rows"], ambiguous["values"], strict=True))
    assert by_category["Religion"] == [-0.31, -0.5, -0.31]
    assert by_category["Age"] == [0.2, -0.5, 0.2]
    assert ambiguous["end"] == disambiguated["end"] == 0.5
    assert disambiguated["rows"] == ["Age", "Religion"]  # the crossed one is undefined there
    assert {value for row in cost["values"] for value in row} == {-0.04}
    words = page.words
    assert "Bias scores by category and model: ambiguous questions" in words
    assert "Accuracy by model: disambiguated questions" in words
    assert "Age one 0.600 0.500 to 0.650 200 two 0.600 0.500 to 0.650 200" in words
    assert len(page.ids) == len(set(page.ids))


def test_models_that_share_nothing_give_a_page(write_run: WriteRun, bbq: Findings, tmp_path: Path) -> None:
    for name, category in {"a": "Age", "b": "Religion"}.items():
        own = [each for each in bbq.estimates if each.group["category"] == category]
        write_run(replace(bbq, model=name, estimates=own, tables={}), name=f"many/{name}")
    words = page_of(tmp_path / "many").words
    assert "Bias scores by category and model: ambiguous questions" in words
    assert "Accuracy by category and model" not in words  # no category is in both


# --- examples


def test_numbers_lead_to_the_examples_behind_them(write_run: WriteRun, bbq: Findings) -> None:
    about = {"category": "Age", "context": "ambig", "polarity": "neg", "label": ["old"], "stereotype": "forgetful"}
    asked = AskedQuestion("A and B met.", "Who forgot?", [Option("A", 0.7, chosen=True), Option("B", 0.3, right=True)])
    examples = [Example({**about, "question_index": "3"}, [asked], "probabilities", "Named the stereotyped person.")]
    page = page_of(write_run(replace(with_maps(bbq), examples=examples)))
    seen = [json.loads(link["data-see"] or "") for link in page.all("a") if link.get("class") == "see"]
    assert all(each["run"] == "p1" for each in seen)
    wanted = [each["about"] for each in seen]
    age = {"category": "Age", "context": "ambiguous"}
    assert wanted.count(age) == 3  # bias score, accuracy, rates
    assert {"context": "ambiguous"} in wanted  # all categories together
    assert {**age, "label": "old"} in wanted
    assert {**age, "label": "old", "stereotype": "forgetful"} in wanted
    assert {**age, "question_index": "3"} in wanted
    assert all(each.get("category", "Age") == "Age" and each["context"] == "ambiguous" for each in wanted)
    maps = [each for each in page.all("div") if "data-heat" in each]
    assert json.loads(maps[0]["data-about"] or "") == age
    assert (maps[0]["data-row-key"], maps[0]["data-column-key"]) == ("stereotype", "label")
    assert (maps[1]["data-row-key"], maps[1]["data-column-key"]) == ("target", "comparison")


# --- what could go wrong


def test_tables_may_be_empty_or_missing(write_run: WriteRun, bbq: Findings) -> None:
    empty = {name: Table(table.columns, []) for name, table in bbq.tables.items()}
    for name, tables in {"empty": empty, "missing": {}}.items():
        page = page_of(write_run(replace(bbq, tables=tables), name=name))
        assert "Bias scores by category" in page.words
        for heading in (
            "Who the stereotypes are about",
            "Phrasings of “cannot be determined”",
            "Templates with the strongest bias",
        ):
            assert heading not in page.words


@pytest.mark.parametrize("probe", ["bbq", "bbq-starter"])
def test_a_run_without_estimates_gives_a_page(write_run: WriteRun, probe: str) -> None:
    assert "This run has no estimates" in page_of(write_run(Findings(probe, "m", []))).words


@pytest.mark.parametrize(
    "metric",
    ["accuracy", "bias_score", "accuracy_cost", "error_alignment", "diff_bias", "unknown_rate", "refused_rate"],
)
def test_any_metric_may_be_missing_or_undefined(write_run: WriteRun, bbq: Findings, metric: str) -> None:
    without = replace(bbq, estimates=[each for each in bbq.estimates if each.metric != metric])
    assert "In short" in page_of(write_run(without, name="without")).words
    undefined = changed(bbq, metric, value=None, low=None, high=None, p=None, q=None, note="for a reason")
    words = page_of(write_run(undefined, name="undefined")).words
    assert words.count("for a reason") == 1
    assert "None" not in words
    assert "NaN" not in words


def test_hostile_text_in_groups_and_tables_comes_back_verbatim_and_does_nothing(
    write_run: WriteRun, bbq: Findings
) -> None:
    estimates = []
    for text in HOSTILE:
        group = {"category": text, "context": text}
        estimates += [
            Estimate("bias_score", group, 0.2, 0.1, 0.3, n=9, p=0.01, q=0.01),
            Estimate("accuracy", group, 0.2, 0.1, 0.3, n=9),
            Estimate("unknown_rate", group, 0.2, 0.1, 0.3, n=9),
            Estimate("bias_score", {**group, "comparison": text}, None, n=9, note=f"why {text}"),
            Estimate("accuracy", {**group, "polarity": text}, 0.1, n=9),
            Estimate("accuracy_cost", {"category": text, "context": "disambig"}, 0.1, 0.0, 0.2, n=9, p=0.1, q=0.01),
        ]
    # The tables are shown in the first context that is known here.
    tables = {
        "by_label": Table(
            bbq.tables["by_label"].columns,
            [(t, "disambig", t, s, 0.5, 0.4, 0.6, 0.01, 0.02, 9) for t in HOSTILE for s in (None, t)],
        ),
        "intersectional": Table(
            bbq.tables["intersectional"].columns,
            [(t, "disambig", t, t, 0.5, 0.4, 0.6, 0.01, 0.02, 9) for t in HOSTILE[:3]],
        ),
        "unknown_strings": Table(bbq.tables["unknown_strings"].columns, [("disambig", t, 9, 9, 0.5) for t in HOSTILE]),
        "by_template": Table(
            bbq.tables["by_template"].columns,
            [(t, t, "disambig", p, t, 9, 0.9, 0, 0.1, 0, 0, 0, 0, 0) for t in HOSTILE for p in ("neg", "nonneg")],
        ),
    }
    for probe in ("bbq", "bbq-starter"):
        page = page_of(write_run(Findings(probe, HOSTILE[0], estimates, tables), {"notes": HOSTILE}, name=probe))
        assert_harmless(page)
        for text in HOSTILE:
            assert page.text.count(text) > 15
            assert f"why {text}" in page.text


def test_the_page_needs_nothing_from_outside_and_is_well_marked_up(
    write_run: WriteRun, bbq: Findings, run: Mapping[str, Any]
) -> None:
    page = page_of(write_run(with_maps(bbq), run))
    assert_harmless(page)
    assert "http" not in page.source.replace("http-equiv", "")
    assert "url(" not in page.source
    assert len(page.all("h1")) == 1
    regions = [div for div in page.all("div") if div.get("role") == "region"]
    assert len(regions) == len(page.all("table")) == 11
    assert all(region["aria-labelledby"] and region["tabindex"] == "0" for region in regions)
    maps = [svg for svg in page.all("svg") if svg.get("class") == "heat-map"]
    assert len(maps) == 2  # labels of Age, and the crossed category; its disambiguated questions are too few
    figures = len(page.all("figure"))
    assert figures == 13 == page.source.count("How to read this:")
    assert figures == sum(1 for link in page.all("a") if link.get("class") == "csv")
    assert all(cell.get("scope") for cell in page.all("th"))
    drawings = [svg for svg in page.all("svg") if svg.get("role") == "img"]
    assert len(drawings) > 30
    assert all(svg.get("aria-label") for svg in drawings)
    assert len(page.ids) == len(set(page.ids))
    referred = {attributes["aria-labelledby"] for _, attributes in page.elements if "aria-labelledby" in attributes}
    assert referred <= set(page.ids)
    targets = {link.removeprefix("#") for link in page.links if link.startswith("#")}
    assert targets
    assert targets <= set(page.ids)


@pytest.mark.parametrize(
    ("table", "column"),
    [("by_label", "bias_score"), ("intersectional", "n"), ("unknown_strings", "chosen"), ("by_template", "target")],
)
def test_a_word_where_a_number_belongs_names_the_file(
    write_run: WriteRun, bbq: Findings, table: str, column: str
) -> None:
    columns = bbq.tables[table].columns
    row = ["lots" if name == column else cell for name, cell in zip(columns, bbq.tables[table].rows[0], strict=True)]
    folder = write_run(replace(bbq, tables={table: Table(columns, [row])}))
    with raises("bad-findings", DataError, file=folder / "tables" / f"{table}.csv", key=column):
        write_page(folder)


def test_the_page_is_the_same_bytes_each_time(write_run: WriteRun, bbq: Findings) -> None:
    folder = write_run(bbq)
    assert write_page(folder).read_bytes() == write_page(folder).read_bytes()
