"""The pictures of docs/gallery.md: run the commands on that page, open what they write in chromium, take screenshots.

    python docs/make_gallery.py --data DIR [--work build/gallery]

DIR holds BBQ's published predictions (bbq/unifiedqa_predictions) and a text for the study (text/standard_ebooks.txt).
Answers are stored, so a second call asks nothing again. README and docs show some of the pictures, too.
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
from playwright.sync_api import Browser, sync_playwright

DOCS = Path(__file__).parent
WIDTH, HEIGHT = 1100, 740
PIXELS = """async (source) => {
  const image = new Image()
  image.src = source
  await image.decode()
  const drawing = new OffscreenCanvas(image.width, image.height).getContext("2d")
  drawing.drawImage(image, 0, 0)
  const bytes = drawing.getImageData(0, 0, image.width, image.height).data
  const text = []
  for (let at = 0; at < bytes.length; at += 8192) text.push(String.fromCharCode(...bytes.subarray(at, at + 8192)))
  return btoa(text.join(""))
}"""

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
    browser: Browser,
    work: Path,
    picture: Path,
    page: str,
    part: str | None = None,
    colours: Literal["light", "dark"] = "light",
) -> None:
    """One picture: the first screen of a page, or the beginning of one part of it."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=colours)
    opened = context.new_page()
    opened.goto((work / page).resolve().as_uri())
    if part is not None:
        opened.add_style_tag(content="nav { position: static !important }")
        opened.locator(part).first.evaluate("part => scrollTo(0, part.getBoundingClientRect().top + scrollY - 12)")
    shown = base64.b64encode(opened.screenshot()).decode()
    opened.goto("about:blank")  # reports allow no pictures from elsewhere
    pixels = np.frombuffer(base64.b64decode(opened.evaluate(PIXELS, f"data:image/png;base64,{shown}")), np.uint8)
    context.close()
    picture.write_bytes(indexed_png(pixels.reshape(HEIGHT, WIDTH, 4)[..., :3]))
    print(f"{picture.relative_to(DOCS)}: {picture.stat().st_size:,} bytes")


def indexed_png(pixels: np.ndarray) -> bytes:
    """A PNG of the 256 most frequent colours, which takes a third of the bytes: (row, column, channel)."""
    colours, place, count = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    kept = np.argsort(-count)[:256]
    apart = ((colours[:, None].astype(int) - colours[kept].astype(int)) ** 2).sum(axis=2)  # (colour, kept)
    index = apart.argmin(axis=1).astype(np.uint8)[place].reshape(pixels.shape[:2])
    rows = np.hstack([np.zeros((len(index), 1), np.uint8), index])  # every row begins with its filter: none

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", index.shape[1], index.shape[0], 8, 3, 0, 0, 0)  # 8 bits, indexed
    parts = {b"IHDR": header, b"PLTE": colours[kept].tobytes(), b"IDAT": zlib.compress(rows.tobytes(), 9), b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in parts.items())


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
