"""What people see of a run: a summary in the terminal and one HTML page.

Both are made from a run folder alone (findings.json, tables/*.csv, run.json), so they can be made again at any time
and by anybody who is handed the folder; no model and no probe is loaded.
"""

from assay.report.html import write_html
from assay.report.terminal import terminal_summary

__all__ = ["terminal_summary", "write_html"]
