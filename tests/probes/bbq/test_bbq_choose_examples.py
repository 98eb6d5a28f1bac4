"""The examples that a BBQ run keeps: balanced, capped, always the same, and true to what was asked and answered."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import small_bbq
from asking import findings as asked_findings
from asking import scored
from assay.asking.plan import Ask, Plan
from assay.asking.queries import Answers, Status
from assay.probes.base import Request
from assay.probes.bbq.choose_examples import LONGEST_ANSWER, PROBABILITIES
from assay.probes.bbq.estimate_grid import behind
from assay.probes.bbq.items import Item as Question
from assay.results.examples import MOST, AskedQuestion, Example, to_lines
from assay.results.findings import Cell, Findings

Record = dict[str, Cell]


@dataclass(frozen=True)
class Fake:
    """A model with random scores, `tokens` beside them where it is causal; or one that writes."""

    abilities: frozenset[str] = frozenset({"choice"})
    ways: tuple[str, ...] = ()
    causal: bool = False
    says: tuple[str, ...] = ()
    seed: int = 0

    def __call__(self, plan: Plan, label: str) -> Answers:
        rng = np.random.default_rng([self.seed, len(label)])
        status = np.full(len(plan), Status.OK, np.uint8)
        if self.says:
            said = [self.says[k].encode() for k in rng.integers(0, len(self.says), len(plan)).tolist()]
            return Answers(status, {"text": np.array(said)})
        score = (3 * rng.standard_normal((len(plan), 3))).astype(np.float32)
        score[:2] = [[1, 1, 0], [2, 0, 1]]  # a tie, and a row that was refused
        status[1] = Status.REFUSED
        counts: dict[str, Any] = {"tokens": rng.integers(2, 5, (len(plan), 3)).astype(np.int32)} if self.causal else {}
        return Answers(status, {"score": score, **counts})

    def of(self, model: str) -> Ask:
        raise AssertionError("BBQ asks one model only")


LABELS = {"Age": ("old", "nonOld"), "Religion": ("Hindu", "Sikh"), "SES": ("lowSES", "highSES")}
CROSSED = "Race_x_gender"
OTHERS = {"a": "M-Black", "b": "F-White", "c": "M-White"}  # by how they differ from F-Black


def questions() -> dict[str, list[Question]]:
    """Three plain categories and a crossed one."""
    plain = {
        name: [
            quartet
            for number in range(20)
            for quartet in small_bbq.quartet(
                name,
                str(number % 5 + 1),
                number,
                labels=labels,
                groups=("low SES",) if name == "SES" else labels[:1],
                bad=number % 2,
            )
        ]
        for name, labels in LABELS.items()
    }
    crossed = [
        quartet
        for number, (letter, other) in enumerate(OTHERS.items())
        for quartet in small_bbq.quartet(
            CROSSED,
            "1",
            number,
            labels=("F-Black", other),
            groups=("Black",),
            subcategory=f"intersectional_{letter}",
        )
    ]
    return {**plain, CROSSED: crossed}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, own in questions().items():
        small_bbq.write(tmp_path / "data" / f"{name}.jsonl", own)
    return tmp_path / "data"


def run(data: Path, ask: Fake | None = None, **settings: str) -> Findings:
    request = Request("paper", settings={"resamples": "20", **settings}, data=data)
    return asked_findings("bbq", request, ask or Fake())


Place = tuple[str, str, str, str, tuple[str, ...]]  # category, context, text, question, options


def records(findings: Findings) -> dict[Place, Record]:
    """Every answer to the stored order of the options, by what was asked."""
    known = {(each.category, each.example_id): each for own in questions().values() for each in own}
    found: dict[Place, Record] = {}
    for row in findings.tables["answers"].records():
        if row["order"] == 0:
            asked, context = known[str(row["category"]), int(row["example_id"] or 0)], str(row["context"])
            text = "" if context == "question_only" else asked.context
            found[asked.category, context, text, asked.question, asked.answers] = row
    return found


def asked_of(example: Example) -> AskedQuestion:
    (asked,) = example.asked
    return asked


def place_of(example: Example) -> tuple[str, str]:
    return str(example.about["category"]), str(example.about["context"])


# --- which ones


def test_the_same_answers_give_the_same_examples(data: Path) -> None:
    one, two = (to_lines(run(data).examples) for _ in range(2))
    assert one == two
    assert one != to_lines(run(data, Fake(seed=1)).examples)


def test_there_are_at_most_so_many_and_none_twice(data: Path) -> None:
    found = run(data).examples
    assert len(found) == MOST < 3 * 80 + 12
    assert len({to_lines([example]) for example in found}) == MOST


def test_a_small_run_keeps_every_question(tmp_path: Path) -> None:
    small_bbq.write(tmp_path / "Age.jsonl", small_bbq.examples(6, 2))
    assert len(run(tmp_path).examples) == 48


def test_the_first_few_are_as_balanced_as_all(data: Path) -> None:
    found = run(data, context="both").examples
    places = [(category, c) for category in questions() for c in ("ambig", "disambig", "question_only")]
    assert {place_of(example) for example in found[:12]} == set(places)
    first = Counter(place_of(example) for example in found[:48])
    assert set(first.values()) == {4}


def test_every_stratum_has_examples(data: Path) -> None:
    """Each category and context with each polarity, label, template and comparison, as far as they were asked."""
    findings = run(data)
    for name, keys in {
        "by_label": ("category", "context", "label"),
        "intersectional": ("category", "context", "target", "comparison"),
        "by_template": ("category", "context", "polarity", "question_index"),
    }.items():
        for row in findings.tables[name].records():
            wanted = {key: str(row[key]) for key in keys}
            assert any(example.fits(wanted) for example in findings.examples), wanted
    for estimate in findings.estimates:
        wanted = behind(estimate)
        assert any(example.fits(wanted) for example in findings.examples), wanted


def test_few_show_both_polarities_and_several_templates(data: Path) -> None:
    first = [example for example in run(data).examples[:40] if place_of(example) == ("Age", "ambig")]
    assert len(first) == 5
    assert {example.about["polarity"] for example in first} == {"neg", "nonneg"}
    assert len({str(example.about["question_index"]) for example in first}) >= 4


def test_the_clearest_stereotyped_answer_comes_first_and_others_follow(data: Path) -> None:
    own = [example for example in run(data).examples if place_of(example) == ("Age", "ambig")]
    agreeing = [example for example in own if "agrees with the stereotype: wrong" in example.note]
    assert own[0] in agreeing

    def margin(example: Example) -> float:
        scores = sorted(option.score or 0.0 for option in asked_of(example).options)
        return scores[-1] - scores[-2]

    assert margin(own[0]) == max(map(margin, agreeing))
    notes = " ".join(example.note for example in own[:4])
    assert "contradicts the stereotype" in notes
    assert "cannot be determined”: right" in notes


def test_examples_without_a_text_are_left_out(tmp_path: Path) -> None:
    rows = [example.as_json() | {"said": "A"} for example in small_bbq.examples(6, 2)]
    for row in rows[::2]:
        row["question"] = ""
    file = small_bbq.write(tmp_path / "a.jsonl", rows)
    found, _ = scored("bbq", [file], Request(settings={"resamples": "20"}), "said")
    assert len(found.examples) == 24
    assert all(asked_of(example).question for example in found.examples)


# --- what they say


def agree(findings: Findings) -> None:
    """Marks, kinds and notes of all examples are those of the table of answers."""
    answers = records(findings)
    assert findings.examples
    for example in findings.examples:
        asked = asked_of(example)
        offered = tuple(option.text for option in asked.options)
        row = answers[*place_of(example), asked.text, asked.question, offered]
        chosen = [place for place, option in enumerate(asked.options) if option.chosen]
        assert chosen == ([] if row["option"] is None else [row["option"]])
        right = [option for option in asked.options if option.right]
        assert len(right) == 1
        assert bool(row["correct"]) == right[0].chosen
        assert example.about["answer"] == row["answer"]
        assert example.about["polarity"] == row["polarity"]
        assert example.about["question_index"] == str(row["question_index"])
        if row["biased"] is not None:
            assert ("agrees with the stereotype" if row["biased"] else "contradicts the stereotype") in example.note
            assert ("stereotyped person" in example.note) == (row["answer"] == "target")
            assert (": right" in example.note) == bool(row["correct"])


def test_a_multiple_choice_model_has_probabilities(data: Path) -> None:
    findings = run(data, context="both")
    agree(findings)
    for example in findings.examples:
        options = asked_of(example).options
        assert example.scores == PROBABILITIES
        assert sum(option.score or 0.0 for option in options) == pytest.approx(1, abs=1e-5)
        best = max(options, key=lambda option: option.score or 0.0)
        assert best.chosen or example.about["answer"] in ("refused", "tied")
        assert (asked_of(example).text == "") == (example.about["context"] == "question_only")


def test_ties_and_refusals_are_told(data: Path) -> None:
    small = data.parent / "small"
    small_bbq.write(small / "Age.jsonl", small_bbq.examples(6, 2))
    notes = Counter(example.note for example in run(small).examples)
    assert notes["A tie: several options share exactly the highest score."] == 1
    assert notes["The model refused to answer."] == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "natural logarithm of the probability of the option, summed over its tokens"),
        ({"likelihood": "token"}, "natural logarithm of the probability of the option, mean over its tokens"),
        ({"form": "letters"}, "natural logarithm of the probability of the option’s letter, summed over its tokens"),
        ({"form": "letters", "orders": "all"}, "natural logarithm of the probability of the option’s letter, summed"),
    ],
    ids=str,
)
def test_a_causal_model_has_likelihoods(data: Path, settings: dict[str, str], said: str) -> None:
    ask = Fake(frozenset({"choice", "text"}), causal=True)
    findings = run(data, ask, **settings)
    agree(findings)
    assert all(example.scores.startswith(said) for example in findings.examples)
    for example in findings.examples:
        options = asked_of(example).options
        best = max(options, key=lambda option: -np.inf if option.score is None else option.score)
        assert best.chosen or example.about["answer"] in ("refused", "tied")


def test_a_model_that_writes_is_quoted(data: Path) -> None:
    said = ("(a)", "(b)", "(c)", "I refuse to answer that. " + "x" * 900, "The weather is fine")
    findings = run(data, Fake(frozenset({"text"}), says=said))
    agree(findings)
    written = Counter(asked_of(example).answer for example in findings.examples)
    assert {"(a)", "(b)", "(c)", "The weather is fine"} < set(written)
    (long,) = [text for text in written if text and len(text) > 100]
    assert len(long) == LONGEST_ANSWER
    assert long.endswith("x…")
    assert all(option.score is None for e in findings.examples for option in asked_of(e).options)
    assert all(example.scores == "" for example in findings.examples)
    unparsed = [e for e in findings.examples if asked_of(e).answer == "The weather is fine"]
    assert {example.note for example in unparsed} == {"The answer names no option."}


def test_crossed_questions_say_how_the_people_differ(data: Path) -> None:
    crossed = [example for example in run(data).examples if example.about["category"] == CROSSED]
    assert {str(example.about["comparison"]) for example in crossed} == {
        str(["a", "same race, other gender"]),
        str(["b", "other race, same gender"]),
        str(["c", "other race, other gender"]),
    }
    assert {str(example.about["target"]) for example in crossed} == {"Black, African American F"}
    assert all("comparison" not in e.about for e in run(data).examples if e not in crossed)


# --- somebody else's answers


@pytest.mark.parametrize("form", ["text", "number"])
def test_scored_answers_have_examples_too(tmp_path: Path, form: str) -> None:
    options = np.random.default_rng(0).integers(0, 3, 96).tolist()
    rows = [
        example.as_json() | {"said": example.answers[option] if form == "text" else option}
        for example, option in zip(small_bbq.examples(), options, strict=True)
    ]
    twin = [{**rows[0], "example_id": 500}]
    request = Request(settings={"resamples": "20", "defects": "drop"})
    found, _ = scored("bbq", [small_bbq.write(tmp_path / "a.jsonl", [*twin, *rows])], request, "said")
    answers = Counter((row["option"], row["answer"]) for row in found.tables["answers"].records())
    shown = Counter(
        (next(place for place, option in enumerate(asked_of(e).options) if option.chosen), e.about["answer"])
        for e in found.examples
    )
    assert shown == answers
    for example in found.examples:
        asked = asked_of(example)
        chosen = next(option for option in asked.options if option.chosen)
        assert asked.answer == (chosen.text if form == "text" else None)
        assert chosen.score is None
