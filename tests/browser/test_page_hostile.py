"""No text of a run can act on the page: every one of them is in turn something that would, if it were not escaped."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import wide_runs
from assay.cli import main
from assay.results.examples import FILE
from assay.runs.folder import open_runs
from html_pages import write_page

Visit = Callable[..., Page]

PWN = "window.pwned=1"
HANDLERS = " ".join(f"on{event}={{0}}{PWN}{{0}}" for event in ("pointermove", "click", "focusin", "toggle", "load"))
ACTING = [
    f"<script>{PWN}</script>",
    f"</script><script>{PWN}</script>",
    f'"><img src=x onerror={PWN}>',
    f"'><svg onload={PWN}></svg>",
    f'" {HANDLERS.format(chr(39))} zz="',
    f"' {HANDLERS.format(chr(34))} zz='",
    f"</style></title></svg></textarea><script>{PWN}</script>",
    f"javascript:{PWN}//",
    f'";{PWN};//',
]
"""What acts somewhere, when nothing escapes it."""
ODD = [
    "<!--<script>",
    "]]>-->\u2028\u2029\x1b\u202e&quot;&#39;&lt;b&gt;\t\r\n",
    f'\\";{PWN};//\\',
    "=1+1,@x|'!A0\";${7*7}{{ 7 * 7 }}{% raw %}[x](y)",
]
"""What confuses parsers of one format or another."""

PLACES = [
    "<p>{}</p>",
    '<p title="{}">x</p>',
    "<p title='{}'>x</p>",
    "<style>{}</style>",
    '<script type="application/json">{}</script>',
    '<script>const text = "{}";</script>',
    '<a href="{}">x</a>',
]
"""Where texts stand in a page."""

# Uses everything that the page has to be used.
USE = """async () => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const send = (element, Kind, name, more = {}) =>
    element.dispatchEvent(new Kind(name, { bubbles: true, cancelable: true, ...more }));
  all('details').forEach((each) => { each.open = true; });
  document.getElementById('reveal')?.click();
  for (const select of all('select')) for (const option of [...select.options].slice(0, 4)) {
    select.value = option.value;
    send(select, Event, 'change');
  }
  for (const text of ['<', 'x', '']) for (const input of all('input[type=search]')) {
    input.value = text;
    send(input, Event, 'input');
  }
  all('.sort, .sort').forEach((button) => button.click());
  for (const element of all('[data-tip], [title], p, a:not([download])').slice(0, 400)) {
    send(element, PointerEvent, 'pointermove', { clientX: 50, clientY: 50 });
    send(element, FocusEvent, 'focusin');
  }
  for (const map of all('svg.heat-map')) {
    const box = map.getBoundingClientRect();
    for (const part of [0.3, 0.5, 0.7, 0.9]) send(map, PointerEvent, 'pointermove',
      { clientX: box.left + part * box.width, clientY: box.top + part * box.height });
    for (const key of ['ArrowDown', 'ArrowRight', 'Enter']) send(map, KeyboardEvent, 'keydown', { key });
    map.dispatchEvent(new MouseEvent('click', { bubbles: true }));
  }
  for (const link of all('[data-see]').slice(0, 60)) link.click();
  for (const chip of all('.chip')) chip.click();
  all('#example-list + button, button.theme, section button:not(.sort)').forEach((button) => button.click());
  await new Promise((done) => setTimeout(done, 50));
}"""
ACTED = "() => window.pwned"
FOREIGN = """() => {
  const tags = 'img, iframe, object, embed, base, form, link, textarea, b b';
  const scripts = [...document.scripts].filter((script) => script.type !== 'application/json');
  const handlers = [...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames())
    .filter((name) => name.startsWith('on') || name === 'src' || name === 'zz');
  const links = [...document.links].map((a) => a.protocol).filter((name) => !['file:', 'data:'].includes(name));
  return [document.querySelectorAll(tags).length, scripts.length - 1, handlers, links];
}"""


HOSTILE = [*ACTING, *ODD]


def hostile_page(folder: Path, shift: int, kept: frozenset[str] = wide_runs.STRUCTURE) -> Path:
    """The page of all probes with a hostile text before every text. Which one, the text decides, and the shift."""
    hostile_runs(folder, shift, kept)
    (folder / "model-0").rename(folder / hostile("folder", shift).replace("/", "\\"))
    return write_page(folder)


def hostile(own: str, shift: int) -> str:
    return HOSTILE[(zlib.crc32(own.encode("utf-8", "replace")) + shift) % len(HOSTILE)]


def hostile_runs(folder: Path, shift: int, kept: frozenset[str], models: Sequence[str] = (wide_runs.MODEL,)) -> Path:
    def before(own: str) -> str:
        return hostile(own, shift)

    wide_runs.write_all(folder, models)
    for path in folder.rglob("findings.json"):
        content, text = json.loads(path.read_text(encoding="utf-8")), before(str(path.parent.name))
        content["estimates"] += [{**content["estimates"][0], "metric": text, "group": {text: text}, "note": text}]
        if content["tables"]:
            content["tables"] |= dict.fromkeys(HOSTILE, next(iter(content["tables"].values())))
        path.write_text(json.dumps(content), encoding="utf-8")
    for path in folder.rglob(FILE):
        lines, text = path.read_text(encoding="utf-8"), before(str(path.parent.name))
        first = json.loads(lines.split("\n")[0])
        named = {**first, "about": {**first["about"], text: [text]}}
        path.write_text(f"{lines}{json.dumps(named)}\n", encoding="utf-8")
    wide_runs.rewrite(folder, lambda own: before(own) + own, kept)
    return folder


@pytest.mark.parametrize("shift", range(0, len(HOSTILE), 3))
def test_no_text_of_a_run_acts_however_the_page_is_used(visit: Visit, tmp_path: Path, shift: int) -> None:
    """Without the page's policy, so that escaping alone has to do it."""
    page = visit(hostile_page(tmp_path / "runs", shift), bypass_csp=True)
    page.evaluate(USE)
    assert page.evaluate(ACTED) is None
    assert page.evaluate(FOREIGN) == [0, 0, [], []]
    words = " ".join((page.locator("main").text_content() or "").split())
    assert all(words.count(" ".join(text.split())) > 10 for text in HOSTILE)


