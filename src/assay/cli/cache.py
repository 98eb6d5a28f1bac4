"""`assay cache`: what is stored for later runs."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

NAME = "cache"
HELP = "show what is stored for later runs, and remove what no run needs"
EXAMPLES = """examples:
  # what is stored, and how large it is
  assay cache list
  # remove answers that were asked again since, unless a run in runs/ uses them
  assay cache prune
  # keep those of runs in other folders, too; only say what would be removed
  assay cache prune --runs runs --runs /archive/runs --dry-run
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("list", "prune"), help="what to do")
    parser.add_argument(
        "--runs", action="append", metavar="DIR", help="keep what runs below DIR use (repeatable; default: runs)"
    )
    parser.add_argument("--unused", action="store_true", help="prune every block that no run below DIR uses")
    parser.add_argument("--dry-run", action="store_true", help="only say what prune would remove")


def call(options: argparse.Namespace) -> int:
    runs = [Path(folder) for folder in options.runs or ["runs"]]
    lines = list_lines() if options.what == "list" else prune_lines(runs, options.runs, options.unused, options.dry_run)
    for line in lines:
        print(line)
    return 0


def list_lines() -> Iterator[str]:
    from assay.files.paths import cache_folder
    from assay.runs.cache import parts

    for part in parts():
        yield f"{part.folder.name:12} {part.files:>8,} files {part.size / 1e6:>10,.1f} MB  {part.what}"
    yield f"Folder: {cache_folder()} (change it with ASSAY_CACHE)."


def prune_lines(runs: Sequence[Path], named: Sequence[str] | None, unused: bool, dry_run: bool) -> Iterator[str]:
    from assay.errors import UsageError
    from assay.runs.cache import prunable, remove

    for folder in runs:
        if not folder.is_dir() and (named or unused):
            remedy = "Name the folders of all runs that you want to score or compare again."
            raise UsageError("this is not a folder.", remedy, code="missing-file", file=folder)
    files = prunable(runs, unused=unused)
    if not dry_run:
        remove(files)
    done = "would be removed" if dry_run else "removed"
    for reason, count in Counter(file.why for file in files).items():
        yield f"{count:,} {done}: {reason}"
    folders = ", ".join(str(folder) for folder in runs if folder.is_dir())
    used = f"what runs in {folders} use, and " if folders else ""
    size = sum(file.size for file in files) / 1e6
    yield f"{size:,.1f} MB {done}. Kept: {used}all replies of endpoints."
