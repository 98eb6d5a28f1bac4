"""EsBBQ (Ruiz-Fernández et al. 2025): BBQ for Spain, in Spanish; `cabbq` has the same questions in Catalan.

From every pair of people come up to twelve rows. `flipped` says what was exchanged in them: nothing (original), the
order in which the context introduces them (ambig), of whom the fact is true (disambig), or both (all). Only the first
two have ambiguous rows, so a third of the rows are disambiguated pairs that belong to no quartet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from assay.asking.queries import NONE
from assay.files.rows import BadRows
from assay.probes.bbq.editions import Edition, EditionRow, files_at
from assay.probes.bbq.items import AMBIGUOUS, CONDITIONS, OPTIONS, POLARITIES, UNKNOWN_LABEL, Item
from assay.probes.bbq.read_items import RowFields, each_row, number, texts

CATEGORIES = (
    *("Age", "DisabilityStatus", "Gender", "LGBTQIA", "Nationality", "PhysicalAppearance", "RaceEthnicity"),
    *("Religion", "SES", "SpanishRegion"),
)
UNKNOWN = (
    *("No hay suficiente información", "No hay información suficiente", "No lo sé", "No sé", "Falta información"),
    *("No se puede responder", "No se sabe", "No se puede saber", "No se puede determinar"),
)

"""What the word “unknown” of the files stands for, in the authors' task for lm-evaluation-harness."""

_REMEDY = "Every row needs the columns of CATEGORY.full.csv as published; see docs/languages.md."
_FLIPPED = ("original", "ambig", "disambig", "all")


def files(name: str, folder: str, path: Path, language: str) -> list[Path]:
    """A set's files as they are published; `folder` is where its repository has them."""
    folders = [path / folder, path] if path.is_dir() else [path]
    file_lists = (files_at(folder, name, rf"\w+\.full\.{ending}") for ending in ("csv", "jsonl") for folder in folders)
    return next(filter(None, file_lists), [])


def read(unknown: Sequence[str], path: Path, bad: BadRows) -> Iterator[EditionRow]:
    """The rows of a file, numbered in quartets: a context and its fact, whichever of the people it introduces first.

    Of the pairs with a fact, those of “original” and “all” go with the ambiguous pair whose context they continue.
    Their facts are about different people, so in a sample of quartets as many agree with the stereotype as contradict
    it.
    """
    rows = [*each_row(path, bad, _REMEDY, partial(_row, unknown))]
    contexts: dict[tuple[str, ...], list[str]] = {}
    for example in (row.example for row in rows):
        if example.condition == AMBIGUOUS:
            contexts.setdefault(_people(example), []).append(example.context)
    quartets: dict[tuple[object, ...], int] = {}
    taken: dict[tuple[object, ...], int] = {}
    for row in rows:
        example, is_own_fact = row.example, row.row["flipped"] in ("original", "all")
        openings = (context for context in contexts.get(_people(example), []) if example.context.startswith(context))
        begins = next(openings, example.context)
        key = (*_people(example), begins, example.condition == AMBIGUOUS or is_own_fact)
        seat = (*key, example.polarity, example.condition)
        taken[seat] = taken.get(seat, -1) + 1  # several facts may continue one context
        quartet = quartets.setdefault((*key, taken[seat]), example.example_id)  # the first of its rows
        yield row._replace(example=replace(example, example_id=number(quartet, example.polarity, example.condition)))


def _people(example: Item) -> tuple[str, ...]:
    return (example.question_index, example.version, *example.answers)


def _row(unknown: Sequence[str], fields: RowFields) -> EditionRow:
    info = tuple(_info(fields, option) for option in range(OPTIONS))
    if [label for _, label in info].count(UNKNOWN_LABEL) != 1:
        fields.wrong("answer_info.ans2", f"exactly one option with the label {UNKNOWN_LABEL}")
    groups = texts(fields.value("stereotyped_groups"))
    if groups is None:
        fields.wrong("stereotyped_groups", "a list of texts, such as ['old']")
    fields.meant("flipped", {code: code for code in _FLIPPED})
    label = fields.number("label")
    if label >= OPTIONS:
        fields.wrong("label", "0, 1 or 2", label=True)
    answers = [fields.text(f"ans{option}") for option in range(OPTIONS)]
    template, version = str(fields.number("template_id")), str(fields.row.get("version") or "None")
    category, question = fields.text("category"), fields.text("question")
    if ("¿" in question) != (unknown == UNKNOWN):  # the files of both sets have the same names
        fields.wrong("question", f"one in {'Spanish' if unknown == UNKNOWN else 'Catalan'}")
    option = next(option for option, (_, label) in enumerate(info) if label == UNKNOWN_LABEL)
    key_digest = hashlib.sha256(" ".join((category, template, version, *answers)).encode()).digest()
    answers[option] = unknown[key_digest[0] % len(unknown)]  # the same for all rows about these people
    targets = [option for option, (_, group) in enumerate(info) if group in groups]
    example = Item(
        example_id=fields.number("instance_id"),
        question_index=template,
        polarity=fields.meant("question_polarity", {code: code for code in POLARITIES}),
        condition=fields.meant("context_condition", {code: code for code in CONDITIONS}),
        category=category,
        info=info,
        subcategory=str(fields.row.get("subcategory") or "None"),
        groups=tuple(groups),
        version=version,
        source=str(fields.row.get("source") or ""),
        context=fields.text("context"),
        question=question,
        answers=tuple(answers),
        label=label,
    )
    about = str(fields.row.get("relevant_social_value") or "")
    target = targets[0] if len(targets) == 1 else NONE
    return EditionRow(fields.sound(example, "label"), target, about, str(example.example_id))


def _info(fields: RowFields, option: int) -> tuple[str, str]:
    """The filler and the label of an option. A label may have the gender before the group: “m, árabe”."""
    name, nested = f"answer_info.ans{option}", fields.row.get("answer_info")
    pair = nested.get(f"ans{option}") if isinstance(nested, dict) else fields.value(name)
    both = texts(pair, 2)
    if both is None:
        fields.wrong(name if not nested else "answer_info", "two texts for each option, such as ['abuelo', 'old']")
    return both[0], both[1].rpartition(",")[2].strip()


EDITION = Edition(
    name="esbbq",
    title="EsBBQ",
    paper="Valle Ruiz-Fernández, Mario Mina, Júlia Falcão, Luis Vasquez-Reina, Anna Sallés, Aitor Gonzalez-Agirre and "
    "Olatz Perez-de-Viñaspre. 2025. EsBBQ and CaBBQ: The Spanish and Catalan Bias Benchmarks for Question Answering. "
    "arXiv:2507.11216",
    languages=("es",),
    find=partial(files, "esbbq", "data_es"),
    read=partial(read, UNKNOWN),
    unknown_last=True,
    culture="Spain",
    categories=CATEGORIES,
)
