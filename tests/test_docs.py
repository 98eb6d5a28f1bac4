"""The documentation: it builds without a broken link, a reader's browser fetches nothing, and its commands exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser

import assay
from assay.cli import _parser
from sharing import Shared

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
BUILD = ("build", "--strict")
ELSEWHERE = re.compile(r"(https?:)?//")
LOADED = {  # what a browser fetches by itself
    "script": ("src",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}


def build(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """mkdocs as `make docs` calls it."""
    command = [sys.executable, "-m", "mkdocs", *BUILD, "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="session")
def site(shared: Shared) -> Path:
    def write(folder: Path) -> None:
        done = build(ROOT, folder)
        assert done.returncode == 0, done.stderr + done.stdout

    return shared("site", write)


class Fetched(HTMLParser):
    """What a page makes a browser fetch: addresses in elements and in styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self._style = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._style = tag == "style"
        self.addresses += [given[name] for name in LOADED.get(tag, ()) if name in given]
        if tag == "link" and not {"canonical", "prev", "next"} & set(given.get("rel", "").split()):
            self.addresses.append(given.get("href", ""))
        self.addresses += in_styles(given.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        self._style = False

    def handle_data(self, data: str) -> None:
        if self._style:
            self.addresses += in_styles(data)


def in_styles(text: str) -> list[str]:
    found = re.findall(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""", text)
    return [one or other for one, other in found]


# --- the site


@pytest.mark.parametrize(("link", "fails"), [("other.md", False), ("gone.md", True), ("other.md#gone", True)])
def test_a_broken_link_stops_the_build(tmp_path: Path, link: str, fails: bool) -> None:
    """With --quiet it would not: mkdocs then hides warnings from --strict as well."""
    assert f"mkdocs {' '.join(BUILD)} 2>&1" in (ROOT / "Makefile").read_text(encoding="utf-8")
    checked = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nvalidation:")[2]
    (tmp_path / "mkdocs.yml").write_text(f"site_name: x\ntheme: mkdocs\nplugins: []\nvalidation:{checked}")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"[a link]({link})")
    (tmp_path / "docs" / "other.md").write_text("# Other")
    assert (build(tmp_path, tmp_path / "site").returncode != 0) == fails


def test_every_page_is_there(site: Path) -> None:
    built = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {f"{page.stem}.html" for page in PAGES} <= built
    assert {"data/builtin.html", "data/unqover.html", "data/bbq_starter.html"} <= built
    assert (site / "search" / "search_index.json").is_file()


def test_reading_a_page_fetches_nothing_from_elsewhere(site: Path) -> None:
    fetched = {
        f"{path.relative_to(site)}: {address}"
        for path in site.rglob("*.html")
        for address in Fetched(path.read_text(encoding="utf-8")).addresses
    }
    assert len(fetched) > len(PAGES), "styles and scripts of the site itself"
    fetched |= {
        f"{path.relative_to(site)}: {address}"
        for path in site.rglob("*.css")
        for address in in_styles(path.read_text(encoding="utf-8"))
    }
    assert not [each for each in fetched if ELSEWHERE.match(each.partition(": ")[2])]


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://x.org/a.js"></script>',
        '<link rel="stylesheet" href="//x.org/a.css">',
        '<link rel="preconnect" href="https://x.org">',
        "<style>@import 'https://x.org/a.css';</style>",
        '<p style="background: url(https://x.org/a.png)">',
        '<img src="https://x.org/a.png">',
    ],
)
def test_what_would_be_fetched_is_noticed(page: str) -> None:
    assert any(ELSEWHERE.match(address) for address in Fetched(page).addresses)


def test_the_scripts_of_the_site_find_nothing_that_makes_them_fetch(site: Path) -> None:
    """The theme's script loads a library for diagrams, and facts about a repository, where a page has them."""
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert 'class="mermaid"' not in page
        assert 'data-md-component="source"' not in page


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The site's address on this machine, while a web server hands it out."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("place", ["a folder", "a server"])
def test_the_search_finds_a_word(site: Path, browser: Browser, place: str) -> None:
    """Opened from a folder, too, where browsers start no workers; and without asking any other machine."""
    with nullcontext(site.as_uri()) if place == "a folder" else served(site) as address:
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/studies/builtin.html")
        page.fill("input.md-search__input", "quartets")
        found = page.locator(".md-search-result__link")
        found.first.wait_for(timeout=60_000)  # the first search loads the whole index
        assert f"{address}/bbq.html#examples-and-quartets" in found.evaluate_all(
            "links => links.map(each => each.href)"
        )
        page.close()
    assert [url for url in asked if not url.startswith(address)] == []


@pytest.mark.parametrize("name", [*assay.__all__, "Findings", "Estimate", "Table", "Run", "UsageError", "DataError"])
def test_the_reference_has_every_public_name(site: Path, name: str) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    assert re.search(rf'<h\d id="assay\.[\w.]*\b{name}"', page)


def test_the_gallery_shows_the_pictures_that_its_script_makes() -> None:
    pictures = set((ROOT / "docs" / "gallery").glob("*.png"))
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    script = (ROOT / "docs" / "make_gallery.py").read_text(encoding="utf-8")
    assert {path.stem for path in pictures} == set(re.findall(r"\(gallery/(\w+)\.png\)", page))
    assert {path.stem for path in pictures} == set(re.findall(r'^    "(\w+)": {"page": ', script, flags=re.MULTILINE))
    assert {path.name: path.stat().st_size for path in pictures if path.stat().st_size > 150_000} == {}


# --- the texts, as they are read on GitHub


def links(path: Path) -> Iterator[str]:
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    yield from re.findall(r"\]\(([^)\s]+)\)", text)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_links_to_files_lead_to_files(path: Path) -> None:
    for link in links(path):
        if not ELSEWHERE.match(link) and not link.startswith("#"):
            assert (path.parent / link.partition("#")[0]).exists(), link


def commands(path: Path) -> Iterator[list[str]]:
    """The commands of assay in blocks of code."""
    for block in re.findall(r"```\w*\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL):
        for line in re.findall(r"^\s*(?:- (?:run: )?)?assay (.+)$", block, flags=re.MULTILINE):
            arguments = shlex.split(re.split(r"\s[>|]", line)[0], comments=True)
            if "·" not in arguments:
                yield arguments


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_commands_have_options_that_exist(path: Path) -> None:
    for arguments in commands(path):
        try:
            _parser().parse_args(arguments)
        except SystemExit:
            pytest.fail(f"assay {shlex.join(arguments)}")


def test_commands_are_found_and_wrong_ones_noticed() -> None:
    assert ["run", "unqover", "--model", "hf:./my-squad-model"] in list(commands(ROOT / "README.md"))
    with pytest.raises(SystemExit):
        _parser().parse_args(["run", "--no-such-option"])
