"""What people see: a run in the terminal and on one HTML page, and sections of blocks of any kind.

A run is shown from its folder alone (findings.json, tables/*.csv, run.json), so it can be shown again at any time and
by anybody who is handed the folder; no model is loaded.
"""

from assay.report.html import write_html, write_page
from assay.report.leaderboard_sections import ranking_sections, terminal_ranking
from assay.report.markdown import markdown_sections
from assay.report.terminal import print_sections, terminal_bottom_line, terminal_summary, terminal_where

__all__ = [
    "markdown_sections",
    "print_sections",
    "ranking_sections",
    "terminal_bottom_line",
    "terminal_ranking",
    "terminal_summary",
    "terminal_where",
    "write_html",
    "write_page",
]
