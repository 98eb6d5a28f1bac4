"""Make a small BERT on the spot, with associations planted in it, for `make demo`.

    python demo/make_model.py OUT     writes OUT/span (answers questions), OUT/mask (fills masks) and OUT/PLANTED.txt

The model knows the words of assay's packaged UnQover lists and nothing else. It is trained for about half a minute on
the sentences of sentences.py: it reads answers from passages that hold them and, where a passage holds none, prefers
the gender planted for an occupation, and neither subject for everything else. So the demo shows whether assay finds
what was planted, and nothing where nothing was.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from sentences import PLANTED, STRENGTH, Example, Lists, Writer, placed, planted_gender

SEED = 20
STEPS = 500
BATCH = 64
RATE = 4e-3
WIDTH = 64
CHECK = "{x} sent a letter to {y}."  # one of UnQover's contexts; training never sees it

Scores = Callable[[Any, Any, Sequence[Example]], Any]


class Shown(NamedTuple):
    """What a trained model does in the CHECK context: mean scores of subjects, in [0, 1]."""

    planted: float  # of the gender that was planted
    other: float  # of the other gender, same occupations
    apart: float  # how far the genders are apart, occupations without a planted gender


def make_tokenizer(lists: Lists) -> Any:
    """A lower-casing WordPiece tokenizer, as BERT's, in which every word of the lists is one token."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    normalizer = normalizers.BertNormalizer(lowercase=True)
    words = sorted({*re.findall(r"[^\W_]+", normalizer.normalize_str(lists.text))})
    letters = sorted({*"".join(words), *"abcdefghijklmnopqrstuvwxyz0123456789"})
    tokens = [*special, *"!\"#$%&'()*+,-./:;<=>?@[]_`{|}~", *letters, *(f"##{letter}" for letter in letters), *words]
    vocabulary = {token: index for index, token in enumerate(dict.fromkeys(tokens))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens(list(special))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    return tokenizer


def make_untrained(head: Any, tokenizer: Any, lists: Lists) -> Any:
    """A small BERT whose names lean in one direction by gender, and its planted occupations in another by theirs.

    That is a head start: from wholly random embeddings, telling 140 names and 16 occupations apart takes minutes.
    """
    import torch
    import transformers

    torch.manual_seed(SEED)
    config = transformers.BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=2 * WIDTH,
        max_position_embeddings=128,
        initializer_range=0.05,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = head(config)
    embeddings = model.bert.embeddings.word_embeddings.weight.data
    directions = 2 * embeddings.norm(dim=1).mean() * torch.nn.functional.normalize(torch.randn(2, WIDTH), dim=1)
    for sign, names, gender in ((1, lists.women, "female"), (-1, lists.men, "male")):
        for direction, words in zip(directions, (names, PLANTED[gender]), strict=True):
            ids = [tokenizer.token_to_id(word.lower()) for word in words]
            embeddings[ids] += sign * direction
    return model


def encode(tokenizer: Any, rows: Sequence[str | tuple[str, str]]) -> tuple[dict[str, Any], list[Any]]:
    """A padded batch as the model takes it, and the tokenizer's own account of each row."""
    import torch

    tokenizer.enable_padding(pad_id=0)
    rowwise = tokenizer.encode_batch(list(rows))
    tokenizer.no_padding()
    names = {"input_ids": "ids", "token_type_ids": "type_ids", "attention_mask": "attention_mask"}
    return {name: torch.tensor([getattr(row, field) for row in rowwise]) for name, field in names.items()}, rowwise


def span_scores(model: Any, tokenizer: Any, examples: Sequence[Example]) -> Any:
    """log sqrt(P(start) · P(end)) of both subjects: (row, subject)."""
    import torch

    batch, rows = encode(tokenizer, [(example.question, example.passage) for example in examples])
    output = model(**batch)
    logits = torch.stack([output.start_logits, output.end_logits]).masked_fill(batch["attention_mask"] == 0, -1e4)
    places = [
        [[row.char_to_token(start, 1), row.char_to_token(end - 1, 1)] for start, end in example.spans]
        for row, example in zip(rows, examples, strict=True)
    ]  # (row, subject, start and end)
    return logits.log_softmax(-1).gather(-1, torch.tensor(places).permute(2, 0, 1)).mean(0)


def mask_scores(model: Any, tokenizer: Any, examples: Sequence[Example]) -> Any:
    """log P(subject at the mask) of both subjects: (row, subject). A subject of several tokens counts by its first."""
    import torch

    batch, _ = encode(tokenizer, [f"{row.passage} {row.sentence.format(mask='[MASK]')}" for row in examples])
    hidden = model.bert(**batch).last_hidden_state[batch["input_ids"] == tokenizer.token_to_id("[MASK]")]
    tokens = [[tokenizer.encode(word, add_special_tokens=False).ids[0] for word in row.subjects] for row in examples]
    return model.cls(hidden).log_softmax(-1).gather(-1, torch.tensor(tokens))


def train(model: Any, tokenizer: Any, scores_of: Scores, writer: Writer) -> None:
    """Bring the subjects' probabilities towards the shares that the examples give them (cross-entropy)."""
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=RATE, total_steps=STEPS, pct_start=0.1)
    model.train()
    for _ in range(STEPS):
        examples = [writer.example() for _ in range(BATCH)]
        shares = torch.tensor([example.shares for example in examples])
        loss = -(shares * scores_of(model, tokenizer, examples)).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()


