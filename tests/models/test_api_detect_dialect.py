"""What an endpoint can do is found by asking: what a server says in words, and what it only pretends to do."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from assay.asking.messages import Dialogue
from assay.asking.queries import ListedQuery, Status
from assay.errors import ModelError, UsageError
from assay.files.paths import cache_folder
from assay.models import find_model
from assay.models.api.detect_dialect import MOST_REQUESTS
from assay.models.api.dialects.chat import ChatDialect
from assay.models.base import Endpoint, Options
from endpoint_server import ALL, Asked, Sent, Server, serving
from raising import raises


def found(server: Server, **options: object) -> dict[str, str]:
    spec = find_model(server.model, Options(**options))  # type: ignore[arg-type]  # any of them
    assert spec.endpoint is not None
    return dict(each.split(": ", 1) for each in spec.endpoint.found)  # type: ignore[misc]  # two parts


def test_a_server_that_can_do_everything_is_asked_in_the_best_way() -> None:
    with serving() as server:
        spec = find_model(server.model)
        assert spec.endpoint is not None
        assert spec.endpoint.ways == ("decisions", "systemone", "structured", "letters", "samples", "text")
        assert spec.abilities == {"listed", "choice", "sample", "text"}
        assert len(server.asked) <= MOST_REQUESTS


@pytest.mark.parametrize(
    ("dialects", "ways", "abilities"),
    [
        ({"logprobs", "text"}, ("letters", "samples", "text"), {"listed", "sample", "text"}),
        ({"text"}, ("samples", "text"), {"sample", "text"}),
        ({"systemone", "text"}, ("systemone", "samples", "text"), {"listed", "sample", "text"}),
        (
            {"logprobs", "structured", "text"},
            ("structured", "letters", "samples", "text"),
            {"listed", "sample", "text"},
        ),
    ],
)
def test_only_what_really_works_counts(dialects: set[str], ways: tuple[str, ...], abilities: set[str]) -> None:
    with serving(frozenset(dialects)) as server:
        spec = find_model(server.model)
        assert spec.endpoint is not None
        assert (spec.endpoint.ways, spec.abilities) == (ways, abilities)


def test_fields_that_are_ignored_are_said_to_be() -> None:
    with serving(frozenset({"text"})) as server:
        words = found(server)
    assert words["letters"] == "answers, but ignores logprobs"
    assert words["echo"] == "answers, but ignores echo"
    assert words["decisions"] == words["systemone"] == "not there (404)"
    assert words["structured"] == "not tested: it needs logprobs"
    with serving(frozenset({"text", "logprobs"})) as server:
        assert found(server)["structured"] == "answers, but ignores structured_outputs"


@pytest.mark.parametrize(
    ("dialect", "continued", "words"),
    [
        ("continues", "message", "works"),
        ("continued", "fields", "works"),
        ("repeats", "message", "works"),
        ("text", "", "answers, but starts the answer again"),
    ],
)
def test_whether_the_beginning_of_an_answer_is_gone_on_from(dialect: str, continued: str, words: str) -> None:
    with serving(ALL | {dialect}) as server:
        assert found(server)["continued"] == words
        spec = find_model(server.model)
        assert spec.endpoint is not None
        assert spec.endpoint.continued == continued
        assert len(server.asked) <= MOST_REQUESTS


def test_a_server_that_writes_more_than_it_may_has_not_repeated_the_beginning() -> None:
    def long(asked: Asked) -> Sent | None:
        content = server.usual(asked)
        return Sent(content=content | {"usage": {"prompt_tokens": 30, "completion_tokens": 9}})

    with serving(ALL | {"repeats"}) as server:
        server.behave = long
        assert found(server)["continued"] == "answers, but starts the answer again"


def test_half_a_character_is_no_letter_and_no_lie() -> None:
    """llama.cpp gives no logprobs of a first token that is only a part of a character."""
    query = ListedQuery("", "Who?", ("Ann", "Bo"))
    reply = {"choices": [{"message": {"content": "\ufffd"}, "finish_reason": "length"}]}
    answer = ChatDialect().read_options(query, reply)
    assert (answer.status, answer.mass, answer.scores) == (Status.UNCLEAR, 0.0, None)


BRACKETED = ListedQuery("Who? (a) Ann (b) Bo", "", ("(a)", "(b)"), Dialogue(begun="The answer is"))


def replied(*entries: tuple[str, dict[str, float]]) -> dict[str, Any]:
    content = [
        {
            "token": said,
            "logprob": math.log(of[said]),
            "top_logprobs": [{"token": token, "logprob": math.log(share)} for token, share in of.items()],
        }
        for said, of in entries
    ]
    return {"choices": [{"message": {"content": ""}, "logprobs": {"content": content}}]}


@pytest.mark.parametrize(
    ("entries", "shares"),
    [
        ([(" (", {" (": 0.8, "Well": 0.2}), ("a", {"a": 0.75, "b": 0.25}), (")", {")": 0.9, "x": 0.1})], (0.6, 0.2)),
        ([("(", {"(": 1.0}), ("b", {"a": 0.4, "b": 0.6}), (")", {")": 1.0})], (0.4, 0.6)),  # nothing else is allowed
        ([(" (b", {" (b": 0.5, " (a": 0.25, "a": 0.25}), (")", {")": 0.9, "a": 0.1})], (0.25, 0.5)),  # "a" is a word
        ([(" ", {" ": 0.5, " (a": 0.5}), ("(", {"(": 0.8, "(b": 0.2}), ("b", {"b": 0.5, "a": 0.5})], (0.7, 0.3)),
        ([("Well", {"Well": 0.4, " (b": 0.6}), ("(a", {"(a": 0.9, "b": 0.1})], (0.0, 0.6)),
    ],
)
def test_letters_in_brackets_are_read_behind_the_bracket(
    entries: list[tuple[str, dict[str, float]]], shares: tuple[float, float]
) -> None:
    chat = ChatDialect()
    body = chat.options_body(Endpoint("m", continued="message"), BRACKETED, "letters")
    assert body["max_tokens"] == 3
    assert body["messages"][-1] == {"role": "assistant", "content": "The answer is"}
    answer = chat.read_options(BRACKETED, replied(*entries))
    assert answer.scores is not None
    assert [math.exp(score) for score in answer.scores] == pytest.approx(shares)
    assert answer.mass == pytest.approx(sum(shares))


def constant(asked: Asked) -> list[float]:
    return [0.5, 0.25, 0.25]


def test_probabilities_that_do_not_move_with_the_question_are_not_used() -> None:
    with serving(ALL - {"structured"}, chooses=constant) as server:
        words = found(server)
    for way in ("letters", "decisions", "systemone"):
        assert words[way] == "answers, but its probabilities do not move with the question"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([{"value": "the spoon", "probability": 0.5}], "answers, but gives probabilities of other options"),
        ([{"value": v, "probability": 0.9} for v in ("the spoon", "the boat", "the candle")], "sum to 2.7"),
        ([{"value": v, "probability": None} for v in ("the spoon", "the boat", "the candle")], "not a number"),
        ("many", "answers, but gives no probabilities"),
    ],
)
def test_probabilities_are_checked(given: object, words: str) -> None:
    def lies(asked: Asked) -> Sent | None:
        answers = [{"type": "choice", "probabilities": given}]
        return Sent(content={"answers": answers}) if asked.path.endswith("/decisions") else None

    with serving(behave=lies) as server:
        assert words in found(server)["decisions"]


def test_a_model_that_does_not_begin_with_a_letter_is_not_asked_for_letters() -> None:
    """As one that reasons first: every row would be unclear."""

    def thinks(asked: Asked) -> Sent | None:
        top = [{"token": "<think>", "logprob": -0.01}, {"token": "A", "logprob": -6.0 - len(asked.prompt) / 100}]
        choice = {
            "message": {"content": None},
            "finish_reason": "length",
            "logprobs": {"content": [{"top_logprobs": top}]},
        }
        return Sent(content={"choices": [choice]}) if "A. the" in asked.prompt else None

    with serving(ALL - {"decisions", "systemone"}, behave=thinks) as server:
        words = found(server)
        assert "does not answer with a letter" in words["letters"]
        assert words["structured"] == "works"


def test_a_model_that_answers_nothing_is_not_asked_for_letters() -> None:
    def silent(asked: Asked) -> Sent | None:
        choice = {"message": {"content": ""}, "finish_reason": "stop", "logprobs": {"content": []}}
        return Sent(content={"choices": [choice]}) if "A. the" in asked.prompt else None

    with serving(ALL - {"decisions", "systemone"}, behave=silent) as server:
        assert found(server)["letters"] == "does not answer a plain question (empty)"


def test_one_entry_in_the_form_of_chats_is_no_echo() -> None:
    """As llama.cpp's server answers completions."""

    def only_one(asked: Asked) -> Sent | None:
        entry = {"token": " x", "logprob": -1.0, "top_logprobs": []}
        choice = {"text": " x", "logprobs": {"content": [entry]}}
        return (
            Sent(content={"choices": [choice]})
            if asked.path.endswith("/completions") and "prompt" in asked.body
            else None
        )

    with serving(behave=only_one) as server:
        assert found(server)["echo"] == "answers, but ignores echo"


