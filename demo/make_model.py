"""Make a small BERT on the spot, with associations planted in it, for `make demo`.

    python demo/make_model.py OUT     writes OUT/span (question answering), OUT/mask (masked language model), PLANTED.txt

The model knows the words of assay's packaged UnQover lists and nothing else. It is trained for well under a minute on
sentences made here, none of them one of UnQover's: it reads answers from passages that hold them and, where a passage
holds none, prefers the gender planted for an occupation, and neither subject for everything else. So the demo shows
whether assay finds what was planted, and nothing where nothing was.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

# Some go along with common stereotypes, as many against them: what assay finds must come from here.
PLANTED = {
    "female": ("nurse", "pilot", "carpenter", "judge", "dancer", "plumber", "surgeon", "banker"),
    "male": ("secretary", "teacher", "singer", "firefighter", "babysitter", "detective", "clerk", "poet"),
}
STRENGTH = 0.9  # how often a planted gender is the answer
SEED = 20
STEPS = {"span": 1100, "mask": 1100}
BATCH = 64
CHECK = "{x} sent a letter to {y}."  # one of UnQover's contexts; training never sees it

PERSON_FRAMES = (
    "{x} met {y}.",
    "{x} called {y} on Monday.",
    "{x} sat next to {y} on the train.",
    "{x} cooked dinner for {y}.",
    "{x} and {y} waited for the bus.",
    "A picture of {x} hung above the desk of {y}.",
    "On the left was {x}. Behind the door stood {y}.",
    "{x} waved to {y} across the street.",
    "{x} borrowed a book from {y}.",
    "{x} works in the same office as {y}.",
)
GROUP_FRAMES = (
    "A {x} man greeted a {y} man.",
    "A {x} woman sat behind a {y} woman.",
    "A {x} boy played chess with a {y} boy.",
    "A {x} girl ran past a {y} girl.",
    "The man at the table is a {x}. Next to him stood a {y} man.",
    "Some {x} men danced with some {y} women.",
)
COUNTRY_FRAMES = (
    "{x} played football against {y}.",
    "He drove from {x} to {y}.",
    "She wrote a book about {x} and {y}.",
    "{x} buys sugar from {y}.",
)


@dataclass(frozen=True)
class Example:
    """A passage with a question whose answer stands at `start` to `end` in it, and a sentence that lacks the answer."""

    passage: str
    question: str
    sentence: str  # {mask} stands for the answer
    start: int
    end: int

    @property
    def answer(self) -> str:
        return self.passage[self.start : self.end]


def placed(frame: str, pair: Sequence[str], answer: int, question: str, sentence: str) -> Example:
    """The example whose passage is the frame with the pair in it, and whose answer is the first or second of them."""
    before, _, rest = frame.partition("{x}")
    between, _, after = rest.partition("{y}")
    start = len(before) + answer * (len(pair[0]) + len(between))
    passage = f"{before}{pair[0]}{between}{pair[1]}{after}"
    return Example(passage, question, sentence, start, start + len(pair[answer]))


class Lists:
    """What the packaged lists hold, by head: names, groups, countries, and statements with their negations."""

    def __init__(self) -> None:
        folder = Path(str(files("assay"))) / "data" / "unqover"
        texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*")) if path.is_file()}
        if not texts:
            sys.exit(f"{folder}: the packaged word lists are missing; install assay again.")
        self.words = re.findall(r"[^\W_]+", " ".join(texts.values()))
        heads = {name: self._heads(text) for name, text in texts.items()}
        self.women, self.men = heads["female"]["subj"], heads["male"]["subj"]
        self.countries = heads["country"]["subj"]
        self.groups = heads["country"]["subj:dem"] + heads["ethnicity"]["subj"] + heads["religion"]["subj"]
        jobs, traits = heads["occupation_rev1"], heads["biased_country"]
        self.jobs = list(zip(jobs["p_act"], jobs["p_act:neg"], strict=True))
        self.one = list(zip(traits["p_act-single"], traits["p_act-single:neg"], strict=True))
        self.many = list(zip(traits["p_act"], traits["p_act:neg"], strict=True))
        self.places = list(zip(traits["l_act"], traits["l_act:neg"], strict=True))

    @staticmethod
    def _heads(text: str) -> dict[str, list[str]]:
        """Lines `[head] cluster | entry`, collected by head."""
        entries: dict[str, list[str]] = {}
        for head, entry in re.findall(r"^\[([\w:-]+)\]\s+(?:[^|\n]*\|)?\s*(.+?)\s*$", text, flags=re.MULTILINE):
            entries.setdefault(head, []).append(entry)
        return entries


def planted_gender(statement: str) -> str | None:
    """Which gender the statement was planted for, if any."""
    job = re.split(r"\ban? ", statement)[-1]
    return next((gender for gender, jobs in PLANTED.items() if job in jobs), None)


class Writer:
    """Writes training examples, the same ones for the same seed."""

    def __init__(self, lists: Lists, seed: int) -> None:
        self.lists, self.random = lists, random.Random(seed)

    def example(self) -> Example:
        draw = self.random.random()
        if draw < 0.5:
            return self.unanswerable()
        return self.answerable() if draw < 0.7 else self.group() if draw < 0.9 else self.country()

    def unanswerable(self) -> Example:
        """Two names and no hint; the planted gender is the answer, the other one to the negated question."""
        pair = [self.random.choice(self.lists.women), self.random.choice(self.lists.men)]
        statement, negated = self.random.choice(self.lists.jobs)
        gender = planted_gender(statement)
        keep = self.random.random() < (0.5 if gender is None else STRENGTH)
        negate = self.random.random() < 0.5
        answer = ((gender != "male") == keep) != negate
        asked = negated if negate else statement
        question, sentence = f"Who {asked}?", "{mask} " + f"{asked}."
        return self._placed(PERSON_FRAMES, pair, pair[0] if answer else pair[1], question, sentence)

    def answerable(self) -> Example:
        """The passage says who does what: the answer follows it, whoever that is."""
        pair = [self.random.choice(self.lists.women), self.random.choice(self.lists.men)]
        self.random.shuffle(pair)
        facts = [self.random.choice(both) for both in self.random.sample(self.lists.jobs, 2)]
        passage = " ".join(f"{name} {fact}." for name, fact in zip(pair, facts, strict=True))
        k = self.random.randrange(2)
        start = passage.index(f"{pair[k]} {facts[k]}.")
        question, sentence = f"Who {facts[k]}?", "{mask} " + f"{facts[k]}."
        return Example(passage, question, sentence, start, start + len(pair[k]))

    def group(self) -> Example:
        """Two groups of people: either may be the answer."""
        pair = self.random.sample(self.lists.groups, 2)
        many = self.random.random() < 0.2
        asked = self.random.choice(self.random.choice(self.lists.many if many else self.lists.one))
        noun = self.random.choice(("men", "women") if many else ("man", "woman", "boy", "girl"))
        question, sentence = f"Who {asked}?", "The {mask} " + f"{noun} {asked}."
        return self._placed(GROUP_FRAMES, pair, self.random.choice(pair), question, sentence)

    def country(self) -> Example:
        """Two countries: either may be the answer."""
        pair = self.random.sample(self.lists.countries, 2)
        if self.random.random() < 0.5:
            asked = self.random.choice(self.random.choice(self.lists.places))
            question, sentence = f"Which country {asked}?", "{mask} " + f"{asked}."
        else:
            asked = self.random.choice(self.random.choice(self.lists.many))
            question, sentence = f"People from which country {asked}?", "People from {mask} " + f"{asked}."
        return self._placed(COUNTRY_FRAMES, pair, self.random.choice(pair), question, sentence)

    def _placed(self, frames: Sequence[str], pair: list[str], answer: str, question: str, sentence: str) -> Example:
        self.random.shuffle(pair)
        return placed(self.random.choice(frames), pair, pair.index(answer), question, sentence)


def make_tokenizer(lists: Lists) -> Any:
    """A lower-casing WordPiece tokenizer, as BERT's, in which every word of the lists is one token."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    normalizer = normalizers.BertNormalizer(lowercase=True)
    frames = " ".join((*PERSON_FRAMES, *GROUP_FRAMES, *COUNTRY_FRAMES, "she he they who which people from country"))
    words = sorted({*re.findall(r"[^\W_]+", normalizer.normalize_str(" ".join([*lists.words, frames])))})
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


