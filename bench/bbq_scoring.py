"""How long scoring takes for as many stored answers as BBQ has examples.

    python bench/bbq_scoring.py

58,492 rows with written answers, as `assay score bbq FILE --answers COLUMN` takes them, with 1,000 resamples of the
templates: reading, parsing the answers, all metrics, intervals and tables. The examples are the starter set's, repeated
under other numbers and templates until there are as many as BBQ's; the answers are drawn at random, in five wordings.
The claim: under 10 s.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from assay.probes import method_of
from assay.probes.base import Request
from assay.probes.bbq_starter.method import read_starter

EXAMPLES = 58_492
RESAMPLES = 1000
SECONDS = 10.0

_WORDINGS = ("{option}", "{option}.", "Answer: {option}", "({letter})", "I think it was {option}.")


def write_answers(file: Path, seed: int = 0, rows: int = EXAMPLES) -> None:
    """Rows of BBQ with a column `said`."""
    rng, own = np.random.default_rng(seed), read_starter().examples
    with file.open("w", encoding="utf-8") as out:
        for number in range(rows):
            turn, place = divmod(number, len(own))
            example = own[place]
            example_id, template = example.example_id + turn * len(own), f"{example.question_index} {turn}"
            example = replace(example, example_id=example_id, question_index=template)
            option = int(rng.integers(3))
            wording = _WORDINGS[int(rng.integers(len(_WORDINGS)))]
            said = wording.format(option=example.answers[option], letter="abc"[option])
            out.write(json.dumps(example.as_json() | {"said": said}) + "\n")


def main() -> int:
    with TemporaryDirectory(prefix="assay-bench-") as folder:
        file = Path(folder) / "answers.jsonl"
        write_answers(file)
        method, began = method_of("bbq"), time.perf_counter()
        findings = method.findings(*method.read_files([file], Request(settings={"resamples": str(RESAMPLES)}), "said"))
        seconds = time.perf_counter() - began
    unparsed = sum(e.value or 0 for e in findings.estimates if e.metric == "unparsed_rate" and len(e.group) == 2)
    templates = len({(row[0], row[1]) for row in findings.tables["by_template"].rows})
    print(f"{EXAMPLES:,} answers about {templates} templates, {RESAMPLES:,} resamples: {seconds:.1f} s")
    print(f"{len(findings.estimates)} estimates; answers not understood: {unparsed:.0%}")
    return 0 if seconds < SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
