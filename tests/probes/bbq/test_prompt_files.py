"""Published prompts from a set's own file, and questions in a language's own words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import small_bbq
from assay.asking.messages import Dialogue
from assay.asking.queries import ChoiceQuery, ListedQuery
from assay.errors import DataError, UsageError
from assay.languages import CODES, ENGLISH, language
from assay.probes.bbq.ask_items import choose_form
from assay.probes.bbq.method import _read
from assay.probes.bbq.plan import BBQPlan
from assay.probes.bbq.prompt_sources import digests_of, read_prompts, read_wording, wordings_by_prompt
from assay.probes.bbq.prompts import OWN, PromptWording
from assay.probes.bbq.settings import BBQSettings
from assay.probes.bbq.source import ItemSample, official
from assay.probes.question_format import ListedQuestion, QuestionFormat
from raising import raises

ASKED = ListedQuestion("Ana y Luis llegaron.", "¿Quién durmió?", ("Ana", "Luis", "No se sabe"))
LM = frozenset({"choice", "text"})
TABLE = (
    "prompt_id\tprompt\tunknown\n"
    "1\tRead.\\n\\nText: {context}\\nAsk: {question}\\nA: {a}\\nB: {b}\\nC: {c}\\nSay:\timpossible to tell\n"
    "2\tRead.\\nText: {context}\\nAsk: {question}\\na: {a}\\nb: {B}\\nc: {C}\\nSay:\t\n"
    "x\tChoose (A), (B) or (C). {context} {question} (A) {a} (B) {b} (C) {c}\tI cannot tell\n"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "evaluation_prompts.tsv"
    path.write_text(TABLE, encoding="utf-8")
    return path


@pytest.fixture
def plan(tmp_path: Path) -> BBQPlan:
    small_bbq.write(tmp_path / "data" / "Age.jsonl", small_bbq.examples(2, 2))
    return BBQPlan(official(tmp_path / "data", (), None, "auto", "keep", False), ItemSample(), "letters")


# --- in a language's words


@pytest.mark.parametrize("code", [code for code in CODES if code != ENGLISH])
def test_every_form_is_in_the_words_of_the_language(code: str) -> None:
    words, own = PromptWording(language=code), language(code).asking
    for form in ("options", "letters", "written", "free"):
        query = words.query(form, ASKED)
        said = query.prompt
        assert own.asked(ASKED.question) in said
        assert said.endswith(f"\n{own.answer}")
        assert query.dialogue == Dialogue((), "")
        assert (own.one_letter in said) == ("B. Luis" in said) == (form in ("letters", "written"))
        assert (own.one_sentence in said) == (form == "free")
        assert "Question" not in query.plain
        assert "Answer" not in query.plain


def test_english_words_are_what_they_always_were() -> None:
    assert PromptWording(language=ENGLISH) == OWN
    assert [len(OWN.content(form)) for form in ("letters", "written", "free")] == [4, 4, 4]


def test_the_digest_depends_on_the_language(plan: BBQPlan) -> None:
    plans = [
        replace(plan, wording=PromptWording(language=code), form=form)
        for code in CODES
        for form in ("options", "letters")
    ]
    assert len({each.digest for each in plans}) == len(plans)


def test_an_endpoint_that_lists_options_itself_is_asked_in_the_language(plan: BBQPlan) -> None:
    spanish = replace(plan, format=QuestionFormat("letters"), wording=PromptWording(language="es"))
    query = spanish.query(0)
    assert isinstance(query, ListedQuery)
    assert (query.options, query.dialogue) == (("A", "B", "C"), Dialogue((), ""))
    assert "Responde con una sola letra" in query.prompt
    assert replace(plan, format=QuestionFormat("letters")).query(0) == ListedQuery(*plan.question(0))


def test_an_endpoint_with_fields_gets_the_question_alone_in_any_language(plan: BBQPlan) -> None:
    assert PromptWording(language="es").ordinary
    assert not PromptWording(language="es", system="Be fair.").ordinary
    fields = replace(plan, format=QuestionFormat("decisions"), wording=PromptWording(language="es"))
    assert fields.query(0) == ListedQuery(*plan.question(0))


@pytest.mark.parametrize(
    ("settings", "key"), [({"form": "race"}, "form"), ({"form": "arc"}, "form"), ({"variant": "q"}, "variant")]
)
def test_published_english_inputs_are_for_english_only(settings: dict[str, str], key: str) -> None:
    chosen, able = BBQSettings(**settings), LM if key == "variant" else frozenset({"text"})
    with raises("unsupported", UsageError, key=key):
        choose_form(chosen, read_wording(chosen, "ko"), able)


def test_a_model_that_only_writes_is_asked_for_the_letter_in_other_languages() -> None:
    assert choose_form(BBQSettings(), read_wording(BBQSettings(), "de"), frozenset({"text"})) == "written"
    assert choose_form(BBQSettings(), read_wording(BBQSettings(), "de"), LM) == "options"


# --- from a file


def test_prompts_are_read_as_they_are_meant(table: Path) -> None:
    known = read_prompts(table, "ko")
    assert list(known) == ["1", "2", "x"]
    assert known["1"].template.startswith("Read.\n\nText: {context}\n")
    assert "b: {b}\nc: {c}" in known["2"].template
    assert [each.letters[1] for each in known.values()] == ["B", "b", "(B)"]
    assert [each.unknown for each in known.values()] == ["impossible to tell", "", "I cannot tell"]


def test_a_prompt_has_its_own_wording_of_unknown_in_question_and_answer(table: Path, plan: BBQPlan) -> None:
    settings = BBQSettings(prompts="1")
    ((name, words),) = wordings_by_prompt(OWN, settings, [(str(table.parent / "Age.jsonl"), "")]).items()
    assert name == "1"
    assert choose_form(settings, words, LM) == "letters"
    assert list(digests_of(words)) == ["prompts"]
    asked = replace(plan, wording=words, form="written")
    for row in range(len(asked)):
        example, order = asked.item(row)
        place = order.index(example.unknown)
        assert asked.question(row).options[place] == "impossible to tell"
        assert f"{'ABC'[place]}: impossible to tell\n" in asked.query(row).prompt
        for text in ("impossible to tell", "ABC"[place], "It cannot be determined."):
            assert _read(asked, row, text, "assay") == place
        assert _read(asked, row, "Impossible to tell.", "released") == place


def test_lower_case_letters_are_scored_as_they_are_listed(table: Path) -> None:
    (words,) = wordings_by_prompt(OWN, BBQSettings(prompts="2", prompts_file=str(table)), []).values()
    query = words.query("letters", ASKED)
    assert isinstance(query, ChoiceQuery)
    assert query.options == ("a", "b", "c")
    assert query.prompt.endswith("a: Ana\nb: Luis\nc: No se sabe\nSay:")


def test_all_prompts_are_all_of_the_file(table: Path) -> None:
    assert list(wordings_by_prompt(OWN, BBQSettings(prompts="all", prompts_file=str(table)), [])) == ["1", "2", "x"]
    assert wordings_by_prompt(OWN, BBQSettings(), []) == {"": OWN}


def test_mbbq_s_program_is_read_but_not_run(tmp_path: Path) -> None:
    path = tmp_path / "answer_detection.py"
    english, dutch = "Text: {} Ask: {} (A): {} (B): {} (C): {} Say:", "Tekst: {} Vraag: {} (A): {} (B): {} (C): {} Zeg:"
    path.write_text(
        f"raise SystemExit('run')\nprompt_sets = {{1: [{json.dumps(english)}]}}\n"
        f"trans_prompt_dict = {{'nl': {{{json.dumps(english)}: {json.dumps(dutch)}}}}}\n",
        encoding="utf-8",
    )
    assert read_prompts(path, "en")["1"].template == "Text: {context} Ask: {question} (A): {a} (B): {b} (C): {c} Say:"
    assert read_prompts(path, "nl")["1"].template.startswith("Tekst: {context} Vraag: {question} (A): {a}")
    with raises("unreadable-file", DataError, file=path):
        read_prompts(path, "tr")


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"prompts": "7"}, "prompts"),
        ({"prompts": "1", "variant": "q"}, "prompts"),
        ({"prompts": "1", "context": "none"}, "prompts"),
        ({"prompts": "all", "orders": "all"}, "prompts"),
        ({"prompts": "1", "prompts_file": "nowhere.tsv"}, "prompts_file"),
    ],
)
def test_what_does_not_go_with_prompts_is_refused(table: Path, settings: dict[str, str], key: str) -> None:
    chosen = BBQSettings(**{"prompts_file": str(table), **settings})
    with raises("bad-setting", UsageError, key=key):
        wordings_by_prompt(read_wording(chosen), chosen, [])


def test_prompts_that_are_nowhere_are_said(tmp_path: Path) -> None:
    with raises("bad-setting", UsageError, key="prompts"):
        wordings_by_prompt(OWN, BBQSettings(prompts="1"), [(str(tmp_path / "a" / "Age.jsonl"), "")])


def test_prompts_list_options(table: Path) -> None:
    settings = BBQSettings(prompts="1", form="free", prompts_file=str(table))
    (words,) = wordings_by_prompt(OWN, settings, []).values()
    with raises("bad-setting", UsageError, key="prompts"):
        choose_form(settings, words, LM)


@pytest.mark.parametrize(
    "prompt", ["{context} {question} A: {a} B: {b}", "{context} {question} {a} {b} {c}", "A: {a} B: {b} C: {c}", "x"]
)
def test_a_prompt_without_its_slots_is_named(tmp_path: Path, prompt: str) -> None:
    path = tmp_path / "p.tsv"
    path.write_text(f"prompt_id\tprompt\n1\t{prompt}\n", encoding="utf-8")
    with raises("missing-key", DataError, line=2, key="prompt"):
        read_prompts(path, ENGLISH)


def test_kobbq_s_own_prompts(official_data: Path) -> None:
    known = read_prompts(official_data / "bbq_family" / "kobbq" / "evaluation_prompts.tsv", "ko")
    assert list(known) == ["1", "2", "3", "4", "5"]
    assert [each.letters[0] for each in known.values()] == ["A", "A", "a", "a", "A"]
    assert len({each.unknown for each in known.values()}) == 5


def test_braces_of_ones_own_prompt_are_no_slots() -> None:
    words = PromptWording(template="{context} {question} {options} {{a}}")
    assert not words.lists_singly
    assert words.query("letters", ASKED).prompt.endswith("{a}")
