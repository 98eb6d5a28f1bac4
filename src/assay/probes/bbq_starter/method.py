"""BBQ's method on the starter set: assay's own questions in the style of BBQ, packaged or from a folder of templates.

data/bbq_starter/README.md describes their format. The set is not BBQ, and no result calls it that.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice, zip_longest
from math import lcm
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from assay.asking.plan import Ask
from assay.asking.progress import Progress
from assay.config.settings import GENERATE, read_settings
from assay.errors import DataError, UsageError
from assay.files.decoding import toml_value
from assay.files.opening import read_whole
from assay.presentation.elements import Presentation, Section
from assay.probes.base import Request
from assay.probes.bbq import across, present
from assay.probes.bbq import items as bbq
from assay.probes.bbq.editions import ORIGINAL
from assay.probes.bbq.generation import COUNTED, require_folder, write_files
from assay.probes.bbq.items import CATEGORIES, OPTIONS, QUARTET, UNKNOWN_LABEL, UNKNOWN_STRINGS, Dataset, Item
from assay.probes.bbq.method import BBQ
from assay.probes.bbq.settings import BBQSettings
from assay.probes.bbq.source import ItemSource
from assay.probes.bbq_starter import StarterGenerateSettings
from assay.results.run import Run

PACKAGED = Path(__file__).parents[2] / "data" / "bbq_starter"

QUICK, STANDARD = 4, 12
"""Quartets of every template in the presets: the starter set has few templates. Four have every order and role."""


@dataclass(frozen=True)
class StarterSource(ItemSource):
    """The packaged templates, whose first quartets are balanced."""

    in_own_order = True

    def read(self) -> Dataset:
        return _read(self.categories)


@lru_cache(maxsize=4)
def _read(categories: tuple[str, ...]) -> Dataset:
    everything = read_starter()
    is_wanted = [not categories or example.category in categories for example in everything.examples]
    return everything.take(np.flatnonzero(is_wanted))


class BBQStarter(BBQ):
    """BBQ's method on the packaged starter set."""

    presets: Mapping[str, int | None] = {"quick": QUICK, "standard": STANDARD, "paper": None}

    def source(self, settings: BBQSettings, request: Request) -> ItemSource:
        if request.data is not None:
            problem = "bbq-starter comes with assay and reads no data."
            raise UsageError(problem, "assay run bbq --data DIR", code="bad-option", key="data")
        if settings.edition != ORIGINAL or settings.language not in ("", "en"):
            problem = "bbq-starter has assay’s own questions only, in English."
            raise UsageError(problem, "assay run bbq --set edition=…", code="bad-setting", key="edition")
        for name in settings.categories:
            if name not in CATEGORIES:
                problem = f"unknown category {name!r}; expected {', '.join(CATEGORIES)}."
                raise UsageError(problem, "--set category=Age,Religion", code="bad-setting", key="category")
        return StarterSource(categories=settings.categories)

    def generation(self, request: Request) -> Any:
        settings = read_settings(StarterGenerateSettings, request.settings, self.probe.name, remedy=GENERATE)
        return StarterQuestionWriter(Path(settings.templates or PACKAGED), request.seed)

    def present(self, run: Run) -> Presentation:
        """As a run of BBQ, with a warning that it is not one."""
        return replace(present.present(run, starter=True), name=self.probe.name, data_set=self.probe.data_set)

    def across(self, runs: Sequence[Run]) -> Sequence[Section]:
        return across.across(runs, starter=True)


@dataclass(frozen=True)
class StarterQuestionWriter:
    """The starter set, or the user's templates in its format, as files in the authors' format."""

    counted: ClassVar[str] = COUNTED
    folder: Path = PACKAGED
    seed: int = 0

    def notes(self) -> list[str]:
        return ["this is assay's own starter set; results on it are not BBQ results"] if self.folder == PACKAGED else []

    def write_to(self, out: Path, ask: Ask | None, meter: Progress) -> int:
        require_folder(out)
        examples = read_starter(seed=self.seed, folder=self.folder).examples
        meter.start("bbq-starter", len(examples), "examples")
        by_category: dict[str, list[Item]] = {}
        for example in examples:
            by_category.setdefault(example.category, []).append(example)
        return write_files(out, by_category, meter.advance)


