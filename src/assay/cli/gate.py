"""`assay gate`: runs checked against a policy."""

from __future__ import annotations

import argparse
import sys

from assay.asking.progress import console_on
from assay.cli.common import SHARED, write
from assay.errors import UsageError

NAME = "gate"
DEFAULT = "policy.toml"
HELP = "check runs against a policy; exits 1 if a limit is exceeded"
EXAMPLES = """examples:
  # a policy to begin with
  assay gate --init policy.toml
  assay gate runs/my-run --policy policy.toml
  # a file for CI systems that read JUnit
  assay gate runs/tour --policy policy.toml --format junit --out gate.xml
  # the summary of a GitHub workflow
  assay gate runs/tour --policy policy.toml --format md >> "$GITHUB_STEP_SUMMARY"

a policy:
  # the verdicts that pass
  accept = ["no clear bias", "small bias"]
  # the default: fail if a run's answers cannot be used; or "skip"
  unusable = "fail"

  [[limit]]
  metric = "bbq.bias_score"
  group = { context = "ambig" }
  # in every category, the whole interval must be between -0.10 and 0.10
  size = 0.10
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    formats = "text (the default), a short table; md, for a CI system's summary; junit, XML; json"
    parser.add_argument("folder", nargs="?", **SHARED["folder"])
    parser.add_argument("--policy", metavar="FILE", help="a TOML file of limits (see docs/gate.md)")
    parser.add_argument(
        "--init", nargs="?", const=DEFAULT, metavar="FILE", help=f"write a policy to begin with ({DEFAULT}), and stop"
    )
    parser.add_argument("--format", choices=("text", "md", "junit", "json"), default="text", help=formats)
    parser.add_argument("--out", metavar="FILE", help="write md, junit or json to this file, and print the table")


def call(options: argparse.Namespace) -> int:
    if options.init is not None:
        return _begin(options)
    if options.folder is None or options.policy is None:
        key, missing = ("folder", "the folder of a run") if options.folder is None else ("policy", "--policy FILE")
        remedy = "assay gate DIR --policy FILE. To write a policy to begin with: assay gate --init."
        raise UsageError(f"{missing} is missing.", remedy, code="missing-setting", key=key)
    from assay.gate import gate
    from assay.gate.verdicts import present_verdicts
    from assay.report import markdown_sections, print_sections

    verdicts = gate(options.folder, options.policy)
    sections = present_verdicts(verdicts)
    texts = {"md": lambda: markdown_sections(sections), "junit": verdicts.to_junit, "json": verdicts.to_json}
    if options.format != "text":
        write(texts[options.format](), options.out)
    elif options.out:
        remedy = "For example --format junit --out gate.xml."
        raise UsageError("--out needs --format md, junit or json.", remedy, code="bad-option", key="out")
    if options.format == "text" or options.out:
        print_sections(sections, console_on(sys.stdout))
        print(f"{'PASSED' if verdicts.passed else 'FAILED'}: {verdicts.said}")
    return 0 if verdicts.passed else 1


def _begin(options: argparse.Namespace) -> int:
    from assay.gate.policy import write_starter

    values = {"DIR": options.folder, "--policy": options.policy, "--out": options.out}
    values["--format"] = None if options.format == "text" else options.format
    if others := [name for name, value in values.items() if value is not None]:
        problem = f"--init writes a policy and checks no run, so {others[0]} has no effect."
        raise UsageError(problem, "First assay gate --init FILE.", code="bad-option", key="init")
    path = write_starter(options.init)
    print(f"A policy to begin with is in {path}. Change it to what you would accept, then:")
    print(f"assay gate DIR --policy {path}")
    return 0