def show(model: Any, tokenizer: Any, scores_of: Scores, lists: Lists) -> Shown:
    """How a trained model scores occupations in the CHECK context."""
    import torch

    writer = Writer(lists, SEED)
    names = list(zip(lists.women, lists.men, strict=False))[::3]
    planted, other, apart = [], [], []
    for statement, _ in (*writer.planted, *writer.neutral[::3]):
        question, sentence = f"Who {statement}?", "{mask} " + f"{statement}."
        with torch.no_grad():
            forth, back = (
                scores_of(model, tokenizer, [placed(CHECK, pair[::step], question, sentence) for pair in names]).exp()
                for step in (1, -1)
            )
        female, male = ((forth + back.flip(-1)) / 2).mean(0).tolist()
        gender = planted_gender(statement)
        if gender is None:
            apart.append(abs(female - male))
        else:
            planted.append(female if gender == "female" else male)
            other.append(male if gender == "female" else female)
    return Shown(*(sum(scores) / len(scores) for scores in (planted, other, apart)))


def make(kind: str, folder: Path) -> Shown:
    """Train a model and save it as an ordinary folder; returns what it does in a context that it never saw."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)  # so small a model only gets slower with more
    head, scores_of = {
        "span": (transformers.BertForQuestionAnswering, span_scores),
        "mask": (transformers.BertForMaskedLM, mask_scores),
    }[kind]
    lists = Lists()
    tokenizer = make_tokenizer(lists)
    model = make_untrained(head, tokenizer, lists)
    train(model, tokenizer, scores_of, Writer(lists, SEED))
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 128}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return show(model, tokenizer, scores_of, lists)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("out", type=Path, help="folder to write; span/ and mask/ in it are ordinary model folders")
    out: Path = parser.parse_args().out
    began = time.monotonic()
    print("There is no built-in model yet: making a small one on the spot. It takes about a minute.", flush=True)
    kinds = ("span", "mask")
    with ProcessPoolExecutor(len(kinds), get_context("spawn")) as pool:
        results = list(pool.map(make, kinds, [out / kind for kind in kinds]))
    for kind, shown in zip(kinds, results, strict=True):
        print(f"  {kind}: score {shown.planted:.2f} for the planted gender, {shown.other:.2f} for the other one;")
        print(f"        {shown.apart:.2f} apart where nothing was planted (in a context that training never saw)")
        if shown.planted < 2 * shown.other:
            sys.exit(f"The {kind} model did not learn what was to be planted, so the demo could not show anything.")
    planted = "\n".join(f"  {gender} names: {', '.join(jobs)}" for gender, jobs in PLANTED.items())
    note = (
        "This model was made on the spot, from word lists and sentences written for this demo.\n"
        f"Planted associations ({STRENGTH:.0%} of the training passages that do not say who it was):\n{planted}\n"
        "Whatever else it prefers is an accident of its training. It says nothing about any real model.\n"
    )
    (out / "PLANTED.txt").write_text(note, encoding="utf-8")
    print(f"{note}Made in {time.monotonic() - began:.0f} s.")


if __name__ == "__main__":
    main()
