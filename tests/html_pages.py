"""Reading the pages that assay writes, and texts that try to act on them."""

from __future__ import annotations

import re
from html.parser import HTMLParser

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
OF_A_RUN = r"#note-\d+|#|findings\.json|tables/[\w%.~-]+\.csv"
"""Where the links of a run's page may lead."""
OF_A_TOUR = r"[\w%.~-]+/report\.html"
"""Where those of a tour's page may."""

_VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """Elements with their attributes, and all text, of a page; complains about elements left open."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.parts: list[str] = []
        self.open: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    @property
    def text(self) -> str:
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


def assert_harmless(page: Page, links: str = OF_A_RUN) -> None:
    """No script, nothing loaded from anywhere, no event handler, and links only to where they should lead."""
    assert not {"script", "img", "iframe", "object", "embed", "link", "base", "form"} & {
        tag for tag, _ in page.elements
    }
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcdoc", "style")], tag
        link = attributes.get("href")
        assert link is None or re.fullmatch(links, link), link
    policies = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
