"""Adds pages to the site that are files of the package: the READMEs of its data.

On GitHub, links to `../src/assay/data/NAME/README.md` work as written; on the site they lead to the page.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

DATA = Path(__file__).parents[1] / "src" / "assay" / "data"
READMES = {f"data/{folder}.md": DATA / folder / "README.md" for folder in ("builtin", "unqover", "bbq_starter")}


def on_files(files: Any, config: Any) -> Any:
    for name, path in READMES.items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **about: Any) -> str:
    up = "../" * page.file.src_uri.count("/")
    return re.sub(r"\]\((?:\.\./)+src/assay/data/(\w+)/README\.md\)", rf"]({up}data/\1.md)", markdown)
