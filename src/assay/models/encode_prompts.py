"""Tokenises prompts, and prompts followed by options, for models that write.

What a model reads is tokenised in one piece, as its own tokenizer does it; an option's tokens there may differ from
those of the option alone. Two ways to ask:

- with the tokenizer's chat template (`Scoring.chat`, where it has one): the prompt, or context + line break + question,
  is the user's message, and the template adds the text and special tokens around it. An option follows without a blank:
  it is what the assistant says. A dialogue's turns are messages, too, and an answer that has been started follows the
  template's output. A template that asks for the date gets the same one every day. Templates of models for pictures and
  texts often read only typed parts of a message, and get it as one such part. If the template's output does not contain
  the whole message, except for white space, this is an error: the model would answer another question.
- without: the prompt as it is. A question with options becomes three lines, context, "Question: " + question, and
  "Answer:" (no line for an empty context or question), and an option follows after a blank. A dialogue is one text,
  as `assay.asking.messages.as_text` writes it.

A causal model reads the common start of a question's options once: the longest run of tokens that starts each of their
sequences, at least one, at most as many as the prompt alone has, and leaving every option at least one token. All
tokens after it belong to the option, for its score and its number of tokens. Usually the common start is the prompt; it
is shorter if the tokenizer joins the prompt's end and an option's start into one token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.messages import ASSISTANT, OPEN, Dialogue, Message, as_text, completion_prompt, messages, user_message
from assay.asking.queries import ChoiceColumns, QueryColumns, Scoring, StringColumn, TextColumns
from assay.asking.tokens import Tokens, starts_of
from assay.errors import AssayError, DataError, ModelError
from assay.models.base import missing_ability_error
from assay.models.chat_templates import rendered
from assay.models.hf_files import first_line
from assay.models.tokenise import ColumnEncoder, sampled

_DATE = {"%A": "Monday", "%a": "Mon", "%d": "01", "%m": "01", "%B": "January", "%b": "Jan", "%Y": "2024", "%y": "24"}
_TIME = {"%H": "12", "%I": "12", "%M": "00", "%S": "00", "%p": "PM"}
_CLOCK = (
    "{%- macro strftime_now(format) -%}{{ format"
    + "".join(f" | replace('{code}', '{text}')" for code, text in (_DATE | _TIME).items())
    + " }}{%- endmacro -%}"
)
"""Put before a template, this fixes its date: the questions are the same every day."""

_SAMPLE = "Which of the two came first?"
"""A message to test which form of messages a template reads; the same for all models and questions."""


class PromptEncoder(ColumnEncoder):
    """Tokenises prompts and words and, for a model that continues its prompt (`causal`), questions with options.

    For a causal model, special tokens after a text are left out, because the text continues, and the window must also
    hold the answer.
    """

    def __init__(self, tokenizer: Any, max_length: int, name: str, *, causal: bool) -> None:
        super().__init__(tokenizer, max_length, name)
        self._tokenizer = tokenizer
        self._causal = causal

    def _texts(self, columns: QueryColumns) -> Tokens:
        if isinstance(columns, TextColumns):
            return self._prompts(columns)
        if isinstance(columns, ChoiceColumns) and self._causal:
            return self._choices(columns)
        raise missing_ability_error(self.name, columns.ability)

    def _prompts(self, columns: TextColumns) -> Tokens:
        chat = self._has_chat(columns.scoring)
        prompts = self._prompted(columns.prompt, columns.dialogue, chat)
        distinct = self._tokenised(prompts.values, chat)
        rows = [distinct[index] for index in prompts.index.tolist()]
        lengths = np.array([len(ids) for ids in rows], np.int64)
        if not lengths.all():
            problem = "a prompt is empty, so there is nothing to continue."
            raise DataError(problem, "Give every prompt a text.", code="bad-text", key="prompt")
        self._require_window(columns, lengths, answer=columns.tokens if self._causal else 0)
        marks = {"tokens": np.full(len(rows), columns.tokens, np.int32)}
        return _tokens(columns, rows, lengths, marks)

    def _choices(self, columns: ChoiceColumns) -> Tokens:
        chat, (rows, options) = self._has_chat(columns.scoring), columns.options.shape
        as_prompt = user_message if chat or columns.dialogue is not None else completion_prompt
        own_prompts = StringColumn.of(as_prompt(columns.context[row], columns.question[row]) for row in range(rows))
        prompts = self._prompted(own_prompts, columns.dialogue, chat)
        values, choices = prompts.values, columns.choices
        if chat:
            self._require_no_special(choices)
        blanks = _blanks(columns.dialogue, chat, rows)
        texts = [
            f"{values[prompt]}{'' if values[prompt].endswith(OPEN) else blank}{choices[choice]}"
            for prompt, of_row, blank in zip(prompts.index.tolist(), columns.options.tolist(), blanks, strict=True)
            for choice in of_row
        ]
        alone = np.array([len(ids) for ids in self._tokenised(values, chat)])[prompts.index]  # (row,)
        sequences = self._tokenised(texts, chat)
        self._require_window(columns, np.array([len(ids) for ids in sequences]))
        parts = np.zeros((rows, options + 2), np.int32)
        for row in range(rows):
            of_row = sequences[row * options : (row + 1) * options]
            parts[row, 1] = shared = _shared(of_row, int(alone[row]))
            if not shared:
                problem = f"no token comes before the options of a question: {columns.row(row)}"
                raise DataError(problem, "Give it a context or a question.", code="bad-text", key="context")
            parts[row, 2:] = shared + np.cumsum([len(ids) - shared for ids in of_row])
        pieces = (ids[parts[at // options, 1] if at % options else 0 :] for at, ids in enumerate(sequences))
        return _tokens(columns, pieces, parts[:, -1].astype(np.int64), {"parts": parts})

    def _has_chat(self, scoring: Scoring) -> bool:
        return scoring.chat and bool(self._tokenizer.chat_template)

    def _prompted(self, prompts: StringColumn, dialogues: StringColumn | None, chat: bool) -> StringColumn:
        """The text that the model continues in every row; each text once."""
        if dialogues is None:
            values = self._rendered([messages(prompt, None) for prompt in prompts.values]) if chat else prompts.values
            return StringColumn(values, prompts.index)
        pairs = np.stack([prompts.index, dialogues.index], axis=1)
        distinct, index = np.unique(pairs, axis=0, return_inverse=True)
        parts = [(prompts.values[i], Dialogue.of_text(dialogues.values[j])) for i, j in distinct.tolist()]
        if chat:
            texts = self._rendered([messages(prompt, dialogue) for prompt, dialogue in parts])
            texts = [f"{text}{dialogue.begun or ''}" for text, (_, dialogue) in zip(texts, parts, strict=True)]
        else:
            texts = [as_text(prompt, dialogue) for prompt, dialogue in parts]
        return StringColumn(texts, index.reshape(-1).astype(np.int32))

    def _rendered(self, conversations: Sequence[Sequence[Message]]) -> list[str]:
        """Each prompt in the template, up to the place where the assistant starts to speak.

        Text that looks like a special token is removed from what an assistant said, which may be the model itself. The
        template may leave out parts of that, such as reasoning.
        """
        self._require_no_special([turn.text for turns in conversations for turn in turns if turn.role != ASSISTANT])
        cleaned = [
            [self._unmarked(turn) if turn.role == ASSISTANT else turn for turn in turns] for turns in conversations
        ]
        texts = self._render(cleaned, parts=self._reads_parts)
        for turns, text in zip(cleaned, texts, strict=True):
            lost = next((turn.text for turn in turns if turn.role != ASSISTANT and not _holds(text, turn.text)), None)
            if lost is not None:
                file = "chat_template.jinja in its folder (or chat_template in tokenizer_config.json)"
                problem = f"the chat template of {self.name} drops a question, or part of it: {lost!r}."
                raise ModelError(problem, f"Correct {file}, or ask without it: --set chat=off.", code="bad-template")
        return texts

    def _unmarked(self, turn: Message) -> Message:
        text = turn.text
        for token in self.tokeniser.specials:
            text = text.replace(token, "")
        return Message(turn.role, text)

    @cached_property
    def _reads_parts(self) -> bool:
        """Whether the template drops plain text but reads typed parts; printing the parts as a list does not count."""
        sample = [messages(_SAMPLE, None)]
        if _holds(self._render(sample, parts=False)[0], _SAMPLE):
            return False
        try:
            (text,) = self._render(sample, parts=True)
        except ModelError:  # it is for plain text, of which it leaves something out
            return False
        return _holds(text, _SAMPLE) and "text': " not in text and 'text": ' not in text

    def _render(self, conversations: Sequence[Sequence[Message]], *, parts: bool) -> list[str]:
        contents = [
            [{"role": role, "content": [{"type": "text", "text": text}] if parts else text} for role, text in turns]
            for turns in conversations
        ]
        try:
            template = self._tokenizer.get_chat_template()
            fixed = _CLOCK + template if "strftime_now" in template else template
            return rendered(fixed, self._tokenizer.special_tokens_map, contents)
        except (AssayError, OSError):
            raise
        except Exception as error:  # it fails; or what the folder has for a template is none
            problem = f"the chat template of {self.name} cannot be used: {first_line(error)}"
            raise ModelError(problem, "Ask it without its template: --set chat=off.", code="bad-template") from error

    def _require_no_special(self, texts: Sequence[str]) -> None:
        """Refuse texts with special tokens, which the model would take for the template's own."""
        wrong = next((text for text in texts if self.tokeniser.has_special(text)), None)
        if wrong is not None:
            token_kind = f"one of the special tokens of the chat template of {self.name}"
            remedy = "Reword it, or ask without the template: --set chat=off."
            raise DataError(f"a text contains {token_kind}: {wrong!r}.", remedy, code="bad-text", key="chat")

    def _tokenised(self, texts: Sequence[str], chat: bool) -> list[list[int]]:
        rows = self.tokeniser.whole(texts, marked=chat)
        for row in [] if chat else sampled(len(rows)).tolist():
            if not self.tokeniser.has_special(texts[row]) and rows[row] != self.tokeniser.real(texts[row]):
                problem = f"the tokenizer of {self.name} does not behave as its tokenizer.json says."
                remedy = "It cannot be used for prompts; please report the model's name."
                raise ModelError(problem, remedy, code="bad-tokenizer", key="tokenizer.json")
        behind = 0 if chat or not self._causal else len(self.tokeniser.single.after)
        return [ids[: len(ids) - behind] for ids in rows] if behind else rows


