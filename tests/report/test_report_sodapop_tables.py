"""SODAPOP's page below its first paragraphs: words by pair of groups, separation, the picture, traits and names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest

from assay.report.drawing import Scale
from assay.results.findings import Findings, Table
from html_pages import Page, write_page

pytestmark = pytest.mark.slow

WriteRun = Callable[..., Path]

PER_NAME = {"settings": {"distractors": "per_name"}}
SHARED = {"settings": {"distractors": "shared"}}


def page_of(folder: Path) -> Page:
    return Page(write_page(folder).read_text(encoding="utf-8"))


def section(page: Page, start: str, end: str) -> str:
    """The words of the page from one heading to another."""
    return page.words.split(start)[1].split(end)[0]


def words_section(page: Page) -> str:
    return section(page, "Words that fool the model The", "Can the groups be told apart?")


def drawings(page: Page) -> list[str]:
    """What the pictures say to those who do not see them."""
    return [svg["aria-label"] or "" for svg in page.all("svg") if svg.get("role") == "img"]


def test_the_headline_has_separation_with_readable_groups_and_says_what_n_counts(
    write_run: WriteRun, sodapop: Findings
) -> None:
    page = page_of(write_run(sodapop))
    headline = section(page, "Headline numbers How", "What the metrics mean")
    assert "KMeans accuracy" in headline
    assert "European American and African American female names 0.980 [1]" in headline
    assert "European American and African American female names 0.980 [1] 0.580 <0.001 12" in headline
    assert (
        "KMeans accuracy, European American and African American female names: 0.980. Chance level 0.580."
        in drawings(page)
    )
    assert "European American and African American male names – [2]" in headline
    assert "95% interval" not in headline  # there is none
    assert "n counts names" in headline


def test_clear_words_come_first_then_those_clear_by_themselves_then_the_rest(
    write_run: WriteRun, sodapop: Findings
) -> None:
    page = page_of(write_run(sodapop, PER_NAME))
    words = words_section(page)
    order = [words.index(said) for said in ("kind −0.857", "harsh 0.058", "loud 0.025", "let 2.000")]
    assert order == sorted(order)
    assert "kind: RD -0.857. Interval -1.200 to -0.400. The pools alone give -0.100." in drawings(page)
    assert "kind −0.857 −1.200 to −0.400 20.0% 50.0% 0.001 0.004 −0.100 −0.300 96" in words
    assert "loud 0.025 – 40.0% 39.0% 0.040 0.200 0.200 0.020 48" in words
    assert "European American female and male names: 2 of 4 words clear (kind, harsh)" in words
    assert "1 word never fooled the model for either group: RD is undefined." in words


def test_pairs_with_most_clear_words_come_first_and_pooled_ones_are_called_so(
    write_run: WriteRun, sodapop: Findings
) -> None:
    page = page_of(write_run(sodapop))
    words = words_section(page)
    heads = [
        "European American female and male names: 2 of 4 words clear (kind, harsh)",
        "female and male names, grouped: 1 of 1 word clear (kind)",
        "European American and African American female names: none of 1 word clear",
    ]
    places = [words.index(head) for head in heads]
    assert places == sorted(places)
    assert page.source.count("<strong><bdi>kind</bdi></strong>") == 3  # in the first paragraph and where it is clear
    picked = [each["data-name"] for each in page.all("details") if each.get("class") == "pair"][:3]
    assert picked == [
        "European American female and male names (2 clear)",
        "female and male names, grouped (1 clear)",
        "European American and African American female names (0 clear)",
    ]
    assert [each["data-pick"] for each in page.all("div") if "data-pick" in each] == ["Groups", "Groups"]


def test_the_pools_have_a_column_only_where_they_differ(write_run: WriteRun, sodapop: Findings) -> None:
    table = sodapop.tables["words"]
    zeros = [[0.0 if c == "rd_pools" else v for c, v in zip(table.columns, row, strict=True)] for row in table.rows]
    shared = replace(sodapop, tables={**sodapop.tables, "words": Table(table.columns, zeros)})
    pages = {
        "per_name": page_of(write_run(sodapop, PER_NAME, name="per_name")),
        "shared": page_of(write_run(shared, SHARED, name="shared")),
    }
    told = {name: words_section(page) for name, page in pages.items()}
    assert "RD, pools alone" in told["per_name"]
    assert "RD, pools alone" not in told["shared"]
    assert "All names share the same wrong answers; a model that ignores names has RD = 0." in told["shared"]
    assert "All names share" not in told["per_name"]
    ticks = {
        name: [path for path in page.all("path") if path.get("class") == "reference"] for name, page in pages.items()
    }
    assert len(ticks["per_name"]) == 6 + 3  # a tick on each word's bar, and in each line on how to read it
    assert not ticks["shared"]


def test_the_data_of_a_pair_are_those_of_its_table(write_run: WriteRun, sodapop: Findings) -> None:
    page = page_of(write_run(sodapop, PER_NAME))
    (link, *_) = [a for a in page.all("a") if a.get("download") == "sodapop-words.csv"]
    header, *rows = unquote((link["href"] or "").partition(",")[2]).splitlines()
    assert header == "group_a,group_b,word,rd,low,high,sr_a,sr_b,p,q,claimed,rd_pools,rd_controlled,n,note"
    assert rows[0] == "EA_female,EA_male,kind,-0.857,-1.2,-0.4,0.2,0.5,0.001,0.004,1,-0.1,-0.3,96,"
    assert [row.split(",")[2] for row in rows] == ["kind", "harsh", "loud", "let"]


def test_only_the_first_pairs_and_words_are_shown(write_run: WriteRun, sodapop: Findings) -> None:
    numbers = (0.3, 0.2, 0.1, 0.25)
    rows = [
        (f"A{pair:02}", "B", f"w{word:03}", *numbers, (word + 1) / 1000, 0.0, 0.9, 0.5, 0.3 + pair / 100, 90, 0.0, 0.1)
        for pair in range(60)
        for word in range(400)
    ]
    tables = {**sodapop.tables, "words": Table(sodapop.tables["words"].columns, rows)}
    path = write_page(write_run(replace(sodapop, tables=tables)))
    page = Page(path.read_text(encoding="utf-8"))
    words = words_section(page)
    assert path.stat().st_size < 400_000
    assert words.count("394 more words: tables/words.csv") == 40
    assert "20 more pairs of groups, and every word of all: tables/words.csv" in words
    assert "w399" in words
    assert "w394" in words
    assert "w393" not in words
    assert "A39 and B" in words
    assert "A40" not in words
    unfolded = [details for details in page.all("details") if details.get("class") == "pair" and "open" in details]
    assert len(unfolded) == 3 + 2  # of words and of traits


def test_a_word_that_hardly_ever_wins_does_not_squeeze_the_others(write_run: WriteRun, sodapop: Findings) -> None:
    columns = sodapop.tables["words"].columns
    numbers = (0.3, 0.2, 0.1, 0.25)
    rows = [("A", "B", f"w{i}", *numbers, 0.01 * i, None, None, 0.5, 0.5, 90, 0.0, 0.0) for i in range(10)]
    rows.append(("A", "B", "lucky", 0.01, 0.0, 0.01, 0.005, -2.0, None, None, 1.0, 1.0, 90, 0.0, 0.0))
    page = page_of(write_run(replace(sodapop, tables={"words": Table(columns, rows)})))
    assert "Scale from −0.1 to 0.1" in drawings(page)
    assert "An arrow points to a value beyond the scale." in page.words
    assert len([path for path in page.all("path") if (path.get("d") or "").startswith("M7 9")]) == 1
    usual = page_of(write_run(replace(sodapop, tables={"words": Table(columns, rows[:10])}), name="usual"))
    assert "arrow" not in usual.words


def test_a_bar_knows_whether_its_value_lies_beyond_the_scale() -> None:
    scale = Scale(-1.0, 1.0)
    assert [scale.beyond(value) for value in (-1.5, -1.0, 0.0, 1.0, 1.5)] == [-1, 0, 0, 0, 1]


def test_separation_comes_surest_first_with_floor_and_undefined_ones_last(
    write_run: WriteRun, sodapop: Findings
) -> None:
    page = page_of(write_run(sodapop, SHARED))
    told = section(page, "Can the groups be told apart? How", "The names in a picture")
    places = [
        told.index(said)
        for said in (
            "European American and African American female names 0.980",
            "European American female and male names 0.750",
            "European American and African American male",
        )
    ]
    assert places == sorted(places)
    assert "European American and African American female names 0.980 0.580 <0.001 – 12 0" in told
    assert "European American female and male names 0.750 0.580 0.190 – 12 2" in told  # two of its words are clear
    assert "European American and African American male names – [2]" in told
    assert "A model that ignores names is at the chance level." in told


def test_the_picture_has_a_mark_for_each_name_and_a_legend(write_run: WriteRun, sodapop: Findings) -> None:
    page = page_of(write_run(sodapop))
    picture = section(page, "The names in a picture How", "Traits that the words suggest")
    assert "European American female (2)" in picture
    assert "European American male (1)" in picture
    for said in (
        "Amanda (European American female)",
        "Heather (European American female)",
        "Adam (European American male)",
        "Aiesha (African American female)",
    ):
        assert picture.count(said) == 1
    drawn = page.source.split('<svg class="scatter"')[1].split("</svg>")[0]
    marks = re.findall(r'class="mark (\w+)( hollow)?" transform="translate\(([\d.]+) ([\d.]+)\)"', drawn)
    assert [mark[:2] for mark in marks] == [
        ("circle", ""),
        ("circle", ""),
        ("circle", " hollow"),
        ("square", ""),
    ]
    x, y = ([float(mark[place]) for mark in marks] for place in (2, 3))
    assert x[0] < x[1] == x[3] < x[2]
    assert y[1] < y[0] == y[2] < y[3]  # up stays up
    assert max(y) - min(y) == 2 * (x[2] - x[0])  # both directions on one scale
    assert "Distances, directions, sizes and the space between clusters mean little" in picture


def test_a_picture_of_one_place_or_of_thousands_of_names_can_be_drawn(write_run: WriteRun, sodapop: Findings) -> None:
    columns = sodapop.tables["projection"].columns
    same = Table(columns, [("A", f"n{i}", 3.0, -1.0) for i in range(5)])
    page = page_of(write_run(replace(sodapop, tables={"projection": same}), name="same"))
    assert page.source.count('transform="translate(320.0 230.0)"') == 5
    many = Table(columns, [(f"g{i % 40}", f"n{i}", i % 7, i % 11) for i in range(5000)])
    path = write_page(write_run(replace(sodapop, tables={"projection": many}), name="many"))
    words = Page(path.read_text(encoding="utf-8")).words
    assert path.stat().st_size < 200_000
    assert "28 other groups (3,500)" in words
    drawn = words.count(" (g")
    assert 400 < drawn <= 600 + 40
    assert f"{5000 - drawn:,} more are not drawn: tables/projection.csv." in words


def test_traits_are_told_in_words_and_compared_with_people(write_run: WriteRun, sodapop: Findings) -> None:
    traits = section(page_of(write_run(sodapop)), "Traits that the words suggest How", "The names How")
    assert "Words and people order the groups in the same way on 1 of 2 traits, over 1 pair of groups." in traits
    assert "European American female and male names: 3 traits, like people on 1 of 2" in traits
    assert "cold – warm 1 −2 European American female: more warm European American female: more warm yes" in traits
    more = "European American male: more high status European American female: more high status no"
    assert f"low status – high status 0 2 {more}" in traits
    assert "poor – wealthy 1 1 both the same" in traits
    assert traits.index("European American female and male names: 3") < traits.index(
        "European American and African American female names: 1 trait"
    )
    assert "cold – warm – −1 European American female: more warm" in traits


def test_without_people_nothing_is_compared_with_them(write_run: WriteRun, sodapop: Findings) -> None:
    table = sodapop.tables["traits"]
    rows = [(*row[:6], None, None) for row in table.rows]
    findings = replace(sodapop, tables={**sodapop.tables, "traits": Table(table.columns, rows)})
    traits = section(page_of(write_run(findings)), "Traits that the words suggest How", "The names How")
    assert "cold – warm 1 −2 European American female: more warm" in traits
    assert "people on" not in traits
    assert "by people" not in traits


def test_names_are_summed_up_by_group_and_listed_when_asked_for(write_run: WriteRun, sodapop: Findings) -> None:
    page = page_of(write_run(sodapop))
    names = section(page, "The names How", "How it was measured")
    groups, every = names.split("Every name")
    assert "European American female 2 0.431 1.5 50,500" in groups
    assert "African American female 1 0.350 3.0 –" in groups
    assert "Amanda" not in groups
    assert "Amanda European American female 0.437 1 100,000" in every
    assert "Aiesha African American female 0.350 3 –" in every
    folded = page.source.split("<summary><bdi>Every name</bdi></summary>")[0].rsplit("<details", 1)[1]
    assert "open" not in folded


def test_only_so_many_names_are_listed(write_run: WriteRun, sodapop: Findings) -> None:
    columns = sodapop.tables["names"].columns
    rows = [("G", f"n{i:04}", 0.4, 1, 400.0 if i == 0 else 4.0) for i in range(1000)]
    page = page_of(write_run(replace(sodapop, tables={"names": Table(columns, rows)})))
    assert "n0299" in page.words
    assert "n0300" not in page.words
    assert "700 more names: tables/names.csv" in page.words
    assert "G 1,000 0.400 1.0 10,000" in page.words
