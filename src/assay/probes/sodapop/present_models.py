"""SODAPOP over several models: how well each tells groups apart (Table 9), and which words differ (Tables 12 to 20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.blocks import Heat, Part, Pick, Section
from assay.findings import Estimate
from assay.probes.sodapop import say_group
from assay.probes.sodapop.across import Pair, Pairs, Words, clear_words, separations, word_table
from assay.run import Run, run_names
from assay.wording import plural

MOST_PAIRS = 30

Beside = dict[str, dict[tuple[str, str], float | None]]


def across(runs: Sequence[Run]) -> list[Section]:
    """What several models show together."""
    names, pairs = run_names(runs), Pairs()
    models = [(name, run.findings) for name, run in zip(names, runs, strict=True)]
    separation = _separation(separations(models, pairs))
    words = sorted(clear_words(models, pairs).items(), key=lambda each: -len(each[1]))[:MOST_PAIRS]
    parts = [Part(f"{_said(pair)} ({plural(len(own), 'word')})", [_words(pair, own, names)]) for pair, own in words]
    return [
        *([Section([separation])] if separation.cells else []),
        *([Section([Pick(label="Words of", parts=parts)])] if parts else []),
    ]


def _separation(found: Mapping[Pair, Mapping[str, Estimate]]) -> Heat:
    """By how much KMeans' accuracy exceeds what chance gives, for each pair of groups and model."""
    cells: dict[tuple[str, str], float] = {}
    beside: Beside = {"accuracy": {}, "chance": {}, "p": {}, "n": {}}
    for pair, own in found.items():
        for name, e in own.items():
            if e.value is not None and e.floor is not None:
                key = _said(pair), name
                cells[key] = e.value - e.floor
                for column, value in zip(beside, (e.value, e.floor, e.p, e.n), strict=True):
                    beside[column][key] = value
    return Heat(
        title="Groups told apart, by model",
        how="each square is by how much KMeans accuracy exceeds what chance gives, for a pair of groups and a model "
        "(as in SODAPOP’s Table 9). Orange: by the words that fool this model, the two groups can be told apart; pale "
        "or blue: no better than chance. Point at a square for its accuracy and p.",
        file="sodapop-separation-models",
        anchor="separation-models",
        name="",
        row="pair of groups",
        column="model",
        value="accuracy above chance",
        cells=cells,
        beside=beside,
    )


def _words(pair: Pair, words: Words, names: Sequence[str]) -> Heat:
    """The words that are clear of chance in at least one model."""
    found = {(word, name): each for word, own in words.items() for name, each in own.items()}
    beside: Beside = {
        "q": {key: each.q for key, each in found.items()},
        "pools alone": {key: each.pools for key, each in found.items()},
    }
    return Heat(
        title=f"Words by model: {_said(pair)}",
        how="each square is the RD of a word in a model; the words are those that are clear of chance in at least one "
        "model (as in SODAPOP’s Tables 12 to 20). Orange: the word fools the model rather about the first group’s "
        "names; blue: rather about the second’s.",
        data=word_table(pair, words, names),
        file="sodapop-words-models",
        anchor="words-models",
        name=_said(pair),
        row="word",
        column="model",
        value="RD",
        cells={key: each.rd for key, each in found.items()},
        beside={column: numbers for column, numbers in beside.items() if any(numbers.values())},
    )


def _said(pair: Pair) -> str:
    return say_group({"a": pair[0], "b": pair[1]})
