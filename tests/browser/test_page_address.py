"""The first screen, and the address: it holds what a reader sorted, filtered, picked and unfolded; Back goes back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import wide_runs
from assay.results.verdict import Verdict, VerdictKind
from html_pages import write_page
from made_runs import RUN, write_run

Visit = Callable[..., Page]
PageOf = Callable[[str], Path]

SEEN = """(selector) => [...document.querySelectorAll(selector)].filter((element) => {
  const { top, bottom, left, right } = element.getBoundingClientRect();
  return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
}).length"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of three methods, each with its verdict, as a tour makes it."""
    folder = tmp_path_factory.mktemp("judged") / "tour"
    says = (VerdictKind.CLEAR, VerdictKind.FEW, VerdictKind.UNUSABLE)
    found = (wide_runs.wide_unqover(), wide_runs.wide_bbq(probe="bbq-starter"), wide_runs.wide_sodapop())
    for verdict, own in zip(says, found, strict=True):
        judged = replace(own, verdict=Verdict(verdict, "2 of 9 words are clear"))
        write_run(folder / own.probe, judged, {**RUN, "probe": own.probe})
    return write_page(folder)


def hash_of(page: Page) -> str:
    return str(page.evaluate("location.hash"))


def scrolled(page: Page) -> float:
    """How far down the page is, once it stands still."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return float(page.evaluate("scrollY"))


def test_the_first_screen_has_every_verdict_sentence_number_and_example(visit: Visit, judged: Path) -> None:
    page = visit(judged, width=1440, height=900)
    for part in (".verdict", "blockquote .question"):
        assert page.evaluate(SEEN, f".card {part}") == 3, part
    for part in (".sentence", ".number b", ".number svg.bar:not(.axis)"):  # of answers that can be used
        assert page.evaluate(SEEN, f".card {part}") == 2, part
    assert page.evaluate(SEEN, ".card .warning") >= 1
    verdicts = page.locator(".card .verdict").all_inner_texts()
    assert verdicts == ["Clear bias", "Too few questions", "Answers cannot be used"]


@pytest.mark.parametrize("name", ["unqover", "bbq", "sodapop", "judged"])
def test_a_page_has_at_most_six_screens_before_anything_is_unfolded(
    visit: Visit, page_of: PageOf, judged: Path, name: str
) -> None:
    page = visit(judged if name == "judged" else page_of(name), width=1440, height=900)
    assert page.evaluate("document.documentElement.scrollHeight") <= 6 * 900


def test_back_returns_from_the_examples_to_the_same_place_with_the_same_filter(visit: Visit, page_of: PageOf) -> None:
    page = visit(page_of("unqover"))
    page.get_by_role("link", name="See what was found").click()
    frame = page.locator("#p1-associations")
    frame.get_by_label("Filter", exact=True).fill("group e")
    row = frame.locator("tbody tr:visible", has_text="Group E")
    row.scroll_into_view_if_needed()
    page.mouse.wheel(0, 120)
    page.wait_for_timeout(200)
    before = scrolled(page)
    assert before > 0
    row.get_by_role("link", name="examples").click()
    expect(page.locator("#examples")).to_be_in_viewport()
    assert page.locator(".chip").count() > 0
    assert abs(scrolled(page) - before) > 100
    page.go_back()
    expect(page.locator(".chip")).to_have_count(0)
    expect(page.locator("#examples-fold")).not_to_have_attribute("open", "")
    assert abs(scrolled(page) - before) <= 2
    expect(frame.get_by_label("Filter", exact=True)).to_have_value("group e")
    expect(row).to_be_in_viewport()
    page.go_forward()
    expect(page.locator("#examples-fold")).to_have_attribute("open", "")
    assert page.locator(".chip").count() > 0


def test_the_address_brings_back_what_was_sorted_filtered_picked_and_unfolded(visit: Visit, page_of: PageOf) -> None:
    page = visit(page_of("unqover"))
    ranked = page.locator("details.fold", has_text="Subjects ranked")
    ranked.locator("> summary").click()
    head = page.locator("#p1-subjects thead th").nth(1)
    head.get_by_role("button").click()
    head.get_by_role("button").click()
    page.locator("#p1-associations").get_by_label("Filter", exact=True).fill("group b")
    page.locator("details.fold", has_text="Subjects and attributes").last.locator("> summary").click()
    page.get_by_label("Subjects and attributes of").select_option(label="religion, mask")
    page.locator("#examples-fold > summary").click()
    page.get_by_label("Search", exact=True).fill("gambled")
    expect(page).to_have_url(re.compile("gambled"))
    kept = [page.locator("#p1-subjects tbody").inner_text(), page.locator("#example-list").inner_text()]
    other = visit(page_of("unqover"))  # another reader, who was sent the address
    other.goto(page.url)
    for again in (page, other):
        again.reload()
        assert again.locator("#p1-subjects thead th").nth(1).get_attribute("aria-sort") == "ascending"
        found = [again.locator("#p1-subjects tbody").inner_text(), again.locator("#example-list").inner_text()]
        assert found == kept
        assert again.locator("#p1-associations tbody tr:not(.head):visible").count() == 1
        picked = again.get_by_label("Subjects and attributes of").locator("option:checked")
        expect(picked).to_have_text("religion, mask")
        expect(again.locator("[data-heat] svg.heat-map:visible").first).to_be_visible()
        expect(again.get_by_label("Search", exact=True)).to_have_value("gambled")
        assert hash_of(again) == hash_of(page)


def test_what_is_as_it_was_leaves_no_trace_in_the_address(visit: Visit, page_of: PageOf) -> None:
    page = visit(page_of("unqover"))
    field = page.locator("#p1-associations").get_by_label("Filter", exact=True)
    field.fill("group b")
    expect(page).to_have_url(re.compile("group"))
    field.fill("")
    expect(page).not_to_have_url(re.compile("[?]"))


def test_the_link_to_a_row_opens_the_fold_that_it_is_in(visit: Visit, page_of: PageOf) -> None:
    page = visit(page_of("unqover"))
    row = page.locator("#p1-subjects tbody tr:not(.head)").nth(4)
    link = row.locator("a.here").get_attribute("href") or ""
    assert link.startswith("#p1-subjects-row-")
    expect(row).to_be_hidden()
    page.goto(f"{page_of('unqover').as_uri()}{link}")
    page.reload()
    expect(row).to_be_visible()
    expect(row).to_be_in_viewport()


def test_the_link_to_a_row_picks_the_part_that_it_is_in(visit: Visit, page_of: PageOf) -> None:
    page = visit(page_of("sodapop"))
    box = page.locator("[data-pick]", has=page.locator("> details.pair")).first
    last = box.locator("> [data-name]").last
    expect(last).to_be_hidden()
    link = last.locator("a.here").first.get_attribute("href") or ""
    page.evaluate("(link) => { location.hash = link; location.reload(); }", link)
    page.wait_for_load_state()
    row = page.locator(link)
    expect(row).to_be_visible()
    expect(row).to_be_in_viewport()


@pytest.mark.parametrize("address", ["#%E0%A4%A", "#p1?see=%7B&sort-1=99+down&open=nothing&control-1=9", "#?see=null"])
def test_a_damaged_address_gives_the_page_as_it_is(visit: Visit, page_of: PageOf, address: str) -> None:
    page = visit(page_of("unqover"))
    page.evaluate("(address) => { location.hash = address; location.reload(); }", address)
    page.wait_for_load_state()
    expect(page.locator("html[data-ready]")).to_have_count(1)
    assert page.locator(".chip").count() == 0
    assert page.locator("details.fold[open]").count() == 0