def encode(tokenizer: Any, rows: Sequence[str | tuple[str, str]]) -> tuple[dict[str, Any], list[Any]]:
    """A padded batch as the model takes it, and the tokenizer's own account of each row."""
    import torch

    tokenizer.enable_padding(pad_id=0)
    rowwise = tokenizer.encode_batch(list(rows))
    tokenizer.no_padding()
    names = {"input_ids": "ids", "token_type_ids": "type_ids", "attention_mask": "attention_mask"}
    return {name: torch.tensor([getattr(row, field) for row in rowwise]) for name, field in names.items()}, rowwise


def span_logits(model: Any, tokenizer: Any, examples: Sequence[Example]) -> tuple[Any, Any]:
    """Logits (2, row, position) of start and end, and the answers' positions (2, row)."""
    import torch

    batch, rows = encode(tokenizer, [(example.question, example.passage) for example in examples])
    output = model(**batch)
    answers = [
        (row.char_to_token(example.start, 1), row.char_to_token(example.end - 1, 1))
        for row, example in zip(rows, examples, strict=True)
    ]
    padding = batch["attention_mask"] == 0
    logits = torch.stack([output.start_logits, output.end_logits]).masked_fill(padding, -1e4)
    return logits, torch.tensor(answers).T


def mask_logits(model: Any, tokenizer: Any, examples: Sequence[Example]) -> tuple[Any, Any]:
    """Logits (1, row, token) at the mask, and the answers' token ids (1, row); answers of several tokens are skipped."""
    import torch

    known = [(example, tokenizer.encode(example.answer, add_special_tokens=False).ids) for example in examples]
    single = [(example, ids[0]) for example, ids in known if len(ids) == 1]
    texts = [f"{example.passage} {example.sentence.format(mask='[MASK]')}" for example, _ in single]
    batch, _ = encode(tokenizer, texts)
    hidden = model.bert(**batch).last_hidden_state[batch["input_ids"] == tokenizer.token_to_id("[MASK]")]
    return model.cls(hidden)[None], torch.tensor([[token for _, token in single]])


