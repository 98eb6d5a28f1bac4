"""Scores of options are the logits of plain transformers, option by option, for every family of models."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.asking.queries import ChoiceColumns, ChoiceQuery, FillColumns, Scoring, StringColumn, WordColumns
from assay.errors import DataError, ModelError, UsageError
from assay.models import find_model, load, load_model
from assay.models.base import BatchTooLargeError, Options
from raising import raises
from tiny_models import FAMILIES

Models = Callable[..., Any]

TYPED = ("bert", "electra", "albert")
CONTEXT, WHO = "Gerald met Jennifer by the old bridge.", "Who was there?"
OPTIONS = ("Gerald", "Jennifer Quincy", "Nobody can say")

QUERIES = {
    "usual": ChoiceQuery(CONTEXT, WHO, OPTIONS),
    "the same options in another order": ChoiceQuery(CONTEXT, WHO, OPTIONS[::-1]),
    "no question": ChoiceQuery(CONTEXT, "", OPTIONS),
    "no context": ChoiceQuery("", WHO, OPTIONS),
    "options alone": ChoiceQuery("", "", OPTIONS),
    "equal options": ChoiceQuery(CONTEXT, WHO, ("Gerald", "Gerald", "Jennifer")),
    "an empty option": ChoiceQuery(CONTEXT, WHO, ("", "Gerald", "Jennifer")),
    "accents and emoji": ChoiceQuery("José met Zoë 😀 there.", "Şule?", ("Zoë", "日本", "Ελένη 👩‍🚀")),
    "accents apart": ChoiceQuery("Jose\u0301 met Zoe\u0308.", "S\u0327ule?", ("Zoe\u0308", "e\u0301", "\u0301")),
    "odd blanks": ChoiceQuery(" Gerald   met\nAnne\u00a0there ", "Who  was\tthere? ", (" Gerald", "Anne ", "a  b")),
    "a long option": ChoiceQuery(CONTEXT, WHO, ("Gerald", "Jennifer", "the old man by the bridge " * 4)),
}
SPECIAL = ChoiceQuery("[MASK] and <mask> met [CLS] Anne.", "Who [SEP] </s> was?", ("Anne", "[MASK]", "<mask> </s>"))


def columns(*queries: ChoiceQuery, scoring: Scoring | None = None) -> ChoiceColumns:
    return ChoiceColumns.of(queries, scoring)


class Reference:
    """A multiple-choice model as plain transformers has it."""

    def __init__(self, folder: Path) -> None:
        import transformers

        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        self.model: Any = transformers.AutoModelForMultipleChoice.from_pretrained(folder).eval()
        self.typed = getattr(self.model.config, "type_vocab_size", 0) > 1

    def scores(self, query: ChoiceQuery, *, token_types: bool = True) -> NDArray[np.float32]:
        """Every option asked by itself, without padding."""
        return np.array([self.score(*self.texts(query, option), token_types=token_types) for option in query.options])

    def texts(self, query: ChoiceQuery, option: str) -> list[str]:
        second = query.question + " " + option if query.question else option
        return [query.context, second] if query.context else [second]

    def score(self, *texts: str, token_types: bool) -> float:
        import torch

        inputs = self.tokenizer(*texts, return_tensors="pt", return_token_type_ids=self.typed and token_types)
        with torch.no_grad():
            return float(self.model(**{name: values[None] for name, values in inputs.items()}).logits)

    def together(self, query: ChoiceQuery) -> NDArray[np.float32]:
        """All options of a question at once, as the examples of transformers do it."""
        import torch

        texts = zip(*(self.texts(query, option) for option in query.options), strict=True)
        inputs = self.tokenizer(*map(list, texts), return_tensors="pt", padding=True, return_token_type_ids=self.typed)
        with torch.no_grad():
            logits: NDArray[np.float32] = self.model(**{k: v[None] for k, v in inputs.items()}).logits[0].numpy()
        return logits


@pytest.fixture(scope="module")
def plain(model_folder: Callable[..., Path]) -> Callable[[str], Reference]:
    return cache(lambda family: Reference(model_folder("choice", family)))


def assert_close(ours: Any, expected: Any) -> None:
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", QUERIES)
def test_scores_are_the_logits_of_plain_transformers(
    case: str, family: str, model: Models, plain: Models, answer: Models
) -> None:
    query = QUERIES[case]
    scores = answer(model("choice", family), columns(query))["score"]
    assert (scores.shape, scores.dtype) == ((1, len(query.options)), np.float32)
    assert_close(scores[0], plain(family).scores(query))
    assert_close(scores[0], plain(family).together(query))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_tiny_models_tell_options_apart(family: str, plain: Models) -> None:
    """Otherwise an equality of scores would show nothing."""
    reference = plain(family)
    usual, alone = reference.scores(QUERIES["usual"]), reference.scores(QUERIES["no context"])
    assert np.ptp(usual) > 0.05
    assert np.abs(usual - alone).max() > 0.05, "the context makes no difference"
    assert np.abs(usual - reference.scores(QUERIES["no question"])).max() > 0.05, "the question makes no difference"


@pytest.mark.parametrize("family", FAMILIES)
def test_neither_padding_nor_the_batch_changes_a_score(family: str, model: Models, answer: Models) -> None:
    loaded = model("choice", family)
    alone = [answer(loaded, columns(query))["score"][0] for query in QUERIES.values()]
    for budget in (1, 200, 100_000):
        together = answer(loaded, columns(*QUERIES.values()), budget=budget)["score"]
        assert_close(together, alone)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("options", [1, 2, 7])
def test_any_number_of_options_is_scored_each_by_itself(
    options: int, family: str, model: Models, plain: Models, answer: Models
) -> None:
    some = (*OPTIONS, "Mary", "an African-American", "it never was", "He")[:options]
    queries = [ChoiceQuery(CONTEXT, WHO, some), ChoiceQuery("", "Who?", some[::-1])]
    scores = answer(model("choice", family), columns(*queries))["score"]
    assert scores.shape == (2, options)
    assert_close(scores, [plain(family).scores(query) for query in queries])


@pytest.mark.parametrize("family", FAMILIES)
def test_token_types_are_passed_where_the_model_has_them(
    family: str, model: Models, plain: Models, answer: Models
) -> None:
    loaded, query = model("choice", family), QUERIES["usual"]
    typed = answer(loaded, columns(query))["score"][0]
    untyped = answer(loaded, columns(query, scoring=Scoring(token_types=False)))["score"][0]
    assert_close(untyped, plain(family).scores(query, token_types=False))
    assert np.allclose(typed, untyped, atol=1e-5) == (family not in TYPED)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "deberta-v3"])
def test_special_tokens_in_a_text_are_text(family: str, model: Models, plain: Models, answer: Models) -> None:
    loaded, tokenizer = model("choice", family), plain(family).tokenizer
    tokens = loaded.encode(columns(SPECIAL))
    for start, end in zip(tokens.marks["parts"][0, :-1], tokens.marks["parts"][0, 1:], strict=True):
        ids = tokens.ids[start:end].tolist()
        assert ids.count(tokenizer.sep_token_id) == (3 if family == "roberta" else 2)
        assert ids.count(tokenizer.cls_token_id) == 1
        assert tokenizer.mask_token_id not in ids
    scores = answer(loaded, columns(SPECIAL))["score"][0]
    assert not np.isclose(scores[1], scores[2]), "the options are not the words that were written"


def test_special_tokens_that_cannot_be_told_from_text_are_refused(model: Models) -> None:
    with raises("bad-text", DataError, key=None):
        model("choice", "deberta-v3").encode(columns(SPECIAL))


def test_a_choice_model_knows_words(model: Models, answer: Models) -> None:
    assert answer(model("choice", "bert"), WordColumns(StringColumn.of(["Mary", "African-American"])))[
        "pieces"
    ].tolist() == [
        1,
        3,
    ]


# --- what cannot be asked


def test_the_models_window_is_for_each_option_not_for_all_of_them(model_folder: Models, answer: Models) -> None:
    short = load_model(f"hf:{model_folder('choice', 'bert', max_length=24)}", device="cpu")
    fits = ChoiceQuery("Anne met " + "the " * 12 + "John.", WHO, ("Anne", "John"))
    tokens = short.encode(columns(fits))
    assert tokens.marks["parts"].tolist() == [[0, 24, 48]]
    assert np.isfinite(answer(short, columns(fits))["score"]).all()
    usual = replace(fits, context=CONTEXT)
    with raises("too-long", DataError) as refused:
        short.encode(columns(usual, usual, replace(fits, options=("Anne", "John by bridge"))))
    assert " 26" in str(refused.value)
    assert "John by bridge" in str(refused.value)


def test_a_choice_model_cannot_fill_masks(model: Models) -> None:
    with raises("missing-ability", UsageError, key="fill"):
        model("choice", "bert").encode(FillColumns(StringColumn.of([""]), StringColumn.of(["a"])))


def test_a_span_model_cannot_choose(model: Models) -> None:
    with raises("missing-ability", UsageError, key="choice"):
        model("span", "bert").encode(columns(QUERIES["usual"]))


def test_scores_that_are_no_numbers_are_an_error(tmp_path: Path, model_folder: Models) -> None:
    from safetensors.torch import load_file, save_file

    folder = Path(shutil.copytree(model_folder("choice", "bert"), tmp_path / "model"))
    weights = load_file(folder / "model.safetensors")
    weights["classifier.bias"][:] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with raises("bad-scores", ModelError, exit_code=4):
        load_model(f"hf:{folder}", device="cpu")


def test_a_batch_that_does_not_fit_is_told_to_the_engine(model_folder: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    loaded: Any = load(find_model(f"hf:{model_folder('choice', 'bert')}", Options(device="cpu")))

    def no_memory(**inputs: Any) -> Any:
        raise torch.OutOfMemoryError("none left")

    tokens = loaded.encode(columns(QUERIES["usual"]))
    monkeypatch.setattr(loaded, "_model", no_memory)
    with pytest.raises(BatchTooLargeError):
        loaded.forward(tokens)


def test_a_model_whose_scores_depend_on_padding_is_refused(tmp_path: Path, model_folder: Models) -> None:
    """XLNet takes an option's score at the last position, which is padding behind a short option."""
    import transformers

    folder = Path(shutil.copytree(model_folder("choice", "bert"), tmp_path / "model"))
    tokens = len(transformers.AutoTokenizer.from_pretrained(folder))
    sizes = {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 64, "initializer_range": 0.3, "pad_token_id": 0}
    config = transformers.XLNetConfig(vocab_size=tokens, **sizes)
    transformers.XLNetForMultipleChoice(config).save_pretrained(folder)
    with raises("bad-model", ModelError, key="choice"):
        load_model(f"hf:{folder}", device="cpu")
