"""`assay run`: one probe on a model, or the tour."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.endpoint import dry_run, say_spent, spending_of
from assay.cli.larger import next_commands
from assay.cli.tools import add_shared, examples_of, filled, print_stages, settings_of, show, shown_progress, write
from assay.cli.where import LOCAL, add_where, executor_of
from assay.errors import UsageError
from assay.progress import duration

if TYPE_CHECKING:
    from assay.engine.executor import Executor
    from assay.engine.spending import Spending
    from assay.run import Run

NAME = "run"
HELP = "run a probe on a model and report the results"


def examples(about: str | None) -> str:
    from assay.probes import probes

    tour = "  # the tour: every probe on the built-in model, in a few minutes\n  assay run\n"
    presets = "\npresets (questions asked of the model):\n"
    for probe in probes().values():
        if about in (None, probe.name) or about not in probes():
            lines = [filled(f"{preset:9} {what}", "    ", 14) for preset, what in probe.presets.items()]
            presets += f"  {probe.name}\n{''.join(lines)}"
    return examples_of(NAME, lambda probe: probe.settings, about, tour, presets)


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    model = (
        "builtin (the default, a small model that comes with assay), hf:./folder, hf:ORG/NAME@REVISION or api:NAME@URL"
    )
    stored = "stored answers: reuse them (always), ask everything again (never), or skip finished runs (only-missing)"
    blocks = "for experts: how many answers are stored at once, which is what a killed run can lose (default: about a "
    blocks += "second's work); another size may change the last digits of scores, so its answers are stored separately"
    add("probe", nargs="?", metavar="PROBE", help="see `assay list probes` (default: the tour)")
    add("--model", metavar="SPEC", default="builtin", help=model)
    add("--preset", choices=("quick", "standard", "paper"), default="quick", help="how much to ask (quick)")
    add("--limit", type=int, metavar="N", help="sample about N questions, balanced across groups")
    trial = "print the expected size, time and memory; asks a few trial questions, but none of an endpoint"
    add("--dry-run", action="store_true", help=trial)
    add("--resume", choices=("always", "never", "only-missing"), default="always", help=stored)
    add_where(parser)
    add_shared(parser, "--device")
    add(
        "--dtype",
        default="auto",
        help="float32, tf32, float16 or bfloat16; auto (default): float32, or on cuda the fastest that agrees",
    )
    add("--threads", type=int, metavar="N", help="CPU threads for the model (default: all that are available)")
    add("--trust-remote-code", action="store_true", help="allow Python code that comes with the model to run")
    add("--allow-pickle", action="store_true", help="load pickled weights, which can run code")
    add("--skip-bad", action="store_true", help="leave out rows of the data that cannot be used")
    add("--block-size", type=int, metavar="N", help=blocks)
    add_shared(parser, "--out", "--set", "--seed", "--data", "--json", "--verbose")
    group = parser.add_argument_group("endpoints (--model api:NAME@URL)")
    group.add_argument(
        "--key-env", metavar="NAME", help="the environment variable with the key (OPENAI_API_KEY); '' sends no key"
    )
    group.add_argument("--price", metavar="IN,OUT", help="dollars per million input and output tokens")
    group.add_argument(
        "--budget-usd",
        type=float,
        metavar="X",
        help="the most that the run may cost, stored answers included; needs --price",
    )
    group.add_argument("--yes", action="store_true", help="send the tour's requests without asking for confirmation")
    group.add_argument("--try", type=int, metavar="N", dest="trial", help="with --dry-run: ask about N questions")


def call(options: argparse.Namespace) -> int:
    settings = settings_of(options.set)
    _require_sense(options, settings)
    with executor_of(options) as executor:
        return _call(options, settings, executor)


def _call(options: argparse.Namespace, settings: Mapping[str, str], executor: Executor) -> int:
    from assay.cli.telling import Telling
    from assay.engine.ask import Resume
    from assay.engine.executor import Settings
    from assay.models.base import Options
    from assay.runs.audit import audit
    from assay.runs.tour import tour

    device, dtype, trusted, pickled = options.device, options.dtype, options.trust_remote_code, options.allow_pickle
    common: dict[str, Any] = {
        **{name: getattr(options, name) for name in ("preset", "limit", "data", "skip_bad")},
        "seed": options.seed or 0,
        "settings": settings,
        "options": Options(device, dtype, trusted, pickled, options.threads, options.key_env),
        "executor": executor,
    }
    spending = spending_of(options)
    if options.dry_run:
        return _dry_run(options, common, spending)
    began = time.perf_counter()
    with shown_progress() as progress:
        telling = Telling(options.model, spending, progress, yes=options.yes)
        common |= {
            "out": options.out,
            "engine": Settings(block_size=options.block_size or 0),
            "resume": Resume(options.resume),
            "progress": progress,
            "listener": telling,
            "spending": spending,
        }
        try:
            if options.probe is not None:
                run = audit(options.model, options.probe, **common)
            else:
                folder, runs = tour(options.model, **common)
        finally:
            say_spent(spending)
    if options.probe is None:
        _show_tour(folder, runs, time.perf_counter() - began, options)
    elif options.json:
        write(run.findings.to_json(), None)
    else:
        show([run], run.folder / "report.html", options, next_commands([run], options, add_options))
    return telling.ended()


def _require_sense(options: argparse.Namespace, settings: Mapping[str, str]) -> None:
    if options.probe is None and settings:
        problem, remedy = "--set needs a probe: settings belong to one.", "For example: assay run unqover …"
        raise UsageError(problem, remedy, code="missing-setting", key="probe")
    if options.probe is None and options.data:
        remedy = "Name a probe: assay run bbq --data DIR"
        raise UsageError(
            "--data needs a probe: the tour does not read official data.", remedy, code="bad-option", key="data"
        )
    if options.trial is not None and (options.trial < 1 or not options.dry_run):
        problem = f"--try is {options.trial}, expected at least 1 question, together with --dry-run."
        raise UsageError(problem, "--dry-run --try 20", code="bad-option", key="try")
    if options.block_size is not None and options.block_size < 1:
        problem = f"--block-size is {options.block_size}, expected at least 1 question."
        raise UsageError(problem, "--block-size 4096", code="bad-option", key="block-size")
    if options.model.startswith("api:") and options.executor != LOCAL:
        problem = "an endpoint is asked from this process: more of them would only meet its rate limits."
        raise UsageError(problem, "Omit --executor.", code="bad-option", key="executor")


def _dry_run(options: argparse.Namespace, common: dict[str, Any], spending: Spending) -> int:
    from assay.cli.telling import Telling
    from assay.models import find_model
    from assay.runs.audit import expect
    from assay.runs.tour import Failures, answerable

    if options.model.startswith("api:"):
        with shown_progress():
            return dry_run(options, common, spending)
    named, telling = [options.probe], Telling(options.model)
    if options.probe is None:
        able = answerable(find_model(options.model, common["options"]), Failures(telling))
        named = [probe.name for probe in able]
    for probe in named:
        size = expect(options.model, probe, **common)
        print_stages(size.stages)
        print(f"expected: {duration(size.seconds)}, {size.memory / 1e6:,.0f} MB of memory without the model")
        if size.sees:
            print(f"a run of this size finds, in four of five runs: {size.sees} (docs/run-size.md)")
    return 0


def _show_tour(folder: Path, runs: Sequence[Run], seconds: float, options: argparse.Namespace) -> None:
    if options.json:
        write(
            json.dumps([json.loads(run.findings.to_json()) for run in runs], indent=1, ensure_ascii=False) + "\n", None
        )
        return
    print(f"Time ({duration(seconds)} in total):", file=sys.stderr)
    for run in runs:
        whole, asking, analysing = (run.info.timings[part] for part in ("run", "asking", "analysing"))
        print(f"  {run.probe:14} {whole:5.0f} s: asking {asking:.0f}, analysing {analysing:.0f}", file=sys.stderr)
    rest = seconds - sum(run.info.timings["run"] for run in runs)
    print(f"  {'pages, loading':14} {max(0, rest):5.0f} s", file=sys.stderr)
    print(file=sys.stderr, flush=True)
    show(runs, folder / "report.html", options, next_commands(runs, options, add_options))
