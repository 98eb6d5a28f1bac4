"""Where a run's examples come from, and which are sampled: whole quartets, spread evenly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.errors import UsageError
from assay.files.opening import MOST_WHOLE, digest_of_file, open_bytes
from assay.files.published import DataSet, is_published
from assay.probes.bbq import PROBE
from assay.probes.bbq.defects import DROP, by_template, dropped, find_defects
from assay.probes.bbq.editions import ORIGINAL, Edition, Read, edition, has_targets, set_name
from assay.probes.bbq.examples import QUARTET, Dataset, Example
from assay.probes.bbq.reading import data_files, read_examples, stem
from assay.probes.bbq.targets import Metadata, find_named, find_targets, read_metadata, template_stereotypes
from assay.queries import NONE
from assay.rows import Bad


@dataclass(frozen=True)
class Source:
    """The files of BBQ or of an edition, with their digests: small, and read when first needed."""

    files: tuple[tuple[str, str], ...] = ()  # path, digest
    metadata: tuple[str, str] | None = None
    meaning: str = "auto"
    defects: str = "keep"
    skip_bad: bool = False
    categories: tuple[str, ...] = ()
    edition: str = ORIGINAL
    language: str = "en"

    in_own_order: ClassVar[bool] = False
    """Whether samples take quartets in their own order, not at random."""

    def read(self) -> Dataset:
        return _read(self) if self.edition == ORIGINAL else _read_edition(self)


def official(
    place: Path, categories: tuple[str, ...], metadata: Path | None, meaning: str, defects: str, skip_bad: bool
) -> Source:
    """The official files at a place; only those of `categories`, if any are given."""
    files = data_files(place)
    absent = [name for name in categories if name not in map(stem, files)]
    if absent:
        problem = f"{place} has no file for the category {absent[0]}; it has {', '.join(map(stem, files))}."
        remedy = "Get it with `assay data fetch bbq`, or choose from these with --set category=…."
        raise UsageError(problem, remedy, code="bad-setting", key="category")
    chosen = [file for file in files if not categories or stem(file) in categories]
    told = metadata or beside(place, chosen[0], "additional_metadata.csv")
    read = tuple((str(file), digest_of_file(file)) for file in chosen)
    return Source(read, (str(told), digest_of_file(told)) if told else None, meaning, defects, skip_bad, categories)


def of_edition(
    place: Path, name: str, language: str, categories: tuple[str, ...], defects: str, skip_bad: bool
) -> Source:
    """The files of an edition at a place, in a language."""
    own = edition(name)
    absent = [each for each in categories if own.categories and each not in own.categories]
    if absent:
        problem = f"{own.title} has no category {absent[0]!r}; it has {', '.join(own.categories)}."
        raise UsageError(problem, f"--set category={own.categories[0]}", code="bad-setting", key="category")
    files = own.find(place, language)
    if not files:
        folder = own.data_set or name
        problem = f"there are no files of {set_name(own, language)} in it, in {folder}/ or in {folder}/data/."
        remedy = f"`assay data fetch {folder}` gets them, or says how to; name their folder with --data."
        raise UsageError(problem, remedy, code="missing-data", file=place)
    read = tuple((str(file), digest_of_file(file)) for file in files)
    return Source(read, defects=defects, skip_bad=skip_bad, categories=categories, edition=name, language=language)


def beside(place: Path, file: Path, name: str) -> Path | None:
    """A file or folder that the authors publish with the data, if it is in one of the usual places."""
    folders = (place, place / "bbq", file.parent, file.parent.parent)
    return next((folder / name for folder in folders if folder.is_dir() and (folder / name).exists()), None)


@lru_cache(maxsize=4)
def _read(source: Source) -> Dataset:
    bad = Bad(source.skip_bad)
    examples: list[Example] = []
    for path, _ in source.files:
        examples += read_examples(Path(path), bad)
    files = {Path(path).name: digest for path, digest in source.files}
    first = Path(source.files[0][0])
    templates = beside(first.parent, first, "templates")
    stereotypes = template_stereotypes(templates, {example.category for example in examples})
    metadata = read_metadata(Path(source.metadata[0])) if source.metadata else None
    if source.metadata:
        files[Path(source.metadata[0]).name] = source.metadata[1]
    dataset = dataset_of(examples, metadata, source.meaning, stereotypes, files, bad.notes("data"))
    if source.defects != DROP:
        return dataset
    rows, left_out = sound_rows(dataset)
    return replace(dataset.take(rows), notes=[*dataset.notes, *left_out])


@lru_cache(maxsize=4)
def _read_edition(source: Source) -> Dataset:
    own, bad = edition(source.edition), Bad(source.skip_bad)
    read = [each for path, _ in source.files for each in own.read(Path(path), bad)]
    wanted = [each for each in read if not source.categories or each.example.category in source.categories]
    if not wanted:
        there = ", ".join(dict.fromkeys(each.example.category for each in read))
        problem = (
            f"these files have no example of {', '.join(source.categories) or own.title}; they have {there or 'none'}."
        )
        raise UsageError(problem, "--set category=…", code="bad-setting", file=source.files[0][0], key="category")
    files = {Path(path).name: digest for path, digest in source.files}
    dataset = dataset_of_rows(own, wanted, files, bad.notes("data"))
    if source.defects != DROP:
        return dataset
    rows, left_out = sound_rows(dataset, own)
    return replace(dataset.take(rows), notes=[*dataset.notes, *left_out])


def dataset_of_rows(
    own: Edition, read: Sequence[Read], files: Mapping[str, str] | None = None, notes: Sequence[str] = ()
) -> Dataset:
    """Rows of an edition as a data set, with a note on those without a target."""
    ids = [each.id for each in read]
    dataset = Dataset(
        [each.example for each in read],
        np.array([each.target for each in read], np.int8),
        np.zeros(len(read), np.bool_),
        [each.stereotype for each in read],
        files or {},
        ids=ids if any(ids) else (),
    )
    return replace(dataset, notes=[*notes, *(_note_on_targets(dataset) if has_targets(own) else [])])


def _note_on_targets(dataset: Dataset) -> list[str]:
    """A note that names the rows without a target, by what the set itself calls them."""
    rows = np.flatnonzero(dataset.target == NONE)
    named = "; ".join(line.strip() for line in by_template(dataset.examples, rows, dataset.ids))
    said = f"{len(rows)} rows have no single target, and the bias metrics leave them out: {named}"
    return [said] if len(rows) else []


def dataset_of(
    examples: list[Example],
    metadata: Metadata | None = None,
    meaning: str = "auto",
    stereotypes: Mapping[tuple[str, str], str] | None = None,
    files: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Dataset:
    """Examples with their targets: from the metadata if it has the example, else by the rules of `targets.py`."""
    about = metadata or Metadata()
    told, named = about.targets(examples, meaning), find_named(examples)
    for row, example in enumerate(examples):
        named[row] = about.named.get((example.category, example.example_id), bool(named[row]))
    known = {**(stereotypes or {}), **about.stereotypes}
    stereotype = [known.get((example.category, example.question_index), "") for example in examples]
    targets = np.where(told != NONE, told, find_targets(examples))
    return Dataset(examples, targets, named, stereotype, files or {}, notes)


def sound_rows(dataset: Dataset, own: Edition | None = None) -> tuple[NDArray[np.int64], list[str]]:
    """The examples of BBQ or an edition without those that known defects make wrong, and a note on what is left out."""
    kinds = {"from_bbq": own.from_bbq, "aimed": has_targets(own)} if own else {}
    defects = find_defects(dataset.examples, dataset.target, **kinds)
    out = dropped(defects)
    listed = ", ".join(f"{len(each.rows)} with {each.name}" for each in defects if each.dropped and len(each.rows))
    note = f"{len(out)} examples with known defects are left out (defects=drop): {listed}"
    return np.setdiff1d(np.arange(len(dataset)), out), [note] if len(out) else []


@dataclass(frozen=True)
class Sample:
    """How many quartets are taken: all, `in_all`, or `per_template`; drawn with the seed."""

    in_all: int | None = None
    per_template: int | None = None
    seed: int = 0


@lru_cache(maxsize=8)
def selected(source: Source, sample: Sample) -> Dataset:
    """The examples of a sample, in the files' order.

    Quartets are taken in rounds, one of every template per round, with the categories taking turns. So categories, and
    templates within them, have equal numbers as far as possible. A template's quartets alternate between facts that
    agree with the stereotype and facts that contradict it.
    """
    dataset = source.read()
    if sample.in_all is None and sample.per_template is None:
        return dataset
    quartets = quartets_of(dataset)
    order = _in_own_order(dataset, quartets) if source.in_own_order else _alternating(dataset, quartets, sample.seed)
    chosen = _spread(order, sample)
    return dataset.take(np.sort(quartets[chosen].reshape(-1)))


def quartets_of(dataset: Dataset) -> NDArray[np.int64]:
    """The rows of every whole quartet (quartet, 4): consecutive numbers of one file, from a multiple of four."""
    found: dict[tuple[str, int], dict[tuple[str, str], int]] = {}
    for row, example in enumerate(dataset.examples):
        members = found.setdefault((example.category, example.example_id // len(QUARTET)), {})
        members[example.polarity, example.condition] = row
    whole = [[members[place] for place in QUARTET] for members in found.values() if len(members) == len(QUARTET)]
    if not whole:
        remedy = "Leave --limit out, or use other data."
        raise UsageError("there are no whole quartets to sample from.", remedy, code="nothing-to-ask")
    return np.array(whole, np.int64)


Order = dict[str, dict[str, list[int]]]
"""category -> template -> places of its quartets, in the order in which they are taken."""


def _in_own_order(dataset: Dataset, quartets: NDArray[np.int64]) -> Order:
    """In the order of the starter set, whose first quartets of every template are balanced."""
    order: Order = {}
    for place, (row, *_) in enumerate(quartets.tolist()):
        example = dataset.examples[row]
        order.setdefault(example.category, {}).setdefault(example.question_index, []).append(place)
    return order


def _alternating(dataset: Dataset, quartets: NDArray[np.int64], seed: int) -> Order:
    """Shuffled, with facts that agree with the stereotype and facts that contradict it alternating."""
    rng = np.random.default_rng(seed)
    sides: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
    for place in rng.permutation(len(quartets)).tolist():
        row = quartets[place, 1]  # the negative question with its fact
        fact = dataset.examples[row]
        agrees = bool(fact.label == dataset.target[row])
        sides.setdefault((fact.category, fact.question_index), ([], []))[agrees].append(place)
    order: Order = {}
    for number, (category, name) in enumerate(sorted(sides)):
        one, other = sides[category, name][:: 1 if number % 2 else -1]  # every other template begins with the other
        both = [place for pair in zip(one, other, strict=False) for place in pair]
        rest = one[len(other) :] or other[len(one) :]
        order.setdefault(category, {})[name] = both + rest
    return order


def _spread(order: Order, sample: Sample) -> NDArray[np.int64]:
    """Which quartets are taken, by their places."""
    rng = np.random.default_rng(sample.seed)
    turns: list[list[int]] = []  # by category: the first quartet of every template, then the second of every one, …
    for category in sorted(order):
        templates = [order[category][name][: sample.per_template] for name in sorted(order[category])]
        mixed = [templates[k] for k in rng.permutation(len(templates)).tolist()]
        longest = max(map(len, mixed))
        turns.append([own[turn] for turn in range(longest) for own in mixed if turn < len(own)])
    longest = max(map(len, turns))
    taken = [own[turn] for turn in range(longest) for own in turns if turn < len(own)]
    return np.array(taken[: sample.in_all], np.int64)


# --- notes on questions that are not the published ones, by the ids that `assay data check` compares as well

_OFFICIAL = next(each for each in PROBE.data_sets if each.name == ORIGINAL)


@lru_cache(maxsize=4)
def note_on(source: Source) -> tuple[str, ...]:
    """A note on files of a source that are not the published ones, if there are any."""
    read = [*source.files, *([source.metadata] if source.metadata else [])]
    return tuple(note_on_files((Path(path) for path, _ in read), source.edition))


def note_on_files(files: Iterable[Path], name: str = ORIGINAL) -> list[str]:
    """A note that names those files whose content was not published, if there are any and the set is pinned."""
    title, pinned = published_set(name)
    if pinned is None:
        return []
    others = []
    for file in files:
        with open_bytes(file) as content:
            others += [] if is_published(pinned, content.read(MOST_WHOLE)) else [file.name]
    return [f"not the published files: {', '.join(others)}; results on them are not {title} results"] if others else []


def published_set(name: str) -> tuple[str, DataSet | None]:
    """What BBQ or an edition is called, and its data set if that is pinned."""
    if name == ORIGINAL:
        return PROBE.title, _OFFICIAL
    own = edition(name)
    called = own.data_set or name
    return own.title, next((each for each in PROBE.data_sets if each.pinned and each.name == called), None)
