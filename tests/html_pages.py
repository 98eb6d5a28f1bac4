"""Reading the pages that assay writes, and texts that try to act on them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

from assay.report import write_html
from assay.runs.folder import open_runs

HOSTILE = [
    "<script>alert(1)</script>",
    "</style><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "' onmouseover='alert(4)",
    "[red]not markup[/red] & &amp; &lt;",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(5)",
    "שלום \u202eabc مرحبا",
    "日本語 🙂 café",
    "x" * 3000,
]
_FILES = r"(findings\.json|run\.json|tables/[\w%.~-]+\.csv)"
OF_A_RUN = _FILES
"""Where the links of a run's page may lead, besides its own parts."""
OF_A_TOUR = rf"([\w%.~-]+/){{1,2}}{_FILES}"
"""Where those of a page over several runs may."""

_VOID = {"meta", "br", "hr", "img", "input", "link"}
_ACTING = {
    "img",
    "iframe",
    "object",
    "embed",
    "link",
    "base",
    "form",
    "audio",
    "video",
    "animate",
    "set",
    "foreignobject",
}
_LOADING = {"src", "srcset", "srcdoc", "style", "action", "formaction", "ping", "xlink:href", "background", "data"}
_SAVED = {".csv": "data:text/csv;charset=utf-8,", ".gz": "data:application/gzip;base64,"}


def write_page(folder: Path) -> Path:
    """Writes the page of a run folder, or of a folder of them, as `assay report` does."""
    return write_html(folder, open_runs(folder))


class Page(HTMLParser):
    """Elements with their attributes, and all text, of a page; complains about elements left open."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.parts: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.open: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice: {attrs}"
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            attributes, before = self.scripts.pop()
            self.scripts.append((attributes, before + data))
        elif self.open[-1:] != ["style"]:
            self.parts.append(data)

    @property
    def text(self) -> str:
        """All that a reader sees; no style and no script."""
        return "".join(self.parts)

    @property
    def words(self) -> str:
        """The text with every run of white space as one blank."""
        return " ".join(self.text.split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def links(self) -> list[str]:
        return [attributes.get("href") or "" for attributes in self.all("a")]

    @property
    def files(self) -> list[str]:
        """Where links lead that leave the page; not those to its parts, nor the data that it carries itself."""
        return [link for link in self.links if not link.startswith(("#", *_SAVED.values()))]

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.elements if "id" in attributes]


def cards(page: Page) -> list[str]:
    """The words of the cards on the first screen."""
    found = re.findall(r'<article class="card .*?</article>', page.source, re.S)
    assert found
    return [Page(card).words for card in found]


def in_words(page: Page) -> str:
    """What the page says at length about its one run, folded."""
    (found,) = re.findall(r"<summary><b>In words</b>.*?</summary>(.*?)</details>", page.source, re.S)
    return Page(found).words


UNFOLD = "document.querySelectorAll('details.fold').forEach((each) => { each.open = true; })"
"""Opens all that is folded, as clicks would, in a browser."""


def assert_harmless(page: Page, links: str = OF_A_RUN) -> None:
    """No script but our own, which the policy knows; nothing loaded from anywhere; no event handler; links only to
    files where they should lie, to parts of the page that are there, and to tables that are saved and never shown.
    """
    assert not _ACTING & {tag for tag, _ in page.elements}
    ids = set(page.ids)
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in _LOADING], tag
        link = attributes.get("href")
        if link is None:
            continue
        assert tag == "a", tag
        if link.startswith("#"):
            assert link[1:] in ids, link
        elif link.startswith("data:"):
            assert link.startswith(_SAVED[Path(attributes.get("download") or "").suffix]), link[:80]
        else:
            assert re.fullmatch(links, link), link
    assert_one_script(page)


def assert_one_script(page: Page) -> None:
    """One script, whose digest is in the policy; everything else in script elements is data."""
    own = [text for attributes, text in page.scripts if not attributes]
    data = [(attributes, text) for attributes, text in page.scripts if attributes]
    assert len(own) == 1
    for attributes, text in data:
        assert attributes["type"] == "application/json"
        assert set(attributes) <= {"type", "id"}
        json.loads(text)
    digest = base64.b64encode(hashlib.sha256(own[0].encode()).digest()).decode()
    equivalents = {meta["http-equiv"]: meta["content"] for meta in page.all("meta") if "http-equiv" in meta}
    assert equivalents == {
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    }
