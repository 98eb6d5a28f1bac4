"""CDA and Dropout: masked training goes on for a while, on counterfactual text or with more dropout.

Both begin with a model that fills masks and give one: its encoder and its head, changed. Fine-tuning for a task comes
after them (`assay train choice --base hf:./OUT …`).

The training has a folder of its own beside the result (`.NAME.….training`), where the same command goes on after an
interruption; the result appears whole, under its name, when everything is done.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from assay.debias.corpus import Corpus
from assay.debias.job import Debiased, Job, require_new
from assay.debias.swap import ReleasedSwapper, Swapper, drawn
from assay.debias.words import Attribute, read_attribute
from assay.errors import DataError, ModelError, UsageError
from assay.files.atomic import rename_folder, write_atomically
from assay.files.opening import digest_of_file
from assay.models.hf_files import libraries
from assay.models.tokenise import Tokeniser
from assay.plan import digest_of as digest_of_values
from assay.training import settings as training_settings
from assay.training import train_mask_on
from assay.training.base import Base, Loaded, load_base, opened_base
from assay.training.folder import CARD, DONE

STEPS, BATCH, ACCUMULATE = 2000, 32, 16
RATES, OTHER_RATES = (0.20, 0.15), (0.05, 0.05)
"""Dropout of hidden states and of attention: for BERT and RoBERTa, and for others (Webster et al. 2020, bias-bench)."""

_OWN: dict[str, dict[str, tuple[str, ...]]] = {
    "cda": {"compat": ("assay", "released")},
    "dropout": {"keep_dropout": ("yes", "no")},
}
"""The settings that a method has besides those of masked training; the first choice is the default."""

_AT_ONCE = 256  # lines or blocks that are tokenised together


# --- settings


@dataclass(frozen=True)
class Chosen:
    """A method's own settings, and those for the training as text."""

    own: Mapping[str, str]
    training: Mapping[str, str]


def settings_of(method: str, given: Mapping[str, str]) -> Chosen:
    """The settings of cda or dropout, checked; bias-bench's values where none are given.

    >>> settings_of("cda", {"batch": "8"}).training["max_steps"]
    '2000'
    """
    of_training = [key for key in training_settings.known("mask") if (method, key) != ("cda", "blocks")]
    own = _OWN[method]
    for key, text in given.items():
        if key not in own and key not in of_training:
            known = ", ".join(sorted([*own, *of_training]))
            raise UsageError(f"{method} has no setting {key!r}; it has {known}.", "See docs/debias.md.")
        if key in own and text not in own[key]:
            raise UsageError(f"{key} is {text!r}, expected one of {', '.join(own[key])}.", f"--set {key}=…")
    training = {"batch": str(BATCH), "accumulate": str(ACCUMULATE)}
    if "epochs" not in given:  # whoever counts in passes means all of them
        training["max_steps"] = str(STEPS)
    if method == "cda":
        training["blocks"] = "apart"
    training |= {key: str(text) for key, text in given.items() if key in of_training}
    training_settings.read("mask", None, training)
    return Chosen({key: given.get(key, choices[0]) for key, choices in own.items()}, training)


def _with_rates(training: Mapping[str, str], base: Base) -> dict[str, str]:
    """The training's settings with Dropout's rates, where none were given."""
    config = json.loads((Path(base.spec.place) / "config.json").read_text(encoding="utf-8"))
    hidden, attention = RATES if config.get("model_type") in ("bert", "roberta") else OTHER_RATES
    return {"dropout": str(hidden), "attention_dropout": str(attention), **training}


# --- texts


@dataclass
class Augmented:
    """CDA's stream of texts: every block of the corpus that has an attribute word, its counterfactual copy before it.

    room: tokens of a block, without the model's own around it. seed: for tuples of more than two words, where each
    class of each block draws one of the others. The stream is the same each time that it is called for.
    """

    corpus: Corpus
    attribute: Attribute
    tokenizer: Any
    room: int
    swapper: Swapper | ReleasedSwapper
    seed: int
    job: Job

    def __call__(self) -> Iterator[str]:
        pairs, any_yet = self._pairs(), False
        while some := list(islice(pairs, _AT_ONCE)):
            any_yet = True
            yield from clipped([text for pair in some for text in pair], self.tokenizer, self.room)
        if not any_yet:
            raise _no_words(self.corpus, self.attribute)

    def _pairs(self) -> Iterator[tuple[str, str]]:
        cut = decoded_blocks if isinstance(self.swapper, ReleasedSwapper) else blocks_of
        blocks = cut(_lines(self.corpus, self.job), self.tokenizer, self.room)
        for number, block in enumerate(blocks):
            if self.swapper.has_word(block):
                to = drawn(self.swapper.classes, Random(f"{self.seed} {number}"))
                yield self.swapper.swapped(block, to), block