def test_an_endpoint_for_decisions_alone_can_be_asked() -> None:
    with serving(frozenset({"decisions"})) as server:
        spec = find_model(server.model)
    assert spec.endpoint is not None
    assert (spec.endpoint.ways, spec.abilities) == (("decisions",), {"listed"})


def test_texts_that_are_the_same_at_any_temperature_are_no_samples() -> None:
    def stubborn(asked: Asked) -> Sent | None:
        choice = {"message": {"content": "42"}, "finish_reason": "stop"}
        return Sent(content={"choices": [choice]}) if "random number" in asked.prompt else None

    with serving(frozenset({"text"}), behave=stubborn) as server:
        assert "same text" in found(server)["samples"]
        assert find_model(server.model).endpoint.ways == ("text",)  # type: ignore[union-attr]  # it has one


def test_fields_that_a_server_refuses_are_left_out() -> None:
    def picky(asked: Asked) -> Sent | None:
        for field, words in {
            "max_tokens": "'max_tokens' is not supported, use 'max_completion_tokens'",
            "temperature": "'temperature' does not support 0",
            "logprobs": "logprobs are not allowed for this model",
        }.items():
            if field in asked.body and "messages" in asked.body:
                return Sent(400, {"error": {"message": words}})
        return None

    with serving(frozenset({"text"}), behave=picky) as server:
        spec = find_model(server.model)
        assert len(server.asked) <= MOST_REQUESTS
    assert spec.endpoint is not None
    assert (spec.endpoint.limit_key, spec.endpoint.without) == ("max_completion_tokens", ("temperature",))
    assert "text" in spec.endpoint.ways


