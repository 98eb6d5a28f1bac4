"""Whole runs with functions as models: one step or two, free text, and what a run says about its prompts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.asking.queries import ChoiceQuery, TextQuery
from assay.errors import DataError, ModelError, UsageError
from assay.probes.bbq.prompts import VARIANTS as WORDS
from assay.probes.bbq.settings import VARIANTS
from assay.results.run import Run
from assay.runs.score import score
from raising import raises

TWO_STEPS = [name for name in VARIANTS if WORDS[name].first]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


class Asked:
    """A model that remembers what it was asked; `write` answers text, and options are chosen by `choose`."""

    version = "1"

    def __init__(self, write: Callable[[TextQuery], str | None], choose: int = 0) -> None:
        self.write, self.choose = write, choose
        self.texts: list[TextQuery] = []
        self.choices: list[ChoiceQuery] = []

    def __call__(self, query: ChoiceQuery | TextQuery) -> Any:
        if isinstance(query, TextQuery):
            self.texts.append(query)
            return self.write(query)
        self.choices.append(query)
        return self.choose


def audit(model: Any, out: str = "run", limit: int = 16, **settings: str) -> Run:
    return assay.audit(model, "bbq-starter", limit=limit, out=out, settings={"resamples": "20", **settings})


def info(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(folder) / "run.json").read_text())
    return found


def shown(folder: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(folder) / "examples.jsonl").read_text().splitlines()]


def kinds(run: Run) -> Counter[Any]:
    return Counter(row["answer"] for row in run.rows("answers"))


# --- two steps


@pytest.mark.parametrize("variant", TWO_STEPS)
def test_the_second_step_goes_on_from_what_the_model_wrote_in_the_first(variant: str) -> None:
    model = Asked(lambda query: f"Of {len(query.prompt)} characters.")
    run = audit(model, variant=variant)
    assert (len(model.texts), len(model.choices)) == (16, 16)
    first, wrote = {query.prompt: query for query in model.texts}, []
    for query in model.choices:
        assert query.dialogue is not None
        user, assistant = query.dialogue.before
        begun = (first[user.text].dialogue.begun if first[user.text].dialogue else None) or ""
        wrote.append(assistant.text)
        assert assistant.text == f"{begun} Of {len(user.text)} characters.".strip()
    assert len(set(wrote)) > 3
    assert run.info.stages == {"bbq-starter: first step": 16, "bbq-starter": 16}


@pytest.mark.parametrize("variant", TWO_STEPS)
def test_a_model_that_only_writes_answers_in_both_steps(variant: str) -> None:
    texts: list[TextQuery] = []

    def model(query: TextQuery) -> str:
        texts.append(query)
        return "(b)"

    run = audit(model, variant=variant)
    assert len(texts) == 32
    assert run.setting("form") == "auto"
    assert all(row["option"] == 1 for row in run.rows("answers"))


def test_what_is_refused_or_not_written_at_first_is_not_asked_further() -> None:
    def write(query: TextQuery) -> str | None:
        return [None, "", "It says nothing."][len(query.prompt) % 3]

    model = Asked(write)
    run = audit(model, limit=48, variant="explain")
    written = Counter(write(query) for query in model.texts)
    assert min(written.values()) > 5
    assert len(model.choices) == written["It says nothing."]
    assert kinds(run)["refused"] == written[None]
    assert kinds(run)["unparsed"] == written[""]
    note = {each["note"] for each in shown("run") if each["about"]["answer"] == "unparsed"}
    assert note == {"No answer: the request failed, or the answer was cut off or unclear."}


@pytest.mark.parametrize("form", ["letters", "written"])
def test_a_model_that_writes_nothing_at_all_has_no_answers(form: str) -> None:
    run = audit(Asked(lambda query: ""), variant="reprompt", form=form)
    assert kinds(run) == {"unparsed": 16}


def test_all_orders_are_asked_in_both_steps() -> None:
    model = Asked(lambda query: "Well.")
    run = audit(model, variant="reprompt", orders="all")
    assert (len(model.texts), len(model.choices)) == (96, 96)
    assert run.findings.diagnosis is not None
    assert run.findings.diagnosis.follows_place  # it always takes the first


def test_stored_answers_of_both_steps_are_used_again() -> None:
    first, again = Asked(lambda query: "Well."), Asked(lambda query: "Never.")
    one = audit(first, variant="explain")
    assert audit(again, variant="explain", out="other").findings.estimates == one.findings.estimates
    assert (again.texts, again.choices) == ([], [])
    rescored = score("bbq-starter", ["run"], out="again")
    assert [e.value for e in rescored.findings.estimates] == [e.value for e in one.findings.estimates]
    assert shown("again") == shown("run")


def test_a_run_that_ended_between_the_steps_asks_only_the_second() -> None:
    class Stopped(Asked):
        def __call__(self, query: ChoiceQuery | TextQuery) -> Any:
            if isinstance(query, ChoiceQuery):
                raise ModelError("it broke down", code="bad-model")
            return super().__call__(query)

    Stopped.__name__ = Asked.__name__  # the same model to the store
    broken, whole = Stopped(lambda query: "Well."), Asked(lambda query: "Well.")
    with raises("bad-model", ModelError):
        audit(broken, variant="explain")
    audit(whole, variant="explain")
    assert (len(broken.texts), len(whole.texts), len(whole.choices)) == (16, 0, 16)


# --- free text


def free(answer: Callable[[TextQuery], str | None], **settings: str) -> Run:
    def model(query: TextQuery) -> str | None:
        return answer(query)

    return audit(model, form="free", **settings)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("It cannot be determined.", "unknown"),
        ("The text does not say who.", "unknown"),
        ("A.", "unparsed"),
        ("(b)", "unparsed"),
        ("Somebody else entirely.", "unparsed"),
        ("I'm sorry, but I can't help with that.", "refused"),
        (None, "refused"),
    ],
)
def test_a_free_answer_that_names_nobody(said: str | None, kind: str) -> None:
    assert kinds(free(lambda query: said)) == {kind: 16}


def test_free_questions_list_no_options_and_have_no_places() -> None:
    asked: list[str] = []
    run = free(lambda query: asked.append(query.prompt) or "Nobody knows.", orders="all")  # type: ignore[func-returns-value]  # for its effect
    assert len(asked) == 16  # no order, though all were wanted
    options = [option[0] for each in shown("run") for option in each["asked"][0]["options"]]
    assert not any(f"A. {option}" in prompt for option in options for prompt in asked)
    found = run.findings.diagnosis
    assert found is not None
    assert (found.places, found.exchanged, found.follows_place) == (None, None, False)
    assert found.missing["places"] == "the options were not listed, so they have no places"


def test_a_free_answer_that_names_a_person_counts_as_that_option() -> None:
    run = free(lambda query: "I would say the Chilean tourist." if "Chilean tourist" in query.prompt else "Hm.")
    asked = [each for each in shown("run") if "Chilean tourist" in each["asked"][0]["text"]]
    assert len(asked) >= 4
    assert kinds(run)["target"] + kinds(run)["non-target"] == len(asked) == 16 - kinds(run)["unparsed"]
    for each in asked:
        (chosen,) = [text for text, _, taken, _ in each["asked"][0]["options"] if taken]
        assert "Chilean tourist" in chosen


# --- what a run says about its prompts


@pytest.mark.parametrize("settings", [{"form": "letters"}, {"form": "free"}, {"variant": "q"}, {"variant": "explain"}])
def test_every_example_has_its_prompt_as_it_was_put(settings: dict[str, str]) -> None:
    model = Asked(lambda query: "Well.")
    audit(model, **settings, system="Be fair.")
    queries = model.choices or model.texts
    for example in shown("run"):
        (asked,) = example["asked"]
        assert asked["prompt"].startswith("[system]\nBe fair.\n[user]\n")
        fitting = [query for query in queries if query.prompt in asked["prompt"]]
        assert len(fitting) == 1
        assert asked["question"] in asked["prompt"]
    page = (Path("run") / "report.html").read_text()
    assert page.count("<summary>The prompt</summary>") == len(shown("run"))


def test_models_that_only_choose_have_no_prompt() -> None:
    def model(query: ChoiceQuery) -> int:
        return 0

    audit(model)
    assert info("run")["prompts"] == {}
    assert "prompt" not in shown("run")[0]["asked"][0]


def test_run_json_has_a_prompt_of_every_stage_and_digests_of_what_was_brought() -> None:
    Path("p.txt").write_text("{context}\n{question}\n{options}\nSay:", encoding="utf-8")
    audit(Asked(lambda query: "B"), prompt="p.txt", context="both")
    found = info("run")
    assert set(found["prompts"]) == {"bbq-starter", "question only"}
    assert found["prompts"]["bbq-starter"]["example"].endswith("\nSay:")
    assert set(found["brought"]) == {"prompt"} == set(found["identity"]["brought"])
    audit(Asked(lambda query: "B"), out="two", variant="explain")
    assert set(info("two")["prompts"]) == {"bbq-starter: first step", "bbq-starter"}
    assert "(what the model wrote)" in info("two")["prompts"]["bbq-starter"]["text"]
    assert info("two")["brought"] == {}
    assert info("two")["identity"]["brought"] == {}


def test_a_prompt_that_changed_makes_another_run() -> None:
    prompt = Path("p.txt")
    prompt.write_text("{context}\n{question}\n{options}\nSay:", encoding="utf-8")
    audit(Asked(lambda query: "B"), prompt="p.txt")
    prompt.write_text("{context}\n{question}\n{options}\nTell:", encoding="utf-8")
    with raises("changed-file", DataError, key="prompt"):
        audit(Asked(lambda query: "B"), prompt="p.txt")
    with raises("changed-file", DataError, key="prompt"):
        score("bbq-starter", ["run"], out="again")


def test_abilities_are_checked_before_anything_is_asked() -> None:
    asked: list[ChoiceQuery] = []

    def model(query: ChoiceQuery) -> int:
        asked.append(query)
        return 0

    for settings in ({"variant": "explain"}, {"form": "free"}, {"system": "Be fair."}):
        with pytest.raises(UsageError):
            audit(model, **settings)
    assert asked == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"form": "free"}, "It offers no answers: what the model wrote counts as one of the two people"),
        ({"variant": "q"}, "asked in the wording of the variant q (Ganguli et al. 2023, Table 1)."),
        (
            {"variant": "explain", "system": "Be fair."},
            "asked in the wording of the variant explain (Gallegos et al. 2025, section 3), with a system prompt, "
            "in two steps: the model wrote a text first, then answered.",
        ),
    ],
)
def test_the_page_says_how_questions_were_put(settings: dict[str, str], said: str) -> None:
    audit(Asked(lambda query: "Well."), **settings)
    page = (Path("run") / "report.html").read_text()
    assert said in page
    assert "was asked 16 questions" in page.replace("</strong>", "").replace("</bdi>", "").replace("<bdi>", "")
    assert ("It offers three answers" in page) == ("form" not in settings)
