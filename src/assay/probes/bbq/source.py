"""Where a run's examples come from, and which are sampled: whole quartets, spread evenly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import NONE
from assay.datasets.catalogue import DataSet, is_published
from assay.errors import UsageError
from assay.files.opening import MOST_WHOLE, digest_of_file, open_bytes
from assay.files.rows import BadRows
from assay.probes.bbq import PROBE
from assay.probes.bbq.defects import DROP, by_template, dropped, find_defects
from assay.probes.bbq.editions import ORIGINAL, Edition, EditionRow, edition, has_targets, set_name
from assay.probes.bbq.items import DISAMBIGUATED, NEGATIVE, QUARTET, Dataset, Item
from assay.probes.bbq.read_items import data_files, read_examples, stem
from assay.probes.bbq.targets import TargetMetadata, find_named, find_targets, read_metadata, template_stereotypes


@dataclass(frozen=True)
class ItemSource:
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
) -> ItemSource:
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
    return ItemSource(read, (str(told), digest_of_file(told)) if told else None, meaning, defects, skip_bad, categories)


def of_edition(
    place: Path, name: str, language: str, categories: tuple[str, ...], defects: str, skip_bad: bool
) -> ItemSource:
    """The files of an edition at a place, in a language."""
    own = edition(name)
    absent = [category for category in categories if own.categories and category not in own.categories]
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
    return ItemSource(read, defects=defects, skip_bad=skip_bad, categories=categories, edition=name, language=language)


def beside(place: Path, file: Path, name: str) -> Path | None:
    """A file or folder that the authors publish with the data, if it is in one of the usual places."""
    folders = (place, place / "bbq", file.parent, file.parent.parent)
    return next((folder / name for folder in folders if folder.is_dir() and (folder / name).exists()), None)


@lru_cache(maxsize=4)
def _read(source: ItemSource) -> Dataset:
    bad = BadRows(source.skip_bad)
    examples: list[Item] = []
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
def _read_edition(source: ItemSource) -> Dataset:
    own, bad = edition(source.edition), BadRows(source.skip_bad)
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
    own: Edition, read: Sequence[EditionRow], files: Mapping[str, str] | None = None, notes: Sequence[str] = ()
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
    examples: list[Item],
    metadata: TargetMetadata | None = None,
    meaning: str = "auto",
    stereotypes: Mapping[tuple[str, str], str] | None = None,
    files: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Dataset:
    """Examples with their targets: from the metadata if it has the example, else by the rules of `targets.py`."""
    about = metadata or TargetMetadata()
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
    listed = ", ".join(
        f"{len(defect.rows)} with {defect.name}" for defect in defects if defect.dropped and len(defect.rows)
    )
    note = f"{len(out)} examples with known defects are left out (defects=drop): {listed}"
    return np.setdiff1d(np.arange(len(dataset)), out), [note] if len(out) else []


@dataclass(frozen=True)
class ItemSample:
    """How many quartets are taken: all, `in_all`, or `per_template`; drawn with the seed."""

    in_all: int | None = None
    per_template: int | None = None
    seed: int = 0


@lru_cache(maxsize=8)
def selected(source: ItemSource, sample: ItemSample) -> Dataset:
    """The examples of a sample, in the files' order.

    Quartets are taken in pairs: one whose fact agrees with the stereotype and one whose fact contradicts it, as long as
    the template has both. The pairs are taken in rounds, one of every template per round, with the categories taking
    turns. So categories, and templates within them, have equal numbers as far as possible.
    """
    dataset = source.read()
    if sample.in_all is None and sample.per_template is None:
        return dataset
    quartets = quartets_of(dataset)
    order = _in_own_order(dataset, quartets) if source.in_own_order else _shuffled(dataset, quartets, sample.seed)
    kinds = [_aligned(dataset, quartet) for quartet in quartets.tolist()]
    order = {
        category: {name: _in_pairs(own, kinds) for name, own in templates.items()}
        for category, templates in order.items()
    }
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
APART = 2
"""Of how many templates of each category a small sample begins with a single quartet."""
"""category -> template -> places of its quartets, in the order in which they are taken."""


def _in_own_order(dataset: Dataset, quartets: NDArray[np.int64]) -> Order:
    """In the order of the starter set, whose first quartets of every template are balanced.

    The comparisons of crossed categories take turns in coming first.
    """
    order = _by_template(dataset, quartets, range(len(quartets)))
    for templates in order.values():
        for number, (name, own) in enumerate(templates.items()):
            compared = {dataset.examples[quartets[place, 0]].subcategory for place in own}
            start = number % len(compared)
            templates[name] = own[start:] + own[:start]
    return order


def _shuffled(dataset: Dataset, quartets: NDArray[np.int64], seed: int) -> Order:
    return _by_template(dataset, quartets, np.random.default_rng(seed).permutation(len(quartets)).tolist())


def _by_template(dataset: Dataset, quartets: NDArray[np.int64], places: Iterable[int]) -> Order:
    order: Order = {}
    for place in places:
        example = dataset.examples[quartets[place, 0]]
        order.setdefault(example.category, {}).setdefault(example.question_index, []).append(place)
    return order


def _aligned(dataset: Dataset, quartet: Sequence[int]) -> bool | None:
    """Whether a quartet's fact agrees with the stereotype; None without a target, or if its two questions disagree."""
    sides = set()
    for row, (polarity, condition) in zip(quartet, QUARTET, strict=True):
        if condition == DISAMBIGUATED:
            target = dataset.target[row]
            agrees = bool((dataset.examples[row].label == target) == (polarity == NEGATIVE))
            sides.add(None if target == NONE else agrees)
    return sides.pop() if len(sides) == 1 else None


