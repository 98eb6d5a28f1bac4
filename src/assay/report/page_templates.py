"""What all pages share: how templates write numbers and data, and the one script, allowed by its digest."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay.results import formatting
from assay.results.findings import Table


@cache
def environment() -> Environment:
    """The environment of the templates, with the filters and functions that they use; all text is escaped."""
    templates = Environment(
        loader=PackageLoader("assay.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "number": lambda value: minus(formatting.format_number(value)),
        "short": lambda value: minus(f"{value:g}"),
        "count": formatting.format_count,
        "data_link": data_link,
        "in_attribute": lambda value: json.dumps(value, ensure_ascii=False),  # escaped like every other text
        "in_script": in_script,
    }
    templates.globals |= {"plural": formatting.plural}
    return templates


def rendered(template: str, **content: Any) -> str:
    """A page made by a template."""
    script, digest = script_and_digest()
    return environment().get_template(template).render(script=script, script_digest=digest, **content)


@cache
def script_and_digest() -> tuple[Markup, str]:
    """report.js, which contains no data, and its digest for the page's policy: no other script runs."""
    text = (resources.files("assay.report") / "templates" / "report.js").read_text(encoding="utf-8")
    return Markup(text), base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


LONGEST_DATA = 100_000
"""Characters of a table inside a link; a longer one is packed, with six significant digits."""


def data_link(table: Table, file: str) -> tuple[str, str]:
    """A table inside a link, for spreadsheets: the name to save it as, and the link. A large one is compressed.

    >>> data_link(Table(("a", "b"), [(1, None)]), "found")
    ('found.csv', 'data:text/csv;charset=utf-8,a,b%0A1,%0A')
    """
    table = table.for_spreadsheets()
    text = table.to_csv().encode("utf-8", "replace")
    if len(text) <= LONGEST_DATA:
        return f"{file}.csv", "data:text/csv;charset=utf-8," + quote(text, safe=" ,;:.()!*'/=?@$-_~+")
    rows = [[float(f"{cell:.6g}") if isinstance(cell, float) else cell for cell in row] for row in table.rows]
    packed = gzip.compress(Table(table.columns, rows).to_csv().encode("utf-8", "replace"), mtime=0)
    return f"{file}.csv.gz", f"data:application/gzip;base64,{base64.b64encode(packed).decode()}"


def in_script(value: Any) -> Markup:
    """JSON for a data block of the page, escaped so that nothing in it can end the block."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    escaped = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup(escaped.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def minus(figures: str) -> str:
    """Figures with a typographic minus, which lines up with digits and is read aloud."""
    return figures.replace("-", "−")
