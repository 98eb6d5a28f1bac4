"""OpenAI's chat completions: letters of listed options, and texts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.asking.messages import (
    ASSISTANT,
    Dialogue,
    Message,
    letters_for,
    messages,
    user_message,
    with_lettered_options,
)
from assay.asking.queries import Answer, ChoiceQuery, ListedQuery, Status, TextQuery
from assay.models.api.dialects import (
    TEST_QUERIES,
    WORKS,
    Body,
    Content,
    Dialect,
    DialectTest,
    UnsupportedError,
    billed,
    first_choice,
    log_probability,
    number_at,
    object_at,
    objects_at,
    text_at,
)
from assay.models.base import Endpoint

if TYPE_CHECKING:
    from assay.models.api.detect_dialect import EndpointTest

LEAST_MASS = 0.5
"""If the listed letters have less total probability than this, the answer is unclear."""

LONGEST_TEXT = 8_000
"""Characters kept of a written answer, half of them from its end; a server may ignore the token limit."""

CONTINUED: Mapping[str, Mapping[str, bool]] = {
    "message": {},
    "fields": {"continue_final_message": True, "add_generation_prompt": False},
}
"""The fields that make a server continue the start of an answer, which is the last message: none, or those of vLLM."""

TOP = (20, 5)
"""How many alternatives for a token are requested; some servers list fewer."""

HALF = "\ufffd"
"""How servers write a token that is part of a character, such as the first half of an emoji."""

_AROUND = " \t\n▁Ġ()*.:\"'`"
"""Characters that may surround an answered letter."""

_NO_LETTER = "does not answer with a letter"
_HELLO = ListedQuery("", "Please say hello to everybody.", ("green", "blue"))
_NUMBER = TextQuery("Write one random number between 1 and 1000000, and nothing else.", 12)
_BEGUN = "The opposite of hot is co"
_OPPOSITE = TextQuery("What is the opposite of hot?", 4, Dialogue(begun=_BEGUN))
_GOES_ON = "ld"
"""How a continued answer goes on; one that is started again does not begin like this."""


class ChatDialect(Dialect):
    """Options are listed under letters, whose probabilities are among the alternatives to the reply's first token.

    If the prompt asks for letters in brackets, the letter may come a token or two later, after the bracket. In the mode
    structured, the server restricts the model to the letters (vLLM's structured outputs). A sample's number is its
    seed.
    """

    path = "/chat/completions"
    modes = frozenset({"structured", "letters", "samples", "text"})

    def tests(self) -> list[DialectTest]:
        return [
            DialectTest(1, "letters", self._test_letters),
            DialectTest(4, "structured", self._test_structured),
            DialectTest(6, "samples", self._test_samples),
            DialectTest(7, "continued", self._test_continued),
        ]

    # --- requests and replies

    def options_body(self, endpoint: Endpoint, query: ChoiceQuery, mode: str) -> Body:
        text = query.prompt
        if query.dialogue is None:
            text = user_message(query.context, with_lettered_options(query.question, query.options))
        tokens = 3 if _in_brackets(query) else 1
        body = _chat_body(endpoint, text, query.dialogue, tokens, logprobs=True, top_logprobs=endpoint.top)
        return body | ({"structured_outputs": {"choice": list(_labels(query))}} if mode == "structured" else {})

    def read_options(self, query: ChoiceQuery, content: Content) -> Answer:
        choice = first_choice(content)
        declined = _declined(choice)
        if declined is not None:
            return declined
        entries = object_at(choice, "logprobs").get("content")
        text = _message_text(choice).strip()
        if entries == [] and not text:
            return Answer(Status.EMPTY)  # the model ended its answer at once
        if not entries and text == HALF:  # of which llama.cpp gives no logprobs
            return Answer(Status.UNCLEAR, mass=0.0)
        if not isinstance(entries, list) or not entries:
            raise ValueError("ignores logprobs")
        bracketed = _in_brackets(query)
        shares: dict[str, float] = {label.strip(_AROUND): 0.0 for label in _labels(query)}
        before, reached = "", 1.0  # the text before this token, and the probability of that text
        for entry in entries if bracketed else entries[:1]:
            for token, probability in _alternatives(entry, 1 if bracketed else 2):  # none beside a bracket, maybe
                letter = (before + token).strip(_AROUND)
                if letter in shares and (not bracketed or "(" in before + token):
                    shares[letter] += reached * probability
            before += text_at(entry, "token")
            if before.strip(_AROUND) or not bracketed:
                break
            reached *= math.exp(number_at(entry, "logprob", most=1e-3))
        mass = min(1.0, sum(shares.values()))
        if mass == 0.0:
            return Answer(Status.UNCLEAR, mass=mass)
        scores = tuple(map(log_probability, shares.values()))
        return Answer(Status.OK if mass >= LEAST_MASS else Status.UNCLEAR, scores, mass=mass)

    def text_body(self, endpoint: Endpoint, query: TextQuery, sample: int = 0) -> Body:
        random_fields = {"temperature": 1, "seed": sample} if sample else {}
        return _chat_body(endpoint, query.prompt, query.dialogue, query.tokens, **random_fields)

    def read_written(self, query: TextQuery, content: Content) -> Answer:
        choice = first_choice(content)
        declined = _declined(choice)
        if declined is not None:
            return declined
        if "message" not in choice:
            raise ValueError("gives no message")
        is_cut = choice.get("finish_reason") == "length"
        prefix = (query.dialogue and query.dialogue.begun) or ""  # some servers (llama.cpp) repeat it
        text = _without_reasoning(_message_text(choice), is_cut).removeprefix(prefix)
        if not text.strip():
            return Answer(Status.EMPTY)
        if len(text) > LONGEST_TEXT:
            text = f"{text[: LONGEST_TEXT // 2]}…{text[-LONGEST_TEXT // 2 :]}"
        return Answer(Status.TRUNCATED if is_cut else Status.OK, text=text)

    # --- tests

    async def _test_letters(self, search: EndpointTest) -> None:
        """Test letters, and with them texts, without the fields that the server rejects by name."""
        query = TEST_QUERIES[0]
        for _ in range(4):
            try:
                content = await search.post(self, self.options_body(search.endpoint, query, "letters"))
            except UnsupportedError as error:
                adapted = _adapted(search.endpoint, str(error))
                if adapted == search.endpoint:
                    if "logprobs" in str(error):  # it may still write
                        self._note_text(search, await search.post(self, self.text_body(search.endpoint, _NUMBER)))
                    raise
                search.endpoint = adapted
                continue
            self._note_text(search, content)
            first = search.read(self.read_options, query, content)
            second = await search.ask_options(self, TEST_QUERIES[1], "letters")
            mass = max(first.mass, second.mass)
            if mass < LEAST_MASS:
                raise UnsupportedError(f"answers, but {_NO_LETTER}: these have a probability of {mass:.2g}")
            search.require_different(first, second)
            return
        raise UnsupportedError("rejects one field after another")

    def _note_text(self, search: EndpointTest, content: Content) -> None:
        """Whether a chat's reply has a text; an empty one counts, as reasoning may have used the only token."""
        try:
            search.read(self.read_written, _NUMBER, content)
        except UnsupportedError as error:
            search.results["text"] = str(error)
        else:
            search.results["text"] = WORKS

    async def _test_structured(self, search: EndpointTest) -> None:
        """Whether the server can restrict a model that prefers another answer to the letters."""
        letters = search.results.get("letters", "")
        if letters != WORKS and _NO_LETTER not in letters:
            raise UnsupportedError("not tested: it needs logprobs")
        body = self.options_body(search.endpoint, _HELLO, "structured")
        body["messages"] = [{"role": "user", "content": _HELLO.question}]
        answer = search.read(self.read_options, _HELLO, await search.post(self, body))
        if answer.mass < 0.99:
            raise UnsupportedError("answers, but ignores structured_outputs")

    async def _test_samples(self, search: EndpointTest) -> None:
        _require_text(search)
        bodies = [self.text_body(search.endpoint, _NUMBER, sample) for sample in (1, 2)]
        answers = [search.read(self.read_written, _NUMBER, await search.post(self, body)) for body in bodies]
        is_usual = all(answer.status in (Status.OK, Status.TRUNCATED) for answer in answers)
        if is_usual and answers[0].text == answers[1].text:
            raise UnsupportedError("answers, but gives the same text at temperature 1 with another seed")

    async def _test_continued(self, search: EndpointTest) -> None:
        """Whether the server continues the start of an answer: by itself, or with fields that some servers have."""
        _require_text(search)
        for mode in CONTINUED:
            endpoint = replace(search.endpoint, continued=mode)
            content = await search.post(self, self.text_body(endpoint, _OPPOSITE))
            text = search.read(self.read_written, _NUMBER, content).text or ""  # with the start, if that is repeated
            n_tokens = billed(content)[1]  # too few to write the start: it was only repeated
            if text.strip().startswith(_GOES_ON) or (text.startswith(_BEGUN) and 0 < n_tokens <= _OPPOSITE.tokens):
                search.endpoint = endpoint
                return
        raise UnsupportedError("answers, but starts the answer again")


def _require_text(search: EndpointTest) -> None:
    if search.results.get("text") != WORKS:
        raise UnsupportedError("not tested: it writes no text")


def _adapted(endpoint: Endpoint, refusal: str) -> Endpoint:
    """The endpoint without the field that it rejected, if its message names one."""
    if "max_completion_tokens" in refusal and endpoint.limit_key == "max_tokens":
        return replace(endpoint, limit_key="max_completion_tokens")
    if "temperature" in refusal and "temperature" not in endpoint.without:
        return replace(endpoint, without=(*endpoint.without, "temperature"))
    if "top_logprobs" in refusal and endpoint.top == TOP[0]:
        return replace(endpoint, top=TOP[1])
    return endpoint


def _chat_body(endpoint: Endpoint, prompt: str, dialogue: Dialogue | None, tokens: int, **fields: Any) -> Body:
    """A chat request with the prompt in its dialogue, without fields that this endpoint rejects."""
    turns = messages(prompt, dialogue)
    if dialogue is not None and dialogue.begun:
        turns.append(Message(ASSISTANT, dialogue.begun))
        fields |= CONTINUED[endpoint.continued]
    contents = [{"role": role, "content": text} for role, text in turns]
    body = {"model": endpoint.model, "messages": contents, endpoint.limit_key: tokens, "temperature": 0, **fields}
    return {key: value for key, value in body.items() if key not in endpoint.without}


def _labels(query: ChoiceQuery) -> tuple[str, ...]:
    """The possible answers: the letters under which the options are listed, here or in the prompt."""
    return letters_for(query.options) if query.dialogue is None else query.options


def _in_brackets(query: ChoiceQuery) -> bool:
    return all(label.startswith("(") for label in _labels(query))


def _alternatives(entry: Any, least: int) -> list[tuple[str, float]]:
    """The likeliest tokens at a position of a reply and their probabilities; at least as many as required."""
    listed = objects_at(entry, "top_logprobs") if isinstance(entry, Mapping) else None
    if listed is None or len(listed) < least:
        raise ValueError("ignores top_logprobs")
    tokens = [(text_at(token, "token"), math.exp(number_at(token, "logprob", most=1e-3))) for token in listed]
    total = sum(probability for _, probability in tokens)
    if total > 1.01:
        raise ValueError(f"gives probabilities that sum to {total:.3g}")
    return tokens


def _declined(choice: Mapping[str, Any]) -> Answer | None:
    if choice.get("finish_reason") == "content_filter":
        return Answer(Status.FILTERED)
    refusal = text_at(object_at(choice, "message"), "refusal")
    return Answer(Status.REFUSED, text=refusal) if refusal.strip() else None


def _message_text(choice: Mapping[str, Any]) -> str:
    """The text of a choice's message, which may be null, or in parts."""
    message = object_at(choice, "message")
    content = message.get("content")
    if isinstance(content, list):
        return "".join(text_at(part, "text") for part in content if isinstance(part, Mapping))
    return text_at(message, "content")


def _without_reasoning(text: str, is_cut: bool) -> str:
    """The text after the reasoning that some servers leave in it; empty if the reasoning never ends.

    >>> _without_reasoning("<think>Hm.</think> B", False), _without_reasoning("<think>Hm, so", True)
    (' B', '')
    """
    _, end, answer = text.rpartition("</think>")
    if end:
        return answer
    return "" if is_cut and text.lstrip().startswith("<think>") else text