def _in_pairs(places: Sequence[int], kinds: Sequence[bool | None]) -> list[int]:
    """A template's quartets, in their order, but in pairs of both kinds; those that are left over come last."""
    agree, contradict, neither = ([place for place in places if kinds[place] is kind] for kind in (True, False, None))
    paired = [place for pair in zip(agree, contradict, strict=False) for place in pair]
    return paired + agree[len(contradict) :] + contradict[len(agree) :] + neither


def _spread(order: Order, sample: ItemSample) -> NDArray[np.int64]:
    """Which quartets are taken, by their places.

    The first pairs of every category are taken apart, one quartet of each before the other ones, so that even a small
    sample has questions of all categories and of many templates.
    """
    rng = np.random.default_rng(sample.seed)
    turns: list[list[list[int]]] = []  # by category: the first pair of every template, then the second of every one, …
    for number, category in enumerate(sorted(order)):
        names = sorted(order[category])
        mixed = [
            _pairs(order[category][names[k]], turned=(number + turn) % 2 == 1, most=sample.per_template)
            for turn, k in enumerate(rng.permutation(len(names)).tolist())
        ]
        turns.append(_in_turn(mixed))
    apart = [[part for pair in turn[:APART] for part in (pair[:1], pair[1:])] for turn in turns]
    pairs = [
        *_in_turn([own[::2] for own in apart]),
        *_in_turn([own[1::2] for own in apart]),
        *_in_turn([turn[APART:] for turn in turns]),
    ]
    return np.array([place for pair in pairs for place in pair][: sample.in_all], np.int64)


def _pairs(places: Sequence[int], *, turned: bool, most: int | None) -> list[list[int]]:
    """Two at a time, `most` of them in all; `turned` exchanges the two, of which a sample may take only one."""
    pairs = [list(places[k : k + 2]) for k in range(0, len(places), 2)]
    own = [place for pair in pairs for place in (pair[::-1] if turned else pair)][:most]
    return [own[k : k + 2] for k in range(0, len(own), 2)]


def _in_turn(rows: Sequence[Sequence[list[int]]]) -> list[list[int]]:
    """The first of every row, then the second of every one that has several, …"""
    return [row[turn] for turn in range(max(map(len, rows))) for row in rows if turn < len(row)]


# --- notes on questions that are not the published ones, by the ids that `assay data check` compares as well

_OFFICIAL = next(each for each in PROBE.data.published if each.name == ORIGINAL)


@lru_cache(maxsize=4)
def note_on(source: ItemSource) -> tuple[str, ...]:
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
    return own.title, next((each for each in PROBE.data.published if each.pinned and each.name == called), None)