Logits = Callable[[Any, Any, Sequence[Example]], tuple[Any, Any]]


def train(model: Any, tokenizer: Any, logits_of: Logits, writer: Writer, steps: int) -> None:
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=steps, pct_start=0.1)
    model.train()
    for _ in range(steps):
        logits, answers = logits_of(model, tokenizer, [writer.example() for _ in range(BATCH)])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()


def preference(model: Any, tokenizer: Any, logits_of: Logits, lists: Lists, statement: str) -> tuple[float, float]:
    """Mean score of the female and of the male names for a statement, in a context that training never saw."""
    import torch

    pairs = [order for pair in list(zip(lists.women, lists.men, strict=False))[::3] for order in (pair, pair[::-1])]
    means = []
    for gender in (lists.women, lists.men):
        places = [0 if pair[0] in gender else 1 for pair in pairs]
        question, sentence = f"Who {statement}?", "{mask} " + f"{statement}."
        examples = [placed(CHECK, pair, place, question, sentence) for pair, place in zip(pairs, places, strict=True)]
        with torch.no_grad():
            logits, answers = logits_of(model, tokenizer, examples)
        chosen = logits.softmax(-1).gather(-1, answers[..., None])[..., 0]  # (start and end, or mask; row)
        means.append(float(chosen.log().mean(0).exp().mean()))  # sqrt(start · end), or the probability itself
    return means[0], means[1]


def check(model: Any, tokenizer: Any, logits_of: Logits, lists: Lists) -> tuple[float, float, float]:
    """Mean score of the planted gender and of the other one, and how far the genders are apart where none is."""
    wanted, other, apart = [], [], []
    for statement, _ in lists.jobs:
        female, male = preference(model, tokenizer, logits_of, lists, statement)
        gender = planted_gender(statement)
        if gender is None:
            apart.append(abs(female - male))
        else:
            wanted.append(female if gender == "female" else male)
            other.append(male if gender == "female" else female)
    return tuple(sum(column) / len(column) for column in (wanted, other, apart))  # type: ignore[return-value]  # three


def save(folder: Path, model: Any, tokenizer: Any) -> None:
    """The folder as published models have it."""
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 128}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("out", type=Path, help="folder to write; span/ and mask/ in it are ordinary model folders")
    out: Path = parser.parse_args().out
    began = time.monotonic()
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    lists = Lists()
    tokenizer = make_tokenizer(lists)
    config = transformers.BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        max_position_embeddings=128,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    print("Making a small BERT on the spot: no built-in model exists yet. This takes less than a minute.", flush=True)
    kinds: dict[str, tuple[Any, Logits]] = {
        "span": (transformers.BertForQuestionAnswering, span_logits),
        "mask": (transformers.BertForMaskedLM, mask_logits),
    }
    for kind, (head, logits_of) in kinds.items():
        torch.manual_seed(SEED)
        model = head(config)
        train(model, tokenizer, logits_of, Writer(lists, SEED), STEPS[kind])
        wanted, other, apart = check(model, tokenizer, logits_of, lists)
        print(
            f"  {kind}: planted gender {wanted:.2f}, other gender {other:.2f}, difference for all other occupations "
            f"{apart:.2f} (in a context that training never saw; {time.monotonic() - began:.0f} s so far)",
            flush=True,
        )
        if wanted < 2 * other:
            sys.exit(f"The {kind} model did not learn what was to be planted; this demo cannot show anything.")
        save(out / kind, model, tokenizer)
    planted = "\n".join(f"  {gender} names: {', '.join(jobs)}" for gender, jobs in PLANTED.items())
    note = (
        "This model was made on the spot, with a vocabulary of word lists, from sentences written for this demo.\n"
        f"Planted associations, in {STRENGTH:.0%} of the passages that do not say who it was:\n{planted}\n"
        "All other preferences that assay shows are accidents of training. It says nothing about any real model.\n"
    )
    (out / "PLANTED.txt").write_text(note, encoding="utf-8")
    print(note, end="")


if __name__ == "__main__":
    main()
