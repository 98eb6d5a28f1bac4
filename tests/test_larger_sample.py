"""The command for a larger sample is the given one with another size and another folder, and says nothing else."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import pytest

from assay.cli.run import add_options, larger_command, next_commands
from assay.results.findings import Findings
from assay.results.run import Run, RunInfo
from assay.results.verdict import Verdict, VerdictKind


def parsed(command: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(shlex.split(command))


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ("", {"preset": "standard"}),
        ("bbq --preset standard --out runs/a/", {"preset": "paper", "out": "runs/a-paper"}),
        ("unqover --limit 50 --out 'my runs/a' --preset quick", {"limit": 500, "out": "my runs/a-500"}),
        ("unqover --mod hf:x --seed 7 --set a=1 --set 'b=it is' --data D --skip-bad", {"preset": "standard"}),
        ("bbq --model api:m@http://h/v1 --key-env '' --price 1,2 --budget-usd 0.5 --dtype bfloat16 --device cpu "
         "--resume never --trust-remote-code --allow-pickle --block-size 8 --verbose", {"preset": "standard"}),
    ],
)  # fmt: skip
def test_it_repeats_every_option_but_what_happens_to_stored_answers(given: str, changed: dict[str, object]) -> None:
    command = larger_command(parsed(given))
    assert command.startswith("assay run")
    assert parsed(command.removeprefix("assay run")) == argparse.Namespace(
        **{**vars(parsed(given)), "resume": "always", **changed}
    )


def judged(probe: str, says: VerdictKind, step: str | None = None) -> Run:
    return Run(Path("runs/a"), RunInfo(probe), Findings(probe, "m", [], verdict=Verdict(says, "why", next=step)))


LARGER = [("Larger sample", "assay run bbq --preset standard --out a-standard --set form=free --set orders=2 --seed 7")]


@pytest.mark.parametrize(
    ("says", "step", "following"),
    [
        (VerdictKind.UNUSABLE, "--set orders=all",
         [("Next", "assay run bbq --out a-orders-all --set form=free --set orders=all --seed 7")]),
        (VerdictKind.FEW, "--limit 4000",
         [("Next", "assay run bbq --limit 4000 --out a-4000 --set form=free --set orders=2 --seed 7")]),
        (VerdictKind.UNUSABLE, None, []),
        (VerdictKind.CANNOT, None, []),
        (VerdictKind.FEW, None, LARGER),
        (VerdictKind.CLEAR, None, LARGER),
    ],
)  # fmt: skip
def test_the_step_that_helps_takes_the_place_of_a_larger_sample(
    says: VerdictKind, step: str | None, following: list[tuple[str, str]]
) -> None:
    options = parsed("bbq --set form=free --set orders=2 --seed 7 --out a")
    assert next_commands([judged("bbq", says, step)], options) == following


def test_a_tour_names_the_probe_of_every_step() -> None:
    unusable = [judged("bbq", VerdictKind.UNUSABLE, "--set tokens=256"), judged("unqover", VerdictKind.UNUSABLE)]
    of_bbq = ("Next (bbq)", "assay run bbq --out a-bbq-tokens-256 --set tokens=256")
    larger = ("Larger sample", "assay run --preset standard --out a-standard")
    assert next_commands(unusable, parsed("--out a")) == [of_bbq]
    assert next_commands([*unusable, judged("sodapop", VerdictKind.FEW)], parsed("--out a")) == [
        of_bbq,
        larger,
    ]


def test_nothing_is_larger_than_everything() -> None:
    assert larger_command(parsed("bbq --preset paper")) == ""
