"""Tiny random models with real architectures and real fast tokenizers, saved as ordinary folders.

A folder holds what a published model's folder holds: config.json, model.safetensors, tokenizer.json and
tokenizer_config.json; the Auto classes of transformers load it. Making one takes a fraction of a second. The weights
are random but large, so that probabilities differ clearly between positions and between words.

The vocabulary is written rather than trained, so that it is known: every word of the text is one token, except that
words of more than LONGEST letters are two.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

Family = Literal["bert", "distilbert", "roberta", "electra", "albert", "deberta-v3"]
FAMILIES: tuple[Family, ...] = ("bert", "distilbert", "roberta", "electra", "albert", "deberta-v3")
TEXT_FAMILIES = ("t5", "bart")
CAUSAL_FAMILIES = ("gpt2", "llama", "gpt_neox", "opt", "qwen2", "mistral", "bloom")

ModelFolder = Callable[..., Path]
"""The fixture `model_folder`."""

LONGEST = 11
LISTS = Path(__file__).parent.parent / "src" / "assay" / "data" / "unqover"
TEXT = "She and he met Anne-Marie, an African-American, by the old bridge. Who was there? Nobody can say it never was."

_SIZES: dict[Family, tuple[str, dict[str, Any]]] = {
    "bert": ("bert", {}),
    "distilbert": ("distilbert", {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}),
    "roberta": ("roberta", {"type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}),
    "electra": ("electra", {"embedding_size": 16}),
    "albert": ("albert", {"embedding_size": 16}),
    "deberta-v3": (
        "deberta-v2",
        {
            "relative_attention": True,
            "position_buckets": 16,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_biased_input": False,
            "type_vocab_size": 0,
        },
    ),
}
_BERT_LIKE = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_SPECIAL: dict[Family, tuple[str, ...]] = {  # padding, unknown, first, separator, mask
    "bert": _BERT_LIKE,
    "distilbert": _BERT_LIKE,
    "electra": _BERT_LIKE,
    "roberta": ("<pad>", "<unk>", "<s>", "</s>", "<mask>"),
    "albert": ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"),
    "deberta-v3": _BERT_LIKE,
}
_TOKENIZER_CLASS: dict[Family, str] = {
    "bert": "BertTokenizer",
    "distilbert": "DistilBertTokenizer",
    "electra": "ElectraTokenizer",
    "roberta": "RobertaTokenizer",
    "albert": "AlbertTokenizer",
    "deberta-v3": "DebertaV2Tokenizer",
}


def make_span_model(
    folder: Path, family: Family = "bert", *, text: str | None = None, max_length: int = 128, seed: int = 0
) -> Path:
    """Save a random extractive question-answering model; returns its folder.

    text: its words become the vocabulary (default: TEXT and the packaged word lists). max_length: the most tokens
    that the model reads.
    """
    return _make("AutoModelForQuestionAnswering", folder, family, text, max_length, seed)


def make_mask_model(
    folder: Path, family: Family = "bert", *, text: str | None = None, max_length: int = 128, seed: int = 0
) -> Path:
    """Save a random masked language model; returns its folder. The options are those of `make_span_model`."""
    return _make("AutoModelForMaskedLM", folder, family, text, max_length, seed)


def make_choice_model(
    folder: Path, family: Family = "bert", *, text: str | None = None, max_length: int = 128, seed: int = 0
) -> Path:
    """Save a random multiple-choice model; returns its folder. The options are those of `make_span_model`."""
    return _make("AutoModelForMultipleChoice", folder, family, text, max_length, seed)


def make_text_model(
    folder: Path, family: str = "t5", *, text: str | None = None, max_length: int = 128, seed: int = 0
) -> Path:
    """Save a random text-to-text model; returns its folder. The options are those of `make_span_model`."""
    return _make_writer("AutoModelForSeq2SeqLM", folder, family, text, max_length, seed)


def make_causal_model(
    folder: Path, family: str = "gpt2", *, text: str | None = None, max_length: int = 128, seed: int = 0, **sizes: Any
) -> Path:
    """Save a random causal language model; returns its folder. `sizes` go to its configuration."""
    return _make_writer("AutoModelForCausalLM", folder, family, text, max_length, seed, **sizes)


def default_text() -> str:
    """TEXT and all lines of the packaged word lists."""
    files = sorted(path for path in LISTS.rglob("*") if path.is_file() and path.suffix in ("", ".txt"))
    return "\n".join([TEXT, *(path.read_text(encoding="utf-8") for path in files)])


def _make(head: str, folder: Path, family: Family, text: str | None, max_length: int, seed: int) -> Path:
    import torch
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    size = _save_tokenizer(folder, family, default_text() if text is None else text, max_length)
    model_type, special_sizes = _SIZES[family]
    positions = max_length + 2 if family == "roberta" else max_length  # RoBERTa counts positions from padding id + 1
    sizes = {
        "vocab_size": size,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": positions,
        "initializer_range": 0.3,  # ten times the usual: otherwise all probabilities would be nearly equal
        "pad_token_id": 0,
    }
    config = transformers.AutoConfig.for_model(model_type, **(sizes | special_sizes))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = getattr(transformers, head).from_config(config)
    if hasattr(model, "qa_outputs"):
        model.qa_outputs.weight.data *= 4  # hidden states of one text are alike, hence its logits would be
    model.save_pretrained(folder)
    return folder


def with_network(folder: Path, tmp_path: Path, network: Callable[[int], Any]) -> Path:
    """The tokenizer of a tiny model with another network; it is made for the number of tokens."""
    import torch
    import transformers

    target = Path(shutil.copytree(folder, tmp_path / "model"))
    (target / "generation_config.json").unlink()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network(len(transformers.AutoTokenizer.from_pretrained(folder))).save_pretrained(target)
    return target


_GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 2}
_LLAMA = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
_WRITERS: dict[str, tuple[str, dict[str, Any]]] = {  # the kind of tokenizer, the model's sizes
    "t5": ("closed", {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2}),
    "bart": (
        "enclosed",
        {"d_model": 32, "decoder_start_token_id": 2, "init_std": 0.3}
        | {f"{part}_{size}": n for part in ("encoder", "decoder") for size, n in [("layers", 2), ("ffn_dim", 64)]}
        | {"encoder_attention_heads": 2, "decoder_attention_heads": 2},
    ),
    "gpt2": ("plain", _GPT2),
    "gpt_neox": ("plain", _LLAMA),
    "bloom": ("plain", {"hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "opt": ("opened", {"ffn_dim": 64, "word_embed_proj_dim": 32, "init_std": 0.3} | _LLAMA),
    "llama": ("sentencepiece", {"num_key_value_heads": 2} | _LLAMA),
    "qwen2": ("chat", {"num_key_value_heads": 2} | _LLAMA),
    "mistral": ("sentencepiece chat", {"num_key_value_heads": 2} | _LLAMA),
}
CHAT = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
INSTRUCTIONS = "{{ bos_token }}{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}"
_KINDS: dict[str, tuple[tuple[str, ...], dict[str, str], tuple[str, str], str | None]] = {
    # special tokens, what each is for, those before and behind a text, chat template
    "plain": (("<|endoftext|>",), {"bos": "<|endoftext|>", "eos": "<|endoftext|>"}, ("", ""), None),
    "opened": (("<s>", "<pad>", "</s>"), {"bos": "</s>", "eos": "</s>", "pad": "<pad>"}, ("</s>", ""), None),
    "enclosed": (("<s>", "<pad>", "</s>"), {"bos": "<s>", "eos": "</s>", "pad": "<pad>"}, ("<s>", "</s>"), None),
    "closed": (("<pad>", "</s>", "<unk>"), {"eos": "</s>", "pad": "<pad>", "unk": "<unk>"}, ("", "</s>"), None),
    "chat": (
        ("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
        {"eos": "<|im_end|>", "pad": "<|endoftext|>"},
        ("", ""),
        CHAT,
    ),
    "sentencepiece": (("<unk>", "<s>", "</s>"), {"bos": "<s>", "eos": "</s>", "unk": "<unk>"}, ("<s>", ""), None),
    "sentencepiece chat": (
        ("<unk>", "<s>", "</s>"),
        {"bos": "<s>", "eos": "</s>", "unk": "<unk>"},
        ("<s>", ""),
        INSTRUCTIONS,
    ),
}


def _make_writer(
    head: str, folder: Path, family: str, text: str | None, max_length: int, seed: int, **more: Any
) -> Path:
    """Save a random model that writes, with the tokenizer of its family's kind."""
    import torch
    import transformers

    kind, sizes = _WRITERS[family]
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _save_writers_tokenizer(folder, kind, default_text() if text is None else text, max_length)
    tokens = {f"{name}_token_id": tokenizer.token_to_id(token) for name, token in _KINDS[kind][1].items()}
    limits = {"vocab_size": tokenizer.get_vocab_size(), "max_position_embeddings": max_length}
    limits |= {"n_positions": max_length} if family == "gpt2" else {}
    start = {"decoder_start_token_id": tokens.get("pad_token_id")} if family == "t5" else {}
    named = {name: tokens.get(name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    settings = {"initializer_range": 0.3, **named, **limits, **start, **sizes, **more}
    config = transformers.AutoConfig.for_model(family, **settings)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = getattr(transformers, head).from_config(config)
    model.save_pretrained(folder)
    return folder


def _save_writers_tokenizer(folder: Path, kind: str, text: str, max_length: int) -> Any:
    from tokenizers import AddedToken
    from tokenizers.processors import TemplateProcessing

    special, roles, (before, behind), template = _KINDS[kind]
    if "unk" in roles:
        tokenizer = _metaspace(special, text, unknown=special.index("<unk>"), letters="\n")
    else:
        tokenizer = _byte_level(special, text)
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    around = [f"{before}:0", "$A:0", f"{behind}:0"], [f"{before}:1", "$B:1", f"{behind}:1"]
    one, other = ([token for token in texts if not token.startswith(":")] for texts in around)
    ids = [(token, tokenizer.token_to_id(token)) for token in {before, behind} - {""}]
    if ids:
        tokenizer.post_processor = TemplateProcessing(single=one, pair=one + other, special_tokens=ids)
    tokenizer.save(str(folder / "tokenizer.json"))
    config: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_length}
    config |= {f"{name}_token": token for name, token in roles.items()}
    config |= {"additional_special_tokens": [token for token in special if token not in roles.values()]}
    config |= {"chat_template": template} if template else {}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    return tokenizer


def _words(text: str) -> list[str]:
    return sorted(set(re.findall(r"[^\W_]+", text)))


def _pieces(word: str) -> Iterator[tuple[str, bool]]:
    """The tokens of a word, each with whether it begins the word."""
    if len(word) <= LONGEST:
        yield word, True
    else:
        yield word[: len(word) // 2], True
        yield word[len(word) // 2 :], False


def _save_tokenizer(folder: Path, family: Family, text: str, max_length: int) -> int:
    """Write tokenizer.json and tokenizer_config.json; returns the number of tokens."""
    from tokenizers import AddedToken

    pad, unknown, first, separator, mask = _SPECIAL[family]
    build = {"roberta": _byte_bpe, "albert": _unigram, "deberta-v3": _unigram}.get(family, _word_piece)
    tokenizer = build(family, text)
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in (pad, unknown, first, separator)])
    tokenizer.add_special_tokens([AddedToken(mask, lstrip=family in ("roberta", "albert"), special=True)])
    tokenizer.save(str(folder / "tokenizer.json"))
    lower = family not in ("roberta", "deberta-v3")
    mask_token = {"__type": "AddedToken", "content": mask, "lstrip": True, "rstrip": False}
    mask_token |= {"single_word": False, "normalized": False, "special": True}
    config: dict[str, Any] = {
        "tokenizer_class": _TOKENIZER_CLASS[family],
        "model_max_length": max_length,
        "pad_token": pad,
        "unk_token": unknown,
        "cls_token": first,
        "sep_token": separator,
        "mask_token": mask_token if family in ("roberta", "albert") else mask,
    }
    if family != "roberta":
        config["do_lower_case"] = lower
    else:
        config |= {"bos_token": first, "eos_token": separator, "add_prefix_space": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    return int(tokenizer.get_vocab_size())


def _pair_template(family: Family, tokenizer: Any) -> Any:
    from tokenizers.processors import TemplateProcessing

    _, _, first, separator, _ = _SPECIAL[family]
    ids = [(token, tokenizer.token_to_id(token)) for token in (first, separator)]
    single = f"{first}:0 $A:0 {separator}:0"
    return TemplateProcessing(single=single, pair=f"{single} $B:1 {separator}:1", special_tokens=ids)


def _word_piece(family: Family, text: str) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    normalizer = normalizers.BertNormalizer(lowercase=True)
    words = _words(normalizer.normalize_str(text))
    letters = sorted({*"".join(words), *"abcdefghijklmnopqrstuvwxyz0123456789"})
    punctuation = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    pieces = [piece if begins else f"##{piece}" for word in words for piece, begins in _pieces(word)]
    tokens = [*_SPECIAL[family], *punctuation, *letters, *(f"##{letter}" for letter in letters), *pieces]
    vocabulary = {token: index for index, token in enumerate(dict.fromkeys(tokens))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    tokenizer.post_processor = _pair_template(family, tokenizer)
    return tokenizer


def _byte_bpe(family: Family, text: str) -> Any:
    from tokenizers import processors

    tokenizer = _byte_level(("<s>", "<pad>", "</s>", "<unk>"), text)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, False)
    return tokenizer


def _byte_level(special: tuple[str, ...], text: str) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens = {token: index for index, token in enumerate(special)}
    for byte in sorted(pre_tokenizers.ByteLevel.alphabet()):
        tokens.setdefault(byte, len(tokens))
    # Pieces grow letter by letter from their first one. Those behind a blank come first, hence win; so whatever else
    # can be joined, a known word behind a blank is one token.
    merges: dict[tuple[str, str], None] = {}
    for blank in (" ", ""):
        for word in _words(text):
            for piece, begins in _pieces(word):
                if blank and not begins:
                    continue
                letters = split.pre_tokenize_str(blank + piece)[0][0]
                for end in range(1, len(letters)):
                    merges.setdefault((letters[:end], letters[end]))
                    tokens.setdefault(letters[: end + 1], len(tokens))
    tokenizer = Tokenizer(models.BPE(tokens, list(merges), unk_token=None))
    tokenizer.pre_tokenizer = split
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _unigram(family: Family, text: str) -> Any:
    from tokenizers import Regex, normalizers, pre_tokenizers

    if family == "albert":
        steps: list[Any] = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
        steps += [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    else:
        steps = [normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "), normalizers.NFC()]
        steps += [normalizers.Strip(left=False, right=True)]
    tokenizer = _metaspace(_SPECIAL[family], text, unknown=1, normalizer=normalizers.Sequence(steps))
    if family == "albert":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), tokenizer.pre_tokenizer])
    tokenizer.post_processor = _pair_template(family, tokenizer)
    return tokenizer


def _metaspace(special: tuple[str, ...], text: str, *, unknown: int, letters: str = "", normalizer: Any = None) -> Any:
    """A unigram tokenizer that writes blanks as ▁; `unknown` is the number of its unknown token."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    normalizer = normalizer or normalizers.NFKC()
    scores = dict.fromkeys(special, 0.0)
    # A text gets the split with the highest sum. All pieces cost about the same, so the fewest pieces win.
    for word in _words(normalizer.normalize_str(text)):
        for piece, begins in _pieces(word):
            scores.setdefault(f"▁{piece}" if begins else piece, -8.0)
            scores.setdefault(piece, -9.0)
    printable = [chr(code) for code in range(33, 127)]
    for letter in ["▁", *letters, *printable, *sorted({*normalizer.normalize_str(text)} - {" ", "\n", "\t"})]:
        scores.setdefault(letter, -12.0)
    tokenizer = Tokenizer(models.Unigram(list(scores.items()), unk_id=unknown))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    return tokenizer
