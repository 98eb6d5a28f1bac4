"""`--dtype auto` on a GPU: which number type is chosen, why, and that a resumed run keeps it.

There is no GPU here: a tiny model on the CPU says that it is on one, and its scores are moved as a coarser type would.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.asking.queries import Answers
from assay.engine import choose_dtype as dtypes
from assay.engine.ask import Resume
from assay.engine.choose_dtype import LEAST, MOST, choose_dtype, distance, evenly_spaced_ranges
from assay.engine.executor import LocalExecutor
from assay.errors import ModelError, UsageError
from assay.models import find_model, load
from assay.models.base import ModelSpec, Options
from assay.probes.base import Request
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.plan import UnqoverPlan
from assay.results.run import Run
from assay.runs.audit import prepare_audit, run_audit
from assay.runs.score import score
from fake_models import MemoryArrays
from raising import raises
from tiny_models import ModelFolder

SPEC = ModelSpec("hf:x", "hf", "x", "d", frozenset({"span"}), "cuda", "auto", parameters=10**12)
PLAN = UnqoverPlan("religion", "span", read_lists("religion", masked=False, header=False).digest, cells=1000)


@dataclass
class Scores:
    """Answers of a model whose scores a type moves by `off`, after `seconds`; types that raise, raise."""

    off: dict[str, float]
    seconds: dict[str, float] = field(default_factory=dict)
    fails: dict[str, Exception] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def __call__(self, model: ModelSpec, sample: Sequence[range]) -> Answers:
        self.asked.append(model.dtype)
        if model.dtype in self.fails:
            raise self.fails[model.dtype]
        time.sleep(self.seconds.get(model.dtype, 0.02) if len(sample) > 1 else 0)
        rows = np.concatenate([np.arange(part.start, part.stop) for part in sample])
        lead = np.where(rows % 2, 0.3, -0.3)
        score = 0.5 + np.stack([lead, -lead], axis=1) + self.off.get(model.dtype, 0.0)
        return Answers(np.zeros(len(rows), np.uint8), {"score": score.astype(np.float32)})


def chosen(scores: Scores, spec: ModelSpec = SPEC, questions: int = 0) -> ModelSpec:
    return choose_dtype(spec, PLAN, questions, MemoryArrays(), scores)


FAST = {"float32": 0.2, "float16": 0.02, "tf32": 0.08, "bfloat16": 0.02}
BAD = ModelError("scores that are not numbers", "", code="bad-scores")
BIG = ModelError("no memory", "", code="out-of-memory")


@pytest.mark.whole
def test_the_fastest_type_that_agrees_is_chosen() -> None:
    found = chosen(Scores({"float16": 0.001, "tf32": 0.0001}, FAST))
    assert (found.dtype, found.head_dtype) == ("float16", "float32")
    assert found.chosen.startswith("float16: 99% of the scores are within 0.001 of float32's, checked with 256 quest")
    assert chosen(Scores({}, FAST | {"float16": 0.15})).dtype == "tf32"


@pytest.mark.parametrize(
    ("off", "expected"),
    [
        ({"float16": 0.003, "tf32": 0.0019}, "tf32"),
        ({"float16": 0.003, "tf32": 0.0021}, "float32"),
    ],
)
def test_a_type_that_moves_scores_is_refused(off: dict[str, float], expected: str) -> None:
    assert chosen(Scores(off, FAST)).dtype == expected


@pytest.mark.whole
def test_float32_says_why_no_other_type_was_taken() -> None:
    why = chosen(Scores({"float16": 0.004, "tf32": 0.003}, FAST)).chosen
    assert why == (
        "float32: no faster type agrees with it, checked with 256 questions (float16 moves more than 1% of the scores "
        "by over 0.002 (0.004); tf32 moves more than 1% of the scores by over 0.002 (0.003))"
    )
    slow = chosen(Scores({}, FAST | {"float16": 0.3, "tf32": 0.3}))
    assert slow.dtype == "float32"
    assert "float16 is not faster than float32" in slow.chosen


@pytest.mark.whole
def test_bfloat16_is_tried_only_if_float16_gives_no_numbers() -> None:
    scores = Scores({"bfloat16": 0.009, "tf32": 0.003}, FAST, {"float16": BAD})
    found = chosen(scores)
    assert found.dtype == "bfloat16"
    agreeing = Scores({}, FAST)
    chosen(agreeing)
    assert set(agreeing.asked) == {"float32", "float16", "tf32"}
    assert chosen(Scores({"bfloat16": 0.011, "tf32": 0.003}, FAST, {"float16": BAD})).dtype == "float32"


def test_where_float32_does_not_fit_the_stored_type_is_used_unchecked() -> None:
    found = chosen(Scores({}, FAST, {"float32": BIG}), replace(SPEC, checkpoint_dtype="bfloat16"))
    assert found.dtype == "bfloat16"
    assert found.chosen == (
        "bfloat16, as the weights are stored: not checked, because float32 does not fit on the device"
    )


def test_other_errors_are_not_taken_for_a_verdict() -> None:
    with raises("bad-tokenizer", ModelError):
        chosen(Scores({}, FAST, {"float32": ModelError("", "", code="bad-tokenizer")}))


def test_nothing_is_tried_for_few_questions() -> None:
    scores = Scores({})
    found = chosen(scores, replace(SPEC, parameters=10_000))
    assert (found.dtype, found.head_dtype, scores.asked) == ("float32", "", [])
    assert "not pay off" in found.chosen
    assert chosen(Scores({}, FAST), replace(SPEC, parameters=10_000), questions=10**10).dtype == "float16"


def test_samples_are_spread_and_of_bounded_size() -> None:
    for total, wanted in ((300, 1), (10_000, 10**9), (10**7, 1000)):
        ranges = evenly_spaced_ranges(total, wanted)
        assert min(LEAST, total) - 8 < sum(map(len, ranges)) <= MOST
        assert ranges[0].start == 0
        assert ranges[-1].stop == total
        assert all(one.stop <= other.start for one, other in pairwise(ranges))


# --- what is compared


def scored(*rows: Sequence[float]) -> Answers:
    return Answers(np.zeros(len(rows), np.uint8), {"score": np.array(rows, np.float32)})


def test_options_are_compared_as_shares_among_them() -> None:
    """Adding the same to all log scores of a question changes nothing."""
    exact = scored([-20.0, -21.0], [-30.0, -33.0])
    difference, _ = distance("choice", exact, scored([-120.0, -121.0], [-7.0, -10.0]))
    assert difference == pytest.approx(0, abs=1e-6)
    moved, _ = distance("choice", exact, scored([-20.0, -21.1], [-30.0, -33.0]))
    assert moved == pytest.approx(1 / (1 + np.exp(-1.1)) - 1 / (1 + np.exp(-1)), rel=0.05)


def test_answers_that_are_scored_one_by_one_are_compared_with_each_other() -> None:
    """As SODAPOP does: which of two answers has the higher score."""
    exact = scored([-20.0], [-21.0], [-23.0])
    assert distance("choice", exact, scored([-10.0], [-11.0], [-13.0])) == (pytest.approx(0, abs=1e-6), 0.0)
    difference, lost_lead = distance("choice", exact, scored([-20.0], [-19.9], [-23.0]))
    lead = 1 / (1 + np.exp(-1))
    assert difference > 0.2
    assert lost_lead == pytest.approx(2 * lead - 1, rel=1e-3)


def test_a_lost_lead_counts_even_if_few_scores_move() -> None:
    rows = [[0.6, 0.4]] * 999
    difference, lead = distance("span", scored(*rows, [0.503, 0.5]), scored(*rows, [0.4999, 0.5]))
    assert difference < 1e-6
    assert lead == pytest.approx(0.003, abs=1e-6)


def test_words_that_fill_a_mask_are_compared_by_word() -> None:
    def filled(tokens: list[int], probabilities: list[float]) -> Answers:
        arrays = {"token": np.array([tokens], np.int32), "probability": np.array([probabilities], np.float32)}
        return Answers(np.zeros(1, np.uint8), arrays)

    exact = filled([7, 8, 9], [0.5, 0.3, 0.1])
    assert distance("fill", exact, filled([8, 7, 9], [0.3, 0.5, 0.1]))[0] == 0
    _, lead = distance("fill", exact, filled([7, 9, 5], [0.5, 0.1, 0.05]))
    assert lead == pytest.approx(0.2)


def test_texts_are_the_same_or_not() -> None:
    def written(*texts: bytes) -> Answers:
        return Answers(np.zeros(len(texts), np.uint8), {"text": np.array(texts, np.bytes_)})

    same = [b"A"] * 200
    assert distance("text", written(*same), written(*same[:199], b"B")) == (0, 0)
    assert distance("text", written(*same), written(*same[:190], *[b"B"] * 10)) == (1, 0)


def test_vectors_are_compared_by_their_length() -> None:
    def vector(*values: float) -> Answers:
        return Answers(np.zeros(1, np.uint8), {"vector": np.array([values], np.float32)})

    assert distance("embed", vector(3.0, 4.0), vector(3.0, 4.05))[0] == pytest.approx(0.01, rel=1e-3)


# --- a run


class Moved:
    """A model on the CPU that computes as if it had another number type, and moves its scores."""

    def __init__(self, spec: ModelSpec, off: float) -> None:
        self._model: Any = load(replace(spec, device="cpu", dtype="float32", head_dtype="", chosen=""))
        self.spec, self._off = spec, off

    def encode(self, columns: Any) -> Any:
        return self._model.encode(columns)

    def forward(self, tokens: Any) -> Any:
        answers = self._model.forward(tokens)
        if self.spec.dtype == "float32":
            time.sleep(0.05)
        return {name: each + self._off if name == "score" else each for name, each in answers.items()}


@dataclass
class GPU:
    """Runs an audit of a tiny model that says that it is on a GPU."""

    folder: Path
    model: Path
    loaded: list[str] = field(default_factory=list)

    def load(self, spec: ModelSpec) -> Any:
        self.loaded.append(spec.dtype)
        return Moved(spec, {"float16": 1e-4, "tf32": 1e-5}.get(spec.dtype, 0.0))

    def run(self, *, resume: Resume = Resume.ALWAYS, dtype: str = "auto") -> Run:
        spec = replace(find_model(f"hf:{self.model}", Options("cpu")), device="cuda", dtype=dtype)
        request = Request("quick", 400, 0, {"class": "religion", "form": "span"}, None, False)
        executor = LocalExecutor(self.load)
        return run_audit(prepare_audit(spec, "unqover", request, out=self.folder, executor=executor, resume=resume))


@pytest.fixture
def gpu(model_folder: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GPU:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(dtypes, "WORTH", 0.0)
    return GPU(tmp_path / "run", model_folder("span"))


@pytest.mark.whole
def test_a_run_records_the_type_and_a_resumed_one_keeps_it(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
    run = gpu.run()
    kept = json.loads((run.folder / "run.json").read_text())
    assert kept["model"]["dtype"] in ("float16", "tf32")
    assert kept["model"]["chosen"] in " ".join(run.notes)
    assert kept["identity"]["dtype"] == "auto"
    before = (run.folder / "findings.json").read_bytes()

    def never(*_: Any) -> None:
        raise AssertionError("it was decided before")

    monkeypatch.setattr("assay.engine.ask.choose_dtype", never)
    gpu.loaded.clear()
    again = gpu.run()
    assert gpu.loaded == [], "all answers are stored, under the type that was chosen"
    assert again.notes == run.notes
    assert again.info.model == run.info.model
    assert (again.folder / "findings.json").read_bytes() == before


@pytest.mark.whole
def test_a_run_can_be_scored_again_without_the_model(gpu: GPU, tmp_path: Path) -> None:
    run = gpu.run()
    scored_again = score("unqover", [run.folder], out=tmp_path / "again")
    assert scored_again.findings.estimates == run.findings.estimates


def test_a_run_of_before_types_were_chosen_goes_on_in_float32(gpu: GPU) -> None:
    before = gpu.run(dtype="float32")
    gpu.loaded.clear()
    again = gpu.run()
    assert (again.info.model.dtype, again.info.identity, gpu.loaded) == ("float32", before.info.identity, [])


@pytest.mark.whole
def test_a_run_that_begins_anew_decides_again(gpu: GPU) -> None:
    gpu.run()
    gpu.loaded.clear()
    gpu.run(resume=Resume.NEVER)
    assert gpu.loaded[0] == "float32"
    assert {"float16", "tf32"} <= set(gpu.loaded)


def test_tf32_needs_a_gpu(model_folder: ModelFolder) -> None:
    with raises("bad-option", UsageError, key="dtype"):
        find_model(f"hf:{model_folder('span')}", Options("cpu", "tf32"))


def test_only_a_gpu_leaves_the_type_open(model_folder: ModelFolder) -> None:
    place = f"hf:{model_folder('span')}"
    assert find_model(place, Options("cpu")).dtype == "float32"
    assert find_model(place, Options("cuda")).dtype == "auto"
    assert find_model(place, Options("cuda", "bfloat16")).head_dtype == "float32"
