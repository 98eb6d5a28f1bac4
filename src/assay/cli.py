"""The command line: parse, call one library function, print. Imports are late, so that help comes at once."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay import __version__, cli_help
from assay.cli_tools import output_for_any_reader, settings_of, shown_progress
from assay.errors import AssayError, UsageError

if TYPE_CHECKING:
    from assay.audit import Run


def main(arguments: Sequence[str] | None = None) -> int:
    """The program. Returns its exit code: 0 done, 1 a gate failed, 2 wrong use, 3 bad data, 4 the model failed."""
    with output_for_any_reader():
        parser = _parser()
        options = parser.parse_args(arguments)
        if not hasattr(options, "call"):
            parser.print_help()
            return 0
        try:
            with _plain_warnings():
                call: Callable[[argparse.Namespace], int] = options.call
                return call(options)
        except AssayError as error:
            print(f"assay: {error.problem}", file=sys.stderr)
            if error.remedy:
                print(f"       {error.remedy}", file=sys.stderr)
            return error.exit_code
        except KeyboardInterrupt:
            print("assay: stopped; the same command goes on from what is stored.", file=sys.stderr)
            return 130


def _run(options: argparse.Namespace) -> int:
    from assay.audit import Listener, audit, expect
    from assay.engine.ask import Resume
    from assay.engine.executor import Settings
    from assay.models.base import Options
    from assay.tour import tour, tour_probes

    settings = settings_of(options.set)
    if options.probe is None and settings:
        raise UsageError("a setting belongs to a probe, and no probe is named.", "For example: assay run unqover …")
    if options.probe is None and options.data:
        raise UsageError("the tour reads no official data.", "Name a probe: assay run bbq --data DIR")
    common: dict[str, Any] = {
        "preset": options.preset,
        "limit": options.limit,
        "seed": options.seed or 0,
        "settings": settings,
        "options": Options(
            options.device, options.dtype, options.trust_remote_code, options.allow_pickle, options.threads
        ),
        "data": options.data,
        "skip_bad": options.skip_bad,
    }
    if options.block_size < 1:
        raise UsageError(f"--block-size is {options.block_size}, expected at least 1 question.", "--block-size 4096")
    if options.dry_run:
        probes = tour_probes(options.model, common["options"]) if options.probe is None else [options.probe]
        for probe in probes:
            size = expect(options.model, probe, **common)
            _print_stages(size.stages)
            print(f"expected: {_duration(size.seconds)}, {size.memory / 1e6:,.0f} MB of memory without the model")
        return 0

    class Announce(Listener):
        def begins(self, probe: str, stages: tuple[Any, ...], notes: tuple[str, ...], folder: Path) -> None:
            print(f"{probe} on {options.model}, {folder}", file=sys.stderr)
            _print_stages(stages, file=sys.stderr)
            for note in notes:
                print(f"note: {note}", file=sys.stderr)

        def skips(self, probe: str, why: str) -> None:
            print(f"{probe} is left out: {why}", file=sys.stderr)

    with shown_progress() as progress:
        common |= {
            "out": options.out,
            "engine": Settings(block_size=options.block_size),
            "resume": Resume(options.resume),
            "progress": progress,
            "listener": Announce(),
        }
        if options.probe is not None:
            run = audit(options.model, options.probe, **common)
        else:
            began = time.perf_counter()
            folder, runs = tour(options.model, **common)
            seconds = time.perf_counter() - began
    return _show(run.folder, options) if options.probe is not None else _show_tour(folder, runs, seconds, options)


def _score(options: argparse.Namespace) -> int:
    from assay.score import score

    folder = score(
        options.probe,
        [Path(file) for file in options.files],
        settings=settings_of(options.set),
        seed=options.seed,
        answers=options.answers,
        data=options.data,
        skip_bad=options.skip_bad,
        out=options.out,
    )
    return _show(folder, options)


def _generate(options: argparse.Namespace) -> int:
    from assay.generate import generate

    with shown_progress() as progress:
        done = generate(
            options.probe,
            Path(options.out),
            settings=settings_of(options.set),
            model=options.model,
            seed=options.seed or 0,
            data=options.data,
            progress=progress,
        )
    for note in done.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"{done.examples:,} examples ({done.counted}) in {options.out}")
    return 0


def _report(options: argparse.Namespace) -> int:
    folder = Path(options.folder)
    if options.format == "html":
        from assay.report import write_html

        if options.out:
            raise UsageError("the page goes into the folder that it is about.", "Leave --out out.")
        print(write_html(folder, examples=not options.no_examples))
        return 0
    from assay.report.formats import report_text

    _write(report_text(folder, options.format), options.out)
    if options.out:
        print(options.out)
    return 0


def _gate(options: argparse.Namespace) -> int:
    from rich.console import Console

    from assay.gate import gate

    verdicts = gate(options.folder, options.policy)
    written = {"md": verdicts.to_markdown, "junit": verdicts.to_junit, "json": verdicts.to_json}
    if options.format != "text":
        _write(written[options.format](), options.out)
    elif options.out:
        raise UsageError("--out needs a format for files.", "For example --format junit --out gate.xml.")
    if options.format == "text" or options.out:
        verdicts.show(Console())
    return 0 if verdicts.passed else 1


def _compare(options: argparse.Namespace) -> int:
    from assay.compare import compare

    comparison = compare([Path(folder) for folder in options.folders], common=options.common)
    page = comparison.write_html(options.out) if options.out else None  # first: whoever reads the rest may stop early
    if options.json:
        print(comparison.to_json(), end="")
    else:
        from rich.console import Console

        comparison.show(Console())
    if page is not None:
        print(f"The comparison, for a browser: {page}", file=sys.stderr)
    return 0


def _export(options: argparse.Namespace) -> int:
    from assay.export import export

    done = export(options.folder, options.out, examples=not options.no_examples)
    what = f"{', '.join(done.runs)} with {done.blocks:,} blocks of answers ({done.size / 1e3:,.0f} kB)"
    print(f"{done.place}: {what}")
    for note in done.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0


def _list(options: argparse.Namespace) -> int:
    from assay.models import KINDS
    from assay.probes import PROBES

    if options.what in (None, "probes"):
        for name, known in PROBES.items():
            print(f"{name:14} {known.asks}")
    if options.what in (None, "models"):
        for kind, (_, names) in KINDS.items():
            print(f"{kind:14} {names}")
    return 0


def _data(options: argparse.Namespace) -> int:
    from assay.data.commands import check_lines, fetch_lines, list_lines

    folder = None if options.data is None else Path(options.data)
    with shown_progress() as progress:
        lines = {
            "list": lambda: list_lines(folder),
            "fetch": lambda: fetch_lines(folder, options.name, progress),
            "check": lambda: check_lines(folder, options.name),
        }[options.what]()
        for line in lines:
            print(line)
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from assay.doctor import checks

    for name, answer in checks():
        print(f"{name:14} {answer}")
    return 0


def _show(folder: Path, options: argparse.Namespace) -> int:
    if options.json:
        print((folder / "findings.json").read_text(encoding="utf-8"), end="")
        return 0
    from rich.console import Console

    from assay.report import terminal_summary

    terminal_summary(folder, Console())
    return 0


def _show_tour(folder: Path, runs: Sequence[Run], seconds: float, options: argparse.Namespace) -> int:
    if options.json:
        import json

        print(json.dumps([json.loads(run.findings.to_json()) for run in runs], indent=1, ensure_ascii=False))
        return 0
    for run in runs:
        _show(run.folder, options)
    sys.stdout.flush()
    print(f"\nWhere the time went ({_duration(seconds)} in all):", file=sys.stderr)
    for run in runs:
        whole, asking, analysing = (run.info["timings"][part] for part in ("run", "asking", "analysing"))
        said = f"{whole:5.0f} s: asking {asking:.0f}, analysing {analysing:.0f}"
        print(f"  {run.findings.probe:14} {said}", file=sys.stderr)
    rest = seconds - sum(run.info["timings"]["run"] for run in runs)
    print(f"  {'pages, loading':14} {max(0, rest):5.0f} s", file=sys.stderr)
    print(f"\nThe tour's report, for a browser: {folder / 'report.html'}")
    return 0


def _write(text: str, out: str | None) -> None:
    """Write a text for other programs to a file or to standard output, as UTF-8 whatever the terminal speaks."""
    content = text.encode("utf-8", "backslashreplace")
    if out is not None:
        from assay.files.atomic import write_atomically

        write_atomically(Path(out), content)
    elif hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:  # somebody put a stream of text in its place
        sys.stdout.write(content.decode())


def _print_stages(stages: Sequence[Any], file: Any = None) -> None:
    for stage in stages:
        print(f"  {stage.label:22} {stage.questions:>11,} questions", file=file)
    print(f"  {'in all':22} {sum(stage.questions for stage in stages):>11,} questions", file=file)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings of assay as one line; those of other libraries are not for users."""

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        print(f"assay: warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=UserWarning, module=r"assay\.")
        warnings.showwarning = show
        yield


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="assay",
        description="Measure social bias in question-answering models, with its uncertainty.",
        epilog="Begin with: assay run     Then: assay run unqover --model hf:./folder     More: assay COMMAND --help",
    )
    parser.add_argument("--version", action="version", version=f"assay {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND")

    run = _command(
        commands, "run", _run, "ask a model a probe's questions and report what they show", cli_help.RUN_EXAMPLES
    )
    run.add_argument("probe", nargs="?", metavar="PROBE", help="see `assay list probes`; default: the tour")
    run.add_argument("--model", metavar="SPEC", default="builtin", help=cli_help.MODEL)
    run.add_argument(
        "--preset", choices=("quick", "standard", "paper"), default="quick", help="how much to ask (quick)"
    )
    run.add_argument("--limit", type=int, metavar="N", help="ask about N questions instead, balanced over everything")
    run.add_argument("--dry-run", action="store_true", help="print size, time and memory expected; ask next to nothing")
    run.add_argument("--resume", choices=("always", "never", "only-missing"), default="always", help=cli_help.RESUME)
    run.add_argument("--device", default="auto", help="cpu, cuda, cuda:1, mps (default: the best there is)")
    run.add_argument("--dtype", default="auto", help="float32 (default), bfloat16 or float16")
    run.add_argument("--threads", type=int, metavar="N", help="CPU threads of the model (default: all that it may use)")
    run.add_argument("--trust-remote-code", action="store_true", help="let the model's own Python code run")
    run.add_argument("--allow-pickle", action="store_true", help="load weights that are not safetensors")
    run.add_argument("--skip-bad", action="store_true", help="leave out rows of the data that cannot be used")
    run.add_argument("--block-size", type=int, default=4096, metavar="N", help=cli_help.BLOCK_SIZE)
    _common(run)

    score = _command(
        commands, "score", _score, "score somebody else's answers; no model is loaded", cli_help.SCORE_EXAMPLES
    )
    score.add_argument("probe", metavar="PROBE")
    score.add_argument("files", nargs="+", metavar="FILE", help="predictions, or the folder of a run")
    score.add_argument("--answers", metavar="COLUMN", help="the column of a table of questions that holds the answers")
    score.add_argument("--skip-bad", action="store_true", help="leave out entries that cannot be used")
    _common(score)

    generate = _command(
        commands,
        "generate",
        _generate,
        "write the questions in the authors' own file format",
        cli_help.GENERATE_EXAMPLES,
    )
    generate.add_argument("probe", metavar="PROBE")
    generate.add_argument("--out", required=True, metavar="PATH", help="the file or folder to write")
    generate.add_argument("--model", metavar="SPEC", help="keep only subjects that are one token of this model")
    generate.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting (repeatable)")
    generate.add_argument("--seed", type=int, metavar="S", help="for what is drawn at random (0)")
    generate.add_argument("--data", metavar="DIR", help=cli_help.DATA)

    report = _command(
        commands,
        "report",
        _report,
        "write a run's page again, or its numbers in other formats",
        cli_help.REPORT_EXAMPLES,
    )
    report.add_argument("folder", metavar="DIR", help="a run, or a folder of runs such as a tour")
    report.add_argument(
        "--format", choices=("html", "md", "json", "csv", "model-card"), default="html", help=cli_help.FORMAT
    )
    report.add_argument("--no-examples", action="store_true", help="no texts of questions on the page")
    report.add_argument("--out", metavar="FILE", help="write there, not to standard output (all formats but html)")

    gate = _command(
        commands, "gate", _gate, "judge runs by limits: exit code 1 if one is not kept", cli_help.GATE_EXAMPLES
    )
    gate.add_argument("folder", metavar="DIR", help="a run, or a folder of runs such as a tour")
    gate.add_argument("--policy", required=True, metavar="FILE", help="the limits: a TOML file (see docs/gate.md)")
    gate.add_argument("--format", choices=("text", "md", "junit", "json"), default="text", help=cli_help.GATE_FORMAT)
    gate.add_argument("--out", metavar="FILE", help="write md, junit or json there, and print the table")

    compare = _command(
        commands, "compare", _compare, "compare runs, or tours, with the first of them", cli_help.COMPARE_EXAMPLES
    )
    compare.add_argument("folders", nargs="+", metavar="DIR", help="runs of one probe, or folders of runs")
    compare.add_argument("--common", action="store_true", help=cli_help.COMMON_ITEMS)
    compare.add_argument("--out", metavar="FILE", help="write it as a page, too, for example comparison.html")
    compare.add_argument("--json", action="store_true", help="print JSON")

    export = _command(
        commands, "export", _export, "put a run's stored answers with it, for another machine", cli_help.EXPORT_EXAMPLES
    )
    export.add_argument("folder", metavar="DIR", help="a run, or a folder of runs such as a tour")
    export.add_argument("--out", metavar="PATH", help="a new folder or .zip for a copy (default: into DIR itself)")
    export.add_argument("--no-examples", action="store_true", help="leave texts of questions out of the copy")

    data = _command(commands, "data", _data, "get and check the papers' own data", cli_help.DATA_EXAMPLES)
    data.add_argument("what", choices=("fetch", "check", "list"))
    data.add_argument("name", nargs="?", metavar="NAME", help="bbq, unqover or sodapop (see `assay data list`)")
    data.add_argument("--data", metavar="DIR", help=cli_help.DATA)

    listing = _command(commands, "list", _list, "what there is: probes and kinds of models", None)
    listing.add_argument("what", nargs="?", choices=("probes", "models"))

    from assay.debias.command import add_debias
    from assay.study import command as studies
    from assay.training.command import add_train

    add_train(commands, _command)
    add_debias(commands, _command)
    studies.add_options(
        _command(
            commands, "study", lambda options: studies.call(options, shown_progress), studies.WHAT, studies.EXAMPLES
        )
    )
    _command(commands, "doctor", _doctor, "what this machine has: libraries, devices, folders", None)
    return parser


def _command(
    commands: Any, name: str, call: Callable[[argparse.Namespace], int], what: str, examples: str | None
) -> Any:
    parser = commands.add_parser(
        name, help=what, description=what, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(call=call)
    return parser


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="DIR", help="the run folder (default: runs/ and a name made from the command)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting (repeatable)")
    parser.add_argument("--seed", type=int, metavar="S", help="for samples, intervals and noise floors (0)")
    parser.add_argument("--data", metavar="DIR", help=cli_help.DATA)
    parser.add_argument("--json", action="store_true", help="print findings.json instead of tables")


if __name__ == "__main__":
    sys.exit(main())
