"""Messages about runs, comparisons, the gate, commands and reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import made_runs
from assay.cli.common import settings_of
from assay.cli.data import check_lines
from assay.compare import compare
from assay.engine.ask import Resume
from assay.engine.shared_folder import WorkerFailure
from assay.gate import Limit, Policy, gate, read_policy
from assay.report.formats import model_card
from assay.results.findings import Findings
from assay.results.run import RunInfo
from assay.runs.export import export
from assay.runs.folder import open_for_writing, open_run, open_runs, read_info
from assay.runs.score import recollect_answers


def run(folder: Path, probe: str = "bbq", **info: object) -> Path:
    """A finished run without estimates."""
    content = {"schema": 3, "kind": "predictions", "identity": {}, "probe": probe, **info}
    return made_runs.write_run(folder, Findings(probe, folder.name, []), content)


def info(folder: Path, content: bytes) -> None:
    """Reads a run.json."""
    (folder / "run.json").write_bytes(content)
    read_info(folder)


def policy(folder: Path, *limit: str) -> None:
    """Reads a policy of one limit."""
    path = folder / "policy.toml"
    path.write_text("\n".join(["[[limit]]", *limit, ""]), encoding="utf-8")
    read_policy(path)


def no_baseline(folder: Path) -> None:
    limit = Limit("bbq.bias_score", name="no worse", baseline=folder / "base", worse_by=0.1)
    made_runs.write_run(folder / "run", Findings("bbq", "m", made_runs.bbq_estimates()), {"identity": {}})
    gate(folder / "run", Policy([limit], name="policy.toml"))


def unfinished(folder: Path) -> None:
    (folder / "bbq").mkdir()
    (folder / "bbq" / "run.json").write_text(json.dumps({"identity": {}}), encoding="utf-8")
    gate(folder, Policy([Limit("bbq.bias_score", upper=0.1)]))


def another_seed(folder: Path) -> None:
    for seed in (0, 1):
        with open_for_writing(folder, RunInfo(identity={"probe": "bbq", "seed": seed}), Resume.ALWAYS):
            pass


def changed_predictions(folder: Path) -> None:
    answers = folder / "answers.jsonl"
    answers.write_text("{}", encoding="utf-8")
    recollect_answers(open_run(run(folder / "run", data={str(answers): "0" * 64})))


def two_models(folder: Path) -> None:
    for name in ("one", "two"):
        run(folder / name)
    model_card(open_runs(folder))


def worker_failed(folder: Path) -> None:
    raise WorkerFailure.of(ZeroDivisionError("oh")).error()


CASES: dict[str, tuple[Callable[[Path], object], str]] = {
    # commands
    "bad-option": (
        lambda folder: settings_of(["gender"]),
        "--set is 'gender', expected key=value.\nFor example --set class=gender.",
    ),
    "missing-setting": (
        lambda folder: compare([folder]),
        "a comparison needs at least two run folders.\nassay compare DIR DIR …",
    ),
    "unknown-data-set": (
        lambda folder: list(check_lines(folder, "squad")),
        "there is no data set 'squad'.\nChoose one of unqover, bbq, kobbq, "
        "esbbq, ggbbq, cabbq, mbbq, basqbbq, bharatbbq, jbbq, sodapop.",
    ),
    # runs
    "not-a-run": (
        read_info,
        "FOLDER: this is not a run folder: it has no run.json.\nName a run folder that `assay run` wrote.",
    ),
    "other-run": (
        another_seed,
        "FOLDER: this folder holds another run (seed: 0 → 1).\n"
        "Choose another folder with --out, or replace this run with --resume never.",
    ),
    "other-version": (
        lambda folder: info(folder, b'{"schema": 2}'),
        "FOLDER/run.json: this run was made by another version of assay (schema 2, expected 3).\n"
        "Repeat the run with another --out; stored replies of endpoints are used again.",
    ),
    "not-new": (
        lambda folder: export(run(folder / "run"), run(folder / "sent")),
        "FOLDER/sent: this already exists.\nChoose another place with --out.",
    ),
    "unreadable-file": (
        lambda folder: info(folder, b"\xff"),
        "FOLDER/run.json: cannot be read (it is not UTF-8).\n"
        "Choose another folder with --out, or replace this run with --resume never.",
    ),
    "bad-json": (
        lambda folder: info(folder, b"[]"),
        "FOLDER/run.json: this is not a run.json file of assay.\n"
        "Choose another folder with --out, or replace this run with --resume never.",
    ),
    "bad-value": (
        lambda folder: info(folder, b'{"schema": 3, "identity": {}, "seed": "3"}'),
        "FOLDER/run.json: this is not a run.json file of assay (Expected `int | null`, got `str` - at `$.seed`).\n"
        "Choose another folder with --out, or replace this run with --resume never.",
    ),
    "changed-file": (
        changed_predictions,
        "FOLDER/answers.jsonl: this file of predictions has changed since it was scored.\nScore it again.",
    ),
    # comparisons, the gate, reports
    "duplicate": (
        lambda folder: compare([folder, folder]),
        "a run folder is named twice.\nCompare a run with others.",
    ),
    "not-comparable": (
        lambda folder: compare([run(folder / "one"), run(folder / "two", "unqover")]),
        "these runs are from different probes (bbq, unqover).\nCompare runs of one probe.",
    ),
    "unfinished-run": (
        unfinished,
        "FOLDER/bbq: this run is not finished.\nRepeat its `assay run` command, or remove its folder.",
    ),
    "missing-file": (
        no_baseline,
        "policy.toml: no worse: the baseline FOLDER/base is not a folder.\nName a run's folder.",
    ),
    "bad-policy": (
        lambda folder: policy(folder, 'metric = "bbq.bias_score"', "upper = 0.1", "size = 0.1"),
        'FOLDER/policy.toml, line 4: limit 1: "size" is one limit too many; expected one of: upper and lower, size, '
        "clear_of_chance = false, or baseline and worse_by.\nWrite a [[limit]] for each.",
    ),
    "missing-key": (
        lambda folder: policy(folder, "upper = 0.1"),
        'FOLDER/policy.toml, line 1: limit 1: "metric" is missing.\nAdd metric = "bbq.bias_score".',
    ),
    "unknown-key": (
        lambda folder: policy(folder, 'metric = "bbq.bias_score"', "uper = 0.1"),
        'FOLDER/policy.toml, line 3: limit 1: unknown key "uper"; did you mean "upper"?\n'
        "The keys are metric, group, without, name, upper, lower, size, clear_of_chance, baseline, worse_by, common, "
        "undefined, no_interval, missing.",
    ),
    "unsupported": (
        two_models,
        "these runs are of 2 models (one, two), and a card is about one.\nName the folder of one model's runs.",
    ),
    # workers
    "worker-failed": (
        worker_failed,
        "a worker failed with ZeroDivisionError('oh').\nThe worker's output has the details.",
    ),
}