def _blanks(dialogues: StringColumn | None, chat: bool, rows: int) -> list[str]:
    """The text before the options of every row; empty if the assistant's turn starts with the option."""
    if not chat:
        return [" "] * rows
    if dialogues is None:
        return [""] * rows
    of_value = [" " if Dialogue.of_text(text).begun else "" for text in dialogues.values]
    return [of_value[index] for index in dialogues.index.tolist()]


def _holds(text: str, message: str) -> bool:
    """Whether a text contains a message, ignoring white space: many templates trim it, and some put it on one line.

    >>> _holds("<user> Ann met Bo. Who slept? <assistant>", "Ann met Bo.\\nWho slept? ")
    True
    """
    return message.strip() in text or " ".join(message.split()) in " ".join(text.split())


def _shared(sequences: Sequence[Sequence[int]], most: int) -> int:
    """How many tokens the sequences share at their start: at most `most`, and fewer than any of them has.

    >>> _shared([[1, 2, 3, 4], [1, 2, 5]], 3), _shared([[1, 2, 3, 4], [1, 2]], 3), _shared([[1, 2, 3]], 1)
    (2, 1, 1)
    """
    most = min(most, *(len(ids) - 1 for ids in sequences))
    first = sequences[0]
    return next((at for at in range(most) if any(ids[at] != first[at] for ids in sequences)), most)


def _tokens(
    columns: QueryColumns, pieces: Iterable[list[int]], lengths: NDArray[np.int64], marks: dict[str, NDArray[Any]]
) -> Tokens:
    """Rows of these lengths, from pieces of ids that are joined."""
    flat = np.fromiter(chain.from_iterable(pieces), np.int32, int(lengths.sum()))
    return Tokens(columns.ability, flat, starts_of(lengths), lengths.astype(np.int32), marks, columns.scoring)