def blocks_of(lines: Iterable[str], tokenizer: Any, room: int) -> Iterator[str]:
    """The text of the lines, joined by spaces, in pieces of at most `room` tokens that end between words.

    What is left at the end is dropped, unless it is all there is.
    """
    parts: list[str] = []
    held, any_yet = 0, False
    for line, encoding in _encoded(lines, tokenizer):
        starts = [start for start, _ in encoding.offsets]
        first, begin = 0, 0  # the first token, and the first letter, that is in no block
        while len(starts) - first >= room - held:
            cut = _between_words(line, starts, first, first + room - held)
            if cut == first and not parts:  # one word fills more than a block
                cut = first + room
            end = starts[cut] if cut < len(starts) else len(line)
            yield " ".join(filter(None, [*parts, line[begin:end].strip()]))
            parts, held, any_yet = [], 0, True
            first, begin = cut, end
        if first < len(starts):
            parts.append(line[begin:].strip())
            held += len(starts) - first
    if parts and not any_yet:
        yield " ".join(parts)


def decoded_blocks(lines: Iterable[str], tokenizer: Any, room: int) -> Iterator[str]:
    """Pieces of exactly `room` tokens as the tokenizer writes them: what the released program swaps words in."""
    held: list[int] = []
    any_yet = False
    for _, encoding in _encoded(lines, tokenizer):
        held += encoding.ids
        for lo in range(0, len(held) - room + 1, room):
            any_yet = True
            yield tokenizer.decode(held[lo : lo + room], clean_up_tokenization_spaces=True)
        held = held[len(held) - len(held) % room :]
    if held and not any_yet:
        yield tokenizer.decode(held, clean_up_tokenization_spaces=True)


def clipped(texts: list[str], tokenizer: Any, room: int) -> Iterator[str]:
    """Texts without what is beyond `room` tokens: a counterpart may have more tokens than the word that it replaces."""
    for text, encoding in _encoded(texts, tokenizer):
        offsets = encoding.offsets
        yield text[: offsets[room][0]] if len(offsets) > room else text


def _encoded(lines: Iterable[str], tokenizer: Any) -> Iterator[tuple[str, Any]]:
    stream = iter(lines)
    while some := list(islice(stream, _AT_ONCE)):
        yield from zip(some, tokenizer.backend_tokenizer.encode_batch(some, add_special_tokens=False), strict=True)


def _between_words(line: str, starts: list[int], first: int, cut: int) -> int:
    """The last token from `first` to `cut` that begins a word; `first` if there is none."""
    while first < cut < len(starts) and not any(map(str.isspace, line[max(starts[cut] - 1, 0) : starts[cut] + 1])):
        cut -= 1
    return cut


def _lines(corpus: Corpus, job: Job) -> Iterator[str]:
    return (text for line in corpus.lines(job.progress) if (text := line.strip()))


def _no_words(corpus: Corpus, attribute: Attribute) -> DataError:
    words = ", ".join(list(attribute.place_of)[:4])
    return DataError(
        f"nothing in it has a word of the attribute {attribute.name} ({words}, …), so there is nothing to swap.",
        "Give another corpus, or other words with --words.",
        file=corpus.path,
    )


# --- from beginning to end


