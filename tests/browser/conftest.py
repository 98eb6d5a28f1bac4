"""Pages to open in the browser of tests/conftest.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request

import made_runs
import wide_runs
from html_pages import write_page

Visit = Callable[..., Page]
PROBES = ("unqover", "bbq", "sodapop")


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """`visit(path, …)` opens a page in a window of its own, with options of a browser context (color_scheme, …).

    When the test ends, no page may have complained in the console, thrown an error, asked for anything but itself,
    opened a dialog or another window.
    """
    contexts, complaints = [], []

    def visited(path: Path, width: int = 1100, height: int = 800, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)

        def asked(request: Request) -> None:
            if request.url.split("#")[0] != path.as_uri() and not request.url.startswith("data:"):
                complaints.append(f"asked for {request.url}")

        page.on("request", asked)
        page.on("console", lambda said: complaints.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        context.on("page", lambda other: complaints.append(f"opened {other.url}"))
        page.goto(path.as_uri())
        return page

    yield visited
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`page_of(name)`: the page of a made run of a probe, of "all" of them, or of all by two "models"; made once."""
    made: dict[str, Path] = {}
    folders = {
        "all": wide_runs.write_all,
        "models": lambda folder: wide_runs.write_all(folder, ("hf:org/model", "hf:org/other")),
        "unqover": lambda folder: made_runs.write_run(folder, wide_runs.wide_unqover(), made_runs.RUN),
        "bbq": lambda folder: made_runs.write_run(folder, wide_runs.wide_bbq(), made_runs.RUN),
        "sodapop": lambda folder: made_runs.write_run(folder, wide_runs.wide_sodapop(), made_runs.RUN),
    }

    def path(name: str) -> Path:
        if name not in made:
            made[name] = write_page(folders[name](tmp_path_factory.mktemp(name) / "run"))
        return made[name]

    return path