def test_no_text_acts_where_even_those_that_the_page_decides_by_are_hostile(visit: Visit, tmp_path: Path) -> None:
    page = visit(hostile_page(tmp_path / "runs", 1, kept=frozenset()))
    page.evaluate(USE)
    assert page.evaluate(ACTED) is None
    assert page.evaluate(FOREIGN) == [0, 0, [], []]


def test_nor_on_the_page_of_several_models(visit: Visit, tmp_path: Path) -> None:
    runs = hostile_runs(tmp_path / "runs", 2, wide_runs.STRUCTURE, ("hf:org/model", "hf:org/other"))
    assert main(["report", str(runs)]) == 0
    page = visit(runs / "report.html", bypass_csp=True)
    page.evaluate(USE)
    assert page.evaluate(ACTED) is None
    assert page.evaluate(FOREIGN) == [0, 0, [], []]
    words = " ".join((page.locator("main").text_content() or "").split())
    assert all(" ".join(text.split()) in words for text in HOSTILE)


def test_nor_in_a_notebook(visit: Visit, tmp_path: Path) -> None:
    """What a notebook shows of runs and tables has no policy and no script of its own."""
    runs = open_runs(hostile_runs(tmp_path / "runs", 0, wide_runs.STRUCTURE))
    shown = [*runs, *(table for run in runs for table in run.findings.tables.values())]
    text = "".join(str(each._repr_html_()) for each in shown)
    (tmp_path / "cell.html").write_text(f"<!doctype html><meta charset=utf-8><main>{text}</main>", encoding="utf-8")
    page = visit(tmp_path / "cell.html")
    page.evaluate(USE)
    assert page.evaluate(ACTED) is None
    assert page.evaluate(FOREIGN) == [0, -1, [], []]


@pytest.mark.parametrize("text", ACTING, ids=range(len(ACTING)))
def test_these_texts_do_act_where_nothing_escapes_them(browser: Browser, text: str) -> None:
    """Else the tests above would prove nothing."""
    page = browser.new_page()
    acted = []
    for place in PLACES:
        page.set_content("<!doctype html><main>" + place.replace("{}", text) + "</main>")
        page.evaluate("document.querySelectorAll('p, a[href^=javascript]').forEach((each) => each.click())")
        page.wait_for_timeout(10)
        acted.append(page.evaluate(ACTED))
    page.close()
    assert 1 in acted


def test_a_script_that_got_into_the_page_would_still_be_stopped_by_its_policy(
    browser: Browser, page_of: Callable[[str], Path], tmp_path: Path
) -> None:
    path = tmp_path / "broken.html"
    source = page_of("unqover").read_text(encoding="utf-8")
    path.write_text(
        source.replace("<main", f"<script>{PWN}</script><img src=x onerror={PWN}><main", 1), encoding="utf-8"
    )
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(path.as_uri())
    assert page.evaluate(ACTED) is None
    assert page.locator("html[data-ready]").count() == 1  # our own script runs
    assert any("Content Security Policy" in text for text in said)
    page.close()
