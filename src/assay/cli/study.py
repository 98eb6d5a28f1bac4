"""`assay study`: models and probes from a study file."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.asking.progress import shown_progress
from assay.cli.common import LOCAL, add_shared, add_where, executor_of, write_json
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.lab.studies import StepFailure, StepState, StudyResult
    from assay.lab.studies.steps import Step

NAME = "study"
HELP = "run a study: train, debias and audit models, with one summary page"
EXAMPLES = """examples:
  # list the studies that come with assay
  assay study
  # print the steps, their order and which of them are done
  assay study study-small --data DIR --dry-run
  # write to runs/study-NAME; the same command resumes
  assay study my-study.toml
  # only these runs and the models that they need
  assay study my-study.toml --only 'sodapop--*'
  # eight steps at a time
  assay study my-study.toml --device cuda --jobs 8

a study file (more in docs/studies.md):
  [models.base]
  spec = "builtin"
  [models.siqa]
  train = "choice"
  base = "base"
  data = "socialiqa/train.jsonl"
  preset = "sodapop"
  [models.inlp-gender]
  debias = "inlp"
  model = "siqa"
  attribute = "gender"
  corpus = "text/corpus.txt"
  [[runs]]
  probe = "sodapop"
  models = ["siqa", "inlp-*"]
  settings = { fill_model = "base" }
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    numbers, kinds = "number type (default: chosen for each step)", ("auto", "float32", "bfloat16")
    jobs = "steps at a time (default: 1); useful if one step does not fill the GPU"
    add("file", nargs="?", metavar="FILE", help="a study's TOML file, or the name of a packaged study")
    add("--out", metavar="DIR", help="the study's folder (default: runs/study-NAME)")
    add("--data", metavar="DIR", help="the folder of the files that the study names (default: ASSAY_DATA)")
    only = "only the models or runs that match, and what they need (repeatable)"
    add("--only", action="append", default=[], metavar="PATTERN", help=only)
    add("--dry-run", action="store_true", help="print the steps, their order and sizes, and which are done; do nothing")
    add_shared(parser, "--device")
    add("--dtype", choices=kinds, default="auto", help=numbers)
    add_where(parser)
    add("--jobs", type=int, default=1, metavar="N", help=jobs)
    add("--json", action="store_true", help="print study.json instead of a summary")


def call(options: argparse.Namespace) -> int:
    from assay.lab.studies import StudyActions, packaged_studies, read_study, require_jobs, study
    from assay.runs.audit import audit

    if options.file is None:
        for path in packaged_studies():
            print(f"{path.stem:16} {read_study(path).title}")
        print("\nRun one of these with `assay study NAME`, or write your own study file (docs/studies.md).")
        return 0
    require_jobs(options.jobs)
    if options.dry_run:
        return _dry_run(options)
    if options.jobs > 1 and options.executor != LOCAL:
        problem = f"--jobs {options.jobs} starts steps side by side, each in a process that has no workers of its own."
        raise UsageError(problem, "Omit --jobs: the workers are busy with one step.", code="bad-option", key="jobs")
    arguments = {name: getattr(options, name) for name in ("file", "out", "data", "only", "device", "dtype", "jobs")}
    with executor_of(options) as executor, shown_progress(True) as progress:
        makers = None if options.executor == LOCAL else StudyActions(audit=partial(audit, executor=executor))
        done = study(**arguments, progress=progress, listener=_study_printer(), makers=makers)
    if options.json:
        write_json(done.record)
    _print_failures(done)
    if done.page is not None and not options.json:
        print(f"Report: {done.page}")
    return done.exit_code


def _dry_run(options: argparse.Namespace) -> int:
    from assay.lab.studies import plan

    planned = plan(options.file, options.out, data=options.data, only=options.only)
    if options.json:
        rows = [
            {"step": step.name, "kind": step.kind, "state": state.value, "recipe": step.recipe, **step.size}
            for step, state in planned.steps
        ]
        write_json({"folder": str(planned.folder), "steps": rows})
        return 0
    print(f"{planned.study.file.title}: {len(planned.steps)} steps, into {planned.folder}")
    for number, (step, state) in enumerate(planned.steps, 1):
        print(f"{number:4}  {state.value:8} {step}")
    for note in planned.study.schedule.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0


def _study_printer() -> Any:
    from assay.lab.studies import StepState, StudyListener

    class StudyPrinter(StudyListener):
        def begins(self, step: Step, number: int, total: int, state: StepState) -> None:
            line = f"[{number}/{total}] {step}"
            print(f"{line} ({state.value})" if state is not StepState.NEW else line, file=sys.stderr, flush=True)

        def moved(self, step: Step, folder: Path) -> None:
            note = f"{step.name} changed in the study file; its old results were moved to {folder}"
            print(f"note: {note}", file=sys.stderr)

        def done(self, step: Step, seconds: float) -> None:
            print(f"      {step.name} took {seconds:,.0f} s", file=sys.stderr, flush=True)

        def failed(self, step: Step, failure: StepFailure) -> None:
            print(f"      {step.name} {_why(failure)}", file=sys.stderr, flush=True)

    return StudyPrinter()


def _why(failure: StepFailure) -> str:
    if failure.error is not None:
        return f"failed: {failure.error.problem}"
    return f"is left out: it needs {failure.because}, which failed"


def _print_failures(done: StudyResult) -> None:
    if done.failures:
        n = len(done.failures)
        print(f"assay: {n} steps were not done; run the same command to try them again.", file=sys.stderr)
    for failure in done.failures:
        print(f"       {failure.step} {_why(failure)}", file=sys.stderr)
        if failure.error is not None and failure.error.remedy:
            print(f"         {failure.error.remedy}", file=sys.stderr)
