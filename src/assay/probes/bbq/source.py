"""Where a run's examples come from, and which are sampled: whole quartets, spread evenly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import NONE
from assay.errors import UsageError
from assay.files.opening import digest_of_file
from assay.files.rows import BadRows
from assay.probes.bbq.defects import DROP, dropped, find_defects, template_names
from assay.probes.bbq.editions import ORIGINAL, Edition, EditionRow, has_targets, load_edition, set_name
from assay.probes.bbq.items import CROSSED, DISAMBIGUATED, NEGATIVE, OPTIONS, QUARTET, Dataset, Item
from assay.probes.bbq.read_items import beside, data_files, read_examples, stem
from assay.probes.bbq.targets import (
    SecondAttributes,
    TargetMetadata,
    find_named,
    find_targets,
    has_exchanged_people,
    read_by_options,
    read_metadata,
    template_attributes,
    template_file,
    template_stereotypes,
)


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
        return _read(self)


def official(
    path: Path, categories: tuple[str, ...], metadata: Path | None, meaning: str, defects: str, skip_bad: bool
) -> ItemSource:
    """The official files at a path; only those of `categories`, if any are given."""
    files = data_files(path)
    absent = [name for name in categories if name not in map(stem, files)]
    if absent:
        problem = f"{path} has no file for the category {absent[0]}; it has {', '.join(map(stem, files))}."
        remedy = "Get it with `assay data fetch bbq`, or choose from these with --set category=…."
        raise UsageError(problem, remedy, code="bad-setting", key="category")
    chosen = [file for file in files if not categories or stem(file) in categories]
    metadata = metadata or beside(path, chosen[0], "additional_metadata.csv")
    return ItemSource(
        files=tuple((str(file), digest_of_file(file)) for file in chosen),
        metadata=(str(metadata), digest_of_file(metadata)) if metadata else None,
        meaning=meaning,
        defects=defects,
        skip_bad=skip_bad,
        categories=categories,
    )


def of_edition(
    path: Path, name: str, language: str, categories: tuple[str, ...], defects: str, skip_bad: bool
) -> ItemSource:
    """The files of an edition at a path, in a language."""
    edition = load_edition(name)
    absent = [category for category in categories if edition.categories and category not in edition.categories]
    if absent:
        problem = f"{edition.title} has no category {absent[0]!r}; it has {', '.join(edition.categories)}."
        raise UsageError(problem, f"--set category={edition.categories[0]}", code="bad-setting", key="category")
    files = edition.find(path, language)
    if not files:
        folder = edition.data_set or name
        problem = f"there are no files of {set_name(edition, language)} in it, in {folder}/ or in {folder}/data/."
        remedy = f"`assay data fetch {folder}` gets them, or says how to; name their folder with --data."
        raise UsageError(problem, remedy, code="missing-data", file=path)
    return ItemSource(
        files=tuple((str(file), digest_of_file(file)) for file in files),
        defects=defects,
        skip_bad=skip_bad,
        categories=categories,
        edition=name,
        language=language,
    )


@lru_cache(maxsize=4)
def _read(source: ItemSource) -> Dataset:
    edition = None if source.edition == ORIGINAL else load_edition(source.edition)
    dataset = _read_edition(source, edition) if edition else _read_official(source)
    if source.defects != DROP:
        return dataset
    rows, left_out = sound_rows(dataset, edition)
    return replace(dataset.take(rows), notes=[*dataset.notes, *left_out])


def _read_official(source: ItemSource) -> Dataset:
    bad = BadRows(source.skip_bad)
    examples = [example for path, _ in source.files for example in read_examples(Path(path), bad)]
    files = {Path(path).name: digest for path, digest in source.files}
    first = Path(source.files[0][0])
    templates = beside(first.parent, first, "templates")
    stereotypes = template_stereotypes(templates, {example.category for example in examples})
    known = template_attributes(templates, examples)
    if templates:  # those that decide targets, on which samples depend
        paths = [template_file(templates, category) for category in sorted({category for category, _ in known})]
        files |= {path.name: digest_of_file(path) for path in paths}
    metadata = read_metadata(Path(source.metadata[0])) if source.metadata else None
    if source.metadata:
        files[Path(source.metadata[0]).name] = source.metadata[1]
    return dataset_of(examples, metadata, source.meaning, stereotypes, files, bad.notes("data"), known)


def _read_edition(source: ItemSource, edition: Edition) -> Dataset:
    bad = BadRows(source.skip_bad)
    rows = [row for path, _ in source.files for row in edition.read(Path(path), bad)]
    chosen = [row for row in rows if not source.categories or row.example.category in source.categories]
    if not chosen:
        available = ", ".join(dict.fromkeys(row.example.category for row in rows)) or "none"
        absent = ", ".join(source.categories) or edition.title
        problem = f"these files have no example of {absent}; they have {available}."
        raise UsageError(problem, "--set category=…", code="bad-setting", file=source.files[0][0], key="category")
    files = {Path(path).name: digest for path, digest in source.files}
    return dataset_of_rows(edition, chosen, files, bad.notes("data"))


def dataset_of_rows(
    edition: Edition, rows: Sequence[EditionRow], files: Mapping[str, str] | None = None, notes: Sequence[str] = ()
) -> Dataset:
    """Rows of an edition as a data set, with notes that name those without a target and those read otherwise."""
    ids = [row.id for row in rows]
    dataset = Dataset(
        [read_by_options(row.example) for row in rows],
        np.array([_target_by_options(row) for row in rows], np.int8),
        np.zeros(len(rows), np.bool_),
        [row.stereotype for row in rows],
        files or {},
        notes,
        ids if any(ids) else (),
    )
    published = [row.example for row in rows]
    return replace(dataset, notes=[*notes, *_notes_on_people(dataset, published, aimed=has_targets(edition))])


def _target_by_options(row: EditionRow) -> int:
    """The target of a row: the other person if answer_info, which says who it is, has the two exchanged."""
    is_other = row.target != NONE and has_exchanged_people(row.example)
    return sum(range(OPTIONS)) - row.target - row.example.unknown if is_other else row.target


def _notes_on_people(dataset: Dataset, published: Sequence[Item], *, aimed: bool = True) -> Iterator[str]:
    """Notes on rows whose people are exchanged in answer_info, and on those without a target."""
    exchanged = np.flatnonzero([has_exchanged_people(example) for example in published])
    untargeted = np.flatnonzero(dataset.target == NONE)
    if len(exchanged):
        names = template_names(dataset.examples, exchanged, dataset.ids)
        yield f"{_rows(exchanged)} their two people exchanged in answer_info; the options decide who is who: {names}"
    if aimed and len(untargeted):
        names = template_names(dataset.examples, untargeted, dataset.ids)
        is_crossed = any(dataset.examples[row].category in CROSSED for row in untargeted.tolist())
        remedy = f" ({_CROSSED_REMEDY})" if is_crossed else ""
        yield f"{_rows(untargeted)} no single target, and the bias metrics leave them out{remedy}: {names}"


_CROSSED_REMEDY = "the target of crossed categories needs comparison b or c, or the authors' templates next to the data"


def _rows(rows: NDArray[np.int64]) -> str:
    return "1 row has" if len(rows) == 1 else f"{len(rows):,} rows have"


def dataset_of(
    examples: list[Item],
    metadata: TargetMetadata | None = None,
    meaning: str = "auto",
    stereotypes: Mapping[tuple[str, str], str] | None = None,
    files: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    known: SecondAttributes | None = None,
) -> Dataset:
    """Examples with their targets: from the metadata if it has the example, else by the rules of `targets.py`.

    `known` has the second attributes of crossed templates, for examples that do not show them.
    """
    metadata, published = metadata or TargetMetadata(), examples
    examples = [read_by_options(example) for example in published]
    targets, named = metadata.targets(examples, meaning), find_named(examples)
    for row, example in enumerate(examples):
        named[row] = metadata.named.get((example.category, example.example_id), bool(named[row]))
    stereotype_of = {**(stereotypes or {}), **metadata.stereotypes}
    stereotype = [stereotype_of.get((example.category, example.question_index), "") for example in examples]
    targets = np.where(targets != NONE, targets, find_targets(examples, known))
    dataset = Dataset(examples, targets, named, stereotype, files or {}, notes)
    return replace(dataset, notes=[*notes, *_notes_on_people(dataset, published)])


def sound_rows(dataset: Dataset, edition: Edition | None = None) -> tuple[NDArray[np.int64], list[str]]:
    """The examples of BBQ or an edition without those that known defects make wrong, and a note on what is left out."""
    kinds = {"from_bbq": edition.from_bbq, "aimed": has_targets(edition)} if edition else {}
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
    shuffled = np.random.default_rng(sample.seed).permutation(len(quartets)).tolist()
    order = _in_own_order(dataset, quartets) if source.in_own_order else _by_template(dataset, quartets, shuffled)
    kinds = [_aligned(dataset, quartet) for quartet in quartets.tolist()]
    order = {
        category: {name: _in_pairs(quartet_indices, kinds) for name, quartet_indices in templates.items()}
        for category, templates in order.items()
    }
    chosen = _spread(order, sample)
    return dataset.take(np.sort(quartets[chosen].reshape(-1)))


def quartets_of(dataset: Dataset) -> NDArray[np.int64]:
    """The rows of every whole quartet (quartet, 4): consecutive numbers of one file, from a multiple of four."""
    by_quartet: dict[tuple[str, int], dict[tuple[str, str], int]] = {}
    for row, example in enumerate(dataset.examples):
        members = by_quartet.setdefault((example.category, example.example_id // len(QUARTET)), {})
        members[example.polarity, example.condition] = row
    complete = [
        [members[question_kind] for question_kind in QUARTET]
        for members in by_quartet.values()
        if len(members) == len(QUARTET)
    ]
    if not complete:
        remedy = "Leave --limit out, or use other data."
        raise UsageError("there are no whole quartets to sample from.", remedy, code="nothing-to-ask")
    return np.array(complete, np.int64)


Order = dict[str, dict[str, list[int]]]
"""category -> template -> indices of its quartets, in the order in which they are taken."""

APART = 2
"""Of how many templates of each category a small sample begins with a single quartet."""


def _in_own_order(dataset: Dataset, quartets: NDArray[np.int64]) -> Order:
    """In the order of the starter set, whose first quartets of every template are balanced.

    The comparisons of crossed categories take turns in coming first.
    """
    order = _by_template(dataset, quartets, range(len(quartets)))
    for templates in order.values():
        for number, (name, indices) in enumerate(templates.items()):
            compared = {dataset.examples[quartets[index, 0]].subcategory for index in indices}
            start = number % len(compared)
            templates[name] = indices[start:] + indices[:start]
    return order


def _by_template(dataset: Dataset, quartets: NDArray[np.int64], indices: Iterable[int]) -> Order:
    order: Order = {}
    for index in indices:
        example = dataset.examples[quartets[index, 0]]
        order.setdefault(example.category, {}).setdefault(example.question_index, []).append(index)
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


def _in_pairs(indices: Sequence[int], kinds: Sequence[bool | None]) -> list[int]:
    """A template's quartets, in their order, but in pairs of both kinds; those that are left over come last."""
    agree, contradict, neither = ([index for index in indices if kinds[index] is kind] for kind in (True, False, None))
    paired = [index for pair in zip(agree, contradict, strict=False) for index in pair]
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
        *_in_turn([category_pairs[::2] for category_pairs in apart]),
        *_in_turn([category_pairs[1::2] for category_pairs in apart]),
        *_in_turn([turn[APART:] for turn in turns]),
    ]
    return np.array([index for pair in pairs for index in pair][: sample.in_all], np.int64)


def _pairs(indices: Sequence[int], *, turned: bool, most: int | None) -> list[list[int]]:
    """Two at a time, `most` of them in all; `turned` exchanges the two, of which a sample may take only one."""
    pairs = [list(indices[k : k + 2]) for k in range(0, len(indices), 2)]
    chosen = [index for pair in pairs for index in (pair[::-1] if turned else pair)][:most]
    return [chosen[k : k + 2] for k in range(0, len(chosen), 2)]


def _in_turn(rows: Sequence[Sequence[list[int]]]) -> list[list[int]]:
    """The first of every row, then the second of every one that has several, …"""
    return [row[turn] for turn in range(max(map(len, rows))) for row in rows if turn < len(row)]