# --- templates: texts with slots, and who may fill them

_SLOTS = {"context": ["{first}", "{second}"], "fact": ["{bad}", "{good}"], "negative": [], "nonnegative": []}
_TEXTS = ("id", "stereotype", "source", *_SLOTS)
_CROSSED = {letter: subcategory for subcategory, letter in bbq.COMPARISONS.items()}
_KINDS = {str: "a text in quotation marks", bool: "true or false", dict: 'like { label = ["words", "others"] }'}
_SHAPES = ((True, True), (False, False), (True, False), (False, True))  # is the target first? is the target bad?
_CONSONANT = r"eu|ewe|uni[cfloqstv]|u[gkrst][aeiu]|ukr|u\.?[sk]\b|one\b|once\b"  # vowel letters that sound like one
_VOWEL = re.compile(rf"(?!{_CONSONANT})[aeiou]|hour|hono|hones|heir|8|1[18](?!\d)", re.IGNORECASE)

Person = tuple[str, str]  # (words, label), as in an example's info
Pick = tuple[str, Person, Person, bool, bool]  # subcategory, target, other, is the target first?, is the target bad?


@dataclass(frozen=True)
class StarterTemplate:
    """Texts with slots, and who may fill them: the stereotype's targets, and others by subcategory."""

    texts: Mapping[str, str]
    target: Sequence[Person]
    others: Mapping[str, Sequence[Person]]
    named: bool


def read_starter(quartets: int | None = None, seed: int = 0, folder: Path = PACKAGED) -> Dataset:
    """So many quartets of every template, at least one (None: all). Fewer are always the first ones of more."""
    paths = sorted(folder.glob("*.toml"), key=lambda path: ((*bbq.CATEGORIES, path.stem).index(path.stem), path.stem))
    if not paths:
        remedy = "A folder of templates holds files CATEGORY.toml."
        raise DataError("this folder has no templates.", remedy, code="empty-file", file=folder)
    rows: list[tuple[Item, int, StarterTemplate]] = []
    files = {}
    for path in paths:
        content, start = read_whole(path), len(rows)
        files[f"bbq_starter/{path.name}"] = hashlib.sha256(content).hexdigest()
        for index, template in enumerate(read_templates(path, content)):
            for number, pick in enumerate(islice(picks(template, index), quartets)):
                options = _options(pick, f"{seed} {path.stem}", index, number)
                quartet = _quartet(len(rows) - start, path.stem, template, pick, options)
                rows += [(example, options.index(pick[1]), template) for example in quartet]
    examples, targets, templates = zip(*rows, strict=True)
    named = np.array([template.named for template in templates])
    stereotypes = [template.texts["stereotype"] for template in templates]
    return Dataset(examples, np.array(targets, np.int8), named, stereotypes, files)


