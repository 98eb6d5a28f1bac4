"""What options share, and what is theirs: tokenizers that join a prompt's end and an option's start, or add an end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiny_models
from assay.asking.messages import Dialogue, Message
from assay.asking.queries import ChoiceColumns, ChoiceQuery, Scoring, StringColumn, TextColumns, TextQuery
from assay.asking.tokens import option_rows
from assay.errors import DataError, ModelError
from assay.models.encode_prompts import PromptEncoder, _shared
from raising import raises
from tiny_models import TEXT
from unusual_tokenizers import wrapped


def pieces(encoder: PromptEncoder, *queries: ChoiceQuery) -> list[list[str]]:
    """The tokens that options share and those of each option, row by row."""
    tokens = option_rows(encoder.encode(ChoiceColumns.of(queries)))
    names = encoder.tokeniser.tokenizer.convert_ids_to_tokens(tokens.ids)  # type: ignore[attr-defined]  # transformers'
    return [names[lo:hi] for lo, hi in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)]


def joining(*more: str) -> PromptEncoder:
    """A tokenizer that does not split at blanks, with pieces that reach over the end of a prompt."""
    from tokenizers import Tokenizer, models, normalizers

    made = tiny_models._metaspace(("<unk>", "<s>", "</s>"), f"{TEXT} Answer Question", unknown=0, letters="\n")
    scores = {**dict.fromkeys(made.get_vocab(), -9.0), **dict.fromkeys(more, -1.0)}
    tokenizer = Tokenizer(models.Unigram(list(scores.items()), unk_id=list(scores).index("<unk>")))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    return PromptEncoder(wrapped(tokenizer), 128, "a model", causal=True)


QUERY = ChoiceQuery("", "Who?", ("he", "She", "Nobody"))


def test_options_share_the_prompt() -> None:
    prompt, *options = pieces(joining(), QUERY)
    assert "".join(prompt) == "Question:▁Who?\nAnswer:"
    assert options == [["▁he"], ["▁She"], ["▁Nobody"]]


def test_options_share_less_where_the_tokenizer_joins_the_prompts_end_and_an_options_start() -> None:
    prompt, *options = pieces(joining(":▁She"), QUERY)
    assert "".join(prompt) == "Question:▁Who?\nAnswer"
    assert options == [[":", "▁he"], [":▁She"], [":", "▁Nobody"]]


def test_options_that_begin_alike_share_the_prompt_and_no_more() -> None:
    prompt, *options = pieces(joining(), ChoiceQuery("", "Who?", ("the old", "the bridge")))
    assert "".join(prompt) == "Question:▁Who?\nAnswer:"
    assert options == [["▁the", "▁old"], ["▁the", "▁bridge"]]


def test_an_option_without_tokens_of_its_own_gets_one_of_the_prompt() -> None:
    from tokenizers import normalizers

    encoder = joining()
    encoder.tokeniser.tokenizer.backend_tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Strip(), normalizers.Replace(" ", "▁")]
    )
    prompt, *options = pieces(encoder, ChoiceQuery("", "Who?", ("", "he")))
    assert "".join(prompt) == "Question:▁Who?\nAnswer"
    assert options == [[":"], [":", "▁he"]]


def test_a_question_needs_a_token_before_its_options() -> None:
    encoder = joining("Answer:▁he", "Answer:▁She")
    with raises("bad-text", DataError, key="context") as wrong:
        encoder.encode(ChoiceColumns.of([ChoiceQuery("", "", ("he", "She"))]))
    assert "('he', 'She')" in str(wrong.value)


SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=4)


@given(SEQUENCES, st.integers(0, 6))
def test_what_is_shared_begins_every_sequence_and_is_as_long_as_it_may_be(
    sequences: list[list[int]], most: int
) -> None:
    shared = _shared(sequences, most)
    assert 0 <= shared <= most
    assert all(ids[:shared] == sequences[0][:shared] for ids in sequences)
    assert all(len(ids) > shared for ids in sequences)
    longer = shared + 1
    assert longer > most or any(len(ids) <= longer or ids[:longer] != sequences[0][:longer] for ids in sequences)


def ending(causal: bool) -> PromptEncoder:
    """A tokenizer that puts a token before and one behind a text."""
    from tokenizers.processors import TemplateProcessing

    tokenizer = tiny_models._metaspace(("<unk>", "<s>", "</s>"), TEXT, unknown=0, letters="\n")
    tokenizer.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    made = wrapped(tokenizer)
    made.add_special_tokens({"bos_token": "<s>", "eos_token": "</s>"})
    return PromptEncoder(made, 128, "a model", causal=causal)


def test_a_text_that_goes_on_is_not_ended() -> None:
    asked = TextColumns(StringColumn.of(["Nobody was there", "She"]))
    read, continued = (ending(causal).encode(asked) for causal in (False, True))
    assert read.lengths.tolist() == [5, 3]
    assert continued.lengths.tolist() == [4, 2]
    assert 2 not in continued.ids.tolist()
    tokens = ending(causal=True).encode(ChoiceColumns.of([QUERY]))
    assert 2 not in tokens.ids.tolist()
    assert tokens.ids.tolist().count(1) == 1


def test_equal_prompts_are_tokenised_once_and_stand_where_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, seen = ending(causal=True), list[Any]()
    whole: Callable[..., Any] = encoder.tokeniser.whole
    monkeypatch.setattr(encoder.tokeniser, "whole", lambda texts, **more: seen.append(texts) or whole(texts, **more))
    tokens = encoder.encode(TextColumns(StringColumn.of(["She", "Nobody was there", "She"])))
    assert seen == [["She", "Nobody was there"]]
    assert tokens.lengths.tolist() == [2, 4, 2]
    assert tokens.ids[:2].tolist() == tokens.ids[-2:].tolist()


def test_a_tokenizer_that_does_something_of_its_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = ending(causal=True)
    monkeypatch.setattr(encoder.tokeniser, "real", lambda text: [1, 5, 2])
    with raises("bad-tokenizer", ModelError, key="tokenizer.json"):
        encoder.encode(TextColumns(StringColumn.of(["She"]), scoring=Scoring()))


# --- chat templates

PARTS = (
    "{% for m in messages %}User: {% for part in m.content %}{% if part['type'] == 'text' %}{{ part['text'] }}"
    "{% endif %}{% endfor %}{% endfor %} Assistant:"
)
PLAIN = "{% for m in messages %}User: {{ m.content }}{% endfor %} Assistant:"
TALK = ChoiceQuery("She met Anne by the old bridge.", "Who was there?", ("Anne", "Nobody"))


def chatting(template: str) -> PromptEncoder:
    made = wrapped(tiny_models._metaspace(("<unk>", "<s>", "</s>"), TEXT, unknown=0, letters="\n"))
    made.chat_template = template
    return PromptEncoder(made, 128, "a model", causal=True)


def asked(encoder: PromptEncoder, *prompts: str) -> list[int]:
    return encoder.encode(TextColumns(StringColumn.of(prompts))).ids.tolist()


@pytest.mark.parametrize(
    "template",
    [
        "User: hello\nAssistant:",
        "{{ messages[0].content[:20] }}Assistant:",
        "{{ messages[0].content.split('\n')[-1] }}Assistant:",
        "{{ messages[0].content.split('\n')[0] }}Assistant:",
        "{{ messages[0].content | upper }}Assistant:",
        "{% for part in messages[0].content %}{{ part['image'] }}{% endfor %}Assistant:",
        PARTS.replace("part['text']", "part['text'][:20]"),
    ],
    ids=["constant", "cut", "no context", "no question", "changed", "pictures", "cut parts"],
)
def test_a_template_that_leaves_out_some_of_a_question_is_refused(template: str) -> None:
    """The model would be asked something else, and its answers would be reported as those to the question."""
    encoder = chatting(template)
    message = f"{TALK.context}\n{TALK.question}"
    for columns in (ChoiceColumns.of([TALK]), TextColumns(StringColumn.of([message]))):
        with raises("bad-template", ModelError, exit_code=4, __cause__=None) as wrong:
            encoder.encode(columns)
        assert repr(message) in wrong.value.problem
        assert "--set chat=off" in wrong.value.remedy
        assert "chat_template.jinja" in wrong.value.remedy
    assert len(encoder.encode(ChoiceColumns.of([TALK], Scoring(chat=False)))) == 1


def test_every_question_is_looked_for() -> None:
    encoder = chatting("{{ messages[0].content | replace('bridge', '') }}Assistant:")
    assert asked(encoder, "Who was there?")
    with raises("bad-template", ModelError, __cause__=None) as wrong:
        asked(encoder, *["Who was there?"] * 50, "She met Anne by the bridge.", "Nobody")
    assert "'She met Anne by the bridge" in str(wrong.value)


@pytest.mark.parametrize(
    "change", ["m.content | trim", "m.content.replace('\n', ' ')", "m.content.split() | join('\n')"]
)
def test_a_template_may_change_white_space(change: str) -> None:
    encoder = chatting(PLAIN.replace("m.content", change))
    assert asked(encoder, "  She met Anne.\nWho was there?\n")


def test_a_template_that_reads_typed_parts_gets_them() -> None:
    parts, plain = chatting(PARTS), chatting(PLAIN)
    prompts = ["Who was there?", "She met Anne."]
    assert asked(parts, *prompts) == asked(plain, *prompts)
    assert asked(parts, *prompts) == asked(parts, prompts[0]) + asked(parts, prompts[1])
    assert pieces(parts, TALK) == pieces(plain, TALK)


def test_a_template_that_reads_both_gets_plain_text() -> None:
    both = "{% if messages[0].content is string %}User: {{ messages[0].content }} Assistant:{% else %}No{% endif %}"
    assert asked(chatting(both), "Who was there?") == asked(chatting(PLAIN), "Who was there?")


@pytest.mark.parametrize("shown", ["messages[0].content[:9]", "messages[0].content[:9] | tojson"])
def test_typed_parts_that_are_printed_as_a_list_are_not_read(shown: str) -> None:
    """Such a template is for plain text, of which it shows too little."""
    with raises("bad-template", ModelError, __cause__=None):
        asked(chatting(f"{{{{ {shown} }}}}Assistant:"), "Who was there?")


# --- dialogues

SAID = (Message("system", "She met Anne."), Message("user", "Who was there?"), Message("assistant", "Nobody"))
ROLES = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"


def text_of(encoder: PromptEncoder, *queries: ChoiceQuery | TextQuery) -> list[str]:
    """What the model reads before the options, or before it writes."""
    columns = ChoiceColumns.of(queries) if isinstance(queries[0], ChoiceQuery) else TextColumns.of(queries)  # type: ignore[arg-type]  # all of one kind
    tokens = encoder.encode(columns)
    ids = option_rows(tokens) if isinstance(queries[0], ChoiceQuery) else tokens
    names = encoder.tokeniser.tokenizer.convert_ids_to_tokens(ids.ids)  # type: ignore[attr-defined]  # transformers'
    step = len(ids) // len(tokens)
    return ["".join(names[ids.offsets[row] : ids.offsets[row + 1]]) for row in range(0, len(ids), step)]


@pytest.mark.parametrize("begun", [None, "", "It was"])
def test_a_dialogue_is_messages_within_a_template(begun: str | None) -> None:
    dialogue = Dialogue(SAID, begun)
    turns = "system: She met Anne. user: Who was there? assistant: Nobody user: Who can say?"
    expected = f"{turns} assistant:{begun or ''}".replace(" ", "▁").replace("\n", "▁")
    choice = ChoiceQuery("", "Who can say?", ("She", "he"), dialogue)
    for query in (choice, TextQuery("Who can say?", 4, dialogue)):
        (text,) = text_of(chatting(ROLES), query)
        assert expected in text.replace("\n", "▁").replace("▁▁", "▁")


def test_an_option_goes_on_behind_what_is_begun_after_a_blank_and_else_without_one() -> None:
    for begun, first in ((None, "She"), ("", "She"), ("It was", "▁She")):
        _, *options = pieces(chatting(ROLES), ChoiceQuery("", "Who?", ("She", "he"), Dialogue(SAID, begun)))
        assert options[0][0].lstrip(":") == first, begun


def test_a_dialogue_is_one_text_without_a_template() -> None:
    queries = [ChoiceQuery("", "Who can say?", ("She", "he"), Dialogue(SAID, begun)) for begun in (None, "It was")]
    texts = [text.replace("▁", " ") for text in text_of(joining(), *queries)]
    assert texts[0].endswith("She met Anne.\n\nWho was there?\nAnswer: Nobody\n\nWho can say?\nAnswer:")
    assert texts[1].endswith("She met Anne.\n\nWho was there?\n\nNobody\n\nWho can say?\n\nIt was")


def test_rows_with_equal_prompts_and_other_dialogues_are_told_apart() -> None:
    dialogues = [Dialogue((Message("user", "Who?"), Message("assistant", said))) for said in ("She", "he", "She")]
    one, other, again = text_of(joining(), *(TextQuery("Who was there?", 4, dialogue) for dialogue in dialogues))
    assert "She" not in other
    assert "She" in one
    assert one == again


def test_special_tokens_in_what_an_assistant_said_are_left_out_and_elsewhere_refused() -> None:
    encoder = chatting(ROLES)
    special = encoder.tokeniser.specials[0]
    wrote = Dialogue((Message("user", "Who?"), Message("assistant", f"She{special} met")))
    (text,) = text_of(encoder, TextQuery("Who was there?", 4, wrote))
    assert special not in text
    assert "She▁met" in text
    with raises("bad-text", DataError, key="chat"):
        text_of(encoder, TextQuery("Who?", 4, Dialogue((Message("system", f"She{special} met"),))))


def test_a_template_that_leaves_out_the_system_prompt_is_refused() -> None:
    users = "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %} Assistant:"
    assert text_of(chatting(users), TextQuery("Who?", 4))
    with raises("bad-template", ModelError, __cause__=None) as wrong:
        text_of(chatting(users), TextQuery("Who?", 4, Dialogue((Message("system", "She met Anne."),))))
    assert "She met Anne." in wrong.value.problem