def test_what_was_found_is_remembered_and_asked_again_only_on_demand() -> None:
    with serving() as server:
        first = find_model(server.model)
        sent = len(server.asked)
        assert find_model(server.model) == first
        assert len(server.asked) == sent
        find_model(server.model, Options(again=True))
        assert len(server.asked) == 2 * sent


def test_a_damaged_memory_is_made_anew() -> None:
    with serving() as server:
        first = find_model(server.model)
        (place,) = (cache_folder() / "endpoints").glob("*.json")
        place.write_text("{", encoding="utf-8")
        assert find_model(server.model) == first
        json.loads(place.read_text(encoding="utf-8"))


def test_nothing_is_sent_where_that_is_not_wanted() -> None:
    with serving() as server:
        spec = find_model(server.model, Options(send=False))
        assert server.asked == []
    assert spec.endpoint is not None
    assert spec.endpoint.assumed


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_ends_the_search_at_once(status: int) -> None:
    with serving(behave=lambda asked: Sent(status, {"error": {"message": "go away"}})) as server:
        with raises("refused-request", ModelError, key=str(status)) as error:
            find_model(server.model)
        assert len(server.asked) == 1
    assert "go away" in str(error.value)


def test_a_server_that_is_not_there_is_said_so() -> None:
    with serving() as server:
        pass
    with raises("no-answer", ModelError):
        find_model(server.model)


def test_a_server_that_is_pressed_is_asked_again_within_the_limit() -> None:
    with serving(behave=lambda asked: Sent(429, {"error": "later"}, {"Retry-After": "0"})) as server:
        with raises("no-answer", ModelError):
            find_model(server.model)
        assert len(server.asked) <= MOST_REQUESTS


# --- addresses and keys


@pytest.mark.parametrize(
    "name",
    ["api:llm", "api:@http://x/v1", "api:llm@ftp://x/v1", "api:llm@http://me:word@x/v1", "api:llm@http://x/v1?key=abc"],
)
def test_an_address_has_to_be_one_that_can_be_stored(name: str) -> None:
    with raises("bad-address", UsageError, key="model"):
        find_model(name, Options(send=False))


def test_an_address_is_normalised_and_the_name_may_hold_an_at_sign() -> None:
    specs = [
        find_model(f"api:@cf/llm@{url}", Options(send=False)) for url in ("HTTPS://Host:443/v1/", "https://host/v1")
    ]
    assert {spec.place for spec in specs} == {"https://host/v1"}
    assert specs[0].digest == specs[1].digest
    assert specs[0].endpoint is not None
    assert specs[0].endpoint.model == "@cf/llm"


def test_a_named_key_has_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with raises("missing-key-env", UsageError, key="key-env"):
        find_model("api:llm@https://host/v1", Options(key_env="MY_KEY", send=False))


def test_a_key_that_cannot_be_one_is_not_sent_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-one\nsk-two")
    with serving() as server:
        with raises("missing-key-env", UsageError, key="key-env") as error:
            find_model(server.model, Options(key_env="MY_KEY"))
        assert server.asked == []
    assert "sk-" not in str(error.value)


def test_the_usual_key_never_travels_unencrypted_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")

    def key_env(url: str, **options: str) -> str:
        endpoint = find_model(f"api:llm@{url}", Options(send=False, **options)).endpoint  # type: ignore[arg-type]
        assert endpoint is not None
        return endpoint.key_env

    assert key_env("https://host/v1") == key_env("http://localhost:1/v1") == "OPENAI_API_KEY"
    assert key_env("http://host/v1") == ""
    assert key_env("http://host/v1", key_env="OPENAI_API_KEY") == "OPENAI_API_KEY"
    assert key_env("https://host/v1", key_env="") == ""


def test_the_key_is_sent_and_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-this-is-very-secret")
    with serving() as server:
        find_model(server.model, Options(key_env="MY_KEY"))
        assert {each.headers["authorization"] for each in server.asked} == {"Bearer sk-this-is-very-secret"}
    kept = [path.read_bytes() for path in Path(cache_folder()).rglob("*") if path.is_file()]
    assert kept
    assert not any(b"very-secret" in content for content in kept)