def picks(template: StarterTemplate, index: int) -> Iterator[Pick]:
    """All quartets of the template at this place of its file, in an order of which every beginning is balanced.

    The lists of others take turns, and so do the four shapes; four templates in a row begin with different shapes.
    """

    def of_list(turn: int, subcategory: str, others: Sequence[Person]) -> Iterator[Pick]:
        pairs = [(template.target[row], others[column]) for row, column in _diagonal(len(template.target), len(others))]
        for shape, pair in _diagonal(len(_SHAPES), len(pairs)):
            first, bad = _SHAPES[(3 * index + turn + len(template.others) * shape) % len(_SHAPES)]
            yield (subcategory, *pairs[(pair + index // 4) % len(pairs)], first, bad)

    lists = (of_list(turn, *others) for turn, others in enumerate(template.others.items()))
    return (pick for pick in chain.from_iterable(zip_longest(*lists)) if pick is not None)


def _diagonal(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    """Every cell of a table once, in an order in which rows and columns take turns: (0, 0), (1, 1), …"""
    return ((step % rows, (step + step // lcm(rows, columns)) % columns) for step in range(rows * columns))


def _options(pick: Pick, key: str, index: int, number: int) -> list[Person]:
    """The three options of a quartet. A template's first three put UNKNOWN, and the target, at each place once.

    The ten strings of UNKNOWN take turns in a category, each time in another order.
    """
    start, (turn, string) = crc32(key.encode()), divmod(3 * index + number, len(UNKNOWN_STRINGS))
    unknown = sorted(UNKNOWN_STRINGS, key=lambda text: crc32(f"{key} {turn} {text}".encode()))[string]
    mirrored = (start // OPTIONS + index // 4 + number // OPTIONS) % 2
    circle = [(unknown, UNKNOWN_LABEL), *(pick[2:0:-1] if mirrored else pick[1:3])]
    return [circle[(option - start - index - number) % OPTIONS] for option in range(OPTIONS)]


def _quartet(start: int, category: str, template: StarterTemplate, pick: Pick, options: list[Person]) -> Iterator[Item]:
    subcategory, target, compared, target_first, target_bad = pick
    first, second = (target, compared) if target_first else (compared, target)
    bad, good = (target, compared) if target_bad else (compared, target)
    slots = {"first": first[0], "second": second[0], "bad": bad[0], "good": good[0]}
    texts = {key: fill(template.texts[key], slots) for key in _SLOTS}
    unknown = next(option for option in options if option[1] == UNKNOWN_LABEL)
    people = {option: fill(template.texts["answer"], {"person": option[0]}) for option in (target, compared)}
    for number, (polarity, condition) in enumerate(QUARTET):
        ambiguous, negative = condition == bbq.AMBIGUOUS, polarity == bbq.NEGATIVE
        yield Item(
            example_id=start + number,
            question_index=template.texts["id"],
            polarity=polarity,
            condition=condition,
            category=category,
            info=tuple(options),
            subcategory=subcategory,
            groups=tuple(dict.fromkeys(label for _, label in template.target)),
            version="None",
            source=template.texts["source"],
            context=texts["context"] if ambiguous else f"{texts['context']} {texts['fact']}",
            question=texts["negative" if negative else "nonnegative"],
            answers=tuple(people.get(option, option[0]) for option in options),
            label=options.index(unknown if ambiguous else bad if negative else good),
        )


def fill(text: str, slots: Mapping[str, str]) -> str:
    """A text with its slots filled, the articles before them corrected, and capitals where sentences begin."""

    def filled(match: re.Match[str]) -> str:
        article, words = match[1], slots[match[2]]
        if article:
            return f"{article}{'n' if _VOWEL.match(words) else ''} {words}"
        return words[:1].upper() + words[1:] if re.search(r"(^|[.?!] )$", text[: match.start()]) else words

    return re.sub(r"(?:\b([Aa])n? )?\{(\w+)\}", filled, text)


def read_templates(path: Path, content: bytes) -> list[StarterTemplate]:
    """The templates of one file; the first thing that is wrong with it is a DataError."""
    try:
        table = toml_value(content.decode("utf-8-sig"))
    except ValueError as error:  # the encoding or the syntax
        position = re.search(r"at line (\d+)", str(error))
        line = int(position[1]) if position else None
        code = "bad-toml" if isinstance(error, tomllib.TOMLDecodeError) else "unreadable-file"
        raise DataError(
            f"this is not TOML in UTF-8: {error}.", "Fix the file.", code=code, file=path, line=line
        ) from None
    entries = table.get("template")
    tables = isinstance(entries, list) and entries and all(isinstance(entry, dict) for entry in entries)
    if table.keys() != {"category", "template"} or table["category"] != path.stem or not tables:
        remedy = f'Begin with category = "{path.stem}", as the file is named; all else belongs under [[template]].'
        problem = f"category is {table.get('category')!r}, keys: {', '.join(table)}."
        code, key = _table_fault(table, path.stem)
        raise DataError(problem, remedy, code=code, file=path, key=key)
    templates: dict[str, StarterTemplate] = {}
    for number, entry in enumerate(table["template"], 1):
        lists = _CROSSED if path.stem in bbq.CROSSED or _CROSSED.keys() & entry.keys() else {"other": "None"}
        for code, key, problem, remedy in _faults(entry, lists, templates):
            fault = f"template {entry.get('id', f'number {number}')}: {problem}"
            raise DataError(fault, remedy, code=code, file=path, key=key)
        named = entry.get("names", False)
        texts = {"answer": "{person}" if named else "The {person}"}
        texts |= {key: " ".join(entry[key].split()) for key in (*_TEXTS, "answer") if key in entry}
        others = {subcategory: _people(entry[key]) for key, subcategory in lists.items()}
        templates[entry["id"]] = StarterTemplate(texts, _people(entry["target"]), others, named)
    return list(templates.values())


def _people(table: Mapping[str, Sequence[str]]) -> list[Person]:
    return [(" ".join(words.split()), label) for label, ways in table.items() for words in ways]


def _table_fault(table: Mapping[str, Any], category: str) -> tuple[str, str]:
    """The code and the key of what is wrong with a file as a whole."""
    for key in ("category", "template"):
        if key not in table:
            return "missing-key", key
    if unknown := table.keys() - {"category", "template"}:
        return "unknown-key", min(unknown)
    return "bad-value", "template" if table["category"] == category else "category"


def _faults(
    entry: Mapping[str, Any], lists: Mapping[str, str], templates: Mapping[str, Any]
) -> Iterator[tuple[str, str, str, str]]:
    """What is wrong (code, key and in words), and what to do about it; each check relies on those before it."""
    kinds = {**dict.fromkeys((*_TEXTS, "answer"), str), "names": bool, **dict.fromkeys(("target", *lists), dict)}
    if missing := kinds.keys() - {*entry, "answer", "names"}:
        problem = f"missing: {', '.join(sorted(missing))}."
        yield "missing-key", min(missing), problem, "Add it; only answer and names may be left out."
    if unknown := entry.keys() - kinds.keys():
        problem = f"unknown: {', '.join(sorted(unknown))}."
        yield "unknown-key", min(unknown), problem, f"Remove it; the keys here are {', '.join(kinds)}."
    for key, value in entry.items():
        if not isinstance(value, kinds[key]) or str(value).strip() in ("", "{}"):
            yield "bad-value", key, f"{key} is {value!r}.", f"It must be {_KINDS[kinds[key]]}."
    if entry["id"] in templates:
        yield "duplicate", "id", "another template has this id.", "Give every template its own id."
    for key, slots in {**_SLOTS, "answer": ["{person}"]}.items():
        slots_found = re.findall(r"\{.*?\}|[{}]", entry.get(key, "{person}"))
        if {*slots_found} != {*slots} or (key != "fact" and len(slots_found) > len(slots)):
            problem = f"the slots of {key} are {slots_found}, expected {slots}."
            yield "bad-text", key, problem, "Correct them; only fact may repeat a slot."
    for key in ("target", *lists):
        for label, ways in entry[key].items():
            if (
                not isinstance(ways, list)
                or not ways
                or not all(isinstance(text, str) and text.strip() for text in ways)
            ):
                remedy = 'It must be a list of texts that is not empty: ["words"].'
                yield "bad-list", f"{key}.{label}", f"{label} in {key} is {ways!r}.", remedy
            if label == UNKNOWN_LABEL or (key != "target" and label in entry["target"]):
                remedy = "Use another: not one of target's, and not unknown."
                yield "bad-value", f"{key}.{label}", f"{label} cannot be a label in {key}.", remedy
        words = [words.lower() for people_key in {"target", key} for words, _ in _people(entry[people_key])]
        if twice := {word for word in words if words.count(word) > 1}:
            problem = f"target and {key} repeat: {', '.join(sorted(twice))}."
            yield "duplicate", key, problem, "Give each once only."
