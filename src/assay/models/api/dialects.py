"""The wire formats: what is posted for a query, and what a reply says.

Every way to get an option's probability, or a text, from an endpoint is a class with the same two functions: `body`
makes the request's body, and `read` makes an answer from the reply, or raises ValueError if the reply lacks what was
requested. A server may answer 200 and ignore a field; the error then says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from assay.asking.messages import ASSISTANT, Dialogue, Message, append_option, messages, user_message
from assay.asking.option_prompts import FIELD_MODES, letters_for, with_lettered_options
from assay.asking.queries import Answer, ChoiceQuery, ServerRecord, Status, TextQuery
from assay.models.api.client import LONGEST_NAME
from assay.models.api.fields import number_at, object_at, objects_at, text_at, tokens_at
from assay.models.base import Endpoint, Reply

LEAST_MASS = 0.5
"""If the listed letters have less total probability than this, the answer is unclear."""

LONGEST_TEXT = 8_000
"""Characters kept of a written answer, half of them from its end; a server may ignore the token limit."""

CONTINUED: Mapping[str, Mapping[str, bool]] = {
    "message": {},
    "fields": {"continue_final_message": True, "add_generation_prompt": False},
}
"""The fields that make a server continue the start of an answer, which is the last message: none, or those of vLLM."""

HALF = "\ufffd"
"""How servers write a token that is part of a character, such as the first half of an emoji."""

_AROUND = " \t\n▁Ġ()*.:\"'`"
"""Characters that may surround an answered letter."""

Body = dict[str, Any]


def chat_body(endpoint: Endpoint, prompt: str, dialogue: Dialogue | None, tokens: int, **more: Any) -> Body:
    """A chat request with the prompt in its dialogue, without fields that this endpoint rejects."""
    turns = messages(prompt, dialogue)
    if dialogue is not None and dialogue.begun:
        turns.append(Message(ASSISTANT, dialogue.begun))
        more = {**more, **CONTINUED[endpoint.continued]}
    said = [{"role": role, "content": text} for role, text in turns]
    body = {"model": endpoint.model, "messages": said, endpoint.limit_key: tokens, "temperature": 0, **more}
    return {key: value for key, value in body.items() if key not in endpoint.without}


def labels_of(query: ChoiceQuery) -> tuple[str, ...]:
    """The possible answers: the letters under which the options are listed, here or in the prompt."""
    return letters_for(query.options) if query.dialogue is None else query.options


class LettersDialect:
    """Options listed under letters, whose probabilities are among the alternatives to the reply's first token.

    If the prompt asks for letters in brackets, the letter may come a token or two later, after the bracket.
    """

    path: ClassVar[str] = "/chat/completions"

    def body(self, endpoint: Endpoint, query: ChoiceQuery) -> Body:
        own = query.dialogue is None
        text = (
            user_message(query.context, with_lettered_options(query.question, query.options)) if own else query.prompt
        )
        tokens = 3 if _bracketed(query) else 1
        return chat_body(endpoint, text, query.dialogue, tokens, logprobs=True, top_logprobs=endpoint.top)

    def read(self, query: ChoiceQuery, content: Mapping[str, Any]) -> Answer:
        choice = first_choice(content)
        declined = _declined(choice)
        if declined is not None:
            return declined
        entries = object_at(choice, "logprobs").get("content")
        written = _content(object_at(choice, "message")).strip()
        if entries == [] and not written:
            return Answer(Status.EMPTY)  # the model ended its answer at once
        if not entries and written == HALF:  # of which llama.cpp gives no logprobs
            return Answer(Status.UNCLEAR, mass=0.0)
        if not isinstance(entries, list) or not entries:
            raise ValueError("ignores logprobs")
        bracketed = _bracketed(query)
        known: dict[str, float] = {label.strip(_AROUND): 0.0 for label in labels_of(query)}
        said, reached = "", 1.0  # before this token, and the probability of that
        for entry in entries if bracketed else entries[:1]:
            for token, probability in _alternatives(entry, 1 if bracketed else 2):  # none beside a bracket, maybe
                text = said + token
                letter = text.strip(_AROUND)
                if letter in known and (not bracketed or "(" in text):
                    known[letter] += reached * probability
            said += text_at(entry, "token")
            if said.strip(_AROUND) or not bracketed:
                break
            reached *= math.exp(number_at(entry, "logprob", most=1e-3))
        mass = min(1.0, sum(known.values()))
        if mass == 0.0:
            return Answer(Status.UNCLEAR, mass=mass)
        scores = tuple(_log(each) for each in known.values())
        return Answer(Status.OK if mass >= LEAST_MASS else Status.UNCLEAR, scores, mass=mass)


class StructuredDialect(LettersDialect):
    """Letters, with a server that restricts the model to the letters (vLLM's structured outputs)."""

    def body(self, endpoint: Endpoint, query: ChoiceQuery) -> Body:
        return super().body(endpoint, query) | {"structured_outputs": {"choice": list(labels_of(query))}}


class DecisionsDialect:
    """OpenAI's Decisions: options and their probabilities have separate fields."""

    path: ClassVar[str] = "/decisions"

    def body(self, endpoint: Endpoint, query: ChoiceQuery) -> Body:
        choices = [{"value": option} for option in query.options]
        asked = {"type": "choice", "name": "answer", "instructions": query.question, "choices": choices}
        return {"model": endpoint.model, "input": query.context or query.question, "questions": [asked]}

    def read(self, query: ChoiceQuery, content: Mapping[str, Any]) -> Answer:
        answers = objects_at(content, "answers") or []
        answer = answers[0] if len(answers) == 1 else {}
        declined = _undecided(content, answer)
        if declined is not None:
            return declined
        given = objects_at(answer, "probabilities")
        if given is None:
            raise ValueError("gives no probabilities")
        return _shares(query, {str(each.get("value")): each for each in given}, len(given))


class SystemOneDialect:
    """System One: the same with other names."""

    path: ClassVar[str] = "/systemone"

    def body(self, endpoint: Endpoint, query: ChoiceQuery) -> Body:
        asked = {"type": "choice", "instructions": query.question, "criteria": dict.fromkeys(query.options)}
        return {"model": endpoint.model, "state": query.context or query.question, "questions": {"answer": asked}}

    def read(self, query: ChoiceQuery, content: Mapping[str, Any]) -> Answer:
        answer = object_at(object_at(content, "answers"), "answer")
        declined = _undecided(content, answer)
        if declined is not None:
            return declined
        if not isinstance(answer.get("probabilities"), Mapping):
            raise ValueError("gives no probabilities")
        given = object_at(answer, "probabilities")
        return _shares(query, {name: {"probability": value} for name, value in given.items()}, len(given))


LISTED: Mapping[str, LettersDialect | DecisionsDialect | SystemOneDialect] = {
    "decisions": DecisionsDialect(),
    "systemone": SystemOneDialect(),
    "structured": StructuredDialect(),
    "letters": LettersDialect(),
}
"""The ways that give a probability for every listed option, the best first."""
CHATS = LISTED.keys() - FIELD_MODES
"""The ways that support dialogues."""


class EchoDialect:
    """The probabilities of an option's tokens after a prompt, from completions that repeat their prompt."""

    path: ClassVar[str] = "/completions"

    def body(self, endpoint: Endpoint, query: ChoiceQuery, option: str) -> Body:
        asked = {
            "model": endpoint.model,
            "prompt": append_option(query.plain, option),
            "max_tokens": 1,
            "temperature": 0,
        }
        return {**asked, "echo": True, "logprobs": 1}

    def read(self, query: ChoiceQuery, option: str, content: Mapping[str, Any]) -> float:
        """The natural logarithm of the option's probability, summed over its tokens."""
        before = query.plain
        whole = append_option(before, option)
        tokens, values = _echoed(object_at(first_choice(content), "logprobs"))
        if len(tokens) != len(values):
            raise ValueError("ignores logprobs")
        spelled = "".join(tokens)
        start = spelled.find(whole)  # special tokens may stand before it
        if start < 0:
            raise ValueError("ignores echo")
        total, at = 0.0, 0
        for token, value in zip(tokens, values, strict=True):
            ends = at + len(token)
            if ends > start + len(before) and at < start + len(whole):
                total += number_at({"logprob": value}, "logprob", most=1e-3)
            at = ends
        return total


def _bracketed(query: ChoiceQuery) -> bool:
    return all(label.startswith("(") for label in labels_of(query))


def _alternatives(entry: Any, least: int) -> list[tuple[str, float]]:
    """The likeliest tokens at a place of a reply and their probabilities; at least as many as required."""
    listed = objects_at(entry, "top_logprobs") if isinstance(entry, Mapping) else None
    if listed is None or len(listed) < least:
        raise ValueError("ignores top_logprobs")
    found = [(text_at(each, "token"), math.exp(number_at(each, "logprob", most=1e-3))) for each in listed]
    total = sum(probability for _, probability in found)
    if total > 1.01:
        raise ValueError(f"gives probabilities that sum to {total:.3g}")
    return found


def _echoed(logprobs: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
    """Tokens and their log probabilities, as completions have them, or as chats do; a special token may be null."""
    entries = objects_at(logprobs, "content")
    if entries is not None:
        return [text_at(entry, "token") for entry in entries], [entry.get("logprob") for entry in entries]
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list):
        raise ValueError("ignores logprobs")
    return [token if isinstance(token, str) else "" for token in tokens], values


class TextDialect:
    """What the model writes; a sample is drawn at temperature 1 with its number as the seed."""

    path: ClassVar[str] = "/chat/completions"

    def body(self, endpoint: Endpoint, query: TextQuery, sample: int | None = None) -> Body:
        drawn = {} if sample is None else {"temperature": 1, "seed": sample}
        return chat_body(endpoint, query.prompt, query.dialogue, query.tokens, **drawn)

    def read(self, content: Mapping[str, Any], begun: str = "") -> Answer:
        """The text after the start of the answer, which some servers (llama.cpp) repeat."""
        choice = first_choice(content)
        declined = _declined(choice)
        if declined is not None:
            return declined
        if "message" not in choice:
            raise ValueError("gives no message")
        cut = choice.get("finish_reason") == "length"
        said = _without_reasoning(_content(object_at(choice, "message")), cut).removeprefix(begun)
        if not said.strip():
            return Answer(Status.EMPTY)
        if len(said) > LONGEST_TEXT:
            said = f"{said[: LONGEST_TEXT // 2]}…{said[-LONGEST_TEXT // 2 :]}"
        return Answer(Status.TRUNCATED if cut else Status.OK, text=said)


# --- what replies have in common


def first_choice(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The choice of a chat or completion. If a filter withheld the prompt, there is an error in its place."""
    if isinstance(content.get("error"), Mapping):
        return {"finish_reason": "content_filter", "message": {}}
    choices = content.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise ValueError("gives no choices")
    choice: Mapping[str, Any] = choices[0]
    if "message" in choice and not isinstance(choice["message"], Mapping):
        raise ValueError("gives no message")
    return choice if "message" in choice or "logprobs" in choice else {**choice, "message": {}}


def served_by(reply: Reply) -> ServerRecord:
    """Who answered."""
    model, fingerprint = (text_at(reply.content, field)[:LONGEST_NAME] for field in ("model", "system_fingerprint"))
    return ServerRecord(model, fingerprint, reply.server, reply.at)


def billed(content: Mapping[str, Any]) -> tuple[int, int]:
    """Input and output tokens as the server counts them; 0 if it does not."""
    usage = object_at(content, "usage")
    return tokens_at(usage, "prompt_tokens", "input_tokens"), tokens_at(usage, "completion_tokens", "output_tokens")


def _undecided(content: Mapping[str, Any], answer: Mapping[str, Any]) -> Answer | None:
    if isinstance(content.get("error"), Mapping):  # of a content filter: other errors do not come so far
        return Answer(Status.FILTERED)
    return Answer(Status.REFUSED) if answer.get("type") == "refusal" else None


def _declined(choice: Mapping[str, Any]) -> Answer | None:
    if choice.get("finish_reason") == "content_filter":
        return Answer(Status.FILTERED)
    refusal = text_at(object_at(choice, "message"), "refusal")
    return Answer(Status.REFUSED, text=refusal) if refusal.strip() else None


def _content(message: Mapping[str, Any]) -> str:
    """A message's text, which may be null, or in parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(text_at(part, "text") for part in content if isinstance(part, Mapping))
    return text_at(message, "content")


def _without_reasoning(text: str, cut: bool) -> str:
    """The text after the reasoning that some servers leave in it; empty if the reasoning never ends.

    >>> _without_reasoning("<think>Hm.</think> B", False), _without_reasoning("<think>Hm, so", True)
    (' B', '')
    """
    _, ended, answer = text.rpartition("</think>")
    if ended:
        return answer
    return "" if cut and text.lstrip().startswith("<think>") else text


def _shares(query: ChoiceQuery, given: Mapping[str, Mapping[str, Any]], entries: int) -> Answer:
    if entries != len(query.options) or given.keys() != set(query.options):
        raise ValueError("gives probabilities of other options")
    shares = [number_at(given[option], "probability", least=0.0, most=1.0 + 1e-6) for option in query.options]
    total = sum(shares)
    if abs(total - 1.0) > 0.005 * len(shares) + 1e-3:  # some services round to two decimals
        raise ValueError(f"gives probabilities that sum to {total:.3g}")
    return Answer(Status.OK, tuple(_log(share) for share in shares), mass=min(1.0, total))


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -math.inf


def options_distinct(options: Sequence[str]) -> bool:
    return len(set(options)) == len(options)
