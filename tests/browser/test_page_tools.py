"""What readers do with the page: sort, filter, pick, point at, search, save."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import wide_runs
from html_pages import UNFOLD

Visit = Callable[..., Page]
PageOf = Callable[[str], Path]


@pytest.fixture
def unqover(visit: Visit, page_of: PageOf) -> Page:
    """With all that is folded unfolded."""
    return opened(visit(page_of("unqover")))


def opened(page: Page) -> Page:
    page.evaluate(UNFOLD)
    return page


def column(table: Locator, place: int) -> list[str]:
    """The cells of a column that are to be seen, without those of headings."""
    rows = table.locator("tr:has(td):not(.head):not(.more):visible")
    return [row.locator("th, td").nth(place).inner_text() for row in rows.all()]


def figures(cells: list[str]) -> list[float]:
    return [float(cell.replace("−", "-")) for cell in cells]


def shown(page: Page) -> list[str]:
    """The numbers of the examples that are to be seen."""
    texts = page.locator("#example-list > .example:visible .text").all_text_contents()
    return [text.split(":")[0].removeprefix("Number ") for text in texts]


def heat_map(page: Page) -> Locator:
    """The heat map of all attributes and subjects."""
    page.get_by_label("Subjects and attributes of").select_option(label="religion, mask")
    return page.locator("[data-heat]:has(svg[aria-label*='10 rows, 12 columns'])")


def drawn(heat: Locator) -> list[str]:
    """The names of the rows that a heat map shows, from top to bottom."""
    return heat.locator(".labels text[text-anchor=end]").all_text_contents()


def squares(heat: Locator) -> int:
    return sum((path.get_attribute("d") or "").count("M") for path in heat.locator("svg.heat-map path").all())


def tool(heat: Locator, label: str) -> Locator:
    """A control in the frame of a chart."""
    return heat.locator("xpath=ancestor::figure").get_by_label(label, exact=True)


def scroll_to(page: Page, picture: Locator) -> None:
    """Scrolls, and waits until that is over: scrolling hides the tip."""
    picture.scroll_into_view_if_needed()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def reveal(page: Page) -> None:
    page.get_by_label("Show the examples").check()


# --- tables


def test_a_click_on_a_header_sorts_and_another_one_turns_the_order_round(unqover: Page) -> None:
    table = unqover.locator("#p1-subjects table")
    head = table.locator("thead th").nth(1)
    before = figures(column(table, 1))
    assert len(before) == 12
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert figures(column(table, 1)) == sorted(before, reverse=True)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert figures(column(table, 1)) == sorted(before)
    table.locator("thead th").first.get_by_role("button").click()
    assert column(table, 0) == sorted(wide_runs.WHO, reverse=True)
    assert [head.get_attribute("aria-sort") for head in table.locator("thead th").all()].count(None) == 7


def test_a_table_is_sorted_with_the_keyboard(unqover: Page) -> None:
    table = unqover.locator("#p1-subjects table")
    table.locator("xpath=..").focus()  # the region that scrolls
    for _ in range(2):  # the field that filters it, its first header
        unqover.keyboard.press("Tab")
    expect(table.get_by_role("button", name="subject")).to_be_focused()
    unqover.keyboard.press("Enter")
    assert column(table, 0) == sorted(wide_runs.WHO, reverse=True)
    unqover.keyboard.press("Enter")
    assert column(table, 0) == sorted(wide_runs.WHO)


@pytest.mark.parametrize("place", [1, 3])
def test_what_is_undefined_stays_last_and_rows_stay_under_their_metric(unqover: Page, place: int) -> None:
    table = unqover.locator("#p1-headline table")
    for _ in range(2):
        table.locator("thead th").nth(place).get_by_role("button").click()
        intensity = column(table.locator("tbody").first, place)
        assert len(intensity) == 3
        assert [cell.startswith("–") for cell in intensity] == [False, False, True]
        assert table.locator("tbody").first.locator("tr").first.inner_text().startswith("μ bias intensity")
    assert intensity[:2] == sorted(intensity[:2])


def test_columns_without_values_have_nothing_to_sort_by(unqover: Page) -> None:
    assert unqover.locator("th.drawing .sort").count() == 0


def test_a_filter_hides_the_rows_that_do_not_have_the_text(unqover: Page) -> None:
    table = unqover.locator("#p1-associations table")
    field = unqover.locator("#p1-associations").get_by_label("Filter", exact=True)
    everything = column(table, 0)
    field.fill("GROUP b")
    assert column(table, 0) == ["Group B"]
    expect(table.get_by_text("gender, span")).to_be_hidden()  # a heading without rows
    field.fill("nothing has this")
    assert column(table, 0) == []
    field.fill("")
    assert column(table, 0) == everything


def test_one_of_several_is_shown_and_any_other_can_be_picked(unqover: Page) -> None:
    box = unqover.locator("[data-pick='Subjects and attributes of']")
    names = [item.get_attribute("data-name") for item in box.locator("> [data-name]").all()]
    assert len(names) == 3
    choice = unqover.get_by_label("Subjects and attributes of")
    assert choice.locator("option").all_inner_texts() == names
    for place in (0, 2, 1):
        choice.select_option(index=place)
        assert [item.is_visible() for item in box.locator("> [data-name]").all()] == [k == place for k in range(3)]


def test_every_picker_of_every_probe_shows_one_at_a_time(visit: Visit, page_of: PageOf) -> None:
    page = visit(page_of("all"))
    kept = page.evaluate(
        """() => [...document.querySelectorAll('[data-pick]')].map((box) =>
            [...box.children].filter((child) => 'name' in child.dataset && !child.hidden).length)"""
    )
    assert kept
    assert set(kept) == {1}


def test_no_sorting_or_filtering_loses_a_row_of_any_table(visit: Visit, page_of: PageOf) -> None:
    page = visit(page_of("models"))
    tables = page.evaluate(
        """() => [...document.querySelectorAll('table[data-sort], table[data-filter]')].map((table) => {
            const rows = (body) => [...body.rows].map((row) => row.textContent).sort();
            const bodies = () => [...table.tBodies].map(rows).sort();
            const before = JSON.stringify(bodies()), order = table.textContent;
            let moved = false;
            for (const button of table.querySelectorAll('.sort')) for (const _ of [1, 2]) {
                button.click();
                moved ||= table.textContent !== order;
            }
            const frame = table.closest('.chart-frame');
            const fields = frame ? [...frame.querySelectorAll('input[type=search]')] : [];
            for (const text of ['no row has this', '']) for (const field of fields) {
                field.value = text;
                field.dispatchEvent(new Event('input'));
            }
            return [JSON.stringify(bodies()) === before, table.querySelectorAll('[hidden]').length, moved];
        })"""
    )
    assert len(tables) > 20
    assert all(same and hidden == 0 for same, hidden, _ in tables)
    assert sum(moved for _, _, moved in tables) > 10


def test_the_data_of_a_heat_map_are_saved_as_it_has_them(unqover: Page, tmp_path: Path) -> None:
    frame = heat_map(unqover).locator("xpath=ancestor::figure")
    values = frame.locator("[data-heat] script").evaluate("e => JSON.parse(e.textContent).values.flat()")
    with unqover.expect_download() as saved:
        frame.get_by_role("link", name="Data as CSV").click()
    assert saved.value.suggested_filename == "unqover-gamma.csv"
    saved.value.save_as(tmp_path / "saved.csv")
    with (tmp_path / "saved.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["γ"]) for row in rows] == [value for value in values if value is not None]


def test_the_data_of_a_chart_are_saved_as_csv(unqover: Page, tmp_path: Path) -> None:
    with unqover.expect_download() as saved:
        unqover.locator("#p1-subjects").get_by_role("link", name="Data as CSV").click()
    assert saved.value.suggested_filename == "unqover-subjects.csv"
    saved.value.save_as(tmp_path / "saved.csv")
    with (tmp_path / "saved.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["subject"] for row in rows) == sorted(wide_runs.WHO)
    assert {row["class"] for row in rows} == {"religion"}
    assert all(float(row["low"]) == -0.2 for row in rows)


@pytest.mark.parametrize("probe", ["bbq", "sodapop"])
def test_every_chart_offers_its_data(visit: Visit, page_of: PageOf, probe: str, tmp_path: Path) -> None:
    page = opened(visit(page_of(probe)))
    links = page.locator("a.csv:visible").all()
    assert len(links) >= 3
    for link in links:
        with page.expect_download() as saved:
            link.click()
        assert saved.value.suggested_filename.endswith(".csv")
        saved.value.save_as(tmp_path / "saved.csv")
        with (tmp_path / "saved.csv").open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        assert rows
        assert all(len(row) == len(header) for row in rows)


# --- charts


def test_a_bar_says_its_numbers_when_pointed_at(unqover: Page) -> None:
    tip = unqover.locator("#tip")
    expect(tip).to_be_hidden()
    picture = unqover.locator("#p1-subjects svg.bar[data-tip]").first
    scroll_to(unqover, picture)
    picture.hover()
    expect(tip).to_be_visible()
    assert tip.inner_text().startswith("Group ")
    assert "Interval −0.200 to 0.200" in tip.inner_text().replace("-", "−")
    unqover.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_a_heat_map_shows_what_its_filters_leave(unqover: Page) -> None:
    heat = heat_map(unqover)
    assert sorted(drawn(heat)) == sorted(wide_runs.DID)
    assert squares(heat) == 12 * 10 - 1  # one was never asked
    tool(heat, "Filter attribute").fill("WAS L")
    assert sorted(drawn(heat)) == ["was late", "was lazy"]
    assert squares(heat) == 23
    tool(heat, "Filter subject").fill("group c")
    assert heat.locator(".labels text:not([text-anchor=end])").all_text_contents() == ["Group C"]
    assert squares(heat) == 1
    tool(heat, "Filter subject").fill("nobody")
    assert squares(heat) == 0
    tool(heat, "Filter subject").fill("")
    tool(heat, "Filter attribute").fill("")
    assert squares(heat) == 119


def test_the_rows_of_a_heat_map_are_put_in_order(unqover: Page) -> None:
    heat = heat_map(unqover)
    similar = drawn(heat)
    tool(heat, "Order").select_option(label="by name")
    assert drawn(heat) == sorted(wide_runs.DID)
    tool(heat, "Order").select_option(label="by mean")
    rows = wide_runs.wide_unqover().tables["gamma"].records()
    gammas: dict[str, list[float]] = {}
    for row in rows:
        gammas.setdefault(str(row["attribute"]), []).append(float(row["gamma"] or 0))
    means = [sum(gammas[name]) / len(gammas[name]) for name in drawn(heat)]
    assert means == sorted(means, reverse=True)
    tool(heat, "Order").select_option(label="similar together")
    assert drawn(heat) == similar


def test_the_script_draws_a_heat_map_as_it_came(visit: Visit, page_of: PageOf) -> None:
    drawings = []
    for script in (True, False):
        page = visit(page_of("unqover"), java_script_enabled=script)
        own = page.locator("svg.heat-map").all()
        paths = [
            {path.get_attribute("class"): path.get_attribute("d") for path in one.locator("path").all()} for one in own
        ]
        labels = [one.locator("text").all_text_contents() for one in own]
        drawings.append((paths, labels))
    assert len(drawings[0][0]) == 2
    assert drawings[0] == drawings[1]


def test_a_square_says_its_numbers_when_pointed_at(unqover: Page) -> None:
    heat = heat_map(unqover)
    tool(heat, "Filter subject").fill("Group B")
    tool(heat, "Filter attribute").fill("lied")
    picture = heat.locator("svg.heat-map")
    scroll_to(unqover, picture)
    unqover.mouse.move(*place_of(picture, 0, 0))
    tip = unqover.locator("#tip")
    expect(tip).to_be_visible()
    assert tip.inner_text().split("\n") == ["lied · Group B", "γ −0.25", "low −0.35", "high −0.15", "q 0.5", "n 1,234"]
    expect(heat.locator(".cursor")).to_have_attribute("visibility", "visible")
    unqover.mouse.move(2, 2)
    expect(tip).to_be_hidden()


def test_a_tap_says_the_numbers_and_another_one_on_a_square_leads_to_examples(visit: Visit, page_of: PageOf) -> None:
    page = opened(visit(page_of("unqover"), width=400, has_touch=True))
    tip = page.locator("#tip")
    bar = page.locator("#p1-headline svg.bar[data-tip]").first
    scroll_to(page, bar)
    bar.tap()
    expect(tip).to_have_text(re.compile("gender, span, grouped by gender"))
    heat = heat_map(page)
    tool(heat, "Filter subject").fill("Group D")
    tool(heat, "Order").select_option(label="by name")
    picture = heat.locator("svg.heat-map")
    scroll_to(page, picture)
    at = place_of(picture, sorted(wide_runs.DID).index("stole"), 0)
    page.touchscreen.tap(*at)
    expect(tip).to_have_text(re.compile("^stole · Group D"))
    assert page.locator(".chip").count() == 0
    page.touchscreen.tap(*at)
    assert "subject: Group D ×" in page.locator(".chip").all_inner_texts()


def place_of(picture: Locator, row: int, place: int) -> tuple[float, float]:
    """Where the middle of a square is in the window."""
    box, (_, _, width, _) = picture.bounding_box(), map(float, (picture.get_attribute("viewBox") or "").split())
    squares = " ".join(path.get_attribute("d") or "" for path in picture.locator("path").all())
    corners = [(float(x), float(y)) for x, y in re.findall(r"M(\d+) (\d+)h", squares)]
    left, top = min(x for x, _ in corners), min(y for _, y in corners)
    assert box is not None
    zoom = box["width"] / width
    return box["x"] + zoom * (left + 15 * place + 7), box["y"] + zoom * (top + 15 * row + 7)


def test_the_arrow_keys_move_over_a_heat_map_and_enter_leads_to_examples(unqover: Page) -> None:
    heat = heat_map(unqover)
    tool(heat, "Order").select_option(label="by name")
    heat.locator("svg.heat-map").focus()
    said = heat.locator("[aria-live]")
    seen = []
    for key in ("ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"):
        unqover.keyboard.press(key)
        seen.append((said.text_content() or "").split("\n")[0].split(" · "))
    assert [row for row, _ in seen] == ["drank", "drank", "cheated", "cheated"]
    assert seen[0][1] == seen[3][1] != seen[1][1] == seen[2][1]
    unqover.keyboard.press("ArrowUp")  # stays at the edge
    assert said.inner_text().startswith("cheated")
    unqover.keyboard.press("Enter")
    assert unqover.locator(".chip").all_inner_texts() == [
        "class: religion ×",
        "form: mask ×",
        "attribute: cheated ×",
        f"subject: {seen[3][1]} ×",
    ]
    assert unqover.evaluate("document.activeElement.id") == "reveal"


def test_a_click_on_a_square_leads_to_its_examples(unqover: Page) -> None:
    heat = heat_map(unqover)
    tool(heat, "Filter attribute").fill("was late")
    tool(heat, "Filter subject").fill("Group B")
    picture = heat.locator("svg.heat-map")
    scroll_to(unqover, picture)
    unqover.mouse.click(*place_of(picture, 0, 0))
    reveal(unqover)
    assert shown(unqover) == ["1"]


def test_a_legend_dims_the_groups_that_were_not_picked(visit: Visit, page_of: PageOf) -> None:
    page = opened(visit(page_of("sodapop")))
    buttons = page.locator("[data-legend] button")
    marks = page.locator("svg.scatter [data-key]")
    assert (buttons.count(), marks.count()) == (3, 4)
    dimmed = page.locator("svg.scatter [data-key].dim")
    assert dimmed.count() == 0
    women, men = (buttons.filter(has_text=group) for group in ("European American female", "European American male"))
    women.click()
    expect(women).to_have_attribute("aria-pressed", "true")
    assert dimmed.count() == 2
    men.click()
    assert dimmed.count() == 1
    women.click()
    men.click()
    assert dimmed.count() == 0


def test_a_name_in_the_picture_says_who_it_is_when_pointed_at(visit: Visit, page_of: PageOf) -> None:
    page = opened(visit(page_of("sodapop")))
    mark = page.locator("svg.scatter [data-key]").nth(2)
    scroll_to(page, mark)
    mark.hover()
    expect(page.locator("#tip")).to_have_text(re.compile("Adam.*European American male"))


# --- examples


def test_examples_are_blurred_and_out_of_reach_until_asked_for(unqover: Page) -> None:
    veil = unqover.locator("#example-list")
    blur = "getComputedStyle(document.getElementById('example-list')).filter"
    assert unqover.evaluate(blur).startswith("blur(")
    assert veil.evaluate("list => list.inert")
    reveal(unqover)
    assert unqover.evaluate(blur) == "none"
    assert not veil.evaluate("list => list.inert")
    unqover.get_by_label("Show the examples").uncheck()
    assert unqover.evaluate(blur).startswith("blur(")
    assert veil.evaluate("list => list.inert")


def test_without_a_script_examples_are_blurred_until_asked_for(visit: Visit, page_of: PageOf) -> None:
    page = opened(visit(page_of("unqover"), java_script_enabled=False))
    veil = page.locator("#example-list")
    expect(veil).to_have_css("filter", "blur(8px)")
    reveal(page)
    expect(veil).to_have_css("filter", "none")
    assert len(shown(page)) == 30


def test_examples_come_ten_at_a_time(unqover: Page) -> None:
    reveal(unqover)
    assert shown(unqover) == [str(i) for i in range(10)]
    more = unqover.get_by_role("button", name="Show more")
    more.click()
    expect(unqover.get_by_text("20 of 30 shown")).to_be_visible()
    assert len(shown(unqover)) == 20
    more.click()
    expect(more).to_be_hidden()
    assert shown(unqover) == [str(i) for i in range(30)]


def test_a_search_narrows_the_examples_and_says_when_none_fits(unqover: Page) -> None:
    reveal(unqover)
    field = unqover.get_by_label("Search", exact=True)
    field.fill("note of number 17")
    assert shown(unqover) == ["17"]
    field.fill("WHO GAMBLED")
    assert shown(unqover) == ["8", "18", "28"]
    field.fill("zebra")
    assert shown(unqover) == []
    expect(unqover.get_by_text("none of the stored examples fits")).to_be_visible()
    field.fill("")
    expect(unqover.get_by_text("10 of 30 shown")).to_be_visible()


def test_from_a_number_to_its_examples_and_back_to_all(unqover: Page) -> None:
    reveal(unqover)
    row = unqover.locator("#p1-associations tbody tr", has_text="Group E")
    row.get_by_role("link", name="examples").click()
    expected = [
        str(i) for i, example in enumerate(wide_runs.wide_unqover().examples) if example.fits({"subject": "Group E"})
    ]
    both = [i for i in expected if wide_runs.DID[int(i) % 10] == "cheated"]
    assert shown(unqover) == both
    assert both
    assert len(expected) > len(both)
    expect(unqover.locator("#examples")).to_be_in_viewport()
    assert unqover.evaluate("document.activeElement.id") == "example-search"
    unqover.locator(".chip", has_text="attribute").click()
    assert shown(unqover) == expected
    for _ in range(3):
        unqover.locator(".chip").first.click()
    assert unqover.locator(".chip").count() == 0
    expect(unqover.get_by_text("10 of 30 shown")).to_be_visible()


def test_a_link_to_examples_is_only_where_there_are_some(unqover: Page) -> None:
    headline = unqover.locator("#p1-headline tbody tr:not(.head)")
    have = {row.locator("th").inner_text(): row.locator(".see").count() for row in headline.all()}
    assert have == {"gender, span": 0, "gender, span, grouped by gender": 0, "religion, mask": 1}


def test_every_link_to_examples_leads_to_at_least_one(visit: Visit, page_of: PageOf) -> None:
    page = opened(visit(page_of("models")))
    page.evaluate("history.pushState = history.replaceState = () => {}")  # which browsers allow only so often a second
    reveal(page)
    found = page.evaluate(
        """() => [...document.querySelectorAll('[data-see]')].map((link) => {
            link.click();
            return document.querySelectorAll('#example-list > .example:not([hidden])').length;
        })"""
    )
    assert len(found) > 20
    assert min(found) >= 1


def test_examples_of_one_run_are_picked_among_several(visit: Visit, page_of: PageOf) -> None:
    page = opened(visit(page_of("models")))
    reveal(page)
    choice = page.get_by_label("From", exact=True)
    options = choice.locator("option").all_inner_texts()
    assert options[0] == "everything"
    assert len(options) == 1 + 2 * 4  # the one without examples is not offered
    choice.select_option(label="SODAPOP, hf:org/other")
    own = page.locator("#example-list > .example:visible .about").all_inner_texts()
    assert len(own) == 3
    assert all(text.startswith("SODAPOP · hf:org/other") for text in own)
