"""BBQ's page below its first paragraphs: the headline, the charts and what is shown of the long tables."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from assay.results.findings import Cell, Estimate, Findings, Table
from html_pages import Page, write_page
from made_runs import with_maps

WriteRun = Callable[..., Path]


def page_of(folder: Path) -> Page:
    return Page(write_page(folder).read_text(encoding="utf-8"))


def frame_of(page: Page, name: str) -> Page:
    """A chart of the first run, with all that its frame has."""
    (found,) = re.findall(rf'<figure class="chart-frame" id="p1-{name}">.*?</figure>', page.source, re.S)
    return Page(found)


def data_of(frame: Page) -> Table:
    """The table that a frame offers to save."""
    (link,) = [unquote(link).partition(",")[2] for link in frame.links if link.startswith("data:text/csv")]
    columns, *rows = csv.reader(link.splitlines())
    return Table(columns, rows)


def heat_of(frame: Page) -> dict[str, Any]:
    (data,) = [json.loads(text) for _, text in frame.scripts]
    return dict(data)


def test_the_headline_has_all_categories_together_and_says_what_n_counts(write_run: WriteRun, bbq: Findings) -> None:
    headline = frame_of(page_of(write_run(bbq)), "headline").words
    assert "n counts examples" in headline
    assert "all categories, ambiguous 0.050" in headline
    assert "all categories, disambiguated 0.850" in headline
    assert "Age" not in headline
    assert "negative questions" not in headline


def test_a_run_of_one_category_has_its_estimates_in_the_headline(write_run: WriteRun, bbq: Findings) -> None:
    estimates = [each for each in bbq.estimates if each.group["category"] == "Age"]
    page = page_of(write_run(replace(bbq, estimates=estimates)))
    headline = frame_of(page, "headline").words
    assert "Age, ambiguous 0.200" in headline
    assert "negative questions" not in headline
    assert "the model named a person in 40.0% of its answers" in page.words
    assert "in 1 category (Age)" in page.words


def test_charts_show_every_category_and_context_with_its_neighbours(write_run: WriteRun, bbq: Findings) -> None:
    page = page_of(write_run(bbq))
    bias = frame_of(page, "bias").words
    assert "0.200 0.100 to 0.300 0.004 0.750 0.070 200" in bias
    assert "Race × gender ambiguous" in bias
    assert "Race_x_gender" not in page.words
    assert "0.120 – [1] 0.400 0.750 0.070 72" in bias
    assert "– [2] –" in bias
    notes = frame_of(page, "headline").words
    assert notes.index("no interval: 4 templates") < notes.index("no answer named a person")
    accuracy = frame_of(page, "accuracy")
    assert "0.600 0.500 to 0.650 0.590 0.610 200" in accuracy.words
    assert "Interval 0.500 to 0.650. Chance level 0.333. For comparison: 0.957." in accuracy.source
    cost = frame_of(page, "cost").words
    assert cost.count("−0.040 −0.090 to −0.010 0.030") == 4
    assert "ambiguous ambiguous" not in cost


def test_charts_offer_their_data(write_run: WriteRun, bbq: Findings) -> None:
    page = page_of(write_run(bbq))
    bias = list(data_of(frame_of(page, "bias")).records())
    assert len(bias) == 8
    first = {"category": "Age", "context": "ambig", "bias_score": "0.2", "low": "0.1", "high": "0.3", "p": "0.002"}
    assert bias[0] == {**first, "q": "0.004", "n": "200", "error_alignment": "0.75", "diff_bias": "0.07"}
    accuracy = list(data_of(frame_of(page, "accuracy")).records())
    assert [(row["accuracy_neg"], row["accuracy_nonneg"]) for row in accuracy][:1] == [("0.59", "0.61")]
    compared = list(data_of(frame_of(page, "comparisons")).records())
    assert [(row["comparison"], row["bias_score"]) for row in compared] == [("a", "0.11"), ("b", "0.12"), ("c", "0.13")]
    labels = list(data_of(frame_of(page, "labels")).records())
    assert (labels[0]["label"], labels[0]["bias_score"]) == ("old", "0.15")
    templates = list(data_of(frame_of(page, "templates")).records())
    assert len(templates) == 6
    strings = list(data_of(frame_of(page, "strings")).records())
    assert ("Not known", "disambig", "41", "4") in [tuple(row.values())[:4] for row in strings]


def test_labels_that_are_clear_of_chance_come_before_larger_scores(write_run: WriteRun, bbq: Findings) -> None:
    page = page_of(write_run(bbq))
    drawn, single = frame_of(page, "labels"), frame_of(page, "single").words
    general = drawn.words
    order = [general.index(said) for said in ("old 0.150", "middle-aged 0.440", "young 0.660")]
    assert order == sorted(order)
    assert "0.150 0.050 to 0.250 0.006 150" in general
    assert 'aria-label="old: bias score 0.150. Interval 0.050 to 0.250."' in drawn.source
    assert "scarce" not in general + single  # 3 examples
    assert "0.017" not in general + single  # disambiguated
    assert "F-Black" not in general + single  # crossed, shown below
    assert single.index("young (Age) reckless −0.470") < single.index("old (Age) forgetful 0.370")


def test_only_a_few_labels_of_a_category_are_shown(write_run: WriteRun, bbq: Findings) -> None:
    columns = bbq.tables["by_label"].columns
    rows: list[tuple[Cell, ...]] = [
        ("Age", "ambig", f"L{i:04}", None, i / 5000, None, None, None, None, 9) for i in range(4000)
    ]
    rows += [("Age", "ambig", f"L{i:04}", "some", i / 5000, None, None, None, None, 9) for i in range(4000)]
    crossed = [("Race_x_gender", "ambig", f"T{i:04}", "a", 0.1, None, None, None, None, 9) for i in range(4000)]
    tables = {"by_label": Table(columns, rows), "intersectional": Table(bbq.tables["intersectional"].columns, crossed)}
    path = write_page(write_run(replace(bbq, tables=tables)))
    page = Page(path.read_text(encoding="utf-8"))
    words = page.words
    assert path.stat().st_size < 170_000  # of which the script and the maps' data are 50,000
    assert "L3999" in words
    assert "L2000" not in page.source
    assert heat_of(frame_of(page, "stereotypes-1"))["columns"].count("L3999") == 1
    assert "3,995 more groups: tables/by_label.csv" in words
    assert "3,990 more: tables/by_label.csv" in words
    assert "3,980 more: tables/intersectional.csv" in words


def test_crossed_categories_are_compared_in_words(write_run: WriteRun, bbq: Findings) -> None:
    page = page_of(write_run(bbq))
    compared = frame_of(page, "comparisons").words
    for value, said in {
        "0.110": "same race, other gender",
        "0.120": "other race, same gender",
        "0.130": "other race, other gender",
    }.items():
        assert f"Race × gender: {said} ambiguous {value} −0.300 to 0.300 24" in compared
    crossed = frame_of(page, "targets-1").words
    assert "Asian, male −0.230" in crossed
    assert "Black, female 0.210 0.022" in crossed
    assert "<b>0.210</b>" in page.source
    assert "<b>0.022</b>" not in page.source


def test_maps_show_labels_with_stereotypes_and_crossed_groups_by_comparison(write_run: WriteRun, bbq: Findings) -> None:
    page = page_of(write_run(with_maps(bbq)))
    labels = heat_of(frame_of(page, "stereotypes-1"))
    assert labels["columns"] == ["old", "young"]
    numbers = zip(labels["values"], labels["beside"].pop("n"), strict=True)
    assert dict(zip(labels["rows"], numbers, strict=True)) == {
        "forgetful": ([0.37, None], [20, None]),
        "slow": ([0.1, None], [20, None]),
        "reckless": ([None, -0.47], [None, 20]),
    }
    assert not labels["beside"]  # no interval is known
    crossed = heat_of(frame_of(page, "crossed-1"))
    assert crossed["columns"] == ["same race, other gender", "other race, same gender"]  # c is undefined
    assert dict(zip(crossed["rows"], crossed["values"], strict=True)) == {
        "Black, female": [0.21, None],
        "Asian, male": [None, -0.23],
        "White, female": [None, 0.17],
    }
    assert "Crossed groups: Race × gender, disambiguated: not drawn" in page.words  # it would be one square
    names = [each["data-name"] for each in page.all("details") if "data-name" in each]
    assert names == ["Age, ambiguous", "Race × gender, ambiguous", "Race × gender, disambiguated"]
    saved = {row["group"]: row["bias_score"] for row in data_of(frame_of(page, "crossed-1")).records()}
    assert saved == {"Black, female": "0.21", "Asian, male": "-0.23", "White, female": "0.17"}


@pytest.mark.parametrize(
    ("refusals", "shares"),
    [
        ("wrong", {"named": 0.24, "unknown": 0.48, "refused": 0.08, "unparsed": 0.05, "tied": 0.15}),
        ("unknown", {"named": 0.32, "unknown": 0.4, "refused": 0.08, "unparsed": 0.05, "tied": 0.15}),
    ],
)
def test_kinds_of_answers_are_parts_of_one_bar(
    write_run: WriteRun, bbq: Findings, refusals: str, shares: dict[str, float]
) -> None:
    rates = {"unknown_rate": 0.6, "refused_rate": 0.1, "unparsed_rate": 0.05, "tied_rate": 0.15}
    estimates = [replace(each, value=rates.get(each.metric, each.value)) for each in bbq.estimates]
    run = {"settings": {"refusals": refusals}}
    frame = frame_of(page_of(write_run(replace(bbq, estimates=estimates), run)), "rates")
    first = next(iter(data_of(frame).records()))
    assert {kind: float(str(first[kind])) for kind in shares} == pytest.approx(shares)
    bars = re.findall(r'<svg class="bar" [^>]*data-tip>(.*?)</svg>', frame.source, re.S)
    assert len(bars) == 8
    widths = [float(width) for width in re.findall(r' width="([\d.]+)"', bars[0])]
    assert widths == pytest.approx([188 * share for share in shares.values()], abs=0.06)
    assert f"Age, ambiguous: named someone {100 * shares['named']:.1f}%, cannot be determined" in frame.source


def test_a_kind_of_answer_that_never_came_has_no_part_in_the_bar(write_run: WriteRun, bbq: Findings) -> None:
    frame = frame_of(page_of(write_run(bbq)), "rates")
    assert 'aria-label="Age, ambiguous: named someone 40.0%, cannot be determined 60.0%"' in frame.source
    assert len(re.findall("<rect", frame.source)) == 2 * 8 + 4  # two kinds in each bar, and the explanation


def test_wordings_of_unknown_are_counted_the_most_chosen_first(write_run: WriteRun, bbq: Findings) -> None:
    strings = frame_of(page_of(write_run(bbq)), "strings").words
    assert "Not known 12 of 40 11.1% 4 of 41 20.0%" in strings
    assert strings.index("Undetermined 33 of 44 30.5%") < strings.index("Not known")


def test_templates_are_ranked_by_bias_whatever_its_sign(write_run: WriteRun, bbq: Findings) -> None:
    templates = frame_of(page_of(write_run(bbq)), "templates").words
    assert "Religion 1 greedy −0.750 0% 90.0% 10.0% 70.0% 10.0% 20.0% 20" in templates
    assert "Age 3 forgetful 0.550 80.0% 10.0% 10.0% 20.0% 60.0% 20.0% 20" in templates
    assert templates.index("greedy") < templates.index("forgetful") < templates.index("slow")
    assert "rare" not in templates  # 4 examples
    assert "told" not in templates  # disambiguated


def test_templates_of_the_same_bias_are_in_order_whatever_their_last_digits(write_run: WriteRun, bbq: Findings) -> None:
    third, both = 0.333333333333, 0.666666666667  # as they are stored
    rates = (0.0, 0.0, 0.0, 0.5, 0.1)
    rows = [
        ("Religion", 7, "ambig", "neg", "greedy", 3, both, third, 0.0, *rates),
        ("Religion", 7, "ambig", "nonneg", "greedy", 3, 0.0, 1.0, 0.0, *rates),
        ("Age", 5, "ambig", "neg", "forgetful", 3, third, 0.0, both, *rates),
        ("Age", 5, "ambig", "nonneg", "forgetful", 3, 0.0, 1.0, 0.0, *rates),
    ]
    tables = {"by_template": Table(bbq.tables["by_template"].columns, rows)}
    templates = frame_of(page_of(write_run(replace(bbq, tables=tables))), "templates").words
    assert templates.count(" 0.667 ") == 2
    assert templates.index("forgetful") < templates.index("greedy")


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
    assert "With the question alone, the model named a person in 70.0% of its answers" in both
    assert both.index("Without the deciding fact") < both.index("With the question alone")
    assert "31.0% of questions without a text" in both
    assert "order-sensitive" in both
    assert "0.300 0.200 to 0.400 0.123 50" in both
    alone = page_of(write_run(replace(bbq, estimates=more, tables={}), name="alone"))
    assert "Without the deciding fact" not in alone.words
    assert "95.7%" not in alone.words
    assert not [path for path in alone.all("path") if path.get("class") == "reference"]
