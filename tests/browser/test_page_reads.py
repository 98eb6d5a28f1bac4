"""The page as it is looked at: with and without a script, on a phone, in the dark, on paper, read aloud."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import made_runs
import wide_runs
from assay.results.findings import Findings
from html_pages import UNFOLD, write_page
from small_tour import Toured

Visit = Callable[..., Page]
PageOf = Callable[[str], Path]
PROBES = ("unqover", "bbq", "sodapop")
BIGGEST = 2_000_000  # bytes of a page

# What a reader of the page sees of it, as data.
VISIBLE = "() => document.querySelector('main').innerText"
COLOURS = """() => {
  const probe = document.body.appendChild(document.createElement('i'));
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    const context = document.createElement('canvas').getContext('2d');
    context.fillStyle = getComputedStyle(probe).color;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const names = ['paper', 'soft', 'warn', 'ink', 'quiet', 'value'];
  const found = Object.fromEntries(names.map((name) => [name, colour(name)]));
  probe.remove();
  return found;
}"""


# Numbers outside of what a reader has to unfold: those that are not to be seen, and how many are.
NUMBERS = """() => {
  const cells = [...document.querySelectorAll('td.num')].filter((cell) => !cell.closest('details:not([open])'));
  const unseen = cells.filter((cell) => !cell.checkVisibility());
  return [unseen.map((cell) => cell.outerHTML), cells.length - unseen.length];
}"""
MARKED = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const told = (elements) => elements.map((element) => element.outerHTML.slice(0, 300));
  const named = (element) => element.getAttribute('aria-label') || element.getAttribute('aria-labelledby');
  const empty = (element) => !element.textContent.trim() && !named(element) && !element.querySelector('[aria-label]');
  const cut = (box) => box.scrollWidth > box.clientWidth && box.tabIndex < 0 && !box.querySelector('[tabindex="0"]');
  const ids = all('[id]').map((element) => element.id);
  const labels = all('[aria-labelledby]').flatMap((element) => named(element).split(' '));
  return {
    levels: all('h1, h2, h3, h4, h5, h6').map((heading) => Number(heading.tagName[1])),
    landmarks: [all('main').length, all('nav[aria-label]').length, document.documentElement.lang],
    emptyElements: told(all('h1, h2, h3, h4, h5, h6, button, summary, a, th').filter(empty)),
    controlsWithoutLabel: told(all('input, select').filter((control) => !control.labels.length)),
    picturesWithoutName: told(all('svg[role=img]').filter((svg) => !named(svg))),
    picturesWithoutRole: told(all('svg:not([role=img]):not([aria-hidden=true])')),
    idsTwice: ids.filter((id, place) => ids.indexOf(id) !== place),
    labelsMissing: labels.filter((id) => !ids.includes(id)),
    linksNowhere: told(all('a[href^="#"]').filter((a) => !ids.includes(a.getAttribute('href').slice(1)))),
    headersWithoutScope: told(all('th:not([scope])')),
    scrolledByMouseAlone: told(all('div.scroll').filter(cut)),
  };
}"""


def contrast(one: list[int], other: list[int]) -> float:
    """The contrast of two colours by WCAG 2: from 1 to 21; text needs 4.5."""

    def luminance(colour: list[int]) -> float:
        parts = (c / 255 for c in colour)
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def brightness(page: Page) -> float:
    """Of the paper, from 0 to 255."""
    found = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", found)[:3])) / 3


# --- with a script and without


@pytest.mark.parametrize(
    ("name", "drawings"),
    [
        ("unqover", ["svg.bar[data-tip]", "svg.axis", "svg.heat-map"]),
        ("bbq", ["svg.bar[data-tip]", "svg.axis", "svg.heat-map"]),
        ("sodapop", ["svg.bar[data-tip]", "svg.axis", "svg.scatter"]),
    ],
)
def test_the_charts_of_a_probe_are_there(visit: Visit, page_of: PageOf, name: str, drawings: list[str]) -> None:
    for script in (True, False):
        page = visit(page_of(name), java_script_enabled=script)
        page.evaluate(UNFOLD)
        for drawing in drawings:
            first = page.locator(f"{drawing}:visible").first
            box = first.bounding_box()
            assert box is not None, drawing
            assert box["width"] > 50
    assert page.locator("figure.chart-frame").count() >= 3


def test_a_real_tour_is_one_page_below_two_megabytes(visit: Visit, toured: Toured) -> None:
    path = toured.folder / "report.html"
    assert path.stat().st_size < BIGGEST
    page = visit(path, width=1440, height=900)
    assert page.locator("html[data-ready]").count() == 1
    assert page.locator("section.probe").count() == 3
    assert page.evaluate("document.documentElement.scrollHeight") <= 6 * 900
    page.evaluate(UNFOLD)
    assert page.locator("svg.bar:visible").count() > 50
    expect(page.locator("svg.scatter")).to_be_visible()
    assert page.locator(".example").count() > 5
    assert "demonstration: a small teaching model" in page.evaluate(VISIBLE)
    links = page.evaluate("[...document.querySelectorAll('a[href]')].map((link) => link.getAttribute('href'))")
    files = [link for link in links if not link.startswith(("#", "data:"))]
    assert len(files) > 9
    assert all((toured.folder / file).is_file() for file in files)


