"""GG-BBQ (Satheesh et al. 2025): BBQ's gender identity in German; subset 1 has groups of people, subset 2 names.

The rows do not say which template they were made from: the ambiguous context does, which is one of the templates'
(templates/subset-1.csv) with its words put in. The ambiguous and the disambiguated rows are in two files and have the
same `index`; the negative and the non-negative question follow each other.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from assay.asking.queries import NONE
from assay.errors import DataError, UsageError
from assay.files.opening import PACKED, open_text
from assay.files.rows import BadRows
from assay.probes.bbq.editions import Edition, EditionRow, files_at
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED, NEGATIVE, NON_NEGATIVE, OPTIONS, UNKNOWN_LABEL, Item
from assay.probes.bbq.read_items import RowFields, each_row, number, texts

CATEGORIES = ("Gender_identity", "Gender_identity (names)")
_REMEDY = "Every row needs the fields of bbq_de_amb_test.jsonl; see `assay data check ggbbq`."
_TYPES = {"ambiguous_context": AMBIGUOUS, "disambiguous_context": DISAMBIGUATED}
_POLARITIES = {"negative": NEGATIVE, "non_negative": NON_NEGATIVE}
_SLOT = re.compile(r"\{\{[^{}]*\}\}")
_CONTEXT, _INDEX = "ambiguous_context", "question_index"
Templates = tuple[tuple[tuple[str, ...], str], ...]
"""For each template, the texts between the slots of its ambiguous context, and its question_index."""

_NAMES = r"bbq_de_(proper_names_)?(dis)?amb_test\.jsonl"


def find(path: Path, language: str) -> list[Path]:
    """The files of templates, on which the sample depends, and those of rows."""
    folders = (path, *(path / "data" / f"subset-{subset}" for subset in (1, 2)))  # as a download, or as a checkout
    files = [file for folder in folders for file in files_at(folder, "ggbbq", _NAMES)]
    return [*filter(None, dict.fromkeys(map(_templates_beside, files))), *files]


def read(path: Path, bad: BadRows) -> Iterator[EditionRow]:
    if re.match(r"(templates_)?subset-\d\.csv", path.name):
        return iter(())  # the templates
    subset, templates = _subset(path), _templates_beside(path)
    if templates is None:
        problem = f"the templates of GG-BBQ's {subset} are missing, without which its rows cannot be grouped."
        beside = path.with_name(f"templates_{subset}.csv")
        remedy = f"Get templates/{subset}.csv from github.com/shalakasatheesh/GG-BBQ, and save it as {beside}."
        raise UsageError(problem, remedy, code="missing-data", file=path)
    return each_row(path, bad, _REMEDY, partial(_read, subset, _templates(templates)))


def _subset(path: Path) -> str:
    return "subset-2" if "proper_names" in path.name else "subset-1"


def _read(subset: str, templates: Templates, fields: RowFields) -> EditionRow:
    index, context = fields.number("index"), fields.text("context")
    condition, polarity = fields.meant("context_type", _TYPES), fields.meant("question_type", _POLARITIES)
    indices = {name for between, name in templates if fits(between, context.strip(), entire=condition == AMBIGUOUS)}
    if len(indices) != 1:
        fields.wrong("context", f"one that begins as one template of {subset} does, not {len(indices)}")
    info = _info(fields)
    groups = texts(fields.written("known_stereotyped_groups"))
    if groups is None:
        fields.wrong("known_stereotyped_groups", 'a list of texts, such as ["F"]')
    label = fields.number("label")
    if label >= OPTIONS:
        fields.wrong("label", "0, 1 or 2", label=True)
    meant = {_label(group) for group in groups}
    targets = [option for option, (_, group) in enumerate(info) if group != UNKNOWN_LABEL and group in meant]
    about = fields.row.get("relevant_social_values") or ""
    example = Item(
        example_id=number(index // 2, polarity, condition),
        question_index=indices.pop(),
        polarity=polarity,
        condition=condition,
        category=CATEGORIES[subset == "subset-2"],
        info=info,
        subcategory="None",
        groups=tuple(groups),
        version="None",
        source="",
        context=context,
        question=fields.text("question"),
        answers=tuple(fields.text(f"choice_{option}") for option in range(OPTIONS)),
        label=label,
    )
    target = targets[0] if len(targets) == 1 else NONE
    return EditionRow(fields.sound(example, "label"), target, str(about), f"{condition} {index}")


def _info(fields: RowFields) -> tuple[tuple[str, str], ...]:
    cell = fields.written("choice_info")
    info = [texts(cell.get(option), 2) for option in range(OPTIONS)] if isinstance(cell, dict) else [None]
    pairs = [(pair[0], pair[1]) for pair in info if pair is not None]
    if len(pairs) != OPTIONS or [label for _, label in pairs].count(UNKNOWN_LABEL) != 1:
        fields.wrong("choice_info", "for each of 0, 1 and 2 a text and a label, exactly one of them unknown")
    return tuple(pairs)


def _label(group: str) -> str:
    """A stereotyped group as the options' labels say it: all trans people have the label non_binary there.

    >>> _label("transgender women"), _label("trans"), _label("F")
    ('non_binary', 'non_binary', 'F')
    """
    return "non_binary" if group.casefold().startswith("trans") else group


def _templates_beside(path: Path) -> Path | None:
    """The templates of a file of rows: templates_subset-1.csv next to it, or a checkout's templates/subset-1.csv."""
    subset = _subset(path)
    in_checkouts = [folder / "templates" / f"{subset}.csv" for folder in path.resolve().parents[:3]]
    forms = (
        candidate.with_name(candidate.name + ending)
        for candidate in (path.with_name(f"templates_{subset}.csv"), *in_checkouts)
        for ending in ("", *PACKED)
    )
    return next((form for form in forms if form.is_file()), None)


def _templates(path: Path) -> Templates:
    with open_text(path) as file:
        reader = csv.DictReader(file)
        reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]  # some end with a blank
        for name in (_CONTEXT, _INDEX):
            if name not in reader.fieldnames:
                problem, remedy = f"the column {name} is missing.", "Get the file again: `assay data fetch ggbbq`."
                raise DataError(problem, remedy, code="missing-key", file=path, line=1, key=name)
        return tuple((tuple(_SLOT.split((row[_CONTEXT] or "").strip())), row[_INDEX] or "") for row in reader)


def fits(between: Sequence[str], context: str, *, entire: bool) -> bool:
    """Whether a context, or its beginning, consists of these texts with something in each gap between them.

    A regular expression would need hours for some texts.

    >>> fits(("Im ", " war ", "."), "Im Hof war Lea. Sie ging.", entire=False)
    True
    """
    first, *others = between
    if not context.startswith(first):
        return False
    end, last = len(first), others.pop() if entire and others else None
    for text in others:
        start = context.find(text, end + 1)
        if start < 0:
            return False
        end = start + len(text)
    if last is not None:
        return context.endswith(last) and end < len(context) - len(last)
    return not entire or end == len(context)


EDITION = Edition(
    name="ggbbq",
    title="GG-BBQ",
    paper="Shalaka Satheesh, Katrin Klug, Katharina Beckh, Héctor Allende-Cid, Sebastian Houben and Teena Hassan. "
    "2025. GG-BBQ: German Gender Bias Benchmark for Question Answering. arXiv:2507.16410",
    languages=("de",),
    find=find,
    read=read,
    unknown_last=True,
    culture="the United States, translated with people as German names them",
    categories=CATEGORIES,
)
