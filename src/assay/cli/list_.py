"""`assay list`: the installed probes and model kinds."""

from __future__ import annotations

import argparse

NAME = "list"
HELP = "list probes and model kinds"
EXAMPLES = """examples:
  assay list
  # what --model accepts
  assay list models
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=("probes", "models"), help="list only these")


def call(options: argparse.Namespace) -> int:
    from assay.models import kind_named, kinds
    from assay.probes import probes

    if options.what in (None, "probes"):
        for name, probe in probes().items():
            print(f"{name:14} {probe.asks}")
            for setting, meaning in probe.data.other_sets():
                print(f"  --set {setting:20} {meaning}")
    if options.what in (None, "models"):
        for name in kinds():
            print(f"{name:14} {kind_named(name).HELP}")
    return 0
