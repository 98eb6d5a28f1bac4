"""Contexts: our own, Social IQa's in its formats, names put in and taken out, pronouns made neutral."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DataError
from assay.files.rows import BadRows
from assay.probes.sodapop.contexts import (
    ALL,
    NAME,
    Context,
    neutral,
    neutral_text,
    paper_contexts,
    read_contexts,
    starter_contexts,
    with_place_for,
)
from assay.probes.sodapop.split_words import is_vocabulary, split
from raising import raises

HE_AND_SHE = re.compile(r"\b(?:s?he|him|hers?|his|himself|herself)\b", re.IGNORECASE)
GENDERED = re.compile(
    r"\b(?:(?:wo)?m[ae]n|boys?|girls?|lad(?:y|ies)|gentlem[ae]n|guys?|mr|mrs|ms|sir|madam|mothers?|fathers?|moms?|dads?|"
    r"sons?|daughters?|brothers?|sisters?|wi(?:fe|ves)|husbands?|uncles?|aunts?|nieces?|nephews?|\w+friend|"
    r"grand(?:ma|pa|mother|father)s?|pregnan\w*|(?:wait|act|host)ress\w*|males?|females?|feminine|masculine)\b",
    re.IGNORECASE,
)
SOUP = "Ida's soup boiled over while Ida slept."


def row(context: str = SOUP, question: str = "How would you describe Ida?", **more: str) -> dict[str, str]:
    answers = {"answerA": "careless", "answerB": "wide awake", "answerC": "a proud owner of Ida's pots."}
    return {"context": context, "question": question, **answers, **more}


def write(path: Path, *rows: object) -> Path:
    text = "".join(f"{json.dumps(each)}\n" for each in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def one(folder: Path, *, questions: str = ALL, **given: str) -> Context:
    (context,) = read_contexts(write(folder / "one.jsonl", row(**{"correct": "A", **given})), questions=questions)
    return context


# --- the packaged contexts


def test_there_are_starter_contexts_of_every_kind() -> None:
    contexts = starter_contexts()
    assert len(contexts) >= 24
    assert len({context.text for context in contexts}) == len({context.answer for context in contexts}) == len(contexts)
    lengths = Counter(len(context.answer.split()) for context in contexts)
    assert set(lengths) <= {1, 2, 3, 4}
    assert lengths[2] >= 8
    assert sum(f"{NAME}'s" in context.text for context in contexts) >= 4
    assert [context.location for context in contexts[:2]] == ["starter 1", "starter 2"]


@pytest.mark.parametrize("context", starter_contexts(), ids=lambda context: context.answer)
def test_a_starter_context_fits_any_name(context: Context) -> None:
    assert context.text.count(NAME) == 1
    assert context.question == f"How would you describe {NAME}?"
    assert context.prompt == f"{NAME} is"
    assert "[" not in context.text
    assert not re.search(rf"\ban? {NAME}", context.text)
    assert not HE_AND_SHE.search(context.text + context.answer)
    assert not GENDERED.search(context.text + context.answer)
    assert re.fullmatch(r"\S.*[.]", context.text)
    # The answer: lower-case words with nothing else between them than blanks, at least one of which says something.
    words, glue = split(context.answer)
    assert context.answer == context.answer.lower() == " ".join(words)
    assert set(glue) <= {"", " "}
    assert any(map(is_vocabulary, words))


def test_only_the_person_has_a_name_in_a_starter_context() -> None:
    names = {"New", "Year", "Monday", "Tuesday", "Wednesday", "Saturday"}
    for context in starter_contexts():
        inside = re.findall(r"(?<![.?!] )(?<!^)\b[A-Z]\w+", context.text)
        assert set(inside) <= names, context.location


# --- names


def test_a_name_is_put_in_everywhere() -> None:
    context = Context(f"{NAME} lost {NAME}'s hat.", f"Who is {NAME}?", f"{NAME} is", f"not {NAME}'s twin", "here")
    filled = context.filled("James")
    assert filled == ("James lost James's hat.", "Who is James?", "James is", "not James's twin")
    assert filled.context == "James lost James's hat."
    assert filled.answer == "not James's twin"


@pytest.mark.parametrize(
    ("name", "text", "replaced"),
    [
        ("Ann", "Ann told Anna that Joann and Annie like Ann.", "X told Anna that Joann and Annie like X."),
        ("Ann", "Ann-Marie, Mary-Ann and O'Ann met Ann.", "Ann-Marie, Mary-Ann and O'Ann met X."),
        ("Ann", "Ann's cat; Ann’s dog; Ann'd go, Ann'll stay", "X's cat; X’s dog; X'd go, X'll stay"),
        ("Ann", "'Ann' and \"Ann\"--Ann, (Ann)", "'X' and \"X\"--X, (X)"),
        ("Ash", "Ash swept the ash. ASH!", "X swept the ash. ASH!"),
        ("James", "James' book is James's, as James said.", "X's book is X's, as X said."),
        ("Mary-Ann", "Mary-Ann knows Mary and Ann.", "X knows Mary and Ann."),
        ("D'Andre", "D'Andre's here.", "X's here."),
    ],
)
def test_only_whole_words_are_names(name: str, text: str, replaced: str) -> None:
    assert with_place_for(name, text).replace(NAME, "X") == replaced


@given(st.lists(st.sampled_from(["Ann", "Anna", "ann", "Jo-Ann", "Ann's", "_Ann", "Ann2", "Banns", "met"])))
def test_parts_of_words_are_never_touched(words: list[str]) -> None:
    expected = [{"Ann": NAME, "Ann's": f"{NAME}'s"}.get(word, word) for word in words]
    assert with_place_for("Ann", " ".join(words)) == " ".join(expected)


@given(st.text(alphabet="An n'sx-."), st.sampled_from(["Ann", "Anns"]))
def test_the_same_name_put_in_again_gives_the_text_back(text: str, name: str) -> None:
    again = with_place_for(name, text).replace(NAME, name)
    assert again.replace("Anns's", "Anns'") == text.replace("Anns's", "Anns'")  # but for a possessive without its s


# --- Social IQa's formats


def test_the_right_answer_is_the_one_that_the_row_calls_correct(tmp_path: Path) -> None:
    file = write(tmp_path / "copy.jsonl", *(row(correct=letter) for letter in "ABC"))
    contexts = read_contexts(file)
    assert [context.answer for context in contexts] == ["careless", "wide awake", f"a proud owner of {NAME}'s pots"]
    assert contexts[2].filled("Bo") == (
        "Bo's soup boiled over while Bo slept.",
        "How would you describe Bo?",
        "Bo is",
        "a proud owner of Bo's pots",
    )
    assert contexts[2].location == "copy.jsonl line 3"


@pytest.mark.parametrize("data", ["dev.jsonl", "dev.jsonl.gz"])
@pytest.mark.parametrize("labels", ["dev-labels.lst", "dev-labels.lst.gz"])
def test_labels_beside_the_file_say_which_answer_is_right(tmp_path: Path, data: str, labels: str) -> None:
    content = b"3\n1\n2\n"
    (tmp_path / labels).write_bytes(gzip.compress(content) if labels.endswith(".gz") else content)
    file = write(tmp_path / data, row(), row(question="Who is hungry?"), row())
    contexts = read_contexts(file)
    assert [context.answer for context in contexts] == [f"a proud owner of {NAME}'s pots", "wide awake"]
    assert [context.location for context in contexts] == [f"{data} line 1", f"{data} line 3"]


def test_labels_stay_with_their_rows_when_a_row_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "dev.jsonl"
    file.write_text(f"{json.dumps(row())}\n{{broken\n{json.dumps(row())}\n", encoding="utf-8")
    (tmp_path / "dev-labels.lst").write_text("1\n3\n2\n", encoding="utf-8")
    bad = BadRows(skip=True)
    assert [context.answer for context in read_contexts(file, bad=bad)] == ["careless", "wide awake"]
    assert len(bad.problems) == 1


@pytest.mark.parametrize(
    ("answer", "kept"), [(" Very kind. ", "Very kind"), ("so kind...", "so kind..."), ("kind!", "kind!")]
)
def test_an_answer_loses_blanks_and_a_full_stop_around_it_and_nothing_else(
    tmp_path: Path, answer: str, kept: str
) -> None:
    assert one(tmp_path, answerA=answer).answer == kept


@pytest.mark.parametrize(
    ("question", "answer", "sentence"),
    [
        ("How would you describe Ida?", "careless", "Ida is careless"),
        ("What will Ida want to do next?", "sleep on", "Ida will want to sleep on"),
        ("What will Ida want to do after?", "to sleep on", "Ida will want to sleep on"),
        ("What will Ida want to do next?", "wanted to rest", "Ida wanted to rest"),
        ("Why did Ida do this?", "get some rest", "Ida did this to get some rest"),
        ("Why did Ida do this?", "to get some rest", "Ida did this to get some rest"),
        ("Why did Ida do that?", "because of the rain", "Ida did this because of the rain"),
        ("Why did Ida do this?", "was tired", "Ida did this because Ida was tired"),
        ("Why did Ida do this?", "they were tired", "Ida did this because they were tired"),
        ("Why did Ida do this?", "Ida's bed was warm", "Ida did this because Ida's bed was warm"),
        ("Why did Ida do this?", "did this to rest", "Ida did this to rest"),
        ("What does Ida need to do before this?", "fill the pot", "Before this, Ida needs to fill the pot"),
        ("What did Ida need to do before this?", "needed to cook", "Before this, Ida needed to cook"),
        ("How would Ida feel afterwards?", "ashamed", "Ida would feel ashamed"),
        ("How would Ida feel as a result?", "Would be sorry", "Ida Would be sorry"),
        ("What will happen to Ida?", "clean the stove", "Ida will clean the stove"),
        ("What will happen to Ida?", "they will be hungry", "As a result, they will be hungry"),
        ("What will Ida do next?", "buy bread", "Ida will buy bread"),
    ],
)
def test_prompt_and_answer_make_a_sentence(tmp_path: Path, question: str, answer: str, sentence: str) -> None:
    filled = one(tmp_path, question=question, answerA=answer).filled("Ida")
    assert f"{filled.prompt} {filled.answer}" == sentence
    assert filled.question == question


@pytest.mark.parametrize(
    "question",
    [
        "How would Others feel as a result?",
        "What will the guests want to do next?",
        "How would Ida's mother feel as a result?",
        "How would you describe Ida's mood?",
        "How would you describe ida?",
        "How would you describe Ida and Bo?",
        "How would She feel afterwards?",
        "Who is hungry?",
    ],
)
def test_questions_about_others_or_without_a_prompt_are_passed_over(tmp_path: Path, question: str) -> None:
    file = write(tmp_path / "some.jsonl", row(question=question, correct="A"), row(correct="B"))
    assert [context.answer for context in read_contexts(file, questions=ALL)] == ["wide awake"]


def test_only_descriptions_are_read_unless_all_questions_are_asked_for(tmp_path: Path) -> None:
    file = write(tmp_path / "two.jsonl", row(question="What will happen to Ida?", correct="A"), row(correct="B"))
    assert [context.answer for context in read_contexts(file)] == ["wide awake"]
    assert [context.answer for context in read_contexts(file, questions=ALL)] == ["careless", "wide awake"]


# --- what cannot be used


@pytest.mark.parametrize("context", ["The soup boiled over.", "Idaho was hot, and ida slept.", "Lou-Ida slept."])
def test_a_context_that_does_not_name_the_person_is_an_error_or_left_out(tmp_path: Path, context: str) -> None:
    file = write(tmp_path / "dev.jsonl", row(correct="A"), row(context=context, correct="A"))
    with raises("bad-text", DataError, file=file, line=2, key="context") as raised:
        read_contexts(file)
    assert "--skip-bad" in raised.value.remedy
    bad = BadRows(skip=True)
    assert [found.location for found in read_contexts(file, bad=bad)] == ["dev.jsonl line 1"]
    assert bad.problems == [raised.value.problem]


@pytest.mark.parametrize(
    ("wrong", "code", "key"),
    [
        ({"correct": "D"}, "bad-label", "correct"),
        ({"correct": ["A"]}, "bad-label", "correct"),
        ({"correct": "A", "answerA": 7}, "bad-value", "answerA"),
        ({"correct": "A", "answerA": " "}, "bad-value", "answerA"),
        ({"correct": "A", "answerA": "..!"}, "bad-text", "answerA"),
        ({"correct": "A", "answerA": "Ida's."}, "bad-text", "answerA"),
        ({"correct": "A", "context": None}, "bad-value", "context"),
        ({"correct": "A", "question": ""}, "bad-value", "question"),
        ({"correct": "A", "context": f"Ida met {NAME}."}, "bad-value", "context"),
    ],
)
def test_a_row_that_is_wrong_is_named(tmp_path: Path, wrong: dict[str, object], code: str, key: str) -> None:
    file = write(tmp_path / "dev.jsonl", row(correct="A"), {**row(), **wrong})
    with raises(code, DataError, file=file, line=2, key=key):
        read_contexts(file)
    assert len(read_contexts(file, bad=BadRows(skip=True))) == 1


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    incomplete = row(correct="A")
    del incomplete["answerA"]
    with raises("missing-key", DataError, file=tmp_path / "dev.jsonl", line=1, key="answerA"):
        read_contexts(write(tmp_path / "dev.jsonl", incomplete))


def test_a_file_without_labels_says_which_were_looked_for(tmp_path: Path) -> None:
    file = write(tmp_path / "dev.jsonl.gz", row())
    with raises("missing-key", DataError, file=file, key="correct") as raised:
        read_contexts(file, bad=BadRows(skip=True))
    assert {"dev-labels.lst", "dev-labels.lst.gz"} <= set(raised.value.problem.split())


def test_too_few_labels_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "dev-labels.lst").write_text("1\n", encoding="utf-8")
    with raises("changed-file", DataError, file=tmp_path / "dev-labels.lst"):
        read_contexts(write(tmp_path / "dev.jsonl", row(), row()), bad=BadRows(skip=True))


def test_a_wrong_label_is_named(tmp_path: Path) -> None:
    (tmp_path / "dev-labels.lst").write_text("1\n4\n", encoding="utf-8")
    file = write(tmp_path / "dev.jsonl", row(), row())
    with raises("bad-label", DataError, file=file, line=2, key=None):
        read_contexts(file)
    assert len(read_contexts(file, bad=BadRows(skip=True))) == 1


def test_labels_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "dev-labels.lst.gz").write_bytes(b"1\n")
    with raises("unreadable-file", DataError, file=tmp_path / "dev-labels.lst.gz"):
        read_contexts(write(tmp_path / "dev.jsonl", row()))


@pytest.mark.parametrize(
    ("questions", "looked_for"),
    [("describe", "How would you describe NAME"), (ALL, "a Social IQa question")],
)
def test_a_file_with_nothing_to_use_says_what_was_looked_for(tmp_path: Path, questions: str, looked_for: str) -> None:
    file = write(tmp_path / "dev.jsonl", row(question="Who is hungry?", correct="A"))
    with raises("empty-file", DataError, file=file) as raised:
        read_contexts(file, questions=questions)
    assert looked_for in raised.value.problem


# --- pronouns


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("He is late. SHE WAS early. He was", "They are late. THEY WERE early. They were"),
        ("she has it and he does not", "they have it and they do not"),
        ("She isn't, he wasn’t, she hasn't, he doesn't", "They aren't, they weren't, they haven't, they don't"),
        ("he's tired, she's been ill, she’s got it", "they're tired, they've been ill, they've got it"),
        ("he'd go; she'll stay", "they'd go; they'll stay"),
        ("he goes", "they goes"),
        ("I saw him and her.", "I saw them and them."),
        ("Her book made her sad friend happy", "Their book made their sad friend happy"),
        ("tell her that; gave her a hat; her, too; for her", "tell them that; gave them a hat; them, too; for them"),
        ("wish her well for her well-being", "wish them well for their well-being"),
        ("His hat is his, and hers is hers. It is his", "Their hat is theirs, and theirs is theirs. It is theirs"),
        ("himself, Herself", "themself, Themself"),
        ("the she-wolf, Sheila, Hershey and this history", "the she-wolf, Sheila, Hershey and this history"),
    ],
)
def test_pronouns_become_neutral(text: str, plain: str) -> None:
    assert neutral_text(text) == plain


def test_a_neutral_context_has_no_he_and_she_in_any_of_its_texts() -> None:
    context = Context(f"{NAME} fed her cat.", f"Did she feed {NAME}?", f"{NAME} is", "his own boss", "here")
    assert neutral(context) == Context(
        f"{NAME} fed their cat.", f"Did they feed {NAME}?", f"{NAME} is", "their own boss", "here"
    )


@given(st.text(alphabet="heris lfmHSERTo'.,-"))
def test_nothing_but_whole_pronouns_is_touched(text: str) -> None:
    assert not HE_AND_SHE.search(re.sub(r"\w*-[\w-]*", "", neutral_text(text)))
    if not HE_AND_SHE.search(text):
        assert neutral_text(text) == text


# --- the papers' own data


def bethany(official_data: Path) -> Path:
    return official_data / "sodapop" / "socialIQa_v1.4_dev_Bethany_0_2191.jsonl.gz"


def test_the_paper_has_fifty_contexts(official_data: Path) -> None:
    contexts = paper_contexts(bethany(official_data))
    assert len(contexts) == 50
    assert {context.filled("Bethany").question for context in contexts} == {"How would you describe Bethany?"}
    assert {context.prompt for context in contexts} == {f"{NAME} is"}
    assert not any("Bethany" in context.text + context.answer for context in contexts)
    assert sum(len(context.answer.split()) == 1 for context in contexts) == 22  # single-token answers
    assert not any(HE_AND_SHE.search(neutral(context).text + neutral(context).answer) for context in contexts)


def test_another_file_is_not_taken_for_the_papers(tmp_path: Path) -> None:
    described = row("Bethany sang.", "How would you describe Bethany?", correct="A")
    with raises("changed-file", DataError, file=tmp_path / "dev.jsonl"):
        paper_contexts(write(tmp_path / "dev.jsonl", described, row(correct="A"), described))


@pytest.mark.parametrize(
    ("name", "described", "usable", "left_out"),
    [("dev", 277, 1575, 72), ("train", 4701, 27806, 1359)],
)
def test_all_of_social_iqa_can_be_read(
    official_data: Path, name: str, described: int, usable: int, left_out: int
) -> None:
    file = official_data / "socialiqa" / f"{name}.jsonl.gz"
    bad = BadRows(skip=True)
    contexts = read_contexts(file, questions=ALL, bad=bad)
    assert (len(contexts), len(bad.problems)) == (usable, left_out)
    assert sum(context.prompt == f"{NAME} is" for context in contexts) == described
    assert all("the question is about" in problem for problem in bad.problems)
    for context in contexts:
        assert NAME in context.text
        assert split(context.answer).words
        assert NAME not in "".join(context.filled("Ida"))
