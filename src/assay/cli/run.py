"""`assay run`: one probe on a model, or the tour."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.asking.progress import duration, shown_progress
from assay.cli.common import (
    LOCAL,
    add_shared,
    add_where,
    examples_of,
    executor_of,
    filled,
    print_stages,
    settings_of,
    show,
    write,
    write_json,
)
from assay.errors import UsageError
from assay.results.verdict import VerdictKind

if TYPE_CHECKING:
    from assay.engine.executor import Executor
    from assay.engine.spending import Spending
    from assay.results.run import Run

NAME = "run"
HELP = "run a probe on a model and report the results"


def examples(about: str | None) -> str:
    from assay.probes import probes

    tour = "  # the tour: every probe on the built-in model, in a few minutes\n  assay run\n"
    presets = "\npresets (questions asked of the model):\n"
    for probe in probes().values():
        if about in (None, probe.name) or about not in probes():
            lines = [filled(f"{name:9} {preset.asks}", "    ", 14) for name, preset in probe.presets.items()]
            presets += f"  {probe.name}\n{''.join(lines)}"
    return examples_of(NAME, about, tour, presets)


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
    dtypes = "float32, tf32, float16 or bfloat16; auto (default): float32, or on cuda the fastest that agrees"
    add("--dtype", default="auto", help=dtypes)
    add("--threads", type=int, metavar="N", help="CPU threads for the model (default: all that are available)")
    add("--trust-remote-code", action="store_true", help="allow Python code that comes with the model to run")
    add("--allow-pickle", action="store_true", help="load pickled weights, which can run code")
    add("--skip-bad", action="store_true", help="leave out rows of the data that cannot be used")
    add("--block-size", type=int, metavar="N", help=blocks)
    add_shared(parser, "--out", "--set", "--seed", "--data", "--json", "--verbose")
    add = parser.add_argument_group("endpoints (--model api:NAME@URL)").add_argument
    add("--key-env", metavar="NAME", help="the environment variable with the key (OPENAI_API_KEY); '' sends no key")
    add("--price", metavar="IN,OUT", help="dollars per million input and output tokens")
    budget = "the most that the run may cost, stored answers included; needs --price"
    add("--budget-usd", type=float, metavar="X", help=budget)
    add("--yes", action="store_true", help="send the tour's requests without asking for confirmation")
    add("--try", type=int, metavar="N", dest="trial", help="with --dry-run: ask about N questions")


def call(options: argparse.Namespace) -> int:
    settings = settings_of(options.set)
    _require_sense(options, settings)
    with executor_of(options) as executor:
        return _call(options, settings, executor)


def _call(options: argparse.Namespace, settings: Mapping[str, str], executor: Executor) -> int:
    from assay.cli.audit_printer import AuditPrinter, say_spent, spending_of
    from assay.engine.ask import Resume
    from assay.engine.executor import EngineSettings
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
    with shown_progress(True) as progress:
        printer = AuditPrinter(options.model, spending, progress, yes=options.yes)
        common |= {
            "out": options.out,
            "engine": EngineSettings(block_size=options.block_size or 0),
            "resume": Resume(options.resume),
            "progress": progress,
            "listener": printer,
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
        write(run.findings.to_json())
    else:
        show([run], run.folder / "report.html", options, next_commands([run], options))
    return printer.ended()


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
    from assay.cli.audit_printer import AuditPrinter, dry_run
    from assay.models import find_model
    from assay.runs.audit import expect
    from assay.runs.tour import MissingProbes, answerable

    if options.model.startswith("api:"):
        with shown_progress(True):
            return dry_run(options, common, spending)
    names = [options.probe]
    if options.probe is None:
        missing = MissingProbes(AuditPrinter(options.model))
        names = [probe.name for probe in answerable(find_model(options.model, common["options"]), missing)]
    for probe in names:
        size = expect(options.model, probe, **common)
        print_stages(size.stages)
        print(f"expected: {duration(size.seconds)}, {size.memory / 1e6:,.0f} MB of memory without the model")
        if size.sees:
            print(f"a run of this size finds, in four of five runs: {size.sees} (docs/run-size.md)")
    return 0


def _show_tour(folder: Path, runs: Sequence[Run], seconds: float, options: argparse.Namespace) -> None:
    if options.json:
        write_json([json.loads(run.findings.to_json()) for run in runs])
        return
    print(f"Time ({duration(seconds)} in total):", file=sys.stderr)
    for run in runs:
        total, asking, analysing = (run.info.timings[part] for part in ("run", "asking", "analysing"))
        print(f"  {run.probe:14} {total:5.0f} s: asking {asking:.0f}, analysing {analysing:.0f}", file=sys.stderr)
    rest = seconds - sum(run.info.timings["run"] for run in runs)
    print(f"  {'pages, loading':14} {max(0, rest):5.0f} s", file=sys.stderr)
    print(file=sys.stderr, flush=True)
    show(runs, folder / "report.html", options, next_commands(runs, options))


# --- the command of the next step: other options, or a larger sample; the rest as it was typed


NEXT = {"quick": "standard", "standard": "paper"}
TIMES = 10  # the factor for --limit
SETTLED = (VerdictKind.UNUSABLE, VerdictKind.CANNOT)
"""Verdicts that a larger sample does not change."""


def next_commands(runs: Sequence[Run], options: argparse.Namespace) -> list[tuple[str, str]]:
    """What each command is for, and the command: for a run whose verdict names a step that step, and a larger sample
    of everything unless no run that was asked would gain from it.
    """
    verdicts = [(run, run.findings.verdict) for run in runs]
    commands = []
    for run, verdict in verdicts:
        if verdict is not None and verdict.next:
            values: dict[str, Any] = {"probe": run.probe}
            if len(runs) > 1 and options.out is not None:
                values["out"] = f"{options.out.rstrip('/')}-{run.probe}"
            purpose = f"Next ({run.probe})" if len(runs) > 1 else "Next"
            commands.append((purpose, command_with(verdict.next, argparse.Namespace(**vars(options) | values))))
    gain = any(verdict is None or not (verdict.next or verdict.says in SETTLED) for _, verdict in verdicts)
    larger = larger_command(options) if gain else ""
    return [*commands, *([("Larger sample", larger)] if larger else [])]


def command_with(step: str, options: argparse.Namespace) -> str:
    """`assay run` with the options of a step in place of the same ones, and a new folder.

    >>> options = _parser().parse_args("bbq --set orders=2 --set form=free --out runs/a".split())
    >>> command_with("--set orders=all", options)
    'assay run bbq --out runs/a-orders-all --set form=free --set orders=all'
    """
    parser, words = _parser(), shlex.split(step)
    current, _ = parser.parse_known_args(words)
    changed = {name: value for name, value in vars(current).items() if value != parser.get_default(name)}
    if settings := changed.get("set"):
        keys = {pair.partition("=")[0] for pair in settings}
        changed["set"] = [*(pair for pair in options.set if pair.partition("=")[0] not in keys), *settings]
    name = re.sub(r"[^A-Za-z0-9]+", "-", " ".join(word for word in words if not word.startswith("-")))
    return _command(options, changed, name.strip("-"))


def larger_command(options: argparse.Namespace) -> str:
    """`assay run` with the same options, the next preset (or ten times the limit) and a new folder.

    Empty if the run asked everything.

    >>> larger_command(_parser().parse_args("unqover --seed 7 --set class=gender --out runs/a".split()))
    'assay run unqover --preset standard --out runs/a-standard --set class=gender --seed 7'
    """
    if options.limit is not None:
        size = str(TIMES * options.limit)
        return _command(options, {"limit": size}, size)
    preset = NEXT.get(options.preset)
    return "" if preset is None else _command(options, {"preset": preset}, preset)


def _command(options: argparse.Namespace, changed: dict[str, Any], name: str) -> str:
    """The command with these options changed; `name` is what is added to the folder's name."""
    changed["resume"] = "always"  # the option is about the stored answers of this run
    if options.out is not None:
        changed["out"] = f"{options.out.rstrip('/')}-{name}"
    return shlex.join(["assay", "run", *_words(argparse.Namespace(**vars(options) | changed))])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    add_options(parser)
    return parser


def _words(options: argparse.Namespace) -> Iterator[str]:
    """Every option that differs from its default, as typed."""
    for action in _parser()._actions:  # there is no public way to list them
        value = getattr(options, action.dest)
        if value == action.default:
            continue
        if not action.option_strings:
            yield value
        elif action.nargs == 0:
            yield action.option_strings[0]
        else:
            for item in value if isinstance(value, list) else [value]:
                yield from (action.option_strings[0], str(item))