def test_without_a_script_every_number_is_there_and_nothing_waits_for_one(visit: Visit, page_of: PageOf) -> None:
    page = visit(page_of("all"), java_script_enabled=False)
    assert page.locator("button, select, input[type=search], #tip:visible").count() == 0
    assert page.locator("[hidden]:not(#tip)").count() == 0
    page.evaluate(UNFOLD)
    unseen, seen = page.evaluate(NUMBERS)
    assert unseen == []
    assert seen > 200
    words = page.evaluate(VISIBLE)
    for said in ("−0.417", "0.110 to 0.160", "1,234", "Content warning"):
        assert said in words


def test_the_script_adds_tools_and_takes_no_number_away(visit: Visit, page_of: PageOf) -> None:
    numbers = []
    for script in (False, True):
        page = visit(page_of("all"), java_script_enabled=script)
        numbers.append(sorted(page.locator("td.num").all_text_contents()))
    assert numbers[0] == numbers[1]
    assert page.locator(".sort").count() > 10
    assert page.locator("button.theme").count() == 1


# --- several models, few findings, many


def test_several_models_and_probes_share_one_page(visit: Visit, page_of: PageOf) -> None:
    page = visit(page_of("models"))
    assert page.locator("section.probe").count() == 5
    assert page.locator("section.run").count() == 10
    assert page.locator("section.run:visible").count() == 5
    first = page.locator("section.probe").first
    expect(first.get_by_role("heading", name="Models side by side")).to_be_visible()
    expect(first.get_by_role("heading", name=re.compile("Ranks of subjects across models"))).to_be_visible()
    first.get_by_label("Model", exact=True).select_option(index=1)
    expect(first.locator("section.run:visible > h3")).to_have_text("hf:org/other")


def test_a_page_without_estimates_tables_or_examples_says_so(visit: Visit, tmp_path: Path) -> None:
    for probe in (*PROBES, "bbq-starter", "sodapop-names", "another"):
        page = visit(write_page(made_runs.write_run(tmp_path / probe, Findings(probe, "m", []))))
        words = page.evaluate(VISIBLE)  # without unfolding anything
        assert "This run has no estimates" in words
        assert "No examples are stored with this run" in words


@pytest.mark.parametrize("name", PROBES)
def test_undefined_numbers_and_empty_categories_give_a_page(visit: Visit, tmp_path: Path, name: str) -> None:
    page = visit(write_page(made_runs.write_run(tmp_path / name, wide_runs.emptied(name), {"notes": None})))
    page.evaluate(UNFOLD)
    words = page.evaluate(VISIBLE)
    for wrong in ("None", "NaN", "undefined,", "Infinity", "[object"):
        assert wrong not in words
    assert "–" in words


@pytest.mark.parametrize("name", PROBES)
def test_thousands_of_subjects_give_a_page_that_is_small_and_quick(visit: Visit, tmp_path: Path, name: str) -> None:
    path = write_page(made_runs.write_run(tmp_path / name, wide_runs.crowded(name), made_runs.RUN))
    assert path.stat().st_size < BIGGEST
    page = visit(path)
    spent = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert 0 < spent < 5_000  # milliseconds
    assert page.evaluate("document.documentElement.scrollWidth") <= 1100


# --- small screens, dark rooms, paper


@pytest.mark.parametrize("name", [*PROBES, "models"])
@pytest.mark.parametrize("script", [True, False])
def test_a_page_fits_a_phone(visit: Visit, page_of: PageOf, name: str, script: bool) -> None:
    page = visit(page_of(name), width=400, java_script_enabled=script)
    assert page.locator("html").evaluate("html => html.scrollWidth") <= 400
    if script:
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.locator("html").evaluate("html => html.scrollWidth") <= 400
        expect(page.locator("svg.bar:visible").first).to_be_visible()


