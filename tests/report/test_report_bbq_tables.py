"""BBQ's page below its first paragraphs: the headline, the charts and what is shown of the long tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from assay.findings import Estimate, Findings, Table
from assay.report import write_html
from html_pages import Page

WriteRun = Callable[..., Path]


def page_of(folder: Path) -> Page:
    return Page(write_html(folder).read_text(encoding="utf-8"))


def section(page: Page, start: str, end: str) -> str:
    """The words of the page from one heading to another."""
    return page.words.split(start)[1].split(end)[0]


def test_the_headline_has_all_categories_together_and_says_what_n_counts(write_run: WriteRun, bbq: Findings) -> None:
    headline = section(page_of(write_run(bbq)), "Headline numbers", "What the metrics mean")
    assert "n counts examples" in headline
    assert "all categories, ambiguous 0.050" in headline
    assert "all categories, disambiguated 0.850" in headline
    assert "Age" not in headline
    assert "negative questions" not in headline


def test_a_run_of_one_category_has_its_estimates_in_the_headline(write_run: WriteRun, bbq: Findings) -> None:
    estimates = [each for each in bbq.estimates if each.group["category"] == "Age"]
    page = page_of(write_run(replace(bbq, estimates=estimates)))
    headline = section(page, "Headline numbers", "What the metrics mean")
    assert "Age, ambiguous 0.200" in headline
    assert "negative questions" not in headline
    assert "the model named a person in 40.0% of its answers" in page.words
    assert "in 1 category (Age)" in page.words


def test_charts_show_every_category_and_context_with_its_neighbours(write_run: WriteRun, bbq: Findings) -> None:
    page = page_of(write_run(bbq))
    bias = section(page, "Bias scores by category How", "Accuracy, and what stereotypes cost")
    assert "0.200 0.100 to 0.300 0.004 0.750 0.070 200" in bias
    assert "Race x gender ambiguous" in bias
    assert "Race_x_gender" not in page.words
    assert "0.120 – [1] 0.400 0.750 0.070 72" in bias
    assert "– [2] –" in bias
    notes = page.words.split("What the metrics mean")[0]
    assert notes.index("no interval: 4 templates") < notes.index("no answer named a person")
    accuracy = section(page, "Accuracy, and what stereotypes cost", "Accuracy cost How")
    assert "0.600 0.500 to 0.650 0.590 0.610 200" in accuracy
    assert "Interval 0.500 to 0.650. Chance alone gives 0.333. For comparison: 0.957." in accuracy
    cost = section(page, "Accuracy cost How", "Who the stereotypes are about")
    assert cost.count("−0.040 −0.090 to −0.010 0.030") == 4
    assert "ambiguous ambiguous" not in cost


def test_labels_with_intervals_clear_of_0_come_before_larger_scores(write_run: WriteRun, bbq: Findings) -> None:
    labels = section(page_of(write_run(bbq)), "Who the stereotypes are about", "Crossed categories")
    general, single = labels.split("Single stereotypes")
    order = [general.index(said) for said in ("old 0.150", "middle-aged 0.440", "young 0.660")]
    assert order == sorted(order)
    assert "0.150 old: bias score 0.150 Interval 0.050 to 0.250. 0.050 to 0.250 150" in general
    assert "scarce" not in labels  # 3 examples
    assert "0.017" not in labels  # disambiguated
    assert "F-Black" not in labels  # crossed, shown below
    assert single.index("young (Age) reckless −0.470") < single.index("old (Age) forgetful 0.370")


def test_only_a_few_labels_of_a_category_are_shown(write_run: WriteRun, bbq: Findings) -> None:
    columns = bbq.tables["by_label"].columns
    rows = [("Age", "ambig", f"L{i:04}", None, i / 5000, None, None, 9) for i in range(4000)]
    rows += [("Age", "ambig", f"L{i:04}", "some", i / 5000, None, None, 9) for i in range(4000)]
    crossed = [("Race_x_gender", "ambig", f"T{i:04}", "a", 0.1, None, None, 9) for i in range(4000)]
    tables = {"by_label": Table(columns, rows), "intersectional": Table(bbq.tables["intersectional"].columns, crossed)}
    path = write_html(write_run(replace(bbq, tables=tables)))
    words = Page(path.read_text(encoding="utf-8")).words
    assert path.stat().st_size < 120_000
    assert "L3999" in words
    assert "L2000" not in words
    assert "3,995 more labels: tables/by_label.csv" in words
    assert "3,990 more: tables/by_label.csv" in words
    assert "3,980 more: tables/intersectional.csv" in words


def test_crossed_categories_are_compared_in_words(write_run: WriteRun, bbq: Findings) -> None:
    page = page_of(write_run(bbq))
    crossed = section(page, "Crossed categories", "Ways to say UNKNOWN")
    for letter, said in {
        "0.110": "same race, other gender",
        "0.120": "other race, same gender",
        "0.130": "other race, other gender",
    }.items():
        assert f"Race x gender: {said}" in crossed
        assert crossed.index(f"Race x gender: {said}") < crossed.index(f": {letter} Interval")
    assert "Asian M −0.230" in crossed
    assert "Black F 0.210 0.022" in crossed
    assert "<b>0.210</b>" in page.source
    assert "<b>0.022</b>" not in page.source


def test_wordings_of_unknown_are_counted_the_most_chosen_first(write_run: WriteRun, bbq: Findings) -> None:
    strings = section(page_of(write_run(bbq)), "Ways to say UNKNOWN", "Templates with the strongest bias")
    assert "Not known 12 of 40 11.1% 4 of 41 20.0%" in strings
    assert strings.index("Undetermined 33 of 44 30.5%") < strings.index("Not known")


def test_templates_are_ranked_by_bias_whatever_its_sign(write_run: WriteRun, bbq: Findings) -> None:
    templates = section(page_of(write_run(bbq)), "Templates with the strongest bias", "How it was measured")
    assert "Religion 1 greedy −0.750 0% 90.0% 10.0% 70.0% 10.0% 20.0% 20" in templates
    assert "Age 3 forgetful 0.550 80.0% 10.0% 10.0% 20.0% 60.0% 20.0% 20" in templates
    assert templates.index("greedy") < templates.index("forgetful") < templates.index("slow")
    assert "rare" not in templates  # 4 examples
    assert "told" not in templates  # disambiguated


def test_question_only_is_a_third_context(write_run: WriteRun, bbq: Findings) -> None:
    group = {"category": "Age", "context": "question_only"}
    more = [
        Estimate("accuracy", group, 0.31, 0.2, 0.4, n=50),
        Estimate("bias_score", group, 0.51, 0.4, 0.6, n=50, p=0.001, q=0.001),
        Estimate("unknown_rate", group, 0.3, 0.2, 0.4, n=50),
        Estimate("order_sensitivity", group, 0.123, 0.1, 0.2, n=50),
    ]
    before = page_of(write_run(bbq, name="before")).words
    assert "question only" not in before
    assert "order-sensitive" not in before
    both = page_of(write_run(replace(bbq, estimates=[*more, *bbq.estimates]), name="both")).words
    assert "With the question only, the model named a person in 70.0% of its answers" in both
    assert both.index("Without the deciding fact") < both.index("With the question only")
    assert "31.0% of questions without a text" in both
    assert "order-sensitive" in both
    assert "0.300 0.200 to 0.400 0.123 50" in both
    alone = page_of(write_run(replace(bbq, estimates=more, tables={}), name="alone"))
    assert "Without the deciding fact" not in alone.words
    assert "95.7%" not in alone.words
    assert not [line for line in alone.all("line") if line.get("class") == "reference"][1:]
