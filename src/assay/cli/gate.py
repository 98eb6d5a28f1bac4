"""`assay gate`: runs checked against a policy."""

from __future__ import annotations

import argparse
import sys

from assay.cli.tools import add_shared, write
from assay.errors import UsageError
from assay.progress import console_on

NAME = "gate"
HELP = "check runs against a policy; exits 1 if a limit is exceeded"
EXAMPLES = """examples:
  assay gate runs/my-run --policy policy.toml
  # a file for CI systems that read JUnit
  assay gate runs/tour --policy policy.toml --format junit --out gate.xml
  # the summary of a GitHub workflow
  assay gate runs/tour --policy policy.toml --format md >> "$GITHUB_STEP_SUMMARY"

a policy:
  # the default: fail if a run's answers follow the option's place; or "skip"
  position = "fail"

  [[limit]]
  metric = "bbq.bias_score"
  group = { context = "ambig" }
  # in every category, the whole interval must be between -0.10 and 0.10
  size = 0.10
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    formats = "text (the default), a short table; md, for a CI system's summary; junit, XML; json"
    add_shared(parser, "folder")
    parser.add_argument("--policy", required=True, metavar="FILE", help="a TOML file of limits (see docs/gate.md)")
    parser.add_argument("--format", choices=("text", "md", "junit", "json"), default="text", help=formats)
    parser.add_argument("--out", metavar="FILE", help="write md, junit or json to this file, and print the table")


def call(options: argparse.Namespace) -> int:

    from assay.gate import gate
    from assay.gate.verdicts import present_verdicts
    from assay.report import markdown_sections, print_sections

    verdicts = gate(options.folder, options.policy)
    shown = present_verdicts(verdicts)
    written = {"md": lambda: markdown_sections(shown), "junit": verdicts.to_junit, "json": verdicts.to_json}
    if options.format != "text":
        write(written[options.format](), options.out)
    elif options.out:
        remedy = "For example --format junit --out gate.xml."
        raise UsageError("--out needs --format md, junit or json.", remedy, code="bad-option", key="out")
    if options.format == "text" or options.out:
        print_sections(shown, console_on(sys.stdout))
        print(f"{'PASSED' if verdicts.passed else 'FAILED'}: {verdicts.said}")
    return 0 if verdicts.passed else 1
