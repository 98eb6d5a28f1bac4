"""Models that answer queries: every row has its own status, and neither order nor concurrency changes an answer."""

from __future__ import annotations

import asyncio
import errno
import json
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import answering_models
from answering_models import Answering, answer_to, find, status_of
from assay.asking.plan import WordPlan, digest_of
from assay.asking.queries import (
    Answer,
    ChoiceColumns,
    ChoiceQuery,
    Query,
    QueryColumns,
    Status,
    StringColumn,
    TextColumns,
)
from assay.engine.ask import LiveAsk
from assay.engine.executor import EngineSettings, LocalExecutor, loop_in_thread
from assay.engine.store import BlockStore
from assay.errors import ModelError, UsageError
from assay.models import kinds
from assay.models.base import AnsweringModel, ModelSpec, Options
from assay.probes import concluded, method_of
from assay.runs.audit import audit
from assay.runs.score import recollect_answers
from fake_models import FakeModel, fake_spec
from raising import raises

CHOICE, TEXT = find("answering:choice", "choice", Options()), find("answering:text", "text", Options())


@dataclass(frozen=True)
class QuestionPlan:
    """Questions with three options, or prompts."""

    count: int
    ability: str = "choice"

    @property
    def digest(self) -> str:
        return digest_of(["questions", self.ability])

    def __len__(self) -> int:
        return self.count

    def columns(self, lo: int, hi: int) -> QueryColumns:
        if self.ability == "text":
            return TextColumns(StringColumn.of(f"Say something about {row}." for row in range(lo, hi)), 8)
        return ChoiceColumns.of([ChoiceQuery("", f"Question {row}?", ("yes", "no", "maybe")) for row in range(lo, hi)])


PLAN = QuestionPlan(60)


def asker(model: Any, store: BlockStore, at_once: int = 16) -> LiveAsk:
    return LiveAsk(model.spec, store, LocalExecutor(lambda spec: model, at_once), EngineSettings(block_size=40))


@pytest.fixture
def store(tmp_path: Path) -> BlockStore:
    return BlockStore(tmp_path / "blocks")


def test_the_two_kinds_of_models_are_told_apart() -> None:
    assert isinstance(Answering(CHOICE), AnsweringModel)
    assert not isinstance(FakeModel(fake_spec()), AnsweringModel)


def test_every_row_has_its_own_answer_and_status(store: BlockStore) -> None:
    answers = asker(Answering(CHOICE), store)(PLAN, "questions")
    given = [answer_to(PLAN.columns(row, row + 1).row(0)) for row in range(60)]
    assert answers.status.tolist() == [each.status for each in given]
    assert {*answers.status.tolist()} == {*Status}
    assert (answers.status.dtype, answers["score"].dtype, answers["score"].shape) == (np.uint8, np.float32, (60, 3))
    for row, each in zip(answers["score"], given, strict=True):
        assert np.isnan(row).all() if each.scores is None else np.array_equal(row, np.array(each.scores, np.float32))


def test_texts_are_stored_as_those_of_other_models_are(store: BlockStore) -> None:
    plan = QuestionPlan(60, "text")
    answers = asker(Answering(TEXT), store)(plan, "prompts")
    given = [answer_to(plan.columns(row, row + 1).row(0)) for row in range(60)]
    assert [bytes(text).decode() for text in answers["text"]] == [each.text or "" for each in given]
    assert answers["text"].dtype == np.dtype("S28")
    assert np.array_equal(asker(Answering(TEXT), store)(plan, "prompts")["text"], answers["text"])


def test_blanks_around_a_text_and_halves_of_characters_do_not_matter(store: BlockStore) -> None:
    class Sloppy(Answering):
        async def answer(self, query: Query) -> Answer:
            return Answer(Status.OK, text="\n so \ud83d \n")

    answers = asker(Sloppy(TEXT), store)(QuestionPlan(2, "text"), "prompts")
    assert answers["text"].tolist() == [b"so ?"] * 2


def test_answers_and_blocks_are_the_same_whatever_the_concurrency(tmp_path: Path) -> None:
    stores, models = [], []
    for at_once in (1, 7, 100):
        stores.append(BlockStore(tmp_path / str(at_once)))
        models.append(Answering(CHOICE))
        asker(models[-1], stores[-1], at_once)(PLAN, "questions")
    blocks = [{path.name: path.read_bytes() for path in store.root.rglob("*.block")} for store in stores]
    assert blocks[0] == blocks[1] == blocks[2]
    assert len(blocks[0]) == 2
    assert [model.most for model in models] == [1, 7, 40]
    assert models[0].ended == models[0].asked
    assert models[1].ended != models[1].asked, "some answers came before those to earlier questions"
    assert Counter(models[1].asked) == Counter(models[0].asked)
    assert set(Counter(models[1].asked).values()) == {1}


def test_stored_answers_are_not_asked_for_again(store: BlockStore) -> None:
    first = asker(Answering(CHOICE), store)(PLAN, "questions")
    model = Answering(CHOICE)
    again = asker(model, store)(PLAN, "questions")
    assert model.asked == []
    assert np.array_equal(first["score"], again["score"], equal_nan=True)
    assert np.array_equal(first.status, again.status)


