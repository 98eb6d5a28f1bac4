"""What is said about a run of sodapop-names: whether the vectors of names give away whose names they are."""

from __future__ import annotations

from typing import Any

from assay.report.content import Content, cell
from assay.report.headline import Verdict, verdict
from assay.report.sodapop_scatter import scatter


def names_page(content: Content) -> dict[str, Any]:
    """What templates/sodapop_names.html needs."""
    told = [e for e in content.findings.estimates if e.metric == "name_accuracy" and "attribute" in e.group]
    rows = content.rows("names")
    return {
        "told": [(e.group["attribute"], e, verdict(e) is Verdict.ABOVE) for e in told if e.value is not None],
        "untold": [(e.group["attribute"], e.note or "") for e in told if e.value is None],
        "names": len(rows),
        "groups": len({cell(row, "group") for row in rows}),
        "scatter": scatter(content),
    }
