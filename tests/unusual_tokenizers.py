"""Tokenizers with the habits of published ones, and texts that bring such habits out.

Habits: pieces that are runs of blanks, normalisers that drop or make blanks, blanks stripped from both ends, and one
that does not split at blanks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import tiny_models

VOCABULARY = tiny_models.TEXT + " Gerald Jennifer New Zealand African American"

STRIPPING, MERGING, RUNS, KEEPING_BLANKS = "strips both ends", "merges blanks", "runs of blanks", "keeps all blanks"
UNUSUAL = (STRIPPING, MERGING, RUNS, KEEPING_BLANKS, "cased WordPiece", "prefix blank", "accents apart")


def unusual(name: str) -> Any:
    """A tokenizer with a habit, as the tokenizers library has it."""
    from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers

    byte_level = name in (RUNS, KEEPING_BLANKS, "prefix blank")
    if name == "cased WordPiece":
        made = tiny_models._word_piece("bert", VOCABULARY)
        made.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    elif byte_level:
        made = _with_blank_runs(tiny_models._byte_bpe("roberta", VOCABULARY))
    else:
        made = tiny_models._unigram("deberta-v3", VOCABULARY)
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    one_blank = normalizers.Replace(Regex(" {2,}"), " ")
    if name == STRIPPING:
        made.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.NFKC(), one_blank])
    elif name == MERGING:
        steps = [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), one_blank]
        made.normalizer = normalizers.Sequence(steps)
    elif name == "accents apart":
        made.normalizer = normalizers.NFKD()
    elif name == RUNS:
        made.add_tokens([AddedToken(" " * length, normalized=False) for length in range(2, 9)])
    elif name == "prefix blank":
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    return made


def _with_blank_runs(made: Any) -> Any:
    """Byte-level pieces of several blanks, tabs and line ends, as a vocabulary learnt from real texts has them."""
    from tokenizers import Tokenizer

    content = json.loads(made.to_str())
    model = content["model"]
    for left, right in (("Ġ", "Ġ"), ("ĠĠ", "Ġ"), ("Ċ", "Ċ"), ("ĉ", "Ġ"), ("Ġ", "ĉ"), ("Â", "ł"), ("Âł", "Ġ")):
        model["merges"].append([left, right])
        model["vocab"].setdefault(left + right, len(model["vocab"]))
    return Tokenizer.from_str(json.dumps(content))


def not_splitting() -> Any:
    """A SentencePiece-like tokenizer with a piece that reaches over a blank."""
    from tokenizers import models, pre_tokenizers

    made = tiny_models._unigram("deberta-v3", VOCABULARY)
    pieces = [*json.loads(made.to_str())["model"]["vocab"], ["▁New▁Zealand", -3.0], ["▁by▁the", -3.0]]
    made.model = models.Unigram([(piece, score) for piece, score in pieces], unk_id=1)
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    return made


def changing(words: str) -> Any:
    """A tokenizer that splits at blanks, but what it makes of the first of two words depends on the second."""
    from tokenizers import AddedToken, normalizers

    made = tiny_models._byte_bpe("roberta", VOCABULARY)
    made.normalizer = normalizers.Replace(words, words.replace(" ", " so-called "))
    made.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    return wrapped(made)


def wrapped(made: Any) -> Any:
    """As transformers has it."""
    import transformers

    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        unk_token="<unk>" if made.token_to_id("<unk>") is not None else "[UNK]",
        mask_token="<mask>" if made.token_to_id("<mask>") is not None else "[MASK]",
    )


WORDS = ("Anne", "African-American", "it's", "don't", "met", "New Zealand", "Xanthippe", "U.S.", "1,234.5", "½", "(a)")
PIECES = st.one_of(
    st.sampled_from(
        [*WORDS, "``", "''", "'s", "--", ",", "?", "José", "e\u0301", "日本", "가", "😀", "👩\u200d🚀", "ﬁ"]
    ),
    st.sampled_from(
        ["\u0301", "\u200b", "\u200d", "\ufe0f", "¨", "´", "▁", "Ġ", "İ", "Σ", "ß", "\u0600", "\x00", "\ufffd"]
    ),
    st.text(max_size=3),
)
BLANKS = st.sampled_from(["", " ", " ", " ", "  ", "   ", "\t", "\n", " \n", "\u00a0", "\u3000", "\u2002"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.tuples(PIECES, BLANKS), min_size=1, max_size=7))
    text = draw(BLANKS) + "".join(piece + blank for piece, blank in parts)
    return text.encode("utf-8", "ignore").decode()  # no lone surrogates: they are no text


def quickly(examples: int) -> Callable[[Any], Any]:
    health = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(max_examples=examples, deadline=None, suppress_health_check=health, derandomize=True)