def test_it_works_where_an_event_loop_runs_already(store: BlockStore) -> None:
    async def in_a_notebook() -> Any:
        return asker(Answering(CHOICE), store)(PLAN, "questions")

    with ThreadPoolExecutor(1) as notebook:  # a thread of its own: a browser's tests leave a loop in this one
        assert len(notebook.submit(lambda: asyncio.run(in_a_notebook())).result()) == 60


def test_a_signal_does_not_interrupt_the_making_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a loop would print a traceback when it is thrown away."""
    made: list[asyncio.AbstractEventLoop] = []
    make = asyncio.new_event_loop

    def making() -> asyncio.AbstractEventLoop:
        signal.raise_signal(signal.SIGINT)
        made.append(make())
        return made[0]

    monkeypatch.setattr(asyncio, "new_event_loop", making)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
    try:
        with pytest.raises(KeyboardInterrupt), loop_in_thread("interrupted"):
            time.sleep(60)
    finally:
        signal.signal(signal.SIGINT, before)
    for thread in threading.enumerate():
        if thread.name == "interrupted":
            thread.join(60)
    assert [loop.is_closed() for loop in made] == [True]


def test_a_loop_that_cannot_be_made_is_the_caller_s_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def making() -> asyncio.AbstractEventLoop:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(asyncio, "new_event_loop", making)
    with pytest.raises(OSError, match="too many open files"), loop_in_thread("none"):
        pass


def test_an_exception_ends_the_run_and_the_queries_under_way(store: BlockStore) -> None:
    cancelled: list[Query] = []

    class Broken(Answering):
        async def answer(self, query: Query) -> Answer:
            self.asked.append(query)
            if len(self.asked) == 5:
                raise ModelError("the key was refused.", code="key-refused")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(query)
                raise
            raise AssertionError("nobody waits for this")

    model = Broken(CHOICE)
    with raises("key-refused", ModelError):
        asker(model, store)(PLAN, "questions")
    assert len(cancelled) == len(model.asked) - 1
    assert not list(store.root.rglob("*.block"))


@pytest.mark.parametrize(
    ("spec", "given"),
    [
        (CHOICE, Answer(Status.OK)),
        (CHOICE, Answer(Status.OK, scores=(0.5, 0.5))),
        (CHOICE, Answer(Status.OK, scores=(0.5, float("nan"), 0.5))),
        (TEXT, Answer(Status.OK, scores=(0.5, 0.25, 0.25))),
    ],
)
def test_what_is_no_answer_is_never_taken_for_one(spec: ModelSpec, given: Answer, store: BlockStore) -> None:
    class Wrong(Answering):
        async def answer(self, query: Query) -> Answer:
            return given

    (ability,) = spec.abilities
    with raises("bad-scores", ModelError, key="text" if ability == "text" else "scores"):
        asker(Wrong(spec), store)(QuestionPlan(3, ability), "questions")


def test_what_can_not_be_asked_without_tokens_is_refused_before_anything_is_asked(store: BlockStore) -> None:
    model = Answering(find("answering:word", "word", Options()))
    with raises("missing-ability", UsageError, key="word"):
        asker(model, store)(WordPlan(("Anne",)), "words")
    assert model.asked == []


# --- an audit


@pytest.mark.parametrize("ability", ["choice", "text"])
def test_an_audit_counts_refused_and_failed_answers(
    ability: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(kinds(), "answering", answering_models.__name__)
    runs, models = [], []
    for at_once in (3, 40):
        model = Answering(find(f"answering:{ability}", ability, Options()))
        monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / f"cache {at_once}"))
        executor = LocalExecutor(lambda spec, model=model: model, at_once)  # type: ignore[misc]  # bound now
        out = tmp_path / f"run {at_once}"
        settings = {"resamples": "20"}
        runs.append(
            audit(f"answering:{ability}", "bbq-starter", limit=64, out=out, settings=settings, executor=executor)
        )
        models.append(model)
    asked = [status_of(query) for query in models[0].asked]
    assert (models[0].most, models[1].most) == (3, 40)
    (answered,) = {len(model.asked) for model in models}
    found = Counter(row["answer"] for row in runs[0].findings.tables["answers"].records())
    assert sum(found.values()) == answered == 64
    assert found["refused"] == sum(status in (Status.REFUSED, Status.FILTERED) for status in asked) > 5
    without = (Status.FAILED, Status.TRUNCATED, Status.EMPTY, Status.UNCLEAR)
    assert found["unparsed"] == sum(status in without for status in asked) > 5
    notes = {each.note for each in runs[0].findings.estimates if each.metric in ("refused_rate", "unparsed_rate")}
    assert not any("always 0" in note for note in notes if note)
    for name in ("findings.json", "blocks.json", "examples.jsonl"):
        assert (runs[0].folder / name).read_bytes() == (runs[1].folder / name).read_bytes()
    shown = [json.loads(line) for line in (runs[0].folder / "examples.jsonl").read_text().splitlines()]
    notes = {each["note"] for each in shown if each["about"]["answer"] == "unparsed"}
    failed = "No answer: the request failed, or the answer was cut off or unclear."
    assert notes == {failed if ability == "choice" else "The answer names no option."}
    again = concluded(method_of("bbq-starter"), *recollect_answers(runs[1]))
    assert again.estimates == runs[1].findings.estimates
