"""The command for a larger sample is the given one with another size and another folder, and says nothing else."""

from __future__ import annotations

import argparse
import shlex

import pytest

from assay.cli.larger import larger_command
from assay.cli.run import add_options


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
    command = larger_command(parsed(given), add_options)
    assert command.startswith("assay run")
    assert parsed(command.removeprefix("assay run")) == argparse.Namespace(
        **{**vars(parsed(given)), "resume": "always", **changed}
    )


def test_nothing_is_larger_than_everything() -> None:
    assert larger_command(parsed("bbq --preset paper"), add_options) == ""