def run(job: Job) -> Debiased:
    """Make the model that a job asks for. What is cheap and may fail comes first."""
    chosen = settings_of(job.method, job.settings)
    attribute = _attribute(job)
    corpus = Corpus(job.corpus)
    swapper = None if attribute is None else _swapper(chosen, attribute)
    if attribute is not None and not _has_word(corpus, attribute):
        raise _no_words(corpus, attribute)
    if attribute is None and not any(line.strip() for line in corpus.lines()):
        raise DataError("there is no text in it.", "Give a text of at least a few words.", file=corpus.path)
    with opened_base(job.model, "mask", job.device) as base:
        training = dict(chosen.training) if job.method == "cda" else _with_rates(chosen.training, base)
        settings = training_settings.read("mask", None, training)[0]
        loaded = load_base(base, "mask", settings, job.seed)
        rates = {name: getattr(loaded.model.config, name) for name in loaded.restore if "dropout" in name}
        notes = _notes(job, rates, loaded.restore)

        def plain() -> Iterator[str]:
            return _lines(corpus, job)

        texts: Any = plain
        if attribute is not None and swapper is not None:
            room = _room(loaded, settings.length, "length" in job.settings)
            texts = Augmented(corpus, attribute, loaded.tokenizer, room, swapper, job.seed, job)
        about = {
            "made_by": f"assay debias {job.method}",
            "own_settings": dict(chosen.own),
            "attribute": None if attribute is None else attribute.name,
            "words": None if attribute is None else attribute.digest,
            "corpus": digest_of_file(corpus.path),
        }
        del loaded  # the training loads its own
        work = _work_folder(job, [about, training, base.digest, base.spec.device])
        if (ready := _read(work / DONE)).get("kind") == "debiased":
            return _moved(job, work, ready)  # this program was killed when all was done
        before = None if job.evaluate is None else job.evaluate(Path(base.spec.place))
        info = _trained(job, texts, work, training, about)
        changed = _require_change(base, work, settings, job.seed)
        if chosen.own.get("keep_dropout") == "yes":
            _keep_rates(work, rates)
        after = None if job.evaluate is None else job.evaluate(work)
    report = {
        "schema": 1,
        "kind": "debiased",
        "method": job.method,
        "attribute": about["attribute"],
        "model": info["base"],
        "architecture": changed.pop("architecture"),
        "corpus": {"file": job.corpus.name, "digest": about["corpus"]},
        "words": None
        if attribute is None
        else {"file": None if job.words is None else job.words.name, "digest": attribute.digest},
        "settings": {**chosen.own, **info["settings"]},
        "seed": job.seed,
        "device": info["device"],
        "dtype": info["dtype"],
        "training": {key: info[key] for key in ("steps", "counts", "new_weights", "curve")},
        "changed": changed,
        "scores": None if before is None or after is None else _scores(before, after),
        "notes": [*notes, *info["notes"]],
        "versions": info["versions"],
        "command": job.command(),
    }
    write_atomically(work / CARD, card(report).encode())
    write_atomically(work / DONE, (json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())
    return _moved(job, work, _read(work / DONE))


def _attribute(job: Job) -> Attribute | None:
    """The words to swap; Dropout is about no attribute in particular."""
    if job.method == "cda":
        if job.attribute is None:
            raise UsageError("cda needs an attribute, such as gender.", "--attribute gender")
        return read_attribute(job.attribute, job.words)
    return None


def _swapper(chosen: Chosen, attribute: Attribute) -> Swapper | ReleasedSwapper:
    released = chosen.own["compat"] == "released"
    return ReleasedSwapper(attribute.tuples) if released else Swapper(attribute.tuples)


def _has_word(corpus: Corpus, attribute: Attribute) -> bool:
    """Read as far as the first attribute word: without one the model need not be loaded."""
    swapper = Swapper(attribute.tuples)
    return any(swapper.has_word(line) for line in corpus.lines())


def _room(loaded: Loaded, length: int, given: bool) -> int:
    if length > loaded.longest:
        if given:
            raise UsageError(
                f"length is {length}, and the model reads {loaded.longest} tokens at most.",
                f"--set length={loaded.longest}",
            )
        length = loaded.longest
    layout = Tokeniser(loaded.tokenizer).single
    return length - len(layout.before) - len(layout.after)


def _notes(job: Job, rates: Mapping[str, float], own: Mapping[str, Any]) -> list[str]:
    """What is worth knowing about Dropout: it knows no attribute, and its rates are lower than some models' own."""
    if job.method != "dropout":
        return []
    unused = [name for name in ("attribute", "words") if getattr(job, name) is not None]
    notes = [f"{name} was given, and Dropout does not use it" for name in unused]
    return notes + [
        f"{name} is {rate}, less than the model's own {own[name]}" for name, rate in rates.items() if rate < own[name]
    ]


def _work_folder(job: Job, identity: Any) -> Path:
    """Where this very training is done; another one, with other settings, has another folder."""
    name = digest_of_values([identity, job.seed, job.dtype])[:12]
    return job.out.absolute().with_name(f".{job.out.name}.{name}.training")


def _trained(
    job: Job, texts: Any, work: Path, training: Mapping[str, str], about: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The training's assay.json, from a training that is done now, or was when this program was killed after it."""
    return (
        _read(work / DONE)
        or train_mask_on(
            texts,
            job.model,
            work,
            training,
            about=about,
            seed=job.seed,
            device=job.device,
            dtype=job.dtype,
            progress=job.progress,
        ).info
    )


def _require_change(base: Base, work: Path, settings: training_settings.Settings, seed: int) -> dict[str, Any]:
    """How far the weights moved, relative to their size: of the encoder and of the head."""
    with opened_base(f"hf:{work}", "mask", "cpu") as result:
        old = load_base(base, "mask", settings, seed).model
        new = load_base(result, "mask", replace(settings, head="keep"), seed).model
    inside = {id(each) for each in new.base_model.parameters()}
    sums = {"encoder": [0.0, 0.0], "head": [0.0, 0.0]}
    for (_, before), (_, after) in zip(old.named_parameters(), new.named_parameters(), strict=True):
        part = sums["encoder" if id(after) in inside else "head"]
        before, after = before.detach().double(), after.detach().double()
        part[0] += float(((after - before) ** 2).sum())
        part[1] += float((before**2).sum())
    if not sums["encoder"][0] > 0:
        raise ModelError(
            "the training left the encoder's weights as they were.", "Train more: --set max_steps=…, --set rate=…"
        )
    moved = {name: (change / size) ** 0.5 if size else 0.0 for name, (change, size) in sums.items()}
    return {"architecture": type(new).__name__, **moved}


def _keep_rates(folder: Path, rates: Mapping[str, float]) -> None:
    """Put Dropout's rates into the configuration, as the released program leaves them: later training has them, too."""
    transformers, _ = libraries()
    config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
    for name, rate in rates.items():
        setattr(config, name, rate)
    config.save_pretrained(folder)


def _scores(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, Any]:
    cost = {name: before[name] - after[name] for name in before if name in after}
    return {"before": dict(before), "after": dict(after), "cost": cost}


def _read(file: Path) -> dict[str, Any]:
    """A JSON file that was written whole; nothing where there is none."""
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return content


def _moved(job: Job, work: Path, report: Mapping[str, Any]) -> Debiased:
    """Give the finished folder its name; nothing is left of other attempts."""
    require_new(job.out)
    rename_folder(work, job.out)
    own = re.compile(rf"\.{re.escape(job.out.name)}\.[0-9a-f]{{12}}\.training")
    for other in work.parent.iterdir():
        if own.fullmatch(other.name):
            shutil.rmtree(other, ignore_errors=True)
    return Debiased(job.out, report)


# --- the card

_NAMES = {"cda": "CDA (counterfactual data augmentation)", "dropout": "Dropout"}
_PAPERS = {
    "cda": "Zmigrod et al. 2019, Webster et al. 2020; defaults are those of bias-bench (Meade et al. 2022)",
    "dropout": "Webster et al. 2020; defaults are those of bias-bench (Meade et al. 2022)",
}
_DID = {
    "cda": "Masked training went on, on blocks of text with attribute words and on copies with these words swapped.",
    "dropout": "Masked training went on, with other rates of dropout.",
}


def card(report: Mapping[str, Any]) -> str:
    """README.md of a model that was made by further training, from its report (assay.json)."""
    from assay.debias.card import _cost, _table, _words

    model, training, method = report["model"], report["training"], report["method"]
    first, last = training["curve"][0], training["curve"][-1]
    facts = {
        "method": f"{_NAMES[method]}: {_PAPERS[method]}",
        "attribute": report["attribute"] or "none in particular",
        "made from": f"`{model['name']}`, digest `{model['digest']}`",
        "class": report["architecture"],
        "corpus": f"`{report['corpus']['file']}`, SHA-256 of the text `{report['corpus']['digest']}`",
        **({"attribute words": f"{_words(report)}, digest `{report['words']['digest']}`"} if report["words"] else {}),
        "texts": ", ".join(f"{number:,} {name}" for name, number in training["counts"].items()),
        "steps": f"{training['steps']:,}; loss {first['loss']:.4f} at first, {last['loss']:.4f} at the end",
        "weights moved": ", ".join(f"{name} by {100 * change:.2g}%" for name, change in report["changed"].items()),
        "settings": ", ".join(f"{key}={value}" for key, value in report["settings"].items()),
        "seed": report["seed"],
        "device": f"{report['device']}, {report['dtype']}",
        "versions": ", ".join(f"{name} {number}" for name, number in report["versions"].items()),
    }
    about = f", {report['attribute']}" if report["attribute"] else ""
    return "\n".join(
        [
            f"# {_NAMES[method]}{about}: {model['name']}",
            "",
            f"Made by assay. {_DID[method]}",
            "This is an ordinary model for transformers that fills masks; fine-tune it for a task, then measure: the",
            "method promises nothing about a task's answers.",
            "",
            *_table(("", ""), facts.items()),
            "",
            *(line for note in report["notes"] for line in (f"Note: {note}.", "")),
            "## What it cost",
            "",
            *_cost(report["scores"]),
            "",
            "## Command",
            "",
            f"    {report['command']}",
            "",
        ]
    )
