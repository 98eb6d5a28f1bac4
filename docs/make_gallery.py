"""The pictures of docs/gallery.md: run the commands on that page, open what they write in chromium, take screenshots.

    python docs/make_gallery.py --data DIR [--work build/gallery]

DIR holds BBQ's published predictions (bbq/unifiedqa_predictions) and a text for the study (text/standard_ebooks.txt).
Answers are stored, so a second call asks nothing again. README and docs show some of the pictures, too.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

DOCS = Path(__file__).parent
LARGEST = 150_000  # bytes of a picture

# The page of each picture; one part of it in place of the first screen; its colours.
PICTURES: dict[str, dict[str, Any]] = {
    "tour": {"page": "runs/tour/report.html"},
    "chart": {"page": "runs/tour/report.html", "part": "figure[id$='-bias']", "colours": "dark"},
    "bbq": {"page": "runs/unifiedqa/race/report.html"},
    "comparison": {"page": "runs/comparison.html"},
    "study": {"page": "runs/study/report.html"},
}


def commands() -> list[str]:
    """The commands of the page, in their order."""
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    return re.findall(r"^assay (.+)$", "\n".join(re.findall(r"```\n(.*?)```", text, flags=re.DOTALL)), re.MULTILINE)


def make_runs(work: Path, data: Path) -> None:
    if not (work / "docs").exists():
        (work / "docs").symlink_to(DOCS.resolve())  # a command names a file of the documentation
    environment = {**os.environ, "ASSAY_DATA": str(data.resolve())}
    for command in commands():
        print(f"assay {command}", flush=True)
        subprocess.run(f"{sys.executable} -m assay {command}", shell=True, cwd=work, env=environment, check=True)


def take(
    browser: Browser, work: Path, picture: Path, page: str, part: str | None = None, colours: str = "light"
) -> None:
    """One picture: the first screen of a page, or one part of it."""
    context = browser.new_context(viewport={"width": 1100, "height": 740}, color_scheme=colours)  # type: ignore[arg-type]
    opened = context.new_page()
    opened.goto((work / page).resolve().as_uri())
    if part is None:
        opened.screenshot(path=picture)
    else:
        opened.locator(part).first.screenshot(path=picture)
    context.close()
    size = picture.stat().st_size
    print(f"{picture.relative_to(DOCS)}: {size:,} bytes")
    if size > LARGEST:
        sys.exit(f"{picture} is larger than {LARGEST:,} bytes.")


def main() -> None:
    parser = argparse.ArgumentParser(description="make the pictures of docs/gallery.md")
    parser.add_argument("--data", type=Path, required=True, help="folder of the official data")
    parser.add_argument("--work", type=Path, default=Path("build/gallery"), help="folder for the runs")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    make_runs(given.work, given.data)
    (DOCS / "gallery").mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-lcd-text"]
        )
        for name, about in PICTURES.items():
            take(browser, given.work, DOCS / "gallery" / f"{name}.png", **about)
        browser.close()


if __name__ == "__main__":
    main()