def test_long_names_do_not_widen_a_page(visit: Visit, tmp_path: Path) -> None:
    folder = wide_runs.write_all(tmp_path / "long")
    wide_runs.rewrite(folder, lambda text: text + "x" * 400)
    page = visit(write_page(folder), width=400)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.locator("[data-see]:visible").first.click()
    assert page.locator(".chip:visible").count() > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_dark_screen_gets_a_dark_page_and_a_button_turns_it_round(visit: Visit, page_of: PageOf) -> None:
    for scheme, first, then in (("light", "Dark", "Light"), ("dark", "Light", "Dark")):
        page = visit(page_of("unqover"), color_scheme=scheme)
        assert (brightness(page) < 64) == (scheme == "dark")
        button = page.locator("button.theme")
        expect(button).to_have_text(first)
        button.click()
        assert (brightness(page) < 64) == (scheme == "light")
        expect(button).to_have_text(then)
        button.click()
        assert (brightness(page) < 64) == (scheme == "dark")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(visit: Visit, page_of: PageOf, scheme: str) -> None:
    colours = visit(page_of("unqover"), color_scheme=scheme).evaluate(COLOURS)
    assert (sum(colours["paper"]) < 200) == (scheme == "dark")
    for ground in ("paper", "soft", "warn"):
        for text in ("ink", "quiet", "value"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


def test_on_paper_there_are_no_tools_no_dark_colours_and_no_examples_unasked(visit: Visit, page_of: PageOf) -> None:
    page = visit(page_of("all"), color_scheme="dark")
    page.emulate_media(media="print")
    assert brightness(page) > 250
    assert page.locator(".sort").first.evaluate("button => getComputedStyle(button, '::after').content") == "none"
    for gone in ("nav", ".tools", ".see", "#example-list", "button:not(.sort, .pick)"):
        assert page.locator(f"{gone}:visible").count() == 0, gone
    assert page.locator("svg.bar:visible").count() > 20
    page.emulate_media(media="screen")
    page.locator("#examples-fold summary").first.click()
    page.get_by_label("Show the examples").check()
    page.locator("button.theme").click()  # light, then dark again: what a reader chose is not what is printed
    page.locator("button.theme").click()
    page.emulate_media(media="print")
    assert brightness(page) > 250
    expect(page.locator("#example-list")).to_be_visible()
    expect(page.locator("#example-list")).to_have_css("filter", "none")


def test_a_printed_page_has_cards_and_main_charts_and_only_what_was_unfolded(visit: Visit, page_of: PageOf) -> None:
    page = visit(page_of("all"))
    folded = page.locator("details:not([open]):visible").count()
    assert folded > 20
    charts = page.locator("section.probe figure.chart-frame:visible").count()
    page.emulate_media(media="print")
    assert page.locator(".card:visible").count() == 5
    assert page.locator("section.probe figure.chart-frame:visible").count() == charts >= 4
    folds = page.locator("details:not([open]):visible, summary:visible, .card .on:visible")
    assert folds.count() == 1  # the summary of the words of two groups, which are SODAPOP's main chart
    headings = page.locator("h2:visible").all_inner_texts()
    assert headings == ["In short", "UnQover", "BBQ", "bbq-starter", "SODAPOP", "another"]
    page.emulate_media(media="screen")
    page.locator("#cite-fold summary").click()
    page.emulate_media(media="print")
    expect(page.locator("#cite-fold")).to_be_visible()
    page.emulate_media(media="screen")
    pdf = page.pdf(format="A4", outline=True, tagged=True)
    assert pdf.startswith(b"%PDF")
    assert 2 < len(re.findall(rb"/Type */Page\b", pdf)) < 20
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.S)
    written = sum(unpacked(stream).count(b"TJ") + unpacked(stream).count(b"Tj") for stream in streams)
    assert written > 300  # operators that show text
    for heading in (b"UnQover", b"How to cite"):
        assert heading in pdf or heading.decode().encode("utf-16-be").hex().upper().encode() in pdf
    assert page.locator("details:not([open]):visible").count() == folded - 1  # as it was


def unpacked(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:  # an image, or not packed
        return stream


# --- read aloud, and without a mouse


@pytest.mark.parametrize("name", [*PROBES, "models"])
def test_a_page_is_marked_up_for_those_who_do_not_see_it(visit: Visit, page_of: PageOf, name: str) -> None:
    page = visit(page_of(name))
    found = page.evaluate(MARKED)
    levels = found.pop("levels")
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    assert found.pop("landmarks") == [1, 1, "en"]
    assert found == {fault: [] for fault in found}


def test_the_tab_key_reaches_links_tools_tables_and_charts_in_the_order_of_the_page(
    visit: Visit, page_of: PageOf
) -> None:
    page = visit(page_of("unqover"))
    page.evaluate(UNFOLD)
    places, reached = [], set()
    for _ in range(500):
        page.keyboard.press("Tab")
        at = page.evaluate(
            """() => {
              const element = document.activeElement;
              const outlined = getComputedStyle(element).outlineStyle !== 'none';
              const place = [...document.querySelectorAll('*')].indexOf(element);
              return [place, element.tagName.toLowerCase(), element.getAttribute('class') || '', outlined];
            }"""
        )
        if at[1] == "body":
            break
        places.append(at[0])
        reached.add(at[2] or at[1])
        assert at[3], f"no outline shows where the focus is: {at}"
    assert places == sorted(places)
    assert {"skip", "theme", "sort", "scroll", "heat-map", "csv", "see", "input", "select", "summary"} <= reached
    assert page.locator("#example-list a:focus, #example-list button:focus").count() == 0


def test_the_first_tab_offers_to_skip_the_navigation(visit: Visit, page_of: PageOf) -> None:
    page = visit(page_of("unqover"))
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    expect(page.locator(".skip")).to_be_in_viewport()
