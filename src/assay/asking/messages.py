"""The turns before a prompt, the start of its answer, and how options are listed in it.

A model with a chat template, or one behind an endpoint, reads `messages`; any other model that writes reads `as_text`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import NamedTuple

from assay.languages import ENGLISH, language

SYSTEM, USER, ASSISTANT = "system", "user", "assistant"


class Message(NamedTuple):
    """One message: from the system, the user or the assistant."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The turns before a prompt, and the words with which its answer starts.

    The model continues from `begun`, which is not part of its answer. With None the model's kind decides: nothing in a
    chat template, a line "Answer:" without one. "" means nothing in both cases.
    """

    before: tuple[Message, ...] = ()
    begun: str | None = None

    def to_text(self) -> str:
        """As JSON; equal dialogues give equal texts."""
        return json.dumps([self.before, self.begun], ensure_ascii=False)

    @staticmethod
    def of_text(text: str) -> Dialogue:
        """The dialogue in a text that `to_text` wrote.

        >>> said = Dialogue((Message("system", "Be brief."),), "It is")
        >>> Dialogue.of_text(said.to_text()) == said
        True
        """
        before, begun = json.loads(text)
        return Dialogue(tuple(Message(*turn) for turn in before), begun)


def user_message(context: str, question: str) -> str:
    """Context and question as a user's message.

    >>> user_message("Ann met Bo.", "Who slept?")
    'Ann met Bo.\\nWho slept?'
    """
    return "\n".join(text for text in (context, question) if text)


def completion_prompt(context: str, question: str) -> str:
    """Context and question as a text that the answer continues.

    >>> completion_prompt("Ann met Bo.", "Who slept?")
    'Ann met Bo.\\nQuestion: Who slept?\\nAnswer:'
    """
    parts = (context, f"Question: {question}" if question else "", "Answer:")
    return "\n".join(part for part in parts if part)


def messages(prompt: str, dialogue: Dialogue | None) -> list[Message]:
    """All turns before the answer; its start (`begun`) is not among them."""
    return [*(dialogue.before if dialogue else ()), Message(USER, prompt)]


def as_text(prompt: str, dialogue: Dialogue) -> str:
    """All turns as one text, up to the place where the model continues.

    A blank line separates turns. `begun` decides how an answer follows its question: after "Answer:" on a new line
    (None), after a blank (""), or else as a turn.

    >>> shot = (Message("user", "Who slept?"), Message("assistant", "Bo"))
    >>> as_text("Who ate?", Dialogue(shot))
    'Who slept?\\nAnswer: Bo\\n\\nWho ate?\\nAnswer:'
    >>> as_text("Who ate? It was", Dialogue(shot, ""))
    'Who slept? Bo\\n\\nWho ate? It was'
    >>> as_text("Who ate?", Dialogue((Message("system", "Be brief."),), "It was"))
    'Be brief.\\n\\nWho ate?\\n\\nIt was'
    """
    begun = dialogue.begun
    glue, end = ("\nAnswer: ", "\nAnswer:") if begun is None else ("\n\n", f"\n\n{begun}") if begun else (" ", "")
    paragraphs: list[str] = []
    for turn in dialogue.before:
        if turn.role == ASSISTANT and paragraphs:
            paragraphs[-1] += glue + turn.text
        else:
            paragraphs.append(turn.text)
    return "\n\n".join([*paragraphs, prompt + end])


OPEN = (" ", "\n", "(")
"""After these characters, an option follows without a blank."""


def append_option(text: str, option: str) -> str:
    """A text continued by an option.

    >>> append_option("It was", "Ann"), append_option("It was (", "A")
    ('It was Ann', 'It was (A')
    """
    return f"{text}{option}" if text.endswith(OPEN) else f"{text} {option}"


def readable_prompt(prompt: str, dialogue: Dialogue | None) -> str:
    """A prompt for people to read: the message alone, or every turn after its role.

    >>> print(readable_prompt("Who ate?", Dialogue((Message("system", "Be brief."),), "It was")))
    [system]
    Be brief.
    [user]
    Who ate?
    [assistant begins]
    It was
    """
    if dialogue is None or not (dialogue.before or dialogue.begun):
        return prompt
    begun = [Message("assistant begins", dialogue.begun)] if dialogue.begun else []
    return "\n".join(f"[{role}]\n{text}" for role, text in (*messages(prompt, dialogue), *begun))


@dataclass(frozen=True)
class PromptRecord:
    """How a part of a run asks its questions: one of them as asked, and the digest of the words around all of them.

    `form` is the probe's name for how it asks. `example` is for people: messages, which a model reads through its chat
    template or an endpoint; `text` is what a model without a template reads.
    """

    form: str
    example: str
    text: str
    digest: str


# --- questions with listed options, worded the same for every kind of model

ANSWER_MODES: Mapping[str, str] = {
    "decisions": "the probabilities that the endpoint gives for each option (/decisions)",
    "systemone": "the probabilities that the endpoint gives for each option (/systemone)",
    "structured": "the log probabilities of the letters, where the model can write nothing else",
    "letters": "the log probabilities of the letters among the first token's likeliest alternatives",
    "samples": "how often each option is named in several answers, drawn at temperature 1",
    "text": "the option that the written answer names",
}
"""The ways to get probabilities of listed options from an endpoint, the best first, and what they are."""

FIELD_MODES = frozenset({"decisions", "systemone"})
"""The ways that have separate fields for context, question and options, and accept no other text."""


def letters_for(options: Sequence[str]) -> tuple[str, ...]:
    """The letter under which each option is listed.

    >>> letters_for(["the nurse", "the pilot"])
    ('A', 'B')
    """
    return tuple(ascii_uppercase[: len(options)])


def with_lettered_options(question: str, options: Sequence[str]) -> str:
    """A question, its options listed under letters, and the instruction to answer with a letter.

    >>> print(with_lettered_options("Who slept?", ["Ann", "Bo", "Not known"]))
    Who slept?
    A. Ann
    B. Bo
    C. Not known
    Answer with one letter: A, B or C.
    """
    letters = letters_for(options)
    listed = "\n".join(f"{letter}. {option}" for letter, option in zip(letters, options, strict=True))
    return f"{question}\n{listed}\nAnswer with one letter: {', '.join(letters[:-1])} or {letters[-1]}."


def without_options(question: str, spoken: str = ENGLISH) -> str:
    """A question without listed options, and the instruction how to answer, in the words of a language.

    >>> print(without_options("Who slept?"))
    Question: Who slept?
    Answer in one short sentence.
    Answer:
    """
    words = language(spoken).asking
    return f"{words.asked(question)}\n{words.one_sentence}\n{words.answer}"
