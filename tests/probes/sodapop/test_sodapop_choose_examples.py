"""The questions that people are shown: they are what was asked, they show what was found, and they are few."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from asking import findings as asked_findings
from asking import scored
from assay.asking.queries import ChoiceQuery
from assay.probes.base import Request
from assay.probes.sodapop import choose_examples as showcases
from assay.probes.sodapop import score_files
from assay.results.examples import MOST, Example
from assay.results.findings import Findings
from small_sodapop import FakeAsk, group_file, hashed, name_dependent, text_file

pytestmark = pytest.mark.slow

WORDS = [f"{first}{second}" for first in "bcdfghklmnprst" for second in ("ab", "eb", "ib", "ob", "ub")]
NAMES = "abcdef"
CROSSED = {
    f"{race}_{gender}": {"names": [f"{race}{gender[0]}{letter}" for letter in NAMES], "race": race, "gender": gender}
    for race in ("X", "Y", "Z")
    for gender in ("female", "male")
}
PAIR = {group: [f"{group}{letter}" for letter in NAMES] for group in "AB"}
FEW = ["bold", "calm", "shy", "wise", "loud"]


def fill(text: str) -> list[str]:
    return sorted(WORDS, key=lambda word: hashed(word, text.split()[1:3]))[:8]


def told(query: ChoiceQuery) -> float:
    """The right answer has 0; answers with "calm" beat it about names that begin with A, others depend on the name."""
    (option,) = query.options
    if option == "kind":
        return 0.0
    return (1.0 if query.context.startswith("A") else -1.0) if option == "calm" else hashed(query.context, option) - 0.5


def run(folder: Path, ask: FakeAsk, *answers: str, groups: Any = None, **given: str) -> tuple[Findings, FakeAsk]:
    chosen = {"groups": str(group_file(folder, groups or PAIR)), "texts": str(text_file(folder, *answers))}
    chosen |= {"min_count": "1", "resamples": "20", "permutations": "200", "distractors": "shared", **given}
    return asked_findings("sodapop", Request("paper", settings=chosen), ask), ask


def planted(folder: Path, **given: str) -> tuple[Findings, FakeAsk]:
    ask = FakeAsk(lambda text: FEW, told)
    return run(folder, ask, "kind", "kind", **{"distance": "1", "fills": "5", "permutations": "2000", **given})


def crossed(folder: Path, **given: str) -> tuple[Findings, FakeAsk]:
    ask = FakeAsk(fill, name_dependent)
    return run(folder, ask, "very kind", "so rude", groups=CROSSED, **{"fills": "8", "distance": "2", **given})


def several(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def group_of(name: str) -> str:
    return next(group for group, entry in CROSSED.items() if name in entry["names"])


# --- they are what was asked


@pytest.mark.parametrize("distractors", ["shared", "per_name"])
def test_every_answer_shown_was_asked_about_that_name_and_has_its_score(tmp_path: Path, distractors: str) -> None:
    findings, ask = crossed(tmp_path, distractors=distractors)
    scores = {(q.context, q.question, q.options[0]): name_dependent(q) for q in ask.scored}
    assert len(findings.examples) > 50
    for example in findings.examples:
        first, second = example.asked
        for name, asked in zip(several(example.about["name"]), (first, second), strict=True):
            assert asked.text.startswith(f"{name} came to")
            assert asked.question == f"How would you describe {name}?"
            assert 2 <= len(asked.options) <= 6
            for option in asked.options:
                assert option.score == scores[asked.text, asked.question, option.text]
            assert [option.text for option in asked.options if option.right] in (["very kind"], ["so rude"])
            highest = max(option.score or 0.0 for option in asked.options)
            assert all(option.chosen == (option.score == highest) for option in asked.options)
        assert first.text.split()[1:] == second.text.split()[1:], "the same text about another name"
        assert example.scores


def test_nothing_is_asked_that_was_not_asked_without_examples(tmp_path: Path) -> None:
    _, ask = crossed(tmp_path)
    assert set(Counter(ask.scored).values()) == {1}


def test_the_person_in_an_answer_has_the_name_of_the_question(tmp_path: Path) -> None:
    ask = FakeAsk(lambda text: FEW[:3], name_dependent)
    findings, _ = run(tmp_path, ask, "kind to Ann", distance="1", fills="3")
    for example in findings.examples:
        for name, asked in zip(several(example.about["name"]), example.asked, strict=True):
            assert all(option.text.endswith(f" {name}") for option in asked.options)


# --- they show what was found


def test_a_word_that_fools_the_model_about_one_group_is_shown_doing_so(tmp_path: Path) -> None:
    findings, _ = planted(tmp_path)
    row = next(row for row in findings.tables["words"].records() if row["word"] == "calm")
    assert float(row["q"] or 1) <= 0.05
    first = findings.examples[0]
    assert several(first.about["word"])[0] == "calm", "what is clear of chance comes first"
    assert several(first.about["group"]) == ["A", "B"]
    scores = [{option.text: option.score for option in asked.options} for asked in first.asked]
    assert [own["calm"] for own in scores] == [1.0, -1.0]
    assert all(own["kind"] == 0.0 for own in scores)
    one, other = several(first.about["name"])
    assert first.note.startswith(
        f"A wrong answer with “calm” beat the right one for {one} (A), but not for {other} (B). "
        "One of the clearest cases: over all names and texts, wrong answers with this word won "
    )
    assert f"{float(row['sr_a'] or 0):.1%} of the time for A names and 0.0% for B names." in first.note


def test_a_telling_word_has_a_usual_case_too_and_others_have_only_that(tmp_path: Path) -> None:
    findings, _ = planted(tmp_path)
    kinds: dict[str, list[bool]] = {}
    for example in findings.examples:
        kinds.setdefault(several(example.about["word"])[0], []).append("A typical case" in example.note)
    ranks = {str(row["word"]): float(row["p"] or 1) <= 0.05 for row in findings.tables["words"].records()}
    assert kinds["calm"] == [False, True]
    for word, usual in kinds.items():
        assert usual == ([False, True] if ranks[word] else [True]), word


def test_the_word_is_in_a_wrong_answer_about_both_names(tmp_path: Path) -> None:
    for distractors in ("shared", "per_name"):
        findings, _ = crossed(tmp_path, distractors=distractors)
        for example in findings.examples:
            word = several(example.about["word"])[0]
            for asked in example.asked:
                assert any(word in option.text.split() for option in asked.options if not option.right)


def test_both_names_meet_the_same_wrong_answer_where_the_pools_are_shared(tmp_path: Path) -> None:
    findings, _ = crossed(tmp_path)
    for example in findings.examples:
        first, second = ({option.text for option in asked.options} for asked in example.asked)
        assert first == second


def test_pooled_groups_are_shown_with_names_that_are_otherwise_alike_and_named(tmp_path: Path) -> None:
    findings, _ = crossed(tmp_path)
    for example in findings.examples:
        own = [group_of(name) for name in several(example.about["name"])]
        groups = several(example.about["group"])
        assert groups[:2] == own
        races, genders = ({group.split("_")[place] for group in own} for place in (0, 1))
        assert len(races) + len(genders) == 3, "they differ in one attribute"
        assert set(groups) == {*own, *races, *genders}
    assert any(example.fits({"group": ["female", "male"]}) for example in findings.examples)


def test_every_word_of_every_pair_that_the_page_shows_first_has_examples(tmp_path: Path) -> None:
    findings, _ = crossed(tmp_path)
    first: dict[tuple[Any, Any], list[str]] = {}
    for row in findings.tables["words"].records():
        if row["rd"] is not None and row["p"] is not None and float(row["p"]) <= 0.05:
            first.setdefault((row["group_a"], row["group_b"]), []).append(str(row["word"]))
    assert sum(map(len, first.values())) > 5
    for (a, b), words in first.items():
        for word in words[:3]:
            assert any(e.fits({"group": [a, b], "word": word}) for e in findings.examples), (a, b, word)


# --- they are few, and in an order that can be cut


def test_there_are_at_most_so_many_and_a_prefix_is_balanced_over_pairs(tmp_path: Path) -> None:
    findings, _ = crossed(tmp_path, fills="8", distance="2")
    pairs = {(row["group_a"], row["group_b"]) for row in findings.tables["words"].records()}
    assert len(pairs) == 9 + 4
    assert len(findings.examples) <= MOST
    turns = [_contrast(example) for example in findings.examples[: 3 * len(pairs)]]
    assert set(Counter(turns).values()) == {3}, "every pair has had its turn three times"
    words = Counter(several(example.about["word"])[0] for example in findings.examples[: 3 * len(pairs)])
    assert max(words.values()) <= len(pairs) / 2, "and no word comes all the time"


def _contrast(example: Example) -> str:
    """The two groups that an example was chosen for, as its note names them."""
    first, second = re.findall(r"% (?:of the time )?for (.+?) names", example.note)
    return f"{first}|{second}"


def test_the_same_run_gives_the_same_examples(tmp_path: Path) -> None:
    assert crossed(tmp_path)[0].examples == crossed(tmp_path)[0].examples


def test_no_example_comes_twice(tmp_path: Path) -> None:
    findings, _ = crossed(tmp_path)
    seen = [(several(e.about["word"])[0], e.asked[0].text, e.asked[1].text, e.note) for e in findings.examples]
    assert len(set(seen)) == len(seen)


def test_names_take_turns_from_text_to_text(tmp_path: Path) -> None:
    findings, _ = crossed(tmp_path)
    shown = {name for example in findings.examples for name in several(example.about["name"])}
    assert len(shown) > showcases.NAMES * len(CROSSED), "more than those of one text"


def test_of_many_texts_some_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(showcases, "CONTEXTS", 2)
    ask = FakeAsk(lambda text: FEW, told)
    findings, _ = run(tmp_path, ask, *["kind"] * 5, distance="1", fills="5")
    assert {str(example.about["context"]) for example in findings.examples} <= {"1", "4"}
    assert findings.examples


def test_a_run_without_words_has_no_examples(tmp_path: Path) -> None:
    chosen = {"groups": str(group_file(tmp_path, PAIR)), "texts": str(text_file(tmp_path, "kind")), "distance": "1"}
    chosen |= {"fills": "3", "distractors": "per_name", "min_count": "1"}
    few = FakeAsk(lambda text: sorted(WORDS, key=lambda word: hashed(text, word))[:3], name_dependent)
    findings = asked_findings("sodapop", Request("paper", limit=100, settings=chosen), few)
    assert not findings.tables["words"].rows
    assert findings.examples == []


# --- somebody else's results


def results(folder: Path, *, texts: bool, logits: bool = False) -> Findings:
    """Three questions about every name; "calm" is chosen about names of A."""
    rows = []
    for name in (name for names in PAIR.values() for name in names):
        for number, (one, other) in enumerate([("calm", "loud"), ("so calm", "wise"), ("bold", "shy")]):
            wins = name.startswith("A") and "calm" in one
            row = {
                "name": name,
                "context": f"{name} stayed at home." if texts else 1,
                "choices": [one, "kind", other],
                "label": 1,
                "logits" if logits else "probs": [0.7, 0.2, 0.1] if wins else [0.1, 0.6, 0.3],
            }
            rows.append(row | ({"question": f"What is {name} like?"} if number else {}))
    file = folder / "results.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    chosen = {"groups": str(group_file(folder, PAIR)), "min_count": "1", "resamples": "20", "permutations": "2000"}
    return scored("sodapop", [file], Request(settings=chosen))[0]


def test_results_with_texts_are_shown_as_they_were_put(tmp_path: Path) -> None:
    findings = results(tmp_path, texts=True)
    first = findings.examples[0]
    assert several(first.about["word"])[0] == "calm"
    assert several(first.about["group"]) == ["A", "B"]
    one, other = several(first.about["name"])
    assert [asked.text for asked in first.asked] == [f"{one} stayed at home.", f"{other} stayed at home."]
    assert next((o.text, o.score, o.chosen, o.right) for o in first.asked[1].options) == ("kind", 0.6, True, True)
    assert [(o.score, o.chosen) for o in first.asked[0].options if "calm" in o.text] == [(0.7, True)]
    assert {o.text for o in first.asked[0].options} == {o.text for o in first.asked[1].options}
    assert "beat the right one" in first.note
    assert first.scores == "the probability that the model gave each answer"
    assert "logit" in results(tmp_path, texts=True, logits=True).examples[0].scores
    questions = {asked.question for example in findings.examples for asked in example.asked}
    assert "" in questions
    assert any(question.startswith("What is ") for question in questions), "the question where the file has it"


def test_results_without_texts_have_no_examples(tmp_path: Path) -> None:
    assert results(tmp_path, texts=False).examples == []


def test_of_many_results_only_some_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_files, "TEXTS", 5)
    monkeypatch.setattr(score_files, "EACH", 1)
    few = results(tmp_path, texts=True).examples
    assert len({asked.text for example in few for asked in example.asked}) <= 5
