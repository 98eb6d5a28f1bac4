"""What a model writes behind a prompt is the likeliest token each time, whatever its batch and its folder say."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.asking.plan import digest_of
from assay.asking.queries import ChoiceColumns, ChoiceQuery, Scoring, StringColumn, TextColumns, WordColumns
from assay.engine.ask import LiveAsk, StoredAsk
from assay.engine.executor import EngineSettings, LocalExecutor, forward_all
from assay.engine.store import BlockStore
from assay.errors import DataError, ModelError, UsageError
from assay.models import find_model, load, load_model
from assay.models.base import BatchTooLargeError, Options
from block_files import used_by
from fake_models import FakeModel, FakePlan, fake_spec
from raising import raises
from tiny_models import CAUSAL_FAMILIES, TEXT_FAMILIES

Models = Callable[..., Any]

ALL = [*(("text", family) for family in TEXT_FAMILIES), *(("causal", family) for family in CAUSAL_FAMILIES)]
CHATTING = ("qwen2", "mistral")
PROMPTS = (
    "Gerald met Jennifer by the old bridge. Who was there?",
    "Who?",
    "Nobody can say it was Anne-Marie",
    "José met Zoë 😀 there.",
    " Gerald   met\nAnne ",
    "She and he met an African-American by the old bridge. " * 3,
)
TOKENS = 7


def columns(*prompts: str, tokens: int = TOKENS, chat: bool = False) -> TextColumns:
    return TextColumns(StringColumn.of(prompts), tokens, Scoring(chat=chat))


class Reference:
    """A model that writes, as plain transformers has it: without cache, without padding, one token at a time."""

    def __init__(self, folder: Path) -> None:
        import transformers

        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        two = "ForConditionalGeneration" in (folder / "config.json").read_text(encoding="utf-8")
        auto = transformers.AutoModelForSeq2SeqLM if two else transformers.AutoModelForCausalLM
        self.model: Any = auto.from_pretrained(folder).eval()
        self.start = [self.model.config.decoder_start_token_id] if two else []

    def ids(self, prompt: str, tokens: int, chat: bool = False, ends: Sequence[int] = ()) -> list[int]:
        import torch

        if chat:
            talk = [{"role": "user", "content": prompt}]
            prompt = self.tokenizer.apply_chat_template(talk, tokenize=False, add_generation_prompt=True)
        read = self.tokenizer(prompt, add_special_tokens=not chat)["input_ids"]
        written: list[int] = []
        while len(written) < tokens and not {*written} & {*ends, self.tokenizer.eos_token_id}:
            with torch.no_grad():
                if self.start:
                    decoded = torch.tensor([self.start + written])
                    logits = self.model(torch.tensor([read]), decoder_input_ids=decoded, use_cache=False).logits
                else:
                    logits = self.model(torch.tensor([read + written]), use_cache=False).logits
            written.append(int(logits[0, -1].argmax()))
        return written

    def text(self, prompt: str, tokens: int = TOKENS, chat: bool = False) -> bytes:
        written: str = self.tokenizer.decode(self.ids(prompt, tokens, chat), skip_special_tokens=True)
        return written.strip().encode()


@pytest.fixture(scope="module")
def plain(model_folder: Models) -> Callable[..., Reference]:
    return cache(lambda kind, family: Reference(model_folder(kind, family)))


@pytest.mark.parametrize(("kind", "family"), ALL)
def test_texts_are_those_of_a_plain_loop_over_the_likeliest_token(
    kind: str, family: str, model: Models, plain: Models, answer: Models
) -> None:
    texts = answer(model(kind, family), columns(*PROMPTS))["text"]
    assert (texts.shape, texts.dtype.kind) == ((len(PROMPTS),), "S")
    expected = [plain(kind, family).text(prompt) for prompt in PROMPTS]
    assert texts.tolist() == expected
    assert len({*expected}) > 2, "the prompts make no difference, so that this test would show nothing"


@pytest.mark.parametrize("family", CHATTING)
def test_a_chat_template_is_used_where_there_is_one(family: str, model: Models, plain: Models, answer: Models) -> None:
    texts = answer(model("causal", family), columns(*PROMPTS, chat=True))["text"].tolist()
    assert texts == [plain("causal", family).text(prompt, chat=True) for prompt in PROMPTS]
    assert texts != answer(model("causal", family), columns(*PROMPTS))["text"].tolist()


@pytest.mark.parametrize(("kind", "family"), ALL)
def test_neither_padding_nor_the_batch_changes_a_text(kind: str, family: str, model: Models, answer: Models) -> None:
    loaded = model(kind, family)
    alone = [answer(loaded, columns(prompt))["text"][0] for prompt in PROMPTS]
    for budget in (1, 40, 100_000):
        assert answer(loaded, columns(*PROMPTS), budget=budget)["text"].tolist() == alone


@pytest.mark.parametrize(("kind", "family"), ALL)
def test_no_more_tokens_are_written_than_wanted(kind: str, family: str, model: Models, plain: Models) -> None:
    loaded = model(kind, family)
    for tokens in (1, 3):
        texts = loaded.forward(loaded.encode(columns(*PROMPTS, tokens=tokens)))["text"].tolist()
        assert texts == [plain(kind, family).text(prompt, tokens) for prompt in PROMPTS]


def edit(path: Path, **changes: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(content | changes), encoding="utf-8")


@pytest.fixture
def copied(model_folder: Models, tmp_path: Path) -> Callable[[str, str], Path]:
    """`copied(kind, family)`: a tiny model that the test may change."""
    return lambda kind, family: Path(shutil.copytree(model_folder(kind, family), tmp_path / family))


SAMPLING = {"do_sample": True, "temperature": 5.0, "top_p": 0.9, "top_k": 3, "num_beams": 4, "early_stopping": True}
PENALTIES = {"repetition_penalty": 3.0, "no_repeat_ngram_size": 1, "min_length": 90, "max_length": 2}


@pytest.mark.parametrize(
    ("kind", "family"), [("text", "t5"), ("text", "bart"), ("causal", "gpt2"), ("causal", "llama")]
)
@pytest.mark.parametrize("file", ["generation_config.json", "config.json"])
def test_what_a_folder_says_about_writing_does_not_count(
    file: str, kind: str, family: str, copied: Models, model: Models, answer: Models
) -> None:
    folder = copied(kind, family)
    edit(folder / file, **SAMPLING, **PENALTIES)
    if file == "config.json":
        (folder / "generation_config.json").unlink()  # an older folder has none, and says it there
    texts = [answer(load_model(f"hf:{folder}", device="cpu"), columns(*PROMPTS))["text"].tolist() for _ in range(2)]
    assert texts == [answer(model(kind, family), columns(*PROMPTS))["text"].tolist()] * 2


@pytest.mark.parametrize(
    ("kind", "family"), [("text", "t5"), ("text", "bart"), ("causal", "gpt2"), ("causal", "llama")]
)
def test_a_text_ends_where_the_model_ends_it(
    kind: str, family: str, copied: Models, plain: Models, answer: Models
) -> None:
    """Any of the tokens that end a text does; here one that the model writes soon."""
    folder, reference = copied(kind, family), plain(kind, family)
    longest = max(PROMPTS, key=lambda prompt: len(reference.text(prompt)))
    written = reference.ids(longest, TOKENS)
    end = next((token for token in written if token != written[0]), written[0])
    edit(folder / "generation_config.json", eos_token_id=[reference.tokenizer.eos_token_id, end])
    texts = answer(load_model(f"hf:{folder}", device="cpu"), columns(*PROMPTS))["text"].tolist()
    for prompt, text in zip(PROMPTS, texts, strict=True):
        ids = reference.ids(prompt, TOKENS, ends=[end])
        expected = reference.tokenizer.decode([token for token in ids if token != end], skip_special_tokens=True)
        assert text.decode() == expected.strip()
    assert len(texts[PROMPTS.index(longest)]) < len(reference.text(longest))


def test_a_template_that_asks_for_the_date_gets_the_same_every_day(copied: Models) -> None:
    folder = copied("causal", "qwen2")
    edit(folder / "tokenizer_config.json", chat_template="{{ strftime_now('%d %b %Y') }}: {{ messages[0].content }}")
    loaded: Any = load_model(f"hf:{folder}", device="cpu")
    assert loaded._tokenizer.decode(loaded.encode(columns("Who?", chat=True)).ids) == "01 Jan 2024: Who?"


def test_a_template_in_a_file_of_its_own_is_used(copied: Models) -> None:
    folder = copied("causal", "gpt2")
    (folder / "chat_template.jinja").write_text("Say: {{ messages[0].content }}", encoding="utf-8")
    loaded: Any = load_model(f"hf:{folder}", device="cpu")
    assert loaded._tokenizer.decode(loaded.encode(columns("Who?", chat=True)).ids) == "Say: Who?"
    assert loaded._tokenizer.decode(loaded.encode(columns("Who?", chat=False)).ids) == "Who?"


# --- blocks


@dataclass(frozen=True)
class TextPlan:
    """Asks for what follows on some prompts."""

    prompts: tuple[str, ...]
    ability: str = "text"

    @property
    def digest(self) -> str:
        return digest_of(["texts", *self.prompts])

    def __len__(self) -> int:
        return len(self.prompts)

    def columns(self, lo: int, hi: int) -> TextColumns:
        return columns(*self.prompts[lo:hi])


@pytest.mark.parametrize(("kind", "family"), [("text", "t5"), ("causal", "gpt2")])
def test_texts_are_stored_whole_and_a_resumed_run_gives_the_same(
    kind: str, family: str, model_folder: Models, model: Models, answer: Models, tmp_path: Path
) -> None:
    spec = find_model(f"hf:{model_folder(kind, family)}", Options(device="cpu"))
    plan, settings = TextPlan(PROMPTS), EngineSettings(block_size=2, token_budget=8)
    expected = answer(model(kind, family), columns(*PROMPTS))["text"].tolist()
    assert len({len(text) for text in expected}) > 2, "all texts are of one width, so that this test would show nothing"
    store = BlockStore(tmp_path / "blocks")
    fresh = LiveAsk(spec, store, LocalExecutor(load), settings)
    assert fresh(plan, "texts")["text"].tolist() == expected
    files = {path: path.read_bytes() for path in store.root.rglob("*.block")}
    assert len(files) == 3
    middle = sorted(files)[1]
    middle.unlink()
    resumed = LiveAsk(spec, store, LocalExecutor(load), settings)
    assert resumed(plan, "texts")["text"].tolist() == expected
    assert resumed.asked == fresh.asked
    assert middle.read_bytes() == files[middle]
    assert StoredAsk(spec, store, used_by(fresh), settings)(plan, "texts")["text"].tolist() == expected


def test_a_long_text_in_a_later_batch_is_not_cut() -> None:
    class Writer(FakeModel):
        def forward(self, tokens: Any) -> Any:
            return {"text": np.array([bytes(tokens.ids[lo:hi].tolist()) for lo, hi in pairwise(tokens.offsets)])}

    plan, model = FakePlan(100), Writer(fake_spec())
    answers, _ = forward_all(model, model.encode(plan.columns(0, 100)), 1)
    words = plan.columns(0, 100).words
    assert answers["text"].tolist() == [words[row].encode() for row in range(100)]


# --- what cannot be asked


@pytest.mark.parametrize(("kind", "family"), ALL)
def test_a_special_token_that_somebody_wrote_is_text_or_refused(
    kind: str, family: str, model: Models, plain: Models
) -> None:
    """SentencePiece vocabularies hold them as pieces like any other."""
    loaded, tokenizer = model(kind, family), plain(kind, family).tokenizer
    special = tokenizer.eos_token
    if family in ("t5", "llama", "mistral"):
        with raises("bad-text", DataError, key=None):
            loaded.encode(columns(f"{special} met Anne"))
        return
    ids = loaded.encode(columns(f"{special} met Anne")).ids.tolist()
    assert ids.count(tokenizer.eos_token_id) == (family in ("opt", "bart"))
    assert tokenizer.decode(ids, skip_special_tokens=True) == f"{special} met Anne"


def test_a_special_token_inside_a_chat_template_is_refused(model: Models) -> None:
    with raises("bad-text", DataError, key="chat"):
        model("causal", "qwen2").encode(columns("Who?<|im_end|>", chat=True))


def test_a_prompt_beyond_the_models_window_is_refused(model_folder: Models, answer: Models) -> None:
    fits, too_long = "Who" + " the" * 20, "Who" + " the" * 21
    short = load_model(f"hf:{model_folder('text', 't5', max_length=22)}", device="cpu")
    assert len(answer(short, columns(fits))["text"]) == 1, "its answer does not count"
    with raises("too-long", DataError, exit_code=3) as refused:
        short.encode(columns("Who?", too_long))
    assert " 23, " in str(refused.value), "its answer does not count"
    assert too_long in str(refused.value)


def test_a_window_must_hold_prompt_and_answer_of_a_causal_model(model_folder: Models, answer: Models) -> None:
    fits, too_long = "Who" + " the" * 16, "Who" + " the" * 17
    short = load_model(f"hf:{model_folder('causal', 'gpt2', max_length=24)}", device="cpu")
    assert len(answer(short, columns(fits))["text"]) == 1
    with raises("too-long", DataError) as refused:
        short.encode(columns("Who?", too_long))
    assert all(length in str(refused.value) for length in (" 24 ", " 18 ", " 7, "))
    assert too_long in str(refused.value)


def test_an_empty_prompt_is_refused_where_nothing_stands_before_it(model: Models, answer: Models) -> None:
    with raises("bad-text", DataError, key="prompt"):
        model("causal", "gpt2").encode(columns("Who?", ""))
    assert len(answer(model("causal", "llama"), columns(""))["text"]) == 1


def test_a_template_that_fails_is_a_model_error(copied: Models) -> None:
    folder = copied("causal", "qwen2")
    edit(folder / "tokenizer_config.json", chat_template="{{ raise_exception('a system message is needed') }}")
    loaded = load_model(f"hf:{folder}", device="cpu")
    with raises("bad-template", ModelError) as wrong:
        loaded.encode(columns("Who?", chat=True))
    assert "a system message is needed" in wrong.value.problem
    assert "--set chat=off" in wrong.value.remedy
    assert len(loaded.encode(columns("Who?", chat=False))) == 1


def test_a_text_to_text_model_does_nothing_else(model: Models, answer: Models) -> None:
    with raises("missing-ability", UsageError, key="choice"):
        model("text", "t5").encode(ChoiceColumns.of([ChoiceQuery("a", "b", ("c", "d"))]))
    assert answer(model("text", "t5"), WordColumns(StringColumn.of(["Mary", "African-American"])))[
        "pieces"
    ].tolist() == [1, 3]


def test_a_span_model_cannot_write(model: Models) -> None:
    with raises("missing-ability", UsageError, key="text"):
        model("span", "bert").encode(columns("Who?"))


@pytest.mark.parametrize("family", TEXT_FAMILIES)
def test_scores_that_are_no_numbers_are_an_error(family: str, copied: Models) -> None:
    from safetensors.torch import load_file, save_file

    folder = copied("text", family)
    weights = load_file(folder / "model.safetensors")
    damaged = next(name for name in weights if "decoder" in name and "layer_norm" in name and name.endswith("weight"))
    weights[damaged][:] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    loaded = load_model(f"hf:{folder}", device="cpu")
    with raises("bad-scores", ModelError, exit_code=4):
        loaded.forward(loaded.encode(columns("Who?")))


@pytest.mark.parametrize(("kind", "family"), [("text", "t5"), ("causal", "gpt2")])
def test_a_batch_that_does_not_fit_is_told_to_the_engine(
    kind: str, family: str, model: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    loaded = model(kind, family)

    def no_memory(**inputs: Any) -> Any:
        raise torch.OutOfMemoryError("none left")

    monkeypatch.setattr(loaded._model, "generate", no_memory)
    with pytest.raises(BatchTooLargeError):
        loaded.forward(loaded.encode(columns("Who?")))
